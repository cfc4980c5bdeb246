/* factors.h: the scales of 16 blocks as binary32 factors, times the 2^shift by which the decoder of
 * decode_*.h divides. For leaves only: include decode_*.h before.
 *
 * Multiplying codes by 2^-shift and scales by 2^shift changes no product and so no rounding, as
 * long as both are exact; where the scale would not be, the caller takes the portable kernel.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_FACTORS_H
#define MXG_SIMD_FACTORS_H

#include "../internal.h"

#define MXG_CHUNK 16 /* blocks */

/* More than any row has. */
#define MXG_UNCHUNKED_COLS (SIZE_MAX / (2 * MXG_GROUP) * (2 * MXG_GROUP))

/* Elements of a chunk; one chunk is all there is without scales. */
static inline size_t mxg_chunk_cols(const mxg_recipe *recipe) {
  const size_t block = recipe->block;
  return recipe->scale == MXG_SCALE_NONE || block > SIZE_MAX / MXG_CHUNK ? MXG_UNCHUNKED_COLS
                                                                         : block * MXG_CHUNK;
}

/* Which of 16 blocks a kernel declines: a bit for each. */
#define MXG_ALL_BLOCKS 0xFFFFu

/* f32 scales [first, first + count) times 2^shift. Returns 0 where one of them overflows. */
MXG_OP int mxg_f32_factors(const uint8_t *scales, int first_negated, size_t first, size_t count,
                           int shift, float f[MXG_CHUNK]) {
  const mxg_vector up = mxg_broadcast(mxg_power_of_two(shift));
  const mxg_vector down = mxg_broadcast(mxg_power_of_two(-shift));
  int ok = 1;
  if (count >= MXG_CHUNK) {
    memcpy(f, scales + 4 * first, 4 * MXG_CHUNK);
  } else {
    memset(f, 0, 4 * MXG_CHUNK);
    memcpy(f, scales + 4 * first, 4 * count);
  }
  if (first_negated && first == 0) f[0] = mxg_f32_from_bits(mxg_f32_bits(f[0]) & ~MXG_F32_SIGN);
  if (shift == 0) return 1;
  MXG_UNROLL for (int i = 0; i < MXG_CHUNK; i += MXG_LANES) {
    const mxg_vector s = mxg_load(f + i), product = mxg_mul(s, up);
    ok &= !mxg_any_unequal(mxg_mul(product, down), s); /* a NaN stays one */
    mxg_store(f + i, product);
  }
  return ok;
}

/* E8M0 scales, which mxg_e8m0_declined() has to look at after that. */
MXG_OP mxg_bytes mxg_e8m0_factors(const mxg_recipe *recipe, const uint8_t *scales, size_t first,
                                  size_t count, int shift, float f[MXG_CHUNK]) {
  const mxg_bytes bytes = mxg_load_scales(scales + first, count);
  mxg_e8m0_vectors(bytes, shift, recipe->edges == MXG_EDGES_FLOAT, f);
  return bytes;
}

/* Which of those scales are not for us? That is the largest factor, whose reciprocal is a subnormal,
 * and a scale by which an element, below 2^16, could overflow before a weight makes it smaller. */
MXG_OP uint32_t mxg_e8m0_declined(mxg_bytes bytes, int shift) {
  return mxg_bytes_above(bytes, shift > 16 ? 253 - shift : 237);
}

/* Factors of what has no scales. */
MXG_OP void mxg_unit_factors(int shift, float f[MXG_CHUNK]) {
  MXG_UNROLL for (int i = 0; i < MXG_CHUNK; i += MXG_LANES)
      mxg_store(f + i, mxg_broadcast(mxg_power_of_two(shift)));
}

/* Factors of `count` blocks from block `first` of a row on (more are made, up to 16; they mean
 * nothing). scales == NULL: the row is not scaled. Returns the blocks whose factors are not exact. */
MXG_OP uint32_t mxg_factors(const mxg_recipe *recipe, const uint8_t *scales, int first_negated,
                            size_t first, size_t count, int shift, float f[MXG_CHUNK]) {
  if (scales == NULL) {
    mxg_unit_factors(shift, f);
    return 0;
  }
  if (recipe->scale == MXG_SCALE_E8M0)
    return mxg_e8m0_declined(mxg_e8m0_factors(recipe, scales, first, count, shift, f), shift);
  return mxg_f32_factors(scales, first_negated, first, count, shift, f) ? 0 : MXG_ALL_BLOCKS;
}

/* How many blocks from block i on, of `count`, are declined like that one, or like it are not. */
static inline size_t mxg_declined_run(uint32_t declined, size_t i, size_t count) {
  size_t run = 1;
  while (i + run < count && ((declined >> i ^ declined >> (i + run)) & 1u) == 0) run++;
  return run;
}

/* Walks over parts of a chunk, of which a block is a multiple, and says which block each is in. */
typedef struct mxg_units {
  size_t block, left, per_block;
} mxg_units;

/* col: a multiple of unit_cols in the chunk that starts at chunk_begin */
static inline mxg_units mxg_units_from(const mxg_recipe *recipe, size_t unit_cols,
                                       size_t chunk_begin, size_t col) {
  const size_t unit = (col - chunk_begin) / unit_cols;
  mxg_units u;
  u.per_block = recipe->scale == MXG_SCALE_NONE ? SIZE_MAX : recipe->block / unit_cols;
  u.block = unit == 0 ? 0 : unit / u.per_block; /* a division takes as long as some groups */
  u.left = unit == 0 ? u.per_block : u.per_block - unit % u.per_block;
  return u;
}

static inline size_t mxg_next_unit(mxg_units *u) {
  const size_t block = u->block;
  if (--u->left == 0) {
    u->left = u->per_block;
    u->block++;
  }
  return block;
}

#endif
