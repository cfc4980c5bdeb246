/* avx512_combine.c: sums of rows for AVX-512, FP8 and FP4, blocks of 32 n elements.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/decode_avx512.h"
#include "../simd/tile_avx512.h"

#include "../simd/combine.h"

/* One copy of the template for each decoding and order. */
#define COMBINE_AS(name, decoding, pairs)                   \
  static MXG_TARGET void name(const mxg_combine_job *job) { \
    mxg_combine_as(job, decoding, pairs);                   \
  }

COMBINE_AS(combine_fp8_pairs, MXG_DECODING_FP8, 1)
COMBINE_AS(combine_fp8, MXG_DECODING_FP8, 0)
COMBINE_AS(combine_fnuz_pairs, MXG_DECODING_FNUZ, 1)
COMBINE_AS(combine_fnuz, MXG_DECODING_FNUZ, 0)
COMBINE_AS(combine_fp4_pairs, MXG_DECODING_FP4, 1)
COMBINE_AS(combine_fp4, MXG_DECODING_FP4, 0)

void mxg_combine__avx512(const mxg_combine_job *job) {
  const int pairs = job->dtype == MXG_DTYPE_BF16;
  switch (mxg_decoding_of(job->plan->recipe.element)) {
    case MXG_DECODING_FP8: (pairs ? combine_fp8_pairs : combine_fp8)(job); break;
    case MXG_DECODING_FNUZ: (pairs ? combine_fnuz_pairs : combine_fnuz)(job); break;
    case MXG_DECODING_FP4: (pairs ? combine_fp4_pairs : combine_fp4)(job); break;
  }
}
#endif
