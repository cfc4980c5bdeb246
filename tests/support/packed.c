/* packed.c
 * SPDX-License-Identifier: MIT */
#include "packed.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "recipes.h"
#include "values.h"

/* Codes lie in a row as a little-endian bit stream: FP4 low nibble first. */
static unsigned code_bits(mxg_element element) {
  if (element == MXG_ELEMENT_E2M1) return 4;
  return element == MXG_ELEMENT_E2M3 || element == MXG_ELEMENT_E3M2 ? 6 : 8;
}

uint32_t code_at(mxg_element element, const uint8_t *row, size_t col) {
  const unsigned bits = code_bits(element);
  uint32_t code = 0;
  for (unsigned b = 0; b < bits; b++) {
    const size_t at = col * bits + b;
    code |= (uint32_t)(row[at / 8] >> (at % 8) & 1u) << b;
  }
  return code;
}

void code_put(mxg_element element, uint8_t *row, size_t col, uint32_t code) {
  const unsigned bits = code_bits(element);
  for (unsigned b = 0; b < bits; b++) {
    const size_t at = col * bits + b;
    const uint8_t bit = (uint8_t)(1u << (at % 8));
    row[at / 8] = (uint8_t)((code >> b & 1u) != 0 ? row[at / 8] | bit : row[at / 8] & ~bit);
  }
}

uint32_t scale_at(const mxg_recipe *recipe, const uint8_t *row, size_t index) {
  if (recipe->scale == MXG_SCALE_E8M0) return row[index];
  const uint8_t *p = row + 4 * index;
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void scale_put(const mxg_recipe *recipe, uint8_t *row, size_t index, uint32_t bits) {
  if (recipe->scale == MXG_SCALE_E8M0) {
    row[index] = (uint8_t)bits;
    return;
  }
  for (unsigned b = 0; b < 4; b++) row[4 * index + b] = (uint8_t)(bits >> (8 * b) & 0xFFu);
}

double code_value(mxg_element element, uint32_t code) {
  unsigned mantissa_bits = 0, exponent_bits = 0;
  int bias = 0;
  bool fnuz = false;
  switch (element) {
    case MXG_ELEMENT_E4M3FN: exponent_bits = 4, mantissa_bits = 3, bias = 7; break;
    case MXG_ELEMENT_E4M3FNUZ: exponent_bits = 4, mantissa_bits = 3, bias = 8, fnuz = true; break;
    case MXG_ELEMENT_E5M2: exponent_bits = 5, mantissa_bits = 2, bias = 15; break;
    case MXG_ELEMENT_E5M2FNUZ: exponent_bits = 5, mantissa_bits = 2, bias = 16, fnuz = true; break;
    case MXG_ELEMENT_E2M1: exponent_bits = 2, mantissa_bits = 1, bias = 1; break;
    case MXG_ELEMENT_E2M3: exponent_bits = 2, mantissa_bits = 3, bias = 1; break;
    case MXG_ELEMENT_E3M2: exponent_bits = 3, mantissa_bits = 2, bias = 3; break;
  }
  const uint32_t mantissa = code & ((1u << mantissa_bits) - 1);
  const uint32_t exponent = code >> mantissa_bits & ((1u << exponent_bits) - 1);
  const bool negative = (code >> (mantissa_bits + exponent_bits) & 1u) != 0;
  if (fnuz && code == 0x80) return (double)NAN;
  if (element == MXG_ELEMENT_E4M3FN && (code & 0x7Fu) == 0x7F) return (double)NAN;
  if (element == MXG_ELEMENT_E5M2 && exponent == 31) {
    if (mantissa != 0) return (double)NAN;
    return negative ? -(double)INFINITY : (double)INFINITY;
  }
  const int unit = (exponent == 0 ? 1 : (int)exponent) - bias - (int)mantissa_bits;
  const double value =
      ldexp(mantissa + (exponent == 0 ? 0.0 : ldexp(1.0, (int)mantissa_bits)), unit);
  return negative ? -value : value;
}

void quantize_small(const impl *side, const mxg_recipe *recipe, mxg_dtype dtype,
                    const uint32_t *f32_bits, size_t rows, size_t cols, packed_small *out) {
  static uint8_t x[4 * 8192];
  ck_assert_msg(rows * cols <= 8192, "too large for a small matrix");
  mxg_status status = side->layout_for(recipe, rows, cols, NULL, &out->layout);
  if (status != MXG_OK) ck_abort_msg("%s: layout: status %d", recipe_text(recipe), (int)status);
  ck_assert_msg(out->layout.codes_bytes <= sizeof out->codes &&
                    out->layout.scales_bytes <= sizeof out->scales,
                "too large for a small matrix");
  for (size_t i = 0; i < rows * cols; i++)
    values_store(x, dtype, i, values_cut(dtype, f32_bits[i]));
  memset(out->codes, 0xA5, sizeof out->codes);
  memset(out->scales, 0xA5, sizeof out->scales);
  const mxg_matrix_view view = {x, dtype, rows, cols, 0};
  const mxg_packed packed = {out->codes, sizeof out->codes, out->scales, sizeof out->scales,
                             out->layout};
  status = side->quantize(recipe, &view, NULL, &packed, NULL);
  if (status != MXG_OK)
    ck_abort_msg("%s: %s quantize: status %d", recipe_text(recipe), side->name, (int)status);
}

void dequantize_small(const impl *side, const mxg_recipe *recipe, const packed_small *in,
                      mxg_dtype dtype, uint32_t *bits) {
  static uint8_t y[4 * 8192];
  const size_t rows = in->layout.rows, cols = in->layout.cols;
  memset(y, 0xA5, sizeof y);
  const mxg_packed_view view = {in->codes, sizeof in->codes, in->scales, sizeof in->scales,
                                in->layout};
  const mxg_matrix out = {y, dtype, rows, cols, 0};
  const mxg_status status = side->dequantize(recipe, &view, &out, NULL);
  if (status != MXG_OK)
    ck_abort_msg("%s: %s dequantize: status %d", recipe_text(recipe), side->name, (int)status);
  for (size_t i = 0; i < rows * cols; i++) bits[i] = values_load(y, dtype, i);
}
