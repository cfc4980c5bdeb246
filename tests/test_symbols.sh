#!/bin/sh
# SPDX-License-Identifier: MIT
# What the library defines, exports and needs: mxg_* only, the shared library exactly the functions
# that mxgold.h declares, and from outside memory and string functions of libc and OpenMP only (no
# allocation, no libm, no environment).
# usage: test_symbols.sh SOURCE_DIR BUILD_DIR   (MXGOLD_LIBRARY: the library to look at)
set -eu
header=$1/codec/mxgold.h
library=${MXGOLD_LIBRARY:?names the library}
cc=${CC:-cc}
command -v nm >/dev/null 2>&1 || {
  echo "skipped: no nm"
  exit 77
}

# What a sanitizer adds is not the library's.
sanitizer='^__*\(odr_\|start_\|stop_\)\{0,1\}\(asan\|ubsan\|lsan\|sanitizer\)_'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

fail() {
  echo "FAIL: $1"
  status=1
}

names() {
  sed -e '/:$/d' -e '/^$/d' "$1" | awk '{ print $NF }' | sed 's/@.*//' | sort -u
}

case $library in
  *.a)
    # Hidden functions that files of the library share are global in an archive: names matter.
    nm -g --defined-only "$library" >"$scratch/nm"
    names "$scratch/nm" | grep -v -e '^mxg_' -e "$sanitizer" >"$scratch/foreign" || true
    [ ! -s "$scratch/foreign" ] || fail "not named mxg_*: $(tr '\n' ' ' <"$scratch/foreign")"
    "$cc" -shared -o "$scratch/libmxgold.so" -Wl,--whole-archive "$library" \
      -Wl,--no-whole-archive
    nm -g --undefined-only "$library" >"$scratch/nm"
    names "$scratch/nm" >"$scratch/undefined"
    ;;
  *)
    cp "$library" "$scratch/libmxgold.so"
    nm -D --undefined-only "$library" >"$scratch/nm"
    names "$scratch/nm" >"$scratch/undefined"
    ;;
esac

# libc's memory and string functions, CPU features, OpenMP, and what compilers and linkers add.
allowed='mxg_.*|bcmp|mem(cpy|set|cmp|move|chr)|str(len|cmp|ncmp|chr|spn|cspn)|getauxval'
allowed="$allowed|GOMP_.*|omp_.*|__kmpc_.*|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_"
allowed="$allowed|__gmon_start__|__cxa_finalize|_ITM_.*"
grep -vE "^($allowed)\$" \
  "$scratch/undefined" | grep -v "$sanitizer" >"$scratch/foreign" || true
[ ! -s "$scratch/foreign" ] || fail "needs from outside: $(tr '\n' ' ' <"$scratch/foreign")"

nm -D --defined-only "$scratch/libmxgold.so" >"$scratch/nm"
names "$scratch/nm" | grep -v "$sanitizer" >"$scratch/exported" || true
tr '\n' ' ' <"$header" | grep -o 'MXG_API [^(;]*(' | grep -o 'mxg_[a-z0-9_]*($' | tr -d '(' |
  sort -u >"$scratch/declared"
[ -s "$scratch/declared" ] || fail "found no declaration in mxgold.h"
comm -23 "$scratch/exported" "$scratch/declared" >"$scratch/extra"
comm -13 "$scratch/exported" "$scratch/declared" >"$scratch/absent"
[ ! -s "$scratch/extra" ] || fail "exported, not declared: $(tr '\n' ' ' <"$scratch/extra")"
[ ! -s "$scratch/absent" ] || fail "declared, not exported: $(tr '\n' ' ' <"$scratch/absent")"

echo "$(wc -l <"$scratch/exported") exported, $(wc -l <"$scratch/undefined") needed names looked at"
exit "$status"
