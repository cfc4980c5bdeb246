/* fp_environment.c: MXCSR of x86, FPCR of AArch64.
 * SPDX-License-Identifier: MIT */
#include "fp_environment.h"

#include <stdint.h>

const char *fp_environment_name(fp_environment environment) {
  static const char *const names[] = {"default",
                                      "FTZ",
                                      "DAZ",
                                      "FTZ+DAZ",
                                      "rounding down",
                                      "rounding up",
                                      "rounding to zero",
                                      "FTZ+DAZ, rounding up"};
  return environment < FPENV_ENVIRONMENTS ? names[environment] : "?";
}

#if defined(__SSE2__)
#include <xmmintrin.h>

bool fp_environment_set(fp_environment environment) {
  static const uint32_t ftz = 0x8000, daz = 0x0040, down = 0x2000, up = 0x4000, zero = 0x6000;
  const uint32_t words[] = {0, ftz, daz, ftz | daz, down, up, zero, ftz | daz | up};
  _mm_setcsr((_mm_getcsr() & ~(ftz | daz | zero)) | words[environment]);
  return true;
}

bool fp_traps_set(bool on) {
  const uint32_t masks = 0x1E80, flags = 0x3F; /* a flag that stands would trap at once */
  _mm_setcsr((_mm_getcsr() & ~(masks | flags)) | (on ? 0 : masks));
  return true;
}

#elif defined(__aarch64__)

bool fp_environment_set(fp_environment environment) {
  static const uint64_t flush = 1u << 24, up = 1u << 22, down = 2u << 22, zero = 3u << 22;
  const uint64_t words[] = {0, flush, flush, flush, down, up, zero, flush | up};
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  fpcr = (fpcr & ~(flush | zero)) | words[environment];
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
  return true;
}

/* Many CPUs have no traps: the bits stay 0. */
bool fp_traps_set(bool on) {
  const uint64_t traps = 0x1F00;
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  fpcr = (fpcr & ~traps) | (on ? traps : 0);
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return (fpcr & traps) == (on ? traps : 0);
}

#else

bool fp_environment_set(fp_environment environment) {
  return environment == FPENV_DEFAULT;
}

bool fp_traps_set(bool on) {
  return !on;
}

#endif

#if defined(__aarch64__)

bool fp_alternative_half_set(bool on) {
  const uint64_t ahp = 1u << 26;
  uint64_t fpcr;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  fpcr = (fpcr & ~ahp) | (on ? ahp : 0);
  __asm__ volatile("msr fpcr, %0" : : "r"(fpcr));
  return true;
}

#else

bool fp_alternative_half_set(bool on) {
  (void)on;
  return false;
}

#endif
