/* pipe_read.c: answers from a text or binary stream, one after the other, and what is wrong with
 * those that are none.
 * SPDX-License-Identifier: MIT */
#include "pipe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 16, LINE_START = 1 << 12, ID_DIGITS = 20, MALFORMED_LINES_SHOWN = 60 };

int mxg_reader_open(mxg_reader *reader, const char *path) {
  memset(reader, 0, sizeof *reader);
  const bool is_stdin = strcmp(path, "-") == 0;
  reader->path = is_stdin ? "standard input" : path;
  reader->file = is_stdin ? stdin : fopen(path, "rb");
  if (!reader->file) return mxg_fail(MXG_EXIT_FILE, "%s: %s", path, strerror(errno));
  reader->buffer = mxg_alloc(BUFFER_BYTES);
  reader->limit = 1 << 20;
  return MXG_EXIT_OK;
}

void mxg_reader_close(mxg_reader *reader) {
  if (reader->file && reader->file != stdin) fclose(reader->file);
  free(reader->buffer);
  free(reader->text);
  free(reader->first.data);
  free(reader->second.data);
  memset(reader, 0, sizeof *reader);
}

const char *mxg_reader_place(const mxg_reader *reader) {
  static char text[64];
  if (reader->is_binary)
    snprintf(text, sizeof text, "offset %" PRIu64, reader->offset);
  else
    snprintf(text, sizeof text, "line %" PRIu64, reader->line);
  return text;
}

/* ---- bytes ---- */

/* At least `wanted` unread bytes in the buffer, fewer only at the end of the stream. */
static size_t fill(mxg_reader *reader, size_t wanted) {
  if (reader->end - reader->begin >= wanted) return wanted;
  memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
  reader->end -= reader->begin;
  reader->begin = 0;
  while (reader->end < wanted) {
    const size_t got =
        fread(reader->buffer + reader->end, 1, BUFFER_BYTES - reader->end, reader->file);
    if (got == 0) break;
    reader->end += got;
  }
  return reader->end < wanted ? reader->end : wanted;
}

/* Reads a line into reader->text; false at the end of the stream, or when it is longer than any
 * answer (then text_bytes is not 0). */
static bool read_line(mxg_reader *reader) {
  const size_t most = 5 * reader->limit + LINE_START;
  reader->text_bytes = 0;
  reader->is_unterminated = false;
  reader->offset = reader->next_offset;
  while (fill(reader, 1)) {
    const unsigned char *from = reader->buffer + reader->begin;
    const size_t there = reader->end - reader->begin;
    const unsigned char *newline = memchr(from, '\n', there);
    const size_t part = newline ? (size_t)(newline - from) : there;
    if (reader->text_bytes + part + 1 > reader->text_capacity) {
      reader->text_capacity = 2 * (reader->text_bytes + part) + LINE_START;
      char *larger = realloc(reader->text, reader->text_capacity);
      if (!larger) exit(mxg_fail(MXG_EXIT_FILE, "out of memory"));
      reader->text = larger;
    }
    memcpy(reader->text + reader->text_bytes, from, part);
    reader->text_bytes += part;
    reader->text[reader->text_bytes] = 0;
    reader->begin += part + (newline != NULL);
    reader->next_offset += part + (newline != NULL);
    if (newline) {
      reader->line++;
      if (part && reader->text[reader->text_bytes - 1] == '\r')
        reader->text[--reader->text_bytes] = 0;
      return true;
    }
    if (reader->text_bytes > most) return false;
  }
  if (reader->text_bytes == 0) return false;
  reader->line++;
  reader->is_unterminated = true;
  return true;
}

mxg_header_result mxg_reader_header(mxg_reader *reader) {
  static const unsigned char magic[4] = {'M', 'X', 'G', 'A'};
  if (!fill(reader, 1)) return MXG_HEADER_EMPTY;
  while (fill(reader, 1) && reader->buffer[reader->begin] == '#') {
    if (!read_line(reader)) return MXG_HEADER_NONE;
    if (mxg_is_header(reader->text) && strlen(reader->text) == reader->text_bytes)
      return MXG_HEADER_FOUND;
  }
  reader->is_binary = fill(reader, 4) == 4 && memcmp(reader->buffer + reader->begin, magic, 4) == 0;
  if (!reader->is_binary) reader->has_pending = read_line(reader);
  return MXG_HEADER_NONE;
}

/* ---- text ---- */

__attribute__((format(printf, 3, 4))) static mxg_read_result bad(mxg_reader *reader,
                                                                 mxg_read_result result,
                                                                 const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reader->why, sizeof reader->why, format, arguments);
  va_end(arguments);
  /* what is wrong with a line that the end of the stream cuts is that it is cut */
  if (result == MXG_READ_MALFORMED && reader->is_unterminated) return MXG_READ_TRUNCATED;
  return result;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/* One hexadecimal field. */
static mxg_read_result read_hex(mxg_reader *reader, const char *field, size_t length,
                                const char *name, mxg_part *out) {
  if (length == 1 && field[0] == '-') length = 0;
  const size_t column = (size_t)(field - reader->text) + 1;
  for (size_t i = 0; i < length; i++)
    if (hex_digit(field[i]) < 0)
      return bad(reader, MXG_READ_MALFORMED,
                 "column %zu of the line, in %s, is '%c': write bytes as hexadecimal digits, "
                 "nothing between them, and '-' for no bytes",
                 column + i, name, field[i]);
  if (length % 2)
    return bad(reader, MXG_READ_MALFORMED, "%s has %zu hexadecimal digits: write two for each byte",
               name, length);
  unsigned char *bytes = mxg_part_reserve(out, length / 2);
  for (size_t i = 0; i < length / 2; i++)
    bytes[i] = (unsigned char)(hex_digit(field[2 * i]) << 4 | hex_digit(field[2 * i + 1]));
  return MXG_READ_ANSWER;
}

static bool read_id(mxg_reader *reader, const char *field, size_t length) {
  reader->id = 0;
  reader->has_id = length > 0 && length < ID_DIGITS;
  for (size_t i = 0; i < length && reader->has_id; i++) {
    reader->has_id = field[i] >= '0' && field[i] <= '9';
    reader->id = reader->id * 10 + (uint64_t)(field[i] - '0') % 10;
  }
  return reader->has_id;
}

static mxg_read_result read_fields(mxg_reader *reader) {
  const char *fields[4];
  size_t lengths[4], count = 0;
  reader->has_id = false;
  reader->first.bytes = reader->second.bytes = 0;
  for (const char *at = reader->text + strspn(reader->text, " \t"); *at;) {
    const size_t length = strcspn(at, " \t");
    if (count == 4) break;
    fields[count] = at;
    lengths[count++] = length;
    at += length + strspn(at + length, " \t");
  }
  if (strlen(reader->text) != reader->text_bytes)
    return bad(reader, MXG_READ_MALFORMED, "there is a zero byte in the line: an answer is %s",
               reader->form);
  if (count == 0 || !read_id(reader, fields[0], lengths[0]))
    return bad(
        reader, MXG_READ_MALFORMED,
        "'%.*s%s' does not begin with the number of a case: an answer is %s, and the program "
        "must print nothing else",
        MALFORMED_LINES_SHOWN, reader->text,
        reader->text_bytes > MALFORMED_LINES_SHOWN ? "..." : "", reader->form);
  const size_t wanted = reader->form[3] == 'C' ? 3 : 2; /* "ID CODES SCALES" or "ID Y" */
  if (count < 2 || count > 3)
    return bad(reader, MXG_READ_MALFORMED, "%s%zu fields, %zu expected: an answer is %s",
               count > 3 ? "more than " : "", count > 3 ? (size_t)3 : count, wanted, reader->form);
  mxg_read_result result =
      read_hex(reader, fields[1], lengths[1], wanted == 3 ? "CODES" : "Y", &reader->first);
  if (result == MXG_READ_ANSWER && count == 3)
    result = read_hex(reader, fields[2], lengths[2], "SCALES", &reader->second);
  return result;
}

static mxg_read_result next_text(mxg_reader *reader) {
  for (;;) {
    if (!reader->has_pending && !read_line(reader)) {
      if (reader->text_bytes == 0) return MXG_READ_END;
      reader->line++;
      return bad(
          reader, MXG_READ_LOST,
          "the line is longer than %zu bytes, more than any answer: each answer is a line of "
          "its own",
          5 * reader->limit);
    }
    reader->has_pending = false;
    const char first = reader->text[strspn(reader->text, " \t")];
    if (first != 0 && first != '#') return read_fields(reader);
    if (first == 0 && strlen(reader->text) != reader->text_bytes) return read_fields(reader);
  }
}

/* ---- binary ---- */

static size_t read_bytes(mxg_reader *reader, unsigned char *out, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const size_t there = fill(reader, 1) ? reader->end - reader->begin : 0;
    const size_t part = there < bytes - done ? there : bytes - done;
    if (part == 0) break;
    memcpy(out + done, reader->buffer + reader->begin, part);
    reader->begin += part;
    reader->next_offset += part;
    done += part;
  }
  return done;
}

static mxg_read_result next_binary(mxg_reader *reader) {
  unsigned char bytes[4 * MXG_PIPE_ANSWER_WORDS];
  uint32_t words[MXG_PIPE_ANSWER_WORDS] = {0};
  reader->has_id = false;
  reader->offset = reader->next_offset;
  const size_t got = read_bytes(reader, bytes, sizeof bytes);
  if (got == 0) return MXG_READ_END;
  if (got < sizeof bytes)
    return bad(reader, MXG_READ_TRUNCATED, "the stream ends %zu bytes into an answer", got);
  for (size_t i = 0; i < sizeof bytes; i++) words[i / 4] |= (uint32_t)bytes[i] << i % 4 * 8;
  if (words[0] != MXG_PIPE_ANSWER_MAGIC)
    return bad(
        reader, MXG_READ_LOST,
        "%02X %02X %02X %02X where an answer begins with \"MXGA\" (4D 58 47 41): does the one "
        "before it have the bytes that it says, and does the program print anything else?",
        bytes[0], bytes[1], bytes[2], bytes[3]);
  reader->has_id = true;
  reader->id = words[1];
  for (int i = 2; i < 4; i++)
    if (words[i] > 2 * reader->limit)
      return bad(reader, MXG_READ_LOST,
                 "the answer to case %" PRIu64 " says that it has %" PRIu32
                 " bytes of %s, more than any",
                 reader->id, words[i], i == 2 ? "codes or values" : "scales");
  const size_t first = words[2], second = words[3];
  const size_t read = read_bytes(reader, mxg_part_reserve(&reader->first, first), first) +
                      read_bytes(reader, mxg_part_reserve(&reader->second, second), second);
  if (read < first + second)
    return bad(reader, MXG_READ_TRUNCATED,
               "the stream ends inside the answer to case %" PRIu64 ": %zu of %zu bytes",
               reader->id, read, first + second);
  return MXG_READ_ANSWER;
}

mxg_read_result mxg_reader_next(mxg_reader *reader) {
  return reader->is_binary ? next_binary(reader) : next_text(reader);
}
