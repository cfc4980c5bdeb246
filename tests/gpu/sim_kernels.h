/* sim_kernels.h: kernels.c and a table of what it defines for the chip of the includer.
 * SPDX-License-Identifier: MIT */
#include "kernels.c"
#include "sim.h"

#undef MXG_GPU_QUANTIZE
#undef MXG_GPU_DEQUANTIZE
#undef MXG_GPU_COMBINE
#define MXG_LINE(name) {#name, name},
#define MXG_GPU_QUANTIZE(name, archs, element, dtype, path) MXG_IF_##archs(MXG_LINE(name))
#define MXG_GPU_DEQUANTIZE(name, archs, element, path) MXG_IF_##archs(MXG_LINE(name))
#define MXG_GPU_COMBINE(name, archs, element, accumulate, path) MXG_IF_##archs(MXG_LINE(name))

const mxg_sim_kernel MXG_SIM_TABLE[] = {
#include "gpu_kernels.def"
    {0, 0}};
