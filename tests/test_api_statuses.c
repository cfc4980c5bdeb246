/* test_api_statuses.c: quantise, dequantise and combine line by line: each status that their comments
 * name, nothing written on an error, the order of the checks, and equal statuses of codec and ref.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "arguments.h"
#include "check_main.h"
#include "compare.h"
#include "recipes.h"

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
  static struct arguments_memory before;
  for (int i = 0; i < IMPLS; i++) {
    arguments_valid(&a, op);
    if (second != NULL) second->spoil(&a);
    first->spoil(&a);
    memcpy(&before, &memory, sizeof before);
    const mxg_status status = arguments_call(&impls[i], op, &a);
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
      ck_assert_int_eq(arguments_call(&impls[i], op, &a), MXG_OK);
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
        const mxg_status status = arguments_call(&impls[i], op, &a);
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
        ck_assert_int_eq(arguments_call(&impls[i], op, &a), MXG_ERR_RESERVED);
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

/* FENV concerns E8M0 recipes only where row weights make floats of them. */
START_TEST(test_fenv_of_e8m0) {
  if (!can_set_environment()) return;
  for (int i = 0; i < IMPLS; i++) {
    arguments a;
    arguments_valid(&a, QUANTIZE);
    a.recipe = recipe_of("mxfp8");
    ck_assert_int_eq(mxg_layout_for(&a.recipe, PADDED, COLS, NULL, &a.packed.layout), MXG_OK);
    a.environment = FPENV_FTZ_DAZ;
    ck_assert_int_eq(arguments_call(&impls[i], QUANTIZE, &a), MXG_ERR_FENV);
    a.row_weight = NULL;
    ck_assert_int_eq(arguments_call(&impls[i], QUANTIZE, &a), MXG_OK);
    a.matrix.data = memory.y;
    ck_assert_int_eq(arguments_call(&impls[i], DEQUANTIZE, &a), MXG_OK);
  }
}
END_TEST

CHECK_MAIN("statuses of calls", test_statuses_and_their_order, test_layout_fields,
           test_reserved_words, test_fenv_of_e8m0)
