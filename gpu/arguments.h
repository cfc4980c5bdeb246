/* arguments.h: the checks of the arguments of a call, in the order and with the statuses of the library's
 * host calls. Private to gpu/.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_ARGUMENTS_H
#define MXGOLD_GPU_ARGUMENTS_H

#include "mxgold_gpu.h"

mxg_status mxg_gpu_check_quantize(const mxg_recipe *recipe, const mxg_matrix_view *x,
                                  const float *row_weight, const mxg_packed *out);
mxg_status mxg_gpu_check_dequantize(const mxg_recipe *recipe, const mxg_packed_view *in,
                                    const mxg_matrix *y);
mxg_status mxg_gpu_check_combine(const mxg_recipe *recipe, const void *const *slots, size_t top_k,
                                 const float *weight, const mxg_layout *layout, size_t col_begin,
                                 size_t col_end, const mxg_matrix *y);
mxg_status mxg_gpu_check_recipe(const mxg_recipe *recipe);

/* Elements between rows; the struct's 0 means dense. */
static inline size_t mxg_gpu_stride(size_t cols, size_t stride_elems) {
  return stride_elems != 0 ? stride_elems : cols;
}

#endif
