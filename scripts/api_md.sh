#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/API.md from the public headers, on standard output.
set -eu
cd "$(dirname "$0")/.."
cat <<'TEXT'
<!-- Written by scripts/api_md.sh from codec/mxgold.h and codec/mxgold_format.h: change those, then
     run ./dev docs. -->
# API

The comments of the two public headers, as a page. "Section n" is section n of [NUMERICS.md](NUMERICS.md); layouts are
described in [LAYOUT.md](LAYOUT.md), ways to link in [LINKING.md](LINKING.md).
TEXT
awk -f scripts/api_md.awk codec/mxgold.h
awk -f scripts/api_md.awk codec/mxgold_format.h
