/* bench_report.h: the rows of `mxgold bench` as text, Markdown, JSON and SVG.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_BENCH_REPORT_H
#define MXGOLD_BENCH_REPORT_H

#include "tool.h"

#include "../bench/bench.h"

typedef struct mxg_bench_report {
  mxg_bench_machine machine;
  const char *command; /* that was run */
  const char *compiler;
  mxg_bench_row *rows;
  size_t count, capacity;
} mxg_bench_report;

/* Machine and sizes, then the line that heads the columns and says what they are. */
void mxg_bench_print_head(const mxg_bench_report *report);
void mxg_bench_print_row(const mxg_bench_row *row);
/* What stands out: rows that are not equal, operations slower than portable. */
void mxg_bench_print_tail(const mxg_bench_report *report);

void mxg_bench_print_markdown(const mxg_bench_report *report);
void mxg_bench_print_json(const mxg_bench_report *report);

/* Bars of bytes per cycle, or of GB/s where the clock is not known; one panel a size. */
int mxg_bench_write_svg(const mxg_bench_report *report, mxg_output *output);

/* "codec avx512", "ref", "peer-scalar-cast": who a row is of. */
const char *mxg_bench_who(const mxg_bench_row *row, char *text, size_t capacity);

/* Some digits that mean something, of what is fast and of what is slow. */
const char *mxg_bench_number(double value, char *text, size_t capacity);

#endif
