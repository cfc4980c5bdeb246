/* verify_answer.c: the answer to one case against the bytes that it must have.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "verify.h"

void mxg_check_end(mxg_answer_check *check) {
  free(check->want_first.data);
  free(check->want_second.data);
}

/* A part of another size is a difference; nothing of it is compared, for nobody knows which byte
 * belongs where. */
static bool check_size(mxg_answer_check *check, const mxg_pipe_case *one, const char *what,
                       size_t got, size_t want, const char *place) {
  enum { SIZES_LISTED = 5 };
  if (got == want) return true;
  if (check->report->note_count < SIZES_LISTED)
    mxg_report_note(check->report, "size",
                    "%s: case %llu, %zux%zu: %s have %zu bytes, %zu expected: not compared", place,
                    (unsigned long long)one->id, one->rows, one->cols, what, got, want);
  return false;
}

static bool host_is_big_endian(void) {
  const uint16_t probe = 1;
  unsigned char lowest = 0;
  memcpy(&lowest, &probe, 1);
  return lowest == 0;
}

/* Values of the stream are little-endian. */
static void to_host(mxg_part *part, size_t width) {
  if (!host_is_big_endian()) return;
  for (size_t at = 0; at + width <= part->bytes; at += width)
    for (size_t i = 0; i < width / 2; i++) {
      const unsigned char other = part->data[at + i];
      part->data[at + i] = part->data[at + width - 1 - i];
      part->data[at + width - 1 - i] = other;
    }
}

static mxg_tensor values_of(const mxg_pipe_case *one, const mxg_part *part) {
  static char name[] = "x";
  mxg_tensor tensor = {.path = "",
                       .name = name,
                       .dtype = (mxg_file_dtype)one->dtype,
                       .rank = 2,
                       .dims = {one->rows, one->cols},
                       .rows = one->rows,
                       .cols = one->cols,
                       .data = part->data,
                       .bytes = part->bytes,
                       .is_big_endian = host_is_big_endian()};
  return tensor;
}

static int check_values(mxg_answer_check *check, const mxg_pipe_case *one, mxg_part *first) {
  to_host(first, mxg_dtype_bytes(one->dtype));
  if (memcmp(first->data, check->want_first.data, first->bytes) == 0) {
    check->report->counts[MXG_DIFFERENCE_VALUE].compared += one->rows * one->cols;
    return MXG_EXIT_OK;
  }
  const mxg_tensor got = values_of(one, first), want = values_of(one, &check->want_first);
  mxg_compare_tensors(check->report, &got, &want);
  return MXG_EXIT_OK;
}

/* Codes and scales, with the case's x to show beside them. */
static int check_codes(mxg_answer_check *check, const mxg_pipe_case *one, const mxg_part *first,
                       const mxg_part *second, bool has_codes, bool has_scales) {
  mxg_report *report = check->report;
  const mxg_layout *layout = &one->layout;
  if (!report->chart && has_codes && has_scales &&
      memcmp(first->data, check->want_first.data, first->bytes) == 0 &&
      (second->bytes == 0 || memcmp(second->data, check->want_second.data, second->bytes) == 0)) {
    report->counts[MXG_DIFFERENCE_CODE].compared += one->rows * one->cols;
    report->counts[MXG_DIFFERENCE_SCALE].compared += one->rows * layout->scales_used;
    return MXG_EXIT_OK;
  }
  const mxg_side got = {.recipe = check->plan->recipe,
                        .layout = *layout,
                        .codes = first->data,
                        .scales = second->data,
                        .code_rows = has_codes ? one->rows : 0,
                        .scale_rows = has_scales ? one->rows : 0};
  const mxg_tensor x = values_of(one, &one->first);
  mxg_source source;
  memset(&source, 0, sizeof source);
  source.tensor = &x;
  source.recipe = check->plan->recipe;
  source.scale_count = layout->scale_count;
  source.impl = check->impl;
  source.run = check->run;
  if (check->plan->has_row_weights)
    source.row_weight = (const float *)(const void *)one->second.data;
  const int status = mxg_compare_codes(report, &got, NULL, &source, one->rows);
  mxg_source_close(&source);
  return status;
}

int mxg_check_answer(mxg_answer_check *check, const mxg_pipe_case *one, mxg_part *first,
                     mxg_part *second, const char *place, bool *differs) {
  mxg_report *report = check->report;
  mxg_origin origin = {.id = one->id, .section = one->section};
  const bool is_quantize = check->plan->op == MXG_OPERATION_QUANTIZE;
  const uint64_t before = mxg_report_differing(report);
  int status = mxg_pipe_answer(check->plan, one, check->impl, &check->run, &check->want_first,
                               &check->want_second);
  if (status) return status;
  memcpy(origin.place, place, strlen(place) < sizeof origin.place ? strlen(place) : 0);
  report->origin = &origin;
  const bool has_first = check_size(check, one, is_quantize ? "codes" : "values", first->bytes,
                                    check->want_first.bytes, place);
  const bool has_second =
      check_size(check, one, "scales", second->bytes, check->want_second.bytes, place);
  if (is_quantize)
    status = check_codes(check, one, first, second, has_first, has_second);
  else if (has_first)
    status = check_values(check, one, first);
  report->origin = NULL;
  *differs = !has_first || !has_second || mxg_report_differing(report) != before;
  if (report->chart) mxg_chart_case(report->chart, one->section, one->dtype, *differs);
  return status;
}
