/* compare_files.c: two files of the same kind against each other.
 * SPDX-License-Identifier: MIT */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recipe_text.h"

static const char *const kind_names[] = {"raw", "npy", "safetensors"};

/* ---- for the diagnosis ---- */

static bool host_is_big_endian(void) {
  const uint16_t one = 1;
  unsigned char first = 0;
  memcpy(&first, &one, 1);
  return first == 0;
}

/* Codes and scales without their input, for as many rows as are compared. */
static void keep_sides(mxg_report *report, const mxg_recipe *recipe, const mxg_side *got,
                       const mxg_side *want, size_t rows) {
  if (got->layout.order != want->layout.order || got->layout.rows != want->layout.rows ||
      got->layout.scale_count != want->layout.scale_count || got->code_rows < rows ||
      want->code_rows < rows || got->scale_rows < rows || want->scale_rows < rows)
    return;
  const mxg_packed_view got_view = {got->codes, got->layout.codes_bytes, got->scales,
                                    got->layout.scales_bytes, got->layout};
  const mxg_packed_view want_view = {want->codes, want->layout.codes_bytes, want->scales,
                                     want->layout.scales_bytes, want->layout};
  const mxg_subject subject = {.operation = MXG_OPERATION_QUANTIZE,
                               .recipe = recipe,
                               .rows = rows,
                               .got = got_view,
                               .want = want_view};
  mxg_report_subject(report, &subject);
}

/* Two tensors of values whose origin is not known. */
static void keep_values(mxg_report *report, const mxg_recipe *recipe, const mxg_tensor *got,
                        const mxg_tensor *want) {
  const bool in_host_order = got->is_big_endian == want->is_big_endian && !got->is_big_endian;
  if (!mxg_file_dtype_is_value(got->dtype) || got->dtype != want->dtype || !in_host_order ||
      got->bytes != want->bytes || got->bytes == 0 || host_is_big_endian())
    return;
  const mxg_subject subject = {.operation = MXG_OPERATION_DEQUANTIZE,
                               .recipe = recipe,
                               .rows = got->rows,
                               .value_dtype = (mxg_dtype)got->dtype,
                               .value_cols = got->cols,
                               .got_values = got->data,
                               .want_values = want->data};
  mxg_report_subject(report, &subject);
}

/* ---- raw codes, or slots ---- */

/* The direct cast with the same element format: how codes decode where there are no scales. */
static mxg_recipe codes_alone(const mxg_recipe *recipe) {
  mxg_recipe alone = {.element = recipe->element,
                      .scale = MXG_SCALE_NONE,
                      .element_max = recipe->element_max,
                      .nan_element = recipe->nan_element,
                      .overflow = recipe->overflow,
                      .accumulate = recipe->accumulate};
  return alone;
}

/* Two byte strings that hold codes, or slots, of rows x cols elements. */
static int compare_packed_bytes(mxg_report *report, const mxg_tensor *got, const mxg_tensor *want,
                                const mxg_recipe *recipe, size_t rows, size_t cols, bool as_slots) {
  mxg_layout_options options = {.placement = MXG_PLACEMENT_SEPARATE};
  const mxg_recipe decoded = as_slots ? *recipe : codes_alone(recipe);
  int status = as_slots ? mxg_layout_args(MXG_PLACEMENT_SLOT, &options) : MXG_EXIT_OK;
  const mxg_packed_file got_file = {
      .path = got->path, .codes = got->data, .codes_bytes = got->bytes};
  const mxg_packed_file want_file = {
      .path = want->path, .codes = want->data, .codes_bytes = want->bytes};
  mxg_side got_side, want_side;
  if (!status) status = mxg_side_open(&got_side, report, &got_file, &decoded, rows, cols, &options);
  if (!status)
    status = mxg_side_open(&want_side, report, &want_file, &decoded, rows, cols, &options);
  if (!status) status = mxg_compare_codes(report, &got_side, &want_side, NULL, rows);
  if (!status) {
    keep_sides(report, &decoded, &got_side, &want_side, rows);
    status = mxg_report_diagnose(report, NULL, 0);
  }
  if (!status && as_slots) mxg_compare_weights(report, &got_side, &want_side, NULL, rows);
  return status;
}

/* ---- pairs of safetensors ---- */

static const mxg_tensor *scale_of(const mxg_tensor_file *file, const char *name) {
  const size_t bytes = strlen(name) + sizeof "_scale";
  char *text = mxg_alloc(bytes);
  snprintf(text, bytes, "%s_scale", name);
  const mxg_tensor *found = mxg_tensor_find(file, text);
  free(text);
  return found;
}

/* Is the tensor the scales of another one in the file? */
static bool is_scale(const mxg_tensor_file *file, const mxg_tensor *tensor) {
  const size_t length = strlen(tensor->name), suffix = sizeof "_scale" - 1;
  if (length < suffix || strcmp(tensor->name + length - suffix, "_scale") != 0) return false;
  char *name = mxg_copy_text(tensor->name);
  name[length - suffix] = 0;
  const bool has_codes = mxg_tensor_find(file, name) != NULL;
  free(name);
  return has_codes;
}

/* Rows, columns and scale count as the metadata says, else as the tensors have them. */
static void find_shape(mxg_packed_file *file, const mxg_recipe *recipe) {
  size_t row_bytes = 0;
  const bool fits = file->has_shape &&
                    mxg_payload_row_bytes(recipe->element, file->cols, &row_bytes) == MXG_OK &&
                    (file->rows == 0 || file->codes_bytes / file->rows == row_bytes);
  const size_t bits = (size_t)mxg_element_traits(recipe->element).bits;
  if (!fits) {
    file->rows = file->codes_rows;
    file->cols = file->codes_dtype == MXG_FILE_F4
                     ? file->codes_cols
                     : file->codes_cols / bits * 8 + file->codes_cols % bits * 8 / bits;
  }
  const size_t per_scale = mxg_scale_bytes(recipe->scale);
  if (fits || per_scale == 0 || file->rows == 0) return;
  const size_t stored = file->scales_bytes / per_scale / file->rows;
  if (stored > mxg_scales_used(recipe, file->cols)) file->options.scale_count = stored;
}

typedef struct file_recipes {
  bool got_known, want_known;
  mxg_recipe got, want;
} file_recipes;

static int compare_pair(mxg_report *report, const mxg_tensor_file *got_file,
                        const mxg_tensor_file *want_file, const char *name,
                        const file_recipes *recipes) {
  mxg_packed_file got, want;
  int status = mxg_packed_find(got_file, name, &got);
  if (!status) status = mxg_packed_find(want_file, name, &want);
  if (status) return status;
  const bool fits = mxg_compare_tags(report, &got, &recipes->got);
  if (!mxg_compare_tags(report, &want, &recipes->want) || !fits) return MXG_EXIT_OK;
  find_shape(&got, &recipes->got);
  find_shape(&want, &recipes->want);
  if (got.rows != want.rows || got.cols != want.cols)
    mxg_report_note(report, "shape", "%s: '%s' is %zux%zu, %zux%zu expected", got.path, name,
                    got.rows, got.cols, want.rows, want.cols);
  if (got.cols != want.cols) return MXG_EXIT_OK;
  if (got.options.order != want.options.order)
    mxg_report_note(report, "layout", "%s: scales lie %s, %s expected: compared place by place",
                    got.path, mxg_order_name(got.options.order),
                    mxg_order_name(want.options.order));
  mxg_side got_side, want_side;
  status = mxg_side_open(&got_side, report, &got, &recipes->got, got.rows, got.cols, &got.options);
  if (!status)
    status = mxg_side_open(&want_side, report, &want, &recipes->want, want.rows, want.cols,
                           &want.options);
  if (status) return status;
  if (got_side.layout.scale_count != want_side.layout.scale_count)
    mxg_report_note(report, "size", "%s: %zu scales per row, %zu expected", got.path,
                    got_side.layout.scale_count, want_side.layout.scale_count);
  size_t rows = got.live_rows < want.live_rows ? got.live_rows : want.live_rows;
  if (rows == 0 || rows > got.rows) rows = got.rows;
  if (rows > want.rows) rows = want.rows;
  status = mxg_compare_codes(report, &got_side, &want_side, NULL, rows);
  if (!status) keep_sides(report, &recipes->want, &got_side, &want_side, rows);
  if (!status && report->pads && got.options.order == want.options.order)
    mxg_compare_pads(report, &got_side, &want_side, rows);
  return status;
}

/* Are both halves there, so that a recipe explains the tensor? */
static bool is_pair(const mxg_tensor_file *file, const mxg_tensor *codes,
                    const mxg_recipe *recipe) {
  if (mxg_file_dtype_is_value(codes->dtype) || codes->dtype == MXG_FILE_OTHER) return false;
  return recipe->scale == MXG_SCALE_NONE || scale_of(file, codes->name) != NULL;
}

static int compare_tensor(mxg_report *report, const mxg_tensor_file *got_file,
                          const mxg_tensor_file *want_file, const mxg_tensor *got,
                          const file_recipes *recipes) {
  const mxg_tensor *want = mxg_tensor_find(want_file, got->name);
  const bool has_recipes = recipes->got_known && recipes->want_known;
  if (!want) {
    mxg_report_note(report, "tensor", "%s: has '%s', which %s lacks", got_file->file.path,
                    got->name, want_file->file.path);
    return MXG_EXIT_OK;
  }
  report->tensor = got->name;
  if (has_recipes && is_pair(got_file, got, &recipes->got) &&
      is_pair(want_file, want, &recipes->want))
    return compare_pair(report, got_file, want_file, got->name, recipes);
  if (has_recipes && is_scale(got_file, got) && is_scale(want_file, want))
    return MXG_EXIT_OK; /* goes with its codes */
  mxg_compare_tensors(report, got, want);
  keep_values(report, recipes->want_known ? &recipes->want : &mxg_preset_at(0)->recipe, got, want);
  return MXG_EXIT_OK;
}

/* The recipe of one file: its metadata's, else --recipe's. */
static int recipe_of(const mxg_tensor_file *file, const char *given, bool *known, mxg_recipe *out) {
  const char *text = mxg_tensor_metadata(file, "recipe");
  *known = text || given;
  if (text && !(given && mxg_recipe_parse(text, out, NULL) != MXG_OK))
    return mxg_recipe_arg(text, file->file.path, out);
  return given ? mxg_recipe_arg(given, NULL, out) : MXG_EXIT_OK;
}

static int find_recipes(mxg_report *report, const char *given, const mxg_tensor_file *got,
                        const mxg_tensor_file *want, file_recipes *out) {
  int status = recipe_of(got, given, &out->got_known, &out->got);
  if (!status) status = recipe_of(want, given, &out->want_known, &out->want);
  if (status || !out->got_known || !out->want_known) return status;
  report->recipe = mxg_copy_text(mxg_recipe_short_text(&out->want));
  if (!mxg_recipe_equal(&out->got, &out->want))
    mxg_report_note(report, "recipe", "%s was made with recipe %s, %s with %s", got->file.path,
                    mxg_recipe_short_text(&out->got), want->file.path,
                    mxg_recipe_short_text(&out->want));
  if (!given) return MXG_EXIT_OK;
  mxg_recipe asked;
  status = mxg_recipe_arg(given, NULL, &asked);
  if (!status && !mxg_recipe_equal(&asked, &out->want))
    mxg_report_note(report, "recipe", "%s was made with recipe %s, not with %s", want->file.path,
                    mxg_recipe_short_text(&out->want), mxg_recipe_short_text(&asked));
  return status;
}

static int compare_safetensors(mxg_report *report, const mxg_compare_request *request,
                               const mxg_tensor_file *got, const mxg_tensor_file *want) {
  file_recipes recipes;
  memset(&recipes, 0, sizeof recipes);
  int status = find_recipes(report, request->recipe, got, want, &recipes);
  if (status) return status;
  if (recipes.got_known && recipes.want_known && !mxg_recipes_align(&recipes.got, &recipes.want)) {
    mxg_report_note(report, "recipe", "the recipes have different formats: nothing is compared");
    return MXG_EXIT_OK;
  }
  const char *name = mxg_input_args.tensor;
  if (name) {
    const mxg_tensor *tensor = NULL;
    status = mxg_tensor_pick(got, name, &tensor);
    if (!status) status = compare_tensor(report, got, want, tensor, &recipes);
    return status ? status : mxg_report_diagnose(report, NULL, 0);
  }
  for (size_t i = 0; i < got->count && !status; i++)
    status = compare_tensor(report, got, want, &got->tensors[i], &recipes);
  for (size_t i = 0; i < want->count; i++)
    if (!mxg_tensor_find(got, want->tensors[i].name))
      mxg_report_note(report, "tensor", "%s: lacks '%s', which %s has", got->file.path,
                      want->tensors[i].name, want->file.path);
  return status ? status : mxg_report_diagnose(report, NULL, 0);
}

/* ---- the form A B ---- */

static int compare_single(mxg_report *report, const mxg_compare_request *request, const char *shape,
                          const mxg_tensor *got, const mxg_tensor *want) {
  if (!request->recipe || got->dtype != MXG_FILE_U8 || want->dtype != MXG_FILE_U8) {
    mxg_compare_tensors(report, got, want);
    keep_values(report, &mxg_preset_at(0)->recipe, got, want);
    return mxg_report_diagnose(report, NULL, 0);
  }
  mxg_recipe recipe;
  int status = mxg_recipe_arg(request->recipe, NULL, &recipe);
  if (status) return status;
  report->recipe = mxg_copy_text(mxg_recipe_short_text(&recipe));
  const size_t bits = (size_t)mxg_element_traits(recipe.element).bits;
  size_t rows = want->rows, cols = want->cols / bits * 8 + want->cols % bits * 8 / bits;
  if (shape) status = mxg_shape_arg("--shape", shape, &rows, &cols);
  if (status) return status;
  return compare_packed_bytes(report, got, want, &recipe, rows, cols, request->as_slots);
}

static int compare_opened(mxg_report *report, const mxg_compare_request *request, const char *shape,
                          const mxg_tensor_file *got, const mxg_tensor_file *want) {
  report->got = mxg_copy_text(got->file.path);
  report->want = mxg_copy_text(want->file.path);
  if (got->kind != want->kind)
    return mxg_fail(MXG_EXIT_USAGE, "%s is %s and %s is %s: compare two files of the same kind",
                    got->file.path, kind_names[got->kind], want->file.path, kind_names[want->kind]);
  if (got->kind == MXG_FILE_SAFETENSORS) return compare_safetensors(report, request, got, want);
  return compare_single(report, request, shape, &got->tensors[0], &want->tensors[0]);
}

int mxg_compare_files(mxg_report *report, const mxg_compare_request *request, const char *got,
                      const char *want) {
  if (strcmp(got, "-") == 0 && strcmp(want, "-") == 0)
    return mxg_fail(MXG_EXIT_USAGE, "only one of the two files can be standard input");
  mxg_input_options options = mxg_input_args;
  options.raw_as_bytes = options.npy_uint16_as_bf16 = true;
  const char *shape = NULL;
  if (request->recipe && options.shape && (!options.dtype || strcmp(options.dtype, "u8") == 0)) {
    /* elements of codes: the size of the files is compared, not demanded */
    shape = options.shape;
    options.shape = options.dtype = NULL;
  }
  if (request->as_slots && (!request->recipe || !shape))
    return mxg_fail(MXG_EXIT_USAGE, "--as-slots needs --recipe R and --shape RxC");
  mxg_tensor_file got_file, want_file;
  int status = mxg_tensor_file_open(got, &options, &got_file);
  if (status) return status;
  status = mxg_tensor_file_open(want, &options, &want_file);
  if (!status) {
    status = compare_opened(report, request, shape, &got_file, &want_file);
    mxg_tensor_file_close(&want_file);
  }
  mxg_tensor_file_close(&got_file);
  return status;
}
