/* recipe_internal.h: the one table of recipe fields that parse, print, check and the lists share.
 *
 * Every field of mxg_recipe is one 32-bit word: the number of an enumerator, a count, or the bits
 * of a binary32 value. No float arithmetic anywhere, so the FP environment does not matter.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_RECIPE_INTERNAL_H
#define MXG_RECIPE_INTERNAL_H

#include "mxgold.h"

/* In the order in which fields print. */
typedef enum mxg_field {
  MXG_FIELD_ELEMENT,
  MXG_FIELD_SCALE,
  MXG_FIELD_BLOCK,
  MXG_FIELD_RULE,
  MXG_FIELD_ELEMENT_MAX,
  MXG_FIELD_AMAX_FLOOR,
  MXG_FIELD_NAN_AMAX,
  MXG_FIELD_NAN_ELEMENT,
  MXG_FIELD_OVERFLOW,
  MXG_FIELD_EDGES,
  MXG_FIELD_INF_SCALE,
  MXG_FIELD_SCALE_MATH,
  MXG_FIELD_SCALE_WHEN,
  MXG_FIELD_APPLY,
  MXG_FIELD_ZERO_BLOCK,
  MXG_FIELD_MARKER,
  MXG_FIELD_ACCUMULATE,
  MXG_FIELD_COUNT
} mxg_field;

typedef enum mxg_field_kind {
  MXG_FIELD_NAMED, /* values[i] is the name of enumerator i + 1 */
  MXG_FIELD_INTEGER,
  MXG_FIELD_REAL /* binary32 */
} mxg_field_kind;

typedef struct mxg_field_info {
  const char *name;
  mxg_field_kind kind;
  size_t offset_bytes;       /* of the word in mxg_recipe */
  uint32_t scales;           /* bit 1 << s: applies to recipes with scale s */
  const char *const *values; /* names, then NULL; NULL unless named */
  const char *illegal;       /* what mxg_recipe_check says of a value out of range */
  const char *inapplicable;  /* ... and of a value where the field does not apply */
} mxg_field_info;

extern const mxg_field_info mxg_field_table[MXG_FIELD_COUNT];

uint32_t mxg_field_get(const mxg_recipe *recipe, mxg_field field);
void mxg_field_set(mxg_recipe *recipe, mxg_field field, uint32_t word);

/* 1 if the field applies to recipes with this kind of scale. */
int mxg_field_applies(mxg_field field, mxg_scale scale);

/* The bits of the format's own maximum; 0 for an unknown format. */
uint32_t mxg_element_max_bits(mxg_element element);

/* mxg_field_check: the first field that makes a recipe illegal and the sentence about it.
 * returns  MXG_FIELD_COUNT and *why = NULL for a legal recipe; reserved words are not looked at. */
mxg_field mxg_field_check(const mxg_recipe *recipe, const char **why);

#endif
