/* presets.c: the named conventions, in the order of the table of section 7. A convention found in
 * the wild is a row here.
 * SPDX-License-Identifier: MIT */
#include "mxgold.h"

/* The arguments are the fields in the order of the columns of the table. */
#define E8M0(element_, rule_, floor_, nan_amax_, nan_element_, overflow_, edges_, inf_scale_, \
             accumulate_)                                                                     \
  {                                                                                           \
    .element = MXG_ELEMENT_##element_, .scale = MXG_SCALE_E8M0, .block = 32,                  \
    .rule = MXG_RULE_##rule_, .amax_floor = (floor_), .nan_amax = MXG_NAN_AMAX_##nan_amax_,   \
    .nan_element = MXG_NAN_ELEMENT_##nan_element_, .overflow = MXG_OVERFLOW_##overflow_,      \
    .edges = MXG_EDGES_##edges_, .inf_scale = MXG_INF_SCALE_##inf_scale_,                     \
    .accumulate = MXG_ACCUMULATE_##accumulate_                                                \
  }

#define F32(element_, block_, scale_math_, scale_when_, apply_, floor_, nan_amax_, nan_element_, \
            element_max_, zero_block_, marker_, accumulate_)                                     \
  {                                                                                              \
    .element = MXG_ELEMENT_##element_, .scale = MXG_SCALE_F32, .block = (block_),                \
    .element_max = (element_max_), .amax_floor = (floor_), .nan_amax = MXG_NAN_AMAX_##nan_amax_, \
    .nan_element = MXG_NAN_ELEMENT_##nan_element_, .overflow = MXG_OVERFLOW_SATURATE,            \
    .scale_math = MXG_SCALE_MATH_##scale_math_, .scale_when = MXG_SCALE_WHEN_##scale_when_,      \
    .apply = MXG_APPLY_##apply_, .zero_block = MXG_ZERO_BLOCK_##zero_block_,                     \
    .marker = MXG_MARKER_##marker_, .accumulate = MXG_ACCUMULATE_##accumulate_                   \
  }

#define DIRECT(element_, nan_element_, overflow_, accumulate_)                           \
  {                                                                                      \
    .element = MXG_ELEMENT_##element_, .scale = MXG_SCALE_NONE,                          \
    .nan_element = MXG_NAN_ELEMENT_##nan_element_, .overflow = MXG_OVERFLOW_##overflow_, \
    .accumulate = MXG_ACCUMULATE_##accumulate_                                           \
  }

#define FLOOR_1E_10 0x1.b7cdfep-34f /* 1e-10 rounded to binary32 */
#define FORMAT_MAX 0.0f

static const mxg_preset presets[] = {
    {"mxfp8", E8M0(E4M3FN, FLOOR, 0.0f, PROPAGATE, CODE, SATURATE, OCP, NAN, FMA),
     "OCP Microscaling Formats (MX) v1.0, MXFP8 with E4M3 elements: the scale conversion of its "
     "section 6.3, read from the specification."},
    {"mxfp8-e5m2", E8M0(E5M2, FLOOR, 0.0f, PROPAGATE, CODE, SATURATE, OCP, NAN, FMA),
     "OCP Microscaling Formats (MX) v1.0, MXFP8 with E5M2 elements, read from the specification."},
    {"mxfp6-e2m3", E8M0(E2M3, FLOOR, 0.0f, PROPAGATE, SIGN_MAX, SATURATE, OCP, NAN, FMA),
     "OCP Microscaling Formats (MX) v1.0, MXFP6 with E2M3 elements, read from the specification."},
    {"mxfp6-e3m2", E8M0(E3M2, FLOOR, 0.0f, PROPAGATE, SIGN_MAX, SATURATE, OCP, NAN, FMA),
     "OCP Microscaling Formats (MX) v1.0, MXFP6 with E3M2 elements, read from the specification."},
    {"mxfp4", E8M0(E2M1, FLOOR, 0.0f, PROPAGATE, SIGN_MAX, SATURATE, OCP, NAN, FMA),
     "OCP Microscaling Formats (MX) v1.0, MXFP4, read from the specification."},
    {"mxfp8-te", E8M0(E4M3FN, RCEIL, 0.0f, IGNORE, CODE, SATURATE, OCP, MAX, FMA),
     "NVIDIA TransformerEngine's MXFP8: the scale rounded up as CUDA's cvt.rp does, saturating at "
     "FE, read from its public source."},
    {"aiter-mxfp4",
     E8M0(E2M1, RCEIL_BUMP, FLOOR_1E_10, IGNORE, SIGN_MAX, SATURATE, FLOAT, NAN, FMA),
     "AITER's HIP MXFP4 quantiser with RoundUp, its default, executed unmodified for gfx950 in an "
     "instruction emulator on 1.7 M finite elements; NaN into FP4 is unverified on silicon."},
    {"aiter-mxfp4-triton", E8M0(E2M1, EVEN, 0.0f, IGNORE, SIGN_MAX, SATURATE, OCP, MAX, FMA),
     "AITER's Triton MXFP4 quantiser, read from its public source and not run on AMD hardware; "
     "NaN into FP4 is unverified on silicon."},
    {"aiter-mxfp8",
     E8M0(E4M3FN, RCEIL_BUMP, FLOOR_1E_10, IGNORE, NEG_MAX, SATURATE, FLOAT, NAN, FMA),
     "AITER's HIP MXFP8 quantiser as sglang's mxfp8 dispatch uses it, executed unmodified for "
     "gfx950 in an instruction emulator on 1.7 M finite elements."},
    {"aiter-mxfp8-fnuz",
     E8M0(E4M3FNUZ, RCEIL_BUMP, FLOOR_1E_10, IGNORE, NEG_MAX, SATURATE, FLOAT, NAN, FMA),
     "AITER's HIP MXFP8 quantiser on gfx942, where FP8 is FNUZ, executed unmodified in an "
     "instruction emulator on 1.3 M finite elements."},
    {"aiter-mxfp8-triton", E8M0(E4M3FN, EVEN21, 0.0f, IGNORE, CODE, NONFINITE, OCP, MAX, FMA),
     "The stock Triton MXFP8 kernels that AITER carries, which add 0x200000 for every element "
     "format and do not saturate, read from their public source and not run on AMD hardware."},
    {"aiter-fp8-128",
     F32(E4M3FN, 128, MUL, ALWAYS, MUL_RCP, FLOOR_1E_10, IGNORE, NEG_MAX, FORMAT_MAX, UNIT, NONE,
         FMA),
     "AITER's HIP FP8 quantiser with one f32 scale per 128 as sglang's fp8 dispatch uses it, "
     "executed unmodified in an instruction emulator on 4.8 M finite elements; a zero group has "
     "the scale 2A7B5124."},
    {"sglang-fp8-128",
     F32(E4M3FN, 128, MUL, ALWAYS, MUL_MAX, FLOOR_1E_10, IGNORE, CODE, FORMAT_MAX, UNIT, NONE, FMA),
     "The per-token-group FP8 quantiser of sglang's sgl-kernel, read from its public CUDA source "
     "and not run."},
    {"deepseek-fp8-128",
     F32(E4M3FN, 128, DIV, ALWAYS, DIV, 0.0f, IGNORE, CODE, FORMAT_MAX, COMPUTE, NONE, FMA),
     "DeepSeek-V3's act_quant as its source reads, with IEEE divisions (that tl.max ignores NaN "
     "was "
     "measured); a zero group divides 0 by 0."},
    {"deepseek-fp8-128-triton",
     F32(E4M3FN, 128, MUL, ALWAYS, DIV, 0.0f, IGNORE, CODE, FORMAT_MAX, COMPUTE, NONE, FMA),
     "DeepSeek-V3's act_quant as Triton 3.6 runs it on an H200, where the division of amax is "
     "div.full.f32: scales equal for 432,512 of 432,512 amax, codes for 3.84 M of 3.84 M normal "
     "deviates, 21 of 4.16 M codes differing over all bf16 amax."},
    {"sglang-fp8-128-triton",
     F32(E4M3FN, 128, MUL, ALWAYS, MUL_RCP, FLOOR_1E_10, IGNORE, CODE, FORMAT_MAX, UNIT, NONE, FMA),
     "sglang's Triton group quantiser as it runs on an H200, where its division becomes a "
     "multiply: "
     "0 of 8.0 M codes and 62,512 scales differ; NaN elements are unverified."},
    {"megamoe-fp8-32",
     E8M0(E4M3FN, RCEIL_BUMP, 0.0f, PROPAGATE, CODE, SATURATE, FLOAT, NAN, MUL_ADD),
     "MegaMoE's fp8_blockwise_1x32 combine rows [N codes, N/32 scales], used with row weights, "
     "read "
     "from its public FlyDSL source and not run."},
    {"megamoe-act-fp8", E8M0(E4M3FN, HALF, 0.0f, PROPAGATE, CODE, SATURATE, OCP, FIELD, FMA),
     "MegaMoE's stage 1 requantisation of activations to FP8, read from its public FlyDSL source "
     "and not run."},
    {"megamoe-act-fp4", E8M0(E2M1, HALF, 0.0f, PROPAGATE, SIGN_MAX, SATURATE, OCP, FIELD, FMA),
     "MegaMoE's stage 1 requantisation of activations to FP4, read from its public FlyDSL source "
     "and not run; NaN into FP4 is unverified on silicon."},
    {"mori-fp8",
     F32(E4M3FN, 128, MUL, ABOVE_MAX, MUL_MAX, 0.0f, IGNORE, NEG_MAX, FORMAT_MAX, UNIT, IF_SCALED,
         FMA),
     "MoRI's fp8_blockwise combine, executed unmodified for gfx950 in an instruction emulator on "
     "3.1 M finite elements (whole tokens and vector segments; its misaligned segments and ragged "
     "tails accumulate as mul_add, and a block of odd size writes NaN as code)."},
    {"mori-fp8-fnuz",
     F32(E4M3FNUZ, 128, MUL, ABOVE_MAX, MUL_MAX, 0.0f, IGNORE, NEG_MAX, FORMAT_MAX, UNIT, IF_SCALED,
         FMA),
     "MoRI's fp8_blockwise combine on gfx942, where FP8 is FNUZ, executed unmodified in an "
     "instruction emulator on 2.4 M finite elements."},
    {"mori-fp8-epv2",
     F32(E4M3FN, 128, DIV, ABOVE_MAX, MUL_MAX, 0.0f, PROPAGATE, NEG_MAX, 240.0f, UNIT, IF_SCALED,
         MUL_ADD),
     "MoRI's EPv2 fp8_blockwise combine, which keeps 240 as the maximum on every architecture, "
     "read "
     "from its public FlyDSL source and not run."},
    {"mori-fp4",
     F32(E2M1, 128, DIV, ALWAYS, MUL_MAX, 0.0f, IGNORE, SIGN_MAX, FORMAT_MAX, UNIT, ALWAYS, FMA),
     "MoRI's fp4_blockwise combine with blocks of 128, executed unmodified for gfx950 in an "
     "instruction emulator on 5.0 M finite elements (equal but for blocks of odd size); NaN into "
     "FP4 is unverified on silicon."},
    {"mori-fp4-256",
     F32(E2M1, 256, DIV, ALWAYS, MUL_MAX, 0.0f, IGNORE, SIGN_MAX, FORMAT_MAX, UNIT, ALWAYS, FMA),
     "MoRI's fp4_blockwise combine with blocks of 256, the same code as with blocks of 128; NaN "
     "into FP4 is unverified on silicon."},
    {"mori-fp8-direct", DIRECT(E4M3FN, CODE, NONFINITE, FMA),
     "MoRI's direct cast to FP8 by the pair conversion of the HIP headers and of gfx950 (464 ties "
     "to "
     "448, above is NaN), executed unmodified in an instruction emulator on every bf16 value."},
    {"mori-fp8-direct-sat", DIRECT(E4M3FN, CODE, SATURATE_FINITE, FMA),
     "MoRI's direct cast to FP8 by the scalar constructor of the HIP headers, which saturates "
     "finite "
     "values only, read from the headers."},
};

const mxg_preset *mxg_preset_at(size_t index) {
  return index < sizeof presets / sizeof *presets ? &presets[index] : NULL;
}
