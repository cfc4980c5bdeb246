/* io_safetensors.c: the header of a .safetensors file: 8 bytes of length, JSON, then the data.
 * SPDX-License-Identifier: MIT */
#include "io_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 100000000 }; /* bytes; the limit of the format's own library */

static const struct {
  const char *name;
  unsigned bits;
  mxg_file_dtype dtype;
} dtypes[] = {{"F32", 32, MXG_FILE_F32},          {"F16", 16, MXG_FILE_F16},
              {"BF16", 16, MXG_FILE_BF16},        {"U8", 8, MXG_FILE_U8},
              {"F8_E4M3", 8, MXG_FILE_F8_E4M3},   {"F8_E5M2", 8, MXG_FILE_F8_E5M2},
              {"F8_E8M0", 8, MXG_FILE_F8_E8M0},   {"F4", 4, MXG_FILE_F4},
              {"BOOL", 8, MXG_FILE_OTHER},        {"I8", 8, MXG_FILE_OTHER},
              {"F6_E2M3", 6, MXG_FILE_OTHER},     {"F6_E3M2", 6, MXG_FILE_OTHER},
              {"F8_E4M3FNUZ", 8, MXG_FILE_OTHER}, {"F8_E5M2FNUZ", 8, MXG_FILE_OTHER},
              {"I16", 16, MXG_FILE_OTHER},        {"U16", 16, MXG_FILE_OTHER},
              {"I32", 32, MXG_FILE_OTHER},        {"U32", 32, MXG_FILE_OTHER},
              {"F64", 64, MXG_FILE_OTHER},        {"I64", 64, MXG_FILE_OTHER},
              {"U64", 64, MXG_FILE_OTHER},        {"C64", 64, MXG_FILE_OTHER}};

/* A message about one tensor's header entry. */
static int bad_entry(const mxg_tensor *tensor, const char *field, const char *problem) {
  return mxg_fail(MXG_EXIT_FILE, "%s: safetensors header: tensor '%s', %s: %s: write the file anew",
                  tensor->path, tensor->name, field, problem);
}

/* A non-negative JSON integer that fits size_t. */
static bool size_value(const json_t *value, size_t *out) {
  if (!json_is_integer(value)) return false;
  const json_int_t integer = json_integer_value(value);
  if (integer < 0 || (uint64_t)integer > SIZE_MAX) return false;
  *out = (size_t)integer;
  return true;
}

static int parse_dtype(mxg_tensor *tensor, const json_t *entry, unsigned *bits) {
  const char *name = json_string_value(json_object_get(entry, "dtype"));
  if (!name) return bad_entry(tensor, "dtype", "is missing or no string");
  for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
    if (strcmp(dtypes[i].name, name) != 0) continue;
    tensor->dtype = dtypes[i].dtype;
    *bits = dtypes[i].bits;
    return MXG_EXIT_OK;
  }
  return mxg_fail(MXG_EXIT_FILE, "%s: safetensors header: tensor '%s', dtype: '%s' is not known",
                  tensor->path, tensor->name, name);
}

static int parse_shape(mxg_tensor *tensor, const json_t *entry, size_t *elements) {
  const json_t *shape = json_object_get(entry, "shape");
  if (!json_is_array(shape)) return bad_entry(tensor, "shape", "is missing or no array");
  if (json_array_size(shape) > MXG_MAX_DIMS)
    return bad_entry(tensor, "shape", "more than 32 dimensions");
  tensor->rank = json_array_size(shape);
  for (size_t i = 0; i < tensor->rank; i++)
    if (!size_value(json_array_get(shape, i), &tensor->dims[i]))
      return bad_entry(tensor, "shape", "a dimension is no count");
  if (!mxg_tensor_shape(tensor, elements))
    return bad_entry(tensor, "shape", "has more elements than memory");
  return MXG_EXIT_OK;
}

static int parse_tensor(mxg_tensor *tensor, const json_t *entry, const unsigned char *data,
                        size_t data_bytes) {
  if (!json_is_object(entry)) return bad_entry(tensor, "entry", "is no object");
  unsigned bits = 0;
  size_t elements = 0, expected = 0, begin = 0, end = 0;
  int exit_code = parse_dtype(tensor, entry, &bits);
  if (exit_code == 0) exit_code = parse_shape(tensor, entry, &elements);
  if (exit_code != 0) return exit_code;
  if (!mxg_elements_bytes(bits, elements, &expected))
    return bad_entry(tensor, "shape", "its elements do not fill whole bytes");
  const json_t *offsets = json_object_get(entry, "data_offsets");
  if (json_array_size(offsets) != 2 || !size_value(json_array_get(offsets, 0), &begin) ||
      !size_value(json_array_get(offsets, 1), &end))
    return bad_entry(tensor, "data_offsets", "is not [begin, end]");
  if (begin > end || end > data_bytes)
    return mxg_fail(
        MXG_EXIT_FILE,
        "%s: safetensors header: tensor '%s', data_offsets [%zu, %zu]: not inside the "
        "%zu bytes of data that the file has: it is truncated or damaged, copy it again",
        tensor->path, tensor->name, begin, end, data_bytes);
  if (end - begin != expected)
    return mxg_fail(MXG_EXIT_FILE,
                    "%s: safetensors header: tensor '%s', data_offsets [%zu, %zu]: %zu bytes, but "
                    "dtype and shape need %zu: write the file anew",
                    tensor->path, tensor->name, begin, end, end - begin, expected);
  tensor->data = data + begin;
  tensor->bytes = expected;
  return MXG_EXIT_OK;
}

static int parse_metadata(mxg_tensor_file *file, json_t *metadata) {
  const char *key;
  json_t *value;
  if (!json_is_object(metadata))
    return mxg_fail(MXG_EXIT_FILE, "%s: safetensors header: __metadata__ is no object",
                    file->file.path);
  json_object_foreach(metadata, key, value) {
    if (!json_is_string(value))
      return mxg_fail(MXG_EXIT_FILE,
                      "%s: safetensors header: __metadata__, %s: is no string as it must be",
                      file->file.path, key);
  }
  file->metadata = json_incref(metadata);
  return MXG_EXIT_OK;
}

static int by_offset(const void *a, const void *b) {
  const mxg_tensor *const *left = a, *const *right = b;
  if ((*left)->data != (*right)->data) return (*left)->data < (*right)->data ? -1 : 1;
  return ((*left)->bytes > (*right)->bytes) - ((*left)->bytes < (*right)->bytes);
}

/* The format demands that tensors fill the data without holes and without sharing bytes. */
static int check_offsets(const mxg_tensor_file *file, const unsigned char *data, size_t bytes) {
  const mxg_tensor **sorted = mxg_alloc(file->count * sizeof *sorted);
  for (size_t i = 0; i < file->count; i++) sorted[i] = &file->tensors[i];
  qsort(sorted, file->count, sizeof *sorted, by_offset);
  int exit_code = MXG_EXIT_OK;
  size_t filled = 0;
  for (size_t i = 0; i < file->count && exit_code == 0; i++) {
    const size_t begin = (size_t)(sorted[i]->data - data);
    if (begin < filled)
      exit_code = mxg_fail(MXG_EXIT_FILE,
                           "%s: safetensors header: data_offsets of '%s' and '%s' overlap at byte "
                           "%zu of the data: write the file anew",
                           file->file.path, sorted[i - 1]->name, sorted[i]->name, begin);
    else if (begin > filled)
      exit_code = mxg_fail(MXG_EXIT_FILE,
                           "%s: safetensors header: bytes %zu to %zu of the data belong to no "
                           "tensor: write the file anew",
                           file->file.path, filled, begin);
    filled = begin + sorted[i]->bytes;
  }
  if (exit_code == 0 && filled != bytes)
    exit_code = mxg_fail(MXG_EXIT_FILE,
                         "%s: safetensors: %zu bytes follow the last tensor: write the file anew",
                         file->file.path, bytes - filled);
  free(sorted);
  return exit_code;
}

static int parse_header(mxg_tensor_file *file, json_t *root, const unsigned char *data,
                        size_t data_bytes) {
  const char *key;
  json_t *value;
  if (!json_is_object(root))
    return mxg_fail(MXG_EXIT_FILE, "%s: safetensors header: is no JSON object", file->file.path);
  file->tensors = mxg_alloc(json_object_size(root) * sizeof *file->tensors);
  json_object_foreach(root, key, value) {
    int exit_code;
    if (strcmp(key, "__metadata__") == 0) {
      exit_code = parse_metadata(file, value);
    } else {
      mxg_tensor *tensor = &file->tensors[file->count++];
      tensor->path = file->file.path;
      tensor->name = mxg_copy_text(key);
      exit_code = parse_tensor(tensor, value, data, data_bytes);
    }
    if (exit_code != 0) return exit_code;
  }
  return check_offsets(file, data, data_bytes);
}

int mxg_safetensors_parse(mxg_tensor_file *file) {
  const mxg_file *in = &file->file;
  uint64_t length = 0;
  if (in->bytes < 8)
    return mxg_fail(MXG_EXIT_FILE,
                    "%s: safetensors: the file ends inside its header length: it is "
                    "truncated, copy it again",
                    in->path);
  for (int i = 7; i >= 0; i--) length = length << 8 | in->data[i];
  if (length > in->bytes - 8 || length > HEADER_MAX)
    return mxg_fail(
        MXG_EXIT_FILE,
        "%s: safetensors: header length %llu (offset 0) is more than %s: the file is "
        "truncated, or no safetensors file",
        in->path, (unsigned long long)length,
        length > in->bytes - 8 ? "the file holds" : "the 100 MB that the format allows");
  json_error_t error;
  json_t *root =
      json_loadb((const char *)in->data + 8, (size_t)length, JSON_REJECT_DUPLICATES, &error);
  if (!root)
    return mxg_fail(MXG_EXIT_FILE, "%s: safetensors header (offset %zu): %s: write the file anew",
                    in->path, (size_t)error.position + 8, error.text);
  const int exit_code =
      parse_header(file, root, in->data + 8 + length, in->bytes - 8 - (size_t)length);
  json_decref(root);
  return exit_code;
}
