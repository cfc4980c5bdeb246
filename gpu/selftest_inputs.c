/* selftest_inputs.c: random numbers, guarded memory, and values that look for trouble.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "selftest_parts.h"

uint64_t mxg_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

size_t mxg_random_below(uint64_t *state, size_t bound) {
  return (size_t)(mxg_random(state) >> 16) % bound;
}

/* ---- areas ---- */

int mxg_area_take(mxg_area *area, size_t bytes, size_t offset) {
  const size_t needed = bytes + 2 * MXG_GUARD_BYTES + 128;
  if (needed > area->capacity) {
    free(area->memory);
    area->capacity = 0;
    area->memory = malloc(needed + needed / 2);
    if (area->memory == NULL) return 1;
    area->capacity = needed + needed / 2;
  }
  unsigned char *start = area->memory + MXG_GUARD_BYTES;
  start += (64 - (uintptr_t)start % 64) % 64;
  area->data = start + offset % 64;
  area->bytes = bytes;
  unsigned char *at = area->data - MXG_GUARD_BYTES;
  for (size_t i = 0; i < bytes + 2 * MXG_GUARD_BYTES; i++) at[i] = (unsigned char)(i % 251 + 3);
  return 0;
}

int mxg_area_differs(const mxg_area *want, const mxg_area *got, ptrdiff_t *first, size_t *count) {
  const size_t bytes = want->bytes + 2 * MXG_GUARD_BYTES;
  const unsigned char *a = want->data - MXG_GUARD_BYTES, *b = got->data - MXG_GUARD_BYTES;
  *count = 0;
  if (memcmp(a, b, bytes) == 0) return 0;
  for (size_t i = 0; i < bytes; i++) {
    if (a[i] == b[i]) continue;
    if (*count == 0) *first = (ptrdiff_t)i - MXG_GUARD_BYTES;
    *count += 1;
  }
  return 1;
}

void mxg_area_free(mxg_area *area) {
  free(area->memory);
  memset(area, 0, sizeof *area);
}

/* ---- values ---- */

void mxg_fill_bytes(uint64_t *state, unsigned char *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(mxg_random(state) >> 24);
}

static float from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* About N(0, 1), in steps of 2^-14. */
static float ordinary(uint64_t *state) {
  const uint64_t r = mxg_random(state);
  const int sum = (int)(r & 0xFFFF) + (int)(r >> 16 & 0xFFFF) + (int)(r >> 32 & 0xFFFF) +
                  (int)(r >> 48) - 0x1FFFE;
  return (float)sum * 0x1p-15f;
}

typedef enum run_kind {
  RUN_ORDINARY,
  RUN_SCALED, /* by a power of two */
  RUN_ZERO,
  RUN_TINY,
  RUN_HUGE,
  RUN_TIES,
  RUN_ANY,
  RUN_SPECIAL, /* ordinary with a NaN or Inf here and there */
  RUN_KINDS
} run_kind;

static float value_of(uint64_t *state, run_kind kind, int exponent) {
  const uint32_t r = (uint32_t)(mxg_random(state) >> 32), sign = r & 0x80000000u;
  switch (kind) {
    case RUN_SCALED: return ordinary(state) * from_bits((uint32_t)(exponent + 127) << 23);
    case RUN_ZERO: return from_bits(sign);
    case RUN_TINY: return from_bits(sign | (r & 0x00FFFFFFu) >> (r >> 24 & 15));
    case RUN_HUGE: return from_bits(sign | (0x7F7FFFFFu - (r & 0x01FFFFFFu)));
    case RUN_TIES: /* a few significant bits, so that quotients fall on halves */
      return (float)((int)(r & 63) - 32) * from_bits((uint32_t)(exponent / 4 + 127) << 23);
    case RUN_ANY: return from_bits(r);
    case RUN_SPECIAL:
      if (r % 24 == 0) return from_bits(sign | 0x7F800000u | (r >> 8 & 1u) * 0x00400001u);
      return ordinary(state);
    default: return ordinary(state);
  }
}

void mxg_fill_values(uint64_t *state, void *data, mxg_dtype dtype, size_t rows, size_t cols,
                     size_t stride_elems) {
  enum { BATCH = 64 };
  const size_t width = mxg_dtype_bytes(dtype);
  run_kind kind = RUN_ORDINARY;
  int exponent = 0;
  size_t left = 0;
  for (size_t row = 0; row < rows; row++) {
    unsigned char *to = (unsigned char *)data + row * stride_elems * width;
    for (size_t col = 0; col < cols; col += BATCH) {
      const size_t count = cols - col < BATCH ? cols - col : BATCH;
      float values[BATCH];
      for (size_t i = 0; i < count; i++) {
        if (left == 0) {
          const size_t pick = mxg_random_below(state, 2 * RUN_KINDS);
          kind = pick < RUN_KINDS ? (run_kind)pick : RUN_ORDINARY;
          exponent = (int)mxg_random_below(state, 240) - 120;
          left = 1 + mxg_random_below(state, 300);
        }
        left--;
        values[i] = value_of(state, kind, exponent);
      }
      (void)mxg_ref_from_f32(dtype, values, count, to + col * width);
    }
  }
}
