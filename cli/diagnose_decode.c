/* diagnose_decode.c: codes and scales decoded, and decoded values rounded, with a chosen fault.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "diagnose_internal.h"

void mxg_decoder_open(mxg_decoder *decoder, const mxg_wrong *wrong) {
  decoder->wrong = wrong;
  decoder->bits = (unsigned)mxg_element_traits(wrong->recipe.element).bits;
  mxg_wrong_decode_table(wrong, decoder->table);
  for (unsigned byte = 0; byte < 256; byte++) {
    const uint8_t stored = (uint8_t)byte;
    const mxg_edges edges =
        wrong->recipe.edges == MXG_EDGES_FLOAT ? MXG_EDGES_FLOAT : MXG_EDGES_OCP;
    if (mxg_e8m0_to_f32(edges, &stored, 1, &decoder->powers[byte]) != MXG_OK)
      decoder->powers[byte] = 0.0f;
  }
  if (wrong->flush & MXG_FLUSH_FACTOR) decoder->powers[0] = 0.0f;
}

/* ---- scales ---- */

float mxg_decoder_scale(const mxg_decoder *decoder, uint32_t word) {
  const mxg_wrong *wrong = decoder->wrong;
  if (wrong->step && wrong->step_unit <= MXG_STEP_ULP) word = mxg_wrong_step(wrong, word);
  if (wrong->recipe.scale == MXG_SCALE_E8M0) return decoder->powers[word & 255u];
  float s = mxg_wrong_flush(mxg_bits_float(word), (wrong->flush & MXG_FLUSH_MIDDLE) != 0);
  if (wrong->via && (wrong->via_places & MXG_VIA_SCALE))
    s = (float)mxg_wrong_round((double)s, wrong->via, MXG_ROUND_EVEN);
  return s;
}

bool mxg_decoder_marker(const mxg_decoder *decoder, uint32_t first_word, size_t block, float *s) {
  const mxg_wrong *wrong = decoder->wrong;
  const mxg_marker marker = wrong->recipe.marker;
  if (marker != MXG_MARKER_IF_SCALED && marker != MXG_MARKER_ALWAYS) return true;
  const bool is_marked = mxg_bits_float(first_word) < 0.0f;
  switch (wrong->marker) {
    case MXG_MARKER_RIGHT:
    case MXG_MARKER_NOT_WRITTEN: break;
    case MXG_MARKER_SIGN_KEPT: return is_marked;
    case MXG_MARKER_ALL_SCALED:
      if (block == 0) *s = fabsf(*s);
      return true;
    case MXG_MARKER_ALL_SCALED_SIGN: return true;
    case MXG_MARKER_NONE_SCALED: return false;
  }
  if (block == 0) *s = fabsf(*s);
  return is_marked;
}

/* Where the model reads scale (row, block) of a matrix; SIZE_MAX: outside it. */
static size_t read_position(mxg_case *opened, const mxg_wrong *wrong, size_t row, size_t block) {
  const mxg_layout *layout = &opened->subject->source.layout;
  const size_t columns = layout->scale_count;
  if (columns == 0) return SIZE_MAX;
  if (block >= columns) block = columns - 1;
  const size_t used = layout->scales_used;
  if (block < used) block = mxg_step_column(wrong, block, used);
  if (layout->placement == MXG_PLACEMENT_SLOT || wrong->storage == MXG_STORED_RIGHT)
    return mxg_scale_index(layout->order, layout->rows, columns, row, block);
  size_t position = 0, count = 0;
  if (wrong->storage == MXG_STORED_AS)
    position = mxg_scale_index(wrong->order, layout->rows, columns, row, block);
  else
    position = mxg_case_origin(opened, wrong->order, layout->rows, columns, row * columns + block);
  mxg_scale_matrix_count(layout->order, layout->rows, columns, &count);
  return position < count ? position : SIZE_MAX;
}

static uint32_t read_scale(mxg_case *opened, const mxg_wrong *wrong, size_t row, size_t block) {
  const size_t position = read_position(opened, wrong, row, block);
  return position == SIZE_MAX ? 0 : mxg_scale_word(&opened->subject->source, position);
}

/* ---- values ---- */

uint32_t mxg_finish_value(const mxg_wrong *wrong, double v, mxg_dtype dtype) {
  if (wrong->via && (wrong->via_places & MXG_VIA_VALUE))
    v = mxg_wrong_round(v, wrong->via, MXG_ROUND_EVEN);
  if (wrong->flush & MXG_FLUSH_RESULT) {
    const double least = dtype == MXG_DTYPE_F16 ? 0x1p-14 : 0x1p-126;
    if (fabs(v) < least && fabs(v) > 0.0)
      v = wrong->flush & MXG_FLUSH_SIGN ? 0.0 : copysign(0.0, v);
  }
  return mxg_wrong_value_bits(v, dtype, wrong->rounding);
}

static void judge_dequantize(mxg_case *opened, const mxg_wrong *wrong, const mxg_units *units,
                             mxg_tally *tally) {
  const mxg_subject *subject = opened->subject;
  const mxg_layout *layout = &subject->source.layout;
  const size_t stride = layout->placement == MXG_PLACEMENT_SLOT ? layout->slot_stride_bytes
                                                                : layout->payload_stride_bytes;
  mxg_decoder decoder;
  mxg_decoder_open(&decoder, wrong);
  const bool fits = decoder.bits == (unsigned)mxg_element_traits(subject->recipe->element).bits &&
                    wrong->recipe.scale == subject->recipe->scale;
  for (size_t i = 0; i < units->count; i++) {
    const mxg_unit *unit = &units->list[i];
    if (!fits) {
      mxg_tally_miss(unit, units, tally);
      continue;
    }
    const size_t row = unit->at / opened->cols, col = unit->at % opened->cols;
    const unsigned char *codes = (const unsigned char *)subject->source.codes + row * stride;
    double v = (double)mxg_decoder_element(&decoder, codes, col, opened->cols);
    if (wrong->recipe.scale != MXG_SCALE_NONE) {
      const size_t block = col / wrong->recipe.block;
      float s = mxg_decoder_scale(&decoder, read_scale(opened, wrong, row, block));
      const bool is_scaled =
          wrong->recipe.scale == MXG_SCALE_E8M0 ||
          mxg_decoder_marker(&decoder, read_scale(opened, wrong, row, 0), block, &s);
      /* exact: at most 4 bits times 24; then one rounding to f32 */
      if (is_scaled) v *= (double)s;
      const mxg_rounding rounding =
          subject->value_dtype == MXG_DTYPE_F32 ? wrong->rounding : MXG_ROUND_EVEN;
      v = mxg_wrong_round(v, MXG_DTYPE_F32, rounding);
    }
    mxg_tally_unit(opened, MXG_UNIT_VALUE, unit, units,
                   mxg_finish_value(wrong, v, subject->value_dtype), tally);
  }
}

float mxg_decoder_element(const mxg_decoder *decoder, const unsigned char *codes, size_t col,
                          size_t cols) {
  const mxg_wrong *wrong = decoder->wrong;
  unsigned code = 0;
  /* the other nibble of the byte is there even where no element is */
  if (wrong->swaps_nibbles && col + 1 == cols && !(col & 1))
    code = codes[col / 2] >> 4;
  else
    code = mxg_code_at(codes, wrong->swaps_nibbles ? col ^ 1 : col, decoder->bits);
  const float t = decoder->table[code];
  return wrong->via && (wrong->via_places & MXG_VIA_INPUT) && wrong->recipe.scale == MXG_SCALE_NONE
             ? (float)mxg_wrong_round((double)t, wrong->via, MXG_ROUND_EVEN)
             : t;
}

/* ---- values of unknown origin ---- */

static double value_of(uint32_t bits, mxg_dtype dtype) {
  float v = mxg_bits_float(dtype == MXG_DTYPE_BF16 ? bits << 16 : bits);
  const uint16_t half = (uint16_t)bits;
  if (dtype == MXG_DTYPE_F16 && mxg_to_f32(dtype, &half, 1, &v) != MXG_OK) v = 0.0f;
  return (double)v;
}

static void judge_values(mxg_case *opened, const mxg_wrong *wrong, const mxg_units *units,
                         mxg_tally *tally) {
  const mxg_dtype dtype = opened->subject->value_dtype;
  for (size_t i = 0; i < units->count; i++) {
    const mxg_unit *unit = &units->list[i];
    double v = value_of(unit->want, dtype);
    if (wrong->step && wrong->step_unit == MXG_STEP_EXPONENT) v *= wrong->step > 0 ? 2.0 : 0.5;
    /* f32 that were once bf16, rounded in another way */
    if (wrong->rounding != MXG_ROUND_EVEN && dtype == MXG_DTYPE_F32)
      v = mxg_wrong_round(v, wrong->via ? wrong->via : MXG_DTYPE_BF16, wrong->rounding);
    mxg_tally_unit(opened, MXG_UNIT_VALUE, unit, units, mxg_finish_value(wrong, v, dtype), tally);
  }
}

void mxg_judge_decode(mxg_case *opened, const mxg_wrong *wrong, const mxg_units *units,
                      mxg_tally *tally) {
  const mxg_subject *subject = opened->subject;
  if (subject->operation == MXG_OPERATION_COMBINE && subject->slots)
    mxg_judge_combine(opened, wrong, units, tally);
  else if (subject->source.codes)
    judge_dequantize(opened, wrong, units, tally);
  else
    judge_values(opened, wrong, units, tally);
}
