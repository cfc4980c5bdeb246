/* wire.c: the types that tokens travel as, and their slots.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ep.h"

typedef struct wire_row {
  const char *name, *recipe; /* recipe NULL: bf16 */
  size_t scale_count;        /* 0 = those used */
  bool mori_block;           /* block = ceil(hidden / scale_count) */
  bool slot_weights;         /* top_k f32 weights behind the scales */
  bool weighs_rows;
  /* what docs/LAYOUT.md says one row has: payload bytes per 16 elements, bytes of a scale, and
   * elements per scale */
  size_t payload_16, scale_bytes, per_scale;
} wire_row;

static const wire_row dispatches[EP_DISPATCHES] = {
    {"bf16", NULL, 0, false, false, false, 32, 0, 1},
    {"fp8", "aiter-fp8-128", 0, false, false, false, 16, 4, 128},
    {"mxfp8", "aiter-mxfp8", 0, false, false, false, 16, 1, 32},
    {"fp4", "aiter-mxfp4", 0, false, false, false, 8, 1, 32},
};

static const wire_row combines[EP_COMBINES] = {
    {"bf16", NULL, 0, false, false, false, 32, 0, 1},
    {"mori-fp8", "mori-fp8", EP_MORI_SCALES, true, true, false, 16, 4, 0},
    {"mori-fp4", "mori-fp4", EP_MORI_SCALES, true, true, false, 8, 4, 0},
    {"megamoe-fp8-32", "megamoe-fp8-32", 0, false, false, true, 16, 1, 32},
    {"mori-fp8-direct", "mori-fp8-direct", 0, false, false, false, 16, 0, 1},
};

static size_t ceil_div(size_t a, size_t b) {
  return (a + b - 1) / b;
}

static bool make(const wire_row *row, size_t hidden, size_t top_k, ep_wire *wire) {
  const size_t weights = row->slot_weights ? top_k : 0;
  const size_t scales = row->scale_count
                            ? row->scale_count
                            : (row->scale_bytes ? ceil_div(hidden, row->per_scale) : 0);
  const size_t expected = row->payload_16 * hidden / 16 + row->scale_bytes * scales + 4 * weights;
  memset(wire, 0, sizeof *wire);
  wire->name = row->name;
  wire->bf16 = !row->recipe;
  wire->weighs_rows = row->weighs_rows;
  wire->row_bytes = 2 * hidden;
  wire->gate = row->payload_16 == 8 ? 0.25 : 0.10;
  if (row->recipe) {
    char text[64];
    if (row->mori_block)
      (void)snprintf(text, sizeof text, "%s,block=%zu", row->recipe,
                     ceil_div(hidden, row->scale_count));
    else
      (void)snprintf(text, sizeof text, "%s", row->recipe);
    mxg_layout_options options = {.placement = MXG_PLACEMENT_SLOT,
                                  .slot_weights = (uint32_t)weights,
                                  .scale_count = row->scale_count};
    mxg_status status = mxg_recipe_parse(text, &wire->recipe, NULL);
    if (status == MXG_OK)
      status =
          mxg_layout_for(&wire->recipe, EP_RANKS * EP_MAX_TOKENS, hidden, &options, &wire->layout);
    if (status != MXG_OK) {
      (void)fprintf(stderr, "ep: %s: %s\n", text, mxg_strerror(status));
      return false;
    }
    wire->row_bytes = wire->layout.slot_bytes;
  }
  if (wire->row_bytes != expected)
    (void)fprintf(stderr, "ep: %s: a row of %zu has %zu bytes, expected %zu\n", row->name, hidden,
                  wire->row_bytes, expected);
  return wire->row_bytes == expected;
}

bool ep_dispatch_wire(size_t index, size_t hidden, ep_wire *wire) {
  return make(&dispatches[index], hidden, 0, wire);
}

bool ep_combine_wire(size_t index, size_t hidden, size_t top_k, ep_wire *wire) {
  return make(&combines[index], hidden, top_k, wire);
}

static bool report(const ep_wire *wire, mxg_status status) {
  if (status != MXG_OK) (void)fprintf(stderr, "ep: %s: %s\n", wire->name, mxg_strerror(status));
  return status == MXG_OK;
}

bool ep_pack(const ep_wire *wire, const uint16_t *x, const float *row_weight, size_t rows,
             size_t hidden, unsigned char *slots) {
  if (wire->bf16) {
    if (rows) memcpy(slots, x, rows * wire->row_bytes);
    return true;
  }
  const mxg_matrix_view view = {x, MXG_DTYPE_BF16, rows, hidden, 0};
  const mxg_packed packed = {slots, wire->layout.codes_bytes, NULL, 0, wire->layout};
  return report(wire, mxg_quantize(&wire->recipe, &view, row_weight, &packed, NULL));
}

bool ep_unpack(const ep_wire *wire, const unsigned char *slots, size_t rows, size_t hidden,
               uint16_t *y) {
  if (wire->bf16) {
    if (rows) memcpy(y, slots, rows * wire->row_bytes);
    return true;
  }
  mxg_layout layout = wire->layout;
  const mxg_layout_options options = {.placement = MXG_PLACEMENT_SLOT,
                                      .slot_weights = layout.slot_weights,
                                      .scale_count = layout.scale_count};
  mxg_status status = mxg_layout_for(&wire->recipe, rows, hidden, &options, &layout);
  const mxg_packed_view view = {slots, rows * wire->row_bytes, NULL, 0, layout};
  const mxg_matrix matrix = {y, MXG_DTYPE_BF16, rows, hidden, 0};
  if (status == MXG_OK) status = mxg_dequantize(&wire->recipe, &view, &matrix, NULL);
  return report(wire, status);
}

/* bf16 slots: the same sum, of values that need no decoding. */
static bool sum_bf16(const void *const *slots, size_t top_k, size_t tokens, size_t hidden,
                     uint16_t *y) {
  float *const sum = malloc((2 * hidden + 1) * sizeof *sum), *const value = sum + hidden;
  mxg_status status = sum ? MXG_OK : MXG_ERR_SIZE;
  for (size_t token = 0; status == MXG_OK && token < tokens; token++) {
    for (size_t i = 0; i < hidden; i++) sum[i] = 0.0f;
    for (size_t k = 0; status == MXG_OK && k < top_k; k++) {
      const void *const slot = slots[token * top_k + k];
      if (!slot) continue;
      status = mxg_to_f32(MXG_DTYPE_BF16, slot, hidden, value);
      for (size_t i = 0; i < hidden; i++) sum[i] += value[i];
    }
    if (status == MXG_OK) status = mxg_from_f32(MXG_DTYPE_BF16, sum, hidden, y + token * hidden);
  }
  free(sum);
  return status == MXG_OK;
}

bool ep_sum(const ep_wire *wire, const void *const *slots, size_t top_k, size_t tokens,
            size_t hidden, uint16_t *y) {
  const mxg_matrix matrix = {y, MXG_DTYPE_BF16, tokens, hidden, 0};
  if (wire->bf16) return sum_bf16(slots, top_k, tokens, hidden, y);
  return report(wire, mxg_combine(&wire->recipe, slots, top_k, NULL, &wire->layout, 0, hidden,
                                  &matrix, NULL));
}
