/* pipe_values.c: blocks of values that quantisers get wrong: every pattern, ties and their
 * neighbours, borders of the scale rules, zeros, NaN, Inf, subnormals, and ordinary numbers.
 *
 * Values are made as bits. Nothing here depends on the host.
 * SPDX-License-Identifier: MIT */
#include "pipe.h"

#include <string.h>

/* ---- random numbers: splitmix64 ---- */

#if defined(__clang__)
#define WRAPS __attribute__((no_sanitize("unsigned-integer-overflow", "unsigned-shift-base")))
#else
#define WRAPS
#endif

WRAPS uint64_t mxg_draw_next(mxg_draw *random) {
  random->state += UINT64_C(0x9E3779B97F4A7C15);
  uint64_t z = random->state;
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

mxg_draw mxg_draw_start(uint64_t seed, uint64_t stream, uint64_t index) {
  mxg_draw random = {seed};
  random.state = mxg_draw_next(&random) ^ stream;
  random.state = mxg_draw_next(&random) ^ index;
  random.state = mxg_draw_next(&random);
  return random;
}

uint32_t mxg_draw_below(mxg_draw *random, uint32_t limit) {
  return (uint32_t)((mxg_draw_next(random) >> 32) * limit >> 32);
}

/* ---- patterns ---- */

enum { F32_INF = 0x7F800000, F32_NAN = 0x7FC00000, F32_ONE = 0x3F800000 };
#define F32_SIGN UINT32_C(0x80000000)

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint32_t cut_to_f16(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & ~F32_SIGN;
  if (magnitude > F32_INF) return sign | 0x7C01u | (magnitude >> 13 & 0x3FFu);
  if (magnitude == F32_INF) return sign | 0x7C00u;
  if (magnitude >= 0x47800000u) return sign | 0x7BFFu;                         /* 65536 and above */
  if (magnitude >= 0x38800000u) return sign | (magnitude - 0x38000000u) >> 13; /* from 2^-14 */
  const uint32_t exponent = magnitude >> 23, mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
  return exponent < 103 ? sign : sign | mantissa >> (126 - exponent);
}

uint32_t mxg_cut(mxg_dtype dtype, uint32_t f32_bits) {
  if (dtype == MXG_DTYPE_F32) return f32_bits;
  if (dtype == MXG_DTYPE_F16) return cut_to_f16(f32_bits);
  const bool is_nan = (f32_bits & ~F32_SIGN) > F32_INF;
  return f32_bits >> 16 | (is_nan && (f32_bits & 0x7F0000u) == 0 ? 1u : 0u);
}

/* What a type looks like. */
typedef struct shape {
  uint32_t sign, inf; /* patterns; the largest finite one is inf - 1 */
  int mantissa_bits, exponents, bias;
} shape;

static shape shape_of(mxg_dtype dtype) {
  const shape f32 = {F32_SIGN, F32_INF, 23, 256, 127};
  const shape f16 = {0x8000, 0x7C00, 10, 32, 15};
  const shape bf16 = {0x8000, 0x7F80, 7, 256, 127};
  return dtype == MXG_DTYPE_F32 ? f32 : dtype == MXG_DTYPE_F16 ? f16 : bf16;
}

/* A magnitude `ulps` (-1, 0, 1) away, kept finite and not negative. */
static uint32_t step(const shape *type, uint32_t magnitude, int ulps) {
  if (ulps < 0 && magnitude > 0) return magnitude - 1;
  if (ulps > 0 && magnitude + 1 < type->inf) return magnitude + 1;
  return magnitude;
}

static uint32_t random_sign(mxg_draw *random, const shape *type) {
  return mxg_draw_below(random, 2) ? type->sign : 0;
}

/* value * 2^exponent, rounded to f32 once, as a pattern of the type; never Inf. */
static uint32_t scaled(mxg_dtype dtype, float value, int exponent) {
  const uint64_t power_bits = (uint64_t)(exponent + 1023) << 52;
  double power = 0;
  memcpy(&power, &power_bits, sizeof power);
  const uint32_t bits = bits_of((float)((double)value * power));
  return mxg_cut(dtype, (bits & ~F32_SIGN) >= F32_INF ? (bits & F32_SIGN) | (F32_INF - 1) : bits);
}

void mxg_value_normal(mxg_draw *random, mxg_dtype dtype, int exponent, size_t length,
                      uint32_t *bits) {
  for (size_t i = 0; i < length; i++) {
    /* the sum of 12 uniform numbers less 6: nearly N(0, 1), and exact in f32 */
    int32_t sum = 0;
    for (int k = 0; k < 6; k++) {
      const uint64_t two = mxg_draw_next(random);
      sum += (int32_t)(two & 0xFFFFF) + (int32_t)(two >> 32 & 0xFFFFF);
    }
    bits[i] = scaled(dtype, (float)(sum - 6 * (1 << 20)), exponent - 20);
  }
}

void mxg_store_bits(unsigned char *data, mxg_dtype dtype, size_t first, const uint32_t *bits,
                    size_t length) {
  for (size_t i = 0; i < length; i++) {
    const uint16_t half = (uint16_t)bits[i];
    if (dtype == MXG_DTYPE_F32)
      memcpy(data + 4 * (first + i), &bits[i], 4);
    else
      memcpy(data + 2 * (first + i), &half, 2);
  }
}

/* ---- what the element format looks like ---- */

static float element_max(const mxg_recipe *recipe) {
  return recipe->element_max > 0 ? recipe->element_max : mxg_element_traits(recipe->element).max;
}

/* Positive finite codes are 0 .. code_count - 1. */
static uint32_t code_count(const mxg_recipe *recipe) {
  return (uint32_t)mxg_element_traits(recipe->element).max_code + 1;
}

static float code_value(const mxg_recipe *recipe, uint32_t code) {
  const uint8_t byte = (uint8_t)code;
  float value = 0;
  mxg_decode_f32(recipe->element, &byte, 1, &value);
  return value;
}

/* Between code and the next one; behind the last, where overflow begins. */
static float midpoint(const mxg_recipe *recipe, uint32_t code) {
  const float low = code_value(recipe, code);
  if (code + 1 < code_count(recipe)) return (low + code_value(recipe, code + 1)) / 2;
  return low + (low - code_value(recipe, code - 1)) / 2;
}

/* ---- sections ---- */

static mxg_draw start(const mxg_value_block *b, unsigned section) {
  return mxg_draw_start(b->plan->seed, (uint64_t)section << 8 | (uint64_t)b->dtype, b->index);
}

/* A block whose amax is element_max * 2^exponent: where that is a code's scale of 2^exponent, the
 * others meet the element format as they are. Blocks of one element have no room for it. */
static size_t put_anchor(mxg_draw *random, const mxg_value_block *b, int exponent) {
  const shape type = shape_of(b->dtype);
  const uint32_t at = mxg_draw_below(random, (uint32_t)b->length);
  const uint32_t anchor = scaled(b->dtype, element_max(&b->plan->recipe), exponent);
  if (b->block == 1 || b->length == 0) return b->length;
  b->bits[at] = anchor | random_sign(random, &type);
  return at;
}

/* Every pattern: signs alternate, so that neighbours share an exponent. Level 1 takes five
 * mantissas of each exponent. */
static const uint16_t lower_halves[] = {0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
enum { LOWER_HALVES = 6, LEVEL_1_MANTISSAS = 5 };

static uint64_t sweep_elements(const mxg_plan *plan, mxg_dtype dtype) {
  if (plan->level == 1) return (uint64_t)shape_of(dtype).exponents * 2 * LEVEL_1_MANTISSAS;
  return dtype == MXG_DTYPE_F32 ? 65536u * LOWER_HALVES : 65536u;
}

static uint32_t sweep_pattern(const mxg_plan *plan, mxg_dtype dtype, uint32_t n) {
  const shape type = shape_of(dtype);
  if (plan->level == 1) {
    const uint32_t ones = (1u << type.mantissa_bits) - 1, half = 1u << (type.mantissa_bits - 1);
    const uint32_t mantissas[LEVEL_1_MANTISSAS] = {0, 1, half, half + 1, ones};
    const uint32_t exponent = n / 2 / LEVEL_1_MANTISSAS;
    return (n % 2 ? type.sign : 0) | exponent << type.mantissa_bits |
           mantissas[n / 2 % LEVEL_1_MANTISSAS];
  }
  if (dtype != MXG_DTYPE_F32) return (n & 1 ? type.sign : 0) | n >> 1;
  const uint32_t upper = n / LOWER_HALVES;
  return (upper & 1 ? F32_SIGN : 0) | (upper >> 1) << 16 | lower_halves[n % LOWER_HALVES];
}

static void fill_sweep(const mxg_value_block *b, mxg_draw *random) {
  const uint64_t count = sweep_elements(b->plan, b->dtype);
  (void)random;
  for (size_t i = 0; i < b->length; i++)
    b->bits[i] = sweep_pattern(b->plan, b->dtype, (uint32_t)((b->index * b->block + i) % count));
}

/* Under a scale of a power of two: at level 2 every 16-bit pattern up to element_max first, then,
 * as at level 1, magnitudes from the least subnormal's half to the maximum, half of them short. */
static uint64_t window_patterns(const mxg_plan *plan, mxg_dtype dtype, size_t block) {
  if (plan->level == 1 || dtype == MXG_DTYPE_F32) return 0;
  const uint64_t patterns = 2 * ((uint64_t)scaled(dtype, element_max(&plan->recipe), 0) + 1);
  const uint64_t room = block > 1 ? block - 1 : 1;
  return (patterns + room - 1) / room;
}

static void fill_window(const mxg_value_block *b, mxg_draw *random) {
  const mxg_traits traits = mxg_element_traits(b->plan->recipe.element);
  const shape type = shape_of(b->dtype);
  const bool is_exhaustive = b->index < window_patterns(b->plan, b->dtype, b->block);
  const int exponent = is_exhaustive ? 0 : (int)mxg_draw_below(random, 9) - 4;
  const size_t anchor = put_anchor(random, b, exponent);
  const uint32_t lowest = (uint32_t)(traits.emin - traits.mantissa_bits - 2 + 127);
  const uint32_t octaves = (uint32_t)(traits.emax + 127) - lowest + 1;
  uint64_t pattern = b->index * (b->block > 1 ? b->block - 1 : 1);
  for (size_t i = 0; i < b->length; i++) {
    if (i == anchor) continue;
    if (is_exhaustive) {
      const uint32_t magnitude = (uint32_t)(pattern / 2) % (type.inf - 1);
      b->bits[i] = (pattern % 2 ? type.sign : 0) | magnitude;
      pattern++;
      continue;
    }
    const uint64_t r = mxg_draw_next(random);
    const uint32_t mantissa =
        (uint32_t)(r & 0x7FFFFF) & (r >> 40 & 1 ? 0x7FFFFFu : UINT32_C(0x780000));
    uint32_t bits = (lowest + mxg_draw_below(random, octaves)) << 23 | mantissa;
    const uint32_t most = bits_of(element_max(&b->plan->recipe));
    if (bits > most) bits = most;
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    b->bits[i] = scaled(b->dtype, value, exponent) | (r >> 41 & 1 ? type.sign : 0);
  }
}

/* Ties and codes: every midpoint and its neighbours one ulp of the source away, every code, under
 * several scales. */
enum { PER_CODE = 4, TIE_SCALES_1 = 3, TIE_SCALES_2 = 21 };

static uint64_t tie_blocks(const mxg_plan *plan, size_t block) {
  const uint64_t elements = (uint64_t)code_count(&plan->recipe) * PER_CODE * 2;
  const uint64_t room = block > 1 ? block - 1 : 1;
  return (elements + room - 1) / room;
}

static void fill_ties(const mxg_value_block *b, mxg_draw *random) {
  const mxg_recipe *recipe = &b->plan->recipe;
  const shape type = shape_of(b->dtype);
  const uint64_t blocks = tie_blocks(b->plan, b->block);
  const uint64_t scale = b->index / blocks;
  const int far_apart = b->dtype == MXG_DTYPE_F16 ? 1 : 9;
  const int exponent =
      b->plan->level == 1 ? (int)scale * 3 - 3 : ((int)scale - TIE_SCALES_2 / 2) * far_apart;
  const uint32_t per_sign = code_count(recipe) * PER_CODE;
  const size_t anchor = put_anchor(random, b, exponent);
  uint64_t n = b->index % blocks * (b->block > 1 ? b->block - 1 : 1);
  for (size_t i = 0; i < b->length; i++) {
    if (i == anchor) continue;
    const uint32_t which = (uint32_t)(n / 2 % per_sign), code = which / PER_CODE;
    const float value = which % PER_CODE == 3 ? code_value(recipe, code) : midpoint(recipe, code);
    const int ulps = which % PER_CODE == 3 ? 0 : (int)(which % PER_CODE) - 1;
    b->bits[i] = step(&type, scaled(b->dtype, value, exponent), ulps) | (n % 2 ? type.sign : 0);
    n++;
  }
}

/* Borders of the scale rules: amax with chosen mantissas in chosen exponents, one ulp to either
 * side; the other elements are fractions of it. */
static uint32_t boundary_exponent(const mxg_value_block *b, uint64_t n, mxg_draw *random) {
  static const uint8_t chosen[] = {0, 1, 2, 3, 100, 126, 127, 130, 134, 252, 253, 254};
  static const uint8_t chosen_f16[] = {0, 1, 2, 3, 8, 14, 15, 18, 22, 28, 29, 30};
  if (n < sizeof chosen) return b->dtype == MXG_DTYPE_F16 ? chosen_f16[n] : chosen[n];
  return mxg_draw_below(random, (uint32_t)shape_of(b->dtype).exponents - 1);
}
enum { BOUNDARY_EXPONENTS_1 = 12, BOUNDARY_EXPONENTS_2 = 40, BOUNDARY_MANTISSAS_1 = 30 };

static uint64_t boundary_mantissas(const mxg_plan *plan, mxg_dtype dtype) {
  const uint64_t bits = (uint64_t)shape_of(dtype).mantissa_bits;
  return plan->level == 1 ? BOUNDARY_MANTISSAS_1 : 128 + (dtype == MXG_DTYPE_BF16 ? 0 : 3 * bits);
}

/* Magnitude pattern number n below exponent field `exponent`. */
static uint32_t boundary_magnitude(const mxg_value_block *b, uint32_t exponent, uint64_t n) {
  const shape type = shape_of(b->dtype);
  const uint32_t base = exponent << type.mantissa_bits;
  const uint32_t max_mantissa = bits_of(element_max(&b->plan->recipe)) & 0x7FFFFF;
  if (b->plan->level == 1) {
    const uint64_t which = n / 3;
    const uint32_t mantissa = which < 8    ? (uint32_t)which << 20 /* eighths */
                              : which == 8 ? 0x780000              /* where `even` carries, E4M3 */
                                           : max_mantissa;
    return step(&type, base | mantissa >> (23 - type.mantissa_bits), (int)(n % 3) - 1);
  }
  if (n < 128) return base | (uint32_t)n << (type.mantissa_bits - 7);
  const uint64_t bit = (n - 128) / 3;
  return step(&type, base | 1u << bit, (int)(n % 3) - 1);
}

static void fill_boundary(const mxg_value_block *b, mxg_draw *random) {
  const uint64_t mantissas = boundary_mantissas(b->plan, b->dtype);
  const shape type = shape_of(b->dtype);
  const uint32_t exponent = boundary_exponent(b, b->index / mantissas, random);
  const uint32_t amax = boundary_magnitude(b, exponent, b->index % mantissas);
  for (size_t i = 0; i < b->length; i++) {
    const uint32_t below = mxg_draw_below(random, 6) << type.mantissa_bits;
    const uint32_t top = amax > below ? amax - below : 0;
    const uint32_t within = (uint32_t)(mxg_draw_next(random) & ((1u << type.mantissa_bits) - 1));
    b->bits[i] = (top > within ? top - within : 0) | random_sign(random, &type);
  }
  if (b->length)
    b->bits[mxg_draw_below(random, (uint32_t)b->length)] = amax | random_sign(random, &type);
}

/* Special blocks: zeros, NaN, Inf, subnormals, the floor of amax, the edges of the range. */
enum { SPECIAL_KINDS = 36 };

static void fill_all(const mxg_value_block *b, uint32_t bits) {
  for (size_t i = 0; i < b->length; i++) b->bits[i] = bits;
}

static void fill_signed(const mxg_value_block *b, mxg_draw *random, uint32_t magnitude) {
  const shape type = shape_of(b->dtype);
  for (size_t i = 0; i < b->length; i++) b->bits[i] = magnitude | random_sign(random, &type);
}

static void fill_special(const mxg_value_block *b, mxg_draw *random) {
  const shape type = shape_of(b->dtype);
  const uint32_t nan = type.inf | type.inf >> 1, quiet_bit = 1u << (type.mantissa_bits - 1);
  const float most = element_max(&b->plan->recipe);
  const uint32_t max = scaled(b->dtype, most, 0);
  const uint32_t overflow =
      scaled(b->dtype, midpoint(&b->plan->recipe, code_count(&b->plan->recipe) - 1), 0);
  const uint32_t floor_amax = mxg_cut(b->dtype, 0x2EDBE6FF); /* 1e-10 */
  const size_t n = b->length;
  if (n == 0) return;
  const size_t middle = mxg_draw_below(random, (uint32_t)n), last = n - 1;
  mxg_value_normal(random, b->dtype, (int)mxg_draw_below(random, 7) - 3, n, b->bits);
  switch (b->index % SPECIAL_KINDS) {
    case 0: fill_all(b, 0); break;
    case 1: fill_all(b, type.sign); break;
    case 2: fill_signed(b, random, 0); break;
    case 3:
      fill_signed(b, random, 0);
      b->bits[middle] |= 1;
      break;
    case 4: /* subnormals */
      for (size_t i = 0; i < n; i++)
        b->bits[i] = (uint32_t)(mxg_draw_next(random) & ((1u << type.mantissa_bits) - 1)) |
                     random_sign(random, &type);
      break;
    case 5: b->bits[0] = nan; break;
    case 6: b->bits[middle] = nan; break;
    case 7: b->bits[last] = nan | type.sign; break;
    case 8: fill_signed(b, random, nan); break;
    case 9: /* a NaN beside an Inf */
      b->bits[middle] = type.inf;
      b->bits[last] = nan;
      break;
    case 10:
      b->bits[middle] = nan | type.sign;
      b->bits[0] = type.inf | type.sign;
      break;
    case 11: b->bits[0] = type.inf; break;
    case 12: b->bits[last] = type.inf | type.sign; break;
    case 13: fill_signed(b, random, type.inf); break;
    case 14:
      fill_signed(b, random, 0);
      b->bits[middle] = type.inf;
      break;
    case 15:
      fill_signed(b, random, 0);
      b->bits[middle] = nan;
      break;
    case 16: b->bits[middle] = type.inf | 1; break; /* a signalling NaN */
    case 17: b->bits[last] = type.sign | type.inf | quiet_bit | 1; break;
    case 18: fill_signed(b, random, type.inf - 1); break;
    case 19: b->bits[middle] = type.inf - 1; break;
    case 20: /* amax around a floor of 1e-10 */
    case 21:
    case 22:
    case 23: {
      const float near_floor[] = {1e-11f, 9.9e-11f, 1.0e-10f, 1.01e-10f};
      fill_signed(b, random, scaled(b->dtype, near_floor[b->index % SPECIAL_KINDS - 20], 0));
      break;
    }
    case 24:
      fill_signed(b, random, step(&type, floor_amax, (int)mxg_draw_below(random, 3) - 1));
      break;
    case 25: fill_signed(b, random, quiet_bit << 1); break; /* the least normal number */
    case 26:                                                /* around the maximum, unscaled */
    case 27:
      for (size_t i = 0; i < n; i++) {
        const uint32_t around[] = {max, overflow, scaled(b->dtype, most, 1),
                                   scaled(b->dtype, 1000, 0)};
        b->bits[i] =
            step(&type, around[mxg_draw_below(random, 4)], (int)mxg_draw_below(random, 3) - 1) |
            random_sign(random, &type);
      }
      break;
    case 28: /* amax at the maximum and beside it: above_max */
    case 29:
    case 30:
      for (size_t i = 0; i < n; i++)
        b->bits[i] = scaled(b->dtype, most, -1 - (int)mxg_draw_below(random, 12)) |
                     random_sign(random, &type);
      b->bits[middle] = step(&type, max, (int)(b->index % SPECIAL_KINDS) - 29);
      break;
    case 31: /* far below every format */
      for (size_t i = 0; i < n; i++)
        b->bits[i] = mxg_draw_below(random, 2) ? scaled(b->dtype, 1e-22f, 0)
                                               : scaled(b->dtype, 1e-38f, 0) | type.sign;
      break;
    case 32: /* tiny beside large: underflow keeps its sign */
      for (size_t i = 0; i < n; i++)
        b->bits[i] =
            scaled(b->dtype, 1, -14 - (int)mxg_draw_below(random, 20)) | random_sign(random, &type);
      b->bits[middle] = scaled(b->dtype, 1, 8);
      break;
    case 33: /* an infinite factor max / amax, with zeros */
      for (size_t i = 0; i < n; i++)
        b->bits[i] = mxg_draw_below(random, 3) ? scaled(b->dtype, 1.5e-38f, 0) : 0;
      break;
    case 34: /* one element alone */
      fill_signed(b, random, 0);
      b->bits[middle] = scaled(b->dtype, 0.7f, 0);
      break;
    default: fill_signed(b, random, b->bits[middle] & ~type.sign); break; /* all equal */
  }
}

static void fill_normal(const mxg_value_block *b, mxg_draw *random) {
  mxg_value_normal(random, b->dtype, (int)mxg_draw_below(random, 9) - 4, b->length, b->bits);
}

/* Exponents far apart. */
static void fill_wide(const mxg_value_block *b, mxg_draw *random) {
  const shape type = shape_of(b->dtype);
  const uint32_t spread = b->dtype == MXG_DTYPE_F16 ? 12 : 24;
  const uint32_t lowest = mxg_draw_below(random, (uint32_t)type.exponents - 1 - spread);
  for (size_t i = 0; i < b->length; i++)
    b->bits[i] = (lowest + mxg_draw_below(random, spread)) << type.mantissa_bits |
                 (uint32_t)(mxg_draw_next(random) & ((1u << type.mantissa_bits) - 1)) |
                 random_sign(random, &type);
}

static void fill_bits(const mxg_value_block *b, mxg_draw *random) {
  const shape type = shape_of(b->dtype);
  for (size_t i = 0; i < b->length; i++) {
    const uint32_t bits = (uint32_t)(mxg_draw_next(random) >> 32);
    b->bits[i] = bits & (type.sign | (type.sign - 1));
  }
}

static void fill_rows(const mxg_value_block *b, mxg_draw *random) {
  const uint32_t kind = mxg_draw_below(random, 16);
  if (kind == 0)
    fill_signed(b, random, 0);
  else if (kind == 1)
    fill_wide(b, random);
  else
    mxg_value_normal(random, b->dtype, (int)mxg_draw_below(random, 13) - 6, b->length, b->bits);
}

/* ---- the list ---- */

static const struct {
  const char *name;
  void (*fill)(const mxg_value_block *, mxg_draw *);
} sections[] = {{"patterns", fill_sweep},  {"window", fill_window},
                {"ties", fill_ties},       {"scale-borders", fill_boundary},
                {"special", fill_special}, {"random", fill_normal},
                {"wide", fill_wide},       {"bits", fill_bits},
                {"shapes", fill_rows}};
enum { SWEEP, WINDOW, TIES, BOUNDARY, SPECIAL, NORMAL, WIDE, BITS, ROWS };

size_t mxg_value_sections(void) {
  return sizeof sections / sizeof sections[0];
}

const char *mxg_value_section_name(unsigned section) {
  return sections[section].name;
}

/* Blocks of random values: so many elements, whatever a block is, but not fewer than 16 blocks. */
static uint64_t blocks_of(size_t block, uint64_t elements) {
  const uint64_t blocks = elements / block;
  return blocks < 16 ? 16 : blocks;
}

uint64_t mxg_value_section_blocks(const mxg_plan *plan, unsigned section, mxg_dtype dtype,
                                  size_t block) {
  const bool deep = plan->level > 1;
  switch (section) {
    case SWEEP: return (sweep_elements(plan, dtype) + block - 1) / block;
    case WINDOW:
      return window_patterns(plan, dtype, block) + blocks_of(block, deep ? 131072 : 4096);
    case TIES: return tie_blocks(plan, block) * (deep ? TIE_SCALES_2 : TIE_SCALES_1);
    case BOUNDARY:
      return boundary_mantissas(plan, dtype) *
             (uint64_t)(deep ? BOUNDARY_EXPONENTS_2 : BOUNDARY_EXPONENTS_1);
    case SPECIAL: return SPECIAL_KINDS * (uint64_t)(deep ? 16 : 2);
    case NORMAL: return blocks_of(block, deep ? 262144 : 8192);
    case WIDE:
    case BITS: return blocks_of(block, deep ? 131072 : 2048);
    default: return 0;
  }
}

void mxg_value_fill(unsigned section, const mxg_value_block *out) {
  mxg_draw random = start(out, section);
  sections[section].fill(out, &random);
}
