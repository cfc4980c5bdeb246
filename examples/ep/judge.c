/* judge.c: is the output as near to the tokens as its two quantisations allow?
 * The bound is docs/NUMERICS.md section 6's, of both ways, plus the roundings to bf16 and f32.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ep.h"

/* 2^exponent, in the range of normal doubles. */
static double power_of_two(int exponent) {
  const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* floor(log2(value)) of a positive, normal double; 0.0 gives -1023. */
static int exponent_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (int)(bits >> 52 & 2047) - 1023;
}

/* The most that rounding to bf16 moved a value that became v. */
static double bf16_half_ulp(double v) {
  const int exponent = exponent_of(fabs(v));
  return power_of_two((exponent < -126 ? -126 : exponent) - 8);
}

/* The scales that a slot's blocks decode with. */
static bool read_scales(const ep_wire *wire, const unsigned char *slot, double *scale) {
  const mxg_recipe *const recipe = &wire->recipe;
  const unsigned char *const stored = slot + wire->layout.scale_offset_bytes;
  bool scaled = true;
  for (size_t b = 0; b < wire->layout.scales_used; b++) {
    float s = 1.0f;
    if (recipe->scale == MXG_SCALE_E8M0) {
      if (mxg_e8m0_to_f32(recipe->edges, stored + b, 1, &s) != MXG_OK) return false;
    } else {
      uint32_t bits = 0;
      for (size_t i = 0; i < 4; i++) bits |= (uint32_t)stored[4 * b + i] << (8 * i);
      memcpy(&s, &bits, sizeof s);
      if (b == 0 && recipe->marker != MXG_MARKER_NONE) {
        scaled = s < 0.0f;
        s = fabsf(s);
      }
    }
    scale[b] = scaled ? (double)s : 1.0;
  }
  return true;
}

/* Section 6's bound of one element x of a block with scale s. */
static double bound(const ep_wire *wire, const mxg_traits *traits, double x, double s) {
  if (wire->bf16) return 0.0;
  const double max =
      wire->recipe.element_max > 0.0f ? (double)wire->recipe.element_max : (double)traits->max;
  const double magnitude = fabs(x), excess = magnitude - s * max;
  if (!(s > 0.0)) return magnitude;
  const double v = magnitude / s < max ? magnitude / s : max;
  const int exponent = v > 0.0 && exponent_of(v) > traits->emin ? exponent_of(v) : traits->emin;
  double sum =
      (excess > 0.0 ? excess : 0.0) + s * power_of_two(exponent - traits->mantissa_bits) / 2;
  if (wire->recipe.scale == MXG_SCALE_F32) sum += magnitude * power_of_two(-21);
  return sum;
}

/* One row of work, all of `hidden` elements. */
typedef struct bench {
  float *x, *dispatched, *weighted, *out;
  double *expected, *allowed, *magnitude; /* magnitude: infinite where a NaN may come out */
  double *scale;
  uint16_t *bf16;
} bench;

/* A plain cast without saturation makes NaN of what rounds to more than the largest value. */
static bool overflows(const ep_wire *wire, const mxg_traits *traits, double z) {
  const double half_step =
      power_of_two(exponent_of((double)traits->max) - traits->mantissa_bits) / 2;
  return !wire->bf16 && wire->recipe.overflow == MXG_OVERFLOW_NONFINITE &&
         fabs(z) > (double)traits->max + half_step;
}

static size_t block_of(const ep_wire *wire, size_t i) {
  return wire->bf16 || wire->recipe.block == 0 ? 0 : i / wire->recipe.block;
}

static bool scales_of(const ep_wire *wire, const unsigned char *slot, double *scale) {
  scale[0] = 1.0;
  return wire->bf16 || wire->recipe.scale == MXG_SCALE_NONE || read_scales(wire, slot, scale);
}

/* What dispatch made of the token, and the share of its bound that this used. */
static bool judge_dispatch(const ep_wire *wire, const unsigned char *slot, size_t hidden, bench *b,
                           double *allowed, double *worst) {
  const mxg_traits traits = mxg_element_traits(wire->recipe.element);
  if (!ep_unpack(wire, slot, 1, hidden, b->bf16) || !scales_of(wire, slot, b->scale) ||
      mxg_to_f32(MXG_DTYPE_BF16, b->bf16, hidden, b->dispatched) != MXG_OK)
    return false;
  for (size_t i = 0; i < hidden; i++) {
    const double x = (double)b->x[i], t = (double)b->dispatched[i];
    allowed[i] =
        wire->bf16 ? 0.0 : bound(wire, &traits, x, b->scale[block_of(wire, i)]) + bf16_half_ulp(t);
    if (t != x && !(fabs(t - x) <= *worst * allowed[i])) *worst = fabs(t - x) / allowed[i];
  }
  return true;
}

/* Adds what the source of one rank may be off by. b->weighted gets what its experts put out. */
static bool judge_source(const ep_wire *wire, const unsigned char *slot, float weight,
                         size_t hidden, const double *dispatch_allowed, bench *b) {
  const mxg_traits traits = mxg_element_traits(wire->recipe.element);
  for (size_t i = 0; i < hidden; i++) b->weighted[i] = b->dispatched[i] * weight;
  if (!wire->weighs_rows && (mxg_from_f32(MXG_DTYPE_BF16, b->weighted, hidden, b->bf16) != MXG_OK ||
                             mxg_to_f32(MXG_DTYPE_BF16, b->bf16, hidden, b->weighted) != MXG_OK))
    return false;
  if (!scales_of(wire, slot, b->scale)) return false;
  for (size_t i = 0; i < hidden; i++) {
    const double z = (double)b->weighted[i];
    const double quantised = bound(wire, &traits, z, b->scale[block_of(wire, i)]);
    b->expected[i] += (double)weight * (double)b->x[i];
    b->allowed[i] += (double)weight * dispatch_allowed[i] + fabs(z) * power_of_two(-23) +
                     (wire->weighs_rows ? 0.0 : bf16_half_ulp(z)) + quantised;
    b->magnitude[i] += overflows(wire, &traits, z) ? HUGE_VAL : fabs(z) + quantised;
  }
  return true;
}

static bool judge_token(const ep_tokens *tokens, size_t token, const ep_wire *dispatch,
                        const unsigned char *sent, const ep_wire *combine,
                        const void *const *returned, double *dispatch_allowed, bench *b,
                        ep_outcome *outcome) {
  const size_t hidden = tokens->hidden;
  size_t sources = 0;
  if (mxg_to_f32(MXG_DTYPE_BF16, tokens->x + token * hidden, hidden, b->x) != MXG_OK ||
      !judge_dispatch(dispatch, sent + token * dispatch->row_bytes, hidden, b, dispatch_allowed,
                      &outcome->worst))
    return false;
  memset(b->expected, 0, hidden * sizeof(double));
  memset(b->allowed, 0, hidden * sizeof(double));
  memset(b->magnitude, 0, hidden * sizeof(double));
  for (size_t k = 0; k < tokens->top_k; k++) {
    const unsigned char *const slot = returned[token * tokens->top_k + k];
    if (!slot) continue;
    sources++;
    const float weight = ep_rank_weight(tokens, token, ep_rank_of(tokens, token, k));
    if (!judge_source(combine, slot, weight, hidden, dispatch_allowed, b)) return false;
  }
  outcome->rows += (double)sources;
  for (size_t i = 0; i < hidden; i++) {
    const double out = (double)b->out[i], off = out - b->expected[i];
    if (b->magnitude[i] == HUGE_VAL) {
      outcome->nans += 1.0;
      if (!isnan(out)) outcome->worst = HUGE_VAL;
      continue;
    }
    /* two roundings to f32 per source, and the result's own to bf16 */
    const double allowed = b->allowed[i] + bf16_half_ulp(out) +
                           2.0 * (double)sources * power_of_two(-24) * b->magnitude[i];
    if (off != 0.0 && !(fabs(off) <= outcome->worst * allowed))
      outcome->worst = fabs(off) / allowed;
    outcome->error2 += off * off;
    outcome->reference2 += b->expected[i] * b->expected[i];
  }
  return true;
}

/* FNV-1a, 64 bits, over the little-endian bytes of the output. */
static uint64_t digest(const uint16_t *y, size_t count) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (size_t i = 0; i < count; i++) {
    hash = (hash ^ (y[i] & 255u)) * 0x100000001B3u;
    hash = (hash ^ (unsigned)(y[i] >> 8)) * 0x100000001B3u;
  }
  return hash;
}

bool ep_judge(const ep_tokens *tokens, const ep_wire *dispatch, const unsigned char *sent,
              const ep_wire *combine, const void *const *returned, const uint16_t *y,
              ep_outcome *outcome) {
  const size_t hidden = tokens->hidden;
  double *const doubles = malloc(5 * hidden * sizeof(double));
  float *const floats = malloc(4 * hidden * sizeof(float));
  uint16_t *const bf16 = malloc(hidden * sizeof *bf16);
  bool fine = doubles && floats && bf16;
  *outcome = (ep_outcome){0.0, 0.0, 0.0, 0.0, 0.0, digest(y, tokens->count * hidden)};
  for (size_t token = 0; fine && token < tokens->count; token++) {
    bench b = {floats,  floats + hidden,  floats + 2 * hidden,  floats + 3 * hidden,
               doubles, doubles + hidden, doubles + 2 * hidden, doubles + 3 * hidden,
               bf16};
    fine = mxg_to_f32(MXG_DTYPE_BF16, y + token * hidden, hidden, b.out) == MXG_OK &&
           judge_token(tokens, token, dispatch, sent, combine, returned, doubles + 4 * hidden, &b,
                       outcome);
  }
  free(doubles);
  free(floats);
  free(bf16);
  return fine;
}
