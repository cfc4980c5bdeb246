#!/bin/sh
# SPDX-License-Identifier: MIT
# quantize, dequantize and combine on every kind of file, layout and placement.
. "$(dirname "$0")/lib.sh"

# ---- one input as every kind of file gives one output ----
"$mk" values f32 1024 3 >x.raw
for v in 1 2 3; do
  "$mk" npy $v "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 128), }" <x.raw >v$v.npy
done
"$mk" npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4, 128), }" <x.raw >v4.npy
"$mk" swap 4 <x.raw >big.raw
"$mk" npy 1 "{'descr': '>f4', 'fortran_order': False, 'shape': (8, 128), }" <big.raw >v5.npy
"$mk" npy 1 '{"shape":(8,128),"fortran_order":False,"descr":"<f4"}' <x.raw >v6.npy
"$mk" floats 1 2 >two.raw
cat x.raw two.raw | "$mk" safetensors '{"other":{"dtype":"F32","shape":[2],"data_offsets":[4096,4104]},"w":{"dtype":"F32","shape":[8,128],"data_offsets":[0,4096]}}' >two.safetensors
q="--recipe mxfp4 --codes c.bin --scales s.bin"
run 0 quantize x.raw --dtype f32 --shape 8x128 --recipe mxfp4 --codes want.c --scales want.s
size want.c 512
size want.s 32
for v in 1 2 3 4 5 6; do
  run 0 quantize v$v.npy $q
  same c.bin want.c
  same s.bin want.s
done
run 0 quantize two.safetensors --tensor w $q
same c.bin want.c
same s.bin want.s
run 0 quantize x.raw --dtype f32 --shape 2x4x128 $q
same c.bin want.c

# ---- bf16 and f16 ----
"$mk" values bf16 1024 4 >x.bf16
"$mk" values f16 1024 4 >x.f16
for d in bf16 f16; do
  upper=$(echo $d | tr bf BF)
  run 0 quantize x.$d --dtype $d --shape 8x128 --recipe mxfp8 --codes $d.c --scales $d.s
  "$mk" safetensors "{\"t\":{\"dtype\":\"$upper\",\"shape\":[8,128],\"data_offsets\":[0,2048]}}" \
    <x.$d >$d.safetensors
  run 0 quantize $d.safetensors --recipe mxfp8 --codes c.bin --scales s.bin
  same c.bin $d.c
  same s.bin $d.s
done
for descr in '<u2' '<V2' '|V2'; do
  "$mk" npy 1 "{'descr': '$descr', 'fortran_order': False, 'shape': (8, 128), }" <x.bf16 >u2.npy
  run 0 quantize u2.npy --dtype bf16 --recipe mxfp8 --codes c.bin --scales s.bin
  same c.bin bf16.c
done
"$mk" npy 1 "{'descr': '<f2', 'fortran_order': False, 'shape': (8, 128), }" <x.f16 >f2.npy
run 0 quantize f2.npy --recipe mxfp8 --codes c.bin --scales s.bin
same c.bin f16.c

# ---- known bytes: the first element is the low nibble ----
"$mk" floats 1 2 >two.raw
run 0 quantize two.raw --dtype f32 --shape 1x2 --recipe mxfp4 --codes c.bin --scales s.bin
hex c.bin 64
hex s.bin 7E
"$mk" floats 1 2 448 >three.raw
run 0 quantize three.raw --dtype f32 --shape 1x3 --recipe aiter-fp8-128 --codes c.bin --scales s.bin
hex c.bin 38407E
hex s.bin 0000803F

# ---- standard input and output, devices, FIFOs ----
run 0 quantize v1.npy --recipe mxfp4 -o want.safetensors
last="mxgold quantize - -o -"
"$tool" quantize - --recipe mxfp4 -o - <v1.npy >out.safetensors 2>logs/err || fail "exit code $?"
same out.safetensors want.safetensors
"$mk" cut 0 100000 <v1.npy | "$tool" quantize - --recipe mxfp4 -o - 2>logs/err | cat >out.safetensors
same out.safetensors want.safetensors
"$tool" quantize v1.npy --recipe mxfp4 -o - | "$tool" dequantize - --to f32 -o - >out.raw 2>logs/err
run 0 dequantize want.safetensors --to f32 -o want.raw
size want.raw 4096
same out.raw want.raw
run 0 quantize v1.npy --recipe mxfp4 -o /dev/null
[ -c /dev/null ] || fail "/dev/null is no device any more"
run 0 quantize v1.npy --recipe mxfp4 --codes /dev/null --scales /dev/null
run 0 dequantize want.safetensors -o /dev/null
"$mk" fifo in.fifo
"$mk" fifo out.fifo
cat v1.npy >in.fifo &
cat out.fifo >out.safetensors &
run 0 quantize in.fifo --recipe mxfp4 -o out.fifo
wait
same out.safetensors want.safetensors
[ -p out.fifo ] || fail "the FIFO was replaced"

# ---- an existing output keeps its mode; a link stays a link ----
echo old >mode.safetensors
chmod 640 mode.safetensors
ln -s mode.safetensors link.safetensors
run 0 quantize v1.npy --recipe mxfp4 -o link.safetensors
same mode.safetensors want.safetensors
[ -h link.safetensors ] || fail "the link was replaced"
find mode.safetensors -perm 640 | grep -q . || fail "the mode changed"

# ---- both implementations, any number of threads ----
for r in mxfp8 mxfp6-e2m3 mori-fp8 mori-fp4 aiter-mxfp8-fnuz mori-fp8-direct; do
  run 0 quantize v1.npy --recipe $r -o a.safetensors --threads 1 --isa portable
  run 0 quantize v1.npy --recipe $r -o b.safetensors --threads 3
  same a.safetensors b.safetensors
  run 0 quantize v1.npy --recipe $r -o b.safetensors --impl ref
  same a.safetensors b.safetensors
  for to in f32 bf16 f16; do
    run 0 dequantize a.safetensors --to $to -o a.npy
    run 0 dequantize a.safetensors --to $to -o b.npy --impl ref
    same a.npy b.npy
  done
done

# ---- no scales ----
run 0 quantize v1.npy --recipe mori-fp8-direct --codes c.bin --scales s.bin
size c.bin 1024
size s.bin 0
run 0 quantize v1.npy --recipe mori-fp8-direct --codes d.bin
same c.bin d.bin
run 0 dequantize --codes c.bin --scales s.bin --shape 8x128 --recipe mori-fp8-direct -o y.raw
size y.raw 4096

# ---- what is written can be read by its metadata alone ----
for r in mxfp8 mxfp8-e5m2 mxfp6-e3m2 mxfp4 aiter-mxfp8-fnuz mori-fp8 mori-fp4,block=7; do
  run 0 quantize v1.npy --recipe $r -o a.safetensors
  run 0 quantize v1.npy --recipe $r --codes c.bin --scales s.bin
  run 0 dequantize a.safetensors -o a.npy
  run 0 dequantize --codes c.bin --scales s.bin --shape 8x128 --recipe $r -o b.npy
  same a.npy b.npy
done
run 0 quantize two.safetensors --tensor w --recipe mxfp4 -o named.safetensors
last="tensor names"
"$mk" cut 8 400 <named.safetensors | grep -q '"w_scale"' || fail "no tensor w_scale"

# ---- scale orders ----
"$mk" values f32 5600 5 >y.raw
y="y.raw --dtype f32 --shape 35x160"
run 0 quantize $y --recipe mxfp8 -o rows.safetensors
run 0 dequantize rows.safetensors -o rows.raw
for order in row_major transposed aiter_shuffle blocked_128x4; do
  run 0 quantize $y --recipe mxfp8 --scale-order $order -o a.safetensors
  run 0 dequantize a.safetensors -o a.raw
  same a.raw rows.raw
  run 0 quantize $y --recipe mxfp8 --scale-order $order --codes c.bin --scales s.bin
  run 0 dequantize --codes c.bin --scales s.bin --shape 35x160 --recipe mxfp8 \
    --scale-order $order -o a.raw
  same a.raw rows.raw
  case $order in
    aiter_shuffle) size s.bin 2048 ;; # 256 x 8
    blocked_128x4) size s.bin 1024 ;; # 128 x 8
    *) size s.bin 175 ;;
  esac
done
run 0 quantize $y --recipe mori-fp8 --scale-order transposed -o a.safetensors
run 0 dequantize a.safetensors -o a.raw
run 0 quantize $y --recipe mori-fp8 -o b.safetensors
run 0 dequantize b.safetensors -o b.raw
same a.raw b.raw

# ---- pads are the chosen byte, nothing else is ----
"$mk" floats 1 2 >p.raw
run 0 quantize p.raw --dtype f32 --shape 1x2 --recipe mxfp4 --scale-order blocked_128x4 --pad 7F \
  --codes c.bin --scales s.bin
size s.bin 512
last="pads"
[ "$("$mk" hex <s.bin | sed 's/7F//g')" = 7E ] || fail "pads are not all 7F: $("$mk" hex <s.bin)"
run 0 quantize p.raw --dtype f32 --shape 1x2 --recipe mxfp4 --scale-order blocked_128x4 \
  --codes c.bin --scales s.bin
[ "$("$mk" hex <s.bin | sed 's/00//g')" = 7E ] || fail "pads are not all 00"

# ---- more scales than are used ----
run 0 quantize p.raw --dtype f32 --shape 1x2 --recipe aiter-fp8-128 --scale-count 3 --codes c.bin \
  --scales s.bin
size s.bin 12
"$mk" cut 4 8 <s.bin >rest.bin
hex rest.bin 0000803F0000803F
run 0 quantize p.raw --dtype f32 --shape 1x2 --recipe mxfp4 --scale-count 3 --codes c.bin \
  --scales s.bin
hex s.bin 7E0000
run 0 quantize $y --recipe mori-fp8,block=74 --scale-count 5 -o a.safetensors
run 0 dequantize a.safetensors -o a.raw
run 0 quantize $y --recipe mori-fp8,block=74 -o b.safetensors
run 0 dequantize b.safetensors -o b.raw
same a.raw b.raw

# ---- live rows ----
run 0 quantize $y --recipe mxfp8 --live-rows 3 --codes c.bin --scales s.bin
size c.bin 5600
run 0 quantize $y --recipe mxfp8 --codes all.c --scales all.s
"$mk" cut 0 480 <all.c >head.c
"$mk" cut 0 480 <c.bin >live.c
same live.c head.c
last="rows past the live count"
[ -z "$("$mk" cut 480 9999 <c.bin | "$mk" hex | tr -d 0)" ] || fail "dead rows were written"
run 0 quantize $y --recipe mxfp8 --live-rows 3 -o a.safetensors
run 0 dequantize a.safetensors -o a.raw
size a.raw 1920
"$mk" cut 0 1920 <rows.raw >head.raw
same a.raw head.raw
run 0 quantize $y --recipe mxfp8 --live-rows 0 -o a.safetensors
run 0 dequantize a.safetensors -o a.raw
size a.raw 0

# ---- row weights: 1 changes nothing, 2 is one step of an E8M0 scale ----
"$mk" floats 1 1 1 1 1 1 1 1 >ones.raw
"$mk" floats 2 2 2 2 2 2 2 2 >twos.raw
run 0 quantize v1.npy --recipe megamoe-fp8-32 --codes want.c --scales want.s
run 0 quantize v1.npy --recipe megamoe-fp8-32 --row-weights ones.raw --codes c.bin --scales s.bin
same c.bin want.c
same s.bin want.s
run 0 quantize v1.npy --recipe megamoe-fp8-32 --row-weights twos.raw --codes c.bin --scales s.bin
same c.bin want.c
last="scales with row weight 2"
cmp -s s.bin want.s && fail "row weights did nothing"
run 0 quantize v1.npy --recipe megamoe-fp8-32 --row-weights twos.raw --impl ref --codes d.bin \
  --scales t.bin
same s.bin t.bin

# ---- slots ----
"$mk" values f32 16 6 >w.raw
run 0 quantize v1.npy --recipe mori-fp8 --slots a.bin
size a.bin $((8 * (128 + 4)))
run 0 quantize v1.npy --recipe mori-fp8 --slots w.bin --slot-weights 2 --weights w.raw
size w.bin $((8 * (128 + 4 + 8)))
"$mk" cut 132 8 <w.bin >weights.bin
"$mk" cut 0 8 <w.raw >weights.want
same weights.bin weights.want
run 0 quantize v1.npy --recipe mori-fp8 -o a.safetensors
run 0 dequantize a.safetensors -o want.raw
run 0 dequantize --slots a.bin --shape 8x128 --recipe mori-fp8 -o y.raw
same y.raw want.raw
run 0 dequantize --slots w.bin --slot-weights 2 --shape 8x128 --recipe mori-fp8 -o y.raw
same y.raw want.raw

# ---- combine ----
c="--recipe mori-fp8 --shape 8x128"
run 0 dequantize a.safetensors --to bf16 -o want.raw
run 0 combine $c -o y.raw a.bin
same y.raw want.raw
run 0 combine $c -o y.raw - a.bin -
same y.raw want.raw
run 0 combine $c --slot-weights 2 -o y.raw w.bin
same y.raw want.raw
"$mk" floats 1 nan 1 nan 1 nan 1 nan 1 nan 1 nan 1 nan 1 nan >w1.raw
run 0 combine $c --weights w1.raw -o y.raw a.bin - # the weight of a missing source is not read
same y.raw want.raw
run 0 combine $c --to f32 -o two.raw a.bin a.bin
"$mk" floats 2 2 2 2 2 2 2 2 >w2.raw
run 0 combine $c --to f32 --weights w2.raw -o y.raw a.bin
same y.raw two.raw
run 0 combine $c --to f32 --impl ref -o y.raw a.bin a.bin
same y.raw two.raw
run 0 combine $c --to f32 -o none.raw - -
last="no source"
[ -z "$("$mk" hex <none.raw | tr -d 0)" ] || fail "no source does not give +0"
size none.raw 4096
run 0 combine $c --live-rows 2 --to f32 -o y.raw a.bin a.bin
size y.raw 1024
run 0 combine $c -o y.npy a.bin
run 0 combine $c -o - a.bin
same logs/out want.raw

# quantised .safetensors say what they hold; every order of scales gives the same sum
"$mk" values f32 1024 9 >v.raw
v="v.raw --dtype f32 --shape 8x128"
run 0 quantize $v --recipe mori-fp8 --slots v.bin
run 0 combine $c --to f32 -o want.raw v.bin - v.bin
for order in row_major transposed; do
  run 0 quantize $v --recipe mori-fp8 --scale-order $order --scale-count 5 -o v.safetensors
  run 0 combine --to f32 -o y.raw v.safetensors - v.safetensors
  same y.raw want.raw
  run 0 combine --to f32 -o y.raw v.safetensors - v.bin
  same y.raw want.raw
done
run 0 quantize $v --recipe mxfp4 --slots v.bin
run 0 combine --recipe mxfp4 --shape 8x128 --to f32 -o want.raw v.bin v.bin
for order in aiter_shuffle blocked_128x4; do
  run 0 quantize $v --recipe mxfp4 --scale-order $order -o v4.safetensors
  run 0 combine --to f32 -o y.raw v4.safetensors v4.safetensors
  same y.raw want.raw
done
mkfifo pipe
cat v4.safetensors >pipe &
run 0 combine --to f32 -o y.raw pipe v4.safetensors
same y.raw want.raw
refuse 2 "sources of one sum have one recipe" combine -o y.raw v.safetensors v4.safetensors
refuse 2 "was made with recipe mxfp4" combine --recipe mxfp8 -o y.raw v4.safetensors
refuse 2 "sources of one sum have one shape" combine --shape 8x127 -o y.raw v4.safetensors
cp v4.safetensors v4.raw
refuse 2 "is the input file" combine -o v4.raw v4.raw
run 0 quantize $v --recipe mxfp4 --live-rows 3 -o live.safetensors
run 0 combine --to f32 -o y.raw live.safetensors
size y.raw 1536
refuse 2 "give --live-rows" combine -o y.raw live.safetensors v4.safetensors

# ---- nothing is something: no rows, no columns ----
: >empty
run 0 quantize empty --dtype f32 --shape 0x64 --recipe mxfp8 --codes c.bin --scales s.bin
size c.bin 0
size s.bin 0
run 0 quantize empty --dtype f32 --shape 4x0 --recipe mori-fp8 -o a.safetensors
run 0 dequantize a.safetensors -o y.raw
size y.raw 0
run 0 quantize empty --dtype bf16 --shape 0x64 --recipe mxfp4 -o a.safetensors
run 0 dequantize a.safetensors -o y.npy
run 0 compare a.safetensors --input empty --dtype bf16 --shape 0x64
run 0 error a.safetensors y.npy
run 0 combine --recipe mori-fp8 --shape 0x64 -o y.raw empty -
size y.raw 0

# ---- rows of nothing: as many as there are numbers, and no time for them ----
rows=4611686018427387904
[ "$(getconf LONG_BIT)" = 64 ] || rows=1073741824
"$mk" npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': ($rows, 0), }" <empty >nothing.npy
for recipe in mxfp4 mori-fp8 mori-fp8-direct; do
  run 0 quantize nothing.npy --recipe $recipe -o nothing.safetensors
  run 0 dequantize nothing.safetensors -o y.raw
  size y.raw 0
  run 0 compare nothing.safetensors --input nothing.npy
  run 0 error nothing.safetensors nothing.npy
done
run 0 quantize nothing.npy --recipe mori-fp8 --slots slots.bin
size slots.bin 0
run 0 quantize nothing.npy --recipe mxfp4 --scale-order aiter_shuffle -o nothing.safetensors
run 0 compare nothing.safetensors --input nothing.npy
run 0 combine --recipe mori-fp8 --shape ${rows}x0 -o y.raw empty -
size y.raw 0

finish
