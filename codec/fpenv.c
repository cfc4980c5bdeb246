/* fpenv.c: is the floating-point environment the default one? Reads the control register; where
 * there is none that we know, it looks at what arithmetic does. (fegetround is libm, and says
 * nothing about FTZ and DAZ.)
 * SPDX-License-Identifier: MIT */
#include "internal.h"

#if defined(__SSE__)
#include <xmmintrin.h>

int mxg_fpenv_is_default(void) {
  const unsigned daz = 1u << 6, rounding = 3u << 13, ftz = 1u << 15;
  return (_mm_getcsr() & (daz | rounding | ftz)) == 0;
}

#elif defined(__aarch64__)

int mxg_fpenv_is_default(void) {
  /* FIZ flushes inputs, AH changes what flushing and NaN mean, FZ flushes both ways */
  const uint64_t fiz = 1u << 0, ah = 1u << 1, rounding = 3u << 22, fz = 1u << 24;
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (fpcr & (fiz | ah | rounding | fz)) == 0;
}

#else

int mxg_fpenv_is_default(void) {
  /* Volatile operands: the compiler may not compute these in its own environment. */
  volatile float one = 1.0f, minus_one = -1.0f;
  volatile float above_half_ulp = 0x1.8p-24f, below_half_ulp = 0x1p-25f;
  volatile float half = 0.5f, least_normal = FLT_MIN, subnormal = 0x1p-140f, large = 0x1p20f;
  const float up = one + above_half_ulp, stay = one + below_half_ulp;
  const float minus_stay = minus_one - below_half_ulp;
  const float small = least_normal * half, lifted = subnormal * large;
  const int nearest = up > 1.0f && stay <= 1.0f && minus_stay >= -1.0f;
  return nearest && small > 0.0f && lifted > 0.0f;
}

#endif
