/* test_kernels.c: every kernel of codec/kernels.def against the portable one and against ref, byte
 * for byte: all presets and random recipes, awkward lengths, 64 misalignments, traps and canaries
 * around every buffer. slow_kernels.c goes on where this stops.
 *
 * The seed is another one in each run and printed; MXGOLD_TEST_SEED=NUMBER repeats a run.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check_main.h"
#include "kernel_list.h"
#include "kernel_sweeps.h"
#include "thin.h"

enum { LEAST_CASES = 100 };

START_TEST(test_quantize_presets) {
  generator g = generator_start("test_quantize_presets");
  sweep_presets(&g, MXG_OPERATION_QUANTIZE, 3);
}
END_TEST

START_TEST(test_quantize_recipes) {
  generator g = generator_start("test_quantize_recipes");
  sweep_recipes(&g, MXG_OPERATION_QUANTIZE, 1500);
}
END_TEST

START_TEST(test_dequantize_presets) {
  generator g = generator_start("test_dequantize_presets");
  sweep_presets(&g, MXG_OPERATION_DEQUANTIZE, 3);
}
END_TEST

START_TEST(test_dequantize_recipes) {
  generator g = generator_start("test_dequantize_recipes");
  sweep_recipes(&g, MXG_OPERATION_DEQUANTIZE, 1500);
}
END_TEST

START_TEST(test_combine_presets) {
  generator g = generator_start("test_combine_presets");
  sweep_presets(&g, MXG_OPERATION_COMBINE, 3);
  sweep_slot_ends(&g);
}
END_TEST

START_TEST(test_combine_recipes) {
  generator g = generator_start("test_combine_recipes");
  sweep_recipes(&g, MXG_OPERATION_COMBINE, 1500);
}
END_TEST

START_TEST(test_odd_recipes) {
  generator g = generator_start("test_odd_recipes");
  sweep_odd_recipes(&g);
}
END_TEST

START_TEST(test_arrays) {
  generator g = generator_start("test_arrays");
  sweep_arrays(&g, 1);
}
END_TEST

/* Every bf16 value as a block's maximum, each at one position of the block. */
START_TEST(test_bf16_maxima) {
  generator g = generator_start("test_bf16_maxima");
  static const char *const texts[] = {"mxfp8", "aiter-mxfp4", "aiter-mxfp8-triton",
                                      "mxfp8-te,element_max=256"};
  for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
    sweep_maxima(&g, texts[t], generator_below(&g, 32), 1, 1);
}
END_TEST

/* Every bf16 value below a given maximum, in each position of a block. */
START_TEST(test_bf16_lanes) {
  static const char *const texts[] = {"mxfp4", "mxfp8", "mxfp8-e5m2", "aiter-mxfp8-fnuz"};
  for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
    sweep_lanes(texts[t], 0x7F7F, t == 0 ? 1 : 8);
    sweep_lanes(texts[t], 0x40E1, t == 0 ? 2 : 8);
  }
}
END_TEST

/* bf16 pairs x <= amax, a thinned-out set. */
START_TEST(test_bf16_pairs) {
  static const char *const texts[] = {"aiter-fp8-128,amax_floor=0", "sglang-fp8-128,amax_floor=0",
                                      "deepseek-fp8-128", "mori-fp8", "mori-fp4"};
  for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
    sweep_pairs(texts[t], (uint32_t)(17 * t), 641);
}
END_TEST

/* A lower bound that only factors need once turned tiny E8M0 blocks into something. */
START_TEST(test_tiny_blocks) {
  generator g = generator_start("test_tiny_blocks");
  sweep_tiny_blocks(&g);
}
END_TEST

START_TEST(test_lone_blocks) {
  generator g = generator_start("test_lone_blocks");
  sweep_lone_blocks(&g);
}
END_TEST

START_TEST(test_lone_elements) {
  generator g = generator_start("test_lone_elements");
  sweep_lone_elements(&g);
}
END_TEST

/* Every code under every E8M0 byte, and under f32 scales of every kind. */
START_TEST(test_code_tables) {
  generator g = generator_start("test_code_tables");
  sweep_tables(&g, 1);
}
END_TEST

START_TEST(test_environments) {
  generator g = generator_start("test_environments");
  sweep_environments(&g, 12);
}
END_TEST

START_TEST(test_alternative_half) {
  generator g = generator_start("test_alternative_half");
  sweep_alternative_half(&g);
}
END_TEST

START_TEST(test_threads) {
  generator g = generator_start("test_threads");
  sweep_threads(&g);
}
END_TEST

START_TEST(test_large) {
  generator g = generator_start("test_large");
  static const char *const texts[] = {"mxfp4", "mxfp8", "sglang-fp8-128", "mori-fp8"};
  sweep_large(&g, texts[generator_below(&g, 4)], thinned(1040));
  sweep_streams(&g, thin() > 1 ? 2 : 9);
  sweep_streamed_values(&g, thin() > 1 ? 2 : 6);
}
END_TEST

int main(int argc, char **argv) {
  const TTest *const tests[] = {test_quantize_presets,
                                test_quantize_recipes,
                                test_dequantize_presets,
                                test_dequantize_recipes,
                                test_combine_presets,
                                test_combine_recipes,
                                test_odd_recipes,
                                test_arrays,
                                test_bf16_maxima,
                                test_bf16_lanes,
                                test_bf16_pairs,
                                test_tiny_blocks,
                                test_lone_blocks,
                                test_lone_elements,
                                test_code_tables,
                                test_environments,
                                test_alternative_half,
                                test_threads,
                                test_large};
  kernel_seed();
  kernel_counts_start();
  int result = check_main("kernels", tests, sizeof tests / sizeof tests[0], argc, argv);
  /* A part of the tests need not reach every kernel. */
  if (kernel_counts_report(argc < 2 && thin() == 1 ? LEAST_CASES : 0) != 0) result = EXIT_FAILURE;
  return result;
}
