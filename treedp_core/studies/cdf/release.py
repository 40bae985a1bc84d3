"""A CDF from beginning to end: counts of bins -> tree -> noise -> least squares -> cumulative counts -> consistency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS, Allocation, spent_part, split
from treedp_core.checks import InputError
from treedp_core.mechanisms import MECHANISMS, LevelNoise, Mechanism
from treedp_core.postprocess import least_squares
from treedp_core.postprocess.isotonic import FITS, ErrorOf, IntArray, consistent_cdf
from treedp_core.privacy import (
    Budget,
    Currency,
    Guarantee,
    NeighbouringRelation,
    ProtectedUnit,
    Provenance,
    budget_from_shares,
    guarantee,
)
from treedp_core.privacy.accounting import USUAL, largest_total
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.privacy.promise import Release
from treedp_core.registry import NO_CARD, MethodCard, Table, lookup, table
from treedp_core.studies.cdf import method_cards as of
from treedp_core.studies.cdf.error.budgets import optimal_shares
from treedp_core.studies.cdf.error.criterion import Criterion
from treedp_core.studies.cdf.error.prefixes import (
    least_squares_functional_variance,
    least_squares_prefix_variances,
    prefix_variances,
    range_variance,
    view_estimates,
    view_variances,
    view_weights,
)
from treedp_core.studies.cdf.matrices.workload import WORKLOADS, Ranges, Wanted
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Shape, Workload, digit_sums, prefix_estimates, range_cover
from treedp_core.words import whole


@dataclass(frozen=True)
class Optimal:
    """The split with the least expected error of the cumulative counts: it depends on the shape and on the noise."""

    name: str = "optimal"
    label: str = "Optimal"
    help: str = "Least expected error on this tree."


OPTIMAL: Final = Optimal()
SPLITS: Final[Table[Allocation | Optimal]] = Table(OPTIMAL, derived=ALLOCATIONS.values, of=(ALLOCATIONS,))
"""How level budgets are chosen here: every allocation, and the best for cumulative counts."""


@dataclass(frozen=True)
class Strategy:
    """A table entry: on what noise is put, and the mechanisms whose noise that may be (all, if none is named).

    One that is `sought` is made for the counts that are wanted, by a search.
    """

    name: str
    label: str
    help: str
    mechanisms: tuple[str, ...] = ()
    sought: bool = False
    card: MethodCard = NO_CARD


TREE: Final = "tree"
PARTITION: Final = "partition"
GAUSSIANS: Final = ("discrete_gaussian", "gaussian")
LAPLACES: Final = ("discrete_laplace", "laplace")
STRATEGIES: Final[Table[Strategy]] = table(
    Strategy(TREE, "Tree", "Noise on the counts of a tree's nodes.", card=of.TREE),
    Strategy(
        "root",
        "Square-root matrix",
        "Gaussian noise on weighted sums of all bins, made for cumulative counts or for all ranges: less error than "
        "trees, up to 2^20 bins.",
        GAUSSIANS,
        card=of.ROOT,
    ),
    Strategy(
        "optimal",
        "Optimal matrix",
        "Gaussian noise on weighted sums of all bins, sought for the counts that you want: no matrix has an error "
        "smaller by more than half a percent. Up to 1 024 bins.",
        GAUSSIANS,
        sought=True,
        card=of.OPTIMAL,
    ),
    Strategy(
        "identity",
        "p-identity matrix",
        "Laplace noise on all bins and on some weighted sums of them, sought for the counts that you want: pure ε with "
        "at most the error of the best tree, which is released where its error is smaller. Up to 1 024 bins; for "
        "cumulative counts and all ranges up to 65 536.",
        LAPLACES,
        sought=True,
        card=of.IDENTITY,
    ),
    Strategy(
        PARTITION,
        "Private partition",
        "Half of ε finds bins in a row that are nearly alike; their common count is spread evenly. For few records on "
        "smooth data: single bins then have half the error of bins alone, or less; with many records or spikes, more.",
        LAPLACES,
        card=of.PARTITION,
    ),
)
"""On what the noise of a CDF is put."""


NODES: Final = "nodes"
ESTIMATES: Final = {
    NODES: "Nodes as measured", "left": "From the left", "right": "From the right", "average": "Averaged",
    "weighted": "Weighted",
}  # fmt: skip
"""From what of a tree cumulative counts are added up, where no least squares follows (Rameshwar et al., Appendix B)."""


@dataclass(frozen=True)
class CdfSettings:
    """Everything that defines a CDF release but the data: numbers, strings and tuples only.

    Parameters
    ----------
    n_bins : int
        Counted: the bins of the CDF, and where it `has_other`, one more.
    branching_factors : tuple of int
        With a product of at least `n_bins`; bins past the last hold no records and are left out of the tree.
    mechanism : str
        A name in `MECHANISMS`.
    epsilon, delta : float
        The total budget; delta is used by Gaussian noise only.
    allocation : str
        A name in `SPLITS`.
    shares : tuple of float
        For ``custom``: one for each level, the root's first, summing to at most 1.
    least_squares : bool
        Whether the best linear unbiased estimates replace the noisy counts; they use a public total.
    estimate : str
        A name in `ESTIMATES`: without least squares, whether nodes are added up as measured, or combined with their
        descendants, from the left, from N and the right, or by both views.
    relation, contributions
        Who is protected: see `ProtectedUnit`.
    strategy : str
        A name in `STRATEGIES`; with a matrix there are no branching factors and no budgets of levels.
    workload, ranges
        What a matrix is made for: see `Wanted`.
    accounting : str
        How discrete Gaussian noise on a tree becomes (epsilon, delta), in `Accounting`: "numerical" needs less of it.
    has_other : bool
        Whether the last of the bins holds the records that have no place in the others: the CDF ends before it.
    """

    n_bins: int
    branching_factors: tuple[int, ...]
    mechanism: str = "discrete_laplace"
    epsilon: float = 1.0
    delta: float = 0.0
    allocation: str = "uniform"
    shares: tuple[float, ...] = ()
    least_squares: bool = True
    relation: str = NeighbouringRelation.REPLACE_ONE.value
    contributions: int = 1
    strategy: str = TREE
    workload: str = "cdf"
    ranges: Ranges = ()
    accounting: str = USUAL.value
    has_other: bool = False
    estimate: str = NODES

    @property
    def is_by_views(self) -> bool:
        """Whether nodes are combined with their descendants, and cumulative counts are views of them."""
        return self.estimate != NODES

    @property
    def n_within(self) -> int:
        """K, the bins that cumulative counts are of."""
        return self.n_bins - self.has_other

    @property
    def way(self) -> str:
        """What the noise is put on, in a few words: the tree's factors, or the matrix and what it was made for."""
        if self.strategy == TREE:
            return product_text(self.branching_factors)
        one = STRATEGIES[self.strategy]
        is_said = one.sought or self.workload != "cdf"
        return f"{one.label} for {WORKLOADS[self.workload].lower()}" if is_said else one.label

    @property
    def wanted(self) -> Wanted:
        """The counts that a matrix is sought for."""
        return Wanted(self.n_bins, self.workload, self.ranges)

    @property
    def with_total(self) -> bool:
        """Whether a public total is used: it takes its share of the errors away."""
        return self.least_squares and self.unit.total_is_public

    @property
    def shape(self) -> Shape:
        """The tree's shape."""
        return Shape(self.branching_factors, self.n_bins)

    @property
    def unit(self) -> ProtectedUnit:
        """Who is protected."""
        return ProtectedUnit(NeighbouringRelation(self.relation), self.contributions)


@dataclass(frozen=True, eq=False)
class CdfRelease:
    """Released cumulative counts.

    Parameters
    ----------
    cumulative : (K,)
        Records in each bin and those before it; may fall and be no whole numbers. The last is the number in all bins.
    variance : (K,)
        Exact error variance of each, in records squared; inf where a bias is not known.
    n_records : int or None
        N where it is public, else None: the records in the bins and all others.
    guarantee : Guarantee
        Of everything derived from this release.
    provenance : Provenance
        Whether it is a simulation.
    spent : str
        A sentence on what the promise was spent on, where that is more than noise on counts.
    other : float or None
        Records that have no place in the bins, where these are counted.
    """

    cumulative: FloatArray
    variance: FloatArray
    n_records: int | None
    guarantee: Guarantee
    provenance: Provenance
    spent: str = ""
    other: float | None = None

    def sentence(self) -> str:
        """Return the promise in one sentence; a simulation says so first."""
        return f"{self.provenance.sentence(self.guarantee)} {self.spent}".rstrip()

    def __repr__(self) -> str:
        return f"<CdfRelease of {self.cumulative.size} bins. {self.sentence()}>"

    @property
    def inside(self) -> int:
        """The number of records in all bins: N where that is public and there are no others, else as released.

        A noisy one is rounded, and cut to 0 and to N where that is public.
        """
        if self.n_records is not None and self.other is None:
            return self.n_records
        most = checks.MAX_COUNT if self.n_records is None else self.n_records
        return int(np.clip(np.rint(self.cumulative[-1]), 0, most))

    def consistent(self, error: str | ErrorOf = "squared") -> IntArray:
        """Return the closest whole, non-decreasing cumulative counts that end at `inside`, (K,): see `consistent_cdf`.

        Raises
        ------
        InputError
            ``FIT_WHOLE`` for a fit that keeps whole counts, where the noise or least squares has left none.
        """
        if isinstance(error, str) and error in FITS and FITS[error].keeps and (np.mod(self.cumulative, 1) != 0).any():
            raise InputError(
                "FIT_WHOLE",
                f"{FITS[error].label} keeps noisy counts that are whole, and these are not: take whole-number noise "
                "without least squares, or another consistency.",
            )
        return consistent_cdf(self.cumulative, self.inside, error)


def without_others(release: CdfRelease, settings: CdfSettings) -> CdfRelease:
    """Return a release of all that is counted, (n_bins,), as one of the bins, from which others are told apart."""
    if not settings.has_other:
        return release
    counts, last = release.cumulative, settings.n_within
    other = float(counts[last] - counts[last - 1])
    return replace(release, cumulative=counts[:last], other=other)


@dataclass(frozen=True, eq=False)
class CdfPlan:
    """A CDF release made ready: all that does not depend on the records, shared by every trial.

    Parameters
    ----------
    settings : CdfSettings
    tree : Tree
    total : float
        What may be spent in all, in the mechanism's currency, which is that of `budget`: epsilon or rho.
    budget : Budget
        What each level spends of it.
    guarantee : Guarantee
    noise : LevelNoise
    """

    settings: CdfSettings
    tree: Tree
    total: float
    budget: Budget
    guarantee: Guarantee
    noise: LevelNoise

    def release(
        self, bin_counts: AnyArray, rng: np.random.Generator, provenance: Provenance = Provenance.SIMULATION
    ) -> CdfRelease:
        """Return the noisy cumulative counts of true counts of bins (K,), whole and at least 0.

        They are a simulation unless the caller says that `rng` is a secure source of bits.

        Raises
        ------
        InputError
            ``CDF_SHAPE`` when there is not one such count for each bin.
        """
        counts = self.tree.counts_of_leaves(checked_bins(bin_counts, self.tree.n_leaves))
        noisy = self.noise.release(counts, self.guarantee, rng, provenance=provenance)
        return self.from_release(noisy, int(counts[0]))

    def from_release(self, noisy: Release, n_records: int) -> CdfRelease:
        """Return the cumulative counts of a noisy release of this plan's tree."""
        public = self.settings.unit.total_is_public
        release = CdfRelease(
            self.cumulative(noisy.estimate), self.variance, n_records if public else None, noisy.guarantee,
            noisy.provenance,
        )  # fmt: skip
        return without_others(release, self.settings)

    def cumulative(self, node_values: AnyArray) -> FloatArray:
        """Return the cumulative counts of all bins (..., n_bins) from noisy values of the nodes (..., n_nodes).

        Linear in them; with those of a last one for others, which no CDF holds.
        """
        if self.settings.is_by_views:
            return view_estimates(self.tree, node_values, self.noise.variance, self.settings.estimate)
        if not self.settings.least_squares:
            return np.asarray(prefix_estimates(self.tree, node_values), dtype=np.float64)
        best = self._estimator(node_values)[..., self.tree.level(self.tree.height)]
        return np.asarray(np.cumsum(best, axis=-1))

    def errors(self, rng: np.random.Generator, trials: int) -> FloatArray:
        """Return errors of the cumulative counts in independent trials, (trials, K): no records are needed."""
        return self.cumulative(self.noise.draw(rng, trials))[..., : self.settings.n_within]

    @property
    def n_values(self) -> int:
        """Noise values of one release."""
        return self.tree.n_nodes

    @cached_property
    def variance(self) -> FloatArray:
        """Exact error variance of each cumulative count, (K,)."""
        if self.settings.is_by_views:
            return view_variances(self.tree, self.noise.variance, self.settings.estimate)[: self.settings.n_within]
        of = least_squares_prefix_variances if self.settings.least_squares else prefix_variances
        return of(self.tree, self.noise.variance)[: self.settings.n_within]

    @cached_property
    def covariance(self) -> FloatArray:
        """Exact covariance of the error of each cumulative count with that of the last, (K,).

        Errors are A e for noise e of variances D, so it is A times D w, w being how much of e is in the last. Least
        squares with the weights 1 / D gives A = C X' / D for counts X x of bins x with the covariance C, so there D
        times the bins that are summed, on the leaves alone, does the same.
        """
        last, known = self.settings.n_within, np.where(np.isfinite(self.noise.variance), self.noise.variance, 0.0)
        if self.settings.is_by_views:
            return self.cumulative(known * self._used(last))[:last]
        of = np.zeros(self.tree.n_nodes)
        leaves = self.tree.level(self.tree.height)
        of[np.arange(leaves.start, leaves.start + last) if self.settings.least_squares
           else range_cover(self.tree, 0, last)[0]] = 1.0  # fmt: skip
        return self.cumulative(known * of)[:last]

    def range_variance(self, start: int, stop: int) -> float:
        """Return the exact error variance of the records in bins start, ..., stop - 1, of all that are counted."""
        if self.settings.is_by_views:
            used = self._used(stop) - (self._used(start) if start else 0.0)
            return float(np.square(used[used != 0.0]) @ self.noise.variance[used != 0.0])
        plain = range_variance(self.tree, self.noise.variance, start, stop)
        if not self.settings.least_squares:
            return plain
        weights = np.zeros(self.tree.n_leaves)
        weights[start:stop] = 1.0
        return float(least_squares_functional_variance(self.tree, self.noise.variance, weights))

    def _used(self, end: int) -> FloatArray:
        """How much of each node's noise is in the view of the first `end` bins, (n_nodes,)."""
        return view_weights(self.tree, self.noise.variance, self.settings.estimate, end)

    @cached_property
    def _estimator(self) -> Callable[[AnyArray], AnyArray]:
        return least_squares.prepare(self.tree, self.noise.variance)[0]


def refuse_other_noise(settings: CdfSettings) -> None:
    """Refuse a mechanism that the strategy is not for, with a code ``STRATEGY_NOISE``."""
    strategy = lookup(STRATEGIES, settings.strategy, "strategy")
    if settings.mechanism not in strategy.mechanisms:
        fit = " or ".join(MECHANISMS[name].label for name in strategy.mechanisms)
        raise InputError("STRATEGY_NOISE", f"The {strategy.label.lower()} is for other noise: choose {fit}.")


def checked_bins(bin_counts: AnyArray, n_bins: int) -> IntArray:
    """Return counts of bins (n_bins,) as int64, or refuse them."""
    counts = np.asarray(bin_counts)
    is_whole = counts.shape == (n_bins,) and np.issubdtype(counts.dtype, np.number)
    is_whole = is_whole and bool(np.isfinite(counts).all()) and bool((counts == np.floor(counts)).all())
    if not is_whole or (counts < 0).any() or counts.sum(dtype=float) > checks.MAX_COUNT:
        raise InputError("CDF_SHAPE", f"Expected a whole count of at least 0 for each of the {whole(n_bins)} bins.")
    return counts.astype(np.int64)


def plan_tree(settings: CdfSettings) -> CdfPlan:
    """Return a CDF release on a tree made ready.

    Raises
    ------
    InputError
        ``TREE_SHAPE``, ``TOO_MANY_NODES``, ``EPS_RANGE``, ``DELTA_REQUIRED``, ``BUDGET_SPLIT``, ``ESTIMATE`` and the
        like.

    >>> plan = plan_tree(CdfSettings(5, (5,), mechanism="laplace"))
    >>> float(plan.variance.sum())
    32.0
    >>> plan.release(np.array([3, 0, 1, 0, 5]), np.random.default_rng(1)).consistent()[-1]
    np.int64(9)
    """
    mechanism = lookup(MECHANISMS, settings.mechanism, "mechanism")
    _refuse_estimate(settings)
    unit, tree = settings.unit, settings.shape.tree()
    spent = _split(settings, mechanism, tree)
    total, laws = checks.epsilon(settings.epsilon), False
    if mechanism.currency is Currency.RHO:
        delta, laws = checks.delta(settings.delta, required=True), mechanism.is_composed(settings.accounting)
        part = spent_part(settings.allocation, settings.shares)
        total = (
            largest_total(lambda rho: mechanism.plan(tree, spent(rho), unit).laws, unit, total, delta, part)
            if laws
            else epsilon_to_rho(total, delta, mechanism.continuous_gaussian)
        )
    budget = spent(total)
    _refuse_gaps(settings, budget)
    noise = mechanism.plan(tree, budget, unit)
    promise = guarantee(
        budget, unit, settings.delta, mechanism.continuous_gaussian, precision=noise.precision,
        claimed_by=MECHANISMS.author(settings.mechanism), laws=noise.laws if laws else (),
    )  # fmt: skip
    return CdfPlan(settings, tree, total, budget, promise, noise)


def _split(settings: CdfSettings, mechanism: Mechanism, tree: Tree) -> Callable[[float], Budget]:
    """What each level gets of a total."""
    unit, currency = settings.unit, mechanism.currency
    if lookup(SPLITS, settings.allocation, "allocation") is OPTIMAL:
        criterion = Criterion(mechanism.name, Workload.CDF, settings.least_squares, unit)
        best = optimal_shares(settings.shape, criterion).shares
        return lambda total: budget_from_shares(best, total, currency, unit)
    return lambda total: split(tree, total, currency, unit, settings.allocation, settings.shares)


def _refuse_estimate(settings: CdfSettings) -> None:
    """Refuse what is no estimate, or needs what is not there."""
    checks.one_of("estimate", settings.estimate, ESTIMATES)
    if not settings.is_by_views:
        return
    if settings.least_squares:
        raise InputError(
            "ESTIMATE", "Least squares uses both views and all else that is measured: choose it, or an estimate."
        )
    if not settings.unit.total_is_public:
        raise InputError(
            "ESTIMATE", "Estimates from the right take counts from a public N: protect by replacing one, or add up "
            "nodes as measured.",
        )  # fmt: skip


def _refuse_gaps(settings: CdfSettings, budget: Budget) -> None:
    """Refuse budgets that leave a prefix unknown: combined nodes need the last level, else all levels in use count."""
    needed = digit_sums(settings.shape)
    if settings.least_squares or settings.is_by_views:
        needed[:-1] = [0] * (len(needed) - 1)
    for level, (uses, amount) in enumerate(zip(needed, budget.per_level[1:], strict=True), start=1):
        if uses and not amount:
            raise InputError("BUDGET_SPLIT", f"Expected a share above 0 for level {level}; some bins need its counts.")
