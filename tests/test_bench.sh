#!/bin/sh
# SPDX-License-Identifier: MIT
# mxgold bench: its rows are what docs/SPEED.md says, their bytes are right, bad options are refused.
# usage: test_bench.sh SOURCE_DIR BUILD_DIR
set -eu
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
rows=$build/tests/bench_rows
export LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "FAIL: $*"
  exit 1
}

# bench CODE OPTION...: ends with that exit code; out and err hold what it said.
bench() {
  wanted=$1
  shift
  code=0
  "$build/mxgold" bench "$@" >out 2>err || code=$?
  [ "$code" -eq "$wanted" ] || {
    cat err
    fail "mxgold bench $*: exit code $code, expected $wanted"
  }
}

# refuse TEXT OPTION...: exit code 2 at once, one line on stderr that says TEXT.
refuse() {
  text=$1
  shift
  bench 2 "$@"
  grep -qF -- "$text" err || fail "mxgold bench $*: stderr does not say: $text; it says: $(cat err)"
  [ "$(cat out err | wc -l)" -eq 1 ] || fail "mxgold bench $*: more than one line"
}

bench 0 --op quantize-mxfp4 --size token --seconds 0.01 --json
"$rows" quantize-mxfp4 <out || fail 'rows'

# A check that cannot fail is none.
for edit in 's/"equal": true/"equal": false/' 's/"spread"/"sprawl"/' 's/"ns": /"ns": -/' \
  's/"op": "memcpy"/"op": "memmove"/' 's/"impl": "ref"/"impl": "fer"/' 's/^]$//'; do
  sed "$edit" out >edited
  ! "$rows" quantize-mxfp4 <edited >/dev/null || fail "the check does not see $edit"
done

# Every operation and data set; what is compared is the same for every size.
bench 0 --size token --seconds 0.001 --data random,denormal-heavy,tie-heavy --json
sed -n 's/.*"op": "\([^"]*\)".*/\1/p' out | sort -u | grep -vxE 'read|copy|memcpy' >ops
[ "$(wc -l <ops)" -ge 16 ] || fail "only $(wc -l <ops) operations"
for op in quantize-mxfp4 quantize-mxfp8 quantize-fp8-128 quantize-mori-fp4 encode-e4m3 decode-e4m3 \
  dequantize-mxfp4 dequantize-mxfp8 dequantize-fp8-128 combine8-fp8-128 combine8-mxfp4; do
  grep -qx "$op" ops || fail "no operation $op"
done
# shellcheck disable=SC2046  # a list of names
"$rows" $(cat ops) <out || fail 'rows of all operations'

bench 0 --op encode-e4m3,combine8-mxfp4 --size token,l2 --threads 1 --seconds 0.001 --svg plot.svg
grep -q '^encode-e4m3 .*peer-scalar-cast' out || fail 'no peer in L2'
awk 'length($0) > 120 { exit 1 }' out || fail 'lines over 120 columns'
[ "$(grep -cE '^<svg |^</svg>$' plot.svg)" -eq 2 ] || fail 'no whole SVG'
[ "$(echo .* * | tr ' ' '\n' | grep -c mxgold)" -eq 0 ] || fail 'a temporary is left'

bench 0 --op decode-e4m3 --isa portable --size token --seconds 0.001 --markdown
grep -q '^| decode-e4m3 | codec portable | 1 | [0-9]' out || fail 'no Markdown row'

bench 0 --help
grep -q '^  mxgold bench' out || fail 'no example in --help'

refuse "did you mean 'quantize-mxfp4'" --op quantise-mxfp4
refuse 'choose of:' --op x
operations=$(sed 's/.*choose of: //' err)
for op in $operations; do # ./dev speed measures every one
  tr -s ' ,;' '\n' <"$source/dev" | grep -qx -- "$op" || fail "./dev speed leaves $op out"
done
refuse 'unknown name' --size l4
refuse 'unknown name' --data zeros
refuse 'unknown name' --isa sse9
case $(uname -m) in
  x86_64) refuse 'has no neon' --isa neon ;;
  *) refuse 'has no avx2' --isa avx2 ;;
esac
refuse '--threads' --threads 0
refuse '--threads' --threads 1000000
refuse '--seconds' --seconds 0
refuse '--seconds' --seconds nan
refuse 'choose one' --json --markdown
refuse 'takes no file' --json x.npy
bench 3 --svg /
[ ! -s out ] || fail 'a run before --svg was checked'
echo 'mxgold bench: rows, bytes, plot and messages'
