/* array.h: arrays of binary32 into codes, one a byte, and back (section 2), a template over
 * encode_*.h and decode_*.h. For leaves only: include those before.
 *
 * Encoding is one addition. With e the exponent of |x|, no less than the smallest normal's, the sum
 * of |x| and 2^(e + 23 - mantissa bits) is |x| rounded to the format, ties to even, subnormals
 * included: its low bits count steps of the format's. Adding the exponent field of the sum, moved
 * to where the code has its exponent, and a constant gives the code. |x| is clamped before. A group
 * with NaN or Inf is left to the portable kernel.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_ARRAY_H
#define MXG_SIMD_ARRAY_H

#include "../internal.h"

/* So few elements take the portable kernel less time than the registers to set up. */
#define MXG_FEW_ELEMENTS 8

/* What finite x beyond the format's largest value is clamped to: element_max, or with
 * overflow=nonfinite the value one step above the format's maximum, whose code is the one that
 * overflow gives. */
static inline float mxg_clamp_of(const mxg_plan *plan) {
  const mxg_traits *t = &plan->traits;
  const uint32_t past_max = (uint32_t)t->max_code + 1;
  if (plan->recipe.overflow == MXG_OVERFLOW_NONFINITE)
    return mxg_f32_from_bits(mxg_expand_magnitude(t->mantissa_bits, t->bias, past_max, 0));
  return plan->recipe.element_max > 0.0f ? plan->recipe.element_max : t->max;
}

static inline mxg_encoding mxg_encoding_of(const mxg_plan *plan) {
  const mxg_traits *t = &plan->traits;
  const int drop = 23 - t->mantissa_bits, least = t->emin + 127;
  mxg_encoding e;
  e.clamp = mxg_clamp_of(plan);
  e.least = (uint32_t)least << 23;
  /* a multiple of 2^mantissa_bits: it does not change which sums are odd */
  e.addend = ((uint32_t)drop << 23) +
             ((0u - ((uint32_t)(least + drop) << t->mantissa_bits)) & (t->sign_bit - 1u));
  e.drop = drop;
  e.bits = t->bits;
  e.fnuz = t->fnuz;
  return e;
}

MXG_OP void mxg_encode_as(const mxg_plan *plan, const uint8_t *x, size_t count, uint8_t *codes) {
  const mxg_encoding encoding = mxg_encoding_of(plan);
  mxg_encoder e;
  if (count < MXG_FEW_ELEMENTS) {
    mxg_encode__portable(plan, x, count, codes);
    return;
  }
  mxg_encoder_init(&e, &encoding);
  for (size_t i = 0; i < count; i += MXG_ENCODE_GROUP) {
    size_t left = MXG_ENCODE_GROUP;
    int ok;
    if (count - i >= MXG_ENCODE_GROUP) {
      ok = mxg_encode_group(&e, x + 4 * i, codes + i);
    } else { /* a copy of what there is */
      uint8_t copy[4 * MXG_ENCODE_GROUP] = {0}, group[MXG_ENCODE_GROUP];
      left = count - i;
      memcpy(copy, x + 4 * i, 4 * left);
      ok = mxg_encode_group(&e, copy, group);
      if (ok) memcpy(codes + i, group, left);
    }
    if (!ok) mxg_encode__portable(plan, x + 4 * i, left, codes + i);
  }
}

/* FNUZ has one code for NaN and for what would be -0: only a clamp keeps overflow apart. */
static inline int mxg_can_encode(const mxg_plan *plan) {
  return plan->traits.fnuz == 0 || plan->recipe.overflow != MXG_OVERFLOW_NONFINITE;
}

/* codes, one a byte, of a constant decoding. */
MXG_OP void mxg_decode_as(mxg_element element, mxg_decoding decoding, const uint8_t *codes,
                          size_t count, uint8_t *y) {
  mxg_decoder d;
  mxg_writer w;
  if (count < MXG_FEW_ELEMENTS) {
    mxg_decode__portable(element, codes, count, y);
    return;
  }
  mxg_decoder_init(&d, decoding, element, 0, 0);
  mxg_writer_init(&w, &d);
  for (size_t i = 0; i < count; i += MXG_GROUP) {
    if (count - i >= MXG_GROUP) {
      mxg_decode_group(&d, &w, codes + i, y + 4 * i);
    } else { /* a copy of what there is */
      uint8_t copy[MXG_GROUP] = {0}, values[4 * MXG_GROUP];
      memcpy(copy, codes + i, count - i);
      mxg_decode_group(&d, &w, copy, values);
      memcpy(y + 4 * i, values, 4 * (count - i));
    }
  }
}

#endif
