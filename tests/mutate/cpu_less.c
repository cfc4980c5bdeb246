/* cpu_less.c: in place of codec/cpu.c, a machine with MXG_LESS of this one's instruction sets: the
 * kernels of arrays take no mask, so that the best would hide the others.
 * SPDX-License-Identifier: MIT */
#include "mxgold.h"

uint32_t mxg_cpu_features(void) {
  return MXG_LESS;
}
