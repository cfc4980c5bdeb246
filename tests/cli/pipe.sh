# SPDX-License-Identifier: MIT
# pipe.sh: the program between gen and verify. Source it behind lib.sh, with MXGOLD_PIPE_PROGRAM and
# MXGOLD_EXAMPLES set.
program=${MXGOLD_PIPE_PROGRAM:?names the helper pipe_program}
examples=${MXGOLD_EXAMPLES:?names the folder of examples}
cc=${CC:-cc}
# The cases are small: threads would only wait for each other.
OMP_NUM_THREADS=1
export OMP_NUM_THREADS

# answer "GEN OPTIONS" [PROGRAM...]: the program's answers to these cases, as the file answers
answer() {
  options=$1
  shift
  last="mxgold gen $options | ${*:-pipe_program}"
  # shellcheck disable=SC2086  # a list of options
  "$tool" gen $options >cases 2>logs/err || fail "gen: exit code $?"
  "${@:-$program}" <cases >answers 2>logs/err || fail "program: exit code $?"
}
