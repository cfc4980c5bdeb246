#!/bin/sh
# SPDX-License-Identifier: MIT
# --isa: every instruction set of this CPU gives the same bytes; one that it lacks is refused.
. "$(dirname "$0")/lib.sh"

"$mk" values bf16 7168 5 >x.raw
in="x.raw --dtype bf16 --shape 7x1024"
run 0 info
cpu=$(sed -n 's/^cpu *//p' logs/out)
prints portable

# name it as one of a list of words
offers() {
  case " $cpu " in *" $1 "*) return 0 ;; esac
  return 1
}

lacking=0
for isa in portable avx2 avx512 neon; do
  if ! offers $isa; then
    lacking=$((lacking + 1))
    # shellcheck disable=SC2086  # a list of options
    refuse 2 "--isa: this CPU has no $isa; it offers:" \
      quantize $in --recipe mxfp4 --isa $isa --codes no.c --scales no.s
    refuse 2 "--isa: this CPU has no $isa" dequantize --codes x.raw --scales x.raw --shape 1x64 \
      --recipe mxfp8 --isa $isa --to f32 -o no.npy
    refuse 2 "--isa: this CPU has no $isa" combine --recipe mori-fp8 --shape 7x1024 --isa $isa \
      -o no.npy x.raw
    continue
  fi
  for recipe in mxfp4 mxfp8 sglang-fp8-128 mori-fp8-direct; do
    # shellcheck disable=SC2086  # a list of options
    run 0 quantize $in --recipe $recipe --isa $isa --codes $isa.c --scales $isa.s
    run 0 dequantize --codes $isa.c --scales $isa.s --shape 7x1024 --recipe $recipe --isa $isa \
      --to bf16 -o $isa.y
    if [ $isa = portable ]; then
      mv $isa.c $recipe.c
      mv $isa.s $recipe.s
      mv $isa.y $recipe.y
    else
      same $isa.c $recipe.c
      same $isa.s $recipe.s
      same $isa.y $recipe.y
    fi
  done
done
last="the loop over instruction sets"
[ $lacking -gt 0 ] || fail "a CPU with AVX-512 and NEON: the refusal was not tested"

finish
