/* decode_avx512.h: what combine.h and dequantize.h are written in, for AVX-512 (F, BW, DQ, VL,
 * VBMI): codes into vectors of binary32, scales into factors, sums into values. decode_avx2.h offers
 * the same names. For leaves only.
 *
 * A group is 64 elements in 4 vectors. Their order in the vectors is an affair of this file:
 *   pairs     of bf16 results: vectors 0 and 1 (2 and 3) hold neighbours in the same lane, so two
 *             rounded sums become one word each of a dword
 *   natural   of f32 and f16 results of FP8: the codes are permuted before they are decoded
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_DECODE_AVX512_H
#define MXG_SIMD_DECODE_AVX512_H

#include "decode.h"
#include "decode_table.h"
#include "ops_avx512.h"

typedef __m512 mxg_vector;
#define MXG_VECTORS 4         /* of a group */
#define MXG_GROUP 64          /* elements */
#define MXG_TILE 2            /* groups that a loop over sources keeps in registers */
#define MXG_UNIT 32           /* elements that share a scale: mxg_serves_decode() */
#define MXG_SLOW_SUBNORMALS 0 /* are arithmetic on those and its traps slower than portable? */

#define MXG_PREFETCH_LINE(p) _mm_prefetch((const char *)(const void *)(p), _MM_HINT_T0)

/* ---- arithmetic ---- */

MXG_OP mxg_vector mxg_zero(void) {
  return _mm512_setzero_ps();
}
MXG_OP mxg_vector mxg_broadcast(float x) {
  return _mm512_set1_ps(x);
}
MXG_OP mxg_vector mxg_load(const float *x) {
  return _mm512_loadu_ps(x);
}
MXG_OP void mxg_store(float *y, mxg_vector x) {
  _mm512_storeu_ps(y, x);
}
MXG_OP mxg_vector mxg_mul(mxg_vector a, mxg_vector b) {
  return _mm512_mul_ps(a, b);
}
MXG_OP mxg_vector mxg_add(mxg_vector a, mxg_vector b) {
  return _mm512_add_ps(a, b);
}
MXG_OP mxg_vector mxg_fma(mxg_vector a, mxg_vector b, mxg_vector c) {
  return _mm512_fmadd_ps(a, b, c);
}
/* 1 if in some lane a is below or above b (a NaN is neither) */
MXG_OP int mxg_any_unequal(mxg_vector a, mxg_vector b) {
  return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_OQ) != 0;
}
/* 1/x of powers of two between 2^-126 and 2^126 */
MXG_OP mxg_vector mxg_rcp_power(mxg_vector x) {
  return _mm512_castsi512_ps(
      _mm512_sub_epi32(_mm512_set1_epi32(254 << 23), _mm512_castps_si512(x)));
}

/* ---- scales ---- */

typedef __m128i mxg_bytes; /* 16 of them */

MXG_OP mxg_bytes mxg_zero_bytes(void) {
  return _mm_setzero_si128();
}
/* The first `count`, or all 16. */
MXG_OP mxg_bytes mxg_load_scales(const uint8_t *scales, size_t count) {
  if (count >= 16) return _mm_loadu_si128((const __m128i *)(const void *)scales);
  return _mm_maskz_loadu_epi8((__mmask16)((1u << count) - 1u), scales);
}
MXG_OP mxg_bytes mxg_max_bytes(mxg_bytes a, mxg_bytes b) {
  return _mm_max_epu8(a, b);
}
/* A bit for each. */
MXG_OP uint32_t mxg_bytes_above(mxg_bytes bytes, int limit) {
  return _mm_cmpgt_epu8_mask(bytes, _mm_set1_epi8((char)limit));
}
/* 2^(byte - 127 + shift) of 16 E8M0 bytes, 1 <= shift; zero: 0.0 for byte 00. Wrong for bytes above
 * 254 - shift. */
MXG_OP void mxg_e8m0_vectors(mxg_bytes bytes, int shift, int zero, float f[16]) {
  const __m512i byte = _mm512_cvtepu8_epi32(bytes);
  __m512i bits = _mm512_slli_epi32(_mm512_add_epi32(byte, _mm512_set1_epi32(shift)), 23);
  if (zero) bits = _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(byte, byte), bits);
  _mm512_storeu_si512((void *)f, bits);
}

/* ---- decoding ---- */

typedef enum mxg_decoding { MXG_DECODING_FP8, MXG_DECODING_FNUZ, MXG_DECODING_FP4 } mxg_decoding;

typedef struct mxg_decoder {
  mxg_decoding decoding;
  int pairs; /* the order, see above */
  int shift; /* elements come out divided by 2^shift */
  __m512i high[2], low[2], upper_codes, sign, upper_half, order, nan_high, nan_low; /* FP8 */
  __m512i even, odd; /* FP4: the shifts that bring each lane its nibble */
  __m512 table;
} mxg_decoder;

static inline mxg_decoding mxg_decoding_of(mxg_element element) {
  return element == MXG_ELEMENT_E2M1                                          ? MXG_DECODING_FP4
         : element == MXG_ELEMENT_E4M3FNUZ || element == MXG_ELEMENT_E5M2FNUZ ? MXG_DECODING_FNUZ
                                                                              : MXG_DECODING_FP8;
}

MXG_OP __m512i mxg_load_bytes(const uint8_t *p) {
  return _mm512_loadu_si512((const void *)p);
}
/* Byte 16i + 2j + (v & 1) + 8 (v >> 1) becomes lane 4i + j of vector v in mxg_decode(): takes the
 * code of element 16v + 4i + j, for the natural order. */
#define MXG_ORDER_8_(n) (n), (n) + 16, (n) + 1, (n) + 17, (n) + 2, (n) + 18, (n) + 3, (n) + 19
static const uint8_t mxg_natural_order[64] = {MXG_ORDER_8_(0),  MXG_ORDER_8_(32), MXG_ORDER_8_(4),
                                              MXG_ORDER_8_(36), MXG_ORDER_8_(8),  MXG_ORDER_8_(40),
                                              MXG_ORDER_8_(12), MXG_ORDER_8_(44)};

/* e8m0: elements divided by 2^32, so that small scales are normal numbers. */
MXG_OP void mxg_decoder_init(mxg_decoder *d, mxg_decoding decoding, mxg_element element, int e8m0,
                             int pairs) {
  d->decoding = decoding;
  d->pairs = pairs;
  d->shift = e8m0 ? MXG_TABLE_SHIFT : 0;
  if (decoding == MXG_DECODING_FP4) {
    const mxg_fp4_table *t = &mxg_fp4_tables[e8m0];
    const __m512i high =
        _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)t->high));
    const __m512i low =
        _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)t->low));
    d->table = _mm512_castsi512_ps(
        _mm512_or_si512(_mm512_slli_epi32(high, 24), _mm512_slli_epi32(low, 16)));
    d->even = _mm512_setr_epi32(0, 0, 0, 0, 8, 8, 8, 8, 16, 16, 16, 16, 24, 24, 24, 24);
    d->odd = _mm512_add_epi32(d->even, _mm512_set1_epi32(4));
    MXG_KEEP(d->table);
    MXG_KEEP(d->even);
    MXG_KEEP(d->odd);
  } else {
    const mxg_fp8_table *t = &mxg_fp8_tables[element - MXG_ELEMENT_E4M3FN][e8m0];
    MXG_UNROLL for (int i = 0; i < 2; i++) {
      d->high[i] = mxg_load_bytes(t->high + 64 * i);
      d->low[i] = mxg_load_bytes(t->low + 64 * i);
      MXG_KEEP(d->high[i]);
      MXG_KEEP(d->low[i]);
    }
    d->upper_codes = _mm512_set1_epi8(0x40);
    d->sign = _mm512_set1_epi8((char)0x80);
    d->upper_half = _mm512_set1_epi32((int)0xFFFF0000u);
    d->order = mxg_load_bytes(mxg_natural_order);
    d->nan_high = _mm512_set1_epi8(0x7F);
    d->nan_low = _mm512_set1_epi8((char)0xC0);
    MXG_KEEP(d->upper_codes);
    MXG_KEEP(d->sign);
    MXG_KEEP(d->upper_half);
  }
}

/* Bytes of a table of 128, which VPERMB has in two halves: less than what VPERMI2B costs, because two
 * look-ups share the test of bit 6. */
MXG_OP __m512i mxg_look_up(const __m512i table[2], __mmask64 upper, __m512i x) {
  return _mm512_mask_permutexvar_epi8(_mm512_permutexvar_epi8(x, table[0]), upper, x, table[1]);
}

/* FP8: two look-ups and a sign give the bytes of 64 bf16; joining those into words interleaves them,
 * 8 from each 16 bytes. */
MXG_OP void mxg_decode_fp8(const mxg_decoder *d, const uint8_t *codes, mxg_vector t[MXG_VECTORS]) {
  __m512i x = mxg_load_bytes(codes), high, low;
  __mmask64 upper;
  if (!d->pairs) x = _mm512_permutexvar_epi8(d->order, x);
  upper = _mm512_test_epi8_mask(x, d->upper_codes);
  high = mxg_look_up(d->high, upper, x);
  low = mxg_look_up(d->low, upper, x);
  high = _mm512_ternarylogic_epi64(high, x, d->sign, 0xF8); /* high | (x & sign) */
  if (d->decoding == MXG_DECODING_FNUZ) {
    const __mmask64 nan = _mm512_cmpeq_epi8_mask(x, d->sign); /* code 80 */
    high = _mm512_mask_mov_epi8(high, nan, d->nan_high);
    low = _mm512_mask_mov_epi8(low, nan, d->nan_low);
  }
  x = _mm512_unpacklo_epi8(low, high);
  t[0] = _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
  t[1] = _mm512_castsi512_ps(_mm512_and_si512(x, d->upper_half));
  x = _mm512_unpackhi_epi8(low, high);
  t[2] = _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
  t[3] = _mm512_castsi512_ps(_mm512_and_si512(x, d->upper_half));
}

/* FP4: 16 bytes in all four quarters (broadcast on the load port); lane 4q + r gets nibbles 2q and
 * 2q + 1 of dword r. The look-up in 16 floats ignores the higher nibbles. */
MXG_OP void mxg_decode_fp4(const mxg_decoder *d, const uint8_t *codes, mxg_vector t[MXG_VECTORS]) {
  MXG_UNROLL for (int i = 0; i < 2; i++) {
    const __m512i x =
        _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)(codes + 16 * i)));
    t[2 * i] = _mm512_permutexvar_ps(_mm512_srlv_epi32(x, d->even), d->table);
    t[2 * i + 1] = _mm512_permutexvar_ps(_mm512_srlv_epi32(x, d->odd), d->table);
  }
}

/* A group of codes into vectors. */
MXG_OP void mxg_decode(const mxg_decoder *d, const uint8_t *codes, mxg_vector t[MXG_VECTORS]) {
  if (d->decoding == MXG_DECODING_FP4)
    mxg_decode_fp4(d, codes, t);
  else
    mxg_decode_fp8(d, codes, t);
}

/* This decoder knows every NaN. */
MXG_OP void mxg_decoder_begin(mxg_decoder *d) {
  (void)d;
}
MXG_OP int mxg_missed_nan(const mxg_decoder *d) {
  (void)d;
  return 0;
}
MXG_OP void mxg_mark_nan(const mxg_decoder *d, const uint8_t *codes, mxg_vector *t) {
  (void)d;
  (void)codes;
  (void)t;
}

/* The factors of a group's vectors; blocks: where those of its two units are. */
MXG_OP void mxg_group_factors(const mxg_decoder *d, mxg_spread spread, const uint8_t *factors,
                              const size_t *blocks, mxg_vector f[MXG_VECTORS]) {
  f[0] = f[1] = f[2] = f[3] =
      _mm512_set1_ps(mxg_factor_at(factors, blocks[0])); /* on the load port */
  if (spread == MXG_SPREAD_ONE) return;
  f[2] = f[3] = _mm512_set1_ps(mxg_factor_at(factors, blocks[1]));
  if (d->decoding != MXG_DECODING_FP4 && d->pairs) /* a unit is half of the lanes */
    f[0] = f[1] = f[2] = f[3] = _mm512_mask_mov_ps(f[0], 0xFF00, f[2]);
}

/* ---- values ---- */

typedef struct mxg_writer {
  __m512i one, half, order[2];
  __mmask32 even;
} mxg_writer;

MXG_OP void mxg_writer_init(mxg_writer *w, const mxg_decoder *d) {
  w->one = _mm512_set1_epi16(1);
  w->half = _mm512_set1_epi16((short)0x8000);
  w->even = 0x55555555;
  if (d->decoding != MXG_DECODING_FP4) {
    w->order[0] = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    w->order[1] = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  } else if (d->pairs) {
    w->order[0] = w->order[1] =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  } else {
    w->order[0] = _mm512_setr_epi32(0, 16, 4, 20, 8, 24, 12, 28, 1, 17, 5, 21, 9, 25, 13, 29);
    w->order[1] = _mm512_add_epi32(w->order[0], _mm512_set1_epi32(2));
  }
  MXG_KEEP(w->one);
  MXG_KEEP(w->half);
  MXG_KEEP(w->order[0]);
  MXG_KEEP(w->order[1]);
  MXG_KEEP_MASK(w->even);
}

/* x, or the canonical NaN: one fixup instead of a comparison and a blend. Constants from memory,
 * because this is rare. Assembly here and below: at -O0 the intrinsics of gcc are macros that warn
 * of signs. */
MXG_OP mxg_vector mxg_canonical(mxg_vector x) {
  /* quiet and signalling NaN: destination, else source */
  static const uint32_t nan = MXG_F32_NAN, if_nan = 0x11111100;
  mxg_vector y;
  __asm__("vbroadcastss %2, %0\n\tvfixupimmps $0, %3%{1to16%}, %1, %0"
          : "=&v"(y)
          : "v"(x), "m"(nan), "m"(if_nan));
  return y;
}

/* Canonical vectors, an even count of them. NaN are rare enough for a branch. */
MXG_OP void mxg_make_canonical(mxg_vector *t, int count) {
  __mmask16 numbers = 0xFFFF;
  MXG_UNROLL for (int i = 0; i < count; i += 2) numbers =
      _mm512_mask_cmp_ps_mask(numbers, t[i], t[i + 1], _CMP_ORD_Q);
  if (numbers == 0xFFFF) return;
  MXG_UNROLL for (int i = 0; i < count; i++) t[i] = mxg_canonical(t[i]);
}

/* binary16, to nearest even */
MXG_OP __m256i mxg_to_f16(mxg_vector x) {
  __m256i y;
  __asm__("vcvtps2ph $0, %1, %0" : "=v"(y) : "v"(x));
  return y;
}

/* Two canonical vectors into bf16, one in each word of a dword. Words of upper halves go up by one
 * where the words of lower halves are above 8000; a tie is made to be above where the upper half is
 * odd. */
MXG_OP __m512i mxg_pair_bf16(const mxg_writer *w, mxg_vector even, mxg_vector odd) {
  const __m512i e = _mm512_castps_si512(even), o = _mm512_castps_si512(odd);
  const __m512i upper = _mm512_mask_mov_epi16(o, w->even, _mm512_srli_epi32(e, 16));
  const __m512i lower = _mm512_mask_mov_epi16(_mm512_slli_epi32(o, 16), w->even, e);
  const __m512i rest = _mm512_ternarylogic_epi64(lower, upper, w->one, 0xF8); /* a | (b & c) */
  return _mm512_mask_add_epi16(upper, _mm512_cmpgt_epu16_mask(rest, w->half), upper, w->one);
}

/* A group of canonical sums into values. stream: around the caches, if y is aligned. */
MXG_OP void mxg_write_canonical(const mxg_writer *w, const mxg_decoder *d,
                                mxg_vector t[MXG_VECTORS], mxg_dtype dtype, int stream,
                                uint8_t *y) {
  __m512i pair[2];
  if (d->pairs) {
    MXG_UNROLL for (int i = 0; i < 2; i++) pair[i] = mxg_pair_bf16(w, t[2 * i], t[2 * i + 1]);
    if (d->decoding == MXG_DECODING_FP4) {
      MXG_UNROLL for (int i = 0; i < 2; i++)
          store_or_stream(y + 64 * i, _mm512_permutexvar_epi32(w->order[0], pair[i]), stream);
    } else {
      MXG_UNROLL for (int i = 0; i < 2; i++) store_or_stream(
          y + 64 * i, _mm512_permutex2var_epi64(pair[0], w->order[i], pair[1]), stream);
    }
    return;
  }
  if (d->decoding == MXG_DECODING_FP4) {
    MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i += 2) {
      const mxg_vector even = t[i], odd = t[i + 1];
      t[i] = _mm512_permutex2var_ps(even, w->order[0], odd);
      t[i + 1] = _mm512_permutex2var_ps(even, w->order[1], odd);
    }
  }
  MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i++) {
    if (dtype == MXG_DTYPE_F32)
      store_or_stream(y + 64 * i, _mm512_castps_si512(t[i]), stream);
    else
      _mm256_storeu_si256((__m256i *)(void *)(y + 32 * i), mxg_to_f16(t[i]));
  }
}

/* The same of any sums. */
MXG_OP void mxg_write(const mxg_writer *w, const mxg_decoder *d, mxg_vector t[MXG_VECTORS],
                      mxg_dtype dtype, int stream, uint8_t *y) {
  mxg_make_canonical(t, MXG_VECTORS);
  mxg_write_canonical(w, d, t, dtype, stream, y);
}

/* A group of codes, one a byte, into binary32; d is of natural order. */
MXG_OP void mxg_decode_group(mxg_decoder *d, const mxg_writer *w, const uint8_t *codes,
                             uint8_t *y) {
  mxg_vector t[MXG_VECTORS];
  if (d->decoding != MXG_DECODING_FP4) {
    mxg_decode_fp8(d, codes, t);
    mxg_write(w, d, t, MXG_DTYPE_F32, 0, y);
    return;
  }
  MXG_UNROLL for (int i = 0; i < MXG_VECTORS; i++) {
    const __m512i code =
        _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(codes + 16 * i)));
    _mm512_storeu_ps((void *)(y + 64 * i), _mm512_permutexvar_ps(code, d->table));
  }
}

#endif
