/* pipe_plan.c: the options that make a plan, and the header line that carries it.
 * SPDX-License-Identifier: MIT */
#include "pipe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "recipe_text.h"

static const char *recipe_text, *op_text, *seed_text, *level_text, *dtype_text, *rows_text,
    *cols_text, *top_k_text, *format_text;
static int row_weights;

struct poptOption mxg_plan_table[] = {
    {"recipe", 'r', POPT_ARG_STRING, &recipe_text, 0, "preset, or preset,key=value,...", "R"},
    {"seed", 0, POPT_ARG_STRING, &seed_text, 0, "of the random part of the cases (default 1)", "S"},
    {"level", 0, POPT_ARG_STRING, &level_text, 0, "1: seconds (default), 2: thorough", "1|2"},
    {"op", 0, POPT_ARG_STRING, &op_text, 0, "what the program does (default quantize)",
     "quantize|dequantize|combine"},
    {"dtype", 0, POPT_ARG_STRING, &dtype_text, 0,
     "types of the values, comma-separated (default f32,f16,bf16)", "LIST"},
    {"src", 0, POPT_ARG_STRING | POPT_ARGFLAG_DOC_HIDDEN, &dtype_text, 0, NULL, NULL},
    {"rows", 0, POPT_ARG_STRING, &rows_text, 0, "rows of every case (default: varied)", "T"},
    {"cols", 0, POPT_ARG_STRING, &cols_text, 0, "columns of every case (default: varied)", "H"},
    {"top-k", 0, POPT_ARG_STRING, &top_k_text, 0, "combine: sources (default: varied)", "K"},
    {"row-weights", 0, POPT_ARG_NONE, &row_weights, 0, "quantize: an f32 weight for each row",
     NULL},
    {"format", 0, POPT_ARG_STRING, &format_text, 0, "of the stream (default text)", "text|binary"},
    POPT_TABLEEND};

static const struct {
  const char *name;
  mxg_operation op;
} ops[] = {{"quantize", MXG_OPERATION_QUANTIZE},
           {"dequantize", MXG_OPERATION_DEQUANTIZE},
           {"combine", MXG_OPERATION_COMBINE},
           {"quantise", MXG_OPERATION_QUANTIZE},
           {"dequantise", MXG_OPERATION_DEQUANTIZE}};

static const char *const dtype_names[] = {"", "f32", "f16", "bf16"};

const char *mxg_op_name(mxg_operation op) {
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
    if (ops[i].op == op) return ops[i].name;
  return "?";
}

const char *mxg_dtype_name(mxg_dtype dtype) {
  return dtype_names[dtype];
}

static bool parse_op(const char *text, mxg_operation *out) {
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
    if (strcmp(ops[i].name, text) != 0) continue;
    *out = ops[i].op;
    return true;
  }
  return false;
}

static bool parse_dtypes(const char *text, bool *dtypes) {
  memset(dtypes, 0, 4 * sizeof *dtypes);
  for (;;) {
    const size_t length = strcspn(text, ",");
    bool is_known = false;
    for (int dtype = 1; dtype < 4; dtype++) {
      if (strlen(dtype_names[dtype]) != length || strncmp(text, dtype_names[dtype], length) != 0)
        continue;
      dtypes[dtype] = is_known = true;
    }
    if (!is_known) return false;
    if (text[length] == 0) return true;
    text += length + 1;
  }
}

static bool parse_number(const char *text, uint64_t *out) {
  uint64_t value = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++) {
    const uint64_t digit = (uint64_t)(*at - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
  }
  *out = value;
  return at != text && *at == 0;
}

static bool parse_format(const char *text, bool *is_binary) {
  *is_binary = strcmp(text, "binary") == 0;
  return *is_binary || strcmp(text, "text") == 0;
}

/* ---- options ---- */

static int shape_args(mxg_plan *plan) {
  int status = MXG_EXIT_OK;
  if (rows_text) status = mxg_count_arg("--rows", rows_text, &plan->rows);
  if (!status && cols_text) status = mxg_count_arg("--cols", cols_text, &plan->cols);
  if (!status && top_k_text) status = mxg_count_arg("--top-k", top_k_text, &plan->top_k);
  if (status) return status;
  plan->has_rows = rows_text != NULL;
  plan->has_cols = cols_text != NULL;
  plan->has_top_k = top_k_text != NULL;
  if (plan->top_k > MXG_PIPE_TOP_K)
    return mxg_fail(MXG_EXIT_USAGE, "--top-k: %zu is too many: at most %d", plan->top_k,
                    MXG_PIPE_TOP_K);
  if (top_k_text && plan->op != MXG_OPERATION_COMBINE)
    return mxg_fail(MXG_EXIT_USAGE, "--top-k goes with --op combine");
  if (row_weights && plan->op != MXG_OPERATION_QUANTIZE)
    return mxg_fail(MXG_EXIT_USAGE, "--row-weights goes with --op quantize");
  plan->has_row_weights = row_weights != 0;
  return MXG_EXIT_OK;
}

int mxg_plan_args(bool needs_recipe, mxg_plan *out, mxg_plan_given *given) {
  const mxg_plan start = {.op = MXG_OPERATION_QUANTIZE, .seed = 1, .level = 1};
  const mxg_plan_given what = {.recipe = recipe_text,
                               .op = op_text,
                               .seed = seed_text,
                               .level = level_text,
                               .dtypes = dtype_text,
                               .rows = rows_text,
                               .cols = cols_text,
                               .top_k = top_k_text,
                               .row_weights = row_weights != 0,
                               .format = format_text};
  uint64_t level = 1;
  *given = what;
  *out = start;
  if (needs_recipe && mxg_require("--recipe", recipe_text)) return MXG_EXIT_USAGE;
  if (recipe_text && mxg_recipe_arg(recipe_text, NULL, &out->recipe)) return MXG_EXIT_USAGE;
  if (op_text && !parse_op(op_text, &out->op))
    return mxg_fail(MXG_EXIT_USAGE,
                    "--op: '%s' is not known: choose quantize, dequantize or combine", op_text);
  if (seed_text && !parse_number(seed_text, &out->seed))
    return mxg_fail(MXG_EXIT_USAGE, "--seed: '%s' is no number: give decimal digits, below 2^64",
                    seed_text);
  if (level_text && (!parse_number(level_text, &level) || level < 1 || level > MXG_PIPE_LEVELS))
    return mxg_fail(MXG_EXIT_USAGE,
                    "--level: '%s' is not known: choose 1 (seconds) or 2 (thorough)", level_text);
  out->level = (unsigned)level;
  if (!parse_dtypes(dtype_text ? dtype_text : "f32,f16,bf16", out->dtypes))
    return mxg_fail(MXG_EXIT_USAGE, "--dtype: '%s' is no list of f32, f16 and bf16", dtype_text);
  if (format_text && !parse_format(format_text, &out->is_binary))
    return mxg_fail(MXG_EXIT_USAGE, "--format: '%s' is not known: choose text or binary",
                    format_text);
  return shape_args(out);
}

/* ---- the header ---- */

static const char prefix[] = "# mxgold-cases ";

static void put(char *text, size_t cap, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put(char *text, size_t cap, const char *format, ...) {
  const size_t length = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  if (length < cap) vsnprintf(text + length, cap - length, format, arguments);
  va_end(arguments);
}

void mxg_plan_print(const mxg_plan *plan, char *text, size_t cap) {
  const char *comma = "";
  text[0] = 0;
  put(text, cap, "%s%d recipe=%s op=%s seed=%" PRIu64 " level=%u format=%s dtype=", prefix,
      MXG_PIPE_VERSION, mxg_recipe_short_text(&plan->recipe), mxg_op_name(plan->op), plan->seed,
      plan->level, plan->is_binary ? "binary" : "text");
  for (int dtype = 1; dtype < 4; dtype++) {
    if (!plan->dtypes[dtype]) continue;
    put(text, cap, "%s%s", comma, dtype_names[dtype]);
    comma = ",";
  }
  if (plan->has_rows) put(text, cap, " rows=%zu", plan->rows);
  if (plan->has_cols) put(text, cap, " cols=%zu", plan->cols);
  if (plan->has_top_k) put(text, cap, " top_k=%zu", plan->top_k);
  if (plan->has_row_weights) put(text, cap, " row_weights=1");
  put(text, cap, " cases=%" PRIu64, plan->cases);
}

bool mxg_is_header(const char *line) {
  return strncmp(line, prefix, sizeof prefix - 1) == 0;
}

enum { KEY_RECIPE = 1, KEY_OP = 2, KEY_SEED = 4, KEY_LEVEL = 8, KEY_CASES = 16, KEYS_NEEDED = 31 };

static bool parse_size(const char *text, bool *has, size_t *out) {
  uint64_t value = 0;
  *has = true;
  if (!parse_number(text, &value) || value > SIZE_MAX) return false;
  *out = (size_t)value;
  return true;
}

/* One key=value of a header; *seen collects the keys that must be there. */
static bool parse_item(const char *key, const char *value, mxg_plan *out, unsigned *seen) {
  uint64_t number = 0;
  if (strcmp(key, "recipe") == 0) {
    *seen |= KEY_RECIPE;
    return mxg_recipe_parse(value, &out->recipe, NULL) == MXG_OK;
  }
  if (strcmp(key, "op") == 0) {
    *seen |= KEY_OP;
    return parse_op(value, &out->op);
  }
  if (strcmp(key, "seed") == 0) {
    *seen |= KEY_SEED;
    return parse_number(value, &out->seed);
  }
  if (strcmp(key, "level") == 0) {
    *seen |= KEY_LEVEL;
    if (!parse_number(value, &number) || number < 1 || number > MXG_PIPE_LEVELS) return false;
    out->level = (unsigned)number;
    return true;
  }
  if (strcmp(key, "cases") == 0) {
    *seen |= KEY_CASES;
    return parse_number(value, &out->cases);
  }
  if (strcmp(key, "format") == 0) return parse_format(value, &out->is_binary);
  if (strcmp(key, "dtype") == 0) return parse_dtypes(value, out->dtypes);
  if (strcmp(key, "rows") == 0) return parse_size(value, &out->has_rows, &out->rows);
  if (strcmp(key, "cols") == 0) return parse_size(value, &out->has_cols, &out->cols);
  if (strcmp(key, "top_k") == 0)
    return parse_size(value, &out->has_top_k, &out->top_k) && out->top_k <= MXG_PIPE_TOP_K;
  if (strcmp(key, "row_weights") == 0) {
    out->has_row_weights = true;
    return strcmp(value, "1") == 0;
  }
  return false;
}

bool mxg_plan_parse(const char *line, mxg_plan *out, char *why, size_t cap) {
  static const char advice[] = "the program must pass the first line of gen's stream on unchanged";
  const mxg_plan start = {.dtypes = {false, true, true, true}};
  char copy[MXG_PIPE_HEADER_CAP], *rest = NULL;
  unsigned seen = 0;
  *out = start;
  if (strlen(line) >= sizeof copy) {
    snprintf(why, cap, "the header is longer than any: %s", advice);
    return false;
  }
  memcpy(copy, line + sizeof prefix - 1, strlen(line) - (sizeof prefix - 1) + 1);
  const char *version = strtok_r(copy, " \t\r\n", &rest);
  uint64_t number = 0;
  if (!version || !parse_number(version, &number) || number != MXG_PIPE_VERSION) {
    snprintf(why, cap,
             "the stream has version '%.20s', this verify reads version %d: use gen and verify of "
             "one mxgold",
             version ? version : "", MXG_PIPE_VERSION);
    return false;
  }
  for (char *item; (item = strtok_r(NULL, " \t\r\n", &rest)) != NULL;) {
    char *equals = strchr(item, '=');
    if (equals) *equals = 0;
    if (equals && parse_item(item, equals + 1, out, &seen)) continue;
    snprintf(why, cap, "the header's '%.40s%s%.100s' is not valid: %s", item, equals ? "=" : "",
             equals ? equals + 1 : "", advice);
    return false;
  }
  if ((seen & KEYS_NEEDED) == KEYS_NEEDED) return true;
  snprintf(why, cap, "the header lacks %s: %s",
           !(seen & KEY_RECIPE)  ? "recipe"
           : !(seen & KEY_OP)    ? "op"
           : !(seen & KEY_SEED)  ? "seed"
           : !(seen & KEY_LEVEL) ? "level"
                                 : "cases",
           advice);
  return false;
}
