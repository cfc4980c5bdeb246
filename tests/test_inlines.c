/* test_inlines.c: inline functions of the public headers, given what the library itself never gives
 * them.
 * SPDX-License-Identifier: MIT */
#include <stdint.h>

#include "check_main.h"
#include "element.h"
#include "mxgold_format.h"
#include "recipes.h"
#include "scale.h"

START_TEST(test_sizes) {
  const mxg_recipe e8m0 = recipe_of("mxfp8");
  mxg_recipe other = e8m0;
  size_t bytes = 0;
  ck_assert_int_eq(mxg_payload_row_bytes((mxg_element)8, 1, &bytes), MXG_ERR_RECIPE);
  ck_assert_int_eq(mxg_payload_row_bytes(MXG_ELEMENT_E4M3FN, SIZE_MAX, &bytes), MXG_OK);
  ck_assert_uint_eq(bytes, SIZE_MAX);
  ck_assert_int_eq(mxg_payload_row_bytes(MXG_ELEMENT_E2M1, SIZE_MAX, &bytes), MXG_OK);
  ck_assert_uint_eq(bytes, SIZE_MAX / 2 + 1);
  ck_assert_int_eq(mxg_payload_row_bytes(MXG_ELEMENT_E2M3, SIZE_MAX, &bytes), MXG_OK);
  ck_assert_uint_eq(bytes, SIZE_MAX / 4 * 3 + 3); /* of 4 n + 3 elements */
  other.block = 0;
  ck_assert_uint_eq(mxg_scales_used(&other, 100), 0);
  ck_assert_int_eq(mxg_slot_bytes(&e8m0, 64, 2, 1, &bytes), MXG_OK);
  ck_assert_uint_eq(bytes, 64 + 2 + 4);
  ck_assert_int_eq(mxg_slot_bytes(&e8m0, 64, SIZE_MAX, 0, &bytes), MXG_ERR_SIZE);
  ck_assert_int_eq(mxg_slot_bytes(&e8m0, 64, 2, SIZE_MAX / 4 + 1, &bytes), MXG_ERR_SIZE);
  ck_assert_int_eq(mxg_slot_bytes(&e8m0, SIZE_MAX - 3, 3, 1, &bytes), MXG_ERR_SIZE);
  other = recipe_of("mori-fp8");
  ck_assert_int_eq(mxg_slot_bytes(&other, 64, SIZE_MAX / 4 + 1, 0, &bytes), MXG_ERR_SIZE);
  other.element = (mxg_element)8;
  ck_assert_int_eq(mxg_slot_bytes(&other, 64, 2, 0, &bytes), MXG_ERR_RECIPE);
}
END_TEST

START_TEST(test_scale_index_row_major) {
  ck_assert_uint_eq(mxg_scale_index(MXG_ORDER_ROW_MAJOR, 7, 5, 3, 4), 3 * 5 + 4);
  ck_assert_uint_eq(mxg_scale_index(MXG_ORDER_TRANSPOSED, 7, 5, 3, 4), 4 * 7 + 3);
}
END_TEST

/* Exact powers of two, and the neighbourhood of each tie by hand. */
START_TEST(test_round_to_f32) {
  static const struct {
    uint64_t significand;
    int exponent;
    uint32_t bits;
  } cases[] = {
      {0, 2000, 0},
      {1, 0, 0x3F800000},
      {1, 127, 0x7F000000},
      {1, 128, MXG_F32_INF},
      {0xFFFFFF, 104, 0x7F7FFFFF},
      {0x1FFFFFF, 103, MXG_F32_INF}, /* a tie that carries beyond the largest */
      {(uint64_t)1 << 62, -62, 0x3F800000},
      {0x1000001, -24, 0x3F800000}, /* 1 + 2^-24: a tie to even, down */
      {0x1000003, -24, 0x3F800002}, /* up */
      {1, -126, 0x00800000},
      {1, -149, 1},
      {1, -150, 0}, /* a tie to 0 */
      {3, -151, 1},
      {1, -151, 0},
      {0x7FFFFFFFFFFFFFFF, -212, 1}, /* all but one bit dropped */
      {0x7FFFFFFFFFFFFFFF, -213, 0}, /* all: just below the tie */
      {0x7FFFFFFFFFFFFFFF, -2000, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const uint32_t bits = mxg_round_to_f32(cases[i].significand, cases[i].exponent);
    if (bits != cases[i].bits)
      ck_abort_msg("case %zu: %08X, want %08X", i, (unsigned)bits, (unsigned)cases[i].bits);
  }
}
END_TEST

START_TEST(test_unscaled_blocks) {
  const mxg_f32_scale unscaled = {1.0f, 3.0f, 0, 1};
  ck_assert_uint_eq(mxg_f32_bits(mxg_f32_scale_apply(&unscaled, -0.75f)), mxg_f32_bits(-0.75f));
}
END_TEST

CHECK_MAIN("inlines", test_sizes, test_scale_index_row_major, test_round_to_f32,
           test_unscaled_blocks)
