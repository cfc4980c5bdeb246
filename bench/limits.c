/* limits.c: what the machine itself can do with the same bytes: read, copy, and the C library's
 * memcpy.
 *
 * One loop in vectors of 16, 32 and 64 bytes: the compiler's own vector types, so that every
 * machine has it, and function-level targets, so that no flag is needed.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "internal.h"

/* The pieces of a parallel loop are multiples of this many bytes, and of the vectors. */
enum { STEP_BYTES = 256 };

#if defined(__GNUC__)
/* NOLINTBEGIN(bugprone-macro-parentheses): `target` is attributes */
#define DEFINE_LIMITS(suffix, target, width)                                                   \
  typedef uint64_t vector_##suffix __attribute__((vector_size(width), aligned(1), may_alias)); \
  target static uint64_t read_##suffix(const unsigned char *source, size_t bytes) {            \
    vector_##suffix a = {0}, b = {0}, c = {0}, d = {0};                                        \
    uint64_t words[(width) / 8], all = 0;                                                      \
    for (size_t i = 0; i < bytes; i += 4 * (width)) {                                          \
      const vector_##suffix *from = (const vector_##suffix *)(const void *)(source + i);       \
      a ^= from[0];                                                                            \
      b ^= from[1];                                                                            \
      c ^= from[2];                                                                            \
      d ^= from[3];                                                                            \
    }                                                                                          \
    a ^= b ^ c ^ d;                                                                            \
    memcpy(words, &a, sizeof words);                                                           \
    for (size_t i = 0; i < (width) / 8; i++) all ^= words[i];                                  \
    return all;                                                                                \
  }                                                                                            \
  target static void copy_##suffix(const unsigned char *source, unsigned char *result,         \
                                   size_t bytes) {                                             \
    for (size_t i = 0; i < bytes; i += 4 * (width)) {                                          \
      const vector_##suffix *from = (const vector_##suffix *)(const void *)(source + i);       \
      vector_##suffix *to = (vector_##suffix *)(void *)(result + i);                           \
      const vector_##suffix a = from[0], b = from[1], c = from[2], d = from[3];                \
      to[0] = a;                                                                               \
      to[1] = b;                                                                               \
      to[2] = c;                                                                               \
      to[3] = d;                                                                               \
    }                                                                                          \
  }
/* NOLINTEND(bugprone-macro-parentheses) */

DEFINE_LIMITS(base, , 16)
#if defined(__x86_64__)
DEFINE_LIMITS(avx2, __attribute__((target("avx2"))), 32)
DEFINE_LIMITS(avx512, __attribute__((target("avx512f"))), 64)
#endif
#else
static uint64_t read_base(const unsigned char *source, size_t bytes) {
  uint64_t all = 0;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word;
    memcpy(&word, source + i, 8);
    all ^= word;
  }
  return all;
}
static void copy_base(const unsigned char *source, unsigned char *result, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) result[i] = source[i];
}
#endif

typedef uint64_t read_fn(const unsigned char *source, size_t bytes);
typedef void copy_fn(const unsigned char *source, unsigned char *result, size_t bytes);

static const struct {
  uint32_t bit;
  const char *name;
  read_fn *read;
  copy_fn *copy;
} loops[] = {
#if defined(__GNUC__) && defined(__x86_64__)
    {MXG_ISA_AVX512, "avx512", read_avx512, copy_avx512},
    {MXG_ISA_AVX2, "avx2", read_avx2, copy_avx2},
#endif
    {MXG_ISA_NEON, "neon", read_base, copy_base}, /* which is 16 bytes wide */
    {MXG_ISA_PORTABLE, "portable", read_base, copy_base}};

static size_t widest(void) {
  size_t i = 0;
  while ((mxg_cpu_features() & loops[i].bit) == 0) i++;
  return i;
}

const char *bench_limit_isa(void) {
  return loops[widest()].name;
}

static void copy_libc(const unsigned char *source, unsigned char *result, size_t bytes) {
  memcpy(result, source, bytes);
}

/* Bytes [begin, end) of part `index` of `parts`. */
static size_t part_begin(size_t bytes, size_t index, size_t parts) {
  return index == parts ? bytes : bytes / STEP_BYTES * index / parts * STEP_BYTES;
}

uint64_t bench_read(const unsigned char *source, size_t bytes, uint32_t threads) {
  read_fn *const read = loops[widest()].read;
  uint64_t all = 0;
  if (threads <= 1) return read(source, bytes);
#ifdef _OPENMP
#pragma omp parallel for num_threads((int)threads) schedule(static, 1) reduction(^ : all)
#endif
  for (size_t i = 0; i < threads; i++) {
    const size_t begin = part_begin(bytes, i, threads);
    all ^= read(source + begin, part_begin(bytes, i + 1, threads) - begin);
  }
  return all;
}

static void copy_parts(const unsigned char *source, unsigned char *result, size_t bytes,
                       uint32_t threads, copy_fn *copy) {
  if (threads <= 1) {
    copy(source, result, bytes);
    return;
  }
#ifdef _OPENMP
#pragma omp parallel for num_threads((int)threads) schedule(static, 1)
#endif
  for (size_t i = 0; i < threads; i++) {
    const size_t begin = part_begin(bytes, i, threads);
    copy(source + begin, result + begin, part_begin(bytes, i + 1, threads) - begin);
  }
}

void bench_copy(const unsigned char *source, unsigned char *result, size_t bytes,
                uint32_t threads) {
  copy_parts(source, result, bytes, threads, loops[widest()].copy);
}

void bench_memcpy(const unsigned char *source, unsigned char *result, size_t bytes,
                  uint32_t threads) {
  copy_parts(source, result, bytes, threads, copy_libc);
}
