/* test_combine_fma.c: the library's fused multiply-add against the C library's, through combine, with
 * addends that make it hard.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "impl.h"
#include "packed.h"
#include "recipes.h"
#include "thin.h"
#include "values.h"

/* A block of one column: acc comes from source 0 (1.0 * scale, weight 1), and source 1 adds
 * fma(1.0 * scale, weight, acc). */

enum { COLS = 4096, ROWS = 2500 };

/* bits of an addend that makes fma(a, w, addend) hard: near the product, far, or anything */
static uint32_t hard_addend(generator *g, float a, float w) {
  const float p = a * w;
  const uint32_t field = bits_of(p) >> 23 & 0xFFu, above = field + 22 + generator_below(g, 6);
  switch (generator_below(g, 4)) {
    case 0: return bits_of(-p) ^ generator_below(g, 4); /* cancellation */
    case 1: /* far above: the product decides a tie, or hides below it */
      return (above < 254 ? above : 254) << 23 | (generator_bits(g) & 0x80000001u);
    case 2: return field << 23 | (generator_bits(g) & 0x807FFFFFu);
    default: return generator_bits(g);
  }
}

START_TEST(test_fma_against_libm) {
  generator g = generator_start("test_fma_against_libm");
  const mxg_recipe recipe = recipe_of("aiter-fp8-128,block=1");
  const mxg_layout_options options = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
  mxg_layout layout;
  ck_assert_int_eq(mxg_layout_for(&recipe, 2, COLS, &options, &layout), MXG_OK);
  uint8_t *slot[2] = {malloc(layout.slot_bytes), malloc(layout.slot_bytes)};
  static uint32_t y[IMPLS][COLS];
  if (slot[0] == NULL || slot[1] == NULL) ck_abort_msg("no memory");
  memset(slot[0], 0x38, COLS);
  memset(slot[1], 0x38, COLS);
  size_t triples = 0;
  for (size_t row = 0; row < thinned(ROWS); row++) {
    const uint32_t w_bits =
        row % 8 == 7 ? generator_bits(&g)
                     : (117 + generator_below(&g, 20)) << 23 | (generator_bits(&g) & 0x807FFFFFu);
    const float weights[2] = {1, float_of(w_bits)};
    for (size_t col = 0; col < COLS; col++) {
      /* row % 16 == 5: products around the smallest normal number */
      const uint32_t a = row % 16 == 5
                             ? generator_below(&g, 40) << 23 | (generator_bits(&g) & 0x7FFFFFu)
                         : row % 8 == 7 ? generator_bits(&g)
                                        : (110 + generator_below(&g, 30)) << 23 |
                                              (generator_bits(&g) & 0x807FFF00u >> (row % 3 * 8));
      scale_put(&recipe, slot[1] + layout.scale_offset_bytes, col, a);
      scale_put(&recipe, slot[0] + layout.scale_offset_bytes, col,
                hard_addend(&g, float_of(a), weights[1]));
    }
    for (int i = 0; i < IMPLS; i++) {
      const void *const slots[2] = {slot[0], slot[1]};
      const mxg_matrix out = {y[i], MXG_DTYPE_F32, 1, COLS, 0};
      ck_assert_int_eq(impls[i].combine(&recipe, slots, 2, weights, &layout, 0, COLS, &out, NULL),
                       MXG_OK);
    }
    for (size_t col = 0; col < COLS; col++) {
      const float a = float_of(scale_at(&recipe, slot[1] + layout.scale_offset_bytes, col));
      const float acc = float_of(scale_at(&recipe, slot[0] + layout.scale_offset_bytes, col));
      const float want = fmaf(a, weights[1], acc + 0.0f); /* acc: fma(acc, 1, +0.0) */
      const uint32_t bits = isnan(want) ? CANONICAL_NAN : bits_of(want);
      for (int i = 0; i < IMPLS; i++) {
        if (y[i][col] != bits)
          ck_abort_msg("%s: fma(%a, %a, %a): %08X, want %08X", impls[i].name, (double)a,
                       (double)weights[1], (double)acc, y[i][col], bits);
      }
      triples++;
    }
  }
  printf("fma: %zu triples equal to fmaf\n", triples);
  fflush(stdout);
  ck_assert_uint_ge(triples, thinned(10000000));
  free(slot[0]);
  free(slot[1]);
}
END_TEST

CHECK_MAIN("fma in combine", test_fma_against_libm)
