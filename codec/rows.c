/* rows.c: a row of a matrix to its kernel. Here live the places of codes and scales, scale orders
 * and their pads, stored but unused scales, and markers (section 5).
 * SPDX-License-Identifier: MIT */
#include "internal.h"

/* Scales of orders other than row_major pass through a buffer on the stack, this many blocks at a
 * time. A multiple of 4: 4 blocks of any size end on a whole byte, in FP4 and FP6 too. */
#define SEGMENT_BLOCKS 256

static size_t payload_offset(const mxg_layout *layout, size_t row) {
  return row * (layout->placement == MXG_PLACEMENT_SLOT ? layout->slot_stride_bytes
                                                        : layout->payload_stride_bytes);
}

/* Of scale (row, col), from the first slot in slot placement, else from the scale matrix. */
static size_t scale_offset(const mxg_layout *layout, size_t row, size_t col) {
  if (layout->placement == MXG_PLACEMENT_SLOT)
    return row * layout->slot_stride_bytes + layout->scale_offset_bytes + col * layout->scale_bytes;
  if (layout->order == MXG_ORDER_ROW_MAJOR)
    return row * layout->scale_stride_bytes + col * layout->scale_bytes;
  return layout->scale_bytes *
         mxg_scale_index(layout->order, layout->rows, layout->scale_count, row, col);
}

/* Elements of a segment; the whole row where that would not fit size_t. */
static size_t segment_cols(const mxg_call *call) {
  const size_t block = call->plan->recipe.block, cols = call->layout->cols;
  return block > cols / SEGMENT_BLOCKS ? cols : block * SEGMENT_BLOCKS;
}

/* Bytes of the payload before element `col`, a whole number of them. */
static size_t codes_before(const mxg_call *call, size_t col) {
  return col / 8 * (size_t)call->plan->traits.bits + col % 8 * (size_t)call->plan->traits.bits / 8;
}

static uint8_t *scales_base(const mxg_call *call) {
  return call->layout->placement == MXG_PLACEMENT_SLOT ? call->codes_out : call->scales_out;
}

/* ---- quantise ---- */

/* From this many bytes of source on, codes that are stored around the caches leave more of them,
 * and of the memory's time, to the source. */
#define STREAMING_BYTES ((size_t)12 << 20)

static void quantize_row(const mxg_call *call, size_t row) {
  const mxg_layout *layout = call->layout;
  const mxg_marker marker = call->plan->recipe.marker;
  const size_t used = layout->scales_used, bytes = layout->scale_bytes;
  uint8_t *const scales = scales_base(call);
  mxg_quantize_job job;
  int any_scaled = 0;
  job.plan = call->plan;
  /* Without columns a stride may be any number: row * stride is then nowhere. */
  job.x = layout->cols == 0 ? NULL : call->x + row * call->value_stride_bytes;
  job.dtype = call->dtype;
  job.cols = layout->cols;
  job.row_weight = call->row_weight == NULL ? NULL : call->row_weight + row * sizeof(float);
  job.codes = layout->cols == 0 ? NULL : call->codes_out + payload_offset(layout, row);
  job.scales = NULL;
  job.streaming = call->rows * layout->cols * mxg_dtype_bytes(call->dtype) >= STREAMING_BYTES;
  if (layout->cols == 0 || bytes == 0 || layout->order == MXG_ORDER_ROW_MAJOR) {
    if (used != 0) job.scales = scales + scale_offset(layout, row, 0);
    if (layout->cols != 0) any_scaled = call->kernel->quantize(&job);
  } else {
    const size_t step = segment_cols(call);
    const uint8_t *const x = job.x;
    uint8_t *const codes = job.codes;
    for (size_t begin = 0, block = 0, count; begin < layout->cols; begin += job.cols) {
      uint8_t segment[4 * SEGMENT_BLOCKS];
      job.cols = layout->cols - begin < step ? layout->cols - begin : step;
      job.x = x + begin * mxg_dtype_bytes(call->dtype);
      job.codes = codes + codes_before(call, begin);
      job.scales = segment;
      any_scaled |= call->kernel->quantize(&job);
      count = mxg_size_ceil_div(job.cols, call->plan->recipe.block);
      for (size_t i = 0; i < count; i++, block++)
        memcpy(scales + scale_offset(layout, row, block), segment + i * bytes, bytes);
    }
  }
  if (used != 0 && (marker == MXG_MARKER_ALWAYS || (marker == MXG_MARKER_IF_SCALED && any_scaled)))
    scales[scale_offset(layout, row, 0) + 3] ^= 0x80;
  for (size_t col = used; col < layout->scale_count; col++) {
    uint8_t *out = scales + scale_offset(layout, row, col);
    if (bytes == 1)
      *out = 0;
    else
      mxg_store_le32(out, mxg_f32_bits(1.0f));
  }
}

/* The pads of the padded orders, right of the live rows and below them. */
static void write_pads(const mxg_call *call) {
  const mxg_layout *layout = call->layout;
  const size_t tile_rows = mxg_order_tile_rows(layout->order);
  const size_t tile_cols = mxg_order_tile_cols(layout->order);
  const size_t rows = mxg_size_ceil_div(call->rows, tile_rows) * tile_rows;
  const size_t cols = mxg_size_ceil_div(layout->scale_count, tile_cols) * tile_cols;
  if (tile_rows == 1) return;
  for (size_t row = 0; row < rows; row++)
    for (size_t col = row < call->rows ? layout->scale_count : 0; col < cols; col++)
      call->scales_out[scale_offset(layout, row, col)] = (uint8_t)layout->pad_byte;
}

void mxg_quantize_rows(const mxg_call *call) {
  const mxg_layout *layout = call->layout;
  if (layout->cols == 0 && layout->scale_count == 0) return;
  mxg_for_each_row(call, layout->cols * mxg_dtype_bytes(call->dtype), quantize_row);
  write_pads(call);
}

/* ---- dequantise ---- */

/* From this many bytes of values on, a store around the caches saves reading what it overwrites. */
#define STREAMING_VALUE_BYTES ((size_t)16 << 20)

/* A row's scales have no meaning if a marker recipe did not mark it (section 5). There are some. */
static int row_is_scaled(const mxg_plan *plan, const uint8_t *first_scale) {
  if (plan->recipe.scale != MXG_SCALE_F32 || plan->recipe.marker == MXG_MARKER_NONE) return 1;
  return mxg_f32_from_bits(mxg_load_le32(first_scale)) < 0.0f; /* not -0.0, not NaN */
}

static int is_negated(const mxg_plan *plan) {
  return plan->recipe.scale == MXG_SCALE_F32 && plan->recipe.marker != MXG_MARKER_NONE;
}

static void dequantize_row(const mxg_call *call, size_t row) {
  const mxg_layout *layout = call->layout;
  const int slot = layout->placement == MXG_PLACEMENT_SLOT;
  const uint8_t *const scales = slot ? call->codes_in : call->scales_in;
  mxg_dequantize_job job;
  int scaled = 0;
  job.plan = call->plan;
  job.codes = call->codes_in + payload_offset(layout, row);
  job.scales = NULL;
  job.first_negated = is_negated(call->plan);
  job.cols = layout->cols;
  job.y = call->y + row * call->value_stride_bytes;
  job.dtype = call->dtype;
  job.streaming = call->rows * layout->cols * mxg_dtype_bytes(call->dtype) >= STREAMING_VALUE_BYTES;
  if (layout->scales_used != 0) {
    const uint8_t *first = scales + scale_offset(layout, row, 0);
    scaled = row_is_scaled(call->plan, first);
    if (scaled) job.scales = first;
  }
  if (!scaled || layout->order == MXG_ORDER_ROW_MAJOR) {
    call->kernel->dequantize(&job);
  } else {
    const size_t step = segment_cols(call), bytes = layout->scale_bytes;
    const uint8_t *const codes = job.codes;
    uint8_t *const y = job.y;
    for (size_t begin = 0, block = 0, count; begin < layout->cols; begin += job.cols) {
      uint8_t segment[4 * SEGMENT_BLOCKS];
      job.cols = layout->cols - begin < step ? layout->cols - begin : step;
      count = mxg_size_ceil_div(job.cols, call->plan->recipe.block);
      for (size_t i = 0; i < count; i++, block++)
        memcpy(segment + i * bytes, scales + scale_offset(layout, row, block), bytes);
      job.codes = codes + codes_before(call, begin);
      job.scales = segment;
      job.y = y + begin * mxg_dtype_bytes(call->dtype);
      call->kernel->dequantize(&job);
      job.first_negated = 0;
    }
  }
}

void mxg_dequantize_rows(const mxg_call *call) {
  const size_t row_bytes = call->layout->cols * mxg_dtype_bytes(call->dtype);
  if (row_bytes != 0) mxg_for_each_row(call, row_bytes, dequantize_row);
}

/* ---- combine ---- */

/* From this many bytes of slots on, they are not in the nearer caches, or sums better go around
 * them. */
#define FAR_SLOT_BYTES ((size_t)2 << 20)
#define STREAMING_SLOT_BYTES ((size_t)16 << 20)

/* The next row's slots come from anywhere: ask for their beginnings now. */
static void prefetch_slots(const mxg_call *call, size_t row) {
#if defined(__GNUC__)
  const size_t line = 64, lines = 8; /* combine.h looks as far ahead in a row */
  const size_t code = codes_before(call, call->col_begin);
  for (size_t k = 0; k < call->top_k; k++) {
    const uint8_t *slot;
    memcpy(&slot, call->slots + (row * call->top_k + k) * sizeof slot, sizeof slot);
    if (slot == NULL) continue;
    for (size_t at = code; at < code + lines * line && at < call->layout->payload_row_bytes;
         at += line)
      __builtin_prefetch(slot + at);
    for (size_t i = 0; i < call->layout->scale_row_bytes && i < 4 * line; i += line)
      __builtin_prefetch(slot + call->layout->scale_offset_bytes + i);
  }
#else
  (void)call;
  (void)row;
#endif
}

static void combine_row(const mxg_call *call, size_t row) {
  const mxg_layout *layout = call->layout;
  const size_t slot_bytes = call->rows * call->top_k * layout->slot_bytes;
  mxg_source sources[MXG_MAX_TOP_K];
  mxg_combine_job job;
  job.plan = call->plan;
  job.sources = sources;
  job.source_count = 0;
  job.weighted = call->weight != NULL;
  job.col_begin = call->col_begin;
  job.col_end = call->col_end;
  job.y = call->y + row * call->value_stride_bytes + call->col_begin * mxg_dtype_bytes(call->dtype);
  job.dtype = call->dtype;
  job.streaming = slot_bytes >= STREAMING_SLOT_BYTES;
  if (slot_bytes >= FAR_SLOT_BYTES && row + 1 < call->rows) prefetch_slots(call, row + 1);
  for (size_t k = 0; k < call->top_k; k++) {
    const size_t index = row * call->top_k + k;
    const void *slot;
    mxg_source *source = &sources[job.source_count];
    memcpy(&slot, call->slots + index * sizeof slot, sizeof slot);
    if (slot == NULL) continue;
    source->codes = slot;
    source->scales = NULL;
    if (layout->scales_used != 0) {
      const uint8_t *scales = source->codes + layout->scale_offset_bytes;
      if (row_is_scaled(call->plan, scales)) source->scales = scales;
    }
    source->first_negated = is_negated(call->plan);
    source->weight = 1.0f;
    if (job.weighted) memcpy(&source->weight, call->weight + index * sizeof(float), sizeof(float));
    job.source_count++;
  }
  call->kernel->combine(&job);
}

void mxg_combine_rows(const mxg_call *call) {
  const size_t cols = call->col_end - call->col_begin;
  /* Row bytes by what is read, which is what takes the time. */
  if (cols != 0) mxg_for_each_row(call, cols / 2 * (call->top_k + 1), combine_row);
}
