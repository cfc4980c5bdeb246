/* element_inputs.h: recipes and inputs of the element and scale tests.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_ELEMENT_INPUTS_H
#define TESTS_SUPPORT_ELEMENT_INPUTS_H

#include "mxgold.h"

enum { ELEMENTS = 7, STRESS_COUNT = 6 * 65536 };

/* Formats count from 0 here: element_at(0) is E4M3FN. */
mxg_element element_at(int index);
const char *element_name(mxg_element element);

/* The stress list of section 2: all upper halves x lower halves 0000 0001 7FFF 8000 8001 FFFF. */
uint32_t stress_bits(size_t index);

/* Plain casts, E8M0 and f32 recipes with the least surprising fields: saturate, a NaN is NaN where
 * the format has one (else sign_max), amax_floor 0, NaN propagates. */
mxg_recipe cast_recipe(mxg_element element);
mxg_recipe e8m0_recipe(mxg_element element, mxg_rule rule, uint32_t block);
mxg_recipe f32_recipe(mxg_element element, mxg_scale_math scale_math, mxg_apply apply,
                      uint32_t block);

/* Legal policies. next_policy() steps `recipe` through every overflow x nan_element and returns 0
 * after the last; first_policy() sets the first. */
void first_policy(mxg_recipe *recipe);
int next_policy(mxg_recipe *recipe);

/* Code number `index` of a packed row. */
uint8_t packed_code(mxg_element element, const uint8_t *row, size_t index);
/* ... and the other way round, into a row that starts as zeros. */
void pack_code(mxg_element element, uint8_t *row, size_t index, uint8_t code);

#endif
