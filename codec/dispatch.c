/* dispatch.c: recipe x operation x dtype x isa mask to a kernel, and the plan of a recipe.
 * SPDX-License-Identifier: MIT */
#include "internal.h"

int mxg_serves_every(const mxg_recipe *recipe) {
  (void)recipe;
  return 1;
}

#define MXG_QUANTIZE(name, isa, dtypes, serves) \
  {#name, MXG_OPERATION_QUANTIZE, isa, dtypes, serves, name, NULL, NULL},
#define MXG_DEQUANTIZE(name, isa, dtypes, serves) \
  {#name, MXG_OPERATION_DEQUANTIZE, isa, dtypes, serves, NULL, name, NULL},
#define MXG_COMBINE(name, isa, dtypes, serves) \
  {#name, MXG_OPERATION_COMBINE, isa, dtypes, serves, NULL, NULL, name},

static const mxg_kernel kernels[] = {
#include "kernels.def"
};

void mxg_plan_for(const mxg_recipe *recipe, mxg_plan *plan) {
  memset(plan, 0, sizeof *plan);
  plan->recipe = *recipe;
  plan->traits = mxg_element_traits(recipe->element);
  plan->policy = mxg_policy_for(recipe, mxg_f32_bits(recipe->element_max));
  if (recipe->scale == MXG_SCALE_E8M0) plan->e8m0 = mxg_e8m0_rule_for(recipe);
  if (recipe->scale == MXG_SCALE_F32) plan->f32 = mxg_f32_rule_for(recipe);
}

const mxg_kernel *mxg_kernel_for(const mxg_recipe *recipe, mxg_operation operation, mxg_dtype dtype,
                                 const mxg_run *run) {
  const uint32_t asked = run != NULL && run->isa_mask != 0 ? run->isa_mask : UINT32_MAX;
  const uint32_t usable = (asked & mxg_cpu_features()) | MXG_ISA_PORTABLE;
  const mxg_kernel *kernel = kernels;
  /* The portable kernel of each operation fits everything, so the search ends. */
  while (kernel->operation != operation || (usable & (uint32_t)kernel->isa) == 0 ||
         (kernel->dtypes & MXG_DTYPE_BIT(dtype)) == 0 || !kernel->serves(recipe))
    kernel++;
  return kernel;
}

mxg_status mxg_kernel_name(const mxg_recipe *recipe, mxg_operation operation, mxg_dtype dtype,
                           const mxg_run *run, const char **name) {
  mxg_status status;
  if (recipe == NULL || name == NULL) return MXG_ERR_NULL;
  if ((status = mxg_check_recipe(recipe)) != MXG_OK) return status;
  if ((status = mxg_check_reserved(run)) != MXG_OK) return status;
  if (!mxg_is_dtype(dtype)) return MXG_ERR_TYPE;
  if (operation != MXG_OPERATION_QUANTIZE && operation != MXG_OPERATION_DEQUANTIZE &&
      operation != MXG_OPERATION_COMBINE)
    return MXG_ERR_SHAPE;
  if ((status = mxg_check_isa(run)) != MXG_OK) return status;
  *name = mxg_kernel_for(recipe, operation, dtype, run)->name;
  return MXG_OK;
}
