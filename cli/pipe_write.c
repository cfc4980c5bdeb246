/* pipe_write.c: cases as a text or binary stream (docs/PIPE.md).
 * SPDX-License-Identifier: MIT */
#include "pipe.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- text: one line a case ---- */

typedef struct line {
  char *text;
  size_t length, capacity;
} line;

static char *reserve(line *l, size_t bytes) {
  if (bytes > l->capacity - l->length) {
    const size_t capacity = 2 * (l->length + bytes) + 1024;
    char *larger = mxg_alloc(capacity);
    if (l->length) memcpy(larger, l->text, l->length);
    free(l->text);
    l->text = larger;
    l->capacity = capacity;
  }
  return l->text + l->length;
}

static void put_text(line *l, const char *text) {
  const size_t length = strlen(text);
  memcpy(reserve(l, length), text, length);
  l->length += length;
}

/* Bytes in hexadecimal, "-" for none; values of `width` bytes are in host order. */
static void put_hex(line *l, const unsigned char *data, size_t bytes, size_t width) {
  static const char digits[] = "0123456789ABCDEF";
  static const uint16_t probe = 1;
  unsigned char lowest = 0;
  memcpy(&lowest, &probe, 1);
  if (bytes == 0) {
    put_text(l, "-");
    return;
  }
  char *out = reserve(l, 2 * bytes);
  for (size_t i = 0; i < bytes; i++) {
    /* NOLINTNEXTLINE(*-core.DivideZero): no value is of 0 bytes */
    const unsigned char byte = data[lowest ? i : i / width * width + (width - 1 - i % width)];
    out[2 * i] = digits[byte >> 4];
    out[2 * i + 1] = digits[byte & 15];
  }
  l->length += 2 * bytes;
}

static void put_slots(line *l, const mxg_pipe_case *one) {
  const size_t count = one->rows * one->top_k, stride = one->layout.slot_stride_bytes;
  if (count == 0) put_text(l, "-");
  for (size_t i = 0; i < count; i++) {
    if (i) put_text(l, ",");
    put_hex(l, one->first.data + i * stride, one->third.data[i] ? stride : 0, 1);
  }
}

static int write_text(mxg_output *output, const mxg_plan *plan, const mxg_pipe_case *one) {
  static line l; /* lives as long as the process: its room is used again */
  char start[128];
  l.length = 0;
  snprintf(start, sizeof start, "%" PRIu64 " %s %zu %zu ", one->id, mxg_dtype_name(one->dtype),
           one->rows, one->cols);
  put_text(&l, start);
  if (plan->op == MXG_OPERATION_QUANTIZE) {
    put_hex(&l, one->first.data, one->first.bytes, mxg_dtype_bytes(one->dtype));
    if (plan->has_row_weights) put_text(&l, " ");
    if (plan->has_row_weights) put_hex(&l, one->second.data, one->second.bytes, 4);
  } else if (plan->op == MXG_OPERATION_DEQUANTIZE) {
    put_hex(&l, one->first.data, one->first.bytes, 1);
    put_text(&l, " ");
    put_hex(&l, one->second.data, one->second.bytes, 1);
  } else {
    snprintf(start, sizeof start, "%zu ", one->top_k);
    put_text(&l, start);
    put_slots(&l, one);
    put_text(&l, " ");
    put_hex(&l, one->second.data, one->second.bytes, 4);
  }
  put_text(&l, "\n");
  return mxg_output_write(output, l.text, l.length);
}

/* ---- binary ---- */

/* Values of `width` bytes in host order go out little-endian. */
static int write_values(mxg_output *output, const mxg_part *part, size_t width) {
  const mxg_dtype dtype = width == 4 ? MXG_DTYPE_F32 : MXG_DTYPE_BF16;
  if (width == 1) return mxg_output_write(output, part->data, part->bytes);
  return mxg_output_values(output, dtype, part->data, part->bytes / width);
}

static int write_binary(mxg_output *output, const mxg_plan *plan, const mxg_pipe_case *one) {
  const uint32_t words[MXG_PIPE_CASE_WORDS] = {
      MXG_PIPE_CASE_MAGIC,        (uint32_t)one->id,
      (uint32_t)one->dtype,       (uint32_t)one->rows,
      (uint32_t)one->cols,        (uint32_t)one->top_k,
      (uint32_t)one->first.bytes, (uint32_t)one->second.bytes,
      (uint32_t)one->third.bytes, 0};
  unsigned char bytes[4 * MXG_PIPE_CASE_WORDS];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(words[i / 4] >> i % 4 * 8);
  const bool is_quantize = plan->op == MXG_OPERATION_QUANTIZE;
  int status = mxg_output_write(output, bytes, sizeof bytes);
  if (!status)
    status = write_values(output, &one->first, is_quantize ? mxg_dtype_bytes(one->dtype) : 1);
  if (!status)
    status = write_values(output, &one->second, plan->op == MXG_OPERATION_DEQUANTIZE ? 1 : 4);
  if (!status) status = write_values(output, &one->third, 1);
  return status;
}

int mxg_pipe_write(mxg_output *output, const mxg_plan *plan, const mxg_pipe_case *one) {
  return plan->is_binary ? write_binary(output, plan, one) : write_text(output, plan, one);
}
