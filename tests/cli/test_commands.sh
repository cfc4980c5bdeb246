#!/bin/sh
# SPDX-License-Identifier: MIT
# recipes, layout, info, error and --help.
. "$(dirname "$0")/lib.sh"

# ---- help: every command, with an example; the exit code is 0 ----
run 0 --help
for command in recipes layout quantize dequantize combine compare error info gen verify; do
  prints "  $command "
done
cp logs/out help
for command in recipes layout quantize dequantize combine compare error info gen verify; do
  run 0 $command --help
  prints "Example:"
  prints "  mxgold $command"
  [ -s logs/err ] && fail "help printed on stderr"
done
run 0 --version
run 0 help
same logs/out help

# ---- an option given twice: the last one counts, and the first is no leak, which
# ASan would tell by the exit code 1 ----
run 0 layout --recipe mxfp8 --rows 8 --cols 64 --recipe mxfp4 -r mxfp6-e2m3 --json
cp logs/out thrice
run 0 layout -r mxfp6-e2m3 --rows 8 --cols 64 --json
same thrice logs/out
run 0 layout --recipe mori-fp8 --rows 1 --cols 1536 --top-k 9 --slot-weights 8 --json
cp logs/out thrice
run 0 layout --recipe mori-fp8 --rows 1 --cols 1536 --slot-weights 8 --json
same thrice logs/out
twice=0
# shellcheck disable=SC2013  # names, without spaces
for command in $(sed -n '/^Usage:/,/^`mxgold COMMAND/s/^  \([a-z0-9-]*\)  .*/\1/p' help); do
  "$tool" "$command" --help | sed -n 's/^ *\(-[a-zA-Z], \)\{0,1\}\(--[a-z0-9-]*\)=.*/\2/p' >valued
  while read -r option; do
    twice=$((twice + 1))
    run 2 "$command" "$option" wrong1 "$option" wrong2 --no-such-option
  done <valued
done
[ "$twice" -gt 50 ] || fail "looked at $twice options with a value only"

# ---- standard output that cannot be written is an error of one line ----
if [ -c /dev/full ] && [ -w /dev/full ]; then
  for command in recipes info "recipes --json" "layout --recipe mxfp4 --rows 1 --cols 32"; do
    last="mxgold $command >/dev/full"
    checks=$((checks + 1))
    code=0
    "$tool" $command >/dev/full 2>logs/err || code=$?
    [ "$code" -eq 3 ] || fail "exit code $code, expected 3"
    [ "$(wc -l <logs/err)" -eq 1 ] || fail "more or less than one line on stderr"
  done
fi

# ---- recipes ----
run 0 recipes
for preset in mxfp8 mxfp8-e5m2 mxfp6-e2m3 mxfp6-e3m2 mxfp4 mxfp8-te aiter-mxfp4 aiter-mxfp4-triton \
  aiter-mxfp8 aiter-mxfp8-fnuz aiter-mxfp8-triton aiter-fp8-128 sglang-fp8-128 deepseek-fp8-128 \
  deepseek-fp8-128-triton sglang-fp8-128-triton megamoe-fp8-32 megamoe-act-fp8 megamoe-act-fp4 \
  mori-fp8 mori-fp8-fnuz mori-fp8-epv2 mori-fp4 mori-fp4-256 mori-fp8-direct mori-fp8-direct-sat; do
  grep -q "^$preset " logs/out || fail "no preset $preset"
done
run 0 recipes --json
[ "$(grep -c '"provenance": "' logs/out)" -eq 26 ] || fail "not 26 presets with a provenance"
sed -n 's/.*"recipe": "\(.*\)",/\1/p' logs/out >texts
sed -n 's/.*"all_keys": "\(.*\)",/\1/p' logs/out >all_keys
[ "$(wc -l <texts)" -eq 26 ] || fail "not 26 texts"
[ "$(sort -u all_keys | wc -l)" -ge 25 ] || fail "the texts of all keys repeat"
paste texts all_keys >both
while read -r text all; do # both texts mean the same recipe
  run 0 recipes "$all"
  prints "all keys     $all"
  sed -n 's/^recipe  *//p' logs/out >parsed
  run 0 recipes "$text"
  sed -n 's/^recipe  *//p' logs/out >logs/text
  same logs/text parsed
done <both
run 0 recipes mori-fp8,block=256
prints "recipe       mori-fp8,block=256"
prints "block        256"
prints "rule         -"
prints "marker       if_scaled"
run 0 recipes mxfp4 --json
number name '"mxfp4"'
number block 32
number element_max 6.0
number scale_math null
run 0 recipes mxfp4,rule=rceil,inf_scale=max --json
number name null

# ---- layout: the numbers of one row of 7168 ----
row() { # RECIPE COLS OPTIONS PAYLOAD SCALES SLOT
  run 0 layout --recipe "$1" --rows 24 --cols "$2" $3 --json
  number payload_row_bytes "$4"
  number scale_row_bytes "$5"
  number slot_bytes "$6"
  number payload_total_bytes $((24 * $4))
  number scale_total_bytes $((24 * $5))
  number slot_total_bytes $((24 * $6))
}
row aiter-fp8-128 7168 "" 7168 224 7392
row mxfp8 7168 "" 7168 224 7392
row mxfp4 7168 "" 3584 224 3808
row mori-fp8 7168 "" 7168 224 7392
row mori-fp8,block=256 7168 "" 7168 112 7280
row mori-fp4 7168 "" 3584 224 3808
row mori-fp4-256 7168 "" 3584 112 3696
row mori-fp8 7168 "--top-k 8" 7168 224 7424
row mori-fp8 7168 "--top-k 9" 7168 224 7428
row mori-fp4 7168 "--top-k 8" 3584 224 3840
row mori-fp4 7168 "--slot-weights 9" 3584 224 3844
row megamoe-fp8-32 7168 "" 7168 224 7392
row mori-fp8,block=74 4096 "" 4096 224 4320
row mori-fp4,block=74 4096 "" 2048 224 2272
row mori-fp8,block=28 1536 "--scale-count 56" 1536 224 1760
row mxfp6-e2m3 7168 "" 5376 224 5600
row mxfp6-e2m3 33 "" 25 2 27
row mxfp4 33 "" 17 2 19
row mori-fp8-direct 7168 "" 7168 0 7168
row mxfp8 0 "" 0 0 0
run 0 layout --recipe mori-fp8,block=28 --rows 1 --cols 1536 --json
number scales_used 55
run 0 layout --recipe mxfp8 --rows 0 --cols 7168 --json
number payload_total_bytes 0
number scale_total_bytes 0
number bf16_total_bytes 0
run 0 layout --recipe mxfp8 --rows 35 --cols 160 --scale-order aiter_shuffle --json
number scale_total_bytes 2048
run 0 layout --recipe mxfp8 --rows 129 --cols 160 --scale-order blocked_128x4 --json
number scale_total_bytes 2048
run 0 layout --recipe mori-fp8 --rows 24576 --cols 7168 --top-k 8
prints "payload bytes      7168"
prints "scale bytes        224 "
prints "slot bytes         7424 "
prints "bf16 bytes         14336"
prints "slot bytes         182452224"
first=$(grep -n "all rows" logs/out | cut -d: -f1)
[ "$(grep -n "slot bytes" logs/out | head -n 1 | cut -d: -f1)" -lt "$first" ] || fail "totals first"
refuse 2 "f32 scales go row_major or transposed" \
  layout --recipe mori-fp8 --rows 1 --cols 32 --scale-order aiter_shuffle
refuse 2 "unknown order" layout --recipe mxfp8 --rows 1 --cols 32 --scale-order swizzled

# ---- info ----
run 0 info
prints "portable"
prints "mxg_quantize__"
run 0 info --json
number version '"[0-9]+\.[0-9]+\.[0-9]+"'
prints '"cpu_features"'
[ "$(grep -c mxg_combine__ logs/out)" -eq 26 ] || fail "not a kernel for each of 26 presets"

# ---- error: values that are known by hand ----
"$mk" floats 3 4 >r.raw
"$mk" floats 3 5 >g.raw
d="--dtype f32 --shape 1x2"
run 0 error g.raw r.raw $d --json
number rel_l2 0.20000000000000001
number value 1.0   # the greatest absolute error
number value 0.25  # the greatest relative error
number a8w4 false
number a4w4 true
number a4w4_r1 true
number bounded 0
run 0 error g.raw r.raw $d
prints "relL2              0.2"
prints "gate A8W4          fail (relL2 < 0.10)"
prints "gate A4W4          pass (relL2 < 0.25)"
prints "gate A4W4 of R1    pass (relL2 < 0.28)"
run 0 error r.raw r.raw $d --json
number rel_l2 0.0
number a8w4 true
"$mk" floats 0 0 >zero.raw
run 0 error g.raw zero.raw $d --json
number rel_l2 '"inf"'
number nonzero_at_zero 2
"$mk" floats 5.2 4 >g27.raw # relL2 2.2 / 5 = 0.44
run 0 error g27.raw r.raw $d --json
number a4w4_r1 false

# NaN and Inf are counted by where they are, and are in no sum
"$mk" floats nan nan 1 inf inf -inf 1 3 >g.raw
"$mk" floats nan 1 nan inf -inf 1 1 3 >r.raw
run 0 error g.raw r.raw --dtype f32 --shape 1x8 --json
number nan_both 1
number nan_got_only 1
number nan_reference_only 1
number inf_same 1
number inf_other 2
number finite 2
number rel_l2 0.0

# the bound: amax 2 gives scale 1/2; 0.7 is 1.4 of it, spacing 1/2, so the bound is 1/8
"$mk" floats 0.7 2 >r.raw
run 0 quantize r.raw $d --recipe mxfp4 -o q.safetensors
run 0 error q.safetensors r.raw $d --json
number bounded 2
number inside_bound 2
number value 0.4000000[0-9]*
"$mk" floats 0.9 2 >g.raw
run 0 error g.raw r.raw $d --recipe mxfp4 --json
number bounded 2
number inside_bound 1
number value 1.5999999[0-9]*
# 0.625 is 1.25 of the scale, half-way: the error is the bound, and that is inside
"$mk" floats 0.625 2 >r.raw
run 0 quantize r.raw $d --recipe mxfp4 -o q.safetensors
run 0 error q.safetensors r.raw $d --json
number inside_bound 2
number value 1.0
# clamped: amax 3.9 is 7.8 of scale 1/2; max 6 leaves 0.9, and half a spacing more is allowed
"$mk" floats 3.9 0 >r.raw
"$mk" floats 3 0 >g.raw
run 0 error g.raw r.raw $d --recipe mxfp4 --json
number inside_bound 2
number value 0.64285[0-9]* # 0.9 / 1.4
"$mk" floats 2.4 0 >g.raw
run 0 error g.raw r.raw $d --recipe mxfp4 --json
number inside_bound 1

# f32 scales: |x| * 2^-21 more. Scale 1, x = 17, spacing 2: the bound is 1.0000081
"$mk" floats 448 17 >r.raw
"$mk" floats 448 18.000004 >g.raw
run 0 error g.raw r.raw $d --recipe aiter-fp8-128 --json
number inside_bound 2
"$mk" floats 448 18.00001 >g.raw
run 0 error g.raw r.raw $d --recipe aiter-fp8-128 --json
number inside_bound 1
# a row without marker is a plain cast whatever its scales say: 1/64 stored as 9/8 of it is outside
{
  printf '\010\010\010\010\010\011\010\010'
  "$mk" floats 1 5
} | "$mk" safetensors '{"__metadata__":{"recipe":"mori-fp8,block=4"},"x":{"dtype":"F8_E4M3","shape":[1,8],"data_offsets":[0,8]},"x_scale":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}}' >q.safetensors
"$mk" floats 0x1p-6 0x1p-6 0x1p-6 0x1p-6 0x1p-6 0x1p-6 0x1p-6 0x1p-6 >r.raw
run 0 error q.safetensors r.raw --dtype f32 --shape 1x8 --json
number bounded 8
number inside_bound 7
# with a marker 5 is the scale: 5/64 and 5 * 9/512
{
  printf '\010\010\010\010\010\011\010\010'
  "$mk" floats -1 5
} | "$mk" safetensors '{"__metadata__":{"recipe":"mori-fp8,block=4"},"x":{"dtype":"F8_E4M3","shape":[1,8],"data_offsets":[0,8]},"x_scale":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}}' >q.safetensors
"$mk" floats 0x1p-6 0x1p-6 0x1p-6 0x1p-6 0x5p-6 0x5p-6 0x5p-6 0x5p-6 >r.raw
run 0 error q.safetensors r.raw --dtype f32 --shape 1x8 --json
number inside_bound 7

# every preset is inside its bound on ordinary values, however GOT is given
"$mk" values f32 4096 8 >x.raw
x="x.raw --dtype f32 --shape 16x256"
# shellcheck disable=SC2013  # names
for preset in $(cut -f1 both); do
  run 0 quantize $x --recipe "$preset" -o q.safetensors
  run 0 error q.safetensors $x --json
  number bounded 4096
  number inside_bound 4096
  sed 1,2d logs/out >direct
  run 0 dequantize q.safetensors -o y.raw
  run 0 error y.raw $x --recipe "$preset" --json
  sed 1,2d logs/out >unpacked
  same direct unpacked
done
run 0 quantize $x --recipe mxfp8 --live-rows 3 -o q.safetensors
run 0 error q.safetensors $x --json
number elements 768
last="error - (standard input)"
"$tool" error - $x --recipe mxfp8 --json <y.raw >logs/out 2>logs/err || fail "exit code $?"
number elements 4096
"$mk" cut 0 9999 <q.safetensors | "$tool" error - $x >logs/out 2>logs/err || fail "exit code $?"
prints "A8W4"
# bf16 in a .npy against f32 in a .npy: --dtype belongs to the first alone
"$mk" npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (16, 256), }" <x.raw >x.npy
run 0 dequantize q.safetensors --shape 16x256 --live-rows 16 --to bf16 -o y.npy
run 0 dequantize q.safetensors --shape 16x256 --live-rows 16 --to bf16 -o y.raw
run 0 error y.raw x.npy --dtype bf16 --shape 16x256 --json
cp logs/out want
run 0 error y.npy x.npy --dtype bf16 --json
same logs/out want
run 0 error x.npy y.npy --dtype bf16
refuse 3 "say --dtype bf16" error y.npy x.npy
refuse 2 "neither file is raw or a .npy of f16" error x.npy x.npy --dtype f16

finish
