/* avx512_quantize.c: blocks into codes and scales with AVX-512. avx512_quantize_mx.c is part of this
 * leaf: what is faster in lanes of 16 bits.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/ops_avx512.h"
#include "../simd/quantize.h"

int mxg_quantize__avx512(const mxg_quantize_job *job) {
  return quantize_lanes(job);
}
#endif
