"""Budgets that hold under the laws that errors really have, written as an experiment takes them.

A search for the smallest budget takes errors after least squares as normal. Here its splits are scaled by the true
laws, freed of crumbs, and turned into shares and a total that no rounding makes too small or too dear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.allocation import split
from treedp_core.privacy import RHO_HIGH, Currency
from treedp_core.privacy.rounding import crossing
from treedp_core.studies.budget.problem import CRUMB, Problem
from treedp_core.studies.budget.splits.branch_and_bound import Search
from treedp_core.studies.budget.targets.relaxation import Requirements
from treedp_core.studies.budget.targets.target import Ask, Bound
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.words import float_above, normal_quantile

UNITS: Final = 10**15
"""Shares are whole multiples of this part, so that a float says each of them exactly and they sum to 1."""
TRUE_ROUNDS: Final = 4
MOST_LOG: Final = 50.0
STEP: Final = 0.02
TOUCHED: Final = 1e-6
ENOUGH_BETTER: Final = 1e-4
NEAR: Final = 0.5
"""Nodes whose normal value is that part of the largest, or more, are asked first."""
LEGIBLE: Final = 1e-3
"""The smallest part of the total that a level is given if it can as well do without, or with that much."""
TINY: Final = 1e-300
MOST_SCALE: Final = 1e12
"""By how much a split is scaled at most; no total of this app is near that."""
LEAST: Final = {Currency.EPSILON: checks.EPSILON_LOW, Currency.RHO: 0.0}
"""Smallest totals that an experiment takes."""
MOST: Final = {Currency.EPSILON: checks.EPSILON_HIGH, Currency.RHO: RHO_HIGH}
"""Largest totals that an experiment takes."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The values of all bounds under the laws that errors after least squares really have."""

    problem: Problem
    bounds: list[Bound]

    @property
    def is_normal(self) -> bool:
        """Whether the normal law of single errors says all."""
        on_counts = any(bound.uses_reach for bound in self.bounds)
        return not on_counts or (self.problem.noise.normal and not self.is_simulated)

    @property
    def is_simulated(self) -> bool:
        """Whether a target is about many counts in one release, whose errors go together."""
        return any(bound.target.ask is Ask.SHARE for bound in self.bounds)

    def values(
        self, amounts: FloatArray, *, quick: bool = False, normal: bool = False, until: float = np.inf
    ) -> tuple[list[float], float]:
        """The value of every bound for amounts (n_levels,), and the largest standard error.

        With `quick` only nodes that may decide count; with `normal` errors are taken as normal. The first value that
        is not below `until` is the last: those that are likely to be largest come first then.
        """
        variance = self._variance(amounts)
        found: list[float] = []
        error = 0.0
        each = [(bound, self._if_normal(bound, variance)) for bound in self.bounds]
        if until < np.inf:
            each.sort(key=lambda one: -one[1])
        for bound, if_normal in each:
            if normal or self.is_normal or not bound.uses_reach or np.isinf(if_normal):
                found.append(if_normal)
                continue
            value, one = bound.of_errors(amounts, self._near(bound, variance) if quick else None)
            found.append(value)
            error = max(error, one)
            if value >= until:
                break
        return found, error

    def _if_normal(self, bound: Bound, variance: FloatArray) -> float:
        """The value of a bound if errors were normal; inf where a count of its level is not determined."""
        here = np.where(self._level_of_class == bound.target.level, variance, 0.0)
        return np.inf if np.isinf(here).any() else max(value for value, _ in bound.of_variances(here))

    def met(self, amounts: FloatArray) -> bool:
        """Whether every target holds for amounts (n_levels,)."""
        return max(self.values(amounts, quick=True)[0]) <= 1.0 and self._holds_for_all(amounts)

    def binding(self, amounts: FloatArray) -> tuple[int, ...]:
        """Levels whose targets have next to no room for amounts (n_levels,)."""
        found = self.values(amounts)[0]
        near = max(found) * (1.0 - 1e-3) if found else 1.0
        return tuple(sorted({b.target.level for b, value in zip(self.bounds, found, strict=True) if value >= near}))

    def tidied(self, shares: FloatArray, part: float = CRUMB) -> FloatArray:
        """Shares (n_levels,) without levels charged less than that part; one that a target needs gets just that."""
        least = part * (1.0 + 2.0 * shares.size * part)  # scaling must not make crumbs again
        crumb = least * float(self.problem.charge(shares)) / np.maximum(self.problem.price, 1.0)
        swept = np.where(shares < crumb, 0.0, shares)
        known = np.isfinite(self.values(swept, normal=True)[0]).all()
        return swept if known else np.where(self.problem.paid > 0, np.maximum(shares, crumb), 0.0)

    def log_values(self, amounts: FloatArray) -> FloatArray:
        """Logarithm of each bound's value as it is searched by, (n_bounds,), from the laws of the errors.

        For a target on every count the value is that of a normal error that misses as often.
        """
        found = np.maximum(self.values(amounts, quick=True)[0], TINY)
        logs = np.log(found)
        for i, bound in enumerate(self.bounds):
            if bound.target.ask is Ask.EVERY_NODE and not self.is_normal:
                missed = min(max(float(found[i]) * (1.0 - bound.target.confidence), 1e-15), 1.0 - 1e-9)
                logs[i] = 2.0 * np.log(normal_quantile(bound.target.confidence) / normal_quantile(1.0 - missed))
        return np.minimum(logs, MOST_LOG)

    def descend(self, search: Search, wanted: Requirements, split: FloatArray, rounds: int = TRUE_ROUNDS) -> FloatArray:
        """Where a search under the true laws ends from a split (n_levels,): nearly `enough`.

        What the true value of a bound is beside the one searched by is taken as linear in the logarithms of the
        amounts, measured anew a few times.
        """
        split = self.nearly(self.tidied(split))
        levels = search.levels
        for _ in range(rounds):
            self.problem.watch.check()
            begin = np.maximum(split[levels], TOUCHED * split.max())
            measured = np.flatnonzero(split[levels] > LEGIBLE * split.max())
            drawn = split[levels] > 0
            offset = self._beyond(search, wanted, begin, drawn)
            slopes = np.zeros((offset.size, levels.size))
            for i in measured.tolist():
                moved = begin * np.exp(STEP * (np.arange(begin.size) == i))
                slopes[:, i] = (self._beyond(search, wanted, moved, drawn) - offset) / STEP
            at = np.log(begin)

            def tilt(
                x: FloatArray, offset: FloatArray = offset, slopes: FloatArray = slopes, at: FloatArray = at
            ) -> tuple[FloatArray, FloatArray]:
                away = np.clip(x - at, -1.0, 1.0)
                return offset + slopes @ away, slopes * (np.abs(x - at) < 1.0)

            other = self.nearly(self.tidied(search.whole(search.polished(begin, tilt))))
            before, after = float(self.problem.charge(split)), float(self.problem.charge(other))
            if after < before:
                split = other
            if after > before * (1.0 - ENOUGH_BETTER):
                break
        return split

    def nearly(self, split: FloatArray) -> FloatArray:
        """A split (n_levels,) scaled so that the largest value is nearly 1, by what a variance would do."""
        power = 0.5 if self.problem.currency is Currency.EPSILON else 1.0
        for _ in range(3):
            split = split * np.exp(power * min(float(self.log_values(split).max()), 10.0))
        return split

    def _beyond(self, search: Search, wanted: Requirements, amounts: FloatArray, drawn: AnyArray) -> FloatArray:
        """Logarithm of each bound's true value over the one that a search has at amounts (n,) of paid levels.

        `drawn` (n,) says which of them are measured; the others have crumbs.
        """
        values, _ = search.at(search.precisions(amounts)[0])
        every = self.log_values(search.whole(np.where(drawn, amounts, 0.0)))
        true = every[[self.bounds.index(bound) for bound in wanted.bounds]]
        return np.append(true + np.log(values[: true.size]), np.zeros(values.size - true.size))

    def enough(self, shares: FloatArray) -> FloatArray:
        """Shares (n_levels,) scaled until every target holds, and by hardly more.

        First by the nodes that may decide, then by all.
        """
        quick = self._scaled(shares, quick=True)
        return quick if self._holds_for_all(quick) else self._scaled(quick, quick=False)

    def _holds_for_all(self, amounts: FloatArray) -> bool:
        """Whether what holds for the nodes that may decide holds for all."""
        if self.is_normal or not any(bound.target.ask is Ask.EVERY_NODE for bound in self.bounds):
            return True
        return max(self.values(amounts)[0]) <= 1.0

    def legible(self, amounts: FloatArray) -> FloatArray:
        """Amounts (n_levels,) that are `enough`, without levels of next to no share where that costs little."""
        plain = self.tidied(amounts, LEGIBLE)
        if np.array_equal(plain, amounts):
            return amounts
        plain, charge = self.enough(plain), float(self.problem.charge(amounts))
        return plain if float(self.problem.charge(plain)) <= charge * (1.0 + LEGIBLE) else amounts

    def _scaled(self, shares: FloatArray, *, quick: bool) -> FloatArray:
        def room(factor: float) -> float:
            self.problem.watch.check()
            return float(np.log(max(max(self.values(factor * shares, quick=quick)[0]), TINY)))

        # targets on what least squares knows from a public total hold at any budget
        return np.asarray(min(crossing(room, 1.0, 1e-9, near=5e-7), MOST_SCALE) * shares)

    def _variance(self, amounts: FloatArray) -> FloatArray:
        """Variance of each class, also where a level that holds leaves gets nothing."""
        of_class = np.zeros(self.problem.quotient.n_classes)
        of_class[self.problem.quotient.class_of] = self.problem.node_variance(amounts)
        return of_class

    @cached_property
    def _level_of_class(self) -> IntArray:
        start = self.problem.quotient.class_start
        return np.repeat(np.arange(start.size - 1), np.diff(start))

    def _near(self, bound: Bound, variance: FloatArray) -> IntArray:
        if bound.target.ask is not Ask.EVERY_NODE:
            return bound.deciding
        nodes = bound.deciding
        reach = bound.reach[nodes - int(self.problem.tree.level_start[bound.target.level])]
        each = variance[self.problem.quotient.class_of[nodes]] / np.square(reach)
        return np.asarray(nodes[each >= NEAR * each.max()])


def admitted(
    problem: Problem, amounts: FloatArray, met: Callable[[FloatArray], bool]
) -> tuple[float, tuple[float, ...], FloatArray]:
    """The total, the shares and the amounts (n_levels,) that an experiment makes of them, so that `met` still holds.

    Shares are whole numbers of `UNITS`; what rounding takes from a level is given back by a total a hair larger.
    """
    n, public = problem.tree.n_levels, problem.paid == 0
    charge = problem.charge(amounts)
    if charge == 0:
        return 0.0, (0.0,) * n, np.zeros(n)
    exact = [UNITS * Fraction(a) / sum(map(Fraction, amounts.tolist())) for a in amounts.tolist()]
    units = [int(share) for share in exact]
    units[int(np.argmax(amounts))] += UNITS - sum(units)
    shares = tuple(unit / UNITS for unit in units)
    total, step = max(float_above(charge), LEAST[problem.currency]), 2.0**-52
    while True:
        per_level = split(problem.tree, total, problem.currency, problem.unit, "custom", shares).per_level
        found = np.where(public, 0.0, per_level)
        if met(found) or step > 1e-3:
            return total, shares, found
        total, step = total * (1.0 + step), 2.0 * step
