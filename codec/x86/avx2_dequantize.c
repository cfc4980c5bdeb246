/* avx2_dequantize.c: codes into values for AVX2, FP8 (but E5M2FNUZ) and FP4, blocks of 32 n
 * elements.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/decode_avx2.h"

#include "../simd/dequantize.h"

/* One copy of the template for each decoding and dtype. */
#define DEQUANTIZE_AS(name, decoding, dtype)                   \
  static MXG_TARGET void name(const mxg_dequantize_job *job) { \
    mxg_dequantize_as(job, name, decoding, dtype);             \
  }

DEQUANTIZE_AS(fp8_to_f32, MXG_DECODING_FP8, MXG_DTYPE_F32)
DEQUANTIZE_AS(fp8_to_f16, MXG_DECODING_FP8, MXG_DTYPE_F16)
DEQUANTIZE_AS(fp8_to_bf16, MXG_DECODING_FP8, MXG_DTYPE_BF16)
DEQUANTIZE_AS(fp4_to_f32, MXG_DECODING_FP4, MXG_DTYPE_F32)
DEQUANTIZE_AS(fp4_to_f16, MXG_DECODING_FP4, MXG_DTYPE_F16)
DEQUANTIZE_AS(fp4_to_bf16, MXG_DECODING_FP4, MXG_DTYPE_BF16)

void mxg_dequantize__avx2(const mxg_dequantize_job *job) {
  const int fp4 = mxg_decoding_of(job->plan->recipe.element) == MXG_DECODING_FP4;
  if (!mxg_fpenv_is_quiet()) {
    mxg_dequantize__portable(job);
    return;
  }
  switch (job->dtype) {
    case MXG_DTYPE_F32: (fp4 ? fp4_to_f32 : fp8_to_f32)(job); break;
    case MXG_DTYPE_F16: (fp4 ? fp4_to_f16 : fp8_to_f16)(job); break;
    case MXG_DTYPE_BF16: (fp4 ? fp4_to_bf16 : fp8_to_bf16)(job); break;
  }
}
#endif
