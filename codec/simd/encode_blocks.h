/* encode_blocks.h: the inner loops of quantize.h: elements into codes, and maxima, an instance for
 * each kind of source, scale and code. Included by quantize.h only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_ENCODE_BLOCKS_H
#define MXG_SIMD_ENCODE_BLOCKS_H

#include "../internal.h"

#define AHEAD 16384u           /* bytes of source to prefetch, as far as L2, in large calls */
#define CHUNK (4u * MXG_LANES) /* elements that become codes at once */

/* ---- elements ----
 * A magnitude v becomes a code by one addition (section 2.1). v's own power of two, but not less
 * than that of the format's smallest normal, times 2^(23 - m) is so large that the sum with v keeps
 * v in its low bits, rounded to m mantissa bits, the leading one included, ties to even. v's binade
 * is in the sum's exponent field. Both together are the code, but for a constant offset:
 *
 *   sum    0 eeeeeeee 000000000000000000nnnnn    code = nnnnn + (eeeeeeee << m) - offset
 *
 * E8M0 scales are subtracted from the exponent field beforehand. Then v's field is counted from m +
 * 2 for the smallest normal, and what would be a source subnormal or below is 1, half a step, which
 * rounds to 0. f32 scales: what would be below half the smallest subnormal and a bit is lifted to a
 * power of two there, which rounds to 0 as well. Thus no lane is ever subnormal, which would cost an
 * assist of the CPU's microcode. Factors are multiplied by a power of two that makes the offset 0. */

typedef enum source_kind { SOURCE_F32, SOURCE_F16, SOURCE_BF16, SOURCE_WEIGHTED } source_kind;
/* SCALE_NORMAL: SCALE_MUL of elements whose products are all normal in the element format. Nothing
 * is lifted then, and signs need not be taken away. */
typedef enum scale_kind { SCALE_NONE, SCALE_E8M0, SCALE_MUL, SCALE_DIV, SCALE_NORMAL } scale_kind;

typedef struct encoder {
  v32 magnitude, exponent, smallest, power, collect, bound, not_finite, weight;
  v_join join;
  mxg_dtype dtype; /* SOURCE_WEIGHTED */
  int prefetch;
} encoder;

/* The exponent nearest to 0 of a power of two that makes the offset of the elements' codes 0, modulo
 * 256, when all factors are multiplied by it: for no format is it above 0. */
static inline int raise_for(const mxg_traits *t) {
  const int period = 256 >> t->mantissa_bits;
  return -((t->emin + 150 - t->mantissa_bits) % period);
}

/* The exponent of the power of two which is a quarter of the format's smallest subnormal. */
static inline int least_exponent(const mxg_traits *t) {
  return t->emin - t->mantissa_bits - 2;
}

/* Are codes without an offset, and never above the limit? A factor takes amax to the maximum and some
 * 2^-21 of it, which rounds to the maximum if that is a value of the element format; another one is
 * for weighted. */
MXG_OP int is_code(source_kind source, scale_kind scale) {
  return source != SOURCE_WEIGHTED && (scale == SCALE_MUL || scale == SCALE_NORMAL);
}

/* A power of two as load_chunk wants it: for bf16 in both words. */
MXG_OP v32 as_least(source_kind source, v32 power_of_two) {
  if (source != SOURCE_BF16) return power_of_two;
  return v_add(power_of_two, v_shift_right(power_of_two, v_set(16)));
}

MXG_OP encoder encoder_for(const mxg_quantize_job *job, source_kind source, scale_kind scale,
                           v_kind kind, float weight) {
  const mxg_traits *t = &job->plan->traits;
  const mxg_policy *policy = &job->plan->policy;
  const size_t block = job->plan->recipe.block;
  const uint32_t drop = (uint32_t)(23 - t->mantissa_bits);
  const int raise = scale == SCALE_MUL ? raise_for(t) : 0;
  const uint32_t smallest =
      (uint32_t)(scale == SCALE_E8M0 ? t->mantissa_bits + 2 : t->emin + 127 + raise);
  const uint32_t offset = (smallest + drop) << t->mantissa_bits;
  encoder e;
  e.magnitude = v_set(0x7FFFFFFFu);
  e.exponent = v_set(0x7F800000u);
  e.smallest = v_set(smallest << 23);
  e.power = v_set((127 + drop) << 23);
  e.collect = v_collect_for(t->mantissa_bits);
  /* E8M0: the least value. None: what is larger has the code of 2^(emax + 1), which is above every
   * limit; and Inf is like it unless overflow=saturate_finite. */
  e.bound = v_set(scale == SCALE_E8M0 ? 1u << 23 : (uint32_t)(t->emax + 128) << 23);
  e.not_finite = v_set(policy->inf == policy->over ? MXG_F32_INF : MXG_F32_INF - 1u);
  e.weight = v_set(mxg_f32_bits(weight));
  /* over is limit or, for overflow=nonfinite, the code above it */
  e.join = v_join_for(source == SOURCE_BF16 ? V_EVEN_ODD : V_NATURAL, kind, offset, policy->over);
  e.dtype = job->dtype;
  e.prefetch = job->streaming;
  e.join.stream = job->streaming && kind != V_FP4 && may_stream(job->codes) &&
                  (scale == SCALE_NONE || block % CHUNK == 0 || block == CHUNK / 2);
  return e;
}

MXG_OP v32 load_elements(const encoder *e, source_kind source, const uint8_t *x) {
  v32 a;
  if (source == SOURCE_F32) return v_load_elements(MXG_DTYPE_F32, x);
  if (source == SOURCE_F16) return v_load_elements(MXG_DTYPE_F16, x);
  if (e->dtype == MXG_DTYPE_F32)
    a = v_load_elements(MXG_DTYPE_F32, x);
  else if (e->dtype == MXG_DTYPE_F16)
    a = v_load_elements(MXG_DTYPE_F16, x);
  else
    a = v_load_elements(MXG_DTYPE_BF16, x);
  return v_fmul(a, e->weight);
}

MXG_OP size_t value_bytes_of(const encoder *e, source_kind source) {
  return source == SOURCE_WEIGHTED ? mxg_dtype_bytes(e->dtype) : source == SOURCE_F32 ? 4 : 2;
}

MXG_OP v_chunk load_chunk(const encoder *e, source_kind source, scale_kind scale, const uint8_t *x,
                          v32 least) {
  v_chunk c;
  if (source == SOURCE_BF16) return v_load_even_odd(x, least, scale == SCALE_NORMAL);
  MXG_UNROLL
  for (size_t i = 0; i < 4; i++)
    c.f[i] = load_elements(e, source, x + i * MXG_LANES * value_bytes_of(e, source));
  return c;
}

/* factor[0] for the first half of the chunk, [1] for the second. Magnitudes are lifted to least, but
 * for f16, which is never that small. Returns whether the chunk is for portable (scale=none). */
MXG_OP int encode_chunk(const encoder *e, source_kind source, scale_kind scale, v_kind kind,
                        const uint8_t *x, const v32 factor[2], v32 least, uint8_t *codes) {
  const v_chunk c = load_chunk(e, source, scale, x, least);
  const int lift = source == SOURCE_F32 || source == SOURCE_WEIGHTED;
  v32 m[4], largest = v_set(0);
  MXG_UNROLL
  for (int i = 0; i < 4; i++) {
    v32 v = c.f[i], power;
    if (lift && (scale == SCALE_MUL || scale == SCALE_DIV))
      v = v_at_least(v, least);
    else if (source != SOURCE_BF16 && scale != SCALE_NORMAL)
      v = v_and(v, e->magnitude);
    switch (scale) {
      case SCALE_NONE:
        largest = i == 0 ? v : v_max(largest, v);
        v = v_min(v, e->bound);
        if (lift) v = v_max(v, least);
        break;
      case SCALE_E8M0: v = v_max(v_sub(v, factor[i / 2]), e->bound); break;
      case SCALE_NORMAL:
      case SCALE_MUL: v = v_fmul(v, factor[i / 2]); break;
      case SCALE_DIV: v = v_fdiv(v, factor[i / 2]); break;
    }
    power = v_and(v, e->exponent);
    if (scale != SCALE_NORMAL) power = v_max(power, e->smallest);
    m[i] = v_collect(v_fma(power, e->power, v), e->collect);
  }
  v_store_codes(&e->join, source == SOURCE_BF16 ? V_EVEN_ODD : V_NATURAL, kind,
                !is_code(source, scale), m, &c, codes);
  return scale == SCALE_NONE && v_above(largest, e->not_finite) != 0;
}

/* The whole chunks of count blocks of `block` elements, at most 64 chunks with scale=none. With a
 * block of half a chunk, count is even. least: a power of two. Returns a bit for each chunk that is for portable. */
MXG_OP uint64_t encode_blocks(const encoder *constants, source_kind source, scale_kind scale,
                              v_kind kind, const uint8_t *x, size_t block, size_t count,
                              const uint32_t *factors, uint32_t least, uint8_t *codes) {
  const size_t value_bytes = value_bytes_of(constants, source);
  const size_t step = value_bytes * CHUNK, code_step = kind == V_FP4 ? CHUNK / 2 : CHUNK;
  const int halves = block == CHUNK / 2;
  const size_t per_step = halves ? 2 : 1;
  const size_t chunks = halves ? 1 : block / CHUNK, total = count / per_step * chunks;
  const size_t rest = halves ? 0 : block % CHUNK;
  uint64_t bad = 0;
  encoder e = *constants;
  v32 lift = as_least(source, v_set(least));
  if (scale == SCALE_NORMAL) e.exponent = v_set(0xFF800000u); /* with the sign, as are v and sum */
  MXG_KEEP(e.magnitude);
  MXG_KEEP(e.exponent);
  MXG_KEEP(e.smallest);
  MXG_KEEP(e.power);
  MXG_KEEP(e.collect);
  MXG_KEEP(e.bound);
  MXG_KEEP(lift);
  v_join_keep(&e.join);
  for (size_t i = 0, in_block = 0; i < total; i++) { /* one loop: short inner ones mispredict */
    if (e.prefetch)
      for (size_t line = 0; line < step; line += 64)
        __builtin_prefetch((const void *)((uintptr_t)x + AHEAD + line), 0, 2);
    const v32 factor[2] = {v_set(factors[0]), v_set(factors[halves])};
    const int portably = encode_chunk(&e, source, scale, kind, x, factor, lift, codes);
    if (scale == SCALE_NONE) bad |= (uint64_t)portably << i;
    x += step;
    codes += code_step;
    if (++in_block == chunks) {
      in_block = 0;
      factors += per_step;
      x += value_bytes * rest;
      codes += kind == V_FP4 ? rest / 2 : rest;
    }
  }
  return bad;
}

/* ---- maxima ---- */

/* Largest magnitudes of half a chunk; f16 and bf16 stay words for as long as they can. */
MXG_OP v32 half_amax(const encoder *e, source_kind source, const uint8_t *x) {
  if (source == SOURCE_F32) return v_half_amax(MXG_DTYPE_F32, x);
  if (source == SOURCE_F16) return v_half_amax(MXG_DTYPE_F16, x);
  if (source == SOURCE_BF16) return v_half_amax(MXG_DTYPE_BF16, x);
  return v_max(
      v_and(load_elements(e, source, x), e->magnitude),
      v_and(load_elements(e, source, x + MXG_LANES * mxg_dtype_bytes(e->dtype)), e->magnitude));
}

/* m[b]: what v_across() makes the amax of the whole chunks of block b, or of its half chunk. room:
 * NULL, or room[b] likewise the largest difference of a magnitude to 7F..F, that is of the least. */
MXG_OP void amax_blocks(const encoder *e, source_kind source, const uint8_t *x, size_t block,
                        size_t count, v32 *m, v32 *room) {
  const mxg_dtype dtype = source == SOURCE_F16    ? MXG_DTYPE_F16
                          : source == SOURCE_BF16 ? MXG_DTYPE_BF16
                                                  : MXG_DTYPE_F32;
  const size_t value_bytes = value_bytes_of(e, source);
  const size_t half = CHUNK / 2 * value_bytes;
  const v32 top = v_set(dtype == MXG_DTYPE_BF16 ? 0x7FFF7FFFu : 0x7FFFFFFFu);
  for (size_t b = 0; b < count; b++, x += block * value_bytes) {
    v32 even, odd = v_set(0), lowest = top;
    if (block == CHUNK / 2) {
      even = half_amax(e, source, x);
      if (room != NULL) lowest = v_half_least(dtype, lowest, x);
    } else {
      even = v_set(0);
      for (size_t i = 0; i < block / CHUNK; i++) {
        even = v_amax_max(dtype, even, half_amax(e, source, x + 2 * i * half));
        odd = v_amax_max(dtype, odd, half_amax(e, source, x + (2 * i + 1) * half));
        if (room != NULL) {
          lowest = v_half_least(dtype, lowest, x + 2 * i * half);
          lowest = v_half_least(dtype, lowest, x + (2 * i + 1) * half);
        }
      }
    }
    m[b] = v_amax_max(dtype, even, odd);
    if (dtype == MXG_DTYPE_F16) m[b] = v_amax_f32(dtype, m[b]);
    if (room != NULL) room[b] = v_sub(top, lowest);
  }
}

/* ---- instances: a table, so that the code below is there once ---- */

typedef void amax_fn(const encoder *e, const uint8_t *x, size_t block, size_t count, v32 *m,
                     v32 *room);
typedef uint64_t encode_fn(const encoder *e, const uint8_t *x, size_t block, size_t count,
                           const uint32_t *factors, uint32_t least, uint8_t *codes);

#define AMAX(name, source, looks)                                                             \
  MXG_TARGET static void name(const encoder *e, const uint8_t *x, size_t block, size_t count, \
                              v32 *m, v32 *room) {                                            \
    amax_blocks(e, source, x, block, count, m, (looks) ? room : NULL);                        \
  }
#define ENCODE(name, source, scale, kind)                                                         \
  MXG_TARGET static uint64_t MXG_INSTANCE(name)(const encoder *e, const uint8_t *x, size_t block, \
                                                size_t count, const uint32_t *factors,            \
                                                uint32_t least, uint8_t *codes) {                 \
    return encode_blocks(e, source, scale, kind, x, block, count, factors, least, codes);         \
  }
#define ENCODE_KINDS(name, source, scale)        \
  ENCODE(name##_fp8, source, scale, V_FP8)       \
  ENCODE(name##_fnuz, source, scale, V_FP8_FNUZ) \
  ENCODE(name##_fp4, source, scale, V_FP4)
#define ENCODE_SOURCES(name, scale)             \
  ENCODE_KINDS(name##_f32, SOURCE_F32, scale)   \
  ENCODE_KINDS(name##_f16, SOURCE_F16, scale)   \
  ENCODE_KINDS(name##_bf16, SOURCE_BF16, scale) \
  ENCODE_KINDS(name##_weighted, SOURCE_WEIGHTED, scale)

AMAX(amax_f32, SOURCE_F32, 0)
AMAX(amax_f16, SOURCE_F16, 0)
AMAX(amax_bf16, SOURCE_BF16, 0)
AMAX(amax_weighted, SOURCE_WEIGHTED, 0)
AMAX(amax_and_least_f32, SOURCE_F32, 1)
AMAX(amax_and_least_bf16, SOURCE_BF16, 1)
ENCODE_SOURCES(encode_cast, SCALE_NONE)
ENCODE_SOURCES(encode_e8m0, SCALE_E8M0)
ENCODE_SOURCES(encode_mul, SCALE_MUL)
ENCODE_KINDS(encode_normal_f32, SOURCE_F32, SCALE_NORMAL)
ENCODE_KINDS(encode_normal_bf16, SOURCE_BF16, SCALE_NORMAL)
ENCODE_KINDS(encode_div, SOURCE_WEIGHTED, SCALE_DIV) /* the division takes all the time */

#define KINDS(name) \
  { MXG_INSTANCE(name##_fp8), MXG_INSTANCE(name##_fnuz), MXG_INSTANCE(name##_fp4) }
#define SOURCES(name) \
  { KINDS(name##_f32), KINDS(name##_f16), KINDS(name##_bf16), KINDS(name##_weighted) }

static amax_fn *const amax_fns[4] = {amax_f32, amax_f16, amax_bf16, amax_weighted};
static amax_fn *const amax_and_least_fns[4] = {amax_and_least_f32, NULL, amax_and_least_bf16, NULL};
static encode_fn *const encode_normal_fns[4][3] = {
    KINDS(encode_normal_f32), {NULL, NULL, NULL}, KINDS(encode_normal_bf16), {NULL, NULL, NULL}};
static encode_fn *const encode_fns[4][4][3] = {
    SOURCES(encode_cast),
    SOURCES(encode_e8m0),
    SOURCES(encode_mul),
    {KINDS(encode_div), KINDS(encode_div), KINDS(encode_div), KINDS(encode_div)}};

#endif
