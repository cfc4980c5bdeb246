/* ref_combine.c: section 6: the weighted sum of decoded slots, in ascending k, each step rounded as
 * the recipe says.
 * SPDX-License-Identifier: MIT */
#include "ref.h"

/* fl(a * b), fl(a + b) and fma(a, b, c): one rounding of the exact result. */
static ref_number multiply(ref_number a, ref_number b) {
  return mxg_ref_internal_fl(mxg_ref_internal_multiply(a, b));
}

static ref_number add(ref_number a, ref_number b) {
  return mxg_ref_internal_fl(mxg_ref_internal_add(a, b));
}

static ref_number fused(ref_number a, ref_number b, ref_number c) {
  return mxg_ref_internal_fl(mxg_ref_internal_add(mxg_ref_internal_multiply(a, b), c));
}

/* acc plus a * b, by `accumulate`. */
static ref_number ref_accumulate(const mxg_recipe *recipe, ref_number a, ref_number b,
                                 ref_number acc) {
  if (recipe->accumulate == MXG_ACCUMULATE_FMA) return fused(a, b, acc);
  return add(acc, multiply(a, b));
}

/* One source's term added to acc; weight is NULL in an unweighted combine. */
static ref_number add_source(const ref_row *source, size_t col, const ref_number *weight,
                             ref_number acc) {
  const mxg_recipe *recipe = source->recipe;
  const ref_number t = mxg_ref_internal_row_element(source, col);
  if (!source->scaled)
    return weight != NULL ? ref_accumulate(recipe, t, *weight, acc) : add(acc, t);
  const ref_number s = mxg_ref_internal_row_scale(source, col);
  if (weight == NULL) return ref_accumulate(recipe, t, s, acc);
  return ref_accumulate(recipe, multiply(t, s), *weight, acc);
}

mxg_status mxg_ref_combine(const mxg_recipe *recipe, const void *const *slots, size_t top_k,
                           const float *weight, const mxg_layout *layout, size_t col_begin,
                           size_t col_end, const mxg_matrix *y, const mxg_run *run) {
  const mxg_status status = mxg_ref_internal_check_combine(recipe, slots, top_k, weight, layout,
                                                           col_begin, col_end, y, run);
  if (status != MXG_OK) return status;
  const size_t value_bytes = mxg_ref_internal_dtype_bytes(y->dtype);
  const size_t stride_elems = y->stride_elems != 0 ? y->stride_elems : y->cols;

  if (col_begin == col_end) return MXG_OK; /* pointers may be NULL */
  for (size_t row = 0; row < y->rows; ++row) {
    uint8_t *values = (uint8_t *)y->data + row * stride_elems * value_bytes;
    for (size_t col = col_begin; col < col_end; ++col) {
      ref_number acc = {0, 0, false, false, false};
      for (size_t k = 0; k < top_k; ++k) {
        const void *slot = mxg_ref_internal_load_pointer(slots, row * top_k + k);
        if (slot == NULL) continue; /* missing */
        const ref_row source = mxg_ref_internal_row(recipe, layout, slot, slot, 0);
        if (weight == NULL) {
          acc = add_source(&source, col, NULL, acc);
        } else {
          const ref_number w = mxg_ref_internal_load(MXG_DTYPE_F32, weight, row * top_k + k);
          acc = add_source(&source, col, &w, acc);
        }
      }
      mxg_ref_internal_store(y->dtype, values, col, acc);
    }
  }
  return MXG_OK;
}
