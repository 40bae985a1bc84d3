"""Top-down plans on products and trees, and sparse releases recorded on a table and replayed on its neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import prod
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.postprocess.families import RULES
from treedp_core.studies.topdown import marginals, sparse
from treedp_core.studies.topdown.plan import Plan, known_levels, plan
from treedp_core.tree.leaf_table import LeafTable

from . import losses, mwem
from .decimals import concentrated_delta
from .neighbours import (
    ADD,
    REPLACE,
    UNKNOWN,
    IntArray,
    Pairs,
    Small,
    Who,
    both_spreads,
    data_sets,
    everyone,
    list_pairs,
    neighbours,
    random_tree,
)
from .report import Leak, Report

Outcome = tuple[object, ...]
REPLAYED = 25
"""Neighbours of each data set on which a sparse release is run again."""


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Compare plans of n products and n trees with enumeration, and replay n sparse releases."""
    for i in range(n):
        sizes = [(2, 2), (3, 2), (2, 3), (2, 2, 2), (4,), (2, 2, 3)][i % 6]
        _plans(report, rng, product(sizes), sizes)
        _plans(report, rng, _with_levels(rng), None)
        _runs(report, rng, product(sizes), sizes)
        for _ in range(4):
            _ordered(report, rng, sizes)
        mwem.audit(report, rng)


def product(sizes: Sequence[int]) -> Small:
    """The tree of a product of columns."""
    parent, above = [-1], [0]
    for size in sizes:
        start = len(parent)
        parent += [node for node in above for _ in range(size)]
        above = list(range(start, len(parent)))
    return Small(tuple(parent))


def _with_levels(rng: np.random.Generator) -> Small:
    small = random_tree(rng, int(rng.integers(3, 9)))
    return small if len(small.leaves) <= 5 else _with_levels(rng)


# ---------------------------------------------------------------- plans


def _plans(report: Report, rng: np.random.Generator, small: Small, sizes: Sequence[int] | None) -> None:
    most = 4 if len(small.leaves) <= 4 else 3 if len(small.leaves) <= 6 else 2
    data = list(data_sets(small, rng, most))
    for who in both_spreads(everyone(small, range(1, most + 1))):
        pairs = list_pairs(small, who, data)
        report.pairs += pairs.n
        _one_plan(report, rng, pairs, sizes or small.tree)
        if sizes is not None:
            _tables(report, rng, pairs, sizes)


def _tables(report: Report, rng: np.random.Generator, pairs: Pairs, sizes: Sequence[int]) -> None:
    """Noise on several tables of some of the columns each: what the cells of all of them move by."""
    every = [one for n in range(1, len(sizes) + 1) for one in combinations(range(len(sizes)), n)]
    asked = [every[i] for i in rng.choice(len(every), int(rng.integers(1, len(every) + 1)), replace=False)]
    rho = float(np.exp(rng.uniform(-5, 2)))
    law = marginals.table_law(pairs.who.unit, rho, len(asked))
    cells = pairs.changes[:, -prod(sizes) :].reshape(-1, *sizes)
    moved = sum(
        np.square(cells.sum(axis=tuple(1 + i for i in range(len(sizes)) if i not in one)))
        .reshape(len(cells), -1)
        .sum(1)
        for one in asked
    )
    spent = losses.price(law)[1] * int(np.max(moved, initial=0))
    report.spent(f"{len(asked)} tables of {tuple(sizes)} for {pairs.who}", spent, rho, pairs.n)


def _one_plan(report: Report, rng: np.random.Generator, pairs: Pairs, domain: Any) -> None:
    who, n_levels = pairs.who, pairs.small.n_levels
    rho, delta = float(np.exp(rng.uniform(-5, 2))), float(10 ** rng.uniform(-9, -2.5))
    shares = None if rng.random() < 0.3 else tuple((rng.dirichlet(np.ones(n_levels)) * rng.uniform(0.2, 1)).tolist())
    what = f"top-down plan on {pairs.small.parent} for {who}"
    try:
        ready = plan(domain, rho, delta=delta, unit=who.unit, shares=shares, spread=who.spread)
    except InputError as refusal:  # where no neighbour can change any level there is nothing to plan
        still = not any(pairs.by_level()[0][:, level].any() for level in range(n_levels))
        report.holds(still and refusal.code == "BUDGET_SPLIT", f"{what}: refused with {refusal.code}")
        return
    promised = Fraction(rho) * min(Fraction(1), sum(map(_read, shares or (1.0,)), Fraction(0)))
    moved = pairs.by_level()
    try:
        losses.refuse_exact([law is None for law in ready.laws], moved[0])
    except Leak as leak:
        report.holds(False, f"{what}: {leak}")
        return
    assert ready.guarantee.rho is not None
    spent = losses.worst(ready.laws, moved)
    report.spent(what, spent, ready.guarantee.rho, pairs.n)
    report.holds(spent <= promised, f"{what}: spends more than its shares")
    report.holds(ready.guarantee.delta <= delta, f"{what}: a larger delta than was asked for")
    if spent and rng.random() < 0.2:
        right = concentrated_delta(spent, ready.guarantee.epsilon) <= Fraction(delta)
        report.holds(right, f"{what}: (epsilon, delta)")


def _ordered(report: Report, rng: np.random.Generator, sizes: Sequence[int]) -> None:
    """Known columns anywhere in the order: a record keeps its values there, and any other may change."""
    order = rng.permutation(len(sizes)).tolist()
    known = {column for column in range(len(sizes)) if rng.random() < 0.5}
    turned = [sizes[column] for column in order]
    small, who = product(turned), Who(UNKNOWN, 1, known_levels(order, known))
    ready = plan(turned, float(np.exp(rng.uniform(-4, 1))), unit=who.unit)
    codes = np.stack(np.unravel_index(np.arange(prod(turned)), turned), axis=1)
    fixed = codes[:, [level for level, column in enumerate(order) if column in known]]
    moves = [small.below[a] - small.below[b] for a in range(len(codes)) for b in range(len(codes))
             if (fixed[a] == fixed[b]).all()]  # fmt: skip
    pairs = Pairs(small, who, 2 * len(moves), np.array([*moves, *small.below, *-small.below]))
    report.pairs += pairs.n
    spent = losses.worst(ready.laws, pairs.by_level())
    assert ready.guarantee.rho is not None
    report.spent(f"top-down, order {order} with known columns {known}", spent, ready.guarantee.rho, pairs.n)


def _read(share: float) -> Fraction:
    return Fraction(repr(share))


# ---------------------------------------------------------------- sparse releases, replayed


class Tape(SimpleNamespace):
    """A law that notes each draw, or hands out answers; sparse releases write into what they get, so it is a copy."""

    def sample(self, rng: np.random.Generator, size: Any) -> IntArray:
        """Draw, or hand out what was recorded for this level."""
        if self.answers is None:
            drawn = self.law.sample(rng, size)
            self.log.append((self.level, drawn.copy()))
            return np.asarray(drawn)
        shape = size if isinstance(size, tuple) else (size,)
        if not self.answers or self.answers[0][0] != self.level or self.answers[0][1].shape != shape:
            raise Leak("the noise that is asked for depends on private data")
        return np.asarray(self.answers.pop(0)[1])


def _taped(ready: Plan, log: list, answers: list | None) -> Plan:
    laws: Any = tuple(
        law
        and Tape(
            law=law, variance=law.variance, reach=law.reach, integer=law.integer, level=i, log=log, answers=answers
        )
        for i, law in enumerate(ready.laws)
    )
    return replace(ready, laws=laws)


def table_of(sizes: Sequence[int], leaf_counts: IntArray) -> LeafTable:
    """A sparse table of the records at each leaf, in the order of the codes."""
    codes = np.stack(np.unravel_index(np.arange(prod(sizes)), sizes), axis=1).astype(np.int32)
    return LeafTable(codes[leaf_counts > 0], leaf_counts[leaf_counts > 0].astype(np.int64), tuple(sizes))


def prefix_counts(sizes: Sequence[int], leaf_counts: IntArray) -> Counter[tuple[int, ...]]:
    """Records below every prefix of the codes, added up record by record."""
    found: Counter[tuple[int, ...]] = Counter()
    for leaf, count in enumerate(leaf_counts.tolist()):
        code = tuple(int(x) for x in np.unravel_index(leaf, sizes))
        for level in range(len(sizes) + 1):
            found[code[:level]] += count
    return found


def _runs(report: Report, rng: np.random.Generator, small: Small, sizes: Sequence[int]) -> None:
    for who in (Who(ADD, 2), Who(REPLACE, 1), Who(UNKNOWN, 1, 2), Who(REPLACE, 2, distinct=True)):
        ready = plan(sizes, float(np.exp(rng.uniform(-2, 1.5))), unit=who.unit, spread=who.spread)
        for data in data_sets(small, rng, who.contributions):
            others = neighbours(small, data, who)
            if not len(others) or (who.unit.total_is_public and not data.sum()):
                continue
            others = others[rng.permutation(len(others))[:REPLAYED]]
            report.pairs += len(others)
            limit = sparse.most_cells(ready.cells, ready.sizes, int(data.sum())) + int(rng.integers(-1, 1)) * prod(
                sizes
            )
            for allowed in (checks.MAX_CELL_DRAWS, limit):
                _one_run(report, rng, ready, sizes, data, others, allowed)


def _one_run(
    report: Report,
    rng: np.random.Generator,
    ready: Plan,
    sizes: Sequence[int],
    data: IntArray,
    others: IntArray,
    allowed: int,
) -> None:
    rule, block = str(rng.choice([*RULES, sparse.PRUNED])), int(rng.choice([1, 1 << 16]))
    what = f"sparse release of {data.tolist()} in {sizes}, {rule}, for {ready.unit}"
    log: list = []
    with patch.object(checks, "MAX_CELL_DRAWS", allowed), patch.object(sparse, "BLOCK_CELLS", block):
        outcome, asked = _release(table_of(sizes, data), _taped(ready, log, None), rule, int(rng.integers(1 << 30)))
        cells = list(_cells(log, asked, block, sizes))
        worst, truth = Fraction(0), prefix_counts(sizes, data)
        for other in others:
            near = prefix_counts(sizes, other)
            moved = [np.array([truth[path] - near[path] for path in asked]) for asked in cells]
            answers = [(level, drawn + m.reshape(drawn.shape)) for (level, drawn), m in zip(log, moved, strict=True)]
            try:
                again, _ = _release(table_of(sizes, other), _taped(ready, [], answers), rule, 0)
                report.holds(again == outcome and not answers, f"{what}: another output on a neighbour")
            except Leak as leak:
                report.holds(False, f"{what}: {leak}")
            levels = [level for level, _ in log]
            spent = [losses.price(ready.laws[i])[1] * int((m**2).sum()) for i, m in zip(levels, moved, strict=True)]
            worst = max(worst, sum(spent, Fraction(0)))
        assert ready.guarantee.rho is not None
        report.spent(what, worst, ready.guarantee.rho)


def _release(table: LeafTable, ready: Plan, rule: str, seed: int) -> tuple[Outcome, list[sparse.LevelResult]]:
    """What comes out, refusals included; and of each level the nodes whose children were asked for next."""
    asked: list[sparse.LevelResult] = []

    def noted(step: Callable[..., sparse.LevelResult]) -> Callable[..., sparse.LevelResult]:
        return lambda *arguments: asked.append(step(*arguments)) or asked[-1]

    with patch.object(sparse, "_root", noted(sparse._root)), patch.object(sparse, "_joined", noted(sparse._joined)):
        try:
            run = sparse.release(table, ready, np.random.default_rng(seed), rule)
        except InputError as refusal:
            return ("refused", refusal.code, str(refusal)), asked
    released = [(x.parent.tolist(), x.code.tolist(), x.count.tolist()) for x in run.levels]
    certified = [(x.noisy.tolist(), x.dropped.tolist()) for x in run.visited]
    return ("released", *map(str, [*released, *certified]), str(run.table.codes.tolist())), asked


def _cells(
    log: list, levels: list[sparse.LevelResult], block: int, sizes: Sequence[int]
) -> Iterator[list[tuple[int, ...]]]:
    """The prefixes whose noisy counts each recorded draw gave, in its order."""
    paths: list[list[tuple[int, ...]]] = []
    for i, level in enumerate(levels):
        above = paths[-1] if i else []
        paths.append(
            [(*above[p], c) for p, c in zip(level.parent.tolist(), level.code.tolist(), strict=True)]
            if i
            else [()] * len(level.count)
        )
    done = 0
    for at, (level, drawn) in enumerate(log):
        if level == 0:
            yield [()]
            continue
        done = 0 if log[at - 1][0] != level or at == 0 else done
        rows = paths[level - 1][done : done + len(drawn)]
        done += len(drawn)
        yield [(*path, code) for path in rows for code in range(sizes[level - 1])]
