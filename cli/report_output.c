/* report_output.c: --report: opened before the work, so that it does not end in vain.
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/stat.h>

#include "chart.h"
#include "html.h"

/* A page gives some differences even where the text lists none. */
enum { LEAST_CARDS = 24 };

int mxg_report_open(mxg_report *report, const char *path, const char *const *inputs, size_t count,
                    mxg_output **out) {
  struct stat target, input;
  if (strcmp(path, "-") == 0)
    return mxg_fail(MXG_EXIT_USAGE,
                    "--report: give the name of a file: standard output has the text");
  for (size_t i = 0; i < count; i++)
    if (inputs[i] && stat(path, &target) == 0 && stat(inputs[i], &input) == 0 &&
        S_ISREG(target.st_mode) && target.st_dev == input.st_dev && target.st_ino == input.st_ino)
      return mxg_fail(MXG_EXIT_USAGE, "%s: --report is the input file %s: choose another name",
                      path, inputs[i]);
  report->chart = mxg_chart_new();
  if (report->keep < LEAST_CARDS) report->keep = LEAST_CARDS;
  return mxg_output_open("--report", path, out);
}

int mxg_report_close(const mxg_report *report, bool is_whole, mxg_output **output) {
  int status = MXG_EXIT_OK;
  if (!*output) return status;
  if (is_whole) status = mxg_report_page(report, *output);
  if (is_whole && !status) return mxg_output_commit(output, 1);
  mxg_output_abort(output, 1);
  return status;
}
