/* bench.h: how fast a device runs, next to a copy of as many bytes on it in the same run.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_BENCH_H
#define MXGOLD_GPU_BENCH_H

#include <stdio.h>

#include "mxgold_gpu.h"

/* Quantise, combine and live rows on the shapes of a MoE layer; a line each. `portable` runs what
 * `gpu` refuses; may be NULL. only: lines whose name has it in it; NULL: all. returns 0; 1 after a
 * failure was written. */
int mxg_gpu_bench(const mxg_gpu *gpu, const mxg_gpu *portable, const char *only, FILE *out);

#endif
