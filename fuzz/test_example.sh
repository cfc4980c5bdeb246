#!/bin/sh
# SPDX-License-Identifier: MIT
# The worked example of fuzz/README.md, as it stands there: the faulty codec is found at once, the right
# one is not accused. With --libfuzzer the README's other command as well.
# usage: test_example.sh SOURCE_DIR [--libfuzzer]
# MXGOLD_LINK: what links the library, in place of its sources
set -eu
root=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "FAIL: $1"
  exit 1
}

# blocks LANGUAGE: the fenced blocks of a language.
blocks() {
  awk -v fence="^\`\`\`$1\$" '$0 ~ fence { inside = 1; next } /^```/ { inside = 0 } inside' \
    "$root/fuzz/README.md"
}

# command_of COMPILER: the README's command that begins with it, to be run in the scratch folder, where
# the sources are links.
command_of() {
  blocks sh | sed -e :a -e '/\\$/N; s/\\\n//; ta' | grep "^$1 " | sed "s/^$1 //"
}

blocks c >"$scratch/subject.c"
lines=$(sed -n '/^static/,$p' "$scratch/subject.c" | wc -l)
[ "$lines" -eq 7 ] || fail "the example has $lines lines below its includes"
ln -s "$root/codec" "$root/ref" "$root/fuzz" "$scratch"
cd "$scratch"

# expect_finding FILE: what the faulty codec must be told.
expect_finding() {
  grep -q 'finding: codes: byte' "$1" || fail "the finding is not said: $(tail "$1")"
  grep -q 'recipe mxfp4' "$1" || fail "the recipe is not said: $(tail "$1")"
}

if [ "${2:-}" = --libfuzzer ]; then
  options=$(command_of clang)
  for clang in clang-22 clang-19 clang-16 clang clang-14; do
    # shellcheck disable=SC2086  # a list of options and patterns
    if ! $clang $options 2>err; then continue; fi
    code=0
    ./fuzz_mine -max_total_time=60 >out 2>err || code=$?
    [ "$code" -ne 0 ] || fail "libFuzzer did not find the fault in 60 s"
    expect_finding err
    echo "found by $clang's libFuzzer: $(grep finding: err)"
    exit 0
  done
  echo 'skipped: no clang with libFuzzer'
  exit 77
fi

options=$(command_of cc)
[ -n "$options" ] || fail "no cc command in the README"
if [ -n "${MXGOLD_LINK:-}" ]; then
  options=$(echo "$options" | sed 's| codec/\*\.c codec/\*/\*\.c ref/\*\.c||')
fi
# shellcheck disable=SC2086
${CC:-cc} $options ${MXGOLD_LINK:-} || fail "the example does not compile"
code=0
./fuzz_mine --random 100000 >out 2>err || code=$?
[ "$code" -gt 128 ] || fail "exit code $code: the fault was not found"
expect_finding err
saved=$(ls crash-1-*)
code=0
./fuzz_mine "$saved" >out 2>again || code=$?
[ "$code" -gt 128 ] || fail "the saved input does not repeat it"
echo "found by random inputs: $(sed -n 1p err)"

# shellcheck disable=SC2086
${CC:-cc} -DEXAMPLE_RIGHT $options ${MXGOLD_LINK:-} || fail "the right codec does not compile"
./fuzz_mine --random 3000 >out 2>err || fail "the right codec is accused: $(cat err)"
echo "3000 random inputs do not accuse the right codec"
