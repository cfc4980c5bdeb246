/* io_packed.c: codes and scales found in files.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char suffix[] = "_scale";

/* NAME_scale of a tensor called NAME, or NULL. */
static const mxg_tensor *find_scale(const mxg_tensor_file *file, const char *name) {
  const size_t bytes = strlen(name) + sizeof suffix;
  char *scale_name = mxg_alloc(bytes);
  snprintf(scale_name, bytes, "%s%s", name, suffix);
  const mxg_tensor *found = mxg_tensor_find(file, scale_name);
  free(scale_name);
  return found;
}

static int find_pair(const mxg_tensor_file *file, const char *name, const mxg_tensor **codes,
                     const mxg_tensor **scales) {
  if (name || file->count == 1) {
    const int exit_code = mxg_tensor_pick(file, name, codes);
    if (exit_code == 0) *scales = find_scale(file, (*codes)->name);
    return exit_code;
  }
  size_t pairs = 0;
  for (size_t i = 0; i < file->count; i++) {
    const mxg_tensor *found = find_scale(file, file->tensors[i].name);
    if (!found) continue;
    pairs++;
    *codes = &file->tensors[i];
    *scales = found;
  }
  if (pairs == 1) return MXG_EXIT_OK;
  return mxg_fail(
      pairs ? MXG_EXIT_USAGE : MXG_EXIT_FILE, "%s: %s of tensors NAME and NAME%s: %s: it has %s",
      file->file.path, pairs ? "more than one pair" : "no pair", suffix,
      pairs ? "choose one by --tensor" : "quantize writes such a pair", mxg_tensor_names(file));
}

/* A key that is there but malformed: only an error in a file that this tool wrote; others may mean
 * something else by the same word. */
static int bad_metadata(const mxg_packed_file *file, const char *key, const char *text) {
  if (!mxg_tensor_metadata(&file->codes_file, "mxgold_version")) return MXG_EXIT_OK;
  return mxg_fail(MXG_EXIT_FILE, "%s: __metadata__ %s: '%s' is malformed: write the file anew",
                  file->path, key, text);
}

static bool count_value(const char *text, size_t *out) {
  size_t one = 0;
  return mxg_parse_shape(text, &one, out) && one == 1 && !strchr(text, 'x');
}

static int read_metadata(mxg_packed_file *file) {
  const mxg_tensor_file *from = &file->codes_file;
  int exit_code = MXG_EXIT_OK;
  file->recipe_text = mxg_tensor_metadata(from, "recipe");
  const char *text = mxg_tensor_metadata(from, "shape");
  file->has_shape = text && mxg_parse_shape(text, &file->rows, &file->cols);
  if (text && !file->has_shape) exit_code = bad_metadata(file, "shape", text);
  file->live_rows = file->rows;
  text = mxg_tensor_metadata(from, "live_rows");
  if (exit_code == 0 && text &&
      !(count_value(text, &file->live_rows) && file->live_rows <= file->rows))
    exit_code = bad_metadata(file, "live_rows", text);
  text = mxg_tensor_metadata(from, "scale_count");
  if (exit_code == 0 && text && !count_value(text, &file->options.scale_count))
    exit_code = bad_metadata(file, "scale_count", text);
  text = mxg_tensor_metadata(from, "scale_order");
  if (exit_code == 0 && text && !mxg_parse_order(text, &file->options.order))
    exit_code = bad_metadata(file, "scale_order", text);
  text = mxg_tensor_metadata(from, "pad");
  if (exit_code == 0 && text && !mxg_parse_hex_byte(text, &file->options.pad_byte))
    exit_code = bad_metadata(file, "pad", text);
  return exit_code;
}

int mxg_packed_find(const mxg_tensor_file *file, const char *tensor, mxg_packed_file *out) {
  memset(out, 0, sizeof *out);
  out->codes_file = *file;
  out->path = file->file.path;
  int exit_code = MXG_EXIT_OK;
  const mxg_tensor *codes = NULL, *scales = NULL;
  if (out->codes_file.kind != MXG_FILE_SAFETENSORS)
    exit_code = mxg_fail(MXG_EXIT_FILE,
                         "%s: is no .safetensors: for raw codes and scales give --codes, --scales "
                         "and --shape",
                         out->path);
  if (exit_code == 0) exit_code = find_pair(&out->codes_file, tensor, &codes, &scales);
  if (exit_code == 0) exit_code = read_metadata(out);
  if (exit_code != 0) return exit_code;
  /* NOLINTNEXTLINE(*-core.NullDereference): mxg_fail() never returns 0 */
  out->name = codes->name;
  out->codes = codes->data;
  out->codes_bytes = codes->bytes;
  out->codes_dtype = codes->dtype;
  out->codes_rows = codes->rows;
  out->codes_cols = codes->cols;
  if (scales) {
    out->scales = scales->data;
    out->scales_bytes = scales->bytes;
    out->scales_dtype = scales->dtype;
  }
  return MXG_EXIT_OK;
}

int mxg_packed_open(const char *path, const char *tensor, mxg_packed_file *out) {
  mxg_tensor_file file;
  memset(out, 0, sizeof *out);
  int exit_code = mxg_tensor_file_open(path, NULL, &file);
  if (exit_code != 0) return exit_code;
  exit_code = mxg_packed_find(&file, tensor, out);
  if (exit_code != 0) mxg_packed_close(out);
  return exit_code;
}

static int open_bytes(const char *path, mxg_tensor_file *file, const unsigned char **data,
                      size_t *bytes) {
  const int exit_code = mxg_file_open(path, &file->file);
  file->kind = MXG_FILE_RAW;
  *data = file->file.data;
  *bytes = file->file.bytes;
  return exit_code;
}

int mxg_packed_open_raw(const char *codes_path, const char *scales_path, mxg_packed_file *out) {
  memset(out, 0, sizeof *out);
  if (scales_path && strcmp(codes_path, "-") == 0 && strcmp(scales_path, "-") == 0)
    return mxg_fail(MXG_EXIT_USAGE, "--codes and --scales cannot both be standard input");
  int exit_code = open_bytes(codes_path, &out->codes_file, &out->codes, &out->codes_bytes);
  if (exit_code == 0 && scales_path)
    exit_code = open_bytes(scales_path, &out->scales_file, &out->scales, &out->scales_bytes);
  if (exit_code != 0) {
    mxg_packed_close(out);
    return exit_code;
  }
  out->path = out->codes_file.file.path;
  out->name = "x";
  out->codes_dtype = out->scales_dtype = MXG_FILE_U8;
  return MXG_EXIT_OK;
}

int mxg_packed_recipe(const mxg_packed_file *file, const char *text, mxg_recipe *out) {
  if (text) return mxg_recipe_arg(text, NULL, out);
  if (file->recipe_text) return mxg_recipe_arg(file->recipe_text, file->path, out);
  return mxg_fail(MXG_EXIT_USAGE, "%s: names no recipe in its __metadata__: give --recipe",
                  file->path);
}

bool mxg_packed_is_of_other(const mxg_packed_file *file, const mxg_recipe *recipe) {
  mxg_recipe stored;
  return file->recipe_text && mxg_recipe_parse(file->recipe_text, &stored, NULL) == MXG_OK &&
         (stored.element != recipe->element || stored.scale != recipe->scale ||
          stored.block != recipe->block);
}

/* U8 serves every format; the other types say which one they hold. */
static bool codes_dtype_fits(mxg_file_dtype dtype, mxg_element element) {
  switch (dtype) {
    case MXG_FILE_U8: return true;
    case MXG_FILE_F8_E4M3: return element == MXG_ELEMENT_E4M3FN;
    case MXG_FILE_F8_E5M2: return element == MXG_ELEMENT_E5M2;
    case MXG_FILE_F4: return element == MXG_ELEMENT_E2M1;
    default: return false;
  }
}

int mxg_packed_check_types(const mxg_packed_file *file, const mxg_recipe *recipe,
                           bool is_recipe_told) {
  const int exit_code = is_recipe_told ? MXG_EXIT_USAGE : MXG_EXIT_FILE;
  if (!codes_dtype_fits(file->codes_dtype, recipe->element))
    return mxg_fail(exit_code,
                    "%s: codes '%s' have dtype %s, which is not what the recipe's codes "
                    "are: choose another recipe or tensor",
                    file->path, file->name, mxg_file_dtype_name(file->codes_dtype));
  if (!file->scales || recipe->scale == MXG_SCALE_NONE) return MXG_EXIT_OK;
  const mxg_file_dtype own = recipe->scale == MXG_SCALE_F32 ? MXG_FILE_F32 : MXG_FILE_F8_E8M0;
  if (file->scales_dtype == own || file->scales_dtype == MXG_FILE_U8) return MXG_EXIT_OK;
  return mxg_fail(exit_code,
                  "%s: scales '%s%s' have dtype %s, the recipe's are %s: choose another "
                  "recipe or tensor",
                  file->path, file->name, suffix, mxg_file_dtype_name(file->scales_dtype),
                  mxg_file_dtype_name(own));
}

void mxg_packed_close(mxg_packed_file *file) {
  mxg_tensor_file_close(&file->codes_file);
  mxg_tensor_file_close(&file->scales_file);
  memset(file, 0, sizeof *file);
}
