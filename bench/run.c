/* run.c: which rows a run has, and how one is measured.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- rows ---- */

typedef struct bench_job {
  const bench_op *op;
  bench_data data;
  bench_size size;
  bench_impl impl;
  const bench_peer *peer;
  const bench_isa *isa; /* codec */
  int as_array;
  uint32_t threads;
} bench_job;

typedef struct bench_plan {
  mxg_bench_options options;
  mxg_bench_machine machine;
  bench_job *jobs;
  size_t count, capacity;
  unsigned char *arena;
  size_t arena_bytes;
  double memcpy_gbps[MXG_BENCH_SIZE_COUNT][MXG_BENCH_THREADS_MAX];
} bench_plan;

static int has(uint64_t mask, size_t index) {
  return mask == 0 || (mask >> index & 1) != 0;
}

/* One row is below what the library divides over threads. */
static int has_threads(bench_size size, uint32_t threads) {
  return threads == 1 || size != BENCH_TOKEN;
}

static int add_job(bench_plan *plan, const bench_job *job) {
  if (plan->count == plan->capacity) {
    const size_t capacity = plan->capacity * 2 + 64;
    bench_job *jobs = realloc(plan->jobs, capacity * sizeof *jobs);
    if (jobs == NULL) return 0;
    plan->jobs = jobs;
    plan->capacity = capacity;
  }
  plan->jobs[plan->count++] = *job;
  return 1;
}

static int add_limits(bench_plan *plan) {
  for (size_t size = 0; size < MXG_BENCH_SIZE_COUNT; size++)
    for (size_t i = 0; has(plan->options.sizes, size) && i < 3; i++)
      for (size_t t = 0; t < plan->options.thread_count; t++) {
        const bench_job job = {
            .op = &bench_limits[i], .size = (bench_size)size, .threads = plan->options.threads[t]};
        if (has_threads(job.size, job.threads) && !add_job(plan, &job)) return 0;
      }
  return 1;
}

/* The golden model and peers are slow and have one thread. The model runs on small sizes, peers in
 * L2. */
static int add_others(bench_plan *plan, bench_job job) {
  if (!has(plan->options.isas, 0) || plan->options.threads[0] != 1) return 1;
  job.threads = 1;
  job.impl = BENCH_REF;
  if (job.size <= BENCH_L2 && !add_job(plan, &job)) return 0;
  job.impl = BENCH_PEER;
  if (job.size != BENCH_L2) return 1;
  for (size_t i = 0; i < bench_peer_count; i++) {
    job.peer = &bench_peers[i];
    if (strcmp(job.peer->op, job.op->name) == 0 && !add_job(plan, &job)) return 0;
  }
  return 1;
}

static int add_op(bench_plan *plan, const bench_op *op, bench_data data) {
  mxg_recipe recipe;
  if (mxg_recipe_parse(op->recipe, &recipe, NULL) != MXG_OK) return 0;
  for (size_t size = 0; size < MXG_BENCH_SIZE_COUNT; size++) {
    if (!has(plan->options.sizes, size)) continue;
    bench_job job = {.op = op, .data = data, .size = (bench_size)size};
    for (size_t left = BENCH_ISA_COUNT; left > 0; left--) { /* the widest first */
      const size_t i = left - 1;
      job.isa = &bench_isas[i];
      for (size_t t = 0; has(plan->options.isas, i) && t < plan->options.thread_count; t++) {
        job.threads = plan->options.threads[t];
        job.as_array = job.threads == 1 && job.isa == bench_array_isa(op->kind);
        if (!job.as_array && !bench_isa_serves(op, &recipe, job.isa)) continue;
        if (has_threads(job.size, job.threads) && !add_job(plan, &job)) return 0;
      }
    }
    job.isa = NULL;
    job.as_array = 0;
    if (!add_others(plan, job)) return 0;
  }
  return 1;
}

static int add_jobs(bench_plan *plan) {
  if (!add_limits(plan)) return 0;
  for (size_t data = 0; mxg_bench_name(MXG_BENCH_DATA, data) != NULL; data++) {
    if ((plan->options.data >> data & 1) == 0) continue;
    for (size_t i = 0; i < bench_op_count; i++)
      if (has(plan->options.ops, i) && !add_op(plan, &bench_ops[i], (bench_data)data)) return 0;
  }
  return 1;
}

/* ---- timing ---- */

/* A batch is short, so that on a busy machine some are not interrupted. */
#define BATCH_SECONDS 1e-3
enum { SAMPLES_MIN = 3, SAMPLES_MAX = 1 << 16, TRIES = 3 };

typedef struct bench_sample { /* of one call, by the time of a batch of them */
  double ns, cycles;
} bench_sample;

static int by_ns(const void *a, const void *b) {
  const bench_sample *x = a, *y = b;
  return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static int by_cycles(const void *a, const void *b) {
  const bench_sample *x = a, *y = b;
  return x->cycles < y->cycles ? -1 : x->cycles > y->cycles;
}

/* Calls walk over the rows of the case, so that dram is read from memory again and again. */
typedef struct bench_walk {
  bench_call *call;
  size_t next, steps;
  mxg_status status;
} bench_walk;

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

/* Sorted by time. The clock goes up and down within milliseconds: it is measured before and after
 * each batch, and the faster one counts, because what disturbs makes it look slower. */
static size_t take_samples(bench_walk *walk, double seconds, bench_sample *samples) {
  const size_t batch = batch_of(walk);
  const double begin = bench_seconds();
  double now = begin, before = bench_clock_ghz();
  size_t count = 0;
  while (
      walk->status == MXG_OK && count < SAMPLES_MAX &&
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

/* ---- one row ---- */

/* Rows of one call: all, but for dram about call_bytes, and less for what is slow. Memory limits
 * take half of all at once: the C library's memcpy has its own way with large copies. */
static mxg_status set_call_rows(const bench_plan *plan, bench_call *call) {
  const bench_case *c = call->c;
  const size_t probe_rows = 16;
  mxg_status status;
  if (c->size != BENCH_DRAM || c->rows < 64) return bench_call_open(call, c->rows);
  if (bench_is_limit(c->op->kind)) return bench_call_open(call, c->rows / 2);
  if ((status = bench_call_open(call, probe_rows)) != MXG_OK) return status;
  const double begin = bench_seconds();
  if ((status = bench_call_rows(call, 0)) != MXG_OK) return status;
  const double row_seconds = (bench_seconds() - begin) / (double)probe_rows;
  const size_t set_bytes = plan->machine.set_bytes[BENCH_DRAM];
  size_t rows = c->rows * (plan->machine.call_bytes >> 10) / (set_bytes >> 10);
  if (row_seconds * (double)rows > 0.05) rows = (size_t)(0.05 / row_seconds);
  return bench_call_open(call, rows < probe_rows ? probe_rows : rows);
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

static mxg_status measure(const bench_plan *plan, const bench_job *job, const bench_case *c,
                          bench_sample *samples, mxg_bench_row *row) {
  bench_call call = {.c = c,
                     .impl = job->impl,
                     .peer = job->peer != NULL ? job->peer->fn : NULL,
                     .run = {job->threads, job->isa != NULL ? job->isa->mask : 0, {0}},
                     .as_array = job->as_array};
  /* Everything else is compared with the limits: they get more time. */
  const double seconds = plan->options.seconds * (bench_is_limit(c->op->kind) ? 3 : 1);
  name_row(job, row);
  mxg_status status = set_call_rows(plan, &call);
  if (status == MXG_OK) status = compare(&call, &row->equal);
  if (status != MXG_OK) return status;
  bench_walk walk = {&call, 0, c->rows / call.rows, MXG_OK};
  const size_t count = take_samples(&walk, seconds, samples);
  if (walk.status != MXG_OK) return walk.status;
  /* What the last timed call left is compared too. */
  const size_t last = (walk.next == 0 ? walk.steps : walk.next) - 1;
  if (!bench_case_equal(c, last * call.rows, call.rows)) row->equal = 0;
  fill_row(&call, samples, count, row);
  return MXG_OK;
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
    if (has(options->sizes, size) && plan.machine.set_bytes[size] > set_bytes)
      set_bytes = plan.machine.set_bytes[size];
  plan.arena_bytes = set_bytes + ((size_t)4 << 20);
  plan.arena = bench_map(plan.arena_bytes);
  bench_sample *samples = malloc(SAMPLES_MAX * sizeof *samples);
  if (plan.arena == NULL || samples == NULL)
    why = "not enough memory for the largest size: narrow --size";
  else if (!add_jobs(&plan))
    why = "out of memory";
  else
    why = run_jobs(&plan, samples, emit, context);
  free(samples);
  free(plan.jobs);
  bench_unmap(plan.arena, plan.arena_bytes);
  return why;
}
