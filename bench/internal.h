/* internal.h: what the files of bench/ share. Private.
 *
 * bench_run.c lists the rows of a run and times them one by one. A row is a call (call.c) on a case:
 * an operation with its source, its room for results and what the golden model gives (case.c). A
 * case is made of few distinct rows (data.c), repeated, so that the slow model has little to do and
 * yet every byte of a large result can be compared.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_BENCH_INTERNAL_H
#define MXGOLD_BENCH_INTERNAL_H

#include "bench.h"

#include "../codec/mxgold.h"

enum {
  BENCH_COLS = 7168, /* of every row: the hidden size of DeepSeek-V3 */
  BENCH_TOP_K = 8,   /* sources of a combined row */
  BENCH_BLOCK = 32   /* elements: data is made in blocks of so many */
};

typedef enum bench_size { BENCH_TOKEN, BENCH_L2, BENCH_L3, BENCH_DRAM } bench_size;

/* ---- operations (ops.c) ---- */

typedef enum bench_kind {
  BENCH_READ,
  BENCH_COPY,
  BENCH_MEMCPY,
  BENCH_QUANTIZE,
  BENCH_DEQUANTIZE,
  BENCH_COMBINE,
  BENCH_ENCODE, /* mxg_encode_f32 */
  BENCH_DECODE  /* mxg_decode_f32 */
} bench_kind;

typedef struct bench_op {
  const char *name;
  bench_kind kind;
  const char *recipe; /* text; NULL for limits */
  mxg_dtype dtype;    /* of the source (quantise) or the result (dequantise, combine) */
  int weighted;       /* combine */
} bench_op;

extern const bench_op bench_limits[3];
extern const bench_op bench_ops[];
extern const size_t bench_op_count;

static inline int bench_is_limit(bench_kind kind) {
  return kind == BENCH_READ || kind == BENCH_COPY || kind == BENCH_MEMCPY;
}

/* The operation of mxg_kernel_name() that an op with a recipe is. */
mxg_operation bench_operation(bench_kind kind);

typedef struct bench_isa {
  const char *name;
  uint32_t bit, mask; /* mask: with those it builds on */
} bench_isa;

enum { BENCH_ISA_COUNT = 4 };
extern const bench_isa bench_isas[BENCH_ISA_COUNT];

/* Does the CPU have it, and the library a kernel of exactly that instruction set for this op? */
int bench_isa_serves(const bench_op *op, const mxg_recipe *recipe, const bench_isa *isa);

/* Encode and decode: the instruction set that the array form runs on, which no mxg_run limits; NULL
 * for other kinds. What has another one, or threads, is measured as the same cast by a recipe
 * without scales. */
const bench_isa *bench_array_isa(bench_kind kind);

/* ---- memory and time (machine.c, clock.c) ---- */

/* Zeroed and touched, in huge pages where the system has them. NULL: not enough. */
unsigned char *bench_map(size_t bytes);
void bench_unmap(unsigned char *memory, size_t bytes);

double bench_seconds(void);
/* The core's clock by a chain of dependent instructions of known latency; 0 where none is known. */
double bench_clock_ghz(void);

/* ---- data sets (data.c) ---- */

typedef enum bench_data { BENCH_RANDOM, BENCH_DENORMAL, BENCH_TIES } bench_data;

/* The next number of a sequence that is the same in every run. */
uint64_t bench_random(uint64_t *state);

/* `count` values, a multiple of 128, for an operation with this recipe. None is NaN or Inf. */
void bench_values(bench_data data, const mxg_recipe *recipe, mxg_dtype dtype, uint64_t *state,
                  void *values, size_t count);

/* Overwrites FP8 or FP4 codes by random ones that are no NaN. */
void bench_random_codes(mxg_element element, uint64_t *state, unsigned char *codes, size_t bytes);

/* ---- cases (case.c) ---- */

typedef struct bench_array { /* dense rows */
  unsigned char *data;
  size_t row_bytes; /* 0: the case has no such array */
} bench_array;

typedef struct bench_case {
  const bench_op *op;
  mxg_recipe recipe;
  bench_size size;
  size_t rows;             /* in memory, walked call by call */
  size_t base_rows;        /* row r of source and result is like row r % base_rows */
  size_t source_row_bytes; /* read for one row */
  bench_array source, source_scales, result, result_scales, want, want_scales;
  const void **slots; /* combine: rows x BENCH_TOP_K */
  float *weights;     /* combine, weighted: the same shape */
  mxg_layout slot;    /* combine: of one slot */
} bench_case;

/* Lays a case of about set_bytes out in the arena and fills source and want; want is the golden
 * model's. returns MXG_OK or what a call of the library gave; MXG_ERR_CAPACITY: no memory. */
mxg_status bench_case_open(const bench_op *op, bench_data data, bench_size size, size_t set_bytes,
                           unsigned char *arena, size_t arena_bytes, bench_case *out);
void bench_case_close(bench_case *c);

/* Are the results of rows [first, first + rows) what is wanted? */
int bench_case_equal(const bench_case *c, size_t first, size_t rows);
/* Makes those results wrong, so that a call that writes nothing is seen. */
void bench_case_poison(const bench_case *c, size_t first, size_t rows);

/* ---- calls (call.c, limits.c, peers.c) ---- */

/* Rows [first, first + rows) of a case by somebody else's algorithm. */
typedef void bench_peer_fn(const bench_case *c, size_t first, size_t rows);

typedef struct bench_peer {
  const char *op, *name;
  bench_peer_fn *fn;
} bench_peer;

extern const bench_peer bench_peers[];
extern const size_t bench_peer_count;

typedef enum bench_impl { BENCH_CODEC, BENCH_REF, BENCH_PEER } bench_impl;

typedef struct bench_call {
  const bench_case *c;
  bench_impl impl;
  bench_peer_fn *peer;
  mxg_run run;
  int as_array;      /* encode, decode: the array form, which has no mxg_run */
  size_t rows;       /* of one call */
  mxg_layout layout; /* of so many rows */
  uint64_t read;     /* what bench_read gave the last time */
} bench_call;

mxg_status bench_call_open(bench_call *call, size_t rows);
mxg_status bench_call_rows(bench_call *call, size_t first);

/* Limits: `bytes` bytes by so many threads, with the widest vectors of the CPU; read returns the
 * exclusive or of all 64-bit words. */
uint64_t bench_read(const unsigned char *source, size_t bytes, uint32_t threads);
void bench_copy(const unsigned char *source, unsigned char *result, size_t bytes, uint32_t threads);
void bench_memcpy(const unsigned char *source, unsigned char *result, size_t bytes,
                  uint32_t threads);
/* The instruction set that bench_read and bench_copy use. */
const char *bench_limit_isa(void);

/* ---- a run (jobs.c) ---- */

typedef struct bench_job {
  const bench_op *op;
  bench_data data;
  bench_size size;
  bench_impl impl;
  const bench_peer *peer;
  const bench_isa *isa; /* codec */
  int as_array;
  uint32_t threads;
} bench_job;

typedef struct bench_plan {
  mxg_bench_options options;
  mxg_bench_machine machine;
  bench_job *jobs;
  size_t count, capacity;
  unsigned char *arena;
  size_t arena_bytes;
  double memcpy_gbps[MXG_BENCH_SIZE_COUNT][MXG_BENCH_THREADS_MAX];
} bench_plan;

/* Is number `index` in the mask? 0 has all. */
int bench_has(uint64_t mask, size_t index);
/* Every row that the options ask for, limits first. returns 0: no memory. */
int bench_add_jobs(bench_plan *plan);

/* ---- timing (timing.c) ---- */

enum { BENCH_SAMPLES_MAX = 1 << 16 };

typedef struct bench_sample { /* of one call, by the time of a batch of them */
  double ns, cycles;
} bench_sample;

/* Calls walk over the rows of the case, so that dram is read from memory again and again. */
typedef struct bench_walk {
  bench_call *call;
  size_t next, steps;
  mxg_status status;
} bench_walk;

/* Samples of about `seconds` seconds, sorted by time; returns how many, 1 to BENCH_SAMPLES_MAX unless
 * walk->status says that a call failed. */
size_t bench_take_samples(bench_walk *walk, double seconds, bench_sample *samples);

#endif
