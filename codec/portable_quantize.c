/* portable_quantize.c: blocks into codes and scales, every legal recipe, any CPU.
 * E8M0 recipes without a row weight run on integers alone.
 * SPDX-License-Identifier: MIT */
#include "internal.h"

/* Elements in flight. Covers a block of the popular recipes, which are then loaded only once. */
#define CHUNK 128

typedef struct values_chunk {
  uint32_t source[CHUNK]; /* bits of x: a NaN takes its sign from here */
  uint32_t value[CHUNK];  /* bits of x, of fl(x * w), then of what is encoded */
  uint8_t codes[CHUNK];
} values_chunk;

static void load(const mxg_quantize_job *job, size_t first, size_t count, values_chunk *c) {
  const uint8_t *x = (const uint8_t *)job->x + first * mxg_dtype_bytes(job->dtype);
  mxg_portable_load(x, count, job->dtype, c->source);
  if (job->row_weight == NULL) {
    memcpy(c->value, c->source, count * sizeof c->value[0]);
  } else {
    float w;
    memcpy(&w, (const uint8_t *)job->row_weight, sizeof w); /* any alignment */
    for (size_t i = 0; i < count; i++)
      c->value[i] = mxg_f32_bits(mxg_f32_from_bits(c->source[i]) * w);
  }
}

/* Magnitudes are ordered like integers, NaN above Inf: the maximum propagates a NaN by itself. */
static uint32_t amax_of(const uint32_t *value, size_t count, mxg_nan_amax nan_amax, uint32_t amax) {
  const uint32_t largest = nan_amax == MXG_NAN_AMAX_IGNORE ? MXG_F32_INF : UINT32_MAX;
  for (size_t i = 0; i < count; i++) {
    uint32_t magnitude = value[i] & ~MXG_F32_SIGN;
    if (magnitude > largest) magnitude = 0;
    if (magnitude > amax) amax = magnitude;
  }
  return amax;
}

/* How the elements of a block become the values that are encoded. */
typedef struct block_scale {
  int shift; /* v = value * 2^shift */
  enum { PLAIN, BY_FLOAT, ALL_NAN, BY_INFINITY } kind;
  mxg_f32_scale f32; /* BY_FLOAT */
} block_scale;

/* The scale of block number `block`, stored; returns how to apply it. Not for scale=none. */
static block_scale scale_block(const mxg_quantize_job *job, uint32_t amax, size_t block) {
  const mxg_plan *plan = job->plan;
  block_scale s = {0, PLAIN, {1.0f, 1.0f, 0, 0}};
  if (plan->recipe.scale == MXG_SCALE_E8M0) {
    const uint32_t byte = mxg_e8m0_from_amax_bits(&plan->e8m0, amax);
    job->scales[block] = (uint8_t)byte;
    s.shift = 127 - (int)byte;
    if (byte == 255) s.kind = plan->recipe.edges == MXG_EDGES_FLOAT ? BY_INFINITY : ALL_NAN;
  } else {
    s.f32 = mxg_f32_scale_from_amax(&plan->f32, mxg_f32_from_bits(amax));
    s.kind = s.f32.scaled ? BY_FLOAT : PLAIN;
    mxg_store_le32(job->scales + 4 * block, mxg_f32_bits(s.f32.scale));
  }
  return s;
}

static void apply(const block_scale *s, uint32_t *value, size_t count) {
  switch (s->kind) {
    case PLAIN: break;
    case BY_FLOAT:
      for (size_t i = 0; i < count; i++)
        value[i] = mxg_f32_bits(mxg_f32_scale_apply(&s->f32, mxg_f32_from_bits(value[i])));
      break;
    case ALL_NAN: /* byte FF, edges=ocp */
      for (size_t i = 0; i < count; i++) value[i] = MXG_F32_NAN;
      break;
    case BY_INFINITY: /* byte FF, edges=float: finite / Inf is a signed zero, Inf / Inf NaN */
      for (size_t i = 0; i < count; i++) {
        const int finite = (value[i] & ~MXG_F32_SIGN) < MXG_F32_INF;
        value[i] = finite ? value[i] & MXG_F32_SIGN : MXG_F32_NAN;
      }
      break;
  }
}

/* One loop per format, so that the compiler sees constant traits. */
#define ENCODE_CASE(element)                                                                \
  case element: {                                                                           \
    const mxg_traits t = mxg_element_traits(element);                                       \
    for (size_t i = 0; i < count; i++)                                                      \
      c->codes[i] = (uint8_t)mxg_encode_bits(t, &policy, c->value[i], shift, c->source[i]); \
    break;                                                                                  \
  }

static void encode(const mxg_plan *plan, int shift, size_t count, values_chunk *c) {
  const mxg_policy policy = plan->policy; /* a copy: stores to c->codes cannot alias it */
  switch (plan->recipe.element) {
    ENCODE_CASE(MXG_ELEMENT_E4M3FN)
    ENCODE_CASE(MXG_ELEMENT_E4M3FNUZ)
    ENCODE_CASE(MXG_ELEMENT_E5M2)
    ENCODE_CASE(MXG_ELEMENT_E5M2FNUZ)
    ENCODE_CASE(MXG_ELEMENT_E2M1)
    ENCODE_CASE(MXG_ELEMENT_E2M3)
    ENCODE_CASE(MXG_ELEMENT_E3M2)
  }
}

/* The codes of a run as a little-endian bit stream; blocks may end inside a byte. */
typedef struct bit_writer {
  uint8_t *out;
  uint32_t pending; /* bits that do not fill a byte yet, the oldest lowest */
  int pending_bits;
} bit_writer;

static void put(bit_writer *w, int code_bits, const uint8_t *codes, size_t count) {
  size_t i = 0;
  if (code_bits == 8) {
    memcpy(w->out, codes, count);
    w->out += count;
    return;
  }
  if (code_bits == 4 && w->pending_bits == 0)
    for (; i + 2 <= count; i += 2) *w->out++ = (uint8_t)(codes[i] | codes[i + 1] << 4);
  for (; i < count; i++) {
    w->pending |= (uint32_t)codes[i] << w->pending_bits;
    w->pending_bits += code_bits;
    if (w->pending_bits >= 8) {
      *w->out++ = (uint8_t)w->pending;
      w->pending >>= 8;
      w->pending_bits -= 8;
    }
  }
}

static void finish(bit_writer *w) {
  if (w->pending_bits != 0) *w->out++ = (uint8_t)w->pending;
}

int mxg_quantize__portable(const mxg_quantize_job *job) {
  const mxg_plan *plan = job->plan;
  const int has_scale = plan->recipe.scale != MXG_SCALE_NONE;
  const size_t block_size = has_scale ? plan->recipe.block : job->cols;
  bit_writer writer = {job->codes, 0, 0};
  int any_scaled = 0;
  values_chunk c;
  for (size_t begin = 0, block = 0;; begin += block_size, block++) {
    const size_t left = job->cols - begin;
    const size_t size = left < block_size ? left : block_size;
    const int once = has_scale && size <= CHUNK;
    block_scale scale = {0, PLAIN, {1.0f, 1.0f, 0, 0}};
    if (has_scale) {
      uint32_t amax = mxg_f32_bits(plan->recipe.amax_floor);
      for (size_t i = 0; i < size; i += CHUNK) {
        const size_t count = size - i < CHUNK ? size - i : CHUNK;
        load(job, begin + i, count, &c);
        amax = amax_of(c.value, count, plan->recipe.nan_amax, amax);
      }
      scale = scale_block(job, amax, block);
      any_scaled |= scale.f32.scaled;
    }
    for (size_t i = 0; i < size; i += CHUNK) {
      const size_t count = size - i < CHUNK ? size - i : CHUNK;
      if (!once) load(job, begin + i, count, &c);
      apply(&scale, c.value, count);
      encode(plan, scale.shift, count, &c);
      put(&writer, plan->traits.bits, c.codes, count);
    }
    if (left <= block_size) break; /* begin + block_size could wrap */
  }
  finish(&writer);
  return any_scaled;
}
