/* plant.c: what programs with a known fault would write, for the tests of the diagnosis. Elements
 * are encoded by search in the golden model's decode table, and everything else is written out
 * anew: nothing is shared with the diagnosis.
 *
 *   plant input f32|bf16|f16 ROWS COLS SEED                        values, raw, to standard output
 *   plant quantize RECIPE FAULTS DTYPE ROWS COLS X.raw C.bin S.bin [ROW_WEIGHTS.raw]
 *   plant dequantize RECIPE FAULTS TO ROWS COLS C.bin S.bin OUT.raw
 *   plant combine RECIPE FAULTS TO ROWS COLS W.raw|- OUT.raw SLOTS.bin|-...
 *
 * RECIPE is the right one. FAULTS: names joined by '+', or "none"; an item with '=' changes the
 * recipe that is followed, preset=NAME replaces it.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../codec/mxgold.h"

static void die(const char *why, const char *what) {
  fprintf(stderr, "plant: %s: %s\n", why, what);
  exit(2);
}

/* Kept until the program ends. */
static void *room(size_t bytes) {
  static void *rooms[256];
  static size_t count;
  void *memory = calloc(bytes + 16, 1);
  if (!memory || count == sizeof rooms / sizeof rooms[0]) die("memory", "out");
  return rooms[count++] = memory;
}

static char faults[512];

static int has(const char *fault) {
  const size_t length = strlen(fault);
  for (const char *at = faults; (at = strstr(at, fault)) != NULL; at++)
    if ((at == faults || at[-1] == '+') && (at[length] == 0 || at[length] == '+')) return 1;
  return 0;
}

static mxg_recipe followed(const char *right, const char *fault_text) {
  char text[1024], items[512];
  snprintf(faults, sizeof faults, "%s", fault_text);
  snprintf(items, sizeof items, "%s", fault_text);
  snprintf(text, sizeof text, "%s", right);
  mxg_recipe recipe;
  for (char *item = strtok(items, "+"); item; item = strtok(NULL, "+")) {
    if (strncmp(item, "preset=", 7) == 0) {
      snprintf(text, sizeof text, "%s", item + 7);
    } else if (strchr(item, '=')) {
      strcat(text, ",");
      strcat(text, item);
    }
  }
  /* a key that the right recipe's text sets already would be there twice */
  size_t at = 0;
  if (mxg_recipe_parse(text, &recipe, &at) != MXG_OK) die("recipe", text);
  return recipe;
}

/* ---- files ---- */

static unsigned char *read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) die("open", path);
  fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  unsigned char *data = room(*bytes);
  if (fread(data, 1, *bytes, file) != *bytes) die("read", path);
  fclose(file);
  return data;
}

static void write_file(const char *path, const void *data, size_t bytes) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) die("write", path);
}

static uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, 4);
  return bits;
}

static float float_of(uint32_t bits) {
  float v;
  memcpy(&v, &bits, 4);
  return v;
}

static mxg_dtype dtype_of(const char *name) {
  return strcmp(name, "f32") == 0    ? MXG_DTYPE_F32
         : strcmp(name, "bf16") == 0 ? MXG_DTYPE_BF16
                                     : MXG_DTYPE_F16;
}

static float round_to(mxg_dtype dtype, float v) {
  uint16_t half = 0;
  float back = v;
  if (dtype == MXG_DTYPE_F32) return v;
  mxg_ref_from_f32(dtype, &v, 1, &half);
  mxg_ref_to_f32(dtype, &half, 1, &back);
  return back;
}

/* ---- inputs ---- */

static uint64_t state;

static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545F4914F6CDD1Du;
}

static double uniform(void) {
  return (double)(next_random() >> 11) * 0x1p-53;
}

/* Bell-shaped values; rows of other sizes; now and then a zero block, a block of tiny numbers, a
 * power of two, a subnormal, an outlier. */
static void make_input(const char *name, size_t rows, size_t cols) {
  const mxg_dtype dtype = dtype_of(name);
  for (size_t row = 0; row < rows; row++) {
    const double size = ldexp(1.0, (int)(row % 13) * 2 - 10);
    for (size_t col = 0; col < cols; col++) {
      double v = (uniform() + uniform() + uniform() + uniform() - 2.0) * 1.7 * size;
      const size_t group = row * 64 + col / 32;
      if (group % 29 == 7) v = 0.0;
      if (group % 31 == 9) v *= dtype == MXG_DTYPE_F16 ? 1e-3 : 1e-13;
      if (group % 37 == 11 && dtype != MXG_DTYPE_F16) v *= 1e-38;
      if (group % 41 == 13) v = ldexp(v < 0 ? -1.0 : 1.0, (int)(col % 5) - 4);
      if (next_random() % 211 == 0) v *= 9.0;
      const float value = round_to(dtype, (float)v);
      if (dtype == MXG_DTYPE_F32) {
        fwrite(&value, 4, 1, stdout);
      } else {
        uint16_t half = 0;
        mxg_ref_from_f32(dtype, &value, 1, &half);
        fwrite(&half, 2, 1, stdout);
      }
    }
  }
}

/* ---- elements: search in a table of magnitudes ---- */

typedef struct magnitudes {
  mxg_traits traits;
  float value[128]; /* ascending with the code */
  int count;        /* finite ones */
} magnitudes;

static magnitudes table_of(mxg_element element) {
  magnitudes out = {.traits = mxg_element_traits(element)};
  out.count = out.traits.max_code + 1;
  for (int code = 0; code < out.count; code++) {
    const uint8_t byte = (uint8_t)code;
    mxg_ref_decode_f32(element, &byte, 1, &out.value[code]);
  }
  return out;
}

/* Magnitude code for a >= 0; count: beyond the maximum by the rounding in force. */
static int search_code(const magnitudes *in, double a) {
  int low = 0;
  while (low + 1 < in->count && (double)in->value[low + 1] <= a) low++;
  const double below = (double)in->value[low];
  /* beyond the last code goes on as if there were one more */
  const double above =
      low + 1 < in->count ? (double)in->value[low + 1] : 2.0 * below - (double)in->value[low - 1];
  const double from_below = a - below, to_above = above - a;
  if (has("truncate") || from_below == 0.0) return a >= above ? low + 1 : low;
  if (from_below < to_above) return low;
  if (from_below > to_above) return low + 1;
  if (has("ties-away")) return low + 1;
  if (has("ties-to-zero")) return low;
  return low % 2 ? low + 1 : low;
}

static mxg_element sibling(mxg_element element) {
  return element == MXG_ELEMENT_E4M3FN     ? MXG_ELEMENT_E4M3FNUZ
         : element == MXG_ELEMENT_E4M3FNUZ ? MXG_ELEMENT_E4M3FN
         : element == MXG_ELEMENT_E5M2     ? MXG_ELEMENT_E5M2FNUZ
         : element == MXG_ELEMENT_E5M2FNUZ ? MXG_ELEMENT_E5M2
                                           : element;
}

static unsigned with_sign(const magnitudes *in, int code, int sign) {
  if (in->traits.fnuz && code == 0) return 0;
  return (unsigned)code | (sign ? in->traits.sign_bit : 0u);
}

static unsigned encode(const mxg_recipe *recipe, const magnitudes *in, double v, int source_sign) {
  double max = recipe->element_max > 0 ? (double)recipe->element_max : (double)in->traits.max;
  if (max > (double)in->traits.max) max = (double)in->traits.max;
  const int top = search_code(in, max);
  if (isnan(v)) {
    switch (recipe->nan_element) {
      case MXG_NAN_ELEMENT_CODE:
        return in->traits.fnuz ? 0x80u : with_sign(in, in->traits.nan_code, source_sign);
      case MXG_NAN_ELEMENT_NEG_MAX: return with_sign(in, top, 1);
      case MXG_NAN_ELEMENT_SIGN_MAX: return with_sign(in, top, source_sign);
      case MXG_NAN_ELEMENT_POS_MAX: return (unsigned)top;
      default: return 0;
    }
  }
  const int sign = signbit(v) != 0;
  double a = fabs(v);
  if (has("double-round-bf16")) a = (double)round_to(MXG_DTYPE_BF16, (float)a);
  if (has("double-round-f16")) a = (double)round_to(MXG_DTYPE_F16, (float)a);
  if (has("fnuz-bias:double")) a *= 2.0;
  const unsigned nonfinite =
      in->traits.fnuz
          ? 0x80u
          : with_sign(in, in->traits.inf_code ? in->traits.inf_code : in->traits.nan_code, sign);
  if (isinf(a) && recipe->overflow != MXG_OVERFLOW_SATURATE) return nonfinite;
  if (recipe->overflow != MXG_OVERFLOW_NONFINITE && a > max) a = max;
  int code = search_code(in, a);
  if (code >= in->count) return nonfinite;
  if (has("ftz:code") && code < 1 << in->traits.mantissa_bits) code = 0;
  return with_sign(in, code, sign);
}

/* ---- a reciprocal that is not right ---- */

static float reciprocal(float numerator, float s) {
  const float right = numerator / s;
  if (isinf(right) || isnan(right) || right == 0.0f) return right;
  if (has("reciprocal-approx:down")) return nextafterf(right, 0.0f);
  if (has("reciprocal-approx:up")) return nextafterf(right, INFINITY);
  if (has("reciprocal-approx:12")) return float_of(bits_of(right) & ~0x7FFu);
  if (has("reciprocal-approx:bf16")) return round_to(MXG_DTYPE_BF16, right);
  return right;
}

/* ---- quantise ---- */

typedef struct plan {
  mxg_recipe recipe;
  size_t rows, cols, used;
  const float *x;
  unsigned char *codes; /* a byte each */
  uint32_t *scales;     /* rows x used, as bits */
} plan;

static void quantize_block(plan *p, const magnitudes *in, size_t row, size_t block, int *scaled) {
  const mxg_recipe *r = &p->recipe;
  const size_t first = block * r->block;
  const size_t last = first + r->block < p->cols ? first + r->block : p->cols;
  const float *x = p->x + row * p->cols;
  const float max = r->element_max > 0 ? r->element_max : mxg_element_traits(r->element).max;
  float amax = r->amax_floor;
  int saw_nan = 0;
  for (size_t i = first; i < last; i++) {
    if (isnan(x[i])) saw_nan = 1;
    if (fabsf(x[i]) > amax) amax = fabsf(x[i]);
  }
  if (saw_nan && r->nan_amax == MXG_NAN_AMAX_PROPAGATE) amax = NAN;
  uint32_t stored = 0;
  int shift = 0, cast = 0, is_nan = 0;
  float s = 1.0f, factor = 1.0f;
  if (r->scale == MXG_SCALE_E8M0) {
    uint8_t byte = 0;
    mxg_ref_e8m0_from_amax(r, &amax, 1, &byte);
    if (has("scale-off-by-one:up") && byte < 254) byte++;
    if (has("scale-off-by-one:down") && byte > 0 && byte < 255) byte--;
    shift = 127 - byte;
    is_nan = byte == 255;
    if (has("scale-off-by-one:stored") && byte < 254) byte++;
    stored = byte;
  } else {
    cast = r->scale_when == MXG_SCALE_WHEN_ABOVE_MAX && !(amax > max);
    if (!cast && amax == 0.0f && r->zero_block == MXG_ZERO_BLOCK_UNIT) cast = 1;
    if (!cast) {
      s = r->scale_math == MXG_SCALE_MATH_DIV ? amax / max : amax * (1.0f / max);
      factor = r->apply == MXG_APPLY_MUL_MAX ? reciprocal(max, amax) : reciprocal(1.0f, s);
      if (has("scale-off-by-one:up")) {
        s *= 2.0f;
        factor *= 0.5f;
      }
      *scaled = 1;
      if (has("scale-off-by-one:stored")) s *= 2.0f;
    }
    is_nan = isnan(s);
    stored = bits_of(s);
  }
  p->scales[row * p->used + block] = stored;
  const int divides = r->apply == MXG_APPLY_DIV && !strstr(faults, "reciprocal-approx");
  for (size_t i = first; i < last; i++) {
    float value = x[i];
    if (has("ftz:input") && fabsf(value) < 0x1p-126f) value = copysignf(0.0f, value);
    double v = (double)value;
    if (is_nan)
      v = NAN;
    else if (r->scale == MXG_SCALE_E8M0)
      v = ldexp(v, shift);
    else if (!cast && divides)
      v = (double)(float)(value / s);
    else if (!cast)
      v = (double)(float)(value * factor);
    p->codes[row * p->cols + i] = (unsigned char)encode(r, in, v, signbit(x[i]) != 0);
  }
}

static void quantize_rows(plan *p) {
  const mxg_recipe *r = &p->recipe;
  const magnitudes in = table_of(has("fnuz-bias:other") ? sibling(r->element) : r->element);
  for (size_t row = 0; row < p->rows; row++) {
    int scaled = 0;
    if (r->scale == MXG_SCALE_NONE)
      for (size_t i = row * p->cols; i < (row + 1) * p->cols; i++)
        p->codes[i] = (unsigned char)encode(r, &in, (double)p->x[i], signbit(p->x[i]) != 0);
    for (size_t block = 0; block < p->used; block++) quantize_block(p, &in, row, block, &scaled);
    const int marks =
        r->marker == MXG_MARKER_ALWAYS || (r->marker == MXG_MARKER_IF_SCALED && scaled);
    if (p->used && marks && !has("marker-ignored")) p->scales[row * p->used] ^= 0x80000000u;
  }
}

static size_t write_codes(const plan *p, unsigned char *out) {
  const unsigned bits = (unsigned)mxg_element_traits(p->recipe.element).bits;
  size_t row_bytes = 0;
  mxg_payload_row_bytes(p->recipe.element, p->cols, &row_bytes);
  for (size_t row = 0; row < p->rows; row++)
    for (size_t col = 0; col < p->cols; col++) {
      const unsigned code = p->codes[row * p->cols + col];
      unsigned char *at = out + row * row_bytes;
      if (bits == 8) at[col] = (unsigned char)code;
      if (bits == 4)
        at[col / 2] |= (unsigned char)(code << ((col % 2 ^ (unsigned)has("nibble-swap")) * 4));
      if (bits == 6)
        for (unsigned b = 0; b < 6; b++)
          at[(col * 6 + b) / 8] |= (unsigned char)((code >> b & 1) << ((col * 6 + b) % 8));
    }
  return p->rows * row_bytes;
}

/* The place of a scale, written out from docs/LAYOUT.md. */
static size_t place(size_t x, size_t y, size_t rows, size_t n) {
  if (has("scale-transposed")) return y * rows + x;
  if (has("scale-shuffled:aiter"))
    return (x / 32 * n) * 32 + (y / 8) * 256 + (y % 4) * 64 + (x % 16) * 4 + ((y % 8) / 4) * 2 +
           (x % 32) / 16;
  if (has("scale-shuffled:blocked"))
    return ((x / 128) * (n / 4) + y / 4) * 512 + (x % 32) * 16 + ((x % 128) / 32) * 4 + y % 4;
  return x * n + y;
}

static size_t write_scales(const plan *p, unsigned char *out) {
  const size_t width = p->recipe.scale == MXG_SCALE_F32 ? 4 : 1;
  for (size_t row = 0; row < p->rows; row++)
    for (size_t block = 0; block < p->used; block++)
      for (size_t b = 0; b < width; b++)
        out[place(row, block, p->rows, p->used) * width + b] =
            (unsigned char)(p->scales[row * p->used + block] >> (8 * b));
  return p->rows * p->used * width;
}

static float *read_values(const char *path, mxg_dtype dtype, size_t count) {
  size_t bytes = 0;
  unsigned char *raw = read_file(path, &bytes);
  float *x = room(count * 4);
  if (bytes != count * mxg_dtype_bytes(dtype)) die("size", path);
  if (dtype == MXG_DTYPE_F32)
    memcpy(x, raw, bytes);
  else
    mxg_ref_to_f32(dtype, raw, count, x);
  free(raw);
  return x;
}

static void quantize(int argc, char **argv) {
  plan p = {.recipe = followed(argv[2], argv[3])};
  p.rows = strtoul(argv[5], NULL, 0);
  p.cols = strtoul(argv[6], NULL, 0);
  float *x = read_values(argv[7], dtype_of(argv[4]), p.rows * p.cols);
  size_t bytes = 0;
  if (argc > 10) {
    float *weights = (float *)(void *)read_file(argv[10], &bytes);
    for (size_t i = 0; i < p.rows * p.cols; i++) x[i] = x[i] * weights[i / p.cols];
  }
  /* a kernel that reads its input as f16 or bf16 */
  for (size_t i = 0; i < p.rows * p.cols; i++) {
    if (has("double-round-bf16:input")) x[i] = round_to(MXG_DTYPE_BF16, x[i]);
    if (has("double-round-f16:input")) x[i] = round_to(MXG_DTYPE_F16, x[i]);
  }
  p.x = x;
  p.used = mxg_scales_used(&p.recipe, p.cols);
  p.codes = room(p.rows * p.cols);
  p.scales = room(p.rows * p.used * 4);
  quantize_rows(&p);
  unsigned char *codes = room(p.rows * p.cols), *scales = room(p.rows * p.used * 4);
  write_file(argv[8], codes, write_codes(&p, codes));
  write_file(argv[9], scales, write_scales(&p, scales));
}

/* ---- dequantise and combine ---- */

static double element_at(const mxg_recipe *r, const unsigned char *row, size_t col) {
  const unsigned bits = (unsigned)mxg_element_traits(r->element).bits;
  uint8_t code = bits == 8 ? row[col] : 0;
  if (bits == 4)
    code = (uint8_t)(row[col / 2] >> ((col % 2 ^ (unsigned)has("nibble-swap")) * 4) & 15);
  if (bits == 6) {
    code = 0;
    for (unsigned b = 0; b < 6; b++)
      code |= (uint8_t)((row[(col * 6 + b) / 8] >> ((col * 6 + b) % 8) & 1) << b);
  }
  float v = 0.0f;
  mxg_ref_decode_f32(has("fnuz-bias:other") ? sibling(r->element) : r->element, &code, 1, &v);
  if (has("fnuz-bias:double")) v *= 2.0f;
  if (has("ftz:code") && (code & (unsigned)(mxg_element_traits(r->element).sign_bit - 1)) <
                             1u << mxg_element_traits(r->element).mantissa_bits)
    v = copysignf(0.0f, v);
  return (double)v;
}

/* The scale of a block among those of a row; 1 where the row is unscaled. */
static float scale_at(const mxg_recipe *r, const unsigned char *scales, size_t block) {
  float s = 1.0f, first = 1.0f;
  if (r->scale == MXG_SCALE_NONE) return 1.0f;
  if (r->scale == MXG_SCALE_E8M0) {
    int byte = scales[block];
    if (has("scale-off-by-one:up") && byte < 254) byte++;
    if (byte == 255) return r->edges == MXG_EDGES_FLOAT ? INFINITY : NAN;
    if (byte == 0 && r->edges == MXG_EDGES_FLOAT) return 0.0f;
    return (float)ldexp(1.0, byte - 127);
  }
  memcpy(&s, scales + 4 * block, 4);
  memcpy(&first, scales, 4);
  if (has("scale-off-by-one:up")) s *= 2.0f;
  if (r->marker == MXG_MARKER_NONE || has("marker-ignored")) return s;
  if (!(first < 0.0f)) return 1.0f;
  return block == 0 ? fabsf(s) : s;
}

static uint32_t finish(float v, mxg_dtype to) {
  if (has("ftz:result") && fabsf(v) < 0x1p-126f) v = copysignf(0.0f, v);
  if (isnan(v)) return to == MXG_DTYPE_F32 ? 0x7FC00000u : to == MXG_DTYPE_BF16 ? 0x7FC0u : 0x7E00u;
  if (has("double-round-bf16")) v = round_to(MXG_DTYPE_BF16, v);
  if (has("double-round-f16")) v = round_to(MXG_DTYPE_F16, v);
  if (to == MXG_DTYPE_F32) return bits_of(v);
  if (to == MXG_DTYPE_BF16 && has("truncate")) return bits_of(v) >> 16;
  if (to == MXG_DTYPE_BF16 && has("ties-away")) return (bits_of(v) + 0x8000u) >> 16;
  if (to == MXG_DTYPE_BF16 && has("ties-to-zero")) return (bits_of(v) + 0x7FFFu) >> 16;
  uint16_t half = 0;
  mxg_ref_from_f32(to, &v, 1, &half);
  return half;
}

static void put_value(unsigned char *out, size_t index, uint32_t bits, mxg_dtype to) {
  const uint16_t half = (uint16_t)bits;
  if (to == MXG_DTYPE_F32)
    memcpy(out + 4 * index, &bits, 4);
  else
    memcpy(out + 2 * index, &half, 2);
}

static void dequantize(char **argv) {
  const mxg_recipe r = followed(argv[2], argv[3]);
  const mxg_dtype to = dtype_of(argv[4]);
  const size_t rows = strtoul(argv[5], NULL, 0), cols = strtoul(argv[6], NULL, 0);
  size_t codes_bytes = 0, scales_bytes = 0;
  const unsigned char *codes = read_file(argv[7], &codes_bytes);
  const unsigned char *scales = read_file(argv[8], &scales_bytes);
  unsigned char *out = room(rows * cols * 4);
  const size_t width = r.scale == MXG_SCALE_F32 ? 4 : 1, stored = rows ? scales_bytes / rows : 0;
  unsigned char *row_scales = room(stored);
  for (size_t row = 0; row < rows; row++) {
    for (size_t y = 0; y < stored / width; y++)
      memcpy(row_scales + y * width, scales + place(row, y, rows, stored / width) * width, width);
    for (size_t col = 0; col < cols; col++) {
      const double t = element_at(&r, codes + row * (codes_bytes / rows), col);
      const float s = r.scale == MXG_SCALE_NONE ? 1.0f : scale_at(&r, row_scales, col / r.block);
      put_value(out, row * cols + col, finish((float)(t * (double)s), to), to);
    }
  }
  write_file(argv[9], out, rows * cols * mxg_dtype_bytes(to));
}

static void combine(int argc, char **argv) {
  const mxg_recipe r = followed(argv[2], argv[3]);
  const mxg_dtype to = dtype_of(argv[4]);
  const size_t rows = strtoul(argv[5], NULL, 0), cols = strtoul(argv[6], NULL, 0);
  const int top_k = argc - 9;
  size_t bytes = 0, payload = 0, slot = 0;
  const float *weights = strcmp(argv[7], "-") ? (float *)(void *)read_file(argv[7], &bytes) : NULL;
  unsigned char *sources[64] = {NULL};
  for (int k = 0; k < top_k; k++)
    if (strcmp(argv[9 + k], "-") != 0) sources[k] = read_file(argv[9 + k], &bytes);
  mxg_payload_row_bytes(r.element, cols, &payload);
  mxg_slot_bytes(&r, cols, mxg_scales_used(&r, cols), 0, &slot);
  if (slot != bytes / rows) slot = bytes / rows;
  unsigned char *out = room(rows * cols * 4);
  for (size_t i = 0; i < rows * cols; i++) {
    const size_t row = i / cols, col = i % cols;
    float terms[64], factors[64], acc = 0.0f, lanes[2] = {0.0f, 0.0f};
    for (int k = 0; k < top_k; k++) {
      terms[k] = factors[k] = 0.0f;
      if (!sources[k]) continue;
      const unsigned char *at = sources[k] + row * slot;
      const float t = (float)element_at(&r, at, col);
      const float s = r.scale == MXG_SCALE_NONE ? 1.0f : scale_at(&r, at + payload, col / r.block);
      terms[k] = weights ? t * s : t;
      factors[k] = weights ? weights[row * (size_t)top_k + (size_t)k] : s;
    }
    for (int n = 0; n < top_k; n++) {
      const int k = has("sum-order:descending") ? top_k - 1 - n : n;
      if (!sources[k]) continue;
      float *sum = has("sum-order:two") ? &lanes[k % 2] : &acc;
      if (r.accumulate == MXG_ACCUMULATE_FMA) {
        *sum = fmaf(terms[k], factors[k], *sum);
      } else {
        const volatile float product = terms[k] * factors[k];
        *sum = *sum + product;
      }
      if (has("double-round-bf16:sum")) *sum = round_to(MXG_DTYPE_BF16, *sum);
    }
    if (has("sum-order:two")) acc = lanes[0] + lanes[1];
    put_value(out, i, finish(acc, to), to);
  }
  write_file(argv[8], out, rows * cols * mxg_dtype_bytes(to));
}

int main(int argc, char **argv) {
  const char *verb = argc > 1 ? argv[1] : "";
  if (strcmp(verb, "input") == 0 && argc == 6) {
    state = strtoull(argv[5], NULL, 0) * 0x9E3779B97F4A7C15u + 1;
    make_input(argv[2], strtoul(argv[3], NULL, 0), strtoul(argv[4], NULL, 0));
  } else if (strcmp(verb, "quantize") == 0 && argc >= 10) {
    quantize(argc, argv);
  } else if (strcmp(verb, "dequantize") == 0 && argc == 10) {
    dequantize(argv);
  } else if (strcmp(verb, "combine") == 0 && argc >= 10) {
    combine(argc, argv);
  } else {
    die("unknown verb or wrong number of arguments", verb);
  }
  return 0;
}
