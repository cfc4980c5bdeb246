/* diagnose.h: which known-wrong model of the computation gives the bytes that differ.
 *
 * A model is the recipe with one fault, or two at once: a wrong rounding, a scale that is off by
 * one, another value of a recipe field, another preset. Each is replayed on the inputs; its score
 * is the number of differing codes, scales or values that it reproduces, less the number of equal
 * ones that it breaks. On equal scores named faults come first, then key=value in the order of
 * section 7, then preset=NAME. "A+B" is two faults together, where that scores more than either.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_DIAGNOSE_H
#define MXGOLD_DIAGNOSE_H

#include <jansson.h>

#include "tool.h"

/* One thing that a program under test computed. Zero everything, then fill in what the operation
 * needs. What is pointed at is only read and must live until mxg_diagnose() returns. Scales and
 * slots are bytes as files have them; values are in host order. */
typedef struct mxg_subject {
  mxg_operation operation;
  const mxg_recipe *recipe; /* what it should have followed; the same in all subjects of a call */
  size_t rows;              /* live rows that are compared, at most the layout's */

  /* QUANTIZE: x gave `got`, in a layout that mxg_layout_for() gives for the recipe. x.data NULL:
   * the input is not known, `want` must be given, and only faults that need no input are tried.
   * DEQUANTIZE and COMBINE do not use these. */
  mxg_matrix_view x;
  const float *row_weight; /* or NULL */
  mxg_packed_view got;     /* capacities are the bytes found: another size is a difference */
  mxg_packed_view want;    /* codes NULL: computed by the library */

  /* DEQUANTIZE: what was decoded. Its layout is the recipe's. */
  mxg_packed_view source;

  /* COMBINE: as mxg_combine() takes them; the layout is that of a slot. */
  const void *const *slots;
  size_t top_k;
  const float *weight; /* or NULL */
  mxg_layout slot_layout;

  /* DEQUANTIZE and COMBINE: rows x cols values, dense, got and want of one dtype. want NULL:
   * computed by the library. With neither source.codes nor slots the origin of the values is not
   * known, `want_values` must be given, and only faults of the values themselves are tried. */
  mxg_dtype value_dtype;
  size_t value_cols;
  const void *got_values, *want_values;
} mxg_subject;

typedef struct mxg_diagnose_options {
  bool bits;     /* two NaN of other bits differ */
  bool skip_nan; /* FP4 and FP6 codes of NaN inputs do not count */
} mxg_diagnose_options;

enum { MXG_DIAGNOSIS_ID_CAP = 160, MXG_DIAGNOSIS_CAP = 10 };

typedef struct mxg_explanation {
  char id[MXG_DIAGNOSIS_ID_CAP]; /* "ties-away", "rule=even", "preset=mxfp8-te", "A+B" */
  uint64_t explains;             /* differing things that the model reproduces */
  uint64_t broken;               /* equal things that it gets wrong */
} mxg_explanation;

typedef struct mxg_diagnosis {
  uint64_t codes, scales, values; /* that differ, each code, scale or value once */
  uint64_t of;                    /* their sum */
  uint64_t looked_at;             /* things looked at for the counts, equal ones included */
  uint64_t in_all;                /* things there are; more than looked_at: a sample of the rows */
  size_t count;                   /* 0 with of > 0: unexplained */
  mxg_explanation list[MXG_DIAGNOSIS_CAP]; /* the best first */
} mxg_diagnosis;

/* Replays every model on all subjects and adds up. Subjects are of any operation, but of one
 * recipe. options may be NULL. Returns MXG_EXIT_OK, or an exit code after a message. */
int mxg_diagnose(const mxg_subject *subjects, size_t count, const mxg_diagnose_options *options,
                 mxg_diagnosis *out);

/* What a model is, in words: "ties away from zero (ties-away) with rule=even"; static storage. */
const char *mxg_diagnosis_phrase(const char *id);
/* "1,204 of 1,204 differing codes are explained by: ties away from zero" and the runners-up, or
 * that nothing explains them; nothing when nothing differs. */
void mxg_diagnosis_print(FILE *to, const mxg_diagnosis *diagnosis);
/* [{"model": ID, "explains": N, "of": M, "broken": B}], the best first; [] when unexplained. */
json_t *mxg_diagnosis_json(const mxg_diagnosis *diagnosis);

#endif
