/* main.c: the command table of the mxgold tool.
 * SPDX-License-Identifier: MIT */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const mxg_command commands[] = {
    {"recipes", mxg_cmd_recipes, "list the presets and where each convention comes from"},
    {"layout", mxg_cmd_layout, "bytes per row, slot and buffer of a shape"},
    {"quantize", mxg_cmd_quantize, "values to codes and scales"},
    {"dequantize", mxg_cmd_dequantize, "codes and scales to values"},
    {"combine", mxg_cmd_combine, "sum the decoded slots of several sources, with weights"},
    {"compare", mxg_cmd_compare, "which byte differs, and what it decodes to"},
    {"identify", mxg_cmd_identify, "which preset a quantised file was made by"},
    {"error", mxg_cmd_error, "error of one tensor against another"},
    {"gen", mxg_cmd_gen, "test cases for a program: gen | program | verify (docs/PIPE.md)"},
    {"verify", mxg_cmd_verify, "the program's answers: which byte differs, and why"},
    {"selftest", mxg_cmd_selftest, "the library, or a device, against the golden model"},
    {"vectors", mxg_cmd_vectors, "test vectors and digests for somebody else's CI"},
    {"info", mxg_cmd_info, "version, instruction sets, and which kernel each preset runs on"},
    {"bench", mxg_cmd_bench, "how fast each operation is here, beside the limits of the machine"},
    {"help", mxg_cmd_help, "this list, the options of a command, or the manual page"},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

const mxg_command *mxg_command_at(size_t index) {
  return index < COMMAND_COUNT ? &commands[index] : NULL;
}

static void unknown_command(const char *word) {
  const char *names[COMMAND_COUNT + 1] = {NULL};
  for (size_t i = 0; i < COMMAND_COUNT; i++) names[i] = commands[i].name;
  const char *nearest = mxg_nearest(word, names);
  const char *kind = word[0] == '-' ? "option" : "command";
  if (nearest)
    mxg_fail(MXG_EXIT_USAGE, "unknown %s '%s'; did you mean '%s'?", kind, word, nearest);
  else
    mxg_fail(MXG_EXIT_USAGE, "unknown %s '%s': `mxgold --help` lists the commands", kind, word);
}

const mxg_command *mxg_command_named(const char *word) {
  for (size_t i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(word, commands[i].name) == 0) return &commands[i];
  unknown_command(word);
  return NULL;
}

static int run(int argc, const char **argv) {
  if (argc < 2) {
    mxg_print_commands(stderr);
    return MXG_EXIT_USAGE;
  }
  const char *word = argv[1];
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    mxg_print_commands(stdout);
    return MXG_EXIT_OK;
  }
  if (strcmp(word, "--version") == 0) {
    printf("mxgold %s\n", mxg_version());
    return MXG_EXIT_OK;
  }
  const mxg_command *command = mxg_command_named(word);
  if (!command) return MXG_EXIT_USAGE;
  mxg_set_command(word);
  return command->run(argc - 1, argv + 1);
}

/* With a closed standard stream the first file opened would take its number, and messages would go
 * into that file. Read-only: writing still fails. */
static void occupy_standard_streams(void) {
  int descriptor;
  do descriptor = open("/dev/null", O_RDONLY);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) close(descriptor);
}

int main(int argc, char **argv) {
  occupy_standard_streams();
  /* A JSON text that lost a part for lack of memory must not be written: jansson's allocations end
   * the command as every other. */
  json_set_alloc_funcs(mxg_alloc, free);
  mxg_output_signals();
  const int exit_code = run(argc, (const char **)argv);
  /* What a command printed may still be in the buffer: a full disk or a closed pipe shows here. */
  if (fflush(stdout) != 0 || ferror(stdout))
    return mxg_fail(MXG_EXIT_FILE, "standard output: %s", strerror(errno));
  return exit_code;
}
