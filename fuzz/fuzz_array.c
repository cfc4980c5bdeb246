/* fuzz_array.c: the calls on arrays of elements, scales and values against the golden model.
 *
 * The bytes choose the call, recipe, format, count, alignment and values, legal or not. Expected: the
 * same status from both; on success every byte of the result equal and none beside it written; on an
 * error nothing written; an overlap is refused exactly when the two arrays share a byte; an array in
 * two calls gives the same.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/check.h"
#include "support/choose.h"
#include "support/memory.h"
#include "support/written.h"

enum { SUBJECT = 0, REF = 1, VOICES = 2, COUNT_MAX = 600 };

typedef enum array_call {
  ENCODE_F32,
  DECODE_F32,
  E8M0_FROM_AMAX,
  E8M0_FROM_SCALE,
  E8M0_TO_F32,
  TO_F32,
  FROM_F32,
  ARRAY_CALLS
} array_call;

static const char *const names[] = {"encode_f32",      "decode_f32",  "e8m0_from_amax",
                                    "e8m0_from_scale", "e8m0_to_f32", "to_f32",
                                    "from_f32"};

typedef struct array_case {
  array_call which;
  mxg_recipe recipe;
  mxg_element element;
  mxg_edges edges;
  mxg_dtype dtype;
  size_t count, in_bytes, out_bytes; /* the arrays' whole sizes */
  bool no_recipe, no_in, no_out;
  bool is_shared; /* both arrays lie in one buffer, where they may overlap */
  size_t in_at, out_at, shared_bytes;
  uint8_t poison;
} array_case;

static fuzz_buffer inputs, results[VOICES], shared[VOICES];
static uint8_t inputs_copy[FUZZ_BUFFER_MAX];

static void describe(FILE *to, const void *subject) {
  const array_case *c = subject;
  fuzz_print_recipe(to, &c->recipe);
  fprintf(to, "  %s, element %d, edges %d, type %d, count %zu%s\n", names[c->which],
          (int)c->element, (int)c->edges, (int)c->dtype, c->count,
          c->is_shared ? ", one buffer for both" : "");
}

/* ---- choices ---- */

/* 4 for what is no type: such a call must be refused. */
static size_t width_of(mxg_dtype dtype) {
  return dtype == MXG_DTYPE_F16 || dtype == MXG_DTYPE_BF16 ? 2 : 4;
}

static void choose(fuzz_input *in, array_case *c) {
  memset(c, 0, sizeof *c);
  c->which = (array_call)fuzz_below(in, ARRAY_CALLS);
  fuzz_choose_recipe(in, &c->recipe);
  c->element = (mxg_element)(fuzz_chance(in, 8) ? fuzz_u32(in) : 1 + fuzz_below(in, 7));
  c->edges = (mxg_edges)(fuzz_chance(in, 8) ? fuzz_u32(in) : 1 + fuzz_below(in, 2));
  c->dtype = (mxg_dtype)(fuzz_chance(in, 8) ? fuzz_u32(in) : 1 + fuzz_below(in, 3));
  c->count = fuzz_below(in, COUNT_MAX + 1);
  c->poison = fuzz_u8(in);
  const bool is_coded_in = c->which == DECODE_F32 || c->which == E8M0_TO_F32;
  const bool is_coded_out = !is_coded_in && c->which < E8M0_TO_F32;
  const size_t in_width = is_coded_in ? 1 : c->which == TO_F32 ? width_of(c->dtype) : 4;
  const size_t out_width = is_coded_out ? 1 : c->which == FROM_F32 ? width_of(c->dtype) : 4;
  c->in_bytes = c->count * in_width;
  c->out_bytes = c->count * out_width;
  c->is_shared = fuzz_chance(in, 48);
  if (fuzz_chance(in, 216)) return;
  switch (fuzz_below(in, 4)) {
    case 0: c->no_recipe = true; break;
    case 1: c->no_in = true; break;
    case 2: c->no_out = true; break;
    default: { /* no machine has the memory; nothing may be touched */
      const size_t odd = fuzz_odd_size(in);
      if (odd > SIZE_MAX / 4) c->count = odd;
    }
  }
}

static void place(fuzz_input *in, array_case *c) {
  const uint8_t where = fuzz_choose_place(in), to = fuzz_choose_place(in);
  const bool are_codes = c->which == DECODE_F32 || c->which == E8M0_TO_F32;
  const mxg_dtype dtype = c->which == TO_F32 && fuzz_is_dtype(c->dtype) ? c->dtype : MXG_DTYPE_F32;
  size_t filled = c->in_bytes;
  if (c->is_shared) {
    c->in_at = fuzz_below(in, 40);
    c->out_at = fuzz_below(in, (uint32_t)(c->in_at + c->in_bytes + 9));
    c->shared_bytes = c->in_at + c->in_bytes + c->out_bytes + 48;
    filled = c->shared_bytes;
    for (int v = 0; v < VOICES; v++) fuzz_buffer_place(&shared[v], filled, where, 0);
  } else {
    fuzz_buffer_place(&inputs, c->in_bytes, where, 0);
    for (int v = 0; v < VOICES; v++)
      fuzz_buffer_place(&results[v], c->out_bytes, to, v == REF ? (uint8_t)~c->poison : c->poison);
  }
  if (are_codes) {
    fuzz_stream stream = {fuzz_u32(in)};
    for (size_t i = 0; i < filled; i++) inputs_copy[i] = (uint8_t)(fuzz_next(&stream) >> 56);
  } else if (c->is_shared) {
    memset(inputs_copy, c->poison, filled);
    fuzz_choose_values(in, dtype, c->in_bytes / width_of(dtype), inputs_copy + c->in_at);
  } else {
    fuzz_choose_values(in, dtype, filled / width_of(dtype), inputs_copy);
  }
  if (!c->is_shared) memcpy(inputs.data, inputs_copy, filled);
}

/* ---- calls ---- */

static mxg_status call_ours(const array_case *c, const void *in, size_t count, void *out) {
  const mxg_recipe *recipe = c->no_recipe ? NULL : &c->recipe;
  switch (c->which) {
    case ENCODE_F32: return mxg_encode_f32(recipe, in, count, out);
    case DECODE_F32: return mxg_decode_f32(c->element, in, count, out);
    case E8M0_FROM_AMAX: return mxg_e8m0_from_amax(recipe, in, count, out);
    case E8M0_FROM_SCALE: return mxg_e8m0_from_scale(recipe, in, count, out);
    case E8M0_TO_F32: return mxg_e8m0_to_f32(c->edges, in, count, out);
    case TO_F32: return mxg_to_f32(c->dtype, in, count, out);
    default: return mxg_from_f32(c->dtype, in, count, out);
  }
}

static mxg_status call_ref(const array_case *c, const void *in, size_t count, void *out) {
  const mxg_recipe *recipe = c->no_recipe ? NULL : &c->recipe;
  switch (c->which) {
    case ENCODE_F32: return mxg_ref_encode_f32(recipe, in, count, out);
    case DECODE_F32: return mxg_ref_decode_f32(c->element, in, count, out);
    case E8M0_FROM_AMAX: return mxg_ref_e8m0_from_amax(recipe, in, count, out);
    case E8M0_FROM_SCALE: return mxg_ref_e8m0_from_scale(recipe, in, count, out);
    case E8M0_TO_F32: return mxg_ref_e8m0_to_f32(c->edges, in, count, out);
    case TO_F32: return mxg_ref_to_f32(c->dtype, in, count, out);
    default: return mxg_ref_from_f32(c->dtype, in, count, out);
  }
}

static mxg_status call(const array_case *c, int voice) {
  uint8_t *base = shared[voice].data;
  if (c->is_shared) memcpy(base, inputs_copy, c->shared_bytes);
  const void *in = c->no_in ? NULL : c->is_shared ? base + c->in_at : inputs.data;
  void *out = c->no_out ? NULL : c->is_shared ? base + c->out_at : results[voice].data;
  return voice == REF ? call_ref(c, in, c->count, out) : call_ours(c, in, c->count, out);
}

/* ---- checks ---- */

static bool arrays_overlap(const array_case *c) {
  return c->count > 0 && c->in_at < c->out_at + c->out_bytes && c->out_at < c->in_at + c->in_bytes;
}

static void check_shared(const array_case *c, mxg_status status) {
  fuzz_check_shared(&shared[SUBJECT], &shared[REF], inputs_copy, status,
                    (status == MXG_OK || status == MXG_ERR_OVERLAP) && arrays_overlap(c));
  for (size_t i = 0; i < c->shared_bytes; i++)
    FUZZ_CHECK((i >= c->out_at && i < c->out_at + c->out_bytes) ||
                   shared[SUBJECT].data[i] == inputs_copy[i],
               "status %d, byte %zu beside the result", (int)status, i);
}

/* The array as two calls, cut anywhere, over what one call wrote. */
static void check_cut(const array_case *c, uint32_t cut_at) {
  const size_t cut = c->count == 0 ? 0 : cut_at % c->count;
  if (c->count == 0) return;
  const size_t in_width = c->in_bytes / c->count, out_width = c->out_bytes / c->count;
  uint8_t *out = results[SUBJECT].data;
  memset(out, c->poison, c->out_bytes);
  FUZZ_CHECK(call_ours(c, inputs.data, cut, out) == MXG_OK &&
                 call_ours(c, inputs.data + cut * in_width, c->count - cut,
                           out + cut * out_width) == MXG_OK,
             "a part of the array is refused");
  FUZZ_CHECK(memcmp(out, results[REF].data, c->out_bytes) == 0, "in two calls, cut at %zu", cut);
  fuzz_buffer_check(&results[SUBJECT], "the result");
}

static void check(const array_case *c, mxg_status status, uint32_t cut_at) {
  for (size_t i = 0; i < c->out_bytes; i++) {
    const uint8_t want = status == MXG_OK ? results[REF].data[i] : c->poison;
    const uint8_t ref_poison = (uint8_t)~c->poison;
    FUZZ_CHECK(results[SUBJECT].data[i] == want, "byte %zu is %02X, expected %02X", i,
               results[SUBJECT].data[i], want);
    FUZZ_CHECK(status == MXG_OK || results[REF].data[i] == ref_poison,
               "the golden model wrote byte %zu on an error", i);
  }
  for (int v = 0; v < VOICES; v++) fuzz_buffer_check(&results[v], "the result");
  FUZZ_CHECK(memcmp(inputs.data, inputs_copy, c->in_bytes) == 0, "the input was written");
  if (status == MXG_OK) check_cut(c, cut_at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  static array_case c;
  if (fuzz_is_limited()) return 0; /* not calls of the codec under test */
  fuzz_input in = fuzz_input_of(data, bytes);
  fuzz_about(NULL, NULL);
  choose(&in, &c);
  fuzz_about(describe, &c);
  const uint32_t cut_at = fuzz_u32(&in);
  place(&in, &c);
  const mxg_status want = call(&c, REF), got = call(&c, SUBJECT);
  fuzz_check_status(got, want, NULL);
  if (c.is_shared)
    check_shared(&c, want);
  else
    check(&c, want, cut_at);
  return 0;
}
