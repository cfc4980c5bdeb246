/* vectors_file.c: cases into JSON, and the text of one file.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "vectors.h"

static const char *const section_names[MXG_SECTIONS] = {"tests", "weighted_tests", "decode_tests",
                                                        "scale_tests", "layout_tests"};
static const char *const dtype_names[] = {"", "f32", "f16", "bf16"};

void mxg_vectors_must(mxg_status status, const char *what) {
  if (status != MXG_OK) exit(mxg_fail_status(status, what));
}

uint32_t mxg_bits_of(double value) {
  const float rounded = (float)value;
  uint32_t bits;
  memcpy(&bits, &rounded, 4);
  return bits;
}

double mxg_value_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return (double)value;
}

uint32_t mxg_code_bits(mxg_element element, uint8_t code) {
  float value;
  mxg_vectors_must(mxg_decode_f32(element, &code, 1, &value), "a code");
  return mxg_bits_of((double)value);
}

/* ---- bytes ---- */

json_t *mxg_hex(const void *bytes, size_t count) {
  static const char digits[] = "0123456789ABCDEF";
  const unsigned char *p = bytes;
  char *text = mxg_alloc(2 * count + 1);
  for (size_t i = 0; i < count; i++) {
    text[2 * i] = digits[p[i] >> 4];
    text[2 * i + 1] = digits[p[i] & 15];
  }
  text[2 * count] = 0;
  json_t *hex = json_string(text);
  free(text);
  return hex;
}

/* The low `width` bytes of each word. */
static json_t *hex_little_endian(const uint32_t *words, size_t count, size_t width) {
  unsigned char *bytes = mxg_alloc(count * width + 1);
  for (size_t i = 0; i < count; i++)
    for (size_t b = 0; b < width; b++) bytes[i * width + b] = (unsigned char)(words[i] >> (8 * b));
  json_t *hex = mxg_hex(bytes, count * width);
  free(bytes);
  return hex;
}

json_t *mxg_hex_words(const uint32_t *words, size_t count) {
  return hex_little_endian(words, count, 4);
}

/* f32 bits as bits of the type: rounded, but a NaN keeps its sign. */
static uint32_t cut(mxg_dtype dtype, uint32_t bits) {
  uint16_t half = 0;
  float value;
  if (dtype == MXG_DTYPE_F32) return bits;
  memcpy(&value, &bits, 4);
  mxg_vectors_must(mxg_from_f32(dtype, &value, 1, &half), "a value");
  const bool is_nan = (bits & ~MXG_MINUS) > MXG_INF;
  return half | (is_nan ? bits >> 16 & 0x8000u : 0u);
}

/* Values of a type as the host has them in memory. */
static void *host_values(mxg_dtype dtype, const uint32_t *words, size_t count) {
  const size_t width = mxg_dtype_bytes(dtype);
  unsigned char *values = mxg_alloc(count * width + 1);
  for (size_t i = 0; i < count; i++) {
    const uint16_t half = (uint16_t)words[i];
    if (width == 4)
      memcpy(values + 4 * i, &words[i], 4);
    else
      memcpy(values + 2 * i, &half, 2);
  }
  return values;
}

/* ---- cases ---- */

/* Is one of the comma-separated flags among the comma-separated `only`? */
static bool flags_match(const char *flags, const char *only) {
  for (const char *flag = flags; only && *flag;) {
    const size_t length = strcspn(flag, ",");
    for (const char *other = only; *other;) {
      const size_t other_length = strcspn(other, ",");
      if (length == other_length && memcmp(flag, other, length) == 0) return true;
      other += other_length + (other[other_length] == ',');
    }
    flag += length + (flag[length] == ',');
  }
  return !only;
}

void mxg_vectors_add(mxg_vectors *v, mxg_section section, const char *flags, json_t *fields) {
  json_t *list = json_array(), *test = json_object();
  for (const char *flag = flags; *flag;) {
    const size_t length = strcspn(flag, ",");
    const char *note = mxg_flag_note(flag, length);
    if (!note) exit(mxg_fail(MXG_EXIT_FILE, "no note for the flags '%s'", flags));
    json_array_append_new(list, json_stringn(flag, length));
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)length, flag);
    json_object_set_new(v->notes, name, json_string(note));
    flag += length + (flag[length] == ',');
  }
  const long id = v->first_id + 200 * (long)section + (long)json_array_size(v->sections[section]);
  json_object_set_new(test, "id", json_integer(id));
  json_object_set_new(test, "flags", list);
  json_object_update(test, fields);
  json_decref(fields);
  json_array_append_new(v->sections[section], test);
}

/* y by decoding codes and scales, as f32 and where asked as bf16 and f16, into `fields`. */
static void add_decoded(json_t *fields, const mxg_recipe *recipe, const mxg_packed_view *in,
                        bool all_types) {
  static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_BF16, MXG_DTYPE_F16};
  static const char *const keys[] = {"y", "y_bf16", "y_f16"};
  const size_t count = in->layout.rows * in->layout.cols;
  uint32_t *words = mxg_alloc(4 * count + 4);
  unsigned char *values = mxg_alloc(4 * count + 4);
  for (size_t d = 0; d < (all_types ? 3u : 1u); d++) {
    const size_t width = mxg_dtype_bytes(dtypes[d]);
    const mxg_matrix y = {values, dtypes[d], in->layout.rows, in->layout.cols, 0};
    mxg_vectors_must(mxg_dequantize(recipe, in, &y, NULL), "a decode case");
    for (size_t i = 0; i < count; i++) {
      uint16_t half = 0;
      if (width == 4) memcpy(&words[i], values + 4 * i, 4);
      if (width == 2) memcpy(&half, values + 2 * i, 2);
      if (width == 2) words[i] = half;
    }
    json_object_set_new(fields, keys[d], hex_little_endian(words, count, width));
  }
  free(values);
  free(words);
}

void mxg_vectors_quantize(mxg_vectors *v, const char *flags, mxg_dtype dtype, size_t rows,
                          size_t cols, const uint32_t *bits, const uint32_t *weights) {
  if (!flags_match(flags, v->only)) return;
  const size_t count = rows * cols, width = mxg_dtype_bytes(dtype);
  mxg_layout layout;
  mxg_vectors_must(mxg_layout_for(&v->recipe, rows, cols, NULL, &layout), "the layout of a case");
  uint32_t *words = mxg_alloc(4 * count + 4);
  for (size_t i = 0; i < count; i++) words[i] = cut(dtype, bits[i]);
  void *x = host_values(dtype, words, count);
  float *row_weight = weights ? host_values(MXG_DTYPE_F32, weights, rows) : NULL;
  unsigned char *codes = mxg_alloc(layout.codes_bytes + 1);
  unsigned char *scales = mxg_alloc(layout.scales_bytes + 1);
  const mxg_matrix_view view = {x, dtype, rows, cols, 0};
  const mxg_packed out = {codes, layout.codes_bytes, scales, layout.scales_bytes, layout};
  const mxg_packed_view in = {codes, layout.codes_bytes, scales, layout.scales_bytes, layout};
  mxg_vectors_must(mxg_quantize(&v->recipe, &view, row_weight, &out, NULL), "a quantise case");

  json_t *fields = json_object();
  json_object_set_new(fields, "src", json_string(dtype_names[dtype]));
  json_object_set_new(fields, "rows", json_integer((json_int_t)rows));
  json_object_set_new(fields, "cols", json_integer((json_int_t)cols));
  json_object_set_new(fields, "x", hex_little_endian(words, count, width));
  if (weights) json_object_set_new(fields, "weights", mxg_hex_words(weights, rows));
  json_object_set_new(fields, "codes", mxg_hex(codes, layout.codes_bytes));
  json_object_set_new(fields, "scales", mxg_hex(scales, layout.scales_bytes));
  add_decoded(fields, &v->recipe, &in, false);
  mxg_vectors_add(v, weights ? MXG_SECTION_WEIGHTED : MXG_SECTION_TESTS, flags, fields);
  free(scales);
  free(codes);
  free(row_weight);
  free(x);
  free(words);
}

void mxg_vectors_decode(mxg_vectors *v, const char *flags, size_t rows, size_t cols,
                        const uint8_t *codes, const uint8_t *scales, size_t scale_bytes) {
  if (!flags_match(flags, v->only)) return;
  mxg_layout layout;
  mxg_vectors_must(mxg_layout_for(&v->recipe, rows, cols, NULL, &layout), "the layout of a case");
  if (layout.scales_bytes != scale_bytes)
    exit(mxg_fail(MXG_EXIT_FILE, "%s: %zu bytes of scales, not %zu", flags, scale_bytes,
                  layout.scales_bytes));
  unsigned char *packed = mxg_alloc(layout.codes_bytes + 1);
  memset(packed, 0, layout.codes_bytes);
  const size_t bits = (size_t)v->traits.bits;
  for (size_t row = 0; row < rows; row++)
    for (size_t i = 0; i < cols * bits; i++)
      if (codes[row * cols + i / bits] >> i % bits & 1)
        packed[row * layout.payload_row_bytes + i / 8] |= (unsigned char)(1u << i % 8);
  const mxg_packed_view in = {packed, layout.codes_bytes, scales, layout.scales_bytes, layout};

  json_t *fields = json_object();
  json_object_set_new(fields, "rows", json_integer((json_int_t)rows));
  json_object_set_new(fields, "cols", json_integer((json_int_t)cols));
  json_object_set_new(fields, "codes", mxg_hex(packed, layout.codes_bytes));
  json_object_set_new(fields, "scales", mxg_hex(scales, layout.scales_bytes));
  add_decoded(fields, &v->recipe, &in, true);
  mxg_vectors_add(v, MXG_SECTION_DECODE, flags, fields);
  free(packed);
}

void mxg_vectors_scale(mxg_vectors *v, const char *flags, bool from_scale, const uint32_t *bits,
                       size_t count) {
  if (!flags_match(flags, v->only)) return;
  float *values = host_values(MXG_DTYPE_F32, bits, count);
  unsigned char *scales = mxg_alloc(count + 1);
  mxg_vectors_must(
      (from_scale ? mxg_e8m0_from_scale : mxg_e8m0_from_amax)(&v->recipe, values, count, scales),
      "a scale case");
  json_t *fields = json_object();
  json_object_set_new(fields, "from", json_string(from_scale ? "scale" : "amax"));
  json_object_set_new(fields, "in", mxg_hex_words(bits, count));
  json_object_set_new(fields, "scales", mxg_hex(scales, count));
  mxg_vectors_add(v, MXG_SECTION_SCALE, flags, fields);
  free(scales);
  free(values);
}

/* ---- a file ---- */

void mxg_vectors_begin(mxg_vectors *v, size_t index, const char *name, const char *text,
                       const char *only) {
  memset(v, 0, sizeof *v);
  snprintf(v->name, sizeof v->name, "%s", name);
  snprintf(v->text, sizeof v->text, "%s", text);
  mxg_vectors_must(mxg_recipe_parse(text, &v->recipe, NULL), text);
  v->traits = mxg_element_traits(v->recipe.element);
  v->block = v->recipe.scale == MXG_SCALE_NONE ? 32 : v->recipe.block;
  v->max = mxg_bits_of((double)(v->recipe.element_max > 0 ? v->recipe.element_max : v->traits.max));
  v->anchor = v->limit = v->max;
  if (v->recipe.scale == MXG_SCALE_E8M0) {
    /* 2^emax has the scale 1 by every rule; so has all below 1.5 * 2^emax */
    v->anchor = (uint32_t)(127 + v->traits.emax) << 23;
    v->limit = v->anchor | 0x3FFFFF;
  }
  v->first_id = (long)index * 1000 + 1;
  v->only = only;
  v->notes = json_object();
  for (size_t s = 0; s < MXG_SECTIONS; s++) v->sections[s] = json_array();
}

void mxg_vectors_end(mxg_vectors *v) {
  json_decref(v->notes);
  for (size_t s = 0; s < MXG_SECTIONS; s++) json_decref(v->sections[s]);
}

typedef struct text {
  char *data;
  size_t length, capacity;
} text;

static void put(text *to, const char *piece) {
  const size_t length = strlen(piece);
  if (to->length + length + 1 > to->capacity) {
    to->capacity = 2 * (to->length + length + 1);
    to->data = realloc(to->data, to->capacity);
    if (!to->data) exit(mxg_fail(MXG_EXIT_FILE, "out of memory"));
  }
  memcpy(to->data + to->length, piece, length + 1);
  to->length += length;
}

static void put_json(text *to, const json_t *value) {
  char *piece = json_dumps(value, JSON_ENCODE_ANY);
  if (!piece) exit(mxg_fail(MXG_EXIT_FILE, "out of memory"));
  put(to, piece);
  free(piece);
}

char *mxg_vectors_text(const mxg_vectors *v) {
  text out = {NULL, 0, 0};
  put(&out, "{\n\"recipe\": \"");
  put(&out, v->text);
  put(&out, "\",\n\"notes\": {");
  const char *separator = "\n", *flag;
  json_t *note;
  json_object_foreach(v->notes, flag, note) {
    put(&out, separator);
    put(&out, "\"");
    put(&out, flag);
    put(&out, "\": ");
    put_json(&out, note);
    separator = ",\n";
  }
  put(&out, "\n}");
  for (size_t s = 0; s < MXG_SECTIONS; s++) {
    put(&out, ",\n\"");
    put(&out, section_names[s]);
    put(&out, "\": [");
    for (size_t i = 0; i < json_array_size(v->sections[s]); i++) {
      put(&out, i == 0 ? "\n" : ",\n");
      put_json(&out, json_array_get(v->sections[s], i));
    }
    put(&out, json_array_size(v->sections[s]) ? "\n]" : "]");
  }
  put(&out, "\n}\n");
  return out.data;
}
