#!/bin/sh
# SPDX-License-Identifier: MIT
# Lines and branches of codec/ and ref/ that the C tests reach, by gcov and gcovr: those of this
# machine's tests, of a few tests under qemu as older x86 CPUs, and of test_kernels for aarch64.
# Every line must run, and every branch must be taken or be explained in coverage_explained.txt.
# usage: coverage.sh FOLDER    (MXGOLD_JOBS: how many at a time; exit status 77: skipped)
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -eq 1 ] || {
  sed -n 's/^# usage: //p' "$0" >&2
  exit 2
}
for tool in gcc gcov gcovr cmake ninja; do
  command -v "$tool" >/dev/null 2>&1 || {
    echo "skipped: coverage: no $tool"
    exit 77
  }
done
mkdir -p "$1"
work=$(cd "$1" && pwd)
jobs=${MXGOLD_JOBS:-2}

# The same seed reaches the same branches each time, and a part of the long sweeps reaches them all.
export MXGOLD_TEST_SEED=1 MXGOLD_TEST_THIN=17 OMP_NUM_THREADS=2

# Kernels that this machine's tests cannot reach. The calls of arrays take no mask, so a CPU with
# AVX-512 never gets to their AVX2 kernels.
emulated_x86() {
  cat <<'LIST'
-cpu Haswell tests/test_kernels test_arrays test_environments
-cpu Haswell,-avx2 tests/test_api_machine test_cpu_features
-cpu Haswell,level=4 tests/test_api_machine test_cpu_features
-cpu Conroe tests/test_api_machine test_cpu_features
LIST
}
emulated_aarch64() {
  cat <<'LIST'
test_quantize_presets test_quantize_recipes
test_dequantize_presets test_dequantize_recipes
test_combine_presets test_combine_recipes
test_arrays test_tiny_blocks test_environments
test_code_tables test_odd_recipes test_alternative_half
test_large
LIST
}

# build FOLDER TARGETS OPTION...: configured with MXGOLD_COVERAGE, counts of former runs removed.
build() {
  folder=$1 targets=$2
  shift 2
  # shellcheck disable=SC2086  # a list of words
  if ! { cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMXGOLD_COVERAGE=ON \
    -DMXGOLD_TOOL=OFF -DMXGOLD_SHARED=OFF "$@" &&
    cmake --build "$folder" -j "$jobs" --target $targets; } >"$folder.log" 2>&1; then
    cat "$folder.log" >&2
    exit 1
  fi
  find "$folder" -name '*.gcda' -exec rm {} +
}

# run_each COMMAND...: COMMAND and each line of the input, some at a time; of one that fails what it
# said.
run_each() {
  # shellcheck disable=SC2016  # variables of the inner shell
  xargs -P "$jobs" -I '{}' sh -c \
    'said=$($1 $2 2>&1) || { printf "%s\nfailed: %s %s\n" "$said" "$1" "$2" >&2; exit 1; }' \
    run "$*" '{}'
}

# Without all machines no kernel is judged, as they share templates.
left_out=
lacks() {
  echo "skipped: kernels: $1"
  left_out='codec/cpu.c codec/dispatch.c codec/x86 codec/arm codec/simd'
}

# The longest first.
programs=$(cd "$root/tests" && printf '%s ' test_kernels.c test_[!k]*.c | sed 's/\.c / /g')
build "$work/native" "$programs" -DCMAKE_C_COMPILER=gcc
cd "$work/native"
for program in $programs; do
  echo "tests/$program"
done | run_each
echo 'env MXGOLD_TEST_THIN=1 tests/test_kernels test_large' | run_each

if ! grep -qw avx512vbmi /proc/cpuinfo 2>/dev/null; then
  lacks 'this CPU has no AVX-512'
elif ! command -v qemu-x86_64 >/dev/null 2>&1 || ! command -v qemu-aarch64 >/dev/null 2>&1; then
  lacks 'no qemu-x86_64 and qemu-aarch64'
elif ! command -v aarch64-linux-gnu-gcc >/dev/null 2>&1; then
  lacks 'no aarch64-linux-gnu-gcc'
else
  emulated_x86 | run_each qemu-x86_64
  build "$work/aarch64" mxgold_static "-DCMAKE_TOOLCHAIN_FILE=$root/cmake/aarch64.cmake"
  set -- "$root/tests/test_kernels.c"
  while read -r source; do
    set -- "$@" "$root/tests/support/$source.c"
  done <"$root/tests/plain/kernel_sources.txt"
  aarch64-linux-gnu-gcc -std=c11 -O2 -ffp-contract=off -D_POSIX_C_SOURCE=200809L \
    "-I$root/tests/plain" "-I$root/tests/support" "-I$root/tests" "-I$root/codec" "$@" \
    "$work/aarch64/libmxgold.a" --coverage -fopenmp -o "$work/aarch64/test_kernels"
  cd "$work/aarch64"
  emulated_aarch64 | run_each qemu-aarch64 -L /usr/aarch64-linux-gnu ./test_kernels
fi

# counts GCOV RESULT FOLDER...: what ran, as gcovr's JSON.
counts() {
  gcov=$1 result=$2
  shift 2
  gcovr -r "$root" -f codec/ -f ref/ --gcov-executable "$gcov" --json "$result" "$@"
}
cd "$root"
counts gcov "$work/native.json" "$work/native/CMakeFiles/mxgold_objects.dir" \
  "$work/native/tests/CMakeFiles/test_inlines.dir"
set -- "$work/native.json"
if [ -z "$left_out" ]; then
  counts aarch64-linux-gnu-gcov "$work/aarch64.json" "$work/aarch64/CMakeFiles/mxgold_objects.dir"
  set -- "$@" "$work/aarch64.json"
fi
exec python3 "$root/tests/coverage.py" "$root" "$left_out" "$@"
