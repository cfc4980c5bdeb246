/* fallback.h: blocks of a quantise job that a vector kernel cannot do. For leaves only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_FALLBACK_H
#define MXG_SIMD_FALLBACK_H

#include "e8m0.h"

/* `count` elements from the first of block number `block` of a job on, of this block and maybe of
 * more; the block starts on a byte. Not for scale=none. Returns 1 if one was scaled. */
static inline int mxg_quantize_block_portably(const mxg_quantize_job *job, size_t block,
                                              size_t count) {
  const mxg_plan *plan = job->plan;
  const size_t first = block * plan->recipe.block;
  mxg_quantize_job one = *job;
  one.x = (const uint8_t *)job->x + first * mxg_dtype_bytes(job->dtype);
  one.cols = count;
  one.codes = job->codes + (plan->traits.bits == 4 ? first / 2 : first);
  one.scales = job->scales + block * mxg_scale_bytes(plan->recipe.scale);
  return mxg_quantize__portable(&one);
}

/* ---- blocks of bf16 under E8M0 scales that a vector kernel could not do as they are ---- */

/* The vector kernel for these jobs. */
typedef void mxg_mx_encode(const mxg_quantize_job *job, const mxg_e8m0_sum *sum);

#define MXG_LIFT 64           /* exponent of the power of two by which tiny values are lifted */
#define MXG_LIFT_ELEMENTS 512 /* at a time */

/* x * 2^MXG_LIFT, exact, of an exponent field below MXG_LIFT. */
static inline uint16_t mxg_lift(uint16_t x) {
  const unsigned magnitude = x & 0x7FFFu;
  unsigned lifted = magnitude + (MXG_LIFT << 7);
  if (magnitude == 0) return x;
  if (magnitude < 0x80) { /* magnitude * 2^-133, which has to be normalised */
    const unsigned exponent = 31u - (unsigned)__builtin_clz(magnitude);
    lifted = ((exponent + MXG_LIFT + 127 - 133) << 7) + ((magnitude << (7 - exponent)) & 0x7Fu);
  }
  return (uint16_t)((x & 0x8000u) | lifted);
}

/* Tiny blocks: their copies are lifted, and what was added to the exponents of their scales is taken
 * away again. Codes are the same, because so is the quotient of value and scale. */
static inline void mxg_quantize_lifted(const mxg_quantize_job *job, const mxg_e8m0_sum *sum,
                                       mxg_mx_encode *to_codes, size_t first, size_t count) {
  const size_t size = job->plan->recipe.block, most = MXG_LIFT_ELEMENTS / size;
  mxg_e8m0_sum lifted_sum = *sum;
  mxg_quantize_job part = *job;
  lifted_sum.floor_byte += MXG_LIFT; /* where the scales of values that small end */
  for (size_t end = first + count, n; first < end; first += n) {
    uint16_t x[MXG_LIFT_ELEMENTS];
    n = end - first < most ? end - first : most;
    memcpy(x, (const uint8_t *)job->x + 2 * first * size, 2 * n * size);
    for (size_t i = 0; i < n * size; i++) x[i] = mxg_lift(x[i]);
    part.x = x;
    part.cols = n * size;
    part.codes = job->codes + (job->plan->traits.bits == 4 ? first * size / 2 : first * size);
    part.scales = job->scales + first;
    to_codes(&part, &lifted_sum);
    for (size_t i = 0; i < n; i++) part.scales[i] = (uint8_t)(part.scales[i] - MXG_LIFT);
  }
}

/* Codes of blocks that a NaN in each makes all NaN: they depend on nothing but signs. */
static inline void mxg_quantize_nan(const mxg_quantize_job *job, size_t first, size_t count) {
  const size_t begin = first * job->plan->recipe.block, size = count * job->plan->recipe.block;
  const uint32_t *nan = job->plan->policy.nan;
  const uint8_t *x = (const uint8_t *)job->x + 2 * begin;
  uint8_t *codes = job->codes + (job->plan->traits.bits == 4 ? begin / 2 : begin);
  memset(job->scales + first, 0xFF, count);
  if (job->plan->traits.bits == 4) {
    for (size_t i = 0; i < size / 2; i++)
      codes[i] = (uint8_t)(nan[x[4 * i + 1] >> 7] | nan[x[4 * i + 3] >> 7] << 4);
  } else {
    for (size_t i = 0; i < size; i++) codes[i] = (uint8_t)nan[x[2 * i + 1] >> 7];
  }
}

typedef __attribute__((vector_size(16))) int16_t mxg_words;

typedef enum mxg_mx_block { MXG_MX_TINY, MXG_MX_NAN, MXG_MX_OTHER } mxg_mx_block;

/* How to do a whole block. Tiny ones of the rceil rules are others: those round a product that is
 * subnormal. Other rules take emax from a field that is at most 1, which leaves byte 00. */
static inline mxg_mx_block mxg_mx_block_of(const mxg_quantize_job *job, size_t block) {
  const mxg_recipe *recipe = &job->plan->recipe;
  const size_t size = recipe->block;
  const uint8_t *x = (const uint8_t *)job->x + 2 * block * size;
  mxg_words either = {0}, above = {0};
  uint64_t any[2], nan[2];
  for (size_t i = 0; i < 2 * size; i += sizeof either) {
    mxg_words magnitude;
    memcpy(&magnitude, x + i, sizeof magnitude);
    magnitude &= 0x7FFF;
    either |= magnitude;
    above |= magnitude > 0x7F80;
  }
  memcpy(any, &either, sizeof any);
  memcpy(nan, &above, sizeof nan);
  any[0] |= any[1];
  any[0] |= any[0] >> 32;
  any[0] = (any[0] | any[0] >> 16) & 0x7F80; /* no exponent field is larger */
  if (any[0] < MXG_LIFT << 7)
    return job->plan->e8m0.rceil == 0 && size <= MXG_LIFT_ELEMENTS ? MXG_MX_TINY : MXG_MX_OTHER;
  return (nan[0] | nan[1]) != 0 && recipe->edges == MXG_EDGES_OCP &&
                 recipe->nan_amax == MXG_NAN_AMAX_PROPAGATE
             ? MXG_MX_NAN
             : MXG_MX_OTHER;
}

/* `count` >= 1 whole blocks, without a row weight. */
static inline void mxg_quantize_mx_odd(const mxg_quantize_job *job, const mxg_e8m0_sum *sum,
                                       mxg_mx_encode *to_codes, size_t first, size_t count) {
  const size_t end = first + count;
  mxg_mx_block kind = mxg_mx_block_of(job, first), next = kind;
  for (size_t run; first < end; first += run, kind = next) {
    for (run = 1; first + run < end; run++) {
      next = mxg_mx_block_of(job, first + run);
      if (next != kind) break;
    }
    if (kind == MXG_MX_TINY)
      mxg_quantize_lifted(job, sum, to_codes, first, run);
    else if (kind == MXG_MX_NAN)
      mxg_quantize_nan(job, first, run);
    else
      (void)mxg_quantize_block_portably(job, first, run * job->plan->recipe.block);
  }
}

#endif
