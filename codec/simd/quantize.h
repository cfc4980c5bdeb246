/* quantize.h: blocks of any size into codes and scales, in 32-bit lanes; the text of every
 * mxg_quantize__ISA. A leaf includes ops_ISA.h first, then this, and calls quantize_lanes().
 *
 *   sources   bf16, f16, f32, or any of them times a row weight
 *   scales    E8M0 (in the default FP environment), f32 by multiplication or division, none
 *   codes     FP8, FP8 without -0 (FNUZ), FP4 in blocks of an even size
 *
 * A group is some blocks; the maxima of MXG_LANES of them fill one vector. A chunk is what becomes
 * codes at once. What a lane cannot do goes to portable, a block (scale=none: a chunk) at a time: NaN and
 * Inf, an E8M0 scale outside the sum of e8m0.h, an f32 scale or factor that is not normal.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_QUANTIZE_H
#define MXG_SIMD_QUANTIZE_H

#include "e8m0.h"
#include "encode_blocks.h"
#include "fallback.h"

/* ---- a call ---- */

typedef struct lanes {
  const mxg_quantize_job *job;
  encoder encoder;
  amax_fn *amax;
  encode_fn *encode;
  /* Where products without subnormals are faster, else NULL: encode_normal takes blocks of which
   * amax_and_least found that they are. */
  amax_fn *amax_and_least;
  encode_fn *encode_normal;
  uint32_t smallest_normal; /* of the element format, in binary32, raised */
  int raise; /* SCALE_MUL: exponent (<= 0) of a power of two in the factors of a group, else 0 */
  scale_kind scale;
  mxg_e8m0_sum sum; /* SCALE_E8M0 */
  source_kind amax_source;
  size_t value_bytes;
  uint32_t least, least_factor, largest_factor; /* see lift_for */
} lanes;

/* Magnitudes below `least` are lifted to it: no operation then sees a subnormal, and it still rounds
 * to 0. One power of two serves every usual factor 2^e * [1, 2): its product with one in
 * least_factor..largest_factor is normal, and below half the format's smallest subnormal. */
static void lift_for(lanes *q) {
  const int field = 37, least = least_exponent(&q->job->plan->traits);
  /* exponent fields of factors, before they are raised */
  int first = 128 - field - q->raise, last = least + 254 - field;
  q->least = (uint32_t)field << 23;
  if (q->scale == SCALE_NONE) q->least = (uint32_t)(least + 127) << 23;
  if (q->scale == SCALE_E8M0) q->least = 0; /* which has a bound of its own */
  if (q->scale == SCALE_DIV) {
    first = field - least;
    last = field + 125;
  }
  q->least_factor = (uint32_t)first << 23;
  q->largest_factor = ((uint32_t)last << 23) + 0x7FFFFFu;
}

/* Blocks of a group: so many that its parts are worth their calls, in so few elements that they are
 * still in the first cache when they are read again. */
#define GROUP_BLOCKS (4u * MXG_LANES)
#define GROUP_ELEMENTS 2048u

typedef struct group {
  _Alignas(64) uint32_t factors[GROUP_BLOCKS];
  uint64_t bad, scaled, extreme; /* a bit for each block */
  uint64_t normal;               /* likewise: the whole chunks are for encode_normal */
  size_t first, count;           /* blocks */
  size_t size;                   /* of each; less than the recipe's for the last of a row */
} group;

/* What a vector of maxima, of `count` blocks from block `first` on, becomes. */
typedef struct vector_scales {
  v32 factor;
  uint32_t bad, scaled, extreme;
} vector_scales;

MXG_OP vector_scales scales_e8m0(const lanes *q, v32 amax, size_t first, size_t count) {
  const mxg_e8m0_sum *sum = &q->sum;
  const mxg_traits *t = &q->job->plan->traits;
  const v32 field = v_set(23);
  v32 byte = v_shift_right(v_add(amax, v_set(sum->addend)), field), base;
  vector_scales scales;
  scales.scaled = 0;
  scales.bad = (v_above(v_set(sum->begin), amax) & v_above(amax, v_set(0))) |
               v_above(amax, v_set(sum->end - 1));
  byte = v_max(v_sub(byte, v_set(sum->minus)), v_set(sum->floor_byte));
  v_store_bytes(q->job->scales + first, byte, count);
  base =
      v_add(v_max(byte, v_set(sum->least_byte)), v_set((uint32_t)(t->emin - t->mantissa_bits - 2)));
  scales.factor = v_shift_left(base, field);
  scales.extreme = 0;
  return scales;
}

MXG_OP vector_scales scales_f32(const lanes *q, v32 amax, size_t first, size_t count) {
  const mxg_f32_rule *rule = &q->job->plan->f32;
  const v32 one = v_set(mxg_f32_bits(1.0f)), max = v_set(mxg_f32_bits(rule->max));
  const v32 least = v_set(0x00800000u), largest = v_set(MXG_F32_INF - 1u);
  /* amax above this is scaled, as integers */
  const v32 bound = rule->scale_when == MXG_SCALE_WHEN_ABOVE_MAX ? max
                    : rule->zero_block == MXG_ZERO_BLOCK_UNIT    ? v_set(0)
                                                                 : v_set(UINT32_MAX);
  v32 s = rule->scale_math == MXG_SCALE_MATH_MUL ? v_fmul(amax, v_set(mxg_f32_bits(rule->rcp_max)))
                                                 : v_fdiv(amax, max);
  v32 factor = rule->apply == MXG_APPLY_DIV       ? s
               : rule->apply == MXG_APPLY_MUL_RCP ? v_fdiv(one, s)
                                                  : v_fdiv(max, amax);
  vector_scales scales;
  s = v_pick_above(amax, bound, s, one);
  factor = v_pick_above(amax, bound, factor, one);
  scales.factor = v_add(factor, v_set((uint32_t)(q->raise * (1 << 23))));
  scales.extreme =
      v_above(v_set(q->least_factor), factor) | v_above(factor, v_set(q->largest_factor));
  scales.bad = v_above(amax, largest) | v_above(least, s) | v_above(s, largest) |
               v_above(least, factor) | v_above(factor, largest);
  scales.scaled = v_above(amax, bound) & ~scales.bad;
  if (count == MXG_LANES) {
    v_store(q->job->scales + 4 * first, s);
  } else {
    uint32_t few[MXG_LANES];
    v_store(few, s);
    memcpy(q->job->scales + 4 * first, few, 4 * count);
  }
  return scales;
}

/* What a block has beyond its whole chunks, in a chunk of its own, zeros behind. */
typedef struct rest {
  uint8_t x[4 * CHUNK];
  size_t first, count; /* elements; none: count == 0 */
} rest;

MXG_TARGET static void load_rest(const lanes *q, size_t first, size_t count, rest *r) {
  r->first = first;
  r->count = count;
  memcpy(r->x, (const uint8_t *)q->job->x + first * q->value_bytes, count * q->value_bytes);
  memset(r->x + count * q->value_bytes, 0, (CHUNK - count) * q->value_bytes);
}

/* Of which blocks are the products normal? A product is no less than that of the least magnitude
 * with the same factor: rounding keeps order. */
MXG_OP uint32_t normal_blocks(const lanes *q, v32 room, v32 factor) {
  const v32 top = v_set(q->amax_source == SOURCE_BF16 ? 0x7FFF0000u : 0x7FFFFFFFu);
  /* lifted like the elements, so that it is no subnormal here either */
  const v32 least = v_max(v_sub(top, room), v_set(q->least));
  return ~v_above(v_set(q->smallest_normal), v_fmul(least, factor));
}

/* Each run of equal bits costs a call: with more than two blocks that are not normal, none counts as
 * normal. pairs: two blocks share a chunk. */
static inline uint64_t few_runs(uint64_t normal, size_t count, int pairs) {
  uint64_t others = ~normal & UINT64_MAX >> (64 - count);
  others &= others - 1;
  others &= others - 1;
  if (others != 0) return 0;
  if (!pairs) return normal;
  normal &= normal >> 1 & 0x5555555555555555u;
  return normal | normal << 1;
}

/* The same instance of v_across() for all sources that are not bf16. */
MXG_OP v32 across(mxg_dtype dtype, const v32 m[MXG_LANES]) {
  return dtype == MXG_DTYPE_BF16 ? v_across(MXG_DTYPE_BF16, m) : v_across(MXG_DTYPE_F32, m);
}

/* look: whether the elements are for encode_normal. */
MXG_TARGET static void group_scales(const lanes *q, size_t first, size_t count, size_t size,
                                    int look, group *g) {
  const size_t block = q->job->plan->recipe.block;
  const v32 least = v_set(mxg_f32_bits(q->job->plan->recipe.amax_floor));
  const mxg_dtype dtype = q->amax_source == SOURCE_BF16 ? MXG_DTYPE_BF16 : MXG_DTYPE_F32;
  v32 m[GROUP_BLOCKS], room[GROUP_BLOCKS];
  g->first = first;
  g->count = count;
  g->size = size;
  g->bad = g->scaled = g->extreme = g->normal = 0;
  (look ? q->amax_and_least : q->amax)(&q->encoder,
                                       (const uint8_t *)q->job->x + first * block * q->value_bytes,
                                       size, count, m, room);
  for (size_t i = count; i % MXG_LANES != 0; i++) m[i] = room[i] = v_set(0);
  if (size % CHUNK != 0 && size != CHUNK / 2) {
    for (size_t i = 0; i < count; i++) {
      rest r;
      v32 tail;
      load_rest(q, (first + i) * block + size - size % CHUNK, size % CHUNK, &r);
      q->amax(&q->encoder, r.x, CHUNK, 1, &tail, NULL);
      m[i] = v_amax_max(dtype, m[i], tail);
    }
  }
  for (size_t i = 0; i < count; i += MXG_LANES) {
    const size_t n = count - i < MXG_LANES ? count - i : MXG_LANES;
    const uint32_t there = (uint32_t)((1ull << n) - 1u);
    const v32 amax = v_max(across(dtype, m + i), least);
    const vector_scales scales = q->scale == SCALE_E8M0 ? scales_e8m0(q, amax, first + i, n)
                                                        : scales_f32(q, amax, first + i, n);
    v_store(g->factors + i, scales.factor);
    g->extreme |= (uint64_t)(scales.extreme & there) << i;
    g->bad |= (uint64_t)(scales.bad & there) << i;
    g->scaled |= (uint64_t)(scales.scaled & there) << i;
    if (look)
      g->normal |= (uint64_t)(normal_blocks(q, across(dtype, room + i), scales.factor) & there)
                   << i;
  }
  if (look) g->normal = few_runs(g->normal, count, size == CHUNK / 2);
  /* Codes are made of bad blocks too, before portable's: no product of theirs shall be subnormal. */
  for (size_t i = 0; i < count && g->bad >> i != 0; i++)
    if ((g->bad >> i & 1u) != 0) g->factors[i] = mxg_f32_bits(1.0f);
}

static uint8_t *codes_at(const mxg_quantize_job *job, size_t element) {
  return job->codes + (job->plan->traits.bits == 4 ? element / 2 : element);
}

/* The high nibble behind an odd count is 0, whatever a weight made of the zeros. */
static void store_rest(const mxg_quantize_job *job, const rest *r, uint8_t *codes) {
  const int fp4 = job->plan->traits.bits == 4;
  if (fp4 && r->count % 2 != 0) codes[r->count / 2] &= 0x0F;
  memcpy(codes_at(job, r->first), codes, fp4 ? (r->count + 1) / 2 : r->count);
}

/* The last `count` elements of block i of a group, by themselves. */
MXG_TARGET static void codes_of_rest(const lanes *q, const group *g, size_t i, size_t count,
                                     uint32_t least) {
  const size_t block = q->job->plan->recipe.block;
  _Alignas(64) uint8_t codes[CHUNK];
  rest r;
  load_rest(q, (g->first + i) * block + g->size - count, count, &r);
  (void)q->encode(&q->encoder, r.x, CHUNK, 1, g->factors + i, least, codes);
  store_rest(q->job, &r, codes);
}

/* How many blocks from block i on have the same bit. */
static inline size_t run_of(uint64_t bits, size_t i, size_t count) {
  const uint64_t from = bits >> i, others = (from & 1u) != 0 ? ~from : from;
  const size_t run = others == 0 ? count : (size_t)__builtin_ctzll(others);
  return run < count - i ? run : count - i;
}

/* The codes of block i, whose factor is not for q->least. */
MXG_TARGET static void codes_of_extreme(const lanes *q, const group *g, size_t i) {
  const mxg_quantize_job *job = q->job;
  const size_t first = (g->first + i) * job->plan->recipe.block;
  /* 1..254 if the raised factor is normal; if it has wrapped, too large for a field of 1 */
  const uint32_t raised = g->factors[i] >> 23;
  const int exponent = (int)raised - q->raise;
  const int least = least_exponent(&job->plan->traits);
  const int field = q->scale == SCALE_DIV ? least + exponent : least + 254 - exponent;
  if (field < 1 || raised < 1) {
    (void)mxg_quantize_block_portably(job, g->first + i, g->size);
    return;
  }
  if (g->size != CHUNK / 2)
    (void)q->encode(&q->encoder, (const uint8_t *)job->x + first * q->value_bytes, g->size, 1,
                    g->factors + i, (uint32_t)field << 23, codes_at(job, first));
  if (g->size % CHUNK != 0) codes_of_rest(q, g, i, g->size % CHUNK, (uint32_t)field << 23);
}

/* Returns 1 if a block was scaled. */
MXG_TARGET static int group_codes(const lanes *q, const group *g) {
  const mxg_quantize_job *job = q->job;
  const size_t first = g->first * job->plan->recipe.block;
  const int halves = g->size == CHUNK / 2; /* two blocks a chunk; a last one may lack a partner */
  const size_t count = halves ? g->count & ~(size_t)1 : g->count;
  int scaled = g->scaled != 0;
  if (g->bad == UINT64_MAX >> (64 - g->count))
    return mxg_quantize_block_portably(job, g->first, g->count * g->size);
  for (size_t i = 0, run; i < count; i += run) {
    const size_t at = first + i * g->size;
    run = run_of(g->normal, i, count);
    (void)((g->normal >> i & 1u) != 0 ? q->encode_normal : q->encode)(
        &q->encoder, (const uint8_t *)job->x + at * q->value_bytes, g->size, run, g->factors + i,
        q->least, codes_at(job, at));
  }
  if (count != g->count)
    codes_of_rest(q, g, count, g->size, q->least);
  else if (!halves && g->size % CHUNK != 0)
    for (size_t i = 0; i < count; i++) codes_of_rest(q, g, i, g->size % CHUNK, q->least);
  if ((g->extreme & ~g->bad) != 0)
    for (size_t i = 0; i < g->count; i++)
      if ((g->extreme >> i & ~(g->bad >> i) & 1u) != 0) codes_of_extreme(q, g, i);
  for (size_t i = 0, run; g->bad != 0 && i < g->count; i += run) {
    run = run_of(g->bad, i, g->count);
    if ((g->bad >> i & 1u) != 0)
      scaled |= mxg_quantize_block_portably(job, g->first + i, run * g->size);
  }
  return scaled;
}

/* The group that starts at block `first`; returns the block after it. */
MXG_TARGET static size_t next_group(const lanes *q, size_t first, int look, group *g) {
  const size_t block = q->job->plan->recipe.block, whole = q->job->cols / block;
  const size_t fit = GROUP_ELEMENTS / block, left = whole - first;
  const size_t most = fit < 1 ? 1 : fit > GROUP_BLOCKS ? GROUP_BLOCKS : fit;
  if (first == whole)
    group_scales(q, first, 1, q->job->cols % block, 0, g);
  else
    group_scales(q, first, left < most ? left : most, block, look, g);
  return first + g->count;
}

/* The scales of each group are made before the codes of the group before it: they come from a long
 * chain, and the codes keep the ports busy meanwhile. */
MXG_TARGET static int quantize_groups(const lanes *q) {
  const size_t blocks = mxg_size_ceil_div(q->job->cols, q->job->plan->recipe.block);
  const int can_look = q->encode_normal != NULL;
  group g[2];
  size_t made = next_group(q, 0, can_look, &g[0]), number = 0;
  int scaled = 0;
  for (unsigned turn = 0; g[turn].first < blocks; turn ^= 1) {
    /* Data with many small products mostly go on like that: to look for them each time costs. */
    const int normal = g[turn].normal != 0;
    number++;
    if (made < blocks)
      made = next_group(q, made, can_look && (normal || number % 4 == 0), &g[turn ^ 1]);
    else
      g[turn ^ 1].first = blocks;
    scaled |= group_codes(q, &g[turn]);
  }
  return scaled;
}

MXG_TARGET static void cast_portably(const mxg_quantize_job *job, size_t first, size_t count) {
  mxg_quantize_job part = *job;
  part.x = (const uint8_t *)job->x + first * mxg_dtype_bytes(job->dtype);
  part.cols = count;
  part.codes = codes_at(job, first);
  (void)mxg_quantize__portable(&part);
}

/* Chunks from element `first` on, a bit for each, in runs. */
static void cast_bad(const mxg_quantize_job *job, size_t first, uint64_t bad, size_t count) {
  for (size_t i = 0, run; i < count; i += run) {
    run = run_of(bad, i, count);
    if ((bad >> i & 1u) != 0) cast_portably(job, first + i * CHUNK, run * CHUNK);
  }
}

MXG_TARGET static void quantize_cast(const lanes *q) {
  const mxg_quantize_job *job = q->job;
  const size_t whole = job->cols - job->cols % CHUNK;
  const uint32_t unused[2] = {0, 0};
  for (size_t first = 0, count; first < whole; first += count) {
    uint64_t bad;
    count = whole - first < 64 * CHUNK ? whole - first : 64 * CHUNK;
    bad = q->encode(&q->encoder, (const uint8_t *)job->x + first * q->value_bytes, count, 1, unused,
                    q->least, codes_at(job, first));
    if (bad != 0) cast_bad(job, first, bad, count / CHUNK);
  }
  if (whole < job->cols) {
    const size_t count = job->cols - whole;
    _Alignas(64) uint8_t codes[CHUNK];
    rest r;
    load_rest(q, whole, count, &r);
    if (q->encode(&q->encoder, r.x, CHUNK, 1, unused, q->least, codes) != 0)
      cast_portably(job, whole, count);
    else
      store_rest(job, &r, codes);
  }
}

/* Is the maximum of the recipe a normal value of the element format? */
static int max_is_value(const mxg_quantize_job *job) {
  const mxg_traits *t = &job->plan->traits;
  const uint32_t max = mxg_f32_bits(job->plan->f32.max);
  return (max & ((1u << (23 - t->mantissa_bits)) - 1u)) == 0 && max >= (uint32_t)(t->emin + 127)
                                                                           << 23;
}

/* A job that mxg_serves_quantize() admits. Returns 1 if a block was scaled. */
MXG_TARGET static int quantize_lanes(const mxg_quantize_job *job) {
  const mxg_recipe *recipe = &job->plan->recipe;
  const mxg_traits *t = &job->plan->traits;
  const v_kind kind = t->bits == 4 ? V_FP4 : t->fnuz != 0 ? V_FP8_FNUZ : V_FP8;
  source_kind source = job->dtype == MXG_DTYPE_F32   ? SOURCE_F32
                       : job->dtype == MXG_DTYPE_F16 ? SOURCE_F16
                                                     : SOURCE_BF16;
  float weight = 1.0f;
  int scaled = 0;
  lanes q;
  q.job = job;
  q.scale = recipe->scale == MXG_SCALE_NONE   ? SCALE_NONE
            : recipe->scale == MXG_SCALE_E8M0 ? SCALE_E8M0
            : recipe->apply == MXG_APPLY_DIV  ? SCALE_DIV
                                              : SCALE_MUL;
  if (q.scale == SCALE_E8M0) {
    q.sum = mxg_e8m0_sum_for(job->plan);
    if (q.sum.begin == q.sum.end || !mxg_fpenv_is_quiet()) return mxg_quantize__portable(job);
  }
  if (job->row_weight != NULL) {
    memcpy(&weight, job->row_weight, sizeof weight);
    source = SOURCE_WEIGHTED;
  }
  q.amax_source = source;
  q.amax = amax_fns[source];
  if (q.scale == SCALE_DIV || (q.scale == SCALE_MUL && !max_is_value(job)))
    source = SOURCE_WEIGHTED; /* by 1 */
  q.encoder = encoder_for(job, source, q.scale, kind, weight);
  q.amax_and_least = NULL;
  q.encode_normal = NULL;
  q.raise = q.scale == SCALE_MUL ? raise_for(t) : 0;
  q.smallest_normal = (uint32_t)(t->emin + 127 + q.raise) << 23;
  /* Blocks that need no scale have small elements, as has FP4: there is no use in looking. */
  if (q.scale == SCALE_MUL && kind != V_FP4 &&
      job->plan->f32.scale_when != MXG_SCALE_WHEN_ABOVE_MAX) {
    q.amax_and_least = amax_and_least_fns[source];
    q.encode_normal = encode_normal_fns[source][kind];
  }
  q.encode = encode_fns[q.scale][source][kind];
  q.value_bytes = mxg_dtype_bytes(job->dtype);
  lift_for(&q);
  if (q.scale == SCALE_NONE)
    quantize_cast(&q);
  else
    scaled = quantize_groups(&q);
  if (q.encoder.join.stream) stream_end();
  return scaled;
}

#endif
