/* compare_input.c: codes and scales in a file against what a recipe gives for an input.
 * SPDX-License-Identifier: MIT */
#include "compare.h"

#include <string.h>

#include "recipe_text.h"

bool mxg_recipes_align(const mxg_recipe *a, const mxg_recipe *b) {
  return a->element == b->element && a->scale == b->scale && a->block == b->block;
}

bool mxg_compare_tags(mxg_report *report, const mxg_packed_file *file, const mxg_recipe *recipe) {
  static const struct {
    mxg_element element;
    mxg_file_dtype tag;
  } tags[] = {{MXG_ELEMENT_E4M3FN, MXG_FILE_F8_E4M3},
              {MXG_ELEMENT_E5M2, MXG_FILE_F8_E5M2},
              {MXG_ELEMENT_E2M1, MXG_FILE_F4}};
  bool fits = file->codes_dtype == MXG_FILE_U8; /* means any format */
  for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
    if (tags[i].element == recipe->element && tags[i].tag == file->codes_dtype) fits = true;
  if (!fits)
    mxg_report_note(report, "dtype", "%s: codes are tagged %s, which recipe %s does not write",
                    file->path, mxg_file_dtype_name(file->codes_dtype),
                    mxg_recipe_short_text(recipe));
  if (!file->scales || recipe->scale == MXG_SCALE_NONE) return fits;
  const bool scales_fit =
      recipe->scale == MXG_SCALE_F32
          ? file->scales_dtype == MXG_FILE_F32
          : file->scales_dtype == MXG_FILE_U8 || file->scales_dtype == MXG_FILE_F8_E8M0;
  if (!scales_fit && file->codes_file.kind == MXG_FILE_SAFETENSORS)
    mxg_report_note(report, "dtype", "%s: scales are tagged %s, but recipe %s has %s", file->path,
                    mxg_file_dtype_name(file->scales_dtype), mxg_recipe_short_text(recipe),
                    recipe->scale == MXG_SCALE_F32 ? "f32 scales" : "E8M0 scales");
  return fits && (scales_fit || file->codes_file.kind != MXG_FILE_SAFETENSORS);
}

int mxg_compare_open_got(const mxg_compare_request *request, const char *path,
                         mxg_packed_file *out) {
  if (request->slots) return mxg_packed_open_raw(request->slots, NULL, out);
  if (request->codes) return mxg_packed_open_raw(request->codes, request->scales, out);
  mxg_tensor_file file;
  const mxg_input_options options = {.raw_as_bytes = true};
  int status = mxg_tensor_file_open(path, &options, &file);
  if (status) return status;
  /* --tensor names a tensor of the input; the quantised one may be called the same or not */
  const char *name = mxg_input_args.tensor;
  status = mxg_packed_find(&file, name && mxg_tensor_find(&file, name) ? name : NULL, out);
  if (status) {
    mxg_tensor_file_close(&file);
    memset(out, 0, sizeof *out);
  }
  return status;
}

/* The recipe of --recipe, or of GOT. When both name one and they differ, says so in the report. */
static int find_recipe(mxg_report *report, const mxg_compare_request *request,
                       const mxg_packed_file *got, mxg_recipe *out, bool *aligns) {
  *aligns = true;
  const int status = mxg_packed_recipe(got, request->recipe, out);
  if (status || !request->recipe || !got->recipe_text) return status;
  mxg_recipe stored;
  const bool is_known = mxg_recipe_parse(got->recipe_text, &stored, NULL) == MXG_OK;
  if (is_known && mxg_recipe_equal(&stored, out)) return MXG_EXIT_OK;
  *aligns = is_known && mxg_recipes_align(&stored, out);
  mxg_report_note(report, "recipe", "%s: was made with recipe %s, not with %s%s", got->path,
                  got->recipe_text, mxg_recipe_short_text(out),
                  *aligns ? "" : ": nothing else is compared");
  return MXG_EXIT_OK;
}

typedef struct inputs {
  mxg_packed_file got;
  mxg_tensor_file values, row_weights, weights;
  const mxg_tensor *tensor;
  const float *row_weight, *weight;
} inputs;

static void close_inputs(inputs *in) {
  mxg_packed_close(&in->got);
  mxg_tensor_file_close(&in->values);
  mxg_tensor_file_close(&in->row_weights);
  mxg_tensor_file_close(&in->weights);
}

static int live_rows(const mxg_compare_request *request, const mxg_packed_file *got, size_t rows,
                     size_t *out) {
  *out = rows;
  if (got->has_shape && got->live_rows < rows) *out = got->live_rows;
  if (!request->live_rows) return MXG_EXIT_OK;
  const int status = mxg_count_arg("--live-rows", request->live_rows, out);
  if (status) return status;
  return *out <= rows
             ? MXG_EXIT_OK
             : mxg_fail(MXG_EXIT_USAGE, "--live-rows: %zu, but the input has %zu rows", *out, rows);
}

static int open_weights(const mxg_compare_request *request, inputs *in, size_t rows,
                        size_t slot_weights) {
  int status = MXG_EXIT_OK;
  if (request->row_weights)
    status = mxg_f32_file_open(request->row_weights, rows, "--row-weights, one for each row,",
                               &in->row_weights, &in->row_weight);
  if (status || !request->weights) return status;
  size_t count = 0;
  if (!request->slots || slot_weights == 0)
    return mxg_fail(MXG_EXIT_USAGE,
                    "--weights: compares the f32 at the end of slots: give --slots and "
                    "--slot-weights K");
  if (mxg_size_mul(rows, slot_weights, &count) != MXG_OK)
    return mxg_fail_status(MXG_ERR_SIZE, "--weights");
  return mxg_f32_file_open(request->weights, count, "--weights, rows x --slot-weights,",
                           &in->weights, &in->weight);
}

int mxg_compare_options(const mxg_compare_request *request, const mxg_packed_file *got,
                        mxg_layout_options *out) {
  *out = got->options;
  const mxg_placement placement = request->slots ? MXG_PLACEMENT_SLOT : MXG_PLACEMENT_SEPARATE;
  if (!request->slots && !mxg_layout_args_given()) return MXG_EXIT_OK;
  mxg_layout_options told;
  const int status = mxg_layout_args(placement, &told);
  /* --pad alone says nothing about the order, which the file names */
  if (mxg_pad_given() && told.order == MXG_ORDER_ROW_MAJOR && told.scale_count == 0)
    out->pad_byte = told.pad_byte;
  else
    *out = told;
  return status;
}

/* By the bytes alone: what the file says about its recipe does not matter. */
static int diagnose_opened(mxg_report *report, const mxg_compare_request *request, inputs *in) {
  const mxg_packed_file *got = &in->got;
  const mxg_tensor *x = in->tensor;
  mxg_subject subject = {.operation = MXG_OPERATION_QUANTIZE, .row_weight = in->row_weight};
  mxg_recipe recipe;
  mxg_layout_options options;
  int status = mxg_packed_recipe(got, request->recipe, &recipe);
  if (!status) status = mxg_compare_options(request, got, &options);
  if (!status) status = live_rows(request, got, x->rows, &subject.rows);
  if (status) return status;
  if (mxg_layout_for(&recipe, x->rows, x->cols, &options, &subject.got.layout) != MXG_OK)
    return MXG_EXIT_OK;
  subject.recipe = &recipe;
  subject.x = mxg_tensor_rows(x, 0, x->rows);
  subject.got.codes = got->codes;
  subject.got.codes_capacity = got->codes_bytes;
  subject.got.scales = got->scales;
  subject.got.scales_capacity = got->scales ? got->scales_bytes : 0;
  return mxg_report_diagnose(report, &subject, 1);
}

static int compare_opened(mxg_report *report, const mxg_compare_request *request, inputs *in) {
  const mxg_tensor *x = in->tensor;
  mxg_packed_file *got = &in->got;
  mxg_recipe recipe;
  bool aligns = true;
  int status = find_recipe(report, request, got, &recipe, &aligns);
  if (status) return status;
  report->recipe = mxg_copy_text(mxg_recipe_short_text(&recipe));
  if (!aligns) return MXG_EXIT_OK;

  mxg_layout_options options;
  status = mxg_compare_options(request, got, &options);
  size_t live = 0;
  if (!status) status = live_rows(request, got, x->rows, &live);
  if (!status) status = open_weights(request, in, x->rows, options.slot_weights);
  if (status) return status;
  if (got->has_shape && (got->rows != x->rows || got->cols != x->cols))
    mxg_report_note(report, "shape", "%s: holds %zux%zu, the input is %zux%zu", got->path,
                    got->rows, got->cols, x->rows, x->cols);
  if (!mxg_compare_tags(report, got, &recipe)) return MXG_EXIT_OK;
  mxg_side side;
  status = mxg_side_open(&side, report, got, &recipe, x->rows, x->cols, &options);
  if (status) return status;
  mxg_source source;
  status = mxg_source_open(&source, x, &recipe, side.layout.scale_count);
  source.row_weight = in->row_weight;
  if (!status) status = mxg_compare_codes(report, &side, NULL, &source, live);
  mxg_source_close(&source);
  if (status) return status;
  if (in->weight) mxg_compare_weights(report, &side, NULL, in->weight, live);
  if (report->pads) mxg_compare_pads(report, &side, NULL, live);
  return MXG_EXIT_OK;
}

int mxg_compare_with_input(mxg_report *report, const mxg_compare_request *request,
                           const char *got) {
  inputs in;
  memset(&in, 0, sizeof in);
  int status = mxg_compare_open_got(request, got, &in.got);
  if (!status) {
    report->got = mxg_copy_text(in.got.path);
    status = mxg_tensor_file_open(request->input, &mxg_input_args, &in.values);
  }
  if (!status) {
    /* --tensor may name the pair in GOT alone */
    const char *name = in.values.kind == MXG_FILE_SAFETENSORS ? mxg_input_args.tensor : NULL;
    status = mxg_values_pick(&in.values, name, &in.tensor);
  }
  if (!status) {
    report->input = mxg_copy_text(in.values.file.path);
    status = compare_opened(report, request, &in);
  }
  if (!status) status = diagnose_opened(report, request, &in);
  close_inputs(&in);
  return status;
}
