/* vectors_scales.c: E8M0 bytes from lone amax values and from f32 scales.
 * SPDX-License-Identifier: MIT */
#include "vectors.h"

static void rules(mxg_vectors *v) {
  uint32_t amax[128];
  for (uint32_t m = 0; m < 128; m++) amax[m] = MXG_ONE | m << 16;
  mxg_vectors_scale(v, "ScaleRule", false, amax, 128);
}

/* Both sides of powers of two over the whole range, where log2f rounds to the integer. */
static void boundaries(mxg_vectors *v) {
  uint32_t amax[4 * 26];
  size_t count = 0;
  for (uint32_t exponent = 1; exponent < 254; exponent += 10) {
    amax[count++] = exponent << 23 | 0x7FFFFF;
    amax[count++] = (exponent + 1) << 23;
    amax[count++] = exponent << 23 | 0x400000;
    amax[count++] = exponent << 23 | 0x5FFFFF;
  }
  mxg_vectors_scale(v, "ScaleBoundary", false, amax, count);
}

static void mask(mxg_vectors *v) {
  uint32_t amax[24];
  const bool is_rceil = v->recipe.rule == MXG_RULE_RCEIL || v->recipe.rule == MXG_RULE_RCEIL_BUMP;
  for (uint32_t bit = 0; bit < 23; bit++) amax[bit] = v->max | 1u << bit;
  amax[23] = v->max;
  if (is_rceil) mxg_vectors_scale(v, "RceilMask", false, amax, 24);
}

static void encoder_inputs(mxg_vectors *v) {
  static const uint32_t amax[] = {0,          MXG_MINUS,           MXG_ONE,    MXG_MINUS | MXG_ONE,
                                  MXG_INF,    MXG_MINUS | MXG_INF, MXG_NAN,    MXG_MINUS | MXG_NAN,
                                  0x7F7FFFFF, 0xFF7FFFFF,          0x00000001, 0x80000001,
                                  0x7F800001};
  mxg_vectors_scale(v, "E8M0Encode", false, amax, sizeof amax / sizeof amax[0]);
}

static void stored_scales(mxg_vectors *v) {
  static const uint32_t scales[] = {
      MXG_ONE,    0x3F800001, 0x3F7FFFFF, 0x3FC00000, 0x3FE00000, 0x3FFFFFFF, 0x3B124925,
      0x3B888889, 0x3E2AAAAB, 0x40400000, 0x3DCCCCCD, 0x2EDBE6FF, 0x00400000, 0x00000001,
      0x7F000000, 0x7F7FFFFF, MXG_INF,    MXG_NAN,    0xBF800000, 0x3F900000, 0x3F880000};
  mxg_vectors_scale(v, "NonPow2AsE8M0", true, scales, sizeof scales / sizeof scales[0]);
}

void mxg_vectors_scale_cases(mxg_vectors *v) {
  if (v->recipe.scale != MXG_SCALE_E8M0) return;
  rules(v);
  boundaries(v);
  mask(v);
  encoder_inputs(v);
  stored_scales(v);
}
