// cuda_host.cpp: the oracle's questions put to the host code of the CUDA toolkit's headers.
// They drop the sign of a NaN and write +max for an FP4 or FP6 NaN: ask them about numbers only.
// SPDX-License-Identifier: MIT
#include "oracle.h"

#include <cstring>

#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

namespace {

float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace

extern "C" {

int oracle_cuda_has(oracle_format format) {
  return format != ORACLE_E4M3FNUZ && format != ORACLE_E5M2FNUZ;
}

uint8_t oracle_cuda_encode(oracle_format format, int saturate, uint32_t value) {
  const float x = float_of(value);
  const __nv_saturation_t mode = saturate ? __NV_SATFINITE : __NV_NOSAT;
  switch (format) {
    case ORACLE_E4M3FN: return __nv_cvt_float_to_fp8(x, mode, __NV_E4M3);
    case ORACLE_E5M2: return __nv_cvt_float_to_fp8(x, mode, __NV_E5M2);
    case ORACLE_E2M3: return __nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest);
    case ORACLE_E3M2: return __nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest);
    case ORACLE_E2M1: return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest);
    default: return 0;
  }
}

uint32_t oracle_cuda_decode(oracle_format format, uint8_t code) {
  __half_raw raw = {};
  switch (format) {
    case ORACLE_E4M3FN: raw = __nv_cvt_fp8_to_halfraw(code, __NV_E4M3); break;
    case ORACLE_E5M2: raw = __nv_cvt_fp8_to_halfraw(code, __NV_E5M2); break;
    case ORACLE_E2M3: raw = __nv_cvt_fp6_to_halfraw(code, __NV_E2M3); break;
    case ORACLE_E3M2: raw = __nv_cvt_fp6_to_halfraw(code, __NV_E3M2); break;
    default: raw = __nv_cvt_fp4_to_halfraw(code, __NV_E2M1); break;
  }
  return oracle_widen(ORACLE_F16, raw.x);
}

uint8_t oracle_cuda_e8m0_up(int saturate, uint32_t value) {
  return __nv_cvt_float_to_e8m0(float_of(value), saturate ? __NV_SATFINITE : __NV_NOSAT,
                                cudaRoundPosInf);
}

uint32_t oracle_cuda_e8m0_value(uint8_t byte) {
  return oracle_widen(ORACLE_BF16, __nv_cvt_e8m0_to_bf16raw(byte).x);
}

}  // extern "C"
