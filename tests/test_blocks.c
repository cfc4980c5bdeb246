/* test_blocks.c: quantise and dequantise of whole matrices, codec against ref, byte for byte:
 * every preset over awkward lengths, sources, strides, alignments, placements and orders, and
 * random legal recipes.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "block_case.h"
#include "check_main.h"
#include "compare.h"
#include "impl.h"
#include "recipes.h"
#include "thin.h"

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
    for (uint32_t k = (uint32_t)i % thin() % kinds; k < kinds; k += thin()) {
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
    for (size_t i = 0; i < thinned(24); i++) {
      const block_case c = any_case(&g, &preset->recipe, 3 * recipe_block(&preset->recipe));
      block_case_run(&g, &c);
    }
  }
}
END_TEST

/* Rows long enough for every way of cutting them, in the orders that scatter their scales. */
START_TEST(test_long_rows) {
  generator g = generator_start("test_long_rows");
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) {
    const size_t b = recipe_block(&preset->recipe);
    for (int order = MXG_ORDER_TRANSPOSED; order <= MXG_ORDER_BLOCKED_128X4; order++) {
      if (preset->recipe.scale == MXG_SCALE_NONE) continue;
      if (preset->recipe.scale == MXG_SCALE_F32 && order > MXG_ORDER_TRANSPOSED) continue;
      if ((p + (size_t)order) % ((thin() + 1) / 2) != 0) continue;
      block_case c;
      memset(&c, 0, sizeof c);
      c.recipe = preset->recipe;
      c.dtype = dtypes[generator_below(&g, 3)];
      c.kind = VALUES_SPECIAL;
      c.rows = c.live_rows = b > 32 ? 1 : 2;
      c.cols = c.stride_elems = 257 * b + 1 + generator_below(&g, (uint32_t)b);
      c.misalign = generator_below(&g, 64);
      c.options.order = (mxg_scale_order)order;
      c.random_bytes = order == MXG_ORDER_TRANSPOSED;
      block_case_run(&g, &c);
      if (order != MXG_ORDER_TRANSPOSED) continue;
      /* odd blocks: a cut must fall on a whole byte of the codes as well */
      c.recipe.block = 1 + 2 * generator_below(&g, 20);
      c.cols = c.stride_elems = 3000 + generator_below(&g, 9);
      block_case_run(&g, &c);
    }
  }
}
END_TEST

/* Section 3: x becomes fl(x * w) before everything else, but a NaN keeps the sign of x. */
START_TEST(test_row_weight_by_hand) {
  const mxg_recipe recipe = recipe_of("megamoe-fp8-32,nan_amax=ignore");
  static const uint32_t x[3][8] = {
      {0x3F800000, 0xBF800000, 0x7FC00000, 0xFFC00000, 0x00000000, 0x80000000, 0x40000000, 0},
      {0x7F800000, 0xFF800000, 0x3F800000, 0xBF800000, 0x7FC00000, 0xFFC00000, 0, 0},
      {0x3F800000, 0xBF800000, 0x7FC00000, 0xFFC00000, 0x00000000, 0x80000000, 0x40000000, 0}};
  static const float w[3] = {-2.0f, 0.0f, 448.0f};
  /* -2 2 NaN -NaN -0 0 -4 -0, by 2^-6: amax 4 gives 4 / 448 in (2^-7, 2^-6]: byte 121
   * Inf * 0 is NaN with the sign of Inf; finite ones are zeros; amax 0: byte 0
   * 448 -448 NaN -NaN 0 -0 896 0, by 2: amax 896, 896 * fl(1/448) is 2 */
  static const uint8_t codes[3][8] = {{0xF0, 0x70, 0x7F, 0xFF, 0x80, 0x00, 0xF8, 0x80},
                                      {0x7F, 0xFF, 0x00, 0x80, 0x7F, 0xFF, 0x00, 0x00},
                                      {0x76, 0xF6, 0x7F, 0xFF, 0x00, 0x80, 0x7E, 0x00}};
  static const uint8_t scales[3] = {121, 0, 128};
  for (int i = 0; i < IMPLS; i++) {
    uint8_t got_codes[3][8], got_scales[3];
    const mxg_matrix_view view = {x, MXG_DTYPE_F32, 3, 8, 0};
    mxg_packed out = {got_codes, sizeof got_codes, got_scales, sizeof got_scales, {0}};
    ck_assert_int_eq(impls[i].layout_for(&recipe, 3, 8, NULL, &out.layout), MXG_OK);
    ck_assert_int_eq(impls[i].quantize(&recipe, &view, w, &out, NULL), MXG_OK);
    expect_bytes(got_scales, scales, sizeof scales, "%s: scales of weighted rows", impls[i].name);
    expect_bytes(got_codes, codes, sizeof codes, "%s: codes of weighted rows", impls[i].name);
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
    for (size_t misalign = 0; misalign < 64; misalign += thin()) {
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
  for (size_t i = 0; i < thinned(2500); i++) {
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

CHECK_MAIN("blocks", test_lengths, test_layouts, test_long_rows, test_row_weight_by_hand,
           test_alignments, test_threads, test_random_recipes)
