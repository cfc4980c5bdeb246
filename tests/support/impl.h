/* impl.h: the two implementations behind one set of function pointers.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_IMPL_H
#define TESTS_SUPPORT_IMPL_H

#include "mxgold.h"

typedef struct impl {
  const char *name; /* "codec", "ref" */
  mxg_status (*layout_for)(const mxg_recipe *, size_t, size_t, const mxg_layout_options *,
                           mxg_layout *);
  mxg_status (*quantize)(const mxg_recipe *, const mxg_matrix_view *, const float *,
                         const mxg_packed *, const mxg_run *);
  mxg_status (*dequantize)(const mxg_recipe *, const mxg_packed_view *, const mxg_matrix *,
                           const mxg_run *);
  mxg_status (*combine)(const mxg_recipe *, const void *const *, size_t, const float *,
                        const mxg_layout *, size_t, size_t, const mxg_matrix *, const mxg_run *);
  mxg_status (*encode_f32)(const mxg_recipe *, const float *, size_t, uint8_t *);
  mxg_status (*decode_f32)(mxg_element, const uint8_t *, size_t, float *);
  mxg_status (*e8m0_from_amax)(const mxg_recipe *, const float *, size_t, uint8_t *);
  mxg_status (*e8m0_from_scale)(const mxg_recipe *, const float *, size_t, uint8_t *);
  mxg_status (*e8m0_to_f32)(mxg_edges, const uint8_t *, size_t, float *);
  mxg_status (*to_f32)(mxg_dtype, const void *, size_t, float *);
  mxg_status (*from_f32)(mxg_dtype, const float *, size_t, void *);
  mxg_status (*scales_reorder)(const mxg_layout *, const void *, size_t, const mxg_layout *, void *,
                               size_t, size_t);
  mxg_status (*weight_shuffle)(size_t, size_t, const void *, void *);
  mxg_status (*weight_unshuffle)(size_t, size_t, const void *, void *);
  mxg_status (*gate_up_interleave)(size_t, size_t, size_t, const void *, void *);
  mxg_status (*gate_up_separate)(size_t, size_t, size_t, const void *, void *);
} impl;

enum { IMPL_CODEC = 0, IMPL_REF = 1, IMPLS = 2 };
extern const impl impls[IMPLS];

#endif
