/* table.h: recipe class x chip -> kernel. Private to gpu/ and its tests.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_TABLE_H
#define MXGOLD_GPU_TABLE_H

#include "mxgold_gpu.h"

/* Chips that the kernels are built for, as bits. */
typedef enum mxg_arch {
  MXG_ARCH_GFX942 = 1,
  MXG_ARCH_GFX950 = 2,
  MXG_ARCH_GFX1250 = 4,
  MXG_ARCH_SM_90 = 8
} mxg_arch;

/* What gpu_kernels.def calls them. */
#define MXG_ARCHS_ALL (MXG_ARCH_GFX942 | MXG_ARCH_GFX950 | MXG_ARCH_GFX1250 | MXG_ARCH_SM_90)
#define MXG_ARCHS_NATIVE_E4M3FN (MXG_ARCH_GFX950 | MXG_ARCH_SM_90)
#define MXG_ARCHS_NATIVE_E2M1 MXG_ARCH_GFX950

typedef enum mxg_path { MXG_PATH_NATIVE = 1, MXG_PATH_PORTABLE = 2, MXG_PATH_SLOW = 3 } mxg_path;

typedef struct mxg_table_row {
  mxg_gpu_kernel kernel; /* what users see */
  uint32_t archs;
  mxg_path path;
} mxg_table_row;

/* Lines of gpu_kernels.def in their order. */
extern const mxg_table_row mxg_gpu_table[];
extern const size_t mxg_gpu_table_rows;

/* Bit of an arch name such as "gfx950:sramecc+:xnack-" or "sm_90"; 0 = none of ours. */
uint32_t mxg_arch_of(const char *name);

/* mxg_table_find: the kernel of a valid recipe.
 * vector  1: the shape is aligned and regular (mxg_is_regular() says so of the recipe).
 * row     index in the table, on MXG_OK.
 * returns MXG_OK; MXG_ERR_ARCH: FP4 where no converter is, and portable kernels were not asked for. */
mxg_status mxg_table_find(uint32_t arch, uint32_t flags, const mxg_recipe *recipe,
                          mxg_operation operation, mxg_dtype dtype, int vector, size_t *row);

/* 1 if blocks of the recipe suit the vector kernels of the operation. */
int mxg_is_regular(const mxg_recipe *recipe, mxg_operation operation);

#endif
