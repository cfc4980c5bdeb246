/* pipe_quantize.c: an MXFP4 quantiser of its own, and the few lines that put it under test:
 *
 *   cc -O2 examples/pipe_quantize.c -o pipe_quantize
 *   mxgold gen --recipe mxfp4 | ./pipe_quantize | mxgold verify --recipe mxfp4
 *
 * Put your kernel in place of quantize_row(), or copy main(). It uses nothing of mxgold.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 32 };

/* ---- the program under test: OCP MXFP4, E2M1 in blocks of 32 under an E8M0 scale ---- */

/* Nearest E2M1 code of a magnitude, ties to the even code; above the last midpoint it is 6. */
static unsigned code_of(double magnitude) {
  static const double midpoints[] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0};
  unsigned code = 0;
  while (code < 7 && (magnitude > midpoints[code] || (magnitude == midpoints[code] && code % 2)))
    code++;
  return code;
}

/* One row: codes, two a byte, the first in the low half; one scale byte a block. */
static void quantize_row(const float *x, size_t cols, uint8_t *codes, uint8_t *scales) {
  for (size_t first = 0; first < cols; first += BLOCK) {
    const size_t last = first + BLOCK < cols ? first + BLOCK : cols;
    uint32_t largest = 0; /* of the magnitudes, as bits: in the same order, NaN above all */
    for (size_t i = first; i < last; i++) {
      uint32_t bits;
      memcpy(&bits, &x[i], 4);
      if ((bits & 0x7FFFFFFF) > largest) largest = bits & 0x7FFFFFFF;
    }
    const int exponent = (int)(largest >> 23);
    const int scale = exponent == 255 ? 255 : exponent < 2 ? 0 : exponent - 2;
    scales[first / BLOCK] = (uint8_t)scale;
    for (size_t i = first; i < last; i++) {
      /* a scale of 255 is NaN, and so is every element: MXFP4 has no NaN, it writes the maximum */
      unsigned code = scale == 255 ? 7 : code_of(ldexp(fabs((double)x[i]), 127 - scale));
      if (signbit(x[i])) code |= 8;
      codes[i / 2] |= (uint8_t)(code << 4 * (i % 2));
    }
  }
}

/* ---- the stream: a line "ID SRC ROWS COLS X" in, a line "ID CODES SCALES" out ---- */

static unsigned digit(char c) {
  return (unsigned)(c <= '9' ? c - '0' : c - 'A' + 10);
}

/* `width` little-endian bytes in hexadecimal. */
static uint32_t word(const char *hex, int width) {
  uint32_t bits = 0;
  for (int i = width - 1; i >= 0; i--)
    bits = bits << 8 | digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]);
  return bits;
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static float half(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000) << 16, magnitude = bits & 0x7FFF;
  if (magnitude >= 0x7C00) return float_of(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  const float value = float_of(magnitude << 13) * 0x1p112f; /* subnormal ones come out right too */
  return sign ? -value : value;
}

static void read_values(const char *src, const char *hex, size_t count, float *x) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(src, "f32") == 0) x[i] = float_of(word(hex + 8 * i, 4));
    if (strcmp(src, "bf16") == 0) x[i] = float_of(word(hex + 4 * i, 2) << 16);
    if (strcmp(src, "f16") == 0) x[i] = half(word(hex + 4 * i, 2));
  }
}

static void print_bytes(const uint8_t *bytes, size_t count) {
  if (count == 0) printf(" -"); /* no bytes at all */
  if (count > 0) printf(" ");
  for (size_t i = 0; i < count; i++) printf("%02X", bytes[i]);
}

int main(void) {
  char *line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) > 0) {
    if (line[0] == '#') { /* the header says what the cases are: verify wants it back */
      fputs(line, stdout);
      continue;
    }
    const char *id = strtok(line, " \n"), *src = strtok(NULL, " \n");
    const size_t rows = strtoul(strtok(NULL, " \n"), NULL, 10);
    const size_t cols = strtoul(strtok(NULL, " \n"), NULL, 10);
    const char *hex = strtok(NULL, " \n");
    const size_t row_bytes = (cols + 1) / 2, row_scales = (cols + BLOCK - 1) / BLOCK;
    float *x = calloc(rows * cols + 1, sizeof *x);
    uint8_t *codes = calloc(rows * row_bytes + 1, 1), *scales = calloc(rows * row_scales + 1, 1);
    read_values(src, hex, rows * cols, x);
    for (size_t row = 0; row < rows; row++)
      quantize_row(x + row * cols, cols, codes + row * row_bytes, scales + row * row_scales);
    printf("%s", id);
    print_bytes(codes, rows * row_bytes);
    print_bytes(scales, rows * row_scales);
    printf("\n");
    free(x);
    free(codes);
    free(scales);
  }
  free(line);
  return 0;
}
