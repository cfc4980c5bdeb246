#!/bin/sh
# SPDX-License-Identifier: MIT
# The digest program by many compilers, optimisation levels and machines, each compared with the
# committed digests, by every instruction set that the machine has; one line each. What cannot run
# here is a line that says why. Configurations named -kernels run tests/test_kernels.c instead, for
# instruction sets that most machines have under qemu only, or only as the second best.
# usage: matrix.sh WORK_DIR [CONFIGURATION...]    (none: all; MXGOLD_JOBS: how many at a time)
#        matrix.sh --list
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

configurations='
gcc-11-O2 gcc-11-O3
gcc-12-O0 gcc-12-O2 gcc-12-O3
clang-14-O0 clang-14-O2 clang-14-O3
clang-16-O2 clang-16-O3
clang-19-O2 clang-19-O3
clang-22-O0 clang-22-O2 clang-22-O3
musl-O2
gcc-12-plain-mfma clang-22-plain-mfma
gcc-12-sanitize clang-22-sanitize
i386-O0 i386-O2 i386-O3
aarch64-O0 aarch64-O2 aarch64-O3 aarch64-plain
s390x-O0 s390x-O2 s390x-O3 s390x-plain
ppc64-O0 ppc64-O2 ppc64-O3 ppc64-plain
haswell-O0 haswell-O2 haswell-plain conroe-O2
aarch64-kernels haswell-kernels'

# skip CONFIGURATION REASON: not run, and said so.
skip() {
  printf '%-22s skipped: %s\n' "$1" "$2"
  exit 0
}

# settings CONFIGURATION: compiler, flags, runner and seconds of one configuration.
settings() {
  case $1 in
    gcc-1[12]-* | clang-1[469]-* | clang-22-*)
      compiler=$(echo "$1" | cut -d- -f1,2) machine=
      ;;
    musl-*) compiler=musl-gcc machine=-static ;; # a wrapper of gcc
    i386-*) compiler=gcc-12 machine='-m32 -msse2 -mfpmath=sse' ;;
    aarch64-*) compiler=aarch64-linux-gnu-gcc machine= ;;
    s390x-*) compiler=s390x-linux-gnu-gcc machine=-fexcess-precision=fast ;;
    # Big-endian, ELFv1; every PowerPC has an fma.
    ppc64-*) compiler=powerpc64-linux-gnu-gcc machine=-static ;;
    haswell-* | conroe-*) compiler=gcc-12 machine=-static ;;
    *)
      echo "matrix.sh: no configuration $1; see matrix.sh --list" >&2
      exit 2
      ;;
  esac
  runner=
  case $1 in
    aarch64-* | s390x-*) runner="qemu-${1%%-*} -L /usr/${1%%-*}-linux-gnu" ;;
    ppc64-*) runner=qemu-ppc64 ;;
    haswell-*) runner='qemu-x86_64 -cpu Haswell' ;;
    conroe-*) runner='qemu-x86_64 -cpu Conroe' ;;
  esac

  # Instruction sets whose kernels must have run, where the machine is known.
  isas=
  case $1 in
    *-kernels) ;;
    aarch64-*) isas="portable$(if_listed neon)" ;;
    haswell-*) isas="portable$(if_listed avx2)" ;;
    conroe-* | i386-* | s390x-* | ppc64-*) isas=portable ;;
  esac

  # Plain: what a user gets who sets no option that the sources could rely on. gcc then contracts
  # a * b + c wherever the machine has an fma.
  strict='-std=c11 -ffp-contract=off'
  case $1 in
    *-O0) flags="$strict -O0" ;;
    *-O2 | *-kernels) flags="$strict -O2" ;;
    *-O3) flags="$strict -O3" ;;
    *-plain-mfma) flags='-O2 -mfma' ;;
    *-plain) flags=-O2 ;;
    clang-22-sanitize)
      flags="$strict -O1 -g -fsanitize=address,undefined,implicit-conversion"
      flags="$flags -fno-sanitize-recover=all"
      ;;
    *-sanitize) flags="$strict -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all" ;;
  esac
  flags="$flags $machine"

  # What runs: the digest program, or kernel tests with a small stand-in for Check. The calls of
  # arrays take no mask, so a CPU with AVX-512 never gets to their AVX2 kernels.
  sources="$root/tests/digest/*.c" arguments="$root/tests/digests.txt"
  case $1 in
    *-kernels)
      flags="$flags -D_POSIX_C_SOURCE=200809L -I$root/tests/plain -I$root/tests/support"
      flags="$flags -I$root/tests"
      sources=$root/tests/test_kernels.c arguments=
      while read -r source; do
        sources="$sources $root/tests/support/$source.c"
      done <"$root/tests/plain/kernel_sources.txt"
      ;;
  esac
  case $1 in haswell-kernels) arguments='test_arrays test_environments' ;; esac
}

# if_listed ISA: ", ISA" if codec/kernels.def has kernels of it: leaves may be deleted.
if_listed() {
  set -- "$1" "$(echo "$1" | tr '[:lower:]' '[:upper:]')"
  ! grep -qw "MXG_ISA_$2" "$root/codec/kernels.def" || printf ', %s' "$1"
}

available() {
  command -v "$compiler" >/dev/null 2>&1 || skip "$1" "no $compiler"
  if [ -n "$runner" ]; then
    command -v "${runner%% *}" >/dev/null 2>&1 || skip "$1" "no ${runner%% *}"
  fi
  case $1 in
    *-mfma)
      grep -qw fma /proc/cpuinfo 2>/dev/null || skip "$1" "this CPU has no fma"
      ;;
    haswell-* | conroe-*) [ "$(uname -m)" = x86_64 ] || skip "$1" "not an x86-64 compiler" ;;
  esac
  # shellcheck disable=SC2086  # lists of options
  echo 'int main(void) { return 0; }' | "$compiler" $flags -x c - -o "$folder/probe" \
    >/dev/null 2>&1 || skip "$1" "$compiler cannot link for it"
}

# one WORK_DIR CONFIGURATION: builds, runs, compares, prints a line.
one() {
  folder=$1/$2
  mkdir -p "$folder"
  settings "$2"
  available "$2"
  started=$(date +%s)
  set -- "$2"
  # shellcheck disable=SC2086  # a list of files
  for source in "$root"/codec/*.c "$root"/codec/*/*.c "$root"/ref/*.c $sources; do
    [ ! -f "$source" ] || set -- "$@" "$source"
  done
  name=$1
  shift
  # shellcheck disable=SC2086  # lists of options
  if ! "$compiler" $flags "-I$root/codec" -isystem "$folder/../include" "$@" \
    -o "$folder/program" -lm >"$folder/log" 2>&1; then
    printf '%-22s FAIL: does not build\n' "$name"
    head -n 40 "$folder/log"
    exit 1
  fi
  built=$(date +%s)
  # shellcheck disable=SC2086  # a command, and its arguments
  if ! $runner "$folder/program" $arguments >"$folder/log" 2>&1; then
    printf '%-22s FAIL: differs\n' "$name"
    tail -n 20 "$folder/log"
    exit 1
  fi
  ended=$(date +%s)
  last=$(tail -n 1 "$folder/log")
  case $name in
    *-kernels) last=$(sed -n '/^[a-z0-9]*: [0-9]* kernels, /p' "$folder/log" | paste -s -d ';' | sed 's/;/; /g') ;;
  esac
  if [ -n "$isas" ] && [ "${last##*equal }" != "($isas)" ]; then
    printf '%-22s FAIL: %s, but kernels of (%s) should have run\n' "$name" "$last" "$isas"
    exit 1
  fi
  lacking=
  [ -n "$isas" ] || lacking=$(sed -n 's/^skipped:/; skipped:/p' "$folder/log" | tr -d '\n')
  printf '%-22s ok: %s%s (build %s s, run %s s)\n' "$name" "$last" "$lacking" \
    $((built - started)) $((ended - built))
}

case ${1:-} in
  --list)
    # shellcheck disable=SC2086  # a list of words
    printf '%s\n' $configurations
    ;;
  --one) one "$2" "$3" ;;
  '' | -*)
    sed -n 's/^# usage: //p' "$0" >&2
    exit 2
    ;;
  *)
    mkdir -p "$1/include"
    work=$(cd "$1" && pwd)
    shift
    # xxhash.h alone: /usr/include is not for other machines.
    header=$(printf '#include <xxhash.h>\n' | ${CC:-cc} -M -x c - 2>/dev/null | tr ' ' '\n' |
      grep '/xxhash\.h$') || {
      echo 'matrix.sh: xxhash.h is missing (Debian: libxxhash-dev)' >&2
      exit 2
    }
    cp "$header" "$work/include/"
    # shellcheck disable=SC2086  # a list of words
    [ $# -gt 0 ] || set -- $configurations
    printf '%s\n' "$@" | xargs -P "${MXGOLD_JOBS:-2}" -I '{}' sh "$0" --one "$work" '{}'
    ;;
esac
