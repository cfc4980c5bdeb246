/* arguments.c
 * SPDX-License-Identifier: MIT */
#include "arguments.h"

#include <check.h>
#include <string.h>

#include "recipes.h"

struct arguments_memory memory;

const char *const operation_names[OPERATIONS] = {"quantize", "dequantize", "combine"};

void arguments_valid(arguments *a, operation op) {
  static const mxg_layout_options slot = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
  memset(a, 0, sizeof *a);
  memset(&memory, 0x3A, sizeof memory);
  a->recipe = recipe_of("aiter-fp8-128"); /* f32 scales: the FP environment counts */
  a->recipe_pointer = &a->recipe;
  const mxg_matrix matrix = {op == QUANTIZE ? memory.x : memory.y, MXG_DTYPE_F32, LIVE, COLS, 0};
  a->matrix = matrix;
  a->has_matrix = a->has_packed = true;
  ck_assert_int_eq(mxg_layout_for(&a->recipe, PADDED, COLS, NULL, &a->packed.layout), MXG_OK);
  a->packed.codes = memory.codes;
  a->packed.codes_capacity = sizeof memory.codes;
  a->packed.scales = memory.scales;
  a->packed.scales_capacity = sizeof memory.scales;
  a->row_weight = memory.row_weight;
  ck_assert_int_eq(mxg_layout_for(&a->recipe, PADDED, COLS, &slot, &a->layout), MXG_OK);
  ck_assert_uint_eq(a->layout.slot_bytes, sizeof memory.slots[0]);
  a->layout_pointer = &a->layout;
  for (size_t i = 0; i < LIVE * TOP_K; i++) memory.pointers[i] = memory.slots[i];
  a->slots = memory.pointers;
  a->top_k = TOP_K;
  a->weight = memory.weight;
  a->col_end = COLS;
}

mxg_status arguments_call(const impl *side, operation op, const arguments *a) {
  const mxg_matrix_view x = {a->matrix.data, a->matrix.dtype, a->matrix.rows, a->matrix.cols,
                             a->matrix.stride_elems};
  const mxg_packed_view in = {a->packed.codes, a->packed.codes_capacity, a->packed.scales,
                              a->packed.scales_capacity, a->packed.layout};
  mxg_status status = MXG_OK;
  fp_environment_set(a->environment);
  switch (op) {
    case QUANTIZE:
      status = side->quantize(a->recipe_pointer, a->has_matrix ? &x : NULL, a->row_weight,
                              a->has_packed ? &a->packed : NULL, &a->run);
      break;
    case DEQUANTIZE:
      status = side->dequantize(a->recipe_pointer, a->has_packed ? &in : NULL,
                                a->has_matrix ? &a->matrix : NULL, &a->run);
      break;
    case COMBINE:
      status = side->combine(a->recipe_pointer, a->slots, a->top_k, a->weight, a->layout_pointer,
                             a->col_begin, a->col_end, a->has_matrix ? &a->matrix : NULL, &a->run);
      break;
    case OPERATIONS: break;
  }
  fp_environment_set(FPENV_DEFAULT);
  return status;
}
