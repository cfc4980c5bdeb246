/* diagnose_scale.c: the scale of a block and what it does to an element, with a chosen fault
 * (sections 3 to 5).
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "diagnose_internal.h"

/* ---- reciprocals ---- */

static float step_ulps(float v, int ulps) {
  const uint32_t bits = mxg_float_bits(v);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (isnan(v) || isinf(v) || magnitude == 0) return v;
  return mxg_bits_float((bits & 0x80000000u) | (uint32_t)((int32_t)magnitude + ulps));
}

/* To so many fraction bits; subnormals, Inf and NaN stay. */
static float shorten(float v, int fraction_bits, bool rounds) {
  uint32_t bits = mxg_float_bits(v);
  if ((bits & 0x7F800000u) == 0 || (bits & 0x7F800000u) == 0x7F800000u) return v;
  const uint32_t drop = (uint32_t)(23 - fraction_bits), mask = (1u << drop) - 1;
  if (rounds && drop) bits += (mask >> 1) + (bits >> drop & 1);
  return mxg_bits_float(bits & ~mask);
}

static float newton(float divisor, float guess, int steps) {
  for (int i = 0; i < steps; i++) {
    const float product = divisor * guess;
    const float rest = 2.0f - product;
    guess = guess * rest;
  }
  return guess;
}

/* right: the nearest f32 of numerator / divisor. */
static float approximate(const mxg_wrong *wrong, mxg_reciprocal_of of, float numerator,
                         float divisor, float right) {
  if (wrong->reciprocal == MXG_RECIPROCAL_RIGHT ||
      (wrong->reciprocal_of != of && wrong->reciprocal_of != MXG_OF_BOTH))
    return right;
  const int amount = wrong->reciprocal_amount;
  switch (wrong->reciprocal) {
    case MXG_RECIPROCAL_ULPS: return step_ulps(right, amount);
    case MXG_RECIPROCAL_TRUNCATED: return shorten(right, amount, false);
    case MXG_RECIPROCAL_ROUNDED: return shorten(right, amount, true);
    case MXG_RECIPROCAL_NEWTON:
      return numerator *
             newton(divisor, mxg_bits_float(0x7EF311C7u - mxg_float_bits(divisor)), amount);
    case MXG_RECIPROCAL_REFINED:
      return numerator * newton(divisor, shorten(1.0f / divisor, 12, false), 1);
    case MXG_RECIPROCAL_RIGHT:
    case MXG_RECIPROCAL_DIVIDES: break;
  }
  return right;
}

/* ---- steps ---- */

uint32_t mxg_wrong_step(const mxg_wrong *wrong, uint32_t stored) {
  if (wrong->recipe.scale == MXG_SCALE_E8M0) {
    const int byte = (int)stored + wrong->step;
    if (wrong->step_where == MXG_STEP_STORED_WRAPS) return (uint32_t)byte & 255u;
    return stored == 255u || byte < 0 ? stored : byte > 254 ? 254u : (uint32_t)byte;
  }
  const float s = mxg_bits_float(stored);
  if (wrong->step_unit == MXG_STEP_ULP) return mxg_float_bits(step_ulps(s, wrong->step));
  return mxg_float_bits(wrong->step > 0 ? s * 2.0f : s * 0.5f);
}

static bool steps_stored(const mxg_wrong *wrong) {
  return wrong->step && wrong->step_unit <= MXG_STEP_ULP && wrong->step_where != MXG_STEP_PAYLOAD;
}

static bool steps_payload(const mxg_wrong *wrong) {
  return wrong->step && wrong->step_unit <= MXG_STEP_ULP &&
         (wrong->step_where == MXG_STEP_BOTH || wrong->step_where == MXG_STEP_PAYLOAD);
}

/* ---- E8M0 (section 4) ---- */

static float max_in_force(const mxg_recipe *recipe) {
  return recipe->element_max > 0.0f ? recipe->element_max : mxg_element_traits(recipe->element).max;
}

/* fl(amax * fl(1/max)) */
static float scaled_amax(const mxg_wrong *wrong, float amax) {
  const float max = max_in_force(&wrong->recipe);
  if (wrong->reciprocal == MXG_RECIPROCAL_DIVIDES) return amax / max;
  return amax * approximate(wrong, MXG_OF_MAX, 1.0f, max, 1.0f / max);
}

static uint32_t e8m0_byte(const mxg_wrong *wrong, float amax) {
  const mxg_recipe *recipe = &wrong->recipe;
  const mxg_traits t = mxg_element_traits(recipe->element);
  const uint32_t bits = mxg_float_bits(amax);
  uint32_t addend = 0;
  uint32_t byte = 0;
  if (bits == 0) return 0;
  switch (recipe->rule) {
    case MXG_RULE_FLOOR: break;
    case MXG_RULE_EVEN: addend = 1u << (22 - t.mantissa_bits); break;
    case MXG_RULE_EVEN21: addend = 0x200000u; break;
    case MXG_RULE_HALF: addend = 0x400000u; break;
    case MXG_RULE_CEIL: addend = 0x7FFFFFu; break;
    case MXG_RULE_RCEIL:
    case MXG_RULE_RCEIL_BUMP: break;
  }
  if (recipe->rule == MXG_RULE_RCEIL || recipe->rule == MXG_RULE_RCEIL_BUMP) {
    const uint32_t d = mxg_float_bits(
        mxg_wrong_flush(scaled_amax(wrong, amax), (wrong->flush & MXG_FLUSH_MIDDLE) != 0));
    const uint32_t fraction = d & 0x7FFFFFu;
    byte = (d >> 23) + (fraction != 0);
    if (recipe->rule == MXG_RULE_RCEIL && d >> 23 == 0) byte = fraction > 0x400000u;
    if (byte < 255) return byte;
  } else {
    const uint32_t exponent = bits >> 23 == 255 ? 255 : (bits + addend) >> 23;
    byte = exponent > (uint32_t)t.emax ? exponent - (uint32_t)t.emax : 0;
    if (exponent < 255) return byte;
  }
  switch (recipe->inf_scale) {
    case MXG_INF_SCALE_MAX: return 254;
    case MXG_INF_SCALE_FIELD: return 255u - (uint32_t)t.emax;
    case MXG_INF_SCALE_NAN: break;
  }
  return 255;
}

static mxg_block_scale e8m0_scale(const mxg_wrong *wrong, float amax, bool is_nan) {
  mxg_block_scale out = {0, true, MXG_HOW_EXPONENT, 0, 0.0f};
  const uint32_t right = is_nan ? 255 : e8m0_byte(wrong, amax);
  const uint32_t stepped = mxg_wrong_step(wrong, right);
  const uint32_t used = steps_payload(wrong) ? stepped : right;
  out.stored = steps_stored(wrong) ? stepped : right;
  out.exponent = 127 - (int)used;
  if (used == 255) {
    out.how = wrong->recipe.edges == MXG_EDGES_FLOAT ? MXG_HOW_MULTIPLY : MXG_HOW_NAN;
    out.factor = 0.0f;
  }
  if ((wrong->flush & MXG_FLUSH_FACTOR) && used == 0) { /* x / 0 */
    out.how = MXG_HOW_DIVIDE;
    out.factor = 0.0f;
  }
  if ((wrong->flush & MXG_FLUSH_FACTOR) && used == 254) {
    out.how = MXG_HOW_MULTIPLY;
    out.factor = 0.0f;
  }
  return out;
}

/* ---- f32 (section 5) ---- */

static mxg_block_scale unscaled(void) {
  const mxg_block_scale out = {0x3F800000u, false, MXG_HOW_CAST, 0, 1.0f};
  return out;
}

static float via_scale(const mxg_wrong *wrong, float s) {
  if (!wrong->via || !(wrong->via_places & MXG_VIA_SCALE)) return s;
  return (float)mxg_wrong_round((double)s, wrong->via, MXG_ROUND_EVEN);
}

static void set_factor(const mxg_wrong *wrong, float amax, float s, mxg_block_scale *out) {
  const bool flushes = (wrong->flush & MXG_FLUSH_MIDDLE) != 0;
  const float max = max_in_force(&wrong->recipe);
  const bool approximates = wrong->reciprocal != MXG_RECIPROCAL_RIGHT &&
                            wrong->reciprocal != MXG_RECIPROCAL_DIVIDES &&
                            wrong->reciprocal_of != MXG_OF_MAX;
  out->how = MXG_HOW_MULTIPLY;
  if (wrong->recipe.apply == MXG_APPLY_MUL_MAX) {
    out->factor = approximate(wrong, MXG_OF_SCALE, max, amax, max / amax);
  } else if (wrong->recipe.apply == MXG_APPLY_MUL_RCP || approximates) {
    out->factor = approximate(wrong, MXG_OF_SCALE, 1.0f, s, 1.0f / s);
  } else {
    out->how = MXG_HOW_DIVIDE;
    out->factor = s;
  }
  out->factor = mxg_wrong_flush(out->factor, flushes);
  if (!steps_payload(wrong)) return;
  const bool up = (wrong->step > 0) == (out->how == MXG_HOW_DIVIDE);
  if (wrong->step_unit == MXG_STEP_EXPONENT)
    out->factor = up ? out->factor * 2.0f : out->factor * 0.5f;
}

static mxg_block_scale f32_scale(const mxg_wrong *wrong, float amax, bool is_nan) {
  const mxg_recipe *recipe = &wrong->recipe;
  const float max = max_in_force(recipe);
  mxg_block_scale out = unscaled();
  if (recipe->scale_when == MXG_SCALE_WHEN_ABOVE_MAX && (is_nan || !(amax > max))) return out;
  out.is_scaled = true;
  if (is_nan) {
    out.stored = 0x7FC00000u;
    out.how = MXG_HOW_NAN;
    return out;
  }
  if (amax <= 0.0f && recipe->zero_block == MXG_ZERO_BLOCK_UNIT &&
      recipe->scale_when == MXG_SCALE_WHEN_ALWAYS)
    return unscaled();
  float s = recipe->scale_math == MXG_SCALE_MATH_DIV ? amax / max : scaled_amax(wrong, amax);
  if (recipe->scale_math == MXG_SCALE_MATH_DIV) s = approximate(wrong, MXG_OF_MAX, 1.0f, 1.0f, s);
  s = via_scale(wrong, mxg_wrong_flush(s, (wrong->flush & MXG_FLUSH_MIDDLE) != 0));
  set_factor(wrong, amax, s, &out);
  out.stored = mxg_float_bits(s);
  if (steps_stored(wrong)) out.stored = mxg_wrong_step(wrong, out.stored);
  return out;
}

mxg_block_scale mxg_wrong_scale(const mxg_wrong *wrong, mxg_amax amax) {
  const mxg_recipe *recipe = &wrong->recipe;
  if (recipe->scale == MXG_SCALE_NONE) return unscaled();
  float value = mxg_wrong_flush(amax.value, (wrong->flush & MXG_FLUSH_MIDDLE) != 0);
  if (value < recipe->amax_floor) value = recipe->amax_floor;
  const bool is_nan = amax.has_nan && recipe->nan_amax == MXG_NAN_AMAX_PROPAGATE;
  return recipe->scale == MXG_SCALE_E8M0 ? e8m0_scale(wrong, value, is_nan)
                                         : f32_scale(wrong, value, is_nan);
}

/* ---- elements ---- */

float mxg_wrong_input(const mxg_wrong *wrong, float x, mxg_dtype dtype) {
  if (wrong->flush & MXG_FLUSH_INPUT) {
    const float least = dtype == MXG_DTYPE_F16 ? 0x1p-14f : 0x1p-126f;
    if (fabsf(x) < least)
      x = (wrong->flush & MXG_FLUSH_SIGN) && fabsf(x) > 0.0f ? 0.0f : copysignf(0.0f, x);
  }
  if (wrong->via && (wrong->via_places & MXG_VIA_INPUT))
    x = (float)mxg_wrong_round((double)x, wrong->via, MXG_ROUND_EVEN);
  return x;
}

double mxg_wrong_apply(const mxg_wrong *wrong, const mxg_block_scale *scale, float x) {
  float v = x;
  switch (scale->how) {
    case MXG_HOW_CAST: return (double)x;
    case MXG_HOW_EXPONENT: return (double)x * mxg_power_of_two(scale->exponent);
    case MXG_HOW_MULTIPLY: v = x * scale->factor; break;
    case MXG_HOW_DIVIDE: v = x / scale->factor; break;
    case MXG_HOW_NAN: return (double)NAN;
  }
  return (double)mxg_wrong_flush(v, (wrong->flush & MXG_FLUSH_MIDDLE) != 0);
}
