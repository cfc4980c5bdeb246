/* threads.c: eight threads call the library at once with one recipe, layout and run, each on rows or
 * columns of its own in buffers that all share, and rows are divided once more inside each call
 * where OpenMP is. For TSan; bytes are compared with those of one thread. Adjacent rows have odd
 * sizes, so that a kernel that touched more than its own would race.
 *
 * usage: threads
 * exit: 0 equal bytes, 1 a difference
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mxgold.h"

/* One part is just long enough (64 KiB of bf16) for the library to divide it. */
enum { THREADS = 8, PART_ROWS = 32, ROWS = THREADS * PART_ROWS, COLS = 1025, TOP_K = 2 };

typedef struct task {
  const mxg_recipe *recipe;
  const mxg_layout *layout; /* of PART_ROWS slots */
  const mxg_run *run;
  const uint16_t *x; /* ROWS x COLS bf16 */
  uint8_t *slots;    /* ROWS slots */
  uint16_t *y;       /* ROWS x COLS */
  const void **sources;
  uint16_t *sum; /* PART_ROWS x COLS */
} task;

typedef struct worker {
  const task *job;
  size_t index;
  pthread_barrier_t *together;
  mxg_status status;
} worker;

static mxg_status first_error(mxg_status a, mxg_status b) {
  return a != MXG_OK ? a : b;
}

/* Rows of part `index`: into slots, and back. */
static mxg_status part(const task *job, size_t index) {
  const size_t first = index * PART_ROWS;
  uint8_t *slots = job->slots + first * job->layout->slot_stride_bytes;
  const mxg_matrix_view x = {job->x + first * COLS, MXG_DTYPE_BF16, PART_ROWS, COLS, 0};
  const mxg_matrix y = {job->y + first * COLS, MXG_DTYPE_BF16, PART_ROWS, COLS, 0};
  const mxg_packed out = {slots, job->layout->codes_bytes, NULL, 0, *job->layout};
  const mxg_packed_view in = {slots, job->layout->codes_bytes, NULL, 0, *job->layout};
  const mxg_status status = mxg_quantize(job->recipe, &x, NULL, &out, job->run);
  return first_error(status, mxg_dequantize(job->recipe, &in, &y, job->run));
}

/* Columns of part `index` of the sum, whose rows every thread writes to. */
static mxg_status columns(const task *job, size_t index) {
  const mxg_matrix sum = {job->sum, MXG_DTYPE_BF16, PART_ROWS, COLS, 0};
  return mxg_combine(job->recipe, job->sources, TOP_K, NULL, job->layout, index * COLS / THREADS,
                     (index + 1) * COLS / THREADS, &sum, job->run);
}

static void *work(void *argument) {
  worker *me = argument;
  const char *name = NULL;
  me->status =
      mxg_kernel_name(me->job->recipe, MXG_OPERATION_QUANTIZE, MXG_DTYPE_BF16, me->job->run, &name);
  me->status = first_error(me->status, part(me->job, me->index));
  (void)pthread_barrier_wait(me->together); /* sources are other threads' slots */
  me->status = first_error(me->status, columns(me->job, me->index));
  return NULL;
}

static mxg_status by_threads(const task *job) {
  pthread_t threads[THREADS];
  worker workers[THREADS];
  pthread_barrier_t together;
  mxg_status status = MXG_OK;
  if (pthread_barrier_init(&together, NULL, THREADS) != 0) abort();
  for (size_t i = 0; i < THREADS; i++) {
    workers[i] = (worker){job, i, &together, MXG_OK};
    if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0) abort();
  }
  for (size_t i = 0; i < THREADS; i++) {
    if (pthread_join(threads[i], NULL) != 0) abort();
    status = first_error(status, workers[i].status);
  }
  (void)pthread_barrier_destroy(&together);
  return status;
}

static mxg_status by_one(const task *job) {
  mxg_status status = MXG_OK;
  for (size_t i = 0; i < THREADS; i++) status = first_error(status, part(job, i));
  for (size_t i = 0; i < THREADS; i++) status = first_error(status, columns(job, i));
  return status;
}

static void *zeros(size_t count, size_t bytes) {
  void *p = calloc(count, bytes);
  if (p == NULL) abort();
  return p;
}

/* The recipe by eight threads that each use up to run->threads, and by one: equal bytes? */
static int check(const char *name, const mxg_recipe *recipe, const uint16_t *x,
                 const mxg_run *run) {
  const mxg_run alone = {1, run->isa_mask, {0}};
  mxg_layout_options options;
  mxg_layout layout;
  task jobs[2];
  memset(&options, 0, sizeof options);
  options.placement = MXG_PLACEMENT_SLOT;
  if (mxg_layout_for(recipe, PART_ROWS, COLS, &options, &layout) != MXG_OK) abort();
  for (size_t j = 0; j < 2; j++) {
    task *job = &jobs[j];
    job->recipe = recipe;
    job->layout = &layout;
    job->run = j == 0 ? run : &alone;
    job->x = x;
    job->slots = zeros(ROWS, layout.slot_stride_bytes);
    job->y = zeros(ROWS * COLS, 2);
    job->sum = zeros(PART_ROWS * COLS, 2);
    job->sources = zeros(PART_ROWS * TOP_K, sizeof *job->sources);
    for (size_t i = 0; i < PART_ROWS * TOP_K; i++)
      job->sources[i] = job->slots + i * 37 % ROWS * layout.slot_stride_bytes;
  }
  const int equal = by_threads(&jobs[0]) == MXG_OK && by_one(&jobs[1]) == MXG_OK &&
                    memcmp(jobs[0].slots, jobs[1].slots, ROWS * layout.slot_stride_bytes) == 0 &&
                    memcmp(jobs[0].y, jobs[1].y, ROWS * COLS * 2) == 0 &&
                    memcmp(jobs[0].sum, jobs[1].sum, PART_ROWS * COLS * 2) == 0;
  if (!equal) (void)printf("%s: eight threads give other bytes than one\n", name);
  for (size_t j = 0; j < 2; j++) {
    free(jobs[j].slots);
    free(jobs[j].y);
    free(jobs[j].sum);
    free(jobs[j].sources);
  }
  return equal;
}

int main(void) {
  static const uint32_t masks[] = {0, MXG_ISA_PORTABLE};
  uint16_t *x = zeros(ROWS * COLS, 2);
  size_t presets = 0, different = 0;
  uint32_t state = 1;
  for (size_t i = 0; i < ROWS * COLS; i++) { /* both signs, 2^-15 to 2^16 */
    state ^= (state & 0x7FFFFu) << 13;
    state ^= state >> 17;
    state ^= (state & 0x7FFFFFFu) << 5;
    x[i] = (uint16_t)((state >> 16 & 0x8FFFu) | 0x3800u);
  }
  for (const mxg_preset *p = NULL; (p = mxg_preset_at(presets)) != NULL; presets++) {
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; m++) {
      const mxg_run run = {2, masks[m], {0}};
      different += !check(p->name, &p->recipe, x, &run);
    }
  }
  free(x);
#ifdef _OPENMP
  (void)printf("%zu presets, %d threads, 2 more in each call\n", presets, THREADS);
#else
  (void)printf("%zu presets, %d threads\n", presets, THREADS);
#endif
  return different != 0;
}
