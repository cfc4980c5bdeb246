/* verify.h: what the files of `mxgold verify` share.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_VERIFY_H
#define MXGOLD_VERIFY_H

#include "compare.h"
#include "pipe.h"

typedef struct mxg_verify_options {
  const char *path; /* of the answers, "-" is standard input */
  const mxg_impl *impl;
  mxg_run run;
} mxg_verify_options;

/* Reads the answers and fills the report. `asked` and `given` are what the command line says; the
 * stream's header says the rest.
 * returns  MXG_EXIT_OK where the stream is whole, whatever differs; MXG_EXIT_FILE after a message
 *          where it is not (report->stream_faults counts what is wrong with it, and what could be
 *          read is in the report); another exit code after a message. */
int mxg_verify(mxg_report *report, const mxg_verify_options *options, const mxg_plan *asked,
               const mxg_plan_given *given);

/* One answer against what it must be (verify_answer.c). `first` and `second` are the parts of the
 * answer; `place` names it: "line 7". Values in `first` become host order. *differs: whether
 * anything does. */
typedef struct mxg_answer_check {
  mxg_report *report;
  const mxg_plan *plan;
  const mxg_impl *impl;
  mxg_run run;
  mxg_part want_first, want_second;
} mxg_answer_check;
int mxg_check_answer(mxg_answer_check *check, const mxg_pipe_case *one, mxg_part *first,
                     mxg_part *second, const char *place, bool *differs);
void mxg_check_end(mxg_answer_check *check);

/* ---- diagnosis (verify_diagnose.c) ---- */

typedef struct mxg_kept_answer {
  uint64_t id;
  size_t elements;
  unsigned char *first, *second;
  size_t first_bytes, second_bytes;
} mxg_kept_answer;

/* Wrong answers: all of them, or where they are many one in so many. Zeroed at the start. */
typedef struct mxg_kept {
  mxg_kept_answer *answers;
  size_t count, capacity, elements;
  uint64_t one_in, offered;
} mxg_kept;
void mxg_keep_answer(mxg_kept *kept, const mxg_pipe_case *one, const mxg_part *first,
                     const mxg_part *second);
void mxg_kept_end(mxg_kept *kept);

/* What explains the kept answers, for the report. is_right: by case, whether its answer was right;
 * elements: of these, about. */
int mxg_verify_diagnose(mxg_answer_check *check, const mxg_pipe_index *index, const bool *is_right,
                        uint64_t elements, const mxg_kept *kept);

#endif
