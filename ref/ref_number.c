/* ref_number.c: exact numbers, and the three binary formats that values are stored in.
 * SPDX-License-Identifier: MIT */
#include "ref.h"

#include <string.h>

/* Sign, exponent field, mantissa field: IEEE 754 binary32 and binary16, and bfloat16. */
static void fields_of(mxg_dtype dtype, int *exponent_bits, int *mantissa_bits) {
  *exponent_bits = dtype == MXG_DTYPE_F16 ? 5 : 8;
  *mantissa_bits = dtype == MXG_DTYPE_F16 ? 10 : dtype == MXG_DTYPE_BF16 ? 7 : 23;
}

ref_number mxg_ref_internal_from_bits(mxg_dtype dtype, uint32_t bits) {
  int exponent_bits = 0, mantissa_bits = 0;
  fields_of(dtype, &exponent_bits, &mantissa_bits);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int field_max = (1 << exponent_bits) - 1;
  const int field = (int)(bits >> mantissa_bits) & field_max;
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1u);

  ref_number value = {0, 0, false, false, false};
  value.negative = (bits >> (exponent_bits + mantissa_bits) & 1u) != 0;
  if (field == field_max) {
    value.infinite = mantissa == 0;
    value.nan = mantissa != 0;
  } else if (field == 0) {
    value.mantissa = mantissa;
    value.exponent = 1 - bias - mantissa_bits;
  } else {
    value.mantissa = mantissa + (1u << mantissa_bits);
    value.exponent = field - bias - mantissa_bits;
  }
  return value;
}

/* floor(log2(n)), n > 0. */
static int floor_log2(uint64_t n) {
  int log2 = 0;
  for (int step = 32; step > 0; step /= 2) {
    if (n >> step != 0) {
      n >>= step;
      log2 += step;
    }
  }
  return log2;
}

/* mantissa / 2^shift to the nearest integer, ties to even; shift > 0. */
static uint64_t divide_to_nearest(uint64_t mantissa, int shift) {
  if (shift > 64) return 0; /* below one half */
  const uint64_t half = (uint64_t)1 << (shift - 1);
  const uint64_t quotient = shift == 64 ? 0 : mantissa >> shift;
  const uint64_t remainder = shift == 64 ? mantissa : mantissa - (quotient << shift);
  if (remainder > half) return quotient + 1;
  if (remainder == half && quotient % 2 == 1) return quotient + 1;
  return quotient;
}

uint32_t mxg_ref_internal_to_bits(mxg_dtype dtype, ref_number value) {
  int exponent_bits = 0, mantissa_bits = 0;
  fields_of(dtype, &exponent_bits, &mantissa_bits);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int field_max = (1 << exponent_bits) - 1;
  const uint32_t inf = (uint32_t)field_max << mantissa_bits;
  const uint32_t one = 1u << mantissa_bits; /* significand of a power of two, in quanta */
  const uint32_t sign = value.negative ? 1u << (exponent_bits + mantissa_bits) : 0;

  if (value.nan) return inf + one / 2; /* section 6: 7FC00000, 7FC0, 7E00 */
  if (value.infinite) return sign + inf;
  if (value.mantissa == 0) return sign;

  /* The distance of neighbouring values around this one is 2^quantum. */
  int leading = value.exponent + floor_log2(value.mantissa);
  if (leading < 1 - bias) leading = 1 - bias;
  int quantum = leading - mantissa_bits;
  uint64_t count = 0;
  if (value.exponent >= quantum)
    count = value.mantissa << (value.exponent - quantum);
  else
    count = divide_to_nearest(value.mantissa, quantum - value.exponent);
  if (count == 2 * (uint64_t)one) { /* rounded up to the next power of two */
    count = one;
    quantum += 1;
  }
  if (count < one) return sign + (uint32_t)count; /* subnormal: field 0 */
  const int field = quantum + mantissa_bits + bias;
  if (field >= field_max) return sign + inf;
  return sign + ((uint32_t)field << mantissa_bits) + ((uint32_t)count - one);
}

bool mxg_ref_internal_is_zero(ref_number value) {
  return !value.nan && !value.infinite && value.mantissa == 0;
}

/* a * 2^shift against b, shift >= 0. */
static int compare_shifted(uint64_t a, int shift, uint64_t b) {
  if (a == 0) return b == 0 ? 0 : -1;
  if (shift > 63 || a > UINT64_MAX >> shift) return 1;
  return (int)(a << shift > b) - (int)(a << shift < b);
}

int mxg_ref_internal_compare(ref_number a, ref_number b) {
  if (a.infinite || b.infinite) return (int)a.infinite - (int)b.infinite;
  if (a.exponent >= b.exponent)
    return compare_shifted(a.mantissa, a.exponent - b.exponent, b.mantissa);
  return -compare_shifted(b.mantissa, b.exponent - a.exponent, a.mantissa);
}

ref_number mxg_ref_internal_multiply(ref_number a, ref_number b) {
  ref_number product = {0, 0, a.negative != b.negative, false, false};
  product.nan = a.nan || b.nan || (a.infinite && mxg_ref_internal_is_zero(b)) ||
                (b.infinite && mxg_ref_internal_is_zero(a));
  if (product.nan) return product;
  product.infinite = a.infinite || b.infinite;
  if (product.infinite) return product;
  product.mantissa = a.mantissa * b.mantissa;
  product.exponent = a.exponent + b.exponent;
  return product;
}

ref_number mxg_ref_internal_add(ref_number a, ref_number b) {
  const ref_number nan = {0, 0, false, false, true};
  if (a.nan || b.nan) return nan;
  if (a.infinite && b.infinite && a.negative != b.negative) return nan;
  if (a.infinite) return a;
  if (b.infinite) return b;
  if (a.mantissa == 0 && b.mantissa == 0) {
    a.negative = a.negative && b.negative; /* zeros of unlike sign: +0 to nearest */
    return a;
  }
  if (b.mantissa == 0) return a;
  if (a.mantissa == 0) return b;
  if (mxg_ref_internal_compare(a, b) < 0) return mxg_ref_internal_add(b, a); /* once */

  /* |a| >= |b|. Give a 62 bits, so that the sum fits 64 and a's low 14 bits or more are 0. */
  const int up = 61 - floor_log2(a.mantissa);
  a.mantissa <<= up;
  a.exponent -= up;
  /* b in units of a's last bit. Bits of b below that are summed up in a sticky last bit: then b is
   * under 2^48 units, the sum has 61 bits or more, and being odd it lies strictly between the same
   * values and midpoints of the result's format as the exact sum. */
  const int shift = b.exponent - a.exponent;
  if (shift >= 0) {
    b.mantissa <<= shift;
  } else if (shift <= -64) {
    b.mantissa = 1;
  } else {
    const uint64_t kept = b.mantissa >> -shift;
    const bool lost = kept << -shift != b.mantissa;
    b.mantissa = lost ? kept | 1u : kept;
  }
  if (a.negative == b.negative)
    a.mantissa += b.mantissa;
  else
    a.mantissa -= b.mantissa;
  if (a.mantissa == 0) a.negative = false; /* x - x is +0 to nearest */
  return a;
}

ref_number mxg_ref_internal_reciprocal(ref_number b) {
  ref_number quotient = {0, 0, b.negative, false, false};
  /* 2^62 / mantissa has 31 bits or more; a last bit says whether the division left a remainder. */
  const uint64_t dividend = (uint64_t)1 << 62;
  quotient.mantissa = dividend / b.mantissa * 2 + (dividend % b.mantissa != 0);
  quotient.exponent = -b.exponent - 63;
  return quotient;
}

ref_number mxg_ref_internal_fl(ref_number value) {
  ref_number rounded =
      mxg_ref_internal_from_bits(MXG_DTYPE_F32, mxg_ref_internal_to_bits(MXG_DTYPE_F32, value));
  rounded.negative = value.negative; /* to_bits drops the sign of a NaN */
  return rounded;
}

float mxg_ref_internal_to_float(ref_number value) {
  const uint32_t bits = mxg_ref_internal_to_bits(MXG_DTYPE_F32, value);
  float result = 0.0f;
  memcpy(&result, &bits, sizeof result);
  return result;
}

size_t mxg_ref_internal_dtype_bytes(mxg_dtype dtype) {
  switch (dtype) {
    case MXG_DTYPE_F32: return 4;
    case MXG_DTYPE_F16:
    case MXG_DTYPE_BF16: return 2;
  }
  return 0;
}

ref_number mxg_ref_internal_load(mxg_dtype dtype, const void *values, size_t index) {
  const unsigned char *bytes = values;
  uint32_t bits = 0;
  if (dtype == MXG_DTYPE_F32) {
    memcpy(&bits, bytes + index * 4, 4);
  } else {
    uint16_t half = 0;
    memcpy(&half, bytes + index * 2, 2);
    bits = half;
  }
  return mxg_ref_internal_from_bits(dtype, bits);
}

void mxg_ref_internal_store(mxg_dtype dtype, void *values, size_t index, ref_number value) {
  unsigned char *bytes = values;
  const uint32_t bits = mxg_ref_internal_to_bits(dtype, value);
  if (dtype == MXG_DTYPE_F32) {
    memcpy(bytes + index * 4, &bits, 4);
  } else {
    const uint16_t half = (uint16_t)bits;
    memcpy(bytes + index * 2, &half, 2);
  }
}
