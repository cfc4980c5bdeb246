/* arguments.c
 * SPDX-License-Identifier: MIT */
#include "arguments.h"

#include <string.h>

#include "runtime.h"

#define TRY(expression)                      \
  do {                                       \
    const mxg_status status_ = (expression); \
    if (status_ != MXG_OK) return status_;   \
  } while (0)

/* A status, with the words for it. */
static mxg_status fail(mxg_status status, const char *what) {
  mxg_gpu_say("%s: %s", what, mxg_strerror(status));
  return status;
}

mxg_status mxg_gpu_check_recipe(const mxg_recipe *recipe) {
  const char *why = NULL;
  mxg_status status;
  if (recipe == NULL) return fail(MXG_ERR_NULL, "recipe");
  for (size_t i = 0; i < sizeof recipe->reserved / sizeof recipe->reserved[0]; i++)
    if (recipe->reserved[i] != 0) return fail(MXG_ERR_RESERVED, "recipe");
  status = mxg_recipe_check(recipe, &why);
  if (status != MXG_OK) mxg_gpu_say("recipe: %s: %s", mxg_strerror(status), why ? why : "");
  return status;
}

/* Only a layout that mxg_layout_for() makes is valid. The struct has no padding on 64-bit hosts, but
 * fields are compared, not bytes. */
static mxg_status check_layout(const mxg_recipe *recipe, const mxg_layout *l) {
  mxg_layout_options options;
  mxg_layout made;
  memset(&options, 0, sizeof options);
  options.placement = l->placement;
  options.order = l->order;
  options.pad_byte = l->pad_byte;
  options.slot_weights = l->slot_weights;
  options.scale_count = l->scale_count;
  options.payload_stride_bytes = l->payload_stride_bytes;
  options.scale_stride_bytes = l->scale_stride_bytes;
  options.slot_stride_bytes = l->slot_stride_bytes;
  if (mxg_layout_for(recipe, l->rows, l->cols, &options, &made) == MXG_OK && l->reserved == 0 &&
      made.scale_bytes == l->scale_bytes && made.scales_used == l->scales_used &&
      made.scale_count == l->scale_count && made.payload_row_bytes == l->payload_row_bytes &&
      made.scale_row_bytes == l->scale_row_bytes && made.slot_bytes == l->slot_bytes &&
      made.payload_stride_bytes == l->payload_stride_bytes &&
      made.scale_stride_bytes == l->scale_stride_bytes &&
      made.slot_stride_bytes == l->slot_stride_bytes &&
      made.scale_offset_bytes == l->scale_offset_bytes &&
      made.weight_offset_bytes == l->weight_offset_bytes && made.codes_bytes == l->codes_bytes &&
      made.scales_bytes == l->scales_bytes)
    return MXG_OK;
  return fail(MXG_ERR_LAYOUT, "layout");
}

/* ---- overlap: runs of bytes at a stride ---- */

typedef struct region {
  uintptr_t base;
  size_t rows, row_bytes, stride;
} region;

static region region_of(const void *base, size_t rows, size_t row_bytes, size_t stride) {
  const region r = {(uintptr_t)base, rows, row_bytes, stride};
  return r;
}

/* Does a row of r have a byte in [first, last]? Rows are in order and do not overlap. */
static int touches(const region *r, uintptr_t first, uintptr_t last) {
  size_t row = r->rows - 1;
  if (last < r->base) return 0;
  if (r->stride != 0 && (last - r->base) / r->stride < row) row = (last - r->base) / r->stride;
  return r->base + row * r->stride + r->row_bytes > first;
}

static int overlap(region a, region b) {
  if (a.rows > b.rows) {
    const region swap = a;
    a = b;
    b = swap;
  }
  if (a.rows == 0 || a.row_bytes == 0 || b.row_bytes == 0) return 0;
  if (!touches(&b, a.base, a.base + (a.rows - 1) * a.stride + a.row_bytes - 1)) return 0;
  for (size_t row = 0; row < a.rows; row++) {
    const uintptr_t first = a.base + row * a.stride;
    if (touches(&b, first, first + a.row_bytes - 1)) return 1;
  }
  return 0;
}

static region codes_region(const void *codes, const mxg_layout *l, size_t rows) {
  if (l->placement == MXG_PLACEMENT_SLOT)
    return region_of(codes, rows, l->payload_row_bytes + l->scale_row_bytes, l->slot_stride_bytes);
  return region_of(codes, rows, l->payload_row_bytes, l->payload_stride_bytes);
}

static region scales_region(const void *scales, const mxg_layout *l, size_t rows) {
  size_t count = 0;
  if (l->placement == MXG_PLACEMENT_SLOT || l->scale_row_bytes == 0)
    return region_of(NULL, 0, 0, 0);
  if (l->order == MXG_ORDER_ROW_MAJOR)
    return region_of(scales, rows, l->scale_row_bytes, l->scale_stride_bytes);
  if (l->order == MXG_ORDER_TRANSPOSED)
    return region_of(scales, l->scale_count, rows * l->scale_bytes, l->rows * l->scale_bytes);
  (void)mxg_scale_matrix_count(l->order, rows, l->scale_count, &count); /* fits: the layout did */
  return region_of(scales, 1, count, 0);
}

/* ---- matrices and packed buffers ---- */

static mxg_matrix_view view_of(const mxg_matrix *m) {
  const mxg_matrix_view view = {m->data, m->dtype, m->rows, m->cols, m->stride_elems};
  return view;
}

static region matrix_region(const mxg_matrix_view *m, size_t col_begin, size_t col_end) {
  const size_t width = mxg_dtype_bytes(m->dtype);
  region r = {(uintptr_t)m->data, m->rows, (col_end - col_begin) * width,
              mxg_gpu_stride(m->cols, m->stride_elems) * width};
  r.base += col_begin * width;
  return r;
}

static mxg_status matrix_bytes(const mxg_matrix_view *m, size_t *bytes) {
  size_t elems = 0;
  if (mxg_strided_bytes(m->rows, m->cols, mxg_gpu_stride(m->cols, m->stride_elems), &elems) !=
          MXG_OK ||
      mxg_size_mul(elems, mxg_dtype_bytes(m->dtype), bytes) != MXG_OK)
    return fail(MXG_ERR_SIZE, "matrix");
  return MXG_OK;
}

/* Recipe, type, layout, shape and size. */
static mxg_status check_common(const mxg_recipe *recipe, const mxg_matrix_view *m,
                               const mxg_layout *layout, size_t *bytes) {
  TRY(mxg_gpu_check_recipe(recipe));
  if (mxg_dtype_bytes(m->dtype) == 0) return fail(MXG_ERR_TYPE, "matrix");
  TRY(check_layout(recipe, layout));
  if (m->cols != layout->cols || m->rows > layout->rows ||
      mxg_gpu_stride(m->cols, m->stride_elems) < m->cols)
    return fail(MXG_ERR_SHAPE, "matrix");
  return matrix_bytes(m, bytes);
}

static mxg_status check_packed(const mxg_packed_view *p) {
  if (p->codes == NULL && p->layout.codes_bytes != 0) return fail(MXG_ERR_NULL, "codes");
  if (p->scales == NULL && p->layout.scales_bytes != 0) return fail(MXG_ERR_NULL, "scales");
  return MXG_OK;
}

static mxg_status check_capacity(const mxg_packed_view *p) {
  if (p->codes_capacity < p->layout.codes_bytes) return fail(MXG_ERR_CAPACITY, "codes");
  if (p->scales_capacity < p->layout.scales_bytes) return fail(MXG_ERR_CAPACITY, "scales");
  return MXG_OK;
}

mxg_status mxg_gpu_check_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x,
                                  const float *row_weight, const mxg_packed *out) {
  size_t bytes = 0, weight_bytes = 0;
  region codes, scales, values, weights;
  if (recipe == NULL || x == NULL || out == NULL) return fail(MXG_ERR_NULL, "recipe, x or out");
  const mxg_packed_view packed = {out->codes, out->codes_capacity, out->scales,
                                  out->scales_capacity, out->layout};
  TRY(check_common(recipe, x, &out->layout, &bytes));
  if (row_weight != NULL && mxg_size_mul(x->rows, sizeof(float), &weight_bytes) != MXG_OK)
    return fail(MXG_ERR_SIZE, "row_weight");
  if (x->data == NULL && bytes != 0) return fail(MXG_ERR_NULL, "x");
  TRY(check_packed(&packed));
  TRY(check_capacity(&packed));
  codes = codes_region(out->codes, &out->layout, x->rows);
  scales = scales_region(out->scales, &out->layout, x->rows);
  values = matrix_region(x, 0, x->cols);
  weights = region_of(row_weight, 1, weight_bytes, 0);
  if (overlap(codes, values) || overlap(scales, values) || overlap(codes, weights) ||
      overlap(scales, weights) || overlap(codes, scales))
    return fail(MXG_ERR_OVERLAP, "codes or scales");
  return MXG_OK;
}

mxg_status mxg_gpu_check_dequantize(const mxg_recipe *recipe, const mxg_packed_view *in,
                                    const mxg_matrix *y) {
  size_t bytes = 0;
  region values;
  if (recipe == NULL || in == NULL || y == NULL) return fail(MXG_ERR_NULL, "recipe, in or y");
  const mxg_matrix_view view = view_of(y);
  TRY(check_common(recipe, &view, &in->layout, &bytes));
  TRY(check_packed(in));
  if (y->data == NULL && bytes != 0) return fail(MXG_ERR_NULL, "y");
  TRY(check_capacity(in));
  values = matrix_region(&view, 0, view.cols);
  if (overlap(values, codes_region(in->codes, &in->layout, y->rows)) ||
      overlap(values, scales_region(in->scales, &in->layout, y->rows)))
    return fail(MXG_ERR_OVERLAP, "y");
  return MXG_OK;
}

mxg_status mxg_gpu_check_combine(const mxg_recipe *recipe, const void *const *slots, size_t top_k,
                                 const float *weight, const mxg_layout *layout, size_t col_begin,
                                 size_t col_end, const mxg_matrix *y) {
  size_t bytes = 0, count = 0, slots_bytes = 0;
  region values;
  if (recipe == NULL || layout == NULL || y == NULL)
    return fail(MXG_ERR_NULL, "recipe, layout or y");
  const mxg_matrix_view view = view_of(y);
  TRY(mxg_gpu_check_recipe(recipe));
  if (mxg_dtype_bytes(y->dtype) == 0) return fail(MXG_ERR_TYPE, "y");
  TRY(check_layout(recipe, layout));
  if (layout->placement != MXG_PLACEMENT_SLOT) return fail(MXG_ERR_LAYOUT, "layout");
  if (y->cols != layout->cols || mxg_gpu_stride(y->cols, y->stride_elems) < y->cols)
    return fail(MXG_ERR_SHAPE, "y");
  if (top_k > 64) return fail(MXG_ERR_SHAPE, "top_k");
  if (col_begin > col_end || col_end > y->cols) return fail(MXG_ERR_SHAPE, "columns");
  TRY(matrix_bytes(&view, &bytes));
  if (mxg_size_mul(y->rows, top_k, &count) != MXG_OK ||
      mxg_size_mul(count, sizeof *slots, &slots_bytes) != MXG_OK)
    return fail(MXG_ERR_SIZE, "slots");
  if (slots == NULL && count != 0) return fail(MXG_ERR_NULL, "slots");
  if (y->data == NULL && bytes != 0) return fail(MXG_ERR_NULL, "y");
  values = matrix_region(&view, col_begin, col_end);
  if (overlap(values, region_of(slots, 1, slots_bytes, 0)) ||
      overlap(values, region_of(weight, weight == NULL ? 0 : 1, count * sizeof *weight, 0)))
    return fail(MXG_ERR_OVERLAP, "y");
  return MXG_OK;
}
