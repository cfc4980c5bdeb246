/* slice.c
 * SPDX-License-Identifier: MIT */
#include "slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc32.h"
#include "recipe_text.h"

uint32_t mxg_slice_first(unsigned sign, unsigned exponent) {
  return (uint32_t)sign << 31 | (uint32_t)exponent << 23;
}

mxg_slice mxg_slice_encode(const mxg_recipe *recipe, unsigned sign, unsigned exponent,
                           uint8_t *codes) {
  enum { CHUNK = 1 << 15 };
  static uint32_t bits[CHUNK];
  static float values[CHUNK];
  static uint8_t chunk_codes[CHUNK];
  mxg_slice slice = {true, 0, 0};
  for (uint32_t done = 0; done < MXG_SLICE_VALUES; done += CHUNK) {
    const uint32_t first = mxg_slice_first(sign, exponent) | done;
    for (uint32_t i = 0; i < CHUNK; i++) bits[i] = first + i;
    memcpy(values, bits, sizeof values);
    uint8_t *const to = codes ? codes + done : chunk_codes;
    const mxg_status status = mxg_encode_f32(recipe, values, CHUNK, to);
    if (status != MXG_OK) exit(mxg_fail_status(status, "a slice"));
    if (done == 0) slice.code = to[0];
    slice.is_constant =
        slice.is_constant && to[0] == slice.code && memcmp(to, to + 1, CHUNK - 1) == 0;
    slice.crc = mxg_crc32(slice.crc, to, CHUNK);
  }
  return slice;
}

mxg_nan_element mxg_policy_first_nan(mxg_element element) {
  return mxg_element_traits(element).bits == 8 ? MXG_NAN_ELEMENT_CODE : MXG_NAN_ELEMENT_NEG_MAX;
}

bool mxg_policy_at(size_t index, mxg_recipe *out) {
  mxg_recipe recipe;
  memset(&recipe, 0, sizeof recipe);
  recipe.scale = MXG_SCALE_NONE;
  recipe.accumulate = MXG_ACCUMULATE_FMA;
  for (int e = MXG_ELEMENT_E4M3FN; e <= MXG_ELEMENT_E3M2; e++)
    for (int o = MXG_OVERFLOW_SATURATE; o <= MXG_OVERFLOW_NONFINITE; o++)
      for (int n = MXG_NAN_ELEMENT_CODE; n <= MXG_NAN_ELEMENT_ZERO; n++) {
        recipe.element = (mxg_element)e;
        recipe.overflow = (mxg_overflow)o;
        recipe.nan_element = (mxg_nan_element)n;
        if (mxg_recipe_check(&recipe, NULL) != MXG_OK || index-- != 0) continue;
        *out = recipe;
        return true;
      }
  return false;
}

size_t mxg_policy_count(void) {
  mxg_recipe recipe;
  size_t count = 0;
  while (mxg_policy_at(count, &recipe)) count++;
  return count;
}

const char *mxg_policy_text(const mxg_recipe *recipe) {
  static char text[128];
  size_t length = 0;
  for (size_t key = 0; mxg_recipe_key_at(key) != NULL; key++) {
    const char *name = mxg_recipe_key_at(key);
    char value[64];
    double number = 0;
    if (strcmp(name, "element") != 0 && strcmp(name, "overflow") != 0 &&
        strcmp(name, "nan_element") != 0)
      continue;
    mxg_recipe_field(recipe, key, value, sizeof value, &number);
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%s=%s", length ? " " : "",
                               name, value);
  }
  return text;
}
