/* help.h: one description of a command, and three ways to print it. A command gives its options,
 * usage and examples to mxg_parse_options(), which is all that any page needs.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_HELP_H
#define MXGOLD_HELP_H

#include "tool.h"

typedef enum mxg_help_style {
  MXG_HELP_NONE = 0,
  MXG_HELP_MAN,     /* a section of the manual page, in mdoc */
  MXG_HELP_MARKDOWN /* a section of docs/TOOL.md */
} mxg_help_style;

/* Not NONE: mxg_parse_options() prints the command in this style, whatever the arguments. */
extern mxg_help_style mxg_help_wanted;

typedef struct mxg_help {
  const char *name;               /* of the command */
  const char *usage;              /* what follows the name; may have several lines */
  const char *example;            /* lines of commands; a line "Exit codes: ..." is none of them */
  const struct poptOption *table; /* without --help */
} mxg_help;

void mxg_print_section(const mxg_help *help);

/* The examples, each on a line of its own after `indent`, and the exit codes. */
void mxg_print_examples(FILE *to, const char *example, const char *indent);
const char *mxg_exit_codes(const char *example);

/* What stands around the sections (help_man.c). */
void mxg_print_man_begin(void);
void mxg_print_man_end(void);

#endif
