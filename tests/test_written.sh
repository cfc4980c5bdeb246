#!/bin/sh
# SPDX-License-Identifier: MIT
# What ./dev docs writes is up to date: docs/RECIPES.md and section 9 of docs/NUMERICS.md.
# usage: test_written.sh SOURCE_DIR BUILD_DIR
set -eu
root=$1 build=$2
[ -x "$build/mxgold" ] || {
  echo 'skipped: the tool is not built'
  exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sh "$root/scripts/recipes_md.sh" "$build/mxgold" >"$scratch/RECIPES.md"
diff "$root/docs/RECIPES.md" "$scratch/RECIPES.md" || {
  echo 'FAIL: docs/RECIPES.md is not what the tool says; ./dev docs writes it anew'
  exit 1
}
"$build/mxgold_conventions" >"$scratch/counted"
sed -n '/^<!-- begin: mxgold_conventions -->$/,/^<!-- end -->$/p' "$root/docs/NUMERICS.md" |
  sed -e '1d' -e '$d' >"$scratch/page"
diff "$scratch/page" "$scratch/counted" || {
  echo 'FAIL: the counts of docs/NUMERICS.md are not those of mxgold_conventions; ./dev docs writes them anew'
  exit 1
}
