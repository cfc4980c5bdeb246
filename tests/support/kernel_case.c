/* kernel_case.c
 * SPDX-License-Identifier: MIT */
#include "kernel_case.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "compare.h"
#include "kernel_list.h"
#include "packed.h"
#include "recipes.h"
#include "trap.h"
#include "values.h"

enum { REF_POISON = 0x3A, POISON = 0xC5, ISAS = 4 };

static trap inputs[3], pool_slots[KERNEL_POOL], pool_pointers, wanted[2], outputs[2];

static size_t rotated(const kernel_case *c, size_t by) {
  return (c->misalign * (2 * by + 1) + by) % 64; /* an odd factor: every rotation meets all 64 */
}

static void *place(trap *t, const kernel_case *c, size_t by, const void *bytes, size_t count) {
  trap_place(t, count, rotated(c, by), c->at_front, 0);
  if (count != 0) memcpy(t->data, bytes, count);
  return t->data;
}

static const char *words(const kernel_case *c, const char *kernel, const char *what) {
  static char text[1024];
  snprintf(text, sizeof text, "%s: %s | %s %zu x %zu, misalign %zu at the %s, %s%s | %s", kernel,
           what, dtype_name(c->dtype), c->rows, c->cols, c->misalign,
           c->at_front ? "front" : "back", fp_environment_name(c->environment),
           c->threads > 1 ? ", threads" : "", recipe_text(&c->recipe));
  return text;
}

static void expect_canaries(const trap *t, const kernel_case *c, const char *kernel,
                            const char *what) {
  const char *dead = trap_check(t);
  if (dead != NULL) ck_abort_msg("%s: %s", words(c, kernel, what), dead);
}

/* The kernels that serve a call on this machine, each once, with a mask that selects it. */
typedef struct kernel_runs {
  size_t count;
  const char *names[ISAS];
  uint32_t masks[ISAS];
} kernel_runs;

static kernel_runs runs_of(const kernel_case *c, mxg_operation operation) {
  kernel_runs runs = {0, {NULL}, {0}};
  for (size_t i = 0; isa_at(i) != 0; i++) {
    if ((mxg_cpu_features() & isa_at(i)) == 0) continue;
    const char *name = kernel_of(&c->recipe, operation, c->dtype, isa_at(i));
    size_t k = 0;
    while (k < runs.count && strcmp(runs.names[k], name) != 0) k++;
    if (k < runs.count) continue;
    runs.names[runs.count] = name;
    runs.masks[runs.count++] = isa_at(i);
  }
  return runs;
}

static void expect_ok(mxg_status status, const kernel_case *c, const char *kernel) {
  if (status != MXG_OK) ck_abort_msg("%s: status %d", words(c, kernel, "call"), (int)status);
}

static mxg_layout layout_of(const kernel_case *c, mxg_placement placement) {
  mxg_layout_options options;
  mxg_layout layout;
  memset(&options, 0, sizeof options);
  options.placement = placement;
  expect_ok(mxg_layout_for(&c->recipe, c->rows, c->cols, &options, &layout), c, "layout");
  return layout;
}

kernel_bytes kernel_bytes_of(const kernel_case *c) {
  const mxg_layout layout = layout_of(c, MXG_PLACEMENT_SEPARATE);
  const kernel_bytes bytes = {layout.codes_bytes, layout.scales_bytes, layout.slot_bytes,
                              layout.payload_row_bytes};
  return bytes;
}

static size_t ref_rows(const kernel_case *c) {
  return c->distinct != 0 && c->distinct < c->rows ? c->distinct : c->rows;
}

/* The rows of ref's result that it has not done. */
static void repeat_wanted(const kernel_case *c, trap *result, size_t row_bytes) {
  for (size_t r = ref_rows(c); r < c->rows && row_bytes != 0; r++)
    memcpy(result->data + r * row_bytes, result->data + r % ref_rows(c) * row_bytes, row_bytes);
}

/* ---- quantise ---- */

/* The block of the first difference, in words. */
static const char *block_words(const kernel_case *c, const mxg_layout *layout, const void *x,
                               size_t code_byte, size_t scale_byte) {
  static char text[700];
  size_t row, col;
  if (code_byte != SIZE_MAX) {
    row = code_byte / layout->payload_row_bytes;
    col = code_byte % layout->payload_row_bytes * 8 /
          (size_t)mxg_element_traits(c->recipe.element).bits;
  } else {
    row = scale_byte / layout->scale_row_bytes;
    col = scale_byte % layout->scale_row_bytes / layout->scale_bytes * c->recipe.block;
  }
  const size_t index = row * c->cols + col;
  const size_t block = col / recipe_block(&c->recipe) * recipe_block(&c->recipe);
  int length = snprintf(text, sizeof text, "row %zu col %zu x %X; its block from col %zu:", row,
                        col, (unsigned)values_load(x, c->dtype, index), block);
  for (size_t i = 0; i < recipe_block(&c->recipe) && block + i < c->cols && i < 64; i++)
    if (length > 0 && (size_t)length < sizeof text)
      length += snprintf(text + length, sizeof text - (size_t)length, " %X",
                         (unsigned)values_load(x, c->dtype, row * c->cols + block + i));
  return text;
}

static void expect_packed(const kernel_case *c, const char *kernel, const mxg_layout *layout,
                          const void *x) {
  const size_t scale = first_difference(outputs[1].data, wanted[1].data, layout->scales_bytes);
  const size_t code = first_difference(outputs[0].data, wanted[0].data, layout->codes_bytes);
  const size_t at = scale != SIZE_MAX ? scale : code, which = scale != SIZE_MAX;
  if (at != SIZE_MAX)
    ck_abort_msg("%s: byte %zu got %02X want %02X; %s",
                 words(c, kernel, which ? "scales" : "codes"), at, outputs[which].data[at],
                 wanted[which].data[at],
                 block_words(c, layout, x, which ? SIZE_MAX : at, which ? at : SIZE_MAX));
  expect_canaries(&outputs[0], c, kernel, "codes");
  expect_canaries(&outputs[1], c, kernel, "scales");
}

void kernel_case_quantize(const kernel_case *c, const void *x, const float *row_weight) {
  const mxg_layout layout = layout_of(c, MXG_PLACEMENT_SEPARATE);
  const size_t x_bytes = c->rows * c->cols * mxg_dtype_bytes(c->dtype);
  const kernel_runs runs = runs_of(c, MXG_OPERATION_QUANTIZE);
  const mxg_matrix_view view = {place(&inputs[0], c, 0, x, x_bytes), c->dtype, c->rows, c->cols, 0};
  const float *weight =
      row_weight == NULL ? NULL : place(&inputs[1], c, 1, row_weight, c->rows * sizeof(float));
  trap_place(&wanted[0], layout.codes_bytes, 0, false, REF_POISON);
  trap_place(&wanted[1], layout.scales_bytes, 0, false, REF_POISON);
  const mxg_packed want = {wanted[0].data, layout.codes_bytes, wanted[1].data, layout.scales_bytes,
                           layout};
  mxg_matrix_view first = view;
  first.rows = ref_rows(c);
  expect_ok(mxg_ref_quantize(&c->recipe, &first, weight, &want, NULL), c, "ref");
  repeat_wanted(c, &wanted[0], layout.payload_row_bytes);
  repeat_wanted(c, &wanted[1], layout.scale_row_bytes);
  for (size_t k = 0; k < runs.count; k++) {
    const mxg_run run = {c->threads, runs.masks[k], {0}};
    trap_place(&outputs[0], layout.codes_bytes, rotated(c, 2), c->at_front, POISON);
    ck_assert_msg(c->misalign != KERNEL_ALIGNED || (uintptr_t)outputs[0].data % 64 == 0, "aligned");
    trap_place(&outputs[1], layout.scales_bytes, rotated(c, 3), c->at_front, POISON);
    const mxg_packed out = {outputs[0].data, layout.codes_bytes, outputs[1].data,
                            layout.scales_bytes, layout};
    fp_environment_set(c->environment);
    const mxg_status status = mxg_quantize(&c->recipe, &view, weight, &out, &run);
    fp_environment_set(FPENV_DEFAULT);
    expect_ok(status, c, runs.names[k]);
    expect_packed(c, runs.names[k], &layout, view.data);
    expect_canaries(&inputs[0], c, runs.names[k], "source");
    expect_bytes(inputs[0].data, x, x_bytes, "%s", words(c, runs.names[k], "source was written"));
    kernel_count(runs.names[k], c->dtype);
  }
}

/* ---- dequantise ---- */

static void expect_values(const kernel_case *c, const char *kernel, const char *more) {
  const size_t width = mxg_dtype_bytes(c->dtype);
  const size_t at = first_difference(outputs[0].data, wanted[0].data, outputs[0].bytes);
  if (at != SIZE_MAX)
    ck_abort_msg("%s: value %zu got %X want %X; %s", words(c, kernel, "values"), at / width,
                 (unsigned)values_load(outputs[0].data, c->dtype, at / width),
                 (unsigned)values_load(wanted[0].data, c->dtype, at / width), more);
  expect_canaries(&outputs[0], c, kernel, "values");
}

/* The code and scale of the first difference, in words. */
static const char *code_words(const kernel_case *c, const mxg_layout *layout, const uint8_t *codes,
                              const uint8_t *scales) {
  static char text[160];
  const size_t at = first_difference(outputs[0].data, wanted[0].data, outputs[0].bytes);
  if (at == SIZE_MAX) return "";
  const size_t index = at / mxg_dtype_bytes(c->dtype), row = index / c->cols, col = index % c->cols;
  const uint32_t code = code_at(c->recipe.element, codes + row * layout->payload_row_bytes, col);
  uint32_t scale = 0;
  if (c->recipe.scale != MXG_SCALE_NONE)
    scale = scale_at(&c->recipe, scales + row * layout->scale_row_bytes, col / c->recipe.block);
  snprintf(text, sizeof text, "row %zu col %zu code %02X scale %X", row, col, (unsigned)code,
           (unsigned)scale);
  return text;
}

void kernel_case_dequantize(const kernel_case *c, const uint8_t *codes, const uint8_t *scales) {
  const mxg_layout layout = layout_of(c, MXG_PLACEMENT_SEPARATE);
  const size_t y_bytes = c->rows * c->cols * mxg_dtype_bytes(c->dtype);
  const kernel_runs runs = runs_of(c, MXG_OPERATION_DEQUANTIZE);
  const mxg_packed_view in = {
      place(&inputs[0], c, 0, codes, layout.codes_bytes), layout.codes_bytes,
      place(&inputs[1], c, 1, scales, layout.scales_bytes), layout.scales_bytes, layout};
  trap_place(&wanted[0], y_bytes, 0, false, REF_POISON);
  const mxg_matrix want = {wanted[0].data, c->dtype, ref_rows(c), c->cols, 0};
  expect_ok(mxg_ref_dequantize(&c->recipe, &in, &want, NULL), c, "ref");
  repeat_wanted(c, &wanted[0], y_bytes / c->rows);
  for (size_t k = 0; k < runs.count; k++) {
    const mxg_run run = {c->threads, runs.masks[k], {0}};
    trap_place(&outputs[0], y_bytes, rotated(c, 2), c->at_front, POISON);
    const mxg_matrix y = {outputs[0].data, c->dtype, c->rows, c->cols, 0};
    fp_environment_set(c->environment);
    const mxg_status status = mxg_dequantize(&c->recipe, &in, &y, &run);
    fp_environment_set(FPENV_DEFAULT);
    expect_ok(status, c, runs.names[k]);
    expect_values(c, runs.names[k], code_words(c, &layout, inputs[0].data, inputs[1].data));
    expect_canaries(&inputs[0], c, runs.names[k], "codes");
    expect_canaries(&inputs[1], c, runs.names[k], "scales");
    kernel_count(runs.names[k], c->dtype);
  }
}

/* ---- combine ---- */

/* Every source's code, scale and weight at the first difference. */
static const char *sum_words(const kernel_case *c, const mxg_layout *layout, size_t top_k,
                             const int *pick, const float *weight) {
  static char text[700];
  const size_t at = first_difference(outputs[0].data, wanted[0].data, outputs[0].bytes);
  if (at == SIZE_MAX) return "";
  const size_t index = at / mxg_dtype_bytes(c->dtype), row = index / c->cols, col = index % c->cols;
  pick += row * top_k;
  if (weight != NULL) weight += row * top_k;
  int length = snprintf(text, sizeof text,
                        "row %zu col %zu of top_k %zu, (code, first scale, scale, weight):", row,
                        col, top_k);
  for (size_t k = 0; k < top_k && length > 0 && (size_t)length < sizeof text; k++) {
    if (pick[k] < 0) continue;
    const uint8_t *slot = pool_slots[pick[k]].data, *scales = slot + layout->scale_offset_bytes;
    const bool scaled = c->recipe.scale != MXG_SCALE_NONE;
    length += snprintf(text + length, sizeof text - (size_t)length, " (%02X, %X, %X, %X)",
                       (unsigned)code_at(c->recipe.element, slot, col),
                       scaled ? (unsigned)scale_at(&c->recipe, scales, 0) : 0,
                       scaled ? (unsigned)scale_at(&c->recipe, scales, col / c->recipe.block) : 0,
                       weight == NULL ? 0 : (unsigned)values_load(weight, MXG_DTYPE_F32, k));
  }
  return text;
}

void kernel_case_combine(const kernel_case *c, const uint8_t *pool, size_t top_k, const int *pick,
                         const float *weight, size_t begin, size_t end) {
  const mxg_layout layout = layout_of(c, MXG_PLACEMENT_SLOT);
  const size_t y_bytes = c->rows * c->cols * mxg_dtype_bytes(c->dtype);
  const size_t sources = c->rows * top_k;
  const kernel_runs runs = runs_of(c, MXG_OPERATION_COMBINE);
  /* Against a trap, before or behind. */
  const size_t pointers = sources * sizeof(void *);
  trap_place(&pool_pointers, pointers, c->at_front ? 0 : (64 - pointers % 64) % 64, c->at_front, 0);
  const void **slots = (const void **)(void *)pool_pointers.data;
  for (size_t i = 0; i < KERNEL_POOL; i++)
    place(&pool_slots[i], c, i + 4, pool + i * layout.slot_bytes, layout.slot_bytes);
  for (size_t i = 0; i < sources; i++) slots[i] = pick[i] < 0 ? NULL : pool_slots[pick[i]].data;
  const float *w = weight == NULL ? NULL : place(&inputs[0], c, 0, weight, sources * sizeof(float));
  /* The same poison: what lies outside the segment is compared too. */
  trap_place(&wanted[0], y_bytes, 0, false, POISON);
  const mxg_matrix want = {wanted[0].data, c->dtype, ref_rows(c), c->cols, 0};
  expect_ok(mxg_ref_combine(&c->recipe, slots, top_k, w, &layout, begin, end, &want, NULL), c,
            "ref");
  repeat_wanted(c, &wanted[0], y_bytes / c->rows);
  for (size_t k = 0; k < runs.count; k++) {
    const mxg_run run = {c->threads, runs.masks[k], {0}};
    trap_place(&outputs[0], y_bytes, rotated(c, 2), c->at_front, POISON);
    const mxg_matrix y = {outputs[0].data, c->dtype, c->rows, c->cols, 0};
    expect_ok(mxg_combine(&c->recipe, slots, top_k, w, &layout, begin, end, &y, &run), c,
              runs.names[k]);
    expect_values(c, runs.names[k], sum_words(c, &layout, top_k, pick, w));
    for (size_t i = 0; i < KERNEL_POOL; i++)
      expect_canaries(&pool_slots[i], c, runs.names[k], "slot");
    kernel_count(runs.names[k], c->dtype);
  }
}

/* ---- arrays ---- */

void kernel_case_encode(const kernel_case *c, const float *x) {
  const char *kernel = array_kernel(KERNEL_ENCODE);
  const float *source = place(&inputs[0], c, 0, x, c->cols * sizeof(float));
  trap_place(&wanted[0], c->cols, 0, false, REF_POISON);
  trap_place(&outputs[0], c->cols, rotated(c, 2), c->at_front, POISON);
  expect_ok(mxg_ref_encode_f32(&c->recipe, source, c->cols, wanted[0].data), c, "ref");
  expect_ok(mxg_encode_f32(&c->recipe, source, c->cols, outputs[0].data), c, kernel);
  const size_t at = first_difference(outputs[0].data, wanted[0].data, c->cols);
  if (at != SIZE_MAX)
    ck_abort_msg("%s: element %zu, x %08X: got %02X want %02X", words(c, kernel, "codes"), at,
                 (unsigned)values_load(source, MXG_DTYPE_F32, at), outputs[0].data[at],
                 wanted[0].data[at]);
  expect_canaries(&outputs[0], c, kernel, "codes");
  kernel_count(kernel, MXG_DTYPE_F32);
}

void kernel_case_decode(const kernel_case *c, const uint8_t *codes) {
  const char *kernel = array_kernel(KERNEL_DECODE);
  const uint8_t *source = place(&inputs[0], c, 0, codes, c->cols);
  trap_place(&wanted[0], c->cols * sizeof(float), 0, false, REF_POISON);
  trap_place(&outputs[0], c->cols * sizeof(float), rotated(c, 2), c->at_front, POISON);
  float *want = (float *)(void *)wanted[0].data, *got = (float *)(void *)outputs[0].data;
  expect_ok(mxg_ref_decode_f32(c->recipe.element, source, c->cols, want), c, "ref");
  expect_ok(mxg_decode_f32(c->recipe.element, source, c->cols, got), c, kernel);
  const size_t at = first_difference(outputs[0].data, wanted[0].data, c->cols * sizeof(float));
  if (at != SIZE_MAX)
    ck_abort_msg("%s: element %zu, code %02X", words(c, kernel, "values"), at / 4, source[at / 4]);
  expect_canaries(&outputs[0], c, kernel, "values");
  kernel_count(kernel, MXG_DTYPE_F32);
}
