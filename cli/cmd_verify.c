/* cmd_verify.c: mxgold verify: the answers of a program to the cases of `mxgold gen`, against the
 * bytes that they must have (docs/PIPE.md).
 * SPDX-License-Identifier: MIT */
#include <string.h>
#include <unistd.h>

#include "verify.h"

static const char *limit_text, *report_path;
static int bits, skip_nan, as_json;

static struct poptOption table[] = {
    {"bits", 0, POPT_ARG_NONE, &bits, 0, "two NaN with other bits differ; unused bits count too",
     NULL},
    {"skip-nan", 0, POPT_ARG_NONE, &skip_nan, 0,
     "leave out FP4 and FP6 codes whose input element is NaN", NULL},
    {"limit", 0, POPT_ARG_STRING, &limit_text, 0, "list the first N differences (default 20)", "N"},
    {"report", 0, POPT_ARG_STRING, &report_path, 0,
     "also write a page that needs nothing but a browser, as compare does", "OUT.html"},
    {"json", 0, POPT_ARG_NONE, &as_json, 0,
     "one object, as that of compare, with cases {all, answered, differ}, seed, level, op; case, "
     "section and place in each of differences[]; what is wrong with the stream in notes[]",
     NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_plan_table, 0,
     "Cases (the stream's header names them; where an option is given too, they must agree):",
     NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_run_table, 0, "How to run:", NULL},
    POPT_TABLEEND};

static int check_terminal(const char *path) {
  if (strcmp(path, "-") != 0 || !isatty(STDIN_FILENO)) return MXG_EXIT_OK;
  return mxg_fail(MXG_EXIT_USAGE,
                  "standard input is a terminal: mxgold gen --recipe R | your_program | mxgold "
                  "verify --recipe R");
}

int mxg_cmd_verify(int argc, const char **argv) {
  mxg_arguments arguments;
  mxg_plan plan;
  mxg_plan_given given;
  mxg_report report;
  mxg_verify_options options;
  int status = mxg_parse_options(
      argc, argv, table, "--recipe R [ANSWERS]",
      "mxgold gen --recipe mxfp4 --seed 1 --level 1 | ./your_program | mxgold verify --recipe "
      "mxfp4\n"
      "  mxgold verify --recipe mxfp4 answers.txt --json\n"
      "Exit codes: 0 same, 1 different, 2 options or recipe, 3 the stream is malformed.",
      &arguments);
  if (status) return status < 0 ? MXG_EXIT_OK : status;
  if (arguments.count > 1)
    return mxg_fail(MXG_EXIT_USAGE, "%zu files given: one, or none for standard input",
                    arguments.count);
  size_t limit = 20;
  memset(&options, 0, sizeof options);
  options.path = arguments.count ? arguments.positional[0] : "-";
  status = mxg_plan_args(false, &plan, &given);
  if (!status && limit_text) status = mxg_count_arg("--limit", limit_text, &limit);
  if (!status) status = mxg_run_args(&options.impl, &options.run);
  if (!status) status = check_terminal(options.path);
  if (status) return status;
  mxg_report_begin(&report, limit);
  report.bits = bits != 0;
  report.skip_nan = skip_nan != 0;
  mxg_output *page = NULL;
  if (report_path) status = mxg_report_open(&report, report_path, &options.path, 1, &page);
  if (!status) status = mxg_verify(&report, &options, &plan, &given);
  const bool can_report = status == MXG_EXIT_OK || (report.stream_faults != 0 && report.has_cases);
  const int written = mxg_report_close(&report, can_report, &page);
  /* a stream without a plan has nothing to report but its fault */
  if (can_report || (report.stream_faults && as_json)) {
    const int result = mxg_report_print(&report, as_json != 0);
    if (!status) status = result;
  }
  if (written) status = written;
  mxg_report_end(&report);
  return status;
}
