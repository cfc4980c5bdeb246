/* schema.c
 * SPDX-License-Identifier: MIT */
#include "schema.h"

#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static json_t *root;
static char message[520], where[256];

__attribute__((format(printf, 1, 2))) static bool bad(const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(message, sizeof message, "%s: %s", where[0] != '\0' ? where : "the document", text);
  return false;
}

static bool check(json_t *schema, json_t *value);

/* "/name" or "/3" while a part is looked at. */
static bool check_part(const char *name, json_t *schema, json_t *value) {
  const size_t length = strlen(where);
  snprintf(where + length, sizeof where - length, "/%s", name);
  const bool is_good = check(schema, value);
  where[length] = '\0';
  return is_good;
}

static bool has_type(json_t *value, const char *type) {
  if (strcmp(type, "object") == 0) return json_is_object(value);
  if (strcmp(type, "array") == 0) return json_is_array(value);
  if (strcmp(type, "string") == 0) return json_is_string(value);
  return strcmp(type, "integer") == 0 && json_is_integer(value);
}

static bool matches(const char *pattern, const char *text) {
  regex_t compiled;
  if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool is_match = regexec(&compiled, text, 0, NULL, 0) == 0;
  regfree(&compiled);
  return is_match;
}

static bool is_one_of(json_t *list, json_t *value) {
  for (size_t i = 0; i < json_array_size(list); i++)
    if (json_equal(json_array_get(list, i), value) != 0) return true;
  return false;
}

static bool check_properties(json_t *schema, json_t *value) {
  json_t *properties = json_object_get(schema, "properties");
  json_t *additional = json_object_get(schema, "additionalProperties");
  const char *name;
  json_t *part;
  json_object_foreach(value, name, part) {
    json_t *known = json_object_get(properties, name);
    if (known == NULL && json_is_false(additional)) return bad("\"%s\" is not allowed", name);
    if (known == NULL) known = json_is_object(additional) ? additional : NULL;
    if (known != NULL && !check_part(name, known, part)) return false;
  }
  return true;
}

static bool check_items(json_t *items, json_t *value) {
  for (size_t i = 0; i < json_array_size(value); i++) {
    char name[24];
    snprintf(name, sizeof name, "%zu", i);
    if (!check_part(name, items, json_array_get(value, i))) return false;
  }
  return true;
}

static bool check_unique(json_t *value) {
  for (size_t i = 0; i < json_array_size(value); i++)
    for (size_t j = 0; j < i; j++)
      if (json_equal(json_array_get(value, i), json_array_get(value, j)) != 0)
        return bad("items %zu and %zu are equal", j, i);
  return true;
}

static bool check_keyword(json_t *schema, const char *keyword, json_t *argument, json_t *value) {
  static const char *const silent[] = {"$schema", "title", "definitions", "properties",
                                       "additionalProperties"};
  for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++)
    if (strcmp(keyword, silent[i]) == 0) return true;
  if (strcmp(keyword, "$ref") == 0) {
    const char *name = strrchr(json_string_value(argument), '/') + 1;
    return check(json_object_get(json_object_get(root, "definitions"), name), value);
  }
  if (strcmp(keyword, "type") == 0) {
    if (has_type(value, json_string_value(argument))) return true;
    return bad("is no %s", json_string_value(argument));
  }
  if (strcmp(keyword, "enum") == 0)
    return is_one_of(argument, value) || bad("is none of the values that may stand here");
  if (strcmp(keyword, "required") == 0) {
    for (size_t i = 0; i < json_array_size(argument); i++) {
      const char *name = json_string_value(json_array_get(argument, i));
      if (json_object_get(value, name) == NULL) return bad("has no \"%s\"", name);
    }
    return true;
  }
  if (strcmp(keyword, "pattern") == 0)
    return matches(json_string_value(argument), json_string_value(value)) ||
           bad("does not match %s", json_string_value(argument));
  if (strcmp(keyword, "minLength") == 0)
    return (json_int_t)json_string_length(value) >= json_integer_value(argument) ||
           bad("is too short");
  if (strcmp(keyword, "minimum") == 0)
    return json_integer_value(value) >= json_integer_value(argument) || bad("is too small");
  if (strcmp(keyword, "minItems") == 0)
    return (json_int_t)json_array_size(value) >= json_integer_value(argument) ||
           bad("has too few items");
  if (strcmp(keyword, "uniqueItems") == 0) return check_unique(value);
  if (strcmp(keyword, "items") == 0) return check_items(argument, value);
  (void)schema;
  return bad("the schema has the keyword \"%s\", which this check does not know", keyword);
}

static bool check(json_t *schema, json_t *value) {
  const char *keyword;
  json_t *argument;
  if (!json_is_object(schema)) return bad("the schema says nothing here");
  json_object_foreach(schema, keyword, argument) {
    if (!check_keyword(schema, keyword, argument, value)) return false;
  }
  return !json_is_object(value) || json_object_get(schema, "$ref") != NULL ||
         check_properties(schema, value);
}

const char *schema_check(json_t *schema, json_t *value) {
  root = schema;
  where[0] = '\0';
  return check(schema, value) ? NULL : message;
}
