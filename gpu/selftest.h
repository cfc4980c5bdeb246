/* selftest.h: an implementation against the golden model, byte for byte, NaN signs included.
 *
 * The subject is anything with the calls of mxgold.h on host memory: a device (device_subject.h), or
 * the library itself. Plain C11 and POSIX threads.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_SELFTEST_H
#define MXGOLD_SELFTEST_H

#include <stdint.h>
#include <stdio.h>

#include "../codec/mxgold.h"

/* What is tested. A worker belongs to one thread; its outputs are checked with the bytes around
 * them. live_rows as in mxgold_gpu.h, but a host pointer. */
typedef struct mxg_subject {
  const char *name;
  const void *context;
  mxg_status (*worker_open)(const void *context, unsigned number, void **worker);
  void (*worker_close)(void *worker);
  const char *(*message)(void); /* about the last failure of this thread */
  mxg_status (*kernel_name)(const void *context, const mxg_recipe *recipe, mxg_operation operation,
                            mxg_dtype dtype, const char **name);
  mxg_status (*quantize)(void *worker, const mxg_recipe *recipe, const mxg_matrix_view *x,
                         const float *row_weight, const mxg_packed *out, const uint32_t *live_rows);
  mxg_status (*dequantize)(void *worker, const mxg_recipe *recipe, const mxg_packed_view *in,
                           const mxg_matrix *y, const uint32_t *live_rows);
  mxg_status (*combine)(void *worker, const mxg_recipe *recipe, const void *const *slots,
                        size_t top_k, const float *weight, const mxg_layout *layout,
                        size_t col_begin, size_t col_end, const mxg_matrix *y,
                        const uint32_t *live_rows);
} mxg_subject;

/* The library of this process. */
extern const mxg_subject mxg_subject_library;

enum { MXG_SUBJECTS_MAX = 2 };

typedef struct mxg_selftest_options {
  const mxg_subject *subjects; /* at most MXG_SUBJECTS_MAX; the golden model answers once for all */
  size_t subject_count;
  int full;                                        /* also all 2^32 floats for E4M3FN and E2M1 */
  unsigned thin;                                   /* only every thin-th case; 0 and 1: all */
  unsigned threads;                                /* 0 = one per CPU */
  FILE *out;                                       /* the report */
  void (*progress)(uint64_t done, uint64_t total); /* from the calling thread; may be NULL */
} mxg_selftest_options;

/* Runs everything and writes the report.
 * returns 0 all bytes equal; 1 a difference, an unexpected status, or no memory. */
int mxg_selftest(const mxg_selftest_options *options);

#endif
