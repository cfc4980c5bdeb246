/* ops_avx512.h: the vector operations that the templates are written in, for AVX-512 (F, BW, DQ,
 * VL, VBMI): 16 lanes of 32 bits. ops_avx2.h and ops_neon.h offer the same names. For leaves only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_OPS_AVX512_H
#define MXG_SIMD_OPS_AVX512_H

#include <immintrin.h>

#include "../internal.h"

#define MXG_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,fma,f16c")))
#define MXG_OP static inline __attribute__((always_inline)) MXG_TARGET

/* A constant that stays in its register: gcc 12 would make it anew inside the loop, on a port that
 * the loop needs. Also keeps a compiler from looking through a product into a sum (contraction). */
#define MXG_KEEP(v) __asm__("" : "+v"(v))
/* The same for a mask: clang would split a masked operation whose mask it knows. */
#define MXG_KEEP_MASK(k) __asm__("" : "+Yk"(k))
/* Memory that has to be read again: loads and broadcasts from memory run on ports of their own. */
#define MXG_RELOAD(object) __asm__ volatile("" : "+m"(object))

/* Before a loop whose count is a small constant. */
#ifdef __clang__
#define MXG_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MXG_UNROLL _Pragma("GCC unroll 16")
#endif

#endif
