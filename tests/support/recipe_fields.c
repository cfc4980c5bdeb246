/* recipe_fields.c
 * SPDX-License-Identifier: MIT */
#include "recipe_fields.h"

#include <string.h>

const struct recipe_field recipe_fields[RECIPE_FIELDS] = {
    {"element", "e4m3fn e4m3fnuz e5m2 e5m2fnuz e2m1 e2m3 e3m2", "none e8m0 f32"},
    {"scale", "none e8m0 f32", "none e8m0 f32"},
    {"block", "", "e8m0 f32"},
    {"rule", "floor even even21 half ceil rceil rceil_bump", "e8m0"},
    {"element_max", "", "none e8m0 f32"},
    {"amax_floor", "", "e8m0 f32"},
    {"nan_amax", "propagate ignore", "e8m0 f32"},
    {"nan_element", "code neg_max sign_max pos_max zero", "none e8m0 f32"},
    {"overflow", "saturate saturate_finite nonfinite", "none e8m0 f32"},
    {"edges", "ocp float", "e8m0"},
    {"inf_scale", "nan max field", "e8m0"},
    {"scale_math", "mul div", "f32"},
    {"scale_when", "always above_max", "f32"},
    {"apply", "div mul_rcp mul_max", "f32"},
    {"zero_block", "unit compute", "f32"},
    {"marker", "none if_scaled always", "f32"},
    {"accumulate", "fma mul_add", "none e8m0 f32"}};

bool field_belongs(size_t field, mxg_scale scale) {
  static const char *const names[] = {"", "none", "e8m0", "f32"};
  return strstr(recipe_fields[field].scales, names[scale]) != NULL;
}

bool recipes_equal(const mxg_recipe *a, const mxg_recipe *b) {
  return memcmp(a, b, sizeof *a) == 0;
}
