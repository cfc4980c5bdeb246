/* test_upstream.c: recorded outputs of real kernels, reproduced byte for byte by codec and ref.
 * tests/data/upstream/manifest.json says what was run.
 *
 * The signs of NaN codes are not portable between machines: two NaN codes of FP8 count as equal
 * (section 8). All else is compared as it is.
 * SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "check_main.h"
#include "packed.h"
#include "recipes.h"

#define UPSTREAM MXGOLD_SOURCE_DIR "/tests/data/upstream/"

typedef struct bytes {
  uint8_t *data;
  size_t count;
} bytes;

static bytes read_file(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, UPSTREAM "%s", name);
  FILE *file = fopen(path, "rb");
  if (file == NULL) ck_abort_msg("cannot read %s", path);
  bytes b = {malloc(1 << 20), 0};
  if (b.data == NULL) ck_abort_msg("no memory");
  b.count = fread(b.data, 1, 1 << 20, file);
  fclose(file);
  return b;
}

static const char *text_of(const json_t *entry, const char *key) {
  const char *text = json_string_value(json_object_get(entry, key));
  if (text == NULL) ck_abort_msg("manifest.json: a case has no \"%s\"", key);
  return text;
}

static size_t count_of(const json_t *entry, const char *key) {
  const json_t *value = json_object_get(entry, key);
  if (!json_is_integer(value)) ck_abort_msg("manifest.json: a case has no \"%s\"", key);
  return (size_t)json_integer_value(value);
}

static mxg_dtype dtype_of(const char *name) {
  if (strcmp(name, "bf16") == 0) return MXG_DTYPE_BF16;
  if (strcmp(name, "f16") == 0) return MXG_DTYPE_F16;
  ck_assert_str_eq(name, "f32");
  return MXG_DTYPE_F32;
}

/* The recorded input has little-endian values; a matrix has the host's. */
static void to_host_order(bytes *input, size_t width) {
  const uint16_t probe = 1;
  uint8_t first;
  memcpy(&first, &probe, 1);
  for (size_t i = 0; first == 0 && i + width <= input->count; i += width) {
    for (size_t b = 0; b < width / 2; b++) {
      const uint8_t swap = input->data[i + b];
      input->data[i + b] = input->data[i + width - 1 - b];
      input->data[i + width - 1 - b] = swap;
    }
  }
}

typedef struct totals {
  size_t bytes, nan_codes;
} totals;

static void compare_codes(const char *side, const json_t *entry, const mxg_recipe *recipe,
                          const mxg_layout *layout, const uint8_t *got, const uint8_t *want,
                          totals *sums) {
  for (size_t i = 0; i < layout->codes_bytes; i++) {
    if (got[i] == want[i]) continue;
    const bool both_nan = mxg_element_traits(recipe->element).bits == 8 &&
                          isnan(code_value(recipe->element, got[i])) &&
                          isnan(code_value(recipe->element, want[i]));
    if (!both_nan)
      ck_abort_msg("%s %s: row %zu byte %zu: got %02X, %s gave %02X", side,
                   text_of(entry, "preset"), i / layout->payload_row_bytes,
                   i % layout->payload_row_bytes, got[i], text_of(entry, "function"), want[i]);
    sums->nan_codes++;
  }
  sums->bytes += layout->codes_bytes;
}

static void check_case(const json_t *entry, totals *sums) {
  const mxg_recipe recipe = recipe_of(text_of(entry, "preset"));
  const size_t rows = count_of(entry, "rows"), cols = count_of(entry, "cols");
  const mxg_dtype dtype = dtype_of(text_of(entry, "dtype"));
  bytes input = read_file(text_of(entry, "input")), codes = read_file(text_of(entry, "codes")),
        scales = read_file(text_of(entry, "scales"));
  ck_assert_uint_eq(input.count, rows * cols * mxg_dtype_bytes(dtype));
  to_host_order(&input, mxg_dtype_bytes(dtype));
  for (int i = 0; i < IMPLS; i++) {
    mxg_layout layout;
    ck_assert_int_eq(impls[i].layout_for(&recipe, rows, cols, NULL, &layout), MXG_OK);
    ck_assert_uint_eq(layout.codes_bytes, codes.count);
    /* mori-fp8 was recorded with as many scales a row as it uses */
    ck_assert_uint_eq(layout.scales_bytes, scales.count);
    uint8_t *got_codes = malloc(codes.count), *got_scales = malloc(scales.count);
    if (got_codes == NULL || got_scales == NULL) ck_abort_msg("no memory");
    memset(got_codes, 0xA5, codes.count);
    memset(got_scales, 0xA5, scales.count);
    const mxg_matrix_view x = {input.data, dtype, rows, cols, 0};
    const mxg_packed out = {got_codes, codes.count, got_scales, scales.count, layout};
    ck_assert_int_eq(impls[i].quantize(&recipe, &x, NULL, &out, NULL), MXG_OK);
    for (size_t s = 0; s < scales.count; s++)
      if (got_scales[s] != scales.data[s])
        ck_abort_msg("%s %s: scale byte %zu of row %zu: got %02X, %s gave %02X", impls[i].name,
                     text_of(entry, "preset"), s % layout.scale_row_bytes,
                     s / layout.scale_row_bytes, got_scales[s], text_of(entry, "function"),
                     scales.data[s]);
    sums->bytes += scales.count;
    compare_codes(impls[i].name, entry, &recipe, &layout, got_codes, codes.data, sums);
    free(got_codes);
    free(got_scales);
  }
  free(input.data);
  free(codes.data);
  free(scales.data);
}

START_TEST(test_upstream) {
  json_error_t error;
  json_t *manifest = json_load_file(UPSTREAM "manifest.json", 0, &error);
  if (manifest == NULL) ck_abort_msg("manifest.json line %d: %s", error.line, error.text);
  const json_t *cases = json_object_get(manifest, "cases");
  const size_t count = json_array_size(cases);
  totals sums = {0, 0};
  for (size_t i = 0; i < count; i++) check_case(json_array_get(cases, i), &sums);
  printf(
      "%zu recorded cases: %zu bytes equal for codec and ref together, %zu of them NaN codes of "
      "another sign\n",
      count, sums.bytes, sums.nan_codes);
  fflush(stdout);
  ck_assert_uint_ge(count, 9);
  json_decref(manifest);
}
END_TEST

CHECK_MAIN("upstream", test_upstream)
