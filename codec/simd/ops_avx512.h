/* ops_avx512.h: the vector operations that the templates are written in, for AVX-512 (F, BW, DQ,
 * VL, VBMI): 16 lanes of 32 bits. ops_avx2.h and ops_neon.h offer the same names. For leaves only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_OPS_AVX512_H
#define MXG_SIMD_OPS_AVX512_H

#include <immintrin.h>

#include "../internal.h"

#define MXG_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,fma,f16c")))
#define MXG_OP static inline __attribute__((always_inline)) MXG_TARGET
#define MXG_INSTANCE(name) name##_avx512 /* what pasting of names made: one an instruction set */

/* A constant that stays in its register: gcc 12 would make it anew inside the loop, on a port that
 * the loop needs. Also keeps a compiler from looking through a product into a sum (contraction). */
#define MXG_KEEP(v) __asm__("" : "+v"(v))
/* The same for a mask: clang would split a masked operation whose mask it knows. */
#define MXG_KEEP_MASK(k) __asm__("" : "+Yk"(k))
/* Memory that has to be read again: loads and broadcasts from memory run on ports of their own. */
#define MXG_RELOAD(object) __asm__ volatile("" : "+m"(object))

/* Before a loop whose count is a small constant. */
#ifdef __clang__
/* a wish, where clang sees no constant count (sanitizers, low levels) it stays a loop */
#pragma clang diagnostic ignored "-Wpass-failed"
#define MXG_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MXG_UNROLL _Pragma("GCC unroll 16")
#endif

/* ---- large calls: stores around the caches, for aligned addresses only; loads ahead of time ---- */

MXG_OP int may_stream(const void *to) {
  return ((uintptr_t)to & 63u) == 0;
}
MXG_OP void store_or_stream(uint8_t *to, __m512i a, int stream) {
  if (stream)
    _mm512_stream_si512((__m512i *)(void *)to, a);
  else
    _mm512_storeu_si512(to, a);
}
/* The stores above become visible in order with later ones. */
MXG_OP void stream_end(void) {
  _mm_sfence();
}

/* ---- 32-bit lanes; floats as their bits. above, max and min compare as signed integers. ---- */

#define MXG_LANES 16
typedef __m512i v32;

MXG_OP v32 v_set(uint32_t value) {
  return _mm512_set1_epi32((int)value);
}
MXG_OP v32 v_load(const void *from) {
  return _mm512_loadu_si512(from);
}
MXG_OP void v_store(void *to, v32 a) {
  _mm512_storeu_si512(to, a);
}
MXG_OP v32 v_and(v32 a, v32 b) {
  return _mm512_and_si512(a, b);
}
MXG_OP v32 v_add(v32 a, v32 b) {
  return _mm512_add_epi32(a, b);
}
MXG_OP v32 v_sub(v32 a, v32 b) {
  return _mm512_sub_epi32(a, b);
}
MXG_OP v32 v_max(v32 a, v32 b) {
  return _mm512_max_epi32(a, b);
}
MXG_OP v32 v_min(v32 a, v32 b) {
  return _mm512_min_epi32(a, b);
}
MXG_OP v32 v_shift_left(v32 a, v32 counts) {
  return _mm512_sllv_epi32(a, counts);
}
MXG_OP v32 v_shift_right(v32 a, v32 counts) {
  return _mm512_srlv_epi32(a, counts);
}
/* a * b + c, rounded once. */
MXG_OP v32 v_fma(v32 a, v32 b, v32 c) {
  return _mm512_castps_si512(
      _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), _mm512_castsi512_ps(c)));
}
MXG_OP v32 v_fmul(v32 a, v32 b) {
  v32 product = _mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
  MXG_KEEP(product);
  return product;
}
MXG_OP v32 v_fdiv(v32 a, v32 b) {
  return _mm512_castps_si512(_mm512_div_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}
/* A bit for each lane with a > b. */
MXG_OP uint32_t v_above(v32 a, v32 b) {
  return _mm512_cmpgt_epi32_mask(a, b);
}
/* a > b ? yes : no */
MXG_OP v32 v_pick_above(v32 a, v32 b, v32 yes, v32 no) {
  return _mm512_mask_mov_epi32(no, _mm512_cmpgt_epi32_mask(a, b), yes);
}
/* max(|a|, least) of floats, least positive, in one instruction; a is no NaN. */
MXG_OP v32 v_at_least(v32 a, v32 least) {
  v32 b;
  __asm__("vrangeps $0x0B, %2, %1, %0" : "=v"(b) : "v"(a), "v"(least));
  return b;
}
/* Low bytes of the first `count` lanes. */
MXG_OP void v_store_bytes(void *to, v32 a, size_t count) {
  const __mmask16 lanes = (__mmask16)((1u << count) - 1u);
  _mm_mask_storeu_epi8(to, lanes, _mm512_cvtepi32_epi8(a));
}

/* ---- maxima ---- */

/* Largest magnitudes of 2 * MXG_LANES elements, and of two results; F16 and BF16 as words. */
MXG_OP v32 v_half_amax(mxg_dtype dtype, const uint8_t *x) {
  if (dtype == MXG_DTYPE_F32)
    return v_max(v_and(v_load(x), v_set(0x7FFFFFFFu)), v_and(v_load(x + 64), v_set(0x7FFFFFFFu)));
  return v_and(v_load(x), v_set(0x7FFF7FFFu));
}
MXG_OP v32 v_amax_max(mxg_dtype dtype, v32 a, v32 b) {
  return dtype == MXG_DTYPE_F32 ? v_max(a, b) : _mm512_max_epu16(a, b);
}
/* The same as binary32. */
MXG_OP v32 v_amax_f32(mxg_dtype dtype, v32 a) {
  if (dtype == MXG_DTYPE_BF16) return v_max(_mm512_slli_epi32(a, 16), v_and(a, v_set(0xFFFF0000u)));
  if (dtype == MXG_DTYPE_F16)
    return v_max(_mm512_castps_si512(_mm512_cvtph_ps(_mm512_castsi512_si256(a))),
                 _mm512_castps_si512(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(a, 1))));
  return a;
}

/* Lane by lane the least of `least` and the magnitudes of 2 * MXG_LANES elements; BF16 as words. */
MXG_OP v32 v_half_least(mxg_dtype dtype, v32 least, const uint8_t *x) {
  if (dtype == MXG_DTYPE_F32) {
    least = v_min(least, v_and(v_load(x), v_set(0x7FFFFFFFu)));
    return v_min(least, v_and(v_load(x + 64), v_set(0x7FFFFFFFu)));
  }
  return _mm512_min_epu16(least, v_half_amax(dtype, x));
}
/* Lane i is the largest of m[i], as binary32; m: binary32, or BF16 as words. At each step one vector
 * takes the halves of two. */
MXG_OP v32 v_across(mxg_dtype dtype, const v32 m[MXG_LANES]) {
  v32 a[8], b[4], c[2];
  MXG_UNROLL
  for (int i = 0; i < 8; i++)
    a[i] = v_amax_max(dtype, _mm512_unpacklo_epi32(m[2 * i], m[2 * i + 1]),
                      _mm512_unpackhi_epi32(m[2 * i], m[2 * i + 1]));
  MXG_UNROLL
  for (int i = 0; i < 4; i++)
    b[i] = v_amax_max(dtype, _mm512_unpacklo_epi64(a[2 * i], a[2 * i + 1]),
                      _mm512_unpackhi_epi64(a[2 * i], a[2 * i + 1]));
  MXG_UNROLL
  for (int i = 0; i < 2; i++)
    c[i] = v_amax_max(dtype, _mm512_shuffle_i64x2(b[2 * i], b[2 * i + 1], 0x44),
                      _mm512_shuffle_i64x2(b[2 * i], b[2 * i + 1], 0xEE));
  return v_amax_f32(dtype, v_amax_max(dtype, _mm512_shuffle_i64x2(c[0], c[1], 0x88),
                                      _mm512_shuffle_i64x2(c[0], c[1], 0xDD)));
}

/* ---- chunks: 4 * MXG_LANES elements ---- */

/* Where the elements of a chunk lie. NATURAL: element MXG_LANES * k + i is lane i of f[k].
 * EVEN_ODD, which is how bf16 becomes binary32 without a shuffle: words[h] as loaded, f[2 * h] the
 * magnitudes of its even and f[2 * h + 1] of its odd words. */
typedef enum v_order { V_NATURAL, V_EVEN_ODD } v_order;

typedef struct v_chunk {
  v32 f[4], words[2];
} v_chunk;

/* MXG_LANES elements. */
MXG_OP v32 v_load_elements(mxg_dtype dtype, const uint8_t *x) {
  if (dtype == MXG_DTYPE_F32) return v_load(x);
  const __m256i half = _mm256_loadu_si256((const __m256i *)(const void *)x);
  return dtype == MXG_DTYPE_F16 ? _mm512_castps_si512(_mm512_cvtph_ps(half))
                                : _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16);
}

/* least: the least magnitude, as words. plain: f with signs, and nothing is lifted. */
MXG_OP v_chunk v_load_even_odd(const uint8_t *x, v32 least, int plain) {
  const __m512i up = _mm512_set4_epi32(0x0D0C8080, 0x09088080, 0x05048080, 0x01008080);
  v_chunk c;
  MXG_UNROLL
  for (int i = 0; i < 2; i++) {
    v32 m;
    c.words[i] = v_load(x + 64 * i);
    m = c.words[i];
    if (!plain) m = _mm512_max_epu16(v_and(c.words[i], v_set(0x7FFF7FFFu)), least);
    c.f[2 * i] = _mm512_shuffle_epi8(m, up);
    c.f[2 * i + 1] = v_and(m, v_set(0xFFFF0000u));
  }
  return c;
}

/* ---- codes of a chunk: bytes of magnitude and sign in memory order ---- */

/* Code of a sum (quantize.h): its low bits plus its exponent field << mantissa_bits, modulo 256, as
 * v_store_codes wants it: in the second byte of the lane, which is one multiply-add of words (the
 * field is the upper word / 128). */
MXG_OP v32 v_collect_for(int mantissa_bits) {
  return v_set(2u << (16 + mantissa_bits) | 256u);
}
MXG_OP v32 v_collect(v32 sum, v32 how) {
  return _mm512_madd_epi16(sum, how);
}

typedef enum v_kind { V_FP8, V_FP8_FNUZ, V_FP4 } v_kind;

typedef struct v_join {
  v32 offset, limit;     /* in every byte */
  v32 low, top, sign;    /* of byte i: where its magnitude and its sign come from, VPERMB indices */
  __mmask64 from[4];     /* from[k]: the bytes that come from vector k > 0 */
  __mmask64 second_half; /* EVEN_ODD: the bytes that come from words[1] */
  int stream;            /* FP8 codes around the caches */
} v_join;

/* offset: taken from every code first, modulo 256. */
MXG_OP v_join v_join_for(v_order order, v_kind kind, uint32_t offset, uint32_t limit) {
  static const uint8_t natural[64] = {1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 49, 53, 57, 61,
                                      1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 49, 53, 57, 61,
                                      1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 49, 53, 57, 61,
                                      1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 49, 53, 57, 61};
  static const uint8_t pairs[64] = {1,  1,  5,  5,  9,  9,  13, 13, 17, 17, 21, 21, 25, 25, 29, 29,
                                    33, 33, 37, 37, 41, 41, 45, 45, 49, 49, 53, 53, 57, 57, 61, 61,
                                    1,  1,  5,  5,  9,  9,  13, 13, 17, 17, 21, 21, 25, 25, 29, 29,
                                    33, 33, 37, 37, 41, 41, 45, 45, 49, 49, 53, 53, 57, 57, 61, 61};
  v_join j;
  j.offset = _mm512_set1_epi8((char)offset);
  j.limit = _mm512_set1_epi8((char)limit);
  j.sign = _mm512_set1_epi8((char)(kind == V_FP4 ? 0x08 : 0x80));
  if (order == V_EVEN_ODD) {
    j.low = v_load(pairs);
    j.top = _mm512_or_si512(j.low, _mm512_set1_epi16(0x0301));
    j.from[1] = 0x00000000AAAAAAAAu;
    j.from[2] = 0x5555555500000000u;
    j.from[3] = 0xAAAAAAAA00000000u;
  } else {
    j.low = v_load(natural);
    j.top = _mm512_or_si512(j.low, _mm512_set1_epi8(3));
    j.from[1] = 0x00000000FFFF0000u;
    j.from[2] = 0x0000FFFF00000000u;
    j.from[3] = 0xFFFF000000000000u;
  }
  j.from[0] = 0;
  j.second_half = 0xFFFFFFFF00000000u;
  j.stream = 0;
  return j;
}

MXG_OP void v_join_keep(v_join *j) {
  MXG_KEEP(j->offset);
  MXG_KEEP(j->limit);
  MXG_KEEP(j->low);
  MXG_KEEP(j->top);
  MXG_KEEP(j->sign);
  MXG_KEEP_MASK(j->from[1]);
  MXG_KEEP_MASK(j->from[2]);
  MXG_KEEP_MASK(j->from[3]);
  MXG_KEEP_MASK(j->second_half);
}

/* m: from v_collect. finish: less the offset, and limited. Signs are the top bits of c->f (or of c->words, for EVEN_ODD). */
MXG_OP void v_store_codes(const v_join *j, v_order order, v_kind kind, int finish, const v32 m[4],
                          const v_chunk *c, uint8_t *to) {
  __m512i codes = _mm512_permutexvar_epi8(j->low, m[0]), signs;
  codes = _mm512_mask_permutexvar_epi8(codes, j->from[1], j->low, m[1]);
  codes = _mm512_mask_permutexvar_epi8(codes, j->from[2], j->low, m[2]);
  codes = _mm512_mask_permutexvar_epi8(codes, j->from[3], j->low, m[3]);
  if (finish) codes = _mm512_min_epu8(_mm512_sub_epi8(codes, j->offset), j->limit);
  if (order == V_EVEN_ODD) {
    signs = _mm512_permutexvar_epi8(j->top, c->words[0]);
    signs = _mm512_mask_permutexvar_epi8(signs, j->second_half, j->top, c->words[1]);
  } else {
    signs = _mm512_permutexvar_epi8(j->top, c->f[0]);
    signs = _mm512_mask_permutexvar_epi8(signs, j->from[1], j->top, c->f[1]);
    signs = _mm512_mask_permutexvar_epi8(signs, j->from[2], j->top, c->f[2]);
    signs = _mm512_mask_permutexvar_epi8(signs, j->from[3], j->top, c->f[3]);
  }
  if (kind == V_FP8_FNUZ) /* no -0 */
    signs = _mm512_maskz_mov_epi8(_mm512_test_epi8_mask(codes, codes), signs);
  if (kind == V_FP4) signs = _mm512_srli_epi16(signs, 4);
  codes = _mm512_ternarylogic_epi64(codes, signs, j->sign, 0xF8); /* a | (b & c) */
  if (kind == V_FP4) {
    codes = _mm512_maddubs_epi16(codes, _mm512_set1_epi16(0x1001));
    _mm256_storeu_si256((__m256i *)(void *)to, _mm512_cvtepi16_epi8(codes));
  } else {
    store_or_stream(to, codes, j->stream);
  }
}

#endif
