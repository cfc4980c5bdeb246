/* encode_neon.h: 32 binary32 values into codes, one a byte: array.h says how. For leaves only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_ENCODE_NEON_H
#define MXG_SIMD_ENCODE_NEON_H

#include "encode.h"
#include "ops_neon.h"

#define MXG_ENCODE_GROUP 32

typedef struct mxg_encoder {
  v32 magnitude, clamp, exponent, least, addend;
  int32x4_t drop; /* to the left */
  int8x16_t sign_shift;
  uint8x16_t sign_mask, minus_zero;
  int fnuz;
} mxg_encoder;

MXG_OP void mxg_encoder_init(mxg_encoder *e, const mxg_encoding *encoding) {
  e->magnitude = v_set(~MXG_F32_SIGN);
  e->clamp = v_set(mxg_f32_bits(encoding->clamp));
  e->exponent = v_set(MXG_F32_INF);
  e->least = v_set(encoding->least);
  e->addend = v_set(encoding->addend);
  e->drop = vdupq_n_s32(-encoding->drop);
  e->sign_shift = vdupq_n_s8((int8_t)(encoding->bits - 8));
  e->sign_mask = vdupq_n_u8((uint8_t)(0x100 - (1 << (encoding->bits - 1))));
  e->minus_zero = vdupq_n_u8(0x80);
  e->fnuz = encoding->fnuz;
  MXG_KEEP(e->magnitude);
  MXG_KEEP(e->clamp);
  MXG_KEEP(e->exponent);
  MXG_KEEP(e->least);
  MXG_KEEP(e->addend);
  MXG_KEEP(e->drop);
  MXG_KEEP(e->sign_shift);
  MXG_KEEP(e->sign_mask);
}

/* 16 codes; x: their values, m: the magnitudes of these. Only then, in bytes, come the signs. */
MXG_OP uint8x16_t mxg_encode_16(const mxg_encoder *e, const v32 x[4], const v32 m[4]) {
  uint8x16_t codes, signs = v_high_bytes(v_high_words(x[0], x[1]), v_high_words(x[2], x[3]));
  v32 c[4];
  MXG_UNROLL for (int i = 0; i < 4; i++) {
    const v32 a = v_min(m[i], e->clamp);
    const v32 sum = v_fadd(a, v_add(v_max(v_and(a, e->exponent), e->least), e->addend));
    c[i] = v_add(sum, vshlq_u32(sum, e->drop));
  }
  codes = v_low_bytes(v_low_words(c[0], c[1]), v_low_words(c[2], c[3]));
  signs = vshlq_u8(signs, e->sign_shift); /* to the right */
  return vbslq_u8(e->sign_mask, signs, codes);
}

/* Returns 0 if there is a NaN or an Inf. */
MXG_OP int mxg_encode_group(const mxg_encoder *e, const uint8_t *x, uint8_t *codes) {
  uint8x16_t c[2];
  v32 largest = v_set(0);
  MXG_UNROLL for (int h = 0; h < 2; h++) {
    v32 v[4], m[4];
    MXG_UNROLL for (int i = 0; i < 4; i++) {
      v[i] = v_load(x + 64 * h + 16 * i);
      m[i] = v_and(v[i], e->magnitude);
      largest = v_max(largest, m[i]);
    }
    c[h] = mxg_encode_16(e, v, m);
    if (e->fnuz) c[h] = vbicq_u8(c[h], vceqq_u8(c[h], e->minus_zero));
  }
  if (vmaxvq_u32(largest) >= MXG_F32_INF) return 0;
  vst1q_u8(codes, c[0]);
  vst1q_u8(codes + 16, c[1]);
  return 1;
}

#endif
