/* test_layout.c: sizes and offsets of the wire (docs/LAYOUT.md), by codec and ref.
 * SPDX-License-Identifier: MIT */
#include "check_main.h"
#include "count.h"
#include "generator.h"
#include "layouts.h"
#include "recipes.h"

/* ---- the tables of sizes ---- */

START_TEST(test_sizes_of_a_row) {
  static const struct {
    const char *recipe;
    size_t cols, payload, scales, slot;
  } rows[] = {{"aiter-fp8-128", 7168, 7168, 224, 7392},
              {"sglang-fp8-128", 7168, 7168, 224, 7392},
              {"mxfp8", 7168, 7168, 224, 7392},
              {"aiter-mxfp8", 7168, 7168, 224, 7392},
              {"mxfp4", 7168, 3584, 224, 3808},
              {"aiter-mxfp4", 7168, 3584, 224, 3808},
              {"mori-fp8", 7168, 7168, 224, 7392},
              {"mori-fp8,block=256", 7168, 7168, 112, 7280},
              {"mori-fp4", 7168, 3584, 224, 3808},
              {"mori-fp4-256", 7168, 3584, 112, 3696},
              {"megamoe-fp8-32", 7168, 7168, 224, 7392},
              {"mori-fp8-direct", 7168, 7168, 0, 7168},
              {"mori-fp8,block=74", 4096, 4096, 224, 4320},
              {"mori-fp4,block=74", 4096, 2048, 224, 2272},
              {"mori-fp8,block=28", 1536, 1536, 220, 1756},
              {"mxfp6-e2m3", 7168, 5376, 224, 5600},
              /* odd counts: the row ends on a whole byte */
              {"mxfp4", 1, 1, 1, 2},
              {"mxfp4", 7, 4, 1, 5},
              {"mxfp4", 33, 17, 2, 19},
              {"mxfp6-e3m2", 1, 1, 1, 2},
              {"mxfp6-e3m2", 2, 2, 1, 3},
              {"mxfp6-e3m2", 3, 3, 1, 4},
              {"mxfp6-e3m2", 4, 3, 1, 4},
              {"mxfp6-e3m2", 5, 4, 1, 5},
              {"mxfp6-e3m2", 33, 25, 2, 27},
              {"mxfp8", 33, 33, 2, 35},
              {"mori-fp8", 160, 160, 8, 168}, /* a short last block */
              {"mori-fp8", 0, 0, 0, 0},
              {"mxfp8,block=4294967295", 1, 1, 1, 2}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    const mxg_recipe recipe = recipe_of(rows[i].recipe);
    const mxg_layout l = layout_of(&recipe, 3, rows[i].cols, NULL);
    ck_assert_msg(l.payload_row_bytes == rows[i].payload && l.scale_row_bytes == rows[i].scales &&
                      l.slot_bytes == rows[i].slot,
                  "%s at %zu: payload %zu, scales %zu, slot %zu", rows[i].recipe, rows[i].cols,
                  l.payload_row_bytes, l.scale_row_bytes, l.slot_bytes);
    ck_assert(l.codes_bytes == 3 * rows[i].payload && l.scales_bytes == 3 * rows[i].scales);
    ck_assert(l.payload_stride_bytes == rows[i].payload && l.scale_stride_bytes == rows[i].scales);
    ck_assert(l.scale_offset_bytes == 0 && l.weight_offset_bytes == 0 && l.slot_stride_bytes == 0);
    size_t bytes = 0;
    ck_assert(mxg_payload_row_bytes(recipe.element, rows[i].cols, &bytes) == MXG_OK);
    ck_assert_uint_eq(bytes, rows[i].payload);
    ck_assert(mxg_slot_bytes(&recipe, rows[i].cols, l.scale_count, 0, &bytes) == MXG_OK);
    ck_assert_uint_eq(bytes, rows[i].slot);
    ck_assert_uint_eq(mxg_scales_used(&recipe, rows[i].cols), l.scales_used);
  }
  ck_assert_uint_eq(mxg_dtype_bytes(MXG_DTYPE_BF16) * 7168, 14336);
  ck_assert_uint_eq(mxg_dtype_bytes(MXG_DTYPE_F16), 2);
  ck_assert_uint_eq(mxg_dtype_bytes(MXG_DTYPE_F32), 4);
  ck_assert_uint_eq(mxg_dtype_bytes((mxg_dtype)0), 0);
  size_t untouched = 77;
  ck_assert(mxg_payload_row_bytes((mxg_element)8, 8, &untouched) != MXG_OK && untouched == 77);
}
END_TEST

START_TEST(test_slots) {
  static const struct {
    const char *recipe;
    size_t cols;
    uint32_t weights;
    size_t scale_offset, weight_offset, bytes;
  } slots[] = {{"mori-fp8", 7168, 0, 7168, 7392, 7392},
               {"mori-fp8", 7168, 8, 7168, 7392, 7424},
               {"mori-fp8", 7168, 9, 7168, 7392, 7428},
               {"mori-fp4", 7168, 8, 3584, 3808, 3840},
               {"mori-fp4", 7168, 9, 3584, 3808, 3844},
               {"megamoe-fp8-32", 7168, 0, 7168, 7392, 7392},
               {"mxfp4", 33, 3, 17, 19, 31}, /* unaligned scales and weights */
               {"mori-fp8-direct", 5, 1, 5, 5, 9},
               {"mxfp8", 0, 2, 0, 0, 8}};
  for (size_t i = 0; i < COUNT(slots); i++)
    for (size_t more = 0; more < 3; more++) {
      const mxg_recipe recipe = recipe_of(slots[i].recipe);
      mxg_layout_options o = options_none();
      o.placement = MXG_PLACEMENT_SLOT;
      o.slot_weights = slots[i].weights;
      o.slot_stride_bytes = more == 0 ? 0 : slots[i].bytes + 100 * (more - 1);
      const size_t stride = more == 0 ? slots[i].bytes : o.slot_stride_bytes;
      const mxg_layout l = layout_of(&recipe, 5, slots[i].cols, &o);
      ck_assert_msg(l.scale_offset_bytes == slots[i].scale_offset &&
                        l.weight_offset_bytes == slots[i].weight_offset &&
                        l.slot_bytes == slots[i].bytes,
                    "%s at %zu with %u weights: offsets %zu and %zu, slot %zu", slots[i].recipe,
                    slots[i].cols, (unsigned)slots[i].weights, l.scale_offset_bytes,
                    l.weight_offset_bytes, l.slot_bytes);
      ck_assert_uint_eq(l.slot_stride_bytes, stride);
      ck_assert_uint_eq(l.codes_bytes, 4 * stride + slots[i].bytes);
      ck_assert(l.scales_bytes == 0 && l.payload_stride_bytes == 0 && l.scale_stride_bytes == 0);
      ck_assert(l.placement == MXG_PLACEMENT_SLOT && l.slot_weights == slots[i].weights);
    }
}
END_TEST

/* hidden 1536 in blocks of ceil(1536 / 56) = 28: 55 scales used, 56 stored; 4096 in blocks of 74 */
START_TEST(test_scale_count) {
  mxg_recipe recipe = recipe_of("mori-fp8,block=28");
  mxg_layout_options o = options_none();
  o.placement = MXG_PLACEMENT_SLOT;
  o.scale_count = 56;
  mxg_layout l = layout_of(&recipe, 2, 1536, &o);
  ck_assert(l.scales_used == 55 && l.scale_count == 56 && l.scale_row_bytes == 224);
  ck_assert(l.slot_bytes == 1760 && l.weight_offset_bytes == 1760);
  recipe = recipe_of("mori-fp8,block=74");
  l = layout_of(&recipe, 2, 4096, &o);
  ck_assert(l.scales_used == 56 && l.scale_count == 56 && l.slot_bytes == 4320);
  recipe = recipe_of("mxfp8");
  o = options_in_order(MXG_ORDER_BLOCKED_128X4);
  o.scale_count = 6;
  l = layout_of(&recipe, 129, 64, &o);
  ck_assert(l.scales_used == 2 && l.scale_count == 6 && l.scales_bytes == 256 * 8);
  o.scale_count = 1;
  expect_layout_status(MXG_ERR_LAYOUT, &recipe, 129, 64, &o, "fewer scales than are used");
}
END_TEST

START_TEST(test_strides) {
  const mxg_recipe recipe = recipe_of("mori-fp8");
  mxg_layout_options o = options_none();
  o.payload_stride_bytes = 1000;
  o.scale_stride_bytes = 77; /* of any alignment */
  const mxg_layout l = layout_of(&recipe, 10, 999, &o);
  ck_assert(l.payload_stride_bytes == 1000 && l.scale_stride_bytes == 77);
  ck_assert(l.codes_bytes == 9 * 1000 + 999 && l.scales_bytes == 9 * 77 + 32);
}
END_TEST

/* ---- empty shapes, padded rows ---- */

START_TEST(test_EmptyShape_sizes) {
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
    const mxg_recipe *recipe = &mxg_preset_at(i)->recipe;
    const int orders = recipe->scale == MXG_SCALE_E8M0 ? ORDERS : 2;
    for (int order = 0; order < orders; order++) {
      const mxg_layout_options o = options_in_order(order);
      mxg_layout l = layout_of(recipe, 0, 7168, &o); /* (0, H) and (0, H/block) */
      ck_assert(l.codes_bytes == 0 && l.scales_bytes == 0);
      ck_assert(l.rows == 0 && l.cols == 7168 && l.payload_row_bytes != 0);
      l = layout_of(recipe, 24576, 0, &o);
      ck_assert(l.codes_bytes == 0 && l.scales_bytes == 0 && l.scale_count == 0);
      l = layout_of(recipe, 0, 0, &o);
      ck_assert(l.codes_bytes == 0 && l.scales_bytes == 0 && l.slot_bytes == 0);
    }
    mxg_layout_options o = options_none();
    o.placement = MXG_PLACEMENT_SLOT;
    mxg_layout l = layout_of(recipe, 0, 7168, &o);
    ck_assert(l.codes_bytes == 0 && l.slot_bytes != 0);
    /* rows of no bytes need none, at any stride */
    o.slot_stride_bytes = 512;
    l = layout_of(recipe, 100, 0, &o);
    ck_assert(l.codes_bytes == 0 && l.slot_stride_bytes == 512);
    o = options_none();
    o.payload_stride_bytes = 512;
    o.scale_stride_bytes = 16;
    l = layout_of(recipe, 100, 0, &o);
    ck_assert(l.codes_bytes == 0 && l.scales_bytes == 0);
  }
  mxg_recipe none = recipe_of("mori-fp8-direct");
  mxg_layout_options o = options_none();
  o.scale_stride_bytes = 16; /* no scales, so no bytes of them */
  ck_assert_uint_eq(layout_of(&none, 100, 7168, &o).scales_bytes, 0);
}
END_TEST

START_TEST(test_padded_rows) {
  const mxg_recipe mxfp4 = recipe_of("mxfp4"), fp8 = recipe_of("aiter-fp8-128");
  mxg_layout_options o = options_none();
  mxg_layout l = layout_of(&mxfp4, 3072 * 8, 7168, &o);
  ck_assert(l.rows == 24576 && l.codes_bytes == (size_t)24576 * 3584);
  ck_assert(l.scales_bytes == (size_t)24576 * 224);
  l = layout_of(&fp8, 24576, 7168, &o);
  ck_assert(l.codes_bytes == (size_t)24576 * 7168 && l.scales_bytes == (size_t)24576 * 224);
  /* ceil256(rows) * ceil8(N), 512 * ceil(rows/128) * ceil(N/4) */
  static const struct {
    int order;
    size_t rows, cols, scales_bytes;
  } padded[] = {{2, 24576, 7168, (size_t)24576 * 224},
                {3, 24576, 7168, (size_t)24576 * 224},
                {2, 1, 32, 256 * 8},
                {3, 1, 32, 512},
                {2, 127, 32 * 4, 2048},
                {3, 127, 32 * 4, 512},
                {2, 128, 32 * 4, 2048},
                {3, 128, 32 * 4, 512},
                {2, 129, 32 * 4, 2048},
                {3, 129, 32 * 4, 1024},
                {2, 256, 32 * 9, 4096},
                {3, 256, 32 * 9, 512 * 2 * 3},
                {2, 257, 32 * 8, 4096},
                {3, 257, 32 * 8, 512 * 3 * 2},
                {2, 112, 32 * 12, 4096},
                {3, 112, 32 * 12, 512 * 3},
                {2, 112, 32 * 20, 6144},
                {3, 112, 32 * 20, 512 * 5},
                {2, 112, 32 * 6, 2048},
                {3, 112, 32 * 6, 512 * 2}};
  for (size_t i = 0; i < COUNT(padded); i++) {
    o = options_in_order(padded[i].order);
    l = layout_of(&mxfp4, padded[i].rows, padded[i].cols, &o);
    ck_assert_msg(l.scales_bytes == padded[i].scales_bytes, "%s, %zu x %zu: %zu scale bytes",
                  order_names[padded[i].order], padded[i].rows, padded[i].cols, l.scales_bytes);
    ck_assert(l.scale_stride_bytes == 0);
  }
}
END_TEST

/* ---- sizes that do not fit ---- */

START_TEST(test_Offset64) {
  const size_t max = SIZE_MAX;
  size_t out = 77;
  /* the checked arithmetic, at its edges */
  ck_assert(mxg_size_mul(max, 1, &out) == MXG_OK && out == max);
  ck_assert(mxg_size_mul(0, max, &out) == MXG_OK && out == 0);
  ck_assert(mxg_size_mul(max / 2, 2, &out) == MXG_OK && out == max - 1);
  ck_assert(mxg_size_add(max, 0, &out) == MXG_OK && out == max);
  ck_assert(mxg_size_round_up(max, 1, &out) == MXG_OK && out == max);
  ck_assert(mxg_size_round_up(max - 255, 256, &out) == MXG_OK && out == max - 255);
  ck_assert(mxg_size_round_up(0, 256, &out) == MXG_OK && out == 0);
  ck_assert(mxg_size_ceil_div(max, 2) == max / 2 + 1 && mxg_size_ceil_div(max, max) == 1);
  out = 77;
  ck_assert(mxg_size_mul(max / 2 + 1, 2, &out) == MXG_ERR_SIZE);
  ck_assert(mxg_size_mul(2, max / 2 + 1, &out) == MXG_ERR_SIZE);
  ck_assert(mxg_size_mul(max, max, &out) == MXG_ERR_SIZE);
  ck_assert(mxg_size_add(max, 1, &out) == MXG_ERR_SIZE);
  ck_assert(mxg_size_add(1, max, &out) == MXG_ERR_SIZE);
  ck_assert(mxg_size_round_up(max - 254, 256, &out) == MXG_ERR_SIZE);
  ck_assert(mxg_strided_bytes(max, 1, 2, &out) == MXG_ERR_SIZE);
  ck_assert(mxg_strided_bytes(2, max, 1, &out) == MXG_ERR_SIZE);
  ck_assert(mxg_scale_matrix_count(MXG_ORDER_AITER_SHUFFLE, max, 1, &out) == MXG_ERR_SIZE);
  ck_assert(mxg_scale_matrix_count(MXG_ORDER_BLOCKED_128X4, 1, max, &out) == MXG_ERR_SIZE);
  ck_assert(mxg_scale_matrix_count(MXG_ORDER_TRANSPOSED, max / 2, 3, &out) == MXG_ERR_SIZE);
  ck_assert(out == 77);
  ck_assert(mxg_strided_bytes(0, max, max, &out) == MXG_OK && out == 0);
  ck_assert(mxg_strided_bytes(1, max, 5, &out) == MXG_OK && out == max);
  /* bits * cols does not fit, the bytes do */
  ck_assert(mxg_payload_row_bytes(MXG_ELEMENT_E4M3FN, max, &out) == MXG_OK && out == max);
  ck_assert(mxg_payload_row_bytes(MXG_ELEMENT_E2M1, max, &out) == MXG_OK && out == max / 2 + 1);
  ck_assert(mxg_payload_row_bytes(MXG_ELEMENT_E3M2, max, &out) == MXG_OK && out == max / 8 * 6 + 6);

  const mxg_recipe mxfp8 = recipe_of("mxfp8"), mxfp4 = recipe_of("mxfp4"),
                   fp8 = recipe_of("mori-fp8"), one = recipe_of("mori-fp8,block=1"),
                   none = recipe_of("mori-fp8-direct");
  mxg_layout_options o = options_none();
  mxg_layout l;
  expect_layout_status(MXG_ERR_SIZE, &mxfp8, max, 2, NULL, "rows of FP8");
  expect_layout_status(MXG_ERR_SIZE, &mxfp8, max / 2, 3, NULL, "rows of FP8");
  expect_layout_status(MXG_ERR_SIZE, &mxfp8, 1, max, NULL, "a slot"); /* payload + scales */
  expect_layout_status(MXG_ERR_SIZE, &mxfp4, 3, max, NULL, "three rows of half the memory");
  expect_layout_status(MXG_ERR_SIZE, &one, 1, max / 4 + 1, NULL, "f32 scales of a row");
  expect_layout_status(MXG_ERR_SIZE, &one, 1, max / 5 + 1, NULL, "payload and scales of a row");
  expect_layout_status(MXG_ERR_SIZE, &one, 2, max / 5 - 1, NULL, "f32 scales of two rows");
  expect_layout_status(MXG_OK, &none, 1, max, NULL, "one row of all memory");
  expect_layout_status(MXG_OK, &none, max, 1, NULL, "one column of all memory");
  expect_layout_status(MXG_OK, &mxfp8, 0, max / 2, NULL, "no rows");
  expect_layout_status(MXG_OK, &mxfp4, 1, max, NULL, "one row of FP4");
  expect_layout_status(MXG_OK, &mxfp8, max, 0, NULL, "no columns");
  o.scale_count = max / 4 + 1;
  expect_layout_status(MXG_ERR_SIZE, &fp8, 0, 1, &o, "stored f32 scales");
  o.scale_count = max;
  expect_layout_status(MXG_ERR_SIZE, &mxfp8, 0, 1, &o, "payload and stored scales");
  o.scale_count = max - 1;
  expect_layout_status(MXG_OK, &mxfp8, 0, 1, &o, "payload and stored scales");
  expect_layout_status(MXG_ERR_SIZE, &mxfp8, 2, 1, &o, "stored scales of two rows");
  o = options_none();
  o.payload_stride_bytes = max / 2;
  expect_layout_status(MXG_OK, &none, 3, 1, &o, "a wide payload stride");
  expect_layout_status(MXG_ERR_SIZE, &none, 4, 1, &o, "a wide payload stride");
  expect_layout_status(MXG_ERR_SIZE, &none, 3, 2, &o, "a wide payload stride"); /* max - 1 + 2 */
  o = options_none();
  o.scale_stride_bytes = max;
  expect_layout_status(MXG_OK, &mxfp8, 1, 1, &o, "a wide scale stride");
  expect_layout_status(MXG_ERR_SIZE, &mxfp8, 2, 1, &o, "a wide scale stride");
  o = options_none();
  o.placement = MXG_PLACEMENT_SLOT;
  o.slot_stride_bytes = max;
  expect_layout_status(MXG_OK, &mxfp8, 1, 1, &o, "a wide slot stride");
  expect_layout_status(MXG_ERR_SIZE, &mxfp8, 2, 1, &o, "a wide slot stride");
  o.slot_stride_bytes = 0;
  o.slot_weights = UINT32_MAX;
  expect_layout_status(MXG_ERR_SIZE, &mxfp8, max / 4, 1, &o, "slots of many weights");
  expect_layout_status(sizeof(size_t) == 4 ? MXG_ERR_SIZE : MXG_OK, &mxfp8, 1, 1, &o,
                       "a slot of 16 GiB of weights");
  for (int order = MXG_ORDER_TRANSPOSED; order < ORDERS; order++) {
    o = options_in_order(order);
    expect_layout_status(MXG_ERR_SIZE, &mxfp8, max, 2, &o, order_names[order]);
    expect_layout_status(order == MXG_ORDER_TRANSPOSED ? MXG_OK : MXG_ERR_SIZE, &mxfp8, max, 1, &o,
                         order_names[order]);
    o.scale_count = max - 1;
    expect_layout_status(order == MXG_ORDER_TRANSPOSED ? MXG_OK : MXG_ERR_SIZE, &mxfp8, 1, 1, &o,
                         order_names[order]);
  }

#if SIZE_MAX > UINT32_MAX
  /* over 2^31 and 2^32 elements: offsets do not wrap at 32 bits */
  l = layout_of(&mxfp8, 1u << 20, 7168, NULL);
  ck_assert(l.codes_bytes == (uint64_t)7168 << 20 && l.scales_bytes == (uint64_t)224 << 20);
  l = layout_of(&mxfp4, 3000000, 7168, NULL);
  ck_assert(l.codes_bytes == (uint64_t)3000000 * 3584);
  for (int order = MXG_ORDER_AITER_SHUFFLE; order < ORDERS; order++) {
    o = options_in_order(order);
    l = layout_of(&mxfp8, 1u << 26, 32 * 224, &o); /* 2^26 rows of 224 scales */
    ck_assert(l.scales_bytes == (uint64_t)224 << 26);
    ck_assert(mxg_scale_index(l.order, l.rows, 224, l.rows - 1, 223) == l.scales_bytes - 1);
  }
  ck_assert(mxg_scale_index(MXG_ORDER_TRANSPOSED, 1u << 26, 224, 5, 223) ==
            ((uint64_t)223 << 26) + 5);
  ck_assert(mxg_scale_index(MXG_ORDER_ROW_MAJOR, 1u << 26, 224, 1u << 25, 3) ==
            ((uint64_t)224 << 25) + 3);
#else
  /* over 2^32 bytes: refused, and 2^31 to 2^32 are not */
  expect_layout_status(MXG_ERR_SIZE, &mxfp8, 1u << 20, 7168, NULL, "7 GiB of payload");
  l = layout_of(&mxfp4, 1u << 20, 3584, NULL);
  ck_assert(l.codes_bytes == (size_t)1792 << 20 && l.scales_bytes == (size_t)112 << 20);
  l = layout_of(&mxfp8, 1u << 20, 3584, NULL);
  ck_assert(l.codes_bytes == (size_t)3584 << 20);
#endif
}
END_TEST

START_TEST(test_layout_random) {
  generator g = generator_start("layout_random");
  for (int i = 0; i < 20000; i++) {
    const mxg_recipe recipe = recipe_random(&g);
    const size_t rows = generator_below(&g, 600), cols = generator_below(&g, 3000);
    const mxg_layout_options o = options_random(&g, &recipe, cols);
    const mxg_layout l = layout_of(&recipe, rows, cols, &o);
    ck_assert(l.scale_count >= l.scales_used && l.reserved == 0);
    ck_assert(recipe.block == 0 || (l.scales_used * recipe.block >= cols &&
                                    (cols == 0 || (l.scales_used - 1) * recipe.block < cols)));
  }
}
END_TEST

CHECK_MAIN("layout", test_sizes_of_a_row, test_slots, test_scale_count, test_strides,
           test_EmptyShape_sizes, test_padded_rows, test_Offset64, test_layout_random)
