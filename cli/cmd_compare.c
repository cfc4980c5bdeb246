/* cmd_compare.c: which byte differs, where, and what it decodes to.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "compare.h"

static mxg_compare_request request;
static const char *limit_text, *report_path;
static int bits, skip_nan, as_slots, as_json, sources;

static struct poptOption compare_table[] = {
    {"input", 0, POPT_ARG_STRING, &request.input, 0,
     "compare with what the recipe gives for this file", "X"},
    {"recipe", 'r', POPT_ARG_STRING, &request.recipe, 0,
     "the convention (default: what the file's metadata names)", "R"},
    {"codes", 0, POPT_ARG_STRING, &request.codes, 0, "raw codes, in place of GOT", "C.bin"},
    {"scales", 0, POPT_ARG_STRING, &request.scales, 0, "raw scales that go with --codes", "S.bin"},
    {"slots", 0, POPT_ARG_STRING, &request.slots, 0,
     "raw slots [codes | scales | weights], in place of GOT", "S.bin"},
    {"sources", 0, POPT_ARG_NONE, &sources, 0,
     "OUT SOURCES...: OUT must be the sum of these files, as combine takes them, - for a missing "
     "one",
     NULL},
    {"as-slots", 0, POPT_ARG_NONE, &as_slots, 0,
     "A and B are raw slots of --shape RxC and --recipe R", NULL},
    {"row-weights", 0, POPT_ARG_STRING, &request.row_weights, 0,
     "f32 per row of the input, as in quantize", "W.raw"},
    {"weights", 0, POPT_ARG_STRING, &request.weights, 0,
     "of --slots: its --slot-weights; of --sources: rows x sources", "W.raw"},
    {"live-rows", 0, POPT_ARG_STRING, &request.live_rows, 0, "compare the first N rows", "N"},
    {"bits", 0, POPT_ARG_NONE, &bits, 0,
     "two NaN with other bits differ; unused bits and pads count too", NULL},
    {"skip-nan", 0, POPT_ARG_NONE, &skip_nan, 0,
     "leave out FP4 and FP6 codes whose input element is NaN", NULL},
    {"limit", 0, POPT_ARG_STRING, &limit_text, 0, "list the first N differences (default 20)", "N"},
    {"report", 0, POPT_ARG_STRING, &report_path, 0,
     "also write a page that needs nothing but a browser: the verdict, the diagnosis, a map of "
     "where "
     "rows x blocks differ, error by exponent, the first differences bit by bit",
     "OUT.html"},
    {"json", 0, POPT_ARG_NONE, &as_json, 0,
     "one object: same, got, want, input, recipe, notes[] {kind, text}, totals {codes, scales, "
     "unused_scales, unused_bits, pads, weights, values, bytes: {compared, differ, nan_only, "
     "skipped}}, diagnosis[] {model, explains, of, broken}, differences[] {kind, tensor, row, col, "
     "block, and input, got, want, got_value, "
     "want_value, got_scale, want_scale, each as a number (or \"nan\", \"inf\", \"-inf\") and as "
     "hexadecimal NAME_bits}",
     NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_input_table, 0, "Input:", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_layout_table, 0, "Layout:", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_run_table, 0, "How to run:", NULL},
    POPT_TABLEEND};

/* Values against what codes and scales decode to, or against a sum? */
static int find_decoding(const mxg_arguments *arguments, bool *decodes) {
  const bool has_raw = request.codes || request.slots;
  *decodes = false;
  if (sources) {
    const char *alone = request.input ? "--input"
                        : has_raw     ? "--codes or --slots"
                        : as_slots    ? "--as-slots"
                                      : NULL;
    if (alone)
      return mxg_fail(MXG_EXIT_USAGE, "--sources with %s: give OUT and its sources alone", alone);
    if (arguments->count < 2)
      return mxg_fail(MXG_EXIT_USAGE, "--sources: give OUT and behind it the slot files");
    return MXG_EXIT_OK;
  }
  if (arguments->count != 1) return MXG_EXIT_OK;
  if (has_raw && !request.input) {
    *decodes = true;
    return MXG_EXIT_OK;
  }
  bool from_codes = false, to_codes = false;
  int status = MXG_EXIT_OK;
  if (request.input && !has_raw) status = mxg_holds_codes(request.input, &from_codes);
  if (!status && from_codes) status = mxg_holds_codes(arguments->positional[0], &to_codes);
  *decodes = from_codes && !to_codes;
  return status;
}

/* Which form of the command the options make, or what is wrong with them. */
static int check_form(const mxg_arguments *arguments) {
  const bool has_raw = request.codes || request.slots;
  if (request.codes && request.slots)
    return mxg_fail(MXG_EXIT_USAGE, "--codes and --slots exclude each other");
  if (request.scales && !request.codes)
    return mxg_fail(MXG_EXIT_USAGE, "--scales goes with --codes");
  if (has_raw && !request.input)
    return mxg_fail(MXG_EXIT_USAGE, "%s needs --input X to compare with",
                    request.codes ? "--codes" : "--slots");
  if (has_raw && !request.recipe)
    return mxg_fail(MXG_EXIT_USAGE, "--recipe is needed: raw codes do not name theirs");
  if (request.input && as_slots)
    return mxg_fail(MXG_EXIT_USAGE, "--as-slots is for two files: give --slots S.bin --input X");
  const size_t expected = has_raw ? 0 : request.input ? 1 : 2;
  if (arguments->count != expected)
    return mxg_fail(MXG_EXIT_USAGE,
                    "%zu file%s given, %zu expected: compare A B, compare GOT --input "
                    "X, or compare --codes C --scales S --input X",
                    arguments->count, arguments->count == 1 ? "" : "s", expected);
  if (!request.input) {
    const char *alone = skip_nan              ? "--skip-nan"
                        : request.row_weights ? "--row-weights"
                        : request.live_rows   ? "--live-rows"
                        : request.weights     ? "--weights"
                                              : NULL;
    if (alone) return mxg_fail(MXG_EXIT_USAGE, "%s needs --input X", alone);
  }
  const char *first =
      has_raw ? request.codes ? request.codes : request.slots : arguments->positional[0];
  if (request.input && strcmp(request.input, "-") == 0 &&
      (strcmp(first, "-") == 0 || (request.scales && strcmp(request.scales, "-") == 0)))
    return mxg_fail(MXG_EXIT_USAGE, "only one file can be standard input");
  return MXG_EXIT_OK;
}

static int check_decoding(void) {
  if (request.codes && request.slots)
    return mxg_fail(MXG_EXIT_USAGE, "--codes and --slots exclude each other");
  if (request.scales && !request.codes)
    return mxg_fail(MXG_EXIT_USAGE, "--scales goes with --codes");
  if ((request.codes || request.slots) && !request.recipe)
    return mxg_fail(MXG_EXIT_USAGE, "--recipe is needed: raw codes do not name theirs");
  const char *alone = skip_nan              ? "--skip-nan"
                      : as_slots            ? "--as-slots"
                      : request.row_weights ? "--row-weights"
                      : request.live_rows   ? "--live-rows"
                      : request.weights     ? "--weights"
                                            : NULL;
  return alone ? mxg_fail(MXG_EXIT_USAGE, "%s does not go with values that are decoded", alone)
               : MXG_EXIT_OK;
}

int mxg_cmd_compare(int argc, const char **argv) {
  mxg_arguments arguments;
  int status = mxg_parse_options(
      argc, argv, compare_table,
      "A B | GOT --input X [--recipe R] | --codes C --scales S --input X --recipe R |\n"
      "  VALUES --input PACKED | VALUES --codes C --scales S --recipe R | OUT --sources SOURCES...",
      "mxgold compare mine.safetensors golden.safetensors\n"
      "  mxgold compare mine.safetensors --input x.npy --recipe mxfp4\n"
      "  mxgold compare --codes c.bin --scales s.bin --input x.bf16 --dtype bf16 --shape 112x7168 "
      "--recipe mori-fp8 --json\n"
      "  mxgold compare mine.safetensors --input x.npy --recipe mxfp4 --report differences.html\n"
      "Exit codes: 0 same, 1 different, 2 options or recipe, 3 a file.",
      &arguments);
  if (status) return status < 0 ? MXG_EXIT_OK : status;
  bool decodes = false;
  status = find_decoding(&arguments, &decodes);
  if (!status && !decodes && !sources) status = check_form(&arguments);
  if (!status && decodes) status = check_decoding();
  size_t limit = 20;
  if (!status && limit_text) status = mxg_count_arg("--limit", limit_text, &limit);
  if (status) return status;
  const char *inputs[6 + 65] = {request.codes,       request.scales,  request.slots,
                                request.row_weights, request.weights, request.input};
  for (size_t i = 0; i < arguments.count && i < 65; i++) inputs[6 + i] = arguments.positional[i];
  request.as_slots = as_slots != 0;
  mxg_report report;
  mxg_report_begin(&report, limit);
  report.bits = bits != 0;
  report.skip_nan = skip_nan != 0;
  report.pads = report.bits || mxg_pad_given();
  const char *first = arguments.positional[0];
  mxg_output *page = NULL;
  if (report_path)
    status = mxg_report_open(&report, report_path, inputs, sizeof inputs / sizeof inputs[0], &page);
  if (status == MXG_EXIT_OK) {
    if (sources)
      status = mxg_compare_sum(&report, &request, first, arguments.positional + 1);
    else if (decodes)
      status = mxg_compare_decoded(&report, &request, first);
    else if (request.input)
      status = mxg_compare_with_input(&report, &request, first);
    else
      status = mxg_compare_files(&report, &request, first, arguments.positional[1]);
  }
  const int written = mxg_report_close(&report, status == MXG_EXIT_OK, &page);
  if (!status) status = mxg_report_print(&report, as_json != 0);
  if (written) status = written;
  mxg_report_end(&report);
  return status;
}
