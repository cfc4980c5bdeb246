/* test_number.c: the numbers of recipe texts, through mxg_recipe_parse and mxg_recipe_print, against
 * the C library's strtof.
 * SPDX-License-Identifier: MIT */
#include <fenv.h>
#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "generator.h"
#include "mxgold.h"
#include "thin.h"
#include "values.h"

#define PREFIX "mxfp8,amax_floor="

/* Status of a number as amax_floor, and its bits. */
static mxg_status read_number(const char *number, uint32_t *bits) {
  char text[1024];
  mxg_recipe recipe;
  size_t at = 0;
  snprintf(text, sizeof text, PREFIX "%s", number);
  const mxg_status status = mxg_recipe_parse(text, &recipe, &at);
  if (status != MXG_OK) {
    ck_assert_msg(status == MXG_ERR_VALUE, "%s: status %d", text, (int)status);
    ck_assert_msg(at == strlen(PREFIX), "%s: error at %zu", text, at);
    return status;
  }
  *bits = bits_of(recipe.amax_floor);
  return status;
}

static void expect_as_strtof(const char *number) {
  uint32_t got = 0;
  const uint32_t want = bits_of(strtof(number, NULL));
  const mxg_status status = read_number(number, &got);
  if (want == 0x7F800000u) {
    ck_assert_msg(status == MXG_ERR_VALUE, "%s: accepted, but it rounds to infinity", number);
    return;
  }
  ck_assert_msg(status == MXG_OK, "%s: refused", number);
  ck_assert_msg(got == want, "%s: %08" PRIX32 ", strtof %08" PRIX32, number, got, want);
}

static void expect_number(const char *number, uint32_t want) {
  uint32_t got = 0;
  ck_assert_msg(read_number(number, &got) == MXG_OK, "%s: refused", number);
  ck_assert_msg(got == want, "%s: %08" PRIX32 ", not %08" PRIX32, number, got, want);
}

/* A finite float without sign, every exponent alike. */
static uint32_t random_float(generator *g) {
  return generator_below(g, 0x7F800000u);
}

static double random_double(generator *g, int low_exponent, int exponents) {
  const uint64_t exponent =
      (uint64_t)(1023 + low_exponent + (int)generator_below(g, (uint32_t)exponents));
  const uint64_t bits = exponent << 52 | generator_next(g) >> 12;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

START_TEST(test_number_known) {
  expect_number("0", 0);
  expect_number("0.0", 0);
  expect_number("0e99999", 0);
  expect_number("0x0p99999", 0);
  expect_number("1", 0x3F800000);
  expect_number("1.", 0x3F800000);
  expect_number(".5", 0x3F000000);
  expect_number("240", 0x43700000);
  expect_number("1e-10", 0x2EDBE6FF);
  expect_number("1E-10", 0x2EDBE6FF);
  expect_number("0x1.b7cdfep-34", 0x2EDBE6FF);
  expect_number("0X1.B7CDFEP-34", 0x2EDBE6FF);
  expect_number("0.0000000001", 0x2EDBE6FF);
  expect_number("100000e-15", 0x2EDBE6FF);
  expect_number("1e+5", 0x47C35000);
  expect_number("0x20", 0x42000000);
  expect_number("0x.8", 0x3F000000);
  expect_number("16777217", 0x4B800000); /* ties to even, both ways */
  expect_number("16777219", 0x4B800002);
  expect_number("0x1.000001p0", 0x3F800000);
  expect_number("0x1.0000010000000000000001p0", 0x3F800001);
  expect_number("1e-45", 1);
  expect_number("1e-46", 0);
  expect_number("1e-99999999999999999999", 0);
  expect_number("0x1p-149", 1);
  expect_number("0x1p-150", 0); /* half the least subnormal: ties to 0 */
  expect_number("0x1.0001p-150", 1);
  expect_number("0x0.8p-149", 0);
  expect_number("340282346638528859811704183484516925440", 0x7F7FFFFF);
  expect_number("340282356779733661637539395458142568447", 0x7F7FFFFF); /* below the last tie */
  expect_number("0x1.fffffeffffp127", 0x7F7FFFFF);
}
END_TEST

START_TEST(test_number_refused) {
  static const char *const bad[] = {
      "",
      "+1",
      "-1",
      "-0",
      " 1",
      "1 ",
      "1f",
      "inf",
      "nan",
      "NaN",
      "x",
      ".",
      "e5",
      ".e5",
      "1e",
      "1e+",
      "1e-",
      "1.2.3",
      "0x",
      "0xg",
      "0x.",
      "0xp1",
      "0x1p",
      "0x1p+",
      "0x1e+5",
      "1p5",
      "1e5.0",
      "1e 5",
      "1_000",
      "0b1",
      "1e39",
      "1e38000000000000",
      "340282356779733661637539395458142568448", /* the tie, to infinity */
      "0x1p128",
      "0x1.ffffffp127",
      "3.4028236e38"};
  uint32_t bits = 0;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    ck_assert_msg(read_number(bad[i], &bits) == MXG_ERR_VALUE, "'%s' is accepted", bad[i]);

  char digits[203];
  memset(digits, '0', sizeof digits);
  digits[201] = 0;
  ck_assert_msg(read_number(digits, &bits) == MXG_ERR_VALUE, "201 characters are accepted");
  digits[200] = 0;
  ck_assert_msg(read_number(digits, &bits) == MXG_OK && bits == 0, "200 characters are refused");
}
END_TEST

START_TEST(test_number_decimal) {
  generator g = generator_start("decimal");
  char number[512];
  /* short and long digit strings around every magnitude */
  for (size_t i = 0; i < thinned(100000); i++) {
    const int digits = 1 + (int)generator_below(&g, i % 8 == 0 ? 150 : 20);
    const int point = (int)generator_below(&g, (uint32_t)digits + 1);
    int length = 0;
    for (int d = 0; d < digits; d++) {
      if (d == point) number[length++] = '.';
      number[length++] = (char)('0' + generator_below(&g, 10));
    }
    const int exponent = (int)generator_below(&g, 100) - 50 - point + (point == 0);
    snprintf(number + length, sizeof number - (size_t)length, "e%d", exponent);
    expect_as_strtof(number);
  }
  for (size_t i = 0; i < thinned(100000); i++) {
    snprintf(number, sizeof number, "%.*e", (int)generator_below(&g, 30),
             random_double(&g, -152, 282));
    expect_as_strtof(number);
  }
}
END_TEST

/* The exact middle of two neighbouring floats as a decimal, and the decimals just beside it. */
START_TEST(test_number_ties) {
  generator g = generator_start("ties");
  char number[512];
  for (size_t i = 0; i < thinned(60000); i++) {
    uint32_t bits = random_float(&g);
    if (i % 3 == 0) bits >>= 9 + generator_below(&g, 12); /* subnormals */
    if (bits >= 0x7F7FFFFFu) bits = 0x7F7FFFFEu;
    const double middle = ((double)float_of(bits) + (double)float_of(bits + 1)) / 2;
    snprintf(number, sizeof number, "%.115e", middle); /* at most 113 digits are not 0 */
    expect_number(number, bits + (bits & 1));
    char *last = strchr(number, 'e') - 1;
    *last = '1';
    expect_number(number, bits + 1);
    snprintf(number, sizeof number, "%.115e", middle);
    for (; *last == '0' || *last == '.'; last--)
      if (*last == '0') *last = '9';
    --*last;
    expect_number(number, bits);
  }
}
END_TEST

/* "0x1.23p-4" from %a with more hex digits behind the last. */
static const char *extended_hex(double value, const char *more) {
  static char number[512];
  char plain[64];
  snprintf(plain, sizeof plain, "%a", value);
  char *exponent = strchr(plain, 'p');
  *exponent = 0;
  const char *point = strchr(plain, '.') == NULL ? "." : "";
  snprintf(number, sizeof number, "%s%s%sp%s", plain, point, more, exponent + 1);
  return number;
}

/* Hex doubles are exact and a cast rounds once: glibc's strtof does not, of hex subnormals. */
START_TEST(test_number_hex) {
  generator g = generator_start("hex");
  char sticky[151];
  memset(sticky, '0', sizeof sticky);
  sticky[149] = '1';
  sticky[150] = 0;
  for (size_t i = 0; i < thinned(100000); i++) {
    const double value = random_double(&g, -152, 280);
    if (value > FLT_MAX) continue;
    expect_number(extended_hex(value, ""), bits_of((float)value));
    expect_number(extended_hex(value, "000"), bits_of((float)value));
  }
  for (size_t i = 0; i < thinned(60000); i++) {
    uint32_t bits = random_float(&g);
    if (i % 3 == 0) bits >>= 9 + generator_below(&g, 12); /* subnormals */
    if (bits >= 0x7F7FFFFFu) bits = 0x7F7FFFFEu;
    const double middle = ((double)float_of(bits) + (double)float_of(bits + 1)) / 2;
    expect_number(extended_hex(middle, ""), bits + (bits & 1));
    expect_number(extended_hex(middle, sticky), bits + 1);
    expect_number(extended_hex(nextafter(middle, 0), "FFFFFFFFFFFFFFFFFFFF"), bits);
  }
}
END_TEST

/* The number that mxfp8,amax_floor=... prints with; 0 is the preset's own. */
static const char *printed(uint32_t bits) {
  static char text[256];
  mxg_recipe recipe;
  ck_assert(mxg_recipe_parse("mxfp8", &recipe, NULL) == MXG_OK);
  recipe.amax_floor = float_of(bits);
  ck_assert(mxg_recipe_print(&recipe, text, sizeof text) < sizeof text);
  ck_assert_msg(strncmp(text, PREFIX, strlen(PREFIX)) == 0, "%08" PRIX32 ": %s", bits, text);
  return text + strlen(PREFIX);
}

/* Significant digits: without the point, the exponent, leading and trailing zeros. */
static int significant(const char *number) {
  int count = 0, zeros = 0;
  for (; *number != 0 && *number != 'e'; number++) {
    if (*number == '.' || (*number == '0' && count == 0)) continue;
    zeros = *number == '0' ? zeros + 1 : 0;
    count++;
  }
  return count - zeros;
}

static void expect_shortest(uint32_t bits) {
  char candidate[64];
  const char *number = printed(bits);
  const uint32_t back = bits_of(strtof(number, NULL));
  ck_assert_msg(back == bits, "%08" PRIX32 " prints as %s, which is %08" PRIX32, bits, number,
                back);
  int digits = 1;
  for (; digits < 9; digits++) {
    snprintf(candidate, sizeof candidate, "%.*e", digits - 1, (double)float_of(bits));
    if (bits_of(strtof(candidate, NULL)) == bits) break;
  }
  ck_assert_msg(significant(number) <= digits, "%08" PRIX32 " prints as %s; %d digits do", bits,
                number, digits);
  expect_number(number, bits);
}

START_TEST(test_number_print) {
  static const struct {
    uint32_t bits;
    const char *text;
  } known[] = {
      {0x2EDBE6FF, "1e-10"},
      {0x43700000, "240"},
      {0x43E00000, "448"},
      {0x47600000, "57344"},
      {0x40F00000, "7.5"},
      {0x3F800000, "1"},
      {0x3DCCCCCD, "0.1"},
      {0x3A83126F, "0.001"},
      {0x38D1B717, "0.0001"},
      {0x3727C5AC, "1e-5"},
      {0x4B800001, "16777218"},
      {0x4CBEBC20, "100000000"},
      {0x4E6E6B28, "1e9"},
      {0x00000001, "1e-45"},
      {0x00800000, "1.1754944e-38"},
      {0x7F7FFFFF, "3.4028235e38"},
      {0x7E967699, "1e38"},
      {0x40490FDB, "3.1415927"},
      {0x3FC00000, "1.5"},
      {0x3E99999A, "0.3"},
      /* powers of two of which the nearest decimal of 8 digits does not read back, another does */
      {0x0F800000, "1.2621775e-29"},
      {0x6B000000, "1.5474251e26"},
      {0x6C800000, "1.2379401e27"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    ck_assert_str_eq(printed(known[i].bits), known[i].text);
  generator g = generator_start("print");
  for (uint32_t exponent = 0; exponent < 255; exponent++) /* powers of two and their neighbours */
    for (uint32_t near = 0; near < 3; near++)
      if (exponent + near > 1) expect_shortest((exponent << 23) + near - 1);
  for (uint32_t bits = 1; bits < 200; bits++) expect_shortest(bits);
  for (size_t i = 0; i < thinned(10000); i++) expect_shortest(1 + generator_below(&g, 0x7F7FFFFFu));
  for (size_t i = 0; i < thinned(3000); i++) /* few digits */
    expect_shortest(bits_of((float)(1 + generator_below(&g, 9999)) / 1000.0f));
}
END_TEST

START_TEST(test_number_environment) {
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
  static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8"};
  for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
    for (size_t l = 0; l < sizeof locales / sizeof *locales; l++) {
      if (setlocale(LC_ALL, locales[l]) == NULL) continue; /* not installed */
      ck_assert(fesetround(modes[m]) == 0);
      expect_number("1e-10", 0x2EDBE6FF);
      expect_number("0.1", 0x3DCCCCCD);
      expect_number("1e-40", 0x000116C2);
      expect_number("0x1.fffffefp-1", 0x3F7FFFFF);
      ck_assert_str_eq(printed(0x3DCCCCCD), "0.1");
      ck_assert_str_eq(printed(0x00000001), "1e-45");
    }
  ck_assert(fesetround(FE_TONEAREST) == 0);
  setlocale(LC_ALL, "C");
}
END_TEST

CHECK_MAIN("number", test_number_known, test_number_refused, test_number_decimal, test_number_ties,
           test_number_hex, test_number_print, test_number_environment)
