/* models.c: what the converters of the chips do, from their documented behaviour and measurements,
 * by search over the values of the format; shares nothing with the code under test.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <string.h>

float mxg_fmed3(float a, float b, float c);
uint32_t mxg_cvt_pk_fp8_f32(float a, float b, uint32_t old, int high);
void mxg_cvt_pk_f32_fp8(uint32_t codes, int high, float *v);
uint32_t mxg_cvt_scalef32_pk_fp4_f32(uint32_t old, float a, float b, float scale, int byte);
uint32_t mxg_cvt_scalef32_pk_fp4_bf16(uint32_t old, uint32_t pair, float scale, int byte);
uint32_t mxg_cvt_scalef32_pk_fp4_f16(uint32_t old, uint32_t pair, float scale, int byte);
void mxg_cvt_scalef32_pk_f32_fp4(uint32_t codes, float scale, int byte, float *v);
uint32_t mxg_cvt_e4m3x2_f32(float low, float high);
void mxg_cvt_f32_e4m3x2(uint32_t codes, float *v);
uint32_t mxg_min_u16x2(uint32_t a, uint32_t b);
uint32_t mxg_bytes(uint32_t a, uint32_t b, uint32_t selector);
uint32_t mxg_fma_bf16x2(uint32_t a, uint32_t b, uint32_t c);
uint32_t mxg_cvt_bf16x2_f32(float low, float high);
uint32_t mxg_cvt_f16x2_f32(float low, float high);

static double e4m3fn_value(uint32_t magnitude) {
  const int field = (int)(magnitude >> 3), mantissa = (int)(magnitude & 7);
  return field == 0 ? ldexp(mantissa, -9) : ldexp(8 + mantissa, field - 10);
}

static double e2m1_value(uint32_t magnitude) {
  static const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return values[magnitude];
}

/* The nearest of codes 0..last, of two at the same distance the even one. */
static uint32_t nearest(double (*value)(uint32_t), uint32_t last, double magnitude) {
  uint32_t best = 0;
  for (uint32_t code = 1; code <= last; code++) {
    const double far = fabs(value(code) - magnitude), best_far = fabs(value(best) - magnitude);
    if (far < best_far || (far == best_far && code % 2 == 0)) best = code;
  }
  return best;
}

static uint32_t sign_of(double v, uint32_t bit) {
  return signbit(v) ? bit : 0;
}

/* v_med3_f32; with a NaN it is the minimum of the other two. */
float mxg_fmed3(float a, float b, float c) {
  if (isnan(a)) return fminf(b, c);
  return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

/* v_cvt_pk_fp8_f32 of gfx950: overflow is NaN; 464, half-way to the next, is 448. */
static uint32_t fp8(float v) {
  const double magnitude = fabs((double)v);
  if (!(magnitude <= 464)) return 0x7F | sign_of(v, 0x80);
  return nearest(e4m3fn_value, 0x7E, magnitude) | sign_of(v, 0x80);
}

uint32_t mxg_cvt_pk_fp8_f32(float a, float b, uint32_t old, int high) {
  const uint32_t pair = fp8(a) | fp8(b) << 8;
  return high ? (old & 0x0000FFFFu) | pair << 16 : (old & 0xFFFF0000u) | pair;
}

static float from_fp8(uint32_t code) {
  const uint32_t magnitude = code & 0x7F;
  const double value = magnitude == 0x7F ? (double)NAN : e4m3fn_value(magnitude);
  return (float)((code & 0x80) != 0 ? -value : value);
}

void mxg_cvt_pk_f32_fp8(uint32_t codes, int high, float *v) {
  const uint32_t pair = high ? codes >> 16 : codes;
  v[0] = from_fp8(pair & 0xFF);
  v[1] = from_fp8(pair >> 8 & 0xFF);
}

/* Only the exponent field of a scale counts; 0 acts as 2^-127. */
static double scale_value(float scale) {
  uint32_t bits;
  memcpy(&bits, &scale, sizeof bits);
  return ldexp(1, (int)(bits >> 23 & 255) - 127);
}

/* v_cvt_scalef32_pk_fp4_*: divides by the scale, one rounding, saturates. What a NaN gives is not
 * known: the model answers with a code that would be noticed. */
static uint32_t fp4(double v, float scale) {
  if (isnan(v)) return 5;
  return nearest(e2m1_value, 7, fmin(fabs(v / scale_value(scale)), 6)) | sign_of(v, 8);
}

static uint32_t put_byte(uint32_t old, uint32_t value, int byte) {
  return (old & ~(0xFFu << (8 * byte))) | value << (8 * byte);
}

uint32_t mxg_cvt_scalef32_pk_fp4_f32(uint32_t old, float a, float b, float scale, int byte) {
  return put_byte(old, fp4((double)a, scale) | fp4((double)b, scale) << 4, byte);
}

static double bf16_value(uint32_t half) {
  const uint32_t bits = (half & 0xFFFF) << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

static double f16_value(uint32_t half) {
  const int field = (int)(half >> 10 & 31), mantissa = (int)(half & 1023);
  double value = field == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, field - 25);
  if (field == 31) value = mantissa == 0 ? (double)INFINITY : (double)NAN;
  return (half & 0x8000) != 0 ? -value : value;
}

uint32_t mxg_cvt_scalef32_pk_fp4_bf16(uint32_t old, uint32_t pair, float scale, int byte) {
  return put_byte(old, fp4(bf16_value(pair), scale) | fp4(bf16_value(pair >> 16), scale) << 4,
                  byte);
}

uint32_t mxg_cvt_scalef32_pk_fp4_f16(uint32_t old, uint32_t pair, float scale, int byte) {
  return put_byte(old, fp4(f16_value(pair), scale) | fp4(f16_value(pair >> 16), scale) << 4, byte);
}

void mxg_cvt_scalef32_pk_f32_fp4(uint32_t codes, float scale, int byte, float *v) {
  for (int i = 0; i < 2; i++) {
    const uint32_t code = codes >> (8 * byte + 4 * i);
    const double value = e2m1_value(code & 7) * scale_value(scale);
    v[i] = (float)((code & 8) != 0 ? -value : value);
  }
}

/* cvt.rn.satfinite.e4m3x2.f32: the first source, `high`, is the upper byte; NaN is 7F. */
static uint32_t satfinite(float v) {
  if (isnan(v)) return 0x7F;
  return nearest(e4m3fn_value, 0x7E, fmin(fabs((double)v), 448)) | sign_of(v, 0x80);
}

uint32_t mxg_cvt_e4m3x2_f32(float low, float high) {
  return satfinite(low) | satfinite(high) << 8;
}

void mxg_cvt_f32_e4m3x2(uint32_t codes, float *v) {
  mxg_cvt_pk_f32_fp8(codes, 0, v);
}

/* ---- two halves of a word at a time ---- */

/* A finite double to bf16, nearest even, by its quantum. */
static uint32_t to_bf16(double v) {
  int exponent = 0;
  const double magnitude = fabs(v);
  (void)frexp(magnitude, &exponent); /* magnitude < 2^exponent */
  if (exponent < -125) exponent = -125;
  const double quantum = ldexp(1, exponent - 8);
  const float rounded = (float)(nearbyint(magnitude / quantum) * quantum);
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  return bits >> 16 | sign_of(v, 0x8000);
}

uint32_t mxg_min_u16x2(uint32_t a, uint32_t b) {
  const uint32_t low = (a & 0xFFFF) < (b & 0xFFFF) ? a & 0xFFFF : b & 0xFFFF;
  const uint32_t high = a >> 16 < b >> 16 ? a >> 16 : b >> 16;
  return low | high << 16;
}

uint32_t mxg_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t source = (uint64_t)b << 32 | a;
  uint32_t bytes = 0;
  for (int i = 0; i < 4; i++)
    bytes |= (uint32_t)(source >> (8 * (selector >> (4 * i) & 7)) & 255) << (8 * i);
  return bytes;
}

/* A product of two bf16 is exact in binary64. The sum with c is, too, or the product is less than
 * 2^-40 of c, so that the sum rounds to c in either format. */
static uint32_t fma_bf16(uint32_t a, uint32_t b, uint32_t c) {
  return to_bf16(bf16_value(a) * bf16_value(b) + bf16_value(c));
}
uint32_t mxg_fma_bf16x2(uint32_t a, uint32_t b, uint32_t c) {
  return fma_bf16(a, b, c) | fma_bf16(a >> 16, b >> 16, c >> 16) << 16;
}

/* Overflow gives Inf, NaN 7FC0. */
static uint32_t any_to_bf16(double v) {
  if (isnan(v)) return 0x7FC0;
  return isinf(v) ? 0x7F80 | sign_of(v, 0x8000) : to_bf16(v);
}
uint32_t mxg_cvt_bf16x2_f32(float low, float high) {
  return any_to_bf16((double)low) | any_to_bf16((double)high) << 16;
}

/* A double to f16, nearest even, by its quantum. 65520 and more give Inf, NaN 7E00. */
static uint32_t any_to_f16(double v) {
  int exponent = 0;
  const double magnitude = fabs(v);
  if (isnan(v)) return 0x7E00;
  if (magnitude >= 65520) return 0x7C00 | sign_of(v, 0x8000);
  if (magnitude > 0) (void)frexp(magnitude, &exponent); /* magnitude < 2^exponent */
  if (magnitude == 0 || exponent < -13) exponent = -13;
  /* From 0 to 2048, which carries; a normal has 1024 in it, which counts in the exponent. */
  const uint32_t significand = (uint32_t)nearbyint(ldexp(magnitude, 11 - exponent));
  return (significand + ((uint32_t)(exponent + 13) << 10)) | sign_of(v, 0x8000);
}
uint32_t mxg_cvt_f16x2_f32(float low, float high) {
  return any_to_f16((double)low) | any_to_f16((double)high) << 16;
}
