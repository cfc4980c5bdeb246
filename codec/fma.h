/* fma.h: exact multiply-add for CPUs and builds without an fma instruction, and a multiply and an
 * add that no compiler joins into one. Private to codec/. Default FP environment.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_CODEC_FMA_H
#define MXG_CODEC_FMA_H

#include "scale.h"

/* a * b + c rounded once (section 6).
 *
 * The product of two binary32 values is exact in binary64. Its sum with c is not: sum + error is
 * the exact value (2Sum, which needs no ordering of its operands), and rounding sum to odd instead
 * of to nearest keeps enough of error for the one cast to round correctly, subnormal results too:
 * 53 >= 24 + 2. Contraction here is harmless, as the product is exact either way. With Inf or NaN
 * error is NaN, which is neither below nor above 0. */
static inline float mxg_fma_exact(float a, float b, float c) {
  union {
    double d;
    uint64_t u;
  } sum;
  const double product = (double)a * (double)b;
  const double addend = (double)c;
  double rounded_addend, error;
  sum.d = product + addend;
  rounded_addend = sum.d - product;
  error = (product - (sum.d - rounded_addend)) + (addend - rounded_addend);
  if (error < 0.0 || error > 0.0) {
    /* an even sum steps to its odd neighbour on the side of error; it is not 0 here */
    const uint64_t even = ~sum.u & 1u;
    sum.u = (error > 0.0) == (sum.d > 0.0) ? sum.u + even : sum.u - even;
  }
  return (float)sum.d;
}

/* fl(acc + fl(a * b)). The sign of a reaches the product as an integer operation on its bits: in
 * between, a product and a sum cannot be contracted, whatever the compiler's flags. */
static inline float mxg_mul_then_add(float a, float b, float acc) {
  const uint32_t a_bits = mxg_f32_bits(a);
  const float product = mxg_f32_from_bits(a_bits & ~MXG_F32_SIGN) * b;
  return acc + mxg_f32_from_bits(mxg_f32_bits(product) ^ (a_bits & MXG_F32_SIGN));
}

#endif
