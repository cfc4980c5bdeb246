/* test_elements.c: one element at a time (sections 1 and 2): library = golden model = oracle.
 * SPDX-License-Identifier: MIT */
#include "check_main.h"
#include "element_inputs.h"
#include "impl.h"
#include "oracle_map.h"
#include "recipes.h"
#include "thin.h"

enum { HALVES = 65536, INPUTS = STRESS_COUNT + HALVES };

static float inputs[INPUTS];
static size_t input_count;
static uint8_t expected[INPUTS], got[INPUTS];

/* The stress list (every bf16 is in it) and every f16. */
static void fill_inputs(void) {
  oracle_init();
  input_count = 0;
  for (size_t i = 0; i < STRESS_COUNT; i += thin())
    inputs[input_count++] = float_of(stress_bits(i));
  for (uint32_t i = 0; i < HALVES; i += thin())
    inputs[input_count++] = float_of(oracle_widen(ORACLE_F16, (uint16_t)i));
}

static uint8_t oracle_code(const mxg_recipe *recipe, uint32_t bits) {
  const oracle_encoding how = oracle_encoding_of(recipe);
  return oracle_encode(&how, bits, 0, bits >> 31 != 0);
}

/* Both implementations against expected[], over the first `count` of x. */
static void check_encode(const mxg_recipe *recipe, const float *x, size_t count) {
  for (int i = 0; i < IMPLS; i++) {
    memset(got, 0xA5, count);
    ck_assert_int_eq(impls[i].encode_f32(recipe, x, count, got), MXG_OK);
    if (memcmp(got, expected, count) == 0) continue;
    size_t at = 0;
    while (got[at] == expected[at]) at++;
    ck_abort_msg("%s %s: %08X gives %02X, oracle %02X", impls[i].name, recipe_text(recipe),
                 (unsigned)bits_of(x[at]), got[at], expected[at]);
  }
}

/* Literal answers: both implementations and the oracle give `want` for x. */
static void check_one(const mxg_recipe *recipe, float x, unsigned want) {
  expected[0] = (uint8_t)want;
  if (oracle_code(recipe, bits_of(x)) != want)
    ck_abort_msg("oracle %s: %08X gives %02X, not %02X", recipe_text(recipe), (unsigned)bits_of(x),
                 oracle_code(recipe, bits_of(x)), want);
  check_encode(recipe, &x, 1);
}

static mxg_recipe with_overflow(mxg_element element, mxg_overflow overflow) {
  mxg_recipe recipe = cast_recipe(element);
  recipe.overflow = overflow;
  return recipe;
}

/* Every input under every policy. Only NaN inputs depend on nan_element, so the oracle answers the
 * others once per overflow. */
static void check_policies(mxg_recipe recipe, const float *x, size_t count) {
  mxg_overflow answered = 0;
  first_policy(&recipe);
  do {
    for (size_t i = 0; i < count; i++) {
      const uint32_t bits = bits_of(x[i]);
      if (recipe.overflow != answered || (bits & 0x7FFFFFFF) > ORACLE_INF)
        expected[i] = oracle_code(&recipe, bits);
    }
    answered = recipe.overflow;
    check_encode(&recipe, x, count);
  } while (next_policy(&recipe));
}

START_TEST(every_input_every_policy) {
  fill_inputs();
  for (int e = 0; e < ELEMENTS; e++)
    check_policies(cast_recipe(element_at(e)), inputs, input_count);
}
END_TEST

/* A smaller maximum: a value of every format, values of none, a subnormal, and less than any. */
START_TEST(every_policy_with_element_max) {
  static float some[INPUTS];
  const float maxima[] = {5.0f, 3.3f, 0x1.8p-8f, 0x1p-140f};
  size_t count = 0;
  fill_inputs();
  for (size_t i = 0; i < input_count; i += 7) some[count++] = inputs[i];
  for (int e = 0; e < ELEMENTS; e++) {
    for (size_t m = 0; m < sizeof maxima / sizeof maxima[0]; m++) {
      mxg_recipe recipe = cast_recipe(element_at(e));
      recipe.element_max = maxima[m];
      check_policies(recipe, some, count);
    }
    /* The format's own maximum, given by name, means the same as 0. */
    mxg_recipe recipe = cast_recipe(element_at(e));
    recipe.element_max = float_of(oracle_format_max(oracle_format_of(recipe.element)));
    check_policies(recipe, some, count);
  }
}
END_TEST

/* bf16 and f16 matrices through the whole quantiser, packing included. */
START_TEST(every_half_every_policy) {
  enum { ROWS = 64, COLS = 1024 };
  static uint16_t halves[HALVES];
  static uint8_t answers[HALVES];
  static uint8_t packed[HALVES];
  const size_t rows = thinned(ROWS), count = rows * COLS;
  oracle_init();
  for (uint32_t i = 0; i < count; i++) halves[i] = (uint16_t)(i * thin());
  for (int f16 = 0; f16 < 2; f16++) {
    const oracle_half kind = f16 ? ORACLE_F16 : ORACLE_BF16;
    const mxg_matrix_view x = {halves, f16 ? MXG_DTYPE_F16 : MXG_DTYPE_BF16, rows, COLS, 0};
    for (int e = 0; e < ELEMENTS; e++) {
      mxg_recipe recipe = cast_recipe(element_at(e));
      first_policy(&recipe);
      do {
        mxg_packed out = {packed, sizeof packed, NULL, 0, {0}};
        for (uint32_t i = 0; i < count; i++) {
          const oracle_encoding how = oracle_encoding_of(&recipe);
          answers[i] = oracle_encode(&how, oracle_widen(kind, halves[i]), 0, halves[i] >> 15);
        }
        for (int i = 0; i < IMPLS; i++) {
          ck_assert_int_eq(impls[i].layout_for(&recipe, rows, COLS, NULL, &out.layout), MXG_OK);
          memset(packed, 0xA5, sizeof packed);
          ck_assert_int_eq(impls[i].quantize(&recipe, &x, NULL, &out, NULL), MXG_OK);
          for (size_t r = 0; r < rows; r++) {
            const uint8_t *row = packed + r * out.layout.payload_stride_bytes;
            for (size_t c = 0; c < COLS; c++) {
              const uint8_t code = packed_code(recipe.element, row, c);
              if (code != answers[r * COLS + c])
                ck_abort_msg("%s %s: %s %04X gives %02X, oracle %02X", impls[i].name,
                             recipe_text(&recipe), f16 ? "f16" : "bf16",
                             (unsigned)halves[r * COLS + c], code, answers[r * COLS + c]);
            }
          }
        }
      } while (next_policy(&recipe));
    }
  }
}
END_TEST

/* The oracle's own table against the two sources that others wrote. */
START_TEST(oracles_agree) {
  fill_inputs();
  oracle_print_skipped();
#if defined(MXGOLD_HAVE_APFLOAT) || defined(MXGOLD_HAVE_CUDA_HEADERS)
  for (int e = 0; e < ELEMENTS; e++) {
    mxg_recipe recipe = cast_recipe(element_at(e));
    do {
      const oracle_encoding how = oracle_encoding_of(&recipe);
      for (size_t i = 0; i < input_count; i++) {
        const uint32_t bits = bits_of(inputs[i]);
        const uint8_t code = oracle_encode(&how, bits, 0, bits >> 31 != 0);
#ifdef MXGOLD_HAVE_APFLOAT
        if (code != oracle_apfloat_encode(&how, bits, 0, bits >> 31 != 0))
          ck_abort_msg("%s: %08X is %02X by table, %02X by APFloat", recipe_text(&recipe),
                       (unsigned)bits, code, oracle_apfloat_encode(&how, bits, 0, bits >> 31 != 0));
#endif
#ifdef MXGOLD_HAVE_CUDA_HEADERS
        if (!oracle_cuda_has(how.format) || (bits & 0x7FFFFFFF) > ORACLE_INF ||
            how.overflow == ORACLE_SATURATE_FINITE)
          continue;
        if (code != oracle_cuda_encode(how.format, how.overflow == ORACLE_SATURATE, bits))
          ck_abort_msg("%s: %08X is %02X by table, %02X by the CUDA headers", recipe_text(&recipe),
                       (unsigned)bits, code,
                       oracle_cuda_encode(how.format, how.overflow == ORACLE_SATURATE, bits));
#endif
      }
      recipe.nan_element = MXG_NAN_ELEMENT_ZERO; /* one NaN policy is enough */
    } while (next_policy(&recipe));
  }
#endif
}
END_TEST

START_TEST(every_code_decodes) {
  uint8_t codes[256];
  float values[256];
  oracle_init();
  for (unsigned c = 0; c < 256; c++) codes[c] = (uint8_t)c;
  for (int e = 0; e < ELEMENTS; e++) {
    const mxg_element element = element_at(e);
    const oracle_format format = oracle_format_of(element);
    for (int i = 0; i < IMPLS; i++) {
      ck_assert_int_eq(impls[i].decode_f32(element, codes, 256, values), MXG_OK);
      for (unsigned c = 0; c < 256; c++) {
        /* Bits above the format's are ignored. */
        const uint8_t code = (uint8_t)(c % oracle_format_codes(format));
        const uint32_t want = oracle_decode(format, code);
#ifdef MXGOLD_HAVE_APFLOAT
        ck_assert_uint_eq(want, oracle_apfloat_decode(format, code));
#endif
#ifdef MXGOLD_HAVE_CUDA_HEADERS
        if (oracle_cuda_has(format)) ck_assert_uint_eq(want, oracle_cuda_decode(format, code));
#endif
        if (bits_of(values[c]) != want)
          ck_abort_msg("%s %s: code %02X is %08X, oracle %08X", impls[i].name,
                       element_name(element), c, (unsigned)bits_of(values[c]), (unsigned)want);
      }
    }
  }
}
END_TEST

START_TEST(every_code_encodes_to_itself) {
  oracle_init();
  for (int e = 0; e < ELEMENTS; e++) {
    mxg_recipe recipe = cast_recipe(element_at(e));
    const oracle_format format = oracle_format_of(recipe.element);
    first_policy(&recipe);
    do {
      for (unsigned c = 0; c < oracle_format_codes(format); c++) {
        const uint8_t code = (uint8_t)c;
        for (int i = 0; i < IMPLS; i++) {
          float value = 0.0f;
          uint8_t back = 0xA5;
          ck_assert_int_eq(impls[i].decode_f32(recipe.element, &code, 1, &value), MXG_OK);
          ck_assert_int_eq(impls[i].encode_f32(&recipe, &value, 1, &back), MXG_OK);
          const uint32_t magnitude = bits_of(value) & 0x7FFFFFFF;
          if (magnitude > ORACLE_INF) {
            if (recipe.nan_element == MXG_NAN_ELEMENT_CODE)
              ck_assert_msg(oracle_is_nan_code(format, back), "%s %s: NaN %02X gives %02X",
                            impls[i].name, recipe_text(&recipe), code, back);
          } else if (magnitude < ORACLE_INF || recipe.overflow != MXG_OVERFLOW_SATURATE) {
            ck_assert_msg(back == code, "%s %s: %02X gives %02X", impls[i].name,
                          recipe_text(&recipe), code, back);
          }
        }
      }
    } while (next_policy(&recipe));
  }
}
END_TEST

START_TEST(TieToEven) {
  static const struct {
    float x;
    uint8_t code;
  } fp4[7] = {{0.25f, 0}, {0.75f, 2}, {1.25f, 2}, {1.75f, 4}, {2.5f, 4}, {3.5f, 6}, {5.0f, 6}};
  oracle_init();
  const mxg_recipe e2m1 = cast_recipe(MXG_ELEMENT_E2M1);
  for (int i = 0; i < 7; i++) {
    check_one(&e2m1, fp4[i].x, fp4[i].code);
    check_one(&e2m1, -fp4[i].x, fp4[i].code | 8u);
  }
  for (int e = 0; e < ELEMENTS; e++) {
    const mxg_recipe recipe = cast_recipe(element_at(e));
    const oracle_format format = oracle_format_of(recipe.element);
    const unsigned sign = oracle_format_codes(format) / 2;
    const int is_fnuz = format == ORACLE_E4M3FNUZ || format == ORACLE_E5M2FNUZ;
    for (unsigned low = 0; low < oracle_format_max_code(format); low++) {
      const double below = float_of(oracle_decode(format, (uint8_t)low));
      const double above = float_of(oracle_decode(format, (uint8_t)(low + 1)));
      const uint32_t tie = bits_of((float)((below + above) / 2)); /* exact */
      const unsigned even = low % 2 == 0 ? low : low + 1;
      const unsigned minus_low = low == 0 && is_fnuz ? 0 : low | sign;
      const unsigned minus_even = even == 0 && is_fnuz ? 0 : even | sign;
      check_one(&recipe, float_of(tie - 1), low);
      check_one(&recipe, float_of(tie), even);
      check_one(&recipe, float_of(tie + 1), low + 1);
      check_one(&recipe, -float_of(tie - 1), minus_low);
      check_one(&recipe, -float_of(tie), minus_even);
      check_one(&recipe, -float_of(tie + 1), (low + 1) | sign);
    }
  }
}
END_TEST

START_TEST(NegZero) {
  static const uint8_t minus_zero[ELEMENTS] = {0x80, 0x00, 0x80, 0x00, 0x08, 0x20, 0x20};
  oracle_init();
  for (int e = 0; e < ELEMENTS; e++) {
    const mxg_recipe recipe = cast_recipe(element_at(e));
    check_one(&recipe, 0.0f, 0x00);
    check_one(&recipe, -0.0f, minus_zero[e]);
    check_one(&recipe, -1e-30f, minus_zero[e]);
    check_one(&recipe, -0x1p-149f, minus_zero[e]);
  }
  for (int i = 0; i < IMPLS; i++) {
    const uint8_t codes[2] = {0x08, 0x80};
    float value = 1.0f;
    ck_assert_int_eq(impls[i].decode_f32(MXG_ELEMENT_E2M1, &codes[0], 1, &value), MXG_OK);
    ck_assert_uint_eq(bits_of(value), 0x80000000);
    ck_assert_int_eq(impls[i].decode_f32(MXG_ELEMENT_E4M3FN, &codes[1], 1, &value), MXG_OK);
    ck_assert_uint_eq(bits_of(value), 0x80000000);
    ck_assert_int_eq(impls[i].decode_f32(MXG_ELEMENT_E4M3FNUZ, &codes[1], 1, &value), MXG_OK);
    ck_assert_uint_eq(bits_of(value), 0x7FC00000);
    ck_assert_int_eq(impls[i].decode_f32(MXG_ELEMENT_E5M2FNUZ, &codes[1], 1, &value), MXG_OK);
    ck_assert_uint_eq(bits_of(value), 0x7FC00000);
  }
}
END_TEST

START_TEST(Subnormal) {
  static const float least[ELEMENTS] = {0x1p-9f, 0x1p-10f, 0x1p-16f, 0x1p-17f,
                                        0.5f,    0.125f,   0.0625f};
  oracle_init();
  for (int i = 0; i < IMPLS; i++) {
    for (unsigned k = 1; k <= 7; k++) {
      const uint8_t codes[2] = {(uint8_t)k, (uint8_t)(k | 0x80)};
      float values[2];
      ck_assert_int_eq(impls[i].decode_f32(MXG_ELEMENT_E4M3FN, codes, 2, values), MXG_OK);
      ck_assert_uint_eq(bits_of(values[0]), bits_of((float)k * 0x1p-9f));
      ck_assert_uint_eq(bits_of(values[1]), bits_of((float)k * -0x1p-9f));
    }
    const uint8_t one = 1;
    float value = 0.0f;
    ck_assert_int_eq(impls[i].decode_f32(MXG_ELEMENT_E2M1, &one, 1, &value), MXG_OK);
    ck_assert_uint_eq(bits_of(value), bits_of(0.5f));
  }
  for (int e = 0; e < ELEMENTS; e++) {
    const mxg_recipe recipe = cast_recipe(element_at(e));
    const uint32_t half = bits_of(least[e] / 2);
    check_one(&recipe, float_of(half), 0);
    check_one(&recipe, float_of(half + 1), 1);
    check_one(&recipe, least[e], 1);
  }
}
END_TEST

START_TEST(TinyShift) {
  const float tiny[] = {1e-22f, 1e-38f, 0x1p-126f, 0x1p-127f, 1e-40f, 1e-44f, 0x1p-149f};
  oracle_init();
  for (int e = 0; e < ELEMENTS; e++) {
    const mxg_recipe recipe = cast_recipe(element_at(e));
    for (size_t i = 0; i < sizeof tiny / sizeof tiny[0]; i++) {
      check_one(&recipe, tiny[i], 0);
      check_one(&recipe, -tiny[i], oracle_code(&recipe, 0x80000000));
    }
  }
}
END_TEST

START_TEST(NanCode) {
  static const struct {
    mxg_element element;
    uint8_t code;
  } nans[] = {{MXG_ELEMENT_E4M3FN, 0x7F},  {MXG_ELEMENT_E4M3FN, 0xFF}, {MXG_ELEMENT_E5M2, 0x7D},
              {MXG_ELEMENT_E5M2, 0x7E},    {MXG_ELEMENT_E5M2, 0x7F},   {MXG_ELEMENT_E5M2, 0xFD},
              {MXG_ELEMENT_E5M2, 0xFE},    {MXG_ELEMENT_E5M2, 0xFF},   {MXG_ELEMENT_E4M3FNUZ, 0x80},
              {MXG_ELEMENT_E5M2FNUZ, 0x80}};
  oracle_init();
  for (int i = 0; i < IMPLS; i++) {
    for (size_t n = 0; n < sizeof nans / sizeof nans[0]; n++) {
      float value = 0.0f;
      ck_assert_int_eq(impls[i].decode_f32(nans[n].element, &nans[n].code, 1, &value), MXG_OK);
      ck_assert_uint_eq(bits_of(value), 0x7FC00000);
    }
  }
  const float nan = float_of(0x7FC00000), minus_nan = float_of(0xFFC00000),
              signalling = float_of(0x7F800001);
  static const unsigned codes[4][2] = {{0x7F, 0xFF}, {0x80, 0x80}, {0x7F, 0xFF}, {0x80, 0x80}};
  for (int e = 0; e < 4; e++) {
    const mxg_recipe recipe = cast_recipe(element_at(e));
    check_one(&recipe, nan, codes[e][0]);
    check_one(&recipe, signalling, codes[e][0]);
    check_one(&recipe, minus_nan, codes[e][1]);
  }
  mxg_recipe fp4 = cast_recipe(MXG_ELEMENT_E2M1);
  check_one(&fp4, nan, 0x7);
  check_one(&fp4, minus_nan, 0xF);
  fp4.nan_element = MXG_NAN_ELEMENT_POS_MAX;
  check_one(&fp4, minus_nan, 0x7);
  fp4.nan_element = MXG_NAN_ELEMENT_NEG_MAX;
  check_one(&fp4, nan, 0xF);
  fp4.nan_element = MXG_NAN_ELEMENT_ZERO;
  check_one(&fp4, minus_nan, 0x0);
}
END_TEST

START_TEST(Overflow) {
  static const struct {
    mxg_element element;
    uint32_t x;
    uint8_t saturate, saturate_finite, nonfinite;
  } cases[] = {
      {MXG_ELEMENT_E4M3FN, 0x43E00000 /* 448 */, 0x7E, 0x7E, 0x7E},
      {MXG_ELEMENT_E4M3FN, 0x43E80000 /* 464 */, 0x7E, 0x7E, 0x7E},
      {MXG_ELEMENT_E4M3FN, 0x43E80001 /* 464 + ulp */, 0x7E, 0x7E, 0x7F},
      {MXG_ELEMENT_E4M3FN, 0x43E88000 /* 465 */, 0x7E, 0x7E, 0x7F},
      {MXG_ELEMENT_E4M3FN, 0x447A0000 /* 1000 */, 0x7E, 0x7E, 0x7F},
      {MXG_ELEMENT_E4M3FN, 0x7F7FFFFF, 0x7E, 0x7E, 0x7F},
      {MXG_ELEMENT_E4M3FN, 0x7F800000, 0x7E, 0x7F, 0x7F},
      {MXG_ELEMENT_E4M3FN, 0xC47A0000 /* -1000 */, 0xFE, 0xFE, 0xFF},
      {MXG_ELEMENT_E4M3FN, 0xFF800000, 0xFE, 0xFF, 0xFF},
      {MXG_ELEMENT_E4M3FNUZ, 0x43700000 /* 240 */, 0x7F, 0x7F, 0x7F},
      {MXG_ELEMENT_E4M3FNUZ, 0x4377FFFF /* 248 - ulp */, 0x7F, 0x7F, 0x7F},
      {MXG_ELEMENT_E4M3FNUZ, 0x43780000 /* 248 */, 0x7F, 0x7F, 0x80},
      {MXG_ELEMENT_E4M3FNUZ, 0xC3780000 /* -248 */, 0xFF, 0xFF, 0x80},
      {MXG_ELEMENT_E4M3FNUZ, 0xFF800000, 0xFF, 0x80, 0x80},
      {MXG_ELEMENT_E5M2, 0x47600000 /* 57344 */, 0x7B, 0x7B, 0x7B},
      {MXG_ELEMENT_E5M2, 0x476FFFFF /* 61440 - ulp */, 0x7B, 0x7B, 0x7B},
      {MXG_ELEMENT_E5M2, 0x47700000 /* 61440 */, 0x7B, 0x7B, 0x7C},
      {MXG_ELEMENT_E5M2, 0xC7700000 /* -61440 */, 0xFB, 0xFB, 0xFC},
      {MXG_ELEMENT_E5M2, 0x7F800000, 0x7B, 0x7C, 0x7C},
      {MXG_ELEMENT_E5M2FNUZ, 0x476FFFFF, 0x7F, 0x7F, 0x7F},
      {MXG_ELEMENT_E5M2FNUZ, 0x47700000, 0x7F, 0x7F, 0x80},
      {MXG_ELEMENT_E5M2FNUZ, 0xFF800000, 0xFF, 0x80, 0x80},
  };
  oracle_init();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    mxg_recipe recipe = with_overflow(cases[i].element, MXG_OVERFLOW_SATURATE);
    check_one(&recipe, float_of(cases[i].x), cases[i].saturate);
    recipe = with_overflow(cases[i].element, MXG_OVERFLOW_SATURATE_FINITE);
    check_one(&recipe, float_of(cases[i].x), cases[i].saturate_finite);
    recipe = with_overflow(cases[i].element, MXG_OVERFLOW_NONFINITE);
    check_one(&recipe, float_of(cases[i].x), cases[i].nonfinite);
  }
  static const uint8_t max_code[3] = {0x07, 0x1F, 0x1F};
  static const uint8_t sign[3] = {0x08, 0x20, 0x20};
  for (int e = 4; e < ELEMENTS; e++) {
    const mxg_recipe recipe = cast_recipe(element_at(e));
    check_one(&recipe, 1000.0f, max_code[e - 4]);
    check_one(&recipe, float_of(0x7F800000), max_code[e - 4]);
    check_one(&recipe, float_of(0xFF800000), (unsigned)max_code[e - 4] | sign[e - 4]);
  }
}
END_TEST

/* Inputs that come out wrong when they pass through bf16 or f16 on the way. Overflow counts as a code
 * here: just above 464 is a midpoint too. */
START_TEST(DoubleRound) {
  static const struct {
    oracle_half kind;
    unsigned count;
  } cases[2] = {{ORACLE_BF16, 762}, {ORACLE_F16, 254}};
  oracle_init();
  const mxg_recipe recipe = with_overflow(MXG_ELEMENT_E4M3FN, MXG_OVERFLOW_NONFINITE);
  for (int k = 0; k < 2; k++) {
    unsigned count = 0;
    for (size_t i = 0; i < STRESS_COUNT; i++) {
      const uint32_t bits = stress_bits(i);
      if ((bits & 0x7FFFFFFF) > ORACLE_INF) continue;
      const uint32_t rounded = oracle_widen(cases[k].kind, oracle_narrow(cases[k].kind, bits));
      const uint8_t direct = oracle_code(&recipe, bits);
      if (direct == oracle_code(&recipe, rounded)) continue;
      count++;
      check_one(&recipe, float_of(bits), direct);
    }
    ck_assert_uint_eq(count, cases[k].count);
  }
}
END_TEST

START_TEST(NibbleOrder) {
  const float x[3] = {1.0f, 2.0f, -6.0f};
  for (int i = 0; i < IMPLS; i++) {
    const mxg_recipe recipe = cast_recipe(MXG_ELEMENT_E2M1);
    uint8_t codes[2] = {0xA5, 0xA5};
    mxg_packed out = {codes, 1, NULL, 0, {0}};
    const mxg_matrix_view two = {x, MXG_DTYPE_F32, 1, 2, 0};
    ck_assert_int_eq(impls[i].layout_for(&recipe, 1, 2, NULL, &out.layout), MXG_OK);
    ck_assert_int_eq(impls[i].quantize(&recipe, &two, NULL, &out, NULL), MXG_OK);
    ck_assert_uint_eq(codes[0], 0x42);
    ck_assert_uint_eq(codes[1], 0xA5);

    const mxg_matrix_view three = {x, MXG_DTYPE_F32, 1, 3, 0};
    out.codes_capacity = 2;
    ck_assert_int_eq(impls[i].layout_for(&recipe, 1, 3, NULL, &out.layout), MXG_OK);
    ck_assert_int_eq(impls[i].quantize(&recipe, &three, NULL, &out, NULL), MXG_OK);
    ck_assert_uint_eq(codes[0], 0x42);
    ck_assert_uint_eq(codes[1], 0x0F);

    codes[1] = 0xBF; /* the unused nibble is ignored when it is read */
    float y[3] = {0.0f, 0.0f, 0.0f};
    const mxg_packed_view in = {codes, 2, NULL, 0, out.layout};
    const mxg_matrix back = {y, MXG_DTYPE_F32, 1, 3, 0};
    ck_assert_int_eq(impls[i].dequantize(&recipe, &in, &back, NULL), MXG_OK);
    ck_assert_mem_eq(y, x, sizeof x);
  }
}
END_TEST

/* FP6 codes lie in a little-endian bit stream: four codes in three bytes, a tail of zeros. */
START_TEST(Fp6BitOrder) {
  const float x[5] = {0.125f, 0.25f, -7.5f, 1.0f, -0.125f}; /* E2M3: 01 02 3F 08 21 */
  const uint8_t want[4] = {0x81, 0xF0, 0x23, 0x21};
  for (int i = 0; i < IMPLS; i++) {
    const mxg_recipe recipe = cast_recipe(MXG_ELEMENT_E2M3);
    uint8_t codes[4] = {0xA5, 0xA5, 0xA5, 0xA5};
    mxg_packed out = {codes, 4, NULL, 0, {0}};
    const mxg_matrix_view view = {x, MXG_DTYPE_F32, 1, 5, 0};
    ck_assert_int_eq(impls[i].layout_for(&recipe, 1, 5, NULL, &out.layout), MXG_OK);
    ck_assert_int_eq(impls[i].quantize(&recipe, &view, NULL, &out, NULL), MXG_OK);
    ck_assert_mem_eq(codes, want, sizeof want);
  }
}
END_TEST

CHECK_MAIN("elements", oracles_agree, every_input_every_policy, every_policy_with_element_max,
           every_half_every_policy, every_code_decodes, every_code_encodes_to_itself, TieToEven,
           NegZero, Subnormal, TinyShift, NanCode, Overflow, DoubleRound, NibbleOrder, Fp6BitOrder)
