/* case.c: an operation with its source, room for its results, and what the golden model gives.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum {
  BASE_ROWS = 61,         /* odd, so that repeated rows do not fall on the same lines of a cache */
  BASE_COMBINE_ROWS = 8,  /* each reads BENCH_TOP_K rows */
  ARRAY_SKEW_BYTES = 2112 /* keeps the arrays of a case off each other's page offsets */
};

#define TRY(expression)                      \
  do {                                       \
    const mxg_status status_ = (expression); \
    if (status_ != MXG_OK) return status_;   \
  } while (0)

/* Row sizes of the arrays that the operation needs. */
static mxg_status set_row_bytes(bench_case *c) {
  const bench_op *op = c->op;
  const size_t value_bytes = BENCH_COLS * mxg_dtype_bytes(op->dtype);
  mxg_layout layout;
  if (bench_is_limit(op->kind)) {
    c->source.row_bytes = value_bytes;
    c->result.row_bytes = op->kind == BENCH_READ ? 0 : value_bytes;
    c->source_row_bytes = value_bytes;
    return MXG_OK;
  }
  TRY(mxg_recipe_parse(op->recipe, &c->recipe, NULL));
  if (op->kind == BENCH_COMBINE) {
    const mxg_layout_options options = {.placement = MXG_PLACEMENT_SLOT};
    TRY(mxg_layout_for(&c->recipe, 1, BENCH_COLS, &options, &c->slot));
    c->source.row_bytes = BENCH_TOP_K * c->slot.slot_bytes;
    c->result.row_bytes = value_bytes;
    c->source_row_bytes = c->source.row_bytes;
    return MXG_OK;
  }
  TRY(mxg_layout_for(&c->recipe, 1, BENCH_COLS, NULL, &layout));
  if (bench_operation(op->kind) == MXG_OPERATION_QUANTIZE) {
    c->source.row_bytes = value_bytes;
    c->result.row_bytes = layout.payload_row_bytes;
    c->result_scales.row_bytes = layout.scale_row_bytes;
  } else {
    c->source.row_bytes = layout.payload_row_bytes;
    c->source_scales.row_bytes = layout.scale_row_bytes;
    c->result.row_bytes = value_bytes;
  }
  c->source_row_bytes = c->source.row_bytes + c->source_scales.row_bytes;
  return MXG_OK;
}

static unsigned char *take(unsigned char **at, size_t bytes) {
  unsigned char *taken = *at;
  *at += (bytes + 63) / 64 * 64 + ARRAY_SKEW_BYTES;
  return bytes == 0 ? NULL : taken;
}

static mxg_status set_arrays(bench_case *c, size_t set_bytes, unsigned char *arena,
                             size_t arena_bytes) {
  const size_t row_bytes = c->source.row_bytes + c->source_scales.row_bytes + c->result.row_bytes +
                           c->result_scales.row_bytes;
  const size_t most = c->op->kind == BENCH_COMBINE ? BASE_COMBINE_ROWS : BASE_ROWS;
  unsigned char *at = arena;
  c->rows = c->size == BENCH_TOKEN || set_bytes < row_bytes ? 1 : set_bytes / row_bytes;
  c->base_rows = c->rows < most ? c->rows : most;
  /* Whole copies of the base rows: the last one may not be used to its end. */
  const size_t source_rows = mxg_size_ceil_div(c->rows, c->base_rows) * c->base_rows;
  c->source.data = take(&at, source_rows * c->source.row_bytes);
  c->source_scales.data = take(&at, source_rows * c->source_scales.row_bytes);
  c->result.data = take(&at, c->rows * c->result.row_bytes);
  c->result_scales.data = take(&at, c->rows * c->result_scales.row_bytes);
  if ((size_t)(at - arena) > arena_bytes) return MXG_ERR_CAPACITY;
  c->want = c->result;
  c->want_scales = c->result_scales;
  c->want.data = malloc(c->base_rows * c->want.row_bytes + 1);
  c->want_scales.data = malloc(c->base_rows * c->want_scales.row_bytes + 1);
  return c->want.data == NULL || c->want_scales.data == NULL ? MXG_ERR_CAPACITY : MXG_OK;
}

/* Codes of the base rows: of random values, or, since those seldom are subnormal, random codes
 * under the scales of random values. */
static mxg_status fill_codes(bench_case *c, bench_data data, uint64_t *state) {
  const mxg_run portable = {1, MXG_ISA_PORTABLE, {0}};
  const int slots = c->op->kind == BENCH_COMBINE;
  const size_t rows = c->base_rows * (slots ? BENCH_TOP_K : 1);
  const mxg_layout_options options = {.placement =
                                          slots ? MXG_PLACEMENT_SLOT : MXG_PLACEMENT_SEPARATE};
  mxg_packed packed = {c->source.data,
                       c->base_rows * c->source.row_bytes,
                       c->source_scales.data,
                       c->base_rows * c->source_scales.row_bytes,
                       {0}};
  float *values = malloc(rows * BENCH_COLS * sizeof *values);
  if (values == NULL) return MXG_ERR_CAPACITY;
  bench_values(data, &c->recipe, MXG_DTYPE_F32, state, values, rows * BENCH_COLS);
  mxg_status status = mxg_layout_for(&c->recipe, rows, BENCH_COLS, &options, &packed.layout);
  if (status == MXG_OK) {
    const mxg_matrix_view x = {values, MXG_DTYPE_F32, rows, BENCH_COLS, 0};
    status = mxg_quantize(&c->recipe, &x, NULL, &packed, &portable);
  }
  free(values);
  if (status != MXG_OK || data != BENCH_RANDOM) return status;
  for (size_t row = 0; row < rows; row++)
    bench_random_codes(
        c->recipe.element, state,
        c->source.data + row * (slots ? c->slot.slot_bytes : packed.layout.payload_row_bytes),
        packed.layout.payload_row_bytes);
  return MXG_OK;
}

static size_t common_divisor(size_t a, size_t b) {
  while (b != 0) {
    const size_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* A row is the sum of slots that lie far apart, as they do when each comes from another rank; each
 * slot is read once in a walk over all rows. Row r reads copies of base row r % base_rows. */
static mxg_status set_slots(bench_case *c, uint64_t *state) {
  const size_t copies = mxg_size_ceil_div(c->rows, c->base_rows);
  size_t step = copies * 5 / 8 + 1; /* about the golden ratio, which spreads well */
  c->slots = malloc(c->rows * BENCH_TOP_K * sizeof *c->slots);
  c->weights = malloc(c->rows * BENCH_TOP_K * sizeof *c->weights);
  if (c->slots == NULL || c->weights == NULL) return MXG_ERR_CAPACITY;
  while (common_divisor(step, copies) != 1) step++;
  for (size_t row = 0; row < c->rows; row++) {
    for (size_t k = 0; k < BENCH_TOP_K; k++) {
      const size_t copy = (row / c->base_rows + k * copies / BENCH_TOP_K) * step % copies;
      const size_t base = row % c->base_rows;
      c->slots[row * BENCH_TOP_K + k] =
          c->source.data + ((copy * c->base_rows + base) * BENCH_TOP_K + k) * c->slot.slot_bytes;
      c->weights[row * BENCH_TOP_K + k] = row < c->base_rows
                                              ? 0.05f + (float)(bench_random(state) % 1000) * 0.001f
                                              : c->weights[base * BENCH_TOP_K + k];
    }
  }
  return MXG_OK;
}

static void repeat_rows(const bench_array *array, size_t base_rows, size_t rows) {
  for (size_t row = base_rows; row < rows; row += base_rows) {
    const size_t count = rows - row < base_rows ? rows - row : base_rows;
    if (array->row_bytes != 0)
      memcpy(array->data + row * array->row_bytes, array->data, count * array->row_bytes);
  }
}

static mxg_status fill_source(bench_case *c, bench_data data) {
  uint64_t state = 88172645463325252u;
  if (bench_is_limit(c->op->kind)) {
    for (size_t i = 0; i < c->base_rows * c->source.row_bytes; i++)
      c->source.data[i] = (unsigned char)(bench_random(&state) >> 56);
  } else if (bench_operation(c->op->kind) == MXG_OPERATION_QUANTIZE) {
    bench_values(data, &c->recipe, c->op->dtype, &state, c->source.data, c->base_rows * BENCH_COLS);
  } else {
    TRY(fill_codes(c, data, &state));
  }
  const size_t rows = mxg_size_ceil_div(c->rows, c->base_rows) * c->base_rows;
  repeat_rows(&c->source, c->base_rows, rows);
  repeat_rows(&c->source_scales, c->base_rows, rows);
  return c->op->kind == BENCH_COMBINE ? set_slots(c, &state) : MXG_OK;
}

static void copy_rows(const bench_array *from, const bench_array *to, size_t rows) {
  if (from->row_bytes != 0) memcpy(to->data, from->data, rows * from->row_bytes);
}

static mxg_status fill_want(bench_case *c) {
  bench_call call = {.c = c, .impl = BENCH_REF, .run = {1, 0, {0}}};
  if (bench_is_limit(c->op->kind)) {
    if (c->result.row_bytes != 0) copy_rows(&c->source, &c->want, c->base_rows);
    return MXG_OK;
  }
  bench_case_poison(c, 0, c->base_rows);
  TRY(bench_call_open(&call, c->base_rows));
  TRY(bench_call_rows(&call, 0));
  copy_rows(&c->result, &c->want, c->base_rows);
  copy_rows(&c->result_scales, &c->want_scales, c->base_rows);
  return MXG_OK;
}

mxg_status bench_case_open(const bench_op *op, bench_data data, bench_size size, size_t set_bytes,
                           unsigned char *arena, size_t arena_bytes, bench_case *out) {
  memset(out, 0, sizeof *out);
  out->op = op;
  out->size = size;
  mxg_status status = set_row_bytes(out);
  if (status == MXG_OK) status = set_arrays(out, set_bytes, arena, arena_bytes);
  if (status == MXG_OK) status = fill_source(out, data);
  if (status == MXG_OK) status = fill_want(out);
  if (status != MXG_OK) bench_case_close(out);
  return status;
}

void bench_case_close(bench_case *c) {
  free(c->want.data);
  free(c->want_scales.data);
  free(c->slots);
  free(c->weights);
  memset(c, 0, sizeof *c);
}

static int array_equal(const bench_array *got, const bench_array *want, size_t base_rows,
                       size_t first, size_t rows) {
  const size_t bytes = got->row_bytes;
  if (bytes == 0) return 1;
  for (size_t row = first; row < first + rows; row++)
    if (memcmp(got->data + row * bytes, want->data + row % base_rows * bytes, bytes) != 0) return 0;
  return 1;
}

int bench_case_equal(const bench_case *c, size_t first, size_t rows) {
  return array_equal(&c->result, &c->want, c->base_rows, first, rows) &&
         array_equal(&c->result_scales, &c->want_scales, c->base_rows, first, rows);
}

static void poison(const bench_array *array, size_t first, size_t rows) {
  if (array->row_bytes != 0)
    memset(array->data + first * array->row_bytes, 0xA5, rows * array->row_bytes);
}

void bench_case_poison(const bench_case *c, size_t first, size_t rows) {
  poison(&c->result, first, rows);
  poison(&c->result_scales, first, rows);
}
