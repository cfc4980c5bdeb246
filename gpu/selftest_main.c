/* selftest_main.c: the self-test and the bench of a device as one plain program; run.sh builds it.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "device_subject.h"

static const char usage[] =
    "usage: mxgold-gpu [--device N] [--full] [--bench] [--only TEXT] [--no-selftest] [--thin N]\n"
    "                  [--exact] [--threads N]\n"
    "\n"
    "  --device N     index of the device (default 0)\n"
    "  --full         also all 2^32 floats for E4M3FN and E2M1\n"
    "  --bench        time quantise and combine next to a copy of as many bytes\n"
    "  --only TEXT    of the bench, lines whose name has TEXT in it, such as combine or mxfp4\n"
    "  --no-selftest  only what else was asked for\n"
    "  --thin N       every N-th case only\n"
    "  --exact        device buffers of exactly their bytes, for memory checkers\n"
    "  --threads N    threads of the golden model (default: one per CPU)\n"
    "\n"
    "Exit codes: 0 equal, 1 a byte differs or the device failed, 2 options, or no such device.\n";

static double seconds(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 0;
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void bar(uint64_t done, uint64_t total) {
  static double drawn;
  enum { WIDTH = 40 };
  char line[WIDTH + 1];
  const double now = seconds();
  if (done == total) {
    fputs("\r\033[K", stderr);
    return;
  }
  if (now - drawn < 0.1) return;
  drawn = now;
  for (uint64_t i = 0; i < WIDTH; i++) line[i] = i * total < done * WIDTH ? '#' : '.';
  line[WIDTH] = 0;
  fprintf(stderr, "\r\033[Kself-test [%s] %3.0f%%", line, 100.0 * (double)done / (double)total);
  fflush(stderr);
}

static int number(const char *text, unsigned *out) {
  char *end;
  const unsigned long value = strtoul(text, &end, 10);
  *out = (unsigned)value;
  return *text >= '0' && *text <= '9' && *end == 0 && value < 65536 ? 0 : 1;
}

static int run_bench(int index, const char *only) {
  mxg_gpu *gpu = NULL, *portable = NULL;
  const mxg_status status = mxg_gpu_open(index, 0, &gpu);
  if (status != MXG_OK || mxg_gpu_open(index, MXG_GPU_PORTABLE, &portable) != MXG_OK) {
    fprintf(stdout, "device %d: %s\n", index, mxg_gpu_message());
    mxg_gpu_close(gpu);
    return 2;
  }
  mxg_device_describe(gpu, stdout);
  const int is_bad = mxg_gpu_bench(gpu, portable, only, stdout);
  mxg_gpu_close(portable);
  mxg_gpu_close(gpu);
  return is_bad;
}

int main(int argc, char **argv) {
  mxg_selftest_options options;
  unsigned device = 0;
  const char *only = NULL;
  int bench = 0, selftest = 1, exact = 0, result = 0;
  memset(&options, 0, sizeof options);
  options.out = stdout;
  if (isatty(STDERR_FILENO)) options.progress = bar;
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
    int is_wrong = 0;
    if (strcmp(word, "--full") == 0)
      options.full = 1;
    else if (strcmp(word, "--bench") == 0)
      bench = 1;
    else if (strcmp(word, "--only") == 0)
      is_wrong = *value == 0, only = value, i++;
    else if (strcmp(word, "--no-selftest") == 0)
      selftest = 0;
    else if (strcmp(word, "--exact") == 0)
      exact = 1;
    else if (strcmp(word, "--device") == 0)
      is_wrong = number(value, &device), i++;
    else if (strcmp(word, "--thin") == 0)
      is_wrong = number(value, &options.thin), i++;
    else if (strcmp(word, "--threads") == 0)
      is_wrong = number(value, &options.threads), i++;
    else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      fputs(usage, stdout);
      return 0;
    } else
      is_wrong = 1;
    if (is_wrong) {
      fprintf(stderr, "mxgold-gpu: '%s' is not understood\n%s", word, usage);
      return 2;
    }
  }
  const double begin = seconds();
  if (selftest) {
    result = mxg_selftest_device((int)device, &options, exact);
    printf("self-test: %.1f s\n", seconds() - begin);
  }
  if (bench && result == 0) result = run_bench((int)device, only);
  return result;
}
