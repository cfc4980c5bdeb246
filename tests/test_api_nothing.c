/* test_api_nothing.c: calls about nothing: NULL where it is allowed, no rows, no columns, no bytes.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "arguments.h"
#include "check_main.h"
#include "compare.h"
#include "recipes.h"

/* NULL where it is allowed: run, row weights, weights, options, and pointers to zero bytes. */
START_TEST(test_null_allowed) {
  for (int i = 0; i < IMPLS; i++) {
    arguments a;
    arguments_valid(&a, QUANTIZE);
    a.row_weight = NULL;
    ck_assert_int_eq(arguments_call(&impls[i], QUANTIZE, &a), MXG_OK);
    arguments_valid(&a, COMBINE);
    a.weight = NULL;
    ck_assert_int_eq(arguments_call(&impls[i], COMBINE, &a), MXG_OK);
    memory.pointers[1] = memory.pointers[4] = NULL;
    ck_assert_int_eq(arguments_call(&impls[i], COMBINE, &a), MXG_OK);
    /* top_k 0 needs no pointers; no live rows need no values */
    a.top_k = 0;
    a.slots = NULL;
    ck_assert_int_eq(arguments_call(&impls[i], COMBINE, &a), MXG_OK);
    a.top_k = TOP_K;
    a.matrix.rows = 0;
    a.matrix.data = NULL;
    ck_assert_int_eq(arguments_call(&impls[i], COMBINE, &a), MXG_OK);
    arguments_valid(&a, QUANTIZE);
    a.matrix.rows = 0;
    a.matrix.data = NULL;
    ck_assert_int_eq(arguments_call(&impls[i], QUANTIZE, &a), MXG_OK);
    expect_filled(memory.codes, 0x3A, sizeof memory.codes, "codes of no live rows");
    expect_filled(memory.scales, 0x3A, sizeof memory.scales, "scales of no live rows");
    ck_assert_int_eq(arguments_call(&impls[i], DEQUANTIZE, &a), MXG_OK);
    /* scale=none has no scale bytes */
    arguments_valid(&a, QUANTIZE);
    a.recipe = recipe_of("mori-fp8-direct");
    ck_assert_int_eq(mxg_layout_for(&a.recipe, PADDED, COLS, NULL, &a.packed.layout), MXG_OK);
    a.packed.scales = NULL;
    a.packed.scales_capacity = 0;
    ck_assert_int_eq(arguments_call(&impls[i], QUANTIZE, &a), MXG_OK);
    ck_assert_int_eq(arguments_call(&impls[i], DEQUANTIZE, &a), MXG_OK);
  }
}
END_TEST

/* Rows without columns that still store scales: strides of nothing may be any number. Found by
 * fuzzing: the address of a row's first code was computed and wrapped (UBSan sees it). */
START_TEST(test_strides_of_nothing) {
  const mxg_recipe recipe = recipe_of("mori-fp8");
  mxg_layout_options options;
  memset(&options, 0, sizeof options);
  options.scale_count = 2;
  options.payload_stride_bytes = SIZE_MAX - 5;
  for (int i = 0; i < IMPLS; i++) {
    mxg_layout layout;
    float scales[3 * 2] = {0}, x = 0.0f;
    uint8_t code = 0xAA;
    ck_assert_int_eq(impls[i].layout_for(&recipe, 3, 0, &options, &layout), MXG_OK);
    ck_assert_uint_eq(layout.codes_bytes, 0);
    const mxg_matrix_view view = {&x, MXG_DTYPE_F32, 3, 0, SIZE_MAX / 4 - 7};
    const mxg_packed out = {&code, 0, scales, sizeof scales, layout};
    ck_assert_int_eq(impls[i].quantize(&recipe, &view, NULL, &out, NULL), MXG_OK);
    ck_assert_uint_eq(code, 0xAA);
    uint8_t one[4]; /* little-endian, as stored */
    for (size_t s = 0; s < 6; s++) {
      memcpy(one, (const uint8_t *)scales + 4 * s, 4);
      ck_assert_msg(one[0] == 0 && one[1] == 0 && one[2] == 0x80 && one[3] == 0x3F, "%s: scale %zu",
                    impls[i].name, s);
    }
  }
}
END_TEST

/* Rows without columns take no bytes, so there may be any number of them; their weights and their
 * sources still count. */
START_TEST(test_sizes_without_columns) {
  for (int i = 0; i < IMPLS; i++) {
    arguments a;
    arguments_valid(&a, QUANTIZE);
    ck_assert_int_eq(mxg_layout_for(&a.recipe, SIZE_MAX, 0, NULL, &a.packed.layout), MXG_OK);
    a.matrix.cols = 0;
    a.matrix.rows = SIZE_MAX / 4 + 1;
    ck_assert_int_eq(arguments_call(&impls[i], QUANTIZE, &a), MXG_ERR_SIZE);
    a.matrix.rows = LIVE;
    ck_assert_int_eq(arguments_call(&impls[i], QUANTIZE, &a), MXG_OK);

    static const mxg_layout_options slot = {
        MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
    arguments_valid(&a, COMBINE);
    ck_assert_int_eq(mxg_layout_for(&a.recipe, PADDED, 0, &slot, &a.layout), MXG_OK);
    a.matrix.cols = a.col_end = 0;
    a.matrix.rows = SIZE_MAX / TOP_K + 1; /* sources */
    ck_assert_int_eq(arguments_call(&impls[i], COMBINE, &a), MXG_ERR_SIZE);
    a.matrix.rows = SIZE_MAX / TOP_K / sizeof(void *) + 1; /* bytes of their pointers */
    ck_assert_int_eq(arguments_call(&impls[i], COMBINE, &a), MXG_ERR_SIZE);
    a.matrix.rows = LIVE;
    ck_assert_int_eq(arguments_call(&impls[i], COMBINE, &a), MXG_OK);
  }
}
END_TEST

/* More rows than anybody could count to, of nothing: that takes no time. */
START_TEST(test_rows_of_nothing) {
  for (int i = 0; i < IMPLS; i++) {
    for (operation op = QUANTIZE; op < OPERATIONS; op++) {
      static const mxg_layout_options slot = {
          MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
      arguments a;
      arguments_valid(&a, op);
      ck_assert_int_eq(mxg_layout_for(&a.recipe, SIZE_MAX, 0, NULL, &a.packed.layout), MXG_OK);
      ck_assert_int_eq(mxg_layout_for(&a.recipe, 1, 0, &slot, &a.layout), MXG_OK);
      a.matrix.rows = SIZE_MAX;
      a.matrix.cols = a.col_end = a.top_k = 0;
      a.row_weight = NULL;
      ck_assert_int_eq(arguments_call(&impls[i], op, &a), MXG_OK);
    }
  }
}
END_TEST

/* scale=none has no scales to count. Found by fuzzing: the golden model took such a layout. */
START_TEST(test_scales_of_no_bytes) {
  const mxg_recipe recipe = recipe_of("mori-fp8-direct");
  for (int i = 0; i < IMPLS; i++) {
    mxg_layout layout;
    ck_assert_int_eq(impls[i].layout_for(&recipe, 4, 3, NULL, &layout), MXG_OK);
    ck_assert_int_eq(impls[i].scales_reorder(&layout, NULL, 0, &layout, NULL, 0, 4), MXG_OK);
    mxg_layout counted = layout;
    counted.scale_count = 1;
    ck_assert_int_eq(impls[i].scales_reorder(&counted, NULL, 0, &counted, NULL, 0, 4),
                     MXG_ERR_LAYOUT);
    ck_assert_int_eq(impls[i].scales_reorder(&counted, NULL, 0, &layout, NULL, 0, 4),
                     MXG_ERR_LAYOUT);
    ck_assert_int_eq(impls[i].scales_reorder(&layout, NULL, 0, &counted, NULL, 0, 4),
                     MXG_ERR_LAYOUT);
  }
}
END_TEST

CHECK_MAIN("calls about nothing", test_null_allowed, test_strides_of_nothing,
           test_sizes_without_columns, test_rows_of_nothing, test_scales_of_no_bytes)
