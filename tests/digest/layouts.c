/* layouts.c: the orders of scales, and the reorders of scales and weights.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "digest.h"

static const char *const order_names[] = {"row_major", "transposed", "aiter_shuffle",
                                          "blocked_128x4"};

static void digest_orders(void) {
  static const char *const presets[] = {"mxfp4", "aiter-mxfp8", "mori-fp8"};
  static uint16_t wide[130 * 200];
  input_seed(7);
  input_fill(wide, MXG_DTYPE_BF16, 130, 200);
  for (size_t p = 0; p < sizeof presets / sizeof presets[0]; p++)
    for (int order = 0; order < 4; order++) {
      mxg_recipe recipe;
      digest_begin("%s order %s", presets[p], order_names[order]);
      digest_expect(mxg_recipe_parse(presets[p], &recipe, NULL) == MXG_OK, "recipe");
      if (recipe.scale == MXG_SCALE_F32 && order >= MXG_ORDER_AITER_SHUFFLE) continue;
      for (size_t rows = 1; rows <= 130; rows += 43) {
        const mxg_layout_options options = {.order = (mxg_scale_order)order,
                                            .pad_byte = order >= MXG_ORDER_AITER_SHUFFLE ? 0x7F : 0,
                                            .scale_count = 9};
        const mxg_layout layout = digest_layout(&recipe, 300, 200, &options);
        const mxg_matrix_view x = {wide, MXG_DTYPE_BF16, rows, 200, 0};
        digest_quantize(&recipe, &x, NULL, &layout);
      }
      digest_finish();
    }
}

static void digest_reorders(void) {
  mxg_recipe recipe;
  digest_begin("reorder scales");
  digest_expect(mxg_recipe_parse("mxfp4", &recipe, NULL) == MXG_OK, "recipe");
  input_seed(11);
  for (int from = 0; from < 4; from++)
    for (int to = 0; to < 4; to++) {
      const mxg_layout_options options[2] = {{.order = (mxg_scale_order)from},
                                             {.order = (mxg_scale_order)to}};
      const mxg_layout a = digest_layout(&recipe, 140, 400, &options[0]);
      const mxg_layout b = digest_layout(&recipe, 140, 400, &options[1]);
      input_fill_bytes(digest_code_bytes[0], a.scales_bytes);
      for (int which = 0; which < 2; which++) {
        memset(digest_scale_bytes[which], 0xA5, b.scales_bytes);
        digest_expect((which ? mxg_ref_scales_reorder : mxg_scales_reorder)(
                          &a, digest_code_bytes[0], a.scales_bytes, &b, digest_scale_bytes[which],
                          b.scales_bytes, 139) == MXG_OK,
                      "status of reorder");
      }
      digest_expect(memcmp(digest_scale_bytes[0], digest_scale_bytes[1], b.scales_bytes) == 0,
                    "scales");
      hash_bytes(digest_scale_bytes[0], b.scales_bytes);
    }
  digest_finish();

  digest_begin("reorder weights");
  input_fill_bytes(digest_code_bytes[0], 2 * 2 * 32 * 128);
  typedef mxg_status reorder(size_t, size_t, const void *, void *);
  reorder *const shuffles[2][2] = {{mxg_weight_shuffle, mxg_ref_weight_shuffle},
                                   {mxg_weight_unshuffle, mxg_ref_weight_unshuffle}};
  typedef mxg_status interleave(size_t, size_t, size_t, const void *, void *);
  interleave *const interleaves[2][2] = {{mxg_gate_up_interleave, mxg_ref_gate_up_interleave},
                                         {mxg_gate_up_separate, mxg_ref_gate_up_separate}};
  for (int inverse = 0; inverse < 2; inverse++) {
    for (int which = 0; which < 2; which++)
      digest_expect(shuffles[inverse][which](64, 128, digest_code_bytes[0],
                                             digest_scale_bytes[which]) == MXG_OK,
                    "shuffle");
    digest_expect(memcmp(digest_scale_bytes[0], digest_scale_bytes[1], 64 * 128) == 0,
                  "shuffled weights");
    hash_bytes(digest_scale_bytes[0], 64 * 128);
    for (int which = 0; which < 2; which++)
      digest_expect(interleaves[inverse][which](2, 32, 128, digest_code_bytes[0],
                                                digest_scale_bytes[which]) == MXG_OK,
                    "gate/up");
    digest_expect(memcmp(digest_scale_bytes[0], digest_scale_bytes[1], 2 * 2 * 32 * 128) == 0,
                  "interleaved weights");
    hash_bytes(digest_scale_bytes[0], 2 * 2 * 32 * 128);
  }
  digest_finish();
}

void digest_layouts(void) {
  digest_orders();
  digest_reorders();
}
