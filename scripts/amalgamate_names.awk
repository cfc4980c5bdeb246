# SPDX-License-Identifier: MIT
# The names that sources define at file scope and that no linker sees, one a line: static functions
# and tables, types, enumerators, and the first argument of macros that define functions. It relies
# on the layout that clang-format gives the sources; a name that it misses does not go unnoticed,
# because the next leaf then redefines it.

function emit(name) {
  if (name ~ /^[A-Za-z_][A-Za-z0-9_]*$/) print name
}

# The last identifier before the first of the characters that end a declarator's name.
function declared(text) {
  gsub(/__attribute__\(\(.*\)\) /, "", text)
  sub(/[\(\[=;{].*$/, "", text)
  sub(/ *$/, "", text)
  sub(/^.*[ *]/, "", text)
  emit(text)
}

# Enumerators of one or more lines of an enum's body.
function enumerators(text,    count, parts, i) {
  gsub(/\/\*[^*]*\*\//, "", text)
  sub(/}.*$/, "", text)
  count = split(text, parts, ",")
  for (i = 1; i <= count; i++) {
    sub(/=.*$/, "", parts[i])
    gsub(/ /, "", parts[i])
    emit(parts[i])
  }
}

/^(typedef )?enum [a-z0-9_]* *{/ || /^enum {/ {
  body = $0
  sub(/^[^{]*{/, "", body)
  enumerators(body)
  in_enum = body !~ /}/
}
!/^(typedef )?enum/ && in_enum {
  enumerators($0)
  if (/}/) in_enum = 0
}

/^typedef (struct|enum|union) / { emit($3) }
/^typedef / && !/^typedef (struct|enum|union)[^;]*{/ && !/\(/ { declared(substr($0, 9)) }
/^typedef [^{]*\(/ { declared(substr($0, 9)) }
/^} [a-z0-9_]+;/ { declared(substr($0, 2)) }
/^(MXG_OP|MXG_TARGET|static) / { declared($0) }
/^[A-Z][A-Z0-9_]*\([a-z]/ {
  text = $0
  sub(/^[^(]*\(/, "", text)
  sub(/[,)].*$/, "", text)
  emit(text)
}
