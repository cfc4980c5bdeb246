/* quantize_vector.h: quantise rows whose pointers and strides are aligned, whose blocks are 32 to 256
 * elements, a power of two, and whose columns are a multiple of 8. A group has a row at a time.
 *
 * A strip is what makes 16 bytes of codes: 16 neighbouring elements for FP8, 32 for FP4. A lane has
 * a strip, so a block lies in 1 to 16 neighbouring lanes, and what is done once a block is done once
 * for many elements; a wave has a tile of strips, all loaded before the first is used. Blocks of
 * finite elements and ordinary scales, which are nearly all, are encoded in floats; the others
 * afterwards, element by element by the shared element code.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_QUANTIZE_VECTOR_H
#define MXGOLD_GPU_QUANTIZE_VECTOR_H

#include "block.h"
#include "encode.h"

/* Elements of 8 in a strip, and strips of a lane in a tile. */
#define MXG_STRIP_VECTORS(bits) (MXG_GPU_STRIP(bits) / 8)
#define MXG_TILE_STRIPS_MAX 2
#define MXG_TILE_STRIPS(bits) (MXG_GPU_TILE(bits, MXG_LANES) / MXG_GPU_STRIP(bits) / MXG_LANES)

/* A strip as loaded: words of two halves, or floats. */
typedef struct mxg_strip {
  uint32_t w[32];
} mxg_strip;

/* Words of 8 elements. */
MXG_DEVICE uint32_t mxg_vector_words(mxg_dtype dtype) {
  return dtype == MXG_DTYPE_F32 ? 8 : 4;
}

/* count: elements of the row from x on, a multiple of 8, any number; those past it become 0. */
MXG_DEVICE void mxg_load_strip(mxg_dtype dtype, uint32_t vectors, const uint8_t *x, int32_t count,
                               mxg_strip *s) {
  const uint32_t words = mxg_vector_words(dtype);
  MXG_UNROLL
  for (uint32_t k = 0; k < vectors; k++) {
    uint32_t *const w = s->w + k * words;
    MXG_UNROLL
    for (uint32_t i = 0; i < words; i++) w[i] = 0;
    if ((int32_t)(8 * k) < count) {
      mxg_load16(x + k * words * 4, w);
      if (dtype == MXG_DTYPE_F32) mxg_load16(x + k * words * 4 + 16, w + 4);
    }
  }
}

/* count as above: what is past it is not stored. wide: the address is a multiple of 16. */
MXG_DEVICE void mxg_store_strip(int bits, uint8_t *out, int wide, int32_t count,
                                const uint32_t *codes) {
  if (wide && count >= (int32_t)MXG_GPU_STRIP(bits)) {
    mxg_store16(out, codes);
    return;
  }
  MXG_UNROLL
  for (uint32_t k = 0; k < MXG_STRIP_VECTORS(bits); k++) {
    if ((int32_t)(8 * k) < count) {
      if (bits == 4)
        mxg_store4(out + 4 * k, codes + k);
      else
        mxg_store8(out + 8 * k, codes + 2 * k);
    }
  }
}

/* Element i of 8 as a float; NaN stays one, with any payload. */
MXG_DEVICE float mxg_vector_at(mxg_dtype dtype, const uint32_t *w, uint32_t i) {
  if (dtype == MXG_DTYPE_F32) return mxg_f32_from_bits(w[i]);
  if (dtype == MXG_DTYPE_BF16)
    return mxg_f32_from_bits(i % 2 == 0 ? w[i / 2] << 16 : w[i / 2] & 0xFFFF0000u);
  return mxg_f16_value(i % 2 == 0 ? w[i / 2] & 0xFFFFu : w[i / 2] >> 16);
}

/* Largest magnitude as binary32 bits; a NaN is above all. */
MXG_DEVICE uint32_t mxg_strip_amax(mxg_dtype dtype, uint32_t vectors, const mxg_strip *s,
                                   int weighted, float weight) {
  const uint32_t words = mxg_vector_words(dtype);
  uint32_t amax = 0;
  if (weighted || dtype == MXG_DTYPE_F32) {
    MXG_UNROLL
    for (uint32_t i = 0; i < vectors * 8; i++) {
      const float x = mxg_vector_at(dtype, s->w + i / 8 * words, i % 8);
      const uint32_t magnitude = mxg_f32_bits(weighted ? x * weight : x) & ~MXG_F32_SIGN;
      amax = magnitude > amax ? magnitude : amax;
    }
    return amax;
  }
  MXG_UNROLL
  for (uint32_t i = 0; i < vectors * 4; i++) amax = mxg_max_magnitude_x2(amax, s->w[i]);
  amax &= 0x7FFF7FFFu;
  amax = amax >> 16 > (amax & 0xFFFFu) ? amax >> 16 : amax & 0xFFFFu;
  return dtype == MXG_DTYPE_BF16 ? amax << 16 : mxg_f32_bits(mxg_f16_value(amax));
}

/* 8 elements of any block. A lane finds the amax of the whole block by itself. Returns the block. */
MXG_DEVICE mxg_block mxg_quantize_8_any(const mxg_gpu_args *a, mxg_traits t, const uint8_t *x,
                                        mxg_dtype dtype, uint32_t col, int weighted, float weight,
                                        uint8_t *out) {
  const uint32_t width = (uint32_t)mxg_dtype_bytes(dtype), cols = (uint32_t)a->layout.cols;
  uint32_t amax = a->floor_bits, word;
  uint64_t codes;
  mxg_block b;
  if (a->recipe.scale != MXG_SCALE_NONE) {
    const uint32_t begin = col & ~(a->recipe.block - 1);
    const uint32_t left = cols - begin, size = left < a->recipe.block ? left : a->recipe.block;
    MXG_NO_UNROLL
    for (uint32_t i = 0; i < size; i++) {
      const uint32_t source = mxg_load_value(x + (size_t)(begin + i) * width, dtype);
      amax = mxg_amax_step(a, amax, mxg_weighted(source, weighted, weight));
    }
  }
  b = mxg_block_of(a, amax);
  codes = mxg_encode_8_any(a, t, &b, x + (size_t)col * width, dtype, 8, weighted, weight);
  word = (uint32_t)codes;
  mxg_store4(out + col / 8 * (uint32_t)t.bits, &word);
  if (t.bits == 8) {
    word = (uint32_t)(codes >> 32);
    mxg_store4(out + col + 4, &word);
  }
  return b;
}

/* 8 finite elements of a tame block. */
MXG_DEVICE void mxg_encode_vector(const mxg_gpu_args *a, mxg_element element, mxg_dtype dtype,
                                  int native, mxg_scale scale, int weighted, const uint32_t *x,
                                  float weight, const mxg_block *b, uint32_t *codes) {
  const mxg_traits t = mxg_element_traits(element);
  const int e2m1 = element == MXG_ELEMENT_E2M1;
  float v[8];
  MXG_UNROLL
  for (uint32_t i = 0; i < 8; i++) v[i] = mxg_vector_at(dtype, x, i);
  if (weighted) {
    MXG_UNROLL
    for (uint32_t i = 0; i < 8; i++) v[i] = v[i] * weight;
  }
  if (native && e2m1 && scale == MXG_SCALE_E8M0) {
    codes[0] = mxg_native_encode_e2m1_f32(v, mxg_f32_from_bits(b->stored << 23));
    return;
  }
  if (b->kind == MXG_BLOCK_DIVIDE) {
    MXG_UNROLL
    for (uint32_t i = 0; i < 8; i++) v[i] = v[i] / b->factor;
  } else if (scale != MXG_SCALE_NONE) {
    MXG_UNROLL
    for (uint32_t i = 0; i < 8; i++) v[i] = v[i] * b->factor;
  }
  if (native && element == MXG_ELEMENT_E4M3FN)
    mxg_native_encode_e4m3fn(v, codes);
  else if (native && e2m1)
    codes[0] = mxg_native_encode_e2m1_f32(v, 1.0f);
  else
    mxg_encode_8(t, &a->policy, a->clamp, v, codes);
}

/* A strip of finite elements of a tame block. */
MXG_DEVICE void mxg_encode_strip(const mxg_gpu_args *a, mxg_element element, mxg_dtype dtype,
                                 int native, mxg_scale scale, int weighted, const mxg_strip *s,
                                 float weight, const mxg_block *b, uint32_t *codes) {
  const uint32_t bits = (uint32_t)mxg_element_traits(element).bits;
  const uint32_t vectors = MXG_STRIP_VECTORS(bits), words = mxg_vector_words(dtype);
  if (element == MXG_ELEMENT_E2M1 && scale == MXG_SCALE_E8M0 && dtype != MXG_DTYPE_F32 &&
      !weighted) { /* two elements at a time */
    if (native) {
      const float power = mxg_f32_from_bits(b->stored << 23); /* field 0 acts as 2^-127 */
      MXG_UNROLL
      for (uint32_t k = 0; k < vectors; k++)
        codes[k] = dtype == MXG_DTYPE_BF16 ? mxg_native_encode_e2m1_bf16(s->w + 4 * k, power)
                                           : mxg_native_encode_e2m1_f16(s->w + 4 * k, power);
      return;
    }
    if (MXG_HAS_BF16X2 && dtype == MXG_DTYPE_BF16) {
      mxg_encode_e2m1_bf16x2(s->w, vectors, b->stored, b->factor, a->policy.limit, codes);
      return;
    }
  }
  MXG_UNROLL
  for (uint32_t k = 0; k < vectors; k++)
    mxg_encode_vector(a, element, dtype, native, scale, weighted, s->w + k * words, weight, b,
                      codes + k * bits / 4);
}

/* The block of an amax without amax_floor; not tame where an element is not finite. */
MXG_DEVICE mxg_block mxg_tame_block_at(const mxg_gpu_args *a, mxg_scale scale, uint32_t amax) {
  mxg_block b = mxg_tame_block_of(a, scale, amax > a->floor_bits ? amax : a->floor_bits);
  b.tame &= amax < MXG_F32_INF;
  return b;
}

/* Blocks of a lane's two strips, where a block has several lanes: odd lanes work out the second, the
 * others the first, and lanes exchange the factors. The rest is known of one's own. */
MXG_DEVICE void mxg_tame_block_pair(const mxg_gpu_args *a, mxg_scale scale, const uint32_t *amax,
                                    mxg_block *b) {
  const int odd = (mxg_thread() & 1u) != 0;
  const mxg_block own = mxg_tame_block_at(a, scale, odd ? amax[1] : amax[0]);
  const uint32_t factor = own.tame ? mxg_f32_bits(own.factor) : 0;
  const uint32_t others = mxg_lane_xor(factor, 1);
  b[0] = b[1] = own;
  b[0].factor = mxg_f32_from_bits(odd ? others : factor);
  b[1].factor = mxg_f32_from_bits(odd ? factor : others);
  MXG_UNROLL
  for (uint32_t i = 0; i < 2; i++) {
    b[i].tame = b[i].factor != 0.0f;
    b[i].kind = a->f32.apply == MXG_APPLY_DIV ? MXG_BLOCK_DIVIDE : MXG_BLOCK_FACTOR;
  }
}

/* scale, element, dtype, native: constants. */
MXG_DEVICE void mxg_quantize_row_vector(const mxg_gpu_args *a, mxg_element element, mxg_dtype dtype,
                                        int native, mxg_scale scale, size_t row) {
  const mxg_traits t = mxg_element_traits(element);
  const uint32_t bits = (uint32_t)t.bits, vectors = MXG_STRIP_VECTORS(bits);
  const uint32_t strip = MXG_GPU_STRIP(bits), tile = MXG_GPU_TILE(bits, MXG_LANES);
  const uint32_t strips = MXG_TILE_STRIPS(bits);
  const uint32_t cols = (uint32_t)a->layout.cols, block = a->recipe.block;
  const uint32_t lane = mxg_thread() % MXG_LANES, wave = mxg_thread() / MXG_LANES;
  const uint32_t width = (uint32_t)mxg_dtype_bytes(dtype);
  const uint32_t block_lanes = scale != MXG_SCALE_NONE ? block / strip : 1;
  const int in_pairs = scale == MXG_SCALE_F32 && strips == 2;
  const int weighted = a->row_weight != NULL;
  const float weight = mxg_row_weight(a, row);
  const uint8_t *x = a->x + row * a->value_stride_bytes;
  uint8_t *out = a->codes + mxg_payload_offset(a, row);
  uint8_t *scales = a->scales + (a->scales_linear ? mxg_scale_offset(a, row, 0) : 0);
  int scaled = 0;
  uint32_t first_scale = 0;
  for (uint32_t begin = wave * tile; begin < cols; begin += a->threads / MXG_LANES * tile) {
    mxg_strip s[MXG_TILE_STRIPS_MAX];
    uint32_t amax[MXG_TILE_STRIPS_MAX];
    mxg_block b[MXG_TILE_STRIPS_MAX];
    uint32_t wild = 0; /* bit i: strip i is not for the fast path */
    MXG_UNROLL
    for (uint32_t i = 0; i < strips; i++) {
      const uint32_t col = begin + (i * MXG_LANES + lane) * strip;
      mxg_load_strip(dtype, vectors, x + (size_t)col * width, (int32_t)(cols - col), &s[i]);
    }
    if (weighted) {
      MXG_UNROLL
      for (uint32_t i = 0; i < strips; i++)
        amax[i] = mxg_strip_amax(dtype, vectors, &s[i], 1, weight);
    } else {
      MXG_UNROLL
      for (uint32_t i = 0; i < strips; i++)
        amax[i] = mxg_strip_amax(dtype, vectors, &s[i], 0, weight);
    }
    if (scale != MXG_SCALE_NONE) mxg_amax_of_lanes(amax, strips, block_lanes);
    if (in_pairs) {
      mxg_tame_block_pair(a, scale, amax, b);
    } else {
      MXG_UNROLL
      for (uint32_t i = 0; i < strips; i++) b[i] = mxg_tame_block_at(a, scale, amax[i]);
    }
    MXG_UNROLL
    for (uint32_t i = 0; i < strips; i++) {
      const uint32_t col = begin + (i * MXG_LANES + lane) * strip;
      uint32_t codes[4];
      if (scale != MXG_SCALE_NONE && b[i].tame &&
          (lane & (block_lanes - 1)) == (in_pairs ? i : 0)) { /* who stores the scale */
        const uint32_t at = col & ~(block - 1);
        if (at < cols) {
          uint8_t *p = a->scales_linear
                           ? scales + (at >> a->block_shift) * a->scale_col_stride
                           : a->scales + mxg_scale_offset(a, row, at >> a->block_shift);
          if (scale == MXG_SCALE_E8M0) {
            *p = (uint8_t)b[i].stored;
          } else {
            mxg_store_word(p, mxg_marked(a, at, b[i].stored));
            scaled |= b[i].scaled;
            if (at == 0) first_scale = b[i].stored;
          }
        }
      }
      if (col >= cols) continue;
      if (!b[i].tame) {
        wild |= 1u << i;
        continue;
      }
      mxg_encode_strip(a, element, dtype, native, scale, weighted, &s[i], weight, &b[i], codes);
      mxg_store_strip(t.bits, out + col / 8 * bits, a->wide_codes, (int32_t)(cols - col), codes);
    }
    MXG_NO_UNROLL
    for (uint32_t i = 0; wild >> i != 0; i++) {
      const uint32_t first = begin + (i * MXG_LANES + lane) * strip;
      if ((wild >> i & 1u) == 0) continue;
      MXG_NO_UNROLL
      for (uint32_t col = first; col < cols && col < first + strip; col += 8) {
        const mxg_block any =
            mxg_quantize_8_any(MXG_REREAD(a), t, x, dtype, col, weighted, weight, out);
        scaled |= any.scaled;
        if (col == 0) first_scale = any.stored;
        if (scale != MXG_SCALE_NONE && (col & (block - 1)) == 0)
          mxg_store_scale(a, row, col >> a->block_shift, mxg_marked(a, col, any.stored));
      }
    }
  }
  if (scale == MXG_SCALE_F32 && a->recipe.marker == MXG_MARKER_IF_SCALED)
    mxg_mark_row(a, row, scaled, first_scale);
  mxg_fill_row(a, row, 1);
}

MXG_DEVICE void mxg_quantize_vector(const mxg_gpu_args *a, mxg_element element, mxg_dtype dtype,
                                    int native) {
  const size_t live = mxg_live_rows(a), rows = mxg_written_rows(a, live);
  for (size_t row = mxg_group(); row < rows; row += a->groups) {
    if (row >= live)
      mxg_fill_row(a, row, 0);
    else if (a->recipe.scale == MXG_SCALE_E8M0)
      mxg_quantize_row_vector(MXG_REREAD(a), element, dtype, native, MXG_SCALE_E8M0, row);
    else if (a->recipe.scale == MXG_SCALE_F32)
      mxg_quantize_row_vector(MXG_REREAD(a), element, dtype, native, MXG_SCALE_F32, row);
    else
      mxg_quantize_row_vector(MXG_REREAD(a), element, dtype, native, MXG_SCALE_NONE, row);
  }
}

#endif
