/* neon_array.c: arrays of elements for aarch64. FP6 and E5M2FNUZ are decoded by the portable
 * kernel.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__aarch64__) && !defined(__AARCH64EB__)
#include "../simd/decode_neon.h"
#include "../simd/encode_neon.h"

#include "../simd/array.h"

void mxg_encode__neon(const mxg_plan *plan, const uint8_t *x, size_t count, uint8_t *codes) {
  if (mxg_can_encode(plan))
    mxg_encode_as(plan, x, count, codes);
  else
    mxg_encode__portable(plan, x, count, codes);
}

#define DECODE_AS(name, decoding)                                                         \
  static void name(mxg_element element, const uint8_t *codes, size_t count, uint8_t *y) { \
    mxg_decode_as(element, decoding, codes, count, y);                                    \
  }

DECODE_AS(decode_e4m3, MXG_DECODING_E4M3)
DECODE_AS(decode_e4m3fnuz, MXG_DECODING_E4M3FNUZ)
DECODE_AS(decode_e5m2, MXG_DECODING_E5M2)
DECODE_AS(decode_fp4, MXG_DECODING_FP4)

void mxg_decode__neon(mxg_element element, const uint8_t *codes, size_t count, uint8_t *y) {
  if (mxg_element_traits(element).bits == 6 || element == MXG_ELEMENT_E5M2FNUZ ||
      !mxg_binary16_is_ieee()) {
    mxg_decode__portable(element, codes, count, y);
    return;
  }
  switch (mxg_decoding_of(element)) {
    case MXG_DECODING_E4M3: decode_e4m3(element, codes, count, y); break;
    case MXG_DECODING_E4M3FNUZ: decode_e4m3fnuz(element, codes, count, y); break;
    case MXG_DECODING_E5M2: decode_e5m2(element, codes, count, y); break;
    case MXG_DECODING_FP4: decode_fp4(element, codes, count, y); break;
  }
}
#endif
