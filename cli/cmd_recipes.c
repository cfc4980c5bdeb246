/* cmd_recipes.c: the presets with every field and where each is known from.
 * SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdio.h>

#include "recipe_text.h"
#include "tool.h"

/* One JSON object: "name" (null for a recipe that is no preset), "recipe" (canonical text), every
 * field that applies, "provenance" (null likewise). */
static json_t *recipe_to_json(const char *name, const mxg_recipe *recipe, const char *provenance) {
  char text[MXG_RECIPE_TEXT_CAP];
  json_t *object = json_object();
  json_object_set_new(object, "name", name != NULL ? json_string(name) : json_null());
  mxg_recipe_print(recipe, text, sizeof text);
  json_object_set_new(object, "recipe", json_string(text));
  mxg_recipe_full_text(recipe, text, sizeof text);
  json_object_set_new(object, "all_keys", json_string(text));
  for (size_t key = 0; mxg_recipe_key_at(key) != NULL; key++) {
    double number = 0.0;
    const mxg_field_kind kind = mxg_recipe_field(recipe, key, text, sizeof text, &number);
    json_t *value = kind == MXG_FIELD_ABSENT    ? json_null()
                    : kind == MXG_FIELD_INTEGER ? json_integer((json_int_t)number)
                    : kind == MXG_FIELD_REAL    ? json_real(number)
                                                : json_string(text);
    json_object_set_new(object, mxg_recipe_key_at(key), value);
  }
  json_object_set_new(object, "provenance",
                      provenance != NULL ? json_string(provenance) : json_null());
  return object;
}

static void print_table(void) {
  printf("%-24s %-9s %-5s %5s  %s\n", "preset", "element", "scale", "block", "text of every key");
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
    const mxg_preset *preset = mxg_preset_at(i);
    char text[MXG_RECIPE_TEXT_CAP], element[32], scale[32], block[32] = "-";
    double number = 0.0;
    mxg_recipe_field(&preset->recipe, 0, element, sizeof element, &number);
    mxg_recipe_field(&preset->recipe, 1, scale, sizeof scale, &number);
    if (preset->recipe.block != 0) snprintf(block, sizeof block, "%u", preset->recipe.block);
    mxg_recipe_full_text(&preset->recipe, text, sizeof text);
    printf("%-24s %-9s %-5s %5s  %s\n%-24s %s\n", preset->name, element, scale, block, text, "",
           preset->provenance);
  }
}

static void print_one(const char *name, const mxg_recipe *recipe, const char *provenance) {
  char text[MXG_RECIPE_TEXT_CAP];
  mxg_recipe_print(recipe, text, sizeof text);
  printf("%-12s %s\n", "recipe", text);
  if (name != NULL) printf("%-12s %s\n", "preset", name);
  for (size_t key = 0; mxg_recipe_key_at(key) != NULL; key++) {
    double number = 0.0;
    const mxg_field_kind kind = mxg_recipe_field(recipe, key, text, sizeof text, &number);
    printf("%-12s %s\n", mxg_recipe_key_at(key), kind == MXG_FIELD_ABSENT ? "-" : text);
  }
  mxg_recipe_full_text(recipe, text, sizeof text);
  printf("%-12s %s\n", "all keys", text);
  if (provenance != NULL) printf("%-12s %s\n", "provenance", provenance);
}

int mxg_cmd_recipes(int argc, const char **argv) {
  int as_json = 0;
  struct poptOption table[] = {
      {"json", 0, POPT_ARG_NONE, &as_json, 0,
       "an array of objects: name, recipe, all_keys, every field (null = does not apply), "
       "provenance",
       NULL},
      POPT_TABLEEND};
  mxg_arguments arguments;
  int status =
      mxg_parse_options(argc, argv, table, "[--json] [RECIPE]",
                        "mxgold recipes                                every preset\n"
                        "mxgold recipes mori-fp8,block=256             one recipe, field by field\n"
                        "mxgold recipes --json | jq -r '.[].recipe'    for a script",
                        &arguments);
  if (status != 0) return status < 0 ? MXG_EXIT_OK : status;
  if (arguments.count > 1)
    return mxg_fail(MXG_EXIT_USAGE, "one recipe at most; '%s' is too many",
                    arguments.positional[1]);

  json_t *array = json_array();
  if (arguments.count == 1) {
    mxg_recipe recipe;
    status = mxg_recipe_arg(arguments.positional[0], NULL, &recipe);
    if (status != 0) {
      json_decref(array);
      return status;
    }
    const mxg_preset *preset = NULL;
    for (size_t i = 0; mxg_preset_at(i) != NULL && preset == NULL; i++)
      if (mxg_recipe_equal(&mxg_preset_at(i)->recipe, &recipe)) preset = mxg_preset_at(i);
    const char *name = preset != NULL ? preset->name : NULL;
    const char *provenance = preset != NULL ? preset->provenance : NULL;
    if (as_json)
      json_array_append_new(array, recipe_to_json(name, &recipe, provenance));
    else
      print_one(name, &recipe, provenance);
  } else if (as_json) {
    for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
      const mxg_preset *preset = mxg_preset_at(i);
      json_array_append_new(array,
                            recipe_to_json(preset->name, &preset->recipe, preset->provenance));
    }
  } else {
    print_table();
  }
  if (as_json) mxg_json_print(array);
  json_decref(array);
  return MXG_EXIT_OK;
}
