/* fuzz_npy.c: .npy files through the tool's reader.
 *
 * The first bytes choose options and how the rest becomes a file: as it is, or a header text up to
 * the first 0 byte with magic, version and length put before it, and the data behind.
 * Expected: an exit code with exactly one message, or a tensor that lies in the file and has the
 * bytes that type and shape say; written anew in the plainest form it reads as the same values; the
 * values in host order are the stored ones; codec and golden model give the same bytes for them.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "reader.h"

enum { FILE_MAX = 1 << 14 };

/* Returns the bytes of the file made of the input. */
static size_t make_file(fuzz_input *in, uint8_t how, uint8_t *file) {
  const size_t rest = in->bytes - in->at;
  const uint8_t *from = in->data + in->at;
  size_t at = 0;
  if (how % 4 == 0) {
    at = rest < FILE_MAX ? rest : FILE_MAX;
    if (at > 0) memcpy(file, from, at);
    return at;
  }
  const uint8_t *zero = rest > 0 ? memchr(from, 0, rest) : NULL;
  size_t header = zero != NULL ? (size_t)(zero - from) : rest;
  if (header > FILE_MAX / 2) header = FILE_MAX / 2;
  const uint8_t version = (uint8_t)(1 + how / 4 % 3);
  const size_t start = version == 1 ? 10 : 12;
  memcpy(file, "\x93NUMPY", 6);
  file[6] = version;
  file[7] = 0;
  for (size_t i = 8; i < start; i++) file[i] = (uint8_t)(header >> 8 * (i - 8));
  if (header > 0) memcpy(file + start, from, header);
  at = start + header;
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

/* The same tensor in a file that any reader takes. */
static size_t write_plainly(const mxg_tensor *t, uint8_t *file) {
  static const char *const types[] = {"", "f4", "f2", "u2", "u1"};
  static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  char header[1024];
  int length =
      snprintf(header, sizeof header, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
               t->dtype == MXG_FILE_U8 ? '|'
               : t->is_big_endian      ? '>'
                                       : '<',
               types[t->dtype]);
  for (size_t i = 0; i < t->rank; i++)
    length += snprintf(header + length, sizeof header - (size_t)length, "%zu, ", t->dims[i]);
  length += snprintf(header + length, sizeof header - (size_t)length, "), }\n");
  memcpy(file, magic, sizeof magic);
  file[8] = (uint8_t)(length & 0xFF);
  file[9] = (uint8_t)(length >> 8);
  memcpy(file + 10, header, (size_t)length);
  if (t->bytes > 0) memcpy(file + 10 + length, t->data, t->bytes);
  return 10 + (size_t)length + t->bytes;
}

static void check_again(const mxg_tensor *t, const mxg_input_options *options) {
  static uint8_t plain[2 * FILE_MAX + 1024], stored[FILE_MAX];
  mxg_tensor first = *t;
  mxg_tensor_file again;
  const size_t bytes = write_plainly(t, plain);
  if (t->bytes > 0) memcpy(stored, t->data, t->bytes);
  fuzz_file_set(plain, bytes);
  FUZZ_CHECK(mxg_tensor_file_open(FUZZ_FILE_NAME, options, &again) == 0,
             "written plainly it is refused: %s", fuzz_message());
  const mxg_tensor *second = &again.tensors[0];
  FUZZ_CHECK(again.count == 1 && second->dtype == first.dtype && second->rank == first.rank &&
                 memcmp(second->dims, first.dims, sizeof first.dims) == 0 &&
                 second->rows == first.rows && second->cols == first.cols &&
                 second->bytes == first.bytes && second->is_big_endian == first.is_big_endian &&
                 (first.bytes == 0 || memcmp(second->data, stored, first.bytes) == 0),
             "written plainly it reads differently");
  mxg_tensor_file_close(&again);
}

/* Values in host order: the stored bytes, each value reversed where the file has the other order. */
static void check_values(const mxg_input_options *options) {
  mxg_tensor_file file;
  const mxg_tensor *t = NULL;
  fuzz_message_reset();
  const int exit_code = mxg_values_open(FUZZ_FILE_NAME, options, &file, &t);
  fuzz_message_check(exit_code, "values");
  if (exit_code != 0) return;
  const size_t width = t->dtype == MXG_FILE_F32 ? 4 : 2;
  const uint16_t one = 1;
  uint8_t low;
  memcpy(&low, &one, 1);
  const uint8_t *stored = file.file.data + file.file.bytes - t->bytes;
  const bool is_swapped = t->data != stored;
  FUZZ_CHECK(t->is_big_endian == (low == 0), "values are not in host order");
  for (size_t i = 0; i < t->bytes; i++)
    FUZZ_CHECK(t->data[i] == stored[is_swapped ? i / width * width + (width - 1 - i % width) : i],
               "byte %zu of the values", i);
  fuzz_check_use(t);
  mxg_tensor_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static uint8_t content[FILE_MAX + 8192];
  static const char *const dtypes[] = {NULL, NULL, NULL, NULL, "bf16", "f32", "f16", "u8"};
  fuzz_input in = fuzz_input_of(data, bytes);
  mxg_tensor_file file;
  const uint8_t how = fuzz_u8(&in), choice = fuzz_u8(&in);
  mxg_input_options options = {NULL, dtypes[choice % 8], NULL, false, false, choice >= 128};
  if (how >= 240) options.shape = choice % 2 ? "2x3" : "1x64"; /* a raw file, whatever is in it */
  fuzz_about(fuzz_describe_file, NULL);
  fuzz_message_reset();
  const size_t size = make_file(&in, how, content);
  fuzz_file_set(content, size);
  const mxg_input_options *given = choice % 16 == 0 ? NULL : &options;
  const int exit_code = mxg_tensor_file_open(FUZZ_FILE_NAME, given, &file);
  fuzz_message_check(exit_code, "npy");
  fuzz_file_check();
  FUZZ_CHECK(fuzz_file_is_open() == (exit_code == 0), "the file is left open, or closed too early");
  if (exit_code != 0) return 0;
  fuzz_check_tensors(&file);
  const mxg_tensor first = file.tensors[0];
  const bool is_npy = file.kind == MXG_FILE_NPY;
  const uint8_t *end = content + size; /* the tensor's bytes are the last ones of the file */
  mxg_tensor kept = first;
  kept.data = end - first.bytes;
  if (is_npy) FUZZ_CHECK(file.count == 1, "%zu tensors", file.count);
  mxg_tensor_file_close(&file);
  FUZZ_CHECK(!fuzz_file_is_open(), "the file is left open");
  if (file.kind == MXG_FILE_SAFETENSORS || !is_npy) return 0;
  check_values(given);
  fuzz_file_check();
  if (kept.bytes <= FILE_MAX) check_again(&kept, given);
  return 0;
}
