/* quantize_slow.h: quantise, every recipe, shape and alignment. A group has a row at a time.
 *
 * The unit of a wave is a run of blocks that ends on a whole byte: 1 block of FP8, 1 or 2 of FP4, 1
 * to 4 of FP6. Its lanes first find the amax of each block, then each encodes 8 elements at a time,
 * which are a whole number of bytes.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_QUANTIZE_SLOW_H
#define MXGOLD_GPU_QUANTIZE_SLOW_H

#include "block.h"

#define MXG_RUN_WITHOUT_SCALES 1024 /* elements */

/* Blocks in a run. */
MXG_DEVICE uint32_t mxg_run_blocks(int code_bits, uint32_t block) {
  if (code_bits == 4) return block % 2 == 0 ? 1 : 2;
  if (code_bits == 6) return block % 4 == 0 ? 1 : block % 2 == 0 ? 2 : 4;
  return 1;
}

MXG_DEVICE uint32_t mxg_block_amax(const mxg_gpu_args *a, const uint8_t *x, size_t begin,
                                   size_t end, int weighted, float weight) {
  uint32_t amax = a->floor_bits;
  for (size_t i = begin + mxg_thread() % MXG_LANES; i < end; i += MXG_LANES) {
    const uint32_t source = mxg_load_value(x + i * mxg_dtype_bytes(a->dtype), a->dtype);
    amax = mxg_amax_step(a, amax, mxg_weighted(source, weighted, weight));
  }
  mxg_amax_of_lanes(&amax, 1, MXG_LANES);
  return amax;
}

MXG_DEVICE void mxg_quantize_row_slow(const mxg_gpu_args *a, size_t row) {
  const size_t cols = a->layout.cols;
  const uint32_t lane = mxg_thread() % MXG_LANES, wave = mxg_thread() / MXG_LANES;
  const uint32_t bits = (uint32_t)a->traits.bits;
  const int has_scale = a->recipe.scale != MXG_SCALE_NONE;
  const size_t block = has_scale ? a->recipe.block : MXG_RUN_WITHOUT_SCALES;
  const uint32_t run_blocks = has_scale ? mxg_run_blocks(a->traits.bits, a->recipe.block) : 1;
  const size_t width = mxg_dtype_bytes(a->dtype);
  const int weighted = a->row_weight != NULL;
  const float weight = mxg_row_weight(a, row);
  const uint8_t *x = a->x + row * a->value_stride_bytes;
  uint8_t *codes = a->codes + mxg_payload_offset(a, row);
  int scaled = 0;
  uint32_t first_scale = 0;
  /* Row elements fit memory, so cols + a few blocks of at most 2^32 do not wrap in 64 bits. */
  for (size_t run = wave; run * run_blocks * block < cols; run += a->threads / MXG_LANES) {
    const size_t run_begin = run * run_blocks * block;
    const size_t left = cols - run_begin, size = run_blocks * block;
    const size_t run_size = left < size ? left : size;
    uint32_t amax_0 = 0, amax_1 = 0, amax_2 = 0, amax_3 = 0;
    for (uint32_t i = 0; has_scale && i < run_blocks; i++) {
      const size_t begin = run_begin + i * block;
      const size_t end = begin >= cols ? begin : cols - begin < block ? cols : begin + block;
      const uint32_t amax = mxg_block_amax(a, x, begin, end, weighted, weight);
      if (i == 0) amax_0 = amax;
      if (i == 1) amax_1 = amax;
      if (i == 2) amax_2 = amax;
      if (i == 3) amax_3 = amax;
      if (begin < end) {
        const mxg_block b = mxg_block_of(a, amax);
        scaled |= b.scaled;
        if (begin == 0) first_scale = b.stored;
        if (lane == 0)
          mxg_store_scale(a, row, run * run_blocks + i, mxg_marked(a, begin, b.stored));
      }
    }
    for (size_t at = (size_t)lane * 8; at < run_size; at += (size_t)MXG_LANES * 8) {
      const uint32_t count = run_size - at < 8 ? (uint32_t)(run_size - at) : 8;
      uint64_t out = 0;
      MXG_NO_UNROLL
      for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = (uint32_t)(at + i >= block) + (uint32_t)(at + i >= 2 * block) +
                               (uint32_t)(at + i >= 3 * block);
        const uint32_t amax = index == 0   ? amax_0
                              : index == 1 ? amax_1
                              : index == 2 ? amax_2
                                           : amax_3;
        const mxg_gpu_args *const again = MXG_REREAD(a);
        const mxg_block b = mxg_block_of(again, amax);
        out |= mxg_encode_8_any(again, again->traits, &b, x + (run_begin + at + i) * width,
                                a->dtype, 1, weighted, weight)
               << (i * bits);
      }
      const size_t byte = (run_begin + at) / 8 * bits + (run_begin + at) % 8 * bits / 8;
      for (uint32_t i = 0; i < (count * bits + 7) / 8; i++)
        codes[byte + i] = (uint8_t)(out >> (8 * i));
    }
  }
  if (a->recipe.marker == MXG_MARKER_IF_SCALED && a->layout.scales_used != 0)
    mxg_mark_row(a, row, scaled, first_scale);
  mxg_fill_row(a, row, 1);
}

MXG_DEVICE void mxg_quantize_slow(const mxg_gpu_args *a) {
  const size_t live = mxg_live_rows(a), rows = mxg_written_rows(a, live);
  for (size_t row = mxg_group(); row < rows; row += a->groups) {
    if (row < live)
      mxg_quantize_row_slow(MXG_REREAD(a), row);
    else
      mxg_fill_row(a, row, 0);
  }
}

#endif
