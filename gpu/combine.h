/* combine.h: weighted sums of decoded slots (section 6). A group has a row at a time, a lane has
 * columns; each adds its sources in ascending order, so nothing depends on how columns are divided.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_COMBINE_H
#define MXGOLD_GPU_COMBINE_H

#include "dequantize.h"

MXG_DEVICE const uint8_t *mxg_slot_at(const mxg_gpu_args *a, size_t index) {
  const uint8_t *p = a->slots + index * sizeof(void *);
  uint64_t address;
  if (((uintptr_t)p & 7u) == 0) return *(const uint8_t *const *)(const void *)p;
  address = mxg_load_bytes(p, 4) | (uint64_t)mxg_load_bytes(p + 4, 4) << 32;
  return (const uint8_t *)(uintptr_t)address;
}

MXG_DEVICE float mxg_add_source(float sum, float t, float s, int fused, int weighted, float w) {
  float factor = s;
  if (weighted) {
    t = t * s;
    factor = w;
  }
  return fused ? mxg_fma(t, factor, sum) : sum + t * factor;
}

/* Column by column. */
MXG_DEVICE void mxg_combine_columns(const mxg_gpu_args *a, int fused, size_t row, size_t begin,
                                    size_t end, size_t step) {
  const int weighted = a->weight != NULL;
  for (size_t col = begin; col < end; col += step) {
    float sum = 0.0f;
    for (size_t k = 0; k < a->top_k; k++) {
      const size_t index = row * a->top_k + k;
      const uint8_t *slot = mxg_slot_at(a, index);
      float s = 1.0f, w = 1.0f, t;
      if (slot == NULL) continue;
      if (mxg_row_is_scaled(a, slot + a->layout.scale_offset_bytes)) {
        const size_t block = mxg_block_index(a, col);
        s = mxg_scale_value(a, slot + a->layout.scale_offset_bytes + block * a->layout.scale_bytes,
                            block);
      }
      if (weighted) w = mxg_f32_from_bits(mxg_load_word(a->weight + 4 * index));
      t = mxg_f32_from_bits(mxg_decode_bits(a->traits, mxg_code_at(slot, a->traits.bits, col), 0));
      sum = mxg_add_source(sum, t, s, fused, weighted, w);
    }
    mxg_store_value(a->y + row * a->value_stride_bytes + col * mxg_dtype_bytes(a->dtype), a->dtype,
                    mxg_f32_bits(sum));
  }
}

MXG_DEVICE void mxg_combine_slow(const mxg_gpu_args *a, int fused) {
  const size_t live = mxg_live_rows(a);
  for (size_t row = mxg_group(); row < live; row += a->groups)
    mxg_combine_columns(a, fused, row, a->col_begin + mxg_thread(), a->col_end, a->threads);
}

/* 16 codes at a column that is a multiple of 16. */
MXG_DEVICE void mxg_load_codes_16(mxg_element element, const uint8_t *p, uint32_t *w) {
  if (element == MXG_ELEMENT_E2M1) {
    if (((uintptr_t)p & 7u) == 0) {
      mxg_load8(p, w);
    } else {
      w[0] = mxg_load_word(p);
      w[1] = mxg_load_word(p + 4);
    }
  } else if (((uintptr_t)p & 15u) == 0) {
    mxg_load16(p, w);
  } else {
    w[0] = mxg_load_word(p);
    w[1] = mxg_load_word(p + 4);
    w[2] = mxg_load_word(p + 8);
    w[3] = mxg_load_word(p + 12);
  }
}

#define MXG_SOURCES_IN_FLIGHT 4

/* The slots of sources first, first + 1, ...; NULL past the last. */
MXG_DEVICE void mxg_slots_from(const mxg_gpu_args *a, size_t row, uint32_t first,
                               const uint8_t **slot) {
  MXG_UNROLL
  for (uint32_t j = 0; j < MXG_SOURCES_IN_FLIGHT; j++)
    slot[j] = first + j < a->top_k ? mxg_slot_at(a, row * a->top_k + first + j) : NULL;
}

/* 16 whole columns from `col` on. All loads of several sources come before the first use of one, and
 * the pointers of the next sources before the sums of these. element, fused, native: constants. */
MXG_DEVICE void mxg_combine_16(const mxg_gpu_args *a, mxg_element element, int fused, int native,
                               int weighted, size_t row, uint32_t col, float *sum) {
  const int has_scale = a->layout.scales_used != 0, marked = mxg_is_marked(a);
  const uint32_t scale_bytes = a->layout.scale_bytes;
  const size_t block = has_scale ? mxg_block_index(a, col) : 0;
  const uint32_t top_k = (uint32_t)a->top_k;
  const uint32_t offset = element == MXG_ELEMENT_E2M1 ? col / 2 : col;
  const uint8_t *slot[MXG_SOURCES_IN_FLIGHT];
  MXG_UNROLL
  for (uint32_t i = 0; i < 16; i++) sum[i] = 0.0f;
  mxg_slots_from(a, row, 0, slot);
  for (uint32_t from = 0; from < top_k; from += MXG_SOURCES_IN_FLIGHT) {
    const uint8_t *next[MXG_SOURCES_IN_FLIGHT];
    uint32_t codes[MXG_SOURCES_IN_FLIGHT][4];
    uint32_t stored[MXG_SOURCES_IN_FLIGHT], first[MXG_SOURCES_IN_FLIGHT];
    float w[MXG_SOURCES_IN_FLIGHT];
    MXG_UNROLL
    for (uint32_t j = 0; j < MXG_SOURCES_IN_FLIGHT; j++) {
      stored[j] = first[j] = 0;
      w[j] = 1.0f;
      if (slot[j] == NULL) continue;
      mxg_load_codes_16(element, slot[j] + offset, codes[j]);
      if (has_scale) {
        const uint8_t *scales = slot[j] + a->layout.scale_offset_bytes;
        stored[j] = scale_bytes == 1 ? scales[block] : mxg_load_word(scales + 4 * block);
        if (marked) first[j] = mxg_load_word(scales);
      }
      if (weighted)
        w[j] = mxg_f32_from_bits(mxg_load_word(a->weight + 4 * (row * top_k + from + j)));
    }
    mxg_slots_from(a, row, from + MXG_SOURCES_IN_FLIGHT, next);
    MXG_UNROLL
    for (uint32_t j = 0; j < MXG_SOURCES_IN_FLIGHT; j++) {
      float s = 1.0f, t[16];
      if (slot[j] != NULL) {
        if (has_scale && !(marked && !mxg_is_mark(first[j]))) s = mxg_scale_of(a, stored[j], block);
        mxg_decode_8(element, native, codes[j], t);
        mxg_decode_8(element, native, codes[j] + (element == MXG_ELEMENT_E2M1 ? 1 : 2), t + 8);
        MXG_UNROLL
        for (uint32_t i = 0; i < 16; i++)
          sum[i] = mxg_add_source(sum[i], t[i], s, fused, weighted, w[j]);
      }
      slot[j] = next[j];
    }
  }
}

/* Blocks a multiple of 16 elements; slots and y at any address. */
MXG_DEVICE void mxg_combine_vector(const mxg_gpu_args *a, mxg_element element, int fused,
                                   int native) {
  const size_t live = mxg_live_rows(a), width = mxg_dtype_bytes(a->dtype);
  const uint32_t begin = (uint32_t)a->col_begin, end = (uint32_t)a->col_end;
  const uint32_t cols = (uint32_t)a->layout.cols;
  for (size_t row = mxg_group(); row < live; row += a->groups) {
    uint8_t *y = a->y + row * a->value_stride_bytes;
    for (uint32_t col = begin / 16 * 16 + mxg_thread() * 16; col < end; col += a->threads * 16) {
      float sum[16];
      uint8_t *const out = y + col * width;
      if (col < begin || col + 16 > end || col + 16 > cols || ((uintptr_t)out & 15u) != 0) {
        mxg_combine_columns(a, fused, row, col < begin ? begin : col,
                            col + 16 < end ? col + 16 : end, 1);
        continue;
      }
      if (a->weight != NULL)
        mxg_combine_16(a, element, fused, native, 1, row, col, sum);
      else
        mxg_combine_16(a, element, fused, native, 0, row, col, sum);
      mxg_store_8(out, a->dtype, sum);
      mxg_store_8(out + 8 * width, a->dtype, sum + 8);
    }
  }
}

#endif
