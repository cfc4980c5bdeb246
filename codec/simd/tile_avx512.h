/* tile_avx512.h: the columns that combine.h keeps in registers, for AVX-512: two groups of
 * decode_avx512.h, but where sums of FP4 become bf16 one of 128 elements in 8 vectors. tile.h says
 * what each name means. For leaves only: include decode_avx512.h before.
 *
 * Of those 128, dword i of the 64 bytes of codes has elements 8i to 8i + 7, lane i of vector v is
 * element 8i + v, and a unit is a quarter of the lanes of every vector.
 * SPDX-License-Identifier: MIT */
#ifndef MXG_SIMD_TILE_AVX512_H
#define MXG_SIMD_TILE_AVX512_H

#include "../internal.h"

#define MXG_SUM_VECTORS 8
#define MXG_SUM_UNITS 4
#define MXG_TILE_GROUPS 2

typedef struct mxg_tile {
  mxg_decoder d;
  mxg_writer w;
  int wide;         /* 128 elements */
  __m512i quarters; /* q in quarter q of the lanes */
  __m512i dwords[2], qwords[2];
} mxg_tile;

MXG_OP void mxg_tile_init(mxg_tile *t, mxg_decoding decoding, mxg_element element, int e8m0,
                          int pairs) {
  mxg_decoder_init(&t->d, decoding, element, e8m0, pairs);
  mxg_writer_init(&t->w, &t->d);
  t->wide = decoding == MXG_DECODING_FP4 && pairs;
  t->quarters = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
  t->dwords[0] = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  t->dwords[1] = _mm512_add_epi32(t->dwords[0], _mm512_set1_epi32(8));
  t->qwords[0] = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  t->qwords[1] = _mm512_add_epi64(t->qwords[0], _mm512_set1_epi64(4));
  MXG_KEEP(t->quarters);
  MXG_KEEP(t->dwords[0]);
  MXG_KEEP(t->dwords[1]);
  MXG_KEEP(t->qwords[0]);
  MXG_KEEP(t->qwords[1]);
}

typedef struct mxg_shape {
  int groups;
  size_t cols, bytes;
  int vectors, units;
  size_t past;
} mxg_shape;

MXG_OP mxg_shape mxg_shape_of(const mxg_tile *t) {
  const mxg_shape wide = {1, 128, 64, 8, 4, 6};
  const mxg_shape other = {2, 64, t->d.decoding == MXG_DECODING_FP4 ? 32 : 64, 4, 2, 0};
  return t->wide ? wide : other;
}

/* A look-up sees only the lowest nibble, so loads from the next bytes on bring other ones there
 * for nothing; shifts do where those may not be read. */
MXG_OP void mxg_decode_wide(const mxg_tile *t, const uint8_t *codes, int past, mxg_vector x[8]) {
  const __m512i first = mxg_load_bytes(codes);
  MXG_UNROLL for (int i = 0; i < 4; i++) {
    const __m512i dword =
        past ? mxg_load_bytes(codes + i) : _mm512_srl_epi32(first, _mm_cvtsi32_si128(8 * i));
    x[2 * i] = _mm512_permutexvar_ps(dword, t->d.table);
    x[2 * i + 1] = _mm512_permutexvar_ps(_mm512_srli_epi32(dword, 4), t->d.table);
  }
}

MXG_OP void mxg_sum_decode(mxg_tile *t, const uint8_t *codes, int past,
                           mxg_vector x[MXG_SUM_VECTORS]) {
  if (t->wide)
    mxg_decode_wide(t, codes, past, x);
  else
    mxg_decode(&t->d, codes, x);
}

MXG_OP void mxg_sum_factors(const mxg_tile *t, mxg_spread spread, const uint8_t *factors,
                            const size_t *blocks, mxg_vector f[MXG_SUM_VECTORS]) {
  if (!t->wide) {
    mxg_group_factors(&t->d, spread, factors, blocks, f);
    return;
  }
  f[0] = _mm512_set1_ps(mxg_factor_at(factors, blocks[0]));
  if (spread == MXG_SPREAD_EACH) { /* four neighbours, broadcast on the load port */
    f[0] = _mm512_broadcast_f32x4(_mm_loadu_ps((const void *)(factors + 4 * blocks[0])));
    f[0] = _mm512_permutevar_ps(f[0], t->quarters);
  } else if (spread == MXG_SPREAD_ANY) {
    MXG_UNROLL for (int q = 1; q < 4; q++) f[0] = _mm512_mask_mov_ps(
        f[0], (__mmask16)(0xF << 4 * q), _mm512_set1_ps(mxg_factor_at(factors, blocks[q])));
  }
  MXG_UNROLL for (int v = 1; v < 8; v++) f[v] = f[0];
}

/* Pair i has elements 2i and 2i + 1 of each 8: dword i of four, which two steps bring together. */
MXG_OP void mxg_write_wide(const mxg_tile *t, mxg_vector x[8], int stream, uint8_t *y) {
  __m512i pair[4];
  MXG_UNROLL for (int i = 0; i < 4; i++) pair[i] = mxg_pair_bf16(&t->w, x[2 * i], x[2 * i + 1]);
  MXG_UNROLL for (int half = 0; half < 2; half++) { /* of the elements */
    const __m512i first = _mm512_permutex2var_epi32(pair[0], t->dwords[half], pair[1]);
    const __m512i second = _mm512_permutex2var_epi32(pair[2], t->dwords[half], pair[3]);
    MXG_UNROLL for (int i = 0; i < 2; i++) store_or_stream(
        y + 128 * half + 64 * i, _mm512_permutex2var_epi64(first, t->qwords[i], second), stream);
  }
}

/* One look for NaN in all groups: its branch waits for the last sum. */
MXG_OP void mxg_sum_write(const mxg_tile *t, mxg_vector x[][MXG_SUM_VECTORS], int groups,
                          mxg_dtype dtype, int stream, uint8_t *y) {
  const mxg_shape shape = mxg_shape_of(t);
  __mmask16 numbers = 0xFFFF;
  MXG_UNROLL for (int g = 0; g < groups; g++) {
    MXG_UNROLL for (int v = 0; v < shape.vectors; v += 2) numbers =
        _mm512_mask_cmp_ps_mask(numbers, x[g][v], x[g][v + 1], _CMP_ORD_Q);
  }
  if (numbers != 0xFFFF) {
    MXG_UNROLL for (int g = 0; g < groups; g++) {
      MXG_UNROLL for (int v = 0; v < shape.vectors; v++) x[g][v] = mxg_canonical(x[g][v]);
    }
  }
  MXG_UNROLL for (int g = 0; g < groups; g++) {
    uint8_t *to = y + (size_t)g * mxg_dtype_bytes(dtype) * shape.cols;
    if (t->wide)
      mxg_write_wide(t, x[g], stream, to);
    else
      mxg_write_canonical(&t->w, &t->d, x[g], dtype, stream, to);
  }
}

#endif
