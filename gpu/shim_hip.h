/* shim_hip.h: AMD chips. Compiler builtins only: builds with and without a ROCm installation.
 * SPDX-License-Identifier: MIT */
#define MXG_KERNEL(name, groups)                                                               \
  extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256))) void \
  name(const mxg_gpu_args a)
#define MXG_DEVICE static inline __attribute__((device)) __attribute__((always_inline))
#define MXG_SHARED static __attribute__((shared))
#define MXG_IS_GLOBAL(p) (void)(p)
#define MXG_NO_UNROLL _Pragma("clang loop unroll(disable)")
#define MXG_UNROLL _Pragma("clang loop unroll(full)")

#if defined(__gfx942__) || defined(__gfx950__)
#define MXG_LANES 64
#else
#define MXG_LANES 32
#endif

MXG_DEVICE uint32_t mxg_group(void) {
  return __builtin_amdgcn_workgroup_id_x();
}
MXG_DEVICE uint32_t mxg_thread(void) {
  return __builtin_amdgcn_workitem_id_x();
}
MXG_DEVICE void mxg_barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
MXG_DEVICE uint32_t mxg_lane_xor(uint32_t value, uint32_t mask) {
  const uint32_t lane = mxg_thread() % MXG_LANES;
  return (uint32_t)__builtin_amdgcn_ds_bpermute((int)((lane ^ mask) << 2), (int)value);
}
MXG_DEVICE int mxg_any_lane(int condition) {
#if MXG_LANES == 64
  return __builtin_amdgcn_ballot_w64(condition != 0) != 0;
#else
  return __builtin_amdgcn_ballot_w32(condition != 0) != 0;
#endif
}

MXG_DEVICE uint64_t mxg_ballot(int condition) {
#if MXG_LANES == 64
  return __builtin_amdgcn_ballot_w64(condition != 0);
#else
  return __builtin_amdgcn_ballot_w32(condition != 0);
#endif
}
MXG_DEVICE uint32_t mxg_count_bits(uint64_t bits) {
  return (uint32_t)__builtin_popcountll(bits);
}

/* Loads by the pointer returned are not taken out of loops, so that rare code holds no registers. */
#define MXG_REREAD(a) mxg_reread()
MXG_DEVICE const mxg_gpu_args *mxg_reread(void) {
  uint64_t p = (uint64_t)__builtin_amdgcn_kernarg_segment_ptr();
  __asm__ volatile("" : "+s"(p));
  return (const mxg_gpu_args *)(const __attribute__((address_space(4))) mxg_gpu_args *)p;
}

typedef uint32_t mxg_u32x2 __attribute__((ext_vector_type(2)));
typedef uint32_t mxg_u32x4 __attribute__((ext_vector_type(4)));
typedef uint16_t mxg_u16x2 __attribute__((ext_vector_type(2)));

MXG_DEVICE void mxg_load4(const void *p, uint32_t *w) {
  w[0] = *(const uint32_t *)p;
}
MXG_DEVICE void mxg_load8(const void *p, uint32_t *w) {
  const mxg_u32x2 v = *(const mxg_u32x2 *)p;
  w[0] = v.x;
  w[1] = v.y;
}
MXG_DEVICE void mxg_load16(const void *p, uint32_t *w) {
  const mxg_u32x4 v = *(const mxg_u32x4 *)p;
  w[0] = v.x;
  w[1] = v.y;
  w[2] = v.z;
  w[3] = v.w;
}
MXG_DEVICE void mxg_store4(void *p, const uint32_t *w) {
  *(uint32_t *)p = w[0];
}
MXG_DEVICE void mxg_store8(void *p, const uint32_t *w) {
  const mxg_u32x2 v = {w[0], w[1]};
  *(mxg_u32x2 *)p = v;
}
MXG_DEVICE void mxg_store16(void *p, const uint32_t *w) {
  const mxg_u32x4 v = {w[0], w[1], w[2], w[3]};
  *(mxg_u32x4 *)p = v;
}

MXG_DEVICE float mxg_fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
MXG_DEVICE float mxg_fabs(float a) {
  return __builtin_fabsf(a);
}
MXG_DEVICE float mxg_fmin(float a, float b) {
  return __builtin_fminf(a, b);
}
MXG_DEVICE float mxg_f16_value(uint32_t half) {
  return (float)__builtin_bit_cast(_Float16, (uint16_t)half);
}
MXG_DEVICE uint32_t mxg_max_u16x2(uint32_t a, uint32_t b) {
  return __builtin_bit_cast(uint32_t, __builtin_elementwise_max(__builtin_bit_cast(mxg_u16x2, a),
                                                                __builtin_bit_cast(mxg_u16x2, b)));
}
MXG_DEVICE uint32_t mxg_max_magnitude_x2(uint32_t a, uint32_t b) {
  return mxg_max_u16x2(a & 0x7FFF7FFFu, b & 0x7FFF7FFFu);
}

/* ---- converters (native.h) ---- */
#if defined(__gfx950__)
#define MXG_HAS_NATIVE_E4M3FN 1
#define MXG_HAS_NATIVE_E2M1 1

typedef __bf16 mxg_bf16x2 __attribute__((ext_vector_type(2)));
typedef _Float16 mxg_f16x2 __attribute__((ext_vector_type(2)));
typedef float mxg_f32x2 __attribute__((ext_vector_type(2)));

MXG_DEVICE uint32_t mxg_cvt_pk_fp8_f32(float a, float b, uint32_t old, const int high) {
  return (uint32_t)(high ? __builtin_amdgcn_cvt_pk_fp8_f32(a, b, (int)old, true)
                         : __builtin_amdgcn_cvt_pk_fp8_f32(a, b, (int)old, false));
}
MXG_DEVICE float mxg_fmed3(float a, float b, float c) {
  return __builtin_amdgcn_fmed3f(a, b, c);
}
MXG_DEVICE void mxg_cvt_pk_f32_fp8(uint32_t codes, const int high, float *v) {
  const mxg_f32x2 both = high ? __builtin_amdgcn_cvt_pk_f32_fp8((int)codes, true)
                              : __builtin_amdgcn_cvt_pk_f32_fp8((int)codes, false);
  v[0] = both.x;
  v[1] = both.y;
}

/* The byte of the result is a constant of the instruction. */
#define MXG_PICK(byte, of) ((byte) == 0 ? of(0) : (byte) == 1 ? of(1) : (byte) == 2 ? of(2) : of(3))

MXG_DEVICE uint32_t mxg_cvt_scalef32_pk_fp4_f32(uint32_t old, float a, float b, float scale,
                                                const int byte) {
#define MXG_OF(n) __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(old, a, b, scale, n)
  return MXG_PICK(byte, MXG_OF);
#undef MXG_OF
}
MXG_DEVICE uint32_t mxg_cvt_scalef32_pk_fp4_bf16(uint32_t old, uint32_t pair, float scale,
                                                 const int byte) {
  const mxg_bf16x2 v = __builtin_bit_cast(mxg_bf16x2, pair);
#define MXG_OF(n) __builtin_amdgcn_cvt_scalef32_pk_fp4_bf16(old, v, scale, n)
  return MXG_PICK(byte, MXG_OF);
#undef MXG_OF
}
MXG_DEVICE uint32_t mxg_cvt_scalef32_pk_fp4_f16(uint32_t old, uint32_t pair, float scale,
                                                const int byte) {
  const mxg_f16x2 v = __builtin_bit_cast(mxg_f16x2, pair);
#define MXG_OF(n) __builtin_amdgcn_cvt_scalef32_pk_fp4_f16(old, v, scale, n)
  return MXG_PICK(byte, MXG_OF);
#undef MXG_OF
}
MXG_DEVICE void mxg_cvt_scalef32_pk_f32_fp4(uint32_t codes, float scale, const int byte, float *v) {
#define MXG_OF(n) __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(codes, scale, n)
  const mxg_f32x2 both = MXG_PICK(byte, MXG_OF);
#undef MXG_OF
  v[0] = both.x;
  v[1] = both.y;
}
#endif
