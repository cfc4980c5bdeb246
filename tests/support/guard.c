/* guard.c: trap pages by mmap and mprotect.
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "guard.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

/* A canary depends on its address: a copy of a neighbour does not look alive. */
static uint8_t canary(const uint8_t *p) {
  return (uint8_t)(0xA5u ^ ((uintptr_t)p * 29u & 0xFFu));
}

guard guard_new(size_t bytes, size_t misalign) {
  const size_t page = page_bytes();
  const size_t pages = (bytes + 64 + page - 1) / page;
  guard g = {NULL, bytes, NULL, (pages + 2) * page};
  void *map = mmap(NULL, g.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) ck_abort_msg("no memory for a buffer of %zu bytes", bytes);
  g.map = map;
  uint8_t *end = g.map + (pages + 1) * page;
  const size_t excess = ((uintptr_t)(end - bytes) - misalign) % 64;
  g.data = end - bytes - excess;
  for (uint8_t *p = g.map + page; p < g.data; p++) *p = canary(p);
  for (uint8_t *p = g.data + bytes; p < end; p++) *p = canary(p);
  if (mprotect(g.map, page, PROT_NONE) != 0 || mprotect(end, page, PROT_NONE) != 0)
    ck_abort_msg("mprotect failed");
  return g;
}

void guard_read_only(const guard *g) {
  const size_t page = page_bytes();
  if (mprotect(g->map + page, g->map_bytes - 2 * page, PROT_READ) != 0)
    ck_abort_msg("mprotect failed");
}

const char *guard_check(const guard *g) {
  static char message[128];
  const size_t page = page_bytes();
  for (const uint8_t *p = g->data; p > g->map + page; p--) {
    if (p[-1] == canary(p - 1)) continue;
    snprintf(message, sizeof message, "byte %td before the buffer was overwritten with %02X",
             g->data - (p - 1), p[-1]);
    return message;
  }
  for (const uint8_t *p = g->data + g->bytes; p < g->map + g->map_bytes - page; p++) {
    if (*p == canary(p)) continue;
    snprintf(message, sizeof message, "byte %td past the end of the buffer was overwritten: %02X",
             p - (g->data + g->bytes), *p);
    return message;
  }
  return NULL;
}

void guard_free(guard *g, const char *what) {
  const char *dead = guard_check(g);
  if (dead != NULL) ck_abort_msg("%s: %s", what, dead);
  munmap(g->map, g->map_bytes);
  g->data = NULL;
}
