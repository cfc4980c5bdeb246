# SPDX-License-Identifier: MIT
# A source file with the project's headers in place of their #include lines, each header once.
# usage: awk -v file=codec/api.c -v seen=LIST -f amalgamate.awk
# LIST has the headers that have been written, and gets those that are.
# kernels.def is written each time: it has no guard, and other macros each time.

function fail(text) {
  print "amalgamate.awk: " text | "cat 1>&2"
  failed = 1
  exit 1
}

# a/b/../c -> a/c
function plain(path) {
  while (sub(/[^\/.]+\/\.\.\//, "", path)) continue
  return path
}

function expand(path,    line, folder, name, nest, guard, status) {
  folder = path
  sub(/[^\/]*$/, "", folder)
  print "/* ==== " path " ==== */"
  nest = 0
  while ((status = (getline line < path)) > 0) {
    if (line ~ /^ *# *if/) nest++
    if (line ~ /^ *# *endif/) nest--
    if (line !~ /^ *# *include *"/) {
      print line
      continue
    }
    name = line
    sub(/^[^"]*"/, "", name)
    sub(/".*$/, "", name)
    name = plain(folder name)
    # Under a condition a header would be missing where the condition does not hold and another
    # file needs it. Its own guard is no condition; leaves of one set share theirs.
    guard = path ~ /\.h$/ ? 1 : 0
    if (nest > guard && name !~ /^codec\/simd\//) fail(path " includes " name " under a condition")
    if (name ~ /\.def$/) {
      expand(name)
    } else if (!(name in done)) {
      done[name] = 1
      print name >> seen
      expand(name)
      print "/* ==== " path " ==== */"
    }
  }
  if (status < 0) fail("cannot read " path)
  close(path)
}

BEGIN {
  while ((getline line < seen) > 0) done[line] = 1
  close(seen)
  if (file ~ /\.h$/) {
    done[file] = 1
    print file >> seen
  }
  expand(file)
  exit failed
}
