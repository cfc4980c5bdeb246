/* kernels.c: every kernel of gpu_kernels.def, from the bodies in the headers. Compiled as HIP and as CUDA
 * for the devices, and included as C by the simulator of the tests.
 * SPDX-License-Identifier: MIT */
#include "args.h"
#include "combine.h"
#include "dequantize.h"
#include "quantize_slow.h"
#include "quantize_vector.h"

#define MXG_ELEMENT_ANY 0
#define MXG_DTYPE_ANY 0
#define MXG_NATIVE 1
#define MXG_PORTABLE 0

/* What holds a tile, or the sums and sources in flight of a lane, without spilling. */
#define MXG_GROUPS_BF16 4
#define MXG_GROUPS_F16 4
#define MXG_GROUPS_F32 2
#define MXG_GROUPS_ANY 3
#define MXG_GROUPS_E4M3FN 4
#define MXG_GROUPS_E4M3FNUZ 4
#define MXG_GROUPS_E5M2 4
#define MXG_GROUPS_E2M1 3

#define MXG_QUANTIZE_NATIVE(element, dtype) \
  mxg_quantize_vector(&a, MXG_ELEMENT_##element, MXG_DTYPE_##dtype, 1);
#define MXG_QUANTIZE_PORTABLE(element, dtype) \
  mxg_quantize_vector(&a, MXG_ELEMENT_##element, MXG_DTYPE_##dtype, 0);
#define MXG_QUANTIZE_SLOW(element, dtype) mxg_quantize_slow(&a);
#define MXG_GPU_QUANTIZE(name, archs, element, dtype, path) \
  MXG_IF_##archs(MXG_KERNEL(name, MXG_GROUPS_##dtype) {     \
    MXG_BEGIN();                                            \
    MXG_QUANTIZE_##path(element, dtype)                     \
  })

#define MXG_DEQUANTIZE_NATIVE(element) mxg_dequantize_vector(&a, MXG_ELEMENT_##element, 1);
#define MXG_DEQUANTIZE_PORTABLE(element) mxg_dequantize_vector(&a, MXG_ELEMENT_##element, 0);
#define MXG_DEQUANTIZE_SLOW(element) mxg_dequantize_slow(&a);
#define MXG_GPU_DEQUANTIZE(name, archs, element, path) \
  MXG_IF_##archs(MXG_KERNEL(name, 4) {                 \
    MXG_BEGIN();                                       \
    MXG_DEQUANTIZE_##path(element)                     \
  })

#define MXG_FUSED_FMA 1
#define MXG_FUSED_MUL_ADD 0
#define MXG_COMBINE_NATIVE(element, accumulate) \
  mxg_combine_vector(&a, MXG_ELEMENT_##element, MXG_FUSED_##accumulate, 1);
#define MXG_COMBINE_PORTABLE(element, accumulate) \
  mxg_combine_vector(&a, MXG_ELEMENT_##element, MXG_FUSED_##accumulate, 0);
#define MXG_COMBINE_SLOW(element, accumulate) mxg_combine_slow(&a, MXG_FUSED_##accumulate);
#define MXG_GPU_COMBINE(name, archs, element, accumulate, path) \
  MXG_IF_##archs(MXG_KERNEL(name, MXG_GROUPS_##element) {       \
    MXG_BEGIN();                                                \
    MXG_COMBINE_##path(element, accumulate)                     \
  })

#include "gpu_kernels.def"
