/* portable_dequantize.c: codes and scales into values, and sums of them, any CPU.
 * Dequantising E8M0 recipes runs on integers alone; the rest needs the default FP environment.
 * SPDX-License-Identifier: MIT */
#include "fma.h"
#include "internal.h"

#define CHUNK 128

/* Columns [begin, *end) of a run share the scale of block *block. */
static size_t block_of(const mxg_plan *plan, size_t begin, size_t limit, size_t *end) {
  const size_t size = plan->recipe.block;
  const size_t block = size == 0 ? 0 : begin / size;
  *end = limit;
  if (size != 0 && limit - begin > size - begin % size) *end = begin + (size - begin % size);
  if (*end - begin > CHUNK) *end = begin + CHUNK;
  return block;
}

/* element * the value that edges=float gives byte 00 (zero) or FF (Inf), and edges=ocp FF (NaN) */
static void scale_by_edge(const mxg_plan *plan, uint8_t byte, uint32_t *bits, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const uint32_t magnitude = bits[i] & ~MXG_F32_SIGN, sign = bits[i] & MXG_F32_SIGN;
    if (plan->recipe.edges != MXG_EDGES_FLOAT || magnitude > MXG_F32_INF)
      bits[i] = MXG_F32_NAN;
    else if (byte == 0) /* 0 * Inf is NaN */
      bits[i] = magnitude == MXG_F32_INF ? MXG_F32_NAN : sign;
    else
      bits[i] = magnitude == 0 ? MXG_F32_NAN : sign | MXG_F32_INF;
  }
}

void mxg_dequantize__portable(const mxg_dequantize_job *job) {
  const mxg_plan *plan = job->plan;
  const mxg_element element = plan->recipe.element;
  uint8_t *y = (uint8_t *)job->y;
  uint32_t bits[CHUNK];
  for (size_t begin = 0, end; begin < job->cols; begin = end) {
    const size_t block = block_of(plan, begin, job->cols, &end);
    const size_t count = end - begin;
    if (job->scales == NULL) {
      mxg_portable_decode(element, job->codes, begin, count, 0, bits);
    } else if (plan->recipe.scale == MXG_SCALE_E8M0) {
      const uint8_t byte = job->scales[block];
      const int edge = byte == 255 || (byte == 0 && plan->recipe.edges == MXG_EDGES_FLOAT);
      mxg_portable_decode(element, job->codes, begin, count, edge ? 0 : byte - 127, bits);
      if (edge) scale_by_edge(plan, byte, bits, count);
    } else {
      const float s = mxg_portable_scale(plan, job->scales, job->first_negated, block);
      mxg_portable_decode(element, job->codes, begin, count, 0, bits);
      for (size_t i = 0; i < count; i++) bits[i] = mxg_f32_bits(mxg_f32_from_bits(bits[i]) * s);
    }
    mxg_portable_store(bits, count, job->dtype, y);
    y += count * mxg_dtype_bytes(job->dtype);
  }
}

/* sum[i] += the elements of one source that share a scale (section 6). */
static void accumulate(const mxg_combine_job *job, const mxg_source *source, size_t block,
                       const uint32_t *bits, size_t count, float *sum) {
  const int fused = job->plan->recipe.accumulate == MXG_ACCUMULATE_FMA;
  const int scaled = source->scales != NULL;
  const float s =
      scaled ? mxg_portable_scale(job->plan, source->scales, source->first_negated, block) : 1.0f;
  if (!job->weighted && !scaled) {
    for (size_t i = 0; i < count; i++) sum[i] = sum[i] + mxg_f32_from_bits(bits[i]);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    float t = mxg_f32_from_bits(bits[i]);
    float factor = s;
    if (job->weighted) {
      t = t * s;
      factor = source->weight;
    }
    sum[i] = fused ? mxg_fma_exact(t, factor, sum[i]) : mxg_mul_then_add(t, factor, sum[i]);
  }
}

void mxg_combine__portable(const mxg_combine_job *job) {
  const mxg_plan *plan = job->plan;
  uint8_t *y = (uint8_t *)job->y;
  uint32_t bits[CHUNK];
  float sum[CHUNK];
  for (size_t begin = job->col_begin, end; begin < job->col_end; begin = end) {
    const size_t block = block_of(plan, begin, job->col_end, &end);
    const size_t count = end - begin;
    for (size_t i = 0; i < count; i++) sum[i] = 0.0f;
    for (size_t k = 0; k < job->source_count; k++) {
      mxg_portable_decode(plan->recipe.element, job->sources[k].codes, begin, count, 0, bits);
      accumulate(job, &job->sources[k], block, bits, count, sum);
    }
    for (size_t i = 0; i < count; i++) bits[i] = mxg_f32_bits(sum[i]);
    mxg_portable_store(bits, count, job->dtype, y);
    y += count * mxg_dtype_bytes(job->dtype);
  }
}
