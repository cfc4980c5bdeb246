/* cmd_selftest.c: mxgold selftest: the library of this process, or a device, against the golden
 * model, byte for byte.
 * SPDX-License-Identifier: MIT */
#include "../gpu/selftest.h"

#include <string.h>

#include "device.h"
#include "tool.h"
#if defined(MXGOLD_GPU)
#include "../gpu/device_subject.h"
#endif

static int gpu, full;
static const char *index_text;

static struct poptOption table[] = {
    {"gpu", 0, POPT_ARG_NONE, &gpu, 0, "a device instead of the library", NULL},
    {"index", 0, POPT_ARG_STRING, &index_text, 0, "which device (default 0)", "N"},
    {"full", 0, POPT_ARG_NONE, &full, 0,
     "every case, and all 2^32 floats for E4M3FN and E2M1 (minutes)", NULL},
    POPT_TABLEEND};

static void progress(uint64_t done, uint64_t total) {
  static bool has_begun;
  if (!has_begun) mxg_progress_begin("selftest", total);
  has_begun = true;
  if (done == total)
    mxg_progress_end();
  else
    mxg_progress_step(done);
}

static int test_device(const mxg_selftest_options *options, size_t index) {
#if defined(MXGOLD_GPU)
  const mxg_device_arg arg = {(int)index, 0};
  mxg_gpu *opened = NULL;
  const int exit_code = mxg_device_open(&arg, &opened);
  if (exit_code != 0) return exit_code;
  mxg_gpu_close(opened);
  return mxg_selftest_device((int)index, options, 0);
#else
  (void)options;
  (void)index;
  return mxg_device_is_not_built("--gpu");
#endif
}

int mxg_cmd_selftest(int argc, const char **argv) {
  mxg_arguments arguments;
  mxg_selftest_options options;
  size_t index = 0;
  int exit_code = mxg_parse_options(argc, argv, table, "[--gpu [--index N]] [--full]",
                                    "mxgold selftest\n"
                                    "mxgold selftest --gpu --full",
                                    &arguments);
  if (exit_code != 0) return exit_code < 0 ? MXG_EXIT_OK : exit_code;
  if (arguments.count != 0)
    return mxg_fail(MXG_EXIT_USAGE, "takes no file: '%s'", arguments.positional[0]);
  if (index_text && !gpu) return mxg_fail(MXG_EXIT_USAGE, "--index names a device: give --gpu");
  if (index_text) exit_code = mxg_count_arg("--index", index_text, &index);
  if (exit_code != 0) return exit_code;
  if (index > 65535) return mxg_fail(MXG_EXIT_USAGE, "--index: there is no device %zu", index);
  memset(&options, 0, sizeof options);
  options.subjects = &mxg_subject_library;
  options.subject_count = 1;
  options.full = full;
  options.thin = gpu || full ? 1 : 8; /* a few seconds */
  options.out = stdout;
  options.progress = progress;
  return gpu ? test_device(&options, index) : mxg_selftest(&options);
}
