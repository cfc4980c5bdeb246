/* test_recipe_check.c: which recipes are legal, and the sentence that says why one is not.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "check_main.h"
#include "count.h"
#include "recipe_fields.h"
#include "recipes.h"
#include "thin.h"
#include "values.h"

/* The golden model, which has no check of its own to call, makes a layout of the same recipes. */
static void expect_same_by_ref(const mxg_recipe *r, mxg_status status) {
  mxg_layout layout;
  const mxg_status by_ref = mxg_ref_layout_for(r, 1, 1, NULL, &layout);
  ck_assert_msg(by_ref == status, "status %d, by the golden model %d", (int)status, (int)by_ref);
}

static void expect_legal(const mxg_recipe *r) {
  ck_assert(mxg_recipe_check(r, NULL) == MXG_OK);
  expect_same_by_ref(r, MXG_OK);
}

static void expect_refused(const mxg_recipe *r, const char *field) {
  const char *why = NULL;
  char begin[64];
  snprintf(begin, sizeof begin, "%s: ", field);
  ck_assert_msg(mxg_recipe_check(r, &why) == MXG_ERR_RECIPE, "%s", field);
  ck_assert_msg(why != NULL && strncmp(why, begin, strlen(begin)) == 0, "%s: %s", field,
                why == NULL ? "(no reason)" : why);
  ck_assert(mxg_recipe_check(r, NULL) == MXG_ERR_RECIPE);
  expect_same_by_ref(r, MXG_ERR_RECIPE);
  ck_assert(mxg_recipe_print(r, NULL, 0) == 0);
}

/* Field number `field` as the 32-bit word that it is. */
static void set_word(mxg_recipe *r, size_t field, uint32_t word) {
  memcpy((char *)r + 4 * field, &word, sizeof word);
}

START_TEST(test_check) {
  /* the struct has the fields in the order in which they print */
  ck_assert(offsetof(mxg_recipe, amax_floor) == 20 && offsetof(mxg_recipe, accumulate) == 64);
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
    const mxg_recipe good = mxg_preset_at(i)->recipe;
    for (size_t field = 0; field < RECIPE_FIELDS; field++) {
      mxg_recipe r = good;
      const char *key = recipe_fields[field].key;
      if (!field_belongs(field, good.scale)) {
        set_word(&r, field, 1);
        expect_refused(&r, key);
        set_word(&r, field, 0x7FC00000u);
        expect_refused(&r, key);
        continue;
      }
      if (field == 4 || field == 5) {
        static const uint32_t bad[] = {0x80000000u, 0xBF800000u, 0x7F800000u, 0xFF800000u,
                                       0x7FC00000u, 0xFFC00000u, 0x80000001u, 0x7F800001u};
        for (size_t b = 0; b < COUNT(bad); b++) {
          set_word(&r, field, bad[b]);
          expect_refused(&r, key);
        }
        const float max = mxg_element_traits(good.element).max;
        set_word(&r, field, field == 4 ? bits_of(max) : 0x7F7FFFFFu);
        expect_legal(&r);
        set_word(&r, field, 1); /* a subnormal */
        expect_legal(&r);
        set_word(&r, field, bits_of(max) + 1);
        if (field == 4) expect_refused(&r, key);
        continue;
      }
      set_word(&r, field, 0);
      expect_refused(&r, key);
      if (field == 2) continue;
      size_t values = 0;
      while (mxg_recipe_value_at(field, values) != NULL) values++;
      set_word(&r, field, (uint32_t)values + 1);
      expect_refused(&r, key);
      set_word(&r, field, UINT32_MAX);
      expect_refused(&r, key);
    }
    for (size_t word = 0; word < 3; word++) {
      mxg_recipe r = good;
      r.reserved[word] = 1;
      ck_assert(mxg_recipe_check(&r, NULL) == MXG_ERR_RESERVED);
      expect_same_by_ref(&r, MXG_ERR_RESERVED);
      ck_assert(mxg_recipe_print(&r, NULL, 0) == 0);
      r.rule = (mxg_rule)99; /* reserved words come first */
      ck_assert(mxg_recipe_check(&r, NULL) == MXG_ERR_RESERVED);
    }
  }
  const char *why = "not set";
  ck_assert(mxg_recipe_check(NULL, &why) == MXG_ERR_NULL);
  mxg_recipe zero;
  memset(&zero, 0, sizeof zero);
  expect_refused(&zero, "element");
}
END_TEST

/* With and without a sentence a check goes different ways: every preset with every two words of it
 * changed. */
START_TEST(test_check_both_ways) {
  static const uint32_t words[] = {0, 1, 2, 3,           4,           5,
                                   6, 7, 8, 0x80000000u, 0x7F800000u, 0x43800000u};
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
    size_t legal = 0, illegal = 0;
    for (size_t a = 0; a < RECIPE_FIELDS; a++)
      for (size_t b = 0; b < a; b++)
        for (size_t n = 0; n < COUNT(words) * COUNT(words);
             n += n == 0 ? 1 + (a + b) % thin() : thin()) {
          mxg_recipe r = mxg_preset_at(i)->recipe;
          const char *why = "not set";
          set_word(&r, a, words[n % COUNT(words)]);
          set_word(&r, b, words[n / COUNT(words)]);
          const mxg_status status = mxg_recipe_check(&r, NULL);
          ck_assert_msg(mxg_recipe_check(&r, &why) == status && (why == NULL) == (status == MXG_OK),
                        "%s, %s 0x%08X, %s 0x%08X", mxg_preset_at(i)->name, recipe_fields[a].key,
                        words[n % COUNT(words)], recipe_fields[b].key, words[n / COUNT(words)]);
          expect_same_by_ref(&r, status);
          *(status == MXG_OK ? &legal : &illegal) += 1;
        }
    ck_assert(legal > thinned(250) && illegal > thinned(2500));
  }
}
END_TEST

START_TEST(test_check_combinations) {
  mxg_recipe r = recipe_of("mxfp4");
  r.overflow = MXG_OVERFLOW_NONFINITE;
  expect_refused(&r, "overflow");
  r.overflow = MXG_OVERFLOW_SATURATE_FINITE;
  expect_refused(&r, "overflow");
  r = recipe_of("mxfp6-e3m2");
  r.nan_element = MXG_NAN_ELEMENT_CODE;
  expect_refused(&r, "nan_element");
  r = recipe_of("mxfp8");
  r.inf_scale = MXG_INF_SCALE_FIELD;
  for (int rule = MXG_RULE_FLOOR; rule <= MXG_RULE_RCEIL_BUMP; rule++) {
    r.rule = (mxg_rule)rule;
    if (rule < MXG_RULE_RCEIL)
      expect_legal(&r);
    else
      expect_refused(&r, "inf_scale");
  }
  r = recipe_of("mxfp8"); /* FP8 may do as it likes */
  for (int overflow = 1; overflow <= 3; overflow++)
    for (int nan_element = 1; nan_element <= 5; nan_element++) {
      r.overflow = (mxg_overflow)overflow;
      r.nan_element = (mxg_nan_element)nan_element;
      expect_legal(&r);
    }
}
END_TEST

CHECK_MAIN("legal recipes", test_check, test_check_both_ways, test_check_combinations)
