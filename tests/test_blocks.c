/* test_blocks.c: quantise and dequantise of whole matrices, codec against ref, byte for byte:
 * every preset over awkward lengths, sources, strides, alignments, placements and orders, and
 * random legal recipes.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "block_case.h"
#include "check_main.h"
#include "recipes.h"

static const mxg_dtype dtypes[] = {MXG_DTYPE_BF16, MXG_DTYPE_F16, MXG_DTYPE_F32};

/* All lengths for one recipe with dense rows; the long ones with one row. */
static void run_lengths(generator *g, const mxg_recipe *recipe, mxg_dtype dtype) {
  const size_t b = recipe_block(recipe);
  const size_t lengths[] = {0,  1,  b - 1, b,   b + 1, 2 * b - 1, 2 * b + 1,
                            31, 33, 74,    127, 129,   4097,      7168};
  for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
    block_case c;
    memset(&c, 0, sizeof c);
    c.recipe = *recipe;
    c.dtype = dtype;
    c.cols = lengths[i];
    const bool is_long = c.cols > 1000;
    const uint32_t kinds = is_long ? 1 : VALUES_KINDS;
    for (uint32_t k = 0; k < kinds; k++) {
      c.kind = (values_kind)(is_long ? generator_below(g, VALUES_KINDS) : k);
      c.rows = c.live_rows = is_long ? 1 : 1 + generator_below(g, 3);
      c.stride_elems = c.cols + (generator_chance(g, 2) ? generator_below(g, 5) : 0);
      c.misalign = generator_below(g, 64);
      c.row_weight = generator_chance(g, 4);
      c.random_bytes = k % 2 == 0;
      block_case_run(g, &c);
    }
  }
}

START_TEST(test_lengths) {
  generator g = generator_start("test_lengths");
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++)
    for (size_t d = 0; d < 3; d++) run_lengths(&g, &preset->recipe, dtypes[d]);
}
END_TEST

/* Any placement, order, padding and live count. */
static block_case any_case(generator *g, const mxg_recipe *recipe, size_t most_cols) {
  block_case c;
  memset(&c, 0, sizeof c);
  c.recipe = *recipe;
  c.dtype = dtypes[generator_below(g, 3)];
  c.kind = (values_kind)generator_below(g, VALUES_KINDS);
  c.rows = generator_below(g, 10);
  if (generator_chance(g, 8)) c.rows = 120 + generator_below(g, 180);
  c.live_rows = generator_chance(g, 2) ? c.rows : generator_below(g, (uint32_t)c.rows + 1);
  c.cols = generator_below(g, (uint32_t)(c.rows > 100 ? 70 : most_cols));
  c.stride_elems = c.cols + (generator_chance(g, 2) ? generator_below(g, 20) : 0);
  c.misalign = generator_below(g, 64);
  c.options = options_random(g, recipe, c.cols);
  c.row_weight = generator_chance(g, 3);
  c.random_bytes = generator_chance(g, 2);
  c.all_runs = generator_chance(g, 4);
  return c;
}

START_TEST(test_layouts) {
  generator g = generator_start("test_layouts");
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) {
    for (int i = 0; i < 24; i++) {
      const block_case c = any_case(&g, &preset->recipe, 3 * recipe_block(&preset->recipe));
      block_case_run(&g, &c);
    }
  }
}
END_TEST

/* Each of the 64 alignments for one recipe of every scale kind and code width. */
START_TEST(test_alignments) {
  static const char *const texts[] = {"mxfp8",    "aiter-mxfp4", "mxfp6-e2m3",
                                      "mori-fp8", "mori-fp4",    "mori-fp8-direct"};
  generator g = generator_start("test_alignments");
  for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
    const mxg_recipe recipe = recipe_of(texts[t]);
    for (size_t misalign = 0; misalign < 64; misalign++) {
      block_case c = any_case(&g, &recipe, 300);
      c.rows = c.live_rows = 2;
      c.misalign = misalign;
      c.dtype = dtypes[misalign % 3];
      block_case_run(&g, &c);
    }
  }
}
END_TEST

/* Threads divide rows: 1 to 4 threads and every isa give the same bytes. The matrices are large
 * enough (over 64 KiB of values) for the codec to divide them at all. */
START_TEST(test_threads) {
  generator g = generator_start("test_threads");
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) {
    block_case c = any_case(&g, &preset->recipe, 400);
    c.rows = 67;
    c.live_rows = 61;
    c.cols = 1100 + generator_below(&g, 3);
    c.stride_elems = c.cols + 3;
    c.options = options_random(&g, &preset->recipe, c.cols);
    c.random_bytes = false;
    c.all_runs = true;
    block_case_run(&g, &c);
  }
}
END_TEST

START_TEST(test_random_recipes) {
  generator g = generator_start("test_random_recipes");
  for (int i = 0; i < 2500; i++) {
    const mxg_recipe recipe = recipe_random(&g);
    const char *why = "";
    const mxg_status status = mxg_recipe_check(&recipe, &why);
    if (status != MXG_OK)
      ck_abort_msg("a legal recipe is refused: status %d, %s (element %d scale %d rule %d)",
                   (int)status, why, (int)recipe.element, (int)recipe.scale, (int)recipe.rule);
    const block_case c = any_case(&g, &recipe, 330);
    block_case_run(&g, &c);
  }
}
END_TEST

CHECK_MAIN("blocks", test_lengths, test_layouts, test_alignments, test_threads, test_random_recipes)
