# SPDX-License-Identifier: MIT
"""Compiles the library and the programs of the kill suite: once as they are, then per mutant only
what includes the file that was changed."""
import ctypes
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

# The suite, the cheapest first: program, tests (none: all of them), and of which machine the library
# thinks that it is. The whole takes no more than 15 s on one core.
SUITE = [
    ("digest", ["{source}/tests/digests.txt"], "this"),
    ("test_api_machine", [], "this"),
    ("test_api_statuses", [], "this"),
    ("test_api_nothing", [], "this"),
    ("test_api_overlap", [], "this"),
    ("test_api_arrays", [], "this"),
    ("test_inlines", [], "this"),
    ("test_faults", [], "this"),
    ("test_faults_scales", [], "this"),
    ("test_faults_blocks", [], "this"),
    ("test_faults_calls", [], "this"),
    ("test_faults_layouts", [], "this"),
    ("test_layout_refused", [], "this"),
    ("test_orders_refused", [], "this"),
    ("test_layout", [], "this"),
    ("test_orders", [], "this"),
    ("test_weight_orders", [], "this"),
    ("test_vectors", [], "this"),
    ("test_error_bound", [], "this"),
    ("test_fenv", [], "this"),
    ("test_recipe", [], "this"),
    ("test_recipe_check", [], "this"),
    ("test_recipe_print", [], "this"),
    ("test_number", [], "this"),
    ("test_kernels", ["test_arrays"], "avx2"),
    ("test_kernels", ["test_arrays"], "portable"),
    ("test_values", [], "this"),
    ("test_elements", [], "this"),
    ("test_scales", [], "this"),
    ("test_scale_blocks", [], "this"),
    ("test_combine_by_hand", [], "this"),
    ("test_combine", [], "this"),
    ("test_combine_fma", [], "this"),
    ("test_blocks", [], "this"),
    ("test_fma", [], "this"),
    ("test_kernels", [], "this"),
]
MACHINES = {"avx2": 3, "portable": 1}  # bits of mxg_isa
# A mutant of a header that kernels include is judged as a machine without them first, which saves
# compiling them. (test_api_machine asks the compiler what machine this is.)
WITHOUT_KERNELS = [(name, [], "portable") for name in (
    "digest", "test_api_statuses", "test_api_nothing", "test_api_overlap", "test_api_arrays",
    "test_faults_scales", "test_faults_blocks", "test_faults_calls", "test_layout_refused",
    "test_orders_refused", "test_layout", "test_orders", "test_weight_orders", "test_vectors",
    "test_recipe", "test_recipe_check", "test_recipe_print", "test_number", "test_elements",
    "test_scales", "test_scale_blocks", "test_combine_by_hand", "test_combine", "test_combine_fma",
    "test_blocks")]
WITHOUT_KERNELS[0][1].append("{source}/tests/digests.txt")

LIBRARY_FLAGS = ["-std=c11", "-O1", "-w", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off"]
TEST_FLAGS = ["-std=c11", "-O1", "-w", "-ffp-contract=off", "-D_POSIX_C_SOURCE=200809L"]


def run(command, cwd, limit=600):
    if shutil.which(command[0]) is None:
        return 127, f"{command[0]}: not found"
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=limit, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


def words_of(command):
    code, text = run(command, None)
    return text.split() if code == 0 else None


class Build:
    def __init__(self, source, folder, cc):
        self.source, self.folder, self.cc = pathlib.Path(source), pathlib.Path(folder), cc
        self.base = self.folder / "base"
        self.kernel_cc = cc
        self.skipped = []
        self.library = sorted(str(p.relative_to(source)) for pattern in
                              ("codec/*.c", "codec/*/*.c", "ref/*.c")
                              for p in self.source.glob(pattern))
        self.files = sorted(str(p.relative_to(source)) for pattern in
                            ("codec/*.[ch]", "codec/*.def", "codec/*/*.[ch]", "ref/*.[ch]")
                            for p in self.source.glob(pattern))
        self.openmp = ["-fopenmp"]
        self.more_flags = ["-fexcess-precision=fast"]
        self.programs = {}  # name: sources
        self.needed = {}    # source of the library or a program: files of codec/ and ref/ it has
        self.cpu_limits = {}
        self.seconds = 0.0

    # ---- the tree as it is ----

    def prepare_tree(self):
        """Copies the sources, if they are not those of the last time."""
        kept, self.stamp = self._stamp_file(), ""
        old = kept.read_text() if kept.exists() else ""
        self._probe()
        self._find_programs()
        self.stamp = self._digest()
        self.is_built = old == self.stamp and (self.base / "times.json").exists()
        if not self.is_built:
            shutil.rmtree(self.base, ignore_errors=True)
            self.copy_tree(self.base)
            kept.write_text(self.stamp)
        self._find_features()

    def _stamp_file(self):
        return self.folder / "stamp"

    def _digest(self):
        digest = hashlib.sha256(repr((self.cc, self.kernel_cc, run([self.cc, "--version"], None), self.openmp,
                                      self.more_flags, self.libraries, SUITE, LIBRARY_FLAGS,
                                      TEST_FLAGS)).encode())
        for path in [self.source / f for f in self.files] + sorted(
                self.source.glob("tests/**/*.[ch]")):
            digest.update(str(path).encode() + path.read_bytes())
        return digest.hexdigest()

    def compile_all(self, say):
        if self.is_built:
            return
        sources = self.library + self._test_sources()
        jobs = [(self.compile_command(s, self.base), self.base, s) for s in sources]
        started = time.time()
        for code, text, source in self._all(jobs):
            if code != 0:
                raise SystemExit(f"mutate: {source} does not compile:\n{text}")
        self._compile_machines()
        if not self.link_library(self.base, {}):
            raise SystemExit("mutate: the library does not link")
        for name in self.programs:
            self.link_program(name, self.base, {})
        say(f"built {len(self.library)} files of the library and {len(self.programs)} programs "
            f"in {time.time() - started:.0f} s")

    def copy_tree(self, to):
        for name in self.files:
            path = to / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.source / name, path)
        if to == self.base:
            for path in self.source.glob("tests/**/*.[ch]"):
                copy = to / path.relative_to(self.source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        else:
            (to / "tests").symlink_to(self.base / "tests")
        (to / "objects").mkdir(exist_ok=True)

    def _probe(self):
        empty = self.folder / "empty.c"
        empty.write_text("int main(void) { return 0; }\n")
        for flags in ("openmp", "more_flags"):
            command = [self.cc, *getattr(self, flags), "-o", os.devnull, str(empty)]
            if run(command, None)[0] != 0:
                setattr(self, flags, [])
        # clang compiles the kernels in a fraction of gcc's time.
        if run(["clang-14", *LIBRARY_FLAGS, "-S", "-o", os.devnull, str(empty)], None)[0] == 0:
            self.kernel_cc = "clang-14"
        if not self.openmp:
            self.skipped.append("codec/threads.c: no OpenMP")

    def _find_programs(self):
        tests = self.source / "tests"
        support = sorted(str(p.relative_to(self.source)) for pattern in
                         ("support/*.c", "oracle/*.c") for p in tests.glob(pattern))
        check = words_of(["pkg-config", "--cflags", "--libs", "check"])
        jansson = words_of(["pkg-config", "--cflags", "--libs", "jansson"])
        if check is None:
            raise SystemExit("mutate: Check is missing (Debian: apt-get install check)")
        self.libraries = {"": check + ["-lm"], "test_vectors": (jansson or []) + check + ["-lm"],
                          "digest": []}
        for name in dict.fromkeys(name for name, _, _ in SUITE):
            if name == "digest":
                sources = sorted(str(p.relative_to(self.source)) for p in tests.glob("digest/*.c"))
                if run([self.cc, "-xc", "-fsyntax-only", "-include", "xxhash.h", os.devnull],
                       None)[0] != 0:
                    self.skipped.append("digest: no xxhash.h (Debian: libxxhash-dev)")
                    continue
            else:
                folder = "tests" if (tests / f"{name}.c").exists() else "tests/mutate"
                sources = [f"{folder}/{name}.c"] + support
                if name == "test_vectors":
                    if jansson is None:
                        self.skipped.append("test_vectors: no jansson (Debian: libjansson-dev)")
                        continue
                    sources += sorted(str(p.relative_to(self.source))
                                      for p in tests.glob("kit/*.c"))
            self.programs[name] = sources

    def _test_sources(self):
        return sorted({s for sources in self.programs.values() for s in sources})

    # ---- commands ----

    @staticmethod
    def object_of(source):
        return "objects/" + source.replace("/", "_")[:-2] + ".o"

    def _flags(self, source):
        if source.startswith("codec/x86/"):
            return LIBRARY_FLAGS + (self.more_flags if self.kernel_cc == self.cc else [])
        if not source.startswith("tests/"):
            return LIBRARY_FLAGS + self.more_flags + self.openmp
        if source.startswith("tests/oracle/"):
            return TEST_FLAGS + self.more_flags + ["-Itests/oracle"]
        return TEST_FLAGS + self.more_flags + [
            "-Icodec", "-Itests", "-Itests/support", "-Itests/oracle",
            f'-DMXGOLD_SOURCE_DIR="{self.source}"']

    def compile_command(self, source, tree):
        cc = self.kernel_cc if source.startswith("codec/x86/") else self.cc
        return [cc, *self._flags(source), "-MMD", "-c", source, "-o", self.object_of(source)]

    def _objects(self, sources, changed):
        return [str((changed.get(s) or self.base) / self.object_of(s)) for s in sources]

    def link_library(self, tree, changed, machines=None):
        """changed: sources whose objects are in another tree than base."""
        others = [s for s in self.library if s != "codec/cpu.c"]
        for machine in machines or ["this", *self.machines]:
            (tree / machine).mkdir(exist_ok=True)
            sources = self._objects(others, changed) + (
                self._objects(["codec/cpu.c"], changed) if machine == "this"
                else [str(self.base / "objects" / f"{machine}.o")])
            code, _ = run([self.cc, "-shared", *self.openmp, "-o", f"{machine}/libmxgold.so",
                           *sources], tree)
            if code != 0:
                return False
        return True

    def _find_features(self):
        """What this machine has, and the machines with less: of the others nothing can run here."""
        run([self.cc, "-shared", "-fPIC", "-w", "-std=c11", "codec/cpu.c", "-o", "cpu.so"], self.base)
        self.features = ctypes.CDLL(str(self.base / "cpu.so")).mxg_cpu_features()
        self.machines = [m for m, mask in MACHINES.items()
                         if mask & ~self.features == 0 and mask != self.features]
        self.suite = [(n, a, m) for n, a, m in SUITE
                      if n in self.programs and m in ["this", *self.machines]]
        self.suite_without = [s for s in WITHOUT_KERNELS
                              if s[0] in self.programs and s[2] in self.machines]

    def _compile_machines(self):
        for machine in self.machines:
            code, text = run([self.cc, *LIBRARY_FLAGS, "-Icodec", f"-DMXG_LESS={MACHINES[machine]}u",
                              "-c", "tests/mutate/cpu_less.c", "-o", f"objects/{machine}.o"],
                             self.base)
            if code != 0:
                raise SystemExit(f"mutate: cpu_less.c does not compile:\n{text}")

    def link_program(self, name, tree, changed):
        (tree / "bin").mkdir(exist_ok=True)
        code, text = run([self.cc, "-o", f"bin/{name}", *self._objects(self.programs[name], changed),
                          "-Lthis", "-lmxgold", *self.libraries.get(name, self.libraries[""])], tree)
        if code != 0 and tree == self.base:
            raise SystemExit(f"mutate: {name} does not link:\n{text}")
        return code == 0

    def _all(self, jobs):
        with ThreadPoolExecutor(self.jobs) as pool:
            yield from pool.map(lambda j: (*run(j[0], j[1]), j[2]), jobs)

    # ---- what is where ----

    def read_dependencies(self):
        for source in self.library + self._test_sources():
            text = (self.base / self.object_of(source)).with_suffix(".d").read_text()
            words = text.replace("\\\n", " ").split()[1:]
            inside = {os.path.normpath(w) for w in words if not os.path.isabs(w)}
            self.needed[source] = {f for f in inside if f.startswith(("codec/", "ref/"))}

    def affected(self, file, sources):
        return [s for s in sources if file in self.needed[s]]

    def live_lines(self):
        """Numbers of the lines, per file, that the preprocessor keeps for this machine."""
        kept = {}
        for source in self.library:
            command = self.compile_command(source, self.base)
            _, text = run([command[0], *self._flags(source), "-E", "-dD", source], self.base)
            lines, number = None, 0
            for line in text.split("\n"):
                marker = re.match(r'# (\d+) "([^"]*)"', line)
                if marker:
                    number = int(marker.group(1))
                    lines = kept.setdefault(os.path.normpath(marker.group(2)), set())
                    continue
                if lines is not None and line.strip():
                    lines.add(number)
                number += 1
        return {file: self._live(file, kept.get(file, set())) for file in self.files}

    def _live(self, file, kept):
        """kept, and what stands with a kept line in the same stretch between directives: a call of a
        macro over many lines is kept as one."""
        live, stretch = set(), []
        continued = False
        for number, line in enumerate((self.source / file).read_text().split("\n") + ["#if"], 1):
            if not continued and re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b", line):
                if any(n in kept for n in stretch):
                    live.update(stretch)
                stretch = []
            else:
                stretch.append(number)
            continued = line.endswith("\\")
        return live

    # ---- running the suite ----

    def run_program(self, name, arguments, program, library, cpu_limit):
        """(passed, seconds, CPU seconds, output)"""
        environment = dict(os.environ, CK_FORK="no", LD_LIBRARY_PATH=str(library),
                           MXGOLD_TEST_SEED="1", MXGOLD_TEST_THIN="7", MXGOLD_TEST_FAIL_FAST="1", OMP_WAIT_POLICY="passive", OMP_NUM_THREADS="2")
        arguments = [a.format(source=self.source) for a in arguments]
        script = f'ulimit -c 0; ulimit -v 8388608; ulimit -t {cpu_limit}; exec "$@"'
        started, before = time.time(), os.times()
        try:
            done = subprocess.run(["sh", "-c", script, name, str(program), *arguments],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  cwd=program.parent, env=environment, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            return False, time.time() - started, 0.0, "no end within 300 s"
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user \
            - before.children_system
        output = done.stdout.decode(errors="replace")
        if done.returncode < 0 or done.returncode > 128:
            number = -done.returncode if done.returncode < 0 else done.returncode - 128
            names = {24: "CPU time is up", 9: "CPU time is up"}
            output += f"\n{names.get(number, f'signal {number}')}"
        return done.returncode == 0, time.time() - started, cpu, output

    def measure(self, say, verbose=False):
        """Runs the suite over the library as it is, which must pass, and sets the limits."""
        kept = self.base / "times.json"
        if self.is_built and not verbose:
            times = json.loads(kept.read_text())
            self.cpu_limits = {tuple(k.split()): v for k, v in times["limits"].items()}
            self.seconds = times["seconds"]
            return
        for name, arguments, machine in self.suite + self.suite_without:
            passed, seconds, cpu, output = self.run_program(
                name, arguments, self.base / "bin" / name, self.base / machine, 600)
            if not passed:
                raise SystemExit(f"mutate: {name} fails without any mutant:\n{output[-3000:]}")
            self.cpu_limits[name, machine] = int(3 * cpu + 5)
            if (name, arguments, machine) in self.suite:
                self.seconds += cpu
            if verbose:
                say(f"  {name:20} {machine:9} {seconds:6.2f} s, {cpu:6.2f} s of CPU")
        kept.write_text(json.dumps({"seconds": self.seconds, "limits": {
            " ".join(k): v for k, v in self.cpu_limits.items()}}))
