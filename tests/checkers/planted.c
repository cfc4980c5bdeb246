/* planted.c: one fault of each kind that a checker of tests/checkers.sh must see, or it sees nothing.
 *
 * usage: planted uninitialised|address|wrap|truncation|leak|race
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int shared;

static void *count(void *argument) {
  for (int i = 0; i < 1000; i++) shared++;
  return argument;
}

static void race(void) {
  pthread_t other;
  if (pthread_create(&other, NULL, count, NULL) != 0) abort();
  (void)count(NULL);
  (void)pthread_join(other, NULL);
}

/* Nothing here can be foreseen by a compiler: what it does not know is `one`. */
int main(int argc, char **argv) {
  volatile uint32_t one = (uint32_t)argc - 1;
  const char *kind = argc > 1 ? argv[1] : "";
  volatile unsigned char *bytes = malloc(16);
  if (bytes == NULL || one != 1) return 2;
  if (strcmp(kind, "uninitialised") == 0) {
    if (bytes[one] == 7) (void)puts("seven");
  } else if (strcmp(kind, "address") == 0) {
    bytes[15 + one] = 1;
  } else if (strcmp(kind, "wrap") == 0) {
    bytes[0] = one - 2 > one;
  } else if (strcmp(kind, "truncation") == 0) {
    const uint32_t wide = 256 + one;
    bytes[0] = wide; /* cut to a byte */
  } else if (strcmp(kind, "leak") == 0) {
    for (int i = 0; i < 8 && bytes != NULL; i++) bytes = malloc(16);
  } else if (strcmp(kind, "race") == 0) {
    race();
  } else {
    (void)fprintf(stderr, "planted: no fault %s\n", kind);
    free((void *)bytes);
    return 2;
  }
  free((void *)bytes);
  return 0;
}
