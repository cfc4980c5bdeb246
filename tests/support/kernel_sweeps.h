/* kernel_sweeps.h: the comparisons that test_kernels.c makes in part and slow_kernels.c in full.
 * A difference fails the test.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_KERNEL_SWEEPS_H
#define TESTS_SUPPORT_KERNEL_SWEEPS_H

#include "generator.h"
#include "mxgold.h"

/* Puts a fresh seed into MXGOLD_TEST_SEED unless there is one. */
void kernel_seed(void);

/* Every preset x data type x 64 misalignments x `rounds`, with random lengths and data. */
void sweep_presets(generator *g, mxg_operation operation, size_t rounds);

/* `count` random legal recipes, eight cases each. */
void sweep_recipes(generator *g, mxg_operation operation, size_t count);

/* Recipes that chance seldom makes. */
void sweep_odd_recipes(generator *g);

/* mxg_encode_f32 and mxg_decode_f32: every element, overflow and nan_element x 64 misalignments. */
void sweep_arrays(generator *g, size_t rounds);

/* Each bf16 value, NaN and Inf included, in blocks whose other elements do not exceed it: at block
 * position lane, lane + 1, ... for `lanes` positions; value v takes part in lane l if
 * (v + l) % step == 0. */
void sweep_maxima(generator *g, const char *recipe, size_t lane, size_t lanes, size_t step);

/* Each bf16 value of either sign up to `amax` in every position of blocks with this maximum; every
 * step-th rotation only. */
void sweep_lanes(const char *recipe, uint32_t amax, size_t step);

/* bf16 pairs 0 <= x <= amax, for every step-th finite amax from first; x has alternating signs. */
void sweep_pairs(const char *recipe, uint32_t first, uint32_t step);

/* Blocks of zeros, of source subnormals and of values not far above, alone, side by side and with an
 * ordinary maximum: E8M0 recipes with blocks that fill vectors and that do not, every source, with
 * and without row weights. */
void sweep_tiny_blocks(generator *g);

/* Rows of many blocks, of which one or two have elements far below their maximum: a kernel may take the
 * others another way, and must not take these along. */
void sweep_lone_blocks(generator *g);

/* bf16 blocks of nothing but zeros, or tiny values, and one NaN, Inf or large value, in each position:
 * a kernel that looks at a part of a block takes it for a tiny one. */
void sweep_lone_elements(generator *g);

/* All codes x all E8M0 bytes (f32: a list of scales) x every data type for dequantise, for each
 * preset; rotations: how many shifts of codes against positions. */
void sweep_tables(generator *g, size_t rotations);

/* Quantise and dequantise of E8M0 presets and recipes in every floating-point environment. */
void sweep_environments(generator *g, size_t rounds);

/* Presets and arrays where conversions of binary16 have no Inf and NaN: the bytes are the same. On
 * machines with such a mode. */
void sweep_alternative_half(generator *g);

/* Combine of slots that end soon after their last code: what is read ahead must end before. */
void sweep_slot_ends(generator *g);

/* Quantise, dequantise and combine of rows x 7168 bf16 by all threads: kernels may treat large
 * outputs in another way. */
void sweep_large(generator *g, const char *recipe, size_t rows);

/* Quantise of so much that codes are stored around the caches, into aligned memory and other: eight
 * recipes, then random ones. */
void sweep_streams(generator *g, size_t count);

/* The same of dequantise and combine: six recipes, then random ones. */
void sweep_streamed_values(generator *g, size_t count);

/* 1 to 16 threads, and far too many. */
void sweep_threads(generator *g);

#endif
