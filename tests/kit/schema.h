/* schema.h: JSON Schema (draft-07), as much of it as tests/vectors/schema uses.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_KIT_SCHEMA_H
#define TESTS_KIT_SCHEMA_H

#include <jansson.h>

/* NULL when value conforms, else what does not and where (static storage). A keyword that is not
 * known here is a fault too: nothing passes unchecked. */
const char *schema_check(json_t *schema, json_t *value);

#endif
