/* test_vectors.c: the lint of tests/vectors: form, ids and flags; every byte computed again by the
 * library, the golden model and the small model of tests/kit, none of which made the files; and for
 * each flag its fault planted, which must change a byte.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "impl.h"
#include "kit/model.h"
#include "kit/schema.h"
#include "kit/vector_file.h"

enum { MAX_FILES = 64 };

static vector_file files[MAX_FILES];
static size_t file_count;

static void open_files(void) {
  file_count = vector_files_open(files, MAX_FILES);
}

static void close_files(void) {
  vector_files_close(files, file_count);
}

/* Calls f for every case of every file. */
static void each(void (*f)(const vector_file *file, section s, const json_t *test)) {
  for (size_t i = 0; i < file_count; i++)
    for (int s = 0; s < SECTIONS; s++)
      for (size_t t = 0; t < vector_count(&files[i], (section)s); t++)
        f(&files[i], (section)s, vector_at(&files[i], (section)s, t));
}

/* ---- form ---- */

START_TEST(test_schema) {
  json_error_t error;
  open_files();
  json_t *schema =
      json_load_file(MXGOLD_SOURCE_DIR "/tests/vectors/schema/vectors.schema.json", 0, &error);
  if (schema == NULL) ck_abort_msg("schema: line %d: %s", error.line, error.text);
  for (size_t i = 0; i < file_count; i++) {
    const char *what = schema_check(schema, files[i].document);
    if (what != NULL) ck_abort_msg("%s: %s", files[i].name, what);
  }
  /* the check can fail: a few bad documents made of a good one */
  json_t *bad = json_deep_copy(files[0].document);
  json_t *test = json_array_get(json_object_get(bad, "tests"), 0);
  json_object_set_new(test, "x", json_string("0g"));
  ck_assert_ptr_nonnull(schema_check(schema, bad));
  json_object_set_new(test, "x", json_string("00"));
  ck_assert_ptr_null(schema_check(schema, bad));
  json_object_set_new(test, "more", json_integer(1));
  ck_assert_ptr_nonnull(schema_check(schema, bad));
  json_object_del(test, "more");
  json_object_del(test, "y");
  ck_assert_ptr_nonnull(schema_check(schema, bad));
  json_decref(bad);
  json_decref(schema);
  close_files();
}
END_TEST

static json_int_t ids[4096];
static size_t id_count;

static void note_id(const vector_file *file, section s, const json_t *test) {
  const json_int_t id = json_integer_value(json_object_get(test, "id"));
  (void)s;
  for (size_t i = 0; i < id_count; i++)
    if (ids[i] == id) ck_abort_msg("%s: the id is there twice", vector_name(file, test));
  ck_assert_msg(id_count < 4096, "too many cases");
  ids[id_count++] = id;
  const json_t *flags = json_object_get(test, "flags"), *notes = NULL;
  notes = json_object_get(file->document, "notes");
  for (size_t i = 0; i < json_array_size(flags); i++) {
    const char *flag = json_string_value(json_array_get(flags, i));
    if (json_object_get(notes, flag) == NULL)
      ck_abort_msg("%s: no note for %s", vector_name(file, test), flag);
  }
}

START_TEST(test_ids_and_notes) {
  size_t quantise_cases = 0;
  open_files();
  id_count = 0;
  each(note_id);
  for (size_t i = 0; i < file_count; i++) {
    quantise_cases += vector_count(&files[i], TESTS);
    const char *flag;
    json_t *note;
    json_object_foreach(json_object_get(files[i].document, "notes"), flag, note) {
      bool is_used = false;
      for (int s = 0; s < SECTIONS; s++)
        for (size_t t = 0; t < vector_count(&files[i], (section)s); t++)
          is_used = is_used || vector_has_flag(vector_at(&files[i], (section)s, t), flag);
      if (!is_used) ck_abort_msg("%s: a note for %s, which no case has", files[i].name, flag);
      if (strstr(json_string_value(note), "Seen in") == NULL)
        ck_abort_msg("%s: the note of %s does not say where it was seen", files[i].name, flag);
    }
  }
  ck_assert_uint_ge(quantise_cases, 200);
  printf("%zu files, %zu cases, %zu of them quantise\n", file_count, id_count, quantise_cases);
  close_files();
}
END_TEST

START_TEST(test_every_preset_has_a_file) {
  open_files();
  for (size_t p = 0; mxg_preset_at(p) != NULL; p++) {
    char name[64];
    bool found = false;
    snprintf(name, sizeof name, "%s.json", mxg_preset_at(p)->name);
    for (size_t i = 0; i < file_count && !found; i++)
      found = strcmp(files[i].name, name) == 0 &&
              strcmp(json_string_value(json_object_get(files[i].document, "recipe")),
                     mxg_preset_at(p)->name) == 0;
    if (!found) ck_abort_msg("no file %s for the preset", name);
  }
  close_files();
}
END_TEST

/* The flags of tests/faults.txt, but for those that are not about bytes. */
START_TEST(test_every_flag_has_a_case) {
  static const char *const without_bytes[] = {"FailLoudly", "LiveRows", "Offset64", "WireTag"};
  FILE *list = fopen(MXGOLD_SOURCE_DIR "/tests/faults.txt", "r");
  if (list == NULL) ck_abort_msg("cannot read tests/faults.txt");
  char line[256], flag[64];
  size_t flags = 0;
  open_files();
  while (fgets(line, sizeof line, list) != NULL) {
    bool found = false;
    if (line[0] == '#' || sscanf(line, "%63s", flag) != 1) continue;
    for (size_t i = 0; i < 4; i++) found = found || strcmp(flag, without_bytes[i]) == 0;
    if (found) continue;
    for (size_t i = 0; i < file_count && !found; i++)
      found = json_object_get(json_object_get(files[i].document, "notes"), flag) != NULL;
    if (!found) ck_abort_msg("no vector has the flag %s", flag);
    found = false;
    for (int f = 1; f < FAULTS; f++) found = found || strcmp(flag, fault_flag((fault)f)) == 0;
    if (!found) ck_abort_msg("no fault to plant for the flag %s", flag);
    flags++;
  }
  fclose(list);
  close_files();
  ck_assert_uint_eq(flags, FAULTS - 1);
}
END_TEST

/* ---- bytes ---- */

static mxg_dtype dtype_of(const json_t *test) {
  const char *src = vector_text(test, "src");
  return strcmp(src, "f32") == 0   ? MXG_DTYPE_F32
         : strcmp(src, "f16") == 0 ? MXG_DTYPE_F16
                                   : MXG_DTYPE_BF16;
}

/* Little-endian words of `width` bytes, number i. */
static uint32_t word_at(const model_bytes *bytes, size_t width, size_t i) {
  uint32_t word = 0;
  for (size_t b = 0; b < width; b++) word |= (uint32_t)bytes->data[i * width + b] << (8 * b);
  return word;
}

/* In host order, for the library. */
static void to_host(const model_bytes *from, size_t width, uint8_t *to) {
  for (size_t i = 0; i * width < from->count; i++) {
    const uint32_t word = word_at(from, width, i);
    const uint16_t half = (uint16_t)word;
    if (width == 4)
      memcpy(to + 4 * i, &word, 4);
    else
      memcpy(to + 2 * i, &half, 2);
  }
}

static void expect_hex(const vector_file *file, const json_t *test, const char *key,
                       const char *who, const void *got, size_t count) {
  static model_bytes want;
  vector_bytes(test, key, &want);
  if (want.count != count)
    ck_abort_msg("%s: %s: %zu bytes by %s, %zu in the file", vector_name(file, test), key, count,
                 who, want.count);
  expect_bytes(got, want.data, count, "%s: %s by %s", vector_name(file, test), key, who);
}

static void expect_values(const vector_file *file, const json_t *test, const char *key,
                          const impl *side, mxg_dtype dtype, const mxg_packed_view *in) {
  static uint8_t y[1 << 15];
  static model_bytes bytes;
  const size_t width = mxg_dtype_bytes(dtype), count = in->layout.rows * in->layout.cols;
  const mxg_matrix out = {y, dtype, in->layout.rows, in->layout.cols, 0};
  ck_assert_int_eq(side->dequantize(&file->recipe, in, &out, NULL), MXG_OK);
  bytes.count = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t word = 0;
    uint16_t half = 0;
    if (width == 4) memcpy(&word, y + 4 * i, 4);
    if (width == 2) memcpy(&half, y + 2 * i, 2);
    if (width == 2) word = half;
    for (size_t b = 0; b < width; b++) bytes.data[bytes.count++] = (uint8_t)(word >> (8 * b) & 255);
  }
  expect_hex(file, test, key, side->name, bytes.data, bytes.count);
}

static void recompute_quantise(const impl *side, const vector_file *file, const json_t *test) {
  static model_bytes x, weights, codes, scales;
  static uint8_t values[1 << 15], host_weights[1 << 10];
  const size_t rows = vector_size(test, "rows"), cols = vector_size(test, "cols");
  const mxg_dtype dtype = dtype_of(test);
  mxg_layout layout;
  ck_assert_int_eq(side->layout_for(&file->recipe, rows, cols, NULL, &layout), MXG_OK);
  vector_bytes(test, "x", &x);
  ck_assert_uint_eq(x.count, rows * cols * mxg_dtype_bytes(dtype));
  to_host(&x, mxg_dtype_bytes(dtype), values);
  const bool is_weighted = json_object_get(test, "weights") != NULL;
  vector_bytes(test, "weights", &weights);
  to_host(&weights, 4, host_weights);
  ck_assert_uint_eq(weights.count, is_weighted ? 4 * rows : 0);
  memset(codes.data, 0xA5, sizeof codes.data);
  memset(scales.data, 0xA5, sizeof scales.data);
  const mxg_matrix_view view = {values, dtype, rows, cols, 0};
  const mxg_packed out = {codes.data, layout.codes_bytes, scales.data, layout.scales_bytes, layout};
  ck_assert_int_eq(
      side->quantize(&file->recipe, &view,
                     is_weighted ? (const float *)(const void *)host_weights : NULL, &out, NULL),
      MXG_OK);
  expect_hex(file, test, "codes", side->name, codes.data, layout.codes_bytes);
  expect_hex(file, test, "scales", side->name, scales.data, layout.scales_bytes);
  const mxg_packed_view in = {out.codes, out.codes_capacity, out.scales, out.scales_capacity,
                              layout};
  expect_values(file, test, "y", side, MXG_DTYPE_F32, &in);
}

static void recompute_decode(const impl *side, const vector_file *file, const json_t *test) {
  static model_bytes codes, scales;
  const size_t rows = vector_size(test, "rows"), cols = vector_size(test, "cols");
  mxg_layout layout;
  ck_assert_int_eq(side->layout_for(&file->recipe, rows, cols, NULL, &layout), MXG_OK);
  vector_bytes(test, "codes", &codes);
  vector_bytes(test, "scales", &scales);
  const mxg_packed_view in = {codes.data, codes.count, scales.data, scales.count, layout};
  expect_values(file, test, "y", side, MXG_DTYPE_F32, &in);
  expect_values(file, test, "y_bf16", side, MXG_DTYPE_BF16, &in);
  expect_values(file, test, "y_f16", side, MXG_DTYPE_F16, &in);
}

static void recompute_scale(const impl *side, const vector_file *file, const json_t *test) {
  static model_bytes in;
  static uint8_t values[1 << 12], scales[1 << 10];
  vector_bytes(test, "in", &in);
  to_host(&in, 4, values);
  const bool from_scale = strcmp(vector_text(test, "from"), "scale") == 0;
  const mxg_status status = (from_scale ? side->e8m0_from_scale : side->e8m0_from_amax)(
      &file->recipe, (const float *)(const void *)values, in.count / 4, scales);
  ck_assert_int_eq(status, MXG_OK);
  expect_hex(file, test, "scales", side->name, scales, in.count / 4);
}

static mxg_scale_order order_of(const char *op) {
  return strcmp(op, "transposed") == 0      ? MXG_ORDER_TRANSPOSED
         : strcmp(op, "aiter_shuffle") == 0 ? MXG_ORDER_AITER_SHUFFLE
                                            : MXG_ORDER_BLOCKED_128X4;
}

static void recompute_layout(const impl *side, const vector_file *file, const json_t *test) {
  static model_bytes in, out;
  const char *op = vector_text(test, "op");
  const size_t rows = vector_size(test, "rows"), row_bytes = vector_size(test, "row_bytes");
  vector_bytes(test, "in", &in);
  memset(out.data, 0xFF, sizeof out.data);
  if (strcmp(op, "weight_shuffle") == 0 || strcmp(op, "gate_up_interleave") == 0) {
    const size_t experts = vector_size(test, "experts");
    ck_assert_int_eq(op[0] == 'w'
                         ? side->weight_shuffle(rows, row_bytes, in.data, out.data)
                         : side->gate_up_interleave(experts, rows, row_bytes, in.data, out.data),
                     MXG_OK);
    expect_hex(file, test, "out", side->name, out.data, in.count);
    return;
  }
  mxg_layout_options options;
  mxg_layout from, to;
  const size_t cols = vector_size(test, "scale_cols") * file->recipe.block;
  memset(&options, 0, sizeof options);
  ck_assert_int_eq(side->layout_for(&file->recipe, rows, cols, &options, &from), MXG_OK);
  options.order = order_of(op);
  options.pad_byte = (uint32_t)vector_size(test, "pad");
  ck_assert_int_eq(side->layout_for(&file->recipe, rows, cols, &options, &to), MXG_OK);
  ck_assert_uint_eq(to.scale_bytes, vector_size(test, "scale_bytes"));
  ck_assert_int_eq(
      side->scales_reorder(&from, in.data, in.count, &to, out.data, to.scales_bytes, rows), MXG_OK);
  expect_hex(file, test, "out", side->name, out.data, to.scales_bytes);
}

static void recompute(const vector_file *file, section s, const json_t *test) {
  for (int i = 0; i < IMPLS; i++) {
    if (s == TESTS || s == WEIGHTED) recompute_quantise(&impls[i], file, test);
    if (s == DECODE) recompute_decode(&impls[i], file, test);
    if (s == SCALE) recompute_scale(&impls[i], file, test);
    if (s == LAYOUT) recompute_layout(&impls[i], file, test);
  }
}

START_TEST(test_codec_and_golden_model_give_the_bytes) {
  open_files();
  each(recompute);
  close_files();
}
END_TEST

/* ---- planted faults ---- */

/* Does what the model makes with the fault differ from the file? With FAULT_NONE a difference fails
 * the test. */
static bool differs(const vector_file *file, const json_t *test, const char *key, fault f,
                    const model_bytes *got) {
  static model_bytes want;
  if (f == FAULT_NONE) expect_hex(file, test, key, "the small model", got->data, got->count);
  vector_bytes(test, key, &want);
  return want.count != got->count || memcmp(want.data, got->data, want.count) != 0;
}

/* 16-bit values are f32 of which some bits are 0. */
static uint32_t f32_bits(mxg_dtype dtype, uint32_t bits) {
  float value = 0;
  if (dtype == MXG_DTYPE_F32) return bits;
  if (dtype == MXG_DTYPE_BF16) return bits << 16;
  const uint32_t sign = bits & 0x8000u, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31) return sign << 16 | 0x7F800000u | mantissa << 13;
  if (exponent != 0) return sign << 16 | (exponent + 112) << 23 | mantissa << 13;
  value = (float)mantissa * 0x1p-24f;
  memcpy(&bits, &value, 4);
  return sign << 16 | bits;
}

static bool quantise_differs(const vector_file *file, const json_t *test, fault f) {
  static model_bytes bytes, weight_bytes, codes, scales, y;
  static uint32_t x[1 << 14], weights[64];
  const size_t rows = vector_size(test, "rows"), cols = vector_size(test, "cols");
  const mxg_dtype dtype = dtype_of(test);
  const size_t width = mxg_dtype_bytes(dtype);
  vector_bytes(test, "x", &bytes);
  vector_bytes(test, "weights", &weight_bytes);
  for (size_t i = 0; i < rows * cols; i++) x[i] = f32_bits(dtype, word_at(&bytes, width, i));
  for (size_t i = 0; 4 * i < weight_bytes.count; i++) weights[i] = word_at(&weight_bytes, 4, i);
  model_quantize(&file->recipe, f, x, weight_bytes.count != 0 ? weights : NULL, rows, cols, &codes,
                 &scales);
  bool found = differs(file, test, "codes", f, &codes);
  found = differs(file, test, "scales", f, &scales) || found;
  vector_bytes(test, "codes", &codes);
  vector_bytes(test, "scales", &scales);
  model_dequantize(&file->recipe, f, codes.data, scales.data, rows, cols, MXG_DTYPE_F32, &y);
  return differs(file, test, "y", f, &y) || found;
}

static bool decode_differs(const vector_file *file, const json_t *test, fault f) {
  static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_BF16, MXG_DTYPE_F16};
  static const char *const keys[] = {"y", "y_bf16", "y_f16"};
  static model_bytes codes, scales, y;
  bool found = false;
  vector_bytes(test, "codes", &codes);
  vector_bytes(test, "scales", &scales);
  for (size_t d = 0; d < 3; d++) {
    model_dequantize(&file->recipe, f, codes.data, scales.data, vector_size(test, "rows"),
                     vector_size(test, "cols"), dtypes[d], &y);
    found = differs(file, test, keys[d], f, &y) || found;
  }
  return found;
}

static bool scale_differs(const vector_file *file, const json_t *test, fault f) {
  static model_bytes in, scales;
  const bool from_scale = strcmp(vector_text(test, "from"), "scale") == 0;
  vector_bytes(test, "in", &in);
  scales.count = in.count / 4;
  for (size_t i = 0; i < scales.count; i++)
    scales.data[i] = model_e8m0(&file->recipe, f, from_scale, word_at(&in, 4, i));
  return differs(file, test, "scales", f, &scales);
}

static bool layout_differs(const vector_file *file, const json_t *test, fault f) {
  static model_bytes in, out;
  const char *op = vector_text(test, "op");
  vector_bytes(test, "in", &in);
  if (strcmp(op, "weight_shuffle") == 0 || strcmp(op, "gate_up_interleave") == 0)
    model_weights(f, op[0] == 'g', vector_size(test, "experts"), vector_size(test, "rows"),
                  vector_size(test, "row_bytes"), in.data, &out);
  else
    model_reorder(f, order_of(op), vector_size(test, "rows"), vector_size(test, "scale_cols"),
                  vector_size(test, "scale_bytes"), (uint8_t)vector_size(test, "pad"), in.data,
                  &out);
  return differs(file, test, "out", f, &out);
}

static bool case_differs(const vector_file *file, section s, const json_t *test, fault f) {
  if (s == DECODE) return decode_differs(file, test, f);
  if (s == SCALE) return scale_differs(file, test, f);
  if (s == LAYOUT) return layout_differs(file, test, f);
  return quantise_differs(file, test, f);
}

START_TEST(test_small_model_gives_the_bytes) {
  open_files();
  for (size_t i = 0; i < file_count; i++)
    for (int s = 0; s < SECTIONS; s++)
      for (size_t t = 0; t < vector_count(&files[i], (section)s); t++)
        (void)case_differs(&files[i], (section)s, vector_at(&files[i], (section)s, t), FAULT_NONE);
  close_files();
}
END_TEST

/* In every file that has the flag its fault must show in the cases of the flag. */
START_TEST(test_planted_faults_are_seen) {
  size_t missed = 0;
  open_files();
  for (int f = 1; f < FAULTS; f++) {
    size_t cases = 0, seen = 0, in_files = 0;
    for (size_t i = 0; i < file_count; i++) {
      size_t here = 0, seen_here = 0;
      for (int s = 0; s < SECTIONS; s++) {
        for (size_t t = 0; t < vector_count(&files[i], (section)s); t++) {
          const json_t *test = vector_at(&files[i], (section)s, t);
          if (!vector_has_flag(test, fault_flag((fault)f))) continue;
          here++;
          seen_here += case_differs(&files[i], (section)s, test, (fault)f);
        }
      }
      cases += here;
      seen += seen_here;
      in_files += here != 0;
      if (here == 0 || seen_here != 0) continue;
      missed++;
      printf("%s: the fault of %s changes no byte\n", files[i].name, fault_flag((fault)f));
    }
    printf("%-20s planted: seen in %zu of %zu cases, %zu files\n", fault_flag((fault)f), seen,
           cases, in_files);
    ck_assert_uint_gt(seen, 0);
  }
  fflush(stdout);
  close_files();
  ck_assert_msg(missed == 0, "%zu faults changed no byte of a file, printed above", missed);
}
END_TEST

CHECK_MAIN("vectors", test_schema, test_ids_and_notes, test_every_preset_has_a_file,
           test_every_flag_has_a_case, test_codec_and_golden_model_give_the_bytes,
           test_small_model_gives_the_bytes, test_planted_faults_are_seen)
