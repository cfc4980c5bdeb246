/* cpu.c: which instruction sets this CPU and its operating system offer.
 * SPDX-License-Identifier: MIT */
#include "internal.h"

#include <stdatomic.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* Register states that the operating system saves (XCR0). Call only if OSXSAVE is set. */
static uint32_t saved_states(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static uint32_t detect(void) {
  const unsigned leaf1_c = bit_FMA | bit_F16C | bit_OSXSAVE | bit_AVX;
  const unsigned leaf7_b = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
  const uint32_t ymm = 0x06, zmm = 0xE6;
  unsigned a, b, c, d;
  uint32_t mask = MXG_ISA_PORTABLE, states;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & leaf1_c) != leaf1_c) return mask;
  states = saved_states();
  if ((states & ymm) != ymm) return mask;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & bit_AVX2) == 0) return mask;
  mask |= MXG_ISA_AVX2;
  if ((states & zmm) == zmm && (b & leaf7_b) == leaf7_b && (c & bit_AVX512VBMI) != 0)
    mask |= MXG_ISA_AVX512;
  return mask;
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

static uint32_t detect(void) {
  const unsigned long asimd = 1u << 1; /* HWCAP_ASIMD */
  return (getauxval(AT_HWCAP) & asimd) != 0 ? MXG_ISA_PORTABLE | MXG_ISA_NEON : MXG_ISA_PORTABLE;
}

#elif defined(__aarch64__)

static uint32_t detect(void) {
  return MXG_ISA_PORTABLE | MXG_ISA_NEON;
}

#else

static uint32_t detect(void) {
  return MXG_ISA_PORTABLE;
}

#endif

uint32_t mxg_cpu_features(void) {
  /* Asked once, because CPUID traps under virtualisation. 0 = not asked yet. Every thread that
   * races here stores the same word. */
  static _Atomic uint32_t cached = 0;
  uint32_t mask = atomic_load_explicit(&cached, memory_order_relaxed);
  if (mask == 0) {
    mask = detect();
    atomic_store_explicit(&cached, mask, memory_order_relaxed);
  }
  return mask;
}
