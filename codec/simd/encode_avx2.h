/* encode_avx2.h: 32 binary32 values into codes, one a byte: array.h says how. For leaves only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_ENCODE_AVX2_H
#define MXG_SIMD_ENCODE_AVX2_H

#include "encode.h"
#include "ops_avx2.h"

#define MXG_ENCODE_GROUP 32

typedef struct mxg_encoder {
  __m256 clamp;
  __m256i magnitude, tiny, exponent, least, addend, drop, code_mask, sign_byte, finite, order;
  __m128i sign_shift;
  int fnuz;
} mxg_encoder;

MXG_OP void mxg_encoder_init(mxg_encoder *e, const mxg_encoding *encoding) {
  e->clamp = _mm256_set1_ps(encoding->clamp);
  e->magnitude = _mm256_set1_epi32((int)~MXG_F32_SIGN);
  e->tiny = _mm256_set1_epi32((int)encoding->least - ((25 - encoding->drop) << 23));
  e->exponent = _mm256_set1_epi32((int)MXG_F32_INF);
  e->least = _mm256_set1_epi32((int)encoding->least);
  e->addend = _mm256_set1_epi32((int)encoding->addend);
  e->drop = _mm256_set1_epi32(encoding->drop);
  e->code_mask = _mm256_set1_epi32((1 << (encoding->bits - 1)) - 1);
  e->sign_byte = _mm256_set1_epi8((char)0x80);
  e->sign_shift = _mm_cvtsi32_si128(8 - encoding->bits);
  e->finite = _mm256_set1_epi32((int)(MXG_F32_INF - 1));
  e->order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  e->fnuz = encoding->fnuz;
  MXG_KEEP(e->clamp);
  MXG_KEEP(e->magnitude);
  MXG_KEEP(e->exponent);
  MXG_KEEP(e->least);
  MXG_KEEP(e->addend);
  MXG_KEEP(e->drop);
  MXG_KEEP(e->code_mask);
}

/* Magnitude codes of 8 values |x|, in dwords. Sums of subnormals take an assist of the microcode:
 * what is below a quarter of the format's finest step becomes that. */
MXG_OP __m256i mxg_encode_vector(const mxg_encoder *e, __m256i magnitude) {
  const __m256i normal = _mm256_max_epi32(magnitude, e->tiny);
  const __m256 a = _mm256_min_ps(_mm256_castsi256_ps(normal), e->clamp);
  const __m256i magic = _mm256_add_epi32(
      _mm256_max_epi32(_mm256_and_si256(_mm256_castps_si256(a), e->exponent), e->least), e->addend);
  const __m256i sum = _mm256_castps_si256(_mm256_add_ps(a, _mm256_castsi256_ps(magic)));
  return _mm256_and_si256(_mm256_add_epi32(sum, _mm256_srlv_epi32(sum, e->drop)), e->code_mask);
}

/* Returns 0 if there is a NaN or an Inf. */
MXG_OP int mxg_encode_group(const mxg_encoder *e, const uint8_t *x, uint8_t *codes) {
  __m256i v[4], c[4], largest = _mm256_setzero_si256(), packed, sign;
  MXG_UNROLL for (int i = 0; i < 4; i++) {
    __m256i magnitude;
    v[i] = _mm256_loadu_si256((const __m256i *)(const void *)(x + 32 * i));
    magnitude = _mm256_and_si256(v[i], e->magnitude);
    largest = _mm256_max_epi32(largest, magnitude);
    c[i] = mxg_encode_vector(e, magnitude);
  }
  if (_mm256_movemask_epi8(_mm256_cmpgt_epi32(largest, e->finite)) != 0) return 0;
  packed = _mm256_packus_epi16(_mm256_packus_epi32(c[0], c[1]), _mm256_packus_epi32(c[2], c[3]));
  /* signed saturation keeps signs */
  sign = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
  sign = _mm256_srl_epi16(_mm256_and_si256(sign, e->sign_byte), e->sign_shift);
  if (e->fnuz) sign = _mm256_andnot_si256(_mm256_cmpeq_epi8(packed, _mm256_setzero_si256()), sign);
  packed = _mm256_or_si256(packed, sign);
  /* dword 4i + j of the packed bytes is half i of vector j */
  _mm256_storeu_si256((__m256i *)(void *)codes, _mm256_permutevar8x32_epi32(packed, e->order));
  return 1;
}

#endif
