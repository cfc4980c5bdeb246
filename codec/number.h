/* number.h: binary32 from text and back, exact in every locale and rounding mode.
 *
 * Only integers are used: no strtod, no printf, no float arithmetic.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_NUMBER_H
#define MXG_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Longest number that is read: the exact decimal of any binary32 value fits. */
#define MXG_NUMBER_LENGTH_MAX 200

/* Capacity that mxg_number_print needs: "1.17549435e-38" and the terminating 0. */
#define MXG_NUMBER_PRINT_CAP 16

/* mxg_number_parse: a whole decimal ("240", "7.5", "1e-10") or C hex float ("0x1.8p-3"), rounded
 * once to nearest, ties to even. No sign, no spaces, no suffix, no inf, no nan.
 * text, length  characters; need not end with a 0.
 * bits          the bits of the binary32 value; written on success only.
 * returns       1; 0 when malformed, longer than MXG_NUMBER_LENGTH_MAX or rounded to infinity. */
int mxg_number_parse(const char *text, size_t length, uint32_t *bits);

/* mxg_number_print: the shortest decimal that mxg_number_parse reads back to the same bits.
 * bits     of a finite value with sign 0.
 * out      MXG_NUMBER_PRINT_CAP bytes; ends with a 0. */
void mxg_number_print(uint32_t bits, char *out);

#endif
