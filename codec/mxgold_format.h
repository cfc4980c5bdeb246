/* mxgold_format.h: the vocabulary of the low-precision wire formats and their sizes.
 *
 * Enums, the element traits table, the recipe struct, and every size and offset of a payload as
 * overflow-checked inline functions. The same text compiles as C11, C++11, HIP and CUDA, so that
 * host buffers, device buffers and test buffers are sized by one piece of code. It includes nothing
 * but the two headers below and allocates nothing.
 *
 * "Section n" is section n of docs/NUMERICS.md; layouts are described in docs/LAYOUT.md.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_FORMAT_H
#define MXGOLD_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define MXG_VERSION_MAJOR 0
#define MXG_VERSION_MINOR 1
#define MXG_VERSION_PATCH 0

/* MXG_FN: an inline function usable on the host and, under a GPU compiler, on the device. */
#if defined(__CUDACC__) && !defined(__clang__)
#define MXG_FN static __host__ __device__ inline
#elif defined(__HIP__) || (defined(__CUDA__) && defined(__clang__))
#define MXG_FN static inline __attribute__((host)) __attribute__((device))
#else
#define MXG_FN static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ----
 * 0 is success. The numbers are pinned for ever; new ones are added at the end of their group. */
typedef enum mxg_status {
  MXG_OK = 0,
  MXG_ERR_NULL = 1,     /* a required pointer is NULL */
  MXG_ERR_SHAPE = 2,    /* rows, columns, stride, top_k or a column segment do not fit together */
  MXG_ERR_SIZE = 3,     /* a size in bytes does not fit size_t */
  MXG_ERR_CAPACITY = 4, /* a buffer is smaller than the layout needs */
  MXG_ERR_OVERLAP = 5,  /* an output overlaps an input or another output */
  MXG_ERR_RECIPE = 6,   /* the recipe is not valid: mxg_recipe_check() names the field */
  MXG_ERR_LAYOUT = 7,   /* the layout or its options are not valid for this recipe or call */
  MXG_ERR_TYPE = 8,     /* unknown element data type */
  MXG_ERR_RESERVED = 9, /* a reserved word is not 0 */
  MXG_ERR_ISA = 10,     /* the isa mask has an instruction set that is unknown or absent here */
  MXG_ERR_FENV = 11,    /* rounding is not to nearest, or FTZ or DAZ is on */

  /* recipe text: mxg_recipe_parse() */
  MXG_ERR_PRESET = 20,           /* unknown preset */
  MXG_ERR_KEY_UNKNOWN = 21,      /* no recipe field has this name */
  MXG_ERR_KEY_DUPLICATE = 22,    /* a field is given twice */
  MXG_ERR_KEY_INAPPLICABLE = 23, /* the field does not belong to this kind of scale */
  MXG_ERR_KEY_MISSING = 24,      /* a field is needed and neither the text nor a preset gives it */
  MXG_ERR_VALUE = 25,            /* no such value, or a number is malformed or out of range */
  MXG_ERR_SYNTAX = 26,           /* empty text, an empty item, or no '=' */

  /* devices: the optional GPU library */
  MXG_ERR_NO_DEVICE = 40, /* no such device */
  MXG_ERR_ARCH = 41,      /* the device lacks the instructions that the chosen path needs */
  MXG_ERR_DEVICE = 42     /* the device runtime reported an error */
} mxg_status;

/* ---- recipe fields ----
 * In a recipe 0 means "does not apply"; every value proper is > 0 and pinned for ever. */

/* Section 1. */
typedef enum mxg_element {
  MXG_ELEMENT_E4M3FN = 1,
  MXG_ELEMENT_E4M3FNUZ = 2,
  MXG_ELEMENT_E5M2 = 3,
  MXG_ELEMENT_E5M2FNUZ = 4,
  MXG_ELEMENT_E2M1 = 5,
  MXG_ELEMENT_E2M3 = 6,
  MXG_ELEMENT_E3M2 = 7
} mxg_element;

typedef enum mxg_scale { MXG_SCALE_NONE = 1, MXG_SCALE_E8M0 = 2, MXG_SCALE_F32 = 3 } mxg_scale;

/* Section 4: E8M0 byte from amax. */
typedef enum mxg_rule {
  MXG_RULE_FLOOR = 1,
  MXG_RULE_EVEN = 2,
  MXG_RULE_EVEN21 = 3,
  MXG_RULE_HALF = 4,
  MXG_RULE_CEIL = 5,
  MXG_RULE_RCEIL = 6,
  MXG_RULE_RCEIL_BUMP = 7
} mxg_rule;

/* Section 3. */
typedef enum mxg_nan_amax { MXG_NAN_AMAX_PROPAGATE = 1, MXG_NAN_AMAX_IGNORE = 2 } mxg_nan_amax;

/* Section 2.4. */
typedef enum mxg_nan_element {
  MXG_NAN_ELEMENT_CODE = 1,
  MXG_NAN_ELEMENT_NEG_MAX = 2,
  MXG_NAN_ELEMENT_SIGN_MAX = 3,
  MXG_NAN_ELEMENT_POS_MAX = 4,
  MXG_NAN_ELEMENT_ZERO = 5
} mxg_nan_element;

/* Section 2.2. */
typedef enum mxg_overflow {
  MXG_OVERFLOW_SATURATE = 1,
  MXG_OVERFLOW_SATURATE_FINITE = 2,
  MXG_OVERFLOW_NONFINITE = 3
} mxg_overflow;

/* Section 4: bytes 00 and FF of E8M0. */
typedef enum mxg_edges { MXG_EDGES_OCP = 1, MXG_EDGES_FLOAT = 2 } mxg_edges;

/* Section 4: the byte of an infinite scale. */
typedef enum mxg_inf_scale {
  MXG_INF_SCALE_NAN = 1,
  MXG_INF_SCALE_MAX = 2,
  MXG_INF_SCALE_FIELD = 3
} mxg_inf_scale;

/* Section 5: f32 scales. */
typedef enum mxg_scale_math { MXG_SCALE_MATH_MUL = 1, MXG_SCALE_MATH_DIV = 2 } mxg_scale_math;

typedef enum mxg_scale_when {
  MXG_SCALE_WHEN_ALWAYS = 1,
  MXG_SCALE_WHEN_ABOVE_MAX = 2
} mxg_scale_when;

typedef enum mxg_apply {
  MXG_APPLY_DIV = 1,
  MXG_APPLY_MUL_RCP = 2,
  MXG_APPLY_MUL_MAX = 3
} mxg_apply;

typedef enum mxg_zero_block { MXG_ZERO_BLOCK_UNIT = 1, MXG_ZERO_BLOCK_COMPUTE = 2 } mxg_zero_block;

typedef enum mxg_marker {
  MXG_MARKER_NONE = 1,
  MXG_MARKER_IF_SCALED = 2,
  MXG_MARKER_ALWAYS = 3
} mxg_marker;

/* Section 6. */
typedef enum mxg_accumulate { MXG_ACCUMULATE_FMA = 1, MXG_ACCUMULATE_MUL_ADD = 2 } mxg_accumulate;

/* A recipe: everything that decides a byte. Plain data; fields that do not apply are 0.
 *   every scale kind        element, scale, element_max, nan_element, overflow, accumulate
 *   e8m0 and f32            block, amax_floor, nan_amax
 *   e8m0 only               rule, edges, inf_scale
 *   f32 only                scale_math, scale_when, apply, zero_block, marker */
typedef struct mxg_recipe {
  mxg_element element;
  mxg_scale scale;
  uint32_t block; /* elements that share one scale, >= 1 */
  mxg_rule rule;
  float element_max; /* 0 = the format's own maximum; else 0 < element_max <= that maximum */
  float amax_floor;  /* amax starts here; finite, >= 0 */
  mxg_nan_amax nan_amax;
  mxg_nan_element nan_element;
  mxg_overflow overflow;
  mxg_edges edges;
  mxg_inf_scale inf_scale;
  mxg_scale_math scale_math;
  mxg_scale_when scale_when;
  mxg_apply apply;
  mxg_zero_block zero_block;
  mxg_marker marker;
  mxg_accumulate accumulate;
  uint32_t reserved[3]; /* must be 0 */
} mxg_recipe;

/* ---- element traits (section 1) ---- */
typedef struct mxg_traits {
  int bits;          /* of one code: 8, 6 or 4 */
  int exponent_bits; /* "e" of s/e/m */
  int mantissa_bits; /* "m" of s/e/m */
  int bias;
  int emax;         /* exponent of max */
  int emin;         /* exponent of the smallest normal */
  float max;        /* largest finite value */
  uint8_t max_code; /* its code */
  uint8_t sign_bit; /* mask of the sign bit in a code */
  uint8_t inf_code; /* code of +Inf, 0 = the format has none */
  uint8_t nan_code; /* the NaN code that is written (before the sign), 0 = the format has none */
  uint8_t fnuz;     /* 1: the only NaN is 80 and there is no -0 */
} mxg_traits;

/* Traits of a format; all zero for a value that is no element format. */
MXG_FN mxg_traits mxg_element_traits(mxg_element element) {
  const mxg_traits none = {0, 0, 0, 0, 0, 0, 0.0f, 0, 0, 0, 0, 0};
  const mxg_traits e4m3fn = {8, 4, 3, 7, 8, -6, 448.0f, 0x7E, 0x80, 0, 0x7F, 0};
  const mxg_traits e4m3fnuz = {8, 4, 3, 8, 7, -7, 240.0f, 0x7F, 0x80, 0, 0x80, 1};
  const mxg_traits e5m2 = {8, 5, 2, 15, 15, -14, 57344.0f, 0x7B, 0x80, 0x7C, 0x7F, 0};
  const mxg_traits e5m2fnuz = {8, 5, 2, 16, 15, -15, 57344.0f, 0x7F, 0x80, 0, 0x80, 1};
  const mxg_traits e2m1 = {4, 2, 1, 1, 2, 0, 6.0f, 0x07, 0x08, 0, 0, 0};
  const mxg_traits e2m3 = {6, 2, 3, 1, 2, 0, 7.5f, 0x1F, 0x20, 0, 0, 0};
  const mxg_traits e3m2 = {6, 3, 2, 3, 4, -2, 28.0f, 0x1F, 0x20, 0, 0, 0};
  switch (element) {
    case MXG_ELEMENT_E4M3FN: return e4m3fn;
    case MXG_ELEMENT_E4M3FNUZ: return e4m3fnuz;
    case MXG_ELEMENT_E5M2: return e5m2;
    case MXG_ELEMENT_E5M2FNUZ: return e5m2fnuz;
    case MXG_ELEMENT_E2M1: return e2m1;
    case MXG_ELEMENT_E2M3: return e2m3;
    case MXG_ELEMENT_E3M2: return e3m2;
  }
  return none;
}

/* ---- data types of unpacked values ---- */
typedef enum mxg_dtype { MXG_DTYPE_F32 = 1, MXG_DTYPE_F16 = 2, MXG_DTYPE_BF16 = 3 } mxg_dtype;

/* Bytes of one value; 0 for an unknown type. */
MXG_FN size_t mxg_dtype_bytes(mxg_dtype dtype) {
  return dtype == MXG_DTYPE_F32                                ? 4u
         : (dtype == MXG_DTYPE_F16 || dtype == MXG_DTYPE_BF16) ? 2u
                                                               : 0u;
}

/* ---- layouts (docs/LAYOUT.md) ---- */
typedef enum mxg_placement {
  MXG_PLACEMENT_SEPARATE = 0, /* a payload and a scale matrix, each with its own row stride */
  MXG_PLACEMENT_SLOT = 1      /* per row [payload | scales | optional f32 weights], no gaps */
} mxg_placement;

typedef enum mxg_scale_order {
  MXG_ORDER_ROW_MAJOR = 0,
  MXG_ORDER_TRANSPOSED = 1,
  MXG_ORDER_AITER_SHUFFLE = 2, /* E8M0 only */
  MXG_ORDER_BLOCKED_128X4 = 3  /* E8M0 only; cuBLAS and torchao call it "swizzled" */
} mxg_scale_order;

/* What the caller may choose; all zero is the dense default. */
typedef struct mxg_layout_options {
  mxg_placement placement;
  mxg_scale_order order;       /* separate only */
  uint32_t pad_byte;           /* 00..FF, for the pads of aiter_shuffle and blocked_128x4 */
  uint32_t slot_weights;       /* f32 weights at the end of each slot */
  size_t scale_count;          /* stored per row, 0 = those used; unused ones are 1.0f or 00 */
  size_t payload_stride_bytes; /* separate: bytes between payload rows, 0 = dense */
  size_t scale_stride_bytes;   /* separate and row_major: bytes between scale rows, 0 = dense */
  size_t slot_stride_bytes;    /* slot: bytes between slots, 0 = dense */
  uint32_t reserved[4];        /* must be 0 */
} mxg_layout_options;

/* What follows from recipe, shape and options: filled by mxg_layout_for(), read by everybody.
 * All sizes in bytes unless the name says otherwise. */
typedef struct mxg_layout {
  size_t rows, cols; /* elements; rows is the padded count that the buffers are sized by */
  mxg_placement placement;
  mxg_scale_order order;
  uint32_t pad_byte;
  uint32_t slot_weights; /* count */
  uint32_t scale_bytes;  /* of one scale: 0, 1 or 4 */
  uint32_t reserved;
  size_t scales_used;          /* count per row: ceil(cols / block) */
  size_t scale_count;          /* count stored per row, >= scales_used */
  size_t payload_row_bytes;    /* codes of one row */
  size_t scale_row_bytes;      /* scale_count * scale_bytes */
  size_t slot_bytes;           /* payload + scales + weights of one row, whatever the placement */
  size_t payload_stride_bytes; /* separate: between payload rows. Slot: 0 */
  size_t scale_stride_bytes;   /* separate and row_major: between scale rows. Else 0 */
  size_t slot_stride_bytes;    /* slot: between slots. Separate: 0 */
  size_t scale_offset_bytes;   /* slot: of the scales in a slot. Separate: 0 */
  size_t weight_offset_bytes;  /* slot: of the weights in a slot. Separate: 0 */
  size_t codes_bytes;          /* capacity that `codes` needs (slot: for all slots) */
  size_t scales_bytes;         /* capacity that `scales` needs, pads included (slot: 0) */
} mxg_layout;

/* ---- wire sizes: checked arithmetic, nothing wraps ----
 * Each returns MXG_OK and sets *out, or returns MXG_ERR_SIZE and leaves *out alone. */

MXG_FN mxg_status mxg_size_mul(size_t a, size_t b, size_t *out) {
  if (a != 0 && b > SIZE_MAX / a) return MXG_ERR_SIZE;
  *out = a * b;
  return MXG_OK;
}

MXG_FN mxg_status mxg_size_add(size_t a, size_t b, size_t *out) {
  if (b > SIZE_MAX - a) return MXG_ERR_SIZE;
  *out = a + b;
  return MXG_OK;
}

/* ceil(value / unit), unit >= 1; cannot overflow. */
MXG_FN size_t mxg_size_ceil_div(size_t value, size_t unit) {
  return value / unit + (value % unit != 0);
}

/* value rounded up to a multiple of unit. */
MXG_FN mxg_status mxg_size_round_up(size_t value, size_t unit, size_t *out) {
  return mxg_size_mul(mxg_size_ceil_div(value, unit), unit, out);
}

/* Bytes of the codes of one row: FP8 cols, FP4 ceil(cols / 2), FP6 ceil(cols * 6 / 8). */
MXG_FN mxg_status mxg_payload_row_bytes(mxg_element element, size_t cols, size_t *out) {
  const size_t bits = (size_t)mxg_element_traits(element).bits;
  if (bits == 0) return MXG_ERR_RECIPE;
  /* bits * cols may not fit size_t where the byte count, at most cols, does: 8 elements are `bits`
   * bytes. */
  *out = cols / 8 * bits + (cols % 8 * bits + 7) / 8;
  return MXG_OK;
}

/* Bytes of one stored scale: none 0, e8m0 1, f32 4. */
MXG_FN size_t mxg_scale_bytes(mxg_scale scale) {
  return scale == MXG_SCALE_E8M0 ? 1u : scale == MXG_SCALE_F32 ? 4u : 0u;
}

/* Scales that one row uses. */
MXG_FN size_t mxg_scales_used(const mxg_recipe *recipe, size_t cols) {
  return recipe->scale == MXG_SCALE_NONE || recipe->block == 0
             ? 0
             : mxg_size_ceil_div(cols, recipe->block);
}

/* Bytes of one dense slot [payload | scale_count scales | slot_weights f32]. */
MXG_FN mxg_status mxg_slot_bytes(const mxg_recipe *recipe, size_t cols, size_t scale_count,
                                 size_t slot_weights, size_t *out) {
  size_t payload = 0, scales = 0, weights = 0;
  const mxg_status status = mxg_payload_row_bytes(recipe->element, cols, &payload);
  if (status != MXG_OK) return status;
  if (mxg_size_mul(scale_count, mxg_scale_bytes(recipe->scale), &scales) != MXG_OK)
    return MXG_ERR_SIZE;
  if (mxg_size_mul(slot_weights, 4, &weights) != MXG_OK) return MXG_ERR_SIZE;
  if (mxg_size_add(payload, scales, &payload) != MXG_OK) return MXG_ERR_SIZE;
  return mxg_size_add(payload, weights, out);
}

/* Bytes that `rows` rows of row_bytes need at a stride: the last row needs no stride, and rows of
 * no bytes need nothing. */
MXG_FN mxg_status mxg_strided_bytes(size_t rows, size_t row_bytes, size_t stride_bytes,
                                    size_t *out) {
  size_t bytes = 0;
  if (rows == 0 || row_bytes == 0) {
    *out = 0;
    return MXG_OK;
  }
  if (mxg_size_mul(rows - 1, stride_bytes, &bytes) != MXG_OK) return MXG_ERR_SIZE;
  return mxg_size_add(bytes, row_bytes, out);
}

/* Rows and scale columns that an order rounds up to; 1 = no padding. */
MXG_FN size_t mxg_order_tile_rows(mxg_scale_order order) {
  return order == MXG_ORDER_AITER_SHUFFLE ? 256u : order == MXG_ORDER_BLOCKED_128X4 ? 128u : 1u;
}
MXG_FN size_t mxg_order_tile_cols(mxg_scale_order order) {
  return order == MXG_ORDER_AITER_SHUFFLE ? 8u : order == MXG_ORDER_BLOCKED_128X4 ? 4u : 1u;
}

/* Scales that a whole matrix occupies in an order, pads included; row_major is the dense count. */
MXG_FN mxg_status mxg_scale_matrix_count(mxg_scale_order order, size_t rows, size_t scale_count,
                                         size_t *out) {
  size_t padded_rows = 0, padded_cols = 0;
  if (mxg_size_round_up(rows, mxg_order_tile_rows(order), &padded_rows) != MXG_OK ||
      mxg_size_round_up(scale_count, mxg_order_tile_cols(order), &padded_cols) != MXG_OK)
    return MXG_ERR_SIZE;
  return mxg_size_mul(padded_rows, padded_cols, out);
}

/* Index, counted in scales, of scale (row, col) in a matrix of rows x scale_count scales.
 * row and col may lie in the pads of the two padded orders. row_major is the dense index: a strided
 * matrix starts row r at r * stride. */
MXG_FN size_t mxg_scale_index(mxg_scale_order order, size_t rows, size_t scale_count, size_t row,
                              size_t col) {
  if (order == MXG_ORDER_TRANSPOSED) return col * rows + row;
  if (order == MXG_ORDER_AITER_SHUFFLE) {
    const size_t padded_cols = mxg_size_ceil_div(scale_count, 8) * 8;
    return row / 32 * padded_cols * 32 + col / 8 * 256 + col % 4 * 64 + row % 16 * 4 +
           col % 8 / 4 * 2 + row % 32 / 16;
  }
  if (order == MXG_ORDER_BLOCKED_128X4)
    return (row / 128 * mxg_size_ceil_div(scale_count, 4) + col / 4) * 512 + row % 32 * 16 +
           row % 128 / 32 * 4 + col % 4;
  return row * scale_count + col;
}

#ifdef __cplusplus
}
#endif
#endif
