"""InfTDA on sparse data: only the children of nodes that survived are ever drawn (Boninsegna, Algorithm 1).

Children of a node that was set to 0 are set to 0 whatever their noise, and noises are independent; so leaving them out
changes nothing in the law of the result, while a domain of 10^9 cells takes as long as its survivors do. The children
of survivors form a block, survivors x categories, taken a stretch at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.postprocess.families import RULES, Projection
from treedp_core.postprocess.pruning import PASSING, TOLD, Visited, fit, reach
from treedp_core.privacy import ProtectedUnit, Provenance
from treedp_core.studies.topdown.plan import Plan
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.tree.leaf_table import CodeArray, LeafTable
from treedp_core.watch import Watch
from treedp_core.words import whole

BLOCK_CELLS: Final = 1 << 16
PRUNED: Final = "pruned"
Fitted = list[tuple[FloatArray, NDArray[np.bool_]]]


@dataclass(frozen=True, eq=False)
class Prefixes:
    """The nodes of one level that have records, in lexicographic order.

    Parameters
    ----------
    parent : (n,) int64
        Position among those of the level above.
    code : (n,) int32
        Category among the parent's children.
    count : (n,) int64 or float64
        Records.
    """

    parent: IntArray
    code: CodeArray
    count: AnyArray


@dataclass(frozen=True, eq=False)
class LevelResult(Prefixes):
    """The nodes of one level that survived: `parent` is a place among survivors, `count` is released, above 0.

    Counts are whole but for the rule ``pruned``, whose families need not add up either.

    Parameters
    ----------
    origin : (n,) int64
        Position among the `Prefixes` of the level, -1 for a spurious node. Private: not part of the release.
    noisy : (n,)
        Records as measured.
    dropped : (n_above,) float64
        The largest noisy count among the children of each node above that are not here; -inf where all are.
    """

    origin: IntArray
    noisy: AnyArray
    dropped: FloatArray


@dataclass(frozen=True, eq=False)
class SparseRun:
    """One top-down release of a sparse table.

    Parameters
    ----------
    plan : Plan
    levels : tuple of LevelResult
        Of levels 0, 1, ...
    visited : tuple of LevelResult
        Of levels 0, 1, ... the nodes whose children were drawn, which are those of `levels` unless pruned: then with
        those, of count 0, that are not told.
    truth : tuple of Prefixes
        What the levels held. Private: for the comparison with the release only.
    provenance : Provenance
    """

    plan: Plan
    levels: tuple[LevelResult, ...]
    visited: tuple[LevelResult, ...]
    truth: tuple[Prefixes, ...]
    provenance: Provenance

    def sentence(self) -> str:
        """Return the promise in one sentence; a simulation says so first."""
        return self.provenance.sentence(self.plan.guarantee)

    def __repr__(self) -> str:
        return f"<SparseRun of {self.plan.n_levels} levels. {self.sentence()}>"

    @cached_property
    def table(self) -> LeafTable:
        """The released leaves: synthetic records whose hierarchical counts are consistent by construction."""
        last = self.levels[-1]
        codes = np.empty((last.count.size, len(self.plan.sizes)), dtype=np.int32)
        at = np.arange(last.count.size)
        for column in reversed(range(codes.shape[1])):
            level = self.levels[column + 1]
            codes[:, column] = level.code[at]
            at = level.parent[at]
        return LeafTable(codes, last.count, self.plan.sizes)


def prefixes(table: LeafTable) -> tuple[Prefixes, ...]:
    """Return the nodes with records of every level of a table, root first (none at all without records)."""
    n, width = table.codes.shape
    start = np.zeros(min(n, 1), dtype=np.int64)
    new = np.zeros(n, dtype=bool)
    new[:1] = True
    levels = [Prefixes(np.full(start.size, -1), np.zeros(start.size, dtype=np.int32), np.array([table.total][:n]))]
    node = np.zeros(n, dtype=np.int64)
    for column in range(width):
        new[1:] |= table.codes[1:, column] != table.codes[:-1, column]
        start = np.flatnonzero(new)
        count = np.add.reduceat(table.counts, start) if n else table.counts
        levels.append(Prefixes(node[start], table.codes[start, column], count))
        node = np.cumsum(new) - 1
    return tuple(levels)


def most_cells(cells: Iterable[int], sizes: Sequence[int], total: int) -> int:
    """Return the most noise draws that a release of so many records can take: a level has at most as many survivors.

    Parameters
    ----------
    cells : iterable of int
        Possible nodes of each level, root first.
    sizes : sequence of int
        Categories of each column.

    >>> most_cells((1, 1000, 1000**2, 1000**3), (1000,) * 3, 10**4)
    11001000
    """
    return sum(min(nodes, total) * size for nodes, size in zip(cells, sizes, strict=False))


def release(
    table: LeafTable,
    plan: Plan,
    rng: np.random.Generator,
    rule: str = "intopt",
    watch: Watch | None = None,
    provenance: Provenance = Provenance.SIMULATION,
) -> SparseRun:
    """Return one top-down release of a table of records.

    Parameters
    ----------
    table : LeafTable
        Of the plan's columns, in their order.
    plan : Plan
    rng : numpy.random.Generator
    rule : str
        ``intopt`` (the paper's), ``water_filling`` or ``pruned`` (`treedp_core.postprocess.pruning`).
    watch : Watch, optional
        Told the noises drawn, `most_cells` at most unless pruned; asked before every block of them.
    provenance : Provenance
        What `rng` is; anything but a secure source of bits makes simulations.

    Raises
    ------
    InputError
        ``NO_RECORDS`` for a public total of 0, ``TOO_MANY_CELLS`` when more than 2 * 10^9 noises could be needed,
        ``PLAN_MISMATCH`` for a table of other columns, ``VALUE_UNKNOWN`` for the rule.

    Examples
    --------
    >>> from treedp_core.tree.leaf_table import count_leaves
    >>> from treedp_core.studies.topdown.plan import plan
    >>> table = count_leaves([np.array([0, 0, 1]), np.array([5, 5, 999])], (2, 1000))
    >>> run = release(table, plan((2, 1000), 1000.0), np.random.default_rng(1))
    >>> run.table.total, run.table.codes.tolist()
    (3, [[0, 5], [1, 999]])
    """
    checks.one_of("rule", rule, (*RULES, PRUNED))
    if table.sizes != plan.sizes:
        raise InputError("PLAN_MISMATCH", f"Expected a table of columns with {plan.sizes} categories: {table.sizes}.")
    refuse_no_records(plan.unit, table.total)
    truth = prefixes(table)
    levels = [_root(plan, table.total, rng)]
    _refuse_too_many_cells(plan, int(levels[0].count.sum()))
    if rule == PRUNED:
        passed, fitted = _pruned(levels[0], truth, plan, rng, watch or Watch())
        return SparseRun(plan, tuple(_told(passed, fitted)), tuple(_fitted(passed, fitted)), truth, provenance)
    for level in range(1, plan.n_levels):
        levels.append(_joined(_blocks(levels[-1], truth[level], plan, level, RULES[rule], rng, watch=watch or Watch())))
    return SparseRun(plan, tuple(levels), tuple(levels), truth, provenance)


def _pruned(
    root: LevelResult, truth: tuple[Prefixes, ...], plan: Plan, rng: np.random.Generator, watch: Watch
) -> tuple[list[LevelResult], Fitted]:
    """Visit the children of what passes, and fit them; of children that do not pass only the sum is kept."""
    passed, seen, drawn = [root], [_visited(root, plan, 0, np.zeros(0))], 0
    for level in range(1, plan.n_levels):
        above, size = passed[-1], plan.sizes[level - 1]
        drawn += above.count.size * size
        _refuse_cells(drawn, int(root.count.sum()))
        rest: list[IntArray] = []
        needed = reach(PASSING, np.array(size), plan.laws[level]) * np.sqrt(_variance(plan, level))
        keep = partial(_passing, needed, rest)
        passed.append(_joined(_blocks(above, truth[level], plan, level, keep, rng, watch=watch)))
        seen.append(_visited(passed[-1], plan, level, np.concatenate([np.zeros(0), *rest])))
    return passed, fit(seen)


def _told(passed: Sequence[LevelResult], fitted: Fitted) -> Iterator[LevelResult]:
    """Yield the nodes that are told, with their estimates."""
    place = np.zeros(0, dtype=np.int64)
    for here, (best, told) in zip(passed, fitted, strict=True):
        parent = place[here.parent] if place.size else here.parent
        yield LevelResult(parent[told], here.code[told], best[told], here.origin[told], here.noisy[told], here.dropped)
        place = np.cumsum(told) - 1


def _fitted(passed: Sequence[LevelResult], fitted: Fitted) -> Iterator[LevelResult]:
    """Yield all nodes that passed, with their estimates, 0 where they are not told."""
    for here, (best, told) in zip(passed, fitted, strict=True):
        yield replace(here, count=np.where(told, best, 0.0))


def _passing(needed: FloatArray, rest: list[IntArray], noisy: IntArray, total: IntArray) -> IntArray:
    """Keep the noisy counts (n, size) that pass, and note the sums of the others."""
    passed = np.where(noisy > needed, noisy, 0)
    rest.append((noisy - passed).sum(axis=-1))
    return passed


def _visited(passed: LevelResult, plan: Plan, level: int, rest: FloatArray) -> Visited:
    size = plan.sizes[level - 1] if level else 1
    n, variance = passed.count.size, _variance(plan, level)
    n_rest: FloatArray = size - np.bincount(passed.parent, minlength=rest.size).astype(float) if level else rest
    telling = np.full(n, reach(TOLD, np.array(size), plan.laws[level]))
    return Visited(passed.parent, passed.count.astype(np.float64), np.full(n, variance), telling, rest,
                   n_rest * variance)  # fmt: skip


def _variance(plan: Plan, level: int) -> float:
    law = plan.laws[level]
    return 0.0 if law is None else law.variance


def refuse_no_records(unit: ProtectedUnit, total: int) -> None:
    """Refuse a public total of 0: whoever may know it has nothing to learn."""
    if unit.total_is_public and total == 0:
        raise InputError("NO_RECORDS", "There are no records (n = 0), so there is nothing to release.")


def _root(plan: Plan, total: int, rng: np.random.Generator) -> LevelResult:
    law = plan.laws[0]
    noisy = total + (0 if law is None else int(law.sample(rng, 1)[0]))
    kept = int(noisy > 0)
    origin = np.full(kept, 0 if total else -1)
    return LevelResult(
        np.full(kept, -1), np.zeros(kept, dtype=np.int32), np.array([noisy][:kept], dtype=np.int64), origin,
        np.array([noisy][:kept], dtype=np.int64), np.array([-np.inf if kept else float(noisy)]),
    )  # fmt: skip


def _refuse_too_many_cells(plan: Plan, total: int) -> None:
    _refuse_cells(most_cells(plan.cells, plan.sizes, total), total)


def _refuse_cells(cells: int, total: int) -> None:
    if cells > checks.MAX_CELL_DRAWS:
        raise InputError(
            "TOO_MANY_CELLS",
            f"Up to {whole(cells)} noises could be needed for {whole(total)} records; at most "
            f"{whole(checks.MAX_CELL_DRAWS)} are "
            "drawn: use fewer columns, group the categories of the largest, or put columns with few categories first.",
        )


def _blocks(
    above: LevelResult,
    truth: Prefixes,
    plan: Plan,
    level: int,
    project: Projection,
    rng: np.random.Generator,
    *,
    watch: Watch,
) -> Iterator[tuple[AnyArray, ...]]:
    """Yield the survivors of a level, from those of the level above, as the parts of `LevelResult`."""
    size, law = plan.sizes[level - 1], plan.laws[level]
    n_above = int(truth.parent[-1]) + 1 if truth.parent.size else 0
    first = np.searchsorted(truth.parent, np.arange(n_above + 1))
    step = max(1, BLOCK_CELLS // size)
    for start in range(0, above.count.size, step):
        watch.check()
        part = slice(start, min(start + step, above.count.size))
        origin = above.origin[part]
        real = np.flatnonzero(origin >= 0)
        begin, n_children = first[origin[real]], np.diff(first)[origin[real]]
        child = np.repeat(begin - np.cumsum(n_children) + n_children, n_children) + np.arange(int(n_children.sum()))
        cell = np.repeat(real, n_children) * size + truth.code[child]  # ascending, as both are in order
        shape = (part.stop - start, size)
        noisy = law.sample(rng, shape) if law else np.zeros(shape, dtype=np.int64)
        noisy.reshape(-1)[cell] += truth.count[child]
        counts = project(noisy, above.count[part])
        dropped = np.where(counts == 0, noisy, -np.inf).max(axis=1)
        counts = counts.reshape(-1)
        kept = np.flatnonzero(counts)
        row, code = np.divmod(kept, size)
        watch.step(counts.size)
        yield start + row, code, counts[kept], _origins(kept, cell, child), noisy.reshape(-1)[kept], dropped


def _joined(blocks: Iterable[tuple[AnyArray, ...]]) -> LevelResult:
    none = (*[np.zeros(0, dtype=np.int64)] * 5, np.zeros(0))
    parent, code, *others = (np.concatenate(parts) for parts in zip(none, *blocks, strict=True))
    return LevelResult(parent, code.astype(np.int32), *others)


def _origins(kept: IntArray, cell: IntArray, child: IntArray) -> IntArray:
    """Return for each surviving cell which true child it is, or -1."""
    if not cell.size:
        return np.full(kept.size, -1)
    at = np.minimum(np.searchsorted(cell, kept), cell.size - 1)
    return np.where(cell[at] == kept, child[at], -1)
