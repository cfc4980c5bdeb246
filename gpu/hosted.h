/* hosted.h: device calls on host memory: up, run, down, wait. What the tool's --device and the
 * self-test use; a program with its own buffers on the device calls mxgold_gpu.h.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_HOSTED_H
#define MXGOLD_HOSTED_H

#include "mxgold_gpu.h"

typedef enum mxg_hosted_role {
  MXG_HOSTED_VALUES,
  MXG_HOSTED_CODES,
  MXG_HOSTED_SCALES,
  MXG_HOSTED_WEIGHT,
  MXG_HOSTED_SLOTS,    /* the slots themselves */
  MXG_HOSTED_POINTERS, /* to them, on the device */
  MXG_HOSTED_LIVE,
  MXG_HOSTED_ROLES
} mxg_hosted_role;

/* One thread's buffers on a device; they grow as needed. Zero it, set the first four, and give the
 * buffers back with mxg_hosted_close(). */
typedef struct mxg_hosted {
  const mxg_gpu *gpu;
  mxg_gpu_stream stream;
  size_t guard_bytes; /* before and after every output that go up and come down with it */
  int is_exact;       /* each buffer of exactly its bytes, so that a memory checker sees its end */
  struct {
    unsigned char *memory;
    size_t capacity;
  } buffers[MXG_HOSTED_ROLES];
  unsigned char *staging; /* host: slots side by side, and their pointers */
  size_t staging_capacity;
} mxg_hosted;

/* As their namesakes in mxgold_gpu.h, with host pointers throughout, live_rows too, and done when
 * they return. Buffers keep their address modulo 64. Arguments must be valid: sizes are computed
 * from them before the library checks anything. */
mxg_status mxg_hosted_quantize(mxg_hosted *h, const mxg_recipe *recipe, const mxg_matrix_view *x,
                               const float *row_weight, const mxg_packed *out,
                               const uint32_t *live_rows);
mxg_status mxg_hosted_dequantize(mxg_hosted *h, const mxg_recipe *recipe, const mxg_packed_view *in,
                                 const mxg_matrix *y, const uint32_t *live_rows);
mxg_status mxg_hosted_combine(mxg_hosted *h, const mxg_recipe *recipe, const void *const *slots,
                              size_t top_k, const float *weight, const mxg_layout *layout,
                              size_t col_begin, size_t col_end, const mxg_matrix *y,
                              const uint32_t *live_rows);
void mxg_hosted_close(mxg_hosted *h);

#endif
