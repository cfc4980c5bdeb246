/* table.c
 * SPDX-License-Identifier: MIT */
#include "table.h"

#include <string.h>

#include "args.h"

#define MXG_ELEMENT_ANY ((mxg_element)0)
#define MXG_DTYPE_ANY ((mxg_dtype)0)
#define NO_DTYPE ((mxg_dtype)0)
#define NO_ACCUMULATE ((mxg_accumulate)0)

#define NAMES_ALL "gfx942 gfx950 gfx1250 sm_90"
#define NAMES_NATIVE_E4M3FN "gfx950 sm_90"
#define NAMES_NATIVE_E2M1 "gfx950"

#define ROW(name, archs, operation, element, dtype, accumulate, path)                 \
  {{#name, operation, element, dtype, accumulate, MXG_PATH_##path == MXG_PATH_NATIVE, \
    MXG_PATH_##path != MXG_PATH_SLOW, NAMES_##archs},                                 \
   MXG_ARCHS_##archs,                                                                 \
   MXG_PATH_##path},
#define MXG_GPU_QUANTIZE(name, archs, element, dtype, path)                          \
  ROW(name, archs, MXG_OPERATION_QUANTIZE, MXG_ELEMENT_##element, MXG_DTYPE_##dtype, \
      NO_ACCUMULATE, path)
#define MXG_GPU_DEQUANTIZE(name, archs, element, path) \
  ROW(name, archs, MXG_OPERATION_DEQUANTIZE, MXG_ELEMENT_##element, NO_DTYPE, NO_ACCUMULATE, path)
#define MXG_GPU_COMBINE(name, archs, element, accumulate, path)            \
  ROW(name, archs, MXG_OPERATION_COMBINE, MXG_ELEMENT_##element, NO_DTYPE, \
      MXG_ACCUMULATE_##accumulate, path)

const mxg_table_row mxg_gpu_table[] = {
#include "gpu_kernels.def"
};
const size_t mxg_gpu_table_rows = sizeof mxg_gpu_table / sizeof mxg_gpu_table[0];

const mxg_gpu_kernel *mxg_gpu_kernel_at(size_t index) {
  return index < mxg_gpu_table_rows ? &mxg_gpu_table[index].kernel : NULL;
}

uint32_t mxg_arch_of(const char *name) {
  static const struct {
    const char *name;
    mxg_arch arch;
  } archs[] = {{"gfx942", MXG_ARCH_GFX942},
               {"gfx950", MXG_ARCH_GFX950},
               {"gfx1250", MXG_ARCH_GFX1250},
               {"sm_90", MXG_ARCH_SM_90}};
  const size_t length = strcspn(name, ":"); /* features follow */
  for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++)
    if (strlen(archs[i].name) == length && memcmp(archs[i].name, name, length) == 0)
      return (uint32_t)archs[i].arch;
  return 0;
}

int mxg_is_regular(const mxg_recipe *recipe, mxg_operation operation) {
  const uint32_t block = recipe->block;
  if (recipe->scale == MXG_SCALE_NONE) return 1;
  switch (operation) {
    case MXG_OPERATION_QUANTIZE: return block >= 32 && block <= 256 && (block & (block - 1)) == 0;
    case MXG_OPERATION_DEQUANTIZE: return block % 8 == 0;
    case MXG_OPERATION_COMBINE: return block % MXG_GPU_COMBINE_STRIP == 0;
  }
  return 0;
}

/* Do the converters give the law's bytes? They round to nearest even and saturate at the format's
 * own maximum; what is not finite never reaches them. */
static int converts_by_law(const mxg_recipe *recipe, mxg_operation operation) {
  const float max = mxg_element_traits(recipe->element).max;
  if (operation != MXG_OPERATION_QUANTIZE) return 1;
  return recipe->overflow == MXG_OVERFLOW_SATURATE &&
         !(recipe->element_max > 0.0f && recipe->element_max < max);
}

mxg_status mxg_table_find(uint32_t arch, uint32_t flags, const mxg_recipe *recipe,
                          mxg_operation operation, mxg_dtype dtype, int vector, size_t *row) {
  const int portable = (flags & MXG_GPU_PORTABLE) != 0;
  if (recipe->element == MXG_ELEMENT_E2M1 && (arch & MXG_ARCHS_NATIVE_E2M1) == 0 && !portable)
    return MXG_ERR_ARCH;
  for (size_t i = 0; i < mxg_gpu_table_rows; i++) {
    const mxg_table_row *r = &mxg_gpu_table[i];
    const mxg_gpu_kernel *k = &r->kernel;
    if (k->operation != operation || (r->archs & arch) == 0) continue;
    if (k->element != MXG_ELEMENT_ANY && k->element != recipe->element) continue;
    if (k->dtype != MXG_DTYPE_ANY && k->dtype != dtype) continue;
    if (k->accumulate != NO_ACCUMULATE && k->accumulate != recipe->accumulate) continue;
    if (r->path != MXG_PATH_SLOW && !(vector && mxg_is_regular(recipe, operation))) continue;
    if (r->path == MXG_PATH_NATIVE && (portable || !converts_by_law(recipe, operation))) continue;
    *row = i;
    return MXG_OK;
  }
  return MXG_ERR_ARCH; /* not reached: the last line of an operation serves everything */
}
