/* decode.h: what combine.h and dequantize.h say to decode_*.h. For leaves only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_DECODE_H
#define MXG_SIMD_DECODE_H

#include "../internal.h"

/* Which blocks the units of a group are in. */
typedef enum mxg_spread {
  MXG_SPREAD_ONE,  /* all in one */
  MXG_SPREAD_EACH, /* each is a block: those of a group follow one another */
  MXG_SPREAD_ANY
} mxg_spread;

/* Factor number i: binary32 of any alignment. */
static inline float mxg_factor_at(const uint8_t *factors, size_t i) {
  float f;
  memcpy(&f, factors + sizeof f * i, sizeof f);
  return f;
}

#endif
