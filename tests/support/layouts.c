/* layouts.c
 * SPDX-License-Identifier: MIT */
#include "layouts.h"

#include <check.h>
#include <string.h>

#include "compare.h"
#include "impl.h"

const char *const order_names[ORDERS] = {"row_major", "transposed", "aiter_shuffle",
                                         "blocked_128x4"};

mxg_layout_options options_none(void) {
  mxg_layout_options o;
  memset(&o, 0, sizeof o);
  return o;
}

mxg_layout_options options_in_order(int order) {
  mxg_layout_options o = options_none();
  o.order = (mxg_scale_order)order;
  return o;
}

/* A layout has no padding: equal fields are equal bytes. */
mxg_layout layout_of(const mxg_recipe *recipe, size_t rows, size_t cols,
                     const mxg_layout_options *options) {
  mxg_layout layouts[IMPLS];
  memset(layouts, 0xA5, sizeof layouts);
  for (int i = 0; i < IMPLS; i++) {
    const mxg_status status = impls[i].layout_for(recipe, rows, cols, options, &layouts[i]);
    ck_assert_msg(status == MXG_OK, "%s: status %d for %zu x %zu", impls[i].name, (int)status, rows,
                  cols);
  }
  expect_bytes(&layouts[IMPL_CODEC], &layouts[IMPL_REF], sizeof(mxg_layout),
               "layouts of codec and ref, %zu x %zu", rows, cols);
  return layouts[IMPL_CODEC];
}

void expect_layout_status(mxg_status want, const mxg_recipe *recipe, size_t rows, size_t cols,
                          const mxg_layout_options *options, const char *what) {
  for (int i = 0; i < IMPLS; i++) {
    mxg_layout layout, before;
    memset(&layout, 0xA5, sizeof layout);
    before = layout;
    const mxg_status status = impls[i].layout_for(recipe, rows, cols, options, &layout);
    ck_assert_msg(status == want, "%s, %s: status %d, not %d", impls[i].name, what, (int)status,
                  (int)want);
    if (want != MXG_OK)
      expect_bytes(&layout, &before, sizeof layout, "%s, %s: out was written", impls[i].name, what);
  }
}

mxg_layout scale_matrix_of(const mxg_recipe *recipe, int order, size_t rows, size_t cols,
                           uint32_t pad_byte, size_t stride_bytes) {
  mxg_layout_options o = options_in_order(order);
  if (order >= MXG_ORDER_AITER_SHUFFLE) o.pad_byte = pad_byte;
  if (order == MXG_ORDER_ROW_MAJOR) o.scale_stride_bytes = stride_bytes;
  return layout_of(recipe, rows, cols * recipe->block, &o);
}
