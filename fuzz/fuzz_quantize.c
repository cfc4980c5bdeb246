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
#include "support/written.h"

enum { SUBJECT = 0, REF = 1, VOICES = 2, SHARED_MAX = 4096 };

typedef struct quantize_case {
  mxg_recipe recipe;
  mxg_layout layout;
  mxg_matrix_view x; /* data: where the values lie; NULL when the call gets NULL */
  mxg_run run;
  size_t codes_capacity, scales_capacity;
  bool has_weight, has_run, no_recipe, no_x, no_out, no_codes, no_scales;
  bool is_shared; /* all regions lie in one buffer, where they may overlap */
  size_t x_at, weight_at, codes_at, scales_at, shared_bytes;
  uint8_t poison;
} quantize_case;

static fuzz_buffer values, weights, codes[VOICES], scales[VOICES], shared[VOICES];
static uint8_t values_copy[FUZZ_BUFFER_MAX], codes_mask[FUZZ_BUFFER_MAX],
    scales_mask[FUZZ_BUFFER_MAX];

static void describe(FILE *to, const void *subject) {
  const quantize_case *c = subject;
  fuzz_print_recipe(to, &c->recipe);
  fuzz_print_layout(to, &c->layout);
  fprintf(to, "  x %zu x %zu, type %d, stride %zu%s%s; run %s isa %X threads %u\n", c->x.rows,
          c->x.cols, (int)c->x.dtype, c->x.stride_elems, c->has_weight ? ", row_weight" : "",
          c->is_shared ? ", one buffer for all" : "", c->has_run ? "given" : "NULL",
          (unsigned)c->run.isa_mask, (unsigned)c->run.threads);
}

/* ---- choices ---- */

/* One wrong thing, or one that is odd and right. */
static void spoil(fuzz_input *in, quantize_case *c) {
  switch (fuzz_below(in, 20)) {
    case 0: c->x.rows = fuzz_odd_size(in); break;
    case 1: c->x.cols = fuzz_odd_size(in); break;
    case 2: c->x.stride_elems = fuzz_odd_size(in); break;
    case 3: c->x.dtype = (mxg_dtype)fuzz_below(in, 6); break;
    case 4: c->x.data = NULL; break;
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
    case 14: c->no_x = true; break;
    case 15: c->no_out = true; break;
    case 16: fuzz_spoil_words(in, &c->recipe, sizeof c->recipe / 4); break;
    default: fuzz_spoil_layout(in, &c->layout); break;
  }
}

static void choose(fuzz_input *in, quantize_case *c) {
  size_t rows, cols;
  mxg_layout_options options;
  memset(c, 0, sizeof *c);
  fuzz_choose_recipe(in, &c->recipe);
  fuzz_choose_shape(in, &c->recipe, &rows, &cols);
  fuzz_choose_options(in, &c->recipe, cols, &options);
  (void)fuzz_choose_layout(&c->recipe, rows, cols, &options, &c->layout);
  c->x.dtype = fuzz_choose_dtype(in);
  c->x.rows = fuzz_chance(in, 64) && rows < 1000 ? fuzz_below(in, (uint32_t)rows + 1) : rows;
  c->x.cols = cols;
  c->x.data = values_copy; /* not NULL */
  c->codes_capacity = c->layout.codes_bytes;
  c->scales_capacity = c->layout.scales_bytes;
  c->poison = fuzz_u8(in);
  c->run = fuzz_choose_run(in);
  if (fuzz_is_limited()) return;
  if (fuzz_chance(in, 96)) c->x.stride_elems = cols + fuzz_below(in, 9);
  c->has_weight = fuzz_chance(in, 64);
  c->has_run = fuzz_chance(in, 64);
  const uint8_t how = fuzz_u8(in);
  if (how >= 176)
    for (int i = how >= 240 ? 2 : 1; i > 0; i--) spoil(in, c);
  c->is_shared = how >= 160 && how < 192;
}

/* ---- memory ---- */

/* Where the four regions of one buffer begin. */
static void choose_places(fuzz_input *in, quantize_case *c, size_t x_bytes, size_t codes_bytes) {
  const size_t weight_bytes = c->has_weight ? 4 * c->x.rows : 0;
  const size_t lengths[] = {x_bytes, weight_bytes, codes_bytes, c->layout.scales_bytes};
  size_t *const places[] = {&c->x_at, &c->weight_at, &c->codes_at, &c->scales_at};
  size_t end = 0;
  for (int i = 0; i < 4; i++) {
    /* behind what is there, or anywhere in it */
    *places[i] = fuzz_chance(in, 128) ? end : fuzz_below(in, (uint32_t)end + 1);
    if (*places[i] + lengths[i] > end) end = *places[i] + lengths[i];
  }
  c->shared_bytes = end;
}

/* Can the buffers be had that the call may touch if it succeeds? */
static bool place(fuzz_input *in, quantize_case *c) {
  const mxg_layout *l = &c->layout;
  const size_t max = FUZZ_BUFFER_MAX;
  const uint8_t where[] = {fuzz_choose_place(in), fuzz_choose_place(in), fuzz_choose_place(in),
                           fuzz_choose_place(in)};
  size_t x_bytes = fuzz_matrix_bytes(c->x.dtype, c->x.rows, c->x.cols, c->x.stride_elems);
  const bool fits = c->x.cols == l->cols && c->x.rows <= l->rows && fuzz_is_dtype(c->x.dtype);
  if (x_bytes > max && fits && c->x.data != NULL) return false;
  if (x_bytes > max) x_bytes = 64;
  if (c->has_weight && c->x.rows > max / 4) c->has_weight = false;
  const size_t codes_bytes = l->codes_bytes < max ? l->codes_bytes : max;
  const size_t scales_bytes = l->scales_bytes < max ? l->scales_bytes : max;
  if (c->codes_capacity > codes_bytes && c->codes_capacity != SIZE_MAX)
    c->codes_capacity = codes_bytes;
  if (c->scales_capacity > scales_bytes && c->scales_capacity != SIZE_MAX)
    c->scales_capacity = scales_bytes;
  if (l->codes_bytes > max || l->scales_bytes > max) {
    c->codes_capacity = codes_bytes;
    c->scales_capacity = scales_bytes;
  }
  if (x_bytes + codes_bytes + scales_bytes + 4 * (c->x.rows % 4096) > SHARED_MAX ||
      c->x.rows > SHARED_MAX)
    c->is_shared = false;
  if (c->is_shared) {
    choose_places(in, c, x_bytes, codes_bytes);
    fuzz_choose_values(in, fuzz_is_dtype(c->x.dtype) ? c->x.dtype : MXG_DTYPE_F32,
                       c->shared_bytes / 4, values_copy);
    for (int v = 0; v < VOICES; v++) fuzz_buffer_place(&shared[v], c->shared_bytes, where[0], 0);
    return true;
  }
  fuzz_buffer_place(&values, x_bytes, where[0], 0);
  fuzz_buffer_place(&weights, c->has_weight ? 4 * c->x.rows : 0, where[1], 0);
  for (int v = 0; v < VOICES; v++) {
    const uint8_t poison = v == REF ? (uint8_t)~c->poison : c->poison;
    fuzz_buffer_place(&codes[v], codes_bytes, where[2], poison);
    fuzz_buffer_place(&scales[v], scales_bytes, where[3], poison);
  }
  if (c->has_weight) {
    fuzz_input head = *in; /* the values use the rest of the input, these a few bytes of it */
    fuzz_choose_values(&head, MXG_DTYPE_F32, c->x.rows, weights.data);
  }
  const mxg_dtype dtype = fuzz_is_dtype(c->x.dtype) ? c->x.dtype : MXG_DTYPE_BF16;
  fuzz_choose_values(in, dtype, x_bytes / mxg_dtype_bytes(dtype), values.data);
  if (x_bytes > 0) memcpy(values_copy, values.data, x_bytes);
  return true;
}

/* ---- calls ---- */

static mxg_status call(const quantize_case *c, int voice, const mxg_run *run) {
  uint8_t *base = shared[voice].data;
  mxg_matrix_view x = c->x;
  const uint8_t *weight = c->is_shared ? base + c->weight_at : weights.data;
  if (x.data != NULL) x.data = c->is_shared ? base + c->x_at : values.data;
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
      c->no_recipe ? NULL : &c->recipe, c->no_x ? NULL : &x,
      c->has_weight ? (const float *)(const void *)weight : NULL, c->no_out ? NULL : &out, run);
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

static bool regions_overlap(const quantize_case *c) {
  static uint8_t owner[SHARED_MAX];
  const mxg_layout *l = &c->layout;
  const size_t width = mxg_dtype_bytes(c->x.dtype);
  bool is_free = true;
  memset(owner, 0, sizeof owner);
  for (size_t r = 0; r < c->x.rows; r++)
    claim(owner, c->x_at + r * fuzz_stride(c->x.cols, c->x.stride_elems) * width, c->x.cols * width,
          0, NULL);
  if (c->has_weight) claim(owner, c->weight_at, 4 * c->x.rows, 0, NULL);
  is_free &= claim(owner, c->codes_at, l->codes_bytes, 1, codes_mask);
  if (l->placement != MXG_PLACEMENT_SLOT)
    is_free &= claim(owner, c->scales_at, l->scales_bytes, 1, scales_mask);
  return !is_free;
}

static void check_shared(const quantize_case *c, mxg_status status) {
  const uint8_t *got = shared[SUBJECT].data, *want = shared[REF].data;
  for (size_t i = 0; i < c->shared_bytes; i++) {
    FUZZ_CHECK(got[i] == want[i], "byte %zu of the one buffer is %02X, the golden model's %02X", i,
               got[i], want[i]);
    FUZZ_CHECK(status == MXG_OK || got[i] == values_copy[i],
               "status %d, and byte %zu of the one buffer was written", (int)status, i);
  }
  fuzz_buffer_check(&shared[SUBJECT], "the one buffer");
  fuzz_buffer_check(&shared[REF], "the golden model's one buffer");
  if (status == MXG_OK || status == MXG_ERR_OVERLAP)
    FUZZ_CHECK(regions_overlap(c) == (status == MXG_ERR_OVERLAP),
               "overlap: status %d, and the regions %s", (int)status,
               regions_overlap(c) ? "share bytes" : "share no byte");
}

static void check_separate(const quantize_case *c, mxg_status status) {
  const bool is_ok = status == MXG_OK;
  fuzz_check_written("codes", &codes[SUBJECT], &codes[REF], c->poison, is_ok ? codes_mask : NULL);
  fuzz_check_written("scales", &scales[SUBJECT], &scales[REF], c->poison,
                     is_ok ? scales_mask : NULL);
  FUZZ_CHECK(values.bytes == 0 || memcmp(values.data, values_copy, values.bytes) == 0,
             "x was written");
  fuzz_buffer_check(&values, "x");
  fuzz_buffer_check(&weights, "row_weight");
}

static void check(const quantize_case *c, const mxg_run *run, mxg_status want) {
  const mxg_status got = call(c, SUBJECT, run);
  if (fuzz_is_limited() && got == MXG_ERR_ARCH) return; /* not for this codec */
  FUZZ_CHECK(got == want, "status %d (%s), the golden model's %d (%s), isa %X", (int)got,
             mxg_strerror(got), (int)want, mxg_strerror(want),
             run != NULL ? (unsigned)run->isa_mask : 0);
  if (c->is_shared)
    check_shared(c, want);
  else
    check_separate(c, want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static quantize_case c;
  if (fuzz_subject_under_test.quantize == NULL) return 0;
  fuzz_input in = fuzz_input_of(data, bytes);
  fuzz_about(NULL, NULL);
  choose(&in, &c);
  fuzz_about(describe, &c);
  if (!place(&in, &c)) return 0;
  const mxg_run *run = c.has_run ? &c.run : NULL;
  const mxg_status want = call(&c, REF, run);
  if (want == MXG_OK) fuzz_written_bytes(&c.layout, c.x.rows, codes_mask, scales_mask);
  if (want == MXG_ERR_OVERLAP && c.is_shared)
    fuzz_written_bytes(&c.layout, c.x.rows, codes_mask, scales_mask);
  check(&c, run, want);
  if (want != MXG_OK || fuzz_is_limited()) return 0;
  for (uint32_t isa = 1; isa != 0 && isa <= mxg_cpu_features(); isa <<= 1) {
    const mxg_run one = {c.run.threads, isa, {0}};
    if ((isa & mxg_cpu_features()) != 0) check(&c, &one, want);
  }
  return 0;
}
