/* dequantize.h: rows of codes and scales into values (sections 4 to 6), a template over decode_*.h.
 * For leaves only: include decode_*.h before.
 *
 * Arithmetic is plain IEEE: the callers of f32 recipes have checked the floating-point environment,
 * and E8M0 recipes, which must be right in any, are left to the portable kernel's integers where it
 * is not the default one. So is what factors.h declines.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_DEQUANTIZE_H
#define MXG_SIMD_DEQUANTIZE_H

#include "factors.h"

/* Bytes ahead of the codes at work: the streaming stores leave less to the hardware's own. Past the
 * end it is an address, no pointer. */
#define MXG_PREFETCH 1024

/* So few columns take the portable kernel less time than the registers to set up. */
#define MXG_FEW_COLUMNS 12

/* Columns [begin, end) of a row with scales, by a kernel: whole blocks, or some of one block. */
static inline void mxg_dequantize_part(const mxg_dequantize_job *job, mxg_dequantize_kernel *kernel,
                                       size_t begin, size_t end) {
  const mxg_recipe *recipe = &job->plan->recipe;
  mxg_dequantize_job part = *job;
  part.codes = job->codes + begin / 8 * (size_t)job->plan->traits.bits;
  if (begin >= recipe->block) {
    /* NOLINTNEXTLINE(*-core.DivideZero): a recipe with scales has blocks of at least 1 */
    part.scales = job->scales + begin / recipe->block * mxg_scale_bytes(recipe->scale);
    part.first_negated = 0;
  }
  part.cols = end - begin;
  part.y = (uint8_t *)job->y + begin * mxg_dtype_bytes(job->dtype);
  kernel(&part);
}

/* Columns [begin, end) of a chunk of `count` blocks, some of them declined. Out of the way of the
 * loop over chunks. */
static __attribute__((noinline)) void mxg_dequantize_mixed(const mxg_dequantize_job *job,
                                                           mxg_dequantize_kernel *kernel,
                                                           uint32_t declined, size_t count,
                                                           size_t begin, size_t end) {
  const size_t block = job->plan->recipe.block;
  for (size_t i = 0, run; i < count; i += run) {
    const int portably = (declined >> i & 1u) != 0;
    run = mxg_declined_run(declined, i, count);
    mxg_dequantize_part(job, portably ? mxg_dequantize__portable : kernel, begin + i * block,
                        i + run == count ? end : begin + (i + run) * block);
  }
}

#define MXG_UNITS (MXG_GROUP / MXG_UNIT) /* of a group */

/* A group of codes; blocks: where the factors of its units are. */
MXG_OP void mxg_dequantize_group(mxg_decoder *d, const mxg_writer *w, const uint8_t *codes,
                                 mxg_spread spread, const uint8_t *factors,
                                 const size_t blocks[MXG_UNITS], mxg_dtype dtype, int stream,
                                 uint8_t *y) {
  mxg_vector t[MXG_VECTORS], f[MXG_VECTORS];
  mxg_decoder_begin(d);
  mxg_decode(d, codes, t);
  if (mxg_missed_nan(d)) mxg_mark_nan(d, codes, t);
  mxg_group_factors(d, spread, factors, blocks, f);
  MXG_UNROLL for (int v = 0; v < MXG_VECTORS; v++) t[v] = mxg_mul(t[v], f[v]);
  mxg_write(w, d, t, dtype, stream, y);
}

/* Columns [begin, end), all that there is from begin on of a chunk, whose factors these are, or of
 * the one block that the first factor is for (MXG_SPREAD_ONE). */
MXG_OP void mxg_dequantize_columns(const mxg_dequantize_job *job, mxg_decoder *d,
                                   const mxg_writer *w, mxg_spread spread, const uint8_t *factors,
                                   mxg_dtype dtype, size_t begin, size_t end) {
  const size_t bits = d->decoding == MXG_DECODING_FP4 ? 4 : 8;
  const size_t value_bytes = mxg_dtype_bytes(dtype);
  const int stream = job->streaming && may_stream(job->y);
  const uint8_t *codes = job->codes + begin / 8 * bits;
  uint8_t *y = (uint8_t *)job->y + begin * value_bytes;
  mxg_units units = mxg_units_from(&job->plan->recipe, MXG_UNIT, begin, begin);
  for (size_t col = begin; col < end; col += MXG_GROUP) {
    size_t blocks[MXG_UNITS] = {0};
    if (stream) MXG_PREFETCH_LINE((const void *)((uintptr_t)codes + MXG_PREFETCH));
    for (int u = 0; u < MXG_UNITS && spread != MXG_SPREAD_ONE; u++)
      blocks[u] =
          spread == MXG_SPREAD_ANY ? mxg_next_unit(&units) : (col - begin) / MXG_UNIT + (size_t)u;
    if (end - col >= MXG_GROUP) {
      mxg_dequantize_group(d, w, codes, spread, factors, blocks, dtype, stream, y);
    } else { /* a copy of what there is */
      const size_t count = end - col;
      uint8_t copy[MXG_GROUP] = {0}, values[4 * MXG_GROUP];
      memcpy(copy, codes, (count * bits + 7) / 8);
      mxg_dequantize_group(d, w, copy, spread, factors, blocks, dtype, 0, values);
      memcpy(y, values, count * value_bytes);
    }
    codes += MXG_GROUP / 8 * bits;
    y += MXG_GROUP * value_bytes;
  }
}

/* Columns [begin, end) of a chunk, all that there is of it from its first column, begin, on. */
MXG_OP void mxg_dequantize_chunk(const mxg_dequantize_job *job, mxg_decoder *d, const mxg_writer *w,
                                 const uint8_t *factors, mxg_dtype dtype, size_t begin,
                                 size_t end) {
  const mxg_recipe *recipe = &job->plan->recipe;
  const size_t block = recipe->scale == MXG_SCALE_NONE ? end - begin : recipe->block;
  if (recipe->block == MXG_UNIT) {
    mxg_dequantize_columns(job, d, w, MXG_SPREAD_EACH, factors, dtype, begin, end);
    return;
  }
  if (recipe->block % MXG_GROUP != 0) {
    mxg_dequantize_columns(job, d, w, MXG_SPREAD_ANY, factors, dtype, begin, end);
    return;
  }
  for (; begin < end; begin += block, factors += sizeof(float)) {
    const size_t block_end = end - begin < block ? end : begin + block;
    mxg_dequantize_columns(job, d, w, MXG_SPREAD_ONE, factors, dtype, begin, block_end);
  }
}

/* Are the products of columns [begin, end), with E8M0 scales [first, first + blocks), subnormal, and
 * not all zero? Where each of those takes a trap into microcode, the integers of the portable
 * kernel are faster. */
static inline int mxg_is_tiny(const mxg_dequantize_job *job, size_t first, size_t blocks,
                              size_t begin, size_t end) {
  const mxg_traits *traits = &job->plan->traits;
  const size_t bits = (size_t)traits->bits;
  const int limit = traits->mantissa_bits - traits->emin; /* of the smallest element: 2^-limit */
  uint8_t any = 0;
  if (job->plan->recipe.scale != MXG_SCALE_E8M0) return 0;
  for (size_t i = 0; i < blocks; i++)
    if (job->scales[first + i] > limit) return 0;
  for (size_t i = begin / 8 * bits; i < (end * bits + 7) / 8; i++) any |= job->codes[i];
  return any != 0;
}

/* A dequantise job of one decoding and dtype; kernel: this function. */
MXG_OP void mxg_dequantize_as(const mxg_dequantize_job *job, mxg_dequantize_kernel *kernel,
                              mxg_decoding decoding, mxg_dtype dtype) {
  const mxg_recipe *recipe = &job->plan->recipe;
  const size_t chunk_cols = mxg_chunk_cols(recipe);
  mxg_decoder d;
  mxg_writer w;
  if (job->cols < MXG_FEW_COLUMNS) {
    mxg_dequantize__portable(job);
    return;
  }
  mxg_decoder_init(&d, decoding, recipe->element, recipe->scale == MXG_SCALE_E8M0,
                   dtype == MXG_DTYPE_BF16);
  mxg_writer_init(&w, &d);
  for (size_t begin = 0, first = 0, end; begin < job->cols; begin = end, first += MXG_CHUNK) {
    float factors[MXG_CHUNK];
    size_t blocks = MXG_CHUNK;
    uint32_t declined;
    end = job->cols - begin < chunk_cols ? job->cols : begin + chunk_cols;
    if (end - begin < chunk_cols && recipe->block != 0)
      blocks = mxg_size_ceil_div(end - begin, recipe->block);
    declined =
        MXG_SLOW_SUBNORMALS && mxg_is_tiny(job, first, blocks, begin, end)
            ? MXG_ALL_BLOCKS
            : mxg_factors(recipe, job->scales, job->first_negated, first, blocks, d.shift, factors);
    if (declined == 0)
      mxg_dequantize_chunk(job, &d, &w, (const uint8_t *)factors, dtype, begin, end);
    else
      mxg_dequantize_mixed(job, kernel, declined, blocks, begin, end);
  }
  if (job->streaming) stream_end();
}

#endif
