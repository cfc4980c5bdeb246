/* cmd_help.c: the list of commands, the help of one, and the pages made of all of them.
 * SPDX-License-Identifier: MIT */
#include "help.h"

#include <stdio.h>
#include <string.h>

void mxg_print_commands(FILE *to) {
  fputs(
      "mxgold: the exact bytes of low-precision conventions (FP8, FP6, FP4, E8M0 and f32 scales)\n"
      "\n"
      "Usage: mxgold COMMAND [OPTIONS]\n"
      "\n",
      to);
  for (size_t i = 0; mxg_command_at(i); i++)
    fprintf(to, "  %-12s%s\n", mxg_command_at(i)->name, mxg_command_at(i)->summary);
  fputs(
      "\n"
      "`mxgold COMMAND --help` shows the options and an example.\n"
      "Files: .npy, .safetensors, or raw with --dtype and --shape. `-` is standard input or "
      "output.\n"
      "Exit codes: 0 done or same, 1 differs, 2 options or recipe, 3 a file.\n"
      "\n"
      "Example:\n"
      "  mxgold quantize weights.npy --recipe mxfp4 -o weights.mxfp4.safetensors\n",
      to);
}

/* Each command is asked for its help, and prints its section instead of doing anything. */
static void print_sections(mxg_help_style style) {
  mxg_help_wanted = style;
  for (size_t i = 0; mxg_command_at(i); i++) {
    const char *argv[] = {mxg_command_at(i)->name, "--help", NULL};
    mxg_command_at(i)->run(2, argv);
  }
}

static void print_markdown(void) {
  fputs("\n| command | does |\n|---|---|\n", stdout);
  for (size_t i = 0; mxg_command_at(i); i++)
    printf("| `%s` | %s |\n", mxg_command_at(i)->name, mxg_command_at(i)->summary);
  print_sections(MXG_HELP_MARKDOWN);
  putchar('\n');
}

static void print_man(void) {
  mxg_print_man_begin();
  print_sections(MXG_HELP_MAN);
  mxg_print_man_end();
}

static int help_of(const char *name) {
  const char *argv[] = {name, "--help", NULL};
  const mxg_command *command = mxg_command_named(name);
  if (!command) return MXG_EXIT_USAGE;
  mxg_set_command(name);
  return command->run(2, argv);
}

int mxg_cmd_help(int argc, const char **argv) {
  static int as_man, as_markdown;
  static struct poptOption table[] = {
      {"man", 0, POPT_ARG_NONE, &as_man, 0, "the manual page, in mdoc", NULL},
      {"markdown", 0, POPT_ARG_NONE, &as_markdown, 0, "every option of every command, for a page",
       NULL},
      POPT_TABLEEND};
  mxg_arguments arguments;
  const int status = mxg_parse_options(argc, argv, table, "[COMMAND | --man | --markdown]",
                                       "mxgold help quantize\n"
                                       "mxgold help --man | man -l -",
                                       &arguments);
  if (status != 0) return status < 0 ? MXG_EXIT_OK : status;
  if (arguments.count + (size_t)(as_man + as_markdown) > 1)
    return mxg_fail(MXG_EXIT_USAGE, "takes one command, --man or --markdown");
  if (as_man)
    print_man();
  else if (as_markdown)
    print_markdown();
  else if (arguments.count == 1)
    return help_of(arguments.positional[0]);
  else
    mxg_print_commands(stdout);
  return MXG_EXIT_OK;
}
