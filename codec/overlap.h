/* overlap.h: do two sets of strided rows in memory share a byte?
 * SPDX-License-Identifier: MIT */
#ifndef MXG_OVERLAP_H
#define MXG_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

/* `rows` runs of row_bytes; run r starts at base + r * stride_bytes. stride_bytes >= row_bytes, and
 * the last byte has an address, as in any buffer that exists: callers check only that sizes fit. */
typedef struct mxg_region {
  uintptr_t base;
  size_t rows, row_bytes, stride_bytes;
} mxg_region;

/* A run of bytes is a region of one row. */
static inline mxg_region mxg_region_of(const void *base, size_t rows, size_t row_bytes,
                                       size_t stride_bytes) {
  const mxg_region region = {(uintptr_t)base, rows, row_bytes, stride_bytes};
  return region;
}

/* Address of the last byte of a region that has one. */
static inline uintptr_t mxg_region_last(const mxg_region *a) {
  return a->base + (a->rows - 1) * a->stride_bytes + (a->row_bytes - 1);
}

/* 1 if any row of b touches the bytes first..last. */
static inline int mxg_region_touches(const mxg_region *b, uintptr_t first, uintptr_t last) {
  if (last < b->base) return 0;
  /* rows do not overlap each other, so only the last row that starts at or before `last` matters */
  size_t row = b->rows - 1;
  if (row > 0 && (last - b->base) / b->stride_bytes < row) row = (last - b->base) / b->stride_bytes;
  return b->base + row * b->stride_bytes + (b->row_bytes - 1) >= first;
}

/* Exact, in time linear in the smaller count of rows where the spans meet and constant else. */
static inline int mxg_regions_overlap(mxg_region a, mxg_region b) {
  if (a.rows == 0 || a.row_bytes == 0 || b.rows == 0 || b.row_bytes == 0) return 0;
  if (mxg_region_last(&a) < b.base || mxg_region_last(&b) < a.base) return 0;
  if (a.rows > b.rows) {
    const mxg_region swap = a;
    a = b;
    b = swap;
  }
  for (size_t row = 0; row < a.rows; row++) {
    const uintptr_t first = a.base + row * a.stride_bytes;
    if (mxg_region_touches(&b, first, first + (a.row_bytes - 1))) return 1;
  }
  return 0;
}

#endif
