/* guard.h: buffers that notice a byte too many.
 *
 * A buffer lies between two pages that trap, at any address modulo 64, its last byte at most 63
 * bytes before the second trap; every byte around it is a canary.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_GUARD_H
#define TESTS_SUPPORT_GUARD_H

#include <stddef.h>
#include <stdint.h>

typedef struct guard {
  uint8_t *data; /* `bytes` usable bytes */
  size_t bytes;
  uint8_t *map; /* all pages, the traps included */
  size_t map_bytes;
} guard;

/* A buffer of `bytes` with data % 64 == misalign (0..63); its content is `bytes` zeros. Aborts the
 * test when memory runs out. */
guard guard_new(size_t bytes, size_t misalign);

/* From now on a write into the buffer traps. */
void guard_read_only(const guard *g);

/* NULL when all canaries live, else a sentence about the first dead one (static storage). */
const char *guard_check(const guard *g);

/* Checks the canaries (a dead one fails the test with `what`) and gives the pages back. */
void guard_free(guard *g, const char *what);

#endif
