/* avx2_array.c: arrays of elements for AVX2. FP6 and E5M2FNUZ are decoded by the portable kernel.
 * SPDX-License-Identifier: MIT */
#include "../internal.h"

#if defined(__x86_64__)
#include "../simd/decode_avx2.h"
#include "../simd/encode_avx2.h"

#include "../simd/array.h"

static MXG_TARGET void encode(const mxg_plan *plan, const uint8_t *x, size_t count,
                              uint8_t *codes) {
  mxg_encode_as(plan, x, count, codes);
}

void mxg_encode__avx2(const mxg_plan *plan, const uint8_t *x, size_t count, uint8_t *codes) {
  (mxg_can_encode(plan) ? encode : mxg_encode__portable)(plan, x, count, codes);
}

static MXG_TARGET void decode_fp8(mxg_element element, const uint8_t *codes, size_t count,
                                  uint8_t *y) {
  mxg_decode_as(element, MXG_DECODING_FP8, codes, count, y);
}

static MXG_TARGET void decode_fp4(mxg_element element, const uint8_t *codes, size_t count,
                                  uint8_t *y) {
  mxg_decode_as(element, MXG_DECODING_FP4, codes, count, y);
}

void mxg_decode__avx2(mxg_element element, const uint8_t *codes, size_t count, uint8_t *y) {
  if (mxg_element_traits(element).bits == 6 || element == MXG_ELEMENT_E5M2FNUZ)
    mxg_decode__portable(element, codes, count, y);
  else if (mxg_decoding_of(element) == MXG_DECODING_FP4)
    decode_fp4(element, codes, count, y);
  else
    decode_fp8(element, codes, count, y);
}
#endif
