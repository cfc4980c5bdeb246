/* shim_cuda.h: NVIDIA chips, nvcc. Build with -fmad=false -prec-div=true -ftz=false.
 * SPDX-License-Identifier: MIT */
#define MXG_KERNEL(name, groups)                            \
  extern "C" __global__ void __launch_bounds__(256, groups) \
      name(const __grid_constant__ mxg_gpu_args a)
#define MXG_DEVICE static __device__ __forceinline__
#define MXG_SHARED static __shared__
#define MXG_NO_UNROLL _Pragma("unroll 1")
#define MXG_UNROLL _Pragma("unroll")
#define MXG_IS_GLOBAL(p) __builtin_assume(__isGlobal(p))
#define MXG_FORGET() asm volatile("" ::: "memory")
#define MXG_BEGIN()                                                 \
  do {                                                              \
    asm volatile("griddepcontrol.wait;" ::: "memory");              \
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); \
  } while (0)
#define MXG_LANES 32

MXG_DEVICE uint32_t mxg_group(void) {
  return blockIdx.x;
}
MXG_DEVICE uint32_t mxg_thread(void) {
  return threadIdx.x;
}
MXG_DEVICE void mxg_barrier(void) {
  __syncthreads();
}
MXG_DEVICE uint32_t mxg_lane_xor(uint32_t value, uint32_t mask) {
  return __shfl_xor_sync(0xFFFFFFFFu, value, (int)mask);
}
MXG_DEVICE int mxg_any_lane(int condition) {
  return __any_sync(0xFFFFFFFFu, condition);
}

MXG_DEVICE uint64_t mxg_ballot(int condition) {
  return __ballot_sync(0xFFFFFFFFu, condition);
}
MXG_DEVICE uint32_t mxg_count_bits(uint64_t bits) {
  return (uint32_t)__popcll(bits);
}

MXG_DEVICE void mxg_load4(const void *p, uint32_t *w) {
  w[0] = *(const uint32_t *)p;
}
MXG_DEVICE void mxg_load8(const void *p, uint32_t *w) {
  const uint2 v = *(const uint2 *)p;
  w[0] = v.x;
  w[1] = v.y;
}
MXG_DEVICE void mxg_load16(const void *p, uint32_t *w) {
  const uint4 v = *(const uint4 *)p;
  w[0] = v.x;
  w[1] = v.y;
  w[2] = v.z;
  w[3] = v.w;
}
MXG_DEVICE void mxg_store4(void *p, const uint32_t *w) {
  *(uint32_t *)p = w[0];
}
MXG_DEVICE void mxg_store8(void *p, const uint32_t *w) {
  *(uint2 *)p = make_uint2(w[0], w[1]);
}
MXG_DEVICE void mxg_store16(void *p, const uint32_t *w) {
  *(uint4 *)p = make_uint4(w[0], w[1], w[2], w[3]);
}

MXG_DEVICE float mxg_fma(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
MXG_DEVICE float mxg_fabs(float a) {
  return fabsf(a);
}
MXG_DEVICE float mxg_fmin(float a, float b) {
  return fminf(a, b);
}
MXG_DEVICE float mxg_f16_value(uint32_t half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((uint16_t)half));
  return value;
}
MXG_DEVICE uint32_t mxg_max_u16x2(uint32_t a, uint32_t b) {
  return __vmaxu2(a, b);
}
/* f16 as well: magnitudes of both are ordered like their bits, and what bf16 takes for a NaN is a NaN
 * of f16. */
MXG_DEVICE uint32_t mxg_max_magnitude_x2(uint32_t a, uint32_t b) {
  uint32_t max;
  asm("max.NaN.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(max) : "r"(a), "r"(b));
  return max;
}

/* ---- converters (native.h) ---- */
#define MXG_HAS_NATIVE_E4M3FN 1
#define MXG_HAS_CVT_E4M3X2 1
#define MXG_HAS_BF16X2 1
#define MXG_HAS_F16X2 1
#define MXG_HAS_CVT_HALVES 1

/* The first source becomes the upper byte. Inf and what is above 448 give 448. */
MXG_DEVICE uint32_t mxg_cvt_e4m3x2_f32(float low, float high) {
  uint16_t codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
  return codes;
}
MXG_DEVICE void mxg_cvt_f32_e4m3x2(uint32_t codes, float *v) {
  uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"((uint16_t)codes));
  v[0] = mxg_f16_value(halves & 0xFFFFu);
  v[1] = mxg_f16_value(halves >> 16);
}

/* ---- two halves at a time ---- */
MXG_DEVICE uint32_t mxg_fma_bf16x2(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t sum;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
}
MXG_DEVICE uint32_t mxg_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  return __byte_perm(a, b, selector);
}
/* The chip's NaN is 7FFF, the law's 7FC0 and 7E00: no other result is above it as a signed number. */
MXG_DEVICE uint32_t mxg_cvt_bf16x2_f32(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return __vmins2(pair, 0x7FC07FC0u);
}
MXG_DEVICE uint32_t mxg_cvt_f16x2_f32(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return __vmins2(pair, 0x7E007E00u);
}
MXG_DEVICE uint32_t mxg_min_u16x2(uint32_t a, uint32_t b) {
  return __vminu2(a, b);
}

/* ---- copies to shared memory ---- */
#define MXG_HAS_BULK 1
typedef uint64_t mxg_bulk_barrier;

MXG_DEVICE uint8_t *mxg_dynamic_shared(void) {
  extern __shared__ uint4 memory[];
  return (uint8_t *)memory;
}
#define MXG_DYNAMIC_SHARED() mxg_dynamic_shared()

MXG_DEVICE void mxg_wave_sync(void) {
  __syncwarp();
}
MXG_DEVICE uint32_t mxg_shared_address(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}
MXG_DEVICE void mxg_bulk_init(mxg_bulk_barrier *barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mxg_shared_address(barrier)),
               "r"(count)
               : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
MXG_DEVICE void mxg_bulk_arrive(mxg_bulk_barrier *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(mxg_shared_address(barrier))
               : "memory");
}
MXG_DEVICE void mxg_bulk_expect(mxg_bulk_barrier *barrier, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mxg_shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
MXG_DEVICE void mxg_bulk_copy(void *to, const void *from, uint32_t bytes,
                              mxg_bulk_barrier *barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(mxg_shared_address(to)),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(mxg_shared_address(barrier))
      : "memory");
}
MXG_DEVICE void mxg_bulk_wait(mxg_bulk_barrier *barrier, uint32_t parity) {
  uint32_t ended;
  do {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, "
        "p; }"
        : "=r"(ended)
        : "r"(mxg_shared_address(barrier)), "r"(parity)
        : "memory");
  } while (!ended);
}
MXG_DEVICE void mxg_bulk_release(void) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
