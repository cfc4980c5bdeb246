/* cmd_dequantize.c: mxgold dequantize: codes and scales back into values.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const char *recipe_text, *to_text, *out_path, *codes_path, *scales_path, *slots_path;
static const char *live_rows_text, *tensor_name, *shape_text;

static struct poptOption table[] = {
    {"recipe", 0, POPT_ARG_STRING, &recipe_text, 0,
     "preset, or preset,key=value,... (default: the one in the file)", "R"},
    {"output", 'o', POPT_ARG_STRING, &out_path, 0, "values: a .npy when the name ends so, else raw",
     "OUT"},
    {"to", 0, POPT_ARG_STRING, &to_text, 0, "type of the values (default f32)", "f32|bf16|f16"},
    {"tensor", 0, POPT_ARG_STRING, &tensor_name, 0, "which NAME of the pairs NAME, NAME_scale",
     "NAME"},
    {"codes", 0, POPT_ARG_STRING, &codes_path, 0, "instead of IN: raw codes", "C.bin"},
    {"scales", 0, POPT_ARG_STRING, &scales_path, 0, "and raw scales", "S.bin"},
    {"slots", 0, POPT_ARG_STRING, &slots_path, 0,
     "instead of IN: raw rows of [payload | scales | weights]", "SLOTS.bin"},
    {"shape", 0, POPT_ARG_STRING, &shape_text, 0, "rows and columns (default: as the file says)",
     "RxC"},
    {"live-rows", 0, POPT_ARG_STRING, &live_rows_text, 0, "write the first N rows only", "N"},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_layout_table, 0, "Layout:", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_run_table, 0, "How to run:", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_device_table, 0, "Where to run:", NULL},
    POPT_TABLEEND};

typedef struct job {
  mxg_recipe recipe;
  mxg_layout layout;
  const mxg_impl *impl;
  mxg_run run;
  mxg_dtype to;
  size_t rows, cols, live_rows;
  mxg_packed_file in;
  mxg_output *output;
} job;

/* ---- arguments and input ---- */

static int open_input(job *j, const mxg_arguments *arguments) {
  const int forms = (int)arguments->count + (codes_path != NULL) + (slots_path != NULL);
  if (forms != 1)
    return mxg_fail(MXG_EXIT_USAGE, "%s of IN, --codes with --scales, and --slots: give one",
                    forms ? "more than one" : "none");
  if (scales_path && !codes_path) return mxg_fail(MXG_EXIT_USAGE, "--scales needs --codes");
  if (arguments->count == 1) return mxg_packed_open(arguments->positional[0], tensor_name, &j->in);
  if (tensor_name)
    return mxg_fail(MXG_EXIT_USAGE, "--tensor names a part of a .safetensors: leave it out");
  if (!recipe_text || !shape_text)
    return mxg_fail(MXG_EXIT_USAGE, "raw codes need --recipe and --shape");
  return mxg_packed_open_raw(codes_path ? codes_path : slots_path, scales_path, &j->in);
}

/* Columns of a file that does not say them: FP6 rows end inside a byte in more than one way. */
static int columns_of_tensor(const job *j, size_t *cols) {
  const size_t bits = (size_t)mxg_element_traits(j->recipe.element).bits;
  *cols = j->in.codes_cols;
  if (bits == 8 || j->in.codes_dtype == MXG_FILE_F4) return MXG_EXIT_OK;
  if (bits == 4) return mxg_size_mul(*cols, 2, cols) == MXG_OK ? 0 : MXG_EXIT_FILE;
  if (*cols % 3 != 0)
    return mxg_fail(MXG_EXIT_USAGE, "%s: rows of %zu bytes can be several FP6 shapes: give --shape",
                    j->in.path, *cols);
  *cols = *cols / 3 * 4;
  return MXG_EXIT_OK;
}

/* A file that says what it holds is not read as something else. */
static int check_metadata(const job *j) {
  if (recipe_text && mxg_packed_is_of_other(&j->in, &j->recipe))
    return mxg_fail(MXG_EXIT_USAGE, "%s: was made with recipe %s, not with %s: leave --recipe out",
                    j->in.path, j->in.recipe_text, recipe_text);
  if (shape_text && j->in.has_shape && (j->rows != j->in.rows || j->cols != j->in.cols))
    return mxg_fail(MXG_EXIT_USAGE, "%s: holds %zux%zu, not %zux%zu: leave --shape out", j->in.path,
                    j->in.rows, j->in.cols, j->rows, j->cols);
  return MXG_EXIT_OK;
}

static int find_shape(job *j) {
  int exit_code = MXG_EXIT_OK;
  if (shape_text) {
    exit_code = mxg_shape_arg("--shape", shape_text, &j->rows, &j->cols);
  } else if (j->in.has_shape) {
    j->rows = j->in.rows;
    j->cols = j->in.cols;
  } else {
    j->rows = j->in.codes_rows;
    exit_code = columns_of_tensor(j, &j->cols);
  }
  if (exit_code != 0) return exit_code;
  j->live_rows = j->in.has_shape && !shape_text ? j->in.live_rows : j->rows;
  if (live_rows_text) exit_code = mxg_count_arg("--live-rows", live_rows_text, &j->live_rows);
  if (exit_code == 0 && j->live_rows > j->rows)
    exit_code = mxg_fail(MXG_EXIT_USAGE, "--live-rows: %zu is more than the %zu rows of %s",
                         j->live_rows, j->rows, j->in.path);
  return exit_code;
}

/* A size that the layout does not give: the options are wrong where they decide it, else the file.
 */
static int check_size(const job *j, const mxg_file *file, const char *what, size_t found,
                      size_t expected) {
  if (found == expected) return MXG_EXIT_OK;
  const bool is_told = shape_text || recipe_text || mxg_layout_args_given();
  return mxg_fail(is_told ? MXG_EXIT_USAGE : MXG_EXIT_FILE,
                  "%s: %s are %zu bytes, but %zux%zu of this recipe and layout have %zu: %s",
                  file->path, what, found, j->rows, j->cols, expected,
                  is_told ? "correct --shape, --recipe or the layout options"
                          : "give --recipe and --shape, or write the file anew");
}

static int plan_layout(job *j) {
  mxg_layout_options options;
  int exit_code =
      mxg_layout_args(slots_path ? MXG_PLACEMENT_SLOT : MXG_PLACEMENT_SEPARATE, &options);
  if (exit_code != 0) return exit_code;
  if (!slots_path && !mxg_layout_args_given()) options = j->in.options;
  exit_code = mxg_make_layout(&j->recipe, j->rows, j->cols, &options, &j->layout);
  if (exit_code != 0) return exit_code;
  exit_code = check_size(j, &j->in.codes_file.file, slots_path ? "slots" : "codes",
                         j->in.codes_bytes, j->layout.codes_bytes);
  if (exit_code == 0 && j->layout.scales_bytes > 0 && !j->in.scales)
    return codes_path ? mxg_fail(MXG_EXIT_USAGE, "--scales is needed: the recipe has scales")
                      : mxg_fail(MXG_EXIT_FILE,
                                 "%s: has no tensor '%s_scale', but the recipe has "
                                 "scales",
                                 j->in.path, j->in.name);
  if (exit_code == 0 && (j->in.scales || codes_path))
    exit_code = check_size(j, scales_path ? &j->in.scales_file.file : &j->in.codes_file.file,
                           "scales", j->in.scales_bytes, j->layout.scales_bytes);
  return exit_code;
}

static int read_arguments(job *j, int argc, const char **argv) {
  mxg_arguments arguments;
  int exit_code = mxg_parse_options(
      argc, argv, table,
      "(IN.safetensors | --codes C.bin --scales S.bin --shape RxC | --slots S.bin --shape RxC)\n"
      "         [--recipe R] [--to f32|bf16|f16] -o OUT(.npy|.raw)",
      "mxgold dequantize weights.safetensors --to bf16 -o weights.npy", &arguments);
  if (exit_code != 0) return exit_code;
  j->to = MXG_DTYPE_F32;
  exit_code = mxg_require("-o", out_path);
  if (exit_code == 0 && to_text) exit_code = mxg_result_dtype_arg("--to", to_text, &j->to);
  if (exit_code == 0) exit_code = mxg_run_args(&j->impl, &j->run);
  if (exit_code == 0) exit_code = open_input(j, &arguments);
  if (exit_code == 0) exit_code = mxg_packed_recipe(&j->in, recipe_text, &j->recipe);
  if (exit_code == 0) exit_code = mxg_packed_check_types(&j->in, &j->recipe, recipe_text != NULL);
  if (exit_code == 0) exit_code = find_shape(j);
  if (exit_code == 0) exit_code = check_metadata(j);
  return exit_code == 0 ? plan_layout(j) : exit_code;
}

/* ---- work ---- */

static int dequantize_chunk(job *j, size_t first, size_t rows, unsigned char *scales,
                            unsigned char *values) {
  mxg_layout chunk;
  const int exit_code = mxg_chunk_layout(&j->recipe, &j->layout, rows, &chunk);
  if (exit_code != 0) return exit_code;
  const bool is_slot = chunk.placement == MXG_PLACEMENT_SLOT;
  const size_t row_bytes = is_slot ? chunk.slot_bytes : chunk.payload_row_bytes;
  const mxg_packed_view packed = {
      j->in.codes + first * row_bytes, chunk.codes_bytes,
      is_slot ? NULL : mxg_scales_gather(&j->layout, j->in.scales, first, &chunk, scales),
      chunk.scales_bytes, chunk};
  const mxg_matrix y = {values, j->to, rows, j->cols, 0};
  const mxg_status status = j->impl->dequantize(&j->recipe, &packed, &y, &j->run);
  if (status != MXG_OK) return mxg_fail_status(status, j->in.path);
  return mxg_output_values(j->output, j->to, values, rows * j->cols);
}

static int dequantize_rows(job *j) {
  size_t row_bytes = 0, value_bytes = 0;
  if (mxg_size_mul(j->cols, mxg_dtype_bytes(j->to), &row_bytes) != MXG_OK ||
      mxg_size_mul(row_bytes, j->rows, &value_bytes) != MXG_OK)
    return mxg_fail_status(MXG_ERR_SIZE, "values");
  const size_t step = mxg_chunk_rows(&j->layout, row_bytes);
  mxg_layout largest;
  mxg_scratch scales = {NULL, 0, false}, values = {NULL, 0, false};
  int exit_code = mxg_chunk_layout(&j->recipe, &j->layout, step, &largest);
  if (exit_code == 0) exit_code = mxg_scratch_open(largest.scales_bytes, &scales);
  if (exit_code == 0) exit_code = mxg_scratch_open(step * row_bytes, &values);
  mxg_progress_begin("dequantize", j->live_rows);
  for (size_t first = 0; first < j->live_rows && exit_code == 0;) {
    const size_t left = j->live_rows - first, rows = left < step ? left : step;
    exit_code = dequantize_chunk(j, first, rows, scales.data, values.data);
    first += rows;
    mxg_progress_step(first);
  }
  mxg_progress_end();
  mxg_scratch_close(&scales);
  mxg_scratch_close(&values);
  return exit_code;
}

int mxg_cmd_dequantize(int argc, const char **argv) {
  job j;
  memset(&j, 0, sizeof j);
  int exit_code = read_arguments(&j, argc, argv);
  const mxg_file *const inputs[] = {&j.in.codes_file.file, &j.in.scales_file.file, NULL};
  if (exit_code == 0)
    exit_code = mxg_values_output_open(out_path, inputs, j.to, j.live_rows, j.cols, &j.output);
  if (exit_code == 0) exit_code = dequantize_rows(&j);
  if (exit_code == 0) exit_code = mxg_output_commit(&j.output, 1);
  mxg_output_abort(&j.output, 1);
  mxg_packed_close(&j.in);
  return exit_code < 0 ? MXG_EXIT_OK : exit_code;
}
