/* avx2_combine.c: sums of rows for AVX2, FP8 (but E5M2FNUZ) and FP4, blocks of 32 n elements.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/decode_avx2.h"
#include "../simd/tile.h"

#include "../simd/combine.h"

static MXG_TARGET void combine_fp8(const mxg_combine_job *job) {
  mxg_combine_as(job, MXG_DECODING_FP8, 0);
}

static MXG_TARGET void combine_fp4(const mxg_combine_job *job) {
  mxg_combine_as(job, MXG_DECODING_FP4, 0);
}

void mxg_combine__avx2(const mxg_combine_job *job) {
  switch (mxg_decoding_of(job->plan->recipe.element)) {
    case MXG_DECODING_FP8: combine_fp8(job); break;
    case MXG_DECODING_FP4: combine_fp4(job); break;
  }
}
#endif
