/* hostile.h: what is thrown at the tool's readers, how, and what came of it.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_HOSTILE_HOSTILE_H
#define TESTS_HOSTILE_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOB_MAX = 1 << 18, ARGUMENTS_MAX = 16 };

/* Bytes of a file, or of a text when text is wanted: data[bytes] is then 0. */
typedef struct blob {
  uint8_t data[BLOB_MAX];
  size_t bytes;
} blob;

void blob_clear(blob *b);
void blob_put(blob *b, const void *data, size_t bytes);
void blob_print(blob *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void blob_save(const blob *b, const char *path);
void blob_load(blob *b, const char *path);

/* ---- random choices: one stream, seeded once ---- */
void random_seed(uint64_t seed);
uint64_t random_next(void);
size_t random_below(size_t limit);

/* ---- files (files.c) ---- */

/* A right file, and mutations of one that know nothing of its format. */
void make_npy(blob *b, const char *header, size_t data_bytes);
void make_safetensors(blob *b, const char *header, size_t data_bytes);
void mutate_truncate(blob *b);
void mutate_extend(blob *b);
void mutate_flip(blob *b, size_t first, size_t behind); /* 1 to 8 bits of [first, behind) */
void mutate_move(blob *b);                              /* a part over another part */
void make_garbage(blob *b);

/* ---- throws (main.c) ---- */

typedef enum verdict {
  MAY_PASS,     /* refused or read: the tool's choice, but in good order */
  MUST_REFUSE,  /* exit code 2 or 3 with one message */
  MUST_REFUSE_3 /* the same, 3: the fault is in the file */
} verdict;

/* Runs the tool with arguments (NULL-terminated) under limits of memory and time, and judges how it
 * ended: exit code 0 to 3; with 2 and 3 exactly one line on standard error that begins with "mxgold"
 * and has no control characters; no output file unless the exit code is 0 or 1; memory below 64 MiB.
 * reader and kind are the row of the table that counts it. */
void throw_at(const char *reader, const char *kind, verdict expected, const char *const *arguments);

/* Everything there is to throw; `times` inputs of each random kind. */
void throw_npy(size_t times);
void throw_safetensors(size_t times);
void throw_pairs(size_t times);
void throw_stream(size_t times); /* what `mxgold verify` reads */
void throw_raw(size_t times);
void throw_text(size_t times);
void throw_options(size_t times);
void throw_special_files(void);

#endif
