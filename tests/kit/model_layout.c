/* model_layout.c: the orders of docs/LAYOUT.md, worked out from their shapes.
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include "model.h"

static size_t round_up(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/* Place of scale (row, col) in a matrix whose columns are padded to `wide`. */
static size_t place(fault f, mxg_scale_order order, size_t rows, size_t wide, size_t row,
                    size_t col) {
  switch (order) {
    case MXG_ORDER_TRANSPOSED: return col * rows + row;
    case MXG_ORDER_AITER_SHUFFLE: {
      /* tiles of 32 rows x 8 columns: [4 cols][16 rows][2 cols][2 rows] */
      const size_t tile = (row / 32 * wide / 8 + col / 8) * 256;
      const size_t high_row = f == FAULT_ROWS ? 0 : row % 32 / 16;
      return tile + col % 4 * 64 + row % 16 * 4 + col % 8 / 4 * 2 + high_row;
    }
    case MXG_ORDER_BLOCKED_128X4: {
      /* tiles of 128 rows x 4 columns: [32 rows][4 rows][4 cols] */
      const size_t tile = (row / 128 * (wide / 4) + col / 4) * 512;
      const size_t quarter = f == FAULT_ROWS ? 0 : row % 128 / 32;
      return tile + row % 32 * 16 + quarter * 4 + col % 4;
    }
    case MXG_ORDER_ROW_MAJOR: break;
  }
  return row * wide + col;
}

void model_reorder(fault f, mxg_scale_order order, size_t rows, size_t cols, size_t scale_bytes,
                   uint8_t pad, const uint8_t *in, model_bytes *out) {
  const bool is_shuffled = order == MXG_ORDER_AITER_SHUFFLE;
  const bool is_padded = is_shuffled || order == MXG_ORDER_BLOCKED_128X4;
  const size_t tall = is_padded ? round_up(rows, is_shuffled ? 256 : 128) : rows;
  const size_t wide = is_padded ? round_up(cols, is_shuffled ? 8 : 4) : cols;
  out->count = tall * wide * scale_bytes;
  if (out->count > sizeof out->data) return;
  memset(out->data, f == FAULT_SCALE_PAD ? 0xFF : pad, out->count); /* the fault: pads left alone */
  if (f == FAULT_LAYOUT_NAMED) order = MXG_ORDER_ROW_MAJOR;         /* the fault: guessed */
  for (size_t row = 0; row < rows; row++)
    for (size_t col = 0; col < cols; col++)
      memcpy(out->data + place(f, order, rows, wide, row, col) * scale_bytes,
             in + (row * cols + col) * scale_bytes, scale_bytes);
}

void model_weights(fault f, bool gate_up, size_t experts, size_t rows, size_t row_bytes,
                   const uint8_t *in, model_bytes *out) {
  const size_t parts = gate_up ? 2 : 1;
  const size_t tile_bytes = 16 * row_bytes; /* 16 rows */
  out->count = experts * parts * rows * row_bytes;
  if (out->count > sizeof out->data) return;
  for (size_t i = 0; i < out->count; i++) {
    const size_t k = i % row_bytes, row = i / row_bytes % rows;
    const size_t part = i / row_bytes / rows % parts, expert = i / row_bytes / rows / parts;
    /* tiles in the order expert, row tile, part; the fault: expert, part, row tile */
    const size_t tiles = rows / 16;
    const size_t interleaved = (expert * tiles + row / 16) * parts + part;
    const size_t separate = (expert * parts + part) * tiles + row / 16;
    const size_t tile = f == FAULT_GATE_UP ? separate : interleaved;
    /* in a tile: columns of 16 bytes, each for 16 rows */
    const size_t shuffled = k / 16 * 256 + row % 16 * 16 + k % 16;
    const size_t plain = row % 16 * row_bytes + k;
    out->data[tile * tile_bytes + (f == FAULT_GATE_UP && !gate_up ? plain : shuffled)] = in[i];
  }
}
