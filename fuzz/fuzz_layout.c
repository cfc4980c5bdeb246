/* fuzz_layout.c: sizes, index maps and reorders.
 *
 * Sizes: every field of a layout against 128-bit arithmetic written here; MXG_ERR_SIZE exactly when
 * a size does not fit size_t. Index maps: each scale of a matrix, pads included, has a place of its
 * own inside it, and codec's formula is that of docs/LAYOUT.md. Reorders: codec and golden model write
 * the same bytes and no others, and the inverse gives the source back.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/check.h"
#include "support/choose.h"
#include "support/memory.h"
#include "support/written.h"

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;
#else
typedef uint64_t wide; /* size_t has 32 bits where there is no __int128 */
#endif

enum { SUBJECT = 0, REF = 1, VOICES = 2, MAP_MAX = 1 << 14 };

static mxg_recipe recipe;
static mxg_layout_options options;
static size_t asked_rows, asked_cols;

static void describe(FILE *to, const void *subject) {
  (void)subject;
  fuzz_print_recipe(to, &recipe);
  fprintf(to,
          "  %zu x %zu, placement %d order %d pad %X slot_weights %u scale_count %zu strides %zu "
          "%zu %zu\n",
          asked_rows, asked_cols, (int)options.placement, (int)options.order,
          (unsigned)options.pad_byte, (unsigned)options.slot_weights, options.scale_count,
          options.payload_stride_bytes, options.scale_stride_bytes, options.slot_stride_bytes);
}

/* ---- sizes ---- */

static wide round_up(wide value, wide unit) {
  return (value + unit - 1) / unit * unit;
}

/* Bytes of `rows` rows at a stride; the last one needs no stride. */
static wide strided(wide rows, wide row_bytes, wide stride) {
  return rows == 0 || row_bytes == 0 ? 0 : (rows - 1) * stride + row_bytes;
}

static void check_sizes(const mxg_layout *l, mxg_status status) {
  if (status != MXG_OK && status != MXG_ERR_SIZE) return;
  const wide rows = asked_rows, cols = asked_cols, max = SIZE_MAX;
  const wide bits = (wide)mxg_element_traits(recipe.element).bits;
  const wide scale_bytes = recipe.scale == MXG_SCALE_E8M0  ? 1
                           : recipe.scale == MXG_SCALE_F32 ? 4
                                                           : 0;
  const wide used = scale_bytes == 0 ? 0 : (cols + recipe.block - 1) / recipe.block;
  const wide count = options.scale_count != 0 ? options.scale_count : used;
  const wide payload = (cols * bits + 7) / 8, scale_row = count * scale_bytes;
  const wide slot = payload + scale_row + 4 * (wide)options.slot_weights;
  const bool is_slot = options.placement == MXG_PLACEMENT_SLOT;
  const wide payload_stride = options.payload_stride_bytes ? options.payload_stride_bytes : payload;
  const wide scale_stride = options.scale_stride_bytes ? options.scale_stride_bytes : scale_row;
  const wide slot_stride = options.slot_stride_bytes ? options.slot_stride_bytes : slot;
  const bool is_shuffle = options.order == MXG_ORDER_AITER_SHUFFLE;
  const bool is_blocked = options.order == MXG_ORDER_BLOCKED_128X4;
  wide codes = 0, scales = 0;
  bool scales_are_huge = false; /* a product of three may not even fit 128 bits */
  if (is_slot) {
    codes = strided(rows, slot, slot_stride);
  } else {
    codes = strided(rows, payload, payload_stride);
    scales = strided(rows, scale_row, scale_stride);
    if (options.order != MXG_ORDER_ROW_MAJOR) {
      const wide tall = is_shuffle ? round_up(rows, 256) : is_blocked ? round_up(rows, 128) : rows;
      const wide broad = is_shuffle ? round_up(count, 8) : is_blocked ? round_up(count, 4) : count;
      /* padded sizes alone must fit too, as they are stated to */
      scales_are_huge = tall > max || broad > max || (tall > 0 && broad > max / tall);
      scales = scales_are_huge ? 0 : tall * broad * scale_bytes;
    }
  }
  const bool fits = payload <= max && scale_row <= max && slot <= max && codes <= max &&
                    !scales_are_huge && scales <= max;
  if (status == MXG_ERR_SIZE) {
    FUZZ_CHECK(!fits, "MXG_ERR_SIZE, and all sizes fit");
    return;
  }
  FUZZ_CHECK(fits, "MXG_OK, and a size does not fit");
  FUZZ_CHECK(l->rows == rows && l->cols == cols, "rows and columns");
  FUZZ_CHECK(l->scales_used == used && l->scale_count == count, "scales");
  FUZZ_CHECK(l->scale_bytes == scale_bytes && l->scale_row_bytes == scale_row, "scale bytes");
  FUZZ_CHECK(l->payload_row_bytes == payload && l->slot_bytes == slot, "row and slot bytes");
  FUZZ_CHECK(l->payload_stride_bytes == (is_slot ? 0 : payload_stride), "payload stride");
  FUZZ_CHECK(
      l->scale_stride_bytes == (is_slot || options.order != MXG_ORDER_ROW_MAJOR ? 0 : scale_stride),
      "scale stride");
  FUZZ_CHECK(l->slot_stride_bytes == (is_slot ? slot_stride : 0), "slot stride");
  FUZZ_CHECK(l->scale_offset_bytes == (is_slot ? payload : 0), "scale offset");
  FUZZ_CHECK(l->weight_offset_bytes == (is_slot ? payload + scale_row : 0), "weight offset");
  FUZZ_CHECK(l->codes_bytes == codes && l->scales_bytes == scales, "codes %zu, scales %zu bytes",
             l->codes_bytes, l->scales_bytes);
}

/* The inline functions of mxgold_format.h, on any numbers. */
static void check_arithmetic(size_t a, size_t b, size_t c) {
  const wide max = SIZE_MAX;
  size_t out = 0x5A;
  mxg_status status = mxg_size_mul(a, b, &out);
  const bool product_fits = a == 0 || b <= SIZE_MAX / a;
  FUZZ_CHECK((status == MXG_OK) == product_fits && out == (product_fits ? a * b : 0x5A),
             "mxg_size_mul(%zu, %zu)", a, b);
  out = 0x5A;
  status = mxg_size_add(a, b, &out);
  FUZZ_CHECK((status == MXG_OK) == (b <= SIZE_MAX - a) && out == (status == MXG_OK ? a + b : 0x5A),
             "mxg_size_add(%zu, %zu)", a, b);
  const size_t unit = c == 0 ? 1 : c;
  out = 0x5A;
  status = mxg_size_round_up(a, unit, &out);
#ifdef __SIZEOF_INT128__
  FUZZ_CHECK(mxg_size_ceil_div(a, unit) == ((wide)a + unit - 1) / unit, "ceil(%zu / %zu)", a, unit);
  const wide rounded = round_up(a, unit);
  FUZZ_CHECK((status == MXG_OK) == (rounded <= max) && out == (rounded <= max ? rounded : 0x5A),
             "mxg_size_round_up(%zu, %zu)", a, unit);
  for (int element = 0; element <= 8; element++) {
    const wide bits = (wide)mxg_element_traits((mxg_element)element).bits;
    const wide row = ((wide)a * bits + 7) / 8;
    out = 0x5A;
    status = mxg_payload_row_bytes((mxg_element)element, a, &out);
    const bool is_known = element >= 1 && element <= 7;
    FUZZ_CHECK(status == (!is_known    ? MXG_ERR_RECIPE
                          : row <= max ? MXG_OK
                                       : MXG_ERR_SIZE) &&
                   out == (is_known && row <= max ? row : 0x5A),
               "mxg_payload_row_bytes(%d, %zu)", element, a);
  }
  out = 0x5A;
  status = mxg_strided_bytes(a, b, c, &out);
  const wide bytes = strided(a, b, c);
  FUZZ_CHECK((status == MXG_OK) == (bytes <= max) && out == (bytes <= max ? bytes : 0x5A),
             "mxg_strided_bytes(%zu, %zu, %zu)", a, b, c);
#else
  (void)max;
  (void)status;
#endif
}

/* ---- index maps ---- */

static void check_map(mxg_scale_order order, size_t rows, size_t scale_count) {
  static uint8_t seen[MAP_MAX];
  const size_t tile_rows = mxg_order_tile_rows(order), tile_cols = mxg_order_tile_cols(order);
  const size_t tall = (rows + tile_rows - 1) / tile_rows * tile_rows;
  const size_t broad = (scale_count + tile_cols - 1) / tile_cols * tile_cols;
  size_t count = 0;
  if (tall != 0 && broad > MAP_MAX / tall) return;
  FUZZ_CHECK(
      mxg_scale_matrix_count(order, rows, scale_count, &count) == MXG_OK && count == tall * broad,
      "order %d, %zu x %zu: %zu scales", (int)order, rows, scale_count, count);
  memset(seen, 0, sizeof seen);
  for (size_t x = 0; x < tall; x++) {
    for (size_t y = 0; y < broad; y++) {
      const size_t at = mxg_scale_index(order, rows, scale_count, x, y);
      FUZZ_CHECK(at == fuzz_scale_position(order, rows, scale_count, x, y),
                 "order %d, %zu x %zu: (%zu, %zu) is at %zu", (int)order, rows, scale_count, x, y,
                 at);
      FUZZ_CHECK(at < count && seen[at] == 0, "order %d, %zu x %zu: (%zu, %zu) is at %zu of %zu%s",
                 (int)order, rows, scale_count, x, y, at, count,
                 at < count ? ", where another one is" : "");
      seen[at] = 1;
    }
  }
}

/* ---- reorders ---- */

static fuzz_buffer source, target[VOICES], back;

/* Any two layouts, right or not, and fewer rows than they have. */
static void check_scales_reorder(fuzz_input *in, const mxg_layout *from) {
  mxg_layout_options other;
  mxg_layout to;
  const size_t max = FUZZ_BUFFER_MAX;
  memset(&other, 0, sizeof other);
  other.order = (mxg_scale_order)fuzz_below(in, 4);
  other.scale_count = from->scale_count;
  if (other.order == MXG_ORDER_ROW_MAJOR && fuzz_chance(in, 128))
    other.scale_stride_bytes = from->scale_row_bytes + fuzz_below(in, 9);
  if (other.order >= MXG_ORDER_AITER_SHUFFLE) other.pad_byte = fuzz_u8(in);
  if (mxg_layout_for(&recipe, from->rows, from->cols, &other, &to) != MXG_OK) return;
  mxg_layout own = *from;
  const uint8_t how = fuzz_u8(in);
  size_t rows = from->rows;
  if (how >= 128) rows = fuzz_below(in, (uint32_t)(rows < 1000 ? rows : 1000) + 2);
  if (how >= 224) fuzz_spoil_layout(in, how % 2 ? &own : &to);
  if (own.scales_bytes > max || to.scales_bytes > max) return;
  const uint8_t where = fuzz_u8(in) % 66, poison = fuzz_u8(in);
  const size_t less = how >= 200 && how < 224 ? 1 : 0; /* a capacity that is too small */
  fuzz_stream stream = {fuzz_u32(in)};
  fuzz_buffer_place(&source, own.scales_bytes, where, 0);
  for (size_t i = 0; i < source.bytes; i++) source.data[i] = (uint8_t)fuzz_next(&stream);
  for (int v = 0; v < VOICES; v++)
    fuzz_buffer_place(&target[v], to.scales_bytes, where, v == REF ? (uint8_t)~poison : poison);
  const size_t src_capacity = source.bytes - (how % 2 && source.bytes > 0 ? less : 0);
  const size_t dst_capacity = to.scales_bytes - (how % 2 == 0 && to.scales_bytes > 0 ? less : 0);
  const mxg_status got = mxg_scales_reorder(&own, source.data, src_capacity, &to,
                                            target[SUBJECT].data, dst_capacity, rows);
  const mxg_status want = mxg_ref_scales_reorder(&own, source.data, src_capacity, &to,
                                                 target[REF].data, dst_capacity, rows);
  FUZZ_CHECK(got == want, "scales_reorder: %s, the golden model: %s", mxg_strerror(got),
             mxg_strerror(want));
  static uint8_t mask[FUZZ_BUFFER_MAX], nothing[FUZZ_BUFFER_MAX];
  if (got == MXG_OK) {
    mxg_layout scales_only = to; /* the mask of the codes is not wanted */
    scales_only.codes_bytes = 0;
    fuzz_written_bytes(&scales_only, rows, nothing, mask);
  }
  fuzz_check_written("reordered scales", &target[SUBJECT], &target[REF], poison,
                     got == MXG_OK ? mask : NULL);
  fuzz_buffer_check(&source, "scales");
  if (got != MXG_OK || rows != from->rows || own.scale_row_bytes == 0) return;
  /* and back */
  fuzz_buffer_place(&back, own.scales_bytes, where, 0);
  if (own.scales_bytes > 0) memcpy(back.data, source.data, own.scales_bytes);
  FUZZ_CHECK(mxg_scales_reorder(&to, target[SUBJECT].data, to.scales_bytes, &own, back.data,
                                own.scales_bytes, rows) == MXG_OK,
             "the way back");
  for (size_t x = 0; x < rows; x++)
    for (size_t i = 0; i < own.scale_row_bytes; i++) {
      const size_t b = own.scale_bytes, y = i / b;
      const size_t at =
          own.order == MXG_ORDER_ROW_MAJOR
              ? x * own.scale_stride_bytes + i
              : fuzz_scale_position(own.order, own.rows, own.scale_count, x, y) * b + i % b;
      FUZZ_CHECK(back.data[at] == source.data[at], "byte %zu after the way back", at);
    }
}

/* Weights of any shape: refused alike, or shuffled alike and back. */
static void check_weights(fuzz_input *in) {
  const size_t experts = fuzz_below(in, 4);
  size_t rows = fuzz_below(in, 5) * 16, row_bytes = fuzz_below(in, 9) * 16;
  const uint8_t how = fuzz_u8(in);
  if (how >= 192) rows += fuzz_below(in, 16);
  if (how >= 224) row_bytes += fuzz_below(in, 16);
  const bool is_interleave = how % 2 != 0;
  size_t bytes = (is_interleave ? 2 * experts : 1) * rows * row_bytes;
  if (how == 190) rows = fuzz_odd_size(in);
  if (how == 191) row_bytes = fuzz_odd_size(in);
  if (how >= 190 && how < 192 && rows != 0 && row_bytes != 0) {
    /* a size that is not there: only where the call must refuse it before it looks */
    const bool is_odd = rows % 16 != 0 || row_bytes % (is_interleave ? 64 : 16) != 0;
    if (!is_odd && !(rows > SIZE_MAX / row_bytes)) return;
    if (is_interleave && experts == 0 && !is_odd) return;
    bytes = 0;
  } else if (how >= 190 && how < 192) {
    bytes = 0;
  }
  const uint8_t where = fuzz_u8(in) % 66, poison = fuzz_u8(in);
  fuzz_stream stream = {fuzz_u32(in)};
  fuzz_buffer_place(&source, bytes, where, 0);
  for (size_t i = 0; i < bytes; i++) source.data[i] = (uint8_t)fuzz_next(&stream);
  for (int v = 0; v < VOICES; v++)
    fuzz_buffer_place(&target[v], bytes, where, v == REF ? (uint8_t)~poison : poison);
  uint8_t *out = target[SUBJECT].data, *ref_out = target[REF].data;
  const mxg_status got = is_interleave
                             ? mxg_gate_up_interleave(experts, rows, row_bytes, source.data, out)
                             : mxg_weight_shuffle(rows, row_bytes, source.data, out);
  const mxg_status want =
      is_interleave ? mxg_ref_gate_up_interleave(experts, rows, row_bytes, source.data, ref_out)
                    : mxg_ref_weight_shuffle(rows, row_bytes, source.data, ref_out);
  FUZZ_CHECK(got == want, "weights %zu x %zu x %zu: %s, the golden model: %s", experts, rows,
             row_bytes, mxg_strerror(got), mxg_strerror(want));
  static uint8_t all[FUZZ_BUFFER_MAX];
  memset(all, 1, bytes);
  fuzz_check_written("weights", &target[SUBJECT], &target[REF], poison, got == MXG_OK ? all : NULL);
  if (got != MXG_OK || bytes == 0) return;
  fuzz_buffer_place(&back, bytes, where, poison);
  const mxg_status again = is_interleave
                               ? mxg_gate_up_separate(experts, rows, row_bytes, out, back.data)
                               : mxg_weight_unshuffle(rows, row_bytes, out, back.data);
  FUZZ_CHECK(again == MXG_OK && memcmp(back.data, source.data, bytes) == 0,
             "weights %zu x %zu x %zu: the way back", experts, rows, row_bytes);
  const mxg_status ref_again =
      is_interleave ? mxg_ref_gate_up_separate(experts, rows, row_bytes, out, target[REF].data)
                    : mxg_ref_weight_unshuffle(rows, row_bytes, out, target[REF].data);
  FUZZ_CHECK(ref_again == MXG_OK && memcmp(target[REF].data, source.data, bytes) == 0,
             "weights %zu x %zu x %zu: the golden model's way back", experts, rows, row_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
  fuzz_input in = fuzz_input_of(data, bytes);
  mxg_layout layout;
  fuzz_about(NULL, NULL);
  const uint8_t how = fuzz_u8(&in);
  if (how % 8 == 6) {
    check_weights(&in);
    return 0;
  }
  fuzz_choose_recipe(&in, &recipe);
  fuzz_choose_shape(&in, &recipe, &asked_rows, &asked_cols);
  fuzz_choose_options(&in, &recipe, asked_cols, &options);
  if (how % 8 == 5) { /* any sizes at all */
    asked_rows = fuzz_odd_size(&in);
    asked_cols = fuzz_odd_size(&in);
    check_arithmetic(asked_rows, asked_cols, fuzz_odd_size(&in));
  }
  fuzz_about(describe, NULL);
  const mxg_status status = fuzz_choose_layout(&recipe, asked_rows, asked_cols, &options, &layout);
#ifdef __SIZEOF_INT128__
  check_sizes(&layout, status);
#endif
  if (status != MXG_OK) return 0;
  if (layout.rows <= 600 && layout.scale_count <= 600)
    for (int order = 0; order < 4; order++)
      check_map((mxg_scale_order)order, layout.rows, layout.scale_count);
  check_scales_reorder(&in, &layout);
  return 0;
}
