/* args.h: the one argument of every kernel, by value. The host fills it, the device reads it.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_ARGS_H
#define MXGOLD_GPU_ARGS_H

#include "../codec/element.h"
#include "../codec/scale.h"

#define MXG_GPU_MAX_THREADS 256

/* The vector form of quantise: elements of a lane's strip, which has 16 bytes of codes, and of a wave's
 * tile. */
#define MXG_GPU_STRIP(bits) (128u / (uint32_t)(bits))
#define MXG_GPU_TILE(bits, lanes) \
  (MXG_GPU_STRIP(bits) * (lanes) > 1024u ? MXG_GPU_STRIP(bits) * (lanes) : 1024u)

/* The vector form of combine: columns of a lane's strip. */
#define MXG_GPU_COMBINE_STRIP 16u
#define MXG_GPU_STAGED_STRIP 32u /* where slots are copied to shared memory (combine_staged.h) */

typedef struct mxg_gpu_args {
  mxg_recipe recipe;
  mxg_layout layout;
  mxg_traits traits;
  mxg_policy policy;
  mxg_e8m0_rule e8m0;  /* scale=e8m0 */
  mxg_f32_rule f32;    /* scale=f32 */
  uint32_t floor_bits; /* of amax_floor */
  float clamp;         /* quantise: magnitudes above it round like it. The recipe's maximum, or with
                  overflow=nonfinite twice the binade of the format's */
  uint32_t block_shift;   /* log2(block) where that is whole, else 32 */
  uint64_t block_inverse; /* floor((2^64 - 1) / block); 0 without blocks */
  /* Places that are linear in row and column, in bytes; mxg_scale_index() has the others. */
  size_t payload_stride;
  int wide_codes; /* quantise: each row's codes start at a multiple of 16 */
  int scales_linear;
  size_t scale_start, scale_row_stride, scale_col_stride;
  size_t padded_scales;  /* of a row: those in a tile of the order too */
  uint32_t groups;       /* in the grid */
  uint32_t threads;      /* in a group: a multiple of the lanes */
  uint32_t workers;      /* combine: those that add */
  uint32_t stage_bytes;  /* combine: of a slot that is copied to shared memory; 0: none is */
  uint32_t shared_bytes; /* of a group, for that */

  size_t rows;               /* of the matrix */
  const uint32_t *live_rows; /* or NULL */
  const uint8_t *x;          /* quantise: first value */
  uint8_t *y;                /* dequantise, combine: first value */
  mxg_dtype dtype;
  size_t value_stride_bytes;
  const uint8_t *row_weight; /* quantise: floats; may be NULL */
  uint8_t *codes;            /* written by quantise only */
  uint8_t *scales;           /* slot placement: equal to codes */
  const uint8_t *slots;      /* combine: pointers */
  const uint8_t *weight;     /* combine: floats; may be NULL */
  size_t top_k, col_begin, col_end;
} mxg_gpu_args;

#endif
