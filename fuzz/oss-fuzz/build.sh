#!/bin/bash -eu
# SPDX-License-Identifier: MIT
# Builds the fuzzers for OSS-Fuzz, which sets CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE, SRC, WORK
# and OUT. fuzz/test_oss_fuzz.sh runs it with the same variables.
source=$SRC/mxgold
build=${WORK:-/tmp}/mxgold-build

cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None \
  "-DMXGOLD_FUZZ_ENGINE=$LIB_FUZZING_ENGINE" -DMXGOLD_FUZZ_STATIC=ON -DMXGOLD_TESTS=OFF \
  -DMXGOLD_OPENMP=OFF
cmake --build "$build" --target fuzzers -j "$(nproc)"

for program in "$build"/fuzz/fuzz_*; do
  name=$(basename "$program")
  case $name in *_replay | *.*) continue ;; esac
  target=${name#fuzz_}
  cp "$program" "$OUT/"
  zip -q -j "$OUT/${name}_seed_corpus.zip" "$source/fuzz/corpus/$target"/*
  if [ -f "$source/fuzz/dict/$target.dict" ]; then
    cp "$source/fuzz/dict/$target.dict" "$OUT/$name.dict"
  fi
  printf '[libfuzzer]\nmax_len = 1024\ntimeout = 60\n' >"$OUT/$name.options"
done
