/* bound.h: the error bound of one element (section 6), and sums of many.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_BOUND_H
#define MXGOLD_BOUND_H

#include "tool.h"

/* The bound of |decoded - x| for an element x whose block has the scale `scale` (1 without one).
 * Negative: the law gives none (a scale that is 0, subnormal, negative, Inf or NaN; x that is not
 * finite). */
double mxg_error_bound(const mxg_recipe *recipe, float x, float scale);

/* A sum whose rounding error does not grow with the number of terms (Neumaier); the same bits on
 * every machine. */
typedef struct mxg_sum {
  double sum, lost;
} mxg_sum;
void mxg_sum_add(mxg_sum *sum, double term);
double mxg_sum_value(const mxg_sum *sum);

/* Square root, correctly rounded up to the last bit, without libm. */
double mxg_square_root(double value);

#endif
