/* replay.c: runs a target without a fuzzer: over the files and folders that are named, and over
 * random inputs.
 *
 *   fuzz_TARGET_replay [--random COUNT] [--seed SEED] [FILE | FOLDER]...
 *
 * The input that a target dies on is named; a random one is saved as crash-SEED-NUMBER.
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "support/check.h"
#include "support/input.h"

enum { RANDOM_BYTES_MAX = 700, SEED_DEFAULT = 1 };

static unsigned long replayed;
static char current_name[4096];
static const uint8_t *current_random; /* NULL: a file */
static size_t current_random_bytes;

static void put(int to, const void *text, size_t bytes) {
  if (write(to, text, bytes) < 0) _exit(2);
}

/* Names the input; async-signal-safe. */
static void on_death(int number) {
  static const char before[] = "replay: the target died on ";
  put(STDERR_FILENO, before, sizeof before - 1);
  put(STDERR_FILENO, current_name, strlen(current_name));
  put(STDERR_FILENO, "\n", 1);
  if (current_random != NULL) {
    const int file = open(current_name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file >= 0) put(file, current_random, current_random_bytes);
  }
  signal(number, SIG_DFL);
  raise(number);
}

static void run(const uint8_t *data, size_t bytes) {
  replayed++;
  LLVMFuzzerTestOneInput(data, bytes);
}

static int replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return 1;
  }
  size_t bytes = 0, capacity = 1 << 16;
  uint8_t *data = malloc(capacity);
  while (data != NULL) {
    bytes += fread(data + bytes, 1, capacity - bytes, file);
    if (bytes < capacity) break;
    uint8_t *larger = realloc(data, capacity *= 2);
    if (larger == NULL) free(data);
    data = larger;
  }
  const int is_bad = data == NULL || ferror(file);
  fclose(file);
  if (is_bad) {
    fprintf(stderr, "%s: cannot be read\n", path);
    free(data);
    return 1;
  }
  /* an exact copy: reading past its end is seen by a sanitizer */
  uint8_t *exact = malloc(bytes > 0 ? bytes : 1);
  if (exact == NULL) {
    free(data);
    return 1;
  }
  if (bytes > 0) memcpy(exact, data, bytes);
  free(data);
  snprintf(current_name, sizeof current_name, "%s", path);
  run(exact, bytes);
  free(exact);
  return 0;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static int replay(const char *path);

static int replay_folder(const char *path) {
  DIR *folder = opendir(path);
  char **names = NULL;
  size_t count = 0;
  int status = 0;
  if (folder == NULL) {
    perror(path);
    return 1;
  }
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char **more = realloc(names, (count + 1) * sizeof *names);
    char *name = malloc(strlen(path) + strlen(entry->d_name) + 2);
    if (more == NULL || name == NULL) abort();
    sprintf(name, "%s/%s", path, entry->d_name);
    names = more;
    names[count++] = name;
  }
  closedir(folder);
  if (count > 0) qsort(names, count, sizeof *names, by_name); /* the same order everywhere */
  for (size_t i = 0; i < count; i++) {
    status |= replay(names[i]);
    free(names[i]);
  }
  free(names);
  return status;
}

static int replay(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) {
    perror(path);
    return 1;
  }
  return S_ISDIR(status.st_mode) ? replay_folder(path) : replay_file(path);
}

static void replay_random(unsigned long long seed, unsigned long count) {
  static uint8_t data[RANDOM_BYTES_MAX];
  fuzz_stream stream = {seed};
  current_random = data;
  for (unsigned long i = 0; i < count; i++) {
    const uint64_t shape = fuzz_next(&stream);
    const size_t bytes = (size_t)(shape >> 32) % (RANDOM_BYTES_MAX + 1);
    for (size_t b = 0; b < bytes; b++) data[b] = (uint8_t)(fuzz_next(&stream) >> 56);
    current_random_bytes = bytes;
    snprintf(current_name, sizeof current_name, "crash-%llu-%lu", seed, i);
    run(data, bytes);
  }
  current_random = NULL;
}

int main(int argc, char **argv) {
  static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  unsigned long long seed = SEED_DEFAULT;
  unsigned long random_count = 0;
  int status = 0;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) signal(signals[i], on_death);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--random") == 0 && i + 1 < argc)
      random_count = strtoul(argv[++i], NULL, 10);
    else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
      seed = strtoull(argv[++i], NULL, 10);
    else
      status |= replay(argv[i]);
  }
  replay_random(seed, random_count);
  printf("%s: %lu inputs\n", argv[0], replayed);
  if (replayed == 0)
    fprintf(stderr, "replay: no input: name files or folders, or --random COUNT\n");
  return replayed == 0 ? 2 : status;
}
