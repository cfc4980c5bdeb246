/* decode_avx2.h: what combine.h and dequantize.h are written in, for AVX2 with FMA and F16C: codes
 * into vectors of binary32, scales into factors, sums into values. For leaves only.
 *
 * A group is 32 elements in 4 vectors. FP8 comes in natural order, by way of binary16, which has
 * the same fields: E4M3 needs a factor of 2^8 (FNUZ 2^7), put into the scale. FP4 comes in the order
 * of two byte look-ups: vectors 0 and 1 (2 and 3: 16 more) hold elements 0 4 8 12 | 1 5 9 13 and
 * 2 6 10 14 | 3 7 11 15.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_DECODE_AVX2_H
#define MXG_SIMD_DECODE_AVX2_H

#include "decode.h"
#include "decode_table.h"
#include "ops_avx2.h"

typedef __m256 mxg_vector;
#define MXG_VECTORS 4         /* of a group */
#define MXG_GROUP 32          /* elements */
#define MXG_TILE 1            /* groups that a loop over sources keeps in registers */
#define MXG_UNIT 32           /* elements that share a scale: mxg_serves_decode_f16() */
#define MXG_SLOW_SUBNORMALS 1 /* are arithmetic on those and its traps slower than portable? */

#define MXG_PREFETCH_LINE(p) _mm_prefetch((const char *)(const void *)(p), _MM_HINT_T0)

/* ---- arithmetic ---- */

MXG_OP mxg_vector mxg_zero(void) {
  return _mm256_setzero_ps();
}
MXG_OP mxg_vector mxg_broadcast(float x) {
  return _mm256_set1_ps(x);
}
MXG_OP mxg_vector mxg_load(const float *x) {
  return _mm256_loadu_ps(x);
}
MXG_OP void mxg_store(float *y, mxg_vector x) {
  _mm256_storeu_ps(y, x);
}
MXG_OP mxg_vector mxg_mul(mxg_vector a, mxg_vector b) {
  return _mm256_mul_ps(a, b);
}
MXG_OP mxg_vector mxg_add(mxg_vector a, mxg_vector b) {
  return _mm256_add_ps(a, b);
}
MXG_OP mxg_vector mxg_fma(mxg_vector a, mxg_vector b, mxg_vector c) {
  return _mm256_fmadd_ps(a, b, c);
}
/* 1 if in some lane a is below or above b (a NaN is neither) */
MXG_OP int mxg_any_unequal(mxg_vector a, mxg_vector b) {
  return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NEQ_OQ)) != 0;
}
/* 1/x of powers of two between 2^-126 and 2^126; of 2^-127 and 0 something else */
MXG_OP mxg_vector mxg_rcp_power(mxg_vector x) {
  return _mm256_castsi256_ps(
      _mm256_sub_epi32(_mm256_set1_epi32(254 << 23), _mm256_castps_si256(x)));
}

/* ---- scales ---- */

typedef __m128i mxg_bytes; /* 16 of them */

MXG_OP mxg_bytes mxg_zero_bytes(void) {
  return _mm_setzero_si128();
}
/* The first `count`, or all 16. */
MXG_OP mxg_bytes mxg_load_scales(const uint8_t *scales, size_t count) {
  uint8_t copy[16] = {0};
  if (count >= 16) return _mm_loadu_si128((const __m128i *)(const void *)scales);
  memcpy(copy, scales, count);
  return _mm_loadu_si128((const __m128i *)(const void *)copy);
}
MXG_OP mxg_bytes mxg_max_bytes(mxg_bytes a, mxg_bytes b) {
  return _mm_max_epu8(a, b);
}
/* A bit for each. */
MXG_OP uint32_t mxg_bytes_above(mxg_bytes bytes, int limit) {
  const __m128i above = _mm_subs_epu8(bytes, _mm_set1_epi8((char)limit));
  return 0xFFFFu ^ (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(above, _mm_setzero_si128()));
}
/* 2^(byte - 127 + shift) of 16 E8M0 bytes, 0 <= shift; zero: 0.0 for byte 00. Wrong for bytes above
 * 254 - shift. */
MXG_OP void mxg_e8m0_vectors(mxg_bytes bytes, int shift, int zero, float f[16]) {
  MXG_UNROLL for (int i = 0; i < 2; i++) {
    const __m256i byte = _mm256_cvtepu8_epi32(i == 0 ? bytes : _mm_unpackhi_epi64(bytes, bytes));
    __m256i bits = _mm256_slli_epi32(_mm256_add_epi32(byte, _mm256_set1_epi32(shift)), 23);
    bits = _mm256_max_epi32(bits, _mm256_set1_epi32(0x400000)); /* 2^-127 is a subnormal */
    if (zero) bits = _mm256_andnot_si256(_mm256_cmpeq_epi32(byte, _mm256_setzero_si256()), bits);
    _mm256_storeu_si256((__m256i *)(void *)(f + 8 * i), bits);
  }
}

/* ---- decoding ---- */

typedef enum mxg_decoding { MXG_DECODING_FP8, MXG_DECODING_FP4 } mxg_decoding;

typedef struct mxg_decoder {
  mxg_decoding decoding;
  int shift;                                   /* elements come out divided by 2^shift */
  __m256i move, keep, nan_mask, nan, nan_seen; /* FP8 */
  __m256i high, low, nibble_shift, nibble, upper_half, magnitudes; /* FP4 */
} mxg_decoder;

static inline mxg_decoding mxg_decoding_of(mxg_element element) {
  return element == MXG_ELEMENT_E2M1 ? MXG_DECODING_FP4 : MXG_DECODING_FP8;
}

MXG_OP __m128i mxg_load_16(const uint8_t *p) {
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* e8m0: FP4 divided by 2^32, so that small scales are normal numbers. One order serves all results:
 * pairs is not looked at. */
MXG_OP void mxg_decoder_init(mxg_decoder *d, mxg_decoding decoding, mxg_element element, int e8m0,
                             int pairs) {
  (void)pairs;
  d->decoding = decoding;
  if (decoding == MXG_DECODING_FP4) {
    const mxg_fp4_table *t = &mxg_fp4_tables[e8m0];
    d->shift = e8m0 ? MXG_TABLE_SHIFT : 0;
    d->high = _mm256_broadcastsi128_si256(mxg_load_16(t->high));
    d->low = _mm256_broadcastsi128_si256(mxg_load_16(t->low));
    d->nibble_shift = _mm256_setr_epi64x(0, 0, 4, 4);
    d->nibble = _mm256_set1_epi8(15);
    d->upper_half = _mm256_set1_epi32((int)0xFFFF0000u);
    d->magnitudes =
        _mm256_or_si256(_mm256_slli_epi32(_mm256_cvtepu8_epi32(mxg_load_16(t->high)), 24),
                        _mm256_slli_epi32(_mm256_cvtepu8_epi32(mxg_load_16(t->low)), 16));
    MXG_KEEP(d->high);
    MXG_KEEP(d->low);
    MXG_KEEP(d->nibble_shift);
    MXG_KEEP(d->nibble);
    MXG_KEEP(d->upper_half);
  } else {
    const int e5m2 = element == MXG_ELEMENT_E5M2, fnuz = element == MXG_ELEMENT_E4M3FNUZ;
    d->shift = e5m2 ? 0 : fnuz ? 7 : 8;
    d->move = _mm256_set1_epi16(e5m2 ? 256 : 128); /* a multiplication serves as a shift */
    d->keep = _mm256_set1_epi16((short)(e5m2 ? 0xFF00 : 0xBF80));
    /* The NaN of E4M3 is a number of binary16. E5M2 has the same ones: nothing masked is 1. */
    d->nan_mask = _mm256_set1_epi8((char)(e5m2 ? 0 : fnuz ? 0xFF : 0x7F));
    d->nan = _mm256_set1_epi8((char)(e5m2 ? 1 : fnuz ? 0x80 : 0x7F));
    MXG_KEEP(d->move);
    MXG_KEEP(d->keep);
    MXG_KEEP(d->nan_mask);
    MXG_KEEP(d->nan);
  }
}

/* Since begin, was there a NaN code of E4M3, which came out as a number? */
MXG_OP void mxg_decoder_begin(mxg_decoder *d) {
  d->nan_seen = _mm256_setzero_si256();
}
MXG_OP int mxg_missed_nan(const mxg_decoder *d) {
  return d->decoding == MXG_DECODING_FP8 && !_mm256_testz_si256(d->nan_seen, d->nan_seen);
}
/* Makes NaN of those in a group: all bits set. */
MXG_OP void mxg_mark_nan(const mxg_decoder *d, const uint8_t *codes, mxg_vector t[MXG_VECTORS]) {
  if (d->decoding != MXG_DECODING_FP8) return;
  MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i++) {
    const __m128i x = _mm_loadl_epi64((const __m128i *)(const void *)(codes + 8 * i));
    const __m128i nan = _mm_cmpeq_epi8(_mm_and_si128(x, _mm256_castsi256_si128(d->nan_mask)),
                                       _mm256_castsi256_si128(d->nan));
    t[i] = _mm256_or_ps(t[i], _mm256_castsi256_ps(_mm256_cvtepi8_epi32(nan)));
  }
}

/* FP8: into words with the sign spread over the upper byte, moved to where binary16 has the fields,
 * the second copy of the sign masked. */
MXG_OP void mxg_decode_fp8(mxg_decoder *d, const uint8_t *codes, mxg_vector t[MXG_VECTORS]) {
  const __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)codes);
  d->nan_seen =
      _mm256_or_si256(d->nan_seen, _mm256_cmpeq_epi8(_mm256_and_si256(x, d->nan_mask), d->nan));
  MXG_UNROLL for (int i = 0; i < 2; i++) {
    const __m256i word = _mm256_cvtepi8_epi16(mxg_load_16(codes + 16 * i));
    const __m256i half = _mm256_and_si256(_mm256_mullo_epi16(word, d->move), d->keep);
    t[2 * i] = _mm256_cvtph_ps(_mm256_castsi256_si128(half));
    t[2 * i + 1] = _mm256_cvtph_ps(_mm256_extracti128_si256(half, 1));
  }
}

/* FP4: 16 bytes twice, lower nibbles in one half, upper ones in the other; two look-ups give the
 * bytes of bf16. */
MXG_OP void mxg_decode_fp4(const mxg_decoder *d, const uint8_t *codes, mxg_vector t[MXG_VECTORS]) {
  const __m256i x = _mm256_broadcastsi128_si256(mxg_load_16(codes));
  const __m256i code = _mm256_and_si256(_mm256_srlv_epi64(x, d->nibble_shift), d->nibble);
  const __m256i high = _mm256_shuffle_epi8(d->high, code);
  const __m256i low = _mm256_shuffle_epi8(d->low, code);
  const __m256i lower = _mm256_unpacklo_epi8(low, high), upper = _mm256_unpackhi_epi8(low, high);
  t[0] = _mm256_castsi256_ps(_mm256_slli_epi32(lower, 16));
  t[1] = _mm256_castsi256_ps(_mm256_and_si256(lower, d->upper_half));
  t[2] = _mm256_castsi256_ps(_mm256_slli_epi32(upper, 16));
  t[3] = _mm256_castsi256_ps(_mm256_and_si256(upper, d->upper_half));
}

/* A group of codes into vectors. */
MXG_OP void mxg_decode(mxg_decoder *d, const uint8_t *codes, mxg_vector t[MXG_VECTORS]) {
  if (d->decoding == MXG_DECODING_FP4)
    mxg_decode_fp4(d, codes, t);
  else
    mxg_decode_fp8(d, codes, t);
}

/* The factors of a group's vectors; a group is one unit here. */
MXG_OP void mxg_group_factors(const mxg_decoder *d, mxg_spread spread, const uint8_t *factors,
                              const size_t *blocks, mxg_vector f[MXG_VECTORS]) {
  (void)d;
  (void)spread;
  f[0] = f[1] = f[2] = f[3] = _mm256_set1_ps(mxg_factor_at(factors, blocks[0]));
}

/* ---- values ---- */

typedef struct mxg_writer {
  __m256i half, one;
} mxg_writer;

MXG_OP void mxg_writer_init(mxg_writer *w, const mxg_decoder *d) {
  (void)d;
  w->half = _mm256_set1_epi32(0x7FFF);
  w->one = _mm256_set1_epi32(1);
}

/* NaN are rare enough for a branch. */
MXG_OP void mxg_canonical(mxg_vector t[MXG_VECTORS]) {
  const mxg_vector nan = _mm256_castsi256_ps(_mm256_set1_epi32((int)MXG_F32_NAN));
  const mxg_vector any = _mm256_or_ps(_mm256_cmp_ps(t[0], t[1], _CMP_UNORD_Q),
                                      _mm256_cmp_ps(t[2], t[3], _CMP_UNORD_Q));
  if (_mm256_movemask_ps(any) == 0) return;
  MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i++) t[i] =
      _mm256_blendv_ps(t[i], nan, _mm256_cmp_ps(t[i], t[i], _CMP_UNORD_Q));
}

/* bf16 of x in the upper halves: adds 7FFF, and 1 where the part that stays is odd. */
MXG_OP __m256i mxg_round_bf16(const mxg_writer *w, mxg_vector x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), w->one);
  return _mm256_add_epi32(_mm256_add_epi32(bits, w->half), odd);
}

/* Vectors 2i and 2i + 1 of FP4 into natural order. */
MXG_OP void mxg_natural_fp4(mxg_vector t[2]) {
  const mxg_vector p = _mm256_permute2f128_ps(t[0], t[1], 0x20);
  const mxg_vector q = _mm256_permute2f128_ps(t[0], t[1], 0x31);
  t[0] = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_unpacklo_ps(p, q)), 0xD8));
  t[1] = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_unpackhi_ps(p, q)), 0xD8));
}

/* FP4 into bf16: joined as they stand, then put in order as words. */
MXG_OP void mxg_write_fp4_bf16(const mxg_writer *w, mxg_vector t[MXG_VECTORS], int stream,
                               uint8_t *y) {
  __m256i pair[2], even, odd, low, high;
  MXG_UNROLL for (int i = 0; i < 2; i++) pair[i] = _mm256_blend_epi16(
      _mm256_srli_epi32(mxg_round_bf16(w, t[2 * i]), 16), mxg_round_bf16(w, t[2 * i + 1]), 0xAA);
  even = _mm256_permute2x128_si256(pair[0], pair[1], 0x20);
  odd = _mm256_permute2x128_si256(pair[0], pair[1], 0x31);
  low = _mm256_unpacklo_epi16(even, odd);
  high = _mm256_unpackhi_epi16(even, odd);
  store_or_stream(y, _mm256_permute2x128_si256(low, high, 0x20), stream);
  store_or_stream(y + 32, _mm256_permute2x128_si256(low, high, 0x31), stream);
}

/* A group of sums into values, each NaN canonical. stream: around the caches, if y is aligned. */
MXG_OP void mxg_write(const mxg_writer *w, const mxg_decoder *d, mxg_vector t[MXG_VECTORS],
                      mxg_dtype dtype, int stream, uint8_t *y) {
  mxg_canonical(t);
  if (d->decoding == MXG_DECODING_FP4) {
    if (dtype == MXG_DTYPE_BF16) {
      mxg_write_fp4_bf16(w, t, stream, y);
      return;
    }
    mxg_natural_fp4(t);
    mxg_natural_fp4(t + 2);
  }
  if (dtype == MXG_DTYPE_BF16) {
    MXG_UNROLL for (int i = 0; i < 2; i++) {
      const __m256i words =
          _mm256_packus_epi32(_mm256_srli_epi32(mxg_round_bf16(w, t[2 * i]), 16),
                              _mm256_srli_epi32(mxg_round_bf16(w, t[2 * i + 1]), 16));
      store_or_stream(y + 32 * i, _mm256_permute4x64_epi64(words, 0xD8), stream);
    }
    return;
  }
  MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i++) {
    if (dtype == MXG_DTYPE_F32)
      store_or_stream(y + 32 * i, _mm256_castps_si256(t[i]), stream);
    else
      _mm_storeu_si128((__m128i *)(void *)(y + 16 * i),
                       _mm256_cvtps_ph(t[i], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
}

/* A group of codes, one a byte, into binary32. */
MXG_OP void mxg_decode_group(mxg_decoder *d, const mxg_writer *w, const uint8_t *codes,
                             uint8_t *y) {
  mxg_vector t[MXG_VECTORS];
  if (d->decoding == MXG_DECODING_FP4) {
    MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i++) {
      const __m256i code =
          _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(codes + 8 * i)));
      const __m256i sign =
          _mm256_and_si256(_mm256_slli_epi32(code, 28), _mm256_set1_epi32((int)MXG_F32_SIGN));
      store_or_stream(y + 32 * i,
                      _mm256_or_si256(sign, _mm256_permutevar8x32_epi32(d->magnitudes, code)), 0);
    }
    return;
  }
  mxg_decoder_begin(d);
  mxg_decode_fp8(d, codes, t);
  if (mxg_missed_nan(d)) mxg_mark_nan(d, codes, t);
  MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i++) t[i] =
      _mm256_mul_ps(t[i], _mm256_set1_ps(mxg_power_of_two(d->shift)));
  mxg_write(w, d, t, MXG_DTYPE_F32, 0, y);
}

#endif
