/* layout.c: where codes, scales and weights lie in memory (docs/LAYOUT.md).
 * SPDX-License-Identifier: MIT */
#include "internal.h"

static int e8m0_only(mxg_scale_order order) {
  return order == MXG_ORDER_AITER_SHUFFLE || order == MXG_ORDER_BLOCKED_128X4;
}

/* Options that contradict each other or the recipe, sizes aside. */
static mxg_status check_options(const mxg_recipe *recipe, const mxg_layout_options *o,
                                size_t scales_used) {
  if ((o->reserved[0] | o->reserved[1] | o->reserved[2] | o->reserved[3]) != 0)
    return MXG_ERR_RESERVED;
  if (o->pad_byte > 0xFF) return MXG_ERR_LAYOUT;
  if (o->scale_count != 0 && (recipe->scale == MXG_SCALE_NONE || o->scale_count < scales_used))
    return MXG_ERR_LAYOUT;
  switch (o->placement) {
    case MXG_PLACEMENT_SEPARATE:
      if (o->slot_weights != 0 || o->slot_stride_bytes != 0) return MXG_ERR_LAYOUT;
      if (o->scale_stride_bytes != 0 && o->order != MXG_ORDER_ROW_MAJOR) return MXG_ERR_LAYOUT;
      break;
    case MXG_PLACEMENT_SLOT:
      if (o->order != MXG_ORDER_ROW_MAJOR || o->pad_byte != 0) return MXG_ERR_LAYOUT;
      if (o->payload_stride_bytes != 0 || o->scale_stride_bytes != 0) return MXG_ERR_LAYOUT;
      break;
    default: return MXG_ERR_LAYOUT;
  }
  switch (o->order) {
    case MXG_ORDER_ROW_MAJOR:
    case MXG_ORDER_TRANSPOSED:
    case MXG_ORDER_AITER_SHUFFLE:
    case MXG_ORDER_BLOCKED_128X4: break;
    default: return MXG_ERR_LAYOUT;
  }
  if (e8m0_only(o->order) && recipe->scale != MXG_SCALE_E8M0) return MXG_ERR_LAYOUT;
  return MXG_OK;
}

/* The asked stride, or the dense one for 0. */
static mxg_status choose_stride(size_t asked_bytes, size_t row_bytes, size_t *out) {
  if (asked_bytes != 0 && asked_bytes < row_bytes) return MXG_ERR_LAYOUT;
  *out = asked_bytes != 0 ? asked_bytes : row_bytes;
  return MXG_OK;
}

static mxg_status place_separate(const mxg_layout_options *o, mxg_layout *l) {
  mxg_status status =
      choose_stride(o->payload_stride_bytes, l->payload_row_bytes, &l->payload_stride_bytes);
  if (status == MXG_OK && o->order == MXG_ORDER_ROW_MAJOR)
    status = choose_stride(o->scale_stride_bytes, l->scale_row_bytes, &l->scale_stride_bytes);
  if (status == MXG_OK)
    status =
        mxg_strided_bytes(l->rows, l->payload_row_bytes, l->payload_stride_bytes, &l->codes_bytes);
  if (status != MXG_OK) return status;
  if (o->order == MXG_ORDER_ROW_MAJOR)
    return mxg_strided_bytes(l->rows, l->scale_row_bytes, l->scale_stride_bytes, &l->scales_bytes);
  status = mxg_scale_matrix_count(o->order, l->rows, l->scale_count, &l->scales_bytes);
  if (status != MXG_OK) return status;
  return mxg_size_mul(l->scales_bytes, l->scale_bytes, &l->scales_bytes);
}

static mxg_status place_slot(const mxg_layout_options *o, mxg_layout *l) {
  l->scale_offset_bytes = l->payload_row_bytes;
  l->weight_offset_bytes = l->payload_row_bytes + l->scale_row_bytes; /* <= slot_bytes: it fits */
  const mxg_status status =
      choose_stride(o->slot_stride_bytes, l->slot_bytes, &l->slot_stride_bytes);
  if (status != MXG_OK) return status;
  return mxg_strided_bytes(l->rows, l->slot_bytes, l->slot_stride_bytes, &l->codes_bytes);
}

mxg_status mxg_layout_make(const mxg_recipe *recipe, size_t rows, size_t cols,
                           const mxg_layout_options *o, mxg_layout *out) {
  mxg_layout l;
  mxg_status status;
  memset(&l, 0, sizeof l);
  l.scales_used = mxg_scales_used(recipe, cols);
  status = check_options(recipe, o, l.scales_used);
  if (status != MXG_OK) return status;

  l.rows = rows;
  l.cols = cols;
  l.placement = o->placement;
  l.order = o->order;
  l.pad_byte = o->pad_byte;
  l.slot_weights = o->slot_weights;
  l.scale_bytes = (uint32_t)mxg_scale_bytes(recipe->scale);
  l.scale_count = o->scale_count != 0 ? o->scale_count : l.scales_used;
  (void)mxg_payload_row_bytes(recipe->element, cols, &l.payload_row_bytes); /* a legal element */
  status = mxg_size_mul(l.scale_count, l.scale_bytes, &l.scale_row_bytes);
  if (status == MXG_OK)
    status = mxg_slot_bytes(recipe, cols, l.scale_count, l.slot_weights, &l.slot_bytes);
  if (status == MXG_OK)
    status = o->placement == MXG_PLACEMENT_SLOT ? place_slot(o, &l) : place_separate(o, &l);
  if (status == MXG_OK) *out = l;
  return status;
}

mxg_status mxg_layout_for(const mxg_recipe *recipe, size_t rows, size_t cols,
                          const mxg_layout_options *options, mxg_layout *out) {
  mxg_layout_options dense;
  mxg_status status;
  if (recipe == NULL || out == NULL) return MXG_ERR_NULL;
  status = mxg_recipe_check(recipe, NULL);
  if (status != MXG_OK) return status;
  memset(&dense, 0, sizeof dense);
  return mxg_layout_make(recipe, rows, cols, options != NULL ? options : &dense, out);
}
