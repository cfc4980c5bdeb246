/* model.c: quantise and dequantise by section, each place where a known fault sits marked by it.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model.h"

static const char *const flags[FAULTS] = {NULL,
                                          "AllZeroBlock",
                                          "AmaxFloor",
                                          "DecodeBadScale",
                                          "EmptyShape",
                                          "ScaleRule",
                                          "ScaleBoundary",
                                          "RceilMask",
                                          "NonPow2AsE8M0",
                                          "E8M0Decode",
                                          "E8M0Encode",
                                          "TieToEven",
                                          "NegZero",
                                          "Subnormal",
                                          "TinyShift",
                                          "NanCode",
                                          "Overflow",
                                          "SaturateAfterScale",
                                          "NanBlock",
                                          "ScalePad",
                                          "Rows",
                                          "LayoutNamed",
                                          "NibbleOrder",
                                          "BlockWidth",
                                          "GateUp",
                                          "DoubleRound"};

const char *fault_flag(fault f) {
  return flags[f];
}

static float f32_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return isnan(value) ? 0x7FC00000u : bits;
}

static void put(model_bytes *to, uint32_t word, size_t width) {
  for (size_t b = 0; b < width && to->count < sizeof to->data; b++)
    to->data[to->count++] = (uint8_t)(word >> (8 * b) & 0xFFu);
}

/* ---- section 1 ---- */

typedef struct format {
  int exponent_bits, mantissa_bits, bias;
  double max; /* largest finite value */
  bool is_fnuz, has_nan, has_inf;
} format;

static format format_of(mxg_element element) {
  static const format formats[] = {
      {0, 0, 0, 0, false, false, false},    {4, 3, 7, 448, false, true, false},
      {4, 3, 8, 240, true, true, false},    {5, 2, 15, 57344, false, true, true},
      {5, 2, 16, 57344, true, true, false}, {2, 1, 1, 6, false, false, false},
      {2, 3, 1, 7.5, false, false, false},  {3, 2, 3, 28, false, false, false}};
  return formats[element];
}

static int width_of(const format *m) {
  return 1 + m->exponent_bits + m->mantissa_bits;
}

static uint32_t sign_mask(const format *m) {
  return 1u << (width_of(m) - 1);
}

static double max_of(const mxg_recipe *r) {
  return r->element_max > 0 ? (double)r->element_max : format_of(r->element).max;
}

/* ---- section 2: one element ---- */

/* |v| in units of the last place of `mantissa_bits` at its own exponent, or at emin below. */
static double units(double magnitude, int mantissa_bits, int emin, int *exponent) {
  *exponent = magnitude > 0 ? ilogb(magnitude) : emin;
  if (*exponent < emin) *exponent = emin;
  return ldexp(magnitude, mantissa_bits - *exponent);
}

static uint32_t nan_code(const mxg_recipe *r, bool negative);

static uint32_t encode_magnitude(const format *m, fault f, double magnitude) {
  const int emin = 1 - m->bias;
  int exponent = 0;
  const double exact = units(magnitude, m->mantissa_bits, emin, &exponent);
  const double whole = f == FAULT_TIE_TO_EVEN ? floor(exact + 0.5) : rint(exact);
  const double code = ldexp(exponent - emin, m->mantissa_bits) + whole;
  if (f == FAULT_TINY_SHIFT && magnitude > 0) {
    /* a shift by the low five bits of its count */
    const int shift = 23 - m->mantissa_bits + emin - ilogb(magnitude);
    const double mantissa = ldexp(magnitude, 23 - ilogb(magnitude));
    if (shift >= 32) return (uint32_t)mantissa >> (shift & 31) & (sign_mask(m) - 1);
  }
  if (f == FAULT_SUBNORMAL && code < ldexp(1, m->mantissa_bits)) return 0;
  return code > 1e6 ? 1000000u : (uint32_t)code;
}

/* v encoded; `negative` is the sign of the source element. */
static uint32_t encode(const mxg_recipe *r, fault f, double v, bool negative) {
  const format m = format_of(r->element);
  mxg_overflow overflow = r->overflow;
  if (isnan(v)) return f == FAULT_NAN_BLOCK ? 0 : nan_code(r, negative);
  if (f == FAULT_OVERFLOW)
    overflow = overflow == MXG_OVERFLOW_NONFINITE ? MXG_OVERFLOW_SATURATE : MXG_OVERFLOW_NONFINITE;
  if (f == FAULT_SATURATE_AFTER_SCALE) overflow = MXG_OVERFLOW_NONFINITE;
  double magnitude = fabs(v);
  const bool clamps =
      overflow == MXG_OVERFLOW_SATURATE || (overflow == MXG_OVERFLOW_SATURATE_FINITE && !isinf(v));
  if (clamps && magnitude > max_of(r)) magnitude = max_of(r);
  if (f == FAULT_DOUBLE_ROUND && !isinf(v)) { /* by way of bf16 */
    int exponent = 0;
    const double whole = rint(units(magnitude, 7, -126, &exponent));
    magnitude = ldexp(whole, exponent - 7);
  }
  const uint32_t sign = signbit(v) ? sign_mask(&m) : 0;
  const uint32_t largest = encode_magnitude(&m, FAULT_NONE, m.max);
  uint32_t code = isinf(magnitude) ? largest + 1 : encode_magnitude(&m, f, magnitude);
  if (code > largest) {
    if (!m.has_nan) return sign | (code & (sign_mask(&m) - 1)); /* wraps: only with a fault */
    if (m.is_fnuz) return 0x80;
    return sign | (m.has_inf ? 0x7Cu : 0x7Fu);
  }
  if (code == 0 && f == FAULT_NEG_ZERO) return m.is_fnuz ? sign : 0;
  return code == 0 && m.is_fnuz ? 0 : sign | code;
}

static uint32_t nan_code(const mxg_recipe *r, bool negative) {
  const format m = format_of(r->element);
  mxg_recipe clamped = *r;
  clamped.overflow = MXG_OVERFLOW_SATURATE;
  const double max = max_of(r);
  switch (r->nan_element) {
    case MXG_NAN_ELEMENT_CODE: return m.is_fnuz ? 0x80u : 0x7Fu | (negative ? 0x80u : 0);
    case MXG_NAN_ELEMENT_NEG_MAX: return encode(&clamped, FAULT_NONE, -max, true);
    case MXG_NAN_ELEMENT_SIGN_MAX:
      return encode(&clamped, FAULT_NONE, negative ? -max : max, false);
    case MXG_NAN_ELEMENT_POS_MAX: return encode(&clamped, FAULT_NONE, max, false);
    case MXG_NAN_ELEMENT_ZERO: return 0;
  }
  return 0;
}

static double decode(const mxg_recipe *r, fault f, uint32_t code) {
  const format m = format_of(r->element);
  const uint32_t field = (1u << m.exponent_bits) - 1;
  const uint32_t mantissa = code & ((1u << m.mantissa_bits) - 1);
  const uint32_t exponent = code >> m.mantissa_bits & field;
  const bool negative = (code & sign_mask(&m)) != 0;
  if (f != FAULT_NAN_CODE) {
    if (m.is_fnuz && code == 0x80) return (double)NAN;
    if (m.has_inf && exponent == field) {
      if (mantissa != 0) return (double)NAN;
      return negative ? -(double)INFINITY : (double)INFINITY;
    }
    if (m.has_nan && !m.has_inf && !m.is_fnuz && (code & 0x7Fu) == 0x7F) return (double)NAN;
  }
  double value = exponent == 0 ? ldexp(mantissa, 1 - m.bias - m.mantissa_bits)
                               : ldexp(mantissa + ldexp(1, m.mantissa_bits),
                                       (int)exponent - m.bias - m.mantissa_bits);
  if (f == FAULT_SUBNORMAL && exponent == 0) value = 0;
  return negative && !(f == FAULT_NEG_ZERO && code == sign_mask(&m)) ? -value : value;
}

/* Codes one after another as a little-endian bit stream; a row starts on a byte. */
static void pack_row(const mxg_recipe *r, fault f, const uint32_t *codes, size_t cols,
                     model_bytes *out) {
  const format m = format_of(r->element);
  const size_t bits = (size_t)width_of(&m), from = out->count, bytes = (cols * bits + 7) / 8;
  if (bytes > sizeof out->data - from) return;
  memset(out->data + from, 0, bytes);
  out->count += bytes;
  for (size_t i = 0; i < cols * bits; i++) {
    const uint32_t bit = codes[i / bits] >> (i % bits) & 1u;
    uint8_t *const byte = &out->data[from + i / 8];
    *byte = (uint8_t)(*byte | bit << i % 8);
  }
  if (f != FAULT_NIBBLE_ORDER) return;
  for (size_t i = from; i < out->count; i++)
    out->data[i] = (uint8_t)(out->data[i] << 4 | out->data[i] >> 4);
}

static uint32_t unpack(const format *m, fault f, const uint8_t *row, size_t col) {
  const size_t bits = (size_t)width_of(m);
  uint32_t code = 0;
  for (size_t b = 0; b < bits; b++) {
    const size_t at = col * bits + b;
    const size_t bit = f == FAULT_NIBBLE_ORDER ? (at + 4) % 8 : at % 8;
    code |= (uint32_t)(row[at / 8] >> bit & 1) << b;
  }
  return code;
}

/* ---- section 4: E8M0 ---- */

static int emax_of(const mxg_recipe *r) {
  return ilogb(format_of(r->element).max);
}

static uint32_t addend(const mxg_recipe *r) {
  switch (r->rule) {
    case MXG_RULE_EVEN: return 1u << (22 - format_of(r->element).mantissa_bits);
    case MXG_RULE_EVEN21: return 0x200000;
    case MXG_RULE_HALF: return 0x400000;
    case MXG_RULE_CEIL: return 0x7FFFFF;
    default: return 0;
  }
}

/* Byte of an amax >= 0, as f32 bits. */
static uint32_t e8m0(const mxg_recipe *r, fault f, uint32_t amax) {
  const uint32_t inf_byte = r->inf_scale == MXG_INF_SCALE_NAN   ? 255u
                            : r->inf_scale == MXG_INF_SCALE_MAX ? 254u
                                                                : 255u - (uint32_t)emax_of(r);
  const bool is_rceil = r->rule == MXG_RULE_RCEIL || r->rule == MXG_RULE_RCEIL_BUMP;
  if (amax > 0x7F800000) return 255;
  if (amax == 0x7F800000) return inf_byte;
  if (amax == 0) return 0;
  if (f == FAULT_SCALE_RULE || (f == FAULT_SCALE_BOUNDARY && !is_rceil && addend(r) == 0)) {
    /* the exponent by log2f; FAULT_SCALE_RULE takes it for floor, and the least power above for
     * the floor rule itself */
    const float log = (float)log2((double)f32_of(amax));
    const bool takes_ceil = f == FAULT_SCALE_RULE && r->rule == MXG_RULE_FLOOR;
    const int byte = (int)(takes_ceil ? ceilf(log) : floorf(log)) + 127 - emax_of(r);
    return byte < 0 ? 0 : (uint32_t)byte;
  }
  if (is_rceil) {
    const float reciprocal = 1.0f / (float)max_of(r);
    const float d = (float)((double)f32_of(amax) * (double)reciprocal);
    uint32_t bits = bits_of(d);
    if (f == FAULT_RCEIL_MASK) bits &= 0xFFFF0000u;
    if (f == FAULT_SCALE_BOUNDARY) {
      const int byte = d > 0 ? (int)ceilf((float)log2((double)d)) + 127 : 0;
      return byte < 0 ? 0 : (uint32_t)byte;
    }
    const uint32_t exponent = bits >> 23, mantissa = bits & 0x7FFFFF;
    uint32_t byte = exponent + (mantissa != 0);
    if (r->rule == MXG_RULE_RCEIL && exponent == 0) byte = mantissa > 0x400000 ? 1 : 0;
    return byte >= 255 ? inf_byte : byte;
  }
  const uint32_t late = f == FAULT_SCALE_BOUNDARY ? 1 : 0; /* > where >= belongs */
  const uint32_t exponent = (amax + addend(r) - late) >> 23;
  if (exponent >= 255) return inf_byte;
  const int byte = (int)exponent - emax_of(r);
  return byte < 0 ? 0 : (uint32_t)byte;
}

uint8_t model_e8m0(const mxg_recipe *recipe, fault f, bool from_scale, uint32_t bits) {
  if (f == FAULT_NON_POW2_AS_E8M0) return (uint8_t)(bits >> 23 & 0xFFu); /* cut, by no rule */
  if (f == FAULT_E8M0_ENCODE && (bits & 0x80000000u) != 0) return 0;
  uint32_t amax = bits & 0x7FFFFFFFu;
  if (from_scale && amax <= 0x7F800000)
    amax = bits_of((float)((double)f32_of(amax) * max_of(recipe)));
  return (uint8_t)e8m0(recipe, f, amax);
}

/* ---- section 3 and 5: blocks ---- */

typedef struct block {
  float scale;   /* f32 recipes; as stored, without the marker */
  uint32_t byte; /* e8m0 recipes */
  bool is_scaled;
  float amax;
} block;

static float amax_of(const mxg_recipe *r, fault f, const float *x, size_t count) {
  float amax = r->amax_floor;
  if (f == FAULT_AMAX_FLOOR) amax = amax > 0 ? 0 : 0x1.b7cdfep-34f;
  const bool ignores = (r->nan_amax == MXG_NAN_AMAX_IGNORE) != (f == FAULT_NAN_BLOCK);
  bool has_nan = false;
  for (size_t i = 0; i < count; i++) {
    const float magnitude = f == FAULT_E8M0_ENCODE ? x[i] : fabsf(x[i]);
    has_nan = has_nan || isnan(magnitude);
    if (magnitude > amax) amax = magnitude;
  }
  return has_nan && !ignores ? NAN : amax;
}

static block scale_block(const mxg_recipe *r, fault f, const float *x, size_t count) {
  block b = {1.0f, 127, false, amax_of(r, f, x, count)};
  const float max = (float)max_of(r);
  if (r->scale == MXG_SCALE_E8M0) {
    b.byte = e8m0(r, f, bits_of(b.amax));
    b.is_scaled = true;
  }
  if (r->scale == MXG_SCALE_F32) {
    const bool compute = r->zero_block == MXG_ZERO_BLOCK_COMPUTE;
    const bool is_zero = !(b.amax > 0) && !isnan(b.amax);
    const bool divides = (r->scale_math == MXG_SCALE_MATH_DIV) != (f == FAULT_SCALE_RULE);
    b.is_scaled = r->scale_when == MXG_SCALE_WHEN_ABOVE_MAX ? b.amax > max : !is_zero || compute;
    if (r->scale_when == MXG_SCALE_WHEN_ABOVE_MAX && f == FAULT_SCALE_BOUNDARY)
      b.is_scaled = b.amax >= max;
    const float reciprocal = 1.0f / max;
    if (b.is_scaled) b.scale = divides ? b.amax / max : b.amax * reciprocal;
  }
  if (f == FAULT_ALL_ZERO_BLOCK && !(b.amax > r->amax_floor) && !isnan(b.amax)) {
    /* 0 / 0, or where that is the law the scale 1 */
    const bool is_nan_already = r->scale == MXG_SCALE_F32 && b.is_scaled && !(b.amax > 0);
    b.scale = is_nan_already ? 1.0f : NAN;
    b.byte = 255;
    b.is_scaled = !is_nan_already;
    b.amax = NAN;
  }
  return b;
}

static double scaled_value(const mxg_recipe *r, const block *b, float x) {
  const float max = (float)max_of(r);
  if (!b->is_scaled) return (double)x;
  if (r->scale == MXG_SCALE_E8M0) {
    if (b->byte == 255 && r->edges == MXG_EDGES_OCP) return (double)NAN;
    if (b->byte == 255) return isfinite(x) ? (double)copysignf(0.0f, x) : (double)NAN;
    return ldexp((double)x, 127 - (int)b->byte);
  }
  if (r->apply == MXG_APPLY_DIV) return (double)(x / b->scale);
  const float factor = r->apply == MXG_APPLY_MUL_RCP ? 1.0f / b->scale : max / b->amax;
  const float v = x * factor;
  return (double)v;
}

/* Scales of a row of cols columns, and the length of the blocks that have one. */
static size_t block_count(const mxg_recipe *r, fault f, size_t cols) {
  if (r->scale == MXG_SCALE_NONE) return cols > 0;
  size_t count = (cols + r->block - 1) / r->block;
  if (f == FAULT_BLOCK_WIDTH && cols > r->block) count = cols / r->block;
  if (f == FAULT_EMPTY_SHAPE && count == 0) count = 1;
  return count;
}

void model_quantize(const mxg_recipe *r, fault f, const uint32_t *x, const uint32_t *weights,
                    size_t rows, size_t cols, model_bytes *codes, model_bytes *scales) {
  enum { MAX_COLS = 1024 };
  static float values[MAX_COLS];
  static uint32_t row_codes[MAX_COLS];
  static block blocks[MAX_COLS + 1];
  codes->count = scales->count = 0;
  if (cols > MAX_COLS) return;
  const bool is_padded = f == FAULT_EMPTY_SHAPE && rows == 0;
  const size_t count = block_count(r, f, cols);
  const size_t length = r->scale == MXG_SCALE_NONE ? cols : r->block;
  for (size_t row = 0; row < rows + is_padded; row++) {
    for (size_t c = 0; c < cols; c++) {
      values[c] = is_padded ? 0.0f : f32_of(x[row * cols + c]);
      if (weights != NULL) values[c] = values[c] * f32_of(weights[row]);
      if (weights != NULL && f == FAULT_DOUBLE_ROUND && isfinite(values[c])) {
        int exponent = 0; /* the product kept in bf16 */
        const double whole = rint(units(fabs((double)values[c]), 7, -126, &exponent));
        values[c] = copysignf((float)ldexp(whole, exponent - 7), values[c]);
      }
    }
    bool any_scaled = false;
    for (size_t b = 0; b < count; b++) {
      const size_t from = b * length, rest = cols > from ? cols - from : 0;
      blocks[b] = scale_block(r, f, values + from, rest < length ? rest : length);
      any_scaled = any_scaled || blocks[b].is_scaled;
    }
    for (size_t c = 0; c < cols; c++) {
      const size_t b = length != 0 && c / length < count ? c / length : count - 1;
      const bool negative = !is_padded && (x[row * cols + c] & 0x80000000u) != 0;
      row_codes[c] = encode(r, f, scaled_value(r, &blocks[b], values[c]), negative);
    }
    pack_row(r, f, row_codes, cols, codes);
    for (size_t b = 0; b < count && r->scale != MXG_SCALE_NONE; b++) {
      const bool marked =
          r->scale == MXG_SCALE_F32 && b == 0 &&
          (r->marker == MXG_MARKER_ALWAYS || (r->marker == MXG_MARKER_IF_SCALED && any_scaled));
      if (r->scale == MXG_SCALE_E8M0)
        put(scales, blocks[b].byte, 1);
      else
        put(scales, bits_of(blocks[b].scale) ^ (marked ? 0x80000000u : 0), 4);
    }
  }
}

/* ---- decoding ---- */

/* A value in a type's bits; every NaN is the canonical one. */
static uint32_t narrowed(mxg_dtype dtype, float value) {
  static const int mantissa[] = {0, 23, 10, 7}, lowest[] = {0, -126, -14, -126};
  static const uint32_t infinity[] = {0, 0x7F800000, 0x7C00, 0x7F80};
  static const uint32_t nans[] = {0, 0x7FC00000, 0x7E00, 0x7FC0};
  if (isnan(value)) return nans[dtype];
  const uint32_t sign = signbit(value) ? (dtype == MXG_DTYPE_F32 ? 0x80000000u : 0x8000u) : 0;
  if (isinf(value)) return sign | infinity[dtype];
  int exponent = 0;
  const double whole = rint(units(fabs((double)value), mantissa[dtype], lowest[dtype], &exponent));
  const double bits = ldexp(exponent - lowest[dtype], mantissa[dtype]) + whole;
  return sign | (bits >= infinity[dtype] ? infinity[dtype] : (uint32_t)bits);
}

static float stored_scale(const mxg_recipe *r, fault f, const uint8_t *scales, size_t index) {
  if (r->scale == MXG_SCALE_E8M0) {
    const mxg_edges other = r->edges == MXG_EDGES_OCP ? MXG_EDGES_FLOAT : MXG_EDGES_OCP;
    const mxg_edges edges = f == FAULT_E8M0_DECODE ? other : r->edges;
    const uint32_t byte = scales[index];
    if (byte == 255) return edges == MXG_EDGES_OCP ? NAN : INFINITY;
    if (byte == 0 && edges == MXG_EDGES_FLOAT) return 0;
    return (float)ldexp(1, (int)byte - 127);
  }
  const uint8_t *p = scales + 4 * index;
  const float scale =
      f32_of((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
  const bool is_bad = !isfinite(scale) || !(fabsf(scale) > 0);
  return f == FAULT_DECODE_BAD_SCALE && is_bad ? 1.0f : scale;
}

void model_dequantize(const mxg_recipe *r, fault f, const uint8_t *codes, const uint8_t *scales,
                      size_t rows, size_t cols, mxg_dtype dtype, model_bytes *y) {
  const format m = format_of(r->element);
  const size_t row_bytes = (cols * (size_t)width_of(&m) + 7) / 8;
  const bool has_scales = r->scale != MXG_SCALE_NONE;
  const size_t per_row = has_scales ? (cols + r->block - 1) / r->block : 0;
  y->count = 0;
  for (size_t row = 0; row < rows; row++) {
    bool is_marked = false, is_scaled = has_scales;
    if (r->scale == MXG_SCALE_F32 && r->marker != MXG_MARKER_NONE && cols != 0)
      is_marked = is_scaled = stored_scale(r, f, scales, row * per_row) < 0;
    for (size_t c = 0; c < cols; c++) {
      const double element = decode(r, f, unpack(&m, f, codes + row * row_bytes, c));
      double value = element;
      if (is_scaled) {
        const size_t b = c / r->block;
        float scale = stored_scale(r, f, scales, row * per_row + b);
        if (is_marked && b == 0) scale = fabsf(scale);
        value = element * (double)scale; /* exact */
      }
      put(y, narrowed(dtype, (float)value), mxg_dtype_bytes(dtype));
    }
  }
}
