/* slice.h: all f32 of one sign and exponent field through one element format, and the policies that
 * a format may have.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_SLICE_H
#define MXGOLD_SLICE_H

#include "tool.h"

enum { MXG_SLICE_VALUES = 1 << 23 };

typedef struct mxg_slice {
  bool is_constant; /* every code is `code` */
  uint8_t code;     /* of the first value */
  uint32_t crc;     /* CRC-32 of the codes, one a byte, by ascending mantissa; 0 when constant and
                       not computed */
} mxg_slice;

/* The bits of its first value: the others follow by one. */
uint32_t mxg_slice_first(unsigned sign, unsigned exponent);

/* Encodes all 2^23 values. codes may be NULL, else MXG_SLICE_VALUES bytes. */
mxg_slice mxg_slice_encode(const mxg_recipe *recipe, unsigned sign, unsigned exponent,
                           uint8_t *codes);

/* Element formats by legal overflow and NaN policies, the format's own maximum, no scale. */
bool mxg_policy_at(size_t index, mxg_recipe *out);
size_t mxg_policy_count(void);
/* The first NaN policy that a format has. */
mxg_nan_element mxg_policy_first_nan(mxg_element element);
/* "element=e4m3fn overflow=saturate nan_element=code"; static storage. */
const char *mxg_policy_text(const mxg_recipe *recipe);

#endif
