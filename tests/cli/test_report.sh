#!/bin/sh
# SPDX-License-Identifier: MIT
# compare --report and verify --report: what the page says, that hostile names stay text, that it
# appears whole or not at all, and how a browser lays it out (skipped without chromium).
. "$(dirname "$0")/lib.sh"
program=${MXGOLD_PIPE_PROGRAM:?names the helper pipe_program}
OMP_NUM_THREADS=1
export OMP_NUM_THREADS

page() { # FILE TEXT...: the page is whole, below 1 MB, fetches nothing, and says every TEXT
  last="page $1"
  file=$1
  shift
  checks=$((checks + 1))
  [ -s "$file" ] || fail "there is no page"
  [ "$(wc -c <"$file")" -lt 1000000 ] || fail "the page has $(wc -c <"$file") bytes"
  tail -n 1 "$file" | grep -q '</html>' || fail "the page does not end"
  for text; do
    grep -qF -- "$text" "$file" || fail "the page does not say: $text"
  done
  grep -qE '<script|<link|<img|<iframe|src=|href=|@import|url\(|https?:' "$file" &&
    fail "the page has a script or fetches something: $(grep -oE '.{20}(<script|<link|src=|href=|https?:).{20}' "$file" | head -n 3)"
  [ "$(grep -o '<section' "$file" | wc -l)" -eq "$(grep -o '</section' "$file" | wc -l)" ] ||
    fail "sections are not balanced"
}

"$mk" values bf16 65536 3 >x.raw
x="--input x.raw --dtype bf16 --shape 16x4096 --recipe mxfp4"
run 0 quantize x.raw --dtype bf16 --shape 16x4096 --recipe mxfp4 --codes a.c --scales a.s
run 0 quantize x.raw --dtype bf16 --shape 16x4096 --recipe mxfp4,rule=even --codes b.c --scales b.s

# ---- the same, and different by a fault ----
# shellcheck disable=SC2086  # a list of options
run 0 compare --codes a.c --scales a.s $x --report same.html
page same.html "Same, byte for byte" "mxfp4" 'name=viewport' 'lang=en' "Totals"
grep -q 'Error by exponent' same.html && fail "a page of equal files has errors"
# shellcheck disable=SC2086
run 1 compare --codes b.c --scales b.s $x --report even.html
cp logs/out text
page even.html "is not what the recipe gives for" "explained by <strong>" "rule=even" \
  "16 of 16 rows have differences" "By place in the block" "Error by exponent" \
  "The first differences" 'role=img' 'aria-label="E2M1 ' 'aria-label="E8M0 ' 'aria-label="bf16 ' \
  "stronger: more of the cell" "a scale differs"
# the text is the same with and without a page, and so is its limit
# shellcheck disable=SC2086
run 1 compare --codes b.c --scales b.s $x
same text logs/out
# shellcheck disable=SC2086
run 1 compare --codes b.c --scales b.s $x --limit 1 --report one.html --json
[ "$(grep -c '"kind": "' logs/out)" -eq 1 ] || fail "--limit 1 lists more"
page one.html "24 of "
# one code alone: its bits, and where
first=$("$mk" cut 100 1 <a.c | "$mk" hex)
"$mk" patch 100 "$(echo "$first" | tr 0123456789ABCDEF 123456789ABCDEF0)" <a.c >c.c
# shellcheck disable=SC2086
run 1 compare --codes c.c --scales a.s $x --report c.html
page c.html "1 of 16 rows have differences: row 0, block 6" "Code at row 0, column 20" "<b class=x>"

# ---- values, and names that are markup ----
name='<script>alert(1)</script> & \u202e\u0007 \"q\"'
long=$(printf '%0500d' 0)
header="{\"$name\": {\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [0, 24]}, \"a<b>$long\": {\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [24, 48]}}"
"$mk" floats 1 2 3 4 5 6 1 2 3 4 5 6 >h.raw
"$mk" floats 1 2 3.5 4 5 6 1 2 3 4 inf 6 >i.raw
"$mk" safetensors "$header" <h.raw >h.safetensors
"$mk" safetensors "$header" <i.raw >i.safetensors
run 1 compare h.safetensors i.safetensors --report h.html
page h.html '&#60;script&#62;alert(1)&#60;/script&#62; &#38; \u{202E}\x07 &#34;q&#34;' \
  'a&#60;b&#62;0000' "2 values differ" "Value at row 0, column 2" "Value at row 1, column 1"
grep -q "$long" h.html && fail "a long name is not cut"
cp h.safetensors '<b>&.safetensors'
run 1 compare '<b>&.safetensors' i.safetensors --report h2.html
page h2.html '&#60;b&#62;&#38;.safetensors'
# a difference of a whole
run 1 compare x.raw a.s --report size.html
page size.html "As a whole"

# ---- a stream ----
for op in quantize dequantize combine; do
  "$tool" gen --recipe mori-fp8 --op $op --dtype f32,bf16 >cases
  "$program" mori-fp8,block=128,edges=ocp <cases >answers 2>logs/err || true
  "$program" <cases >answers
  run 0 verify --recipe mori-fp8 answers --report v.html
  page v.html "Same, byte for byte" "shapes"
done
"$tool" gen --recipe mxfp4 >cases
"$program" mxfp4,rule=even <cases >answers
run 1 verify --recipe mxfp4 answers --report v.html
page v.html "answers that can be read differ" "rule=even" "scale-borders" "case " "answer at line "
sed 50d answers >'cut'
run 3 verify --recipe mxfp4 cut --report v.html
page v.html "The stream is malformed" "case 48 has no answer"

# ---- large: the map is of a fixed size ----
"$mk" values bf16 2000000 7 >large.raw
run 0 quantize large.raw --dtype bf16 --shape 10000x200 --recipe mxfp4,block=2,rule=half --codes l.c --scales l.s
run 1 compare --codes l.c --scales l.s --input large.raw --dtype bf16 --shape 10000x200 --recipe mxfp4,block=2 \
  --report large.html --limit 100000
page large.html "rows 0&ndash;9,999" "(157 to a cell)" "100 of "

# ---- where it cannot be written ----
# shellcheck disable=SC2086
refuse 2 "is the input file x.raw" compare --codes b.c --scales b.s $x --report x.raw
# shellcheck disable=SC2086
refuse 2 "give the name of a file" compare --codes b.c --scales b.s $x --report -
mkdir folder
# shellcheck disable=SC2086
refuse 3 "is a directory" compare --codes b.c --scales b.s $x --report folder
# shellcheck disable=SC2086
refuse 3 "absent/p.html" compare --codes b.c --scales b.s $x --report absent/p.html
# shellcheck disable=SC2086
refuse 3 "absent.c: No such file" compare --codes absent.c --scales b.s $x --report new.html
if [ -c /dev/full ] && [ -w /dev/full ]; then
  # shellcheck disable=SC2086
  run 3 compare --codes b.c --scales b.s $x --report /dev/full
  says "No space left"
fi

# ---- a browser: nothing is wider than the screen, nothing is written on the console ----
browser=
for candidate in chromium chromium-browser google-chrome; do
  [ -n "$browser" ] || ! command -v "$candidate" >/dev/null 2>&1 || browser=$candidate
done
# Each page in a frame of each width, all in one browser; the title becomes "FILE WIDTH CONTENT ..."
# of those whose content is wider. The pages have no script: the frame's owner looks at them.
frames() {
  echo '<!DOCTYPE html><meta charset=utf-8><title>none</title><body>'
  for file; do
    for width in 320 390 1280; do
      printf '<iframe name="%s" width=%s height=800 srcdoc="' "$file" $width
      sed -e 's/&/\&amp;/g' -e 's/"/\&quot;/g' "$file"
      echo '"></iframe>'
    done
  done
  cat <<'SCRIPT'
<script>
onload = () => {
  let wide = "", count = 0;
  for (const frame of document.querySelectorAll("iframe")) {
    const root = frame.contentDocument.documentElement;
    if (root.clientWidth > 0 && root.querySelector("h1")) count++;
    if (root.scrollWidth > root.clientWidth)
      wide += frame.name + " " + frame.width + " " + root.scrollWidth + " ";
  }
  document.title = count + " measured; too wide: " + wide;
};
</script>
SCRIPT
}
browse() { # ARGUMENT...
  HOME=$here timeout 200 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    "$@" 2>/dev/null
}
if [ -z "$browser" ]; then
  echo 'skipped: how the page lies in a browser, no chromium'
else
  frames same.html even.html h.html v.html large.html >frames.html
  last="$browser --dump-dom frames.html"
  checks=$((checks + 1))
  browse --dump-dom "file://$here/frames.html" | sed -n 's/.*<title>\([^<]*\)<.*/\1/p' | head -n 1 >title
  if [ ! -s title ]; then
    echo 'skipped: how the page lies in a browser, chromium does not start here'
  else
    [ "$(cat title)" = "15 measured; too wide: " ] || fail "the browser says: $(cat title)"
    last="$browser --screenshot"
    checks=$((checks + 1))
    browse --screenshot="$here/shot.png" --window-size=390,844 "file://$here/even.html" >/dev/null
    [ "$(wc -c <shot.png)" -gt 10000 ] || fail "the screenshot is empty"
  fi
fi

finish
