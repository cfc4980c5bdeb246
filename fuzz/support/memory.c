/* memory.c
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { CANARIES = 64, CANARY = 0xA9 }; /* on each side, or as many as there is room for */

static void map_pages(fuzz_buffer *b) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t bytes = FUZZ_BUFFER_MAX + page; /* room to misalign; a multiple of every page size */
  void *map =
      mmap(NULL, bytes + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  FUZZ_CHECK(map != MAP_FAILED, "no memory for a buffer");
  b->pages = (uint8_t *)map + page;
  FUZZ_CHECK(
      mprotect(map, page, PROT_NONE) == 0 && mprotect(b->pages + bytes, page, PROT_NONE) == 0,
      "mprotect failed");
}

static uint8_t *pages_end(const fuzz_buffer *b) {
  return b->pages + FUZZ_BUFFER_MAX + (size_t)sysconf(_SC_PAGESIZE);
}

static size_t room_before(const fuzz_buffer *b) {
  const size_t room = (size_t)(b->data - b->pages);
  return room < CANARIES ? room : CANARIES;
}

static size_t room_behind(const fuzz_buffer *b) {
  const size_t room = (size_t)(pages_end(b) - (b->data + b->bytes));
  return room < CANARIES ? room : CANARIES;
}

void fuzz_buffer_place(fuzz_buffer *b, size_t bytes, uint8_t where, uint8_t fill) {
  FUZZ_CHECK(bytes <= FUZZ_BUFFER_MAX, "the target asks for a buffer of %zu bytes", bytes);
  if (b->pages == NULL) map_pages(b);
  b->bytes = bytes;
  b->data = where == 1 ? b->pages : pages_end(b) - bytes;
  if (where > 1) b->data -= ((uintptr_t)b->data - where) % 64;
  memset(b->data - room_before(b), CANARY, room_before(b));
  memset(b->data, fill, bytes);
  memset(b->data + bytes, CANARY, room_behind(b));
}

void fuzz_buffer_check(const fuzz_buffer *b, const char *what) {
  for (size_t i = 1; i <= room_before(b); i++)
    FUZZ_CHECK(b->data[-(ptrdiff_t)i] == CANARY, "%s: byte %zu before the buffer was written", what,
               i);
  for (size_t i = 0; i < room_behind(b); i++)
    FUZZ_CHECK(b->data[b->bytes + i] == CANARY, "%s: byte %zu behind the buffer was written", what,
               i);
}
