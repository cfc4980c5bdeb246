/* device_graph.c: one recorded graph, replayed with other counts of live rows.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "device_subject.h"
#include "selftest_parts.h"

enum { ROWS = 96, COLS = 1024, PAINT = 0xA5 };

typedef struct buffers {
  mxg_gpu_stream stream;
  mxg_gpu_graph graph;
  void *x, *codes, *scales, *y, *live;
  unsigned char *host_x, *want, *got; /* want, got: codes, scales, values */
} buffers;

static const char *open_buffers(const mxg_gpu *gpu, const mxg_layout *layout, buffers *b) {
  const size_t values = (size_t)ROWS * COLS;
  const size_t bytes = layout->codes_bytes + layout->scales_bytes + values * 4;
  uint64_t random = 0x6A4F5u;
  b->host_x = malloc(values * 2);
  b->want = malloc(bytes);
  b->got = malloc(bytes);
  if (!b->host_x || !b->want || !b->got) return "out of memory";
  mxg_fill_values(&random, b->host_x, MXG_DTYPE_BF16, ROWS, COLS, COLS);
  if (mxg_gpu_stream_new(gpu, &b->stream) != MXG_OK ||
      mxg_gpu_alloc(gpu, values * 2, &b->x) != MXG_OK ||
      mxg_gpu_alloc(gpu, layout->codes_bytes, &b->codes) != MXG_OK ||
      mxg_gpu_alloc(gpu, layout->scales_bytes, &b->scales) != MXG_OK ||
      mxg_gpu_alloc(gpu, values * 4, &b->y) != MXG_OK ||
      mxg_gpu_alloc(gpu, sizeof(uint32_t), &b->live) != MXG_OK ||
      mxg_gpu_upload(gpu, b->x, b->host_x, values * 2) != MXG_OK)
    return mxg_gpu_message();
  return NULL;
}

/* Quantise and dequantise, with the count at b->live. */
static const char *record(const mxg_gpu *gpu, const mxg_recipe *recipe, const mxg_layout *layout,
                          buffers *b) {
  const mxg_matrix_view x = {b->x, MXG_DTYPE_BF16, ROWS, COLS, 0};
  const mxg_packed packed = {b->codes, layout->codes_bytes, b->scales, layout->scales_bytes,
                             *layout};
  const mxg_packed_view view = {packed.codes, packed.codes_capacity, packed.scales,
                                packed.scales_capacity, packed.layout};
  const mxg_matrix y = {b->y, MXG_DTYPE_F32, ROWS, COLS, 0};
  if (mxg_gpu_graph_begin(gpu, b->stream) != MXG_OK ||
      mxg_gpu_quantize(gpu, recipe, &x, NULL, &packed, b->live, b->stream) != MXG_OK ||
      mxg_gpu_dequantize(gpu, recipe, &view, &y, b->live, b->stream) != MXG_OK ||
      mxg_gpu_graph_end(gpu, b->stream, &b->graph) != MXG_OK)
    return mxg_gpu_message();
  return NULL;
}

static const char *replay(const mxg_gpu *gpu, const mxg_recipe *recipe, const mxg_layout *layout,
                          uint32_t live, buffers *b) {
  const size_t codes = layout->codes_bytes, scales = layout->scales_bytes;
  const size_t values = (size_t)ROWS * COLS * 4;
  const mxg_matrix_view x = {b->host_x, MXG_DTYPE_BF16, live < ROWS ? live : ROWS, COLS, 0};
  const mxg_packed packed = {b->want, codes, b->want + codes, scales, *layout};
  const mxg_packed_view view = {packed.codes, packed.codes_capacity, packed.scales,
                                packed.scales_capacity, packed.layout};
  float *const want_y = malloc(values);
  if (want_y == NULL) return "out of memory";
  memset(b->want, PAINT, codes + scales);
  memset(want_y, PAINT, values);
  const mxg_matrix y = {want_y, MXG_DTYPE_F32, x.rows, COLS, 0};
  const int is_golden = mxg_ref_quantize(recipe, &x, NULL, &packed, NULL) == MXG_OK &&
                        mxg_ref_dequantize(recipe, &view, &y, NULL) == MXG_OK;
  memcpy(b->want + codes + scales, want_y, values);
  free(want_y);
  if (!is_golden) return "the golden model failed";
  if (mxg_gpu_upload(gpu, b->live, &live, sizeof live) != MXG_OK ||
      mxg_gpu_fill(gpu, b->codes, PAINT, codes, b->stream) != MXG_OK ||
      mxg_gpu_fill(gpu, b->scales, PAINT, scales, b->stream) != MXG_OK ||
      mxg_gpu_fill(gpu, b->y, PAINT, values, b->stream) != MXG_OK ||
      mxg_gpu_graph_launch(gpu, b->graph, b->stream) != MXG_OK ||
      mxg_gpu_synchronize(gpu, b->stream) != MXG_OK ||
      mxg_gpu_download(gpu, b->got, b->codes, codes) != MXG_OK ||
      mxg_gpu_download(gpu, b->got + codes, b->scales, scales) != MXG_OK ||
      mxg_gpu_download(gpu, b->got + codes + scales, b->y, values) != MXG_OK)
    return mxg_gpu_message();
  if (memcmp(b->got, b->want, codes) != 0) return "codes differ";
  if (memcmp(b->got + codes, b->want + codes, scales) != 0) return "scales differ";
  if (memcmp(b->got + codes + scales, b->want + codes + scales, values) != 0)
    return "values differ";
  return NULL;
}

static void close_buffers(const mxg_gpu *gpu, buffers *b) {
  void *const memory[] = {b->x, b->codes, b->scales, b->y, b->live};
  if (b->graph != NULL) (void)mxg_gpu_graph_free(gpu, b->graph);
  for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) (void)mxg_gpu_free(gpu, memory[i]);
  if (b->stream != NULL) (void)mxg_gpu_stream_free(gpu, b->stream);
  free(b->host_x);
  free(b->want);
  free(b->got);
}

int mxg_selftest_graph(const mxg_gpu *gpu, FILE *out) {
  static const uint32_t counts[] = {ROWS, 5, 0, 61, ROWS + 7, 1};
  const size_t replays = sizeof counts / sizeof counts[0];
  const char *problem = NULL;
  mxg_recipe recipe;
  mxg_layout layout;
  buffers b;
  memset(&b, 0, sizeof b);
  if (mxg_recipe_parse("mxfp8", &recipe, NULL) != MXG_OK ||
      mxg_ref_layout_for(&recipe, ROWS, COLS, NULL, &layout) != MXG_OK)
    problem = "no layout";
  if (problem == NULL) problem = open_buffers(gpu, &layout, &b);
  if (problem == NULL) problem = record(gpu, &recipe, &layout, &b);
  for (size_t i = 0; i < replays && problem == NULL; i++)
    problem = replay(gpu, &recipe, &layout, counts[i], &b);
  fprintf(out, "a graph replayed with %zu counts of live rows: %s\n", replays,
          problem == NULL ? "equal" : problem);
  close_buffers(gpu, &b);
  return problem != NULL;
}
