/* encode.h: 8 finite values to 8 codes with float arithmetic, for any chip.
 *
 * A magnitude v in the binade E = 2^e (e at least emin) is a multiple of the quantum E * 2^-mbits.
 * Adding E * 2^(23-mbits), whose last mantissa bit is worth that quantum, rounds v to it, nearest
 * even, and leaves the count of quanta in the low bits of the sum. An addend whose low bits already
 * hold (e - emin) << mbits leaves the code itself there: a step of the exponent is 2^mbits codes.
 *
 *   E      bits of v, mantissa cleared, at least 2^emin       E = eeeeeeee 000...
 *   magic  E * 2^(23-mbits) + code of E less 2^mbits          bits(E) + (23-mbits << 23) + low
 *   code   low bits of v + magic
 *
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_ENCODE_H
#define MXGOLD_GPU_ENCODE_H

#include "native.h"

/* The code of a finite v without its sign, v's magnitude at most twice the binade of the format's
 * maximum. Overflow is not judged: the result runs on past the largest code. */
MXG_DEVICE uint32_t mxg_magnitude_of(mxg_traits t, float magnitude) {
  const int mbits = t.mantissa_bits;
  const uint32_t emin_field = (uint32_t)(t.emin + 127);
  uint32_t binade = mxg_f32_bits(magnitude) & 0x7F800000u, magic;
  binade = binade > emin_field << 23 ? binade : emin_field << 23;
  magic =
      binade + (binade >> (23 - mbits)) + ((uint32_t)(23 - mbits) << 23) - (emin_field << mbits);
  return mxg_f32_bits(magnitude + mxg_f32_from_bits(magic)) & ((1u << t.bits) - 1u);
}

/* v[8] finite, a word or two of codes. clamp: as in mxg_gpu_args; what saturates is within the limit
 * already. */
MXG_DEVICE void mxg_encode_8(mxg_traits t, const mxg_policy *policy, float clamp, const float *v,
                             uint32_t *codes) {
  codes[0] = 0;
  if (t.bits == 8) codes[1] = 0;
  MXG_UNROLL
  for (uint32_t i = 0; i < 8; i++) {
    const uint32_t bits = mxg_f32_bits(v[i]);
    uint32_t code = mxg_magnitude_of(t, mxg_fmin(mxg_fabs(v[i]), clamp));
    if (t.bits == 8) code = code > policy->limit ? policy->over : code;
    if (t.bits == 4) {
      code |= bits >> 28 & 8u;
      codes[0] |= code << (4 * i);
    } else {
      /* FNUZ: nonfinite's NaN is 80 without a sign already; 0 has none */
      if (!(t.fnuz != 0 && code == 0)) code |= bits >> 24 & 0x80u;
      codes[i / 4] |= code << (8 * (i % 4));
    }
  }
}

/* FP4 of finite bf16, 8 * vectors of them, two at a time in the halves of a word, where the chip has
 * such arithmetic: the same sum in bf16, whose 7 mantissa bits hold the code. byte: the scale's;
 * factor: 2^(127 - byte), exact in bf16.
 *
 * With v = x * factor below 8 and E = 1, 2 or 4 its binade, the magic is 64, 128 + 2 or 256 + 8: in
 * bits 4280, 4302 or 4384, steps of 0082. The step comes from the exponent field of x, less that of
 * v = 1, which is `byte`. A sum ends in the code, bit 3 clear; a cap on the sum is one on the code. */
#if MXG_HAS_BF16X2
MXG_DEVICE void mxg_encode_e2m1_bf16x2(const uint32_t *x, uint32_t vectors, uint32_t byte,
                                       float factor, uint32_t limit, uint32_t *codes) {
  const uint32_t both =
      0x00010001u; /* halves of a product do not carry: each sum is one of those */
  const uint32_t fields = byte * both, factors = (mxg_f32_bits(factor) >> 16) * both;
  const uint32_t magic = (0x4280u - byte * 0x82u) * both;
  const uint32_t cap = (0x4280u + limit + (limit < 4 ? 0u : limit < 6 ? 0x80u : 0x100u)) * both;
  MXG_UNROLL
  for (uint32_t k = 0; k < vectors; k++) {
    const uint32_t *const w = x + 4 * k;
    uint32_t sum[4], low, high;
    MXG_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
      const uint32_t field = mxg_max_u16x2(w[i] >> 7 & 0x00FF00FFu, fields);
      sum[i] = mxg_fma_bf16x2(w[i] & 0x7FFF7FFFu, factors, field * 0x82u + magic);
      sum[i] = mxg_min_u16x2(sum[i], cap);
    }
    /* Byte 0 of a word has element 2i, byte 2 element 2i + 1. */
    low = mxg_bytes(sum[0], sum[1], 0x6240);
    high = mxg_bytes(sum[2], sum[3], 0x6240);
    codes[k] = (mxg_bytes(low, high, 0x5410) & 0x0F0F0F0Fu) |
               (mxg_bytes(low, high, 0x7632) << 4 & 0xF0F0F0F0u);
    /* Signs are the tops of bytes 1 and 3 of the elements. */
    low = mxg_bytes(w[0], w[1], 0x7351);
    high = mxg_bytes(w[2], w[3], 0x7351);
    codes[k] |= (mxg_bytes(low, high, 0x5410) >> 4 & 0x08080808u) |
                (mxg_bytes(low, high, 0x7632) & 0x80808080u);
  }
}
#else /* never called */
MXG_DEVICE void mxg_encode_e2m1_bf16x2(const uint32_t *x, uint32_t vectors, uint32_t byte,
                                       float factor, uint32_t limit, uint32_t *codes) {
  (void)x;
  (void)vectors;
  (void)factor;
  codes[0] = byte | limit;
}
#endif

#endif
