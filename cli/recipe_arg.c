/* recipe_arg.c: a recipe from text, and for one that is wrong: where, why, and what was meant.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 64 };

/* One comma-separated item of the text. */
typedef struct item {
  char *key;         /* up to '=' or the end */
  char *value;       /* behind '=', or NULL */
  size_t key_column; /* 1-based */
  size_t value_column;
} item;

static char *copy_range(const char *from, size_t length) {
  char *copy = mxg_alloc(length + 1);
  memcpy(copy, from, length);
  return copy;
}

static item item_at(const char *text, size_t offset) {
  const size_t length = strlen(text);
  size_t begin = offset < length ? offset : length;
  while (begin > 0 && text[begin - 1] != ',') begin--;
  const size_t span = strcspn(text + begin, ",");
  const char *equals = memchr(text + begin, '=', span);
  const size_t key_length = equals ? (size_t)(equals - (text + begin)) : span;
  item found = {copy_range(text + begin, key_length), NULL, begin + 1, begin + key_length + 2};
  if (equals) found.value = copy_range(equals + 1, span - key_length - 1);
  return found;
}

static size_t key_index(const char *key) {
  size_t index = 0;
  while (mxg_recipe_key_at(index) && strcmp(mxg_recipe_key_at(index), key) != 0) index++;
  return index;
}

static void preset_names(const char **names) {
  size_t count = 0;
  for (; count + 1 < NAMES_MAX && mxg_preset_at(count); count++)
    names[count] = mxg_preset_at(count)->name;
  names[count] = NULL;
}

static void key_names(const char **names) {
  size_t count = 0;
  for (; count + 1 < NAMES_MAX && mxg_recipe_key_at(count); count++)
    names[count] = mxg_recipe_key_at(count);
  names[count] = NULL;
}

static void value_names(size_t key, const char **names) {
  size_t count = 0;
  for (; count + 1 < NAMES_MAX && mxg_recipe_value_at(key, count); count++)
    names[count] = mxg_recipe_value_at(key, count);
  names[count] = NULL;
}

/* "; did you mean 'x'?", or ": " and advice, into buf. */
static const char *hint(char *buf, size_t cap, const char *word, const char *const *names,
                        const char *advice) {
  const char *nearest = mxg_nearest(word, names);
  if (nearest)
    snprintf(buf, cap, "; did you mean '%s'?", nearest);
  else
    snprintf(buf, cap, ": %s", advice);
  return buf;
}

/* All names, comma-separated. */
static void join(char *buf, size_t cap, const char *const *names) {
  size_t length = 0;
  buf[0] = 0;
  for (size_t i = 0; names[i] && length < cap; i++)
    length += (size_t)snprintf(buf + length, cap - length, "%s%s", i ? ", " : "", names[i]);
}

static void describe_value(char *buf, size_t cap, const item *at) {
  const char *names[NAMES_MAX];
  const size_t key = key_index(at->key);
  const char *value = at->value ? at->value : "";
  char advice[512], list[384];
  value_names(key, names);
  if (names[0]) {
    join(list, sizeof list, names);
    const char *nearest = mxg_nearest(value, names);
    if (nearest)
      snprintf(advice, sizeof advice, "; did you mean '%s'?", nearest);
    else
      snprintf(advice, sizeof advice, ": it is one of %s", list);
    snprintf(buf, cap, "field '%s' has no value '%s' at column %zu%s", at->key, value,
             at->value_column, advice);
    return;
  }
  const char *form =
      strcmp(at->key, "block") == 0
          ? "a decimal integer from 1 to 4294967295"
          : "a decimal or C hex float that the field allows, such as 1e-10 or 0x1p-8";
  snprintf(buf, cap, "field '%s': '%s' at column %zu is no number for it: give %s", at->key, value,
           at->value_column, form);
}

static void describe(char *buf, size_t cap, const char *text, mxg_status status, size_t offset) {
  const char *names[NAMES_MAX];
  char advice[256];
  const item at = item_at(text, offset);
  const char *why = mxg_recipe_why(text);
  switch (status) {
    case MXG_ERR_PRESET:
      preset_names(names);
      snprintf(buf, cap, "unknown preset '%s' at column %zu%s", at.key, at.key_column,
               hint(advice, sizeof advice, at.key, names, "`mxgold recipes` lists them"));
      break;
    case MXG_ERR_KEY_UNKNOWN:
      key_names(names);
      snprintf(
          buf, cap, "unknown field '%s' at column %zu%s", at.key, at.key_column,
          hint(advice, sizeof advice, at.key, names, "`mxgold recipes mxfp4` shows the fields"));
      break;
    case MXG_ERR_KEY_DUPLICATE:
      snprintf(buf, cap, "field '%s' is given twice, again at column %zu: keep one", at.key,
               at.key_column);
      break;
    case MXG_ERR_KEY_INAPPLICABLE:
      snprintf(buf, cap,
               "field '%s' at column %zu does not belong to this kind of scale: leave it "
               "out or change `scale`",
               at.key, at.key_column);
      break;
    case MXG_ERR_KEY_MISSING:
      snprintf(buf, cap,
               "field '%s' is missing: neither the text nor a preset gives it; append "
               ",%s=...",
               why ? why : "?", why ? why : "?");
      break;
    case MXG_ERR_VALUE: describe_value(buf, cap, &at); break;
    case MXG_ERR_SYNTAX:
      if (text[0] == 0)
        snprintf(buf, cap, "empty text: give a preset, such as mxfp4");
      else if (at.key[0] == 0)
        snprintf(buf, cap, "nothing between commas at column %zu: remove the comma", at.key_column);
      else
        snprintf(buf, cap, "'%s' at column %zu has no '=': write key=value", at.key, at.key_column);
      break;
    case MXG_ERR_RECIPE:
      snprintf(buf, cap, "illegal combination at column %zu: %s", at.key_column,
               why ? why : mxg_strerror(status));
      break;
    default: snprintf(buf, cap, "%s", mxg_strerror(status)); break;
  }
  free(at.key);
  free(at.value);
}

int mxg_recipe_arg(const char *text, const char *where, mxg_recipe *out) {
  size_t offset = 0;
  const mxg_status status = mxg_recipe_parse(text, out, &offset);
  if (status == MXG_OK) return MXG_EXIT_OK;
  char sentence[1024];
  describe(sentence, sizeof sentence, text, status, offset);
  if (where)
    return mxg_fail(MXG_EXIT_FILE, "%s: __metadata__ recipe: %s: give --recipe", where, sentence);
  return mxg_fail(MXG_EXIT_USAGE, "recipe: %s", sentence);
}
