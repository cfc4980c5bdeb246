/* input.c: the generated input of the digest program: the same on every machine.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "digest.h"

static uint64_t random_state;

void input_seed(uint64_t seed) {
  random_state = seed;
}

/* splitmix64 */
uint32_t input_random(void) {
  uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (uint32_t)((z ^ (z >> 31)) >> 32);
}

const uint32_t input_specials[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0x3FC00000,
    0x3FC00001, 0x3FE00000, 0x3FDFFFFF, 0x3F7FFFFF, 0x40C00000, 0x40C00001, 0x40A00000, 0x40F00000,
    0x41E00000, 0x43700000, 0x43780000, 0x43E00000, 0x43E80000, 0x43E80001, 0xC3E88000, 0x47600000,
    0x47700000, 0x3E800000, 0x3B000000, 0x3A800000, 0x1E3CE508, 0x2EDBE6FF, 0x7F7FFFFF, 0xFF7FFFFF,
    0x7F000000, 0x7F000001, 0x7F400000, 0x7F600000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000,
    0x7F800001, 0x01400000, 0x01400001, 0x01400002, 0x04600000, 0x04600001, 0x04600002, 0x03F00001,
    0x03F00002, 0x01700001, 0x01700002, 0x02600001, 0x02600002, 0x07E00001, 0x07E00002};
const size_t input_special_count = sizeof input_specials / sizeof input_specials[0];

const mxg_dtype input_dtypes[3] = {MXG_DTYPE_F32, MXG_DTYPE_F16, MXG_DTYPE_BF16};
const char *const input_dtype_names[3] = {"f32", "f16", "bf16"};

static uint32_t input_bits(size_t row, size_t i) {
  switch (row % 4) {
    case 0: {
      const float value = (float)((int)(i % 251) - 125) / 16.0f;
      uint32_t bits;
      memcpy(&bits, &value, 4);
      return bits;
    }
    case 1: return (input_random() & 0x807FFFFF) | (119 + input_random() % 13) << 23;
    case 2: return input_random();
    default: {
      const uint32_t pick = input_random();
      if (i / 32 % 3 == 1) return pick & 0x80000000;
      return input_specials[pick % (input_special_count)];
    }
  }
}

/* Toward zero, out of range to the nearest finite value: only has to be some f16. */
static uint16_t f16_from_bits(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 255;
  if (exponent == 255) return (uint16_t)(sign | 0x7C00 | (bits & 0x7FFFFF ? 0x201 : 0));
  if (exponent > 142) return (uint16_t)(sign | 0x7BFF);
  if (exponent < 113) return (uint16_t)(sign | (bits << 1 ? 1 : 0));
  return (uint16_t)(sign | (exponent - 112) << 10 | (bits >> 13 & 0x3FF));
}

void input_fill(void *values, mxg_dtype dtype, size_t rows, size_t cols) {
  char *at = values;
  for (size_t row = 0; row < rows; row++)
    for (size_t i = 0; i < cols; i++) {
      const uint32_t bits = input_bits(row, i);
      const uint16_t half = dtype == MXG_DTYPE_BF16 ? (uint16_t)(bits >> 16) : f16_from_bits(bits);
      if (dtype == MXG_DTYPE_F32)
        memcpy(at, &bits, 4);
      else
        memcpy(at, &half, 2);
      at += mxg_dtype_bytes(dtype);
    }
}

void input_fill_bytes(uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)input_random();
}
