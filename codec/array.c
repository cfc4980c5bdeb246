/* array.c: the array forms of elements, scales and values: one loop over the primitives each.
 * SPDX-License-Identifier: MIT */
#include "internal.h"
#include "overlap.h"

/* The checks after the arguments' own: pointers, sizes, overlap, FP environment. */
static mxg_status check_arrays(const void *in, size_t in_bytes, const void *out, size_t out_bytes,
                               size_t count) {
  size_t read_bytes = 0, written_bytes = 0;
  if ((in == NULL || out == NULL) && count != 0) return MXG_ERR_NULL;
  if (mxg_size_mul(count, in_bytes, &read_bytes) != MXG_OK) return MXG_ERR_SIZE;
  if (mxg_size_mul(count, out_bytes, &written_bytes) != MXG_OK) return MXG_ERR_SIZE;
  if (mxg_regions_overlap(mxg_region_of(in, 1, read_bytes, read_bytes),
                          mxg_region_of(out, 1, written_bytes, written_bytes)))
    return MXG_ERR_OVERLAP;
  return mxg_fpenv_is_default() ? MXG_OK : MXG_ERR_FENV;
}

/* Value number i of an array of any alignment, as bits. */
static uint32_t load_f32(const float *x, size_t i) {
  uint32_t bits;
  memcpy(&bits, (const uint8_t *)x + 4 * i, 4);
  return bits;
}

static void store_f32(float *y, size_t i, uint32_t bits) {
  mxg_portable_store(&bits, 1, MXG_DTYPE_F32, (uint8_t *)y + 4 * i);
}

mxg_status mxg_encode_f32(const mxg_recipe *recipe, const float *x, size_t count, uint8_t *codes) {
  mxg_status status = mxg_check_recipe(recipe);
  mxg_plan plan;
  if (status != MXG_OK) return status;
  if ((status = check_arrays(x, 4, codes, 1, count)) != MXG_OK) return status;
  mxg_plan_for(recipe, &plan);
  mxg_encode_kernel_for(0)(&plan, (const uint8_t *)x, count, codes);
  return MXG_OK;
}

mxg_status mxg_decode_f32(mxg_element element, const uint8_t *codes, size_t count, float *y) {
  mxg_status status;
  if (mxg_element_traits(element).bits == 0) return MXG_ERR_RECIPE;
  if ((status = check_arrays(codes, 1, y, 4, count)) != MXG_OK) return status;
  mxg_decode_kernel_for(0)(element, codes, count, (uint8_t *)y);
  return MXG_OK;
}

/* e8m0_from_amax of |x|, or of fl(|x| * max) with times_max. */
static mxg_status e8m0_from(const mxg_recipe *recipe, const float *x, size_t count, int times_max,
                            uint8_t *scales) {
  mxg_status status = mxg_check_recipe(recipe);
  mxg_e8m0_rule rule;
  if (status != MXG_OK) return status;
  if (recipe->scale != MXG_SCALE_E8M0) return MXG_ERR_RECIPE;
  if ((status = check_arrays(x, 4, scales, 1, count)) != MXG_OK) return status;
  rule = mxg_e8m0_rule_for(recipe);
  for (size_t i = 0; i < count; i++) {
    uint32_t amax = load_f32(x, i) & ~MXG_F32_SIGN;
    if (times_max && amax <= MXG_F32_INF) amax = mxg_f32_mul_magnitudes(amax, mxg_max_bits(recipe));
    scales[i] = (uint8_t)mxg_e8m0_from_amax_bits(&rule, amax);
  }
  return MXG_OK;
}

mxg_status mxg_e8m0_from_amax(const mxg_recipe *recipe, const float *amax, size_t count,
                              uint8_t *scales) {
  return e8m0_from(recipe, amax, count, 0, scales);
}

mxg_status mxg_e8m0_from_scale(const mxg_recipe *recipe, const float *scale, size_t count,
                               uint8_t *scales) {
  return e8m0_from(recipe, scale, count, 1, scales);
}

mxg_status mxg_e8m0_to_f32(mxg_edges edges, const uint8_t *scales, size_t count, float *y) {
  mxg_status status;
  if (edges != MXG_EDGES_OCP && edges != MXG_EDGES_FLOAT) return MXG_ERR_RECIPE;
  if ((status = check_arrays(scales, 1, y, 4, count)) != MXG_OK) return status;
  for (size_t i = 0; i < count; i++) store_f32(y, i, mxg_e8m0_bits(edges, scales[i]));
  return MXG_OK;
}

mxg_status mxg_to_f32(mxg_dtype dtype, const void *x, size_t count, float *y) {
  const size_t bytes = mxg_dtype_bytes(dtype);
  mxg_status status;
  if (bytes == 0) return MXG_ERR_TYPE;
  if ((status = check_arrays(x, bytes, y, 4, count)) != MXG_OK) return status;
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    mxg_portable_load((const uint8_t *)x + i * bytes, 1, dtype, &bits);
    store_f32(y, i, bits);
  }
  return MXG_OK;
}

mxg_status mxg_from_f32(mxg_dtype dtype, const float *x, size_t count, void *y) {
  const size_t bytes = mxg_dtype_bytes(dtype);
  mxg_status status;
  if (bytes == 0) return MXG_ERR_TYPE;
  if ((status = check_arrays(x, 4, y, bytes, count)) != MXG_OK) return status;
  for (size_t i = 0; i < count; i++) {
    const uint32_t bits = load_f32(x, i);
    mxg_portable_store(&bits, 1, dtype, (uint8_t *)y + i * bytes);
  }
  return MXG_OK;
}
