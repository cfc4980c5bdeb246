/* values.c: values to quantise. Made as bits: a signalling NaN survives on every machine.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "choose.h"

/* f32 bits: zeros, NaNs, infinities, subnormals, the formats' maxima and ties, neighbours of 1e-10,
 * borders of exponent fields. */
static const uint32_t specials[] = {
    0x00000000, 0x80000000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0xFFBFFFFF, 0x7F800000,
    0xFF800000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x00400000, 0x00400001,
    0x7F7FFFFF, 0xFF7FFFFF, 0x43E00000, 0x43E80000, 0x43E80001, 0x43700000, 0x43780000,
    0x47600000, 0x47700000, 0x40C00000, 0x40A00000, 0x40F00000, 0x41E00000, 0x2EDBE6FE,
    0x2EDBE6FF, 0x2EDBE700, 0x3F800000, 0x3F7FFFFF, 0x3FC00000, 0x3FBFFFFF, 0x3FE00000,
    0xBFFFFFFF, 0x7F000000, 0x7F400000, 0x7F600000, 0x01400001, 0x04600001, 0x3E800000};

static uint32_t cut_to_f16(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | 0x7C01u | (magnitude >> 13 & 0x3FFu);
  if (magnitude == 0x7F800000u) return sign | 0x7C00u;
  if (magnitude >= 0x47800000u) return sign | 0x7BFFu;
  if (magnitude >= 0x38800000u) return sign | (magnitude - 0x38000000u) >> 13;
  const uint32_t exponent = magnitude >> 23, mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
  return exponent < 103 ? sign : sign | mantissa >> (126 - exponent);
}

/* f32 bits cut down to a type, toward zero; NaN stays NaN. */
static uint32_t cut(mxg_dtype dtype, uint32_t bits) {
  if (dtype == MXG_DTYPE_F32) return bits;
  if (dtype == MXG_DTYPE_F16) return cut_to_f16(bits);
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return bits >> 16 | (is_nan && (bits & 0x7F0000u) == 0 ? 1u : 0u);
}

static bool is_finite(mxg_dtype dtype, uint32_t bits) {
  const uint32_t field = dtype == MXG_DTYPE_F32   ? 0x7F800000u
                         : dtype == MXG_DTYPE_F16 ? 0x7C00u
                                                  : 0x7F80u;
  return (bits & field) != field;
}

static void store(uint8_t *data, size_t width, size_t index, uint32_t bits) {
  const uint16_t half = (uint16_t)bits;
  if (width == 4)
    memcpy(data + 4 * index, &bits, 4);
  else
    memcpy(data + 2 * index, &half, 2);
}

void fuzz_choose_values(fuzz_input *in, mxg_dtype dtype, size_t count, void *data) {
  const size_t width = dtype == MXG_DTYPE_F32 ? 4 : 2;
  const uint8_t how = fuzz_u8(in), exponent = fuzz_u8(in), odd = fuzz_u8(in);
  fuzz_stream stream = {fuzz_u32(in)};
  const uint8_t *raw = in->data + in->at;
  const size_t raw_bytes = in->bytes - in->at;
  const uint32_t spread = 1u << (how >> 2 & 7);
  const bool is_raw = how % 4 == 1 && raw_bytes > 0;
  for (size_t i = 0; i < count; i++) {
    const uint64_t bits = fuzz_next(&stream);
    const uint32_t field = (exponent + 256u - (uint32_t)(bits >> 40) % spread) % 256u;
    uint32_t value = cut(dtype, ((uint32_t)bits & 0x807FFFFFu) | field << 23);
    if ((uint8_t)(bits >> 56) < odd)
      value = cut(dtype, specials[(bits >> 48 & 0xFF) % (sizeof specials / sizeof specials[0])]);
    if (how % 4 == 2) value = cut(dtype, (uint32_t)bits);
    if (is_raw) {
      value = 0;
      for (size_t b = 0; b < width; b++)
        value |= (uint32_t)raw[(i * width + b) % raw_bytes] << 8 * b;
    }
    if (fuzz_subject_under_test.finite && !is_finite(dtype, value)) value = 0;
    store(data, width, i, value);
  }
  in->at = in->bytes;
}
