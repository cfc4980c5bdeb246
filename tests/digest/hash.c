/* hash.c: XXH64 of everything since the last reset. A file of its own: gcc warns about xxhash.h where
 * it sees the short lengths of some callers.
 * SPDX-License-Identifier: MIT */
#include "digest.h"

#define XXH_INLINE_ALL
#include "xxhash.h"

static XXH64_state_t state;

void hash_reset(void) {
  (void)XXH64_reset(&state, 0);
}
void hash_bytes(const void *bytes, size_t count) {
  (void)XXH64_update(&state, bytes, count);
}
uint64_t hash_value(void) {
  return XXH64_digest(&state);
}
