/* ops_avx2.h: the vector operations that the templates are written in, for AVX2 (with FMA and
 * F16C): 8 lanes of 32 bits. For leaves only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_OPS_AVX2_H
#define MXG_SIMD_OPS_AVX2_H

#include <immintrin.h>

#include "../internal.h"

#define MXG_TARGET __attribute__((target("avx2,fma,f16c")))
#define MXG_OP static inline __attribute__((always_inline)) MXG_TARGET
#define MXG_INSTANCE(name) name##_avx2 /* what pasting of names made: one an instruction set */

/* See ops_avx512.h. */
#define MXG_KEEP(v) __asm__("" : "+x"(v))
#define MXG_RELOAD(object) __asm__ volatile("" : "+m"(object))
#ifdef __clang__
/* a wish, where clang sees no constant count (sanitizers, low levels) it stays a loop */
#pragma clang diagnostic ignored "-Wpass-failed"
#define MXG_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MXG_UNROLL _Pragma("GCC unroll 16")
#endif

/* ---- large calls: as in ops_avx512.h ---- */

MXG_OP int may_stream(const void *to) {
  return ((uintptr_t)to & 31u) == 0;
}
MXG_OP void store_or_stream(uint8_t *to, __m256i a, int stream) {
  if (stream)
    _mm256_stream_si256((__m256i *)(void *)to, a);
  else
    _mm256_storeu_si256((__m256i *)(void *)to, a);
}
MXG_OP void stream_end(void) {
  _mm_sfence();
}

/* ---- 32-bit lanes; floats as their bits. above, max and min compare as signed integers. ---- */

#define MXG_LANES 8
typedef __m256i v32;

MXG_OP v32 v_set(uint32_t value) {
  return _mm256_set1_epi32((int)value);
}
MXG_OP v32 v_load(const void *from) {
  return _mm256_loadu_si256((const __m256i *)from);
}
MXG_OP void v_store(void *to, v32 a) {
  _mm256_storeu_si256((__m256i *)to, a);
}
MXG_OP v32 v_and(v32 a, v32 b) {
  return _mm256_and_si256(a, b);
}
MXG_OP v32 v_add(v32 a, v32 b) {
  return _mm256_add_epi32(a, b);
}
MXG_OP v32 v_sub(v32 a, v32 b) {
  return _mm256_sub_epi32(a, b);
}
MXG_OP v32 v_max(v32 a, v32 b) {
  return _mm256_max_epi32(a, b);
}
MXG_OP v32 v_min(v32 a, v32 b) {
  return _mm256_min_epi32(a, b);
}
MXG_OP v32 v_shift_left(v32 a, v32 counts) {
  return _mm256_sllv_epi32(a, counts);
}
MXG_OP v32 v_shift_right(v32 a, v32 counts) {
  return _mm256_srlv_epi32(a, counts);
}
/* a * b + c, rounded once. */
MXG_OP v32 v_fma(v32 a, v32 b, v32 c) {
  return _mm256_castps_si256(
      _mm256_fmadd_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(c)));
}
MXG_OP v32 v_fmul(v32 a, v32 b) {
  v32 product = _mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
  MXG_KEEP(product);
  return product;
}
MXG_OP v32 v_fdiv(v32 a, v32 b) {
  return _mm256_castps_si256(_mm256_div_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)));
}
/* A bit for each lane with a > b. */
MXG_OP uint32_t v_above(v32 a, v32 b) {
  return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b)));
}
/* a > b ? yes : no */
MXG_OP v32 v_pick_above(v32 a, v32 b, v32 yes, v32 no) {
  return _mm256_blendv_epi8(no, yes, _mm256_cmpgt_epi32(a, b));
}
/* max(|a|, least) of floats, least positive; a is no NaN. */
MXG_OP v32 v_at_least(v32 a, v32 least) {
  return v_max(v_and(a, v_set(0x7FFFFFFFu)), least);
}
/* Low bytes of the first `count` lanes. */
MXG_OP void v_store_bytes(void *to, v32 a, size_t count) {
  uint32_t lanes[MXG_LANES];
  uint8_t *bytes = (uint8_t *)to;
  v_store(lanes, a);
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)lanes[i];
}

/* ---- maxima ---- */

/* Largest magnitudes of 2 * MXG_LANES elements, and of two results; F16 and BF16 as words. */
MXG_OP v32 v_half_amax(mxg_dtype dtype, const uint8_t *x) {
  if (dtype == MXG_DTYPE_F32)
    return v_max(v_and(v_load(x), v_set(0x7FFFFFFFu)), v_and(v_load(x + 32), v_set(0x7FFFFFFFu)));
  return v_and(v_load(x), v_set(0x7FFF7FFFu));
}
MXG_OP v32 v_amax_max(mxg_dtype dtype, v32 a, v32 b) {
  return dtype == MXG_DTYPE_F32 ? v_max(a, b) : _mm256_max_epu16(a, b);
}
/* The same as binary32. */
MXG_OP v32 v_amax_f32(mxg_dtype dtype, v32 a) {
  if (dtype == MXG_DTYPE_BF16) return v_max(_mm256_slli_epi32(a, 16), v_and(a, v_set(0xFFFF0000u)));
  if (dtype == MXG_DTYPE_F16)
    return v_max(_mm256_castps_si256(_mm256_cvtph_ps(_mm256_castsi256_si128(a))),
                 _mm256_castps_si256(_mm256_cvtph_ps(_mm256_extracti128_si256(a, 1))));
  return a;
}

/* Lane by lane the least of `least` and the magnitudes of 2 * MXG_LANES elements; BF16 as words. */
MXG_OP v32 v_half_least(mxg_dtype dtype, v32 least, const uint8_t *x) {
  if (dtype == MXG_DTYPE_F32) {
    least = v_min(least, v_and(v_load(x), v_set(0x7FFFFFFFu)));
    return v_min(least, v_and(v_load(x + 32), v_set(0x7FFFFFFFu)));
  }
  return _mm256_min_epu16(least, v_half_amax(dtype, x));
}
/* Lane i is the largest of m[i], as binary32; m: binary32, or BF16 as words. At each step one vector
 * takes the halves of two. */
MXG_OP v32 v_across(mxg_dtype dtype, const v32 m[MXG_LANES]) {
  v32 a[4], b[2];
  MXG_UNROLL
  for (int i = 0; i < 4; i++)
    a[i] = v_amax_max(dtype, _mm256_unpacklo_epi32(m[2 * i], m[2 * i + 1]),
                      _mm256_unpackhi_epi32(m[2 * i], m[2 * i + 1]));
  MXG_UNROLL
  for (int i = 0; i < 2; i++)
    b[i] = v_amax_max(dtype, _mm256_unpacklo_epi64(a[2 * i], a[2 * i + 1]),
                      _mm256_unpackhi_epi64(a[2 * i], a[2 * i + 1]));
  return v_amax_f32(dtype, v_amax_max(dtype, _mm256_permute2x128_si256(b[0], b[1], 0x20),
                                      _mm256_permute2x128_si256(b[0], b[1], 0x31)));
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
  const __m128i half = _mm_loadu_si128((const __m128i *)(const void *)x);
  return dtype == MXG_DTYPE_F16 ? _mm256_castps_si256(_mm256_cvtph_ps(half))
                                : _mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16);
}

/* least: the least magnitude, as words. plain: f with signs, and nothing is lifted. */
MXG_OP v_chunk v_load_even_odd(const uint8_t *x, v32 least, int plain) {
  v_chunk c;
  MXG_UNROLL
  for (int i = 0; i < 2; i++) {
    v32 m;
    c.words[i] = v_load(x + 32 * i);
    m = c.words[i];
    if (!plain) m = _mm256_max_epu16(v_and(c.words[i], v_set(0x7FFF7FFFu)), least);
    c.f[2 * i] = _mm256_slli_epi32(m, 16);
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
  return _mm256_madd_epi16(sum, how);
}

typedef enum v_kind { V_FP8, V_FP8_FNUZ, V_FP4 } v_kind;

typedef struct v_join {
  v32 offset, limit; /* in every byte */
  v32 second, sign, order;
  int stream; /* FP8 codes around the caches */
} v_join;

/* offset: taken from every code first, modulo 256. */
MXG_OP v_join v_join_for(v_order order, v_kind kind, uint32_t offset, uint32_t limit) {
  v_join j;
  j.stream = 0;
  j.offset = _mm256_set1_epi8((char)offset);
  j.limit = _mm256_set1_epi8((char)limit);
  j.second = v_set(0xFF00u);
  j.sign = _mm256_set1_epi8((char)(kind == V_FP4 ? 0x08 : 0x80));
  /* quarters of lanes (packed within halves) back in line */
  j.order = order == V_EVEN_ODD ? _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7)
                                : _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return j;
}

MXG_OP void v_join_keep(v_join *j) {
  (void)j; /* 16 registers: the compiler knows best which constants to load */
}

/* m: from v_collect. finish: less the offset, and limited. Signs are the top bits of c->f (or of c->words, for EVEN_ODD). */
MXG_OP void v_store_codes(const v_join *j, v_order order, v_kind kind, int finish, const v32 m[4],
                          const v_chunk *c, uint8_t *to) {
  v32 codes, signs;
  if (order == V_EVEN_ODD) {
    const v32 w0 = _mm256_blend_epi16(m[0], _mm256_slli_epi32(m[1], 16), 0xAA);
    const v32 w1 = _mm256_blend_epi16(m[2], _mm256_slli_epi32(m[3], 16), 0xAA);
    codes = _mm256_packus_epi16(_mm256_srli_epi16(w0, 8), _mm256_srli_epi16(w1, 8));
    signs = _mm256_packs_epi16(c->words[0], c->words[1]); /* saturation keeps the sign */
  } else {
    const v32 w0 = _mm256_packus_epi32(v_and(m[0], j->second), v_and(m[1], j->second));
    const v32 w1 = _mm256_packus_epi32(v_and(m[2], j->second), v_and(m[3], j->second));
    codes = _mm256_packus_epi16(_mm256_srli_epi16(w0, 8), _mm256_srli_epi16(w1, 8));
    signs = _mm256_packs_epi16(_mm256_packs_epi32(c->f[0], c->f[1]),
                               _mm256_packs_epi32(c->f[2], c->f[3]));
  }
  if (finish) codes = _mm256_min_epu8(_mm256_sub_epi8(codes, j->offset), j->limit);
  if (kind == V_FP8_FNUZ) /* no -0 */
    signs = _mm256_andnot_si256(_mm256_cmpeq_epi8(codes, _mm256_setzero_si256()), signs);
  if (kind == V_FP4) signs = _mm256_srli_epi16(signs, 4);
  codes = _mm256_or_si256(codes, v_and(signs, j->sign));
  codes = _mm256_permutevar8x32_epi32(codes, j->order);
  if (kind == V_FP4) {
    codes = _mm256_maddubs_epi16(codes, _mm256_set1_epi16(0x1001));
    codes = _mm256_permute4x64_epi64(_mm256_packus_epi16(codes, codes), 0xD8);
    _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(codes));
  } else {
    store_or_stream(to, codes, j->stream);
  }
}

#endif
