#!/bin/sh
# SPDX-License-Identifier: MIT
# diagnosis: a fault that is planted in a file is named first.
. "$(dirname "$0")/lib.sh"

"$mk" values f32 32768 3 >x.raw
x="x.raw --dtype f32 --shape 64x512"

# The model that comes first.
first_is() {
  found=$(sed -n 's/.*"model": "\(.*\)",*$/\1/p' logs/out | head -n 1)
  [ "$found" = "$1" ] || fail "the diagnosis is '$found', expected '$1'"
}

# ---- another recipe ----
# RIGHT DID: DID is what the program did in place of RIGHT; the third is the name expected
recipe_case() {
  run 0 quantize $x --recipe "$2" --codes c --scales s
  run 1 compare --codes c --scales s --input $x --recipe "$1" --json
  first_is "$3"
  explains=$(sed -n 's/.*"explains": \([0-9]*\),*$/\1/p' logs/out | head -n 1)
  of=$(sed -n 's/.*"of": \([0-9]*\),*$/\1/p' logs/out | head -n 1)
  [ "$explains" = "$of" ] || fail "$explains of $of are explained"
}
recipe_case mxfp4 mxfp4,rule=even rule=even
recipe_case mxfp4 mxfp4,block=64 block=64
recipe_case mxfp8 mxfp8,rule=half rule=half
recipe_case aiter-fp8-128 aiter-fp8-128,scale_math=div scale_math=div
recipe_case mxfp8 aiter-fp8-128 preset=aiter-fp8-128
recipe_case mxfp4 mxfp4,block=64,rule=even block=64+rule=even

# ---- in words ----
run 0 quantize $x --recipe mxfp4,rule=even --codes c --scales s
run 1 compare --codes c --scales s --input $x --recipe mxfp4
prints "of 12,"
prints "differing codes and scales are explained by: rule=even"
run 0 compare --codes c --scales s --input $x --recipe mxfp4,rule=even --json
prints '"diagnosis": []'

# ---- what nothing explains is said to be unexplained ----
"$mk" patch 100 11 22 33 44 55 66 77 88 99 AA <c >noise
run 1 compare --codes noise --scales s --input $x --recipe mxfp4,rule=even --json
prints '"diagnosis": []'
run 1 compare --codes noise --scales s --input $x --recipe mxfp4,rule=even
prints "diagnosis: unexplained"
finish
