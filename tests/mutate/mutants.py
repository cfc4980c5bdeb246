# SPDX-License-Identifier: MIT
"""Mutants of C source text: small changes, each of which a test should notice.

A mutant's id comes from its file, its line, the lines around it and the change, not from line
numbers: an edit elsewhere changes neither the id nor whether a sample has it.
"""
import hashlib
import pathlib
import re

KINDS = {
    "arithmetic": "+ - * / % for one another",
    "bits": "& | ^ for one another, ~ left out",
    "shift": "<< for >>",
    "compare": "the edge of a comparison, == for !=",
    "logic": "&& for ||",
    "negate": "a condition negated, ! left out, a ternary that takes one side",
    "sign": "a unary minus left out",
    "constant": "a number plus or minus 1",
    "table": "an entry of an initialiser plus or minus 1",
    "enumerator": "the next enumerator of the same enum",
    "assign": "+= for -=, ++ for --, and the like",
    "statement": "a statement left out",
}

_SWAPS = {
    "+": ("arithmetic", "-"), "-": ("arithmetic", "+"), "*": ("arithmetic", "+"),
    "/": ("arithmetic", "*"), "%": ("arithmetic", "*"),
    "&": ("bits", "|"), "|": ("bits", "&"), "^": ("bits", "&"),
    "<<": ("shift", ">>"), ">>": ("shift", "<<"),
    "<": ("compare", "<="), "<=": ("compare", "<"), ">": ("compare", ">="),
    ">=": ("compare", ">"), "==": ("compare", "!="), "!=": ("compare", "=="),
    "&&": ("logic", "||"), "||": ("logic", "&&"),
    "+=": ("assign", "-="), "-=": ("assign", "+="), "*=": ("assign", "+="),
    "/=": ("assign", "*="), "%=": ("assign", "*="), "|=": ("assign", "&="),
    "&=": ("assign", "|="), "^=": ("assign", "|="), "<<=": ("assign", ">>="),
    ">>=": ("assign", "<<="), "++": ("assign", "--"), "--": ("assign", "++"),
}

_TOKEN = re.compile(
    r"(?P<number>0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?[a-zA-Z]*"
    r"|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[a-zA-Z]*)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|&&|\|\||[<>=!+\-*/%&|^]=|<<|>>|##|\S)")

_KEYWORDS = set(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while _Alignas _Atomic _Bool".split())
_TYPE_WORDS = set(
    "auto char const double enum extern float inline int long register short signed static struct "
    "typedef union unsigned void volatile _Alignas _Atomic _Bool goto".split())


class Token:
    __slots__ = ("text", "group", "start", "end", "table", "enum", "skip")

    def __init__(self, text, group, start, end):
        self.text, self.group, self.start, self.end = text, group, start, end
        self.table = self.enum = self.skip = False


class Mutant:
    """Text [start, end) of a file becomes `after`; `before` and `after` are what people read."""

    def __init__(self, file, kind, start, end, text, before, after, line, number, nth, function):
        self.file, self.kind, self.start, self.end = file, kind, start, end
        self.text = text  # what replaces [start, end)
        self.before, self.after = before, after
        self.line, self.number, self.nth = line, number, nth  # nth: of this change in this line
        self.function = function  # that the line is in, "" outside
        self.id = ""

    def __str__(self):
        nth = f" (number {self.nth + 1} of it)" if self.nth else ""
        return f"{self.file}:{self.number}: {self.line}\n    {self.kind}: {self.change}{nth}"

    @property
    def change(self):
        return f"{self.before} -> {self.after}"


def without_comments(line):
    """A line as an entry of explained.txt may have it: comments are not part of it."""
    return squeezed(re.sub(r"/\*.*?(\*/|$)", "", line))


def squeezed(text):
    return " ".join(text.split())


def blank_comments_and_strings(text):
    """The same length, with spaces for comments and the contents of literals."""
    def blank(match):
        return "".join(c if c == "\n" else " " for c in match.group())
    pattern = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
    return re.sub(pattern, blank, text, flags=re.S)


def split_directives(code):
    """Stretches (start, end) of code: between directives, and each body of a #define."""
    stretches, here, at = [], 0, 0
    for match in re.finditer(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", code, flags=re.M):
        if match.start() < at:
            continue
        stretches.append((here, match.start()))
        define = re.match(r"[ \t]*#[ \t]*define[ \t]+\w+(\([^)]*\))?", match.group())
        if define:
            stretches.append((match.start() + define.end(), match.end()))
        here = at = match.end()
    stretches.append((here, len(code)))
    return stretches


def tokens_of(code, start, end):
    found = []
    for match in _TOKEN.finditer(code, start, end):
        if match.group() == "\\":
            continue
        found.append(Token(match.group(), match.lastgroup, match.start(), match.end()))
    _mark(found)
    return found


def _mark(tokens):
    """Which tokens are in initialisers, in enum bodies and in attributes."""
    stack, attribute = [], 0
    for i, token in enumerate(tokens):
        before = tokens[i - 1].text if i else ""
        if attribute:
            token.skip = True
            attribute += {"(": 1, ")": -1}.get(token.text, 0)
            attribute = max(attribute, 0) if before != "__attribute__" else attribute
            continue
        if token.text == "__attribute__" and i + 1 < len(tokens):
            token.skip = True
            depth, k = 0, i + 1
            while k < len(tokens):
                tokens[k].skip = True
                depth += {"(": 1, ")": -1}.get(tokens[k].text, 0)
                if depth == 0:
                    break
                k += 1
        if token.text == "{":
            inside = stack[-1] if stack else ""
            if before == "=" or (inside == "table" and before in ("{", ",")):
                stack.append("table")
            elif before == "enum" or (i > 1 and tokens[i - 2].text == "enum"):
                stack.append("enum")
            else:
                stack.append("code")
        elif token.text == "}" and stack:
            stack.pop()
        token.table = "table" in stack
        token.enum = bool(stack) and stack[-1] == "enum"


def number_changes(text):
    """The number plus and minus 1, written as it is."""
    suffix = re.search(r"[uUlL]*$" if re.match(r"0[xX]", text) else r"[uUlLfF]*$", text).group()
    body = text[:len(text) - len(suffix)] if suffix else text
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", body):
        value, width, upper = int(body, 16), len(body) - 2, body[2:] == body[2:].upper()
        form = (lambda v: f"0x{v:0{width}{'X' if upper else 'x'}}{suffix}")
    elif re.fullmatch(r"\d+", body):
        value = int(body)
        form = (lambda v: f"{v}{suffix}")
    elif re.fullmatch(r"(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?", body):
        value = float(body)
        if value >= 2.0 ** 20:
            return [f"{value * 2!r}{suffix}", f"{value / 2!r}{suffix}"]
        form = (lambda v: f"{v!r}{suffix}")
        return [form(value + 1)] + ([form(value - 1)] if value > 0 else [])
    else:
        return []
    return [form(value + 1)] + ([form(value - 1)] if value > 0 else [])


class Names:
    """Types and enumerators of the whole tree."""

    def __init__(self, texts):
        self.types, self.following = set(), {}
        for text in texts:
            code = blank_comments_and_strings(text)
            self.types.update(re.findall(r"\}\s*(\w+)\s*;", code))
            self.types.update(re.findall(r"typedef[^;{}]*?(\w+)\s*(?:\([^;{}]*\))?\s*;", code))
            self.types.update(re.findall(r"struct\s+(\w+)", code))
            for body in re.findall(r"enum\s+\w*\s*\{([^}]*)\}", code):
                names = re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", body)
                for k, name in enumerate(names):
                    if len(names) > 1:
                        self.following[name] = names[(k + 1) % len(names)]

    def is_type(self, word):
        return word in _TYPE_WORDS or word in self.types or word.endswith("_t") \
            or word.startswith(("__m128", "__m256", "__m512"))


def _operand_before(tokens, i):
    """Does an operand end just before token i (which is then a binary operator)?"""
    if i == 0:
        return False
    before = tokens[i - 1]
    if before.group == "number" or before.text in (")", "]"):
        return True
    return before.group == "name" and before.text not in _KEYWORDS


def _token_changes(tokens, i, names):
    """(kind, start, end, replacement, before, after) of one token."""
    token = tokens[i]
    before = tokens[i - 1].text if i else ""
    after = tokens[i + 1].text if i + 1 < len(tokens) else ""

    def swap(kind, new):
        yield kind, token.start, token.end, new, token.text, new or "(nothing)"

    if token.group == "number":
        if before != "#":
            for new in number_changes(token.text):
                yield from swap("table" if token.table else "constant", new)
    elif token.group == "name":
        if token.text in names.following and before != "case" and not token.enum:
            yield from swap("enumerator", names.following[token.text])
    elif token.text == "!":
        yield from swap("negate", "")
    elif token.text == "~":
        yield from swap("bits", "")
    elif token.text == "?":
        yield from swap("negate", "|| 1 ?")
        yield from swap("negate", "&& 0 ?")
    elif token.text in _SWAPS:
        kind, new = _SWAPS[token.text]
        if token.text in ("+", "-", "*", "&"):
            if not _operand_before(tokens, i):
                if token.text == "-":
                    yield from swap("sign", "")
                return
            if token.text in ("*", "&") and (
                    names.is_type(before) or after in (")", "const", ",", "*", "restrict", ";")):
                return
        yield from swap(kind, new)


def _closing(tokens, i):
    depth = 0
    for k in range(i, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[k].text, 0)
        if depth == 0:
            return k
    return None


def _conditions(tokens, code):
    for i, token in enumerate(tokens[:-1]):
        if token.text in ("if", "while") and tokens[i + 1].text == "(" and not token.skip:
            close = _closing(tokens, i + 1)
            if close is None or close == i + 2:
                continue
            start, end = tokens[i + 2].start, tokens[close].start
            inner = code[start:end]
            yield ("negate", start, end, f"!({inner})", f"{token.text} ({squeezed(inner)})",
                   f"{token.text} (!({squeezed(inner)}))")


def _statements(tokens, code, names):
    depth, control, is_first, label, before = 0, [], True, False, ""
    for i, token in enumerate(tokens):
        label = token.text in ("case", "default") or (label and before not in (":", ";"))
        before = token.text
        if token.text == "(":
            control.append(i > 0 and tokens[i - 1].text in ("if", "for", "while", "switch"))
            depth += 1
        begins = is_first and depth == 0 and not token.table and not token.enum
        if token.text == ")":
            depth -= 1
            is_first = bool(control and control.pop() and depth == 0)
        elif depth == 0:
            is_first = token.text in (";", "{", "}", "else") or (
                token.text == ":" and label)
        else:
            is_first = False
        if not begins or token.skip:
            continue
        text = token.text
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        if following is None:
            continue
        if text in ("break", "continue", "return"):
            if following.text != ";":
                continue
        elif text in _KEYWORDS or (token.group != "name" and text not in ("*", "++", "--")):
            continue
        elif token.group == "name" and (names.is_type(text) or following.group == "name"):
            continue
        end = None
        for k in range(i, len(tokens)):
            if tokens[k].text in ("{", "}"):
                break
            if tokens[k].text == ";":
                end = k
                break
        if end is None or (end > i and tokens[i + 1].text in (":", ",")):
            continue
        start, stop = token.start, tokens[end].start
        if end > i + 1 or text in ("break", "continue", "return"):
            yield "statement", start, stop, "", squeezed(code[start:stop]), "(nothing)"


def _functions(lines):
    """The function that each line is in: its definition begins in the first column."""
    names, name = [], ""
    for line in lines:
        begins = re.match(r"(?!typedef\b|struct\b.*=|enum\b|#)[A-Za-z_][^=;]*?(\w+)\(", line)
        if begins and not line.rstrip().endswith(";"):
            name = begins.group(1)
        names.append(name)
        if line.startswith(("}", "#define")):
            name = ""
    return names


def mutants_of(file, text, names, is_live):
    """All mutants of a file whose line is_live(number), in the order of the text."""
    code = blank_comments_and_strings(text)
    changes = []
    for start, end in split_directives(code):
        tokens = tokens_of(code, start, end)
        for i, token in enumerate(tokens):
            if not token.skip:
                changes.extend(_token_changes(tokens, i, names))
        changes.extend(_conditions(tokens, text))
        changes.extend(_statements(tokens, text, names))
    changes.sort(key=lambda c: (c[1], c[2], c[0], c[3]))
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    words = [squeezed(line) for line in lines]
    functions = _functions(code.split("\n"))
    found, in_line, same = [], {}, {}
    number = 0
    for kind, start, end, new, before, after in changes:
        while starts[number + 1] <= start:
            number += 1
        if not is_live(number + 1):
            continue
        place = (number, kind, before, after)
        nth = in_line[place] = in_line.get(place, -1) + 1
        above = next((w for w in reversed(words[:number]) if w), "")
        below = next((w for w in words[number + 1:] if w), "")
        mutant = Mutant(file, kind, start, end, new, before, after, words[number], number + 1, nth,
                        functions[number])
        what = "\0".join((file, above, words[number], below, kind, before, after))
        again = same[what] = same.get(what, -1) + 1
        mutant.id = hashlib.sha256(f"{what}\0{again}".encode()).hexdigest()[:10]
        found.append(mutant)
    return found


def _unit(*words):
    """A number in [0, 1) from words."""
    digest = hashlib.sha256("\0".join(words).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2.0 ** 64


def sampled(mutants, seed):
    """All mutants, in the order in which a sample takes them: every stratum (file, kind) in
    proportion to its size, by hash within it. A smaller sample is the beginning of a larger one."""
    strata = {}
    for mutant in mutants:
        strata.setdefault((mutant.file, mutant.kind), []).append(mutant)
    keyed = []
    for (file, kind), members in strata.items():
        members.sort(key=lambda m: (_unit(str(seed), m.id), m.id))
        offset = _unit(str(seed), file, kind)
        for rank, mutant in enumerate(members):
            keyed.append(((rank + offset) / len(members), mutant.id, mutant))
    keyed.sort(key=lambda k: k[:2])
    return [mutant for _, _, mutant in keyed]


class Explained:
    """tests/mutate/explained.txt: what no test can notice, and why."""

    def __init__(self, path):
        self.path, self.entries = path, []
        entry, first = {}, 0
        lines = pathlib.Path(path).read_text().split("\n") if path else []
        for number, line in enumerate(lines + [""], 1):
            if line.startswith("#"):
                continue
            if not line.strip():
                if entry:
                    self._add(entry, first)
                entry = {}
                continue
            key, _, value = line.strip().partition(" ")
            if key in entry or key not in (
                    "file", "function", "line", "change", "kind", "nth", "why"):
                raise SystemExit(f"mutate: {path}:{number}: unknown or repeated field \"{key}\"")
            first = first if entry else number
            entry[key] = value.strip()

    def _add(self, entry, first):
        for key in ("file", "line or function", "why"):
            if not any(entry.get(k) for k in key.split(" or ")):
                raise SystemExit(f"mutate: {self.path}:{first}: this entry has no {key}")
        entry["at"], entry["used"] = first, 0
        self.entries.append(entry)

    @staticmethod
    def _is_line(wanted, line):
        wanted, line = without_comments(wanted), without_comments(line)
        return line.startswith(wanted[:-3]) if wanted.endswith("...") else line == wanted

    @staticmethod
    def _fits(entry, mutant):
        return (entry["file"] == mutant.file
                and Explained._is_line(entry.get("line", "..."), mutant.line)
                and entry.get("function", mutant.function) == mutant.function
                and entry.get("kind", mutant.kind) == mutant.kind
                and squeezed(entry.get("change", mutant.change)) == squeezed(mutant.change)
                and int(entry.get("nth", mutant.nth + 1)) == mutant.nth + 1)

    def why(self, mutant):
        for entry in self.entries:
            if self._fits(entry, mutant):
                return entry["why"]
        return None

    def stale(self, mutants, is_here):
        """Entries that fit no mutant, of files that this machine compiles."""
        by_file = {}
        for mutant in mutants:
            by_file.setdefault(mutant.file, []).append(mutant)
        for entry in self.entries:
            if is_here(entry["file"]) and not any(
                    self._fits(entry, m) for m in by_file.get(entry["file"], [])):
                what = entry.get("line") or entry["function"]
                yield f"{self.path}:{entry['at']}: no mutant is like this any more: " \
                      f"{entry['file']}: {what}"
