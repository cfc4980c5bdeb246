/* bench_rows.c: is standard input what `mxgold bench --json` promises?
 *
 *   bench_rows [OP...]    an array of objects with exactly the keys of docs/SPEED.md, values that can
 *                         be, bytes that are the golden model's, the limits of each size, and rows
 *                         of codec and ref for each OP
 *
 * SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static int faults;

static void fault(size_t row, const char *what, const char *key) {
  printf("row %zu: %s: %s\n", row, key, what);
  faults++;
}

typedef enum { TEXT, POSITIVE, NOT_NEGATIVE, RATE, VERDICT } value_kind;

static const struct {
  const char *key;
  value_kind kind;
} keys[] = {{"op", TEXT},
            {"impl", TEXT},
            {"isa", TEXT},
            {"size", TEXT},
            {"data", TEXT},
            {"threads", POSITIVE},
            {"ns", POSITIVE},
            {"ns_median", POSITIVE},
            {"ns_per_element", POSITIVE},
            {"gbps", POSITIVE},
            {"gbps_median", POSITIVE},
            {"bytes_per_cycle", RATE}, /* null where the clock is not known */
            {"bytes_per_cycle_median", RATE},
            {"memcpy_ratio", POSITIVE},
            {"spread", NOT_NEGATIVE},
            {"equal", VERDICT}};
enum { KEYS = sizeof keys / sizeof keys[0] };

static const char *text_of(const json_t *row, const char *key) {
  const char *text = json_string_value(json_object_get(row, key));
  return text ? text : "";
}

static int is_peer(const json_t *row) {
  return strncmp(text_of(row, "impl"), "peer-", 5) == 0;
}

static void check_value(size_t i, const json_t *row, const char *key, value_kind kind) {
  const json_t *value = json_object_get(row, key);
  if (value == NULL) {
    fault(i, "missing", key);
    return;
  }
  const double number = json_number_value(value);
  switch (kind) {
    case TEXT:
      if (!json_is_string(value) || json_string_length(value) == 0) fault(i, "no text", key);
      break;
    case POSITIVE:
      if (!(json_is_number(value) && number > 0)) fault(i, "not over 0", key);
      break;
    case NOT_NEGATIVE:
      if (!(json_is_number(value) && number >= 0)) fault(i, "below 0, or no number", key);
      break;
    case RATE:
      if (!json_is_null(value) && !(json_is_number(value) && number > 0))
        fault(i, "neither null nor over 0", key);
      break;
    case VERDICT:
      if (!json_is_boolean(value)) fault(i, "neither true nor false", key);
      if (!json_is_true(value) && !is_peer(row)) fault(i, "bytes differ", text_of(row, "op"));
      break;
  }
}

static void check_row(size_t i, const json_t *row) {
  if (!json_is_object(row)) {
    fault(i, "is no object", "row");
    return;
  }
  for (size_t k = 0; k < KEYS; k++) check_value(i, row, keys[k].key, keys[k].kind);
  if (json_object_size(row) != KEYS) fault(i, "keys that are not documented", text_of(row, "op"));
  if (json_number_value(json_object_get(row, "ns")) >
      json_number_value(json_object_get(row, "ns_median")))
    fault(i, "more than the median", "ns");
}

static int has_row(const json_t *rows, const char *op, const char *impl, const char *size) {
  size_t i;
  json_t *row;
  json_array_foreach(rows, i, row) {
    if (strcmp(text_of(row, "op"), op) == 0 && (!impl || !strcmp(text_of(row, "impl"), impl)) &&
        strcmp(text_of(row, "size"), size) == 0)
      return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  static const char *const limits[] = {"read", "copy", "memcpy"};
  json_error_t error;
  json_t *rows = json_loadf(stdin, 0, &error), *row;
  size_t i;
  if (!json_is_array(rows)) {
    printf("no JSON array: %s\n", error.text);
    return 1;
  }
  json_array_foreach(rows, i, row) {
    check_row(i, row);
    for (size_t k = 0; k < 3; k++)
      if (!has_row(rows, limits[k], NULL, text_of(row, "size")))
        fault(i, "no such limit of the same size", limits[k]);
  }
  for (int a = 1; a < argc; a++)
    if (!has_row(rows, argv[a], "codec", "token") || !has_row(rows, argv[a], "ref", "token"))
      fault(0, "no row of codec and ref", argv[a]);
  printf("%zu rows, %d faults\n", json_array_size(rows), faults);
  const int is_bad = faults != 0 || json_array_size(rows) == 0;
  json_decref(rows);
  return is_bad;
}
