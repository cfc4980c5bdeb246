/* written.h: which bytes a quantise writes, by the formulas of docs/LAYOUT.md, and whether it did.
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_SUPPORT_WRITTEN_H
#define FUZZ_SUPPORT_WRITTEN_H

#include <stdbool.h>

#include "memory.h"
#include "mxgold.h"

/* Index in scales of scale (x, y); rows and scale_count are the layout's. */
size_t fuzz_scale_position(mxg_scale_order order, size_t rows, size_t scale_count, size_t x,
                           size_t y);

/* 1 for each byte of codes and scales that belongs to `live` rows (pads of the padded orders too),
 * 0 for the others. The layout's buffers are at most FUZZ_BUFFER_MAX bytes. */
void fuzz_written_bytes(const mxg_layout *layout, size_t live, uint8_t *codes, uint8_t *scales);

/* Output of the subject, which was full of `poison` before, against the golden model's, which was
 * full of ~poison: equal where `mask` is 1 (NULL: nowhere), untouched elsewhere. */
void fuzz_check_written(const char *what, const fuzz_buffer *got, const fuzz_buffer *want,
                        uint8_t poison, const uint8_t *mask);

#endif
