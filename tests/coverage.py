#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What gcovr counted, against the list of explained branches: open lines and branches, entries that
are no longer true, and one line of totals.
usage: coverage.py SOURCE LEFT_OUT COUNTS.json...
LEFT_OUT: files and folders that are not judged, with spaces between them. Several counts, one a
machine, are added.

An entry of tests/coverage_explained.txt is a line `FILE COUNT: SOURCE LINE`, the text as it stands in the file without
its indentation, and indented lines that say why COUNT branches of that line (of all lines of the
file with that text) are never taken. Empty lines and lines with a # in front are comments."""
import collections
import itertools
import json
import pathlib
import re
import sys


def read_explained(path):
    entries, last = {}, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        entry = re.fullmatch(r"(\S+) ([1-9][0-9]*): (.+)", line)
        if not line or line.startswith("#"):
            last = None
        elif line.startswith("  ") and last:
            entries[last]["reason"] = True
        elif entry and (entry[1], entry[3]) not in entries:
            last = (entry[1], entry[3])
            entries[last] = {"count": int(entry[2]), "line": number, "reason": False}
        else:
            sys.exit(f"{path}:{number}: neither an entry, nor a reason, nor a comment: {line}")
    for (file, text), entry in entries.items():
        if not entry["reason"]:
            sys.exit(f"{path}:{entry['line']}: no reason for {file}: {text}")
    return entries


def read_counts(paths):
    """{file: {line number: (how often it ran, [how often each branch was taken])}}"""
    files = collections.defaultdict(dict)
    for path in paths:
        for file in json.loads(path.read_text())["files"]:
            lines = files[file["file"]]
            for line in file["lines"]:
                if line["gcovr/noncode"]:
                    continue
                number, taken = line["line_number"], [b["count"] for b in line["branches"]]
                count, before = lines.get(number, (0, []))
                both = itertools.zip_longest(before, taken, fillvalue=0)
                lines[number] = (count + line["count"], [a + b for a, b in both])
    return files


def main():
    source = pathlib.Path(sys.argv[1])
    left_out = sys.argv[2].split()
    explained_path = source / "tests/coverage_explained.txt"
    explained = read_explained(explained_path)
    lines = lines_run = branches = branches_taken = open_count = explained_count = stale = 0
    missing = collections.defaultdict(list)  # (file, text): its lines' numbers, one a branch

    def is_left_out(file):
        return any(file == name or file.startswith(name + "/") for name in left_out)

    for name, counts in sorted(read_counts(map(pathlib.Path, sys.argv[3:])).items()):
        if is_left_out(name):
            continue
        text = [line.strip() for line in (source / name).read_text().splitlines()]
        for number, (count, taken) in sorted(counts.items()):
            lines += 1
            if count == 0:
                print(f"{name}:{number}: never runs: {text[number - 1]}")
                open_count += 1
                continue
            lines_run += 1
            branches += len(taken)
            branches_taken += sum(n != 0 for n in taken)
            missing[name, text[number - 1]] += [number for n in taken if n == 0]

    for (name, text), numbers in missing.items():
        entry = explained.get((name, text))
        if entry and entry["count"] == len(numbers):
            explained_count += len(numbers)
            del explained[name, text]
        elif numbers:
            open_count += len(numbers)
            where = ", ".join(map(str, sorted(set(numbers))))
            allowed = f" ({entry['count']} explained)" if explained.pop((name, text), None) else ""
            print(f"{name}:{where}: {len(numbers)} branches never taken{allowed}: {text}")
    for (name, text), entry in explained.items():
        if not is_left_out(name):
            stale += 1
            print(f"{explained_path}:{entry['line']}: no such branch is missing: {name}: {text}")
    print(
        f"codec/ and ref/: {lines_run} of {lines} lines, {branches_taken} of {branches} branches "
        f"covered, {explained_count} explained, {open_count} open"
        + (f", {stale} entries of the explained are stale" if stale else "")
    )
    return 1 if open_count or stale or lines == 0 else 0


sys.exit(main())
