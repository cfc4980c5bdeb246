/* test_combine_by_hand.c: dequantise and accumulate (section 6), worked out by hand.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "impl.h"
#include "packed.h"
#include "recipes.h"
#include "values.h"

static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_BF16, MXG_DTYPE_F16};

/* One output of sources of one column: codes, stored scales (bytes or f32 bits), weights or none. */
static uint32_t one_column(const impl *side, const char *recipe_name, mxg_dtype dtype, size_t top_k,
                           const uint32_t *codes, const uint32_t *scales, const uint32_t *weights) {
  uint8_t slots[9][8];
  const void *pointers[9];
  const mxg_recipe recipe = recipe_of(recipe_name);
  const mxg_layout_options options = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
  mxg_layout layout;
  ck_assert_int_eq(side->layout_for(&recipe, 1, 1, &options, &layout), MXG_OK);
  ck_assert_msg(layout.slot_bytes <= 8 && top_k <= 9, "slot");
  memset(slots, 0, sizeof slots);
  for (size_t k = 0; k < top_k; k++) {
    code_put(recipe.element, slots[k], 0, codes[k]);
    if (recipe.scale != MXG_SCALE_NONE)
      scale_put(&recipe, slots[k] + layout.scale_offset_bytes, 0, scales[k]);
    pointers[k] = codes[k] > 0xFF ? NULL : slots[k];
  }
  uint32_t y = 0xA5A5A5A5;
  const mxg_matrix out = {&y, dtype, 1, 1, 0};
  ck_assert_int_eq(side->combine(&recipe, pointers, top_k, (const float *)(const void *)weights,
                                 &layout, 0, 1, &out, NULL),
                   MXG_OK);
  return values_load(&y, dtype, 0);
}

#define MISSING 0x100u /* a code that stands for a null source */

static const struct hand_case {
  const char *recipe;
  size_t top_k;
  uint32_t codes[4], scales[4];
  bool weighted;
  uint32_t weights[4];
  uint32_t f32, bf16, f16;
} hand_cases[] = {
    /* 2^24 + 1 + 1 - 2^24 in ascending order: each 1 is half an ulp and is lost */
    {"mxfp8", 4, {0x38, 0x38, 0x38, 0xB8}, {151, 127, 127, 151}, false, {0}, 0x00000000, 0, 0},
    {"mxfp8",
     4,
     {0x38, 0x38, 0x38, 0xB8},
     {127, 127, 151, 151},
     false,
     {0},
     0x40000000,
     0x4000,
     0x4000},
    {"mxfp8,accumulate=mul_add",
     4,
     {0x38, 0x38, 0x38, 0xB8},
     {151, 127, 127, 151},
     false,
     {0},
     0x00000000,
     0,
     0},
    /* -1.125 + 1.125 * (1 + 2^-23): the product keeps 2^-26 only when fused */
    {"aiter-fp8-128",
     2,
     {0xB9, 0x39},
     {0x3F800000, 0x3F800001},
     false,
     {0},
     0x34100000,
     0x3410,
     0x0002},
    {"aiter-fp8-128,accumulate=mul_add",
     2,
     {0xB9, 0x39},
     {0x3F800000, 0x3F800001},
     false,
     {0},
     0x34000000,
     0x3400,
     0x0002},
    /* weighted, element * scale is rounded first in both; the weight then is fused or not */
    {"aiter-fp8-128",
     2,
     {0xB9, 0x39},
     {0x3F800000, 0x3F800001},
     true,
     {0x3F800000, 0x3F800000},
     0x34000000,
     0x3400,
     0x0002},
    {"aiter-fp8-128",
     2,
     {0xB9, 0x39},
     {0x3F800000, 0x3F800000},
     true,
     {0x3F800000, 0x3F800001},
     0x34100000,
     0x3410,
     0x0002},
    {"aiter-fp8-128,accumulate=mul_add",
     2,
     {0xB9, 0x39},
     {0x3F800000, 0x3F800000},
     true,
     {0x3F800000, 0x3F800001},
     0x34000000,
     0x3400,
     0x0002},
    /* NaN is canonical whatever made it: a code, a byte, Inf - Inf, 0 * Inf; its sign is dropped */
    {"mxfp8", 1, {0xFF}, {127}, false, {0}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"mxfp8", 2, {0x38, 0xB8}, {127, 0xFF}, false, {0}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"aiter-fp8-128", 1, {0x38}, {0xFFC12345}, false, {0}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"aiter-fp8-128",
     2,
     {0x38, 0xB8},
     {0x7F800000, 0x7F800000},
     false,
     {0},
     0x7FC00000,
     0x7FC0,
     0x7E00},
    {"aiter-fp8-128", 1, {0x80}, {0x7F800000}, false, {0}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"aiter-fp8-128", 1, {0x38}, {0x3F800000}, true, {0xFFC00001}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"aiter-fp8-128", 1, {0xB8}, {0x7F800000}, false, {0}, 0xFF800000, 0xFF80, 0xFC00},
    /* E8M0 edges: 00 is 2^-127 or 0, FF is NaN or Inf */
    {"mxfp8", 1, {0x38}, {0x00}, false, {0}, 0x00400000, 0x0040, 0x0000},
    {"mxfp8", 1, {0x01}, {0x00}, false, {0}, 0x00002000, 0x0000, 0x0000},
    {"aiter-mxfp8", 1, {0xB8}, {0x00}, false, {0}, 0x00000000, 0x0000, 0x0000},
    {"aiter-mxfp8", 1, {0xB8}, {0xFF}, false, {0}, 0xFF800000, 0xFF80, 0xFC00},
    {"aiter-mxfp8", 1, {0x00}, {0xFF}, false, {0}, 0x7FC00000, 0x7FC0, 0x7E00},
    {"mxfp8", 1, {0x7E}, {0xFE}, false, {0}, 0x7F800000, 0x7F80, 0x7C00},
    /* 448 * 2^127 overflows before a small weight could bring it back */
    {"mxfp8", 1, {0x7E}, {0xFE}, true, {0x3A800000}, 0x7F800000, 0x7F80, 0x7C00},
    /* marker: -2 is a scaled row (by 2), +2 and -0.0 and NaN an unscaled one */
    {"mori-fp8", 1, {0x38}, {0xC0000000}, false, {0}, 0x40000000, 0x4000, 0x4000},
    {"mori-fp8", 1, {0x38}, {0x40000000}, false, {0}, 0x3F800000, 0x3F80, 0x3C00},
    {"mori-fp8", 1, {0x38}, {0x80000000}, false, {0}, 0x3F800000, 0x3F80, 0x3C00},
    {"mori-fp8", 1, {0x38}, {0xFFC00000}, false, {0}, 0x3F800000, 0x3F80, 0x3C00},
    {"mori-fp8", 2, {0x38, 0x38}, {0xC0000000, 0x40000000}, false, {0}, 0x40400000, 0x4040, 0x4200},
    {"mori-fp8",
     2,
     {0x38, 0x38},
     {0xC0000000, 0x40000000},
     true,
     {0x40400000, 0x3F000000},
     0x40D00000,
     0x40D0,
     0x4680}, /* 2*3 + 1*0.5 */
    /* no scales at all */
    {"mori-fp8-direct", 2, {0x40, 0x30}, {0}, false, {0}, 0x40200000, 0x4020, 0x4100},
    {"mori-fp8-direct",
     2,
     {0x40, 0x30},
     {0},
     true,
     {0x40000000, 0x3F800000},
     0x40900000,
     0x4090,
     0x4480},
    /* missing sources; the sum of nothing, and of -0 alone, is +0.0 */
    {"mxfp8", 0, {0}, {0}, false, {0}, 0x00000000, 0, 0},
    {"mxfp8", 2, {MISSING, MISSING}, {0}, true, {0x7FC00000, 0x7FC00000}, 0x00000000, 0, 0},
    {"mxfp8", 1, {0x80}, {127}, false, {0}, 0x00000000, 0, 0},
    {"mxfp8",
     3,
     {MISSING, 0x38, MISSING},
     {127, 127, 127},
     true,
     {0x7FC00000, 0x40000000, 0x7F800000},
     0x40000000,
     0x4000,
     0x4000},
    /* the last step rounds to nearest even: 1 + 2^-8 is a tie of bf16, 3 * 2^-8 above 1 the other */
    {"aiter-fp8-128", 1, {0x38}, {0x3F808000}, false, {0}, 0x3F808000, 0x3F80, 0x3C04},
    {"aiter-fp8-128", 1, {0x38}, {0x3F818000}, false, {0}, 0x3F818000, 0x3F82, 0x3C0C},
    {"aiter-fp8-128", 1, {0x38}, {0x3F801000}, false, {0}, 0x3F801000, 0x3F80, 0x3C00},
    {"aiter-fp8-128", 1, {0x38}, {0x3F803000}, false, {0}, 0x3F803000, 0x3F80, 0x3C02},
    {"aiter-fp8-128", 1, {0x38}, {0x477FEFFF}, false, {0}, 0x477FEFFF, 0x4780, 0x7BFF},
    {"aiter-fp8-128", 1, {0x38}, {0x477FF000}, false, {0}, 0x477FF000, 0x4780, 0x7C00},
    {"aiter-fp8-128", 1, {0x38}, {0x7F7FFFFF}, false, {0}, 0x7F7FFFFF, 0x7F80, 0x7C00},
};

START_TEST(test_by_hand) {
  for (int i = 0; i < IMPLS; i++) {
    for (size_t t = 0; t < sizeof hand_cases / sizeof hand_cases[0]; t++) {
      const struct hand_case *h = &hand_cases[t];
      const uint32_t want[3] = {h->f32, h->bf16, h->f16};
      for (size_t d = 0; d < 3; d++) {
        const uint32_t got = one_column(&impls[i], h->recipe, dtypes[d], h->top_k, h->codes,
                                        h->scales, h->weighted ? h->weights : NULL);
        if (got != want[d])
          ck_abort_msg("%s %s: case %zu to %s: %X, want %X", impls[i].name, h->recipe, t,
                       dtype_name(dtypes[d]), got, want[d]);
      }
    }
  }
}
END_TEST

/* A segment of one odd column of FP4, which shares its byte with the column before it. */
START_TEST(test_odd_segment) {
  const mxg_recipe recipe = recipe_of("mxfp4");
  const mxg_layout_options options = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 3, 0, 0, 0, 0, {0}};
  for (int i = 0; i < IMPLS; i++) {
    /* 1 2 3 4 6 | scale 1 | three weights that nobody reads */
    uint8_t slot[3 + 1 + 12] = {0x42, 0x65, 0x07, 0x7F};
    memset(slot + 4, 0xFF, 12);
    const void *const slots[1] = {slot};
    uint16_t y[5];
    mxg_layout layout;
    ck_assert_int_eq(impls[i].layout_for(&recipe, 1, 5, &options, &layout), MXG_OK);
    ck_assert_uint_eq(layout.slot_bytes, sizeof slot);
    memset(y, 0xA5, sizeof y);
    const mxg_matrix out = {y, MXG_DTYPE_BF16, 1, 5, 0};
    ck_assert_int_eq(impls[i].combine(&recipe, slots, 1, NULL, &layout, 3, 4, &out, NULL), MXG_OK);
    static const uint16_t third[5] = {0xA5A5, 0xA5A5, 0xA5A5, 0x4080, 0xA5A5};
    expect_bytes(y, third, sizeof y, "%s: columns 3 to 4", impls[i].name);
    ck_assert_int_eq(impls[i].combine(&recipe, slots, 1, NULL, &layout, 4, 5, &out, NULL), MXG_OK);
    ck_assert_int_eq(impls[i].combine(&recipe, slots, 1, NULL, &layout, 1, 3, &out, NULL), MXG_OK);
    ck_assert_int_eq(impls[i].combine(&recipe, slots, 1, NULL, &layout, 2, 2, &out, NULL), MXG_OK);
    static const uint16_t four[5] = {0xA5A5, 0x4000, 0x4040, 0x4080, 0x40C0};
    expect_bytes(y, four, sizeof y, "%s: columns 1 to 5", impls[i].name);
  }
}
END_TEST

CHECK_MAIN("combine by hand", test_by_hand, test_odd_segment)
