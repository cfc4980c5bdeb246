/* chunk.c: a matrix in pieces of rows, so that memory does not grow with the file.
 *
 * The padded scale orders store whole tiles of 256 (aiter_shuffle) or 128 (blocked_128x4) rows one
 * after the other, so a piece that begins on a multiple of 256 rows is contiguous in them.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <string.h>

enum { CHUNK_BYTES = 8 << 20, CHUNK_ROWS_MAX = 65536, TILE_ROWS = 256 };

size_t mxg_chunk_rows(const mxg_layout *whole, size_t source_row_bytes) {
  const size_t row_bytes =
      source_row_bytes > whole->slot_bytes ? source_row_bytes : whole->slot_bytes;
  if (row_bytes == 0) return whole->rows; /* rows of nothing, however many, are one piece */
  size_t rows = CHUNK_BYTES / row_bytes;
  if (whole->order == MXG_ORDER_AITER_SHUFFLE || whole->order == MXG_ORDER_BLOCKED_128X4)
    rows = mxg_size_ceil_div(rows, TILE_ROWS) * TILE_ROWS;
  if (rows == 0) rows = 1;
  if (rows > CHUNK_ROWS_MAX) rows = CHUNK_ROWS_MAX;
  return rows < whole->rows ? rows : whole->rows;
}

int mxg_chunk_layout(const mxg_recipe *recipe, const mxg_layout *whole, size_t rows,
                     mxg_layout *out) {
  mxg_layout_options options;
  memset(&options, 0, sizeof options);
  options.placement = whole->placement;
  options.order = whole->order;
  options.pad_byte = whole->pad_byte;
  options.slot_weights = whole->slot_weights;
  options.scale_count = whole->scale_count;
  return mxg_make_layout(recipe, rows, whole->cols, &options, out);
}

/* Where the scales of row `first` begin in every order but transposed, in bytes. */
static size_t chunk_offset(const mxg_layout *whole, size_t first) {
  return whole->scale_bytes *
         mxg_scale_index(whole->order, whole->rows, whole->scale_count, first, 0);
}

/* Scale column c of a chunk of transposed scales, and of the whole matrix, in bytes. */
static size_t column_offset(const mxg_layout *layout, size_t first, size_t c) {
  return (c * layout->rows + first) * layout->scale_bytes;
}

const unsigned char *mxg_scales_gather(const mxg_layout *whole, const unsigned char *scales,
                                       size_t first, const mxg_layout *chunk,
                                       unsigned char *buffer) {
  if (chunk->scales_bytes == 0) return scales;
  if (whole->order != MXG_ORDER_TRANSPOSED) return scales + chunk_offset(whole, first);
  for (size_t c = 0; c < chunk->scale_count; c++)
    memcpy(buffer + column_offset(chunk, 0, c), scales + column_offset(whole, first, c),
           chunk->rows * chunk->scale_bytes);
  return buffer;
}

void mxg_scales_scatter(const mxg_layout *whole, unsigned char *scales, size_t first,
                        const mxg_layout *chunk, const unsigned char *from) {
  if (chunk->scales_bytes == 0) return;
  if (whole->order != MXG_ORDER_TRANSPOSED) {
    memcpy(scales + chunk_offset(whole, first), from, chunk->scales_bytes);
    return;
  }
  for (size_t c = 0; c < chunk->scale_count; c++)
    memcpy(scales + column_offset(whole, first, c), from + column_offset(chunk, 0, c),
           chunk->rows * chunk->scale_bytes);
}
