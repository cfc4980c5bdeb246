/* layouts.h: layouts to test with, the same by codec and ref.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_LAYOUTS_H
#define TESTS_SUPPORT_LAYOUTS_H

#include "mxgold.h"

enum { ORDERS = 4 };
extern const char *const order_names[ORDERS];

mxg_layout_options options_none(void);
mxg_layout_options options_in_order(int order);

/* The layout; fails the test unless codec and ref give the same. */
mxg_layout layout_of(const mxg_recipe *recipe, size_t rows, size_t cols,
                     const mxg_layout_options *options);

/* Fails the test unless both give this status, and write nothing when it is an error. */
void expect_layout_status(mxg_status want, const mxg_recipe *recipe, size_t rows, size_t cols,
                          const mxg_layout_options *options, const char *what);

/* A scale matrix as a layout with nothing but scales that matter: E8M0 or f32, `cols` of them. Only
 * row-major order takes a stride (0: dense), only padded orders take a pad byte. */
mxg_layout scale_matrix_of(const mxg_recipe *recipe, int order, size_t rows, size_t cols,
                           uint32_t pad_byte, size_t stride_bytes);

#endif
