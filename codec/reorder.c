/* reorder.c: scale matrices from one order to another, and the weight-side orders of FP4
 * (docs/LAYOUT.md). Bytes are moved, never read as numbers.
 * SPDX-License-Identifier: MIT */
#include "mxgold.h"
#include "overlap.h"

#include <string.h>

/* ---- scale matrices ---- */

/* A scale matrix of which the first `live` rows move. */
typedef struct scale_matrix {
  const mxg_layout *layout;
  size_t padded_rows, padded_cols; /* the pads of these rows included; rows and cols where there
                                      are none */
  mxg_region region;               /* the bytes that live rows and their pads occupy */
} scale_matrix;

/* Could mxg_layout_for() have made the part of a layout that describes its scale matrix? */
static int is_scale_matrix(const mxg_layout *l) {
  size_t bytes = 0;
  if (l->placement != MXG_PLACEMENT_SEPARATE || l->pad_byte > 0xFF || l->reserved != 0) return 0;
  if (l->scale_bytes != 1 && l->scale_bytes != 4 && (l->scale_bytes != 0 || l->scale_count != 0))
    return 0;
  if (mxg_size_mul(l->scale_count, l->scale_bytes, &bytes) != MXG_OK) return 0;
  if (l->scale_row_bytes != bytes) return 0;
  switch (l->order) {
    case MXG_ORDER_ROW_MAJOR:
      if (l->scale_stride_bytes < bytes) return 0;
      if (mxg_strided_bytes(l->rows, bytes, l->scale_stride_bytes, &bytes) != MXG_OK) return 0;
      break;
    case MXG_ORDER_AITER_SHUFFLE:
    case MXG_ORDER_BLOCKED_128X4:
      if (l->scale_bytes != 1) return 0;
      /* fall through */
    case MXG_ORDER_TRANSPOSED:
      if (l->scale_stride_bytes != 0) return 0;
      if (mxg_scale_matrix_count(l->order, l->rows, l->scale_count, &bytes) != MXG_OK) return 0;
      if (mxg_size_mul(bytes, l->scale_bytes, &bytes) != MXG_OK) return 0;
      break;
    default: return 0;
  }
  return l->scales_bytes == bytes;
}

/* `live` <= layout->rows of a layout that is_scale_matrix() passed, so nothing below overflows. */
static scale_matrix scale_matrix_of(const mxg_layout *layout, const void *base, size_t live) {
  const size_t tile_rows = mxg_order_tile_rows(layout->order);
  const size_t tile_cols = mxg_order_tile_cols(layout->order);
  const size_t one = layout->scale_bytes;
  scale_matrix s;
  s.layout = layout;
  s.padded_rows = mxg_size_ceil_div(live, tile_rows) * tile_rows;
  s.padded_cols = mxg_size_ceil_div(layout->scale_count, tile_cols) * tile_cols;
  if (layout->order == MXG_ORDER_ROW_MAJOR)
    s.region = mxg_region_of(base, live, layout->scale_row_bytes, layout->scale_stride_bytes);
  else if (layout->order == MXG_ORDER_TRANSPOSED)
    s.region = mxg_region_of(base, layout->scale_count, live * one, layout->rows * one);
  else /* tiles of all columns follow each other */
    s.region = mxg_region_of(base, 1, s.padded_rows * s.padded_cols, 0);
  return s;
}

static size_t matrix_offset(const scale_matrix *s, size_t row, size_t col) {
  const mxg_layout *l = s->layout;
  if (l->order == MXG_ORDER_ROW_MAJOR) return row * l->scale_stride_bytes + col * l->scale_bytes;
  return mxg_scale_index(l->order, l->rows, l->scale_count, row, col) * l->scale_bytes;
}

mxg_status mxg_scales_reorder(const mxg_layout *from, const void *src, size_t src_capacity,
                              const mxg_layout *to, void *dst, size_t dst_capacity, size_t rows) {
  if (from == NULL || to == NULL) return MXG_ERR_NULL;
  if (!is_scale_matrix(from) || !is_scale_matrix(to) || from->scale_bytes != to->scale_bytes)
    return MXG_ERR_LAYOUT;
  if (from->rows != to->rows || from->scale_count != to->scale_count || rows > from->rows)
    return MXG_ERR_SHAPE;
  if ((src == NULL && from->scales_bytes != 0) || (dst == NULL && to->scales_bytes != 0))
    return MXG_ERR_NULL;
  if (src_capacity < from->scales_bytes || dst_capacity < to->scales_bytes) return MXG_ERR_CAPACITY;
  if (rows == 0 || to->scale_count == 0) return MXG_OK;
  const scale_matrix in = scale_matrix_of(from, src, rows), out = scale_matrix_of(to, dst, rows);
  if (mxg_regions_overlap(in.region, out.region)) return MXG_ERR_OVERLAP;

  const char *const source = src;
  char *const target = dst;
  const size_t scale_bytes = to->scale_bytes;
  for (size_t row = 0; row < out.padded_rows; row++)
    for (size_t col = 0; col < out.padded_cols; col++) {
      char *const scale = target + matrix_offset(&out, row, col);
      if (row < rows && col < to->scale_count)
        /* NOLINTNEXTLINE(*-core.NonNullParamChecker): there are scales, so there are bytes */
        memcpy(scale, source + matrix_offset(&in, row, col), scale_bytes);
      else /* only orders of one-byte scales have pads */
        *scale = (char)to->pad_byte;
    }
  return MXG_OK;
}

/* ---- weights ---- */

enum {
  TILE_ROWS = 16,
  GROUP_BYTES = 16, /* 32 FP4 elements */
  GATE_UP_BYTES = 64
};

/* One tile of 16 rows: in the plain order a row's groups follow each other, in the tiled order the
 * 16 rows of one group do. */
static void tile_shuffle(const char *plain, char *tiled, size_t row_bytes) {
  for (size_t row = 0; row < TILE_ROWS; row++)
    for (size_t group = 0; group < row_bytes / GROUP_BYTES; group++)
      memcpy(tiled + (group * TILE_ROWS + row) * GROUP_BYTES,
             plain + row * row_bytes + group * GROUP_BYTES, GROUP_BYTES);
}

static void tile_unshuffle(const char *tiled, char *plain, size_t row_bytes) {
  for (size_t row = 0; row < TILE_ROWS; row++)
    for (size_t group = 0; group < row_bytes / GROUP_BYTES; group++)
      memcpy(plain + row * row_bytes + group * GROUP_BYTES,
             tiled + (group * TILE_ROWS + row) * GROUP_BYTES, GROUP_BYTES);
}

/* *bytes of either buffer, which hold experts * matrices * rows * row_bytes. */
static mxg_status check_weights(size_t experts, size_t matrices, size_t rows, size_t row_bytes,
                                size_t row_unit_bytes, const void *src, const void *dst,
                                size_t *bytes) {
  *bytes = 0;
  if (rows % TILE_ROWS != 0 || row_bytes % row_unit_bytes != 0) return MXG_ERR_SHAPE;
  if (experts == 0 || rows == 0 || row_bytes == 0) return MXG_OK;
  if (mxg_size_mul(experts, matrices, bytes) != MXG_OK ||
      mxg_size_mul(*bytes, rows, bytes) != MXG_OK ||
      mxg_size_mul(*bytes, row_bytes, bytes) != MXG_OK)
    return MXG_ERR_SIZE;
  if (src == NULL || dst == NULL) return MXG_ERR_NULL;
  const mxg_region in = mxg_region_of(src, 1, *bytes, 0), out = mxg_region_of(dst, 1, *bytes, 0);
  return mxg_regions_overlap(in, out) ? MXG_ERR_OVERLAP : MXG_OK;
}

mxg_status mxg_weight_shuffle(size_t rows, size_t row_bytes, const void *src, void *dst) {
  size_t bytes = 0;
  const mxg_status status = check_weights(1, 1, rows, row_bytes, GROUP_BYTES, src, dst, &bytes);
  if (status != MXG_OK) return status;
  for (size_t at = 0; at < bytes; at += TILE_ROWS * row_bytes)
    tile_shuffle((const char *)src + at, (char *)dst + at, row_bytes);
  return MXG_OK;
}

mxg_status mxg_weight_unshuffle(size_t rows, size_t row_bytes, const void *src, void *dst) {
  size_t bytes = 0;
  const mxg_status status = check_weights(1, 1, rows, row_bytes, GROUP_BYTES, src, dst, &bytes);
  if (status != MXG_OK) return status;
  for (size_t at = 0; at < bytes; at += TILE_ROWS * row_bytes)
    tile_unshuffle((const char *)src + at, (char *)dst + at, row_bytes);
  return MXG_OK;
}

/* Where tile number i of the separated order, experts x [gate, up] x tiles, is interleaved. */
static size_t woven_tile(size_t i, size_t tiles) {
  const size_t expert = i / (2 * tiles), up = i / tiles % 2, tile = i % tiles;
  return (expert * tiles + tile) * 2 + up;
}

mxg_status mxg_gate_up_interleave(size_t experts, size_t rows, size_t row_bytes, const void *src,
                                  void *dst) {
  size_t bytes = 0;
  const mxg_status status =
      check_weights(experts, 2, rows, row_bytes, GATE_UP_BYTES, src, dst, &bytes);
  if (status != MXG_OK || bytes == 0) return status;
  const size_t tile_bytes = TILE_ROWS * row_bytes;
  for (size_t i = 0; i < bytes / tile_bytes; i++)
    tile_shuffle((const char *)src + i * tile_bytes,
                 (char *)dst + woven_tile(i, rows / TILE_ROWS) * tile_bytes, row_bytes);
  return MXG_OK;
}

mxg_status mxg_gate_up_separate(size_t experts, size_t rows, size_t row_bytes, const void *src,
                                void *dst) {
  size_t bytes = 0;
  const mxg_status status =
      check_weights(experts, 2, rows, row_bytes, GATE_UP_BYTES, src, dst, &bytes);
  if (status != MXG_OK || bytes == 0) return status;
  const size_t tile_bytes = TILE_ROWS * row_bytes;
  for (size_t i = 0; i < bytes / tile_bytes; i++)
    tile_unshuffle((const char *)src + woven_tile(i, rows / TILE_ROWS) * tile_bytes,
                   (char *)dst + i * tile_bytes, row_bytes);
  return MXG_OK;
}
