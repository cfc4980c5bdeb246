#!/bin/sh
# SPDX-License-Identifier: MIT
# A dry run of fuzz/oss-fuzz/build.sh with the variables that OSS-Fuzz sets, then what its bad-build
# check does: every fuzzer starts, runs its seeds and needs no library that the runner lacks.
# usage: test_oss_fuzz.sh SOURCE_DIR [CLANG [ENGINE]]
set -eu
root=$(cd "$1" && pwd)
clang=${2:-clang-22}
engine=${3:--fsanitize=fuzzer}
cxx=$(echo "$clang" | sed 's/clang/clang++/')
for tool in "$clang" "$cxx" zip unzip cmake ninja bash; do
  command -v "$tool" >/dev/null || {
    echo "skipped: no $tool"
    exit 77
  }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/src" "$scratch/out" "$scratch/work"
ln -s "$root" "$scratch/src/mxgold"
flags='-O1 -fno-omit-frame-pointer -gline-tables-only -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  -fsanitize=address -fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link'
flags=$(echo "$flags" | tr -s "\n " " ")
env CC="$clang" CXX="$cxx" CFLAGS="$flags" CXXFLAGS="$flags" LIB_FUZZING_ENGINE="$engine" \
  SRC="$scratch/src" OUT="$scratch/out" WORK="$scratch/work" SANITIZER=address \
  FUZZING_ENGINE=libfuzzer ARCHITECTURE=x86_64 \
  bash "$root/fuzz/oss-fuzz/build.sh" >"$scratch/log" 2>&1 || {
  tail -40 "$scratch/log"
  echo 'FAIL: build.sh'
  exit 1
}
count=0
for source in "$root"/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  program=$scratch/out/$name
  [ -x "$program" ] || {
    echo "FAIL: $name was not built"
    exit 1
  }
  if ldd "$program" | grep -E 'popt|jansson|xxhash|gomp|libomp|not found'; then
    echo "FAIL: $name needs what the runner lacks"
    exit 1
  fi
  unzip -q "$scratch/out/${name}_seed_corpus.zip" -d "$scratch/seeds-$name"
  "$program" -runs=50 "$scratch/seeds-$name" >"$scratch/log" 2>&1 || {
    tail -20 "$scratch/log"
    echo "FAIL: $name"
    exit 1
  }
  count=$((count + 1))
done
echo "$count fuzzers built and run as OSS-Fuzz would"
