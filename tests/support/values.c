/* values.c
 * SPDX-License-Identifier: MIT */
#include "values.h"

#include <string.h>

/* f32 bits: zeros, NaNs of both kinds and signs, infinities, subnormals, the maxima of the element
 * formats with their ties, neighbours of 1e-10, and the borders of exponent fields. */
static const uint32_t specials[] = {0x00000000,
                                    0x80000000,
                                    0x7FC00000,
                                    0xFFC00000,
                                    0x7F800001,
                                    0xFFBFFFFF,
                                    0x7F800000,
                                    0xFF800000,
                                    0x00000001,
                                    0x80000001,
                                    0x007FFFFF,
                                    0x00800000,
                                    0x00400000,
                                    0x00400001,
                                    0x7F7FFFFF,
                                    0xFF7FFFFF,
                                    0x43E00000 /* 448 */,
                                    0x43E80000 /* 464 */,
                                    0x43E80001,
                                    0x43E88000 /* 465 */,
                                    0x43700000 /* 240 */,
                                    0x43780000 /* 248 */,
                                    0x47600000 /* 57344 */,
                                    0x47700000 /* 61440 */,
                                    0x40C00000 /* 6 */,
                                    0x40A00000 /* 5 */,
                                    0x40F00000 /* 7.5 */,
                                    0x41E00000 /* 28 */,
                                    0x2EDBE6FE,
                                    0x2EDBE6FF,
                                    0x2EDBE700,
                                    0xAEDBE6FF,
                                    0x3F800000,
                                    0x3F7FFFFF,
                                    0x3FC00000,
                                    0x3FBFFFFF,
                                    0x3FE00000,
                                    0x3FDFFFFF,
                                    0xBFFFFFFF,
                                    0x447A0000 /* 1000 */,
                                    0x3A800000,
                                    0x3A800001,
                                    0x3A7FFFFF,
                                    0x7F000000,
                                    0x7F000001,
                                    0x7F400000,
                                    0x7F600000,
                                    0x01400001,
                                    0x04600001};

const char *values_kind_name(values_kind kind) {
  static const char *const names[] = {"random",      "painted", "special",
                                      "zero_blocks", "bits",    "extreme"};
  return kind < VALUES_KINDS ? names[kind] : "?";
}

const char *dtype_name(mxg_dtype dtype) {
  return dtype == MXG_DTYPE_F32 ? "f32" : dtype == MXG_DTYPE_F16 ? "f16" : "bf16";
}

uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t cut_to_f16(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | 0x7C01u | (magnitude >> 13 & 0x3FFu);
  if (magnitude == 0x7F800000u) return sign | 0x7C00u;
  if (magnitude >= 0x47800000u) return sign | 0x7BFFu;                         /* 65536 and above */
  if (magnitude >= 0x38800000u) return sign | (magnitude - 0x38000000u) >> 13; /* from 2^-14 */
  const uint32_t exponent = magnitude >> 23, mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
  return exponent < 103 ? sign : sign | mantissa >> (126 - exponent);
}

uint32_t values_cut(mxg_dtype dtype, uint32_t f32_bits) {
  if (dtype == MXG_DTYPE_F32) return f32_bits;
  if (dtype == MXG_DTYPE_F16) return cut_to_f16(f32_bits);
  const bool is_nan = (f32_bits & 0x7FFFFFFFu) > 0x7F800000u;
  return f32_bits >> 16 | (is_nan && (f32_bits & 0x7F0000u) == 0 ? 1u : 0u);
}

void values_store(void *array, mxg_dtype dtype, size_t index, uint32_t bits) {
  if (dtype == MXG_DTYPE_F32) {
    memcpy((char *)array + 4 * index, &bits, 4);
  } else {
    const uint16_t half = (uint16_t)bits;
    memcpy((char *)array + 2 * index, &half, 2);
  }
}

uint32_t values_load(const void *array, mxg_dtype dtype, size_t index) {
  if (dtype == MXG_DTYPE_F32) {
    uint32_t bits;
    memcpy(&bits, (const char *)array + 4 * index, 4);
    return bits;
  }
  uint16_t half;
  memcpy(&half, (const char *)array + 2 * index, 2);
  return half;
}

void values_set(void *array, mxg_dtype dtype, size_t first, size_t count, uint32_t f32_bits) {
  for (size_t i = 0; i < count; i++)
    values_store(array, dtype, first + i, values_cut(dtype, f32_bits));
}

/* A finite f32 of exponent field `exponent` less up to `spread`, any sign and mantissa. */
static uint32_t around(generator *g, uint32_t exponent, uint32_t spread) {
  const uint32_t below = generator_below(g, spread + 1);
  const uint32_t field = exponent > below ? exponent - below : 0;
  return (field << 23) | (generator_bits(g) & 0x807FFFFFu);
}

static uint32_t painted(size_t index) {
  const int step = (int)(index % 251 * 7 % 251) - 125;
  return bits_of((float)step / 16.0f);
}

static uint32_t extreme(generator *g, mxg_dtype dtype) {
  if (generator_chance(g, 2)) return around(g, dtype == MXG_DTYPE_F16 ? 142 : 254, 3);
  if (generator_chance(g, 4)) return generator_bits(g) & 0x807FFFFFu;
  return around(g, dtype == MXG_DTYPE_F16 ? 116 : 24, 26);
}

void values_fill(generator *g, values_kind kind, mxg_dtype dtype, size_t rows, size_t cols,
                 size_t stride_elems, size_t block, void *data) {
  for (size_t r = 0; r < rows; r++) {
    const uint32_t row_exponent = 115 + generator_below(g, 26);
    uint32_t block_exponent = row_exponent, zero = 0;
    for (size_t c = 0; c < cols; c++) {
      if (c % block == 0) {
        block_exponent = row_exponent - 3 + generator_below(g, 7);
        zero = generator_below(g, 4);
      }
      uint32_t bits = around(g, block_exponent, generator_chance(g, 4) ? 14 : 3);
      if (kind == VALUES_PAINTED) bits = painted(r * cols + c);
      if (kind == VALUES_SPECIAL && generator_chance(g, 24))
        bits = specials[generator_below(g, sizeof specials / sizeof specials[0])];
      if (kind == VALUES_ZERO_BLOCKS && zero < 3)
        bits = zero == 0 ? 0 : zero == 1 ? 0x80000000u : generator_bits(g) & 0x80000000u;
      if (kind == VALUES_BITS) bits = generator_bits(g);
      if (kind == VALUES_EXTREME) bits = extreme(g, dtype);
      if (kind != VALUES_BITS) bits = values_cut(dtype, bits);
      values_store(data, dtype, r * stride_elems + c, bits);
    }
  }
}
