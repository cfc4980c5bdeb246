/* help.c: options tables as sections of the manual page and of docs/TOOL.md.
 * SPDX-License-Identifier: MIT */
#include "help.h"

#include <string.h>

mxg_help_style mxg_help_wanted = MXG_HELP_NONE;

/* ---- examples: lines of a text ---- */

static const char exit_codes_mark[] = "Exit codes:";

static const char *without_spaces(const char *line) {
  while (*line == ' ') line++;
  return line;
}

static const char *next_line(const char *line) {
  const char *end = strchr(line, '\n');
  return end ? end + 1 : line + strlen(line);
}

static bool tells_exit_codes(const char *line) {
  return strncmp(line, exit_codes_mark, sizeof exit_codes_mark - 1) == 0;
}

const char *mxg_exit_codes(const char *example) {
  for (const char *line = example; *line; line = next_line(line))
    if (tells_exit_codes(without_spaces(line))) return without_spaces(line);
  return "Exit codes: 0 done or same, 1 differs, 2 options or recipe, 3 a file.";
}

/* Text of one line in roff: no escapes, no requests, and hyphens that can be pasted. */
static void put_roff(FILE *to, const char *text, size_t length) {
  if (length > 0 && (*text == '.' || *text == '\'')) fputs("\\&", to);
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '\\')
      fputs("\\e", to);
    else if (text[i] == '-')
      fputs("\\-", to);
    else
      fputc(text[i], to);
  }
}

void mxg_print_examples(FILE *to, const char *example, const char *indent) {
  for (const char *line = example; *line; line = next_line(line)) {
    const char *text = without_spaces(line);
    if (tells_exit_codes(text)) continue;
    const size_t length = strcspn(text, "\n");
    if (mxg_help_wanted == MXG_HELP_MAN)
      put_roff(to, text, length);
    else
      fprintf(to, "%s%.*s", indent, (int)length, text);
    fputc('\n', to);
  }
}

/* ---- options, those of included tables in their place ---- */

typedef void option_fn(const struct poptOption *option);

static void each_option(const struct poptOption *table, option_fn *each) {
  for (; table->longName || table->shortName || table->arg; table++) {
    if ((table->argInfo & POPT_ARG_MASK) == POPT_ARG_INCLUDE_TABLE)
      each_option((const struct poptOption *)table->arg, each);
    else if (!(table->argInfo & POPT_ARGFLAG_DOC_HIDDEN))
      each(table);
  }
}

/* ---- mdoc ---- */

/* A sentence in lines of at most 78 characters. */
static void put_man_text(const char *text) {
  size_t column = 0;
  while (*text) {
    const size_t length = strcspn(text, " \n");
    if (column > 0 && column + 1 + length > 78) {
      putchar('\n');
      column = 0;
    } else if (column > 0) {
      putchar(' ');
      column++;
    }
    put_roff(stdout, text, length);
    column += length;
    text += length;
    /* NOLINTNEXTLINE(*-security.ArrayBound): length ends at the NUL at the latest */
    while (*text == ' ' || *text == '\n') text++;
  }
  putchar('\n');
}

static void man_option(const struct poptOption *option) {
  fputs(".It", stdout);
  if (option->shortName) printf(" Fl %c", option->shortName);
  if (option->shortName && option->longName) fputs(" ,", stdout);
  if (option->longName) printf(" Fl \\-%s", option->longName);
  if (option->argDescrip) {
    fputs(" Ar \\&", stdout);
    put_roff(stdout, option->argDescrip, strlen(option->argDescrip));
  }
  putchar('\n');
  if (option->descrip) put_man_text(option->descrip);
}

static void man_section(const mxg_help *help) {
  printf(".Ss mxgold %s\n", help->name);
  for (size_t i = 0; mxg_command_at(i); i++)
    if (strcmp(mxg_command_at(i)->name, help->name) == 0) put_man_text(mxg_command_at(i)->summary);
  fputs(".Bd -literal -offset indent\n", stdout);
  printf("mxgold %s", help->name);
  for (const char *line = help->usage; *line; line = next_line(line)) {
    const char *text = without_spaces(line);
    fputs(line == help->usage ? " " : "\n    ", stdout);
    put_roff(stdout, text, strcspn(text, "\n"));
  }
  fputs("\n.Ed\n", stdout);
  if (help->table->longName || help->table->shortName || help->table->arg) {
    fputs(".Bl -tag -width Ds\n", stdout);
    each_option(help->table, man_option);
    fputs(".El\n", stdout);
  }
  fputs(".Pp\nExamples:\n.Bd -literal -offset indent\n", stdout);
  mxg_print_examples(stdout, help->example, "");
  fputs(".Ed\n.Pp\n", stdout);
  put_man_text(mxg_exit_codes(help->example));
}

/* ---- Markdown ---- */

static void markdown_text(const char *text, const char *line_end) {
  for (; *text; text++) {
    if (*text == '|')
      fputs("\\|", stdout);
    else if (*text == '\n')
      fputs(line_end, stdout);
    else
      putchar(*text);
  }
}

static void markdown_option(const struct poptOption *option) {
  fputs("| `", stdout);
  if (option->shortName) printf("-%c", option->shortName);
  if (option->shortName && option->longName) fputs(", ", stdout);
  if (option->longName) printf("--%s", option->longName);
  if (option->argDescrip) {
    putchar(' ');
    markdown_text(option->argDescrip, " ");
  }
  fputs("` | ", stdout);
  markdown_text(option->descrip ? option->descrip : "", " ");
  fputs(" |\n", stdout);
}

static void markdown_section(const mxg_help *help) {
  printf("\n### mxgold %s\n\n```text\nmxgold %s %s\n```\n", help->name, help->name, help->usage);
  fputs("\n| option | |\n|---|---|\n", stdout);
  each_option(help->table, markdown_option);
  fputs("| `-h, --help` | show this help |\n", stdout);
}

void mxg_print_section(const mxg_help *help) {
  if (mxg_help_wanted == MXG_HELP_MAN) man_section(help);
  if (mxg_help_wanted == MXG_HELP_MARKDOWN) markdown_section(help);
}
