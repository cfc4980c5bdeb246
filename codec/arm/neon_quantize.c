/* neon_quantize.c: blocks into codes and scales for aarch64.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__aarch64__) && !defined(__AARCH64EB__)
#include "../simd/ops_neon.h"
#include "../simd/quantize.h"

int mxg_quantize__neon(const mxg_quantize_job *job) {
  if (job->dtype == MXG_DTYPE_F16 && !mxg_binary16_is_ieee()) return mxg_quantize__portable(job);
  return quantize_lanes(job);
}
#endif
