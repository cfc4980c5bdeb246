/* number.h: exact numbers m * 2^e inside the oracle.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_TESTS_ORACLE_NUMBER_H
#define MXGOLD_TESTS_ORACLE_NUMBER_H

#include <stdint.h>

#include "oracle.h"

/* m * 2^e, exactly; zero is m == 0. */
typedef struct oracle_number {
  uint64_t m;
  int e;
} oracle_number;

/* A binary interchange format: precision in bits, exponent of the least step, bits of Inf. */
typedef struct oracle_binary {
  int precision;
  int least_step;
  uint32_t inf;
} oracle_binary;

extern const oracle_binary oracle_binary32;

/* |bits| of a finite binary32. */
oracle_number oracle_number_of(uint32_t bits);
/* floor(log2(a)), a > 0 */
int oracle_floor_log2(oracle_number a);
/* <0, 0, >0 as a is below, equal to or above b. */
int oracle_compare(oracle_number a, oracle_number b);
/* a / den, den > 0, rounded once to nearest even; the bits without a sign. */
uint32_t oracle_round(oracle_number a, uint64_t den, const oracle_binary *to);

/* Which magnitude is nearest to value * 2^exponent (finite, sign ignored): its code, or -1 when that
 * is past the format's largest finite value. */
typedef int (*oracle_nearest)(oracle_format format, uint32_t value, int exponent);

/* Overflow, NaN and sign policies around a nearest-magnitude search. */
uint8_t oracle_encode_by(oracle_nearest nearest, const oracle_encoding *how, uint32_t value,
                         int exponent, int nan_negative);

#endif
