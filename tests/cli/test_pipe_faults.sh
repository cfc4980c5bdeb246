#!/bin/sh
# SPDX-License-Identifier: MIT
# gen | program | verify with faults planted in the program: the diagnosis names the fault first.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pipe.sh"

first_model() { # MODEL: of the JSON on stdout
  found=$(sed -n 's/.*"model": "\(.*\)".*/\1/p' logs/out | head -n 1)
  [ "$found" = "$1" ] || fail "the diagnosis is '$found', expected '$1'"
}
mutant() { # MODEL SED
  sed "$2" "$examples/pipe_quantize.c" >mutant.c
  last="sed $2"
  cmp -s mutant.c "$examples/pipe_quantize.c" && fail "changes nothing"
  "$cc" mutant.c -o mutant 2>logs/err || fail "does not compile"
  answer "--recipe mxfp4 --dtype bf16" ./mutant
  run 1 verify --recipe mxfp4 answers --json
  first_model "$1"
}
mutant ties-away 's/ && code % 2/ \&\& 1/'
mutant ties-to-zero 's/ && code % 2/ \&\& 0/'
mutant nibble-swap 's/4 \* (i % 2)/4 * !(i % 2)/'
mutant scale-off-by-one 's/exponent < 2 ? 0 : exponent - 2/exponent < 1 ? 0 : exponent - 1/'
mutant rule=even 's/(int)(largest >> 23)/(int)((largest + 0x200000) >> 23)/'
mutant block=64 's/BLOCK = 32/BLOCK = 64/'
recipe_fault() { # MODEL GEN_RECIPE PROGRAM_RECIPE
  answer "--recipe $2 --dtype bf16" "$program" "$3"
  run 1 verify --recipe "$2" answers --json
  first_model "$1"
}
recipe_fault apply=div mori-fp8 mori-fp8,apply=div
recipe_fault preset=mxfp8-te mxfp8 mxfp8-te
recipe_fault amax_floor=0 aiter-mxfp4 aiter-mxfp4,amax_floor=0
recipe_fault overflow=nonfinite mxfp8 mxfp8,overflow=nonfinite
run 1 verify --recipe mxfp8 answers
prints "differing codes are explained by: overflow=nonfinite"

finish
