/* check.h: checks that are always on, whatever NDEBUG says.
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_SUPPORT_CHECK_H
#define FUZZ_SUPPORT_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Aborts with file, line, the condition, a printf message and a description of the case. */
#define FUZZ_CHECK(condition, ...)                                            \
  do {                                                                        \
    if (!(condition)) fuzz_fail(__FILE__, __LINE__, #condition, __VA_ARGS__); \
  } while (0)

_Noreturn void fuzz_fail(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What fuzz_fail prints about the case that is running: `describe` of `subject`, or nothing for
 * NULL. It must do with what it finds, however far the case has come. */
void fuzz_about(void (*describe)(FILE *to, const void *subject), const void *subject);

/* Every target: returns 0, or does not return. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
