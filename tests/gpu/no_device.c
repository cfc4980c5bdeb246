/* no_device.c: what libmxgold_gpu says where the runtime has no device, and what its table says of
 * chips that are not there. test_no_device.sh builds and runs it.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "mxgold_gpu.h"
#include "table.h"

static int failures;

static void check(int is_right, const char *what) {
  printf("%s: %s\n", is_right ? "ok" : "FAIL", what);
  if (!is_right) failures++;
}

/* FP4 of a chip: MXG_ERR_ARCH but on gfx950, and a kernel everywhere with MXG_GPU_PORTABLE. */
static void check_chip(const char *arch, int has_fp4) {
  mxg_recipe recipe;
  size_t row = 0;
  const mxg_status expected = has_fp4 ? MXG_OK : MXG_ERR_ARCH;
  if (mxg_recipe_parse("mxfp4", &recipe, NULL) != MXG_OK) {
    check(0, "parse mxfp4");
    return;
  }
  for (int operation = MXG_OPERATION_QUANTIZE; operation <= MXG_OPERATION_COMBINE; operation++) {
    check(mxg_table_find(mxg_arch_of(arch), 0, &recipe, (mxg_operation)operation, MXG_DTYPE_BF16, 1,
                         &row) == expected,
          arch);
    check(mxg_table_find(mxg_arch_of(arch), MXG_GPU_PORTABLE, &recipe, (mxg_operation)operation,
                         MXG_DTYPE_BF16, 1, &row) == MXG_OK,
          "portable");
  }
}

int main(void) {
  mxg_gpu *gpu = NULL;
  check(strcmp(mxg_gpu_backend(), "hip") == 0, "backend");
  check(mxg_gpu_open(0, 0, &gpu) == MXG_ERR_NO_DEVICE && gpu == NULL, "open: no device");
  printf("message: %s\n", mxg_gpu_message());
  check(strstr(mxg_gpu_message(), "hipErrorNoDevice") != NULL, "the runtime's own words");
  check(mxg_gpu_open(7, MXG_GPU_PORTABLE, &gpu) == MXG_ERR_NO_DEVICE, "open: no such index");
  check(mxg_gpu_open(0, 64, &gpu) == MXG_ERR_RESERVED, "open: unknown flag");
  check(mxg_gpu_open(0, 0, NULL) == MXG_ERR_NULL, "open: NULL");
  mxg_gpu_close(NULL);

  check(mxg_arch_of("gfx90a:sramecc+:xnack-") == 0, "gfx90a is not ours");
  check(mxg_arch_of("gfx9500") == 0 && mxg_arch_of("gfx95") == 0, "nor a longer or shorter name");
  check(mxg_arch_of("") == 0, "nor none");
  check(mxg_arch_of("gfx950:sramecc+:xnack-") == MXG_ARCH_GFX950, "gfx950 with its features");
  check_chip("gfx942", 0);
  check_chip("gfx950", 1);
  check_chip("gfx1250", 0);
  check_chip("sm_90", 0);
  for (size_t i = 0; mxg_gpu_kernel_at(i) != NULL; i++)
    if (strlen(mxg_gpu_kernel_at(i)->archs) == 0) check(0, "a kernel for no chip");
  return failures != 0;
}
