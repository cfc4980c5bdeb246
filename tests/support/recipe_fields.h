/* recipe_fields.h: keys and values of recipes, as section 7 writes them, and recipes field by field.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_RECIPE_FIELDS_H
#define TESTS_SUPPORT_RECIPE_FIELDS_H

#include <stdbool.h>

#include "mxgold.h"

enum { RECIPE_FIELDS = 17, RECIPE_TEXT_CAP = 1024 };

/* In the order in which they print, which is that of the struct. */
extern const struct recipe_field {
  const char *key;
  const char *values; /* "" = a number */
  const char *scales; /* kinds that the field belongs to */
} recipe_fields[RECIPE_FIELDS];

bool field_belongs(size_t field, mxg_scale scale);

/* Of recipes that parse or the table made: those have no padding and no -0. */
bool recipes_equal(const mxg_recipe *a, const mxg_recipe *b);

#endif
