/* thin.h: long sweeps made short. MXGOLD_TEST_THIN=N leaves about an N-th of them, for the kill
 * suite of tests/mutate, which runs once a mutant; without it nothing is left out.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_THIN_H
#define TESTS_SUPPORT_THIN_H

#include <stddef.h>
#include <stdlib.h>

/* A step for loops; 1 unless thinned. */
static inline unsigned thin(void) {
  static unsigned step = 0;
  if (step == 0) {
    const char *text = getenv("MXGOLD_TEST_THIN");
    const unsigned long number = text != NULL ? strtoul(text, NULL, 10) : 1;
    step = number > 0 && number < 1000 ? (unsigned)number : 1;
  }
  return step;
}

/* So many of `count` random cases, at least 1. */
static inline size_t thinned(size_t count) {
  return (count + thin() - 1) / thin();
}

#endif
