/* input.h: the bytes of a fuzzer as a stream of choices. Behind the end everything is 0, so that a
 * short input is a simple case.
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_SUPPORT_INPUT_H
#define FUZZ_SUPPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fuzz_input {
  const uint8_t *data;
  size_t bytes, at;
} fuzz_input;

fuzz_input fuzz_input_of(const uint8_t *data, size_t bytes);

uint8_t fuzz_u8(fuzz_input *in);
uint32_t fuzz_u32(fuzz_input *in);
uint64_t fuzz_u64(fuzz_input *in);
uint32_t fuzz_below(fuzz_input *in, uint32_t limit); /* 0..limit-1; one byte, two above 256 */
bool fuzz_chance(fuzz_input *in, uint32_t out_of_256);
/* A size that likes the edges of its type: small, near SIZE_MAX over a power of two, or any. */
size_t fuzz_odd_size(fuzz_input *in);
void fuzz_bytes(fuzz_input *in, void *out, size_t bytes);

/* A stream of its own (splitmix64): many bytes from few. */
typedef struct fuzz_stream {
  uint64_t state;
} fuzz_stream;
uint64_t fuzz_next(fuzz_stream *s);

#endif
