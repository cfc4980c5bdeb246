/* recipes.h: recipes and layout options to test with.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_RECIPES_H
#define TESTS_SUPPORT_RECIPES_H

#include "generator.h"
#include "mxgold.h"

/* The recipe that `text` names; fails the test when there is none. */
mxg_recipe recipe_of(const char *text);

/* Canonical text of a recipe; static storage, overwritten by the next call. */
const char *recipe_text(const mxg_recipe *recipe);

/* Elements that share a scale; 128 for a recipe without scales, to have a length to think in. */
size_t recipe_block(const mxg_recipe *recipe);

/* Any legal recipe, the odd ones included. */
mxg_recipe recipe_random(generator *g);

/* Any options that fit the recipe and shape. */
mxg_layout_options options_random(generator *g, const mxg_recipe *recipe, size_t cols);

/* One line about options, for messages; static storage, overwritten by the next call. */
const char *options_text(const mxg_layout_options *options);

#endif
