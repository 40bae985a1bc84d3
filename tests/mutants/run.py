"""`make mutants`: plant each fault of the list in a process of its own, and see that its named test fails.

The processes are forks of one that has imported numpy, scipy and pytest but nothing of the core, so a mutant costs
little more than its test. A fault is planted where the module is imported; no file is changed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any

import assurance
from mutants import MUTANTS
from mutants.mutant import ROOT, Mutant

LEAST_KILLED = 0.98
SECONDS = 300.0
"""A test that takes longer under a fault has not judged it."""
PASSED, FAILED = 100, 101
"""Exit codes of pytest, 100 added: a process that dies of something else also ends with 1."""
PRELOADED = ("numpy", "scipy.special", "scipy.stats", "scipy.optimize", "scipy.sparse", "pyarrow", "pytest")


START = "forkserver"
"""How processes start: from one that has loaded the packages, and nothing of ours."""


class _Planted(MetaPathFinder):
    """Finds one module with a fault in it."""

    def __init__(self, mutant: Mutant) -> None:
        self.name, self.path, self.source = mutant.module, str(mutant.path), mutant.source()

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        return spec_from_file_location(fullname, self.path, loader=_Loader(fullname, self.path, self.source))


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self.source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.source, self.path, "exec", dont_inherit=True)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: killed, equivalent, survived or broken; `output` is the end of what pytest printed."""

    mutant: Mutant
    word: str
    seconds: float
    output: str = ""

    @property
    def is_good(self) -> bool:
        """Whether it is what the list says."""
        return self.word == ("equivalent" if self.mutant.equivalent else "killed")


def judge(mutant: Mutant) -> Verdict:
    """Plant a fault and run its test."""
    began = time.perf_counter()
    code, output = _pytest([mutant.test], mutant)
    seconds = time.perf_counter() - began
    if code == FAILED:
        return Verdict(mutant, "killed", seconds)
    if code == PASSED:
        return Verdict(mutant, "equivalent" if mutant.equivalent else "survived", seconds)
    return Verdict(mutant, "broken", seconds, output)


def _pytest(tests: Sequence[str], mutant: Mutant | None) -> tuple[int | None, str]:
    """Return pytest's exit code for tests in a fresh process (None: it took too long), and the end of its output."""
    with tempfile.NamedTemporaryFile(suffix=".txt") as output:
        process = multiprocessing.get_context(START).Process(target=_child, args=(tests, mutant, output.name))
        process.start()
        process.join(SECONDS if mutant else None)
        if process.is_alive():
            process.kill()
            process.join()
            return None, f"no end after {SECONDS:.0f} s"
        return process.exitcode, Path(output.name).read_text(encoding="utf-8", errors="replace")[-2000:]


def _child(tests: Sequence[str], mutant: Mutant | None, output: str) -> None:
    with open(output, "wb") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    import pytest

    assert not any(name.startswith("treedp_core") for name in sys.modules), "the core must not be imported yet"
    if mutant:
        sys.meta_path.insert(0, _Planted(mutant))
    chosen = [str(ROOT / "tests" / test) for test in tests]
    how = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--hypothesis-profile=mutants", f"--rootdir={ROOT}"]
    code = pytest.main([*how, *chosen])
    sys.stdout.flush()
    os._exit(PASSED + int(code))


def told(verdict: Verdict) -> Verdict:
    """Print a verdict that is not what the list says, as soon as it is known."""
    if not verdict.is_good:
        mutant = verdict.mutant
        print(f"{verdict.word.upper()}: {mutant.file}: {mutant.why}\n  - {mutant.original}\n  + {mutant.mutated}")
        print(f"  {mutant.test}{verdict.output and chr(10) + verdict.output}", flush=True)
    return verdict


def report(verdicts: Sequence[Verdict], seconds: float) -> int:
    """Print the figures; return 1 when fewer than 98 % are killed or the list is wrong."""
    count, n = Counter(verdict.word for verdict in verdicts), len(verdicts)
    files = len({verdict.mutant.file for verdict in verdicts})
    slowest = max(verdicts, key=lambda verdict: verdict.seconds)
    print(
        f"{n} mutants of {files} modules: {count['killed']} killed ({count['killed'] / n:.1%}), "
        f"{count['equivalent']} equivalent, {count['survived']} survived, {count['broken']} broken; {seconds:.0f} s "
        f"(slowest: {slowest.mutant.test}, {slowest.seconds:.0f} s)"
    )
    return int(count["killed"] < LEAST_KILLED * n or not all(verdict.is_good for verdict in verdicts))


def main() -> int:
    """Judge all mutants, or those whose module's path holds the given word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="part of a module's path, such as budgets/")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    os.environ["CI"] = "true"  # hypothesis then tries the same examples every time
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    multiprocessing.get_context("forkserver").set_forkserver_preload([*PRELOADED])
    chosen = [mutant for mutant in MUTANTS if given.only in mutant.file]
    if not chosen:
        print(f"No mutant of a module whose path holds {given.only!r}.")
        return 1
    began = time.perf_counter()
    code, output = _pytest(sorted({mutant.test for mutant in chosen}), None)
    if code != PASSED:
        print(f"Without any fault a named test fails:\n{output}")
        return 1
    print(f"The named tests pass without a fault ({time.perf_counter() - began:.0f} s).", flush=True)
    with ThreadPoolExecutor(given.workers) as pool:
        verdicts = [told(verdict) for verdict in pool.map(judge, chosen)]
    if not given.only:
        count = Counter(verdict.word for verdict in verdicts)
        equivalent = f", {count['equivalent']} change nothing" if count["equivalent"] else ""
        missed = count["survived"] + count["broken"]
        assurance.record(
            "make mutants", f"{len(verdicts)} faults, {count['killed']} noticed{equivalent}, {missed} survived"
        )
    return report(verdicts, time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main())
