/* combine.h: sums of rows (section 6), a template over decode_*.h. For leaves only: include
 * decode_*.h before.
 *
 * A tile of columns stays in registers while the loop runs over the sources. Scales are made ready
 * 16 blocks at a time. Arithmetic is plain IEEE in the default environment, so Inf, NaN and
 * subnormals need no care but for what factors.h and the decoder decline: those columns go to the
 * portable kernel.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_COMBINE_H
#define MXG_SIMD_COMBINE_H

#include "factors.h"

/* Bytes ahead of the columns at work: rows are too many for the hardware to follow. */
#define MXG_PREFETCH 512

/* So few columns take the portable kernel less time than the registers to set up. */
#define MXG_FEW_COLUMNS 6

typedef struct mxg_row {    /* a source, ready to be summed */
  const uint8_t *codes;     /* of column 0 */
  float weight;             /* 1 if factors hold it */
  float factors[MXG_CHUNK]; /* of the chunk at work */
} mxg_row;

/* How a product is added. The first is the common one, and has copies of the loop to itself. */
typedef enum mxg_adding { MXG_ADDING_FMA, MXG_ADDING_OTHER } mxg_adding;

typedef struct mxg_sum {
  const mxg_combine_job *job;
  int fused;
  int two_steps; /* a product with the scale, then one with the weight; else factors hold both */
  mxg_row rows[MXG_MAX_TOP_K];
} mxg_sum;

static inline void mxg_combine_portably(const mxg_combine_job *job, size_t begin, size_t end) {
  mxg_combine_job part = *job;
  part.col_begin = begin;
  part.col_end = end;
  part.y = (uint8_t *)job->y + (begin - job->col_begin) * mxg_dtype_bytes(job->dtype);
  mxg_combine__portable(&part);
}

/* Factors times the weight. Exact products may be joined: an E8M0 scale is a power of two, and its
 * product with an element is exact, so fl(fl(t * s) * w) = fl(t * fl(s * w)) if fl(s * w) = s * w,
 * the fma likewise. Returns 0 where it is not. */
MXG_OP int mxg_join_weight(float weight, float f[MXG_CHUNK]) {
  const mxg_vector w = mxg_broadcast(weight);
  int ok = 1;
  MXG_UNROLL for (int i = 0; i < MXG_CHUNK; i += MXG_LANES) {
    const mxg_vector s = mxg_load(f + i), product = mxg_mul(s, w);
    ok &= !mxg_any_unequal(mxg_mul(product, mxg_rcp_power(s)), w);
    mxg_store(f + i, product);
  }
  return ok;
}

/* Factors of all sources, blocks [first, first + count). Returns 0 if the chunk is not for us. */
MXG_OP int mxg_prepare_chunk(mxg_sum *sum, int shift, size_t first, size_t count) {
  const mxg_combine_job *job = sum->job;
  const mxg_recipe *recipe = &job->plan->recipe;
  int join = job->weighted && recipe->scale != MXG_SCALE_F32;
  sum->two_steps = job->weighted && !join;
  for (size_t k = 0; k < job->source_count;) {
    const mxg_source *source = &job->sources[k];
    mxg_row *row = &sum->rows[k++];
    if (!mxg_factors(recipe, source->scales, source->first_negated, first, count, shift,
                     row->factors))
      return 0;
    row->weight = sum->two_steps ? source->weight : 1.0f;
    if (join && !mxg_join_weight(source->weight, row->factors)) {
      join = 0; /* once more from the first, with weights apart */
      sum->two_steps = 1;
      k = 0;
    }
  }
  return 1;
}

/* acc += t * f, or (t * f) * w */
MXG_OP mxg_vector mxg_accumulate_vector(const mxg_sum *sum, mxg_adding adding, mxg_vector t,
                                        mxg_vector f, mxg_vector w, mxg_vector acc) {
  mxg_vector product;
  if (adding == MXG_ADDING_FMA || (sum->fused && !sum->two_steps)) return mxg_fma(t, f, acc);
  product = mxg_mul(t, f);
  if (sum->two_steps) {
    if (sum->fused) return mxg_fma(product, w, acc);
    product = mxg_mul(product, w);
  }
  MXG_KEEP(product);
  return mxg_add(acc, product);
}

typedef struct mxg_blocks { /* of the two halves of a group, in the chunk */
  size_t first, second;
} mxg_blocks;

/* `groups` groups of all sources at byte `offset` of their codes, summed and written. Returns 0 if
 * the decoder declines. */
MXG_OP int mxg_sum_groups(const mxg_sum *sum, mxg_adding adding, mxg_decoder *d,
                          const mxg_writer *w, mxg_dtype dtype, size_t offset,
                          const mxg_blocks *blocks, int groups, uint8_t *y) {
  const size_t group_bytes = d->decoding == MXG_DECODING_FP4 ? MXG_GROUP / 2 : MXG_GROUP;
  const size_t value_bytes = mxg_dtype_bytes(dtype) * MXG_GROUP;
  const mxg_row *const end = sum->rows + sum->job->source_count;
  mxg_vector acc[MXG_TILE][MXG_VECTORS];
  int split[MXG_TILE];
  MXG_UNROLL for (int g = 0; g < groups; g++) {
    split[g] = blocks[g].first != blocks[g].second;
    MXG_UNROLL for (int v = 0; v < MXG_VECTORS; v++) acc[g][v] = mxg_zero();
  }
  mxg_decoder_begin(d);
  for (const mxg_row *row = sum->rows; row < end; row++) {
    const uint8_t *codes = row->codes + offset;
    MXG_UNROLL for (int g = 0; g < groups; g++) {
      const uint8_t *group = codes + (size_t)g * group_bytes;
      mxg_vector t[MXG_VECTORS], f[MXG_VECTORS], weight = mxg_zero();
      if ((size_t)g * group_bytes % 64 == 0) /* past the row at its end: an address, no pointer */
        MXG_PREFETCH_LINE((const void *)((uintptr_t)group + MXG_PREFETCH));
      mxg_decode(d, group, t);
      mxg_group_factors(d, row->factors + blocks[g].first, row->factors + blocks[g].second,
                        split[g], f);
      if (adding == MXG_ADDING_OTHER) weight = mxg_broadcast(row->weight);
      MXG_UNROLL for (int v = 0; v < MXG_VECTORS; v++) acc[g][v] =
          mxg_accumulate_vector(sum, adding, t[v], f[v], weight, acc[g][v]);
    }
  }
  if (mxg_decoder_declines(d)) return 0;
  MXG_UNROLL for (int g = 0; g < groups; g++)
      mxg_write(w, d, acc[g], dtype, y + (size_t)g * value_bytes);
  return 1;
}

/* Columns [begin, end) of the group at column col. Codes past end may not be read: where the group
 * is not all there, copies are decoded. */
MXG_OP int mxg_sum_part(mxg_sum *sum, mxg_decoder *d, const mxg_writer *w, mxg_dtype dtype,
                        size_t col, size_t begin, size_t end, const mxg_blocks *blocks) {
  const mxg_combine_job *job = sum->job;
  const size_t bits = d->decoding == MXG_DECODING_FP4 ? 4 : 8;
  const size_t value_bytes = mxg_dtype_bytes(dtype);
  const int whole = end - col == MXG_GROUP;
  uint8_t copies[MXG_MAX_TOP_K][MXG_GROUP], values[4 * MXG_GROUP];
  int ok;
  for (size_t k = 0; k < job->source_count && !whole; k++) {
    memset(copies[k], 0, MXG_GROUP);
    memcpy(copies[k], sum->rows[k].codes + col / 8 * bits, ((end - col) * bits + 7) / 8);
    sum->rows[k].codes = copies[k];
  }
  ok = mxg_sum_groups(sum, MXG_ADDING_OTHER, d, w, dtype, whole ? col / 8 * bits : 0, blocks, 1,
                      values);
  for (size_t k = 0; k < job->source_count && !whole; k++)
    sum->rows[k].codes = job->sources[k].codes;
  if (ok)
    memcpy((uint8_t *)job->y + (begin - job->col_begin) * value_bytes,
           values + (begin - col) * value_bytes, (end - begin) * value_bytes);
  return ok;
}

/* Columns [begin, end) of a chunk that starts at column chunk. */
MXG_OP void mxg_sum_columns(mxg_sum *sum, mxg_adding adding, mxg_decoder *d, const mxg_writer *w,
                            mxg_dtype dtype, size_t chunk, size_t begin, size_t end) {
  const mxg_combine_job *job = sum->job;
  const size_t bits = d->decoding == MXG_DECODING_FP4 ? 4 : 8;
  const size_t value_bytes = mxg_dtype_bytes(dtype);
  size_t col = begin - begin % MXG_GROUP, next;
  mxg_units units = mxg_units_from(&job->plan->recipe, chunk, col);
  for (; col < end; col = next) {
    const int tile = col >= begin && end - col >= MXG_TILE * MXG_GROUP;
    const size_t from = col > begin ? col : begin;
    mxg_blocks blocks[MXG_TILE];
    int ok;
    for (int g = 0; g < (tile ? MXG_TILE : 1); g++) {
      blocks[g].first = mxg_next_unit(&units);
      blocks[g].second = MXG_GROUP > MXG_UNIT ? mxg_next_unit(&units) : blocks[g].first;
    }
    if (tile) {
      next = col + MXG_TILE * MXG_GROUP;
      ok = mxg_sum_groups(sum, adding, d, w, dtype, col / 8 * bits, blocks, MXG_TILE,
                          (uint8_t *)job->y + (col - job->col_begin) * value_bytes);
    } else {
      next = end - col < MXG_GROUP ? end : col + MXG_GROUP;
      ok = mxg_sum_part(sum, d, w, dtype, col, from, next, blocks);
    }
    if (!ok) mxg_combine_portably(job, from, next);
  }
}

/* A combine job of one decoding and order; pairs: the result is bf16. */
MXG_OP void mxg_combine_as(const mxg_combine_job *job, mxg_decoding decoding, int pairs) {
  const mxg_recipe *recipe = &job->plan->recipe;
  const mxg_dtype dtype = pairs ? MXG_DTYPE_BF16 : job->dtype; /* a constant where it matters */
  const size_t chunk_cols = mxg_chunk_cols(recipe);
  mxg_decoder d;
  mxg_writer w;
  mxg_sum sum;
  if (job->col_end - job->col_begin < MXG_FEW_COLUMNS) {
    mxg_combine__portable(job);
    return;
  }
  mxg_decoder_init(&d, decoding, recipe->element, recipe->scale == MXG_SCALE_E8M0, pairs);
  mxg_writer_init(&w, &d);
  sum.job = job;
  sum.fused = recipe->accumulate == MXG_ACCUMULATE_FMA;
  for (size_t k = 0; k < job->source_count; k++) sum.rows[k].codes = job->sources[k].codes;
  for (size_t begin = job->col_begin, end; begin < job->col_end; begin = end) {
    const size_t chunk = begin / chunk_cols;
    const size_t left = chunk_cols - begin % chunk_cols;
    size_t blocks = 0;
    end = job->col_end - begin < left ? job->col_end : begin + left;
    if (recipe->block != 0) blocks = mxg_size_ceil_div(end - chunk * chunk_cols, recipe->block);
    if (!mxg_prepare_chunk(&sum, d.shift, chunk * MXG_CHUNK, blocks))
      mxg_combine_portably(job, begin, end);
    else if (sum.fused && !sum.two_steps)
      mxg_sum_columns(&sum, MXG_ADDING_FMA, &d, &w, dtype, chunk * chunk_cols, begin, end);
    else
      mxg_sum_columns(&sum, MXG_ADDING_OTHER, &d, &w, dtype, chunk * chunk_cols, begin, end);
  }
}

#endif
