/* sim.h: runs the kernels' own source on the CPU. A lane is a fibre; lanes of a wave meet at each
 * exchange, threads of a group at each barrier. A kernel in which some lanes miss a meeting, or
 * which uses a misaligned vector access, aborts the program with a sentence.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_GPU_SIM_H
#define TESTS_GPU_SIM_H

#include "args.h"

typedef void mxg_sim_kernel_fn(const mxg_gpu_args a);

typedef struct mxg_sim_kernel {
  const char *name;
  mxg_sim_kernel_fn *run;
} mxg_sim_kernel;

/* Kernels of a chip, ended by a NULL name (sim_gfx942.c and so on). */
extern const mxg_sim_kernel mxg_sim_gfx942[], mxg_sim_gfx950[], mxg_sim_gfx1250[], mxg_sim_sm_90[];

/* All groups, one after the other. */
void mxg_sim_launch(mxg_sim_kernel_fn *kernel, const mxg_gpu_args *args, uint32_t lanes);

/* 1: groups, the waves of one (each runs as far as a barrier lets it), and the lanes of a wave run in
 * descending order: a result that depends on the order is a race. */
extern int mxg_sim_reversed;

/* Noted as well of a launch with shared memory for copies (combine_staged.h). */
#define MXG_SIM_STAGED "staged"

/* The kernel launched last; 1 if a kernel of this name was launched since the last call with NULL. */
extern const char *mxg_sim_last_kernel;
int mxg_sim_ran(const char *name);
void mxg_sim_note(const char *name);

#endif
