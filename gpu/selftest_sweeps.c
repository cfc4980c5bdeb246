/* selftest_sweeps.c: everything that can be counted through: elements, amax, codes by scales.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "selftest_parts.h"

static unsigned thin_of(const mxg_worker *worker) {
  return worker->options->thin > 1 ? worker->options->thin : 1;
}

/* ---- elements: plain casts ---- */

static mxg_recipe cast_recipe(mxg_element element, mxg_overflow overflow,
                              mxg_nan_element nan_element) {
  mxg_recipe r;
  memset(&r, 0, sizeof r);
  r.element = element;
  r.scale = MXG_SCALE_NONE;
  r.overflow = overflow;
  r.nan_element = nan_element;
  r.accumulate = MXG_ACCUMULATE_FMA;
  return r;
}

/* Values of `dtype` with the bits first, first + 1, ... as rows of cols; then back from the codes. */
static void try_casts(mxg_worker *worker, const mxg_recipe *recipe, const char *label,
                      mxg_dtype dtype, const void *values, size_t rows, size_t cols,
                      mxg_result *result) {
  mxg_case c = {label, recipe, dtype, {0}, rows, cols, 0, NULL};
  const size_t bytes = rows * cols * mxg_dtype_bytes(dtype);
  if (mxg_ref_layout_for(recipe, rows, cols, NULL, &c.layout) != MXG_OK ||
      mxg_area_take(&worker->x, bytes, 0)) {
    mxg_result_say(result, "no layout or no memory for %s", label);
    return;
  }
  memcpy(worker->x.data, values, bytes);
  mxg_try_quantize(worker, &c, NULL, result);
  mxg_try_dequantize(worker, &c, result);
}

static void try_every_16_bits(mxg_worker *worker, const mxg_recipe *recipe, const char *label,
                              unsigned number, mxg_result *result) {
  enum { COUNT = 65536, COLS = 4096 };
  static const uint16_t lows[] = {0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
  uint16_t values[COLS];
  uint32_t floats[COLS];
  for (uint32_t first = 0; first < COUNT; first += COLS) {
    if ((first / COLS + number) % thin_of(worker) != 0) continue;
    for (uint32_t i = 0; i < COLS; i++) values[i] = (uint16_t)(first + i);
    try_casts(worker, recipe, label, MXG_DTYPE_BF16, values, 1, COLS, result);
    try_casts(worker, recipe, label, MXG_DTYPE_F16, values, 1, COLS, result);
    for (size_t k = 0; k < sizeof lows / sizeof lows[0]; k++) {
      for (uint32_t i = 0; i < COLS; i++) floats[i] = (first + i) << 16 | lows[k];
      try_casts(worker, recipe, label, MXG_DTYPE_F32, floats, 1, COLS, result);
    }
  }
}

void mxg_test_elements(mxg_worker *worker, unsigned part, mxg_result *result) {
  unsigned number = 0;
  for (int element = MXG_ELEMENT_E4M3FN; element <= MXG_ELEMENT_E3M2; element++)
    for (int overflow = MXG_OVERFLOW_SATURATE; overflow <= MXG_OVERFLOW_NONFINITE; overflow++)
      for (int nan = MXG_NAN_ELEMENT_CODE; nan <= MXG_NAN_ELEMENT_ZERO; nan++) {
        const mxg_recipe r =
            cast_recipe((mxg_element)element, (mxg_overflow)overflow, (mxg_nan_element)nan);
        char label[96] = "";
        if (mxg_recipe_check(&r, NULL) != MXG_OK) continue;
        if (number++ % MXG_PARTS != part) continue;
        if (mxg_recipe_print(&r, label, sizeof label) == 0) continue;
        try_every_16_bits(worker, &r, label, number, result);
      }
}

/* ---- elements: every float ---- */

void mxg_test_floats(mxg_worker *worker, mxg_element element, unsigned chunk, mxg_result *result) {
  enum { COLS = 4096, ROWS = (1 << 22) / COLS };
  const mxg_recipe r =
      cast_recipe(element, MXG_OVERFLOW_SATURATE,
                  element == MXG_ELEMENT_E2M1 ? MXG_NAN_ELEMENT_SIGN_MAX : MXG_NAN_ELEMENT_CODE);
  mxg_case c = {element == MXG_ELEMENT_E2M1 ? "E2M1 cast" : "E4M3FN cast",
                &r,
                MXG_DTYPE_F32,
                {0},
                ROWS,
                COLS,
                0,
                NULL};
  if (mxg_ref_layout_for(&r, ROWS, COLS, NULL, &c.layout) != MXG_OK ||
      mxg_area_take(&worker->x, (size_t)4 * ROWS * COLS, 0)) {
    mxg_result_say(result, "no layout or no memory for 2^22 floats");
    return;
  }
  for (uint32_t i = 0; i < ROWS * COLS; i++) {
    const uint32_t bits = chunk * (uint32_t)(ROWS * COLS) + i;
    memcpy(worker->x.data + 4 * (size_t)i, &bits, 4);
  }
  mxg_try_quantize(worker, &c, NULL, result);
}

/* ---- scales: every bf16 amax ---- */

/* A row is a block: the amax anywhere in it, the rest at most as great. */
static void fill_block(uint64_t *random, uint16_t amax, size_t cols, uint16_t *x) {
  for (size_t i = 0; i < cols; i++) {
    const uint64_t r = mxg_random(random);
    const uint16_t below = (uint16_t)(r & 1023); /* within 8 octaves */
    const uint16_t magnitude = r >> 10 & 7 ? (uint16_t)(amax > below ? amax - below : 0)
                                           : (uint16_t)((r >> 16) % (amax + 1u));
    x[i] = (uint16_t)(magnitude | (r >> 63 << 15));
  }
  const uint64_t r = mxg_random(random);
  /* NOLINTNEXTLINE(*-core.DivideZero): no block is empty */
  x[(r >> 8) % cols] = (uint16_t)(amax | (r >> 63 << 15));
}

void mxg_test_amax(mxg_worker *worker, const mxg_preset *preset, unsigned part,
                   mxg_result *result) {
  enum { AMAX_COUNT = 32768, ROWS = 256 };
  const mxg_recipe *recipe = &preset->recipe;
  if (recipe->scale == MXG_SCALE_NONE) return;
  const size_t cols = recipe->block;
  for (uint32_t first = 0; first < AMAX_COUNT; first += ROWS) {
    const uint32_t batch = first / ROWS;
    mxg_case c = {preset->name, recipe, MXG_DTYPE_BF16, {0}, ROWS, cols, 0, NULL};
    uint64_t random = 0xA3A50000u + first;
    if (batch % MXG_PARTS != part || batch / MXG_PARTS % thin_of(worker) != 0) continue;
    if (mxg_ref_layout_for(recipe, ROWS, cols, NULL, &c.layout) != MXG_OK ||
        mxg_area_take(&worker->x, ROWS * cols * 2, 0)) {
      mxg_result_say(result, "no layout or no memory for %s", preset->name);
      return;
    }
    for (uint32_t row = 0; row < ROWS; row++)
      fill_block(&random, (uint16_t)(first + row), cols,
                 (uint16_t *)(void *)worker->x.data + row * cols);
    mxg_try_quantize(worker, &c, NULL, result);
  }
}

/* ---- decoding: every code by scales; more rows than the grid has groups ---- */

static void fill_packed(mxg_worker *worker, const mxg_layout *layout, uint64_t *random) {
  for (size_t row = 0; row < layout->rows; row++) {
    unsigned char *codes = worker->want_codes.data + row * layout->payload_stride_bytes;
    for (size_t i = 0; i < layout->payload_row_bytes; i++) codes[i] = (unsigned char)i;
    for (size_t i = 0; i < layout->scale_row_bytes; i++)
      worker->want_scales.data[row * layout->scale_stride_bytes + i] =
          layout->scale_bytes == 1 ? (unsigned char)row : (unsigned char)(mxg_random(random) >> 9);
  }
}

static void try_every_code(mxg_worker *worker, const mxg_preset *preset, mxg_dtype dtype,
                           mxg_result *result) {
  mxg_case c = {preset->name, &preset->recipe, dtype, {0}, 256, 512, 0, NULL};
  uint64_t random = 0xDEC0DEu + (unsigned)dtype;
  if (mxg_ref_layout_for(c.recipe, c.rows, c.stride_elems, NULL, &c.layout) != MXG_OK ||
      mxg_area_take(&worker->want_codes, c.layout.codes_bytes, 0) ||
      mxg_area_take(&worker->want_scales, c.layout.scales_bytes, 0)) {
    mxg_result_say(result, "no layout or no memory for %s", preset->name);
    return;
  }
  fill_packed(worker, &c.layout, &random);
  mxg_try_dequantize(worker, &c, result);
}

static void try_many_rows(mxg_worker *worker, const mxg_preset *preset, size_t rows, size_t cols,
                          const uint32_t *live, mxg_result *result) {
  mxg_case c = {preset->name, &preset->recipe, MXG_DTYPE_BF16, {0}, rows, cols, 0, live};
  uint64_t random = 0xB16B00u + rows;
  if (mxg_ref_layout_for(c.recipe, rows, cols, NULL, &c.layout) != MXG_OK ||
      mxg_area_take(&worker->x, rows * cols * 2, 0)) {
    mxg_result_say(result, "no layout or no memory for %s", preset->name);
    return;
  }
  mxg_fill_values(&random, worker->x.data, c.dtype, rows, cols, cols);
  mxg_try_quantize(worker, &c, NULL, result);
  mxg_try_dequantize(worker, &c, result);
}

void mxg_test_decode(mxg_worker *worker, const mxg_preset *preset, unsigned part,
                     mxg_result *result) {
  static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_F16, MXG_DTYPE_BF16};
  const uint32_t live = 4001;
  if (part < 3 && part < 3 / thin_of(worker) + 1)
    try_every_code(worker, preset, dtypes[part], result);
  if (thin_of(worker) > 1) return;
  if (part == 3) try_many_rows(worker, preset, 20011, 32, NULL, result);
  if (part == 4) try_many_rows(worker, preset, 9001, 32, &live, result);
  if (part == 5) try_many_rows(worker, preset, 66, 7168, NULL, result);
}
