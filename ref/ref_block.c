/* ref_block.c: section 3, and the quantise and dequantise of sections 2 to 5: every block in three
 * passes, amax, scale, codes.
 * SPDX-License-Identifier: MIT */
#include "ref.h"

#include <string.h>

/* ---- quantise ---- */

/* One row of the source. */
typedef struct ref_source {
  mxg_dtype dtype;
  const uint8_t *values;
  bool weighted;
  ref_number weight;
} ref_source;

/* Section 3: x, or fl(x*w) where there is a row weight. */
static ref_number source_value(const ref_source *source, size_t col) {
  const ref_number x = mxg_ref_internal_load(source->dtype, source->values, col);
  if (!source->weighted) return x;
  return mxg_ref_internal_fl(mxg_ref_internal_multiply(x, source->weight));
}

/* Section 3: max |x| over columns [begin, end), starting at amax_floor. */
static ref_number block_amax(const mxg_recipe *recipe, const ref_source *source, size_t begin,
                             size_t end) {
  ref_number amax = mxg_ref_internal_load(MXG_DTYPE_F32, &recipe->amax_floor, 0);
  for (size_t col = begin; col < end; ++col) {
    ref_number x = source_value(source, col);
    x.negative = false;
    if (x.nan) {
      if (recipe->nan_amax == MXG_NAN_AMAX_PROPAGATE) return x;
    } else if (mxg_ref_internal_compare(x, amax) > 0) {
      amax = x;
    }
  }
  return amax;
}

/* Section 2.4: a NaN's sign is that of the source element, before the row weight. */
static void put_element(const ref_plan *plan, const ref_source *source, uint8_t *codes, size_t col,
                        ref_number v) {
  const ref_number x = mxg_ref_internal_load(source->dtype, source->values, col);
  mxg_ref_internal_put_code(plan->format, codes, col, mxg_ref_internal_encode(plan, v, x.negative));
}

/* f32 scales in packed buffers are little-endian, and every NaN is canonical. */
static void put_f32(uint8_t *at, uint32_t bits) {
  for (int i = 0; i < 4; ++i) at[i] = (uint8_t)(bits >> 8 * i);
}

static uint32_t get_f32(const uint8_t *at) {
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits |= (uint32_t)at[i] << 8 * i;
  return bits;
}

static ref_number number_of(float value) {
  return mxg_ref_internal_load(MXG_DTYPE_F32, &value, 0);
}

/* Section 4. */
static void quantize_block_e8m0(const ref_plan *plan, const ref_source *source, size_t begin,
                                size_t end, uint8_t *codes, uint8_t *scale) {
  const ref_number amax = block_amax(plan->recipe, source, begin, end);
  const uint32_t byte = mxg_ref_internal_e8m0_from_amax(plan, amax);
  for (size_t col = begin; col < end; ++col) {
    const ref_number x = source_value(source, col);
    put_element(plan, source, codes, col,
                mxg_ref_internal_e8m0_apply(plan->recipe->edges, byte, x));
  }
  *scale = (uint8_t)byte;
}

/* Section 5. Returns whether the block was scaled. */
static bool quantize_block_f32(const ref_plan *plan, const ref_source *source, size_t begin,
                               size_t end, uint8_t *codes, uint8_t *scale) {
  const float amax = mxg_ref_internal_to_float(block_amax(plan->recipe, source, begin, end));
  const bool scaled = mxg_ref_internal_f32_is_scaled(plan, amax);
  const float s = scaled ? mxg_ref_internal_f32_scale(plan, amax) : 1.0f;
  for (size_t col = begin; col < end; ++col) {
    const ref_number x = source_value(source, col);
    ref_number v = x;
    if (scaled)
      v = number_of(mxg_ref_internal_f32_apply(plan, amax, s, mxg_ref_internal_to_float(x)));
    put_element(plan, source, codes, col, v);
  }
  put_f32(scale, mxg_ref_internal_to_bits(MXG_DTYPE_F32, number_of(s)));
  return scaled;
}

static void ref_quantize_row(const ref_plan *plan, const ref_source *source,
                             const mxg_layout *layout, size_t row, uint8_t *codes,
                             uint8_t *scales) {
  const mxg_recipe *recipe = plan->recipe;
  for (size_t i = 0; i < mxg_ref_internal_row_bytes(plan->format, layout->cols); ++i) codes[i] = 0;

  if (recipe->scale == MXG_SCALE_NONE) { /* the direct cast */
    for (size_t col = 0; col < layout->cols; ++col)
      put_element(plan, source, codes, col, source_value(source, col));
    return;
  }

  bool any_scaled = false;
  for (size_t y = 0; y < layout->scale_count; ++y) {
    uint8_t *scale = scales + mxg_ref_internal_scale_offset(layout, row, y);
    if (y >= layout->scales_used) { /* stored but unused */
      if (recipe->scale == MXG_SCALE_E8M0)
        *scale = 0;
      else
        put_f32(scale, mxg_ref_internal_to_bits(MXG_DTYPE_F32, number_of(1.0f)));
      continue;
    }
    /* the last block of a row may be short */
    const size_t begin = y * recipe->block;
    const size_t end = layout->cols - begin > recipe->block ? begin + recipe->block : layout->cols;
    if (recipe->scale == MXG_SCALE_E8M0)
      quantize_block_e8m0(plan, source, begin, end, codes, scale);
    else if (quantize_block_f32(plan, source, begin, end, codes, scale))
      any_scaled = true;
  }

  /* Section 5, marker: s[0] stored negated, also a NaN, a zero or the 1 of an unscaled block. */
  const bool marked = recipe->scale == MXG_SCALE_F32 && layout->scales_used > 0 &&
                      (recipe->marker == MXG_MARKER_ALWAYS ||
                       (recipe->marker == MXG_MARKER_IF_SCALED && any_scaled));
  if (marked) {
    uint8_t *scale = scales + mxg_ref_internal_scale_offset(layout, row, 0);
    put_f32(scale, get_f32(scale) ^ 0x80000000u);
  }
}

mxg_status mxg_ref_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x,
                            const float *row_weight, const mxg_packed *out, const mxg_run *run) {
  const mxg_status status = mxg_ref_internal_check_quantize(recipe, x, row_weight, out, run);
  if (status != MXG_OK) return status;
  const mxg_layout *layout = &out->layout;
  const bool slots = layout->placement == MXG_PLACEMENT_SLOT;
  const size_t value_bytes = mxg_ref_internal_dtype_bytes(x->dtype);
  const size_t stride_elems = x->stride_elems != 0 ? x->stride_elems : x->cols;
  const size_t codes_stride = slots ? layout->slot_stride_bytes : layout->payload_stride_bytes;
  uint8_t *codes = out->codes;
  uint8_t *scales = slots ? out->codes : out->scales;
  ref_plan plan;
  mxg_ref_internal_plan(recipe, &plan);

  if (x->cols == 0 && layout->scale_count == 0) return MXG_OK; /* rows of nothing */
  for (size_t row = 0; row < x->rows; ++row) {
    ref_source source = {x->dtype, NULL, row_weight != NULL, {0, 0, false, false, false}};
    uint8_t *row_codes = NULL;
    if (x->cols != 0) { /* else the pointers may be NULL */
      source.values = (const uint8_t *)x->data + row * stride_elems * value_bytes;
      row_codes = codes + row * codes_stride;
    }
    if (source.weighted) source.weight = mxg_ref_internal_load(MXG_DTYPE_F32, row_weight, row);
    ref_quantize_row(&plan, &source, layout, row, row_codes, scales);
  }
  mxg_ref_internal_write_pads(layout, scales, x->rows);
  return MXG_OK;
}

/* ---- dequantise ---- */

static ref_number stored_f32(const ref_row *row, size_t y) {
  const uint8_t *at = row->scales + mxg_ref_internal_scale_offset(row->layout, row->scale_row, y);
  return mxg_ref_internal_from_bits(MXG_DTYPE_F32, get_f32(at));
}

/* s < 0 as a float comparison. */
static bool is_below_zero(ref_number s) {
  return s.negative && !s.nan && !mxg_ref_internal_is_zero(s);
}

ref_row mxg_ref_internal_row(const mxg_recipe *recipe, const mxg_layout *layout, const void *codes,
                             const void *scales, size_t scale_row) {
  ref_row row = {recipe,    mxg_ref_internal_format(recipe->element), layout, codes, scales,
                 scale_row, recipe->scale != MXG_SCALE_NONE /* it has columns, so it has scales */};
  /* Section 5: with a marker, the row is scaled iff s[0] < 0. */
  if (row.scaled && recipe->scale == MXG_SCALE_F32 && recipe->marker != MXG_MARKER_NONE)
    row.scaled = is_below_zero(stored_f32(&row, 0));
  return row;
}

ref_number mxg_ref_internal_row_element(const ref_row *row, size_t col) {
  return mxg_ref_internal_decode(row->format,
                                 mxg_ref_internal_get_code(row->format, row->codes, col));
}

ref_number mxg_ref_internal_row_scale(const ref_row *row, size_t col) {
  const mxg_recipe *recipe = row->recipe;
  const size_t y = col / recipe->block;
  if (recipe->scale == MXG_SCALE_E8M0) {
    const size_t at = mxg_ref_internal_scale_offset(row->layout, row->scale_row, y);
    return mxg_ref_internal_e8m0_value(recipe->edges, row->scales[at]);
  }
  ref_number s = stored_f32(row, y);
  if (recipe->marker != MXG_MARKER_NONE && y == 0) s.negative = false; /* |s[0]| */
  return s;
}

mxg_status mxg_ref_dequantize(const mxg_recipe *recipe, const mxg_packed_view *in,
                              const mxg_matrix *y, const mxg_run *run) {
  const mxg_status status = mxg_ref_internal_check_dequantize(recipe, in, y, run);
  if (status != MXG_OK) return status;
  const mxg_layout *layout = &in->layout;
  const bool slots = layout->placement == MXG_PLACEMENT_SLOT;
  const size_t value_bytes = mxg_ref_internal_dtype_bytes(y->dtype);
  const size_t stride_elems = y->stride_elems != 0 ? y->stride_elems : y->cols;
  const size_t codes_stride = slots ? layout->slot_stride_bytes : layout->payload_stride_bytes;

  if (y->cols == 0) return MXG_OK; /* rows of nothing; pointers may be NULL */
  for (size_t r = 0; r < y->rows; ++r) {
    uint8_t *values = (uint8_t *)y->data + r * stride_elems * value_bytes;
    const uint8_t *codes = (const uint8_t *)in->codes + r * codes_stride;
    const ref_row row =
        mxg_ref_internal_row(recipe, layout, codes, slots ? in->codes : in->scales, r);
    for (size_t col = 0; col < y->cols; ++col) {
      /* fl(element * s), then that to bf16 or f16 */
      ref_number value = mxg_ref_internal_row_element(&row, col);
      if (row.scaled)
        value = mxg_ref_internal_fl(
            mxg_ref_internal_multiply(value, mxg_ref_internal_row_scale(&row, col)));
      mxg_ref_internal_store(y->dtype, values, col, value);
    }
  }
  return MXG_OK;
}
