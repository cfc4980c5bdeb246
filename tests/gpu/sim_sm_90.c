/* sim_sm_90.c: the kernels as sm_90 runs them, on the CPU.
 * SPDX-License-Identifier: MIT */
#define MXG_LANES 32
#define MXG_HAS_NATIVE_E4M3FN 1
#define MXG_HAS_NATIVE_E2M1 0
#define MXG_HAS_CVT_E4M3X2 1
#define MXG_HAS_BF16X2 1
#define MXG_HAS_F16X2 1
#define MXG_HAS_CVT_HALVES 1
#define MXG_HAS_BULK 1
#define MXG_SIM_TABLE mxg_sim_sm_90
#include "sim_kernels.h"
