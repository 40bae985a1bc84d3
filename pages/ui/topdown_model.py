"""What the page TopDown computes: the plan of a release, one release, and what it misses. Pure logic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

import numpy as np

from pages.ui.topdown_subject import Subject, union_tree
from treedp_core import checks, postprocess
from treedp_core.calibration import level_law
from treedp_core.checks import InputError
from treedp_core.contributions import Spread, capacities_of_tree, level_sensitivities
from treedp_core.conversions import epsilon_to_rho
from treedp_core.leaf_table import LeafTable, table_of_tree
from treedp_core.mechanisms import LevelNoise
from treedp_core.montecarlo import generator
from treedp_core.privacy import RHO_HIGH, Currency, ProtectedUnit, budget_from_shares, exact_shares, guarantee
from treedp_core.records import Labels
from treedp_core.registry import table
from treedp_core.top_down import (
    Compared,
    Plan,
    bound,
    bound_by_exact_tails,
    compare,
    compare_on_tree,
    needs_factor_two,
    plan,
    release,
)
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree

VIEWS: Final = {
    "release": "One release",
    "rules": "Compare projections",
    "orders": "Which column first?",
    "accounting": "Accounting",
    "sensitivity": "Sensitivity",
    "records": "Synthetic records",
}
SOURCES: Final = {"trips": "Trips (sample)", "current": "Data set in use", "sparse": "Sparse, made up"}
ALLOCATIONS: Final = {"equal": "Equal", "custom": "Custom shares"}
MAX_UNION: Final = 2_000_000
"""Nodes of the union of truth and release up to which a sparse release is drawn as a tree."""
_NOISE: Final = 0x7D02


@dataclass(frozen=True)
class Rule:
    """How noisy counts become whole: post-processors in order; `sparse` names the projection that needs no tree."""

    name: str
    label: str
    steps: tuple[str, ...]
    sparse: str | None = None
    is_whole: bool = True
    is_bounded: bool = False


RULES: Final = table(
    Rule("intopt", "IntOpt", ("top_down_intopt",), "intopt", is_bounded=True),
    Rule("water_filling", "Water filling", ("top_down_water_filling",), "water_filling", is_bounded=True),
    Rule("ls_intopt", "Least squares, then IntOpt", ("least_squares", "top_down_intopt")),
    Rule("ls_water_filling", "Least squares, then water filling", ("least_squares", "top_down_water_filling")),
    Rule("nnls", "Non-negative least squares", ("non_negative_least_squares",), is_whole=False),
    Rule("real_then_round", "Real, then round", ("real_then_round",)),
    Rule("ls_real_then_round", "Least squares, then real, then round", ("least_squares", "real_then_round")),
)
"""The compared ways; the first is the paper's."""


@dataclass(frozen=True)
class TreePlan(Plan):
    """A plan for a tree whose levels are no columns: `level_cells` says how many nodes each level has."""

    level_cells: tuple[int, ...] = ()

    @property
    def cells(self) -> tuple[int, ...]:
        """Nodes of each level."""
        return self.level_cells


@dataclass(frozen=True)
class Wanted:
    """The settings of a release, but for the records.

    Parameters
    ----------
    rho, delta : float
    unit : ProtectedUnit
        Its known levels are those of the data set, in its own order.
    shares : tuple of float or None
        One per level, root first; None for equal ones.
    spread : Spread
    rule : str
        A name in `RULES`.
    """

    rho: float
    delta: float
    unit: ProtectedUnit
    shares: tuple[float, ...] | None
    spread: Spread
    rule: str

    def plan(self, subject: Subject) -> Plan:
        """Return the noise of every level.

        Raises
        ------
        InputError
            As `treedp_core.top_down.plan`.
        """
        if subject.is_product:
            unit = replace(self.unit, known_levels=subject.known_levels(self.unit.known_levels))
            return plan(subject.table.sizes, self.rho, delta=self.delta, unit=unit, shares=self.shares,
                        spread=self.spread, names=subject.columns)  # fmt: skip
        assert subject.tree is not None
        return _plan_of_tree(self, subject.tree)


def _plan_of_tree(wanted: Wanted, tree: Tree) -> TreePlan:
    n, unit = tree.n_levels, wanted.unit
    given = [Fraction(1)] * n if wanted.shares is None else exact_shares(wanted.shares)
    first = 1 if unit.total_is_public else 0
    if len(given) != n:
        raise InputError("BUDGET_SPLIT", f"Expected one share for each of the {n} levels, got {len(given)}.")
    without = [level for level in range(first, n) if given[level] == 0]
    if without:
        raise InputError("BUDGET_SPLIT", f"Top-down measures every level; give level {without[0]} a share above 0.")
    spent = Fraction(1) if wanted.shares is None else sum(given, Fraction(0))
    budget = budget_from_shares(given, wanted.rho, Currency.RHO, unit, spent)
    l1, l2 = level_sensitivities(unit, capacities_of_tree(tree), wanted.spread)
    laws = tuple(
        None if math.isinf(amount) else level_law("discrete_gaussian", amount, float(a), float(b))
        for amount, a, b in zip(budget.per_level, l1, l2, strict=True)
    )
    promise = guarantee(budget, unit, wanted.delta, False)
    return TreePlan((0,) * tree.height, unit, wanted.spread, budget, laws, promise, tuple(tree.level_sizes.tolist()))


def rho_of(text: str, epsilon: float, delta: float) -> float:
    """Return the total budget in rho: what was typed, or what (epsilon, delta) allows where nothing was.

    Raises
    ------
    InputError
        ``RHO_RANGE`` for a text that is no number above 0 and at most 1000.

    >>> rho_of("0.5", 1.0, 1e-6)
    0.5
    """
    if not text.strip():
        return min(RHO_HIGH, epsilon_to_rho(epsilon, delta, False))
    try:
        value: object = float(text)
    except ValueError:
        value = text
    return checks.number("ρ", value, low=0, high=RHO_HIGH, open_low=True, code="RHO_RANGE")


def level_table(subject: Subject, ready: Plan, confidence: float) -> dict[str, list[Any]]:
    """Return what each level spends and what it may miss: cells, share, sigma and Theorem 1's bound."""
    beta = 1.0 - confidence
    paid = [0.0 if math.isinf(a) else a for a in ready.budget.per_level]
    shares = [a / sum(paid) if sum(paid) else 0.0 for a in paid]
    doubled = needs_factor_two(ready)
    return {
        "level": list(subject.level_names),
        "cells": [float(n) for n in ready.cells],
        "share of ρ": [100.0 * share for share in shares],
        "ρ": paid,
        "σ (records)": ready.sigmas.tolist(),
        "bound": bound(ready, beta).tolist(),
        "by exact tails": bound_by_exact_tails(ready, beta).tolist(),
        "factor 2": ["needed" if two else "–" for two in doubled],
    }


# ---- one release


@dataclass(frozen=True, eq=False)
class Drawn:
    """One simulated release beside the truth (private).

    Parameters
    ----------
    subject : Subject
    plan : Plan
    wanted : Wanted
    seed : int
    levels : tuple of Compared
        Truth and release, level by level.
    leaves : Compared
        The same for all leaves, on whatever level.
    released : (n_nodes,) or None
        On the subject's tree.
    noisy : (n_nodes,) or None
        Before post-processing, on the subject's tree.
    table : LeafTable or None
        The released leaves; None where counts are not whole.
    """

    subject: Subject
    plan: Plan
    wanted: Wanted
    seed: int
    levels: tuple[Compared, ...]
    leaves: Compared
    released: AnyArray | None
    noisy: AnyArray | None
    table: LeafTable | None

    @cached_property
    def picture(self) -> tuple[Tree, Labels, AnyArray, AnyArray] | None:
        """Tree, labels, true and released counts for an icicle; None where they would not fit."""
        subject = self.subject
        if subject.tree is not None and subject.labels is not None and self.released is not None:
            assert subject.counts is not None
            return subject.tree, subject.labels, subject.counts, self.released
        if self.table is None or sum(level.truth.size for level in self.levels) > MAX_UNION:
            return None
        return union_tree(subject, self.table)


def rules_for(subject: Subject) -> list[str]:
    """Return the names of the rules that a subject allows: without a tree only those that need none."""
    return [name for name, rule in RULES.items() if subject.tree is not None or rule.sparse is not None]


def draw(subject: Subject, wanted: Wanted, seed: int) -> Drawn:
    """Return one release of the wanted settings.

    Raises
    ------
    InputError
        As `Wanted.plan`; ``NO_RECORDS`` for a public total of 0, ``TOO_MANY_CELLS``, ``NEEDS_TREE`` for a rule that
        needs more nodes than are laid out.
    """
    ready = wanted.plan(subject)
    rng = generator(seed, _NOISE)
    if subject.tree is None:
        return _sparse(subject, ready, wanted, seed, rng)
    assert subject.counts is not None
    if wanted.unit.total_is_public and subject.total == 0:
        raise InputError("NO_RECORDS", "There are no records (n = 0), so there is nothing to release.")
    noise = LevelNoise(subject.tree, ready.laws, tuple(law is None for law in ready.laws))
    noisy = noise.draw(rng) + subject.counts
    function, _ = postprocess.prepare(subject.tree, noise.variance, RULES[wanted.rule].steps)
    released = tidied(function(noisy))
    levels = compare_on_tree(subject.tree, subject.counts, released)
    leaves = leaves_of(subject.tree, subject.counts, released)
    whole = RULES[wanted.rule].is_whole
    assert subject.labels is not None
    found = table_of_tree(subject.tree, released, subject.labels.codes, subject.table.sizes) if whole else None
    return Drawn(subject, ready, wanted, seed, levels, leaves, released, noisy, found)


def _sparse(subject: Subject, ready: Plan, wanted: Wanted, seed: int, rng: np.random.Generator) -> Drawn:
    rule = RULES[wanted.rule].sparse
    if rule is None:
        raise InputError(
            "NEEDS_TREE",
            f"{RULES[wanted.rule].label} needs every node of the tree, and {subject.n_leaves:,} leaves are too many: "
            "choose IntOpt or water filling, or fewer columns.",
        )
    run = release(subject.table, ready, rng, rule)
    levels = compare(run)
    return Drawn(subject, ready, wanted, seed, levels, levels[-1], None, None, run.table)


def leaves_of(tree: Tree, counts: AnyArray, released: AnyArray) -> Compared:
    """Return all leaves of a release, on whatever level, beside the truth."""
    return Compared(tree.n_leaves, counts[tree.is_leaf], released[tree.is_leaf])


def tidied(released: AnyArray) -> AnyArray:
    """Return real counts whose rounding dust is exactly 0, so that it is no spurious node; whole ones as they are."""
    return released if released.dtype.kind in "iu" else np.where(np.abs(released) < 1e-6, 0.0, released)


# ---- what a release misses

SIZES: Final = ((0, 0), (1, 1), (2, 3), (4, 7), (8, 15), (16, 31), (32, 63), (64, 255), (256, 1023), (1024, 1 << 53))


def size_name(low: int, high: int) -> str:
    """Return the name of a bin of true counts.

    >>> size_name(0, 0), size_name(2, 3), size_name(1024, 1 << 53)
    ('0', '2–3', '1024+')
    """
    return str(low) if low == high else f"{low}+" if high >= 1 << 53 else f"{low}–{high}"


def bias_by_size(levels: Sequence[Compared]) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return nodes, mean error and its standard error over those nodes, by size of the true count, (n_sizes,) each.

    Nodes that are not listed are 0 in the truth and in the release; the spread within a bin is over its nodes.
    """
    truth = np.concatenate([level.truth for level in levels])
    error = np.concatenate([level.released - level.truth for level in levels]).astype(float)
    low = np.array([size[0] for size in SIZES])
    of = np.searchsorted(low, truth, side="right") - 1
    nodes = np.bincount(of, minlength=low.size).astype(np.int64)
    nodes[0] = sum(level.n_cells - level.n_true for level in levels)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(of, weights=error, minlength=low.size) / nodes
        square = np.bincount(of, weights=error**2, minlength=low.size) / nodes
        se = np.where(nodes > 1, np.sqrt(np.maximum(square - mean**2, 0.0) / nodes), np.nan)
    return nodes, mean, se
