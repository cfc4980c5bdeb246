#!/bin/sh
# SPDX-License-Identifier: MIT
# Plants changes that move a byte of a preset, and a line in the list of digests, and requires that the
# digest program fails with the sentence that recipes are for ever.
# usage: test_forever.sh SOURCE_DIR BUILD_DIR   (MXGOLD_LIBRARY: the library, CC)
set -eu
root=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
library=${MXGOLD_LIBRARY:?names the library}
cc=${CC:-cc}
[ -x "$build/mxgold_digest" ] || {
  echo 'skipped: no digest program, xxhash.h is missing'
  exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sentence='a recipe is for ever: the bytes of a preset or of an enumerator never change'
status=0

fail() {
  echo "FAIL: $1"
  status=1
}

# refused NAME LINE PROGRAM LIST: the program fails, says so, and names the line that moved.
refused() {
  code=0
  "$3" "$4" >"$scratch/said" 2>&1 || code=$?
  [ "$code" -eq 1 ] || fail "$1: exit code $code, expected 1"
  grep -q "$sentence" "$scratch/said" || fail "$1: the sentence is missing: $(tail -n 2 "$scratch/said")"
  grep -q "^got  .* $2" "$scratch/said" || fail "$1: no line of '$2' in: $(head -n 4 "$scratch/said")"
  printf '%-44s refused, %s\n' "$1" "$(grep -c '^got ' "$scratch/said") lines shown"
}

# ---- the list: one digit ----
line=$(grep -n ' mori-fp4 ' "$root/tests/digests.txt" | head -n 1 | cut -d: -f1)
sed "${line}y/0123456789abcdef/123456789abcdef0/;${line}s/.* mori/0000000000000000 mori/" \
  "$root/tests/digests.txt" >"$scratch/list"
refused 'a digest of the list' mori-fp4 "$build/mxgold_digest" "$scratch/list"

# ---- the code: a preset whose bytes move; linked before the library, it takes the place of its own ----
planted() { # NAME LINE SED: the text of presets.c changed
  sed "$3" "$root/codec/presets.c" >"$scratch/presets.c"
  ! cmp -s "$scratch/presets.c" "$root/codec/presets.c" || fail "$1: nothing was planted"
  # The build's own flags may ask for a sanitizer: its runtime comes with the library then.
  # shellcheck disable=SC2086  # lists of options
  "$cc" -std=c11 -O1 -ffp-contract=off ${MXGOLD_C_FLAGS:-} -I"$root/codec" -I"$build/tests/xxhash" \
    -o "$scratch/digest" "$scratch/presets.c" "$root"/tests/digest/*.c "$library" \
    -Wl,-rpath,"$(dirname "$library")" ${MXGOLD_LINK_FLAGS:-} >"$scratch/log" 2>&1 || {
    fail "$1: does not build: $(tail -n 3 "$scratch/log")"
    return
  }
  refused "$1" "$2" "$scratch/digest" "$root/tests/digests.txt"
}
planted 'one ulp of the floor of amax' aiter-fp8-128 's/0x1\.b7cdfep-34f/0x1.b7ce00p-34f/'
planted 'mxfp4 with the even rule' mxfp4 '/^    {"mxfp4", /s/FLOOR/EVEN/'
exit "$status"
