/* input.c
 * SPDX-License-Identifier: MIT */
#include "input.h"

fuzz_input fuzz_input_of(const uint8_t *data, size_t bytes) {
  const fuzz_input in = {data, bytes, 0};
  return in;
}

uint8_t fuzz_u8(fuzz_input *in) {
  return in->at < in->bytes ? in->data[in->at++] : 0;
}

static uint64_t little_endian(fuzz_input *in, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)fuzz_u8(in) << 8 * i;
  return value;
}

uint32_t fuzz_u32(fuzz_input *in) {
  return (uint32_t)little_endian(in, 4);
}

uint64_t fuzz_u64(fuzz_input *in) {
  return little_endian(in, 8);
}

uint32_t fuzz_below(fuzz_input *in, uint32_t limit) {
  return (uint32_t)little_endian(in, limit > 256 ? 2 : 1) % limit;
}

bool fuzz_chance(fuzz_input *in, uint32_t out_of_256) {
  /* the largest bytes, so that an input that has ended takes no chance */
  return fuzz_u8(in) >= 256 - out_of_256;
}

size_t fuzz_odd_size(fuzz_input *in) {
  const uint32_t how = fuzz_below(in, 4);
  if (how == 0) return fuzz_u8(in);
  if (how == 1) return (size_t)fuzz_u64(in);
  const size_t edge = SIZE_MAX >> fuzz_below(in, sizeof(size_t) * 8);
  const size_t step = fuzz_below(in, 16);
  return how == 2 ? edge - step : edge + 1 + step; /* wraps to small ones at SIZE_MAX */
}

void fuzz_bytes(fuzz_input *in, void *out, size_t bytes) {
  uint8_t *p = out;
  for (size_t i = 0; i < bytes; i++) p[i] = fuzz_u8(in);
}

/* The products are meant to wrap. */
#if defined(__clang__)
__attribute__((no_sanitize("unsigned-integer-overflow", "unsigned-shift-base")))
#endif
uint64_t
fuzz_next(fuzz_stream *s) {
  s->state += UINT64_C(0x9E3779B97F4A7C15);
  uint64_t z = s->state;
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}
