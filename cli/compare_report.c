/* compare_report.c: what differs, as a table for people and as JSON for machines.
 * SPDX-License-Identifier: MIT */
#include "compare.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recipe_text.h"

static const struct {
  const char *name;           /* of one difference */
  const char *totals;         /* key of the totals */
  const char *words, *plural; /* in a sentence */
} kinds[MXG_DIFFERENCE_KINDS] = {
    {"code", "codes", "code", "codes"},
    {"scale", "scales", "scale", "scales"},
    {"unused_scale", "unused_scales", "unused scale", "unused scales"},
    {"unused_bits", "unused_bits", "byte's unused bits", "bytes' unused bits"},
    {"pad", "pads", "pad", "pads"},
    {"weight", "weights", "weight", "weights"},
    {"value", "values", "value", "values"},
    {"byte", "bytes", "byte", "bytes"}};

void mxg_report_begin(mxg_report *report, size_t limit) {
  memset(report, 0, sizeof *report);
  report->limit = report->keep = limit;
}

const char *mxg_difference_name(mxg_difference_kind kind, bool is_plural) {
  return is_plural ? kinds[kind].plural : kinds[kind].words;
}

void mxg_report_end(mxg_report *report) {
  for (size_t i = 0; i < report->note_count; i++) free(report->notes[i].text);
  for (size_t i = 0; i < report->difference_count; i++) free(report->differences[i].tensor);
  free(report->got);
  free(report->want);
  free(report->input);
  free(report->recipe);
  free(report->notes);
  free(report->differences);
  mxg_chart_free(report->chart);
  free(report->subjects);
}

/* An array of `count` entries gets room for one more; it doubles at powers of two. */
static void *grow(void *entries, size_t count, size_t entry_bytes) {
  if (count > 0 && (count & (count - 1)) != 0) return entries;
  const size_t capacity = count ? 2 * count : 1;
  void *larger = mxg_alloc(capacity * entry_bytes);
  if (count) memcpy(larger, entries, count * entry_bytes);
  free(entries);
  return larger;
}

void mxg_report_note(mxg_report *report, const char *kind, const char *format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  report->notes = grow(report->notes, report->note_count, sizeof *report->notes);
  report->notes[report->note_count].kind = kind;
  report->notes[report->note_count++].text = mxg_copy_text(text);
}

bool mxg_report_count(mxg_report *report, mxg_difference_kind kind) {
  report->counts[kind].differ++;
  return report->difference_count < report->keep;
}

void mxg_report_add(mxg_report *report, const mxg_difference *difference) {
  if (report->difference_count >= report->keep) return;
  report->differences =
      grow(report->differences, report->difference_count, sizeof *report->differences);
  mxg_difference *added = &report->differences[report->difference_count++];
  *added = *difference;
  added->tensor = report->tensor ? mxg_copy_text(report->tensor) : NULL;
  added->has_origin = report->origin != NULL;
  if (report->origin) added->origin = *report->origin;
}

uint64_t mxg_report_differing(const mxg_report *report) {
  uint64_t sum = 0;
  for (int kind = 0; kind < MXG_DIFFERENCE_KINDS; kind++) sum += report->counts[kind].differ;
  return sum;
}

bool mxg_report_is_same(const mxg_report *report) {
  return !report->note_count && !report->stream_faults && !report->cases_differ &&
         mxg_report_differing(report) == 0;
}

void mxg_report_subject(mxg_report *report, const mxg_subject *subject) {
  report->subjects = grow(report->subjects, report->subject_count, sizeof *report->subjects);
  report->subjects[report->subject_count++] = *subject;
}

int mxg_report_diagnose(mxg_report *report, const mxg_subject *subjects, size_t count) {
  if (!subjects) {
    subjects = report->subjects;
    count = report->subject_count;
  }
  if (mxg_report_is_same(report) || !count) return MXG_EXIT_OK;
  const mxg_diagnose_options options = {.bits = report->bits, .skip_nan = report->skip_nan};
  report->has_diagnosis = true;
  return mxg_diagnose(subjects, count, &options, &report->diagnosis);
}

/* ---- text ---- */

enum { COLUMNS = 9, CELL_CAP = 64 };

typedef enum cell_form { VALUE_THEN_BITS, BITS_THEN_VALUE } cell_form;

/* "0.7 (3F333333)", "05 = 0.75", or whichever part there is. */
static void format_cell(char *out, const mxg_cell *bits, const mxg_cell *value, cell_form form) {
  char digits[16] = "", number[32] = "";
  if (bits->digits) snprintf(digits, sizeof digits, "%0*" PRIX32, bits->digits, bits->bits);
  if (value->has_value) snprintf(number, sizeof number, "%.9g", (double)value->value);
  if (!digits[0] || !number[0])
    snprintf(out, CELL_CAP, "%s", digits[0] ? digits : number[0] ? number : "-");
  else if (form == VALUE_THEN_BITS)
    snprintf(out, CELL_CAP, "%s (%s)", number, digits);
  else
    snprintf(out, CELL_CAP, "%s = %s", digits, number);
}

static void format_row(char row[COLUMNS][CELL_CAP], const mxg_difference *at) {
  /* a code has its value in a cell of its own, an unpacked value in the same one */
  const mxg_cell *got = at->got_value.has_value ? &at->got_value : &at->got;
  const mxg_cell *want = at->want_value.has_value ? &at->want_value : &at->want;
  snprintf(row[0], CELL_CAP, "%s", kinds[at->kind].name);
  snprintf(row[1], CELL_CAP, "%zu", at->row);
  snprintf(row[2], CELL_CAP, "%zu", at->col);
  snprintf(row[3], CELL_CAP, "-");
  if (at->has_block) snprintf(row[3], CELL_CAP, "%zu", at->block);
  format_cell(row[4], &at->input, &at->input, VALUE_THEN_BITS);
  format_cell(row[5], &at->got, got, BITS_THEN_VALUE);
  format_cell(row[6], &at->want, want, BITS_THEN_VALUE);
  format_cell(row[7], &at->got_scale, &at->got_scale, BITS_THEN_VALUE);
  format_cell(row[8], &at->want_scale, &at->want_scale, BITS_THEN_VALUE);
}

/* Cell c of a line: nothing is padded behind the last one. */
static void print_padded(const char *text, int c, int width) {
  if (c + 1 < COLUMNS)
    printf("%-*s  ", width, text);
  else
    printf("%s\n", text);
}

/* Differences that the text and the JSON list; a page may have more. */
static size_t listed_differences(const mxg_report *report) {
  return report->difference_count < report->limit ? report->difference_count : report->limit;
}

static void print_differences(const mxg_report *report) {
  static const char *const titles[COLUMNS] = {"what", "row",  "col",       "block",     "input",
                                              "got",  "want", "got scale", "want scale"};
  char row[COLUMNS][CELL_CAP];
  int widths[COLUMNS];
  const size_t count = listed_differences(report);
  if (count == 0) return;
  for (int c = 0; c < COLUMNS; c++) widths[c] = (int)strlen(titles[c]);
  for (size_t i = 0; i < count; i++) {
    format_row(row, &report->differences[i]);
    for (int c = 0; c < COLUMNS; c++)
      if ((int)strlen(row[c]) > widths[c]) widths[c] = (int)strlen(row[c]);
  }
  const char *tensor = NULL;
  const mxg_origin *origin = NULL;
  for (int c = 0; c < COLUMNS; c++) print_padded(titles[c], c, widths[c]);
  for (size_t i = 0; i < count; i++) {
    const mxg_difference *at = &report->differences[i];
    if (at->tensor && (!tensor || strcmp(tensor, at->tensor) != 0)) {
      tensor = at->tensor;
      printf("tensor ");
      mxg_put_escaped(stdout, tensor);
      putchar('\n');
    }
    if (at->has_origin && (!origin || origin->id != at->origin.id)) {
      origin = &at->origin;
      printf("case %" PRIu64 ", %s (%s)\n", origin->id, origin->section, origin->place);
    }
    format_row(row, at);
    for (int c = 0; c < COLUMNS; c++) print_padded(row[c], c, widths[c]);
  }
}

static void print_totals(const mxg_report *report) {
  const uint64_t listed = listed_differences(report), all = mxg_report_differing(report);
  if (all > listed) printf("... and %" PRIu64 " more (--limit N lists N)\n", all - listed);
  if (report->has_cases)
    printf("%-14s %" PRIu64 " answered, %" PRIu64 " differ\n", "cases", report->cases_answered,
           report->cases_differ);
  for (int kind = 0; kind < MXG_DIFFERENCE_KINDS; kind++) {
    const mxg_count *count = &report->counts[kind];
    if (!count->compared && !count->differ) continue;
    printf("%-14s %" PRIu64 " compared, %" PRIu64 " differ", kinds[kind].totals, count->compared,
           count->differ);
    if (count->nan_only)
      printf(", %" PRIu64 " NaN in other bits%s", count->nan_only,
             report->bits ? "" : " (equal without --bits)");
    if (count->skipped) printf(", %" PRIu64 " of NaN inputs skipped", count->skipped);
    putchar('\n');
  }
}

static void print_verdict(const mxg_report *report) {
  const bool same = mxg_report_is_same(report);
  fputs(same ? "same: " : "different: ", stdout);
  mxg_put_escaped(stdout, report->got);
  fputs(same ? " is " : " is not ", stdout);
  if (report->input) {
    printf("what %s gives for ", report->recipe);
    mxg_put_escaped(stdout, report->input);
  } else {
    mxg_put_escaped(stdout, report->want);
    if (report->recipe) printf(", recipe %s", report->recipe);
  }
  putchar('\n');
}

static void print_stream_verdict(const mxg_report *report) {
  if (report->stream_faults)
    printf("malformed: %" PRIu64 " of %" PRIu64
           " cases have an answer that can be read; of these "
           "%" PRIu64 " are not",
           report->cases_answered, report->cases, report->cases_differ);
  else if (report->cases_differ)
    printf("different: %" PRIu64 " of %" PRIu64 " answers are not", report->cases_differ,
           report->cases);
  else
    printf("same: all %" PRIu64 " answers are", report->cases);
  printf(" what %s gives (%s)\n", report->recipe, report->input);
}

static void print_text(const mxg_report *report) {
  if (report->has_cases)
    print_stream_verdict(report);
  else
    print_verdict(report);
  for (size_t i = 0; i < report->note_count; i++) {
    printf("%s: ", report->notes[i].kind);
    mxg_put_escaped(stdout, report->notes[i].text);
    putchar('\n');
  }
  print_differences(report);
  print_totals(report);
  if (report->has_diagnosis) mxg_diagnosis_print(stdout, &report->diagnosis);
}

/* ---- JSON ---- */

static void set_cell(json_t *object, const char *key, const mxg_cell *cell) {
  char bits_key[32];
  if (cell->has_value) json_object_set_new(object, key, mxg_json_value((double)cell->value));
  if (!cell->digits) return;
  snprintf(bits_key, sizeof bits_key, "%s_bits", key);
  json_object_set_new(object, bits_key, mxg_json_bits(cell->bits, cell->digits));
}

static json_t *json_text(const char *text) {
  /* a name that is no UTF-8 becomes null rather than a broken document */
  json_t *value = text ? json_string(text) : NULL;
  return value ? value : json_null();
}

static json_t *difference_to_json(const mxg_difference *at) {
  json_t *object = json_object();
  json_object_set_new(object, "kind", json_string(kinds[at->kind].name));
  if (at->tensor) json_object_set_new(object, "tensor", json_text(at->tensor));
  if (at->has_origin) {
    json_object_set_new(object, "case", json_integer((json_int_t)at->origin.id));
    json_object_set_new(object, "section", json_string(at->origin.section));
    json_object_set_new(object, "place", json_string(at->origin.place));
  }
  json_object_set_new(object, "row", json_integer((json_int_t)at->row));
  json_object_set_new(object, "col", json_integer((json_int_t)at->col));
  if (at->has_block) json_object_set_new(object, "block", json_integer((json_int_t)at->block));
  set_cell(object, "input", &at->input);
  set_cell(object, "got", &at->got);
  set_cell(object, "want", &at->want);
  set_cell(object, "got_value", &at->got_value);
  set_cell(object, "want_value", &at->want_value);
  set_cell(object, "got_scale", &at->got_scale);
  set_cell(object, "want_scale", &at->want_scale);
  return object;
}

static json_t *totals_to_json(const mxg_report *report) {
  json_t *totals = json_object();
  for (int kind = 0; kind < MXG_DIFFERENCE_KINDS; kind++) {
    const mxg_count *count = &report->counts[kind];
    json_t *entry = json_object();
    json_object_set_new(entry, "compared", json_integer((json_int_t)count->compared));
    json_object_set_new(entry, "differ", json_integer((json_int_t)count->differ));
    json_object_set_new(entry, "nan_only", json_integer((json_int_t)count->nan_only));
    json_object_set_new(entry, "skipped", json_integer((json_int_t)count->skipped));
    json_object_set_new(totals, kinds[kind].totals, entry);
  }
  return totals;
}

static void set_cases(json_t *object, const mxg_report *report) {
  json_t *cases = json_object();
  json_object_set_new(cases, "all", json_integer((json_int_t)report->cases));
  json_object_set_new(cases, "answered", json_integer((json_int_t)report->cases_answered));
  json_object_set_new(cases, "differ", json_integer((json_int_t)report->cases_differ));
  json_object_set_new(object, "cases", cases);
  json_object_set_new(object, "seed", json_integer((json_int_t)report->seed));
  json_object_set_new(object, "level", json_integer((json_int_t)report->level));
  json_object_set_new(object, "op", json_text(report->op));
}

static void print_json(const mxg_report *report) {
  json_t *object = json_object(), *notes = json_array(), *differences = json_array();
  json_object_set_new(object, "same", json_boolean(mxg_report_is_same(report)));
  if (report->has_cases) set_cases(object, report);
  json_object_set_new(object, "got", json_text(report->got));
  json_object_set_new(object, "want", json_text(report->want));
  json_object_set_new(object, "input", json_text(report->input));
  json_object_set_new(object, "recipe", json_text(report->recipe));
  for (size_t i = 0; i < report->note_count; i++) {
    json_t *note = json_object();
    json_object_set_new(note, "kind", json_string(report->notes[i].kind));
    json_object_set_new(note, "text", json_text(report->notes[i].text));
    json_array_append_new(notes, note);
  }
  json_object_set_new(object, "notes", notes);
  json_object_set_new(object, "totals", totals_to_json(report));
  for (size_t i = 0; i < listed_differences(report); i++)
    json_array_append_new(differences, difference_to_json(&report->differences[i]));
  json_object_set_new(object, "differences", differences);
  json_object_set_new(object, "diagnosis", mxg_diagnosis_json(&report->diagnosis));
  mxg_json_print(object);
  json_decref(object);
}

int mxg_report_print(const mxg_report *report, bool as_json) {
  if (as_json)
    print_json(report);
  else
    print_text(report);
  return mxg_report_is_same(report) ? MXG_EXIT_OK : MXG_EXIT_DIFFERS;
}
