/* fuzz_recipe.c: recipe text and recipe structs.
 *
 * The first byte chooses: text (parse, check, print, parse again), a struct of raw words (check,
 * print), or a number as a field's value, against the C library's strtof.
 * Expected: what parses is legal, prints, and parses back to the same words; what is refused leaves
 * the result alone, with an offset inside the text; mxg_recipe_check and the golden model agree about
 * every struct, and only legal ones print.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/choose.h"

enum { TEXT_MAX = 1024, PRINT_CAP = 1024, POISON = 0xB7 };

static char text[TEXT_MAX + 1];

static void describe(FILE *to, const void *subject) {
  const mxg_recipe *recipe = subject;
  fprintf(to, "  text '%s'\n", text);
  if (recipe != NULL) fuzz_print_recipe(to, recipe);
}

static bool is_parse_status(mxg_status status) {
  return status == MXG_ERR_PRESET || status == MXG_ERR_KEY_UNKNOWN ||
         status == MXG_ERR_KEY_DUPLICATE || status == MXG_ERR_KEY_INAPPLICABLE ||
         status == MXG_ERR_KEY_MISSING || status == MXG_ERR_VALUE || status == MXG_ERR_SYNTAX ||
         status == MXG_ERR_RECIPE;
}

/* Byte by byte: 0 and -0 differ, and reserved words count. */
static bool are_same(const void *a, const void *b, size_t bytes) {
  return memcmp(a, b, bytes) == 0;
}

/* A legal recipe prints, with any capacity like snprintf, and parses back to the same words. */
static void check_print(const mxg_recipe *recipe, size_t cap) {
  char whole[PRINT_CAP], part[PRINT_CAP];
  mxg_recipe again;
  memset(whole, POISON, sizeof whole);
  const size_t length = mxg_recipe_print(recipe, whole, sizeof whole);
  FUZZ_CHECK(length > 0 && length < sizeof whole && strlen(whole) == length, "prints %zu bytes",
             length);
  FUZZ_CHECK(mxg_recipe_print(recipe, NULL, 0) == length, "the length without a buffer");
  memset(part, POISON, sizeof part);
  cap %= sizeof part;
  FUZZ_CHECK(mxg_recipe_print(recipe, part, cap) == length, "the length with %zu bytes", cap);
  const size_t kept = cap == 0 ? 0 : length < cap ? length : cap - 1;
  FUZZ_CHECK(memcmp(part, whole, kept) == 0 && (cap == 0 || part[kept] == 0), "the first %zu bytes",
             cap);
  for (size_t i = cap; i < sizeof part; i++)
    FUZZ_CHECK((uint8_t)part[i] == POISON, "byte %zu behind the %zu was written", i, cap);

  size_t at = 0;
  memset(&again, POISON, sizeof again);
  FUZZ_CHECK(mxg_recipe_parse(whole, &again, &at) == MXG_OK, "'%s' does not parse at %zu", whole,
             at);
  mxg_recipe canonical = *recipe; /* element_max that is the format's own is the same as 0 */
  if (canonical.element_max == mxg_element_traits(canonical.element).max)
    canonical.element_max = 0.0f;
  FUZZ_CHECK(are_same(&again, &canonical, sizeof again), "'%s' parses to other words", whole);
}

/* Codec and golden model about a struct, which may hold anything. */
static void check_struct(const mxg_recipe *recipe, size_t cap) {
  const char *why = NULL;
  mxg_layout layout;
  char printed[8] = "poison";
  const mxg_status status = mxg_recipe_check(recipe, &why);
  const mxg_status ref_status = mxg_ref_layout_for(recipe, 0, 0, NULL, &layout);
  FUZZ_CHECK(status == ref_status, "check: %s; the golden model: %s", mxg_strerror(status),
             mxg_strerror(ref_status));
  FUZZ_CHECK(status == MXG_OK || status == MXG_ERR_RECIPE || status == MXG_ERR_RESERVED,
             "check: status %d", (int)status);
  FUZZ_CHECK(mxg_recipe_check(recipe, NULL) == status, "check without a reason");
  if (status == MXG_OK) {
    check_print(recipe, cap);
    return;
  }
  if (status == MXG_ERR_RECIPE) {
    FUZZ_CHECK(why != NULL, "no reason");
    const size_t length = strcspn(why, ":");
    size_t key = 0;
    while (mxg_recipe_key_at(key) != NULL && (strlen(mxg_recipe_key_at(key)) != length ||
                                              memcmp(mxg_recipe_key_at(key), why, length) != 0))
      key++;
    FUZZ_CHECK(mxg_recipe_key_at(key) != NULL, "the reason '%s' names no field", why);
  }
  FUZZ_CHECK(mxg_recipe_print(recipe, printed, sizeof printed) == 0 && printed[0] == 0,
             "an illegal recipe prints '%.8s'", printed);
}

static void check_text(size_t cap) {
  static const mxg_recipe *const none = NULL;
  mxg_recipe recipe, untouched;
  size_t at = SIZE_MAX;
  memset(&recipe, POISON, sizeof recipe);
  memset(&untouched, POISON, sizeof untouched);
  fuzz_about(describe, none);
  const size_t length = strlen(text);
  const mxg_status status = mxg_recipe_parse(text, &recipe, &at);
  FUZZ_CHECK(mxg_recipe_parse(text, &untouched, NULL) == status, "parse without error_at");
  const char *why = mxg_recipe_why(text);
  if (status == MXG_OK) {
    FUZZ_CHECK(at == SIZE_MAX, "error_at was written: %zu", at);
    FUZZ_CHECK(are_same(&recipe, &untouched, sizeof recipe), "parses differently twice");
    FUZZ_CHECK(why == NULL, "a reason for no error: %s", why);
    fuzz_about(describe, &recipe);
    FUZZ_CHECK(recipe.element_max != mxg_element_traits(recipe.element).max,
               "element_max that is the format's own is stored as 0");
    check_struct(&recipe, cap);
    FUZZ_CHECK(mxg_recipe_check(&recipe, NULL) == MXG_OK, "an illegal recipe was parsed");
    return;
  }
  FUZZ_CHECK(is_parse_status(status), "status %d", (int)status);
  FUZZ_CHECK(at <= length, "the error is at %zu of %zu", at, length);
  FUZZ_CHECK(are_same(&recipe, &untouched, sizeof recipe), "status %d, and the result was written",
             (int)status);
  FUZZ_CHECK((why != NULL) == (status == MXG_ERR_RECIPE || status == MXG_ERR_KEY_MISSING),
             "status %d, reason %s", (int)status, why != NULL ? why : "(none)");
  if (status == MXG_ERR_KEY_MISSING) FUZZ_CHECK(at == length, "a missing key is at the end");
}

/* Decimal digits, hexadecimal ones, '.', 'e' and 'p' with a sign: nothing that strtof reads more
 * generously (signs, blanks, "inf", "nan", an empty exponent) but a wrong form, which strtof leaves
 * part of. */
static void check_number(const char *number) {
  static const char key[] = "mxfp8,amax_floor=";
  const float inf_bound = 0x1.fffffep127f;
  const size_t length = strlen(number);
  mxg_recipe recipe;
  char *end = NULL;
  memcpy(text, key, sizeof key);
  memmove(text + sizeof key - 1, number, length + 1);
  fuzz_about(describe, NULL);
  const mxg_status status = mxg_recipe_parse(text, &recipe, NULL);
  /* strtof, as this target sees it, runs in the "C" locale */
  const float value = strtof(number, &end);
  const bool is_whole = end == number + length && length > 0;
  if (status == MXG_OK) {
    FUZZ_CHECK(is_whole && value <= inf_bound, "strtof reads %zu of %zu bytes",
               (size_t)(end - number), length);
    FUZZ_CHECK(are_same(&recipe.amax_floor, &value, sizeof value), "strtof gives %a, the parser %a",
               (double)value, (double)recipe.amax_floor);
    check_struct(&recipe, length);
  } else if (is_whole && length <= 200 && strspn(number, "0123456789") == length) {
    FUZZ_CHECK(value > inf_bound, "digits are refused with status %d, strtof gives %a", (int)status,
               (double)value);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  fuzz_input in = fuzz_input_of(data, bytes);
  const uint8_t how = fuzz_u8(&in), cap = fuzz_u8(&in);
  const size_t rest = in.bytes - in.at;
  fuzz_about(NULL, NULL);
  if (how % 4 == 3) {
    mxg_recipe recipe;
    memset(&recipe, 0, sizeof recipe);
    text[0] = 0;
    fuzz_about(describe, &recipe);
    if (how >= 128)
      fuzz_choose_recipe(&in, &recipe);
    else
      fuzz_bytes(&in, &recipe, sizeof recipe);
    check_struct(&recipe, cap * 3u);
  } else if (how % 4 == 2) {
    char number[TEXT_MAX - 20];
    const size_t length = rest < sizeof number - 1 ? rest : sizeof number - 1;
    fuzz_bytes(&in, number, length);
    number[length] = 0;
    number[strcspn(number, ",")] = 0; /* one value */
    check_number(number);
  } else {
    const size_t length = rest < TEXT_MAX ? rest : TEXT_MAX;
    fuzz_bytes(&in, text, length);
    text[length] = 0;
    check_text(cap * 3u);
  }
  return 0;
}
