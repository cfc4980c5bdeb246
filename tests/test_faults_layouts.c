/* test_faults_layouts.c: faults that shipped elsewhere, in the padded scale orders, on both
 * implementations.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "block_case.h"
#include "check_main.h"
#include "guard.h"
#include "impl.h"
#include "recipes.h"
#include "values.h"

/* ---- ScalePad and Rows ---- */

/* x[r][c] = a power of two of its own per scale: the stored byte says which scale it is */
static int exponent_of(size_t row, size_t col) {
  return (int)((row * 7 + col * 13) % 101) - 50;
}

typedef struct ordered {
  guard scales;
  mxg_layout layout;
} ordered;

/* Quantises rows x (scales * 32) into an order; the scale matrix was poisoned with FF. */
static ordered quantize_ordered(const impl *side, const mxg_recipe *recipe, mxg_scale_order order,
                                uint32_t pad_byte, size_t rows, size_t live, size_t scales) {
  const mxg_layout_options options = {MXG_PLACEMENT_SEPARATE, order, pad_byte, 0, 0, 0, 0, 0, {0}};
  const size_t cols = scales * 32;
  ordered o;
  ck_assert_int_eq(side->layout_for(recipe, rows, cols, &options, &o.layout), MXG_OK);
  uint32_t *x = calloc(live * cols, sizeof *x);
  uint8_t *codes = malloc(o.layout.codes_bytes);
  if (x == NULL || codes == NULL) ck_abort_msg("no memory");
  for (size_t r = 0; r < live; r++)
    for (size_t c = 0; c < cols; c++)
      x[r * cols + c] = bits_of(ldexpf(1.0f, exponent_of(r, c / 32)));
  o.scales = guard_new(o.layout.scales_bytes, 0);
  memset(o.scales.data, 0xFF, o.layout.scales_bytes);
  const mxg_matrix_view view = {x, MXG_DTYPE_F32, live, cols, 0};
  const mxg_packed packed = {codes, o.layout.codes_bytes, o.scales.data, o.layout.scales_bytes,
                             o.layout};
  ck_assert_int_eq(side->quantize(recipe, &view, NULL, &packed, NULL), MXG_OK);
  free(x);
  free(codes);
  return o;
}

START_TEST(test_ScalePad) {
  static const size_t columns[] = {4, 6, 12, 20};
  static const uint32_t pads[] = {0x00, 0x7F};
  for (size_t n = 0; n < IMPLS * 4 * 2 * 2 * 2; n++) {
    const impl *side = &impls[n % IMPLS];
    const size_t scales = columns[n / 2 % 4], rows = 300, live = n / 8 % 2 != 0 ? 33 : 300;
    const uint32_t pad = pads[n / 16 % 2];
    const mxg_scale_order order =
        n / 32 % 2 != 0 ? MXG_ORDER_AITER_SHUFFLE : MXG_ORDER_BLOCKED_128X4;
    const bool shuffled = order == MXG_ORDER_AITER_SHUFFLE;
    const size_t tall = shuffled ? 256 : 128;
    const size_t wide = shuffled ? (scales + 7) / 8 * 8 : (scales + 3) / 4 * 4;
    const size_t padded_rows = (rows + tall - 1) / tall * tall;
    const size_t padded_live = (live + tall - 1) / tall * tall;
    const mxg_recipe recipe = recipe_of("mxfp8");
    ordered o = quantize_ordered(side, &recipe, order, pad, rows, live, scales);
    ck_assert_uint_eq(o.layout.scales_bytes, padded_rows * wide);
    for (size_t r = 0; r < padded_rows; r++) {
      for (size_t c = 0; c < wide; c++) {
        const size_t at = scale_position(order, rows, scales, r, c);
        ck_assert_msg(at < o.layout.scales_bytes, "position");
        const uint32_t want = r >= padded_live         ? 0xFFu
                              : r < live && c < scales ? (uint32_t)(119 + exponent_of(r, c))
                                                       : pad;
        if (o.scales.data[at] != want)
          ck_abort_msg("%s: %zu scale columns, row %zu column %zu at %zu: %02X, want %02X",
                       side->name, scales, r, c, at, o.scales.data[at], want);
      }
    }
    guard_free(&o.scales, "scales");
  }
}
END_TEST

/* Positions worked out by hand from the formulas of the wire. */
static const struct position {
  mxg_scale_order order;
  size_t scales, row, col, index;
} positions[] = {
    {MXG_ORDER_AITER_SHUFFLE, 8, 0, 0, 0},
    {MXG_ORDER_AITER_SHUFFLE, 8, 0, 1, 64},
    {MXG_ORDER_AITER_SHUFFLE, 8, 0, 4, 2},
    {MXG_ORDER_AITER_SHUFFLE, 8, 1, 0, 4},
    {MXG_ORDER_AITER_SHUFFLE, 8, 16, 0, 1},
    {MXG_ORDER_AITER_SHUFFLE, 8, 17, 5, 71},
    {MXG_ORDER_AITER_SHUFFLE, 8, 31, 7, 255},
    {MXG_ORDER_AITER_SHUFFLE, 8, 32, 0, 256},
    {MXG_ORDER_AITER_SHUFFLE, 6, 32, 0, 256},  /* the padded stride, 8 */
    {MXG_ORDER_AITER_SHUFFLE, 12, 32, 0, 512}, /* 16 */
    {MXG_ORDER_AITER_SHUFFLE, 20, 32, 0, 768}, /* 24 */
    {MXG_ORDER_AITER_SHUFFLE, 12, 0, 8, 256},
    {MXG_ORDER_AITER_SHUFFLE, 12, 20, 11, 465}, /* 256 + 3*64 + 4*4 + 0 + 1 */
    {MXG_ORDER_BLOCKED_128X4, 4, 0, 0, 0},
    {MXG_ORDER_BLOCKED_128X4, 4, 1, 0, 16},
    {MXG_ORDER_BLOCKED_128X4, 4, 32, 0, 4},
    {MXG_ORDER_BLOCKED_128X4, 4, 126, 3, 495}, /* 30*16 + 3*4 + 3 */
    {MXG_ORDER_BLOCKED_128X4, 4, 127, 0, 508},
    {MXG_ORDER_BLOCKED_128X4, 4, 128, 0, 512},
    {MXG_ORDER_BLOCKED_128X4, 6, 0, 4, 512},
    {MXG_ORDER_BLOCKED_128X4, 6, 128, 0, 1024},
    {MXG_ORDER_BLOCKED_128X4, 20, 128, 0, 2560},
    {MXG_ORDER_BLOCKED_128X4, 20, 128, 19, 4611}, /* (5 + 4)*512 + 3 */
};

START_TEST(test_Rows) {
  const mxg_recipe recipe = recipe_of("mxfp8");
  for (int i = 0; i < IMPLS; i++) {
    for (size_t t = 0; t < sizeof positions / sizeof positions[0]; t++) {
      const struct position *p = &positions[t];
      ordered o = quantize_ordered(&impls[i], &recipe, p->order, 0, 129, 129, p->scales);
      const int want = 119 + exponent_of(p->row, p->col);
      ck_assert_uint_eq(scale_position(p->order, 129, p->scales, p->row, p->col), p->index);
      if (o.scales.data[p->index] != want)
        ck_abort_msg("%s: order %d, %zu columns: row %zu column %zu: byte %zu is %02X, want %02X",
                     impls[i].name, (int)p->order, p->scales, p->row, p->col, p->index,
                     o.scales.data[p->index], (unsigned)want);
      guard_free(&o.scales, "scales");
    }
    /* rows 1, 127, 129 in 128x4; rows 16..31 of a tile in aiter_shuffle: all of them */
    static const size_t rows[] = {1, 127, 128, 129, 16, 17, 31, 32, 33};
    for (size_t n = 0; n < 2 * sizeof rows / sizeof rows[0]; n++) {
      const size_t live = rows[n / 2], scales = 5;
      const mxg_scale_order order = n % 2 != 0 ? MXG_ORDER_AITER_SHUFFLE : MXG_ORDER_BLOCKED_128X4;
      ordered o = quantize_ordered(&impls[i], &recipe, order, 0x7F, live, live, scales);
      for (size_t r = 0; r < live; r++)
        for (size_t c = 0; c < scales; c++)
          ck_assert_uint_eq(o.scales.data[scale_position(order, live, scales, r, c)],
                            (unsigned)(119 + exponent_of(r, c)));
      guard_free(&o.scales, "scales");
    }
  }
}
END_TEST

CHECK_MAIN("faults in layouts", test_ScalePad, test_Rows)
