/* jobs.c: which rows a run has, and in which order.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int bench_has(uint64_t mask, size_t index) {
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
    for (size_t i = 0; bench_has(plan->options.sizes, size) && i < 3; i++)
      for (size_t t = 0; t < plan->options.thread_count; t++) {
        const bench_job job = {
            .op = &bench_limits[i], .size = (bench_size)size, .threads = plan->options.threads[t]};
        if (has_threads(job.size, job.threads) && !add_job(plan, &job)) return 0;
      }
  return 1;
}

static int has_one_thread(const mxg_bench_options *options) {
  for (size_t t = 0; t < options->thread_count; t++)
    if (options->threads[t] == 1) return 1;
  return 0;
}

/* The golden model and peers are slow and have one thread. The model runs on small sizes, peers in
 * L2. */
static int add_others(bench_plan *plan, bench_job job) {
  if (!bench_has(plan->options.isas, 0) || !has_one_thread(&plan->options)) return 1;
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
    if (!bench_has(plan->options.sizes, size)) continue;
    bench_job job = {.op = op, .data = data, .size = (bench_size)size};
    for (size_t left = BENCH_ISA_COUNT; left > 0; left--) { /* the widest first */
      const size_t i = left - 1;
      job.isa = &bench_isas[i];
      for (size_t t = 0; bench_has(plan->options.isas, i) && t < plan->options.thread_count; t++) {
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

int bench_add_jobs(bench_plan *plan) {
  if (!add_limits(plan)) return 0;
  for (size_t data = 0; mxg_bench_name(MXG_BENCH_DATA, data) != NULL; data++) {
    if ((plan->options.data >> data & 1) == 0) continue;
    for (size_t i = 0; i < bench_op_count; i++)
      if (bench_has(plan->options.ops, i) && !add_op(plan, &bench_ops[i], (bench_data)data))
        return 0;
  }
  return 1;
}
