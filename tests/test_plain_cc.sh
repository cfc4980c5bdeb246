#!/bin/sh
# SPDX-License-Identifier: MIT
# README.md to the letter: its C example, built with no configure step by the command that stands
# there, prints the output that stands there.
# usage: test_plain_cc.sh SOURCE_DIR BUILD_DIR
set -eu
root=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$root/codec" "$root/ref" "$scratch/"
cd "$scratch"

# block LANGUAGE: the text of the first fenced block whose first line has the marker.
block() {
  awk -v fence="\`\`\`$1" -v marker="$2" '
    $0 == fence { inside = 1; text = ""; next }
    $0 == "```" && inside { if (index(text, marker)) { printf "%s", text; exit } inside = 0 }
    inside { text = text $0 "\n" }' "$root/README.md"
}

block c 'int main(void)' >example.c
block sh 'example.c' >build.sh
block text 'codes' >expected.txt
for file in example.c build.sh expected.txt; do
  [ -s "$file" ] || {
    echo "FAIL: README.md has no block for $file"
    exit 1
  }
done

sh -eu build.sh >output.txt
diff expected.txt output.txt
lines=$(wc -l <example.c)
[ "$lines" -le 24 ] || {
  echo "FAIL: the example has $lines lines"
  exit 1
}
echo "README example: built, run, $lines lines"
