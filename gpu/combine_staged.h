/* combine_staged.h: combine of FP4 where the chip copies to shared memory by itself. The last wave of a
 * group, the lister, starts the copies of a row's slots while the others, the workers, add those of the
 * row before, so that no register waits for memory and a lane can have more columns: an element costs
 * little but its arithmetic.
 *
 * Row number n of a group has the stage n % 2 and the list n % 4. `filled` of a stage ends a phase when
 * its list is written and its slots are there, `empty` when all workers have done with them. The lister
 * is a list ahead of the copies. A row with a misaligned source is listed, and not copied.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_COMBINE_STAGED_H
#define MXGOLD_GPU_COMBINE_STAGED_H

#define MXG_WIDE MXG_GPU_STAGED_STRIP

/* A lane's columns from `col` on, all of whose codes are in the stage. 0: a scale is out of range. */
MXG_DEVICE int mxg_staged_strip(const mxg_gpu_args *a, mxg_combine_form form,
                                const mxg_source_list *list, const uint8_t *stage, uint32_t col,
                                mxg_strip_scales scales, float *sum) {
  const mxg_source *source = list->sources, *const end = source + list->count;
  const int32_t to_scale = (int32_t)(scales.offset - col / 2);
  const uint8_t *at = stage + col / 2;
  MXG_UNROLL
  for (uint32_t i = 0; i < MXG_WIDE; i++) sum[i] = 0.0f;
  MXG_NO_UNROLL
  do { /* there is one at least */
    const float weight = source->weight;
    uint32_t codes[4], stored;
    mxg_load16(at, codes);
    if (form.e8m0)
      stored = at[to_scale];
    else
      mxg_load4(at + to_scale, &stored);
    mxg_add_strip(form, MXG_WIDE, codes,
                  mxg_strip_scale(a, form, &scales, stored, source->scaled, weight), weight, sum);
    at += a->stage_bytes;
  } while (++source < end);
  return scales.largest < MXG_F32_INF;
}

/* Stores a wave's strips of bf16 or f16, side by side. A lane's 64 bytes go through the stage to the
 * lanes that store them, 16 bytes at a time to the same 512 bytes: there, codes of the first four slots
 * that only this wave has read. The places of the 16 bytes are permuted so that no two lanes of eight
 * meet in a bank. dtype: a constant. All lanes of a wave. */
MXG_DEVICE void mxg_store_wave(const mxg_gpu_args *a, mxg_dtype dtype, uint8_t *stage,
                               uint32_t begin, const float *sum, uint8_t *y) {
  const uint32_t lane = mxg_thread() % MXG_LANES, parts = MXG_LANES / 4;
  uint8_t *const mine = stage + lane / parts * a->stage_bytes + begin / 2 + lane % parts * 64;
  mxg_wave_sync();
  MXG_UNROLL
  for (uint32_t k = 0; k < 4; k++)
    mxg_store_8(mine + 16 * (k ^ (lane >> 1 & 3u)), dtype, sum + 8 * k);
  mxg_wave_sync();
  MXG_UNROLL
  for (uint32_t k = 0; k < 4; k++) {
    uint32_t w[4];
    mxg_load16(stage + k * a->stage_bytes + begin / 2 + lane / 4 * 64 +
                   16 * ((lane & 3u) ^ (lane >> 3 & 3u)),
               w);
    mxg_store16(y + begin * 2 + 512 * k + 16 * lane, w);
  }
  mxg_wave_sync();
}

/* A worker's columns of a row, which is staged. Returns 0 if some of the lane's are not done. */
MXG_DEVICE int mxg_staged_row(const mxg_gpu_args *a, mxg_combine_form form, int weighted, int e8m0,
                              const mxg_source_list *list, uint8_t *stage, uint32_t row) {
  const uint32_t width = (uint32_t)mxg_dtype_bytes(a->dtype), cols = (uint32_t)a->layout.cols;
  const uint32_t lane = mxg_thread() % MXG_LANES, begin = (mxg_thread() - lane) * MXG_WIDE;
  uint8_t *const y = a->y + row * a->value_stride_bytes;
  mxg_combine_form folded;
  int all = 1;
  form.weighted = weighted;
  form.e8m0 = e8m0;
  folded = form;
  folded.folded = weighted && e8m0;
  for (uint32_t at = begin; at < cols; at += a->workers * MXG_WIDE) {
    const uint32_t col = at + lane * MXG_WIDE;
    const mxg_strip_scales scales = mxg_scales_at(a, form, col);
    float sum[MXG_WIDE];
    if (col < cols) {
      int done = mxg_staged_strip(a, folded, list, stage, col, scales, sum);
      if (folded.folded && !done) done = mxg_staged_strip(a, form, list, stage, col, scales, sum);
      all &= done;
    }
    if (width == 2 && at + MXG_LANES * MXG_WIDE <= cols) {
      if (a->dtype == MXG_DTYPE_BF16)
        mxg_store_wave(a, MXG_DTYPE_BF16, stage, at, sum, y);
      else
        mxg_store_wave(a, MXG_DTYPE_F16, stage, at, sum, y);
    } else if (col < cols) {
      MXG_UNROLL
      for (uint32_t k = 0; k < MXG_WIDE / 8; k++)
        mxg_store_8(y + (size_t)(col + 8 * k) * width, a->dtype, sum + 8 * k);
    }
  }
  return all;
}

/* Starts the copies of a listed row. All lanes of a wave. */
MXG_DEVICE void mxg_copy_sources(const mxg_gpu_args *a, const mxg_source_list *list, uint8_t *stage,
                                 mxg_bulk_barrier *filled) {
  const uint32_t lane = mxg_thread() % MXG_LANES, count = list->narrow ? 0 : list->count;
  if (lane == 0) mxg_bulk_expect(filled, count * a->stage_bytes);
  if (lane < count)
    mxg_bulk_copy(stage + lane * a->stage_bytes, list->sources[lane].slot, a->stage_bytes, filled);
}

/* A lane's source of a row to come: what was loaded of it, and not looked at. */
typedef struct mxg_coming {
  const uint8_t *slot;
  uint32_t mark;
  float weight;
} mxg_coming;

MXG_DEVICE const uint8_t *mxg_coming_slot(const mxg_gpu_args *a, uint32_t row, uint32_t live) {
  const uint32_t lane = mxg_thread() % MXG_LANES, top_k = (uint32_t)a->top_k;
  if (row >= live || lane >= top_k) return NULL;
  return ((const uint8_t *const *)(const void *)a->slots)[(size_t)row * top_k + lane];
}

MXG_DEVICE mxg_coming mxg_coming_source(const mxg_gpu_args *a, uint32_t row, const uint8_t *slot) {
  const size_t index = (size_t)row * a->top_k + mxg_thread() % MXG_LANES;
  mxg_coming s = {slot, 0, 1.0f};
  if (slot == NULL) return s;
  if (mxg_is_marked(a) && !mxg_is_narrow(a, slot))
    mxg_load4(slot + a->layout.scale_offset_bytes, &s.mark);
  if (a->weight != NULL) s.weight = ((const float *)(const void *)a->weight)[index];
  return s;
}

/* As mxg_list_sources(); a row without sources is narrow. All lanes of a wave. */
MXG_DEVICE void mxg_list_coming(const mxg_gpu_args *a, const mxg_coming *coming,
                                mxg_source_list *list) {
  const uint32_t lane = mxg_thread() % MXG_LANES;
  const uint64_t present = mxg_ballot(coming->slot != NULL);
  const uint32_t count = mxg_count_bits(present);
  const int narrow = mxg_ballot(coming->slot != NULL && mxg_is_narrow(a, coming->slot)) != 0;
  if (coming->slot != NULL) {
    const uint32_t at = mxg_count_bits(present & (((uint64_t)1 << lane) - 1u));
    mxg_source s = {coming->slot, coming->weight, 0};
    if (!mxg_is_marked(a) || narrow)
      s.scaled = mxg_row_is_scaled(a, s.slot + a->layout.scale_offset_bytes) ? ~0u : 0u;
    else
      s.scaled = mxg_is_mark(coming->mark) ? ~0u : 0u;
    list->sources[at] = s;
    if (at == 0)
      for (uint32_t i = count; i < mxg_round_up(count, MXG_IN_FLIGHT_MAX); i++)
        list->sources[i] = s;
  }
  if (lane == 0) {
    list->count = count;
    list->narrow = narrow || count == 0;
  }
  mxg_wave_sync();
}

/* The lister: loads for the rows after the next one are under way while it waits. */
MXG_DEVICE void mxg_stage_rows(const mxg_gpu_args *a, uint32_t live, mxg_source_list *lists,
                               uint8_t *stages, mxg_bulk_barrier *filled, mxg_bulk_barrier *empty) {
  const uint32_t step = a->groups, stage_size = a->shared_bytes / 2;
  uint32_t row = mxg_group();
  mxg_coming coming = mxg_coming_source(a, row, mxg_coming_slot(a, row, live));
  const uint8_t *slot = mxg_coming_slot(a, row + step, live);
  mxg_list_coming(a, &coming, &lists[0]);
  for (uint32_t n = 0; row < live; n++, row += step) {
    coming = mxg_coming_source(a, row + step, slot);
    slot = mxg_coming_slot(a, row + 2 * step, live);
    if (n >= 2) mxg_bulk_wait(&empty[n & 1], (n >> 1 & 1) ^ 1);
    mxg_copy_sources(a, &lists[n & 3], stages + (n & 1) * stage_size, &filled[n & 1]);
    mxg_list_coming(a, &coming, &lists[(n + 1) & 3]);
  }
}

MXG_DEVICE void mxg_combine_staged(const mxg_gpu_args *a, mxg_combine_form form,
                                   mxg_source_list *lists) {
  MXG_SHARED mxg_bulk_barrier filled[2], empty[2];
  uint8_t *const stages = MXG_DYNAMIC_SHARED();
  const uint32_t live = (uint32_t)mxg_live_rows(a);
  const int e8m0 = a->recipe.scale == MXG_SCALE_E8M0;
  uint32_t n = 0;
  if (mxg_thread() == a->workers) {
    for (uint32_t i = 0; i < 2; i++) {
      mxg_bulk_init(&filled[i], 1);
      mxg_bulk_init(&empty[i], a->workers / MXG_LANES);
    }
  }
  mxg_barrier();
  if (mxg_thread() >= a->workers) {
    mxg_stage_rows(a, live, lists, stages, filled, empty);
    return;
  }
  for (uint32_t row = mxg_group(); row < live; row += a->groups) {
    const mxg_source_list *const list = &lists[n & 3];
    uint8_t *const stage = stages + (n & 1) * (a->shared_bytes / 2);
    int all = 1;
    mxg_bulk_wait(&filled[n & 1], n >> 1 & 1);
    if (list->narrow)
      mxg_combine_listed(a, form, list, row);
    else if (a->weight != NULL)
      all = e8m0 ? mxg_staged_row(a, form, 1, 1, list, stage, row)
                 : mxg_staged_row(a, form, 1, 0, list, stage, row);
    else
      all = e8m0 ? mxg_staged_row(a, form, 0, 1, list, stage, row)
                 : mxg_staged_row(a, form, 0, 0, list, stage, row);
    if (!all)
      for (uint32_t col = mxg_thread() * MXG_WIDE; col < (uint32_t)a->layout.cols;
           col += a->workers * MXG_WIDE)
        mxg_combine_columns(a, form.fused, row, col, col + MXG_WIDE, 1);
    mxg_bulk_release();
    mxg_wave_sync();
    if (mxg_thread() % MXG_LANES == 0) mxg_bulk_arrive(&empty[n & 1]);
    n++;
  }
}

#endif
