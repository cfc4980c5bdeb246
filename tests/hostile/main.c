/* main.c: throws wrong, damaged and malicious inputs at the tool, and counts what came of it.
 *
 *   hostile TOOL FOLDER [--seed S] [--times N]
 *
 * FOLDER is empty and will be used up. Prints the table of docs/TESTING.md and, for every input that
 * the tool did not end well on, what it was; a file that did it is kept as FOLDER/finding-N.
 * Exit 0, 1 findings, 2 cannot run. The same seed throws the same inputs.
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* wait4 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hostile.h"

/* A sanitizer wants terabytes of addresses and much memory. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

enum {
  SECONDS_MAX = 20,            /* of CPU time, for one run */
  ADDRESSES_MAX = 512 << 20,   /* bytes: thread stacks and mappings */
  RESIDENT_MAX_KIB = 64 << 10, /* really used */
  ROWS_MAX = 256
};

static const char *tool;
static int findings;

typedef struct row {
  const char *reader, *kind;
  unsigned long thrown, refused_2, refused_3, passed, bad;
} row;
static row rows[ROWS_MAX];
static size_t row_count;

static row *row_of(const char *reader, const char *kind) {
  for (size_t i = 0; i < row_count; i++)
    if (strcmp(rows[i].reader, reader) == 0 && strcmp(rows[i].kind, kind) == 0) return &rows[i];
  if (row_count == ROWS_MAX) exit(2);
  rows[row_count].reader = reader;
  rows[row_count].kind = kind;
  return &rows[row_count++];
}

static void limit(int what, rlim_t value) {
  const struct rlimit both = {value, value};
  if (setrlimit(what, &both) != 0) _exit(126);
}

static pid_t start(const char *const *arguments) {
  const pid_t child = fork();
  if (child != 0) return child;
  const int nothing = open("/dev/null", O_RDONLY);
  const int out = open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (nothing < 0 || out < 0 || err < 0) _exit(126);
  if (dup2(nothing, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(126);
  limit(RLIMIT_CPU, SECONDS_MAX);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 64 << 20);
  if (!IS_SANITIZED) limit(RLIMIT_AS, ADDRESSES_MAX);
  execv(tool, (char *const *)(uintptr_t)arguments);
  _exit(127);
}

/* What is wrong with a message, or NULL. */
static const char *judge_message(int code) {
  static blob text;
  blob_load(&text, "stderr.txt");
  if (code < 2) return NULL;
  const char *message = (const char *)text.data;
  if (strlen(message) != text.bytes) return "a 0 byte in the message";
  if (strncmp(message, "mxgold", 6) != 0) return "no message that begins with mxgold";
  for (const char *c = message; *c != 0; c++) {
    if (*c == '\n' && c[1] == 0) return NULL;
    if ((unsigned char)*c < 0x20 || *c == 0x7F)
      return "a message of two lines, or of control characters";
  }
  return "a message without an end";
}

static const char *judge(int status, const struct rusage *usage, verdict expected) {
  const bool has_output = access("out.bin", F_OK) == 0;
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL ? "it took too long"
                                                                      : "it died of a signal";
  const int code = WEXITSTATUS(status);
  if (code > 3) return "exit code above 3";
  if (code < 2 && expected != MAY_PASS) return "it was not refused";
  if (code == 2 && expected == MUST_REFUSE_3) return "exit code 2, but the fault is in the file";
  if (code >= 2 && has_output) return "an output in spite of the error";
  if (!IS_SANITIZED && usage->ru_maxrss > RESIDENT_MAX_KIB) return "it used more than 64 MiB";
  return judge_message(code);
}

void throw_at(const char *reader, const char *kind, verdict expected,
              const char *const *arguments) {
  row *r = row_of(reader, kind);
  struct rusage usage;
  int status = 0;
  unlink("out.bin");
  const pid_t child = start(arguments);
  if (child < 0) {
    perror("fork");
    exit(2);
  }
  while (wait4(child, &status, 0, &usage) < 0)
    if (errno != EINTR) exit(2);
  if (WIFEXITED(status) && WEXITSTATUS(status) >= 126) {
    fprintf(stderr, "hostile: %s cannot be run\n", tool);
    exit(2);
  }
  r->thrown++;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const char *problem = judge(status, &usage, expected);
  if (problem == NULL) {
    *(code == 2 ? &r->refused_2 : code == 3 ? &r->refused_3 : &r->passed) += 1;
    return;
  }
  char kept[64];
  r->bad++;
  snprintf(kept, sizeof kept, "finding-%d", ++findings);
  fprintf(stderr, "finding %d: %s, %s: %s (status %X):", findings, reader, kind, problem,
          (unsigned)status);
  for (const char *const *a = arguments; *a != NULL; a++) fprintf(stderr, " '%.200s'", *a);
  fputc('\n', stderr);
  static blob thrown;
  if (access("in.bin", R_OK) == 0) {
    blob_load(&thrown, "in.bin");
    blob_save(&thrown, kept);
  }
  blob_load(&thrown, "stderr.txt");
  fprintf(stderr, "  %.300s\n", (const char *)thrown.data);
}

static void print_table(void) {
  unsigned long thrown = 0, refused = 0, passed = 0, bad = 0;
  printf("| reader | what was thrown | inputs | refused (2) | refused (3) | read | findings |\n");
  printf("|---|---|---|---|---|---|---|\n");
  for (size_t i = 0; i < row_count; i++) {
    const row *r = &rows[i];
    printf("| %s | %s | %lu | %lu | %lu | %lu | %lu |\n", r->reader, r->kind, r->thrown,
           r->refused_2, r->refused_3, r->passed, r->bad);
    thrown += r->thrown;
    refused += r->refused_2 + r->refused_3;
    passed += r->passed;
    bad += r->bad;
  }
  printf("\n%lu inputs: %lu refused, %lu read, %lu findings\n", thrown, refused, passed, bad);
}

int main(int argc, char **argv) {
  unsigned long long seed = 1;
  size_t times = 20;
  if (argc < 3) {
    fprintf(stderr, "usage: hostile TOOL FOLDER [--seed S] [--times N]\n");
    return 2;
  }
  for (int i = 3; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--seed") == 0) seed = strtoull(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--times") == 0) times = (size_t)strtoul(argv[i + 1], NULL, 10);
  }
  tool = realpath(argv[1], NULL);
  if (tool == NULL || chdir(argv[2]) != 0) {
    perror(tool == NULL ? argv[1] : argv[2]);
    return 2;
  }
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("LC_ALL", "C", 1);
  random_seed(seed);
  throw_npy(times);
  throw_safetensors(times);
  throw_pairs(times);
  throw_stream(times);
  throw_raw(times);
  throw_text(times);
  throw_options(times);
  throw_special_files();
  print_table();
  return findings > 0;
}
