/* data.c: the data sets: random, denormal-heavy, tie-heavy.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "internal.h"

uint64_t bench_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* In [0, 1). */
static float uniform(uint64_t *state) {
  return (float)(bench_random(state) >> 40) * 0x1p-24f;
}

/* N(0, 1), as good as a sum of 12 uniform numbers is. */
static float normal(uint64_t *state) {
  float sum = -6.0f;
  for (int i = 0; i < 12; i++) sum += uniform(state);
  return sum;
}

static float power_of_two(int exponent) {
  float value = 1.0f;
  for (; exponent > 0; exponent--) value *= 2.0f;
  for (; exponent < 0; exponent++) value *= 0.5f;
  return value;
}

static float with_random_sign(uint64_t *state, float value) {
  return bench_random(state) >> 63 ? -value : value;
}

/* A value that is subnormal in its own type. */
static float source_subnormal(mxg_dtype dtype, uint64_t *state) {
  const int shift = dtype == MXG_DTYPE_BF16 ? 16 : 0;
  uint32_t bits = ((uint32_t)bench_random(state) & 0x7FFFFFu) >> shift << shift;
  float value;
  if (dtype == MXG_DTYPE_F16) return uniform(state) * 0x1p-14f;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Halfway between two neighbours of the element format, from 0 to its maximum. */
static float midpoint(const mxg_recipe *recipe, uint64_t *state) {
  const mxg_traits traits = mxg_element_traits(recipe->element);
  const uint8_t low = (uint8_t)(bench_random(state) % traits.max_code);
  const uint8_t pair[2] = {low, (uint8_t)(low + 1)};
  float values[2] = {0, 0};
  mxg_ref_decode_f32(recipe->element, pair, 2, values);
  return (values[0] + values[1]) / 2;
}

/* Element i of its block of 128. */
static float next_value(bench_data data, const mxg_recipe *recipe, mxg_dtype dtype, size_t i,
                        int exponent, int is_tiny, uint64_t *state) {
  switch (data) {
    case BENCH_RANDOM:
      if (recipe->scale != MXG_SCALE_NONE) return normal(state);
      /* No scale will fit them to the format: magnitudes over its whole range, and beyond. */
      return normal(state) * power_of_two((int)(bench_random(state) % 18) - 9);
    case BENCH_DENORMAL:
      if (is_tiny || bench_random(state) % 8 == 0)
        return with_random_sign(state, source_subnormal(dtype, state));
      return with_random_sign(
          state, (1 + uniform(state)) * power_of_two(-(int)(bench_random(state) % 21)));
    case BENCH_TIES:
      /* The block's maximum makes the scale 2^exponent. */
      return with_random_sign(state, (i % BENCH_BLOCK == 0 ? mxg_element_traits(recipe->element).max
                                                           : midpoint(recipe, state)) *
                                         power_of_two(exponent));
  }
  return 0;
}

void bench_values(bench_data data, const mxg_recipe *recipe, mxg_dtype dtype, uint64_t *state,
                  void *values, size_t count) {
  float block[128];
  for (size_t begin = 0; begin < count; begin += 128) {
    const int is_tiny = bench_random(state) % 64 == 0;
    const int exponent = recipe->scale == MXG_SCALE_NONE ? 0 : (int)(bench_random(state) % 7) - 3;
    for (size_t i = 0; i < 128; i++)
      block[i] = next_value(data, recipe, dtype, i, exponent, is_tiny, state);
    mxg_ref_from_f32(dtype, block, 128, (unsigned char *)values + begin * mxg_dtype_bytes(dtype));
  }
}

void bench_random_codes(mxg_element element, uint64_t *state, unsigned char *codes, size_t bytes) {
  const mxg_traits traits = mxg_element_traits(element);
  for (size_t i = 0; i < bytes; i++) {
    unsigned code = (unsigned)(bench_random(state) >> 56);
    /* E4M3FN has one NaN, of both signs */
    if (traits.bits == 8 && (code & 0x7F) > traits.max_code) code ^= 8;
    codes[i] = (unsigned char)code;
  }
}
