/* demo.c: a real tensor through eight presets, every byte checked, one table.
 *
 * usage: mxgold_demo DATA_DIR            check against DATA_DIR/demo_digests.txt, print the table
 *        mxgold_demo DATA_DIR --digests  print the lines of demo_digests.txt
 * exit: 0 all equal, 1 a difference, 2 a file cannot be read
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mxgold.h"

#define XXH_INLINE_ALL
#include "xxhash.h"

enum { ROWS = 512, COLS = 128, SOURCES = 8, MISSING = 5, MAX_SLOT = 2 * COLS };

static const char tensor_name[] = "silero_vad_v5_lstm_weight_ih_f32.npy";
static const char *const presets[] = {"mxfp8",       "mxfp4",         "mxfp8-te",
                                      "aiter-mxfp4", "aiter-fp8-128", "deepseek-fp8-128",
                                      "mori-fp8",    "mori-fp4"};
enum { PRESETS = sizeof presets / sizeof presets[0] };

static float tensor[ROWS * COLS];

/* What one implementation makes of the tensor. */
typedef struct outcome {
  uint8_t slots[ROWS * MAX_SLOT];
  float values[ROWS * COLS];
  float sums[ROWS * COLS];
} outcome;

static outcome codec, golden;

static float f32_from_little_endian(const uint8_t *bytes) {
  uint32_t bits = 0;
  float value;
  for (int i = 0; i < 4; i++) bits |= (uint32_t)bytes[i] << (8 * i);
  memcpy(&value, &bits, 4);
  return value;
}

/* A .npy file, version 1: a 10-byte prefix with the header's length, the header, the data. */
static bool read_tensor(const char *folder) {
  char path[4096];
  static uint8_t bytes[128 + sizeof tensor + 1];
  (void)snprintf(path, sizeof path, "%s/%s", folder, tensor_name);
  FILE *const file = fopen(path, "rb");
  if (!file) {
    perror(path);
    return false;
  }
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  (void)fclose(file);
  const size_t data = size > 10 ? 10u + bytes[8] + 256u * bytes[9] : 0;
  bytes[size < sizeof bytes ? size : size - 1] = 0;
  if (data + sizeof tensor != size || memcmp(bytes, "\x93NUMPY\x01", 7) != 0 ||
      !strstr((const char *)bytes + 10, "'descr': '<f4'") ||
      !strstr((const char *)bytes + 10, "'shape': (512, 128)")) {
    (void)fprintf(stderr, "%s: not the 512 x 128 f32 tensor of this demo\n", path);
    return false;
  }
  for (size_t i = 0; i < ROWS * COLS; i++) tensor[i] = f32_from_little_endian(bytes + data + 4 * i);
  return true;
}

/* Quantise and dequantise the tensor, then for each row the weighted sum of eight rows (its own and
 * the seven below it, around the end), one of them missing. */
static mxg_status compute(bool reference, const mxg_recipe *recipe, const mxg_layout *layout,
                          outcome *out) {
  const mxg_matrix_view x = {tensor, MXG_DTYPE_F32, ROWS, COLS, 0};
  const mxg_packed packed = {out->slots, sizeof out->slots, NULL, 0, *layout};
  const mxg_packed_view view = {out->slots, sizeof out->slots, NULL, 0, *layout};
  const mxg_matrix values = {out->values, MXG_DTYPE_F32, ROWS, COLS, 0};
  const mxg_matrix sums = {out->sums, MXG_DTYPE_F32, ROWS, COLS, 0};
  static const void *slots[ROWS * SOURCES];
  static float weight[ROWS * SOURCES];
  for (size_t i = 0; i < ROWS * SOURCES; i++) {
    const size_t row = i / SOURCES, k = i % SOURCES;
    slots[i] = k == MISSING ? NULL : out->slots + (row + k) % ROWS * layout->slot_stride_bytes;
    weight[i] = (float)(k + 1) / 36.0f;
  }
  mxg_status status =
      (reference ? mxg_ref_quantize : mxg_quantize)(recipe, &x, NULL, &packed, NULL);
  if (status == MXG_OK)
    status = (reference ? mxg_ref_dequantize : mxg_dequantize)(recipe, &view, &values, NULL);
  if (status == MXG_OK)
    status = (reference ? mxg_ref_combine : mxg_combine)(recipe, slots, SOURCES, weight, layout, 0,
                                                         COLS, &sums, NULL);
  return status;
}

/* Their little-endian bytes, on every machine. */
static void digest_floats(XXH64_state_t *state, const float *values) {
  static uint8_t bytes[4 * ROWS * COLS];
  for (size_t i = 0; i < ROWS * COLS; i++) {
    uint32_t bits;
    memcpy(&bits, &values[i], 4);
    for (size_t b = 0; b < 4; b++) bytes[4 * i + b] = (uint8_t)(bits >> (8 * b));
  }
  (void)XXH64_update(state, bytes, sizeof bytes);
}

static uint64_t digest(const outcome *out, const mxg_layout *layout) {
  static XXH64_state_t state;
  (void)XXH64_reset(&state, 0);
  (void)XXH64_update(&state, out->slots, layout->codes_bytes);
  digest_floats(&state, out->values);
  digest_floats(&state, out->sums);
  return XXH64_digest(&state);
}

/* The scale that row and column decode with. */
static double scale_at(const mxg_recipe *recipe, const mxg_layout *layout, size_t row, size_t col) {
  const uint8_t *const scales =
      codec.slots + row * layout->slot_stride_bytes + layout->scale_offset_bytes;
  float scale = 1.0f;
  if (recipe->scale == MXG_SCALE_E8M0)
    (void)mxg_e8m0_to_f32(recipe->edges, scales + col / recipe->block, 1, &scale);
  else if (recipe->scale == MXG_SCALE_F32 &&
           (recipe->marker == MXG_MARKER_NONE || f32_from_little_endian(scales) < 0))
    scale = fabsf(f32_from_little_endian(scales + 4 * (col / recipe->block)));
  return (double)scale;
}

/* The exact error bound of one element, section 6 of docs/NUMERICS.md. */
static double bound(const mxg_recipe *recipe, double x, double scale) {
  const mxg_traits traits = mxg_element_traits(recipe->element);
  const double max = (double)(recipe->element_max > 0 ? recipe->element_max : traits.max);
  const double v = fmin(fabs(x) / scale, max);
  const int exponent = v > 0 && ilogb(v) > traits.emin ? ilogb(v) : traits.emin;
  return fmax(0, fabs(x) - scale * max) + scale * ldexp(1, exponent - traits.mantissa_bits) / 2 +
         (recipe->scale == MXG_SCALE_F32 ? ldexp(fabs(x), -21) : 0);
}

/* One row of the table; false when an element lies outside its bound. */
static bool print_row(const char *name, const mxg_recipe *recipe, const mxg_layout *layout) {
  double error2 = 0, norm2 = 0, worst = 0;
  for (size_t i = 0; i < ROWS * COLS; i++) {
    const double x = (double)tensor[i], error = fabs((double)codec.values[i] - x);
    const double limit = bound(recipe, x, scale_at(recipe, layout, i / COLS, i % COLS));
    error2 += error * error;
    norm2 += x * x;
    if (error > 0) worst = fmax(worst, error / limit);
  }
  (void)printf("%-18s %8zu %7.3f %9.5f %10.4f\n", name, layout->codes_bytes,
               (double)layout->codes_bytes / (double)(2 * ROWS * COLS), sqrt(error2 / norm2),
               worst);
  return worst <= 1;
}

/* Is `line` a line of DATA_DIR/demo_digests.txt? */
static bool committed(const char *folder, const char *line) {
  char path[4096], want[128];
  bool found = false;
  (void)snprintf(path, sizeof path, "%s/demo_digests.txt", folder);
  FILE *const file = fopen(path, "r");
  if (!file) {
    perror(path);
    exit(2);
  }
  while (!found && fgets(want, sizeof want, file)) {
    want[strcspn(want, "\n")] = 0;
    found = strcmp(want, line) == 0;
  }
  (void)fclose(file);
  return found;
}

int main(int argc, char **argv) {
  const bool digests_only = argc == 3 && strcmp(argv[2], "--digests") == 0;
  if (argc != 2 && !digests_only) {
    (void)fputs("usage: mxgold_demo DATA_DIR [--digests]\n", stderr);
    return 2;
  }
  if (!read_tensor(argv[1])) return 2;
  if (!digests_only)
    (void)printf("%s: %d x %d f32\n\n%-18s %8s %7s %9s %10s\n", tensor_name, ROWS, COLS, "preset",
                 "bytes", "/ bf16", "relL2", "err/bound");
  int failures = 0;
  for (size_t p = 0; p < PRESETS; p++) {
    const mxg_layout_options options = {.placement = MXG_PLACEMENT_SLOT};
    mxg_recipe recipe;
    mxg_layout layout;
    if (mxg_recipe_parse(presets[p], &recipe, NULL) != MXG_OK ||
        mxg_layout_for(&recipe, ROWS, COLS, &options, &layout) != MXG_OK ||
        layout.codes_bytes > sizeof codec.slots ||
        compute(false, &recipe, &layout, &codec) != MXG_OK ||
        compute(true, &recipe, &layout, &golden) != MXG_OK) {
      (void)printf("%s: a call failed\n", presets[p]);
      return 1;
    }
    char line[64];
    (void)snprintf(line, sizeof line, "%016" PRIx64 " %s", digest(&codec, &layout), presets[p]);
    if (digests_only) {
      (void)puts(line);
      continue;
    }
    if (!print_row(presets[p], &recipe, &layout)) {
      (void)printf("  an element lies outside its error bound\n");
      failures++;
    }
    if (memcmp(codec.slots, golden.slots, layout.codes_bytes) != 0 ||
        memcmp(codec.values, golden.values, sizeof codec.values) != 0 ||
        memcmp(codec.sums, golden.sums, sizeof codec.sums) != 0) {
      (void)printf("  codec and golden model differ\n");
      failures++;
    }
    if (!committed(argv[1], line)) {
      (void)printf("  not the committed digest: %s\n", line);
      failures++;
    }
  }
  if (digests_only) return 0;
  if (failures) {
    (void)printf("\n%d faults\n", failures);
    return 1;
  }
  (void)printf(
      "\ncodec = golden model, byte for byte: codes, scales, decoded values, and the weighted sum "
      "of\n"
      "%d row-rotated copies with one missing. All as committed in demo_digests.txt.\n",
      SOURCES);
  return 0;
}
