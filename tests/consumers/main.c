/* A program over the installed library: a row of values to codes and scale; exit 0 if they are
 * right and the library is the header's version.
 * SPDX-License-Identifier: MIT */
#include <mxgold.h>
#include <mxgold/scale.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  const float values[6] = {1.0f, -2.5f, 0.3f, 6.0f, -0.0f, 5.0f};
  const unsigned char expected[] = {0xC2, 0x71, 0x68};
  unsigned char codes[3], scales[1];
  char version[32];
  mxg_recipe recipe;
  mxg_layout layout;
  mxg_status status = mxg_recipe_parse("mxfp4", &recipe, NULL);
  if (status == MXG_OK) status = mxg_layout_for(&recipe, 1, 6, NULL, &layout);
  if (status == MXG_OK) {
    const mxg_matrix_view x = {values, MXG_DTYPE_F32, 1, 6, 0};
    const mxg_packed out = {codes, sizeof codes, scales, sizeof scales, layout};
    status = mxg_quantize(&recipe, &x, NULL, &out, NULL);
  }
  if (status != MXG_OK) return fprintf(stderr, "%s\n", mxg_strerror(status)), 1;
  printf("mxgold %s: codes %02X %02X %02X, scale %02X\n", mxg_version(), codes[0], codes[1],
         codes[2], scales[0]);
  snprintf(version, sizeof version, "%d.%d.%d", MXG_VERSION_MAJOR, MXG_VERSION_MINOR,
           MXG_VERSION_PATCH);
  return strcmp(version, mxg_version()) != 0 || memcmp(codes, expected, sizeof expected) != 0 ||
         scales[0] != 0x7F || mxg_f32_bits(1.0f) != 0x3F800000u;
}
