/* bench.h: how fast each operation is on this machine, beside the machine's own limits.
 *
 * Each row of a run is compared before it is timed: the bytes of the call are those of the golden
 * model, or `equal` says that they are not. The first rows are the limits: read, copy and memcpy of
 * the same sizes, in the same run. docs/SPEED.md says what the numbers mean.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_BENCH_H
#define MXGOLD_BENCH_H

#include <stddef.h>
#include <stdint.h>

/* Names that a run can be narrowed to. Their bit in mxg_bench_options is 1 << index. */
typedef enum mxg_bench_list {
  MXG_BENCH_OPS,   /* at most 64; limits are none of them: they are always measured */
  MXG_BENCH_ISAS,  /* portable avx2 avx512 neon, here or not */
  MXG_BENCH_SIZES, /* token l2 l3 dram */
  MXG_BENCH_DATA   /* random denormal-heavy tie-heavy */
} mxg_bench_list;

/* Name number `index`; NULL past the last. Static storage. */
const char *mxg_bench_name(mxg_bench_list list, size_t index);

enum { MXG_BENCH_SIZE_COUNT = 4, MXG_BENCH_THREADS_MAX = 16 };

typedef struct mxg_bench_options {
  uint64_t ops, isas, sizes, data;         /* masks; 0 = every one, of data the first alone */
  uint32_t threads[MXG_BENCH_THREADS_MAX]; /* thread counts to run */
  size_t thread_count;                     /* 0 = 1, 2 and all */
  double seconds;                          /* of timing for each row, > 0 */
} mxg_bench_options;

typedef struct mxg_bench_row {
  const char *op, *impl, *isa, *size, *data; /* static storage */
  uint32_t threads;
  double ns, ns_median;     /* of one call: the best and the median batch of calls */
  double ns_per_element;    /* of the best; combine: per element of the result */
  double gbps, gbps_median; /* 1e9 source bytes a second */
  double bytes_per_cycle, bytes_per_cycle_median; /* source bytes; 0: the clock is not known */
  double memcpy_ratio; /* gbps over memcpy's, same size and threads of the same run */
  double spread;       /* by how much the 90th percentile batch was slower than the best: 0.05 */
  int equal;           /* every byte compared was the golden model's (limits: the source's) */
} mxg_bench_row;

typedef struct mxg_bench_machine {
  char cpu[96];                           /* model name, or "unknown CPU" */
  double ghz;                             /* clock of this moment; 0: not known on this machine */
  size_t l2_bytes, l3_bytes;              /* 0: not known */
  size_t set_bytes[MXG_BENCH_SIZE_COUNT]; /* source and result together; token: 0, it is one row */
  size_t call_bytes;                      /* dram is walked in calls of about so much */
  uint32_t threads;                       /* all of them */
} mxg_bench_machine;

void mxg_bench_machine_of(mxg_bench_machine *out);

/* Runs what the options ask for on the machine as it was found, and tells each row when it is known.
 * `done` counts it, out of `total`.
 * returns  NULL, or a sentence that says why the run stopped. Static storage. */
typedef void mxg_bench_emit(const mxg_bench_row *row, size_t done, size_t total, void *context);
const char *mxg_bench_run(const mxg_bench_machine *machine, const mxg_bench_options *options,
                          mxg_bench_emit *emit, void *context);

#endif
