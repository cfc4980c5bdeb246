/* vector_file.c
 * SPDX-License-Identifier: MIT */
#include "vector_file.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const section_names[SECTIONS] = {"tests", "weighted_tests", "decode_tests",
                                             "scale_tests", "layout_tests"};

static int by_name(const void *a, const void *b) {
  return strcmp(((const vector_file *)a)->name, ((const vector_file *)b)->name);
}

static void open_one(vector_file *file) {
  char path[512];
  json_error_t error;
  snprintf(path, sizeof path, "%s/tests/vectors/%s", MXGOLD_SOURCE_DIR, file->name);
  file->document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (file->document == NULL) ck_abort_msg("%s: line %d: %s", file->name, error.line, error.text);
  const char *text = json_string_value(json_object_get(file->document, "recipe"));
  if (text == NULL || mxg_recipe_parse(text, &file->recipe, NULL) != MXG_OK)
    ck_abort_msg("%s: no recipe", file->name);
}

size_t vector_files_open(vector_file *files, size_t capacity) {
  DIR *directory = opendir(MXGOLD_SOURCE_DIR "/tests/vectors");
  if (directory == NULL) ck_abort_msg("cannot read tests/vectors");
  size_t count = 0;
  for (const struct dirent *entry = NULL; (entry = readdir(directory)) != NULL;) {
    const char *dot = strrchr(entry->d_name, '.');
    if (dot == NULL || strcmp(dot, ".json") != 0) continue;
    ck_assert_msg(count < capacity, "too many files");
    ck_assert_msg(strlen(entry->d_name) < sizeof files[count].name, "%s", entry->d_name);
    memset(&files[count], 0, sizeof files[count]);
    memcpy(files[count++].name, entry->d_name, strlen(entry->d_name));
  }
  closedir(directory);
  qsort(files, count, sizeof *files, by_name);
  for (size_t i = 0; i < count; i++) open_one(&files[i]);
  return count;
}

void vector_files_close(vector_file *files, size_t count) {
  for (size_t i = 0; i < count; i++) json_decref(files[i].document);
}

size_t vector_count(const vector_file *file, section s) {
  return json_array_size(json_object_get(file->document, section_names[s]));
}

const json_t *vector_at(const vector_file *file, section s, size_t index) {
  return json_array_get(json_object_get(file->document, section_names[s]), index);
}

bool vector_has_flag(const json_t *test, const char *flag) {
  const json_t *flags = json_object_get(test, "flags");
  for (size_t i = 0; i < json_array_size(flags); i++)
    if (strcmp(json_string_value(json_array_get(flags, i)), flag) == 0) return true;
  return false;
}

const char *vector_name(const vector_file *file, const json_t *test) {
  static char text[160];
  const json_t *flag = json_array_get(json_object_get(test, "flags"), 0);
  snprintf(text, sizeof text, "%s id %lld [%s]", file->name,
           (long long)json_integer_value(json_object_get(test, "id")), json_string_value(flag));
  return text;
}

size_t vector_size(const json_t *test, const char *key) {
  return (size_t)json_integer_value(json_object_get(test, key));
}

const char *vector_text(const json_t *test, const char *key) {
  return json_string_value(json_object_get(test, key));
}

static unsigned digit(char c) {
  return (unsigned)(c <= '9' ? c - '0' : c - 'A' + 10);
}

void vector_bytes(const json_t *test, const char *key, model_bytes *out) {
  const char *hex = vector_text(test, key);
  const size_t count = hex == NULL ? 0 : strlen(hex) / 2;
  ck_assert_msg(count <= sizeof out->data, "%s is too long", key);
  out->count = count;
  for (size_t i = 0; i < count; i++)
    out->data[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
}
