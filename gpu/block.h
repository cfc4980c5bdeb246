/* block.h: what a block's amax makes of its elements (sections 4 and 5), on the device.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_BLOCK_H
#define MXGOLD_GPU_BLOCK_H

#include "args.h"
#include "places.h"
#include "shim.h"

typedef enum mxg_block_kind {
  MXG_BLOCK_PLAIN,   /* v = x */
  MXG_BLOCK_SHIFT,   /* v = x * 2^shift */
  MXG_BLOCK_FACTOR,  /* v = fl(x * factor) */
  MXG_BLOCK_DIVIDE,  /* v = fl(x / factor) */
  MXG_BLOCK_NAN,     /* byte FF, edges=ocp */
  MXG_BLOCK_INFINITE /* byte FF, edges=float */
} mxg_block_kind;

typedef struct mxg_block {
  mxg_block_kind kind;
  int shift;
  float factor;    /* of tame SHIFT too: 2^shift, exact */
  uint32_t stored; /* the scale as stored, a marker not applied */
  int scaled;      /* section 5; what marker=if_scaled asks */
  int tame;        /* of finite elements, each v is finite: the fast path has the law's bytes */
} mxg_block;

/* Section 4, by the shared code. */
MXG_DEVICE mxg_block mxg_e8m0_block(const mxg_gpu_args *a, uint32_t amax) {
  const uint32_t byte = mxg_e8m0_from_amax_bits(&a->e8m0, amax);
  mxg_block b = {MXG_BLOCK_SHIFT, 0, 1.0f, 0, 0, 1};
  b.stored = byte;
  b.shift = 127 - (int)byte;
  if (byte == 255) b.kind = a->recipe.edges == MXG_EDGES_FLOAT ? MXG_BLOCK_INFINITE : MXG_BLOCK_NAN;
  return b;
}

/* The same for a finite amax whose byte is below 255 before inf_scale is looked at; others are not
 * tame. The product of the two rceil rules is the device's own. */
MXG_DEVICE mxg_block mxg_tame_e8m0_block(const mxg_gpu_args *a, uint32_t amax) {
  const mxg_e8m0_rule *rule = &a->e8m0;
  mxg_block b = {MXG_BLOCK_SHIFT, 0, 1.0f, 0, 0, 1};
  uint32_t byte;
  if (rule->rceil != 0) {
    const uint32_t d = mxg_f32_bits(mxg_f32_from_bits(amax) * mxg_f32_from_bits(rule->rcp_max));
    byte = (d + 0x7FFFFFu) >> 23; /* Inf and NaN: 255 and above */
    if (rule->keep_subnormals != 0 && d <= 0x400000u) byte = 0;
    b.tame = byte < 255;
  } else {
    const uint32_t emax = (uint32_t)rule->emax;
    byte = (amax + rule->addend) >> 23;
    b.tame = byte < 255;
    byte = (byte > emax ? byte : emax) - emax;
  }
  b.stored = byte;
  b.factor = mxg_f32_from_bits(byte < 254 ? (254u - byte) << 23 : 0x400000u);
  return b;
}

MXG_DEVICE mxg_block mxg_f32_block(const mxg_gpu_args *a, uint32_t amax) {
  const mxg_f32_scale s = mxg_f32_scale_from_amax(&a->f32, mxg_f32_from_bits(amax));
  mxg_block b = {MXG_BLOCK_PLAIN, 0, 1.0f, 0, 0, 1};
  b.stored = mxg_f32_bits(s.scale);
  if ((b.stored & ~MXG_F32_SIGN) > MXG_F32_INF) b.stored = MXG_F32_NAN;
  b.scaled = s.scaled;
  if (s.scaled != 0) {
    b.factor = s.factor;
    b.kind = s.divide != 0 ? MXG_BLOCK_DIVIDE : MXG_BLOCK_FACTOR;
    b.tame = mxg_fabs(s.factor) > 0.0f && mxg_f32_bits(mxg_fabs(s.factor)) < MXG_F32_INF;
  }
  return b;
}

/* The block of an amax, which has amax_floor in it. */
MXG_DEVICE mxg_block mxg_block_of(const mxg_gpu_args *a, uint32_t amax) {
  const mxg_block plain = {MXG_BLOCK_PLAIN, 0, 1.0f, 0, 0, 1};
  if (a->recipe.scale == MXG_SCALE_E8M0) return mxg_e8m0_block(a, amax);
  if (a->recipe.scale == MXG_SCALE_F32) return mxg_f32_block(a, amax);
  return plain;
}

/* The same where it turns out tame; scale: the recipe's, a constant. */
MXG_DEVICE mxg_block mxg_tame_block_of(const mxg_gpu_args *a, mxg_scale scale, uint32_t amax) {
  const mxg_block plain = {MXG_BLOCK_PLAIN, 0, 1.0f, 0, 0, 1};
  if (scale == MXG_SCALE_E8M0) return mxg_tame_e8m0_block(a, amax);
  if (scale == MXG_SCALE_F32) return mxg_f32_block(a, amax);
  return plain;
}

/* Section 3 for one element. */
MXG_DEVICE uint32_t mxg_amax_step(const mxg_gpu_args *a, uint32_t amax, uint32_t bits) {
  uint32_t magnitude = bits & ~MXG_F32_SIGN;
  if (magnitude > MXG_F32_INF && a->recipe.nan_amax == MXG_NAN_AMAX_IGNORE) magnitude = 0;
  return magnitude > amax ? magnitude : amax;
}

/* Each of `count` values becomes the larger of its own and the one of lane ^ step. The
 * exchanges of the values do not wait for each other. */
MXG_DEVICE void mxg_amax_of_halves(uint32_t *amax, uint32_t count, uint32_t step) {
  MXG_UNROLL
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t other = mxg_lane_xor(amax[i], step);
    amax[i] = other > amax[i] ? other : amax[i];
  }
}

/* Each of `count` values becomes the largest of `lanes` neighbours: a power of two, the same for all.
 * Eight, blocks of 128 in FP8, without a question at each step. */
MXG_DEVICE void mxg_amax_of_lanes(uint32_t *amax, uint32_t count, uint32_t lanes) {
  if (lanes == 8) {
    mxg_amax_of_halves(amax, count, 1);
    mxg_amax_of_halves(amax, count, 2);
    mxg_amax_of_halves(amax, count, 4);
    return;
  }
  MXG_UNROLL
  for (uint32_t step = 1; step < MXG_LANES; step *= 2)
    if (step < lanes) mxg_amax_of_halves(amax, count, step);
}

/* The code of one element, anything allowed: the shared element code. source: bits of x. */
MXG_DEVICE uint32_t mxg_encode_any(const mxg_gpu_args *a, mxg_traits t, const mxg_block *b,
                                   uint32_t value, uint32_t source) {
  int shift = 0;
  switch (b->kind) {
    case MXG_BLOCK_PLAIN: break;
    case MXG_BLOCK_SHIFT: shift = b->shift; break;
    case MXG_BLOCK_FACTOR: value = mxg_f32_bits(mxg_f32_from_bits(value) * b->factor); break;
    case MXG_BLOCK_DIVIDE: value = mxg_f32_bits(mxg_f32_from_bits(value) / b->factor); break;
    case MXG_BLOCK_NAN: value = MXG_F32_NAN; break;
    case MXG_BLOCK_INFINITE:
      value = (value & ~MXG_F32_SIGN) < MXG_F32_INF ? value & MXG_F32_SIGN : MXG_F32_NAN;
      break;
  }
  /* Here, and not by an index in mxg_encode_bits(), which would put the policy in memory. */
  if ((value & ~MXG_F32_SIGN) > MXG_F32_INF)
    return source >> 31 != 0 ? a->policy.nan[1] : a->policy.nan[0];
  return mxg_encode_bits(t, &a->policy, value, shift, source);
}

/* The value of element `index` of a row as source bits, and weighted. */
MXG_DEVICE uint32_t mxg_weighted(uint32_t source, int weighted, float weight) {
  return weighted ? mxg_f32_bits(mxg_f32_from_bits(source) * weight) : source;
}

/* Codes of up to 8 elements, the first in the lowest bits. */
MXG_DEVICE uint64_t mxg_encode_8_any(const mxg_gpu_args *a, mxg_traits t, const mxg_block *b,
                                     const uint8_t *x, mxg_dtype dtype, uint32_t count,
                                     int weighted, float weight) {
  uint64_t codes = 0;
  MXG_NO_UNROLL
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t source = mxg_load_value(x + i * mxg_dtype_bytes(dtype), dtype);
    const uint32_t value = mxg_weighted(source, weighted, weight);
    codes |= (uint64_t)mxg_encode_any(a, t, b, value, source) << (i * (uint32_t)t.bits);
  }
  return codes;
}

/* A scale with the sign of marker=always. */
MXG_DEVICE uint32_t mxg_marked(const mxg_gpu_args *a, size_t col, uint32_t stored) {
  return col == 0 && a->recipe.marker == MXG_MARKER_ALWAYS ? stored ^ MXG_F32_SIGN : stored;
}

/* marker=if_scaled: s[0] is stored negated if any block of the row was scaled. All threads of the
 * group call it; thread 0 knows the first scale. */
MXG_DEVICE void mxg_mark_row(const mxg_gpu_args *a, size_t row, int scaled, uint32_t first) {
  MXG_SHARED uint32_t wave_scaled[MXG_GPU_MAX_THREADS / MXG_LANES];
  const uint32_t wave = mxg_thread() / MXG_LANES;
  const int any = mxg_any_lane(scaled);
  if (mxg_thread() % MXG_LANES == 0) wave_scaled[wave] = (uint32_t)any;
  mxg_barrier();
  if (mxg_thread() == 0) {
    uint32_t row_scaled = 0;
    for (uint32_t i = 0; i < a->threads / MXG_LANES; i++) row_scaled |= wave_scaled[i];
    if (row_scaled != 0) mxg_store_scale(a, row, 0, first ^ MXG_F32_SIGN);
  }
  mxg_barrier(); /* before the next row writes wave_scaled */
}

MXG_DEVICE float mxg_row_weight(const mxg_gpu_args *a, size_t row) {
  return a->row_weight == NULL ? 1.0f : mxg_f32_from_bits(mxg_load_word(a->row_weight + 4 * row));
}

#endif
