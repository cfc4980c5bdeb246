#!/bin/sh
# SPDX-License-Identifier: MIT
# Every ```sh block of the documents is run: in a folder of its own for each document, block after
# block, with the files of the source tree beside it and the tool in PATH. A block ends at its first
# command that fails. A line before the fence changes that:
#   <!-- not run: REASON -->       listed as skipped
#   <!-- needs: PROGRAM... -->     skipped where one of the programs is missing
#   <!-- exit: N -->               the block ends with this exit code
#   <!-- file: NAME -->            a block of any language: written to that file for the blocks below
# usage: test_docs.sh SOURCE_DIR BUILD_DIR [DOCUMENT...]
set -eu
root=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
shift 2
[ -x "$build/mxgold" ] || {
  echo 'skipped: the tool is not built'
  exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
# Debian's python3 has Debian's numpy; another one may come first in PATH.
/usr/bin/python3 -c 'import numpy' 2>/dev/null && ln -s /usr/bin/python3 "$scratch/bin/python3"
PATH=$build:$scratch/bin:$PATH
MXGOLD_LIBRARY=$(find "$build" -maxdepth 1 -name libmxgold.so)
# blocks that say ./dev or cmake build what is there already
MXGOLD_BUILD=$build
MXGOLD_INSTALL=0
LC_ALL=C
export PATH MXGOLD_LIBRARY MXGOLD_BUILD MXGOLD_INSTALL LC_ALL
[ -n "$MXGOLD_LIBRARY" ] || unset MXGOLD_LIBRARY

if [ $# -eq 0 ]; then
  cd "$root"
  set -- README.md docs/*.md fuzz/README.md tests/vectors/README.md examples/*/README.md
fi

# blocks DOCUMENT: into $scratch/blocks/NUMBER.sh, and what stands before the fence into NUMBER.note
blocks() {
  rm -rf "$scratch/blocks"
  mkdir "$scratch/blocks"
  awk -v folder="$scratch/blocks" '
    !inside && /^```/ && before ~ /^<!-- file: / {
      inside = 1
      name = before
      sub(/^<!-- file: /, "", name)
      sub(/ -->$/, "", name)
      file = sprintf("%s/%04d", folder, NR)
      printf "\n" >(file ".note")
      printf "cat >%s <<\"END OF FILE\"\n", name >(file ".sh")
      is_file = 1
      next
    }
    !inside && /^```sh$/ {
      inside = 1
      file = sprintf("%s/%04d", folder, NR)
      printf "%s\n", before >(file ".note")
      printf "" >(file ".sh")
      next
    }
    inside && /^```$/ && is_file { print "END OF FILE" >(file ".sh"); is_file = 0 }
    inside && /^```$/ { inside = 0; close(file ".sh"); close(file ".note"); before = ""; next }
    inside { print >(file ".sh"); next }
    /^<!-- (not run|needs|exit|file): .* -->$/ { before = $0; next }
    { before = "" }' "$1"
}

lacks() { # PROGRAM...: prints the first that is missing
  for program; do
    command -v "$program" >/dev/null 2>&1 || {
      echo "$program"
      return 0
    }
  done
  return 1
}

ran=0 skipped=0 failed=0
for document; do
  [ -f "$root/$document" ] || continue
  blocks "$root/$document"
  rm -rf "$scratch/work"
  mkdir "$scratch/work"
  for entry in "$root"/*; do
    ln -s "$entry" "$scratch/work/"
  done
  rm -f "$scratch/work/build"
  ln -s "$build" "$scratch/work/build"
  for block in "$scratch"/blocks/*.sh; do
    [ -f "$block" ] || continue
    line=$(basename "$block" .sh | sed 's/^0*//')
    note=$(sed -e 's/^<!-- //' -e 's/ -->$//' "${block%.sh}.note")
    expected=0
    case $note in
      'not run: '*)
        echo "skipped: $document:$line: ${note#not run: }"
        skipped=$((skipped + 1))
        continue
        ;;
      'needs: '*)
        # shellcheck disable=SC2086  # a list of programs
        if missing=$(lacks ${note#needs: }); then
          echo "skipped: $document:$line: no $missing"
          skipped=$((skipped + 1))
          continue
        fi
        ;;
      'exit: '*) expected=${note#exit: } ;;
    esac
    code=0
    (cd "$scratch/work" && sh -eu "$block") >"$scratch/out" 2>&1 </dev/null || code=$?
    ran=$((ran + 1))
    [ "$code" = "$expected" ] && continue
    failed=$((failed + 1))
    echo "FAIL: $document:$line: exit code $code, expected $expected"
    sed 's/^/  > /' "$block"
    tail -n 20 "$scratch/out" | sed 's/^/  /'
  done
done
echo "$ran blocks run, $failed failed, $skipped skipped"
[ "$ran" -gt 0 ] && [ "$failed" -eq 0 ]
