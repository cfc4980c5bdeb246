/* block_case.c
 * SPDX-License-Identifier: MIT */
#include "block_case.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "guard.h"
#include "impl.h"
#include "recipes.h"

static const uint8_t poisons[IMPLS] = {0xC5, 0x3A};

size_t scale_position(mxg_scale_order order, size_t rows, size_t scale_count, size_t x, size_t y) {
  const size_t wide = (scale_count + 7) / 8 * 8, tiles = (scale_count + 3) / 4;
  switch (order) {
    case MXG_ORDER_ROW_MAJOR: break;
    case MXG_ORDER_TRANSPOSED: return y * rows + x;
    case MXG_ORDER_AITER_SHUFFLE:
      return (x / 32 * wide) * 32 + (y / 8) * 256 + (y % 4) * 64 + (x % 16) * 4 +
             ((y % 8) / 4) * 2 + (x % 32) / 16;
    case MXG_ORDER_BLOCKED_128X4:
      return ((x / 128) * tiles + y / 4) * 512 + (x % 32) * 16 + ((x % 128) / 32) * 4 + y % 4;
  }
  return x * scale_count + y;
}

static void mark(uint8_t *mask, size_t from, size_t count) {
  if (count > 0) memset(mask + from, 1, count);
}

void written_bytes(const mxg_layout *l, size_t live, uint8_t *codes, uint8_t *scales) {
  if (l->codes_bytes > 0) memset(codes, 0, l->codes_bytes);
  if (l->scales_bytes > 0) memset(scales, 0, l->scales_bytes);
  if (l->placement == MXG_PLACEMENT_SLOT) {
    for (size_t r = 0; r < live; r++) {
      mark(codes, r * l->slot_stride_bytes, l->payload_row_bytes);
      mark(codes, r * l->slot_stride_bytes + l->scale_offset_bytes, l->scale_row_bytes);
    }
    return;
  }
  for (size_t r = 0; r < live; r++) mark(codes, r * l->payload_stride_bytes, l->payload_row_bytes);
  size_t tall = live, wide = l->scale_count;
  if (l->order == MXG_ORDER_AITER_SHUFFLE) {
    tall = (live + 255) / 256 * 256;
    wide = (wide + 7) / 8 * 8;
  } else if (l->order == MXG_ORDER_BLOCKED_128X4) {
    tall = (live + 127) / 128 * 128;
    wide = (wide + 3) / 4 * 4;
  }
  for (size_t r = 0; r < tall; r++) {
    if (l->order == MXG_ORDER_ROW_MAJOR) {
      mark(scales, r * l->scale_stride_bytes, l->scale_row_bytes);
      continue;
    }
    for (size_t c = 0; c < wide; c++)
      mark(scales, scale_position(l->order, l->rows, l->scale_count, r, c) * l->scale_bytes,
           l->scale_bytes);
  }
}

/* The running case in words: once per case, a recipe takes long to print. */
static char case_text[1100];

static void describe(const block_case *c) {
  snprintf(case_text, sizeof case_text,
           "%s %s rows %zu live %zu cols %zu stride %zu misalign %zu%s | %s | %s",
           dtype_name(c->dtype), values_kind_name(c->kind), c->rows, c->live_rows, c->cols,
           c->stride_elems, c->misalign, c->row_weight ? " row_weight" : "",
           options_text(&c->options), recipe_text(&c->recipe));
}

/* `what`, and the case; static storage. */
static const char *words(const char *what) {
  static char text[1200];
  snprintf(text, sizeof text, "%s | %s", what, case_text);
  return text;
}

/* codes and scales of one implementation, in guarded memory */
typedef struct packed_buffers {
  guard codes, scales;
} packed_buffers;

static packed_buffers packed_new(const block_case *c, const mxg_layout *layout, uint8_t poison,
                                 mxg_packed *out) {
  packed_buffers b = {guard_new(layout->codes_bytes, (c->misalign * 7 + 1) % 64),
                      guard_new(layout->scales_bytes, (c->misalign * 3 + 2) % 64)};
  memset(b.codes.data, poison, layout->codes_bytes);
  memset(b.scales.data, poison, layout->scales_bytes);
  mxg_packed packed = {b.codes.data, layout->codes_bytes, b.scales.data, layout->scales_bytes,
                       *layout};
  if (layout->placement == MXG_PLACEMENT_SLOT) packed.scales = NULL;
  *out = packed;
  return b;
}

static void packed_free(packed_buffers *b) {
  guard_free(&b->codes, words("codes"));
  guard_free(&b->scales, words("scales"));
}

/* got[mask] == want[mask]; elsewhere got is still its poison */
static void expect_masked(const char *what, const uint8_t *mask, const uint8_t *got,
                          const uint8_t *want, size_t bytes, uint8_t poison) {
  for (size_t i = 0; i < bytes; i++) {
    if (!mask[i] && got[i] != poison)
      ck_abort_msg("%s: byte %zu must not be written and is %02X", words(what), i, got[i]);
    if (mask[i] && got[i] != want[i])
      ck_abort_msg("%s: byte %zu of %zu got %02X want %02X; from there got %swant %s", words(what),
                   i, bytes, got[i], want[i], hex_text(got + i, bytes - i),
                   hex_text(want + i, bytes - i));
  }
}

/* Codec and ref, and codec by every thread count and isa, from x into packed bytes. The codec's
 * bytes stay in *codec. */
static packed_buffers quantize_both(const block_case *c, const mxg_layout *layout,
                                    const mxg_matrix_view *x, const float *weight,
                                    mxg_packed *codec) {
  packed_buffers buffers[IMPLS];
  mxg_packed packed[IMPLS];
  uint8_t *codes_mask = malloc(layout->codes_bytes + 1);
  uint8_t *scales_mask = malloc(layout->scales_bytes + 1);
  if (codes_mask == NULL || scales_mask == NULL) ck_abort_msg("no memory");
  written_bytes(layout, c->live_rows, codes_mask, scales_mask);
  for (int i = 0; i < IMPLS; i++) {
    buffers[i] = packed_new(c, layout, poisons[i], &packed[i]);
    const mxg_status status = impls[i].quantize(&c->recipe, x, weight, &packed[i], NULL);
    if (status != MXG_OK)
      ck_abort_msg("%s: %s quantize: status %d", words(""), impls[i].name, (int)status);
  }
  const uint8_t *ref_codes = buffers[IMPL_REF].codes.data;
  const uint8_t *ref_scales = buffers[IMPL_REF].scales.data;
  expect_masked("ref codes", codes_mask, ref_codes, ref_codes, layout->codes_bytes,
                poisons[IMPL_REF]);
  expect_masked("ref scales", scales_mask, ref_scales, ref_scales, layout->scales_bytes,
                poisons[IMPL_REF]);
  expect_masked("codec scales", scales_mask, buffers[IMPL_CODEC].scales.data, ref_scales,
                layout->scales_bytes, poisons[IMPL_CODEC]);
  expect_masked("codec codes", codes_mask, buffers[IMPL_CODEC].codes.data, ref_codes,
                layout->codes_bytes, poisons[IMPL_CODEC]);
  for (uint32_t run_index = 0; c->all_runs && run_index < 8; run_index++) {
    mxg_run run = {0, 0, {0}};
    if (run_index < 4) run.threads = run_index + 1;
    if (run_index >= 4) run.isa_mask = UINT32_C(1) << (run_index - 4);
    if ((run.isa_mask & ~mxg_cpu_features()) != 0) continue;
    mxg_packed again;
    packed_buffers b = packed_new(c, layout, poisons[IMPL_CODEC], &again);
    const mxg_status status = mxg_quantize(&c->recipe, x, weight, &again, &run);
    if (status != MXG_OK) ck_abort_msg("%s: run: status %d", words(""), (int)status);
    expect_bytes(b.codes.data, buffers[IMPL_CODEC].codes.data, layout->codes_bytes,
                 "%s: codes with threads %u isa %u", words(""), (unsigned)run.threads,
                 (unsigned)run.isa_mask);
    expect_bytes(b.scales.data, buffers[IMPL_CODEC].scales.data, layout->scales_bytes,
                 "%s: scales with threads %u isa %u", words(""), (unsigned)run.threads,
                 (unsigned)run.isa_mask);
    packed_free(&b);
  }
  free(codes_mask);
  free(scales_mask);
  packed_free(&buffers[IMPL_REF]);
  *codec = packed[IMPL_CODEC];
  return buffers[IMPL_CODEC];
}

static void dequantize_both(const block_case *c, const mxg_packed *packed, const char *what) {
  static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_BF16, MXG_DTYPE_F16};
  const mxg_packed_view in = {packed->codes, packed->codes_capacity, packed->scales,
                              packed->scales_capacity, packed->layout};
  for (size_t d = 0; d < 3; d++) {
    const size_t width = mxg_dtype_bytes(dtypes[d]);
    const size_t bytes =
        c->live_rows == 0 ? 0 : ((c->live_rows - 1) * c->stride_elems + c->cols) * width;
    guard y[IMPLS + 1];
    for (int i = 0; i < IMPLS + 1; i++) {
      const impl *side = &impls[i == IMPL_REF ? IMPL_REF : IMPL_CODEC];
      const mxg_run run = {i == IMPLS ? 3 : 0, i == IMPLS ? MXG_ISA_PORTABLE : 0, {0}};
      if (i == IMPLS && !c->all_runs) break;
      y[i] = guard_new(bytes, (c->misalign * 5 + 3 + d) % 64);
      memset(y[i].data, poisons[i % IMPLS], bytes);
      const mxg_matrix out = {y[i].data, dtypes[d], c->live_rows, c->cols, c->stride_elems};
      const mxg_status status = side->dequantize(&c->recipe, &in, &out, &run);
      if (status != MXG_OK)
        ck_abort_msg("%s: %s dequantize: status %d", words(what), side->name, (int)status);
    }
    for (size_t r = 0; r < c->live_rows; r++) {
      const size_t at = r * c->stride_elems * width, row_bytes = c->cols * width;
      expect_bytes(y[IMPL_CODEC].data + at, y[IMPL_REF].data + at, row_bytes,
                   "%s to %s row %zu: codec against ref", words(what), dtype_name(dtypes[d]), r);
      if (c->all_runs)
        expect_bytes(y[IMPLS].data + at, y[IMPL_CODEC].data + at, row_bytes,
                     "%s to %s row %zu: three threads, portable", words(what),
                     dtype_name(dtypes[d]), r);
      const size_t gap = r + 1 < c->live_rows ? (c->stride_elems - c->cols) * width : 0;
      for (int i = 0; i < IMPLS; i++)
        expect_filled(y[i].data + at + row_bytes, poisons[i], gap, "%s to %s: %s between rows",
                      words(what), dtype_name(dtypes[d]), impls[i].name);
    }
    for (int i = 0; i < IMPLS + (c->all_runs ? 1 : 0); i++) guard_free(&y[i], words("y"));
  }
}

void block_case_run(generator *g, const block_case *c) {
  mxg_layout layout, ref_layout;
  describe(c);
  memset(&layout, 0, sizeof layout);
  memset(&ref_layout, 0, sizeof ref_layout);
  mxg_status status = mxg_layout_for(&c->recipe, c->rows, c->cols, &c->options, &layout);
  if (status != MXG_OK) ck_abort_msg("%s: layout: status %d", words(""), (int)status);
  status = mxg_ref_layout_for(&c->recipe, c->rows, c->cols, &c->options, &ref_layout);
  if (status != MXG_OK) ck_abort_msg("%s: ref layout: status %d", words(""), (int)status);
  expect_bytes(&layout, &ref_layout, sizeof layout, "%s: layout", words(""));

  const size_t width = mxg_dtype_bytes(c->dtype);
  const size_t elems = c->live_rows == 0 ? 0 : (c->live_rows - 1) * c->stride_elems + c->cols;
  guard x = guard_new(elems * width, c->misalign);
  values_fill(g, c->kind, c->dtype, c->live_rows, c->cols, c->stride_elems,
              recipe_block(&c->recipe), x.data);
  guard weights = guard_new(c->live_rows * sizeof(float), (c->misalign + 9) % 64);
  values_fill(g, c->kind == VALUES_BITS ? VALUES_SPECIAL : VALUES_RANDOM, MXG_DTYPE_F32, 1,
              c->live_rows, c->live_rows, 1, weights.data);
  guard_read_only(&x);
  guard_read_only(&weights);

  const mxg_matrix_view view = {x.data, c->dtype, c->live_rows, c->cols, c->stride_elems};
  mxg_packed packed;
  packed_buffers buffers = quantize_both(
      c, &layout, &view, c->row_weight ? (const float *)(const void *)weights.data : NULL, &packed);
  guard_read_only(&buffers.codes);
  guard_read_only(&buffers.scales);
  dequantize_both(c, &packed, "dequantize of quantised bytes");
  packed_free(&buffers);
  if (c->random_bytes) {
    buffers = packed_new(c, &layout, 0, &packed);
    generator_bytes(g, buffers.codes.data, layout.codes_bytes);
    generator_bytes(g, buffers.scales.data, layout.scales_bytes);
    guard_read_only(&buffers.codes);
    guard_read_only(&buffers.scales);
    dequantize_both(c, &packed, "dequantize of random bytes");
    packed_free(&buffers);
  }
  guard_free(&x, words("x"));
  guard_free(&weights, words("row_weight"));
}
