#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the seeds of the text and file targets: fuzz/seeds.sh FOLDER. The seeds of the other targets
# are what fuzzing kept (fuzz/README.md).
set -eu
out=$1
mkdir -p "$out/recipe" "$out/npy" "$out/safetensors"

# recipe: kind (0 text, 2 number, 3 words), capacity of the print buffer, text
n=0
recipe() {
  n=$((n + 1))
  printf "\\000\\020%s" "$1" >"$out/recipe/text-$n"
}
recipe mxfp8
recipe mxfp4
recipe mori-fp8,block=256
recipe aiter-mxfp4,rule=even,element_max=5,amax_floor=0x1p-20
recipe mxfp8,scale=f32,scale_math=mul,scale_when=always,apply=div,zero_block=unit,marker=none
recipe mori-fp8,scale=none
recipe mxfp4,rulee=even
recipe mxfp4,rule=even,rule=even
recipe mxfp4,marker=always
recipe mxfp8,inf_scale=field,rule=rceil
recipe mxfp4,,
recipe 'element=e2m1,scale=none,element_max=6,nan_element=zero,overflow=saturate,accumulate=fma'
m=0
for number in 1e-10 0x1.fffffep127 340282356779733661637539395458142568447 0x1p-149 \
  1.40129846432481707e-45 16777217 0x.8p1 1e 0x 00001.5000; do
  m=$((m + 1))
  printf '\002\100%s' "$number" >"$out/recipe/number-$m"
done

# npy: how (1: version 1, header, 0, data; 3: length and a pattern), options, header, data
k=0
npy() {
  k=$((k + 1))
  {
    printf '%b%b%s' "$1" "$2" "$3"
    printf '%b' "$4"
  } >"$out/npy/file-$k"
}
npy '\001' '\000' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }" '\0000\0000\0200\0077\0000\0000\0000\0300'
npy '\003' '\000' "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 8), }" '\000\0200\000abc'
npy '\003' '\000' "{'descr': '>f4', 'fortran_order': False, 'shape': (64,), }" '\000\000\001abcdefg'
npy '\003' '\004' "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 8), }" '\000\0040\000ab'
npy '\003' '\000' "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 2, 4), }" '\000\0040\000ab'
npy '\007' '\000' "{'descr': '|u1', 'fortran_order': False, 'shape': (16,), }" '\000\0020\000ab'
npy '\013' '\000' "{'shape': (), 'descr': '<f4', 'fortran_order': False}" '\000\004\000ab'
npy '\001' '\000' "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }" '\000abcd'
npy '\001' '\000' "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }" '\000abcd'
npy '\001' '\000' "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }" '\000abcd'
npy '\001' '\000' "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 18446744073709551615), }" '\000'
npy '\003' '\004' "{'descr': '|V2', 'fortran_order': False, 'shape': (8L,), }" '\000\020\000ab'

# safetensors: how (1: header, 0, data; 3: length and a pattern), header, data
s=0
safetensors() {
  s=$((s + 1))
  {
    printf '%b%s' "$1" "$2"
    printf '%b' "$3"
  } >"$out/safetensors/file-$s"
}
safetensors '\003' '{"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}' '\000\0030\000abc'
safetensors '\003' '{"a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[2,2],"data_offsets":[8,16]}}' '\000\020\000abc'
safetensors '\003' '{"__metadata__":{"recipe":"mxfp4","shape":"2x32","mxgold_version":"0.1.0"},"x":{"dtype":"U8","shape":[2,16],"data_offsets":[0,32]},"x_scale":{"dtype":"F8_E8M0","shape":[2,1],"data_offsets":[32,34]}}' '\000\0042\000abc\0177'
safetensors '\003' '{"__metadata__":{"recipe":"mori-fp8","shape":"1x8","live_rows":"1","scale_count":"2","mxgold_version":"0.1.0"},"x":{"dtype":"F8_E4M3","shape":[1,8],"data_offsets":[0,8]},"x_scale":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}}' '\000\020\000abc?'
safetensors '\003' '{"__metadata__":{"recipe":"mxfp8","shape":"1x32","scale_order":"aiter_shuffle","pad":"7F","mxgold_version":"0.1.0"},"x":{"dtype":"F8_E4M3","shape":[1,32],"data_offsets":[0,32]},"x_scale":{"dtype":"U8","shape":[2048],"data_offsets":[32,2080]}}' '\000\0040\010abc'
safetensors '\003' '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}' '\000\014\000abc'
safetensors '\003' '{"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}' '\000\010\000abc'
safetensors '\003' '{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}}' '\000\010\000abc'
safetensors '\003' '{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}' '\000\001\000abc'
safetensors '\003' '{"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}' '\000\010\000abc'
safetensors '\003' '{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}' '\000\000\000'
safetensors '\001' '{"a\u0000b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}' '\000a'
safetensors '\001' '[[[[[[[[[[[[[[[[[[[[{"a":1}' ''
