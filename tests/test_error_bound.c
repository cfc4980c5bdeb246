/* test_error_bound.c: the bound of section 6 on the error of one element holds for every preset:
 * no element of a finite block lies outside it.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "check_main.h"
#include "packed.h"
#include "recipes.h"
#include "values.h"

enum { ROWS = 8 };

/* The scale that decoding applies to a block: 1 for an unscaled row, |s| for a marked block 0. */
static double scale_of(const mxg_recipe *recipe, const uint8_t *row, size_t block) {
  if (recipe->scale == MXG_SCALE_NONE) return 1;
  if (recipe->scale == MXG_SCALE_E8M0) {
    const uint32_t byte = scale_at(recipe, row, block);
    if (byte == 0xFF) return (double)NAN;
    if (byte == 0x00 && recipe->edges == MXG_EDGES_FLOAT) return 0;
    return ldexp(1, (int)byte - 127);
  }
  const double scale = (double)float_of(scale_at(recipe, row, block));
  const double first = (double)float_of(scale_at(recipe, row, 0));
  if (recipe->marker == MXG_MARKER_NONE) return scale;
  if (!(first < 0)) return 1;
  return block == 0 ? -first : scale;
}

static double spacing(mxg_traits traits, double value) {
  int exponent = value > 0 ? ilogb(value) : traits.emin;
  if (exponent < traits.emin) exponent = traits.emin;
  return ldexp(1, exponent - traits.mantissa_bits);
}

/* Section 6; NaN where it promises nothing. */
static double bound_of(const mxg_recipe *recipe, double scale, double amax, double x) {
  const mxg_traits traits = mxg_element_traits(recipe->element);
  const double max = (double)(recipe->element_max > 0 ? recipe->element_max : traits.max);
  const bool f32_scale = recipe->scale == MXG_SCALE_F32;
  if (!(scale >= 0x1p-126) || isinf(scale)) return (double)NAN;
  if (f32_scale && isinf((float)max / (float)amax)) return (double)NAN; /* an infinite factor */
  const double magnitude = fabs(x);
  const double clamped = fmax(0, magnitude - scale * max);
  const double rounding = scale * spacing(traits, fmin(magnitude / scale, max)) / 2;
  return clamped + rounding + (f32_scale ? magnitude * 0x1p-21 : 0);
}

static void check_matrix(const impl *side, const mxg_recipe *recipe, mxg_dtype dtype,
                         const uint32_t *x_bits, size_t cols, size_t *inside, double *worst) {
  static packed_small p;
  static uint32_t y[8192];
  quantize_small(side, recipe, dtype, x_bits, ROWS, cols, &p);
  dequantize_small(side, recipe, &p, MXG_DTYPE_F32, y);
  const size_t block = recipe_block(recipe);
  for (size_t r = 0; r < ROWS; r++) {
    for (size_t begin = 0; begin < cols; begin += block) {
      const size_t end = begin + block < cols ? begin + block : cols;
      double amax = (double)recipe->amax_floor;
      for (size_t c = begin; c < end; c++)
        amax = fmax(amax, fabs((double)float_of(x_bits[r * cols + c])));
      const double scale = scale_of(recipe, p.scales + r * p.layout.scale_row_bytes, begin / block);
      for (size_t c = begin; c < end; c++) {
        const double x = (double)float_of(x_bits[r * cols + c]);
        const double got = (double)float_of(y[r * cols + c]);
        const double bound = bound_of(recipe, scale, amax, x);
        if (isnan(bound) || !isfinite(got)) continue;
        const double error = fabs(got - x);
        if (error > bound)
          ck_abort_msg("%s %s: x %a decodes to %a, error %a over the bound %a (scale %a)",
                       side->name, recipe_text(recipe), x, got, error, bound, scale);
        if (bound > 0 && error / bound > *worst) *worst = error / bound;
        ++*inside;
      }
    }
  }
}

START_TEST(test_error_bound) {
  generator g = generator_start("test_error_bound");
  static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_BF16, MXG_DTYPE_F16};
  static const values_kind kinds[] = {VALUES_RANDOM, VALUES_PAINTED, VALUES_EXTREME,
                                      VALUES_ZERO_BLOCKS};
  static uint32_t x[8192];
  static uint8_t values[4 * 8192];
  size_t total = 0;
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) {
    size_t inside = 0;
    double worst = 0;
    for (size_t n = 0; n < 24; n++) {
      const mxg_dtype dtype = dtypes[n % 3];
      const size_t cols = 200 + generator_below(&g, 200), count = ROWS * cols;
      values_fill(&g, kinds[n % 4], dtype, 1, count, count, recipe_block(&preset->recipe), values);
      float as_f32[8192];
      ck_assert_int_eq(mxg_to_f32(dtype, values, count, as_f32), MXG_OK);
      memcpy(x, as_f32, count * sizeof x[0]); /* exactly representable in dtype */
      for (int i = 0; i < IMPLS; i++)
        check_matrix(&impls[i], &preset->recipe, dtype, x, cols, &inside, &worst);
    }
    printf("%-24s %7zu elements inside the bound, worst ratio %.3f\n", preset->name, inside, worst);
    fflush(stdout);
    ck_assert_uint_gt(inside, 20000);
    /* a bound that nothing comes near would prove nothing */
    ck_assert_msg(worst > 0.9 && worst <= 1, "%s: worst ratio %g", preset->name, worst);
    total += inside;
  }
  printf("%zu elements, 0 outside\n", total);
}
END_TEST

CHECK_MAIN("error_bound", test_error_bound)
