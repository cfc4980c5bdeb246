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

/* ---- 16 columns at a time ---- */

#define MXG_SOURCES_MAX 64
#ifndef MXG_SOURCES_IN_FLIGHT
#define MXG_SOURCES_IN_FLIGHT 4
#endif

#define MXG_SOURCE_PRESENT 1u
#define MXG_SOURCE_SCALED 2u /* its scales apply */
#define MXG_SOURCE_NARROW 4u /* 16 of its codes, or a scale, are not aligned for one load */

/* A source of a row, read once by the group. */
typedef struct mxg_source {
  const uint8_t *slot;
  float weight;
  uint32_t flags; /* 0: missing */
} mxg_source;

/* unit: of an aligned load of 16 codes. */
MXG_DEVICE mxg_source mxg_source_at(const mxg_gpu_args *a, size_t row, uint32_t k, uint32_t unit) {
  const size_t index = row * a->top_k + k;
  mxg_source s = {NULL, 1.0f, 0};
  const uint8_t *scales;
  if (k < a->top_k) s.slot = mxg_slot_at(a, index);
  if (s.slot == NULL) return s;
  s.flags = MXG_SOURCE_PRESENT;
  scales = s.slot + a->layout.scale_offset_bytes;
  if (a->weight != NULL) s.weight = mxg_f32_from_bits(mxg_load_word(a->weight + 4 * index));
  if (mxg_row_is_scaled(a, scales)) s.flags |= MXG_SOURCE_SCALED;
  if (((uintptr_t)s.slot & (unit - 1)) != 0 ||
      ((uintptr_t)scales & (a->layout.scale_bytes == 4 ? 3u : 0u)) != 0)
    s.flags |= MXG_SOURCE_NARROW;
  return s;
}

/* All lanes call it. */
MXG_DEVICE int mxg_any_is_narrow(const mxg_source *sources, uint32_t top_k) {
  uint32_t flags = 0;
  for (uint32_t k = mxg_thread() % MXG_LANES; k < top_k; k += MXG_LANES) flags |= sources[k].flags;
  return mxg_any_lane((flags & MXG_SOURCE_NARROW) != 0);
}

/* 16 codes at a column that is a multiple of 16. */
MXG_DEVICE void mxg_load_codes_16(mxg_element element, int narrow, const uint8_t *p, uint32_t *w) {
  const uint32_t words = element == MXG_ELEMENT_E2M1 ? 2 : 4;
  if (narrow) {
    MXG_UNROLL
    for (uint32_t i = 0; i < words; i++) w[i] = mxg_load_word(p + 4 * i);
  } else if (words == 2) {
    mxg_load8(p, w);
  } else {
    mxg_load16(p, w);
  }
}

MXG_DEVICE uint32_t mxg_load_scale(uint32_t bytes, int narrow, const uint8_t *p) {
  uint32_t stored;
  if (bytes == 1) return *p;
  if (narrow) return mxg_load_word(p);
  mxg_load4(p, &stored);
  return stored;
}

/* 16 whole columns from `col` on, loads of several sources before the first use of one. 0: a scale
 * is out of the range of this arithmetic. element, fused, native, weighted, narrow: constants. */
MXG_DEVICE int mxg_combine_16(const mxg_gpu_args *a, mxg_element element, int fused, int native,
                              int weighted, int narrow, const mxg_source *sources, uint32_t col,
                              float *sum) {
  const float unit = mxg_decode_unit(element, native);
  const uint32_t scale_bytes = a->layout.scale_bytes, top_k = (uint32_t)a->top_k;
  const uint32_t offset = element == MXG_ELEMENT_E2M1 ? col / 2 : col;
  const size_t block = a->layout.scales_used != 0 ? mxg_block_index(a, col) : 0;
  const size_t scale_offset = a->layout.scale_offset_bytes + block * scale_bytes;
  int in_range = 1;
  MXG_UNROLL
  for (uint32_t i = 0; i < 16; i++) sum[i] = 0.0f;
  for (uint32_t from = 0; from < top_k; from += MXG_SOURCES_IN_FLIGHT) {
    uint32_t codes[MXG_SOURCES_IN_FLIGHT][4], stored[MXG_SOURCES_IN_FLIGHT];
    uint32_t flags[MXG_SOURCES_IN_FLIGHT];
    float weights[MXG_SOURCES_IN_FLIGHT];
    MXG_UNROLL
    for (uint32_t j = 0; j < MXG_SOURCES_IN_FLIGHT; j++) {
      const uint8_t *const slot = sources[from + j].slot;
      weights[j] = sources[from + j].weight;
      flags[j] = sources[from + j].flags;
      stored[j] = 0;
      if ((flags[j] & MXG_SOURCE_PRESENT) == 0) continue;
      mxg_load_codes_16(element, narrow, slot + offset, codes[j]);
      if ((flags[j] & MXG_SOURCE_SCALED) != 0)
        stored[j] = mxg_load_scale(scale_bytes, narrow, slot + scale_offset);
    }
    MXG_UNROLL
    for (uint32_t j = 0; j < MXG_SOURCES_IN_FLIGHT; j++) {
      float s = unit, t[16];
      if ((flags[j] & MXG_SOURCE_PRESENT) == 0) continue;
      if ((flags[j] & MXG_SOURCE_SCALED) != 0) s = mxg_scale_of(a, stored[j], block) * unit;
      if (unit != 1.0f) in_range &= mxg_f32_bits(mxg_fabs(s)) != MXG_F32_INF;
      mxg_decode_8(element, native, codes[j], t);
      mxg_decode_8(element, native, codes[j] + (element == MXG_ELEMENT_E2M1 ? 1 : 2), t + 8);
      MXG_UNROLL
      for (uint32_t i = 0; i < 16; i++)
        sum[i] = mxg_add_source(sum[i], t[i], s, fused, weighted, weights[j]);
    }
  }
  return in_range;
}

/* 1 if the 16 columns from `col` on are all wanted, and out, their place, is aligned. */
MXG_DEVICE int mxg_is_whole_16(const mxg_gpu_args *a, uint32_t col, const uint8_t *out) {
  return col >= (uint32_t)a->col_begin && col + 16 <= (uint32_t)a->col_end &&
         ((uintptr_t)out & 15u) == 0;
}

/* Whole sixteens of a row. Returns 0 if some of the lane's are not done. */
MXG_DEVICE int mxg_combine_row(const mxg_gpu_args *a, mxg_element element, int fused, int native,
                               int weighted, int narrow, const mxg_source *sources, uint8_t *y) {
  const size_t width = mxg_dtype_bytes(a->dtype);
  const uint32_t begin = (uint32_t)a->col_begin / 16 * 16, end = (uint32_t)a->col_end;
  int all = 1;
  for (uint32_t col = begin + mxg_thread() * 16; col < end; col += a->threads * 16) {
    float sum[16];
    uint8_t *const out = y + col * width;
    if (!mxg_is_whole_16(a, col, out)) continue;
    all &= mxg_combine_16(a, element, fused, native, weighted, narrow, sources, col, sum);
    mxg_store_8(out, a->dtype, sum);
    mxg_store_8(out + 8 * width, a->dtype, sum + 8);
  }
  return all;
}

/* Blocks a multiple of 16 elements; slots and y at any address. */
MXG_DEVICE void mxg_combine_vector(const mxg_gpu_args *a, mxg_element element, int fused,
                                   int native) {
  /* Two rows' lists take turns, so that one barrier a row is enough. */
  MXG_SHARED mxg_source lists[2][MXG_SOURCES_MAX];
  const size_t live = mxg_live_rows(a), width = mxg_dtype_bytes(a->dtype);
  const uint32_t begin = (uint32_t)a->col_begin, end = (uint32_t)a->col_end;
  const uint32_t top_k = (uint32_t)a->top_k, unit = element == MXG_ELEMENT_E2M1 ? 8 : 16;
  uint32_t turn = 0;
  for (size_t row = mxg_group(); row < live; row += a->groups, turn ^= 1) {
    mxg_source *const sources = lists[turn];
    uint8_t *const y = a->y + row * a->value_stride_bytes;
    int all, narrow;
    for (uint32_t k = mxg_thread(); k < mxg_round_up(top_k, MXG_SOURCES_IN_FLIGHT); k += a->threads)
      sources[k] = mxg_source_at(a, row, k, unit);
    mxg_barrier();
    narrow = mxg_any_is_narrow(sources, top_k);
    if (a->weight != NULL)
      all = narrow ? mxg_combine_row(a, element, fused, native, 1, 1, sources, y)
                   : mxg_combine_row(a, element, fused, native, 1, 0, sources, y);
    else
      all = narrow ? mxg_combine_row(a, element, fused, native, 0, 1, sources, y)
                   : mxg_combine_row(a, element, fused, native, 0, 0, sources, y);
    for (uint32_t col = begin / 16 * 16 + mxg_thread() * 16; col < end; col += a->threads * 16)
      if (!all || !mxg_is_whole_16(a, col, y + col * width))
        mxg_combine_columns(a, fused, row, col < begin ? begin : col,
                            col + 16 < end ? col + 16 : end, 1);
  }
}

#endif
