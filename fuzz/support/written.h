/* written.h: did a call do what the golden model did: its status, and the bytes that it wrote. Which
 * those are of a quantise, by the formulas of docs/LAYOUT.md.
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

/* Equal statuses of subject and golden model. */
void fuzz_check_status(mxg_status got, mxg_status want, const mxg_run *run);

/* The one buffer by the subject and by the golden model, which held `before`: equal; unchanged on an
 * error; MXG_ERR_OVERLAP exactly when a byte belongs to an output and to something else. */
void fuzz_check_shared(const fuzz_buffer *got, const fuzz_buffer *want, const uint8_t *before,
                       mxg_status status, bool is_overlapping);

#endif
