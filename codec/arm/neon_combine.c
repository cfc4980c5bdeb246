/* neon_combine.c: sums of rows for aarch64, FP8 and FP4, blocks of 32 n elements.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__aarch64__) && !defined(__AARCH64EB__)
#include "../simd/decode_neon.h"
#include "../simd/tile.h"

#include "../simd/combine.h"

/* One copy of the template for each decoding. */
#define COMBINE_AS(name, decoding)               \
  static void name(const mxg_combine_job *job) { \
    mxg_combine_as(job, decoding, 0);            \
  }

COMBINE_AS(combine_e4m3, MXG_DECODING_E4M3)
COMBINE_AS(combine_e4m3fnuz, MXG_DECODING_E4M3FNUZ)
COMBINE_AS(combine_e5m2, MXG_DECODING_E5M2)
COMBINE_AS(combine_fp4, MXG_DECODING_FP4)

void mxg_combine__neon(const mxg_combine_job *job) {
  if (!mxg_binary16_is_ieee()) {
    mxg_combine__portable(job);
    return;
  }
  switch (mxg_decoding_of(job->plan->recipe.element)) {
    case MXG_DECODING_E4M3: combine_e4m3(job); break;
    case MXG_DECODING_E4M3FNUZ: combine_e4m3fnuz(job); break;
    case MXG_DECODING_E5M2: combine_e5m2(job); break;
    case MXG_DECODING_FP4: combine_fp4(job); break;
  }
}
#endif
