/* scale.h: the scale of a block from its amax, by the recipe's rule.
 *
 * E8M0 rules are integer arithmetic on binary32 bits and need no FP environment. Binary32 scales
 * are plain float arithmetic and need the default one (nearest even, no FTZ, no DAZ); no result
 * here feeds an addition, so contraction into fma cannot change it. C11, C++11, HIP and CUDA device
 * code. "Section n" is section n of docs/NUMERICS.md.
 *
 *   E8M0   eeeeeeee    2^(byte - 127); no sign, no zero; FF is NaN (edges ocp) or +Inf (edges float)
 *
 * amax arguments are the bits of a non-negative binary32 or of any NaN.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_SCALE_H
#define MXGOLD_SCALE_H

#include "element.h"

#ifdef __FAST_MATH__
#error "mxgold needs IEEE arithmetic: build without -ffast-math"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- bits of a float, and exact products by integers ---- */

MXG_FN uint32_t mxg_f32_bits(float value) {
  union {
    float f;
    uint32_t u;
  } both;
  both.f = value;
  return both.u;
}

MXG_FN float mxg_f32_from_bits(uint32_t bits) {
  union {
    float f;
    uint32_t u;
  } both;
  both.u = bits;
  return both.f;
}

/* fl(significand * 2^exponent) as bits; 0 <= significand < 2^63, -2000 <= exponent <= 2000. */
MXG_FN uint32_t mxg_round_to_f32(uint64_t significand, int exponent) {
  const uint32_t high = (uint32_t)(significand >> 32);
  int log2, biased, drop;
  uint64_t rounded;
  if (significand == 0) return 0;
  log2 = high != 0 ? 32 + mxg_floor_log2(high) : mxg_floor_log2((uint32_t)significand);
  biased = log2 + exponent + 127; /* exponent field of a normal result */
  if (biased > 254) return MXG_F32_INF;
  drop = log2 - 23 + (biased < 1 ? 1 - biased : 0);
  if (drop > 63) return 0;
  if (drop <= 0) {
    rounded = significand << -drop;
  } else {
    const uint64_t odd = significand >> drop & 1u;
    rounded = (significand + ((uint64_t)1 << (drop - 1)) - 1u + odd) >> drop;
  }
  /* The leading one, or a carry out of the mantissa, adds 1 to the exponent field. */
  return (uint32_t)rounded + (biased > 1 ? (uint32_t)(biased - 1) << 23 : 0u);
}

/* A finite magnitude is significand * 2^(exponent - 150). */
MXG_FN uint32_t mxg_f32_significand(uint32_t f) {
  return f >> 23 != 0 ? (f & 0x7FFFFFu) | 0x800000u : f;
}
MXG_FN int mxg_f32_exponent(uint32_t f) {
  return f >> 23 != 0 ? (int)(f >> 23) : 1;
}

/* fl(a * b) of two magnitudes that are no NaN, and not 0 * Inf. */
MXG_FN uint32_t mxg_f32_mul_magnitudes(uint32_t a, uint32_t b) {
  if (a == MXG_F32_INF || b == MXG_F32_INF) return MXG_F32_INF;
  return mxg_round_to_f32((uint64_t)mxg_f32_significand(a) * mxg_f32_significand(b),
                          mxg_f32_exponent(a) + mxg_f32_exponent(b) - 300);
}

/* fl(1 / a) of a finite magnitude > 0. */
MXG_FN uint32_t mxg_f32_reciprocal(uint32_t a) {
  const uint64_t divisor = mxg_f32_significand(a);
  const uint64_t scaled = (uint64_t)1 << 62;
  /* At least 38 bits of quotient, the remainder as a sticky last one: rounds like the exact value.
   */
  const uint64_t quotient = scaled / divisor | (scaled % divisor != 0);
  return mxg_round_to_f32(quotient, 150 - 62 - mxg_f32_exponent(a));
}

/* Bits of the recipe's maximum: element_max, or the format's own where that is 0. */
MXG_FN uint32_t mxg_max_bits(const mxg_recipe *recipe) {
  const uint32_t bits = mxg_f32_bits(recipe->element_max);
  return bits != 0 ? bits : mxg_f32_bits(mxg_element_traits(recipe->element).max);
}

/* ---- E8M0 (section 4) ---- */

typedef struct mxg_e8m0_rule {
  int rceil;           /* 1: the two rules that look at d = fl(amax * fl(1/max)) */
  int keep_subnormals; /* rceil: a subnormal d up to 2^-127 gives 0 */
  uint32_t rcp_max;    /* fl(1/max), bits */
  uint32_t addend;     /* other rules: added to the bits before the exponent field is taken */
  int emax;            /* other rules: subtracted from the field */
  uint32_t inf_byte;   /* amax Inf, or any result of 255 or more */
} mxg_e8m0_rule;

/* The rule of a valid e8m0 recipe. */
MXG_FN mxg_e8m0_rule mxg_e8m0_rule_for(const mxg_recipe *recipe) {
  const mxg_traits t = mxg_element_traits(recipe->element);
  mxg_e8m0_rule rule = {0, 0, 0, 0, 0, 0};
  rule.emax = t.emax;
  switch (recipe->rule) {
    case MXG_RULE_FLOOR: break;
    case MXG_RULE_EVEN: rule.addend = 1u << (22 - t.mantissa_bits); break;
    case MXG_RULE_EVEN21: rule.addend = 1u << 21; break;
    case MXG_RULE_HALF: rule.addend = 1u << 22; break;
    case MXG_RULE_CEIL: rule.addend = 0x7FFFFFu; break;
    case MXG_RULE_RCEIL:
      rule.keep_subnormals = 1;
      rule.rceil = 1;
      break;
    case MXG_RULE_RCEIL_BUMP: rule.rceil = 1; break;
  }
  if (rule.rceil != 0) rule.rcp_max = mxg_f32_reciprocal(mxg_max_bits(recipe));
  switch (recipe->inf_scale) {
    case MXG_INF_SCALE_NAN: rule.inf_byte = 0xFF; break;
    case MXG_INF_SCALE_MAX: rule.inf_byte = 0xFE; break;
    case MXG_INF_SCALE_FIELD: rule.inf_byte = (uint32_t)(255 - t.emax); break;
  }
  return rule;
}

/* The scale byte. */
MXG_FN uint32_t mxg_e8m0_from_amax_bits(const mxg_e8m0_rule *rule, uint32_t amax) {
  uint32_t byte;
  if (amax > MXG_F32_INF) return 0xFF;
  if (amax == 0) return 0;
  if (rule->rceil != 0) {
    const uint32_t d = mxg_f32_mul_magnitudes(amax, rule->rcp_max);
    byte = (d >> 23) + ((d & 0x7FFFFFu) != 0);
    if (rule->keep_subnormals != 0 && d <= 0x400000u) byte = 0;
  } else {
    byte = (amax + rule->addend) >> 23;
    if (byte < 255) byte = byte > (uint32_t)rule->emax ? byte - (uint32_t)rule->emax : 0;
  }
  return byte < 255 ? byte : rule->inf_byte;
}

/* Bits of the binary32 value of a scale byte. */
MXG_FN uint32_t mxg_e8m0_bits(mxg_edges edges, uint32_t byte) {
  if (byte == 0) return edges == MXG_EDGES_FLOAT ? 0u : 0x400000u;
  if (byte == 255) return edges == MXG_EDGES_FLOAT ? MXG_F32_INF : MXG_F32_NAN;
  return byte << 23;
}

/* ---- binary32 (section 5) ---- */

typedef struct mxg_f32_rule {
  float max, rcp_max; /* rcp_max = fl(1/max) */
  mxg_scale_math scale_math;
  mxg_scale_when scale_when;
  mxg_apply apply;
  mxg_zero_block zero_block;
} mxg_f32_rule;

typedef struct mxg_f32_scale {
  float scale;  /* as stored, before a marker negates it; a NaN is not canonical yet */
  float factor; /* v = fl(x * factor), or fl(x / factor) with divide; not read when not scaled */
  int scaled;   /* 0: v = x and scale = 1 */
  int divide;
} mxg_f32_scale;

/* The rule of a valid f32 recipe. */
MXG_FN mxg_f32_rule mxg_f32_rule_for(const mxg_recipe *recipe) {
  const uint32_t max = mxg_max_bits(recipe);
  mxg_f32_rule rule;
  rule.max = mxg_f32_from_bits(max);
  rule.rcp_max = mxg_f32_from_bits(mxg_f32_reciprocal(max));
  rule.scale_math = recipe->scale_math;
  rule.scale_when = recipe->scale_when;
  rule.apply = recipe->apply;
  rule.zero_block = recipe->zero_block;
  return rule;
}

MXG_FN mxg_f32_scale mxg_f32_scale_from_amax(const mxg_f32_rule *rule, float amax) {
  mxg_f32_scale s = {1.0f, 1.0f, 0, 0};
  if (rule->scale_when == MXG_SCALE_WHEN_ABOVE_MAX) {
    if (!(amax > rule->max)) return s; /* a NaN compares false */
  } else if (amax == 0.0f && rule->zero_block == MXG_ZERO_BLOCK_UNIT) {
    return s;
  }
  s.scaled = 1;
  s.scale = rule->scale_math == MXG_SCALE_MATH_MUL ? amax * rule->rcp_max : amax / rule->max;
  switch (rule->apply) {
    case MXG_APPLY_DIV:
      s.divide = 1;
      s.factor = s.scale;
      break;
    case MXG_APPLY_MUL_RCP: s.factor = 1.0f / s.scale; break;
    case MXG_APPLY_MUL_MAX: s.factor = rule->max / amax; break;
  }
  return s;
}

MXG_FN float mxg_f32_scale_apply(const mxg_f32_scale *s, float x) {
  if (s->scaled == 0) return x;
  return s->divide != 0 ? x / s->factor : x * s->factor;
}

#ifdef __cplusplus
}
#endif
#endif
