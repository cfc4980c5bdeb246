/* device_subject.c: an open device as a subject of the self-test.
 * SPDX-License-Identifier: MIT */
#include "device_subject.h"

#include <stdlib.h>
#include <string.h>

#include "hosted.h"
#include "selftest_parts.h"

/* ---- the subject ---- */

static mxg_status worker_open(const void *context, unsigned number, void **worker) {
  const mxg_device *device = context;
  mxg_hosted *h = calloc(1, sizeof *h);
  if (h == NULL) return MXG_ERR_DEVICE;
  h->gpu = device->gpu;
  h->is_exact = device->is_exact;
  h->guard_bytes = device->is_exact ? 0 : MXG_GUARD_BYTES;
  /* One worker has the default stream. */
  const mxg_status status = number == 0 ? MXG_OK : mxg_gpu_stream_new(device->gpu, &h->stream);
  if (status != MXG_OK)
    free(h);
  else
    *worker = h;
  return status;
}

static void worker_close(void *worker) {
  mxg_hosted *h = worker;
  mxg_hosted_close(h);
  if (h->stream != NULL) (void)mxg_gpu_stream_free(h->gpu, h->stream);
  free(h);
}

static mxg_status kernel_name(const void *context, const mxg_recipe *recipe,
                              mxg_operation operation, mxg_dtype dtype, const char **name) {
  const mxg_device *device = context;
  return mxg_gpu_kernel_name(device->gpu, recipe, operation, dtype, name);
}

static mxg_status quantize(void *worker, const mxg_recipe *recipe, const mxg_matrix_view *x,
                           const float *row_weight, const mxg_packed *out,
                           const uint32_t *live_rows) {
  return mxg_hosted_quantize(worker, recipe, x, row_weight, out, live_rows);
}
static mxg_status dequantize(void *worker, const mxg_recipe *recipe, const mxg_packed_view *in,
                             const mxg_matrix *y, const uint32_t *live_rows) {
  return mxg_hosted_dequantize(worker, recipe, in, y, live_rows);
}
static mxg_status combine(void *worker, const mxg_recipe *recipe, const void *const *slots,
                          size_t top_k, const float *weight, const mxg_layout *layout,
                          size_t col_begin, size_t col_end, const mxg_matrix *y,
                          const uint32_t *live_rows) {
  return mxg_hosted_combine(worker, recipe, slots, top_k, weight, layout, col_begin, col_end, y,
                            live_rows);
}

mxg_subject mxg_subject_device(const mxg_device *device, const char *name) {
  const mxg_subject subject = {name,        device,   worker_open, worker_close, mxg_gpu_message,
                               kernel_name, quantize, dequantize,  combine};
  return subject;
}

/* ---- streams ---- */

enum { STREAMS = 4, ROUNDS = 6, ROWS = 96, COLS = 1024 };

typedef struct chain { /* x -> codes and scales -> y, on one stream */
  mxg_gpu_stream stream;
  void *x, *codes, *scales, *y;
  unsigned char *host_x, *want_codes, *want_y, *got;
} chain;

static const char *open_chain(const mxg_gpu *gpu, const mxg_recipe *recipe,
                              const mxg_layout *layout, unsigned number, chain *c) {
  const size_t values = (size_t)ROWS * COLS;
  uint64_t random = 0x57AEA3u + number;
  c->host_x = malloc(values * 2);
  c->want_codes = malloc(layout->codes_bytes + layout->scales_bytes);
  c->want_y = malloc(values * 4);
  c->got = malloc(values * 4 + layout->codes_bytes);
  if (!c->host_x || !c->want_codes || !c->want_y || !c->got) return "out of memory";
  mxg_fill_values(&random, c->host_x, MXG_DTYPE_BF16, ROWS, COLS, COLS);
  const mxg_matrix_view x = {c->host_x, MXG_DTYPE_BF16, ROWS, COLS, 0};
  const mxg_packed packed = {c->want_codes, layout->codes_bytes,
                             c->want_codes + layout->codes_bytes, layout->scales_bytes, *layout};
  const mxg_packed_view view = {packed.codes, packed.codes_capacity, packed.scales,
                                packed.scales_capacity, packed.layout};
  const mxg_matrix y = {c->want_y, MXG_DTYPE_F32, ROWS, COLS, 0};
  if (mxg_ref_quantize(recipe, &x, NULL, &packed, NULL) != MXG_OK ||
      mxg_ref_dequantize(recipe, &view, &y, NULL) != MXG_OK)
    return "the golden model failed";
  if (mxg_gpu_stream_new(gpu, &c->stream) != MXG_OK ||
      mxg_gpu_alloc(gpu, values * 2, &c->x) != MXG_OK ||
      mxg_gpu_alloc(gpu, layout->codes_bytes, &c->codes) != MXG_OK ||
      mxg_gpu_alloc(gpu, layout->scales_bytes, &c->scales) != MXG_OK ||
      mxg_gpu_alloc(gpu, values * 4, &c->y) != MXG_OK ||
      mxg_gpu_upload(gpu, c->x, c->host_x, values * 2) != MXG_OK)
    return mxg_gpu_message();
  return NULL;
}

static const char *launch_chain(const mxg_gpu *gpu, const mxg_recipe *recipe,
                                const mxg_layout *layout, unsigned round, chain *c) {
  const mxg_matrix_view x = {c->x, MXG_DTYPE_BF16, ROWS, COLS, 0};
  const mxg_packed packed = {c->codes, layout->codes_bytes, c->scales, layout->scales_bytes,
                             *layout};
  const mxg_packed_view view = {packed.codes, packed.codes_capacity, packed.scales,
                                packed.scales_capacity, packed.layout};
  const mxg_matrix y = {c->y, MXG_DTYPE_F32, ROWS, COLS, 0};
  const uint8_t paint = (uint8_t)(0x5A + round); /* what is not written shows */
  if (mxg_gpu_fill(gpu, c->codes, paint, layout->codes_bytes, c->stream) != MXG_OK ||
      mxg_gpu_fill(gpu, c->scales, paint, layout->scales_bytes, c->stream) != MXG_OK ||
      mxg_gpu_quantize(gpu, recipe, &x, NULL, &packed, NULL, c->stream) != MXG_OK ||
      mxg_gpu_dequantize(gpu, recipe, &view, &y, NULL, c->stream) != MXG_OK)
    return mxg_gpu_message();
  return NULL;
}

static const char *judge_chain(const mxg_gpu *gpu, const mxg_layout *layout, chain *c) {
  const size_t y_bytes = (size_t)ROWS * COLS * 4;
  if (mxg_gpu_synchronize(gpu, c->stream) != MXG_OK ||
      mxg_gpu_download(gpu, c->got, c->y, y_bytes) != MXG_OK ||
      mxg_gpu_download(gpu, c->got + y_bytes, c->codes, layout->codes_bytes) != MXG_OK)
    return mxg_gpu_message();
  if (memcmp(c->got + y_bytes, c->want_codes, layout->codes_bytes) != 0) return "codes differ";
  if (memcmp(c->got, c->want_y, y_bytes) != 0) return "values differ";
  return NULL;
}

static void close_chain(const mxg_gpu *gpu, chain *c) {
  void *const buffers[] = {c->x, c->codes, c->scales, c->y};
  for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
    (void)mxg_gpu_free(gpu, buffers[i]);
  if (c->stream != NULL) (void)mxg_gpu_stream_free(gpu, c->stream);
  free(c->host_x);
  free(c->want_codes);
  free(c->want_y);
  free(c->got);
}

int mxg_selftest_streams(const mxg_gpu *gpu, FILE *out) {
  const char *problem = NULL;
  chain chains[STREAMS];
  mxg_recipe recipe;
  mxg_layout layout;
  memset(chains, 0, sizeof chains);
  if (mxg_recipe_parse("mxfp8", &recipe, NULL) != MXG_OK ||
      mxg_ref_layout_for(&recipe, ROWS, COLS, NULL, &layout) != MXG_OK)
    problem = "no layout";
  for (unsigned i = 0; i < STREAMS && problem == NULL; i++)
    problem = open_chain(gpu, &recipe, &layout, i, &chains[i]);
  for (unsigned round = 0; round < ROUNDS; round++)
    for (unsigned i = 0; i < STREAMS && problem == NULL; i++)
      problem = launch_chain(gpu, &recipe, &layout, round, &chains[i]);
  for (unsigned i = 0; i < STREAMS && problem == NULL; i++)
    problem = judge_chain(gpu, &layout, &chains[i]);
  fprintf(out, "%d streams, %d chained calls each: %s\n", STREAMS, 2 * ROUNDS,
          problem == NULL ? "equal" : problem);
  for (unsigned i = 0; i < STREAMS; i++) close_chain(gpu, &chains[i]);
  return problem != NULL;
}

/* ---- a device as a whole ---- */

void mxg_device_describe(const mxg_gpu *gpu, FILE *out) {
  static const char *const names[] = {"",         "e4m3fn", "e4m3fnuz", "e5m2",
                                      "e5m2fnuz", "e2m1",   "e2m3",     "e3m2"};
  mxg_gpu_info info;
  if (mxg_gpu_info_of(gpu, &info) != MXG_OK) return;
  fprintf(out, "%s, %s (%s), %u multiprocessors, %u lanes, native:", mxg_gpu_backend(), info.name,
          info.arch, (unsigned)info.multiprocessors, (unsigned)info.lanes);
  if (info.native_elements == 0) fputs(" nothing", out);
  for (size_t i = 1; i < sizeof names / sizeof names[0]; i++)
    if (info.native_elements >> i & 1u) fprintf(out, " %s", names[i]);
  fputc('\n', out);
}

int mxg_selftest_device(int index, const mxg_selftest_options *options, int is_exact) {
  mxg_gpu *native = NULL, *portable = NULL;
  mxg_status status = mxg_gpu_open(index, 0, &native);
  if (status == MXG_OK) status = mxg_gpu_open(index, MXG_GPU_PORTABLE, &portable);
  if (status != MXG_OK) {
    fprintf(options->out, "device %d: %s. %s\n", index, mxg_strerror(status), mxg_gpu_message());
    mxg_gpu_close(native);
    return 2;
  }
  mxg_device_describe(native, options->out);
  const mxg_device devices[] = {{native, is_exact}, {portable, is_exact}};
  const mxg_subject subjects[] = {mxg_subject_device(&devices[0], "device"),
                                  mxg_subject_device(&devices[1], "device, portable")};
  mxg_selftest_options all = *options;
  all.subjects = subjects;
  all.subject_count = 2;
  int is_bad = mxg_selftest_streams(native, options->out);
  is_bad |= mxg_selftest_graph(native, options->out);
  is_bad |= mxg_selftest(&all);
  mxg_gpu_close(portable);
  mxg_gpu_close(native);
  return is_bad;
}
