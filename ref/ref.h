/* ref.h: what the files of the golden model share. Private.
 *
 * The golden model follows docs/NUMERICS.md section by section and shares no code with codec/:
 * values are exact numbers (mantissa times a power of two), compared exactly and rounded once.
 *
 *   ref_number.c   exact numbers; binary32, bfloat16 and binary16
 *   ref_element.c  sections 1 and 2
 *   ref_scale.c    sections 4 and 5, from amax to scale
 *   ref_block.c    section 3; quantise and dequantise
 *   ref_combine.c  section 6
 *   ref_layout.c   docs/LAYOUT.md
 *   ref_recipe.c   which recipes are legal
 *   ref_region.c   memory that a call touches
 *   ref_check.c    arguments, and the order in which their errors are found
 * SPDX-License-Identifier: MIT */
#ifndef MXG_REF_H
#define MXG_REF_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../codec/mxgold.h"

#if defined(__FAST_MATH__)
#error "the bytes are defined by IEEE arithmetic: build without -ffast-math"
#endif
#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
#error \
    "float arithmetic must be binary32: i386: -msse2 -mfpmath=sse, s390x: -fexcess-precision=fast"
#endif

/* ---- ref_number.c ---- */

/* mantissa * 2^exponent, exactly, with a sign of its own (so zero and NaN have one too). */
typedef struct ref_number {
  uint64_t mantissa; /* 0 when infinite or nan */
  int32_t exponent;
  bool negative;
  bool infinite;
  bool nan;
} ref_number;

/* Value of a bit pattern, exactly; the pattern nearest to a value: ties to even, subnormals kept,
 * overflow to Inf, every NaN canonical. */
ref_number mxg_ref_internal_from_bits(mxg_dtype dtype, uint32_t bits);
uint32_t mxg_ref_internal_to_bits(mxg_dtype dtype, ref_number value);

bool mxg_ref_internal_is_zero(ref_number value);
/* |a| against |b|: negative, 0, positive. Neither is NaN. */
int mxg_ref_internal_compare(ref_number a, ref_number b);
/* a * b, exactly; mantissas of at most 32 bits. */
ref_number mxg_ref_internal_multiply(ref_number a, ref_number b);
/* A number that to_bits() rounds as it would a + b, or 1 / b of a finite b other than 0. Mantissas of
 * at most 48, 32 bits. */
ref_number mxg_ref_internal_add(ref_number a, ref_number b);
ref_number mxg_ref_internal_reciprocal(ref_number b);

/* fl(value), as a number and as a float. */
ref_number mxg_ref_internal_fl(ref_number value);
float mxg_ref_internal_to_float(ref_number value);

/* One value in memory, any alignment, the host's byte order. */
size_t mxg_ref_internal_dtype_bytes(mxg_dtype dtype); /* 0 = unknown type */
ref_number mxg_ref_internal_load(mxg_dtype dtype, const void *values, size_t index);
void mxg_ref_internal_store(mxg_dtype dtype, void *values, size_t index, ref_number value);

/* ---- ref_element.c ---- */

typedef struct ref_format { /* a row of the table of section 1 */
  int bits, exponent_bits, mantissa_bits, bias, emax;
  uint32_t max_code;
  uint32_t overflow_code; /* magnitude of what nonfinite gives; 0 = saturates always */
  uint32_t nan_code;      /* 0 = has no NaN */
  bool fnuz;
  ref_number boundary; /* overflow boundary */
  bool boundary_overflows;
} ref_format;

const ref_format *mxg_ref_internal_format(mxg_element element); /* NULL = unknown */
ref_number mxg_ref_internal_decode(const ref_format *format, uint32_t code);

/* What a recipe says about all elements and blocks alike. */
typedef struct ref_plan {
  const mxg_recipe *recipe;
  const ref_format *format;
  ref_number max;         /* element_max, or the format's */
  ref_number reciprocal;  /* fl(1/max) */
  ref_number middle[128]; /* middle[c]: halfway between the values of codes c and c+1 */
} ref_plan;

void mxg_ref_internal_plan(const mxg_recipe *recipe, ref_plan *plan);
/* v into a code; source_negative is the sign bit of the source element, for NaN. */
uint32_t mxg_ref_internal_encode(const ref_plan *plan, ref_number v, bool source_negative);

/* Code number `col` of a packed row. put: the row's bytes have been zeroed. */
size_t mxg_ref_internal_row_bytes(const ref_format *format, size_t cols);
uint32_t mxg_ref_internal_get_code(const ref_format *format, const uint8_t *row, size_t col);
void mxg_ref_internal_put_code(const ref_format *format, uint8_t *row, size_t col, uint32_t code);

/* ---- ref_scale.c ---- */

uint32_t mxg_ref_internal_e8m0_from_amax(const ref_plan *plan, ref_number amax);
/* x * 2^(127-byte), and the value of a byte. */
ref_number mxg_ref_internal_e8m0_apply(mxg_edges edges, uint32_t byte, ref_number x);
ref_number mxg_ref_internal_e8m0_value(mxg_edges edges, uint32_t byte);

bool mxg_ref_internal_f32_is_scaled(const ref_plan *plan, float amax);
float mxg_ref_internal_f32_scale(const ref_plan *plan, float amax);
float mxg_ref_internal_f32_apply(const ref_plan *plan, float amax, float s, float x);

/* ---- ref_block.c ---- */

/* Decoding one row (or slot): where it is, and whether its marker says that it is scaled. */
typedef struct ref_row {
  const mxg_recipe *recipe;
  const ref_format *format;
  const mxg_layout *layout;
  const uint8_t *codes;  /* of this row */
  const uint8_t *scales; /* of the whole matrix; in slot placement the slot */
  size_t scale_row;      /* row number within scales */
  bool scaled;           /* false: every scale is ignored */
} ref_row;

ref_row mxg_ref_internal_row(const mxg_recipe *recipe, const mxg_layout *layout, const void *codes,
                             const void *scales, size_t row);
ref_number mxg_ref_internal_row_element(const ref_row *row, size_t col);
ref_number mxg_ref_internal_row_scale(const ref_row *row, size_t col); /* of a scaled row */

/* ---- ref_layout.c ---- */

/* Byte offset of scale (row, y): from the scale matrix, in slot placement from the first slot. */
size_t mxg_ref_internal_scale_offset(const mxg_layout *layout, size_t row, size_t y);
/* Rows and columns of scales, pads included, that a matrix with this many live rows occupies. */
size_t mxg_ref_internal_padded_rows(const mxg_layout *layout, size_t rows);
size_t mxg_ref_internal_padded_cols(const mxg_layout *layout);
void mxg_ref_internal_write_pads(const mxg_layout *layout, void *scales, size_t rows);
/* false = does not fit size_t; *out untouched. */
bool mxg_ref_internal_size_multiply(size_t a, size_t b, size_t *out);
bool mxg_ref_internal_size_add(size_t a, size_t b, size_t *out);
bool mxg_ref_internal_size_strided(size_t rows, size_t row_bytes, size_t stride, size_t *out);
/* Bytes of the scale matrix of a separate layout. */
bool mxg_ref_internal_scales_bytes(const mxg_layout *layout, size_t *out);

/* ---- ref_recipe.c ---- */

mxg_status mxg_ref_internal_check_recipe(const mxg_recipe *recipe); /* NULL, RESERVED, RECIPE */

/* ---- ref_region.c ---- */

/* pieces of piece_bytes each, stride_bytes apart; pieces do not overlap each other. */
typedef struct ref_region {
  const void *start;
  size_t pieces, piece_bytes, stride_bytes;
} ref_region;

bool mxg_ref_internal_overlap(ref_region a, ref_region b);
ref_region mxg_ref_internal_array_region(const void *start, size_t bytes);
/* Columns [begin, end) of a matrix. */
ref_region mxg_ref_internal_matrix_region(const void *data, mxg_dtype dtype, size_t rows,
                                          size_t stride_elems, size_t begin, size_t end);
/* Codes of the live rows; in slot placement their scales too, but not the weights. */
ref_region mxg_ref_internal_codes_region(const mxg_layout *layout, const void *codes, size_t rows);
/* Scales of the live rows, pads included; nothing in slot placement. */
ref_region mxg_ref_internal_scales_region(const mxg_layout *layout, const void *scales,
                                          size_t rows);

/* ---- ref_check.c ---- */

mxg_status mxg_ref_internal_check_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x,
                                           const float *row_weight, const mxg_packed *out,
                                           const mxg_run *run);
mxg_status mxg_ref_internal_check_dequantize(const mxg_recipe *recipe, const mxg_packed_view *in,
                                             const mxg_matrix *y, const mxg_run *run);
mxg_status mxg_ref_internal_check_combine(const mxg_recipe *recipe, const void *const *slots,
                                          size_t top_k, const float *weight,
                                          const mxg_layout *layout, size_t col_begin,
                                          size_t col_end, const mxg_matrix *y, const mxg_run *run);
mxg_status mxg_ref_internal_check_reorder(const mxg_layout *from, const void *src,
                                          size_t src_capacity, const mxg_layout *to,
                                          const void *dst, size_t dst_capacity, size_t rows);
/* Arrays of count items: pointers, SIZE, OVERLAP and, where fenv is set, FENV. */
mxg_status mxg_ref_internal_check_array(const void *in, size_t in_item_bytes, const void *out,
                                        size_t out_item_bytes, size_t count, bool fenv);

/* pointers[index], at any alignment. */
const void *mxg_ref_internal_load_pointer(const void *const *pointers, size_t index);

#endif
