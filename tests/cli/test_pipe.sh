#!/bin/sh
# SPDX-License-Identifier: MIT
# gen | program | verify: every operation in both formats, what is wrong with a stream, and the
# example programs, right and with planted faults.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/pipe.sh"

# ---- every operation and format; the answers come from the library and are right ----
for recipe in mxfp4 mori-fp8 mxfp6-e2m3,block=7 mori-fp8-direct; do
  for op in quantize dequantize combine; do
    for format in text binary; do
      answer "--recipe $recipe --op $op --format $format --seed 3 --dtype bf16,f32"
      run 0 verify --recipe "$recipe" answers
      prints "same: all"
      prints "($op, seed 3, level 1)"
      # what it does not name is taken from the stream, what it names must agree
      run 0 verify answers --seed 3 --level 1 --op "$op" --json
      prints '"same": true'
    done
  done
done
answer "--recipe megamoe-fp8-32 --row-weights"
run 0 verify --recipe megamoe-fp8-32 answers
answer "--recipe mxfp4 --level 2 --format binary --dtype bf16"
run 0 verify --recipe mxfp4 --impl ref answers
for shape in "--rows 3" "--cols 7168 --dtype f32" "--rows 2 --cols 101" "--rows 0" "--cols 0"; do
  answer "--recipe mxfp4 $shape"
  run 0 verify --recipe mxfp4 answers
done
for top_k in 0 1 9 64; do
  answer "--recipe mori-fp4 --op combine --top-k $top_k --rows 2 --cols 130"
  run 0 verify --recipe mori-fp4 answers
done

# ---- gen: the same stream for the same options, another for another seed ----
run 0 gen --recipe mxfp4
cp logs/out first
run 0 gen --recipe mxfp4 --seed 1 --level 1 -o second
same first second
run 0 gen --recipe mxfp4 --seed 2
cmp -s first logs/out && fail "two seeds give one stream"
last="gen | head"
"$tool" gen --recipe mxfp4 --level 2 2>logs/err | head -n 1 >logs/out
prints "# mxgold-cases 1 recipe=mxfp4 op=quantize seed=1 level=2 format=text dtype=f32,f16,bf16 cases="
[ -s logs/err ] && fail "gen complains about a closed pipe"
# every bf16 and f16 pattern is there at level 2
run 0 gen --recipe mxfp8 --level 2 --dtype bf16,f16
for dtype in bf16 f16; do
  patterns=$(awk -v d=$dtype '$2 == d { for (i = 1; i < length($5); i += 4) print substr($5, i, 4) }' \
    logs/out | sort -u | wc -l)
  [ "$patterns" -eq 65536 ] || fail "$patterns patterns of $dtype, not 65536"
done
refuse 2 "--recipe is needed" gen
refuse 2 "--level: '3' is not known" gen --recipe mxfp4 --level 3
refuse 2 "--seed: 'x' is no number" gen --recipe mxfp4 --seed x
refuse 2 "--op: 'sum' is not known" gen --recipe mxfp4 --op sum
refuse 2 "--dtype: 'f64'" gen --recipe mxfp4 --dtype f64
refuse 2 "--format: 'json' is not known" gen --recipe mxfp4 --format json
refuse 2 "--top-k goes with --op combine" gen --recipe mxfp4 --top-k 8
refuse 2 "more than a case may hold" gen --recipe mxfp4 --rows 99999999 --cols 99999999
refuse 2 "takes no file" gen --recipe mxfp4 x

# ---- what is wrong with a stream; line 50 answers case 48 ----
answer "--recipe mxfp4"
cp answers whole
wrong() { # CODE KIND TEXT: what verify says of the file answers
  run "$1" verify --recipe mxfp4 answers
  says "$2"
  says "$3"
  run "$1" verify --recipe mxfp4 answers --json
  prints "\"kind\": \"$2\""
  prints '"same": false'
}
: >answers
wrong 3 truncated "empty: the program printed nothing"
tail -n +2 whole >answers
wrong 3 header "must copy lines that begin with '#'"
sed '1i using device 0' whole >answers
wrong 3 header "no header but 'using device 0'"
sed '50i using device 0' whole >answers
wrong 3 malformed "line 50: 'using device 0' does not begin with"
sed 50,52d whole >answers
wrong 3 missing "cases 48 to 50 have no answer"
sed 50d whole >answers
wrong 3 missing "case 48 has no answer"
sed 50p whole >answers
wrong 3 duplicated "line 51: case 48 was answered before, line 50"
sed '50{h;d};51{G}' whole >answers
wrong 3 reordered "line 51: case 48 is answered behind case 49"
(cat whole && echo '502 00 00') >answers
wrong 3 extra "there is no case 502: the last one is 501"
sed '50s/.$/G/' whole >answers
wrong 3 malformed "in SCALES, is 'G'"
sed '50s/.$//' whole >answers
wrong 3 malformed "SCALES has 15 hexadecimal digits"
sed '50s/$/ 00/' whole >answers
wrong 3 malformed "more than 3 fields"
sed '50s/ .*//' whole >answers
wrong 3 malformed "1 fields, 3 expected"
sed '50s/^/0x/' whole >answers
wrong 3 malformed "line 50"
tr 0 '\000' <whole >answers
wrong 3 header "no header"
sed '1s/cases=502/cases=501/' whole >answers
wrong 3 header "it says cases=501, its plan has 502"
sed '1s/mxgold-cases 1/mxgold-cases 2/' whole >answers
wrong 3 header "version '2'"
sed '1s/seed=1 //' whole >answers
wrong 3 header "the header lacks seed"
sed '1s/level=1/level=x/' whole >answers
wrong 3 header "'level=x' is not valid"
head -n 100 whole >answers
wrong 3 truncated "the answers end with case 98, 403 of 502 cases are left"
head -n 1 whole >answers
wrong 3 truncated "none of 502 cases is answered"
head -c 20000 whole >answers
wrong 3 truncated "the stream ends inside the answer to case 71"
head -c 100000000 /dev/zero >answers
wrong 3 header "no header"
(head -n 1 whole && head -c 100000000 /dev/zero | tr '\000' 7) >answers
wrong 3 malformed "longer than"
# another size is a difference, as it is in compare
sed '50s/..$//' whole >answers
run 1 verify --recipe mxfp4 answers
prints "size: line 50: case 48, 1x256: scales have 7 bytes, 8 expected"
prints "different: 1 of 502 answers are not what mxfp4 gives"
# what is no fault: other ends of lines, comments, empty lines, small letters, a missing last newline
sed -e 's/$/\r/' whole >answers
run 0 verify --recipe mxfp4 answers
sed -e '40i # a remark' -e 60G whole | tr A-F a-f >answers
run 0 verify answers --recipe mxfp4
head -c -1 whole >answers
run 0 verify --recipe mxfp4 answers
# a lost header can be told
tail -n +2 whole >answers
run 0 verify --recipe mxfp4 answers --seed 1 --level 1
# contradictions
refuse 2 "made with --recipe mxfp4, not mxfp8" verify --recipe mxfp8 whole
refuse 2 "made with --seed 1, not 2" verify --recipe mxfp4 --seed 2 whole
refuse 2 "made with --level 1, not 2" verify --recipe mxfp4 --level 2 whole
refuse 2 "made with --op quantize, not combine" verify --recipe mxfp4 --op combine whole
refuse 2 "made with --cols varied" verify --recipe mxfp4 --cols 32 whole
refuse 2 "2 files given" verify --recipe mxfp4 whole whole
refuse 3 "absent: No such file" verify --recipe mxfp4 absent

# ---- the same in binary; answers begin at offset 100, of 16 + 128 + 8 bytes the first ----
answer "--recipe mxfp4 --format binary"
cp answers whole
bytes=$(wc -c <whole)
start=$(head -n 1 whole | wc -c)
"$mk" patch "$start" 58 <whole >answers
wrong 3 malformed "offset $start: 58 58 47 41 where an answer begins"
"$mk" patch $((start + 8)) FF FF FF FF <whole >answers
wrong 3 malformed "more than any"
"$mk" patch $((start + 8)) 7F <whole >answers
wrong 3 malformed "does the one before it have the bytes"
"$mk" patch $((start + 4)) 01 <whole >answers
wrong 3 duplicated "case 1 was answered before, offset $start"
head -c $((bytes - 1)) <whole >answers
wrong 3 truncated "the stream ends inside the answer to case 501"
head -c $((start + 5)) <whole >answers
wrong 3 truncated "the stream ends 5 bytes into an answer"
head -c $((start + 152)) <whole >answers
wrong 3 truncated "the answers end with case 0"
tail -n +2 whole >answers
wrong 3 header "there is none"
tail -c $((bytes - start)) <whole >answers
run 0 verify --recipe mxfp4 answers --seed 1 --level 1

# ---- differences say where, in the terms of compare ----
answer "--recipe mxfp4" "$program" mxfp4,rule=even
run 1 verify --recipe mxfp4 answers --json
number op '"quantize"'
number level 1
prints '"section": '
prints '"place": "line '
prints '"got_scale_bits"'
run 1 verify --recipe mxfp4 answers
prints "differ"
prints "case "
for pair in "mxfp8 mxfp8,edges=float dequantize" "mori-fp8 mori-fp8,accumulate=mul_add combine"; do
  # shellcheck disable=SC2086  # three words
  set -- $pair
  answer "--recipe $1 --op $3" "$program" "$2"
  run 1 verify --recipe "$1" answers --json
  number kind '"value"'
  prints '"want_bits"'
done

# ---- the examples ----
last="cc pipe_quantize.c"
"$cc" "$examples/pipe_quantize.c" -o quantize 2>logs/err || fail "exit code $?"
for level in 1 2; do
  answer "--recipe mxfp4 --level $level" ./quantize
  run 0 verify --recipe mxfp4 answers
done
# ... and with faults in them: the diagnosis names the fault first
first_model() { # MODEL: of the JSON on stdout
  found=$(sed -n 's/.*"model": "\(.*\)".*/\1/p' logs/out | head -n 1)
  [ "$found" = "$1" ] || fail "the diagnosis is '$found', expected '$1'"
}
mutant() { # MODEL SED
  sed "$2" "$examples/pipe_quantize.c" >mutant.c
  last="sed $2"
  cmp -s mutant.c "$examples/pipe_quantize.c" && fail "changes nothing"
  "$cc" mutant.c -o mutant 2>logs/err || fail "does not compile"
  answer "--recipe mxfp4 --dtype bf16" ./mutant
  run 1 verify --recipe mxfp4 answers --json
  first_model "$1"
}
mutant ties-away 's/ && code % 2/ \&\& 1/'
mutant rule=even 's/(int)(largest >> 23)/(int)((largest + 0x200000) >> 23)/'

python=
for candidate in python3 /usr/bin/python3; do
  [ -n "$python" ] || ! "$candidate" -c 'import struct' 2>/dev/null || python=$candidate
done
if [ -n "$python" ]; then
  for format in text binary; do
    answer "--recipe mxfp8 --format $format" "$python" "$examples/pipe_quantize.py"
    run 0 verify --recipe mxfp8 answers
  done
else
  echo 'skipped: examples/pipe_quantize.py, no python3'
fi

finish
