/* info_device.h: the part of `mxgold info` about device 0.
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_CLI_INFO_DEVICE_H
#define MXGOLD_CLI_INFO_DEVICE_H

#include <jansson.h>

void mxg_info_device_text(void);
/* null when no GPU library is built in; {backend, error} when no device opens; else
 * {backend, name, arch, lanes, multiprocessors, kernels_bf16}. */
json_t *mxg_info_device_json(void);

#endif
