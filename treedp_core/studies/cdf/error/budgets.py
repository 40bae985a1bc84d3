"""The best budget of each level of a given shape.

Without least squares the mean variance is sum_l c_l v_l: epsilon_l ~ c_l^(1/3) for Laplace noise (Theorem IV.2 of
Rameshwar et al., with the exact digit sums of a padded tree), rho_l ~ c_l^(1/2) for Gaussian. After least squares the
variance is convex in the precisions: in rho the optimum is certified by a duality gap; in epsilon, whose square is the
precision, it is not convex, so several starts are made and nothing is certified.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.privacy import Currency, NeighbouringRelation
from treedp_core.studies.cdf.error import least_squares
from treedp_core.studies.cdf.error.criterion import Criterion
from treedp_core.tree import FloatArray
from treedp_core.tree.workloads import Shape, level_weights
from treedp_core.words import short

_GAP: Final = 1e-8
_ITERATIONS: Final = 2000
_TURNS: Final = 25


@dataclass(frozen=True, eq=False)
class LevelShares:
    """Shares of the budget and what is known of them.

    Parameters
    ----------
    shares : (n_levels,)
        Sum to 1; 0 for a public root and for levels not measured.
    value : float
        Mean variance where the total budget is 1 (epsilon or rho), continuous noise; it falls with the total to the
        power 2 (epsilon) or 1 (rho).
    lower_bound : float or None
        No shares on this shape have a mean variance below it; None where that is not known.
    method : str
        One sentence for the screen.
    """

    shares: FloatArray
    value: float
    lower_bound: float | None
    method: str


def optimal_shares(shape: Shape, criterion: Criterion) -> LevelShares:
    """Return the best shares of a shape's levels.

    Raises
    ------
    InputError
        ``RELATION`` where costs of levels do not simply add up.

    >>> optimal_shares(Shape.full((2, 8)), Criterion()).shares.round(4).tolist()
    [0.0, 0.3433, 0.6567]
    """
    check_costs_add_up(criterion)
    if not criterion.least_squares:
        return _by_power(shape, criterion)
    return _certified(shape, criterion) if criterion.currency is Currency.RHO else _many_starts(shape, criterion)


def check_costs_add_up(criterion: Criterion) -> None:
    """Raise `InputError` ``RELATION`` where the costs of levels do not add up, so that nothing says which are best."""
    if criterion.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        raise InputError("RELATION", "Optimal budgets need costs that add up over levels; protect by another relation.")


def _by_power(shape: Shape, criterion: Criterion) -> LevelShares:
    """Minimise sum c_l v / w_l^a over sum w_l = 1: w_l ~ c_l^(1/(a+1)), value v (sum c_l^(1/(a+1)))^(a+1)."""
    degree = 2 if criterion.currency is Currency.EPSILON else 1
    weights = level_weights(shape, criterion.workload)
    if criterion.unit.total_is_public:
        weights[0] = 0.0
    roots = weights ** (1.0 / (degree + 1))
    value = criterion.variance_of_one() * float(roots.sum()) ** (degree + 1)
    rule = "cube" if degree == 2 else "square"
    return LevelShares(
        roots / roots.sum(), value, value, f"Proportional to the {rule} root of how often a level is used; optimal."
    )


def _certified(shape: Shape, criterion: Criterion) -> LevelShares:
    """Multiply each share by sqrt(-gradient) until the duality gap closes.

    The value f is convex and f(t w) = f(w) / t, so with gradient g at w (sum w = 1) every other w' has
    f(w') >= f + g (w' - w) = 2 f + g w' >= f (2 - max(-g) / f).
    """
    problem = _Problem(shape, criterion, 1)
    shares = criterion.equal_shares(shape)
    bound = 0.0
    for _ in range(_ITERATIONS):
        value, slope = problem.value_and_gradient(shares)
        bound = max(bound, value * (2.0 - (-slope).max() / value))
        if value - bound <= _GAP * value:
            break
        shares = shares * np.sqrt(np.maximum(-slope, 0.0))
        shares /= shares.sum()
    return LevelShares(shares, value, bound, f"Optimal to {short((value - bound) / value, 1)}, by duality gap.")


def improved_shares(shape: Shape, criterion: Criterion) -> LevelShares:
    """Return good shares after least squares, from equal ones for the levels below the root: quick, for comparisons.

    Each share is multiplied by (-gradient)^(1 / 3) a few times, in epsilon: the rule that is optimal without least
    squares.
    """
    if criterion.currency is Currency.RHO:
        return _certified(shape, criterion)
    problem = _Problem(shape, criterion, 2)
    shares = np.array([0.0, *[1.0 / shape.height] * shape.height])
    for _ in range(_TURNS):
        slope = problem.value_and_gradient(shares)[1]
        shares = shares * np.cbrt(np.maximum(-slope, 0.0))
        shares[1:] = np.maximum(shares[1:] / shares.sum(), 1e-9)
    shares /= shares.sum()
    return LevelShares(shares, problem.value(shares), None, "One local search; not certified.")


def _many_starts(shape: Shape, criterion: Criterion) -> LevelShares:
    """Best local optimum from several starts, and the leaves alone."""
    from scipy.optimize import minimize

    problem = _Problem(shape, criterion, 2)
    ends = [criterion.equal_shares(shape), np.eye(shape.height + 1)[-1]]
    for start in _starts(shape, criterion):
        found = minimize(problem.of_logarithms, np.log(start), jac=True, method="L-BFGS-B")
        ends.append(problem.shares_of(found.x))
    values = [problem.value(end) for end in ends]
    best = int(np.argmin(values))
    method = f"Best of {len(ends)} local searches; the problem is not convex, so optimality is not certified."
    return LevelShares(ends[best], values[best], None, method)


def _starts(shape: Shape, criterion: Criterion) -> Iterator[FloatArray]:
    """Equal shares, those without least squares, and mostly one level, below the root where that is public."""
    n = shape.height + (0 if criterion.unit.total_is_public else 1)
    yield np.full(n, 1.0 / n)
    yield _by_power(shape, criterion).shares[-n:]
    for level in range(n):
        start = np.full(n, 0.3 / n)
        start[level] += 0.7
        yield start


@dataclass(frozen=True, eq=False)
class _Problem:
    """Mean variance after least squares as a function of shares (n_levels,); precision = share^degree / v."""

    shape: Shape
    criterion: Criterion
    degree: int

    def value(self, shares: FloatArray) -> float:
        with np.errstate(divide="ignore", over="ignore"):  # a share too small to square is a level not measured
            variance = self.criterion.variance_of_one() / shares**self.degree
        if self.criterion.unit.total_is_public:
            variance[0] = 0.0
        return self.criterion.of_variances(self.shape, variance)

    def value_and_gradient(self, shares: FloatArray) -> tuple[float, FloatArray]:
        precision = shares**self.degree / self.criterion.variance_of_one()
        outer = self.degree * shares ** (self.degree - 1) / self.criterion.variance_of_one()
        if self.criterion.unit.total_is_public:
            precision[0], outer[0] = np.inf, 0.0
        value, slope = least_squares.gradient(self.shape, precision, self.criterion.workload)
        return value, slope * outer

    def shares_of(self, logarithms: FloatArray) -> FloatArray:
        part = np.exp(logarithms - logarithms.max())
        part /= part.sum()
        return np.concatenate([np.zeros(self.shape.height + 1 - part.size), part])

    def of_logarithms(self, logarithms: FloatArray) -> tuple[float, FloatArray]:
        """Logarithm of the value and its gradient by the logarithms of the shares."""
        shares = self.shares_of(logarithms)
        value, slope = self.value_and_gradient(np.maximum(shares, 1e-12))
        by_share = slope / value
        part = shares[-logarithms.size :]
        of_part = by_share[-logarithms.size :]
        return float(np.log(value)), part * (of_part - float(part @ of_part))
