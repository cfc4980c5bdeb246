/* arithmetic.c: exact numbers, and their one rounding to binary32, bf16 or f16.
 * SPDX-License-Identifier: MIT */
#include "number.h"

const oracle_binary oracle_binary32 = {24, -149, ORACLE_INF};
static const oracle_binary binary16 = {11, -24, 0x7C00};
static const oracle_binary bfloat16 = {8, -133, 0x7F80};

static int bit_length(uint64_t m) {
  int bits = 0;
  for (int step = 32; step != 0; step /= 2) {
    if (m >> step == 0) continue;
    m >>= step;
    bits += step;
  }
  return bits + (m != 0);
}

oracle_number oracle_number_of(uint32_t bits) {
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  oracle_number number = {magnitude, -149};
  if (magnitude >= 0x800000) {
    number.m = (magnitude % 0x800000) + 0x800000;
    number.e = (int)(magnitude / 0x800000) - 150;
  }
  return number;
}

int oracle_floor_log2(oracle_number a) {
  return bit_length(a.m) - 1 + a.e;
}

int oracle_compare(oracle_number a, oracle_number b) {
  if (a.m == 0 || b.m == 0) return (a.m != 0) - (b.m != 0);
  const int log_a = oracle_floor_log2(a), log_b = oracle_floor_log2(b);
  if (log_a != log_b) return log_a < log_b ? -1 : 1;
  const uint64_t top_a = a.m << (64 - bit_length(a.m)), top_b = b.m << (64 - bit_length(b.m));
  return (top_a > top_b) - (top_a < top_b);
}

uint32_t oracle_round(oracle_number a, uint64_t den, const oracle_binary *to) {
  if (a.m == 0) return 0;
  /* Enough quotient bits that the remainder can ride in the last one. */
  const int up = 63 - bit_length(a.m);
  const uint64_t wide = a.m << up;
  const uint64_t quotient = wide / den;
  const oracle_number q = {quotient | (wide % den != 0), a.e - up};

  int step = oracle_floor_log2(q) - (to->precision - 1);
  if (step < to->least_step) step = to->least_step;
  const int drop = step - q.e;
  uint64_t kept = 0;
  if (drop <= 0) {
    kept = q.m << -drop;
  } else if (drop < 64) {
    const uint64_t unit = (uint64_t)1 << drop, rest = q.m % unit;
    kept = q.m / unit;
    if (rest > unit / 2 || (rest == unit / 2 && kept % 2 == 1)) kept++;
  }
  /* kept * 2^step. A kept of 2^precision carries into the exponent by itself. */
  const uint64_t bits = ((uint64_t)(step - to->least_step) << (to->precision - 1)) + kept;
  return bits < to->inf ? (uint32_t)bits : to->inf;
}

static int is_nan(uint32_t a) {
  return (a & 0x7FFFFFFF) > ORACLE_INF;
}
static int is_inf(uint32_t a) {
  return (a & 0x7FFFFFFF) == ORACLE_INF;
}
static int is_zero(uint32_t a) {
  return (a & 0x7FFFFFFF) == 0;
}

uint32_t oracle_mul(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & 0x80000000;
  if (is_nan(a) || is_nan(b)) return ORACLE_NAN;
  if (is_inf(a) || is_inf(b)) return is_zero(a) || is_zero(b) ? ORACLE_NAN : sign | ORACLE_INF;
  const oracle_number x = oracle_number_of(a), y = oracle_number_of(b);
  const oracle_number product = {x.m * y.m, x.e + y.e};
  return sign | oracle_round(product, 1, &oracle_binary32);
}

uint32_t oracle_div(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & 0x80000000;
  if (is_nan(a) || is_nan(b) || (is_inf(a) && is_inf(b)) || (is_zero(a) && is_zero(b)))
    return ORACLE_NAN;
  if (is_inf(a) || is_zero(b)) return sign | ORACLE_INF;
  if (is_zero(a) || is_inf(b)) return sign;
  const oracle_number x = oracle_number_of(a), y = oracle_number_of(b);
  const oracle_number over = {x.m, x.e - y.e};
  return sign | oracle_round(over, y.m, &oracle_binary32);
}

uint32_t oracle_scale(uint32_t a, int exponent) {
  if (is_nan(a)) return ORACLE_NAN;
  if (is_inf(a)) return a;
  oracle_number number = oracle_number_of(a);
  number.e += exponent;
  return (a & 0x80000000) | oracle_round(number, 1, &oracle_binary32);
}

uint32_t oracle_widen(oracle_half kind, uint16_t bits) {
  const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = bits & 0x7FFF;
  const oracle_binary *from = kind == ORACLE_F16 ? &binary16 : &bfloat16;
  const uint32_t hidden = (uint32_t)1 << (from->precision - 1);
  if (magnitude > from->inf) return ORACLE_NAN;
  if (magnitude == from->inf) return sign | ORACLE_INF;
  oracle_number number = {magnitude, from->least_step};
  if (magnitude >= hidden) {
    number.m = magnitude % hidden + hidden;
    number.e = from->least_step + (int)(magnitude / hidden) - 1;
  }
  return sign | oracle_round(number, 1, &oracle_binary32);
}

uint16_t oracle_narrow(oracle_half kind, uint32_t bits) {
  const oracle_binary *to = kind == ORACLE_F16 ? &binary16 : &bfloat16;
  if (is_nan(bits)) return kind == ORACLE_F16 ? 0x7E00 : 0x7FC0;
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = is_inf(bits) ? to->inf : oracle_round(oracle_number_of(bits), 1, to);
  return (uint16_t)(sign | magnitude);
}
