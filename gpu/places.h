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

/* The upper half of a 64-bit product. */
MXG_DEVICE uint64_t mxg_mul_high(uint64_t a, uint64_t b) {
  const uint64_t a_low = a & 0xFFFFFFFFu, a_high = a >> 32, b_low = b & 0xFFFFFFFFu;
  const uint64_t b_high = b >> 32, low = a_low * b_low, mid = a_high * b_low + (low >> 32);
  const uint64_t cross = a_low * b_high + (mid & 0xFFFFFFFFu);
  return a_high * b_high + (mid >> 32) + (cross >> 32);
}

/* The block of a column. No division, which chips do with approximate reciprocals of floats: the
 * product with the inverse is the quotient or one less. */
MXG_DEVICE size_t mxg_block_index(const mxg_gpu_args *a, size_t col) {
  const uint32_t block = a->recipe.block;
  uint64_t quotient;
  if (a->block_shift < 32) return col >> a->block_shift;
  quotient = mxg_mul_high(col, a->block_inverse);
  return (size_t)(quotient + (col - quotient * block >= block));
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

MXG_DEVICE uint32_t mxg_max_u32(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

/* unit: a power of two */
MXG_DEVICE size_t mxg_round_up(size_t value, size_t unit) {
  return (value + unit - 1) & ~(unit - 1);
}

/* Rows that quantise writes something in: the live ones and, in the padded orders, pads. */
MXG_DEVICE size_t mxg_written_rows(const mxg_gpu_args *a, size_t live) {
  return mxg_round_up(live, mxg_order_tile_rows(a->layout.order));
}

/* Scales of a row that no block fills: stored but unused ones of a live row, pads of any. */
MXG_DEVICE void mxg_fill_row(const mxg_gpu_args *a, size_t row, int live) {
  const mxg_layout *l = &a->layout;
  for (size_t col = (live ? l->scales_used : 0) + mxg_thread(); col < a->padded_scales;
       col += a->threads) {
    uint32_t stored = l->pad_byte;
    if (live && col < l->scale_count) stored = l->scale_bytes == 1 ? 0u : 0x3F800000u;
    mxg_store_scale(a, row, col, stored);
  }
}

#endif
