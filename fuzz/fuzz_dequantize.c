/* fuzz_dequantize.c: mxg_dequantize against the golden model, on any code and scale bytes.
 *
 * Expected: the same status from both; on success every value of live rows equal, every NaN the
 * canonical one, and no other byte written; on an error nothing written; an overlap is refused
 * exactly when two regions share a byte; every instruction set of the machine gives the same.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/check.h"
#include "support/choose.h"
#include "support/memory.h"
#include "support/packed_call.h"
#include "support/written.h"

enum { SUBJECT = 0, REF = 1, VOICES = 2 };

static fuzz_buffer codes, scales, values[VOICES], shared[VOICES];
static uint8_t bytes_copy[2 * FUZZ_BUFFER_MAX]; /* the inputs: codes, then scales; or all regions */
static uint8_t values_mask[FUZZ_BUFFER_MAX], codes_mask[FUZZ_BUFFER_MAX],
    scales_mask[FUZZ_BUFFER_MAX];

static void describe(FILE *to, const void *subject) {
  fuzz_print_packed_call(to, "y", subject);
}

/* ---- memory ---- */

/* Codes: the input's bytes again and again, or a stream. Scales likewise, f32 ones near 1 often. */
static void fill(fuzz_input *in, uint8_t *data, size_t bytes, bool are_f32) {
  const uint8_t how = fuzz_u8(in);
  fuzz_stream stream = {fuzz_u32(in)};
  const uint8_t *raw = in->data + in->at;
  const size_t raw_bytes = in->bytes - in->at;
  const bool is_raw = how % 2 == 1 && raw_bytes > 0;
  for (size_t i = 0; i < bytes; i++)
    data[i] = is_raw ? raw[i % raw_bytes] : (uint8_t)(fuzz_next(&stream) >> 56);
  if (!is_raw && are_f32 && how >= 128)
    for (size_t i = 3; i < bytes; i += 4) data[i] = 0x3F;
}

/* Can the buffers be had that the call may touch if it succeeds? */
static bool place(fuzz_input *in, fuzz_packed_call *c) {
  const uint8_t where[] = {fuzz_choose_place(in), fuzz_choose_place(in), fuzz_choose_place(in)};
  const bool are_f32 = c->recipe.scale == MXG_SCALE_F32;
  const size_t y_bytes = fuzz_packed_call_fit(c);
  if (y_bytes == SIZE_MAX) return false;
  if (c->is_shared) {
    const size_t lengths[] = {c->codes_bytes, c->scales_bytes, y_bytes};
    size_t *const places[] = {&c->codes_at, &c->scales_at, &c->matrix_at};
    c->shared_bytes = fuzz_choose_places(in, lengths, places, 3);
    fill(in, bytes_copy, c->shared_bytes, are_f32);
    for (int v = 0; v < VOICES; v++) fuzz_buffer_place(&shared[v], c->shared_bytes, where[0], 0);
    return true;
  }
  fuzz_buffer_place(&codes, c->codes_bytes, where[0], 0);
  fuzz_buffer_place(&scales, c->scales_bytes, where[1], 0);
  for (int v = 0; v < VOICES; v++)
    fuzz_buffer_place(&values[v], y_bytes, where[2], v == REF ? (uint8_t)~c->poison : c->poison);
  fill(in, scales.data, c->scales_bytes, are_f32);
  fill(in, codes.data, c->codes_bytes, are_f32 && c->layout.placement == MXG_PLACEMENT_SLOT);
  memcpy(bytes_copy, codes.data, c->codes_bytes);
  memcpy(bytes_copy + c->codes_bytes, scales.data, c->scales_bytes);
  return true;
}

/* ---- calls ---- */

static mxg_status call(const fuzz_packed_call *c, int voice, const mxg_run *run) {
  uint8_t *base = shared[voice].data;
  mxg_matrix y = c->matrix;
  if (y.data != NULL) y.data = c->is_shared ? base + c->matrix_at : values[voice].data;
  mxg_packed_view in = {c->is_shared ? base + c->codes_at : codes.data, c->codes_capacity,
                        c->is_shared ? base + c->scales_at : scales.data, c->scales_capacity,
                        c->layout};
  if (c->no_codes) in.codes = NULL;
  if (c->no_scales || c->layout.placement == MXG_PLACEMENT_SLOT) in.scales = NULL;
  if (c->is_shared && c->shared_bytes > 0) memcpy(base, bytes_copy, c->shared_bytes);
  const uint8_t poison = voice == REF ? (uint8_t)~c->poison : c->poison;
  if (!c->is_shared) memset(values[voice].data, poison, values[voice].bytes);
  return (voice == REF ? mxg_ref_dequantize : fuzz_subject_under_test.dequantize)(
      c->no_recipe ? NULL : &c->recipe, c->no_packed ? NULL : &in, c->no_matrix ? NULL : &y, run);
}

/* ---- checks ---- */

/* 1 for each byte of y in its live rows. */
static void mask_values(const fuzz_packed_call *c) {
  const size_t width = mxg_dtype_bytes(c->matrix.dtype);
  memset(values_mask, 0, sizeof values_mask);
  for (size_t r = 0; r < c->matrix.rows && c->matrix.cols > 0; r++)
    memset(values_mask + r * fuzz_stride(c->matrix.cols, c->matrix.stride_elems) * width, 1,
           c->matrix.cols * width);
}

static bool regions_overlap(const fuzz_packed_call *c) {
  static uint8_t inputs[FUZZ_SHARED_MAX];
  const mxg_layout *l = &c->layout;
  memset(inputs, 0, sizeof inputs);
  for (size_t i = 0; i < l->codes_bytes; i++) inputs[c->codes_at + i] |= codes_mask[i];
  for (size_t i = 0; i < l->scales_bytes; i++) inputs[c->scales_at + i] |= scales_mask[i];
  for (size_t i = 0; i < fuzz_matrix_bytes(c->matrix.dtype, c->matrix.rows, c->matrix.cols,
                                           c->matrix.stride_elems);
       i++)
    if (values_mask[i] != 0 && inputs[c->matrix_at + i] != 0) return true;
  return false;
}

static void check_nan(const fuzz_packed_call *c) {
  const uint8_t *data = values[SUBJECT].data;
  for (size_t r = 0; r < c->matrix.rows && c->matrix.cols > 0; r++) {
    for (size_t i = r * fuzz_stride(c->matrix.cols, c->matrix.stride_elems);
         i < r * fuzz_stride(c->matrix.cols, c->matrix.stride_elems) + c->matrix.cols; i++) {
      uint32_t bits = 0;
      uint16_t half = 0;
      if (c->matrix.dtype == MXG_DTYPE_F32) {
        memcpy(&bits, data + 4 * i, 4);
        FUZZ_CHECK((bits & 0x7FFFFFFFu) <= 0x7F800000u || bits == 0x7FC00000u,
                   "row %zu: the NaN %08X", r, (unsigned)bits);
        continue;
      }
      memcpy(&half, data + 2 * i, 2);
      const uint16_t infinity = c->matrix.dtype == MXG_DTYPE_F16 ? 0x7C00 : 0x7F80;
      const uint16_t nan = c->matrix.dtype == MXG_DTYPE_F16 ? 0x7E00 : 0x7FC0;
      FUZZ_CHECK((half & 0x7FFF) <= infinity || half == nan, "row %zu: the NaN %04X", r,
                 (unsigned)half);
    }
  }
}

static void check(const fuzz_packed_call *c, const mxg_run *run, mxg_status want) {
  const mxg_status got = call(c, SUBJECT, run);
  if (fuzz_is_limited() && got == MXG_ERR_ARCH) return; /* not for this codec */
  fuzz_check_status(got, want, run);
  if (c->is_shared) {
    fuzz_check_shared(&shared[SUBJECT], &shared[REF], bytes_copy, want,
                      fuzz_has_regions(c, want) && regions_overlap(c));
    return;
  }
  fuzz_check_written("y", &values[SUBJECT], &values[REF], c->poison,
                     want == MXG_OK ? values_mask : NULL);
  if (want == MXG_OK) check_nan(c);
  FUZZ_CHECK(memcmp(codes.data, bytes_copy, codes.bytes) == 0, "the codes were written");
  FUZZ_CHECK(memcmp(scales.data, bytes_copy + codes.bytes, scales.bytes) == 0,
             "the scales were written");
  fuzz_buffer_check(&codes, "codes");
  fuzz_buffer_check(&scales, "scales");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static fuzz_packed_call c;
  if (fuzz_subject_under_test.dequantize == NULL) return 0;
  fuzz_input in = fuzz_input_of(data, bytes);
  fuzz_about(NULL, NULL);
  fuzz_choose_packed_call(&in, false, &c);
  fuzz_about(describe, &c);
  if (!place(&in, &c)) return 0;
  const mxg_run *run = c.has_run ? &c.run : NULL;
  const mxg_status want = call(&c, REF, run);
  if (fuzz_has_regions(&c, want)) {
    mask_values(&c);
    if (c.is_shared) fuzz_written_bytes(&c.layout, c.matrix.rows, codes_mask, scales_mask);
  }
  check(&c, run, want);
  if (want != MXG_OK || fuzz_is_limited()) return 0;
  for (uint32_t isa = 1; isa != 0 && isa <= mxg_cpu_features(); isa <<= 1) {
    const mxg_run one = {c.run.threads, isa, {0}};
    if ((isa & mxg_cpu_features()) != 0) check(&c, &one, want);
  }
  return 0;
}
