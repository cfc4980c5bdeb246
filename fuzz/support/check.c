/* check.c
 * SPDX-License-Identifier: MIT */
#include "check.h"

#include <stdarg.h>
#include <stdlib.h>

static void (*about_describe)(FILE *to, const void *subject);
static const void *about_subject;

void fuzz_about(void (*describe)(FILE *to, const void *subject), const void *subject) {
  about_describe = describe;
  about_subject = subject;
}

_Noreturn void fuzz_fail(const char *file, int line, const char *condition, const char *format,
                         ...) {
  va_list arguments;
  fflush(stdout);
  fprintf(stderr, "%s:%d: finding: ", file, line);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\n  expected: %s\n", condition);
  if (about_describe != NULL) about_describe(stderr, about_subject);
  fflush(stderr);
  abort();
}
