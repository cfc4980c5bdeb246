#!/bin/sh
# SPDX-License-Identifier: MIT
# Projects that use the library, each in its own way, from a tree that was installed and then moved:
# built, run, and a line each. docs/LINKING.md shows the files that are built here.
# usage: test_consumers.sh SOURCE_DIR BUILD_DIR [CONSUMER...]   (none: all)
set -eu
root=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
shift 2
work=$build/consumers
rm -rf "$work"
mkdir -p "$work"
log=$work/log
status=0

installed='headers find_package find_package_static find_package_shared find_package_cxx versions
  pkg_config pkg_config_static relocated'
sources='add_subdirectory fetch_content amalgamation'
# shellcheck disable=SC2086  # lists of words
[ $# -gt 0 ] || set -- $installed $sources
# shellcheck disable=SC2086
[ "$*" != installed ] || set -- $installed

version=$(sed -n 's/^#define MXG_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$root/codec/mxgold_format.h" |
  paste -s -d .)
soname=libmxgold.so.${version%.*}

# ---- install, with DESTDIR and a prefix of its own, and move ----
DESTDIR=$work/root cmake --install "$build" --prefix /opt/first >"$log" 2>&1 || {
  cat "$log"
  exit 1
}
prefix="$work/moved here"
mv "$work/root/opt/first" "$prefix"
mkdir "$work/consumers"
cp -r "$root/tests/consumers/." "$work/consumers"
libdir=$(cd "$prefix" && dirname "$(find lib* -name mxgold.pc)")
libdir=$prefix/$(dirname "$libdir")
export PKG_CONFIG_PATH="$libdir/pkgconfig"

# The C++ compiler that goes with the C compiler: flags of one are meant for the other too.
if [ -z "${CXX:-}" ]; then
  case ${CC:-cc} in
    *clang*) CXX=$(echo "$CC" | sed 's/clang/clang++/') ;;
    *gcc*) CXX=$(echo "$CC" | sed 's/gcc/g++/') ;;
    *) CXX=c++ ;;
  esac
  export CXX
fi

fail() {
  echo "$1"
  return 1
}

# cmake_project NAME OPTION...: configured, built and run.
cmake_project() {
  name=$1
  shift
  cmake -S "$work/consumers/$name" -B "$work/build-$name" "-DCMAKE_PREFIX_PATH=$prefix" "$@" &&
    cmake --build "$work/build-$name" -j "${MXGOLD_JOBS:-2}" &&
    "$work/build-$name/consumer"
}

# make_project NAME
make_project() {
  (cd "$work/consumers/$1" && make CC="${CC:-cc}" && ./consumer)
}

# needs PROGRAM shared|static: is the library's soname among what the program loads?
needs() {
  readelf -d "$1" >"$work/dynamic"
  if grep -q "NEEDED.*\[$soname\]" "$work/dynamic"; then kind=shared; else kind=static; fi
  [ "$kind" = "$2" ] || fail "links the $kind library, not the $2 one"
}

# consumer NAME: one way. 77 = cannot be tried here, for the reason in $why.
consumer() {
  case $1 in
    headers)
      for header in mxgold.h mxgold_format.h mxgold/element.h mxgold/scale.h; do
        printf '#include <%s>\ntypedef int nothing;\n' "$header" >"$work/header.c"
        "${CC:-cc}" -std=c11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only \
          "-I$prefix/include" "$work/header.c" || return 1
      done
      ;;
    find_package) cmake_project "$1" && needs "$work/build-$1/consumer" shared ;;
    find_package_static | find_package_cxx)
      if [ "$1" = find_package_cxx ] && ! command -v "$CXX" >/dev/null; then
        why="no $CXX"
        return 77
      fi
      cmake_project "$1" && needs "$work/build-$1/consumer" static
      ;;
    find_package_shared) cmake_project "$1" && needs "$work/build-$1/consumer" shared ;;
    versions)
      # A later minor version may not be what was asked for, an absent component neither.
      for wanted in 'mxgold 0.2' 'mxgold 1.0' 'mxgold 0.1 COMPONENTS nothing'; do
        mkdir -p "$work/consumers/version"
        printf 'cmake_minimum_required(VERSION 3.21)\nproject(v LANGUAGES NONE)\n%s\n' \
          "find_package($wanted REQUIRED)" >"$work/consumers/version/CMakeLists.txt"
        ! cmake -S "$work/consumers/version" -B "$work/build-version" \
          "-DCMAKE_PREFIX_PATH=$prefix" || fail "find_package($wanted) was satisfied"
      done
      [ "$(pkg-config --modversion mxgold)" = "$version" ] || fail 'pkg-config: another version'
      [ "$(readelf -d "$libdir/libmxgold.so" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')" = \
        "$soname" ] || fail 'another soname'
      [ ! -x "$prefix/bin/mxgold" ] ||
        [ "$("$prefix/bin/mxgold" --version)" = "mxgold $version" ] || fail 'tool: another version'
      ;;
    pkg_config)
      (cd "$work/consumers/$1" && make CC="${CC:-cc}" &&
        LD_LIBRARY_PATH=$libdir ./consumer) && needs "$work/consumers/$1/consumer" shared
      ;;
    pkg_config_static)
      why='no static programs with a sanitizer'
      case ${CFLAGS:-} in *-fsanitize*) return 77 ;; esac
      make_project "$1" && ! readelf -d consumers/pkg_config_static/consumer | grep NEEDED
      ;;
    relocated)
      # No text of the installed tree knows where it was built or first installed.
      ! grep -rlIF -e "$root/" -e "$build" -e /opt/first "$prefix" ||
        fail 'these files name a folder of the build'
      ;;
    add_subdirectory)
      mkdir -p "$work/consumers/$1/third_party"
      ln -sfn "$root" "$work/consumers/$1/third_party/mxgold"
      cmake_project "$1" -DCMAKE_BUILD_TYPE=Release && needs "$work/build-$1/consumer" static
      ;;
    fetch_content)
      set -- "$1" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON
      if git -C "$root" rev-parse HEAD >"$work/commit" 2>/dev/null; then
        set -- "$@" "-DMXGOLD_REPOSITORY=file://$root" "-DMXGOLD_TAG=$(cat "$work/commit")"
      else
        set -- "$@" "-DFETCHCONTENT_SOURCE_DIR_MXGOLD=$root"
      fi
      cmake_project "$@" && needs "$work/build-fetch_content/consumer" shared
      ;;
    amalgamation)
      sh "$root/scripts/amalgamate.sh" "$work/consumers/$1" &&
        sed 's|<mxgold/scale.h>|<mxgold.h>|; s| .. mxg_f32_bits(1.0f) != 0x3F800000u||' \
          "$root/tests/consumers/main.c" >"$work/consumers/$1/consumer.c" &&
        (cd "$work/consumers/$1" && make CC="${CC:-cc}" CFLAGS="${CFLAGS:-} -I." && ./consumer)
      ;;
    *) fail "no consumer $1" ;;
  esac
}

cd "$work"
for name; do
  code=0
  consumer "$name" >"$log" 2>&1 || code=$?
  case $code in
    0) printf '%-20s ok   %s\n' "$name" "$(grep -h 'codes C2' "$log" || true)" ;;
    77) printf 'skipped: consumer %s, %s\n' "$name" "$why" ;;
    *)
      printf '%-20s FAIL\n' "$name"
      tail -n 40 "$log"
      status=1
      ;;
  esac
done

# The page shows what was built: every project file stands in it, line by line.
cat "$root/docs/LINKING.md" >"$work/page"
for file in "$root"/tests/consumers/*/CMakeLists.txt "$root"/tests/consumers/*/Makefile; do
  awk -v page="$work/page" '
    BEGIN { while ((getline line < page) > 0) text = text line "\n" }
    { whole = whole $0 "\n" }
    END { exit index(text, "\n" whole "```\n") == 0 }' "$file" || {
    echo "FAIL: docs/LINKING.md does not show tests/consumers/${file#"$root"/tests/consumers/}"
    status=1
  }
done
exit "$status"
