/* places.h: where a row's codes and scales lie, and the few bytes of a row that are neither a code
 * nor a used scale.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_PLACES_H
#define MXGOLD_GPU_PLACES_H

#include "args.h"
#include "shim.h"

MXG_DEVICE size_t mxg_live_rows(const mxg_gpu_args *a) {
  size_t live = a->rows;
  if (a->live_rows != NULL && *a->live_rows < live) live = *a->live_rows;
  return live;
}

MXG_DEVICE size_t mxg_payload_offset(const mxg_gpu_args *a, size_t row) {
  return row * a->payload_stride;
}

/* Of scale (row, col), from `scales`. */
MXG_DEVICE size_t mxg_scale_offset(const mxg_gpu_args *a, size_t row, size_t col) {
  const mxg_layout *l = &a->layout;
  if (a->scales_linear)
    return a->scale_start + row * a->scale_row_stride + col * a->scale_col_stride;
  return l->order == MXG_ORDER_AITER_SHUFFLE
             ? mxg_scale_index(MXG_ORDER_AITER_SHUFFLE, l->rows, l->scale_count, row, col)
             : mxg_scale_index(MXG_ORDER_BLOCKED_128X4, l->rows, l->scale_count, row, col);
}

/* 1, 2 or 4 bytes at any address, little-endian. */
MXG_DEVICE uint32_t mxg_load_bytes(const uint8_t *p, uint32_t bytes) {
  uint32_t value = p[0];
  if (bytes > 1) value |= (uint32_t)p[1] << 8;
  if (bytes > 2) value |= (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
  return value;
}
MXG_DEVICE void mxg_store_bytes(uint8_t *p, uint32_t value, uint32_t bytes) {
  p[0] = (uint8_t)value;
  if (bytes > 1) p[1] = (uint8_t)(value >> 8);
  if (bytes > 2) {
    p[2] = (uint8_t)(value >> 16);
    p[3] = (uint8_t)(value >> 24);
  }
}

MXG_DEVICE uint32_t mxg_load_word(const uint8_t *p) {
  uint32_t word;
  if (((uintptr_t)p & 3u) != 0) return mxg_load_bytes(p, 4);
  mxg_load4(p, &word);
  return word;
}
MXG_DEVICE void mxg_store_word(uint8_t *p, uint32_t word) {
  if (((uintptr_t)p & 3u) != 0)
    mxg_store_bytes(p, word, 4);
  else
    mxg_store4(p, &word);
}

/* A scale as stored: an E8M0 byte, or the bits of a float with its NaN canonical. */
MXG_DEVICE void mxg_store_scale(const mxg_gpu_args *a, size_t row, size_t col, uint32_t stored) {
  uint8_t *p = a->scales + mxg_scale_offset(a, row, col);
  if (a->layout.scale_bytes == 1)
    *p = (uint8_t)stored;
  else
    mxg_store_word(p, stored);
}

/* Binary32 bits of a value at any address. */
MXG_DEVICE uint32_t mxg_load_value(const uint8_t *p, mxg_dtype dtype) {
  if (dtype == MXG_DTYPE_F32) return mxg_load_bytes(p, 4);
  return dtype == MXG_DTYPE_BF16 ? mxg_bits_from_bf16((uint16_t)mxg_load_bytes(p, 2))
                                 : mxg_bits_from_f16((uint16_t)mxg_load_bytes(p, 2));
}

/* Binary32 bits as dtype, each NaN canonical. */
MXG_DEVICE uint32_t mxg_value_as(uint32_t bits, mxg_dtype dtype) {
  if (dtype == MXG_DTYPE_F32) return (bits & ~MXG_F32_SIGN) > MXG_F32_INF ? MXG_F32_NAN : bits;
  return dtype == MXG_DTYPE_BF16 ? mxg_bits_to_bf16(bits) : mxg_bits_to_f16(bits);
}
MXG_DEVICE void mxg_store_value(uint8_t *p, mxg_dtype dtype, uint32_t bits) {
  mxg_store_bytes(p, mxg_value_as(bits, dtype), (uint32_t)mxg_dtype_bytes(dtype));
}

/* Rows that quantise writes something in: the live ones and, in the padded orders, pads. */
MXG_DEVICE size_t mxg_written_rows(const mxg_gpu_args *a, size_t live) {
  const size_t tile = mxg_order_tile_rows(a->layout.order);
  return tile == 1 ? live : mxg_size_ceil_div(live, tile) * tile;
}

/* Scales of a row that no block fills: stored but unused ones of a live row, pads of any. */
MXG_DEVICE void mxg_fill_row(const mxg_gpu_args *a, size_t row, int live) {
  const mxg_layout *l = &a->layout;
  const size_t tile = mxg_order_tile_cols(l->order);
  const size_t padded = tile == 1 ? l->scale_count : mxg_size_ceil_div(l->scale_count, tile) * tile;
  for (size_t col = (live ? l->scales_used : 0) + mxg_thread(); col < padded; col += a->threads) {
    uint32_t stored = l->pad_byte;
    if (live && col < l->scale_count) stored = l->scale_bytes == 1 ? 0u : 0x3F800000u;
    mxg_store_scale(a, row, col, stored);
  }
}

#endif
