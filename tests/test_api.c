/* test_api.c: the contract of every public call, line by line: each status that its comment names,
 * nothing written on an error, the order of the checks, overlap to the byte, and equal statuses of
 * codec and ref.
 * SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <string.h>

#include "check_main.h"
#include "compare.h"
#include "fp_environment.h"
#include "impl.h"
#include "recipes.h"

/* ---- quantise, dequantise, combine: one set of arguments that can be spoiled in many ways ---- */

enum { LIVE = 2, PADDED = 3, COLS = 133, TOP_K = 3 };

/* Everything that a call may touch; compared whole before and after. Before slots, weight and
 * pointers is room for a y that shares one byte with them and none with the others. */
static struct memory {
  float x[LIVE * COLS];
  uint8_t codes[PADDED * COLS], scales[PADDED * 8];
  float row_weight[LIVE], y[LIVE * COLS];
  uint8_t slots[LIVE * TOP_K][COLS + 8];
  float before_weight[LIVE * COLS], weight[LIVE * TOP_K], before_pointers[LIVE * COLS];
  const void *pointers[LIVE * TOP_K];
} memory;

typedef struct arguments {
  mxg_recipe recipe;
  const mxg_recipe *recipe_pointer;
  mxg_matrix matrix; /* x or y */
  bool has_matrix;
  mxg_packed packed;
  bool has_packed;
  const float *row_weight;
  const void *const *slots;
  size_t top_k;
  const float *weight;
  mxg_layout layout; /* combine */
  const mxg_layout *layout_pointer;
  size_t col_begin, col_end;
  mxg_run run;
  fp_environment environment;
} arguments;

typedef enum operation { QUANTIZE, DEQUANTIZE, COMBINE, OPERATIONS } operation;
static const char *const operation_names[] = {"quantize", "dequantize", "combine"};

static void arguments_valid(arguments *a, operation op) {
  static const mxg_layout_options slot = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
  memset(a, 0, sizeof *a);
  memset(&memory, 0x3A, sizeof memory);
  a->recipe = recipe_of("aiter-fp8-128"); /* f32 scales: the FP environment counts */
  a->recipe_pointer = &a->recipe;
  const mxg_matrix matrix = {op == QUANTIZE ? memory.x : memory.y, MXG_DTYPE_F32, LIVE, COLS, 0};
  a->matrix = matrix;
  a->has_matrix = a->has_packed = true;
  ck_assert_int_eq(mxg_layout_for(&a->recipe, PADDED, COLS, NULL, &a->packed.layout), MXG_OK);
  a->packed.codes = memory.codes;
  a->packed.codes_capacity = sizeof memory.codes;
  a->packed.scales = memory.scales;
  a->packed.scales_capacity = sizeof memory.scales;
  a->row_weight = memory.row_weight;
  ck_assert_int_eq(mxg_layout_for(&a->recipe, PADDED, COLS, &slot, &a->layout), MXG_OK);
  ck_assert_uint_eq(a->layout.slot_bytes, sizeof memory.slots[0]);
  a->layout_pointer = &a->layout;
  for (size_t i = 0; i < LIVE * TOP_K; i++) memory.pointers[i] = memory.slots[i];
  a->slots = memory.pointers;
  a->top_k = TOP_K;
  a->weight = memory.weight;
  a->col_end = COLS;
}

static mxg_status call(const impl *side, operation op, const arguments *a) {
  const mxg_matrix_view x = {a->matrix.data, a->matrix.dtype, a->matrix.rows, a->matrix.cols,
                             a->matrix.stride_elems};
  const mxg_packed_view in = {a->packed.codes, a->packed.codes_capacity, a->packed.scales,
                              a->packed.scales_capacity, a->packed.layout};
  mxg_status status = MXG_OK;
  fp_environment_set(a->environment);
  switch (op) {
    case QUANTIZE:
      status = side->quantize(a->recipe_pointer, a->has_matrix ? &x : NULL, a->row_weight,
                              a->has_packed ? &a->packed : NULL, &a->run);
      break;
    case DEQUANTIZE:
      status = side->dequantize(a->recipe_pointer, a->has_packed ? &in : NULL,
                                a->has_matrix ? &a->matrix : NULL, &a->run);
      break;
    case COMBINE:
      status = side->combine(a->recipe_pointer, a->slots, a->top_k, a->weight, a->layout_pointer,
                             a->col_begin, a->col_end, a->has_matrix ? &a->matrix : NULL, &a->run);
      break;
    case OPERATIONS: break;
  }
  fp_environment_set(FPENV_DEFAULT);
  return status;
}

/* One way each to spoil the arguments, in the order in which the checks find them. */
typedef struct spoiler {
  const char *what;
  mxg_status status;
  unsigned operations; /* bit 1 << operation */
  void (*spoil)(arguments *a);
} spoiler;

#define Q (1u << QUANTIZE)
#define D (1u << DEQUANTIZE)
#define C (1u << COMBINE)

static void no_recipe(arguments *a) {
  a->recipe_pointer = NULL;
}
static void no_matrix(arguments *a) {
  a->has_matrix = false;
}
static void no_packed(arguments *a) {
  a->has_packed = false;
}
static void no_layout(arguments *a) {
  a->layout_pointer = NULL;
}
static void recipe_reserved(arguments *a) {
  a->recipe.reserved[2] = 1;
}
static void recipe_element(arguments *a) {
  a->recipe.element = (mxg_element)8;
}
static void recipe_block_0(arguments *a) {
  a->recipe.block = 0;
}
static void run_reserved(arguments *a) {
  a->run.reserved[5] = 1;
}
static void type_0(arguments *a) {
  a->matrix.dtype = (mxg_dtype)0;
}
static void type_4(arguments *a) {
  a->matrix.dtype = (mxg_dtype)4;
}
static void layout_rows(arguments *a) {
  a->packed.layout.rows = a->layout.rows = PADDED + 1;
}
static void layout_reserved(arguments *a) {
  a->packed.layout.reserved = a->layout.reserved = 1;
}
static void layout_other_recipe(arguments *a) {
  const mxg_recipe other = recipe_of("aiter-fp8-128,block=64");
  ck_assert_int_eq(mxg_layout_for(&other, PADDED, COLS, NULL, &a->packed.layout), MXG_OK);
}
static void layout_separate(arguments *a) {
  a->layout = a->packed.layout;
}
static void shape_cols(arguments *a) {
  a->matrix.cols = COLS - 1;
}
static void shape_more_cols(arguments *a) {
  a->matrix.cols = COLS + 1;
}
static void shape_rows(arguments *a) {
  a->matrix.rows = PADDED + 1;
}
static void shape_stride(arguments *a) {
  a->matrix.stride_elems = COLS - 1;
}
static void shape_top_k(arguments *a) {
  a->top_k = 65;
}
static void shape_begin(arguments *a) {
  a->col_begin = 5;
  a->col_end = 4;
}
static void shape_end(arguments *a) {
  a->col_end = COLS + 1;
}
static void size_stride(arguments *a) {
  a->matrix.stride_elems = SIZE_MAX / 4 + 2;
}
static void size_elements(arguments *a) {
  a->matrix.stride_elems = SIZE_MAX - COLS + 1;
}
static void size_rows(arguments *a) {
  a->matrix.rows = SIZE_MAX / COLS;
}
static void no_values(arguments *a) {
  a->matrix.data = NULL;
}
static void no_codes(arguments *a) {
  a->packed.codes = NULL;
}
static void no_scales(arguments *a) {
  a->packed.scales = NULL;
}
static void no_slots(arguments *a) {
  a->slots = NULL;
}
static void codes_short(arguments *a) {
  a->packed.codes_capacity = a->packed.layout.codes_bytes - 1;
}
static void scales_short(arguments *a) {
  a->packed.scales_capacity = a->packed.layout.scales_bytes - 1;
}
/* One byte in common, and nothing else: what lies beside in `memory` is not part of the call. */
static void overlap_codes(arguments *a) {
  a->matrix.data = memory.codes + 2 * COLS - 1;
  a->packed.scales = memory.slots;
  a->packed.scales_capacity = sizeof memory.slots;
}
static void overlap_codes_front(arguments *a) {
  a->matrix.data = (void *)((uintptr_t)memory.codes - sizeof memory.x + 1);
}
static void overlap_scales(arguments *a) {
  a->matrix.data = memory.scales + 2 * 8 - 1;
}
static void overlap_both(arguments *a) {
  a->packed.scales = memory.codes + 2 * COLS - 1;
}
static void overlap_weight(arguments *a) {
  a->row_weight = (const float *)(const void *)(memory.codes + 2 * COLS - 1);
}
static void overlap_weight_scales(arguments *a) {
  a->row_weight = (const float *)(const void *)(memory.scales + 2 * 8 - 1);
}
static void overlap_slot(arguments *a) {
  a->matrix.data = (void *)((uintptr_t)memory.slots[0] - sizeof memory.y + 1);
  a->weight = NULL;
}
static void overlap_slot_end(arguments *a) {
  static const void *elsewhere[LIVE * TOP_K];
  memcpy(elsewhere, memory.pointers, sizeof elsewhere);
  a->slots = elsewhere;
  a->matrix.data = (void *)((uintptr_t)memory.slots[5] + COLS + 7);
}
static void overlap_weights(arguments *a) {
  a->matrix.data = (void *)((uintptr_t)memory.weight - sizeof memory.y + 1);
}
static void overlap_weights_end(arguments *a) {
  static const void *none[LIVE * TOP_K];
  a->slots = none;
  a->matrix.data = (uint8_t *)memory.weight + sizeof memory.weight - 1;
}
static void overlap_pointers(arguments *a) {
  a->matrix.data = (uint8_t *)memory.pointers + sizeof memory.pointers - 1;
}
static void isa_unknown(arguments *a) {
  a->run.isa_mask = UINT32_C(1) << 31;
}
static void isa_lacking(arguments *a) {
  const uint32_t lacking = 0xFu & ~mxg_cpu_features();
  a->run.isa_mask = lacking != 0 ? lacking : UINT32_C(1) << 30;
}
static void environment_ftz(arguments *a) {
  a->environment = FPENV_FTZ;
}
static void environment_up(arguments *a) {
  a->environment = FPENV_UP;
}

static const spoiler spoilers[] = {
    {"recipe NULL", MXG_ERR_NULL, Q | D | C, no_recipe},
    {"matrix NULL", MXG_ERR_NULL, Q | D | C, no_matrix},
    {"packed NULL", MXG_ERR_NULL, Q | D, no_packed},
    {"layout NULL", MXG_ERR_NULL, C, no_layout},
    {"recipe reserved", MXG_ERR_RESERVED, Q | D | C, recipe_reserved},
    {"recipe element 8", MXG_ERR_RECIPE, Q | D | C, recipe_element},
    {"recipe block 0", MXG_ERR_RECIPE, Q | D | C, recipe_block_0},
    {"run reserved", MXG_ERR_RESERVED, Q | D | C, run_reserved},
    {"type 0", MXG_ERR_TYPE, Q | D | C, type_0},
    {"type 4", MXG_ERR_TYPE, Q | D | C, type_4},
    {"layout rows", MXG_ERR_LAYOUT, Q | D | C, layout_rows},
    {"layout reserved", MXG_ERR_LAYOUT, Q | D | C, layout_reserved},
    {"layout of another recipe", MXG_ERR_LAYOUT, Q | D, layout_other_recipe},
    {"layout separate", MXG_ERR_LAYOUT, C, layout_separate},
    {"columns", MXG_ERR_SHAPE, Q | D | C, shape_cols},
    {"one column more", MXG_ERR_SHAPE, Q | D | C, shape_more_cols},
    {"rows", MXG_ERR_SHAPE, Q | D, shape_rows},
    {"stride", MXG_ERR_SHAPE, Q | D | C, shape_stride},
    {"top_k 65", MXG_ERR_SHAPE, C, shape_top_k},
    {"segment backwards", MXG_ERR_SHAPE, C, shape_begin},
    {"segment past the columns", MXG_ERR_SHAPE, C, shape_end},
    {"huge stride", MXG_ERR_SIZE, Q | D | C, size_stride},
    {"more elements than there are", MXG_ERR_SIZE, Q | D | C, size_elements},
    {"huge rows", MXG_ERR_SIZE, C, size_rows},
    {"values NULL", MXG_ERR_NULL, Q | D | C, no_values},
    {"codes NULL", MXG_ERR_NULL, Q | D, no_codes},
    {"scales NULL", MXG_ERR_NULL, Q | D, no_scales},
    {"slots NULL", MXG_ERR_NULL, C, no_slots},
    {"codes a byte short", MXG_ERR_CAPACITY, Q | D, codes_short},
    {"scales a byte short", MXG_ERR_CAPACITY, Q | D, scales_short},
    {"values share a byte with codes", MXG_ERR_OVERLAP, Q | D, overlap_codes},
    {"values share the first byte of codes", MXG_ERR_OVERLAP, Q | D, overlap_codes_front},
    {"values share a byte with scales", MXG_ERR_OVERLAP, Q | D, overlap_scales},
    {"codes share a byte with scales", MXG_ERR_OVERLAP, Q, overlap_both},
    {"row weights share a byte with codes", MXG_ERR_OVERLAP, Q, overlap_weight},
    {"row weights share a byte with scales", MXG_ERR_OVERLAP, Q, overlap_weight_scales},
    {"values share a byte with a slot", MXG_ERR_OVERLAP, C, overlap_slot},
    {"values share the last byte of a slot", MXG_ERR_OVERLAP, C, overlap_slot_end},
    {"values share a byte with weights", MXG_ERR_OVERLAP, C, overlap_weights},
    {"values share the last byte of weights", MXG_ERR_OVERLAP, C, overlap_weights_end},
    {"values share a byte with pointers", MXG_ERR_OVERLAP, C, overlap_pointers},
    {"isa unknown", MXG_ERR_ISA, Q | D | C, isa_unknown},
    {"isa lacking", MXG_ERR_ISA, Q | D | C, isa_lacking},
    {"FTZ", MXG_ERR_FENV, Q | D | C, environment_ftz},
    {"rounding up", MXG_ERR_FENV, Q | D | C, environment_up},
};
enum { SPOILERS = sizeof spoilers / sizeof spoilers[0] };

static bool can_set_environment(void) {
  const bool can = fp_environment_set(FPENV_UP);
  fp_environment_set(FPENV_DEFAULT);
  return can;
}

/* Arguments with `first` and then `second` wrong: the status of `first`, and nothing written. */
static void expect_refused(operation op, const spoiler *first, const spoiler *second) {
  static arguments a;
  static struct memory before;
  for (int i = 0; i < IMPLS; i++) {
    arguments_valid(&a, op);
    if (second != NULL) second->spoil(&a);
    first->spoil(&a);
    memcpy(&before, &memory, sizeof before);
    const mxg_status status = call(&impls[i], op, &a);
    if (status != first->status)
      ck_abort_msg("%s %s: %s and %s: status %d, want %d", impls[i].name, operation_names[op],
                   first->what, second != NULL ? second->what : "nothing else", (int)status,
                   (int)first->status);
    expect_bytes(&memory, &before, sizeof before, "%s %s: written in spite of: %s", impls[i].name,
                 operation_names[op], first->what);
  }
}

START_TEST(test_statuses_and_their_order) {
  const size_t usable = can_set_environment() ? SPOILERS : SPOILERS - 2;
  for (operation op = QUANTIZE; op < OPERATIONS; op++) {
    arguments a;
    for (int i = 0; i < IMPLS; i++) {
      arguments_valid(&a, op);
      ck_assert_int_eq(call(&impls[i], op, &a), MXG_OK);
    }
    for (size_t f = 0; f < usable; f++) {
      if ((spoilers[f].operations >> op & 1u) == 0) continue;
      expect_refused(op, &spoilers[f], NULL);
      for (size_t s = f + 1; s < usable; s++)
        if ((spoilers[s].operations >> op & 1u) != 0 && spoilers[s].status != spoilers[f].status)
          expect_refused(op, &spoilers[f], &spoilers[s]);
    }
  }
}
END_TEST

/* Every field of a layout counts. */
START_TEST(test_layout_fields) {
  static const size_t sizes[] = {offsetof(mxg_layout, rows),
                                 offsetof(mxg_layout, cols),
                                 offsetof(mxg_layout, scales_used),
                                 offsetof(mxg_layout, scale_count),
                                 offsetof(mxg_layout, payload_row_bytes),
                                 offsetof(mxg_layout, scale_row_bytes),
                                 offsetof(mxg_layout, slot_bytes),
                                 offsetof(mxg_layout, payload_stride_bytes),
                                 offsetof(mxg_layout, scale_stride_bytes),
                                 offsetof(mxg_layout, slot_stride_bytes),
                                 offsetof(mxg_layout, scale_offset_bytes),
                                 offsetof(mxg_layout, weight_offset_bytes),
                                 offsetof(mxg_layout, codes_bytes),
                                 offsetof(mxg_layout, scales_bytes)};
  static const size_t words[] = {offsetof(mxg_layout, placement), offsetof(mxg_layout, order),
                                 offsetof(mxg_layout, slot_weights),
                                 offsetof(mxg_layout, scale_bytes), offsetof(mxg_layout, reserved)};
  enum { SIZES = sizeof sizes / sizeof sizes[0], WORDS = sizeof words / sizeof words[0] };
  for (operation op = QUANTIZE; op < OPERATIONS; op++) {
    for (size_t f = 0; f < 3 * (SIZES + WORDS); f++) {
      const size_t field = f / 3; /* one more, one less, none; of words 1, 9, 0 */
      arguments a;
      for (int i = 0; i < IMPLS; i++) {
        arguments_valid(&a, op);
        uint8_t *layout = (uint8_t *)(op == COMBINE ? &a.layout : &a.packed.layout);
        if (field < SIZES) {
          size_t value;
          memcpy(&value, layout + sizes[field], sizeof value);
          if (f % 3 != 0 && value == 0) continue;
          value = f % 3 == 0 ? value + 1 : f % 3 == 1 ? value - 1 : 0;
          memcpy(layout + sizes[field], &value, sizeof value);
        } else {
          const uint32_t value = f % 3 == 0 ? 1 : f % 3 == 1 ? 9 : 0;
          uint32_t old;
          memcpy(&old, layout + words[field - SIZES], sizeof old);
          if (old == value) continue;
          memcpy(layout + words[field - SIZES], &value, sizeof value);
        }
        const mxg_status status = call(&impls[i], op, &a);
        if (status != MXG_ERR_LAYOUT)
          ck_abort_msg("%s %s: layout field %zu changed: status %d", impls[i].name,
                       operation_names[op], field, (int)status);
      }
    }
  }
}
END_TEST

/* Reserved words: each of them. */
START_TEST(test_reserved_words) {
  for (operation op = QUANTIZE; op < OPERATIONS; op++) {
    for (size_t w = 0; w < 3 + 6; w++) {
      for (int i = 0; i < IMPLS; i++) {
        arguments a;
        arguments_valid(&a, op);
        *(w < 3 ? &a.recipe.reserved[w] : &a.run.reserved[w - 3]) = 0x80000000u;
        ck_assert_int_eq(call(&impls[i], op, &a), MXG_ERR_RESERVED);
      }
    }
  }
  const mxg_recipe recipe = recipe_of("mxfp4");
  mxg_layout layout, before;
  memset(&layout, 0xA5, sizeof layout);
  before = layout;
  for (size_t w = 0; w < 4; w++) {
    mxg_layout_options options;
    memset(&options, 0, sizeof options);
    options.reserved[w] = 1;
    for (int i = 0; i < IMPLS; i++)
      ck_assert_int_eq(impls[i].layout_for(&recipe, 1, 32, &options, &layout), MXG_ERR_RESERVED);
  }
  expect_bytes(&layout, &before, sizeof layout, "layout after MXG_ERR_RESERVED");
}
END_TEST

/* NULL where it is allowed: run, row weights, weights, options, and pointers to zero bytes. */
START_TEST(test_null_allowed) {
  for (int i = 0; i < IMPLS; i++) {
    arguments a;
    arguments_valid(&a, QUANTIZE);
    a.row_weight = NULL;
    ck_assert_int_eq(call(&impls[i], QUANTIZE, &a), MXG_OK);
    arguments_valid(&a, COMBINE);
    a.weight = NULL;
    ck_assert_int_eq(call(&impls[i], COMBINE, &a), MXG_OK);
    memory.pointers[1] = memory.pointers[4] = NULL;
    ck_assert_int_eq(call(&impls[i], COMBINE, &a), MXG_OK);
    /* top_k 0 needs no pointers; no live rows need no values */
    a.top_k = 0;
    a.slots = NULL;
    ck_assert_int_eq(call(&impls[i], COMBINE, &a), MXG_OK);
    a.top_k = TOP_K;
    a.matrix.rows = 0;
    a.matrix.data = NULL;
    ck_assert_int_eq(call(&impls[i], COMBINE, &a), MXG_OK);
    arguments_valid(&a, QUANTIZE);
    a.matrix.rows = 0;
    a.matrix.data = NULL;
    ck_assert_int_eq(call(&impls[i], QUANTIZE, &a), MXG_OK);
    expect_filled(memory.codes, 0x3A, sizeof memory.codes, "codes of no live rows");
    expect_filled(memory.scales, 0x3A, sizeof memory.scales, "scales of no live rows");
    ck_assert_int_eq(call(&impls[i], DEQUANTIZE, &a), MXG_OK);
    /* scale=none has no scale bytes */
    arguments_valid(&a, QUANTIZE);
    a.recipe = recipe_of("mori-fp8-direct");
    ck_assert_int_eq(mxg_layout_for(&a.recipe, PADDED, COLS, NULL, &a.packed.layout), MXG_OK);
    a.packed.scales = NULL;
    a.packed.scales_capacity = 0;
    ck_assert_int_eq(call(&impls[i], QUANTIZE, &a), MXG_OK);
    ck_assert_int_eq(call(&impls[i], DEQUANTIZE, &a), MXG_OK);
  }
}
END_TEST

/* Rows without columns that still store scales: strides of nothing may be any number. Found by
 * fuzzing: the address of a row's first code was computed and wrapped (UBSan sees it). */
START_TEST(test_strides_of_nothing) {
  const mxg_recipe recipe = recipe_of("mori-fp8");
  mxg_layout_options options;
  memset(&options, 0, sizeof options);
  options.scale_count = 2;
  options.payload_stride_bytes = SIZE_MAX - 5;
  for (int i = 0; i < IMPLS; i++) {
    mxg_layout layout;
    float scales[3 * 2] = {0}, x = 0.0f;
    uint8_t code = 0xAA;
    ck_assert_int_eq(impls[i].layout_for(&recipe, 3, 0, &options, &layout), MXG_OK);
    ck_assert_uint_eq(layout.codes_bytes, 0);
    const mxg_matrix_view view = {&x, MXG_DTYPE_F32, 3, 0, SIZE_MAX / 4 - 7};
    const mxg_packed out = {&code, 0, scales, sizeof scales, layout};
    ck_assert_int_eq(impls[i].quantize(&recipe, &view, NULL, &out, NULL), MXG_OK);
    ck_assert_uint_eq(code, 0xAA);
    uint8_t one[4]; /* little-endian, as stored */
    for (size_t s = 0; s < 6; s++) {
      memcpy(one, (const uint8_t *)scales + 4 * s, 4);
      ck_assert_msg(one[0] == 0 && one[1] == 0 && one[2] == 0x80 && one[3] == 0x3F, "%s: scale %zu",
                    impls[i].name, s);
    }
  }
}
END_TEST

/* Rows without columns take no bytes, so there may be any number of them; their weights and their
 * sources still count. */
START_TEST(test_sizes_without_columns) {
  for (int i = 0; i < IMPLS; i++) {
    arguments a;
    arguments_valid(&a, QUANTIZE);
    ck_assert_int_eq(mxg_layout_for(&a.recipe, SIZE_MAX, 0, NULL, &a.packed.layout), MXG_OK);
    a.matrix.cols = 0;
    a.matrix.rows = SIZE_MAX / 4 + 1;
    ck_assert_int_eq(call(&impls[i], QUANTIZE, &a), MXG_ERR_SIZE);
    a.matrix.rows = LIVE;
    ck_assert_int_eq(call(&impls[i], QUANTIZE, &a), MXG_OK);

    static const mxg_layout_options slot = {
        MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
    arguments_valid(&a, COMBINE);
    ck_assert_int_eq(mxg_layout_for(&a.recipe, PADDED, 0, &slot, &a.layout), MXG_OK);
    a.matrix.cols = a.col_end = 0;
    a.matrix.rows = SIZE_MAX / TOP_K + 1; /* sources */
    ck_assert_int_eq(call(&impls[i], COMBINE, &a), MXG_ERR_SIZE);
    a.matrix.rows = SIZE_MAX / TOP_K / sizeof(void *) + 1; /* bytes of their pointers */
    ck_assert_int_eq(call(&impls[i], COMBINE, &a), MXG_ERR_SIZE);
    a.matrix.rows = LIVE;
    ck_assert_int_eq(call(&impls[i], COMBINE, &a), MXG_OK);
  }
}
END_TEST

/* More rows than anybody could count to, of nothing: that takes no time. */
START_TEST(test_rows_of_nothing) {
  for (int i = 0; i < IMPLS; i++) {
    for (operation op = QUANTIZE; op < OPERATIONS; op++) {
      static const mxg_layout_options slot = {
          MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 0, {0}};
      arguments a;
      arguments_valid(&a, op);
      ck_assert_int_eq(mxg_layout_for(&a.recipe, SIZE_MAX, 0, NULL, &a.packed.layout), MXG_OK);
      ck_assert_int_eq(mxg_layout_for(&a.recipe, 1, 0, &slot, &a.layout), MXG_OK);
      a.matrix.rows = SIZE_MAX;
      a.matrix.cols = a.col_end = a.top_k = 0;
      a.row_weight = NULL;
      ck_assert_int_eq(call(&impls[i], op, &a), MXG_OK);
    }
  }
}
END_TEST

/* FENV concerns E8M0 recipes only where row weights make floats of them. */
START_TEST(test_fenv_of_e8m0) {
  if (!can_set_environment()) return;
  for (int i = 0; i < IMPLS; i++) {
    arguments a;
    arguments_valid(&a, QUANTIZE);
    a.recipe = recipe_of("mxfp8");
    ck_assert_int_eq(mxg_layout_for(&a.recipe, PADDED, COLS, NULL, &a.packed.layout), MXG_OK);
    a.environment = FPENV_FTZ_DAZ;
    ck_assert_int_eq(call(&impls[i], QUANTIZE, &a), MXG_ERR_FENV);
    a.row_weight = NULL;
    ck_assert_int_eq(call(&impls[i], QUANTIZE, &a), MXG_OK);
    a.matrix.data = memory.y;
    ck_assert_int_eq(call(&impls[i], DEQUANTIZE, &a), MXG_OK);
  }
}
END_TEST

/* ---- overlap to the byte ---- */

enum { O_COLS = 64, O_ROWS = 4 };

/* Slots of 66 bytes and rows of 64 bf16 interleaved in one buffer, 194 bytes apart. `shift` moves
 * the rows. */
static mxg_status interleaved_slots(const impl *side, operation op, int shift) {
  static uint8_t buffer[1024];
  const mxg_recipe recipe = recipe_of("mxfp8");
  const mxg_layout_options options = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, 194, {0}};
  mxg_layout layout;
  memset(buffer, 0, sizeof buffer);
  ck_assert_int_eq(side->layout_for(&recipe, O_ROWS, O_COLS, &options, &layout), MXG_OK);
  uint8_t *slots = buffer + 16, *rows = slots + 66 + shift;
  if (op == QUANTIZE) {
    const mxg_matrix_view x = {rows, MXG_DTYPE_BF16, O_ROWS, O_COLS, 97};
    const mxg_packed out = {slots, layout.codes_bytes, NULL, 0, layout};
    return side->quantize(&recipe, &x, NULL, &out, NULL);
  }
  const mxg_matrix y = {rows, MXG_DTYPE_BF16, O_ROWS, O_COLS, 97};
  const mxg_packed_view in = {slots, layout.codes_bytes, NULL, 0, layout};
  return side->dequantize(&recipe, &in, &y, NULL);
}

/* Row weights in the gap between two slots, `shift` from its beginning: one run of bytes among many. */
static mxg_status weights_between_slots(const impl *side, size_t rows, int shift) {
  enum { STRIDE = 194 };
  static uint8_t buffer[O_ROWS * STRIDE];
  static uint16_t values[O_ROWS * O_COLS];
  const mxg_recipe recipe = recipe_of("mxfp8");
  const mxg_layout_options options = {
      MXG_PLACEMENT_SLOT, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 0, 0, STRIDE, {0}};
  mxg_layout layout;
  memset(buffer, 0, sizeof buffer);
  ck_assert_int_eq(side->layout_for(&recipe, rows, O_COLS, &options, &layout), MXG_OK);
  const mxg_matrix_view x = {values, MXG_DTYPE_BF16, rows, O_COLS, 0};
  const mxg_packed out = {buffer, layout.codes_bytes, NULL, 0, layout};
  return side->quantize(&recipe, &x, (const float *)(const void *)(buffer + STRIDE + 66 + shift),
                        &out, NULL);
}

/* `scales` of 3 rows, of which 2 are live, in the last bytes of an area: `shift` from where 64 codes of
 * 2 rows begin behind them, or (behind) from the end of those. */
static mxg_status scales_beside_codes(const impl *side, mxg_scale_order order, bool behind,
                                      ptrdiff_t shift) {
  static uint8_t area[8192];
  static float values[2 * 32];
  const mxg_recipe recipe = recipe_of("mxfp8");
  mxg_layout_options options;
  memset(&options, 0, sizeof options);
  options.order = order;
  mxg_layout layout;
  ck_assert_int_eq(side->layout_for(&recipe, 3, 32, &options, &layout), MXG_OK);
  const size_t live = order == MXG_ORDER_ROW_MAJOR || order == MXG_ORDER_TRANSPOSED
                          ? 2
                          : layout.scales_bytes; /* with the pads */
  const mxg_matrix_view x = {values, MXG_DTYPE_F32, 2, 32, 0};
  uint8_t *codes = area + 4096;
  const mxg_packed out = {codes, layout.codes_bytes,
                          behind ? codes + 2 * 32 + shift : codes - live + shift,
                          layout.scales_bytes, layout};
  return side->quantize(&recipe, &x, NULL, &out, NULL);
}

/* Codes and scales interleaved, row by row; `shift` moves the scales. */
static mxg_status interleaved_scales(const impl *side, int shift) {
  static uint8_t buffer[1024];
  static uint16_t values[O_ROWS * O_COLS];
  const mxg_recipe recipe = recipe_of("mxfp8");
  const mxg_layout_options options = {
      MXG_PLACEMENT_SEPARATE, MXG_ORDER_ROW_MAJOR, 0, 0, 0, 66, 66, 0, {0}};
  mxg_layout layout;
  ck_assert_int_eq(side->layout_for(&recipe, O_ROWS, O_COLS, &options, &layout), MXG_OK);
  const mxg_matrix_view x = {values, MXG_DTYPE_BF16, O_ROWS, O_COLS, 0};
  const mxg_packed out = {buffer + 16, layout.codes_bytes, buffer + 16 + 64 + shift,
                          layout.scales_bytes, layout};
  return side->quantize(&recipe, &x, NULL, &out, NULL);
}

START_TEST(test_overlap) {
  for (int i = 0; i < IMPLS; i++) {
    for (operation op = QUANTIZE; op <= DEQUANTIZE; op++) {
      ck_assert_int_eq(interleaved_slots(&impls[i], op, 0), MXG_OK);
      ck_assert_int_eq(interleaved_slots(&impls[i], op, 1), MXG_ERR_OVERLAP);
      ck_assert_int_eq(interleaved_slots(&impls[i], op, -1), MXG_ERR_OVERLAP);
      ck_assert_int_eq(interleaved_slots(&impls[i], op, -66), MXG_ERR_OVERLAP);
    }
    ck_assert_int_eq(interleaved_scales(&impls[i], 0), MXG_OK);
    ck_assert_int_eq(interleaved_scales(&impls[i], 1), MXG_ERR_OVERLAP);
    ck_assert_int_eq(interleaved_scales(&impls[i], -1), MXG_ERR_OVERLAP);
    for (size_t rows = 3; rows <= O_ROWS; rows++) {
      const int last = 194 - 66 - 4 * (int)rows;
      ck_assert_int_eq(weights_between_slots(&impls[i], rows, 0), MXG_OK);
      ck_assert_int_eq(weights_between_slots(&impls[i], rows, -1), MXG_ERR_OVERLAP);
      ck_assert_int_eq(weights_between_slots(&impls[i], rows, last), MXG_OK);
      ck_assert_int_eq(weights_between_slots(&impls[i], rows, last + 1), MXG_ERR_OVERLAP);
    }
    for (int order = MXG_ORDER_ROW_MAJOR; order <= MXG_ORDER_BLOCKED_128X4; order++)
      for (int behind = 0; behind < 2; behind++) { /* live rows of one scale */
        const ptrdiff_t into = behind ? -1 : 1;
        ck_assert_int_eq(scales_beside_codes(&impls[i], (mxg_scale_order)order, behind, 0), MXG_OK);
        ck_assert_int_eq(scales_beside_codes(&impls[i], (mxg_scale_order)order, behind, into),
                         MXG_ERR_OVERLAP);
      }

    /* touching is not sharing: values end where codes begin, and begin where they end */
    arguments a;
    arguments_valid(&a, DEQUANTIZE);
    static uint8_t area[2 * sizeof memory.y + sizeof memory.codes];
    a.packed.codes = area + sizeof memory.y;
    a.matrix.data = area;
    ck_assert_int_eq(call(&impls[i], DEQUANTIZE, &a), MXG_OK);
    a.matrix.data = area + 1;
    ck_assert_int_eq(call(&impls[i], DEQUANTIZE, &a), MXG_ERR_OVERLAP);
    a.matrix.data = area + sizeof memory.y + LIVE * COLS;
    ck_assert_int_eq(call(&impls[i], DEQUANTIZE, &a), MXG_OK);
    a.matrix.data = area + sizeof memory.y + LIVE * COLS - 1;
    ck_assert_int_eq(call(&impls[i], DEQUANTIZE, &a), MXG_ERR_OVERLAP);

    /* inputs may be one and the same: slots, and row weights inside x */
    arguments_valid(&a, COMBINE);
    for (size_t k = 1; k < LIVE * TOP_K; k++) memory.pointers[k] = memory.pointers[0];
    a.weight = (const float *)(const void *)memory.slots[0];
    ck_assert_int_eq(call(&impls[i], COMBINE, &a), MXG_OK);
    arguments_valid(&a, QUANTIZE);
    a.row_weight = memory.x;
    ck_assert_int_eq(call(&impls[i], QUANTIZE, &a), MXG_OK);
  }
}
END_TEST

/* ---- arrays ---- */

START_TEST(test_arrays) {
  const mxg_recipe e8m0 = recipe_of("mxfp8"), f32 = recipe_of("mori-fp8");
  mxg_recipe reserved = e8m0, invalid = e8m0;
  reserved.reserved[0] = 1;
  invalid.overflow = (mxg_overflow)4;
  const size_t huge = SIZE_MAX / 4 + 1;
  for (int i = 0; i < IMPLS; i++) {
    const impl *s = &impls[i];
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    uint8_t b[32] = {0};
    memset(y, 0xA5, sizeof y);
    memset(b, 0xA5, sizeof b);

    ck_assert_int_eq(s->encode_f32(NULL, x, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->encode_f32(&e8m0, NULL, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->encode_f32(&e8m0, x, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->encode_f32(&reserved, x, 4, b), MXG_ERR_RESERVED);
    ck_assert_int_eq(s->encode_f32(&invalid, x, 4, b), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->encode_f32(&e8m0, x, huge, b), MXG_ERR_SIZE);
    ck_assert_int_eq(s->encode_f32(&e8m0, x, 4, (uint8_t *)x + 15), MXG_ERR_OVERLAP);
    ck_assert_int_eq(s->encode_f32(&e8m0, x, 4, (uint8_t *)x), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->decode_f32((mxg_element)0, b, 4, y), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->decode_f32((mxg_element)8, b, 4, y), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->decode_f32(MXG_ELEMENT_E5M2, NULL, 4, y), MXG_ERR_NULL);
    ck_assert_int_eq(s->decode_f32(MXG_ELEMENT_E5M2, b, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->decode_f32(MXG_ELEMENT_E5M2, b, huge, y), MXG_ERR_SIZE);
    ck_assert_int_eq(s->decode_f32(MXG_ELEMENT_E5M2, (uint8_t *)y + 15, 4, y), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->e8m0_from_amax(NULL, x, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_amax(&e8m0, NULL, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_amax(&e8m0, x, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_amax(&reserved, x, 4, b), MXG_ERR_RESERVED);
    ck_assert_int_eq(s->e8m0_from_amax(&invalid, x, 4, b), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_from_amax(&f32, x, 4, b), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_from_amax(&e8m0, x, huge, b), MXG_ERR_SIZE);
    ck_assert_int_eq(s->e8m0_from_amax(&e8m0, x, 4, (uint8_t *)x + 15), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->e8m0_from_scale(NULL, x, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_scale(&e8m0, NULL, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_scale(&e8m0, x, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_from_scale(&reserved, x, 4, b), MXG_ERR_RESERVED);
    ck_assert_int_eq(s->e8m0_from_scale(&invalid, x, 4, b), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_from_scale(&f32, x, 4, b), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_from_scale(&e8m0, x, huge, b), MXG_ERR_SIZE);
    ck_assert_int_eq(s->e8m0_from_scale(&e8m0, x, 4, (uint8_t *)x + 15), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->e8m0_to_f32((mxg_edges)0, b, 4, y), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_to_f32((mxg_edges)3, b, 4, y), MXG_ERR_RECIPE);
    ck_assert_int_eq(s->e8m0_to_f32(MXG_EDGES_OCP, NULL, 4, y), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_to_f32(MXG_EDGES_OCP, b, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->e8m0_to_f32(MXG_EDGES_OCP, b, huge, y), MXG_ERR_SIZE);
    ck_assert_int_eq(s->e8m0_to_f32(MXG_EDGES_OCP, (uint8_t *)y, 4, y), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->to_f32((mxg_dtype)0, b, 4, y), MXG_ERR_TYPE);
    ck_assert_int_eq(s->to_f32((mxg_dtype)4, b, 4, y), MXG_ERR_TYPE);
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_F16, NULL, 4, y), MXG_ERR_NULL);
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_F16, b, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_BF16, b, huge, y), MXG_ERR_SIZE);
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_BF16, (uint8_t *)y + 15, 4, y), MXG_ERR_OVERLAP);
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_F32, y, 4, y), MXG_ERR_OVERLAP);

    ck_assert_int_eq(s->from_f32((mxg_dtype)0, x, 4, b), MXG_ERR_TYPE);
    ck_assert_int_eq(s->from_f32((mxg_dtype)4, x, 4, b), MXG_ERR_TYPE);
    ck_assert_int_eq(s->from_f32(MXG_DTYPE_F16, NULL, 4, b), MXG_ERR_NULL);
    ck_assert_int_eq(s->from_f32(MXG_DTYPE_F16, x, 4, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(s->from_f32(MXG_DTYPE_BF16, x, huge, b), MXG_ERR_SIZE);
    ck_assert_int_eq(s->from_f32(MXG_DTYPE_BF16, x, 4, (uint8_t *)x + 15), MXG_ERR_OVERLAP);

    expect_filled(y, 0xA5, sizeof y, "%s: values after errors", s->name);
    expect_filled(b, 0xA5, sizeof b, "%s: bytes after errors", s->name);
    static const float same[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    expect_bytes(x, same, sizeof x, "%s: inputs after errors", s->name);

    /* touching is allowed */
    uint8_t area[4 * 4 + 4];
    memcpy(area, x, 16);
    ck_assert_int_eq(s->encode_f32(&e8m0, (const float *)(const void *)area, 4, area + 16), MXG_OK);
    static const uint8_t codes[4] = {0x38, 0x40, 0x44, 0x48};
    expect_bytes(area + 16, codes, 4, "%s: 1 2 3 4 as E4M3FN", s->name);
    /* MXG_DTYPE_F32 copies, NaN made canonical */
    static const uint32_t odd[3] = {0xFFC12345, 0x80000000, 0x7F800000};
    static const uint32_t canonical[3] = {0x7FC00000, 0x80000000, 0x7F800000};
    ck_assert_int_eq(s->to_f32(MXG_DTYPE_F32, odd, 3, y), MXG_OK);
    expect_bytes(y, canonical, 12, "%s: to_f32 of f32", s->name);
    ck_assert_int_eq(s->from_f32(MXG_DTYPE_F32, (const float *)(const void *)odd, 3, b), MXG_OK);
    expect_bytes(b, canonical, 12, "%s: from_f32 to f32", s->name);
  }
}
END_TEST

/* ---- layouts ---- */

START_TEST(test_layout_for) {
  const mxg_recipe e8m0 = recipe_of("mxfp8"), f32 = recipe_of("mori-fp8"),
                   none = recipe_of("mori-fp8-direct");
  mxg_recipe reserved = e8m0, invalid = e8m0;
  reserved.reserved[1] = 7;
  invalid.rule = (mxg_rule)0;
  static const mxg_layout_options dense;
  const struct {
    const mxg_recipe *recipe;
    size_t rows, cols;
    mxg_layout_options o;
    mxg_status status;
  } cases[] = {
      {NULL, 1, 64, dense, MXG_ERR_NULL},
      {&reserved, 1, 64, dense, MXG_ERR_RESERVED},
      {&invalid, 1, 64, dense, MXG_ERR_RECIPE},
      {&e8m0, SIZE_MAX, 64, dense, MXG_ERR_SIZE},
      {&f32, SIZE_MAX / 64, 64, {0, 0, 0, 0, 0, 0, 0, 0, {0}}, MXG_OK},
      {&e8m0,
       SIZE_MAX / 64,
       64,
       {0, MXG_ORDER_AITER_SHUFFLE, 0, 0, 100, 0, 0, 0, {0}},
       MXG_ERR_SIZE},
      {&e8m0, 2, 64, {(mxg_placement)2, 0, 0, 0, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, (mxg_scale_order)4, 0, 0, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&f32, 2, 64, {0, MXG_ORDER_AITER_SHUFFLE, 0, 0, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&f32, 2, 64, {0, MXG_ORDER_BLOCKED_128X4, 0, 0, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&f32, 2, 64, {0, MXG_ORDER_TRANSPOSED, 0, 0, 0, 0, 0, 0, {0}}, MXG_OK},
      {&e8m0, 2, 64, {0, MXG_ORDER_BLOCKED_128X4, 0x100, 0, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, MXG_ORDER_BLOCKED_128X4, 0xFF, 0, 0, 0, 0, 0, {0}}, MXG_OK},
      {&e8m0, 2, 64, {0, 0, 0, 0, 1, 0, 0, 0, {0}}, MXG_ERR_LAYOUT}, /* two are used */
      {&e8m0, 2, 64, {0, 0, 0, 0, 2, 0, 0, 0, {0}}, MXG_OK},
      {&none, 2, 64, {0, 0, 0, 0, 1, 0, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, 0, 0, 0, 0, 63, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, 0, 0, 0, 0, 64, 0, 0, {0}}, MXG_OK},
      {&e8m0, 2, 64, {0, 0, 0, 0, 0, 0, 1, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, 0, 0, 0, 0, 0, 2, 0, {0}}, MXG_OK},
      {&e8m0, 2, 64, {0, MXG_ORDER_TRANSPOSED, 0, 0, 0, 0, 2, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {0, 0, 0, 1, 0, 0, 0, 0, {0}}, MXG_ERR_LAYOUT}, /* weights outside slots */
      {&e8m0, 2, 64, {0, 0, 0, 0, 0, 0, 0, 66, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {MXG_PLACEMENT_SLOT, 0, 0, 0, 0, 0, 0, 65, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {MXG_PLACEMENT_SLOT, 0, 0, 1, 0, 0, 0, 69, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {MXG_PLACEMENT_SLOT, 0, 0, 1, 0, 0, 0, 70, {0}}, MXG_OK},
      {&e8m0, 2, 64, {MXG_PLACEMENT_SLOT, 0, 0, 0, 0, 64, 0, 0, {0}}, MXG_ERR_LAYOUT},
      {&e8m0, 2, 64, {MXG_PLACEMENT_SLOT, 0, 0, 0, 0, 0, 2, 0, {0}}, MXG_ERR_LAYOUT},
      {&none, 1, SIZE_MAX - 3, {MXG_PLACEMENT_SLOT, 0, 0, 1, 0, 0, 0, 0, {0}}, MXG_ERR_SIZE},
      {&e8m0,
       2,
       64,
       {MXG_PLACEMENT_SLOT, MXG_ORDER_TRANSPOSED, 0, 0, 0, 0, 0, 0, {0}},
       MXG_ERR_LAYOUT},
  };
  for (int i = 0; i < IMPLS; i++) {
    for (size_t t = 0; t < sizeof cases / sizeof cases[0]; t++) {
      mxg_layout layout, poison;
      memset(&layout, 0xA5, sizeof layout);
      poison = layout;
      const mxg_status status =
          impls[i].layout_for(cases[t].recipe, cases[t].rows, cases[t].cols, &cases[t].o, &layout);
      if (status != cases[t].status)
        ck_abort_msg("%s: layout case %zu (%s): status %d, want %d", impls[i].name, t,
                     options_text(&cases[t].o), (int)status, (int)cases[t].status);
      if (status != MXG_OK)
        expect_bytes(&layout, &poison, sizeof layout, "%s: layout case %zu", impls[i].name, t);
    }
    mxg_layout layout;
    ck_assert_int_eq(impls[i].layout_for(&e8m0, 1, 1, NULL, NULL), MXG_ERR_NULL);
    ck_assert_int_eq(impls[i].layout_for(&e8m0, 1, 1, NULL, &layout), MXG_OK);
  }
}
END_TEST

/* ---- reorders ---- */

START_TEST(test_scales_reorder) {
  const mxg_recipe e8m0 = recipe_of("mxfp8"), f32 = recipe_of("mori-fp8");
  static const mxg_layout_options transposed = {0, MXG_ORDER_TRANSPOSED, 0, 0, 0, 0, 0, 0, {0}};
  static const mxg_layout_options slots = {MXG_PLACEMENT_SLOT, 0, 0, 0, 0, 0, 0, 0, {0}};
  for (int i = 0; i < IMPLS; i++) {
    const impl *s = &impls[i];
    mxg_layout from, to, slot, other_rows, other_cols, floats;
    uint8_t src[64], dst[64], poison[64];
    ck_assert_int_eq(s->layout_for(&e8m0, 4, 128, NULL, &from), MXG_OK);
    ck_assert_int_eq(s->layout_for(&e8m0, 4, 128, &transposed, &to), MXG_OK);
    ck_assert_int_eq(s->layout_for(&e8m0, 4, 128, &slots, &slot), MXG_OK);
    ck_assert_int_eq(s->layout_for(&e8m0, 5, 128, &transposed, &other_rows), MXG_OK);
    ck_assert_int_eq(s->layout_for(&e8m0, 4, 96, &transposed, &other_cols), MXG_OK);
    ck_assert_int_eq(s->layout_for(&f32, 4, 512, &transposed, &floats), MXG_OK);
    for (size_t b = 0; b < sizeof src; b++) src[b] = (uint8_t)b;
    memset(dst, 0xA5, sizeof dst);
    memcpy(poison, dst, sizeof dst);
    ck_assert_int_eq(s->scales_reorder(NULL, src, 16, &to, dst, 16, 4), MXG_ERR_NULL);
    ck_assert_int_eq(s->scales_reorder(&from, NULL, 16, &to, dst, 16, 4), MXG_ERR_NULL);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, NULL, dst, 16, 4), MXG_ERR_NULL);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &to, NULL, 16, 4), MXG_ERR_NULL);
    ck_assert_int_eq(s->scales_reorder(&slot, src, 64, &to, dst, 16, 4), MXG_ERR_LAYOUT);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &slot, dst, 64, 4), MXG_ERR_LAYOUT);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &floats, dst, 64, 4), MXG_ERR_LAYOUT);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &to, dst, 16, 5), MXG_ERR_SHAPE);
    const mxg_status rows = s->scales_reorder(&from, src, 16, &other_rows, dst, 64, 4);
    const mxg_status cols = s->scales_reorder(&from, src, 16, &other_cols, dst, 64, 4);
    ck_assert_msg(rows == MXG_ERR_SHAPE || rows == MXG_ERR_LAYOUT, "rows: %d", (int)rows);
    ck_assert_msg(cols == MXG_ERR_SHAPE || cols == MXG_ERR_LAYOUT, "columns: %d", (int)cols);
    ck_assert_int_eq(rows, mxg_scales_reorder(&from, src, 16, &other_rows, dst, 64, 4));
    ck_assert_int_eq(cols, mxg_scales_reorder(&from, src, 16, &other_cols, dst, 64, 4));
    ck_assert_int_eq(s->scales_reorder(&from, src, 15, &to, dst, 16, 4), MXG_ERR_CAPACITY);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &to, dst, 15, 4), MXG_ERR_CAPACITY);
    ck_assert_int_eq(s->scales_reorder(&from, dst + 15, 16, &to, dst, 16, 4), MXG_ERR_OVERLAP);
    ck_assert_int_eq(s->scales_reorder(&from, dst, 16, &to, dst, 16, 4), MXG_ERR_OVERLAP);
    expect_bytes(dst, poison, sizeof dst, "%s: scales after errors", s->name);
    ck_assert_int_eq(s->scales_reorder(&from, src, 16, &to, dst, 16, 3), MXG_OK);
    static const uint8_t want[16] = {0, 4, 8, 0xA5, 1, 5, 9, 0xA5, 2, 6, 10, 0xA5, 3, 7, 11, 0xA5};
    expect_bytes(dst, want, sizeof want, "%s: three of four rows transposed", s->name);
  }
}
END_TEST

/* A layout that mxg_layout_for() cannot have made, as source and as target. */
START_TEST(test_scales_reorder_layouts) {
  const mxg_recipe e8m0 = recipe_of("mxfp8"), f32 = recipe_of("mori-fp8");
  static const size_t huge = SIZE_MAX / 4 + 1;
  enum { ORDERS = MXG_ORDER_BLOCKED_128X4 + 1 };
  for (int i = 0; i < IMPLS; i++) {
    const impl *s = &impls[i];
    mxg_layout good[ORDERS], bad[24];
    size_t count = 0;
    for (int order = 0; order < ORDERS; order++) {
      mxg_layout_options options;
      memset(&options, 0, sizeof options);
      options.order = (mxg_scale_order)order;
      ck_assert_int_eq(s->layout_for(&e8m0, 4, 128, &options, &good[order]), MXG_OK);
      bad[count] = good[order];
      bad[count++].scales_bytes++;
    }
    for (size_t b = 0; b < 12; b++) bad[count + b] = good[MXG_ORDER_ROW_MAJOR];
    bad[count++].pad_byte = 0x100;
    bad[count++].reserved = 1;
    bad[count++].scale_bytes = 2;
    bad[count++].scale_row_bytes++;
    bad[count++].scale_stride_bytes--;
    bad[count++].order = (mxg_scale_order)ORDERS;
    bad[count++].rows = huge; /* more bytes than there are */
    bad[count].scale_bytes = 4;
    bad[count++].scale_count = huge;
    bad[count] = good[MXG_ORDER_TRANSPOSED];
    bad[count++].scale_stride_bytes = 4;
    bad[count] = good[MXG_ORDER_TRANSPOSED];
    bad[count++].rows = huge;
    mxg_layout floats = good[MXG_ORDER_TRANSPOSED]; /* of huge * 1 scales of 4 bytes */
    floats.scale_bytes = 4;
    floats.scale_count = 1;
    floats.scale_row_bytes = 4;
    floats.rows = huge;
    floats.scales_bytes = 0;
    bad[count++] = floats;
    for (int order = MXG_ORDER_AITER_SHUFFLE; order < ORDERS; order++) {
      ck_assert_int_eq(s->layout_for(&f32, 4, 512, NULL, &bad[count]), MXG_OK);
      bad[count].order = (mxg_scale_order)order; /* of one-byte scales only */
      bad[count++].scale_stride_bytes = 0;
    }
    for (size_t b = 0; b < count; b++) {
      static uint8_t src[4096], dst[4096];
      const mxg_layout *right = &good[MXG_ORDER_ROW_MAJOR];
      const mxg_status as_source =
          s->scales_reorder(&bad[b], src, sizeof src, right, dst, sizeof dst, 4);
      const mxg_status as_target =
          s->scales_reorder(right, src, sizeof src, &bad[b], dst, sizeof dst, 4);
      if (as_source != MXG_ERR_LAYOUT || as_target != MXG_ERR_LAYOUT)
        ck_abort_msg("%s: bad scale matrix %zu: status %d as source, %d as target", s->name, b,
                     (int)as_source, (int)as_target);
      expect_filled(dst, 0, sizeof dst, "scales of bad matrices");
    }
  }
}
END_TEST

/* scale=none has no scales to count. Found by fuzzing: the golden model took such a layout. */
START_TEST(test_scales_of_no_bytes) {
  const mxg_recipe recipe = recipe_of("mori-fp8-direct");
  for (int i = 0; i < IMPLS; i++) {
    mxg_layout layout;
    ck_assert_int_eq(impls[i].layout_for(&recipe, 4, 3, NULL, &layout), MXG_OK);
    ck_assert_int_eq(impls[i].scales_reorder(&layout, NULL, 0, &layout, NULL, 0, 4), MXG_OK);
    mxg_layout counted = layout;
    counted.scale_count = 1;
    ck_assert_int_eq(impls[i].scales_reorder(&counted, NULL, 0, &counted, NULL, 0, 4),
                     MXG_ERR_LAYOUT);
    ck_assert_int_eq(impls[i].scales_reorder(&counted, NULL, 0, &layout, NULL, 0, 4),
                     MXG_ERR_LAYOUT);
    ck_assert_int_eq(impls[i].scales_reorder(&layout, NULL, 0, &counted, NULL, 0, 4),
                     MXG_ERR_LAYOUT);
  }
}
END_TEST

START_TEST(test_weight_orders) {
  static uint8_t src[4096], dst[4096], poison[4096];
  memset(dst, 0xA5, sizeof dst);
  memcpy(poison, dst, sizeof dst);
  for (int i = 0; i < IMPLS; i++) {
    mxg_status (*const plain[2])(size_t, size_t, const void *, void *) = {
        impls[i].weight_shuffle, impls[i].weight_unshuffle};
    mxg_status (*const gates[2])(size_t, size_t, size_t, const void *, void *) = {
        impls[i].gate_up_interleave, impls[i].gate_up_separate};
    for (int way = 0; way < 2; way++) {
      ck_assert_int_eq(plain[way](16, 16, NULL, dst), MXG_ERR_NULL);
      ck_assert_int_eq(plain[way](16, 16, src, NULL), MXG_ERR_NULL);
      ck_assert_int_eq(plain[way](17, 16, src, dst), MXG_ERR_SHAPE);
      ck_assert_int_eq(plain[way](16, 8, src, dst), MXG_ERR_SHAPE);
      ck_assert_int_eq(plain[way](SIZE_MAX / 16 + 1, 32, src, dst), MXG_ERR_SIZE);
      ck_assert_int_eq(plain[way](16, 16, src, src + 255), MXG_ERR_OVERLAP);
      ck_assert_int_eq(gates[way](1, 16, 64, NULL, dst), MXG_ERR_NULL);
      ck_assert_int_eq(gates[way](1, 16, 64, src, NULL), MXG_ERR_NULL);
      ck_assert_int_eq(gates[way](1, 8, 64, src, dst), MXG_ERR_SHAPE);
      ck_assert_int_eq(gates[way](1, 16, 32, src, dst), MXG_ERR_SHAPE);
      ck_assert_int_eq(gates[way](SIZE_MAX / 64, 16, 64, src, dst), MXG_ERR_SIZE);
      ck_assert_int_eq(gates[way](1, SIZE_MAX / 64 / 16 * 16, 64, src, dst), MXG_ERR_SIZE);
      ck_assert_int_eq(gates[way](1, 16, 64, src, src + 2047), MXG_ERR_OVERLAP);
    }
  }
  expect_bytes(dst, poison, sizeof dst, "weights after errors");
}
END_TEST

/* ---- about ---- */

START_TEST(test_strerror) {
  static const mxg_status all[] = {
      MXG_OK,           MXG_ERR_NULL,        MXG_ERR_SHAPE,         MXG_ERR_SIZE,
      MXG_ERR_CAPACITY, MXG_ERR_OVERLAP,     MXG_ERR_RECIPE,        MXG_ERR_LAYOUT,
      MXG_ERR_TYPE,     MXG_ERR_RESERVED,    MXG_ERR_ISA,           MXG_ERR_FENV,
      MXG_ERR_PRESET,   MXG_ERR_KEY_UNKNOWN, MXG_ERR_KEY_DUPLICATE, MXG_ERR_KEY_INAPPLICABLE,
      MXG_ERR_VALUE,    MXG_ERR_KEY_MISSING, MXG_ERR_SYNTAX,        MXG_ERR_NO_DEVICE,
      MXG_ERR_ARCH,     MXG_ERR_DEVICE};
  const char *unknown = mxg_strerror((mxg_status)12345);
  ck_assert_ptr_nonnull(unknown);
  ck_assert_ptr_nonnull(mxg_strerror((mxg_status)-1));
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    const char *text = mxg_strerror(all[i]);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_gt(strlen(text), 5);
    ck_assert_str_ne(text, unknown);
    ck_assert_msg(text[strlen(text) - 1] != '.', "%s", text);
    ck_assert_ptr_eq(text, mxg_strerror(all[i]));
    for (size_t j = 0; j < i; j++) ck_assert_str_ne(text, mxg_strerror(all[j]));
  }
}
END_TEST

START_TEST(test_version) {
  char want[64];
  snprintf(want, sizeof want, "%d.%d.%d", MXG_VERSION_MAJOR, MXG_VERSION_MINOR, MXG_VERSION_PATCH);
  ck_assert_str_eq(mxg_version(), want);
}
END_TEST

START_TEST(test_cpu_features) {
  const uint32_t features = mxg_cpu_features();
  ck_assert_uint_eq(features & MXG_ISA_PORTABLE, MXG_ISA_PORTABLE);
  ck_assert_uint_eq(features & ~0xFu, 0);
  ck_assert_uint_eq(features, mxg_cpu_features());
  /* x86 and Arm sets never come together */
  ck_assert_msg((features & MXG_ISA_NEON) == 0 || (features & (MXG_ISA_AVX2 | MXG_ISA_AVX512)) == 0,
                "features %u", (unsigned)features);
#if defined(__x86_64__) && defined(__GNUC__)
  /* what the compiler's own library finds */
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi");
  ck_assert_int_eq((features & MXG_ISA_AVX2) != 0, avx2);
  ck_assert_int_eq((features & MXG_ISA_AVX512) != 0, avx512);
#endif
}
END_TEST

#if defined(__linux__)
/* NULL where the library is built without OpenMP. */
extern int omp_get_max_threads(void) __attribute__((weak));

/* Threads of this process. */
static size_t task_count(void) {
  size_t count = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) return 0;
  for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

/* `threads` is a limit, and so is the number of rows; rows of few bytes stay on one thread. How many
 * there were is seen by those that OpenMP keeps for the next call. */
START_TEST(test_threads) {
  enum { MOST_ROWS = 64, WIDE = 4096 };
  static float x[MOST_ROWS * WIDE];
  static uint8_t codes[MOST_ROWS * WIDE], scales[MOST_ROWS * WIDE / 32];
  static const struct {
    uint32_t threads;
    size_t rows, cols, most;
  } calls[] = {{1, MOST_ROWS, WIDE, 1},
               {9, MOST_ROWS, 32, 1},
               {2, MOST_ROWS, WIDE, 2},
               {9, 5, WIDE, 5},
               {7, MOST_ROWS, WIDE, 7}};
  const mxg_recipe recipe = recipe_of("mxfp8");
  const size_t before = task_count();
  if (omp_get_max_threads == NULL) printf("skipped: test_threads counts one: no OpenMP\n");
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    const mxg_matrix_view view = {x, MXG_DTYPE_F32, calls[i].rows, calls[i].cols, 0};
    const mxg_run run = {calls[i].threads, 0, {0}};
    mxg_packed out = {codes, sizeof codes, scales, sizeof scales, {0}};
    ck_assert_int_eq(mxg_layout_for(&recipe, view.rows, view.cols, NULL, &out.layout), MXG_OK);
    ck_assert_int_eq(mxg_quantize(&recipe, &view, NULL, &out, &run), MXG_OK);
    if (before != 1) continue; /* others have left theirs */
    const size_t tasks = task_count();
    ck_assert_msg(tasks <= calls[i].most, "%zu threads, at most %zu", tasks, calls[i].most);
    if (omp_get_max_threads == NULL) continue;
    ck_assert_msg(i < 2 || tasks == calls[i].most, "%zu threads, not %zu", tasks, calls[i].most);
  }
}
END_TEST
#else
START_TEST(test_threads) {
  printf("skipped: test_threads counts threads where Linux is\n");
}
END_TEST
#endif

START_TEST(test_kernel_name) {
  const mxg_recipe recipe = recipe_of("mxfp4");
  mxg_recipe reserved = recipe, invalid = recipe;
  reserved.reserved[0] = 1;
  invalid.block = 0;
  mxg_run run;
  memset(&run, 0, sizeof run);
  const char poison[] = "untouched", *name = poison;
  ck_assert_int_eq(mxg_kernel_name(NULL, MXG_OPERATION_QUANTIZE, MXG_DTYPE_F32, NULL, &name),
                   MXG_ERR_NULL);
  ck_assert_int_eq(mxg_kernel_name(&recipe, MXG_OPERATION_QUANTIZE, MXG_DTYPE_F32, NULL, NULL),
                   MXG_ERR_NULL);
  ck_assert_int_eq(mxg_kernel_name(&invalid, MXG_OPERATION_QUANTIZE, MXG_DTYPE_F32, NULL, &name),
                   MXG_ERR_RECIPE);
  ck_assert_int_eq(mxg_kernel_name(&reserved, MXG_OPERATION_QUANTIZE, MXG_DTYPE_F32, NULL, &name),
                   MXG_ERR_RESERVED);
  ck_assert_int_eq(mxg_kernel_name(&recipe, MXG_OPERATION_QUANTIZE, (mxg_dtype)9, NULL, &name),
                   MXG_ERR_TYPE);
  ck_assert_int_eq(mxg_kernel_name(&recipe, (mxg_operation)0, MXG_DTYPE_F32, NULL, &name),
                   MXG_ERR_SHAPE);
  ck_assert_int_eq(mxg_kernel_name(&recipe, (mxg_operation)4, MXG_DTYPE_F32, NULL, &name),
                   MXG_ERR_SHAPE);
  run.isa_mask = UINT32_C(1) << 20;
  ck_assert_int_eq(mxg_kernel_name(&recipe, MXG_OPERATION_COMBINE, MXG_DTYPE_F32, &run, &name),
                   MXG_ERR_ISA);
  run.isa_mask = 0;
  run.reserved[3] = 1;
  ck_assert_int_eq(mxg_kernel_name(&recipe, MXG_OPERATION_COMBINE, MXG_DTYPE_F32, &run, &name),
                   MXG_ERR_RESERVED);
  ck_assert_ptr_eq(name, poison);
  run.reserved[3] = 0;
  run.isa_mask = MXG_ISA_PORTABLE;
  static const char *const starts[] = {"", "mxg_quantize", "mxg_dequantize", "mxg_combine"};
  for (int op = MXG_OPERATION_QUANTIZE; op <= MXG_OPERATION_COMBINE; op++) {
    const mxg_preset *preset = NULL;
    for (size_t p = 0; (preset = mxg_preset_at(p)) != NULL; p++) {
      for (int dtype = MXG_DTYPE_F32; dtype <= MXG_DTYPE_BF16; dtype++) {
        name = NULL;
        ck_assert_int_eq(
            mxg_kernel_name(&preset->recipe, (mxg_operation)op, (mxg_dtype)dtype, &run, &name),
            MXG_OK);
        ck_assert_msg(strncmp(name, starts[op], strlen(starts[op])) == 0, "%s", name);
        ck_assert_msg(strstr(name, "__portable") != NULL, "%s", name);
        ck_assert_int_eq(
            mxg_kernel_name(&preset->recipe, (mxg_operation)op, (mxg_dtype)dtype, NULL, &name),
            MXG_OK);
        ck_assert_msg(strstr(name, "__") != NULL, "%s", name);
        /* none asked for is all asked for */
        const mxg_run any = {0, 0, {0}}, all = {0, mxg_cpu_features(), {0}};
        const mxg_run *const runs[] = {&any, &all};
        for (size_t r = 0; r < 2; r++) {
          const char *best = NULL;
          ck_assert_int_eq(
              mxg_kernel_name(&preset->recipe, (mxg_operation)op, (mxg_dtype)dtype, runs[r], &best),
              MXG_OK);
          ck_assert_str_eq(best, name);
        }
      }
    }
  }
}
END_TEST

CHECK_MAIN("api", test_statuses_and_their_order, test_layout_fields, test_reserved_words,
           test_null_allowed, test_strides_of_nothing, test_sizes_without_columns,
           test_rows_of_nothing, test_fenv_of_e8m0, test_overlap, test_arrays, test_layout_for,
           test_scales_reorder, test_scales_reorder_layouts, test_scales_of_no_bytes,
           test_weight_orders, test_strerror, test_version, test_cpu_features, test_kernel_name,
           test_threads)
