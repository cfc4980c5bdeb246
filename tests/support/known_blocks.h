/* known_blocks.h: what each preset makes of blocks of zeros, of ones, of ones with a NaN or an Inf,
 * written out by hand; and single codes, scales and values compared with a message.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_KNOWN_BLOCKS_H
#define TESTS_SUPPORT_KNOWN_BLOCKS_H

#include "impl.h"
#include "packed.h"

enum {
  ONE = 0x3F800000,
  POSITIVE_NAN = 0x7FC00000,
  POSITIVE_INF = 0x7F800000,
  SIGN = -0x7FFFFFFF - 1
};
#define SIGN_BIT 0x80000000u

typedef enum marks { MARK_NONE, MARK_IF_SCALED, MARK_ALWAYS } marks;

/* What each preset makes of four kinds of blocks: zeros; +-1; +-1 with one NaN; +-1 with one NaN
 * and one Inf. Codes of the positive and of the negative element. Scales as E8M0 bytes or f32 bits,
 * without the marker's sign. */
typedef struct known {
  const char *preset;
  marks marker;
  uint32_t zero_scale, zero[2];
  uint32_t one_scale, one[2];
  uint32_t nan_scale, nan[2], nan_one[2];
  uint32_t inf_scale, inf_one[2], inf[2], inf_nan[2];
} known;

enum { KNOWNS = 26 };
extern const known knowns[KNOWNS];
extern const mxg_dtype dtypes[3];

/* +1 and -1 by turns, from +1 */
void fill_ones(uint32_t *x, size_t count);
void fill_with(uint32_t *x, size_t count, uint32_t bits);

/* Each fails the test with `what` unless the code, scale (E8M0 byte or f32 bits) or value is so. */
void expect_code(const impl *side, const mxg_recipe *recipe, const packed_small *p, size_t row,
                 size_t col, uint32_t want, const char *what);
void expect_scale(const impl *side, const mxg_recipe *recipe, const packed_small *p, size_t row,
                  size_t index, uint32_t want, const char *what);
void expect_value(const impl *side, const mxg_recipe *recipe, uint32_t got, uint32_t want,
                  const char *what);

#endif
