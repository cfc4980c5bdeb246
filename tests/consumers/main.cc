// SPDX-License-Identifier: MIT
// A C++11 program over the library: a row of values to codes and scale, and the version.
#include <mxgold.h>

#include <cstdio>
#include <cstring>
#include <vector>

int main() {
  const std::vector<float> values = {1.0f, -2.5f, 0.3f, 6.0f, -0.0f, 5.0f};
  mxg_recipe recipe;
  mxg_layout layout;
  mxg_status status = mxg_recipe_parse("mxfp4", &recipe, nullptr);
  if (status == MXG_OK) status = mxg_layout_for(&recipe, 1, values.size(), nullptr, &layout);
  std::vector<unsigned char> codes(3), scales(1);
  if (status == MXG_OK) {
    const mxg_matrix_view x = {values.data(), MXG_DTYPE_F32, 1, values.size(), 0};
    const mxg_packed out = {codes.data(), codes.size(), scales.data(), scales.size(), layout};
    status = mxg_quantize(&recipe, &x, nullptr, &out, nullptr);
  }
  if (status != MXG_OK) return std::fprintf(stderr, "%s\n", mxg_strerror(status)), 1;
  std::printf("C++ mxgold %s: codes %02X %02X %02X, scale %02X\n", mxg_version(), codes[0], codes[1],
              codes[2], scales[0]);
  const unsigned char expected[] = {0xC2, 0x71, 0x68};
  return std::memcmp(codes.data(), expected, 3) != 0 || scales[0] != 0x7F;
}
