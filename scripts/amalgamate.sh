#!/bin/sh
# SPDX-License-Identifier: MIT
# The library as two files: mxgold.h, the interface, and mxgold.c, everything else, to be compiled
# as one translation unit: cc -std=c11 -O2 -ffp-contract=off -c mxgold.c
# usage: amalgamate.sh FOLDER   (created if missing; writes FOLDER/mxgold.h and FOLDER/mxgold.c)
#
# Sources go in whole, in order, each header once; a source's own macros end with it. Static names
# are unique in codec/ and ref/, but for the leaves of the instruction sets: see leaf() below.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -eq 1 ] || {
  sed -n 's/^# usage: /usage: /p' "$0" >&2
  exit 2
}
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$root"
[ "$out" != "$root/codec" ] || {
  echo 'amalgamate.sh: codec/ is where the sources are: name another folder' >&2
  exit 2
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
seen=$scratch/seen
: >"$seen"

# expand FILE: its text, with the project's headers in place of their #include lines.
expand() {
  awk -v file="$1" -v seen="$seen" -f scripts/amalgamate.awk
}

# macros FILE...: the macros that FILEs define, one a line.
macros() {
  sed -n 's/^ *# *define \([A-Za-z_][A-Za-z0-9_]*\).*/\1/p' "$@" | sort -u
}

# source FILE: a .c file, and the end of its macros.
source_file() {
  expand "$1"
  macros "$1" | sed 's/^/#undef /'
  echo
}

# leaf FILE: a leaf of an instruction set. It gets its own copy of the templates: FILE's names and
# theirs are known to FILE alone, by #define with its name as the suffix.
leaf() {
  suffix=$(basename "$1" .c)
  cp "$seen" "$scratch/before"
  expand "$1" >/dev/null
  # shellcheck disable=SC2046  # a list of files without blanks
  set -- "$1" $(grep '^codec/simd/' "$seen")
  mv "$scratch/before" "$seen"
  awk -f scripts/amalgamate_names.awk "$@" | sort -u >"$scratch/names"
  printf '/* ======== %s ======== */\n\n' "$suffix"
  # Headers of the compiler come before the names are taken.
  sed -n '/^#if/{p;q;}' "$1"
  sed -n '/^# *include </p' "$@" | sort -u
  sed "s/.*/#define & &_$suffix/" "$scratch/names"
  printf '#endif\n\n'
  expand "$1"
  macros "$@" | sed 's/^/#undef /'
  sed 's/^/#undef /' "$scratch/names"
  echo
  grep -v '^codec/simd/' "$seen" >"$scratch/after"
  mv "$scratch/after" "$seen"
}

version=$(sed -n 's/^#define MXG_VERSION_[A-Z]* \([0-9]*\)$/\1/p' codec/mxgold_format.h |
  paste -s -d .)
# banner WHAT
banner() {
  cat <<TEXT
/* mxgold $version: $1 Written by scripts/amalgamate.sh from
 * the sources of mxgold: change those, not this file.
 *
$(sed -e 's/^/ * /' -e 's/ *$//' LICENSE)
 */
TEXT
}

{
  banner 'the interface and its manual, as one file.'
  expand codec/mxgold.h
} >"$scratch/mxgold.h"

{
  banner 'the library as one file, with mxgold.h beside it.'
  printf '#include "mxgold.h"\n\n'
  for file in codec/*.c ref/*.c; do source_file "$file"; done
  cat <<'TEXT'
/* What a leaf does not use of its templates is no oversight, though they are no headers here. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#endif

TEXT
  for file in codec/*/*.c; do leaf "$file"; done
  printf '#ifdef __GNUC__\n#pragma GCC diagnostic pop\n#endif\n'
} >"$scratch/mxgold.c"
mv "$scratch/mxgold.h" "$scratch/mxgold.c" "$out/"
printf 'mxgold %s: %s/mxgold.h %s lines, mxgold.c %s lines\n' "$version" "$1" \
  "$(wc -l <"$out/mxgold.h")" "$(wc -l <"$out/mxgold.c")"
