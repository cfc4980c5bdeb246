/* mxgold.h: the public interface, and its manual.
 *
 * mxgold turns f32, f16 or bf16 matrices into the exact bytes of a named low-precision convention
 * (a "recipe"), and back. Every call comes twice: mxg_NAME is the fast library, mxg_ref_NAME the
 * golden model, written separately from the same text (docs/NUMERICS.md) and slow. Their outputs
 * are equal byte for byte; their statuses too.
 *
 * Rules that hold for every call below, unless its own comment says otherwise:
 *   errors      the return value; MXG_OK is 0. On any error nothing has been written.
 *   bytes       depend only on the recipe and the input bits: not on instruction set, threads,
 *               strides or alignment.
 *   alignment   any pointer may have any alignment (float arrays too).
 *   aliasing    outputs must not overlap inputs or each other; byte ranges that interleave through
 *               strides without sharing a byte are not an overlap. Inputs are never written.
 *   empty       zero rows, columns or sources are valid and give MXG_OK; a pointer to zero bytes
 *               may be NULL.
 *   threads     safe to call from any number of threads. No allocation, no I/O, no environment
 *               reads.
 *   FP state    mxg_quantize and mxg_dequantize with an E8M0 recipe and no row_weight do not care,
 *               and no floating-point exception traps in them. Every other call that reads or
 *               writes elements, scales or values returns MXG_ERR_FENV when rounding is not to
 *               nearest, or FTZ or DAZ is on, and traps where the caller has unmasked exceptions.
 *               Control bits are left as they are; any call may raise exception flags.
 *   endianness  values in memory (f32, f16, bf16 arrays, row_weight, weight) are the host's own;
 *               f32 scales and weights inside packed buffers are little-endian on every host.
 *   NaN         every NaN written as f32, bf16 or f16 is 7FC00000, 7FC0 or 7E00 (section 6).
 *
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_H
#define MXGOLD_H

#include "mxgold_format.h"

#if defined(__GNUC__) || defined(__clang__)
#define MXG_API __attribute__((visibility("default")))
#else
#define MXG_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- about ---- */

/* One English sentence, without a full stop, for a status. Never NULL; static storage. */
MXG_API const char *mxg_strerror(mxg_status status);

/* "major.minor.patch" of the library that is linked. Static storage. */
MXG_API const char *mxg_version(void);

/* Instruction sets, as bits of a mask. */
typedef enum mxg_isa {
  MXG_ISA_PORTABLE = 1,
  MXG_ISA_AVX2 = 2,   /* AVX2 + FMA + F16C */
  MXG_ISA_AVX512 = 4, /* AVX-512 F + BW + DQ + VL + VBMI */
  MXG_ISA_NEON = 8
} mxg_isa;

/* Mask of the instruction sets that this CPU and operating system offer; MXG_ISA_PORTABLE is
 * always set. */
MXG_API uint32_t mxg_cpu_features(void);

/* How to run a call. NULL, or all zero, means every thread that OpenMP offers and the best
 * instruction set. isa_mask holds the mxg_isa bits that may be used (portable always may): a recipe
 * without a kernel for them runs portable. */
typedef struct mxg_run {
  uint32_t threads;     /* at most so many, 0 = as OpenMP says; without OpenMP always 1 */
  uint32_t isa_mask;    /* 0 = any; a bit that the CPU lacks, or unknown: MXG_ERR_ISA */
  uint32_t reserved[6]; /* must be 0, else MXG_ERR_RESERVED */
} mxg_run;

typedef enum mxg_operation {
  MXG_OPERATION_QUANTIZE = 1,
  MXG_OPERATION_DEQUANTIZE = 2,
  MXG_OPERATION_COMBINE = 3
} mxg_operation;

/* mxg_kernel_name: which kernel a call would use.
 * dtype    of the source (quantise) or of the result (dequantise, combine).
 * run      as it would be given to the call; may be NULL.
 * returns  MXG_OK and *name, static storage, such as "mxg_quantize__portable";
 *          MXG_ERR_NULL, _RECIPE, _TYPE, _SHAPE (unknown operation), _ISA, _RESERVED. */
MXG_API mxg_status mxg_kernel_name(const mxg_recipe *recipe, mxg_operation operation,
                                   mxg_dtype dtype, const mxg_run *run, const char **name);

/* ---- recipes (section 7) ---- */

typedef struct mxg_preset {
  const char *name; /* "mxfp4" */
  mxg_recipe recipe;
  const char *provenance; /* one sentence: whose convention this is and how it is known */
} mxg_preset;

/* Preset number `index` in the order of the table of section 7; NULL past the last.
 * Static storage. */
MXG_API const mxg_preset *mxg_preset_at(size_t index);

/* mxg_recipe_key_at: name of recipe field number `index`, in the order in which they print
 * ("element", "scale", "block", ...); NULL past the last. mxg_recipe_value_at names the values of a
 * field ("floor", "even", ...); NULL past the last, and at once for a field that takes a number or
 * for an unknown field. Static storage. */
MXG_API const char *mxg_recipe_key_at(size_t index);
MXG_API const char *mxg_recipe_value_at(size_t key_index, size_t index);

/* mxg_recipe_parse: text into a recipe.
 * text      "preset", "preset,key=value,..." or every key that applies as "key=value,..."; no
 *           spaces. A key that changes `scale` needs all the keys that only the new kind has.
 *           Numbers are decimal or C hex floats (block: a decimal integer), rounded once to f32.
 *           element_max equal to the format's maximum is stored as 0.
 * out       written on MXG_OK only.
 * error_at  may be NULL; on an error the 0-based offset in text of the offending item's key or
 *           value (for MXG_ERR_KEY_MISSING the length of text; for MXG_ERR_RECIPE the offset of the
 *           key that offends, or 0).
 * returns   MXG_OK; MXG_ERR_NULL, _PRESET, _KEY_UNKNOWN, _KEY_DUPLICATE, _KEY_INAPPLICABLE,
 *           _KEY_MISSING, _VALUE, _SYNTAX, or MXG_ERR_RECIPE when each field is fine but the
 *           combination is not (mxg_recipe_why says). */
MXG_API mxg_status mxg_recipe_parse(const char *text, mxg_recipe *out, size_t *error_at);

/* mxg_recipe_why: the field that made mxg_recipe_parse return MXG_ERR_RECIPE or MXG_ERR_KEY_MISSING
 * for this text.
 * returns   the sentence that mxg_recipe_check would give, or the name of the first missing key;
 *           NULL when there is none. Static storage. */
MXG_API const char *mxg_recipe_why(const char *text);

/* mxg_recipe_print: the canonical text of a valid recipe: the preset with the fewest differing keys
 * (the earliest on a tie), then those keys in order. Parses back to an equal recipe.
 * buf, cap  like snprintf: at most cap bytes with the terminating 0; buf may be NULL when cap is 0.
 * returns   the length without the 0, whatever cap is; 0 for NULL or an invalid recipe (buf is then
 *           "" if cap > 0). */
MXG_API size_t mxg_recipe_print(const mxg_recipe *recipe, char *buf, size_t cap);

/* mxg_recipe_check: is every field legal, and the combination?
 * why      may be NULL; on MXG_ERR_RECIPE a static sentence that begins with the field's name and a
 *          colon.
 * returns  MXG_OK; MXG_ERR_NULL, _RECIPE, _RESERVED. */
MXG_API mxg_status mxg_recipe_check(const mxg_recipe *recipe, const char **why);

/* ---- matrices ---- */

/* Unpacked values. Row r starts at data + r * stride_elems * mxg_dtype_bytes(dtype);
 * stride_elems >= cols, 0 = cols. */
typedef struct mxg_matrix {
  void *data;
  mxg_dtype dtype;
  size_t rows, cols;
  size_t stride_elems;
} mxg_matrix;

typedef struct mxg_matrix_view { /* the same, to be read only */
  const void *data;
  mxg_dtype dtype;
  size_t rows, cols;
  size_t stride_elems;
} mxg_matrix_view;

/* Codes and scales in memory. In slot placement `codes` is the first slot and `scales` is NULL.
 * The layout must be one that mxg_layout_for() made for the recipe; capacities are checked against
 * it. */
typedef struct mxg_packed {
  void *codes;
  size_t codes_capacity; /* bytes */
  void *scales;
  size_t scales_capacity; /* bytes */
  mxg_layout layout;
} mxg_packed;

typedef struct mxg_packed_view { /* the same, to be read only */
  const void *codes;
  size_t codes_capacity; /* bytes */
  const void *scales;
  size_t scales_capacity; /* bytes */
  mxg_layout layout;
} mxg_packed_view;

/* mxg_layout_for: sizes, strides and offsets of rows x cols elements.
 * rows     the padded row count that buffers are sized by; the live count is that of the matrix
 *          given to a call.
 * options  NULL = all zero: separate, row_major, dense.
 * out      written on MXG_OK only.
 * returns  MXG_OK; MXG_ERR_NULL, _RECIPE, _RESERVED, _SIZE; _LAYOUT when an option does not fit the
 *          recipe or the placement (an E8M0-only order with f32 scales, a stride below its row,
 *          scale_count below what is used or with scale=none, a pad over FF, an option that the
 *          placement does not have). */
MXG_API mxg_status mxg_layout_for(const mxg_recipe *recipe, size_t rows, size_t cols,
                                  const mxg_layout_options *options, mxg_layout *out);

/* ---- quantise, dequantise, combine ---- */

/* mxg_quantize: rows of x into codes and scales by the recipe (sections 2 to 5).
 * x           x.rows live rows, x.cols == layout.cols; x.rows <= layout.rows. f32, f16 or bf16.
 * row_weight  x.rows f32, or NULL. Element x becomes fl(x * row_weight[row]) before everything
 *             else.
 * out         codes of rows below x.rows; their scales and, in the padded scale orders, pads up to
 *             x.rows rounded up to the order's 256 or 128 rows; stored but unused scales as 1.0f or
 *             00. Nothing else is written: not the rows from x.rows on, not slot weights, not the
 *             bytes between strides.
 * run         NULL = best.
 * returns     MXG_OK; MXG_ERR_NULL, _SHAPE, _SIZE, _CAPACITY, _OVERLAP, _RECIPE, _LAYOUT, _TYPE,
 *             _RESERVED, _ISA, _FENV. */
MXG_API mxg_status mxg_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x,
                                const float *row_weight, const mxg_packed *out, const mxg_run *run);

/* mxg_dequantize: codes and scales into rows of y (sections 4 to 6).
 * in       any bytes: every code and scale value has a result.
 * y        y.rows live rows, y.cols == layout.cols; y.rows <= layout.rows. f32, f16 or bf16. Only
 *          those are written.
 * run      NULL = best.
 * returns  as mxg_quantize. */
MXG_API mxg_status mxg_dequantize(const mxg_recipe *recipe, const mxg_packed_view *in,
                                  const mxg_matrix *y, const mxg_run *run);

/* mxg_combine: y[row] = sum over k of weight[row, k] * decoded slot (row, k), in ascending k
 * (section 6).
 * slots               y.rows * top_k pointers; slots[row * top_k + k] is the first byte of a slot
 *                     as `layout` describes one, NULL = missing. No source at all gives +0.0.
 * top_k               0..64.
 * weight              f32, indexed like slots; not read for a missing source. NULL = unweighted.
 *                     Weights inside slots are never read.
 * layout              slot placement; its rows and slot stride are not used.
 * col_begin, col_end  the columns to compute, 0 <= begin <= end <= y.cols == layout.cols; other
 *                     columns of y are not written. The result does not depend on how columns are
 *                     divided over calls.
 * y                   y.rows live rows. f32, f16 or bf16.
 * run                 NULL = best.
 * returns             as mxg_quantize; a null `slots` entry is no error. */
MXG_API mxg_status mxg_combine(const mxg_recipe *recipe, const void *const *slots, size_t top_k,
                               const float *weight, const mxg_layout *layout, size_t col_begin,
                               size_t col_end, const mxg_matrix *y, const mxg_run *run);

/* ---- arrays of elements, scales and values ---- */

/* mxg_encode_f32: f32 values into codes, one code a byte, by the recipe's element, element_max,
 * overflow and nan_element (section 2); scales are not involved.
 * returns  MXG_OK; MXG_ERR_NULL, _RECIPE, _RESERVED, _SIZE, _OVERLAP, _FENV. */
MXG_API mxg_status mxg_encode_f32(const mxg_recipe *recipe, const float *x, size_t count,
                                  uint8_t *codes);

/* mxg_decode_f32: codes, one a byte (bits above the format's are ignored), into f32.
 * returns  MXG_OK; MXG_ERR_NULL, _RECIPE (unknown element), _SIZE, _OVERLAP, _FENV. */
MXG_API mxg_status mxg_decode_f32(mxg_element element, const uint8_t *codes, size_t count,
                                  float *y);

/* mxg_e8m0_from_amax: E8M0 bytes from amax values by the recipe's rule, inf_scale, element and
 * element_max (section 4). The sign is ignored. amax_floor is not applied: it belongs to the amax
 * of a block.
 * mxg_e8m0_from_scale: from f32 scales s: the rule applied to fl(s * max).
 * returns  MXG_OK; MXG_ERR_NULL, _RECIPE (also: not an e8m0 recipe), _RESERVED, _SIZE, _OVERLAP,
 *          _FENV. */
MXG_API mxg_status mxg_e8m0_from_amax(const mxg_recipe *recipe, const float *amax, size_t count,
                                      uint8_t *scales);
MXG_API mxg_status mxg_e8m0_from_scale(const mxg_recipe *recipe, const float *scale, size_t count,
                                       uint8_t *scales);

/* mxg_e8m0_to_f32: E8M0 bytes as f32 by edges: ocp 00 is 2^-127 and FF is NaN; float 00 is 0.0 and
 * FF is +Inf.
 * returns  MXG_OK; MXG_ERR_NULL, _RECIPE (unknown edges), _SIZE, _OVERLAP, _FENV. */
MXG_API mxg_status mxg_e8m0_to_f32(mxg_edges edges, const uint8_t *scales, size_t count, float *y);

/* mxg_to_f32, mxg_from_f32: f16 or bf16 to f32 exactly, f32 to f16 or bf16 by one rounding to
 * nearest, ties to even. MXG_DTYPE_F32 copies, with NaN made canonical.
 * returns  MXG_OK; MXG_ERR_NULL, _TYPE, _SIZE, _OVERLAP, _FENV. */
MXG_API mxg_status mxg_to_f32(mxg_dtype dtype, const void *x, size_t count, float *y);
MXG_API mxg_status mxg_from_f32(mxg_dtype dtype, const float *x, size_t count, void *y);

/* ---- reorders (docs/LAYOUT.md) ---- */

/* mxg_scales_reorder: a scale matrix from one order to another.
 * from, to  separate layouts with the same rows, scale_count and scale_bytes.
 * src, dst  scale matrices with capacities in bytes. Pads of a padded order are written with
 *           to->pad_byte up to rows rounded up to 256 or 128; bytes between strides are not
 *           written.
 * rows      the first `rows` rows are moved; rows <= from->rows.
 * returns   MXG_OK; MXG_ERR_NULL, _LAYOUT, _SHAPE, _SIZE, _CAPACITY, _OVERLAP. */
MXG_API mxg_status mxg_scales_reorder(const mxg_layout *from, const void *src, size_t src_capacity,
                                      const mxg_layout *to, void *dst, size_t dst_capacity,
                                      size_t rows);

/* mxg_weight_shuffle: FP4 weight bytes into AITER's 16x16 tiles; mxg_weight_unshuffle is its
 * inverse.
 * rows, row_bytes  rows % 16 == 0 and row_bytes % 16 == 0 (32 elements), else MXG_ERR_SHAPE.
 * src, dst         rows * row_bytes bytes each.
 * returns          MXG_OK; MXG_ERR_NULL, _SHAPE, _SIZE, _OVERLAP. */
MXG_API mxg_status mxg_weight_shuffle(size_t rows, size_t row_bytes, const void *src, void *dst);
MXG_API mxg_status mxg_weight_unshuffle(size_t rows, size_t row_bytes, const void *src, void *dst);

/* mxg_gate_up_interleave: experts x [gate rows | up rows] x row_bytes into alternating 16-row tiles
 * gate, up, gate, up, each tile in the 16x16 order; mxg_gate_up_separate is its inverse.
 * rows       of gate, and of up: rows % 16 == 0, else MXG_ERR_SHAPE.
 * row_bytes  row_bytes % 64 == 0, else MXG_ERR_SHAPE.
 * src, dst   experts * 2 * rows * row_bytes bytes each.
 * returns    MXG_OK; MXG_ERR_NULL, _SHAPE, _SIZE, _OVERLAP. */
MXG_API mxg_status mxg_gate_up_interleave(size_t experts, size_t rows, size_t row_bytes,
                                          const void *src, void *dst);
MXG_API mxg_status mxg_gate_up_separate(size_t experts, size_t rows, size_t row_bytes,
                                        const void *src, void *dst);

/* ---- the golden model ----
 * The same contracts, statuses and bytes; `run` is checked and otherwise ignored. */
MXG_API mxg_status mxg_ref_layout_for(const mxg_recipe *recipe, size_t rows, size_t cols,
                                      const mxg_layout_options *options, mxg_layout *out);
MXG_API mxg_status mxg_ref_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x,
                                    const float *row_weight, const mxg_packed *out,
                                    const mxg_run *run);
MXG_API mxg_status mxg_ref_dequantize(const mxg_recipe *recipe, const mxg_packed_view *in,
                                      const mxg_matrix *y, const mxg_run *run);
MXG_API mxg_status mxg_ref_combine(const mxg_recipe *recipe, const void *const *slots, size_t top_k,
                                   const float *weight, const mxg_layout *layout, size_t col_begin,
                                   size_t col_end, const mxg_matrix *y, const mxg_run *run);
MXG_API mxg_status mxg_ref_encode_f32(const mxg_recipe *recipe, const float *x, size_t count,
                                      uint8_t *codes);
MXG_API mxg_status mxg_ref_decode_f32(mxg_element element, const uint8_t *codes, size_t count,
                                      float *y);
MXG_API mxg_status mxg_ref_e8m0_from_amax(const mxg_recipe *recipe, const float *amax, size_t count,
                                          uint8_t *scales);
MXG_API mxg_status mxg_ref_e8m0_from_scale(const mxg_recipe *recipe, const float *scale,
                                           size_t count, uint8_t *scales);
MXG_API mxg_status mxg_ref_e8m0_to_f32(mxg_edges edges, const uint8_t *scales, size_t count,
                                       float *y);
MXG_API mxg_status mxg_ref_to_f32(mxg_dtype dtype, const void *x, size_t count, float *y);
MXG_API mxg_status mxg_ref_from_f32(mxg_dtype dtype, const float *x, size_t count, void *y);
MXG_API mxg_status mxg_ref_scales_reorder(const mxg_layout *from, const void *src,
                                          size_t src_capacity, const mxg_layout *to, void *dst,
                                          size_t dst_capacity, size_t rows);
MXG_API mxg_status mxg_ref_weight_shuffle(size_t rows, size_t row_bytes, const void *src,
                                          void *dst);
MXG_API mxg_status mxg_ref_weight_unshuffle(size_t rows, size_t row_bytes, const void *src,
                                            void *dst);
MXG_API mxg_status mxg_ref_gate_up_interleave(size_t experts, size_t rows, size_t row_bytes,
                                              const void *src, void *dst);
MXG_API mxg_status mxg_ref_gate_up_separate(size_t experts, size_t rows, size_t row_bytes,
                                            const void *src, void *dst);

#ifdef __cplusplus
}
#endif
#endif
