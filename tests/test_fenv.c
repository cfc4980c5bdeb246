/* test_fenv.c: flushed subnormals and other roundings. Quantise and dequantise of E8M0 recipes
 * without row weights, and everything about recipes and layouts, give the same bytes there; every
 * other call returns MXG_ERR_FENV and writes nothing.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "fp_environment.h"
#include "impl.h"
#include "recipes.h"
#include "values.h"

enum { ROWS = 3, COLS = 300, ELEMS = ROWS * COLS };

static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_BF16, MXG_DTYPE_F16};

/* One quantise and three dequantises. */
typedef struct outputs {
  mxg_status quantize, dequantize[3];
  uint8_t codes[ELEMS], scales[4 * ELEMS];
  uint8_t y[3][4 * ELEMS];
} outputs;

static bool skipped(void) {
  if (fp_environment_set(FPENV_FTZ)) {
    fp_environment_set(FPENV_DEFAULT);
    return false;
  }
  printf("SKIPPED: no way to set the floating-point environment of this machine\n");
  fflush(stdout);
  return true;
}

static void run_in(fp_environment environment, const impl *side, const mxg_recipe *recipe,
                   const mxg_matrix_view *x, const float *row_weight, const outputs *source,
                   outputs *out) {
  mxg_layout layout;
  memset(out, 0xA5, sizeof *out);
  ck_assert_int_eq(side->layout_for(recipe, ROWS, COLS, NULL, &layout), MXG_OK);
  const mxg_packed packed = {out->codes, sizeof out->codes, out->scales, sizeof out->scales,
                             layout};
  const mxg_packed_view in = {source->codes, sizeof source->codes, source->scales,
                              sizeof source->scales, layout};
  fp_environment_set(environment);
  out->quantize = side->quantize(recipe, x, row_weight, &packed, NULL);
  for (size_t d = 0; d < 3; d++) {
    const mxg_matrix y = {out->y[d], dtypes[d], ROWS, COLS, 0};
    out->dequantize[d] = side->dequantize(recipe, &in, &y, NULL);
  }
  fp_environment_set(FPENV_DEFAULT);
}

/* Values that matter here: subnormals, sums and products near the limits, everything. */
static mxg_matrix_view source_values(generator *g, mxg_dtype dtype, size_t block, void *memory) {
  const values_kind kinds[] = {VALUES_EXTREME, VALUES_SPECIAL, VALUES_BITS, VALUES_RANDOM};
  values_fill(g, kinds[generator_below(g, 4)], dtype, ROWS, COLS, COLS, block, memory);
  const mxg_matrix_view x = {memory, dtype, ROWS, COLS, 0};
  return x;
}

/* One recipe: the same bytes in every environment, or MXG_ERR_FENV and not a byte. */
static void check_recipe(generator *g, const mxg_recipe *recipe, const impl *side, mxg_dtype dtype,
                         bool weighted) {
  static uint8_t memory[4 * ELEMS];
  static outputs random, expected, got;
  static const float weight[ROWS] = {0.5f, 3.0f, 0x1p-126f};
  const mxg_matrix_view x = source_values(g, dtype, recipe_block(recipe), memory);
  generator_bytes(g, &random, sizeof random);
  const float *row_weight = weighted ? weight : NULL;
  run_in(FPENV_DEFAULT, side, recipe, &x, row_weight, &random, &expected);
  ck_assert_int_eq(expected.quantize, MXG_OK);
  for (int e = FPENV_DEFAULT + 1; e < FPENV_ENVIRONMENTS; e++) {
    run_in((fp_environment)e, side, recipe, &x, row_weight, &random, &got);
    const char *name = fp_environment_name((fp_environment)e);
    const bool quantizes = recipe->scale == MXG_SCALE_E8M0 && !weighted;
    const bool dequantizes = recipe->scale == MXG_SCALE_E8M0;
    const mxg_status quantize = quantizes ? MXG_OK : MXG_ERR_FENV;
    const mxg_status dequantize = dequantizes ? MXG_OK : MXG_ERR_FENV;
    if (got.quantize != quantize)
      ck_abort_msg("%s %s, %s: quantize: status %d, want %d", side->name, recipe_text(recipe), name,
                   (int)got.quantize, (int)quantize);
    if (quantizes) {
      expect_bytes(got.codes, expected.codes, sizeof got.codes, "%s %s, %s: codes", side->name,
                   recipe_text(recipe), name);
      expect_bytes(got.scales, expected.scales, sizeof got.scales, "%s %s, %s: scales", side->name,
                   recipe_text(recipe), name);
    } else {
      expect_filled(got.codes, 0xA5, sizeof got.codes, "%s %s, %s", side->name, recipe_text(recipe),
                    name);
      expect_filled(got.scales, 0xA5, sizeof got.scales, "%s %s, %s", side->name,
                    recipe_text(recipe), name);
    }
    for (size_t d = 0; d < 3; d++) {
      if (got.dequantize[d] != dequantize)
        ck_abort_msg("%s %s, %s: dequantize: status %d, want %d", side->name, recipe_text(recipe),
                     name, (int)got.dequantize[d], (int)dequantize);
      if (dequantizes)
        expect_bytes(got.y[d], expected.y[d], sizeof got.y[d], "%s %s, %s: to %s", side->name,
                     recipe_text(recipe), name, dtype_name(dtypes[d]));
      else
        expect_filled(got.y[d], 0xA5, sizeof got.y[d], "%s %s, %s: to %s", side->name,
                      recipe_text(recipe), name, dtype_name(dtypes[d]));
    }
  }
}

START_TEST(test_presets) {
  generator g = generator_start("test_fenv_presets");
  if (skipped()) return;
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++)
    for (int i = 0; i < IMPLS; i++)
      for (size_t n = 0; n < 6; n++)
        check_recipe(&g, &preset->recipe, &impls[i], dtypes[n % 3], n % 3 == 1);
}
END_TEST

START_TEST(test_random_recipes) {
  generator g = generator_start("test_fenv_recipes");
  if (skipped()) return;
  for (size_t n = 0; n < 250; n++) {
    mxg_recipe recipe = recipe_random(&g);
    if (recipe.block > COLS) recipe.block = COLS;
    for (int i = 0; i < IMPLS; i++)
      check_recipe(&g, &recipe, &impls[i], dtypes[n % 3], generator_chance(&g, 8));
  }
}
END_TEST

/* Every other call that reads or writes elements, scales or values. */
START_TEST(test_other_calls) {
  if (skipped()) return;
  const mxg_recipe recipe = recipe_of("mxfp8");
  const mxg_layout_options slot = {MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
  static const float in[4] = {1, 2, 3, 4};
  static const uint8_t in_bytes[72] = {1, 2, 3, 4};
  for (int i = 0; i < IMPLS; i++) {
    for (int e = FPENV_DEFAULT; e < FPENV_ENVIRONMENTS; e++) {
      const impl *side = &impls[i];
      uint8_t out[10][128];
      mxg_status status[10];
      mxg_layout layout, separate;
      memset(out, 0xA5, sizeof out);
      const void *const slots[1] = {in_bytes};
      fp_environment_set((fp_environment)e);
      const mxg_status geometry = side->layout_for(&recipe, 1, 16, &slot, &layout);
      const mxg_matrix y = {out[0], MXG_DTYPE_F32, 1, 16, 0};
      status[0] = side->combine(&recipe, slots, 1, NULL, &layout, 0, 16, &y, NULL);
      status[1] = side->encode_f32(&recipe, in, 4, out[1]);
      status[2] = side->decode_f32(MXG_ELEMENT_E4M3FN, in_bytes, 4, (float *)(void *)out[2]);
      status[3] = side->e8m0_from_amax(&recipe, in, 4, out[3]);
      status[4] = side->e8m0_from_scale(&recipe, in, 4, out[4]);
      status[5] = side->e8m0_to_f32(MXG_EDGES_OCP, in_bytes, 4, (float *)(void *)out[5]);
      status[6] = side->to_f32(MXG_DTYPE_BF16, in_bytes, 4, (float *)(void *)out[6]);
      status[7] = side->from_f32(MXG_DTYPE_F16, in, 4, out[7]);
      status[8] = side->to_f32(MXG_DTYPE_F32, in, 4, (float *)(void *)out[8]);
      status[9] = side->from_f32(MXG_DTYPE_F32, in, 4, out[9]);
      fp_environment_set(FPENV_DEFAULT);
      ck_assert_int_eq(geometry, MXG_OK);
      for (size_t n = 0; n < 10; n++) {
        if (status[n] != (e == FPENV_DEFAULT ? MXG_OK : MXG_ERR_FENV))
          ck_abort_msg("%s: call %zu, %s: status %d", side->name, n,
                       fp_environment_name((fp_environment)e), (int)status[n]);
        if (e != FPENV_DEFAULT)
          expect_filled(out[n], 0xA5, sizeof out[n], "%s: call %zu, %s", side->name, n,
                        fp_environment_name((fp_environment)e));
      }
      /* bytes that are only moved do not care */
      uint8_t moved[256], tiles[256], bytes[256];
      for (unsigned b = 0; b < 256; b++) bytes[b] = (uint8_t)b;
      ck_assert_int_eq(side->layout_for(&recipe, 1, 32, NULL, &separate), MXG_OK);
      fp_environment_set((fp_environment)e);
      const mxg_status shuffle = side->weight_shuffle(16, 16, bytes, tiles);
      const mxg_status unshuffle = side->weight_unshuffle(16, 16, tiles, moved);
      const mxg_status reorder = side->scales_reorder(&separate, bytes, 1, &separate, out[0], 1, 1);
      fp_environment_set(FPENV_DEFAULT);
      ck_assert_int_eq(shuffle, MXG_OK);
      ck_assert_int_eq(unshuffle, MXG_OK);
      ck_assert_int_eq(reorder, MXG_OK);
      expect_bytes(moved, bytes, sizeof bytes, "%s: there and back", side->name);
    }
  }
}
END_TEST

/* Numbers in recipe texts round the same way everywhere. */
START_TEST(test_recipe_texts) {
  generator g = generator_start("test_fenv_texts");
  if (skipped()) return;
  static const char *const texts[] = {
      "mxfp8",
      "aiter-mxfp8,amax_floor=0.1",
      "mxfp4,amax_floor=1e-40",
      "mxfp4,amax_floor=0x1.000001p-130,element_max=5.1",
      "mori-fp8,element_max=239.99999,amax_floor=3.4028235e38",
      "mxfp6-e3m2,element_max=0.333333343267440796,amax_floor=1.4e-45"};
  for (size_t n = 0; n < 100; n++) {
    char text[512];
    mxg_recipe recipe;
    if (n < sizeof texts / sizeof texts[0]) {
      snprintf(text, sizeof text, "%s", texts[n]);
    } else {
      recipe = recipe_random(&g);
      if (recipe.scale != MXG_SCALE_NONE && n % 2 == 0)
        recipe.amax_floor = float_of(generator_bits(&g) & 0x7EFFFFFFu);
      ck_assert_uint_gt(mxg_recipe_print(&recipe, text, sizeof text), 0);
    }
    mxg_recipe want;
    char want_text[512];
    memset(&want, 0, sizeof want);
    ck_assert_int_eq(mxg_recipe_parse(text, &want, NULL), MXG_OK);
    mxg_recipe_print(&want, want_text, sizeof want_text);
    for (int e = FPENV_DEFAULT + 1; e < FPENV_ENVIRONMENTS; e++) {
      mxg_recipe got;
      char got_text[512];
      memset(&got, 0, sizeof got);
      fp_environment_set((fp_environment)e);
      const mxg_status parse = mxg_recipe_parse(text, &got, NULL);
      const mxg_status check = mxg_recipe_check(&want, NULL);
      const size_t length = mxg_recipe_print(&want, got_text, sizeof got_text);
      fp_environment_set(FPENV_DEFAULT);
      const char *name = fp_environment_name((fp_environment)e);
      ck_assert_int_eq(parse, MXG_OK);
      ck_assert_int_eq(check, MXG_OK);
      expect_bytes(&got, &want, sizeof got, "%s, %s: recipe", text, name);
      ck_assert_uint_eq(length, strlen(want_text));
      ck_assert_str_eq(got_text, want_text);
    }
  }
}
END_TEST

/* Worker threads may have been born while FTZ was on: a later call in the default environment gives
 * the right bytes all the same. */
START_TEST(test_threads_born_elsewhere) {
  enum { TALL = 64, WIDE = 1024 };
  generator g = generator_start("test_fenv_threads");
  if (skipped()) return;
  static uint8_t values[4 * TALL * WIDE], codes[IMPLS][TALL * WIDE], scales[IMPLS][4 * TALL * WIDE];
  static uint8_t y[IMPLS][4 * TALL * WIDE];
  const mxg_recipe early = recipe_of("mxfp8"), late = recipe_of("aiter-fp8-128,amax_floor=0");
  const mxg_run run = {4, 0, {0}};
  mxg_layout layout;
  values_fill(&g, VALUES_EXTREME, MXG_DTYPE_F32, TALL, WIDE, WIDE, 128, values);
  const mxg_matrix_view x = {values, MXG_DTYPE_F32, TALL, WIDE, 0};
  ck_assert_int_eq(mxg_layout_for(&early, TALL, WIDE, NULL, &layout), MXG_OK);
  const mxg_packed first = {codes[0], sizeof codes[0], scales[0], sizeof scales[0], layout};
  fp_environment_set(FPENV_FTZ_DAZ_UP);
  const mxg_status status = mxg_quantize(&early, &x, NULL, &first, &run);
  fp_environment_set(FPENV_DEFAULT);
  ck_assert_int_eq(status, MXG_OK);

  ck_assert_int_eq(mxg_layout_for(&late, TALL, WIDE, NULL, &layout), MXG_OK);
  for (int i = 0; i < IMPLS; i++) {
    const mxg_packed out = {codes[i], sizeof codes[i], scales[i], sizeof scales[i], layout};
    const mxg_packed_view in = {codes[i], sizeof codes[i], scales[i], sizeof scales[i], layout};
    const mxg_matrix result = {y[i], MXG_DTYPE_F32, TALL, WIDE, 0};
    ck_assert_int_eq(impls[i].quantize(&late, &x, NULL, &out, &run), MXG_OK);
    ck_assert_int_eq(impls[i].dequantize(&late, &in, &result, &run), MXG_OK);
  }
  expect_bytes(codes[0], codes[1], layout.codes_bytes, "codes");
  expect_bytes(scales[0], scales[1], layout.scales_bytes, "scales");
  expect_bytes(y[0], y[1], sizeof y[0], "values");
}
END_TEST

/* ---- exceptions that trap ---- */

static bool no_traps(void) {
  const bool on = fp_traps_set(true);
  fp_traps_set(false);
  if (on) { /* an OpenMP runtime starts with arithmetic of its own: here, where it may */
    const mxg_recipe recipe = recipe_of("mxfp8");
    const mxg_run run = {1, 0, {0}};
    const float value = 1.0f;
    uint8_t code, scale;
    mxg_layout layout;
    ck_assert_int_eq(mxg_layout_for(&recipe, 1, 1, NULL, &layout), MXG_OK);
    const mxg_matrix_view x = {&value, MXG_DTYPE_F32, 1, 1, 0};
    const mxg_packed out = {&code, 1, &scale, 1, layout};
    ck_assert_int_eq(mxg_quantize(&recipe, &x, NULL, &out, &run), MXG_OK);
    return false;
  }
  printf("SKIPPED: no floating-point exception of this machine can trap\n");
  fflush(stdout);
  return true;
}

/* As run_in(), every exception trapping. */
static void run_trapping(const impl *side, const mxg_recipe *recipe, const mxg_matrix_view *x,
                         const outputs *source, const mxg_run *run, outputs *out) {
  mxg_layout layout;
  memset(out, 0xA5, sizeof *out);
  ck_assert_int_eq(side->layout_for(recipe, ROWS, COLS, NULL, &layout), MXG_OK);
  const mxg_packed packed = {out->codes, sizeof out->codes, out->scales, sizeof out->scales,
                             layout};
  const mxg_packed_view in = {source->codes, sizeof source->codes, source->scales,
                              sizeof source->scales, layout};
  fp_traps_set(true);
  out->quantize = side->quantize(recipe, x, NULL, &packed, run);
  for (size_t d = 0; d < 3; d++) {
    const mxg_matrix y = {out->y[d], dtypes[d], ROWS, COLS, 0};
    out->dequantize[d] = side->dequantize(recipe, &in, &y, run);
  }
  fp_traps_set(false);
}

/* E8M0 recipes without row weights never trap, whatever kernel serves them: there are quotients that
 * round, products that underflow, values beyond f16 and signalling NaN. */
START_TEST(test_traps) {
  generator g = generator_start("test_fenv_traps");
  static uint8_t memory[4 * ELEMS];
  static outputs random, expected, got;
  if (no_traps()) return;
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) {
    const mxg_recipe *recipe = &preset->recipe;
    if (recipe->scale != MXG_SCALE_E8M0) continue;
    for (size_t n = 0; n < 12; n++) {
      const mxg_matrix_view x = source_values(&g, dtypes[n % 3], recipe_block(recipe), memory);
      generator_bytes(&g, &random, sizeof random);
      if (n % 2 == 0) /* scales of no special kernel: about 1, and small */
        for (size_t i = 0; i < sizeof random.scales; i++)
          random.scales[i] = (uint8_t)(n % 4 == 0 ? 120 + i % 16 : i % 4);
      run_in(FPENV_DEFAULT, &impls[IMPL_REF], recipe, &x, NULL, &random, &expected);
      for (uint32_t isa = MXG_ISA_PORTABLE; isa <= MXG_ISA_NEON; isa <<= 1) {
        const mxg_run run = {0, isa, {0}};
        if ((mxg_cpu_features() & isa) == 0) continue;
        for (int i = 0; i < IMPLS; i++) {
          run_trapping(&impls[i], recipe, &x, &random, &run, &got);
          expect_bytes(&got, &expected, sizeof got, "%s %s, isa %u", impls[i].name, preset->name,
                       (unsigned)isa);
        }
      }
    }
  }
}
END_TEST

/* Worker threads may have been born while exceptions trapped: a later call of a thread where they do
 * not is not ended by them. */
START_TEST(test_threads_born_trapping) {
  enum { TALL = 64, WIDE = 1024 };
  generator g = generator_start("test_fenv_threads_trapping");
  static uint8_t values[4 * TALL * WIDE], codes[IMPLS][TALL * WIDE], scales[IMPLS][4 * TALL * WIDE];
  const mxg_recipe early = recipe_of("mxfp8"), late = recipe_of("aiter-fp8-128");
  const mxg_run run = {4, 0, {0}};
  mxg_layout layout;
  if (no_traps()) return;
  values_fill(&g, VALUES_EXTREME, MXG_DTYPE_F32, TALL, WIDE, WIDE, 128, values);
  const mxg_matrix_view x = {values, MXG_DTYPE_F32, TALL, WIDE, 0};
  ck_assert_int_eq(mxg_layout_for(&early, TALL, WIDE, NULL, &layout), MXG_OK);
  const mxg_packed first = {codes[0], sizeof codes[0], scales[0], sizeof scales[0], layout};
  fp_traps_set(true);
  const mxg_status status = mxg_quantize(&early, &x, NULL, &first, &run);
  fp_traps_set(false);
  ck_assert_int_eq(status, MXG_OK);

  ck_assert_int_eq(mxg_layout_for(&late, TALL, WIDE, NULL, &layout), MXG_OK);
  for (int i = 0; i < IMPLS; i++) {
    const mxg_packed out = {codes[i], sizeof codes[i], scales[i], sizeof scales[i], layout};
    const int times = i == IMPL_CODEC ? 100 : 1; /* a worker may come too late for one */
    for (int n = 0; n < times; n++)
      ck_assert_int_eq(impls[i].quantize(&late, &x, NULL, &out, &run), MXG_OK);
  }
  expect_bytes(codes[0], codes[1], layout.codes_bytes, "codes");
  expect_bytes(scales[0], scales[1], layout.scales_bytes, "scales");
}
END_TEST

CHECK_MAIN("fenv", test_presets, test_random_recipes, test_other_calls, test_recipe_texts,
           test_threads_born_elsewhere, test_traps, test_threads_born_trapping)
