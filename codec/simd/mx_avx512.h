/* mx_avx512.h: vectors of bf16 into codes of E8M0 blocks, in 16-bit lanes and integers alone: maxima
 * of a group of 16 blocks, their scales, FP4 and FP8 encoders. For avx512_quantize_mx.c.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_MX_AVX512_H
#define MXG_SIMD_MX_AVX512_H

#include "e8m0.h"
#include "ops_avx512.h"

#define GROUP 16  /* blocks */
#define VECTOR 32 /* elements */
#define WORDS(value) _mm512_set1_epi16((short)(value))

typedef struct word_constants {
  __m512i magnitude, one;
} word_constants;

/* ---- maxima ---- */

/* The dword of tree16's result that holds vector i. */
static const uint8_t slot_of[GROUP] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};

/* Each step joins parts of two vectors, so that one maximum serves both. */
MXG_OP __m512i halves_max(__m512i a, __m512i b) {
  return _mm512_max_epu16(_mm512_shuffle_i64x2(a, b, 0x44), _mm512_shuffle_i64x2(a, b, 0xEE));
}
MXG_OP __m512i quarters_max(__m512i a, __m512i b) {
  return _mm512_max_epu16(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xDD));
}
MXG_OP __m512i quadwords_max(__m512i a, __m512i b) {
  return _mm512_max_epu16(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
MXG_OP __m512i dwords_max(__m512i a, __m512i b) {
  const __m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b);
  return _mm512_max_epu16(_mm512_castps_si512(_mm512_shuffle_ps(x, y, 0x88)),
                          _mm512_castps_si512(_mm512_shuffle_ps(x, y, 0xDD)));
}

/* A quadword of four maxima for each of 8 vectors. */
MXG_OP __m512i tree8(const __m512i m[8]) {
  return quadwords_max(quarters_max(halves_max(m[0], m[1]), halves_max(m[2], m[3])),
                       quarters_max(halves_max(m[4], m[5]), halves_max(m[6], m[7])));
}

/* Word maxima of 16 vectors from tree8 of the first and the last 8: both words of dword slot_of[i]
 * are the maximum of vector i. */
MXG_OP __m512i tree16(__m512i first, __m512i last) {
  const __m512i t = dwords_max(first, last);
  return _mm512_max_epu16(t, _mm512_rol_epi32(t, 16));
}

/* ---- scales: e8m0.h in words ---- */

typedef struct scale_constants {
  __m512i one, addend, infinity, begin, minus, floor_byte, least_byte, base, slots;
  __m512i subnormal; /* FP8: the last one, as base */
} scale_constants;

/* base: added to the exponent field of the block's scale, gives what an encoder subtracts. lift: of
 * FP8, see there. */
MXG_OP scale_constants scale_constants_for(const mxg_e8m0_sum *sum, int base, int lift) {
  const __m128i slots = _mm_setr_epi8(0, 16, 32, 48, 4, 20, 36, 52, 8, 24, 40, 56, 12, 28, 44, 60);
  const uint32_t begin = (sum->begin + 0xFFFFu) >> 16;
  scale_constants c;
  c.one = WORDS(1);
  c.addend = WORDS(sum->addend >> 16); /* exact: the low half of a bf16 maximum is 0 */
  c.infinity = WORDS(0x7F80);
  c.begin = WORDS(begin == 0 ? 0 : begin - 1);
  c.minus = WORDS(sum->minus);
  c.floor_byte = WORDS(sum->floor_byte);
  c.least_byte = WORDS(sum->least_byte);
  c.base = WORDS(base);
  c.subnormal = WORDS(base + 128 * lift - 1);
  c.slots = _mm512_castsi128_si512(slots);
  return c;
}

/* The scale bytes of a group in words, and in *good 2 bits a slot for what is for us. */
MXG_OP __m512i scale_bytes(const scale_constants *c, __m512i amax, __mmask32 *good) {
  const __m512i sum = _mm512_add_epi16(amax, c->addend);
  const __m512i before = _mm512_sub_epi16(amax, c->one); /* 0 wraps: it is good */
  *good = _mm512_mask_cmpge_epu16_mask(_mm512_cmplt_epu16_mask(sum, c->infinity), before, c->begin);
  return _mm512_max_epu16(_mm512_subs_epu16(_mm512_srli_epi16(sum, 7), c->minus), c->floor_byte);
}

/* ---- E2M1 ----
 * Less base = ((byte - 3) << 7) + 1, a magnitude is v in quarter binades of 32 steps: 0x80 for 0.25
 * (bin 4), 0x280 for 4. The 1 puts ties into the lower bin; those that go up (0.75, 1.75, 3.5) are
 * the ones with bit 6 set, which is added back. v < 8, so a bin fits 5 bits; the sign becomes the
 * sixth, and a table of 64 takes both to the code. */

typedef struct fp4_constants {
  __m512i tie_and_sign, addends, bins, table, pairs, order;
  __mmask64 second;
} fp4_constants;

#define FP4_BASE (1 - 3 * 128)

MXG_OP fp4_constants fp4_constants_for(uint32_t limit) {
  static const uint8_t code_of[32] = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4,
                                      4, 5, 5, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  static const uint8_t order[64] = {0,  1,  4,  5,  16, 17, 20, 21, 32, 33, 36, 37, 48, 49, 52, 53,
                                    2,  3,  6,  7,  18, 19, 22, 23, 34, 35, 38, 39, 50, 51, 54, 55,
                                    8,  9,  12, 13, 24, 25, 28, 29, 40, 41, 44, 45, 56, 57, 60, 61,
                                    10, 11, 14, 15, 26, 27, 30, 31, 42, 43, 46, 47, 58, 59, 62, 63};
  const __m256i codes = _mm256_min_epu8(_mm256_loadu_si256((const __m256i *)(const void *)code_of),
                                        _mm256_set1_epi8((char)limit));
  fp4_constants c;
  c.tie_and_sign = _mm512_set1_epi64(0x3D362D261D160D06);
  c.addends = WORDS(0x0401);
  c.bins = _mm512_set1_epi64(0x3525150535251505);
  c.table = _mm512_inserti64x4(_mm512_castsi256_si512(codes),
                               _mm256_or_si256(codes, _mm256_set1_epi8(8)), 1);
  c.pairs = WORDS(0x1001);
  c.order = _mm512_loadu_si512(order);
  c.second = 0xF0F0F0F0F0F0F0F0u;
  return c;
}

/* Words with bin and sign in bits 5 to 10. VPMULTISHIFTQB picks any 8 bits of a quadword per byte:
 * here bit 6 of each word into bit 0, and the sign into bit 10. */
MXG_OP __m512i fp4_bins(const fp4_constants *c, __m512i x, __m512i magnitude, __m512i base) {
  const __m512i moved = _mm512_multishift_epi64_epi8(c->tie_and_sign, x);
  return _mm512_add_epi16(_mm512_subs_epu16(magnitude, base), _mm512_and_si512(moved, c->addends));
}

/* Two vectors of words into words of two codes: bits 5 to 10 of 4 words of the first vector, then of
 * the second, into bytes. */
MXG_OP __m512i fp4_join(const fp4_constants *c, const __m512i x[2], const __m512i magnitude[2],
                        const __m512i base[2]) {
  const __m512i first =
      _mm512_multishift_epi64_epi8(c->bins, fp4_bins(c, x[0], magnitude[0], base[0]));
  const __m512i index = _mm512_mask_multishift_epi64_epi8(first, c->second, c->bins,
                                                          fp4_bins(c, x[1], magnitude[1], base[1]));
  return _mm512_maddubs_epi16(_mm512_permutexvar_epi8(index, c->table), c->pairs);
}

/* ---- E4M3, E5M2 ----
 * Codes sit in the high byte of a word. base is half the smallest subnormal, as a bf16.
 *
 * The code of a normal is its magnitude shifted left, less that of base: the shifted word plus a
 * constant of the block, because sign and high exponent bits fall out. Half a code and the odd bit
 * round it to nearest even.
 *
 * Up to 8 times the smallest subnormal a code is that multiple, to nearest even, in both formats. It
 * changes at eighths of binades only, 16 steps of bf16, so a table of 32 has it, its low byte FF
 * where the exact eighth is a tie that goes down: any step beyond carries into the code. */

typedef struct fp8_constants {
  __m512i lift, odd, limit, sign, order;
  __m512i normal, table, in_table; /* read from memory */
} fp8_constants;

MXG_OP fp8_constants fp8_constants_for(const mxg_plan *plan) {
  static const uint16_t table[32] = {
      /* less 16 for each eighth */
      0x00FF, 0x00F0, 0x00E0, 0x00D0, 0x00C0, 0x00B0, 0x00A0, 0x0090, 0x0080, 0x0070, 0x0060,
      0x0050, 0x0140, 0x0130, 0x0120, 0x0110, 0x0100, 0x00F0, 0x01DF, 0x01D0, 0x01C0, 0x01B0,
      0x02A0, 0x0290, 0x0280, 0x036F, 0x0360, 0x0450, 0x0440, 0x052F, 0x0520, 0x0610,
  };
  const uint32_t lift = (uint32_t)plan->traits.mantissa_bits + 1;
  const __m512i bytes = _mm512_broadcast_i64x4(
      _mm256_setr_epi8(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39,
                       41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63));
  fp8_constants c;
  c.lift = WORDS(lift);
  c.normal = WORDS(((0x80 - 0x80 * lift) << lift) + 0x7F);
  c.table = _mm512_loadu_si512(table);
  c.in_table = WORDS(4 * 0x80);
  c.odd = WORDS(0x100);
  c.limit = WORDS(plan->policy.over << 8 | 0xFF);
  c.sign = WORDS(0x8000);
  c.order = bytes;
  return c;
}

/* base of the scale byte 0. */
MXG_OP int fp8_base(const mxg_traits *t) {
  return (t->emin - t->mantissa_bits - 1) * 128;
}

/* What fp8_normal adds for a base. */
MXG_OP __m512i fp8_offset(const fp8_constants *c, __m512i base) {
  return _mm512_sub_epi16(c->normal, _mm512_sllv_epi16(base, c->lift));
}

MXG_OP __m512i fp8_normal(const fp8_constants *c, const word_constants *k, __m512i x,
                          __m512i offset) {
  const __m512i code = _mm512_add_epi16(_mm512_sllv_epi16(x, c->lift), offset);
  return _mm512_mask_add_epi16(code, _mm512_test_epi16_mask(code, c->odd), code, k->one);
}

/* normal, but for words that the table has. */
MXG_OP __m512i fp8_any(const fp8_constants *c, __m512i normal, __m512i magnitude, __m512i base) {
  const __m512i steps = _mm512_subs_epu16(magnitude, base);
  const __m512i eighth = _mm512_permutexvar_epi16(_mm512_srli_epi16(steps, 4), c->table);
  return _mm512_mask_add_epi16(normal, _mm512_cmplt_epu16_mask(steps, c->in_table), eighth, steps);
}

/* Limited and signed. */
MXG_OP __m512i fp8_codes(const fp8_constants *c, __m512i x, __m512i code, int fnuz) {
  code = _mm512_min_epu16(code, c->limit);
  if (fnuz) x = _mm512_maskz_mov_epi16(_mm512_cmpge_epu16_mask(code, c->odd), x); /* no -0 */
  return _mm512_ternarylogic_epi64(code, x, c->sign, 0xF8);                       /* a | (b & c) */
}

/* The high bytes of two vectors of words. */
MXG_OP __m512i fp8_join(const fp8_constants *c, __m512i codes0, __m512i codes1) {
  const __m512i low = _mm512_permutexvar_epi8(c->order, codes0);
  return _mm512_mask_permutexvar_epi8(low, 0xFFFFFFFF00000000u, c->order, codes1);
}

#endif
