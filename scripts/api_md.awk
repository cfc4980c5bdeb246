# SPDX-License-Identifier: MIT
# A public header as a section of docs/API.md: its comments as text and tables, its declarations as
# they are, inline functions without their bodies.
# usage: awk -f api_md.awk codec/mxgold.h
#
# A comment begins with "name: " or plain text; lines "word  text" with two or more blanks between,
# and the indented lines that follow, are rows of a table.

function escaped(text) {
  gsub(/\\/, "\\\\", text)
  gsub(/\|/, "\\|", text)
  gsub(/\*/, "\\*", text)
  gsub(/</, "\\&lt;", text)
  return text
}

function end_row() {
  if (row_name == "") return
  if (!in_table) print "\n| | |\n|---|---|"
  in_table = 1
  print "| `" row_name "` | " escaped(row_text) " |"
  row_name = row_text = ""
}

function end_paragraph() {
  if (paragraph == "") return
  print "\n" escaped(paragraph)
  paragraph = ""
}

# One line of a comment, without its decoration.
function comment_line(line,    gap, name) {
  gap = match(line, /[^ ]  +[^ ]/)
  name = substr(line, 1, gap)
  sub(/^ */, "", name)
  if (gap && name ~ /^[A-Za-z0-9_][A-Za-z0-9_, ]*$/ && line !~ /^     /) {
    end_paragraph()
    end_row()
    row_name = name
    row_text = substr(line, gap + RLENGTH - 1)
  } else if (row_name != "" && line ~ /^   /) {
    sub(/^ */, "", line)
    row_text = row_text " " line
  } else if (line ~ /^ *$/) {
    end_row()
    end_paragraph()
  } else {
    end_row()
    in_table = 0
    sub(/^ */, "", line)
    paragraph = paragraph (paragraph == "" ? "" : " ") line
  }
}

function end_comment() {
  end_paragraph()
  end_row()
  in_table = 0
}

function put_comment(text,    lines, count, i) {
  count = split(text, lines, "\n")
  for (i = 1; i <= count; i++) {
    sub(/ *\*\/ *$/, "", lines[i])
    sub(/^\/\* /, "", lines[i])
    sub(/^ \* ?/, "", lines[i])
    if (lines[i] !~ /^SPDX-License-Identifier/) comment_line(lines[i])
  }
  end_comment()
}

# Names that a block of declarations declares, for its heading.
function names_of(text,    lines, count, i, name, all, words) {
  count = split(text, lines, "\n")
  for (i = 1; i <= count; i++) {
    name = ""
    split(lines[i], words, " ")
    if (lines[i] ~ /^typedef (struct|enum) /)
      name = words[3]
    else if (lines[i] ~ /^#define /)
      name = words[2]
    else if (match(lines[i], /^[A-Za-z].*mxg_[a-z0-9_]+\(/) && match(lines[i], /mxg_[a-z0-9_]+\(/))
      name = substr(lines[i], RSTART, RLENGTH - 1)
    if (name != "") all = all (all == "" ? "" : ", ") name
  }
  return all
}

# A function without a comment of its own is one of its section's: no heading.
function flush(    names) {
  names = names_of(declarations)
  # "mxg_name: text" below a heading that says mxg_name
  if (match(comment, /^\/\* mxg_[a-z0-9_]+: /) &&
      index(names, substr(comment, 4, RLENGTH - 5)) == 1)
    comment = "/* " substr(comment, RLENGTH + 1)
  if (!has_own_comment && comment != "") put_comment(comment)
  if (declarations != "") {
    if (has_own_comment || declarations ~ /^(typedef|#define)/) print "\n#### " names
    if (has_own_comment) put_comment(comment)
    print "\n```c\n" declarations "```"
  } else if (has_own_comment) {
    put_comment(comment)
  }
  comment = declarations = ""
  has_own_comment = 0
}

FNR == 1 { in_file_comment = 1 }

# Conditions, guards and what only compilers read.
/^#if/ {
  if (FNR > 1 && !/_H$/) skipping++
  next
}
/^#endif/ {
  if (skipping) skipping--
  next
}
skipping || /^#(include|define MXGOLD_.*_H|define MXGOLD_H)/ { next }

/^\/\* ---- / {
  flush()
  title = $0
  sub(/^\/\* ---- /, "", title)
  sub(/ ----.*$/, "", title)
  print "\n### " toupper(substr(title, 1, 1)) substr(title, 2)
  if ($0 !~ /\*\//) {
    reading = 1
    comment = ""
  }
  next
}
/^\/\*/ {
  flush()
  comment = $0 "\n"
  reading = $0 !~ /\*\//
  has_own_comment = !in_file_comment
  next
}
reading {
  comment = comment $0 "\n"
  if (/\*\//) {
    reading = 0
    if (in_file_comment) {
      name = comment
      sub(/^\/\* /, "", name)
      sub(/:.*/, "", name)
      print "\n## " name
      sub(/^\/\* [a-z_.]*: /, "", comment)
      comment = "/* " toupper(substr(comment, 1, 1)) substr(comment, 2)
      flush()
      in_file_comment = 0
    }
  }
  next
}
/^MXG_FN / && !/;$/ { in_function = 1 }
in_function {
  # The signature up to the brace; the body ends at the brace in the first column.
  if (!in_body) {
    line = $0
    in_body = sub(/ \{$/, ";", line)
    if (!sub(/^MXG_FN /, "", line)) sub(/^       /, "", line)
    declarations = declarations line "\n"
  } else if (/^}/) {
    in_function = in_body = 0
  }
  next
}
/^$/ {
  if (declarations == "") next
  if (opened == 0) flush()
  else declarations = declarations "\n"
  next
}
{
  # Further lines of a declaration move with its first.
  if (sub(/^MXG_API /, ""))
    moved = 1
  else if (moved)
    sub(/^        /, "")
  if (/;$/) moved = 0
  opened += gsub(/{/, "{") - gsub(/}/, "}")
  declarations = declarations $0 "\n"
}
END { flush() }
