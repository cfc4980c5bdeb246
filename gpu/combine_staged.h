/* combine_staged.h: combine of FP4 where the chip copies to shared memory by itself. One wave of a group
 * starts the copies of a row's slots while the others add those of the row before, so that no register
 * waits for memory and a lane can have more columns: an element costs little but its arithmetic. The
 * waves take turns, since a wave's number chooses the scheduler that issues for it: with the same wave
 * always apart, one of four schedulers would have half the work of the others.
 *
 * Row number n of a group has the stage n % 2 and the list n % 4. `listed` n % 2 ends a phase when a list
 * is written, `filled` when the slots of a stage are there, `empty` when all have done with them. The
 * lists are a row ahead of the copies. A row with a misaligned source is listed, and not copied.
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
                              const mxg_source_list *list, uint8_t *stage, uint32_t worker,
                              uint32_t row) {
  const uint32_t width = (uint32_t)mxg_dtype_bytes(a->dtype), cols = (uint32_t)a->layout.cols;
  const uint32_t lane = worker % MXG_LANES, begin = (worker - lane) * MXG_WIDE;
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
  mxg_wave_sync();
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

typedef struct mxg_staging {
  mxg_source_list *lists;
  uint8_t *stages;
  mxg_bulk_barrier *listed, *filled, *empty;
} mxg_staging;

/* Row number n of the group. All lanes of a wave; slot: of the lane. */
MXG_DEVICE void mxg_list_row(const mxg_gpu_args *a, const mxg_staging *s, uint32_t n, uint32_t row,
                             const uint8_t *slot) {
  const mxg_coming coming = mxg_coming_source(a, row, slot);
  mxg_list_coming(a, &coming, &s->lists[n & 3]);
  if (mxg_thread() % MXG_LANES == 0) mxg_bulk_arrive(&s->listed[n & 1]);
}

/* Starts the copies of row number n, not the first, and lists the next. All lanes of a wave. */
MXG_DEVICE void mxg_start_row(const mxg_gpu_args *a, const mxg_staging *s, uint32_t n, uint32_t row,
                              uint32_t live) {
  const uint32_t next = row + a->groups;
  const uint8_t *const slot = mxg_coming_slot(a, next, live); /* under way while it waits */
  mxg_wave_sync(); /* its arrivals are before its waits, for all lanes */
  mxg_bulk_wait(&s->listed[n & 1], n >> 1 & 1);
  if (n >= 2) mxg_bulk_wait(&s->empty[n & 1], (n >> 1 & 1) ^ 1);
  mxg_copy_sources(a, &s->lists[n & 3], s->stages + (n & 1) * (a->shared_bytes / 2),
                   &s->filled[n & 1]);
  mxg_list_row(a, s, n + 1, next, slot);
}

/* Adds the slots of row number n, which are there. worker: whose columns. */
MXG_DEVICE void mxg_add_row(const mxg_gpu_args *a, mxg_combine_form form, const mxg_staging *s,
                            uint32_t n, uint32_t worker, uint32_t row) {
  const mxg_source_list *const list = &s->lists[n & 3];
  uint8_t *const stage = s->stages + (n & 1) * (a->shared_bytes / 2);
  const int e8m0 = a->recipe.scale == MXG_SCALE_E8M0;
  int all = 1;
  if (list->narrow)
    mxg_combine_listed(a, form, list, worker, row);
  else if (a->weight != NULL)
    all = e8m0 ? mxg_staged_row(a, form, 1, 1, list, stage, worker, row)
               : mxg_staged_row(a, form, 1, 0, list, stage, worker, row);
  else
    all = e8m0 ? mxg_staged_row(a, form, 0, 1, list, stage, worker, row)
               : mxg_staged_row(a, form, 0, 0, list, stage, worker, row);
  if (!all)
    for (uint32_t col = worker * MXG_WIDE; col < (uint32_t)a->layout.cols;
         col += a->workers * MXG_WIDE)
      mxg_combine_columns(a, form.fused, row, col, col + MXG_WIDE, 1);
  mxg_bulk_release();
}

MXG_DEVICE void mxg_combine_staged(const mxg_gpu_args *a, mxg_combine_form form,
                                   mxg_source_list *lists) {
  MXG_SHARED mxg_bulk_barrier listed[2], filled[2], empty[2];
  MXG_SHARED uint32_t live; /* not in a register, which the sums need */
  const mxg_staging s = {lists, MXG_DYNAMIC_SHARED(), listed, filled, empty};
  const uint32_t waves = a->threads / MXG_LANES;
  const uint32_t wave = mxg_thread() / MXG_LANES;
  uint32_t row = mxg_group(), turn = wave + 1 < waves ? wave + 1 : 0; /* 0: to start the next row */
  if (mxg_thread() == 0) {
    live = (uint32_t)mxg_live_rows(a);
    for (uint32_t i = 0; i < 2; i++) {
      mxg_bulk_init(&listed[i], 1);
      mxg_bulk_init(&filled[i], 1);
      mxg_bulk_init(&empty[i], waves);
    }
  }
  mxg_barrier();
  if (turn < 2) { /* one wave lists the first row, another the second */
    const uint32_t n = 1 - turn, first = row + n * a->groups;
    mxg_list_row(a, &s, n, first, mxg_coming_slot(a, first, live));
    if (n == 0) mxg_copy_sources(a, lists, s.stages, &filled[0]);
  }
  for (uint32_t n = 0; row < live; n++, row += a->groups) {
    if (turn == 0 && row + a->groups < live)
      mxg_start_row(MXG_REREAD(a), &s, n + 1, row + a->groups, live);
    /* All waves wait for each phase, and none is two behind: a parity tells two apart. */
    mxg_bulk_wait(&filled[n & 1], n >> 1 & 1);
    if (turn != 0)
      mxg_add_row(MXG_REREAD(a), form, &s, n, (turn - 1) * MXG_LANES + mxg_thread() % MXG_LANES,
                  row);
    mxg_wave_sync();
    if (mxg_thread() % MXG_LANES == 0) mxg_bulk_arrive(&empty[n & 1]);
    turn = turn + 1 < a->threads / MXG_LANES ? turn + 1 : 0;
  }
}

#endif
