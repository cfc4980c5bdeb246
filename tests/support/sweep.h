/* sweep.h: a long range of inputs, cut into chunks that several processes work off.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_SWEEP_H
#define TESTS_SUPPORT_SWEEP_H

#include <stdint.h>

enum { SWEEP_CHUNK = 65536 };

typedef struct sweep_result {
  uint64_t count;      /* comparisons made */
  uint64_t mismatches; /* of those, how many failed */
  uint64_t digest;     /* of the library's bytes; independent of the number of processes */
} sweep_result;

/* Works on inputs [chunk * SWEEP_CHUNK, (chunk + 1) * SWEEP_CHUNK). Adds to count and mismatches;
 * digest is 0 on entry and becomes that of this chunk. */
typedef void (*sweep_work)(const void *job, uint64_t chunk, sweep_result *result);

/* Runs chunks 0 .. chunks-1 in `processes` processes, prints one line with name, result and time,
 * and returns 0 when nothing differed. */
int sweep_run(const char *name, uint64_t chunks, int processes, sweep_work work, const void *job,
              sweep_result *total);

/* Bytes into a running digest (FNV-1a, 64 bits at a time). */
uint64_t sweep_digest(uint64_t digest, const void *bytes, uint64_t count);

/* Says where a comparison failed; only the first few of a process are printed. */
void sweep_complain(const char *what, uint32_t input, uint32_t got, uint32_t want);

/* Processors that this program may use, at least 1. */
int sweep_processors(void);

#endif
