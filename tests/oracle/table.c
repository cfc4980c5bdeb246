/* table.c: every element format as the sorted list of its magnitudes, and a search among the
 * midpoints. Nothing here knows about exponent fields: a format's values grow by a step that doubles
 * after every 2^m values. SPDX-License-Identifier: MIT */
#include "number.h"

#define UNIT (-17) /* values are whole multiples of 2^-17, midpoints of 2^-18 */
#define SLOTS 129

typedef struct format_facts {
  const char *name;
  unsigned codes;
  unsigned run;      /* values per step */
  int least;         /* the least magnitude is 2^least */
  unsigned max_code; /* of the largest finite magnitude */
  int sign;          /* weight of the sign in a code */
  int inf;           /* code of Inf, -1 = none */
  int nan;           /* the NaN that is written, -1 = none */
  int one_nan;       /* 1: 80 is the only NaN and zero has no sign */
} format_facts;

static const format_facts facts[ORACLE_FORMATS] = {
    {"E4M3FN", 256, 8, -9, 0x7E, 0x80, -1, 0x7F, 0},
    {"E4M3FNUZ", 256, 8, -10, 0x7F, 0x80, -1, 0x80, 1},
    {"E5M2", 256, 4, -16, 0x7B, 0x80, 0x7C, 0x7F, 0},
    {"E5M2FNUZ", 256, 4, -17, 0x7F, 0x80, -1, 0x80, 1},
    {"E2M1", 16, 2, -1, 0x07, 0x08, -1, -1, 0},
    {"E2M3", 64, 8, -3, 0x1F, 0x20, -1, -1, 0},
    {"E3M2", 64, 4, -4, 0x1F, 0x20, -1, -1, 0},
};

/* One magnitude past the largest is kept too: what rounding with an unbounded exponent can reach. */
static uint64_t magnitudes[ORACLE_FORMATS][SLOTS];

void oracle_init(void) {
  for (int f = 0; f < ORACLE_FORMATS; f++) {
    uint64_t value = 0, step = (uint64_t)1 << (facts[f].least - UNIT);
    for (unsigned i = 0; i <= facts[f].max_code + 1; i++) {
      magnitudes[f][i] = value;
      if (i >= 2 * facts[f].run && i % facts[f].run == 0) step *= 2;
      value += step;
    }
  }
}

void oracle_print_skipped(void) {
#ifndef MXGOLD_HAVE_APFLOAT
  puts("skipped: no llvm-22-dev, so no comparison with APFloat");
#endif
#ifndef MXGOLD_HAVE_CUDA_HEADERS
  puts("skipped: no CUDA toolkit, so no comparison with cuda_fp8.h, cuda_fp6.h and cuda_fp4.h");
#endif
  fflush(stdout); /* before Check forks */
}

static oracle_number magnitude_at(oracle_format format, unsigned code) {
  const oracle_number number = {magnitudes[format][code], UNIT};
  return number;
}

uint32_t oracle_format_max(oracle_format format) {
  return oracle_round(magnitude_at(format, facts[format].max_code), 1, &oracle_binary32);
}

unsigned oracle_format_codes(oracle_format format) {
  return facts[format].codes;
}
unsigned oracle_format_max_code(oracle_format format) {
  return facts[format].max_code;
}

/* -1, 0, 1 as value is below, at or above the midpoint of magnitudes i and i + 1. */
static int against_midpoint(oracle_format format, unsigned i, oracle_number value) {
  const oracle_number midpoint = {magnitudes[format][i] + magnitudes[format][i + 1], UNIT - 1};
  return oracle_compare(value, midpoint);
}

static int table_nearest(oracle_format format, uint32_t value, int exponent) {
  oracle_number number = oracle_number_of(value);
  number.e += exponent;
  unsigned low = 0, high = facts[format].max_code + 1; /* the answer lies in [low, high] */
  while (low < high) {
    const unsigned i = (low + high) / 2;
    const int side = against_midpoint(format, i, number);
    if (side > 0 || (side == 0 && i % 2 == 1)) {
      low = i + 1;
    } else {
      high = i;
    }
  }
  return low > facts[format].max_code ? -1 : (int)low;
}

static uint8_t signed_code(oracle_format format, int code, int negative) {
  if (code == 0 && facts[format].one_nan) negative = 0;
  return (uint8_t)(code + (negative ? facts[format].sign : 0));
}

static uint8_t nonfinite_code(oracle_format format, int negative, int inf) {
  const int code = inf && facts[format].inf >= 0 ? facts[format].inf : facts[format].nan;
  return facts[format].one_nan ? (uint8_t)code : signed_code(format, code, negative);
}

uint8_t oracle_encode_by(oracle_nearest nearest, const oracle_encoding *how, uint32_t value,
                         int exponent, int nan_negative) {
  const oracle_format format = how->format;
  const uint32_t max = how->max != 0 ? how->max : oracle_format_max(format);
  const uint32_t magnitude = value & 0x7FFFFFFF;
  const int negative = value >> 31 != 0;

  if (magnitude > ORACLE_INF) {
    if (how->nan == ORACLE_NAN_CODE) return nonfinite_code(format, nan_negative, 0);
    if (how->nan == ORACLE_NAN_ZERO) return 0;
    const int minus =
        how->nan == ORACLE_NAN_NEG_MAX || (how->nan == ORACLE_NAN_SIGN_MAX && nan_negative);
    return signed_code(format, nearest(format, max, 0), minus);
  }
  if (magnitude == ORACLE_INF) {
    if (how->overflow != ORACLE_SATURATE) return nonfinite_code(format, negative, 1);
    return signed_code(format, nearest(format, max, 0), negative);
  }
  oracle_number number = oracle_number_of(value);
  number.e += exponent;
  int code = 0;
  if (how->overflow != ORACLE_NONFINITE && oracle_compare(number, oracle_number_of(max)) > 0) {
    code = nearest(format, max, 0);
  } else {
    code = nearest(format, value, exponent);
  }
  return code < 0 ? nonfinite_code(format, negative, 1) : signed_code(format, code, negative);
}

uint8_t oracle_encode(const oracle_encoding *how, uint32_t value, int exponent, int nan_negative) {
  return oracle_encode_by(table_nearest, how, value, exponent, nan_negative);
}

int oracle_is_nan_code(oracle_format format, uint8_t code) {
  const format_facts *f = &facts[format];
  if (f->nan < 0) return 0;
  if (f->one_nan) return code == f->nan;
  const unsigned magnitude = code % 128u;
  return magnitude > f->max_code && (int)magnitude != f->inf;
}

uint32_t oracle_decode(oracle_format format, uint8_t code) {
  const format_facts *f = &facts[format];
  const unsigned magnitude = code % (unsigned)f->sign;
  const uint32_t sign = code / (unsigned)f->sign % 2 ? 0x80000000 : 0;
  if (oracle_is_nan_code(format, code)) return ORACLE_NAN;
  if ((int)magnitude == f->inf) return sign | ORACLE_INF;
  return sign | oracle_round(magnitude_at(format, magnitude), 1, &oracle_binary32);
}
