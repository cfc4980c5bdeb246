#!/bin/sh
# SPDX-License-Identifier: MIT
# The device library and the tool against a real HIP runtime on a machine without a device: what is
# built, what the runtime says, and what the user reads. A chip that has no kernels, too.
# usage: test_no_device.sh SOURCE_DIR BUILD_DIR
set -eu
cc=gcc # also where clang builds the rest: device and host code need not share a compiler
command -v gcc >/dev/null 2>&1 || cc=${CC:-cc}
root=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
[ ! -e /dev/kfd ] || {
  echo 'skipped: /dev/kfd is here, so there may be an AMD device'
  exit 77
}
command -v cmake >/dev/null 2>&1 || {
  echo 'skipped: no cmake'
  exit 77
}
if ! command -v hipcc >/dev/null 2>&1 && ! command -v clang-22 >/dev/null 2>&1; then
  echo 'skipped: no hipcc and no clang-22 for the device code'
  exit 77
fi
if ! [ -e /usr/include/hip/hip_runtime_api.h ] && ! [ -e /opt/rocm/include/hip/hip_runtime_api.h ]; then
  echo 'skipped: no HIP runtime (Debian: libamdhip64-dev)'
  exit 77
fi

fail() {
  echo "FAIL: $1"
  exit 1
}

# expect CODE TEXT COMMAND...: the exit code, and a text in what it prints.
expect() {
  code=$1 text=$2
  shift 2
  status=0
  "$@" >"$scratch/out" 2>&1 || status=$?
  if [ "$status" -ne "$code" ] || ! grep -q -e "$text" "$scratch/out"; then
    cat "$scratch/out"
    fail "exit code $status, expected $code and '$text': $*"
  fi
  echo "ok: $text"
}

# gcc for the host and -DMXGOLD_GPU=HIP alone: CMake finds the device compiler.
cmake -S "$root" -B "$scratch/build" -DCMAKE_BUILD_TYPE=Release -DMXGOLD_GPU=HIP \
  -DMXGOLD_TESTS=OFF -DMXGOLD_OPENMP=OFF -DMXGOLD_WERROR=ON "-DCMAKE_C_COMPILER=$cc" \
  >"$scratch/log" 2>&1 || {
  cat "$scratch/log"
  fail 'cmake'
}
cmake --build "$scratch/build" -j "${MXGOLD_JOBS:-2}" >"$scratch/log" 2>&1 || {
  cat "$scratch/log"
  fail 'the build'
}

library=$(find "$scratch/build" -name 'libmxgold_gpu.*' | head -n 1)
[ -n "$library" ] || fail 'no libmxgold_gpu was built'

"$cc" -std=c11 -Wall -Wextra -Werror "-I$root/codec" "-I$root/gpu" \
  "$root/tests/gpu/no_device.c" "$root/gpu/table.c" -o "$scratch/no_device" \
  "$library" "$scratch/build"/libmxgold.* -L/opt/rocm/lib -Wl,-rpath,/opt/rocm/lib -lamdhip64 -lm \
  2>"$scratch/log" || {
  cat "$scratch/log"
  fail 'no_device.c'
}
expect 0 'hipErrorNoDevice' "$scratch/no_device"
cat "$scratch/out"

# A device of a chip that nobody wrote kernels for, one whose code lacks a kernel, and one that the
# build has no code for: the last by the same sources without code objects.
hip='-D__HIP_PLATFORM_AMD__ -isystem /opt/rocm/include -L/opt/rocm/lib -Wl,-rpath,/opt/rocm/lib'
# shellcheck disable=SC2086  # a list of options
if ! "$cc" -std=c11 -Wall -Wextra -shared -fPIC $hip "$root/tests/gpu/fake_device.c" \
  -o "$scratch/fake_device.so" 2>"$scratch/log" ||
  ! "$cc" -std=c11 -Wall -Wextra -Werror "-I$root/codec" "-I$root/gpu" \
    "$root/tests/gpu/wrong_device.c" -o "$scratch/wrong_device" "$library" \
    "$scratch/build"/libmxgold.* $hip -lamdhip64 -lm 2>"$scratch/log" ||
  ! "$cc" -std=c11 -D_XOPEN_SOURCE=700 -DMXG_GPU_HIP "-I$root/codec" "-I$root/gpu" \
    "$root/tests/gpu/wrong_device.c" "$root/gpu/arguments.c" "$root/gpu/gpu.c" \
    "$root/gpu/message.c" "$root/gpu/table.c" "$root/gpu/runtime.c" "$root/gpu/code.c" \
    -o "$scratch/no_code" "$scratch/build"/libmxgold.* $hip -lamdhip64 -lm 2>"$scratch/log"; then
  cat "$scratch/log"
  fail 'the programs of wrong devices'
fi
with_fake() {
  arch=$1
  shift
  env "FAKE_ARCH=$arch" "LD_PRELOAD=$scratch/fake_device.so" "$@"
}
expect 0 'MXG_ERR_ARCH: device 0 is fake device (gfx90a:xnack-): .*gfx950.* the CPU' \
  with_fake gfx90a:xnack- "$scratch/wrong_device"
expect 0 'MXG_ERR_DEVICE: device 0: mxg_gpu_[a-z0-9_]*: .*hipErrorNotFound' \
  with_fake gfx950:sramecc+:xnack- "$scratch/wrong_device"
expect 0 'MXG_ERR_ARCH: device 0 is gfx950: this build has code for no chip;' \
  with_fake gfx950 "$scratch/no_code"

expect 2 'hipErrorNoDevice' "$scratch/build/mxgold-gpu"
tool=$scratch/build/mxgold
if [ -x "$tool" ]; then
  expect 2 'hipErrorNoDevice' "$tool" selftest --gpu
  expect 0 'hipErrorNoDevice' "$tool" info
  printf '0123456789abcdef' >"$scratch/x.raw"
  expect 2 'on the CPU' "$tool" quantize "$scratch/x.raw" --dtype f32 --shape 1x4 \
    --recipe mxfp8 -o "$scratch/x.safetensors" --device gpu
  [ ! -e "$scratch/x.safetensors" ] || fail 'an output without a device'
  expect 2 'gpu:3' "$tool" quantize "$scratch/x.raw" --dtype f32 --shape 1x4 \
    --recipe mxfp8 -o "$scratch/x.safetensors" --device gpu:3,portable
  expect 2 'is no device' "$tool" quantize "$scratch/x.raw" --dtype f32 --shape 1x4 \
    --recipe mxfp8 -o "$scratch/x.safetensors" --device gpux
  expect 2 'leave --isa' "$tool" quantize "$scratch/x.raw" --dtype f32 --shape 1x4 \
    --recipe mxfp8 -o "$scratch/x.safetensors" --device gpu --threads 1
else
  echo 'skipped: the tool was not built, so its messages are not looked at'
fi
