/* diagnose_internal.h: what the files of the diagnosis share: a wrong model, and the things of a
 * subject that it is judged by.
 *
 * The arithmetic here is wrong on purpose where a fault says so, and right elsewhere: a model
 * without a fault gives the library's bytes (tests/cli/test_diagnose.c checks that for every
 * preset).
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_DIAGNOSE_INTERNAL_H
#define MXGOLD_DIAGNOSE_INTERNAL_H

#include "diagnose.h"

/* ---- the model ---- */

typedef enum mxg_rounding {
  MXG_ROUND_EVEN,
  MXG_ROUND_TIES_AWAY,
  MXG_ROUND_TIES_TO_ZERO,
  MXG_ROUND_TRUNCATE
} mxg_rounding;

/* Where a value is rounded to f16 or bf16 first. */
typedef enum mxg_via_place {
  MXG_VIA_VALUE = 1, /* the scaled value, or the decoded result */
  MXG_VIA_INPUT = 2, /* the source element; of combine: each decoded element */
  MXG_VIA_SCALE = 4, /* an f32 scale */
  MXG_VIA_SUM = 8    /* combine: after each source */
} mxg_via_place;

typedef enum mxg_flush {
  MXG_FLUSH_INPUT = 1,         /* subnormal source elements */
  MXG_FLUSH_MIDDLE = 2,        /* f32 results: amax / max, scale, reciprocal, scaled value */
  MXG_FLUSH_FACTOR = 4,        /* the E8M0 scale 2^-127, and its reciprocal of byte FE */
  MXG_FLUSH_CODE = 8,          /* subnormal codes after rounding (decoding: before) */
  MXG_FLUSH_BELOW_NORMAL = 16, /* values below the least normal, before rounding */
  MXG_FLUSH_SIGN = 32,         /* what is flushed loses its sign */
  MXG_FLUSH_RESULT = 64        /* decoded results and sums that are subnormal */
} mxg_flush;

typedef enum mxg_bias {
  MXG_BIAS_RIGHT,
  MXG_BIAS_DOUBLE, /* every value twice as large */
  MXG_BIAS_HALF,
  MXG_BIAS_OTHER,       /* the codes of the OCP or FNUZ sibling, under the scale of the right one */
  MXG_BIAS_RELABEL_UP,  /* exponent field of the finished code one up, */
  MXG_BIAS_RELABEL_DOWN /* or one down */
} mxg_bias;

/* A reciprocal that is not the nearest f32. */
typedef enum mxg_reciprocal_kind {
  MXG_RECIPROCAL_RIGHT,
  MXG_RECIPROCAL_ULPS,      /* amount ulps away */
  MXG_RECIPROCAL_TRUNCATED, /* to `amount` fraction bits */
  MXG_RECIPROCAL_ROUNDED,   /* to `amount` fraction bits */
  MXG_RECIPROCAL_NEWTON,    /* 0x7EF311C7 - bits, and `amount` Newton steps */
  MXG_RECIPROCAL_REFINED,   /* 12 bits and one Newton step */
  MXG_RECIPROCAL_DIVIDES    /* of max: amax / max in place of amax * fl(1/max) */
} mxg_reciprocal_kind;

typedef enum mxg_reciprocal_of {
  MXG_OF_SCALE, /* the factor that elements are multiplied by */
  MXG_OF_MAX,   /* fl(1/max), which amax is multiplied by */
  MXG_OF_BOTH
} mxg_reciprocal_of;

typedef enum mxg_step_where {
  MXG_STEP_BOTH,        /* codes agree with the wrong scale */
  MXG_STEP_STORED,      /* right codes, wrong scale stored (decoding: used) */
  MXG_STEP_PAYLOAD,     /* right scale stored, codes made by the wrong one */
  MXG_STEP_STORED_WRAPS /* as STORED; FF + 1 is 00 and 00 - 1 is FF */
} mxg_step_where;

typedef enum mxg_step_unit {
  MXG_STEP_EXPONENT,    /* E8M0 byte, or a factor of 2 */
  MXG_STEP_ULP,         /* bits of an f32 scale */
  MXG_STEP_COLUMN,      /* the scale of a neighbouring block, at the ends the block's own */
  MXG_STEP_COLUMN_WRAPS /* the same, around the row */
} mxg_step_unit;

typedef enum mxg_marker_fault {
  MXG_MARKER_RIGHT,
  MXG_MARKER_NOT_WRITTEN,
  MXG_MARKER_SIGN_KEPT,       /* decoding: s[0] as it is; unmarked rows are unscaled */
  MXG_MARKER_ALL_SCALED,      /* decoding: |s[0]|, and unmarked rows are scaled too */
  MXG_MARKER_ALL_SCALED_SIGN, /* decoding: every scale as it is */
  MXG_MARKER_NONE_SCALED      /* decoding: no scale is used */
} mxg_marker_fault;

typedef enum mxg_sum_order {
  MXG_SUM_ASCENDING,
  MXG_SUM_DESCENDING,
  MXG_SUM_PAIRS,  /* ((0+1) + (2+3)) + ... */
  MXG_SUM_HALVES, /* 0+4, 1+5, ...: halving the distance */
  MXG_SUM_TWO,    /* even and odd sources apart */
  MXG_SUM_FOUR,   /* four accumulators */
  MXG_SUM_DOUBLE, /* in binary64, one rounding at the end */
  MXG_SUM_ROTATED /* + k: starts at source k and wraps */
} mxg_sum_order;

typedef enum mxg_storage {
  MXG_STORED_RIGHT,
  MXG_STORED_AS,     /* in another order */
  MXG_STORED_ANYHOW, /* the right scales at wrong places: by their counts only */
  MXG_STORED_INVERSE /* permuted the other way round */
} mxg_storage;

typedef struct mxg_wrong {
  mxg_recipe recipe;
  mxg_rounding rounding;
  mxg_dtype via; /* 0: none */
  unsigned via_places;
  unsigned flush;
  mxg_bias bias;
  mxg_reciprocal_kind reciprocal;
  mxg_reciprocal_of reciprocal_of;
  int reciprocal_amount;
  int step;
  mxg_step_where step_where;
  mxg_step_unit step_unit;
  bool swaps_nibbles;
  mxg_storage storage;
  mxg_scale_order order;
  mxg_marker_fault marker;
  unsigned sum;      /* mxg_sum_order, or MXG_SUM_ROTATED + k */
  bool weights_last; /* combine: fl(t * w) before the scale */
} mxg_wrong;

/* ---- elements and scales (diagnose_element.c, diagnose_scale.c) ---- */

/* What encoding needs of a model, worked out once. */
typedef struct mxg_encoder {
  const mxg_wrong *wrong;
  mxg_traits traits;
  double max; /* in force */
  double format_max;
} mxg_encoder;
void mxg_encoder_open(mxg_encoder *encoder, const mxg_wrong *wrong);
/* v is the scaled value, exact; sign is that of the source element. */
unsigned mxg_wrong_encode(const mxg_encoder *encoder, double v, bool sign);
/* Every code of a model's element as the model decodes it. */
void mxg_wrong_decode_table(const mxg_wrong *wrong, float table[256]);
/* Rounds to a dtype of values by the model's rounding and back; f32 stays. */
double mxg_wrong_round(double v, mxg_dtype dtype, mxg_rounding rounding);
/* The same as bits. */
uint32_t mxg_wrong_value_bits(double v, mxg_dtype dtype, mxg_rounding rounding);
/* The f32 of a value; a subnormal one flushed to a signed zero where the model says so. */
float mxg_wrong_flush(float v, bool flushes);
double mxg_power_of_two(int exponent);
uint32_t mxg_float_bits(float v);
float mxg_bits_float(uint32_t bits);

/* What a block's amax is: NaN elements left out. */
typedef struct mxg_amax {
  float value;
  bool has_nan;
} mxg_amax;

typedef enum mxg_apply_how {
  MXG_HOW_CAST,     /* unscaled */
  MXG_HOW_EXPONENT, /* x * 2^exponent, exactly */
  MXG_HOW_MULTIPLY, /* fl(x * factor) */
  MXG_HOW_DIVIDE,   /* fl(x / factor) */
  MXG_HOW_NAN
} mxg_apply_how;

typedef struct mxg_block_scale {
  uint32_t stored; /* bits: E8M0 byte or f32, before a marker */
  bool is_scaled;  /* f32: came from scale_math */
  mxg_apply_how how;
  int exponent;
  float factor;
} mxg_block_scale;
mxg_block_scale mxg_wrong_scale(const mxg_wrong *wrong, mxg_amax amax);
/* The scaled value of a source element. */
double mxg_wrong_apply(const mxg_wrong *wrong, const mxg_block_scale *scale, float x);
/* A source element as the model reads it: flushed, or rounded first. */
float mxg_wrong_input(const mxg_wrong *wrong, float x, mxg_dtype dtype);
/* The scale column that the model takes in place of this one: a step by columns. */
size_t mxg_step_column(const mxg_wrong *wrong, size_t column, size_t used);
/* A stored scale after a step; never a step by columns. */
uint32_t mxg_wrong_step(const mxg_wrong *wrong, uint32_t stored);

/* ---- a subject, opened (diagnose_case.c) ---- */

/* One code, scale or value: index of the element, or position in the scale matrix. */
typedef struct mxg_unit {
  size_t at;
  uint32_t got, want;
  bool differs;
} mxg_unit;

typedef enum mxg_unit_kind {
  MXG_UNIT_CODE,
  MXG_UNIT_SCALE,
  MXG_UNIT_VALUE,
  MXG_UNIT_KINDS
} mxg_unit_kind;

typedef struct mxg_units {
  mxg_unit *list;
  size_t count, capacity;
  double differing_weight, equal_weight; /* things that one unit stands for */
} mxg_units;

typedef struct mxg_amax_table {
  size_t block;
  mxg_amax **rows; /* of each row, or NULL */
  struct mxg_amax_table *next;
} mxg_amax_table;

/* Where the scales of an order lie: origin[position] is row * columns + column, SIZE_MAX for a pad. */
typedef struct mxg_origins {
  mxg_scale_order order;
  size_t columns, count;
  size_t *origin;
  struct mxg_origins *next;
} mxg_origins;

typedef struct mxg_case {
  const mxg_subject *subject;
  const mxg_diagnose_options *options;
  size_t rows, cols;  /* that are compared */
  bool nan_code[256]; /* of the recipe's element */
  /* packed: */
  mxg_packed_view want;
  mxg_scratch want_codes, want_scales;
  unsigned got_bits;          /* of a code, from the size of the payload; 0: rows do not fit it */
  size_t got_code_stride;     /* bytes between rows of codes */
  size_t got_scale_bytes;     /* of the whole matrix; in slots: of all rows' scales */
  bool codes_fit, scales_fit; /* got has the size of want */
  unsigned scale_width;       /* bytes of a unit */
  bool is_permuted;           /* got has the scales of want at other places */
  float **x;                  /* rows as f32, weighted; NULL where not read yet */
  mxg_amax_table *amax;
  mxg_origins *origins;
  /* values: */
  mxg_scratch want_values;
  const unsigned char *values; /* want */
} mxg_case;

int mxg_case_open(mxg_case *opened, const mxg_subject *subject,
                  const mxg_diagnose_options *options);
void mxg_case_close(mxg_case *opened);
/* How many units of a kind there are. */
size_t mxg_case_unit_count(const mxg_case *opened, mxg_unit_kind kind);
/* Unit number `index`; false: nothing to compare there (a pad, a row beyond the live ones, a code
 * that --skip-nan leaves out). */
bool mxg_case_unit(mxg_case *opened, mxg_unit_kind kind, size_t index, mxg_unit *out);
void mxg_units_add(mxg_units *units, const mxg_unit *unit);
/* A row of the input as f32, row weight applied. */
const float *mxg_case_row(mxg_case *opened, size_t row);
mxg_amax mxg_case_amax(mxg_case *opened, size_t block_elems, size_t row, size_t block);
/* Do two bit patterns of a kind count as equal? */
bool mxg_case_equal(const mxg_case *opened, mxg_unit_kind kind, uint32_t a, uint32_t b);
/* Code of an element of rows that begin on bytes. */
unsigned mxg_code_at(const unsigned char *row, size_t col, unsigned bits);
/* Origin of a position of the scale matrix in an order, SIZE_MAX for a pad. */
size_t mxg_case_origin(mxg_case *opened, mxg_scale_order order, size_t rows, size_t columns,
                       size_t position);

/* The word at a position of the scale matrix. */
uint32_t mxg_scale_word(const mxg_packed_view *packed, size_t position);
/* An expected code; only where codes_fit. */
unsigned mxg_case_want_code(const mxg_case *opened, size_t row, size_t col);

/* ---- judging (diagnose_quantize.c, diagnose_recode.c, diagnose_decode.c, diagnose_combine.c) ---- */

typedef struct mxg_tally {
  double explains, broken; /* whole numbers where the units are not a sample */
  bool *is_wrong;          /* of each unit: the model does not give it; NULL: not wanted */
} mxg_tally;

/* Adds to the tally what the model makes of the units. */
void mxg_judge_quantize(mxg_case *opened, const mxg_wrong *wrong, mxg_unit_kind kind,
                        const mxg_units *units, mxg_tally *tally);
void mxg_tally_unit(const mxg_case *opened, mxg_unit_kind kind, const mxg_unit *unit,
                    const mxg_units *units, uint32_t model, mxg_tally *tally);
/* A unit that the model cannot give at all, because its files have another size. */
void mxg_tally_miss(const mxg_unit *unit, const mxg_units *units, mxg_tally *tally);

/* Scales of MXG_STORED_ANYHOW. */
void mxg_tally_permuted(const mxg_case *opened, const mxg_units *units, mxg_tally *tally);
/* Has the scale matrix of a model the size of the one found? */
bool mxg_scales_would_fit(const mxg_case *opened, const mxg_wrong *wrong, mxg_scale_order order,
                          size_t columns);

/* The same for faults that show without the input, and for values. */
void mxg_judge_recode(mxg_case *opened, const mxg_wrong *wrong, mxg_unit_kind kind,
                      const mxg_units *units, mxg_tally *tally);
void mxg_judge_decode(mxg_case *opened, const mxg_wrong *wrong, const mxg_units *units,
                      mxg_tally *tally);
void mxg_judge_combine(mxg_case *opened, const mxg_wrong *wrong, const mxg_units *units,
                       mxg_tally *tally);

/* What decoding needs of a model, worked out once (diagnose_decode.c). */
typedef struct mxg_decoder {
  const mxg_wrong *wrong;
  unsigned bits;
  float table[256];  /* of codes */
  float powers[256]; /* of E8M0 bytes */
} mxg_decoder;
void mxg_decoder_open(mxg_decoder *decoder, const mxg_wrong *wrong);
/* Element `col` of a row of codes, without its scale. */
float mxg_decoder_element(const mxg_decoder *decoder, const unsigned char *codes, size_t col,
                          size_t cols);
/* A scale from its stored word. */
float mxg_decoder_scale(const mxg_decoder *decoder, uint32_t word);
/* Is the row scaled, by the word of its first scale? Makes the scale of block 0 what it then is. */
bool mxg_decoder_marker(const mxg_decoder *decoder, uint32_t first_word, size_t block, float *s);
/* The bits of a value of an f32 result. */
uint32_t mxg_finish_value(const mxg_wrong *wrong, double v, mxg_dtype dtype);

/* ---- the models (diagnose_models.c) ---- */

typedef enum mxg_model_class { MXG_MODEL_NAMED, MXG_MODEL_KEY, MXG_MODEL_PRESET } mxg_model_class;

/* One variant of one fault. Several variants may share an id. */
typedef struct mxg_model {
  char id[72];
  mxg_model_class class_of;
  bool is_late;    /* a far-fetched variant: on equal scores it comes after the recipe fields */
  unsigned rank;   /* in its class */
  uint64_t parts;  /* what it changes, a bit each: two models that share one do not go together */
  mxg_wrong wrong; /* the right recipe with this fault alone */
  size_t key;      /* of a KEY */
} mxg_model;

typedef struct mxg_models {
  mxg_wrong right;
  mxg_model *list;
  size_t count, capacity;
} mxg_models;

void mxg_models_open(mxg_models *models, const mxg_subject *subjects, size_t count);
void mxg_models_close(mxg_models *models);
/* Both faults at once; false: they exclude each other or make no legal recipe. */
bool mxg_models_join(const mxg_models *models, const mxg_model *a, const mxg_model *b,
                     mxg_wrong *out);

#endif
