/* ref_recipe.c: which recipes are legal (section 7, and the limits that sections 2 to 5 set).
 * Numbers are compared exactly: the answer does not depend on the floating-point environment.
 * SPDX-License-Identifier: MIT */
#include "ref.h"

/* An enumerator of a field that applies; the enumerators of every field are 1..last. */
static bool is_one_of(unsigned value, unsigned last) {
  return value >= 1 && value <= last;
}

static bool is_positive_zero(const float *number) {
  const ref_number value = mxg_ref_internal_load(MXG_DTYPE_F32, number, 0);
  return mxg_ref_internal_is_zero(value) && !value.negative;
}

/* 0, or above 0 and at most the format's maximum. */
static bool element_max_is_legal(const mxg_recipe *recipe, const ref_format *format) {
  const ref_number value = mxg_ref_internal_load(MXG_DTYPE_F32, &recipe->element_max, 0);
  const ref_number max = mxg_ref_internal_decode(format, format->max_code);
  return !value.nan && !value.negative && mxg_ref_internal_compare(value, max) <= 0;
}

/* Finite and at least 0; -0 is refused. */
static bool amax_floor_is_legal(const mxg_recipe *recipe) {
  const ref_number value = mxg_ref_internal_load(MXG_DTYPE_F32, &recipe->amax_floor, 0);
  return !value.nan && !value.infinite && !value.negative;
}

/* Section 2: FP4 and FP6 have neither Inf nor NaN. */
static bool element_fields_are_legal(const mxg_recipe *recipe) {
  const ref_format *format = mxg_ref_internal_format(recipe->element);
  if (format == NULL || !element_max_is_legal(recipe, format)) return false;
  if (!is_one_of((unsigned)recipe->nan_element, MXG_NAN_ELEMENT_ZERO)) return false;
  if (!is_one_of((unsigned)recipe->overflow, MXG_OVERFLOW_NONFINITE)) return false;
  if (!is_one_of((unsigned)recipe->accumulate, MXG_ACCUMULATE_MUL_ADD)) return false;
  if (format->nan_code != 0) return true;
  return recipe->overflow == MXG_OVERFLOW_SATURATE && recipe->nan_element != MXG_NAN_ELEMENT_CODE;
}

static bool block_fields_are_legal(const mxg_recipe *recipe) {
  if (recipe->scale == MXG_SCALE_NONE)
    return recipe->block == 0 && is_positive_zero(&recipe->amax_floor) && recipe->nan_amax == 0;
  return recipe->block >= 1 && amax_floor_is_legal(recipe) &&
         is_one_of((unsigned)recipe->nan_amax, MXG_NAN_AMAX_IGNORE);
}

/* Section 4: inf_scale=field goes with the rules that add to the bits. */
static bool e8m0_fields_are_legal(const mxg_recipe *recipe) {
  if (recipe->scale != MXG_SCALE_E8M0)
    return recipe->rule == 0 && recipe->edges == 0 && recipe->inf_scale == 0;
  if (recipe->inf_scale == MXG_INF_SCALE_FIELD &&
      (recipe->rule == MXG_RULE_RCEIL || recipe->rule == MXG_RULE_RCEIL_BUMP))
    return false;
  return is_one_of((unsigned)recipe->rule, MXG_RULE_RCEIL_BUMP) &&
         is_one_of((unsigned)recipe->edges, MXG_EDGES_FLOAT) &&
         is_one_of((unsigned)recipe->inf_scale, MXG_INF_SCALE_FIELD);
}

static bool f32_fields_are_legal(const mxg_recipe *recipe) {
  if (recipe->scale != MXG_SCALE_F32)
    return recipe->scale_math == 0 && recipe->scale_when == 0 && recipe->apply == 0 &&
           recipe->zero_block == 0 && recipe->marker == 0;
  return is_one_of((unsigned)recipe->scale_math, MXG_SCALE_MATH_DIV) &&
         is_one_of((unsigned)recipe->scale_when, MXG_SCALE_WHEN_ABOVE_MAX) &&
         is_one_of((unsigned)recipe->apply, MXG_APPLY_MUL_MAX) &&
         is_one_of((unsigned)recipe->zero_block, MXG_ZERO_BLOCK_COMPUTE) &&
         is_one_of((unsigned)recipe->marker, MXG_MARKER_ALWAYS);
}

mxg_status mxg_ref_internal_check_recipe(const mxg_recipe *recipe) {
  if (recipe == NULL) return MXG_ERR_NULL;
  for (size_t i = 0; i < sizeof recipe->reserved / sizeof recipe->reserved[0]; ++i)
    if (recipe->reserved[i] != 0) return MXG_ERR_RESERVED;
  if (!is_one_of((unsigned)recipe->scale, MXG_SCALE_F32)) return MXG_ERR_RECIPE;
  return element_fields_are_legal(recipe) && block_fields_are_legal(recipe) &&
                 e8m0_fields_are_legal(recipe) && f32_fields_are_legal(recipe)
             ? MXG_OK
             : MXG_ERR_RECIPE;
}
