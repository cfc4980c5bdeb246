/* run.c: measures one row after the other.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- one row ---- */

/* Seconds that one row of a large case takes on one thread, by the best of a few calls: the others
 * were disturbed. */
static double probe(bench_call *call, mxg_status *status) {
  enum { PROBES = 3, PROBE_ROWS = 16 };
  const uint32_t threads = call->run.threads;
  double best = 0;
  call->run.threads = 1;
  *status = bench_call_open(call, PROBE_ROWS);
  for (size_t i = 0; i < PROBES && *status == MXG_OK; i++) {
    const double begin = bench_seconds();
    *status = bench_call_rows(call, i * PROBE_ROWS);
    const double seconds = (bench_seconds() - begin) / (double)PROBE_ROWS;
    if (i == 0 || seconds < best) best = seconds;
  }
  call->run.threads = threads;
  return best;
}

/* Rows of one call: all, but for dram about call_bytes, and less for what is slow. */
static mxg_status set_call_rows(const bench_plan *plan, bench_call *call) {
  const double longest_seconds = 0.05;
  const bench_case *c = call->c;
  mxg_status status;
  if (c->size != BENCH_DRAM || c->rows < 64) return bench_call_open(call, c->rows);
  size_t rows = c->rows / (plan->machine.set_bytes[BENCH_DRAM] / plan->machine.call_bytes);
  if (!bench_is_limit(c->op->kind)) {
    const double row_seconds = probe(call, &status);
    if (status != MXG_OK) return status;
    if (row_seconds * (double)rows > longest_seconds)
      rows = (size_t)(longest_seconds / row_seconds) + 1;
  }
  return bench_call_open(call, rows);
}

static uint64_t plain_read(const bench_case *c, size_t rows) {
  const uint64_t *words = (const uint64_t *)(const void *)c->source.data;
  uint64_t all = 0;
  for (size_t i = 0; i < rows * c->source.row_bytes / 8; i++) all ^= words[i];
  return all;
}

static mxg_status compare(bench_call *call, int *equal) {
  bench_case_poison(call->c, 0, call->rows);
  const mxg_status status = bench_call_rows(call, 0);
  *equal = bench_case_equal(call->c, 0, call->rows);
  if (call->c->op->kind == BENCH_READ) *equal = call->read == plain_read(call->c, call->rows);
  return status;
}

static double ratio(double a, double b) {
  return b > 0 ? a / b : 0;
}

static int by_cycles(const void *a, const void *b) {
  const bench_sample *x = a, *y = b;
  return x->cycles < y->cycles ? -1 : x->cycles > y->cycles;
}

/* The samples are reordered. The best cycles are the median of the fastest tenth: the clock of one
 * batch is known to a few per cent only. */
static void fill_row(const bench_call *call, bench_sample *samples, size_t count,
                     mxg_bench_row *row) {
  const double bytes = (double)call->rows * (double)call->c->source_row_bytes;
  const size_t fastest = count / 10 + 1;
  row->ns = samples[0].ns;
  row->ns_median = samples[count / 2].ns;
  row->ns_per_element = row->ns / (double)(call->rows * BENCH_COLS);
  row->gbps = ratio(bytes, row->ns);
  row->gbps_median = ratio(bytes, row->ns_median);
  row->spread = ratio(samples[(count - 1) * 9 / 10].ns, row->ns) - 1;
  qsort(samples, fastest, sizeof *samples, by_cycles);
  const double best = samples[fastest / 2].cycles;
  qsort(samples, count, sizeof *samples, by_cycles);
  const double median = samples[count / 2].cycles;
  row->bytes_per_cycle = ratio(bytes, best < median ? best : median);
  row->bytes_per_cycle_median = ratio(bytes, median);
}

static void name_row(const bench_job *job, mxg_bench_row *row) {
  const int is_limit = bench_is_limit(job->op->kind);
  const int is_memcpy = job->op->kind == BENCH_MEMCPY;
  memset(row, 0, sizeof *row);
  row->op = job->op->name;
  row->impl = is_memcpy                ? "libc"
              : is_limit               ? "limit"
              : job->impl == BENCH_REF ? "ref"
              : job->peer != NULL      ? job->peer->name
                                       : "codec";
  row->isa = is_memcpy          ? "any"
             : is_limit         ? bench_limit_isa()
             : job->isa != NULL ? job->isa->name
                                : bench_isas[0].name;
  row->size = mxg_bench_name(MXG_BENCH_SIZES, job->size);
  row->data = mxg_bench_name(MXG_BENCH_DATA, job->data);
  row->threads = job->threads;
}

/* Compares, then times calls of call->rows rows. */
static mxg_status measure_calls(bench_call *call, double seconds, bench_sample *samples,
                                mxg_bench_row *row) {
  const bench_case *c = call->c;
  const mxg_status status = compare(call, &row->equal);
  if (status != MXG_OK) return status;
  /* The first rows have just been in a cache. */
  const size_t steps = c->rows / call->rows;
  bench_walk walk = {call, steps > 1 ? 1 : 0, steps, MXG_OK};
  const size_t count = bench_take_samples(&walk, seconds, samples);
  if (walk.status != MXG_OK) return walk.status;
  /* What the last timed call left is compared too. */
  const size_t last = (walk.next == 0 ? walk.steps : walk.next) - 1;
  if (!bench_case_equal(c, last * call->rows, call->rows)) row->equal = 0;
  fill_row(call, samples, count, row);
  return MXG_OK;
}

static mxg_status measure(const bench_plan *plan, const bench_job *job, const bench_case *c,
                          bench_sample *samples, mxg_bench_row *row) {
  const int is_limit = bench_is_limit(c->op->kind);
  bench_call call = {.c = c,
                     .impl = job->impl,
                     .peer = job->peer != NULL ? job->peer->fn : NULL,
                     .run = {job->threads, job->isa != NULL ? job->isa->mask : 0, {0}},
                     .as_array = job->as_array};
  /* Everything else is compared with the limits: they get more time. */
  const double seconds = plan->options.seconds * (is_limit ? 3 : 1);
  name_row(job, row);
  mxg_status status = set_call_rows(plan, &call);
  if (status == MXG_OK) status = measure_calls(&call, seconds, samples, row);
  if (status != MXG_OK || !is_limit || c->size != BENCH_DRAM) return status;
  /* A memcpy may have another way with very large copies: the limit is the better one. */
  mxg_bench_row large = *row;
  status = bench_call_open(&call, c->rows / 2);
  if (status == MXG_OK) status = measure_calls(&call, seconds, samples, &large);
  if (status == MXG_OK && large.gbps > row->gbps) *row = large;
  return status;
}

/* ---- the run ---- */

static const char *fail(const bench_job *job, mxg_status status) {
  static char text[200];
  if (status == MXG_ERR_CAPACITY) return "not enough memory for the case: narrow --size";
  snprintf(text, sizeof text, "%s: %s", job->op->name, mxg_strerror(status));
  return text;
}

static void keep_memcpy(bench_plan *plan, const bench_job *job, mxg_bench_row *row) {
  for (size_t t = 0; t < plan->options.thread_count; t++) {
    double *gbps = &plan->memcpy_gbps[job->size][t];
    if (plan->options.threads[t] != job->threads) continue;
    if (job->op->kind == BENCH_MEMCPY) *gbps = row->gbps;
    row->memcpy_ratio = ratio(row->gbps, *gbps);
  }
}

static int is_same_case(const bench_job *a, const bench_job *b) {
  return a->op == b->op && a->size == b->size && a->data == b->data;
}

static const char *run_jobs(bench_plan *plan, bench_sample *samples, mxg_bench_emit *emit,
                            void *context) {
  bench_case c = {0};
  const char *why = NULL;
  for (size_t i = 0; i < plan->count && why == NULL; i++) {
    const bench_job *job = &plan->jobs[i];
    mxg_bench_row row;
    mxg_status status = MXG_OK;
    if (i == 0 || !is_same_case(job, job - 1)) {
      bench_case_close(&c);
      status = bench_case_open(job->op, job->data, job->size, plan->machine.set_bytes[job->size],
                               plan->arena, plan->arena_bytes, &c);
    }
    if (status == MXG_OK) status = measure(plan, job, &c, samples, &row);
    if (status != MXG_OK) {
      why = fail(job, status);
    } else {
      keep_memcpy(plan, job, &row);
      emit(&row, i + 1, plan->count, context);
    }
  }
  bench_case_close(&c);
  return why;
}

/* 1, 2 and all. */
static void default_threads(bench_plan *plan) {
  mxg_bench_options *options = &plan->options;
  const uint32_t all = plan->machine.threads;
  for (uint32_t t = 1; t < all && t <= 2; t++) options->threads[options->thread_count++] = t;
  options->threads[options->thread_count++] = all;
}

const char *mxg_bench_run(const mxg_bench_machine *machine, const mxg_bench_options *options,
                          mxg_bench_emit *emit, void *context) {
  bench_plan plan = {.options = *options, .machine = *machine};
  size_t set_bytes = 0;
  const char *why = NULL;
  if (plan.options.thread_count == 0) default_threads(&plan);
  if (plan.options.data == 0) plan.options.data = 1;
  for (size_t size = 0; size < MXG_BENCH_SIZE_COUNT; size++)
    if (bench_has(options->sizes, size) && plan.machine.set_bytes[size] > set_bytes)
      set_bytes = plan.machine.set_bytes[size];
  plan.arena_bytes = set_bytes + ((size_t)4 << 20);
  plan.arena = bench_map(plan.arena_bytes);
  bench_sample *samples = malloc(BENCH_SAMPLES_MAX * sizeof *samples);
  if (plan.arena == NULL || samples == NULL)
    why = "not enough memory for the largest size: narrow --size";
  else if (!bench_add_jobs(&plan))
    why = "out of memory";
  else
    why = run_jobs(&plan, samples, emit, context);
  free(samples);
  free(plan.jobs);
  bench_unmap(plan.arena, plan.arena_bytes);
  return why;
}
