/* choose.c
 * SPDX-License-Identifier: MIT */
#include "choose.h"

#include <string.h>

#include "check.h"
#include "memory.h"

enum { RECIPE_WORDS = sizeof(mxg_recipe) / 4, ELEMENTS_MAX = 2048 };
_Static_assert(sizeof(mxg_recipe) == 80, "a recipe is 20 words of 4 bytes");

bool fuzz_is_limited(void) {
  return fuzz_subject_under_test.recipe != NULL;
}

/* ---- recipes ---- */

static const uint32_t float_words[] = {
    0x00000000, 0x80000000, 0x00000001, 0x00800000, 0x2EDBE6FF, 0x3F800000, 0x40C00000, 0x40F00000,
    0x41E00000, 0x43700000, 0x43E00000, 0x47600000, 0x47600001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000};

static uint32_t preset_count(void) {
  uint32_t count = 0;
  while (mxg_preset_at(count) != NULL) count++;
  return count;
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float choose_element_max(fuzz_input *in, mxg_element element) {
  const float max = mxg_element_traits(element).max;
  if (!fuzz_chance(in, 96)) return 0.0f;
  const float wanted = fuzz_chance(in, 128) ? float_of(fuzz_u32(in) & 0x7FFFFFFFu)
                                            : float_of(float_words[fuzz_below(in, 16)]);
  return wanted > 0.0f && wanted <= max ? wanted : max;
}

static uint32_t choose_block(fuzz_input *in) {
  static const uint32_t blocks[] = {1,  2,  3,  7,   8,   15,  16,  17,   31,      32,        33,
                                    63, 64, 74, 127, 128, 129, 256, 1024, 1 << 20, UINT32_MAX};
  const uint32_t pick = fuzz_below(in, 32);
  return pick < sizeof blocks / sizeof blocks[0] ? blocks[pick] : 1 + fuzz_below(in, 300);
}

static void choose_legal(fuzz_input *in, mxg_recipe *r) {
  memset(r, 0, sizeof *r);
  r->element = (mxg_element)(1 + fuzz_below(in, 7));
  r->scale = (mxg_scale)(1 + fuzz_below(in, 3));
  const bool is_fp8 = mxg_element_traits(r->element).bits == 8;
  r->element_max = choose_element_max(in, r->element);
  r->nan_element = (mxg_nan_element)(is_fp8 ? 1 + fuzz_below(in, 5) : 2 + fuzz_below(in, 4));
  r->overflow = is_fp8 ? (mxg_overflow)(1 + fuzz_below(in, 3)) : MXG_OVERFLOW_SATURATE;
  r->accumulate = (mxg_accumulate)(1 + fuzz_below(in, 2));
  if (r->scale == MXG_SCALE_NONE) return;
  r->block = choose_block(in);
  if (fuzz_chance(in, 64)) {
    const float amax_floor = float_of(fuzz_u32(in) & 0x7FFFFFFFu);
    if (amax_floor <= 0x1.fffffep127f) r->amax_floor = amax_floor;
  }
  r->nan_amax = (mxg_nan_amax)(1 + fuzz_below(in, 2));
  if (r->scale == MXG_SCALE_E8M0) {
    r->rule = (mxg_rule)(1 + fuzz_below(in, 7));
    r->edges = (mxg_edges)(1 + fuzz_below(in, 2));
    const bool has_field = r->rule != MXG_RULE_RCEIL && r->rule != MXG_RULE_RCEIL_BUMP;
    r->inf_scale = (mxg_inf_scale)(1 + fuzz_below(in, has_field ? 3 : 2));
  } else {
    r->scale_math = (mxg_scale_math)(1 + fuzz_below(in, 2));
    r->scale_when = (mxg_scale_when)(1 + fuzz_below(in, 2));
    r->apply = (mxg_apply)(1 + fuzz_below(in, 3));
    r->zero_block = (mxg_zero_block)(1 + fuzz_below(in, 2));
    r->marker = (mxg_marker)(1 + fuzz_below(in, 3));
  }
}

void fuzz_spoil_words(fuzz_input *in, void *words, size_t count) {
  const size_t index = fuzz_below(in, (uint32_t)count);
  const uint32_t how = fuzz_below(in, 4);
  const uint32_t word = how == 0   ? fuzz_below(in, 9)
                        : how == 1 ? float_words[fuzz_below(in, 16)]
                        : how == 2 ? fuzz_u8(in)
                                   : fuzz_u32(in);
  memcpy((uint8_t *)words + 4 * index, &word, 4);
}

void fuzz_choose_recipe(fuzz_input *in, mxg_recipe *recipe) {
  const fuzz_subject *subject = &fuzz_subject_under_test;
  if (fuzz_is_limited()) {
    const mxg_status status = mxg_recipe_parse(subject->recipe, recipe, NULL);
    FUZZ_CHECK(status == MXG_OK, "the subject's recipe '%s': %s", subject->recipe,
               mxg_strerror(status));
    return;
  }
  const uint8_t how = fuzz_u8(in);
  if (how < 128) /* NOLINTNEXTLINE(*-core.DivideZero): there are presets */
    *recipe = mxg_preset_at(how % preset_count())->recipe;
  else if (how < 248)
    choose_legal(in, recipe);
  else
    fuzz_bytes(in, recipe, sizeof *recipe);
  if (fuzz_chance(in, 48))
    for (uint32_t i = 1 + fuzz_below(in, 3); i > 0; i--) fuzz_spoil_words(in, recipe, RECIPE_WORDS);
}

/* ---- shapes and layouts ---- */

void fuzz_choose_shape(fuzz_input *in, const mxg_recipe *recipe, size_t *rows, size_t *cols) {
  static const uint16_t tall[] = {15, 16, 17, 31, 32, 33, 127, 128, 129, 255, 256, 257};
  const size_t multiple = fuzz_subject_under_test.cols_multiple;
  const size_t block = recipe->block > 0 && recipe->block <= 256 ? recipe->block : 32;
  const uint8_t how = fuzz_u8(in), pick = fuzz_u8(in);
  if (how < 100)
    *cols = pick;
  else if (how < 200)
    *cols = (pick % 5) * block + fuzz_below(in, 5);
  else
    *cols = pick * 4;
  if (multiple > 0) *cols = *cols / multiple * multiple + (*cols % multiple != 0 ? multiple : 0);
  const uint8_t height = fuzz_u8(in);
  *rows = height < 160 ? height % 7u : tall[height % 12];
  if (*cols > 0 && *rows > ELEMENTS_MAX / *cols) *rows = ELEMENTS_MAX / *cols;
  if (*cols == 0 && height >= 240 && !fuzz_is_limited()) *rows = fuzz_odd_size(in);
}

void fuzz_choose_options(fuzz_input *in, const mxg_recipe *recipe, size_t cols,
                         mxg_layout_options *o) {
  memset(o, 0, sizeof *o);
  if (fuzz_is_limited()) return;
  const uint8_t how = fuzz_u8(in);
  if (how < 64) return;
  size_t row_bytes = 0;
  (void)mxg_payload_row_bytes(recipe->element, cols, &row_bytes);
  const size_t used = mxg_scales_used(recipe, cols);
  const bool is_scaled = recipe->scale != MXG_SCALE_NONE;
  if (is_scaled && fuzz_chance(in, 128)) o->scale_count = used + fuzz_below(in, 4);
  const size_t stored = o->scale_count != 0 ? o->scale_count : used;
  const size_t scale_row_bytes = stored * mxg_scale_bytes(recipe->scale);
  if (how < 120) {
    o->placement = MXG_PLACEMENT_SLOT;
    o->slot_weights = fuzz_below(in, 10);
    if (fuzz_chance(in, 128))
      o->slot_stride_bytes =
          row_bytes + scale_row_bytes + 4 * (size_t)o->slot_weights + fuzz_below(in, 19);
  } else {
    if (fuzz_chance(in, 128)) o->payload_stride_bytes = row_bytes + fuzz_below(in, 13);
    if (is_scaled)
      o->order = (mxg_scale_order)fuzz_below(in, recipe->scale == MXG_SCALE_E8M0 ? 4 : 2);
    if (o->order == MXG_ORDER_ROW_MAJOR && fuzz_chance(in, 128))
      o->scale_stride_bytes = scale_row_bytes + fuzz_below(in, 7);
    if (o->order >= MXG_ORDER_AITER_SHUFFLE) o->pad_byte = fuzz_u8(in);
  }
  if (how < 240) return;
  switch (fuzz_below(in, 9)) {
    case 0: o->placement = (mxg_placement)fuzz_below(in, 4); break;
    case 1: o->order = (mxg_scale_order)fuzz_below(in, 6); break;
    case 2: o->pad_byte = fuzz_u32(in); break;
    case 3: o->slot_weights = fuzz_u32(in); break;
    case 4: o->scale_count = fuzz_odd_size(in); break;
    case 5: o->payload_stride_bytes = fuzz_odd_size(in); break;
    case 6: o->scale_stride_bytes = fuzz_odd_size(in); break;
    case 7: o->slot_stride_bytes = fuzz_odd_size(in); break;
    default: o->reserved[fuzz_below(in, 4)] = fuzz_u32(in); break;
  }
}

mxg_status fuzz_choose_layout(const mxg_recipe *recipe, size_t rows, size_t cols,
                              const mxg_layout_options *options, mxg_layout *layout) {
  mxg_layout untouched, ref;
  memset(&untouched, 0, sizeof untouched);
  memset(layout, 0, sizeof *layout);
  memset(&ref, 0, sizeof ref);
  const mxg_status status = mxg_layout_for(recipe, rows, cols, options, layout);
  const mxg_status ref_status = mxg_ref_layout_for(recipe, rows, cols, options, &ref);
  FUZZ_CHECK(status == ref_status, "layout_for: codec %s, ref %s", mxg_strerror(status),
             mxg_strerror(ref_status));
  FUZZ_CHECK(memcmp(layout, &ref, sizeof ref) == 0, "layout_for: codec and ref differ");
  FUZZ_CHECK(status == MXG_OK || memcmp(layout, &untouched, sizeof untouched) == 0,
             "layout_for: wrote on an error");
  return status;
}

void fuzz_spoil_layout(fuzz_input *in, mxg_layout *l) {
  const uint32_t pick = fuzz_below(in, 19);
  size_t *const sizes[] = {&l->rows,
                           &l->cols,
                           &l->scales_used,
                           &l->scale_count,
                           &l->codes_bytes,
                           &l->scales_bytes,
                           &l->payload_row_bytes,
                           &l->payload_stride_bytes,
                           &l->slot_bytes,
                           &l->scale_row_bytes,
                           &l->slot_stride_bytes,
                           &l->scale_stride_bytes,
                           &l->scale_offset_bytes,
                           &l->weight_offset_bytes};
  const uint32_t count = sizeof sizes / sizeof sizes[0];
  if (pick < count) {
    const size_t value = fuzz_odd_size(in);
    *sizes[pick] = fuzz_chance(in, 128) ? value : *sizes[pick] + (fuzz_u8(in) % 2 ? 1 : SIZE_MAX);
  } else if (pick == count) {
    l->placement = (mxg_placement)fuzz_below(in, 4);
  } else if (pick == count + 1) {
    l->order = (mxg_scale_order)fuzz_below(in, 6);
  } else if (pick == count + 2) {
    l->pad_byte = fuzz_u32(in);
  } else if (pick == count + 3) {
    l->scale_bytes = fuzz_below(in, 6);
  } else {
    l->reserved = fuzz_u32(in);
  }
}

mxg_dtype fuzz_choose_dtype(fuzz_input *in) {
  const mxg_dtype limited = fuzz_subject_under_test.dtype;
  return limited != 0 ? limited : (mxg_dtype)(1 + fuzz_below(in, 3));
}

uint8_t fuzz_choose_place(fuzz_input *in) {
  return (uint8_t)(fuzz_u8(in) % (fuzz_is_limited() ? 2 : 66));
}

mxg_run fuzz_choose_run(fuzz_input *in) {
  mxg_run run;
  memset(&run, 0, sizeof run);
  run.threads = fuzz_below(in, 5);
  run.isa_mask = fuzz_u8(in) & mxg_cpu_features();
  return run;
}

/* ---- text ---- */

void fuzz_print_recipe(FILE *to, const mxg_recipe *recipe) {
  char text[1024];
  uint32_t words[RECIPE_WORDS];
  memcpy(words, recipe, sizeof words);
  fputs("  recipe", to);
  if (mxg_recipe_print(recipe, text, sizeof text) != 0) {
    fprintf(to, " %s\n", text);
    return;
  }
  for (size_t i = 0; i < RECIPE_WORDS; i++) fprintf(to, " %X", (unsigned)words[i]);
  fputs(" (words; it is not legal)\n", to);
}

void fuzz_print_layout(FILE *to, const mxg_layout *l) {
  fprintf(to,
          "  layout %zu x %zu, %s, order %d, pad %02X, slot_weights %u, scales %zu of %zu a row, "
          "strides %zu %zu %zu, codes %zu bytes, scales %zu bytes\n",
          l->rows, l->cols, l->placement == MXG_PLACEMENT_SLOT ? "slot" : "separate", (int)l->order,
          (unsigned)l->pad_byte, (unsigned)l->slot_weights, l->scales_used, l->scale_count,
          l->payload_stride_bytes, l->scale_stride_bytes, l->slot_stride_bytes, l->codes_bytes,
          l->scales_bytes);
}

/* ---- matrices ---- */

size_t fuzz_stride(size_t cols, size_t stride_elems) {
  return stride_elems != 0 ? stride_elems : cols;
}

bool fuzz_is_dtype(mxg_dtype dtype) {
  return dtype == MXG_DTYPE_F32 || dtype == MXG_DTYPE_F16 || dtype == MXG_DTYPE_BF16;
}

size_t fuzz_matrix_bytes(mxg_dtype dtype, size_t rows, size_t cols, size_t stride_elems) {
  const size_t width = dtype == MXG_DTYPE_F32 ? 4 : 2, max = FUZZ_BUFFER_MAX;
  const size_t stride = fuzz_stride(cols, stride_elems);
  if (rows == 0 || cols == 0) return 0;
  if (cols > max) return max + 1;
  if (rows > 1 && stride > max / (rows - 1)) return max + 1;
  const size_t bytes = ((rows - 1) * stride + cols) * width;
  return bytes > max ? max + 1 : bytes;
}
