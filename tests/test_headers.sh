#!/bin/sh
# SPDX-License-Identifier: MIT
# The headers compile alone, twice in one file, and as the languages they promise.
# usage: test_headers.sh SOURCE_DIR BUILD_DIR c|c++-gcc|c++-clang|hip|cuda
set -eu
codec=$1/codec
language=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

find_first() {
  for candidate; do
    if command -v "$candidate" >/dev/null 2>&1; then
      echo "$candidate"
      return 0
    fi
  done
  echo "skipped: no $1 for the headers as $language" >&2
  exit 77
}

# translation_unit HEADER SUFFIX: includes it twice; on a device, calls it from a kernel.
translation_unit() {
  printf '#include "%s"\n#include "%s"\n' "$1" "$1" >"$scratch/unit.$2"
  case $language in
    hip | cuda)
      cat >>"$scratch/unit.$2" <<'C'
#include "mxgold_format.h"
KERNEL void mxg_test_kernel(size_t cols, size_t *out) {
  size_t bytes = 0;
  (void)mxg_payload_row_bytes(MXG_ELEMENT_E2M1, cols, &bytes);
  out[0] = bytes + mxg_scale_index(MXG_ORDER_AITER_SHUFFLE, 32, 8, cols, 3);
}
C
      ;;
    *) echo 'typedef int mxg_test_not_empty;' >>"$scratch/unit.$2" ;;
  esac
}

case $language in
  c)
    compiler=${CC:-cc}
    suffix=c
    set -- -std=c11 -pedantic-errors -Wall -Wextra -Wundef -Wshadow -Werror -fsyntax-only
    ;;
  c++-gcc | c++-clang)
    if [ "$language" = c++-gcc ]; then
      compiler=$(find_first g++-12 g++)
    else
      compiler=$(find_first clang++-22 clang++-14 clang++)
    fi
    suffix=cc
    set -- -std=c++11 -pedantic-errors -Wall -Wextra -Wundef -Wshadow -Werror -fsyntax-only
    ;;
  hip)
    compiler=$(find_first clang-22 clang-21 clang-20)
    suffix=hip
    set -- -x hip --offload-arch=gfx942 --offload-arch=gfx950 --offload-device-only -nogpuinc \
      -nogpulib "-DKERNEL=extern \"C\" __attribute__((global))" -Wall -Wextra -Werror -O2 -S \
      -emit-llvm
    ;;
  cuda)
    compiler=$(find_first nvcc /usr/local/cuda/bin/nvcc)
    suffix=cu
    set -- -arch=sm_90 "-DKERNEL=extern \"C\" __global__" -Werror all-warnings -ptx \
      -o "$scratch/unit.ptx"
    ;;
  *)
    echo "unknown language $language"
    exit 2
    ;;
esac

count=0
for header in mxgold_format.h element.h scale.h mxgold.h; do
  # mxgold.h is an interface for the host.
  case $language:$header in hip:mxgold.h | cuda:mxgold.h) continue ;; esac
  [ -f "$codec/$header" ] || {
    echo "FAIL: codec/$header is missing"
    exit 1
  }
  translation_unit "$header" "$suffix"
  (cd "$scratch" && "$compiler" "$@" "-I$codec" "unit.$suffix")
  count=$((count + 1))
done
echo "$compiler: $count headers"
