#!/bin/sh
# SPDX-License-Identifier: MIT
# compare: every form, what counts as a difference, and where it says that the difference is.
. "$(dirname "$0")/lib.sh"

"$mk" values f32 1024 3 >x.raw
"$mk" npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 128), }" <x.raw >x.npy
x="--input x.raw --dtype f32 --shape 8x128"
patched() { # FROM TO OFFSET HEX...
  from=$1
  to=$2
  shift 2
  "$mk" patch "$@" <"$from" >"$to"
}

# ---- the same, in every form ----
run 0 quantize x.npy --recipe mxfp4 -o a.safetensors
run 0 quantize x.npy --recipe mxfp4 --codes a.c --scales a.s
run 0 quantize x.npy --recipe mxfp4 --slots a.slots
run 0 compare a.safetensors a.safetensors
prints "same: a.safetensors is a.safetensors, recipe mxfp4"
run 0 compare a.safetensors --input x.npy
prints "same: a.safetensors is what mxfp4 gives for x.npy"
prints "1024 compared, 0 differ"
run 0 compare a.safetensors --input x.npy --recipe mxfp4 --impl ref
run 0 compare a.safetensors $x --recipe mxfp4
run 0 compare --codes a.c --scales a.s --input x.npy --recipe mxfp4
run 0 compare --slots a.slots --input x.npy --recipe mxfp4
run 0 compare --as-slots --shape 8x128 --recipe mxfp4 a.slots a.slots
run 0 compare a.c a.c --recipe mxfp4 --shape 8x128
run 0 compare a.c a.c
run 0 compare x.npy x.npy
run 0 compare x.raw x.raw --dtype f32 --shape 8x128
run 0 compare x.npy x.npy --json
prints '"same": true'
last="compare - (standard input)"
"$tool" compare - --input x.npy <a.safetensors >logs/out 2>logs/err || fail "exit code $?"
# shellcheck disable=SC2094  # read twice, not written
"$tool" compare - a.safetensors <a.safetensors >logs/out 2>logs/err || fail "exit code $?"
"$tool" compare a.safetensors --input - <x.npy >logs/out 2>logs/err || fail "exit code $?"

# ---- what real kernels wrote ----
for c in mori-fp8:mori_fp8 aiter-mxfp4:aiter_mxfp4 aiter-mxfp8:aiter_mxfp8 \
  aiter-mxfp8-fnuz:aiter_mxfp8_fnuz aiter-fp8-128:aiter_fp8_128 mori-fp8-fnuz:mori_fp8_fnuz; do
  run 0 compare --codes "$data/${c#*:}_mix.codes" --scales "$data/${c#*:}_mix.scales" \
    --input "$data/mix512.bf16" --dtype bf16 --shape 23x512 --recipe "${c%:*}"
done

# ---- one code: row 3, column 37, block 1; two codes a byte ----
one=$("$mk" cut $((3 * 64 + 18)) 1 <a.c | "$mk" hex)
flipped=$(echo "$one" | tr 0123456789ABCDEF 89ABCDEF01234567 | cut -c1)$(echo "$one" | cut -c2)
patched a.c b.c $((3 * 64 + 18)) "$flipped"
run 1 compare --codes b.c --scales a.s --input x.npy --recipe mxfp4 --json
prints '"same": false'
number kind '"code"'
number row 3
number col 37
number block 1
number got_bits "\"$(echo "$flipped" | cut -c1)\""
number want_bits "\"$(echo "$one" | cut -c1)\""
prints '"input_bits"'
prints '"got_scale_bits"'
[ "$(grep -c '"kind"' logs/out)" -eq 1 ] || fail "not one difference"
run 1 compare --codes b.c --scales a.s --input x.npy --recipe mxfp4
prints "1024 compared, 1 differ"
prints "32 compared, 0 differ"
run 1 compare b.c a.c --recipe mxfp4 --shape 8x128 --json
number row 3
number col 37
run 1 compare b.c a.c
prints "512 compared, 1 differ"
run 1 compare b.c a.c --dtype u8 --shape 8x64 --json
number kind '"byte"'
number row 3
number col 18

# ---- one scale: row 5, block 2, so column 64; the input is the greatest magnitude ----
patched a.s b.s $((5 * 4 + 2)) 01
run 1 compare --codes a.c --scales b.s --input x.npy --recipe mxfp4 --json
number kind '"scale"'
number row 5
number col 64
number block 2
number got_scale_bits '"01"'
[ "$(grep -c '"kind"' logs/out)" -eq 1 ] || fail "not one difference"

# ---- a known place in full: 0.7 of amax 2 has scale 7E, so 1.4, so code 3 = 1.5 = 0.75 ----
"$mk" floats 0.7 2 >k.raw
printf '\145' >k.c # 65: codes 5 and 6 where 3 and 6 are expected
printf '\176' >k.s
run 1 compare --codes k.c --scales k.s --input k.raw --dtype f32 --shape 1x2 --recipe mxfp4
prints "0.699999988 (3F333333)"
prints "5 = 1.5"
prints "3 = 0.75"
prints "7E = 0.5"

# ---- the list stops, the counting does not ----
# shellcheck disable=SC2046  # 512 words
patched a.c zeros.c 0 $(yes 00 | head -n 512)
run 1 compare --codes zeros.c --scales a.s --input x.npy --recipe mxfp4 --json
[ "$(grep -c '"kind": "code"' logs/out)" -eq 20 ] || fail "not 20 differences"
run 1 compare --codes zeros.c --scales a.s --input x.npy --recipe mxfp4 --json --limit 3
[ "$(grep -c '"kind": "code"' logs/out)" -eq 3 ] || fail "not 3 differences"
run 1 compare --codes zeros.c --scales a.s --input x.npy --recipe mxfp4 --limit 0
prints "more (--limit N lists N)"

# ---- two NaN are equal unless --bits ----
"$mk" floats nan 1 2 3 >n.raw
n="--input n.raw --dtype f32 --shape 1x4 --recipe mxfp8-te"
run 0 quantize n.raw --dtype f32 --shape 1x4 --recipe mxfp8-te --codes n.c --scales n.s
[ "$("$mk" cut 0 1 <n.c | "$mk" hex)" = 7F ] || fail "NaN is not 7F"
patched n.c m.c 0 FF
run 0 compare --codes m.c --scales n.s $n
prints "1 NaN in other bits (equal without --bits)"
run 1 compare --codes m.c --scales n.s $n --bits
prints "4 compared, 1 differ"
patched n.c m.c 0 00
run 1 compare --codes m.c --scales n.s $n
"$mk" floats nan 1 >v.raw
patched v.raw v2.raw 3 FF
patched v.raw v3.raw 0 01
for v in v2 v3; do
  run 0 compare v.raw $v.raw --dtype f32 --shape 1x2
  prints "1 NaN in other bits"
  run 1 compare v.raw $v.raw --dtype f32 --shape 1x2 --bits
done
"$mk" floats 0 1 >z.raw
"$mk" floats -0 1 >z2.raw
run 1 compare z.raw z2.raw --dtype f32 --shape 1x2 --json
number kind '"value"'
number got_bits '"00000000"'
number want_bits '"80000000"'
# f32 scales: NaN with another sign, as a marker makes it
"$mk" floats nan 1 >s.raw
run 0 quantize s.raw --dtype f32 --shape 1x2 --recipe mori-fp8-direct --codes s.c
run 0 quantize s.raw --dtype f32 --shape 1x2 \
  --recipe sglang-fp8-128,nan_amax=propagate --codes s.c --scales s.s
hex s.s 0000C07F
patched s.s s2.s 3 FF
s="--input s.raw --dtype f32 --shape 1x2 --recipe sglang-fp8-128,nan_amax=propagate"
run 0 compare --codes s.c --scales s2.s $s
run 1 compare --codes s.c --scales s2.s $s --bits

# ---- --skip-nan: FP4 codes of NaN inputs ----
"$mk" floats nan 1 2 6 >n4.raw
n4="--input n4.raw --dtype f32 --shape 1x4 --recipe aiter-mxfp4"
run 0 quantize n4.raw --dtype f32 --shape 1x4 --recipe aiter-mxfp4 --codes n4.c --scales n4.s
low=$("$mk" cut 0 1 <n4.c | "$mk" hex | cut -c1)
patched n4.c m4.c 0 "${low}0"
run 1 compare --codes m4.c --scales n4.s $n4
run 0 compare --codes m4.c --scales n4.s $n4 --skip-nan
prints "1 of NaN inputs skipped"
patched n4.c m4.c 1 00
run 1 compare --codes m4.c --scales n4.s $n4 --skip-nan # those are no NaN
patched n.c m.c 0 00
run 1 compare --codes m.c --scales n.s $n --skip-nan # FP8 has a NaN of its own

# ---- unused bits of the last byte of a row ----
"$mk" floats 1 2 3 >odd.raw
for r in mxfp4 mxfp6-e2m3; do
  odd="--input odd.raw --dtype f32 --shape 1x3 --recipe $r"
  run 0 quantize odd.raw --dtype f32 --shape 1x3 --recipe $r --codes odd.c --scales odd.s
  end=$(($(wc -c <odd.c) - 1))
  last_byte=$("$mk" cut $end 1 <odd.c | "$mk" hex)
  patched odd.c odd2.c $end "F$(echo "$last_byte" | cut -c2)"
  run 0 compare --codes odd2.c --scales odd.s $odd
  run 1 compare --codes odd2.c --scales odd.s $odd --bits
  prints "unused_bits"
done

# ---- another size is a difference, not an error of the file ----
head -c 500 a.c >short.c
run 1 compare --codes short.c --scales a.s --input x.npy --recipe mxfp4
prints "size: short.c: codes have 500 bytes, 512 expected"
prints "only the first 7 of 8 rows of the codes are compared"
prints "896 compared, 0 differ"
cat a.s a.s >long.s
run 1 compare --codes a.c --scales long.s --input x.npy --recipe mxfp4
prints "size: long.s: scales have 64 bytes, 32 expected"
run 1 compare --codes a.c --input x.npy --recipe mxfp4
prints "scales have 0 bytes, 32 expected"
: >empty
run 1 compare --codes empty --scales empty --input x.npy --recipe mxfp4
prints "codes have 0 bytes, 512 expected"
run 1 compare short.c a.c
prints "500 bytes, 512 expected"
run 0 quantize x.npy --recipe mori-fp8,block=32 --scale-count 5 -o five.safetensors
run 0 quantize x.npy --recipe mori-fp8,block=32 --scale-count 5 --codes c5 --scales s5
run 1 compare --codes c5 --scales s5 --input x.npy --recipe mori-fp8,block=32
prints "5 scales per row where 4 are expected"
run 0 compare --codes c5 --scales s5 --input x.npy --recipe mori-fp8,block=32 --scale-count 5
prints "unused_scales  8 compared, 0 differ"
run 0 compare five.safetensors --input x.npy
patched s5 s5b 16 00 00 00 40
run 1 compare --codes c5 --scales s5b --input x.npy --recipe mori-fp8,block=32 --scale-count 5
prints "8 compared, 1 differ"

# ---- recipes: a file that says another one is told apart, and both are named ----
run 0 quantize x.npy --recipe mxfp4,rule=even -o e.safetensors
run 1 compare a.safetensors e.safetensors
prints "recipe: a.safetensors was made with recipe mxfp4, e.safetensors with mxfp4,rule=even"
run 1 compare a.safetensors --input x.npy --recipe mxfp4,rule=even
prints "recipe: a.safetensors: was made with recipe mxfp4, not with mxfp4,rule=even"
run 0 quantize x.npy --recipe mxfp8 -o m.safetensors
run 0 quantize x.npy --recipe aiter-fp8-128 -o f.safetensors
run 1 compare m.safetensors f.safetensors
prints "was made with recipe mxfp8"
prints "nothing is compared"
run 1 compare m.safetensors --input x.npy --recipe aiter-fp8-128
prints "nothing else is compared"
run 0 compare a.safetensors --input x.npy --recipe mxfp4,rule=floor,element_max=6

# ---- WireTag: fp8 with f32 scales per 128 and mxfp8 have the same sizes, not the same content ----
run 0 quantize x.npy --recipe mxfp8 --codes m.c --scales m.s
run 0 quantize x.npy --recipe aiter-fp8-128 --codes f.c --scales f.s
size m.c 1024
size f.c 1024
size m.s 32
size f.s 32
run 1 compare --codes f.c --scales f.s --input x.npy --recipe mxfp8
prints "scales         32 compared"
run 1 compare --codes m.c --scales m.s --input x.npy --recipe aiter-fp8-128
cat m.c m.s | "$mk" safetensors '{"x":{"dtype":"F8_E4M3","shape":[8,128],"data_offsets":[0,1024]},"x_scale":{"dtype":"F8_E8M0","shape":[8,4],"data_offsets":[1024,1056]}}' >tag.safetensors
run 0 compare tag.safetensors --input x.npy --recipe mxfp8 # no metadata is fine with --recipe
run 1 compare tag.safetensors --input x.npy --recipe aiter-fp8-128
prints "dtype: tag.safetensors: scales are tagged F8_E8M0, but recipe aiter-fp8-128 has f32 scales"
run 1 compare tag.safetensors --input x.npy --recipe mxfp8-e5m2
prints "codes are tagged F8_E4M3"
run 2 compare tag.safetensors --input x.npy
says "give --recipe"
cat m.c m.s | "$mk" safetensors '{"x":{"dtype":"U8","shape":[8,128],"data_offsets":[0,1024]},"x_scale":{"dtype":"U8","shape":[8,4],"data_offsets":[1024,1056]}}' >u8.safetensors
run 0 compare tag.safetensors u8.safetensors --recipe mxfp8
run 0 compare tag.safetensors u8.safetensors
"$mk" cut 0 2048 <x.raw >half.raw
run 0 quantize half.raw --dtype f32 --shape 8x64 --recipe mxfp8 -o half.safetensors
run 1 compare half.safetensors m.safetensors
prints "'x' is 8x64, 8x128 expected"
grep -q compared logs/out && fail "rows of another width were compared"
run 0 quantize half.raw --dtype f32 --shape 4x128 --recipe mxfp8 -o half.safetensors
run 1 compare half.safetensors m.safetensors
prints "512 compared, 0 differ"
run 1 compare m.safetensors --input x.raw --dtype f32 --shape 4x256
prints "holds 8x128, the input is 4x256"

# ---- tensors by name ----
two='{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}'
"$mk" floats 1 2 3 4 | "$mk" safetensors "$two" >t1.safetensors
"$mk" floats 1 2 3 5 | "$mk" safetensors "$two" >t2.safetensors
run 1 compare t1.safetensors t2.safetensors
prints "tensor b"
prints "4 compared, 1 differ"
run 0 compare t1.safetensors t2.safetensors --tensor a
"$mk" floats 1 2 3 4 | "$mk" safetensors "$(echo "$two" | sed 's/"b"/"c"/')" >t3.safetensors
run 1 compare t1.safetensors t3.safetensors
prints "has 'b', which t3.safetensors lacks"
prints "lacks 'c', which t3.safetensors has"
"$mk" floats 1 2 3 4 | "$mk" safetensors "$(echo "$two" | sed 's/\[2\]/[1,2]/')" >t4.safetensors
run 1 compare t4.safetensors t1.safetensors
prints "shape: t4.safetensors: tensor 'a' is 1x2, 2 expected"
name=$(printf 'a\033')
cp t1.safetensors "$name"
run 1 compare "$name" t2.safetensors
prints 'different: a\x1B is not' # a name does not reach the terminal as it is
"$mk" values bf16 1024 7 >h.raw
"$mk" npy 1 "{'descr': '<u2', 'fortran_order': False, 'shape': (8, 128), }" <h.raw >h.npy
"$mk" patch $((128 + 0)) 00 <h.npy >h2.npy
run 0 compare h.npy h.npy --dtype bf16
run 1 compare h2.npy h.npy --dtype bf16
# what combine and dequantize write as bf16 needs no --dtype when it is compared with its like
run 0 compare h.npy h.npy
run 1 compare h2.npy h.npy
prints "values         1024 compared, 1 differ"
run 1 compare h.npy x.npy
prints "dtype: h.npy: tensor 'x' is BF16, F32 expected"
refuse 2 "leave --dtype out" compare h.npy x.npy --dtype bf16
# two pairs in one file: compared pair by pair; --tensor chooses one for an input without names
cat m.c m.s f.c f.s | "$mk" safetensors '{"a":{"dtype":"F8_E4M3","shape":[8,128],"data_offsets":[0,1024]},"a_scale":{"dtype":"F8_E8M0","shape":[8,4],"data_offsets":[1024,1056]},"b":{"dtype":"U8","shape":[8,128],"data_offsets":[1056,2080]},"b_scale":{"dtype":"U8","shape":[8,4],"data_offsets":[2080,2112]}}' >pairs.safetensors
run 0 compare pairs.safetensors pairs.safetensors --recipe mxfp8
prints "2048 compared, 0 differ"
run 0 compare pairs.safetensors --input x.npy --recipe mxfp8 --tensor a
run 1 compare pairs.safetensors --input x.npy --recipe mxfp8 --tensor b
refuse 2 "more than one pair" compare pairs.safetensors --input x.npy --recipe mxfp8
run 0 error pairs.safetensors x.npy --recipe mxfp8 --tensor a
"$mk" patch $(($(wc -c <pairs.safetensors) - 2112 + 1057)) 11 <pairs.safetensors >pairs2.safetensors
run 1 compare pairs2.safetensors pairs.safetensors --recipe mxfp8 --json
number tensor '"b"'
"$mk" swap 4 <x.raw >big.raw
"$mk" npy 1 "{'descr': '>f4', 'fortran_order': False, 'shape': (8, 128), }" <big.raw >big.npy
run 0 compare big.npy x.npy # numbers, in either byte order

# ---- scale orders, pads, dead rows ----
for order in transposed aiter_shuffle blocked_128x4; do
  run 0 quantize x.npy --recipe mxfp8 --scale-order $order --codes o.c --scales o.s
  run 0 quantize x.npy --recipe mxfp8 --scale-order $order -o o.safetensors
  o="--codes o.c --input x.npy --recipe mxfp8 --scale-order $order"
  run 0 compare $o --scales o.s
  run 0 compare $o --scales o.s --bits
  run 0 compare o.safetensors --input x.npy
  run 0 compare o.safetensors o.safetensors --bits
  [ $order = transposed ] && continue
  run 0 quantize x.npy --recipe mxfp8 --scale-order $order --pad 7F --codes o.c --scales o7.s
  run 0 compare $o --scales o7.s
  run 0 compare $o --scales o7.s --pad 7F
  run 1 compare $o --scales o7.s --pad 00
  run 1 compare $o --scales o7.s --bits
  prints "pads"
done
run 0 quantize x.npy --recipe mxfp8 --scale-order transposed -o o.safetensors
run 1 compare o.safetensors m.safetensors
prints "layout: o.safetensors: scales lie transposed, row_major expected"
prints "32 compared, 0 differ"
patched m.s bad.s 9 00
run 1 compare --codes m.c --scales bad.s --input x.npy --recipe mxfp8 --json
number row 2
number block 1
run 0 quantize x.npy --recipe mxfp8 --live-rows 2 --codes l.c --scales l.s
# shellcheck disable=SC2046  # 768 words
patched l.c l2.c 256 $(yes FF | head -n 768)
run 0 compare --codes l2.c --scales l.s --input x.npy --recipe mxfp8 --live-rows 2
run 1 compare --codes l2.c --scales l.s --input x.npy --recipe mxfp8
run 0 quantize x.npy --recipe mxfp8 --live-rows 2 -o l.safetensors
run 0 compare l.safetensors --input x.npy # the file knows

# ---- row weights, slots and their weights ----
"$mk" floats 1 2 3 0.5 5 6 7 8 >w.raw
run 0 quantize x.npy --recipe megamoe-fp8-32 --row-weights w.raw -o w.safetensors
run 0 compare w.safetensors --input x.npy --row-weights w.raw
run 1 compare w.safetensors --input x.npy
"$mk" values f32 16 9 >k.raw
run 0 quantize x.npy --recipe mori-fp4 --slots k.bin --slot-weights 2 --weights k.raw
k="--input x.npy --recipe mori-fp4 --slot-weights 2"
run 0 compare --slots k.bin $k
run 0 compare --slots k.bin $k --weights k.raw
prints "weights        16 compared, 0 differ"
patched k.bin k2.bin $((64 + 4 + 4)) 01 02 03 04 # row 0: 64 codes, one scale, weight 1
run 0 compare --slots k2.bin $k
run 1 compare --slots k2.bin $k --weights k.raw --json
number kind '"weight"'
number row 0
number col 1
run 1 compare --as-slots --shape 8x128 --recipe mori-fp4 --slot-weights 2 k2.bin k.bin
prints "16 compared, 1 differ"
patched k.bin k3.bin 64 00 00 80 3F # +1.0: the marker says unscaled
run 1 compare --slots k3.bin $k
prints "scale"

# ---- a long row is cut into tiles; the same as one piece ----
"$mk" values f32 3000 11 >r.raw
i=0
while [ $i -lt 1400 ]; do # 4.2 M columns
  cat r.raw
  i=$((i + 1))
done >long.raw
long="--dtype f32 --shape 1x4200000"
for r in mxfp4 mxfp6-e3m2 sglang-fp8-128,block=74 mori-fp8; do
  run 0 quantize long.raw $long --recipe $r --codes long.c --scales long.s
  run 0 compare --codes long.c --scales long.s --input long.raw $long --recipe $r
  prints "4200000 compared, 0 differ"
done
# a marker that is always there belongs to the row, unused scales to its end
run 0 quantize long.raw $long --recipe mori-fp4 --codes l4.c --scales l4.s
run 0 compare --codes l4.c --scales l4.s --input long.raw $long --recipe mori-fp4
run 0 quantize long.raw $long --recipe sglang-fp8-128 --scale-count 32815 --codes l8.c --scales l8.s
run 0 compare --codes l8.c --scales l8.s --input long.raw $long --recipe sglang-fp8-128 \
  --scale-count 32815
prints "scales         32813 compared, 0 differ"
prints "unused_scales  2 compared, 0 differ"
patched long.c long2.c 4199999 00
run 1 compare --codes long2.c --scales long.s --input long.raw $long --recipe mori-fp8 --json
number col 4199999
number block 32812

finish
