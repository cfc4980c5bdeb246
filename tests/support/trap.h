/* trap.h: a guarded buffer that is used again and again.
 *
 * As guard.h: traps before and behind, canaries around. The pages stay mapped between uses, so that
 * placing a buffer costs no system call, and it may lie against either trap.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_TRAP_H
#define TESTS_SUPPORT_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct trap { /* all zero: nothing mapped yet */
  uint8_t *data;      /* `bytes` usable bytes */
  size_t bytes;
  uint8_t *pages; /* between the traps */
  size_t pages_bytes;
} trap;

/* A buffer of `bytes` times `fill` with data % 64 == misalign. It begins at most 63 bytes behind
 * the first trap (at_front) or ends at most 63 bytes before the second. */
void trap_place(trap *t, size_t bytes, size_t misalign, bool at_front, uint8_t fill);

/* NULL when all canaries live, else a sentence about a dead one (static storage). */
const char *trap_check(const trap *t);

#endif
