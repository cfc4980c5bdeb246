/* test_recipe.c: fields, presets, reading, printing and checking of recipes; statuses in words.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "generator.h"
#include "mxgold.h"
#include "recipes.h"
#include "thin.h"
#include "values.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { TEXT_CAP = 1024, FIELDS = 17 };

/* ---- the lists, as section 7 writes them ---- */

static const struct {
  const char *key;
  const char *values; /* "" = a number */
  const char *scales; /* kinds that the field belongs to */
} fields[FIELDS] = {{"element", "e4m3fn e4m3fnuz e5m2 e5m2fnuz e2m1 e2m3 e3m2", "none e8m0 f32"},
                    {"scale", "none e8m0 f32", "none e8m0 f32"},
                    {"block", "", "e8m0 f32"},
                    {"rule", "floor even even21 half ceil rceil rceil_bump", "e8m0"},
                    {"element_max", "", "none e8m0 f32"},
                    {"amax_floor", "", "e8m0 f32"},
                    {"nan_amax", "propagate ignore", "e8m0 f32"},
                    {"nan_element", "code neg_max sign_max pos_max zero", "none e8m0 f32"},
                    {"overflow", "saturate saturate_finite nonfinite", "none e8m0 f32"},
                    {"edges", "ocp float", "e8m0"},
                    {"inf_scale", "nan max field", "e8m0"},
                    {"scale_math", "mul div", "f32"},
                    {"scale_when", "always above_max", "f32"},
                    {"apply", "div mul_rcp mul_max", "f32"},
                    {"zero_block", "unit compute", "f32"},
                    {"marker", "none if_scaled always", "f32"},
                    {"accumulate", "fma mul_add", "none e8m0 f32"}};

START_TEST(test_keys_and_values) {
  for (size_t k = 0; k < FIELDS; k++) {
    char values[256] = "";
    ck_assert_str_eq(mxg_recipe_key_at(k), fields[k].key);
    for (size_t v = 0; mxg_recipe_value_at(k, v) != NULL; v++) {
      if (v > 0) strcat(values, " ");
      strcat(values, mxg_recipe_value_at(k, v));
    }
    ck_assert_str_eq(values, fields[k].values);
    ck_assert(mxg_recipe_value_at(k, 100) == NULL && mxg_recipe_value_at(k, SIZE_MAX) == NULL);
  }
  ck_assert(mxg_recipe_key_at(FIELDS) == NULL && mxg_recipe_key_at(SIZE_MAX) == NULL);
  ck_assert(mxg_recipe_value_at(FIELDS, 0) == NULL && mxg_recipe_value_at(SIZE_MAX, 0) == NULL);
}
END_TEST

/* The table of section 7 with every field spelt out. */
#define MX(element, max, nan)                                           \
  "element=" element ",scale=e8m0,block=32,rule=floor,element_max=" max \
  ",amax_floor=0,nan_amax=propagate,nan_element=" nan                   \
  ",overflow=saturate,edges=ocp,inf_scale=nan,accumulate=fma"
#define AITER(element, max, nan)                                             \
  "element=" element ",scale=e8m0,block=32,rule=rceil_bump,element_max=" max \
  ",amax_floor=1e-10,nan_amax=ignore,nan_element=" nan                       \
  ",overflow=saturate,edges=float,inf_scale=nan,accumulate=fma"
#define STAGE1(element, max, nan)                                      \
  "element=" element ",scale=e8m0,block=32,rule=half,element_max=" max \
  ",amax_floor=0,nan_amax=propagate,nan_element=" nan                  \
  ",overflow=saturate,edges=ocp,inf_scale=field,accumulate=fma"
#define GROUP(floor, nan, math, apply, zero)                                \
  "element=e4m3fn,scale=f32,block=128,element_max=448,amax_floor=" floor    \
  ",nan_amax=ignore,nan_element=" nan ",overflow=saturate,scale_math=" math \
  ",scale_when=always,apply=" apply ",zero_block=" zero ",marker=none,accumulate=fma"
#define MORI(element, block, max, nan_amax, nan, math, when, marker, accumulate)               \
  "element=" element ",scale=f32,block=" block ",element_max=" max                             \
  ",amax_floor=0,nan_amax=" nan_amax ",nan_element=" nan ",overflow=saturate,scale_math=" math \
  ",scale_when=" when ",apply=mul_max,zero_block=unit,marker=" marker ",accumulate=" accumulate

static const struct {
  const char *name, *text;
} presets[] = {
    {"mxfp8", MX("e4m3fn", "448", "code")},
    {"mxfp8-e5m2", MX("e5m2", "57344", "code")},
    {"mxfp6-e2m3", MX("e2m3", "7.5", "sign_max")},
    {"mxfp6-e3m2", MX("e3m2", "28", "sign_max")},
    {"mxfp4", MX("e2m1", "6", "sign_max")},
    {"mxfp8-te",
     "element=e4m3fn,scale=e8m0,block=32,rule=rceil,element_max=448,amax_floor=0,nan_amax=ignore,"
     "nan_element=code,overflow=saturate,edges=ocp,inf_scale=max,accumulate=fma"},
    {"aiter-mxfp4", AITER("e2m1", "6", "sign_max")},
    {"aiter-mxfp4-triton",
     "element=e2m1,scale=e8m0,block=32,rule=even,element_max=6,amax_floor=0,nan_amax=ignore,"
     "nan_element=sign_max,overflow=saturate,edges=ocp,inf_scale=max,accumulate=fma"},
    {"aiter-mxfp8", AITER("e4m3fn", "448", "neg_max")},
    {"aiter-mxfp8-fnuz", AITER("e4m3fnuz", "240", "neg_max")},
    {"aiter-mxfp8-triton",
     "element=e4m3fn,scale=e8m0,block=32,rule=even21,element_max=448,amax_floor=0,nan_amax=ignore,"
     "nan_element=code,overflow=nonfinite,edges=ocp,inf_scale=max,accumulate=fma"},
    {"aiter-fp8-128", GROUP("1e-10", "neg_max", "mul", "mul_rcp", "unit")},
    {"sglang-fp8-128", GROUP("1e-10", "code", "mul", "mul_max", "unit")},
    {"deepseek-fp8-128", GROUP("0", "code", "div", "div", "compute")},
    {"deepseek-fp8-128-triton", GROUP("0", "code", "mul", "div", "compute")},
    {"sglang-fp8-128-triton", GROUP("1e-10", "code", "mul", "mul_rcp", "unit")},
    {"megamoe-fp8-32",
     "element=e4m3fn,scale=e8m0,block=32,rule=rceil_bump,element_max=448,amax_floor=0,"
     "nan_amax=propagate,nan_element=code,overflow=saturate,edges=float,inf_scale=nan,"
     "accumulate=mul_add"},
    {"megamoe-act-fp8", STAGE1("e4m3fn", "448", "code")},
    {"megamoe-act-fp4", STAGE1("e2m1", "6", "sign_max")},
    {"mori-fp8",
     MORI("e4m3fn", "128", "448", "ignore", "neg_max", "mul", "above_max", "if_scaled", "fma")},
    {"mori-fp8-fnuz",
     MORI("e4m3fnuz", "128", "240", "ignore", "neg_max", "mul", "above_max", "if_scaled", "fma")},
    {"mori-fp8-epv2", MORI("e4m3fn", "128", "240", "propagate", "neg_max", "div", "above_max",
                           "if_scaled", "mul_add")},
    {"mori-fp4", MORI("e2m1", "128", "6", "ignore", "sign_max", "div", "always", "always", "fma")},
    {"mori-fp4-256",
     MORI("e2m1", "256", "6", "ignore", "sign_max", "div", "always", "always", "fma")},
    {"mori-fp8-direct",
     "element=e4m3fn,scale=none,element_max=448,nan_element=code,overflow=nonfinite,accumulate="
     "fma"},
    {"mori-fp8-direct-sat",
     "element=e4m3fn,scale=none,element_max=448,nan_element=code,overflow=saturate_finite,"
     "accumulate=fma"}};

/* No padding and no -0 in a recipe that parse or the table made: equal fields are equal bytes. */
static int same(const mxg_recipe *a, const mxg_recipe *b) {
  return memcmp(a, b, sizeof *a) == 0;
}

static mxg_recipe parsed(const char *text) {
  mxg_recipe recipe;
  size_t at = 0;
  memset(&recipe, 0xA5, sizeof recipe);
  const mxg_status status = mxg_recipe_parse(text, &recipe, &at);
  ck_assert_msg(status == MXG_OK, "%s: status %d at %zu", text, (int)status, at);
  return recipe;
}

START_TEST(test_presets) {
  for (size_t i = 0; i < COUNT(presets); i++) {
    const mxg_preset *preset = mxg_preset_at(i);
    const char *why = "not set";
    char text[TEXT_CAP];
    ck_assert(preset != NULL);
    ck_assert_str_eq(preset->name, presets[i].name);
    ck_assert_msg(mxg_recipe_check(&preset->recipe, &why) == MXG_OK && why == NULL, "%s: %s",
                  preset->name, why);
    const mxg_recipe by_name = parsed(preset->name), by_keys = parsed(presets[i].text);
    ck_assert_msg(same(&preset->recipe, &by_name), "%s by its name", preset->name);
    ck_assert_msg(same(&preset->recipe, &by_keys), "%s by its keys", preset->name);
    ck_assert(mxg_recipe_print(&preset->recipe, text, sizeof text) == strlen(preset->name));
    ck_assert_str_eq(text, preset->name);
    const size_t length = strlen(preset->provenance);
    ck_assert_msg(length > 30 && preset->provenance[length - 1] == '.', "%s: %s", preset->name,
                  preset->provenance);
    if (preset->recipe.element == MXG_ELEMENT_E2M1 && strcmp(preset->name, "mxfp4") != 0)
      ck_assert_msg(strstr(preset->provenance, "unverified on silicon") != NULL, "%s",
                    preset->name);
  }
  ck_assert(mxg_preset_at(COUNT(presets)) == NULL && mxg_preset_at(SIZE_MAX) == NULL);
  ck_assert(bits_of(recipe_of("aiter-mxfp4").amax_floor) == 0x2EDBE6FFu);
}
END_TEST

/* ---- reading ---- */

#define NOT_SET 4242u

START_TEST(test_parse_errors) {
  static const struct {
    const char *text;
    mxg_status status;
    size_t at;
    const char *why; /* NULL, or how it begins */
  } bad[] = {
      {"", MXG_ERR_SYNTAX, 0, NULL},
      {",", MXG_ERR_SYNTAX, 0, NULL},
      {",mxfp8", MXG_ERR_SYNTAX, 0, NULL},
      {"mxfp8,", MXG_ERR_SYNTAX, 6, NULL},
      {"mxfp8,,rule=even", MXG_ERR_SYNTAX, 6, NULL},
      {"mxfp8,rule", MXG_ERR_SYNTAX, 6, NULL},
      {"mxfp8,mxfp4", MXG_ERR_SYNTAX, 6, NULL},
      {"mxfp8,rule=even,", MXG_ERR_SYNTAX, 16, NULL},
      {"MXFP8", MXG_ERR_PRESET, 0, NULL},
      {"mxfp", MXG_ERR_PRESET, 0, NULL},
      {"mxfp88", MXG_ERR_PRESET, 0, NULL},
      {" mxfp8", MXG_ERR_PRESET, 0, NULL},
      {"rule", MXG_ERR_PRESET, 0, NULL},
      {"mxfp,rulee=even", MXG_ERR_PRESET, 0, NULL},
      {"mxfp8,rulee=even", MXG_ERR_KEY_UNKNOWN, 6, NULL},
      {"mxfp8,Rule=even", MXG_ERR_KEY_UNKNOWN, 6, NULL},
      {"mxfp8, rule=even", MXG_ERR_KEY_UNKNOWN, 6, NULL},
      {"mxfp8,=even", MXG_ERR_KEY_UNKNOWN, 6, NULL},
      {"mxfp8,rul=even", MXG_ERR_KEY_UNKNOWN, 6, NULL},
      {"mxfp8,reserved=0", MXG_ERR_KEY_UNKNOWN, 6, NULL},
      {"mxfp8,block=64,rulee=even", MXG_ERR_KEY_UNKNOWN, 15, NULL},
      {"mxfp8,rule=even,rule=even", MXG_ERR_KEY_DUPLICATE, 16, NULL},
      {"mxfp8,rule=even,block=1,rule=", MXG_ERR_KEY_DUPLICATE, 24, NULL},
      {"mxfp8,scale_math=mul", MXG_ERR_KEY_INAPPLICABLE, 6, NULL},
      {"mxfp8,block=1,marker=none,apply=div", MXG_ERR_KEY_INAPPLICABLE, 14, NULL},
      {"mori-fp8,rule=even", MXG_ERR_KEY_INAPPLICABLE, 9, NULL},
      {"mori-fp8-direct,block=32", MXG_ERR_KEY_INAPPLICABLE, 16, NULL},
      {"mxfp8,rule=even,scale=none", MXG_ERR_KEY_INAPPLICABLE, 6, NULL},
      {"mxfp8,rule=", MXG_ERR_VALUE, 11, NULL},
      {"mxfp8,rule=Even", MXG_ERR_VALUE, 11, NULL},
      {"mxfp8,rule=even ", MXG_ERR_VALUE, 11, NULL},
      {"mxfp8,rule=eve", MXG_ERR_VALUE, 11, NULL},
      {"mxfp8,rule=even=even", MXG_ERR_VALUE, 11, NULL},
      {"mxfp8,rule=2", MXG_ERR_VALUE, 11, NULL},
      {"mxfp8,element=e8m0", MXG_ERR_VALUE, 14, NULL},
      {"mxfp8,block=0", MXG_ERR_VALUE, 12, NULL},
      {"mxfp8,block=", MXG_ERR_VALUE, 12, NULL},
      {"mxfp8,block=-1", MXG_ERR_VALUE, 12, NULL},
      {"mxfp8,block=+1", MXG_ERR_VALUE, 12, NULL},
      {"mxfp8,block=1.0", MXG_ERR_VALUE, 12, NULL},
      {"mxfp8,block=0x20", MXG_ERR_VALUE, 12, NULL},
      {"mxfp8,block=1e2", MXG_ERR_VALUE, 12, NULL},
      {"mxfp8,block=4294967296", MXG_ERR_VALUE, 12, NULL},
      {"mxfp8,block=18446744073709551648", MXG_ERR_VALUE, 12, NULL},
      {"mxfp8,amax_floor=-1", MXG_ERR_VALUE, 17, NULL},
      {"mxfp8,amax_floor=1e39", MXG_ERR_VALUE, 17, NULL},
      {"mxfp8,amax_floor=nan", MXG_ERR_VALUE, 17, NULL},
      {"mxfp8,element_max=0", MXG_ERR_VALUE, 18, NULL},
      {"mxfp8,element_max=1e-60", MXG_ERR_VALUE, 18, NULL},
      {"mxfp8,element_max=inf", MXG_ERR_VALUE, 18, NULL},
      {"mxfp8,element_max=449", MXG_ERR_RECIPE, 6, "element_max: "},
      {"mxfp4,block=16,element_max=240", MXG_ERR_RECIPE, 15, "element_max: "},
      {"mori-fp8-epv2,element=e2m1", MXG_ERR_RECIPE, 0, "element_max: "},
      {"mxfp4,overflow=nonfinite", MXG_ERR_RECIPE, 6,
       "overflow: FP4 and FP6 always saturate; use overflow=saturate"},
      {"mxfp6-e2m3,rule=even,overflow=saturate_finite", MXG_ERR_RECIPE, 21, "overflow: "},
      {"mxfp4,nan_element=code", MXG_ERR_RECIPE, 6, "nan_element: "},
      {"mxfp8,element=e2m1", MXG_ERR_RECIPE, 0, "nan_element: "},
      {"mxfp8,inf_scale=field,rule=rceil", MXG_ERR_RECIPE, 6, "inf_scale: "},
      {"megamoe-act-fp8,rule=rceil_bump", MXG_ERR_RECIPE, 0, "inf_scale: "},
      {"mxfp8,scale=f32", MXG_ERR_KEY_MISSING, 15, "scale_math"},
      {"mxfp8,scale=f32,scale_math=mul,apply=div,marker=none", MXG_ERR_KEY_MISSING, 52,
       "scale_when"},
      {"mori-fp8,scale=e8m0,edges=ocp,inf_scale=nan", MXG_ERR_KEY_MISSING, 43, "rule"},
      {"mori-fp8-direct,scale=e8m0", MXG_ERR_KEY_MISSING, 26, "block"},
      {"mori-fp8-direct,scale=e8m0,block=32,rule=floor,edges=ocp,inf_scale=nan,nan_amax=ignore",
       MXG_ERR_KEY_MISSING, 86, "amax_floor"},
      {"rule=even", MXG_ERR_KEY_MISSING, 9, "element"},
      {"element=e2m1", MXG_ERR_KEY_MISSING, 12, "scale"},
      {"element=e4m3fn,scale=none,nan_element=code,overflow=saturate,accumulate=fma",
       MXG_ERR_KEY_MISSING, 75, "element_max"},
  };
  for (size_t i = 0; i < COUNT(bad); i++) {
    mxg_recipe recipe, before;
    size_t at = NOT_SET;
    memset(&recipe, 0xA5, sizeof recipe);
    before = recipe;
    const mxg_status status = mxg_recipe_parse(bad[i].text, &recipe, &at);
    ck_assert_msg(status == bad[i].status && at == bad[i].at,
                  "'%s': status %d at %zu, not %d at %zu", bad[i].text, (int)status, at,
                  (int)bad[i].status, bad[i].at);
    ck_assert_msg(same(&recipe, &before), "'%s': out was written", bad[i].text);
    ck_assert(mxg_recipe_parse(bad[i].text, &recipe, NULL) == bad[i].status);
    const char *why = mxg_recipe_why(bad[i].text);
    if (bad[i].why == NULL)
      ck_assert_msg(why == NULL, "'%s': %s", bad[i].text, why);
    else
      ck_assert_msg(why != NULL && strncmp(why, bad[i].why, strlen(bad[i].why)) == 0, "'%s': %s",
                    bad[i].text, why == NULL ? "(no reason)" : why);
  }
  mxg_recipe recipe;
  ck_assert(mxg_recipe_parse(NULL, &recipe, NULL) == MXG_ERR_NULL);
  ck_assert(mxg_recipe_parse("mxfp8", NULL, NULL) == MXG_ERR_NULL);
  ck_assert(mxg_recipe_why(NULL) == NULL && mxg_recipe_why("mxfp8,rule=even") == NULL);
}
END_TEST

START_TEST(test_parse_changes) {
  mxg_recipe r = parsed("mori-fp8,block=4294967295");
  ck_assert(r.block == 4294967295u);
  r = parsed("mxfp8,block=0064");
  ck_assert(r.block == 64);
  r = parsed("mxfp8,element_max=448");
  ck_assert(bits_of(r.element_max) == 0);
  r = parsed("mxfp8,element_max=0x1.ep7"); /* 240 */
  ck_assert(bits_of(r.element_max) == 0x43700000u);
  /* a new element has its own maximum unless the preset, or the text, sets one */
  r = parsed("mxfp8,element=e5m2");
  ck_assert(r.element == MXG_ELEMENT_E5M2 && bits_of(r.element_max) == 0);
  r = parsed("mxfp8,element_max=448,element=e5m2");
  ck_assert(bits_of(r.element_max) == 0x43E00000u);
  r = parsed("mori-fp8-epv2,element=e5m2");
  ck_assert(bits_of(r.element_max) == 0x43700000u);
  r = parsed("mori-fp8-epv2,element=e4m3fnuz"); /* of which 240 is the maximum */
  ck_assert(bits_of(r.element_max) == 0);
  /* keys of both kinds carry over, the others become 0 */
  r = parsed("mori-fp8,scale=none");
  ck_assert(r.scale == MXG_SCALE_NONE && r.block == 0 && r.nan_amax == 0 && r.marker == 0 &&
            r.apply == 0 && r.nan_element == MXG_NAN_ELEMENT_NEG_MAX);
  r = parsed("aiter-fp8-128,edges=ocp,rule=even,inf_scale=max,scale=e8m0");
  ck_assert(r.block == 128 && bits_of(r.amax_floor) == 0x2EDBE6FFu &&
            r.nan_amax == MXG_NAN_AMAX_IGNORE && r.rule == MXG_RULE_EVEN && r.scale_math == 0 &&
            r.scale_when == 0 && r.apply == 0 && r.zero_block == 0 && r.marker == 0);
  ck_assert(mxg_recipe_check(&r, NULL) == MXG_OK);
}
END_TEST

/* ---- printing ---- */

static int belongs(size_t field, mxg_scale scale) {
  static const char *const names[] = {"", "none", "e8m0", "f32"};
  return strstr(fields[field].scales, names[scale]) != NULL;
}

/* "key=value" of a field, read off the struct field by field. */
static void pair_of(const mxg_recipe *r, size_t field, char *out, size_t cap) {
  const unsigned words[FIELDS] = {r->element,
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
    snprintf(out, cap, "%s=%s", fields[field].key, mxg_recipe_value_at(field, words[field] - 1));
}

/* "preset,key=value,..." with the fields of a mask in an order that begins at `first`. */
static void text_of(const char *preset, const mxg_recipe *r, unsigned mask, size_t first, char *out,
                    size_t cap) {
  snprintf(out, cap, "%s", preset);
  for (size_t i = 0; i < FIELDS; i++) {
    const size_t field = (first + i) % FIELDS, length = strlen(out);
    if ((mask >> field & 1) == 0) continue;
    if (length > 0) out[length] = ',';
    pair_of(r, field, out + length + (length > 0), cap - length - 1);
  }
}

static unsigned all_fields(mxg_scale scale) {
  unsigned mask = 0;
  for (size_t field = 0; field < FIELDS; field++)
    if (belongs(field, scale)) mask |= 1u << field;
  return mask;
}

/* The keys without which "preset,..." no longer means the recipe, found by leaving each out. */
static unsigned needed_keys(const char *preset, const mxg_recipe *r) {
  char text[TEXT_CAP];
  unsigned mask = all_fields(r->scale);
  for (size_t field = 0; field < FIELDS; field++) {
    mxg_recipe got;
    const unsigned less = mask & ~(1u << field);
    text_of(preset, r, less, 0, text, sizeof text);
    if (mxg_recipe_parse(text, &got, NULL) == MXG_OK && same(&got, r)) mask = less;
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
  char text[TEXT_CAP], want[TEXT_CAP], message[TEXT_CAP];
  ck_assert(mxg_recipe_print(r, text, sizeof text) == strlen(text));
  text_of("", r, all_fields(r->scale), 0, message, sizeof message);
  const mxg_recipe back = parsed(text);
  ck_assert_msg(same(&back, r), "%s: prints as %s", message, text);

  size_t best = 0;
  unsigned best_keys = ~0u;
  for (size_t i = 0; i < COUNT(presets); i++) {
    const unsigned keys = needed_keys(presets[i].name, r);
    if (bits_in(keys) < bits_in(best_keys)) {
      best_keys = keys;
      best = i;
    }
  }
  /* names and order of what was printed; the numbers were checked by reading them back */
  snprintf(want, sizeof want, "%s", presets[best].name);
  for (size_t field = 0; field < FIELDS; field++)
    if ((best_keys >> field & 1) != 0) {
      strcat(want, ",");
      strcat(want, fields[field].key);
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
  for (size_t i = 0; i < COUNT(presets); i++)
    for (size_t field = 0; field < FIELDS; field++) {
      for (size_t v = 0; v < 8; v++) {
        const char *value =
            fields[field].values[0] != 0 ? mxg_recipe_value_at(field, v) : numbers[v];
        char text[TEXT_CAP];
        mxg_recipe r;
        if (value == NULL) break;
        if ((i + field + v) % thin() != 0) continue;
        snprintf(text, sizeof text, "%s,%s=%s", presets[i].name, fields[field].key, value);
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
    char text[TEXT_CAP]; /* every key, in any order */
    text_of("", &r, all_fields(r.scale), generator_below(&g, FIELDS), text, sizeof text);
    const mxg_recipe back = parsed(text);
    ck_assert_msg(same(&back, &r), "%s", text);
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
  char text[TEXT_CAP];
  for (size_t i = 0; i < COUNT(known); i++) {
    const mxg_recipe r = parsed(known[i].text);
    mxg_recipe_print(&r, text, sizeof text);
    ck_assert_str_eq(text, known[i].canonical);
  }
  mxg_recipe r = parsed("mxfp8"); /* the format's own maximum may be held explicitly */
  r.element_max = 448.0f;
  ck_assert(mxg_recipe_check(&r, NULL) == MXG_OK);
  mxg_recipe_print(&r, text, sizeof text);
  ck_assert_str_eq(text, "mxfp8");
}
END_TEST

START_TEST(test_print_capacity) {
  const mxg_recipe r = parsed("mxfp8,block=64,amax_floor=1e-10");
  char whole[TEXT_CAP], part[TEXT_CAP];
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

/* ---- checking ---- */

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
  for (size_t i = 0; i < COUNT(presets); i++) {
    const mxg_recipe good = mxg_preset_at(i)->recipe;
    for (size_t field = 0; field < FIELDS; field++) {
      mxg_recipe r = good;
      const char *key = fields[field].key;
      if (!belongs(field, good.scale)) {
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
  for (size_t i = 0; i < COUNT(presets); i++) {
    size_t legal = 0, illegal = 0;
    for (size_t a = 0; a < FIELDS; a++)
      for (size_t b = 0; b < a; b++)
        for (size_t n = 0; n < COUNT(words) * COUNT(words);
             n += n == 0 ? 1 + (a + b) % thin() : thin()) {
          mxg_recipe r = mxg_preset_at(i)->recipe;
          const char *why = "not set";
          set_word(&r, a, words[n % COUNT(words)]);
          set_word(&r, b, words[n / COUNT(words)]);
          const mxg_status status = mxg_recipe_check(&r, NULL);
          ck_assert_msg(mxg_recipe_check(&r, &why) == status && (why == NULL) == (status == MXG_OK),
                        "%s, %s 0x%08X, %s 0x%08X", presets[i].name, fields[a].key,
                        words[n % COUNT(words)], fields[b].key, words[n / COUNT(words)]);
          expect_same_by_ref(&r, status);
          *(status == MXG_OK ? &legal : &illegal) += 1;
        }
    ck_assert(legal > thinned(250) && illegal > thinned(2500));
  }
}
END_TEST

START_TEST(test_check_combinations) {
  mxg_recipe r = parsed("mxfp4");
  r.overflow = MXG_OVERFLOW_NONFINITE;
  expect_refused(&r, "overflow");
  r.overflow = MXG_OVERFLOW_SATURATE_FINITE;
  expect_refused(&r, "overflow");
  r = parsed("mxfp6-e3m2");
  r.nan_element = MXG_NAN_ELEMENT_CODE;
  expect_refused(&r, "nan_element");
  r = parsed("mxfp8");
  r.inf_scale = MXG_INF_SCALE_FIELD;
  for (int rule = MXG_RULE_FLOOR; rule <= MXG_RULE_RCEIL_BUMP; rule++) {
    r.rule = (mxg_rule)rule;
    if (rule < MXG_RULE_RCEIL)
      expect_legal(&r);
    else
      expect_refused(&r, "inf_scale");
  }
  r = parsed("mxfp8"); /* FP8 may do as it likes */
  for (int overflow = 1; overflow <= 3; overflow++)
    for (int nan_element = 1; nan_element <= 5; nan_element++) {
      r.overflow = (mxg_overflow)overflow;
      r.nan_element = (mxg_nan_element)nan_element;
      expect_legal(&r);
    }
}
END_TEST

START_TEST(test_status_words) {
  static const int statuses[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                 11, 20, 21, 22, 23, 24, 25, 26, 40, 41, 42};
  const char *unknown = mxg_strerror((mxg_status)19);
  for (size_t i = 0; i < COUNT(statuses); i++) {
    const char *words = mxg_strerror((mxg_status)statuses[i]);
    ck_assert(words != NULL && words[0] != 0 && words[strlen(words) - 1] != '.');
    ck_assert_str_ne(words, unknown);
    for (size_t j = 0; j < i; j++) ck_assert_str_ne(words, mxg_strerror((mxg_status)statuses[j]));
  }
  ck_assert(mxg_strerror((mxg_status)-1) != NULL && mxg_strerror((mxg_status)1000) != NULL);
  char version[64];
  snprintf(version, sizeof version, "%d.%d.%d", MXG_VERSION_MAJOR, MXG_VERSION_MINOR,
           MXG_VERSION_PATCH);
  ck_assert_str_eq(mxg_version(), version);
}
END_TEST

CHECK_MAIN("recipe", test_keys_and_values, test_presets, test_parse_errors, test_parse_changes,
           test_print_one_change, test_print_random, test_print_texts, test_print_capacity,
           test_check, test_check_both_ways, test_check_combinations, test_status_words)
