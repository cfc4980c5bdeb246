/* test_faults.c: faults that shipped elsewhere, each as a test with the bytes that the law gives,
 * written out by hand, on both implementations. faults.txt names the test of every kind of fault.
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <math.h>
#include <string.h>

#include "block_case.h"
#include "check_main.h"
#include "compare.h"
#include "guard.h"
#include "packed.h"
#include "recipes.h"

enum {
  ONE = 0x3F800000,
  POSITIVE_NAN = 0x7FC00000,
  POSITIVE_INF = 0x7F800000,
  SIGN = -0x7FFFFFFF - 1
};
#define SIGN_BIT 0x80000000u
#define CANONICAL_NAN 0x7FC00000u

typedef enum marks { MARK_NONE, MARK_IF_SCALED, MARK_ALWAYS } marks;

/* What each preset makes of four kinds of blocks: zeros; +-1; +-1 with one NaN; +-1 with one NaN
 * and one Inf. Codes of the positive and of the negative element. Scales as E8M0 bytes or f32 bits,
 * without the marker's sign. */
typedef struct known {
  const char *preset;
  marks marker;
  uint32_t zero_scale, zero[2];
  uint32_t one_scale, one[2];
  uint32_t nan_scale, nan[2], nan_one[2];
  uint32_t inf_scale, inf_one[2], inf[2], inf_nan[2];
} known;

static const known knowns[] = {
    {"mxfp8",
     MARK_NONE,
     0x00,
     {0x00, 0x80},
     0x77,
     {0x78, 0xF8},
     0xFF,
     {0x7F, 0xFF},
     {0x7F, 0xFF},
     0xFF,
     {0x7F, 0xFF},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
    {"mxfp8-e5m2",
     MARK_NONE,
     0x00,
     {0x00, 0x80},
     0x70,
     {0x78, 0xF8},
     0xFF,
     {0x7F, 0xFF},
     {0x7F, 0xFF},
     0xFF,
     {0x7F, 0xFF},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
    {"mxfp6-e2m3",
     MARK_NONE,
     0x00,
     {0x00, 0x20},
     0x7D,
     {0x18, 0x38},
     0xFF,
     {0x1F, 0x3F},
     {0x1F, 0x3F},
     0xFF,
     {0x1F, 0x3F},
     {0x1F, 0x3F},
     {0x1F, 0x3F}},
    {"mxfp6-e3m2",
     MARK_NONE,
     0x00,
     {0x00, 0x20},
     0x7B,
     {0x1C, 0x3C},
     0xFF,
     {0x1F, 0x3F},
     {0x1F, 0x3F},
     0xFF,
     {0x1F, 0x3F},
     {0x1F, 0x3F},
     {0x1F, 0x3F}},
    {"mxfp4",
     MARK_NONE,
     0x00,
     {0x0, 0x8},
     0x7D,
     {0x6, 0xE},
     0xFF,
     {0x7, 0xF},
     {0x7, 0xF},
     0xFF,
     {0x7, 0xF},
     {0x7, 0xF},
     {0x7, 0xF}},
    {"mxfp8-te",
     MARK_NONE,
     0x00,
     {0x00, 0x80},
     0x77,
     {0x78, 0xF8},
     0x77,
     {0x7F, 0xFF},
     {0x78, 0xF8},
     0xFE,
     {0x00, 0x80},
     {0x7E, 0xFE},
     {0x7F, 0xFF}},
    {"aiter-mxfp4",
     MARK_NONE,
     0x5C,
     {0x0, 0x8},
     0x7D,
     {0x6, 0xE},
     0x7D,
     {0x7, 0xF},
     {0x6, 0xE},
     0xFF,
     {0x0, 0x8},
     {0x7, 0xF},
     {0x7, 0xF}},
    {"aiter-mxfp4-triton",
     MARK_NONE,
     0x00,
     {0x0, 0x8},
     0x7D,
     {0x6, 0xE},
     0x7D,
     {0x7, 0xF},
     {0x6, 0xE},
     0xFE,
     {0x0, 0x8},
     {0x7, 0xF},
     {0x7, 0xF}},
    {"aiter-mxfp8",
     MARK_NONE,
     0x55,
     {0x00, 0x80},
     0x77,
     {0x78, 0xF8},
     0x77,
     {0xFE, 0xFE},
     {0x78, 0xF8},
     0xFF,
     {0x00, 0x80},
     {0xFE, 0xFE},
     {0xFE, 0xFE}},
    {"aiter-mxfp8-fnuz",
     MARK_NONE,
     0x56,
     {0x00, 0x00},
     0x78,
     {0x78, 0xF8},
     0x78,
     {0xFF, 0xFF},
     {0x78, 0xF8},
     0xFF,
     {0x00, 0x00},
     {0xFF, 0xFF},
     {0xFF, 0xFF}},
    {"aiter-mxfp8-triton",
     MARK_NONE,
     0x00,
     {0x00, 0x80},
     0x77,
     {0x78, 0xF8},
     0x77,
     {0x7F, 0xFF},
     {0x78, 0xF8},
     0xFE,
     {0x00, 0x80},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
    {"aiter-fp8-128",
     MARK_NONE,
     0x2A7B5124,
     {0x00, 0x80},
     0x3B124925,
     {0x7E, 0xFE},
     0x3B124925,
     {0xFE, 0xFE},
     {0x7E, 0xFE},
     0x7F800000,
     {0x00, 0x80},
     {0xFE, 0xFE},
     {0xFE, 0xFE}},
    {"sglang-fp8-128",
     MARK_NONE,
     0x2A7B5124,
     {0x00, 0x80},
     0x3B124925,
     {0x7E, 0xFE},
     0x3B124925,
     {0x7F, 0xFF},
     {0x7E, 0xFE},
     0x7F800000,
     {0x00, 0x80},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
    {"deepseek-fp8-128",
     MARK_NONE,
     0x00000000,
     {0x7F, 0xFF},
     0x3B124925,
     {0x7E, 0xFE},
     0x3B124925,
     {0x7F, 0xFF},
     {0x7E, 0xFE},
     0x7F800000,
     {0x00, 0x80},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
    {"deepseek-fp8-128-triton",
     MARK_NONE,
     0x00000000,
     {0x7F, 0xFF},
     0x3B124925,
     {0x7E, 0xFE},
     0x3B124925,
     {0x7F, 0xFF},
     {0x7E, 0xFE},
     0x7F800000,
     {0x00, 0x80},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
    {"sglang-fp8-128-triton",
     MARK_NONE,
     0x2A7B5124,
     {0x00, 0x80},
     0x3B124925,
     {0x7E, 0xFE},
     0x3B124925,
     {0x7F, 0xFF},
     {0x7E, 0xFE},
     0x7F800000,
     {0x00, 0x80},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
    {"megamoe-fp8-32",
     MARK_NONE,
     0x00,
     {0x00, 0x80},
     0x77,
     {0x78, 0xF8},
     0xFF,
     {0x7F, 0xFF},
     {0x00, 0x80},
     0xFF,
     {0x00, 0x80},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
    {"megamoe-act-fp8",
     MARK_NONE,
     0x00,
     {0x00, 0x80},
     0x77,
     {0x78, 0xF8},
     0xFF,
     {0x7F, 0xFF},
     {0x7F, 0xFF},
     0xFF,
     {0x7F, 0xFF},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
    {"megamoe-act-fp4",
     MARK_NONE,
     0x00,
     {0x0, 0x8},
     0x7D,
     {0x6, 0xE},
     0xFF,
     {0x7, 0xF},
     {0x7, 0xF},
     0xFF,
     {0x7, 0xF},
     {0x7, 0xF},
     {0x7, 0xF}},
    {"mori-fp8",
     MARK_IF_SCALED,
     ONE,
     {0x00, 0x80},
     ONE,
     {0x38, 0xB8},
     ONE,
     {0xFE, 0xFE},
     {0x38, 0xB8},
     0x7F800000,
     {0x00, 0x80},
     {0xFE, 0xFE},
     {0xFE, 0xFE}},
    {"mori-fp8-fnuz",
     MARK_IF_SCALED,
     ONE,
     {0x00, 0x00},
     ONE,
     {0x40, 0xC0},
     ONE,
     {0xFF, 0xFF},
     {0x40, 0xC0},
     0x7F800000,
     {0x00, 0x00},
     {0xFF, 0xFF},
     {0xFF, 0xFF}},
    /* a NaN amax compares false: the block stays unscaled, and 240 is the largest code it writes */
    {"mori-fp8-epv2",
     MARK_IF_SCALED,
     ONE,
     {0x00, 0x80},
     ONE,
     {0x38, 0xB8},
     ONE,
     {0xF7, 0xF7},
     {0x38, 0xB8},
     ONE,
     {0x38, 0xB8},
     {0x77, 0xF7},
     {0xF7, 0xF7}},
    {"mori-fp4",
     MARK_ALWAYS,
     ONE,
     {0x0, 0x8},
     0x3E2AAAAB,
     {0x7, 0xF},
     0x3E2AAAAB,
     {0x7, 0xF},
     {0x7, 0xF},
     0x7F800000,
     {0x0, 0x8},
     {0x7, 0xF},
     {0x7, 0xF}},
    {"mori-fp4-256",
     MARK_ALWAYS,
     ONE,
     {0x0, 0x8},
     0x3E2AAAAB,
     {0x7, 0xF},
     0x3E2AAAAB,
     {0x7, 0xF},
     {0x7, 0xF},
     0x7F800000,
     {0x0, 0x8},
     {0x7, 0xF},
     {0x7, 0xF}},
    {"mori-fp8-direct",
     MARK_NONE,
     0,
     {0x00, 0x80},
     0,
     {0x38, 0xB8},
     0,
     {0x7F, 0xFF},
     {0x38, 0xB8},
     0,
     {0x38, 0xB8},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
    {"mori-fp8-direct-sat",
     MARK_NONE,
     0,
     {0x00, 0x80},
     0,
     {0x38, 0xB8},
     0,
     {0x7F, 0xFF},
     {0x38, 0xB8},
     0,
     {0x38, 0xB8},
     {0x7F, 0xFF},
     {0x7F, 0xFF}},
};
enum { KNOWNS = sizeof knowns / sizeof knowns[0] };

static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_BF16, MXG_DTYPE_F16};

/* +1 and -1 by turns, from +1 */
static void fill_ones(uint32_t *x, size_t count) {
  for (size_t i = 0; i < count; i++) x[i] = (uint32_t)ONE | (i % 2 != 0 ? SIGN_BIT : 0);
}

static void fill_with(uint32_t *x, size_t count, uint32_t bits) {
  for (size_t i = 0; i < count; i++) x[i] = bits;
}

static const uint8_t *codes_row(const packed_small *p, size_t row) {
  return p->codes + row * p->layout.payload_row_bytes;
}

static const uint8_t *scales_row(const packed_small *p, size_t row) {
  return p->scales + row * p->layout.scale_row_bytes;
}

static void expect_code(const impl *side, const mxg_recipe *recipe, const packed_small *p,
                        size_t row, size_t col, uint32_t want, const char *what) {
  const uint32_t got = code_at(recipe->element, codes_row(p, row), col);
  if (got != want)
    ck_abort_msg("%s %s: %s: row %zu column %zu: code %02X, want %02X", side->name,
                 recipe_text(recipe), what, row, col, got, want);
}

static void expect_scale(const impl *side, const mxg_recipe *recipe, const packed_small *p,
                         size_t row, size_t index, uint32_t want, const char *what) {
  if (recipe->scale == MXG_SCALE_NONE) return;
  const uint32_t got = scale_at(recipe, scales_row(p, row), index);
  if (got != want)
    ck_abort_msg("%s %s: %s: row %zu block %zu: scale %08X, want %08X", side->name,
                 recipe_text(recipe), what, row, index, got, want);
}

static void expect_value(const impl *side, const mxg_recipe *recipe, uint32_t got, uint32_t want,
                         const char *what) {
  if (got != want)
    ck_abort_msg("%s %s: %s: value %08X, want %08X", side->name, recipe_text(recipe), what, got,
                 want);
}

START_TEST(test_every_preset_is_known) {
  size_t presets = 0;
  for (const mxg_preset *p = NULL; (p = mxg_preset_at(presets)) != NULL; presets++) {
    bool found = false;
    for (size_t k = 0; k < KNOWNS; k++) found = found || strcmp(knowns[k].preset, p->name) == 0;
    if (!found) ck_abort_msg("preset %s is not in the table of this test", p->name);
  }
  ck_assert_uint_eq(presets, KNOWNS);
}
END_TEST

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

/* ---- EmptyShape ---- */

START_TEST(test_EmptyShape) {
  for (size_t n = 0; n < KNOWNS * IMPLS; n++) {
    const impl *side = &impls[n % IMPLS];
    const mxg_recipe recipe = recipe_of(knowns[n / IMPLS].preset);
    const mxg_layout_options slot = {
        MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
    for (size_t shape = 0; shape < 3; shape++) {
      const size_t rows = shape == 0 ? 5 : 0, cols = shape == 1 ? 7168 : 0;
      mxg_layout layout;
      ck_assert_int_eq(side->layout_for(&recipe, rows, cols, NULL, &layout), MXG_OK);
      ck_assert_uint_eq(layout.codes_bytes, 0);
      ck_assert_uint_eq(layout.scales_bytes, 0);
      const mxg_matrix_view x = {NULL, MXG_DTYPE_BF16, rows, cols, 0};
      const mxg_packed out = {NULL, 0, NULL, 0, layout};
      ck_assert_int_eq(side->quantize(&recipe, &x, NULL, &out, NULL), MXG_OK);
      const mxg_packed_view in = {NULL, 0, NULL, 0, layout};
      const mxg_matrix y = {NULL, MXG_DTYPE_F32, rows, cols, 0};
      ck_assert_int_eq(side->dequantize(&recipe, &in, &y, NULL), MXG_OK);
      ck_assert_int_eq(side->layout_for(&recipe, rows, cols, &slot, &layout), MXG_OK);
      ck_assert_int_eq(side->combine(&recipe, NULL, 0, NULL, &layout, 0, cols, &y, NULL), MXG_OK);
    }
    /* no live rows of many, with every pointer NULL: nothing is looked at */
    mxg_layout layout;
    ck_assert_int_eq(side->layout_for(&recipe, 0, 64, &slot, &layout), MXG_OK);
    /* no source at all: +0.0, and only that */
    uint32_t y[2 * 64];
    memset(y, 0xA5, sizeof y);
    const mxg_matrix out = {y, MXG_DTYPE_F32, 2, 64, 0};
    ck_assert_int_eq(side->combine(&recipe, NULL, 0, NULL, &layout, 0, 64, &out, NULL), MXG_OK);
    expect_filled(y, 0, sizeof y, "%s %s: combine of no sources", side->name, recipe_text(&recipe));
    ck_assert_int_eq(side->encode_f32(&recipe, NULL, 0, NULL), MXG_OK);
    ck_assert_int_eq(side->decode_f32(recipe.element, NULL, 0, NULL), MXG_OK);
    if (recipe.scale == MXG_SCALE_E8M0) {
      ck_assert_int_eq(side->e8m0_from_amax(&recipe, NULL, 0, NULL), MXG_OK);
      ck_assert_int_eq(side->e8m0_from_scale(&recipe, NULL, 0, NULL), MXG_OK);
      ck_assert_int_eq(side->e8m0_to_f32(recipe.edges, NULL, 0, NULL), MXG_OK);
    }
  }
  for (int i = 0; i < IMPLS; i++) {
    for (size_t d = 0; d < 3; d++) {
      ck_assert_int_eq(impls[i].to_f32(dtypes[d], NULL, 0, NULL), MXG_OK);
      ck_assert_int_eq(impls[i].from_f32(dtypes[d], NULL, 0, NULL), MXG_OK);
    }
    ck_assert_int_eq(impls[i].weight_shuffle(0, 16, NULL, NULL), MXG_OK);
    ck_assert_int_eq(impls[i].weight_unshuffle(16, 0, NULL, NULL), MXG_OK);
    ck_assert_int_eq(impls[i].gate_up_interleave(0, 16, 64, NULL, NULL), MXG_OK);
    ck_assert_int_eq(impls[i].gate_up_separate(4, 0, 64, NULL, NULL), MXG_OK);
  }
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

/* ---- ScalePad and Rows ---- */

/* x[r][c] = a power of two of its own per scale: the stored byte says which scale it is */
static int exponent_of(size_t row, size_t col) {
  return (int)((row * 7 + col * 13) % 101) - 50;
}

typedef struct ordered {
  guard scales;
  mxg_layout layout;
} ordered;

/* Quantises rows x (scales * 32) into an order; the scale matrix was poisoned with FF. */
static ordered quantize_ordered(const impl *side, const mxg_recipe *recipe, mxg_scale_order order,
                                uint32_t pad_byte, size_t rows, size_t live, size_t scales) {
  const mxg_layout_options options = {MXG_PLACEMENT_SEPARATE, order, pad_byte, 0, 0, 0, 0, 0, {0}};
  const size_t cols = scales * 32;
  ordered o;
  ck_assert_int_eq(side->layout_for(recipe, rows, cols, &options, &o.layout), MXG_OK);
  uint32_t *x = calloc(live * cols, sizeof *x);
  uint8_t *codes = malloc(o.layout.codes_bytes);
  if (x == NULL || codes == NULL) ck_abort_msg("no memory");
  for (size_t r = 0; r < live; r++)
    for (size_t c = 0; c < cols; c++)
      x[r * cols + c] = bits_of(ldexpf(1.0f, exponent_of(r, c / 32)));
  o.scales = guard_new(o.layout.scales_bytes, 0);
  memset(o.scales.data, 0xFF, o.layout.scales_bytes);
  const mxg_matrix_view view = {x, MXG_DTYPE_F32, live, cols, 0};
  const mxg_packed packed = {codes, o.layout.codes_bytes, o.scales.data, o.layout.scales_bytes,
                             o.layout};
  ck_assert_int_eq(side->quantize(recipe, &view, NULL, &packed, NULL), MXG_OK);
  free(x);
  free(codes);
  return o;
}

START_TEST(test_ScalePad) {
  static const size_t columns[] = {4, 6, 12, 20};
  static const uint32_t pads[] = {0x00, 0x7F};
  for (size_t n = 0; n < IMPLS * 4 * 2 * 2 * 2; n++) {
    const impl *side = &impls[n % IMPLS];
    const size_t scales = columns[n / 2 % 4], rows = 300, live = n / 8 % 2 != 0 ? 33 : 300;
    const uint32_t pad = pads[n / 16 % 2];
    const mxg_scale_order order =
        n / 32 % 2 != 0 ? MXG_ORDER_AITER_SHUFFLE : MXG_ORDER_BLOCKED_128X4;
    const bool shuffled = order == MXG_ORDER_AITER_SHUFFLE;
    const size_t tall = shuffled ? 256 : 128;
    const size_t wide = shuffled ? (scales + 7) / 8 * 8 : (scales + 3) / 4 * 4;
    const size_t padded_rows = (rows + tall - 1) / tall * tall;
    const size_t padded_live = (live + tall - 1) / tall * tall;
    const mxg_recipe recipe = recipe_of("mxfp8");
    ordered o = quantize_ordered(side, &recipe, order, pad, rows, live, scales);
    ck_assert_uint_eq(o.layout.scales_bytes, padded_rows * wide);
    for (size_t r = 0; r < padded_rows; r++) {
      for (size_t c = 0; c < wide; c++) {
        const size_t at = scale_position(order, rows, scales, r, c);
        ck_assert_msg(at < o.layout.scales_bytes, "position");
        const uint32_t want = r >= padded_live         ? 0xFFu
                              : r < live && c < scales ? (uint32_t)(119 + exponent_of(r, c))
                                                       : pad;
        if (o.scales.data[at] != want)
          ck_abort_msg("%s: %zu scale columns, row %zu column %zu at %zu: %02X, want %02X",
                       side->name, scales, r, c, at, o.scales.data[at], want);
      }
    }
    guard_free(&o.scales, "scales");
  }
}
END_TEST

/* Positions worked out by hand from the formulas of the wire. */
static const struct position {
  mxg_scale_order order;
  size_t scales, row, col, index;
} positions[] = {
    {MXG_ORDER_AITER_SHUFFLE, 8, 0, 0, 0},
    {MXG_ORDER_AITER_SHUFFLE, 8, 0, 1, 64},
    {MXG_ORDER_AITER_SHUFFLE, 8, 0, 4, 2},
    {MXG_ORDER_AITER_SHUFFLE, 8, 1, 0, 4},
    {MXG_ORDER_AITER_SHUFFLE, 8, 16, 0, 1},
    {MXG_ORDER_AITER_SHUFFLE, 8, 17, 5, 71},
    {MXG_ORDER_AITER_SHUFFLE, 8, 31, 7, 255},
    {MXG_ORDER_AITER_SHUFFLE, 8, 32, 0, 256},
    {MXG_ORDER_AITER_SHUFFLE, 6, 32, 0, 256},  /* the padded stride, 8 */
    {MXG_ORDER_AITER_SHUFFLE, 12, 32, 0, 512}, /* 16 */
    {MXG_ORDER_AITER_SHUFFLE, 20, 32, 0, 768}, /* 24 */
    {MXG_ORDER_AITER_SHUFFLE, 12, 0, 8, 256},
    {MXG_ORDER_AITER_SHUFFLE, 12, 20, 11, 465}, /* 256 + 3*64 + 4*4 + 0 + 1 */
    {MXG_ORDER_BLOCKED_128X4, 4, 0, 0, 0},
    {MXG_ORDER_BLOCKED_128X4, 4, 1, 0, 16},
    {MXG_ORDER_BLOCKED_128X4, 4, 32, 0, 4},
    {MXG_ORDER_BLOCKED_128X4, 4, 126, 3, 495}, /* 30*16 + 3*4 + 3 */
    {MXG_ORDER_BLOCKED_128X4, 4, 127, 0, 508},
    {MXG_ORDER_BLOCKED_128X4, 4, 128, 0, 512},
    {MXG_ORDER_BLOCKED_128X4, 6, 0, 4, 512},
    {MXG_ORDER_BLOCKED_128X4, 6, 128, 0, 1024},
    {MXG_ORDER_BLOCKED_128X4, 20, 128, 0, 2560},
    {MXG_ORDER_BLOCKED_128X4, 20, 128, 19, 4611}, /* (5 + 4)*512 + 3 */
};

START_TEST(test_Rows) {
  const mxg_recipe recipe = recipe_of("mxfp8");
  for (int i = 0; i < IMPLS; i++) {
    for (size_t t = 0; t < sizeof positions / sizeof positions[0]; t++) {
      const struct position *p = &positions[t];
      ordered o = quantize_ordered(&impls[i], &recipe, p->order, 0, 129, 129, p->scales);
      const int want = 119 + exponent_of(p->row, p->col);
      ck_assert_uint_eq(scale_position(p->order, 129, p->scales, p->row, p->col), p->index);
      if (o.scales.data[p->index] != want)
        ck_abort_msg("%s: order %d, %zu columns: row %zu column %zu: byte %zu is %02X, want %02X",
                     impls[i].name, (int)p->order, p->scales, p->row, p->col, p->index,
                     o.scales.data[p->index], (unsigned)want);
      guard_free(&o.scales, "scales");
    }
    /* rows 1, 127, 129 in 128x4; rows 16..31 of a tile in aiter_shuffle: all of them */
    static const size_t rows[] = {1, 127, 128, 129, 16, 17, 31, 32, 33};
    for (size_t n = 0; n < 2 * sizeof rows / sizeof rows[0]; n++) {
      const size_t live = rows[n / 2], scales = 5;
      const mxg_scale_order order = n % 2 != 0 ? MXG_ORDER_AITER_SHUFFLE : MXG_ORDER_BLOCKED_128X4;
      ordered o = quantize_ordered(&impls[i], &recipe, order, 0x7F, live, live, scales);
      for (size_t r = 0; r < live; r++)
        for (size_t c = 0; c < scales; c++)
          ck_assert_uint_eq(o.scales.data[scale_position(order, live, scales, r, c)],
                            (unsigned)(119 + exponent_of(r, c)));
      guard_free(&o.scales, "scales");
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

/* ---- LiveRows ---- */

START_TEST(test_LiveRows) {
  enum { ROWS = 24576, LIVE = 112, COLS = 64 };
  generator g = generator_start("test_LiveRows");
  for (size_t n = 0; n < KNOWNS * IMPLS; n++) {
    const impl *side = &impls[n % IMPLS];
    const mxg_recipe recipe = recipe_of(knowns[n / IMPLS].preset);
    guard x = guard_new(LIVE * COLS * 2, 0);
    values_fill(&g, VALUES_SPECIAL, MXG_DTYPE_BF16, LIVE, COLS, COLS, 32, x.data);
    guard_read_only(&x);
    const mxg_matrix_view view = {x.data, MXG_DTYPE_BF16, LIVE, COLS, 0};
    guard codes[2], scales[2], y[2];
    mxg_layout layout[2];
    for (int padded = 0; padded < 2; padded++) {
      const size_t rows = padded != 0 ? ROWS : LIVE;
      ck_assert_int_eq(side->layout_for(&recipe, rows, COLS, NULL, &layout[padded]), MXG_OK);
      codes[padded] = guard_new(layout[padded].codes_bytes, 0);
      scales[padded] = guard_new(layout[padded].scales_bytes, 0);
      y[padded] = guard_new(rows * COLS * 4, 0);
      memset(codes[padded].data, 0xFF, codes[padded].bytes);
      memset(scales[padded].data, 0xFF, scales[padded].bytes);
      memset(y[padded].data, 0xA5, y[padded].bytes);
      const mxg_packed out = {codes[padded].data, codes[padded].bytes, scales[padded].data,
                              scales[padded].bytes, layout[padded]};
      ck_assert_int_eq(side->quantize(&recipe, &view, NULL, &out, NULL), MXG_OK);
      const mxg_packed_view in = {out.codes, out.codes_capacity, out.scales, out.scales_capacity,
                                  out.layout};
      const mxg_matrix result = {y[padded].data, MXG_DTYPE_F32, LIVE, COLS, 0};
      ck_assert_int_eq(side->dequantize(&recipe, &in, &result, NULL), MXG_OK);
    }
    const char *name = recipe_text(&recipe);
    expect_bytes(codes[1].data, codes[0].data, codes[0].bytes, "%s: live codes", name);
    expect_bytes(scales[1].data, scales[0].data, scales[0].bytes, "%s: live scales", name);
    expect_bytes(y[1].data, y[0].data, y[0].bytes, "%s: live values", name);
    expect_filled(codes[1].data + codes[0].bytes, 0xFF, codes[1].bytes - codes[0].bytes,
                  "%s %s: dead codes", side->name, name);
    expect_filled(scales[1].data + scales[0].bytes, 0xFF, scales[1].bytes - scales[0].bytes,
                  "%s %s: dead scales", side->name, name);
    expect_filled(y[1].data + y[0].bytes, 0xA5, y[1].bytes - y[0].bytes, "%s %s: dead values",
                  side->name, name);
    for (int padded = 0; padded < 2; padded++) {
      guard_free(&codes[padded], name);
      guard_free(&scales[padded], name);
      guard_free(&y[padded], name);
    }
    guard_free(&x, name);
  }
}
END_TEST

/* ---- WireTag: the library's part. Equal sizes, other bytes, other values. ---- */

START_TEST(test_WireTag) {
  static packed_small fp8, mx;
  static uint32_t x[7168], y[7168];
  const mxg_recipe per_128 = recipe_of("aiter-fp8-128"), per_32 = recipe_of("mxfp8");
  fill_ones(x, 7168);
  for (int i = 0; i < IMPLS; i++) {
    quantize_small(&impls[i], &per_128, MXG_DTYPE_BF16, x, 1, 7168, &fp8);
    quantize_small(&impls[i], &per_32, MXG_DTYPE_BF16, x, 1, 7168, &mx);
    ck_assert_uint_eq(fp8.layout.codes_bytes, 7168);
    ck_assert_uint_eq(mx.layout.codes_bytes, 7168);
    ck_assert_uint_eq(fp8.layout.scales_bytes, 224);
    ck_assert_uint_eq(mx.layout.scales_bytes, 224);
    for (size_t s = 0; s < 224; s += 4) {
      static const uint8_t f32_scale[4] = {0x25, 0x49, 0x12, 0x3B};
      static const uint8_t e8m0_scales[4] = {0x77, 0x77, 0x77, 0x77};
      expect_bytes(fp8.scales + s, f32_scale, 4, "%s: f32 scale at %zu", impls[i].name, s);
      expect_bytes(mx.scales + s, e8m0_scales, 4, "%s: E8M0 scales at %zu", impls[i].name, s);
    }
    expect_filled(fp8.codes, 0x7E, 1, "fp8 code");
    expect_filled(mx.codes, 0x78, 1, "mxfp8 code");
    /* the wrong recipe decodes without complaint, to something else: hence the tag */
    mx.layout = fp8.layout;
    dequantize_small(&impls[i], &per_128, &mx, MXG_DTYPE_F32, y);
    ck_assert_msg(y[0] != (uint32_t)ONE, "read by the other recipe, one is %08X", y[0]);
    /* a layout made for one recipe is not accepted for the other */
    const mxg_packed_view in = {fp8.codes, 7168, fp8.scales, 224, fp8.layout};
    const mxg_matrix out = {y, MXG_DTYPE_F32, 1, 7168, 0};
    ck_assert_int_eq(impls[i].dequantize(&per_32, &in, &out, NULL), MXG_ERR_LAYOUT);
  }
}
END_TEST

/* ---- FailLoudly ---- */

START_TEST(test_FailLoudly) {
  /* statuses are pinned for ever */
  ck_assert_int_eq(MXG_OK, 0);
  ck_assert_int_eq(MXG_ERR_NULL, 1);
  ck_assert_int_eq(MXG_ERR_SHAPE, 2);
  ck_assert_int_eq(MXG_ERR_SIZE, 3);
  ck_assert_int_eq(MXG_ERR_CAPACITY, 4);
  ck_assert_int_eq(MXG_ERR_OVERLAP, 5);
  ck_assert_int_eq(MXG_ERR_RECIPE, 6);
  ck_assert_int_eq(MXG_ERR_LAYOUT, 7);
  ck_assert_int_eq(MXG_ERR_TYPE, 8);
  ck_assert_int_eq(MXG_ERR_RESERVED, 9);
  ck_assert_int_eq(MXG_ERR_ISA, 10);
  ck_assert_int_eq(MXG_ERR_FENV, 11);
  ck_assert_int_eq(MXG_ERR_PRESET, 20);
  ck_assert_int_eq(MXG_ERR_KEY_UNKNOWN, 21);
  ck_assert_int_eq(MXG_ERR_KEY_DUPLICATE, 22);
  ck_assert_int_eq(MXG_ERR_KEY_INAPPLICABLE, 23);
  ck_assert_int_eq(MXG_ERR_KEY_MISSING, 24);
  ck_assert_int_eq(MXG_ERR_VALUE, 25);
  ck_assert_int_eq(MXG_ERR_SYNTAX, 26);
  ck_assert_int_eq(MXG_ERR_NO_DEVICE, 40);
  ck_assert_int_eq(MXG_ERR_ARCH, 41);
  ck_assert_int_eq(MXG_ERR_DEVICE, 42);

  /* an instruction set that this CPU lacks, or that nobody knows: an error and not a byte */
  static packed_small p;
  uint32_t x[64], y[64];
  fill_ones(x, 64);
  const uint32_t have = mxg_cpu_features();
  ck_assert_msg((have & MXG_ISA_PORTABLE) != 0, "portable is always there");
  for (unsigned bit = 0; bit < 32; bit++) {
    const uint32_t mask = UINT32_C(1) << bit;
    const mxg_run run = {0, mask | MXG_ISA_PORTABLE, {0}};
    const bool lacking = (have & mask) == 0;
    for (int i = 0; i < IMPLS; i++) {
      for (size_t k = 0; k < KNOWNS; k++) {
        const mxg_recipe recipe = recipe_of(knowns[k].preset);
        const mxg_status want = lacking ? MXG_ERR_ISA : MXG_OK;
        ck_assert_int_eq(impls[i].layout_for(&recipe, 1, 64, NULL, &p.layout), MXG_OK);
        memset(p.codes, 0xA5, sizeof p.codes);
        memset(p.scales, 0xA5, sizeof p.scales);
        memset(y, 0xA5, sizeof y);
        const mxg_matrix_view view = {x, MXG_DTYPE_F32, 1, 64, 0};
        const mxg_packed out = {p.codes, sizeof p.codes, p.scales, sizeof p.scales, p.layout};
        ck_assert_int_eq(impls[i].quantize(&recipe, &view, NULL, &out, &run), want);
        if (lacking) {
          expect_filled(p.codes, 0xA5, sizeof p.codes, "codes after MXG_ERR_ISA");
          expect_filled(p.scales, 0xA5, sizeof p.scales, "scales after MXG_ERR_ISA");
        }
        const mxg_packed_view in = {p.codes, sizeof p.codes, p.scales, sizeof p.scales, p.layout};
        const mxg_matrix result = {y, MXG_DTYPE_F32, 1, 64, 0};
        ck_assert_int_eq(impls[i].dequantize(&recipe, &in, &result, &run), want);
        if (lacking) expect_filled(y, 0xA5, sizeof y, "values after MXG_ERR_ISA");
      }
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

/* ---- the list of kinds ---- */

static bool sources_contain(const char *text) {
  DIR *directory = opendir(MXGOLD_SOURCE_DIR "/tests");
  if (directory == NULL) ck_abort_msg("cannot read the directory of the tests");
  bool found = false;
  for (const struct dirent *entry = NULL; !found && (entry = readdir(directory)) != NULL;) {
    char path[1024], line[1024];
    if (strstr(entry->d_name, ".c") == NULL) continue;
    snprintf(path, sizeof path, "%s/%s", MXGOLD_SOURCE_DIR "/tests", entry->d_name);
    FILE *file = fopen(path, "r");
    if (file == NULL) continue;
    while (!found && fgets(line, sizeof line, file) != NULL) found = strstr(line, text) == line;
    fclose(file);
  }
  closedir(directory);
  return found;
}

START_TEST(test_every_fault_has_a_test) {
  FILE *file = fopen(MXGOLD_SOURCE_DIR "/tests/faults.txt", "r");
  if (file == NULL) ck_abort_msg("cannot read tests/faults.txt");
  char line[256], flag[64], test[64], start[96];
  size_t flags = 0, missing = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (line[0] == '#' || line[0] == '\n') continue;
    ck_assert_msg(sscanf(line, "%63s %63s", flag, test) == 2, "not a flag and a test: %s", line);
    snprintf(start, sizeof start, "START_TEST(%s)", test);
    flags++;
    if (sources_contain(start)) continue;
    missing++;
    printf("%s: no source has %s\n", flag, start);
  }
  fclose(file);
  fflush(stdout);
  ck_assert_uint_eq(flags, 29);
  ck_assert_msg(missing == 0, "%zu faults without a test, printed above", missing);
}
END_TEST

CHECK_MAIN("faults", test_every_preset_is_known, test_AllZeroBlock, test_AmaxFloor,
           test_DecodeBadScale, test_EmptyShape, test_SaturateAfterScale, test_NanBlock,
           test_ScalePad, test_Rows, test_BlockWidth, test_LiveRows, test_WireTag, test_FailLoudly,
           test_E8M0Decode_blocks, test_every_fault_has_a_test)
