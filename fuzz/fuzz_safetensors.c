/* fuzz_safetensors.c: .safetensors files through the tool's readers of tensors and of quantised
 * pairs.
 *
 * The first bytes choose how the rest becomes a file: as it is, or a JSON text up to the first 0
 * byte with its length put before it, and the data behind.
 * Expected: an exit code with exactly one message, or tensors that lie in the file, fill its data
 * without sharing a byte, and have the bytes that type and shape say; written anew in the plainest
 * form they read as the same tensors; a quantised pair that fits its recipe decodes to the same
 * values by codec and golden model.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "reader.h"

enum { FILE_MAX = 1 << 14, PLAIN_MAX = 1 << 16 };

static size_t make_file(fuzz_input *in, uint8_t how, uint8_t *file) {
  const size_t rest = in->bytes - in->at;
  const uint8_t *from = in->data + in->at;
  if (how % 4 == 0) {
    const size_t bytes = rest < FILE_MAX ? rest : FILE_MAX;
    if (bytes > 0) memcpy(file, from, bytes);
    return bytes;
  }
  const uint8_t *zero = rest > 0 ? memchr(from, 0, rest) : NULL;
  size_t header = zero != NULL ? (size_t)(zero - from) : rest;
  if (header > FILE_MAX / 2) header = FILE_MAX / 2;
  for (size_t i = 0; i < 8; i++) file[i] = (uint8_t)((uint64_t)header >> 8 * i);
  if (header > 0) memcpy(file + 8, from, header);
  const size_t at = 8 + header;
  size_t data = zero != NULL ? rest - header - 1 : 0;
  if (how % 4 == 3 && data >= 2) { /* a length and a few bytes again and again */
    const size_t wanted = zero[1] + 256u * (zero[2] % 16u);
    for (size_t i = 0; i < wanted; i++)
      file[at + i] = data > 2 ? zero[3 + i % (data - 2)] : (uint8_t)i;
    return at + wanted;
  }
  if (data > FILE_MAX - at) data = FILE_MAX - at;
  if (data > 0) memcpy(file + at, zero + 1, data);
  return at + data;
}

/* ---- written anew ---- */

typedef struct writer {
  char text[PLAIN_MAX];
  size_t length;
} writer;

static void put(writer *w, const char *text) {
  for (; *text != 0 && w->length < PLAIN_MAX - 1; text++) w->text[w->length++] = *text;
}

static void put_number(writer *w, size_t value) {
  char digits[24];
  snprintf(digits, sizeof digits, "%zu", value);
  put(w, digits);
}

/* A JSON string; names are UTF-8 already. */
static void put_string(writer *w, const char *text) {
  put(w, "\"");
  for (; *text != 0; text++) {
    char one[8] = {*text, 0};
    if ((unsigned char)*text < 0x20 || *text == '"' || *text == '\\')
      snprintf(one, sizeof one, "\\u%04X", (unsigned)(unsigned char)*text);
    put(w, one);
  }
  put(w, "\"");
}

/* All tensors in the reader's order, their data one after the other; false when a type has lost its
 * name ("other") or the text is too long. */
static bool write_plainly(const mxg_tensor_file *file, writer *w, uint8_t *out, size_t *bytes) {
  size_t at = 0;
  w->length = 0;
  put(w, "{");
  for (size_t i = 0; i < file->count; i++) {
    const mxg_tensor *t = &file->tensors[i];
    if (t->dtype == MXG_FILE_OTHER) return false;
    put(w, i > 0 ? "," : "");
    put_string(w, t->name);
    put(w, ":{\"dtype\":\"");
    put(w, mxg_file_dtype_name(t->dtype));
    put(w, "\",\"shape\":[");
    for (size_t d = 0; d < t->rank; d++) {
      put(w, d > 0 ? "," : "");
      put_number(w, t->dims[d]);
    }
    put(w, "],\"data_offsets\":[");
    put_number(w, at);
    put(w, ",");
    put_number(w, at += t->bytes);
    put(w, "]}");
  }
  put(w, "}");
  if (w->length >= PLAIN_MAX - 1 || 8 + w->length + at > FUZZ_BUFFER_MAX) return false;
  for (size_t i = 0; i < 8; i++) out[i] = (uint8_t)((uint64_t)w->length >> 8 * i);
  memcpy(out + 8, w->text, w->length);
  at = 8 + w->length;
  for (size_t i = 0; i < file->count; i++) {
    if (file->tensors[i].bytes > 0) memcpy(out + at, file->tensors[i].data, file->tensors[i].bytes);
    at += file->tensors[i].bytes;
  }
  *bytes = at;
  return true;
}

static void check_again(const mxg_tensor_file *file) {
  static writer w;
  static uint8_t plain[FUZZ_BUFFER_MAX], data[FILE_MAX + 8192];
  size_t bytes = 0, at = 0;
  if (!write_plainly(file, &w, plain, &bytes)) return;
  /* the second file lies where the first one does: keep what the first one says */
  const size_t count = file->count;
  mxg_tensor *first = malloc((count + 1) * sizeof *first);
  FUZZ_CHECK(first != NULL, "no memory");
  for (size_t i = 0; i < count; i++) {
    first[i] = file->tensors[i];
    first[i].name = mxg_copy_text(file->tensors[i].name);
    if (first[i].bytes > 0) memcpy(data + at, first[i].data, first[i].bytes);
    at += first[i].bytes;
  }
  mxg_tensor_file again;
  fuzz_file_set(plain, bytes);
  FUZZ_CHECK(mxg_tensor_file_open(FUZZ_FILE_NAME, NULL, &again) == 0,
             "written plainly it is refused: %s", fuzz_message());
  FUZZ_CHECK(again.count == count, "written plainly it has %zu tensors, not %zu", again.count,
             count);
  at = 0;
  for (size_t i = 0; i < count; i++) {
    const mxg_tensor *t = &again.tensors[i];
    FUZZ_CHECK(strcmp(t->name, first[i].name) == 0 && t->dtype == first[i].dtype &&
                   t->rank == first[i].rank && t->rows == first[i].rows &&
                   t->cols == first[i].cols && t->bytes == first[i].bytes &&
                   memcmp(t->dims, first[i].dims, sizeof t->dims) == 0 &&
                   (t->bytes == 0 || memcmp(t->data, data + at, t->bytes) == 0),
               "written plainly tensor '%s' reads differently", first[i].name);
    at += t->bytes;
    free(first[i].name);
  }
  free(first);
  mxg_tensor_file_close(&again);
}

/* ---- the data have one owner for each byte ---- */

static void check_owners(const mxg_tensor_file *file) {
  static uint8_t owned[FUZZ_BUFFER_MAX];
  size_t total = 0;
  memset(owned, 0, file->file.bytes);
  for (size_t i = 0; i < file->count; i++) {
    const mxg_tensor *t = &file->tensors[i];
    for (size_t b = 0; b < t->bytes; b++) {
      uint8_t *one = &owned[(size_t)(t->data - file->file.data) + b];
      FUZZ_CHECK(*one == 0, "tensor '%s' shares a byte with another", t->name);
      *one = 1;
    }
    total += t->bytes;
  }
  FUZZ_CHECK(total + 8 <= file->file.bytes, "more data than file");
}

/* ---- quantised pairs ---- */

static void check_packed(void) {
  static fuzz_buffer values[2];
  mxg_packed_file packed;
  mxg_recipe recipe;
  mxg_layout layout;
  fuzz_message_reset();
  int exit_code = mxg_packed_open(FUZZ_FILE_NAME, NULL, &packed);
  fuzz_message_check(exit_code, "a quantised pair");
  if (exit_code != 0) return;
  fuzz_message_reset();
  exit_code = mxg_packed_recipe(&packed, NULL, &recipe);
  fuzz_message_check(exit_code, "the recipe of a pair");
  if (exit_code == 0) {
    fuzz_message_reset();
    exit_code = mxg_packed_check_types(&packed, &recipe, false);
    fuzz_message_check(exit_code, "the types of a pair");
  }
  if (exit_code == 0 && packed.has_shape && packed.rows <= 64 && packed.cols <= 2048 &&
      packed.live_rows <= packed.rows &&
      mxg_layout_for(&recipe, packed.rows, packed.cols, &packed.options, &layout) == MXG_OK &&
      layout.codes_bytes <= packed.codes_bytes &&
      (layout.scales_bytes == 0 ||
       (packed.scales != NULL && layout.scales_bytes <= packed.scales_bytes))) {
    const mxg_packed_view in = {packed.codes, packed.codes_bytes, packed.scales,
                                packed.scales_bytes, layout};
    const size_t bytes = packed.live_rows * packed.cols * 2;
    if (bytes <= FUZZ_BUFFER_MAX) {
      mxg_status status[2];
      for (int v = 0; v < 2; v++) {
        fuzz_buffer_place(&values[v], bytes, 0, 0);
        const mxg_matrix y = {values[v].data, MXG_DTYPE_BF16, packed.live_rows, packed.cols, 0};
        status[v] = (v ? mxg_ref_dequantize : mxg_dequantize)(&recipe, &in, &y, NULL);
      }
      FUZZ_CHECK(status[0] == status[1] && memcmp(values[0].data, values[1].data, bytes) == 0,
                 "dequantize: codec %d, golden model %d, or values differ", (int)status[0],
                 (int)status[1]);
    }
  }
  mxg_packed_close(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static uint8_t content[FILE_MAX + 8192];
  fuzz_input in = fuzz_input_of(data, bytes);
  mxg_tensor_file file;
  const uint8_t how = fuzz_u8(&in);
  fuzz_about(fuzz_describe_file, NULL);
  fuzz_message_reset();
  fuzz_file_set(content, make_file(&in, how, content));
  int exit_code = mxg_tensor_file_open(FUZZ_FILE_NAME, NULL, &file);
  fuzz_message_check(exit_code, "safetensors");
  fuzz_file_check();
  FUZZ_CHECK(fuzz_file_is_open() == (exit_code == 0), "the file is left open, or closed too early");
  if (exit_code != 0) return 0;
  fuzz_check_tensors(&file);
  if (file.kind == MXG_FILE_SAFETENSORS) {
    check_owners(&file);
    for (size_t i = 0; i < file.count && i < 4; i++) {
      const mxg_tensor *tensor = NULL;
      fuzz_message_reset();
      exit_code = mxg_values_pick(&file, file.tensors[i].name, &tensor);
      fuzz_message_check(exit_code, "values");
      if (exit_code == 0) fuzz_check_use(tensor);
    }
    check_packed();
    fuzz_file_check();
    check_again(&file);
  }
  mxg_tensor_file_close(&file);
  FUZZ_CHECK(!fuzz_file_is_open(), "the file is left open");
  return 0;
}
