/* packed.h: single codes and scales inside packed bytes, and what a code is worth, each computed
 * here from the format's definition.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_PACKED_H
#define TESTS_SUPPORT_PACKED_H

#include "impl.h"
#include "mxgold.h"

/* Code of element `col` of a payload row. */
uint32_t code_at(mxg_element element, const uint8_t *row, size_t col);
void code_put(mxg_element element, uint8_t *row, size_t col, uint32_t code);

/* Bits of stored scale number `index` of a row: an E8M0 byte, or the bits of a little-endian f32. */
uint32_t scale_at(const mxg_recipe *recipe, const uint8_t *row, size_t index);
void scale_put(const mxg_recipe *recipe, uint8_t *row, size_t index, uint32_t bits);

/* The real number that a code stands for; NaN and infinities as such. */
double code_value(mxg_element element, uint32_t code);

/* Codes and scales of a small matrix, separate and dense. */
typedef struct packed_small {
  uint8_t codes[8192], scales[2048];
  mxg_layout layout;
} packed_small;

/* Quantises rows x cols values, given as f32 bits and cut to the type. */
void quantize_small(const impl *side, const mxg_recipe *recipe, mxg_dtype dtype,
                    const uint32_t *f32_bits, size_t rows, size_t cols, packed_small *out);

/* Decodes the bytes of `in` into rows x cols values of dtype, as bits. */
void dequantize_small(const impl *side, const mxg_recipe *recipe, const packed_small *in,
                      mxg_dtype dtype, uint32_t *bits);

#endif
