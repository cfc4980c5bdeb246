/* test_api_overlap.c: what a call reads and writes may touch, interleave row by row and, inputs among
 * themselves, be one and the same; one byte in common with an output is refused.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "arguments.h"
#include "check_main.h"
#include "recipes.h"

enum { O_COLS = 64, O_ROWS = 4 };

/* Slots of 66 bytes and rows of 64 bf16 interleaved in one buffer, 194 bytes apart. `shift` moves
 * the rows. */
static mxg_status interleaved_slots(const impl *side, operation op, int shift) {
  static uint8_t buffer[1024];
  const mxg_recipe recipe = recipe_of("mxfp8");
  const mxg_layout_options options = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 194, {0}};
  mxg_layout layout;
  memset(buffer, 0, sizeof buffer);
  ck_assert_int_eq(side->layout_for(&recipe, O_ROWS, O_COLS, &options, &layout), MXG_OK);
  uint8_t *slots = buffer + 16, *rows = slots + 66 + shift;
  if (op == QUANTIZE) {
    const mxg_matrix_view x = {rows, MXG_DTYPE_BF16, O_ROWS, O_COLS, 97};
    const mxg_packed out = {slots, layout.codes_bytes, NULL, 0, layout};
    return side->quantize(&recipe, &x, NULL, &out, NULL);
  }
  const mxg_matrix y = {rows, MXG_DTYPE_BF16, O_ROWS, O_COLS, 97};
  const mxg_packed_view in = {slots, layout.codes_bytes, NULL, 0, layout};
  return side->dequantize(&recipe, &in, &y, NULL);
}

/* Row weights in the gap between two slots, `shift` from its beginning: one run of bytes among many. */
static mxg_status weights_between_slots(const impl *side, size_t rows, int shift) {
  enum { STRIDE = 194 };
  static uint8_t buffer[O_ROWS * STRIDE];
  static uint16_t values[O_ROWS * O_COLS];
  const mxg_recipe recipe = recipe_of("mxfp8");
  const mxg_layout_options options = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, STRIDE, {0}};
  mxg_layout layout;
  memset(buffer, 0, sizeof buffer);
  ck_assert_int_eq(side->layout_for(&recipe, rows, O_COLS, &options, &layout), MXG_OK);
  const mxg_matrix_view x = {values, MXG_DTYPE_BF16, rows, O_COLS, 0};
  const mxg_packed out = {buffer, layout.codes_bytes, NULL, 0, layout};
  return side->quantize(&recipe, &x, (const float *)(const void *)(buffer + STRIDE + 66 + shift),
                        &out, NULL);
}

/* `scales` of 3 rows, of which 2 are live, in the last bytes of an area: `shift` from where 64 codes of
 * 2 rows begin behind them, or (behind) from the end of those. */
static mxg_status scales_beside_codes(const impl *side, mxg_scale_order order, bool behind,
                                      ptrdiff_t shift) {
  static uint8_t area[8192];
  static float values[2 * 32];
  const mxg_recipe recipe = recipe_of("mxfp8");
  mxg_layout_options options;
  memset(&options, 0, sizeof options);
  options.order = order;
  mxg_layout layout;
  ck_assert_int_eq(side->layout_for(&recipe, 3, 32, &options, &layout), MXG_OK);
  const size_t live = order == MXG_ORDER_ROW_MAJOR || order == MXG_ORDER_TRANSPOSED
                          ? 2
                          : layout.scales_bytes; /* with the pads */
  const mxg_matrix_view x = {values, MXG_DTYPE_F32, 2, 32, 0};
  uint8_t *codes = area + 4096;
  const mxg_packed out = {codes, layout.codes_bytes,
                          behind ? codes + 2 * 32 + shift : codes - live + shift,
                          layout.scales_bytes, layout};
  return side->quantize(&recipe, &x, NULL, &out, NULL);
}

/* Codes and scales interleaved, row by row; `shift` moves the scales. */
static mxg_status interleaved_scales(const impl *side, int shift) {
  static uint8_t buffer[1024];
  static uint16_t values[O_ROWS * O_COLS];
  const mxg_recipe recipe = recipe_of("mxfp8");
  const mxg_layout_options options = {
      MXG_PLACEMENT_SEPARATE, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 66, 66, 0, {0}};
  mxg_layout layout;
  ck_assert_int_eq(side->layout_for(&recipe, O_ROWS, O_COLS, &options, &layout), MXG_OK);
  const mxg_matrix_view x = {values, MXG_DTYPE_BF16, O_ROWS, O_COLS, 0};
  const mxg_packed out = {buffer + 16, layout.codes_bytes, buffer + 16 + 64 + shift,
                          layout.scales_bytes, layout};
  return side->quantize(&recipe, &x, NULL, &out, NULL);
}

START_TEST(test_overlap) {
  for (int i = 0; i < IMPLS; i++) {
    for (operation op = QUANTIZE; op <= DEQUANTIZE; op++) {
      ck_assert_int_eq(interleaved_slots(&impls[i], op, 0), MXG_OK);
      ck_assert_int_eq(interleaved_slots(&impls[i], op, 1), MXG_ERR_OVERLAP);
      ck_assert_int_eq(interleaved_slots(&impls[i], op, -1), MXG_ERR_OVERLAP);
      ck_assert_int_eq(interleaved_slots(&impls[i], op, -66), MXG_ERR_OVERLAP);
    }
    ck_assert_int_eq(interleaved_scales(&impls[i], 0), MXG_OK);
    ck_assert_int_eq(interleaved_scales(&impls[i], 1), MXG_ERR_OVERLAP);
    ck_assert_int_eq(interleaved_scales(&impls[i], -1), MXG_ERR_OVERLAP);
    for (size_t rows = 3; rows <= O_ROWS; rows++) {
      const int last = 194 - 66 - 4 * (int)rows;
      ck_assert_int_eq(weights_between_slots(&impls[i], rows, 0), MXG_OK);
      ck_assert_int_eq(weights_between_slots(&impls[i], rows, -1), MXG_ERR_OVERLAP);
      ck_assert_int_eq(weights_between_slots(&impls[i], rows, last), MXG_OK);
      ck_assert_int_eq(weights_between_slots(&impls[i], rows, last + 1), MXG_ERR_OVERLAP);
    }
    for (int order = MXG_ORDER_ROW_MAJOR; order <= MXG_ORDER_BLOCKED_128X4; order++)
      for (int behind = 0; behind < 2; behind++) { /* live rows of one scale */
        const ptrdiff_t into = behind ? -1 : 1;
        ck_assert_int_eq(scales_beside_codes(&impls[i], (mxg_scale_order)order, behind, 0), MXG_OK);
        ck_assert_int_eq(scales_beside_codes(&impls[i], (mxg_scale_order)order, behind, into),
                         MXG_ERR_OVERLAP);
      }

    /* touching is not sharing: values end where codes begin, and begin where they end */
    arguments a;
    arguments_valid(&a, DEQUANTIZE);
    static uint8_t area[2 * sizeof memory.y + sizeof memory.codes];
    a.packed.codes = area + sizeof memory.y;
    a.matrix.data = area;
    ck_assert_int_eq(arguments_call(&impls[i], DEQUANTIZE, &a), MXG_OK);
    a.matrix.data = area + 1;
    ck_assert_int_eq(arguments_call(&impls[i], DEQUANTIZE, &a), MXG_ERR_OVERLAP);
    a.matrix.data = area + sizeof memory.y + LIVE * COLS;
    ck_assert_int_eq(arguments_call(&impls[i], DEQUANTIZE, &a), MXG_OK);
    a.matrix.data = area + sizeof memory.y + LIVE * COLS - 1;
    ck_assert_int_eq(arguments_call(&impls[i], DEQUANTIZE, &a), MXG_ERR_OVERLAP);

    /* inputs may be one and the same: slots, and row weights inside x */
    arguments_valid(&a, COMBINE);
    for (size_t k = 1; k < LIVE * TOP_K; k++) memory.pointers[k] = memory.pointers[0];
    a.weight = (const float *)(const void *)memory.slots[0];
    ck_assert_int_eq(arguments_call(&impls[i], COMBINE, &a), MXG_OK);
    arguments_valid(&a, QUANTIZE);
    a.row_weight = memory.x;
    ck_assert_int_eq(arguments_call(&impls[i], QUANTIZE, &a), MXG_OK);
  }
}
END_TEST

CHECK_MAIN("overlaps", test_overlap)
