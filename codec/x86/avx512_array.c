/* avx512_array.c: arrays of elements for AVX-512. FP6 is decoded by the portable kernel.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/decode_avx512.h"
#include "../simd/encode_avx512.h"

#include "../simd/array.h"

static MXG_TARGET void encode(const mxg_plan *plan, const uint8_t *x, size_t count,
                              uint8_t *codes) {
  mxg_encode_as(plan, x, count, codes);
}

void mxg_encode__avx512(const mxg_plan *plan, const uint8_t *x, size_t count, uint8_t *codes) {
  (mxg_can_encode(plan) ? encode : mxg_encode__portable)(plan, x, count, codes);
}

#define DECODE_AS(name, decoding)                                                      \
  static MXG_TARGET void name(mxg_element element, const uint8_t *codes, size_t count, \
                              uint8_t *y) {                                            \
    mxg_decode_as(element, decoding, codes, count, y);                                 \
  }

DECODE_AS(decode_fp8, MXG_DECODING_FP8)
DECODE_AS(decode_fnuz, MXG_DECODING_FNUZ)
DECODE_AS(decode_fp4, MXG_DECODING_FP4)

void mxg_decode__avx512(mxg_element element, const uint8_t *codes, size_t count, uint8_t *y) {
  if (mxg_element_traits(element).bits == 6) {
    mxg_decode__portable(element, codes, count, y);
    return;
  }
  switch (mxg_decoding_of(element)) {
    case MXG_DECODING_FP8: decode_fp8(element, codes, count, y); break;
    case MXG_DECODING_FNUZ: decode_fnuz(element, codes, count, y); break;
    case MXG_DECODING_FP4: decode_fp4(element, codes, count, y); break;
  }
}
#endif
