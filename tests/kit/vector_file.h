/* vector_file.h: the files of tests/vectors, read.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_KIT_VECTOR_FILE_H
#define TESTS_KIT_VECTOR_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include "model.h"

typedef enum section { TESTS, WEIGHTED, DECODE, SCALE, LAYOUT, SECTIONS } section;
extern const char *const section_names[SECTIONS];

typedef struct vector_file {
  char name[64]; /* with .json */
  json_t *document;
  mxg_recipe recipe;
} vector_file;

/* Opens every *.json of tests/vectors, sorted by name; the count. Fails the test on a bad one. */
size_t vector_files_open(vector_file *files, size_t capacity);
void vector_files_close(vector_file *files, size_t count);

/* Cases of a section. */
size_t vector_count(const vector_file *file, section s);
const json_t *vector_at(const vector_file *file, section s, size_t index);
bool vector_has_flag(const json_t *test, const char *flag);
/* "mxfp4.json id 17 [TieToEven]"; static storage. */
const char *vector_name(const vector_file *file, const json_t *test);

/* Fields. */
size_t vector_size(const json_t *test, const char *key);
const char *vector_text(const json_t *test, const char *key);
/* Bytes of a hex field; `count` and data stay until `out` is used again. */
void vector_bytes(const json_t *test, const char *key, model_bytes *out);

#endif
