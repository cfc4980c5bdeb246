/* clock.c: the time, and the core's clock.
 * SPDX-License-Identifier: MIT */
#include <time.h>

#include "internal.h"

double bench_seconds(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* About 15 microseconds each. */
enum { CHAIN_TURNS = 4000, CHAIN_TRIES = 3 };

/* Cycles that the chain takes, 0: not known. Latencies: a 64-bit multiply is 3 cycles on every x86
 * core since 2008; Arm cores differ there, but an addition is 1 cycle on all. */
static double run_chain(uint64_t *x) { /* NOLINT(readability-non-const-parameter): asm writes it */
#if defined(__GNUC__) && defined(__x86_64__)
  for (int i = 0; i < CHAIN_TURNS; i++)
    __asm__ volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0" : "+r"(*x));
  return (double)(3 * 4 * CHAIN_TURNS);
#elif defined(__GNUC__) && defined(__aarch64__)
  for (int i = 0; i < CHAIN_TURNS; i++)
    __asm__ volatile(
        "add %0, %0, %0\n\tadd %0, %0, %0\n\tadd %0, %0, %0\n\tadd %0, %0, %0\n\t"
        "add %0, %0, %0\n\tadd %0, %0, %0\n\tadd %0, %0, %0\n\tadd %0, %0, %0"
        : "+r"(*x));
  return (double)(8 * CHAIN_TURNS);
#else
  (void)x;
  return 0;
#endif
}

double bench_clock_ghz(void) {
  double best = 0;
  for (int i = 0; i < CHAIN_TRIES; i++) {
    uint64_t x = 3;
    const double begin = bench_seconds();
    const double cycles = run_chain(&x);
    const double ns = (bench_seconds() - begin) * 1e9;
    if (ns > 0 && cycles / ns > best) best = cycles / ns;
  }
  return best;
}
