/* generator.c: splitmix64.
 * SPDX-License-Identifier: MIT */
#include "generator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

generator generator_start(const char *name) {
  const char *text = getenv("MXGOLD_TEST_SEED");
  const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 1;
  generator g = {seed};
  for (const char *c = name; *c != '\0'; c++) {
    g.state ^= (uint64_t)(unsigned char)*c;
    (void)generator_next(&g);
  }
  printf("%s: MXGOLD_TEST_SEED=%" PRIu64 "\n", name, seed);
  fflush(stdout);
  return g;
}

/* The products below are meant to wrap: unsigned arithmetic modulo 2^64. */
#if defined(__clang__)
__attribute__((no_sanitize("unsigned-integer-overflow", "unsigned-shift-base")))
#endif
uint64_t
generator_next(generator *g) {
  g->state += UINT64_C(0x9E3779B97F4A7C15);
  uint64_t z = g->state;
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

uint32_t generator_bits(generator *g) {
  return (uint32_t)(generator_next(g) >> 32);
}

uint32_t generator_below(generator *g, uint32_t limit) {
  return (uint32_t)((generator_next(g) >> 32) * limit >> 32);
}

bool generator_chance(generator *g, uint32_t one_in) {
  return generator_below(g, one_in) == 0;
}

void generator_bytes(generator *g, void *out, size_t bytes) {
  unsigned char *p = out;
  uint64_t word = 0;
  for (size_t i = 0; i < bytes; i++) {
    if (i % 8 == 0) word = generator_next(g);
    p[i] = (unsigned char)(word >> (i % 8 * 8) & 0xFF);
  }
}
