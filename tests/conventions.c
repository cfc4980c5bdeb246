/* conventions.c: how many inputs tell two conventions apart. Prints the tables of docs/NUMERICS.md,
 * section 9, which a test compares with the page.
 * usage: mxgold_conventions
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mxgold.h"

enum { AMAX = 0x7F80, ROWS = 256, COLS = 7168 }; /* AMAX: bf16 patterns from 0000 to 7F7F */

static float amax[AMAX];

static void fail(const char *what, mxg_status status) {
  (void)fprintf(stderr, "conventions: %s: %s\n", what, mxg_strerror(status));
  exit(1);
}

static mxg_recipe parse(const char *text) {
  mxg_recipe recipe;
  const mxg_status status = mxg_recipe_parse(text, &recipe, NULL);
  if (status != MXG_OK) fail(text, status);
  return recipe;
}

static float from_bf16(unsigned pattern) {
  const uint32_t bits = (uint32_t)pattern << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* 1234567 as 1,234,567; a few results live at once. */
static const char *grouped(uint64_t number) {
  static char texts[8][32];
  static unsigned next;
  char digits[32];
  char *text = texts[next++ % 8], *to = text;
  const int count = snprintf(digits, sizeof digits, "%" PRIu64, number);
  for (int i = 0; i < count; i++) {
    if (i > 0 && (count - i) % 3 == 0) *to++ = ',';
    *to++ = digits[i];
  }
  *to = 0;
  return text;
}

static uint64_t differing(const void *a, const void *b, size_t count, size_t bytes) {
  const unsigned char *const x = a, *const y = b;
  uint64_t differ = 0;
  for (size_t i = 0; i < count; i++) differ += memcmp(x + i * bytes, y + i * bytes, bytes) != 0;
  return differ;
}

/* ---- E8M0 rules: every amax ---- */

static const char *const rules[] = {"floor", "even",  "even21",    "half",
                                    "ceil",  "rceil", "rceil_bump"};
enum { RULES = sizeof rules / sizeof rules[0] };

static void rule_table(const char *preset, const char *element) {
  static uint8_t bytes[RULES][AMAX];
  for (size_t r = 0; r < RULES; r++) {
    char text[64];
    (void)snprintf(text, sizeof text, "%s,rule=%s", preset, rules[r]);
    const mxg_recipe recipe = parse(text);
    const mxg_status status = mxg_e8m0_from_amax(&recipe, amax, AMAX, bytes[r]);
    if (status != MXG_OK) fail(text, status);
  }
  (void)printf("E8M0 bytes of %s that differ, of the %s bf16 amax:\n\n|  |", element,
               grouped(AMAX));
  for (size_t r = 1; r < RULES; r++) (void)printf(" `%s` |", rules[r]);
  (void)printf("\n|---|");
  for (size_t r = 1; r < RULES; r++) (void)printf("--:|");
  (void)printf("\n");
  for (size_t r = 0; r + 1 < RULES; r++) {
    (void)printf("| `%s` |", rules[r]);
    for (size_t c = 1; c < RULES; c++) {
      if (c <= r)
        (void)printf(" |");
      else
        (void)printf(" %s |", grouped(differing(bytes[r], bytes[c], AMAX, 1)));
    }
    (void)printf("\n");
  }
  (void)printf("\n");
}

/* ---- f32 scales: every pair of bf16 with 0 <= x <= amax ---- */

static void pair_codes(const mxg_recipe *recipe, const uint16_t *x, size_t rows, uint8_t *codes,
                       float *scales) {
  mxg_layout layout;
  const mxg_matrix_view view = {x, MXG_DTYPE_BF16, rows, 128, 0};
  mxg_status status = mxg_layout_for(recipe, rows, 128, NULL, &layout);
  const mxg_packed packed = {codes, layout.codes_bytes, scales, layout.scales_bytes, layout};
  if (status == MXG_OK) status = mxg_quantize(recipe, &view, NULL, &packed, NULL);
  if (status != MXG_OK) fail("pairs", status);
}

static const char *const applies[] = {"div", "mul_rcp", "mul_max"};
static const char *const maths[] = {"mul", "div"};

typedef struct pair_counts {
  uint64_t pairs;
  uint64_t applied[2][3]; /* by scale_math: apply a and a + 1 */
  uint64_t codes, scales; /* scale_math=mul and div: codes by apply=div, scales */
} pair_counts;

/* All x of one amax, in rows of 127 values x and their amax. */
static void count_pairs(unsigned top, mxg_recipe by[2][3], pair_counts *count) {
  enum { MOST = AMAX / 127 + 1 };
  static uint16_t x[MOST * 128];
  static uint8_t codes[2][3][MOST * 128];
  static float scales[2][MOST];
  const size_t values = top + 1, rows = (values + 126) / 127;
  for (size_t i = 0; i < rows * 127; i++)
    x[i / 127 * 128 + i % 127] = (uint16_t)(i < values ? i : 0);
  for (size_t r = 0; r < rows; r++) x[r * 128 + 127] = (uint16_t)top;
  for (int m = 0; m < 2; m++)
    for (int a = 0; a < 3; a++) pair_codes(&by[m][a], x, rows, codes[m][a], scales[m]);
  if (!(1.0f / scales[0][0] <= 3.4e38f)) return; /* an infinite factor */
  count->pairs += values;
  for (int m = 0; m < 2; m++)
    for (int a = 0; a < 3; a++)
      count->applied[m][a] += differing(codes[m][a], codes[m][(a + 1) % 3], rows * 128, 1);
  count->scales += memcmp(&scales[0][0], &scales[1][0], sizeof(float)) != 0;
  count->codes += differing(codes[0][0], codes[1][0], rows * 128, 1);
}

static void pair_table(void) {
  mxg_recipe by[2][3];
  pair_counts count;
  memset(&count, 0, sizeof count);
  for (int m = 0; m < 2; m++)
    for (int a = 0; a < 3; a++) {
      char text[96];
      (void)snprintf(text, sizeof text, "aiter-fp8-128,amax_floor=0,scale_math=%s,apply=%s",
                     maths[m], applies[a]);
      by[m][a] = parse(text);
    }
  for (unsigned top = 0x80; top < AMAX; top++) count_pairs(top, by, &count);
  (void)printf(
      "E4M3FN codes with f32 scales that differ, of %s pairs of bf16 0 <= x <= amax (amax normal, "
      "fl(1/s) finite):\n\n| differ | `scale_math=mul` | `scale_math=div` |\n|---|--:|--:|\n",
      grouped(count.pairs));
  for (int a = 0; a < 3; a++)
    (void)printf("| `apply=%s` and `apply=%s` | %s | %s |\n", applies[a], applies[(a + 1) % 3],
                 grouped(count.applied[0][a]), grouped(count.applied[1][a]));
  (void)printf(
      "\n`scale_math=mul` and `div` give another scale for %s of these amax, and with `apply=div` "
      "another code for %s of the pairs.\n\n",
      grouped(count.scales), grouped(count.codes));
}

/* ---- plain casts: every bf16 value ---- */

static void cast(const char *text, const float *x, size_t count, uint8_t *codes) {
  const mxg_recipe recipe = parse(text);
  const mxg_status status = mxg_encode_f32(&recipe, x, count, codes);
  if (status != MXG_OK) fail(text, status);
}

static void cast_table(void) {
  static const char *const pairs[][3] = {
      {"`overflow=saturate` and `nonfinite`, E4M3FN", "mori-fp8-direct,overflow=saturate",
       "mori-fp8-direct"},
      {"`overflow=saturate_finite` and `nonfinite`, E4M3FN", "mori-fp8-direct-sat",
       "mori-fp8-direct"},
      {"`nan_element=code` and `neg_max`, E4M3FN", "mori-fp8-direct-sat",
       "mori-fp8-direct-sat,nan_element=neg_max"},
      {"E4M3FN and E4M3FNUZ, saturating", "mori-fp8-direct,overflow=saturate",
       "mori-fp8-direct,overflow=saturate,element=e4m3fnuz"},
      {"E5M2 and E5M2FNUZ, saturating", "mori-fp8-direct,overflow=saturate,element=e5m2",
       "mori-fp8-direct,overflow=saturate,element=e5m2fnuz"},
      {"`element_max=240` and 448, E4M3FN, saturating", "mori-fp8-direct,overflow=saturate",
       "mori-fp8-direct,overflow=saturate,element_max=240"},
  };
  enum { ALL = 65536 };
  static float x[ALL];
  static uint8_t a[ALL], b[ALL];
  for (unsigned i = 0; i < ALL; i++) x[i] = from_bf16(i);
  (void)printf(
      "Codes of a plain cast that differ, of all %s bf16 values:\n\n| differ | codes "
      "|\n|---|--:|\n",
      grouped(ALL));
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    cast(pairs[i][1], x, ALL, a);
    cast(pairs[i][2], x, ALL, b);
    (void)printf("| %s | %s |\n", pairs[i][0], grouped(differing(a, b, ALL, 1)));
  }
  (void)printf("\n");
}

/* ---- presets: one large tensor ---- */

static uint16_t tensor[ROWS * COLS];

/* About N(0, 1), from splitmix64: the sum of four 16-bit uniforms. */
static void make_tensor(void) {
  static float x[ROWS * COLS];
  uint64_t state = 1;
  for (size_t i = 0; i < (size_t)ROWS * COLS; i++) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    const int32_t sum =
        (int32_t)((z & 0xFFFF) + (z >> 16 & 0xFFFF) + (z >> 32 & 0xFFFF) + (z >> 48)) - 131070;
    x[i] = (float)sum / 37837.0f;
  }
  const mxg_status status = mxg_from_f32(MXG_DTYPE_BF16, x, (size_t)ROWS * COLS, tensor);
  if (status != MXG_OK) fail("tensor", status);
}

typedef struct outcome {
  mxg_layout layout;
  uint8_t codes[ROWS * COLS], scales[ROWS * COLS / 8];
} outcome;

static void quantise(const char *text, outcome *out) {
  const mxg_recipe recipe = parse(text);
  const mxg_matrix_view view = {tensor, MXG_DTYPE_BF16, ROWS, COLS, 0};
  mxg_status status = mxg_layout_for(&recipe, ROWS, COLS, NULL, &out->layout);
  const mxg_packed packed = {out->codes, out->layout.codes_bytes, out->scales,
                             out->layout.scales_bytes, out->layout};
  if (status == MXG_OK) status = mxg_quantize(&recipe, &view, NULL, &packed, NULL);
  if (status != MXG_OK) fail(text, status);
}

static uint64_t differing_nibbles(const uint8_t *a, const uint8_t *b, size_t bytes) {
  uint64_t differ = 0;
  for (size_t i = 0; i < bytes; i++) {
    differ += (a[i] ^ b[i]) > 15;
    differ += ((a[i] ^ b[i]) & 15) != 0;
  }
  return differ;
}

static void preset_table(void) {
  static const char *const pairs[][2] = {{"mxfp8", "mxfp8-te"},
                                         {"mxfp8", "aiter-mxfp8"},
                                         {"mxfp8", "aiter-mxfp8-triton"},
                                         {"mxfp8-te", "aiter-mxfp8"},
                                         {"mxfp8", "megamoe-act-fp8"},
                                         {"mxfp4", "aiter-mxfp4"},
                                         {"mxfp4", "aiter-mxfp4-triton"},
                                         {"mxfp4", "megamoe-act-fp4"},
                                         {"aiter-mxfp4", "aiter-mxfp4-triton"},
                                         {"aiter-fp8-128", "sglang-fp8-128"},
                                         {"aiter-fp8-128", "deepseek-fp8-128"},
                                         {"aiter-fp8-128", "deepseek-fp8-128-triton"},
                                         {"deepseek-fp8-128", "deepseek-fp8-128-triton"}};
  static outcome a, b;
  (void)printf(
      "Presets on one tensor of %d x %d bf16, about N(0, 1):\n\n"
      "| presets | scales differ | of | codes differ | of |\n|---|--:|--:|--:|--:|\n",
      ROWS, COLS);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    quantise(pairs[i][0], &a);
    quantise(pairs[i][1], &b);
    const size_t count = ROWS * a.layout.scale_count;
    const bool nibbles = a.layout.payload_row_bytes < COLS;
    const uint64_t codes = nibbles ? differing_nibbles(a.codes, b.codes, a.layout.codes_bytes)
                                   : differing(a.codes, b.codes, a.layout.codes_bytes, 1);
    (void)printf("| `%s`, `%s` | %s | %s | %s | %s |\n", pairs[i][0], pairs[i][1],
                 grouped(differing(a.scales, b.scales, count, a.layout.scale_bytes)),
                 grouped(count), grouped(codes), grouped((uint64_t)ROWS * COLS));
  }
}

int main(void) {
  for (unsigned i = 0; i < AMAX; i++) amax[i] = from_bf16(i);
  rule_table("mxfp4", "E2M1");
  rule_table("mxfp8", "E4M3FN");
  pair_table();
  cast_table();
  make_tensor();
  preset_table();
  return fflush(stdout) != 0 || ferror(stdout);
}
