#!/bin/sh
# SPDX-License-Identifier: MIT
# The table of mxgold_ep against the recorded one, and the same over MPI where it was built.
# usage: test_ep.sh SOURCE_DIR BUILD_DIR [OPTION OF mxgold_ep]...
set -eu
table=$1/tests/ep_table.txt build=$2
shift 2
got=$(mktemp)
trap 'rm -f "$got" "$got.mpi" "$got.expected"' EXIT

"$build/mxgold_ep" "$@" | tee "$got"
# With options, the lines of the recorded table that they choose.
head -1 "$table" >"$got.expected"
awk -v options="$*" 'BEGIN { n = split(options, o, " "); for (i = 1; i < n; i += 2) want[o[i]] = o[i + 1] }
  NR > 1 && (!("--hidden" in want) || $1 == want["--hidden"]) &&
  (!("--top-k" in want) || $2 == want["--top-k"])' "$table" >>"$got.expected"
cmp "$got" "$got.expected" || {
  echo 'test_ep.sh: the table differs from the recorded one' >&2
  exit 1
}
if nm "$build/mxgold_ep" 2>/dev/null | grep -q __asan_init; then
  echo 'skipped: the same over MPI, Open MPI has leaks of its own'
elif [ -x "$build/mxgold_ep_mpi" ] && command -v mpirun >/dev/null; then
  mpirun --allow-run-as-root --oversubscribe -np 8 "$build/mxgold_ep_mpi" "$@" >"$got.mpi"
  cmp "$got" "$got.mpi"
  echo 'over MPI, 8 processes: the same table, every digest included'
else
  echo 'skipped: the same over MPI, no MPI found'
fi
