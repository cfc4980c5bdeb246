#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/RECIPES.md from what the tool says of its presets. usage: recipes_md.sh MXGOLD_TOOL
set -eu
cat <<'TEXT'
<!-- Written by scripts/recipes_md.sh from `mxgold recipes`: change codec/presets.c, then run
     ./dev docs. -->
# Recipes

Each preset is a row of data in `codec/presets.c`: what a system computes, and how that is known. `mxgold recipes RECIPE`
shows one field by field; [NUMERICS.md](NUMERICS.md) says what the fields mean, and its section 9 how many bytes they
change. A convention that is not here is a preset and its differences: `mxfp4,rule=rceil,block=16`. For one recipe the
bytes never change; what turns out to be wrong gets a new value or a new row.

"Executed" means that the unmodified kernel ran and its outputs are recorded in `tests/data/upstream`, or that it was
measured on the machine named; "read" means that its public source was followed; "unverified" that neither could show it.

TEXT
"$1" recipes | awk '
  NR == 1 { next }
  /^[a-z]/ {
    name = $1
    keys = $5
    sub(/^element=[^,]*,scale=[^,]*,/, "", keys)
    sub(/^block=[^,]*,/, "", keys)
    gsub(/,/, ", ", keys)
    size = $4 == "-" ? "no scales" : $3 ", blocks of " $4
    printf "## %s\n\n%s, %s.\n\n", name, toupper($2), size
    next
  }
  { sub(/^ */, ""); printf "%s\n\n`%s`\n\n", $0, keys }' | sed -e '$d'
