/* recipe_text.c: see recipe_text.h.
 * SPDX-License-Identifier: MIT */
#include "recipe_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float element_max_in_force(const mxg_recipe *recipe) {
  return recipe->element_max > 0.0f ? recipe->element_max : mxg_element_traits(recipe->element).max;
}

/* The shortest decimal that reads back as the same binary32. %g with fewer digits than a number has
 * before its point would write an exponent: 6 covers the largest maximum, 57344. */
static void put_shortest(char *text, size_t cap, float value) {
  for (int digits = value < 1.0f ? 1 : 6; digits <= 9; digits++) {
    snprintf(text, cap, "%.*g", digits, (double)value);
    if (!(strtof(text, NULL) < value) && !(strtof(text, NULL) > value)) return;
  }
}

/* Enumerator of a field by its name; 0 where it does not apply. -1: a field that is a number. */
static int field_enumerator(const mxg_recipe *recipe, const char *key) {
  const struct {
    const char *key;
    int value;
  } fields[] = {{"element", (int)recipe->element},
                {"scale", (int)recipe->scale},
                {"rule", (int)recipe->rule},
                {"nan_amax", (int)recipe->nan_amax},
                {"nan_element", (int)recipe->nan_element},
                {"overflow", (int)recipe->overflow},
                {"edges", (int)recipe->edges},
                {"inf_scale", (int)recipe->inf_scale},
                {"scale_math", (int)recipe->scale_math},
                {"scale_when", (int)recipe->scale_when},
                {"apply", (int)recipe->apply},
                {"zero_block", (int)recipe->zero_block},
                {"marker", (int)recipe->marker},
                {"accumulate", (int)recipe->accumulate}};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
    if (strcmp(fields[i].key, key) == 0) return fields[i].value;
  return -1;
}

mxg_field_kind mxg_recipe_field(const mxg_recipe *recipe, size_t key, char *text, size_t cap,
                                double *number) {
  const char *name = mxg_recipe_key_at(key);
  text[0] = '\0';
  if (name == NULL) return MXG_FIELD_ABSENT;
  const int enumerator = field_enumerator(recipe, name);
  if (enumerator == 0) return MXG_FIELD_ABSENT;
  if (enumerator > 0) {
    /* enumerators count from 1 in the order in which the library lists their names */
    const char *value = mxg_recipe_value_at(key, (size_t)enumerator - 1);
    snprintf(text, cap, "%s", value != NULL ? value : "?");
    return MXG_FIELD_NAME;
  }
  if (strcmp(name, "block") == 0) {
    if (recipe->scale == MXG_SCALE_NONE) return MXG_FIELD_ABSENT;
    *number = recipe->block;
    snprintf(text, cap, "%u", recipe->block);
    return MXG_FIELD_INTEGER;
  }
  if (strcmp(name, "amax_floor") == 0) {
    if (recipe->scale == MXG_SCALE_NONE) return MXG_FIELD_ABSENT;
    *number = (double)recipe->amax_floor;
  } else {
    *number = (double)element_max_in_force(recipe);
  }
  put_shortest(text, cap, (float)*number);
  return MXG_FIELD_REAL;
}

void mxg_recipe_full_text(const mxg_recipe *recipe, char *text, size_t cap) {
  size_t length = 0;
  text[0] = '\0';
  for (size_t key = 0; mxg_recipe_key_at(key) != NULL; key++) {
    char value[64];
    double number = 0.0;
    if (mxg_recipe_field(recipe, key, value, sizeof value, &number) == MXG_FIELD_ABSENT) continue;
    const int added = snprintf(text + length, cap - length, "%s%s=%s", length != 0 ? "," : "",
                               mxg_recipe_key_at(key), value);
    if (added < 0 || (size_t)added >= cap - length) return;
    length += (size_t)added;
  }
}

const char *mxg_recipe_short_text(const mxg_recipe *recipe) {
  static char texts[2][MXG_RECIPE_TEXT_CAP];
  static int turn;
  turn = !turn;
  mxg_recipe_print(recipe, texts[turn], sizeof texts[turn]);
  return texts[turn];
}

bool mxg_recipe_equal(const mxg_recipe *a, const mxg_recipe *b) {
  return strcmp(mxg_recipe_short_text(a), mxg_recipe_short_text(b)) == 0;
}

json_t *mxg_json_value(double value) {
  if (isnan(value)) return json_string("nan");
  if (isinf(value)) return json_string(value > 0 ? "inf" : "-inf");
  return json_real(value);
}

json_t *mxg_json_bits(uint32_t bits, int digits) {
  char text[16];
  snprintf(text, sizeof text, "%0*X", digits, bits);
  return json_string(text);
}

void mxg_json_print(const json_t *value) {
  json_dumpf(value, stdout, JSON_INDENT(2));
  putchar('\n');
}
