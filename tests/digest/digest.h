/* digest.h: what the parts of the digest program share.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_TESTS_DIGEST_H
#define MXGOLD_TESTS_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mxgold.h"

/* ---- digest.c: lines, and codec against golden model ---- */

#if defined(__GNUC__)
#define DIGEST_PRINTF __attribute__((format(printf, 1, 2)))
#else
#define DIGEST_PRINTF
#endif

void digest_begin(const char *format, ...) DIGEST_PRINTF; /* a line of this name */
void digest_size(size_t value);
/* Values in memory are the host's own; their digest is that of their little-endian bytes. */
void digest_values(const void *values, mxg_dtype dtype, size_t count);
void digest_finish(void);

/* Counts and prints a difference between codec and golden model in the current line. */
void digest_expect(bool holds, const char *what);

/* ---- hash.c ---- */

void hash_reset(void);
void hash_bytes(const void *bytes, size_t count);
uint64_t hash_value(void);

/* ---- isas.c: one digest holds for every instruction set of the machine ---- */

/* A run that is limited to instruction set number `index` of this machine; false past the last. */
bool digest_run_at(size_t index, mxg_run *run);
/* Notes which instruction set's kernel serves a call. */
void digest_ran(const mxg_recipe *recipe, mxg_operation operation, mxg_dtype dtype,
                const mxg_run *run);
/* The names of those whose kernels ran; prints a line for each that this machine lacks. */
void digest_isas_report(char *text, size_t capacity);

/* ---- input.c ---- */

extern const mxg_dtype input_dtypes[3];
extern const char *const input_dtype_names[3];
extern const uint32_t input_specials[];
extern const size_t input_special_count;

void input_seed(uint64_t seed);
uint32_t input_random(void);

/* rows x cols values; row r is painted with a prime period, of moderate size, of any bits, or of
 * special values with whole zero blocks between, by r % 4. */
void input_fill(void *values, mxg_dtype dtype, size_t rows, size_t cols);
void input_fill_bytes(uint8_t *bytes, size_t count);

/* ---- blocks.c ---- */

enum { DIGEST_CODES = 1 << 17, DIGEST_SCALES = 1 << 16 };
extern uint8_t digest_code_bytes[2][DIGEST_CODES], digest_scale_bytes[2][DIGEST_SCALES];

/* The layout by codec and golden model, which must be equal. */
mxg_layout digest_layout(const mxg_recipe *recipe, size_t rows, size_t cols,
                         const mxg_layout_options *options);
/* Quantises x by codec, with each instruction set, and by golden model, and adds the bytes; they
 * stay in digest_code_bytes[0] and digest_scale_bytes[0]. */
void digest_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x, const float *row_weight,
                     const mxg_layout *layout);

/* ---- the parts of the list, in order ---- */

void digest_recipes(void); /* recipes.c */
void digest_arrays(void);  /* arrays.c */
void digest_layouts(void); /* layouts.c */
void digest_presets(void); /* blocks.c */

#endif
