#!/bin/sh
# SPDX-License-Identifier: MIT
# A fault planted in a copy of the sources: ./dev fuzz must exit with 1, save the input that shows it,
# and print a line that replays it; the same sources without the fault must exit with 0.
# usage: test_finding.sh SOURCE_DIR
set -eu
root=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/copy"
tar -C "$root" --exclude=./build --exclude=./.git -cf - . | tar -C "$scratch/copy" -xf -
cd "$scratch/copy"
export MXGOLD_BUILD="$scratch/build"

code=0
./dev fuzz array --time 5 >"$scratch/log" 2>&1 || code=$?
[ "$code" != 77 ] || {
  grep '^skipped' "$scratch/log"
  exit 77
}
[ "$code" = 0 ] || {
  cat "$scratch/log"
  echo "FAIL: exit code $code without a fault"
  exit 1
}

sed 's/ & ~MXG_F32_SIGN;/;/' codec/array.c >"$scratch/array.c"
! cmp -s codec/array.c "$scratch/array.c" || {
  echo 'FAIL: the line to plant a fault in is gone from codec/array.c'
  exit 1
}
mv "$scratch/array.c" codec/array.c
code=0
./dev fuzz array --time 60 >"$scratch/log" 2>&1 || code=$?
[ "$code" = 1 ] || {
  cat "$scratch/log"
  echo "FAIL: exit code $code with a fault, expected 1"
  exit 1
}
replay=$(sed -n 's/^array: replay it: //p' "$scratch/log")
saved=${replay##* }
[ -s "$saved" ] || {
  cat "$scratch/log"
  echo "FAIL: no saved input: '$saved'"
  exit 1
}
if $replay >"$scratch/log" 2>&1; then
  echo "FAIL: the saved input does not show the fault"
  exit 1
fi
grep -q 'finding: ' "$scratch/log" || {
  cat "$scratch/log"
  echo 'FAIL: the replay names no finding'
  exit 1
}
echo 'a planted fault: exit code 1, the input saved, the replay shows it'
