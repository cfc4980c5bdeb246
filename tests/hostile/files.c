/* files.c: bytes and files.
 * SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

static uint64_t state;

void random_seed(uint64_t seed) {
  state = seed;
}

uint64_t random_next(void) { /* splitmix64 */
  uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

size_t random_below(size_t limit) {
  return (size_t)(random_next() >> 16) % limit;
}

static void die(const char *what) {
  perror(what);
  exit(2);
}

void blob_clear(blob *b) {
  b->bytes = 0;
  b->data[0] = 0;
}

void blob_put(blob *b, const void *data, size_t bytes) {
  if (b->bytes + bytes >= BLOB_MAX) bytes = BLOB_MAX - 1 - b->bytes;
  if (bytes > 0) memcpy(b->data + b->bytes, data, bytes);
  b->bytes += bytes;
  b->data[b->bytes] = 0;
}

void blob_print(blob *b, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t room = BLOB_MAX - b->bytes;
  const int length = vsnprintf((char *)b->data + b->bytes, room, format, arguments);
  va_end(arguments);
  if (length > 0) b->bytes += (size_t)length < room ? (size_t)length : room - 1;
}

void blob_save(const blob *b, const char *path) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(b->data, 1, b->bytes, file) != b->bytes || fclose(file) != 0)
    die(path);
}

void blob_load(blob *b, const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) die(path);
  b->bytes = fread(b->data, 1, BLOB_MAX - 1, file);
  b->data[b->bytes] = 0;
  fclose(file);
}

static void put_values(blob *b, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 4) { /* f32 between 2^-4 and 2^4 */
    const uint64_t r = random_next();
    const uint32_t bits = (uint32_t)(r >> 63) << 31 | (uint32_t)(123 + (r >> 32 & 7)) << 23 |
                          (uint32_t)(r & 0x7FFFFF);
    const uint8_t four[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16),
                             (uint8_t)(bits >> 24)};
    blob_put(b, four, bytes - i < 4 ? bytes - i : 4);
  }
}

void make_npy(blob *b, const char *header, size_t data_bytes) {
  const size_t length = strlen(header);
  const uint8_t start[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)(length & 255), (uint8_t)(length >> 8)};
  blob_clear(b);
  blob_put(b, start, sizeof start);
  blob_put(b, header, length);
  put_values(b, data_bytes);
}

void make_safetensors(blob *b, const char *header, size_t data_bytes) {
  const uint64_t length = strlen(header);
  uint8_t start[8];
  for (int i = 0; i < 8; i++) start[i] = (uint8_t)(length >> 8 * i);
  blob_clear(b);
  blob_put(b, start, sizeof start);
  blob_put(b, header, (size_t)length);
  put_values(b, data_bytes);
}

void mutate_truncate(blob *b) {
  b->bytes = random_below(b->bytes);
  b->data[b->bytes] = 0;
}

void mutate_extend(blob *b) {
  for (size_t i = 1 + random_below(40); i > 0; i--) {
    const uint8_t one = (uint8_t)random_next();
    blob_put(b, &one, 1);
  }
}

void mutate_flip(blob *b, size_t first, size_t behind) {
  if (behind > b->bytes) behind = b->bytes;
  if (first >= behind) return;
  for (size_t i = 1 + random_below(8); i > 0; i--)
    b->data[first + random_below(behind - first)] ^= (uint8_t)(1u << random_below(8));
}

void mutate_move(blob *b) {
  const size_t bytes = 1 + random_below(b->bytes < 64 ? b->bytes : 64);
  const size_t from = random_below(b->bytes - bytes + 1), to = random_below(b->bytes - bytes + 1);
  memmove(b->data + to, b->data + from, bytes);
}

void make_garbage(blob *b) {
  blob_clear(b);
  for (size_t i = random_below(600); i > 0; i--) {
    const uint8_t one = (uint8_t)random_next();
    blob_put(b, &one, 1);
  }
}
