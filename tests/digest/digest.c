/* digest.c: one digest line per (preset, data type, operation) and per element format and policy.
 *
 * A plain program for every compiler and machine: C library and xxhash.h only. Each output is
 * computed by the codec, with each instruction set of the machine, and by the golden model over
 * generated input; all must be equal, and the digests must be those of the committed list, whatever
 * machine it was made on. The last line names the instruction sets whose kernels ran.
 *
 * usage: mxgold_digest          print the digests
 *        mxgold_digest FILE     compare with the list in FILE
 * exit: 0 all equal, 1 a difference, 2 FILE cannot be read
 * SPDX-License-Identifier: MIT */
#include "digest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 20 }; /* differences that are printed; all are counted */

static unsigned differences, lines;
static FILE *golden;
static char current[160];

void digest_begin(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(current, sizeof current, format, arguments);
  va_end(arguments);
  hash_reset();
}

void digest_size(size_t value) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)value >> (8 * i));
  hash_bytes(bytes, sizeof bytes);
}

void digest_values(const void *values, mxg_dtype dtype, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint8_t bytes[4];
    if (dtype == MXG_DTYPE_F32) {
      uint32_t word;
      memcpy(&word, (const char *)values + 4 * i, 4);
      for (int b = 0; b < 4; b++) bytes[b] = (uint8_t)(word >> (8 * b));
      hash_bytes(bytes, 4);
    } else {
      uint16_t word;
      memcpy(&word, (const char *)values + 2 * i, 2);
      for (int b = 0; b < 2; b++) bytes[b] = (uint8_t)(word >> (8 * b));
      hash_bytes(bytes, 2);
    }
  }
}

void digest_finish(void) {
  char line[200];
  lines++;
  (void)snprintf(line, sizeof line, "%016" PRIx64 " %s", hash_value(), current);
  if (!golden) {
    (void)puts(line);
    return;
  }
  char want[200] = "";
  if (fgets(want, sizeof want, golden)) want[strcspn(want, "\n")] = 0;
  if (strcmp(want, line) != 0) {
    if (differences++ < SHOWN)
      (void)printf("got  %s\nwant %s\n", line, want[0] ? want : "(end of the list)");
  }
}

void digest_expect(bool holds, const char *what) {
  if (holds) return;
  if (differences++ < SHOWN) (void)printf("%s: codec and golden model differ: %s\n", current, what);
}

int main(int argc, char **argv) {
  if (argc > 2) {
    (void)fputs("usage: mxgold_digest [FILE]\n", stderr);
    return 2;
  }
  if (argc == 2 && !(golden = fopen(argv[1], "r"))) {
    perror(argv[1]);
    return 2;
  }
  digest_recipes();
  digest_arrays();
  digest_layouts();
  digest_presets();
  if (golden) {
    char line[200], ran[80];
    if (fgets(line, sizeof line, golden)) {
      (void)printf("the list has more lines, from: %s", line);
      differences++;
    }
    (void)fclose(golden);
    digest_isas_report(ran, sizeof ran);
    if (differences) {
      (void)printf("%u differences\n", differences);
      (void)puts(
          "a recipe is for ever: the bytes of a preset or of an enumerator never change. Undo the "
          "change, or give\n"
          "it a new enumerator or preset. New lines belong at the end of their part of the list.");
    } else
      (void)printf("all %u digests equal (%s)\n", lines, ran);
  }
  return differences != 0;
}
