/* subject.h: the codec under test. fuzz/subject.c names ours; a project with a codec of its own
 * links a file that names that one instead (fuzz/README.md shows it).
 *
 * Everything that is 0 or NULL is "no limit": such a subject gets every recipe, shape, stride, data
 * type and layout, and calls that must be refused. A subject with a recipe gets that recipe, dense
 * matrices in separate buffers with row-major scales, and only calls that are right.
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_SUBJECT_H
#define FUZZ_SUBJECT_H

#include "mxgold.h"

typedef struct fuzz_subject {
  const char *recipe;   /* text of the one recipe that the codec knows */
  mxg_dtype dtype;      /* the one type of values */
  size_t cols_multiple; /* columns are a multiple of this */
  int finite;           /* 1: values are neither Inf nor NaN */
  mxg_status (*quantize)(const mxg_recipe *, const mxg_matrix_view *, const float *,
                         const mxg_packed *, const mxg_run *);
  mxg_status (*dequantize)(const mxg_recipe *, const mxg_packed_view *, const mxg_matrix *,
                           const mxg_run *);
  mxg_status (*combine)(const mxg_recipe *, const void *const *, size_t, const float *,
                        const mxg_layout *, size_t, size_t, const mxg_matrix *, const mxg_run *);
} fuzz_subject;

extern const fuzz_subject fuzz_subject_under_test;

#endif
