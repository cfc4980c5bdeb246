/* slice_check.h
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_SLICE_CHECK_H
#define MXGOLD_SLICE_CHECK_H

#include "tool.h"

/* "+87": sign and exponent field of an f32. */
int mxg_slice_arg(const char *text, unsigned *sign, unsigned *exponent);

/* Compares codes in a file, one a byte, with those of the recipe's element and policies: of the slice
 * that slice_text names (2^23 codes), or with NULL of all 2^32 f32 by ascending bits. Prints each
 * slice that differs; DIFFERS when there is one. */
int mxg_check_slices(const char *path, const mxg_recipe *recipe, const char *slice_text);

#endif
