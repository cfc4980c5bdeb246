/* cmd_gen.c: mxgold gen: test cases on standard output, for a program whose answers go to
 * `mxgold verify` (docs/PIPE.md).
 * SPDX-License-Identifier: MIT */
#include "pipe.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *output_path;

static struct poptOption table[] = {
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_plan_table, 0, "Cases:", NULL},
    {"output", 'o', POPT_ARG_STRING, &output_path, 0, "default: standard output", "FILE"},
    POPT_TABLEEND};

/* In a pipe `verify` has the bar, for it is the last to finish. */
static bool wants_bar(const char *path) {
  struct stat status;
  if (strcmp(path, "-") != 0) return true;
  return fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode);
}

static int write_all(mxg_output *output, mxg_plan *plan, bool has_bar) {
  char header[MXG_PIPE_HEADER_CAP];
  mxg_pipe_index index;
  mxg_pipe_case one;
  memset(&one, 0, sizeof one);
  int status = mxg_pipe_open(plan, &index);
  if (status) return status;
  mxg_plan_print(plan, header, sizeof header);
  status = mxg_output_write(output, header, strlen(header));
  if (!status) status = mxg_output_write(output, "\n", 1);
  if (has_bar) mxg_progress_begin("gen", plan->cases);
  for (uint64_t id = 0; id < plan->cases && !status; id++) {
    status = mxg_pipe_make(&index, id, &one);
    if (!status) status = mxg_pipe_write(output, plan, &one);
    if (has_bar && id % 64 == 0) mxg_progress_step(id);
  }
  if (has_bar) mxg_progress_end();
  mxg_pipe_free(&one);
  return status;
}

int mxg_cmd_gen(int argc, const char **argv) {
  mxg_arguments arguments;
  mxg_plan plan;
  mxg_plan_given given;
  int status = mxg_parse_options(
      argc, argv, table, "--recipe R [--seed S] [--level 1|2] [OPTION...]",
      "mxgold gen --recipe mxfp4 --seed 1 --level 1 | ./your_program | mxgold verify --recipe "
      "mxfp4\n"
      "mxgold gen --recipe mori-fp8 --op combine --top-k 8 --format binary -o cases.bin",
      &arguments);
  if (status) return status < 0 ? MXG_EXIT_OK : status;
  if (arguments.count != 0)
    return mxg_fail(MXG_EXIT_USAGE, "takes no file: '%s'; -o names an output",
                    arguments.positional[0]);
  status = mxg_plan_args(true, &plan, &given);
  if (status) return status;
  const char *path = output_path ? output_path : "-";
  const bool is_stdout = strcmp(path, "-") == 0;
  if (plan.is_binary && is_stdout && isatty(STDOUT_FILENO))
    return mxg_fail(MXG_EXIT_USAGE,
                    "a binary stream is not for a terminal: give -o FILE or a pipe");
  /* `gen | head` ends as every other writer into a pipe does: silently */
  if (is_stdout) signal(SIGPIPE, SIG_DFL);
  mxg_output *output = NULL;
  status = mxg_output_open("-o", path, &output);
  if (status) return status;
  status = write_all(output, &plan, wants_bar(path));
  if (!status) return mxg_output_commit(&output, 1);
  mxg_output_abort(&output, 1);
  return status;
}
