/* decode_table.h: the elements as tables of bf16 halves, made by the compiler. For leaves only.
 *
 * Every element is a bf16 exactly: a code decodes by two byte look-ups, for the upper and the lower
 * byte, never through a binary32 subnormal (whose multiplication costs a trap into microcode).
 *
 * Tables come twice: as the values are, and divided by 2^MXG_TABLE_SHIFT for E8M0 scales, which
 * are multiplied by it. The product is the same, but byte 00 (zero blocks) is a normal number then.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_DECODE_TABLE_H
#define MXG_SIMD_DECODE_TABLE_H

#include "../internal.h"

#define MXG_TABLE_SHIFT 32

static inline float mxg_power_of_two(int exponent) { /* -126..127 */
  return mxg_f32_from_bits((uint32_t)(exponent + 127) << 23);
}

/* floor(log2) of a subnormal's mantissa, 1..7 */
#define MXG_LOG2_(f) ((f) > 3 ? 2 : (f) > 1 ? 1 : 0)

/* bf16 bits of magnitude c of a format with m mantissa bits, over 2^shift. c is finite. */
#define MXG_BF16_(c, m, bias, shift)                           \
  ((c) == 0 ? 0                                                \
   : ((c) >> (m)) == 0                                         \
       ? ((128 - (bias) - (shift) - (m) + MXG_LOG2_(c)) << 7 | \
          (((c) << (7 - MXG_LOG2_(c))) & 127))                 \
       : ((((c) >> (m)) + 127 - (bias) - (shift)) << 7 | (((c) << (7 - (m))) & 127)))

/* With the Inf and NaN that the format has; those of FNUZ are code 80, no magnitude. */
#define MXG_E4M3FN_(c, shift) ((c) == 0x7F ? 0x7FC0 : MXG_BF16_(c, 3, 7, shift))
#define MXG_E4M3FNUZ_(c, shift) MXG_BF16_(c, 3, 8, shift)
#define MXG_E5M2_(c, shift) \
  ((c) == 0x7C ? 0x7F80 : (c) > 0x7C ? 0x7FC0 : MXG_BF16_(c, 2, 15, shift))
#define MXG_E5M2FNUZ_(c, shift) MXG_BF16_(c, 2, 16, shift)
#define MXG_E2M1_(c, shift) MXG_BF16_(c, 1, 1, shift)

#define MXG_LOW_(f, c, shift) ((f(c, shift)) & 255)
#define MXG_HIGH_(f, c, shift) ((f(c, shift)) >> 8)
#define MXG_4_(byte, f, c, s) \
  byte(f, c, s), byte(f, (c) + 1, s), byte(f, (c) + 2, s), byte(f, (c) + 3, s)
#define MXG_16_(byte, f, c, s)                                                     \
  MXG_4_(byte, f, c, s), MXG_4_(byte, f, (c) + 4, s), MXG_4_(byte, f, (c) + 8, s), \
      MXG_4_(byte, f, (c) + 12, s)
#define MXG_128_(byte, f, s)                                                     \
  MXG_16_(byte, f, 0, s), MXG_16_(byte, f, 16, s), MXG_16_(byte, f, 32, s),      \
      MXG_16_(byte, f, 48, s), MXG_16_(byte, f, 64, s), MXG_16_(byte, f, 80, s), \
      MXG_16_(byte, f, 96, s), MXG_16_(byte, f, 112, s)

/* FP8: bytes of the bf16 of magnitudes 00..7F; of element n at [n - 1], [1]: over 2^32. */
typedef struct mxg_fp8_table {
  uint8_t high[128], low[128];
} mxg_fp8_table;

#define MXG_FP8_TABLE_(f, s)       \
  {                                \
    {MXG_128_(MXG_HIGH_, f, s)}, { \
      MXG_128_(MXG_LOW_, f, s)     \
    }                              \
  }

static const mxg_fp8_table mxg_fp8_tables[4][2] = {
    {MXG_FP8_TABLE_(MXG_E4M3FN_, 0), MXG_FP8_TABLE_(MXG_E4M3FN_, MXG_TABLE_SHIFT)},
    {MXG_FP8_TABLE_(MXG_E4M3FNUZ_, 0), MXG_FP8_TABLE_(MXG_E4M3FNUZ_, MXG_TABLE_SHIFT)},
    {MXG_FP8_TABLE_(MXG_E5M2_, 0), MXG_FP8_TABLE_(MXG_E5M2_, MXG_TABLE_SHIFT)},
    {MXG_FP8_TABLE_(MXG_E5M2FNUZ_, 0), MXG_FP8_TABLE_(MXG_E5M2FNUZ_, MXG_TABLE_SHIFT)}};

/* FP4: of all 16 codes; [1]: over 2^32. */
typedef struct mxg_fp4_table {
  uint8_t high[16], low[16];
} mxg_fp4_table;

#define MXG_E2M1_SIGNED_(c, shift) (((c) > 7 ? 0x8000 : 0) | MXG_E2M1_((c)&7, shift))
#define MXG_FP4_TABLE_(s)                           \
  {                                                 \
    {MXG_16_(MXG_HIGH_, MXG_E2M1_SIGNED_, 0, s)}, { \
      MXG_16_(MXG_LOW_, MXG_E2M1_SIGNED_, 0, s)     \
    }                                               \
  }

static const mxg_fp4_table mxg_fp4_tables[2] = {MXG_FP4_TABLE_(0), MXG_FP4_TABLE_(MXG_TABLE_SHIFT)};

#endif
