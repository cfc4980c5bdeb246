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

/* v[8] finite. clamp: as in mxg_gpu_args; what saturates is within the limit already. */
MXG_DEVICE void mxg_encode_8(mxg_traits t, const mxg_policy *policy, float clamp, const float *v,
                             uint32_t *codes) {
  codes[0] = codes[1] = 0;
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

/* FP4 of 8 finite bf16, two at a time in the halves of a word, where the chip has such arithmetic.
 * The same sum in bf16, whose 7 mantissa bits hold the code: with v = x * factor below 8 and
 * E = 1, 2 or 4, the magic is 64, 128 + 2 or 256 + 8, in bits E + (E >> 6) + 0202. */
#if MXG_HAS_BF16X2
MXG_DEVICE uint32_t mxg_encode_e2m1_bf16x2(const uint32_t *x, uint32_t factor, uint32_t limit) {
  uint32_t c[4], low, high;
  factor |= factor << 16;
  limit |= limit << 16;
  MXG_UNROLL
  for (uint32_t i = 0; i < 4; i++) {
    const uint32_t v = mxg_mul_bf16x2(x[i] & 0x7FFF7FFFu, factor);
    const uint32_t binade = mxg_max_u16x2(v & 0x7F807F80u, 0x3F803F80u);
    const uint32_t sum = mxg_add_bf16x2(v, binade + (binade >> 6) + 0x02020202u);
    c[i] = mxg_min_u16x2(sum & 0x000F000Fu, limit) | (x[i] >> 12 & 0x00080008u);
  }
  /* a word has element 2i at bit 0 and 2i + 1 at bit 16 */
  low = c[0] | c[1] << 8;
  high = c[2] | c[3] << 8;
  return ((low | low >> 12) & 0xFFFFu) | (high | high >> 12) << 16;
}
#else /* never called */
MXG_DEVICE uint32_t mxg_encode_e2m1_bf16x2(const uint32_t *x, uint32_t factor, uint32_t limit) {
  (void)x;
  return factor | limit;
}
#endif

#endif
