/* io_tensor.c: a file as tensors, whatever kind of file it is.
 * SPDX-License-Identifier: MIT */
#include "io_internal.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mxg_file_dtype_name(mxg_file_dtype dtype) {
  static const char *const names[] = {"?",       "F32",     "F16",     "BF16", "U8",
                                      "F8_E4M3", "F8_E5M2", "F8_E8M0", "F4",   "other"};
  return names[dtype];
}

bool mxg_file_dtype_is_value(mxg_file_dtype dtype) {
  return dtype == MXG_FILE_F32 || dtype == MXG_FILE_F16 || dtype == MXG_FILE_BF16;
}

/* ---- shared by the parsers ---- */

bool mxg_tensor_shape(mxg_tensor *tensor, size_t *elements) {
  tensor->rows = 1;
  tensor->cols = tensor->rank ? tensor->dims[tensor->rank - 1] : 1;
  for (size_t i = 0; i + 1 < tensor->rank; i++)
    if (mxg_size_mul(tensor->rows, tensor->dims[i], &tensor->rows) != MXG_OK) return false;
  return mxg_size_mul(tensor->rows, tensor->cols, elements) == MXG_OK;
}

bool mxg_elements_bytes(unsigned bits, size_t elements, size_t *bytes) {
  /* whole groups of 8 elements are `bits` bytes */
  size_t whole = 0;
  const size_t tail_bits = elements % 8 * bits;
  if (tail_bits % 8 != 0) return false;
  return mxg_size_mul(elements / 8, bits, &whole) == MXG_OK &&
         mxg_size_add(whole, tail_bits / 8, bytes) == MXG_OK;
}

mxg_tensor *mxg_single_tensor(mxg_tensor_file *file) {
  file->tensors = mxg_alloc(sizeof *file->tensors);
  file->count = 1;
  file->tensors[0].path = file->file.path;
  file->tensors[0].name = mxg_copy_text("x");
  return &file->tensors[0];
}

/* ---- kinds ---- */

mxg_file_kind mxg_file_kind_of(const mxg_file *file) {
  static const char magic[] = "\x93NUMPY";
  const size_t prefix = file->bytes < 6 ? file->bytes : 6;
  if (prefix > 0 && memcmp(file->data, magic, prefix) == 0) return MXG_FILE_NPY;
  if (file->bytes > 8 && file->data[8] == '{') return MXG_FILE_SAFETENSORS;
  /* a damaged one: the name only decides which message is given */
  return mxg_ends_in(file->path, ".safetensors") ? MXG_FILE_SAFETENSORS : MXG_FILE_RAW;
}

static const struct {
  const char *name;
  unsigned bits;
  mxg_file_dtype dtype;
} raw_dtypes[] = {{"f32", 32, MXG_FILE_F32},
                  {"f16", 16, MXG_FILE_F16},
                  {"bf16", 16, MXG_FILE_BF16},
                  {"u8", 8, MXG_FILE_U8}};
enum { RAW_DTYPE_COUNT = sizeof raw_dtypes / sizeof raw_dtypes[0] };

static int raw_parse(const mxg_input_options *options, mxg_tensor_file *file) {
  const char *path = file->file.path;
  const char *dtype = options ? options->dtype : NULL, *shape = options ? options->shape : NULL;
  if (!shape && !dtype && options && options->raw_as_bytes) {
    mxg_tensor *bytes = mxg_single_tensor(file);
    bytes->dtype = MXG_FILE_U8;
    bytes->rank = bytes->rows = 1;
    bytes->dims[0] = bytes->cols = bytes->bytes = file->file.bytes;
    bytes->data = file->file.data;
    return MXG_EXIT_OK;
  }
  if (!shape && file->file.bytes == 0) return mxg_fail(MXG_EXIT_FILE, "%s: is empty", path);
  if (!shape && !dtype)
    return mxg_fail(MXG_EXIT_FILE,
                    "%s: is neither .npy nor .safetensors (first bytes): if it is raw, say --dtype "
                    "and --shape",
                    path);
  if (!shape || !dtype)
    return mxg_fail(MXG_EXIT_USAGE, "%s: a raw file needs both --dtype and --shape", path);
  mxg_tensor *tensor = mxg_single_tensor(file);
  unsigned bits = 0;
  for (size_t i = 0; i < RAW_DTYPE_COUNT; i++) {
    if (strcmp(raw_dtypes[i].name, dtype) != 0) continue;
    bits = raw_dtypes[i].bits;
    tensor->dtype = raw_dtypes[i].dtype;
  }
  if (bits == 0)
    return mxg_fail(MXG_EXIT_USAGE, "--dtype: '%s' is not known: choose f32, f16, bf16 or u8",
                    dtype);
  if (mxg_shape_arg("--shape", shape, &tensor->dims[0], &tensor->dims[1]) != 0)
    return MXG_EXIT_USAGE;
  tensor->rank = 2;
  size_t elements = 0;
  if (!mxg_tensor_shape(tensor, &elements) || !mxg_elements_bytes(bits, elements, &tensor->bytes))
    return mxg_fail(MXG_EXIT_USAGE, "--shape: %s has more elements than memory", shape);
  if (tensor->bytes != file->file.bytes)
    return mxg_fail(MXG_EXIT_USAGE,
                    "%s: --shape %s of %s is %zu bytes, the file has %zu: correct --shape or "
                    "--dtype",
                    path, shape, dtype, tensor->bytes, file->file.bytes);
  tensor->data = file->file.data;
  return MXG_EXIT_OK;
}

/* Has the file the size that --dtype and --shape give? */
static bool fits_shape(const mxg_file *file, const mxg_input_options *options) {
  size_t rows = 0, cols = 0, elements = 0, bytes = 0;
  if (!options->dtype || !mxg_parse_shape(options->shape, &rows, &cols) ||
      mxg_size_mul(rows, cols, &elements) != MXG_OK)
    return false;
  for (size_t i = 0; i < RAW_DTYPE_COUNT; i++)
    if (strcmp(raw_dtypes[i].name, options->dtype) == 0)
      return mxg_elements_bytes(raw_dtypes[i].bits, elements, &bytes) && bytes == file->bytes;
  return false;
}

int mxg_tensor_file_open(const char *path, const mxg_input_options *options, mxg_tensor_file *out) {
  memset(out, 0, sizeof *out);
  int exit_code = mxg_file_open(path, &out->file);
  if (exit_code != 0) return exit_code;
  out->kind = options && options->shape ? MXG_FILE_RAW : mxg_file_kind_of(&out->file);
  mxg_input_options known = {NULL, NULL, NULL, false, false, false};
  if (out->kind == MXG_FILE_RAW && options && options->shape && options->raw_if_fits &&
      !fits_shape(&out->file, options) && mxg_file_kind_of(&out->file) != MXG_FILE_RAW) {
    out->kind = mxg_file_kind_of(&out->file);
    known.tensor = options->tensor;
    options = &known;
  }
  switch (out->kind) {
    case MXG_FILE_NPY: exit_code = mxg_npy_parse(options, out); break;
    case MXG_FILE_SAFETENSORS: exit_code = mxg_safetensors_parse(out); break;
    case MXG_FILE_RAW: exit_code = raw_parse(options, out); break;
  }
  if (exit_code != 0) mxg_tensor_file_close(out);
  return exit_code;
}

void mxg_tensor_file_close(mxg_tensor_file *file) {
  for (size_t i = 0; i < file->count; i++) free(file->tensors[i].name);
  free(file->tensors);
  json_decref(file->metadata);
  mxg_scratch_close(&file->swapped);
  mxg_file_close(&file->file);
  memset(file, 0, sizeof *file);
}

/* ---- tensors of a file ---- */

const mxg_tensor *mxg_tensor_find(const mxg_tensor_file *file, const char *name) {
  for (size_t i = 0; i < file->count; i++)
    if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
  return NULL;
}

const char *mxg_tensor_names(const mxg_tensor_file *file) {
  static char names[1024];
  size_t length = 0;
  names[0] = 0;
  for (size_t i = 0; i < file->count; i++) {
    const size_t left = sizeof names - length;
    /* NOLINTNEXTLINE(*-core.NullDereference): tensors that were counted are there */
    if (strlen(file->tensors[i].name) + 64 > left) {
      snprintf(names + length, left, " and %zu more", file->count - i);
      break;
    }
    length += (size_t)snprintf(names + length, left, "%s%s", i ? ", " : "", file->tensors[i].name);
  }
  return file->count ? names : "(none)";
}

int mxg_tensor_pick(const mxg_tensor_file *file, const char *name, const mxg_tensor **out) {
  const char *path = file->file.path;
  if (name && file->kind != MXG_FILE_SAFETENSORS)
    return mxg_fail(MXG_EXIT_USAGE, "%s: holds one array without a name: leave --tensor out", path);
  *out = name ? mxg_tensor_find(file, name) : file->count == 1 ? &file->tensors[0] : NULL;
  if (*out) return MXG_EXIT_OK;
  if (file->count == 0) return mxg_fail(MXG_EXIT_FILE, "%s: holds no tensor", path);
  if (name)
    return mxg_fail(MXG_EXIT_USAGE, "%s: has no tensor '%s': it has %s", path, name,
                    mxg_tensor_names(file));
  return mxg_fail(MXG_EXIT_USAGE, "%s: holds %zu tensors: choose one by --tensor: %s", path,
                  file->count, mxg_tensor_names(file));
}

const char *mxg_tensor_metadata(const mxg_tensor_file *file, const char *key) {
  return json_string_value(json_object_get(file->metadata, key));
}

/* ---- values ---- */

static int to_host_order(mxg_tensor_file *file, mxg_tensor *tensor) {
  const size_t width = mxg_dtype_bytes((mxg_dtype)tensor->dtype);
  if (tensor->is_big_endian == mxg_host_is_big_endian()) return MXG_EXIT_OK;
  const int exit_code = mxg_scratch_open(tensor->bytes, &file->swapped);
  if (exit_code != 0) return exit_code;
  for (size_t i = 0; i < tensor->bytes; i++)
    file->swapped.data[i] = tensor->data[i / width * width + (width - 1 - i % width)];
  tensor->data = file->swapped.data;
  tensor->is_big_endian = mxg_host_is_big_endian();
  return MXG_EXIT_OK;
}

int mxg_values_pick(mxg_tensor_file *file, const char *name, const mxg_tensor **tensor) {
  int exit_code = mxg_tensor_pick(file, name, tensor);
  /* NOLINTNEXTLINE(*-core.NullDereference): mxg_fail() never returns 0 */
  if (exit_code == 0 && !mxg_file_dtype_is_value((*tensor)->dtype))
    exit_code = mxg_fail(file->kind == MXG_FILE_RAW ? MXG_EXIT_USAGE : MXG_EXIT_FILE,
                         "%s: tensor '%s' has dtype %s: values are f32, f16 or bf16",
                         file->file.path, (*tensor)->name, mxg_file_dtype_name((*tensor)->dtype));
  return exit_code == 0 ? to_host_order(file, &file->tensors[*tensor - file->tensors]) : exit_code;
}

int mxg_values_open(const char *path, const mxg_input_options *options, mxg_tensor_file *file,
                    const mxg_tensor **tensor) {
  int exit_code = mxg_tensor_file_open(path, options, file);
  if (exit_code != 0) return exit_code;
  exit_code = mxg_values_pick(file, options ? options->tensor : NULL, tensor);
  if (exit_code != 0) mxg_tensor_file_close(file);
  return exit_code;
}

mxg_matrix_view mxg_tensor_rows(const mxg_tensor *tensor, size_t first, size_t rows) {
  const mxg_dtype dtype = (mxg_dtype)tensor->dtype;
  mxg_matrix_view view = {NULL, dtype, rows, tensor->cols, 0};
  if (tensor->bytes) view.data = tensor->data + first * tensor->cols * mxg_dtype_bytes(dtype);
  return view;
}

int mxg_f32_file_open(const char *path, size_t count, const char *why, mxg_tensor_file *out,
                      const float **values) {
  memset(out, 0, sizeof *out);
  int exit_code = mxg_file_open(path, &out->file);
  if (exit_code != 0) return exit_code;
  out->kind = MXG_FILE_RAW;
  mxg_tensor *tensor = mxg_single_tensor(out);
  tensor->dtype = MXG_FILE_F32;
  tensor->data = out->file.data;
  if (mxg_size_mul(count, 4, &tensor->bytes) != MXG_OK || tensor->bytes != out->file.bytes)
    exit_code = mxg_fail(MXG_EXIT_USAGE,
                         "%s: has %zu bytes, but %s needs %zu f32 values (4 bytes each, "
                         "little-endian)",
                         out->file.path, out->file.bytes, why, count);
  if (exit_code == 0) exit_code = to_host_order(out, tensor);
  if (exit_code != 0)
    mxg_tensor_file_close(out);
  else
    *values = (const float *)(const void *)tensor->data;
  return exit_code;
}
