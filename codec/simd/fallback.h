/* fallback.h: blocks of a quantise job for the portable kernel. For leaves only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_FALLBACK_H
#define MXG_SIMD_FALLBACK_H

#include "../internal.h"

/* `count` elements from the first of block number `block` of a job on, of this block and maybe of
 * more; the block starts on a byte. Returns 1 if one was scaled. */
static inline int mxg_quantize_block_portably(const mxg_quantize_job *job, size_t block,
                                              size_t count) {
  const mxg_plan *plan = job->plan;
  const size_t first = block * plan->recipe.block;
  mxg_quantize_job one = *job;
  one.x = (const uint8_t *)job->x + first * mxg_dtype_bytes(job->dtype);
  one.cols = count;
  one.codes = job->codes + (plan->traits.bits == 4 ? first / 2 : first);
  if (job->scales != NULL) one.scales = job->scales + block * mxg_scale_bytes(plan->recipe.scale);
  return mxg_quantize__portable(&one);
}

#endif
