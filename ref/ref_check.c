/* ref_check.c: the arguments of every call. The order of the checks decides which status a call with
 * several faults returns:
 *   NULL structs, recipe reserved, RECIPE, run reserved, TYPE, LAYOUT, SHAPE, SIZE, NULL data,
 *   CAPACITY, OVERLAP, ISA, FENV.
 * SPDX-License-Identifier: MIT */
#include "ref.h"

#include <string.h>

/* ---- single checks ---- */

static mxg_status check_run_reserved(const mxg_run *run) {
  if (run == NULL) return MXG_OK;
  for (size_t i = 0; i < sizeof run->reserved / sizeof run->reserved[0]; ++i)
    if (run->reserved[i] != 0) return MXG_ERR_RESERVED;
  return MXG_OK;
}

static mxg_status check_isa(const mxg_run *run) {
  if (run == NULL) return MXG_OK;
  return (run->isa_mask & ~mxg_cpu_features()) == 0 ? MXG_OK : MXG_ERR_ISA;
}

/* Rounding to nearest, ties to even, and subnormals neither flushed nor read as zero: by trying. */
static mxg_status check_fenv(void) {
  volatile float one = 1.0f, ulp = 0x1p-23f, half_ulp = 0x1p-24f, most_ulp = 0x1.8p-24f;
  volatile float up = one + most_ulp, down = -one - most_ulp, tie = one + half_ulp;
  const bool nearest = up == one + ulp && down == -one - ulp && tie == one;

  volatile float least_normal = 0x1p-126f, half = 0.5f, least = 0x1p-149f, large = 0x1p100f;
  volatile float result_subnormal = least_normal * half; /* 0 under FTZ */
  volatile float operand_subnormal = least * large;      /* 0 under DAZ */
  const bool kept = result_subnormal != 0.0f && operand_subnormal == 0x1p-49f;
  return nearest && kept ? MXG_OK : MXG_ERR_FENV;
}

/* A layout is what layout_for gives for its own rows, columns and options. */
static bool layout_is_own(const mxg_recipe *recipe, const mxg_layout *layout) {
  const bool row_major = layout->order == MXG_ORDER_ROW_MAJOR;
  mxg_layout_options options;
  mxg_layout own;
  memset(&options, 0, sizeof options);
  options.placement = layout->placement;
  options.order = layout->order;
  options.pad_byte = layout->pad_byte;
  options.slot_weights = layout->slot_weights;
  options.scale_count = layout->scale_count;
  options.payload_stride_bytes = layout->payload_stride_bytes;
  options.scale_stride_bytes = row_major ? layout->scale_stride_bytes : 0;
  options.slot_stride_bytes = layout->slot_stride_bytes;
  if (mxg_ref_layout_for(recipe, layout->rows, layout->cols, &options, &own) != MXG_OK)
    return false;
  return own.scale_bytes == layout->scale_bytes && own.reserved == layout->reserved &&
         own.scales_used == layout->scales_used && own.scale_count == layout->scale_count &&
         own.payload_row_bytes == layout->payload_row_bytes &&
         own.scale_row_bytes == layout->scale_row_bytes && own.slot_bytes == layout->slot_bytes &&
         own.payload_stride_bytes == layout->payload_stride_bytes &&
         own.scale_stride_bytes == layout->scale_stride_bytes &&
         own.slot_stride_bytes == layout->slot_stride_bytes &&
         own.scale_offset_bytes == layout->scale_offset_bytes &&
         own.weight_offset_bytes == layout->weight_offset_bytes &&
         own.codes_bytes == layout->codes_bytes && own.scales_bytes == layout->scales_bytes;
}

/* ---- quantise, dequantise, combine ---- */

/* A matrix in terms of bytes. */
typedef struct ref_shape {
  mxg_dtype dtype;
  size_t rows, cols, stride_elems, bytes;
} ref_shape;

static bool stride_fits(const ref_shape *shape) {
  return shape->stride_elems >= shape->cols;
}

/* Bytes from the first to the last element: ((rows-1) * stride + cols) * item. */
static bool size_shape(ref_shape *shape) {
  size_t elems = 0;
  if (shape->rows == 0 || shape->cols == 0) return true;
  return mxg_ref_internal_size_strided(shape->rows, shape->cols, shape->stride_elems, &elems) &&
         mxg_ref_internal_size_multiply(elems, mxg_ref_internal_dtype_bytes(shape->dtype),
                                        &shape->bytes);
}

static ref_shape shape_of(mxg_dtype dtype, size_t rows, size_t cols, size_t stride_elems) {
  const ref_shape shape = {dtype, rows, cols, stride_elems != 0 ? stride_elems : cols, 0};
  return shape;
}

/* What the three calls share: recipe to LAYOUT. */
static mxg_status check_head(const mxg_recipe *recipe, const mxg_run *run, mxg_dtype dtype,
                             const mxg_layout *layout) {
  mxg_status status = mxg_ref_internal_check_recipe(recipe);
  if (status != MXG_OK) return status;
  status = check_run_reserved(run);
  if (status != MXG_OK) return status;
  if (mxg_ref_internal_dtype_bytes(dtype) == 0) return MXG_ERR_TYPE;
  return layout_is_own(recipe, layout) ? MXG_OK : MXG_ERR_LAYOUT;
}

/* ISA and FENV. */
static mxg_status check_tail(const mxg_run *run, bool fenv) {
  const mxg_status status = check_isa(run);
  if (status != MXG_OK || !fenv) return status;
  return check_fenv();
}

static mxg_status ref_check_packed(const mxg_layout *layout, const void *codes,
                                   size_t codes_capacity, const void *scales,
                                   size_t scales_capacity) {
  if (codes == NULL && layout->codes_bytes != 0) return MXG_ERR_NULL;
  if (scales == NULL && layout->scales_bytes != 0) return MXG_ERR_NULL;
  if (codes_capacity < layout->codes_bytes) return MXG_ERR_CAPACITY;
  if (scales_capacity < layout->scales_bytes) return MXG_ERR_CAPACITY;
  return MXG_OK;
}

mxg_status mxg_ref_internal_check_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x,
                                           const float *row_weight, const mxg_packed *out,
                                           const mxg_run *run) {
  if (recipe == NULL || x == NULL || out == NULL) return MXG_ERR_NULL;
  const mxg_layout *layout = &out->layout;
  mxg_status status = check_head(recipe, run, x->dtype, layout);
  if (status != MXG_OK) return status;

  ref_shape shape = shape_of(x->dtype, x->rows, x->cols, x->stride_elems);
  if (shape.cols != layout->cols || shape.rows > layout->rows || !stride_fits(&shape))
    return MXG_ERR_SHAPE;
  size_t weight_bytes = 0;
  if (!size_shape(&shape)) return MXG_ERR_SIZE;
  if (row_weight != NULL && !mxg_ref_internal_size_multiply(x->rows, 4, &weight_bytes))
    return MXG_ERR_SIZE;
  if (x->data == NULL && shape.bytes != 0) return MXG_ERR_NULL;
  status =
      ref_check_packed(layout, out->codes, out->codes_capacity, out->scales, out->scales_capacity);
  if (status != MXG_OK) return status;

  const ref_region codes = mxg_ref_internal_codes_region(layout, out->codes, x->rows);
  const ref_region scales = mxg_ref_internal_scales_region(layout, out->scales, x->rows);
  const ref_region values =
      mxg_ref_internal_matrix_region(x->data, x->dtype, x->rows, shape.stride_elems, 0, x->cols);
  const ref_region weights = mxg_ref_internal_array_region(row_weight, weight_bytes);
  if (mxg_ref_internal_overlap(codes, scales) || mxg_ref_internal_overlap(codes, values) ||
      mxg_ref_internal_overlap(scales, values) || mxg_ref_internal_overlap(codes, weights) ||
      mxg_ref_internal_overlap(scales, weights))
    return MXG_ERR_OVERLAP;
  return check_tail(run, recipe->scale != MXG_SCALE_E8M0 || row_weight != NULL);
}

mxg_status mxg_ref_internal_check_dequantize(const mxg_recipe *recipe, const mxg_packed_view *in,
                                             const mxg_matrix *y, const mxg_run *run) {
  if (recipe == NULL || in == NULL || y == NULL) return MXG_ERR_NULL;
  const mxg_layout *layout = &in->layout;
  mxg_status status = check_head(recipe, run, y->dtype, layout);
  if (status != MXG_OK) return status;

  ref_shape shape = shape_of(y->dtype, y->rows, y->cols, y->stride_elems);
  if (shape.cols != layout->cols || shape.rows > layout->rows || !stride_fits(&shape))
    return MXG_ERR_SHAPE;
  if (!size_shape(&shape)) return MXG_ERR_SIZE;
  if (y->data == NULL && shape.bytes != 0) return MXG_ERR_NULL;
  status = ref_check_packed(layout, in->codes, in->codes_capacity, in->scales, in->scales_capacity);
  if (status != MXG_OK) return status;

  const ref_region values =
      mxg_ref_internal_matrix_region(y->data, y->dtype, y->rows, shape.stride_elems, 0, y->cols);
  if (mxg_ref_internal_overlap(values, mxg_ref_internal_codes_region(layout, in->codes, y->rows)) ||
      mxg_ref_internal_overlap(values, mxg_ref_internal_scales_region(layout, in->scales, y->rows)))
    return MXG_ERR_OVERLAP;
  return check_tail(run, recipe->scale != MXG_SCALE_E8M0);
}

const void *mxg_ref_internal_load_pointer(const void *const *pointers, size_t index) {
  const unsigned char *bytes = (const void *)pointers;
  const void *pointer = NULL;
  memcpy(&pointer, bytes + index * sizeof pointer, sizeof pointer);
  return pointer;
}

mxg_status mxg_ref_internal_check_combine(const mxg_recipe *recipe, const void *const *slots,
                                          size_t top_k, const float *weight,
                                          const mxg_layout *layout, size_t col_begin,
                                          size_t col_end, const mxg_matrix *y, const mxg_run *run) {
  if (recipe == NULL || layout == NULL || y == NULL) return MXG_ERR_NULL;
  const mxg_status status = check_head(recipe, run, y->dtype, layout);
  if (status != MXG_OK) return status;
  if (layout->placement != MXG_PLACEMENT_SLOT) return MXG_ERR_LAYOUT;

  ref_shape shape = shape_of(y->dtype, y->rows, y->cols, y->stride_elems);
  if (top_k > 64 || col_begin > col_end || col_end > y->cols || y->cols != layout->cols ||
      !stride_fits(&shape))
    return MXG_ERR_SHAPE;
  size_t sources = 0, slots_bytes = 0;
  if (!size_shape(&shape) || !mxg_ref_internal_size_multiply(y->rows, top_k, &sources) ||
      !mxg_ref_internal_size_multiply(sources, sizeof *slots, &slots_bytes))
    return MXG_ERR_SIZE;
  const size_t weight_bytes = weight != NULL ? sources * 4 : 0; /* at most slots_bytes: it fits */
  if (y->data == NULL && shape.bytes != 0) return MXG_ERR_NULL;
  if (slots == NULL && sources != 0) return MXG_ERR_NULL;

  const ref_region values = mxg_ref_internal_matrix_region(y->data, y->dtype, y->rows,
                                                           shape.stride_elems, col_begin, col_end);
  if (mxg_ref_internal_overlap(mxg_ref_internal_array_region((const void *)slots, slots_bytes),
                               values) ||
      mxg_ref_internal_overlap(mxg_ref_internal_array_region(weight, weight_bytes), values))
    return MXG_ERR_OVERLAP;
  for (size_t i = 0; i < sources; ++i) {
    const void *slot = mxg_ref_internal_load_pointer(slots, i);
    if (slot != NULL &&
        mxg_ref_internal_overlap(mxg_ref_internal_codes_region(layout, slot, 1), values))
      return MXG_ERR_OVERLAP;
  }
  return check_tail(run, true);
}

/* ---- arrays and reorders ---- */

mxg_status mxg_ref_internal_check_array(const void *in, size_t in_item_bytes, const void *out,
                                        size_t out_item_bytes, size_t count, bool fenv) {
  size_t in_bytes = 0, out_bytes = 0;
  if ((in == NULL || out == NULL) && count != 0) return MXG_ERR_NULL;
  if (!mxg_ref_internal_size_multiply(count, in_item_bytes, &in_bytes) ||
      !mxg_ref_internal_size_multiply(count, out_item_bytes, &out_bytes))
    return MXG_ERR_SIZE;
  if (mxg_ref_internal_overlap(mxg_ref_internal_array_region(in, in_bytes),
                               mxg_ref_internal_array_region(out, out_bytes)))
    return MXG_ERR_OVERLAP;
  return fenv ? check_fenv() : MXG_OK;
}

/* A scale matrix by itself: there is no recipe to recompute it from. */
static mxg_status check_scale_matrix(const mxg_layout *layout) {
  if (layout->placement != MXG_PLACEMENT_SEPARATE || layout->pad_byte > 0xFF ||
      layout->reserved != 0)
    return MXG_ERR_LAYOUT;
  if (layout->scale_bytes != 0 && layout->scale_bytes != 1 && layout->scale_bytes != 4)
    return MXG_ERR_LAYOUT;
  if (layout->scale_bytes == 0 && layout->scale_count != 0) return MXG_ERR_LAYOUT;
  switch (layout->order) {
    case MXG_ORDER_ROW_MAJOR:
    case MXG_ORDER_TRANSPOSED: break;
    case MXG_ORDER_AITER_SHUFFLE:
    case MXG_ORDER_BLOCKED_128X4:
      if (layout->scale_bytes != 1) return MXG_ERR_LAYOUT;
      break;
    default: return MXG_ERR_LAYOUT;
  }
  size_t row_bytes = 0, bytes = 0;
  if (!mxg_ref_internal_size_multiply(layout->scale_count, layout->scale_bytes, &row_bytes) ||
      !mxg_ref_internal_scales_bytes(layout, &bytes))
    return MXG_ERR_LAYOUT;
  if (row_bytes != layout->scale_row_bytes || bytes != layout->scales_bytes) return MXG_ERR_LAYOUT;
  if (layout->order == MXG_ORDER_ROW_MAJOR ? layout->scale_stride_bytes < row_bytes
                                           : layout->scale_stride_bytes != 0)
    return MXG_ERR_LAYOUT;
  return MXG_OK;
}

mxg_status mxg_ref_internal_check_reorder(const mxg_layout *from, const void *src,
                                          size_t src_capacity, const mxg_layout *to,
                                          const void *dst, size_t dst_capacity, size_t rows) {
  if (from == NULL || to == NULL) return MXG_ERR_NULL;
  mxg_status status = check_scale_matrix(from);
  if (status != MXG_OK) return status;
  status = check_scale_matrix(to);
  if (status != MXG_OK) return status;
  if (from->scale_bytes != to->scale_bytes) return MXG_ERR_LAYOUT;
  if (from->rows != to->rows || from->scale_count != to->scale_count || rows > from->rows)
    return MXG_ERR_SHAPE;
  if (src == NULL && from->scales_bytes != 0) return MXG_ERR_NULL;
  if (dst == NULL && to->scales_bytes != 0) return MXG_ERR_NULL;
  if (src_capacity < from->scales_bytes || dst_capacity < to->scales_bytes) return MXG_ERR_CAPACITY;
  return mxg_ref_internal_overlap(mxg_ref_internal_scales_region(from, src, rows),
                                  mxg_ref_internal_scales_region(to, dst, rows))
             ? MXG_ERR_OVERLAP
             : MXG_OK;
}
