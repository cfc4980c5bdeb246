/* written.c
 * SPDX-License-Identifier: MIT */
#include "written.h"

#include <string.h>

#include "check.h"

size_t fuzz_scale_position(mxg_scale_order order, size_t rows, size_t scale_count, size_t x,
                           size_t y) {
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

void fuzz_written_bytes(const mxg_layout *l, size_t live, uint8_t *codes, uint8_t *scales) {
  memset(codes, 0, l->codes_bytes);
  memset(scales, 0, l->scales_bytes);
  const bool is_slot = l->placement == MXG_PLACEMENT_SLOT;
  const size_t stride = is_slot ? l->slot_stride_bytes : l->payload_stride_bytes;
  for (size_t r = 0; r < live && l->codes_bytes > 0; r++) {
    memset(codes + r * stride, 1, l->payload_row_bytes);
    if (is_slot) memset(codes + r * stride + l->payload_row_bytes, 1, l->scale_row_bytes);
  }
  if (is_slot || l->scales_bytes == 0) return;
  size_t tall = live, wide = l->scale_count;
  if (l->order == MXG_ORDER_AITER_SHUFFLE) {
    tall = (live + 255) / 256 * 256;
    wide = (wide + 7) / 8 * 8;
  } else if (l->order == MXG_ORDER_BLOCKED_128X4) {
    tall = (live + 127) / 128 * 128;
    wide = (wide + 3) / 4 * 4;
  }
  for (size_t r = 0; r < tall; r++) {
    for (size_t c = 0; c < wide; c++) {
      const size_t at =
          l->order == MXG_ORDER_ROW_MAJOR
              ? r * l->scale_stride_bytes + c * l->scale_bytes
              : fuzz_scale_position(l->order, l->rows, l->scale_count, r, c) * l->scale_bytes;
      memset(scales + at, 1, l->scale_bytes);
    }
  }
}

void fuzz_check_written(const char *what, const fuzz_buffer *got, const fuzz_buffer *want,
                        uint8_t poison, const uint8_t *mask) {
  const uint8_t other = (uint8_t)(0xFFu - poison); /* ~poison */
  for (size_t i = 0; i < got->bytes; i++) {
    if (mask != NULL && mask[i] != 0) {
      FUZZ_CHECK(got->data[i] == want->data[i],
                 "%s: byte %zu of %zu is %02X, the golden model's %02X", what, i, got->bytes,
                 got->data[i], want->data[i]);
    } else {
      FUZZ_CHECK(got->data[i] == poison, "%s: byte %zu of %zu must not be written and is %02X",
                 what, i, got->bytes, got->data[i]);
      FUZZ_CHECK(want->data[i] == other,
                 "%s: byte %zu of %zu must not be written and the golden model's is %02X", what, i,
                 got->bytes, want->data[i]);
    }
  }
  fuzz_buffer_check(got, what);
  fuzz_buffer_check(want, what);
}

void fuzz_check_status(mxg_status got, mxg_status want, const mxg_run *run) {
  FUZZ_CHECK(got == want, "status %d (%s), the golden model's %d (%s), isa %X", (int)got,
             mxg_strerror(got), (int)want, mxg_strerror(want),
             run != NULL ? (unsigned)run->isa_mask : 0);
}

void fuzz_check_shared(const fuzz_buffer *got, const fuzz_buffer *want, const uint8_t *before,
                       mxg_status status, bool is_overlapping) {
  for (size_t i = 0; i < got->bytes; i++) {
    FUZZ_CHECK(got->data[i] == want->data[i],
               "byte %zu of the one buffer is %02X, the golden model's %02X", i, got->data[i],
               want->data[i]);
    FUZZ_CHECK(status == MXG_OK || got->data[i] == before[i],
               "status %d, and byte %zu of the one buffer was written", (int)status, i);
  }
  fuzz_buffer_check(got, "the one buffer");
  fuzz_buffer_check(want, "the golden model's one buffer");
  if (status == MXG_OK || status == MXG_ERR_OVERLAP)
    FUZZ_CHECK(is_overlapping == (status == MXG_ERR_OVERLAP),
               "overlap: status %d, and the regions %s", (int)status,
               is_overlapping ? "share bytes" : "share no byte");
}
