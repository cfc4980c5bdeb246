/* pipe_cases.c: the cases of a plan: their order, their shapes, what they hold, and what the answer
 * must be.
 * SPDX-License-Identifier: MIT */
#include "pipe.h"

#include <stdlib.h>
#include <string.h>

enum { CASE_ELEMENTS = 256, SHAPES = 20, WEIGHT_STREAM = 100, TOP_K_STREAM = 101 };

static size_t block_of(const mxg_recipe *recipe) {
  return recipe->scale == MXG_SCALE_NONE ? 32 : recipe->block;
}

unsigned char *mxg_part_reserve(mxg_part *part, size_t bytes) {
  if (bytes > part->capacity || !part->data) {
    free(part->data);
    part->capacity = bytes < 4096 ? 4096 : bytes;
    part->data = mxg_alloc(part->capacity);
  }
  part->bytes = bytes;
  memset(part->data, 0, bytes);
  return part->data;
}

void mxg_pipe_free(mxg_pipe_case *one) {
  free(one->first.data);
  free(one->second.data);
  free(one->third.data);
  memset(one, 0, sizeof *one);
}

/* ---- shapes ---- */

/* Of the section "shapes": lengths around a block and around what SIMD likes, rows that end inside
 * a byte, several rows and scales so that an exchanged one shows. */
static void varied_shape(const mxg_plan *plan, uint64_t n, size_t *rows, size_t *cols) {
  const size_t block = block_of(&plan->recipe);
  const struct {
    size_t rows, cols;
  } shapes[SHAPES] = {{1, 0},
                      {1, 1},
                      {1, 2},
                      {1, 3},
                      {2, block > 1 ? block - 1 : 1},
                      {1, block},
                      {2, block + 1},
                      {3, 2 * block - 1},
                      {1, 2 * block + 1},
                      {2, 31},
                      {2, 33},
                      {1, 127},
                      {1, 129},
                      {3, 5},
                      {4, 4 * block},
                      {3, 5 * block},
                      {5, 3 * block + 7},
                      {8, 2 * block},
                      {2, 8 * block},
                      {7, 3 * block}};
  *rows = shapes[n % SHAPES].rows;
  *cols = shapes[n % SHAPES].cols;
}

static uint64_t shape_cases(const mxg_plan *plan) {
  return SHAPES * (uint64_t)(plan->level > 1 ? 16 : 2);
}

/* Of the other sections: one row of about CASE_ELEMENTS. */
static void plain_shape(const mxg_plan *plan, size_t *rows, size_t *cols) {
  const size_t block = block_of(&plan->recipe);
  *rows = 1;
  *cols = block >= CASE_ELEMENTS ? block : CASE_ELEMENTS / block * block;
}

static void shape_of_case(const mxg_plan *plan, bool is_varied, uint64_t n, size_t *rows,
                          size_t *cols) {
  if (is_varied)
    varied_shape(plan, n, rows, cols);
  else
    plain_shape(plan, rows, cols);
  if (plan->has_rows) *rows = plan->rows;
  if (plan->has_cols) *cols = plan->cols;
}

/* ---- the order of the cases ---- */

static bool is_values(const mxg_plan *plan) {
  return plan->op == MXG_OPERATION_QUANTIZE;
}

static uint64_t blocks_in_section(const mxg_plan *plan, unsigned section, mxg_dtype dtype) {
  const size_t block = block_of(&plan->recipe);
  return is_values(plan) ? mxg_value_section_blocks(plan, section, dtype, block)
                         : mxg_packed_section_blocks(plan, section, block);
}

/* Blocks that one case of a plain section holds; 0: none, its shape is empty. */
static uint64_t blocks_in_case(const mxg_plan *plan) {
  size_t rows = 0, cols = 0;
  plain_shape(plan, &rows, &cols);
  if (plan->has_rows) rows = plan->rows;
  if (plan->has_cols) cols = plan->cols;
  return (uint64_t)rows * mxg_size_ceil_div(cols, block_of(&plan->recipe));
}

int mxg_pipe_open(mxg_plan *plan, mxg_pipe_index *out) {
  const size_t sections = is_values(plan) ? mxg_value_sections() : mxg_packed_sections();
  size_t rows = 0, cols = 0, elements = 0;
  memset(out, 0, sizeof *out);
  out->plan = plan;
  plan->cases = 0;
  shape_of_case(plan, false, 0, &rows, &cols);
  const size_t copies = plan->has_top_k && plan->top_k ? plan->top_k : 1;
  if (mxg_size_mul(rows, cols, &elements) != MXG_OK ||
      mxg_size_mul(elements, copies, &elements) != MXG_OK || elements > (size_t)1 << 28)
    return mxg_fail(MXG_EXIT_USAGE,
                    "--rows x --cols: %zu x %zu is more than a case may hold (2^28)", rows, cols);
  const uint64_t per_case = blocks_in_case(plan);
  for (int dtype = 1; dtype < 4; dtype++) {
    if (!plan->dtypes[dtype]) continue;
    for (unsigned section = 0; section < sections; section++) {
      const uint64_t blocks = blocks_in_section(plan, section, (mxg_dtype)dtype);
      out->parts[out->count].first = plan->cases;
      out->parts[out->count].blocks = blocks;
      out->parts[out->count].dtype = (mxg_dtype)dtype;
      out->parts[out->count].section = section;
      out->count++;
      if (blocks == 0)
        plan->cases += shape_cases(plan);
      else
        plan->cases += per_case ? (blocks + per_case - 1) / per_case : 1;
    }
  }
  return MXG_EXIT_OK;
}

/* ---- what a case holds ---- */

static void fill_row_weights(const mxg_plan *plan, mxg_pipe_case *one) {
  static const uint32_t chosen[] = {0x3F800000, 0x00000000, 0xBF000000, 0x3DCCCCCD,
                                    0x7F800000, 0x00000001, 0x40400000, 0x7FC00000};
  unsigned char *data = mxg_part_reserve(&one->second, one->rows * 4);
  for (size_t row = 0; row < one->rows; row++) {
    mxg_draw random = mxg_draw_start(plan->seed, WEIGHT_STREAM, one->id << 20 | row);
    uint32_t bits =
        (118 + mxg_draw_below(&random, 12)) << 23 | (uint32_t)(mxg_draw_next(&random) & 0x7FFFFF);
    /* Inf, NaN and the like only now and then: they leave nothing of the row */
    if (mxg_draw_below(&random, 16) == 0) bits = chosen[mxg_draw_below(&random, 8)];
    memcpy(data + 4 * row, &bits, 4);
  }
}

static void make_values(const mxg_plan *plan, unsigned section, uint64_t n, bool is_varied,
                        mxg_pipe_case *one) {
  const size_t block = block_of(&plan->recipe);
  const size_t per_row = mxg_size_ceil_div(one->cols, block);
  uint32_t *bits = mxg_alloc(block * sizeof *bits);
  mxg_part_reserve(&one->first, one->rows * one->cols * mxg_dtype_bytes(one->dtype));
  for (size_t row = 0; row < one->rows; row++) {
    for (size_t b = 0; b < per_row; b++) {
      const size_t first = b * block;
      /* shapes differ in blocks: their streams must not meet those of the next case */
      const uint64_t index =
          is_varied ? n << 32 | (uint64_t)(row * per_row + b) : (n * one->rows + row) * per_row + b;
      const mxg_value_block fill = {
          .plan = plan,
          .dtype = one->dtype,
          .block = block,
          .index = index,
          .bits = bits,
          .length = block < one->cols - first ? block : one->cols - first};
      mxg_value_fill(section, &fill);
      mxg_store_bits(one->first.data, one->dtype, row * one->cols + first, bits, fill.length);
    }
  }
  free(bits);
  if (plan->has_row_weights)
    fill_row_weights(plan, one);
  else
    one->second.bytes = 0;
}

static void fill_packed_row(const mxg_plan *plan, unsigned section, const mxg_pipe_case *one,
                            uint64_t n, uint64_t row_index, unsigned char *codes,
                            unsigned char *scales) {
  const uint64_t stream = (uint64_t)section << 8 | (uint64_t)one->dtype | (uint64_t)plan->op << 16;
  mxg_packed_row row = {.plan = plan,
                        .index = row_index * mxg_size_ceil_div(one->cols, block_of(&plan->recipe)),
                        .random = mxg_draw_start(plan->seed, stream, n << 32 | row_index),
                        .cols = one->cols,
                        .codes = codes,
                        .scales = scales};
  mxg_packed_fill(section, &row);
}

static void make_packed(const mxg_plan *plan, unsigned section, uint64_t n, mxg_pipe_case *one) {
  const mxg_layout *layout = &one->layout;
  mxg_part_reserve(&one->first, layout->codes_bytes);
  mxg_part_reserve(&one->second, layout->scales_bytes);
  for (size_t row = 0; row < one->rows; row++)
    fill_packed_row(plan, section, one, n, n * one->rows + row,
                    one->first.data + row * layout->payload_stride_bytes,
                    one->second.data + row * layout->scale_stride_bytes);
}

static void fill_weights(const mxg_plan *plan, mxg_pipe_case *one, size_t count) {
  unsigned char *data = mxg_part_reserve(&one->second, one->has_weights ? count * 4 : 0);
  for (size_t i = 0; one->has_weights && i < count; i++) {
    mxg_draw random = mxg_draw_start(plan->seed, WEIGHT_STREAM, one->id << 20 | i);
    const uint32_t bits =
        (119 + mxg_draw_below(&random, 8)) << 23 | (uint32_t)(mxg_draw_next(&random) & 0x7FFFFF);
    memcpy(data + 4 * i, &bits, 4);
  }
}

/* Slots with holes, weighted every other time; now and then no source at all. */
static void make_slots(const mxg_plan *plan, unsigned section, uint64_t n, mxg_pipe_case *one) {
  const size_t count = one->rows * one->top_k, stride = one->layout.slot_stride_bytes;
  mxg_draw random = mxg_draw_start(plan->seed, TOP_K_STREAM, one->id);
  const uint32_t missing_in_16 = mxg_draw_below(&random, 12) == 0 ? 16 : 3;
  one->has_weights = n % 2 == 0;
  mxg_part_reserve(&one->first, count * stride);
  mxg_part_reserve(&one->third, count);
  for (size_t i = 0; i < count; i++) {
    unsigned char *slot = one->first.data + i * stride;
    one->third.data[i] = mxg_draw_below(&random, 16) >= missing_in_16;
    if (one->third.data[i])
      fill_packed_row(plan, section, one, n, n * count + i, slot,
                      slot + one->layout.scale_offset_bytes);
    else if (stride)
      memset(slot, 0xFF, stride); /* nobody may read it */
  }
  fill_weights(plan, one, count);
}

static size_t top_k_of(const mxg_plan *plan, uint64_t n) {
  static const uint8_t production[] = {8, 9, 2, 8, 1, 9, 3, 8, 0, 16};
  if (plan->has_top_k) return plan->top_k;
  return production[n % sizeof production];
}

int mxg_pipe_make(const mxg_pipe_index *index, uint64_t id, mxg_pipe_case *out) {
  const mxg_plan *plan = index->plan;
  size_t part = index->count - 1;
  while (index->parts[part].first > id) part--;
  const unsigned section = index->parts[part].section;
  const bool is_varied = index->parts[part].blocks == 0;
  const uint64_t n = id - index->parts[part].first;
  out->id = id;
  out->dtype = index->parts[part].dtype;
  out->section =
      is_values(plan) ? mxg_value_section_name(section) : mxg_packed_section_name(section);
  shape_of_case(plan, is_varied, n, &out->rows, &out->cols);
  out->top_k = plan->op == MXG_OPERATION_COMBINE ? top_k_of(plan, n) : 0;
  const mxg_layout_options options = {
      .placement = plan->op == MXG_OPERATION_COMBINE ? MXG_PLACEMENT_SLOT : MXG_PLACEMENT_SEPARATE};
  const int status = mxg_make_layout(&plan->recipe, out->rows, out->cols, &options, &out->layout);
  if (status) return status;
  out->third.bytes = 0;
  out->has_weights = false;
  if (plan->op == MXG_OPERATION_QUANTIZE)
    make_values(plan, section, n, is_varied, out);
  else if (plan->op == MXG_OPERATION_DEQUANTIZE)
    make_packed(plan, section, n, out);
  else
    make_slots(plan, section, n, out);
  return MXG_EXIT_OK;
}

/* ---- answers ---- */

/* The layouts of the two implementations are equal; each checks its own. */
static mxg_status quantize(const mxg_plan *plan, const mxg_pipe_case *one, const mxg_impl *impl,
                           const mxg_run *run, mxg_part *first, mxg_part *second) {
  const mxg_layout *layout = &one->layout;
  const mxg_matrix_view x = {one->first.data, one->dtype, one->rows, one->cols, 0};
  const mxg_packed out = {mxg_part_reserve(first, layout->codes_bytes), layout->codes_bytes,
                          mxg_part_reserve(second, layout->scales_bytes), layout->scales_bytes,
                          *layout};
  const float *weights =
      plan->has_row_weights ? (const float *)(const void *)one->second.data : NULL;
  return impl->quantize(&plan->recipe, &x, weights, &out, run);
}

static mxg_status combine(const mxg_plan *plan, const mxg_pipe_case *one, const mxg_impl *impl,
                          const mxg_run *run, const mxg_matrix *y) {
  const size_t count = one->rows * one->top_k;
  const void **slots = mxg_alloc((count + 1) * sizeof *slots);
  for (size_t i = 0; i < count; i++)
    slots[i] = one->third.data[i] ? one->first.data + i * one->layout.slot_stride_bytes : NULL;
  const float *weights = one->has_weights ? (const float *)(const void *)one->second.data : NULL;
  const mxg_status status =
      impl->combine(&plan->recipe, slots, one->top_k, weights, &one->layout, 0, one->cols, y, run);
  free(slots);
  return status;
}

int mxg_pipe_answer(const mxg_plan *plan, const mxg_pipe_case *one, const mxg_impl *impl,
                    const mxg_run *run, mxg_part *first, mxg_part *second) {
  mxg_status status = MXG_OK;
  if (plan->op == MXG_OPERATION_QUANTIZE) {
    status = quantize(plan, one, impl, run, first, second);
  } else {
    const size_t bytes = one->rows * one->cols * mxg_dtype_bytes(one->dtype);
    const mxg_matrix y = {mxg_part_reserve(first, bytes), one->dtype, one->rows, one->cols, 0};
    second->bytes = 0;
    if (plan->op == MXG_OPERATION_COMBINE) {
      status = combine(plan, one, impl, run, &y);
    } else {
      const mxg_layout *layout = &one->layout;
      const mxg_packed_view in = {one->first.data, layout->codes_bytes, one->second.data,
                                  layout->scales_bytes, *layout};
      status = impl->dequantize(&plan->recipe, &in, &y, run);
    }
  }
  return status == MXG_OK ? MXG_EXIT_OK : mxg_fail_status(status, mxg_op_name(plan->op));
}
