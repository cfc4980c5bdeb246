/* report_where.c: the page's pictures of where and by how much something differs: rows x blocks, the
 * places within a block, the sections of a stream, exponents.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "chart.h"
#include "html.h"

/* ---- the map ---- */

static size_t last_of(size_t first, size_t step, size_t count) {
  return first + step <= count ? first + step - 1 : count - 1;
}

/* "row 5" or "rows 0-15". */
static void put_span(mxg_html *html, const char *what, size_t first, size_t last) {
  if (first == last)
    mxg_html_print(html, "%s %s", what, mxg_grouped(first));
  else
    mxg_html_print(html, "%ss %s&ndash;%s", what, mxg_grouped(first), mxg_grouped(last));
}

static void put_range(mxg_html *html, const char *what, size_t cell, size_t step, size_t count) {
  const size_t first = cell * step;
  put_span(html, what, first, last_of(first, step, count));
}

static const char *unit_of(const mxg_map *map) {
  return map->has_blocks ? "block" : "column group";
}

static void put_counts(mxg_html *html, uint64_t codes, uint64_t scales, bool has_scales) {
  mxg_html_print(html, has_scales ? "%s code%s" : "%s value%s", mxg_grouped(codes),
                 codes == 1 ? "" : "s");
  if (has_scales) mxg_html_print(html, ", %s scale%s", mxg_grouped(scales), scales == 1 ? "" : "s");
}

/* Cells of one kind as one path, neighbours in a row joined: a full map stays small. */
enum { SHADES = 4, SCALES = SHADES };

/* Which shade a cell has, 1 the lightest; few differences must be seen too. 0: none. */
static int shade_of(const mxg_map *map, size_t cell) {
  const double elements = (double)map->row_step * (double)map->block_step * (double)map->block;
  const double share = (double)map->codes[cell] / elements;
  if (map->codes[cell] == 0) return 0;
  return share >= 0.5 ? 4 : share >= 0.2 ? 3 : share >= 0.05 ? 2 : 1;
}

static bool has_kind(const mxg_map *map, size_t cell, int kind) {
  return kind == SCALES ? map->scales[cell] != 0 : shade_of(map, cell) == kind + 1;
}

static void put_cells(mxg_html *html, const mxg_map *map, int kind) {
  static const char *const classes[] = {"c1", "c2", "c3", "c4", "k"};
  bool is_open = false;
  for (size_t row = 0; row < map->cell_rows; row++) {
    for (size_t block = 0, run = 1; block < map->cell_blocks; block += run) {
      const size_t cell = row * MXG_MAP_SIDE + block;
      run = 1;
      if (!has_kind(map, cell, kind)) continue;
      while (block + run < map->cell_blocks && has_kind(map, cell + run, kind)) run++;
      if (!is_open) mxg_html_print(html, "<path class=%s d=\"", classes[kind]);
      is_open = true;
      mxg_html_print(html, kind == SCALES ? "M%zu %zu.65h%zuv.35h-%zuz" : "M%zu %zuh%zuv1h-%zuz",
                     block, row, run, run);
    }
  }
  if (is_open) mxg_html_put(html, "\" />");
}

/* Lines between cells, where these are large enough to have some. */
static void put_grid(mxg_html *html, const mxg_map *map) {
  enum { MOST_LINES = 40 };
  const bool has_rows = map->cell_rows <= MOST_LINES, has_blocks = map->cell_blocks <= MOST_LINES;
  if (!has_rows && !has_blocks) return;
  mxg_html_put(html, "<path class=g vector-effect=non-scaling-stroke d=\"");
  for (size_t row = 1; has_rows && row < map->cell_rows; row++)
    mxg_html_print(html, "M0 %zuh%zu", row, map->cell_blocks);
  for (size_t block = 1; has_blocks && block < map->cell_blocks; block++)
    mxg_html_print(html, "M%zu 0v%zu", block, map->cell_rows);
  mxg_html_put(html, "\" />");
}

static void put_axis(mxg_html *html, const char *what, size_t count, size_t step, const char *way) {
  mxg_html_print(html, "%s %s&ndash;%s %s", what, "0", mxg_grouped(count ? count - 1 : 0), way);
  if (step > 1) mxg_html_print(html, " (%s to a cell)", mxg_grouped(step));
}

/* The cells with most differences, for those who do not see the picture. */
static void put_worst(mxg_html *html, const mxg_map *map) {
  enum { WORST = 5 };
  bool taken[MXG_MAP_SIDE * MXG_MAP_SIDE] = {false};
  mxg_html_print(html,
                 "<details><summary>The cells with most differences, as a table</summary>"
                 "<table><thead><tr><th scope=col>rows<th scope=col>%ss<th scope=col>differ</thead>"
                 "<tbody>",
                 unit_of(map));
  for (int n = 0; n < WORST; n++) {
    size_t worst = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < MXG_MAP_SIDE * MXG_MAP_SIDE; i++)
      if (!taken[i] && map->codes[i] + map->scales[i] > most) {
        most = map->codes[i] + map->scales[i];
        worst = i;
      }
    if (most == 0) break;
    taken[worst] = true;
    mxg_html_put(html, "<tr><td>");
    put_range(html, "row", worst / MXG_MAP_SIDE, map->row_step, map->rows);
    mxg_html_put(html, "<td>");
    put_range(html, unit_of(map), worst % MXG_MAP_SIDE, map->block_step, map->blocks);
    mxg_html_put(html, "<td>");
    put_counts(html, map->codes[worst], map->scales[worst], map->has_blocks);
  }
  mxg_html_put(html, "</tbody></table></details>");
}

static void put_map(mxg_html *html, const mxg_map *map) {
  enum { CELL_HEIGHT = 14, MOST_HEIGHT = 420 };
  const size_t wanted = map->cell_rows * CELL_HEIGHT;
  if (map->tensor) {
    mxg_html_put(html, "<h3>");
    mxg_html_text(html, map->tensor);
    mxg_html_put(html, "</h3>");
  }
  mxg_html_print(html, "<p>%s of %s rows have differences", mxg_grouped(map->differing_rows),
                 mxg_grouped(map->rows));
  if (map->differing_rows) {
    mxg_html_put(html, ": ");
    put_span(html, "row", map->first_row, map->last_row);
    mxg_html_put(html, ", ");
    put_span(html, unit_of(map), map->first_block, map->last_block);
  }
  mxg_html_put(html, ".</p><p class=axis>");
  put_axis(html, unit_of(map), map->blocks, map->block_step, "&rarr;");
  mxg_html_put(html, ", ");
  put_axis(html, "row", map->rows, map->row_step, "&darr;");
  mxg_html_print(
      html,
      "</p><svg class=map viewBox=\"0 0 %zu %zu\" preserveAspectRatio=none "
      "style=\"height:%zupx\" role=img aria-label=\"Map of %zu rows by %zu %ss: coloured "
      "cells differ; the table below lists the worst\">",
      map->cell_blocks, map->cell_rows, wanted < MOST_HEIGHT ? wanted : MOST_HEIGHT, map->rows,
      map->blocks, unit_of(map));
  for (int kind = 0; kind <= SCALES; kind++) put_cells(html, map, kind);
  put_grid(html, map);
  mxg_html_put(html,
               "</svg><p class=key><span class=\"swatch same\"></span>same "
               "<span class=\"swatch code\"></span>");
  mxg_html_put(html, map->has_blocks ? "codes differ, stronger: more of the cell "
                                       "<span class=\"swatch scale\"></span>a scale differs</p>"
                                     : "values differ, stronger: more of the cell</p>");
  if (map->differing_rows) put_worst(html, map);
}

/* ---- bars ---- */

/* A bar of share [0, 1], seen beside the number that says the same. */
static void put_bar(mxg_html *html, double share) {
  const int permille = share > 0 && share < 0.004 ? 4 : (int)(share * 1000);
  mxg_html_print(html, "<span class=bar aria-hidden=true><i style=\"width:%d.%d%%\"></i></span>",
                 permille / 10, permille % 10);
}

/* ---- a stream's sections ---- */

static void put_section_cell(mxg_html *html, uint64_t differ, uint64_t cases) {
  if (cases == 0) {
    mxg_html_put(html, "<td>&ndash;");
    return;
  }
  mxg_html_print(html, "<td%s>%s <small>of %s</small>", differ ? " class=bad" : "",
                 mxg_grouped(differ), mxg_grouped(cases));
  put_bar(html, (double)differ / (double)cases);
}

static void put_sections(mxg_html *html, const mxg_chart *chart) {
  mxg_html_put(html,
               "<p>Cases that differ, by what they are about (docs/PIPE.md).</p><table>"
               "<thead><tr><th scope=col>section<th scope=col>f32<th scope=col>f16"
               "<th scope=col>bf16</thead><tbody>");
  for (size_t i = 0; i < chart->section_count; i++) {
    mxg_html_print(html, "<tr><th scope=row>%s", chart->sections[i].name);
    for (int dtype = 1; dtype < 4; dtype++)
      put_section_cell(html, chart->sections[i].differ[dtype], chart->sections[i].cases[dtype]);
  }
  mxg_html_put(html, "</tbody></table>");
}

/* ---- places in a block ---- */

static void put_places(mxg_html *html, const mxg_chart *chart) {
  const size_t count = chart->block ? mxg_size_ceil_div(chart->block, chart->place_step) : 0;
  uint64_t most = 0;
  size_t hit = 0;
  for (size_t i = 0; i < count; i++) {
    if (chart->places[i] > most) most = chart->places[i];
    hit += chart->places[i] != 0;
  }
  if (count < 2 || most == 0) return;
  mxg_html_print(
      html,
      "<h3>By place in the block</h3><p>Codes that differ at element 0 to %zu of their "
      "block; a pattern here points to a lane or a nibble. %zu of %zu bars are not empty, the "
      "tallest is %s.</p>"
      "<svg class=map viewBox=\"0 0 %zu 100\" preserveAspectRatio=none "
      "style=\"height:72px\" role=img aria-label=\"Bars of differing codes by place in "
      "the block\">",
      chart->block - 1, hit, count, mxg_grouped(most), count);
  for (size_t i = 0; i < count; i++) {
    if (!chart->places[i]) continue;
    const double height = 4 + 96 * (double)chart->places[i] / (double)most;
    const int whole = (int)height;
    mxg_html_print(html,
                   "<g><title>element %zu: %s</title><rect class=c x=%zu.06 y=%d width=.88 "
                   "height=%d /></g>",
                   i * chart->place_step, mxg_grouped(chart->places[i]), i, 100 - whole, whole);
  }
  mxg_html_put(html, "</svg>");
}

void mxg_html_where(mxg_html *html, const mxg_report *report) {
  const mxg_chart *chart = report->chart;
  if (chart->map_count == 0 && chart->section_count == 0) return;
  mxg_html_put(html, "<section aria-labelledby=where><h2 id=where>Where</h2>");
  if (chart->is_stream) put_sections(html, chart);
  for (size_t i = 0; i < chart->map_count; i++)
    if (chart->map_count == 1 || chart->maps[i]->differing_rows) put_map(html, chart->maps[i]);
  put_places(html, chart);
  mxg_html_put(html, "</section>");
}

/* ---- exponents ---- */

static void put_exponent_name(mxg_html *html, size_t index) {
  if (index == MXG_EXPONENT_ZERO)
    mxg_html_put(html, "zero");
  else if (index == MXG_EXPONENT_INF)
    mxg_html_put(html, "Inf");
  else if (index == MXG_EXPONENT_NAN)
    mxg_html_put(html, "NaN");
  else if (index == 0)
    mxg_html_put(html, "below 2<sup>&minus;126</sup>");
  else
    mxg_html_print(html, "2<sup>%s%d</sup>", index < 127 ? "&minus;" : "",
                   index < 127 ? 127 - (int)index : (int)index - 127);
}

static void put_exponent(mxg_html *html, size_t index, const mxg_exponent *at, uint64_t most) {
  mxg_html_put(html, "<tr><th scope=row>");
  put_exponent_name(html, index);
  mxg_html_print(html, "<td%s>%s", at->differ ? " class=bad" : "", mxg_grouped(at->differ));
  if (at->all) mxg_html_print(html, " <small>of %s</small>", mxg_grouped(at->all));
  put_bar(html, at->all ? (double)at->differ / (double)at->all
                        : (double)at->differ / (double)(most ? most : 1));
  mxg_html_put(html, "<td>");
  if (at->has_worst)
    mxg_html_print(html, "%.3g%%", at->worst * 100);
  else
    mxg_html_put(html, "&ndash;");
}

/* Zero first, then ascending, Inf and NaN last. */
void mxg_html_exponents(mxg_html *html, const mxg_report *report) {
  const mxg_chart *chart = report->chart;
  uint64_t most = 0;
  for (size_t i = 0; i < MXG_EXPONENTS; i++)
    if (chart->exponents[i].differ > most) most = chart->exponents[i].differ;
  if (most == 0) return;
  mxg_html_print(html,
                 "<section aria-labelledby=exponents><h2 id=exponents>Error by exponent</h2>"
                 "<p>Elements that differ, by the exponent of the %s; the error is the greatest "
                 "|got &minus; expected| / |expected| of decoded values, scale included. Exponents "
                 "without a difference are left out.</p><table><thead><tr><th scope=col>exponent"
                 "<th scope=col>differ<th scope=col>greatest error</thead><tbody>",
                 chart->of_input ? "input" : "expected value");
  const size_t zero = MXG_EXPONENT_ZERO;
  if (chart->exponents[zero].differ) put_exponent(html, zero, &chart->exponents[zero], most);
  for (size_t i = 0; i < MXG_EXPONENTS; i++)
    if (i != zero && chart->exponents[i].differ) put_exponent(html, i, &chart->exponents[i], most);
  mxg_html_put(html, "</tbody></table></section>");
}
