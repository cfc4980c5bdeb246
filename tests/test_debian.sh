#!/bin/sh
# SPDX-License-Identifier: MIT
# The Debian packages from a clean export of the last commit: built, accepted by lintian without an
# error or a warning, unpacked into a root of their own, and used from there.
# usage: test_debian.sh SOURCE_DIR WORK_DIR
set -eu
root=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)/debian
for tool in dpkg-buildpackage dh dh_python3 lintian; do
  command -v "$tool" >/dev/null 2>&1 || {
    echo "skipped: no $tool (Debian: apt-get install dpkg-dev debhelper dh-python lintian)"
    exit 77
  }
done
rm -rf "$work"
mkdir -p "$work/mxgold" "$work/root"
log=$work/log
status=0

fail() {
  echo "FAIL: $1"
  status=1
}

# run WHAT COMMAND...: with its output on a failure only.
run() {
  what=$1
  shift
  "$@" >"$log" 2>&1 || {
    tail -n 60 "$log"
    echo "FAIL: $what"
    exit 1
  }
}

# ---- names and versions are the header's ----
version=$(sed -n 's/^#define MXG_VERSION_[A-Z]* \([0-9]*\)$/\1/p' "$root/codec/mxgold_format.h" |
  paste -s -d .)
library=libmxgold${version%.*}
[ "$(sed -n '1s/.*(\(.*\)).*/\1/p' "$root/debian/changelog")" = "$version" ] ||
  fail "debian/changelog has not version $version"
grep -q "^Package: $library\$" "$root/debian/control" || fail "debian/control has no $library"
[ -f "$root/debian/$library.install" ] || fail "debian/ has no $library.install"
[ "$status" = 0 ] || exit 1

# ---- build and lint ----
# The tests of the source are run elsewhere; here is looked at what is packaged.
git -C "$root" archive HEAD | tar -x -C "$work/mxgold"
cd "$work/mxgold"
DEB_BUILD_OPTIONS="nocheck parallel=${MXGOLD_JOBS:-2}"
export DEB_BUILD_OPTIONS
run 'dpkg-buildpackage' dpkg-buildpackage -us -uc -b
cd "$work"
lintian --allow-root --fail-on error,warning mxgold_*.changes >"$log" 2>&1 || {
  cat "$log"
  fail 'lintian'
}

# ---- unpack and use ----
for package in *.deb; do
  case $package in *-dbgsym_*) continue ;; esac
  dpkg-deb -x "$package" root
  echo "$package: $(dpkg-deb -c "$package" | grep -c '^-') files, lintian found nothing"
done
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
LD_LIBRARY_PATH=$work/root/usr/lib/$triplet
export LD_LIBRARY_PATH
tool=root/usr/bin/mxgold
readelf -d "$tool" | grep -q "NEEDED.*libmxgold.so.${version%.*}" ||
  fail 'the tool does not use the shared library'
[ "$("$tool" --version)" = "mxgold $version" ] || fail 'the tool is of another version'
run 'quantize' "$tool" quantize "$root/data/silero_vad_v5_lstm_weight_ih_f32.npy" --recipe mxfp4 \
  -o packed.safetensors
run 'compare' "$tool" compare packed.safetensors --recipe mxfp4 \
  --input "$root/data/silero_vad_v5_lstm_weight_ih_f32.npy"
run 'manual page' gzip -t root/usr/share/man/man1/mxgold.1.gz
PKG_CONFIG_PATH=$LD_LIBRARY_PATH/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # lists of options
run 'program over libmxgold-dev' "${CC:-cc}" "$root/tests/consumers/main.c" \
  $(pkg-config --cflags --libs mxgold) -o program
run 'program over libmxgold-dev' ./program
run 'find_package' cmake -S "$root/tests/consumers/find_package_static" -B static \
  "-DCMAKE_PREFIX_PATH=$work/root/usr"
run 'find_package' cmake --build static
run 'find_package' static/consumer
if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
  MXGOLD_LIBRARY=$LD_LIBRARY_PATH/libmxgold.so.${version%.*} \
    PYTHONPATH=$work/root/usr/lib/python3/dist-packages \
    run 'python3-mxgold' /usr/bin/python3 -c 'import mxgold; print(mxgold.__file__)'
else
  echo 'skipped: python3-mxgold is not tried without python3-numpy'
fi
[ "$status" = 0 ] || exit 1
echo "Debian packages of mxgold $version: the tool, a C program and Python run from them"
