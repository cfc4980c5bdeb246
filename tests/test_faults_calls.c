/* test_faults_calls.c: faults that shipped elsewhere, in calls: empty shapes, dead rows, equal
 * sizes of two recipes, a missing instruction set; on both implementations.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "guard.h"
#include "known_blocks.h"
#include "recipes.h"
#include "values.h"

/* ---- EmptyShape ---- */

START_TEST(test_EmptyShape) {
  for (size_t n = 0; n < KNOWNS * IMPLS; n++) {
    const impl *side = &impls[n % IMPLS];
    const mxg_recipe recipe = recipe_of(knowns[n / IMPLS].preset);
    const mxg_layout_options slot = {
        MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
    for (size_t shape = 0; shape < 3; shape++) {
      const size_t rows = shape == 0 ? 5 : 0, cols = shape == 1 ? 7168 : 0;
      mxg_layout layout;
      ck_assert_int_eq(side->layout_for(&recipe, rows, cols, NULL, &layout), MXG_OK);
      ck_assert_uint_eq(layout.codes_bytes, 0);
      ck_assert_uint_eq(layout.scales_bytes, 0);
      const mxg_matrix_view x = {NULL, MXG_DTYPE_BF16, rows, cols, 0};
      const mxg_packed out = {NULL, 0, NULL, 0, layout};
      ck_assert_int_eq(side->quantize(&recipe, &x, NULL, &out, NULL), MXG_OK);
      const mxg_packed_view in = {NULL, 0, NULL, 0, layout};
      const mxg_matrix y = {NULL, MXG_DTYPE_F32, rows, cols, 0};
      ck_assert_int_eq(side->dequantize(&recipe, &in, &y, NULL), MXG_OK);
      ck_assert_int_eq(side->layout_for(&recipe, rows, cols, &slot, &layout), MXG_OK);
      ck_assert_int_eq(side->combine(&recipe, NULL, 0, NULL, &layout, 0, cols, &y, NULL), MXG_OK);
    }
    /* no live rows of many, with every pointer NULL: nothing is looked at */
    mxg_layout layout;
    ck_assert_int_eq(side->layout_for(&recipe, 0, 64, &slot, &layout), MXG_OK);
    /* no source at all: +0.0, and only that */
    uint32_t y[2 * 64];
    memset(y, 0xA5, sizeof y);
    const mxg_matrix out = {y, MXG_DTYPE_F32, 2, 64, 0};
    ck_assert_int_eq(side->combine(&recipe, NULL, 0, NULL, &layout, 0, 64, &out, NULL), MXG_OK);
    expect_filled(y, 0, sizeof y, "%s %s: combine of no sources", side->name, recipe_text(&recipe));
    ck_assert_int_eq(side->encode_f32(&recipe, NULL, 0, NULL), MXG_OK);
    ck_assert_int_eq(side->decode_f32(recipe.element, NULL, 0, NULL), MXG_OK);
    if (recipe.scale == MXG_SCALE_E8M0) {
      ck_assert_int_eq(side->e8m0_from_amax(&recipe, NULL, 0, NULL), MXG_OK);
      ck_assert_int_eq(side->e8m0_from_scale(&recipe, NULL, 0, NULL), MXG_OK);
      ck_assert_int_eq(side->e8m0_to_f32(recipe.edges, NULL, 0, NULL), MXG_OK);
    }
  }
  for (int i = 0; i < IMPLS; i++) {
    for (size_t d = 0; d < 3; d++) {
      ck_assert_int_eq(impls[i].to_f32(dtypes[d], NULL, 0, NULL), MXG_OK);
      ck_assert_int_eq(impls[i].from_f32(dtypes[d], NULL, 0, NULL), MXG_OK);
    }
    ck_assert_int_eq(impls[i].weight_shuffle(0, 16, NULL, NULL), MXG_OK);
    ck_assert_int_eq(impls[i].weight_unshuffle(16, 0, NULL, NULL), MXG_OK);
    ck_assert_int_eq(impls[i].gate_up_interleave(0, 16, 64, NULL, NULL), MXG_OK);
    ck_assert_int_eq(impls[i].gate_up_separate(4, 0, 64, NULL, NULL), MXG_OK);
  }
}
END_TEST

/* ---- LiveRows ---- */

START_TEST(test_LiveRows) {
  enum { ROWS = 24576, LIVE = 112, COLS = 64 };
  generator g = generator_start("test_LiveRows");
  for (size_t n = 0; n < KNOWNS * IMPLS; n++) {
    const impl *side = &impls[n % IMPLS];
    const mxg_recipe recipe = recipe_of(knowns[n / IMPLS].preset);
    guard x = guard_new(LIVE * COLS * 2, 0);
    values_fill(&g, VALUES_SPECIAL, MXG_DTYPE_BF16, LIVE, COLS, COLS, 32, x.data);
    guard_read_only(&x);
    const mxg_matrix_view view = {x.data, MXG_DTYPE_BF16, LIVE, COLS, 0};
    guard codes[2], scales[2], y[2];
    mxg_layout layout[2];
    for (int padded = 0; padded < 2; padded++) {
      const size_t rows = padded != 0 ? ROWS : LIVE;
      ck_assert_int_eq(side->layout_for(&recipe, rows, COLS, NULL, &layout[padded]), MXG_OK);
      codes[padded] = guard_new(layout[padded].codes_bytes, 0);
      scales[padded] = guard_new(layout[padded].scales_bytes, 0);
      y[padded] = guard_new(rows * COLS * 4, 0);
      memset(codes[padded].data, 0xFF, codes[padded].bytes);
      memset(scales[padded].data, 0xFF, scales[padded].bytes);
      memset(y[padded].data, 0xA5, y[padded].bytes);
      const mxg_packed out = {codes[padded].data, codes[padded].bytes, scales[padded].data,
                              scales[padded].bytes, layout[padded]};
      ck_assert_int_eq(side->quantize(&recipe, &view, NULL, &out, NULL), MXG_OK);
      const mxg_packed_view in = {out.codes, out.codes_capacity, out.scales, out.scales_capacity,
                                  out.layout};
      const mxg_matrix result = {y[padded].data, MXG_DTYPE_F32, LIVE, COLS, 0};
      ck_assert_int_eq(side->dequantize(&recipe, &in, &result, NULL), MXG_OK);
    }
    const char *name = recipe_text(&recipe);
    expect_bytes(codes[1].data, codes[0].data, codes[0].bytes, "%s: live codes", name);
    expect_bytes(scales[1].data, scales[0].data, scales[0].bytes, "%s: live scales", name);
    expect_bytes(y[1].data, y[0].data, y[0].bytes, "%s: live values", name);
    expect_filled(codes[1].data + codes[0].bytes, 0xFF, codes[1].bytes - codes[0].bytes,
                  "%s %s: dead codes", side->name, name);
    expect_filled(scales[1].data + scales[0].bytes, 0xFF, scales[1].bytes - scales[0].bytes,
                  "%s %s: dead scales", side->name, name);
    expect_filled(y[1].data + y[0].bytes, 0xA5, y[1].bytes - y[0].bytes, "%s %s: dead values",
                  side->name, name);
    for (int padded = 0; padded < 2; padded++) {
      guard_free(&codes[padded], name);
      guard_free(&scales[padded], name);
      guard_free(&y[padded], name);
    }
    guard_free(&x, name);
  }
}
END_TEST

/* ---- WireTag: the library's part. Equal sizes, other bytes, other values. ---- */

START_TEST(test_WireTag) {
  static packed_small fp8, mx;
  static uint32_t x[7168], y[7168];
  const mxg_recipe per_128 = recipe_of("aiter-fp8-128"), per_32 = recipe_of("mxfp8");
  fill_ones(x, 7168);
  for (int i = 0; i < IMPLS; i++) {
    quantize_small(&impls[i], &per_128, MXG_DTYPE_BF16, x, 1, 7168, &fp8);
    quantize_small(&impls[i], &per_32, MXG_DTYPE_BF16, x, 1, 7168, &mx);
    ck_assert_uint_eq(fp8.layout.codes_bytes, 7168);
    ck_assert_uint_eq(mx.layout.codes_bytes, 7168);
    ck_assert_uint_eq(fp8.layout.scales_bytes, 224);
    ck_assert_uint_eq(mx.layout.scales_bytes, 224);
    for (size_t s = 0; s < 224; s += 4) {
      static const uint8_t f32_scale[4] = {0x25, 0x49, 0x12, 0x3B};
      static const uint8_t e8m0_scales[4] = {0x77, 0x77, 0x77, 0x77};
      expect_bytes(fp8.scales + s, f32_scale, 4, "%s: f32 scale at %zu", impls[i].name, s);
      expect_bytes(mx.scales + s, e8m0_scales, 4, "%s: E8M0 scales at %zu", impls[i].name, s);
    }
    expect_filled(fp8.codes, 0x7E, 1, "fp8 code");
    expect_filled(mx.codes, 0x78, 1, "mxfp8 code");
    /* the wrong recipe decodes without complaint, to something else: hence the tag */
    mx.layout = fp8.layout;
    dequantize_small(&impls[i], &per_128, &mx, MXG_DTYPE_F32, y);
    ck_assert_msg(y[0] != (uint32_t)ONE, "read by the other recipe, one is %08X", y[0]);
    /* a layout made for one recipe is not accepted for the other */
    const mxg_packed_view in = {fp8.codes, 7168, fp8.scales, 224, fp8.layout};
    const mxg_matrix out = {y, MXG_DTYPE_F32, 1, 7168, 0};
    ck_assert_int_eq(impls[i].dequantize(&per_32, &in, &out, NULL), MXG_ERR_LAYOUT);
  }
}
END_TEST

/* ---- FailLoudly ---- */

START_TEST(test_FailLoudly) {
  /* statuses are pinned for ever */
  ck_assert_int_eq(MXG_OK, 0);
  ck_assert_int_eq(MXG_ERR_NULL, 1);
  ck_assert_int_eq(MXG_ERR_SHAPE, 2);
  ck_assert_int_eq(MXG_ERR_SIZE, 3);
  ck_assert_int_eq(MXG_ERR_CAPACITY, 4);
  ck_assert_int_eq(MXG_ERR_OVERLAP, 5);
  ck_assert_int_eq(MXG_ERR_RECIPE, 6);
  ck_assert_int_eq(MXG_ERR_LAYOUT, 7);
  ck_assert_int_eq(MXG_ERR_TYPE, 8);
  ck_assert_int_eq(MXG_ERR_RESERVED, 9);
  ck_assert_int_eq(MXG_ERR_ISA, 10);
  ck_assert_int_eq(MXG_ERR_FENV, 11);
  ck_assert_int_eq(MXG_ERR_PRESET, 20);
  ck_assert_int_eq(MXG_ERR_KEY_UNKNOWN, 21);
  ck_assert_int_eq(MXG_ERR_KEY_DUPLICATE, 22);
  ck_assert_int_eq(MXG_ERR_KEY_INAPPLICABLE, 23);
  ck_assert_int_eq(MXG_ERR_KEY_MISSING, 24);
  ck_assert_int_eq(MXG_ERR_VALUE, 25);
  ck_assert_int_eq(MXG_ERR_SYNTAX, 26);
  ck_assert_int_eq(MXG_ERR_NO_DEVICE, 40);
  ck_assert_int_eq(MXG_ERR_ARCH, 41);
  ck_assert_int_eq(MXG_ERR_DEVICE, 42);

  /* an instruction set that this CPU lacks, or that nobody knows: an error and not a byte */
  static packed_small p;
  uint32_t x[64], y[64];
  fill_ones(x, 64);
  const uint32_t have = mxg_cpu_features();
  ck_assert_msg((have & MXG_ISA_PORTABLE) != 0, "portable is always there");
  for (unsigned bit = 0; bit < 32; bit++) {
    const uint32_t mask = UINT32_C(1) << bit;
    const mxg_run run = {0, mask | MXG_ISA_PORTABLE, {0}};
    const bool lacking = (have & mask) == 0;
    for (int i = 0; i < IMPLS; i++) {
      for (size_t k = 0; k < KNOWNS; k++) {
        const mxg_recipe recipe = recipe_of(knowns[k].preset);
        const mxg_status want = lacking ? MXG_ERR_ISA : MXG_OK;
        ck_assert_int_eq(impls[i].layout_for(&recipe, 1, 64, NULL, &p.layout), MXG_OK);
        memset(p.codes, 0xA5, sizeof p.codes);
        memset(p.scales, 0xA5, sizeof p.scales);
        memset(y, 0xA5, sizeof y);
        const mxg_matrix_view view = {x, MXG_DTYPE_F32, 1, 64, 0};
        const mxg_packed out = {p.codes, sizeof p.codes, p.scales, sizeof p.scales, p.layout};
        ck_assert_int_eq(impls[i].quantize(&recipe, &view, NULL, &out, &run), want);
        if (lacking) {
          expect_filled(p.codes, 0xA5, sizeof p.codes, "codes after MXG_ERR_ISA");
          expect_filled(p.scales, 0xA5, sizeof p.scales, "scales after MXG_ERR_ISA");
        }
        const mxg_packed_view in = {p.codes, sizeof p.codes, p.scales, sizeof p.scales, p.layout};
        const mxg_matrix result = {y, MXG_DTYPE_F32, 1, 64, 0};
        ck_assert_int_eq(impls[i].dequantize(&recipe, &in, &result, &run), want);
        if (lacking) expect_filled(y, 0xA5, sizeof y, "values after MXG_ERR_ISA");
      }
    }
  }
}
END_TEST

CHECK_MAIN("faults in calls", test_EmptyShape, test_LiveRows, test_WireTag, test_FailLoudly)
