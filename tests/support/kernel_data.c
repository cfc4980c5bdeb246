/* kernel_data.c
 * SPDX-License-Identifier: MIT */
#include "kernel_data.h"

#include <string.h>

#include "count.h"
#include "kernel_list.h"
#include "packed.h"
#include "recipes.h"
#include "values.h"

static const uint32_t special_bits[] = {
    0x7FC00000, 0xFFC00000, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFBFFFFF, 0x7FFFFFFF, 0x00000000,
    0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00400000, 0x00800000, 0x80010000, 0x7F7FFFFF,
    0xFF7FFFFF, 0x7F7F0000, 0x00010000, 0x3F800000, 0x7F000000, 0x5F800000, 0x2EDBE6FF, 0x1F800000};

const char *data_kind_name(data_kind kind) {
  static const char *const names[] = {"edges", "tiny",  "huge",  "sprinkle",
                                      "mixed", "plain", "zeros", "bits"};
  return kind < DATA_KINDS ? names[kind] : "?";
}

/* One unit in the last place of a source, in f32 mantissa units. */
static uint32_t unit_of(mxg_dtype dtype) {
  return dtype == MXG_DTYPE_F32 ? 1u : dtype == MXG_DTYPE_F16 ? 0x2000u : 0x10000u;
}

/* Mantissas beside which a rule may change its mind: the addends of section 4, maxima of the
 * formats and of the recipe, nothing and everything. */
static uint32_t threshold_mantissa(generator *g, const mxg_recipe *recipe, mxg_dtype dtype) {
  static const uint32_t at[] = {0x000000, 0x400000, 0x200000, 0x600000, 0x700000, 0x780000,
                                0x7FFFFF, 0x500000, 0x100000, 0x080000, 0x400001, 0x600001};
  uint32_t mantissa = at[generator_below(g, COUNT(at))];
  if (generator_chance(g, 3)) {
    const float max =
        recipe->element_max != 0 ? recipe->element_max : mxg_element_traits(recipe->element).max;
    mantissa = bits_of(max) & 0x7FFFFFu;
  }
  if (generator_chance(g, 6)) mantissa = generator_bits(g);
  return (mantissa + (generator_below(g, 5) - 2) * unit_of(dtype)) & 0x7FFFFFu;
}

/* Exponent fields of dtype's finite values, by the end that the kind asks for. */
static uint32_t exponent_of(generator *g, data_kind kind, mxg_dtype dtype) {
  const uint32_t least = dtype == MXG_DTYPE_F16 ? 103 : 0;
  const uint32_t most = dtype == MXG_DTYPE_F16 ? 142 : 254;
  if (kind == DATA_TINY) return least + generator_below(g, dtype == MXG_DTYPE_F16 ? 14 : 34);
  if (kind == DATA_HUGE) return most - generator_below(g, 4);
  return least + generator_below(g, most - least + 1);
}

/* A magnitude of exponent field `exponent` (0: a subnormal) on a tie of the element format, on one
 * of its values, or one unit beside. */
static uint32_t tie(generator *g, const mxg_recipe *recipe, mxg_dtype dtype, uint32_t exponent) {
  const uint32_t bits = (uint32_t)mxg_element_traits(recipe->element).mantissa_bits;
  const uint32_t kept = generator_below(g, bits + 2); /* fewer near the format's subnormals */
  uint32_t mantissa = (generator_bits(g) & 0x7FFFFFu) >> (23 - kept) << (23 - kept);
  if (generator_chance(g, 3)) mantissa += (generator_below(g, 3) - 1) * unit_of(dtype);
  return exponent << 23 | (mantissa & 0x7FFFFFu);
}

static uint32_t sign_of(generator *g) {
  return generator_bits(g) & 0x80000000u;
}

/* A block whose maximum stands at a threshold; the others are ties some binades below, smaller
 * things, or equals. f32 bits. */
static void edge_block(generator *g, data_kind kind, const mxg_recipe *recipe, mxg_dtype dtype,
                       size_t count, uint32_t *bits) {
  const uint32_t exponent = exponent_of(g, kind, dtype);
  const uint32_t amax = exponent << 23 | threshold_mantissa(g, recipe, dtype);
  const uint32_t depth = 2 + generator_below(g, 18);
  for (size_t i = 0; i < count; i++) {
    const uint32_t below = generator_below(g, depth);
    uint32_t value = tie(g, recipe, dtype, exponent > below ? exponent - below : 0);
    if (generator_chance(g, 12)) value = 0;
    if (generator_chance(g, 12)) value = amax - generator_below(g, 3) * unit_of(dtype);
    if (value > amax) value = amax >> generator_below(g, 4); /* some magnitude below */
    bits[i] = value | sign_of(g);
  }
  bits[generator_below(g, (uint32_t)count)] = amax | sign_of(g);
}

static void plain_block(generator *g, mxg_dtype dtype, size_t count, uint32_t *bits) {
  const uint32_t low = dtype == MXG_DTYPE_F16 ? 118 : 100, span = dtype == MXG_DTYPE_F16 ? 20 : 54;
  const uint32_t exponent = low + generator_below(g, span);
  for (size_t i = 0; i < count; i++)
    bits[i] = ((exponent - generator_below(g, 5)) << 23) | (generator_bits(g) & 0x807FFFFFu);
}

static void one_block(generator *g, data_kind kind, const mxg_recipe *recipe, mxg_dtype dtype,
                      size_t number, size_t count, uint32_t *bits) {
  switch (kind) {
    case DATA_EDGES:
    case DATA_TINY:
    case DATA_HUGE: edge_block(g, kind, recipe, dtype, count, bits); return;
    case DATA_SPRINKLE:
      plain_block(g, dtype, count, bits);
      bits[number % count] = special_bits[generator_below(g, COUNT(special_bits))];
      return;
    case DATA_ZEROS:
      for (size_t i = 0; i < count; i++) bits[i] = sign_of(g);
      if (generator_chance(g, 2))
        bits[generator_below(g, (uint32_t)count)] =
            special_bits[generator_below(g, COUNT(special_bits))];
      return;
    case DATA_BITS:
      for (size_t i = 0; i < count; i++) bits[i] = generator_bits(g);
      return;
    case DATA_MIXED:
    case DATA_PLAIN:
    case DATA_KINDS: break;
  }
  plain_block(g, dtype, count, bits);
}

void data_values(generator *g, data_kind kind, const mxg_recipe *recipe, mxg_dtype dtype,
                 size_t count, void *values) {
  enum { CHUNK = 512 }; /* a longer block is made of several */
  const size_t block = recipe_block(recipe) < CHUNK ? recipe_block(recipe) : CHUNK;
  const size_t first = generator_below(g, (uint32_t)block);
  uint32_t bits[CHUNK];
  for (size_t begin = 0, number = first; begin < count; begin += block, number++) {
    const size_t size = count - begin < block ? count - begin : block;
    data_kind this_kind = kind;
    if (kind == DATA_MIXED) /* most blocks stay on the fast path */
      this_kind = generator_chance(g, 2) ? DATA_PLAIN : (data_kind)generator_below(g, DATA_KINDS);
    one_block(g, this_kind, recipe, dtype, number, size, bits);
    for (size_t i = 0; i < size; i++)
      values_store(values, dtype, begin + i,
                   this_kind == DATA_BITS ? bits[i] : values_cut(dtype, bits[i]));
  }
}

uint32_t data_scale(generator *g, packed_kind kind, const mxg_recipe *recipe, size_t index) {
  static const uint32_t edge_bytes[] = {0, 1, 2, 3, 0x16, 0x17, 0x7F, 0xFC, 0xFD, 0xFE, 0xFF};
  const bool is_edge = kind == PACKED_EDGE && generator_chance(g, 3);
  if (recipe->scale == MXG_SCALE_E8M0) {
    if (is_edge) return edge_bytes[generator_below(g, COUNT(edge_bytes))];
    if (kind == PACKED_TINY) return generator_below(g, 30);
    if (kind == PACKED_HUGE) return 240 + generator_below(g, 16);
    if (kind == PACKED_WILD) return generator_below(g, 256);
    return 117 + generator_below(g, 16);
  }
  uint32_t exponent = 120 + generator_below(g, 12);
  if (kind == PACKED_TINY) exponent = generator_below(g, 24);
  if (kind == PACKED_HUGE) exponent = 244 + generator_below(g, 11);
  uint32_t bits = exponent << 23 | (generator_bits(g) & 0x7FFFFFu);
  if (generator_chance(g, 4)) bits &= 0xFF800000u; /* powers of two */
  if (is_edge) bits = special_bits[generator_below(g, COUNT(special_bits))];
  if (kind == PACKED_WILD) bits = generator_bits(g);
  /* A marker negates the first of most rows; others are negative now and then. */
  const bool marker = index == 0 && recipe->marker != MXG_MARKER_NONE;
  if (generator_chance(g, marker ? 4 : 16) != marker) bits |= 0x80000000u;
  return bits;
}

void data_packed(generator *g, packed_kind kind, const mxg_recipe *recipe, size_t cols,
                 uint8_t *codes, uint8_t *scales) {
  const mxg_traits traits = mxg_element_traits(recipe->element);
  size_t bytes = 0;
  (void)mxg_payload_row_bytes(recipe->element, cols, &bytes);
  generator_bytes(g, codes, bytes);
  const bool any_code = kind == PACKED_WILD || (kind == PACKED_EDGE && generator_chance(g, 2));
  if (traits.bits == 8 && !any_code) /* NaN and Inf are rare, so that sums stay numbers */
    for (size_t i = 0; i < bytes; i++) {
      const uint32_t magnitude = codes[i] & 0x7Fu;
      const bool is_finite = traits.fnuz ? codes[i] != 0x80 : magnitude <= traits.max_code;
      if (!is_finite && !generator_chance(g, 200)) codes[i] = 0x35;
    }
  for (size_t s = 0; s < mxg_scales_used(recipe, cols); s++)
    scale_put(recipe, scales, s, data_scale(g, kind, recipe, s));
}

void data_weights(generator *g, bool special, size_t count, float *weights) {
  for (size_t i = 0; i < count; i++) {
    uint32_t bits = (118 + generator_below(g, 12)) << 23 | (generator_bits(g) & 0x807FFFFFu);
    if (special && generator_chance(g, 4))
      bits = special_bits[generator_below(g, COUNT(special_bits))];
    memcpy(&weights[i], &bits, sizeof bits);
  }
}

size_t data_length(generator *g, const mxg_recipe *recipe) {
  const size_t b = recipe_block(recipe) < 1024 ? recipe_block(recipe) : 1024;
  const size_t lengths[] = {
      1,     b - 1,     b,          b + 1,     2 * b - 1,   2 * b,      2 * b + 1, 3 * b,
      4 * b, 4 * b + 3, 5 * b - 2,  7 * b + 1, 8 * b - 1,   8 * b,      8 * b + 1, 9 * b - 1,
      9 * b, 12 * b,    15 * b,     16 * b,    16 * b + 17, 17 * b + 5, 7,         8,
      15,    16,        17,         31,        32,          33,         63,        64,
      65,    74,        127,        128,       129,         255,        256,       257,
      511,   513,       33 * b + 7, 40 * b};
  const size_t length = lengths[generator_below(g, COUNT(lengths))];
  if (generator_chance(g, 4)) return generator_below(g, (uint32_t)(3 * b + 70));
  if (recipe_block(recipe) > 4000 && recipe_block(recipe) < 10000 && generator_chance(g, 4))
    return 2 * recipe_block(recipe) + generator_below(g, 100);
  return length > 4200 ? 4097 : length;
}

mxg_recipe data_recipe(generator *g, mxg_operation operation, mxg_dtype dtype) {
  static const uint32_t popular[] = {16,  32,  64,  96,  128, 160,  192,
                                     256, 288, 320, 384, 512, 4128, 5000};
  mxg_recipe recipe;
  for (int tries = 0; tries < 12; tries++) {
    recipe = recipe_random(g);
    if (recipe.scale != MXG_SCALE_NONE && generator_chance(g, 2))
      recipe.block = popular[generator_below(g, COUNT(popular))];
    if (generator_chance(g, 3)) recipe.element_max = 0;
    if (is_served(&recipe, operation, dtype)) break;
  }
  return recipe;
}
