/* bound.c: see bound.h.
 * SPDX-License-Identifier: MIT */
#include "bound.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* floor(log2(value)) of a normal, positive double. */
static int exponent_of(double value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return (int)(bits >> 52 & 2047) - 1023;
}

/* 2^exponent, in the range of normal doubles. */
static double power_of_two(int exponent) {
  const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double value = 0.0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Distance of neighbouring values of the format at v: 2^(max(floor(log2 v), emin) - mbits). */
static double spacing(const mxg_traits *traits, double v) {
  int exponent = traits->emin;
  if (v > 0.0 && exponent_of(v) > exponent) exponent = exponent_of(v);
  return power_of_two(exponent - traits->mantissa_bits);
}

double mxg_error_bound(const mxg_recipe *recipe, float x, float scale) {
  if (!(scale >= FLT_MIN) || !(scale <= FLT_MAX) || !isfinite(x)) return -1.0;
  const mxg_traits traits = mxg_element_traits(recipe->element);
  const double max = recipe->element_max > 0.0f ? (double)recipe->element_max : (double)traits.max;
  const double magnitude = x < 0.0f ? -(double)x : (double)x, s = (double)scale;
  const double excess = magnitude - s * max;
  const double v = magnitude / s < max ? magnitude / s : max;
  double bound = (excess > 0.0 ? excess : 0.0) + s * spacing(&traits, v) / 2;
  if (recipe->scale == MXG_SCALE_F32) bound += magnitude * power_of_two(-21);
  return bound;
}

void mxg_sum_add(mxg_sum *sum, double term) {
  const double total = sum->sum + term;
  const bool sum_is_larger = fabs(sum->sum) >= fabs(term);
  sum->lost += sum_is_larger ? (sum->sum - total) + term : (term - total) + sum->sum;
  sum->sum = total;
}

double mxg_sum_value(const mxg_sum *sum) {
  return sum->sum + sum->lost;
}

double mxg_square_root(double value) {
  if (!(value > 0.0) || !isfinite(value)) return value;
  /* Newton from a power of two that is at most twice too large; it falls until it stops */
  double root = power_of_two(exponent_of(value) / 2 + 1);
  for (;;) {
    const double next = (root + value / root) / 2;
    if (!(next < root)) return root;
    root = next;
  }
}
