/* test_combine.c: dequantise and accumulate (section 6) of random slots. Codec against ref, and both
 * against a third computation here that uses the C library's fmaf.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "guard.h"
#include "packed.h"
#include "recipes.h"
#include "thin.h"
#include "values.h"

static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_BF16, MXG_DTYPE_F16};

/* One combine of random slots. */
typedef struct combine_case {
  mxg_recipe recipe;
  mxg_layout layout;
  size_t rows, top_k, cols, stride_elems, misalign;
  mxg_dtype dtype;
  const void **slots;  /* rows * top_k */
  float *weight;       /* in guarded memory, or NULL */
  guard pool, weights; /* slots at any address; weights likewise */
} combine_case;

static const char *words(const combine_case *c, const char *what) {
  static char text[1024];
  snprintf(text, sizeof text, "%s | %s rows %zu top_k %zu cols %zu stride %zu misalign %zu%s | %s",
           what, dtype_name(c->dtype), c->rows, c->top_k, c->cols, c->stride_elems, c->misalign,
           c->weight != NULL ? " weighted" : "", recipe_text(&c->recipe));
  return text;
}

/* A scale as it may be stored: mostly ordinary, at times an edge. `first`: block 0 of a row. */
static uint32_t random_scale(generator *g, const mxg_recipe *recipe, bool first, bool tame) {
  static const uint32_t odd_bytes[] = {0x00, 0x01, 0xFE, 0xFF, 0x02, 0xFD, 0x6D, 0x16};
  static const uint32_t odd_floats[] = {0x00000000, 0x80000000, 0x7F800000, 0xFF800000,
                                        0x7FC00000, 0xFFC00000, 0x7F800001, 0x00000001,
                                        0x80400000, 0x7F7FFFFF, 0x00800000, 0xFF7FFFFF};
  const bool odd = !tame && generator_chance(g, 12);
  if (recipe->scale == MXG_SCALE_E8M0)
    return odd ? odd_bytes[generator_below(g, 8)] : 116 + generator_below(g, 20);
  if (odd) return odd_floats[generator_below(g, 12)];
  const uint32_t sign = first && generator_chance(g, 2) ? 0x80000000u : 0;
  return sign | (116 + generator_below(g, 20)) << 23 | (generator_bits(g) & 0x7FFFFFu);
}

static bool is_finite_code(mxg_element element, uint32_t code) {
  return isfinite(code_value(element, code)) != 0;
}

static void random_slot(generator *g, const combine_case *c, uint8_t *slot, bool tame) {
  const mxg_element element = c->recipe.element;
  const uint32_t limit = element == MXG_ELEMENT_E2M1             ? 16
                         : mxg_element_traits(element).bits == 6 ? 64
                                                                 : 256;
  for (size_t col = 0; col < c->cols; col++) {
    uint32_t code = generator_below(g, limit);
    if (!is_finite_code(element, code) && (tame || !generator_chance(g, 16))) code = 0x35;
    code_put(element, slot, col, code);
  }
  for (size_t s = 0; s < c->layout.scale_count; s++)
    scale_put(&c->recipe, slot + c->layout.scale_offset_bytes, s,
              random_scale(g, &c->recipe, s == 0, tame));
}

/* A case of rows x cols outputs with top_k sources each, the rest at random. */
static void case_of_shape(generator *g, combine_case *c, const mxg_recipe *recipe, size_t top_k,
                          size_t rows, size_t cols) {
  mxg_layout_options options;
  memset(c, 0, sizeof *c);
  c->recipe = *recipe;
  c->recipe.accumulate = (mxg_accumulate)(1 + generator_below(g, 2));
  c->top_k = top_k;
  c->rows = rows;
  c->cols = cols;
  c->stride_elems = c->cols + generator_below(g, 3) * generator_below(g, 7);
  c->misalign = generator_below(g, 64);
  c->dtype = dtypes[generator_below(g, 3)];
  do {
    options = options_random(g, recipe, c->cols);
  } while (options.placement != MXG_PLACEMENT_SLOT);
  ck_assert_int_eq(mxg_layout_for(recipe, 7, c->cols, &options, &c->layout), MXG_OK);

  const size_t count = c->rows * top_k, slot_bytes = c->layout.slot_bytes;
  const size_t gap = generator_below(g, 4);
  const bool tame = generator_chance(g, 2);
  c->pool = guard_new(count * (slot_bytes + gap), generator_below(g, 64));
  generator_bytes(g, c->pool.data, c->pool.bytes);
  c->weights = guard_new(count * sizeof(float), generator_below(g, 64));
  values_fill(g, tame ? VALUES_RANDOM : VALUES_SPECIAL, MXG_DTYPE_F32, 1, count, count,
              count == 0 ? 1 : count, c->weights.data);
  c->slots = calloc(count + 1, sizeof *c->slots);
  if (c->slots == NULL) ck_abort_msg("no memory");
  const uint32_t missing_one_in = generator_chance(g, 8) ? 1 : 2 + generator_below(g, 8);
  for (size_t i = 0; i < count; i++) {
    uint8_t *slot = c->pool.data + i * (slot_bytes + gap) + gap;
    random_slot(g, c, slot, tame);
    c->slots[i] = slot;
    if (generator_chance(g, missing_one_in)) {
      c->slots[i] = NULL; /* its weight is poison: it must not be read */
      values_store(c->weights.data, MXG_DTYPE_F32, i, CANONICAL_NAN);
    } else if (generator_chance(g, 10) && i > 0 && c->slots[i - 1] != NULL) {
      c->slots[i] = c->slots[i - 1]; /* inputs may be one and the same */
    }
  }
  if (generator_chance(g, 2)) c->weight = (float *)(void *)c->weights.data;
  guard_read_only(&c->pool);
  guard_read_only(&c->weights);
}

static void case_new(generator *g, combine_case *c, const mxg_recipe *recipe, size_t top_k) {
  const size_t rows = generator_below(g, 5), cols = generator_below(g, top_k > 10 ? 90 : 330);
  case_of_shape(g, c, recipe, top_k, rows, cols);
}

static void case_free(combine_case *c) {
  guard_free(&c->pool, "slots");
  guard_free(&c->weights, "weight");
  free(c->slots);
}

/* Binary32 product and sum, each rounded, kept apart even where the compiler may contract. */
static float product(float a, float b) {
  volatile float p = a * b;
  return p;
}
static float sum(float a, float b) {
  volatile float s = a + b;
  return s;
}

static float e8m0_value(uint32_t byte, mxg_edges edges) {
  if (byte == 0xFF) return edges == MXG_EDGES_OCP ? NAN : INFINITY;
  if (byte == 0x00 && edges == MXG_EDGES_FLOAT) return 0;
  return (float)ldexp(1, (int)byte - 127);
}

/* Section 6 for one output, computed here. */
static uint32_t expected_f32(const combine_case *c, size_t row, size_t col) {
  float acc = 0;
  for (size_t k = 0; k < c->top_k; k++) {
    const uint8_t *slot = c->slots[row * c->top_k + k];
    if (slot == NULL) continue;
    const float t = (float)code_value(c->recipe.element, code_at(c->recipe.element, slot, col));
    const uint8_t *scales = slot + c->layout.scale_offset_bytes;
    bool scaled = c->recipe.scale != MXG_SCALE_NONE;
    float s = 1;
    if (c->recipe.scale == MXG_SCALE_E8M0)
      s = e8m0_value(scale_at(&c->recipe, scales, col / c->recipe.block), c->recipe.edges);
    if (c->recipe.scale == MXG_SCALE_F32) {
      s = float_of(scale_at(&c->recipe, scales, col / c->recipe.block));
      const float first = float_of(scale_at(&c->recipe, scales, 0));
      if (c->recipe.marker != MXG_MARKER_NONE) {
        scaled = first < 0;
        if (!scaled) s = 1;
        if (scaled && col < c->recipe.block) s = -first;
      }
    }
    const bool fused = c->recipe.accumulate == MXG_ACCUMULATE_FMA;
    if (c->weight != NULL) {
      const float w = float_of(values_load(c->weight, MXG_DTYPE_F32, row * c->top_k + k));
      const float ts = product(t, s);
      acc = fused ? fmaf(ts, w, acc) : sum(acc, product(ts, w));
    } else if (!scaled) {
      acc = sum(acc, t);
    } else {
      acc = fused ? fmaf(t, s, acc) : sum(acc, product(t, s));
    }
  }
  return isnan(acc) ? CANONICAL_NAN : bits_of(acc);
}

/* Runs `side` over segments of the columns, cut where `cuts` (ascending, from 0 to cols) says. */
static guard run_case(const combine_case *c, const impl *side, const mxg_run *run,
                      const size_t *cuts, size_t segments, uint8_t poison) {
  const size_t width = mxg_dtype_bytes(c->dtype);
  const size_t bytes = c->rows == 0 ? 0 : ((c->rows - 1) * c->stride_elems + c->cols) * width;
  guard out = guard_new(bytes, c->misalign);
  memset(out.data, poison, bytes);
  const mxg_matrix y = {out.data, c->dtype, c->rows, c->cols, c->stride_elems};
  for (size_t i = 0; i < segments; i++) {
    const mxg_status status = side->combine(&c->recipe, c->slots, c->top_k, c->weight, &c->layout,
                                            cuts[i], cuts[i + 1], &y, run);
    if (status != MXG_OK) ck_abort_msg("%s: %s: status %d", words(c, ""), side->name, (int)status);
  }
  return out;
}

/* rows of `got` equal those of `want` in columns [begin, end) and hold poison elsewhere */
static void expect_result(const combine_case *c, const guard *got, const guard *want, size_t begin,
                          size_t end, uint8_t poison, const char *what) {
  const size_t width = mxg_dtype_bytes(c->dtype);
  for (size_t r = 0; r < c->rows; r++) {
    const size_t row = r * c->stride_elems * width;
    const size_t row_end = r + 1 < c->rows ? c->stride_elems * width : c->cols * width;
    expect_filled(got->data + row, poison, begin * width, "%s: row %zu before the segment",
                  words(c, what), r);
    expect_bytes(got->data + row + begin * width, want->data + row + begin * width,
                 (end - begin) * width, "%s: row %zu", words(c, what), r);
    expect_filled(got->data + row + end * width, poison, row_end - end * width,
                  "%s: row %zu past the segment", words(c, what), r);
  }
}

/* all_runs: every thread count and isa; else some of them */
static void check_case(generator *g, const combine_case *c, bool all_runs) {
  const size_t whole[] = {0, c->cols};
  size_t cuts[6] = {0};
  cuts[5] = c->cols;
  for (size_t i = 1; i < 5; i++)
    cuts[i] = cuts[i - 1] + generator_below(g, (uint32_t)(c->cols - cuts[i - 1]) + 1);

  guard ref = run_case(c, &impls[IMPL_REF], NULL, whole, 1, 0x3A);
  guard codec = run_case(c, &impls[IMPL_CODEC], NULL, whole, 1, 0xC5);
  expect_result(c, &ref, &ref, 0, c->cols, 0x3A, "ref");
  if (c->dtype == MXG_DTYPE_F32) {
    for (size_t r = 0; r < c->rows; r++) {
      for (size_t col = 0; col < c->cols; col++) {
        const uint32_t got = values_load(ref.data, MXG_DTYPE_F32, r * c->stride_elems + col);
        const uint32_t want = expected_f32(c, r, col);
        if (got != want)
          ck_abort_msg("%s: row %zu column %zu: ref %08X, computed here %08X", words(c, ""), r, col,
                       got, want);
      }
    }
  }
  expect_result(c, &codec, &ref, 0, c->cols, 0xC5, "codec against ref");

  guard cut = run_case(c, &impls[IMPL_CODEC], NULL, cuts, 5, 0xC5);
  expect_result(c, &cut, &codec, 0, c->cols, 0xC5, "codec in segments");
  guard_free(&cut, "y");
  for (int i = 0; i < IMPLS; i++) { /* one segment alone: what is outside stays */
    guard part = run_case(c, &impls[i], NULL, cuts + 2, 1, 0x77);
    expect_result(c, &part, &ref, cuts[2], cuts[3], 0x77, impls[i].name);
    guard_free(&part, "y");
  }
  for (uint32_t n = 0; n < 8; n++) {
    mxg_run run = {0, 0, {0}};
    if (n < 4) run.threads = n + 1;
    if (n >= 4) run.isa_mask = UINT32_C(1) << (n - 4);
    if ((run.isa_mask & ~mxg_cpu_features()) != 0) continue;
    if (!all_runs && !generator_chance(g, 4)) continue;
    guard again = run_case(c, &impls[IMPL_CODEC], &run, whole, 1, 0xC5);
    expect_result(c, &again, &codec, 0, c->cols, 0xC5, "codec by threads or isa");
    guard_free(&again, "y");
  }
  guard_free(&codec, "y");
  guard_free(&ref, "y");
}

static const size_t top_ks[] = {0, 1, 2, 8, 9, 64};

START_TEST(test_presets) {
  generator g = generator_start("test_combine_presets");
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) {
    for (size_t n = 0; n < thinned(36); n++) {
      combine_case c;
      case_new(&g, &c, &preset->recipe, top_ks[n % 6]);
      check_case(&g, &c, false);
      case_free(&c);
    }
  }
}
END_TEST

START_TEST(test_random_recipes) {
  generator g = generator_start("test_combine_recipes");
  for (size_t n = 0; n < thinned(900); n++) {
    const mxg_recipe recipe = recipe_random(&g);
    combine_case c;
    case_new(&g, &c, &recipe, n % 7 == 0 ? 1 + generator_below(&g, 64) : top_ks[n % 6]);
    check_case(&g, &c, false);
    case_free(&c);
  }
}
END_TEST

/* Outputs enough (over 64 KiB) for the codec to divide the rows. */
START_TEST(test_threads) {
  static const char *const texts[] = {"mxfp4", "mori-fp8", "mxfp8", "mori-fp4", "mori-fp8-direct"};
  generator g = generator_start("test_combine_threads");
  for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
    const mxg_recipe recipe = recipe_of(texts[t]);
    combine_case c;
    case_of_shape(&g, &c, &recipe, 5, 47, 801);
    check_case(&g, &c, true);
    case_free(&c);
  }
}
END_TEST

CHECK_MAIN("combine", test_presets, test_random_recipes, test_threads)
