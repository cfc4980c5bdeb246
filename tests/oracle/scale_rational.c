/* scale_rational.c: the scale rules as statements about real numbers. No exponent field is added to,
 * shifted or masked: a rule is a comparison with a power of two or with a multiple of one.
 * SPDX-License-Identifier: MIT */
#include "number.h"

#define ONE UINT32_C(0x3F800000)

typedef struct scale_facts {
  int emax; /* floor(log2(max)) */
  int mantissa_bits;
} scale_facts;

static const scale_facts facts[ORACLE_FORMATS] = {{8, 3}, {7, 3}, {15, 2}, {15, 2},
                                                  {2, 1}, {2, 3}, {4, 2}};

/* ceil(log2(a)), a > 0 */
static int ceil_log2(oracle_number a) {
  const int log = oracle_floor_log2(a);
  const oracle_number power = {1, log};
  return oracle_compare(a, power) == 0 ? log : log + 1;
}

/* floor(log2(a)), one more when a >= (2 - 2^-k) * 2^floor(log2(a)). */
static int floor_log2_with_bump(oracle_number a, int k) {
  const int log = oracle_floor_log2(a);
  const oracle_number threshold = {((uint64_t)2 << k) - 1, log - k};
  return oracle_compare(a, threshold) >= 0 ? log + 1 : log;
}

static uint8_t inf_byte(oracle_inf_scale inf_scale, int emax) {
  if (inf_scale == ORACLE_INF_IS_MAX) return 0xFE;
  if (inf_scale == ORACLE_INF_IS_FIELD) return (uint8_t)(255 - emax);
  return 0xFF;
}

uint8_t oracle_e8m0(oracle_rule rule, oracle_format format, uint32_t max,
                    oracle_inf_scale inf_scale, uint32_t amax) {
  const int emax = facts[format].emax;
  const uint32_t magnitude = amax & 0x7FFFFFFF;
  if (magnitude > ORACLE_INF) return 0xFF;
  if (magnitude == ORACLE_INF) return inf_byte(inf_scale, emax);
  if (magnitude == 0) return 0;

  int byte = 0;
  if (rule == ORACLE_RCEIL || rule == ORACLE_RCEIL_BUMP) {
    const uint32_t reciprocal = oracle_div(ONE, max != 0 ? max : oracle_format_max(format));
    const uint32_t d = oracle_mul(magnitude, reciprocal);
    if (d == 0) return 0;
    if (d == ORACLE_INF) return inf_byte(inf_scale, emax);
    byte = 127 + ceil_log2(oracle_number_of(d));
    const int least = rule == ORACLE_RCEIL_BUMP ? 1 : 0;
    if (byte < least) byte = least;
  } else {
    const oracle_number a = oracle_number_of(magnitude);
    int log = 0;
    switch (rule) {
      case ORACLE_EVEN: log = floor_log2_with_bump(a, facts[format].mantissa_bits + 1); break;
      case ORACLE_EVEN21: log = floor_log2_with_bump(a, 2); break;
      case ORACLE_HALF: log = floor_log2_with_bump(a, 1); break;
      case ORACLE_CEIL: log = ceil_log2(a); break;
      case ORACLE_FLOOR:
      case ORACLE_RCEIL:
      case ORACLE_RCEIL_BUMP: log = oracle_floor_log2(a); break;
    }
    if (log > 127) return inf_byte(inf_scale, emax);
    byte = 127 + log - emax;
    if (byte < 0) byte = 0;
  }
  return byte >= 255 ? inf_byte(inf_scale, emax) : (uint8_t)byte;
}

int oracle_e8m0_exact_ceil(oracle_format format, uint32_t amax) {
  const oracle_number a = oracle_number_of(amax);
  oracle_number reach = oracle_number_of(oracle_format_max(format));    /* max * 2^(byte - 127) */
  int byte = 127 + oracle_floor_log2(a) - oracle_floor_log2(reach) - 1; /* surely not too high */
  if (byte < 0) byte = 0;
  reach.e += byte - 127;
  for (; oracle_compare(a, reach) > 0; byte++) reach.e++;
  return byte;
}

uint32_t oracle_e8m0_value(oracle_edges edges, uint8_t byte) {
  if (byte == 0xFF) return edges == ORACLE_EDGES_OCP ? ORACLE_NAN : ORACLE_INF;
  if (byte == 0x00 && edges == ORACLE_EDGES_FLOAT) return 0;
  return oracle_scale(ONE, byte - 127);
}

uint8_t oracle_e8m0_encode(const oracle_encoding *how, oracle_edges edges, uint8_t byte,
                           uint32_t x) {
  const int negative = x >> 31 != 0;
  if (byte != 0xFF) return oracle_encode(how, x, 127 - byte, negative);
  if (edges == ORACLE_EDGES_OCP || (x & 0x7FFFFFFF) >= ORACLE_INF)
    return oracle_encode(how, ORACLE_NAN, 0, negative);
  return oracle_encode(how, x & 0x80000000, 0, negative);
}

uint32_t oracle_e8m0_decode(oracle_format format, oracle_edges edges, uint8_t byte, uint8_t code) {
  const uint32_t element = oracle_decode(format, code);
  if (byte != 0xFF && (byte != 0 || edges == ORACLE_EDGES_OCP))
    return oracle_scale(element, byte - 127);
  return oracle_mul(element, oracle_e8m0_value(edges, byte));
}

static uint32_t max_of(const oracle_encoding *how) {
  return how->max != 0 ? how->max : oracle_format_max(how->format);
}

uint32_t oracle_f32_scale(const oracle_f32_rule *rule, const oracle_encoding *how, uint32_t amax,
                          int *scaled) {
  const uint32_t max = max_of(how);
  *scaled = 0;
  if (rule->only_above_max) {
    /* A NaN is not above anything. Bits of positive floats order like their values. */
    if (amax > ORACLE_INF || amax <= max) return ONE;
  } else if (amax == 0 && !rule->zero_is_computed) {
    return ONE;
  }
  *scaled = 1;
  return rule->scale_by_division ? oracle_div(amax, max) : oracle_mul(amax, oracle_div(ONE, max));
}

uint8_t oracle_f32_encode(const oracle_f32_rule *rule, const oracle_encoding *how, uint32_t amax,
                          uint32_t x) {
  int scaled = 0;
  const uint32_t s = oracle_f32_scale(rule, how, amax, &scaled);
  uint32_t v = x;
  if (scaled) {
    switch (rule->apply) {
      case ORACLE_APPLY_DIV: v = oracle_div(x, s); break;
      case ORACLE_APPLY_MUL_RCP: v = oracle_mul(x, oracle_div(ONE, s)); break;
      case ORACLE_APPLY_MUL_MAX: v = oracle_mul(x, oracle_div(max_of(how), amax)); break;
    }
  }
  return oracle_encode(how, v, 0, x >> 31 != 0);
}
