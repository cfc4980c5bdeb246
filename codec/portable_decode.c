/* portable_decode.c: loads, stores and decoding of a stretch of a row, for any CPU.
 * SPDX-License-Identifier: MIT */
#include "internal.h"

void mxg_portable_load(const void *x, size_t count, mxg_dtype dtype, uint32_t *bits) {
  const uint8_t *bytes = (const uint8_t *)x;
  if (dtype == MXG_DTYPE_F32) {
    memcpy(bits, bytes, 4 * count);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    uint16_t half;
    memcpy(&half, bytes + 2 * i, 2);
    bits[i] = dtype == MXG_DTYPE_BF16 ? mxg_bits_from_bf16(half) : mxg_bits_from_f16(half);
  }
}

void mxg_portable_store(const uint32_t *bits, size_t count, mxg_dtype dtype, void *y) {
  uint8_t *bytes = (uint8_t *)y;
  if (dtype == MXG_DTYPE_F32) {
    for (size_t i = 0; i < count; i++) {
      const uint32_t value = (bits[i] & ~MXG_F32_SIGN) > MXG_F32_INF ? MXG_F32_NAN : bits[i];
      memcpy(bytes + 4 * i, &value, 4);
    }
    return;
  }
  for (size_t i = 0; i < count; i++) {
    const uint16_t half =
        dtype == MXG_DTYPE_BF16 ? mxg_bits_to_bf16(bits[i]) : mxg_bits_to_f16(bits[i]);
    memcpy(bytes + 2 * i, &half, 2);
  }
}

float mxg_portable_scale(const mxg_plan *plan, const uint8_t *scales, int first_negated,
                         size_t block) {
  uint32_t bits;
  if (plan->recipe.scale == MXG_SCALE_E8M0)
    return mxg_f32_from_bits(mxg_e8m0_bits(plan->recipe.edges, scales[block]));
  bits = mxg_load_le32(scales + 4 * block);
  if (first_negated && block == 0) bits &= ~MXG_F32_SIGN;
  return mxg_f32_from_bits(bits);
}

/* Code number i of a row (section 2, packing). */
static inline uint32_t code_at(const uint8_t *codes, int code_bits, size_t i) {
  if (code_bits == 8) return codes[i];
  if (code_bits == 4) return (uint32_t)codes[i / 2] >> (i % 2 * 4);
  /* 6 bits: 4 codes in 3 bytes; the second byte is read only where the code reaches into it */
  const uint8_t *byte = codes + i / 4 * 3 + i % 4 * 6 / 8;
  const uint32_t bit = (uint32_t)(i % 4 * 6 % 8);
  return (uint32_t)byte[0] >> bit | (bit > 2 ? (uint32_t)byte[1] << (8 - bit) : 0u);
}

/* One loop per format, so that the compiler sees constant traits. */
#define DECODE_CASE(element)                                                  \
  case element: {                                                             \
    const mxg_traits t = mxg_element_traits(element);                         \
    for (size_t i = 0; i < count; i++)                                        \
      bits[i] = mxg_decode_bits(t, code_at(codes, t.bits, first + i), shift); \
    break;                                                                    \
  }

void mxg_portable_decode(mxg_element element, const uint8_t *codes, size_t first, size_t count,
                         int shift, uint32_t *bits) {
  switch (element) {
    DECODE_CASE(MXG_ELEMENT_E4M3FN)
    DECODE_CASE(MXG_ELEMENT_E4M3FNUZ)
    DECODE_CASE(MXG_ELEMENT_E5M2)
    DECODE_CASE(MXG_ELEMENT_E5M2FNUZ)
    DECODE_CASE(MXG_ELEMENT_E2M1)
    DECODE_CASE(MXG_ELEMENT_E2M3)
    DECODE_CASE(MXG_ELEMENT_E3M2)
  }
}
