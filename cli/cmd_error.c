/* cmd_error.c: how far one tensor is from another, and whether it stays inside what its recipe
 * promises.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bound.h"
#include "compare.h"
#include "recipe_text.h"

/* Gates of the serving systems (section 6): they are for a whole GEMM or EP output. */
static const struct {
  const char *name, *key;
  double limit;
} gates[] = {{"A8W4", "a8w4", 0.10}, {"A4W4", "a4w4", 0.25}, {"A4W4 of R1", "a4w4_r1", 0.28}};
enum { GATE_COUNT = sizeof gates / sizeof gates[0] };

typedef struct place {
  double value;
  size_t row, col;
  bool is_set;
} place;

typedef struct error_report {
  mxg_sum error_squares, reference_squares;
  uint64_t elements, finite; /* finite: both are, and the sums hold them */
  uint64_t nan_both, nan_got, nan_reference;
  uint64_t inf_same, inf_other; /* an Inf on either side: the same Inf on both, or not */
  uint64_t nonzero_at_zero;     /* the reference is 0, the result is not: no relative error */
  uint64_t bounded, inside;     /* elements that have a bound, and those within it */
  place max_absolute, max_relative, worst_ratio;
} error_report;

static void note_max(place *at, double value, size_t row, size_t col) {
  if (at->is_set && !(value > at->value)) return;
  const place here = {value, row, col, true};
  *at = here;
}

static void add_element(error_report *report, float got, float x, double bound, size_t row,
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
static double relative_l2(const error_report *report) {
  const double error = mxg_square_root(mxg_sum_value(&report->error_squares));
  const double reference = mxg_square_root(mxg_sum_value(&report->reference_squares));
  if (reference > 0.0) return error / reference;
  return error > 0.0 ? (double)INFINITY : 0.0;
}

/* ---- where values and scales come from ---- */

typedef struct job {
  mxg_packed_file packed;   /* GOT is quantised: */
  mxg_side side;            /* its codes and scales */
  mxg_tensor_file got_file; /* or it is unpacked: */
  const mxg_tensor *got;    /* its values; NULL when quantised */
  mxg_source source;        /* then the scales are those that the recipe gives for REF */
  mxg_tensor_file reference_file;
  const mxg_tensor *reference;
  bool has_recipe;
  mxg_recipe recipe;
  float *values, *reference_values, *scale_values; /* of one row of a tile */
  unsigned char *scales;
} job;

/* The scale of each block of a row as decoding uses it: 1 in an unscaled row, the magnitude of a
 * marked first one (section 5). */
static int decode_scales(const job *j, size_t count, float *out) {
  const mxg_recipe *recipe = &j->recipe;
  if (recipe->scale == MXG_SCALE_E8M0) {
    const mxg_status status = mxg_e8m0_to_f32(recipe->edges, j->scales, count, out);
    return status == MXG_OK ? MXG_EXIT_OK : mxg_fail_status(status, "scales");
  }
  for (size_t i = 0; i < count; i++) {
    const unsigned char *at = j->scales + 4 * i;
    const uint32_t bits =
        (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    memcpy(&out[i], &bits, 4);
  }
  if (recipe->marker == MXG_MARKER_NONE || count == 0) return MXG_EXIT_OK;
  if (out[0] < 0.0f)
    out[0] = -out[0];
  else
    for (size_t i = 0; i < count; i++) out[i] = 1.0f;
  return MXG_EXIT_OK;
}

/* Values of a part of one row of a tensor. */
static int load_values(const mxg_tensor *tensor, size_t row, size_t col, size_t cols, float *out) {
  const mxg_dtype dtype = (mxg_dtype)tensor->dtype;
  const unsigned char *at = tensor->data;
  if (cols) at += (row * tensor->cols + col) * mxg_dtype_bytes(dtype);
  const mxg_status status = mxg_to_f32(dtype, at, cols, out);
  return status == MXG_OK ? MXG_EXIT_OK : mxg_fail_status(status, tensor->path);
}

static int decode_codes(const job *j, size_t row, size_t col, size_t cols) {
  mxg_layout layout;
  const int status = mxg_make_layout(&j->recipe, 1, cols, NULL, &layout);
  if (status) return status;
  const mxg_packed_view view = {mxg_side_codes(&j->side, row, col), layout.codes_bytes, j->scales,
                                layout.scales_bytes, layout};
  const mxg_matrix matrix = {j->values, MXG_DTYPE_F32, 1, cols, 0};
  const mxg_status result = mxg_dequantize(&j->recipe, &view, &matrix, NULL);
  return result == MXG_OK ? MXG_EXIT_OK : mxg_fail_status(result, j->packed.path);
}

/* tile: where the scales come from; NULL when there is no recipe. */
static int measure_row(const job *j, const mxg_side *tile, size_t row, size_t col, size_t cols,
                       error_report *report) {
  size_t block = 0, count = 0;
  int status = load_values(j->reference, row, col, cols, j->reference_values);
  if (!status && tile && j->recipe.scale != MXG_SCALE_NONE) {
    block = j->recipe.block;
    count = mxg_size_ceil_div(cols, block);
    mxg_side_scales(tile, row, col / block, count, j->scales);
    status = decode_scales(j, count, j->scale_values);
  }
  if (!status)
    status =
        j->got ? load_values(j->got, row, col, cols, j->values) : decode_codes(j, row, col, cols);
  if (status) return status;
  for (size_t i = 0; i < cols; i++) {
    const float x = j->reference_values[i];
    const float scale = block ? j->scale_values[i / block] : 1.0f;
    const double bound = tile ? mxg_error_bound(&j->recipe, x, scale) : -1.0;
    add_element(report, j->values[i], x, bound, row, col + i);
  }
  return MXG_EXIT_OK;
}

static int measure(job *j, size_t tile_cols, error_report *report) {
  const size_t rows = j->reference->rows, cols = j->reference->cols;
  const size_t tile_rows = mxg_tile_rows(rows, tile_cols);
  int status = MXG_EXIT_OK;
  mxg_progress_begin("error", rows);
  for (size_t row = 0; row < rows && cols && !status; row += tile_rows) {
    const size_t some_rows = tile_rows < rows - row ? tile_rows : rows - row;
    for (size_t col = 0; col < cols && !status; col += tile_cols) {
      const size_t some_cols = tile_cols < cols - col ? tile_cols : cols - col;
      mxg_side made;
      const mxg_side *tile = j->got ? NULL : &j->side;
      if (j->got && j->has_recipe) {
        status = mxg_source_tile(&j->source, row, some_rows, col, some_cols, &made);
        tile = &made;
      }
      for (size_t r = row; r < row + some_rows && !status; r++)
        status = measure_row(j, tile, r, col, some_cols, report);
    }
    mxg_progress_step(row + some_rows);
  }
  mxg_progress_end();
  return status;
}

/* ---- files ---- */

static int open_quantised(job *j, const char *recipe_text) {
  int status = mxg_packed_recipe(&j->packed, recipe_text, &j->recipe);
  if (status) return status;
  j->has_recipe = true;
  mxg_recipe stored;
  if (recipe_text && j->packed.recipe_text &&
      (mxg_recipe_parse(j->packed.recipe_text, &stored, NULL) != MXG_OK ||
       !mxg_recipe_equal(&stored, &j->recipe)))
    return mxg_fail(MXG_EXIT_USAGE, "%s: was made with recipe %s, not with %s: leave --recipe out",
                    j->packed.path, j->packed.recipe_text, mxg_recipe_short_text(&j->recipe));
  const mxg_tensor *x = j->reference;
  if (j->packed.has_shape && (j->packed.rows != x->rows || j->packed.cols != x->cols))
    return mxg_fail(MXG_EXIT_FILE, "%s: holds %zux%zu, but %s is %zux%zu", j->packed.path,
                    j->packed.rows, j->packed.cols, x->path, x->rows, x->cols);
  mxg_report sizes;
  mxg_report_begin(&sizes, 0);
  status = MXG_EXIT_OK;
  if (mxg_compare_tags(&sizes, &j->packed, &j->recipe))
    status = mxg_side_open(&j->side, &sizes, j->packed.path, &j->recipe, x->rows, x->cols,
                           &j->packed.options, j->packed.codes, j->packed.codes_bytes,
                           j->packed.scales, j->packed.scales_bytes);
  if (!status && sizes.note_count) status = mxg_fail(MXG_EXIT_FILE, "%s", sizes.notes[0].text);
  mxg_report_end(&sizes);
  return status;
}

static int open_unpacked(job *j, const char *recipe_text) {
  const mxg_tensor *x = j->reference;
  if (j->got->rows != x->rows || j->got->cols != x->cols)
    return mxg_fail(MXG_EXIT_FILE, "%s is %zux%zu, but %s is %zux%zu", j->got->path, j->got->rows,
                    j->got->cols, x->path, x->rows, x->cols);
  if (!recipe_text) return MXG_EXIT_OK;
  j->has_recipe = true;
  const int status = mxg_recipe_arg(recipe_text, NULL, &j->recipe);
  return status ? status : mxg_source_open(&j->source, x, &j->recipe, 0);
}

/* Is GOT a pair of codes and scales? A safetensors file with one tensor of values is not. */
static bool is_quantised(const mxg_tensor_file *file) {
  if (file->kind != MXG_FILE_SAFETENSORS) return false;
  const char *name = mxg_input_args.tensor;
  const mxg_tensor *named = name ? mxg_tensor_find(file, name) : NULL;
  if (named) return !mxg_file_dtype_is_value(named->dtype);
  return file->count != 1 || !mxg_file_dtype_is_value(file->tensors[0].dtype);
}

static int open_job(job *j, const char *got_path, const char *reference_path,
                    const char *recipe_text) {
  if (strcmp(got_path, "-") == 0 && strcmp(reference_path, "-") == 0)
    return mxg_fail(MXG_EXIT_USAGE, "only one of the two files can be standard input");
  int status = mxg_tensor_file_open(got_path, &mxg_input_args, &j->got_file);
  if (status) return status;
  const char *name = mxg_input_args.tensor;
  const bool quantised = is_quantised(&j->got_file);
  mxg_input_options options = mxg_input_args;
  if (quantised)
    status = mxg_packed_find(&j->got_file,
                             name && mxg_tensor_find(&j->got_file, name) ? name : NULL, &j->packed);
  else {
    /* reopened for its values: a pipe cannot be */
    if (!j->got_file.file.is_regular)
      return mxg_fail(MXG_EXIT_USAGE, "%s: unpacked values are read from a regular file",
                      j->got_file.file.path);
    mxg_tensor_file_close(&j->got_file);
    status = mxg_values_open(got_path, &options, &j->got_file, &j->got);
  }
  if (!status)
    status = mxg_values_open(reference_path, &options, &j->reference_file, &j->reference);
  if (status) return status;
  return quantised ? open_quantised(j, recipe_text) : open_unpacked(j, recipe_text);
}

static void close_job(job *j) {
  mxg_source_close(&j->source);
  mxg_tensor_file_close(&j->got_file);
  mxg_tensor_file_close(&j->reference_file);
  free(j->values);
  free(j->reference_values);
  free(j->scale_values);
  free(j->scales);
}

/* ---- printing ---- */

static void print_place(const char *title, const place *at) {
  if (at->is_set)
    printf("%-18s %.9g at row %zu, column %zu\n", title, at->value, at->row, at->col);
  else
    printf("%-18s none\n", title);
}

static void print_text(const job *j, const error_report *report) {
  const double l2 = relative_l2(report);
  if (j->has_recipe) printf("%-18s %s\n", "recipe", mxg_recipe_short_text(&j->recipe));
  printf("%-18s %zu x %zu\n", "rows x cols", j->reference->rows, j->reference->cols);
  printf("%-18s %.9g\n", "relL2", l2);
  print_place("max absolute", &report->max_absolute);
  print_place("max relative", &report->max_relative);
  if (report->nonzero_at_zero)
    printf("%-18s %llu (the reference is 0 there)\n", "nonzero at zero",
           (unsigned long long)report->nonzero_at_zero);
  if (j->has_recipe) {
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

static void set_place(json_t *object, const char *key, const place *at) {
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

static void print_json(const job *j, const error_report *report) {
  const double l2 = relative_l2(report);
  json_t *object = json_object(), *passed = json_object();
  json_object_set_new(object, "recipe",
                      j->has_recipe ? json_string(mxg_recipe_short_text(&j->recipe)) : json_null());
  set_count(object, "rows", j->reference->rows);
  set_count(object, "cols", j->reference->cols);
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

/* ---- the command ---- */

static const char *recipe_text;
static int as_json;

static struct poptOption table[] = {
    {"recipe", 'r', POPT_ARG_STRING, &recipe_text, 0,
     "the convention: needed for the bound when GOT holds values; its scales are then those of REF "
     "quantised by R",
     "R"},
    {"json", 0, POPT_ARG_NONE, &as_json, 0,
     "one object: rel_l2, max_absolute, max_relative and worst_ratio {value, row, col}, counts, "
     "gates {a8w4, a4w4, a4w4_r1}",
     NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_input_table, 0,
     "Input (GOT when unpacked, and REF):", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_run_table, 0, "How to run:", NULL},
    POPT_TABLEEND};

int mxg_cmd_error(int argc, const char **argv) {
  mxg_arguments arguments;
  int status = mxg_parse_options(
      argc, argv, table, "GOT REF [--recipe R]",
      "mxgold error weights.mxfp4.safetensors weights.npy\n"
      "  mxgold error output.npy reference.npy --recipe mori-fp8 --json\n"
      "Exit codes: 0 measured, whatever the errors are; 2 options or recipe; 3 a file.",
      &arguments);
  if (status) return status < 0 ? MXG_EXIT_OK : status;
  if (arguments.count != 2)
    return mxg_fail(MXG_EXIT_USAGE, "%zu file%s given: two are needed, GOT and REF",
                    arguments.count, arguments.count == 1 ? "" : "s");
  job j;
  memset(&j, 0, sizeof j);
  status = open_job(&j, arguments.positional[0], arguments.positional[1], recipe_text);
  error_report report;
  memset(&report, 0, sizeof report);
  if (!status) {
    const size_t cols = j.reference->cols;
    const size_t tile_cols = j.has_recipe     ? mxg_tile_cols(&j.recipe, cols)
                             : cols < 1 << 22 ? cols
                                              : 1 << 22;
    j.values = mxg_alloc(tile_cols * sizeof(float));
    j.reference_values = mxg_alloc(tile_cols * sizeof(float));
    j.scale_values = mxg_alloc(tile_cols * sizeof(float));
    j.scales = mxg_alloc(tile_cols * sizeof(float));
    status = measure(&j, tile_cols, &report);
  }
  if (!status && as_json)
    print_json(&j, &report);
  else if (!status)
    print_text(&j, &report);
  close_job(&j);
  return status ? status : mxg_stdout_status();
}
