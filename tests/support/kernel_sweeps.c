/* kernel_sweeps.c
 * SPDX-License-Identifier: MIT */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* setenv */
#endif
#include "kernel_sweeps.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "count.h"
#include "element_inputs.h"
#include "kernel_case.h"
#include "kernel_data.h"
#include "recipes.h"
#include "thin.h"
#include "values.h"

/* Source bytes from which calls store around the caches, as codec/rows.c has it; bytes of values for
 * dequantise and of slots for combine. */
#define LARGE_BYTES ((size_t)12 << 20)
#define LARGE_RESULT_BYTES ((size_t)16 << 20)

static const mxg_dtype dtypes[] = {MXG_DTYPE_BF16, MXG_DTYPE_F32, MXG_DTYPE_F16};

void kernel_seed(void) {
  char text[32];
  snprintf(text, sizeof text, "%lu", (unsigned long)time(NULL) * 65536 + (unsigned long)getpid());
  setenv("MXGOLD_TEST_SEED", text, 0);
}

/* At least `bytes` of scratch memory, number `which`; kept from call to call. */
static void *scratch(size_t which, size_t bytes) {
  static void *memory[3];
  static size_t capacity[3];
  if (capacity[which] < bytes) {
    free(memory[which]);
    capacity[which] = 2 * bytes + 64;
    if ((memory[which] = malloc(capacity[which])) == NULL) ck_abort_msg("no memory");
  }
  return memory[which];
}

static kernel_case case_of(const mxg_recipe *recipe, mxg_dtype dtype, size_t cols) {
  kernel_case c;
  memset(&c, 0, sizeof c);
  c.recipe = *recipe;
  c.dtype = dtype;
  c.rows = 1;
  c.cols = cols;
  c.threads = 1;
  return c;
}

static void random_quantize(generator *g, kernel_case *c) {
  float weights[3];
  const data_kind kind = (data_kind)generator_below(g, DATA_KINDS);
  const bool weighted = c->environment == FPENV_DEFAULT && generator_chance(g, 5);
  if (c->cols < 400) c->rows = 1 + generator_below(g, 3);
  void *x = scratch(0, c->rows * c->cols * 4);
  for (size_t r = 0; r < c->rows; r++)
    data_values(g, kind, &c->recipe, c->dtype, c->cols,
                (char *)x + r * c->cols * mxg_dtype_bytes(c->dtype));
  data_weights(g, generator_chance(g, 3), c->rows, weights);
  kernel_case_quantize(c, x, weighted ? weights : NULL);
}

static void random_dequantize(generator *g, kernel_case *c) {
  if (c->cols < 400) c->rows = 1 + generator_below(g, 3);
  const kernel_bytes bytes = kernel_bytes_of(c);
  uint8_t *codes = scratch(0, bytes.codes), *scales = scratch(1, bytes.scales);
  const packed_kind kind = (packed_kind)generator_below(g, PACKED_KINDS);
  for (size_t r = 0; r < c->rows; r++)
    data_packed(g, kind, &c->recipe, c->cols, codes + r * (bytes.codes / c->rows),
                scales + r * (bytes.scales / c->rows));
  kernel_case_dequantize(c, codes, scales);
}

/* Slots of which most are ordinary, the others of one kind. */
static uint8_t *random_pool(generator *g, const kernel_case *c) {
  const kernel_bytes bytes = kernel_bytes_of(c);
  uint8_t *pool = scratch(0, KERNEL_POOL * bytes.slot);
  const packed_kind kind = (packed_kind)generator_below(g, PACKED_KINDS);
  const uint32_t odd_one_in = 1 + generator_below(g, 20);
  for (size_t i = 0; i < KERNEL_POOL; i++) {
    uint8_t *slot = pool + i * bytes.slot;
    data_packed(g, generator_chance(g, odd_one_in) ? kind : PACKED_TAME, &c->recipe, c->cols, slot,
                slot + bytes.slot_scales);
  }
  return pool;
}

static void random_picks(generator *g, size_t count, int *pick) {
  const uint32_t missing_one_in = generator_chance(g, 10) ? 1 : 2 + generator_below(g, 12);
  for (size_t k = 0; k < count; k++)
    pick[k] = generator_chance(g, missing_one_in) ? -1 : (int)generator_below(g, KERNEL_POOL);
}

static void random_combine(generator *g, kernel_case *c) {
  enum { ROWS = 2, MOST = 64 };
  static const size_t counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 9, 16, 17, 63, MOST};
  size_t top_k = counts[generator_below(g, COUNT(counts))];
  int pick[ROWS * MOST];
  float weights[ROWS * MOST];
  if (generator_chance(g, 4)) top_k = generator_below(g, MOST + 1);
  if (top_k > 9 && c->cols > 300) c->cols = generator_below(g, 300);
  if (c->cols > 2100) c->cols = 2049;
  if (c->cols < 200) c->rows = 1 + generator_below(g, ROWS);
  if (generator_chance(g, 2)) /* at run time as good as a recipe of its own */
    c->recipe.accumulate = (mxg_accumulate)(1 + generator_below(g, 2));
  const uint8_t *pool = random_pool(g, c);
  random_picks(g, c->rows * top_k, pick);
  data_weights(g, generator_chance(g, 3), c->rows * top_k, weights);
  size_t begin = 0, end = c->cols;
  if (generator_chance(g, 2)) {
    begin = generator_below(g, (uint32_t)c->cols + 1);
    end = begin + generator_below(g, (uint32_t)(c->cols - begin) + 1);
  }
  kernel_case_combine(c, pool, top_k, pick, generator_chance(g, 2) ? weights : NULL, begin, end);
}

static void random_case(generator *g, mxg_operation operation, const mxg_recipe *recipe,
                        mxg_dtype dtype, size_t misalign) {
  kernel_case c = case_of(recipe, dtype, data_length(g, recipe));
  c.misalign = misalign;
  c.at_front = generator_chance(g, 2);
  switch (operation) {
    case MXG_OPERATION_QUANTIZE: random_quantize(g, &c); break;
    case MXG_OPERATION_DEQUANTIZE: random_dequantize(g, &c); break;
    case MXG_OPERATION_COMBINE: random_combine(g, &c); break;
  }
}

void sweep_presets(generator *g, mxg_operation operation, size_t rounds) {
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++)
    for (size_t d = 0; d < COUNT(dtypes); d++)
      for (size_t n = 0; n < 64 * rounds; n += thin())
        random_case(g, operation, &preset->recipe, dtypes[d], n % 64);
}

void sweep_recipes(generator *g, mxg_operation operation, size_t count) {
  count = thinned(count);
  for (size_t n = 0; n < count; n++) {
    const mxg_dtype dtype = dtypes[n % COUNT(dtypes)];
    const mxg_recipe recipe = data_recipe(g, operation, dtype);
    for (size_t i = 0; i < 8; i++)
      random_case(g, operation, &recipe, dtype, generator_below(g, 64));
  }
}

void sweep_odd_recipes(generator *g) {
  static const char *const texts[] = {
      "mxfp8,rule=rceil,element_max=256", /* fl(1/max) is a power of two */
      "mxfp4,rule=rceil,element_max=4,block=64",
      "aiter-mxfp8-fnuz,element=e5m2fnuz",
      "aiter-mxfp8-fnuz,element=e5m2fnuz,block=64",
      "mxfp8,rule=ceil,amax_floor=0x1.8p127",         /* every scale is the largest */
      "sglang-fp8-128,apply=div,element_max=0x1p-20", /* so is many an f32 scale */
      "aiter-mxfp8-fnuz,rule=ceil,inf_scale=max,amax_floor=0x1.8p127,block=64",
  };
  for (size_t t = 0; t < COUNT(texts); t++) {
    const mxg_recipe recipe = recipe_of(texts[t]);
    for (int op = MXG_OPERATION_QUANTIZE; op <= MXG_OPERATION_COMBINE; op++)
      for (size_t n = 0; n < 12; n++)
        random_case(g, (mxg_operation)op, &recipe, dtypes[n % COUNT(dtypes)], n);
  }
}

void sweep_arrays(generator *g, size_t rounds) {
  static float x[1200];
  static uint8_t codes[1200];
  for (int e = 0; e < ELEMENTS; e++) {
    mxg_recipe recipe = cast_recipe(element_at(e));
    first_policy(&recipe);
    do {
      for (size_t n = 0; n < 64 * rounds; n += thin()) {
        recipe.element_max =
            generator_chance(g, 4) ? mxg_element_traits(recipe.element).max / 1.75f : 0.0f;
        kernel_case c = case_of(&recipe, MXG_DTYPE_F32, data_length(g, &recipe) % 1200);
        c.misalign = n % 64;
        c.at_front = generator_chance(g, 2);
        data_values(g, (data_kind)generator_below(g, DATA_KINDS), &recipe, MXG_DTYPE_F32, c.cols,
                    x);
        kernel_case_encode(&c, x);
        generator_bytes(g, codes, c.cols);
        kernel_case_decode(&c, codes);
      }
    } while (next_policy(&recipe));
  }
}

/* Block maxima: v at position l, magnitudes up to its own elsewhere. */
void sweep_maxima(generator *g, const char *text, size_t lane, size_t lanes, size_t step) {
  const mxg_recipe recipe = recipe_of(text);
  const size_t block = recipe_block(&recipe), batch = 64;
  uint16_t *x = scratch(0, batch * block * 2);
  for (size_t l = lane; l < lane + lanes; l++) {
    const size_t at = l % block;
    size_t filled = 0;
    for (uint32_t v = 0; v < 65536; v++) {
      if ((v + l) % (step * thin()) != 0) continue;
      const uint32_t magnitude = v & 0x7FFFu, top = magnitude > 0x7F7F ? 0x7F7F : magnitude;
      const uint32_t depth = 1 + generator_below(g, 2048);
      for (size_t i = 0; i < block; i++) {
        const uint32_t below = generator_below(g, depth);
        x[filled * block + i] =
            (uint16_t)((top > below ? top - below : 0) | (generator_bits(g) & 0x8000u));
      }
      x[filled * block + at] = (uint16_t)v;
      if (++filled == batch) {
        kernel_case c = case_of(&recipe, MXG_DTYPE_BF16, filled * block);
        kernel_case_quantize(&c, x, NULL);
        filled = 0;
      }
    }
    if (filled != 0) {
      kernel_case c = case_of(&recipe, MXG_DTYPE_BF16, filled * block);
      kernel_case_quantize(&c, x, NULL);
    }
  }
}

void sweep_lanes(const char *text, uint32_t amax, size_t step) {
  const mxg_recipe recipe = recipe_of(text);
  const size_t block = recipe_block(&recipe);
  const uint32_t values = 2 * (amax + 1); /* of either sign; value v is v / 2 with sign v % 2 */
  const size_t blocks = (values + block - 1) / block;
  uint16_t *x = scratch(0, blocks * block * 2);
  for (size_t rotation = 0; rotation < block; rotation += step * thin()) {
    /* Two passes, so that the maximum's own position gets every value, too. */
    for (size_t pass = 0; pass < 2; pass++) {
      for (size_t b = 0; b < blocks; b++) {
        for (size_t i = 0; i < block; i++) {
          const uint32_t v = (uint32_t)(b * block + (i + rotation) % block) % values;
          x[b * block + i] = (uint16_t)(v >> 1 | v << 15);
        }
        x[b * block + (b + rotation + pass) % block] = (uint16_t)(amax | (b & 1) << 15);
      }
      kernel_case c = case_of(&recipe, MXG_DTYPE_BF16, blocks * block);
      kernel_case_quantize(&c, x, NULL);
    }
  }
}

void sweep_pairs(const char *text, uint32_t first, uint32_t step) {
  const mxg_recipe recipe = recipe_of(text);
  const size_t block = recipe_block(&recipe);
  for (uint32_t amax = first; amax <= 0x7F7F; amax += step * thin()) {
    const size_t blocks = (amax + block - 1) / (block - 1) + 1;
    uint16_t *x = scratch(0, blocks * block * 2);
    uint32_t next = 0;
    for (size_t b = 0; b < blocks; b++)
      for (size_t i = 0; i < block; i++) {
        const bool is_max = i == (b + amax) % block;
        const uint32_t value = is_max || next > amax ? amax : next;
        if (!is_max) next++;
        x[b * block + i] = (uint16_t)(value | (i * 5 + b) % 2 << 15);
      }
    kernel_case c = case_of(&recipe, MXG_DTYPE_BF16, blocks * block);
    kernel_case_quantize(&c, x, NULL);
  }
}

/* A magnitude of one of the kinds below, in f32 bits. */
static uint32_t tiny_value(generator *g, uint32_t kind, mxg_dtype dtype) {
  const uint32_t first = dtype == MXG_DTYPE_F16 ? 103u << 23 : 0; /* no source value is below */
  switch (kind) {
    case 0: return 0;
    case 1: return dtype == MXG_DTYPE_F16 ? 103u << 23 : 1u << (dtype == MXG_DTYPE_F32 ? 0 : 16);
    case 2: /* a source subnormal */
      return dtype == MXG_DTYPE_F16 ? first + generator_below(g, 10u << 23)
                                    : generator_below(g, 1u << 23);
    case 3: return first + generator_below(g, 12u << 23);
    case 4: return first + generator_below(g, 36u << 23);
    default: return (108u << 23) + generator_below(g, 8u << 23);
  }
}

void sweep_tiny_blocks(generator *g) {
  enum { KINDS = 6, MOST = 9 * 544 + 5 };
  /* floors: between the least scale and that of the least normal value */
  static const char *const texts[] = {"mxfp8",
                                      "mxfp8-e5m2",
                                      "aiter-mxfp8-fnuz",
                                      "mxfp4",
                                      "mxfp8-te",
                                      "mxfp8,amax_floor=1e-34",
                                      "mxfp4,amax_floor=5e-38"};
  static const uint32_t blocks[] = {16, 24, 32, 33, 64, 74, 96, 160, 544};
  float weights[1];
  for (size_t t = 0; t < COUNT(texts); t++) {
    for (size_t n = 0; n < COUNT(blocks) * COUNT(dtypes) * KINDS * 4; n += thin()) {
      mxg_recipe recipe = recipe_of(texts[t]);
      const mxg_dtype dtype = dtypes[n % COUNT(dtypes)];
      const uint32_t kind = (uint32_t)(n / COUNT(dtypes) % KINDS);
      const uint32_t form = (uint32_t)(n / (COUNT(dtypes) * KINDS * COUNT(blocks)));
      uint32_t x[MOST];
      recipe.block = blocks[n / (COUNT(dtypes) * KINDS) % COUNT(blocks)];
      kernel_case c = case_of(&recipe, dtype, 9 * recipe.block + generator_below(g, 6));
      c.misalign = generator_below(g, 64);
      for (size_t i = 0; i < c.cols; i++) {
        const size_t block = i / recipe.block;
        /* whole rows of a kind, blocks of each, elements of each, and one that is larger */
        const uint32_t this_kind = form == 0   ? kind
                                   : form == 1 ? (kind + (uint32_t)block) % KINDS
                                   : form == 2 ? generator_below(g, kind + 1)
                                   : i % recipe.block == block % recipe.block ? KINDS - 1
                                                                              : kind;
        values_store(
            x, dtype, i,
            values_cut(dtype, tiny_value(g, this_kind, dtype) | (generator_bits(g) & 0x80000000u)));
      }
      data_weights(g, false, 1, weights);
      kernel_case_quantize(&c, x, generator_chance(g, 4) ? weights : NULL);
    }
  }
}

/* An f32 of magnitude 2^exponent or a little more, as dtype has it. */
static uint32_t about(generator *g, mxg_dtype dtype, int exponent) {
  return values_cut(dtype, (uint32_t)(exponent + 127) << 23 | (generator_bits(g) & 0x807FFFFFu));
}

void sweep_lone_blocks(generator *g) {
  enum { BLOCKS = 66 };
  static const char *const texts[] = {"aiter-fp8-128", "sglang-fp8-128,block=32", "mori-fp8",
                                      "deepseek-fp8-128,block=16", "mxfp8",
                                      /* the least amax of an infinite scale as the floor */
                                      "mxfp8,rule=ceil,amax_floor=0x1.000002p127",
                                      "mxfp4,rule=ceil,amax_floor=0x1.000002p127,inf_scale=max"};
  static const size_t lone[] = {0, 1, 7, 8, 15, 16, 17, 24, 31, 32, 40, 47, 48, 63, 64, 65};
  for (size_t n = 0; n < COUNT(texts) * COUNT(dtypes) * COUNT(lone); n++) {
    const mxg_recipe recipe = recipe_of(texts[n % COUNT(texts)]);
    const size_t block = recipe_block(&recipe), first = lone[n / COUNT(texts) % COUNT(lone)];
    const size_t second = lone[generator_below(g, COUNT(lone))];
    const mxg_dtype dtype = dtypes[n / (COUNT(texts) * COUNT(lone))];
    kernel_case c = case_of(&recipe, dtype, BLOCKS * block + generator_below(g, 9));
    void *x = scratch(0, c.cols * 4);
    c.misalign = generator_below(g, 64);
    const int top = dtype == MXG_DTYPE_F16 ? 12 : (int)generator_below(g, 120) - 60;
    for (size_t i = 0; i < c.cols; i++) {
      const bool is_lone = i / block == first || i / block == second;
      const bool is_small = is_lone && i % block != 0 && generator_chance(g, 4);
      const int depth = is_small ? 14 + (int)generator_below(g, 10) : (int)generator_below(g, 4);
      values_store(x, dtype, i, about(g, dtype, top - depth));
    }
    kernel_case_quantize(&c, x, NULL);
  }
}

void sweep_lone_elements(generator *g) {
  static const char *const texts[] = {
      "mxfp8",    "mxfp4",          "mxfp8-e5m2",    "aiter-mxfp8-fnuz",
      "mxfp8-te", "mxfp8,block=64", "mxfp4,block=96"};
  static const uint32_t lone[] = {0x7FC00000, 0x7F810000, 0x7F800000, 0x7F7F0000, 0x3F800000};
  for (size_t n = 0; n < COUNT(texts) * COUNT(lone) * 2; n++) {
    const mxg_recipe recipe = recipe_of(texts[n % COUNT(texts)]);
    const size_t block = recipe_block(&recipe);
    const uint32_t value = lone[n / COUNT(texts) % COUNT(lone)];
    const bool others_are_zero = n / (COUNT(texts) * COUNT(lone)) != 0;
    kernel_case c = case_of(&recipe, MXG_DTYPE_BF16, block * block);
    void *x = scratch(0, c.cols * 4);
    for (size_t i = 0; i < c.cols; i++) { /* in block b at element b */
      const uint32_t sign = generator_bits(g) & 0x80000000u;
      const bool is_lone = i / block == i % block;
      values_store(x, MXG_DTYPE_BF16, i,
                   is_lone           ? values_cut(MXG_DTYPE_BF16, value | sign)
                   : others_are_zero ? values_cut(MXG_DTYPE_BF16, sign)
                                     : about(g, MXG_DTYPE_BF16, -100));
    }
    kernel_case_quantize(&c, x, NULL);
  }
}

void sweep_tables(generator *g, size_t rotations) {
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) {
    const mxg_recipe *recipe = &preset->recipe;
    const size_t block = recipe_block(recipe);
    const size_t bits = (size_t)mxg_element_traits(recipe->element).bits;
    const size_t codes_count = (size_t)1 << bits;
    /* every code once a scale; a scale has as many whole blocks as that takes */
    const size_t scale_blocks = codes_count > block ? codes_count / block : 1;
    const size_t scales_count = recipe->scale == MXG_SCALE_NONE ? 1 : 256;
    for (size_t n = 0; n < rotations * COUNT(dtypes); n++) {
      kernel_case c =
          case_of(recipe, dtypes[n % COUNT(dtypes)], scales_count * scale_blocks * block);
      const kernel_bytes bytes = kernel_bytes_of(&c);
      uint8_t *codes = scratch(0, bytes.codes), *scales = scratch(1, bytes.scales + 4);
      memset(codes, 0, bytes.codes);
      const size_t shift = n / COUNT(dtypes) + generator_below(g, 2) * 7;
      for (size_t i = 0; i < c.cols; i++)
        pack_code(recipe->element, codes, i, (uint8_t)((i + shift) % codes_count));
      for (size_t b = 0; bytes.scales != 0 && b < scales_count * scale_blocks; b++) {
        const packed_kind kind = (packed_kind)(b % PACKED_KINDS);
        uint32_t scale = (uint32_t)(b / scale_blocks);
        if (recipe->scale == MXG_SCALE_F32) {
          scale = data_scale(g, kind, recipe, b);
          for (size_t i = 0; i < 4; i++) scales[4 * b + i] = (uint8_t)(scale >> 8 * i);
        } else {
          scales[b] = (uint8_t)scale;
        }
      }
      c.misalign = generator_below(g, 64);
      kernel_case_dequantize(&c, codes, scales);
    }
  }
}

void sweep_environments(generator *g, size_t rounds) {
  if (!fp_environment_set(FPENV_FTZ)) {
    printf("skipped: no way to set the floating-point environment of this machine\n");
    return;
  }
  fp_environment_set(FPENV_DEFAULT);
  const mxg_preset *preset = NULL;
  for (size_t n = 0; n < thinned(64 * rounds); n++) {
    const mxg_dtype dtype = dtypes[n % COUNT(dtypes)];
    mxg_recipe recipe = recipe_of("mxfp8");
    const bool is_random = n % 2 == 1;
    if (is_random) do {
        recipe =
            data_recipe(g, n % 4 == 1 ? MXG_OPERATION_QUANTIZE : MXG_OPERATION_DEQUANTIZE, dtype);
      } while (recipe.scale != MXG_SCALE_E8M0);
    else if ((preset = mxg_preset_at(n / 2 % 32)) != NULL && preset->recipe.scale == MXG_SCALE_E8M0)
      recipe = preset->recipe;
    for (int e = FPENV_DEFAULT + 1; e < FPENV_ENVIRONMENTS; e++) {
      kernel_case c = case_of(&recipe, dtype, data_length(g, &recipe));
      c.misalign = generator_below(g, 64);
      c.environment = (fp_environment)e;
      random_quantize(g, &c);
      c.rows = 1;
      random_dequantize(g, &c);
    }
  }
}

void sweep_alternative_half(generator *g) {
  if (!fp_alternative_half_set(true)) {
    printf("skipped: no binary16 without Inf and NaN on this machine\n");
    return;
  }
  for (int op = MXG_OPERATION_QUANTIZE; op <= MXG_OPERATION_COMBINE; op++)
    sweep_presets(g, (mxg_operation)op, 1);
  sweep_arrays(g, 1);
  fp_alternative_half_set(false);
}

/* More threads than there are shares of rows (64), and so many that they mean all. */
static void many_threads(generator *g) {
  const mxg_recipe recipe = recipe_of("mxfp4");
  kernel_case c = case_of(&recipe, MXG_DTYPE_BF16, 257);
  c.rows = 150;
  void *x = scratch(0, c.rows * c.cols * 2);
  data_values(g, DATA_MIXED, &recipe, c.dtype, c.rows * c.cols, x);
  c.threads = 100;
  kernel_case_quantize(&c, x, NULL);
  c.threads = 1024;
  kernel_case_quantize(&c, x, NULL);
}

void sweep_threads(generator *g) {
  static const char *const texts[] = {"mxfp4", "mxfp8-te", "sglang-fp8-128", "mori-fp4",
                                      "mori-fp8-direct"};
  for (size_t t = 0; t < COUNT(texts); t++) {
    const mxg_recipe recipe = recipe_of(texts[t]);
    kernel_case c = case_of(&recipe, dtypes[t % COUNT(dtypes)], 2053);
    c.rows = 37; /* enough bytes for the rows to be divided */
    const kernel_bytes bytes = kernel_bytes_of(&c);
    void *x = scratch(0, c.rows * c.cols * 4);
    data_values(g, DATA_MIXED, &recipe, c.dtype, c.rows * c.cols, x);
    uint8_t *codes = scratch(1, bytes.codes), *scales = scratch(2, bytes.scales);
    for (size_t r = 0; r < c.rows; r++)
      data_packed(g, (packed_kind)(r % PACKED_KINDS), &recipe, c.cols,
                  codes + r * (bytes.codes / c.rows), scales + r * (bytes.scales / c.rows));
    for (uint32_t threads = 1; threads <= 16; threads += 1 + threads / 4) {
      c.threads = threads;
      kernel_case_quantize(&c, x, NULL);
      kernel_case_dequantize(&c, codes, scales);
    }
  }
  many_threads(g);
}

/* Distinct rows, repeated. */
static void repeat_rows(uint8_t *data, size_t row_bytes, size_t distinct, size_t rows) {
  for (size_t r = distinct; r < rows && row_bytes != 0; r++)
    memcpy(data + r * row_bytes, data + r % distinct * row_bytes, row_bytes);
}

static void repeat_picks(int *pick, size_t top_k, const kernel_case *c) {
  repeat_rows((uint8_t *)pick, top_k * sizeof *pick, c->distinct, c->rows);
}

void sweep_large(generator *g, const char *text, size_t rows) {
  enum { COLS = 7168, TOP_K = 2, DISTINCT = 40 };
  const mxg_recipe recipe = recipe_of(text);
  kernel_case c = case_of(&recipe, MXG_DTYPE_BF16, COLS);
  c.rows = rows;
  c.distinct = DISTINCT;
  c.threads = 0;
  c.misalign = generator_chance(g, 4) ? generator_below(g, 64) : KERNEL_ALIGNED;
  void *x = scratch(0, rows * COLS * 2);
  data_values(g, DATA_MIXED, &recipe, c.dtype, DISTINCT * COLS, x);
  repeat_rows(x, COLS * 2, DISTINCT, rows);
  kernel_case_quantize(&c, x, NULL);

  const kernel_bytes bytes = kernel_bytes_of(&c);
  const size_t codes_row = bytes.codes / rows, scales_row = bytes.scales / rows;
  uint8_t *codes = scratch(1, bytes.codes), *scales = scratch(2, bytes.scales);
  for (size_t r = 0; r < DISTINCT; r++)
    data_packed(g, PACKED_EDGE, &recipe, COLS, codes + r * codes_row, scales + r * scales_row);
  repeat_rows(codes, codes_row, DISTINCT, rows);
  repeat_rows(scales, scales_row, DISTINCT, rows);
  kernel_case_dequantize(&c, codes, scales);

  const uint8_t *pool = random_pool(g, &c);
  int *pick = scratch(1, rows * TOP_K * sizeof *pick);
  random_picks(g, DISTINCT * TOP_K, pick);
  repeat_picks(pick, TOP_K, &c);
  kernel_case_combine(&c, pool, TOP_K, pick, NULL, 0, COLS);
}

void sweep_slot_ends(generator *g) {
  enum { TOP_K = KERNEL_POOL };
  const mxg_recipe recipe = recipe_of("mxfp4,block=128"); /* a scale byte behind 64 of codes */
  int pick[TOP_K];
  for (int k = 0; k < TOP_K; k++) pick[k] = k;
  for (size_t cols = 128; cols <= 512; cols += 128) {
    kernel_case c = case_of(&recipe, MXG_DTYPE_BF16, cols);
    for (c.misalign = 0; c.misalign < 64; c.misalign++) /* one of them ends where the page ends */
      kernel_case_combine(&c, random_pool(g, &c), TOP_K, pick, NULL, 0, cols);
  }
}

void sweep_streams(generator *g, size_t count) {
  static const struct {
    const char *recipe;
    mxg_dtype dtype;
    size_t cols, misalign;
  } first[] = {{"mxfp8", MXG_DTYPE_BF16, 7168, KERNEL_ALIGNED},
               {"mxfp4", MXG_DTYPE_BF16, 7168, 17},
               {"sglang-fp8-128,block=96", MXG_DTYPE_F32, 960, KERNEL_ALIGNED},
               {"mxfp8,block=80", MXG_DTYPE_F32, 960, KERNEL_ALIGNED},
               {"mxfp8", MXG_DTYPE_F32, 4100, KERNEL_ALIGNED},
               {"mori-fp8-direct", MXG_DTYPE_F32, 4096, KERNEL_ALIGNED},
               {"mxfp4", MXG_DTYPE_F32, 4096, KERNEL_ALIGNED},
               {"aiter-mxfp8-fnuz", MXG_DTYPE_BF16, 832, KERNEL_ALIGNED}};
  static const size_t cols[] = {64, 128, 192, 512, 832, 4096, 7168, 100, 4100};
  for (size_t n = 0; n < count; n++) {
    const bool is_random = n >= COUNT(first);
    const mxg_dtype dtype = is_random ? dtypes[generator_below(g, 3)] : first[n].dtype;
    const mxg_recipe recipe =
        is_random ? data_recipe(g, MXG_OPERATION_QUANTIZE, dtype) : recipe_of(first[n].recipe);
    kernel_case c =
        case_of(&recipe, dtype, is_random ? cols[generator_below(g, COUNT(cols))] : first[n].cols);
    const size_t row_bytes = c.cols * mxg_dtype_bytes(dtype);
    c.rows = LARGE_BYTES / row_bytes + 1;
    c.misalign = !is_random               ? first[n].misalign
                 : generator_chance(g, 4) ? generator_below(g, 64)
                                          : KERNEL_ALIGNED;
    c.distinct = 100000 / c.cols;
    uint8_t *x = scratch(0, c.rows * row_bytes);
    for (size_t r = 0; r < c.distinct; r++)
      data_values(g, DATA_MIXED, &recipe, dtype, c.cols, x + r * row_bytes);
    repeat_rows(x, row_bytes, c.distinct, c.rows);
    kernel_case_quantize(&c, x, NULL);
  }
}

static void streamed_dequantize(generator *g, kernel_case c) {
  enum { DISTINCT = 5 };
  c.rows = LARGE_RESULT_BYTES / (c.cols * mxg_dtype_bytes(c.dtype)) + 1;
  c.distinct = DISTINCT;
  const kernel_bytes bytes = kernel_bytes_of(&c);
  const size_t codes_row = bytes.codes / c.rows, scales_row = bytes.scales / c.rows;
  uint8_t *codes = scratch(0, bytes.codes), *scales = scratch(1, bytes.scales);
  for (size_t r = 0; r < DISTINCT; r++)
    data_packed(g, r == 0 ? PACKED_EDGE : PACKED_TAME, &c.recipe, c.cols, codes + r * codes_row,
                scales + r * scales_row);
  repeat_rows(codes, codes_row, DISTINCT, c.rows);
  repeat_rows(scales, scales_row, DISTINCT, c.rows);
  kernel_case_dequantize(&c, codes, scales);
}

/* Most sources are missing: they count as slots and cost ref nothing. */
static void streamed_combine(generator *g, kernel_case c) {
  enum { TOP_K = 64, DISTINCT = 20 };
  const size_t slot = kernel_bytes_of(&c).slot;
  c.rows = LARGE_RESULT_BYTES / (TOP_K * slot) + 1;
  c.distinct = DISTINCT;
  const uint8_t *pool = random_pool(g, &c);
  int *pick = scratch(1, c.rows * TOP_K * sizeof *pick);
  for (size_t k = 0; k < DISTINCT * TOP_K; k++)
    pick[k] = generator_chance(g, 16) ? (int)generator_below(g, KERNEL_POOL) : -1;
  repeat_picks(pick, TOP_K, &c);
  kernel_case_combine(&c, pool, TOP_K, pick, NULL, 0, c.cols);
  kernel_case_combine(&c, pool, TOP_K, pick, NULL, 100, c.cols);
}

void sweep_streamed_values(generator *g, size_t count) {
  static const struct {
    const char *recipe;
    mxg_dtype dtype;
    size_t cols, misalign;
  } first[] = {{"mxfp4", MXG_DTYPE_BF16, 7168, KERNEL_ALIGNED},
               {"aiter-fp8-128", MXG_DTYPE_F32, 7168, KERNEL_ALIGNED},
               {"mxfp8", MXG_DTYPE_BF16, 4100, KERNEL_ALIGNED},
               {"aiter-mxfp8", MXG_DTYPE_F16, 1024, 17},
               {"mori-fp8,block=32", MXG_DTYPE_F32, 4096, KERNEL_ALIGNED},
               {"mxfp4", MXG_DTYPE_BF16, 192, 5}}; /* rows shorter than what is fetched ahead */
  static const size_t cols[] = {128, 192, 832, 4096, 7168, 4100};
  for (size_t n = 0; n < count; n++) {
    const bool is_random = n >= COUNT(first);
    const mxg_dtype dtype = is_random ? dtypes[generator_below(g, 3)] : first[n].dtype;
    const mxg_recipe recipe =
        is_random ? data_recipe(g, MXG_OPERATION_COMBINE, dtype) : recipe_of(first[n].recipe);
    kernel_case c =
        case_of(&recipe, dtype, is_random ? cols[generator_below(g, COUNT(cols))] : first[n].cols);
    c.misalign = !is_random               ? first[n].misalign
                 : generator_chance(g, 4) ? generator_below(g, 64)
                                          : KERNEL_ALIGNED;
    streamed_dequantize(g, c);
    streamed_combine(g, c);
  }
}
