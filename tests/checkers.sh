#!/bin/sh
# SPDX-License-Identifier: MIT
# Sanitizers and checkers of sources. Each must first see a planted fault (tests/checkers/planted*.c)
# and then find nothing: a line "NAME: clean (what it looked at; seconds)", or its findings, or
# "skipped: NAME: no TOOL".
# usage: checkers.sh WORK_DIR [NAME...]    (none: all; MXGOLD_JOBS: how many at a time)
#        checkers.sh --list
# exit: 0 nothing found, 1 a finding, 77 all of them skipped
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
jobs=${MXGOLD_JOBS:-2}
checkers='asan-ubsan-integer msan tsan valgrind gcc-analyzer clang-tidy cppcheck'

# Tests that need neither Check nor the oracle nor jansson, by tests/plain/check.h.
plain_tests='api_arrays api_machine api_nothing api_overlap api_statuses blocks combine
  combine_by_hand combine_fma error_bound faults_blocks faults_calls faults_layouts faults_scales fenv
  kernels layout layout_refused number orders orders_refused recipe recipe_check recipe_print
  weight_orders'

need() {
  for tool; do
    command -v "$tool" >/dev/null 2>&1 || {
      printf 'skipped: %s: no %s\n' "$name" "$tool"
      exit 77
    }
  done
}

clean() {
  printf '%s: clean (%s; %s s)\n' "$name" "$1" $(($(date +%s) - started))
}

# found MESSAGE [FILE]: ends this checker.
found() {
  [ $# -lt 2 ] || tail -n 60 "$2"
  printf '%s: FAIL: %s\n' "$name" "$1"
  exit 1
}

# quietly COMMAND...: shows its output only if it fails.
quietly() {
  "$@" >"$folder/log" 2>&1 || found "$1 ended with $?" "$folder/log"
}

# sees COMMAND...: a planted fault ends the command with an error.
sees() {
  ! "$@" >"$folder/log" 2>&1 || found "does not see what was planted: $*" "$folder/log"
}

# ---- what is run ----

# compile OBJECTS SOURCE...: into OBJECTS/dir_file.o, by $compiler with $flags, $jobs at a time.
compile() {
  objects=$1
  shift
  mkdir -p "$objects"
  export compiler flags root objects
  # shellcheck disable=SC2016  # expanded by the inner shell
  printf '%s\n' "$@" | (cd "$root" && xargs -P "$jobs" -I '{}' sh -c '
    $compiler -std=c11 -ffp-contract=off -g $flags -D_POSIX_C_SOURCE=200809L \
      "-DMXGOLD_SOURCE_DIR=\"$root\"" -Icodec -Itests/plain -Itests/support -Itests \
      -isystem "$objects/include" -c {} -o "$objects/$(echo {} | tr / _).o"') \
    >"$folder/log" 2>&1 || found 'does not compile' "$folder/log"
}

# link PROGRAM SOURCE...: of their objects.
link() {
  program=$1
  shift
  # shellcheck disable=SC2046,SC2086  # lists of words
  quietly $compiler $flags $(printf '%s\n' "$@" | tr / _ | sed "s|.*|$objects/&.o|") \
    -o "$program" -lm -pthread
}

# sources FOLDER...: the C files of folders, relative to the root.
sources() {
  (cd "$root" && for room; do ls "$room"/*.c; done)
}
library() {
  (cd "$root" && ls codec/*.c codec/*/*.c ref/*.c)
}

# plain_programs TEST...: library, digest program, planted faults and test_TEST as programs without
# Check, every instruction of them by $compiler with $flags.
plain_programs() {
  mkdir -p "$folder/objects/include"
  printf '#include <xxhash.h>\n' | cc -M -x c - | tr ' ' '\n' | grep '/xxhash\.h$' |
    xargs -I '{}' cp '{}' "$folder/objects/include/"
  tests=$(for test; do echo "tests/test_$test.c"; done)
  # shellcheck disable=SC2046,SC2086  # lists of files
  compile "$folder/objects" $(library) $(sources tests/digest tests/support) $tests \
    tests/checkers/planted.c
  link "$folder/planted" tests/checkers/planted.c
  # shellcheck disable=SC2046
  link "$folder/digest" $(library) $(sources tests/digest)
  for test; do
    # shellcheck disable=SC2046
    link "$folder/test_$test" "tests/test_$test.c" $(library) $(sources tests/support)
  done
}

# digests [COMMAND...]: the digest program under a command, whose last line is left in $last.
digests() {
  quietly "$@" "$folder/digest" "$root/tests/digests.txt"
  last=$(grep '^all ' "$folder/log") || found 'no digests' "$folder/log"
}

# ---- the checkers ----

# The quick suite, by clang with all of UBSan's groups; where there is no clang-22, by gcc.
asan_ubsan_integer() {
  command -v ctest >/dev/null 2>&1 || need ctest
  flags='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
  extra=",integer,implicit-conversion"
  if command -v clang-22 >/dev/null 2>&1 && command -v clang++-22 >/dev/null 2>&1; then
    compiler=clang-22 cxx=clang++-22
    c_flags="-fsanitize=address,undefined$extra -fno-sanitize-recover=all -fno-omit-frame-pointer"
    c_flags="$c_flags -fsanitize-ignorelist=$root/tests/checkers/ubsan-ignorelist.txt"
  else
    printf 'skipped: %s: no clang-22: gcc, without the integer groups\n' "$name"
    compiler=gcc cxx=g++ extra='' c_flags=$flags
  fi
  # by its bare name, since the list of what to ignore has */tests/*
  # shellcheck disable=SC2086  # lists of options
  (cd "$root/tests/checkers" && quietly $compiler -g $c_flags planted.c -o "$folder/planted" -pthread) ||
    exit 1
  for fault in address leak ${extra:+wrap truncation}; do sees "$folder/planted" "$fault"; done
  quietly cmake -S "$root" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DMXGOLD_WERROR=ON -DMXGOLD_OPENMP=OFF "-DCMAKE_C_COMPILER=$compiler" \
    "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_C_FLAGS=$c_flags" "-DCMAKE_CXX_FLAGS=$flags"
  quietly cmake --build "$folder/build" -j "$jobs"
  ctest --test-dir "$folder/build" -L quick --output-on-failure -j "$jobs" >"$folder/log" 2>&1 ||
    found 'the quick suite' "$folder/log"
  grep -h '^skipped: ' "$folder/build/Testing/Temporary/LastTest.log" | sort -u || true
  clean "$compiler: address, undefined$(echo "$extra" | sed 's/,/, /g'); $(sed -n \
    's/^.*tests passed, .* out of \([0-9]*\)$/\1 tests of the quick suite/p' "$folder/log")"
}

# Check is not instrumented: plain programs only.
msan() {
  need clang-22
  compiler=clang-22
  flags='-O1 -fsanitize=memory -fsanitize-memory-track-origins -fno-sanitize-recover=all'
  # shellcheck disable=SC2086  # a list of words
  plain_programs $plain_tests
  sees "$folder/planted" uninitialised
  for test in $plain_tests; do quietly "$folder/test_$test"; done
  digests
  clean "$last, $(echo "$plain_tests" | wc -w) test programs"
}

# By clang: gcc's TSan does not know libgomp's barriers.
tsan() {
  need clang-22
  archer=$(clang-22 -print-file-name=libarcher.so)
  [ -f "$archer" ] || archer=/usr/lib/llvm-22/lib/libarcher.so
  compiler=clang-22 flags='-O1 -fsanitize=thread'
  # shellcheck disable=SC2046  # a list of files
  compile "$folder/objects" $(library) tests/checkers/planted.c tests/checkers/threads.c
  link "$folder/planted" tests/checkers/planted.c
  # shellcheck disable=SC2046
  link "$folder/threads" $(library) tests/checkers/threads.c
  sees "$folder/planted" race
  quietly "$folder/threads"
  looked=$(cat "$folder/log")
  if ! printf 'int main(void){return 0;}' | clang-22 -fopenmp -x c - -o "$folder/probe" \
    >/dev/null 2>&1 || [ ! -f "$archer" ]; then
    echo "skipped: $name: no libomp-22 with archer: without OpenMP"
  else
    flags="$flags -fopenmp"
    # shellcheck disable=SC2046
    compile "$folder/openmp" $(library) tests/checkers/threads.c
    # shellcheck disable=SC2046
    link "$folder/threads_openmp" $(library) tests/checkers/threads.c
    quietly env "OMP_TOOL_LIBRARIES=$archer" ARCHER_OPTIONS=verbose=1 \
      TSAN_OPTIONS=ignore_noninstrumented_modules=1 "$folder/threads_openmp"
    grep -q '^Archer detected OpenMP application with TSan' "$folder/log" ||
      found 'archer did not load' "$folder/log"
    looked="$looked; $(grep presets "$folder/log") by OpenMP"
  fi
  clean "$looked"
}

# Valgrind offers the program a CPU without AVX-512, and has only one FP environment: test_fenv and
# test_api_statuses are left out, and test_kernels runs its arrays alone. Long sweeps are thinned.
valgrind_() {
  need valgrind gcc-12
  # shellcheck disable=SC2046  # a list of words
  set -- $(echo "$plain_tests" | tr -s ' \n' '\n' | grep -vE '^(fenv|api_statuses)$')
  compiler=gcc-12 flags=-O1
  plain_programs "$@"
  memcheck='valgrind -q --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all
    --error-exitcode=99'
  for fault in uninitialised address leak; do
    # shellcheck disable=SC2086  # a command
    sees $memcheck "$folder/planted" "$fault"
  done
  # shellcheck disable=SC2086
  digests $memcheck
  export memcheck folder MXGOLD_TEST_THIN=25 MXGOLD_TEST_SEED=1
  # shellcheck disable=SC2016  # expanded by the inner shell
  printf '%s\n' "$@" | xargs -P "$jobs" -I '{}' sh -c '
    case $1 in kernels) # keeps its scratch memory until it ends
      special="--errors-for-leak-kinds=definite,indirect,possible" only="test_arrays test_code_tables" ;;
    esac
    $memcheck ${special-} "$folder/test_$1" ${only-} >"$folder/log_$1" 2>&1 || echo "$1"' sh '{}' >"$folder/bad"
  while read -r test; do
    tail -n 40 "$folder/log_$test"
  done <"$folder/bad"
  [ ! -s "$folder/bad" ] || found "$(paste -s -d ' ' "$folder/bad")"
  clean "$last, $# test programs"
}

# ---- what is read ----

# What the build gives them.
flags_of_rooms='-std=c11 -ffp-contract=off -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64
  -Icodec -Ibench -Igpu -Ifuzz'

# rooms: every C file of the library, the tool, its bench and the fuzz targets.
rooms() {
  library
  sources cli bench fuzz fuzz/support
}

# each COMMAND...: COMMAND for each line of standard input in place of {}, from the root; its output in
# $folder/all.
each() {
  (cd "$root" && xargs -P "$jobs" -I '{}' "$@") >"$folder/all" 2>&1 || true
}

# host_files: all C files that need no device compiler and no device's runtime, slow ones first.
host_files() {
  rooms | grep '^codec/x86/avx512'
  rooms | grep -v '^codec/x86/avx512'
  sources gpu | grep -vE '^gpu/(kernels|runtime)\.c$'
}

# The kernels of x86 are left out here: avx512_combine.c and avx512_quantize_mx.c take 48 s and 2 to 2.5 GB
# each, nothing is found but that arrays which a loop fills are uninitialised, which MSan knows better,
# and with less memory it says so of other places. Those of aarch64 are empty to this compiler.
gcc_analyzer() {
  need gcc-12
  analyzer='gcc-12 -fanalyzer -O1 -o /dev/null'
  # shellcheck disable=SC2086  # lists of options
  sees $analyzer -Werror -c "$root/tests/checkers/planted_static.c"
  host_files | grep -v '^codec/x86/' >"$folder/files"
  # shellcheck disable=SC2086
  each $analyzer $flags_of_rooms -c '{}' <"$folder/files"
  # Only FILE and -WARNING are compared: lines move.
  sed -n 's/^\([a-z][^ :]*\):[0-9]*:[0-9]*: \(warning\|error\|fatal error\): .*\[\(-W[^]=]*\).*\]$/\1 \3/p' \
    "$folder/all" | sort -u >"$folder/said"
  grep -E ': (fatal )?error: ' "$folder/all" >"$folder/log" && found 'does not compile' "$folder/log"
  known=$root/tests/checkers/gcc-analyzer-known.txt
  grep -v '^#' "$known" | cut -d ' ' -f 1,2 | sort -u >"$folder/known"
  comm -13 "$folder/known" "$folder/said" >"$folder/new"
  comm -23 "$folder/known" "$folder/said" >"$folder/gone"
  if [ -s "$folder/new" ]; then
    cat "$folder/new" >>"$folder/all"
    found 'the last lines above; look, repair, or say why not in tests/checkers/gcc-analyzer-known.txt' \
      "$folder/all"
  fi
  [ ! -s "$folder/gone" ] || found "known and gone: take them out of $known" "$folder/gone"
  clean "$(wc -l <"$folder/files") files, $(wc -l <"$folder/known") known to be wrong"
}

# Kernels are read without the numbers in the tables of codec/simd/decode_table.h, thousands of
# constant expressions, which cost every file that has them a minute: the header is read by itself.
clang_tidy() {
  need clang-tidy-22
  tidy='clang-tidy-22 --quiet --warnings-as-errors=*'
  # shellcheck disable=SC2086  # lists of options
  sees $tidy "--config-file=$root/.clang-tidy" "$root/tests/checkers/planted_static.c" -- -std=c11
  tables=$root/codec/simd/decode_table.h
  numbers='s/^#define MXG_\(LOW\|HIGH\)_(f, c, shift) .*/#define MXG_\1_(f, c, shift) 0/'
  sed "$numbers" "$tables" >"$folder/decode_table.h"
  [ "$(diff "$tables" "$folder/decode_table.h" | grep -c '^>')" = 2 ] || found "cannot read $tables"
  kernels="-Icodec/simd -include $folder/decode_table.h"
  { echo codec/simd/decode_table.h && host_files; } >"$folder/files"
  if [ -d /usr/aarch64-linux-gnu/include ]; then
    arm='--target=aarch64-linux-gnu'
  else
    arm=
    echo "skipped: $name: no headers of aarch64 (Debian: libc6-dev-arm64-cross): without codec/arm"
    grep -v '^codec/arm/' "$folder/files" >"$folder/some"
    mv "$folder/some" "$folder/files"
  fi
  export tidy flags_of_rooms kernels arm
  # shellcheck disable=SC2016  # expanded by the inner shell
  each sh -c 'case $1 in
      codec/x86/*) special=$kernels ;;
      codec/arm/*) special="$kernels $arm" ;;
      *.h) special="-x c" ;;
    esac
    $tidy "$1" -- $flags_of_rooms ${special-}' sh '{}' <"$folder/files"
  grep -E '(warning|error): ' "$folder/all" | sort -u >"$folder/log" || true
  [ ! -s "$folder/log" ] || found "$(wc -l <"$folder/log") findings" "$folder/log"
  clean "$(wc -l <"$folder/files") files and their headers, by .clang-tidy"
}

cppcheck_() {
  need cppcheck
  check="cppcheck --quiet --enable=warning,performance,portability --std=c11 --error-exitcode=1
    --inline-suppr --suppressions-list=$root/tests/checkers/cppcheck-known.txt -j $jobs"
  # shellcheck disable=SC2086  # lists of options
  sees $check "$root/tests/checkers/planted_static.c"
  # shellcheck disable=SC2046,SC2086
  (cd "$root" && $check -Icodec -Ibench -Igpu -Ifuzz $(rooms)) >"$folder/log" 2>&1 ||
    found "of $(rooms | wc -l) files" "$folder/log"
  clean "$(rooms | wc -l) files and their headers"
}

case ${1:-} in
  --list)
    # shellcheck disable=SC2086  # a list of words
    printf '%s\n' $checkers
    ;;
  '' | -*)
    sed -n 's/^# usage: //p' "$0" >&2
    exit 2
    ;;
  *)
    mkdir -p "$1"
    work=$(cd "$1" && pwd)
    shift
    # shellcheck disable=SC2086  # a list of words
    [ $# -gt 0 ] || set -- $checkers
    status=77
    for name; do
      case " $checkers " in
        *" $name "*) ;;
        *)
          echo "checkers.sh: no checker $name; see checkers.sh --list" >&2
          exit 2
          ;;
      esac
      folder=$work/$name started=$(date +%s) code=0
      mkdir -p "$folder"
      case $name in
        valgrind | cppcheck) ("${name}_") || code=$? ;;
        *) ("$(echo "$name" | tr - _)") || code=$? ;;
      esac
      case $code in
        0) [ "$status" = 1 ] || status=0 ;;
        77) ;;
        *) status=1 ;;
      esac
    done
    exit "$status"
    ;;
esac
