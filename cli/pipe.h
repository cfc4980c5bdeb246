/* pipe.h: what `mxgold gen` and `mxgold verify` share: the plan that a stream's header carries, the
 * cases that follow from a plan, and the stream itself (docs/PIPE.md).
 *
 * A case is a function of the plan and its number alone: `verify` makes it again instead of reading
 * it. So neither the rules that make cases nor the grammar change under one MXG_PIPE_VERSION.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_PIPE_H
#define MXGOLD_PIPE_H

#include "tool.h"

enum { MXG_PIPE_VERSION = 1, MXG_PIPE_LEVELS = 2, MXG_PIPE_TOP_K = 64 };

/* ---- the plan (pipe_plan.c) ---- */

typedef struct mxg_plan {
  mxg_recipe recipe;
  mxg_operation op;
  uint64_t seed;
  unsigned level; /* 1 seconds, 2 thorough */
  bool dtypes[4]; /* by mxg_dtype: types of the values */
  bool has_rows, has_cols, has_top_k;
  size_t rows, cols, top_k; /* of every case, where has_* says so */
  bool has_row_weights;
  bool is_binary;
  uint64_t cases;
} mxg_plan;

/* The options that make a plan, to include in a popt table. */
extern struct poptOption mxg_plan_table[];
/* Which of them were given. */
typedef struct mxg_plan_given {
  bool recipe, op, seed, level, dtypes, rows, cols, top_k, row_weights, format;
} mxg_plan_given;
/* The plan of the options, cases not counted yet. needs_recipe: --recipe must be there. */
int mxg_plan_args(bool needs_recipe, mxg_plan *out, mxg_plan_given *given);

/* "# mxgold-cases 1 recipe=... cases=N", without the end of the line. */
enum { MXG_PIPE_HEADER_CAP = 2048 };
void mxg_plan_print(const mxg_plan *plan, char *text, size_t cap);
/* Is the line a header at all? */
bool mxg_is_header(const char *line);
/* Reads a header. On an error returns false and puts into `why` (cap bytes) what is wrong and what
 * to do. */
bool mxg_plan_parse(const char *line, mxg_plan *out, char *why, size_t cap);

/* "quantize", "dequantize", "combine". */
const char *mxg_op_name(mxg_operation op);
const char *mxg_dtype_name(mxg_dtype dtype);

/* ---- cases (pipe_cases.c, pipe_values.c, pipe_packed.c) ---- */

/* Parts of a case, as the stream has them. Values are in host order in memory.
 *               first                 second                       third
 *   quantize    x                     row weights, or nothing      -
 *   dequantize  codes                 scales                       -
 *   combine     rows * top_k slots    weights, or nothing          1 for each slot that is there */
typedef struct mxg_part {
  unsigned char *data;
  size_t bytes, capacity;
} mxg_part;

typedef struct mxg_pipe_case {
  uint64_t id;
  mxg_dtype dtype; /* of x, or of the result */
  size_t rows, cols, top_k;
  mxg_layout layout;   /* dense and separate; of combine: slots */
  const char *section; /* what the case is about: "ties" */
  mxg_part first, second, third;
  bool has_weights; /* combine */
} mxg_pipe_case;

/* Where each section of a plan begins. */
enum { MXG_PIPE_SECTIONS = 40 };
typedef struct mxg_pipe_index {
  const mxg_plan *plan;
  size_t count;
  struct {
    uint64_t first;  /* case */
    uint64_t blocks; /* of the section; 0: its cases have shapes of their own */
    mxg_dtype dtype;
    unsigned section; /* of the op's list */
  } parts[MXG_PIPE_SECTIONS];
} mxg_pipe_index;

/* Lays the sections out and sets plan->cases. USAGE when the shape does not fit memory. */
int mxg_pipe_open(mxg_plan *plan, mxg_pipe_index *out);
/* Makes case `id`, < plan->cases. `out` is zeroed once before the first call and reused. */
int mxg_pipe_make(const mxg_pipe_index *index, uint64_t id, mxg_pipe_case *out);
void mxg_pipe_free(mxg_pipe_case *one);
/* Room for so many bytes, zeroed. */
unsigned char *mxg_part_reserve(mxg_part *part, size_t bytes);

/* What the case's answer must be: codes and scales, or y (little-endian) and nothing. */
int mxg_pipe_answer(const mxg_plan *plan, const mxg_pipe_case *one, const mxg_impl *impl,
                    const mxg_run *run, mxg_part *first, mxg_part *second);

/* ---- for the files that make cases ---- */

/* Numbers of one block or row: a stream of its own, so that any case can be made alone. */
typedef struct mxg_draw {
  uint64_t state;
} mxg_draw;
mxg_draw mxg_draw_start(uint64_t seed, uint64_t stream, uint64_t index);
uint64_t mxg_draw_next(mxg_draw *random);
uint32_t mxg_draw_below(mxg_draw *random, uint32_t limit);

/* Bits of an f32 cut down to a type (toward zero; finite stays finite, NaN stays NaN). */
uint32_t mxg_cut(mxg_dtype dtype, uint32_t f32_bits);

/* Sections of values for quantize. */
typedef struct mxg_value_block {
  const mxg_plan *plan;
  mxg_dtype dtype;
  size_t block;   /* elements that share a scale; 32 without scales */
  uint64_t index; /* of the block in its section */
  uint32_t *bits; /* out: `length` patterns of dtype */
  size_t length;  /* <= block */
} mxg_value_block;
size_t mxg_value_sections(void);
const char *mxg_value_section_name(unsigned section);
/* Blocks of a section; 0: shapes of their own. */
uint64_t mxg_value_section_blocks(const mxg_plan *plan, unsigned section, mxg_dtype dtype,
                                  size_t block);
void mxg_value_fill(unsigned section, const mxg_value_block *out);
/* Ordinary values around 2^exponent. */
void mxg_value_normal(mxg_draw *random, mxg_dtype dtype, int exponent, size_t length,
                      uint32_t *bits);
/* Stores patterns of a dtype from element `first` on. */
void mxg_store_bits(unsigned char *data, mxg_dtype dtype, size_t first, const uint32_t *bits,
                    size_t length);

/* Codes and scales of one row, for dequantize and combine. */
typedef struct mxg_packed_row {
  const mxg_plan *plan;
  uint64_t index; /* of the first block in its section */
  mxg_draw random;
  size_t cols;
  unsigned char *codes, *scales; /* out; zeroed */
} mxg_packed_row;
size_t mxg_packed_sections(void);
const char *mxg_packed_section_name(unsigned section);
uint64_t mxg_packed_section_blocks(const mxg_plan *plan, unsigned section, size_t block);
void mxg_packed_fill(unsigned section, mxg_packed_row *out);

/* ---- the stream (pipe_write.c, pipe_read.c) ---- */

int mxg_pipe_write(mxg_output *output, const mxg_plan *plan, const mxg_pipe_case *one);

/* Magic words of a binary stream: "MXGC" and "MXGA" as bytes. */
enum { MXG_PIPE_CASE_WORDS = 10, MXG_PIPE_ANSWER_WORDS = 4 };
#define MXG_PIPE_CASE_MAGIC UINT32_C(0x4347584D)
#define MXG_PIPE_ANSWER_MAGIC UINT32_C(0x4147584D)

typedef enum mxg_read_result {
  MXG_READ_ANSWER,
  MXG_READ_END,
  MXG_READ_MALFORMED, /* one record: the next one can be read */
  MXG_READ_LOST,      /* nothing behind this can be read */
  MXG_READ_TRUNCATED  /* the stream ends inside a record */
} mxg_read_result;

typedef struct mxg_reader {
  FILE *file;
  const char *path; /* as messages name it */
  const char *form; /* of an answer: "ID CODES SCALES", for messages */
  bool is_binary;
  size_t limit; /* largest part that is believed, bytes */
  unsigned char *buffer;
  size_t begin, end;     /* what of the buffer is not read yet */
  uint64_t line, offset; /* of the last record: line from 1, first byte from 0 */
  uint64_t next_offset;
  char *text; /* the line that was read last, without its end */
  size_t text_bytes, text_capacity;
  bool is_unterminated; /* it had no end: the stream ends there */
  bool has_pending;     /* it is still to be read as a record */
  bool has_id;          /* of the last record, of malformed ones too */
  uint64_t id;
  mxg_part first, second; /* of the last answer */
  char why[512];          /* what is wrong with a record, and what to do */
} mxg_reader;

/* Opens a file or "-". */
int mxg_reader_open(mxg_reader *reader, const char *path);
void mxg_reader_close(mxg_reader *reader);
typedef enum mxg_header_result {
  MXG_HEADER_FOUND,
  MXG_HEADER_NONE,
  MXG_HEADER_EMPTY
} mxg_header_result;
/* The header line into reader->text, comments before it skipped. NONE: the stream does not begin
 * with one: it is read as records from its first byte on, binary where it begins like a binary
 * answer. */
mxg_header_result mxg_reader_header(mxg_reader *reader);
/* "line 7" or "offset 4096" of the last record. Static storage. */
const char *mxg_reader_place(const mxg_reader *reader);
mxg_read_result mxg_reader_next(mxg_reader *reader);

#endif
