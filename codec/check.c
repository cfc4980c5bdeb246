/* check.c: the argument checks that calls share.
 * SPDX-License-Identifier: MIT */
#include "internal.h"

static int any_set(const uint32_t *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (words[i] != 0) return 1;
  return 0;
}

mxg_status mxg_check_recipe(const mxg_recipe *recipe) {
  if (recipe == NULL) return MXG_ERR_NULL;
  if (any_set(recipe->reserved, sizeof recipe->reserved / sizeof recipe->reserved[0]))
    return MXG_ERR_RESERVED;
  return mxg_recipe_check(recipe, NULL);
}

mxg_status mxg_check_reserved(const mxg_run *run) {
  if (run == NULL) return MXG_OK;
  return any_set(run->reserved, sizeof run->reserved / sizeof run->reserved[0]) ? MXG_ERR_RESERVED
                                                                                : MXG_OK;
}

int mxg_is_dtype(mxg_dtype dtype) {
  return mxg_dtype_bytes(dtype) != 0;
}

/* Only a layout that mxg_layout_for() makes is valid: make it again and compare what is not copied.
 * The recipe has been checked. */
mxg_status mxg_check_layout(const mxg_recipe *recipe, const mxg_layout *layout) {
  mxg_layout_options options;
  mxg_layout made;
  memset(&options, 0, sizeof options);
  options.placement = layout->placement;
  options.order = layout->order;
  options.pad_byte = layout->pad_byte;
  options.slot_weights = layout->slot_weights;
  options.scale_count = layout->scale_count;
  options.payload_stride_bytes = layout->payload_stride_bytes;
  options.scale_stride_bytes = layout->scale_stride_bytes;
  options.slot_stride_bytes = layout->slot_stride_bytes;
  if (mxg_layout_make(recipe, layout->rows, layout->cols, &options, &made) != MXG_OK)
    return MXG_ERR_LAYOUT;
  return made.scale_bytes == layout->scale_bytes && made.reserved == layout->reserved &&
                 made.scales_used == layout->scales_used &&
                 made.scale_count == layout->scale_count &&
                 made.payload_row_bytes == layout->payload_row_bytes &&
                 made.scale_row_bytes == layout->scale_row_bytes &&
                 made.slot_bytes == layout->slot_bytes &&
                 made.payload_stride_bytes == layout->payload_stride_bytes &&
                 made.scale_stride_bytes == layout->scale_stride_bytes &&
                 made.slot_stride_bytes == layout->slot_stride_bytes &&
                 made.scale_offset_bytes == layout->scale_offset_bytes &&
                 made.weight_offset_bytes == layout->weight_offset_bytes &&
                 made.codes_bytes == layout->codes_bytes &&
                 made.scales_bytes == layout->scales_bytes
             ? MXG_OK
             : MXG_ERR_LAYOUT;
}

mxg_status mxg_check_isa(const mxg_run *run) {
  if (run == NULL || (run->isa_mask & ~mxg_cpu_features()) == 0) return MXG_OK;
  return MXG_ERR_ISA;
}
