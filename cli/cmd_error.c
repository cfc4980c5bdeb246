/* cmd_error.c: how far one tensor is from another, and whether it stays inside what its recipe
 * promises.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "bound.h"
#include "compare.h"
#include "error_report.h"
#include "recipe_text.h"

/* ---- where values and scales come from ---- */

typedef struct job {
  mxg_packed_file packed;   /* GOT is quantised: */
  mxg_side side;            /* its codes and scales */
  mxg_tensor_file got_file; /* or it is unpacked: */
  const mxg_tensor *got;    /* its values; NULL when quantised */
  mxg_source source;        /* then the scales are those that the recipe gives for REF */
  mxg_tensor_file reference_file;
  const mxg_tensor *reference;
  size_t rows; /* to measure: those that are live */
  bool has_recipe;
  mxg_recipe recipe;
  mxg_scratch memory; /* of the four that follow: one row of a tile */
  float *values, *reference_values, *scale_values;
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
  for (size_t i = 0; i < count; i++) out[i] = mxg_float_of_bits(mxg_little_word(j->scales + 4 * i));
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
                       mxg_error_report *report) {
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
    mxg_error_add(report, j->values[i], x, bound, row, col + i);
  }
  return MXG_EXIT_OK;
}

static int measure(job *j, size_t tile_cols, mxg_error_report *report) {
  const size_t rows = j->rows, cols = j->reference->cols;
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
    status = mxg_side_open(&j->side, &sizes, &j->packed, &j->recipe, x->rows, x->cols,
                           &j->packed.options);
  if (!status && sizes.note_count) status = mxg_fail(MXG_EXIT_FILE, "%s", sizes.notes[0].text);
  mxg_report_end(&sizes);
  if (j->packed.has_shape) j->rows = j->packed.live_rows;
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

/* --dtype may belong to one file alone, but not to none. */
static int check_dtype(const job *j) {
  const char *dtype = mxg_input_args.dtype;
  const mxg_tensor_file *const files[] = {&j->got_file, &j->packed.codes_file, &j->reference_file};
  bool is_used = dtype == NULL;
  for (size_t i = 0; i < 3 && !is_used; i++)
    is_used = files[i]->count &&
              (files[i]->kind == MXG_FILE_RAW ||
               (files[i]->kind == MXG_FILE_NPY &&
                strcasecmp(mxg_file_dtype_name(files[i]->tensors[0].dtype), dtype) == 0));
  return is_used ? MXG_EXIT_OK
                 : mxg_fail(MXG_EXIT_USAGE,
                            "--dtype: neither file is raw or a .npy of %s: leave it out", dtype);
}

static int open_job(job *j, const char *got_path, const char *reference_path,
                    const char *recipe_text) {
  if (strcmp(got_path, "-") == 0 && strcmp(reference_path, "-") == 0)
    return mxg_fail(MXG_EXIT_USAGE, "only one of the two files can be standard input");
  mxg_input_options options = mxg_input_args;
  options.raw_if_fits = true;
  int status = mxg_tensor_file_open(got_path, &options, &j->got_file);
  if (status) return status;
  const char *name = mxg_input_args.tensor;
  const bool quantised = is_quantised(&j->got_file);
  if (quantised)
    status = mxg_packed_find(&j->got_file,
                             name && mxg_tensor_find(&j->got_file, name) ? name : NULL, &j->packed);
  else
    status = mxg_values_pick(&j->got_file, name, &j->got);
  if (!status) status = mxg_tensor_file_open(reference_path, &options, &j->reference_file);
  if (!status)
    status = mxg_values_pick(&j->reference_file,
                             j->reference_file.kind == MXG_FILE_SAFETENSORS ? name : NULL,
                             &j->reference);
  if (!status) status = check_dtype(j);
  if (status) return status;
  j->rows = j->reference->rows;
  return quantised ? open_quantised(j, recipe_text) : open_unpacked(j, recipe_text);
}

static int open_memory(job *j, size_t tile_cols) {
  size_t bytes = 0;
  if (mxg_size_mul(tile_cols, 16, &bytes) != MXG_OK) return mxg_fail_status(MXG_ERR_SIZE, "a row");
  const int status = mxg_scratch_open(bytes, &j->memory);
  if (status) return status;
  j->values = (float *)(void *)j->memory.data;
  j->reference_values = j->values + tile_cols;
  j->scale_values = j->reference_values + tile_cols;
  j->scales = (unsigned char *)(void *)(j->scale_values + tile_cols);
  return MXG_EXIT_OK;
}

static void close_job(job *j) {
  mxg_source_close(&j->source);
  mxg_tensor_file_close(&j->got_file);
  mxg_tensor_file_close(&j->reference_file);
  mxg_scratch_close(&j->memory);
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
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_input_table, 0, "Raw input (GOT, REF or both):", NULL},
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
  mxg_error_report report;
  memset(&report, 0, sizeof report);
  if (!status) {
    /* NOLINTNEXTLINE(*-core.NullDereference): mxg_fail() never returns 0 */
    const size_t cols = j.reference->cols;
    const size_t tile_cols = j.has_recipe     ? mxg_tile_cols(&j.recipe, cols)
                             : cols < 1 << 22 ? cols
                                              : 1 << 22;
    status = open_memory(&j, tile_cols);
    if (!status) status = measure(&j, tile_cols, &report);
  }
  if (!status)
    mxg_error_print(&report, j.has_recipe ? mxg_recipe_short_text(&j.recipe) : NULL, j.rows,
                    j.reference->cols, as_json != 0);
  close_job(&j);
  return status;
}
