/* sim.c
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif
#if HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#define MAX_THREADS 256
#define STACK_BYTES (256 * 1024)

typedef enum state { READY, AT_LANES, AT_BARRIER, DONE } state;

typedef struct fibre {
  ucontext_t context;
  char *stack;
  void *fake_stack; /* the address sanitizer's */
  state state;
  uint32_t parity, value[2]; /* what it gave at this meeting of lanes and at the one before */
} fibre;

int mxg_sim_reversed;
const char *mxg_sim_last_kernel;

static fibre fibres[MAX_THREADS];
static ucontext_t scheduler;
#if HAS_ASAN
static void *scheduler_fake_stack;
static const void *scheduler_stack;
static size_t scheduler_stack_bytes;
#endif
static uint32_t current, group, threads, lanes_of_wave;
static mxg_sim_kernel_fn *kernel;
static const mxg_gpu_args *args;

static void fault(const char *what) {
  fprintf(stderr, "simulator: %s: group %u thread %u: %s\n",
          mxg_sim_last_kernel != NULL ? mxg_sim_last_kernel : "?", group, current, what);
  abort();
}

/* ---- what ran ---- */

#define MAX_NAMES 128
static const char *names[MAX_NAMES];

void mxg_sim_note(const char *name) {
  size_t i = 0;
  mxg_sim_last_kernel = name;
  while (i < MAX_NAMES && names[i] != NULL && strcmp(names[i], name) != 0) i++;
  if (i == MAX_NAMES) fault("too many kernels");
  names[i] = name;
}

int mxg_sim_ran(const char *name) {
  if (name == NULL) memset(names, 0, sizeof names);
  for (size_t i = 0; name != NULL && i < MAX_NAMES && names[i] != NULL; i++)
    if (strcmp(names[i], name) == 0) return 1;
  return 0;
}

/* ---- switching ---- */

static void to_scheduler(int for_ever) {
  fibre *f = &fibres[current];
#if HAS_ASAN
  __sanitizer_start_switch_fiber(for_ever ? NULL : &f->fake_stack, scheduler_stack,
                                 scheduler_stack_bytes);
#else
  (void)for_ever;
#endif
  if (swapcontext(&f->context, &scheduler) != 0) fault("swapcontext");
#if HAS_ASAN
  __sanitizer_finish_switch_fiber(f->fake_stack, &scheduler_stack, &scheduler_stack_bytes);
#endif
}

static void to_fibre(uint32_t thread) {
  fibre *f = &fibres[thread];
  current = thread;
#if HAS_ASAN
  __sanitizer_start_switch_fiber(&scheduler_fake_stack, f->stack, STACK_BYTES);
#endif
  if (swapcontext(&scheduler, &f->context) != 0) fault("swapcontext");
#if HAS_ASAN
  __sanitizer_finish_switch_fiber(scheduler_fake_stack, NULL, NULL);
#endif
}

static void fibre_main(void) {
#if HAS_ASAN
  __sanitizer_finish_switch_fiber(NULL, &scheduler_stack, &scheduler_stack_bytes);
#endif
  kernel(*args);
  fibres[current].state = DONE;
  to_scheduler(1);
}

static void start(uint32_t thread) {
  fibre *f = &fibres[thread];
  if (f->stack == NULL) {
    f->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->stack == MAP_FAILED) fault("no memory for a stack");
  }
  if (getcontext(&f->context) != 0) fault("getcontext");
  f->context.uc_stack.ss_sp = f->stack;
  f->context.uc_stack.ss_size = STACK_BYTES;
  f->context.uc_link = NULL;
  makecontext(&f->context, fibre_main, 0);
  f->state = READY;
  f->parity = 0;
  f->fake_stack = NULL;
}

/* ---- what a kernel calls ---- */

uint32_t mxg_sim_group(void) {
  return group;
}
uint32_t mxg_sim_thread(void) {
  return current;
}

static void meet(state where) {
  fibres[current].state = where;
  to_scheduler(0);
}

void mxg_sim_barrier(void) {
  meet(AT_BARRIER);
}

uint32_t mxg_sim_lane_xor(uint32_t value, uint32_t mask) {
  const uint32_t self = current, wave = self / lanes_of_wave * lanes_of_wave;
  const uint32_t other = (self - wave) ^ mask;
  const uint32_t parity = fibres[self].parity;
  if (other >= lanes_of_wave) fault("an exchange with a lane that does not exist");
  fibres[self].value[parity] = value;
  fibres[self].parity ^= 1;
  meet(AT_LANES);
  return fibres[wave + other].value[parity];
}

int mxg_sim_any_lane(int condition) {
  uint32_t any = condition != 0;
  for (uint32_t step = 1; step < lanes_of_wave; step *= 2) any |= mxg_sim_lane_xor(any, step);
  return any != 0;
}

uint64_t mxg_sim_ballot(int condition) {
  const uint32_t lane = current % lanes_of_wave;
  uint32_t low = lane < 32 && condition ? 1u << lane : 0u;
  uint32_t high = lane >= 32 && condition ? 1u << (lane - 32) : 0u;
  for (uint32_t step = 1; step < lanes_of_wave; step *= 2) {
    low |= mxg_sim_lane_xor(low, step);
    high |= mxg_sim_lane_xor(high, step);
  }
  return (uint64_t)high << 32 | low;
}

void mxg_wave_sync(void) {
  (void)mxg_sim_any_lane(0);
}

/* ---- copies to shared memory ---- */

#define DYNAMIC_SHARED_BYTES (256 * 1024)
uint8_t *mxg_sim_dynamic_shared(void) {
  static _Alignas(16) uint8_t memory[DYNAMIC_SHARED_BYTES];
  return memory;
}

typedef struct mxg_bulk_barrier { /* shim_sim.h */
  uint32_t phase, count, arrived;
  int64_t bytes;
} mxg_bulk_barrier;
void mxg_bulk_init(mxg_bulk_barrier *barrier, uint32_t count);
void mxg_bulk_arrive(mxg_bulk_barrier *barrier);
void mxg_bulk_expect(mxg_bulk_barrier *barrier, uint32_t bytes);
void mxg_bulk_copy(void *to, const void *from, uint32_t bytes, mxg_bulk_barrier *barrier);
void mxg_bulk_wait(const mxg_bulk_barrier *barrier, uint32_t parity);

static void end_phase(mxg_bulk_barrier *b) {
  if (b->arrived > b->count) fault("more arrive at a barrier than it was told of");
  if (b->arrived < b->count || b->bytes != 0) return;
  b->phase++;
  b->arrived = 0;
}
void mxg_bulk_init(mxg_bulk_barrier *barrier, uint32_t count) {
  memset(barrier, 0, sizeof *barrier);
  barrier->count = count;
}
void mxg_bulk_arrive(mxg_bulk_barrier *barrier) {
  barrier->arrived++;
  end_phase(barrier);
}
void mxg_bulk_expect(mxg_bulk_barrier *barrier, uint32_t bytes) {
  barrier->bytes += bytes;
  mxg_bulk_arrive(barrier);
}
void mxg_bulk_copy(void *to, const void *from, uint32_t bytes, mxg_bulk_barrier *barrier) {
  uint8_t *const shared = mxg_sim_dynamic_shared();
  if (((uintptr_t)to | (uintptr_t)from | bytes) % 16 != 0) fault("a misaligned bulk copy");
  if ((uint8_t *)to < shared || (uint8_t *)to + bytes > shared + args->shared_bytes)
    fault("a bulk copy to beyond the shared memory of the launch");
  memcpy(to, from, bytes);
  barrier->bytes -= bytes;
  end_phase(barrier);
}
void mxg_bulk_wait(const mxg_bulk_barrier *barrier, uint32_t parity) {
  for (uint32_t polls = 0; (barrier->phase & 1) == parity; polls++) {
    if (polls == 1000) fault("waits for ever at a barrier of copies");
    meet(READY);
  }
}

void mxg_sim_check_alignment(const void *p, uint32_t bytes) {
  if ((uintptr_t)p % bytes != 0) fault("a misaligned vector access");
}

float mxg_sim_fma(float a, float b, float c) {
  return fmaf(a, b, c);
}

/* ---- the scheduler ---- */

/* Runs the lanes of a wave that are ready; lets them go on if all have met. 1 if they may. */
static int run_wave(uint32_t wave) {
  uint32_t at_lanes = 0;
  for (uint32_t i = 0; i < lanes_of_wave; i++) {
    const uint32_t thread = wave + (mxg_sim_reversed ? lanes_of_wave - 1 - i : i);
    if (fibres[thread].state == READY) to_fibre(thread);
  }
  for (uint32_t i = wave; i < wave + lanes_of_wave; i++) at_lanes += fibres[i].state == AT_LANES;
  if (at_lanes == 0) return 0;
  current = wave;
  if (at_lanes != lanes_of_wave) fault("some lanes of the wave are not at its exchange");
  for (uint32_t i = wave; i < wave + lanes_of_wave; i++) fibres[i].state = READY;
  return 1;
}

/* Lets a barrier end at which everybody is. 1 if there was one. */
static int end_barrier(void) {
  uint32_t waiting = 0;
  for (uint32_t i = 0; i < threads; i++) waiting += fibres[i].state == AT_BARRIER;
  if (waiting == 0) return 0;
  if (waiting != threads) fault("a thread ended, or is elsewhere, that a barrier waits for");
  for (uint32_t i = 0; i < threads; i++) fibres[i].state = READY;
  return 1;
}

static int anybody_is(state wanted) {
  for (uint32_t i = 0; i < threads; i++)
    if (fibres[i].state == wanted) return 1;
  return 0;
}

/* One wave after the other, each as far as it gets: up to a barrier, a wait for copies, or its end. */
static void run_group(void) {
  for (uint32_t i = 0; i < threads; i++) start(i);
  do {
    for (uint32_t i = 0; i < threads; i += lanes_of_wave) {
      const uint32_t wave = mxg_sim_reversed ? threads - lanes_of_wave - i : i;
      while (run_wave(wave)) {
      }
    }
  } while (end_barrier() || anybody_is(READY));
}

void mxg_sim_launch(mxg_sim_kernel_fn *run, const mxg_gpu_args *a, uint32_t lanes) {
  kernel = run;
  args = a;
  threads = a->threads;
  lanes_of_wave = lanes;
  if (a->shared_bytes > DYNAMIC_SHARED_BYTES) fault("too much shared memory");
  if (threads == 0 || threads > MAX_THREADS || threads % lanes != 0) fault("bad number of threads");
  for (uint32_t i = 0; i < a->groups; i++) {
    group = mxg_sim_reversed ? a->groups - 1 - i : i;
    run_group();
  }
}
