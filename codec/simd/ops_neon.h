/* ops_neon.h: the vector operations that the templates are written in, for the SIMD instructions
 * that every aarch64 CPU has: 4 lanes of 32 bits. For leaves only, little-endian.
 *
 * Not timed: it was written for few instructions, and run under an emulator alone.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_OPS_NEON_H
#define MXG_SIMD_OPS_NEON_H

#include <arm_neon.h>

#include "../internal.h"

#define MXG_TARGET
#define MXG_OP static inline __attribute__((always_inline))
#define MXG_INSTANCE(name) name##_neon /* what pasting of names made: one an instruction set */

/* A constant that stays in its register. Also keeps a compiler from looking through a product into
 * a sum (contraction). */
#define MXG_KEEP(v) __asm__("" : "+w"(v))

/* Before a loop whose count is a small constant. */
#ifdef __clang__
/* a wish, where clang sees no constant count (sanitizers, low levels) it stays a loop */
#pragma clang diagnostic ignored "-Wpass-failed"
#define MXG_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MXG_UNROLL _Pragma("GCC unroll 16")
#endif

/* Do conversions from and to binary16 know Inf and NaN? Not with FPCR.AHP, which no check of the
 * floating-point environment looks at. */
static inline int mxg_binary16_is_ieee(void) {
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (fpcr & 1u << 26) == 0;
}

/* ---- large calls: there are no stores around the caches worth having ---- */

MXG_OP int may_stream(const void *to) {
  (void)to;
  return 0;
}
MXG_OP void stream_end(void) {}

/* ---- 32-bit lanes; floats as their bits. above, max and min compare as signed integers. ---- */

#define MXG_LANES 4
typedef uint32x4_t v32;

MXG_OP v32 v_set(uint32_t value) {
  return vdupq_n_u32(value);
}
MXG_OP v32 v_load(const void *from) {
  return vreinterpretq_u32_u8(vld1q_u8(from));
}
MXG_OP void v_store(void *to, v32 a) {
  vst1q_u8(to, vreinterpretq_u8_u32(a));
}
MXG_OP v32 v_and(v32 a, v32 b) {
  return vandq_u32(a, b);
}
MXG_OP v32 v_add(v32 a, v32 b) {
  return vaddq_u32(a, b);
}
MXG_OP v32 v_sub(v32 a, v32 b) {
  return vsubq_u32(a, b);
}
MXG_OP v32 v_max(v32 a, v32 b) {
  return vreinterpretq_u32_s32(vmaxq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b)));
}
MXG_OP v32 v_min(v32 a, v32 b) {
  return vreinterpretq_u32_s32(vminq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b)));
}
MXG_OP v32 v_shift_left(v32 a, v32 counts) {
  return vshlq_u32(a, vreinterpretq_s32_u32(counts));
}
MXG_OP v32 v_shift_right(v32 a, v32 counts) {
  return vshlq_u32(a, vnegq_s32(vreinterpretq_s32_u32(counts)));
}
MXG_OP v32 v_fadd(v32 a, v32 b) {
  return vreinterpretq_u32_f32(vaddq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
}
/* a * b + c, rounded once. */
MXG_OP v32 v_fma(v32 a, v32 b, v32 c) {
  return vreinterpretq_u32_f32(
      vfmaq_f32(vreinterpretq_f32_u32(c), vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
}
MXG_OP v32 v_fmul(v32 a, v32 b) {
  v32 product =
      vreinterpretq_u32_f32(vmulq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
  MXG_KEEP(product);
  return product;
}
MXG_OP v32 v_fdiv(v32 a, v32 b) {
  return vreinterpretq_u32_f32(vdivq_f32(vreinterpretq_f32_u32(a), vreinterpretq_f32_u32(b)));
}
MXG_OP v32 v_above_lanes(v32 a, v32 b) {
  return vcgtq_s32(vreinterpretq_s32_u32(a), vreinterpretq_s32_u32(b));
}
/* A bit for each lane with a > b. */
MXG_OP uint32_t v_above(v32 a, v32 b) {
  const v32 bits = vcombine_u32(vcreate_u32(0x0000000200000001u), vcreate_u32(0x0000000800000004u));
  return vaddvq_u32(vandq_u32(v_above_lanes(a, b), bits));
}
/* a > b ? yes : no */
MXG_OP v32 v_pick_above(v32 a, v32 b, v32 yes, v32 no) {
  return vbslq_u32(v_above_lanes(a, b), yes, no);
}
/* max(|a|, least) of floats, least positive; a is no NaN. */
MXG_OP v32 v_at_least(v32 a, v32 least) {
  return v_max(v_and(a, v_set(0x7FFFFFFFu)), least);
}
/* Low bytes of the first `count` lanes. */
MXG_OP void v_store_bytes(void *to, v32 a, size_t count) {
  const uint16x4_t words = vmovn_u32(a);
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(words, words));
  const uint32_t four = vget_lane_u32(vreinterpret_u32_u8(bytes), 0);
  memcpy(to, &four, count);
}

/* ---- maxima ---- */

/* Largest magnitudes of 2 * MXG_LANES elements, and of two results; F16 and BF16 as words. */
MXG_OP v32 v_half_amax(mxg_dtype dtype, const uint8_t *x) {
  if (dtype == MXG_DTYPE_F32)
    return v_max(v_and(v_load(x), v_set(0x7FFFFFFFu)), v_and(v_load(x + 16), v_set(0x7FFFFFFFu)));
  return v_and(v_load(x), v_set(0x7FFF7FFFu));
}
MXG_OP v32 v_amax_max(mxg_dtype dtype, v32 a, v32 b) {
  if (dtype == MXG_DTYPE_F32) return v_max(a, b);
  return vreinterpretq_u32_u16(vmaxq_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b)));
}
MXG_OP v32 v_f32_from_f16(uint16x4_t half) {
  return vreinterpretq_u32_f32(vcvt_f32_f16(vreinterpret_f16_u16(half)));
}
/* The same as binary32; of words, for it is not called with others. */
MXG_OP v32 v_amax_f32(mxg_dtype dtype, v32 a) {
  const uint16x8_t words = vreinterpretq_u16_u32(a);
  if (dtype == MXG_DTYPE_BF16) return v_max(vshlq_n_u32(a, 16), v_and(a, v_set(0xFFFF0000u)));
  return v_max(v_f32_from_f16(vget_low_u16(words)), v_f32_from_f16(vget_high_u16(words)));
}

/* Lane by lane the least of `least` and the magnitudes of 2 * MXG_LANES elements; BF16 as words. */
MXG_OP v32 v_half_least(mxg_dtype dtype, v32 least, const uint8_t *x) {
  if (dtype == MXG_DTYPE_F32) {
    least = v_min(least, v_and(v_load(x), v_set(0x7FFFFFFFu)));
    return v_min(least, v_and(v_load(x + 16), v_set(0x7FFFFFFFu)));
  }
  return vreinterpretq_u32_u16(
      vminq_u16(vreinterpretq_u16_u32(least), vreinterpretq_u16_u32(v_half_amax(dtype, x))));
}
/* Lane i is the largest of m[i], as binary32; m: binary32, or BF16 as words. */
MXG_OP v32 v_across(mxg_dtype dtype, const v32 m[MXG_LANES]) {
  uint16x8_t words[MXG_LANES];
  if (dtype != MXG_DTYPE_BF16) return vpmaxq_u32(vpmaxq_u32(m[0], m[1]), vpmaxq_u32(m[2], m[3]));
  for (int i = 0; i < MXG_LANES; i++) words[i] = vreinterpretq_u16_u32(m[i]);
  return v_amax_f32(dtype, vreinterpretq_u32_u16(vpmaxq_u16(vpmaxq_u16(words[0], words[1]),
                                                            vpmaxq_u16(words[2], words[3]))));
}

/* ---- chunks: 4 * MXG_LANES elements ---- */

/* Element MXG_LANES * k + i is lane i of f[k], in both orders: bf16 becomes binary32 in its natural
 * order at no more cost. EVEN_ODD: words[h] as loaded, f magnitudes. */
typedef enum v_order { V_NATURAL, V_EVEN_ODD } v_order;

typedef struct v_chunk {
  v32 f[4], words[2];
} v_chunk;

/* MXG_LANES elements. */
MXG_OP v32 v_load_elements(mxg_dtype dtype, const uint8_t *x) {
  uint16x4_t half;
  if (dtype == MXG_DTYPE_F32) return v_load(x);
  half = vreinterpret_u16_u8(vld1_u8(x));
  return dtype == MXG_DTYPE_F16 ? v_f32_from_f16(half) : vshll_n_u16(half, 16);
}

MXG_OP v_chunk v_load_natural(mxg_dtype dtype, const uint8_t *x) {
  v_chunk c;
  const size_t bytes = dtype == MXG_DTYPE_F32 ? 16 : 8;
  MXG_UNROLL
  for (size_t i = 0; i < 4; i++) c.f[i] = v_load_elements(dtype, x + bytes * i);
  return c;
}

/* least: the least magnitude, as words. plain: f with signs, and nothing is lifted. */
MXG_OP v_chunk v_load_even_odd(const uint8_t *x, v32 least, int plain) {
  const uint16x8_t zero = vdupq_n_u16(0);
  v_chunk c;
  MXG_UNROLL
  for (int i = 0; i < 2; i++) {
    uint16x8_t m;
    c.words[i] = v_load(x + 16 * i);
    m = vreinterpretq_u16_u32(plain ? c.words[i] : v_and(c.words[i], v_set(0x7FFF7FFFu)));
    if (!plain) m = vmaxq_u16(m, vreinterpretq_u16_u32(least));
    c.f[2 * i] = vreinterpretq_u32_u16(vzip1q_u16(zero, m));
    c.f[2 * i + 1] = vreinterpretq_u32_u16(vzip2q_u16(zero, m));
  }
  return c;
}

/* ---- codes of a chunk: bytes of magnitude and sign in memory order ---- */

/* Code of a sum (quantize.h): its low bits plus its exponent field << mantissa_bits, modulo 256, as
 * v_store_codes wants it: in the low byte of the lane. */
MXG_OP v32 v_collect_for(int mantissa_bits) {
  return v_set((uint32_t)(mantissa_bits - 23));
}
MXG_OP v32 v_collect(v32 sum, v32 how) {
  return v_add(sum, v_shift_left(sum, how)); /* to the right */
}

typedef enum v_kind { V_FP8, V_FP8_FNUZ, V_FP4 } v_kind;

typedef struct v_join {
  uint8x16_t offset, limit, sign;
  int stream; /* not used */
} v_join;

/* offset: taken from every code first, modulo 256. */
MXG_OP v_join v_join_for(v_order order, v_kind kind, uint32_t offset, uint32_t limit) {
  v_join j;
  (void)order;
  (void)kind;
  j.stream = 0;
  j.offset = vdupq_n_u8((uint8_t)offset);
  j.limit = vdupq_n_u8((uint8_t)limit);
  j.sign = vdupq_n_u8(0x80);
  return j;
}

MXG_OP void v_join_keep(v_join *j) {
  MXG_KEEP(j->offset);
  MXG_KEEP(j->limit);
  MXG_KEEP(j->sign);
}

/* The lower, or the upper, halves of the words of two vectors. */
MXG_OP uint8x16_t v_low_bytes(v32 a, v32 b) {
  return vuzp1q_u8(vreinterpretq_u8_u32(a), vreinterpretq_u8_u32(b));
}
MXG_OP uint8x16_t v_high_bytes(v32 a, v32 b) {
  return vuzp2q_u8(vreinterpretq_u8_u32(a), vreinterpretq_u8_u32(b));
}
/* The same of the dwords. */
MXG_OP v32 v_low_words(v32 a, v32 b) {
  return vreinterpretq_u32_u16(vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b)));
}
MXG_OP v32 v_high_words(v32 a, v32 b) {
  return vreinterpretq_u32_u16(vuzp2q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b)));
}

/* m: from v_collect. finish: less the offset, and limited. Signs are the top bits of c->f (or of c->words, for EVEN_ODD). */
MXG_OP void v_store_codes(const v_join *j, v_order order, v_kind kind, int finish, const v32 m[4],
                          const v_chunk *c, uint8_t *to) {
  uint8x16_t codes = v_low_bytes(v_low_words(m[0], m[1]), v_low_words(m[2], m[3]));
  uint8x16_t signs = order == V_EVEN_ODD ? v_high_bytes(c->words[0], c->words[1])
                                         : v_high_bytes(v_high_words(c->f[0], c->f[1]),
                                                        v_high_words(c->f[2], c->f[3]));
  if (finish) codes = vminq_u8(vsubq_u8(codes, j->offset), j->limit);
  if (kind == V_FP4) { /* sign above the magnitude, then pairs in the low byte of each word */
    const uint16x8_t words = vreinterpretq_u16_u8(vsliq_n_u8(codes, vshrq_n_u8(signs, 7), 3));
    vst1_u8(to, vmovn_u16(vsraq_n_u16(words, words, 4)));
    return;
  }
  if (kind == V_FP8_FNUZ) { /* no -0; the NaN is 80 by itself */
    signs = vandq_u8(vandq_u8(signs, j->sign), vtstq_u8(codes, codes));
    vst1q_u8(to, vorrq_u8(codes, signs));
    return;
  }
  vst1q_u8(to, vbslq_u8(j->sign, signs, codes));
}

#endif
