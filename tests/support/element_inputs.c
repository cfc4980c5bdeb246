/* element_inputs.c
 * SPDX-License-Identifier: MIT */
#include "element_inputs.h"

#include <string.h>

static const struct {
  mxg_element element;
  const char *name;
  unsigned bits;
} elements[ELEMENTS] = {
    {MXG_ELEMENT_E4M3FN, "E4M3FN", 8}, {MXG_ELEMENT_E4M3FNUZ, "E4M3FNUZ", 8},
    {MXG_ELEMENT_E5M2, "E5M2", 8},     {MXG_ELEMENT_E5M2FNUZ, "E5M2FNUZ", 8},
    {MXG_ELEMENT_E2M1, "E2M1", 4},     {MXG_ELEMENT_E2M3, "E2M3", 6},
    {MXG_ELEMENT_E3M2, "E3M2", 6},
};

static int index_of(mxg_element element) {
  int i = 0;
  while (elements[i].element != element) i++;
  return i;
}

mxg_element element_at(int index) {
  return elements[index].element;
}
const char *element_name(mxg_element element) {
  return elements[index_of(element)].name;
}
static int is_fp8(mxg_element element) {
  return elements[index_of(element)].bits == 8;
}

uint32_t stress_bits(size_t index) {
  static const uint32_t lower[6] = {0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
  return (uint32_t)(index / 6) << 16 | lower[index % 6];
}

mxg_recipe cast_recipe(mxg_element element) {
  mxg_recipe recipe;
  memset(&recipe, 0, sizeof recipe);
  recipe.element = element;
  recipe.scale = MXG_SCALE_NONE;
  recipe.overflow = MXG_OVERFLOW_SATURATE;
  recipe.nan_element = is_fp8(element) ? MXG_NAN_ELEMENT_CODE : MXG_NAN_ELEMENT_SIGN_MAX;
  recipe.accumulate = MXG_ACCUMULATE_FMA;
  return recipe;
}

mxg_recipe e8m0_recipe(mxg_element element, mxg_rule rule, uint32_t block) {
  mxg_recipe recipe = cast_recipe(element);
  recipe.scale = MXG_SCALE_E8M0;
  recipe.block = block;
  recipe.rule = rule;
  recipe.nan_amax = MXG_NAN_AMAX_PROPAGATE;
  recipe.edges = MXG_EDGES_OCP;
  recipe.inf_scale = MXG_INF_SCALE_NAN;
  return recipe;
}

mxg_recipe f32_recipe(mxg_element element, mxg_scale_math scale_math, mxg_apply apply,
                      uint32_t block) {
  mxg_recipe recipe = cast_recipe(element);
  recipe.scale = MXG_SCALE_F32;
  recipe.block = block;
  recipe.nan_amax = MXG_NAN_AMAX_PROPAGATE;
  recipe.scale_math = scale_math;
  recipe.scale_when = MXG_SCALE_WHEN_ALWAYS;
  recipe.apply = apply;
  recipe.zero_block = MXG_ZERO_BLOCK_UNIT;
  recipe.marker = MXG_MARKER_NONE;
  return recipe;
}

void first_policy(mxg_recipe *recipe) {
  recipe->overflow = MXG_OVERFLOW_SATURATE;
  recipe->nan_element = is_fp8(recipe->element) ? MXG_NAN_ELEMENT_CODE : MXG_NAN_ELEMENT_NEG_MAX;
}

int next_policy(mxg_recipe *recipe) {
  if (recipe->nan_element != MXG_NAN_ELEMENT_ZERO) {
    recipe->nan_element = (mxg_nan_element)(recipe->nan_element + 1);
    return 1;
  }
  if (!is_fp8(recipe->element) || recipe->overflow == MXG_OVERFLOW_NONFINITE) return 0;
  recipe->overflow = (mxg_overflow)(recipe->overflow + 1);
  recipe->nan_element = MXG_NAN_ELEMENT_CODE;
  return 1;
}

uint8_t packed_code(mxg_element element, const uint8_t *row, size_t index) {
  const unsigned bits = elements[index_of(element)].bits;
  unsigned code = 0;
  for (unsigned b = 0; b < bits; b++) {
    const size_t bit = index * bits + b;
    code |= ((unsigned)row[bit / 8] >> bit % 8 & 1u) << b;
  }
  return (uint8_t)code;
}

void pack_code(mxg_element element, uint8_t *row, size_t index, uint8_t code) {
  const unsigned bits = elements[index_of(element)].bits;
  for (unsigned b = 0; b < bits; b++) {
    const size_t bit = index * bits + b;
    if (code >> b & 1) row[bit / 8] = (uint8_t)(row[bit / 8] | 1u << bit % 8);
  }
}
