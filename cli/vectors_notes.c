/* vectors_notes.c: for each flag which bug class it hunts, and where that was seen.
 * SPDX-License-Identifier: MIT */
#include <string.h>

#include "vectors.h"

static const struct {
  const char *flag, *note;
} notes[] = {
    {"AllZeroBlock",
     "a block whose amax is 0 is divided by its amax: NaN codes or scales, or its neighbours are "
     "spoilt; the right scale is the floor's, 00 or 1.0 by recipe, the codes are zeros with their "
     "sign. Seen in aiter#4289, ao#4713, cache-dit#1097, slime#2256"},
    {"AmaxFloor",
     "the floor of amax is left out, applied to the scale instead, or wins where it must not. Seen "
     "in Odyssey#2379"},
    {"DecodeBadScale",
     "a stored f32 scale of 0, Inf or NaN is replaced by 1.0 or crashes; the product by IEEE "
     "arithmetic is right. Seen in imp#113"},
    {"EmptyShape",
     "no rows or no columns: a division by a count, an error, or one block too many. Seen in "
     "TensorRT-LLM#1645"},
    {"ScaleRule",
     "the scale byte by another rounding rule than the convention's. Seen in aiter#3212, "
     "vllm#43557, amd-shark-ai#1843"},
    {"ScaleBoundary",
     "floor(log2f(amax)) instead of the exponent field, and thresholds off by one ulp. Seen in "
     "microxcaling#4, trinity#694, and ggml's log2f"},
    {"RceilMask",
     "rounding up looks at some mantissa bits only: any set bit bumps. Seen in onnx#7784"},
    {"NonPow2AsE8M0",
     "an f32 scale packed as E8M0 by a shift: mantissa bits leak or are cut instead of rounded by "
     "the rule. Seen in sglang#25733"},
    {"E8M0Decode",
     "scale bytes 00, 01, FE and FF decoded by the other convention's edges. Seen in "
     "triton#11624, TransformerEngine#3262, oneDNN#4218, vllm#46676"},
    {"E8M0Encode",
     "0, -0, a negative number, Inf or NaN given to the E8M0 encoder: the sign leaks, or the wrong "
     "edge byte. Seen in onnx#7030, iree#20847, llvm#107127"},
    {"TieToEven",
     "half-way values rounded away from zero, toward zero or up. Seen in aiter#3992, "
     "flashinfer#4601, tt-metal#45086, onnx#5456"},
    {"NegZero",
     "the sign of -0, or of a negative value that rounds to zero, is lost; FNUZ has no -0 and must "
     "give 00. Seen in onnx#5764, llm-scaler#569, llvm#160121"},
    {"Subnormal",
     "subnormal codes flushed to zero, or given the wrong exponent. Seen in 1bit-MONSTER#300, "
     "neural-compressor#1891, tilelang#2704"},
    {"TinyShift",
     "a shift by more than the word's width for tiny inputs: garbage where a signed zero belongs. "
     "Seen in composable_kernel#2571, rocm-systems#10591"},
    {"NanCode",
     "a NaN code decoded as the number that its bits would be (480 for 7F of E4M3). Seen in "
     "mlx#4135"},
    {"Overflow",
     "saturating where the convention overflows, or the other way round; the threshold at the "
     "maximum instead of half a step above. Seen in ml_dtypes#260, rocm-systems#9556, onnx#6220"},
    {"SaturateAfterScale",
     "the floor rule leaves values above the format's maximum: without a clamp they become NaN or "
     "wrap. Seen in oneDNN#5626"},
    {"NanBlock",
     "one NaN in a block: amax and the codes of its neighbours by the wrong policy. Seen in "
     "ao#4201, ao#4271, xla#49174"},
    {"ScalePad",
     "a padded scale order indexed by the true column count, or pads left as they were. Seen in "
     "aiter#5233, aiter#2642, vllm#38148, aiter#5413"},
    {"Rows",
     "rows beyond the first part of a tile land in the wrong place. Seen in sglang#28459, "
     "FlyDSL#932"},
    {"LayoutNamed",
     "the order guessed from element counts, which two orders share. Seen in pytorch#190290"},
    {"NibbleOrder",
     "the first of two FP4 elements put in the high nibble. Seen in comfy-kitchen#41"},
    {"BlockWidth",
     "columns that are no multiple of the block: the short last block has no scale, or shares its "
     "neighbour's. Seen in rocm-libraries#7920"},
    {"GateUp",
     "gate and up rows taken as interleaved where they are separate, or the other way round. Seen "
     "in vllm#44893"},
    {"DoubleRound",
     "rounded to bf16 or f16 first and to the element afterwards. Seen in oneDNN's float8 and in "
     "gfx1250's E5M3 conversion"},
};

const char *mxg_flag_note(const char *flag, size_t length) {
  for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
    if (strlen(notes[i].flag) == length && memcmp(notes[i].flag, flag, length) == 0)
      return notes[i].note;
  return NULL;
}
