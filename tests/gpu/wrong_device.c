/* wrong_device.c: opens device 0 and prints the status and the message. test_no_device.sh runs it
 * beside fake_device.c. Exit codes: 0 the device was refused, 1 it was opened.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "mxgold_gpu.h"

int main(void) {
  mxg_gpu *gpu = NULL;
  const mxg_status status = mxg_gpu_open(0, 0, &gpu);
  printf("%s: %s\n",
         status == MXG_ERR_ARCH        ? "MXG_ERR_ARCH"
         : status == MXG_ERR_DEVICE    ? "MXG_ERR_DEVICE"
         : status == MXG_ERR_NO_DEVICE ? "MXG_ERR_NO_DEVICE"
                                       : "another status",
         mxg_gpu_message());
  mxg_gpu_close(gpu);
  return status == MXG_OK || gpu != NULL;
}
