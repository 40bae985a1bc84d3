"""Records in files: every file that differs in one row, counted by the reader, and what that changes on the tree.

A neighbour may hold anything: another category, one that is not listed, a blank, a number out of bounds, no number at
all. Its tree must be the same, and no level may move further than the noise of that level is made for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from unittest.mock import patch

import numpy as np

from treedp_core.checks import InputError
from treedp_core.records import Dataset, count_bins, count_hierarchy, domain_of_values
from treedp_core.records.read import sources

from .neighbours import ADD, REPLACE, IntArray, Who
from .report import Report

ROWS = (
    "F,young", "F,old", "M,old", "F,", ",old", ",", "M,ancient", "X,young", "X,ancient", '"(other)",old', '"M ",old',
    "F,(blank)",
)  # fmt: skip
NUMBERS = ("3", "0", "20", "19.999", "-1", "21", "1e9", "?", '""', "nan", "inf", "0x10")
DOMAIN = domain_of_values({"sex": ["F", "M"], "age": ["young", "old"]})

Count = Callable[[bytes], Dataset]
Found = tuple[tuple[int, ...], tuple[int, ...]] | str
"""Parents and counts of a file's tree, or the code with which it was refused."""


def readers() -> Iterator[tuple[str, str, Sequence[str], Count]]:
    """Name, header and rows of each way to count that offers a public total."""
    for missing in ("category", "other"):
        count = partial(count_hierarchy, columns=["sex", "age"], domain=DOMAIN, missing=missing)
        yield f"hierarchy, missing: {missing}", "sex,age", ROWS, count
    for outside in ("other", "clamp"):
        count = partial(
            count_bins, column="n", lower=0, upper=20, n_bins=4, branching=(2, 2), outside=outside, marks={"n": "."}
        )
        yield f"bins, outside: {outside}", "n", NUMBERS, count


def audit(report: Report, rng: np.random.Generator, n_rows: int) -> None:
    """Compare all files of so many rows, beside one row that every file has, with their neighbours."""
    units(report, rng, 100 * n_rows)
    for name, header, rows, count in readers():
        found = {}
        for chosen in itertools.combinations_with_replacement(range(len(rows)), n_rows):
            found[chosen] = _counted(header, [rows[0], *(rows[i] for i in chosen)], count)
        fewer = {}
        for chosen in itertools.combinations_with_replacement(range(len(rows)), n_rows - 1):
            fewer[chosen] = _counted(header, [rows[0], *(rows[i] for i in chosen)], count)
        for rest, before in fewer.items():
            files = [(i, found[tuple(sorted((*rest, i)))]) for i in range(len(rows))]
            for i, more in files:
                _compare(report, f"{name}: {rows[i]} added to {_told(rows, rest)}", Who(ADD), before, more)
            for (i, one), (j, other) in itertools.combinations(files, 2):
                what = f"{name}: {rows[i]} replaced by {rows[j]} beside {_told(rows, rest)}"
                _compare(report, what, Who(REPLACE), one, other)


def units(report: Report, rng: np.random.Generator, n: int) -> None:
    """n files in which all rows of one unit are there or not, or are others, wherever in the file they stand."""
    for _ in range(n):
        m, block = int(rng.integers(1, 4)), int(rng.integers(30, 200))
        count = partial(
            count_hierarchy,
            columns=["sex", "age"],
            domain=DOMAIN,
            unit="who",
            contributions=m,
            missing=str(rng.choice(["category", "other"])),
        )
        rest = [f"{rng.choice(['b', 'c', 'd', ''])},{ROWS[int(i)]}" for i in rng.integers(len(ROWS), size=6)]
        k = int(rng.integers(1, 6))
        mine, others = ([f"a,{ROWS[int(i)]}" for i in rng.integers(len(ROWS), size=k)] for _ in range(2))
        places = rng.integers(0, len(rest) + 1, size=k)
        with patch.object(sources, "BLOCK_BYTES", block):
            without, one, other = (
                _counted("who,sex,age", _woven(rest, who, places), count) for who in ([], mine, others)
            )
        what = f"unit of {k} rows, {m} counted, in blocks of {block}: {mine} or {others} among {rest}"
        _compare(report, f"{what}: added", Who(ADD, m), without, one)
        _compare(report, f"{what}: replaced", Who(REPLACE, m), one, other)


def _woven(rest: Sequence[str], mine: Sequence[str], places: IntArray) -> list[str]:
    rows = list(rest)
    for row, place in zip(mine, places.tolist(), strict=False):
        rows.insert(place, row)
    return rows


def _told(rows: Sequence[str], chosen: Sequence[int]) -> str:
    return " | ".join(rows[i] for i in (0, *chosen))


def _counted(header: str, rows: Sequence[str], count: Count) -> Found:
    text = "\n".join([header, *rows]) + "\n"
    try:
        data = count(text.encode())
    except InputError as refusal:
        return refusal.code
    return tuple(data.tree.parent.tolist()), tuple(data.counts.tolist())


def _compare(report: Report, what: str, who: Who, one: Found, other: Found) -> None:
    report.pairs += 1
    if isinstance(one, str) or isinstance(other, str):
        report.holds(
            one == other, f"{what}: one is refused, the other is not ({one if isinstance(one, str) else other})"
        )
        return
    report.holds(one[0] == other[0], f"{what}: another tree")
    if one[0] != other[0]:
        return
    moved = np.abs(np.array(one[1]) - np.array(other[1]))
    by_level = _by_level(one[0], moved)
    allowed = who.unit.l1_sensitivity(by_level.size)
    report.holds(bool((by_level <= allowed).all()), f"{what}: levels move by {by_level.tolist()}")


def _by_level(parent: Sequence[int], moved: IntArray) -> IntArray:
    level = [0]
    for above in parent[1:]:
        level.append(level[above] + 1)
    return np.bincount(level, weights=moved).astype(np.int64)
