"""What a split of the budget is judged by: a tree, a prior for its counts, a noise law and an error metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.errors import METRICS, ErrorSummary, Metric, Summary, Tolerance, exact_summary, level_mean
from treedp_core.errors.closed_form import NodeErrors, expected_errors
from treedp_core.errors.metrics import squared
from treedp_core.mechanisms.calibration import LAWS, LevelLaw, level_law
from treedp_core.noise import Law
from treedp_core.postprocess import least_squares
from treedp_core.privacy import RHO_HIGH, Budget, Currency, ProtectedUnit, budget_from_shares
from treedp_core.privacy.accounting import epsilon_of_levels, largest_total
from treedp_core.privacy.conversions import rho_to_epsilon
from treedp_core.registry import lookup
from treedp_core.studies.budget.quotient import Quotient, gradient, quotient, sweeps
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.watch import Watch
from treedp_core.words import float_above, float_below, whole

T = TypeVar("T")

# ---- from what each level spends to the precision of its noise, for many budgets at once, with its slope


@dataclass(frozen=True, eq=False)
class LevelPrecision:
    """Precision of each level's noise as a function of what the level spends.

    Parameters
    ----------
    law : str
        A name in `LAWS`.
    sensitivity : (n_levels,)
        What an amount is divided by: the L1 sensitivity (epsilon) or the square of the L2 sensitivity (rho); 0 on a
        level that cannot change, which is known exactly.
    """

    law: str
    sensitivity: FloatArray

    def __call__(self, amounts: FloatArray) -> FloatArray:
        """Return the precision, 1 / records squared, of levels that spend `amounts` (..., n_levels)."""
        return self.with_slope(amounts)[0]

    def of_level(self, level: int, amounts: FloatArray) -> FloatArray:
        """Return the precision of nodes of one level that spend `amounts` (n,) each."""
        return LevelPrecision(self.law, np.full(amounts.shape, self.sensitivity[level]))(amounts)

    def with_slope(self, amounts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return precision and its derivative by the amount, both (..., n_levels); inf and 0 on exact levels."""
        exact = self.sensitivity == 0
        divisor = np.where(exact, 1.0, self.sensitivity)
        x = np.where(exact, 0.0, np.asarray(amounts, dtype=np.float64)) / divisor
        precision, slope = LAWS[self.law].precision(x)
        return np.where(exact, np.inf, precision), np.where(exact, 0.0, slope / divisor)


def level_precision(law: str, unit: ProtectedUnit, n_levels: int) -> LevelPrecision:
    """Return the precision of each level's noise under the named law for the protected unit.

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    >>> level_precision("laplace", unit, 2)(np.array([np.inf, 1.0])).tolist()  # scale 2, variance 8
    [inf, 0.125]
    """
    l1, l2 = unit.l1_sensitivity(n_levels), unit.l2_sensitivity(n_levels)
    return LevelPrecision(law, l1 if LAWS[law].currency is Currency.EPSILON else np.square(l2))


A_HAIR: Final = 1e-6
"""By what part a split is made smaller at first that promises a hair too much."""
CRUMB: Final = 1e-6
"""Part of the total below which what a level is charged is given back: searches leave crumbs."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A tree, a prior for its counts, noise and a metric; it prices any split of the budget over levels.

    Parameters
    ----------
    tree : Tree
    counts : (n_nodes,)
        What the counts are believed to be: the prior a split is tuned on. Not private data unless it is labelled so.
    law : str
        A name in `MECHANISMS`.
    unit : ProtectedUnit
    metric : str
        A name in `METRICS`.
    tolerance : Tolerance
    least_squares : bool
        Whether the release is post-processed by least squares.
    first_level : int
        Levels above it are neither measured nor judged: a forest of the subtrees that begin there.
    watch : Watch
        Asked before each evaluation; see `watched`.
    within : (float, float), optional
        The (epsilon, delta) that a split's own noise is held to by numerical accounting, see `kept`; without it what
        may be spent is a total.

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN``; ``PRIOR_LEAVES`` when there is not one count for each node.

    Examples
    --------
    >>> from treedp_core.privacy import NeighbouringRelation
    >>> tree = Tree.from_branching_factors((2,))
    >>> problem = Problem(
    ...     tree, np.array([2, 1, 1]), "laplace", ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE), "rmse"
    ... )
    >>> round(problem.error(np.array([0.0, 1.0])) ** 2, 12)  # leaves 2 and 2, their sum 4, over three nodes
    2.666666666667
    """

    tree: Tree
    counts: AnyArray
    law: str
    unit: ProtectedUnit
    metric: str = "rmsre"
    tolerance: Tolerance = field(default_factory=Tolerance)
    least_squares: bool = True
    first_level: int = 0
    watch: Watch = field(default_factory=Watch, repr=False)
    within: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        checks.one_of("law", self.law, LAWS)
        lookup(METRICS, self.metric, "metric")
        if np.shape(self.counts) != (self.tree.n_nodes,):
            raise InputError("PRIOR_LEAVES", f"Expected one count for each of the {whole(self.tree.n_nodes)} nodes.")

    @property
    def reads_counts(self) -> bool:
        """Whether its errors depend on the counts, so that whoever tunes a split on them has to pay for them."""
        return METRICS[self.metric].loss is not squared

    # ---- what is spent

    @property
    def currency(self) -> Currency:
        """What the law's amounts are in."""
        return self.noise.currency

    @property
    def noise(self) -> LevelLaw:
        """The law's entry in its table."""
        return LAWS[self.law]

    @cached_property
    def paid(self) -> FloatArray:
        """1 for each level that costs budget, 0 for one that is public or not measured, (n_levels,)."""
        return ((self.unit.l1_sensitivity(self.tree.n_levels) > 0) & self.judged).astype(float)

    @cached_property
    def judged(self) -> AnyArray:
        """Whether each level is measured and its errors count, (n_levels,) bool."""
        return np.arange(self.tree.n_levels) >= self.first_level

    @cached_property
    def price(self) -> FloatArray:
        """What 1 spent on a level alone is charged, (n_levels,): 0 public, 2 unknown under REPLACE_UNKNOWN, else 1."""
        units = np.eye(self.tree.n_levels, dtype=np.int64).tolist()
        return np.array([float(self.unit.exact_charge(row)) for row in units]) * self.paid

    @property
    def levels_to_split(self) -> AnyArray:
        """Which levels share the budget, (n_levels,) bool.

        Raises
        ------
        InputError
            ``ONE_LEVEL`` when the tree has no levels to share it among.
        """
        if self.tree.n_levels == 1:
            raise InputError("ONE_LEVEL", "This tree has one level, so there is nothing to split; add a level below.")
        return self.paid > 0

    def total_checked(self, total: float) -> float:
        """Return a total budget in the law's currency as a number > 0 in its range."""
        if self.currency is Currency.EPSILON:
            return checks.epsilon(total)
        return checks.number("rho", total, low=0, high=RHO_HIGH, open_low=True, code="RHO_RANGE")

    def charge(self, amounts: FloatArray) -> Fraction:
        """Return what spending `amounts` (n_levels,) costs, exactly."""
        return self.unit.exact_charge([Fraction(float(a)) for a in np.where(self.paid > 0, amounts, 0.0)])

    def scaled(self, shares: FloatArray, total: float) -> FloatArray:
        """Return shares (n_levels,) scaled so that their charge is `total`; public levels get 0."""
        shares = np.where(self.paid > 0, shares, 0.0)
        cost = float(self.charge(shares))
        if cost == 0:
            raise InputError("BUDGET_SPLIT", "Expected a share > 0 on at least one level that is not public, got none.")
        return np.asarray(shares * (total / cost))

    def tidied(self, amounts: FloatArray, total: float, crumb: float = CRUMB) -> FloatArray:
        """Return a split (n_levels,) of `total` in which no level is charged between nothing and a millionth of it.

        A level charged less than the part `crumb` of the total is not measured at all, where least squares derives it
        from the others; else it keeps what it has, and gets a millionth at least.
        """
        least = np.where(self.price > 0, total / np.maximum(self.price, 1.0), 0.0)
        few = (amounts > 0) & (amounts < crumb * least)
        if not few.any():
            return amounts
        kept = np.where(few & ~self.leaf_levels, 0.0, amounts) if self.least_squares else amounts
        for level in np.flatnonzero(few & self.leaf_levels & self.least_squares):
            without = np.where(np.arange(few.size) == level, 0.0, kept)
            if np.isfinite(self.node_variance(without)[np.repeat(self.judged, self.tree.level_sizes)]).all():
                kept = without
        room = 1.0 + 2.0 * few.size * CRUMB  # scaling must not make crumbs again
        raised = np.where(few & (kept > 0), np.maximum(kept, room * CRUMB * least), kept)
        return self.scaled(raised if raised.any() else amounts, total)

    def budget(self, shares: FloatArray, total: float) -> Budget:
        """Return the budget in proportion to shares (n_levels,) whose exact charge is at most `total`."""
        return budget_from_shares(np.where(self.paid > 0, shares, 0.0), total, self.currency, self.unit)

    def kept(self, amounts: FloatArray, total: float) -> tuple[FloatArray, float]:
        """Return a split (n_levels,) and its total as large as `within` allows its noise; as they are without it.

        What the split leaves of the total it still leaves of the other one. Splits of one promise differ in their
        totals by some parts in ten thousand, so that they are sought at one total and scaled once. Levels that had one
        law there may have two once they are scaled, a last digit apart; what is rounded up of those is a hair more, so
        that a split is made a hair smaller until it keeps the promise itself.

        >>> from treedp_core.privacy import NeighbouringRelation
        >>> unit, tree = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE), Tree.from_branching_factors((2,))
        >>> one = Problem(tree, np.ones(3), "discrete_gaussian", unit, within=(1.0, 1e-6))
        >>> [round(float(x), 3) for x in one.kept(np.array([0.01, 0.01]), 0.025)[0]]  # of 0.028, where 0.8 are spent
        [0.011, 0.011]
        """
        charge = self.charge(amounts)
        if self.within is None or not charge:
            return amounts, total

        def spent(amount: float) -> FloatArray:
            return np.where(self.paid > 0, self.budget(amounts, amount).per_level, 0.0)

        found = largest_total(lambda rho: self.laws(spent(rho)), self.unit, *self.within)
        amount, less = float_below(Fraction(found) * charge / Fraction(total)), A_HAIR
        while self.promised(scaled := spent(amount)) > self.within[0]:
            amount, less = amount * (1.0 - less), 2.0 * less
        return scaled, found

    def promised(self, amounts: FloatArray) -> float:
        """Return the epsilon that a split (n_levels,) keeps `within` a delta: by its noise or the formula, the less."""
        if self.within is None:
            return math.inf
        return min(rho_to_epsilon(float_above(self.charge(amounts)), self.within[1]), self.composed(amounts))

    def composed(self, amounts: FloatArray) -> float:
        """Return the epsilon of a split's own noise (n_levels,) by numerical accounting, rounded up; inf without it."""
        if self.within is None or not self.charge(amounts):
            return math.inf
        return epsilon_of_levels(self.laws(amounts), self.unit, self.within[1])

    # ---- what it is worth

    @property
    def squares(self) -> bool:
        """Whether the metric follows from variances alone."""
        return self._metric.expected is None and self._metric.summary is not Summary.EXPECTED_MAX

    def error(self, amounts: FloatArray) -> float:
        """Return the metric's value for the tree with amounts (n_levels,) spent; inf where a node is unknown."""
        return self.summary(amounts).tree

    def loss(self, amounts: FloatArray) -> FloatArray:
        """Return the tree's expected loss (the square of a root metric) for amounts (..., n_levels)."""
        self.watch.check()
        amounts = np.asarray(amounts, dtype=np.float64)
        if not self.squares:
            return np.array([self._formula_loss(row) for row in amounts.reshape(-1, amounts.shape[-1])]).reshape(
                amounts.shape[:-1]
            )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            q = np.where(self.judged, self.precision(amounts), 0.0)
            if not self.least_squares:
                return np.asarray(np.where(self.level_weight > 0, self.level_weight / q, 0.0).sum(axis=-1))
            loss = np.asarray((sweeps(self.quotient, q).variance * self.class_weight).sum(axis=-1))
        blind = (q[..., self.leaf_levels] == 0).any(axis=-1)
        if blind.any():
            rows = amounts[blind] if blind.ndim else amounts[None]
            exact = np.array([np.square(self.summary(row).tree) for row in rows])
            loss = np.where(blind, 0.0, loss)
            loss[blind] = exact if blind.ndim else exact[0]
        return loss

    def loss_and_gradient(self, amounts: FloatArray) -> tuple[float, FloatArray]:
        """Return the tree's expected loss and its derivative by each amount (n_levels,); for squared metrics only.

        Every level with leaves must spend something.
        """
        self.watch.check()
        q, slope = self.precision.with_slope(amounts)
        q = np.where(self.judged, q, 0.0)
        if not self.least_squares:
            with np.errstate(divide="ignore", invalid="ignore"):
                each = np.where(self.level_weight > 0, self.level_weight / q, 0.0)
                return float(each.sum()), np.where(each > 0, -each / q * slope, 0.0)
        found = sweeps(self.quotient, q)
        by_precision = gradient(self.quotient, found, self.class_weight)
        return float((found.variance * self.class_weight).sum()), by_precision * slope

    def summary(self, amounts: FloatArray) -> ErrorSummary:
        """Return the metric's value for every level and the tree with amounts (n_levels,), node by node.

        Raises
        ------
        InputError
            ``NO_FORMULA`` when the metric has no closed form here.
        """
        self.watch.check()
        amounts = np.where(self.paid > 0, amounts, 0.0)
        variance = self.node_variance(amounts)
        if self.squares:
            return self.summary_of(variance)
        laws = None if self.least_squares else self.laws(amounts)
        known = NodeErrors(variance, laws, self.noise.normal)
        found = expected_errors(self.tree, self._metric, self.counts, known, self.tolerance)
        if found is None:
            raise InputError(
                "NO_FORMULA", f"{self._metric.label} after least squares has no closed form; choose RMSE or RMSRE."
            )
        return found

    def node_variance(self, amounts: FloatArray) -> FloatArray:
        """Return the variance of each node's final error, (n_nodes,): 0 known, inf not determined.

        It is kept, and not to be written to.
        """
        return self.once("variance", amounts, self._node_variance)

    def once(self, what: str, amounts: FloatArray, find: Callable[[FloatArray], T]) -> T:
        """Return what is found for amounts (n_levels,), or was for the same ones last time: searches ask again."""
        key, last = amounts.tobytes(), self._last.get(what)
        if last is None or last[0] != key:
            last = (key, find(amounts))
            self._last[what] = last
        found: T = last[1]
        return found

    def _node_variance(self, amounts: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            q = np.where(self.judged, self.precision(amounts), 0.0)
            if self.least_squares and (q[self.leaf_levels] > 0).all():
                return np.asarray(sweeps(self.quotient, q).variance[self.quotient.class_of])
            variance = np.repeat(1.0 / q, self.tree.level_sizes)
        return least_squares.variance_after(self.tree, variance) if self.least_squares else variance

    def summary_of(self, variance: FloatArray) -> ErrorSummary:
        """Return a squared metric's value for every level and the tree from node variances (n_nodes,)."""
        with np.errstate(invalid="ignore"):
            by_level = level_mean(self.tree, variance * self.node_weight)
            whole = np.where(self.tree_weight > 0, variance * self.tree_weight, 0.0).sum()
        return exact_summary(self._metric, by_level, np.asarray(whole))

    def laws(self, amounts: FloatArray) -> tuple[Law | None, ...]:
        """Return the noise law of each level for amounts (n_levels,); None without noise or without measurement."""
        l1, l2 = self.sensitivities
        spent = zip(amounts.tolist(), l1.tolist(), l2.tolist(), self.paid.tolist(), strict=True)
        return tuple(level_law(self.law, a, b, c) if paid and a > 0 else None for a, b, c, paid in spent)

    def watched(self, watch: Watch) -> Problem:
        """Return the same problem, with what it has computed so far, whose evaluations a watch can stop.

        They then raise `montecarlo.Cancelled`, so that every search over splits ends within one evaluation.
        """
        other = copy(self)
        object.__setattr__(other, "watch", watch)
        return other

    def held_to(self, within: tuple[float, float] | None) -> Problem:
        """Return the same problem under another promise; what does not depend on that is computed once for both."""
        _ = self.class_weight
        other = copy(self)
        object.__setattr__(other, "within", within)
        return other

    def with_law(self, law: str) -> Problem:
        """Return the same problem with another noise law."""
        return self if law == self.law else replace(self, law=law)

    # ---- computed once

    @cached_property
    def sensitivities(self) -> tuple[FloatArray, FloatArray]:
        """L1 and L2 sensitivity of each level, each (n_levels,)."""
        return self.unit.l1_sensitivity(self.tree.n_levels), self.unit.l2_sensitivity(self.tree.n_levels)

    @cached_property
    def precision(self) -> LevelPrecision:
        """Precision of each level's noise as a function of what it spends."""
        return level_precision(self.law, self.unit, self.tree.n_levels)

    @cached_property
    def _last(self) -> dict[str, tuple[bytes, Any]]:
        """Of `once`: amounts and what was found for them."""
        return {}

    @cached_property
    def quotient(self) -> Quotient:
        """The tree's variance classes."""
        return quotient(self.tree)

    @cached_property
    def node_weight(self) -> FloatArray:
        """Loss of each node for an error of variance 1, (n_nodes,)."""
        return self._metric.loss(np.ones(self.tree.n_nodes), np.asarray(self.counts), self.tolerance)

    @cached_property
    def tree_weight(self) -> FloatArray:
        """What the variance of each node adds to the tree's loss, (n_nodes,)."""
        sizes, n_levels = self.tree.level_sizes, self.tree.n_levels
        over_levels = self._metric.summary is Summary.MEAN_OVER_LEVELS
        n_judged = sizes[self.judged].sum()
        per_level = 1.0 / (sizes * self.judged.sum()) if over_levels else np.full(n_levels, 1.0 / n_judged)
        return np.asarray(self.node_weight * np.repeat(per_level * self.judged, sizes))

    @cached_property
    def class_weight(self) -> FloatArray:
        """What the variance of each class adds to the tree's loss, (n_classes,)."""
        return self.quotient.sums(self.tree_weight)

    @cached_property
    def level_weight(self) -> FloatArray:
        """What the noise variance of each level adds to the tree's loss before least squares, (n_levels,)."""
        return np.where(self.paid > 0, np.add.reduceat(self.tree_weight, self.tree.level_start[:-1]), 0.0)

    @cached_property
    def leaf_levels(self) -> AnyArray:
        """Whether each level holds leaves, (n_levels,)."""
        return np.maximum.reduceat(self.tree.is_leaf, self.tree.level_start[:-1])

    @property
    def _metric(self) -> Metric:
        return METRICS[self.metric]

    def _formula_loss(self, amounts: FloatArray) -> float:
        value = self.error(amounts)
        return value * value if self._metric.root else value
