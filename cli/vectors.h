/* vectors.h: how `mxgold vectors` makes its files: cases by flag, notes, and the text of a file.
 * The format is that of tests/vectors/README.md.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_VECTORS_H
#define MXGOLD_VECTORS_H

#include <jansson.h>

#include "tool.h"

typedef enum mxg_section { /* in the order of the file */
                           MXG_SECTION_TESTS,
                           MXG_SECTION_WEIGHTED,
                           MXG_SECTION_DECODE,
                           MXG_SECTION_SCALE,
                           MXG_SECTION_LAYOUT,
                           MXG_SECTIONS
} mxg_section;

/* One file in the making. */
typedef struct mxg_vectors {
  char name[64]; /* of the file, without .json */
  char text[64]; /* preset[,key=decimal] */
  mxg_recipe recipe;
  mxg_traits traits;
  size_t block;    /* elements; 32 for a recipe without scales, to have a length to think in */
  uint32_t max;    /* f32 bits of the largest value that the recipe writes */
  uint32_t anchor; /* f32 bits of an amax whose scale is 1 */
  uint32_t limit;  /* f32 bits of the greatest amax with the anchor in its block whose scale is 1 */
  long first_id;   /* ids of section s start at first_id + 200 * s */
  const char *only; /* a variant holds the cases of these flags alone; NULL = all */
  json_t *notes, *sections[MXG_SECTIONS];
} mxg_vectors;

/* ---- what a case is made of (vectors_file.c) ---- */

/* File number `index` for a recipe text; exits the process when that is none. */
void mxg_vectors_begin(mxg_vectors *v, size_t index, const char *name, const char *text,
                       const char *only);
void mxg_vectors_end(mxg_vectors *v);

/* A quantise case: rows x cols values, f32 bits that are cut to dtype. flags are comma-separated;
 * weights (rows f32 bits) make it a weighted_tests case. Nothing is added when the file holds none
 * of the flags. */
void mxg_vectors_quantize(mxg_vectors *v, const char *flags, mxg_dtype dtype, size_t rows,
                          size_t cols, const uint32_t *bits, const uint32_t *weights);
/* A decode case: codes one a byte (they are packed here), scales as stored. */
void mxg_vectors_decode(mxg_vectors *v, const char *flags, size_t rows, size_t cols,
                        const uint8_t *codes, const uint8_t *scales, size_t scale_bytes);
/* A scale case: E8M0 bytes from count amax, or from scales. */
void mxg_vectors_scale(mxg_vectors *v, const char *flags, bool from_scale, const uint32_t *bits,
                       size_t count);
/* An object for a case of another kind: takes `fields` over and puts id and flags before them. */
void mxg_vectors_add(mxg_vectors *v, mxg_section section, const char *flags, json_t *fields);
json_t *mxg_hex(const void *bytes, size_t count);
/* 32-bit words in host order as the hex of their little-endian bytes. */
json_t *mxg_hex_words(const uint32_t *words, size_t count);
/* Ends the process when a call that must succeed did not. */
void mxg_vectors_must(mxg_status status, const char *what);

/* The text of the file, one case a line; free() it. */
char *mxg_vectors_text(const mxg_vectors *v);

/* ---- notes (vectors_notes.c) ---- */

/* Which bug class a flag hunts and where it was seen; NULL for an unknown flag. */
const char *mxg_flag_note(const char *flag, size_t length);

/* ---- cases ---- */

void mxg_vectors_element_cases(mxg_vectors *v); /* vectors_elements.c: rounding, zeros, overflow */
void mxg_vectors_block_cases(mxg_vectors *v);   /* vectors_blocks.c: scales, NaN, shapes */
void mxg_vectors_decode_cases(mxg_vectors *v);  /* vectors_decode.c */
void mxg_vectors_scale_cases(mxg_vectors *v);   /* vectors_scales.c */
void mxg_vectors_layout_cases(mxg_vectors *v);  /* vectors_layouts.c */

/* ---- f32 bits ---- */

uint32_t mxg_bits_of(double value); /* of a value that is an f32, or is rounded to one */
double mxg_value_of(uint32_t bits);
/* Value of a code, as f32 bits. */
uint32_t mxg_code_bits(mxg_element element, uint8_t code);

#define MXG_MINUS 0x80000000u
#define MXG_ONE 0x3F800000u
#define MXG_INF 0x7F800000u
#define MXG_NAN 0x7FC00000u

/* ---- digests (vectors_digests.c) ---- */

/* digests.txt of every element format and policy, and of every preset. told: is told
 * how much of `total` is done. free() it. */
char *mxg_digests_text(void (*told)(uint64_t done, uint64_t total));

#endif
