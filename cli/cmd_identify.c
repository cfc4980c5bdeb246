/* cmd_identify.c: mxgold identify: which preset gives the codes and scales of a file for an input.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "diagnose_internal.h"
#include "recipe_text.h"

static mxg_compare_request request;
static int bits, skip_nan, as_json;

static struct poptOption identify_table[] = {
    {"input", 0, POPT_ARG_STRING, &request.input, 0, "the values that FILE was made from", "X"},
    {"codes", 0, POPT_ARG_STRING, &request.codes, 0, "raw codes, in place of FILE", "C.bin"},
    {"scales", 0, POPT_ARG_STRING, &request.scales, 0, "raw scales that go with --codes", "S.bin"},
    {"slots", 0, POPT_ARG_STRING, &request.slots, 0,
     "raw slots [codes | scales | weights], in place of FILE", "S.bin"},
    {"row-weights", 0, POPT_ARG_STRING, &request.row_weights, 0,
     "f32 per row of the input, as in quantize", "W.raw"},
    {"bits", 0, POPT_ARG_NONE, &bits, 0, "two NaN with other bits differ", NULL},
    {"skip-nan", 0, POPT_ARG_NONE, &skip_nan, 0,
     "leave out FP4 and FP6 codes whose input element is NaN", NULL},
    {"json", 0, POPT_ARG_NONE, &as_json, 0,
     "one object: file, input, exact, best, presets[] {preset, fits, exact, share, codes "
     "{compared, "
     "equal}, scales {compared, equal}}, the best first, and diagnosis[] {model, explains, of, "
     "broken} of the best one where none is exact",
     NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_input_table, 0, "Input:", NULL},
    {NULL, 0, POPT_ARG_INCLUDE_TABLE, mxg_layout_table, 0, "Layout:", NULL},
    POPT_TABLEEND};

/* Elements that presets are ranked by; whether one is exact is asked of all. */
enum { RANKED_ELEMENTS = 1 << 21, DIAGNOSED_ELEMENTS = 1 << 15, DIAGNOSED_PRESETS = 8 };

typedef struct match {
  const mxg_preset *preset;
  bool codes_fit, fits; /* FILE has the sizes that the preset gives, of codes and of both */
  bool exact;
  uint64_t codes, equal_codes, scales, equal_scales; /* compared, and equal */
} match;

typedef struct job {
  mxg_packed_file got;
  mxg_tensor_file values, weights_file;
  const mxg_tensor *x;
  mxg_subject subject; /* but for recipe and layout */
  mxg_layout_options options;
  mxg_diagnose_options told;
} job;

/* ---- one preset ---- */

static bool set_recipe(job *j, const mxg_recipe *recipe) {
  j->subject.recipe = recipe;
  return mxg_layout_for(recipe, j->x->rows, j->x->cols, &j->options, &j->subject.got.layout) ==
         MXG_OK;
}

static int count_equal(const job *j, match *out) {
  mxg_case opened;
  int status = mxg_case_open(&opened, &j->subject, &j->told);
  out->codes = out->equal_codes = out->scales = out->equal_scales = 0;
  out->codes_fit = opened.codes_fit;
  out->fits = opened.codes_fit && opened.scales_fit;
  for (int kind = MXG_UNIT_CODE; kind <= MXG_UNIT_SCALE && !status && out->fits; kind++) {
    const size_t count = mxg_case_unit_count(&opened, (mxg_unit_kind)kind);
    for (size_t i = 0; i < count; i++) {
      mxg_unit unit;
      if (!mxg_case_unit(&opened, (mxg_unit_kind)kind, i, &unit)) continue;
      *(kind == MXG_UNIT_CODE ? &out->codes : &out->scales) += 1;
      if (!unit.differs) *(kind == MXG_UNIT_CODE ? &out->equal_codes : &out->equal_scales) += 1;
    }
  }
  out->exact = out->fits && out->codes == out->equal_codes && out->scales == out->equal_scales;
  mxg_case_close(&opened);
  return status;
}

static int try_preset(job *j, match *out) {
  const size_t rows = j->x->rows, cols = j->x->cols ? j->x->cols : 1;
  const size_t some = RANKED_ELEMENTS / cols ? RANKED_ELEMENTS / cols : 1;
  if (!set_recipe(j, &out->preset->recipe)) return MXG_EXIT_OK;
  j->subject.rows = some < rows ? some : rows;
  int status = count_equal(j, out);
  if (!status && out->exact && some < rows) {
    j->subject.rows = rows;
    status = count_equal(j, out);
  }
  return status;
}

static double share_of(const match *at) {
  const uint64_t all = at->codes + at->scales;
  if (!at->fits) return 0.0;
  return all ? (double)(at->equal_codes + at->equal_scales) / (double)all : 1.0;
}

static int compare_matches(const void *a, const void *b) {
  const match *x = a, *y = b;
  if (x->exact != y->exact) return x->exact ? -1 : 1;
  if (x->fits != y->fits) return x->fits ? -1 : 1;
  if (x->codes_fit != y->codes_fit) return x->codes_fit ? -1 : 1;
  if (share_of(x) > share_of(y)) return -1;
  if (share_of(x) < share_of(y)) return 1;
  return x->preset < y->preset ? -1 : x->preset > y->preset; /* the order of the table */
}

/* ---- what is printed ---- */

static void print_counts(const match *at) {
  char text[64];
  snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64, at->equal_codes, at->codes);
  printf("  %-24s  %" PRIu64 " of %" PRIu64 "\n", text, at->equal_scales, at->scales);
}

static void print_text(const job *j, const match *matches, size_t count,
                       const mxg_diagnosis *diagnosis) {
  fputs(matches[0].exact ? "found: " : "not found: ", stdout);
  mxg_put_escaped(stdout, j->got.path);
  if (matches[0].exact)
    printf(" is what %s gives for ", matches[0].preset->name);
  else
    fputs(" is not what any preset gives for ", stdout);
  mxg_put_escaped(stdout, j->x->path);
  printf("\n%-24s  %-8s  %-24s%s\n", "preset", "equal", "codes", "  scales");
  for (size_t i = 0; i < count; i++) {
    const match *at = &matches[i];
    if (!at->fits) {
      printf("%-24s  of another size\n", at->preset->name);
      continue;
    }
    printf("%-24s  %6.2f %%", at->preset->name, 100.0 * share_of(at));
    print_counts(at);
  }
  if (matches[0].exact) return;
  printf("against %s:\n", matches[0].preset->name);
  mxg_diagnosis_print(stdout, diagnosis);
}

static json_t *counts_to_json(uint64_t compared, uint64_t equal) {
  json_t *object = json_object();
  json_object_set_new(object, "compared", json_integer((json_int_t)compared));
  json_object_set_new(object, "equal", json_integer((json_int_t)equal));
  return object;
}

static void print_json(const job *j, const match *matches, size_t count,
                       const mxg_diagnosis *diagnosis) {
  json_t *object = json_object(), *presets = json_array();
  json_t *file = json_string(j->got.path), *input = json_string(j->x->path);
  json_object_set_new(object, "file", file ? file : json_null());
  json_object_set_new(object, "input", input ? input : json_null());
  json_object_set_new(object, "exact", json_boolean(matches[0].exact));
  json_object_set_new(object, "best", json_string(matches[0].preset->name));
  for (size_t i = 0; i < count; i++) {
    const match *at = &matches[i];
    json_t *entry = json_object();
    json_object_set_new(entry, "preset", json_string(at->preset->name));
    json_object_set_new(entry, "fits", json_boolean(at->fits));
    json_object_set_new(entry, "exact", json_boolean(at->exact));
    json_object_set_new(entry, "share", json_real(share_of(at)));
    json_object_set_new(entry, "codes", counts_to_json(at->codes, at->equal_codes));
    json_object_set_new(entry, "scales", counts_to_json(at->scales, at->equal_scales));
    json_array_append_new(presets, entry);
  }
  json_object_set_new(object, "presets", presets);
  json_object_set_new(object, "diagnosis", mxg_diagnosis_json(diagnosis));
  mxg_json_print(object);
  json_decref(object);
}

/* ---- the command ---- */

static int check_form(const mxg_arguments *arguments) {
  const size_t expected = request.codes || request.slots ? 0 : 1;
  if (request.codes && request.slots)
    return mxg_fail(MXG_EXIT_USAGE, "--codes and --slots exclude each other");
  if (request.scales && !request.codes)
    return mxg_fail(MXG_EXIT_USAGE, "--scales goes with --codes");
  if (arguments->count != expected)
    return mxg_fail(MXG_EXIT_USAGE,
                    "%zu files given, %zu expected: identify FILE --input X, or "
                    "identify --codes C --scales S --input X",
                    arguments->count, expected);
  return mxg_require("--input", request.input);
}

static int open_job(job *j, const char *path) {
  int status = mxg_compare_open_got(&request, path, &j->got);
  if (!status) status = mxg_tensor_file_open(request.input, &mxg_input_args, &j->values);
  if (!status) {
    const char *name = j->values.kind == MXG_FILE_SAFETENSORS ? mxg_input_args.tensor : NULL;
    status = mxg_values_pick(&j->values, name, &j->x);
  }
  if (!status) status = mxg_compare_options(&request, &j->got, &j->options);
  if (!status && request.row_weights)
    status = mxg_f32_file_open(request.row_weights, j->x->rows, "--row-weights, one for each row,",
                               &j->weights_file, &j->subject.row_weight);
  if (status) return status;
  j->told.bits = bits != 0;
  j->told.skip_nan = skip_nan != 0;
  j->subject.operation = MXG_OPERATION_QUANTIZE;
  j->subject.x = mxg_tensor_rows(j->x, 0, j->x->rows);
  j->subject.got.codes = j->got.codes;
  j->subject.got.codes_capacity = j->got.codes_bytes;
  j->subject.got.scales = j->got.scales;
  j->subject.got.scales_capacity = j->got.scales ? j->got.scales_bytes : 0;
  return MXG_EXIT_OK;
}

/* What is left of the differences when the best model is taken off. */
static uint64_t left_over(const mxg_diagnosis *diagnosis) {
  if (!diagnosis->count) return diagnosis->of;
  return diagnosis->of - diagnosis->list[0].explains + diagnosis->list[0].broken;
}

/* Which of the first few presets, with a change, comes nearest: that one goes first. */
static int find_nearest(job *j, match *matches, size_t count, mxg_diagnosis *out) {
  const size_t cols = j->x->cols ? j->x->cols : 1;
  const size_t some = DIAGNOSED_ELEMENTS / cols ? DIAGNOSED_ELEMENTS / cols : 1;
  size_t nearest = 0;
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < count && i < DIAGNOSED_PRESETS && least > 0; i++) {
    mxg_diagnosis diagnosis;
    if ((i && !matches[i].codes_fit) || !set_recipe(j, &matches[i].preset->recipe)) continue;
    j->subject.rows = some < j->x->rows ? some : j->x->rows;
    const int status = mxg_diagnose(&j->subject, 1, &j->told, &diagnosis);
    if (status) return status;
    if (left_over(&diagnosis) >= least) continue;
    least = left_over(&diagnosis);
    nearest = i;
  }
  const match first = matches[nearest];
  memmove(&matches[1], &matches[0], nearest * sizeof *matches);
  matches[0] = first;
  if (!set_recipe(j, &first.preset->recipe)) return MXG_EXIT_OK;
  j->subject.rows = j->x->rows;
  return mxg_diagnose(&j->subject, 1, &j->told, out);
}

/* Returns the exit code of the command. */
static int identify(job *j) {
  size_t count = 0;
  while (mxg_preset_at(count)) count++;
  match *matches = mxg_alloc(count * sizeof *matches);
  memset(matches, 0, count * sizeof *matches);
  int status = MXG_EXIT_OK;
  for (size_t i = 0; i < count && !status; i++) {
    matches[i].preset = mxg_preset_at(i);
    status = try_preset(j, &matches[i]);
  }
  mxg_diagnosis diagnosis;
  memset(&diagnosis, 0, sizeof diagnosis);
  if (!status) {
    qsort(matches, count, sizeof *matches, compare_matches);
    if (!matches[0].exact) status = find_nearest(j, matches, count, &diagnosis);
  }
  if (!status) {
    (as_json ? print_json : print_text)(j, matches, count, &diagnosis);
    status = matches[0].exact ? MXG_EXIT_OK : MXG_EXIT_DIFFERS;
  }
  free(matches);
  return status;
}

int mxg_cmd_identify(int argc, const char **argv) {
  mxg_arguments arguments;
  int status = mxg_parse_options(
      argc, argv, identify_table, "FILE --input X | --codes C --scales S --input X",
      "mxgold identify theirs.safetensors --input x.npy\n"
      "  mxgold identify --codes c.bin --scales s.bin --input x.bf16 --dtype bf16 --shape "
      "112x7168\n"
      "Exit codes: 0 a preset gives the file, 1 none does, 2 options, 3 a file.",
      &arguments);
  if (status) return status < 0 ? MXG_EXIT_OK : status;
  status = check_form(&arguments);
  if (status) return status;
  job j;
  memset(&j, 0, sizeof j);
  status = open_job(&j, arguments.positional[0]);
  if (!status) status = identify(&j);
  mxg_packed_close(&j.got);
  mxg_tensor_file_close(&j.values);
  mxg_tensor_file_close(&j.weights_file);
  return status;
}
