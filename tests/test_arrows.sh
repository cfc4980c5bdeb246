#!/bin/sh
# SPDX-License-Identifier: MIT
# The arrows between the rooms (docs/DESIGN.md), from the compiler's own dependency output.
# usage: test_arrows.sh SOURCE_DIR BUILD_DIR
set -eu
root=$(cd "$1" && pwd)
cc=${CC:-cc}
cd "$root"

public='codec/mxgold\.h|codec/mxgold_format\.h'

# allowed FILE: the files that FILE may depend on, as an extended regular expression.
allowed() {
  case $1 in
    codec/*) echo 'codec/.*' ;;
    ref/*) echo "ref/.*|$public" ;;
    cli/*) echo "cli/.*|bench/bench\\.h|$public|gpu/(mxgold_gpu|hosted|selftest|device_subject)\\.h" ;;
    bench/*) echo "bench/.*|$public|codec/kernels\\.def" ;;
    gpu/*) echo "gpu/.*|$public|codec/(element|scale)\\.h" ;;
    fuzz/*) echo "fuzz/.*|cli/tool\\.h|$public" ;;
    tests/gpu/*) echo "tests/(gpu|support)/.*|gpu/.*|$public|codec/(element|scale)\\.h" ;;
    tests/oracle/*) echo 'tests/oracle/.*' ;;
    tests/test_inlines.c) echo "tests/.*|$public|codec/(element|scale)\\.h" ;;
    tests/*) echo "tests/.*|$public|codec/kernels\\.def" ;;
    *) echo 'no such room' ;;
  esac
}

# folders ROOM: where the build lets files of a room look for headers.
folders() {
  case $1 in
    tests/oracle/*) echo -Itests/oracle ;;
    fuzz/*) echo -Icodec -Ifuzz ;;
    gpu/*) echo -Icodec -Igpu -DMXG_GPU_CUDA -DMXG_LANES=32 ;;
    tests/gpu/*) echo -Icodec -Igpu -Itests/gpu -Itests/support ;;
    tests/*) echo -Icodec -Itests -Itests/support -Itests/oracle ;;
    *) echo -Icodec ;;
  esac
}

# dependencies COMPILER FILE: project files it includes, relative to the root; headers of the system
# and headers that do not exist here (generated, or of an absent package) are no arrows.
dependencies() {
  # shellcheck disable=SC2046  # a list of options
  "$1" -MM -MG $(folders "$2") "$2" |
    tr -d '\134' | tr ' ' '\n' | sed -e '/:$/d' -e '/^$/d' | while read -r dependency; do
    [ -f "$dependency" ] || continue
    path=$(cd "$(dirname "$dependency")" && pwd)/$(basename "$dependency")
    case $path in "$root"/*) echo "${path#"$root"/}" ;; esac
  done
}

# check COMPILER FILE [AS]: prints every forbidden arrow of FILE, judged as if it were AS.
check() {
  dependencies "$1" "$2" >"$scratch/dependencies" || {
    echo "$2: the compiler cannot list its dependencies"
    return 0
  }
  grep -vxF "$2" "$scratch/dependencies" | grep -vxE "$(allowed "${3:-$2}")" |
    sed "s|^|${3:-$2} must not include |" || true
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A check that cannot find a fault is none: a wrong arrow of each kind must be seen.
for wrong in ref/x.c:codec/scale.h cli/x.c:codec/element.h cli/x.c:bench/internal.h \
  bench/x.c:codec/internal.h codec/x.c:ref/ref.h tests/x.c:codec/scale.h \
  tests/oracle/x.c:codec/mxgold.h fuzz/x.c:codec/internal.h gpu/x.c:ref/ref.h cli/x.c:gpu/table.h codec/x.c:gpu/mxgold_gpu.h; do
  header=${wrong#*:}
  [ -f "$header" ] || {
    echo "FAIL: $header, whose inclusion must be seen, does not exist"
    exit 1
  }
  printf '#include "%s/%s"\n' "$root" "$header" >"$scratch/wrong.c"
  if [ -z "$(check "$cc" "$scratch/wrong.c" "${wrong%%:*}")" ]; then
    echo "FAIL: the check does not see ${wrong%%:*} including $header"
    exit 1
  fi
done

files=0
: >"$scratch/faults"
for file in $(find codec ref cli bench gpu fuzz tests -name '*.c' -o -name '*.cc' -o -name '*.cpp' | sort); do
  compiler=$cc
  case $file in
    *.cc | *.cpp)
      compiler=${CXX:-c++}
      command -v "$compiler" >/dev/null 2>&1 || {
        echo "skipped: no $compiler for the arrows of $file"
        continue
      }
      ;;
  esac
  files=$((files + 1))
  check "$compiler" "$file" >>"$scratch/faults"
done

if [ -s "$scratch/faults" ]; then
  cat "$scratch/faults"
  exit 1
fi
echo "$files files, every arrow allowed"
[ "$files" -gt 0 ]
