/* ref_scale.c: sections 4 and 5, from the amax of a block to its scale.
 * Section 4 uses exact numbers only, so it holds in any floating-point environment. Section 5 is
 * binary32 arithmetic by the plain operators: products and quotients, never a sum that a compiler
 * could fuse them with.
 * SPDX-License-Identifier: MIT */
#include "ref.h"

#include <string.h>

/* ---- section 4: E8M0 ---- */

/* E and M of a non-negative value that is a binary32. */
static uint32_t exponent_field(uint32_t bits) {
  return bits >> 23 & 0xFF;
}
static uint32_t mantissa_field(uint32_t bits) {
  return bits & 0x7FFFFF;
}

/* The rules that add to the bits and then take the floor: the sum carries into E exactly when M is
 * at least this. 2^23: never. */
static uint32_t carry_threshold(mxg_rule rule, int mantissa_bits) {
  const uint32_t one = 0x800000;
  switch (rule) {
    case MXG_RULE_EVEN: return one - (0x400000u >> mantissa_bits);
    case MXG_RULE_EVEN21: return 0x600000; /* 1.75 */
    case MXG_RULE_HALF: return 0x400000;   /* 1.5 */
    case MXG_RULE_CEIL: return 0x000001;   /* above a power of two */
    case MXG_RULE_FLOOR:
    case MXG_RULE_RCEIL:
    case MXG_RULE_RCEIL_BUMP: break;
  }
  return one;
}

/* amax Inf, a carry into exponent 255, or any result of 255 or more. */
static uint32_t inf_scale_byte(const mxg_recipe *recipe, int emax) {
  switch (recipe->inf_scale) {
    case MXG_INF_SCALE_NAN: break;
    case MXG_INF_SCALE_MAX: return 0xFE;
    case MXG_INF_SCALE_FIELD: return (uint32_t)(255 - emax);
  }
  return 0xFF;
}

uint32_t mxg_ref_internal_e8m0_from_amax(const ref_plan *plan, ref_number amax) {
  const mxg_recipe *recipe = plan->recipe;
  const ref_format *format = plan->format;
  amax.negative = false;
  if (amax.nan) return 0xFF;
  if (amax.infinite) return inf_scale_byte(recipe, format->emax);
  if (mxg_ref_internal_is_zero(amax)) return 0;

  if (recipe->rule == MXG_RULE_RCEIL || recipe->rule == MXG_RULE_RCEIL_BUMP) {
    /* d = fl(amax * fl(1/max)); up to the next power of two */
    const uint32_t d =
        mxg_ref_internal_to_bits(MXG_DTYPE_F32, mxg_ref_internal_multiply(amax, plan->reciprocal));
    uint32_t byte = exponent_field(d) + (mantissa_field(d) != 0);
    if (recipe->rule == MXG_RULE_RCEIL && exponent_field(d) == 0)
      byte = mantissa_field(d) > 0x400000; /* above 2^-127 */
    return byte >= 255 ? inf_scale_byte(recipe, format->emax) : byte;
  }

  const uint32_t bits = mxg_ref_internal_to_bits(MXG_DTYPE_F32, amax);
  const uint32_t threshold = carry_threshold(recipe->rule, format->mantissa_bits);
  const uint32_t exponent = exponent_field(bits) + (mantissa_field(bits) >= threshold);
  if (exponent == 255) return inf_scale_byte(recipe, format->emax);
  const uint32_t emax = (uint32_t)format->emax;
  return exponent > emax ? exponent - emax : 0; /* clamp0 */
}

/* Payload: byte 00 is 2^-127 under both edges; byte FF is NaN or acts as a scale of +Inf. */
ref_number mxg_ref_internal_e8m0_apply(mxg_edges edges, uint32_t byte, ref_number x) {
  if (byte == 0xFF) {
    x.nan = edges == MXG_EDGES_OCP || x.nan || x.infinite;
    x.infinite = false;
    x.mantissa = 0;
    return x;
  }
  x.exponent += 127 - (int32_t)byte;
  return x;
}

/* Decoding: 2^(byte-127), with the two edges of each kind. */
ref_number mxg_ref_internal_e8m0_value(mxg_edges edges, uint32_t byte) {
  ref_number value = {1, (int32_t)byte - 127, false, false, false};
  if (byte == 0xFF) {
    value.mantissa = 0;
    value.nan = edges == MXG_EDGES_OCP;
    value.infinite = edges == MXG_EDGES_FLOAT;
  } else if (byte == 0 && edges == MXG_EDGES_FLOAT) {
    value.mantissa = 0;
  }
  return value;
}

/* ---- section 5: binary32 ---- */

/* Does the block's scale come from scale_math? Otherwise s = 1 and the block is a plain cast. */
bool mxg_ref_internal_f32_is_scaled(const ref_plan *plan, float amax) {
  const float max = mxg_ref_internal_to_float(plan->max);
  if (plan->recipe->scale_when == MXG_SCALE_WHEN_ABOVE_MAX) return amax > max; /* false for NaN */
  return !(amax == 0.0f && plan->recipe->zero_block == MXG_ZERO_BLOCK_UNIT);
}

float mxg_ref_internal_f32_scale(const ref_plan *plan, float amax) {
  const float max = mxg_ref_internal_to_float(plan->max);
  if (plan->recipe->scale_math == MXG_SCALE_MATH_DIV) return amax / max;
  const float rcp = 1.0f / max;
  return amax * rcp;
}

float mxg_ref_internal_f32_apply(const ref_plan *plan, float amax, float s, float x) {
  const float max = mxg_ref_internal_to_float(plan->max);
  float factor = 1.0f;
  switch (plan->recipe->apply) {
    case MXG_APPLY_DIV: return x / s;
    case MXG_APPLY_MUL_RCP: factor = 1.0f / s; break;
    case MXG_APPLY_MUL_MAX: factor = max / amax; break;
  }
  return x * factor;
}

/* ---- arrays ---- */

static mxg_status check_e8m0_recipe(const mxg_recipe *recipe) {
  const mxg_status status = mxg_ref_internal_check_recipe(recipe);
  if (status != MXG_OK) return status;
  return recipe->scale == MXG_SCALE_E8M0 ? MXG_OK : MXG_ERR_RECIPE;
}

mxg_status mxg_ref_e8m0_from_amax(const mxg_recipe *recipe, const float *amax, size_t count,
                                  uint8_t *scales) {
  mxg_status status = check_e8m0_recipe(recipe);
  if (status != MXG_OK) return status;
  status = mxg_ref_internal_check_array(amax, 4, scales, 1, count, true);
  if (status != MXG_OK) return status;
  ref_plan plan;
  mxg_ref_internal_plan(recipe, &plan);
  for (size_t i = 0; i < count; ++i) {
    const ref_number value = mxg_ref_internal_load(MXG_DTYPE_F32, amax, i);
    scales[i] = (uint8_t)mxg_ref_internal_e8m0_from_amax(&plan, value);
  }
  return MXG_OK;
}

/* Section 4, lone conversions: the rule applied to fl(s*max). */
mxg_status mxg_ref_e8m0_from_scale(const mxg_recipe *recipe, const float *scale, size_t count,
                                   uint8_t *scales) {
  mxg_status status = check_e8m0_recipe(recipe);
  if (status != MXG_OK) return status;
  status = mxg_ref_internal_check_array(scale, 4, scales, 1, count, true);
  if (status != MXG_OK) return status;
  ref_plan plan;
  mxg_ref_internal_plan(recipe, &plan);
  for (size_t i = 0; i < count; ++i) {
    const ref_number s = mxg_ref_internal_load(MXG_DTYPE_F32, scale, i);
    const ref_number amax = mxg_ref_internal_fl(mxg_ref_internal_multiply(s, plan.max));
    scales[i] = (uint8_t)mxg_ref_internal_e8m0_from_amax(&plan, amax);
  }
  return MXG_OK;
}

mxg_status mxg_ref_e8m0_to_f32(mxg_edges edges, const uint8_t *scales, size_t count, float *y) {
  if (edges != MXG_EDGES_OCP && edges != MXG_EDGES_FLOAT) return MXG_ERR_RECIPE;
  const mxg_status status = mxg_ref_internal_check_array(scales, 1, y, 4, count, true);
  if (status != MXG_OK) return status;
  for (size_t i = 0; i < count; ++i)
    mxg_ref_internal_store(MXG_DTYPE_F32, y, i, mxg_ref_internal_e8m0_value(edges, scales[i]));
  return MXG_OK;
}
