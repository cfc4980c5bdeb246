/* io_internal.h: what the files of the file layer share with each other only.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_IO_INTERNAL_H
#define MXGOLD_IO_INTERNAL_H

#include "tool.h"

#include <string.h>

static inline bool mxg_host_is_big_endian(void) {
  const uint16_t one = 1;
  unsigned char first;
  memcpy(&first, &one, 1);
  return first == 0;
}

static inline bool mxg_ends_in(const char *text, const char *end) {
  const size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Parsers of one kind: file->file is open; they fill tensors, count and metadata. */
int mxg_npy_parse(const mxg_input_options *options, mxg_tensor_file *file);
int mxg_safetensors_parse(mxg_tensor_file *file);

/* rows, cols and *elements from rank and dims; false when a product does not fit size_t. */
bool mxg_tensor_shape(mxg_tensor *tensor, size_t *elements);
/* Bytes of `elements` elements; false when they end inside a byte or do not fit. */
bool mxg_elements_bytes(unsigned bits, size_t elements, size_t *bytes);
/* One tensor called "x". */
mxg_tensor *mxg_single_tensor(mxg_tensor_file *file);

#endif
