/* bench_text.c: the table of `mxgold bench`, for people, and the same in Markdown and JSON.
 * SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench_report.h"
#include "recipe_text.h"

const char *mxg_bench_who(const mxg_bench_row *row, char *text, size_t capacity) {
  if (strcmp(row->impl, "codec") == 0 || strcmp(row->impl, "limit") == 0)
    snprintf(text, capacity, "%s %s", row->impl, row->isa);
  else
    snprintf(text, capacity, "%s", row->impl);
  return text;
}

/* "2 MiB", "512 KiB", "unknown". */
static const char *bytes_text(size_t bytes, char *text, size_t capacity) {
  if (bytes == 0)
    snprintf(text, capacity, "unknown");
  else if (bytes % ((size_t)1 << 20) == 0)
    snprintf(text, capacity, "%zu MiB", bytes >> 20);
  else
    snprintf(text, capacity, "%zu KiB", bytes >> 10);
  return text;
}

static const char *clock_text(const mxg_bench_machine *machine, char *text, size_t capacity) {
  if (machine->ghz > 0)
    snprintf(text, capacity, "%.2f GHz", machine->ghz);
  else
    snprintf(text, capacity, "clock not known");
  return text;
}

static void print_sizes(const mxg_bench_machine *machine) {
  char l2[32], l3[32], dram[32], call[32];
  printf("token one row of 7168; l2 a set of %s; l3 %s; dram %s in calls of %s",
         bytes_text(machine->set_bytes[1], l2, sizeof l2),
         bytes_text(machine->set_bytes[2], l3, sizeof l3),
         bytes_text(machine->set_bytes[3], dram, sizeof dram),
         bytes_text(machine->call_bytes, call, sizeof call));
  if (machine->set_bytes[3] < (size_t)1 << 30) printf(" (less than 1 GiB: memory is short)");
}

void mxg_bench_print_head(const mxg_bench_report *report) {
  const mxg_bench_machine *machine = &report->machine;
  char clock[32], l2[32], l3[32];
  printf("%s, %s, L2 %s, L3 %s, threads %u\n", machine->cpu,
         clock_text(machine, clock, sizeof clock), bytes_text(machine->l2_bytes, l2, sizeof l2),
         bytes_text(machine->l3_bytes, l3, sizeof l3), machine->threads);
  print_sizes(machine);
  printf(
      "\n"
      "GB/s, B/cyc: source bytes, best of the run, then its median; xcpy: GB/s over memcpy's; "
      "spread: "
      "90th percentile\n\n"
      "%-25s %-24s %-5s %3s %10s %7s %7s %6s %6s %6s %6s %s\n",
      "operation", "by", "size", "thr", "ns/call", "ns/elem", "GB/s", "B/cyc", "median", "xcpy",
      "spread", "same");
}

const char *mxg_bench_number(double value, char *text, size_t capacity) {
  const int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 1 ? 2 : value >= 0.1 ? 3 : 4;
  snprintf(text, capacity, "%.*f", digits, value);
  return text;
}

void mxg_bench_print_row(const mxg_bench_row *row) {
  char who[64], each[32], gbps[32], best[32], median[32], memcpy_ratio[32];
  printf("%-25s %-24s %-5s %3u %10.0f %7s %7s %6s %6s %6s %5.0f%% %s\n", row->op,
         mxg_bench_who(row, who, sizeof who), row->size, row->threads, row->ns,
         mxg_bench_number(row->ns_per_element, each, sizeof each),
         mxg_bench_number(row->gbps, gbps, sizeof gbps),
         mxg_bench_number(row->bytes_per_cycle, best, sizeof best),
         mxg_bench_number(row->bytes_per_cycle_median, median, sizeof median),
         mxg_bench_number(row->memcpy_ratio, memcpy_ratio, sizeof memcpy_ratio),
         row->spread < 99.99 ? row->spread * 100 : 9999, row->equal ? "yes" : "NO");
}

static bool is_ours(const mxg_bench_row *row) {
  return strcmp(row->impl, "codec") == 0;
}

/* The portable row of the same case, or NULL. */
static const mxg_bench_row *portable_of(const mxg_bench_report *report, const mxg_bench_row *row) {
  for (size_t i = 0; i < report->count; i++) {
    const mxg_bench_row *other = &report->rows[i];
    if (is_ours(other) && strcmp(other->isa, "portable") == 0 && other->threads == row->threads &&
        strcmp(other->op, row->op) == 0 && strcmp(other->size, row->size) == 0 &&
        strcmp(other->data, row->data) == 0)
      return other;
  }
  return NULL;
}

void mxg_bench_print_tail(const mxg_bench_report *report) {
  size_t slower = 0, compared = 0;
  for (size_t i = 0; i < report->count; i++) {
    const mxg_bench_row *row = &report->rows[i];
    const mxg_bench_row *portable = portable_of(report, row);
    /* On a busy machine threads wait for each other, and say nothing. */
    if (!is_ours(row) || portable == NULL || portable == row || row->threads != 1) continue;
    compared++;
    if (row->ns <= portable->ns) continue;
    if (slower++ == 0) printf("\n");
    printf("slower than portable: %s %s %s, %s data\n", row->op, row->isa, row->size, row->data);
  }
  if (compared != 0 && slower == 0)
    printf("\nno row of one thread is slower than its portable one\n");
}

/* ---- Markdown ---- */

static bool is_same_line(const mxg_bench_row *a, const mxg_bench_row *b) {
  return strcmp(a->op, b->op) == 0 && strcmp(a->impl, b->impl) == 0 &&
         strcmp(a->isa, b->isa) == 0 && strcmp(a->data, b->data) == 0 && a->threads == b->threads;
}

/* The row of a line at a size; NULL where the run has none. */
static const mxg_bench_row *row_at(const mxg_bench_report *report, const mxg_bench_row *line,
                                   size_t size) {
  for (size_t i = 0; i < report->count; i++)
    if (is_same_line(&report->rows[i], line) &&
        strcmp(report->rows[i].size, mxg_bench_name(MXG_BENCH_SIZES, size)) == 0)
      return &report->rows[i];
  return NULL;
}

/* " best (median) |" in bytes per cycle; in GB/s where the clock is not known. */
static void print_cell(const mxg_bench_row *row) {
  char best[32], median[32];
  if (row == NULL) {
    printf(" |");
    return;
  }
  const bool per_cycle = row->bytes_per_cycle > 0;
  printf(" %s (%s) |",
         mxg_bench_number(per_cycle ? row->bytes_per_cycle : row->gbps, best, sizeof best),
         mxg_bench_number(per_cycle ? row->bytes_per_cycle_median : row->gbps_median, median,
                          sizeof median));
}

static void print_number_cell(const mxg_bench_row *row, double value) {
  char text[32];
  printf(" %s%s|", row == NULL ? "" : mxg_bench_number(value, text, sizeof text),
         row == NULL ? "" : " ");
}

static void print_line(const mxg_bench_report *report, const mxg_bench_row *line) {
  const mxg_bench_row *at[MXG_BENCH_SIZE_COUNT];
  char who[64];
  bool equal = true;
  for (size_t size = 0; size < MXG_BENCH_SIZE_COUNT; size++) {
    at[size] = row_at(report, line, size);
    if (at[size] != NULL) equal = equal && at[size]->equal;
  }
  printf("| %s | %s | %u |", line->op, mxg_bench_who(line, who, sizeof who), line->threads);
  print_number_cell(at[0], at[0] != NULL ? at[0]->ns : 0);
  for (size_t size = 0; size < MXG_BENCH_SIZE_COUNT; size++) print_cell(at[size]);
  print_number_cell(at[1], at[1] != NULL ? at[1]->memcpy_ratio : 0);
  print_number_cell(at[3], at[3] != NULL ? at[3]->memcpy_ratio : 0);
  if (at[1] != NULL)
    printf(" %.0f %% |", at[1]->spread * 100);
  else
    printf(" |");
  printf(" %s |\n", equal ? "yes" : "no");
}

void mxg_bench_print_markdown(const mxg_bench_report *report) {
  const mxg_bench_machine *machine = &report->machine;
  char clock[32], date[32] = "";
  const time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc) != NULL) strftime(date, sizeof date, "%Y-%m-%d", &utc);
  printf("%s, %s, %s, %u threads, %s, mxgold %s: `%s`\n\n", date, machine->cpu,
         clock_text(machine, clock, sizeof clock), machine->threads, report->compiler,
         mxg_version(), report->command);
  print_sizes(machine);
  printf(".\n");
  const char *data = NULL;
  for (size_t i = 0; i < report->count; i++) {
    const mxg_bench_row *row = &report->rows[i];
    bool is_first = true;
    for (size_t j = 0; j < i && is_first; j++) is_first = !is_same_line(&report->rows[j], row);
    if (!is_first) continue;
    if (data == NULL || strcmp(data, row->data) != 0)
      printf(
          "\nData: %s. Source %s, best (median).\n\n"
          "| operation | by | threads | ns, token | token | l2 | l3 | dram | l2: of memcpy | "
          "dram: of memcpy | l2: spread | same bytes |\n"
          "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
          row->data, row->bytes_per_cycle > 0 ? "bytes per cycle" : "GB/s");
    data = row->data;
    print_line(report, row);
  }
}

/* ---- JSON ---- */

/* A number that was not measured is null. */
static json_t *measured(double value) {
  return value > 0 ? json_real(value) : json_null();
}

void mxg_bench_print_json(const mxg_bench_report *report) {
  json_t *array = json_array();
  for (size_t i = 0; i < report->count; i++) {
    const mxg_bench_row *row = &report->rows[i];
    json_t *object = json_object();
    json_object_set_new(object, "op", json_string(row->op));
    json_object_set_new(object, "impl", json_string(row->impl));
    json_object_set_new(object, "isa", json_string(row->isa));
    json_object_set_new(object, "size", json_string(row->size));
    json_object_set_new(object, "threads", json_integer((json_int_t)row->threads));
    json_object_set_new(object, "data", json_string(row->data));
    json_object_set_new(object, "ns", measured(row->ns));
    json_object_set_new(object, "ns_median", measured(row->ns_median));
    json_object_set_new(object, "ns_per_element", measured(row->ns_per_element));
    json_object_set_new(object, "gbps", measured(row->gbps));
    json_object_set_new(object, "gbps_median", measured(row->gbps_median));
    json_object_set_new(object, "bytes_per_cycle", measured(row->bytes_per_cycle));
    json_object_set_new(object, "bytes_per_cycle_median", measured(row->bytes_per_cycle_median));
    json_object_set_new(object, "memcpy_ratio", measured(row->memcpy_ratio));
    json_object_set_new(object, "spread", json_real(row->spread));
    json_object_set_new(object, "equal", json_boolean(row->equal));
    json_array_append_new(array, object);
  }
  mxg_json_print(array);
  json_decref(array);
}
