/* reader.c
 * SPDX-License-Identifier: MIT */
#include "reader.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"

static fuzz_buffer content;
static uint8_t content_copy[FUZZ_BUFFER_MAX];
static int open_count;
static char message[4096];
static int message_count, message_exit_code;

/* ---- the file ---- */

void fuzz_file_set(const void *data, size_t bytes) {
  fuzz_buffer_place(&content, bytes, 0, 0);
  if (bytes > 0) memcpy(content.data, data, bytes);
  if (bytes > 0) memcpy(content_copy, data, bytes);
}

bool fuzz_file_is_open(void) {
  return open_count != 0;
}

void fuzz_file_check(void) {
  FUZZ_CHECK(memcmp(content.data, content_copy, content.bytes) == 0, "the file was written to");
  fuzz_buffer_check(&content, "the file");
}

/* NOLINTBEGIN(misc-use-internal-linkage): the linker puts these in place of the tool's own */
int __wrap_mxg_file_open(const char *path, mxg_file *out);
void __wrap_mxg_file_close(mxg_file *file);
int __wrap_mxg_fail(int exit_code, const char *format, ...);
/* NOLINTEND(misc-use-internal-linkage) */

int __wrap_mxg_file_open(const char *path, mxg_file *out) {
  memset(out, 0, sizeof *out);
  out->path = mxg_copy_text(path);
  out->data = content.bytes > 0 ? content.data : NULL;
  out->bytes = content.bytes;
  out->is_regular = true;
  open_count++;
  return MXG_EXIT_OK;
}

void __wrap_mxg_file_close(mxg_file *file) {
  if (file->path != NULL) open_count--;
  free(file->path);
  memset(file, 0, sizeof *file);
}

/* main.c has the commands; here are none. */
const mxg_command *mxg_command_at(size_t index) {
  (void)index;
  return NULL;
}

/* ---- the message ---- */

void fuzz_message_reset(void) {
  message[0] = 0;
  message_count = 0;
}

const char *fuzz_message(void) {
  return message;
}

int __wrap_mxg_fail(int exit_code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  FUZZ_CHECK(length > 0, "a message is empty or cannot be formatted");
  message_count++;
  message_exit_code = exit_code;
  return exit_code;
}

/* What the tool would print has one line and no control characters, whatever names are in it. */
static void check_escaped(void) {
  static char printed[4 * sizeof message + 1];
  FILE *to = fmemopen(printed, sizeof printed, "w");
  FUZZ_CHECK(to != NULL, "no memory stream");
  mxg_put_escaped(to, message);
  fclose(to);
  for (const char *c = printed; *c != 0; c++)
    FUZZ_CHECK((unsigned char)*c >= 0x20 && *c != 0x7F, "control character %02X in a message",
               (unsigned)(unsigned char)*c);
}

void fuzz_message_check(int exit_code, const char *what) {
  FUZZ_CHECK(exit_code == MXG_EXIT_OK || exit_code == MXG_EXIT_USAGE || exit_code == MXG_EXIT_FILE,
             "%s: exit code %d", what, exit_code);
  FUZZ_CHECK(message_count == (exit_code != MXG_EXIT_OK), "%s: exit code %d and %d messages", what,
             exit_code, message_count);
  if (exit_code == MXG_EXIT_OK) return;
  FUZZ_CHECK(message_exit_code == exit_code, "%s: exit code %d, the message's %d", what, exit_code,
             message_exit_code);
  FUZZ_CHECK(strstr(message, FUZZ_FILE_NAME) != NULL || strstr(message, "--") != NULL ||
                 strncmp(message, "recipe", 6) == 0,
             "%s: a message names neither file nor option", what);
  check_escaped();
}

void fuzz_describe_file(FILE *to, const void *subject) {
  (void)subject;
  fprintf(to, "  file of %zu bytes: ", content.bytes);
  for (size_t i = 0; i < content.bytes && i < 600; i++) {
    const uint8_t c = content.data[i];
    if (c >= 0x20 && c < 0x7F)
      putc(c, to);
    else
      fprintf(to, "\\x%02X", (unsigned)c);
  }
  fprintf(to, "\n  message: ");
  mxg_put_escaped(to, message);
  putc('\n', to);
}

/* ---- tensors ---- */

static unsigned bits_of(mxg_file_dtype dtype) {
  switch (dtype) {
    case MXG_FILE_F32: return 32;
    case MXG_FILE_F16:
    case MXG_FILE_BF16: return 16;
    case MXG_FILE_U8:
    case MXG_FILE_F8_E4M3:
    case MXG_FILE_F8_E5M2:
    case MXG_FILE_F8_E8M0: return 8;
    case MXG_FILE_F4: return 4;
    case MXG_FILE_OTHER: break;
  }
  return 0;
}

static void check_tensor(const mxg_tensor_file *file, const mxg_tensor *t) {
  size_t elements = 1, rows = 1;
  FUZZ_CHECK(t->rank <= MXG_MAX_DIMS, "rank %zu", t->rank);
  bool is_empty = false;
  for (size_t i = 0; i < t->rank; i++) is_empty |= t->dims[i] == 0;
  for (size_t i = 0; i < t->rank && !is_empty; i++) {
    FUZZ_CHECK(elements <= SIZE_MAX / t->dims[i], "the elements do not fit size_t");
    elements *= t->dims[i];
    if (i + 1 < t->rank) rows *= t->dims[i];
  }
  if (is_empty) {
    FUZZ_CHECK(t->bytes == 0 && (t->rows == 0 || t->cols == 0), "an empty tensor has %zu bytes",
               t->bytes);
  } else {
    FUZZ_CHECK(t->rows == rows && t->cols == (t->rank > 0 ? t->dims[t->rank - 1] : 1),
               "%zu x %zu of %zu elements", t->rows, t->cols, elements);
    const unsigned bits = bits_of(t->dtype);
    if (bits != 0)
      FUZZ_CHECK(elements <= SIZE_MAX / bits && elements * bits == 8 * t->bytes,
                 "%zu bytes for %zu elements", t->bytes, elements);
  }
  if (t->bytes == 0) return;
  FUZZ_CHECK(t->data >= file->file.data && t->data <= file->file.data + file->file.bytes &&
                 t->bytes <= (size_t)(file->file.data + file->file.bytes - t->data),
             "the data lie outside the file");
  unsigned sum = 0;
  for (size_t i = 0; i < t->bytes; i++) sum += t->data[i];
  FUZZ_CHECK(sum <= t->bytes * 255, "bytes above 255"); /* reads them all */
}

void fuzz_check_tensors(const mxg_tensor_file *file) {
  for (size_t i = 0; i < file->count; i++) {
    const mxg_tensor *t = &file->tensors[i];
    check_tensor(file, t);
    FUZZ_CHECK(t->path != NULL && t->name != NULL, "a tensor without path or name");
    FUZZ_CHECK(mxg_tensor_find(file, t->name) == t, "tensor '%s' is found elsewhere", t->name);
    FUZZ_CHECK(mxg_file_dtype_name(t->dtype) != NULL, "a type without a name");
  }
  FUZZ_CHECK(strlen(mxg_tensor_names(file)) < 1024, "a long list of names");
}

/* ---- use ---- */

static fuzz_buffer codes[2], scales[2];

void fuzz_check_use(const mxg_tensor *tensor) {
  const mxg_preset *preset = mxg_preset_at(tensor->bytes % 26);
  const mxg_recipe *recipe = &preset->recipe;
  const size_t rows = tensor->rows < 4 ? tensor->rows : 4;
  mxg_layout layout;
  if (tensor->bytes > 4096 || mxg_layout_for(recipe, rows, tensor->cols, NULL, &layout) != MXG_OK ||
      layout.codes_bytes > FUZZ_BUFFER_MAX || layout.scales_bytes > FUZZ_BUFFER_MAX)
    return;
  const mxg_matrix_view view = mxg_tensor_rows(tensor, tensor->rows - rows, rows);
  mxg_status status[2];
  for (int v = 0; v < 2; v++) {
    fuzz_buffer_place(&codes[v], layout.codes_bytes, 0, 0);
    fuzz_buffer_place(&scales[v], layout.scales_bytes, 0, 0);
    const mxg_packed out = {codes[v].data, layout.codes_bytes, scales[v].data, layout.scales_bytes,
                            layout};
    status[v] = (v ? mxg_ref_quantize : mxg_quantize)(recipe, &view, NULL, &out, NULL);
  }
  FUZZ_CHECK(status[0] == MXG_OK && status[1] == MXG_OK, "%s of a tensor: status %d, %d",
             preset->name, (int)status[0], (int)status[1]);
  FUZZ_CHECK(memcmp(codes[0].data, codes[1].data, layout.codes_bytes) == 0 &&
                 memcmp(scales[0].data, scales[1].data, layout.scales_bytes) == 0,
             "%s of a tensor: codec and golden model differ", preset->name);
}
