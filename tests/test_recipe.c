/* test_recipe.c: keys, values and presets of recipes, and the reading of their texts.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "check_main.h"
#include "count.h"
#include "recipe_fields.h"
#include "recipes.h"
#include "values.h"

START_TEST(test_keys_and_values) {
  for (size_t k = 0; k < RECIPE_FIELDS; k++) {
    char values[256] = "";
    ck_assert_str_eq(mxg_recipe_key_at(k), recipe_fields[k].key);
    for (size_t v = 0; mxg_recipe_value_at(k, v) != NULL; v++) {
      if (v > 0) strcat(values, " ");
      strcat(values, mxg_recipe_value_at(k, v));
    }
    ck_assert_str_eq(values, recipe_fields[k].values);
    ck_assert(mxg_recipe_value_at(k, 100) == NULL && mxg_recipe_value_at(k, SIZE_MAX) == NULL);
  }
  ck_assert(mxg_recipe_key_at(RECIPE_FIELDS) == NULL && mxg_recipe_key_at(SIZE_MAX) == NULL);
  ck_assert(mxg_recipe_value_at(RECIPE_FIELDS, 0) == NULL &&
            mxg_recipe_value_at(SIZE_MAX, 0) == NULL);
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

START_TEST(test_presets) {
  for (size_t i = 0; i < COUNT(presets); i++) {
    const mxg_preset *preset = mxg_preset_at(i);
    const char *why = "not set";
    char text[RECIPE_TEXT_CAP];
    ck_assert(preset != NULL);
    ck_assert_str_eq(preset->name, presets[i].name);
    ck_assert_msg(mxg_recipe_check(&preset->recipe, &why) == MXG_OK && why == NULL, "%s: %s",
                  preset->name, why);
    const mxg_recipe by_name = recipe_of(preset->name), by_keys = recipe_of(presets[i].text);
    ck_assert_msg(recipes_equal(&preset->recipe, &by_name), "%s by its name", preset->name);
    ck_assert_msg(recipes_equal(&preset->recipe, &by_keys), "%s by its keys", preset->name);
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
    ck_assert_msg(recipes_equal(&recipe, &before), "'%s': out was written", bad[i].text);
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
  mxg_recipe r = recipe_of("mori-fp8,block=4294967295");
  ck_assert(r.block == 4294967295u);
  r = recipe_of("mxfp8,block=0064");
  ck_assert(r.block == 64);
  r = recipe_of("mxfp8,element_max=448");
  ck_assert(bits_of(r.element_max) == 0);
  r = recipe_of("mxfp8,element_max=0x1.ep7"); /* 240 */
  ck_assert(bits_of(r.element_max) == 0x43700000u);
  /* a new element has its own maximum unless the preset, or the text, sets one */
  r = recipe_of("mxfp8,element=e5m2");
  ck_assert(r.element == MXG_ELEMENT_E5M2 && bits_of(r.element_max) == 0);
  r = recipe_of("mxfp8,element_max=448,element=e5m2");
  ck_assert(bits_of(r.element_max) == 0x43E00000u);
  r = recipe_of("mori-fp8-epv2,element=e5m2");
  ck_assert(bits_of(r.element_max) == 0x43700000u);
  r = recipe_of("mori-fp8-epv2,element=e4m3fnuz"); /* of which 240 is the maximum */
  ck_assert(bits_of(r.element_max) == 0);
  /* keys of both kinds carry over, the others become 0 */
  r = recipe_of("mori-fp8,scale=none");
  ck_assert(r.scale == MXG_SCALE_NONE && r.block == 0 && r.nan_amax == 0 && r.marker == 0 &&
            r.apply == 0 && r.nan_element == MXG_NAN_ELEMENT_NEG_MAX);
  r = recipe_of("aiter-fp8-128,edges=ocp,rule=even,inf_scale=max,scale=e8m0");
  ck_assert(r.block == 128 && bits_of(r.amax_floor) == 0x2EDBE6FFu &&
            r.nan_amax == MXG_NAN_AMAX_IGNORE && r.rule == MXG_RULE_EVEN && r.scale_math == 0 &&
            r.scale_when == 0 && r.apply == 0 && r.zero_block == 0 && r.marker == 0);
  ck_assert(mxg_recipe_check(&r, NULL) == MXG_OK);
}
END_TEST

CHECK_MAIN("recipe", test_keys_and_values, test_presets, test_parse_errors, test_parse_changes)
