/* vectors_decode.c: decode cases: every code, the edges of E8M0, stored scales that no encoder
 * writes.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "vectors.h"

static void put_f32(uint8_t *to, uint32_t bits) {
  for (int b = 0; b < 4; b++) to[b] = (uint8_t)(bits >> (8 * b));
}

/* Every code with a scale of 1, as many blocks as that takes. */
static void all_codes(mxg_vectors *v) {
  uint8_t codes[256], scales[4 * 256];
  const size_t count = (size_t)1 << v->traits.bits;
  const size_t used = mxg_scales_used(&v->recipe, count);
  for (size_t i = 0; i < count; i++) codes[i] = (uint8_t)i;
  for (size_t s = 0; s < used; s++) {
    if (v->recipe.scale == MXG_SCALE_E8M0)
      scales[s] = 127;
    else
      put_f32(scales + 4 * s, MXG_ONE);
  }
  /* a marker says that the row is scaled */
  if (v->recipe.scale == MXG_SCALE_F32 && v->recipe.marker != MXG_MARKER_NONE)
    put_f32(scales, MXG_ONE | MXG_MINUS);
  mxg_vectors_decode(v, v->traits.bits == 8 ? "NanCode,Subnormal,NegZero" : "Subnormal,NegZero", 1,
                     count, codes, scales, used * mxg_scale_bytes(v->recipe.scale));
}

/* Every code under the bytes 00, 01, FE, FF, a row each. */
static void e8m0_edges(mxg_vectors *v) {
  static const uint8_t edges[4] = {0x00, 0x01, 0xFE, 0xFF};
  uint8_t codes[4 * 256], scales[4 * 256];
  const size_t count = (size_t)1 << v->traits.bits;
  const size_t used = mxg_scales_used(&v->recipe, count);
  if (v->recipe.scale != MXG_SCALE_E8M0) return;
  for (size_t row = 0; row < 4; row++) {
    for (size_t i = 0; i < count; i++) codes[row * count + i] = (uint8_t)i;
    memset(scales + row * used, edges[row], used);
  }
  mxg_vectors_decode(v, "E8M0Decode", 4, count, codes, scales, 4 * used);
}

/* 1 and -1 in one or two blocks a row, under scales that no encoder writes. */
static void bad_scales(mxg_vectors *v) {
  static const uint32_t bad[6] = {0, MXG_MINUS, MXG_INF, MXG_MINUS | MXG_INF, MXG_NAN, 0xFFC00001};
  enum { THREE = 0x40400000, PAIRS = 4, MAX_COLS = 256 + 2 };
  const uint32_t marker = v->recipe.marker != MXG_MARKER_NONE ? MXG_MINUS : 0;
  const uint32_t pairs[PAIRS][2] = {
      {0, THREE}, {THREE | marker, MXG_INF}, {THREE | marker, MXG_NAN}, {MXG_NAN, THREE}};
  static uint8_t codes[PAIRS * MAX_COLS];
  uint8_t scales[8 * 6];
  const size_t cols = v->block + 2;
  if (v->recipe.scale != MXG_SCALE_F32 || cols > MAX_COLS) return;
  const uint8_t one = (uint8_t)(v->traits.bias << v->traits.mantissa_bits);
  const uint8_t minus_one = one | v->traits.sign_bit;
  memset(codes, 0, sizeof codes);
  for (size_t row = 0; row < 6; row++) {
    codes[3 * row] = one;
    codes[3 * row + 1] = minus_one;
    put_f32(scales + 4 * row, bad[row]);
  }
  mxg_vectors_decode(v, "DecodeBadScale", 6, 3, codes, scales, 4 * 6);
  memset(codes, 0, sizeof codes);
  for (size_t row = 0; row < PAIRS; row++) {
    uint8_t *const at = codes + row * cols;
    at[0] = at[v->block] = one;
    at[1] = at[v->block + 1] = minus_one;
    put_f32(scales + 8 * row, pairs[row][0]);
    put_f32(scales + 8 * row + 4, pairs[row][1]);
  }
  mxg_vectors_decode(v, "DecodeBadScale", PAIRS, cols, codes, scales, 8 * PAIRS);
}

void mxg_vectors_decode_cases(mxg_vectors *v) {
  all_codes(v);
  e8m0_edges(v);
  bad_scales(v);
}
