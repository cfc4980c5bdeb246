/* test_api_arrays.c: the calls on arrays: each status that their comments name, and nothing written
 * on an error.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "impl.h"
#include "recipes.h"

START_TEST(test_arrays) {
  const mxg_recipe e8m0 = recipe_of("mxfp8"), f32 = recipe_of("mori-fp8");
  mxg_recipe reserved = e8m0, invalid = e8m0;
  reserved.reserved[0] = 1;
  invalid.overflow = (mxg_overflow)4;
  const size_t huge = SIZE_MAX / 4 + 1;
  for (int i = 0; i < IMPLS; i++) {
    const impl *s = &impls[i];
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    uint8_t b[32] = {0};
    memset(y, 0xA5, sizeof y);
    memset(b, 0xA5, sizeof b);

    ck_assert_int_eq(s->encode_f32(NULL, x, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->encode_f32(&e8m0, NULL, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->encode_f32(&e8m0, x, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->encode_f32(&reserved, x, 4, b), MXG_ERR_RESERVED);
    ck_assert_int_eq(s->encode_f32(&invalid, x, 4, b), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->encode_f32(&e8m0, x, huge, b), MXG_ERR_SIZE);
    ck_assert_int_eq(s->encode_f32(&e8m0, x, 4, (uint8_t *)x + 15), MXG_ERR_OVERLAP);
    ck_assert_int_eq(s->encode_f32(&e8m0, x, 4, (uint8_t *)x), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->decode_f32((mxg_element)0, b, 4, y), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->decode_f32((mxg_element)8, b, 4, y), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->decode_f32(MXG_ELEMENT_E5M2, NULL, 4, y), MXG_ERR_NULL);
    ck_assert_int_eq(s->decode_f32(MXG_ELEMENT_E5M2, b, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->decode_f32(MXG_ELEMENT_E5M2, b, huge, y), MXG_ERR_SIZE);
    ck_assert_int_eq(s->decode_f32(MXG_ELEMENT_E5M2, (uint8_t *)y + 15, 4, y), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->e8m0_from_amax(NULL, x, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_amax(&e8m0, NULL, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_amax(&e8m0, x, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_amax(&reserved, x, 4, b), MXG_ERR_RESERVED);
    ck_assert_int_eq(s->e8m0_from_amax(&invalid, x, 4, b), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_from_amax(&f32, x, 4, b), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_from_amax(&e8m0, x, huge, b), MXG_ERR_SIZE);
    ck_assert_int_eq(s->e8m0_from_amax(&e8m0, x, 4, (uint8_t *)x + 15), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->e8m0_from_scale(NULL, x, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_scale(&e8m0, NULL, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_scale(&e8m0, x, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_scale(&reserved, x, 4, b), MXG_ERR_RESERVED);
    ck_assert_int_eq(s->e8m0_from_scale(&invalid, x, 4, b), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_from_scale(&f32, x, 4, b), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_from_scale(&e8m0, x, huge, b), MXG_ERR_SIZE);
    ck_assert_int_eq(s->e8m0_from_scale(&e8m0, x, 4, (uint8_t *)x + 15), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->e8m0_to_f32((mxg_edges)0, b, 4, y), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_to_f32((mxg_edges)3, b, 4, y), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_to_f32(MXG_EDGES_OCP, NULL, 4, y), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_to_f32(MXG_EDGES_OCP, b, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_to_f32(MXG_EDGES_OCP, b, huge, y), MXG_ERR_SIZE);
    ck_assert_int_eq(s->e8m0_to_f32(MXG_EDGES_OCP, (uint8_t *)y, 4, y), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->to_f32((mxg_dtype)0, b, 4, y), MXG_ERR_TYPE);
    ck_assert_int_eq(s->to_f32((mxg_dtype)4, b, 4, y), MXG_ERR_TYPE);
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_F16, NULL, 4, y), MXG_ERR_NULL);
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_F16, b, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_BF16, b, huge, y), MXG_ERR_SIZE);
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_BF16, (uint8_t *)y + 15, 4, y), MXG_ERR_OVERLAP);
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_F32, y, 4, y), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->from_f32((mxg_dtype)0, x, 4, b), MXG_ERR_TYPE);
    ck_assert_int_eq(s->from_f32((mxg_dtype)4, x, 4, b), MXG_ERR_TYPE);
    ck_assert_int_eq(s->from_f32(MXG_DTYPE_F16, NULL, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->from_f32(MXG_DTYPE_F16, x, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->from_f32(MXG_DTYPE_BF16, x, huge, b), MXG_ERR_SIZE);
    ck_assert_int_eq(s->from_f32(MXG_DTYPE_BF16, x, 4, (uint8_t *)x + 15), MXG_ERR_OVERLAP);

    expect_filled(y, 0xA5, sizeof y, "%s: values after errors", s->name);
    expect_filled(b, 0xA5, sizeof b, "%s: bytes after errors", s->name);
    static const float same[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    expect_bytes(x, same, sizeof x, "%s: inputs after errors", s->name);

    /* touching is allowed */
    uint8_t area[4 * 4 + 4];
    memcpy(area, x, 16);
    ck_assert_int_eq(s->encode_f32(&e8m0, (const float *)(const void *)area, 4, area + 16), MXG_OK);
    static const uint8_t codes[4] = {0x38, 0x40, 0x44, 0x48};
    expect_bytes(area + 16, codes, 4, "%s: 1 2 3 4 as E4M3FN", s->name);
    /* MXG_DTYPE_F32 copies, NaN made canonical */
    static const uint32_t odd[3] = {0xFFC12345, 0x80000000, 0x7F800000};
    static const uint32_t canonical[3] = {0x7FC00000, 0x80000000, 0x7F800000};
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_F32, odd, 3, y), MXG_OK);
    expect_bytes(y, canonical, 12, "%s: to_f32 of f32", s->name);
    ck_assert_int_eq(s->from_f32(MXG_DTYPE_F32, (const float *)(const void *)odd, 3, b), MXG_OK);
    expect_bytes(b, canonical, 12, "%s: from_f32 to f32", s->name);
  }
}
END_TEST

CHECK_MAIN("statuses of arrays", test_arrays)
