/* memory.h: buffers of the exact size between pages that trap.
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_SUPPORT_MEMORY_H
#define FUZZ_SUPPORT_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_BUFFER_MAX = 1 << 17 }; /* bytes of the largest buffer */

/* All zero before the first use; the pages are mapped once and used for every input. */
typedef struct fuzz_buffer {
  uint8_t *data;
  size_t bytes;
  uint8_t *pages; /* between the traps */
} fuzz_buffer;

/* `bytes` bytes of `fill`. where: 0 ends at the trap behind, 1 begins at the trap before, others:
 * address = where modulo 64, close to the trap behind. What lies around are canaries. */
void fuzz_buffer_place(fuzz_buffer *b, size_t bytes, uint8_t where, uint8_t fill);

/* Aborts when a byte beside the buffer was written. */
void fuzz_buffer_check(const fuzz_buffer *b, const char *what);

#endif
