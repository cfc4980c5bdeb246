/* test_orders_refused.c: what the calls that reorder scales and weights refuse, and that they then
 * write nothing, by codec and ref.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "impl.h"
#include "layouts.h"
#include "recipes.h"

/* ---- scales ---- */

START_TEST(test_scales_reorder) {
  const mxg_recipe e8m0 = recipe_of("mxfp8"), f32 = recipe_of("mori-fp8");
  static const mxg_layout_options transposed = {0, MXG_ORDER_TRANSPOSED, 0, 0, 0, 0, 0, 0, {0}};
  static const mxg_layout_options slots = {MXG_PLACEMENT_SLOT, 0, 0, 0, 0, 0, 0, 0, {0}};
  for (int i = 0; i < IMPLS; i++) {
    const impl *s = &impls[i];
    mxg_layout from, to, slot, other_rows, other_cols, floats;
    uint8_t src[64], dst[64], poison[64];
    ck_assert_int_eq(s->layout_for(&e8m0, 4, 128, NULL, &from), MXG_OK);
    ck_assert_int_eq(s->layout_for(&e8m0, 4, 128, &transposed, &to), MXG_OK);
    ck_assert_int_eq(s->layout_for(&e8m0, 4, 128, &slots, &slot), MXG_OK);
    ck_assert_int_eq(s->layout_for(&e8m0, 5, 128, &transposed, &other_rows), MXG_OK);
    ck_assert_int_eq(s->layout_for(&e8m0, 4, 96, &transposed, &other_cols), MXG_OK);
    ck_assert_int_eq(s->layout_for(&f32, 4, 512, &transposed, &floats), MXG_OK);
    for (size_t b = 0; b < sizeof src; b++) src[b] = (uint8_t)b;
    memset(dst, 0xA5, sizeof dst);
    memcpy(poison, dst, sizeof dst);
    ck_assert_int_eq(s->scales_reorder(NULL, src, 16, &to, dst, 16, 4), MXG_ERR_NULL);
    ck_assert_int_eq(s->scales_reorder(&from, NULL, 16, &to, dst, 16, 4), MXG_ERR_NULL);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, NULL, dst, 16, 4), MXG_ERR_NULL);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &to, NULL, 16, 4), MXG_ERR_NULL);
    ck_assert_int_eq(s->scales_reorder(&slot, src, 64, &to, dst, 16, 4), MXG_ERR_LAYOUT);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &slot, dst, 64, 4), MXG_ERR_LAYOUT);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &floats, dst, 64, 4), MXG_ERR_LAYOUT);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &to, dst, 16, 5), MXG_ERR_SHAPE);
    const mxg_status rows = s->scales_reorder(&from, src, 16, &other_rows, dst, 64, 4);
    const mxg_status cols = s->scales_reorder(&from, src, 16, &other_cols, dst, 64, 4);
    ck_assert_msg(rows == MXG_ERR_SHAPE || rows == MXG_ERR_LAYOUT, "rows: %d", (int)rows);
    ck_assert_msg(cols == MXG_ERR_SHAPE || cols == MXG_ERR_LAYOUT, "columns: %d", (int)cols);
    ck_assert_int_eq(rows, mxg_scales_reorder(&from, src, 16, &other_rows, dst, 64, 4));
    ck_assert_int_eq(cols, mxg_scales_reorder(&from, src, 16, &other_cols, dst, 64, 4));
    ck_assert_int_eq(s->scales_reorder(&from, src, 15, &to, dst, 16, 4), MXG_ERR_CAPACITY);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &to, dst, 15, 4), MXG_ERR_CAPACITY);
    ck_assert_int_eq(s->scales_reorder(&from, dst + 15, 16, &to, dst, 16, 4), MXG_ERR_OVERLAP);
    ck_assert_int_eq(s->scales_reorder(&from, dst, 16, &to, dst, 16, 4), MXG_ERR_OVERLAP);
    expect_bytes(dst, poison, sizeof dst, "%s: scales after errors", s->name);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &to, dst, 16, 3), MXG_OK);
    static const uint8_t want[16] = {0, 4, 8, 0xA5, 1, 5, 9, 0xA5, 2, 6, 10, 0xA5, 3, 7, 11, 0xA5};
    expect_bytes(dst, want, sizeof want, "%s: three of four rows transposed", s->name);
  }
}
END_TEST

/* A layout that mxg_layout_for() cannot have made, as source and as target. */
START_TEST(test_scales_reorder_layouts) {
  const mxg_recipe e8m0 = recipe_of("mxfp8"), f32 = recipe_of("mori-fp8");
  static const size_t huge = SIZE_MAX / 4 + 1;
  for (int i = 0; i < IMPLS; i++) {
    const impl *s = &impls[i];
    mxg_layout good[ORDERS], bad[24];
    size_t count = 0;
    for (int order = 0; order < ORDERS; order++) {
      mxg_layout_options options;
      memset(&options, 0, sizeof options);
      options.order = (mxg_scale_order)order;
      ck_assert_int_eq(s->layout_for(&e8m0, 4, 128, &options, &good[order]), MXG_OK);
      bad[count] = good[order];
      bad[count++].scales_bytes++;
    }
    for (size_t b = 0; b < 12; b++) bad[count + b] = good[MXG_ORDER_ROW_MAJOR];
    bad[count++].pad_byte = 0x100;
    bad[count++].reserved = 1;
    bad[count++].scale_bytes = 2;
    bad[count++].scale_row_bytes++;
    bad[count++].scale_stride_bytes--;
    bad[count++].order = (mxg_scale_order)ORDERS;
    bad[count++].rows = huge; /* more bytes than there are */
    bad[count].scale_bytes = 4;
    bad[count++].scale_count = huge;
    bad[count] = good[MXG_ORDER_TRANSPOSED];
    bad[count++].scale_stride_bytes = 4;
    bad[count] = good[MXG_ORDER_TRANSPOSED];
    bad[count++].rows = huge;
    mxg_layout floats = good[MXG_ORDER_TRANSPOSED]; /* of huge * 1 scales of 4 bytes */
    floats.scale_bytes = 4;
    floats.scale_count = 1;
    floats.scale_row_bytes = 4;
    floats.rows = huge;
    floats.scales_bytes = 0;
    bad[count++] = floats;
    for (int order = MXG_ORDER_AITER_SHUFFLE; order < ORDERS; order++) {
      ck_assert_int_eq(s->layout_for(&f32, 4, 512, NULL, &bad[count]), MXG_OK);
      bad[count].order = (mxg_scale_order)order; /* of one-byte scales only */
      bad[count++].scale_stride_bytes = 0;
    }
    for (size_t b = 0; b < count; b++) {
      static uint8_t src[4096], dst[4096];
      const mxg_layout *right = &good[MXG_ORDER_ROW_MAJOR];
      const mxg_status as_source =
          s->scales_reorder(&bad[b], src, sizeof src, right, dst, sizeof dst, 4);
      const mxg_status as_target =
          s->scales_reorder(right, src, sizeof src, &bad[b], dst, sizeof dst, 4);
      if (as_source != MXG_ERR_LAYOUT || as_target != MXG_ERR_LAYOUT)
        ck_abort_msg("%s: bad scale matrix %zu: status %d as source, %d as target", s->name, b,
                     (int)as_source, (int)as_target);
      expect_filled(dst, 0, sizeof dst, "scales of bad matrices");
    }
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
  const mxg_layout from = scale_matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS, COLS, 0, 0);
  const mxg_layout to = scale_matrix_of(&e8m0, MXG_ORDER_BLOCKED_128X4, ROWS, COLS, 0, 0);
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
          f = scale_matrix_of(&f32, MXG_ORDER_ROW_MAJOR, ROWS, COLS, 0, 0));
  REFUSED(MXG_ERR_SHAPE, "other rows",
          f = scale_matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS + 1, COLS, 0, 0));
  REFUSED(MXG_ERR_SHAPE, "other scale_count",
          f = scale_matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS, COLS - 1, 0, 0));
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
  const mxg_layout strided = scale_matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS, COLS, 0, 2 * COLS);
  for (size_t r = 0; r < ROWS; r++) memset(a + r * 2 * COLS, (int)r + 1, COLS);
  expect_reorder(MXG_OK, &strided, a, strided.scales_bytes, &strided, a + COLS,
                 strided.scales_bytes, ROWS, "interleaved");
  for (size_t r = 0; r < ROWS; r++)
    for (size_t c = 0; c < 2 * COLS; c++) ck_assert_uint_eq(a[r * 2 * COLS + c], r + 1);
  expect_reorder(MXG_ERR_OVERLAP, &strided, a, strided.scales_bytes, &strided, a + COLS - 1,
                 strided.scales_bytes, ROWS, "interleaved and one byte shared");

  const mxg_layout no_cols = scale_matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS, 0, 0, 0);
  const mxg_layout no_cols_to = scale_matrix_of(&e8m0, MXG_ORDER_AITER_SHUFFLE, ROWS, 0, 0, 0);
  expect_reorder(MXG_OK, &no_cols, NULL, 0, &no_cols_to, NULL, 0, ROWS, "no columns");
}
END_TEST

/* ---- weights ---- */

START_TEST(test_weight_orders) {
  static uint8_t src[4096], dst[4096], poison[4096];
  memset(dst, 0xA5, sizeof dst);
  memcpy(poison, dst, sizeof dst);
  for (int i = 0; i < IMPLS; i++) {
    mxg_status (*const plain[2])(size_t, size_t, const void *, void *) = {
        impls[i].weight_shuffle, impls[i].weight_unshuffle};
    mxg_status (*const gates[2])(size_t, size_t, size_t, const void *, void *) = {
        impls[i].gate_up_interleave, impls[i].gate_up_separate};
    for (int way = 0; way < 2; way++) {
      ck_assert_int_eq(plain[way](16, 16, NULL, dst), MXG_ERR_NULL);
      ck_assert_int_eq(plain[way](16, 16, src, NULL), MXG_ERR_NULL);
      ck_assert_int_eq(plain[way](17, 16, src, dst), MXG_ERR_SHAPE);
      ck_assert_int_eq(plain[way](16, 8, src, dst), MXG_ERR_SHAPE);
      ck_assert_int_eq(plain[way](SIZE_MAX / 16 + 1, 32, src, dst), MXG_ERR_SIZE);
      ck_assert_int_eq(plain[way](16, 16, src, src + 255), MXG_ERR_OVERLAP);
      ck_assert_int_eq(gates[way](1, 16, 64, NULL, dst), MXG_ERR_NULL);
      ck_assert_int_eq(gates[way](1, 16, 64, src, NULL), MXG_ERR_NULL);
      ck_assert_int_eq(gates[way](1, 8, 64, src, dst), MXG_ERR_SHAPE);
      ck_assert_int_eq(gates[way](1, 16, 32, src, dst), MXG_ERR_SHAPE);
      ck_assert_int_eq(gates[way](SIZE_MAX / 64, 16, 64, src, dst), MXG_ERR_SIZE);
      ck_assert_int_eq(gates[way](1, SIZE_MAX / 64 / 16 * 16, 64, src, dst), MXG_ERR_SIZE);
      ck_assert_int_eq(gates[way](1, 16, 64, src, src + 2047), MXG_ERR_OVERLAP);
    }
  }
  expect_bytes(dst, poison, sizeof dst, "weights after errors");
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

CHECK_MAIN("orders refused", test_scales_reorder, test_scales_reorder_layouts, test_reorder_refused,
           test_weight_orders, test_weights_refused)
