/* vectors_elements.c: quantise cases about one element: rounding, zeros, subnormals, overflow,
 * packing. Each block holds an anchor, which makes its scale 1, so that elements are what is
 * tested.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "vectors.h"

enum { LIST_CAP = 1024 };

/* Values to be laid out in rows of one block each. */
typedef struct list {
  uint32_t bits[LIST_CAP];
  size_t count;
} list;

static void add(list *l, uint32_t bits) {
  if (l->count < LIST_CAP) l->bits[l->count++] = bits;
}

/* Adds a magnitude with either sign by turns. */
static void add_alternating(list *l, uint32_t magnitude) {
  add(l, magnitude | (l->count % 2 != 0 ? MXG_MINUS : 0));
}

static void add_both(list *l, uint32_t magnitude) {
  add(l, magnitude);
  add(l, magnitude | MXG_MINUS);
}

/* The list in rows of at most 32 columns, the anchor first in each. */
static void flush(mxg_vectors *v, const char *flags, mxg_dtype dtype, const list *l) {
  static uint32_t x[2 * LIST_CAP];
  size_t cols = v->block < 32 ? v->block : 32;
  if (cols > l->count + 1) cols = l->count + 1;
  if (cols < 2) return;
  const size_t rows = (l->count + cols - 2) / (cols - 1);
  memset(x, 0, sizeof x);
  for (size_t row = 0; row < rows; row++) {
    x[row * cols] = v->anchor;
    for (size_t c = 1; c < cols; c++) {
      const size_t i = row * (cols - 1) + c - 1;
      if (i < l->count) x[row * cols + c] = l->bits[i];
    }
  }
  mxg_vectors_quantize(v, flags, dtype, rows, cols, x, NULL);
}

/* Halfway between code and code + 1, exactly; 0 when that is past the limit. */
static uint32_t midpoint(const mxg_vectors *v, unsigned code) {
  const double low = mxg_value_of(mxg_code_bits(v->recipe.element, (uint8_t)code));
  const double high = mxg_value_of(mxg_code_bits(v->recipe.element, (uint8_t)(code + 1)));
  const uint32_t bits = mxg_bits_of((low + high) / 2);
  return bits < v->limit ? bits : 0;
}

/* Every midpoint, by turns of either sign; bf16 and f16 hold them exactly. */
static void ties(mxg_vectors *v, mxg_dtype dtype) {
  list l = {{0}, 0};
  for (unsigned code = 0; code < v->traits.max_code; code++) {
    const uint32_t bits = midpoint(v, code);
    if (bits != 0) add_alternating(&l, bits);
  }
  flush(v, "TieToEven", dtype, &l);
}

/* An ulp of f32 to either side of midpoints: subnormals, and a binade of normals. A detour through
 * bf16 or f16 makes ties of them. */
static void near_ties(mxg_vectors *v) {
  list l = {{0}, 0};
  const unsigned step = 1u << v->traits.mantissa_bits;
  for (unsigned code = 0; code < v->traits.max_code; code++) {
    const bool is_low = code < 2 * step, is_mid = code / step == (unsigned)v->traits.bias;
    const uint32_t bits = midpoint(v, code);
    if (bits == 0 || !(is_low || is_mid)) continue;
    add_alternating(&l, bits - 1);
    add_alternating(&l, bits + 1);
  }
  flush(v, "DoubleRound,TieToEven", MXG_DTYPE_F32, &l);
}

/* Values whose rounding to bf16 or to f16 crosses a midpoint by less than an ulp of those types. */
static void double_rounding(mxg_vectors *v) {
  list l = {{0}, 0};
  static const uint32_t below_bf16[] = {0x0001, 0x1000, 0x4000, 0x7FFF}, below_f16[] = {1, 0xFFF};
  for (unsigned code = 1; code < v->traits.max_code && l.count < 93; code += 2) {
    const uint32_t bits = midpoint(v, code), even = midpoint(v, code - 1);
    if (bits == 0 || even == 0) break;
    /* above a tie that goes down, below a tie that goes up */
    add_alternating(&l, even + below_bf16[code / 2 % 4]);
    add_alternating(&l, bits - below_bf16[code / 2 % 4]);
    add_alternating(&l, (code % 4 == 1 ? even + below_f16[0] : even + below_f16[1]));
  }
  flush(v, "DoubleRound", MXG_DTYPE_F32, &l);
}

static void negative_zeros(mxg_vectors *v) {
  const uint32_t least = mxg_code_bits(v->recipe.element, 1), half = least - (1u << 23);
  list l = {{0}, 0};
  add(&l, MXG_MINUS);
  add(&l, 0);
  add_both(&l, half); /* a tie between 0 and the least subnormal: to even, zero */
  add_both(&l, half - (1u << 23));
  add(&l, least | MXG_MINUS);
  flush(v, "NegZero", MXG_DTYPE_BF16, &l);
  if (v->traits.bits == 8 && v->traits.exponent_bits == 5) return; /* out of range of f16 */
  flush(v, "NegZero", MXG_DTYPE_F16, &l);
}

static void subnormals(mxg_vectors *v) {
  list l = {{0}, 0};
  const unsigned first_normal = 1u << v->traits.mantissa_bits;
  for (unsigned code = 1; code <= first_normal; code++)
    add_both(&l, mxg_code_bits(v->recipe.element, (uint8_t)code));
  const uint32_t half = mxg_code_bits(v->recipe.element, 1) - (1u << 23);
  add_both(&l, half + 1);
  add_both(&l, half + (1u << 22));
  flush(v, "Subnormal", MXG_DTYPE_F32, &l);
}

static void tiny(mxg_vectors *v) {
  list l = {{0}, 0};
  add(&l, mxg_bits_of(1e-22));
  add(&l, mxg_bits_of(-1e-22));
  add(&l, mxg_bits_of(1e-38));
  add(&l, mxg_bits_of(-1e-38));
  add_both(&l, 0x00000001);
  add_both(&l, 0x007FFFFF);
  add_both(&l, 0x00400000);
  /* nearly 2 times a power of two, further and further below the format */
  const uint32_t least = mxg_code_bits(v->recipe.element, 1);
  for (uint32_t below = 2; below < 45; below += 2)
    add_alternating(&l, (least - (below << 23)) | 0x7FFFFF);
  flush(v, "TinyShift", MXG_DTYPE_F32, &l);
}

/* Can a value overflow under the scale that its own block gives it? */
static bool can_overflow(const mxg_recipe *r) {
  const bool is_rceil = r->rule == MXG_RULE_RCEIL || r->rule == MXG_RULE_RCEIL_BUMP;
  if (r->scale == MXG_SCALE_NONE) return true;
  if (r->scale == MXG_SCALE_E8M0) return !is_rceil || r->inf_scale != MXG_INF_SCALE_NAN;
  /* a NaN leaves the block unscaled; an amax so small that its scale is */
  if (r->scale_when == MXG_SCALE_WHEN_ABOVE_MAX) return r->nan_amax == MXG_NAN_AMAX_PROPAGATE;
  return !(r->amax_floor > 0);
}

/* Around the maximum: in a plain cast, or by a rule whose scale leaves such values. */
static void overflow(mxg_vectors *v) {
  list l = {{0}, 0};
  const uint32_t ulp = 1u << (23 - v->traits.mantissa_bits);
  const uint32_t half_step = v->max + ulp / 2;
  add_both(&l, v->max);
  add_both(&l, half_step);
  add_both(&l, half_step - 1);
  add_both(&l, half_step + 1);
  add_both(&l, half_step + (ulp >> 5));
  add_both(&l, mxg_bits_of(1000));
  add_both(&l, 0x7F7FFFFF);
  add_both(&l, MXG_INF);
  if (!can_overflow(&v->recipe)) return;
  if (v->recipe.scale == MXG_SCALE_NONE) {
    flush(v, "Overflow", MXG_DTYPE_F32, &l);
    for (size_t i = 0; i < l.count; i++) l.bits[i] &= 0xFFFF0000u;
    flush(v, "Overflow", MXG_DTYPE_BF16, &l);
    return;
  }
  /* each value in a block of its own */
  uint32_t x[3 * 32];
  const bool is_above_max =
      v->recipe.scale == MXG_SCALE_F32 && v->recipe.scale_when == MXG_SCALE_WHEN_ABOVE_MAX;
  for (size_t i = 0; i < l.count; i++) {
    x[3 * i] = is_above_max ? MXG_NAN : 0x3F000000;
    x[3 * i + 1] = l.bits[i];
    x[3 * i + 2] = MXG_ONE;
  }
  if (v->block < 3) return;
  mxg_vectors_quantize(v, "Overflow", MXG_DTYPE_F32, l.count, 3, x, NULL);
  /* amax so small that max / amax is Inf */
  static const uint32_t small[] = {0x00000001, 0x80000001, 0, 0x00400000, 0x00200000, 0x80000000};
  if (v->recipe.scale == MXG_SCALE_F32 && !is_above_max)
    mxg_vectors_quantize(v, "Overflow", MXG_DTYPE_F32, 2, 3, small, NULL);
}

static void nibbles(mxg_vectors *v) {
  static const uint32_t x[8] = {0x3F800000, 0x40000000, 0x40800000, 0x3F000000,
                                0xC0400000, 0x3FC00000, 0x80000000, 0x40000000};
  if (v->traits.bits == 8 || v->block < 8) return;
  mxg_vectors_quantize(v, "NibbleOrder", MXG_DTYPE_BF16, 1, 2, x, NULL); /* [1, 2] */
  mxg_vectors_quantize(v, "NibbleOrder", MXG_DTYPE_BF16, 1, 8, x, NULL);
  mxg_vectors_quantize(v, "NibbleOrder", MXG_DTYPE_F16, 2, 3, x, NULL); /* odd rows */
}

void mxg_vectors_element_cases(mxg_vectors *v) {
  ties(v, MXG_DTYPE_BF16);
  if (v->traits.mantissa_bits < 3) ties(v, MXG_DTYPE_F16);
  near_ties(v);
  double_rounding(v);
  negative_zeros(v);
  subnormals(v);
  tiny(v);
  overflow(v);
  nibbles(v);
}
