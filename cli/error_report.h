/* error_report.h: errors of many elements, added up and printed.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_ERROR_REPORT_H
#define MXGOLD_ERROR_REPORT_H

#include "bound.h"
#include "tool.h"

typedef struct mxg_place {
  double value;
  size_t row, col;
  bool is_set;
} mxg_place;

typedef struct mxg_error_report {
  mxg_sum error_squares, reference_squares;
  uint64_t elements, finite; /* finite: both are, and the sums hold them */
  uint64_t nan_both, nan_got, nan_reference;
  uint64_t inf_same, inf_other; /* an Inf on either side: the same Inf on both, or not */
  uint64_t nonzero_at_zero;     /* the reference is 0, the result is not: no relative error */
  uint64_t bounded, inside;     /* elements that have a bound, and those within it */
  mxg_place max_absolute, max_relative, worst_ratio;
} mxg_error_report;

/* One element; bound as mxg_error_bound() gives it. */
void mxg_error_add(mxg_error_report *report, float got, float x, double bound, size_t row,
                   size_t col);
/* recipe: text, or NULL when there was none and so no bound. */
void mxg_error_print(const mxg_error_report *report, const char *recipe, size_t rows, size_t cols,
                     bool as_json);

#endif
