/* block_case.h: one quantise and dequantise of a small matrix by both implementations, compared
 * byte for byte, in guarded buffers of the exact capacity.
 *
 * The two get outputs with different poison, so that a byte that must be written and is not, or
 * that must not be written and is, differs too. Which bytes those are is computed here from the
 * layout, not from what the implementations do.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_BLOCK_CASE_H
#define TESTS_SUPPORT_BLOCK_CASE_H

#include "generator.h"
#include "mxgold.h"
#include "values.h"

typedef struct block_case {
  mxg_recipe recipe;
  mxg_dtype dtype; /* of the source */
  values_kind kind;
  size_t rows, live_rows, cols; /* live_rows <= rows */
  size_t stride_elems;          /* of the source, and of the results */
  size_t misalign;              /* 0..63, of every buffer (each its own rotation of it) */
  mxg_layout_options options;
  bool row_weight;
  bool all_runs;     /* also 1 to 4 threads and every isa of this CPU */
  bool random_bytes; /* also dequantise random codes and scales */
} block_case;

/* Runs the case; any difference fails the test with the case in words. */
void block_case_run(generator *g, const block_case *c);

/* Which bytes of codes and scales mxg_quantize writes for `live_rows` rows: 1 or 0 a byte, by the
 * formulas of the wire. The arrays have layout->codes_bytes and layout->scales_bytes bytes. */
void written_bytes(const mxg_layout *layout, size_t live_rows, uint8_t *codes, uint8_t *scales);

/* Index in scales of scale (row, col), by the wire's formulas; rows is the layout's. */
size_t scale_position(mxg_scale_order order, size_t rows, size_t scale_count, size_t row,
                      size_t col);

#endif
