#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds that are not the usual one: without Check, LLVM and OpenMP; without anything; inside
# another project, as a shared library.
# usage: embedding.sh WORK_DIR
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
work=$(cd "$1" && pwd)
jobs=${MXGOLD_JOBS:-2}

# build NAME SOURCE_DIR OPTION...
build() {
  folder=$work/$1
  source=$2
  shift 2
  rm -rf "$folder"
  if cmake -S "$source" -B "$folder" -G Ninja "$@" >"$work/log" 2>&1 &&
    cmake --build "$folder" -j "$jobs" >>"$work/log" 2>&1; then
    return 0
  fi
  cat "$work/log"
  echo "FAIL: $folder"
  exit 1
}

# pkg-config that knows what the tool needs and nothing else.
mkdir -p "$work/pkgconfig" "$work/none"
for package in popt jansson libxxhash; do
  file=$(pkg-config --variable=pcfiledir "$package")/$package.pc
  [ ! -f "$file" ] || cp "$file" "$work/pkgconfig/"
done

export PKG_CONFIG_PATH=
PKG_CONFIG_LIBDIR=$work/pkgconfig
export PKG_CONFIG_LIBDIR
build without-check "$root" -DMXGOLD_OPENMP=OFF
"$work/without-check/mxgold" --help >/dev/null
[ ! -e "$work/without-check/tests/test_blocks" ]
ctest --test-dir "$work/without-check" -R '^(digest|demo|symbols)$' --output-on-failure
echo 'without Check, LLVM and OpenMP: library, tool, digests and demo'

PKG_CONFIG_LIBDIR=$work/none
build without-anything "$root" -DMXGOLD_OPENMP=OFF
[ -f "$work/without-anything/libmxgold.a" ] && [ ! -e "$work/without-anything/mxgold" ]
echo 'without popt, jansson and xxhash: the library'

mkdir -p "$work/outer"
cat >"$work/outer/CMakeLists.txt" <<TEXT
cmake_minimum_required(VERSION 3.21)
project(outer C)
add_subdirectory("$root" mxgold)
if(TARGET mxgold_tool OR MXGOLD_TESTS)
  message(FATAL_ERROR "tool or tests are on inside another project")
endif()
add_executable(outer outer.c)
target_link_libraries(outer PRIVATE mxgold::mxgold)
TEXT
awk '$0 == "```c" { on = 1; next } $0 == "```" { on = 0 } on' "$root/README.md" \
  >"$work/outer/outer.c"
build inside "$work/outer" -DBUILD_SHARED_LIBS=ON
"$work/inside/outer"
set -- "$work"/inside/mxgold/libmxgold.so.*.*.*
[ -f "$1" ]
soname=$(readelf -d "$1" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')
[ -n "$soname" ] && [ -e "$work/inside/mxgold/$soname" ]
MXGOLD_LIBRARY=$1 sh "$root/tests/test_symbols.sh" "$root" "$work/inside"
echo "inside another project: $soname"
