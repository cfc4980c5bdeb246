/* tile.h: the columns that combine.h keeps in registers: groups of decode_*.h. tile_avx512.h offers
 * the same names. For leaves only: include decode_*.h before.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_TILE_H
#define MXG_SIMD_TILE_H

#include "../internal.h"

#define MXG_SUM_VECTORS MXG_VECTORS          /* of a group, at most */
#define MXG_SUM_UNITS (MXG_GROUP / MXG_UNIT) /* likewise */
#define MXG_TILE_GROUPS MXG_TILE             /* likewise */

typedef struct mxg_tile {
  mxg_decoder d;
  mxg_writer w;
} mxg_tile;

MXG_OP void mxg_tile_init(mxg_tile *t, mxg_decoding decoding, mxg_element element, int e8m0,
                          int pairs) {
  mxg_decoder_init(&t->d, decoding, element, e8m0, pairs);
  mxg_writer_init(&t->w, &t->d);
}

typedef struct mxg_shape {
  int groups;         /* of a tile */
  size_t cols, bytes; /* of a group: columns, bytes of codes */
  int vectors, units; /* likewise */
  size_t past;        /* columns after a group whose codes mxg_sum_decode() reads where it may */
} mxg_shape;

MXG_OP mxg_shape mxg_shape_of(const mxg_tile *t) {
  const mxg_shape shape = {
      MXG_TILE,    MXG_GROUP,     t->d.decoding == MXG_DECODING_FP4 ? MXG_GROUP / 2 : MXG_GROUP,
      MXG_VECTORS, MXG_SUM_UNITS, 0};
  return shape;
}

/* A group of codes into vectors; past: shape.past codes after it may be read. */
MXG_OP void mxg_sum_decode(mxg_tile *t, const uint8_t *codes, int past,
                           mxg_vector x[MXG_SUM_VECTORS]) {
  (void)past;
  mxg_decode(&t->d, codes, x);
}

/* The factors of a group's vectors; blocks: where those of its units are. */
MXG_OP void mxg_sum_factors(const mxg_tile *t, mxg_spread spread, const uint8_t *factors,
                            const size_t *blocks, mxg_vector f[MXG_SUM_VECTORS]) {
  mxg_group_factors(&t->d, spread, factors, blocks, f);
}

/* Groups of sums into values, each NaN canonical; stream: around the caches, if y is aligned. */
MXG_OP void mxg_sum_write(const mxg_tile *t, mxg_vector x[][MXG_SUM_VECTORS], int groups,
                          mxg_dtype dtype, int stream, uint8_t *y) {
  MXG_UNROLL for (int g = 0; g < groups; g++) mxg_write(
      &t->w, &t->d, x[g], dtype, stream, y + (size_t)g * mxg_dtype_bytes(dtype) * MXG_GROUP);
}

#endif
