/* peers.c: how others do it, stated again from the description of their algorithms. No line is
 * theirs, and their own builds may be faster or slower. None follows the law in full: `equal` tells.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "internal.h"

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static float magnitude(float value) {
  return float_of(bits_of(value) & 0x7FFFFFFFu);
}

/* Element i of a row of bf16 or f32. */
static float load(const unsigned char *row, mxg_dtype dtype, size_t i) {
  float value;
  uint16_t half;
  if (dtype == MXG_DTYPE_F32) {
    memcpy(&value, row + 4 * i, 4);
    return value;
  }
  memcpy(&half, row + 2 * i, 2);
  return float_of((uint32_t)half << 16);
}

static const float e2m1_values[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                      -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};

/* ---- 16-candidate search, as ggml quantises MXFP4 ----
 * Each of the 16 codes is tried, and the first of the nearest is kept: ties go toward zero, and a
 * value nearest to -0 gets +0. */

static unsigned nearest_e2m1(float x, float scale) {
  unsigned best = 0;
  float best_error = magnitude(e2m1_values[0] * scale - x);
  for (unsigned code = 1; code < 16; code++) {
    const float error = magnitude(e2m1_values[code] * scale - x);
    if (error < best_error) {
      best = code;
      best_error = error;
    }
  }
  return best;
}

static void candidate_search_row(const unsigned char *x, mxg_dtype dtype, unsigned char *codes,
                                 unsigned char *scales) {
  for (size_t begin = 0; begin < BENCH_COLS; begin += 32) {
    float amax = 0;
    for (size_t i = 0; i < 32; i++) {
      const float value = magnitude(load(x, dtype, begin + i));
      if (value > amax) amax = value;
    }
    /* floor(log2(amax)) - 2, as the exponent field has it */
    const uint32_t exponent = bits_of(amax) >> 23;
    const uint32_t byte = exponent < 2 ? 0 : exponent - 2;
    const float scale = byte == 0 ? 0x1p-127f : float_of(byte << 23);
    scales[begin / 32] = (unsigned char)byte;
    for (size_t i = 0; i < 32; i += 2)
      codes[(begin + i) / 2] =
          (unsigned char)(nearest_e2m1(load(x, dtype, begin + i), scale) |
                          nearest_e2m1(load(x, dtype, begin + i + 1), scale) << 4);
  }
}

static void candidate_search(const bench_case *c, size_t first, size_t rows) {
  for (size_t row = first; row < first + rows; row++)
    candidate_search_row(c->source.data + row * c->source.row_bytes, c->op->dtype,
                         c->result.data + row * c->result.row_bytes,
                         c->result_scales.data + row * c->result_scales.row_bytes);
}

/* ---- scalar cast: f32 to E4M3FN one by one, by magic addition (subnormals) or by adding half an
 * ulp less one plus the odd bit (normals), as framework headers do, after a clamp ---- */

static unsigned cast_e4m3(float x) {
  const uint32_t sign = bits_of(x) >> 24 & 0x80;
  uint32_t bits = bits_of(x) & 0x7FFFFFFFu;
  if (bits > bits_of(448.0f)) bits = bits_of(448.0f);
  if (bits < bits_of(0x1p-6f)) return sign | (bits_of(float_of(bits) + 0x1p14f) & 0xFF);
  bits = bits - ((127u - 7u) << 23) + 0x7FFFF + (bits >> 20 & 1);
  return sign | bits >> 20;
}

static void scalar_cast(const bench_case *c, size_t first, size_t rows) {
  for (size_t row = first; row < first + rows; row++) {
    const unsigned char *x = c->source.data + row * c->source.row_bytes;
    unsigned char *codes = c->result.data + row * c->result.row_bytes;
    for (size_t i = 0; i < BENCH_COLS; i++)
      codes[i] = (unsigned char)cast_e4m3(load(x, MXG_DTYPE_F32, i));
  }
}

/* The same cast inside a quantiser of groups of 128, as serving frameworks have it for CPUs. */
static void scalar_cast_groups(const bench_case *c, size_t first, size_t rows) {
  for (size_t row = first; row < first + rows; row++) {
    const unsigned char *x = c->source.data + row * c->source.row_bytes;
    unsigned char *codes = c->result.data + row * c->result.row_bytes;
    unsigned char *scales = c->result_scales.data + row * c->result_scales.row_bytes;
    for (size_t begin = 0; begin < BENCH_COLS; begin += 128) {
      float amax = 1e-10f;
      for (size_t i = begin; i < begin + 128; i++) {
        const float value = magnitude(load(x, c->op->dtype, i));
        if (value > amax) amax = value;
      }
      const float scale = amax * (1.0f / 448.0f), factor = 1.0f / scale;
      const uint32_t scale_bits = bits_of(scale);
      for (int i = 0; i < 4; i++)
        scales[begin / 128 * 4 + (size_t)i] = (unsigned char)(scale_bits >> 8 * i);
      for (size_t i = begin; i < begin + 128; i++)
        codes[i] = (unsigned char)cast_e4m3(load(x, c->op->dtype, i) * factor);
    }
  }
}

/* ---- table lookup: one load for each element ---- */

static float e4m3_values[256];

static void fill_e4m3_values(void) {
  unsigned char codes[256];
  for (unsigned i = 0; i < 256; i++) codes[i] = (unsigned char)i;
  mxg_ref_decode_f32(MXG_ELEMENT_E4M3FN, codes, 256, e4m3_values);
}

static void table_decode(const bench_case *c, size_t first, size_t rows) {
  if (e4m3_values[1] == 0) fill_e4m3_values();
  for (size_t row = first; row < first + rows; row++) {
    const unsigned char *codes = c->source.data + row * c->source.row_bytes;
    float *y = (float *)(void *)(c->result.data + row * c->result.row_bytes);
    for (size_t i = 0; i < BENCH_COLS; i++) y[i] = e4m3_values[codes[i]];
  }
}

static void table_dequantize(const bench_case *c, size_t first, size_t rows) {
  for (size_t row = first; row < first + rows; row++) {
    const unsigned char *codes = c->source.data + row * c->source.row_bytes;
    const unsigned char *scales = c->source_scales.data + row * c->source_scales.row_bytes;
    float *y = (float *)(void *)(c->result.data + row * c->result.row_bytes);
    for (size_t begin = 0; begin < BENCH_COLS; begin += 32) {
      const uint32_t byte = scales[begin / 32];
      const float scale = byte == 0 ? 0x1p-127f : float_of(byte << 23);
      for (size_t i = begin; i < begin + 32; i += 2) {
        y[i] = e2m1_values[codes[i / 2] & 15] * scale;
        y[i + 1] = e2m1_values[codes[i / 2] >> 4] * scale;
      }
    }
  }
}

const bench_peer bench_peers[] = {
    {"quantize-mxfp4", "peer-16-candidate-search", candidate_search},
    {"quantize-mxfp4-f32", "peer-16-candidate-search", candidate_search},
    {"quantize-fp8-128", "peer-scalar-cast", scalar_cast_groups},
    {"encode-e4m3", "peer-scalar-cast", scalar_cast},
    {"decode-e4m3", "peer-table-lookup", table_decode},
    {"dequantize-mxfp4-f32", "peer-table-lookup", table_dequantize},
};
const size_t bench_peer_count = sizeof bench_peers / sizeof bench_peers[0];
