/* compare.h: byte comparison with a message that a person can read.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_COMPARE_H
#define TESTS_SUPPORT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fails the test when got and want differ: how many bytes, where the first one is, and its
 * neighbours. format...: what was compared. */
void expect_bytes(const void *got, const void *want, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Index of the first difference, SIZE_MAX when there is none. */
size_t first_difference(const void *got, const void *want, size_t bytes);

/* Bytes as text, "3A 4B ..."; static storage, two calls live at once. */
const char *hex_text(const void *bytes, size_t count);

/* Fails the test unless all `bytes` bytes equal `value`. */
void expect_filled(const void *got, uint8_t value, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
