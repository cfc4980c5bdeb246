/* packed_call.c
 * SPDX-License-Identifier: MIT */
#include "packed_call.h"

#include <string.h>

#include "check.h"
#include "choose.h"

/* One wrong thing, or one that is odd and right. */
static void spoil(fuzz_input *in, fuzz_packed_call *c) {
  switch (fuzz_below(in, 20)) {
    case 0: c->matrix.rows = fuzz_odd_size(in); break;
    case 1: c->matrix.cols = fuzz_odd_size(in); break;
    case 2: c->matrix.stride_elems = fuzz_odd_size(in); break;
    case 3: c->matrix.dtype = (mxg_dtype)fuzz_below(in, 6); break;
    case 4: c->matrix.data = NULL; break;
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
    case 14: c->no_matrix = true; break;
    case 15: c->no_packed = true; break;
    case 16: fuzz_spoil_words(in, &c->recipe, sizeof c->recipe / 4); break;
    default: fuzz_spoil_layout(in, &c->layout); break;
  }
}

void fuzz_choose_packed_call(fuzz_input *in, bool may_weigh, fuzz_packed_call *c) {
  static uint8_t not_null;
  size_t rows, cols;
  mxg_layout_options options;
  memset(c, 0, sizeof *c);
  fuzz_choose_recipe(in, &c->recipe);
  fuzz_choose_shape(in, &c->recipe, &rows, &cols);
  fuzz_choose_options(in, &c->recipe, cols, &options);
  (void)fuzz_choose_layout(&c->recipe, rows, cols, &options, &c->layout);
  c->matrix.dtype = fuzz_choose_dtype(in);
  c->matrix.rows = fuzz_chance(in, 64) && rows < 1000 ? fuzz_below(in, (uint32_t)rows + 1) : rows;
  c->matrix.cols = cols;
  c->matrix.data = &not_null;
  c->codes_capacity = c->layout.codes_bytes;
  c->scales_capacity = c->layout.scales_bytes;
  c->poison = fuzz_u8(in);
  c->run = fuzz_choose_run(in);
  if (fuzz_is_limited()) return;
  if (fuzz_chance(in, 96)) c->matrix.stride_elems = cols + fuzz_below(in, 9);
  c->has_weight = may_weigh && fuzz_chance(in, 64);
  c->has_run = fuzz_chance(in, 64);
  const uint8_t how = fuzz_u8(in);
  if (how >= 176)
    for (int i = how >= 240 ? 2 : 1; i > 0; i--) spoil(in, c);
  c->is_shared = how >= 160 && how < 192;
}

size_t fuzz_packed_call_fit(fuzz_packed_call *c) {
  const mxg_layout *l = &c->layout;
  const mxg_matrix *m = &c->matrix;
  const size_t max = FUZZ_BUFFER_MAX;
  size_t bytes = fuzz_matrix_bytes(m->dtype, m->rows, m->cols, m->stride_elems);
  const bool fits = m->cols == l->cols && m->rows <= l->rows && fuzz_is_dtype(m->dtype);
  if (bytes > max && fits && m->data != NULL) return SIZE_MAX;
  if (bytes > max) bytes = 64;
  if (c->has_weight && m->rows > max / 4) c->has_weight = false;
  c->codes_bytes = l->codes_bytes < max ? l->codes_bytes : max;
  c->scales_bytes = l->scales_bytes < max ? l->scales_bytes : max;
  const bool are_cut = l->codes_bytes > max || l->scales_bytes > max;
  if (are_cut || (c->codes_capacity > c->codes_bytes && c->codes_capacity != SIZE_MAX))
    c->codes_capacity = c->codes_bytes;
  if (are_cut || (c->scales_capacity > c->scales_bytes && c->scales_capacity != SIZE_MAX))
    c->scales_capacity = c->scales_bytes;
  const size_t weight_bytes = c->has_weight ? 4 * m->rows : 0;
  if (m->rows > FUZZ_SHARED_MAX ||
      bytes + weight_bytes + c->codes_bytes + c->scales_bytes > FUZZ_SHARED_MAX)
    c->is_shared = false;
  return bytes;
}

size_t fuzz_choose_places(fuzz_input *in, const size_t *lengths, size_t *const *places, int count) {
  size_t end = 0;
  for (int i = 0; i < count; i++) {
    *places[i] = fuzz_chance(in, 128) ? end : fuzz_below(in, (uint32_t)end + 1);
    if (*places[i] + lengths[i] > end) end = *places[i] + lengths[i];
  }
  return end;
}

bool fuzz_has_regions(const fuzz_packed_call *c, mxg_status status) {
  return status == MXG_OK || (status == MXG_ERR_OVERLAP && c->is_shared);
}

void fuzz_print_packed_call(FILE *to, const char *matrix, const fuzz_packed_call *c) {
  fuzz_print_recipe(to, &c->recipe);
  fuzz_print_layout(to, &c->layout);
  fprintf(to, "  %s %zu x %zu, type %d, stride %zu%s%s; run %s isa %X threads %u\n", matrix,
          c->matrix.rows, c->matrix.cols, (int)c->matrix.dtype, c->matrix.stride_elems,
          c->has_weight ? ", row_weight" : "", c->is_shared ? ", one buffer for all" : "",
          c->has_run ? "given" : "NULL", (unsigned)c->run.isa_mask, (unsigned)c->run.threads);
}
