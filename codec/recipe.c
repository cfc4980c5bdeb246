/* recipe.c: the table of recipe fields, and which recipes are legal (sections 2 to 7).
 * SPDX-License-Identifier: MIT */
#include "recipe_internal.h"

#include <string.h>

/* A field is read and written as a 32-bit word through its offset. */
#define ASSERT_WORD(type) _Static_assert(sizeof(type) == 4, #type " must be one 32-bit word")
ASSERT_WORD(float);
ASSERT_WORD(mxg_element);
ASSERT_WORD(mxg_scale);
ASSERT_WORD(mxg_rule);
ASSERT_WORD(mxg_nan_amax);
ASSERT_WORD(mxg_nan_element);
ASSERT_WORD(mxg_overflow);
ASSERT_WORD(mxg_edges);
ASSERT_WORD(mxg_inf_scale);
ASSERT_WORD(mxg_scale_math);
ASSERT_WORD(mxg_scale_when);
ASSERT_WORD(mxg_apply);
ASSERT_WORD(mxg_zero_block);
ASSERT_WORD(mxg_marker);
ASSERT_WORD(mxg_accumulate);

static const char *const element_names[] = {"e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz",
                                            "e2m1",   "e2m3",     "e3m2", NULL};
static const char *const scale_names[] = {"none", "e8m0", "f32", NULL};
static const char *const rule_names[] = {"floor", "even",  "even21",     "half",
                                         "ceil",  "rceil", "rceil_bump", NULL};
static const char *const nan_amax_names[] = {"propagate", "ignore", NULL};
static const char *const nan_element_names[] = {"code",    "neg_max", "sign_max",
                                                "pos_max", "zero",    NULL};
static const char *const overflow_names[] = {"saturate", "saturate_finite", "nonfinite", NULL};
static const char *const edges_names[] = {"ocp", "float", NULL};
static const char *const inf_scale_names[] = {"nan", "max", "field", NULL};
static const char *const scale_math_names[] = {"mul", "div", NULL};
static const char *const scale_when_names[] = {"always", "above_max", NULL};
static const char *const apply_names[] = {"div", "mul_rcp", "mul_max", NULL};
static const char *const zero_block_names[] = {"unit", "compute", NULL};
static const char *const marker_names[] = {"none", "if_scaled", "always", NULL};
static const char *const accumulate_names[] = {"fma", "mul_add", NULL};

enum {
  E8M0 = 1u << MXG_SCALE_E8M0,
  F32 = 1u << MXG_SCALE_F32,
  SCALED = E8M0 | F32,
  ANY = 1u << MXG_SCALE_NONE | SCALED
};

#define FIELD(name, kind, where, values, illegal, inapplicable)                             \
  {                                                                                         \
#name, MXG_FIELD_##kind, offsetof(mxg_recipe, name), where, values, #name ": " illegal, \
        #name ": " inapplicable                                                             \
  }
#define NOWHERE "applies to every recipe"
#define NOT_NONE "does not apply to scale=none; leave it 0"
#define ONLY_E8M0 "applies to scale=e8m0 only; leave it 0"
#define ONLY_F32 "applies to scale=f32 only; leave it 0"

const mxg_field_info mxg_field_table[MXG_FIELD_COUNT] = {
    FIELD(element, NAMED, ANY, element_names,
          "unknown; use e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, e2m1, e2m3 or e3m2", NOWHERE),
    FIELD(scale, NAMED, ANY, scale_names, "unknown; use none, e8m0 or f32", NOWHERE),
    FIELD(block, INTEGER, SCALED, NULL,
          "0 elements cannot share a scale; use an integer from 1 to 4294967295", NOT_NONE),
    FIELD(rule, NAMED, E8M0, rule_names,
          "unknown; use floor, even, even21, half, ceil, rceil or rceil_bump", ONLY_E8M0),
    FIELD(element_max, REAL, ANY, NULL,
          "use a number above 0 and not above the largest value of the element format", NOWHERE),
    FIELD(amax_floor, REAL, SCALED, NULL, "use a finite number, 0 or above", NOT_NONE),
    FIELD(nan_amax, NAMED, SCALED, nan_amax_names, "unknown; use propagate or ignore", NOT_NONE),
    FIELD(nan_element, NAMED, ANY, nan_element_names,
          "unknown; use code, neg_max, sign_max, pos_max or zero", NOWHERE),
    FIELD(overflow, NAMED, ANY, overflow_names,
          "unknown; use saturate, saturate_finite or nonfinite", NOWHERE),
    FIELD(edges, NAMED, E8M0, edges_names, "unknown; use ocp or float", ONLY_E8M0),
    FIELD(inf_scale, NAMED, E8M0, inf_scale_names, "unknown; use nan, max or field", ONLY_E8M0),
    FIELD(scale_math, NAMED, F32, scale_math_names, "unknown; use mul or div", ONLY_F32),
    FIELD(scale_when, NAMED, F32, scale_when_names, "unknown; use always or above_max", ONLY_F32),
    FIELD(apply, NAMED, F32, apply_names, "unknown; use div, mul_rcp or mul_max", ONLY_F32),
    FIELD(zero_block, NAMED, F32, zero_block_names, "unknown; use unit or compute", ONLY_F32),
    FIELD(marker, NAMED, F32, marker_names, "unknown; use none, if_scaled or always", ONLY_F32),
    FIELD(accumulate, NAMED, ANY, accumulate_names, "unknown; use fma or mul_add", NOWHERE),
};

uint32_t mxg_field_get(const mxg_recipe *recipe, mxg_field field) {
  uint32_t word;
  memcpy(&word, (const char *)recipe + mxg_field_table[field].offset_bytes, sizeof word);
  return word;
}

void mxg_field_set(mxg_recipe *recipe, mxg_field field, uint32_t word) {
  memcpy((char *)recipe + mxg_field_table[field].offset_bytes, &word, sizeof word);
}

int mxg_field_applies(mxg_field field, mxg_scale scale) {
  return scale >= MXG_SCALE_NONE && scale <= MXG_SCALE_F32 &&
         (mxg_field_table[field].scales >> scale & 1) != 0;
}

uint32_t mxg_element_max_bits(mxg_element element) {
  const float max = mxg_element_traits(element).max;
  uint32_t bits;
  memcpy(&bits, &max, sizeof bits);
  return bits;
}

/* Is the word a value of the field, the rest of the recipe aside? The bits of non-negative binary32
 * values are in the order of the values, -0 and everything negative above them. */
static int value_legal(const mxg_recipe *recipe, mxg_field field, uint32_t word) {
  switch (mxg_field_table[field].kind) {
    case MXG_FIELD_NAMED: {
      uint32_t count = 0;
      while (mxg_field_table[field].values[count] != NULL) count++;
      return word >= 1 && word <= count;
    }
    case MXG_FIELD_INTEGER: return word >= 1;
    case MXG_FIELD_REAL: break;
  }
  if (field == MXG_FIELD_ELEMENT_MAX) return word <= mxg_element_max_bits(recipe->element);
  return word < 0x7F800000u;
}

/* Legal values that do not go with others. NULL when there is no objection. */
static const char *combination(const mxg_recipe *recipe, mxg_field field) {
  const int has_nan = mxg_element_traits(recipe->element).nan_code != 0; /* not FP4 and FP6 */
  if (field == MXG_FIELD_NAN_ELEMENT && !has_nan && recipe->nan_element == MXG_NAN_ELEMENT_CODE)
    return "nan_element: FP4 and FP6 have no NaN code; use neg_max, sign_max, pos_max or zero";
  if (field == MXG_FIELD_OVERFLOW && !has_nan && recipe->overflow != MXG_OVERFLOW_SATURATE)
    return "overflow: FP4 and FP6 always saturate; use overflow=saturate";
  if (field == MXG_FIELD_INF_SCALE && recipe->inf_scale == MXG_INF_SCALE_FIELD &&
      (recipe->rule == MXG_RULE_RCEIL || recipe->rule == MXG_RULE_RCEIL_BUMP))
    return "inf_scale: field goes with the rules floor, even, even21, half and ceil only; use nan "
           "or max";
  return NULL;
}

mxg_field mxg_field_check(const mxg_recipe *recipe, const char **why) {
  for (mxg_field field = 0; field < MXG_FIELD_COUNT; field++) {
    const uint32_t word = mxg_field_get(recipe, field);
    *why = NULL;
    if (!mxg_field_applies(field, recipe->scale) && field > MXG_FIELD_SCALE) {
      if (word != 0) *why = mxg_field_table[field].inapplicable;
    } else if (!value_legal(recipe, field, word)) {
      *why = mxg_field_table[field].illegal;
    } else {
      *why = combination(recipe, field);
    }
    if (*why != NULL) return field;
  }
  return MXG_FIELD_COUNT;
}

static uint32_t f32_word(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return word;
}

static int among(uint32_t word, uint32_t count) {
  return word - 1u < count;
}

/* Legal, reserved words included: the table and combination() once more, without a walk, because
 * every call asks this first. */
static int legal_at_a_glance(const mxg_recipe *r) {
  const uint32_t scaled = r->block | f32_word(r->amax_floor) | (uint32_t)r->nan_amax;
  const uint32_t e8m0 = (uint32_t)r->rule | (uint32_t)r->edges | (uint32_t)r->inf_scale;
  const uint32_t f32 = (uint32_t)r->scale_math | (uint32_t)r->scale_when | (uint32_t)r->apply |
                       (uint32_t)r->zero_block | (uint32_t)r->marker;
  int legal = (r->reserved[0] | r->reserved[1] | r->reserved[2]) == 0 &&
              among((uint32_t)r->element, MXG_ELEMENT_E3M2) &&
              among((uint32_t)r->nan_element, MXG_NAN_ELEMENT_ZERO) &&
              among((uint32_t)r->overflow, MXG_OVERFLOW_NONFINITE) &&
              among((uint32_t)r->accumulate, MXG_ACCUMULATE_MUL_ADD) &&
              f32_word(r->element_max) <= mxg_element_max_bits(r->element);
  if (r->element >= MXG_ELEMENT_E2M1)
    legal &= r->overflow == MXG_OVERFLOW_SATURATE && r->nan_element != MXG_NAN_ELEMENT_CODE;
  if (r->scale == MXG_SCALE_NONE) return legal & ((scaled | e8m0 | f32) == 0);
  legal &= r->block != 0 && f32_word(r->amax_floor) < 0x7F800000u &&
           among((uint32_t)r->nan_amax, MXG_NAN_AMAX_IGNORE);
  if (r->scale == MXG_SCALE_E8M0)
    return legal & (f32 == 0 && among((uint32_t)r->rule, MXG_RULE_RCEIL_BUMP) &&
                    among((uint32_t)r->edges, MXG_EDGES_FLOAT) &&
                    among((uint32_t)r->inf_scale,
                          r->rule < MXG_RULE_RCEIL ? MXG_INF_SCALE_FIELD : MXG_INF_SCALE_MAX));
  return legal & (r->scale == MXG_SCALE_F32 && e8m0 == 0 &&
                  among((uint32_t)r->scale_math, MXG_SCALE_MATH_DIV) &&
                  among((uint32_t)r->scale_when, MXG_SCALE_WHEN_ABOVE_MAX) &&
                  among((uint32_t)r->apply, MXG_APPLY_MUL_MAX) &&
                  among((uint32_t)r->zero_block, MXG_ZERO_BLOCK_COMPUTE) &&
                  among((uint32_t)r->marker, MXG_MARKER_ALWAYS));
}

mxg_status mxg_recipe_check(const mxg_recipe *recipe, const char **why) {
  const char *sentence = NULL;
  mxg_status status = MXG_OK;
  if (why == NULL && recipe != NULL && legal_at_a_glance(recipe)) return MXG_OK;
  if (recipe == NULL) {
    status = MXG_ERR_NULL;
  } else if ((recipe->reserved[0] | recipe->reserved[1] | recipe->reserved[2]) != 0) {
    status = MXG_ERR_RESERVED;
    sentence = "reserved: set the reserved words to 0";
  } else if (mxg_field_check(recipe, &sentence) != MXG_FIELD_COUNT) {
    status = MXG_ERR_RECIPE;
  }
  if (why != NULL) *why = sentence;
  return status;
}

const char *mxg_recipe_key_at(size_t index) {
  return index < MXG_FIELD_COUNT ? mxg_field_table[index].name : NULL;
}

const char *mxg_recipe_value_at(size_t key_index, size_t index) {
  if (key_index >= MXG_FIELD_COUNT) return NULL;
  const char *const *values = mxg_field_table[key_index].values;
  if (values == NULL) return NULL;
  for (size_t i = 0; i < index; i++)
    if (values[i] == NULL) return NULL;
  return values[index];
}
