/* io_write.c: headers and values of the files that are written.
 * SPDX-License-Identifier: MIT */
#include "io_internal.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

int mxg_output_values(mxg_output *output, mxg_dtype dtype, void *data, size_t count) {
  const size_t width = mxg_dtype_bytes(dtype);
  if (mxg_host_is_big_endian()) {
    for (size_t i = 0; i < count; i++) {
      unsigned char *value = (unsigned char *)data + i * width;
      for (size_t j = 0; j < width / 2; j++) {
        const unsigned char low = value[j];
        value[j] = value[width - 1 - j];
        value[width - 1 - j] = low;
      }
    }
  }
  return mxg_output_write(output, data, count * width);
}

/* ---- npy ---- */

int mxg_output_npy_header(mxg_output *output, mxg_dtype dtype, size_t rows, size_t cols) {
  enum { ALIGNMENT = 64 }; /* of the data, as NumPy writes it */
  const char *descr = dtype == MXG_DTYPE_F32 ? "<f4" : dtype == MXG_DTYPE_F16 ? "<f2" : "<u2";
  char header[256];
  memset(header, ' ', sizeof header);
  /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): no string */
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  const int length =
      snprintf(header + 10, sizeof header - 10,
               "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }", descr, rows, cols);
  size_t total = 10 + (size_t)length + 1;
  total = (total + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  header[10 + length] = ' ';
  header[total - 1] = '\n';
  header[8] = (char)((total - 10) & 0xFF);
  header[9] = (char)((total - 10) >> 8);
  return mxg_output_write(output, header, total);
}

int mxg_values_output_open(const char *path, const mxg_file *const *inputs, mxg_dtype dtype,
                           size_t rows, size_t cols, mxg_output **out) {
  if (mxg_ends_in(path, ".safetensors"))
    return mxg_fail(MXG_EXIT_USAGE, "%s: values are written as .npy or raw: choose such a name",
                    path);
  int exit_code = mxg_output_check("-o", path, inputs);
  if (exit_code == 0) exit_code = mxg_output_open("-o", path, out);
  if (exit_code == 0 && mxg_ends_in(path, ".npy"))
    exit_code = mxg_output_npy_header(*out, dtype, rows, cols);
  return exit_code;
}

/* ---- safetensors ---- */

/* U8 where the format has no name for the codes. */
static const char *codes_dtype(mxg_element element) {
  if (element == MXG_ELEMENT_E4M3FN) return "F8_E4M3";
  return element == MXG_ELEMENT_E5M2 ? "F8_E5M2" : "U8";
}

/* Steals nothing; a NULL value means that memory is out, which json_pack reports as NULL. */
static json_t *entry(const char *dtype, size_t rows, size_t cols, size_t begin, size_t end) {
  return json_pack("{s:s, s:[I,I], s:[I,I]}", "dtype", dtype, "shape", (json_int_t)rows,
                   (json_int_t)cols, "data_offsets", (json_int_t)begin, (json_int_t)end);
}

static json_t *count_text(size_t count) {
  char text[32];
  snprintf(text, sizeof text, "%zu", count);
  return json_string(text);
}

static json_t *describe(const mxg_recipe *recipe, const mxg_layout *layout, size_t live_rows) {
  char recipe_text[1024], shape[64], pad[8];
  mxg_recipe_print(recipe, recipe_text, sizeof recipe_text);
  snprintf(shape, sizeof shape, "%zux%zu", layout->rows, layout->cols);
  json_t *metadata = json_pack("{s:s, s:s, s:s}", "recipe", recipe_text, "shape", shape,
                               "mxgold_version", mxg_version());
  if (layout->order != MXG_ORDER_ROW_MAJOR)
    json_object_set_new(metadata, "scale_order", json_string(mxg_order_name(layout->order)));
  if (layout->pad_byte &&
      (layout->order == MXG_ORDER_AITER_SHUFFLE || layout->order == MXG_ORDER_BLOCKED_128X4)) {
    snprintf(pad, sizeof pad, "%02X", (unsigned)layout->pad_byte & 0xFF);
    json_object_set_new(metadata, "pad", json_string(pad));
  }
  if (layout->scale_count != layout->scales_used)
    json_object_set_new(metadata, "scale_count", count_text(layout->scale_count));
  if (live_rows != layout->rows) json_object_set_new(metadata, "live_rows", count_text(live_rows));
  return metadata;
}

/* Dimensions of the scale tensor: those of the order, pads included. */
static void scale_dims(const mxg_layout *layout, size_t *rows, size_t *cols) {
  *rows = layout->rows;
  *cols = layout->scale_count;
  if (layout->order == MXG_ORDER_TRANSPOSED) {
    *rows = layout->scale_count;
    *cols = layout->rows;
  } else if (layout->order == MXG_ORDER_AITER_SHUFFLE) {
    *rows = mxg_size_ceil_div(*rows, 256) * 256;
    *cols = mxg_size_ceil_div(*cols, 8) * 8;
  } else if (layout->order == MXG_ORDER_BLOCKED_128X4) {
    *rows = mxg_size_ceil_div(*rows, 128) * 128;
    *cols = mxg_size_ceil_div(*cols, 4) * 4;
  }
}

static json_t *build_header(const char *name, const mxg_recipe *recipe, const mxg_layout *layout,
                            size_t live_rows, bool scales_first) {
  const size_t codes_begin = scales_first ? layout->scales_bytes : 0;
  const size_t scales_begin = scales_first ? 0 : layout->codes_bytes;
  json_t *root = json_object();
  json_object_set_new(root, "__metadata__", describe(recipe, layout, live_rows));
  json_object_set_new(root, name,
                      entry(codes_dtype(recipe->element), layout->rows, layout->payload_row_bytes,
                            codes_begin, codes_begin + layout->codes_bytes));
  if (recipe->scale == MXG_SCALE_NONE) return root;
  size_t rows, cols;
  scale_dims(layout, &rows, &cols);
  const size_t name_bytes = strlen(name) + sizeof "_scale";
  char *scale_name = mxg_alloc(name_bytes);
  snprintf(scale_name, name_bytes, "%s_scale", name);
  json_object_set_new(root, scale_name,
                      entry(recipe->scale == MXG_SCALE_F32 ? "F32" : "F8_E8M0", rows, cols,
                            scales_begin, scales_begin + layout->scales_bytes));
  free(scale_name);
  return root;
}

int mxg_output_packed_header(mxg_output *output, const char *name, const mxg_recipe *recipe,
                             const mxg_layout *layout, size_t live_rows, bool *scales_first) {
  /* No holes are allowed between tensors, and f32 must be aligned for readers that map the file. */
  *scales_first = recipe->scale == MXG_SCALE_F32 && layout->codes_bytes % 4 != 0;
  json_t *root = build_header(name, recipe, layout, live_rows, *scales_first);
  char *text = json_dumps(root, JSON_COMPACT);
  json_decref(root);
  if (!text) return mxg_fail(MXG_EXIT_FILE, "out of memory");
  const size_t length = strlen(text), padded = (length + 7) / 8 * 8;
  unsigned char prefix[8];
  for (size_t i = 0; i < 8; i++) prefix[i] = (unsigned char)((uint64_t)padded >> (8 * i) & 0xFF);
  int exit_code = mxg_output_write(output, prefix, sizeof prefix);
  if (exit_code == 0) exit_code = mxg_output_write(output, text, length);
  if (exit_code == 0) exit_code = mxg_output_write(output, "        ", padded - length);
  free(text);
  return exit_code;
}
