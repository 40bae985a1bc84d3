"""Which tree is best for K bins, by which measure; its answers: ranked trees, the best of each height, and f(beta)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy.optimize import brentq

from treedp_core import checks
from treedp_core.privacy import Currency
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.studies.cdf.error import Criterion, optimal_shares
from treedp_core.studies.cdf.shapes import RankedShape, best_by_height, best_shapes, equal_budgets
from treedp_core.tree import FloatArray
from treedp_core.tree.text import whole_from_text
from treedp_core.tree.workloads import Shape, Workload, equal_tree, n_bins_checked
from treedp_core.watch import Watch

# The branching factor for very many bins: f(beta) and its minimum, for each noise, workload and post-processing.
# All levels share the branching factor beta and the budget, so the height is h = ln K / ln beta, and each level has
# h^2 (Laplace) or h (Gaussian) times the noise variance of a level that spends all. To leading order in ln K the
# mean variance of a prefix is half that times (ln K)^e f(beta), of a range twice as much. With e' = 3 (Laplace) or
# 2 (Gaussian), with a variance per level of (beta - 1) / 2 without least squares (Theorem IV.1), (beta - 1)^2 / (6
# beta) after it: (n - 1)(n s^2 + 1) / (6 n s) over a_l = s beta / (beta - 1) for large s, f is (beta - 1) / (ln
# beta)^e' (Lemma IV.3) and (beta - 1)^2 / (3 beta) / (ln beta)^e'. For the mean over the nodes the number of levels
# enters only through their budget: f is 1 / (ln beta)^(e' - 1), and (beta - 1) / beta times that after least
# squares (the variances of all fitted values, in units of the noise variance, add up to the number of leaves). It
# falls without end: few levels, the leaves alone, are best.

_FAR = 1e12
SLACK = 0.05


def loss_factor(beta: float, criterion: Criterion) -> float:
    """Return f(beta), the factor by which the branching factor enters the mean variance, for beta > 1.

    >>> round(loss_factor(16, Criterion()), 6), round(loss_factor(17, Criterion()), 6)
    (0.703777, 0.703529)
    """
    b = checks.number("beta", beta, low=1, open_low=True, code="BRANCHING_RANGE")
    return _numerator(criterion)(b) / math.log(b) ** _power(criterion)


@dataclass(frozen=True)
class BestBranching:
    """Where f is least over beta >= 2.

    Parameters
    ----------
    beta : float
        inf where f falls without end.
    whole : int or None
        The best whole number; None where there is none.
    low, high : float
        Between them f is at most 1 + SLACK times its least value.
    """

    beta: float
    whole: int | None
    low: float
    high: float


def best_branching(criterion: Criterion) -> BestBranching:
    """Return the best branching factor for very many bins, where d ln f / d ln beta = 0.

    Without least squares: ln beta = 3 (beta - 1) / beta for Laplace noise (Lemma IV.3), with 2 for 3 for Gaussian;
    after it ln beta = 3 (beta - 1) / (beta + 1), and for Gaussian noise f rises from beta = 2 on.

    >>> best = best_branching(Criterion())
    >>> round(best.beta, 4), best.whole, round(best.low, 1), round(best.high, 1)
    (16.801, 17, 9.9, 30.4)
    """

    def slope(log_beta: float) -> float:
        b = math.exp(log_beta)
        return _elasticity(criterion)(b) - _power(criterion) / log_beta

    lowest, highest = math.log(2.0), math.log(_FAR)
    if slope(highest) < 0:
        return BestBranching(math.inf, None, math.inf, math.inf)
    beta = 2.0 if slope(lowest) >= 0 else math.exp(brentq(slope, lowest, highest, xtol=1e-15, rtol=1e-15))
    whole = min((math.floor(beta), math.ceil(beta)), key=lambda b: loss_factor(b, criterion))
    limit = loss_factor(beta, criterion) * (1.0 + SLACK)

    def above(log_beta: float) -> float:
        return loss_factor(math.exp(log_beta), criterion) - limit

    low = math.exp(brentq(above, lowest, math.log(beta))) if beta > 2.0 and above(lowest) > 0 else 2.0
    high = math.exp(brentq(above, math.log(beta), highest))
    return BestBranching(beta, whole, low, high)


def opendp_branching_factor(size_guess: int) -> int:
    """Return what OpenDP's `choose_branching_factor` recommends for a tree over that many bins.

    The b in 2, ..., n that minimises (b - 1) h^3 - 2 (b + 1) h^2 / 3 with h = log_b n, the average variance of a range
    by its cover, formula (3) of Qardaji, Yang and Li, "Understanding Hierarchical Methods for Differentially Private
    Histograms", PVLDB 6(14), 2013; as documented for `opendp.transformations.choose_branching_factor` (OpenDP 0.16).

    >>> opendp_branching_factor(10_000)
    22
    """
    n = n_bins_checked(size_guess)
    scores = _range_score(np.arange(2.0, min(n, 4096) + 1), n)
    best = int(np.argmin(scores)) + 2
    # beyond b the score is at least h^2 (b - 5) / 3 >= (b - 5) / 3, so larger b need no look from some point on
    stop = min(n, math.ceil(3 * float(scores.min())) + 6)
    if stop > 4096:
        rest = _range_score(np.arange(4097.0, stop + 1), n)
        best = best if scores.min() <= rest.min() else int(np.argmin(rest)) + 4097
    return best


def _range_score(b: FloatArray, n: int) -> FloatArray:
    h = math.log(n) / np.log(b)
    return np.asarray((b - 1.0) * h**3 - 2.0 * (b + 1.0) * h**2 / 3.0)


def _power(criterion: Criterion) -> int:
    per_level = 2 if criterion.currency is Currency.EPSILON else 1
    return per_level if criterion.workload is Workload.NODES else per_level + 1


def _numerator(criterion: Criterion) -> Callable[[float], float]:
    if criterion.workload is Workload.NODES:
        return (lambda b: (b - 1.0) / b) if criterion.least_squares else lambda b: 1.0
    return (lambda b: (b - 1.0) ** 2 / (3.0 * b)) if criterion.least_squares else lambda b: b - 1.0


def _elasticity(criterion: Criterion) -> Callable[[float], float]:
    """Return d ln numerator / d ln beta."""
    if criterion.workload is Workload.NODES:
        return (lambda b: 1.0 / (b - 1.0)) if criterion.least_squares else lambda b: 0.0
    return (lambda b: (b + 1.0) / (b - 1.0)) if criterion.least_squares else lambda b: b / (b - 1.0)


MAX_BINS: Final = 10**15
NOISES: Final = {"laplace": "Laplace", "gaussian": "Gaussian"}
WORKLOADS: Final = {workload.value: workload.label for workload in Workload}
POSTS: Final = {"none": "None", "least_squares": "Least squares"}
BUDGETS: Final = {"uniform": "Uniform", "optimal": "Optimal"}
MAX_HEIGHT: Final = 40
N_BEST: Final = 10
ROUNDING: Final = 1e-12
"""By which share two formulas of one value may differ."""


@dataclass(frozen=True)
class Question:
    """For how many bins, and by what measure, the best tree is wanted.

    Parameters
    ----------
    n_bins : int
        K.
    criterion : Criterion
    padded : bool
        Whether a tree may have more leaves than bins.
    optimal_budgets : bool
        Whether every shape gets its best level budgets instead of equal ones.
    """

    n_bins: int
    criterion: Criterion
    padded: bool = True
    optimal_budgets: bool = False

    @property
    def is_slow(self) -> bool:
        """Whether the budgets of every shape need a numerical search."""
        return self.optimal_budgets and self.criterion.least_squares

    @property
    def with_equal_budgets(self) -> Question:
        """The same with equal budgets."""
        return replace(self, optimal_budgets=False)


@dataclass(frozen=True)
class HeightBest:
    """The best tree found with a height, and its mean variance at total budget 1."""

    shape: Shape
    value: float

    @property
    def height(self) -> int:
        """Levels below the root."""
        return self.shape.height

    @property
    def mean_factor(self) -> float:
        """Geometric mean of the branching factors."""
        return float(math.prod(self.shape.branching_factors) ** (1.0 / self.height))


def bins_from_text(text: str) -> int:
    """Return a number of bins, from 2 to 10^15, written in digits or as a power.

    Raises
    ------
    InputError
        ``TREE_SHAPE``.

    >>> bins_from_text("2^20"), bins_from_text("1 000 000"), bins_from_text(" 997 ")
    (1048576, 1000000, 997)
    """
    return whole_from_text(text, "bins", 2, MAX_BINS, "TREE_SHAPE")


def spent(criterion: Criterion, epsilon: float, delta: float) -> float:
    """Return the total budget in the criterion's currency: epsilon, or the rho that (epsilon, delta) allows.

    >>> spent(Criterion(), 0.5, 0.0)
    0.5
    """
    if criterion.currency is Currency.EPSILON:
        return epsilon
    return epsilon_to_rho(epsilon, delta, True)


def rmse(criterion: Criterion, one: RankedShape, total: float) -> float:
    """Return the root of a shape's mean variance at a total budget, in records.

    >>> shape = Shape.full((16, 16))
    >>> rmse(Criterion(), RankedShape(shape, Criterion().equal_shares(shape), 0.0), 2.0) ** 2
    120.0
    """
    return math.sqrt(criterion.mean_variance(one.shape, criterion.budget(one.shape, one.shares, total)))


def binary_rmse(question: Question, total: float) -> float:
    """Return the RMSE of a query on the binary tree with equal budgets, in records."""
    shape = equal_tree(question.n_bins, 2)
    return rmse(question.criterion, RankedShape(shape, *equal_budgets(shape, question.criterion)), total)


def ranked(question: Question, watch: Watch | None = None) -> list[RankedShape]:
    """Return the best shapes, best first: see `best_shapes`, which tells the watch in hundredths where it is slow.

    Raises
    ------
    InputError
        ``RELATION`` where there are no optimal budgets.
    Cancelled
        When the watch says so.
    """
    return best_shapes(
        question.n_bins,
        question.criterion,
        padded=question.padded,
        optimal_budgets=question.optimal_budgets,
        n_best=N_BEST,
        watch=watch,
    )


def by_height(question: Question, found: Sequence[RankedShape]) -> list[HeightBest]:
    """Return the best tree found with each height, up to 40: of orders of factors that err alike the one in `found`."""
    criterion, bins = question.criterion, question.n_bins
    of_heights = best_by_height(bins, criterion, padded=question.padded, optimal_budgets=question.optimal_budgets)
    known = [one for one in of_heights if one.shape.height <= MAX_HEIGHT]
    best: dict[int, HeightBest] = {}
    for one in [*found, *known]:
        before = best.get(one.shape.height)
        if before is None or one.value < before.value * (1.0 - ROUNDING):
            best[one.shape.height] = HeightBest(one.shape, one.value)
    return [best[height] for height in sorted(best)]


def value_of(question: Question, shape: Shape) -> float:
    """Return a shape's mean variance at total budget 1: with equal budgets, or optimal ones where a rule gives them."""
    criterion = question.criterion
    if question.optimal_budgets and not criterion.least_squares:
        return optimal_shares(shape, criterion).value
    return equal_budgets(shape, criterion)[1]


def references(asked: Question, found: Sequence[RankedShape]) -> list[tuple[str, RankedShape]]:
    """Return well-known trees that are not among those found, with equal budgets, and why each is there."""
    bins, criterion = asked.n_bins, asked.criterion
    exact = best_shapes(bins, criterion, padded=False, n_best=1)[0].shape
    shapes = [
        ("best without padding", exact),
        ("OpenDP's rule", equal_tree(bins, opendp_branching_factor(bins))),
        ("binary", equal_tree(bins, 2)),
        ("16-ary", equal_tree(bins, 16)),
        ("histogram", Shape((bins,), bins)),
    ]
    seen = {one.shape for one in found}
    rows = []
    for why, shape in shapes:
        if shape not in seen:
            seen.add(shape)
            rows.append((why, RankedShape(shape, *equal_budgets(shape, criterion))))
    return rows


@dataclass(frozen=True)
class Recommended:
    """What OpenDP recommends for K bins: its factor, the tree of it, and that tree's RMSE over the best one's."""

    factor: int
    shape: Shape
    times_best: float


def recommended(question: Question, best: RankedShape) -> Recommended:
    """Return OpenDP's tree, with equal budgets, beside the best one.

    >>> question = Question(997, Criterion())
    >>> recommended(question, ranked(question)[0]).shape.branching_factors
    (2, 26, 26)
    """
    factor = opendp_branching_factor(question.n_bins)
    shape = equal_tree(question.n_bins, factor)
    theirs = value_of(question.with_equal_budgets, shape)
    return Recommended(factor, shape, math.sqrt(theirs / best.value))


# ---- f(beta) along branching factors, and where whole trees for K bins stand beside it


BETAS: Final = (2, 64)
"""Branching factors the curve shows."""
TALL: Final = 1000
"""A height at which every further level is an unknown one."""


def curve(question: Question, total: float) -> dict[str, list[float]]:
    """Return f(beta) along branching factors "beta" that are even in ln beta, and the RMSE of a query, (161,) each.

    `total` is the whole budget, in the criterion's currency. The RMSE is that of very many bins, at K: to leading order
    in ln K, in records.
    """
    low, high = (math.log(b) for b in BETAS)
    betas = [math.exp(low + (high - low) * i / 160) for i in range(161)]
    betas[0], betas[-1] = float(BETAS[0]), float(BETAS[1])
    found = [loss_factor(b, question.criterion) for b in betas]
    scale = factor_scale(question)
    records = [in_records(question.criterion, f * scale, total) for f in found]
    return {"beta": betas, "f": found, "RMSE (records)": records}


def whole_curve(question: Question, total: float) -> list[float]:
    """Return the RMSE at the whole branching factors, in records, (BETAS[1] - BETAS[0] + 1,)."""
    criterion, scale = question.criterion, factor_scale(question)
    return [in_records(criterion, loss_factor(b, criterion) * scale, total) for b in range(BETAS[0], BETAS[1] + 1)]


def beside_curve(question: Question, trees: Sequence[HeightBest], total: float) -> list[tuple[HeightBest, float]]:
    """Return trees with their exact RMSE at a total budget, in records."""
    return [(one, in_records(question.criterion, one.value, total)) for one in trees]


def in_records(criterion: Criterion, value: float, total: float) -> float:
    """Return the root of a mean variance at total budget 1, when the whole budget is `total`.

    >>> in_records(Criterion("laplace"), 100.0, 0.5), in_records(Criterion("gaussian"), 100.0, 0.25)
    (20.0, 20.0)
    """
    return math.sqrt(value) / (total if criterion.currency is Currency.EPSILON else math.sqrt(total))


def factor_scale(question: Question) -> float:
    """Return what f(beta) is multiplied with in the mean variance at total budget 1, to leading order in ln K."""
    criterion = question.criterion
    per_level = 2 if criterion.currency is Currency.EPSILON else 1
    power = per_level if criterion.workload is Workload.NODES else per_level + 1
    half = 0.5 if criterion.workload is Workload.CDF else 1.0
    of_level = criterion.equal_parts(TALL + 1) - criterion.equal_parts(TALL)
    return half * criterion.variance_of_one() * of_level**per_level * math.log(question.n_bins) ** power
