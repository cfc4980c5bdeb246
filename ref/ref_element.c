/* ref_element.c: sections 1 and 2, one element at a time.
 * SPDX-License-Identifier: MIT */
#include "ref.h"

/* The table of section 1. boundary is mantissa * 2^exponent; formats that always saturate have
 * none. */
#define FINITE(mantissa, exponent) \
  { mantissa, exponent, false, false, false }

static const ref_format formats[] = {
    /* bits e  m  bias emax  max   over  NaN   fnuz   boundary         it overflows */
    {8, 4, 3, 7, 8, 0x7E, 0x7F, 0x7F, false, FINITE(464, 0), false},    /* E4M3FN */
    {8, 4, 3, 8, 7, 0x7F, 0x80, 0x80, true, FINITE(248, 0), true},      /* E4M3FNUZ */
    {8, 5, 2, 15, 15, 0x7B, 0x7C, 0x7F, false, FINITE(61440, 0), true}, /* E5M2 */
    {8, 5, 2, 16, 15, 0x7F, 0x80, 0x80, true, FINITE(61440, 0), true},  /* E5M2FNUZ */
    {4, 2, 1, 1, 2, 0x07, 0, 0, false, FINITE(0, 0), false},            /* E2M1 */
    {6, 2, 3, 1, 2, 0x1F, 0, 0, false, FINITE(0, 0), false},            /* E2M3 */
    {6, 3, 2, 3, 4, 0x1F, 0, 0, false, FINITE(0, 0), false},            /* E3M2 */
};

const ref_format *mxg_ref_internal_format(mxg_element element) {
  switch (element) {
    case MXG_ELEMENT_E4M3FN: return &formats[0];
    case MXG_ELEMENT_E4M3FNUZ: return &formats[1];
    case MXG_ELEMENT_E5M2: return &formats[2];
    case MXG_ELEMENT_E5M2FNUZ: return &formats[3];
    case MXG_ELEMENT_E2M1: return &formats[4];
    case MXG_ELEMENT_E2M3: return &formats[5];
    case MXG_ELEMENT_E3M2: return &formats[6];
  }
  return NULL;
}

/* Section 1: sign, exponent field, mantissa field; field 0 is subnormal. */
ref_number mxg_ref_internal_decode(const ref_format *format, uint32_t code) {
  const uint32_t sign_bit = 1u << (format->bits - 1);
  const uint32_t magnitude = code & (sign_bit - 1u);
  const int field = (int)(magnitude >> format->mantissa_bits);
  const uint32_t mantissa = magnitude & ((1u << format->mantissa_bits) - 1u);
  ref_number value = {0, 0, (code & sign_bit) != 0, false, false};

  if (format->fnuz) { /* 80 is the only NaN, and there is no Inf */
    value.nan = value.negative && magnitude == 0;
  } else if (format->nan_code != 0) { /* E5M2: 7C is Inf, 7D..7F NaN. E4M3FN: 7F is NaN */
    value.infinite = magnitude > format->max_code && magnitude == format->overflow_code &&
                     format->overflow_code != format->nan_code;
    value.nan = magnitude > format->max_code && !value.infinite;
  }
  if (value.nan || value.infinite) return value;

  if (field == 0) {
    value.mantissa = mantissa;
    value.exponent = 1 - format->bias - format->mantissa_bits;
  } else {
    value.mantissa = mantissa + (1u << format->mantissa_bits);
    value.exponent = field - format->bias - format->mantissa_bits;
  }
  return value;
}

void mxg_ref_internal_plan(const mxg_recipe *recipe, ref_plan *plan) {
  plan->recipe = recipe;
  plan->format = mxg_ref_internal_format(recipe->element);
  plan->max = mxg_ref_internal_load(MXG_DTYPE_F32, &recipe->element_max, 0);
  if (mxg_ref_internal_is_zero(plan->max))
    plan->max = mxg_ref_internal_decode(plan->format, plan->format->max_code);
  plan->reciprocal = mxg_ref_internal_fl(mxg_ref_internal_reciprocal(plan->max));
  for (uint32_t code = 0; code < plan->format->max_code; ++code) {
    /* (a + b) / 2; exponents of neighbouring values differ by 0 or 1 */
    const ref_number a = mxg_ref_internal_decode(plan->format, code);
    const ref_number b = mxg_ref_internal_decode(plan->format, code + 1);
    plan->middle[code] = a;
    plan->middle[code].mantissa = a.mantissa + (b.mantissa << (b.exponent - a.exponent));
    plan->middle[code].exponent = a.exponent - 1;
  }
}

/* Section 2.3: the sign goes into the code, except that FNUZ has no -0. */
static uint32_t with_sign(const ref_format *format, bool negative, uint32_t magnitude) {
  if (!negative || (format->fnuz && magnitude == 0)) return magnitude;
  return magnitude | 1u << (format->bits - 1);
}

/* Section 2.1: the code nearest to |v|, ties to the even code, as if the exponent had no bound: all
 * that is above max and does not overflow is nearest to max. Positive codes ascend with value. */
static uint32_t nearest(const ref_plan *plan, ref_number v) {
  uint32_t low = 0, high = plan->format->max_code; /* the code is low..high */
  while (low < high) {
    const uint32_t code = low + (high - low) / 2;
    const int side = mxg_ref_internal_compare(v, plan->middle[code]);
    if (side == 0) return code % 2 == 0 ? code : code + 1;
    if (side < 0)
      high = code;
    else
      low = code + 1;
  }
  return low;
}

/* Section 2.2: is |v|, finite, too large for the format after rounding? */
static bool overflows(const ref_format *format, ref_number v) {
  const int side = mxg_ref_internal_compare(v, format->boundary);
  return side > 0 || (side == 0 && format->boundary_overflows);
}

/* Section 2.2: what overflow and Inf give when they are not clamped. */
static uint32_t overflow_code(const ref_format *format, bool negative) {
  return format->fnuz ? format->overflow_code : with_sign(format, negative, format->overflow_code);
}

/* Section 2.4. */
static uint32_t encode_nan(const ref_plan *plan, bool source_negative) {
  const ref_format *format = plan->format;
  switch (plan->recipe->nan_element) {
    case MXG_NAN_ELEMENT_CODE:
      return format->fnuz ? format->nan_code : with_sign(format, source_negative, format->nan_code);
    case MXG_NAN_ELEMENT_NEG_MAX: return with_sign(format, true, nearest(plan, plan->max));
    case MXG_NAN_ELEMENT_SIGN_MAX:
      return with_sign(format, source_negative, nearest(plan, plan->max));
    case MXG_NAN_ELEMENT_POS_MAX: return nearest(plan, plan->max);
    case MXG_NAN_ELEMENT_ZERO: break;
  }
  return 0;
}

uint32_t mxg_ref_internal_encode(const ref_plan *plan, ref_number v, bool source_negative) {
  const ref_format *format = plan->format;
  const mxg_overflow overflow = plan->recipe->overflow;
  if (v.nan) return encode_nan(plan, source_negative);

  if (overflow == MXG_OVERFLOW_SATURATE ||
      (overflow == MXG_OVERFLOW_SATURATE_FINITE && !v.infinite)) {
    if (mxg_ref_internal_compare(v, plan->max) > 0)
      return with_sign(format, v.negative, nearest(plan, plan->max));
  } else if (v.infinite || overflows(format, v)) {
    return overflow_code(format, v.negative);
  }
  return with_sign(format, v.negative, nearest(plan, v));
}

/* Section 2, packing: a row is a little-endian stream of codes: FP8 a byte each, FP4 the low
 * nibble first, FP6 four codes in three bytes. Eight codes fill `bits` bytes. */
size_t mxg_ref_internal_row_bytes(const ref_format *format, size_t cols) {
  const size_t bits = (size_t)format->bits;
  return cols / 8 * bits + (cols % 8 * bits + 7) / 8;
}

uint32_t mxg_ref_internal_get_code(const ref_format *format, const uint8_t *row, size_t col) {
  const size_t bits = (size_t)format->bits;
  const uint8_t *group = row + col / 8 * bits;
  uint32_t code = 0;
  for (size_t i = 0; i < bits; ++i) {
    const size_t at = col % 8 * bits + i;
    code |= (uint32_t)(group[at / 8] >> at % 8 & 1) << i;
  }
  return code;
}

void mxg_ref_internal_put_code(const ref_format *format, uint8_t *row, size_t col, uint32_t code) {
  const size_t bits = (size_t)format->bits;
  uint8_t *group = row + col / 8 * bits;
  for (size_t i = 0; i < bits; ++i) {
    const size_t at = col % 8 * bits + i;
    group[at / 8] = (uint8_t)(group[at / 8] | (code >> i & 1u) << at % 8);
  }
}

/* ---- arrays ---- */

mxg_status mxg_ref_encode_f32(const mxg_recipe *recipe, const float *x, size_t count,
                              uint8_t *codes) {
  mxg_status status = mxg_ref_internal_check_recipe(recipe);
  if (status != MXG_OK) return status;
  status = mxg_ref_internal_check_array(x, 4, codes, 1, count, true);
  if (status != MXG_OK) return status;
  ref_plan plan;
  mxg_ref_internal_plan(recipe, &plan);
  for (size_t i = 0; i < count; ++i) {
    const ref_number v = mxg_ref_internal_load(MXG_DTYPE_F32, x, i);
    codes[i] = (uint8_t)mxg_ref_internal_encode(&plan, v, v.negative);
  }
  return MXG_OK;
}

mxg_status mxg_ref_decode_f32(mxg_element element, const uint8_t *codes, size_t count, float *y) {
  const ref_format *format = mxg_ref_internal_format(element);
  if (format == NULL) return MXG_ERR_RECIPE;
  const mxg_status status = mxg_ref_internal_check_array(codes, 1, y, 4, count, true);
  if (status != MXG_OK) return status;
  for (size_t i = 0; i < count; ++i)
    mxg_ref_internal_store(MXG_DTYPE_F32, y, i, mxg_ref_internal_decode(format, codes[i]));
  return MXG_OK;
}

mxg_status mxg_ref_to_f32(mxg_dtype dtype, const void *x, size_t count, float *y) {
  const size_t item_bytes = mxg_ref_internal_dtype_bytes(dtype);
  if (item_bytes == 0) return MXG_ERR_TYPE;
  const mxg_status status = mxg_ref_internal_check_array(x, item_bytes, y, 4, count, true);
  if (status != MXG_OK) return status;
  for (size_t i = 0; i < count; ++i)
    mxg_ref_internal_store(MXG_DTYPE_F32, y, i, mxg_ref_internal_load(dtype, x, i));
  return MXG_OK;
}

mxg_status mxg_ref_from_f32(mxg_dtype dtype, const float *x, size_t count, void *y) {
  const size_t item_bytes = mxg_ref_internal_dtype_bytes(dtype);
  if (item_bytes == 0) return MXG_ERR_TYPE;
  const mxg_status status = mxg_ref_internal_check_array(x, 4, y, item_bytes, count, true);
  if (status != MXG_OK) return status;
  for (size_t i = 0; i < count; ++i)
    mxg_ref_internal_store(dtype, y, i, mxg_ref_internal_load(MXG_DTYPE_F32, x, i));
  return MXG_OK;
}
