/* slice_check.c: codes of somebody else's encoder against those of a recipe's element and policies,
 * by sign and exponent of the input.
 * SPDX-License-Identifier: MIT */
#include "slice_check.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "crc32.h"
#include "slice.h"

int mxg_slice_arg(const char *text, unsigned *sign, unsigned *exponent) {
  uint32_t byte = 0;
  if ((text[0] != '+' && text[0] != '-') || strlen(text) != 3 ||
      !mxg_parse_hex_byte(text + 1, &byte))
    return mxg_fail(MXG_EXIT_USAGE,
                    "--slice: '%s' is no slice: write the sign and the exponent field in two "
                    "hexadecimal digits, such as +87",
                    text);
  *sign = text[0] == '-';
  *exponent = byte;
  return MXG_EXIT_OK;
}

/* "2 <= |x| < 4" */
static void print_range(unsigned exponent) {
  if (exponent == 255)
    printf("Inf and NaN");
  else if (exponent == 0)
    printf("|x| < %g", ldexp(1, -126));
  else
    printf("%g <= |x| < %g", ldexp(1, (int)exponent - 127), ldexp(1, (int)exponent - 126));
}

/* Two NaN codes are still two codes here: policies are what is checked. */
static size_t check_slice(const mxg_recipe *recipe, unsigned sign, unsigned exponent,
                          const uint8_t *got) {
  static uint8_t want[MXG_SLICE_VALUES];
  const mxg_slice slice = mxg_slice_encode(recipe, sign, exponent, want);
  if (memcmp(got, want, MXG_SLICE_VALUES) == 0) return 0;
  size_t differing = 0, first = 0;
  for (size_t i = MXG_SLICE_VALUES; i-- > 0;) {
    if (got[i] == want[i]) continue;
    differing++;
    first = i;
  }
  const uint32_t bits = mxg_slice_first(sign, exponent) | (uint32_t)first;
  float value;
  memcpy(&value, &bits, 4);
  printf("slice %c%02X   exponent field %02X, sign %c, ", sign ? '-' : '+', exponent, exponent,
         sign ? '-' : '+');
  print_range(exponent);
  printf(": %zu of %d codes differ, the first for %.9g (%08" PRIX32
         "): got %02X, want %02X; digest got %08" PRIX32 ", want %08" PRIX32 "\n",
         differing, (int)MXG_SLICE_VALUES, (double)value, bits, got[first], want[first],
         mxg_crc32(0, got, MXG_SLICE_VALUES), slice.crc);
  return differing;
}

int mxg_check_slices(const char *path, const mxg_recipe *recipe, const char *slice_text) {
  unsigned sign = 0, exponent = 0;
  int exit_code = slice_text ? mxg_slice_arg(slice_text, &sign, &exponent) : MXG_EXIT_OK;
  mxg_file file;
  if (exit_code == 0) exit_code = mxg_file_open(path, &file);
  if (exit_code != 0) return exit_code;
  const size_t slices = slice_text ? 1 : 512;
  if (file.bytes != slices * (uint64_t)MXG_SLICE_VALUES) {
    exit_code = mxg_fail(MXG_EXIT_FILE, "%s: %zu bytes: %s is %" PRIu64 " codes, one a byte",
                         file.path, file.bytes, slice_text ? "a slice" : "all f32 (no --slice)",
                         slices * (uint64_t)MXG_SLICE_VALUES);
    mxg_file_close(&file);
    return exit_code;
  }
  uint64_t differing = 0;
  size_t bad = 0;
  mxg_progress_begin("vectors", slices);
  for (size_t s = 0; s < slices; s++) {
    if (!slice_text) {
      sign = (unsigned)(s / 256);
      exponent = (unsigned)(s % 256);
    }
    const size_t here = check_slice(recipe, sign, exponent, file.data + s * MXG_SLICE_VALUES);
    differing += here;
    bad += here != 0;
    mxg_progress_step(s + 1);
  }
  mxg_progress_end();
  if (bad == 0)
    printf("same: %s: %s, %zu slice%s\n", file.path, mxg_policy_text(recipe), slices,
           slices == 1 ? "" : "s");
  else
    printf("different: %s: %s, %" PRIu64 " codes in %zu of %zu slice%s\n", file.path,
           mxg_policy_text(recipe), differing, bad, slices, slices == 1 ? "" : "s");
  mxg_file_close(&file);
  return bad == 0 ? MXG_EXIT_OK : MXG_EXIT_DIFFERS;
}
