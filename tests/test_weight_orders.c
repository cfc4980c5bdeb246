/* test_weight_orders.c: orders of weights (docs/LAYOUT.md), by codec and ref.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "count.h"
#include "generator.h"
#include "guard.h"
#include "impl.h"

/* 16x16 tiles: the group of 32 elements y of row x goes to (x>>4)*16*Kp + (x&15)*16 + y*256. */
START_TEST(test_weight_shuffle) {
  static const size_t shapes[][2] = {{16, 16},   {16, 64}, {32, 16}, {48, 80},
                                     {128, 256}, {0, 16},  {16, 0}};
  generator g = generator_start("weight_shuffle");
  for (size_t s = 0; s < COUNT(shapes); s++) {
    const size_t rows = shapes[s][0], row_bytes = shapes[s][1], bytes = rows * row_bytes;
    uint8_t *plain = malloc(bytes + 1), *want = malloc(bytes + 1);
    if (plain == NULL || want == NULL) ck_abort_msg("no memory");
    generator_bytes(&g, plain, bytes);
    for (size_t x = 0; x < rows; x++)
      for (size_t y = 0; y < row_bytes / 16; y++)
        memcpy(want + (x >> 4) * 16 * row_bytes + (x & 15) * 16 + y * 256,
               plain + x * row_bytes + y * 16, 16);
    for (int i = 0; i < IMPLS; i++) {
      guard a = guard_new(bytes, 5), b = guard_new(bytes, 11), c = guard_new(bytes, 0);
      memcpy(a.data, plain, bytes);
      ck_assert(impls[i].weight_shuffle(rows, row_bytes, a.data, b.data) == MXG_OK);
      expect_bytes(b.data, want, bytes, "%s: %zu x %zu shuffled", impls[i].name, rows, row_bytes);
      ck_assert(impls[i].weight_unshuffle(rows, row_bytes, b.data, c.data) == MXG_OK);
      expect_bytes(c.data, plain, bytes, "%s: %zu x %zu and back", impls[i].name, rows, row_bytes);
      guard_free(&a, "plain");
      guard_free(&b, "shuffled");
      guard_free(&c, "back");
    }
    free(plain);
    free(want);
  }
}
END_TEST

/* view (E, 2, N0, 16, K0, 4, 16) permuted to (0, 2, 1, 4, 5, 3, 6): sequential writes */
static void weave(size_t experts, size_t rows, size_t row_bytes, const uint8_t *in, uint8_t *out) {
  const size_t n0 = rows / 16, k0 = row_bytes / 64;
  for (size_t e = 0; e < experts; e++)
    for (size_t n = 0; n < n0; n++)
      for (size_t up_half = 0; up_half < 2; up_half++)
        for (size_t k = 0; k < k0; k++)
          for (size_t q = 0; q < 4; q++)
            for (size_t r = 0; r < 16; r++, out += 16)
              memcpy(out,
                     in + ((e * 2 + up_half) * rows + n * 16 + r) * row_bytes + k * 64 + q * 16,
                     16);
}

START_TEST(test_GateUp) {
  static const size_t shapes[][3] = {{1, 16, 64}, {2, 32, 128}, {3, 48, 64}, {8, 64, 192},
                                     {0, 16, 64}, {2, 0, 64},   {2, 16, 0}};
  generator g = generator_start("GateUp");
  for (size_t s = 0; s < COUNT(shapes); s++) {
    const size_t experts = shapes[s][0], rows = shapes[s][1], row_bytes = shapes[s][2];
    const size_t bytes = experts * 2 * rows * row_bytes;
    uint8_t *plain = malloc(bytes + 1), *want = malloc(bytes + 1);
    if (plain == NULL || want == NULL) ck_abort_msg("no memory");
    generator_bytes(&g, plain, bytes);
    weave(experts, rows, row_bytes, plain, want);
    if (bytes > 0 && rows > 16) ck_assert(memcmp(plain, want, bytes) != 0);
    for (int i = 0; i < IMPLS; i++) {
      guard a = guard_new(bytes, 5), b = guard_new(bytes, 11), c = guard_new(bytes, 0);
      memcpy(a.data, plain, bytes);
      ck_assert(impls[i].gate_up_interleave(experts, rows, row_bytes, a.data, b.data) == MXG_OK);
      expect_bytes(b.data, want, bytes, "%s: %zu experts %zu x %zu interleaved", impls[i].name,
                   experts, rows, row_bytes);
      ck_assert(impls[i].gate_up_separate(experts, rows, row_bytes, b.data, c.data) == MXG_OK);
      expect_bytes(c.data, plain, bytes, "%s: %zu experts %zu x %zu and back", impls[i].name,
                   experts, rows, row_bytes);
      guard_free(&a, "separate");
      guard_free(&b, "interleaved");
      guard_free(&c, "back");
    }
    free(plain);
    free(want);
  }
  /* gate's first tile, up's first tile, gate's second tile, ... */
  enum { ROWS = 32, BYTES = 64, TILE = 16 * BYTES };
  uint8_t plain[2 * ROWS * BYTES], woven[2 * ROWS * BYTES];
  memset(plain, 'g', ROWS * BYTES);
  memset(plain + ROWS * BYTES, 'u', ROWS * BYTES);
  for (int i = 0; i < IMPLS; i++) {
    ck_assert(impls[i].gate_up_interleave(1, ROWS, BYTES, plain, woven) == MXG_OK);
    for (size_t tile = 0; tile < 4; tile++)
      expect_filled(woven + tile * TILE, tile % 2 == 0 ? 'g' : 'u', TILE, "%s: tile %zu",
                    impls[i].name, tile);
  }
}
END_TEST

CHECK_MAIN("orders of weights", test_weight_shuffle, test_GateUp)
