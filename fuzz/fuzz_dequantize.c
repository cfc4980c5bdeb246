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
#include "support/written.h"

enum { SUBJECT = 0, REF = 1, VOICES = 2, SHARED_MAX = 4096 };

typedef struct dequantize_case {
  mxg_recipe recipe;
  mxg_layout layout;
  mxg_matrix y; /* data: NULL when the call gets NULL */
  mxg_run run;
  size_t codes_capacity, scales_capacity;
  bool has_run, no_recipe, no_in, no_y, no_codes, no_scales;
  bool is_shared; /* codes, scales and values lie in one buffer, where they may overlap */
  size_t y_at, codes_at, scales_at, shared_bytes;
  uint8_t poison;
} dequantize_case;

static fuzz_buffer codes, scales, values[VOICES], shared[VOICES];
static uint8_t bytes_copy[2 * FUZZ_BUFFER_MAX]; /* the inputs: codes, then scales; or all regions */
static uint8_t values_mask[FUZZ_BUFFER_MAX], codes_mask[FUZZ_BUFFER_MAX],
    scales_mask[FUZZ_BUFFER_MAX];

static void describe(FILE *to, const void *subject) {
  const dequantize_case *c = subject;
  fuzz_print_recipe(to, &c->recipe);
  fuzz_print_layout(to, &c->layout);
  fprintf(to, "  y %zu x %zu, type %d, stride %zu%s; run %s isa %X threads %u\n", c->y.rows,
          c->y.cols, (int)c->y.dtype, c->y.stride_elems, c->is_shared ? ", one buffer for all" : "",
          c->has_run ? "given" : "NULL", (unsigned)c->run.isa_mask, (unsigned)c->run.threads);
}

/* ---- choices ---- */

static void spoil(fuzz_input *in, dequantize_case *c) {
  switch (fuzz_below(in, 20)) {
    case 0: c->y.rows = fuzz_odd_size(in); break;
    case 1: c->y.cols = fuzz_odd_size(in); break;
    case 2: c->y.stride_elems = fuzz_odd_size(in); break;
    case 3: c->y.dtype = (mxg_dtype)fuzz_below(in, 6); break;
    case 4: c->y.data = NULL; break;
    case 5: c->no_codes = true; break;
    case 6: c->no_scales = true; break;
    case 7: c->codes_capacity -= 1 + fuzz_u8(in); break;
    case 8: c->scales_capacity -= 1 + fuzz_u8(in); break;
    case 9: c->codes_capacity = c->scales_capacity = SIZE_MAX; break;
    case 10:
      c->has_run = true;
      c->run.isa_mask = fuzz_u32(in);
      break;
    case 11:
      c->has_run = true;
      c->run.reserved[fuzz_below(in, 6)] = fuzz_u32(in);
      break;
    case 12: c->recipe.reserved[fuzz_below(in, 3)] = fuzz_u32(in); break;
    case 13: c->no_recipe = true; break;
    case 14: c->no_y = true; break;
    case 15: c->no_in = true; break;
    case 16: fuzz_spoil_words(in, &c->recipe, sizeof c->recipe / 4); break;
    default: fuzz_spoil_layout(in, &c->layout); break;
  }
}

static void choose(fuzz_input *in, dequantize_case *c) {
  size_t rows, cols;
  mxg_layout_options options;
  memset(c, 0, sizeof *c);
  fuzz_choose_recipe(in, &c->recipe);
  fuzz_choose_shape(in, &c->recipe, &rows, &cols);
  fuzz_choose_options(in, &c->recipe, cols, &options);
  (void)fuzz_choose_layout(&c->recipe, rows, cols, &options, &c->layout);
  c->y.dtype = fuzz_choose_dtype(in);
  c->y.rows = fuzz_chance(in, 64) && rows < 1000 ? fuzz_below(in, (uint32_t)rows + 1) : rows;
  c->y.cols = cols;
  c->y.data = bytes_copy; /* not NULL */
  c->codes_capacity = c->layout.codes_bytes;
  c->scales_capacity = c->layout.scales_bytes;
  c->poison = fuzz_u8(in);
  c->run = fuzz_choose_run(in);
  if (fuzz_is_limited()) return;
  if (fuzz_chance(in, 96)) c->y.stride_elems = cols + fuzz_below(in, 9);
  c->has_run = fuzz_chance(in, 64);
  const uint8_t how = fuzz_u8(in);
  if (how >= 176)
    for (int i = how >= 240 ? 2 : 1; i > 0; i--) spoil(in, c);
  c->is_shared = how >= 160 && how < 192;
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

static void choose_places(fuzz_input *in, dequantize_case *c, size_t y_bytes, size_t codes_bytes) {
  const size_t lengths[] = {codes_bytes, c->layout.scales_bytes, y_bytes};
  size_t *const places[] = {&c->codes_at, &c->scales_at, &c->y_at};
  size_t end = 0;
  for (int i = 0; i < 3; i++) {
    /* behind what is there, or anywhere in it */
    *places[i] = fuzz_chance(in, 128) ? end : fuzz_below(in, (uint32_t)end + 1);
    if (*places[i] + lengths[i] > end) end = *places[i] + lengths[i];
  }
  c->shared_bytes = end;
}

/* Can the buffers be had that the call may touch if it succeeds? */
static bool place(fuzz_input *in, dequantize_case *c) {
  const mxg_layout *l = &c->layout;
  const size_t max = FUZZ_BUFFER_MAX;
  const uint8_t where[] = {fuzz_choose_place(in), fuzz_choose_place(in), fuzz_choose_place(in)};
  const bool are_f32 = c->recipe.scale == MXG_SCALE_F32;
  size_t y_bytes = fuzz_matrix_bytes(c->y.dtype, c->y.rows, c->y.cols, c->y.stride_elems);
  const bool fits = c->y.cols == l->cols && c->y.rows <= l->rows && fuzz_is_dtype(c->y.dtype);
  if (y_bytes > max && fits && c->y.data != NULL) return false;
  if (y_bytes > max) y_bytes = 64;
  const size_t codes_bytes = l->codes_bytes < max ? l->codes_bytes : max;
  const size_t scales_bytes = l->scales_bytes < max ? l->scales_bytes : max;
  if (c->codes_capacity != SIZE_MAX && c->codes_capacity > codes_bytes)
    c->codes_capacity = codes_bytes;
  if (c->scales_capacity != SIZE_MAX && c->scales_capacity > scales_bytes)
    c->scales_capacity = scales_bytes;
  if (l->codes_bytes > max || l->scales_bytes > max) {
    c->codes_capacity = codes_bytes;
    c->scales_capacity = scales_bytes;
  }
  if (y_bytes + codes_bytes + scales_bytes > SHARED_MAX || c->y.rows > SHARED_MAX)
    c->is_shared = false;
  if (c->is_shared) {
    choose_places(in, c, y_bytes, codes_bytes);
    fill(in, bytes_copy, c->shared_bytes, are_f32);
    for (int v = 0; v < VOICES; v++) fuzz_buffer_place(&shared[v], c->shared_bytes, where[0], 0);
    return true;
  }
  fuzz_buffer_place(&codes, codes_bytes, where[0], 0);
  fuzz_buffer_place(&scales, scales_bytes, where[1], 0);
  for (int v = 0; v < VOICES; v++)
    fuzz_buffer_place(&values[v], y_bytes, where[2], v == REF ? (uint8_t)~c->poison : c->poison);
  fill(in, scales.data, scales_bytes, are_f32);
  fill(in, codes.data, codes_bytes, are_f32 && l->placement == MXG_PLACEMENT_SLOT);
  memcpy(bytes_copy, codes.data, codes_bytes);
  memcpy(bytes_copy + codes_bytes, scales.data, scales_bytes);
  return true;
}

/* ---- calls ---- */

static mxg_status call(const dequantize_case *c, int voice, const mxg_run *run) {
  uint8_t *base = shared[voice].data;
  mxg_matrix y = c->y;
  if (y.data != NULL) y.data = c->is_shared ? base + c->y_at : values[voice].data;
  mxg_packed_view in = {c->is_shared ? base + c->codes_at : codes.data, c->codes_capacity,
                        c->is_shared ? base + c->scales_at : scales.data, c->scales_capacity,
                        c->layout};
  if (c->no_codes) in.codes = NULL;
  if (c->no_scales || c->layout.placement == MXG_PLACEMENT_SLOT) in.scales = NULL;
  if (c->is_shared && c->shared_bytes > 0) memcpy(base, bytes_copy, c->shared_bytes);
  const uint8_t poison = voice == REF ? (uint8_t)~c->poison : c->poison;
  if (!c->is_shared) memset(values[voice].data, poison, values[voice].bytes);
  return (voice == REF ? mxg_ref_dequantize : fuzz_subject_under_test.dequantize)(
      c->no_recipe ? NULL : &c->recipe, c->no_in ? NULL : &in, c->no_y ? NULL : &y, run);
}

/* ---- checks ---- */

/* 1 for each byte of y in its live rows. */
static void mask_values(const dequantize_case *c) {
  const size_t width = mxg_dtype_bytes(c->y.dtype);
  memset(values_mask, 0, sizeof values_mask);
  for (size_t r = 0; r < c->y.rows && c->y.cols > 0; r++)
    memset(values_mask + r * fuzz_stride(c->y.cols, c->y.stride_elems) * width, 1,
           c->y.cols * width);
}

static bool regions_overlap(const dequantize_case *c) {
  static uint8_t inputs[SHARED_MAX];
  const mxg_layout *l = &c->layout;
  memset(inputs, 0, sizeof inputs);
  for (size_t i = 0; i < l->codes_bytes; i++) inputs[c->codes_at + i] |= codes_mask[i];
  for (size_t i = 0; i < l->scales_bytes; i++) inputs[c->scales_at + i] |= scales_mask[i];
  for (size_t i = 0; i < fuzz_matrix_bytes(c->y.dtype, c->y.rows, c->y.cols, c->y.stride_elems);
       i++)
    if (values_mask[i] != 0 && inputs[c->y_at + i] != 0) return true;
  return false;
}

static void check_shared(const dequantize_case *c, mxg_status status) {
  const uint8_t *got = shared[SUBJECT].data, *want = shared[REF].data;
  for (size_t i = 0; i < c->shared_bytes; i++) {
    FUZZ_CHECK(got[i] == want[i], "byte %zu of the one buffer is %02X, the golden model's %02X", i,
               got[i], want[i]);
    FUZZ_CHECK(status == MXG_OK || got[i] == bytes_copy[i],
               "status %d, and byte %zu of the one buffer was written", (int)status, i);
  }
  fuzz_buffer_check(&shared[SUBJECT], "the one buffer");
  fuzz_buffer_check(&shared[REF], "the golden model's one buffer");
  if (status == MXG_OK || status == MXG_ERR_OVERLAP)
    FUZZ_CHECK(regions_overlap(c) == (status == MXG_ERR_OVERLAP),
               "overlap: status %d, and the regions %s", (int)status,
               regions_overlap(c) ? "share bytes" : "share no byte");
}

static void check_nan(const dequantize_case *c) {
  const uint8_t *data = values[SUBJECT].data;
  for (size_t r = 0; r < c->y.rows && c->y.cols > 0; r++) {
    for (size_t i = r * fuzz_stride(c->y.cols, c->y.stride_elems);
         i < r * fuzz_stride(c->y.cols, c->y.stride_elems) + c->y.cols; i++) {
      uint32_t bits = 0;
      uint16_t half = 0;
      if (c->y.dtype == MXG_DTYPE_F32) {
        memcpy(&bits, data + 4 * i, 4);
        FUZZ_CHECK((bits & 0x7FFFFFFFu) <= 0x7F800000u || bits == 0x7FC00000u,
                   "row %zu: the NaN %08X", r, (unsigned)bits);
        continue;
      }
      memcpy(&half, data + 2 * i, 2);
      const uint16_t infinity = c->y.dtype == MXG_DTYPE_F16 ? 0x7C00 : 0x7F80;
      const uint16_t nan = c->y.dtype == MXG_DTYPE_F16 ? 0x7E00 : 0x7FC0;
      FUZZ_CHECK((half & 0x7FFF) <= infinity || half == nan, "row %zu: the NaN %04X", r,
                 (unsigned)half);
    }
  }
}

static void check(const dequantize_case *c, const mxg_run *run, mxg_status want) {
  const mxg_status got = call(c, SUBJECT, run);
  if (fuzz_is_limited() && got == MXG_ERR_ARCH) return; /* not for this codec */
  FUZZ_CHECK(got == want, "status %d (%s), the golden model's %d (%s), isa %X", (int)got,
             mxg_strerror(got), (int)want, mxg_strerror(want),
             run != NULL ? (unsigned)run->isa_mask : 0);
  if (c->is_shared) {
    check_shared(c, want);
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
  static dequantize_case c;
  if (fuzz_subject_under_test.dequantize == NULL) return 0;
  fuzz_input in = fuzz_input_of(data, bytes);
  fuzz_about(NULL, NULL);
  choose(&in, &c);
  fuzz_about(describe, &c);
  if (!place(&in, &c)) return 0;
  const mxg_run *run = c.has_run ? &c.run : NULL;
  const mxg_status want = call(&c, REF, run);
  if (want == MXG_OK || (want == MXG_ERR_OVERLAP && c.is_shared)) {
    mask_values(&c);
    if (c.is_shared) fuzz_written_bytes(&c.layout, c.y.rows, codes_mask, scales_mask);
  }
  check(&c, run, want);
  if (want != MXG_OK || fuzz_is_limited()) return 0;
  for (uint32_t isa = 1; isa != 0 && isa <= mxg_cpu_features(); isa <<= 1) {
    const mxg_run one = {c.run.threads, isa, {0}};
    if ((isa & mxg_cpu_features()) != 0) check(&c, &one, want);
  }
  return 0;
}
