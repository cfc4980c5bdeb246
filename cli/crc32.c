/* crc32.c: CRC-32, reflected polynomial EDB88320, eight bytes at a step.
 * SPDX-License-Identifier: MIT */
#include "crc32.h"

#include <stdbool.h>

/* tables[k][b]: the CRC of byte b followed by k zero bytes. */
static uint32_t tables[8][256];

static void fill_tables(void) {
  for (uint32_t b = 0; b < 256; b++) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ ((crc & 1u) != 0 ? 0xEDB88320u : 0);
    tables[0][b] = crc;
  }
  for (int k = 1; k < 8; k++)
    for (uint32_t b = 0; b < 256; b++)
      tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 255];
}

uint32_t mxg_crc32(uint32_t crc, const unsigned char *bytes, size_t count) {
  static bool is_filled;
  if (!is_filled) fill_tables();
  is_filled = true;
  crc = ~crc;
  for (; count >= 8; bytes += 8, count -= 8) {
    crc ^= (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
    crc = tables[7][crc & 255] ^ tables[6][crc >> 8 & 255] ^ tables[5][crc >> 16 & 255] ^
          tables[4][crc >> 24] ^ tables[3][bytes[4]] ^ tables[2][bytes[5]] ^ tables[1][bytes[6]] ^
          tables[0][bytes[7]];
  }
  for (; count > 0; bytes++, count--) crc = crc >> 8 ^ tables[0][(crc ^ *bytes) & 255];
  return ~crc;
}
