/* verify.c: the answers of a stream: which plan they are for, which of them are there, and what is
 * wrong with the stream itself.
 * SPDX-License-Identifier: MIT */
#include "verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "recipe_text.h"

enum { UNSEEN, ANSWERED, MALFORMED };
enum { FAULTS_LISTED = 5 };

typedef struct verification {
  mxg_report *report;
  mxg_plan plan;
  mxg_pipe_index index;
  mxg_reader reader;
  mxg_answer_check check;
  mxg_pipe_case one;
  unsigned char *seen; /* by case: one of the above */
  uint64_t *places;    /* by case: line, or offset, of its answer */
  bool *is_right;      /* by case: it has the right answer */
  uint64_t elements;   /* of right answers */
  mxg_kept kept;       /* wrong ones */
  uint64_t highest;    /* greatest number seen */
  bool has_highest;
  char first_fault[1024];
} verification;

/* Something is wrong with the stream: noted, and the first one is also the command's message. */
__attribute__((format(printf, 3, 4))) static void fault(verification *v, const char *kind,
                                                        const char *format, ...) {
  char text[900];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (v->report->stream_faults++ == 0)
    snprintf(v->first_fault, sizeof v->first_fault, "%s: %s: %s", v->reader.path, kind, text);
  if (v->report->stream_faults <= FAULTS_LISTED) mxg_report_note(v->report, kind, "%s", text);
}

/* ---- the plan ---- */

static int disagrees(const char *option, const char *told, const char *found) {
  return mxg_fail(MXG_EXIT_USAGE,
                  "the cases were made with %s %s, not %s: give gen and verify the same", option,
                  found, told);
}

static int check_number(const char *option, bool is_given, uint64_t told, uint64_t found) {
  char told_text[32], found_text[32];
  if (!is_given || told == found) return MXG_EXIT_OK;
  snprintf(told_text, sizeof told_text, "%" PRIu64, told);
  snprintf(found_text, sizeof found_text, "%" PRIu64, found);
  return disagrees(option, told_text, found_text);
}

/* Do the options agree with the header? */
static int check_plan(const mxg_plan *told, const mxg_plan_given *given, const mxg_plan *found) {
  if (given->recipe && !mxg_recipe_equal(&told->recipe, &found->recipe))
    return disagrees("--recipe", mxg_recipe_short_text(&told->recipe),
                     mxg_recipe_short_text(&found->recipe));
  if (given->op && told->op != found->op)
    return disagrees("--op", mxg_op_name(told->op), mxg_op_name(found->op));
  int status = check_number("--seed", given->seed, told->seed, found->seed);
  if (!status) status = check_number("--level", given->level, told->level, found->level);
  if (!status && given->rows && !found->has_rows) status = disagrees("--rows", "given", "varied");
  if (!status && given->cols && !found->has_cols) status = disagrees("--cols", "given", "varied");
  if (!status) status = check_number("--rows", given->rows, told->rows, found->rows);
  if (!status) status = check_number("--cols", given->cols, told->cols, found->cols);
  if (!status && given->top_k && !found->has_top_k)
    status = disagrees("--top-k", "given", "varied");
  if (!status) status = check_number("--top-k", given->top_k, told->top_k, found->top_k);
  if (!status)
    status = check_number("--row-weights", given->row_weights, 1, found->has_row_weights);
  if (!status && given->dtypes && memcmp(told->dtypes, found->dtypes, sizeof told->dtypes) != 0)
    status = mxg_fail(MXG_EXIT_USAGE, "the cases were made with another --dtype");
  if (!status && given->format && told->is_binary != found->is_binary)
    status = disagrees("--format", told->is_binary ? "binary" : "text",
                       found->is_binary ? "binary" : "text");
  return status;
}

static int no_header(verification *v, const mxg_plan_given *given) {
  if (given->recipe && given->seed && given->level) return MXG_EXIT_OK;
  v->report->stream_faults = 1;
  mxg_report_note(v->report, "header", "the stream does not begin with gen's header");
  if (v->reader.is_binary)
    return mxg_fail(
        MXG_EXIT_FILE,
        "%s: header: there is none: the program must pass gen's first line, which begins with '# "
        "mxgold-cases', on unchanged (or give verify gen's --seed and --level and its "
        "other options)",
        v->reader.path);
  return mxg_fail(MXG_EXIT_FILE,
                  "%s: line 1: no header but '%.60s': the program must copy lines that begin with "
                  "'#' unchanged and print nothing else but answers (or give verify gen's --seed "
                  "and --level and its other options)",
                  v->reader.path, v->reader.text ? v->reader.text : "");
}

static int find_plan(verification *v, const mxg_plan *asked, const mxg_plan_given *given) {
  char why[512];
  const mxg_header_result result = mxg_reader_header(&v->reader);
  if (result == MXG_HEADER_EMPTY) {
    v->report->stream_faults = 1;
    mxg_report_note(v->report, "truncated", "the stream is empty");
    return mxg_fail(MXG_EXIT_FILE,
                    "%s: truncated: it is empty: the program printed nothing; run `mxgold gen ... "
                    "| program` alone "
                    "to see why",
                    v->reader.path);
  }
  v->plan = *asked;
  if (result == MXG_HEADER_NONE) {
    const int status = no_header(v, given);
    return status ? status : mxg_pipe_open(&v->plan, &v->index);
  }
  if (!mxg_plan_parse(v->reader.text, &v->plan, why, sizeof why)) {
    v->report->stream_faults = 1;
    mxg_report_note(v->report, "header", "%s", why);
    return mxg_fail(MXG_EXIT_FILE, "%s: header: line %" PRIu64 ": %s", v->reader.path,
                    v->reader.line, why);
  }
  int status = check_plan(asked, given, &v->plan);
  const uint64_t cases = v->plan.cases;
  if (!status) status = mxg_pipe_open(&v->plan, &v->index);
  if (!status && v->plan.cases != cases) {
    v->report->stream_faults = 1;
    mxg_report_note(v->report, "header", "the header's number of cases is not that of its plan");
    status =
        mxg_fail(MXG_EXIT_FILE,
                 "%s: header: line %" PRIu64 ": it says cases=%" PRIu64 ", its plan has %" PRIu64
                 ": use gen and verify of one mxgold, and pass the header on unchanged",
                 v->reader.path, v->reader.line, cases, v->plan.cases);
  }
  v->reader.is_binary = v->plan.is_binary;
  return status;
}

/* ---- answers ---- */

static uint64_t place_of(const verification *v) {
  return v->reader.is_binary ? v->reader.offset : v->reader.line;
}

/* Is the number one of a case that is to be answered now? Otherwise says what is wrong. */
static bool check_id(verification *v) {
  const uint64_t id = v->reader.id;
  const char *place = mxg_reader_place(&v->reader), *unit = v->reader.is_binary ? "offset" : "line";
  if (id >= v->plan.cases) {
    fault(v, "extra", "%s: there is no case %" PRIu64 ": the last one is %" PRIu64, place, id,
          v->plan.cases - 1);
    return false;
  }
  if (v->seen[id] != UNSEEN) {
    fault(v, "duplicated",
          "%s: case %" PRIu64 " was answered before, %s %" PRIu64 ": answer each case once", place,
          id, unit, v->places[id]);
    return false;
  }
  if (v->has_highest && id < v->highest)
    fault(v, "reordered",
          "%s: case %" PRIu64 " is answered behind case %" PRIu64
          ": answer in the order of the cases",
          place, id, v->highest);
  if (!v->has_highest || id > v->highest) v->highest = id;
  v->has_highest = true;
  v->places[id] = place_of(v);
  return true;
}

/* Does a line without an end hold all that the case needs? */
static bool is_cut(verification *v) {
  if (!v->reader.is_unterminated || v->reader.is_binary) return false;
  return v->reader.first.bytes != v->check.want_first.bytes ||
         v->reader.second.bytes != v->check.want_second.bytes;
}

static int take_answer(verification *v) {
  bool differs = false;
  if (!check_id(v)) return MXG_EXIT_OK;
  v->seen[v->reader.id] = ANSWERED;
  int status = mxg_pipe_make(&v->index, v->reader.id, &v->one);
  if (status) return status;
  if (v->reader.is_unterminated) {
    status = mxg_pipe_answer(&v->plan, &v->one, v->check.impl, &v->check.run, &v->check.want_first,
                             &v->check.want_second);
    if (status) return status;
    if (is_cut(v)) {
      v->seen[v->reader.id] = MALFORMED;
      fault(v, "truncated", "%s: the stream ends inside the answer to case %" PRIu64,
            mxg_reader_place(&v->reader), v->reader.id);
      return MXG_EXIT_OK;
    }
  }
  v->report->cases_answered++;
  status = mxg_check_answer(&v->check, &v->one, &v->reader.first, &v->reader.second,
                            mxg_reader_place(&v->reader), &differs);
  if (status) return status;
  v->report->cases_differ += differs;
  v->is_right[v->reader.id] = !differs;
  if (!differs)
    v->elements += v->one.rows * v->one.cols;
  else if (v->plan.op == MXG_OPERATION_QUANTIZE ||
           v->reader.first.bytes == v->check.want_first.bytes)
    mxg_keep_answer(&v->kept, &v->one, &v->reader.first, &v->reader.second);
  return MXG_EXIT_OK;
}

static int take_all(verification *v) {
  for (;;) {
    const mxg_read_result result = mxg_reader_next(&v->reader);
    if (result == MXG_READ_END) return MXG_EXIT_OK;
    if (result == MXG_READ_ANSWER) {
      const int status = take_answer(v);
      if (status) return status;
      mxg_progress_step(v->report->cases_answered);
      continue;
    }
    if (v->reader.has_id && v->reader.id < v->plan.cases && v->seen[v->reader.id] == UNSEEN) {
      v->seen[v->reader.id] = MALFORMED;
      v->places[v->reader.id] = place_of(v);
    }
    fault(v, result == MXG_READ_TRUNCATED ? "truncated" : "malformed", "%s: %s",
          mxg_reader_place(&v->reader), v->reader.why);
    if (result != MXG_READ_MALFORMED) return MXG_EXIT_OK;
  }
}

/* Cases without an answer, as ranges; those at the end are an end that came too soon. */
static void find_missing(verification *v) {
  uint64_t tail = v->plan.cases;
  while (tail > 0 && v->seen[tail - 1] == UNSEEN) tail--;
  for (uint64_t id = 0; id < tail; id++) {
    if (v->seen[id] != UNSEEN) continue;
    uint64_t last = id;
    while (v->seen[last + 1] == UNSEEN) last++;
    if (last == id)
      fault(v, "missing", "case %" PRIu64 " has no answer", id);
    else
      fault(v, "missing", "cases %" PRIu64 " to %" PRIu64 " have no answer", id, last);
    id = last;
  }
  if (tail < v->plan.cases && tail == 0)
    fault(v, "truncated", "none of %" PRIu64 " cases is answered", v->plan.cases);
  else if (tail < v->plan.cases)
    fault(v, "truncated",
          "the answers end with case %" PRIu64 ", %" PRIu64 " of %" PRIu64
          " cases are left: did the program stop, or not flush its output?",
          tail - 1, v->plan.cases - tail, v->plan.cases);
}

static void describe(verification *v) {
  mxg_report *report = v->report;
  char text[128];
  snprintf(text, sizeof text, "%s, seed %" PRIu64 ", level %u", mxg_op_name(v->plan.op),
           v->plan.seed, v->plan.level);
  report->got = mxg_copy_text(v->reader.path);
  report->input = mxg_copy_text(text);
  report->recipe = mxg_copy_text(mxg_recipe_short_text(&v->plan.recipe));
  report->has_cases = true;
  if (report->chart) report->chart->is_stream = true;
  report->cases = v->plan.cases;
  report->seed = v->plan.seed;
  report->level = v->plan.level;
  report->op = mxg_op_name(v->plan.op);
}

static int verify_opened(verification *v, const mxg_plan *asked, const mxg_plan_given *given) {
  int status = find_plan(v, asked, given);
  if (status == MXG_EXIT_OK) describe(v);
  if (status) return status;
  v->reader.form = v->plan.op == MXG_OPERATION_QUANTIZE ? "ID CODES SCALES" : "ID Y";
  v->seen = mxg_alloc((size_t)v->plan.cases + 1);
  v->places = mxg_alloc(((size_t)v->plan.cases + 1) * sizeof *v->places);
  v->is_right = mxg_alloc(((size_t)v->plan.cases + 1) * sizeof *v->is_right);
  mxg_progress_begin("verify", v->plan.cases);
  status = take_all(v);
  if (!status) find_missing(v);
  mxg_progress_end();
  if (!status && v->kept.count)
    status = mxg_verify_diagnose(&v->check, &v->index, v->is_right, v->elements, &v->kept);
  if (status || v->report->stream_faults == 0) return status;
  const uint64_t faults = v->report->stream_faults;
  if (faults > FAULTS_LISTED)
    mxg_report_note(v->report, "stream", "... and %" PRIu64 " more", faults - FAULTS_LISTED);
  if (faults == 1) return mxg_fail(MXG_EXIT_FILE, "%s", v->first_fault);
  return mxg_fail(MXG_EXIT_FILE, "%s (the first of %" PRIu64 " such)", v->first_fault, faults);
}

int mxg_verify(mxg_report *report, const mxg_verify_options *options, const mxg_plan *asked,
               const mxg_plan_given *given) {
  verification v;
  memset(&v, 0, sizeof v);
  v.report = report;
  v.check.report = report;
  v.check.plan = &v.plan;
  v.check.impl = options->impl;
  v.check.run = options->run;
  int status = mxg_reader_open(&v.reader, options->path);
  if (!status) status = verify_opened(&v, asked, given);
  mxg_reader_close(&v.reader);
  mxg_check_end(&v.check);
  mxg_pipe_free(&v.one);
  free(v.seen);
  free(v.places);
  free(v.is_right);
  mxg_kept_end(&v.kept);
  return status;
}
