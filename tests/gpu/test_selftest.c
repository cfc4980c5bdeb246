/* test_selftest.c: the self-test finds a wrong code, scale, value, status and a byte beside an
 * output, and passes what is right.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "selftest.h"

typedef enum fault {
  FAULT_NONE,
  FAULT_CODE,
  FAULT_SCALE,
  FAULT_VALUE,
  FAULT_SUM,
  FAULT_BEFORE, /* the byte before the codes */
  FAULT_AFTER,  /* the byte after the values */
  FAULT_STATUS,
  FAULT_LIVE, /* live_rows is not looked at */
  FAULT_OPEN,
  FAULTS
} fault;

static const char *const names[FAULTS] = {"none",   "code",  "scale",  "value",     "sum",
                                          "before", "after", "status", "live_rows", "open"};
static fault now;

static mxg_status quantize(void *worker, const mxg_recipe *recipe, const mxg_matrix_view *x,
                           const float *row_weight, const mxg_packed *out,
                           const uint32_t *live_rows) {
  const mxg_status status = mxg_subject_library.quantize(worker, recipe, x, row_weight, out,
                                                         now == FAULT_LIVE ? NULL : live_rows);
  const size_t codes = out->layout.codes_bytes, scales = out->layout.scales_bytes;
  if (now == FAULT_CODE && codes > 100) ((unsigned char *)out->codes)[codes - 1] ^= 1;
  if (now == FAULT_SCALE && scales > 20) ((unsigned char *)out->scales)[scales / 2] ^= 1;
  if (now == FAULT_BEFORE && codes > 100) ((unsigned char *)out->codes)[-1] ^= 1;
  return now == FAULT_STATUS && codes > 100 ? MXG_ERR_SHAPE : status;
}

static mxg_status dequantize(void *worker, const mxg_recipe *recipe, const mxg_packed_view *in,
                             const mxg_matrix *y, const uint32_t *live_rows) {
  const mxg_status status = mxg_subject_library.dequantize(worker, recipe, in, y, live_rows);
  unsigned char *bytes = y->data;
  if (now == FAULT_VALUE && y->rows == 3 && y->cols > 0) bytes[0] ^= 1;
  if (now == FAULT_AFTER && y->rows == 1) bytes[y->cols * mxg_dtype_bytes(y->dtype)] ^= 1;
  return status;
}

static mxg_status combine(void *worker, const mxg_recipe *recipe, const void *const *slots,
                          size_t top_k, const float *weight, const mxg_layout *layout,
                          size_t col_begin, size_t col_end, const mxg_matrix *y,
                          const uint32_t *live_rows) {
  const mxg_status status = mxg_subject_library.combine(worker, recipe, slots, top_k, weight,
                                                        layout, col_begin, col_end, y, live_rows);
  if (now == FAULT_SUM && y->rows > 0 && y->cols > 0) *(unsigned char *)y->data ^= 1;
  return status;
}

static mxg_status open_worker(const void *context, unsigned number, void **worker) {
  if (now == FAULT_OPEN) return MXG_ERR_DEVICE;
  return mxg_subject_library.worker_open(context, number, worker);
}

int main(void) {
  mxg_subject subject = mxg_subject_library;
  mxg_selftest_options options;
  int status = 0;
  subject.name = "faulty";
  subject.worker_open = open_worker;
  subject.quantize = quantize;
  subject.dequantize = dequantize;
  subject.combine = combine;
  memset(&options, 0, sizeof options);
  options.subjects = &subject;
  options.subject_count = 1;
  options.threads = 2;
  for (int f = 0; f < FAULTS; f++) {
    char text[1024] = "";
    FILE *out = tmpfile();
    if (out == NULL) {
      perror("tmpfile");
      return 1;
    }
    options.out = out;
    now = (fault)f;
    options.thin = now == FAULT_LIVE ? 31 : 251; /* few cases have such a pointer */
    const int found = mxg_selftest(&options);
    rewind(out);
    int is_told = 0;
    while (fgets(text, sizeof text, out) != NULL) is_told |= strstr(text, "faulty:") != NULL;
    fclose(out);
    const int expected = f != FAULT_NONE;
    const int is_right = found == expected && is_told == expected;
    printf("%-10s %s\n", names[f], is_right ? "as it must be" : "FAIL");
    if (!is_right) status = 1;
  }
  return status;
}
