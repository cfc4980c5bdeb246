/* slow_kernels.c: what test_kernels.c compares in part, in full: all 65,536 bf16 values as a
 * block's maximum and below one, in every position of a block; all 532 million bf16 pairs x <= amax
 * for FP8/128 by each way of applying the scale; every code under every scale byte in every
 * position; more random cases.
 *
 * The seed is another one in each run and printed; MXGOLD_TEST_SEED=NUMBER repeats a run.
 * SPDX-License-Identifier: MIT */
#include "check_main.h"
#include "kernel_list.h"
#include "kernel_sweeps.h"
#include "recipes.h"

START_TEST(test_pairs_mul_rcp) {
  sweep_pairs("aiter-fp8-128,amax_floor=0", 0, 1);
}
END_TEST

START_TEST(test_pairs_mul_max) {
  sweep_pairs("sglang-fp8-128,amax_floor=0", 0, 1);
}
END_TEST

START_TEST(test_pairs_div) {
  sweep_pairs("deepseek-fp8-128", 0, 1);
}
END_TEST

START_TEST(test_pairs_marker) {
  sweep_pairs("mori-fp8", 0, 5);
  sweep_pairs("mori-fp8-fnuz", 1, 5);
  sweep_pairs("mori-fp4", 2, 5);
}
END_TEST

START_TEST(test_maxima) {
  generator g = generator_start("test_maxima");
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) {
    const size_t block = recipe_block(&preset->recipe);
    sweep_maxima(&g, preset->name, 0, block, block > 32 ? block / 4 : 1);
  }
}
END_TEST

START_TEST(test_lanes) {
  static const uint32_t maxima[] = {0x7F7F, 0x40E1, 0x3F80, 0x1234, 0x0041};
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++)
    for (size_t m = 0; m < sizeof maxima / sizeof maxima[0]; m++)
      sweep_lanes(preset->name, maxima[m], recipe_block(&preset->recipe) / 32);
}
END_TEST

START_TEST(test_tables) {
  generator g = generator_start("test_tables");
  sweep_tables(&g, 64);
}
END_TEST

START_TEST(test_random) {
  generator g = generator_start("test_random");
  for (int operation = MXG_OPERATION_QUANTIZE; operation <= MXG_OPERATION_COMBINE; operation++) {
    sweep_presets(&g, (mxg_operation)operation, 20);
    sweep_recipes(&g, (mxg_operation)operation, 10000);
  }
  sweep_arrays(&g, 10);
  sweep_environments(&g, 100);
}
END_TEST

START_TEST(test_large) {
  generator g = generator_start("test_large");
  const mxg_preset *preset = NULL;
  for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) sweep_large(&g, preset->name, 1040);
  sweep_streams(&g, 200);
  sweep_streamed_values(&g, 60);
}
END_TEST

int main(int argc, char **argv) {
  const TTest *const tests[] = {test_pairs_mul_rcp, test_pairs_mul_max, test_pairs_div,
                                test_pairs_marker,  test_maxima,        test_lanes,
                                test_tables,        test_random,        test_large};
  kernel_seed();
  kernel_counts_start();
  int result = check_main("slow_kernels", tests, sizeof tests / sizeof tests[0], argc, argv);
  if (kernel_counts_report(argc < 2 ? 1000 : 0) != 0) result = EXIT_FAILURE;
  return result;
}
