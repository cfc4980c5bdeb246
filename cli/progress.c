/* progress.c: a bar on stderr, for people only, and only when there is something to wait for.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 40 };

static struct {
  int depth; /* work inside work has no bar of its own */
  bool is_active, is_drawn;
  const char *what;
  uint64_t total;
  double begin, drawn_at; /* seconds */
} bar;

static double now_seconds(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void mxg_progress_begin(const char *what, uint64_t total) {
  if (bar.depth++ > 0) return;
  bar.is_active = isatty(STDERR_FILENO) == 1 && total > 0;
  bar.is_drawn = false;
  bar.what = what;
  bar.total = total;
  bar.begin = now_seconds();
  bar.drawn_at = bar.begin;
}

void mxg_progress_step(uint64_t done) {
  if (!bar.is_active || bar.depth != 1) return;
  const double now = now_seconds();
  if (now - bar.begin < 1.0 || now - bar.drawn_at < 0.1) return;
  const double share = (double)done / (double)bar.total;
  char line[BAR_WIDTH + 1];
  for (int i = 0; i < BAR_WIDTH; i++) line[i] = (double)i < share * (double)BAR_WIDTH ? '#' : '.';
  line[BAR_WIDTH] = 0;
  const double left = share > 0 ? (now - bar.begin) / share * (1 - share) : 0;
  fprintf(stderr, "\r\033[K%s [%s] %3.0f%%, %.0f s left", bar.what, line, share * 100, left);
  fflush(stderr);
  bar.drawn_at = now;
  bar.is_drawn = true;
}

void mxg_progress_end(void) {
  if (bar.depth > 0) bar.depth--;
  if (bar.depth > 0) return;
  mxg_progress_hide();
}

void mxg_progress_hide(void) {
  if (bar.is_drawn) {
    fputs("\r\033[K", stderr);
    fflush(stderr);
  }
  bar.is_active = bar.is_drawn = false;
}
