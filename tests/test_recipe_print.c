/* test_recipe_print.c: the canonical text of a recipe: the nearest preset and as few keys as there can
 * be, which reads back as the same recipe.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "check_main.h"
#include "count.h"
#include "generator.h"
#include "recipe_fields.h"
#include "recipes.h"
#include "thin.h"
#include "values.h"

/* "key=value" of a field, read off the struct field by field. */
static void pair_of(const mxg_recipe *r, size_t field, char *out, size_t cap) {
  const unsigned words[RECIPE_FIELDS] = {r->element,
                                         r->scale,
                                         r->block,
                                         r->rule,
                                         0,
                                         0,
                                         r->nan_amax,
                                         r->nan_element,
                                         r->overflow,
                                         r->edges,
                                         r->inf_scale,
                                         r->scale_math,
                                         r->scale_when,
                                         r->apply,
                                         r->zero_block,
                                         r->marker,
                                         r->accumulate};
  if (field == 2)
    snprintf(out, cap, "block=%u", words[field]);
  else if (field == 4)
    snprintf(out, cap, "element_max=%a",
             (double)(r->element_max > 0 ? r->element_max : mxg_element_traits(r->element).max));
  else if (field == 5)
    snprintf(out, cap, "amax_floor=%.9g", (double)r->amax_floor);
  else
    snprintf(out, cap, "%s=%s", recipe_fields[field].key,
             mxg_recipe_value_at(field, words[field] - 1));
}

/* "preset,key=value,..." with the fields of a mask in an order that begins at `first`. */
static void text_of(const char *preset, const mxg_recipe *r, unsigned mask, size_t first, char *out,
                    size_t cap) {
  snprintf(out, cap, "%s", preset);
  for (size_t i = 0; i < RECIPE_FIELDS; i++) {
    const size_t field = (first + i) % RECIPE_FIELDS, length = strlen(out);
    if ((mask >> field & 1) == 0) continue;
    if (length > 0) out[length] = ',';
    pair_of(r, field, out + length + (length > 0), cap - length - 1);
  }
}

static unsigned all_fields(mxg_scale scale) {
  unsigned mask = 0;
  for (size_t field = 0; field < RECIPE_FIELDS; field++)
    if (field_belongs(field, scale)) mask |= 1u << field;
  return mask;
}

/* The keys without which "preset,..." no longer means the recipe, found by leaving each out. */
static unsigned needed_keys(const char *preset, const mxg_recipe *r) {
  char text[RECIPE_TEXT_CAP];
  unsigned mask = all_fields(r->scale);
  for (size_t field = 0; field < RECIPE_FIELDS; field++) {
    mxg_recipe got;
    const unsigned less = mask & ~(1u << field);
    text_of(preset, r, less, 0, text, sizeof text);
    if (mxg_recipe_parse(text, &got, NULL) == MXG_OK && recipes_equal(&got, r)) mask = less;
  }
  return mask;
}

static int bits_in(unsigned mask) {
  int count = 0;
  for (; mask != 0; mask >>= 1) count += (int)(mask & 1);
  return count;
}

/* r is canonical: element_max is 0 where it is the format's own. */
static void expect_canonical(const mxg_recipe *r) {
  char text[RECIPE_TEXT_CAP], want[RECIPE_TEXT_CAP], message[RECIPE_TEXT_CAP];
  ck_assert(mxg_recipe_print(r, text, sizeof text) == strlen(text));
  text_of("", r, all_fields(r->scale), 0, message, sizeof message);
  const mxg_recipe back = recipe_of(text);
  ck_assert_msg(recipes_equal(&back, r), "%s: prints as %s", message, text);

  size_t best = 0;
  unsigned best_keys = ~0u;
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
    const unsigned keys = needed_keys(mxg_preset_at(i)->name, r);
    if (bits_in(keys) < bits_in(best_keys)) {
      best_keys = keys;
      best = i;
    }
  }
  /* names and order of what was printed; the numbers were checked by reading them back */
  snprintf(want, sizeof want, "%s", mxg_preset_at(best)->name);
  for (size_t field = 0; field < RECIPE_FIELDS; field++)
    if ((best_keys >> field & 1) != 0) {
      strcat(want, ",");
      strcat(want, recipe_fields[field].key);
    }
  char *to = message;
  int in_value = 0;
  for (const char *from = text; *from != 0; from++) {
    if (*from == ',') in_value = 0;
    if (*from == '=') in_value = 1;
    if (!in_value) *to++ = *from;
  }
  *to = 0;
  ck_assert_msg(strcmp(message, want) == 0, "%s: the nearest is %s", text, want);
}

START_TEST(test_print_one_change) {
  static const char *const numbers[] = {"1", "2.5", "240", "5", "0x1.8p-20", "0", "57344", "1e-10"};
  size_t printed = 0;
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++)
    for (size_t field = 0; field < RECIPE_FIELDS; field++) {
      for (size_t v = 0; v < 8; v++) {
        const char *value =
            recipe_fields[field].values[0] != 0 ? mxg_recipe_value_at(field, v) : numbers[v];
        char text[RECIPE_TEXT_CAP];
        mxg_recipe r;
        if (value == NULL) break;
        if ((i + field + v) % thin() != 0) continue;
        snprintf(text, sizeof text, "%s,%s=%s", mxg_preset_at(i)->name, recipe_fields[field].key,
                 value);
        if (mxg_recipe_parse(text, &r, NULL) != MXG_OK) continue;
        expect_canonical(&r);
        printed++;
      }
    }
  ck_assert(printed > thinned(500));
}
END_TEST

START_TEST(test_print_random) {
  generator g = generator_start("print_random");
  for (size_t i = 0; i < thinned(400); i++) {
    mxg_recipe r = recipe_random(&g);
    if (bits_of(r.element_max) == bits_of(mxg_element_traits(r.element).max)) r.element_max = 0;
    ck_assert(mxg_recipe_check(&r, NULL) == MXG_OK);
    expect_canonical(&r);
    char text[RECIPE_TEXT_CAP]; /* every key, in any order */
    text_of("", &r, all_fields(r.scale), generator_below(&g, RECIPE_FIELDS), text, sizeof text);
    const mxg_recipe back = recipe_of(text);
    ck_assert_msg(recipes_equal(&back, &r), "%s", text);
  }
}
END_TEST

START_TEST(test_print_texts) {
  static const struct {
    const char *text, *canonical;
  } known[] = {{"mxfp8,rule=floor", "mxfp8"},
               {"mxfp8,element=e2m1,nan_element=sign_max", "mxfp4"},
               {"mori-fp8-epv2,element_max=448", "mori-fp8-epv2,element_max=448"},
               {"mori-fp8,element_max=0x1.ep7", "mori-fp8,element_max=240"},
               {"mori-fp4,block=256", "mori-fp4-256"},
               {"mxfp4,rule=rceil_bump,block=16,amax_floor=1e-10",
                "mxfp4,block=16,rule=rceil_bump,amax_floor=1e-10"},
               {"aiter-mxfp8-fnuz,element=e4m3fn", "aiter-mxfp8"},
               {"mori-fp8,block=74", "mori-fp8,block=74"},
               {"mxfp4,block=4294967295", "mxfp4,block=4294967295"}};
  char text[RECIPE_TEXT_CAP];
  for (size_t i = 0; i < COUNT(known); i++) {
    const mxg_recipe r = recipe_of(known[i].text);
    mxg_recipe_print(&r, text, sizeof text);
    ck_assert_str_eq(text, known[i].canonical);
  }
  mxg_recipe r = recipe_of("mxfp8"); /* the format's own maximum may be held explicitly */
  r.element_max = 448.0f;
  ck_assert(mxg_recipe_check(&r, NULL) == MXG_OK);
  mxg_recipe_print(&r, text, sizeof text);
  ck_assert_str_eq(text, "mxfp8");
}
END_TEST

START_TEST(test_print_capacity) {
  const mxg_recipe r = recipe_of("mxfp8,block=64,amax_floor=1e-10");
  char whole[RECIPE_TEXT_CAP], part[RECIPE_TEXT_CAP];
  const size_t length = mxg_recipe_print(&r, whole, sizeof whole);
  ck_assert(length == strlen(whole));
  ck_assert(mxg_recipe_print(&r, NULL, 0) == length);
  for (size_t cap = 0; cap < length + 4; cap++) {
    memset(part, '#', sizeof part);
    ck_assert(mxg_recipe_print(&r, part, cap) == length);
    const size_t fits = cap == 0 ? 0 : cap - 1 < length ? cap - 1 : length;
    ck_assert(memcmp(part, whole, fits) == 0);
    ck_assert(part[fits] == (cap == 0 ? '#' : 0) && part[fits + 1] == '#' && part[cap] == '#');
  }
  mxg_recipe broken = r;
  broken.block = 0;
  memset(part, '#', sizeof part);
  ck_assert(mxg_recipe_print(&broken, part, sizeof part) == 0 && part[0] == 0);
  memset(part, '#', sizeof part);
  ck_assert(mxg_recipe_print(NULL, part, 1) == 0 && part[0] == 0 && part[1] == '#');
  ck_assert(mxg_recipe_print(NULL, NULL, 0) == 0);
}
END_TEST

CHECK_MAIN("texts of recipes", test_print_one_change, test_print_random, test_print_texts,
           test_print_capacity)
