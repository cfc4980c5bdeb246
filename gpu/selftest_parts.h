/* selftest_parts.h: what the files of the self-test share.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_SELFTEST_PARTS_H
#define MXGOLD_SELFTEST_PARTS_H

#include "selftest.h"

/* ---- random numbers and inputs (selftest_inputs.c) ---- */

uint64_t mxg_random(uint64_t *state);
size_t mxg_random_below(uint64_t *state, size_t bound); /* bound >= 1 */

/* Memory between guards. `data` may have any alignment. */
enum { MXG_GUARD_BYTES = 64 };
typedef struct mxg_area {
  unsigned char *memory, *data;
  size_t capacity, bytes;
} mxg_area;
/* `bytes` bytes at an address that is `offset` modulo 64, guards and all painted with a pattern
 * of prime period; 0, or 1 when memory is out. */
int mxg_area_take(mxg_area *area, size_t bytes, size_t offset);
/* Offset of the first byte that differs, guards included (offsets may be negative); 0 = equal. */
int mxg_area_differs(const mxg_area *want, const mxg_area *got, ptrdiff_t *first, size_t *count);
void mxg_area_free(mxg_area *area);

/* rows x cols values at a stride: runs of ordinary, zero, tiny, huge, tied and arbitrary ones. */
void mxg_fill_values(uint64_t *state, void *data, mxg_dtype dtype, size_t rows, size_t cols,
                     size_t stride_elems);
void mxg_fill_bytes(uint64_t *state, unsigned char *data, size_t bytes);

/* ---- one worker and its result ---- */

typedef struct mxg_result {
  uint64_t comparisons; /* of a subject's output with the golden model's */
  uint64_t bytes;       /* compared, guards not counted */
  uint64_t differing;   /* bytes */
  uint64_t digest;      /* of the golden bytes */
  char first[640];      /* what went wrong first; "" = nothing */
} mxg_result;

typedef struct mxg_worker {
  const mxg_selftest_options *options;
  void *of[MXG_SUBJECTS_MAX]; /* workers of the subjects */
  mxg_area x, weight, slots;
  mxg_area codes, scales, y;                /* of a subject */
  mxg_area want_codes, want_scales, want_y; /* of the golden model */
} mxg_worker;

void mxg_result_say(mxg_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mxg_result_digest(mxg_result *result, const void *data, size_t bytes);

/* ---- cases (selftest_cases.c): a call of every subject beside the golden model's ---- */

typedef struct mxg_case {
  const char *label; /* of the recipe, for messages */
  const mxg_recipe *recipe;
  mxg_dtype dtype;
  mxg_layout layout;
  size_t rows; /* of the matrix, <= layout.rows */
  size_t stride_elems;
  size_t offset;             /* of data, modulo 64 */
  const uint32_t *live_rows; /* or NULL */
} mxg_case;

/* x is in worker->x, row weights, if any, in `row_weight`. Leaves the golden codes and scales in
 * worker->want_codes and want_scales. */
void mxg_try_quantize(mxg_worker *worker, const mxg_case *c, const float *row_weight,
                      mxg_result *result);
/* From worker->want_codes and want_scales. */
void mxg_try_dequantize(mxg_worker *worker, const mxg_case *c, mxg_result *result);
/* Columns [0, cut) and [cut, cols) in two calls on one result. */
void mxg_try_combine(mxg_worker *worker, const mxg_case *c, const void *const *slots, size_t top_k,
                     const float *weight, size_t cut, mxg_result *result);

/* ---- sections (selftest_shapes.c, selftest_sweeps.c) ---- */

/* Each is divided in MXG_PARTS parts that can run at the same time. */
enum { MXG_PARTS = 8 };
void mxg_test_shapes(mxg_worker *worker, const mxg_preset *preset, unsigned part,
                     mxg_result *result);
void mxg_test_sums(mxg_worker *worker, const mxg_preset *preset, unsigned part, mxg_result *result);
void mxg_test_amax(mxg_worker *worker, const mxg_preset *preset, unsigned part, mxg_result *result);
void mxg_test_decode(mxg_worker *worker, const mxg_preset *preset, unsigned part,
                     mxg_result *result);
/* All bf16, all f16 and the stress list of f32 as plain casts; part: of MXG_PARTS. */
void mxg_test_elements(mxg_worker *worker, unsigned part, mxg_result *result);
/* Floats with the bits [chunk * 2^22, (chunk + 1) * 2^22). */
enum { MXG_FLOAT_CHUNKS = 1024 };
void mxg_test_floats(mxg_worker *worker, mxg_element element, unsigned chunk, mxg_result *result);

#endif
