/* bench_svg.c: the rows of `mxgold bench` as bars, in one SVG that needs nothing else.
 *
 * One panel a size, one group of bars an operation, one bar who ran it; the fewest threads of the
 * run. Limits are longer than the operations they limit: their bars are cut where the panel ends.
 * SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench_report.h"

enum {
  LEFT = 215,
  PANEL = 235,
  BAR_MAX = 185, /* the rest of a panel is for the number */
  BAR = 13,
  GROUP_GAP = 9,
  HEAD = 108
};

static const struct {
  const char *who, *colour; /* "peer": any of them */
} series[] = {{"codec avx512", "#08519c"},   {"codec avx2", "#4292c6"}, {"codec neon", "#238b8d"},
              {"codec portable", "#9ecae1"}, {"ref", "#bdbdbd"},        {"peer", "#e6842a"},
              {"limit", "#636363"},          {"libc", "#252525"}};
enum { SERIES = sizeof series / sizeof series[0] };

static size_t series_of(const mxg_bench_row *row) {
  char who[64];
  mxg_bench_who(row, who, sizeof who);
  for (size_t i = 0; i < SERIES; i++)
    if (strncmp(who, series[i].who, strlen(series[i].who)) == 0) return i;
  return SERIES - 1;
}

static double value_of(const mxg_bench_row *row, bool per_cycle) {
  return per_cycle ? row->bytes_per_cycle : row->gbps;
}

static bool is_limit(const mxg_bench_row *row) {
  return strcmp(row->impl, "limit") == 0 || strcmp(row->impl, "libc") == 0;
}

static bool same_group(const mxg_bench_row *a, const mxg_bench_row *b) {
  return strcmp(a->op, b->op) == 0 && (strcmp(a->data, b->data) == 0);
}

__attribute__((format(printf, 2, 3))) static int put(mxg_output *output, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof text)
    return mxg_fail(MXG_EXIT_FILE, "--svg: a line is too long");
  return mxg_output_write(output, text, (size_t)length);
}

/* Text of the machine's: "&", "<" and ">" have a meaning in SVG. */
static void escape(const char *text, char *out, size_t capacity) {
  size_t length = 0;
  for (; *text && length + 8 < capacity; text++) {
    const char *entity = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : 0;
    length += (size_t)(entity ? snprintf(out + length, capacity - length, "%s", entity)
                              : snprintf(out + length, capacity - length, "%c", *text));
  }
  out[length] = 0;
}

typedef struct plot {
  const mxg_bench_report *report;
  uint32_t threads; /* rows with so many are drawn */
  bool per_cycle, has_data_sets;
  double most[MXG_BENCH_SIZE_COUNT];                 /* of a panel's operations */
  int panel_x[MXG_BENCH_SIZE_COUNT], panels, height; /* panel_x 0: no panel */
  bool has_series[SERIES];
} plot;

static size_t size_index(const mxg_bench_row *row) {
  size_t i = 0;
  while (strcmp(mxg_bench_name(MXG_BENCH_SIZES, i), row->size) != 0) i++;
  return i;
}

/* Is row number i the first of its group? */
static bool is_first(const plot *p, size_t i) {
  for (size_t j = 0; j < i; j++)
    if (same_group(&p->report->rows[i], &p->report->rows[j])) return false;
  return true;
}

/* Bars of the group of row `first`, one a series that has a row at any size. */
static int group_bars(const plot *p, const mxg_bench_row *first, bool *has) {
  int bars = 0;
  memset(has, 0, SERIES * sizeof *has);
  for (size_t i = 0; i < p->report->count; i++) {
    const mxg_bench_row *row = &p->report->rows[i];
    if (row->threads == p->threads && same_group(row, first)) has[series_of(row)] = true;
  }
  for (size_t s = 0; s < SERIES; s++) bars += has[s];
  return bars;
}

static void lay_out(plot *p) {
  const mxg_bench_report *report = p->report;
  p->threads = report->rows[0].threads;
  for (size_t i = 0; i < report->count; i++)
    if (report->rows[i].threads < p->threads) p->threads = report->rows[i].threads;
  p->per_cycle = report->rows[0].bytes_per_cycle > 0;
  p->height = HEAD;
  bool is_there[MXG_BENCH_SIZE_COUNT] = {false};
  for (size_t i = 0; i < report->count; i++) {
    const mxg_bench_row *row = &report->rows[i];
    if (row->threads != p->threads) continue;
    const size_t size = size_index(row);
    const double value = value_of(row, p->per_cycle);
    is_there[size] = true;
    p->has_series[series_of(row)] = true;
    if (!is_limit(row) && strcmp(row->data, report->rows[report->count - 1].data) != 0)
      p->has_data_sets = true;
    if (!is_limit(row) && value > p->most[size]) p->most[size] = value;
    bool has[SERIES];
    if (is_first(p, i)) p->height += group_bars(p, row, has) * BAR + GROUP_GAP;
  }
  for (size_t size = 0; size < MXG_BENCH_SIZE_COUNT; size++)
    if (is_there[size]) p->panel_x[size] = LEFT + PANEL * p->panels++;
}

static int put_head(const plot *p, mxg_output *output) {
  char cpu[256], compiler[256];
  escape(p->report->machine.cpu, cpu, sizeof cpu);
  escape(p->report->compiler, compiler, sizeof compiler);
  const int width = LEFT + PANEL * p->panels;
  int code =
      put(output,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
          "<text x=\"12\" y=\"24\" font-size=\"17\" font-weight=\"bold\">mxgold bench: source "
          "%s, best of the run</text>\n",
          width, p->height, width, p->height, p->per_cycle ? "bytes per cycle" : "GB/s");
  if (code == 0)
    code = put(output,
               "<text x=\"12\" y=\"43\">%s, %s, %u thread%s. Bars of limits are cut at the panel's "
               "end; \xE2\x89\xA0 marks bytes that are not the golden model's.</text>\n",
               cpu, compiler, p->threads, p->threads == 1 ? "" : "s");
  int x = 12;
  for (size_t s = 0; s < SERIES && code == 0; s++) {
    if (!p->has_series[s]) continue;
    const char *who = strcmp(series[s].who, "libc") == 0 ? "memcpy" : series[s].who;
    code = put(output,
               "<rect x=\"%d\" y=\"56\" width=\"11\" height=\"11\" fill=\"%s\"/>"
               "<text x=\"%d\" y=\"66\">%s</text>\n",
               x, series[s].colour, x + 16, who);
    x += 110;
  }
  for (size_t size = 0; size < MXG_BENCH_SIZE_COUNT && code == 0; size++)
    if (p->panel_x[size] != 0)
      code = put(output,
                 "<text x=\"%d\" y=\"94\" font-size=\"13\" font-weight=\"bold\">%s</text>"
                 "<line x1=\"%d\" y1=\"100\" x2=\"%d\" y2=\"%d\" stroke=\"#bbb\"/>\n",
                 p->panel_x[size], mxg_bench_name(MXG_BENCH_SIZES, size), p->panel_x[size],
                 p->panel_x[size], p->height - GROUP_GAP);
  return code;
}

static int put_bar(const plot *p, const mxg_bench_row *row, int y, mxg_output *output) {
  const size_t size = size_index(row), s = series_of(row);
  const double value = value_of(row, p->per_cycle), most = p->most[size];
  const bool is_cut = value > most;
  const double length = is_cut ? (double)BAR_MAX : value / most * (double)BAR_MAX;
  char who[64], number[32];
  const int code = put(
      output,
      "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"><title>%s, %s, %s: %.0f "
      "ns, %.2f GB/s</title></rect>",
      p->panel_x[size], y, length, BAR - 2, series[s].colour, row->op,
      mxg_bench_who(row, who, sizeof who), row->size, row->ns, row->gbps);
  if (code != 0) return code;
  return put(output, "<text x=\"%.1f\" y=\"%d\" font-size=\"10\">%s%s%s</text>\n",
             p->panel_x[size] + length + 4, y + BAR - 3, is_cut ? "\xE2\x80\xBA " : "",
             mxg_bench_number(value, number, sizeof number), row->equal ? "" : " \xE2\x89\xA0");
}

/* All bars of one group from y on; *y is moved to the next. */
static int put_group(const plot *p, const mxg_bench_row *first, int *y, mxg_output *output) {
  bool has[SERIES];
  const int bars = group_bars(p, first, has);
  const bool names_data = p->has_data_sets && !is_limit(first);
  int code = put(output, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s%s%s</text>\n", LEFT - 8,
                 *y + 10, first->op, names_data ? ", " : "", names_data ? first->data : "");
  for (size_t i = 0; i < p->report->count && code == 0; i++) {
    const mxg_bench_row *row = &p->report->rows[i];
    if (row->threads != p->threads || !same_group(row, first)) continue;
    int place = 0;
    for (size_t s = 0; s < series_of(row); s++) place += has[s];
    code = put_bar(p, row, *y + place * BAR, output);
  }
  *y += bars * BAR + GROUP_GAP;
  return code;
}

int mxg_bench_write_svg(const mxg_bench_report *report, mxg_output *output) {
  plot p = {.report = report};
  if (report->count == 0) return mxg_fail(MXG_EXIT_USAGE, "--svg: there is no row to draw");
  lay_out(&p);
  int y = HEAD;
  int code = put_head(&p, output);
  for (size_t i = 0; i < report->count && code == 0; i++)
    if (report->rows[i].threads == p.threads && is_first(&p, i))
      code = put_group(&p, &report->rows[i], &y, output);
  return code == 0 ? put(output, "</svg>\n") : code;
}
