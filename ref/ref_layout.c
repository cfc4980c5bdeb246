/* ref_layout.c: docs/LAYOUT.md: sizes, scale orders, weight-side orders.
 * Names follow its formulas: x is a row, y a scale column, N the number of scale columns.
 * SPDX-License-Identifier: MIT */
#include "ref.h"

#include <string.h>

/* ---- checked sizes ---- */

bool mxg_ref_internal_size_multiply(size_t a, size_t b, size_t *out) {
  if (b != 0 && a > SIZE_MAX / b) return false;
  *out = a * b;
  return true;
}

bool mxg_ref_internal_size_add(size_t a, size_t b, size_t *out) {
  if (a > SIZE_MAX - b) return false;
  *out = a + b;
  return true;
}

/* The last row needs no stride; rows of nothing need nothing. */
bool mxg_ref_internal_size_strided(size_t rows, size_t row_bytes, size_t stride, size_t *out) {
  size_t bytes = 0;
  if (rows != 0 && row_bytes != 0 &&
      !(mxg_ref_internal_size_multiply(rows - 1, stride, &bytes) &&
        mxg_ref_internal_size_add(bytes, row_bytes, &bytes)))
    return false;
  *out = bytes;
  return true;
}

static size_t ceil_div(size_t a, size_t b) {
  return a == 0 ? 0 : (a - 1) / b + 1;
}

/* ---- scale orders ---- */

/* Multiples that the padded orders round rows and scale columns up to. */
static size_t row_unit(mxg_scale_order order) {
  return order == MXG_ORDER_AITER_SHUFFLE ? 256 : order == MXG_ORDER_BLOCKED_128X4 ? 128 : 1;
}
static size_t col_unit(mxg_scale_order order) {
  return order == MXG_ORDER_AITER_SHUFFLE ? 8 : order == MXG_ORDER_BLOCKED_128X4 ? 4 : 1;
}

size_t mxg_ref_internal_padded_rows(const mxg_layout *layout, size_t rows) {
  return ceil_div(rows, row_unit(layout->order)) * row_unit(layout->order);
}

size_t mxg_ref_internal_padded_cols(const mxg_layout *layout) {
  return ceil_div(layout->scale_count, col_unit(layout->order)) * col_unit(layout->order);
}

size_t mxg_ref_internal_scale_offset(const mxg_layout *layout, size_t row, size_t y) {
  const size_t x = row, N = layout->scale_count;
  if (layout->placement == MXG_PLACEMENT_SLOT)
    return x * layout->slot_stride_bytes + layout->scale_offset_bytes + y * layout->scale_bytes;
  switch (layout->order) {
    case MXG_ORDER_ROW_MAJOR: return x * layout->scale_stride_bytes + y * layout->scale_bytes;
    case MXG_ORDER_TRANSPOSED: return (y * layout->rows + x) * layout->scale_bytes;
    case MXG_ORDER_AITER_SHUFFLE: {
      const size_t Np = ceil_div(N, 8) * 8;
      return (x / 32 * Np) * 32 + (y / 8) * 256 + (y % 4) * 64 + (x % 16) * 4 + ((y % 8) / 4) * 2 +
             (x % 32) / 16;
    }
    case MXG_ORDER_BLOCKED_128X4: break;
  }
  return ((x / 128) * ceil_div(N, 4) + y / 4) * 512 + (x % 32) * 16 + ((x % 128) / 32) * 4 + y % 4;
}

/* Every place of the padded matrix that belongs to no live row or to no scale column. */
void mxg_ref_internal_write_pads(const mxg_layout *layout, void *scales, size_t rows) {
  uint8_t *bytes = scales;
  const size_t padded_rows = mxg_ref_internal_padded_rows(layout, rows);
  const size_t padded_cols = mxg_ref_internal_padded_cols(layout);
  if (layout->placement == MXG_PLACEMENT_SLOT || padded_cols == 0) return;
  for (size_t x = 0; x < padded_rows; ++x)
    for (size_t y = x < rows ? layout->scale_count : 0; y < padded_cols; ++y)
      bytes[mxg_ref_internal_scale_offset(layout, x, y)] = (uint8_t)layout->pad_byte;
}

/* Callers have seen that the bytes of one row fit size_t. */
bool mxg_ref_internal_scales_bytes(const mxg_layout *layout, size_t *out) {
  if (layout->order == MXG_ORDER_ROW_MAJOR) {
    const size_t row_bytes = layout->scale_count * layout->scale_bytes;
    return mxg_ref_internal_size_strided(layout->rows, row_bytes, layout->scale_stride_bytes, out);
  }
  size_t rows = 0, cols = 0, count = 0;
  const size_t row_tiles = ceil_div(layout->rows, row_unit(layout->order));
  const size_t col_tiles = ceil_div(layout->scale_count, col_unit(layout->order));
  return mxg_ref_internal_size_multiply(row_tiles, row_unit(layout->order), &rows) &&
         mxg_ref_internal_size_multiply(col_tiles, col_unit(layout->order), &cols) &&
         mxg_ref_internal_size_multiply(rows, cols, &count) &&
         mxg_ref_internal_size_multiply(count, layout->scale_bytes, out);
}

/* ---- layout_for ---- */

/* Do the options belong to the placement, the order and the kind of scale? */
static bool options_fit(const mxg_recipe *recipe, const mxg_layout_options *options) {
  if (options->pad_byte > 0xFF) return false;
  switch (options->placement) {
    case MXG_PLACEMENT_SEPARATE:
      if (options->slot_weights != 0 || options->slot_stride_bytes != 0) return false;
      break;
    case MXG_PLACEMENT_SLOT:
      if (options->order != MXG_ORDER_ROW_MAJOR || options->pad_byte != 0 ||
          options->payload_stride_bytes != 0 || options->scale_stride_bytes != 0)
        return false;
      break;
    default: return false;
  }
  if (options->order != MXG_ORDER_ROW_MAJOR && options->scale_stride_bytes != 0) return false;
  if (recipe->scale == MXG_SCALE_NONE && options->scale_count != 0) return false;
  switch (options->order) {
    case MXG_ORDER_ROW_MAJOR:
    case MXG_ORDER_TRANSPOSED: return true;
    case MXG_ORDER_AITER_SHUFFLE:
    case MXG_ORDER_BLOCKED_128X4: return recipe->scale == MXG_SCALE_E8M0;
  }
  return false;
}

mxg_status mxg_ref_layout_for(const mxg_recipe *recipe, size_t rows, size_t cols,
                              const mxg_layout_options *options, mxg_layout *out) {
  static const mxg_layout_options dense = {
      MXG_PLACEMENT_SEPARATE, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0}};
  if (recipe == NULL || out == NULL) return MXG_ERR_NULL;
  const mxg_status status = mxg_ref_internal_check_recipe(recipe);
  if (status != MXG_OK) return status;
  if (options == NULL) options = &dense;
  for (size_t i = 0; i < sizeof options->reserved / sizeof options->reserved[0]; ++i)
    if (options->reserved[i] != 0) return MXG_ERR_RESERVED;
  if (!options_fit(recipe, options)) return MXG_ERR_LAYOUT;

  mxg_layout layout;
  memset(&layout, 0, sizeof layout);
  layout.rows = rows;
  layout.cols = cols;
  layout.placement = options->placement;
  layout.order = options->order;
  layout.pad_byte = options->pad_byte;
  layout.slot_weights = options->slot_weights;
  layout.scale_bytes = recipe->scale == MXG_SCALE_E8M0 ? 1 : recipe->scale == MXG_SCALE_F32 ? 4 : 0;
  layout.scales_used = recipe->scale == MXG_SCALE_NONE ? 0 : ceil_div(cols, recipe->block);
  layout.scale_count = options->scale_count != 0 ? options->scale_count : layout.scales_used;
  if (layout.scale_count < layout.scales_used) return MXG_ERR_LAYOUT;

  size_t weights_bytes = 0;
  layout.payload_row_bytes =
      mxg_ref_internal_row_bytes(mxg_ref_internal_format(recipe->element), cols);
  if (!mxg_ref_internal_size_multiply(layout.scale_count, layout.scale_bytes,
                                      &layout.scale_row_bytes) ||
      !mxg_ref_internal_size_multiply(layout.slot_weights, 4, &weights_bytes) ||
      !mxg_ref_internal_size_add(layout.payload_row_bytes, layout.scale_row_bytes,
                                 &layout.slot_bytes) ||
      !mxg_ref_internal_size_add(layout.slot_bytes, weights_bytes, &layout.slot_bytes))
    return MXG_ERR_SIZE;

  if (layout.placement == MXG_PLACEMENT_SLOT) {
    layout.slot_stride_bytes =
        options->slot_stride_bytes != 0 ? options->slot_stride_bytes : layout.slot_bytes;
    if (layout.slot_stride_bytes < layout.slot_bytes) return MXG_ERR_LAYOUT;
    layout.scale_offset_bytes = layout.payload_row_bytes;
    layout.weight_offset_bytes = layout.payload_row_bytes + layout.scale_row_bytes;
    if (!mxg_ref_internal_size_strided(rows, layout.slot_bytes, layout.slot_stride_bytes,
                                       &layout.codes_bytes))
      return MXG_ERR_SIZE;
  } else {
    layout.payload_stride_bytes = options->payload_stride_bytes != 0 ? options->payload_stride_bytes
                                                                     : layout.payload_row_bytes;
    if (layout.payload_stride_bytes < layout.payload_row_bytes) return MXG_ERR_LAYOUT;
    if (layout.order == MXG_ORDER_ROW_MAJOR) {
      layout.scale_stride_bytes =
          options->scale_stride_bytes != 0 ? options->scale_stride_bytes : layout.scale_row_bytes;
      if (layout.scale_stride_bytes < layout.scale_row_bytes) return MXG_ERR_LAYOUT;
    }
    if (!mxg_ref_internal_size_strided(rows, layout.payload_row_bytes, layout.payload_stride_bytes,
                                       &layout.codes_bytes) ||
        !mxg_ref_internal_scales_bytes(&layout, &layout.scales_bytes))
      return MXG_ERR_SIZE;
  }
  *out = layout;
  return MXG_OK;
}

/* ---- reorders ---- */

mxg_status mxg_ref_scales_reorder(const mxg_layout *from, const void *src, size_t src_capacity,
                                  const mxg_layout *to, void *dst, size_t dst_capacity,
                                  size_t rows) {
  const mxg_status status =
      mxg_ref_internal_check_reorder(from, src, src_capacity, to, dst, dst_capacity, rows);
  if (status != MXG_OK || from->scale_row_bytes == 0) return status;
  for (size_t x = 0; x < rows; ++x)
    for (size_t y = 0; y < from->scale_count; ++y)
      memcpy((uint8_t *)dst + mxg_ref_internal_scale_offset(to, x, y),
             (const uint8_t *)src + mxg_ref_internal_scale_offset(from, x, y), from->scale_bytes);
  mxg_ref_internal_write_pads(to, dst, rows);
  return MXG_OK;
}

/* Rows in whole 16-row tiles; src and dst of experts * halves * rows * row_bytes bytes. */
static mxg_status ref_check_weights(size_t experts, size_t halves, size_t rows, size_t row_bytes,
                                    size_t unit_bytes, const void *src, const void *dst) {
  size_t total = 0;
  if (rows % 16 != 0 || row_bytes % unit_bytes != 0) return MXG_ERR_SHAPE;
  if (experts != 0 && !(mxg_ref_internal_size_multiply(rows, row_bytes, &total) &&
                        mxg_ref_internal_size_multiply(total, halves, &total) &&
                        mxg_ref_internal_size_multiply(total, experts, &total)))
    return MXG_ERR_SIZE;
  return mxg_ref_internal_check_array(src, 1, dst, 1, total, false);
}

/* The view (rows/16, 16, row_bytes/16, 16) permuted to (0, 2, 1, 3), a byte at a time. */
static void permute_tiles(size_t rows, size_t row_bytes, bool forward, const uint8_t *src,
                          uint8_t *dst) {
  const size_t tiles = rows / 16, groups = row_bytes / 16;
  if (groups == 0) return;
  for (size_t tile = 0; tile < tiles; ++tile)
    for (size_t row = 0; row < 16; ++row)
      for (size_t group = 0; group < groups; ++group)
        for (size_t byte = 0; byte < 16; ++byte) {
          const size_t plain = ((tile * 16 + row) * groups + group) * 16 + byte;
          const size_t shuffled = ((tile * groups + group) * 16 + row) * 16 + byte;
          if (forward)
            dst[shuffled] = src[plain];
          else
            dst[plain] = src[shuffled];
        }
}

mxg_status mxg_ref_weight_shuffle(size_t rows, size_t row_bytes, const void *src, void *dst) {
  const mxg_status status = ref_check_weights(1, 1, rows, row_bytes, 16, src, dst);
  if (status == MXG_OK) permute_tiles(rows, row_bytes, true, src, dst);
  return status;
}

mxg_status mxg_ref_weight_unshuffle(size_t rows, size_t row_bytes, const void *src, void *dst) {
  const mxg_status status = ref_check_weights(1, 1, rows, row_bytes, 16, src, dst);
  if (status == MXG_OK) permute_tiles(rows, row_bytes, false, src, dst);
  return status;
}

/* The view (E, 2, N0, 16, K0, 4, 16) permuted to (0, 2, 1, 4, 5, 3, 6), a byte at a time:
 * N0 = rows/16 of one half, K0 = row_bytes/64. */
static void permute_gate_up(size_t experts, size_t rows, size_t row_bytes, bool forward,
                            const uint8_t *src, uint8_t *dst) {
  const size_t N0 = rows / 16, K0 = row_bytes / 64;
  if (N0 == 0 || K0 == 0) return;
  for (size_t e = 0; e < experts; ++e)
    for (size_t half = 0; half < 2; ++half)
      for (size_t n = 0; n < N0; ++n)
        for (size_t row = 0; row < 16; ++row)
          for (size_t k = 0; k < K0; ++k)
            for (size_t quarter = 0; quarter < 4; ++quarter)
              for (size_t byte = 0; byte < 16; ++byte) {
                const size_t separate =
                    (((((e * 2 + half) * N0 + n) * 16 + row) * K0 + k) * 4 + quarter) * 16 + byte;
                const size_t interleaved =
                    (((((e * N0 + n) * 2 + half) * K0 + k) * 4 + quarter) * 16 + row) * 16 + byte;
                if (forward)
                  dst[interleaved] = src[separate];
                else
                  dst[separate] = src[interleaved];
              }
}

static mxg_status gate_up(size_t experts, size_t rows, size_t row_bytes, bool forward,
                          const void *src, void *dst) {
  const mxg_status status = ref_check_weights(experts, 2, rows, row_bytes, 64, src, dst);
  if (status == MXG_OK) permute_gate_up(experts, rows, row_bytes, forward, src, dst);
  return status;
}

mxg_status mxg_ref_gate_up_interleave(size_t experts, size_t rows, size_t row_bytes,
                                      const void *src, void *dst) {
  return gate_up(experts, rows, row_bytes, true, src, dst);
}

mxg_status mxg_ref_gate_up_separate(size_t experts, size_t rows, size_t row_bytes, const void *src,
                                    void *dst) {
  return gate_up(experts, rows, row_bytes, false, src, dst);
}
