/* compare.c
 * SPDX-License-Identifier: MIT */
#include "compare.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t first_difference(const void *got, const void *want, size_t bytes) {
  const uint8_t *a = got, *b = want;
  if (bytes == 0 || memcmp(got, want, bytes) == 0) return SIZE_MAX;
  for (size_t i = 0; i < bytes; i++)
    if (a[i] != b[i]) return i;
  return SIZE_MAX;
}

const char *hex_text(const void *bytes, size_t count) {
  static char texts[2][3 * 32 + 1];
  static unsigned next;
  char *text = texts[next++ % 2];
  const uint8_t *p = bytes;
  text[0] = '\0';
  for (size_t i = 0; i < count && i < 32; i++) snprintf(text + 3 * i, 4, "%02X ", p[i]);
  return text;
}

void expect_bytes(const void *got, const void *want, size_t bytes, const char *format, ...) {
  const size_t at = first_difference(got, want, bytes);
  if (at == SIZE_MAX) return;
  const uint8_t *a = got, *b = want;
  size_t count = 0;
  for (size_t i = 0; i < bytes; i++) count += a[i] != b[i];
  const size_t from = at < 4 ? 0 : at - 4, shown = bytes - from < 16 ? bytes - from : 16;
  char what[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  ck_abort_msg(
      "%s: %zu of %zu bytes differ, first at %zu: got %02X want %02X; from %zu got %swant %s", what,
      count, bytes, at, a[at], b[at], from, hex_text(a + from, shown), hex_text(b + from, shown));
}

void expect_filled(const void *got, uint8_t value, size_t bytes, const char *format, ...) {
  const uint8_t *p = got;
  for (size_t i = 0; i < bytes; i++) {
    if (p[i] == value) continue;
    char what[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    ck_abort_msg("%s: byte %zu of %zu is %02X, not %02X", what, i, bytes, p[i], value);
  }
}
