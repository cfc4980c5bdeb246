/* impl.c
 * SPDX-License-Identifier: MIT */
#include "impl.h"

#define ALL_OF(prefix)                                                                           \
  prefix##layout_for, prefix##quantize, prefix##dequantize, prefix##combine, prefix##encode_f32, \
      prefix##decode_f32, prefix##e8m0_from_amax, prefix##e8m0_from_scale, prefix##e8m0_to_f32,  \
      prefix##to_f32, prefix##from_f32, prefix##scales_reorder, prefix##weight_shuffle,          \
      prefix##weight_unshuffle, prefix##gate_up_interleave, prefix##gate_up_separate

const impl impls[IMPLS] = {{"codec", ALL_OF(mxg_)}, {"ref", ALL_OF(mxg_ref_)}};
