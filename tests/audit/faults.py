"""Faults planted in the code while a part of the audit looks: each must be flagged, or the audit is asleep."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from treedp_core import calibration, contributions, privacy, rounding
from treedp_core.budgets import per_node, prior
from treedp_core.checks import InputError
from treedp_core.contributions import Spread
from treedp_core.experiment import Pipeline
from treedp_core.mechanisms import LevelNoise, level_noise
from treedp_core.noise import Laplace
from treedp_core.privacy import Budget, NeighbouringRelation, ProtectedUnit
from treedp_core.release import Release
from treedp_core.top_down import sparse
from treedp_core.tree import Tree

Planter = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Fault:
    """A fault, how it is planted, and the parts of the audit that must each flag it."""

    name: str
    plant: Planter
    parts: tuple[str, ...]


@contextlib.contextmanager
def everywhere(honest: object, planted: object) -> Iterator[None]:
    """Put one function in place of another under every name that a module of the core or the audit gives it."""
    with contextlib.ExitStack() as stack:
        for module_name, module in list(sys.modules.items()):
            if module_name.split(".")[0] in ("treedp_core", "audit") and module_name != __name__:
                for name in [n for n, value in vars(module).items() if value is honest]:
                    stack.enter_context(patch.object(module, name, planted))
        yield


def changed(honest: Callable[..., Any], change: Callable[..., Any]) -> Planter:
    """A fault: the function's result is passed on to `change` with its arguments behind it."""

    @functools.wraps(honest)
    def planted(*arguments: Any, **named: Any) -> Any:
        return change(honest(*arguments, **named), *arguments, **named)

    return lambda: everywhere(honest, planted)


def method(owner: type, name: str, change: Callable[..., Any]) -> Planter:
    """The same for a method; `change` gets the result, the object and the arguments."""
    honest = getattr(owner, name)

    def planted(self: Any, *arguments: Any, **named: Any) -> Any:
        return change(honest(self, *arguments, **named), self, *arguments, **named)

    return lambda: patch.object(owner, name, planted)


def narrower(law: Any, factor: float) -> Any:
    """The same law, `factor` times as wide."""
    if law is None:
        return None
    (parameter,) = vars(law).values()
    return type(law)(parameter / factor if type(law).__name__ == "DiscreteLaplace" else parameter * factor)


@contextlib.contextmanager
def nearest() -> Iterator[None]:
    """Every rounding with a direction rounds to the nearest float instead."""
    with (
        everywhere(rounding.float_above, float),
        everywhere(rounding.float_below, float),
        everywhere(rounding.quotient_above, lambda a, b: float(Fraction(a) / Fraction(b))),
        everywhere(rounding.quotient_below, lambda a, b: float(Fraction(a) / Fraction(b))),
        everywhere(rounding.sqrt_above, lambda square: math.sqrt(Fraction(square))),
    ):
        yield


def _without_last(cost: Fraction, unit: ProtectedUnit, amounts: Iterable[Any]) -> Fraction:
    return CHARGE(unit, list(amounts)[:-1]) or cost


def _once(_: Fraction, unit: ProtectedUnit, amounts: Iterable[Any]) -> Fraction:
    return sum((Fraction(a) for a in amounts if a != math.inf), Fraction(0))


def _exact_where_refused(tree: Tree, budget: Budget, unit: ProtectedUnit, law: str) -> LevelNoise:
    try:
        return LEVEL_NOISE(tree, budget, unit, law)
    except InputError:
        exact = tuple(amount == math.inf for amount in budget.per_level)
        return LevelNoise(tree, tuple(None if free else Laplace(1.0) for free in exact), exact)


def _exact_root(ready: LevelNoise, *_: object) -> LevelNoise:
    return replace(ready, laws=(None, *ready.laws[1:]), exact=(True, *ready.exact[1:]))


def _peeking(released: Release, noise: LevelNoise, counts: Any, *_: object) -> Release:
    return replace(released, estimate=np.where(counts == 0, 0, released.estimate))


def _clipped_at_the_total(both: tuple[Release, Release], pipeline: Pipeline, counts: Any, *_: object) -> Any:
    return both[0], replace(both[1], estimate=np.minimum(both[1].estimate, counts[..., :1]))


def _as_if_distinct(unit: ProtectedUnit, levels: Any, spread: Spread = Spread.STACKED) -> Any:
    offered = unit.relation is not NeighbouringRelation.REPLACE_UNKNOWN
    return SENSITIVITIES(unit, levels, Spread.DISTINCT if offered else spread)


def _refusing_by_the_truth(table: Any, ready: Any, *others: Any, **named: Any) -> Any:
    sparse._refuse_too_many_cells(ready, table.total)
    with patch.object(sparse, "_refuse_too_many_cells", lambda *_: None):
        return SPARSE_RELEASE(table, ready, *others, **named)


@contextlib.contextmanager
def forgotten_prior() -> Iterator[None]:
    """A prior is charged neither where its rest is split nor in the ledger."""
    ledger = property(lambda self: self.unit.exact_charge([a if a < math.inf else 0.0 for a in self.amounts]))
    with everywhere(LEFT, lambda total, *_: total), patch.object(prior.Ledger, "charged", ledger):
        yield


def _continuous(budget: Budget, unit: ProtectedUnit, delta: float, _: bool, **named: Any) -> Any:
    return GUARANTEE(budget, unit, delta, True, **named)


def _all_spent(shares: Any, total: float, currency: Any, unit: ProtectedUnit, *_: object, **__: object) -> Budget:
    return FROM_SHARES(shares, total, currency, unit)


CHARGE, LEVEL_NOISE, SENSITIVITIES = ProtectedUnit.exact_charge, level_noise, contributions.level_sensitivities
SPARSE_RELEASE, GUARANTEE, FROM_SHARES = sparse.release, privacy.guarantee, privacy.budget_from_shares
LEFT = prior.left_after
LEVELS, TOP_DOWN, BUDGETS = "levels", "top-down", "budgets"
ALL_NOISE = (LEVELS, TOP_DOWN, BUDGETS)

FAULTS = (
    Fault("noise 1.02 times too small", changed(calibration._law, lambda law, *_: narrower(law, 1 / 1.02)), ALL_NOISE),
    Fault("noise a thousandth too small", changed(calibration._law, lambda law, *_: narrower(law, 0.999)), ALL_NOISE),
    Fault("one level uncharged", method(ProtectedUnit, "exact_charge", _without_last), ALL_NOISE),
    Fault("halved sensitivity", method(ProtectedUnit, "_levels", lambda found, *_: found / 2), ALL_NOISE),
    Fault("rounding to nearest", nearest, ALL_NOISE),
    Fault("contributions forgotten", method(ProtectedUnit, "_levels", lambda x, u, *_: x / u.contributions), ALL_NOISE),
    Fault("unknown levels charged once", method(ProtectedUnit, "exact_charge", _once), ALL_NOISE),
    Fault("a protected root published exactly", changed(level_noise, _exact_root), (LEVELS,)),
    Fault("exact levels not refused", lambda: everywhere(level_noise, _exact_where_refused), (LEVELS,)),
    Fault("empty nodes without noise", method(LevelNoise, "release", _peeking), (LEVELS,)),
    Fault("post-processing sees the total", method(Pipeline, "release", _clipped_at_the_total), (LEVELS,)),
    Fault("whole-number noise as continuous", lambda: everywhere(GUARANTEE, _continuous), ALL_NOISE),
    Fault("stacked records as distinct ones", lambda: everywhere(SENSITIVITIES, _as_if_distinct), (TOP_DOWN,)),
    Fault("unspent shares spent", lambda: everywhere(FROM_SHARES, _all_spent), (TOP_DOWN,)),
    Fault("size refused by the true total", lambda: everywhere(SPARSE_RELEASE, _refusing_by_the_truth), (TOP_DOWN,)),
    Fault("a prior forgotten", forgotten_prior, (BUDGETS,)),
    Fault(
        "unknown columns of nodes charged once",
        changed(per_node._first_levels, lambda found, tree, *_: (found[0], tree.n_levels)),
        (BUDGETS,),
    ),
)
