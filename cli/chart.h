/* chart.h: where and by how much a comparison differs, collected while it runs, for the page that
 * --report writes. Of any size, in little memory: rows and blocks fall into a grid of cells.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_CHART_H
#define MXGOLD_CHART_H

#include "tool.h"

enum {
  MXG_MAP_SIDE = 64, /* cells, at most, to a side */
  MXG_MAPS = 4,      /* tensors with a map of their own */
  MXG_PLACES = 64,   /* bars of places within a block */
  MXG_SECTIONS = 16, /* of a stream */
  MXG_EXPONENT_ZERO = 256,
  MXG_EXPONENT_INF = 257,
  MXG_EXPONENT_NAN = 258,
  MXG_EXPONENTS = 259 /* the 256 fields of an f32, and these */
};

typedef struct mxg_map {
  char *tensor; /* its name, or NULL */
  size_t rows, cols, block, blocks;
  size_t row_step, block_step;                 /* rows and blocks in a cell */
  size_t cell_rows, cell_blocks;               /* cells */
  bool has_blocks;                             /* else a block is only a group of columns */
  uint64_t codes[MXG_MAP_SIDE * MXG_MAP_SIDE]; /* or values, that differ */
  uint64_t scales[MXG_MAP_SIDE * MXG_MAP_SIDE];
  uint64_t differing_rows;
  size_t first_row, last_row, first_block, last_block; /* with a difference */
} mxg_map;

typedef struct mxg_exponent {
  uint64_t all, differ; /* all: 0 where it is not known */
  double worst;         /* greatest |got - want| / |want| of finite ones */
  bool has_worst;
} mxg_exponent;

typedef struct mxg_chart {
  size_t map_count;
  mxg_map *maps[MXG_MAPS];
  mxg_map *current; /* NULL: a tensor beyond, or the cases of a stream */
  bool is_stream;
  bool of_input; /* exponents are those of the input, else those of the expected values */
  mxg_exponent exponents[MXG_EXPONENTS];
  uint64_t places[MXG_PLACES]; /* codes that differ, by their place in the block */
  size_t block, place_step;    /* block 0: no places */
  size_t section_count;
  struct {
    const char *name;
    uint64_t cases[4], differ[4]; /* by dtype */
  } sections[MXG_SECTIONS];
} mxg_chart;

mxg_chart *mxg_chart_new(void);
void mxg_chart_free(mxg_chart *chart);
/* A matrix begins. block 0: none, columns are grouped. In a stream only the places are set up. */
void mxg_chart_matrix(mxg_chart *chart, const char *tensor, size_t rows, size_t cols, size_t block);
/* An element of the input, or a pair that differs, is counted under the exponent of `value`. */
void mxg_chart_element(mxg_chart *chart, float value);
void mxg_chart_code(mxg_chart *chart, size_t row, size_t col);
void mxg_chart_scale(mxg_chart *chart, size_t row, size_t block);
void mxg_chart_error(mxg_chart *chart, float of, float got, float want);
void mxg_chart_case(mxg_chart *chart, const char *section, mxg_dtype dtype, bool differs);

#endif
