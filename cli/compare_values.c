/* compare_values.c: unpacked tensors, number by number, and tensors that no recipe explains, byte by
 * byte.
 * SPDX-License-Identifier: MIT */
#include "compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t value_bytes(const mxg_tensor *tensor) {
  return mxg_dtype_bytes((mxg_dtype)tensor->dtype);
}

static mxg_cell value_cell(const mxg_tensor *tensor, size_t index) {
  const size_t width = value_bytes(tensor);
  const unsigned char *at = tensor->data + index * width;
  mxg_cell cell = {(int)(2 * width), 0, true, 0.0f};
  for (size_t i = 0; i < width; i++)
    cell.bits = cell.bits << 8 | at[tensor->is_big_endian ? i : width - 1 - i];
  if (width == 4) {
    memcpy(&cell.value, &cell.bits, 4);
  } else {
    const uint16_t half = (uint16_t)cell.bits;
    mxg_to_f32((mxg_dtype)tensor->dtype, &half, 1, &cell.value);
  }
  return cell;
}

static void compare_value(mxg_report *report, const mxg_tensor *got, const mxg_tensor *want,
                          size_t index) {
  const mxg_cell got_cell = value_cell(got, index), want_cell = value_cell(want, index);
  if (got_cell.bits == want_cell.bits) return;
  if (isnan(got_cell.value) && isnan(want_cell.value)) {
    report->counts[MXG_DIFFERENCE_VALUE].nan_only++;
    if (!report->bits) return;
  }
  if (report->chart) {
    mxg_chart_code(report->chart, index / got->cols, index % got->cols);
    mxg_chart_error(report->chart, want_cell.value, got_cell.value, want_cell.value);
  }
  if (!mxg_report_count(report, MXG_DIFFERENCE_VALUE)) return;
  const mxg_difference difference = {.kind = MXG_DIFFERENCE_VALUE,
                                     .dtype = (mxg_dtype)got->dtype,
                                     .row = index / got->cols,
                                     .col = index % got->cols,
                                     .got = got_cell,
                                     .want = want_cell};
  mxg_report_add(report, &difference);
}

static void compare_values(mxg_report *report, const mxg_tensor *got, const mxg_tensor *want) {
  /* NOLINTNEXTLINE(*-core.DivideZero): the caller has asked whether these are values */
  const size_t elements = got->bytes / value_bytes(got);
  const size_t step = 1 << 16; /* elements that one memcmp covers */
  const bool same_order = got->is_big_endian == want->is_big_endian;
  report->counts[MXG_DIFFERENCE_VALUE].compared += elements;
  if (report->chart) mxg_chart_matrix(report->chart, report->tensor, got->rows, got->cols, 0);
  mxg_progress_begin("compare", elements);
  for (size_t first = 0; first < elements; first += step) {
    const size_t count = step < elements - first ? step : elements - first;
    const size_t offset = first * value_bytes(got);
    if (!same_order ||
        memcmp(got->data + offset, want->data + offset, count * value_bytes(got)) != 0)
      for (size_t i = first; i < first + count; i++) compare_value(report, got, want, i);
    mxg_progress_step(first + count);
  }
  mxg_progress_end();
}

void mxg_compare_bytes(mxg_report *report, const unsigned char *got, size_t got_bytes,
                       const unsigned char *want, size_t want_bytes, size_t row_bytes) {
  const size_t count = got_bytes < want_bytes ? got_bytes : want_bytes;
  const size_t step = 1 << 16;
  if (got_bytes != want_bytes)
    mxg_report_note(report, "size", "%zu bytes, %zu expected; the first %zu are compared",
                    got_bytes, want_bytes, count);
  report->counts[MXG_DIFFERENCE_BYTE].compared += count;
  for (size_t first = 0; first < count; first += step) {
    const size_t part = step < count - first ? step : count - first;
    if (memcmp(got + first, want + first, part) == 0) continue;
    for (size_t i = first; i < first + part; i++) {
      if (got[i] == want[i] || !mxg_report_count(report, MXG_DIFFERENCE_BYTE)) continue;
      const mxg_difference difference = {.kind = MXG_DIFFERENCE_BYTE,
                                         .row = row_bytes ? i / row_bytes : 0,
                                         .col = row_bytes ? i % row_bytes : i,
                                         .got = {.digits = 2, .bits = got[i]},
                                         .want = {.digits = 2, .bits = want[i]}};
      mxg_report_add(report, &difference);
    }
  }
}

/* "4x7168"; static storage of two turns. */
static const char *shape_text(const mxg_tensor *tensor) {
  static char texts[2][64];
  static int turn;
  turn = !turn;
  size_t length = 0;
  texts[turn][0] = 0;
  for (size_t i = 0; i < tensor->rank && length < sizeof texts[turn]; i++)
    length += (size_t)snprintf(texts[turn] + length, sizeof texts[turn] - length, "%s%zu",
                               i ? "x" : "", tensor->dims[i]);
  return tensor->rank ? texts[turn] : "scalar";
}

/* Scales tagged U8 and F8_E8M0 mean the same bytes, and so do codes tagged U8 and F8_*. */
static bool is_bytes(const mxg_tensor *tensor) {
  return tensor->dtype == MXG_FILE_U8 || tensor->dtype == MXG_FILE_F8_E4M3 ||
         tensor->dtype == MXG_FILE_F8_E5M2 || tensor->dtype == MXG_FILE_F8_E8M0;
}

void mxg_compare_tensors(mxg_report *report, const mxg_tensor *got, const mxg_tensor *want) {
  const bool same_shape =
      got->rank == want->rank && memcmp(got->dims, want->dims, got->rank * sizeof *got->dims) == 0;
  if (got->dtype != want->dtype && !(is_bytes(got) && is_bytes(want))) {
    mxg_report_note(report, "dtype", "%s: tensor '%s' is %s, %s expected", got->path, got->name,
                    mxg_file_dtype_name(got->dtype), mxg_file_dtype_name(want->dtype));
    return;
  }
  if (!same_shape)
    mxg_report_note(report, "shape", "%s: tensor '%s' is %s, %s expected", got->path, got->name,
                    shape_text(got), shape_text(want));
  if (mxg_file_dtype_is_value(got->dtype)) {
    /* the same numbers in other shapes are still worth a look */
    if (got->bytes == want->bytes && got->bytes) compare_values(report, got, want);
    return;
  }
  mxg_compare_bytes(report, got->data, got->bytes, want->data, want->bytes,
                    got->rows ? got->bytes / got->rows : 0);
}
