/* selftest_shapes.c: edge lengths, layouts, strides, addresses, live rows; sums of slots.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "selftest_parts.h"

/* Only every thin-th case, from another first one in each part. */
static int is_chosen(const mxg_worker *worker, unsigned part, size_t number) {
  const unsigned thin = worker->options->thin > 1 ? worker->options->thin : 1;
  return number / MXG_PARTS % thin == part % thin;
}

static size_t lengths(const mxg_recipe *recipe, size_t *out) {
  const size_t b = recipe->block > 0 ? recipe->block : 32;
  const size_t all[] = {1,   2,   15,   16,    17,   31,    32,        33,    48,        64,
                        127, 128, 129,  b - 1, b,    b + 1, 2 * b - 1, 2 * b, 2 * b + 1, 256,
                        512, 576, 1000, 1024,  1536, 2048,  4095,      4096,  4097,      7168};
  size_t count = 0;
  out[count++] = 0;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i] > 0) out[count++] = all[i];
  return count;
}

/* ---- quantise and dequantise ---- */

typedef enum shape_kind {
  SHAPE_DENSE,
  SHAPE_STRIDED,
  SHAPE_MORE_SCALES,
  SHAPE_TRANSPOSED,
  SHAPE_SHUFFLED,
  SHAPE_BLOCKED,
  SHAPE_SLOT,
  SHAPE_SLOT_STRIDED,
  SHAPE_KINDS
} shape_kind;

static mxg_layout_options options_of(shape_kind kind, const mxg_recipe *recipe, size_t cols,
                                     uint64_t *random) {
  mxg_layout_options o;
  size_t row_bytes = 0;
  const size_t used = mxg_scales_used(recipe, cols), more = 1 + mxg_random_below(random, 9);
  memset(&o, 0, sizeof o);
  (void)mxg_payload_row_bytes(recipe->element, cols, &row_bytes);
  switch (kind) {
    case SHAPE_STRIDED:
      o.payload_stride_bytes = row_bytes + more;
      o.scale_stride_bytes = used * mxg_scale_bytes(recipe->scale) + more;
      break;
    case SHAPE_MORE_SCALES: o.scale_count = used + more; break;
    case SHAPE_TRANSPOSED: o.order = MXG_ORDER_TRANSPOSED; break;
    case SHAPE_SHUFFLED: o.order = MXG_ORDER_AITER_SHUFFLE; break;
    case SHAPE_BLOCKED: o.order = MXG_ORDER_BLOCKED_128X4; break;
    case SHAPE_SLOT: o.placement = MXG_PLACEMENT_SLOT; break;
    case SHAPE_SLOT_STRIDED:
      o.placement = MXG_PLACEMENT_SLOT;
      o.slot_weights = (uint32_t)more;
      o.scale_count = recipe->scale == MXG_SCALE_NONE ? 0 : used + more % 3;
      o.slot_stride_bytes = row_bytes + (used + 2) * 4 + more * 4 + more;
      break;
    default: break;
  }
  if (o.order == MXG_ORDER_AITER_SHUFFLE || o.order == MXG_ORDER_BLOCKED_128X4)
    o.pad_byte = (uint32_t)mxg_random_below(random, 256);
  if (recipe->scale == MXG_SCALE_NONE) {
    o.scale_stride_bytes = 0;
    o.scale_count = 0;
  }
  return o;
}

/* Offsets that take the fast paths half of the time. */
static size_t any_offset(uint64_t *random) {
  static const unsigned char offsets[] = {0, 0, 0, 0, 0, 16, 32, 8, 4, 2, 1, 3, 6, 12, 5, 48};
  return offsets[mxg_random_below(random, sizeof offsets)];
}

static size_t any_rows(shape_kind kind, size_t cols, uint64_t *random) {
  const size_t r = mxg_random_below(random, 8);
  if (r == 0) return 0;
  const int is_padded = kind == SHAPE_SHUFFLED || kind == SHAPE_BLOCKED;
  if (is_padded && cols <= 129) return 1 + mxg_random_below(random, 300);
  return cols > 1100 ? 1 + r % 2 : r;
}

static void try_shape(mxg_worker *worker, const mxg_preset *preset, mxg_dtype dtype,
                      shape_kind kind, size_t cols, uint64_t *random, mxg_result *result) {
  mxg_case c = {preset->name, &preset->recipe, dtype, {0}, 0, 0, any_offset(random), NULL};
  const mxg_layout_options options = options_of(kind, c.recipe, cols, random);
  c.rows = any_rows(kind, cols, random);
  /* An order for E8M0 alone, with another scale: nothing to try. */
  if (mxg_ref_layout_for(c.recipe, c.rows + mxg_random_below(random, 3), cols, &options,
                         &c.layout) != MXG_OK)
    return;
  const size_t strides[] = {cols, cols, cols + 1, cols + 8, cols + 64};
  c.stride_elems = strides[mxg_random_below(random, 5)];
  uint32_t live = (uint32_t)mxg_random_below(random, c.rows + 2);
  if (mxg_random_below(random, 3) == 0) c.live_rows = &live;
  const int is_weighted = mxg_random_below(random, 5) == 0;
  const size_t width = mxg_dtype_bytes(dtype);
  if (mxg_area_take(&worker->x, c.rows * c.stride_elems * width, c.offset) ||
      mxg_area_take(&worker->weight, 4 * c.rows, c.offset)) {
    mxg_result_say(result, "out of memory");
    return;
  }
  mxg_fill_values(random, worker->x.data, dtype, c.rows, cols, c.stride_elems);
  mxg_fill_values(random, worker->weight.data, MXG_DTYPE_F32, 1, c.rows, c.rows);
  mxg_try_quantize(worker, &c, is_weighted ? (const float *)(void *)worker->weight.data : NULL,
                   result);
  if (mxg_random_below(random, 3) == 0) { /* any bytes decode */
    mxg_fill_bytes(random, worker->want_codes.data, worker->want_codes.bytes);
    mxg_fill_bytes(random, worker->want_scales.data, worker->want_scales.bytes);
  }
  c.dtype = (mxg_dtype)(1 + mxg_random_below(random, 3));
  mxg_try_dequantize(worker, &c, result);
}

void mxg_test_shapes(mxg_worker *worker, const mxg_preset *preset, unsigned part,
                     mxg_result *result) {
  static const mxg_dtype dtypes[] = {MXG_DTYPE_BF16, MXG_DTYPE_F16, MXG_DTYPE_F32};
  size_t cols[64];
  const size_t cols_count = lengths(&preset->recipe, cols);
  size_t number = 0;
  for (size_t i = 0; i < cols_count; i++)
    for (int kind = 0; kind < SHAPE_KINDS; kind++)
      for (size_t d = 0; d < 3; d++) {
        uint64_t random = 0x5EED0000u + number * 7919u;
        const int is_ours = number++ % MXG_PARTS == part;
        if (!is_ours || !is_chosen(worker, part, number)) continue;
        try_shape(worker, preset, dtypes[d], (shape_kind)kind, cols[i], &random, result);
      }
}

/* ---- combine ---- */

static void fill_slots(mxg_worker *worker, const mxg_case *c, size_t count, size_t slot_step,
                       uint64_t *random) {
  mxg_layout one = c->layout;
  one.rows = 1;
  for (size_t i = 0; i < count; i++) {
    unsigned char *slot = worker->slots.data + i * slot_step;
    mxg_fill_bytes(random, slot, one.slot_bytes);
    if (mxg_random_below(random, 4) == 0) continue;
    float values[1024];
    mxg_layout layout;
    mxg_layout_options options;
    memset(&options, 0, sizeof options);
    options.placement = MXG_PLACEMENT_SLOT;
    options.scale_count = one.scale_count;
    options.slot_weights = one.slot_weights;
    if (one.cols > 1024 || mxg_ref_layout_for(c->recipe, 1, one.cols, &options, &layout) != MXG_OK)
      continue;
    mxg_fill_values(random, values, MXG_DTYPE_F32, 1, one.cols, one.cols);
    const mxg_matrix_view x = {values, MXG_DTYPE_F32, 1, one.cols, 0};
    const mxg_packed packed = {slot, layout.codes_bytes, NULL, 0, layout};
    (void)mxg_ref_quantize(c->recipe, &x, NULL, &packed, NULL);
  }
}

static void try_sum(mxg_worker *worker, const mxg_preset *preset, size_t top_k, size_t cols,
                    uint64_t *random, mxg_result *result) {
  enum { POOL = 24, ROWS_MAX = 5 };
  mxg_case c = {preset->name, &preset->recipe, MXG_DTYPE_F32, {0}, 0, 0, 0, NULL};
  mxg_layout_options options;
  const void *slots[ROWS_MAX * 64 + 1];
  memset(&options, 0, sizeof options);
  options.placement = MXG_PLACEMENT_SLOT;
  options.slot_weights = (uint32_t)mxg_random_below(random, 3);
  c.rows = mxg_random_below(random, ROWS_MAX + 1);
  c.dtype = (mxg_dtype)(1 + mxg_random_below(random, 3));
  c.offset = any_offset(random);
  c.stride_elems = cols + (mxg_random_below(random, 2) ? 0 : mxg_random_below(random, 20));
  uint32_t live = (uint32_t)mxg_random_below(random, c.rows + 2);
  if (mxg_random_below(random, 3) == 0) c.live_rows = &live;
  if (mxg_ref_layout_for(c.recipe, c.rows, cols, &options, &c.layout) != MXG_OK) return;
  const size_t step =
      c.layout.slot_bytes + (mxg_random_below(random, 2) ? (16 - c.layout.slot_bytes % 16) % 16
                                                         : mxg_random_below(random, 16));
  if (mxg_area_take(&worker->slots, POOL * step + 1, any_offset(random)) ||
      mxg_area_take(&worker->weight, 4 * (c.rows * top_k + 1), any_offset(random))) {
    mxg_result_say(result, "out of memory");
    return;
  }
  fill_slots(worker, &c, POOL, step, random);
  mxg_fill_values(random, worker->weight.data, MXG_DTYPE_F32, 1, c.rows * top_k, 1);
  for (size_t i = 0; i < c.rows * top_k; i++)
    slots[i] = mxg_random_below(random, 6) == 0
                   ? NULL
                   : worker->slots.data + mxg_random_below(random, POOL) * step;
  const int is_weighted = mxg_random_below(random, 2) == 0;
  const size_t cut = mxg_random_below(random, 2) ? 0 : mxg_random_below(random, cols + 1);
  mxg_try_combine(worker, &c, slots, top_k,
                  is_weighted ? (const float *)(void *)worker->weight.data : NULL, cut, result);
}

/* More rows than the grid has groups, several times: what is kept from row to row. One slot of the pool is
 * misaligned. */
static void try_many_sums(mxg_worker *worker, const mxg_preset *preset, size_t rows, size_t cols,
                          unsigned part, mxg_result *result) {
  enum { POOL = 24 };
  const size_t top_k = part % 2 ? 8 : 1 + part;
  mxg_case c = {preset->name, &preset->recipe, MXG_DTYPE_BF16, {0}, rows, cols, 0, NULL};
  mxg_layout_options options;
  uint64_t random = 0x50350000u + part;
  memset(&options, 0, sizeof options);
  options.placement = MXG_PLACEMENT_SLOT;
  if (part % 4 == 2) c.dtype = MXG_DTYPE_F32;
  if (part % 4 == 3) c.dtype = MXG_DTYPE_F16;
  if (mxg_ref_layout_for(c.recipe, rows, cols, &options, &c.layout) != MXG_OK) return;
  const size_t step = (c.layout.slot_bytes + 15) / 16 * 16;
  const void **slots = calloc(rows * top_k, sizeof *slots);
  if (slots == NULL || mxg_area_take(&worker->slots, POOL * step + 16, 0) ||
      mxg_area_take(&worker->weight, 4 * rows * top_k, 0)) {
    mxg_result_say(result, "out of memory");
    free(slots);
    return;
  }
  fill_slots(worker, &c, POOL, step, &random);
  mxg_fill_values(&random, worker->weight.data, MXG_DTYPE_F32, 1, rows * top_k, 1);
  for (size_t i = 0; i < rows * top_k; i++) {
    const size_t slot = mxg_random_below(&random, 8 * POOL);
    if (slot / POOL == 0)
      slots[i] = slot == 0 ? worker->slots.data + 4 : NULL;
    else
      slots[i] = worker->slots.data + slot % POOL * step;
  }
  mxg_try_combine(worker, &c, slots, top_k,
                  part % 4 < 2 ? (const float *)(void *)worker->weight.data : NULL, 0, result);
  free(slots);
}

void mxg_test_sums(mxg_worker *worker, const mxg_preset *preset, unsigned part,
                   mxg_result *result) {
  const size_t b = preset->recipe.block > 0 ? preset->recipe.block : 32;
  const size_t cols[] = {1, 16, 31, b, b + 1, 2 * b, 256, 512, 1024};
  const size_t cols_count = sizeof cols / sizeof cols[0];
  size_t number = 0;
  for (size_t top_k = 0; top_k <= 64; top_k++)
    for (size_t i = 0; i < 4; i++) {
      uint64_t random = 0xC0DE0000u + number * 104729u;
      const int is_ours = number++ % MXG_PARTS == part;
      if (!is_ours || !is_chosen(worker, part, number)) continue;
      try_sum(worker, preset, top_k, cols[(top_k + i) % cols_count], &random, result);
    }
  /* Of a thin self-test, what may be copied ahead of its use. */
  if (worker->options->thin <= 1) {
    if (preset->recipe.element == MXG_ELEMENT_E2M1 || part == 1 || part == 6)
      try_many_sums(worker, preset, 2003, part < 4 ? 1024 : 1056, part, result);
  } else if (preset->recipe.element == MXG_ELEMENT_E2M1 && part < 2) {
    try_many_sums(worker, preset, 1203, part == 0 ? 1024 : 1056, part, result);
  }
}
