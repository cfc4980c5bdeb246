/* overlap.c: do two strided buffers share a byte? Exact, so that slots and matrices may interleave.
 * SPDX-License-Identifier: MIT */
#include "internal.h"

static uintptr_t end_of(const mxg_span *s) {
  return (uintptr_t)s->start + (s->rows - 1) * s->stride_bytes + s->row_bytes;
}

/* Does the stretch [low, high) meet the span? */
static int meets(uintptr_t low, uintptr_t high, const mxg_span *s) {
  const uintptr_t start = (uintptr_t)s->start;
  size_t row = 0; /* the first whose end lies above low */
  if (high <= start || low >= end_of(s)) return 0;
  if (low >= start + s->row_bytes) /* so there is a second row, and a stride */
    row = (low - start - s->row_bytes) / s->stride_bytes + 1;
  return row < s->rows && start + row * s->stride_bytes < high;
}

int mxg_spans_overlap(const mxg_span *a, const mxg_span *b) {
  const mxg_span *few = a->rows <= b->rows ? a : b;
  const mxg_span *many = few == a ? b : a;
  if (few->rows == 0 || a->row_bytes == 0 || b->row_bytes == 0) return 0;
  if (!meets((uintptr_t)few->start, end_of(few), many)) return 0;
  for (size_t row = 0; row < few->rows; row++) {
    const uintptr_t low = (uintptr_t)few->start + row * few->stride_bytes;
    if (meets(low, low + few->row_bytes, many)) return 1;
  }
  return 0;
}
