/* sim_gfx950.c: the kernels as gfx950 runs them, on the CPU.
 * SPDX-License-Identifier: MIT */
#define MXG_LANES 64
#define MXG_HAS_NATIVE_E4M3FN 1
#define MXG_HAS_NATIVE_E2M1 1
#define MXG_HAS_CVT_E4M3X2 0
#define MXG_HAS_BF16X2 0
#define MXG_HAS_F16X2 0
#define MXG_SIM_TABLE mxg_sim_gfx950
#include "sim_kernels.h"
