/* options.c: command lines: popt tables, --help, and the arguments that are more than text.
 * SPDX-License-Identifier: MIT */
#include "help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Long names of a table and of those it includes. */
static size_t collect_names(const struct poptOption *table, const char **names, size_t count,
                            size_t capacity) {
  for (; table->longName || table->shortName || table->arg; table++) {
    if ((table->argInfo & POPT_ARG_MASK) == POPT_ARG_INCLUDE_TABLE)
      count = collect_names((const struct poptOption *)table->arg, names, count, capacity);
    else if (table->longName && count + 1 < capacity)
      names[count++] = table->longName;
  }
  names[count] = NULL;
  return count;
}

static int bad_option(poptContext context, int error, const struct poptOption *table) {
  const char *option = poptBadOption(context, POPT_BADOPTION_NOALIAS);
  if (error == POPT_ERROR_NOARG)
    return mxg_fail(MXG_EXIT_USAGE, "option '%s' needs a value", option);
  if (error != POPT_ERROR_BADOPT)
    return mxg_fail(MXG_EXIT_USAGE, "option '%s': %s", option, poptStrerror(error));
  const char *names[64];
  collect_names(table, names, 0, sizeof names / sizeof names[0]);
  const char *nearest = strncmp(option, "--", 2) == 0 ? mxg_nearest(option + 2, names) : NULL;
  if (nearest)
    return mxg_fail(MXG_EXIT_USAGE, "unknown option '%s'; did you mean '--%s'?", option, nearest);
  return mxg_fail(MXG_EXIT_USAGE, "unknown option '%s': --help lists the options", option);
}

/* popt copies the value of an option, and loses the copy when the option is given again: the last one
 * counts, and those before it are freed here. Options of one name more have one place. */
typedef struct option_value {
  const void *place;
  char *copy;
} option_value;
enum { FIRST_VALUE = 256, VALUES_MAX = 64 }; /* above the letters of options */
static option_value values[VALUES_MAX];

/* poptGetNextOpt() returns FIRST_VALUE + i after it has stored values[i]. */
static void number_values(struct poptOption *table) {
  for (; table->longName || table->shortName || table->arg; table++) {
    const unsigned kind = table->argInfo & POPT_ARG_MASK;
    if (kind == POPT_ARG_INCLUDE_TABLE) number_values(table->arg);
    if (kind != POPT_ARG_STRING) continue;
    int i = 0;
    while (i < VALUES_MAX && values[i].place && values[i].place != table->arg) i++;
    if (i == VALUES_MAX) continue;
    values[i].place = table->arg;
    table->val = FIRST_VALUE + i;
  }
}

static void keep_value(option_value *of) {
  free(of->copy);
  of->copy = *(char *const *)of->place;
}

/* popt ends the process with status 1 when it finds no memory; 1 would say that files differ. */
static bool popt_is_parsing;
static void no_memory_in_popt(void) {
  if (popt_is_parsing) _exit(MXG_EXIT_FILE);
}

static int out_of_memory(void) {
  popt_is_parsing = false;
  return mxg_fail(MXG_EXIT_FILE, "out of memory while the options were read");
}

int mxg_parse_options(int argc, const char **argv, struct poptOption *table, const char *usage,
                      const char *example, mxg_arguments *out) {
  /* popt keeps pointers into all of these: they live as long as the process. `help` parses its own
   * options and then those of a command. */
  static struct poptOption all[3];
  static char title[64];
  static poptContext contexts[2];
  static const char **names[2];
  static size_t parsed;
  const struct poptOption end = POPT_TABLEEND;
  const struct poptOption included = {NULL, 0, POPT_ARG_INCLUDE_TABLE, table, 0, "Options:", NULL};
  const struct poptOption help = {"help", 'h', POPT_ARG_NONE, NULL, 'h', "show this help", NULL};
  if (mxg_help_wanted != MXG_HELP_NONE) {
    const mxg_help section = {argv[0], usage, example, table};
    mxg_print_section(&section);
    return -1;
  }
  number_values(table);
  all[0] = included;
  all[1] = help;
  all[2] = end;
  snprintf(title, sizeof title, "mxgold %s", argv[0]);
  if (parsed < 2) parsed++;
  const char **named = names[parsed - 1] = mxg_alloc(((size_t)argc + 1) * sizeof *named);
  memcpy(named, argv, (size_t)argc * sizeof *named);
  named[0] = title;
  atexit(no_memory_in_popt);
  popt_is_parsing = true;
  /* elsewhere it goes on as if an option had not been given, and leaves errno as the allocation did */
  errno = 0;
  /* NOLINTNEXTLINE(misc-misplaced-const): popt's typedef of a pointer */
  const poptContext context = contexts[parsed - 1] = poptGetContext(title, argc, named, all, 0);
  if (!context) return out_of_memory();
  poptSetOtherOptionHelp(context, usage);
  int next;
  while ((next = poptGetNextOpt(context)) >= FIRST_VALUE && errno != ENOMEM)
    keep_value(&values[next - FIRST_VALUE]);
  if (errno == ENOMEM) return out_of_memory();
  popt_is_parsing = false;
  if (next == 'h') {
    poptPrintHelp(context, stdout, 0);
    printf("\nExample:\n");
    mxg_print_examples(stdout, example, "  ");
    printf("%s\n", mxg_exit_codes(example));
    return -1;
  }
  if (next < -1) return bad_option(context, next, all);
  static const char *nothing[] = {NULL};
  const char **rest = poptGetArgs(context);
  out->positional = rest ? rest : nothing;
  out->count = 0;
  while (out->positional[out->count]) out->count++;
  return 0;
}

int mxg_require(const char *option, const char *text) {
  return text ? MXG_EXIT_OK
              : mxg_fail(MXG_EXIT_USAGE, "%s is needed: --help shows an example", option);
}

/* Decimal digits only; NULL when there is none or the value does not fit. */
static const char *parse_count(const char *text, size_t *out) {
  size_t value = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++) {
    const size_t digit = (size_t)(*at - '0');
    if (value > (SIZE_MAX - digit) / 10) return NULL;
    value = value * 10 + digit;
  }
  *out = value;
  return at == text ? NULL : at;
}

int mxg_count_arg(const char *option, const char *text, size_t *out) {
  const char *end = parse_count(text, out);
  if (end && *end == 0) return MXG_EXIT_OK;
  return mxg_fail(MXG_EXIT_USAGE, "%s: '%s' is no count: give decimal digits, at most %zu", option,
                  text, (size_t)SIZE_MAX);
}

bool mxg_parse_shape(const char *text, size_t *rows, size_t *cols) {
  size_t leading = 1, last = 0;
  for (const char *at = text;; at++) {
    at = parse_count(at, &last);
    if (!at) return false;
    if (*at == 0) break;
    if (*at != 'x' || mxg_size_mul(leading, last, &leading) != MXG_OK) return false;
  }
  *rows = leading;
  *cols = last;
  return true;
}

int mxg_shape_arg(const char *option, const char *text, size_t *rows, size_t *cols) {
  if (mxg_parse_shape(text, rows, cols)) return MXG_EXIT_OK;
  return mxg_fail(MXG_EXIT_USAGE, "%s: '%s' is no shape: write ROWSxCOLS, such as 128x7168", option,
                  text);
}

int mxg_result_dtype_arg(const char *option, const char *text, mxg_dtype *out) {
  static const char *const names[] = {"f32", "f16", "bf16", NULL};
  static const mxg_dtype dtypes[] = {MXG_DTYPE_F32, MXG_DTYPE_F16, MXG_DTYPE_BF16};
  for (size_t i = 0; names[i]; i++) {
    if (strcmp(text, names[i]) != 0) continue;
    *out = dtypes[i];
    return MXG_EXIT_OK;
  }
  return mxg_fail(MXG_EXIT_USAGE, "%s: '%s' is no type: choose f32, f16 or bf16", option, text);
}
