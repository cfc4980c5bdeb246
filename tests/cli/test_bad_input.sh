#!/bin/sh
# SPDX-License-Identifier: MIT
# What is wrong in a file or on the command line gets its own message and exit code, and nothing is
# written: no temporary left, an old output intact. `refuse` (lib.sh) checks the latter every time.
. "$(dirname "$0")/lib.sh"

"$mk" values f32 256 1 >x.raw
"$mk" npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 64), }" <x.raw >x.npy
echo "an old output" >old.safetensors
q="--recipe mxfp4 -o old.safetensors"

# ---- npy ----
head -c 500 x.npy >cut.npy
refuse 3 "truncated" quantize cut.npy $q
head -c 40 x.npy >cut.npy
refuse 3 "header length" quantize cut.npy $q
head -c 4 x.npy >cut.npy
refuse 3 "inside its header" quantize cut.npy $q
{ cat x.npy; printf x; } >long.npy
refuse 3 "save one array per file" quantize long.npy $q
npy() {
  "$mk" npy "$1" "$2" <x.raw >bad.npy
}
npy 1 "{'descr': '|O', 'fortran_order': False, 'shape': (4, 64), }"
refuse 3 "pickled Python objects are not read" quantize bad.npy $q
npy 1 "{'descr': '<f4', 'fortran_order': True, 'shape': (4, 64), }"
refuse 3 "Fortran order" quantize bad.npy $q
npy 1 "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 32), }"
refuse 3 "dtype '<f8'" quantize bad.npy $q
npy 1 "{'descr': '<u2', 'fortran_order': False, 'shape': (4, 128), }"
refuse 3 "if these are bf16, say --dtype bf16" quantize bad.npy $q
npy 1 "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4, 64), }"
refuse 3 "structured dtype" quantize bad.npy $q
npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 65), }"
refuse 3 "promises 1040 bytes" quantize bad.npy $q
npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }"
refuse 3 "more elements than memory" quantize bad.npy $q
npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (-4, 64), }"
refuse 3 "expected a dimension" quantize bad.npy $q
npy 1 "{'descr': '<f4', 'shape': (4, 64), }"
refuse 3 "is missing" quantize bad.npy $q
npy 1 "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4, 64), }"
refuse 3 "twice" quantize bad.npy $q
npy 1 "not a dict"
refuse 3 "expected '{'" quantize bad.npy $q
npy 9 "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 64), }"
refuse 3 "version 9.0" quantize bad.npy $q
"$mk" npy 2 "{}" 0xFFFFFFFF <x.raw >bad.npy
refuse 3 "header length 4294967295" quantize bad.npy $q
refuse 2 "leave --dtype out" quantize x.npy --dtype f16 $q

# ---- safetensors ----
st() {
  "$mk" safetensors "$@" <x.raw >bad.safetensors
}
entry='"dtype":"F32","shape":[4,32],"data_offsets"'
st "{\"a\":{$entry:[0,512]},\"b\":{$entry:[256,768]}}"
refuse 3 "'a' and 'b' overlap" quantize bad.safetensors --tensor a $q
st "{\"a\":{$entry:[0,512]},\"b\":{$entry:[512,1024]}} "
run 0 quantize bad.safetensors --tensor b --recipe mxfp4 -o fine.safetensors
rm fine.safetensors
refuse 2 "holds 2 tensors: choose one by --tensor: a, b" quantize bad.safetensors $q
refuse 2 "no tensor 'c'" quantize bad.safetensors --tensor c $q
st "{\"a\":{$entry:[0,512]},\"b\":{$entry:[1024,1536]}}"
refuse 3 "tensor 'b', data_offsets [1024, 1536]" quantize bad.safetensors --tensor a $q
st "{\"a\":{$entry:[512,0]}}"
refuse 3 "data_offsets [512, 0]" quantize bad.safetensors $q
st "{\"a\":{$entry:[-1,511]}}"
refuse 3 "data_offsets" quantize bad.safetensors $q
st "{\"a\":{$entry:[0,18446744073709551615]}}"
refuse 3 "safetensors header" quantize bad.safetensors $q
st "{\"a\":{$entry:[0,500]}}"
refuse 3 "500 bytes, but dtype and shape need 512" quantize bad.safetensors $q
st "{\"a\":{$entry:[0,512]},\"b\":{$entry:[512,1024]}}" 0x8000000000000000
refuse 3 "header length 9223372036854775808" quantize bad.safetensors --tensor a $q
st "{\"a\":{$entry:[0,512]},\"a\":{$entry:[512,1024]}}"
refuse 3 "duplicate" quantize bad.safetensors --tensor a $q
st '{"a":{"dtype":"F32",'
refuse 3 "safetensors header (offset" quantize bad.safetensors $q
st '{]'
refuse 3 "safetensors header (offset" quantize bad.safetensors $q
st '[1, 2]'
refuse 3 "bad.safetensors" quantize bad.safetensors $q
st "{\"a\":{\"dtype\":\"F31\",\"shape\":[4,64],\"data_offsets\":[0,1024]}}"
refuse 3 "'F31' is not known" quantize bad.safetensors $q
st "{\"a\":{\"dtype\":\"I32\",\"shape\":[4,64],\"data_offsets\":[0,1024]}}"
refuse 3 "values are f32, f16 or bf16" quantize bad.safetensors $q
st "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,1024]}}"
refuse 3 "safetensors header" quantize bad.safetensors $q
st "{\"a\":{$entry:[0,512]}}"
refuse 3 "512 bytes follow the last tensor" quantize bad.safetensors $q
printf 'abc' >bad.safetensors
refuse 3 "inside its header length" quantize bad.safetensors $q
: >empty
refuse 3 "is empty" quantize empty $q
refuse 3 "neither .npy nor .safetensors" quantize x.raw $q

# ---- quantised files ----
run 0 quantize x.npy --recipe mxfp4 -o good.safetensors
refuse 2 "leave --recipe out" dequantize good.safetensors --recipe megamoe-act-fp8 -o old.safetensors
refuse 2 "leave --shape out" dequantize good.safetensors --shape 1x512 -o old.safetensors
head -c 200 good.safetensors >cut.safetensors
refuse 3 "cut.safetensors" dequantize cut.safetensors -o old.safetensors
st "{\"a\":{$entry:[0,512]},\"b\":{$entry:[512,1024]}}"
refuse 3 "no pair of tensors" dequantize bad.safetensors --recipe mxfp4 -o old.safetensors
st '{"__metadata__":{"recipe":"mxfp9"},"x":{"dtype":"U8","shape":[4,128],"data_offsets":[0,512]},"x_scale":{"dtype":"U8","shape":[4,128],"data_offsets":[512,1024]}}'
refuse 3 "__metadata__ recipe: unknown preset 'mxfp9'" dequantize bad.safetensors -o old.safetensors
st '{"__metadata__":{"recipe":7},"x":{"dtype":"U8","shape":[1024],"data_offsets":[0,1024]}}'
refuse 3 "__metadata__, recipe: is no string" dequantize bad.safetensors -o old.safetensors
st '{"x":{"dtype":"U8","shape":[4,128],"data_offsets":[0,512]},"x_scale":{"dtype":"U8","shape":[4,128],"data_offsets":[512,1024]}}'
refuse 2 "give --recipe" dequantize bad.safetensors -o old.safetensors
refuse 3 "old.safetensors" dequantize old.safetensors --recipe mxfp4 -o y.npy

# ---- recipes ----
refuse 2 "recipe: unknown field 'rulee' at column 7; did you mean 'rule'?" \
  quantize x.npy --recipe mxfp4,rulee=even -o old.safetensors
refuse 2 "unknown preset 'mxfp5' at column 1; did you mean" quantize x.npy --recipe mxfp5 -o y
refuse 2 "field 'rule' has no value 'flor' at column 12; did you mean 'floor'?" \
  quantize x.npy --recipe mxfp4,rule=flor -o old.safetensors
refuse 2 "illegal combination at column" \
  quantize x.npy --recipe mxfp4,overflow=nonfinite -o old.safetensors
says "overflow:"
refuse 2 "illegal combination" \
  quantize x.npy --recipe mxfp8,rule=rceil,inf_scale=field -o old.safetensors
says "inf_scale:"
refuse 2 "given twice" quantize x.npy --recipe mxfp4,rule=even,rule=even -o old.safetensors
refuse 2 "does not belong to this kind of scale" \
  quantize x.npy --recipe mxfp4,marker=always -o old.safetensors
refuse 2 "is missing" quantize x.npy --recipe mxfp4,scale=f32 -o old.safetensors
refuse 2 "no number" quantize x.npy --recipe mxfp4,block=0x10 -o old.safetensors
refuse 2 "no number" quantize x.npy --recipe mxfp4,block=0 -o old.safetensors
refuse 2 "nothing between commas" quantize x.npy --recipe mxfp4,,rule=even -o old.safetensors
refuse 2 "has no '='" quantize x.npy --recipe mxfp4,rule -o old.safetensors
refuse 2 "empty text" quantize x.npy --recipe "" -o old.safetensors

# ---- shapes and options ----
raw="--dtype f32 --recipe mxfp4 -o old.safetensors"
refuse 2 "--shape 4x65 of f32 is 1040 bytes, the file has 1024" quantize x.raw --shape 4x65 $raw
refuse 2 "'4x' is no shape" quantize x.raw --shape 4x $raw
refuse 2 "'axb' is no shape" quantize x.raw --shape axb $raw
refuse 2 "more elements than memory" \
  quantize x.raw --shape 4294967296x4294967296 $raw
refuse 2 "needs both --dtype and --shape" quantize x.raw --shape 4x64 $q
refuse 2 "--dtype: 'f33' is not known" quantize x.raw --shape 4x64 --dtype f33 $q
refuse 2 "--live-rows: 5 is more than the 4 rows" quantize x.npy --live-rows 5 $q
refuse 2 "--live-rows: '-1' is no count" quantize x.npy --live-rows=-1 $q
"$mk" floats 1 2 3 >w3.raw
refuse 2 "--row-weights, one for each row, needs 4 f32 values" \
  quantize x.npy --row-weights w3.raw $q
refuse 2 "unknown order 'row_majr'; did you mean 'row_major'?" \
  quantize x.npy --scale-order row_majr $q
refuse 2 "--pad: 'xyz' is no byte" quantize x.npy --scale-order aiter_shuffle --pad xyz $q
refuse 2 "has no pads" quantize x.npy --pad 7F $q
refuse 2 "f32 scales go row_major or transposed" \
  quantize x.npy --scale-order aiter_shuffle --recipe mori-fp8 -o old.safetensors
refuse 2 "is less than the 2 scales" quantize x.npy --scale-count 1 $q
refuse 2 "the recipe has no scales" \
  quantize x.npy --scale-count 4 --recipe mori-fp8-direct -o old.safetensors
refuse 2 "belongs to slots" quantize x.npy --slot-weights 8 $q
refuse 2 "--isa: unknown instruction set 'sse9'" quantize x.npy --isa sse9 $q
refuse 2 "--impl: 'gold' is not known" quantize x.npy --impl gold $q
refuse 2 "--threads: 'many' is no count" quantize x.npy --threads many $q
refuse 2 "unknown option '--recipee'; did you mean '--recipe'?" quantize x.npy --recipee mxfp4
refuse 2 "--recipe is needed" quantize x.npy -o old.safetensors
refuse 2 "none of -o" quantize x.npy --recipe mxfp4
refuse 2 "--codes needs --scales" quantize x.npy --recipe mxfp4 --codes c.bin
refuse 2 "unknown command 'quantise'; did you mean 'quantize'?" quantise
refuse 2 "unknown option '--verbose'" --verbose
run 2
refuse 2 "0 input files" quantize $q
refuse 2 "--to: 'f64'" dequantize good.safetensors --to f64 -o old.safetensors
refuse 2 "raw codes need --recipe and --shape" dequantize --codes x.raw -o old.safetensors

# ---- outputs ----
cp x.npy in.npy
refuse 2 "in.npy: -o is the input file in.npy" quantize in.npy --recipe mxfp4 -o in.npy
ln -s in.npy link.npy
refuse 2 "is the input file" quantize in.npy --recipe mxfp4 -o link.npy
ln in.npy hard.npy
refuse 2 "is the input file" quantize in.npy --recipe mxfp4 -o hard.npy
refuse 2 "is the input file" quantize in.npy --recipe mxfp4 --codes c.bin --scales in.npy
refuse 2 "two outputs cannot go to one file" \
  quantize x.npy --recipe mxfp4 --codes c.bin --scales c.bin
cp good.safetensors good.npy
refuse 2 "is the input file" dequantize good.npy -o good.npy
mkdir folder
refuse 3 "is a directory" quantize x.npy --recipe mxfp4 -o folder
refuse 3 "is a directory" quantize x.npy --recipe mxfp4 --codes folder --scales s.bin
refuse 3 "is a directory" quantize folder $q
refuse 3 "No such file" quantize absent.npy $q
refuse 3 "No such file" quantize x.npy --recipe mxfp4 -o absent/y.safetensors
refuse 3 "Not a directory" quantize x.npy --recipe mxfp4 -o x.npy/y.safetensors
refuse 2 "the file name is empty" quantize x.npy --recipe mxfp4 -o ""

# ---- a full disk ----
"$mk" values f32 100000 2 >big.raw
big="big.raw --dtype f32 --shape 100x1000 --recipe mxfp8"
if [ -c /dev/full ] && [ -w /dev/full ]; then
  refuse 3 "No space left on device" quantize $big -o /dev/full
  refuse 3 "No space left on device" quantize $big --codes /dev/full --scales s.bin
else
  echo "skipped: no /dev/full"
fi
limited() { # a limit on the size of files: 16 blocks of 512 bytes, or of 1024
  (
    ulimit -f 16
    "$tool" "$@"
  )
}
snapshot >logs/before
last="mxgold quantize under ulimit -f"
checks=$((checks + 2))
limited quantize $big -o old.safetensors >logs/out 2>logs/err
code=$?
[ "$code" -eq 3 ] || fail "a file size limit gives exit code $code"
says "File too large"
limited quantize $big --codes c.bin --scales s.bin >logs/out 2>logs/err
code=$?
[ "$code" -eq 3 ] || fail "a file size limit gives exit code $code"
snapshot >logs/after
cmp -s logs/before logs/after || fail "files changed: $(diff logs/before logs/after)"
mkdir small
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=32k tmpfs small 2>/dev/null; then
  echo "an old output" >small/y.safetensors
  refuse 3 "No space left on device" quantize $big -o small/y.safetensors
  umount small
else
  echo "skipped: no right to mount a small tmpfs"
fi

# ---- unreadable and unwritable ----
if [ "$(id -u)" -ne 0 ]; then
  as_user() { "$@"; }
elif command -v setpriv >/dev/null 2>&1 && setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
  as_user() { setpriv --reuid 65534 --clear-groups "$@"; }
else
  as_user() { return 125; }
fi
cp "$tool" tool.copy
chmod 755 tool.copy
if as_user ./tool.copy --version >logs/out 2>&1; then
  real=$tool
  # shellcheck disable=SC2317  # called by name
  as_user_tool() { as_user "$here/tool.copy" "$@"; }
  chmod 000 in.npy
  tool=as_user_tool
  refuse 3 "in.npy: Permission denied" quantize in.npy $q
  mkdir locked
  chmod 555 locked
  refuse 3 "Permission denied" quantize x.npy --recipe mxfp4 -o locked/y.safetensors
  mkdir open
  chmod 777 open
  echo "an old output" >open/old.safetensors
  chmod 444 open/old.safetensors
  refuse 3 "Permission denied" quantize x.npy --recipe mxfp4 -o open/old.safetensors
  tool=$real
  chmod 600 in.npy
else
  echo "skipped: no way to run as a user who may not read everything"
fi
rm -f tool.copy

# ---- a reader that goes away, a stop in the middle ----
checks=$((checks + 1))
last="mxgold quantize | true"
{
  code=0
  "$tool" quantize $big -o - 2>logs/err || code=$?
  echo "$code" >logs/code
} | true
code=$(cat logs/code)
[ "$code" -eq 3 ] || [ "$code" -eq 0 ] || fail "a closed pipe gives exit code $code"

# The codes go to a temporary, then the scales wait for a reader that never comes.
"$mk" fifo stuck
snapshot >logs/before
for signal in TERM HUP; do
  last="mxgold quantize --codes old.safetensors --scales stuck, stopped by $signal"
  checks=$((checks + 1))
  "$tool" quantize x.npy --recipe mxfp4 --codes old.safetensors --scales stuck \
    >logs/out 2>logs/err &
  child=$!
  waited=0
  until ls .mxgold-*.tmp >logs/temporary 2>&1 || [ $waited -ge 20 ]; do
    sleep 1
    waited=$((waited + 1))
  done
  [ $waited -lt 20 ] || fail "no temporary came: $(cat logs/temporary)"
  kill -s $signal $child
  code=0
  wait $child || code=$?
  [ "$code" -gt 128 ] || fail "exit code $code"
  snapshot >logs/after
  cmp -s logs/before logs/after || fail "files changed: $(diff logs/before logs/after)"
done
rm stuck

# ---- compare and error ----
refuse 2 "two files of the same kind" compare x.npy good.safetensors
refuse 2 "1 file given" compare x.npy
refuse 2 "--codes needs --input" compare --codes x.raw --recipe mxfp4
refuse 2 "--recipe is needed" compare --codes x.raw --input x.npy
refuse 2 "--scales goes with --codes" compare --scales x.raw --input x.npy --recipe mxfp4 good.safetensors
refuse 2 "--skip-nan needs --input" compare x.npy x.npy --skip-nan
refuse 2 "--limit: 'x' is no count" compare x.npy x.npy --limit x
refuse 3 "No such file" compare absent good.safetensors
refuse 3 "No such file" compare good.safetensors --input absent
refuse 3 "cut.npy" compare good.safetensors --input cut.npy
refuse 3 "x.npy: is no .safetensors" compare x.npy --input x.npy --recipe mxfp4
refuse 2 "only one" compare - -
refuse 2 "unknown preset" compare good.safetensors --input x.npy --recipe mxfp5
refuse 2 "two are needed" error x.npy
refuse 2 "was made with recipe mxfp4, not with mxfp8" error good.safetensors x.npy --recipe mxfp8
npy 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 128), }"
refuse 3 "is 4x64" error x.npy bad.npy
refuse 3 "holds 4x64, but bad.npy is 2x128" error good.safetensors bad.npy
refuse 3 "No such file" error good.safetensors absent
refuse 2 "unknown preset" recipes mxfp5
refuse 2 "--rows is needed" layout --recipe mxfp4 --cols 32
refuse 2 "need more than" layout --recipe mxfp4 --rows 18446744073709551615 --cols 7168
refuse 2 "64 at most" layout --recipe mxfp4 --rows 1 --cols 32 --top-k 65
refuse 2 "takes no file" info x.npy

# ---- combine ----
run 0 quantize x.npy --recipe mxfp4 --slots a.bin
c="--recipe mxfp4 --shape 4x64 -o old.safetensors"
head -c 100 a.bin >short.bin
refuse 2 "short.bin" combine $c short.bin
refuse 3 "No such file" combine $c absent.bin
refuse 2 "--weights, rows x sources, needs 8 f32 values" combine $c --weights w3.raw a.bin -
refuse 2 "is the input file" combine --recipe mxfp4 --shape 4x64 -o a.bin a.bin

[ "$(cat old.safetensors)" = "an old output" ] || fail "the old output changed"
finish
