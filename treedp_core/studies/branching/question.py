"""Which tree is best for K bins, by which measure; its answers: ranked trees, the best of each height, and f(beta)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from treedp_core.privacy import Currency
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.studies.branching.limits import loss_factor, opendp_branching_factor
from treedp_core.studies.cdf.error import Criterion, optimal_shares
from treedp_core.studies.cdf.shapes import RankedShape, best_by_height, best_shapes, equal_budgets
from treedp_core.tree.text import whole_from_text
from treedp_core.tree.workloads import Shape, Workload, equal_tree
from treedp_core.watch import Watch

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
