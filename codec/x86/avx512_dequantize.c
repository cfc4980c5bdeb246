/* avx512_dequantize.c: codes into values for AVX-512, FP8 and FP4, blocks of 32 n elements.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/decode_avx512.h"

#include "../simd/dequantize.h"

/* One copy of the template for each decoding and dtype. */
#define DEQUANTIZE_AS(name, decoding, dtype)                   \
  static MXG_TARGET void name(const mxg_dequantize_job *job) { \
    mxg_dequantize_as(job, name, decoding, dtype);             \
  }

DEQUANTIZE_AS(fp8_to_f32, MXG_DECODING_FP8, MXG_DTYPE_F32)
DEQUANTIZE_AS(fp8_to_f16, MXG_DECODING_FP8, MXG_DTYPE_F16)
DEQUANTIZE_AS(fp8_to_bf16, MXG_DECODING_FP8, MXG_DTYPE_BF16)
DEQUANTIZE_AS(fnuz_to_f32, MXG_DECODING_FNUZ, MXG_DTYPE_F32)
DEQUANTIZE_AS(fnuz_to_f16, MXG_DECODING_FNUZ, MXG_DTYPE_F16)
DEQUANTIZE_AS(fnuz_to_bf16, MXG_DECODING_FNUZ, MXG_DTYPE_BF16)
DEQUANTIZE_AS(fp4_to_f32, MXG_DECODING_FP4, MXG_DTYPE_F32)
DEQUANTIZE_AS(fp4_to_f16, MXG_DECODING_FP4, MXG_DTYPE_F16)
DEQUANTIZE_AS(fp4_to_bf16, MXG_DECODING_FP4, MXG_DTYPE_BF16)

static void dequantize(const mxg_dequantize_job *job, mxg_dequantize_kernel *to_f32,
                       mxg_dequantize_kernel *to_f16, mxg_dequantize_kernel *to_bf16) {
  switch (job->dtype) {
    case MXG_DTYPE_F32: to_f32(job); break;
    case MXG_DTYPE_F16: to_f16(job); break;
    case MXG_DTYPE_BF16: to_bf16(job); break;
  }
}

void mxg_dequantize__avx512(const mxg_dequantize_job *job) {
  if (!mxg_fpenv_is_quiet()) {
    mxg_dequantize__portable(job);
    return;
  }
  switch (mxg_decoding_of(job->plan->recipe.element)) {
    case MXG_DECODING_FP8: dequantize(job, fp8_to_f32, fp8_to_f16, fp8_to_bf16); break;
    case MXG_DECODING_FNUZ: dequantize(job, fnuz_to_f32, fnuz_to_f16, fnuz_to_bf16); break;
    case MXG_DECODING_FP4: dequantize(job, fp4_to_f32, fp4_to_f16, fp4_to_bf16); break;
  }
}
#endif
