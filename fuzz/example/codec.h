/* codec.h: the codec of the example: rows x cols bf16 into FP4 codes and E8M0 scales.
 * SPDX-License-Identifier: MIT */
#ifndef FUZZ_EXAMPLE_CODEC_H
#define FUZZ_EXAMPLE_CODEC_H

#include <stddef.h>
#include <stdint.h>

void example_mxfp4(const uint16_t *x, size_t rows, size_t cols, uint8_t *codes, uint8_t *scales);

#endif
