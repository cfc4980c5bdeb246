/* test_layout.c: sizes, offsets and orders of the wire (docs/LAYOUT.md), by codec and ref.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "generator.h"
#include "guard.h"
#include "impl.h"
#include "mxgold.h"
#include "recipes.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ORDERS = 4 };
static const char *const order_names[ORDERS] = {"row_major", "transposed", "aiter_shuffle",
                                                "blocked_128x4"};

static mxg_layout_options no_options(void) {
  mxg_layout_options o;
  memset(&o, 0, sizeof o);
  return o;
}

static mxg_layout_options in_order(int order) {
  mxg_layout_options o = no_options();
  o.order = (mxg_scale_order)order;
  return o;
}

/* The layout, equal by codec and ref. A layout has no padding: equal fields are equal bytes. */
static mxg_layout layout_of(const mxg_recipe *recipe, size_t rows, size_t cols,
                            const mxg_layout_options *options) {
  mxg_layout layouts[IMPLS];
  memset(layouts, 0xA5, sizeof layouts);
  for (int i = 0; i < IMPLS; i++) {
    const mxg_status status = impls[i].layout_for(recipe, rows, cols, options, &layouts[i]);
    ck_assert_msg(status == MXG_OK, "%s: status %d for %zu x %zu", impls[i].name, (int)status, rows,
                  cols);
  }
  expect_bytes(&layouts[IMPL_CODEC], &layouts[IMPL_REF], sizeof(mxg_layout),
               "layouts of codec and ref, %zu x %zu", rows, cols);
  return layouts[IMPL_CODEC];
}

static void expect_status(mxg_status want, const mxg_recipe *recipe, size_t rows, size_t cols,
                          const mxg_layout_options *options, const char *what) {
  for (int i = 0; i < IMPLS; i++) {
    mxg_layout layout, before;
    memset(&layout, 0xA5, sizeof layout);
    before = layout;
    const mxg_status status = impls[i].layout_for(recipe, rows, cols, options, &layout);
    ck_assert_msg(status == want, "%s, %s: status %d, not %d", impls[i].name, what, (int)status,
                  (int)want);
    if (want != MXG_OK)
      expect_bytes(&layout, &before, sizeof layout, "%s, %s: out was written", impls[i].name, what);
  }
}

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
      mxg_layout_options o = no_options();
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
  mxg_layout_options o = no_options();
  o.placement = MXG_PLACEMENT_SLOT;
  o.scale_count = 56;
  mxg_layout l = layout_of(&recipe, 2, 1536, &o);
  ck_assert(l.scales_used == 55 && l.scale_count == 56 && l.scale_row_bytes == 224);
  ck_assert(l.slot_bytes == 1760 && l.weight_offset_bytes == 1760);
  recipe = recipe_of("mori-fp8,block=74");
  l = layout_of(&recipe, 2, 4096, &o);
  ck_assert(l.scales_used == 56 && l.scale_count == 56 && l.slot_bytes == 4320);
  recipe = recipe_of("mxfp8");
  o = in_order(MXG_ORDER_BLOCKED_128X4);
  o.scale_count = 6;
  l = layout_of(&recipe, 129, 64, &o);
  ck_assert(l.scales_used == 2 && l.scale_count == 6 && l.scales_bytes == 256 * 8);
  o.scale_count = 1;
  expect_status(MXG_ERR_LAYOUT, &recipe, 129, 64, &o, "fewer scales than are used");
}
END_TEST

START_TEST(test_strides) {
  const mxg_recipe recipe = recipe_of("mori-fp8");
  mxg_layout_options o = no_options();
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
      const mxg_layout_options o = in_order(order);
      mxg_layout l = layout_of(recipe, 0, 7168, &o); /* (0, H) and (0, H/block) */
      ck_assert(l.codes_bytes == 0 && l.scales_bytes == 0);
      ck_assert(l.rows == 0 && l.cols == 7168 && l.payload_row_bytes != 0);
      l = layout_of(recipe, 24576, 0, &o);
      ck_assert(l.codes_bytes == 0 && l.scales_bytes == 0 && l.scale_count == 0);
      l = layout_of(recipe, 0, 0, &o);
      ck_assert(l.codes_bytes == 0 && l.scales_bytes == 0 && l.slot_bytes == 0);
    }
    mxg_layout_options o = no_options();
    o.placement = MXG_PLACEMENT_SLOT;
    mxg_layout l = layout_of(recipe, 0, 7168, &o);
    ck_assert(l.codes_bytes == 0 && l.slot_bytes != 0);
    /* rows of no bytes need none, at any stride */
    o.slot_stride_bytes = 512;
    l = layout_of(recipe, 100, 0, &o);
    ck_assert(l.codes_bytes == 0 && l.slot_stride_bytes == 512);
    o = no_options();
    o.payload_stride_bytes = 512;
    o.scale_stride_bytes = 16;
    l = layout_of(recipe, 100, 0, &o);
    ck_assert(l.codes_bytes == 0 && l.scales_bytes == 0);
  }
  mxg_recipe none = recipe_of("mori-fp8-direct");
  mxg_layout_options o = no_options();
  o.scale_stride_bytes = 16; /* no scales, so no bytes of them */
  ck_assert_uint_eq(layout_of(&none, 100, 7168, &o).scales_bytes, 0);
}
END_TEST

START_TEST(test_padded_rows) {
  const mxg_recipe mxfp4 = recipe_of("mxfp4"), fp8 = recipe_of("aiter-fp8-128");
  mxg_layout_options o = no_options();
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
    o = in_order(padded[i].order);
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
  mxg_layout_options o = no_options();
  mxg_layout l;
  expect_status(MXG_ERR_SIZE, &mxfp8, max, 2, NULL, "rows of FP8");
  expect_status(MXG_ERR_SIZE, &mxfp8, max / 2, 3, NULL, "rows of FP8");
  expect_status(MXG_ERR_SIZE, &mxfp8, 1, max, NULL, "a slot"); /* payload + scales */
  expect_status(MXG_ERR_SIZE, &mxfp4, 3, max, NULL, "three rows of half the memory");
  expect_status(MXG_ERR_SIZE, &one, 1, max / 4 + 1, NULL, "f32 scales of a row");
  expect_status(MXG_ERR_SIZE, &one, 1, max / 5 + 1, NULL, "payload and scales of a row");
  expect_status(MXG_ERR_SIZE, &one, 2, max / 5 - 1, NULL, "f32 scales of two rows");
  expect_status(MXG_OK, &none, 1, max, NULL, "one row of all memory");
  expect_status(MXG_OK, &none, max, 1, NULL, "one column of all memory");
  expect_status(MXG_OK, &mxfp8, 0, max / 2, NULL, "no rows");
  expect_status(MXG_OK, &mxfp4, 1, max, NULL, "one row of FP4");
  expect_status(MXG_OK, &mxfp8, max, 0, NULL, "no columns");
  o.scale_count = max / 4 + 1;
  expect_status(MXG_ERR_SIZE, &fp8, 0, 1, &o, "stored f32 scales");
  o.scale_count = max;
  expect_status(MXG_ERR_SIZE, &mxfp8, 0, 1, &o, "payload and stored scales");
  o.scale_count = max - 1;
  expect_status(MXG_OK, &mxfp8, 0, 1, &o, "payload and stored scales");
  expect_status(MXG_ERR_SIZE, &mxfp8, 2, 1, &o, "stored scales of two rows");
  o = no_options();
  o.payload_stride_bytes = max / 2;
  expect_status(MXG_OK, &none, 3, 1, &o, "a wide payload stride");
  expect_status(MXG_ERR_SIZE, &none, 4, 1, &o, "a wide payload stride");
  expect_status(MXG_ERR_SIZE, &none, 3, 2, &o, "a wide payload stride"); /* max - 1 + 2 */
  o = no_options();
  o.scale_stride_bytes = max;
  expect_status(MXG_OK, &mxfp8, 1, 1, &o, "a wide scale stride");
  expect_status(MXG_ERR_SIZE, &mxfp8, 2, 1, &o, "a wide scale stride");
  o = no_options();
  o.placement = MXG_PLACEMENT_SLOT;
  o.slot_stride_bytes = max;
  expect_status(MXG_OK, &mxfp8, 1, 1, &o, "a wide slot stride");
  expect_status(MXG_ERR_SIZE, &mxfp8, 2, 1, &o, "a wide slot stride");
  o.slot_stride_bytes = 0;
  o.slot_weights = UINT32_MAX;
  expect_status(MXG_ERR_SIZE, &mxfp8, max / 4, 1, &o, "slots of many weights");
  expect_status(sizeof(size_t) == 4 ? MXG_ERR_SIZE : MXG_OK, &mxfp8, 1, 1, &o,
                "a slot of 16 GiB of weights");
  for (int order = MXG_ORDER_TRANSPOSED; order < ORDERS; order++) {
    o = in_order(order);
    expect_status(MXG_ERR_SIZE, &mxfp8, max, 2, &o, order_names[order]);
    expect_status(order == MXG_ORDER_TRANSPOSED ? MXG_OK : MXG_ERR_SIZE, &mxfp8, max, 1, &o,
                  order_names[order]);
    o.scale_count = max - 1;
    expect_status(order == MXG_ORDER_TRANSPOSED ? MXG_OK : MXG_ERR_SIZE, &mxfp8, 1, 1, &o,
                  order_names[order]);
  }

#if SIZE_MAX > UINT32_MAX
  /* over 2^31 and 2^32 elements: offsets do not wrap at 32 bits */
  l = layout_of(&mxfp8, 1u << 20, 7168, NULL);
  ck_assert(l.codes_bytes == (uint64_t)7168 << 20 && l.scales_bytes == (uint64_t)224 << 20);
  l = layout_of(&mxfp4, 3000000, 7168, NULL);
  ck_assert(l.codes_bytes == (uint64_t)3000000 * 3584);
  for (int order = MXG_ORDER_AITER_SHUFFLE; order < ORDERS; order++) {
    o = in_order(order);
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
  expect_status(MXG_ERR_SIZE, &mxfp8, 1u << 20, 7168, NULL, "7 GiB of payload");
  l = layout_of(&mxfp4, 1u << 20, 3584, NULL);
  ck_assert(l.codes_bytes == (size_t)1792 << 20 && l.scales_bytes == (size_t)112 << 20);
  l = layout_of(&mxfp8, 1u << 20, 3584, NULL);
  ck_assert(l.codes_bytes == (size_t)3584 << 20);
#endif
}
END_TEST

/* ---- options that do not fit ---- */

START_TEST(test_options_refused) {
  const mxg_recipe e8m0 = recipe_of("mxfp8"), f32 = recipe_of("mori-fp8"),
                   none = recipe_of("mori-fp8-direct");
  mxg_layout l;
  for (int i = 0; i < IMPLS; i++) {
    ck_assert(impls[i].layout_for(NULL, 1, 1, NULL, &l) == MXG_ERR_NULL);
    ck_assert(impls[i].layout_for(&e8m0, 1, 1, NULL, NULL) == MXG_ERR_NULL);
  }
  mxg_recipe bad = e8m0;
  bad.block = 0;
  expect_status(MXG_ERR_RECIPE, &bad, 1, 1, NULL, "block 0");
  bad = e8m0;
  bad.reserved[2] = 1;
  expect_status(MXG_ERR_RESERVED, &bad, 1, 1, NULL, "a reserved word of the recipe");
  for (size_t word = 0; word < 4; word++) {
    mxg_layout_options o = no_options();
    o.reserved[word] = 1;
    expect_status(MXG_ERR_RESERVED, &e8m0, 1, 1, &o, "a reserved word of the options");
  }

#define REFUSED(recipe, ...)                                                   \
  do {                                                                         \
    mxg_layout_options refused = no_options();                                 \
    __VA_ARGS__;                                                               \
    expect_status(MXG_ERR_LAYOUT, &(recipe), 10, 100, &refused, #__VA_ARGS__); \
  } while (0)
  REFUSED(e8m0, refused.placement = (mxg_placement)2);
  REFUSED(e8m0, refused.order = (mxg_scale_order)4);
  REFUSED(e8m0, refused.pad_byte = 0x100);
  REFUSED(e8m0, refused.slot_weights = 1);
  REFUSED(e8m0, refused.slot_stride_bytes = 1000);
  REFUSED(e8m0, refused.scale_count = 3);
  REFUSED(none, refused.scale_count = 1);
  REFUSED(e8m0, refused.payload_stride_bytes = 99);
  REFUSED(e8m0, refused.scale_stride_bytes = 3);
  REFUSED(f32, refused.scale_stride_bytes = 3);
  for (int order = 1; order < ORDERS; order++)
    REFUSED(e8m0, refused.order = (mxg_scale_order)order; refused.scale_stride_bytes = 100);
  for (int order = MXG_ORDER_AITER_SHUFFLE; order < ORDERS; order++) {
    REFUSED(f32, refused.order = (mxg_scale_order)order);
    REFUSED(none, refused.order = (mxg_scale_order)order);
  }
  for (int order = 1; order < ORDERS; order++)
    REFUSED(e8m0, refused.placement = MXG_PLACEMENT_SLOT; refused.order = (mxg_scale_order)order);
  REFUSED(e8m0, refused.placement = MXG_PLACEMENT_SLOT; refused.pad_byte = 1);
  REFUSED(e8m0, refused.placement = MXG_PLACEMENT_SLOT; refused.payload_stride_bytes = 100);
  REFUSED(e8m0, refused.placement = MXG_PLACEMENT_SLOT; refused.scale_stride_bytes = 4);
  REFUSED(e8m0, refused.placement = MXG_PLACEMENT_SLOT; refused.slot_stride_bytes = 103);
  REFUSED(e8m0, refused.placement = MXG_PLACEMENT_SLOT; refused.slot_weights = 1;
          refused.slot_stride_bytes = 107);
#undef REFUSED

  mxg_layout_options o = no_options();
  o.placement = MXG_PLACEMENT_SLOT;
  o.slot_weights = 1;
  o.slot_stride_bytes = 108;
  expect_status(MXG_OK, &e8m0, 10, 100, &o, "the least slot stride");
  o = in_order(MXG_ORDER_TRANSPOSED);
  expect_status(MXG_OK, &f32, 10, 100, &o, "transposed f32 scales");
  o = in_order(MXG_ORDER_BLOCKED_128X4);
  o.pad_byte = 0xFF;
  expect_status(MXG_OK, &e8m0, 10, 100, &o, "pad FF");
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

/* ---- scale orders ---- */

/* For every index of the padded matrix the (row, column) that lies there, made by reshaping and
 * permuting an explicit array as the kernels' host code does, not by the index formulas. */
typedef struct place {
  size_t row, col;
} place;

static size_t up(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

static place *places(int order, size_t rows, size_t cols, size_t *count) {
  const size_t m = order == MXG_ORDER_AITER_SHUFFLE   ? up(rows, 256)
                   : order == MXG_ORDER_BLOCKED_128X4 ? up(rows, 128)
                                                      : rows;
  const size_t n = order == MXG_ORDER_AITER_SHUFFLE   ? up(cols, 8)
                   : order == MXG_ORDER_BLOCKED_128X4 ? up(cols, 4)
                                                      : cols;
  place *out = malloc((m * n + 1) * sizeof *out);
  size_t at = 0;
  if (out == NULL) ck_abort_msg("no memory");
#define PUT(row_, col_) (out[at].row = (row_), out[at++].col = (col_))
  if (order == MXG_ORDER_ROW_MAJOR)
    for (size_t r = 0; r < m; r++)
      for (size_t c = 0; c < n; c++) PUT(r, c);
  if (order == MXG_ORDER_TRANSPOSED)
    for (size_t c = 0; c < n; c++)
      for (size_t r = 0; r < m; r++) PUT(r, c);
  /* view (m/32, 2, 16, n/8, 2, 4) permuted to (0, 3, 5, 2, 4, 1) */
  if (order == MXG_ORDER_AITER_SHUFFLE)
    for (size_t a = 0; a < m / 32; a++)
      for (size_t d = 0; d < n / 8; d++)
        for (size_t f = 0; f < 4; f++)
          for (size_t c = 0; c < 16; c++)
            for (size_t e = 0; e < 2; e++)
              for (size_t b = 0; b < 2; b++) PUT((a * 2 + b) * 16 + c, (d * 2 + e) * 4 + f);
  /* view (m/128, 4, 32, n/4, 4) permuted to (0, 3, 2, 1, 4) */
  if (order == MXG_ORDER_BLOCKED_128X4)
    for (size_t a = 0; a < m / 128; a++)
      for (size_t d = 0; d < n / 4; d++)
        for (size_t c = 0; c < 32; c++)
          for (size_t b = 0; b < 4; b++)
            for (size_t e = 0; e < 4; e++) PUT((a * 4 + b) * 32 + c, d * 4 + e);
#undef PUT
  ck_assert_uint_eq(at, m * n);
  *count = at;
  return out;
}

static const size_t some_rows[] = {1, 16, 17, 31, 32, 127, 128, 129, 256, 300};
static const size_t some_cols[] = {1, 3, 4, 5, 6, 8, 12, 20};

/* mxg_scale_index takes the places one to one onto 0..count-1 (rows 1, 127, 129; rows 16..31). */
START_TEST(test_Rows_index) {
  for (int order = 0; order < ORDERS; order++)
    for (size_t i = 0; i < COUNT(some_rows); i++)
      for (size_t j = 0; j < COUNT(some_cols); j++) {
        const size_t rows = some_rows[i], cols = some_cols[j];
        size_t count = 0, bytes = 0;
        place *p = places(order, rows, cols, &count);
        ck_assert(mxg_scale_matrix_count((mxg_scale_order)order, rows, cols, &bytes) == MXG_OK);
        ck_assert_uint_eq(bytes, count);
        for (size_t at = 0; at < count; at++) {
          const size_t index =
              mxg_scale_index((mxg_scale_order)order, rows, cols, p[at].row, p[at].col);
          ck_assert_msg(index == at, "%s, %zu x %zu: (%zu, %zu) at %zu, not %zu",
                        order_names[order], rows, cols, p[at].row, p[at].col, index, at);
        }
        free(p);
      }
}
END_TEST

/* The formulas of the wire, evaluated by hand. */
START_TEST(test_Rows_by_hand) {
  static const struct {
    int order;
    size_t rows, cols, row, col, index;
  } known[] = {
      {0, 9, 5, 3, 4, 19},
      {1, 9, 5, 3, 4, 39},
      {2, 64, 8, 0, 1, 64},
      {2, 64, 8, 1, 0, 4},
      {2, 64, 8, 0, 4, 2},
      {2, 64, 8, 16, 0, 1},
      {2, 64, 8, 31, 7, 192 + 60 + 2 + 1},
      {2, 64, 8, 32, 0, 256},
      {2, 64, 12, 32, 0, 512}, /* the padded stride: 16 columns */
      {2, 64, 12, 33, 9, 512 + 256 + 64 + 4},
      {2, 300, 20, 45, 13, 768 + 256 + 64 + 52 + 2},
      {3, 128, 4, 1, 0, 16},
      {3, 128, 4, 0, 1, 1},
      {3, 128, 4, 32, 0, 4},
      {3, 128, 4, 96, 3, 15},
      {3, 128, 6, 0, 4, 512},
      {3, 129, 6, 128, 0, 1024},
      {3, 129, 6, 128, 5, 1024 + 512 + 1},
      {3, 300, 20, 170, 13, (5 + 3) * 512 + 160 + 4 + 1},
  };
  for (size_t i = 0; i < COUNT(known); i++)
    ck_assert_msg(mxg_scale_index((mxg_scale_order)known[i].order, known[i].rows, known[i].cols,
                                  known[i].row, known[i].col) == known[i].index,
                  "%s: (%zu, %zu) of %zu x %zu", order_names[known[i].order], known[i].row,
                  known[i].col, known[i].rows, known[i].cols);
}
END_TEST

/* A scale matrix as a layout with nothing but scales that matter: E8M0 or f32, `cols` of them. */
static mxg_layout matrix_of(const mxg_recipe *recipe, int order, size_t rows, size_t cols,
                            uint32_t pad_byte, size_t stride_bytes) {
  mxg_layout_options o = in_order(order);
  if (order >= MXG_ORDER_AITER_SHUFFLE) o.pad_byte = pad_byte;
  if (order == MXG_ORDER_ROW_MAJOR) o.scale_stride_bytes = stride_bytes;
  return layout_of(recipe, rows, cols * recipe->block, &o);
}

/* Byte offset of the scale in slot `at` of the padded matrix. */
static size_t byte_of(const mxg_layout *l, place p, size_t at) {
  if (l->order == MXG_ORDER_ROW_MAJOR)
    return p.row * l->scale_stride_bytes + p.col * l->scale_bytes;
  return at * l->scale_bytes;
}

/* The byte of a scale that stands for (row, col). */
static uint8_t content(size_t row, size_t col, size_t byte) {
  return (uint8_t)(row * 37 + col * 101 + byte * 59 + row / 16 * 7 + 1);
}

/* Fills what an order keeps of `live` rows into a matrix poisoned with `poison`. */
static void fill_matrix(const mxg_layout *l, size_t live, uint8_t poison, uint8_t *out) {
  const size_t tile = l->order == MXG_ORDER_AITER_SHUFFLE   ? 256
                      : l->order == MXG_ORDER_BLOCKED_128X4 ? 128
                                                            : 1;
  size_t count = 0;
  place *p = places((int)l->order, l->rows, l->scale_count, &count);
  memset(out, poison, l->scales_bytes);
  for (size_t at = 0; at < count; at++)
    for (size_t byte = 0; byte < l->scale_bytes; byte++) {
      uint8_t *const to = out + byte_of(l, p[at], at) + byte;
      if (p[at].row < live && p[at].col < l->scale_count)
        *to = content(p[at].row, p[at].col, byte);
      else if (p[at].row < up(live, tile))
        *to = (uint8_t)l->pad_byte;
    }
  free(p);
}

/* Every order to every other: dead rows and bytes between strides keep the poison, pads get the
 * chosen byte. */
static void reorder_case(const mxg_recipe *recipe, int from, int to, size_t rows, size_t live,
                         size_t cols, uint32_t pad) {
  const size_t dense = cols * mxg_scale_bytes(recipe->scale);
  const mxg_layout in = matrix_of(recipe, from, rows, cols, 0x11, dense + 3);
  const mxg_layout out = matrix_of(recipe, to, rows, cols, pad, dense + 5);
  uint8_t *want = malloc(out.scales_bytes + 1);
  if (want == NULL) ck_abort_msg("no memory");
  fill_matrix(&out, live, 0xFF, want);
  for (int i = 0; i < IMPLS; i++) {
    guard src = guard_new(in.scales_bytes, 3), dst = guard_new(out.scales_bytes, 1);
    fill_matrix(&in, live, 0xEE, src.data);
    guard_read_only(&src);
    memset(dst.data, 0xFF, dst.bytes);
    const mxg_status status =
        impls[i].scales_reorder(&in, src.data, src.bytes, &out, dst.data, dst.bytes, live);
    ck_assert_msg(status == MXG_OK, "%s: status %d", impls[i].name, (int)status);
    expect_bytes(dst.data, want, dst.bytes, "%s: %s to %s, %zu of %zu rows x %zu, %u-byte scales",
                 impls[i].name, order_names[from], order_names[to], live, rows, cols,
                 (unsigned)in.scale_bytes);
    guard_free(&src, "source");
    guard_free(&dst, "target");
  }
  free(want);
}

START_TEST(test_ScalePad_reorder) {
  static const uint32_t pads[] = {0x00, 0x7F, 0xC3};
  const mxg_recipe e8m0 = recipe_of("mxfp4"), f32 = recipe_of("mori-fp8");
  size_t n = 0;
  for (int from = 0; from < ORDERS; from++)
    for (int to = 0; to < ORDERS; to++)
      for (size_t i = 0; i < COUNT(some_rows); i++)
        for (size_t j = 0; j < COUNT(some_cols); j++, n++) {
          const size_t rows = some_rows[i], cols = some_cols[j];
          const size_t live = n % 3 == 0 ? rows : n % 3 == 1 ? (rows + 1) / 2 : rows / 9;
          reorder_case(&e8m0, from, to, rows, live, cols, pads[n % 3]);
          if (from < 2 && to < 2) reorder_case(&f32, from, to, rows, live, cols, 0);
        }
}
END_TEST

/* 24576 rows of which 112 live: nothing beyond the first tile of rows is written. */
START_TEST(test_LiveRows_reorder) {
  const mxg_recipe e8m0 = recipe_of("mxfp4");
  for (int to = MXG_ORDER_TRANSPOSED; to < ORDERS; to++)
    reorder_case(&e8m0, MXG_ORDER_ROW_MAJOR, to, 24576, 112, 6, 0x7F);
}
END_TEST

/* Rows a multiple of 128, columns of 8: all orders have one size, and four different contents. */
START_TEST(test_LayoutNamed) {
  const mxg_recipe e8m0 = recipe_of("mxfp4");
  enum { ROWS = 256, SCALES = 8, BYTES = ROWS * SCALES };
  uint8_t plain[BYTES], moved[ORDERS][BYTES];
  const mxg_layout from = matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS, SCALES, 0, 0);
  for (size_t i = 0; i < BYTES; i++) plain[i] = content(i / SCALES, i % SCALES, 0);
  for (int side = 0; side < IMPLS; side++)
    for (int order = 0; order < ORDERS; order++) {
      const mxg_layout to = matrix_of(&e8m0, order, ROWS, SCALES, 0, 0);
      ck_assert(to.scales_bytes == BYTES && to.order == (mxg_scale_order)order);
      ck_assert(impls[side].scales_reorder(&from, plain, BYTES, &to, moved[order], BYTES, ROWS) ==
                MXG_OK);
      for (int other = 0; other < order; other++)
        ck_assert_msg(memcmp(moved[order], moved[other], BYTES) != 0, "%s equals %s",
                      order_names[order], order_names[other]);
      uint8_t back[BYTES];
      ck_assert(impls[side].scales_reorder(&to, moved[order], BYTES, &from, back, BYTES, ROWS) ==
                MXG_OK);
      expect_bytes(back, plain, BYTES, "%s: %s and back", impls[side].name, order_names[order]);
    }
}
END_TEST

static void expect_reorder(mxg_status want, const mxg_layout *from, const void *src, size_t src_cap,
                           const mxg_layout *to, void *dst, size_t dst_cap, size_t rows,
                           const char *what) {
  for (int i = 0; i < IMPLS; i++) {
    const mxg_status status = impls[i].scales_reorder(from, src, src_cap, to, dst, dst_cap, rows);
    ck_assert_msg(status == want, "%s, %s: status %d, not %d", impls[i].name, what, (int)status,
                  (int)want);
  }
}

START_TEST(test_reorder_refused) {
  const mxg_recipe e8m0 = recipe_of("mxfp4"), f32 = recipe_of("mori-fp8");
  enum { ROWS = 10, COLS = 6 };
  uint8_t a[4096], b[4096], before[4096];
  memset(a, 1, sizeof a);
  memset(b, 2, sizeof b);
  memcpy(before, b, sizeof b);
  const mxg_layout from = matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS, COLS, 0, 0);
  const mxg_layout to = matrix_of(&e8m0, MXG_ORDER_BLOCKED_128X4, ROWS, COLS, 0, 0);
  const size_t from_bytes = from.scales_bytes, to_bytes = to.scales_bytes;
#define REFUSED(status, what, change)                                       \
  do {                                                                      \
    mxg_layout f = from, t = to;                                            \
    change;                                                                 \
    expect_reorder(status, &f, a, from_bytes, &t, b, to_bytes, ROWS, what); \
  } while (0)
  REFUSED(MXG_ERR_LAYOUT, "slot placement", f.placement = MXG_PLACEMENT_SLOT);
  REFUSED(MXG_ERR_LAYOUT, "slot placement", t.placement = MXG_PLACEMENT_SLOT);
  REFUSED(MXG_ERR_LAYOUT, "unknown order", f.order = (mxg_scale_order)4);
  REFUSED(MXG_ERR_LAYOUT, "unknown order", t.order = (mxg_scale_order)9);
  REFUSED(MXG_ERR_LAYOUT, "pad over FF", t.pad_byte = 256);
  REFUSED(MXG_ERR_LAYOUT, "scales of 2 bytes", f.scale_bytes = t.scale_bytes = 2);
  REFUSED(MXG_ERR_LAYOUT, "an order of another size", t.order = MXG_ORDER_AITER_SHUFFLE);
  REFUSED(MXG_ERR_LAYOUT, "stride below its row", f.scale_stride_bytes--);
  REFUSED(MXG_ERR_LAYOUT, "row bytes", f.scale_row_bytes++);
  REFUSED(MXG_ERR_LAYOUT, "size", t.scales_bytes++);
  REFUSED(MXG_ERR_LAYOUT, "rows that do not fit size_t", f.rows = SIZE_MAX);
  REFUSED(MXG_ERR_LAYOUT, "columns that do not fit size_t", t.scale_count = SIZE_MAX);
  REFUSED(MXG_ERR_LAYOUT, "f32 and E8M0",
          f = matrix_of(&f32, MXG_ORDER_ROW_MAJOR, ROWS, COLS, 0, 0));
  REFUSED(MXG_ERR_SHAPE, "other rows",
          f = matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS + 1, COLS, 0, 0));
  REFUSED(MXG_ERR_SHAPE, "other scale_count",
          f = matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS, COLS - 1, 0, 0));
#undef REFUSED
  expect_reorder(MXG_ERR_NULL, NULL, a, 60, &to, b, 1024, ROWS, "no layout");
  expect_reorder(MXG_ERR_NULL, &from, a, 60, NULL, b, 1024, ROWS, "no layout");
  expect_reorder(MXG_ERR_NULL, &from, NULL, 60, &to, b, 1024, ROWS, "no source");
  expect_reorder(MXG_ERR_NULL, &from, a, 60, &to, NULL, 1024, ROWS, "no target");
  expect_reorder(MXG_ERR_SHAPE, &from, a, 60, &to, b, 1024, ROWS + 1, "too many rows");
  expect_reorder(MXG_ERR_CAPACITY, &from, a, 59, &to, b, 1024, ROWS, "short source");
  expect_reorder(MXG_ERR_CAPACITY, &from, a, 60, &to, b, 1023, ROWS, "short target");
  expect_reorder(MXG_ERR_OVERLAP, &from, b + 1023, 60, &to, b, 1024, ROWS, "last byte");
  expect_reorder(MXG_ERR_OVERLAP, &from, b, 60, &to, b + 59, 1024, ROWS, "first byte");
  expect_bytes(b, before, sizeof b, "the target after refused calls");
  expect_reorder(MXG_OK, &from, a, 60, &to, b, 1024, ROWS, "good");
  expect_reorder(MXG_OK, &from, b + 1024, 60, &to, b, 1024, ROWS, "neighbours");
  expect_reorder(MXG_OK, &from, a, 60, &to, b, 1024, 0, "no rows");

  /* rows that interleave share no byte: both matrices in one buffer */
  const mxg_layout strided = matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS, COLS, 0, 2 * COLS);
  for (size_t r = 0; r < ROWS; r++) memset(a + r * 2 * COLS, (int)r + 1, COLS);
  expect_reorder(MXG_OK, &strided, a, strided.scales_bytes, &strided, a + COLS,
                 strided.scales_bytes, ROWS, "interleaved");
  for (size_t r = 0; r < ROWS; r++)
    for (size_t c = 0; c < 2 * COLS; c++) ck_assert_uint_eq(a[r * 2 * COLS + c], r + 1);
  expect_reorder(MXG_ERR_OVERLAP, &strided, a, strided.scales_bytes, &strided, a + COLS - 1,
                 strided.scales_bytes, ROWS, "interleaved and one byte shared");

  const mxg_layout no_cols = matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS, 0, 0, 0);
  const mxg_layout no_cols_to = matrix_of(&e8m0, MXG_ORDER_AITER_SHUFFLE, ROWS, 0, 0, 0);
  expect_reorder(MXG_OK, &no_cols, NULL, 0, &no_cols_to, NULL, 0, ROWS, "no columns");
}
END_TEST

/* ---- weights ---- */

static void random_bytes(generator *g, uint8_t *out, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) out[i] = (uint8_t)generator_bits(g);
}

/* 16x16 tiles: the group of 32 elements y of row x goes to (x>>4)*16*Kp + (x&15)*16 + y*256. */
START_TEST(test_weight_shuffle) {
  static const size_t shapes[][2] = {{16, 16},   {16, 64}, {32, 16}, {48, 80},
                                     {128, 256}, {0, 16},  {16, 0}};
  generator g = generator_start("weight_shuffle");
  for (size_t s = 0; s < COUNT(shapes); s++) {
    const size_t rows = shapes[s][0], row_bytes = shapes[s][1], bytes = rows * row_bytes;
    uint8_t *plain = malloc(bytes + 1), *want = malloc(bytes + 1);
    if (plain == NULL || want == NULL) ck_abort_msg("no memory");
    random_bytes(&g, plain, bytes);
    for (size_t x = 0; x < rows; x++)
      for (size_t y = 0; y < row_bytes / 16; y++)
        memcpy(want + (x >> 4) * 16 * row_bytes + (x & 15) * 16 + y * 256,
               plain + x * row_bytes + y * 16, 16);
    for (int i = 0; i < IMPLS; i++) {
      guard a = guard_new(bytes, 5), b = guard_new(bytes, 11), c = guard_new(bytes, 0);
      memcpy(a.data, plain, bytes);
      ck_assert(impls[i].weight_shuffle(rows, row_bytes, a.data, b.data) == MXG_OK);
      expect_bytes(b.data, want, bytes, "%s: %zu x %zu shuffled", impls[i].name, rows, row_bytes);
      ck_assert(impls[i].weight_unshuffle(rows, row_bytes, b.data, c.data) == MXG_OK);
      expect_bytes(c.data, plain, bytes, "%s: %zu x %zu and back", impls[i].name, rows, row_bytes);
      guard_free(&a, "plain");
      guard_free(&b, "shuffled");
      guard_free(&c, "back");
    }
    free(plain);
    free(want);
  }
}
END_TEST

/* view (E, 2, N0, 16, K0, 4, 16) permuted to (0, 2, 1, 4, 5, 3, 6): sequential writes */
static void weave(size_t experts, size_t rows, size_t row_bytes, const uint8_t *in, uint8_t *out) {
  const size_t n0 = rows / 16, k0 = row_bytes / 64;
  for (size_t e = 0; e < experts; e++)
    for (size_t n = 0; n < n0; n++)
      for (size_t up_half = 0; up_half < 2; up_half++)
        for (size_t k = 0; k < k0; k++)
          for (size_t q = 0; q < 4; q++)
            for (size_t r = 0; r < 16; r++, out += 16)
              memcpy(out,
                     in + ((e * 2 + up_half) * rows + n * 16 + r) * row_bytes + k * 64 + q * 16,
                     16);
}

START_TEST(test_GateUp) {
  static const size_t shapes[][3] = {{1, 16, 64}, {2, 32, 128}, {3, 48, 64}, {8, 64, 192},
                                     {0, 16, 64}, {2, 0, 64},   {2, 16, 0}};
  generator g = generator_start("GateUp");
  for (size_t s = 0; s < COUNT(shapes); s++) {
    const size_t experts = shapes[s][0], rows = shapes[s][1], row_bytes = shapes[s][2];
    const size_t bytes = experts * 2 * rows * row_bytes;
    uint8_t *plain = malloc(bytes + 1), *want = malloc(bytes + 1);
    if (plain == NULL || want == NULL) ck_abort_msg("no memory");
    random_bytes(&g, plain, bytes);
    weave(experts, rows, row_bytes, plain, want);
    if (bytes > 0 && rows > 16) ck_assert(memcmp(plain, want, bytes) != 0);
    for (int i = 0; i < IMPLS; i++) {
      guard a = guard_new(bytes, 5), b = guard_new(bytes, 11), c = guard_new(bytes, 0);
      memcpy(a.data, plain, bytes);
      ck_assert(impls[i].gate_up_interleave(experts, rows, row_bytes, a.data, b.data) == MXG_OK);
      expect_bytes(b.data, want, bytes, "%s: %zu experts %zu x %zu interleaved", impls[i].name,
                   experts, rows, row_bytes);
      ck_assert(impls[i].gate_up_separate(experts, rows, row_bytes, b.data, c.data) == MXG_OK);
      expect_bytes(c.data, plain, bytes, "%s: %zu experts %zu x %zu and back", impls[i].name,
                   experts, rows, row_bytes);
      guard_free(&a, "separate");
      guard_free(&b, "interleaved");
      guard_free(&c, "back");
    }
    free(plain);
    free(want);
  }
  /* gate's first tile, up's first tile, gate's second tile, ... */
  enum { ROWS = 32, BYTES = 64, TILE = 16 * BYTES };
  uint8_t plain[2 * ROWS * BYTES], woven[2 * ROWS * BYTES];
  memset(plain, 'g', ROWS * BYTES);
  memset(plain + ROWS * BYTES, 'u', ROWS * BYTES);
  for (int i = 0; i < IMPLS; i++) {
    ck_assert(impls[i].gate_up_interleave(1, ROWS, BYTES, plain, woven) == MXG_OK);
    for (size_t tile = 0; tile < 4; tile++)
      expect_filled(woven + tile * TILE, tile % 2 == 0 ? 'g' : 'u', TILE, "%s: tile %zu",
                    impls[i].name, tile);
  }
}
END_TEST

START_TEST(test_weights_refused) {
  uint8_t a[8192], b[8192], before[8192];
  memset(a, 1, sizeof a);
  memset(b, 2, sizeof b);
  memcpy(before, b, sizeof b);
  for (int i = 0; i < 2 * IMPLS; i++) {
    const impl *side = &impls[i / 2];
    mxg_status (*shuffle)(size_t, size_t, const void *, void *) =
        i % 2 == 0 ? side->weight_shuffle : side->weight_unshuffle;
    mxg_status (*weave_or_not)(size_t, size_t, size_t, const void *, void *) =
        i % 2 == 0 ? side->gate_up_interleave : side->gate_up_separate;
    ck_assert(shuffle(15, 16, a, b) == MXG_ERR_SHAPE && shuffle(17, 16, a, b) == MXG_ERR_SHAPE);
    ck_assert(shuffle(16, 15, a, b) == MXG_ERR_SHAPE && shuffle(16, 24, a, b) == MXG_ERR_SHAPE);
    ck_assert(shuffle(16, 16, NULL, b) == MXG_ERR_NULL && shuffle(16, 16, a, NULL) == MXG_ERR_NULL);
    ck_assert(shuffle(SIZE_MAX - 15, 16, a, b) == MXG_ERR_SIZE);
    ck_assert(shuffle(16, SIZE_MAX - 15, a, b) == MXG_ERR_SIZE);
    ck_assert(shuffle(16, 16, b, b) == MXG_ERR_OVERLAP);
    ck_assert(shuffle(16, 16, b, b + 255) == MXG_ERR_OVERLAP);
    ck_assert(shuffle(16, 16, b + 255, b) == MXG_ERR_OVERLAP);
    ck_assert(weave_or_not(1, 8, 64, a, b) == MXG_ERR_SHAPE);
    ck_assert(weave_or_not(1, 16, 32, a, b) == MXG_ERR_SHAPE);
    ck_assert(weave_or_not(1, 16, 65, a, b) == MXG_ERR_SHAPE);
    ck_assert(weave_or_not(1, 16, 64, NULL, b) == MXG_ERR_NULL);
    ck_assert(weave_or_not(1, 16, 64, a, NULL) == MXG_ERR_NULL);
    ck_assert(weave_or_not(SIZE_MAX, 16, 64, a, b) == MXG_ERR_SIZE);
    ck_assert(weave_or_not(SIZE_MAX / 2048 + 1, 16, 64, a, b) == MXG_ERR_SIZE);
    ck_assert(weave_or_not(1, SIZE_MAX - 15, 64, a, b) == MXG_ERR_SIZE);
    ck_assert(weave_or_not(1, 16, SIZE_MAX - 63, a, b) == MXG_ERR_SIZE);
    ck_assert(weave_or_not(1, 16, 64, b, b + 2047) == MXG_ERR_OVERLAP);
    expect_bytes(b, before, sizeof b, "%s: the target after refused calls", side->name);
    ck_assert(shuffle(0, 16, NULL, NULL) == MXG_OK && shuffle(16, 0, NULL, NULL) == MXG_OK);
    ck_assert(weave_or_not(0, 16, 64, NULL, NULL) == MXG_OK);
    ck_assert(weave_or_not(3, 0, 64, NULL, NULL) == MXG_OK);
  }
}
END_TEST

CHECK_MAIN("layout", test_sizes_of_a_row, test_slots, test_scale_count, test_strides,
           test_EmptyShape_sizes, test_padded_rows, test_Offset64, test_options_refused,
           test_layout_random, test_Rows_index, test_Rows_by_hand, test_ScalePad_reorder,
           test_LiveRows_reorder, test_LayoutNamed, test_reorder_refused, test_weight_shuffle,
           test_GateUp, test_weights_refused)
