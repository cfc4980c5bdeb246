/* sweep.c
 * SPDX-License-Identifier: MIT */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMPLAINTS = 5, PROCESSES_MAX = 256 };
#define FNV_PRIME UINT64_C(0x100000001B3)
#define FNV_START UINT64_C(0xCBF29CE484222325)

uint64_t sweep_digest(uint64_t digest, const void *bytes, uint64_t count) {
  const uint8_t *at = bytes;
  if (digest == 0) digest = FNV_START;
  for (; count >= 8; count -= 8, at += 8) {
    uint64_t word = 0; /* little-endian on every host */
    for (int i = 7; i >= 0; i--) word = word << 8 | at[i];
    digest = (digest ^ word) * FNV_PRIME;
    digest ^= digest >> 32;
  }
  for (; count > 0; count--) digest = (digest ^ *at++) * FNV_PRIME;
  return digest;
}

void sweep_complain(const char *what, uint32_t input, uint32_t got, uint32_t want) {
  static int complaints;
  if (complaints++ >= COMPLAINTS) return;
  printf("  %s: %08" PRIX32 " gives %" PRIX32 ", not %" PRIX32 "\n", what, input, got, want);
  fflush(stdout);
}

int sweep_processors(void) {
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : count > PROCESSES_MAX ? PROCESSES_MAX : (int)count;
}

/* Every `processes`-th chunk from `first`. */
static sweep_result run_share(uint64_t first, uint64_t chunks, uint64_t processes, sweep_work work,
                              const void *job) {
  sweep_result share = {0, 0, 0};
  for (uint64_t chunk = first; chunk < chunks; chunk += processes) {
    sweep_result part = {0, 0, 0};
    work(job, chunk, &part);
    share.count += part.count;
    share.mismatches += part.mismatches;
    share.digest += sweep_digest(part.digest, &(uint8_t){1}, 1) * (2 * chunk + 1);
  }
  return share;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int sweep_run(const char *name, uint64_t chunks, int processes, sweep_work work, const void *job,
              sweep_result *total) {
  int pipes[PROCESSES_MAX][2];
  pid_t children[PROCESSES_MAX];
  const double start = now();
  int lost = 0;
  memset(total, 0, sizeof *total);
  if (processes > PROCESSES_MAX) processes = PROCESSES_MAX;
  fflush(stdout);
  for (int p = 0; p < processes; p++) {
    if (pipe(pipes[p]) != 0 || (children[p] = fork()) < 0) {
      perror("sweep: cannot start a process");
      exit(EXIT_FAILURE);
    }
    if (children[p] == 0) {
      const sweep_result share = run_share((uint64_t)p, chunks, (uint64_t)processes, work, job);
      const ssize_t written = write(pipes[p][1], &share, sizeof share);
      fflush(stdout);
      _exit(written == (ssize_t)sizeof share ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    close(pipes[p][1]);
  }
  for (int p = 0; p < processes; p++) {
    sweep_result share = {0, 0, 0};
    int status = 0;
    const ssize_t got = read(pipes[p][0], &share, sizeof share);
    close(pipes[p][0]);
    waitpid(children[p], &status, 0);
    if (got != (ssize_t)sizeof share || status != 0) {
      lost++;
      continue;
    }
    total->count += share.count;
    total->mismatches += share.mismatches;
    total->digest += share.digest;
  }
  printf("%-40s %13" PRIu64 " compared, %" PRIu64 " differ, digest %016" PRIx64 ", %.1f s\n", name,
         total->count, total->mismatches, total->digest, now() - start);
  if (lost != 0) printf("%s: %d processes died\n", name, lost);
  fflush(stdout);
  return total->mismatches != 0 || lost != 0;
}
