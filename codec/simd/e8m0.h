/* e8m0.h: an E8M0 rule (section 4) as one addition, so that a vector of block maxima needs no case
 * and no float arithmetic. For leaves only.
 *
 *   byte = max(floor_byte, ((amax + addend) >> 23) - minus)    begin <= amax < end, or amax == 0
 *
 * floor, even, even21, half and ceil are that by definition. For the rceil rules byte is E(amax)
 * plus a constant, plus one if the mantissa is above a threshold: where d = fl(amax * fl(1/max)) is
 * normal, it scales with amax by powers of two. What lies outside [begin, end) goes to portable.
 * Recipes for which mxg_serves_quantize() holds.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_E8M0_H
#define MXG_SIMD_E8M0_H

#include "../internal.h"

typedef struct mxg_e8m0_sum {
  uint32_t addend;
  uint32_t minus;
  uint32_t floor_byte; /* of amax_floor: rules are monotone, so it may be applied to the byte */
  uint32_t least_byte; /* the byte of [begin, end) is no less: see below */
  uint32_t begin, end; /* begin is 0 where floor_byte is not below least_byte; begin == end: nothing
                        * fits, not even amax == 0 */
} mxg_e8m0_sum;

/* least_byte: a source subnormal, at most 2^-126, is below half of the format's finest step from
 * there on, so kernels may take its exponent field of 0 at face value. */
static inline mxg_e8m0_sum mxg_e8m0_sum_for(const mxg_plan *plan) {
  const mxg_e8m0_rule *rule = &plan->e8m0;
  const uint32_t floor_bits = mxg_f32_bits(plan->recipe.amax_floor);
  mxg_e8m0_sum sum;
  sum.least_byte = (uint32_t)(plan->traits.mantissa_bits + 2 - plan->traits.emin);
  if (rule->rceil == 0) {
    sum.addend = rule->addend;
    sum.minus = (uint32_t)rule->emax;
  } else {
    /* d is a power of two or less while amax * rcp_max, with significands of 24 bits, is at most
     * 2^47 plus half an ulp (the tie goes down, to the even one). A power of two as rcp_max leaves
     * d = 2^k for a zero mantissa alone. */
    const uint32_t significand = mxg_f32_significand(rule->rcp_max);
    const int power_of_two = significand == 0x800000u;
    const uint64_t largest = (((uint64_t)1 << 47) + ((uint64_t)1 << 23)) / significand;
    const uint32_t threshold = power_of_two ? 0u : (uint32_t)(largest - 0x800000u);
    sum.addend = 0x7FFFFFu - threshold;
    sum.minus = 126u + (uint32_t)power_of_two - (rule->rcp_max >> 23);
  }
  sum.floor_byte = floor_bits == 0 ? 0 : mxg_e8m0_from_amax_bits(rule, floor_bits);
  sum.end = MXG_F32_INF - sum.addend;
  sum.begin =
      sum.floor_byte >= sum.least_byte ? 0u : ((sum.least_byte + sum.minus) << 23) - sum.addend;
  if (floor_bits >= sum.end) sum.begin = sum.end;
  return sum;
}

#endif
