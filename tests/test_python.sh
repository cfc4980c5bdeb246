#!/bin/sh
# SPDX-License-Identifier: MIT
# The Python binding and the pytest example. usage: test_python.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1 build=$2
# Debian's own python has Debian's numpy and pytest; another one may come first in PATH.
for python in /usr/bin/python3 python3; do
  "$python" -c 'import numpy, pytest' 2>/dev/null && break
  python=
done
if [ -z "$python" ]; then
  echo 'skipped: the Python binding, no numpy or no pytest (Debian: python3-numpy python3-pytest)'
  exit 77
fi
MXGOLD_LIBRARY=$(find "$build" -maxdepth 1 -name 'libmxgold.so' | head -1)
MXGOLD_TOOL=$build/mxgold
export MXGOLD_LIBRARY MXGOLD_TOOL
if [ -z "$MXGOLD_LIBRARY" ] || [ ! -x "$MXGOLD_TOOL" ]; then
  echo 'skipped: the Python binding, no shared library or no tool in this build'
  exit 77
fi
if nm -D "$MXGOLD_LIBRARY" | grep -q -e __asan_init -e __msan_init -e __tsan_init; then
  echo 'skipped: the Python binding, python does not load a library with a sanitizer'
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$source/python "$python" -m pytest -q -rs -p no:cacheprovider \
  "$source/python/tests" "$source/examples/test_my_kernel.py"
