/* compare_decode.c: values in a file against what decoding codes and scales, or adding up slots,
 * gives.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/stat.h>

#include "combine_source.h"
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
  mxg_summand list[SOURCES_MAX];
  mxg_tensor_file weights_file;
  mxg_scratch slots;  /* rows x count pointers */
  mxg_scratch copies; /* slots put together from quantised files */
} sources;

static void close_sources(sources *in) {
  for (size_t k = 0; k < in->count; k++) mxg_summand_close(&in->list[k]);
  mxg_tensor_file_close(&in->weights_file);
  mxg_scratch_close(&in->slots);
  mxg_scratch_close(&in->copies);
}

static int open_sources(sources *in, const char *const *paths) {
  size_t count = 0;
  while (paths[count]) count++;
  if (count == 0 || count > SOURCES_MAX)
    return mxg_fail(MXG_EXIT_USAGE,
                    "%zu sources: give 1 to %d .safetensors or slot files behind OUT, - for a "
                    "missing one",
                    count, SOURCES_MAX);
  for (; in->count < count; in->count++) {
    const int status = mxg_summand_open(paths[in->count], NULL, &in->list[in->count]);
    if (status) return status;
  }
  return MXG_EXIT_OK;
}

/* The recipe and the shape: as a quantised source says, else as --recipe and OUT do. */
static int plan_sum(const mxg_compare_request *request, sources *in, const mxg_tensor *got,
                    mxg_recipe *recipe, mxg_layout *layout) {
  const mxg_summand *told = NULL;
  for (size_t k = in->count; k-- > 0;)
    if (in->list[k].kind == MXG_SUMMAND_PACKED) told = &in->list[k];
  size_t rows = got->rows, cols = got->cols;
  int status = MXG_EXIT_OK;
  if (request->recipe || !told) {
    status = mxg_require("--recipe", request->recipe);
    if (!status) status = mxg_recipe_arg(request->recipe, NULL, recipe);
  } else {
    status = mxg_packed_recipe(&told->packed, NULL, recipe);
  }
  if (!status && told) status = mxg_summand_shape(told, recipe, &rows, &cols);
  if (!status && (cols != got->cols || rows < got->rows))
    status = mxg_fail(MXG_EXIT_FILE, "%s: is %zux%zu, but the sources are %zux%zu", got->path,
                      got->rows, got->cols, rows, cols);
  mxg_layout_options options;
  if (!status) status = mxg_layout_args(MXG_PLACEMENT_SLOT, &options);
  if (!status) status = mxg_make_layout(recipe, rows, cols, &options, layout);
  for (size_t k = 0; k < in->count && !status; k++)
    status = mxg_summand_check(&in->list[k], recipe, layout, request->recipe != NULL);
  return status;
}

/* Pointers to the slots of the first `rows` rows. */
static int point_at_slots(sources *in, const mxg_layout *layout, size_t rows) {
  size_t pointers = 0, copied = 0, packed = 0;
  for (size_t k = 0; k < in->count; k++) packed += in->list[k].kind == MXG_SUMMAND_PACKED;
  if (mxg_size_mul(rows, in->count * sizeof(void *), &pointers) != MXG_OK ||
      mxg_size_mul(rows, packed * layout->slot_bytes, &copied) != MXG_OK)
    return mxg_fail_status(MXG_ERR_SIZE, "sources");
  int status = mxg_scratch_open(pointers + 1, &in->slots);
  if (!status) status = mxg_scratch_open(copied + 1, &in->copies);
  if (status) return status;
  const void **slots = (const void **)(void *)in->slots.data;
  unsigned char *copies = in->copies.data;
  for (size_t k = 0; k < in->count; k++) {
    const unsigned char *base = mxg_summand_slots(&in->list[k], layout, 0, rows, copies);
    for (size_t row = 0; row < rows; row++)
      slots[row * in->count + k] = base ? base + row * layout->slot_bytes : NULL;
    if (in->list[k].kind == MXG_SUMMAND_PACKED) copies += rows * layout->slot_bytes;
  }
  return MXG_EXIT_OK;
}

static int compare_sum(mxg_report *report, const mxg_compare_request *request,
                       const char *const *paths, const mxg_tensor *got, sources *in) {
  mxg_recipe recipe;
  mxg_subject subject = {.operation = MXG_OPERATION_COMBINE,
                         .recipe = &recipe,
                         .rows = got->rows,
                         .value_dtype = (mxg_dtype)got->dtype,
                         .value_cols = got->cols,
                         .got_values = got->data};
  int status = open_sources(in, paths);
  if (!status) status = plan_sum(request, in, got, &recipe, &subject.slot_layout);
  if (status) return status;
  report->recipe = mxg_copy_text(mxg_recipe_short_text(&recipe));
  size_t weights = 0;
  if (request->weights && mxg_size_mul(subject.slot_layout.rows, in->count, &weights) != MXG_OK)
    return mxg_fail_status(MXG_ERR_SIZE, "--weights");
  if (request->weights)
    status = mxg_f32_file_open(request->weights, weights, "--weights, rows x sources,",
                               &in->weights_file, &subject.weight);
  const mxg_impl *impl = NULL;
  mxg_run run;
  mxg_scratch want = {NULL, 0, false};
  if (!status) status = point_at_slots(in, &subject.slot_layout, got->rows);
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
