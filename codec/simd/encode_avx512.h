/* encode_avx512.h: 64 binary32 values into codes, one a byte: array.h says how. For leaves only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_ENCODE_AVX512_H
#define MXG_SIMD_ENCODE_AVX512_H

#include "encode.h"
#include "ops_avx512.h"

#define MXG_ENCODE_GROUP 64

typedef struct mxg_encoder {
  __m512 clamp;
  __m512i exponent, least, addend, drop, sign_shift, sign_mask, order, minus_zero;
  int fnuz;
} mxg_encoder;

MXG_OP void mxg_encoder_init(mxg_encoder *e, const mxg_encoding *encoding) {
  e->clamp = _mm512_set1_ps(encoding->clamp);
  e->exponent = _mm512_set1_epi32((int)MXG_F32_INF);
  e->least = _mm512_set1_epi32((int)encoding->least);
  e->addend = _mm512_set1_epi32((int)encoding->addend);
  e->drop = _mm512_set1_epi32(encoding->drop);
  e->sign_shift = _mm512_set1_epi32(32 - encoding->bits);
  e->sign_mask = _mm512_set1_epi32(-(1 << (encoding->bits - 1)));
  e->order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  e->minus_zero = _mm512_set1_epi8((char)0x80);
  e->fnuz = encoding->fnuz;
  MXG_KEEP(e->clamp);
  MXG_KEEP(e->exponent);
  MXG_KEEP(e->least);
  MXG_KEEP(e->addend);
  MXG_KEEP(e->drop);
  MXG_KEEP(e->sign_shift);
  MXG_KEEP(e->sign_mask);
  MXG_KEEP(e->order);
}

/* min(|x|, clamp), in one instruction. (The intrinsic's macro of gcc -O0 converts signs.) */
MXG_OP __m512 mxg_clamped_magnitude(const mxg_encoder *e, __m512 x) {
  __m512 y;
  __asm__("vrangeps $0x0A, %2, %1, %0" : "=v"(y) : "v"(x), "v"(e->clamp));
  return y;
}

/* Codes of 16 values in the low bytes of dwords, the rest of them 0. */
MXG_OP __m512i mxg_encode_vector(const mxg_encoder *e, __m512 x) {
  const __m512i sign = _mm512_srlv_epi32(_mm512_castps_si512(x), e->sign_shift);
  const __m512 a = mxg_clamped_magnitude(e, x);
  const __m512i magic = _mm512_add_epi32(
      _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(a), e->exponent), e->least), e->addend);
  const __m512i sum = _mm512_castps_si512(_mm512_add_ps(a, _mm512_castsi512_ps(magic)));
  const __m512i code = _mm512_add_epi32(sum, _mm512_srlv_epi32(sum, e->drop));
  return _mm512_ternarylogic_epi32(code, sign, e->sign_mask, 0xD8); /* mask ? sign : code */
}

/* Returns 0 if there is a NaN or an Inf. */
MXG_OP int mxg_encode_group(const mxg_encoder *e, const uint8_t *x, uint8_t *codes) {
  __m512i c[4];
  __mmask16 odd = 0; /* quiet or signalling NaN, Inf of either sign */
  MXG_UNROLL for (int i = 0; i < 4; i++) {
    const __m512 v = _mm512_loadu_ps((const void *)(x + 64 * i));
    odd = _kor_mask16(odd, _mm512_fpclass_ps_mask(v, 0x99));
    c[i] = mxg_encode_vector(e, v);
  }
  if (!_kortestz_mask16_u8(odd, odd)) return 0;
  /* dword 4i + j of the packed bytes is quarter i of vector j */
  c[0] = _mm512_packus_epi16(_mm512_packus_epi32(c[0], c[1]), _mm512_packus_epi32(c[2], c[3]));
  if (e->fnuz) c[0] = _mm512_maskz_mov_epi8(_mm512_cmpneq_epi8_mask(c[0], e->minus_zero), c[0]);
  _mm512_storeu_si512((void *)codes, _mm512_permutexvar_epi32(e->order, c[0]));
  return 1;
}

#endif
