# SPDX-License-Identifier: MIT
"""Mutation test of codec/ and ref/: ./dev mutate; docs/TESTING.md says what comes of it.

usage: mutate.py FOLDER [OPTION]...          FOLDER: where to build

  --sample N       how many mutants (default 40); 0 = all
  --seed S         which ones (default 1): a smaller sample is the beginning of a larger one
  --only REGEX     of this sample only those whose file, line and change match, as they are printed
  --jobs N         so many at a time (default 2)
  --results FILE   appends an outcome a line, and takes from it what an earlier run of the same
                   sources has killed
  --explained FILE instead of tests/mutate/explained.txt
  --run-explained  runs the suite on explained mutants too, and says which it kills
  --list           prints the mutants of the sample, and runs nothing
  --times          prints the time of each program of the kill suite

exit status: 0 every mutant killed or explained, 1 some survived or the list of explained ones is
stale, 2 wrong usage or no build
"""
import argparse
import os
import pathlib
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import build as builds
import mutants as kinds

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# What a machine must have for a file to be worth changing: bits of mxg_cpu_features().
NEEDS = [(re.compile(r"neon|^codec/arm/"), 8, "NEON"), (re.compile(r"avx512"), 4, "AVX-512"),
         (re.compile(r"avx2|^codec/(simd|x86)/"), 2, "AVX2")]


def say(text):
    print(text, flush=True)


class Outcome:
    """killed, explained, survived, not built."""

    def __init__(self, word, detail=""):
        self.word, self.detail = word, detail


class Worker:
    """A copy of the tree in which one mutant at a time is compiled and judged."""

    def __init__(self, build, number):
        self.build, self.tree = build, build.folder / f"worker{number}"
        builds.shutil.rmtree(self.tree, ignore_errors=True)
        build.copy_tree(self.tree)
        self.order = {}  # per file: programs that killed a mutant of it, the latest first

    def judge(self, mutant):
        build, path = self.build, self.tree / mutant.file
        original = path.read_text()
        path.write_text(original[:mutant.start] + mutant.text + original[mutant.end:])
        try:
            return self._judge(mutant)
        finally:
            path.write_text(original)

    def _compile(self, sources):
        """Of sources, those whose objects differ from the original's; None: one does not compile."""
        different = []
        for source in sources:
            name = self.build.object_of(source)
            code, _ = builds.run(self.build.compile_command(source, self.tree), self.tree)
            if code != 0:
                return None
            if (self.tree / name).read_bytes() != (self.build.base / name).read_bytes():
                different.append(source)
        return different

    def _judge(self, mutant):
        build = self.build
        affected = build.affected(mutant.file, build.library)
        kernels = [s for s in affected if s.startswith("codec/x86/")]
        different = self._compile([s for s in affected if s not in kernels])
        if different is None:
            return Outcome("not built")
        if kernels and different and build.suite_without:
            if not build.link_library(self.tree, {s: self.tree for s in different}, ["portable"]):
                return Outcome("not built")
            for step in self._steps(mutant.file, build.suite_without):
                detail = self._run(step, build.base / "bin" / step[0])
                if detail is not None:
                    return self._killed(mutant.file, step, detail)
        more = self._compile(kernels)
        if more is None:
            return Outcome("not built")
        different += more
        changed = {s: self.tree for s in different}
        if different:
            if not build.link_library(self.tree, changed):
                return Outcome("not built")
            for step in self._steps(mutant.file, build.suite):
                detail = self._run(step, build.base / "bin" / step[0])
                if detail is not None:
                    return self._killed(mutant.file, step, detail)
        # Inline functions and constants of the headers that programs include, too.
        sources = sorted({s for p in build.programs.values() for s in p})
        in_tests = self._compile(build.affected(mutant.file, sources))
        if in_tests is None:
            return Outcome("not built")
        if not in_tests:
            return Outcome("survived") if different else Outcome("explained", "same object code")
        if not different:
            build.link_library(self.tree, {})
        changed = {s: self.tree for s in in_tests}
        for step in self._steps(mutant.file, build.suite):
            name = step[0]
            if not any(s in changed for s in build.programs[name]):
                continue
            if not build.link_program(name, self.tree, changed):
                return Outcome("not built")
            detail = self._run(step, self.tree / "bin" / name)
            if detail is not None:
                return self._killed(mutant.file, step, detail)
        return Outcome("survived")

    def _steps(self, file, suite):
        """The suite; what has killed a mutant of this file before comes first, else, for kernels, what
        tests those."""
        first = self.order.setdefault(file, [
            s for s in self.build.suite if file.startswith(("codec/simd/", "codec/x86/"))
            and s[0] in ("digest", "test_kernels")])
        first = [step for step in first if step in suite]
        return first + [step for step in suite if step not in first]

    def _run(self, step, program):
        name, arguments, machine = step
        passed, _, _, output = self.build.run_program(
            name, arguments, program, self.tree / machine, self.build.cpu_limits[name, machine])
        if passed:
            return None
        wrong = re.findall(r"^\S+\.c:\d+:[FE]:(\w+):", output, flags=re.M)
        lines = output.strip().split("\n")
        return wrong[0] if wrong else lines[-1][:60] if lines else ""

    def _killed(self, file, step, detail):
        order = self.order.setdefault(file, [])
        if step in order:
            order.remove(step)
        order.insert(0, step)
        machine = "" if step[2] == "this" else f" as {step[2]}"
        return Outcome("killed", f"{step[0]}{machine}: {detail}")


class Results:
    """Outcomes on disk; those of killed mutants are kept."""

    def __init__(self, path):
        self.path, self.killed, self.lock = path, {}, threading.Lock()
        if path and pathlib.Path(path).exists():
            for line in pathlib.Path(path).read_text().split("\n"):
                words = line.split("\t")
                if len(words) >= 3 and words[1] in ("killed", "not built"):
                    self.killed[words[0]] = Outcome(words[1], words[2])

    def add(self, mutant, outcome):
        if self.path:
            with self.lock, open(self.path, "a") as file:
                file.write("\t".join((mutant.id, outcome.word, outcome.detail,
                                      f"{mutant.file}: {mutant.line}: {mutant.change}")) + "\n")


def all_mutants(build, features):
    texts = {f: (build.source / f).read_text() for f in build.files}
    names = kinds.Names(texts.values())
    live = build.live_lines()
    found, absent = [], {}
    for file in build.files:
        lacking = next((what for pattern, bit, what in NEEDS
                        if pattern.search(file) and not features & bit), None)
        if lacking is None and file.endswith("threads.c") and not build.openmp:
            continue
        if lacking is not None:
            absent.setdefault(lacking, []).append(file)
        else:
            found += kinds.mutants_of(file, texts[file], names, live[file].__contains__)
    for lacking, files in absent.items():
        say(f"skipped: {len(files)} files, no {lacking} on this machine: {' '.join(files)}")
    return found, {f for files in absent.values() for f in files}


def judge_all(order, count, workers, explained, results, run_explained):
    """Takes mutants from order until `count` are judged; returns them with their outcomes."""
    taken, lock, idle = [], threading.Lock(), list(workers)
    source = iter(order)
    pool = ThreadPoolExecutor(len(workers))

    def one(mutant):
        why = explained.why(mutant)
        known = results.killed.get(mutant.id)
        if why is not None and not run_explained:
            outcome = Outcome("explained", why)
        elif known is not None:
            outcome = known
        else:
            with lock:
                worker = idle.pop()
            started = time.time()
            try:
                outcome = worker.judge(mutant)
            finally:
                with lock:
                    idle.append(worker)
            results.add(mutant, outcome)
            if why is not None and outcome.word == "killed":
                say(f"explained, but killed by {outcome.detail}: {mutant}")
            elif why is not None and outcome.word == "survived":
                outcome = Outcome("explained", why)
            if outcome.word == "survived":
                say(f"survived ({time.time() - started:.0f} s): {mutant}")
        return mutant, outcome

    # In order, `count` of those that build; some more than needed may be looked at.
    pending, judged = [], 0
    while judged < count:
        while len(pending) < 2 * len(workers):
            mutant = next(source, None)
            if mutant is None or (judged + len(pending) >= count and pending):
                break
            pending.append(pool.submit(one, mutant))
        if not pending:
            break
        mutant, outcome = pending.pop(0).result()
        if outcome.word == "not built":
            continue
        taken.append((mutant, outcome))
        judged += 1
        if judged % 20 == 0:
            say(f"{judged} of {count}")
    pool.shutdown()
    return taken


def arguments_of():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ", 1)[1], add_help=True)
    parser.add_argument("folder")
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results")
    parser.add_argument("--explained", default=str(SOURCE / "tests/mutate/explained.txt"))
    parser.add_argument("--run-explained", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--times", action="store_true")
    return parser.parse_args()


def main():
    options = arguments_of()
    started = time.time()
    folder = pathlib.Path(options.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    build = builds.Build(SOURCE, folder, os.environ.get("MXGOLD_CC") or "cc")
    build.jobs = max(options.jobs, 1)
    build.prepare_tree()
    for text in build.skipped:
        say(f"skipped: {text}")
    found, absent = all_mutants(build, build.features)
    say(f"{len(found)} mutants of {len(build.files) - len(absent)} files")
    explained = kinds.Explained(options.explained)
    stale = list(explained.stale(found, lambda file: file not in absent))
    for text in stale:
        say(text)
    order = kinds.sampled(found, options.seed)
    count = min(options.sample, len(order)) if options.sample > 0 else len(order)
    if options.only:
        order = [m for m in order[:count] if re.search(options.only, str(m))]
        count = len(order)
        if not order:
            say(f"mutate: no mutant of the sample matches {options.only}")
            return 2
    if options.list:
        for mutant in order[:count]:
            say(f"{mutant.id} {mutant}")
        say(f"{count} of {len(order)} mutants")
        return 1 if stale else 0
    build.compile_all(say)
    build.read_dependencies()
    build.measure(say, options.times)
    say(f"kill suite: {len(build.programs)} programs, {build.seconds:.1f} s of CPU")
    workers = [Worker(build, i) for i in range(build.jobs)]
    results = Results(options.results)
    taken = judge_all(order, count, workers, explained, results, options.run_explained)
    counts = {w: sum(o.word == w for _, o in taken) for w in ("killed", "explained", "survived")}
    for mutant, outcome in taken:
        if outcome.word == "explained" and outcome.detail != "same object code":
            say(f"explained: {mutant}\n    {outcome.detail}")
    same = sum(o.detail == "same object code" for _, o in taken)
    say(f"{same} of those explained are the same object code; {time.time() - started:.0f} s")
    say(f"{len(taken)} mutants, {counts['killed']} killed, {counts['explained']} explained, "
        f"{counts['survived']} survived")
    return 1 if counts["survived"] or stale else 0


if __name__ == "__main__":
    sys.exit(main())
