/* hosted.c: device calls on host memory.
 * SPDX-License-Identifier: MIT */
#include "hosted.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

#define TRY(expression)                      \
  do {                                       \
    const mxg_status status_ = (expression); \
    if (status_ != MXG_OK) return status_;   \
  } while (0)

/* ---- buffers ---- */

static mxg_status reserve(mxg_hosted *h, mxg_hosted_role role, size_t bytes) {
  void *memory = NULL;
  if (bytes <= h->buffers[role].capacity && (!h->is_exact || bytes == h->buffers[role].capacity))
    return MXG_OK;
  TRY(mxg_gpu_free(h->gpu, h->buffers[role].memory));
  h->buffers[role].memory = NULL;
  h->buffers[role].capacity = 0;
  if (!h->is_exact) bytes += bytes / 2;
  if (bytes == 0) return MXG_OK;
  TRY(mxg_gpu_alloc(h->gpu, bytes, &memory));
  h->buffers[role].memory = memory;
  h->buffers[role].capacity = bytes;
  return MXG_OK;
}

/* A device buffer at the host address modulo 64. */
static mxg_status place(mxg_hosted *h, mxg_hosted_role role, const void *host, size_t bytes,
                        size_t guard, void **device) {
  const size_t offset = ((uintptr_t)host - guard) % ALIGNMENT;
  *device = NULL;
  if (host == NULL) return MXG_OK;
  TRY(reserve(h, role, offset + bytes + 2 * guard));
  *device = h->buffers[role].memory == NULL ? NULL : h->buffers[role].memory + offset + guard;
  return MXG_OK;
}

static mxg_status put(mxg_hosted *h, mxg_hosted_role role, const void *host, size_t bytes,
                      size_t guard, void **device) {
  TRY(place(h, role, host, bytes, guard, device));
  if (*device == NULL) return MXG_OK;
  return mxg_gpu_upload(h->gpu, (unsigned char *)*device - guard,
                        (const unsigned char *)host - guard, bytes + 2 * guard);
}

static mxg_status get(mxg_hosted *h, void *host, size_t bytes, const void *device) {
  const size_t guard = h->guard_bytes;
  if (device == NULL) return MXG_OK;
  return mxg_gpu_download(h->gpu, (unsigned char *)host - guard,
                          (const unsigned char *)device - guard, bytes + 2 * guard);
}

static mxg_status put_live(mxg_hosted *h, const uint32_t *live_rows, void **device) {
  return put(h, MXG_HOSTED_LIVE, live_rows, live_rows == NULL ? 0 : sizeof *live_rows, 0, device);
}

static size_t matrix_bytes(size_t rows, size_t cols, size_t stride_elems, mxg_dtype dtype) {
  const size_t stride = stride_elems == 0 ? cols : stride_elems;
  return rows == 0 ? 0 : ((rows - 1) * stride + cols) * mxg_dtype_bytes(dtype);
}

/* ---- calls ---- */

mxg_status mxg_hosted_quantize(mxg_hosted *h, const mxg_recipe *recipe, const mxg_matrix_view *x,
                               const float *row_weight, const mxg_packed *out,
                               const uint32_t *live_rows) {
  const size_t x_bytes = matrix_bytes(x->rows, x->cols, x->stride_elems, x->dtype);
  const size_t codes_bytes = out->layout.codes_bytes, scales_bytes = out->layout.scales_bytes;
  mxg_matrix_view device_x = *x;
  mxg_packed device_out = *out;
  void *values, *weight, *live;
  TRY(put(h, MXG_HOSTED_VALUES, x->data, x_bytes, 0, &values));
  TRY(put(h, MXG_HOSTED_WEIGHT, row_weight, x->rows * 4, 0, &weight));
  TRY(put(h, MXG_HOSTED_CODES, out->codes, codes_bytes, h->guard_bytes, &device_out.codes));
  TRY(put(h, MXG_HOSTED_SCALES, out->scales, scales_bytes, h->guard_bytes, &device_out.scales));
  TRY(put_live(h, live_rows, &live));
  device_x.data = values;
  TRY(mxg_gpu_quantize(h->gpu, recipe, &device_x, weight, &device_out, live, h->stream));
  TRY(mxg_gpu_synchronize(h->gpu, h->stream));
  TRY(get(h, out->codes, codes_bytes, device_out.codes));
  return get(h, out->scales, scales_bytes, device_out.scales);
}

mxg_status mxg_hosted_dequantize(mxg_hosted *h, const mxg_recipe *recipe, const mxg_packed_view *in,
                                 const mxg_matrix *y, const uint32_t *live_rows) {
  const size_t y_bytes = matrix_bytes(y->rows, y->cols, y->stride_elems, y->dtype);
  mxg_packed_view device_in = *in;
  mxg_matrix device_y = *y;
  void *codes, *scales, *live;
  TRY(put(h, MXG_HOSTED_CODES, in->codes, in->layout.codes_bytes, 0, &codes));
  TRY(put(h, MXG_HOSTED_SCALES, in->scales, in->layout.scales_bytes, 0, &scales));
  TRY(put(h, MXG_HOSTED_VALUES, y->data, y_bytes, h->guard_bytes, &device_y.data));
  TRY(put_live(h, live_rows, &live));
  device_in.codes = codes;
  device_in.scales = scales;
  TRY(mxg_gpu_dequantize(h->gpu, recipe, &device_in, &device_y, live, h->stream));
  TRY(mxg_gpu_synchronize(h->gpu, h->stream));
  return get(h, y->data, y_bytes, device_y.data);
}

/* Copies the slots side by side, each at its own address modulo 64, and points to where they will
 * be on the device. */
static mxg_status stage_slots(mxg_hosted *h, const void *const *slots, size_t count,
                              size_t slot_bytes, void **device) {
  const size_t step = (slot_bytes / ALIGNMENT + 2) * ALIGNMENT;
  const size_t needed = count * (step + sizeof(void *)) + 2 * ALIGNMENT;
  size_t used = 0;
  if (needed > h->staging_capacity) {
    unsigned char *grown = realloc(h->staging, needed);
    if (grown == NULL) return MXG_ERR_SIZE;
    h->staging = grown;
    h->staging_capacity = needed;
  }
  unsigned char *start = h->staging + (ALIGNMENT - (uintptr_t)h->staging % ALIGNMENT) % ALIGNMENT;
  unsigned char *pointers = start + count * step;
  for (size_t i = 0; i < count; i++)
    if (slots[i] != NULL) used = i * step + (uintptr_t)slots[i] % ALIGNMENT + slot_bytes;
  TRY(reserve(h, MXG_HOSTED_SLOTS, used));
  unsigned char *memory = h->buffers[MXG_HOSTED_SLOTS].memory;
  for (size_t i = 0; i < count; i++) {
    const void *pointer = NULL;
    if (slots[i] != NULL) {
      const size_t at = i * step + (uintptr_t)slots[i] % ALIGNMENT;
      memcpy(start + at, slots[i], slot_bytes);
      pointer = memory == NULL ? NULL : memory + at;
    }
    memcpy(pointers + i * sizeof pointer, &pointer, sizeof pointer);
  }
  if (used > 0) TRY(mxg_gpu_upload(h->gpu, memory, start, used));
  return put(h, MXG_HOSTED_POINTERS, pointers, count * sizeof(void *), 0, device);
}

mxg_status mxg_hosted_combine(mxg_hosted *h, const mxg_recipe *recipe, const void *const *slots,
                              size_t top_k, const float *weight, const mxg_layout *layout,
                              size_t col_begin, size_t col_end, const mxg_matrix *y,
                              const uint32_t *live_rows) {
  const size_t y_bytes = matrix_bytes(y->rows, y->cols, y->stride_elems, y->dtype);
  const size_t count = y->rows * top_k;
  mxg_matrix device_y = *y;
  void *device_slots, *device_weight, *live;
  TRY(stage_slots(h, slots, count, layout->slot_bytes, &device_slots));
  TRY(put(h, MXG_HOSTED_WEIGHT, weight, 4 * count, 0, &device_weight));
  TRY(put(h, MXG_HOSTED_VALUES, y->data, y_bytes, h->guard_bytes, &device_y.data));
  TRY(put_live(h, live_rows, &live));
  TRY(mxg_gpu_combine(h->gpu, recipe, device_slots, top_k, device_weight, layout, col_begin,
                      col_end, &device_y, live, h->stream));
  TRY(mxg_gpu_synchronize(h->gpu, h->stream));
  return get(h, y->data, y_bytes, device_y.data);
}

void mxg_hosted_close(mxg_hosted *h) {
  for (int i = 0; i < MXG_HOSTED_ROLES; i++) {
    (void)mxg_gpu_free(h->gpu, h->buffers[i].memory);
    h->buffers[i].memory = NULL;
    h->buffers[i].capacity = 0;
  }
  free(h->staging);
  h->staging = NULL;
  h->staging_capacity = 0;
}
