/* vectors_blocks.c: quantise cases about blocks: scales, zero blocks, NaN, shapes, row weights.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "vectors.h"

enum { MAX_ELEMS = 2048 };

static void ones(uint32_t *x, size_t count) {
  for (size_t i = 0; i < count; i++) x[i] = MXG_ONE | (i % 2 != 0 ? MXG_MINUS : 0);
}

static void zero_blocks(mxg_vectors *v) {
  uint32_t x[MAX_ELEMS] = {0};
  const size_t b = v->block, short_cols = b < 8 ? b : 8, cols = 2 * b + short_cols;
  /* ones, zeros, and a short block of -0 */
  ones(x, b);
  for (size_t i = 2 * b; i < cols; i++) x[i] = MXG_MINUS;
  mxg_vectors_quantize(v, "AllZeroBlock", MXG_DTYPE_BF16, 1, cols, x, NULL);
  /* a zero row between others; a zero tensor */
  memset(x, 0, sizeof x);
  ones(x, short_cols);
  ones(x + 2 * short_cols, short_cols);
  mxg_vectors_quantize(v, "AllZeroBlock", MXG_DTYPE_F32, 3, short_cols, x, NULL);
  memset(x, 0, sizeof x);
  for (size_t i = 0; i < short_cols; i += 2) x[i] = MXG_MINUS;
  mxg_vectors_quantize(v, "AllZeroBlock", MXG_DTYPE_F16, 2, short_cols, x, NULL);
}

static void amax_floor(mxg_vectors *v) {
  static const uint32_t amax[] = {0x00000000, 0x2D2FEBFF, 0x2ED9B40C, 0x2EDBE6FF,
                                  0x2EDE19F2, 0x2F5BE6FF, 0x33D6BF95}; /* 1e-7 */
  uint32_t x[4 * sizeof amax / sizeof amax[0]];
  const size_t rows = sizeof amax / sizeof amax[0];
  if (v->recipe.scale == MXG_SCALE_NONE || v->block < 4) return;
  if (!(v->recipe.amax_floor > 0) && !v->only) return;
  for (size_t r = 0; r < rows; r++) {
    x[4 * r] = 0;
    x[4 * r + 1] = amax[r];
    x[4 * r + 2] = mxg_bits_of(mxg_value_of(amax[r]) / -3);
    x[4 * r + 3] = mxg_bits_of(mxg_value_of(amax[r]) / 7);
  }
  mxg_vectors_quantize(v, "AmaxFloor", MXG_DTYPE_F32, rows, 4, x, NULL);
}

static void empty_shapes(mxg_vectors *v) {
  const uint32_t x[1] = {0};
  mxg_vectors_quantize(v, "EmptyShape", MXG_DTYPE_BF16, 0, 64, x, NULL);
  mxg_vectors_quantize(v, "EmptyShape", MXG_DTYPE_F32, 3, 0, x, NULL);
}

/* ---- scales: rows of one block, an amax and a part of it ---- */

static void scale_rows(mxg_vectors *v, const char *flags, mxg_dtype dtype, const uint32_t *amax,
                       size_t count) {
  uint32_t x[2 * 256];
  if (v->recipe.scale == MXG_SCALE_NONE) return;
  const size_t cols = v->block < 2 ? 1 : 2;
  for (size_t r = 0; r < count; r++) {
    x[cols * r] = amax[r] | (r % 2 != 0 ? MXG_MINUS : 0);
    if (cols == 2) x[2 * r + 1] = mxg_bits_of(mxg_value_of(amax[r]) * 0.37);
  }
  mxg_vectors_quantize(v, flags, dtype, count, cols, x, NULL);
}

/* The exponent field of a binade above the largest value, so that every recipe scales. */
static uint32_t high_exponent(const mxg_vectors *v) {
  return (uint32_t)(v->traits.emax + 1 + 127) << 23;
}

static void scale_rules(mxg_vectors *v) {
  uint32_t amax[128];
  for (uint32_t m = 0; m < 128; m++) amax[m] = high_exponent(v) | m << 16;
  scale_rows(v, "ScaleRule", MXG_DTYPE_BF16, amax, 128);
}

/* Where above_max begins: a block of max itself is a plain cast. */
static void above_max(mxg_vectors *v) {
  const uint32_t half_step = 1u << (22 - v->traits.mantissa_bits);
  const uint32_t amax[] = {v->max - 1, v->max, v->max + 1, v->max + half_step,
                           v->max + half_step + 1};
  scale_rows(v, "ScaleBoundary", MXG_DTYPE_F32, amax, sizeof amax / sizeof amax[0]);
}

static void scale_boundaries(mxg_vectors *v) {
  static const uint32_t mantissas[] = {0x000000, 0x000001, 0x3FFFFF, 0x400000, 0x400001,
                                       0x5FFFFF, 0x600000, 0x600001, 0x6FFFFF, 0x700000,
                                       0x77FFFF, 0x780000, 0x7FFFFF};
  enum { MANTISSAS = sizeof mantissas / sizeof mantissas[0] };
  const uint32_t exponents[] = {high_exponent(v), 30u << 23, 230u << 23};
  uint32_t amax[3 * MANTISSAS];
  size_t count = 0;
  if (v->recipe.scale == MXG_SCALE_F32 && v->recipe.scale_when == MXG_SCALE_WHEN_ABOVE_MAX)
    above_max(v);
  for (size_t e = 0; e < 3; e++)
    for (size_t m = 0; m < MANTISSAS; m++) amax[count++] = exponents[e] | mantissas[m];
  /* an f32 scale has no thresholds, but all of its mantissa */
  const bool is_e8m0 = v->recipe.scale == MXG_SCALE_E8M0;
  scale_rows(v, is_e8m0 ? "ScaleBoundary" : "ScaleRule", MXG_DTYPE_F32, amax, count);
  /* the least and greatest amax there are; 01400001 and its like are where rceil leaves ceil */
  static const uint32_t ends[] = {0x00000001, 0x003FFFFF, 0x00400000, 0x00400001, 0x007FFFFF,
                                  0x00800000, 0x00800001, 0x01400000, 0x01400001, 0x01700001,
                                  0x02600001, 0x03F00001, 0x04600001, 0x07E00001, 0x7EFFFFFF,
                                  0x7F000000, 0x7F000001, 0x7F400000, 0x7F600000, 0x7F7FFFFF};
  scale_rows(v, is_e8m0 ? "ScaleBoundary" : "ScaleRule", MXG_DTYPE_F32, ends,
             sizeof ends / sizeof ends[0]);
}

/* max times a power of two, and one more bit of mantissa at a time. */
static void rceil_bits(mxg_vectors *v) {
  const bool is_rceil = v->recipe.rule == MXG_RULE_RCEIL || v->recipe.rule == MXG_RULE_RCEIL_BUMP;
  if (!is_rceil) return;
  uint32_t amax[32];
  size_t count = 0;
  amax[count++] = v->max + (1u << 23);
  for (int bit = 22; bit >= 0; bit--)
    if (((v->max >> bit) & 1u) == 0) amax[count++] = (v->max + (1u << 23)) | 1u << bit;
  amax[count++] = mxg_bits_of(1.125);
  amax[count++] = mxg_bits_of(1.25);
  amax[count++] = mxg_bits_of(5.0);
  scale_rows(v, "RceilMask", MXG_DTYPE_F32, amax, count);
}

static void e8m0_inputs(mxg_vectors *v) {
  static const uint32_t x[] = {0,       MXG_MINUS, MXG_MINUS | MXG_ONE, 0x3E800000,
                               MXG_INF, MXG_ONE,   MXG_MINUS | MXG_INF, MXG_MINUS | MXG_ONE,
                               MXG_NAN, MXG_ONE,   0x7F7FFFFF,          MXG_ONE};
  if (v->recipe.scale != MXG_SCALE_E8M0 || v->block < 2) return;
  mxg_vectors_quantize(v, "E8M0Encode", MXG_DTYPE_F32, 6, 2, x, NULL);
}

/* By the floor rule an amax of 1.9 * 2^n leaves 1.9 * 2^emax. */
static void saturate_after_scale(mxg_vectors *v) {
  static const uint32_t amax[] = {0x3FF33333, 0x3FE00000, 0x3FE00001, 0x3FF80000, 0x3FFFFFFF};
  if (v->recipe.scale != MXG_SCALE_E8M0 || v->recipe.rule != MXG_RULE_FLOOR) return;
  scale_rows(v, "SaturateAfterScale", MXG_DTYPE_F32, amax, sizeof amax / sizeof amax[0]);
  scale_rows(v, "SaturateAfterScale", MXG_DTYPE_BF16, amax, 1);
}

/* ---- NaN ---- */

static void nan_blocks(mxg_vectors *v) {
  uint32_t x[MAX_ELEMS];
  const size_t cols = v->block < 8 ? v->block : 8;
  if (cols < 3) return;
  const size_t places[3] = {0, cols / 2, cols - 1};
  for (size_t row = 0; row < 6; row++) {
    uint32_t *at = x + row * cols;
    ones(at, cols);
    at[places[row % 3]] = MXG_NAN | 0x200000u | (row % 2 != 0 ? MXG_MINUS : 0);
    if (row >= 3) at[places[(row + 1) % 3]] = MXG_INF | (row == 4 ? MXG_MINUS : 0);
  }
  mxg_vectors_quantize(v, "NanBlock", MXG_DTYPE_F32, 6, cols, x, NULL);
  /* all NaN; Inf alone */
  for (size_t c = 0; c < cols; c++) {
    x[c] = MXG_NAN | (c % 2 != 0 ? MXG_MINUS : 0);
    x[cols + c] = c == 1 ? MXG_INF : 0;
  }
  mxg_vectors_quantize(v, "NanBlock", MXG_DTYPE_BF16, 2, cols, x, NULL);
  if (v->recipe.scale == MXG_SCALE_NONE) return;
  /* between whole blocks */
  const size_t wide = v->block + cols;
  ones(x, wide);
  x[v->block + 1] = MXG_NAN | MXG_MINUS;
  x[v->block] = v->max + (1u << 23);
  mxg_vectors_quantize(v, "NanBlock", MXG_DTYPE_BF16, 1, wide, x, NULL);
}

/* ---- shapes ---- */

/* 160 columns in blocks of 128, 40 in blocks of 32: a block and a quarter. */
static void block_widths(mxg_vectors *v) {
  uint32_t x[MAX_ELEMS];
  const size_t b = v->block, tail = b < 4 ? 1 : b / 4, cols = b + tail;
  if (v->recipe.scale == MXG_SCALE_NONE) return;
  ones(x, b);
  for (size_t i = b; i < cols; i++) x[i] = mxg_bits_of(1000);
  mxg_vectors_quantize(v, "BlockWidth", MXG_DTYPE_BF16, 1, cols, x, NULL);
}

/* 160 columns, whatever the block: in blocks of 74 two and a ragged one, of 7 twenty-three. */
static void ragged_rows(mxg_vectors *v) {
  uint32_t x[2 * 160];
  for (size_t i = 0; i < 2 * 160; i++) {
    const double size = (double)(1 << (i / (v->block < 16 ? v->block : 16) % 7)) * 31.0;
    x[i] = mxg_bits_of(size * ((double)(i * 37 % 64) - 31.5) / 32.0);
  }
  mxg_vectors_quantize(v, "BlockWidth", MXG_DTYPE_BF16, 2, 160, x, NULL);
}

/* ---- row weights ---- */

static void weighted(mxg_vectors *v) {
  uint32_t x[8 * 8];
  const size_t cols = v->block < 8 ? v->block : 8;
  static const uint32_t weights[8] = {MXG_ONE,    0x3F2AAAAB, 0xBFC00000, 0, /* 1, 2/3, -1.5, 0 */
                                      0x42C80000, 0x3DCCCCCD, MXG_INF,    MXG_NAN};
  if (cols < 5) return;
  for (size_t row = 0; row < 8; row++)
    for (size_t c = 0; c < cols; c++)
      x[row * cols + c] = mxg_bits_of(((double)((row * 8 + c) * 29 % 64) - 31.5) * 0.3);
  x[3 * cols + 1] = MXG_INF;
  x[6 * cols + 2] = MXG_MINUS;
  mxg_vectors_quantize(v, "DoubleRound", MXG_DTYPE_BF16, 3, cols, x, weights);
  mxg_vectors_quantize(v, "NanBlock", MXG_DTYPE_F32, 8, cols, x, weights);
  memset(x, 0, sizeof x);
  x[0] = x[1] = MXG_ONE;
  x[2] = MXG_MINUS | MXG_ONE;
  mxg_vectors_quantize(v, "AllZeroBlock", MXG_DTYPE_F32, 2, cols, x, weights + 3);
}

void mxg_vectors_block_cases(mxg_vectors *v) {
  zero_blocks(v);
  amax_floor(v);
  empty_shapes(v);
  scale_rules(v);
  scale_boundaries(v);
  rceil_bits(v);
  e8m0_inputs(v);
  saturate_after_scale(v);
  nan_blocks(v);
  block_widths(v);
  if (v->only) ragged_rows(v);
  weighted(v);
}
