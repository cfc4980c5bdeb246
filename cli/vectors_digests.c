/* vectors_digests.c: digests.txt: every f32 through every element format and policy, a digest per
 * sign and exponent field; and generated rows through every preset.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "crc32.h"
#include "recipe_text.h"
#include "slice.h"
#include "vectors.h"

typedef struct text {
  char *data;
  size_t length, capacity;
} text;

__attribute__((format(printf, 2, 3))) static void put(text *to, const char *format, ...) {
  if (to->length + 256 > to->capacity) {
    to->capacity = 2 * to->capacity + 1024;
    to->data = realloc(to->data, to->capacity);
    if (!to->data) exit(mxg_fail(MXG_EXIT_FILE, "out of memory"));
  }
  va_list arguments;
  va_start(arguments, format);
  to->length += (size_t)vsnprintf(to->data + to->length, 256, format, arguments);
  va_end(arguments);
}

/* ---- elements ---- */

/* A slice whose first and last codes are equal is constant, because rounding is monotonic; that of
 * Inf and NaN is not ordered. */
static mxg_slice slice_of(const mxg_recipe *recipe, unsigned sign, unsigned exponent) {
  mxg_slice slice = {true, 0, 0};
  if (exponent < 255) {
    const uint32_t ends[2] = {mxg_slice_first(sign, exponent),
                              mxg_slice_first(sign, exponent) | 0x7FFFFF};
    float values[2];
    uint8_t codes[2];
    memcpy(values, ends, sizeof values);
    mxg_vectors_must(mxg_encode_f32(recipe, values, 2, codes), "a slice");
    slice.code = codes[0];
    if (codes[0] == codes[1]) return slice;
  }
  return mxg_slice_encode(recipe, sign, exponent, NULL);
}

static bool same_code(const mxg_slice *a, const mxg_slice *b) {
  return a->is_constant && b->is_constant && a->code == b->code;
}

/* One sign: "+ 00-74=00 75:9F3A1C22,1B60D7E4 77=7E ..." */
static void put_slices(text *out, char sign, const mxg_slice slices[256]) {
  bool in_list = false;
  put(out, "%c", sign);
  for (unsigned e = 0; e < 256; e++) {
    unsigned last = e;
    while (last < 255 && same_code(&slices[e], &slices[last + 1])) last++;
    if (!slices[e].is_constant && in_list)
      put(out, ",%08" PRIX32, slices[e].crc);
    else if (!slices[e].is_constant)
      put(out, " %02X:%08" PRIX32, e, slices[e].crc);
    else if (last == e)
      put(out, " %02X=%02X", e, slices[e].code);
    else
      put(out, " %02X-%02X=%02X", e, last, slices[e].code);
    in_list = !slices[e].is_constant;
    e = last;
  }
  put(out, "\n");
}

static void put_policy(text *out, const mxg_recipe *recipe, mxg_slice base[2][256],
                       const char *names) {
  const mxg_traits traits = mxg_element_traits(recipe->element);
  put(out, "encode %s\n", names);
  for (unsigned sign = 0; sign < 2; sign++) {
    mxg_slice slices[256];
    for (unsigned e = 0; e < 256; e++) {
      /* policies act on overflow and NaN only: below the largest exponent all are the first */
      const bool is_first = recipe->overflow == MXG_OVERFLOW_SATURATE &&
                            recipe->nan_element == mxg_policy_first_nan(recipe->element);
      const bool can_differ = is_first || e >= (unsigned)(127 + traits.emax);
      slices[e] = can_differ ? slice_of(recipe, sign, e) : base[sign][e];
      if (is_first) base[sign][e] = slices[e];
    }
    put_slices(out, sign ? '-' : '+', slices);
  }
}

/* ---- presets ---- */

static uint64_t random_state;

/* splitmix64: the products wrap. */
#if defined(__clang__)
__attribute__((no_sanitize("unsigned-integer-overflow", "unsigned-shift-base")))
#endif
static uint64_t
next_random(void) {
  uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

enum { ROWS = 64, COLS = 416 };

/* The rule of tests/vectors/README.md. */
static uint32_t generated_bits(mxg_dtype dtype, size_t row, size_t col) {
  static const struct {
    unsigned width, mantissa;
    uint32_t bias;
  } types[] = {{0, 0, 0}, {32, 23, 127}, {16, 10, 15}, {16, 7, 127}};
  const uint64_t r = next_random();
  const unsigned width = types[dtype].width, m = types[dtype].mantissa;
  const uint32_t any = (uint32_t)(r >> (64 - width));
  if (row % 4 == 1) return any;
  const uint32_t sign = any & 1u << (width - 1);
  if (row % 4 == 2 && col / 32 % 3 == 1) return sign;
  const uint32_t exponent = types[dtype].bias - 8 + (uint32_t)(r >> 32 & 15);
  uint32_t mantissa = (uint32_t)(r & ((1u << m) - 1));
  if (row % 4 == 3) mantissa &= 7u << (m - 3);
  return sign | exponent << m | mantissa;
}

static uint32_t crc_of_values(const float *values, size_t count) {
  uint32_t crc = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], 4);
    const unsigned char bytes[4] = {(unsigned char)bits, (unsigned char)(bits >> 8),
                                    (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)};
    crc = mxg_crc32(crc, bytes, 4);
  }
  return crc;
}

static void put_preset(text *out, const mxg_preset *preset) {
  static const char *const names[] = {"", "f32", "f16", "bf16"};
  static unsigned char x[4 * ROWS * COLS], codes[ROWS * COLS], scales[ROWS * COLS];
  static float y[ROWS * COLS];
  for (int d = MXG_DTYPE_F32; d <= MXG_DTYPE_BF16; d++) {
    const mxg_dtype dtype = (mxg_dtype)d;
    mxg_layout layout;
    random_state = 0;
    for (size_t i = 0; i < ROWS * COLS; i++) {
      const uint32_t bits = generated_bits(dtype, i / COLS, i % COLS);
      const uint16_t half = (uint16_t)bits;
      if (dtype == MXG_DTYPE_F32)
        memcpy(x + 4 * i, &bits, 4);
      else
        memcpy(x + 2 * i, &half, 2);
    }
    const mxg_recipe *recipe = &preset->recipe;
    mxg_vectors_must(mxg_layout_for(recipe, ROWS, COLS, NULL, &layout), preset->name);
    const mxg_matrix_view view = {x, dtype, ROWS, COLS, 0};
    const mxg_packed packed = {codes, sizeof codes, scales, sizeof scales, layout};
    const mxg_packed_view in = {codes, sizeof codes, scales, sizeof scales, layout};
    const mxg_matrix back = {y, MXG_DTYPE_F32, ROWS, COLS, 0};
    mxg_vectors_must(mxg_quantize(recipe, &view, NULL, &packed, NULL), preset->name);
    mxg_vectors_must(mxg_dequantize(recipe, &in, &back, NULL), preset->name);
    put(out, "preset %s src=%s codes:%08" PRIX32 " scales:%08" PRIX32 " y:%08" PRIX32 "\n",
        preset->name, names[dtype], mxg_crc32(0, codes, layout.codes_bytes),
        mxg_crc32(0, scales, layout.scales_bytes), crc_of_values(y, ROWS * COLS));
  }
}

/* ---- the file ---- */

char *mxg_digests_text(void (*told)(uint64_t done, uint64_t total)) {
  static mxg_slice base[2][256];
  text out = {NULL, 0, 0};
  put(&out,
      "# mxgold digests, version 1: README.md says how they are made.\n"
      "# encode: a line per sign of the f32. EE=CC, EE-EE=CC: every code of the slices with these\n"
      "# exponent fields is CC. EE:CRC,CRC,...: CRC-32 of slice EE and of those that follow it.\n");
  mxg_recipe recipe;
  const uint64_t total = mxg_policy_count();
  for (size_t i = 0; mxg_policy_at(i, &recipe); i++) {
    put_policy(&out, &recipe, base, mxg_policy_text(&recipe));
    told(i + 1, total);
  }
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) put_preset(&out, mxg_preset_at(i));
  return out.data;
}
