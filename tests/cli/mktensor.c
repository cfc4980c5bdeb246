/* mktensor.c: makes the input files of the tests of the tool, byte by byte, with nothing of ours.
 *
 *   mktensor values f32|f16|bf16 COUNT SEED      random values, little-endian
 *   mktensor floats V...                         the given values as f32, little-endian
 *   mktensor slice BITS                          the 2^23 f32 from these bits on (hexadecimal)
 *   mktensor npy MAJOR HEADER [LENGTH]           a .npy header, then standard input; LENGTH: a false
 *                                                header length
 *   mktensor safetensors HEADER [LENGTH]         a .safetensors header, then standard input
 *   mktensor patch OFFSET HEX...                 standard input with bytes replaced
 *   mktensor cut FIRST COUNT                     bytes [FIRST, FIRST + COUNT) of standard input
 *   mktensor swap WIDTH                          standard input, each WIDTH bytes reversed
 *   mktensor hex                                 standard input in upper-case hexadecimal
 *   mktensor fifo PATH                           makes a FIFO
 *
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void die(const char *why) {
  fprintf(stderr, "mktensor: %s\n", why);
  exit(1);
}

static void put(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) putchar((int)(value >> (8 * i) & 255));
}

static void copy_input(void) {
  int c;
  while ((c = getchar()) != EOF) putchar(c);
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* Both signs, magnitudes 2^-4 to 2^4, every 31st a zero: no NaN, no Inf. */
static void values(const char *dtype, unsigned long count, uint64_t seed) {
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (unsigned long i = 0; i < count; i++) {
    const uint64_t r = next_random(&state);
    const uint64_t sign = r >> 63, exponent = r >> 32 & 7, fraction = r & 0x7FFFFF;
    if (strcmp(dtype, "f32") == 0)
      put(i % 31 == 30 ? 0 : sign << 31 | (123 + exponent) << 23 | fraction, 4);
    else if (strcmp(dtype, "bf16") == 0)
      put(i % 31 == 30 ? 0 : sign << 15 | (123 + exponent) << 7 | fraction >> 16, 2);
    else if (strcmp(dtype, "f16") == 0)
      put(i % 31 == 30 ? 0 : sign << 15 | (11 + exponent) << 10 | fraction >> 13, 2);
    else
      die("unknown dtype");
  }
}

static void npy(int major, const char *header, const char *length) {
  fputs("\x93NUMPY", stdout);
  put((uint64_t)major, 1);
  put(0, 1);
  const uint64_t said = length ? strtoull(length, NULL, 0) : strlen(header);
  put(said, major == 1 ? 2 : 4);
  fputs(header, stdout);
  copy_input();
}

static void patch(int count, char **arguments) {
  const unsigned long offset = strtoul(arguments[0], NULL, 0);
  int c;
  for (unsigned long at = 0; (c = getchar()) != EOF; at++) {
    const unsigned long index = at - offset;
    putchar(at >= offset && index < (unsigned long)count - 1
                ? (int)strtoul(arguments[1 + index], NULL, 16)
                : c);
  }
}

static void cut(unsigned long first, unsigned long count) {
  int c;
  for (unsigned long at = 0; (c = getchar()) != EOF; at++)
    if (at >= first && at - first < count) putchar(c);
}

static void swap(int width) {
  int bytes[16], count = 0, c;
  if (width < 1 || width > 16) die("swap: width");
  while ((c = getchar()) != EOF) {
    bytes[count++] = c;
    if (count < width) continue;
    while (count > 0) putchar(bytes[--count]);
  }
}

int main(int argc, char **argv) {
  const char *verb = argc > 1 ? argv[1] : "";
  if (strcmp(verb, "values") == 0 && argc == 5) {
    values(argv[2], strtoul(argv[3], NULL, 0), strtoull(argv[4], NULL, 0));
  } else if (strcmp(verb, "floats") == 0) {
    for (int i = 2; i < argc; i++) put(bits_of(strtof(argv[i], NULL)), 4);
  } else if (strcmp(verb, "slice") == 0 && argc == 3) {
    const uint32_t first = (uint32_t)strtoul(argv[2], NULL, 16);
    for (uint32_t i = 0; i < 1u << 23; i++) put(first + i, 4);
  } else if (strcmp(verb, "npy") == 0 && argc >= 4) {
    npy(atoi(argv[2]), argv[3], argc > 4 ? argv[4] : NULL);
  } else if (strcmp(verb, "safetensors") == 0 && argc >= 3) {
    put(argc > 3 ? strtoull(argv[3], NULL, 0) : strlen(argv[2]), 8);
    fputs(argv[2], stdout);
    copy_input();
  } else if (strcmp(verb, "patch") == 0 && argc >= 4) {
    patch(argc - 2, argv + 2);
  } else if (strcmp(verb, "cut") == 0 && argc == 4) {
    cut(strtoul(argv[2], NULL, 0), strtoul(argv[3], NULL, 0));
  } else if (strcmp(verb, "swap") == 0 && argc == 3) {
    swap(atoi(argv[2]));
  } else if (strcmp(verb, "hex") == 0) {
    int c;
    while ((c = getchar()) != EOF) printf("%02X", (unsigned)c);
    putchar('\n');
  } else if (strcmp(verb, "fifo") == 0 && argc == 3) {
    if (mkfifo(argv[2], 0600) != 0) die("mkfifo failed");
  } else {
    die("unknown verb or wrong number of arguments");
  }
  return fflush(stdout) == 0 ? 0 : 1;
}
