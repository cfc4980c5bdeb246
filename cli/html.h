/* html.h: text of an HTML page through the tool's outputs.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_HTML_H
#define MXGOLD_HTML_H

#include "compare.h"

typedef struct mxg_html {
  mxg_output *output;
  int status; /* of the first failure; nothing is written behind it */
} mxg_html;

/* Markup as it is; with a format, its arguments are numbers or markup of our own. */
void mxg_html_put(mxg_html *html, const char *markup);
__attribute__((format(printf, 2, 3))) void mxg_html_print(mxg_html *html, const char *format, ...);
/* Text of others: what could be markup, hide or turn the page around is shown as it is written, and
 * a long one is cut. */
void mxg_html_text(mxg_html *html, const char *text);
/* "1,234"; static storage of four turns. */
const char *mxg_grouped(uint64_t count);

/* The parts of the page (report_where.c, report_bits.c). */
void mxg_html_where(mxg_html *html, const mxg_report *report);
void mxg_html_exponents(mxg_html *html, const mxg_report *report);
void mxg_html_differences(mxg_html *html, const mxg_report *report);

/* The page (report_page.c). */
int mxg_report_page(const mxg_report *report, mxg_output *output);

#endif
