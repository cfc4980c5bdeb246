#!/bin/sh
# SPDX-License-Identifier: MIT
# The binary interface against the committed dump, by abidiff: nothing removed, moved or renumbered,
# and nothing added that the dump does not have yet. Types and functions are looked at, so the build is
# a quick one without kernels.
# usage: test_abi.sh SOURCE_DIR [BUILD_DIR]
#        test_abi.sh SOURCE_DIR --update    write tests/abi/libmxgold-x86_64.abi anew
set -eu
root=$(cd "$1" && pwd)
dump=$root/tests/abi/libmxgold-x86_64.abi
skip() {
  echo "skipped: the ABI is not compared, $1"
  exit 77
}
command -v abidiff >/dev/null 2>&1 || skip 'abidiff is missing (Debian: abigail-tools)'
command -v gcc-12 >/dev/null 2>&1 || skip 'gcc-12 is missing'
[ "$(uname -m)" = x86_64 ] || skip "the dump is of x86_64, this is $(uname -m)"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

# library FOLDER OUT: a shared library of the sources, its calls of kernels left open.
library() {
  (cd "$1" && gcc-12 -std=c11 -g -O0 -ffp-contract=off -fPIC -fvisibility=hidden -shared \
    -Wl,-soname,libmxgold.so -Icodec -o "$2" codec/*.c ref/*.c)
}

library "$root" "$scratch/libmxgold.so"
if [ "${2:-}" = --update ]; then
  (cd "$scratch" && abidw --exported-interfaces-only --drop-private-types --no-corpus-path \
    --no-comp-dir-path --no-show-locs --headers-dir "$root/codec" --out-file "$dump" libmxgold.so)
  wc -c "$dump"
  exit 0
fi

if abidiff "$dump" "$scratch/libmxgold.so" >"$scratch/said" 2>&1; then
  echo "the ABI is that of tests/abi: $(grep -c '<elf-symbol' "$dump") functions"
else
  code=$?
  cat "$scratch/said"
  # abidiff: 4 a difference, 8 one that breaks callers
  if [ $((code & 8)) -ne 0 ] || grep -q 'Removed\|Changed' "$scratch/said"; then
    echo 'FAIL: programs that are linked with the library may break.'
    echo 'Undo the change, or give it a new name. A break needs a new soname (MXG_VERSION_MAJOR.MINOR).'
  fi
  echo 'FAIL: when the difference is only an addition: sh tests/test_abi.sh . --update, and CHANGES.md'
  status=1
fi

# ---- changes that must be seen ----
seen() { # NAME TEXT FILE SED
  rm -rf "$scratch/copy"
  mkdir "$scratch/copy"
  cp -R "$root/codec" "$root/ref" "$scratch/copy/"
  sed "$4" "$root/$3" >"$scratch/copy/$3"
  ! cmp -s "$root/$3" "$scratch/copy/$3" || {
    echo "FAIL: $1: nothing was planted"
    status=1
  }
  library "$scratch/copy" "$scratch/planted.so"
  if abidiff "$dump" "$scratch/planted.so" >"$scratch/said" 2>&1 || ! grep -q "$2" "$scratch/said"; then
    echo "FAIL: $1: abidiff does not say '$2': $(head -n 3 "$scratch/said")"
    status=1
  else
    echo "$1: seen"
  fi
}
seen 'a field moved, an enumerator renumbered' "offset changed" codec/mxgold_format.h \
  's/^  mxg_rule rule;$/  uint32_t more; mxg_rule rule;/; s/MXG_RULE_CEIL = 5/MXG_RULE_CEIL = 9/'
exit "$status"
