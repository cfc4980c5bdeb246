/* test_scale_blocks.c: scales of blocks of two values, E8M0 and f32, and the codes that come of them
 * (sections 4 and 5): library = golden model = oracle.
 * SPDX-License-Identifier: MIT */
#include "check_main.h"
#include "element_inputs.h"
#include "impl.h"
#include "oracle_map.h"
#include "recipes.h"
#include "thin.h"

enum { HALVES = 65536, RULES = 7 };

/* Pairs (a, smaller b) as blocks of two: a is every bf16 (stepping `step`), b a scrambled f32. */
static size_t fill_pairs(float *x, uint32_t step) {
  size_t pairs = 0;
  for (uint32_t i = 0; i < HALVES; i += step) {
    const uint32_t a = i << 16;
    uint32_t b = (i * 2654435761u) ^ 0x5BD1E995u;
    const uint32_t exponent = a >> 23 & 255, drop = b >> 24 & 15;
    if ((a & 0x7FFFFFFF) < ORACLE_INF) /* some magnitude within 2^-16 of a */
      b = (b & 0x807FFFFF) | (exponent > drop ? exponent - drop : 0) << 23;
    x[2 * pairs] = float_of(i % 2 ? a : b);
    x[2 * pairs + 1] = float_of(i % 2 ? b : a);
    pairs++;
  }
  return pairs;
}

static uint32_t amax_of_pair(const float *pair) {
  const uint32_t a = bits_of(pair[0]) & 0x7FFFFFFF, b = bits_of(pair[1]) & 0x7FFFFFFF;
  return a > b ? a : b; /* a NaN is above all, and propagates */
}

static float pair_values[2 * HALVES];
static uint8_t pair_codes[2 * HALVES];

static mxg_packed quantize_pairs(const impl *which, const mxg_recipe *recipe, size_t pairs,
                                 void *scales, size_t scales_capacity) {
  const mxg_matrix_view x = {pair_values, MXG_DTYPE_F32, 1, 2 * pairs, 0};
  mxg_packed out = {pair_codes, sizeof pair_codes, scales, scales_capacity, {0}};
  ck_assert_int_eq(which->layout_for(recipe, 1, 2 * pairs, NULL, &out.layout), MXG_OK);
  ck_assert_int_eq(which->quantize(recipe, &x, NULL, &out, NULL), MXG_OK);
  return out;
}

START_TEST(e8m0_blocks) {
  static uint8_t scales[HALVES];
  oracle_init();
  for (int e = 0; e < ELEMENTS; e++) {
    const size_t pairs = fill_pairs(pair_values, 3 * thin() * thin());
    for (int rule = 1; rule <= RULES; rule++) {
      for (int edges = 1; edges <= 2; edges++) {
        mxg_recipe recipe = e8m0_recipe(element_at(e), (mxg_rule)rule, 2);
        const oracle_encoding how = oracle_encoding_of(&recipe);
        recipe.edges = (mxg_edges)edges;
        for (int i = 0; i < IMPLS; i++) {
          quantize_pairs(&impls[i], &recipe, pairs, scales, sizeof scales);
          for (size_t n = 0; n < 2 * pairs; n++) {
            const uint8_t byte = oracle_e8m0_of(&recipe, amax_of_pair(pair_values + n / 2 * 2));
            const uint8_t want = oracle_e8m0_encode(&how, oracle_edges_of(recipe.edges), byte,
                                                    bits_of(pair_values[n]));
            const uint8_t code = packed_code(recipe.element, pair_codes, n);
            if (scales[n / 2] != byte || code != want)
              ck_abort_msg(
                  "%s %s: %08X in a block with amax %08X: scale %02X code %02X, oracle "
                  "%02X %02X",
                  impls[i].name, recipe_text(&recipe), (unsigned)bits_of(pair_values[n]),
                  (unsigned)amax_of_pair(pair_values + n / 2 * 2), scales[n / 2], code, byte, want);
          }
        }
      }
    }
  }
}
END_TEST

/* An f32 scale as it lies in memory: little-endian on every host. */
static uint32_t stored_scale(const uint8_t *scales, size_t index) {
  const uint8_t *s = scales + 4 * index;
  return (uint32_t)s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
}

static uint8_t pair_scales[4 * HALVES];

static void check_f32_pairs(const mxg_recipe *recipe, size_t pairs) {
  const oracle_encoding how = oracle_encoding_of(recipe);
  const oracle_f32_rule rule = oracle_f32_rule_of(recipe);
  for (int i = 0; i < IMPLS; i++) {
    quantize_pairs(&impls[i], recipe, pairs, pair_scales, sizeof pair_scales);
    for (size_t n = 0; n < 2 * pairs; n++) {
      const uint32_t amax = amax_of_pair(pair_values + n / 2 * 2), x = bits_of(pair_values[n]);
      int scaled = 0;
      const uint32_t s = oracle_f32_scale(&rule, &how, amax, &scaled);
      const uint32_t stored = stored_scale(pair_scales, n / 2);
      const uint8_t want = oracle_f32_encode(&rule, &how, amax, x);
      const uint8_t code = packed_code(recipe->element, pair_codes, n);
      if (stored != s || code != want)
        ck_abort_msg(
            "%s %s: %08X in a block with amax %08X: scale %08X code %02X, oracle %08X "
            "%02X",
            impls[i].name, recipe_text(recipe), (unsigned)x, (unsigned)amax, (unsigned)stored, code,
            (unsigned)s, want);
    }
  }
}

START_TEST(f32_blocks) {
  oracle_init();
  for (int e = 0; e < ELEMENTS; e++) {
    const int is_main = element_at(e) == MXG_ELEMENT_E4M3FN;
    const size_t pairs = fill_pairs(pair_values, (is_main ? 1 : 9) * thin() * thin());
    for (int kind = 0; kind < 2 * 2 * 3 * 2; kind++) {
      mxg_recipe recipe = f32_recipe(element_at(e), (mxg_scale_math)(1 + kind % 2),
                                     (mxg_apply)(1 + kind / 2 % 3), 2);
      recipe.scale_when = (mxg_scale_when)(1 + kind / 6 % 2);
      recipe.zero_block = (mxg_zero_block)(1 + kind / 12);
      check_f32_pairs(&recipe, pairs);
    }
    const size_t few = fill_pairs(pair_values, 31 * thin());
    for (int kind = 0; kind < 12; kind++) {
      mxg_recipe recipe = f32_recipe(element_at(e), (mxg_scale_math)(1 + kind % 2),
                                     (mxg_apply)(1 + kind / 2 % 3), 2);
      recipe.scale_when = (mxg_scale_when)(1 + kind / 6);
      recipe.element_max = 4.7f;
      recipe.zero_block = MXG_ZERO_BLOCK_COMPUTE;
      if (element_at(e) <= MXG_ELEMENT_E5M2FNUZ) recipe.overflow = MXG_OVERFLOW_NONFINITE;
      check_f32_pairs(&recipe, few);
    }
  }
}
END_TEST

/* The scale that a block of one 1.0 gets by multiplication is fl(1 / max) itself. */
START_TEST(ReciprocalConstants) {
  static const struct {
    mxg_element element;
    float max;
    uint32_t reciprocal;
  } cases[] = {{MXG_ELEMENT_E4M3FN, 0.0f, 0x3B124925},
               {MXG_ELEMENT_E4M3FNUZ, 0.0f, 0x3B888889},
               {MXG_ELEMENT_E4M3FN, 240.0f, 0x3B888889},
               {MXG_ELEMENT_E2M1, 0.0f, 0x3E2AAAAB}};
  oracle_init();
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    mxg_recipe recipe = f32_recipe(cases[c].element, MXG_SCALE_MATH_MUL, MXG_APPLY_DIV, 2);
    recipe.element_max = cases[c].max;
    pair_values[0] = 1.0f;
    pair_values[1] = -1.0f;
    check_f32_pairs(&recipe, 1);
    ck_assert_uint_eq(stored_scale(pair_scales, 0), cases[c].reciprocal);
  }
}
END_TEST

/* Maxima whose reciprocal lies so close above a midpoint that a quotient of 39 bits shows a tie: what
 * is left of the division decides. */
START_TEST(ReciprocalNearTies) {
  unsigned found = 0;
  oracle_init();
  for (uint64_t m = 0x800001; m < 0x1000000; m += thin()) {
    const uint64_t quotient = ((uint64_t)1 << 62) / m;
    if ((quotient & 0xFFFF) != 0x4000) continue;
    mxg_recipe recipe = f32_recipe(MXG_ELEMENT_E4M3FN, MXG_SCALE_MATH_MUL, MXG_APPLY_DIV, 2);
    recipe.element_max = (float)m * 0x1p-23f;
    pair_values[0] = 1.0f;
    pair_values[1] = -1.0f;
    check_f32_pairs(&recipe, 1);
    found++;
  }
  ck_assert_uint_gt(found, 0);
}
END_TEST

/* amax == max is not above max: a plain cast, seen in the marker where s would be 1 as well. */
START_TEST(AboveMaxIsStrict) {
  oracle_init();
  for (int e = 0; e < ELEMENTS; e++) {
    for (int with_max = 0; with_max < 2; with_max++) {
      mxg_recipe recipe = f32_recipe(element_at(e), MXG_SCALE_MATH_DIV, MXG_APPLY_MUL_MAX, 2);
      recipe.scale_when = MXG_SCALE_WHEN_ABOVE_MAX;
      recipe.marker = MXG_MARKER_IF_SCALED;
      recipe.element_max = with_max ? 5.0f : 0.0f;
      const uint32_t max =
          with_max ? bits_of(5.0f) : oracle_format_max(oracle_format_of(recipe.element));
      for (int i = 0; i < IMPLS; i++) {
        pair_values[0] = 0.0f;
        for (uint32_t bits = max - 1; bits <= max + 1; bits++) {
          pair_values[1] = -float_of(bits);
          quantize_pairs(&impls[i], &recipe, 1, pair_scales, sizeof pair_scales);
          const uint32_t want = bits <= max ? bits_of(1.0f) : 0x80000000u | oracle_div(bits, max);
          ck_assert_uint_eq(stored_scale(pair_scales, 0), want);
        }
      }
    }
  }
}
END_TEST

/* amax * fl(1 / 448) and amax / 448 are 1 ulp apart for 17,468 of the 32,512 normal bf16 amax. */
START_TEST(MulAgainstDiv) {
  static uint8_t by_mul[4 * HALVES], by_div[4 * HALVES];
  oracle_init();
  size_t count = 0;
  for (uint32_t i = 0x0080; i < 0x7F80; i++) {
    pair_values[2 * count] = float_of(i << 16);
    pair_values[2 * count + 1] = 0.0f;
    count++;
  }
  ck_assert_uint_eq(count, 32512);
  for (int i = 0; i < IMPLS; i++) {
    const mxg_recipe mul = f32_recipe(MXG_ELEMENT_E4M3FN, MXG_SCALE_MATH_MUL, MXG_APPLY_DIV, 2);
    const mxg_recipe div = f32_recipe(MXG_ELEMENT_E4M3FN, MXG_SCALE_MATH_DIV, MXG_APPLY_DIV, 2);
    quantize_pairs(&impls[i], &mul, count, by_mul, sizeof by_mul);
    quantize_pairs(&impls[i], &div, count, by_div, sizeof by_div);
    unsigned differ = 0;
    for (size_t n = 0; n < count; n++) {
      const int64_t ulps = (int64_t)stored_scale(by_mul, n) - (int64_t)stored_scale(by_div, n);
      ck_assert_int_ge(ulps, -1);
      ck_assert_int_le(ulps, 1);
      differ += ulps != 0;
    }
    ck_assert_uint_eq(differ, 17468);
  }
}
END_TEST

CHECK_MAIN("scales of blocks", e8m0_blocks, f32_blocks, ReciprocalConstants, ReciprocalNearTies,
           AboveMaxIsStrict, MulAgainstDiv)
