/* selftest_cases.c: one call of each subject beside the same call of the golden model.
 * SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <string.h>

#include "selftest_parts.h"

void mxg_result_say(mxg_result *result, const char *format, ...) {
  va_list arguments;
  if (result->first[0] != 0) return;
  va_start(arguments, format);
  vsnprintf(result->first, sizeof result->first, format, arguments);
  va_end(arguments);
}

/* 64-bit words folded by multiplication; the tail as one word. The same on every host of one byte
 * order. */
void mxg_result_digest(mxg_result *result, const void *data, size_t bytes) {
  const unsigned char *p = data;
  uint64_t digest = result->digest ^ bytes;
  while (bytes > 0) {
    const size_t step = bytes < 8 ? bytes : 8;
    uint64_t word = 0;
    memcpy(&word, p, step);
    digest = (digest ^ word) * 0x9FB21C651E98DF25u;
    digest ^= digest >> 32;
    p += step;
    bytes -= step;
  }
  result->digest = digest;
}

static const char *operation_name(mxg_operation operation) {
  return operation == MXG_OPERATION_QUANTIZE     ? "quantize"
         : operation == MXG_OPERATION_DEQUANTIZE ? "dequantize"
                                                 : "combine";
}

static const char *dtype_name(mxg_dtype dtype) {
  return dtype == MXG_DTYPE_F32 ? "f32" : dtype == MXG_DTYPE_F16 ? "f16" : "bf16";
}

static void describe(const mxg_case *c, const mxg_subject *subject, mxg_operation operation,
                     char *text, size_t capacity) {
  static const char *const orders[] = {"row_major", "transposed", "aiter_shuffle", "blocked_128x4"};
  char live[32] = "all";
  if (c->live_rows != NULL) snprintf(live, sizeof live, "%u", (unsigned)*c->live_rows);
  snprintf(text, capacity,
           "%s: %s %s %s, %zux%zu of %zu rows, stride %zu, %s, %s, live %s, address %% 64 = %zu",
           subject->name, operation_name(operation), c->label, dtype_name(c->dtype), c->rows,
           c->layout.cols, c->layout.rows, c->stride_elems,
           c->layout.placement == MXG_PLACEMENT_SLOT ? "slots" : "separate",
           orders[c->layout.order & 3], live, c->offset);
}

/* Does the subject refuse this recipe? Then *status is what its calls must return. */
static mxg_status promised(const mxg_subject *subject, const mxg_case *c, mxg_operation operation) {
  const char *name = NULL;
  return subject->kernel_name(subject->context, c->recipe, operation, c->dtype, &name);
}

static void judge_status(const mxg_case *c, const mxg_subject *subject, mxg_operation operation,
                         mxg_status status, mxg_status expected, mxg_result *result) {
  char text[320];
  if (status == expected) return;
  describe(c, subject, operation, text, sizeof text);
  result->differing++;
  mxg_result_say(result, "%s: status %d (%s), expected %d. %s", text, (int)status,
                 mxg_strerror(status), (int)expected, subject->message());
}

static void judge_area(const mxg_case *c, const mxg_subject *subject, mxg_operation operation,
                       const char *what, const mxg_area *want, const mxg_area *got,
                       mxg_result *result) {
  char text[320];
  ptrdiff_t first = 0;
  size_t count = 0;
  result->comparisons++;
  result->bytes += want->bytes;
  if (!mxg_area_differs(want, got, &first, &count)) return;
  result->differing += count;
  describe(c, subject, operation, text, sizeof text);
  mxg_result_say(result, "%s: %zu bytes of %s differ, the first at %td of %zu: %02X, not %02X",
                 text, count, what, first, want->bytes, (unsigned)got->data[first],
                 (unsigned)want->data[first]);
}

static size_t live_rows(const mxg_case *c) {
  return c->live_rows != NULL && *c->live_rows < c->rows ? *c->live_rows : c->rows;
}

static size_t values_bytes(const mxg_case *c) {
  if (c->rows == 0) return 0;
  return ((c->rows - 1) * c->stride_elems + c->layout.cols) * mxg_dtype_bytes(c->dtype);
}

static mxg_packed packed_in(const mxg_case *c, mxg_area *codes, mxg_area *scales) {
  const int is_slot = c->layout.placement == MXG_PLACEMENT_SLOT;
  const mxg_packed packed = {codes->data, c->layout.codes_bytes, is_slot ? NULL : scales->data,
                             c->layout.scales_bytes, c->layout};
  return packed;
}

void mxg_try_quantize(mxg_worker *worker, const mxg_case *c, const float *row_weight,
                      mxg_result *result) {
  const size_t codes_bytes = c->layout.codes_bytes, scales_bytes = c->layout.scales_bytes;
  const mxg_matrix_view x = {worker->x.data, c->dtype, c->rows, c->layout.cols, c->stride_elems};
  mxg_matrix_view live = x;
  live.rows = live_rows(c);
  if (mxg_area_take(&worker->want_codes, codes_bytes, c->offset) ||
      mxg_area_take(&worker->want_scales, scales_bytes, c->offset)) {
    mxg_result_say(result, "out of memory");
    return;
  }
  const mxg_packed want = packed_in(c, &worker->want_codes, &worker->want_scales);
  const mxg_status expected = mxg_ref_quantize(c->recipe, &live, row_weight, &want, NULL);
  mxg_result_digest(result, worker->want_codes.data, codes_bytes);
  mxg_result_digest(result, worker->want_scales.data, scales_bytes);
  for (size_t i = 0; i < worker->options->subject_count; i++) {
    const mxg_subject *subject = &worker->options->subjects[i];
    const mxg_status promise = promised(subject, c, MXG_OPERATION_QUANTIZE);
    if (mxg_area_take(&worker->codes, codes_bytes, c->offset) ||
        mxg_area_take(&worker->scales, scales_bytes, c->offset)) {
      mxg_result_say(result, "out of memory");
      return;
    }
    const mxg_packed got = packed_in(c, &worker->codes, &worker->scales);
    const mxg_status status =
        subject->quantize(worker->of[i], c->recipe, &x, row_weight, &got, c->live_rows);
    judge_status(c, subject, MXG_OPERATION_QUANTIZE, status, promise ? promise : expected, result);
    if (status != MXG_OK) continue;
    judge_area(c, subject, MXG_OPERATION_QUANTIZE, "codes", &worker->want_codes, &worker->codes,
               result);
    judge_area(c, subject, MXG_OPERATION_QUANTIZE, "scales", &worker->want_scales, &worker->scales,
               result);
  }
}

void mxg_try_dequantize(mxg_worker *worker, const mxg_case *c, mxg_result *result) {
  const size_t bytes = values_bytes(c);
  const mxg_packed in = packed_in(c, &worker->want_codes, &worker->want_scales);
  const mxg_packed_view view = {in.codes, in.codes_capacity, in.scales, in.scales_capacity,
                                in.layout};
  if (mxg_area_take(&worker->want_y, bytes, c->offset)) {
    mxg_result_say(result, "out of memory");
    return;
  }
  mxg_matrix y = {worker->want_y.data, c->dtype, live_rows(c), c->layout.cols, c->stride_elems};
  const mxg_status expected = mxg_ref_dequantize(c->recipe, &view, &y, NULL);
  mxg_result_digest(result, worker->want_y.data, bytes);
  for (size_t i = 0; i < worker->options->subject_count; i++) {
    const mxg_subject *subject = &worker->options->subjects[i];
    const mxg_status promise = promised(subject, c, MXG_OPERATION_DEQUANTIZE);
    if (mxg_area_take(&worker->y, bytes, c->offset)) {
      mxg_result_say(result, "out of memory");
      return;
    }
    y.data = worker->y.data;
    y.rows = c->rows;
    const mxg_status status =
        subject->dequantize(worker->of[i], c->recipe, &view, &y, c->live_rows);
    judge_status(c, subject, MXG_OPERATION_DEQUANTIZE, status, promise ? promise : expected,
                 result);
    if (status == MXG_OK)
      judge_area(c, subject, MXG_OPERATION_DEQUANTIZE, "values", &worker->want_y, &worker->y,
                 result);
  }
}

void mxg_try_combine(mxg_worker *worker, const mxg_case *c, const void *const *slots, size_t top_k,
                     const float *weight, size_t cut, mxg_result *result) {
  const size_t bytes = values_bytes(c), cols = c->layout.cols;
  if (mxg_area_take(&worker->want_y, bytes, c->offset)) {
    mxg_result_say(result, "out of memory");
    return;
  }
  mxg_matrix y = {worker->want_y.data, c->dtype, live_rows(c), cols, c->stride_elems};
  const mxg_status expected =
      mxg_ref_combine(c->recipe, slots, top_k, weight, &c->layout, 0, cols, &y, NULL);
  mxg_result_digest(result, worker->want_y.data, bytes);
  for (size_t i = 0; i < worker->options->subject_count; i++) {
    const mxg_subject *subject = &worker->options->subjects[i];
    const mxg_status promise = promised(subject, c, MXG_OPERATION_COMBINE);
    if (mxg_area_take(&worker->y, bytes, c->offset)) {
      mxg_result_say(result, "out of memory");
      return;
    }
    y.data = worker->y.data;
    y.rows = c->rows;
    mxg_status status = MXG_OK;
    for (int half = 0; half < (cut == 0 ? 1 : 2) && status == MXG_OK; half++)
      status = subject->combine(worker->of[i], c->recipe, slots, top_k, weight, &c->layout,
                                half == 0 ? cut : 0, half == 0 ? cols : cut, &y, c->live_rows);
    judge_status(c, subject, MXG_OPERATION_COMBINE, status, promise ? promise : expected, result);
    if (status == MXG_OK)
      judge_area(c, subject, MXG_OPERATION_COMBINE, "values", &worker->want_y, &worker->y, result);
  }
}
