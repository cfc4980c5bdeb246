#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: fuzz/run.sh BUILD_FOLDER TARGET|all [--time SECONDS] [--afl] [--jobs N]
# What ./dev fuzz runs: builds the fuzzers with sanitizers (or with AFL++) and runs one target, or
# each in turn. Exit 0 nothing found, 1 a finding, 2 wrong usage or a build that fails, 77 skipped:
# no compiler with the engine.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1
shift

target='' seconds=60 engine=libfuzzer jobs=1
usage() {
  echo "usage: ./dev fuzz TARGET|all [--time SECONDS] [--afl] [--jobs N]" >&2
  echo "targets: $(targets | tr '\n' ' ')" >&2
  exit 2
}
targets() {
  for file in "$root"/fuzz/fuzz_*.c; do
    name=$(basename "$file" .c)
    echo "${name#fuzz_}"
  done
}
is_count() {
  case $1 in '' | *[!0-9]* | 0) return 1 ;; esac
}
while [ $# -gt 0 ]; do
  case $1 in
    --time | --jobs)
      if [ $# -lt 2 ] || ! is_count "$2"; then usage; fi
      if [ "$1" = --time ]; then seconds=$2; else jobs=$2; fi
      shift
      ;;
    --time=*)
      seconds=${1#*=}
      is_count "$seconds" || usage
      ;;
    --afl) engine=afl ;;
    -*) usage ;;
    *)
      [ -z "$target" ] || usage
      target=${1#fuzz_}
      ;;
  esac
  shift
done
[ -n "$target" ] || usage
[ "$target" = all ] || targets | grep -qx "$target" || {
  echo "fuzz: no target '$target'" >&2
  usage
}

# ---- build ----

mkdir -p "$build"
log=$build/fuzz.log
if [ "$engine" = afl ]; then
  folder=$build/fuzz-afl
  cc=$(command -v afl-clang-fast || true)
  cxx=$(command -v afl-clang-fast++ || true)
  flags='-O1 -g'
  if [ -z "$cc" ] || [ -z "$cxx" ]; then
    echo 'skipped: no afl-clang-fast (Debian: apt-get install afl++)'
    exit 77
  fi
else
  folder=$build/fuzz
  cc='' cxx=''
  printf 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d && n > 9; }\n' \
    >"$build/engine.c"
  for version in -22 -21 -20 -19 -18 -17 -16 '' -15 -14; do
    if ! command -v "clang$version" || ! command -v "clang++$version"; then continue; fi >/dev/null
    "clang$version" -fsanitize=fuzzer,address,undefined "$build/engine.c" -o "$build/engine" \
      >/dev/null 2>&1 || continue
    cc=clang$version cxx=clang++$version
    break
  done
  flags='-O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all'
  [ -n "$cc" ] || {
    echo 'skipped: no clang with libFuzzer (Debian: apt-get install clang-22 libclang-rt-22-dev)'
    exit 77
  }
fi
goal=fuzz_$target
[ "$target" != all ] || goal=fuzzers
echo "fuzz: building with $cc in $folder"
{
  CC=$cc CXX=$cxx cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=None \
    "-DCMAKE_C_FLAGS=$flags" "-DCMAKE_CXX_FLAGS=$flags" -DMXGOLD_FUZZ_ENGINE=-fsanitize=fuzzer -DMXGOLD_TESTS=OFF \
    -DMXGOLD_OPENMP=OFF &&
    cmake --build "$folder" -j "${MXGOLD_JOBS:-2}" --target "$goal"
} >"$log" 2>&1 || {
  tail -40 "$log" >&2
  echo "fuzz: the build failed: see $log" >&2
  exit 2
}

# ---- run ----

# run_libfuzzer TARGET: new inputs stay in BUILD/fuzz/corpus/TARGET.
run_libfuzzer() {
  program=$folder/fuzz/fuzz_$1 findings=$build/findings/$1-
  mkdir -p "$build/findings" "$folder/corpus/$1"
  set -- "$1" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=1024 \
    -print_final_stats=1 "-artifact_prefix=$findings"
  name=$1
  shift
  dictionary=$root/fuzz/dict/$name.dict
  [ ! -f "$dictionary" ] || set -- "$@" "-dict=$dictionary"
  code=0
  UBSAN_OPTIONS=print_stacktrace=1 "$program" "$@" "$folder/corpus/$name" \
    "$root/fuzz/corpus/$name" >"$folder/$name.log" 2>&1 || code=$?
  if [ "$code" = 0 ]; then
    sed -n -e "s/^#[0-9]*[[:space:]]*DONE */$name: /p" \
      -e "s/^Done \(.*\)/$name: \1, no finding/p" "$folder/$name.log"
    return 0
  fi
  grep -v -e '^#[0-9]' -e 'NEW_FUNC' -e '^INFO' "$folder/$name.log" | tail -60
  found=$(sed -n 's/.*Test unit written to //p' "$folder/$name.log" | tail -1)
  echo "$name: finding: ${found:-see $folder/$name.log}"
  echo "$name: replay it: $program ${found:-}"
  return 1
}

run_afl() {
  program=$folder/fuzz/fuzz_$1 out=$folder/out/$1 log=$folder/$1.log
  rm -rf "$out"
  mkdir -p "$out" "$build/findings"
  dictionary=$root/fuzz/dict/$1.dict
  name=$1
  set -- -V "$seconds" -t 5000 -i "$root/fuzz/corpus/$name" -o "$out"
  [ ! -f "$dictionary" ] || set -- "$@" -x "$dictionary"
  code=0
  AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1 \
    AFL_QUIET=1 afl-fuzz "$@" -- "$program" >"$log" 2>&1 || code=$?
  stats=$out/default/fuzzer_stats
  if [ ! -f "$stats" ]; then
    tail -30 "$log"
    echo "$name: afl-fuzz failed with exit code $code"
    return 1
  fi
  sed -n -e 's/ *: */ /' -e 's/^execs_done/execs/p' -e 's/^edges_found/edges/p' \
    -e 's/^saved_crashes/crashes/p' "$stats" | tr '\n' ' ' | sed "s/^/$name: /"
  echo
  found=''
  for file in "$out"/default/crashes/id* "$out"/default/hangs/id*; do
    [ -f "$file" ] || continue
    found=$build/findings/$name-$(basename "$file" | tr ':,' '--')
    cp "$file" "$found"
    echo "$name: finding: $found"
    echo "$name: replay it: $program $found"
  done
  [ -z "$found" ]
}

run() {
  if [ "$engine" = afl ]; then run_afl "$1"; else run_libfuzzer "$1"; fi
}

[ "$target" = all ] || {
  run "$target" && exit 0
  exit 1
}
status=0
waiting=''
for target in $(targets); do
  run "$target" &
  waiting="$waiting $!"
  # shellcheck disable=SC2086  # a list of process ids
  set -- $waiting
  if [ $# -ge "$jobs" ]; then
    wait "$1" || status=1
    shift
    waiting="$*"
  fi
done
for process in $waiting; do
  wait "$process" || status=1
done
exit $status
