/* diagnose_case.c: a subject, opened: what was expected, and its codes, scales and values one by
 * one.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose_internal.h"

/* ---- what the library gives ---- */

static int quantize_want(mxg_case *opened) {
  const mxg_subject *subject = opened->subject;
  const mxg_layout *layout = &subject->got.layout;
  if (subject->want.codes) {
    opened->want = subject->want;
    return MXG_EXIT_OK;
  }
  int status = mxg_scratch_open(layout->codes_bytes + 1, &opened->want_codes);
  if (!status) status = mxg_scratch_open(layout->scales_bytes + 1, &opened->want_scales);
  if (status) return status;
  const mxg_packed packed = {
      opened->want_codes.data, layout->codes_bytes,
      layout->placement == MXG_PLACEMENT_SLOT ? NULL : opened->want_scales.data,
      layout->scales_bytes, *layout};
  const mxg_matrix_view x = {subject->x.data, subject->x.dtype, subject->rows, subject->x.cols,
                             subject->x.stride_elems};
  const mxg_status result = mxg_quantize(subject->recipe, &x, subject->row_weight, &packed, NULL);
  if (result != MXG_OK) return mxg_fail_status(result, "quantize");
  const mxg_packed_view want = {packed.codes, packed.codes_capacity, packed.scales,
                                packed.scales_capacity, *layout};
  opened->want = want;
  return MXG_EXIT_OK;
}

static int values_want(mxg_case *opened) {
  const mxg_subject *subject = opened->subject;
  if (subject->want_values) {
    opened->values = subject->want_values;
    return MXG_EXIT_OK;
  }
  const size_t bytes = opened->rows * opened->cols * mxg_dtype_bytes(subject->value_dtype);
  const int status = mxg_scratch_open(bytes + 1, &opened->want_values);
  if (status) return status;
  const mxg_matrix y = {opened->want_values.data, subject->value_dtype, opened->rows, opened->cols,
                        0};
  mxg_status result = MXG_ERR_NULL;
  if (subject->operation == MXG_OPERATION_COMBINE)
    result = mxg_combine(subject->recipe, subject->slots, subject->top_k, subject->weight,
                         &subject->slot_layout, 0, opened->cols, &y, NULL);
  else if (subject->source.codes)
    result = mxg_dequantize(subject->recipe, &subject->source, &y, NULL);
  if (result != MXG_OK) return mxg_fail_status(result, "diagnose");
  opened->values = opened->want_values.data;
  return MXG_EXIT_OK;
}

/* ---- sizes ---- */

static size_t found_scale_bytes(const mxg_packed_view *packed) {
  const mxg_layout *layout = &packed->layout;
  return layout->placement == MXG_PLACEMENT_SLOT ? layout->rows * layout->scale_row_bytes
                                                 : packed->scales_capacity;
}

static void find_sizes(mxg_case *opened) {
  const mxg_packed_view *got = &opened->subject->got;
  const mxg_layout *layout = &got->layout;
  const bool is_slot = layout->placement == MXG_PLACEMENT_SLOT;
  opened->scale_width = layout->scale_bytes ? layout->scale_bytes : 1;
  opened->codes_fit = got->codes_capacity >= layout->codes_bytes;
  opened->got_scale_bytes = opened->codes_fit || !is_slot ? found_scale_bytes(got) : 0;
  opened->scales_fit = is_slot ? opened->codes_fit : got->scales_capacity == layout->scales_bytes;
  if (opened->codes_fit && !is_slot && got->codes_capacity > layout->codes_bytes)
    opened->codes_fit = false;
  if (opened->codes_fit) {
    opened->got_bits = (unsigned)mxg_element_traits(opened->subject->recipe->element).bits;
    opened->got_code_stride = is_slot ? layout->slot_stride_bytes : layout->payload_stride_bytes;
    return;
  }
  if (is_slot) return;
  static const unsigned widths[] = {8, 6, 4};
  for (size_t i = 0; i < 3; i++) {
    const size_t row_bytes = layout->cols / 8 * widths[i] + (layout->cols % 8 * widths[i] + 7) / 8;
    if (row_bytes == 0 || got->codes_capacity != row_bytes * layout->rows) continue;
    opened->got_bits = widths[i];
    opened->got_code_stride = row_bytes;
  }
}

static int compare_words(const void *a, const void *b) {
  uint32_t x = 0, y = 0;
  memcpy(&x, a, sizeof x);
  memcpy(&y, b, sizeof y);
  return x < y ? -1 : x > y;
}

/* Are there the same scales, in another order? */
static bool find_permutation(mxg_case *opened) {
  const size_t count = mxg_case_unit_count(opened, MXG_UNIT_SCALE);
  if (!opened->scales_fit || count < 4) return false;
  uint32_t *got = mxg_alloc(count * sizeof *got), *want = mxg_alloc(count * sizeof *want);
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    mxg_unit unit;
    if (!mxg_case_unit(opened, MXG_UNIT_SCALE, i, &unit)) continue;
    got[used] = unit.got;
    want[used++] = unit.want;
  }
  const bool moved = memcmp(got, want, used * sizeof *got) != 0;
  qsort(got, used, sizeof *got, compare_words);
  qsort(want, used, sizeof *want, compare_words);
  const bool same = memcmp(got, want, used * sizeof *got) == 0;
  free(got);
  free(want);
  return moved && same;
}

int mxg_case_open(mxg_case *opened, const mxg_subject *subject,
                  const mxg_diagnose_options *options) {
  memset(opened, 0, sizeof *opened);
  opened->subject = subject;
  opened->options = options;
  opened->rows = subject->rows;
  uint8_t codes[256];
  float values[256];
  for (int code = 0; code < 256; code++) codes[code] = (uint8_t)code;
  const mxg_status decoded = mxg_decode_f32(subject->recipe->element, codes, 256, values);
  if (decoded != MXG_OK) return mxg_fail_status(decoded, "decode");
  for (int code = 0; code < 256; code++) opened->nan_code[code] = isnan(values[code]);
  if (subject->operation != MXG_OPERATION_QUANTIZE) {
    opened->cols = subject->value_cols;
    return values_want(opened);
  }
  opened->cols = subject->got.layout.cols;
  find_sizes(opened);
  opened->x = calloc(opened->rows + 1, sizeof *opened->x);
  if (!opened->x) return mxg_fail(MXG_EXIT_FILE, "out of memory");
  const int status = quantize_want(opened);
  if (!status) opened->is_permuted = find_permutation(opened);
  return status;
}

void mxg_case_close(mxg_case *opened) {
  if (opened->x)
    for (size_t row = 0; row < opened->rows; row++) free(opened->x[row]);
  free(opened->x);
  while (opened->amax) {
    mxg_amax_table *table = opened->amax;
    opened->amax = table->next;
    for (size_t row = 0; row < opened->rows; row++) free(table->rows[row]);
    free(table->rows);
    free(table);
  }
  while (opened->origins) {
    mxg_origins *map = opened->origins;
    opened->origins = map->next;
    free(map->origin);
    free(map);
  }
  mxg_scratch_close(&opened->want_codes);
  mxg_scratch_close(&opened->want_scales);
  mxg_scratch_close(&opened->want_values);
}

/* ---- the input ---- */

const float *mxg_case_row(mxg_case *opened, size_t row) {
  if (opened->x[row]) return opened->x[row];
  const mxg_subject *subject = opened->subject;
  const mxg_matrix_view *x = &subject->x;
  const size_t stride = x->stride_elems ? x->stride_elems : x->cols;
  float *values = mxg_alloc((opened->cols + 1) * sizeof *values);
  if (x->dtype ==
      MXG_DTYPE_F32) /* as it is: the library would make NaN canonical, without a sign */
    memcpy(values, (const unsigned char *)x->data + row * stride * 4, opened->cols * 4);
  else
    for (size_t col = 0; col < opened->cols; col++) {
      uint16_t half = 0;
      memcpy(&half, (const unsigned char *)x->data + (row * stride + col) * 2, 2);
      uint32_t bits = (uint32_t)half << 16;
      if (x->dtype == MXG_DTYPE_F16) {
        mxg_to_f32(MXG_DTYPE_F16, &half, 1, &values[col]);
        bits = mxg_float_bits(values[col]);
        if (isnan(values[col]) && half >> 15) bits |= 0x80000000u;
      }
      values[col] = mxg_bits_float(bits);
    }
  if (subject->row_weight)
    for (size_t col = 0; col < opened->cols; col++) {
      const float product = values[col] * subject->row_weight[row];
      /* the sign of a NaN's code is that of the source */
      values[col] = isnan(product)
                        ? mxg_bits_float(0x7FC00000u | (mxg_float_bits(values[col]) & 0x80000000u))
                        : product;
    }
  opened->x[row] = values;
  return values;
}

static mxg_amax *amax_of_row(mxg_case *opened, size_t block_elems, size_t row) {
  const float *x = mxg_case_row(opened, row);
  const size_t blocks = mxg_size_ceil_div(opened->cols, block_elems);
  mxg_amax *found = mxg_alloc((blocks + 1) * sizeof *found);
  for (size_t block = 0; block < blocks; block++) {
    const size_t first = block * block_elems;
    const size_t last = block_elems < opened->cols - first ? first + block_elems : opened->cols;
    uint32_t greatest = 0;
    bool has_nan = false;
    for (size_t col = first; col < last; col++) {
      const uint32_t magnitude = mxg_float_bits(x[col]) & 0x7FFFFFFFu;
      if (magnitude > 0x7F800000u)
        has_nan = true;
      else if (magnitude > greatest)
        greatest = magnitude;
    }
    found[block].value = mxg_bits_float(greatest);
    found[block].has_nan = has_nan;
  }
  return found;
}

mxg_amax mxg_case_amax(mxg_case *opened, size_t block_elems, size_t row, size_t block) {
  mxg_amax_table *table = opened->amax;
  while (table && table->block != block_elems) table = table->next;
  if (!table) {
    table = mxg_alloc(sizeof *table);
    table->block = block_elems;
    table->rows = mxg_alloc((opened->rows + 1) * sizeof *table->rows);
    memset(table->rows, 0, (opened->rows + 1) * sizeof *table->rows);
    table->next = opened->amax;
    opened->amax = table;
  }
  if (!table->rows[row]) table->rows[row] = amax_of_row(opened, block_elems, row);
  return table->rows[row][block];
}

/* ---- units ---- */

size_t mxg_case_origin(mxg_case *opened, mxg_scale_order order, size_t rows, size_t columns,
                       size_t position) {
  if (order == MXG_ORDER_ROW_MAJOR) return position < rows * columns ? position : SIZE_MAX;
  mxg_origins *map = opened->origins;
  while (map && !(map->order == order && map->columns == columns)) map = map->next;
  if (!map) {
    map = mxg_alloc(sizeof *map);
    map->order = order;
    map->columns = columns;
    map->count = 0;
    mxg_scale_matrix_count(order, rows, columns, &map->count);
    map->origin = mxg_alloc((map->count + 1) * sizeof *map->origin);
    for (size_t i = 0; i < map->count; i++) map->origin[i] = SIZE_MAX;
    for (size_t row = 0; row < rows; row++)
      for (size_t col = 0; col < columns; col++)
        map->origin[mxg_scale_index(order, rows, columns, row, col)] = row * columns + col;
    map->next = opened->origins;
    opened->origins = map;
  }
  return position < map->count ? map->origin[position] : SIZE_MAX;
}

unsigned mxg_code_at(const unsigned char *row, size_t col, unsigned bits) {
  if (bits == 8) return row[col];
  const size_t bit = col % 8 * bits;
  const unsigned char *at = row + col / 8 * bits + bit / 8;
  unsigned window = *at;
  if (bit % 8 + bits > 8) window |= (unsigned)at[1] << 8;
  return window >> (bit % 8) & ((1u << bits) - 1);
}

static uint32_t word_at(const unsigned char *bytes, unsigned width) {
  uint32_t word = 0;
  for (unsigned i = width; i-- > 0;) word = word << 8 | bytes[i];
  return word;
}

static const unsigned char *scale_address(const mxg_packed_view *packed, size_t position) {
  const mxg_layout *layout = &packed->layout;
  const size_t width = layout->scale_bytes;
  if (layout->placement == MXG_PLACEMENT_SLOT)
    return (const unsigned char *)packed->codes +
           position / layout->scale_count * layout->slot_stride_bytes + layout->scale_offset_bytes +
           position % layout->scale_count * width;
  if (layout->order == MXG_ORDER_ROW_MAJOR)
    return (const unsigned char *)packed->scales +
           position / layout->scale_count * layout->scale_stride_bytes +
           position % layout->scale_count * width;
  return (const unsigned char *)packed->scales + position * width;
}

uint32_t mxg_scale_word(const mxg_packed_view *packed, size_t position) {
  return word_at(scale_address(packed, position), packed->layout.scale_bytes);
}

unsigned mxg_case_want_code(const mxg_case *opened, size_t row, size_t col) {
  const mxg_layout *layout = &opened->want.layout;
  const size_t stride = layout->placement == MXG_PLACEMENT_SLOT ? layout->slot_stride_bytes
                                                                : layout->payload_stride_bytes;
  return mxg_code_at((const unsigned char *)opened->want.codes + row * stride, col,
                     opened->got_bits);
}

static bool is_half_width(mxg_dtype dtype) {
  return dtype != MXG_DTYPE_F32;
}

bool mxg_case_equal(const mxg_case *opened, mxg_unit_kind kind, uint32_t a, uint32_t b) {
  if (a == b) return true;
  if (opened->options->bits) return false;
  if (kind == MXG_UNIT_CODE)
    return a < 256 && b < 256 && opened->nan_code[a] && opened->nan_code[b];
  const mxg_subject *subject = opened->subject;
  if (kind == MXG_UNIT_SCALE)
    return subject->recipe->scale == MXG_SCALE_F32 && (a & 0x7FFFFFFFu) > 0x7F800000u &&
           (b & 0x7FFFFFFFu) > 0x7F800000u;
  const uint32_t infinity = !is_half_width(subject->value_dtype)     ? 0x7F800000u
                            : subject->value_dtype == MXG_DTYPE_BF16 ? 0x7F80u
                                                                     : 0x7C00u;
  const uint32_t magnitude = is_half_width(subject->value_dtype) ? 0x7FFFu : 0x7FFFFFFFu;
  return (a & magnitude) > infinity && (b & magnitude) > infinity;
}

size_t mxg_case_unit_count(const mxg_case *opened, mxg_unit_kind kind) {
  const bool is_packed = opened->subject->operation == MXG_OPERATION_QUANTIZE;
  if (kind == MXG_UNIT_VALUE) return is_packed ? 0 : opened->rows * opened->cols;
  if (!is_packed) return 0;
  if (kind == MXG_UNIT_CODE) return opened->got_bits ? opened->rows * opened->cols : 0;
  return opened->got_scale_bytes / opened->scale_width;
}

static bool code_unit(mxg_case *opened, size_t index, mxg_unit *out) {
  const mxg_subject *subject = opened->subject;
  const size_t row = index / opened->cols, col = index % opened->cols;
  const unsigned char *codes = subject->got.codes;
  out->at = index;
  out->got = mxg_code_at(codes + row * opened->got_code_stride, col, opened->got_bits);
  out->want = 0;
  out->differs = true;
  if (!opened->codes_fit) return true;
  out->want = mxg_case_want_code(opened, row, col);
  out->differs = !mxg_case_equal(opened, MXG_UNIT_CODE, out->got, out->want);
  return !(out->differs && opened->options->skip_nan && subject->x.data && opened->got_bits < 8 &&
           isnan(mxg_case_row(opened, row)[col]));
}

static bool scale_unit(mxg_case *opened, size_t position, mxg_unit *out) {
  const mxg_packed_view *got = &opened->subject->got;
  const mxg_layout *layout = &got->layout;
  out->at = position;
  out->want = 0;
  out->differs = true;
  if (!opened->scales_fit) {
    out->got = word_at((const unsigned char *)got->scales + position * opened->scale_width,
                       opened->scale_width);
    return true;
  }
  const size_t origin =
      mxg_case_origin(opened, layout->order, layout->rows, layout->scale_count, position);
  if (origin == SIZE_MAX || origin / layout->scale_count >= opened->rows) return false;
  out->got = mxg_scale_word(got, position);
  out->want = mxg_scale_word(&opened->want, position);
  out->differs = !mxg_case_equal(opened, MXG_UNIT_SCALE, out->got, out->want);
  return true;
}

static uint32_t value_at(const void *values, size_t index, mxg_dtype dtype) {
  if (!is_half_width(dtype)) {
    uint32_t bits = 0;
    memcpy(&bits, (const unsigned char *)values + index * 4, 4);
    return bits;
  }
  uint16_t half = 0;
  memcpy(&half, (const unsigned char *)values + index * 2, 2);
  return half;
}

bool mxg_case_unit(mxg_case *opened, mxg_unit_kind kind, size_t index, mxg_unit *out) {
  if (kind == MXG_UNIT_CODE) return code_unit(opened, index, out);
  if (kind == MXG_UNIT_SCALE) return scale_unit(opened, index, out);
  const mxg_subject *subject = opened->subject;
  out->at = index;
  out->got = value_at(subject->got_values, index, subject->value_dtype);
  out->want = value_at(opened->values, index, subject->value_dtype);
  out->differs = !mxg_case_equal(opened, kind, out->got, out->want);
  return true;
}

void mxg_units_add(mxg_units *units, const mxg_unit *unit) {
  if (units->count == units->capacity) {
    const size_t capacity = units->capacity ? 2 * units->capacity : 1024;
    mxg_unit *larger = mxg_alloc(capacity * sizeof *larger);
    if (units->count) memcpy(larger, units->list, units->count * sizeof *larger);
    free(units->list);
    units->list = larger;
    units->capacity = capacity;
  }
  units->list[units->count++] = *unit;
}

/* ---- tallies ---- */

void mxg_tally_permuted(const mxg_case *opened, const mxg_units *units, mxg_tally *tally) {
  for (size_t i = 0; i < units->count; i++)
    if (!opened->is_permuted)
      mxg_tally_miss(&units->list[i], units, tally);
    else if (units->list[i].differs)
      tally->explains += units->differing_weight;
}

void mxg_tally_miss(const mxg_unit *unit, const mxg_units *units, mxg_tally *tally) {
  if (!unit->differs) tally->broken += units->equal_weight;
  if (tally->is_wrong) tally->is_wrong[unit - units->list] = true;
}

void mxg_tally_unit(const mxg_case *opened, mxg_unit_kind kind, const mxg_unit *unit,
                    const mxg_units *units, uint32_t model, mxg_tally *tally) {
  const bool gives = mxg_case_equal(opened, kind, model, unit->got);
  if (tally->is_wrong) tally->is_wrong[unit - units->list] = !gives;
  if (gives) {
    if (unit->differs) tally->explains += units->differing_weight;
  } else if (!unit->differs) {
    tally->broken += units->equal_weight;
  }
}
