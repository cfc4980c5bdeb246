/* dequantize.h: codes and scales to values (sections 4 and 5). A group has a row at a time.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_DEQUANTIZE_H
#define MXGOLD_GPU_DEQUANTIZE_H

#include "decode.h"

/* Any recipe, shape and alignment: an element at a time. */
MXG_DEVICE void mxg_dequantize_slow(const mxg_gpu_args *a) {
  const size_t live = mxg_live_rows(a), width = mxg_dtype_bytes(a->dtype);
  for (size_t row = mxg_group(); row < live; row += a->groups) {
    const uint8_t *codes = a->codes + mxg_payload_offset(a, row);
    const int scaled =
        a->layout.scales_used != 0 && mxg_row_is_scaled(a, a->scales + mxg_scale_offset(a, row, 0));
    uint8_t *y = a->y + row * a->value_stride_bytes;
    for (size_t col = mxg_thread(); col < a->layout.cols; col += a->threads) {
      const uint32_t code = mxg_code_at(codes, a->traits.bits, col);
      float value = mxg_f32_from_bits(mxg_decode_bits(a->traits, code, 0));
      if (scaled) {
        const size_t block = mxg_block_index(a, col);
        value = value * mxg_scale_value(a, a->scales + mxg_scale_offset(a, row, block), block);
      }
      mxg_store_value(y + col * width, a->dtype, mxg_f32_bits(value));
    }
  }
}

/* Aligned rows, columns and blocks a multiple of 8: 8 elements at a time. */
MXG_DEVICE void mxg_dequantize_vector(const mxg_gpu_args *a, mxg_element element, int native) {
  const size_t live = mxg_live_rows(a), width = mxg_dtype_bytes(a->dtype);
  const uint32_t cols = (uint32_t)a->layout.cols;
  const float unit = mxg_decode_unit(element, native);
  for (size_t row = mxg_group(); row < live; row += a->groups) {
    const uint8_t *codes = a->codes + mxg_payload_offset(a, row);
    const int scaled =
        a->layout.scales_used != 0 && mxg_row_is_scaled(a, a->scales + mxg_scale_offset(a, row, 0));
    uint8_t *y = a->y + row * a->value_stride_bytes;
    for (uint32_t col = mxg_thread() * 8; col < cols; col += a->threads * 8) {
      uint32_t w[2] = {0, 0};
      float v[8];
      if (element == MXG_ELEMENT_E2M1)
        mxg_load4(codes + col / 2, w);
      else
        mxg_load8(codes + col, w);
      mxg_decode_8(element, native, w, v);
      if (unit != 1.0f) {
        MXG_UNROLL
        for (uint32_t i = 0; i < 8; i++) v[i] = v[i] * unit;
      }
      if (scaled) {
        const size_t block = mxg_block_index(a, col);
        const float s = mxg_scale_value(a, a->scales + mxg_scale_offset(a, row, block), block);
        MXG_UNROLL
        for (uint32_t i = 0; i < 8; i++) v[i] = v[i] * s;
      }
      mxg_store_8(y + col * width, a->dtype, v);
    }
  }
}

#endif
