/* cmd_quantize.c: mxgold quantize: values into codes and scales, in one of three forms: a
 * .safetensors pair, two raw files, or slots.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const char *recipe_text, *out_path, *codes_path, *scales_path, *slots_path;
static const char *row_weights_path, *weights_path, *live_rows_text;

static struct poptOption table[] = {
    {"recipe", 0, POPT_ARG_STRING, &recipe_text, 0, "preset, or preset,key=value,...", "R"},
    {"output", 'o', POPT_ARG_STRING, &out_path, 0, "codes and scales as a .safetensors",
     "OUT.safetensors"},
    {"codes", 0, POPT_ARG_STRING, &codes_path, 0, "or: raw codes (with --scales)", "C.bin"},
    {"scales", 0, POPT_ARG_STRING, &scales_path, 0, "raw scales (with --codes)", "S.bin"},
    {"slots", 0, POPT_ARG_STRING, &slots_path, 0, "or: raw rows of [payload | scales | weights]",
     "OUT.bin"},
    {"row-weights", 0, POPT_ARG_STRING, &row_weights_path, 0,
     "raw f32, one a row: each row is multiplied by its weight first", "W.raw"},
    {"weights", 0, POPT_ARG_STRING, &weights_path, 0,
     "raw f32, rows x K, for --slots with --slot-weights K (default: zeros)", "W.raw"},
    {"live-rows", 0, POPT_ARG_STRING, &live_rows_text, 0,
     "quantise the first N rows only; the rest of the output is zero", "N"},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_input_table, 0, "Input:", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_layout_table, 0, "Layout:", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_run_table, 0, "How to run:", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_device_table, 0, "Where to run:", NULL},
    POPT_TABLEEND};

typedef struct job {
  mxg_recipe recipe;
  mxg_layout layout;
  const mxg_impl *impl;
  mxg_run run;
  size_t live_rows;
  mxg_tensor_file input, row_weights_file, weights_file;
  const mxg_tensor *x;
  const float *row_weights;          /* NULL: none */
  const unsigned char *slot_weights; /* little-endian, as slots store them; NULL: zeros */
  mxg_output *outputs[2];            /* [0] codes, pair or slots; [1] raw scales */
  mxg_scratch scales;                /* the whole matrix of separate scales */
  mxg_scratch held_codes;            /* when the scales come first in the file */
  bool scales_first;
} job;

/* ---- arguments ---- */

static int check_outputs(void) {
  const bool is_raw = codes_path || scales_path;
  const int forms = (out_path != NULL) + is_raw + (slots_path != NULL);
  if (forms != 1)
    return mxg_fail(MXG_EXIT_USAGE, "%s of -o, --codes with --scales, and --slots: give one",
                    forms ? "more than one" : "none");
  if (is_raw && !codes_path) return mxg_fail(MXG_EXIT_USAGE, "--scales needs --codes as well");
  if (weights_path && !slots_path)
    return mxg_fail(MXG_EXIT_USAGE, "--weights fills slots: give --slots and --slot-weights");
  return MXG_EXIT_OK;
}

static int read_arguments(job *j, int argc, const char **argv, const char **input_path) {
  mxg_arguments arguments;
  int exit_code = mxg_parse_options(
      argc, argv, table,
      "IN --recipe R (-o OUT.safetensors | --codes C.bin --scales S.bin | --slots OUT.bin)",
      "mxgold quantize weights.npy --recipe mxfp4 -o weights.safetensors", &arguments);
  if (exit_code != 0) return exit_code;
  if (arguments.count != 1)
    return mxg_fail(MXG_EXIT_USAGE, "%zu input files: give one (or - for standard input)",
                    arguments.count);
  *input_path = arguments.positional[0];
  exit_code = mxg_require("--recipe", recipe_text);
  if (exit_code == 0) exit_code = check_outputs();
  if (exit_code == 0) exit_code = mxg_recipe_arg(recipe_text, NULL, &j->recipe);
  if (exit_code == 0) exit_code = mxg_run_args(&j->impl, &j->run);
  if (exit_code == 0 && codes_path && !scales_path && j->recipe.scale != MXG_SCALE_NONE)
    exit_code = mxg_fail(MXG_EXIT_USAGE, "--codes needs --scales as well: the recipe has scales");
  return exit_code;
}

/* ---- inputs ---- */

static int open_weights(job *j) {
  const size_t rows = j->layout.rows;
  const float *unused;
  int exit_code = MXG_EXIT_OK;
  if (row_weights_path)
    exit_code = mxg_f32_file_open(row_weights_path, rows, "--row-weights, one for each row,",
                                  &j->row_weights_file, &j->row_weights);
  if (exit_code != 0 || !weights_path) return exit_code;
  if (j->layout.slot_weights == 0)
    return mxg_fail(MXG_EXIT_USAGE, "--weights needs --slot-weights K");
  size_t count = 0;
  if (mxg_size_mul(rows, j->layout.slot_weights, &count) != MXG_OK)
    return mxg_fail(MXG_EXIT_USAGE, "--slot-weights: %zu rows of them do not fit memory", rows);
  exit_code =
      mxg_f32_file_open(weights_path, count, "--weights, rows x K,", &j->weights_file, &unused);
  j->slot_weights = j->weights_file.file.data;
  return exit_code;
}

static int open_inputs(job *j, const char *path) {
  mxg_layout_options options;
  int exit_code =
      mxg_layout_args(slots_path ? MXG_PLACEMENT_SLOT : MXG_PLACEMENT_SEPARATE, &options);
  if (exit_code == 0) exit_code = mxg_values_open(path, &mxg_input_args, &j->input, &j->x);
  if (exit_code == 0)
    exit_code = mxg_make_layout(&j->recipe, j->x->rows, j->x->cols, &options, &j->layout);
  if (exit_code != 0) return exit_code;
  j->live_rows = j->x->rows;
  if (live_rows_text) exit_code = mxg_count_arg("--live-rows", live_rows_text, &j->live_rows);
  if (exit_code == 0 && j->live_rows > j->x->rows)
    exit_code = mxg_fail(MXG_EXIT_USAGE, "--live-rows: %zu is more than the %zu rows of %s",
                         j->live_rows, j->x->rows, j->x->path);
  return exit_code == 0 ? open_weights(j) : exit_code;
}

/* ---- outputs ---- */

static int open_outputs(job *j) {
  const mxg_file *const inputs[] = {&j->input.file, &j->row_weights_file.file,
                                    &j->weights_file.file, NULL};
  const char *const paths[] = {out_path     ? out_path
                               : codes_path ? codes_path
                                            : slots_path,
                               scales_path};
  const char *const names[] = {out_path ? "-o" : codes_path ? "--codes" : "--slots", "--scales"};
  int exit_code = mxg_output_distinct(paths, 2);
  for (int i = 0; i < 2 && exit_code == 0; i++)
    if (paths[i]) exit_code = mxg_output_check(names[i], paths[i], inputs);
  for (int i = 0; i < 2 && exit_code == 0; i++)
    if (paths[i]) exit_code = mxg_output_open(names[i], paths[i], &j->outputs[i]);
  if (exit_code == 0 && out_path)
    exit_code = mxg_output_packed_header(j->outputs[0], j->x->name, &j->recipe, &j->layout,
                                         j->live_rows, &j->scales_first);
  if (exit_code == 0) exit_code = mxg_scratch_open(j->layout.scales_bytes, &j->scales);
  if (exit_code == 0 && j->scales_first)
    exit_code = mxg_scratch_open(j->layout.codes_bytes, &j->held_codes);
  return exit_code;
}

/* ---- work ---- */

static void fill_slot_weights(const job *j, const mxg_layout *chunk, size_t first,
                              unsigned char *slots) {
  const size_t bytes = (size_t)chunk->slot_weights * 4;
  for (size_t row = 0; row < chunk->rows && bytes > 0; row++) {
    unsigned char *to = slots + row * chunk->slot_stride_bytes + chunk->weight_offset_bytes;
    if (j->slot_weights)
      memcpy(to, j->slot_weights + (first + row) * bytes, bytes);
    else
      memset(to, 0, bytes);
  }
}

/* Rows [first, first + rows) by way of two buffers that are large enough for any chunk. */
static int quantize_chunk(job *j, size_t first, size_t rows, unsigned char *codes,
                          unsigned char *scales) {
  mxg_layout chunk;
  const int exit_code = mxg_chunk_layout(&j->recipe, &j->layout, rows, &chunk);
  if (exit_code != 0) return exit_code;
  const mxg_matrix_view x = mxg_tensor_rows(j->x, first, rows);
  const bool is_slot = chunk.placement == MXG_PLACEMENT_SLOT;
  const mxg_packed packed = {codes, chunk.codes_bytes, is_slot ? NULL : scales, chunk.scales_bytes,
                             chunk};
  const float *row_weights = j->row_weights ? j->row_weights + first : NULL;
  const mxg_status status = j->impl->quantize(&j->recipe, &x, row_weights, &packed, &j->run);
  if (status != MXG_OK) return mxg_fail_status(status, j->x->path);
  if (is_slot) fill_slot_weights(j, &chunk, first, codes);
  mxg_scales_scatter(&j->layout, j->scales.data, first, &chunk, scales);
  if (!j->scales_first) return mxg_output_write(j->outputs[0], codes, chunk.codes_bytes);
  memcpy(j->held_codes.data + first * chunk.payload_row_bytes, codes, chunk.codes_bytes);
  return MXG_EXIT_OK;
}

static int quantize_rows(job *j) {
  const size_t row_bytes = j->x->rows ? j->x->bytes / j->x->rows : 0;
  const size_t step = mxg_chunk_rows(&j->layout, row_bytes);
  mxg_layout largest;
  mxg_scratch codes = {NULL, 0, false}, scales = {NULL, 0, false};
  int exit_code = mxg_chunk_layout(&j->recipe, &j->layout, step, &largest);
  if (exit_code == 0) exit_code = mxg_scratch_open(largest.codes_bytes, &codes);
  if (exit_code == 0) exit_code = mxg_scratch_open(largest.scales_bytes, &scales);
  mxg_progress_begin("quantize", j->live_rows);
  for (size_t first = 0; first < j->live_rows && exit_code == 0;) {
    const size_t left = j->live_rows - first, rows = left < step ? left : step;
    exit_code = quantize_chunk(j, first, rows, codes.data, scales.data);
    first += rows;
    mxg_progress_step(first);
  }
  mxg_progress_end();
  mxg_scratch_close(&codes);
  mxg_scratch_close(&scales);
  return exit_code;
}

static int write_rest(job *j) {
  const mxg_layout *layout = &j->layout;
  const size_t row_bytes =
      layout->placement == MXG_PLACEMENT_SLOT ? layout->slot_bytes : layout->payload_row_bytes;
  mxg_output *codes = j->outputs[0], *scales = codes_path ? j->outputs[1] : codes;
  int exit_code = MXG_EXIT_OK;
  if (!j->scales_first)
    exit_code = mxg_output_zeros(codes, (layout->rows - j->live_rows) * row_bytes);
  if (exit_code == 0 && scales)
    exit_code = mxg_output_write(scales, j->scales.data, layout->scales_bytes);
  if (exit_code == 0 && j->scales_first)
    exit_code = mxg_output_write(codes, j->held_codes.data, layout->codes_bytes);
  return exit_code;
}

static void close_job(job *j) {
  mxg_output_abort(j->outputs, 2);
  mxg_scratch_close(&j->scales);
  mxg_scratch_close(&j->held_codes);
  mxg_tensor_file_close(&j->input);
  mxg_tensor_file_close(&j->row_weights_file);
  mxg_tensor_file_close(&j->weights_file);
}

int mxg_cmd_quantize(int argc, const char **argv) {
  job j;
  memset(&j, 0, sizeof j);
  const char *input_path = NULL;
  int exit_code = read_arguments(&j, argc, argv, &input_path);
  if (exit_code < 0) return MXG_EXIT_OK; /* --help */
  if (exit_code == 0) exit_code = open_inputs(&j, input_path);
  if (exit_code == 0) exit_code = open_outputs(&j);
  if (exit_code == 0) exit_code = quantize_rows(&j);
  if (exit_code == 0) exit_code = write_rest(&j);
  if (exit_code == 0) exit_code = mxg_output_commit(j.outputs, 2);
  close_job(&j);
  return exit_code;
}
