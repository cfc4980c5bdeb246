/* vectors_layouts.c: scale matrices and weight bytes in another order. They do not depend on a
 * recipe: one file holds each kind.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

/* Bytes that tell rows, columns and neighbours apart. */
static unsigned char painted(size_t i) {
  return (unsigned char)(1 + i * 7 % 251);
}

/* rows x scale_count scales from row_major into `order`; the target was filled with FF before. */
static void reorder(mxg_vectors *v, const char *flags, mxg_scale_order order, uint32_t pad,
                    size_t rows, size_t scale_count) {
  const size_t cols = scale_count * v->recipe.block;
  mxg_layout_options options = {MXG_PLACEMENT_SEPARATE, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
  mxg_layout from, to;
  mxg_vectors_must(mxg_layout_for(&v->recipe, rows, cols, &options, &from), "a layout case");
  options.order = order;
  options.pad_byte = pad;
  mxg_vectors_must(mxg_layout_for(&v->recipe, rows, cols, &options, &to), "a layout case");
  unsigned char *in = mxg_alloc(from.scales_bytes + 1), *out = mxg_alloc(to.scales_bytes + 1);
  for (size_t i = 0; i < from.scales_bytes; i++) in[i] = painted(i);
  memset(out, 0xFF, to.scales_bytes);
  mxg_vectors_must(
      mxg_scales_reorder(&from, in, from.scales_bytes, &to, out, to.scales_bytes, rows),
      "a layout case");
  json_t *fields = json_object();
  json_object_set_new(fields, "op", json_string(mxg_order_name(order)));
  json_object_set_new(fields, "rows", json_integer((json_int_t)rows));
  json_object_set_new(fields, "scale_cols", json_integer((json_int_t)scale_count));
  json_object_set_new(fields, "scale_bytes", json_integer((json_int_t)to.scale_bytes));
  json_object_set_new(fields, "pad", json_integer((json_int_t)pad));
  json_object_set_new(fields, "in", mxg_hex(in, from.scales_bytes));
  json_object_set_new(fields, "out", mxg_hex(out, to.scales_bytes));
  mxg_vectors_add(v, MXG_SECTION_LAYOUT, flags, fields);
  free(in);
  free(out);
}

/* Weight bytes: op takes experts, rows of gate (and of up), and bytes a row. */
static void weights(mxg_vectors *v, const char *op, size_t experts, size_t rows, size_t row_bytes) {
  const bool is_gate_up = strcmp(op, "gate_up_interleave") == 0;
  const size_t bytes = experts * (is_gate_up ? 2 : 1) * rows * row_bytes;
  unsigned char *in = mxg_alloc(bytes), *out = mxg_alloc(bytes);
  for (size_t i = 0; i < bytes; i++) in[i] = painted(i);
  mxg_vectors_must(is_gate_up ? mxg_gate_up_interleave(experts, rows, row_bytes, in, out)
                              : mxg_weight_shuffle(rows, row_bytes, in, out),
                   "a layout case");
  json_t *fields = json_object();
  json_object_set_new(fields, "op", json_string(op));
  json_object_set_new(fields, "experts", json_integer((json_int_t)experts));
  json_object_set_new(fields, "rows", json_integer((json_int_t)rows));
  json_object_set_new(fields, "row_bytes", json_integer((json_int_t)row_bytes));
  json_object_set_new(fields, "in", mxg_hex(in, bytes));
  json_object_set_new(fields, "out", mxg_hex(out, bytes));
  mxg_vectors_add(v, MXG_SECTION_LAYOUT, "GateUp", fields);
  free(in);
  free(out);
}

void mxg_vectors_layout_cases(mxg_vectors *v) {
  if (strcmp(v->text, "mxfp8") == 0) {
    static const size_t columns[] = {4, 6, 12, 20};
    for (size_t i = 0; i < 4; i++) {
      reorder(v, "ScalePad", MXG_ORDER_AITER_SHUFFLE, i % 2 != 0 ? 0x7F : 0, 33, columns[i]);
      reorder(v, "ScalePad", MXG_ORDER_BLOCKED_128X4, i % 2 != 0 ? 0x7F : 0, 33, columns[i]);
    }
    static const size_t rows[] = {1, 127, 129};
    for (size_t i = 0; i < 3; i++) reorder(v, "Rows", MXG_ORDER_BLOCKED_128X4, 0, rows[i], 5);
    reorder(v, "Rows", MXG_ORDER_AITER_SHUFFLE, 0x7F, 32, 8);
    /* as many bytes in either order as in row_major */
    reorder(v, "LayoutNamed", MXG_ORDER_BLOCKED_128X4, 0, 128, 8);
    reorder(v, "LayoutNamed", MXG_ORDER_AITER_SHUFFLE, 0, 256, 8);
    reorder(v, "LayoutNamed", MXG_ORDER_TRANSPOSED, 0, 32, 8);
  }
  if (strcmp(v->text, "aiter-fp8-128") == 0)
    reorder(v, "LayoutNamed", MXG_ORDER_TRANSPOSED, 0, 5, 3);
  if (strcmp(v->text, "aiter-mxfp4") == 0) {
    weights(v, "gate_up_interleave", 1, 32, 64);
    weights(v, "gate_up_interleave", 2, 16, 64);
    weights(v, "weight_shuffle", 1, 32, 32);
  }
}
