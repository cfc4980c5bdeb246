/* shim.h: what the kernels need of a target, for device code: HIP (clang or hipcc, device objects
 * without any header of a runtime), CUDA (nvcc), and SIM (C11 on the CPU, for tests). Host calls are
 * in runtime.h.
 *
 *   MXG_KERNEL(name, groups) head of a kernel with one argument, `const mxg_gpu_args a`; groups: of 256
 *                            threads that an NVIDIA multiprocessor should hold, which bounds registers
 *   MXG_DEVICE               an inline device function
 *   MXG_IS_GLOBAL(p)         a promise: p, which was read from memory, points to the device's memory
 *   MXG_ALIGNED(n)           to n bytes, of a type
 *   MXG_LANES                of a wave or warp, a constant
 *   MXG_IF_ALL(x), MXG_IF_NATIVE_E4M3FN(x), MXG_IF_NATIVE_E2M1(x)
 *                            x where the chip has the converters, else nothing (native.h)
 *
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_SHIM_H
#define MXGOLD_GPU_SHIM_H

#include "../codec/element.h"
#include "../codec/scale.h"
#include "args.h"

#define MXG_ALIGNED(n) __attribute__((aligned(n)))

#if defined(__CUDACC__)
#include "shim_cuda.h"
#elif defined(__HIP__)
#include "shim_hip.h"
#else
#include "shim_sim.h"
#endif

/* MXG_REREAD(a): the arguments of the kernel again, in code that should not keep them at hand. */
#ifndef MXG_REREAD
#define MXG_REREAD(a) (a)
#endif

/* Copies of a multiple of 16 bytes to shared memory that go on by themselves, all aligned to 16. A
 * phase of a barrier ends when all have arrived and the bytes expected are there.
 *   mxg_bulk_init(barrier, count)               count: of arrivals in a phase
 *   mxg_bulk_expect(barrier, bytes)             arrives, and expects them in this phase
 *   mxg_bulk_arrive(barrier)
 *   mxg_bulk_copy(shared, global, bytes, barrier)
 *   mxg_bulk_wait(barrier, parity)              until the phase of this number, even or odd, has ended
 *   mxg_bulk_release()                          by each that read or wrote what is copied to again
 *   mxg_wave_sync()                             orders shared memory among the lanes of a wave
 *   MXG_DYNAMIC_SHARED()                        the shared memory that the launch asked for */
#ifndef MXG_HAS_BULK
#define MXG_HAS_BULK 0
#endif

/* MXG_BEGIN(): what every kernel does first. With CUDA a kernel may be made ready while the one before it
 * on the stream ends: it waits here until that has ended and all it wrote can be read. */
#ifndef MXG_BEGIN
#define MXG_BEGIN() (void)0
#endif

/* MXG_FORGET(): what was read before is read again after, rather than kept in registers. */
#ifndef MXG_FORGET
#define MXG_FORGET() (void)0
#endif

/* Converters that the target did not claim: MXG_HAS_CVT_E4M3X2 is CUDA's form of E4M3FN's. */
#ifndef MXG_HAS_NATIVE_E4M3FN
#define MXG_HAS_NATIVE_E4M3FN 0
#endif
#ifndef MXG_HAS_NATIVE_E2M1
#define MXG_HAS_NATIVE_E2M1 0
#endif
#ifndef MXG_HAS_CVT_E4M3X2
#define MXG_HAS_CVT_E4M3X2 0
#endif

/* mxg_fma_bf16x2, mxg_min_u16x2, mxg_bytes: two halves of a word at a time, nearest even; the bytes
 * of (b, a) that the digits of a selector name, from the lowest. */
#ifndef MXG_HAS_BF16X2
#define MXG_HAS_BF16X2 0
#endif
/* mxg_f16_value() and mxg_bytes() are an instruction each. */
#ifndef MXG_HAS_F16X2
#define MXG_HAS_F16X2 0
#endif
/* mxg_cvt_bf16x2_f32(low, high), mxg_cvt_f16x2_f32: nearest even, each NaN canonical. */
#ifndef MXG_HAS_CVT_HALVES
#define MXG_HAS_CVT_HALVES 0
#endif

#define MXG_IF_ALL(x) x
#if MXG_HAS_NATIVE_E4M3FN
#define MXG_IF_NATIVE_E4M3FN(x) x
#else
#define MXG_IF_NATIVE_E4M3FN(x)
#endif
#if MXG_HAS_NATIVE_E2M1
#define MXG_IF_NATIVE_E2M1(x) x
#else
#define MXG_IF_NATIVE_E2M1(x)
#endif

/* Every target gives:
 *   uint32_t mxg_group(void), mxg_thread(void)     number of the group in the grid, of the thread in
 *                                                  the group
 *   void mxg_barrier(void)                         of the group; orders its shared memory
 *   uint32_t mxg_lane_xor(uint32_t v, uint32_t m)  v of lane ^ m; all lanes call it
 *   int mxg_any_lane(int condition)                all lanes call it
 *   uint64_t mxg_ballot(int condition)             a bit of each lane; all lanes call it
 *   uint32_t mxg_count_bits(uint64_t bits)
 *   void mxg_load4, 8, 16(const void *, uint32_t *), mxg_store4, 8, 16   aligned, 4-byte words
 *   float mxg_fma(float, float, float), mxg_fabs(float), mxg_fmin(float, float)
 *   float mxg_f16_value(uint32_t low_half)
 *   uint32_t mxg_max_u16x2(uint32_t, uint32_t)
 *   uint32_t mxg_max_magnitude_x2(uint32_t, uint32_t)   of bf16 or f16 halves, signs of the result
 *                                                  undefined; a NaN gives one
 */
#endif
