# SPDX-License-Identifier: MIT
# plant.sh: faults planted by the program `plant`, and what the diagnosis makes of them. Source it
# behind lib.sh, with MXGOLD_PLANT set.
plant=${MXGOLD_PLANT:?names the helper plant}

# The model that comes first, and how much of what it explains.
first_is() {
  found=$(sed -n 's/.*"model": "\(.*\)",*$/\1/p' logs/out | head -n 1)
  [ "$found" = "$1" ] || fail "the diagnosis is '$found', expected '$1'"
  explains=$(sed -n 's/.*"explains": \([0-9]*\),*$/\1/p' logs/out | head -n 1)
  of=$(sed -n 's/.*"of": \([0-9]*\),*$/\1/p' logs/out | head -n 1)
  [ "$explains" = "$of" ] || fail "$explains of $of are explained"
  grep -q 'report this' logs/err && fail "a model without a fault is wrong"
}

# The name of a planted fault: without the variant behind ':'.
name_of() {
  echo "$1" | sed 's/:[a-z0-9]*//g'
}

# input DTYPE ROWS COLS: values to quantise, and the options that read them
input() {
  dtype=$1 rows=$2 cols=$3
  [ -f "$dtype.$rows.$cols" ] || "$plant" input "$dtype" "$rows" "$cols" 1 >"$dtype.$rows.$cols"
  x="$dtype.$rows.$cols --dtype $dtype --shape ${rows}x$cols"
}

planted() {
  last="plant $*"
  "$plant" "$@" >logs/out 2>logs/err || fail "plant failed"
}

# quantized RECIPE FAULTS [NAME]: of the last input
quantized() {
  planted quantize "$1" "$2" "$dtype" "$rows" "$cols" "$dtype.$rows.$cols" c s
  scales="--scales s"
  [ -s s ] || scales=
  # shellcheck disable=SC2086  # lists of options
  run 1 compare --codes c $scales --input $x --recipe "$1" --json --limit 0
  first_is "${3:-$(name_of "$2")}"
}

# decoded RECIPE FAULTS TO [NAME]: what the recipe makes of the last input
decoded() {
  # shellcheck disable=SC2086
  run 0 quantize $x --recipe "$1" --codes dc --scales ds
  planted dequantize "$1" "$2" "$3" "$rows" "$cols" dc ds y
  run 1 compare y --codes dc --scales ds --dtype "$3" --shape "${rows}x$cols" --recipe "$1" \
    --json --limit 0
  first_is "${4:-$(name_of "$2")}"
}

# summed RECIPE FAULTS TO [NAME]: eight sources, one of them missing, with weights
summed() {
  if [ ! -f "slots.$1.7" ]; then
    for k in 0 1 2 3 4 5 6 7; do
      "$plant" input f32 16 256 "$((k + 5))" >addend
      run 0 quantize addend --dtype f32 --shape 16x256 --recipe "$1" --slots "slots.$1.$k"
    done
    "$mk" values f32 128 9 >w.raw
  fi
  all="slots.$1.0 slots.$1.1 - slots.$1.3 slots.$1.4 slots.$1.5 slots.$1.6 slots.$1.7"
  # shellcheck disable=SC2086
  planted combine "$1" "$2" "$3" 16 256 w.raw sum $all
  # shellcheck disable=SC2086
  run 1 compare sum --sources $all --weights w.raw --dtype "$3" --shape 16x256 --recipe "$1" \
    --json --limit 0
  first_is "${4:-$(name_of "$2")}"
}
