/* threads.c: rows over threads. A row is the unit of work and belongs to one thread, so bytes do
 * not depend on the number of threads, nor on OpenMP being there.
 * SPDX-License-Identifier: MIT */
#include "internal.h"

#ifdef _OPENMP
#include <omp.h>

/* Below this much work a fork and a join cost more than they bring. */
#define SERIAL_BYTES 65536u

/* Threads to use, 1 = this one alone. */
static int thread_count(const mxg_call *call, size_t bytes_per_row) {
  size_t count = (size_t)omp_get_max_threads(); /* >= 1 */
  if (bytes_per_row == 0 || call->rows < mxg_size_ceil_div(SERIAL_BYTES, bytes_per_row)) return 1;
  if (call->threads != 0 && call->threads < 1024) count = call->threads;
  if (count > call->rows) count = call->rows;
  return (int)count;
}

/* Rows of one thread that nobody has taken yet. On a cache line of its own. */
typedef struct mxg_share {
  size_t next, end;
  char rest[64 - 2 * sizeof(size_t)];
} mxg_share;

#define MAX_SHARES 64

/* A thread takes its own share first, which is the same one in the next call, so that rows stay in
 * that core's caches; then it helps the others. */
static void take_shares(const mxg_call *call, mxg_row_fn *each, mxg_share *shares, size_t count,
                        size_t own, size_t batch) {
  for (size_t i = 0; i < count; i++) {
    mxg_share *share = &shares[(own + i) % count];
    for (;;) {
      size_t begin, end;
      /* next cannot wrap: a row has at least 2 bytes, and next ends below 2 * rows. An atomic and
       * not a critical section, because that would export a symbol. */
#pragma omp atomic capture
      {
        begin = share->next;
        share->next += batch;
      }
      if (begin >= share->end) break;
      end = share->end - begin < batch ? share->end : begin + batch;
      for (size_t row = begin; row < end; row++) each(call, row);
    }
  }
}

static void over_threads(const mxg_call *call, mxg_row_fn *each, int threads) {
  const size_t rows = call->rows;
  const size_t count = threads < MAX_SHARES ? (size_t)threads : MAX_SHARES;
  const size_t part = rows / ((size_t)threads * 8);
  const size_t batch = part > 0 ? part : 1;
  mxg_share shares[MAX_SHARES];
  for (size_t i = 0; i < count; i++) {
    shares[i].next = i == 0 ? 0 : shares[i - 1].end;
    shares[i].end = shares[i].next + (rows - shares[i].next) / (count - i);
  }
#pragma omp parallel num_threads(threads)
  {
    /* A worker may have been born while FTZ was on, or while exceptions trapped. It then leaves all
     * rows to the others; thread 0 is the calling one, which has been checked. */
    const size_t own = (size_t)omp_get_thread_num();
    if (!call->default_fpenv || own == 0 || mxg_fpenv_is_quiet())
      take_shares(call, each, shares, count, own % count, batch);
  }
}
#endif

void mxg_for_each_row(const mxg_call *call, size_t bytes_per_row, mxg_row_fn *each) {
#ifdef _OPENMP
  const int threads = thread_count(call, bytes_per_row);
  if (threads > 1) {
    over_threads(call, each, threads);
    return;
  }
#else
  (void)bytes_per_row;
#endif
  for (size_t row = 0; row < call->rows; row++) each(call, row);
}
