/* dispatch.c: recipe x operation x dtype x isa mask to a kernel, and the plan of a recipe.
 * SPDX-License-Identifier: MIT */
#include "internal.h"

int mxg_serves_every(const mxg_recipe *recipe) {
  (void)recipe;
  return 1;
}

/* FP6 is left to portable, and FP4 whose blocks do not end on a byte. With a maximum below 2 the
 * rceil rules do not fit codec/simd/e8m0.h. */
int mxg_serves_quantize(const mxg_recipe *recipe) {
  const int bits = mxg_element_traits(recipe->element).bits;
  const int rceil = recipe->rule == MXG_RULE_RCEIL || recipe->rule == MXG_RULE_RCEIL_BUMP;
  if (bits == 6 || (bits == 4 && recipe->block % 2 != 0)) return 0;
  return !rceil || mxg_max_bits(recipe) >= mxg_f32_bits(2.0f);
}

int mxg_serves_quantize_mx(const mxg_recipe *recipe) {
  return recipe->scale == MXG_SCALE_E8M0 && recipe->block % 32 == 0 && mxg_serves_quantize(recipe);
}

/* FP8 and FP4, no scale or blocks of 32 n elements. */
int mxg_serves_decode(const mxg_recipe *recipe) {
  return mxg_element_traits(recipe->element).bits != 6 && recipe->block % 32 == 0;
}

/* E5M2FNUZ, biased by 16, has two codes beyond binary16. */
int mxg_serves_decode_f16(const mxg_recipe *recipe) {
  return recipe->element != MXG_ELEMENT_E5M2FNUZ && mxg_serves_decode(recipe);
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

#undef MXG_QUANTIZE
#undef MXG_DEQUANTIZE
#undef MXG_COMBINE
#define MXG_QUANTIZE(name, isa, dtypes, serves)
#define MXG_DEQUANTIZE(name, isa, dtypes, serves)
#define MXG_COMBINE(name, isa, dtypes, serves)

static const struct encoder {
  mxg_isa isa;
  mxg_encode_kernel *encode;
} encoders[] = {
#define MXG_ENCODE(name, isa) {isa, name},
#include "kernels.def"
};

static const struct decoder {
  mxg_isa isa;
  mxg_decode_kernel *decode;
} decoders[] = {
#define MXG_DECODE(name, isa) {isa, name},
#include "kernels.def"
};

static uint32_t usable_isa(uint32_t isa_mask) {
  const uint32_t asked = isa_mask != 0 ? isa_mask : UINT32_MAX;
  return (asked & mxg_cpu_features()) | MXG_ISA_PORTABLE;
}

/* In each of the three searches the portable kernel fits everything, so the search ends. */

mxg_encode_kernel *mxg_encode_kernel_for(uint32_t isa_mask) {
  const uint32_t usable = usable_isa(isa_mask);
  const struct encoder *e = encoders;
  while ((usable & (uint32_t)e->isa) == 0) e++;
  return e->encode;
}

mxg_decode_kernel *mxg_decode_kernel_for(uint32_t isa_mask) {
  const uint32_t usable = usable_isa(isa_mask);
  const struct decoder *d = decoders;
  while ((usable & (uint32_t)d->isa) == 0) d++;
  return d->decode;
}

void mxg_plan_for(const mxg_recipe *recipe, mxg_plan *plan) {
  /* member by member: to fill a whole plan takes as long as some blocks */
  memset(&plan->e8m0, 0, sizeof plan->e8m0);
  memset(&plan->f32, 0, sizeof plan->f32);
  plan->recipe = *recipe;
  plan->traits = mxg_element_traits(recipe->element);
  plan->policy = mxg_policy_for(recipe, mxg_f32_bits(recipe->element_max));
  if (recipe->scale == MXG_SCALE_E8M0) plan->e8m0 = mxg_e8m0_rule_for(recipe);
  if (recipe->scale == MXG_SCALE_F32) plan->f32 = mxg_f32_rule_for(recipe);
}

const mxg_kernel *mxg_kernel_for(const mxg_recipe *recipe, mxg_operation operation, mxg_dtype dtype,
                                 const mxg_run *run) {
  const uint32_t usable = usable_isa(run != NULL ? run->isa_mask : 0);
  const mxg_kernel *kernel = kernels;
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
