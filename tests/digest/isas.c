/* isas.c: the instruction sets of this machine, and which of them had a kernel that ran.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "digest.h"

/* Those that this kind of machine may have. */
static const struct {
  mxg_isa bit;
  const char *name;
} isas[] = {
    {MXG_ISA_PORTABLE, "portable"},
#if defined(__x86_64__)
    {MXG_ISA_AVX2, "avx2"},
    {MXG_ISA_AVX512, "avx512"},
#elif defined(__aarch64__)
    {MXG_ISA_NEON, "neon"},
#endif
};

enum { ISAS = sizeof isas / sizeof isas[0] };

static unsigned long calls[ISAS];

bool digest_run_at(size_t index, mxg_run *run) {
  size_t found = 0;
  for (size_t i = 0; i < ISAS; i++) {
    if ((mxg_cpu_features() & isas[i].bit) == 0 || found++ != index) continue;
    memset(run, 0, sizeof *run);
    run->isa_mask = isas[i].bit;
    return true;
  }
  return false;
}

void digest_ran(const mxg_recipe *recipe, mxg_operation operation, mxg_dtype dtype,
                const mxg_run *run) {
  const char *kernel = "";
  digest_expect(mxg_kernel_name(recipe, operation, dtype, run, &kernel) == MXG_OK, "kernel name");
  const char *suffix = strstr(kernel, "__");
  for (size_t i = 0; suffix != NULL && i < ISAS; i++)
    if (strcmp(suffix + 2, isas[i].name) == 0) calls[i]++;
}

void digest_isas_report(char *text, size_t capacity) {
  text[0] = 0;
  for (size_t i = 0; i < ISAS; i++) {
    const size_t length = strlen(text);
    if (calls[i] != 0)
      (void)snprintf(text + length, capacity - length, "%s%s", length != 0 ? ", " : "",
                     isas[i].name);
    else if ((mxg_cpu_features() & isas[i].bit) == 0)
      (void)printf("skipped: no %s on this machine\n", isas[i].name);
  }
}
