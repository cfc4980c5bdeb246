/* timing.c: the time of calls, in batches.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "internal.h"

/* A batch is short, so that on a busy machine some are not interrupted. */
#define BATCH_SECONDS 1e-3
enum { SAMPLES_MIN = 3, TRIES = 3 };

static int by_ns(const void *a, const void *b) {
  const bench_sample *x = a, *y = b;
  return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static double time_calls(bench_walk *walk, size_t count) {
  const double begin = bench_seconds();
  for (size_t i = 0; i < count && walk->status == MXG_OK; i++) {
    walk->status = bench_call_rows(walk->call, walk->next * walk->call->rows);
    walk->next = walk->next + 1 == walk->steps ? 0 : walk->next + 1;
  }
  return bench_seconds() - begin;
}

/* Calls that make a batch. */
static size_t batch_of(bench_walk *walk) {
  size_t batch = 1;
  for (;;) {
    double best = time_calls(walk, batch);
    for (int i = 1; i < TRIES && best < BATCH_SECONDS; i++) {
      const double again = time_calls(walk, batch);
      if (again < best) best = again;
    }
    if (walk->status != MXG_OK || best >= BATCH_SECONDS) return batch;
    if (best >= BATCH_SECONDS / 8) return (size_t)((double)batch * BATCH_SECONDS / best) + 1;
    batch *= 4;
  }
}

/* The clock goes up and down within milliseconds: it is measured before and after each batch, and
 * the faster one counts, because what disturbs makes it look slower. */
size_t bench_take_samples(bench_walk *walk, double seconds, bench_sample *samples) {
  const size_t batch = batch_of(walk);
  const double begin = bench_seconds();
  double now = begin, before = bench_clock_ghz();
  size_t count = 0;
  while (
      walk->status == MXG_OK && count < BENCH_SAMPLES_MAX &&
      (now - begin < seconds || count == 0 || (count < SAMPLES_MIN && now - begin < 4 * seconds))) {
    const double ns = time_calls(walk, batch) / (double)batch * 1e9;
    const double after = bench_clock_ghz();
    samples[count].ns = ns;
    samples[count++].cycles = ns * (before > after ? before : after);
    before = after;
    now = bench_seconds();
  }
  qsort(samples, count, sizeof *samples, by_ns);
  return count;
}
