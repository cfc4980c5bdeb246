/* test_combine.c: dequantise and accumulate (section 6). Codec against ref, both against a third
 * computation here that uses the C library's fmaf, and cases worked out by hand.
 * SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "guard.h"
#include "packed.h"
#include "recipes.h"
#include "thin.h"
#include "values.h"

#define CANONICAL_NAN 0x7FC00000u

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

typedef struct result {
  guard y;
} result;

/* Runs `side` over segments of the columns, cut where `cuts` (ascending, from 0 to cols) says. */
static result run_case(const combine_case *c, const impl *side, const mxg_run *run,
                       const size_t *cuts, size_t segments, uint8_t poison) {
  const size_t width = mxg_dtype_bytes(c->dtype);
  const size_t bytes = c->rows == 0 ? 0 : ((c->rows - 1) * c->stride_elems + c->cols) * width;
  result r = {guard_new(bytes, c->misalign)};
  memset(r.y.data, poison, bytes);
  const mxg_matrix y = {r.y.data, c->dtype, c->rows, c->cols, c->stride_elems};
  for (size_t i = 0; i < segments; i++) {
    const mxg_status status = side->combine(&c->recipe, c->slots, c->top_k, c->weight, &c->layout,
                                            cuts[i], cuts[i + 1], &y, run);
    if (status != MXG_OK) ck_abort_msg("%s: %s: status %d", words(c, ""), side->name, (int)status);
  }
  return r;
}

/* rows of `got` equal those of `want` in columns [begin, end) and hold poison elsewhere */
static void expect_result(const combine_case *c, const result *got, const result *want,
                          size_t begin, size_t end, uint8_t poison, const char *what) {
  const size_t width = mxg_dtype_bytes(c->dtype);
  for (size_t r = 0; r < c->rows; r++) {
    const size_t row = r * c->stride_elems * width;
    const size_t row_end = r + 1 < c->rows ? c->stride_elems * width : c->cols * width;
    expect_filled(got->y.data + row, poison, begin * width, "%s: row %zu before the segment",
                  words(c, what), r);
    expect_bytes(got->y.data + row + begin * width, want->y.data + row + begin * width,
                 (end - begin) * width, "%s: row %zu", words(c, what), r);
    expect_filled(got->y.data + row + end * width, poison, row_end - end * width,
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

  result ref = run_case(c, &impls[IMPL_REF], NULL, whole, 1, 0x3A);
  result codec = run_case(c, &impls[IMPL_CODEC], NULL, whole, 1, 0xC5);
  expect_result(c, &ref, &ref, 0, c->cols, 0x3A, "ref");
  if (c->dtype == MXG_DTYPE_F32) {
    for (size_t r = 0; r < c->rows; r++) {
      for (size_t col = 0; col < c->cols; col++) {
        const uint32_t got = values_load(ref.y.data, MXG_DTYPE_F32, r * c->stride_elems + col);
        const uint32_t want = expected_f32(c, r, col);
        if (got != want)
          ck_abort_msg("%s: row %zu column %zu: ref %08X, computed here %08X", words(c, ""), r, col,
                       got, want);
      }
    }
  }
  expect_result(c, &codec, &ref, 0, c->cols, 0xC5, "codec against ref");

  result cut = run_case(c, &impls[IMPL_CODEC], NULL, cuts, 5, 0xC5);
  expect_result(c, &cut, &codec, 0, c->cols, 0xC5, "codec in segments");
  guard_free(&cut.y, "y");
  for (int i = 0; i < IMPLS; i++) { /* one segment alone: what is outside stays */
    result part = run_case(c, &impls[i], NULL, cuts + 2, 1, 0x77);
    expect_result(c, &part, &ref, cuts[2], cuts[3], 0x77, impls[i].name);
    guard_free(&part.y, "y");
  }
  for (uint32_t n = 0; n < 8; n++) {
    mxg_run run = {0, 0, {0}};
    if (n < 4) run.threads = n + 1;
    if (n >= 4) run.isa_mask = UINT32_C(1) << (n - 4);
    if ((run.isa_mask & ~mxg_cpu_features()) != 0) continue;
    if (!all_runs && !generator_chance(g, 4)) continue;
    result again = run_case(c, &impls[IMPL_CODEC], &run, whole, 1, 0xC5);
    expect_result(c, &again, &codec, 0, c->cols, 0xC5, "codec by threads or isa");
    guard_free(&again.y, "y");
  }
  guard_free(&codec.y, "y");
  guard_free(&ref.y, "y");
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

/* ---- fma against the C library's, through combine ----
 * A block of one column: acc comes from source 0 (1.0 * scale, weight 1), and source 1 adds
 * fma(1.0 * scale, weight, acc). */

enum { FMA_COLS = 4096, FMA_ROWS = 2500 };

/* bits of an addend that makes fma(a, w, addend) hard: near the product, far, or anything */
static uint32_t hard_addend(generator *g, float a, float w) {
  const float p = product(a, w);
  const uint32_t field = bits_of(p) >> 23 & 0xFFu, above = field + 22 + generator_below(g, 6);
  switch (generator_below(g, 4)) {
    case 0: return bits_of(-p) ^ generator_below(g, 4); /* cancellation */
    case 1: /* far above: the product decides a tie, or hides below it */
      return (above < 254 ? above : 254) << 23 | (generator_bits(g) & 0x80000001u);
    case 2: return field << 23 | (generator_bits(g) & 0x807FFFFFu);
    default: return generator_bits(g);
  }
}

START_TEST(test_fma_against_libm) {
  generator g = generator_start("test_fma_against_libm");
  const mxg_recipe recipe = recipe_of("aiter-fp8-128,block=1");
  const mxg_layout_options options = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
  mxg_layout layout;
  ck_assert_int_eq(mxg_layout_for(&recipe, 2, FMA_COLS, &options, &layout), MXG_OK);
  uint8_t *slot[2] = {malloc(layout.slot_bytes), malloc(layout.slot_bytes)};
  static uint32_t y[IMPLS][FMA_COLS];
  if (slot[0] == NULL || slot[1] == NULL) ck_abort_msg("no memory");
  memset(slot[0], 0x38, FMA_COLS);
  memset(slot[1], 0x38, FMA_COLS);
  size_t triples = 0;
  for (size_t row = 0; row < thinned(FMA_ROWS); row++) {
    const uint32_t w_bits =
        row % 8 == 7 ? generator_bits(&g)
                     : (117 + generator_below(&g, 20)) << 23 | (generator_bits(&g) & 0x807FFFFFu);
    const float weights[2] = {1, float_of(w_bits)};
    for (size_t col = 0; col < FMA_COLS; col++) {
      /* row % 16 == 5: products around the smallest normal number */
      const uint32_t a = row % 16 == 5
                             ? generator_below(&g, 40) << 23 | (generator_bits(&g) & 0x7FFFFFu)
                         : row % 8 == 7 ? generator_bits(&g)
                                        : (110 + generator_below(&g, 30)) << 23 |
                                              (generator_bits(&g) & 0x807FFF00u >> (row % 3 * 8));
      scale_put(&recipe, slot[1] + layout.scale_offset_bytes, col, a);
      scale_put(&recipe, slot[0] + layout.scale_offset_bytes, col,
                hard_addend(&g, float_of(a), weights[1]));
    }
    for (int i = 0; i < IMPLS; i++) {
      const void *const slots[2] = {slot[0], slot[1]};
      const mxg_matrix out = {y[i], MXG_DTYPE_F32, 1, FMA_COLS, 0};
      ck_assert_int_eq(
          impls[i].combine(&recipe, slots, 2, weights, &layout, 0, FMA_COLS, &out, NULL), MXG_OK);
    }
    for (size_t col = 0; col < FMA_COLS; col++) {
      const float a = float_of(scale_at(&recipe, slot[1] + layout.scale_offset_bytes, col));
      const float acc = float_of(scale_at(&recipe, slot[0] + layout.scale_offset_bytes, col));
      const float want = fmaf(a, weights[1], sum(acc, 0)); /* acc: fma(acc, 1, +0.0) */
      const uint32_t bits = isnan(want) ? CANONICAL_NAN : bits_of(want);
      for (int i = 0; i < IMPLS; i++) {
        if (y[i][col] != bits)
          ck_abort_msg("%s: fma(%a, %a, %a): %08X, want %08X", impls[i].name, (double)a,
                       (double)weights[1], (double)acc, y[i][col], bits);
      }
      triples++;
    }
  }
  printf("fma: %zu triples equal to fmaf\n", triples);
  fflush(stdout);
  ck_assert_uint_ge(triples, thinned(10000000));
  free(slot[0]);
  free(slot[1]);
}
END_TEST

/* ---- by hand ---- */

/* One output of sources of one column: codes, stored scales (bytes or f32 bits), weights or none. */
static uint32_t one_column(const impl *side, const char *recipe_name, mxg_dtype dtype, size_t top_k,
                           const uint32_t *codes, const uint32_t *scales, const uint32_t *weights) {
  uint8_t slots[9][8];
  const void *pointers[9];
  const mxg_recipe recipe = recipe_of(recipe_name);
  const mxg_layout_options options = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
  mxg_layout layout;
  ck_assert_int_eq(side->layout_for(&recipe, 1, 1, &options, &layout), MXG_OK);
  ck_assert_msg(layout.slot_bytes <= 8 && top_k <= 9, "slot");
  memset(slots, 0, sizeof slots);
  for (size_t k = 0; k < top_k; k++) {
    code_put(recipe.element, slots[k], 0, codes[k]);
    if (recipe.scale != MXG_SCALE_NONE)
      scale_put(&recipe, slots[k] + layout.scale_offset_bytes, 0, scales[k]);
    pointers[k] = codes[k] > 0xFF ? NULL : slots[k];
  }
  uint32_t y = 0xA5A5A5A5;
  const mxg_matrix out = {&y, dtype, 1, 1, 0};
  ck_assert_int_eq(side->combine(&recipe, pointers, top_k, (const float *)(const void *)weights,
                                 &layout, 0, 1, &out, NULL),
                   MXG_OK);
  return values_load(&y, dtype, 0);
}

#define MISSING 0x100u /* a code that stands for a null source */

static const struct hand_case {
  const char *recipe;
  size_t top_k;
  uint32_t codes[4], scales[4];
  bool weighted;
  uint32_t weights[4];
  uint32_t f32, bf16, f16;
} hand_cases[] = {
    /* 2^24 + 1 + 1 - 2^24 in ascending order: each 1 is half an ulp and is lost */
    {"mxfp8", 4, {0x38, 0x38, 0x38, 0xB8}, {151, 127, 127, 151}, false, {0}, 0x00000000, 0, 0},
    {"mxfp8",
     4,
     {0x38, 0x38, 0x38, 0xB8},
     {127, 127, 151, 151},
     false,
     {0},
     0x40000000,
     0x4000,
     0x4000},
    {"mxfp8,accumulate=mul_add",
     4,
     {0x38, 0x38, 0x38, 0xB8},
     {151, 127, 127, 151},
     false,
     {0},
     0x00000000,
     0,
     0},
    /* -1.125 + 1.125 * (1 + 2^-23): the product keeps 2^-26 only when fused */
    {"aiter-fp8-128",
     2,
     {0xB9, 0x39},
     {0x3F800000, 0x3F800001},
     false,
     {0},
     0x34100000,
     0x3410,
     0x0002},
    {"aiter-fp8-128,accumulate=mul_add",
     2,
     {0xB9, 0x39},
     {0x3F800000, 0x3F800001},
     false,
     {0},
     0x34000000,
     0x3400,
     0x0002},
    /* weighted, element * scale is rounded first in both; the weight then is fused or not */
    {"aiter-fp8-128",
     2,
     {0xB9, 0x39},
     {0x3F800000, 0x3F800001},
     true,
     {0x3F800000, 0x3F800000},
     0x34000000,
     0x3400,
     0x0002},
    {"aiter-fp8-128",
     2,
     {0xB9, 0x39},
     {0x3F800000, 0x3F800000},
     true,
     {0x3F800000, 0x3F800001},
     0x34100000,
     0x3410,
     0x0002},
    {"aiter-fp8-128,accumulate=mul_add",
     2,
     {0xB9, 0x39},
     {0x3F800000, 0x3F800000},
     true,
     {0x3F800000, 0x3F800001},
     0x34000000,
     0x3400,
     0x0002},
    /* NaN is canonical whatever made it: a code, a byte, Inf - Inf, 0 * Inf; its sign is dropped */
    {"mxfp8", 1, {0xFF}, {127}, false, {0}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"mxfp8", 2, {0x38, 0xB8}, {127, 0xFF}, false, {0}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"aiter-fp8-128", 1, {0x38}, {0xFFC12345}, false, {0}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"aiter-fp8-128",
     2,
     {0x38, 0xB8},
     {0x7F800000, 0x7F800000},
     false,
     {0},
     0x7FC00000,
     0x7FC0,
     0x7E00},
    {"aiter-fp8-128", 1, {0x80}, {0x7F800000}, false, {0}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"aiter-fp8-128", 1, {0x38}, {0x3F800000}, true, {0xFFC00001}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"aiter-fp8-128", 1, {0xB8}, {0x7F800000}, false, {0}, 0xFF800000, 0xFF80, 0xFC00},
    /* E8M0 edges: 00 is 2^-127 or 0, FF is NaN or Inf */
    {"mxfp8", 1, {0x38}, {0x00}, false, {0}, 0x00400000, 0x0040, 0x0000},
    {"mxfp8", 1, {0x01}, {0x00}, false, {0}, 0x00002000, 0x0000, 0x0000},
    {"aiter-mxfp8", 1, {0xB8}, {0x00}, false, {0}, 0x00000000, 0x0000, 0x0000},
    {"aiter-mxfp8", 1, {0xB8}, {0xFF}, false, {0}, 0xFF800000, 0xFF80, 0xFC00},
    {"aiter-mxfp8", 1, {0x00}, {0xFF}, false, {0}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"mxfp8", 1, {0x7E}, {0xFE}, false, {0}, 0x7F800000, 0x7F80, 0x7C00},
    /* 448 * 2^127 overflows before a small weight could bring it back */
    {"mxfp8", 1, {0x7E}, {0xFE}, true, {0x3A800000}, 0x7F800000, 0x7F80, 0x7C00},
    /* marker: -2 is a scaled row (by 2), +2 and -0.0 and NaN an unscaled one */
    {"mori-fp8", 1, {0x38}, {0xC0000000}, false, {0}, 0x40000000, 0x4000, 0x4000},
    {"mori-fp8", 1, {0x38}, {0x40000000}, false, {0}, 0x3F800000, 0x3F80, 0x3C00},
    {"mori-fp8", 1, {0x38}, {0x80000000}, false, {0}, 0x3F800000, 0x3F80, 0x3C00},
    {"mori-fp8", 1, {0x38}, {0xFFC00000}, false, {0}, 0x3F800000, 0x3F80, 0x3C00},
    {"mori-fp8", 2, {0x38, 0x38}, {0xC0000000, 0x40000000}, false, {0}, 0x40400000, 0x4040, 0x4200},
    {"mori-fp8",
     2,
     {0x38, 0x38},
     {0xC0000000, 0x40000000},
     true,
     {0x40400000, 0x3F000000},
     0x40D00000,
     0x40D0,
     0x4680}, /* 2*3 + 1*0.5 */
    /* no scales at all */
    {"mori-fp8-direct", 2, {0x40, 0x30}, {0}, false, {0}, 0x40200000, 0x4020, 0x4100},
    {"mori-fp8-direct",
     2,
     {0x40, 0x30},
     {0},
     true,
     {0x40000000, 0x3F800000},
     0x40900000,
     0x4090,
     0x4480},
    /* missing sources; the sum of nothing, and of -0 alone, is +0.0 */
    {"mxfp8", 0, {0}, {0}, false, {0}, 0x00000000, 0, 0},
    {"mxfp8", 2, {MISSING, MISSING}, {0}, true, {0x7FC00000, 0x7FC00000}, 0x00000000, 0, 0},
    {"mxfp8", 1, {0x80}, {127}, false, {0}, 0x00000000, 0, 0},
    {"mxfp8",
     3,
     {MISSING, 0x38, MISSING},
     {127, 127, 127},
     true,
     {0x7FC00000, 0x40000000, 0x7F800000},
     0x40000000,
     0x4000,
     0x4000},
    /* the last step rounds to nearest even: 1 + 2^-8 is a tie of bf16, 3 * 2^-8 above 1 the other */
    {"aiter-fp8-128", 1, {0x38}, {0x3F808000}, false, {0}, 0x3F808000, 0x3F80, 0x3C04},
    {"aiter-fp8-128", 1, {0x38}, {0x3F818000}, false, {0}, 0x3F818000, 0x3F82, 0x3C0C},
    {"aiter-fp8-128", 1, {0x38}, {0x3F801000}, false, {0}, 0x3F801000, 0x3F80, 0x3C00},
    {"aiter-fp8-128", 1, {0x38}, {0x3F803000}, false, {0}, 0x3F803000, 0x3F80, 0x3C02},
    {"aiter-fp8-128", 1, {0x38}, {0x477FEFFF}, false, {0}, 0x477FEFFF, 0x4780, 0x7BFF},
    {"aiter-fp8-128", 1, {0x38}, {0x477FF000}, false, {0}, 0x477FF000, 0x4780, 0x7C00},
    {"aiter-fp8-128", 1, {0x38}, {0x7F7FFFFF}, false, {0}, 0x7F7FFFFF, 0x7F80, 0x7C00},
};

START_TEST(test_by_hand) {
  for (int i = 0; i < IMPLS; i++) {
    for (size_t t = 0; t < sizeof hand_cases / sizeof hand_cases[0]; t++) {
      const struct hand_case *h = &hand_cases[t];
      const uint32_t want[3] = {h->f32, h->bf16, h->f16};
      for (size_t d = 0; d < 3; d++) {
        const uint32_t got = one_column(&impls[i], h->recipe, dtypes[d], h->top_k, h->codes,
                                        h->scales, h->weighted ? h->weights : NULL);
        if (got != want[d])
          ck_abort_msg("%s %s: case %zu to %s: %X, want %X", impls[i].name, h->recipe, t,
                       dtype_name(dtypes[d]), got, want[d]);
      }
    }
  }
}
END_TEST

/* A segment of one odd column of FP4, which shares its byte with the column before it. */
START_TEST(test_odd_segment) {
  const mxg_recipe recipe = recipe_of("mxfp4");
  const mxg_layout_options options = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 3, 0, 0, 0, 0, {0}};
  for (int i = 0; i < IMPLS; i++) {
    /* 1 2 3 4 6 | scale 1 | three weights that nobody reads */
    uint8_t slot[3 + 1 + 12] = {0x42, 0x65, 0x07, 0x7F};
    memset(slot + 4, 0xFF, 12);
    const void *const slots[1] = {slot};
    uint16_t y[5];
    mxg_layout layout;
    ck_assert_int_eq(impls[i].layout_for(&recipe, 1, 5, &options, &layout), MXG_OK);
    ck_assert_uint_eq(layout.slot_bytes, sizeof slot);
    memset(y, 0xA5, sizeof y);
    const mxg_matrix out = {y, MXG_DTYPE_BF16, 1, 5, 0};
    ck_assert_int_eq(impls[i].combine(&recipe, slots, 1, NULL, &layout, 3, 4, &out, NULL), MXG_OK);
    static const uint16_t third[5] = {0xA5A5, 0xA5A5, 0xA5A5, 0x4080, 0xA5A5};
    expect_bytes(y, third, sizeof y, "%s: columns 3 to 4", impls[i].name);
    ck_assert_int_eq(impls[i].combine(&recipe, slots, 1, NULL, &layout, 4, 5, &out, NULL), MXG_OK);
    ck_assert_int_eq(impls[i].combine(&recipe, slots, 1, NULL, &layout, 1, 3, &out, NULL), MXG_OK);
    ck_assert_int_eq(impls[i].combine(&recipe, slots, 1, NULL, &layout, 2, 2, &out, NULL), MXG_OK);
    static const uint16_t four[5] = {0xA5A5, 0x4000, 0x4040, 0x4080, 0x40C0};
    expect_bytes(y, four, sizeof y, "%s: columns 1 to 5", impls[i].name);
  }
}
END_TEST

CHECK_MAIN("combine", test_by_hand, test_odd_segment, test_presets, test_random_recipes,
           test_threads, test_fma_against_libm)
