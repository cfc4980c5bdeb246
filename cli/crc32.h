/* crc32.h: CRC-32 as zlib, gzip and PNG have it, so that any language checks a digest with what it
 * comes with (Python: zlib.crc32).
 * SPDX-License-Identifier: MIT */
#ifndef MXGOLD_CRC32_H
#define MXGOLD_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of what came before (0 at the start) continued by count bytes. */
uint32_t mxg_crc32(uint32_t crc, const unsigned char *bytes, size_t count);

#endif
