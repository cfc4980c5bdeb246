/* test_orders.c: orders of scale matrices (docs/LAYOUT.md), by codec and ref.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "count.h"
#include "guard.h"
#include "impl.h"
#include "layouts.h"
#include "recipes.h"

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
  const mxg_layout in = scale_matrix_of(recipe, from, rows, cols, 0x11, dense + 3);
  const mxg_layout out = scale_matrix_of(recipe, to, rows, cols, pad, dense + 5);
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
  const mxg_layout from = scale_matrix_of(&e8m0, MXG_ORDER_ROW_MAJOR, ROWS, SCALES, 0, 0);
  for (size_t i = 0; i < BYTES; i++) plain[i] = content(i / SCALES, i % SCALES, 0);
  for (int side = 0; side < IMPLS; side++)
    for (int order = 0; order < ORDERS; order++) {
      const mxg_layout to = scale_matrix_of(&e8m0, order, ROWS, SCALES, 0, 0);
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

CHECK_MAIN("orders", test_Rows_index, test_Rows_by_hand, test_ScalePad_reorder,
           test_LiveRows_reorder, test_LayoutNamed)
