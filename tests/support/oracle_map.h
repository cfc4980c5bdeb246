/* oracle_map.h: the library's vocabulary in the oracle's words, and bits <-> float.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_ORACLE_MAP_H
#define TESTS_SUPPORT_ORACLE_MAP_H

#include <string.h>

#include "mxgold.h"
#include "oracle/oracle.h"

static inline uint32_t bits_of(float value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float float_of(uint32_t bits) {
  float value = 0.0f;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline oracle_format oracle_format_of(mxg_element element) {
  switch (element) {
    case MXG_ELEMENT_E4M3FN: return ORACLE_E4M3FN;
    case MXG_ELEMENT_E4M3FNUZ: return ORACLE_E4M3FNUZ;
    case MXG_ELEMENT_E5M2: return ORACLE_E5M2;
    case MXG_ELEMENT_E5M2FNUZ: return ORACLE_E5M2FNUZ;
    case MXG_ELEMENT_E2M1: return ORACLE_E2M1;
    case MXG_ELEMENT_E2M3: return ORACLE_E2M3;
    case MXG_ELEMENT_E3M2: return ORACLE_E3M2;
  }
  return ORACLE_FORMATS;
}

static inline oracle_nan oracle_nan_of(mxg_nan_element nan) {
  switch (nan) {
    case MXG_NAN_ELEMENT_CODE: return ORACLE_NAN_CODE;
    case MXG_NAN_ELEMENT_NEG_MAX: return ORACLE_NAN_NEG_MAX;
    case MXG_NAN_ELEMENT_SIGN_MAX: return ORACLE_NAN_SIGN_MAX;
    case MXG_NAN_ELEMENT_POS_MAX: return ORACLE_NAN_POS_MAX;
    case MXG_NAN_ELEMENT_ZERO: return ORACLE_NAN_ZERO;
  }
  return ORACLE_NAN_CODE;
}

static inline oracle_encoding oracle_encoding_of(const mxg_recipe *recipe) {
  const oracle_encoding how = {oracle_format_of(recipe->element),
                               recipe->overflow == MXG_OVERFLOW_SATURATE ? ORACLE_SATURATE
                               : recipe->overflow == MXG_OVERFLOW_SATURATE_FINITE
                                   ? ORACLE_SATURATE_FINITE
                                   : ORACLE_NONFINITE,
                               oracle_nan_of(recipe->nan_element), bits_of(recipe->element_max)};
  return how;
}

static inline oracle_rule oracle_rule_of(mxg_rule rule) {
  switch (rule) {
    case MXG_RULE_FLOOR: return ORACLE_FLOOR;
    case MXG_RULE_EVEN: return ORACLE_EVEN;
    case MXG_RULE_EVEN21: return ORACLE_EVEN21;
    case MXG_RULE_HALF: return ORACLE_HALF;
    case MXG_RULE_CEIL: return ORACLE_CEIL;
    case MXG_RULE_RCEIL: return ORACLE_RCEIL;
    case MXG_RULE_RCEIL_BUMP: return ORACLE_RCEIL_BUMP;
  }
  return ORACLE_FLOOR;
}

static inline oracle_inf_scale oracle_inf_scale_of(mxg_inf_scale inf_scale) {
  return inf_scale == MXG_INF_SCALE_NAN   ? ORACLE_INF_IS_NAN
         : inf_scale == MXG_INF_SCALE_MAX ? ORACLE_INF_IS_MAX
                                          : ORACLE_INF_IS_FIELD;
}

static inline oracle_edges oracle_edges_of(mxg_edges edges) {
  return edges == MXG_EDGES_OCP ? ORACLE_EDGES_OCP : ORACLE_EDGES_FLOAT;
}

static inline oracle_f32_rule oracle_f32_rule_of(const mxg_recipe *recipe) {
  const oracle_f32_rule rule = {recipe->scale_math == MXG_SCALE_MATH_DIV,
                                recipe->scale_when == MXG_SCALE_WHEN_ABOVE_MAX,
                                recipe->zero_block == MXG_ZERO_BLOCK_COMPUTE,
                                recipe->apply == MXG_APPLY_DIV       ? ORACLE_APPLY_DIV
                                : recipe->apply == MXG_APPLY_MUL_RCP ? ORACLE_APPLY_MUL_RCP
                                                                     : ORACLE_APPLY_MUL_MAX};
  return rule;
}

/* The byte that the recipe's rule gives for amax. */
static inline uint8_t oracle_e8m0_of(const mxg_recipe *recipe, uint32_t amax) {
  return oracle_e8m0(oracle_rule_of(recipe->rule), oracle_format_of(recipe->element),
                     bits_of(recipe->element_max), oracle_inf_scale_of(recipe->inf_scale), amax);
}

#endif
