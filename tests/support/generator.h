/* generator.h: a small deterministic generator of test data.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_GENERATOR_H
#define TESTS_SUPPORT_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct generator {
  uint64_t state;
} generator;

/* Seeds from `name` and, where it is set, the number in MXGOLD_TEST_SEED; prints both, so that a
 * failing run can be repeated. */
generator generator_start(const char *name);

uint64_t generator_next(generator *g);
uint32_t generator_bits(generator *g);                  /* 32 bits */
uint32_t generator_below(generator *g, uint32_t limit); /* 0..limit-1, limit >= 1 */
bool generator_chance(generator *g, uint32_t one_in);   /* true once in `one_in` */
void generator_bytes(generator *g, void *out, size_t bytes);

#endif
