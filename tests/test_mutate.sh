#!/bin/sh
# SPDX-License-Identifier: MIT
# The mutation test itself: it finds mutants of every kind, kills one that is planted, lets one pass
# that nothing can notice, and its list of explained ones is not stale.
# usage: test_mutate.sh SOURCE_DIR BUILD_DIR
set -eu
command -v python3 >/dev/null || {
  echo 'skipped: no python3 (Debian: python3-minimal)'
  exit 77
}
root=$(cd "$1" && pwd)
mkdir -p "$2/test_mutate"
work=$(cd "$2/test_mutate" && pwd)
export PYTHONDONTWRITEBYTECODE=1

fail() {
  echo "test_mutate: $1" >&2
  [ ! -f "$work/out" ] || cat "$work/out" >&2
  exit 1
}

# mutate WANTED_STATUS OPTION...: runs it, output in $work/out
mutate() {
  wanted=$1 code=0
  shift
  python3 "$root/tests/mutate/mutate.py" "$work/tree" --jobs 2 "$@" >"$work/out" 2>&1 || code=$?
  [ "$code" = "$wanted" ] || fail "exit status $code, not $wanted, of mutate.py $*"
}

# ends WORDS: the last line is this.
ends() {
  [ "$(tail -n 1 "$work/out")" = "$1" ] || fail "the last line is not: $1"
}

mutate 0 --list --sample 0
grep '^skipped: ' "$work/out" || true
count=$(sed -n 's/^\([0-9]*\) of [0-9]* mutants$/\1/p' "$work/out")
[ "$count" -gt 5000 ] || fail "only $count mutants"
for kind in arithmetic bits shift compare logic negate sign constant table enumerator assign \
  statement; do
  grep -q "^    $kind: " "$work/out" || fail "no mutant of the kind $kind"
done

# The sum of a size that no longer refuses to wrap, and what is only the distance of a prefetch.
cp "$work/out" "$work/all"
mutate 0 --sample 0 --only 'layout.c:\d+: if \(o->pad_byte > 0xFF\).*\n    compare'
ends '1 mutants, 1 killed, 0 explained, 0 survived'
mutate 1 --sample 0 --explained '' --only 'combine.h:\d+: #define MXG_PREFETCH \d+\n    constant'
ends '2 mutants, 0 killed, 0 explained, 2 survived'
mutate 0 --sample 0 --only 'combine.h:\d+: #define MXG_PREFETCH \d+\n    constant'
ends '2 mutants, 0 killed, 2 explained, 0 survived'

# An entry that nothing fits, and one without a reason.
{
  cat "$root/tests/mutate/explained.txt"
  printf '\nfile codec/layout.c\nline no_such_line();\nwhy it was removed\n'
} >"$work/stale.txt"
mutate 1 --list --explained "$work/stale.txt"
grep -q 'stale.txt:[0-9]*: no mutant is like this any more: codec/layout.c: no_such_line();' \
  "$work/out" || fail 'a stale entry is not found'
printf 'file codec/layout.c\nline x\n' >"$work/stale.txt"
mutate 1 --list --explained "$work/stale.txt"
grep -q 'this entry has no why' "$work/out" || fail 'an entry without a reason is taken'
