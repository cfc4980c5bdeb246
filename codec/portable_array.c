/* portable_array.c: arrays of elements, for any CPU.
 * SPDX-License-Identifier: MIT */
#include "internal.h"

void mxg_encode__portable(const mxg_plan *plan, const uint8_t *x, size_t count, uint8_t *codes) {
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, x + 4 * i, 4);
    codes[i] = (uint8_t)mxg_encode_bits(plan->traits, &plan->policy, bits, 0, bits);
  }
}

void mxg_decode__portable(mxg_element element, const uint8_t *codes, size_t count, uint8_t *y) {
  const mxg_traits traits = mxg_element_traits(element);
  for (size_t i = 0; i < count; i++) {
    const uint32_t bits = mxg_decode_bits(traits, codes[i], 0); /* its NaN is the canonical one */
    memcpy(y + 4 * i, &bits, 4);
  }
}
