/* recipe_text.c: recipes from text and back (section 7).
 * SPDX-License-Identifier: MIT */
#include "recipe_internal.h"

#include <string.h>

#include "number.h"

/* ---- reading ---- */

/* What a text says and how far it was understood. */
typedef struct reading {
  mxg_status status;
  size_t error_at;   /* offset in the text */
  const char *why;   /* sentence, or name of the missing key; NULL when there is none */
  mxg_recipe recipe; /* of the preset, then with the text's values */
  uint32_t present;  /* bit f: field f has a value, from the preset or the text */
  uint32_t given;    /* bit f: the text gives field f */
  size_t key_at[MXG_FIELD_COUNT]; /* offset of the key of a given field */
} reading;

static void fail(reading *r, mxg_status status, size_t error_at, const char *why) {
  r->status = status;
  r->error_at = error_at;
  r->why = why;
}

static int equals(const char *text, size_t length, const char *name) {
  return strlen(name) == length && memcmp(text, name, length) == 0;
}

static const mxg_preset *find_preset(const char *text, size_t length) {
  const mxg_preset *preset = NULL;
  for (size_t i = 0; (preset = mxg_preset_at(i)) != NULL; i++)
    if (equals(text, length, preset->name)) break;
  return preset;
}

/* A decimal integer from 1 to 2^32 - 1. */
static int parse_integer(const char *text, size_t length, uint32_t *out) {
  uint64_t value = 0;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') return 0;
    value = 10 * value + (uint64_t)(text[i] - '0');
    if (value > UINT32_MAX) return 0;
  }
  *out = (uint32_t)value;
  return value != 0;
}

static int parse_value(mxg_field field, const char *text, size_t length, uint32_t *word) {
  const mxg_field_info *info = &mxg_field_table[field];
  switch (info->kind) {
    case MXG_FIELD_NAMED:
      for (uint32_t i = 0; info->values[i] != NULL; i++)
        if (equals(text, length, info->values[i])) {
          *word = i + 1;
          return 1;
        }
      return 0;
    case MXG_FIELD_INTEGER: return parse_integer(text, length, word);
    case MXG_FIELD_REAL: break;
  }
  if (!mxg_number_parse(text, length, word)) return 0;
  return field != MXG_FIELD_ELEMENT_MAX || *word != 0; /* 0 in the struct means the default */
}

static void read_preset(reading *r, const char *item, size_t length) {
  const mxg_preset *preset = find_preset(item, length);
  if (preset == NULL) {
    fail(r, MXG_ERR_PRESET, 0, NULL);
    return;
  }
  r->recipe = preset->recipe;
  for (mxg_field field = 0; field < MXG_FIELD_COUNT; field++)
    if (mxg_field_applies(field, preset->recipe.scale)) r->present |= 1u << field;
}

static void read_pair(reading *r, const char *text, size_t at, size_t length) {
  const char *item = text + at;
  const char *equal_sign = memchr(item, '=', length);
  if (equal_sign == NULL) {
    fail(r, MXG_ERR_SYNTAX, at, NULL);
    return;
  }
  const size_t key_length = (size_t)(equal_sign - item);
  mxg_field field = 0;
  while (field < MXG_FIELD_COUNT && !equals(item, key_length, mxg_field_table[field].name)) field++;
  if (field == MXG_FIELD_COUNT) {
    fail(r, MXG_ERR_KEY_UNKNOWN, at, NULL);
    return;
  }
  if ((r->given >> field & 1) != 0) {
    fail(r, MXG_ERR_KEY_DUPLICATE, at, NULL);
    return;
  }
  uint32_t word = 0;
  if (!parse_value(field, equal_sign + 1, length - key_length - 1, &word)) {
    fail(r, MXG_ERR_VALUE, at + key_length + 1, NULL);
    return;
  }
  mxg_field_set(&r->recipe, field, word);
  r->present |= 1u << field;
  r->given |= 1u << field;
  r->key_at[field] = at;
}

static void read_items(reading *r, const char *text) {
  for (size_t at = 0;; at++) { /* the step skips a comma */
    const size_t length = strcspn(text + at, ",");
    if (length == 0) {
      fail(r, MXG_ERR_SYNTAX, at, NULL);
    } else if (at == 0 && memchr(text, '=', length) == NULL) {
      read_preset(r, text, length);
    } else {
      read_pair(r, text, at, length);
    }
    at += length;
    if (r->status != MXG_OK || text[at] == 0) return;
  }
}

/* The keys of the text against those that its kind of scale has. */
static void settle_keys(reading *r, size_t text_length) {
  const mxg_scale scale = r->recipe.scale;
  size_t stray_at = text_length;
  for (mxg_field field = 0; field < MXG_FIELD_COUNT; field++) {
    if (scale == 0 || mxg_field_applies(field, scale)) continue;
    mxg_field_set(&r->recipe, field, 0); /* whatever the preset had */
    if ((r->given >> field & 1) != 0 && r->key_at[field] < stray_at) stray_at = r->key_at[field];
  }
  if (stray_at < text_length) {
    fail(r, MXG_ERR_KEY_INAPPLICABLE, stray_at, NULL);
    return;
  }
  for (mxg_field field = 0; field < MXG_FIELD_COUNT; field++) {
    const int needed = field <= MXG_FIELD_SCALE || mxg_field_applies(field, scale);
    if (needed && (r->present >> field & 1) == 0) {
      fail(r, MXG_ERR_KEY_MISSING, text_length, mxg_field_table[field].name);
      return;
    }
  }
}

/* element_max as a recipe of this element holds it: 0 for the format's own maximum. */
static uint32_t canonical_max(uint32_t element_max, mxg_element element) {
  return element_max == mxg_element_max_bits(element) ? 0 : element_max;
}

static void canonicalise(mxg_recipe *recipe) {
  mxg_field_set(recipe, MXG_FIELD_ELEMENT_MAX,
                canonical_max(mxg_field_get(recipe, MXG_FIELD_ELEMENT_MAX), recipe->element));
}

static reading read_text(const char *text) {
  reading r;
  memset(&r, 0, sizeof r);
  read_items(&r, text);
  if (r.status == MXG_OK) settle_keys(&r, strlen(text));
  if (r.status != MXG_OK) return r;
  const char *why = NULL;
  const mxg_field offender = mxg_field_check(&r.recipe, &why);
  if (offender != MXG_FIELD_COUNT) fail(&r, MXG_ERR_RECIPE, r.key_at[offender], why);
  canonicalise(&r.recipe);
  return r;
}

mxg_status mxg_recipe_parse(const char *text, mxg_recipe *out, size_t *error_at) {
  if (text == NULL || out == NULL) return MXG_ERR_NULL;
  const reading r = read_text(text);
  if (r.status == MXG_OK)
    *out = r.recipe;
  else if (error_at != NULL)
    *error_at = r.error_at;
  return r.status;
}

const char *mxg_recipe_why(const char *text) {
  return text == NULL ? NULL : read_text(text).why;
}

/* ---- printing ---- */

/* Bit f: the text "preset,..." must give field f to mean this (canonical) recipe. */
static uint32_t differing(const mxg_recipe *preset, const mxg_recipe *recipe) {
  uint32_t fields = 0;
  for (mxg_field field = 0; field < MXG_FIELD_COUNT; field++) {
    uint32_t word = mxg_field_get(preset, field);
    if (!mxg_field_applies(field, recipe->scale)) continue;
    if (field == MXG_FIELD_ELEMENT_MAX) word = canonical_max(word, recipe->element);
    if (word != mxg_field_get(recipe, field) || !mxg_field_applies(field, preset->scale))
      fields |= 1u << field;
  }
  return fields;
}

static int count_bits(uint32_t word) {
  int count = 0;
  for (; word != 0; word >>= 1) count += (int)(word & 1);
  return count;
}

/* A buffer that is filled as far as it goes, and the length that the whole text has. */
typedef struct writer {
  char *out;
  size_t cap;
  size_t length;
} writer;

static void put_text(writer *w, const char *text) {
  for (; *text != 0; text++, w->length++)
    if (w->length + 1 < w->cap) w->out[w->length] = *text;
}

static void put_integer(writer *w, uint32_t value) {
  char digits[11] = "";
  size_t at = sizeof digits - 1;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  put_text(w, digits + at);
}

static void put_value(writer *w, const mxg_recipe *recipe, mxg_field field) {
  uint32_t word = mxg_field_get(recipe, field);
  char number[MXG_NUMBER_PRINT_CAP];
  switch (mxg_field_table[field].kind) {
    case MXG_FIELD_NAMED: put_text(w, mxg_field_table[field].values[word - 1]); break;
    case MXG_FIELD_INTEGER: put_integer(w, word); break;
    case MXG_FIELD_REAL:
      if (field == MXG_FIELD_ELEMENT_MAX && word == 0) word = mxg_element_max_bits(recipe->element);
      mxg_number_print(word, number);
      put_text(w, number);
      break;
  }
}

size_t mxg_recipe_print(const mxg_recipe *recipe, char *buf, size_t cap) {
  writer w = {buf, buf == NULL ? 0 : cap, 0};
  if (w.cap > 0) buf[0] = 0;
  if (mxg_recipe_check(recipe, NULL) != MXG_OK) return 0;
  mxg_recipe canonical = *recipe;
  canonicalise(&canonical);

  const mxg_preset *nearest = mxg_preset_at(0), *preset = NULL;
  uint32_t fields = differing(&nearest->recipe, &canonical);
  for (size_t i = 1; (preset = mxg_preset_at(i)) != NULL; i++) {
    const uint32_t candidate = differing(&preset->recipe, &canonical);
    if (count_bits(candidate) < count_bits(fields)) {
      nearest = preset;
      fields = candidate;
    }
  }

  put_text(&w, nearest->name);
  for (mxg_field field = 0; field < MXG_FIELD_COUNT; field++) {
    if ((fields >> field & 1) == 0) continue;
    put_text(&w, ",");
    put_text(&w, mxg_field_table[field].name);
    put_text(&w, "=");
    put_value(&w, &canonical, field);
  }
  if (w.cap > 0) buf[w.length < w.cap ? w.length : w.cap - 1] = 0;
  return w.length;
}
