/* pipe_packed.c: rows of codes and scales, for decoders and combiners: every code under chosen
 * scales, rows that a quantiser could have written, and scales that none should.
 * SPDX-License-Identifier: MIT */
#include "pipe.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t f32_scales[] = {
    0x3F800000, 0x40000000, 0x3F000000, 0x3B124925, 0x3E2AAAAB, 0x40490FDB, 0x2A7B5124, 0x44000001,
    0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x01400001, 0x7F7FFFFF, 0x7F800000,
    0xFF800000, 0x7FC00000, 0xFFC00000, 0xBF800000, 0xC0490FDB, 0x80000001, 0x7E800000, 0x33800000};
static const uint8_t e8m0_scales[] = {127, 128, 126, 0,   1,   2,   3,   10,  100, 116, 118, 119,
                                      124, 130, 134, 135, 150, 200, 246, 250, 252, 253, 254, 255};
enum {
  F32_SCALES = sizeof f32_scales / sizeof f32_scales[0],
  E8M0_SCALES = sizeof e8m0_scales / sizeof e8m0_scales[0]
};

static size_t block_of(const mxg_recipe *recipe) {
  return recipe->scale == MXG_SCALE_NONE ? 32 : recipe->block;
}

static uint32_t codes_of(const mxg_recipe *recipe) {
  return 1u << mxg_element_traits(recipe->element).bits;
}

static void put_code(const mxg_packed_row *row, size_t index, uint32_t code) {
  const size_t bits = (size_t)mxg_element_traits(row->plan->recipe.element).bits;
  const size_t at = index * bits / 8, shift = index * bits % 8;
  row->codes[at] = (unsigned char)(row->codes[at] | (code << shift & 255));
  if (shift + bits > 8)
    row->codes[at + 1] = (unsigned char)(row->codes[at + 1] | code >> (8 - shift));
}

static void put_scale(const mxg_packed_row *row, size_t index, uint32_t bits) {
  if (row->plan->recipe.scale == MXG_SCALE_E8M0) row->scales[index] = (unsigned char)bits;
  if (row->plan->recipe.scale != MXG_SCALE_F32) return;
  for (size_t i = 0; i < 4; i++)
    row->scales[4 * index + i] = (unsigned char)(bits >> (8 * i) & 255);
}

static size_t scales_in(const mxg_packed_row *row) {
  return mxg_scales_used(&row->plan->recipe, row->cols);
}

static void put_random_codes(mxg_packed_row *row) {
  for (size_t i = 0; i < row->cols; i++)
    put_code(row, i, mxg_draw_below(&row->random, codes_of(&row->plan->recipe)));
}

/* A negative first scale says in three of four rows that the row is scaled. */
static void put_marker(mxg_packed_row *row) {
  const mxg_recipe *recipe = &row->plan->recipe;
  if (recipe->scale != MXG_SCALE_F32 || recipe->marker == MXG_MARKER_NONE || scales_in(row) == 0)
    return;
  if (mxg_draw_below(&row->random, 4)) row->scales[3] ^= 0x80;
}

static uint32_t plausible_scale(mxg_packed_row *row) {
  const uint32_t exponent = 115 + mxg_draw_below(&row->random, 21);
  if (row->plan->recipe.scale == MXG_SCALE_E8M0) return exponent;
  return exponent << 23 | (uint32_t)(mxg_draw_next(&row->random) & 0x7FFFFF);
}

/* ---- sections ---- */

static uint64_t chosen_scales(const mxg_plan *plan) {
  if (plan->recipe.scale == MXG_SCALE_NONE) return 1;
  if (plan->recipe.scale == MXG_SCALE_F32) return plan->level > 1 ? 512 : F32_SCALES;
  return plan->level > 1 ? 256 : E8M0_SCALES;
}

static uint32_t chosen_scale(mxg_packed_row *row, uint64_t n) {
  if (row->plan->recipe.scale == MXG_SCALE_E8M0)
    return row->plan->level > 1 ? (uint32_t)(n & 255) : e8m0_scales[n % E8M0_SCALES];
  if (n < F32_SCALES) return f32_scales[n];
  return (uint32_t)(mxg_draw_next(&row->random) >> 32);
}

/* Every code under each of the chosen scales. */
static void fill_codes(mxg_packed_row *row) {
  const mxg_recipe *recipe = &row->plan->recipe;
  const size_t block = block_of(recipe), codes = codes_of(recipe);
  const uint64_t per_scale = (codes + block - 1) / block;
  for (size_t i = 0; i < row->cols; i++) {
    const uint64_t n = row->index + i / block;
    put_code(row, i, (uint32_t)((n % per_scale * block + i % block) % codes));
  }
  for (size_t i = 0; i < scales_in(row); i++)
    put_scale(row, i, chosen_scale(row, (row->index + i) / per_scale % chosen_scales(row->plan)));
  put_marker(row);
}

/* What the recipe itself gives for ordinary values, a zero block now and then. */
static void fill_quantized(mxg_packed_row *row) {
  const mxg_recipe *recipe = &row->plan->recipe;
  const size_t block = block_of(recipe);
  uint32_t *bits = mxg_alloc((row->cols + 1) * sizeof *bits);
  for (size_t first = 0; first < row->cols; first += block) {
    const size_t length = block < row->cols - first ? block : row->cols - first;
    const int exponent = (int)mxg_draw_below(&row->random, 9) - 4;
    mxg_value_normal(&row->random, MXG_DTYPE_F32, exponent, length, bits + first);
    if (mxg_draw_below(&row->random, 12) == 0) memset(bits + first, 0, length * sizeof *bits);
  }
  mxg_layout layout;
  const mxg_matrix_view x = {bits, MXG_DTYPE_F32, 1, row->cols, 0};
  if (mxg_layout_for(recipe, 1, row->cols, NULL, &layout) == MXG_OK) {
    const mxg_packed out = {row->codes, layout.codes_bytes, row->scales, layout.scales_bytes,
                            layout};
    mxg_quantize(recipe, &x, NULL, &out, NULL);
  }
  free(bits);
}

static void fill_random(mxg_packed_row *row) {
  put_random_codes(row);
  for (size_t i = 0; i < scales_in(row); i++) put_scale(row, i, plausible_scale(row));
  put_marker(row);
}

/* Zero, infinite, NaN and subnormal scales among others. */
static void fill_bad_scales(mxg_packed_row *row) {
  put_random_codes(row);
  for (size_t i = 0; i < scales_in(row); i++) {
    const uint32_t n = mxg_draw_below(&row->random, F32_SCALES + 8);
    if (n >= F32_SCALES)
      put_scale(row, i, plausible_scale(row));
    else
      put_scale(
          row, i,
          row->plan->recipe.scale == MXG_SCALE_E8M0 ? e8m0_scales[n % E8M0_SCALES] : f32_scales[n]);
  }
  put_marker(row);
}

/* ---- the list ---- */

static const struct {
  const char *name;
  void (*fill)(mxg_packed_row *);
} sections[] = {{"codes", fill_codes},
                {"quantized", fill_quantized},
                {"random", fill_random},
                {"scales", fill_bad_scales},
                {"shapes", fill_quantized}};
enum { CODES, QUANTIZED, RANDOM, BAD_SCALES };

size_t mxg_packed_sections(void) {
  return sizeof sections / sizeof sections[0];
}

const char *mxg_packed_section_name(unsigned section) {
  return sections[section].name;
}

uint64_t mxg_packed_section_blocks(const mxg_plan *plan, unsigned section, size_t block) {
  const bool deep = plan->level > 1;
  const uint64_t elements = section == CODES        ? 0
                            : section == QUANTIZED  ? (deep ? 262144 : 16384)
                            : section == RANDOM     ? (deep ? 131072 : 4096)
                            : section == BAD_SCALES ? (deep ? 65536 : 4096)
                                                    : 0;
  if (section == CODES) return (codes_of(&plan->recipe) + block - 1) / block * chosen_scales(plan);
  if (elements == 0) return 0;
  return elements / block < 16 ? 16 : elements / block;
}

void mxg_packed_fill(unsigned section, mxg_packed_row *out) {
  sections[section].fill(out);
}
