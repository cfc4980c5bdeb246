/* recipe_text.h: the fields of a recipe one by one, for people and for JSON; and JSON on stdout.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_RECIPE_TEXT_H
#define MXGOLD_RECIPE_TEXT_H

#include <jansson.h>

#include "tool.h"

/* Longer than any recipe's text. */
enum { MXG_RECIPE_TEXT_CAP = 1024 };

typedef enum mxg_field_kind {
  MXG_FIELD_ABSENT, /* does not apply to this kind of scale */
  MXG_FIELD_NAME,
  MXG_FIELD_INTEGER,
  MXG_FIELD_REAL
} mxg_field_kind;

/* Field number `key` (as mxg_recipe_key_at counts) as text that mxg_recipe_parse accepts; the
 * number too where it is one. element_max is the one in force, never 0. */
mxg_field_kind mxg_recipe_field(const mxg_recipe *recipe, size_t key, char *text, size_t cap,
                                double *number);

/* "element=e2m1,scale=e8m0,...": every key that applies. */
void mxg_recipe_full_text(const mxg_recipe *recipe, char *text, size_t cap);

/* The canonical text in static storage that the next call but one overwrites. */
const char *mxg_recipe_short_text(const mxg_recipe *recipe);

/* Do two recipes decide the same bytes? */
bool mxg_recipe_equal(const mxg_recipe *a, const mxg_recipe *b);

/* A value as JSON has it: a number, or the strings "nan", "inf", "-inf". */
json_t *mxg_json_value(double value);
/* `digits` hexadecimal digits, upper case. */
json_t *mxg_json_bits(uint32_t bits, int digits);
void mxg_json_print(const json_t *value);

#endif
