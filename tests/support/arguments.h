/* arguments.h: one set of arguments of quantise, dequantise or combine that can be spoiled in many
 * ways.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_ARGUMENTS_H
#define TESTS_SUPPORT_ARGUMENTS_H

#include <stdbool.h>

#include "fp_environment.h"
#include "impl.h"

enum { LIVE = 2, PADDED = 3, COLS = 133, TOP_K = 3 };

/* Everything that a call may touch; compared whole before and after. Before slots, weight and
 * pointers is room for a y that shares one byte with them and none with the others. */
extern struct arguments_memory {
  float x[LIVE * COLS];
  uint8_t codes[PADDED * COLS], scales[PADDED * 8];
  float row_weight[LIVE], y[LIVE * COLS];
  uint8_t slots[LIVE * TOP_K][COLS + 8];
  float before_weight[LIVE * COLS], weight[LIVE * TOP_K], before_pointers[LIVE * COLS];
  const void *pointers[LIVE * TOP_K];
} memory;

typedef struct arguments {
  mxg_recipe recipe;
  const mxg_recipe *recipe_pointer;
  mxg_matrix matrix; /* x or y */
  bool has_matrix;
  mxg_packed packed;
  bool has_packed;
  const float *row_weight;
  const void *const *slots;
  size_t top_k;
  const float *weight;
  mxg_layout layout; /* combine */
  const mxg_layout *layout_pointer;
  size_t col_begin, col_end;
  mxg_run run;
  fp_environment environment;
} arguments;

typedef enum operation { QUANTIZE, DEQUANTIZE, COMBINE, OPERATIONS } operation;
extern const char *const operation_names[OPERATIONS];

/* Arguments that `op` takes, and `memory` filled anew. */
void arguments_valid(arguments *a, operation op);

/* The call itself, in the environment that the arguments name. */
mxg_status arguments_call(const impl *side, operation op, const arguments *a);

#endif
