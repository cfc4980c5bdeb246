/* compare.h: what the files of `mxgold compare` share: the report, a quantised matrix in memory, and
 * the comparison of two of them.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_COMPARE_H
#define MXGOLD_COMPARE_H

#include "chart.h"
#include "diagnose.h"
#include "tool.h"

/* ---- the report (compare_report.c) ---- */

typedef enum mxg_difference_kind {
  MXG_DIFFERENCE_CODE,
  MXG_DIFFERENCE_SCALE,
  MXG_DIFFERENCE_UNUSED_SCALE, /* stored beyond what the columns use */
  MXG_DIFFERENCE_UNUSED_BITS,  /* of the last byte of a row: only with --bits */
  MXG_DIFFERENCE_PAD,          /* of a padded scale order: only with --pad or --bits */
  MXG_DIFFERENCE_WEIGHT,       /* f32 at the end of a slot */
  MXG_DIFFERENCE_VALUE,        /* f32, f16 or bf16 of an unpacked tensor */
  MXG_DIFFERENCE_BYTE,         /* of a tensor that has no recipe */
  MXG_DIFFERENCE_KINDS
} mxg_difference_kind;

/* One thing that is shown: bits, or a value, or both. */
typedef struct mxg_cell {
  int digits; /* hexadecimal digits of bits; 0: no bits */
  uint32_t bits;
  bool has_value;
  float value;
} mxg_cell;

/* The case of a stream that a difference belongs to. */
typedef struct mxg_origin {
  uint64_t id;
  const char *section; /* static storage */
  char place[32];      /* of the answer: "line 7" */
} mxg_origin;

typedef struct mxg_difference {
  mxg_difference_kind kind;
  char *tensor;    /* its name, or NULL */
  bool has_origin; /* of a case of a stream */
  mxg_origin origin;
  mxg_dtype dtype; /* of the input, or of a value; 0: not known */
  size_t row, col; /* col counts elements; of a scale: its block's first element */
  bool has_block;
  size_t block;
  mxg_cell input;     /* the source element; of a scale: the greatest magnitude of its block */
  mxg_cell got, want; /* the code, or the value, byte, weight that differs */
  mxg_cell got_value, want_value; /* decoded, scale included */
  mxg_cell got_scale, want_scale;
} mxg_difference;

typedef struct mxg_count {
  uint64_t compared, differ;
  uint64_t nan_only; /* both are NaN, in other bits: a difference only with --bits */
  uint64_t skipped;  /* differ, but the input is NaN: --skip-nan */
} mxg_count;

/* A difference of a whole: "recipe", "size", "shape", "dtype", "layout" or "tensor". */
typedef struct mxg_note {
  const char *kind;
  char *text;
} mxg_note;

typedef struct mxg_report {
  bool bits, skip_nan, pads; /* what was asked for */
  size_t limit;              /* differences to list */
  size_t keep;               /* to remember: limit, or more for a page */
  mxg_chart *chart;          /* for --report, else NULL */
  bool has_format;           /* of codes and scales that are compared: */
  mxg_recipe format;
  const char *tensor;       /* the one being compared, for new differences */
  char *got, *want;         /* files that are compared; want is NULL with an input */
  char *input;              /* file that the expected bytes were computed from, or NULL */
  char *recipe;             /* text, or NULL */
  const mxg_origin *origin; /* as tensor, of a stream */
  bool has_cases;           /* the answers of a stream are compared: */
  uint64_t cases, cases_answered, cases_differ, seed;
  unsigned level;
  const char *op;
  uint64_t stream_faults; /* of the stream as a whole; the first are among the notes */
  mxg_count counts[MXG_DIFFERENCE_KINDS];
  mxg_note *notes;
  size_t note_count;
  mxg_difference *differences;
  size_t difference_count;
  bool has_diagnosis;
  mxg_diagnosis diagnosis;
  mxg_subject *subjects; /* to diagnose together: mxg_report_subject() */
  size_t subject_count;
} mxg_report;

void mxg_report_begin(mxg_report *report, size_t limit);
void mxg_report_end(mxg_report *report);
/* A difference of a whole; prints nothing yet. */
__attribute__((format(printf, 3, 4))) void mxg_report_note(mxg_report *report, const char *kind,
                                                           const char *format, ...);
/* Counts a difference. True: its description is wanted (mxg_report_add), because the list is not
 * full. */
bool mxg_report_count(mxg_report *report, mxg_difference_kind kind);
void mxg_report_add(mxg_report *report, const mxg_difference *difference);
/* "code", "codes", "unused scales". */
const char *mxg_difference_name(mxg_difference_kind kind, bool is_plural);
/* How many codes, scales and values differ. */
uint64_t mxg_report_differing(const mxg_report *report);
/* No difference, and nothing else that is wrong. */
bool mxg_report_is_same(const mxg_report *report);
/* Keeps a subject for mxg_report_diagnose(NULL, 0). */
void mxg_report_subject(mxg_report *report, const mxg_subject *subject);
/* What explains the differences of these subjects (NULL: of the kept ones), for the report; nothing
 * when it is the same. */
int mxg_report_diagnose(mxg_report *report, const mxg_subject *subjects, size_t count);
/* Prints on standard output; returns MXG_EXIT_OK or MXG_EXIT_DIFFERS. */
int mxg_report_print(const mxg_report *report, bool as_json);

/* --report (report_output.c): opens the page before the comparison, and has the report collect what
 * it shows; `path` must be none of the inputs (NULL entries are skipped). */
int mxg_report_open(mxg_report *report, const char *path, const char *const *inputs, size_t count,
                    mxg_output **out);
/* Writes the page, or where there is none to write (not is_whole) leaves the file as it was; frees
 * *output either way. *output NULL: nothing to do. */
int mxg_report_close(const mxg_report *report, bool is_whole, mxg_output **output);

/* ---- a quantised matrix in memory (compare_side.c) ---- */

/* Rows from first_row and columns from first_col of a matrix; a whole matrix starts at 0, 0. */
typedef struct mxg_side {
  mxg_recipe recipe;
  mxg_layout layout;
  size_t first_row, first_col;
  const unsigned char *codes, *scales;
  size_t code_rows, scale_rows; /* rows that are there: fewer than layout.rows in a short file */
} mxg_side;

/* Codes and scales as found in a file, against the layout of rows x cols. Bytes of another size than
 * the layout's go into the report as notes. */
int mxg_side_open(mxg_side *side, mxg_report *report, const mxg_packed_file *file,
                  const mxg_recipe *recipe, size_t rows, size_t cols,
                  const mxg_layout_options *options);
/* First byte of the codes of a row, from a column that starts a byte. */
const unsigned char *mxg_side_codes(const mxg_side *side, size_t row, size_t col);
/* Copies stored scales [first, first + count) of a row; first counts from the matrix's column 0. */
void mxg_side_scales(const mxg_side *side, size_t row, size_t first, size_t count,
                     unsigned char *out);
/* Columns that one call can work on: all, or where a row is long and the recipe allows it, a part
 * that begins on a byte and a block. */
size_t mxg_tile_cols(const mxg_recipe *recipe, size_t cols);
/* Rows of so many columns: about a million elements. */
size_t mxg_tile_rows(size_t rows, size_t cols);

/* ---- quantising an input tile by tile (compare_side.c) ---- */

typedef struct mxg_source {
  const mxg_tensor *tensor; /* of values */
  const float *row_weight;  /* or NULL */
  mxg_recipe recipe;
  size_t scale_count; /* stored per row */
  const mxg_impl *impl;
  mxg_run run;
  mxg_scratch codes, scales; /* of one tile */
} mxg_source;

int mxg_source_open(mxg_source *source, const mxg_tensor *tensor, const mxg_recipe *recipe,
                    size_t scale_count);
void mxg_source_close(mxg_source *source);
/* Rows [row, row + rows) and columns [col, col + cols) as a side that lives until the next call. */
int mxg_source_tile(mxg_source *source, size_t row, size_t rows, size_t col, size_t cols,
                    mxg_side *out);
/* The element that the recipe sees: fl(x * row_weight). */
float mxg_source_value(const mxg_source *source, size_t row, size_t col);

/* ---- comparing (compare_codes.c, compare_pads.c, compare_values.c) ---- */

/* Codes and scales of `got` against another side, or against what `source` gives (exactly one of
 * the two is set). rows: how many to compare, at most what both layouts have. */
int mxg_compare_codes(mxg_report *report, const mxg_side *got, const mxg_side *want,
                      mxg_source *source, size_t rows);
/* Four little-endian bytes, and the f32 that has these bits. */
uint32_t mxg_little_word(const unsigned char *bytes);
float mxg_float_of_bits(uint32_t bits);
/* The f32 at the end of each slot against `weights` (rows x slot_weights, host order), or, where
 * that is NULL, against those of want. */
void mxg_compare_weights(mxg_report *report, const mxg_side *got, const mxg_side *want,
                         const float *weights, size_t rows);
/* Pads of a padded scale order that belong to the first `rows` rows: against the pad byte, or
 * against those of want. */
void mxg_compare_pads(mxg_report *report, const mxg_side *got, const mxg_side *want, size_t rows);
/* Two dense tensors: of values by number, of others byte by byte. */
void mxg_compare_tensors(mxg_report *report, const mxg_tensor *got, const mxg_tensor *want);
/* Two byte strings. */
void mxg_compare_bytes(mxg_report *report, const unsigned char *got, size_t got_bytes,
                       const unsigned char *want, size_t want_bytes, size_t row_bytes);

/* ---- the forms of the command (compare_input.c, compare_files.c, compare_decode.c) ---- */

typedef struct mxg_compare_request {
  const char *recipe; /* text, or NULL */
  const char *input, *codes, *scales, *slots, *row_weights, *weights, *live_rows;
  bool as_slots; /* A and B are slot files */

} mxg_compare_request;

/* `got` is NULL where --codes or --slots is given. */
int mxg_compare_with_input(mxg_report *report, const mxg_compare_request *request, const char *got);
int mxg_compare_files(mxg_report *report, const mxg_compare_request *request, const char *got,
                      const char *want);
/* Values in `got` against what decoding --codes, --slots or --input gives, and against the sum of
 * slot files (NULL-terminated, "-" is a missing one). */
int mxg_compare_decoded(mxg_report *report, const mxg_compare_request *request, const char *got);
int mxg_compare_sum(mxg_report *report, const mxg_compare_request *request, const char *got,
                    const char *const *paths);
/* Does a file hold codes, so that it can be decoded? */
int mxg_holds_codes(const char *path, bool *out);

/* Opens GOT, or --codes and --scales, or --slots. */
int mxg_compare_open_got(const mxg_compare_request *request, const char *path,
                         mxg_packed_file *out);
/* Where its scales lie: as the options say, else as the file does. */
int mxg_compare_options(const mxg_compare_request *request, const mxg_packed_file *got,
                        mxg_layout_options *out);

/* Do the dtype tags of a pair fit the recipe? Notes where they do not; false: nothing to compare. */
bool mxg_compare_tags(mxg_report *report, const mxg_packed_file *file, const mxg_recipe *recipe);
/* Can codes of the two recipes be compared place by place: same element, scale kind and block? */
bool mxg_recipes_align(const mxg_recipe *a, const mxg_recipe *b);

#endif
