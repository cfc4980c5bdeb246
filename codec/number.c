/* number.c: binary32 from text and back by exact integer arithmetic.
 *
 * A number in text is numerator / denominator * 2^exponent with integers of at most 1024 bits:
 * 200 digits are 665 bits in decimal and 800 in hex, the smallest denominator that matters is
 * 10^(200 + 46) with 818 bits, and a quotient of 24 bits adds 25 to either.
 * SPDX-License-Identifier: MIT */
#include "number.h"

#include <string.h>

/* ---- unsigned integers of a fixed size, least significant word first ---- */

enum { BIG_WORDS = 32, BIG_BITS = 32 * BIG_WORDS };

typedef struct big {
  uint32_t word[BIG_WORDS];
} big;

static big big_from(uint32_t value) {
  big out;
  memset(&out, 0, sizeof out);
  out.word[0] = value;
  return out;
}

static void big_mul_add(big *a, uint32_t factor, uint32_t addend) {
  uint64_t carry = addend;
  for (int i = 0; i < BIG_WORDS; i++) {
    carry += (uint64_t)a->word[i] * factor;
    a->word[i] = (uint32_t)(carry & 0xFFFFFFFFu);
    carry >>= 32;
  }
}

static void big_mul_power_of_10(big *a, int power) {
  for (; power > 0; power--) big_mul_add(a, 10, 0);
}

static int big_bit_length(const big *a) {
  for (int i = BIG_WORDS - 1; i >= 0; i--) {
    int bits = 0;
    for (uint32_t rest = a->word[i]; rest != 0; rest >>= 1) bits++;
    if (bits != 0) return 32 * i + bits;
  }
  return 0;
}

static void big_shift_left(big *a, int count) {
  const int words = count / 32, bits = count % 32;
  for (int i = BIG_WORDS - 1; i >= 0; i--) {
    const uint32_t high = i >= words ? a->word[i - words] : 0;
    const uint32_t low = i > words ? a->word[i - words - 1] : 0;
    const uint64_t pair = (uint64_t)high << 32 | low;
    a->word[i] = (uint32_t)(pair >> (32 - bits) & 0xFFFFFFFFu);
  }
}

static void big_halve(big *a) {
  for (int i = 0; i < BIG_WORDS; i++) {
    const uint64_t above = i + 1 < BIG_WORDS ? a->word[i + 1] : 0;
    a->word[i] = (uint32_t)(((above << 32 | a->word[i]) >> 1) & 0xFFFFFFFFu);
  }
}

static int big_compare(const big *a, const big *b) {
  for (int i = BIG_WORDS - 1; i >= 0; i--)
    if (a->word[i] != b->word[i]) return a->word[i] < b->word[i] ? -1 : 1;
  return 0;
}

static void big_subtract(big *a, const big *b) {
  uint32_t borrow = 0;
  for (int i = 0; i < BIG_WORDS; i++) {
    const uint64_t take = (uint64_t)b->word[i] + borrow;
    borrow = a->word[i] < take;
    a->word[i] = (uint32_t)((((uint64_t)borrow << 32) + a->word[i] - take) & 0xFFFFFFFFu);
  }
}

/* floor(a / b) where it is below 2^bits, bits <= 32; a becomes the remainder. */
static uint32_t big_divide(big *a, const big *b, int bits) {
  big part = *b;
  uint32_t quotient = 0;
  big_shift_left(&part, bits);
  for (; bits > 0; bits--) {
    big_halve(&part);
    quotient <<= 1;
    if (big_compare(a, &part) >= 0) {
      big_subtract(a, &part);
      quotient |= 1;
    }
  }
  return quotient;
}

/* ---- rounding ---- */

enum { EXPONENT_MIN = -126, EXPONENT_MAX = 127, MANTISSA_BITS = 23 };

static const uint32_t INFINITY_BITS = 0x7F800000u;

/* Bits of numerator / denominator * 2^exponent, rounded once to nearest even; 7F800000 when that
 * is too large for binary32. numerator > 0. */
static uint32_t round_ratio(big numerator, big denominator, int exponent) {
  /* floor(log2) of the ratio is the difference of the bit lengths or one less */
  int log2 = big_bit_length(&numerator) - big_bit_length(&denominator);
  big a = numerator, b = denominator;
  if (log2 > 0) big_shift_left(&b, log2);
  if (log2 < 0) big_shift_left(&a, -log2);
  if (big_compare(&a, &b) < 0) log2--;
  log2 += exponent;
  if (log2 > EXPONENT_MAX) return INFINITY_BITS;
  if (log2 < EXPONENT_MIN - MANTISSA_BITS - 1) return 0;

  const int normal = log2 > EXPONENT_MIN ? log2 : EXPONENT_MIN;
  const int shift = exponent - (normal - MANTISSA_BITS); /* one unit in the last place becomes 1 */
  if (shift > 0) big_shift_left(&numerator, shift);
  if (shift < 0) big_shift_left(&denominator, -shift);
  uint32_t mantissa = big_divide(&numerator, &denominator, MANTISSA_BITS + 1);
  big_shift_left(&numerator, 1); /* now twice the remainder: against one half */
  const int half = big_compare(&numerator, &denominator);
  if (half > 0 || (half == 0 && (mantissa & 1) != 0)) mantissa++;
  /* the hidden bit, where there is one, and a carry out of the mantissa add to the exponent */
  return ((uint32_t)(normal - EXPONENT_MIN) << MANTISSA_BITS) + mantissa;
}

/* digits * 10^power; the guard keeps every product inside a big. */
static uint32_t round_decimal(const big *digits, int digit_count, int power) {
  const big one = big_from(1);
  if (big_bit_length(digits) == 0) return 0;
  if (power > 40) return INFINITY_BITS;    /* at least 10^41 */
  if (digit_count + power < -46) return 0; /* below 10^-46, half the least subnormal */
  big scaled = power < 0 ? one : *digits;
  big_mul_power_of_10(&scaled, power < 0 ? -power : power);
  return power < 0 ? round_ratio(*digits, scaled, 0) : round_ratio(scaled, one, 0);
}

/* digits * 2^power. */
static uint32_t round_hex(const big *digits, int power) {
  const int length = big_bit_length(digits);
  if (length == 0) return 0;
  if (length + power > EXPONENT_MAX + 1) return INFINITY_BITS;
  if (length + power < EXPONENT_MIN - MANTISSA_BITS) return 0; /* below half the least subnormal */
  return round_ratio(*digits, big_from(1), power);
}

/* ---- reading ---- */

static int digit_value(char c, int base) {
  int value = -1;
  if (c >= '0' && c <= '9') value = c - '0';
  if (c >= 'a' && c <= 'f') value = c - 'a' + 10;
  if (c >= 'A' && c <= 'F') value = c - 'A' + 10;
  return value < base ? value : -1;
}

/* A whole exponent "[+-]digits" from text[at] on. Far out of range it sticks to a value that is
 * beyond any number of MXG_NUMBER_LENGTH_MAX digits. */
static int parse_exponent(const char *text, size_t length, size_t at, int *exponent) {
  enum { FAR = 100000 };
  int value = 0, negative = 0;
  if (at < length && (text[at] == '+' || text[at] == '-')) negative = text[at++] == '-';
  if (at == length) return 0;
  for (; at < length; at++) {
    const int digit = digit_value(text[at], 10);
    if (digit < 0) return 0;
    if (value < FAR) value = 10 * value + digit;
  }
  *exponent = negative ? -value : value;
  return 1;
}

int mxg_number_parse(const char *text, size_t length, uint32_t *bits) {
  if (length > MXG_NUMBER_LENGTH_MAX) return 0;
  const int hex = length >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const int base = hex ? 16 : 10;
  big digits = big_from(0);
  int digit_count = 0, after_point = 0, point = 0, exponent = 0;
  size_t at = hex ? 2 : 0;
  for (; at < length; at++) {
    const int digit = digit_value(text[at], base);
    if (digit >= 0) {
      big_mul_add(&digits, (uint32_t)base, (uint32_t)digit);
      digit_count++;
      after_point += point;
    } else if (text[at] == '.' && !point) {
      point = 1;
    } else {
      break;
    }
  }
  if (digit_count == 0) return 0;
  if (at < length) {
    const char mark = text[at];
    if (hex ? mark != 'p' && mark != 'P' : mark != 'e' && mark != 'E') return 0;
    if (!parse_exponent(text, length, at + 1, &exponent)) return 0;
  }
  const uint32_t value = hex ? round_hex(&digits, exponent - 4 * after_point)
                             : round_decimal(&digits, digit_count, exponent - after_point);
  if (value >= INFINITY_BITS) return 0;
  *bits = value;
  return 1;
}

/* ---- printing ---- */

/* Nine significant digits tell any two binary32 values apart. */
enum { DIGITS_MAX = 9 };

typedef struct decimal {
  uint32_t digits; /* below 10^DIGITS_MAX */
  int power;       /* value = digits * 10^power */
} decimal;

static int reads_back(decimal candidate, uint32_t bits) {
  const big digits = big_from(candidate.digits);
  return round_decimal(&digits, DIGITS_MAX + 1, candidate.power) == bits;
}

/* Shortest decimal that reads back to `bits`, so its last digit is not 0; of two of one length, the
 * nearer. At a power of two, where the floats below lie closer, the one above may be the farther one
 * and read back alone. */
static decimal shortest(uint32_t bits) {
  const int field = (int)(bits >> MANTISSA_BITS);
  const uint32_t mantissa = bits & 0x7FFFFFu;
  const int exponent = (field > 0 ? field - 1 : 0) + EXPONENT_MIN - MANTISSA_BITS;
  decimal best = {0, 0};
  if (bits == 0) return best;
  const big significand = big_from(field > 0 ? mantissa | 0x800000u : mantissa);
  /* from a power of 10 above the value down: one more digit each time; log10(2) is 0.30103 */
  best.power = (big_bit_length(&significand) + exponent) * 30103 / 100000 + 1;
  for (;; best.power--) {
    big numerator = significand, unit = big_from(1);
    if (exponent > 0) big_shift_left(&numerator, exponent);
    if (exponent < 0) big_shift_left(&unit, -exponent);
    big_mul_power_of_10(best.power < 0 ? &numerator : &unit,
                        best.power < 0 ? -best.power : best.power);
    best.digits = big_divide(&numerator, &unit, 30);
    big_shift_left(&numerator, 1);
    const int up = big_compare(&numerator, &unit) > 0; /* the neighbour above is nearer */
    const decimal below = best, above = {best.digits + 1, best.power};
    if (reads_back(up ? above : below, bits)) return up ? above : below;
    if (!up && reads_back(above, bits)) return above;
  }
}

void mxg_number_print(uint32_t bits, char *out) {
  const decimal value = shortest(bits);
  char digits[DIGITS_MAX + 1];
  int count = 0, at = 0;
  for (uint32_t rest = value.digits; rest != 0; rest /= 10) count++;
  if (count == 0) count = 1;
  for (uint32_t i = 0, rest = value.digits; i < (uint32_t)count; i++, rest /= 10)
    digits[(uint32_t)count - 1 - i] = (char)('0' + rest % 10);
  int leading = value.power; /* decimal exponent of the first digit */
  for (uint32_t rest = value.digits; rest >= 10; rest /= 10) leading++;

  /* the range in which printf's %g is positional, too */
  const int positional = leading >= -4 && leading < DIGITS_MAX;
  const int before_point = positional ? leading + 1 : 1;
  if (before_point <= 0) {
    out[at++] = '0';
    out[at++] = '.';
    for (int i = before_point; i < 0; i++) out[at++] = '0';
  }
  for (int i = 0; i < count || i < before_point; i++) {
    if (i == before_point && i > 0) out[at++] = '.';
    out[at++] = i < count ? digits[i] : '0';
  }
  if (!positional) {
    int magnitude = leading < 0 ? -leading : leading;
    out[at++] = 'e';
    if (leading < 0) out[at++] = '-';
    if (magnitude >= 10) out[at++] = (char)('0' + magnitude / 10);
    out[at++] = (char)('0' + magnitude % 10);
  }
  out[at] = 0;
}
