#!/bin/sh
# SPDX-License-Identifier: MIT
# The library as two files: written by scripts/amalgamate.sh, compiled without a warning as one
# translation unit, the committed digests by every kernel, the symbols of the library and no other,
# and a C++11 program over the header.
# usage: test_amalgamation.sh SOURCE_DIR BUILD_DIR [COMPILER...]   (none: $CC)
#        test_amalgamation.sh SOURCE_DIR BUILD_DIR names   only that no two names clash (a second)
set -eu
root=$(cd "$1" && pwd)
folder=$2/amalgamation
shift 2
[ "$*" != names ] || folder=$folder-names
[ $# -gt 0 ] || set -- "${CC:-cc}"
sh "$root/scripts/amalgamate.sh" "$folder"
folder=$(cd "$folder" && pwd)
cd "$folder"

# Nothing of the project is needed beside the two files.
if grep -n '^ *# *include *"' mxgold.c mxgold.h | grep -v 'mxgold.c:[0-9]*:#include "mxgold.h"'; then
  echo 'FAIL: includes a header that is not written'
  exit 1
fi

xxhash=$(printf '#include <xxhash.h>\n' | cc -M -x c - 2>/dev/null | tr ' ' '\n' |
  grep '/xxhash\.h$') || xxhash=
warnings='-Wall -Wextra -Wconversion -Wshadow -Wvla -Wundef -Wstrict-prototypes -pedantic -Werror'
# A loop that clang 14 could not unroll is no fault of the text.
warnings="$warnings -Wno-pass-failed"

if [ "$*" = names ]; then
  # shellcheck disable=SC2086  # a list of options
  "${CC:-cc}" -std=c11 $warnings -fsyntax-only mxgold.c || {
    echo 'FAIL: a static name of codec/ or ref/ exists twice: scripts/amalgamate.sh says which may'
    exit 1
  }
  exit 0
fi

# from_cxx OBJECT: a C++11 program that includes mxgold.h.
from_cxx() {
  cxx=${CXX:-c++}
  if ! command -v "$cxx" >/dev/null 2>&1; then
    echo "skipped: amalgamation from C++, no $cxx"
    return 0
  fi
  "$cxx" -std=c++11 -Wall -Wextra -pedantic -Werror -I. "$root/tests/consumers/main.cc" "$1" \
    -o consumer
  ./consumer
}

for cc; do
  if ! command -v "$cc" >/dev/null 2>&1; then
    echo "skipped: amalgamation, no $cc"
    continue
  fi
  name=$(basename "$cc")
  runner=
  case $name in aarch64-*) runner='qemu-aarch64 -L /usr/aarch64-linux-gnu' ;; esac
  if [ -n "$runner" ] && ! command -v "${runner%% *}" >/dev/null 2>&1; then
    echo "skipped: amalgamation by $name, no ${runner%% *}"
    continue
  fi
  # shellcheck disable=SC2086  # a list of options
  "$cc" -std=c11 -O2 -ffp-contract=off -fvisibility=hidden -fPIC $warnings -c mxgold.c \
    -o "$name.o"
  "$cc" -shared "$name.o" -o "libmxgold-$name.so"
  [ -n "$runner" ] || CC=$cc MXGOLD_LIBRARY=$folder/libmxgold-$name.so sh "$root/tests/test_symbols.sh" "$root" .
  result='no xxhash.h, so no digests'
  if [ -n "$xxhash" ]; then
    mkdir -p include
    cp "$xxhash" include/
    "$cc" -std=c11 -O2 -ffp-contract=off -I. -isystem include "$root"/tests/digest/*.c "$name.o" \
      -o "digest-$name"
    # shellcheck disable=SC2086  # a command and its options
    $runner "./digest-$name" "$root/tests/digests.txt" >"digest-$name.txt" || {
      cat "digest-$name.txt"
      exit 1
    }
    result=$(tail -n 1 "digest-$name.txt")
  fi
  echo "amalgamation by $name: $result"
  [ -n "$runner" ] || from_cxx "$name.o"
done
