"""`make bench`: today's ratios against the peers, one line a row, next to their targets.

Every ``bench_*.py`` beside this file has ``rows(quick)``, which returns or yields ``Row`` objects or plain tuples
``(row id, name, ratio, target, note)``; ``(name, ratio, target, note)`` also works when the name starts with the id.
A ratio is ours over theirs, taken in one run, and holds when it is at most its target. A ratio of None says that a
peer is not installed, and the note names it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Row:
    """One comparison; `ratio` None means that the peer named in `note` is missing, `target` None a report, no gate."""

    id: str
    name: str
    ratio: float | None
    target: float | None
    note: str = ""

    @property
    def verdict(self) -> str:
        """What the line ends with; a ratio that is not a number never holds."""
        if self.ratio is None:
            return f"missing peer: {self.note or 'unnamed'}"
        if self.target is None:
            return "reported"
        return "holds" if self.ratio <= self.target else "falls short"

    def line(self) -> str:
        """The row as it is printed."""
        ratio = "-" if self.ratio is None else f"{self.ratio:.3g}"
        target = "-" if self.target is None else f"{self.target:.4g}"
        note = f"  ({self.note})" if self.note and self.ratio is not None else ""
        return f"{self.id:<4} {self.name:<58} {ratio:>9}  target {target:<8} {self.verdict}{note}"


def as_row(given: Any) -> Row:
    """Read what a benchmark returned: a Row, anything with its attributes, or a tuple."""
    if isinstance(given, tuple) and len(given) in (4, 5):
        if len(given) == 4:
            given = (str(given[0]).split()[0], *given)
        return Row(
            str(given[0]), str(given[1]), given[2], None if given[3] is None else float(given[3]), str(given[4] or "")
        )
    return Row(given.id, given.name, given.ratio, given.target, getattr(given, "note", ""))


def modules() -> Iterator[Callable[[], ModuleType]]:
    """How to load each benchmark module, in the order of the names."""
    for path in sorted(HERE.glob("bench_*.py")):
        yield partial(importlib.import_module, path.stem)


def measure(loaders: Iterable[Callable[[], ModuleType]], quick: bool, only: str | None) -> Iterator[Row | str]:
    """Rows as they come; text for a benchmark that broke off.

    A module may list the ids it measures in ``IDS``; `only` then spares the others.
    """
    for load in loaders:
        try:
            module = load()
            if only in (None, *getattr(module, "IDS", (only,))):
                rows = (as_row(given) for given in module.rows(quick))
                yield from (row for row in rows if only in (None, row.id))
        except Exception:
            yield f"A benchmark broke off:\n{traceback.format_exc()}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 1 when a ratio falls short, a benchmark breaks off or nothing was measured."""
    parser = argparse.ArgumentParser(description="Compare TreeDP's speed and memory with its peers.")
    parser.add_argument("--only", metavar="ID", help="measure one row, for example 1a")
    parser.add_argument("--quick", action="store_true", help="smaller data: a smoke test, not a result")
    given = parser.parse_args(arguments)
    os.environ.update(dict.fromkeys(THREADS, "1"))  # before numpy loads: a ratio must not compare cores
    sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent.parent)]
    return report(measure(modules(), given.quick, given.only))


def report(results: Iterable[Row | str]) -> int:
    """Print each result when it is there and count the failures."""
    measured = failed = 0
    for result in results:
        print(result if isinstance(result, str) else result.line(), flush=True)
        measured += 1
        failed += isinstance(result, str) or result.verdict == "falls short"
    print(f"{measured} rows, {failed} falling short" if measured else "Nothing was measured.", flush=True)
    return 1 if failed or not measured else 0


if __name__ == "__main__":
    raise SystemExit(main())
