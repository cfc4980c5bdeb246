#!/bin/sh
# SPDX-License-Identifier: MIT
# One command for the owner of a GPU: builds with nvcc or hipcc and a C compiler only, then runs the
# self-test (every byte against the golden model, all 2^32 floats too) and the bench.
set -eu

usage() {
  cat <<'TEXT'
usage: sh gpu/run.sh [cuda|hip] [OPTION...] [-- OPTION OF THE PROGRAM...]

  cuda, hip       what to build for (default: cuda where there is nvcc, else hip)
  --memcheck      instead: a thin self-test under compute-sanitizer's memcheck and racecheck (cuda)
  --build-only    stop after the build
  --quick         self-test without the 2^32 floats, and no bench

variables:
  MXGOLD_BUILD    build folder (default: build/gpu-run in the source folder)
  CC              C compiler (default: cc)
  NVCC, HIPCC     device compiler (default: the one in PATH, /usr/local/cuda/bin, /opt/rocm/bin)
  ARCHS           HIP: what to build for (default: gfx942 gfx950 gfx1250)
  JOBS            compilers at a time (default: one per CPU)

`sh gpu/run.sh -- --help` shows the options of the program. Exit codes: 0 all bytes equal, 1 not, 2 no
such device or wrong options.
TEXT
}

fail() {
  printf 'run.sh: %s\n' "$1" >&2
  exit 2
}

# find_tool NAME FOLDER: its path, or nothing.
find_tool() {
  command -v "$1" 2>/dev/null || { [ -x "$2/$1" ] && echo "$2/$1"; } || true
}

root=$(cd "$(dirname "$0")/.." && pwd)
build=${MXGOLD_BUILD:-$root/build/gpu-run}
cc=${CC:-cc}
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}
nvcc=${NVCC:-$(find_tool nvcc /usr/local/cuda/bin)}
hipcc=${HIPCC:-$(find_tool hipcc /opt/rocm/bin)}
backend=''
mode=all

while [ $# -gt 0 ]; do
  case $1 in
    cuda | hip) backend=$1 ;;
    --memcheck) mode=memcheck ;;
    --build-only) mode=build ;;
    --quick) mode=quick ;;
    -h | --help)
      usage
      exit 0
      ;;
    --)
      shift
      break
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done

if [ -z "$backend" ]; then
  if [ -n "$nvcc" ]; then backend=cuda; else backend=hip; fi
fi
command -v "$cc" >/dev/null 2>&1 || fail "no C compiler '$cc': set CC"

rm -rf "$build/objects"
mkdir -p "$build/objects"
cd "$root"
paths=$build/code_paths.h # of the device code, for code.c
: >"$paths"

# ---- device code ----
case $backend in
  cuda)
    [ -n "$nvcc" ] || fail "no nvcc in PATH or /usr/local/cuda/bin: set NVCC, or run: sh gpu/run.sh hip"
    cuda=$(cd "$(dirname "$(readlink -f "$nvcc")")/.." && pwd)
    lib=$cuda/lib64
    [ -d "$lib" ] || lib=$cuda/lib
    [ -d "$lib" ] || lib=$cuda/targets/x86_64-linux/lib
    "$nvcc" -x cu -cubin -arch=sm_90 -O3 -fmad=false -prec-div=true -ftz=false \
      -o "$build/mxgold_sm_90.code" gpu/kernels.c &
    device_builds=$!
    printf '#define MXG_CODE_SM_90 "%s"\n' "$build/mxgold_sm_90.code" >>"$paths"
    defines=-DMXG_GPU_CUDA
    includes="-isystem $cuda/include"
    libraries="-L$lib -lcudart_static -ldl -lrt"
    ;;
  hip)
    [ -n "$hipcc" ] || fail "no hipcc in PATH or /opt/rocm/bin: set HIPCC, or run: sh gpu/run.sh cuda"
    rocm=${ROCM_PATH:-$(cd "$(dirname "$(readlink -f "$hipcc")")/.." && pwd)}
    device_builds=
    defines='-DMXG_GPU_HIP -D__HIP_PLATFORM_AMD__'
    for arch in ${ARCHS:-gfx942 gfx950 gfx1250}; do
      "$hipcc" -x hip --offload-arch="$arch" --offload-device-only --no-gpu-bundle-output \
        -nogpuinc -nogpulib -O3 -ffp-contract=off -o "$build/mxgold_$arch.code" gpu/kernels.c &
      device_builds="$device_builds $!"
      upper=$(echo "$arch" | tr '[:lower:]' '[:upper:]')
      printf '#define MXG_CODE_%s "%s"\n' "$upper" "$build/mxgold_$arch.code" >>"$paths"
    done
    includes="-isystem $rocm/include"
    libraries="-L$rocm/lib -Wl,-rpath,$rocm/lib -lamdhip64"
    ;;
esac

# ---- host code, in parallel; code.c takes the device code in, so it comes last ----
flags='-std=c11 -O2 -ffp-contract=off -D_XOPEN_SOURCE=700 -Icodec -Igpu'
for source in codec/*.c codec/*/*.c ref/*.c gpu/arguments.c gpu/gpu.c gpu/message.c gpu/table.c \
  gpu/runtime.c gpu/hosted.c gpu/device_graph.c gpu/device_subject.c gpu/bench.c gpu/selftest*.c; do
  [ -f "$source" ] || continue # a pattern that matches nothing
  printf '%s\n' "$source"
done >"$build/sources"
# shellcheck disable=SC2016,SC2086  # expanded by the inner shell; lists of options
xargs -P "$jobs" -I '{}' sh -c '
  set -eu
  objects=$0 source=$1
  shift
  "$@" -c "$source" -o "$objects/$(printf "%s" "${source%.c}" | tr / _).o"' \
  "$build/objects" '{}' "$cc" $flags $defines $includes <"$build/sources" ||
  fail 'the host code did not compile'
for id in $device_builds; do
  wait "$id" || fail "the device code did not compile"
done
# shellcheck disable=SC2086  # lists of options
"$cc" $flags $defines -include "$paths" -c gpu/code.c -o "$build/objects/gpu_code.o"
# shellcheck disable=SC2086  # lists of options
"$cc" -o "$build/mxgold-gpu" "$build"/objects/*.o $libraries -lpthread -lm
echo "built: $build/mxgold-gpu ($backend)"

# ---- run ----
program=$build/mxgold-gpu
case $mode in
  build) exit 0 ;;
  quick) exec "$program" "$@" ;;
  all) exec "$program" --full --bench "$@" ;;
  memcheck)
    sanitizer=$(find_tool compute-sanitizer /usr/local/cuda/bin)
    [ -n "$sanitizer" ] || fail "no compute-sanitizer in PATH or /usr/local/cuda/bin"
    status=0
    for tool in memcheck racecheck; do
      echo "== compute-sanitizer $tool"
      "$sanitizer" --tool "$tool" --error-exitcode 1 "$program" --exact --threads 1 --thin 64 "$@" ||
        status=1
    done
    exit "$status"
    ;;
esac
