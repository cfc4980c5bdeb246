/* kernel_list.c
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "kernel_list.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* What kernels.def is written in. */
#define MXG_DTYPE_BIT(dtype) (1u << (dtype))
#define MXG_ANY_DTYPE \
  (MXG_DTYPE_BIT(MXG_DTYPE_F32) | MXG_DTYPE_BIT(MXG_DTYPE_F16) | MXG_DTYPE_BIT(MXG_DTYPE_BF16))
#define MXG_QUANTIZE(name, isa, dtypes, serves) {#name, MXG_OPERATION_QUANTIZE, isa, dtypes},
#define MXG_DEQUANTIZE(name, isa, dtypes, serves) {#name, MXG_OPERATION_DEQUANTIZE, isa, dtypes},
#define MXG_COMBINE(name, isa, dtypes, serves) {#name, MXG_OPERATION_COMBINE, isa, dtypes},
#define MXG_ENCODE(name, isa) {#name, KERNEL_ENCODE, isa, MXG_DTYPE_BIT(MXG_DTYPE_F32)},
#define MXG_DECODE(name, isa) {#name, KERNEL_DECODE, isa, MXG_DTYPE_BIT(MXG_DTYPE_F32)},

static const kernel_entry kernels[] = {
#include "kernels.def"
};

enum { KERNELS = sizeof kernels / sizeof kernels[0], DTYPES = 4 };

static const struct {
  mxg_isa isa;
  const char *name;
} isas[] = {{MXG_ISA_PORTABLE, "portable"},
            {MXG_ISA_AVX2, "avx2"},
            {MXG_ISA_AVX512, "avx512"},
            {MXG_ISA_NEON, "neon"}};

static uint64_t (*counts)[DTYPES];

const kernel_entry *kernel_at(size_t index) {
  return index < KERNELS ? &kernels[index] : NULL;
}

mxg_isa isa_at(size_t index) {
  return index < sizeof isas / sizeof isas[0] ? isas[index].isa : (mxg_isa)0;
}

const char *isa_name(mxg_isa isa) {
  for (size_t i = 0; isa_at(i) != 0; i++)
    if (isas[i].isa == isa) return isas[i].name;
  return "?";
}

const char *kernel_of(const mxg_recipe *recipe, mxg_operation operation, mxg_dtype dtype,
                      uint32_t isa) {
  const mxg_run run = {0, isa, {0}};
  const char *name = NULL;
  ck_assert_int_eq(mxg_kernel_name(recipe, operation, dtype, &run, &name), MXG_OK);
  return name;
}

const char *array_kernel(int operation) {
  for (size_t k = 0; k < KERNELS; k++)
    if (kernels[k].operation == operation && (mxg_cpu_features() & kernels[k].isa) != 0)
      return kernels[k].name;
  ck_abort_msg("kernels.def has no kernel for arrays");
  return NULL;
}

bool is_served(const mxg_recipe *recipe, mxg_operation operation, mxg_dtype dtype) {
  const char *portable = kernel_of(recipe, operation, dtype, MXG_ISA_PORTABLE);
  for (size_t i = 1; isa_at(i) != 0; i++)
    if ((mxg_cpu_features() & isa_at(i)) != 0 &&
        strcmp(kernel_of(recipe, operation, dtype, isa_at(i)), portable) != 0)
      return true;
  return false;
}

void kernel_counts_start(void) {
  void *map = mmap(NULL, KERNELS * sizeof *counts, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) ck_abort_msg("no memory");
  counts = map;
}

void kernel_count(const char *name, mxg_dtype dtype) {
  size_t k = 0;
  while (k < KERNELS && strcmp(kernels[k].name, name) != 0) k++;
  if (k == KERNELS) ck_abort_msg("%s is not in kernels.def", name);
  if (counts != NULL) counts[k][dtype]++;
}

/* Calls on arrays have no isa mask: only the best kernel can be reached. */
static bool is_reachable(size_t kernel) {
  const int operation = kernels[kernel].operation;
  if (operation != KERNEL_ENCODE && operation != KERNEL_DECODE) return true;
  return strcmp(array_kernel(operation), kernels[kernel].name) == 0;
}

static uint64_t cases_of(size_t kernel) {
  uint64_t sum = 0;
  for (size_t d = 0; d < DTYPES; d++) sum += counts[kernel][d];
  return sum;
}

int kernel_counts_report(uint64_t least) {
  int short_of = 0;
  for (size_t i = 0; isa_at(i) != 0; i++) {
    const bool is_here = (mxg_cpu_features() & isas[i].isa) != 0;
    uint64_t cases = 0;
    unsigned count = 0;
    for (size_t k = 0; k < KERNELS; k++) {
      if (kernels[k].isa != isas[i].isa) continue;
      count++;
      cases += cases_of(k);
      for (size_t d = 1; is_here && is_reachable(k) && d < DTYPES; d++) {
        if ((kernels[k].dtypes >> d & 1u) == 0 || counts[k][d] >= least) continue;
        printf("%s: %" PRIu64 " cases with %s, expected at least %" PRIu64 "\n", kernels[k].name,
               counts[k][d],
               d == MXG_DTYPE_F32   ? "f32"
               : d == MXG_DTYPE_F16 ? "f16"
                                    : "bf16",
               least);
        short_of++;
      }
    }
    if (!is_here && count > 0)
      printf("skipped: no %s on this machine: %u kernels not run\n", isas[i].name, count);
    else if (is_here)
      printf("%s: %u kernels, %" PRIu64 " cases\n", isas[i].name, count, cases);
  }
  fflush(stdout);
  return short_of;
}
