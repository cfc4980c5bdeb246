/* compare_codes.c: codes and scales of one quantised matrix against another, row by row: a row of
 * equal bytes costs two memcmp, only others are looked into.
 * SPDX-License-Identifier: MIT */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What stays the same over the whole comparison. */
typedef struct comparison {
  mxg_report *report;
  const mxg_side *got;
  mxg_source *source; /* or NULL */
  unsigned bits;      /* of a code */
  bool nan_code[256];
  bool skips_nan;                          /* --skip-nan, in a format without NaN */
  unsigned char *got_scales, *want_scales; /* of one row of a tile */
  size_t tile_cols;
  mxg_scratch got_values, want_values; /* f32 of one row of a tile, opened when first needed */
} comparison;

/* One row of a tile. */
typedef struct row_pair {
  size_t row, col, cols;      /* col: first of the tile */
  size_t block, used, stored; /* block: first of the tile; scales used and stored from there on */
  const mxg_side *want;
  const unsigned char *got_codes, *want_codes;
  bool has_codes, has_scales; /* both sides have them */
  bool is_decoded;            /* *_values hold this row */
} row_pair;

static uint32_t code_at(const unsigned char *codes, size_t index, unsigned bits) {
  const size_t bit = index % 8 * bits;
  const unsigned char *at = codes + index / 8 * bits + bit / 8;
  uint32_t window = *at;
  if (bit % 8 + bits > 8) window |= (uint32_t)at[1] << 8;
  return window >> (bit % 8) & ((1u << bits) - 1);
}

uint32_t mxg_little_word(const unsigned char *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
         (uint32_t)bytes[3] << 24;
}

float mxg_float_of_bits(uint32_t bits) {
  float value = 0.0f;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static mxg_cell scale_cell(const mxg_recipe *recipe, const unsigned char *scales, size_t index) {
  mxg_cell cell = {0, 0, true, 0.0f};
  if (recipe->scale == MXG_SCALE_F32) {
    cell.digits = 8;
    cell.bits = mxg_little_word(scales + 4 * index);
    cell.value = mxg_float_of_bits(cell.bits);
  } else {
    cell.digits = 2;
    cell.bits = scales[index];
    mxg_e8m0_to_f32(recipe->edges, scales + index, 1, &cell.value);
  }
  return cell;
}

static mxg_cell input_cell(const mxg_source *source, size_t row, size_t col) {
  const mxg_tensor *tensor = source->tensor;
  const size_t width = mxg_dtype_bytes((mxg_dtype)tensor->dtype);
  const unsigned char *at = tensor->data + (row * tensor->cols + col) * width;
  mxg_cell cell = {width == 4 ? 8 : 4, 0, true, 0.0f};
  if (width == 4) {
    memcpy(&cell.bits, at, 4);
  } else {
    uint16_t half = 0;
    memcpy(&half, at, 2);
    cell.bits = half;
  }
  mxg_to_f32((mxg_dtype)tensor->dtype, at, 1, &cell.value);
  return cell;
}

/* The greatest magnitude of a block as the recipe sees it, NaN left out. */
static mxg_cell amax_cell(const mxg_source *source, const row_pair *pair, size_t block) {
  const size_t width = source->recipe.block;
  const size_t first = block * width;
  const size_t last =
      first + width < pair->col + pair->cols ? first + width : pair->col + pair->cols;
  float amax = 0.0f;
  for (size_t col = first; col < last; col++) {
    const float magnitude = fabsf(mxg_source_value(source, pair->row, col));
    if (magnitude > amax) amax = magnitude;
  }
  mxg_cell cell = {8, 0, true, amax};
  memcpy(&cell.bits, &amax, 4);
  return cell;
}

/* Decodes one row of a tile with the library itself. */
static int decode(const mxg_side *side, const unsigned char *codes, const unsigned char *scales,
                  size_t cols, unsigned char *values) {
  mxg_layout layout;
  const int status = mxg_make_layout(&side->recipe, 1, cols, NULL, &layout);
  if (status) return status;
  const mxg_packed_view packed = {codes, layout.codes_bytes, scales, layout.scales_bytes, layout};
  const mxg_matrix matrix = {values, MXG_DTYPE_F32, 1, cols, 0};
  const mxg_status result = mxg_dequantize(&side->recipe, &packed, &matrix, NULL);
  return result == MXG_OK ? MXG_EXIT_OK : mxg_fail_status(result, "dequantize");
}

static int decode_pair(comparison *compare, row_pair *pair) {
  if (pair->is_decoded) return MXG_EXIT_OK;
  pair->is_decoded = true;
  int status = MXG_EXIT_OK;
  const size_t bytes = compare->tile_cols * sizeof(float);
  if (!compare->got_values.data) status = mxg_scratch_open(bytes, &compare->got_values);
  if (!status && !compare->want_values.data)
    status = mxg_scratch_open(bytes, &compare->want_values);
  if (!status)
    status = decode(compare->got, pair->got_codes, compare->got_scales, pair->cols,
                    compare->got_values.data);
  if (!status)
    status = decode(pair->want, pair->want_codes, compare->want_scales, pair->cols,
                    compare->want_values.data);
  return status;
}

/* The cell of value `index` of a decoded row. */
static mxg_cell value_cell(const mxg_scratch *values, size_t index) {
  mxg_cell cell = {8, 0, true, 0.0f};
  memcpy(&cell.bits, values->data + 4 * index, 4);
  memcpy(&cell.value, values->data + 4 * index, 4);
  return cell;
}

static void set_scales(const comparison *compare, const row_pair *pair, size_t index,
                       mxg_difference *out) {
  if (!pair->has_scales || compare->got->layout.scale_bytes == 0) return;
  out->got_scale = scale_cell(&compare->got->recipe, compare->got_scales, index);
  out->want_scale = scale_cell(&pair->want->recipe, compare->want_scales, index);
}

/* Scale `index` of the tile's row. */
static void compare_scale(comparison *compare, const row_pair *pair, size_t index) {
  mxg_report *report = compare->report;
  const size_t width = compare->got->layout.scale_bytes;
  if (memcmp(compare->got_scales + index * width, compare->want_scales + index * width, width) == 0)
    return;
  const mxg_difference_kind kind =
      index < pair->used ? MXG_DIFFERENCE_SCALE : MXG_DIFFERENCE_UNUSED_SCALE;
  mxg_difference difference = {.kind = kind, .row = pair->row, .has_block = true};
  set_scales(compare, pair, index, &difference);
  if (width == 4 && isnan(difference.got_scale.value) && isnan(difference.want_scale.value)) {
    report->counts[kind].nan_only++;
    if (!report->bits) return;
  }
  if (report->chart && kind == MXG_DIFFERENCE_SCALE)
    mxg_chart_scale(report->chart, pair->row, pair->block + index);
  if (!mxg_report_count(report, kind)) return;
  difference.block = pair->block + index;
  difference.col = difference.block * compare->got->recipe.block;
  if (compare->source && kind == MXG_DIFFERENCE_SCALE)
    difference.input = amax_cell(compare->source, pair, difference.block);
  mxg_report_add(report, &difference);
}

/* A code that differs, for the page: where, and by how much its value is off. */
static int chart_code(comparison *compare, row_pair *pair, size_t index) {
  mxg_chart *chart = compare->report->chart;
  const size_t col = pair->col + index;
  float got = NAN, want = NAN;
  mxg_chart_code(chart, pair->row, col);
  if (pair->has_scales) {
    const int status = decode_pair(compare, pair);
    if (status) return status;
    got = value_cell(&compare->got_values, index).value;
    want = value_cell(&compare->want_values, index).value;
  } else if (!compare->source) {
    return MXG_EXIT_OK;
  }
  const float of = compare->source ? mxg_source_value(compare->source, pair->row, col) : want;
  mxg_chart_error(chart, of, got, want);
  return MXG_EXIT_OK;
}

/* Elements of the input by exponent, those that differ and those that do not. */
static void chart_input(const comparison *compare, const row_pair *pair) {
  for (size_t i = 0; i < pair->cols; i++)
    mxg_chart_element(compare->report->chart,
                      mxg_source_value(compare->source, pair->row, pair->col + i));
}

static int compare_code(comparison *compare, row_pair *pair, size_t index) {
  mxg_report *report = compare->report;
  const uint32_t got = code_at(pair->got_codes, index, compare->bits);
  const uint32_t want = code_at(pair->want_codes, index, compare->bits);
  if (got == want) return MXG_EXIT_OK;
  if (compare->nan_code[got] && compare->nan_code[want]) {
    report->counts[MXG_DIFFERENCE_CODE].nan_only++;
    if (!report->bits) return MXG_EXIT_OK;
  }
  const size_t col = pair->col + index;
  if (compare->skips_nan && isnan(mxg_source_value(compare->source, pair->row, col))) {
    report->counts[MXG_DIFFERENCE_CODE].skipped++;
    return MXG_EXIT_OK;
  }
  if (report->chart) {
    const int status = chart_code(compare, pair, index);
    if (status) return status;
  }
  if (!mxg_report_count(report, MXG_DIFFERENCE_CODE)) return MXG_EXIT_OK;
  const int digits = compare->bits > 4 ? 2 : 1;
  mxg_difference difference = {.kind = MXG_DIFFERENCE_CODE,
                               .row = pair->row,
                               .col = col,
                               .got = {.digits = digits, .bits = got},
                               .want = {.digits = digits, .bits = want}};
  if (compare->source) {
    difference.input = input_cell(compare->source, pair->row, col);
    difference.dtype = (mxg_dtype)compare->source->tensor->dtype;
  }
  if (compare->got->recipe.block) {
    difference.has_block = true;
    difference.block = col / compare->got->recipe.block;
    set_scales(compare, pair, difference.block - pair->block, &difference);
  }
  if (pair->has_scales) {
    const int status = decode_pair(compare, pair);
    if (status) return status;
    difference.got_value = value_cell(&compare->got_values, index);
    difference.want_value = value_cell(&compare->want_values, index);
  }
  mxg_report_add(report, &difference);
  return MXG_EXIT_OK;
}

/* Bits of the last byte of a row that belong to no element. */
static void compare_unused_bits(comparison *compare, const row_pair *pair) {
  const unsigned tail_bits = (unsigned)(pair->cols % 8 * compare->bits % 8);
  if (!compare->report->bits || tail_bits == 0) return;
  const size_t last = (pair->cols * compare->bits + 7) / 8 - 1;
  const uint32_t got = (uint32_t)pair->got_codes[last] >> tail_bits;
  const uint32_t want = (uint32_t)pair->want_codes[last] >> tail_bits;
  compare->report->counts[MXG_DIFFERENCE_UNUSED_BITS].compared++;
  if (got == want || !mxg_report_count(compare->report, MXG_DIFFERENCE_UNUSED_BITS)) return;
  const mxg_difference difference = {.kind = MXG_DIFFERENCE_UNUSED_BITS,
                                     .row = pair->row,
                                     .col = pair->col + pair->cols,
                                     .got = {.digits = 2, .bits = got},
                                     .want = {.digits = 2, .bits = want}};
  mxg_report_add(compare->report, &difference);
}

static int compare_row(comparison *compare, row_pair *pair) {
  mxg_report *report = compare->report;
  const size_t width = compare->got->layout.scale_bytes;
  const size_t code_bytes =
      (pair->cols / 8) * compare->bits + (pair->cols % 8 * compare->bits + 7) / 8;
  if (pair->has_codes) report->counts[MXG_DIFFERENCE_CODE].compared += pair->cols;
  if (report->chart && compare->source && pair->has_codes) chart_input(compare, pair);
  if (pair->has_scales && width) {
    report->counts[MXG_DIFFERENCE_SCALE].compared += pair->used;
    report->counts[MXG_DIFFERENCE_UNUSED_SCALE].compared += pair->stored - pair->used;
    mxg_side_scales(compare->got, pair->row, pair->block, pair->stored, compare->got_scales);
    mxg_side_scales(pair->want, pair->row, pair->block, pair->stored, compare->want_scales);
  }
  const bool codes_differ =
      pair->has_codes && memcmp(pair->got_codes, pair->want_codes, code_bytes) != 0;
  const bool scales_differ =
      pair->has_scales && width &&
      memcmp(compare->got_scales, compare->want_scales, pair->stored * width) != 0;
  if (pair->has_codes && !codes_differ) compare_unused_bits(compare, pair);
  if (!codes_differ && !scales_differ) return MXG_EXIT_OK;

  /* in the order of columns, each block's scale before its codes */
  const size_t block = width ? compare->got->recipe.block : pair->cols;
  for (size_t first = 0, index = 0, last = 0; first < pair->cols; first = last, index++) {
    last = block < pair->cols - first ? first + block : pair->cols;
    if (scales_differ) compare_scale(compare, pair, index);
    for (size_t i = first; codes_differ && i < last; i++) {
      const int status = compare_code(compare, pair, i);
      if (status) return status;
    }
  }
  if (codes_differ) compare_unused_bits(compare, pair);
  for (size_t index = pair->used; scales_differ && index < pair->stored; index++)
    compare_scale(compare, pair, index);
  return MXG_EXIT_OK;
}

static int compare_tile(comparison *compare, const mxg_side *want, size_t row, size_t rows,
                        size_t col, size_t cols) {
  const mxg_side *got = compare->got;
  row_pair pair = {.col = col, .cols = cols, .want = want};
  if (got->layout.scale_bytes) {
    pair.block = col / got->recipe.block;
    pair.used = mxg_size_ceil_div(cols, got->recipe.block);
    pair.stored = pair.used;
    if (col + cols == got->layout.cols) {
      const size_t in_want = want->layout.scale_count + want->first_col / got->recipe.block;
      const size_t in_both = in_want < got->layout.scale_count ? in_want : got->layout.scale_count;
      pair.stored = in_both - pair.block;
    }
  }
  for (pair.row = row; pair.row < row + rows; pair.row++) {
    pair.is_decoded = false;
    const size_t in_want = pair.row - want->first_row;
    pair.has_codes = pair.row < got->code_rows && in_want < want->code_rows;
    pair.has_scales = pair.row < got->scale_rows && in_want < want->scale_rows;
    if (pair.has_codes) {
      pair.got_codes = mxg_side_codes(got, pair.row, col);
      pair.want_codes = mxg_side_codes(want, pair.row, col);
    }
    const int status = compare_row(compare, &pair);
    if (status) return status;
  }
  return MXG_EXIT_OK;
}

static int find_nan_codes(comparison *compare) {
  uint8_t codes[256];
  float values[256];
  for (int code = 0; code < 256; code++) codes[code] = (uint8_t)code;
  const mxg_status status = mxg_decode_f32(compare->got->recipe.element, codes, 256, values);
  if (status != MXG_OK) return mxg_fail_status(status, "decode");
  for (int code = 0; code < 256; code++) compare->nan_code[code] = isnan(values[code]);
  return MXG_EXIT_OK;
}

int mxg_compare_codes(mxg_report *report, const mxg_side *got, const mxg_side *want,
                      mxg_source *source, size_t rows) {
  const size_t cols = got->layout.cols;
  if (cols == 0 && got->layout.scale_row_bytes == 0) return MXG_EXIT_OK; /* rows of nothing */
  const size_t tile_cols = mxg_tile_cols(&got->recipe, cols);
  const size_t tile_rows = mxg_tile_rows(rows, tile_cols);
  const mxg_traits traits = mxg_element_traits(got->recipe.element);
  comparison compare = {.report = report, .got = got, .source = source};
  compare.bits = (unsigned)traits.bits;
  compare.skips_nan = report->skip_nan && source && traits.nan_code == 0;
  int status = find_nan_codes(&compare);
  if (status) return status;
  if (report->chart) {
    mxg_chart_matrix(report->chart, report->tensor, rows, cols, got->recipe.block);
    report->chart->of_input = source != NULL;
    report->has_format = true;
    report->format = got->recipe;
  }
  compare.got_scales = mxg_alloc(got->layout.scale_row_bytes);
  compare.want_scales = mxg_alloc(got->layout.scale_row_bytes);
  compare.tile_cols = tile_cols;
  mxg_progress_begin("compare", rows);
  for (size_t row = 0; row < rows && !status; row += tile_rows) {
    const size_t some_rows = tile_rows < rows - row ? tile_rows : rows - row;
    for (size_t col = 0; (col < cols || col == 0) && !status; col += tile_cols) {
      const size_t some_cols = tile_cols < cols - col ? tile_cols : cols - col;
      mxg_side tile;
      if (source) status = mxg_source_tile(source, row, some_rows, col, some_cols, &tile);
      if (!status)
        status = compare_tile(&compare, source ? &tile : want, row, some_rows, col, some_cols);
      if (tile_cols == 0) break;
    }
    mxg_progress_step(row + some_rows);
  }
  mxg_progress_end();
  free(compare.got_scales);
  free(compare.want_scales);
  mxg_scratch_close(&compare.got_values);
  mxg_scratch_close(&compare.want_values);
  return status;
}
