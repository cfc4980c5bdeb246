/* chart.c: see chart.h.
 * SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_GROUP = 32 };

mxg_chart *mxg_chart_new(void) {
  return mxg_alloc(sizeof(mxg_chart));
}

void mxg_chart_free(mxg_chart *chart) {
  if (!chart) return;
  for (size_t i = 0; i < chart->map_count; i++) {
    free(chart->maps[i]->tensor);
    free(chart->maps[i]);
  }
  free(chart);
}

static size_t step_of(size_t count, size_t cells) {
  const size_t step = mxg_size_ceil_div(count, cells);
  return step ? step : 1;
}

void mxg_chart_matrix(mxg_chart *chart, const char *tensor, size_t rows, size_t cols,
                      size_t block) {
  chart->current = NULL;
  if (block && !chart->block) {
    chart->block = block;
    chart->place_step = step_of(block, MXG_PLACES);
  }
  if (chart->is_stream || rows == 0 || cols == 0 || chart->map_count == MXG_MAPS) return;
  mxg_map *map = mxg_alloc(sizeof *map);
  map->tensor = tensor ? mxg_copy_text(tensor) : NULL;
  map->rows = rows;
  map->cols = cols;
  map->has_blocks = block != 0;
  map->block = block ? block : COLUMN_GROUP;
  map->blocks = mxg_size_ceil_div(cols, map->block);
  map->row_step = step_of(rows, MXG_MAP_SIDE);
  map->block_step = step_of(map->blocks, MXG_MAP_SIDE);
  map->cell_rows = mxg_size_ceil_div(rows, map->row_step);
  map->cell_blocks = mxg_size_ceil_div(map->blocks, map->block_step);
  chart->maps[chart->map_count++] = map;
  chart->current = map;
}

static size_t exponent_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (isnan(value)) return MXG_EXPONENT_NAN;
  if (isinf(value)) return MXG_EXPONENT_INF;
  if ((bits & 0x7FFFFFFF) == 0) return MXG_EXPONENT_ZERO;
  return bits >> 23 & 255;
}

void mxg_chart_element(mxg_chart *chart, float value) {
  chart->exponents[exponent_of(value)].all++;
}

/* The cell of a row and a block, marked as one that differs. */
static size_t touch(mxg_map *map, size_t row, size_t block) {
  const bool is_first = map->differing_rows == 0;
  if (is_first || row != map->last_row) map->differing_rows++;
  if (is_first || row < map->first_row) map->first_row = row;
  if (is_first || row > map->last_row) map->last_row = row;
  if (is_first || block < map->first_block) map->first_block = block;
  if (is_first || block > map->last_block) map->last_block = block;
  return row / map->row_step * MXG_MAP_SIDE + block / map->block_step;
}

void mxg_chart_code(mxg_chart *chart, size_t row, size_t col) {
  mxg_map *map = chart->current;
  if (chart->block) chart->places[col % chart->block / chart->place_step]++;
  if (map && row < map->rows && col < map->cols) map->codes[touch(map, row, col / map->block)]++;
}

void mxg_chart_scale(mxg_chart *chart, size_t row, size_t block) {
  mxg_map *map = chart->current;
  if (map && row < map->rows && block < map->blocks) map->scales[touch(map, row, block)]++;
}

void mxg_chart_error(mxg_chart *chart, float of, float got, float want) {
  mxg_exponent *at = &chart->exponents[exponent_of(of)];
  at->differ++;
  const double error = fabs((double)got - (double)want);
  if (!isfinite(got) || !isfinite(want) || !(fabs((double)want) > 0)) return;
  const double relative = error / fabs((double)want);
  if (!at->has_worst || relative > at->worst) at->worst = relative;
  at->has_worst = true;
}

void mxg_chart_case(mxg_chart *chart, const char *section, mxg_dtype dtype, bool differs) {
  size_t i = 0;
  while (i < chart->section_count && strcmp(chart->sections[i].name, section) != 0) i++;
  if (i == MXG_SECTIONS) return;
  if (i == chart->section_count) chart->sections[chart->section_count++].name = section;
  chart->sections[i].cases[dtype]++;
  chart->sections[i].differ[dtype] += differs;
}
