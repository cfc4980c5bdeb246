#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/API.md is what the public headers say, and every function they declare has its place in it.
# usage: test_api_page.sh SOURCE_DIR BUILD_DIR
set -eu
root=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sh "$root/scripts/api_md.sh" >"$scratch/API.md"
cmp -s "$scratch/API.md" "$root/docs/API.md" || {
  diff "$root/docs/API.md" "$scratch/API.md" | head -n 20
  echo 'FAIL: docs/API.md is not what the headers say; ./dev docs writes it anew'
  exit 1
}

# Declared names by another way than the page's: every mxg_name( of a declaration.
grep -hE '^(MXG_API|MXG_FN) ' "$root/codec/mxgold.h" "$root/codec/mxgold_format.h" |
  grep -oE 'mxg_[a-z0-9_]+\(' | tr -d '(' | sort -u >"$scratch/declared"
# shellcheck disable=SC2016  # no variable
sed -n '/^```c$/,/^```$/p' "$root/docs/API.md" >"$scratch/code"
missing=0
while read -r name; do
  grep -q "\\b$name(" "$scratch/code" || {
    echo "FAIL: docs/API.md has no $name"
    missing=1
  }
done <"$scratch/declared"
# No body of a function, and no comment that lost its text.
if grep -nE '^ *(return|switch|if) ?\(?|^#### *$|MXG_API|MXG_FN ' "$scratch/code"; then
  echo 'FAIL: docs/API.md has code that is no declaration'
  missing=1
fi
echo "$(wc -l <"$scratch/declared") functions, all in docs/API.md"
exit "$missing"
