/* diagnose_element.c: one element encoded, decoded or rounded with a chosen fault.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "diagnose_internal.h"

uint32_t mxg_float_bits(float v) {
  uint32_t bits = 0;
  memcpy(&bits, &v, 4);
  return bits;
}

float mxg_bits_float(uint32_t bits) {
  float v = 0.0f;
  memcpy(&v, &bits, 4);
  return v;
}

static uint64_t double_bits(double v) {
  uint64_t bits = 0;
  memcpy(&bits, &v, 8);
  return bits;
}

/* Normal results only: -1022 <= exponent <= 1023. */
double mxg_power_of_two(int exponent) {
  const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double v = 0.0;
  memcpy(&v, &bits, 8);
  return v;
}

float mxg_wrong_flush(float v, bool flushes) {
  const uint32_t bits = mxg_float_bits(v);
  return flushes && (bits & 0x7F800000u) == 0 ? mxg_bits_float(bits & 0x80000000u) : v;
}

/* A magnitude as a whole number of units 2^(*exponent - mantissa_bits), rounded. The exponent is at
 * least emin; magnitude is 0 or a normal binary64. */
static uint64_t round_magnitude(double magnitude, int mantissa_bits, int emin,
                                mxg_rounding rounding, int *exponent) {
  const uint64_t bits = double_bits(magnitude);
  *exponent = emin;
  if (magnitude <= 0.0) return 0;
  const int own = (int)(bits >> 52) - 1023;
  const uint64_t significand = (bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1 << 52;
  if (own > emin) *exponent = own;
  const int drop = 52 - mantissa_bits + (*exponent - own);
  if (drop > 53) return 0; /* below half of the least unit */
  const uint64_t kept = significand >> drop;
  const uint64_t rest = significand & (((uint64_t)1 << drop) - 1);
  const uint64_t half = (uint64_t)1 << (drop - 1);
  switch (rounding) {
    case MXG_ROUND_EVEN: return kept + (rest > half || (rest == half && (kept & 1)));
    case MXG_ROUND_TIES_AWAY: return kept + (rest >= half);
    case MXG_ROUND_TIES_TO_ZERO: return kept + (rest > half);
    case MXG_ROUND_TRUNCATE: break;
  }
  return kept;
}

double mxg_wrong_round(double v, mxg_dtype dtype, mxg_rounding rounding) {
  if (isnan(v) || isinf(v)) return v;
  const int mantissa_bits = dtype == MXG_DTYPE_F16 ? 10 : dtype == MXG_DTYPE_BF16 ? 7 : 23;
  const int emin = dtype == MXG_DTYPE_F16 ? -14 : -126;
  int exponent = 0;
  const uint64_t units = round_magnitude(fabs(v), mantissa_bits, emin, rounding, &exponent);
  const double magnitude = (double)units * mxg_power_of_two(exponent - mantissa_bits);
  const double limit = dtype == MXG_DTYPE_F16 ? 65536.0 : mxg_power_of_two(128);
  return copysign(magnitude >= limit ? (double)INFINITY : magnitude, v);
}

uint32_t mxg_wrong_value_bits(double v, mxg_dtype dtype, mxg_rounding rounding) {
  if (isnan(v))
    return dtype == MXG_DTYPE_F32 ? 0x7FC00000u : dtype == MXG_DTYPE_F16 ? 0x7E00 : 0x7FC0;
  const uint32_t bits = mxg_float_bits((float)mxg_wrong_round(v, dtype, rounding));
  if (dtype == MXG_DTYPE_F32) return bits;
  if (dtype == MXG_DTYPE_BF16) return bits >> 16;
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= 0x47800000u) return sign | 0x7C00u;
  if (magnitude >= 0x38800000u) return sign | (magnitude - 0x38000000u) >> 13;
  return sign |
         (uint32_t)(fabs((double)mxg_bits_float(magnitude)) * 16777216.0); /* units of 2^-24 */
}

/* ---- encoding ---- */

static mxg_element sibling(mxg_element element) {
  switch (element) {
    case MXG_ELEMENT_E4M3FN: return MXG_ELEMENT_E4M3FNUZ;
    case MXG_ELEMENT_E4M3FNUZ: return MXG_ELEMENT_E4M3FN;
    case MXG_ELEMENT_E5M2: return MXG_ELEMENT_E5M2FNUZ;
    case MXG_ELEMENT_E5M2FNUZ: return MXG_ELEMENT_E5M2;
    default: return element;
  }
}

void mxg_encoder_open(mxg_encoder *encoder, const mxg_wrong *wrong) {
  const bool other = wrong->bias == MXG_BIAS_OTHER;
  const mxg_element element = wrong->recipe.element;
  encoder->wrong = wrong;
  encoder->traits = mxg_element_traits(other ? sibling(element) : element);
  encoder->format_max = (double)encoder->traits.max;
  encoder->max =
      wrong->recipe.element_max > 0.0f ? (double)wrong->recipe.element_max : encoder->format_max;
  if (encoder->max > encoder->format_max) encoder->max = encoder->format_max;
}

static unsigned signed_code(const mxg_encoder *encoder, unsigned magnitude, bool sign) {
  if (!sign || (encoder->traits.fnuz && magnitude == 0)) return magnitude;
  return magnitude | encoder->traits.sign_bit;
}

/* The code of a magnitude, without a sign; 256: beyond the format. */
static unsigned magnitude_code(const mxg_encoder *encoder, double magnitude) {
  const mxg_traits *t = &encoder->traits;
  int exponent = 0;
  const uint64_t units =
      round_magnitude(magnitude, t->mantissa_bits, t->emin, encoder->wrong->rounding, &exponent);
  const uint64_t code = units + ((uint64_t)(exponent - t->emin) << t->mantissa_bits);
  return code > t->max_code ? 256u : (unsigned)code;
}

static unsigned nan_code(const mxg_encoder *encoder, bool sign) {
  const mxg_traits *t = &encoder->traits;
  const unsigned max = magnitude_code(encoder, encoder->max);
  switch (encoder->wrong->recipe.nan_element) {
    case MXG_NAN_ELEMENT_CODE:
      return t->fnuz ? t->nan_code : signed_code(encoder, t->nan_code, sign);
    case MXG_NAN_ELEMENT_NEG_MAX: return signed_code(encoder, max, true);
    case MXG_NAN_ELEMENT_SIGN_MAX: return signed_code(encoder, max, sign);
    case MXG_NAN_ELEMENT_POS_MAX: return max;
    case MXG_NAN_ELEMENT_ZERO: break;
  }
  return 0;
}

static unsigned nonfinite_code(const mxg_encoder *encoder, bool sign) {
  const mxg_traits *t = &encoder->traits;
  if (t->fnuz) return t->nan_code;
  return signed_code(encoder, t->inf_code ? t->inf_code : t->nan_code, sign);
}

/* The exponent field of a finished code one up or down; where it would leave the field it stays. */
static unsigned relabel(const mxg_encoder *encoder, unsigned code) {
  const mxg_traits *t = &encoder->traits;
  const int step = encoder->wrong->bias == MXG_BIAS_RELABEL_UP ? 1 << t->mantissa_bits
                                                               : -(1 << t->mantissa_bits);
  const unsigned sign = code & t->sign_bit;
  const int magnitude = (int)(code & (unsigned)(t->sign_bit - 1));
  if (magnitude == 0 || magnitude + step < 0) return code;
  return sign | (unsigned)(magnitude + step > t->sign_bit - 1 ? t->sign_bit - 1 : magnitude + step);
}

unsigned mxg_wrong_encode(const mxg_encoder *encoder, double v, bool sign) {
  const mxg_wrong *wrong = encoder->wrong;
  if (isnan(v)) return nan_code(encoder, sign);
  double magnitude = fabs(v);
  if (wrong->via && (wrong->via_places & MXG_VIA_VALUE))
    magnitude = mxg_wrong_round(magnitude, wrong->via, MXG_ROUND_EVEN);
  const bool negative = signbit(v) != 0;
  if (wrong->bias == MXG_BIAS_DOUBLE) magnitude *= 2.0;
  if (wrong->bias == MXG_BIAS_HALF) magnitude *= 0.5;
  const bool drops_sign = (wrong->flush & MXG_FLUSH_SIGN) != 0;
  if ((wrong->flush & MXG_FLUSH_BELOW_NORMAL) && magnitude < mxg_power_of_two(encoder->traits.emin))
    return signed_code(encoder, 0, negative && !(drops_sign && magnitude > 0.0));
  const mxg_overflow overflow = wrong->recipe.overflow;
  if (isinf(magnitude) && overflow != MXG_OVERFLOW_SATURATE)
    return nonfinite_code(encoder, negative);
  if (overflow != MXG_OVERFLOW_NONFINITE && magnitude > encoder->max) magnitude = encoder->max;
  const unsigned code = magnitude_code(encoder, magnitude);
  if (code == 256u) return nonfinite_code(encoder, negative);
  if ((wrong->flush & MXG_FLUSH_CODE) && code >> encoder->traits.mantissa_bits == 0 && code)
    return signed_code(encoder, 0, negative && !drops_sign);
  const unsigned signed_one = signed_code(encoder, code, negative);
  return wrong->bias >= MXG_BIAS_RELABEL_UP ? relabel(encoder, signed_one) : signed_one;
}

/* ---- decoding ---- */

void mxg_wrong_decode_table(const mxg_wrong *wrong, float table[256]) {
  uint8_t codes[256];
  const bool other = wrong->bias == MXG_BIAS_OTHER;
  const mxg_element element = other ? sibling(wrong->recipe.element) : wrong->recipe.element;
  const mxg_traits t = mxg_element_traits(element);
  for (int code = 0; code < 256; code++) codes[code] = (uint8_t)code;
  if (mxg_decode_f32(element, codes, 256, table) != MXG_OK) memset(table, 0, 256 * sizeof *table);
  for (unsigned code = 0; code < 256; code++) {
    if (wrong->bias == MXG_BIAS_DOUBLE || wrong->bias == MXG_BIAS_RELABEL_UP) table[code] *= 2.0f;
    if (wrong->bias == MXG_BIAS_HALF || wrong->bias == MXG_BIAS_RELABEL_DOWN) table[code] *= 0.5f;
    const unsigned magnitude = code & (unsigned)(t.sign_bit - 1);
    if ((wrong->flush & (MXG_FLUSH_CODE | MXG_FLUSH_BELOW_NORMAL)) && magnitude &&
        magnitude >> t.mantissa_bits == 0)
      table[code] = (code & t.sign_bit) && !(wrong->flush & MXG_FLUSH_SIGN) ? -0.0f : 0.0f;
  }
}
