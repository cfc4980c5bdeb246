/* machine.c: the CPU, its caches, and memory for the cases.
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "internal.h"

#define MIB ((size_t)1 << 20)

static size_t system_value(int name) {
  const long value = sysconf(name);
  return value > 0 ? (size_t)value : 0;
}

/* Memory that can be had without swapping. */
static size_t free_bytes(void) {
  static const char available[] = "MemAvailable:";
  FILE *file = fopen("/proc/meminfo", "r");
  char line[128];
  size_t kib = 0;
  while (file != NULL && kib == 0 && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, available, strlen(available)) == 0)
      kib = (size_t)strtoull(line + strlen(available), NULL, 10);
  if (file != NULL) fclose(file);
  if (kib != 0) return kib * 1024;
#ifdef _SC_AVPHYS_PAGES
  return system_value(_SC_AVPHYS_PAGES) * system_value(_SC_PAGESIZE);
#else
  return 2048 * MIB;
#endif
}

static void cpu_name(char *name, size_t capacity) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  char line[256];
  snprintf(name, capacity, "unknown CPU");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    const char *value = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || value == NULL) continue;
    value += 1 + strspn(value + 1, " ");
    snprintf(name, capacity, "%.*s", (int)strcspn(value, "\n"), value);
    break;
  }
  if (file != NULL) fclose(file);
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}
static size_t larger(size_t a, size_t b) {
  return a > b ? a : b;
}

void mxg_bench_machine_of(mxg_bench_machine *out) {
  size_t l2 = 0, l3 = 0;
  memset(out, 0, sizeof *out);
  cpu_name(out->cpu, sizeof out->cpu);
  out->ghz = bench_clock_ghz();
#if defined(_SC_LEVEL2_CACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
  l2 = system_value(_SC_LEVEL2_CACHE_SIZE);
  l3 = system_value(_SC_LEVEL3_CACHE_SIZE);
#endif
  out->l2_bytes = l2;
  out->l3_bytes = l3;
  if (l2 == 0) l2 = MIB;
  if (l3 == 0) l3 = 16 * MIB;
  /* Half of L2, so that other things fit beside it; well over L2, and not all of L3; 1 GiB of memory,
   * more for a larger L3, and less where memory is short. */
  out->set_bytes[BENCH_L2] = l2 / 2;
  out->set_bytes[BENCH_L3] = larger(smaller(larger(4 * l2, 16 * MIB), l3 / 2), 2 * l2);
  out->set_bytes[BENCH_DRAM] =
      smaller(larger(1024 * MIB, smaller(2 * l3, 2048 * MIB)), free_bytes() / 3);
  out->call_bytes = out->set_bytes[BENCH_DRAM] / 32;
#ifdef _OPENMP
  out->threads = (uint32_t)omp_get_num_procs();
#else
  out->threads = 1;
#endif
}

unsigned char *bench_map(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  memset(memory, 0, bytes);
  return memory;
}

void bench_unmap(unsigned char *memory, size_t bytes) {
  if (memory != NULL) munmap(memory, bytes);
}
