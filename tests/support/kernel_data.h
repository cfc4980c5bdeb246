/* kernel_data.h: inputs that hunt the short cuts of kernels: ties of the element format at every
 * scale, block maxima beside the thresholds of the scale rules, the ends of the exponent range, one
 * special value at each position of a block in turn.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_KERNEL_DATA_H
#define TESTS_SUPPORT_KERNEL_DATA_H

#include "generator.h"
#include "mxgold.h"

typedef enum data_kind {
  DATA_EDGES,    /* block maxima beside thresholds at any exponent, elements on ties below them */
  DATA_TINY,     /* the same among the smallest exponents, subnormals included */
  DATA_HUGE,     /* the same among the largest, up to the largest finite value */
  DATA_SPRINKLE, /* ordinary blocks, one special value each, at positions in turn */
  DATA_MIXED,    /* each block of any kind */
  DATA_PLAIN,    /* ordinary values of one magnitude a block */
  DATA_ZEROS,    /* blocks of signed zeros, some with one other value */
  DATA_BITS,     /* every bit at random */
  DATA_KINDS
} data_kind;

const char *data_kind_name(data_kind kind);

/* count values of dtype for blocks of `block`, one after the other. */
void data_values(generator *g, data_kind kind, const mxg_recipe *recipe, mxg_dtype dtype,
                 size_t count, void *values);

typedef enum packed_kind {
  PACKED_TAME, /* finite codes, scales near 1 */
  PACKED_TINY, /* scales whose products are subnormal or vanish */
  PACKED_HUGE, /* scales whose products overflow */
  PACKED_EDGE, /* ordinary, and one scale in three from the list of edges */
  PACKED_WILD, /* any code, any scale */
  PACKED_KINDS
} packed_kind;

/* Codes and scales of one row of cols elements; unused bits of the last code byte are random. */
void data_packed(generator *g, packed_kind kind, const mxg_recipe *recipe, size_t cols,
                 uint8_t *codes, uint8_t *scales);

/* Bits of one scale of the recipe's kind. */
uint32_t data_scale(generator *g, packed_kind kind, const mxg_recipe *recipe, size_t index);

/* Weights of a combine. */
void data_weights(generator *g, bool special, size_t count, float *weights);

/* Columns that kernels have reasons to treat apart: around whole blocks, groups of blocks and
 * vectors. */
size_t data_length(generator *g, const mxg_recipe *recipe);

/* A recipe other than the presets, often one that a kernel beyond portable serves. */
mxg_recipe data_recipe(generator *g, mxg_operation operation, mxg_dtype dtype);

#endif
