/* cmd_combine.c: mxgold combine: the weighted sum of the decoded slots of several sources.
 * SPDX-License-Identifier: MIT */
#include "combine_source.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

enum { SOURCES_MAX = 64 };

static const char *recipe_text, *shape_text, *weights_path, *to_text, *out_path, *live_rows_text,
    *tensor_name;

static struct poptOption table[] = {
    {"recipe", 0, POPT_ARG_STRING, &recipe_text, 0,
     "preset, or preset,key=value,... (default: the one in the first .safetensors)", "R"},
    {"shape", 0, POPT_ARG_STRING, &shape_text, 0,
     "rows and columns of every source (default: as the first .safetensors says)", "RxC"},
    {"tensor", 0, POPT_ARG_STRING, &tensor_name, 0,
     "of a .safetensors, which NAME of the pairs NAME, NAME_scale", "NAME"},
    {"output", 'o', POPT_ARG_STRING, &out_path, 0, "sums: a .npy when the name ends so, else raw",
     "OUT"},
    {"to", 0, POPT_ARG_STRING, &to_text, 0, "type of the sums (default bf16)", "f32|bf16|f16"},
    {"weights", 0, POPT_ARG_STRING, &weights_path, 0,
     "raw f32, rows x sources, missing sources included", "W.raw"},
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
  size_t live_rows;
  size_t top_k;
  mxg_summand sources[SOURCES_MAX];
  size_t packed_count; /* sources whose slots are put together here */
  mxg_tensor_file weights_file;
  const float *weights; /* rows x top_k, or NULL */
  mxg_output *output;
} job;

/* ---- arguments and inputs ---- */

static int open_sources(job *j, const mxg_arguments *arguments) {
  if (arguments->count == 0 || arguments->count > SOURCES_MAX)
    return mxg_fail(MXG_EXIT_USAGE,
                    "%zu sources: give 1 to %d .safetensors or slot files, - for a missing one",
                    arguments->count, SOURCES_MAX);
  for (; j->top_k < arguments->count; j->top_k++) {
    mxg_summand *source = &j->sources[j->top_k];
    const int exit_code = mxg_summand_open(arguments->positional[j->top_k], tensor_name, source);
    if (exit_code != 0) return exit_code;
    if (source->kind == MXG_SUMMAND_PACKED) j->packed_count++;
  }
  return MXG_EXIT_OK;
}

/* The first source that says what it holds, or NULL. */
static const mxg_summand *first_packed(const job *j) {
  for (size_t k = 0; k < j->top_k; k++)
    if (j->sources[k].kind == MXG_SUMMAND_PACKED) return &j->sources[k];
  return NULL;
}

static int find_recipe(job *j) {
  const mxg_summand *told = first_packed(j);
  if (recipe_text || !told) {
    const int exit_code = mxg_require("--recipe", recipe_text);
    return exit_code == 0 ? mxg_recipe_arg(recipe_text, NULL, &j->recipe) : exit_code;
  }
  return mxg_packed_recipe(&told->packed, NULL, &j->recipe);
}

static int find_shape(const job *j, size_t *rows, size_t *cols) {
  const mxg_summand *told = first_packed(j);
  if (shape_text || !told) {
    const int exit_code = mxg_require("--shape", shape_text);
    return exit_code == 0 ? mxg_shape_arg("--shape", shape_text, rows, cols) : exit_code;
  }
  return mxg_summand_shape(told, &j->recipe, rows, cols);
}

static int check_sources(job *j) {
  int exit_code = MXG_EXIT_OK;
  for (size_t k = 0; k < j->top_k && exit_code == 0; k++)
    exit_code = mxg_summand_check(&j->sources[k], &j->recipe, &j->layout, recipe_text != NULL);
  return exit_code;
}

static int open_weights(job *j) {
  size_t count = 0;
  if (!weights_path) return MXG_EXIT_OK;
  if (mxg_size_mul(j->layout.rows, j->top_k, &count) != MXG_OK)
    return mxg_fail_status(MXG_ERR_SIZE, "--weights");
  return mxg_f32_file_open(weights_path, count, "--weights, rows x sources,", &j->weights_file,
                           &j->weights);
}

/* Rows that every source has: those of --live-rows, else those that the files say are live. */
static int find_live_rows(job *j) {
  j->live_rows = j->layout.rows;
  if (live_rows_text) {
    const int exit_code = mxg_count_arg("--live-rows", live_rows_text, &j->live_rows);
    if (exit_code != 0 || j->live_rows <= j->layout.rows) return exit_code;
    return mxg_fail(MXG_EXIT_USAGE, "--live-rows: %zu is more than the %zu rows of the sources",
                    j->live_rows, j->layout.rows);
  }
  const mxg_summand *told = first_packed(j);
  if (told && told->packed.has_shape) j->live_rows = told->packed.live_rows;
  for (size_t k = 0; k < j->top_k; k++) {
    const mxg_summand *source = &j->sources[k];
    if (source->kind != MXG_SUMMAND_PACKED || !source->packed.has_shape) continue;
    if (source->packed.live_rows != j->live_rows)
      return mxg_fail(MXG_EXIT_USAGE, "%s: has %zu live rows, another source %zu: give --live-rows",
                      source->packed.path, source->packed.live_rows, j->live_rows);
  }
  return MXG_EXIT_OK;
}

static int plan_layout(job *j) {
  size_t rows = 0, cols = 0;
  mxg_layout_options options;
  int exit_code = find_shape(j, &rows, &cols);
  if (exit_code == 0) exit_code = mxg_layout_args(MXG_PLACEMENT_SLOT, &options);
  if (exit_code == 0) exit_code = mxg_make_layout(&j->recipe, rows, cols, &options, &j->layout);
  if (exit_code == 0) exit_code = check_sources(j);
  return exit_code == 0 ? find_live_rows(j) : exit_code;
}

static int read_arguments(job *j, int argc, const char **argv) {
  mxg_arguments arguments;
  int exit_code = mxg_parse_options(
      argc, argv, table,
      "[--weights W.raw] [--to f32|bf16|f16] -o OUT(.npy|.raw) IN.safetensors...\n"
      "       | --recipe R --shape RxC ... SLOTS.bin...",
      "mxgold combine rank0.safetensors - rank2.safetensors -o sum.npy\n"
      "  mxgold combine --recipe mori-fp8 --shape 128x7168 -o sum.npy rank0.bin - rank2.bin",
      &arguments);
  if (exit_code != 0) return exit_code;
  j->to = MXG_DTYPE_BF16;
  exit_code = mxg_require("-o", out_path);
  if (exit_code == 0 && to_text) exit_code = mxg_result_dtype_arg("--to", to_text, &j->to);
  if (exit_code == 0) exit_code = mxg_run_args(&j->impl, &j->run);
  if (exit_code == 0) exit_code = open_sources(j, &arguments);
  if (exit_code == 0) exit_code = find_recipe(j);
  if (exit_code == 0) exit_code = plan_layout(j);
  return exit_code == 0 ? open_weights(j) : exit_code;
}

static int open_output(job *j) {
  const mxg_file *inputs[SOURCES_MAX + 2];
  size_t count = 0;
  for (size_t k = 0; k < j->top_k; k++) inputs[count++] = &j->sources[k].file.file;
  inputs[count++] = &j->weights_file.file;
  inputs[count] = NULL;
  return mxg_values_output_open(out_path, inputs, j->to, j->live_rows, j->layout.cols, &j->output);
}

/* ---- work ---- */

/* slots: room for rows * top_k pointers; copies: for rows slots of each packed source. */
static int combine_chunk(job *j, size_t first, size_t rows, const void **slots,
                         unsigned char *copies, unsigned char *values) {
  mxg_layout chunk;
  const int exit_code = mxg_chunk_layout(&j->recipe, &j->layout, rows, &chunk);
  if (exit_code != 0) return exit_code;
  for (size_t k = 0; k < j->top_k; k++) {
    const unsigned char *base = mxg_summand_slots(&j->sources[k], &j->layout, first, rows, copies);
    for (size_t row = 0; row < rows; row++)
      slots[row * j->top_k + k] = base ? base + row * chunk.slot_bytes : NULL;
    if (j->sources[k].kind == MXG_SUMMAND_PACKED) copies += rows * chunk.slot_bytes;
  }
  const mxg_matrix y = {values, j->to, rows, chunk.cols, 0};
  const float *weights = j->weights ? j->weights + first * j->top_k : NULL;
  const mxg_status status =
      j->impl->combine(&j->recipe, slots, j->top_k, weights, &chunk, 0, chunk.cols, &y, &j->run);
  if (status != MXG_OK) return mxg_fail_status(status, "combine");
  return mxg_output_values(j->output, j->to, values, rows * chunk.cols);
}

static int combine_rows(job *j) {
  size_t row_bytes = 0, value_bytes = 0;
  if (mxg_size_mul(j->layout.cols, mxg_dtype_bytes(j->to), &row_bytes) != MXG_OK ||
      mxg_size_mul(row_bytes, j->layout.rows, &value_bytes) != MXG_OK)
    return mxg_fail_status(MXG_ERR_SIZE, "values");
  if (row_bytes == 0) return MXG_EXIT_OK; /* rows of nothing, however many */
  /* with many packed sources a chunk is fewer rows, so that their copies stay small too */
  const size_t copied_bytes = j->packed_count * j->layout.slot_bytes;
  const size_t step =
      mxg_chunk_rows(&j->layout, copied_bytes > row_bytes ? copied_bytes : row_bytes);
  mxg_scratch values = {NULL, 0, false}, slots = {NULL, 0, false}, copies = {NULL, 0, false};
  int exit_code = mxg_scratch_open(step * row_bytes, &values);
  if (exit_code == 0) exit_code = mxg_scratch_open(step * j->top_k * sizeof(void *), &slots);
  if (exit_code == 0) exit_code = mxg_scratch_open(step * copied_bytes, &copies);
  mxg_progress_begin("combine", j->live_rows);
  for (size_t first = 0; first < j->live_rows && exit_code == 0;) {
    const size_t left = j->live_rows - first, rows = left < step ? left : step;
    exit_code =
        combine_chunk(j, first, rows, (const void **)(void *)slots.data, copies.data, values.data);
    first += rows;
    mxg_progress_step(first);
  }
  mxg_progress_end();
  mxg_scratch_close(&values);
  mxg_scratch_close(&slots);
  mxg_scratch_close(&copies);
  return exit_code;
}

int mxg_cmd_combine(int argc, const char **argv) {
  job j;
  memset(&j, 0, sizeof j);
  int exit_code = read_arguments(&j, argc, argv);
  if (exit_code == 0) exit_code = open_output(&j);
  if (exit_code == 0) exit_code = combine_rows(&j);
  if (exit_code == 0) exit_code = mxg_output_commit(&j.output, 1);
  mxg_output_abort(&j.output, 1);
  for (size_t k = 0; k < SOURCES_MAX; k++) mxg_summand_close(&j.sources[k]);
  mxg_tensor_file_close(&j.weights_file);
  return exit_code < 0 ? MXG_EXIT_OK : exit_code;
}
