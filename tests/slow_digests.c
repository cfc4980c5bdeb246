/* slow_digests.c: tests/vectors/digests.txt against the codes of every f32. The tool that writes the
 * file takes two short ways (a slice between two equal codes is constant; policies act on overflow and
 * NaN only); this test takes none of them for the overflow policies, and looks at the slices of zero,
 * one, overflow and NaN for the NaN policies.
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdint.h>

#include "check_main.h"
#include "recipes.h"

enum { CHUNK = 1 << 16, SLICE = 1 << 23 };

static uint32_t crc_table[256];

static void crc_start(void) {
  for (uint32_t b = 0; b < 256; b++) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ ((crc & 1u) != 0 ? 0xEDB88320u : 0);
    crc_table[b] = crc;
  }
}

/* What one slice must be. */
typedef struct expected {
  bool is_constant;
  uint32_t value; /* the code, or the CRC */
} expected;

/* "+ 00-74=00 75:337596AE,5D49A42F 88=7E" into 256 slices. */
static void parse_slices(char *line, expected out[256]) {
  unsigned known = 0;
  for (char *word = strtok(line + 1, " \n"); word != NULL; word = strtok(NULL, " \n")) {
    char *at = word;
    unsigned first = (unsigned)strtoul(at, &at, 16), last = first;
    ck_assert_uint_eq(first, known);
    if (*at == '-') last = (unsigned)strtoul(at + 1, &at, 16);
    ck_assert_msg(last < 256 && last >= first && (*at == '=' || *at == ':'), "%s", word);
    const bool is_constant = *at == '=';
    for (unsigned e = first; e <= last; e++) {
      out[e].is_constant = is_constant;
      out[e].value = (uint32_t)strtoul(at + 1, NULL, 16);
    }
    for (at++; !is_constant && (at = strchr(at, ',')) != NULL; at++) {
      ck_assert_uint_lt(++last, 256);
      out[last].is_constant = false;
      out[last].value = (uint32_t)strtoul(at + 1, NULL, 16);
    }
    known = last + 1;
  }
  ck_assert_uint_eq(known, 256);
}

static void check_slice(const mxg_recipe *recipe, unsigned sign, unsigned exponent,
                        const expected *want) {
  static float values[CHUNK];
  static uint8_t codes[CHUNK];
  uint32_t crc = 0xFFFFFFFFu;
  for (uint32_t done = 0; done < SLICE; done += CHUNK) {
    for (uint32_t i = 0; i < CHUNK; i++) {
      const uint32_t bits = (uint32_t)sign << 31 | (uint32_t)exponent << 23 | (done + i);
      memcpy(&values[i], &bits, 4);
    }
    ck_assert_int_eq(mxg_encode_f32(recipe, values, CHUNK, codes), MXG_OK);
    if (want->is_constant) {
      if (codes[0] != want->value || memcmp(codes, codes + 1, CHUNK - 1) != 0)
        ck_abort_msg("%s slice %c%02X: not all codes are %02X", recipe_text(recipe),
                     sign != 0 ? '-' : '+', exponent, want->value);
      continue;
    }
    for (size_t i = 0; i < CHUNK; i++) crc = crc >> 8 ^ crc_table[(crc ^ codes[i]) & 255];
  }
  if (!want->is_constant && ~crc != want->value)
    ck_abort_msg("%s slice %c%02X: digest %08X, in the file %08X", recipe_text(recipe),
                 sign != 0 ? '-' : '+', exponent, ~crc, want->value);
}

START_TEST(test_digests_of_every_f32) {
  static char line[4096];
  static const char *const overflows[] = {"saturate", "saturate_finite", "nonfinite"};
  FILE *file = fopen(MXGOLD_SOURCE_DIR "/tests/vectors/digests.txt", "r");
  if (file == NULL) ck_abort_msg("cannot read digests.txt");
  mxg_recipe recipe = recipe_of("mori-fp8-direct");
  expected slices[256];
  size_t policies = 0, full = 0;
  bool is_first = false;
  crc_start();
  while (fgets(line, sizeof line, file) != NULL) {
    char element[32], overflow[32], nan[32], text[256];
    if (sscanf(line, "encode element=%31s nan_element=%31s overflow=%31s", element, nan,
               overflow) == 3) {
      snprintf(text, sizeof text, "mori-fp8-direct,element=%s,nan_element=%s,overflow=%s", element,
               nan, overflow);
      recipe = recipe_of(text);
      const bool is_byte = element[1] == '4' || element[1] == '5';
      is_first = strcmp(nan, is_byte ? "code" : "neg_max") == 0;
      policies++;
      full += is_first;
      bool is_known = false;
      for (size_t i = 0; i < 3; i++) is_known = is_known || strcmp(overflow, overflows[i]) == 0;
      ck_assert(is_known);
      continue;
    }
    if (line[0] != '+' && line[0] != '-') continue;
    const unsigned sign = line[0] == '-', emax = (unsigned)mxg_element_traits(recipe.element).emax;
    parse_slices(line, slices);
    for (unsigned e = 0; e < 256; e++) {
      const bool is_edge = e == 0 || e == 127 || (e >= 126 + emax && e <= 128 + emax) || e >= 254;
      if (is_first || is_edge) check_slice(&recipe, sign, e, &slices[e]);
    }
  }
  fclose(file);
  ck_assert_uint_eq(policies, 4 * 3 * 5 + 3 * 4);
  ck_assert_uint_eq(full, 4 * 3 + 3);
  printf("%zu policies, %zu of them on all 2^32 f32\n", policies, full);
}
END_TEST

CHECK_MAIN("digests", test_digests_of_every_f32)
