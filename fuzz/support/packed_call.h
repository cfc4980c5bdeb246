/* packed_call.h: what fuzz_quantize.c and fuzz_dequantize.c have in common: a call between a matrix
 * and its codes and scales, legal or not.
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_SUPPORT_PACKED_CALL_H
#define FUZZ_SUPPORT_PACKED_CALL_H

#include <stdbool.h>
#include <stdio.h>

#include "input.h"
#include "memory.h"
#include "mxgold.h"

enum { FUZZ_SHARED_MAX = 4096 }; /* bytes of the one buffer */

typedef struct fuzz_packed_call {
  mxg_recipe recipe;
  mxg_layout layout;
  mxg_matrix matrix; /* data: NULL when the call gets NULL, else anything */
  mxg_run run;
  size_t codes_bytes, scales_bytes; /* of the buffers, which are never larger than they can be */
  size_t codes_capacity, scales_capacity;
  bool has_weight, has_run, no_recipe, no_matrix, no_packed, no_codes, no_scales;
  bool is_shared; /* all regions lie in one buffer, where they may overlap */
  size_t matrix_at, weight_at, codes_at, scales_at, shared_bytes;
  uint8_t poison;
} fuzz_packed_call;

/* Mostly legal; some have one or two things that are wrong, or odd and right. Only a call that
 * `may_weigh` has row weights. */
void fuzz_choose_packed_call(fuzz_input *in, bool may_weigh, fuzz_packed_call *c);

/* Bytes of the matrix' buffer, with codes_bytes, scales_bytes and the capacities made to fit; or
 * SIZE_MAX when a buffer cannot be had that the call may touch if it succeeds. */
size_t fuzz_packed_call_fit(fuzz_packed_call *c);

/* Where regions of these lengths begin in one buffer: one behind the other, or anywhere in those
 * before. Its size. */
size_t fuzz_choose_places(fuzz_input *in, const size_t *lengths, size_t *const *places, int count);

/* Did the call come as far as the check of overlaps, so that its arguments say what lies where? */
bool fuzz_has_regions(const fuzz_packed_call *c, mxg_status status);

/* Lines for fuzz_about. matrix: its name in the call. */
void fuzz_print_packed_call(FILE *to, const char *matrix, const fuzz_packed_call *c);

#endif
