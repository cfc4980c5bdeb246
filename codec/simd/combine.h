/* combine.h: sums of rows (section 6), a template over decode_*.h and tile*.h. For leaves only:
 * include those before.
 *
 * A tile of columns stays in registers while the loop runs over the sources. Scales are made ready
 * 16 blocks at a time. Arithmetic is plain IEEE in the default environment, so Inf, NaN and
 * subnormals need no care but for what factors.h and the decoder decline: those blocks go to the
 * portable kernel.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_COMBINE_H
#define MXG_SIMD_COMBINE_H

#include "factors.h"

/* Bytes ahead of the columns at work: rows are too many for the hardware to follow. */
#define MXG_PREFETCH 512

/* So few columns take the portable kernel less time than the registers to set up. */
#define MXG_FEW_COLUMNS 6

typedef struct mxg_row {  /* a source, ready to be summed */
  const uint8_t *codes;   /* of column 0 */
  const uint8_t *factors; /* of the chunk at work: stored scales, or made ones */
  float weight;           /* not read unless two_steps */
  _Alignas(64) float made[MXG_CHUNK];
} mxg_row;

/* How a product is added, and which blocks a group is in. Common ones have copies of the loop to
 * themselves. */
typedef enum mxg_loop {
  MXG_LOOP_ONE,  /* one fma, MXG_SPREAD_ONE */
  MXG_LOOP_EACH, /* one fma, MXG_SPREAD_EACH */
  MXG_LOOP_ANY
} mxg_loop;

typedef struct mxg_sum {
  const mxg_combine_job *job;
  int fused;
  int stream;    /* sums may go around the caches */
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

/* Factors of an f32 source. Stored scales serve where they are if nothing is to be done to them. */
MXG_OP int mxg_prepare_f32(mxg_row *row, const mxg_source *source, size_t first, size_t count,
                           int shift) {
  row->factors = (const uint8_t *)row->made;
  if (shift == 0 && !(source->first_negated && first == 0)) {
    row->factors = source->scales + sizeof(float) * first;
    return 1;
  }
  return mxg_f32_factors(source->scales, source->first_negated, first, count, shift, row->made);
}

/* Are all of these f32 scales subnormal (or zero)? */
static inline int mxg_all_tiny(const uint8_t *scales, size_t count) {
  for (size_t i = 0; i < count; i++)
    if ((mxg_load_le32(scales + 4 * i) & MXG_F32_INF) != 0) return 0;
  return 1;
}

/* Factors of all sources, blocks [first, first + count). Returns the blocks that are not for us. */
MXG_OP uint32_t mxg_prepare_scales(mxg_sum *sum, int shift, size_t first, size_t count) {
  const mxg_recipe *recipe = &sum->job->plan->recipe;
  const mxg_source *source = sum->job->sources, *const end = source + sum->job->source_count;
  mxg_row *row = sum->rows;
  mxg_bytes largest = mxg_zero_bytes();
  int tiny = MXG_SLOW_SUBNORMALS; /* as long as no source has another scale */
  if (recipe->scale == MXG_SCALE_E8M0) {
    for (; source < end; source++, row++)
      largest = mxg_max_bytes(
          largest, mxg_e8m0_factors(recipe, source->scales, first, count, shift, row->made));
    return mxg_e8m0_declined(largest, shift);
  }
  for (; source < end; source++, row++) {
    tiny = tiny && source->scales != NULL && mxg_all_tiny(source->scales + 4 * first, count);
    if (source->scales == NULL)
      mxg_unit_factors(shift, row->made);
    else if (!mxg_prepare_f32(row, source, first, count, shift))
      return MXG_ALL_BLOCKS;
  }
  return tiny ? MXG_ALL_BLOCKS : 0;
}

/* The same, with weights. */
MXG_OP uint32_t mxg_prepare_chunk(mxg_sum *sum, int shift, size_t first, size_t count) {
  const mxg_combine_job *job = sum->job;
  const uint32_t declined = mxg_prepare_scales(sum, shift, first, count);
  int join = job->weighted && job->plan->recipe.scale != MXG_SCALE_F32;
  if (declined == MXG_ALL_BLOCKS) return declined;
  for (size_t k = 0; k < job->source_count && join; k++)
    join = mxg_join_weight(job->sources[k].weight, sum->rows[k].made);
  sum->two_steps = job->weighted && !join;
  /* Some may have been joined before one could not be. */
  if (sum->two_steps) (void)mxg_prepare_scales(sum, shift, first, count);
  return declined;
}

/* acc += t * f, or (t * f) * w */
MXG_OP mxg_vector mxg_accumulate_vector(const mxg_sum *sum, mxg_loop loop, mxg_vector t,
                                        mxg_vector f, mxg_vector w, mxg_vector acc) {
  mxg_vector product;
  if (loop != MXG_LOOP_ANY || (sum->fused && !sum->two_steps)) return mxg_fma(t, f, acc);
  product = mxg_mul(t, f);
  if (sum->two_steps) {
    if (sum->fused) return mxg_fma(product, w, acc);
    product = mxg_mul(product, w);
  }
  MXG_KEEP(product);
  return mxg_add(acc, product);
}

/* `groups` groups of all sources at byte `offset` of their codes, summed and written. blocks: of each
 * unit. past: shape.past codes after them may be read. mark: NaN codes that the decoder
 * misses. Returns 0 if it has missed some. */
MXG_OP int mxg_sum_groups(const mxg_sum *sum, mxg_loop loop, mxg_tile *tile, mxg_dtype dtype,
                          size_t offset, const size_t *blocks, int groups, int past, int mark,
                          int stream, uint8_t *y) {
  const mxg_shape shape = mxg_shape_of(tile);
  const mxg_spread spread = loop == MXG_LOOP_ONE    ? MXG_SPREAD_ONE
                            : loop == MXG_LOOP_EACH ? MXG_SPREAD_EACH
                                                    : MXG_SPREAD_ANY;
  const mxg_row *const end = sum->rows + sum->job->source_count;
  mxg_vector acc[MXG_TILE_GROUPS][MXG_SUM_VECTORS];
  MXG_UNROLL for (int g = 0; g < groups; g++) {
    MXG_UNROLL for (int v = 0; v < shape.vectors; v++) acc[g][v] = mxg_zero();
  }
  mxg_decoder_begin(&tile->d);
  for (const mxg_row *row = sum->rows; row < end; row++) {
    const uint8_t *codes = row->codes + offset;
    MXG_UNROLL for (int g = 0; g < groups; g++) {
      const uint8_t *group = codes + (size_t)g * shape.bytes;
      mxg_vector t[MXG_SUM_VECTORS], f[MXG_SUM_VECTORS], weight = mxg_zero();
      if ((size_t)g * shape.bytes % 64 == 0) /* past the row at its end: an address, no pointer */
        MXG_PREFETCH_LINE((const void *)((uintptr_t)group + MXG_PREFETCH));
      mxg_sum_decode(tile, group, past, t);
      if (mark) mxg_mark_nan(&tile->d, group, t);
      mxg_sum_factors(tile, spread, row->factors, blocks + g * shape.units, f);
      if (loop == MXG_LOOP_ANY) weight = mxg_broadcast(row->weight);
      MXG_UNROLL for (int v = 0; v < shape.vectors; v++) acc[g][v] =
          mxg_accumulate_vector(sum, loop, t[v], f[v], weight, acc[g][v]);
    }
  }
  if (!mark && mxg_missed_nan(&tile->d)) return 0;
  mxg_sum_write(tile, acc, groups, dtype, stream, y);
  return 1;
}

/* Columns [begin, end) of the group at column col. Codes past end may not be read: where the group
 * is not all there, copies are decoded. */
MXG_OP void mxg_sum_part(mxg_sum *sum, mxg_tile *tile, mxg_dtype dtype, size_t col, size_t begin,
                         size_t end, const size_t *blocks) {
  enum { MOST_COLS = MXG_SUM_UNITS * MXG_UNIT };
  const mxg_combine_job *job = sum->job;
  const mxg_shape shape = mxg_shape_of(tile);
  const size_t offset = col / shape.cols * shape.bytes;
  const size_t value_bytes = mxg_dtype_bytes(dtype);
  const int whole = end - col == shape.cols;
  uint8_t copies[MXG_MAX_TOP_K][MOST_COLS], values[4 * MOST_COLS];
  for (size_t k = 0; k < job->source_count && !whole; k++) {
    memset(copies[k], 0, shape.bytes);
    memcpy(copies[k], sum->rows[k].codes + offset,
           ((end - col) * shape.bytes + shape.cols - 1) / shape.cols);
    sum->rows[k].codes = copies[k];
  }
  mxg_sum_groups(sum, MXG_LOOP_ANY, tile, dtype, whole ? offset : 0, blocks, 1, 0, 1, 0, values);
  for (size_t k = 0; k < job->source_count && !whole; k++)
    sum->rows[k].codes = job->sources[k].codes;
  memcpy((uint8_t *)job->y + (begin - job->col_begin) * value_bytes,
         values + (begin - col) * value_bytes, (end - begin) * value_bytes);
}

/* Blocks of the units of the next group. */
MXG_OP void mxg_next_blocks(mxg_units *units, mxg_loop loop, int count,
                            size_t blocks[MXG_SUM_UNITS]) {
  const size_t first = units->block;
  MXG_UNROLL for (int u = 0; u < count; u++) {
    if (loop == MXG_LOOP_EACH)
      blocks[u] = first + (size_t)u;
    else
      blocks[u] = loop == MXG_LOOP_ONE && u > 0 ? first : mxg_next_unit(units);
  }
  if (loop == MXG_LOOP_EACH) units->block = first + (size_t)count;
}

/* As many whole tiles as there are from column col to end; returns the column after them. */
MXG_OP size_t mxg_sum_tiles(const mxg_sum *sum, mxg_loop loop, mxg_tile *tile, mxg_dtype dtype,
                            size_t col, size_t end, mxg_units *units) {
  const mxg_combine_job *job = sum->job;
  const mxg_shape shape = mxg_shape_of(tile);
  const size_t tile_cols = shape.cols * (size_t)shape.groups;
  const size_t value_bytes = mxg_dtype_bytes(dtype);
  const int stream = sum->stream;
  size_t offset = col / shape.cols * shape.bytes;
  uint8_t *y = (uint8_t *)job->y + (col - job->col_begin) * value_bytes;
  for (; end - col >= tile_cols; col += tile_cols) {
    size_t blocks[MXG_TILE_GROUPS * MXG_SUM_UNITS];
    int ok;
    MXG_UNROLL for (int g = 0; g < shape.groups; g++)
        mxg_next_blocks(units, loop, shape.units, blocks + g * shape.units);
    if (shape.past != 0 && job->col_end - col >= tile_cols + shape.past)
      ok = mxg_sum_groups(sum, loop, tile, dtype, offset, blocks, shape.groups, 1, 0, stream, y);
    else
      ok = mxg_sum_groups(sum, loop, tile, dtype, offset, blocks, shape.groups, 0, 0, stream, y);
    if (!ok)
      mxg_sum_groups(sum, MXG_LOOP_ANY, tile, dtype, offset, blocks, shape.groups, 0, 1, 0, y);
    offset += shape.bytes * (size_t)shape.groups;
    y += value_bytes * tile_cols;
  }
  return col;
}

/* Columns [begin, end) of a chunk of so many blocks that starts at column chunk. */
MXG_OP void mxg_sum_columns(mxg_sum *sum, mxg_loop loop, mxg_tile *tile, mxg_dtype dtype,
                            size_t chunk, size_t block_count, size_t begin, size_t end) {
  const mxg_shape shape = mxg_shape_of(tile);
  size_t col = begin - begin % shape.cols, next;
  mxg_units units = mxg_units_from(&sum->job->plan->recipe,
                                   loop == MXG_LOOP_ONE ? shape.cols : MXG_UNIT, chunk, col);
  for (; col < end; col = next) {
    size_t blocks[MXG_SUM_UNITS];
    if (col >= begin && end - col >= shape.cols * (size_t)shape.groups) {
      next = mxg_sum_tiles(sum, loop, tile, dtype, col, end, &units);
      continue;
    }
    next = end - col < shape.cols ? end : col + shape.cols;
    mxg_next_blocks(&units, loop, shape.units, blocks);
    for (int u = 0; u < shape.units; u++) /* past the end: of no use */
      if (blocks[u] >= block_count) blocks[u] = block_count - 1;
    mxg_sum_part(sum, tile, dtype, col, col > begin ? col : begin, next, blocks);
  }
}

/* A combine job of one decoding and order; pairs: the result is bf16. */
MXG_OP void mxg_combine_as(const mxg_combine_job *job, mxg_decoding decoding, int pairs) {
  const mxg_recipe *recipe = &job->plan->recipe;
  const mxg_dtype dtype = pairs ? MXG_DTYPE_BF16 : job->dtype; /* a constant where it matters */
  size_t chunk_cols = mxg_chunk_cols(recipe), chunk;
  mxg_tile tile;
  mxg_shape shape;
  mxg_sum sum;
  if (job->col_end - job->col_begin < MXG_FEW_COLUMNS) {
    mxg_combine__portable(job);
    return;
  }
  mxg_tile_init(&tile, decoding, recipe->element, recipe->scale == MXG_SCALE_E8M0, pairs);
  shape = mxg_shape_of(&tile);
  /* A row is one chunk where mxg_prepare_f32() would leave all scales where they are. */
  if (recipe->scale == MXG_SCALE_F32 && recipe->marker == MXG_MARKER_NONE && tile.d.shift == 0 &&
      !MXG_SLOW_SUBNORMALS)
    chunk_cols = MXG_UNCHUNKED_COLS;
  chunk = job->col_begin / chunk_cols;
  sum.job = job;
  sum.fused = recipe->accumulate == MXG_ACCUMULATE_FMA;
  sum.stream = job->streaming && job->col_begin % shape.cols == 0 && may_stream(job->y);
  for (size_t k = 0; k < job->source_count; k++) {
    sum.rows[k].codes = job->sources[k].codes;
    sum.rows[k].factors = (const uint8_t *)sum.rows[k].made;
    sum.rows[k].weight = job->sources[k].weight;
  }
  for (size_t begin = job->col_begin, end; begin < job->col_end; begin = end, chunk++) {
    const size_t chunk_begin = chunk * chunk_cols, left = chunk_cols - (begin - chunk_begin);
    size_t blocks = MXG_CHUNK, i = 0, next;
    uint32_t declined;
    end = job->col_end - begin < left ? job->col_end : begin + left;
    if (end - chunk_begin < chunk_cols && recipe->block != 0)
      blocks = mxg_size_ceil_div(end - chunk_begin, recipe->block);
    declined = mxg_prepare_chunk(&sum, tile.d.shift, chunk * MXG_CHUNK, blocks);
    if (declined != 0 && declined != MXG_ALL_BLOCKS) i = (begin - chunk_begin) / recipe->block;
    for (size_t from = begin, to; from < end; from = to, i = next) {
      next = declined == 0 ? blocks : i + mxg_declined_run(declined, i, blocks);
      to = next == blocks ? end : chunk_begin + next * recipe->block;
      if ((declined >> i & 1u) != 0)
        mxg_combine_portably(job, from, to);
      else if (sum.fused && !sum.two_steps && recipe->block % shape.cols == 0)
        mxg_sum_columns(&sum, MXG_LOOP_ONE, &tile, dtype, chunk_begin, blocks, from, to);
      else if (sum.fused && !sum.two_steps && shape.units > 1 && recipe->block == MXG_UNIT)
        mxg_sum_columns(&sum, MXG_LOOP_EACH, &tile, dtype, chunk_begin, blocks, from, to);
      else
        mxg_sum_columns(&sum, MXG_LOOP_ANY, &tile, dtype, chunk_begin, blocks, from, to);
    }
  }
  if (sum.stream) stream_end();
}

#endif
