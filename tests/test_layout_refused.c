/* test_layout_refused.c: what mxg_layout_for() refuses, by codec and ref.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "impl.h"
#include "layouts.h"
#include "recipes.h"

START_TEST(test_layout_for) {
  const mxg_recipe e8m0 = recipe_of("mxfp8"), f32 = recipe_of("mori-fp8"),
                   none = recipe_of("mori-fp8-direct");
  mxg_recipe reserved = e8m0, invalid = e8m0;
  reserved.reserved[1] = 7;
  invalid.rule = (mxg_rule)0;
  static const mxg_layout_options dense;
  const struct {
    const mxg_recipe *recipe;
    size_t rows, cols;
    mxg_layout_options o;
    mxg_status status;
  } cases[] = {
      {NULL, 1, 64, dense, MXG_ERR_NULL},
      {&reserved, 1, 64, dense, MXG_ERR_RESERVED},
      {&invalid, 1, 64, dense, MXG_ERR_RECIPE},
      {&e8m0, SIZE_MAX, 64, dense, MXG_ERR_SIZE},
      {&f32, SIZE_MAX / 64, 64, {0, 0, 0, 0, 0, 0, 0, 0, {0}}, MXG_OK},
      {&e8m0,
       SIZE_MAX / 64,
       64,
       {0, MXG_ORDER_AITER_SHUFFLE, 0, 0, 100, 0, 0, 0, {0}},
       MXG_ERR_SIZE},
      {&e8m0, 2, 64, {(mxg_placement)2, 0, 0, 0, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, (mxg_scale_order)4, 0, 0, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&f32, 2, 64, {0, MXG_ORDER_AITER_SHUFFLE, 0, 0, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&f32, 2, 64, {0, MXG_ORDER_BLOCKED_128X4, 0, 0, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&f32, 2, 64, {0, MXG_ORDER_TRANSPOSED, 0, 0, 0, 0, 0, 0, {0}}, MXG_OK},
      {&e8m0, 2, 64, {0, MXG_ORDER_BLOCKED_128X4, 0x100, 0, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, MXG_ORDER_BLOCKED_128X4, 0xFF, 0, 0, 0, 0, 0, {0}}, MXG_OK},
      {&e8m0, 2, 64, {0, 0, 0, 0, 1, 0, 0, 0, {0}}, MXG_ERR_LAYOUT}, /* two are used */
      {&e8m0, 2, 64, {0, 0, 0, 0, 2, 0, 0, 0, {0}}, MXG_OK},
      {&none, 2, 64, {0, 0, 0, 0, 1, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, 0, 0, 0, 0, 63, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, 0, 0, 0, 0, 64, 0, 0, {0}}, MXG_OK},
      {&e8m0, 2, 64, {0, 0, 0, 0, 0, 0, 1, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, 0, 0, 0, 0, 0, 2, 0, {0}}, MXG_OK},
      {&e8m0, 2, 64, {0, MXG_ORDER_TRANSPOSED, 0, 0, 0, 0, 2, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, 0, 0, 1, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT}, /* weights outside slots */
      {&e8m0, 2, 64, {0, 0, 0, 0, 0, 0, 0, 66, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {MXG_PLACEMENT_SLOT, 0, 0, 0, 0, 0, 0, 65, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {MXG_PLACEMENT_SLOT, 0, 0, 1, 0, 0, 0, 69, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {MXG_PLACEMENT_SLOT, 0, 0, 1, 0, 0, 0, 70, {0}}, MXG_OK},
      {&e8m0, 2, 64, {MXG_PLACEMENT_SLOT, 0, 0, 0, 0, 64, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {MXG_PLACEMENT_SLOT, 0, 0, 0, 0, 0, 2, 0, {0}}, MXG_ERR_LAYOUT},
      {&none, 1, SIZE_MAX - 3, {MXG_PLACEMENT_SLOT, 0, 0, 1, 0, 0, 0, 0, {0}}, MXG_ERR_SIZE},
      {&e8m0,
       2,
       64,
       {MXG_PLACEMENT_SLOT, MXG_ORDER_TRANSPOSED, 0, 0, 0, 0, 0, 0, {0}},
       MXG_ERR_LAYOUT},
  };
  for (int i = 0; i < IMPLS; i++) {
    for (size_t t = 0; t < sizeof cases / sizeof cases[0]; t++) {
      mxg_layout layout, poison;
      memset(&layout, 0xA5, sizeof layout);
      poison = layout;
      const mxg_status status =
          impls[i].layout_for(cases[t].recipe, cases[t].rows, cases[t].cols, &cases[t].o, &layout);
      if (status != cases[t].status)
        ck_abort_msg("%s: layout case %zu (%s): status %d, want %d", impls[i].name, t,
                     options_text(&cases[t].o), (int)status, (int)cases[t].status);
      if (status != MXG_OK)
        expect_bytes(&layout, &poison, sizeof layout, "%s: layout case %zu", impls[i].name, t);
    }
    mxg_layout layout;
    ck_assert_int_eq(impls[i].layout_for(&e8m0, 1, 1, NULL, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(impls[i].layout_for(&e8m0, 1, 1, NULL, &layout), MXG_OK);
  }
}
END_TEST

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
  expect_layout_status(MXG_ERR_RECIPE, &bad, 1, 1, NULL, "block 0");
  bad = e8m0;
  bad.reserved[2] = 1;
  expect_layout_status(MXG_ERR_RESERVED, &bad, 1, 1, NULL, "a reserved word of the recipe");
  for (size_t word = 0; word < 4; word++) {
    mxg_layout_options o = options_none();
    o.reserved[word] = 1;
    expect_layout_status(MXG_ERR_RESERVED, &e8m0, 1, 1, &o, "a reserved word of the options");
  }

#define REFUSED(recipe, ...)                                                          \
  do {                                                                                \
    mxg_layout_options refused = options_none();                                      \
    __VA_ARGS__;                                                                      \
    expect_layout_status(MXG_ERR_LAYOUT, &(recipe), 10, 100, &refused, #__VA_ARGS__); \
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

  mxg_layout_options o = options_none();
  o.placement = MXG_PLACEMENT_SLOT;
  o.slot_weights = 1;
  o.slot_stride_bytes = 108;
  expect_layout_status(MXG_OK, &e8m0, 10, 100, &o, "the least slot stride");
  o = options_in_order(MXG_ORDER_TRANSPOSED);
  expect_layout_status(MXG_OK, &f32, 10, 100, &o, "transposed f32 scales");
  o = options_in_order(MXG_ORDER_BLOCKED_128X4);
  o.pad_byte = 0xFF;
  expect_layout_status(MXG_OK, &e8m0, 10, 100, &o, "pad FF");
}
END_TEST

CHECK_MAIN("layouts refused", test_layout_for, test_options_refused)
