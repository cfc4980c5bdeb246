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

/* ---- a strip of columns at a time ---- */

#define MXG_SOURCES_MAX 64
#define MXG_STRIP MXG_GPU_COMBINE_STRIP
/* Sources that a lane loads before it adds the first: 64 bytes of codes. */
#define MXG_IN_FLIGHT(bits) (512u / MXG_STRIP / (uint32_t)(bits))
#define MXG_IN_FLIGHT_MAX MXG_IN_FLIGHT(4)

/* A source of a row, read once by the group. */
typedef struct MXG_ALIGNED(16) mxg_source {
  const uint8_t *slot;
  float weight;
  uint32_t scaled; /* ~0: its scales apply; 0: they do not */
} mxg_source;

/* Those that are present, in order; then the first again, up to a multiple of those in flight. */
typedef struct mxg_source_list {
  mxg_source sources[MXG_SOURCES_MAX];
  uint32_t count; /* present */
  int narrow;     /* codes of a strip, or a scale, are not aligned for one load */
} mxg_source_list;

/* A source that is not missing. */
MXG_DEVICE mxg_source mxg_source_at(const mxg_gpu_args *a, size_t index) {
  mxg_source s = {mxg_slot_at(a, index), 1.0f, 0};
  if (mxg_row_is_scaled(a, s.slot + a->layout.scale_offset_bytes)) s.scaled = ~0u;
  if (a->weight != NULL) s.weight = mxg_f32_from_bits(mxg_load_word(a->weight + 4 * index));
  return s;
}

MXG_DEVICE int mxg_is_narrow(const mxg_gpu_args *a, const uint8_t *slot) {
  const uint8_t *const scales = slot + a->layout.scale_offset_bytes;
  return ((uintptr_t)slot & 15u) != 0 ||
         ((uintptr_t)scales & (a->layout.scale_bytes == 4 ? 3u : 0u)) != 0;
}

/* All lanes of a wave. */
MXG_DEVICE void mxg_list_sources(const mxg_gpu_args *a, size_t row, mxg_source_list *list) {
  const uint32_t lane = mxg_thread() % MXG_LANES, top_k = (uint32_t)a->top_k;
  const uint64_t below = ((uint64_t)1 << lane) - 1u;
  mxg_source s = {NULL, 1.0f, 0}, first = s;
  uint32_t count = 0;
  int narrow = 0;
  for (uint32_t from = 0; from < top_k; from += MXG_LANES) {
    const size_t index = row * top_k + from + lane;
    const int is_present = from + lane < top_k && mxg_slot_at(a, index) != NULL;
    const uint64_t present = mxg_ballot(is_present);
    if (is_present) {
      const uint32_t at = count + mxg_count_bits(present & below);
      s = mxg_source_at(a, index);
      narrow |= mxg_is_narrow(a, s.slot);
      list->sources[at] = s;
      if (at == 0) first = s;
    }
    count += mxg_count_bits(present);
  }
  narrow = mxg_ballot(narrow) != 0;
  if (first.slot != NULL)
    for (uint32_t i = count; i < mxg_round_up(count, MXG_IN_FLIGHT_MAX); i++)
      list->sources[i] = first;
  if (lane != 0) return;
  list->count = count;
  list->narrow = narrow;
}

/* What a lane has loaded of a source. */
typedef struct mxg_loaded {
  uint32_t codes[4], scale; /* the scale as stored */
} mxg_loaded;

/* A strip of codes and its scale, at these offsets in a slot. bits, e8m0, narrow: constants. */
MXG_DEVICE void mxg_load_source(const mxg_source *s, int bits, int e8m0, int narrow,
                                uint32_t offset, size_t scale_offset, mxg_loaded *loaded) {
  const uint8_t *const codes = s->slot + offset, *const scale = s->slot + scale_offset;
  if (narrow) {
    MXG_UNROLL
    for (uint32_t i = 0; i < MXG_STRIP * (uint32_t)bits / 32; i++)
      loaded->codes[i] = mxg_load_word(codes + 4 * i);
    loaded->scale = e8m0 ? *scale : mxg_load_word(scale);
    return;
  }
  MXG_IS_GLOBAL(codes);
  MXG_IS_GLOBAL(scale);
  if (MXG_STRIP * (uint32_t)bits == 64)
    mxg_load8(codes, loaded->codes);
  else
    mxg_load16(codes, loaded->codes);
  if (e8m0)
    loaded->scale = *scale;
  else
    mxg_load4(scale, &loaded->scale);
}

/* What is constant in a kernel or in one of its branches. */
typedef struct mxg_combine_form {
  mxg_element element;
  int fused, native, weighted, e8m0, narrow;
  int folded; /* the weight is in the scale: exact, of powers of two */
} mxg_combine_form;

/* Adds a strip of codes, with scale s in the unit of the decoder. cols: a constant */
MXG_DEVICE void mxg_add_strip(mxg_combine_form form, uint32_t cols, const uint32_t *codes, float s,
                              float weight, float *sum) {
  const uint32_t bits = (uint32_t)mxg_element_traits(form.element).bits;
  MXG_UNROLL
  for (uint32_t k = 0; k < cols / 8; k++) {
    float t[8];
    mxg_decode_8(form.element, form.native, codes + k * bits / 4, t);
    MXG_UNROLL
    for (uint32_t i = 0; i < 8; i++)
      sum[8 * k + i] = mxg_add_source(sum[8 * k + i], t[i], s, form.fused,
                                      form.weighted && !form.folded, weight);
  }
}

/* s, a power of two, times w is exact. */
MXG_DEVICE int mxg_is_exact(float s, float w, float product) {
  return product * mxg_f32_from_bits(0x7F000000u - mxg_f32_bits(s)) == w;
}

/* What a lane needs of the scales of its strip. */
typedef struct mxg_strip_scales {
  uint32_t offset;    /* in a slot */
  uint32_t magnitude; /* bits of a stored float that count */
  uint32_t largest;   /* scale met; Inf: one was out of the range of this arithmetic */
} mxg_strip_scales;

MXG_DEVICE mxg_strip_scales mxg_scales_at(const mxg_gpu_args *a, mxg_combine_form form,
                                          uint32_t col) {
  mxg_strip_scales s = {0, ~0u, 0};
  if (a->layout.scales_used != 0) {
    const size_t block = mxg_block_index(a, col);
    s.offset = (uint32_t)(a->layout.scale_offset_bytes + block * (form.e8m0 ? 1 : 4));
    if (block == 0 && mxg_is_marked(a)) s.magnitude = ~MXG_F32_SIGN;
  }
  return s;
}

/* A scale as stored, in the unit of the decoder. */
MXG_DEVICE float mxg_strip_scale(const mxg_gpu_args *a, mxg_combine_form form,
                                 mxg_strip_scales *scales, uint32_t stored, uint32_t scaled,
                                 float weight) {
  const float unit = mxg_decode_unit(form.element, form.native);
  float s = mxg_f32_from_bits(
      form.e8m0 ? mxg_max_u32(stored << 23, mxg_e8m0_bits(a->recipe.edges, 0))
                : (stored & scales->magnitude & scaled) | (0x3F800000u & ~scaled));
  if (unit != 1.0f) s = s * unit;
  if (unit != 1.0f || form.e8m0)
    scales->largest = mxg_max_u32(scales->largest, mxg_f32_bits(mxg_fabs(s)));
  if (form.folded) {
    const float product = s * weight;
    if (!mxg_is_exact(s, weight, product)) scales->largest = MXG_F32_INF;
    s = product;
  }
  return s;
}

/* A whole strip of columns from `col` on. 0: a scale is out of the range of this arithmetic. */
MXG_DEVICE int mxg_combine_strip(const mxg_gpu_args *a, mxg_combine_form form,
                                 const mxg_source_list *list, uint32_t col, float *sum) {
  const int bits = mxg_element_traits(form.element).bits;
  const uint32_t offset = col / 8 * (uint32_t)bits, count = list->count;
  const uint32_t in_flight = form.narrow ? 1 : MXG_IN_FLIGHT(bits);
  mxg_strip_scales scales = mxg_scales_at(a, form, col);
  MXG_UNROLL
  for (uint32_t i = 0; i < MXG_STRIP; i++) sum[i] = 0.0f;
  MXG_NO_UNROLL
  for (uint32_t from = 0; from < count; from += in_flight) {
    mxg_loaded loaded[MXG_IN_FLIGHT_MAX];
    MXG_UNROLL
    for (uint32_t j = 0; j < in_flight; j++)
      mxg_load_source(&list->sources[from + j], bits, form.e8m0, form.narrow, offset, scales.offset,
                      &loaded[j]);
    MXG_FORGET();
    MXG_UNROLL
    for (uint32_t j = 0; j < in_flight; j++) {
      const mxg_source *const source = &list->sources[from + j];
      float s;
      if (from + j >= count) continue;
      s = mxg_strip_scale(a, form, &scales, loaded[j].scale, source->scaled, source->weight);
      mxg_add_strip(form, MXG_STRIP, loaded[j].codes, s, source->weight, sum);
    }
  }
  return scales.largest < MXG_F32_INF;
}

/* 1 if the strip from col on is all wanted, and out, its place, is aligned. */
MXG_DEVICE int mxg_is_whole(const mxg_gpu_args *a, uint32_t col, const uint8_t *out) {
  return col >= (uint32_t)a->col_begin && col + MXG_STRIP <= (uint32_t)a->col_end &&
         ((uintptr_t)out & 15u) == 0;
}

/* Whole strips of a row. Returns 0 if some of the lane's are not done. */
MXG_DEVICE int mxg_combine_row(const mxg_gpu_args *a, mxg_combine_form form,
                               const mxg_source_list *list, uint32_t worker, uint8_t *y) {
  const uint32_t width = (uint32_t)mxg_dtype_bytes(a->dtype), end = (uint32_t)a->col_end;
  const uint32_t begin = (uint32_t)a->col_begin / MXG_STRIP * MXG_STRIP;
  const int fold = form.weighted && form.e8m0 && !form.narrow &&
                   mxg_decode_unit(form.element, form.native) != 1.0f;
  mxg_combine_form folded = form;
  int all = 1;
  folded.folded = 1;
  for (uint32_t col = begin + worker * MXG_STRIP; col < end; col += a->workers * MXG_STRIP) {
    float sum[MXG_STRIP];
    uint8_t *const out = y + (size_t)col * width;
    if (!mxg_is_whole(a, col, out)) continue;
    all &= (fold && mxg_combine_strip(a, folded, list, col, sum)) ||
           mxg_combine_strip(a, form, list, col, sum);
    MXG_UNROLL
    for (uint32_t k = 0; k < MXG_STRIP / 8; k++)
      mxg_store_8(out + 8 * k * width, a->dtype, sum + 8 * k);
  }
  return all;
}

/* A worker's columns of a row. */
MXG_DEVICE void mxg_combine_listed(const mxg_gpu_args *a, mxg_combine_form form,
                                   const mxg_source_list *list, uint32_t worker, size_t row) {
  const uint32_t begin = (uint32_t)a->col_begin, end = (uint32_t)a->col_end;
  const uint32_t width = (uint32_t)mxg_dtype_bytes(a->dtype);
  uint8_t *const y = a->y + row * a->value_stride_bytes;
  int all = 1;
#define MXG_FORM(weighted_, e8m0_, narrow_)                                                   \
  if ((a->weight != NULL) == (weighted_) && (a->recipe.scale == MXG_SCALE_E8M0) == (e8m0_) && \
      list->narrow == (narrow_)) {                                                            \
    form.weighted = weighted_;                                                                \
    form.e8m0 = e8m0_;                                                                        \
    form.narrow = narrow_;                                                                    \
    all = mxg_combine_row(a, form, list, worker, y);                                          \
  } else
  MXG_FORM(0, 0, 0)
  MXG_FORM(0, 0, 1)
  MXG_FORM(0, 1, 0)
  MXG_FORM(0, 1, 1)
  MXG_FORM(1, 0, 0)
  MXG_FORM(1, 0, 1)
  MXG_FORM(1, 1, 0)
  MXG_FORM(1, 1, 1) {}
#undef MXG_FORM
  for (uint32_t col = begin / MXG_STRIP * MXG_STRIP + worker * MXG_STRIP; col < end;
       col += a->workers * MXG_STRIP)
    if (!all || !mxg_is_whole(a, col, y + (size_t)col * width))
      mxg_combine_columns(a, form.fused, row, col < begin ? begin : col,
                          col + MXG_STRIP < end ? col + MXG_STRIP : end, 1);
}

#if MXG_HAS_BULK
#include "combine_staged.h"
#endif

/* Blocks a multiple of a strip; slots and y at any address. The last wave of a group lists the
 * sources of the next row while the others, the workers, add those of this one. */
MXG_DEVICE void mxg_combine_vector(const mxg_gpu_args *a, mxg_element element, int fused,
                                   int native) {
  MXG_SHARED mxg_source_list lists[4]; /* two of them here */
  const size_t live = mxg_live_rows(a);
  const int is_worker = mxg_thread() < a->workers;
  const mxg_combine_form form = {element, fused, native, 0, 0, 0, 0};
  uint32_t turn = 0;
#if MXG_HAS_BULK
  if (element == MXG_ELEMENT_E2M1 && a->stage_bytes != 0) {
    mxg_combine_staged(a, form, lists);
    return;
  }
#endif
  if (mxg_group() < live && !is_worker) mxg_list_sources(a, mxg_group(), &lists[0]);
  mxg_barrier();
  for (size_t row = mxg_group(); row < live; row += a->groups, turn ^= 1) {
    if (is_worker)
      mxg_combine_listed(a, form, &lists[turn], mxg_thread(), row);
    else if (row + a->groups < live)
      mxg_list_sources(a, row + a->groups, &lists[turn ^ 1]);
    mxg_barrier();
  }
}

#endif
