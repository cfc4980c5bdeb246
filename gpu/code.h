/* code.h: the device code that is built into the library. Private to gpu/.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_GPU_CODE_H
#define MXGOLD_GPU_CODE_H

/* The code object for an arch such as "gfx950:sramecc+:xnack-", or NULL. */
const void *mxg_gpu_code(const char *arch);

/* The archs that there is code for, "gfx942 gfx950". */
extern const char mxg_gpu_code_archs[];

#endif
