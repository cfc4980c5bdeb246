/* recipes.c
 * SPDX-License-Identifier: MIT */
#include "recipes.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

mxg_recipe recipe_of(const char *text) {
  mxg_recipe recipe;
  size_t at = 0;
  memset(&recipe, 0xA5, sizeof recipe); /* every byte is written */
  const mxg_status status = mxg_recipe_parse(text, &recipe, &at);
  if (status != MXG_OK) ck_abort_msg("recipe %s: status %d at %zu", text, (int)status, at);
  return recipe;
}

const char *recipe_text(const mxg_recipe *recipe) {
  static char text[512];
  if (mxg_recipe_print(recipe, text, sizeof text) == 0) return "(invalid recipe)";
  return text;
}

size_t recipe_block(const mxg_recipe *recipe) {
  return recipe->scale == MXG_SCALE_NONE ? 128 : recipe->block;
}

static float element_max_random(generator *g, float format_max) {
  const float some[] = {format_max, 240.0f, 7.5f, 6.0f, 5.0f, 1.0f, 0.3f, 0x1p-20f, 0x1p-130f};
  for (;;) {
    const float max = some[generator_below(g, sizeof some / sizeof some[0])];
    if (max <= format_max) return max;
  }
}

mxg_recipe recipe_random(generator *g) {
  static const uint32_t blocks[] = {1,  2,  3,  5,  7,   8,   16,  28,  31,   32,
                                    33, 64, 74, 96, 100, 128, 129, 256, 1000, 1u << 20};
  static const float floors[] = {1e-10f, 0x1p-149f, 0x1p-126f,      0.01f,
                                 1.0f,   500.0f,    0x1.fffffep127f};
  mxg_recipe r;
  memset(&r, 0, sizeof r);
  r.element = (mxg_element)(1 + generator_below(g, 7));
  r.scale = (mxg_scale)(generator_chance(g, 8) ? MXG_SCALE_NONE : 2 + generator_below(g, 2));
  const mxg_traits traits = mxg_element_traits(r.element);
  const bool is_fp8 = traits.bits == 8;
  if (generator_chance(g, 3)) r.element_max = element_max_random(g, traits.max);
  r.nan_element = (mxg_nan_element)(is_fp8 ? 1 + generator_below(g, 5) : 2 + generator_below(g, 4));
  r.overflow = is_fp8 ? (mxg_overflow)(1 + generator_below(g, 3)) : MXG_OVERFLOW_SATURATE;
  r.accumulate = (mxg_accumulate)(1 + generator_below(g, 2));
  if (r.scale == MXG_SCALE_NONE) return r;
  r.block = blocks[generator_below(g, sizeof blocks / sizeof blocks[0])];
  if (generator_chance(g, 3)) r.amax_floor = floors[generator_below(g, 7)];
  r.nan_amax = (mxg_nan_amax)(1 + generator_below(g, 2));
  if (r.scale == MXG_SCALE_E8M0) {
    r.rule = (mxg_rule)(1 + generator_below(g, 7));
    r.edges = (mxg_edges)(1 + generator_below(g, 2));
    const bool has_field = r.rule != MXG_RULE_RCEIL && r.rule != MXG_RULE_RCEIL_BUMP;
    r.inf_scale = (mxg_inf_scale)(1 + generator_below(g, has_field ? 3 : 2));
  } else {
    r.scale_math = (mxg_scale_math)(1 + generator_below(g, 2));
    r.scale_when = (mxg_scale_when)(1 + generator_below(g, 2));
    r.apply = (mxg_apply)(1 + generator_below(g, 3));
    r.zero_block = (mxg_zero_block)(1 + generator_below(g, 2));
    r.marker = (mxg_marker)(1 + generator_below(g, 3));
  }
  return r;
}

mxg_layout_options options_random(generator *g, const mxg_recipe *recipe, size_t cols) {
  mxg_layout_options o;
  memset(&o, 0, sizeof o);
  const size_t used = mxg_scales_used(recipe, cols);
  const bool scaled = recipe->scale != MXG_SCALE_NONE;
  size_t row_bytes = 0;
  (void)mxg_payload_row_bytes(recipe->element, cols, &row_bytes);
  if (scaled && generator_chance(g, 2)) o.scale_count = used + generator_below(g, 4);
  const size_t stored = o.scale_count != 0 ? o.scale_count : used;
  const size_t scale_row_bytes = stored * mxg_scale_bytes(recipe->scale);
  if (generator_chance(g, 3)) {
    o.placement = MXG_PLACEMENT_SLOT;
    if (generator_chance(g, 2)) o.slot_weights = generator_below(g, 10);
    if (generator_chance(g, 2))
      o.slot_stride_bytes =
          row_bytes + scale_row_bytes + 4 * (size_t)o.slot_weights + generator_below(g, 19);
    return o;
  }
  if (generator_chance(g, 2)) o.payload_stride_bytes = row_bytes + generator_below(g, 13);
  if (!scaled) return o;
  o.order = (mxg_scale_order)generator_below(g, recipe->scale == MXG_SCALE_E8M0 ? 4 : 2);
  if (o.order == MXG_ORDER_ROW_MAJOR && generator_chance(g, 2))
    o.scale_stride_bytes = scale_row_bytes + generator_below(g, 7);
  if (o.order >= MXG_ORDER_AITER_SHUFFLE) o.pad_byte = generator_below(g, 256);
  return o;
}

const char *options_text(const mxg_layout_options *o) {
  static char text[256];
  static const char *const orders[] = {"row_major", "transposed", "aiter_shuffle", "blocked_128x4"};
  snprintf(text, sizeof text,
           "%s %s pad %02X scale_count %zu payload_stride %zu scale_stride %zu slot_weights %u "
           "slot_stride %zu",
           o->placement == MXG_PLACEMENT_SLOT ? "slot" : "separate",
           orders[(unsigned)o->order & 3u], (unsigned)o->pad_byte, o->scale_count,
           o->payload_stride_bytes, o->scale_stride_bytes, (unsigned)o->slot_weights,
           o->slot_stride_bytes);
  return text;
}
