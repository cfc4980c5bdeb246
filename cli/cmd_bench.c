/* cmd_bench.c: how fast each operation is here, beside what the machine can do.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_report.h"
#include "recipe_text.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static const char *op_text, *isa_text, *size_text, *data_text, *threads_text, *svg_path;
static double seconds = 0.1;

enum { WORD_MAX = 64 };

/* The next word of a comma-separated list; false at its end. Words that are too long are cut: they
 * are no name anyway. */
static bool next_word(const char **at, char word[WORD_MAX]) {
  if (*at == NULL) return false;
  const size_t length = strcspn(*at, ",");
  snprintf(word, WORD_MAX, "%.*s", (int)(length < WORD_MAX ? length : WORD_MAX - 1), *at);
  *at = (*at)[length] == ',' ? *at + length + 1 : NULL;
  return true;
}

static int unknown_name(const char *option, const char *word, mxg_bench_list list) {
  const char *names[65] = {NULL};
  char all[2048] = "";
  size_t length = 0;
  for (size_t i = 0; i < 64 && mxg_bench_name(list, i) != NULL; i++) {
    names[i] = mxg_bench_name(list, i);
    if (length < sizeof all)
      length += (size_t)snprintf(all + length, sizeof all - length, " %s", names[i]);
  }
  const char *nearest = mxg_nearest(word, names);
  if (nearest)
    return mxg_fail(MXG_EXIT_USAGE, "%s: unknown name '%s'; did you mean '%s'?", option, word,
                    nearest);
  return mxg_fail(MXG_EXIT_USAGE, "%s: unknown name '%s': choose of:%s", option, word, all);
}

/* A list of names as a mask; 0 for no list. */
static int names_arg(const char *option, const char *text, mxg_bench_list list, uint64_t *mask) {
  char word[WORD_MAX];
  *mask = 0;
  while (next_word(&text, word)) {
    size_t i = 0;
    while (mxg_bench_name(list, i) != NULL && strcmp(mxg_bench_name(list, i), word) != 0) i++;
    if (mxg_bench_name(list, i) == NULL) return unknown_name(option, word, list);
    *mask |= (uint64_t)1 << i;
  }
  return MXG_EXIT_OK;
}

/* Bits of the instruction sets in the order of MXG_BENCH_ISAS. */
static const uint32_t isa_bits[] = {MXG_ISA_PORTABLE, MXG_ISA_AVX2, MXG_ISA_AVX512, MXG_ISA_NEON};

static int isas_arg(const char *text, uint64_t *mask) {
  const int status = names_arg("--isa", text, MXG_BENCH_ISAS, mask);
  if (status != 0) return status;
  for (size_t i = 0; i < sizeof isa_bits / sizeof isa_bits[0]; i++)
    if ((*mask >> i & 1) != 0 && (mxg_cpu_features() & isa_bits[i]) == 0)
      return mxg_fail(MXG_EXIT_USAGE, "--isa: this CPU has no %s (mxgold info says what it has)",
                      mxg_bench_name(MXG_BENCH_ISAS, i));
  return MXG_EXIT_OK;
}

static int threads_arg(const char *text, uint32_t all, mxg_bench_options *options) {
  char word[WORD_MAX];
  while (next_word(&text, word)) {
    size_t count = 0;
    if (mxg_count_arg("--threads", word, &count) != 0) return MXG_EXIT_USAGE;
    if (count < 1 || count > all)
      return mxg_fail(MXG_EXIT_USAGE, "--threads: %zu cannot be: 1 to %u on this machine%s", count,
                      all, all == 1 ? " and this build" : "");
    if (options->thread_count == MXG_BENCH_THREADS_MAX)
      return mxg_fail(MXG_EXIT_USAGE, "--threads: at most %d counts", MXG_BENCH_THREADS_MAX);
    options->threads[options->thread_count++] = (uint32_t)count;
  }
  return MXG_EXIT_OK;
}

static int bench_args(uint32_t all_threads, mxg_bench_options *options) {
  int status;
  memset(options, 0, sizeof *options);
  if ((status = names_arg("--op", op_text, MXG_BENCH_OPS, &options->ops)) != 0) return status;
  if ((status = isas_arg(isa_text, &options->isas)) != 0) return status;
  if ((status = names_arg("--size", size_text, MXG_BENCH_SIZES, &options->sizes)) != 0)
    return status;
  if ((status = names_arg("--data", data_text, MXG_BENCH_DATA, &options->data)) != 0) return status;
  if ((status = threads_arg(threads_text, all_threads, options)) != 0) return status;
  if (!(seconds > 0 && seconds <= 60))
    return mxg_fail(MXG_EXIT_USAGE, "--seconds: more than 0, 60 at most, for each row");
  options->seconds = seconds;
  return MXG_EXIT_OK;
}

/* ---- rows as they come ---- */

typedef struct collector {
  mxg_bench_report *report;
  bool prints;
} collector;

static void collect(const mxg_bench_row *row, size_t done, size_t total, void *context) {
  const collector *c = context;
  mxg_bench_report *report = c->report;
  if (report->count == report->capacity) {
    report->capacity = report->capacity * 2 + 256;
    mxg_bench_row *rows = realloc(report->rows, report->capacity * sizeof *rows);
    if (rows == NULL) exit(mxg_fail(MXG_EXIT_FILE, "out of memory"));
    report->rows = rows;
  }
  report->rows[report->count++] = *row;
  if (c->prints) {
    mxg_bench_print_row(row);
    fflush(stdout);
  } else {
    if (done == 1) mxg_progress_begin("bench", total);
    mxg_progress_step(done);
  }
}

static const char *command_text(int argc, const char **argv) {
  static char text[1024];
  size_t length = (size_t)snprintf(text, sizeof text, "mxgold");
  for (int i = 0; i < argc && length < sizeof text; i++)
    length += (size_t)snprintf(text + length, sizeof text - length, " %s", argv[i]);
  return text;
}

static int write_svg(const mxg_bench_report *report) {
  mxg_output *output = NULL;
  int status = mxg_output_open("--svg", svg_path, &output);
  if (status != 0) return status;
  if ((status = mxg_bench_write_svg(report, output)) != 0) {
    mxg_output_abort(&output, 1);
    return status;
  }
  return mxg_output_commit(&output, 1);
}

/* Peers have their own rules: only ours must be equal. */
static int verdict(const mxg_bench_report *report) {
  size_t differing = 0;
  for (size_t i = 0; i < report->count; i++)
    differing += !report->rows[i].equal && strncmp(report->rows[i].impl, "peer", 4) != 0;
  if (differing == 0) return MXG_EXIT_OK;
  return mxg_fail(MXG_EXIT_DIFFERS, "%zu of %zu rows gave other bytes than the golden model",
                  differing, report->count);
}

int mxg_cmd_bench(int argc, const char **argv) {
  int as_json = 0, as_markdown = 0;
  struct poptOption table[] = {
      {"op", 0, POPT_ARG_STRING, &op_text, 0,
       "only these operations, such as quantize-mxfp4,combine8-fp8-128 (a wrong name lists all); "
       "the limits of the machine are always measured",
       "LIST"},
      {"isa", 0, POPT_ARG_STRING, &isa_text, 0, "only these of portable,avx2,avx512,neon", "LIST"},
      {"size", 0, POPT_ARG_STRING, &size_text, 0, "only these of token,l2,l3,dram", "LIST"},
      {"data", 0, POPT_ARG_STRING, &data_text, 0, "random (the default), denormal-heavy, tie-heavy",
       "LIST"},
      {"threads", 0, POPT_ARG_STRING, &threads_text, 0,
       "numbers of threads (default: 1, 2 and all)", "LIST"},
      {"seconds", 0, POPT_ARG_DOUBLE, &seconds, 0, "time each row so long (default 0.1)", "S"},
      {"svg", 0, POPT_ARG_STRING, &svg_path, 0, "also draw bars of bytes per cycle", "OUT"},
      {"json", 0, POPT_ARG_NONE, &as_json, 0,
       "an array of objects: op, impl, isa, size, threads, data, ns, gbps, bytes_per_cycle, "
       "memcpy_ratio, equal, ns_per_element, spread, and ..._median",
       NULL},
      {"markdown", 0, POPT_ARG_NONE, &as_markdown, 0,
       "the tables of docs/SPEED.md: a line an operation, a column a size", NULL},
      POPT_TABLEEND};
  mxg_arguments arguments;
  int status = mxg_parse_options(
      argc, argv, table, "[--op LIST] [--isa LIST] [--size LIST] [--seconds S] [--json]",
      "mxgold bench --svg speed.svg\n"
      "mxgold bench --op quantize-mxfp4 --size l2,dram --threads 1 --seconds 1\n"
      "mxgold bench --json | jq '.[] | select(.equal | not)'",
      &arguments);
  if (status != 0) return status < 0 ? MXG_EXIT_OK : status;
  if (arguments.count != 0)
    return mxg_fail(MXG_EXIT_USAGE, "takes no file: '%s'", arguments.positional[0]);
  if (as_json && as_markdown) return mxg_fail(MXG_EXIT_USAGE, "--json and --markdown: choose one");

  mxg_bench_report report = {.command = command_text(argc, argv), .compiler = COMPILER};
  mxg_bench_options options;
  mxg_bench_machine_of(&report.machine);
  if ((status = bench_args(report.machine.threads, &options)) != 0) return status;
  if (svg_path != NULL && (status = mxg_output_check("--svg", svg_path, NULL)) != 0) return status;

  collector c = {&report, !as_json && !as_markdown};
  if (c.prints) mxg_bench_print_head(&report);
  const char *why = mxg_bench_run(&report.machine, &options, collect, &c);
  mxg_progress_end();
  if (why != NULL) {
    free(report.rows);
    return mxg_fail(MXG_EXIT_FILE, "%s", why);
  }
  if (as_json)
    mxg_bench_print_json(&report);
  else if (as_markdown)
    mxg_bench_print_markdown(&report);
  else
    mxg_bench_print_tail(&report);
  if (svg_path != NULL) status = write_svg(&report);
  if (status == 0) status = verdict(&report);
  free(report.rows);
  return status;
}
