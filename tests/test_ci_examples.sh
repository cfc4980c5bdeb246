#!/bin/sh
# SPDX-License-Identifier: MIT
# The steps of examples/ci/*.yml as a runner would run them, after the ones that install mxgold: a
# right program passes, a wrong one does not, files are compared, and docs/CI.md shows the files.
# usage: test_ci_examples.sh SOURCE_DIR BUILD_DIR
set -eu
root=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
fail() {
  echo "FAIL: $1"
  failures=$((failures + 1))
}

# The page shows both files as they are.
for file in github-action.yml gitlab-ci.yml; do
  awk -v page="$root/docs/CI.md" '
    BEGIN { while ((getline line < page) > 0) text = text line "\n" }
    { whole = whole $0 "\n" }
    END { exit index(text, "```yaml\n" whole "```\n") == 0 }' "$root/examples/ci/$file" ||
    fail "docs/CI.md does not show examples/ci/$file"
done

# They are YAML, and GitHub's has the steps that are run here.
if /usr/bin/python3 -c 'import yaml' 2>/dev/null; then
  /usr/bin/python3 - "$root/examples/ci" <<'PY' || fail 'not the YAML that it should be'
import sys, yaml
action = yaml.safe_load(open(sys.argv[1] + "/github-action.yml"))
assert action["jobs"]["bytes"]["steps"][1]["run"] and "workflow_call" in action[True]
gitlab = yaml.safe_load(open(sys.argv[1] + "/gitlab-ci.yml"))
assert all(isinstance(line, str) for line in gitlab["mxgold"]["script"])
PY
else
  echo 'skipped: no python3-yaml to read the files with'
fi

# github STEP: the commands of a step; gitlab: those of `script`.
github() {
  awk -v step="      - name: $1" '
    $0 == step { on = 1; next }
    on && /^      - / { exit }
    on && sub(/^        run: /, "") { if ($0 != "|") print; next }
    on { sub(/^          /, ""); print }' "$root/examples/ci/github-action.yml"
}
gitlab() {
  awk '
    /^  script:$/ { on = 1; next }
    on && /^    - \|$/ { next }
    on && sub(/^    - /, "") { print; next }
    on { sub(/^      /, ""); print }' "$root/examples/ci/gitlab-ci.yml"
}
{
  github 'Build the program'
  github 'Every case of each recipe through the program'
  github 'Files of the kernel, byte by byte'
} >"$scratch/github.sh"
gitlab >"$scratch/gitlab.sh"
for name in github gitlab; do
  [ "$(wc -l <"$scratch/$name.sh")" -ge 7 ] || fail "found few steps of $name"
done

# A checkout of a project with a kernel, and files that it has written.
mkdir -p "$scratch/checkout/examples" "$scratch/prefix/bin"
ln -s "$build/mxgold" "$scratch/prefix/bin/mxgold"
cp "$root/examples/pipe_quantize.c" "$scratch/checkout/examples/"
cd "$scratch/checkout"
"$build/mxgold" quantize "$root/data/silero_vad_v5_lstm_weight_ih_f32.npy" --recipe mxfp4 \
  --codes codes.bin --scales scales.bin
cp "$root/data/silero_vad_v5_lstm_weight_ih_f32.npy" x.npy
files='--codes codes.bin --scales scales.bin --input x.npy --recipe'

# job WANTED NAME ENVIRONMENT...: a job of that name passes or fails.
job() {
  wanted=$1
  name=$2
  shift 2
  # The shells that runners use.
  case $name in
    github) shell='bash --noprofile --norc -eo pipefail' ;;
    *) shell='sh -e' ;;
  esac
  result=passes
  # shellcheck disable=SC2086  # a shell and its options
  env BUILD='cc -O2 -o my_kernel examples/pipe_quantize.c' PROGRAM=./my_kernel RECIPES=mxfp4 \
    LEVEL=1 FILES= MXGOLD_PREFIX="$scratch/prefix" PATH="$scratch/prefix/bin:$PATH" "$@" \
    $shell "$scratch/$name.sh" >"$scratch/log" 2>&1 || result=fails
  [ "$result" = "$wanted" ] || {
    cat "$scratch/log"
    fail "$name with $* $result"
  }
}

for name in github gitlab; do
  job passes "$name"
  job passes "$name" "FILES=$files mxfp4"
  job fails "$name" RECIPES='mxfp8'
  job fails "$name" RECIPES='mxfp4,rule=even mxfp4'
  job fails "$name" RECIPES='mxfp4 no-such-recipe'
  job fails "$name" "FILES=$files mxfp4,rule=rceil
$files mxfp4"
  job fails "$name" PROGRAM=cat
  echo "$name: 7 jobs end as they should"
done
[ "$failures" = 0 ]
