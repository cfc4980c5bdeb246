/* kernel_case.h: one call by every instruction set of this machine and by ref, byte for byte, in
 * trapped buffers of the exact size.
 *
 * A kernel that serves the call under several masks runs once. Each run counts as a case of its
 * kernel (kernel_list.h). Inputs are given plain and copied into trapped memory.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_KERNEL_CASE_H
#define TESTS_SUPPORT_KERNEL_CASE_H

#include "fp_environment.h"
#include "mxgold.h"

enum {
  KERNEL_POOL = 8,    /* distinct slots of a combine */
  KERNEL_ALIGNED = 38 /* the misalign with which codes and values come to lie at multiples of 64 */
};

typedef struct kernel_case {
  mxg_recipe recipe;
  mxg_dtype dtype;            /* of the values: source or result */
  size_t rows, cols;          /* dense */
  size_t distinct;            /* 0, or: row r is as row r % distinct, and ref does that many */
  size_t misalign;            /* 0..63, of every buffer (each its own rotation of it) */
  bool at_front;              /* buffers lie against the trap before, else the one behind */
  uint32_t threads;           /* as in mxg_run */
  fp_environment environment; /* of the codec's calls; E8M0 without row weights only */
} kernel_case;

/* x: rows x cols. row_weight: rows, or NULL. */
void kernel_case_quantize(const kernel_case *c, const void *x, const float *row_weight);

/* codes, scales: as the dense separate layout has them. */
void kernel_case_dequantize(const kernel_case *c, const uint8_t *codes, const uint8_t *scales);

/* pool: KERNEL_POOL slots of slot bytes each, one after the other; pick[row * top_k + k] is the pool
 * slot of a row's source k, or -1: missing. Columns outside [begin, end) must stay as they were. */
void kernel_case_combine(const kernel_case *c, const uint8_t *pool, size_t top_k, const int *pick,
                         const float *weight, size_t begin, size_t end);

/* Arrays: codes and values one each. */
void kernel_case_encode(const kernel_case *c, const float *x);
void kernel_case_decode(const kernel_case *c, const uint8_t *codes);

/* Bytes of codes and scales of the dense separate layout (all rows), and of one slot. */
typedef struct kernel_bytes {
  size_t codes, scales, slot, slot_scales; /* the last: offset of the scales in a slot */
} kernel_bytes;
kernel_bytes kernel_bytes_of(const kernel_case *c);

#endif
