/* message.c: how the tool says what went wrong, and what was probably meant.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *command_name;

void mxg_set_command(const char *name) {
  command_name = name;
}

/* Names come from files and command lines: control characters must not reach a terminal. */
void mxg_put_escaped(FILE *to, const char *text) {
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7F)
      fprintf(to, "\\x%02X", c);
    else
      putc(c, to);
  }
}

int mxg_fail(int exit_code, const char *format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0) text[0] = 0;
  mxg_progress_hide();
  fflush(stdout);
  fputs("mxgold", stderr);
  if (command_name) {
    putc(' ', stderr);
    fputs(command_name, stderr);
  }
  fputs(": ", stderr);
  mxg_put_escaped(stderr, text);
  if (length >= (int)sizeof text) fputs("...", stderr);
  putc('\n', stderr);
  return exit_code;
}

int mxg_fail_status(mxg_status status, const char *what) {
  int exit_code = MXG_EXIT_FILE;
  switch (status) {
    case MXG_ERR_RECIPE:
    case MXG_ERR_LAYOUT:
    case MXG_ERR_ISA:
    case MXG_ERR_SHAPE:
    case MXG_ERR_SIZE: exit_code = MXG_EXIT_USAGE; break;
    case MXG_ERR_NO_DEVICE:
    case MXG_ERR_DEVICE:
      return mxg_fail(MXG_EXIT_USAGE, "%s: %s: %s", what, mxg_strerror(status),
                      mxg_device_message());
    case MXG_ERR_ARCH:
      return mxg_fail(MXG_EXIT_USAGE, "%s: %s: %s (here: --device gpu:N,portable, or no --device)",
                      what, mxg_strerror(status), mxg_device_message());
    default: break;
  }
  return mxg_fail(exit_code, "%s: %s", what, mxg_strerror(status));
}

enum { LONGEST_WORD = 64 };

static size_t smallest(size_t a, size_t b, size_t c) {
  const size_t ab = a < b ? a : b;
  return ab < c ? ab : c;
}

/* Levenshtein distance; both words are at most LONGEST_WORD long. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t row[LONGEST_WORD + 1];
  for (size_t j = 0; j <= b_length; j++) row[j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      const size_t above = row[j];
      row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[b_length];
}

const char *mxg_nearest(const char *word, const char *const *names) {
  const size_t length = strlen(word);
  if (length > LONGEST_WORD) return NULL;
  const char *best = NULL;
  size_t best_distance = (length + 2) / 3 + 1; /* farther than this is a guess, not a slip */
  for (; *names; names++) {
    const size_t name_length = strlen(*names);
    if (name_length > LONGEST_WORD) continue;
    const size_t distance = edit_distance(word, length, *names, name_length);
    if (distance < best_distance && distance < name_length) {
      best = *names;
      best_distance = distance;
    }
  }
  return best;
}

void *mxg_alloc(size_t bytes) {
  void *memory = calloc(bytes ? bytes : 1, 1);
  if (!memory) exit(mxg_fail(MXG_EXIT_FILE, "out of memory: %zu bytes were needed", bytes));
  return memory;
}

char *mxg_copy_text(const char *text) {
  const size_t bytes = strlen(text) + 1;
  char *copy = mxg_alloc(bytes);
  memcpy(copy, text, bytes);
  return copy;
}
