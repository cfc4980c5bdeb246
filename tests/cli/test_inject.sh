#!/bin/sh
# SPDX-License-Identifier: MIT
# Every allocation and every output call of a command fails in turn: a message, an exit code that is
# not 0 or 1, the old output still there, no temporary. A failure that changes nothing may pass, with
# the right bytes. Then interrupts.
. "$(dirname "$0")/lib.sh"
library=${MXGOLD_INJECT_LIBRARY:?names the library to preload}

"$mk" values f32 2048 3 >x.raw
x="x.raw --dtype f32 --shape 8x256"
last="making the inputs"
"$tool" quantize $x --recipe mori-fp8 -o packed.safetensors
"$tool" quantize $x --recipe mxfp4 -o other.safetensors

# Does preloading work here? A sanitized tool brings its own malloc.
rm -f logs/injected
MXGOLD_INJECT=malloc:1 MXGOLD_INJECT_LOG=$here/logs/injected LD_PRELOAD=$library \
  "$tool" recipes >logs/out 2>logs/err
if [ ! -s logs/injected ] || nm -D "$tool" 2>/dev/null | grep -q -e __asan_init -e __ubsan_handle; then
  echo 'skipped: injected failures, the library cannot be preloaded into this tool'
  exit 77
fi

# inject CODE OUTPUT COMMAND...: with failure number 1, 2, ... of each kind until none is left. CODE
# is what the command itself ends with; OUTPUT is the file that it writes, or logs/out.
inject() {
  code=$1 output=$2
  shift 2
  last="mxgold $*"
  "$tool" "$@" >logs/out 2>logs/err
  [ $? -eq "$code" ] || fail "without a failure the exit code is not $code"
  cp "$output" logs/right
  for kind in malloc write short rename close open mmap; do
    number=1
    while :; do
      [ "$output" = logs/out ] || echo 'an old output' >"$output"
      rm -f logs/injected
      last="$kind $number: mxgold $*"
      checks=$((checks + 1))
      MXGOLD_INJECT=$kind:$number MXGOLD_INJECT_LOG=$here/logs/injected LD_PRELOAD=$library \
        "$tool" "$@" >logs/out 2>logs/err
      got=$?
      [ -s logs/injected ] || break
      if [ "$got" -eq "$code" ]; then
        cmp -s "$output" logs/right || fail 'it went on, with other bytes'
      else
        [ "$got" -eq 2 ] || [ "$got" -eq 3 ] || fail "exit code $got"
        [ -s logs/err ] || fail 'no message'
        [ "$output" = logs/out ] || [ "$(cat "$output")" = 'an old output' ] ||
          fail 'the old output is lost'
      fi
      for left in .mxgold-*; do
        [ ! -e "$left" ] || fail "left behind: $left"
        rm -f "$left"
      done
      number=$((number + 1))
      [ "$number" -lt 2000 ] || fail 'it never ends'
    done
    echo "$kind: $((number - 1)) failures: mxgold $1"
  done
}

inject 0 out.safetensors quantize $x --recipe mori-fp8 -o out.safetensors
inject 0 out.npy dequantize packed.safetensors --to bf16 -o out.npy
inject 0 out.npy combine packed.safetensors - packed.safetensors -o out.npy
inject 0 logs/out compare packed.safetensors --input $x --json
inject 1 logs/out compare packed.safetensors other.safetensors
inject 0 logs/out error packed.safetensors $x --json
inject 0 logs/out layout --recipe mxfp4 --rows 3 --cols 7168 --json
inject 0 logs/out info

# ---- an interrupt during a long command ----
"$mk" values f32 16777216 3 >big.raw
for signal in INT TERM HUP; do
  last="mxgold quantize, then SIG$signal"
  checks=$((checks + 1))
  rm -f big.out .mxgold-*
  # the golden model takes a second or more for it
  env --default-signal="$signal" "$tool" quantize big.raw --dtype f32 --shape 16384x1024 \
    --recipe mxfp4 --impl ref -o big.out \
    >logs/out 2>logs/err &
  child=$!
  tries=0
  while ! ls .mxgold-* >/dev/null 2>&1 && [ "$tries" -lt 1000 ]; do
    sleep 0.01
    tries=$((tries + 1))
  done
  ls .mxgold-* >/dev/null 2>&1 || fail 'no temporary was seen'
  kill -s "$signal" "$child"
  wait "$child"
  got=$?
  [ "$got" -gt 128 ] || fail "exit code $got after the signal"
  ls .mxgold-* big.out >/dev/null 2>&1 && fail 'something is left behind'
done

# ---- a closed pipe ----
last="mxgold quantize into a closed pipe"
checks=$((checks + 1))
{
  "$tool" quantize big.raw --dtype f32 --shape 16384x1024 --recipe mxfp4 -o - 2>logs/err
  echo $? >logs/code
} | head -c 10 >logs/out
[ "$(cat logs/code)" -eq 3 ] || fail "exit code $(cat logs/code)"
says "Broken pipe"
finish
