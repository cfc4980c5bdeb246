#!/bin/sh
# SPDX-License-Identifier: MIT
# --help of every command, the manual page and docs/TOOL.md: one source, nothing missing in any.
. "$(dirname "$0")/lib.sh"
page=${MXGOLD_TOOL_PAGE:?names docs/TOOL.md}

run 0 --help
sed -n '/^Usage:/,/^`mxgold COMMAND/s/^  \([a-z0-9-]*\)  *\(.*\)$/\1/p' logs/out >commands
[ "$(wc -l <commands)" -ge 10 ] || fail "--help lists $(wc -l <commands) commands"
run 0 help --man
cp logs/out manual
run 0 help --markdown
cp logs/out markdown

# ---- the manual page ----
if command -v mandoc >/dev/null 2>&1; then
  last="mandoc -T lint"
  checks=$((checks + 1))
  mandoc -T lint -W all manual >logs/out 2>logs/err || true
  [ ! -s logs/out ] || fail "mandoc says: $(head -n 5 logs/out)"
else
  echo "skipped: no mandoc to check the manual page with"
fi

# ---- every command: help with usage, example and exit codes, and the same in the pages ----
options=0
while read -r command; do
  run 0 "$command" --help
  cp logs/out by_option
  prints "Usage: mxgold $command"
  prints "Example:"
  prints "  mxgold $command"
  prints "Exit codes: "
  run 0 help "$command"
  same by_option logs/out
  grep -q "^| \`$command\` | " markdown || fail "help --markdown does not list $command"
  grep -q "^\.Ss mxgold $command\$" manual || fail "the manual page has no $command"
  sed -n "/^### mxgold $command\$/,/^### /p" markdown >section
  sed -n "/^\.Ss mxgold $command\$/,/^\.S[sh] /p" manual | sed '1d;$d' | tr -d '\134' >man_section
  grep -q "^mxgold $command" man_section || fail "the manual page has no usage of $command"
  grep -q '^Exit codes: ' man_section || fail "the manual page has no exit codes of $command"
  # Options as --help spells them: "  -o, --output=OUT".
  sed -n 's/^ *\(-[a-zA-Z], \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' by_option >long
  [ -s long ] || fail "--help of $command lists no option"
  while read -r option; do
    options=$((options + 1))
    grep -qE -- "^\| \`(-., )?${option}[\` ]" section || fail "help --markdown: $command has no $option"
    [ "$option" = --help ] ||
      grep -qE -- "^\.It .*Fl ${option#-}( |\$)" man_section || fail "manual page: $command has no $option"
  done <long
done <commands
[ "$options" -gt 50 ] || fail "looked at $options options only"

# ---- docs/TOOL.md has it all, as it is ----
last="docs/TOOL.md"
checks=$((checks + 1))
sed -n '/^<!-- begin: mxgold help --markdown -->$/,/^<!-- end -->$/p' "$page" | sed '1d;$d' >written
cmp -s written markdown ||
  fail "it is not what the tool says; ./dev docs writes it anew: $(diff written markdown | head -n 5)"

# ---- errors ----
refuse 2 "unknown command 'quantise'" help quantise
refuse 2 "takes one command" help quantize compare
refuse 2 "takes one command" help --man --markdown
finish
