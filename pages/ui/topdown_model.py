"""What the page TopDown plans: views, rules, the settings of a release and the noise of every level. Pure logic."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from pages.ui.topdown_subject import Subject
from treedp_core import checks
from treedp_core.calibration import level_law
from treedp_core.checks import InputError
from treedp_core.contributions import Spread, capacities_of_tree, level_sensitivities
from treedp_core.conversions import epsilon_to_rho
from treedp_core.privacy import RHO_HIGH, Currency, ProtectedUnit, budget_from_shares, exact_shares, guarantee
from treedp_core.registry import table
from treedp_core.top_down import (
    Plan,
    bound,
    bound_by_exact_tails,
    needs_factor_two,
    plan,
)
from treedp_core.tree import Tree

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
