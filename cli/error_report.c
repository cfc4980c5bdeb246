/* error_report.c: see error_report.h.
 * SPDX-License-Identifier: MIT */
#include "error_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "recipe_text.h"

/* Gates of the serving systems (section 6): they are for a whole GEMM or EP output. */
static const struct {
  const char *name, *key;
  double limit;
} gates[] = {{"A8W4", "a8w4", 0.10}, {"A4W4", "a4w4", 0.25}, {"A4W4 of R1", "a4w4_r1", 0.28}};
enum { GATE_COUNT = sizeof gates / sizeof gates[0] };

static void note_max(mxg_place *at, double value, size_t row, size_t col) {
  if (at->is_set && !(value > at->value)) return;
  const mxg_place here = {value, row, col, true};
  *at = here;
}

void mxg_error_add(mxg_error_report *report, float got, float x, double bound, size_t row,
                   size_t col) {
  report->elements++;
  if (isnan(got) || isnan(x)) {
    report->nan_both += isnan(got) && isnan(x);
    report->nan_got += isnan(got) && !isnan(x);
    report->nan_reference += !isnan(got) && isnan(x);
    return;
  }
  if (isinf(got) || isinf(x)) {
    report->inf_same += got == x;
    report->inf_other += got != x;
    return;
  }
  const double difference = (double)got - (double)x, magnitude = fabs((double)x);
  report->finite++;
  mxg_sum_add(&report->error_squares, difference * difference);
  mxg_sum_add(&report->reference_squares, (double)x * (double)x);
  note_max(&report->max_absolute, fabs(difference), row, col);
  if (magnitude > 0.0)
    note_max(&report->max_relative, fabs(difference) / magnitude, row, col);
  else
    report->nonzero_at_zero += difference != 0.0;
  if (!(bound > 0.0)) return;
  report->bounded++;
  report->inside += fabs(difference) <= bound;
  note_max(&report->worst_ratio, fabs(difference) / bound, row, col);
}

/* ||got - reference|| / ||reference||; Inf when only the reference is 0. */
static double relative_l2(const mxg_error_report *report) {
  const double error = mxg_square_root(mxg_sum_value(&report->error_squares));
  const double reference = mxg_square_root(mxg_sum_value(&report->reference_squares));
  if (reference > 0.0) return error / reference;
  return error > 0.0 ? (double)INFINITY : 0.0;
}

/* ---- printing ---- */

static void print_place(const char *title, const mxg_place *at) {
  if (at->is_set)
    printf("%-18s %.9g at row %zu, column %zu\n", title, at->value, at->row, at->col);
  else
    printf("%-18s none\n", title);
}

static void print_text(const mxg_error_report *report, const char *recipe, size_t rows,
                       size_t cols) {
  const double l2 = relative_l2(report);
  if (recipe) printf("%-18s %s\n", "recipe", recipe);
  printf("%-18s %zu x %zu\n", "rows x cols", rows, cols);
  printf("%-18s %.9g\n", "relL2", l2);
  print_place("max absolute", &report->max_absolute);
  print_place("max relative", &report->max_relative);
  if (report->nonzero_at_zero)
    printf("%-18s %llu (the reference is 0 there)\n", "nonzero at zero",
           (unsigned long long)report->nonzero_at_zero);
  if (recipe) {
    printf("%-18s %llu of %llu elements that have a bound", "inside the bound",
           (unsigned long long)report->inside, (unsigned long long)report->bounded);
    if (report->bounded)
      printf(" (%.6f %%)", 100.0 * (double)report->inside / (double)report->bounded);
    putchar('\n');
    print_place("worst / bound", &report->worst_ratio);
  } else {
    printf("%-18s needs --recipe\n", "inside the bound");
  }
  printf("%-18s %llu both, %llu only in the result, %llu only in the reference\n", "NaN",
         (unsigned long long)report->nan_both, (unsigned long long)report->nan_got,
         (unsigned long long)report->nan_reference);
  printf("%-18s %llu the same, %llu not\n", "Inf", (unsigned long long)report->inf_same,
         (unsigned long long)report->inf_other);
  for (size_t i = 0; i < GATE_COUNT; i++)
    printf("gate %-13s %s (relL2 < %.2f)\n", gates[i].name, l2 < gates[i].limit ? "pass" : "fail",
           gates[i].limit);
  printf("The gates are meant for a whole GEMM or EP output, not for one quantised tensor.\n");
}

static void set_place(json_t *object, const char *key, const mxg_place *at) {
  json_t *value = json_null();
  if (at->is_set) {
    value = json_object();
    json_object_set_new(value, "value", mxg_json_value(at->value));
    json_object_set_new(value, "row", json_integer((json_int_t)at->row));
    json_object_set_new(value, "col", json_integer((json_int_t)at->col));
  }
  json_object_set_new(object, key, value);
}

static void set_count(json_t *object, const char *key, uint64_t count) {
  json_object_set_new(object, key, json_integer((json_int_t)count));
}

static void print_json(const mxg_error_report *report, const char *recipe, size_t rows,
                       size_t cols) {
  const double l2 = relative_l2(report);
  json_t *object = json_object(), *passed = json_object();
  json_object_set_new(object, "recipe", recipe ? json_string(recipe) : json_null());
  set_count(object, "rows", rows);
  set_count(object, "cols", cols);
  json_object_set_new(object, "rel_l2", mxg_json_value(l2));
  set_place(object, "max_absolute", &report->max_absolute);
  set_place(object, "max_relative", &report->max_relative);
  set_count(object, "nonzero_at_zero", report->nonzero_at_zero);
  set_count(object, "elements", report->elements);
  set_count(object, "finite", report->finite);
  set_count(object, "bounded", report->bounded);
  set_count(object, "inside_bound", report->inside);
  set_place(object, "worst_ratio", &report->worst_ratio);
  set_count(object, "nan_both", report->nan_both);
  set_count(object, "nan_got_only", report->nan_got);
  set_count(object, "nan_reference_only", report->nan_reference);
  set_count(object, "inf_same", report->inf_same);
  set_count(object, "inf_other", report->inf_other);
  for (size_t i = 0; i < GATE_COUNT; i++)
    json_object_set_new(passed, gates[i].key, json_boolean(l2 < gates[i].limit));
  json_object_set_new(object, "gates", passed);
  mxg_json_print(object);
  json_decref(object);
}

void mxg_error_print(const mxg_error_report *report, const char *recipe, size_t rows, size_t cols,
                     bool as_json) {
  if (as_json)
    print_json(report, recipe, rows, cols);
  else
    print_text(report, recipe, rows, cols);
}
