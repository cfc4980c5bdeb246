/* values.h: input values. They are made as bits, never as float arguments, so that a signalling
 * NaN survives on every machine.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_VALUES_H
#define TESTS_SUPPORT_VALUES_H

#include "generator.h"
#include "mxgold.h"

typedef enum values_kind {
  VALUES_RANDOM,  /* each row around a magnitude of its own, finite */
  VALUES_PAINTED, /* small multiples of 1/16 with a prime period of 251 */
  VALUES_SPECIAL, /* random with zeros, NaN, Inf, subnormals, format maxima and ties strewn in */
  VALUES_ZERO_BLOCKS, /* blocks of +0, of -0, and of ordinary values */
  VALUES_BITS,        /* every bit at random */
  VALUES_EXTREME,     /* near the largest and below the smallest normal numbers, finite */
  VALUES_KINDS
} values_kind;

const char *values_kind_name(values_kind kind);

/* rows x cols values at data (any alignment), rows stride_elems apart; what lies between the rows
 * is left alone. block: the length that zero blocks and magnitudes think in, >= 1. */
void values_fill(generator *g, values_kind kind, mxg_dtype dtype, size_t rows, size_t cols,
                 size_t stride_elems, size_t block, void *data);

/* The bits of a float, and the float of bits (not for signalling NaNs: an x87 return quiets them). */
uint32_t bits_of(float value);
float float_of(uint32_t bits);

/* f32 bits cut down to a type (toward zero; NaN stays NaN), as the low bits of the result. */
uint32_t values_cut(mxg_dtype dtype, uint32_t f32_bits);

/* Stores the low 16 or all 32 bits as value number `index` of an array at any address. */
void values_store(void *array, mxg_dtype dtype, size_t index, uint32_t bits);
uint32_t values_load(const void *array, mxg_dtype dtype, size_t index);

/* Fills an array with one value, given as f32 bits and cut to the type. */
void values_set(void *array, mxg_dtype dtype, size_t first, size_t count, uint32_t f32_bits);

#define CANONICAL_NAN 0x7FC00000u

const char *dtype_name(mxg_dtype dtype);

#endif
