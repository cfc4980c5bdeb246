/* decode.h: codes and scales to floats.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_DECODE_H
#define MXGOLD_GPU_DECODE_H

#include "native.h"
#include "places.h"

/* FP4 as f16 in the halves of words, where the chip has such arithmetic. The bits s e e m, moved to
 * s000eem0 in the upper byte of a half, are 2^-14 of the value. Words: elements 0 and 2, 4 and 6, 1
 * and 3, 5 and 7. */
#if MXG_HAS_F16X2
#define MXG_E2M1_UNIT 0x1p14f
MXG_DEVICE void mxg_decode_e2m1_units(uint32_t codes, float *v) {
  const uint32_t even = (codes << 1 & 0x0E0E0E0Eu) | (codes << 4 & 0x80808080u);
  const uint32_t odd = (codes >> 3 & 0x0E0E0E0Eu) | (codes & 0x80808080u);
  const uint32_t halves[4] = {mxg_bytes(even, 0, 0x1404), mxg_bytes(even, 0, 0x3424),
                              mxg_bytes(odd, 0, 0x1404), mxg_bytes(odd, 0, 0x3424)};
  MXG_UNROLL
  for (uint32_t i = 0; i < 4; i++) {
    v[i % 2 * 4 + i / 2] = mxg_f16_value(halves[i] & 0xFFFFu);
    v[i % 2 * 4 + i / 2 + 2] = mxg_f16_value(halves[i] >> 16);
  }
}
#else /* never called */
#define MXG_E2M1_UNIT 1.0f
MXG_DEVICE void mxg_decode_e2m1_units(uint32_t codes, float *v) {
  (void)codes;
  v[0] = 0.0f;
}
#endif

/* 8 codes to floats in units of mxg_decode_unit(). The bits of a magnitude, moved to the top of a
 * binary32's exponent and mantissa, are the value less the difference of the biases, subnormals
 * too. */
MXG_DEVICE float mxg_decode_unit(mxg_element element, int native) {
  return element == MXG_ELEMENT_E2M1 && !native ? MXG_E2M1_UNIT : 1.0f;
}
MXG_DEVICE void mxg_decode_8(mxg_element element, int native, const uint32_t *codes, float *v) {
  const mxg_traits t = mxg_element_traits(element);
  const float rebias = mxg_f32_from_bits((uint32_t)(254 - t.bias) << 23);
  if (native && element == MXG_ELEMENT_E4M3FN) {
    mxg_native_decode_e4m3fn(codes, v);
    return;
  }
  if (native && element == MXG_ELEMENT_E2M1) {
    mxg_native_decode_e2m1(codes[0], v);
    return;
  }
  if (MXG_HAS_F16X2 && element == MXG_ELEMENT_E2M1) {
    mxg_decode_e2m1_units(codes[0], v);
    return;
  }
  MXG_UNROLL
  for (uint32_t i = 0; i < 8; i++) {
    const uint32_t code =
        t.bits == 4 ? codes[0] >> (4 * i) & 15u : codes[i / 4] >> (8 * (i % 4)) & 255u;
    const uint32_t magnitude = code & (t.sign_bit - 1u);
    const uint32_t sign = (code & t.sign_bit) << (32 - t.bits);
    v[i] = mxg_f32_from_bits(magnitude << (23 - t.mantissa_bits) | sign) * rebias;
    if (t.fnuz != 0 ? code == 0x80u : t.bits == 8 && magnitude > t.max_code)
      v[i] = mxg_f32_from_bits(mxg_decode_bits(t, code, 0));
  }
}

/* Code number i of a row, any format. */
MXG_DEVICE uint32_t mxg_code_at(const uint8_t *codes, int code_bits, size_t i) {
  const uint8_t *byte = codes + i / 4 * 3 + i % 4 * 6 / 8;
  const uint32_t bit = (uint32_t)(i % 4 * 6 % 8);
  if (code_bits == 8) return codes[i];
  if (code_bits == 4) return (uint32_t)codes[i / 2] >> (i % 2 * 4) & 15u;
  return (byte[0] >> bit | (bit > 2 ? (uint32_t)byte[1] << (8 - bit) : 0u)) & 63u;
}

/* Do markers tell scaled rows from others (section 5)? */
MXG_DEVICE int mxg_is_marked(const mxg_gpu_args *a) {
  return a->recipe.scale == MXG_SCALE_F32 && a->recipe.marker != MXG_MARKER_NONE;
}

/* Is the first stored scale one of a scaled row? Not -0.0, not NaN. */
MXG_DEVICE int mxg_is_mark(uint32_t first) {
  return mxg_f32_from_bits(first) < 0.0f;
}

/* The value of a stored scale of a scaled row: an E8M0 byte or the bits of a float. */
MXG_DEVICE float mxg_scale_of(const mxg_gpu_args *a, uint32_t stored, size_t block) {
  if (a->recipe.scale == MXG_SCALE_E8M0)
    return mxg_f32_from_bits(mxg_e8m0_bits(a->recipe.edges, stored));
  return mxg_f32_from_bits(block == 0 && mxg_is_marked(a) ? stored & ~MXG_F32_SIGN : stored);
}

/* The scale at p. */
MXG_DEVICE float mxg_scale_value(const mxg_gpu_args *a, const uint8_t *p, size_t block) {
  return mxg_scale_of(a, a->recipe.scale == MXG_SCALE_E8M0 ? *p : mxg_load_word(p), block);
}

/* 1 if the scales of a row apply. first: where its first scale is stored. */
MXG_DEVICE int mxg_row_is_scaled(const mxg_gpu_args *a, const uint8_t *first) {
  if (a->layout.scales_used == 0) return 0;
  return !mxg_is_marked(a) || mxg_is_mark(mxg_load_word(first));
}

/* Two floats as halves of dtype, bf16 or f16, each NaN canonical. */
MXG_DEVICE uint32_t mxg_half_pair(mxg_dtype dtype, float low, float high) {
#if MXG_HAS_CVT_HALVES
  return dtype == MXG_DTYPE_BF16 ? mxg_cvt_bf16x2_f32(low, high) : mxg_cvt_f16x2_f32(low, high);
#else
  return mxg_value_as(mxg_f32_bits(low), dtype) | mxg_value_as(mxg_f32_bits(high), dtype) << 16;
#endif
}

/* Values of dtype, each NaN canonical, 16-byte aligned. */
MXG_DEVICE void mxg_store_8(uint8_t *y, mxg_dtype dtype, const float *v) {
  uint32_t w[8];
  if (dtype == MXG_DTYPE_F32) {
    MXG_UNROLL
    for (uint32_t i = 0; i < 8; i++) w[i] = mxg_value_as(mxg_f32_bits(v[i]), MXG_DTYPE_F32);
    mxg_store16(y, w);
    mxg_store16(y + 16, w + 4);
    return;
  }
  MXG_UNROLL
  for (uint32_t i = 0; i < 4; i++) w[i] = mxg_half_pair(dtype, v[2 * i], v[2 * i + 1]);
  mxg_store16(y, w);
}

#endif
