/* avx2_quantize.c: blocks into codes and scales with AVX2, FMA and F16C. avx2_quantize_mx.c is part
 * of this leaf: what is faster in lanes of 16 bits.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/ops_avx2.h"
#include "../simd/quantize.h"

int mxg_quantize__avx2(const mxg_quantize_job *job) {
  return quantize_lanes(job);
}
#endif
