/* element.h: one element at a time between binary32 bits and codes, in integers only.
 *
 * Nothing here depends on a rounding mode, on FTZ or DAZ, or on a library. C11, C++11, HIP and CUDA
 * device code. "Section n" is section n of docs/NUMERICS.md. With constant traits (the result of
 * mxg_element_traits() for a constant element) a compiler folds each function to a few shifts.
 *
 * binary32 and what it is exchanged with (s sign, e exponent, m mantissa; most significant first):
 *
 *   binary32   s eeeeeeee mmmmmmmmmmmmmmmmmmmmmmm    bias 127
 *   bfloat16   s eeeeeeee mmmmmmm                    bias 127: the upper half of a binary32
 *   binary16   s eeeee mmmmmmmmmm                    bias 15
 *
 *   E4M3FN     s eeee mmm     S.1111.111 is NaN, no Inf            max S.1111.110 = 448
 *   E5M2       s eeeee mm     like binary16: Inf S.11111.00        max S.11110.11 = 57344
 *   FNUZ       as above, one more bias: every code is a number but 1.0..0 = 80, which is NaN
 *   E2M3       s ee mmm       every code is a number               max 7.5
 *   E3M2       s eee mm       every code is a number               max 28
 *   E2M1       s ee m         every code is a number               max 6
 *
 * Codes sit in the low bits of a byte. A code without its sign is a "magnitude": magnitudes are
 * ordered like the values they stand for, so clamping a value before it is rounded is the same as
 * clamping its magnitude after (rounding is monotone), and overflow is a comparison of magnitudes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_ELEMENT_H
#define MXGOLD_ELEMENT_H

#include "mxgold_format.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MXG_F32_SIGN 0x80000000u
#define MXG_F32_INF 0x7F800000u /* a magnitude above it is a NaN */
#define MXG_F32_NAN 0x7FC00000u /* the one NaN that is written */

/* ---- rounding ---- */

/* floor(log2(value)); 0 for 0. No branches: what it sees is rarely predictable. */
MXG_FN int mxg_floor_log2(uint32_t value) {
  int log2 = (value >> 16 != 0) << 4;
  int step;
  value >>= log2;
  step = (value >> 8 != 0) << 3;
  value >>= step;
  log2 += step;
  step = (value >> 4 != 0) << 2;
  value >>= step;
  log2 += step;
  step = (value >> 2 != 0) << 1;
  value >>= step;
  return log2 + step + (int)(value >> 1);
}

/* value / 2^drop to nearest, ties to even; 1 <= drop <= 31, value < 2^31. */
MXG_FN uint32_t mxg_round_shift(uint32_t value, int drop) {
  const uint32_t odd = value >> drop & 1u;
  return (value + (1u << (drop - 1)) - 1u + odd) >> drop;
}

/* The magnitude of v = f * 2^shift rounded once to a format with an unbounded exponent (section
 * 2.1). f is a finite binary32 without its sign, -1000 <= shift <= 1000. The result runs on past
 * the format's largest magnitude: comparing it with a limit is the caller's overflow test. */
MXG_FN uint32_t mxg_round_magnitude(int mantissa_bits, int emin, uint32_t f, int shift) {
  uint32_t significand = f & 0x7FFFFFu;
  int exponent = (int)(f >> 23); /* becomes floor(log2(v)) */
  int binade, below;
  if (exponent != 0) {
    significand |= 0x800000u;
  } else { /* subnormal: normalise, because the shift may lift it into the format's normals */
    int up;
    if (significand == 0) return 0;
    up = 23 - mxg_floor_log2(significand);
    significand <<= up;
    exponent = 1 - up;
  }
  exponent += shift - 127;
  /* Binades below the smallest normal lose one more bit each. From mantissa_bits + 2 on nothing is
   * left, not even a tie: the shift is capped there. */
  binade = exponent > emin ? exponent : emin;
  below = binade - exponent;
  if (below > mantissa_bits + 2) below = mantissa_bits + 2;
  /* The leading one of a normal adds 1 to the exponent field, as does a carry out of the mantissa.
   */
  return mxg_round_shift(significand, 23 - mantissa_bits + below) +
         ((uint32_t)(binade - emin) << mantissa_bits);
}

/* ---- codes from binary32 ---- */

/* What a recipe does with values that have no code of their own. */
typedef struct mxg_policy {
  uint32_t limit;  /* largest magnitude that a finite value keeps */
  uint32_t over;   /* magnitude of a finite value above it */
  uint32_t inf;    /* magnitude of Inf */
  uint32_t nan[2]; /* whole code of a NaN, by the sign of the source element */
} mxg_policy;

/* Sign (0 or 1) and magnitude joined; FNUZ has no -0 (section 2.3). */
MXG_FN uint32_t mxg_join_sign(mxg_traits t, uint32_t sign, uint32_t magnitude) {
  if (t.fnuz != 0 && magnitude == 0) return 0;
  return magnitude | sign << (t.bits - 1);
}

/* The policy of a valid recipe whose element_max has the bits max_bits (0 = the format's own). */
MXG_FN mxg_policy mxg_policy_for(const mxg_recipe *recipe, uint32_t max_bits) {
  const mxg_traits t = mxg_element_traits(recipe->element);
  const uint32_t max =
      max_bits != 0 ? mxg_round_magnitude(t.mantissa_bits, t.emin, max_bits, 0) : t.max_code;
  /* Overflow of E4M3FN and FNUZ is NaN, of E5M2 Inf. FP4 and FP6 always saturate. */
  const uint32_t nonfinite = t.inf_code != 0 ? t.inf_code : t.nan_code;
  mxg_policy p;
  p.limit = recipe->overflow == MXG_OVERFLOW_NONFINITE ? t.max_code : max;
  p.over = recipe->overflow == MXG_OVERFLOW_NONFINITE ? nonfinite : max;
  p.inf = recipe->overflow == MXG_OVERFLOW_SATURATE ? max : nonfinite;
  p.nan[0] = p.nan[1] = 0;
  switch (recipe->nan_element) {
    case MXG_NAN_ELEMENT_CODE:
      p.nan[0] = t.nan_code;
      p.nan[1] = (uint32_t)t.nan_code | t.sign_bit;
      break;
    case MXG_NAN_ELEMENT_NEG_MAX: p.nan[0] = p.nan[1] = mxg_join_sign(t, 1, max); break;
    case MXG_NAN_ELEMENT_SIGN_MAX:
      p.nan[0] = max;
      p.nan[1] = mxg_join_sign(t, 1, max);
      break;
    case MXG_NAN_ELEMENT_POS_MAX: p.nan[0] = p.nan[1] = max; break;
    case MXG_NAN_ELEMENT_ZERO: break;
  }
  return p;
}

/* The code of v = f * 2^shift (section 2). f: any binary32 bits. source: bits of the source
 * element, whose sign a NaN takes. */
MXG_FN uint32_t mxg_encode_bits(mxg_traits t, const mxg_policy *policy, uint32_t f, int shift,
                                uint32_t source) {
  const uint32_t magnitude = f & ~MXG_F32_SIGN;
  uint32_t code;
  if (magnitude > MXG_F32_INF) return policy->nan[source >> 31];
  if (magnitude == MXG_F32_INF) {
    code = policy->inf;
  } else {
    code = mxg_round_magnitude(t.mantissa_bits, t.emin, magnitude, shift);
    if (code > policy->limit) code = policy->over;
  }
  return mxg_join_sign(t, f >> 31, code);
}

/* ---- binary32 from codes ---- */

/* Bits of the binary32 value of a finite magnitude of a format, times 2^shift. Exact, or Inf past
 * binary32; -127 <= shift <= 127. Nothing is ever rounded away: the finest quantum of all formats,
 * 2^-24 of binary16 (shift 0) and 2^-17 of the elements, times 2^-127 is no less than 2^-149. */
MXG_FN uint32_t mxg_expand_magnitude(int mantissa_bits, int bias, uint32_t magnitude, int shift) {
  const uint32_t one = 1u << mantissa_bits;
  const int field = (int)(magnitude >> mantissa_bits);
  uint32_t significand = (magnitude & (one - 1u)) | (uint32_t)(field != 0) << mantissa_bits;
  const int up = mantissa_bits - mxg_floor_log2(significand);          /* 0 unless subnormal */
  const int exponent = field + (field == 0) - up + shift + 127 - bias; /* of the result */
  const uint32_t not_zero = magnitude != 0 ? 0xFFFFFFFFu : 0u;
  significand <<= 23 - mantissa_bits + up;
  if (exponent <= 0) return significand >> (1 - exponent);
  if (exponent >= 255) return MXG_F32_INF & not_zero;
  return ((uint32_t)exponent << 23 | (significand & 0x7FFFFFu)) & not_zero;
}

/* Bits of the binary32 value of a code times 2^shift, as above. Bits of code above the format's are
 * ignored; every NaN is MXG_F32_NAN. */
MXG_FN uint32_t mxg_decode_bits(mxg_traits t, uint32_t code, int shift) {
  const uint32_t magnitude = code & (t.sign_bit - 1u);
  const uint32_t sign = (code >> (t.bits - 1) & 1u) << 31;
  if (t.fnuz != 0) {
    if (magnitude == 0 && sign != 0) return MXG_F32_NAN;
  } else if (t.nan_code != 0 && magnitude > t.max_code) {
    return t.inf_code != 0 && magnitude == t.inf_code ? sign | MXG_F32_INF : MXG_F32_NAN;
  }
  return sign | mxg_expand_magnitude(t.mantissa_bits, t.bias, magnitude, shift);
}

/* ---- bfloat16 and binary16 ---- */

MXG_FN uint32_t mxg_bits_from_bf16(uint16_t h) {
  return (uint32_t)h << 16;
}

/* Nearest even; overflow gives Inf, every NaN 7FC0. */
MXG_FN uint16_t mxg_bits_to_bf16(uint32_t f) {
  if ((f & ~MXG_F32_SIGN) > MXG_F32_INF) return 0x7FC0u;
  return (uint16_t)((f + 0x7FFFu + (f >> 16 & 1u)) >> 16);
}

/* Exact, NaN payload and sign included. */
MXG_FN uint32_t mxg_bits_from_f16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h >> 15) << 31;
  const uint32_t magnitude = h & 0x7FFFu;
  if (magnitude >= 0x7C00u) return sign | MXG_F32_INF | (magnitude & 0x3FFu) << 13;
  return sign | mxg_expand_magnitude(10, 15, magnitude, 0);
}

/* Nearest even; overflow gives Inf, every NaN 7E00. */
MXG_FN uint16_t mxg_bits_to_f16(uint32_t f) {
  const uint32_t magnitude = f & ~MXG_F32_SIGN;
  uint32_t h = 0x7C00u;
  if (magnitude > MXG_F32_INF) return 0x7E00u;
  if (magnitude < MXG_F32_INF) h = mxg_round_magnitude(10, -14, magnitude, 0);
  if (h > 0x7C00u) h = 0x7C00u;
  return (uint16_t)((f >> 31) << 15 | h);
}

#ifdef __cplusplus
}
#endif
#endif
