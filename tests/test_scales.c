/* test_scales.c: E8M0 bytes from amax and from f32 scales, and what each is worth (sections 4 and 5):
 * library = golden model = oracle.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "check_main.h"
#include "element_inputs.h"
#include "impl.h"
#include "oracle_map.h"
#include "recipes.h"
#include "thin.h"

enum { HALVES = 65536, RULES = 7 };

static float amaxes[HALVES];
static size_t amax_count;
static uint8_t expected[HALVES], got[HALVES];

static void fill_bf16(void) {
  oracle_init();
  amax_count = 0;
  for (uint32_t i = 0; i < HALVES; i += thin()) amaxes[amax_count++] = float_of(i << 16);
}

static int is_rceil(mxg_rule rule) {
  return rule == MXG_RULE_RCEIL || rule == MXG_RULE_RCEIL_BUMP;
}

/* Both implementations' bytes for amax[0..count) against expected[]. */
static void check_bytes(const mxg_recipe *recipe, const float *amax, size_t count) {
  for (int i = 0; i < IMPLS; i++) {
    memset(got, 0xA5, count);
    ck_assert_int_eq(impls[i].e8m0_from_amax(recipe, amax, count, got), MXG_OK);
    if (memcmp(got, expected, count) == 0) continue;
    size_t at = 0;
    while (got[at] == expected[at]) at++;
    ck_abort_msg("%s %s: amax %08X gives %02X, oracle %02X", impls[i].name, recipe_text(recipe),
                 (unsigned)bits_of(amax[at]), got[at], expected[at]);
  }
}

static void check_all_bytes(const mxg_recipe *recipe, const float *amax, size_t count) {
  for (size_t i = 0; i < count; i++) expected[i] = oracle_e8m0_of(recipe, bits_of(amax[i]));
  check_bytes(recipe, amax, count);
}

/* A literal answer: both implementations and the oracle. */
static void check_byte(const mxg_recipe *recipe, float amax, unsigned want) {
  const unsigned oracle = oracle_e8m0_of(recipe, bits_of(amax));
  if (oracle != want)
    ck_abort_msg("oracle %s: amax %08X gives %02X, not %02X", recipe_text(recipe),
                 (unsigned)bits_of(amax), oracle, want);
  expected[0] = (uint8_t)want;
  check_bytes(recipe, &amax, 1);
}

static int inf_scales(mxg_rule rule) {
  return is_rceil(rule) ? 2 : 3;
}

/* All bf16 amax, both signs, NaN and Inf too: so every mantissa of every exponent. */
START_TEST(ScaleRule) {
  fill_bf16();
  for (int e = 0; e < ELEMENTS; e++) {
    for (int rule = 1; rule <= RULES; rule++) {
      mxg_recipe recipe = e8m0_recipe(element_at(e), (mxg_rule)rule, 32);
      for (int inf = 1; inf <= inf_scales(recipe.rule); inf++) {
        recipe.inf_scale = (mxg_inf_scale)inf;
        check_all_bytes(&recipe, amaxes, amax_count);
      }
    }
  }
}
END_TEST

/* element_max moves rceil and rceil_bump and nothing else. */
START_TEST(element_max_in_rules) {
  const float maxima[] = {6.0f, 5.0f, 3.3f, 1.0f, 0x1p-100f, 0x1p-140f};
  fill_bf16();
  for (int e = 0; e < ELEMENTS; e++) {
    for (int rule = 1; rule <= RULES; rule++) {
      mxg_recipe recipe = e8m0_recipe(element_at(e), (mxg_rule)rule, 32);
      for (size_t i = 0; i < amax_count; i++)
        expected[i] = oracle_e8m0_of(&recipe, bits_of(amaxes[i]));
      for (size_t m = 0; m < sizeof maxima / sizeof maxima[0]; m++) {
        recipe.element_max = maxima[m];
        recipe.inf_scale = m % 2 ? MXG_INF_SCALE_MAX : MXG_INF_SCALE_NAN;
        if (is_rceil(recipe.rule)) {
          check_all_bytes(&recipe, amaxes, amax_count);
        } else if (recipe.inf_scale == MXG_INF_SCALE_NAN) {
          check_bytes(&recipe, amaxes, amax_count);
        }
      }
    }
  }
}
END_TEST

START_TEST(KnownAnswers) {
  static const struct {
    const char *name;
    mxg_element element;
    mxg_rule rule;
    uint8_t bytes[4]; /* for amax 1.5, 1.75, 6, 448 */
  } rows[] = {{"rceil fp4", MXG_ELEMENT_E2M1, MXG_RULE_RCEIL, {125, 126, 127, 134}},
              {"even fp4", MXG_ELEMENT_E2M1, MXG_RULE_EVEN, {125, 126, 127, 134}},
              {"half fp4", MXG_ELEMENT_E2M1, MXG_RULE_HALF, {126, 126, 128, 134}},
              {"rceil fp8", MXG_ELEMENT_E4M3FN, MXG_RULE_RCEIL, {119, 119, 121, 127}},
              {"even21 fp8", MXG_ELEMENT_E4M3FN, MXG_RULE_EVEN21, {119, 120, 121, 128}}};
  const float amax[4] = {1.5f, 1.75f, 6.0f, 448.0f};
  const float flt_max = float_of(0x7F7FFFFF), floor_1e10 = float_of(0x2EDBE6FF);
  oracle_init();
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    const mxg_recipe recipe = e8m0_recipe(rows[r].element, rows[r].rule, 32);
    for (int i = 0; i < 4; i++) check_byte(&recipe, amax[i], rows[r].bytes[i]);
  }
  mxg_recipe recipe = e8m0_recipe(MXG_ELEMENT_E2M1, MXG_RULE_RCEIL, 32);
  check_byte(&recipe, flt_max, 0xFD);
  recipe = e8m0_recipe(MXG_ELEMENT_E4M3FN, MXG_RULE_RCEIL, 32);
  check_byte(&recipe, flt_max, 0xF7);
  recipe = e8m0_recipe(MXG_ELEMENT_E2M1, MXG_RULE_RCEIL_BUMP, 32);
  check_byte(&recipe, floor_1e10, 92);
  recipe = e8m0_recipe(MXG_ELEMENT_E4M3FN, MXG_RULE_RCEIL_BUMP, 32);
  check_byte(&recipe, floor_1e10, 85);
  recipe = e8m0_recipe(MXG_ELEMENT_E4M3FNUZ, MXG_RULE_RCEIL_BUMP, 32);
  check_byte(&recipe, floor_1e10, 86);

  /* A finite block just below 2^128 reaches inf_scale. */
  recipe = e8m0_recipe(MXG_ELEMENT_E4M3FN, MXG_RULE_CEIL, 32);
  check_byte(&recipe, float_of(0x7F000000), 254 - 8);
  check_byte(&recipe, float_of(0x7F000001), 0xFF);
  recipe.rule = MXG_RULE_HALF;
  check_byte(&recipe, float_of(0x7F3FFFFF), 254 - 8);
  check_byte(&recipe, float_of(0x7F400000), 0xFF);
  recipe.inf_scale = MXG_INF_SCALE_FIELD;
  check_byte(&recipe, float_of(0x7F400000), 255 - 8);
  recipe.inf_scale = MXG_INF_SCALE_MAX;
  check_byte(&recipe, float_of(0x7F400000), 0xFE);
  recipe = e8m0_recipe(MXG_ELEMENT_E2M1, MXG_RULE_EVEN, 32);
  check_byte(&recipe, float_of(0x7F5FFFFF), 254 - 2);
  check_byte(&recipe, float_of(0x7F600000), 0xFF);
}
END_TEST

/* rceil against the exact max(0, 127 + ceil(log2(amax / max))): every amax within 3 ulp of a place
 * where the exact byte changes, so any difference but the known one would show. */
START_TEST(RceilException) {
  static const uint32_t exception[ELEMENTS] = {0x04600001, 0x03F00001, 0x07E00001, 0x07E00001,
                                               0x01400001, 0x01700001, 0x02600001};
  oracle_init();
  for (int e = 0; e < ELEMENTS; e++) {
    const mxg_recipe recipe = e8m0_recipe(element_at(e), MXG_RULE_RCEIL, 32);
    const oracle_format format = oracle_format_of(recipe.element);
    unsigned differences = 0;
    for (int k = -300; k <= 300; k++) {
      const uint32_t edge = oracle_scale(oracle_format_max(format), k);
      if (edge < 4 || edge > 0x7F7FFFFB) continue;
      for (uint32_t bits = edge - 3; bits <= edge + 3; bits++) {
        const int exact = oracle_e8m0_exact_ceil(format, bits);
        const uint8_t byte = oracle_e8m0_of(&recipe, bits);
        check_byte(&recipe, float_of(bits), byte);
        if (byte == exact) continue;
        differences++;
        ck_assert_uint_eq(bits, exception[e]);
      }
    }
    ck_assert_uint_eq(differences, 1);
  }
}
END_TEST

START_TEST(ScaleBoundary) {
  static const uint32_t mantissas[] = {0x400000, 0x400001, 0x3FFFFF, 0x5FFFFF, 0x600000,
                                       0x600001, 0x6FFFFF, 0x700000, 0x77FFFF, 0x780000,
                                       0x000000, 0x000001, 0x7FFFFF, 0x7FFFFE};
  oracle_init();
  for (int e = 0; e < ELEMENTS; e++) {
    for (int rule = 1; rule <= RULES; rule++) {
      mxg_recipe recipe = e8m0_recipe(element_at(e), (mxg_rule)rule, 32);
      size_t count = 0;
      for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (size_t m = 0; m < sizeof mantissas / sizeof mantissas[0]; m++)
          amaxes[count++] = float_of(exponent << 23 | mantissas[m]);
      for (int inf = 1; inf <= inf_scales(recipe.rule); inf++) {
        recipe.inf_scale = (mxg_inf_scale)inf;
        check_all_bytes(&recipe, amaxes, count);
      }
    }
  }
  /* The exponent field, where log2f rounds up to the next power of two. */
  const mxg_recipe floor_rule = e8m0_recipe(MXG_ELEMENT_E2M1, MXG_RULE_FLOOR, 32);
  unsigned wrong = 0;
  for (uint32_t exponent = 10; exponent < 255; exponent++) {
    for (uint32_t below = 1; below <= 64; below++) {
      const uint32_t bits = (exponent << 23) - below;
      if (floorf(log2f(float_of(bits))) == (float)((int)exponent - 128)) continue;
      wrong++;
      check_byte(&floor_rule, float_of(bits), exponent - 1 - 2);
    }
  }
  ck_assert_uint_gt(wrong, 0);
}
END_TEST

/* With element_max 1 the divided amax is amax itself: any mantissa bit at all must bump. */
START_TEST(RceilMask) {
  oracle_init();
  for (int e = 0; e < ELEMENTS; e++) {
    for (int bump = 0; bump < 2; bump++) {
      mxg_recipe recipe =
          e8m0_recipe(element_at(e), bump ? MXG_RULE_RCEIL_BUMP : MXG_RULE_RCEIL, 32);
      recipe.element_max = 1.0f;
      for (uint32_t exponent = 1; exponent < 254; exponent++) {
        check_byte(&recipe, float_of(exponent << 23), exponent);
        for (int bit = 0; bit < 23; bit++)
          check_byte(&recipe, float_of(exponent << 23 | 1u << bit), exponent + 1);
      }
      check_byte(&recipe, 1.125f, 128);
      check_byte(&recipe, 1.25f, 128);
      check_byte(&recipe, 5.0f, 130);
      for (int bit = 0; bit < 23; bit++) /* subnormal: above 2^-127, or at all */
        check_byte(&recipe, float_of(1u << bit), bump ? 1 : 0);
      check_byte(&recipe, float_of(0x400001), 1);
    }
  }
}
END_TEST

START_TEST(E8M0Encode) {
  fill_bf16();
  for (int e = 0; e < ELEMENTS; e++) {
    for (int rule = 1; rule <= RULES; rule++) {
      mxg_recipe recipe = e8m0_recipe(element_at(e), (mxg_rule)rule, 32);
      const int emax = mxg_element_traits(recipe.element).emax;
      for (int inf = 1; inf <= inf_scales(recipe.rule); inf++) {
        recipe.inf_scale = (mxg_inf_scale)inf;
        const unsigned inf_byte = inf == MXG_INF_SCALE_NAN   ? 0xFFu
                                  : inf == MXG_INF_SCALE_MAX ? 0xFEu
                                                             : 255u - (unsigned)emax;
        check_byte(&recipe, 0.0f, 0);
        check_byte(&recipe, -0.0f, 0);
        check_byte(&recipe, -1.0f, oracle_e8m0_of(&recipe, bits_of(1.0f)));
        check_byte(&recipe, float_of(0x7F800000), inf_byte);
        check_byte(&recipe, float_of(0xFF800000), inf_byte);
        check_byte(&recipe, float_of(0x7FC00000), 0xFF);
        check_byte(&recipe, float_of(0xFF800001), 0xFF);
      }
    }
  }
}
END_TEST

/* f32 scales as E8M0: the rule applied to fl(s * max), never the bits of s. */
START_TEST(NonPow2AsE8M0) {
  static float scales[HALVES + 4096];
  size_t count = 0;
  oracle_init();
  for (uint32_t i = 0; i < HALVES; i += thin())
    scales[count++] = float_of(i << 16 | (i * 40503u & 0xFFFF));
  for (uint32_t i = 0; i < 256; i++) scales[count++] = float_of(i << 23);
  for (uint32_t i = 0; i < 255; i++) scales[count++] = float_of((i << 23) + 1);
  for (uint32_t i = 1; i < 256; i++) scales[count++] = float_of((i << 23) - 1);
  for (int e = 0; e < ELEMENTS; e++) {
    for (int rule = 1; rule <= RULES; rule++) {
      for (int with_max = 0; with_max < 2; with_max++) {
        mxg_recipe recipe = e8m0_recipe(element_at(e), (mxg_rule)rule, 32);
        recipe.element_max = with_max ? 5.0f : 0.0f;
        recipe.inf_scale = with_max ? MXG_INF_SCALE_MAX : MXG_INF_SCALE_NAN;
        const uint32_t max =
            with_max ? bits_of(5.0f) : oracle_format_max(oracle_format_of(recipe.element));
        for (int i = 0; i < IMPLS; i++) {
          static uint8_t bytes[HALVES + 4096];
          ck_assert_int_eq(impls[i].e8m0_from_scale(&recipe, scales, count, bytes), MXG_OK);
          for (size_t n = 0; n < count; n++) {
            const uint8_t want = oracle_e8m0_of(&recipe, oracle_mul(bits_of(scales[n]), max));
            if (bytes[n] != want)
              ck_abort_msg("%s %s: scale %08X gives %02X, oracle %02X", impls[i].name,
                           recipe_text(&recipe), (unsigned)bits_of(scales[n]), bytes[n], want);
          }
        }
      }
    }
  }
  const float literal[5] = {1.0f, 0x1p-20f, 1.5f, 3.0f, -0.75f};
  const uint8_t want[5] = {127, 107, 128, 129, 127};
  const mxg_recipe recipe = e8m0_recipe(MXG_ELEMENT_E4M3FN, MXG_RULE_RCEIL, 128);
  for (int i = 0; i < IMPLS; i++) {
    uint8_t bytes[5];
    ck_assert_int_eq(impls[i].e8m0_from_scale(&recipe, literal, 5, bytes), MXG_OK);
    ck_assert_mem_eq(bytes, want, sizeof want);
  }
}
END_TEST

/* Others know rounding to a power of two, which is what floor, ceil and, with element_max 1, rceil
 * are made of. */
START_TEST(e8m0_by_apfloat) {
  oracle_init();
  oracle_print_skipped();
#ifdef MXGOLD_HAVE_APFLOAT
  const mxg_recipe floor_rule = e8m0_recipe(MXG_ELEMENT_E2M1, MXG_RULE_FLOOR, 32);
  const mxg_recipe ceil_rule = e8m0_recipe(MXG_ELEMENT_E2M1, MXG_RULE_CEIL, 32);
  for (size_t i = 0; i < STRESS_COUNT / 2; i++) {
    const uint32_t bits = stress_bits(i);
    if (bits < 0x01000000 || bits > 0x7F000000) continue; /* 2 below it is still a normal byte */
    ck_assert_uint_eq(oracle_e8m0_of(&floor_rule, bits), oracle_apfloat_e8m0(bits, 0) - 2u);
    ck_assert_uint_eq(oracle_e8m0_of(&ceil_rule, bits), oracle_apfloat_e8m0(bits, 1) - 2u);
  }
  for (unsigned byte = 0; byte < 256; byte++)
    ck_assert_uint_eq(oracle_e8m0_value(ORACLE_EDGES_OCP, (uint8_t)byte),
                      oracle_apfloat_e8m0_value((uint8_t)byte));
#endif
}
END_TEST

START_TEST(e8m0_by_cuda_headers) {
  oracle_init();
#ifdef MXGOLD_HAVE_CUDA_HEADERS
  mxg_recipe recipe = e8m0_recipe(MXG_ELEMENT_E2M1, MXG_RULE_RCEIL, 32);
  recipe.element_max = 1.0f;
  for (size_t i = 1; i < STRESS_COUNT / 2; i++) {
    const uint32_t bits = stress_bits(i);
    if (bits > ORACLE_INF) continue;
    for (int saturate = 0; saturate < 2; saturate++) {
      recipe.inf_scale = saturate ? MXG_INF_SCALE_MAX : MXG_INF_SCALE_NAN;
      ck_assert_uint_eq(oracle_e8m0_of(&recipe, bits), oracle_cuda_e8m0_up(saturate, bits));
    }
  }
  for (unsigned byte = 0; byte < 256; byte++)
    ck_assert_uint_eq(oracle_e8m0_value(ORACLE_EDGES_OCP, (uint8_t)byte),
                      oracle_cuda_e8m0_value((uint8_t)byte));
#endif
}
END_TEST

/* Every scale byte on every code, to f32, bf16 and f16, under both edges; to f32 also by the portable
 * kernel, where a machine has others. */
START_TEST(E8M0Decode) {
  static uint8_t payload[256 * 256], scales[256];
  static float singles[256 * 256], portable[256 * 256];
  static uint16_t halves[256 * 256];
  oracle_init();
  for (int edges = 1; edges <= 2; edges++) {
    for (unsigned byte = 0; byte < 256; byte++) scales[byte] = (uint8_t)byte;
    for (int i = 0; i < IMPLS; i++) {
      float values[256];
      ck_assert_int_eq(impls[i].e8m0_to_f32((mxg_edges)edges, scales, 256, values), MXG_OK);
      for (unsigned byte = 0; byte < 256; byte++)
        ck_assert_uint_eq(bits_of(values[byte]),
                          oracle_e8m0_value(oracle_edges_of((mxg_edges)edges), (uint8_t)byte));
    }
  }
  for (int e = 0; e < ELEMENTS; e++) {
    const oracle_format format = oracle_format_of(element_at(e));
    const unsigned codes = oracle_format_codes(format);
    for (int edges = 1; edges <= 2; edges++) {
      mxg_recipe recipe = e8m0_recipe(element_at(e), MXG_RULE_FLOOR, codes);
      recipe.edges = (mxg_edges)edges;
      for (int i = 0; i < IMPLS; i++) {
        mxg_packed_view in = {payload, sizeof payload, scales, sizeof scales, {0}};
        ck_assert_int_eq(impls[i].layout_for(&recipe, 256, codes, NULL, &in.layout), MXG_OK);
        memset(payload, 0, sizeof payload);
        for (size_t r = 0; r < 256; r++)
          for (unsigned c = 0; c < codes; c++)
            pack_code(recipe.element, payload + r * in.layout.payload_stride_bytes, c, (uint8_t)c);
        const mxg_matrix y[3] = {{singles, MXG_DTYPE_F32, 256, codes, 0},
                                 {halves, MXG_DTYPE_BF16, 256, codes, 0},
                                 {halves, MXG_DTYPE_F16, 256, codes, 0}};
        for (int type = 0; type < 3; type++) {
          ck_assert_int_eq(impls[i].dequantize(&recipe, &in, &y[type], NULL), MXG_OK);
          for (unsigned n = 0; n < 256 * codes; n += thin()) {
            const uint8_t byte = (uint8_t)(n / codes), code = (uint8_t)(n % codes);
            const uint32_t exact =
                oracle_e8m0_decode(format, oracle_edges_of(recipe.edges), byte, code);
#ifdef MXGOLD_HAVE_APFLOAT
            if (type == 0 && byte != 0xFF && (byte != 0 || edges == MXG_EDGES_OCP))
              ck_assert_uint_eq(exact, oracle_apfloat_decode_scaled(format, code, byte - 127));
#endif
            const uint32_t want = type == 0   ? exact
                                  : type == 1 ? oracle_narrow(ORACLE_BF16, exact)
                                              : oracle_narrow(ORACLE_F16, exact);
            const uint32_t value = type == 0 ? bits_of(singles[n]) : halves[n];
            if (value != want)
              ck_abort_msg("%s %s type %d: scale %02X code %02X is %X, oracle %X", impls[i].name,
                           recipe_text(&recipe), type, byte, code, (unsigned)value, (unsigned)want);
          }
        }
        if (i != IMPL_CODEC) continue;
        const mxg_run run = {1, MXG_ISA_PORTABLE, {0}};
        const mxg_matrix again = {portable, MXG_DTYPE_F32, 256, codes, 0};
        ck_assert_int_eq(mxg_dequantize(&recipe, &in, &again, &run), MXG_OK);
        ck_assert_mem_eq(portable, singles, 256 * codes * sizeof *portable);
      }
    }
  }
}
END_TEST

CHECK_MAIN("scales", ScaleRule, element_max_in_rules, KnownAnswers, RceilException, ScaleBoundary,
           RceilMask, E8M0Encode, NonPow2AsE8M0, e8m0_by_apfloat, e8m0_by_cuda_headers, E8M0Decode)
