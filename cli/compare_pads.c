/* compare_pads.c: what is neither code nor scale: the weights of slots, the pads of scale orders.
 * SPDX-License-Identifier: MIT */
#include "compare.h"

#include <math.h>
#include <string.h>

static void compare_weight(mxg_report *report, size_t row, size_t index, uint32_t got,
                           uint32_t want) {
  report->counts[MXG_DIFFERENCE_WEIGHT].compared++;
  if (got == want) return;
  mxg_difference difference = {.kind = MXG_DIFFERENCE_WEIGHT,
                               .row = row,
                               .col = index,
                               .got = {8, got, true, mxg_float_of_bits(got)},
                               .want = {8, want, true, mxg_float_of_bits(want)}};
  if (isnan(difference.got.value) && isnan(difference.want.value)) {
    report->counts[MXG_DIFFERENCE_WEIGHT].nan_only++;
    if (!report->bits) return;
  }
  if (mxg_report_count(report, MXG_DIFFERENCE_WEIGHT)) mxg_report_add(report, &difference);
}

void mxg_compare_weights(mxg_report *report, const mxg_side *got, const mxg_side *want,
                         const float *weights, size_t rows) {
  const mxg_layout *layout = &got->layout;
  if (layout->slot_weights == 0) return;
  for (size_t row = 0; row < rows && row < got->code_rows; row++) {
    if (!weights && row >= want->code_rows) return;
    const size_t offset = row * layout->slot_stride_bytes + layout->weight_offset_bytes;
    for (size_t k = 0; k < layout->slot_weights; k++) {
      uint32_t expected = 0;
      if (weights)
        memcpy(&expected, &weights[row * layout->slot_weights + k], 4);
      else
        expected = mxg_little_word(want->codes + offset + 4 * k);
      compare_weight(report, row, k, mxg_little_word(got->codes + offset + 4 * k), expected);
    }
  }
}

void mxg_compare_pads(mxg_report *report, const mxg_side *got, const mxg_side *want, size_t rows) {
  const mxg_layout *layout = &got->layout;
  const size_t row_unit = layout->order == MXG_ORDER_AITER_SHUFFLE ? 256 : 128;
  const size_t col_unit = layout->order == MXG_ORDER_AITER_SHUFFLE ? 8 : 4;
  if (layout->order != MXG_ORDER_AITER_SHUFFLE && layout->order != MXG_ORDER_BLOCKED_128X4) return;
  if (layout->scale_count == 0) return;
  if (got->scale_rows < layout->rows || (want && want->scale_rows < layout->rows)) return;
  const size_t padded_rows = mxg_size_ceil_div(rows, row_unit) * row_unit;
  const size_t padded_cols = mxg_size_ceil_div(layout->scale_count, col_unit) * col_unit;
  for (size_t row = 0; row < padded_rows; row++) {
    for (size_t col = row < rows ? layout->scale_count : 0; col < padded_cols; col++) {
      const size_t index =
          mxg_scale_index(layout->order, layout->rows, layout->scale_count, row, col);
      const uint32_t expected = want ? want->scales[index] : layout->pad_byte;
      report->counts[MXG_DIFFERENCE_PAD].compared++;
      if (got->scales[index] == expected || !mxg_report_count(report, MXG_DIFFERENCE_PAD)) continue;
      const mxg_difference difference = {.kind = MXG_DIFFERENCE_PAD,
                                         .row = row,
                                         .has_block = true,
                                         .block = col,
                                         .got = {.digits = 2, .bits = got->scales[index]},
                                         .want = {.digits = 2, .bits = expected}};
      mxg_report_add(report, &difference);
    }
  }
}
