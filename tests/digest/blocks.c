/* blocks.c: quantise, dequantise and combine of every preset and data type.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"

enum { ROWS = 4, TOP_K = 9, MAX_COLS = 1031 };

static float values[ROWS * MAX_COLS], result[2][ROWS * MAX_COLS];
uint8_t digest_code_bytes[2][DIGEST_CODES], digest_scale_bytes[2][DIGEST_SCALES];
static const float row_weight[ROWS] = {0.5f, -3.0f, 1.25f, 0.0999755859375f};

static size_t edge_lengths(const mxg_recipe *recipe, size_t *lengths) {
  const size_t block = recipe->block ? recipe->block : 32;
  const size_t all[] = {0, 1, block - 1, block, block + 1, 2 * block - 1, 2 * block + 1, 74, 1031};
  memcpy(lengths, all, sizeof all);
  return sizeof all / sizeof all[0];
}

/* One call into digest_code_bytes[which] and digest_scale_bytes[which]; ref: the golden model. */
static void quantize_into(int which, bool ref, const mxg_recipe *recipe, const mxg_matrix_view *x,
                          const float *weight, const mxg_layout *layout, const mxg_run *run) {
  memset(digest_code_bytes[which], 0xA5, layout->codes_bytes);
  memset(digest_scale_bytes[which], 0xA5, layout->scales_bytes);
  const mxg_packed out = {
      digest_code_bytes[which], layout->codes_bytes,
      layout->placement == MXG_PLACEMENT_SLOT ? NULL : digest_scale_bytes[which],
      layout->scales_bytes, *layout};
  digest_expect((ref ? mxg_ref_quantize : mxg_quantize)(recipe, x, weight, &out, run) == MXG_OK,
                "status of quantise");
  if (which == 0) return;
  digest_expect(memcmp(digest_code_bytes[0], digest_code_bytes[1], layout->codes_bytes) == 0,
                "codes");
  digest_expect(memcmp(digest_scale_bytes[0], digest_scale_bytes[1], layout->scales_bytes) == 0,
                "scales");
}

void digest_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x, const float *weight,
                     const mxg_layout *layout) {
  mxg_run run;
  quantize_into(0, false, recipe, x, weight, layout, NULL);
  quantize_into(1, true, recipe, x, weight, layout, NULL);
  for (size_t i = 0; digest_run_at(i, &run); i++) {
    quantize_into(1, false, recipe, x, weight, layout, &run);
    digest_ran(recipe, MXG_OPERATION_QUANTIZE, x->dtype, &run);
  }
  digest_size(x->cols);
  hash_bytes(digest_code_bytes[0], layout->codes_bytes);
  hash_bytes(digest_scale_bytes[0], layout->scales_bytes);
}

mxg_layout digest_layout(const mxg_recipe *recipe, size_t rows, size_t cols,
                         const mxg_layout_options *options) {
  mxg_layout layout[2];
  memset(layout, 0, sizeof layout);
  digest_expect(mxg_layout_for(recipe, rows, cols, options, &layout[0]) == MXG_OK, "layout");
  digest_expect(mxg_ref_layout_for(recipe, rows, cols, options, &layout[1]) == MXG_OK, "layout");
  digest_expect(memcmp(&layout[0], &layout[1], sizeof layout[0]) == 0, "layout");
  if (layout[0].codes_bytes > sizeof digest_code_bytes[0] ||
      layout[0].scales_bytes > sizeof digest_scale_bytes[0]) {
    (void)fputs("the buffers of this program are too small\n", stderr);
    exit(1);
  }
  return layout[0];
}

static void digest_edges(const mxg_recipe *recipe, mxg_dtype dtype, const float *weight) {
  size_t lengths[16];
  const size_t count = edge_lengths(recipe, lengths);
  for (size_t i = 0; i < count; i++) {
    const mxg_layout layout = digest_layout(recipe, ROWS, lengths[i], NULL);
    input_fill(values, dtype, ROWS, lengths[i]);
    const mxg_matrix_view x = {values, dtype, ROWS, lengths[i], 0};
    digest_quantize(recipe, &x, weight, &layout);
  }
}

static void digest_dequantise(const mxg_recipe *recipe, mxg_dtype dtype) {
  size_t lengths[16];
  const size_t count = edge_lengths(recipe, lengths);
  for (size_t i = 0; i < count; i++) {
    const mxg_layout layout = digest_layout(recipe, ROWS, lengths[i], NULL);
    const size_t bytes = ROWS * lengths[i] * mxg_dtype_bytes(dtype);
    input_fill_bytes(digest_code_bytes[0], layout.codes_bytes);
    input_fill_bytes(digest_scale_bytes[0], layout.scales_bytes);
    const mxg_packed_view in = {digest_code_bytes[0], layout.codes_bytes, digest_scale_bytes[0],
                                layout.scales_bytes, layout};
    const mxg_matrix y[2] = {{result[0], dtype, ROWS, lengths[i], 0},
                             {result[1], dtype, ROWS, lengths[i], 0}};
    mxg_run run;
    digest_expect(mxg_dequantize(recipe, &in, &y[0], NULL) == MXG_OK &&
                      mxg_ref_dequantize(recipe, &in, &y[1], NULL) == MXG_OK,
                  "status of dequantise");
    digest_expect(memcmp(result[0], result[1], bytes) == 0, "values");
    for (size_t r = 0; digest_run_at(r, &run); r++) {
      memset(result[1], 0xA5, bytes);
      digest_expect(mxg_dequantize(recipe, &in, &y[1], &run) == MXG_OK, "status of dequantise");
      digest_expect(memcmp(result[0], result[1], bytes) == 0, "values by instruction set");
      digest_ran(recipe, MXG_OPERATION_DEQUANTIZE, dtype, &run);
    }
    digest_values(result[0], dtype, ROWS * lengths[i]);
  }
}

/* Sources: rows of quantised data and of any bytes, some missing; the codec in two segments. */
static void digest_combine(const mxg_recipe *recipe, mxg_dtype dtype, bool weighted) {
  const size_t cols = recipe->block ? 2 * recipe->block + 5 : 133;
  const size_t top_ks[] = {1, 2, 8, TOP_K};
  const mxg_layout_options options = {.placement = MXG_PLACEMENT_SLOT};
  const mxg_layout layout = digest_layout(recipe, ROWS * TOP_K, cols, &options);
  static float many[ROWS * TOP_K * (2 * 256 + 5)];
  input_fill(many, MXG_DTYPE_F32, ROWS * TOP_K, cols);
  const mxg_matrix_view x = {many, MXG_DTYPE_F32, ROWS * TOP_K, cols, 0};
  const mxg_packed packed = {digest_code_bytes[0], layout.codes_bytes, NULL, 0, layout};
  digest_expect(mxg_quantize(recipe, &x, NULL, &packed, NULL) == MXG_OK, "status of quantise");
  input_fill_bytes(digest_code_bytes[0] + 2 * layout.slot_stride_bytes, 3 * layout.slot_bytes);

  for (size_t t = 0; t < sizeof top_ks / sizeof top_ks[0]; t++) {
    const size_t top_k = top_ks[t];
    const void *slots[ROWS * TOP_K];
    float weight[ROWS * TOP_K];
    for (size_t i = 0; i < ROWS * top_k; i++) {
      const bool missing = input_random() % 5 == 0 || i / top_k == 2;
      slots[i] = missing ? NULL : digest_code_bytes[0] + i * layout.slot_stride_bytes;
      weight[i] = (float)(int)(input_random() % 2001) / 1000.0f - 0.5f;
    }
    const mxg_matrix y[2] = {{result[0], dtype, ROWS, cols, 0}, {result[1], dtype, ROWS, cols, 0}};
    const float *const w = weighted ? weight : NULL;
    const size_t cut = 1 + input_random() % cols;
    digest_expect(
        mxg_combine(recipe, slots, top_k, w, &layout, 0, cut, &y[0], NULL) == MXG_OK &&
            mxg_combine(recipe, slots, top_k, w, &layout, cut, cols, &y[0], NULL) == MXG_OK &&
            mxg_ref_combine(recipe, slots, top_k, w, &layout, 0, cols, &y[1], NULL) == MXG_OK,
        "status of combine");
    const size_t bytes = ROWS * cols * mxg_dtype_bytes(dtype);
    digest_expect(memcmp(result[0], result[1], bytes) == 0, "sums");
    mxg_run run;
    for (size_t r = 0; digest_run_at(r, &run); r++) {
      memset(result[1], 0xA5, bytes);
      digest_expect(
          mxg_combine(recipe, slots, top_k, w, &layout, 0, cut, &y[1], &run) == MXG_OK &&
              mxg_combine(recipe, slots, top_k, w, &layout, cut, cols, &y[1], &run) == MXG_OK,
          "status of combine");
      digest_expect(memcmp(result[0], result[1], bytes) == 0, "sums by instruction set");
      digest_ran(recipe, MXG_OPERATION_COMBINE, dtype, &run);
    }
    digest_values(result[0], dtype, ROWS * cols);
  }
}

void digest_presets(void) {
  const mxg_preset *preset;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++)
    for (size_t d = 0; d < 3; d++) {
      const mxg_recipe *const recipe = &preset->recipe;
      input_seed(1 + d);
      digest_begin("%s %s quantize", preset->name, input_dtype_names[d]);
      digest_edges(recipe, input_dtypes[d], NULL);
      digest_finish();
      digest_begin("%s %s quantize weighted", preset->name, input_dtype_names[d]);
      digest_edges(recipe, input_dtypes[d], row_weight);
      digest_finish();
      digest_begin("%s %s dequantize", preset->name, input_dtype_names[d]);
      digest_dequantise(recipe, input_dtypes[d]);
      digest_finish();
      digest_begin("%s %s combine", preset->name, input_dtype_names[d]);
      digest_combine(recipe, input_dtypes[d], false);
      digest_finish();
      digest_begin("%s %s combine weighted", preset->name, input_dtype_names[d]);
      digest_combine(recipe, input_dtypes[d], true);
      digest_finish();
    }
}
