/* test_fma.c: the library's fused multiply-add against the C library's, through mxg_combine.
 *
 * A source of E5M2 codes of 1.0 with f32 scales s in blocks of one element and a weight w adds
 * fma(s, w, acc). The first source, with w = 1, sets acc = c; the second gives fma(a, b, c), with a
 * any float per column and b any float per row. The same sources without weights give fma(t, s, acc)
 * with t any code.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "check_main.h"
#include "element_inputs.h"
#include "generator.h"
#include "impl.h"
#include "oracle_map.h"
#include "thin.h"

enum { ROWS = 2048, COLS = 64, SLOT = COLS + 4 * COLS, BATCHES = 80 };

static uint8_t slots[2][ROWS][SLOT];
static float weights[ROWS][2];
static float a_of[ROWS][COLS], c_of[ROWS][COLS];
static float results[ROWS][COLS];

static float with_exponent(generator *r, int exponent) {
  const uint32_t field = exponent < 1 ? 0 : exponent > 254 ? 254 : (uint32_t)exponent;
  return float_of((generator_bits(r) & 0x807FFFFF) | field << 23);
}

/* A float with few significant bits, so that products and sums meet ties. */
static float with_few_bits(generator *r, int exponent) {
  return float_of(bits_of(with_exponent(r, exponent)) &
                  ~((1u << (8 + generator_bits(r) % 15)) - 1u));
}

static int exponent_of(float x) {
  return (int)(bits_of(x) >> 23 & 255);
}

/* c for a given product a * b, by kinds: anything, cancelling, near a tie, far away, subnormal. */
static float addend(generator *r, float a, float b, unsigned kind) {
  const float product = a * b;
  const int exponent = exponent_of(a) + exponent_of(b) - 127;
  const uint32_t sign = generator_bits(r) & 0x80000000u, bits = generator_bits(r);
  switch (kind) {
    case 0: return float_of(bits);
    case 1: return float_of((bits_of(product) ^ 0x80000000u) + bits % 5 - 2); /* cancels */
    case 2: return with_few_bits(r, exponent + 22 + (int)(bits % 5));
    case 3: return with_few_bits(r, exponent - 27 + (int)(bits % 8));
    case 4: return float_of(sign | bits >> (9 + generator_below(r, 20))); /* tiny */
    case 5: return with_exponent(r, exponent + (int)(bits % 60) - 30);
    case 6: return float_of(sign | (uint32_t)(exponent > 0 ? exponent & 255 : 0) << 23);
    default: return float_of(bits % 3 != 0 ? sign : sign | ORACLE_INF);
  }
}

/* Exponents of a and b by row: anything, a product near 1, one near the subnormals, one near the
 * overflow. */
static void operands(generator *r, size_t row) {
  const unsigned kind = generator_bits(r) % 4;
  const int eb = 1 + (int)(generator_bits(r) % 254);
  float b = kind == 0 ? float_of(generator_bits(r)) : with_exponent(r, eb);
  if (generator_bits(r) % 2) b = with_few_bits(r, exponent_of(b));
  weights[row][1] = b;
  for (size_t col = 0; col < COLS; col++) {
    const int wanted = kind == 1   ? 127
                       : kind == 2 ? (int)(generator_bits(r) % 60) - 30
                                   : 250 + (int)(generator_bits(r) % 8);
    float a =
        kind == 0 ? float_of(generator_bits(r)) : with_exponent(r, wanted + 127 - exponent_of(b));
    if (generator_bits(r) % 2) a = with_few_bits(r, exponent_of(a));
    a_of[row][col] = a;
    c_of[row][col] = addend(r, a, b, generator_bits(r) % 8);
  }
}

static void put_scale(uint8_t *slot, size_t col, float scale) {
  const uint32_t bits = bits_of(scale);
  for (int i = 0; i < 4; i++) slot[COLS + 4 * col + (size_t)i] = (uint8_t)(bits >> 8 * i);
}

static void fill_slots(uint8_t code) {
  for (size_t row = 0; row < ROWS; row++) {
    weights[row][0] = 1.0f;
    for (size_t col = 0; col < COLS; col++) {
      slots[0][row][col] = 0x3C; /* 1.0 */
      slots[1][row][col] = code;
      put_scale(slots[0][row], col, c_of[row][col]);
      put_scale(slots[1][row], col, a_of[row][col]);
    }
  }
}

static void combine(const impl *which, const mxg_recipe *recipe, const float *weight) {
  static const void *pointers[ROWS][2];
  mxg_layout_options options;
  mxg_layout layout;
  memset(&options, 0, sizeof options);
  options.placement = MXG_PLACEMENT_SLOT;
  ck_assert_int_eq(which->layout_for(recipe, ROWS, COLS, &options, &layout), MXG_OK);
  ck_assert_uint_eq(layout.slot_bytes, SLOT);
  for (size_t row = 0; row < ROWS; row++) {
    pointers[row][0] = slots[0][row];
    pointers[row][1] = slots[1][row];
  }
  const mxg_matrix y = {results, MXG_DTYPE_F32, ROWS, COLS, 0};
  ck_assert_int_eq(which->combine(recipe, &pointers[0][0], 2, weight, &layout, 0, COLS, &y, NULL),
                   MXG_OK);
}

static uint32_t canonical(float x) {
  return x != x ? ORACLE_NAN : bits_of(x);
}

static void check_fma(const char *name, float a, float b, float c, float result) {
  const float want = fmaf(a, b, fmaf(c, 1.0f, 0.0f));
  if (bits_of(result) != canonical(want))
    ck_abort_msg("%s: fma(%08X, %08X, %08X) gives %08X, the C library %08X", name,
                 (unsigned)bits_of(a), (unsigned)bits_of(b), (unsigned)bits_of(c),
                 (unsigned)bits_of(result), (unsigned)canonical(want));
}

static mxg_recipe recipe_for(mxg_accumulate accumulate) {
  mxg_recipe recipe = f32_recipe(MXG_ELEMENT_E5M2, MXG_SCALE_MATH_MUL, MXG_APPLY_DIV, 1);
  recipe.accumulate = accumulate;
  return recipe;
}

/* 80 x 2048 x 64 = 10.5 million triples each. */
START_TEST(fma_of_10_million_triples) {
  const mxg_recipe recipe = recipe_for(MXG_ACCUMULATE_FMA);
  generator r = generator_start("fma");
  oracle_init();
  oracle_print_skipped();
  for (size_t batch = 0; batch < thinned(BATCHES); batch++) {
    for (size_t row = 0; row < ROWS; row++) operands(&r, row);
    fill_slots(0x3C);
    for (int i = 0; i < IMPLS; i++) {
      combine(&impls[i], &recipe, &weights[0][0]);
      for (size_t row = 0; row < ROWS; row++)
        for (size_t col = 0; col < COLS; col++)
          check_fma(impls[i].name, a_of[row][col], weights[row][1], c_of[row][col],
                    results[row][col]);
    }
#ifdef MXGOLD_HAVE_APFLOAT
    for (size_t row = 0; row < ROWS; row += 16) /* is the C library's fmaf itself right? */
      for (size_t col = 0; col < COLS; col++) {
        const float a = a_of[row][col], b = weights[row][1], c = c_of[row][col];
        ck_assert_uint_eq(canonical(fmaf(a, b, c)),
                          oracle_apfloat_fma(bits_of(a), bits_of(b), bits_of(c)));
      }
#endif
  }
}
END_TEST

/* fma(t, s, acc): every finite code as t. */
START_TEST(fma_of_codes_and_scales) {
  const mxg_recipe recipe = recipe_for(MXG_ACCUMULATE_FMA);
  generator r = generator_start("fma of codes");
  oracle_init();
  for (unsigned code = 0; code < 256; code += 5 * thin()) {
    const float t = float_of(oracle_decode(ORACLE_E5M2, (uint8_t)code));
    for (size_t row = 0; row < ROWS; row++) {
      operands(&r, row);
      for (size_t col = 0; col < COLS; col++)
        c_of[row][col] = addend(&r, a_of[row][col], t, generator_bits(&r) % 8);
    }
    fill_slots((uint8_t)code);
    for (int i = 0; i < IMPLS; i++) {
      combine(&impls[i], &recipe, NULL);
      for (size_t row = 0; row < ROWS; row++)
        for (size_t col = 0; col < COLS; col++)
          check_fma(impls[i].name, a_of[row][col], t, c_of[row][col], results[row][col]);
    }
  }
}
END_TEST

/* mul_add rounds twice. `volatile` keeps a compiler from fusing the two in this test. */
START_TEST(mul_add_rounds_twice) {
  const mxg_recipe recipe = recipe_for(MXG_ACCUMULATE_MUL_ADD);
  generator r = generator_start("mul_add");
  unsigned differ = 0;
  oracle_init();
  for (size_t batch = 0; batch < thinned(8); batch++) {
    for (size_t row = 0; row < ROWS; row++) operands(&r, row);
    fill_slots(0x3C);
    for (int i = 0; i < IMPLS; i++) {
      combine(&impls[i], &recipe, &weights[0][0]);
      for (size_t row = 0; row < ROWS; row++) {
        for (size_t col = 0; col < COLS; col++) {
          const float a = a_of[row][col], b = weights[row][1];
          volatile float product = a * b;
          volatile float acc = 0.0f + c_of[row][col];
          volatile float sum = acc + product;
          if (bits_of(results[row][col]) != canonical(sum))
            ck_abort_msg("%s: %08X + %08X * %08X gives %08X, not %08X", impls[i].name,
                         (unsigned)bits_of(c_of[row][col]), (unsigned)bits_of(a),
                         (unsigned)bits_of(b), (unsigned)bits_of(results[row][col]),
                         (unsigned)canonical(sum));
          differ += canonical(sum) != canonical(fmaf(a, b, c_of[row][col]));
        }
      }
    }
  }
  ck_assert_uint_gt(differ, 1000); /* or the inputs would not tell the two apart */
}
END_TEST

CHECK_MAIN("fma", fma_of_10_million_triples, fma_of_codes_and_scales, mul_add_rounds_twice)
