/* native.h: the chips' own converters behind one form: 8 values to codes, 8 codes to values.
 *
 * Only for values that the law and the chips treat alike: finite, and an overflow that saturates at
 * the format's maximum. A block with anything else takes the portable path.
 *   gfx950  v_cvt_pk_fp8_f32 does not saturate: above 464 it gives NaN. Values are clamped first.
 *           v_cvt_scalef32_pk_fp4_* divide by 2^(exponent field of the scale - 127), saturate at 6.
 *   sm_90   cvt.rn.satfinite.e4m3x2.f32 saturates at 448.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_NATIVE_H
#define MXGOLD_GPU_NATIVE_H

#include "shim.h"

#if MXG_HAS_NATIVE_E4M3FN && MXG_HAS_CVT_E4M3X2
MXG_DEVICE void mxg_native_encode_e4m3fn(const float *v, uint32_t *codes) {
  codes[0] = mxg_cvt_e4m3x2_f32(v[0], v[1]) | mxg_cvt_e4m3x2_f32(v[2], v[3]) << 16;
  codes[1] = mxg_cvt_e4m3x2_f32(v[4], v[5]) | mxg_cvt_e4m3x2_f32(v[6], v[7]) << 16;
}
MXG_DEVICE void mxg_native_decode_e4m3fn(const uint32_t *codes, float *v) {
  mxg_cvt_f32_e4m3x2(codes[0] & 0xFFFFu, v);
  mxg_cvt_f32_e4m3x2(codes[0] >> 16, v + 2);
  mxg_cvt_f32_e4m3x2(codes[1] & 0xFFFFu, v + 4);
  mxg_cvt_f32_e4m3x2(codes[1] >> 16, v + 6);
}
#elif MXG_HAS_NATIVE_E4M3FN
MXG_DEVICE uint32_t mxg_clamp_and_encode_4(const float *v) {
  const uint32_t low =
      mxg_cvt_pk_fp8_f32(mxg_fmed3(v[0], 448.0f, -448.0f), mxg_fmed3(v[1], 448.0f, -448.0f), 0, 0);
  return mxg_cvt_pk_fp8_f32(mxg_fmed3(v[2], 448.0f, -448.0f), mxg_fmed3(v[3], 448.0f, -448.0f), low,
                            1);
}
MXG_DEVICE void mxg_native_encode_e4m3fn(const float *v, uint32_t *codes) {
  codes[0] = mxg_clamp_and_encode_4(v);
  codes[1] = mxg_clamp_and_encode_4(v + 4);
}
MXG_DEVICE void mxg_native_decode_e4m3fn(const uint32_t *codes, float *v) {
  mxg_cvt_pk_f32_fp8(codes[0], 0, v);
  mxg_cvt_pk_f32_fp8(codes[0], 1, v + 2);
  mxg_cvt_pk_f32_fp8(codes[1], 0, v + 4);
  mxg_cvt_pk_f32_fp8(codes[1], 1, v + 6);
}
#else /* never called */
MXG_DEVICE void mxg_native_encode_e4m3fn(const float *v, uint32_t *codes) {
  (void)v;
  codes[0] = codes[1] = 0;
}
MXG_DEVICE void mxg_native_decode_e4m3fn(const uint32_t *codes, float *v) {
  (void)codes;
  v[0] = 0.0f;
}
#endif

/* By the type of the source; scale is a power of two, or has the exponent field 0 for 2^-127. */
#if MXG_HAS_NATIVE_E2M1
MXG_DEVICE uint32_t mxg_native_encode_e2m1_f32(const float *v, float scale) {
  uint32_t codes = mxg_cvt_scalef32_pk_fp4_f32(0, v[0], v[1], scale, 0);
  codes = mxg_cvt_scalef32_pk_fp4_f32(codes, v[2], v[3], scale, 1);
  codes = mxg_cvt_scalef32_pk_fp4_f32(codes, v[4], v[5], scale, 2);
  return mxg_cvt_scalef32_pk_fp4_f32(codes, v[6], v[7], scale, 3);
}
MXG_DEVICE uint32_t mxg_native_encode_e2m1_bf16(const uint32_t *x, float scale) {
  uint32_t codes = mxg_cvt_scalef32_pk_fp4_bf16(0, x[0], scale, 0);
  codes = mxg_cvt_scalef32_pk_fp4_bf16(codes, x[1], scale, 1);
  codes = mxg_cvt_scalef32_pk_fp4_bf16(codes, x[2], scale, 2);
  return mxg_cvt_scalef32_pk_fp4_bf16(codes, x[3], scale, 3);
}
MXG_DEVICE uint32_t mxg_native_encode_e2m1_f16(const uint32_t *x, float scale) {
  uint32_t codes = mxg_cvt_scalef32_pk_fp4_f16(0, x[0], scale, 0);
  codes = mxg_cvt_scalef32_pk_fp4_f16(codes, x[1], scale, 1);
  codes = mxg_cvt_scalef32_pk_fp4_f16(codes, x[2], scale, 2);
  return mxg_cvt_scalef32_pk_fp4_f16(codes, x[3], scale, 3);
}
MXG_DEVICE void mxg_native_decode_e2m1(uint32_t codes, float *v) {
  mxg_cvt_scalef32_pk_f32_fp4(codes, 1.0f, 0, v);
  mxg_cvt_scalef32_pk_f32_fp4(codes, 1.0f, 1, v + 2);
  mxg_cvt_scalef32_pk_f32_fp4(codes, 1.0f, 2, v + 4);
  mxg_cvt_scalef32_pk_f32_fp4(codes, 1.0f, 3, v + 6);
}
#else /* never called */
MXG_DEVICE uint32_t mxg_native_encode_e2m1_f32(const float *v, float scale) {
  (void)v;
  (void)scale;
  return 0;
}
MXG_DEVICE uint32_t mxg_native_encode_e2m1_bf16(const uint32_t *x, float scale) {
  (void)x;
  (void)scale;
  return 0;
}
MXG_DEVICE uint32_t mxg_native_encode_e2m1_f16(const uint32_t *x, float scale) {
  (void)x;
  (void)scale;
  return 0;
}
MXG_DEVICE void mxg_native_decode_e2m1(uint32_t codes, float *v) {
  (void)codes;
  v[0] = 0.0f;
}
#endif

#endif
