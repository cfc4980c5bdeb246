#!/bin/sh
# SPDX-License-Identifier: MIT
# Throws wrong, damaged and malicious inputs at every reader of the tool (tests/hostile) and prints the
# table of what came of it.
# usage: tests/hostile.sh HOSTILE TOOL [--write] [--seed S] [--times N]
#   HOSTILE TOOL  build/tests/hostile build/mxgold
#   --write       put the table into docs/TESTING.md
# The table of docs/TESTING.md is that of --seed 1 --times 20, which is what runs without options.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
hostile=$1
tool=$2
shift 2
write=0
if [ "${1:-}" = --write ]; then
  write=1
  shift
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work"
code=0
"$hostile" "$tool" "$scratch/work" "$@" >"$scratch/table" || code=$?
cat "$scratch/table"
if [ "$code" -ne 0 ]; then
  kept=$(mktemp -d)
  cp "$scratch"/work/finding-* "$kept" 2>/dev/null || true
  echo "hostile: the inputs of findings are kept in $kept"
  exit 1
fi
if [ "$write" = 1 ]; then
  sed -i -e "/^<!-- begin: tests\/hostile.sh -->\$/r $scratch/table" \
    -e '/^<!-- begin: tests\/hostile.sh -->$/,/^<!-- end -->$/{/^<!-- /!d}' "$root/docs/TESTING.md"
fi
