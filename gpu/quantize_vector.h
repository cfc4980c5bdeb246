/* quantize_vector.h: quantise rows whose pointers and strides are aligned, whose blocks are 8 to 256
 * elements, a power of two, and whose columns are a multiple of 8. A group has a row at a time.
 *
 * A lane has vectors of 8 elements, so that a block lies in 1 to 32 neighbouring lanes; a wave has
 * tiles of 1024 elements: a lane's 4 (32 lanes) or 2 (64 lanes) vectors, all loaded before the
 * first is used. Blocks of finite elements and ordinary scales, which are nearly all, are encoded
 * in floats; the others afterwards, element by element by the shared element code.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_QUANTIZE_VECTOR_H
#define MXGOLD_GPU_QUANTIZE_VECTOR_H

#include "block.h"
#include "encode.h"

#define MXG_TILE 1024
#define MXG_TILE_VECTORS (MXG_TILE / (8 * MXG_LANES))

/* 8 elements as loaded: 4 words of two halves, or 8 floats. */
typedef struct mxg_vector {
  uint32_t w[8];
} mxg_vector;

MXG_DEVICE void mxg_load_vector(mxg_dtype dtype, const uint8_t *x, mxg_vector *v) {
  mxg_load16(x, v->w);
  if (dtype == MXG_DTYPE_F32) mxg_load16(x + 16, v->w + 4);
}

/* Element i as a float; NaN stays one, with any payload. */
MXG_DEVICE float mxg_vector_at(mxg_dtype dtype, const mxg_vector *v, uint32_t i) {
  if (dtype == MXG_DTYPE_F32) return mxg_f32_from_bits(v->w[i]);
  if (dtype == MXG_DTYPE_BF16)
    return mxg_f32_from_bits(i % 2 == 0 ? v->w[i / 2] << 16 : v->w[i / 2] & 0xFFFF0000u);
  return mxg_f16_value(i % 2 == 0 ? v->w[i / 2] & 0xFFFFu : v->w[i / 2] >> 16);
}

/* Largest magnitude as binary32 bits; a NaN is above all. */
MXG_DEVICE uint32_t mxg_vector_amax(mxg_dtype dtype, const mxg_vector *v, int weighted,
                                    float weight) {
  uint32_t amax = 0;
  if (weighted || dtype == MXG_DTYPE_F32) {
    MXG_UNROLL
    for (uint32_t i = 0; i < 8; i++) {
      const float x = mxg_vector_at(dtype, v, i);
      const uint32_t magnitude = mxg_f32_bits(weighted ? x * weight : x) & ~MXG_F32_SIGN;
      amax = magnitude > amax ? magnitude : amax;
    }
    return amax;
  }
  MXG_UNROLL
  for (uint32_t i = 0; i < 4; i++) amax = mxg_max_u16x2(amax, v->w[i] & 0x7FFF7FFFu);
  amax = amax >> 16 > (amax & 0xFFFFu) ? amax >> 16 : amax & 0xFFFFu;
  return dtype == MXG_DTYPE_BF16 ? amax << 16 : mxg_f32_bits(mxg_f16_value(amax));
}

/* 8 elements of any block. A lane finds the amax of the whole block by itself. Returns the block. */
MXG_DEVICE mxg_block mxg_quantize_8_any(const mxg_gpu_args *a, mxg_traits t, const uint8_t *x,
                                        mxg_dtype dtype, uint32_t col, int weighted, float weight,
                                        uint8_t *out) {
  const uint32_t width = (uint32_t)mxg_dtype_bytes(dtype), cols = (uint32_t)a->layout.cols;
  uint32_t amax = a->floor_bits, word;
  uint64_t codes;
  mxg_block b;
  if (a->recipe.scale != MXG_SCALE_NONE) {
    const uint32_t begin = col & ~(a->recipe.block - 1);
    const uint32_t left = cols - begin, size = left < a->recipe.block ? left : a->recipe.block;
    MXG_NO_UNROLL
    for (uint32_t i = 0; i < size; i++) {
      const uint32_t source = mxg_load_value(x + (size_t)(begin + i) * width, dtype);
      amax = mxg_amax_step(a, amax, mxg_weighted(source, weighted, weight));
    }
  }
  b = mxg_block_of(a, amax);
  codes = mxg_encode_8_any(a, t, &b, x + (size_t)col * width, dtype, 8, weighted, weight);
  word = (uint32_t)codes;
  mxg_store4(out + col / 8 * (uint32_t)t.bits, &word);
  if (t.bits == 8) {
    word = (uint32_t)(codes >> 32);
    mxg_store4(out + col + 4, &word);
  }
  return b;
}

/* 8 finite elements of a tame block. */
MXG_DEVICE void mxg_encode_vector(const mxg_gpu_args *a, mxg_element element, mxg_dtype dtype,
                                  int native, mxg_scale scale, int weighted, const mxg_vector *x,
                                  float weight, const mxg_block *b, uint32_t *codes) {
  const mxg_traits t = mxg_element_traits(element);
  const int e2m1 = element == MXG_ELEMENT_E2M1, e8m0 = scale == MXG_SCALE_E8M0;
  float v[8];
  if (e2m1 && e8m0 && !weighted && dtype != MXG_DTYPE_F32) { /* two elements at a time */
    const float power = mxg_f32_from_bits(b->stored << 23);  /* field 0 acts as 2^-127 */
    if (native) {
      codes[0] = dtype == MXG_DTYPE_BF16 ? mxg_native_encode_e2m1_bf16(x->w, power)
                                         : mxg_native_encode_e2m1_f16(x->w, power);
      return;
    }
    if (MXG_HAS_BF16X2 && dtype == MXG_DTYPE_BF16) {
      codes[0] = mxg_encode_e2m1_bf16x2(x->w, mxg_f32_bits(b->factor) >> 16, a->policy.limit);
      return;
    }
  }
  MXG_UNROLL
  for (uint32_t i = 0; i < 8; i++) v[i] = mxg_vector_at(dtype, x, i);
  if (weighted) {
    MXG_UNROLL
    for (uint32_t i = 0; i < 8; i++) v[i] = v[i] * weight;
  }
  if (native && e2m1 && e8m0) {
    codes[0] = mxg_native_encode_e2m1_f32(v, mxg_f32_from_bits(b->stored << 23));
    return;
  }
  if (b->kind == MXG_BLOCK_DIVIDE) {
    MXG_UNROLL
    for (uint32_t i = 0; i < 8; i++) v[i] = v[i] / b->factor;
  } else if (scale != MXG_SCALE_NONE) {
    MXG_UNROLL
    for (uint32_t i = 0; i < 8; i++) v[i] = v[i] * b->factor;
  }
  if (native && element == MXG_ELEMENT_E4M3FN)
    mxg_native_encode_e4m3fn(v, codes);
  else if (native && e2m1)
    codes[0] = mxg_native_encode_e2m1_f32(v, 1.0f);
  else
    mxg_encode_8(t, &a->policy, a->clamp, v, codes);
}

/* scale, element, dtype, native: constants. */
MXG_DEVICE void mxg_quantize_row_vector(const mxg_gpu_args *a, mxg_element element, mxg_dtype dtype,
                                        int native, mxg_scale scale, size_t row) {
  const mxg_traits t = mxg_element_traits(element);
  const uint32_t cols = (uint32_t)a->layout.cols;
  const uint32_t lane = mxg_thread() % MXG_LANES, wave = mxg_thread() / MXG_LANES;
  const uint32_t width = (uint32_t)mxg_dtype_bytes(dtype);
  const uint32_t block_lanes = scale != MXG_SCALE_NONE ? a->recipe.block / 8 : 1;
  const int weighted = a->row_weight != NULL;
  const float weight = mxg_row_weight(a, row);
  const uint8_t *x = a->x + row * a->value_stride_bytes;
  uint8_t *out = a->codes + mxg_payload_offset(a, row);
  uint8_t *scales = a->scales + (a->scales_linear ? mxg_scale_offset(a, row, 0) : 0);
  int scaled = 0;
  uint32_t first_scale = 0;
  for (uint32_t tile = wave * MXG_TILE; tile < cols; tile += a->threads / MXG_LANES * MXG_TILE) {
    mxg_vector v[MXG_TILE_VECTORS];
    uint32_t amax[MXG_TILE_VECTORS];
    uint32_t wild = 0; /* bit i: vector i is not for the fast path */
    MXG_UNROLL
    for (uint32_t i = 0; i < MXG_TILE_VECTORS; i++) {
      const uint32_t col = tile + (i * MXG_LANES + lane) * 8;
      MXG_UNROLL
      for (uint32_t j = 0; j < 8; j++) v[i].w[j] = 0;
      if (col < cols) mxg_load_vector(dtype, x + (size_t)col * width, &v[i]);
    }
    if (weighted) {
      MXG_UNROLL
      for (uint32_t i = 0; i < MXG_TILE_VECTORS; i++)
        amax[i] = mxg_vector_amax(dtype, &v[i], 1, weight);
    } else {
      MXG_UNROLL
      for (uint32_t i = 0; i < MXG_TILE_VECTORS; i++)
        amax[i] = mxg_vector_amax(dtype, &v[i], 0, weight);
    }
    if (scale != MXG_SCALE_NONE) mxg_amax_of_lanes(amax, MXG_TILE_VECTORS, block_lanes);
    MXG_UNROLL
    for (uint32_t i = 0; i < MXG_TILE_VECTORS; i++) {
      const uint32_t col = tile + (i * MXG_LANES + lane) * 8;
      uint32_t codes[2];
      const mxg_block b =
          mxg_tame_block_of(a, scale, amax[i] > a->floor_bits ? amax[i] : a->floor_bits);
      if (col >= cols) continue;
      if (!b.tame || amax[i] >= MXG_F32_INF) {
        wild |= 1u << i;
        continue;
      }
      mxg_encode_vector(a, element, dtype, native, scale, weighted, &v[i], weight, &b, codes);
      if (t.bits == 4)
        mxg_store4(out + col / 2, codes);
      else
        mxg_store8(out + col, codes);
      if (scale == MXG_SCALE_F32) {
        scaled |= b.scaled;
        if (col == 0) first_scale = b.stored;
      }
      if (scale != MXG_SCALE_NONE && (lane & (block_lanes - 1)) == 0) {
        uint8_t *p = a->scales_linear ? scales + (col >> a->block_shift) * a->scale_col_stride
                                      : a->scales + mxg_scale_offset(a, row, col >> a->block_shift);
        if (scale == MXG_SCALE_E8M0)
          *p = (uint8_t)b.stored;
        else
          mxg_store_word(p, mxg_marked(a, col, b.stored));
      }
    }
    MXG_NO_UNROLL
    for (uint32_t i = 0; wild >> i != 0; i++) {
      const uint32_t col = tile + (i * MXG_LANES + lane) * 8;
      if ((wild >> i & 1u) != 0) {
        const mxg_block b = mxg_quantize_8_any(a, t, x, dtype, col, weighted, weight, out);
        scaled |= b.scaled;
        if (col == 0) first_scale = b.stored;
        if (scale != MXG_SCALE_NONE && (lane & (block_lanes - 1)) == 0)
          mxg_store_scale(a, row, col >> a->block_shift, mxg_marked(a, col, b.stored));
      }
    }
  }
  if (scale == MXG_SCALE_F32 && a->recipe.marker == MXG_MARKER_IF_SCALED)
    mxg_mark_row(a, row, scaled, first_scale);
  mxg_fill_row(a, row, 1);
}

MXG_DEVICE void mxg_quantize_vector(const mxg_gpu_args *a, mxg_element element, mxg_dtype dtype,
                                    int native) {
  const size_t live = mxg_live_rows(a), rows = mxg_written_rows(a, live);
  for (size_t row = mxg_group(); row < rows; row += a->groups) {
    if (row >= live)
      mxg_fill_row(a, row, 0);
    else if (a->recipe.scale == MXG_SCALE_E8M0)
      mxg_quantize_row_vector(a, element, dtype, native, MXG_SCALE_E8M0, row);
    else if (a->recipe.scale == MXG_SCALE_F32)
      mxg_quantize_row_vector(a, element, dtype, native, MXG_SCALE_F32, row);
    else
      mxg_quantize_row_vector(a, element, dtype, native, MXG_SCALE_NONE, row);
  }
}

#endif
