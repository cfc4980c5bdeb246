# SPDX-License-Identifier: MIT
# lib.sh: what the tests of the tool share. Source it with MXGOLD_TOOL, MXGOLD_MKTENSOR and
# MXGOLD_DATA set; the test then runs in an empty folder of its own.
set -u
tool=${MXGOLD_TOOL:?names the mxgold tool}
mk=${MXGOLD_MKTENSOR:?names the helper mktensor}
data=${MXGOLD_DATA:?names the folder of recorded kernel outputs}
LC_ALL=C
export LC_ALL

here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
chmod 755 "$here"
cd "$here" || exit 1
mkdir logs
failures=0
checks=0

fail() {
  failures=$((failures + 1))
  echo "FAIL: $*"
  echo "  command: $last"
  sed 's/^/  stderr: /' logs/err
}

# run CODE COMMAND...: the tool ends with that exit code; logs/out and logs/err hold what it said.
run() {
  wanted=$1
  shift
  last="mxgold $*"
  checks=$((checks + 1))
  code=0
  "$tool" "$@" >logs/out 2>logs/err || code=$?
  [ "$code" -eq "$wanted" ] || fail "exit code $code, expected $wanted"
}

# refuse CODE TEXT COMMAND...: ends with the code, says TEXT on stderr in one line that names the
# tool, prints nothing on stdout, and leaves every file in the folder as it was.
refuse() {
  wanted=$1
  text=$2
  shift 2
  snapshot >logs/before
  run "$wanted" "$@"
  says "$text"
  [ "$(wc -l <logs/err)" -eq 1 ] || fail "more or less than one line on stderr"
  grep -q '^mxgold' logs/err || fail "the message does not name the tool"
  [ -s logs/out ] && fail "a refused command printed on stdout"
  snapshot >logs/after
  cmp -s logs/before logs/after || fail "files changed: $(diff logs/before logs/after)"
}

snapshot() {
  find . -path ./logs -prune -o -type f -exec cksum {} + | sort
}

says() {
  grep -qF -- "$1" logs/err || fail "stderr does not say: $1"
}

prints() {
  grep -qF -- "$1" logs/out || fail "stdout does not say: $1; it says: $(head -n 30 logs/out)"
}

# number KEY VALUE: a line `"KEY": VALUE` of the JSON on stdout.
number() {
  grep -qE "\"$1\": $2,?\$" logs/out || fail "\"$1\" is not $2: $(grep "\"$1\"" logs/out)"
}

same() {
  last="cmp $1 $2"
  checks=$((checks + 1))
  cmp "$1" "$2" >logs/err 2>&1 || fail "$1 and $2 differ"
}

size() {
  last="size of $1"
  checks=$((checks + 1))
  bytes=$(wc -c <"$1")
  [ "$bytes" -eq "$2" ] || fail "$1 has $bytes bytes, expected $2"
}

hex() {
  last="content of $1"
  checks=$((checks + 1))
  found=$("$mk" hex <"$1")
  [ "$found" = "$2" ] || fail "$1 is $found, expected $2"
}

finish() {
  echo "$checks checks, $failures failures"
  [ "$failures" -eq 0 ]
  exit $?
}
