/* selftest.c: the sections in their order, divided over threads, and the report.
 * SPDX-License-Identifier: MIT */
#include "selftest.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selftest_parts.h"

/* ---- work ---- */

typedef enum section {
  SECTION_ELEMENTS,
  SECTION_SHAPES,
  SECTION_SUMS,
  SECTION_AMAX,
  SECTION_DECODE,
  SECTION_FLOATS
} section;

typedef struct item {
  section section;
  const mxg_preset *preset; /* or NULL */
  mxg_element element;      /* floats */
  unsigned part;
  int is_last_of_line; /* of the report */
  mxg_result result;
} item;

typedef struct run {
  const mxg_selftest_options *options;
  item *items;
  size_t count, next, done;
  int failed; /* a worker could not start */
  char why[512];
  pthread_mutex_t lock;
  pthread_cond_t changed;
} run;

typedef struct thread {
  run *run;
  unsigned number;
  pthread_t handle;
} thread;

static void do_item(mxg_worker *worker, item *it) {
  switch (it->section) {
    case SECTION_ELEMENTS: mxg_test_elements(worker, it->part, &it->result); break;
    case SECTION_SHAPES: mxg_test_shapes(worker, it->preset, it->part, &it->result); break;
    case SECTION_SUMS: mxg_test_sums(worker, it->preset, it->part, &it->result); break;
    case SECTION_AMAX: mxg_test_amax(worker, it->preset, it->part, &it->result); break;
    case SECTION_DECODE: mxg_test_decode(worker, it->preset, it->part, &it->result); break;
    case SECTION_FLOATS: mxg_test_floats(worker, it->element, it->part, &it->result); break;
  }
}

static void close_worker(mxg_worker *worker) {
  mxg_area *const areas[] = {&worker->x,          &worker->weight,      &worker->slots,
                             &worker->codes,      &worker->scales,      &worker->y,
                             &worker->want_codes, &worker->want_scales, &worker->want_y};
  for (size_t i = 0; i < worker->options->subject_count; i++)
    if (worker->of[i] != NULL) worker->options->subjects[i].worker_close(worker->of[i]);
  for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++) mxg_area_free(areas[i]);
}

static int open_worker(run *r, unsigned number, mxg_worker *worker) {
  memset(worker, 0, sizeof *worker);
  worker->options = r->options;
  for (size_t i = 0; i < r->options->subject_count; i++) {
    const mxg_subject *subject = &r->options->subjects[i];
    const mxg_status status = subject->worker_open(subject->context, number, &worker->of[i]);
    if (status == MXG_OK) continue;
    worker->of[i] = NULL;
    pthread_mutex_lock(&r->lock);
    r->failed = 1;
    snprintf(r->why, sizeof r->why, "%s: %s. %s", subject->name, mxg_strerror(status),
             subject->message());
    pthread_mutex_unlock(&r->lock);
    return 1;
  }
  return 0;
}

static void *work(void *argument) {
  thread *t = argument;
  run *r = t->run;
  mxg_worker worker;
  const int is_open = open_worker(r, t->number, &worker) == 0;
  pthread_mutex_lock(&r->lock);
  while (is_open && !r->failed && r->next < r->count) {
    item *it = &r->items[r->next++];
    pthread_mutex_unlock(&r->lock);
    do_item(&worker, it);
    pthread_mutex_lock(&r->lock);
    r->done++;
    pthread_cond_signal(&r->changed);
  }
  pthread_cond_signal(&r->changed);
  pthread_mutex_unlock(&r->lock);
  close_worker(&worker);
  return NULL;
}

/* ---- the list of items ---- */

static int add_items(run *r, section s, const mxg_preset *preset, mxg_element element,
                     unsigned parts) {
  if (r->items == NULL) {
    r->count += parts; /* the first pass only counts */
    return 0;
  }
  for (unsigned part = 0; part < parts; part++) {
    item *it = &r->items[r->count++];
    memset(it, 0, sizeof *it);
    it->section = s;
    it->preset = preset;
    it->element = element;
    it->part = part;
  }
  return 1;
}

static void end_line(run *r) {
  if (r->items != NULL) r->items[r->count - 1].is_last_of_line = 1;
}

static void list_items(run *r) {
  r->count = 0;
  add_items(r, SECTION_ELEMENTS, NULL, 0, MXG_PARTS);
  end_line(r);
  for (size_t i = 0; mxg_preset_at(i) != NULL; i++) {
    const mxg_preset *preset = mxg_preset_at(i);
    add_items(r, SECTION_SHAPES, preset, 0, MXG_PARTS);
    add_items(r, SECTION_SUMS, preset, 0, MXG_PARTS);
    add_items(r, SECTION_AMAX, preset, 0, MXG_PARTS);
    add_items(r, SECTION_DECODE, preset, 0, MXG_PARTS);
    end_line(r);
  }
  if (!r->options->full) return;
  add_items(r, SECTION_FLOATS, NULL, MXG_ELEMENT_E4M3FN, MXG_FLOAT_CHUNKS);
  end_line(r);
  add_items(r, SECTION_FLOATS, NULL, MXG_ELEMENT_E2M1, MXG_FLOAT_CHUNKS);
  end_line(r);
}

/* ---- the report ---- */

static const struct {
  mxg_operation operation;
  const char *name;
} operations[] = {{MXG_OPERATION_QUANTIZE, "quantize"},
                  {MXG_OPERATION_DEQUANTIZE, "dequantize"},
                  {MXG_OPERATION_COMBINE, "combine"}};

static void report_kernels(const mxg_selftest_options *options, const mxg_preset *preset) {
  for (size_t i = 0; i < options->subject_count; i++) {
    const mxg_subject *subject = &options->subjects[i];
    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++) {
      const char *name = NULL;
      const mxg_status status = subject->kernel_name(
          subject->context, &preset->recipe, operations[k].operation, MXG_DTYPE_BF16, &name);
      fprintf(options->out, "    %-18s %-10s  %s\n", subject->name, operations[k].name,
              status == MXG_OK         ? name
              : status == MXG_ERR_ARCH ? "refused: the chip has no converter for it"
                                       : mxg_strerror(status));
    }
  }
}

/* Items [first, last] as one line. Returns 1 when they found something. */
static int report_line(const run *r, size_t first, size_t last) {
  const item *head = &r->items[first];
  const char *const title = head->preset != NULL                  ? head->preset->name
                            : head->section == SECTION_ELEMENTS   ? "16-bit and stress"
                            : head->element == MXG_ELEMENT_E4M3FN ? "2^32 f32, E4M3FN"
                                                                  : "2^32 f32, E2M1";
  mxg_result sum;
  FILE *out = r->options->out;
  memset(&sum, 0, sizeof sum);
  for (size_t i = first; i <= last; i++) {
    const mxg_result *one = &r->items[i].result;
    sum.comparisons += one->comparisons;
    sum.bytes += one->bytes;
    sum.differing += one->differing;
    mxg_result_digest(&sum, &one->digest, sizeof one->digest);
    if (one->first[0] != 0) mxg_result_say(&sum, "%s", one->first);
  }
  const int is_bad = sum.differing != 0 || sum.first[0] != 0;
  fprintf(out, "%-24s %8" PRIu64 " outputs  %12" PRIu64 " bytes  digest %016" PRIx64 "  ", title,
          sum.comparisons, sum.bytes, sum.digest);
  if (is_bad)
    fprintf(out, "%" PRIu64 " DIFFER\n  %s\n", sum.differing, sum.first);
  else
    fputs("equal\n", out);
  if (head->preset != NULL) report_kernels(r->options, head->preset);
  fflush(out);
  return is_bad;
}

static unsigned thread_count(const mxg_selftest_options *options) {
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  const unsigned count = options->threads ? options->threads : cpus > 0 ? (unsigned)cpus : 1u;
  return count < 64 ? count : 64;
}

static int run_items(run *r) {
  thread threads[64];
  const unsigned wanted = thread_count(r->options);
  unsigned started = 0;
  size_t reported = 0;
  uint64_t compared = 0;
  int is_bad = 0;
  for (; started < wanted; started++) {
    threads[started].run = r;
    threads[started].number = started;
    if (pthread_create(&threads[started].handle, NULL, work, &threads[started]) != 0) break;
  }
  pthread_mutex_lock(&r->lock);
  if (started == 0) {
    r->failed = 1;
    snprintf(r->why, sizeof r->why, "no thread could be started");
  }
  while (r->done < r->count && !r->failed) {
    pthread_cond_wait(&r->changed, &r->lock);
    const uint64_t done = r->done;
    pthread_mutex_unlock(&r->lock);
    if (r->options->progress != NULL) r->options->progress(done, r->count);
    pthread_mutex_lock(&r->lock);
  }
  pthread_mutex_unlock(&r->lock);
  for (unsigned i = 0; i < started; i++) pthread_join(threads[i].handle, NULL);
  if (r->options->progress != NULL) r->options->progress(r->count, r->count);
  if (r->failed) {
    fprintf(r->options->out, "self-test: could not run. %s\n", r->why);
    return 1;
  }
  for (size_t i = 0; i < r->count; i++) {
    compared += r->items[i].result.bytes;
    if (!r->items[i].is_last_of_line) continue;
    is_bad |= report_line(r, reported, i);
    reported = i + 1;
  }
  fprintf(r->options->out, "self-test: %" PRIu64 " bytes compared with the golden model, %s\n",
          compared, is_bad ? "DIFFERENCES: see above" : "0 differ");
  return is_bad;
}

int mxg_selftest(const mxg_selftest_options *options) {
  run r;
  int is_bad = 1;
  memset(&r, 0, sizeof r);
  r.options = options;
  list_items(&r);
  r.items = calloc(r.count, sizeof *r.items);
  if (r.items == NULL) {
    fprintf(options->out, "self-test: out of memory\n");
    return 1;
  }
  list_items(&r);
  if (pthread_mutex_init(&r.lock, NULL) == 0 && pthread_cond_init(&r.changed, NULL) == 0)
    is_bad = run_items(&r);
  free(r.items);
  return is_bad;
}

/* ---- the library as a subject ---- */

static mxg_status library_open(const void *context, unsigned number, void **worker) {
  (void)context;
  (void)number;
  *worker = NULL;
  return MXG_OK;
}
static void library_close(void *worker) {
  (void)worker;
}
static const char *library_message(void) {
  return "";
}
static mxg_status library_kernel(const void *context, const mxg_recipe *recipe,
                                 mxg_operation operation, mxg_dtype dtype, const char **name) {
  (void)context;
  return mxg_kernel_name(recipe, operation, dtype, NULL, name);
}

/* Threads are the self-test's own. */
static const mxg_run one_thread = {1, 0, {0}};

static size_t live(size_t rows, const uint32_t *live_rows) {
  return live_rows != NULL && *live_rows < rows ? *live_rows : rows;
}

static mxg_status library_quantize(void *worker, const mxg_recipe *recipe, const mxg_matrix_view *x,
                                   const float *row_weight, const mxg_packed *out,
                                   const uint32_t *live_rows) {
  mxg_matrix_view rows = *x;
  (void)worker;
  rows.rows = live(x->rows, live_rows);
  return mxg_quantize(recipe, &rows, row_weight, out, &one_thread);
}
static mxg_status library_dequantize(void *worker, const mxg_recipe *recipe,
                                     const mxg_packed_view *in, const mxg_matrix *y,
                                     const uint32_t *live_rows) {
  mxg_matrix rows = *y;
  (void)worker;
  rows.rows = live(y->rows, live_rows);
  return mxg_dequantize(recipe, in, &rows, &one_thread);
}
static mxg_status library_combine(void *worker, const mxg_recipe *recipe, const void *const *slots,
                                  size_t top_k, const float *weight, const mxg_layout *layout,
                                  size_t col_begin, size_t col_end, const mxg_matrix *y,
                                  const uint32_t *live_rows) {
  mxg_matrix rows = *y;
  (void)worker;
  rows.rows = live(y->rows, live_rows);
  return mxg_combine(recipe, slots, top_k, weight, layout, col_begin, col_end, &rows, &one_thread);
}

const mxg_subject mxg_subject_library = {
    "library",       NULL,           library_open,     library_close,
    library_message, library_kernel, library_quantize, library_dequantize,
    library_combine};
