/* compare_decode.c: values in a file against what decoding codes and scales, or adding up slots,
 * gives.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/stat.h>

#include "compare.h"
#include "recipe_text.h"

enum { SOURCES_MAX = 64 };

int mxg_holds_codes(const char *path, bool *out) {
  struct stat about;
  *out = false;
  /* what can be read once only is left to the one who reads it */
  if (strcmp(path, "-") == 0 || stat(path, &about) != 0 || !S_ISREG(about.st_mode))
    return MXG_EXIT_OK;
  mxg_file raw;
  int status = mxg_file_open(path, &raw);
  if (status) return status;
  const bool is_safetensors = mxg_file_kind_of(&raw) == MXG_FILE_SAFETENSORS;
  mxg_file_close(&raw);
  if (!is_safetensors) return MXG_EXIT_OK;
  mxg_tensor_file file;
  status = mxg_tensor_file_open(path, NULL, &file);
  if (status) return status;
  for (size_t i = 0; i < file.count; i++)
    if (!mxg_file_dtype_is_value(file.tensors[i].dtype) && file.tensors[i].dtype != MXG_FILE_OTHER)
      *out = true;
  mxg_tensor_file_close(&file);
  return MXG_EXIT_OK;
}

/* GOT: values; a .npy of uint16 is bf16. */
static int open_values(mxg_report *report, const char *path, mxg_tensor_file *file,
                       const mxg_tensor **tensor) {
  mxg_input_options options = mxg_input_args;
  options.npy_uint16_as_bf16 = true;
  const int status = mxg_values_open(path, &options, file, tensor);
  if (!status) report->got = mxg_copy_text((*tensor)->path);
  return status;
}

/* The values expected, as a tensor like `got`. */
static void compare_values(mxg_report *report, const mxg_tensor *got, const mxg_scratch *want) {
  mxg_tensor expected = *got;
  expected.data = want->data;
  expected.is_big_endian = got->is_big_endian;
  mxg_compare_tensors(report, got, &expected);
}

static int open_scratch(const mxg_tensor *like, mxg_scratch *out) {
  return mxg_scratch_open(like->bytes + 1, out);
}

/* ---- decoding ---- */

static int open_packed(const mxg_compare_request *request, mxg_packed_file *out) {
  if (request->slots) return mxg_packed_open_raw(request->slots, NULL, out);
  if (request->codes) return mxg_packed_open_raw(request->codes, request->scales, out);
  return mxg_packed_open(request->input, NULL, out);
}

static int check_size(const char *path, const char *what, size_t found, size_t expected) {
  return found == expected ? MXG_EXIT_OK
                           : mxg_fail(MXG_EXIT_FILE,
                                      "%s: %s have %zu bytes, but the recipe and the shape of the "
                                      "values make %zu: correct --recipe, --shape or the layout",
                                      path, what, found, expected);
}

static int plan_source(const mxg_compare_request *request, const mxg_packed_file *in,
                       const mxg_tensor *got, const mxg_recipe *recipe, mxg_packed_view *out) {
  mxg_layout_options options = in->options;
  const mxg_placement placement = request->slots ? MXG_PLACEMENT_SLOT : MXG_PLACEMENT_SEPARATE;
  int status = MXG_EXIT_OK;
  if (request->slots || mxg_layout_args_given()) status = mxg_layout_args(placement, &options);
  if (!status) status = mxg_make_layout(recipe, got->rows, got->cols, &options, &out->layout);
  if (!status)
    status = check_size(in->path, request->slots ? "slots" : "codes", in->codes_bytes,
                        out->layout.codes_bytes);
  if (!status)
    status =
        check_size(in->path, "scales", in->scales ? in->scales_bytes : 0, out->layout.scales_bytes);
  out->codes = in->codes;
  out->codes_capacity = in->codes_bytes;
  out->scales = in->scales;
  out->scales_capacity = in->scales_bytes;
  return status;
}

static int compare_decoded(mxg_report *report, const mxg_compare_request *request,
                           const mxg_packed_file *in, const mxg_tensor *got) {
  mxg_recipe recipe;
  mxg_subject subject = {.operation = MXG_OPERATION_DEQUANTIZE,
                         .recipe = &recipe,
                         .rows = got->rows,
                         .value_dtype = (mxg_dtype)got->dtype,
                         .value_cols = got->cols,
                         .got_values = got->data};
  int status = mxg_packed_recipe(in, request->recipe, &recipe);
  if (!status) status = plan_source(request, in, got, &recipe, &subject.source);
  if (status) return status;
  report->recipe = mxg_copy_text(mxg_recipe_short_text(&recipe));
  const mxg_impl *impl = NULL;
  mxg_run run;
  mxg_scratch want = {NULL, 0, false};
  status = mxg_run_args(&impl, &run);
  if (!status) status = open_scratch(got, &want);
  if (status) return status;
  const mxg_matrix y = {want.data, subject.value_dtype, got->rows, got->cols, 0};
  const mxg_status result = impl->dequantize(&recipe, &subject.source, &y, &run);
  if (result != MXG_OK) status = mxg_fail_status(result, "dequantize");
  subject.want_values = want.data;
  if (!status) compare_values(report, got, &want);
  if (!status) status = mxg_report_diagnose(report, &subject, 1);
  mxg_scratch_close(&want);
  return status;
}

int mxg_compare_decoded(mxg_report *report, const mxg_compare_request *request, const char *got) {
  mxg_tensor_file values;
  const mxg_tensor *tensor = NULL;
  mxg_packed_file in;
  int status = open_values(report, got, &values, &tensor);
  if (status) return status;
  status = open_packed(request, &in);
  if (!status) {
    report->input = mxg_copy_text(in.path);
    status = compare_decoded(report, request, &in, tensor);
    mxg_packed_close(&in);
  }
  mxg_tensor_file_close(&values);
  return status;
}

/* ---- sums ---- */

typedef struct sources {
  size_t count;
  mxg_file files[SOURCES_MAX];
  bool is_missing[SOURCES_MAX];
  mxg_tensor_file weights_file;
  mxg_scratch slots; /* rows x count pointers */
} sources;

static void close_sources(sources *in) {
  for (size_t k = 0; k < in->count; k++) mxg_file_close(&in->files[k]);
  mxg_tensor_file_close(&in->weights_file);
  mxg_scratch_close(&in->slots);
}

static int open_sources(sources *in, const char *const *paths, const mxg_layout *layout) {
  size_t count = 0;
  while (paths[count]) count++;
  if (count == 0 || count > SOURCES_MAX)
    return mxg_fail(MXG_EXIT_USAGE,
                    "%zu sources: give 1 to %d slot files behind OUT, - for a missing one", count,
                    SOURCES_MAX);
  for (; in->count < count; in->count++) {
    mxg_file *file = &in->files[in->count];
    in->is_missing[in->count] = strcmp(paths[in->count], "-") == 0;
    if (in->is_missing[in->count]) continue;
    const int status = mxg_file_open(paths[in->count], file);
    if (status) return status;
    if (file->bytes != layout->codes_bytes) {
      in->count++;
      return check_size(file->path, "slots", file->bytes, layout->codes_bytes);
    }
  }
  size_t bytes = 0;
  if (mxg_size_mul(layout->rows, count * sizeof(void *), &bytes) != MXG_OK)
    return mxg_fail_status(MXG_ERR_SIZE, "sources");
  const int status = mxg_scratch_open(bytes + 1, &in->slots);
  if (status) return status;
  const void **slots = (const void **)(void *)in->slots.data;
  for (size_t row = 0; row < layout->rows; row++)
    for (size_t k = 0; k < count; k++)
      slots[row * count + k] =
          in->is_missing[k] ? NULL : in->files[k].data + row * layout->slot_stride_bytes;
  return MXG_EXIT_OK;
}

static int compare_sum(mxg_report *report, const mxg_compare_request *request,
                       const char *const *paths, const mxg_tensor *got, sources *in) {
  mxg_recipe recipe;
  mxg_layout_options options;
  mxg_subject subject = {.operation = MXG_OPERATION_COMBINE,
                         .recipe = &recipe,
                         .rows = got->rows,
                         .value_dtype = (mxg_dtype)got->dtype,
                         .value_cols = got->cols,
                         .got_values = got->data};
  int status = mxg_recipe_arg(request->recipe, NULL, &recipe);
  if (!status) status = mxg_layout_args(MXG_PLACEMENT_SLOT, &options);
  if (!status)
    status = mxg_make_layout(&recipe, got->rows, got->cols, &options, &subject.slot_layout);
  if (status) return status;
  report->recipe = mxg_copy_text(mxg_recipe_short_text(&recipe));
  status = open_sources(in, paths, &subject.slot_layout);
  size_t weights = 0;
  if (!status && request->weights && mxg_size_mul(got->rows, in->count, &weights) != MXG_OK)
    status = mxg_fail_status(MXG_ERR_SIZE, "--weights");
  if (!status && request->weights)
    status = mxg_f32_file_open(request->weights, weights, "--weights, rows x sources,",
                               &in->weights_file, &subject.weight);
  const mxg_impl *impl = NULL;
  mxg_run run;
  mxg_scratch want = {NULL, 0, false};
  if (!status) status = mxg_run_args(&impl, &run);
  if (!status) status = open_scratch(got, &want);
  if (status) return status;
  subject.slots = (const void *const *)(const void *)in->slots.data;
  subject.top_k = in->count;
  subject.want_values = want.data;
  const mxg_matrix y = {want.data, subject.value_dtype, got->rows, got->cols, 0};
  const mxg_status result = impl->combine(&recipe, subject.slots, subject.top_k, subject.weight,
                                          &subject.slot_layout, 0, got->cols, &y, &run);
  if (result != MXG_OK) status = mxg_fail_status(result, "combine");
  if (!status) compare_values(report, got, &want);
  if (!status) status = mxg_report_diagnose(report, &subject, 1);
  mxg_scratch_close(&want);
  return status;
}

int mxg_compare_sum(mxg_report *report, const mxg_compare_request *request, const char *got,
                    const char *const *paths) {
  mxg_tensor_file values;
  const mxg_tensor *tensor = NULL;
  sources in;
  memset(&in, 0, sizeof in);
  int status = open_values(report, got, &values, &tensor);
  if (status) return status;
  report->input = mxg_copy_text("the sources");
  status = compare_sum(report, request, paths, tensor, &in);
  close_sources(&in);
  mxg_tensor_file_close(&values);
  return status;
}
