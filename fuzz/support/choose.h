/* choose.h: recipes, shapes, layouts and values from the bytes of an input. Most choices are legal;
 * some are not, and then codec and golden model must refuse with the same status.
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_SUPPORT_CHOOSE_H
#define FUZZ_SUPPORT_CHOOSE_H

#include <stdio.h>

#include "../subject.h"
#include "input.h"

/* Does the subject want only calls that are right, of its own recipe? */
bool fuzz_is_limited(void);

/* A preset, a legal recipe or 80 raw bytes, then up to three words changed. A limited subject gets
 * its own. */
void fuzz_choose_recipe(fuzz_input *in, mxg_recipe *recipe);

/* Rows and columns of at most 2048 elements together, edges of blocks and tiles preferred. */
void fuzz_choose_shape(fuzz_input *in, const mxg_recipe *recipe, size_t *rows, size_t *cols);

/* Options that mostly fit; now and then a word of them is anything. */
void fuzz_choose_options(fuzz_input *in, const mxg_recipe *recipe, size_t cols,
                         mxg_layout_options *options);

/* The layout, which codec and golden model must agree about, with its status. When it is not to be
 * had *layout is of 0 rows and columns. */
mxg_status fuzz_choose_layout(const mxg_recipe *recipe, size_t rows, size_t cols,
                              const mxg_layout_options *options, mxg_layout *layout);

mxg_dtype fuzz_choose_dtype(fuzz_input *in);

/* `where` of fuzz_buffer_place. A limited subject's buffers lie against a trap: as aligned as their
 * size or their page. */
uint8_t fuzz_choose_place(fuzz_input *in);

/* A run: threads 0 to 4, any mask of instruction sets that this CPU has. */
mxg_run fuzz_choose_run(fuzz_input *in);

/* A word of a struct becomes anything: *words of 4 bytes. */
void fuzz_spoil_words(fuzz_input *in, void *words, size_t count);
/* The same for a struct of sizes. */
void fuzz_spoil_layout(fuzz_input *in, mxg_layout *layout);

/* `count` values of a type, in the host's order, at any address: the input's own bytes again and
 * again, or a stream of magnitudes around one exponent with special values strewn in. */
void fuzz_choose_values(fuzz_input *in, mxg_dtype dtype, size_t count, void *data);

/* One line of C-like text about each, for fuzz_about. */
void fuzz_print_recipe(FILE *to, const mxg_recipe *recipe);
void fuzz_print_layout(FILE *to, const mxg_layout *layout);

/* The stride that a matrix has: 0 stands for cols. */
size_t fuzz_stride(size_t cols, size_t stride_elems);

bool fuzz_is_dtype(mxg_dtype dtype);

/* Bytes of a matrix, or FUZZ_BUFFER_MAX + 1 for more than that. */
size_t fuzz_matrix_bytes(mxg_dtype dtype, size_t rows, size_t cols, size_t stride_elems);

#endif
