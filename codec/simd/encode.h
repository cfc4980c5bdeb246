/* encode.h: what array.h asks of encode_*.h. For leaves only.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_ENCODE_H
#define MXG_SIMD_ENCODE_H

#include "../internal.h"

typedef struct mxg_encoding {
  float clamp;     /* |x| above it has the code of this value */
  uint32_t least;  /* exponent field of the format's smallest normal, in place */
  uint32_t addend; /* to the exponent field of |x| or to least: what |x| is added to */
  int drop;        /* 23 - mantissa bits */
  int bits;        /* of a code */
  int fnuz;        /* no -0 */
} mxg_encoding;

#endif
