/* bench.c: medians by the device's own events. Every measured call takes the next of several sets
 * of buffers, more than the caches hold, and so does the copy it is compared with.
 * SPDX-License-Identifier: MIT */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { BATCHES = 15, COLS = 7168, SETS_MAX = 16, TOP_K = 8 };

/* At least so many bytes lie between two uses of a buffer. */
static const size_t apart_bytes = (size_t)1 << 30;

#define TRY(expression)                      \
  do {                                       \
    const mxg_status status_ = (expression); \
    if (status_ != MXG_OK) return status_;   \
  } while (0)

typedef struct bench {
  const mxg_gpu *gpu;
  mxg_gpu_stream stream;
  mxg_gpu_event begin, end;
  const char *only; /* lines whose name has this in it; NULL: all */
  FILE *out;
} bench;

/* What is measured: call number `i` of it. */
typedef struct job {
  const mxg_gpu *gpu;
  mxg_recipe recipe;
  mxg_layout layout;
  size_t rows, sets;
  unsigned char *x, *codes, *scales, *y; /* set s starts at s * *_bytes */
  size_t x_bytes, codes_bytes, scales_bytes, y_bytes;
  void *slots, *weight, *live_rows;
  size_t copy_bytes; /* read, and written */
} job;

typedef mxg_status (*step)(const bench *b, const job *j, size_t i);

static mxg_status run_quantize(const bench *b, const job *j, size_t i) {
  const size_t s = i % j->sets;
  const mxg_matrix_view x = {j->x + s * j->x_bytes, MXG_DTYPE_BF16, j->rows, COLS, 0};
  const mxg_packed out = {j->codes + s * j->codes_bytes, j->layout.codes_bytes,
                          j->scales + s * j->scales_bytes, j->layout.scales_bytes, j->layout};
  return mxg_gpu_quantize(j->gpu, &j->recipe, &x, NULL, &out, j->live_rows, b->stream);
}

static mxg_status run_combine(const bench *b, const job *j, size_t i) {
  const size_t s = i % j->sets, count = j->rows * TOP_K;
  const mxg_matrix y = {j->y + s * j->y_bytes, MXG_DTYPE_BF16, j->rows, COLS, 0};
  const void *const *slots = (const void *const *)j->slots + s * count;
  const float *weight = j->weight == NULL ? NULL : (const float *)j->weight + s * count;
  return mxg_gpu_combine(j->gpu, &j->recipe, slots, TOP_K, weight, &j->layout, 0, COLS, &y,
                         j->live_rows, b->stream);
}

/* Half of what the call reads and writes, so that read and written bytes together are the same. */
static mxg_status run_copy(const bench *b, const job *j, size_t i) {
  const size_t s = i % j->sets;
  return mxg_gpu_copy(b->gpu, j->y + s * j->copy_bytes, j->x + s * j->copy_bytes, j->copy_bytes,
                      b->stream);
}

/* ---- time ---- */

static int by_value(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static mxg_status time_batch(const bench *b, step call, const job *j, size_t first, size_t calls,
                             float *microseconds) {
  TRY(mxg_gpu_event_record(b->gpu, b->begin, b->stream));
  for (size_t i = 0; i < calls; i++) TRY(call(b, j, first + i));
  TRY(mxg_gpu_event_record(b->gpu, b->end, b->stream));
  TRY(mxg_gpu_event_elapsed(b->gpu, b->begin, b->end, microseconds));
  *microseconds *= 1000.0f / (float)calls;
  return MXG_OK;
}

/* Medians of two calls whose batches take turns. */
static mxg_status time_both(const bench *b, step call, const job *j, step other_call,
                            const job *other, size_t calls, float *us, float *other_us) {
  float times[BATCHES], other_times[BATCHES], unused;
  TRY(time_batch(b, call, j, 0, calls, &unused));
  TRY(time_batch(b, other_call, other, 0, calls, &unused));
  for (size_t i = 0; i < BATCHES; i++) {
    TRY(time_batch(b, call, j, i * calls, calls, &times[i]));
    TRY(time_batch(b, other_call, other, i * calls, calls, &other_times[i]));
  }
  qsort(times, BATCHES, sizeof times[0], by_value);
  qsort(other_times, BATCHES, sizeof other_times[0], by_value);
  *us = times[BATCHES / 2];
  *other_us = other_times[BATCHES / 2];
  return MXG_OK;
}

/* ---- buffers ---- */

static mxg_status take(const bench *b, size_t bytes, unsigned char **memory) {
  void *p = NULL;
  TRY(mxg_gpu_alloc(b->gpu, bytes, &p));
  *memory = p;
  return MXG_OK;
}

static size_t sets_of(size_t bytes) {
  const size_t sets = mxg_size_ceil_div(apart_bytes, bytes);
  return sets < 2 ? 2 : sets > SETS_MAX ? SETS_MAX : sets;
}

/* `count` bf16 values around N(0, 1) in a few magnitudes, repeated through the device's memory. */
static mxg_status fill_values(const bench *b, unsigned char *device, size_t bytes) {
  enum { COUNT = 1 << 20 };
  const size_t chunk = (size_t)COUNT * 2;
  uint64_t r = 88172645463325252u;
  uint16_t *values = malloc(chunk);
  if (values == NULL) return MXG_ERR_DEVICE;
  for (size_t i = 0; i < COUNT; i++) {
    r ^= r << 13;
    r ^= r >> 7;
    r ^= r << 17;
    const float sum = (float)((int)(r & 0xFFFF) + (int)(r >> 16 & 0xFFFF) - 0xFFFF) * 0x1p-15f;
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    values[i] = (uint16_t)(bits >> 16);
  }
  mxg_status status = MXG_OK;
  for (size_t at = 0; at < bytes && status == MXG_OK; at += chunk)
    status = mxg_gpu_upload(b->gpu, device + at, values, bytes - at < chunk ? bytes - at : chunk);
  free(values);
  return status;
}

static void give_back(const bench *b, job *j) {
  void *const buffers[] = {j->x, j->codes, j->scales, j->y, j->slots, j->weight, j->live_rows};
  for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
    (void)mxg_gpu_free(b->gpu, buffers[i]);
  memset(j, 0, sizeof *j);
}

static mxg_status make_copy(const bench *b, size_t read_and_written, job *copy) {
  memset(copy, 0, sizeof *copy);
  copy->copy_bytes = read_and_written / 2 / 256 * 256;
  copy->sets = sets_of(read_and_written);
  TRY(take(b, copy->copy_bytes * copy->sets, &copy->x));
  TRY(fill_values(b, copy->x, copy->copy_bytes * copy->sets));
  return take(b, copy->copy_bytes * copy->sets, &copy->y);
}

static mxg_status make_quantize(const bench *b, const char *preset, size_t rows, job *j) {
  mxg_layout_options options;
  memset(&options, 0, sizeof options);
  j->rows = rows;
  TRY(mxg_recipe_parse(preset, &j->recipe, NULL));
  TRY(mxg_layout_for(&j->recipe, rows, COLS, &options, &j->layout));
  j->x_bytes = rows * COLS * 2;
  j->codes_bytes = (j->layout.codes_bytes + 255) / 256 * 256;
  j->scales_bytes = (j->layout.scales_bytes + 255) / 256 * 256;
  j->sets = sets_of(j->x_bytes + j->layout.codes_bytes + j->layout.scales_bytes);
  TRY(take(b, j->x_bytes * j->sets, &j->x));
  TRY(take(b, j->codes_bytes * j->sets, &j->codes));
  TRY(take(b, j->scales_bytes * j->sets, &j->scales));
  return fill_values(b, j->x, j->x_bytes * j->sets);
}

/* Slots of every set in `codes`, quantised there from values in x; pointers and weights beside. */
static mxg_status make_combine(const bench *b, const char *preset, size_t rows, int is_weighted,
                               job *j) {
  mxg_layout_options options;
  memset(&options, 0, sizeof options);
  options.placement = MXG_PLACEMENT_SLOT;
  const size_t count = rows * TOP_K;
  j->rows = rows;
  TRY(mxg_recipe_parse(preset, &j->recipe, NULL));
  size_t slot_bytes = 0;
  TRY(mxg_layout_for(&j->recipe, 1, COLS, &options, &j->layout));
  slot_bytes = j->layout.slot_bytes;
  j->sets = sets_of(count * slot_bytes);
  j->y_bytes = rows * COLS * 2;
  options.slot_stride_bytes = (slot_bytes + 15) / 16 * 16;
  TRY(mxg_layout_for(&j->recipe, count * j->sets, COLS, &options, &j->layout));
  TRY(take(b, j->layout.codes_bytes, &j->codes));
  TRY(take(b, j->y_bytes * j->sets, &j->y));
  TRY(take(b, rows * COLS * 2, &j->x));
  TRY(fill_values(b, j->x, rows * COLS * 2));
  for (size_t first = 0; first < count * j->sets; first += rows) {
    mxg_layout part;
    TRY(mxg_layout_for(&j->recipe, rows, COLS, &options, &part));
    const mxg_matrix_view x = {j->x, MXG_DTYPE_BF16, rows, COLS, 0};
    const mxg_packed out = {j->codes + first * options.slot_stride_bytes, part.codes_bytes, NULL, 0,
                            part};
    TRY(mxg_gpu_quantize(j->gpu, &j->recipe, &x, NULL, &out, NULL, b->stream));
  }
  unsigned char *memory = NULL;
  TRY(take(b, count * j->sets * sizeof(void *), &memory));
  j->slots = memory;
  TRY(take(b, count * j->sets * sizeof(float), &memory));
  j->weight = memory;
  const void **pointers = malloc(count * j->sets * sizeof *pointers);
  float *weights = malloc(count * j->sets * sizeof *weights);
  mxg_status status = pointers && weights ? MXG_OK : MXG_ERR_DEVICE;
  for (size_t i = 0; i < count * j->sets && status == MXG_OK; i++) {
    pointers[i] = j->codes + i * options.slot_stride_bytes;
    weights[i] = 0.125f + (float)(i % 7) * 0.03125f;
  }
  if (status == MXG_OK)
    status = mxg_gpu_upload(b->gpu, j->slots, pointers, count * j->sets * sizeof *pointers);
  if (status == MXG_OK)
    status = mxg_gpu_upload(b->gpu, j->weight, weights, count * j->sets * sizeof *weights);
  free(pointers);
  free(weights);
  TRY(status);
  TRY(mxg_gpu_synchronize(b->gpu, b->stream));
  if (!is_weighted) {
    (void)mxg_gpu_free(b->gpu, j->weight);
    j->weight = NULL;
  }
  return MXG_OK;
}

/* ---- lines ---- */

/* In 1 ms a batch of calls hides what an event costs. */
static size_t calls_for(size_t bytes) {
  const size_t calls = ((size_t)4 << 30) / bytes + 1;
  return calls > 64 ? 64 : calls;
}

static mxg_status compare_with_copy(const bench *b, const char *what, step call, const job *j,
                                    size_t bytes, double wanted) {
  job copy;
  float us = 0, copy_us = 0;
  const char *kernel = "";
  mxg_status status = make_copy(b, bytes, &copy);
  if (status == MXG_OK)
    status = time_both(b, call, j, run_copy, &copy, calls_for(bytes), &us, &copy_us);
  if (status == MXG_OK)
    status = mxg_gpu_kernel_name(
        j->gpu, &j->recipe, call == run_combine ? MXG_OPERATION_COMBINE : MXG_OPERATION_QUANTIZE,
        MXG_DTYPE_BF16, &kernel);
  const double rate = (double)bytes / us / 1000.0;
  const double copy_rate = (double)copy.copy_bytes * 2 / copy_us / 1000.0;
  give_back(b, &copy);
  TRY(status);
  fprintf(b->out, "%-34s %6zux%d %9.1f us %8.0f GB/s %8.0f GB/s   %.3f%s  %s\n", what, j->rows,
          COLS, (double)us, rate, copy_rate, rate / copy_rate,
          rate / copy_rate >= wanted ? "" : " (below)", kernel);
  fflush(b->out);
  return MXG_OK;
}

/* The device that runs a recipe: portable where the other refuses. */
static const mxg_gpu *runner(const bench *b, const mxg_gpu *portable, const char *preset) {
  mxg_recipe recipe;
  const char *name;
  if (mxg_recipe_parse(preset, &recipe, NULL) != MXG_OK) return b->gpu;
  if (portable != NULL && mxg_gpu_kernel_name(b->gpu, &recipe, MXG_OPERATION_QUANTIZE,
                                              MXG_DTYPE_BF16, &name) == MXG_ERR_ARCH)
    return portable;
  return b->gpu;
}

static int is_wanted(const bench *b, const char *what) {
  return b->only == NULL || strstr(what, b->only) != NULL;
}

static mxg_status bench_quantize(const bench *b, const mxg_gpu *portable, const char *preset,
                                 size_t rows) {
  char what[64];
  job j;
  memset(&j, 0, sizeof j);
  j.gpu = runner(b, portable, preset);
  snprintf(what, sizeof what, "quantize bf16 %s", preset);
  if (!is_wanted(b, what)) return MXG_OK;
  mxg_status status = make_quantize(b, preset, rows, &j);
  if (status == MXG_OK)
    status = compare_with_copy(b, what, run_quantize, &j,
                               j.x_bytes + j.layout.codes_bytes + j.layout.scales_bytes, 0.85);
  give_back(b, &j);
  return status;
}

static mxg_status bench_combine(const bench *b, const mxg_gpu *portable, const char *preset,
                                size_t rows, int is_weighted) {
  char what[64];
  job j;
  memset(&j, 0, sizeof j);
  j.gpu = runner(b, portable, preset);
  snprintf(what, sizeof what, "combine top-%d %s%s", TOP_K, preset, is_weighted ? ", weights" : "");
  if (!is_wanted(b, what)) return MXG_OK;
  mxg_status status = make_combine(b, preset, rows, is_weighted, &j);
  const size_t bytes_per_source =
      j.layout.slot_bytes + sizeof(void *) + (is_weighted ? sizeof(float) : 0);
  if (status == MXG_OK)
    status = compare_with_copy(b, what, run_combine, &j,
                               rows * TOP_K * bytes_per_source + j.y_bytes, 0.8);
  give_back(b, &j);
  return status;
}

static mxg_status bench_live_rows(const bench *b, const mxg_gpu *portable, const char *preset) {
  enum { ROWS = 24576, CALLS = 64 };
  const uint32_t live = 112;
  char what[64];
  float us = 0, short_us = 0;
  unsigned char *memory = NULL;
  job j, of_112;
  memset(&j, 0, sizeof j);
  j.gpu = runner(b, portable, preset);
  snprintf(what, sizeof what, "live rows %s", preset);
  if (!is_wanted(b, what)) return MXG_OK;
  mxg_status status = make_quantize(b, preset, ROWS, &j);
  if (status == MXG_OK) status = take(b, sizeof live, &memory);
  j.live_rows = memory;
  if (status == MXG_OK) status = mxg_gpu_upload(b->gpu, j.live_rows, &live, sizeof live);
  of_112 = j;
  of_112.rows = live;
  of_112.live_rows = NULL;
  if (status == MXG_OK)
    status = time_both(b, run_quantize, &j, run_quantize, &of_112, CALLS, &us, &short_us);
  if (status == MXG_OK)
    fprintf(b->out, "%-34s %u live of %dx%d: %.2f us; a call of %u rows: %.2f us%s\n", what,
            (unsigned)live, ROWS, COLS, (double)us, (unsigned)live, (double)short_us,
            us <= short_us * 1.1f + 2.0f ? "" : " (above 10 % + 2 us)");
  give_back(b, &j);
  return status;
}

static mxg_status run_all(const bench *b, const mxg_gpu *portable) {
  static const char *const presets[] = {"mxfp4", "mxfp8", "aiter-fp8-128"};
  static const char *const combined[] = {"mori-fp8", "mxfp8", "mori-fp4", "mxfp4"};
  static const size_t rows[] = {24576, 4096, 1024}; /* the last for combine only */
  fprintf(b->out, "%-34s %11s %12s %13s %13s   %s\n", "", "", "time", "read+written", "copy",
          "ratio");
  for (size_t r = 0; r < 2; r++)
    for (size_t p = 0; p < 3; p++) TRY(bench_quantize(b, portable, presets[p], rows[r]));
  for (size_t r = 0; r < 3; r++)
    for (size_t p = 0; p < 4; p++)
      for (int weighted = 0; weighted < 2; weighted++)
        TRY(bench_combine(b, portable, combined[p], rows[r], weighted));
  for (size_t p = 0; p < 3; p++) TRY(bench_live_rows(b, portable, presets[p]));
  return MXG_OK;
}

int mxg_gpu_bench(const mxg_gpu *gpu, const mxg_gpu *portable, const char *only, FILE *out) {
  bench b;
  memset(&b, 0, sizeof b);
  b.gpu = gpu;
  b.only = only;
  b.out = out;
  mxg_status status = mxg_gpu_stream_new(gpu, &b.stream);
  if (status == MXG_OK) status = mxg_gpu_event_new(gpu, &b.begin);
  if (status == MXG_OK) status = mxg_gpu_event_new(gpu, &b.end);
  if (status == MXG_OK) status = run_all(&b, portable);
  if (status != MXG_OK) fprintf(out, "bench: %s. %s\n", mxg_strerror(status), mxg_gpu_message());
  if (b.begin != NULL) (void)mxg_gpu_event_free(gpu, b.begin);
  if (b.end != NULL) (void)mxg_gpu_event_free(gpu, b.end);
  if (b.stream != NULL) (void)mxg_gpu_stream_free(gpu, b.stream);
  return status != MXG_OK;
}
