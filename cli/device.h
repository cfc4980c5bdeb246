/* device.h: the GPU library as the tool sees it: built in (MXGOLD_GPU) or not.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_CLI_DEVICE_H
#define MXGOLD_CLI_DEVICE_H

#include "tool.h"

#if defined(MXGOLD_GPU)
#include "../gpu/mxgold_gpu.h"

typedef struct mxg_device_arg {
  int index;
  uint32_t flags; /* of mxg_gpu_open() */
} mxg_device_arg;

/* mxg_gpu_open with a message. */
int mxg_device_open(const mxg_device_arg *arg, mxg_gpu **gpu);
#endif

/* What a tool without a GPU library says of `option`. */
int mxg_device_is_not_built(const char *option);

#endif
