/* decode_neon.h: what combine.h and dequantize.h are written in, for aarch64: codes into vectors of
 * binary32, scales into factors, sums into values. For leaves only.
 *
 * A group is 32 elements in 8 vectors, in their natural order.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_DECODE_NEON_H
#define MXG_SIMD_DECODE_NEON_H

#include "decode.h"
#include "decode_table.h"
#include "ops_neon.h"

typedef float32x4_t mxg_vector;
#define MXG_VECTORS 8         /* of a group */
#define MXG_GROUP 32          /* elements */
#define MXG_TILE 2            /* groups that a loop over sources keeps in registers */
#define MXG_UNIT 32           /* elements that share a scale: mxg_serves_decode_f16() */
#define MXG_SLOW_SUBNORMALS 0 /* are arithmetic on those and its traps slower than portable? */

#define MXG_PREFETCH_LINE(p) __builtin_prefetch(p)

/* ---- arithmetic ---- */

MXG_OP mxg_vector mxg_zero(void) {
  return vdupq_n_f32(0.0f);
}
MXG_OP mxg_vector mxg_broadcast(float x) {
  return vdupq_n_f32(x);
}
MXG_OP mxg_vector mxg_load(const float *x) {
  return vld1q_f32(x);
}
MXG_OP void mxg_store(float *y, mxg_vector x) {
  vst1q_f32(y, x);
}
MXG_OP mxg_vector mxg_mul(mxg_vector a, mxg_vector b) {
  return vmulq_f32(a, b);
}
MXG_OP mxg_vector mxg_add(mxg_vector a, mxg_vector b) {
  return vaddq_f32(a, b);
}
MXG_OP mxg_vector mxg_fma(mxg_vector a, mxg_vector b, mxg_vector c) {
  return vfmaq_f32(c, a, b);
}
/* 1 if in some lane a is below or above b (a NaN is neither) */
MXG_OP int mxg_any_unequal(mxg_vector a, mxg_vector b) {
  return vmaxvq_u32(vorrq_u32(vcgtq_f32(a, b), vcgtq_f32(b, a))) != 0;
}
/* 1/x of powers of two between 2^-126 and 2^126; of 2^-127 and 0 something else */
MXG_OP mxg_vector mxg_rcp_power(mxg_vector x) {
  return vreinterpretq_f32_u32(vsubq_u32(vdupq_n_u32(254u << 23), vreinterpretq_u32_f32(x)));
}

/* ---- scales ---- */

typedef uint8x16_t mxg_bytes;

MXG_OP mxg_bytes mxg_zero_bytes(void) {
  return vdupq_n_u8(0);
}
/* The first `count`, or all 16. */
MXG_OP mxg_bytes mxg_load_scales(const uint8_t *scales, size_t count) {
  uint8_t copy[16] = {0};
  if (count >= 16) return vld1q_u8(scales);
  memcpy(copy, scales, count);
  return vld1q_u8(copy);
}
MXG_OP mxg_bytes mxg_max_bytes(mxg_bytes a, mxg_bytes b) {
  return vmaxq_u8(a, b);
}
/* A bit for each. */
MXG_OP uint32_t mxg_bytes_above(mxg_bytes bytes, int limit) {
  static const uint8_t bits[8] = {1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bit = vcombine_u8(vld1_u8(bits), vld1_u8(bits));
  const uint8x16_t above = vandq_u8(vcgtq_u8(bytes, vdupq_n_u8((uint8_t)limit)), bit);
  return vaddv_u8(vget_low_u8(above)) | (uint32_t)vaddv_u8(vget_high_u8(above)) << 8;
}
/* 2^(byte - 127 + shift) of 16 E8M0 bytes, 0 <= shift; zero: 0.0 for byte 00. Wrong for bytes above
 * 254 - shift. */
MXG_OP void mxg_e8m0_vectors(mxg_bytes bytes, int shift, int zero, float f[16]) {
  const uint16x8_t half[2] = {vmovl_u8(vget_low_u8(bytes)), vmovl_u8(vget_high_u8(bytes))};
  MXG_UNROLL for (int i = 0; i < 4; i++) {
    const uint16x8_t h = half[i / 2];
    const uint32x4_t byte = vmovl_u16(i % 2 == 0 ? vget_low_u16(h) : vget_high_u16(h));
    uint32x4_t bits = vshlq_n_u32(vaddq_u32(byte, vdupq_n_u32((uint32_t)shift)), 23);
    if (zero)
      bits = vandq_u32(bits, vtstq_u32(byte, byte));
    else
      bits = vmaxq_u32(bits, vdupq_n_u32(0x400000u)); /* 2^-127, where a field of 0 says zero */
    vst1q_f32(f + 4 * i, vreinterpretq_f32_u32(bits));
  }
}

/* ---- decoding ---- */

typedef enum mxg_decoding {
  MXG_DECODING_E4M3,
  MXG_DECODING_E4M3FNUZ,
  MXG_DECODING_E5M2,
  MXG_DECODING_FP4
} mxg_decoding;

typedef struct mxg_decoder {
  mxg_decoding decoding;
  int shift;       /* elements come out divided by 2^shift */
  uint8x16_t seen; /* E4M3: what says whether one of the codes was a NaN */
  uint8x16_t zero, nibble, high, low;
} mxg_decoder;

static inline mxg_decoding mxg_decoding_of(mxg_element element) {
  return element == MXG_ELEMENT_E2M1       ? MXG_DECODING_FP4
         : element == MXG_ELEMENT_E4M3FNUZ ? MXG_DECODING_E4M3FNUZ
         : element == MXG_ELEMENT_E5M2     ? MXG_DECODING_E5M2
                                           : MXG_DECODING_E4M3;
}

/* pairs: of no use here */
MXG_OP void mxg_decoder_init(mxg_decoder *d, mxg_decoding decoding, mxg_element element, int e8m0,
                             int pairs) {
  (void)element;
  (void)pairs;
  d->decoding = decoding;
  d->zero = d->seen = vdupq_n_u8(0);
  d->nibble = vdupq_n_u8(15);
  switch (decoding) { /* biases: binary16 15, E4M3FN 7, E4M3FNUZ 8 */
    case MXG_DECODING_E4M3: d->shift = 8; break;
    case MXG_DECODING_E4M3FNUZ: d->shift = 7; break;
    case MXG_DECODING_E5M2: d->shift = 0; break;
    case MXG_DECODING_FP4:
      d->shift = e8m0 ? MXG_TABLE_SHIFT : 0;
      d->high = vld1q_u8(mxg_fp4_tables[e8m0].high);
      d->low = vld1q_u8(mxg_fp4_tables[e8m0].low);
      MXG_KEEP(d->high);
      MXG_KEEP(d->low);
      MXG_KEEP(d->nibble);
      break;
  }
  if (decoding == MXG_DECODING_E5M2 || decoding == MXG_DECODING_FP4) MXG_KEEP(d->zero);
}

MXG_OP void mxg_from_binary16(uint16x8_t h, mxg_vector t[2]) {
  const float16x8_t f = vreinterpretq_f16_u16(h);
  t[0] = vcvt_f32_f16(vget_low_f16(f));
  t[1] = vcvt_high_f32_f16(f);
}

/* 16 codes. E5M2 is the upper byte of a binary16. E4M3 has its fields 7 bits below: widened with
 * its sign, it lacks but the one bit of the exponent that is to be 0. */
MXG_OP void mxg_decode_fp8(mxg_decoder *d, const uint8_t *codes, mxg_vector t[4]) {
  const uint8x16_t x = vld1q_u8(codes);
  uint16x8_t h[2];
  if (d->decoding == MXG_DECODING_E5M2) {
    h[0] = vreinterpretq_u16_u8(vzip1q_u8(d->zero, x));
    h[1] = vreinterpretq_u16_u8(vzip2q_u8(d->zero, x));
  } else {
    const int8x16_t s = vreinterpretq_s8_u8(x);
    const uint16x8_t excess = vdupq_n_u16(0x4000);
    if (d->decoding == MXG_DECODING_E4M3FNUZ)
      d->seen = vreinterpretq_u8_s8(vminq_s8(vreinterpretq_s8_u8(d->seen), s));
    else
      d->seen = vmaxq_u8(d->seen, vaddq_u8(x, x)); /* without the sign */
    h[0] = vbicq_u16(vreinterpretq_u16_s16(vshll_n_s8(vget_low_s8(s), 7)), excess);
    h[1] = vbicq_u16(vreinterpretq_u16_s16(vshll_high_n_s8(s, 7)), excess);
  }
  mxg_from_binary16(h[0], t);
  mxg_from_binary16(h[1], t + 2);
}

/* 16 codes, one a byte: two look-ups for the bytes of a bf16. */
MXG_OP void mxg_decode_fp4_bytes(const mxg_decoder *d, uint8x16_t index, mxg_vector t[4]) {
  const uint8x16_t high = vqtbl1q_u8(d->high, index), low = vqtbl1q_u8(d->low, index);
  const uint16x8_t first = vreinterpretq_u16_u8(vzip1q_u8(low, high));
  const uint16x8_t second = vreinterpretq_u16_u8(vzip2q_u8(low, high));
  const uint16x8_t zero = vreinterpretq_u16_u8(d->zero);
  t[0] = vreinterpretq_f32_u16(vzip1q_u16(zero, first));
  t[1] = vreinterpretq_f32_u16(vzip2q_u16(zero, first));
  t[2] = vreinterpretq_f32_u16(vzip1q_u16(zero, second));
  t[3] = vreinterpretq_f32_u16(vzip2q_u16(zero, second));
}

/* 32 codes: nibbles in order. */
MXG_OP void mxg_decode_fp4(const mxg_decoder *d, const uint8_t *codes, mxg_vector t[MXG_VECTORS]) {
  const uint8x16_t x = vld1q_u8(codes);
  const uint8x16_t even = vandq_u8(x, d->nibble), odd = vshrq_n_u8(x, 4);
  mxg_decode_fp4_bytes(d, vzip1q_u8(even, odd), t);
  mxg_decode_fp4_bytes(d, vzip2q_u8(even, odd), t + 4);
}

/* A group of codes into vectors. */
MXG_OP void mxg_decode(mxg_decoder *d, const uint8_t *codes, mxg_vector t[MXG_VECTORS]) {
  if (d->decoding == MXG_DECODING_FP4) {
    mxg_decode_fp4(d, codes, t);
  } else {
    mxg_decode_fp8(d, codes, t);
    mxg_decode_fp8(d, codes + 16, t + 4);
  }
}

/* Since begin, was there a NaN code of E4M3, which came out as a number? */
MXG_OP void mxg_decoder_begin(mxg_decoder *d) {
  d->seen = vdupq_n_u8(0);
}
MXG_OP int mxg_missed_nan(const mxg_decoder *d) {
  if (d->decoding == MXG_DECODING_E4M3) return vmaxvq_u8(d->seen) == 0xFE;
  return d->decoding == MXG_DECODING_E4M3FNUZ && vminvq_s8(vreinterpretq_s8_u8(d->seen)) == -128;
}
/* Makes NaN of those in a group: all bits set. */
MXG_OP void mxg_mark_nan(const mxg_decoder *d, const uint8_t *codes, mxg_vector t[MXG_VECTORS]) {
  if (d->decoding != MXG_DECODING_E4M3 && d->decoding != MXG_DECODING_E4M3FNUZ) return;
  MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i += 2) {
    const uint8x8_t x = vld1_u8(codes + 4 * i);
    const uint8x8_t nan = d->decoding == MXG_DECODING_E4M3 ? vceq_u8(vadd_u8(x, x), vdup_n_u8(0xFE))
                                                           : vceq_u8(x, vdup_n_u8(0x80));
    const int16x8_t word = vmovl_s8(vreinterpret_s8_u8(nan));
    const int32x4_t low = vmovl_s16(vget_low_s16(word)), high = vmovl_high_s16(word);
    t[i] = vreinterpretq_f32_s32(vorrq_s32(vreinterpretq_s32_f32(t[i]), low));
    t[i + 1] = vreinterpretq_f32_s32(vorrq_s32(vreinterpretq_s32_f32(t[i + 1]), high));
  }
}

/* The factors of a group's vectors: a group is one unit. */
MXG_OP void mxg_group_factors(const mxg_decoder *d, mxg_spread spread, const uint8_t *factors,
                              const size_t *blocks, mxg_vector f[MXG_VECTORS]) {
  (void)d;
  (void)spread;
  MXG_UNROLL for (int v = 0; v < MXG_VECTORS; v++) f[v] =
      vdupq_n_f32(mxg_factor_at(factors, blocks[0]));
}

/* ---- values ---- */

typedef struct mxg_writer {
  mxg_vector nan;
  uint32x4_t half;
} mxg_writer;

MXG_OP void mxg_writer_init(mxg_writer *w, const mxg_decoder *d) {
  (void)d;
  w->nan = vreinterpretq_f32_u32(vdupq_n_u32(MXG_F32_NAN));
  w->half = vdupq_n_u32(0x7FFF);
}

/* Adds bit 16: with 7FFF, what bf16 needs to round to nearest even. */
MXG_OP uint32x4_t mxg_add_odd(mxg_vector x) {
  const uint32x4_t bits = vreinterpretq_u32_f32(x);
  return vsraq_n_u32(bits, vshlq_n_u32(bits, 15), 31);
}

/* A group of sums into values, each NaN canonical. stream: nothing here. */
MXG_OP void mxg_write(const mxg_writer *w, const mxg_decoder *d, mxg_vector t[MXG_VECTORS],
                      mxg_dtype dtype, int stream, uint8_t *y) {
  (void)d;
  (void)stream;
  MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i++) t[i] =
      vbslq_f32(vceqq_f32(t[i], t[i]), t[i], w->nan);
  MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i += 2) {
    if (dtype == MXG_DTYPE_F32) {
      vst1q_u8(y + 16 * i, vreinterpretq_u8_f32(t[i]));
      vst1q_u8(y + 16 * i + 16, vreinterpretq_u8_f32(t[i + 1]));
    } else if (dtype == MXG_DTYPE_BF16) { /* upper halves of the sums */
      const uint16x4_t low = vaddhn_u32(mxg_add_odd(t[i]), w->half);
      vst1q_u8(y + 8 * i,
               vreinterpretq_u8_u16(vaddhn_high_u32(low, mxg_add_odd(t[i + 1]), w->half)));
    } else {
      const float16x8_t half = vcvt_high_f16_f32(vcvt_f16_f32(t[i]), t[i + 1]);
      vst1q_u8(y + 8 * i, vreinterpretq_u8_f16(half));
    }
  }
}

/* A group of codes, one a byte, into binary32. */
MXG_OP void mxg_decode_group(mxg_decoder *d, const mxg_writer *w, const uint8_t *codes,
                             uint8_t *y) {
  mxg_vector t[MXG_VECTORS];
  mxg_decoder_begin(d);
  if (d->decoding == MXG_DECODING_FP4) {
    mxg_decode_fp4_bytes(d, vandq_u8(vld1q_u8(codes), d->nibble), t);
    mxg_decode_fp4_bytes(d, vandq_u8(vld1q_u8(codes + 16), d->nibble), t + 4);
  } else {
    mxg_decode(d, codes, t);
    if (mxg_missed_nan(d)) mxg_mark_nan(d, codes, t);
    if (d->shift != 0) {
      const mxg_vector up = vdupq_n_f32((float)(1 << d->shift));
      MXG_UNROLL for (int v = 0; v < MXG_VECTORS; v++) t[v] = vmulq_f32(t[v], up);
    }
  }
  mxg_write(w, d, t, MXG_DTYPE_F32, 0, y);
}

#endif
