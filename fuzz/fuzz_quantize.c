/* fuzz_quantize.c: mxg_quantize against the golden model.
 *
 * The bytes choose recipe, shape, layout, data type, values, alignment and instruction set, legal or
 * not. Expected: the same status from both; on success every byte that belongs to live rows equal
 * and no other byte written; on an error nothing written; an overlap is refused exactly when two
 * regions share a byte; every instruction set of the machine gives the same.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/check.h"
#include "support/choose.h"
#include "support/memory.h"
#include "support/packed_call.h"
#include "support/written.h"

enum { SUBJECT = 0, REF = 1, VOICES = 2 };

static fuzz_buffer values, weights, codes[VOICES], scales[VOICES], shared[VOICES];
static uint8_t values_copy[FUZZ_BUFFER_MAX], codes_mask[FUZZ_BUFFER_MAX],
    scales_mask[FUZZ_BUFFER_MAX];

static void describe(FILE *to, const void *subject) {
  fuzz_print_packed_call(to, "x", subject);
}

/* ---- memory ---- */

/* Can the buffers be had that the call may touch if it succeeds? */
static bool place(fuzz_input *in, fuzz_packed_call *c) {
  const uint8_t where[] = {fuzz_choose_place(in), fuzz_choose_place(in), fuzz_choose_place(in),
                           fuzz_choose_place(in)};
  const mxg_dtype dtype = fuzz_is_dtype(c->matrix.dtype) ? c->matrix.dtype : MXG_DTYPE_BF16;
  const size_t x_bytes = fuzz_packed_call_fit(c);
  if (x_bytes == SIZE_MAX) return false;
  if (c->is_shared) {
    const size_t weight_bytes = c->has_weight ? 4 * c->matrix.rows : 0;
    const size_t lengths[] = {x_bytes, weight_bytes, c->codes_bytes, c->scales_bytes};
    size_t *const places[] = {&c->matrix_at, &c->weight_at, &c->codes_at, &c->scales_at};
    c->shared_bytes = fuzz_choose_places(in, lengths, places, 4);
    memset(values_copy, 0, c->shared_bytes); /* a rest of less than one value */
    /* NOLINTNEXTLINE(*-core.DivideZero): a legal type has bytes */
    fuzz_choose_values(in, dtype, c->shared_bytes / mxg_dtype_bytes(dtype), values_copy);
    for (int v = 0; v < VOICES; v++) fuzz_buffer_place(&shared[v], c->shared_bytes, where[0], 0);
    return true;
  }
  fuzz_buffer_place(&values, x_bytes, where[0], 0);
  fuzz_buffer_place(&weights, c->has_weight ? 4 * c->matrix.rows : 0, where[1], 0);
  for (int v = 0; v < VOICES; v++) {
    const uint8_t poison = v == REF ? (uint8_t)~c->poison : c->poison;
    fuzz_buffer_place(&codes[v], c->codes_bytes, where[2], poison);
    fuzz_buffer_place(&scales[v], c->scales_bytes, where[3], poison);
  }
  if (c->has_weight) {
    fuzz_input head = *in; /* the values use the rest of the input, these a few bytes of it */
    fuzz_choose_values(&head, MXG_DTYPE_F32, c->matrix.rows, weights.data);
  }
  /* NOLINTNEXTLINE(*-core.DivideZero): a legal type has bytes */
  fuzz_choose_values(in, dtype, x_bytes / mxg_dtype_bytes(dtype), values.data);
  if (x_bytes > 0) memcpy(values_copy, values.data, x_bytes);
  return true;
}

/* ---- calls ---- */

static mxg_status call(const fuzz_packed_call *c, int voice, const mxg_run *run) {
  uint8_t *base = shared[voice].data;
  mxg_matrix_view x = {NULL, c->matrix.dtype, c->matrix.rows, c->matrix.cols,
                       c->matrix.stride_elems};
  const uint8_t *weight = c->is_shared ? base + c->weight_at : weights.data;
  if (c->matrix.data != NULL) x.data = c->is_shared ? base + c->matrix_at : values.data;
  mxg_packed out = {c->is_shared ? base + c->codes_at : codes[voice].data, c->codes_capacity,
                    c->is_shared ? base + c->scales_at : scales[voice].data, c->scales_capacity,
                    c->layout};
  if (c->no_codes) out.codes = NULL;
  if (c->no_scales || c->layout.placement == MXG_PLACEMENT_SLOT) out.scales = NULL;
  if (c->is_shared && c->shared_bytes > 0) memcpy(base, values_copy, c->shared_bytes);
  const uint8_t poison = voice == REF ? (uint8_t)~c->poison : c->poison;
  if (!c->is_shared) memset(codes[voice].data, poison, codes[voice].bytes);
  if (!c->is_shared) memset(scales[voice].data, poison, scales[voice].bytes);
  return (voice == REF ? mxg_ref_quantize : fuzz_subject_under_test.quantize)(
      c->no_recipe ? NULL : &c->recipe, c->no_matrix ? NULL : &x,
      c->has_weight ? (const float *)(const void *)weight : NULL, c->no_packed ? NULL : &out, run);
}

/* ---- the check of overlaps: a byte has one owner ---- */

static bool claim(uint8_t *owner, size_t at, size_t bytes, uint8_t writer, const uint8_t *mask) {
  bool is_free = true;
  for (size_t i = 0; i < bytes; i++) {
    if (mask != NULL && mask[i] == 0) continue;
    if (owner[at + i] != 0 && (writer != 0 || owner[at + i] == 2)) is_free = false;
    owner[at + i] = writer ? 2 : 1;
  }
  return is_free;
}

static bool regions_overlap(const fuzz_packed_call *c) {
  static uint8_t owner[FUZZ_SHARED_MAX];
  const mxg_layout *l = &c->layout;
  const size_t width = mxg_dtype_bytes(c->matrix.dtype);
  bool is_free = true;
  memset(owner, 0, sizeof owner);
  for (size_t r = 0; r < c->matrix.rows; r++)
    claim(owner, c->matrix_at + r * fuzz_stride(c->matrix.cols, c->matrix.stride_elems) * width,
          c->matrix.cols * width, 0, NULL);
  if (c->has_weight) claim(owner, c->weight_at, 4 * c->matrix.rows, 0, NULL);
  is_free &= claim(owner, c->codes_at, l->codes_bytes, 1, codes_mask);
  if (l->placement != MXG_PLACEMENT_SLOT)
    is_free &= claim(owner, c->scales_at, l->scales_bytes, 1, scales_mask);
  return !is_free;
}

static void check_separate(const fuzz_packed_call *c, mxg_status status) {
  const bool is_ok = status == MXG_OK;
  fuzz_check_written("codes", &codes[SUBJECT], &codes[REF], c->poison, is_ok ? codes_mask : NULL);
  fuzz_check_written("scales", &scales[SUBJECT], &scales[REF], c->poison,
                     is_ok ? scales_mask : NULL);
  FUZZ_CHECK(values.bytes == 0 || memcmp(values.data, values_copy, values.bytes) == 0,
             "x was written");
  fuzz_buffer_check(&values, "x");
  fuzz_buffer_check(&weights, "row_weight");
}

static void check(const fuzz_packed_call *c, const mxg_run *run, mxg_status want) {
  const mxg_status got = call(c, SUBJECT, run);
  if (fuzz_is_limited() && got == MXG_ERR_ARCH) return; /* not for this codec */
  fuzz_check_status(got, want, run);
  if (c->is_shared)
    fuzz_check_shared(&shared[SUBJECT], &shared[REF], values_copy, want,
                      fuzz_has_regions(c, want) && regions_overlap(c));
  else
    check_separate(c, want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static fuzz_packed_call c;
  if (fuzz_subject_under_test.quantize == NULL) return 0;
  fuzz_input in = fuzz_input_of(data, bytes);
  fuzz_about(NULL, NULL);
  fuzz_choose_packed_call(&in, true, &c);
  fuzz_about(describe, &c);
  if (!place(&in, &c)) return 0;
  const mxg_run *run = c.has_run ? &c.run : NULL;
  const mxg_status want = call(&c, REF, run);
  if (fuzz_has_regions(&c, want))
    fuzz_written_bytes(&c.layout, c.matrix.rows, codes_mask, scales_mask);
  check(&c, run, want);
  if (want != MXG_OK || fuzz_is_limited()) return 0;
  for (uint32_t isa = 1; isa != 0 && isa <= mxg_cpu_features(); isa <<= 1) {
    const mxg_run one = {c.run.threads, isa, {0}};
    if ((isa & mxg_cpu_features()) != 0) check(&c, &one, want);
  }
  return 0;
}
