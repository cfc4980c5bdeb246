/* model.h: a small model of docs/NUMERICS.md in double arithmetic, to plant faults in.
 *
 * It shares no arithmetic with codec/ or ref/. Without a fault it gives the bytes of the vectors; with
 * the fault of a flag it gives those that the flag's bug class gives.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_KIT_MODEL_H
#define TESTS_KIT_MODEL_H

#include "mxgold.h"

typedef enum fault { /* one per flag */
                     FAULT_NONE,
                     FAULT_ALL_ZERO_BLOCK,
                     FAULT_AMAX_FLOOR,
                     FAULT_DECODE_BAD_SCALE,
                     FAULT_EMPTY_SHAPE,
                     FAULT_SCALE_RULE,
                     FAULT_SCALE_BOUNDARY,
                     FAULT_RCEIL_MASK,
                     FAULT_NON_POW2_AS_E8M0,
                     FAULT_E8M0_DECODE,
                     FAULT_E8M0_ENCODE,
                     FAULT_TIE_TO_EVEN,
                     FAULT_NEG_ZERO,
                     FAULT_SUBNORMAL,
                     FAULT_TINY_SHIFT,
                     FAULT_NAN_CODE,
                     FAULT_OVERFLOW,
                     FAULT_SATURATE_AFTER_SCALE,
                     FAULT_NAN_BLOCK,
                     FAULT_SCALE_PAD,
                     FAULT_ROWS,
                     FAULT_LAYOUT_NAMED,
                     FAULT_NIBBLE_ORDER,
                     FAULT_BLOCK_WIDTH,
                     FAULT_GATE_UP,
                     FAULT_DOUBLE_ROUND,
                     FAULTS
} fault;

/* "TieToEven" ...; NULL for FAULT_NONE. */
const char *fault_flag(fault f);

typedef struct model_bytes {
  uint8_t data[1 << 15];
  size_t count;
} model_bytes;

/* x: f32 bits, rows x cols; weights: f32 bits of rows, or NULL. Separate and dense. */
void model_quantize(const mxg_recipe *recipe, fault f, const uint32_t *x, const uint32_t *weights,
                    size_t rows, size_t cols, model_bytes *codes, model_bytes *scales);
/* Values of dtype, little-endian. */
void model_dequantize(const mxg_recipe *recipe, fault f, const uint8_t *codes,
                      const uint8_t *scales, size_t rows, size_t cols, mxg_dtype dtype,
                      model_bytes *y);
/* The byte of an amax, or of a scale (f32 bits). */
uint8_t model_e8m0(const mxg_recipe *recipe, fault f, bool from_scale, uint32_t bits);

/* ---- orders (model_layout.c) ---- */

/* Scales of row_major into `order`, pads filled. */
void model_reorder(fault f, mxg_scale_order order, size_t rows, size_t cols, size_t scale_bytes,
                   uint8_t pad, const uint8_t *in, model_bytes *out);
/* FP4 weight bytes: gate/up rows interleaved, or plain 16x16 tiles. */
void model_weights(fault f, bool gate_up, size_t experts, size_t rows, size_t row_bytes,
                   const uint8_t *in, model_bytes *out);

#endif
