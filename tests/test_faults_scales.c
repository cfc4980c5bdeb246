/* test_faults_scales.c: faults that shipped elsewhere, in scales: the floor of amax, bad stored
 * scales, the edges of E8M0; with the bytes that the law gives, on both implementations.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "check_main.h"
#include "known_blocks.h"
#include "recipes.h"
#include "values.h"

/* ---- AmaxFloor ---- */

/* amax 0, 1e-11, 9.9e-11, 1.0e-10, 1.01e-10 and, to see amax win, 2e-10 */
static const uint32_t floor_amax[6] = {0x00000000, 0x2D2FEBFF, 0x2ED9B40C,
                                       0x2EDBE6FF, 0x2EDE19F2, 0x2F5BE6FF};
static const struct floor_case {
  const char *recipe;
  uint32_t scale[6], code[6];
} floor_cases[] = {
    /* 1e-10 / 6 lies in (2^-36, 2^-35]: byte 92 */
    {"aiter-mxfp4", {0x5C, 0x5C, 0x5C, 0x5C, 0x5C, 0x5D}, {0x0, 0x1, 0x5, 0x5, 0x5, 0x5}},
    {"aiter-mxfp8", {0x55, 0x55, 0x55, 0x55, 0x55, 0x56}, {0x00, 0x63, 0x7E, 0x7E, 0x7E, 0x7E}},
    {"aiter-mxfp8-fnuz",
     {0x56, 0x56, 0x56, 0x56, 0x56, 0x57},
     {0x00, 0x63, 0x7E, 0x7E, 0x7E, 0x7E}},
    {"aiter-fp8-128",
     {0x2A7B5124, 0x2A7B5124, 0x2A7B5124, 0x2A7B5124, 0x2A7DD483, 0x2AFB5124},
     {0x00, 0x63, 0x7E, 0x7E, 0x7E, 0x7E}},
    {"sglang-fp8-128",
     {0x2A7B5124, 0x2A7B5124, 0x2A7B5124, 0x2A7B5124, 0x2A7DD483, 0x2AFB5124},
     {0x00, 0x63, 0x7E, 0x7E, 0x7E, 0x7E}},
    {"sglang-fp8-128-triton",
     {0x2A7B5124, 0x2A7B5124, 0x2A7B5124, 0x2A7B5124, 0x2A7DD483, 0x2AFB5124},
     {0x00, 0x63, 0x7E, 0x7E, 0x7E, 0x7E}},
    /* no floor: 1e-11 has exponent field 90 */
    {"mxfp4", {0x00, 0x58, 0x5B, 0x5B, 0x5B, 0x5C}, {0x0, 0x7, 0x7, 0x7, 0x7, 0x7}},
};

START_TEST(test_AmaxFloor) {
  static packed_small p;
  static uint32_t x[256];
  size_t floors = 0;
  for (const mxg_preset *preset = NULL; (preset = mxg_preset_at(floors)) != NULL; floors++) {
    if (!(preset->recipe.amax_floor > 0)) continue;
    ck_assert_uint_eq(bits_of(preset->recipe.amax_floor), 0x2EDBE6FFu);
    bool found = false;
    for (size_t t = 0; t < sizeof floor_cases / sizeof floor_cases[0]; t++)
      found = found || strcmp(floor_cases[t].recipe, preset->name) == 0;
    if (!found) ck_abort_msg("preset %s has a floor and no case here", preset->name);
  }
  for (int i = 0; i < IMPLS; i++) {
    for (size_t t = 0; t < sizeof floor_cases / sizeof floor_cases[0]; t++) {
      const struct floor_case *f = &floor_cases[t];
      const mxg_recipe recipe = recipe_of(f->recipe);
      const size_t b = recipe_block(&recipe);
      for (size_t a = 0; a < 12; a++) {
        const bool negative = a >= 6;
        fill_with(x, b, 0);
        x[b / 2] = floor_amax[a % 6] | (negative ? SIGN_BIT : 0);
        quantize_small(&impls[i], &recipe, MXG_DTYPE_F32, x, 1, b, &p);
        const uint32_t code = f->code[a % 6];
        const uint32_t minus = recipe.element == MXG_ELEMENT_E2M1 ? 0x8u : 0x80u;
        const bool no_minus_zero = recipe.element == MXG_ELEMENT_E4M3FNUZ && code == 0;
        expect_scale(&impls[i], &recipe, &p, 0, 0, f->scale[a % 6], "amax at the floor");
        expect_code(&impls[i], &recipe, &p, 0, b / 2,
                    code | (negative && !no_minus_zero ? minus : 0), "amax at the floor");
      }
    }
  }
}
END_TEST

/* ---- DecodeBadScale ---- */

static const uint32_t bad_scales[6] = {0x00000000, 0x80000000, 0x7F800000,
                                       0xFF800000, 0x7FC00000, 0xFFC00001};
/* 1 * s, -1 * s, 0 * s */
static const uint32_t bad_products[3][6] = {
    {0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC00000},
    {0x80000000, 0x00000000, 0xFF800000, 0x7F800000, 0x7FC00000, 0x7FC00000},
    {0x00000000, 0x80000000, 0x7FC00000, 0x7FC00000, 0x7FC00000, 0x7FC00000}};
/* the same elements when s is block 0's of a marker recipe: scaled only by -Inf, as Inf */
static const uint32_t marked_products[3][6] = {
    {0x3F800000, 0x3F800000, 0x3F800000, 0x7F800000, 0x3F800000, 0x3F800000},
    {0xBF800000, 0xBF800000, 0xBF800000, 0xFF800000, 0xBF800000, 0xBF800000},
    {0x00000000, 0x00000000, 0x00000000, 0x7FC00000, 0x00000000, 0x00000000}};

/* f32 bits of 0, +-1, +-3, +-Inf, NaN as the type's */
static uint32_t narrowed(mxg_dtype dtype, uint32_t bits) {
  if (dtype == MXG_DTYPE_F32) return bits;
  if (dtype == MXG_DTYPE_F16 && bits == CANONICAL_NAN) return 0x7E00;
  return values_cut(dtype, bits);
}

START_TEST(test_DecodeBadScale) {
  static packed_small p;
  static uint32_t y[3 * 256];
  for (size_t n = 0; n < KNOWNS * IMPLS * 3; n++) {
    const known *k = &knowns[n / IMPLS / 3];
    const impl *side = &impls[n / 3 % IMPLS];
    const mxg_dtype dtype = dtypes[n % 3];
    const mxg_recipe recipe = recipe_of(k->preset);
    if (recipe.scale != MXG_SCALE_F32) continue;
    const bool marked = k->marker != MARK_NONE;
    const size_t b = recipe_block(&recipe);
    memset(&p, 0, sizeof p);
    ck_assert_int_eq(side->layout_for(&recipe, 1, 3 * b, NULL, &p.layout), MXG_OK);
    const uint32_t one = recipe.element == MXG_ELEMENT_E4M3FN     ? 0x38u
                         : recipe.element == MXG_ELEMENT_E4M3FNUZ ? 0x40u
                                                                  : 0x2u;
    const uint32_t minus = recipe.element == MXG_ELEMENT_E2M1 ? 0x8u : 0x80u;
    for (size_t block = 0; block < 3; block++) {
      code_put(recipe.element, p.codes, block * b, one);
      code_put(recipe.element, p.codes, block * b + 1, one | minus);
    }
    for (size_t s = 0; s < 6; s++) { /* in block 0 */
      scale_put(&recipe, p.scales, 0, bad_scales[s]);
      scale_put(&recipe, p.scales, 1, 0x40400000);
      scale_put(&recipe, p.scales, 2, 0xC0400000);
      dequantize_small(side, &recipe, &p, dtype, y);
      for (size_t e = 0; e < 3; e++)
        expect_value(side, &recipe, y[e],
                     narrowed(dtype, (marked ? marked_products : bad_products)[e][s]),
                     "bad scale in block 0");
      /* the other blocks: times 3 and -3, or unscaled with the row */
      const bool scaled = !marked || bad_scales[s] == 0xFF800000;
      expect_value(side, &recipe, y[b], narrowed(dtype, scaled ? 0x40400000 : (uint32_t)ONE),
                   "block 1 beside a bad scale");
      expect_value(side, &recipe, y[2 * b], narrowed(dtype, scaled ? 0xC0400000 : (uint32_t)ONE),
                   "block 2 beside a bad scale");
    }
    for (size_t s = 0; s < 6; s++) { /* in block 1 of a scaled row */
      scale_put(&recipe, p.scales, 0, marked ? 0xC0400000 : 0x40400000);
      scale_put(&recipe, p.scales, 1, bad_scales[s]);
      dequantize_small(side, &recipe, &p, dtype, y);
      expect_value(side, &recipe, y[0], narrowed(dtype, 0x40400000), "block 0, scaled by 3");
      for (size_t e = 0; e < 3; e++)
        expect_value(side, &recipe, y[b + e], narrowed(dtype, bad_products[e][s]),
                     "bad scale in block 1");
    }
  }
}
END_TEST

/* ---- E8M0Decode, in blocks: every code with the scale bytes 00, 01, FE, FF ---- */

/* value rounded to a binary format, as bits; NaN is the canonical one */
static uint32_t bits_for(mxg_dtype dtype, double value) {
  static const int mantissa[] = {0, 23, 10, 7}, lowest[] = {0, -126, -14, -126};
  static const uint32_t infinity[] = {0, 0x7F800000, 0x7C00, 0x7F80};
  static const uint32_t nans[] = {0, 0x7FC00000, 0x7E00, 0x7FC0};
  if (isnan(value)) return nans[dtype];
  const uint32_t sign = signbit(value) ? (dtype == MXG_DTYPE_F32 ? SIGN_BIT : 0x8000u) : 0;
  const double magnitude = fabs(value);
  if (isinf(magnitude)) return sign | infinity[dtype];
  if (!(magnitude > 0)) return sign;
  int exponent = ilogb(magnitude);
  if (exponent < lowest[dtype]) exponent = lowest[dtype];
  /* in units of the last place; a carry into the next binade or to infinity comes out right */
  const double units = rint(ldexp(magnitude, mantissa[dtype] - exponent));
  const double field = (double)(exponent - lowest[dtype]) * ldexp(1, mantissa[dtype]);
  const double bits = field + units;
  return sign | (bits >= infinity[dtype] ? infinity[dtype] : (uint32_t)bits);
}

START_TEST(test_E8M0Decode_blocks) {
  static const uint32_t bytes[4] = {0x00, 0x01, 0xFE, 0xFF};
  static packed_small p;
  static uint32_t y[4 * 256];
  for (size_t n = 0; n < 7 * 2 * IMPLS * 3; n++) {
    const impl *side = &impls[n % IMPLS];
    const mxg_dtype dtype = dtypes[n / IMPLS % 3];
    const mxg_edges edges = n / IMPLS / 3 % 2 != 0 ? MXG_EDGES_FLOAT : MXG_EDGES_OCP;
    mxg_recipe recipe = recipe_of("mxfp4,block=256");
    recipe.element = (mxg_element)(1 + n / IMPLS / 3 / 2);
    recipe.edges = edges;
    ck_assert_int_eq(mxg_recipe_check(&recipe, NULL), MXG_OK);
    memset(&p, 0, sizeof p);
    ck_assert_int_eq(side->layout_for(&recipe, 1, 4 * 256, NULL, &p.layout), MXG_OK);
    for (size_t s = 0; s < 4; s++) {
      p.scales[s] = (uint8_t)bytes[s];
      for (uint32_t code = 0; code < 256; code++)
        code_put(recipe.element, p.codes, s * 256 + code, code);
    }
    dequantize_small(side, &recipe, &p, dtype, y);
    const uint32_t code_mask = (1u << mxg_element_traits(recipe.element).bits) - 1;
    for (size_t s = 0; s < 4; s++) {
      double scale = ldexp(1, (int)bytes[s] - 127);
      if (bytes[s] == 0xFF) scale = edges == MXG_EDGES_OCP ? (double)NAN : (double)INFINITY;
      if (bytes[s] == 0x00 && edges == MXG_EDGES_FLOAT) scale = 0;
      for (uint32_t code = 0; code < 256; code++) {
        const double product = code_value(recipe.element, code & code_mask) * scale; /* exact */
        const double as_f32 = (double)(float)product; /* one rounding; 2^128 and more give Inf */
        const uint32_t want = bits_for(dtype, as_f32), got = y[s * 256 + code];
        if (got != want)
          ck_abort_msg("%s %s: byte %02X code %02X to %s: %X, want %X", side->name,
                       recipe_text(&recipe), bytes[s], code & code_mask, dtype_name(dtype), got,
                       want);
      }
    }
  }
}
END_TEST

CHECK_MAIN("faults in scales", test_AmaxFloor, test_DecodeBadScale, test_E8M0Decode_blocks)
