/* fpenv.c: is the floating-point environment the default one? Reads the control register; where
 * there is none that we know, it looks at what arithmetic does. (fegetround is libm, and says
 * nothing about FTZ and DAZ.)
 * SPDX-License-Identifier: MIT */
#include "internal.h"

#if defined(__SSE__)
#include <xmmintrin.h>

static const unsigned not_default = 1u << 6 | 3u << 13 | 1u << 15; /* DAZ, rounding, FTZ */
static const unsigned masks = 0x3Fu << 7;                          /* exceptions do not trap */

int mxg_fpenv_is_default(void) {
  return (_mm_getcsr() & not_default) == 0;
}

int mxg_fpenv_is_quiet(void) {
  return (_mm_getcsr() & (not_default | masks)) == masks;
}

#elif defined(__aarch64__)

/* FIZ flushes inputs, AH changes what flushing and NaN mean, rounding, FZ flushes both ways */
static const uint64_t not_default = 1u << 0 | 1u << 1 | 3u << 22 | 1u << 24;
static const uint64_t traps = 0x9Fu << 8;

static int all_clear(uint64_t bits) {
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (fpcr & bits) == 0;
}

int mxg_fpenv_is_default(void) {
  return all_clear(not_default);
}

int mxg_fpenv_is_quiet(void) {
  return all_clear(not_default | traps);
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

/* There is no telling whether exceptions trap. */
int mxg_fpenv_is_quiet(void) {
  return mxg_fpenv_is_default();
}

#endif
