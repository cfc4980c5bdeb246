#!/bin/sh
# SPDX-License-Identifier: MIT
# diagnosis: what is planted in a file is named first, what nothing explains is said to be
# unexplained; every form of compare. slow_diagnose.sh plants more.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/plant.sh"

# ---- quantise: faults, fields, presets, pairs ----
input bf16 32 256
quantized mxfp8 ties-away
quantized mxfp4 truncate
quantized mxfp4 nibble-swap
quantized mxfp4 rule=even
quantized aiter-fp8-128 scale_math=div
quantized mxfp8 preset=aiter-fp8-128
quantized mxfp4 block=64+rule=even
quantized mori-fp4 nibble-swap+marker-ignored

# ---- dequantise and combine ----
decoded mxfp8 fnuz-bias:other f32
decoded mxfp4 edges=float bf16
decoded mori-fp4 marker-ignored bf16
summed mxfp4 sum-order:descending f32
summed mori-fp8 accumulate=mul_add f32

# ---- a file that says another recipe than the one asked for is explained by its content ----
run 0 quantize $x --recipe mxfp8,block=64 -o says.safetensors
run 1 compare says.safetensors --input $x --recipe mxfp8 --json
first_is block=64

# ---- without the input ----
run 0 quantize $x --recipe mxfp4 -o want.safetensors
run 0 quantize $x --recipe mxfp4 --codes c --scales s
planted quantize mxfp4 nibble-swap bf16 32 256 bf16.32.256 c s
cat c s | "$mk" safetensors '{"__metadata__":{"recipe":"mxfp4","shape":"32x256"},"x":{"dtype":"U8","shape":[32,128],"data_offsets":[0,4096]},"x_scale":{"dtype":"U8","shape":[32,8],"data_offsets":[4096,4352]}}' >got.safetensors
run 1 compare got.safetensors want.safetensors --json
first_is nibble-swap

# ---- values from files, whose origin is not known ----
"$mk" values f32 4096 5 >v.raw
"$mk" values f32 4096 6 >h.raw
run 1 compare v.raw h.raw --dtype f32 --shape 64x64 --json
prints '"diagnosis": []'
run 0 quantize $x --recipe aiter-fp8-128 --codes c --scales s
run 0 dequantize --codes c --scales s --shape 32x256 --recipe aiter-fp8-128 -o wide.npy
planted dequantize aiter-fp8-128 double-round-bf16 f32 32 256 c s y
head -c 128 wide.npy >narrow.npy
cat y >>narrow.npy
run 1 compare narrow.npy wide.npy --json
first_is double-round-bf16

# ---- sums of quantised files, as combine takes them ----
run 0 combine want.safetensors - want.safetensors -o sum.npy --to f32
run 0 compare sum.npy --sources want.safetensors - want.safetensors
run 1 compare sum.npy --sources want.safetensors want.safetensors want.safetensors
run 0 dequantize want.safetensors -o back.npy
run 0 compare back.npy --input want.safetensors
prints "same: back.npy is what mxfp4 gives for want.safetensors"

# ---- in words ----
input bf16 32 256
planted quantize mxfp8 ties-away bf16 32 256 bf16.32.256 c s
run 1 compare --codes c --scales s --input $x --recipe mxfp8
grep -qE '^diagnosis: ([0-9,]+) of \1 differing codes are explained by: ties away from zero \(ties-away\)$' \
  logs/out || fail "no sentence: $(tail -n 3 logs/out)"
run 0 quantize $x --recipe mxfp8 --codes c --scales s
run 0 compare --codes c --scales s --input $x --recipe mxfp8 --json
prints '"diagnosis": []'

# ---- what nothing explains ----
"$mk" patch 1000 11 22 33 44 55 66 77 88 99 AA <c >noise
run 1 compare --codes noise --scales s --input $x --recipe mxfp8 --json
prints '"diagnosis": []'
run 1 compare --codes noise --scales s --input $x --recipe mxfp8
prints "diagnosis: unexplained: no known fault gives these 10 differing codes"
"$mk" values f32 2048 8 >noise # random codes
run 1 compare --codes noise --scales s --input $x --recipe mxfp8 --json
prints '"diagnosis": []'

# ---- identify ----
run 0 quantize $x --recipe mxfp8-te --codes c --scales s
run 0 identify --codes c --scales s --input $x
prints "found: c is what mxfp8-te gives for bf16.32.256"
run 0 identify --codes c --scales s --input $x --json
prints '"best": "mxfp8-te"'
[ "$(grep -c '"preset":' logs/out)" -eq "$("$tool" recipes --json | grep -c '"name":')" ] ||
  fail "not every preset is ranked"
run 1 identify says.safetensors --input $x --json
first_is block=64
prints '"best": "mxfp8"'
run 1 identify --codes noise --scales s --input $x
prints "diagnosis: unexplained"
refuse 2 "--input" identify says.safetensors
refuse 2 "1 expected" identify --input bf16.32.256

# ---- wrong forms ----
refuse 2 "--sources: give OUT" compare --sources back.npy
refuse 2 "--row-weights does not go with values that are decoded" compare back.npy \
  --input want.safetensors --row-weights v.raw
refuse 3 "scales have" compare back.npy --codes c --scales c --recipe mxfp8
finish
