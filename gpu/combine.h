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

/* ---- a strip of columns at a time: 16 bytes of codes ---- */

#define MXG_SOURCES_MAX 64
#define MXG_STRIP_COLS(element) MXG_GPU_STRIP(mxg_element_traits(element).bits)
#define MXG_IN_FLIGHT 4 /* sources that a lane loads before it adds the first */

#define MXG_SOURCE_PRESENT 1u
#define MXG_SOURCE_SCALED 2u /* its scales apply */
#define MXG_SOURCE_NARROW 4u /* a strip of its codes, or a scale, is not aligned for one load */

/* A source of a row, read once by the group. */
typedef struct mxg_source {
  const uint8_t *slot;
  float weight;
  uint32_t flags; /* 0: missing */
} mxg_source;

MXG_DEVICE mxg_source mxg_source_at(const mxg_gpu_args *a, size_t row, uint32_t k) {
  const size_t index = row * a->top_k + k;
  mxg_source s = {NULL, 1.0f, 0};
  const uint8_t *scales;
  if (k < a->top_k) s.slot = mxg_slot_at(a, index);
  if (s.slot == NULL) return s;
  s.flags = MXG_SOURCE_PRESENT;
  scales = s.slot + a->layout.scale_offset_bytes;
  if (a->weight != NULL) s.weight = mxg_f32_from_bits(mxg_load_word(a->weight + 4 * index));
  if (mxg_row_is_scaled(a, scales)) s.flags |= MXG_SOURCE_SCALED;
  if (((uintptr_t)s.slot & 15u) != 0 ||
      ((uintptr_t)scales & (a->layout.scale_bytes == 4 ? 3u : 0u)) != 0)
    s.flags |= MXG_SOURCE_NARROW;
  return s;
}

/* The sources of a row, and missing ones up to a multiple of those in flight. All lanes of a wave. */
MXG_DEVICE void mxg_list_sources(const mxg_gpu_args *a, size_t row, mxg_source *sources) {
  const uint32_t count = (uint32_t)mxg_round_up(a->top_k, MXG_IN_FLIGHT);
  for (uint32_t k = mxg_thread() % MXG_LANES; k < count; k += MXG_LANES)
    sources[k] = mxg_source_at(a, row, k);
}

/* What a lane has loaded of a source. */
typedef struct mxg_loaded {
  uint32_t codes[4], scale;
} mxg_loaded;

/* A strip of codes and its scale, at these offsets in a slot. e8m0: of the scales, a constant. */
MXG_DEVICE void mxg_load_source(const mxg_source *s, int e8m0, uint32_t offset, size_t scale_offset,
                                mxg_loaded *loaded) {
  const uint8_t *const codes = s->slot + offset, *const scale = s->slot + scale_offset;
  const uint32_t flags = s->flags;
  loaded->scale = 0;
  if ((flags & MXG_SOURCE_PRESENT) == 0) return;
  if ((flags & MXG_SOURCE_NARROW) != 0) {
    MXG_UNROLL
    for (uint32_t i = 0; i < 4; i++) loaded->codes[i] = mxg_load_word(codes + 4 * i);
    if ((flags & MXG_SOURCE_SCALED) != 0) loaded->scale = e8m0 ? *scale : mxg_load_word(scale);
    return;
  }
  MXG_IS_GLOBAL(codes);
  MXG_IS_GLOBAL(scale);
  mxg_load16(codes, loaded->codes);
  if ((flags & MXG_SOURCE_SCALED) == 0) return;
  if (e8m0)
    loaded->scale = *scale;
  else
    mxg_load4(scale, &loaded->scale);
}

/* A whole strip of columns from `col` on. 0: a scale is out of the range of this arithmetic.
 * element, fused, native, weighted, e8m0: constants. */
MXG_DEVICE int mxg_combine_strip(const mxg_gpu_args *a, mxg_element element, int fused, int native,
                                 int weighted, int e8m0, const mxg_source *sources, uint32_t col,
                                 float *sum) {
  const float unit = mxg_decode_unit(element, native);
  const uint32_t bits = (uint32_t)mxg_element_traits(element).bits, top_k = (uint32_t)a->top_k;
  const uint32_t offset = col / 8 * bits, vectors = MXG_STRIP_COLS(element) / 8;
  const size_t block = a->layout.scales_used != 0 ? mxg_block_index(a, col) : 0;
  const size_t scale_offset = a->layout.scale_offset_bytes + block * (e8m0 ? 1 : 4);
  const uint32_t magnitude = block == 0 && mxg_is_marked(a) ? ~MXG_F32_SIGN : ~0u;
  int in_range = 1;
  MXG_UNROLL
  for (uint32_t i = 0; i < vectors * 8; i++) sum[i] = 0.0f;
  for (uint32_t from = 0; from < top_k; from += MXG_IN_FLIGHT) {
    mxg_loaded loaded[MXG_IN_FLIGHT];
    MXG_UNROLL
    for (uint32_t j = 0; j < MXG_IN_FLIGHT; j++)
      mxg_load_source(&sources[from + j], e8m0, offset, scale_offset, &loaded[j]);
    MXG_UNROLL
    for (uint32_t j = 0; j < MXG_IN_FLIGHT; j++) {
      const float weight = sources[from + j].weight;
      const uint32_t flags = sources[from + j].flags;
      float s = unit;
      if ((flags & MXG_SOURCE_PRESENT) == 0) continue;
      if ((flags & MXG_SOURCE_SCALED) != 0)
        s = unit * mxg_f32_from_bits(e8m0 ? mxg_e8m0_bits(a->recipe.edges, loaded[j].scale)
                                          : loaded[j].scale & magnitude);
      if (unit != 1.0f) in_range &= mxg_f32_bits(mxg_fabs(s)) != MXG_F32_INF;
      MXG_UNROLL
      for (uint32_t k = 0; k < vectors; k++) {
        float t[8];
        mxg_decode_8(element, native, loaded[j].codes + k * bits / 4, t);
        MXG_UNROLL
        for (uint32_t i = 0; i < 8; i++)
          sum[8 * k + i] = mxg_add_source(sum[8 * k + i], t[i], s, fused, weighted, weight);
      }
    }
  }
  return in_range;
}

/* 1 if the columns [col, col + count) are all wanted, and out, their place, is aligned. */
MXG_DEVICE int mxg_is_whole(const mxg_gpu_args *a, uint32_t col, uint32_t count,
                            const uint8_t *out) {
  return col >= (uint32_t)a->col_begin && col + count <= (uint32_t)a->col_end &&
         ((uintptr_t)out & 15u) == 0;
}

/* Whole strips of a row. Returns 0 if some of the lane's are not done. */
MXG_DEVICE int mxg_combine_row(const mxg_gpu_args *a, mxg_element element, int fused, int native,
                               int weighted, int e8m0, const mxg_source *sources, uint8_t *y) {
  const uint32_t strip = MXG_STRIP_COLS(element), width = (uint32_t)mxg_dtype_bytes(a->dtype);
  const uint32_t begin = (uint32_t)a->col_begin / strip * strip, end = (uint32_t)a->col_end;
  int all = 1;
  for (uint32_t col = begin + mxg_thread() * strip; col < end; col += a->workers * strip) {
    float sum[32];
    uint8_t *const out = y + (size_t)col * width;
    if (!mxg_is_whole(a, col, strip, out)) continue;
    all &= mxg_combine_strip(a, element, fused, native, weighted, e8m0, sources, col, sum);
    MXG_UNROLL
    for (uint32_t k = 0; k < strip / 8; k++)
      mxg_store_8(out + 8 * k * width, a->dtype, sum + 8 * k);
  }
  return all;
}

/* A worker's columns of a row. */
MXG_DEVICE void mxg_combine_listed(const mxg_gpu_args *a, mxg_element element, int fused,
                                   int native, const mxg_source *sources, size_t row) {
  const uint32_t strip = MXG_STRIP_COLS(element), width = (uint32_t)mxg_dtype_bytes(a->dtype);
  const uint32_t begin = (uint32_t)a->col_begin, end = (uint32_t)a->col_end;
  const int e8m0 = a->recipe.scale == MXG_SCALE_E8M0;
  uint8_t *const y = a->y + row * a->value_stride_bytes;
  int all;
  if (a->weight != NULL)
    all = e8m0 ? mxg_combine_row(a, element, fused, native, 1, 1, sources, y)
               : mxg_combine_row(a, element, fused, native, 1, 0, sources, y);
  else
    all = e8m0 ? mxg_combine_row(a, element, fused, native, 0, 1, sources, y)
               : mxg_combine_row(a, element, fused, native, 0, 0, sources, y);
  for (uint32_t col = begin / strip * strip + mxg_thread() * strip; col < end;
       col += a->workers * strip)
    if (!all || !mxg_is_whole(a, col, strip, y + (size_t)col * width))
      mxg_combine_columns(a, fused, row, col < begin ? begin : col,
                          col + strip < end ? col + strip : end, 1);
}

/* Blocks a multiple of a strip; slots and y at any address. The last wave of a group lists the
 * sources of the next row while the others, the workers, add those of this one. */
MXG_DEVICE void mxg_combine_vector(const mxg_gpu_args *a, mxg_element element, int fused,
                                   int native) {
  MXG_SHARED mxg_source lists[2][MXG_SOURCES_MAX];
  const size_t live = mxg_live_rows(a);
  const int is_worker = mxg_thread() < a->workers;
  uint32_t turn = 0;
  if (mxg_group() < live && !is_worker) mxg_list_sources(a, mxg_group(), lists[0]);
  mxg_barrier();
  for (size_t row = mxg_group(); row < live; row += a->groups, turn ^= 1) {
    if (is_worker)
      mxg_combine_listed(a, element, fused, native, lists[turn], row);
    else if (row + a->groups < live)
      mxg_list_sources(a, row + a->groups, lists[turn ^ 1]);
    mxg_barrier();
  }
}

#endif
