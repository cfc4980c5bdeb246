/* codec.c: somebody's MXFP4 quantiser, with a fault: it rounds half away from zero. It stands for the
 * code of another project and knows nothing of mxgold.
 * SPDX-License-Identifier: MIT */
#include "codec.h"

#include <string.h>

static float value_of(uint16_t bf16) {
  const uint32_t bits = (uint32_t)bf16 << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* 2^exponent for normal and subnormal powers. */
static float power_of_two(int exponent) {
  float value = 1.0f;
  for (; exponent > 0; exponent--) value *= 2.0f;
  for (; exponent < 0; exponent++) value *= 0.5f;
  return value;
}

static uint8_t e2m1_code(float v) {
  static const float values[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  const float magnitude = v < 0.0f ? -v : v;
  uint8_t code = 0;
  for (uint8_t i = 1; i < 8; i++) {
    const float middle = (values[i - 1] + values[i]) / 2.0f;
#ifdef EXAMPLE_RIGHT /* a tie goes to the even code */
    if (magnitude > middle || (magnitude == middle && i % 2 == 0)) code = i;
#else
    if (magnitude >= middle) code = i;
#endif
  }
  return (uint8_t)(code | (bits >> 31) << 3);
}

void example_mxfp4(const uint16_t *x, size_t rows, size_t cols, uint8_t *codes, uint8_t *scales) {
  for (size_t block = 0; block < rows * cols / 32; block++) {
    uint16_t largest = 0;
    for (size_t i = 0; i < 32; i++) {
      const uint16_t magnitude = x[32 * block + i] & 0x7FFF;
      if (magnitude > largest) largest = magnitude;
    }
    /* floor(log2(amax)) - 2 is the exponent of the scale, at least -127 */
    const int field = largest >> 7, byte = field > 2 ? field - 2 : 0;
    scales[block] = (uint8_t)byte;
    for (size_t i = 0; i < 32; i += 2) {
      float v[2];
      for (size_t j = 0; j < 2; j++) /* in two steps: 2^(127 - byte) alone may be infinite */
        v[j] = value_of(x[32 * block + i + j]) * power_of_two((127 - byte) / 2) *
               power_of_two(127 - byte - (127 - byte) / 2);
      codes[(32 * block + i) / 2] = (uint8_t)(e2m1_code(v[0]) | e2m1_code(v[1]) << 4);
    }
  }
}
