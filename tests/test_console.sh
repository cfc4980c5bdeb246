#!/bin/sh
# SPDX-License-Identifier: MIT
# Every ```console block of README.md is real: its commands run again, in order, in an empty folder
# beside data/, and print what stands there.
# usage: test_console.sh SOURCE_DIR BUILD_DIR            compare
#        test_console.sh SOURCE_DIR BUILD_DIR --print    print README.md with today's output
set -eu
root=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
[ -x "$build/mxgold" ] || {
  echo 'skipped: the tool is not built'
  exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work"
ln -s "$root/data" "$scratch/work/data"
PATH=$build:$PATH
export PATH
export LC_ALL=C

inside=0
while IFS= read -r line; do
  case $inside:$line in
    '0:```console')
      inside=1
      printf '%s\n' "$line"
      ;;
    '1:```')
      inside=0
      printf '%s\n' "$line"
      ;;
    '1:$ '*)
      printf '%s\n' "$line"
      (cd "$scratch/work" && sh -c "${line#??}" 2>&1) || printf '(exit %s)\n' $?
      ;;
    1:*) ;;
    *) printf '%s\n' "$line" ;;
  esac
done <"$root/README.md" >"$scratch/README.md"

if [ "${3:-}" = --print ]; then
  cat "$scratch/README.md"
  exit 0
fi
# shellcheck disable=SC2016  # the dollar sign is the prompt
commands=$(grep -c '^\$ ' "$root/README.md") || true
[ "$commands" -gt 0 ] || {
  echo 'FAIL: README.md has no console block'
  exit 1
}
diff "$root/README.md" "$scratch/README.md" || {
  echo "FAIL: renew with: sh tests/test_console.sh . build --print >new && mv new README.md"
  exit 1
}

# The table of presets: the tool's, in its order.
"$build/mxgold" recipes | awk 'NR > 1 && /^[a-z]/ { print $1, $2, $3, $4 }' >"$scratch/presets"
[ -s "$scratch/presets" ] || {
  echo 'FAIL: mxgold recipes lists nothing'
  exit 1
}
awk -F ' *[|] *' '/^[|] preset/ { on = 1; getline; next } !/^[|]/ { on = 0 }
  on { print $2, $3, $4, $5 }' "$root/README.md" | diff - "$scratch/presets" || {
  echo 'FAIL: the table of presets in README.md (<) is not that of the tool (>)'
  exit 1
}
echo "$commands commands print what README.md shows"
