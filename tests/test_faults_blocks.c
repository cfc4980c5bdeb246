/* test_faults_blocks.c: faults that shipped elsewhere, in blocks: zeros, NaN, ragged widths,
 * saturation; with the bytes that the law gives, written out by hand, on both implementations.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "check_main.h"
#include "known_blocks.h"
#include "recipes.h"
#include "values.h"

/* ---- AllZeroBlock ---- */

/* Checks one decoded zero block: zeros with the code's sign, or NaN where the law divides 0 by 0 */
static void expect_zeros(const impl *side, const mxg_recipe *recipe, const known *k,
                         const uint32_t *y, size_t count, int negative) {
  const double value = code_value(recipe->element, k->zero[negative]);
  const uint32_t want = isnan(value) ? CANONICAL_NAN : signbit(value) ? SIGN_BIT : 0;
  for (size_t i = 0; i < count; i++) expect_value(side, recipe, y[i], want, "decoded zero block");
}

static void all_zero_block(const impl *side, const known *k, mxg_dtype dtype) {
  static packed_small p;
  static uint32_t x[4 * 1024], y[4 * 1024];
  const mxg_recipe recipe = recipe_of(k->preset);
  const size_t b = recipe_block(&recipe), cols = 3 * b + b / 2;
  /* the first letter is block 0: 1 ones, + zeros, - negative zeros */
  static const char *const rows[4] = {"1+-1", "++++", "----", "-1+1"};
  for (size_t r = 0; r < 4; r++) {
    for (size_t block = 0; block < 4; block++) {
      const size_t from = r * cols + block * b, count = block < 3 ? b : b / 2;
      if (rows[r][block] == '1') fill_ones(x + from, count);
      if (rows[r][block] == '+') fill_with(x + from, count, 0);
      if (rows[r][block] == '-') fill_with(x + from, count, SIGN_BIT);
    }
  }
  quantize_small(side, &recipe, dtype, x, 4, cols, &p);
  dequantize_small(side, &recipe, &p, MXG_DTYPE_F32, y);
  for (size_t r = 0; r < 4; r++) {
    for (size_t c = 0; c < cols; c++) {
      const char letter = rows[r][c / b];
      const uint32_t *want = letter == '1' ? k->one : k->zero;
      const int negative = letter == '-' || (letter == '1' && c % b % 2 != 0);
      expect_code(side, &recipe, &p, r, c, want[negative], rows[r]);
      if (c % b == 0) {
        const uint32_t scale = letter == '1' ? k->one_scale : k->zero_scale;
        const uint32_t mark = c == 0 && k->marker == MARK_ALWAYS ? SIGN_BIT : 0;
        expect_scale(side, &recipe, &p, r, c / b, scale ^ mark, rows[r]);
      }
      const uint32_t *value = &y[r * cols + c];
      if (letter != '1') {
        expect_zeros(side, &recipe, k, value, 1, negative);
      } else if (recipe.scale == MXG_SCALE_E8M0) {
        expect_value(side, &recipe, *value, (uint32_t)ONE | (negative ? SIGN_BIT : 0), "one");
      } else if (fabs(fabs((double)float_of(*value)) - 1) > 1e-6) {
        ck_abort_msg("%s %s: one decodes to %08X", side->name, k->preset, *value);
      }
    }
  }
}

START_TEST(test_AllZeroBlock) {
  for (int i = 0; i < IMPLS; i++)
    for (size_t k = 0; k < KNOWNS; k++)
      for (size_t d = 0; d < 3; d++) all_zero_block(&impls[i], &knowns[k], dtypes[d]);
}
END_TEST

/* ---- SaturateAfterScale ---- */

/* a block of one value: the scale's byte, the code, and what decodes */
static const struct saturate_case {
  const char *recipe;
  uint32_t x, scale, code, value;
} saturate_cases[] = {
    {"mxfp8", 0x3FF33333, 0x77, 0x7E, 0x3FE00000},      /* 1.9 * 256 = 486.4: 448 */
    {"mxfp8", 0x3FE00001, 0x77, 0x7E, 0x3FE00000},      /* one ulp above 1.75 */
    {"mxfp8", 0x3FFFFFFF, 0x77, 0x7E, 0x3FE00000},      /* just under 2 */
    {"mxfp8-e5m2", 0x3FF33333, 0x70, 0x7B, 0x3FE00000}, /* 62259: 57344 */
    {"mxfp8-e5m2", 0x3FFFFFFF, 0x70, 0x7B, 0x3FE00000},
    {"mxfp4", 0x3FF33333, 0x7D, 0x7, 0x3FC00000},                   /* 7.6: 6 */
    {"mxfp6-e2m3", 0x3FFFFFFF, 0x7D, 0x1F, 0x3FF00000},             /* 8: 7.5 */
    {"mxfp6-e3m2", 0x3FF33333, 0x7B, 0x1F, 0x3FE00000},             /* 30.4: 28 */
    {"mxfp8,element=e4m3fnuz", 0x3FFFFFFF, 0x78, 0x7F, 0x3FF00000}, /* 256: 240 */
    {"mxfp8,element=e5m2fnuz", 0x3FFFFFFF, 0x70, 0x7F, 0x3FE00000},
    {"mxfp8,element_max=240", 0x3FF33333, 0x77, 0x77, 0x3F700000}, /* the clamp, not the scale */
    /* the clamp is the recipe's doing: without it the same element overflows */
    {"mxfp8,overflow=nonfinite", 0x3FF33333, 0x77, 0x7F, 0x7FC00000},
    {"mxfp8,overflow=saturate_finite", 0x3FF33333, 0x77, 0x7E, 0x3FE00000},
    /* Triton's addend moves the threshold to 1.75: nothing finite overflows there */
    {"aiter-mxfp8-triton", 0x3FDFFFFF, 0x77, 0x7E, 0x3FE00000},
    {"aiter-mxfp8-triton", 0x3FE00000, 0x78, 0x76, 0x3FE00000},
    {"aiter-mxfp8-triton", 0x3FF33333, 0x78, 0x77, 0x3FF00000}, /* 243.2: 240 */
};

START_TEST(test_SaturateAfterScale) {
  static packed_small p;
  uint32_t x[32], y[32];
  for (int i = 0; i < IMPLS; i++) {
    for (size_t t = 0; t < sizeof saturate_cases / sizeof saturate_cases[0]; t++) {
      const struct saturate_case *s = &saturate_cases[t];
      const mxg_recipe recipe = recipe_of(s->recipe);
      const uint32_t minus = mxg_element_traits(recipe.element).sign_bit;
      for (size_t e = 0; e < 32; e++) x[e] = s->x | (e % 2 != 0 ? SIGN_BIT : 0);
      quantize_small(&impls[i], &recipe, MXG_DTYPE_F32, x, 1, 32, &p);
      dequantize_small(&impls[i], &recipe, &p, MXG_DTYPE_F32, y);
      expect_scale(&impls[i], &recipe, &p, 0, 0, s->scale, "saturation");
      for (size_t e = 0; e < 32; e++) {
        const bool negative = e % 2 != 0;
        expect_code(&impls[i], &recipe, &p, 0, e, s->code | (negative ? minus : 0), "saturation");
        const uint32_t sign = negative && s->value != CANONICAL_NAN ? SIGN_BIT : 0;
        expect_value(&impls[i], &recipe, y[e], s->value | sign, "saturation");
      }
    }
  }
}
END_TEST

/* ---- NanBlock ---- */

/* [ones | ones with a NaN at `nan`, an Inf at `inf` (or none: SIZE_MAX) | ones] */
static void nan_block(const impl *side, const known *k, mxg_dtype dtype, size_t nan, bool nan_minus,
                      size_t inf, bool inf_minus) {
  static packed_small p;
  static uint32_t x[3 * 256], y[3 * 256];
  const mxg_recipe recipe = recipe_of(k->preset);
  const size_t b = recipe_block(&recipe), cols = 3 * b;
  const bool with_inf = inf != SIZE_MAX;
  fill_ones(x, cols);
  x[b + nan] = (uint32_t)POSITIVE_NAN | 0x2000u | (nan_minus ? SIGN_BIT : 0);
  if (with_inf) x[b + inf] = (uint32_t)POSITIVE_INF | (inf_minus ? SIGN_BIT : 0);
  quantize_small(side, &recipe, dtype, x, 1, cols, &p);
  const char *what = with_inf ? "a NaN beside an Inf" : "one NaN";
  const uint32_t scale = with_inf ? k->inf_scale : k->nan_scale;
  const bool scaled = k->marker == MARK_IF_SCALED && scale != (uint32_t)ONE;
  const uint32_t mark = k->marker == MARK_ALWAYS || scaled ? SIGN_BIT : 0;
  expect_scale(side, &recipe, &p, 0, 0, k->one_scale ^ mark, what);
  expect_scale(side, &recipe, &p, 0, 1, scale, what);
  expect_scale(side, &recipe, &p, 0, 2, k->one_scale, what);
  for (size_t c = 0; c < cols; c++) {
    const bool inside = c / b == 1;
    const uint32_t *want = inside ? (with_inf ? k->inf_one : k->nan_one) : k->one;
    bool negative = c % 2 != 0;
    if (inside && c - b == nan) {
      want = with_inf ? k->inf_nan : k->nan;
      negative = nan_minus;
    } else if (inside && with_inf && c - b == inf) {
      want = k->inf;
      negative = inf_minus;
    }
    expect_code(side, &recipe, &p, 0, c, want[negative ? 1 : 0], what);
  }
  dequantize_small(side, &recipe, &p, MXG_DTYPE_F32, y);
  for (size_t c = 0; c < cols; c++) {
    if (c / b == 1) continue;
    if (fabs(fabs((double)float_of(y[c])) - 1) > 1e-6)
      ck_abort_msg("%s %s: %s: a neighbour block decodes to %08X", side->name, k->preset, what,
                   y[c]);
  }
}

START_TEST(test_NanBlock) {
  for (size_t n = 0; n < KNOWNS * IMPLS * 3; n++) {
    const known *k = &knowns[n / IMPLS / 3];
    const impl *side = &impls[n / 3 % IMPLS];
    const mxg_dtype dtype = dtypes[n % 3];
    const mxg_recipe recipe = recipe_of(k->preset);
    const size_t b = recipe_block(&recipe);
    const size_t places[3] = {0, b / 2, b - 1};
    for (size_t at = 0; at < 3; at++) {
      for (int signs = 0; signs < 4; signs++) {
        const bool nan_minus = (signs & 1) != 0, inf_minus = (signs & 2) != 0;
        nan_block(side, k, dtype, places[at], nan_minus, SIZE_MAX, false);
        nan_block(side, k, dtype, places[at], nan_minus, places[(at + 1) % 3], inf_minus);
        nan_block(side, k, dtype, places[at], nan_minus, places[(at + 2) % 3], inf_minus);
      }
    }
  }
}
END_TEST

/* ---- BlockWidth ---- */

/* 128 of +-1 and then 32 of 1000: the short block has a scale of its own */
static const struct width_case {
  const char *recipe;
  uint32_t scale[2], one, thousand;
} width_cases[] = {
    {"aiter-fp8-128", {0x3B124925, 0x400EDB6E}, 0x7E, 0x7E},
    {"sglang-fp8-128", {0x3B124925, 0x400EDB6E}, 0x7E, 0x7E},
    {"deepseek-fp8-128", {0x3B124925, 0x400EDB6E}, 0x7E, 0x7E},
    {"deepseek-fp8-128-triton", {0x3B124925, 0x400EDB6E}, 0x7E, 0x7E},
    {"sglang-fp8-128-triton", {0x3B124925, 0x400EDB6E}, 0x7E, 0x7E},
    {"mori-fp8", {0xBF800000, 0x400EDB6E}, 0x38, 0x7E},
    {"mori-fp8-fnuz", {0xBF800000, 0x40855556}, 0x40, 0x7F},
    {"mori-fp8-epv2", {0xBF800000, 0x40855555}, 0x38, 0x77},
    {"mori-fp4", {0xBE2AAAAB, 0x4326AAAB}, 0x7, 0x7},
    {"mori-fp4-256", {0xC326AAAB, 0}, 0x0, 0x7},       /* one block, shorter than 256 */
    {"mxfp8,block=128", {0x77, 0x80}, 0x78, 0x7E},     /* 1000 / 2^1 = 500: clamped */
    {"aiter-mxfp4,block=128", {0x7D, 0x87}, 0x6, 0x6}, /* 1000 / 2^8 = 3.9: 4 */
};

START_TEST(test_BlockWidth) {
  static packed_small p;
  uint32_t x[161], y[161];
  for (int i = 0; i < IMPLS; i++) {
    for (size_t t = 0; t < sizeof width_cases / sizeof width_cases[0]; t++) {
      for (size_t cols = 160; cols <= 161; cols++) {
        const struct width_case *w = &width_cases[t];
        const mxg_recipe recipe = recipe_of(w->recipe);
        fill_ones(x, 128);
        fill_with(x + 128, cols - 128, 0x447A0000);
        quantize_small(&impls[i], &recipe, MXG_DTYPE_F32, x, 1, cols, &p);
        const size_t used = recipe.block == 256 ? 1 : 2;
        ck_assert_uint_eq(p.layout.scales_used, used);
        for (size_t s = 0; s < used; s++)
          expect_scale(&impls[i], &recipe, &p, 0, s, w->scale[s], "160 columns");
        const uint32_t minus = mxg_element_traits(recipe.element).sign_bit;
        for (size_t c = 0; c < cols; c++)
          expect_code(&impls[i], &recipe, &p, 0, c,
                      c >= 128 ? w->thousand : w->one | (c % 2 != 0 ? minus : 0), "160 columns");
        if (recipe.element == MXG_ELEMENT_E2M1 && cols == 161)
          ck_assert_uint_eq(p.codes[80] >> 4, 0); /* the odd row's last high nibble */
        dequantize_small(&impls[i], &recipe, &p, MXG_DTYPE_F32, y);
        ck_assert_msg(fabs((double)float_of(y[cols - 1]) - 1000) <= 104, "%s: last element %g",
                      w->recipe, (double)float_of(y[cols - 1]));
      }
    }
  }
}
END_TEST

CHECK_MAIN("faults in blocks", test_AllZeroBlock, test_SaturateAfterScale, test_NanBlock,
           test_BlockWidth)
