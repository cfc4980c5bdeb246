/* diagnose_quantize.c: what a wrong model makes of an input, held against the bytes found.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "diagnose_internal.h"

/* ---- scales ---- */

typedef struct scale_model {
  mxg_case *opened;
  const mxg_wrong *wrong;
  mxg_scale_order order;
  size_t rows, used, columns; /* of its matrix: columns are stored */
  unsigned width;
} scale_model;

static mxg_block_scale block_scale(const scale_model *model, size_t row, size_t block) {
  const mxg_wrong *wrong = model->wrong;
  mxg_amax amax = mxg_case_amax(model->opened, wrong->recipe.block, row, block);
  amax.value = mxg_wrong_input(wrong, amax.value, model->opened->subject->x.dtype);
  return mxg_wrong_scale(wrong, amax);
}

static bool is_marked(const scale_model *model, size_t row) {
  const mxg_wrong *wrong = model->wrong;
  if (wrong->marker != MXG_MARKER_RIGHT || model->used == 0) return false;
  if (wrong->recipe.marker == MXG_MARKER_ALWAYS) return true;
  if (wrong->recipe.marker != MXG_MARKER_IF_SCALED) return false;
  for (size_t block = 0; block < model->used; block++)
    if (block_scale(model, row, block).is_scaled) return true;
  return false;
}

size_t mxg_step_column(const mxg_wrong *wrong, size_t column, size_t used) {
  if (!wrong->step || wrong->step_unit < MXG_STEP_COLUMN) return column;
  const bool wraps = wrong->step_unit == MXG_STEP_COLUMN_WRAPS;
  if (wrong->step > 0) return column + 1 < used ? column + 1 : wraps ? 0 : column;
  return column > 0 ? column - 1 : wraps ? used - 1 : column;
}

/* What the model stores at a position of its scale matrix; 64 bits: UINT64_MAX is unknown. */
static uint64_t stored_at(const scale_model *model, size_t position) {
  const mxg_wrong *wrong = model->wrong;
  const bool is_f32 = wrong->recipe.scale == MXG_SCALE_F32;
  size_t origin = SIZE_MAX;
  if (wrong->storage == MXG_STORED_INVERSE) {
    if (position < model->rows * model->columns)
      origin = mxg_scale_index(wrong->order, model->rows, model->columns, position / model->columns,
                               position % model->columns);
    if (origin != SIZE_MAX && origin >= model->rows * model->columns) return UINT64_MAX;
  } else {
    origin = mxg_case_origin(model->opened, model->order, model->rows, model->columns, position);
  }
  if (origin == SIZE_MAX) return model->opened->subject->got.layout.pad_byte;
  const size_t row = origin / model->columns, column = origin % model->columns;
  if (row >= model->opened->rows) return UINT64_MAX;
  if (column >= model->used) return is_f32 ? 0x3F800000u : 0;
  const size_t block = mxg_step_column(wrong, column, model->used);
  const uint32_t stored = block_scale(model, row, block).stored;
  return column == 0 && is_f32 && is_marked(model, row) ? stored ^ 0x80000000u : stored;
}

bool mxg_scales_would_fit(const mxg_case *opened, const mxg_wrong *wrong, mxg_scale_order order,
                          size_t columns) {
  const size_t rows = opened->subject->got.layout.rows;
  const size_t width = mxg_scale_bytes(wrong->recipe.scale);
  size_t count = 0;
  if (mxg_scale_matrix_count(order, rows, columns, &count) != MXG_OK) return false;
  if (count * width == opened->got_scale_bytes) return true;
  /* another order, in a file that has no room for its pads */
  return wrong->storage == MXG_STORED_AS && rows * columns * width == opened->got_scale_bytes;
}

static bool scale_model_open(scale_model *model, mxg_case *opened, const mxg_wrong *wrong) {
  const mxg_layout *layout = &opened->subject->got.layout;
  model->opened = opened;
  model->wrong = wrong;
  model->width = (unsigned)mxg_scale_bytes(wrong->recipe.scale);
  model->order = wrong->storage == MXG_STORED_AS ? wrong->order : layout->order;
  model->rows = layout->rows;
  model->used = mxg_scales_used(&wrong->recipe, opened->cols);
  const bool stores_more = layout->scale_count != layout->scales_used;
  model->columns =
      stores_more && layout->scale_count > model->used ? layout->scale_count : model->used;
  return mxg_scales_would_fit(opened, wrong, model->order, model->columns);
}

static void judge_scales(mxg_case *opened, const mxg_wrong *wrong, const mxg_units *units,
                         mxg_tally *tally) {
  scale_model model;
  const bool fits = scale_model_open(&model, opened, wrong);
  if (wrong->storage == MXG_STORED_ANYHOW) {
    mxg_tally_permuted(opened, units, tally);
    return;
  }
  for (size_t i = 0; i < units->count; i++) {
    const mxg_unit *unit = &units->list[i];
    uint64_t word = UINT64_MAX;
    if (fits && model.width == opened->scale_width) {
      word = stored_at(&model, unit->at);
    } else if (fits) { /* one scale in several units, or several in one */
      word = 0;
      for (unsigned byte = 0; byte < opened->scale_width; byte++) {
        const size_t address = unit->at * opened->scale_width + byte;
        /* NOLINTNEXTLINE(*-core.DivideZero): scales that fit are not of 0 bytes */
        const uint64_t whole = stored_at(&model, address / model.width);
        if (whole == UINT64_MAX) {
          word = whole;
          break;
        }
        word |= (whole >> (address % model.width * 8) & 255u) << (8 * byte);
      }
    }
    if (word == UINT64_MAX)
      mxg_tally_miss(unit, units, tally);
    else
      mxg_tally_unit(opened, MXG_UNIT_SCALE, unit, units, (uint32_t)word, tally);
  }
}

/* ---- codes ---- */

static void judge_codes(mxg_case *opened, const mxg_wrong *wrong, const mxg_units *units,
                        mxg_tally *tally) {
  const mxg_dtype dtype = opened->subject->x.dtype;
  const size_t cols = opened->cols;
  const bool has_blocks = wrong->recipe.scale != MXG_SCALE_NONE;
  const size_t width = has_blocks ? wrong->recipe.block : cols;
  const scale_model model = {.opened = opened, .wrong = wrong};
  mxg_encoder encoder;
  mxg_encoder_open(&encoder, wrong);
  const bool fits = (unsigned)encoder.traits.bits == opened->got_bits;
  const float *x_row = NULL;
  size_t row = 0, row_first = 0, block_first = SIZE_MAX / 2;
  mxg_block_scale scale = mxg_wrong_scale(wrong, (mxg_amax){0.0f, false});
  for (size_t i = 0; i < units->count; i++) {
    const mxg_unit *unit = &units->list[i];
    if (!fits) {
      mxg_tally_miss(unit, units, tally);
      continue;
    }
    if (x_row == NULL || unit->at - row_first >= cols) { /* units ascend, but begin anywhere */
      row = unit->at / cols;
      row_first = row * cols;
      x_row = mxg_case_row(opened, row);
      block_first = SIZE_MAX / 2;
    }
    size_t col = unit->at - row_first;
    unsigned code = 0;
    if (wrong->swaps_nibbles) col ^= 1;
    if (col < cols) {
      if (has_blocks && row_first + col - block_first >= width) {
        const size_t block = col / width;
        scale = block_scale(&model, row, block);
        block_first = row_first + block * width;
      }
      const float source = x_row[col];
      const float x = mxg_wrong_input(wrong, source, dtype);
      code = mxg_wrong_encode(&encoder, mxg_wrong_apply(wrong, &scale, x), signbit(source) != 0);
    }
    mxg_tally_unit(opened, MXG_UNIT_CODE, unit, units, code, tally);
  }
}

void mxg_judge_quantize(mxg_case *opened, const mxg_wrong *wrong, mxg_unit_kind kind,
                        const mxg_units *units, mxg_tally *tally) {
  if (kind == MXG_UNIT_SCALE)
    judge_scales(opened, wrong, units, tally);
  else
    judge_codes(opened, wrong, units, tally);
}
