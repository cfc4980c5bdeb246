#!/bin/sh
# SPDX-License-Identifier: MIT
# What the tool says of devices when it was built without a GPU library, and its self-test.
# usage: test_tool.sh SOURCE_DIR BUILD_DIR
set -eu
tool=$2/mxgold
[ -x "$tool" ] || {
  echo 'skipped: the tool was not built'
  exit 77
}
if ! "$tool" info | grep -q '^gpu  *not built in'; then
  echo 'skipped: the tool has a GPU library: test_no_device.sh looks at that'
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect CODE TEXT COMMAND...: the exit code, and a text in what it prints.
expect() {
  code=$1 text=$2
  shift 2
  status=0
  "$@" >"$scratch/out" 2>&1 || status=$?
  [ "$status" -eq "$code" ] && grep -q -e "$text" "$scratch/out" && return 0
  cat "$scratch/out"
  echo "FAIL: exit code $status, expected $code and '$text': $*"
  exit 1
}

expect 2 'without a GPU library: configure with -DMXGOLD_GPU' "$tool" selftest --gpu
expect 2 'leave --device out' "$tool" quantize x.npy --recipe mxfp4 -o "$scratch/y" --device gpu
expect 2 'leave --device out' "$tool" combine x --recipe mxfp8 --shape 1x1 -o "$scratch/y.npy" \
  --device gpu:1
expect 2 'leave --device out' "$tool" dequantize x -o "$scratch/y.npy" --device gpu
expect 2 'leave --isa, --threads and --impl' "$tool" quantize x.npy --recipe mxfp4 \
  -o "$scratch/y" --device gpu --impl ref
expect 2 'give --gpu' "$tool" selftest --index 1
expect 0 ', 0 differ' "$tool" selftest
"$tool" info --json | grep -q '"gpu": *null'
echo 'messages without a GPU library, and the self-test'
