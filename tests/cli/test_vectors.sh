#!/bin/sh
# SPDX-License-Identifier: MIT
# vectors: what stands in tests/vectors is what the tool writes; the programs of its README run.
. "$(dirname "$0")/lib.sh"
kept=${MXGOLD_DATA%/tests/*}/tests/vectors

run 0 vectors deep/er/out
prints "37 recipes"
prints "digests.txt"
[ "$(find deep/er/out -type f | wc -l)" -eq 38 ] || fail "not 38 files"
find deep/er/out -name '.*' -type f | grep -q . && fail "a temporary was left"
for file in deep/er/out/*; do
  same "$file" "$kept/$(basename "$file")"
done
[ "$(find "$kept" -maxdepth 1 -name '*.json' | wc -l)" -eq 37 ] || fail "tests/vectors has files that the tool does not write"
[ "$(cat "$kept"/*.json "$kept"/digests.txt | wc -c)" -lt 1500000 ] || fail "the vectors are large"

run 0 vectors --help
prints "Example:"
run 2 vectors
says "one folder"
run 2 vectors a b
run 2 vectors x --slice +87
says "--check-digests"
refuse 3 "cannot make this folder" vectors deep/er/out/mxfp4.json
refuse 3 "cannot make this folder" vectors deep/er/out/mxfp4.json/sub

# ---- the codes of one slice ----
# every f32 of [256, 512) by the plain cast; the tool reads raw values
"$mk" slice 43800000 >slice.raw
size slice.raw 33554432
"$tool" quantize slice.raw --dtype f32 --shape 1x8388608 --recipe mori-fp8-direct \
  --codes good.codes >logs/out 2>&1 || fail "quantize: $(cat logs/out)"
size good.codes 8388608
run 0 vectors --check-digests good.codes --recipe mori-fp8-direct --slice +87
prints "same: good.codes: element=e4m3fn nan_element=code overflow=nonfinite, 1 slice"
# saturating instead: everything above 464 differs
run 1 vectors --check-digests good.codes --recipe mori-fp8-direct-sat --slice +87
prints "exponent field 87, sign +, 256 <= |x| < 512: 1572863 of 8388608 codes differ"
prints "(43E80001): got 7F, want 7E"
run 1 vectors --check-digests good.codes --recipe mori-fp8-direct --slice -87
prints "8388608 of 8388608 codes differ"
"$tool" vectors --check-digests - --recipe mori-fp8-direct --slice +87 <good.codes >logs/out ||
  fail "from standard input"
refuse 3 "8388608 bytes: all f32 (no --slice) is 4294967296 codes" \
  vectors --check-digests good.codes --recipe mori-fp8-direct
refuse 3 "is 8388608 codes" vectors --check-digests slice.raw --recipe mori-fp8-direct --slice +87
for slice in 87 +8 +877 +8g x87; do
  refuse 2 "is no slice" vectors --check-digests good.codes --recipe mxfp8 --slice $slice
done
refuse 2 "--recipe is needed" vectors --check-digests good.codes --slice +87
refuse 2 "did you mean" vectors --check-digests good.codes --recipe mxfp9 --slice +87

# ---- the programs of README.md ----
program() { # NAME: the code block below the line <!-- NAME -->
  sed -n "/^<!-- $1 -->\$/,/^\`\`\`\$/p" "$kept/README.md" | sed -e '1,2d' -e '$d' >"$1"
  [ -s "$1" ] || fail "README.md has no $1"
}
python() {
  last="python3 $*"
  checks=$((checks + 1))
  code=0
  python3 "$@" >logs/out 2>logs/err || code=$?
}
if command -v python3 >/dev/null; then
  program check_mxfp4.py
  python check_mxfp4.py "$kept/mxfp4.json"
  [ "$code" -eq 0 ] || fail "exit code $code: $(tail -n 1 logs/err)"
  prints " tests, 0 wrong"
  # and it sees a wrong byte
  sed '0,/"codes": "../s/"codes": "[0-9A-F][0-9A-F]/"codes": "11/' "$kept/mxfp4.json" >wrong.json
  python check_mxfp4.py wrong.json
  [ "$code" -eq 1 ] || fail "exit code $code, expected 1"
  prints "TieToEven: half-way values"

  program check_slice.py
  policy="element=e4m3fn nan_element=code overflow=nonfinite"
  python check_slice.py "$kept/digests.txt" "$policy" +87 good.codes
  [ "$code" -eq 0 ] || fail "exit code $code: $(tail -n 1 logs/err)"
  python check_slice.py "$kept/digests.txt" "$policy" +88 good.codes
  [ "$code" -eq 1 ] || fail "exit code $code, expected 1"
  prints "different: sign +, exponent field 88"

  program generate.py
  for src in f32 f16 bf16; do
    last="generate.py $src"
    python3 generate.py $src >generated.raw || fail "generate.py $src"
    run 0 quantize generated.raw --dtype $src --shape 64x416 --recipe mori-fp8 --codes g.codes --scales g.scales
    python -c "
import zlib
print('preset mori-fp8 src=$src codes:%08X scales:%08X' % tuple(zlib.crc32(open(f, 'rb').read()) for f in ('g.codes', 'g.scales')))"
    grep -qF "$(cat logs/out) y:" "$kept/digests.txt" || fail "digests.txt has not: $(cat logs/out)"
  done
else
  echo 'skipped: the programs of tests/vectors/README.md, python3 is missing'
fi
if python3 -c 'import jsonschema' 2>/dev/null; then
  python -c "
import glob, json, jsonschema
schema = json.load(open('$kept/schema/vectors.schema.json'))
jsonschema.Draft7Validator.check_schema(schema)
for file in glob.glob('$kept/*.json'):
    jsonschema.validate(json.load(open(file)), schema)"
  [ "$code" -eq 0 ] || fail "exit code $code: $(tail -n 1 logs/err)"
else
  echo 'skipped: the schema by a second validator, python3-jsonschema is missing'
fi
finish
