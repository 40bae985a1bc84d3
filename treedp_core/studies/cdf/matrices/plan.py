"""A CDF release by a matrix made ready: counts times a whole matrix, plus noise, and back to cumulative counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, Protocol

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms import MECHANISMS
from treedp_core.mechanisms.calibration import level_law
from treedp_core.noise import Law
from treedp_core.privacy import (
    Budget,
    Currency,
    Guarantee,
    NeighbouringRelation,
    Precision,
    ProtectedUnit,
    Provenance,
    guarantee,
)
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.privacy.rounding import sqrt_above
from treedp_core.registry import lookup
from treedp_core.studies.cdf.error.bound import ROUNDS
from treedp_core.studies.cdf.matrices.blocks import pure_matrix
from treedp_core.studies.cdf.matrices.circular import CircularRoot
from treedp_core.studies.cdf.matrices.integer_strategy import WholeMatrix, and_total, optimal_matrix
from treedp_core.studies.cdf.matrices.local_sums import LocalMatrix
from treedp_core.studies.cdf.matrices.p_identity import SEARCH_STEPS
from treedp_core.studies.cdf.matrices.public_total import CentredRoot
from treedp_core.studies.cdf.matrices.reflection import SymmetricRoot
from treedp_core.studies.cdf.matrices.square_root import RootMatrix
from treedp_core.studies.cdf.matrices.workload import MAX_BINS, Wanted
from treedp_core.studies.cdf.release import (
    STRATEGIES,
    CdfRelease,
    CdfSettings,
    checked_bins,
    refuse_other_noise,
    without_others,
)
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.watch import Watch
from treedp_core.words import lower_first, percent, privacy_text, short, whole

MAX_MATRIX_BINS: Final = MAX_BINS
MOST_CERTIFIED: Final = 4096
"""Bins up to which the bound of a symmetric root takes no second."""


class Matrix(Protocol):
    """What a release needs of a whole matrix (n_rows, K): a product, the way back, and how far a record moves it."""

    @property
    def n_bins(self) -> int:
        """K."""

    @property
    def n_rows(self) -> int:
        """Noise values of one release."""

    @property
    def variance(self) -> FloatArray:
        """Error variance of each cumulative count where the noise has variance 1, (K,)."""

    def encode(self, counts: AnyArray) -> AnyArray:
        """Return the matrix times whole counts of bins (K,), exactly, (n_rows,)."""

    def decode(self, released: AnyArray, total: float = 0.0) -> FloatArray:
        """Return the cumulative counts (..., K) of what was released, (..., n_rows), given a public total."""

    def row(self, last: int) -> FloatArray:
        """Return how much of each noise value is in the error of cumulative count `last`, (n_rows,)."""

    def numbers(self) -> IntArray:
        """Return the whole numbers that the matrix is made of, (n,)."""

    def column_square(self) -> int:
        """Squared length of the longest column."""

    def pair_square(self) -> int:
        """Squared distance of the two columns farthest apart."""


Sought = WholeMatrix | LocalMatrix
"""A matrix that a search found, with the mean variance it attains and the least that any could."""


@dataclass(frozen=True, eq=False)
class MatrixPlan:
    """A CDF release by a matrix made ready: all that does not depend on the records, shared by every trial.

    Parameters
    ----------
    settings : CdfSettings
    matrix : Matrix
    sensitivity : float
        How far one unit moves the product, in the norm of the noise, rounded up.
    total : float
        What may be spent in all, in the mechanism's currency, which is that of `budget`: epsilon or rho.
    budget : Budget
        All of it is spent at once; the total, where it is public, costs nothing.
    guarantee : Guarantee
    law : Law
        Of the noise on the product.
    """

    settings: CdfSettings
    matrix: Matrix
    sensitivity: float
    total: float
    budget: Budget
    guarantee: Guarantee
    law: Law

    def release(
        self, bin_counts: AnyArray, rng: np.random.Generator, provenance: Provenance = Provenance.SIMULATION
    ) -> CdfRelease:
        """Return the noisy cumulative counts of true counts of bins (K,), whole and at least 0.

        The noise is added to whole numbers; all else is post-processing, in floats and refined once, as what was
        released is many times larger than its noise.

        Raises
        ------
        InputError
            ``CDF_SHAPE`` when there is not one such count for each bin.
        """
        counts = checked_bins(bin_counts, self.settings.n_bins)
        product, noise = self.matrix.encode(counts), self.law.sample(rng, self.matrix.n_rows)
        total = int(counts.sum()) if self.settings.unit.total_is_public else None
        rough = np.diff(self.matrix.decode(product + noise, float(total or 0)), prepend=0.0)
        near = np.rint(rough).astype(np.int64)
        rest = (product - self.matrix.encode(near)) + noise
        left = 0 if total is None else total - int(near.sum())
        estimate = np.cumsum(near) + self.matrix.decode(rest, float(left))
        release = CdfRelease(estimate, self.variance, total, self.guarantee, provenance)
        return without_others(release, self.settings)

    def errors(self, rng: np.random.Generator, trials: int) -> FloatArray:
        """Return errors of the cumulative counts in independent trials, (trials, K): no records are needed."""
        return self.matrix.decode(self.law.sample(rng, (trials, self.matrix.n_rows)))[:, : self.settings.n_within]

    @property
    def n_values(self) -> int:
        """Noise values of one release."""
        return self.matrix.n_rows

    @cached_property
    def variance(self) -> FloatArray:
        """Exact error variance of each cumulative count, (K,)."""
        return self.law.variance * self.matrix.variance[: self.settings.n_within]

    @cached_property
    def covariance(self) -> FloatArray:
        """Exact covariance of the error of each cumulative count with that of the last, (K,)."""
        last = self.settings.n_within
        return self.law.variance * self.matrix.decode(self.matrix.row(last - 1))[:last]

    def range_variance(self, start: int, stop: int) -> float:
        """Return the exact error variance of the records in bins start, ..., stop - 1."""
        first = checks.integer("start", start, low=0, high=self.settings.n_bins - 1, code="RANGE_BOUNDS")
        behind = checks.integer("stop", stop, low=first + 1, high=self.settings.n_bins, code="RANGE_BOUNDS")
        row = self.matrix.row(behind - 1)
        return self.law.variance * float(np.square(row - self.matrix.row(first - 1) if first else row).sum())


def plan_matrix(settings: CdfSettings, matrix: Matrix | None = None) -> MatrixPlan:
    """Return a CDF release by a matrix made ready; one that was sought before for these settings may be given.

    Raises
    ------
    InputError
        ``STRATEGY_NOISE`` for a mechanism that the matrix is not for; ``TREE_SHAPE``, ``BOUND_SIZE``, ``RANGE_BOUNDS``,
        ``EPS_RANGE``, ``DELTA_REQUIRED``, ``NOISE_RANGE``.
    """
    mechanism = lookup(MECHANISMS, settings.mechanism, "mechanism")
    refuse_other_noise(settings)
    unit = settings.unit
    total, currency = checks.epsilon(settings.epsilon), mechanism.currency
    if currency is Currency.RHO:
        delta = checks.delta(settings.delta, required=True)
        total = epsilon_to_rho(total, delta, mechanism.continuous_gaussian)
    matrix = matrix_of(settings) if matrix is None else matrix
    if isinstance(matrix, WholeMatrix) and matrix.with_total and not settings.with_total:
        matrix = and_total(matrix, currency is Currency.EPSILON)
    elif isinstance(matrix, LocalMatrix) and not settings.with_total:
        matrix = replace(matrix, with_total=False)
    moved = sensitivity(matrix, unit, currency)
    law = level_law(mechanism.name, total, moved, moved)
    assert law is not None
    # a change of unknown columns is charged twice on a level, and here the sensitivity already holds it
    spent = total / 2.0 if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN else total
    budget = Budget(currency, (0.0, spent))
    precision = Precision.EXACT if law.integer else Precision.IDEAL
    promise = guarantee(budget, unit, settings.delta, mechanism.continuous_gaussian, precision=precision)
    return MatrixPlan(settings, matrix, moved, total, budget, promise, law)


def matrix_of(settings: CdfSettings) -> Matrix:
    """Return the matrix of a strategy that has one; one that is sought takes up to seconds, and the last are kept."""
    if STRATEGIES[settings.strategy].sought:
        return _sought(settings.strategy, settings.wanted, settings.unit.by_pairs)
    return _root(settings.wanted, settings.unit, settings.least_squares)


@dataclass(frozen=True)
class Search:
    """How a matrix is sought: by which function, in about how many of which steps.

    The function is told whether records are replaced; then the total is public, or will be added as one more sum.
    """

    find: Callable[[Wanted, bool, Watch | None], Sought]
    steps: int
    unit: str


SEARCHES: Final = {
    "optimal": Search(optimal_matrix, ROUNDS, "rounds"),
    "identity": Search(pure_matrix, SEARCH_STEPS, "%"),
}


def seek(question: tuple[str, Wanted, bool], watch: Watch | None = None) -> Sought:
    """Return the matrix of a strategy in `SEARCHES` for the counts that are wanted, where records are replaced or not.

    Raises
    ------
    InputError
        ``BOUND_SIZE`` for more bins than are sought for.
    Cancelled
        When the watch says so.
    """
    strategy, wanted, by_pairs = question
    return SEARCHES[strategy].find(wanted, by_pairs, watch)


@lru_cache(maxsize=4)
def _sought(strategy: str, wanted: Wanted, with_total: bool) -> Sought:
    return seek((strategy, wanted, with_total))


@lru_cache(maxsize=64)
def mean_variance(wanted: Wanted, unit: ProtectedUnit, with_total: bool = True) -> float:
    """Return the mean error variance of cumulative counts or ranges by the square-root matrix at rho = 1.

    In records squared. A total that is public is used if `with_total`.

    >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    >>> round(mean_variance(Wanted(256), unit), 2), round(mean_variance(Wanted(256, "ranges"), unit), 2)
    (3.2, 4.21)
    """
    matrix = _root(wanted, unit, with_total)
    if wanted.workload == "cdf" or isinstance(matrix, RootMatrix | CentredRoot):
        at_one = float(matrix.variance.mean())
    else:
        at_one = matrix.mean_range_variance
    return at_one * sensitivity(matrix, unit) ** 2 / 2.0


@lru_cache(maxsize=4)
def _root(
    wanted: Wanted, unit: ProtectedUnit, with_total: bool
) -> RootMatrix | SymmetricRoot | CentredRoot | CircularRoot:
    """The root that errs least: symmetric where a record is added, else circular for ranges, centred for a total."""
    if wanted.workload not in ("cdf", "ranges"):
        raise InputError(
            "VALUE_UNKNOWN", "The square-root matrix is made for cumulative counts or all ranges: choose one of them."
        )
    if unit.relation is NeighbouringRelation.ADD_OR_REMOVE_ONE:
        return SymmetricRoot(wanted.n_bins, wanted.workload == "ranges")
    known = with_total and unit.total_is_public
    if wanted.workload == "ranges":
        return CircularRoot(wanted.n_bins, known)
    return CentredRoot(wanted.n_bins) if known else RootMatrix(wanted.n_bins)


def sensitivity(matrix: Matrix, unit: ProtectedUnit, currency: Currency = Currency.RHO) -> float:
    """Return how far one unit moves a matrix times the counts, rounded up: all its records do the same.

    Euclidean for rho, in absolute values for epsilon.

    >>> sensitivity(RootMatrix(2), ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)) / 2**20
    1.118033988749895
    """
    if currency is Currency.EPSILON:
        assert isinstance(matrix, WholeMatrix | LocalMatrix)
        moved = 0 if unit.relation is NeighbouringRelation.REPLACE_ONE else matrix.column_sum()
        return float(unit.contributions * (max(moved, matrix.pair_sum()) if unit.by_pairs else moved))
    square = 0
    if unit.relation is not NeighbouringRelation.REPLACE_ONE:
        square = matrix.column_square()
    if unit.by_pairs:
        square = max(square, matrix.pair_square())
    return sqrt_above(Fraction(unit.contributions**2 * square))


def matrix_ledger(plan: MatrixPlan) -> dict[str, list[str]]:
    """Return what a release by a matrix spends, and on what, in words."""
    promise = plan.guarantee
    spent = [("ρ", privacy_text(promise.rho))] if promise.rho is not None else []
    of_delta = [("δ", privacy_text(promise.delta))] if promise.delta else []
    rows = [
        ("matrix", plan.settings.way),
        ("answers", whole(plan.matrix.n_rows)),
        *_above_the_least(plan),
        ("sensitivity, in units of the whole matrix", short(plan.sensitivity, 6)),
        (f"{lower_first(plan.law.label)} noise, st. dev. in the same units", short(math.sqrt(plan.law.variance), 6)),
        *spent,
        ("ε", privacy_text(promise.epsilon)),
        *of_delta,
    ]
    return {"of the release": [name for name, _ in rows], "value": [value for _, value in rows]}


def _above_the_least(plan: MatrixPlan) -> list[tuple[str, str]]:
    """How far a matrix is from the certified bound, where there is one for whom it protects."""
    matrix, unit = plan.matrix, plan.settings.unit
    if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        return []
    if isinstance(matrix, CircularRoot) or (isinstance(matrix, SymmetricRoot) and matrix.n_bins <= MOST_CERTIFIED):
        error, lower = mean_variance(plan.settings.wanted, unit, plan.settings.with_total), matrix.lower
    elif isinstance(matrix, WholeMatrix) and matrix.with_total == unit.total_is_public:
        error, lower = matrix.mean_variance * plan.sensitivity**2 / 2.0, matrix.lower
    else:
        return []
    if math.isnan(lower):
        return []
    return [("mean variance above the least possible", percent(max(error / unit.contributions**2 / lower - 1.0, 0.0)))]
