/* diagnose_recode.c: faults that show without the input: what they make of the expected codes and
 * scales.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "diagnose_internal.h"

/* ---- scales ---- */

static size_t recoded_column(const mxg_wrong *wrong, size_t column, size_t used) {
  if (column >= used) return column;
  return mxg_step_column(wrong, column, used);
}

/* The word of the expected scale matrix for a row and column. */
static uint32_t want_scale(mxg_case *opened, size_t row, size_t column) {
  const mxg_layout *layout = &opened->want.layout;
  return mxg_scale_word(&opened->want, mxg_scale_index(layout->order, layout->rows,
                                                       layout->scale_count, row, column));
}

/* UINT64_MAX: unknown. */
static uint64_t recoded_scale(mxg_case *opened, const mxg_wrong *wrong, size_t position) {
  const mxg_layout *layout = &opened->want.layout;
  const size_t columns = layout->scale_count;
  const bool is_f32 = wrong->recipe.scale == MXG_SCALE_F32;
  size_t origin = SIZE_MAX;
  if (wrong->storage == MXG_STORED_INVERSE) {
    origin = mxg_scale_index(wrong->order, layout->rows, columns, position / columns,
                             position % columns);
    if (origin >= layout->rows * columns) return UINT64_MAX;
  } else {
    const mxg_scale_order order = wrong->storage == MXG_STORED_AS ? wrong->order : layout->order;
    origin = mxg_case_origin(opened, order, layout->rows, columns, position);
  }
  if (origin == SIZE_MAX) return layout->pad_byte;
  const size_t row = origin / columns, column = origin % columns;
  if (row >= opened->rows) return UINT64_MAX;
  uint32_t word = want_scale(opened, row, recoded_column(wrong, column, layout->scales_used));
  if (column >= layout->scales_used) return word;
  if (column == 0 && is_f32) {
    const bool forgets =
        wrong->marker != MXG_MARKER_RIGHT || wrong->recipe.marker == MXG_MARKER_NONE;
    if (forgets && opened->subject->recipe->marker != MXG_MARKER_NONE) word &= 0x7FFFFFFFu;
    if (wrong->recipe.marker == MXG_MARKER_ALWAYS) word |= 0x80000000u;
  }
  if (wrong->step && wrong->step_unit <= MXG_STEP_ULP && wrong->step_where != MXG_STEP_PAYLOAD)
    word = mxg_wrong_step(wrong, word);
  return word;
}

static void recode_scales(mxg_case *opened, const mxg_wrong *wrong, const mxg_units *units,
                          mxg_tally *tally) {
  const mxg_layout *layout = &opened->want.layout;
  const mxg_scale_order order = wrong->storage == MXG_STORED_AS ? wrong->order : layout->order;
  if (wrong->storage == MXG_STORED_ANYHOW) {
    mxg_tally_permuted(opened, units, tally);
    return;
  }
  const bool fits = wrong->recipe.scale == opened->subject->recipe->scale &&
                    mxg_scales_would_fit(opened, wrong, order, layout->scale_count);
  for (size_t i = 0; i < units->count; i++) {
    const mxg_unit *unit = &units->list[i];
    const uint64_t word = fits ? recoded_scale(opened, wrong, unit->at) : UINT64_MAX;
    if (word == UINT64_MAX)
      mxg_tally_miss(unit, units, tally);
    else
      mxg_tally_unit(opened, MXG_UNIT_SCALE, unit, units, (uint32_t)word, tally);
  }
}

/* ---- codes ---- */

static void recode_codes(mxg_case *opened, const mxg_wrong *wrong, const mxg_units *units,
                         mxg_tally *tally) {
  const mxg_recipe *right = opened->subject->recipe;
  const mxg_traits traits = mxg_element_traits(right->element);
  const bool recodes = wrong->bias != MXG_BIAS_RIGHT ||
                       (wrong->flush & (MXG_FLUSH_CODE | MXG_FLUSH_BELOW_NORMAL)) != 0;
  const bool other_nan = wrong->recipe.nan_element != right->nan_element;
  float values[256];
  unsigned recoded[256];
  mxg_wrong as_right = {.recipe = *right};
  mxg_wrong_decode_table(&as_right, values);
  mxg_encoder encoder;
  mxg_encoder_open(&encoder, wrong);
  for (unsigned code = 0; code < 256; code++) {
    const bool sign = (code & traits.sign_bit) != 0;
    recoded[code] = code;
    if (isnan(values[code]) ? recodes || other_nan : recodes)
      recoded[code] = mxg_wrong_encode(&encoder, (double)values[code], sign);
  }
  const size_t cols = opened->cols;
  for (size_t i = 0; i < units->count; i++) {
    const mxg_unit *unit = &units->list[i];
    const size_t row = unit->at / cols;
    size_t col = unit->at % cols;
    if (wrong->recipe.element != right->element || !opened->codes_fit) {
      mxg_tally_miss(unit, units, tally);
      continue;
    }
    if (wrong->swaps_nibbles) col ^= 1;
    const unsigned code = col < cols ? recoded[mxg_case_want_code(opened, row, col)] : 0;
    mxg_tally_unit(opened, MXG_UNIT_CODE, unit, units, code, tally);
  }
}

void mxg_judge_recode(mxg_case *opened, const mxg_wrong *wrong, mxg_unit_kind kind,
                      const mxg_units *units, mxg_tally *tally) {
  if (kind == MXG_UNIT_SCALE)
    recode_scales(opened, wrong, units, tally);
  else
    recode_codes(opened, wrong, units, tally);
}
