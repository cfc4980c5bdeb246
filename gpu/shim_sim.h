/* shim_sim.h: the simulator of the tests: a lane is a fibre on the CPU (tests/gpu/sim.c). Which chip
 * it plays is defined before this is included: MXG_LANES, MXG_HAS_*.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#define MXG_KERNEL(name, groups) static void name(const mxg_gpu_args a)
#if defined(__GNUC__)
#define MXG_DEVICE static inline __attribute__((unused))
#else
#define MXG_DEVICE static inline
#endif
#define MXG_SHARED static
#define MXG_IS_GLOBAL(p) (void)(p)
#define MXG_NO_UNROLL
#define MXG_UNROLL

#ifndef MXG_LANES
#error "kernels.c is compiled by HIP or CUDA, or included by the simulator of the tests"
#endif

uint32_t mxg_sim_group(void);
uint32_t mxg_sim_thread(void);
void mxg_sim_barrier(void);
uint32_t mxg_sim_lane_xor(uint32_t value, uint32_t mask); /* faults unless all lanes meet here */
int mxg_sim_any_lane(int condition);
uint64_t mxg_sim_ballot(int condition);
void mxg_sim_check_alignment(const void *p, uint32_t bytes);
float mxg_sim_fma(float a, float b, float c);

MXG_DEVICE uint32_t mxg_group(void) {
  return mxg_sim_group();
}
MXG_DEVICE uint32_t mxg_thread(void) {
  return mxg_sim_thread();
}
MXG_DEVICE void mxg_barrier(void) {
  mxg_sim_barrier();
}
MXG_DEVICE uint32_t mxg_lane_xor(uint32_t value, uint32_t mask) {
  return mxg_sim_lane_xor(value, mask);
}
MXG_DEVICE int mxg_any_lane(int condition) {
  return mxg_sim_any_lane(condition);
}

MXG_DEVICE uint64_t mxg_ballot(int condition) {
  return mxg_sim_ballot(condition);
}
MXG_DEVICE uint32_t mxg_count_bits(uint64_t bits) {
  uint32_t count = 0;
  for (; bits != 0; bits &= bits - 1) count++;
  return count;
}

/* Copies to shared memory end at once. */
typedef struct mxg_bulk_barrier {
  uint32_t phase, count, arrived;
  int64_t bytes; /* expected less those that are there */
} mxg_bulk_barrier;
#define MXG_DYNAMIC_SHARED() mxg_sim_dynamic_shared()
uint8_t *mxg_sim_dynamic_shared(void);
void mxg_wave_sync(void);
void mxg_bulk_init(mxg_bulk_barrier *barrier, uint32_t count);
void mxg_bulk_arrive(mxg_bulk_barrier *barrier);
void mxg_bulk_expect(mxg_bulk_barrier *barrier, uint32_t bytes);
void mxg_bulk_copy(void *to, const void *from, uint32_t bytes, mxg_bulk_barrier *barrier);
void mxg_bulk_wait(const mxg_bulk_barrier *barrier, uint32_t parity);
MXG_DEVICE void mxg_bulk_release(void) {}

MXG_DEVICE void mxg_sim_load(const void *p, uint32_t *w, uint32_t bytes) {
  mxg_sim_check_alignment(p, bytes);
  memcpy(w, p, bytes);
}
MXG_DEVICE void mxg_sim_store(void *p, const uint32_t *w, uint32_t bytes) {
  mxg_sim_check_alignment(p, bytes);
  memcpy(p, w, bytes);
}
MXG_DEVICE void mxg_load4(const void *p, uint32_t *w) {
  mxg_sim_load(p, w, 4);
}
MXG_DEVICE void mxg_load8(const void *p, uint32_t *w) {
  mxg_sim_load(p, w, 8);
}
MXG_DEVICE void mxg_load16(const void *p, uint32_t *w) {
  mxg_sim_load(p, w, 16);
}
MXG_DEVICE void mxg_store4(void *p, const uint32_t *w) {
  mxg_sim_store(p, w, 4);
}
MXG_DEVICE void mxg_store8(void *p, const uint32_t *w) {
  mxg_sim_store(p, w, 8);
}
MXG_DEVICE void mxg_store16(void *p, const uint32_t *w) {
  mxg_sim_store(p, w, 16);
}

MXG_DEVICE float mxg_fma(float a, float b, float c) {
  return mxg_sim_fma(a, b, c);
}
MXG_DEVICE float mxg_fabs(float a) {
  return mxg_f32_from_bits(mxg_f32_bits(a) & ~MXG_F32_SIGN);
}
MXG_DEVICE float mxg_fmin(float a, float b) {
  return a < b ? a : b;
}
MXG_DEVICE float mxg_f16_value(uint32_t half) {
  return mxg_f32_from_bits(mxg_bits_from_f16((uint16_t)half));
}
MXG_DEVICE uint32_t mxg_max_u16x2(uint32_t a, uint32_t b) {
  const uint32_t low = (a & 0xFFFFu) > (b & 0xFFFFu) ? a & 0xFFFFu : b & 0xFFFFu;
  const uint32_t high = a >> 16 > b >> 16 ? a >> 16 : b >> 16;
  return low | high << 16;
}
MXG_DEVICE uint32_t mxg_max_magnitude_x2(uint32_t a, uint32_t b) {
  return mxg_max_u16x2(a & 0x7FFF7FFFu, b & 0x7FFF7FFFu) | (b & 0x80008000u);
}

uint32_t mxg_min_u16x2(uint32_t a, uint32_t b);
uint32_t mxg_bytes(uint32_t a, uint32_t b, uint32_t selector);
uint32_t mxg_fma_bf16x2(uint32_t a, uint32_t b, uint32_t c);
uint32_t mxg_cvt_bf16x2_f32(float low, float high);
uint32_t mxg_cvt_f16x2_f32(float low, float high);

/* ---- models of the converters (tests/gpu/models.c) ---- */
float mxg_fmed3(float a, float b, float c);
uint32_t mxg_cvt_pk_fp8_f32(float a, float b, uint32_t old, int high);
void mxg_cvt_pk_f32_fp8(uint32_t codes, int high, float *v);
uint32_t mxg_cvt_scalef32_pk_fp4_f32(uint32_t old, float a, float b, float scale, int byte);
uint32_t mxg_cvt_scalef32_pk_fp4_bf16(uint32_t old, uint32_t pair, float scale, int byte);
uint32_t mxg_cvt_scalef32_pk_fp4_f16(uint32_t old, uint32_t pair, float scale, int byte);
void mxg_cvt_scalef32_pk_f32_fp4(uint32_t codes, float scale, int byte, float *v);
uint32_t mxg_cvt_e4m3x2_f32(float low, float high);
void mxg_cvt_f32_e4m3x2(uint32_t codes, float *v);
