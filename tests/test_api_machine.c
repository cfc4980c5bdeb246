/* test_api_machine.c: what the library says of itself, and what it makes of its machine: instruction
 * sets, kernels, threads.
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <string.h>

#include "check_main.h"
#include "count.h"
#include "recipes.h"

/* The numbers are for ever, and each has words of its own. */
START_TEST(test_strerror) {
  static const struct {
    mxg_status status;
    int number;
  } all[] = {{MXG_OK, 0},
             {MXG_ERR_NULL, 1},
             {MXG_ERR_SHAPE, 2},
             {MXG_ERR_SIZE, 3},
             {MXG_ERR_CAPACITY, 4},
             {MXG_ERR_OVERLAP, 5},
             {MXG_ERR_RECIPE, 6},
             {MXG_ERR_LAYOUT, 7},
             {MXG_ERR_TYPE, 8},
             {MXG_ERR_RESERVED, 9},
             {MXG_ERR_ISA, 10},
             {MXG_ERR_FENV, 11},
             {MXG_ERR_PRESET, 20},
             {MXG_ERR_KEY_UNKNOWN, 21},
             {MXG_ERR_KEY_DUPLICATE, 22},
             {MXG_ERR_KEY_INAPPLICABLE, 23},
             {MXG_ERR_KEY_MISSING, 24},
             {MXG_ERR_VALUE, 25},
             {MXG_ERR_SYNTAX, 26},
             {MXG_ERR_NO_DEVICE, 40},
             {MXG_ERR_ARCH, 41},
             {MXG_ERR_DEVICE, 42}};
  static const int none[] = {-1, 19, 1000, 12345};
  for (size_t n = 0; n < COUNT(none); n++) ck_assert_ptr_nonnull(mxg_strerror((mxg_status)none[n]));
  for (size_t i = 0; i < COUNT(all); i++) {
    ck_assert_int_eq(all[i].status, all[i].number);
    const char *text = mxg_strerror(all[i].status);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_gt(strlen(text), 5);
    ck_assert_msg(text[strlen(text) - 1] != '.', "%s", text);
    ck_assert_ptr_eq(text, mxg_strerror(all[i].status));
    for (size_t n = 0; n < COUNT(none); n++)
      ck_assert_str_ne(text, mxg_strerror((mxg_status)none[n]));
    for (size_t j = 0; j < i; j++) ck_assert_str_ne(text, mxg_strerror(all[j].status));
  }
}
END_TEST

START_TEST(test_version) {
  char want[64];
  snprintf(want, sizeof want, "%d.%d.%d", MXG_VERSION_MAJOR, MXG_VERSION_MINOR, MXG_VERSION_PATCH);
  ck_assert_str_eq(mxg_version(), want);
}
END_TEST

START_TEST(test_cpu_features) {
  const uint32_t features = mxg_cpu_features();
  ck_assert_uint_eq(features & MXG_ISA_PORTABLE, MXG_ISA_PORTABLE);
  ck_assert_uint_eq(features & ~0xFu, 0);
  ck_assert_uint_eq(features, mxg_cpu_features());
  /* x86 and Arm sets never come together */
  ck_assert_msg((features & MXG_ISA_NEON) == 0 || (features & (MXG_ISA_AVX2 | MXG_ISA_AVX512)) == 0,
                "features %u", (unsigned)features);
#if defined(__x86_64__) && defined(__GNUC__)
  /* what the compiler's own library finds */
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi");
  ck_assert_int_eq((features & MXG_ISA_AVX2) != 0, avx2);
  ck_assert_int_eq((features & MXG_ISA_AVX512) != 0, avx512);
#endif
}
END_TEST

#if defined(__linux__)
/* NULL where the library is built without OpenMP. */
extern int omp_get_max_threads(void) __attribute__((weak));

/* Threads of this process. */
static size_t task_count(void) {
  size_t count = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) return 0;
  for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

/* `threads` is a limit, and so is the number of rows; rows of few bytes stay on one thread. How many
 * there were is seen by those that OpenMP keeps for the next call. */
START_TEST(test_threads) {
  enum { MOST_ROWS = 64, WIDE = 4096 };
  static float x[MOST_ROWS * WIDE];
  static uint8_t codes[MOST_ROWS * WIDE], scales[MOST_ROWS * WIDE / 32];
  static const struct {
    uint32_t threads;
    size_t rows, cols, most;
  } calls[] = {{1, MOST_ROWS, WIDE, 1},
               {9, MOST_ROWS, 32, 1},
               {2, MOST_ROWS, WIDE, 2},
               {9, 5, WIDE, 5},
               {7, MOST_ROWS, WIDE, 7}};
  const mxg_recipe recipe = recipe_of("mxfp8");
  const size_t before = task_count();
  if (omp_get_max_threads == NULL) printf("skipped: test_threads counts one: no OpenMP\n");
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    const mxg_matrix_view view = {x, MXG_DTYPE_F32, calls[i].rows, calls[i].cols, 0};
    const mxg_run run = {calls[i].threads, 0, {0}};
    mxg_packed out = {codes, sizeof codes, scales, sizeof scales, {0}};
    ck_assert_int_eq(mxg_layout_for(&recipe, view.rows, view.cols, NULL, &out.layout), MXG_OK);
    ck_assert_int_eq(mxg_quantize(&recipe, &view, NULL, &out, &run), MXG_OK);
    if (before != 1) continue; /* others have left theirs */
    const size_t tasks = task_count();
    ck_assert_msg(tasks <= calls[i].most, "%zu threads, at most %zu", tasks, calls[i].most);
    if (omp_get_max_threads == NULL) continue;
    ck_assert_msg(i < 2 || tasks == calls[i].most, "%zu threads, not %zu", tasks, calls[i].most);
  }
}
END_TEST
#else
START_TEST(test_threads) {
  printf("skipped: test_threads counts threads where Linux is\n");
}
END_TEST
#endif

START_TEST(test_kernel_name) {
  const mxg_recipe recipe = recipe_of("mxfp4");
  mxg_recipe reserved = recipe, invalid = recipe;
  reserved.reserved[0] = 1;
  invalid.block = 0;
  mxg_run run;
  memset(&run, 0, sizeof run);
  const char poison[] = "untouched", *name = poison;
  ck_assert_int_eq(mxg_kernel_name(NULL, MXG_OPERATION_QUANTIZE, MXG_DTYPE_F32, NULL, &name),
                   MXG_ERR_NULL);
  ck_assert_int_eq(mxg_kernel_name(&recipe, MXG_OPERATION_QUANTIZE, MXG_DTYPE_F32, NULL, NULL),
                   MXG_ERR_NULL);
  ck_assert_int_eq(mxg_kernel_name(&invalid, MXG_OPERATION_QUANTIZE, MXG_DTYPE_F32, NULL, &name),
                   MXG_ERR_RECIPE);
  ck_assert_int_eq(mxg_kernel_name(&reserved, MXG_OPERATION_QUANTIZE, MXG_DTYPE_F32, NULL, &name),
                   MXG_ERR_RESERVED);
  ck_assert_int_eq(mxg_kernel_name(&recipe, MXG_OPERATION_QUANTIZE, (mxg_dtype)9, NULL, &name),
                   MXG_ERR_TYPE);
  ck_assert_int_eq(mxg_kernel_name(&recipe, (mxg_operation)0, MXG_DTYPE_F32, NULL, &name),
                   MXG_ERR_SHAPE);
  ck_assert_int_eq(mxg_kernel_name(&recipe, (mxg_operation)4, MXG_DTYPE_F32, NULL, &name),
                   MXG_ERR_SHAPE);
  run.isa_mask = UINT32_C(1) << 20;
  ck_assert_int_eq(mxg_kernel_name(&recipe, MXG_OPERATION_COMBINE, MXG_DTYPE_F32, &run, &name),
                   MXG_ERR_ISA);
  run.isa_mask = 0;
  run.reserved[3] = 1;
  ck_assert_int_eq(mxg_kernel_name(&recipe, MXG_OPERATION_COMBINE, MXG_DTYPE_F32, &run, &name),
                   MXG_ERR_RESERVED);
  ck_assert_ptr_eq(name, poison);
  run.reserved[3] = 0;
  run.isa_mask = MXG_ISA_PORTABLE;
  static const char *const starts[] = {"", "mxg_quantize", "mxg_dequantize", "mxg_combine"};
  for (int op = MXG_OPERATION_QUANTIZE; op <= MXG_OPERATION_COMBINE; op++) {
    const mxg_preset *preset = NULL;
    for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) {
      for (int dtype = MXG_DTYPE_F32; dtype <= MXG_DTYPE_BF16; dtype++) {
        name = NULL;
        ck_assert_int_eq(
            mxg_kernel_name(&preset->recipe, (mxg_operation)op, (mxg_dtype)dtype, &run, &name),
            MXG_OK);
        ck_assert_msg(strncmp(name, starts[op], strlen(starts[op])) == 0, "%s", name);
        ck_assert_msg(strstr(name, "__portable") != NULL, "%s", name);
        ck_assert_int_eq(
            mxg_kernel_name(&preset->recipe, (mxg_operation)op, (mxg_dtype)dtype, NULL, &name),
            MXG_OK);
        ck_assert_msg(strstr(name, "__") != NULL, "%s", name);
        /* none asked for is all asked for */
        const mxg_run any = {0, 0, {0}}, all = {0, mxg_cpu_features(), {0}};
        const mxg_run *const runs[] = {&any, &all};
        for (size_t r = 0; r < 2; r++) {
          const char *best = NULL;
          ck_assert_int_eq(
              mxg_kernel_name(&preset->recipe, (mxg_operation)op, (mxg_dtype)dtype, runs[r], &best),
              MXG_OK);
          ck_assert_str_eq(best, name);
        }
      }
    }
  }
}
END_TEST

CHECK_MAIN("machine", test_strerror, test_version, test_cpu_features, test_kernel_name,
           test_threads)
