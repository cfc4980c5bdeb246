/* html.c: see html.h.
 * SPDX-License-Identifier: MIT */
#include "html.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { LONGEST_TEXT = 240 };

static void write_bytes(mxg_html *html, const char *data, size_t bytes) {
  if (html->status == MXG_EXIT_OK) html->status = mxg_output_write(html->output, data, bytes);
}

void mxg_html_put(mxg_html *html, const char *markup) {
  write_bytes(html, markup, strlen(markup));
}

void mxg_html_print(mxg_html *html, const char *format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  mxg_html_put(html, text);
}

/* A UTF-8 sequence: its length and its character; 0 where it is none. */
static size_t sequence(const unsigned char *at, uint32_t *character) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const size_t length = at[0] < 0x80             ? 1
                        : (at[0] & 0xE0) == 0xC0 ? 2
                        : (at[0] & 0xF0) == 0xE0 ? 3
                        : (at[0] & 0xF8) == 0xF0 ? 4
                                                 : 0;
  if (length == 0) return 0;
  *character = length == 1 ? at[0] : at[0] & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xC0) != 0x80) return 0; /* a terminating 0 ends here too */
    *character = *character << 6 | (at[i] & 0x3F);
  }
  const bool is_surrogate = *character >= 0xD800 && *character < 0xE000;
  return *character < least[length] || *character > 0x10FFFF || is_surrogate ? 0 : length;
}

/* Characters that have no shape of their own, or change that of others. */
static bool is_hidden(uint32_t c) {
  return (c >= 0x80 && c < 0xA0) || c == 0xAD || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         c == 0x61C || c == 0x180E || (c >= 0xE0000 && c <= 0xE0FFF) || (c & 0xFFFE) == 0xFFFE;
}

static void put_character(mxg_html *html, const unsigned char *at, size_t length,
                          uint32_t character) {
  if (length == 0)
    mxg_html_print(html, "\\x%02X", at[0]);
  else if (character < 0x20 || character == 0x7F)
    mxg_html_print(html, "\\x%02" PRIX32, character);
  else if (is_hidden(character))
    mxg_html_print(html, "\\u{%" PRIX32 "}", character);
  else if (strchr("<>&\"'", (int)character) && character < 0x80)
    mxg_html_print(html, "&#%" PRIu32 ";", character);
  else
    write_bytes(html, (const char *)at, length);
}

void mxg_html_text(mxg_html *html, const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  for (size_t shown = 0; *at; shown++) {
    uint32_t character = 0;
    const size_t length = sequence(at, &character);
    if (shown == LONGEST_TEXT) {
      mxg_html_put(html, "...");
      return;
    }
    put_character(html, at, length, character);
    at += length ? length : 1;
  }
}

const char *mxg_grouped(uint64_t count) {
  static char texts[4][32];
  static unsigned turn;
  char *text = texts[turn++ % 4], digits[24];
  const int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
  char *out = text;
  for (int i = 0; i < length; i++) {
    if (i && (length - i) % 3 == 0) *out++ = ',';
    *out++ = digits[i];
  }
  *out = 0;
  return text;
}
