/* api.c: quantise, dequantise, combine. Check the arguments, plan, hand the rows over; nothing else.
 *
 * The order of the checks: pointers to structs, recipe (reserved words first), run's reserved
 * words, type, layout, shape, size, pointers to data, capacity, overlap, isa, FP environment.
 * SPDX-License-Identifier: MIT */
#include "internal.h"
#include "overlap.h"

#define TRY(expression)                      \
  do {                                       \
    const mxg_status status_ = (expression); \
    if (status_ != MXG_OK) return status_;   \
  } while (0)

static mxg_matrix_view view_of(const mxg_matrix *m) {
  const mxg_matrix_view view = {m->data, m->dtype, m->rows, m->cols, m->stride_elems};
  return view;
}

static size_t stride_elems(const mxg_matrix_view *m) {
  return m->stride_elems != 0 ? m->stride_elems : m->cols;
}

/* Bytes from the first element of a matrix to its last. */
static mxg_status matrix_bytes(const mxg_matrix_view *m, size_t *bytes) {
  size_t elems = 0;
  TRY(mxg_strided_bytes(m->rows, m->cols, stride_elems(m), &elems));
  return mxg_size_mul(elems, mxg_dtype_bytes(m->dtype), bytes);
}

static mxg_region matrix_region(const mxg_matrix_view *m) {
  const size_t bytes = mxg_dtype_bytes(m->dtype);
  return mxg_region_of(m->data, m->rows, m->cols * bytes, stride_elems(m) * bytes);
}

static mxg_region array_region(const void *start, size_t bytes) {
  return mxg_region_of(start, 1, start == NULL ? 0 : bytes, bytes);
}

/* Live codes, with their scales in slot placement. */
static mxg_region codes_region(const void *codes, const mxg_layout *l, size_t rows) {
  if (l->placement == MXG_PLACEMENT_SLOT)
    return mxg_region_of(codes, rows, l->payload_row_bytes + l->scale_row_bytes,
                         l->slot_stride_bytes);
  return mxg_region_of(codes, rows, l->payload_row_bytes, l->payload_stride_bytes);
}

/* Live scales and, in the padded orders, pads; nothing in slot placement. */
static mxg_region scales_region(const void *scales, const mxg_layout *l, size_t rows) {
  size_t tiles = 0; /* bytes of whole tiles of rows, one after the other */
  if (l->placement == MXG_PLACEMENT_SLOT || l->scale_row_bytes == 0) return array_region(scales, 0);
  if (l->order == MXG_ORDER_ROW_MAJOR)
    return mxg_region_of(scales, rows, l->scale_row_bytes, l->scale_stride_bytes);
  if (l->order == MXG_ORDER_TRANSPOSED)
    return mxg_region_of(scales, l->scale_count, rows * l->scale_bytes, l->rows * l->scale_bytes);
  (void)mxg_scale_matrix_count(l->order, rows, l->scale_count, &tiles); /* fits: the layout did */
  return array_region(scales, tiles);
}

/* ---- checks that quantise and dequantise share ---- */

static mxg_status check_matrix(const mxg_matrix_view *m, const mxg_layout *layout) {
  if (m->cols != layout->cols || m->rows > layout->rows) return MXG_ERR_SHAPE;
  return stride_elems(m) < m->cols ? MXG_ERR_SHAPE : MXG_OK;
}

static mxg_status check_packed(const mxg_packed_view *packed) {
  const mxg_layout *l = &packed->layout;
  if (packed->codes == NULL && l->codes_bytes != 0) return MXG_ERR_NULL;
  if (packed->scales == NULL && l->scales_bytes != 0) return MXG_ERR_NULL;
  return MXG_OK;
}

static mxg_status check_capacity(const mxg_packed_view *packed) {
  const mxg_layout *l = &packed->layout;
  return packed->codes_capacity < l->codes_bytes || packed->scales_capacity < l->scales_bytes
             ? MXG_ERR_CAPACITY
             : MXG_OK;
}

static mxg_status check_fpenv(int needs_default) {
  return needs_default && !mxg_fpenv_is_default() ? MXG_ERR_FENV : MXG_OK;
}

/* What is common to every call: plan, kernel, threads, matrix. */
static void prepare(mxg_call *call, mxg_plan *plan, const mxg_recipe *recipe,
                    mxg_operation operation, const mxg_matrix_view *m, const mxg_layout *layout,
                    const mxg_run *run, int default_fpenv) {
  memset(call, 0, sizeof *call);
  mxg_plan_for(recipe, plan);
  call->plan = plan;
  call->kernel = mxg_kernel_for(recipe, operation, m->dtype, run);
  call->layout = layout;
  call->threads = run == NULL ? 0 : run->threads;
  call->default_fpenv = default_fpenv;
  call->rows = m->rows;
  call->dtype = m->dtype;
  call->value_stride_bytes = stride_elems(m) * mxg_dtype_bytes(m->dtype);
}

/* ---- the calls ---- */

mxg_status mxg_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x, const float *row_weight,
                        const mxg_packed *out, const mxg_run *run) {
  mxg_plan plan;
  mxg_call call;
  mxg_region codes, scales, values, weights;
  size_t bytes = 0, weight_bytes = 0;
  int needs_fpenv;
  if (recipe == NULL || x == NULL || out == NULL) return MXG_ERR_NULL;
  const mxg_packed_view packed = {out->codes, out->codes_capacity, out->scales,
                                  out->scales_capacity, out->layout};
  const mxg_layout *layout = &packed.layout;
  TRY(mxg_check_recipe(recipe));
  TRY(mxg_check_reserved(run));
  if (!mxg_is_dtype(x->dtype)) return MXG_ERR_TYPE;
  TRY(mxg_check_layout(recipe, layout));
  TRY(check_matrix(x, layout));
  TRY(matrix_bytes(x, &bytes));
  if (row_weight != NULL) TRY(mxg_size_mul(x->rows, sizeof(float), &weight_bytes));
  if (x->data == NULL && bytes != 0) return MXG_ERR_NULL;
  TRY(check_packed(&packed));
  TRY(check_capacity(&packed));
  codes = codes_region(out->codes, layout, x->rows);
  scales = scales_region(out->scales, layout, x->rows);
  values = matrix_region(x);
  weights = array_region(row_weight, weight_bytes);
  if (mxg_regions_overlap(codes, values) || mxg_regions_overlap(scales, values) ||
      mxg_regions_overlap(codes, weights) || mxg_regions_overlap(scales, weights) ||
      mxg_regions_overlap(codes, scales))
    return MXG_ERR_OVERLAP;
  TRY(mxg_check_isa(run));
  needs_fpenv = recipe->scale != MXG_SCALE_E8M0 || row_weight != NULL;
  TRY(check_fpenv(needs_fpenv));

  prepare(&call, &plan, recipe, MXG_OPERATION_QUANTIZE, x, layout, run, needs_fpenv);
  call.x = x->data;
  call.row_weight = (const uint8_t *)row_weight;
  call.codes_out = out->codes;
  call.scales_out = out->scales;
  mxg_quantize_rows(&call);
  return MXG_OK;
}

mxg_status mxg_dequantize(const mxg_recipe *recipe, const mxg_packed_view *in, const mxg_matrix *y,
                          const mxg_run *run) {
  mxg_plan plan;
  mxg_call call;
  mxg_region codes, scales, values;
  size_t bytes = 0;
  int needs_fpenv;
  if (recipe == NULL || in == NULL || y == NULL) return MXG_ERR_NULL;
  const mxg_matrix_view view = view_of(y);
  const mxg_layout *layout = &in->layout;
  TRY(mxg_check_recipe(recipe));
  TRY(mxg_check_reserved(run));
  if (!mxg_is_dtype(y->dtype)) return MXG_ERR_TYPE;
  TRY(mxg_check_layout(recipe, layout));
  TRY(check_matrix(&view, layout));
  TRY(matrix_bytes(&view, &bytes));
  TRY(check_packed(in));
  if (y->data == NULL && bytes != 0) return MXG_ERR_NULL;
  TRY(check_capacity(in));
  codes = codes_region(in->codes, layout, y->rows);
  scales = scales_region(in->scales, layout, y->rows);
  values = matrix_region(&view);
  if (mxg_regions_overlap(values, codes) || mxg_regions_overlap(values, scales))
    return MXG_ERR_OVERLAP;
  TRY(mxg_check_isa(run));
  needs_fpenv = recipe->scale != MXG_SCALE_E8M0;
  TRY(check_fpenv(needs_fpenv));

  prepare(&call, &plan, recipe, MXG_OPERATION_DEQUANTIZE, &view, layout, run, needs_fpenv);
  call.codes_in = in->codes;
  call.scales_in = in->scales;
  call.y = y->data;
  mxg_dequantize_rows(&call);
  return MXG_OK;
}

/* y must be apart from the pointers, the weights and every slot that is there. */
static mxg_status check_combine_overlap(const mxg_region *y, const void *const *slots,
                                        size_t slot_count, const float *weight,
                                        const mxg_layout *layout) {
  const mxg_region pointers = array_region(slots, slot_count * sizeof *slots);
  const mxg_region weights = array_region(weight, slot_count * sizeof *weight);
  if (mxg_regions_overlap(*y, pointers) || mxg_regions_overlap(*y, weights)) return MXG_ERR_OVERLAP;
  if (y->row_bytes == 0) return MXG_OK;
  for (size_t i = 0; i < slot_count; i++) {
    mxg_region slot;
    const void *start;
    memcpy(&start, (const uint8_t *)slots + i * sizeof start, sizeof start);
    slot = array_region(start, layout->payload_row_bytes + layout->scale_row_bytes);
    if (mxg_regions_overlap(*y, slot)) return MXG_ERR_OVERLAP;
  }
  return MXG_OK;
}

mxg_status mxg_combine(const mxg_recipe *recipe, const void *const *slots, size_t top_k,
                       const float *weight, const mxg_layout *layout, size_t col_begin,
                       size_t col_end, const mxg_matrix *y, const mxg_run *run) {
  mxg_plan plan;
  mxg_call call;
  mxg_region values;
  size_t bytes = 0, slot_count = 0, slots_bytes = 0;
  if (recipe == NULL || layout == NULL || y == NULL) return MXG_ERR_NULL;
  const mxg_matrix_view view = view_of(y);
  TRY(mxg_check_recipe(recipe));
  TRY(mxg_check_reserved(run));
  if (!mxg_is_dtype(y->dtype)) return MXG_ERR_TYPE;
  TRY(mxg_check_layout(recipe, layout));
  if (layout->placement != MXG_PLACEMENT_SLOT) return MXG_ERR_LAYOUT;
  if (y->cols != layout->cols || stride_elems(&view) < y->cols) return MXG_ERR_SHAPE;
  if (top_k > MXG_MAX_TOP_K || col_begin > col_end || col_end > y->cols) return MXG_ERR_SHAPE;
  TRY(matrix_bytes(&view, &bytes));
  TRY(mxg_size_mul(y->rows, top_k, &slot_count));
  TRY(mxg_size_mul(slot_count, sizeof *slots, &slots_bytes));
  if (slots == NULL && slot_count != 0) return MXG_ERR_NULL;
  if (y->data == NULL && bytes != 0) return MXG_ERR_NULL;
  values = matrix_region(&view);
  values.row_bytes = (col_end - col_begin) * mxg_dtype_bytes(y->dtype);
  values.base += col_begin * mxg_dtype_bytes(y->dtype);
  TRY(check_combine_overlap(&values, slots, slot_count, weight, layout));
  TRY(mxg_check_isa(run));
  TRY(check_fpenv(1));

  prepare(&call, &plan, recipe, MXG_OPERATION_COMBINE, &view, layout, run, 1);
  call.y = y->data;
  call.slots = (const uint8_t *)slots;
  call.weight = (const uint8_t *)weight;
  call.top_k = top_k;
  call.col_begin = col_begin;
  call.col_end = col_end;
  mxg_combine_rows(&call);
  return MXG_OK;
}
