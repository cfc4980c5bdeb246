/* ref_region.c: which bytes a call reads or writes, and whether two such sets share one.
 * SPDX-License-Identifier: MIT */
#include "ref.h"

/* Do the bytes [at, at + bytes) meet a piece of the region? Neither bytes nor pieces are empty. */
static bool piece_meets(const ref_region *region, uintptr_t at, size_t bytes) {
  const uintptr_t start = (uintptr_t)region->start;
  if (region->pieces == 0) return false;
  if (at < start) return bytes > start - at;
  /* the last piece that starts at or below `at`, and the one after it */
  const size_t offset = at - start;
  size_t piece = region->pieces == 1 ? 0 : offset / region->stride_bytes;
  if (piece > region->pieces - 1) piece = region->pieces - 1;
  if (offset - piece * region->stride_bytes < region->piece_bytes) return true;
  return piece + 1 < region->pieces && bytes > (piece + 1) * region->stride_bytes - offset;
}

bool mxg_ref_internal_overlap(ref_region a, ref_region b) {
  if (a.piece_bytes == 0 || b.piece_bytes == 0) return false;
  for (size_t i = 0; i < a.pieces; ++i)
    if (piece_meets(&b, (uintptr_t)a.start + i * a.stride_bytes, a.piece_bytes)) return true;
  return false;
}

ref_region mxg_ref_internal_array_region(const void *start, size_t bytes) {
  const ref_region region = {start, 1, bytes, bytes};
  return region;
}

ref_region mxg_ref_internal_matrix_region(const void *data, mxg_dtype dtype, size_t rows,
                                          size_t stride_elems, size_t begin, size_t end) {
  const size_t item_bytes = mxg_ref_internal_dtype_bytes(dtype);
  ref_region region = {data, rows, (end - begin) * item_bytes, 0};
  if (rows > 1) region.stride_bytes = stride_elems * item_bytes; /* else it may not fit size_t */
  if (data != NULL) region.start = (const uint8_t *)data + begin * item_bytes;
  return region;
}

ref_region mxg_ref_internal_codes_region(const mxg_layout *layout, const void *codes, size_t rows) {
  const bool slots = layout->placement == MXG_PLACEMENT_SLOT;
  const ref_region region = {codes, rows,
                             slots ? layout->weight_offset_bytes : layout->payload_row_bytes,
                             slots ? layout->slot_stride_bytes : layout->payload_stride_bytes};
  return region;
}

ref_region mxg_ref_internal_scales_region(const mxg_layout *layout, const void *scales,
                                          size_t rows) {
  ref_region region = {scales, 0, 0, 0};
  if (layout->placement == MXG_PLACEMENT_SLOT) return region;
  switch (layout->order) {
    case MXG_ORDER_ROW_MAJOR:
      region.pieces = rows;
      region.piece_bytes = layout->scale_count * layout->scale_bytes;
      region.stride_bytes = layout->scale_stride_bytes;
      break;
    case MXG_ORDER_TRANSPOSED:
      region.pieces = layout->scale_count;
      region.piece_bytes = rows * layout->scale_bytes;
      region.stride_bytes = layout->rows * layout->scale_bytes;
      break;
    case MXG_ORDER_AITER_SHUFFLE:
    case MXG_ORDER_BLOCKED_128X4: /* whole tiles of rows, one after the other */
      region.pieces = 1;
      region.piece_bytes =
          mxg_ref_internal_padded_rows(layout, rows) * mxg_ref_internal_padded_cols(layout);
      break;
  }
  return region;
}
