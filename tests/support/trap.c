/* trap.c
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "trap.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CANARIES = 256, CANARY = 0xD7 }; /* a side, or as many as there is room for */

static void map_pages(trap *t, size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (t->pages != NULL) munmap(t->pages - page, t->pages_bytes + 2 * page);
  t->pages_bytes = (bytes + page - 1) / page * page;
  uint8_t *map = mmap(NULL, t->pages_bytes + 2 * page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) ck_abort_msg("no memory for a buffer of %zu bytes", bytes);
  t->pages = map + page;
  if (mprotect(map, page, PROT_NONE) != 0 ||
      mprotect(t->pages + t->pages_bytes, page, PROT_NONE) != 0)
    ck_abort_msg("mprotect failed");
}

static size_t before(const trap *t) {
  const size_t room = (size_t)(t->data - t->pages);
  return room < CANARIES ? room : CANARIES;
}

static size_t behind(const trap *t) {
  const size_t room = (size_t)(t->pages + t->pages_bytes - (t->data + t->bytes));
  return room < CANARIES ? room : CANARIES;
}

void trap_place(trap *t, size_t bytes, size_t misalign, bool at_front, uint8_t fill) {
  if (t->pages == NULL || t->pages_bytes < bytes + 64) map_pages(t, 2 * bytes + 4096);
  if (at_front) {
    t->data = t->pages + misalign;
  } else {
    uint8_t *last = t->pages + t->pages_bytes - bytes;
    t->data = last - ((uintptr_t)last - misalign) % 64;
  }
  t->bytes = bytes;
  memset(t->data - before(t), CANARY, before(t));
  memset(t->data, fill, bytes);
  memset(t->data + bytes, CANARY, behind(t));
}

const char *trap_check(const trap *t) {
  static char message[128];
  for (size_t i = 1; i <= before(t); i++) {
    if (t->data[-(ptrdiff_t)i] == CANARY) continue;
    snprintf(message, sizeof message, "byte %zu before the buffer was overwritten with %02X", i,
             t->data[-(ptrdiff_t)i]);
    return message;
  }
  for (size_t i = 0; i < behind(t); i++) {
    if (t->data[t->bytes + i] == CANARY) continue;
    snprintf(message, sizeof message, "byte %zu past the end of the buffer was overwritten: %02X",
             i, t->data[t->bytes + i]);
    return message;
  }
  return NULL;
}
