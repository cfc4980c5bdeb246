/* fuzz_combine.c: mxg_combine against the golden model, on any slots and weights.
 *
 * Expected: the same status from both; on success every value of the columns asked for equal and no
 * other byte written; on an error nothing written; the columns divided over two calls give the
 * same; every instruction set of the machine too.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/check.h"
#include "support/choose.h"
#include "support/memory.h"
#include "support/written.h"

enum {
  SUBJECT = 0,
  REF = 1,
  VOICES = 2,
  SLOTS_MAX = 7,       /* different ones; a call may name one many times */
  POINTERS_MAX = 2048, /* rows * top_k */
  TERMS_MAX = 1024     /* rows * top_k * columns */
};

typedef struct combine_case {
  mxg_recipe recipe;
  mxg_layout layout;
  mxg_matrix y; /* data: NULL when the call gets NULL */
  mxg_run run;
  size_t top_k, col_begin, col_end, slot_bytes, slot_count;
  bool has_weight, has_run, no_recipe, no_layout, no_y, no_slots;
  bool is_overlapping; /* a slot, the pointers or the weights lie in y */
  uint32_t overlap_kind;
  size_t overlap_at;
  uint8_t poison;
} combine_case;

static fuzz_buffer slots, weights, pointers, values[VOICES];
static uint8_t slots_copy[FUZZ_BUFFER_MAX], mask[FUZZ_BUFFER_MAX], before[FUZZ_BUFFER_MAX];
static uint8_t pick[POINTERS_MAX]; /* which slot; SLOTS_MAX or more: missing */

static void describe(FILE *to, const void *subject) {
  const combine_case *c = subject;
  fuzz_print_recipe(to, &c->recipe);
  fuzz_print_layout(to, &c->layout);
  fprintf(to,
          "  top_k %zu%s, columns %zu to %zu of y %zu x %zu, type %d, stride %zu; run %s isa %X "
          "threads %u%s\n",
          c->top_k, c->has_weight ? " weighted" : "", c->col_begin, c->col_end, c->y.rows,
          c->y.cols, (int)c->y.dtype, c->y.stride_elems, c->has_run ? "given" : "NULL",
          (unsigned)c->run.isa_mask, (unsigned)c->run.threads,
          c->is_overlapping ? ", an input in y" : "");
}

/* ---- choices ---- */

static void spoil(fuzz_input *in, combine_case *c) {
  switch (fuzz_below(in, 20)) {
    case 0: c->y.rows = fuzz_odd_size(in); break;
    case 1: c->y.cols = fuzz_odd_size(in); break;
    case 2: c->y.stride_elems = fuzz_odd_size(in); break;
    case 3: c->y.dtype = (mxg_dtype)fuzz_below(in, 6); break;
    case 4: c->y.data = NULL; break;
    case 5: c->no_slots = true; break;
    case 6: c->top_k = fuzz_odd_size(in); break;
    case 7: c->col_begin = fuzz_odd_size(in); break;
    case 8: c->col_end = fuzz_odd_size(in); break;
    case 9:
      c->has_run = true;
      c->run.isa_mask = fuzz_u32(in);
      break;
    case 10:
      c->has_run = true;
      c->run.reserved[fuzz_below(in, 6)] = fuzz_u32(in);
      break;
    case 11: c->recipe.reserved[fuzz_below(in, 3)] = fuzz_u32(in); break;
    case 12: c->no_recipe = true; break;
    case 13: c->no_layout = true; break;
    case 14: c->no_y = true; break;
    case 15: fuzz_spoil_words(in, &c->recipe, sizeof c->recipe / 4); break;
    case 16:
    case 17: c->is_overlapping = true; break;
    default: fuzz_spoil_layout(in, &c->layout); break;
  }
}

static void choose(fuzz_input *in, combine_case *c) {
  static const uint8_t counts[] = {0, 1, 2, 3, 4, 7, 8, 9, 16, 33, 63, 64};
  size_t rows, cols;
  mxg_layout_options options;
  memset(c, 0, sizeof *c);
  fuzz_choose_recipe(in, &c->recipe);
  fuzz_choose_shape(in, &c->recipe, &rows, &cols);
  memset(&options, 0, sizeof options);
  options.placement = MXG_PLACEMENT_SLOT;
  if (!fuzz_is_limited() && fuzz_chance(in, 64)) {
    options.slot_weights = fuzz_below(in, 10);
    if (c->recipe.scale != MXG_SCALE_NONE)
      options.scale_count = mxg_scales_used(&c->recipe, cols) + fuzz_below(in, 4);
  } else if (!fuzz_is_limited() && fuzz_chance(in, 16)) {
    fuzz_choose_options(in, &c->recipe, cols, &options);
  }
  c->top_k = counts[fuzz_below(in, sizeof counts)];
  if (rows > 0 && c->top_k * cols > 2048) c->top_k = cols > 2048 ? 1 : 2048 / cols;
  if (c->top_k > 0 && cols > 0 && rows > 2048 / cols / c->top_k) rows = 1 + 2048 / cols / c->top_k;
  if (c->top_k > 0 && rows > POINTERS_MAX / c->top_k) rows = POINTERS_MAX / c->top_k;
  (void)fuzz_choose_layout(&c->recipe, rows, cols, &options, &c->layout);
  c->y.dtype = fuzz_choose_dtype(in);
  c->y.rows = rows;
  c->y.cols = cols;
  c->y.data = before; /* not NULL */
  c->col_end = cols;
  c->has_weight = fuzz_chance(in, 128);
  c->slot_count = 1 + fuzz_below(in, SLOTS_MAX);
  c->poison = fuzz_u8(in);
  c->run = fuzz_choose_run(in);
  if (fuzz_is_limited()) return;
  if (fuzz_chance(in, 96)) c->y.stride_elems = cols + fuzz_below(in, 9);
  if (fuzz_chance(in, 64) && cols > 0) {
    c->col_begin = fuzz_below(in, (uint32_t)cols + 1);
    c->col_end = c->col_begin + fuzz_below(in, (uint32_t)(cols - c->col_begin) + 1);
  }
  c->has_run = fuzz_chance(in, 64);
  const uint8_t how = fuzz_u8(in);
  if (how >= 192)
    for (int i = how >= 240 ? 2 : 1; i > 0; i--) spoil(in, c);
}

/* ---- memory ---- */

/* What the call reads of a slot: the weights behind payload and scales may be missing. */
static size_t read_bytes(const mxg_layout *l) {
  const size_t bytes = l->payload_row_bytes + l->scale_row_bytes;
  return bytes > FUZZ_BUFFER_MAX / SLOTS_MAX || bytes < l->scale_row_bytes ? 0 : bytes;
}

static void fill_slots(fuzz_input *in) {
  const uint8_t how = fuzz_u8(in);
  fuzz_stream stream = {fuzz_u32(in)};
  const uint8_t *raw = in->data + in->at;
  const size_t raw_bytes = in->bytes - in->at;
  const bool is_raw = how % 2 == 1 && raw_bytes > 0;
  for (size_t i = 0; i < slots.bytes; i++)
    slots.data[i] = is_raw ? raw[i % raw_bytes] : (uint8_t)(fuzz_next(&stream) >> 56);
  /* scales near 1, so that sums are finite and many terms count */
  if (!is_raw && how >= 64)
    for (size_t i = 0; i < slots.bytes; i++)
      if (i % 4 == 3 || how >= 160) slots.data[i] = (uint8_t)((slots.data[i] & 0x87) | 0x38);
  memcpy(slots_copy, slots.data, slots.bytes);
}

/* Can the buffers be had that the call may touch if it succeeds? */
static bool place(fuzz_input *in, combine_case *c) {
  const size_t max = FUZZ_BUFFER_MAX;
  const uint8_t where[] = {fuzz_choose_place(in), fuzz_choose_place(in), fuzz_choose_place(in),
                           fuzz_choose_place(in)};
  size_t y_bytes = fuzz_matrix_bytes(c->y.dtype, c->y.rows, c->y.cols, c->y.stride_elems);
  if (y_bytes > max && c->y.cols == c->layout.cols && fuzz_is_dtype(c->y.dtype) &&
      c->y.data != NULL)
    return false;
  if (y_bytes > max) y_bytes = 64;
  /* More pointers than there are, or larger slots, only where the call fails for another reason. */
  size_t count = c->y.rows;
  if (c->top_k > 64 || c->top_k == 0)
    count = 0;
  else if (count > POINTERS_MAX / c->top_k)
    return false;
  else
    count *= c->top_k;
  c->slot_bytes = read_bytes(&c->layout);
  if (c->slot_bytes == 0 && c->layout.cols != 0) c->no_slots = true;
  fuzz_buffer_place(&slots, c->slot_count * c->slot_bytes, where[0], 0);
  fuzz_buffer_place(&weights, c->has_weight ? 4 * count : 0, where[1], 0);
  fuzz_buffer_place(&pointers, count * sizeof(void *), where[2], 0);
  for (int v = 0; v < VOICES; v++) fuzz_buffer_place(&values[v], y_bytes, where[3], 0);
  const uint32_t missing = fuzz_below(in, 4); /* of 8 */
  fuzz_stream stream = {fuzz_u32(in)};
  for (size_t i = 0; i < count; i++) {
    const uint64_t bits = fuzz_next(&stream);
    pick[i] = bits >> 61 < missing ? SLOTS_MAX : (uint8_t)((bits >> 32) % c->slot_count);
    if (c->slot_bytes == 0) pick[i] = SLOTS_MAX;
  }
  c->overlap_kind = fuzz_below(in, 3);
  c->overlap_at = fuzz_below(in, 4096);
  if (c->has_weight) {
    fuzz_input head = *in;
    fuzz_choose_values(&head, MXG_DTYPE_F32, count, weights.data);
  }
  fill_slots(in);
  return true;
}

/* ---- calls ---- */

/* An input that lies in y: where does it begin, or NULL when y has no room for it. */
static uint8_t *inside_y(const combine_case *c, int voice, size_t bytes) {
  if (bytes == 0 || bytes > values[voice].bytes) return NULL;
  return values[voice].data + c->overlap_at % (values[voice].bytes - bytes + 1);
}

static mxg_status call(const combine_case *c, int voice, size_t begin, size_t end,
                       const mxg_run *run) {
  const uint8_t poison = voice == REF ? (uint8_t)~c->poison : c->poison;
  uint8_t *y_data = values[voice].data;
  uint8_t *weight = weights.data, *list = pointers.data, *first = slots.data;
  if (values[voice].bytes > 0) memset(y_data, poison, values[voice].bytes);
  if (c->is_overlapping) {
    uint8_t *inside = NULL;
    if (c->overlap_kind == 0 && (inside = inside_y(c, voice, weights.bytes)) != NULL) {
      memcpy(inside, weights.data, weights.bytes);
      weight = inside;
    } else if (c->overlap_kind == 1 && (inside = inside_y(c, voice, pointers.bytes)) != NULL) {
      list = inside;
    } else if (c->overlap_kind == 2 && (inside = inside_y(c, voice, slots.bytes)) != NULL) {
      memcpy(inside, slots.data, slots.bytes);
      first = inside;
    }
  }
  for (size_t i = 0; i < pointers.bytes / sizeof(void *); i++) {
    const void *slot = pick[i] < c->slot_count ? first + pick[i] * c->slot_bytes : NULL;
    memcpy(list + i * sizeof slot, &slot, sizeof slot);
  }
  if (values[voice].bytes > 0) memcpy(before, y_data, values[voice].bytes);
  mxg_matrix y = c->y;
  if (y.data != NULL) y.data = y_data;
  return (voice == REF ? mxg_ref_combine : fuzz_subject_under_test.combine)(
      c->no_recipe ? NULL : &c->recipe,
      c->no_slots ? NULL : (const void *const *)(const void *)list, c->top_k,
      c->has_weight ? (const float *)(const void *)weight : NULL, c->no_layout ? NULL : &c->layout,
      begin, end, c->no_y ? NULL : &y, run);
}

/* ---- checks ---- */

static void mask_values(const combine_case *c) {
  const size_t width = mxg_dtype_bytes(c->y.dtype);
  memset(mask, 0, values[REF].bytes);
  for (size_t r = 0; r < c->y.rows && c->col_begin < c->col_end; r++)
    memset(mask + (r * fuzz_stride(c->y.cols, c->y.stride_elems) + c->col_begin) * width, 1,
           (c->col_end - c->col_begin) * width);
}

/* With an input inside y: if the call did not refuse, they must have been apart. Then the input is
 * part of what must not be written. */
static void check_overlapping(mxg_status got, mxg_status want) {
  FUZZ_CHECK(got == want, "an input in y: status %d (%s), the golden model's %d (%s)", (int)got,
             mxg_strerror(got), (int)want, mxg_strerror(want));
  const uint8_t *data = values[SUBJECT].data;
  for (size_t i = 0; i < values[SUBJECT].bytes; i++)
    FUZZ_CHECK((want == MXG_OK && mask[i] != 0) || data[i] == before[i],
               "an input in y: status %d, and byte %zu was written", (int)got, i);
}

static void check(const combine_case *c, const mxg_run *run, mxg_status want) {
  const mxg_status got = call(c, SUBJECT, c->col_begin, c->col_end, run);
  if (c->is_overlapping) {
    check_overlapping(got, want);
    return;
  }
  if (fuzz_is_limited() && got == MXG_ERR_ARCH) return; /* not for this codec */
  fuzz_check_status(got, want, run);
  fuzz_check_written("y", &values[SUBJECT], &values[REF], c->poison, want == MXG_OK ? mask : NULL);
  FUZZ_CHECK(memcmp(slots.data, slots_copy, slots.bytes) == 0, "a slot was written");
  fuzz_buffer_check(&slots, "slots");
  fuzz_buffer_check(&weights, "weights");
  fuzz_buffer_check(&pointers, "the pointers to slots");
}

/* [begin, end) in two calls: the second one leaves what the first one wrote. */
static void check_segments(const combine_case *c, size_t middle) {
  static uint8_t first[FUZZ_BUFFER_MAX];
  const size_t bytes = values[SUBJECT].bytes, width = mxg_dtype_bytes(c->y.dtype);
  if (bytes == 0) return;
  FUZZ_CHECK(call(c, SUBJECT, c->col_begin, middle, NULL) == MXG_OK, "the first columns alone");
  memcpy(first, values[SUBJECT].data, bytes);
  FUZZ_CHECK(call(c, SUBJECT, middle, c->col_end, NULL) == MXG_OK, "the last columns alone");
  for (size_t r = 0; r < c->y.rows; r++) {
    const size_t at = (r * fuzz_stride(c->y.cols, c->y.stride_elems) + c->col_begin) * width;
    memcpy(values[SUBJECT].data + at, first + at, (middle - c->col_begin) * width);
  }
  fuzz_check_written("y, columns in two calls", &values[SUBJECT], &values[REF], c->poison, mask);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static combine_case c;
  if (fuzz_subject_under_test.combine == NULL) return 0;
  fuzz_input in = fuzz_input_of(data, bytes);
  fuzz_about(NULL, NULL);
  choose(&in, &c);
  fuzz_about(describe, &c);
  const uint8_t split = fuzz_u8(&in);
  if (!place(&in, &c)) return 0;
  const mxg_run *run = c.has_run ? &c.run : NULL;
  const mxg_status want = call(&c, REF, c.col_begin, c.col_end, run);
  if (want == MXG_OK) mask_values(&c);
  check(&c, run, want);
  if (want != MXG_OK || fuzz_is_limited() || c.is_overlapping) return 0;
  for (uint32_t isa = 1; isa != 0 && isa <= mxg_cpu_features(); isa <<= 1) {
    const mxg_run one = {c.run.threads, isa, {0}};
    if ((isa & mxg_cpu_features()) != 0) check(&c, &one, want);
  }
  if (split % 4 == 1) check_segments(&c, c.col_begin + split % (c.col_end - c.col_begin + 1));
  return 0;
}
