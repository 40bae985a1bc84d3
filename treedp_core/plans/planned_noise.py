"""What a plan states of an experiment, a split of a budget, a CDF or a top-down release: all but the true counts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core import postprocess
from treedp_core.checks import InputError, echo
from treedp_core.errors import Tolerance, level_mean
from treedp_core.experiment import Experiment, prepare, run, total_of
from treedp_core.mechanisms import MECHANISMS, LevelNoise, refuse_rounds
from treedp_core.mechanisms.thresholds.public_bound import ThresholdPlan
from treedp_core.noise import DiscreteLaplace, Laplace, Law
from treedp_core.plans.public_domain import Data, domain_of
from treedp_core.plans.statement import (
    COUNTS,
    CUMULATIVE,
    TABLE,
    Bounded,
    NoiseLaw,
    PlannedLevel,
    Statement,
    SumsOfBins,
    TrueError,
)
from treedp_core.privacy import (
    Budget,
    Currency,
    ProtectedUnit,
    Spread,
    delta_warning,
    rho_to_epsilon,
    rho_to_epsilon_gaussian,
)
from treedp_core.privacy.accounting import USUAL, Accounting, epsilon_of_levels
from treedp_core.privacy.prior_provenance import Ledger, Origin, without_counts
from treedp_core.privacy.rounding import quotient_above
from treedp_core.privacy.spread import Capacities, capacities_of_tree, level_sensitivities
from treedp_core.records import Dataset, Recipe
from treedp_core.registry import lookup
from treedp_core.studies.cdf.bins import Bins as CountedBins
from treedp_core.studies.cdf.matrices.integer_strategy import WholeMatrix
from treedp_core.studies.cdf.matrices.local_sums import LocalMatrix
from treedp_core.studies.cdf.matrices.plan import MatrixPlan
from treedp_core.studies.cdf.partition import DividedPlan, PartitionPlan
from treedp_core.studies.cdf.release import CdfPlan
from treedp_core.studies.topdown.contingency_table import Subject
from treedp_core.studies.topdown.plan import Plan as TopDownPlan
from treedp_core.tree import Tree
from treedp_core.words import float_above

CONFIDENCE: Final = 0.95
NO_PARTITION: Final = (
    "No release plan can be made behind a private partition: how many buckets there are, and so which levels carry how "
    "much noise, is known only once it is released."
)
NO_VIEWS: Final = (
    "A release plan adds up nodes as measured or fits least squares, whose mean squared error is below that of "
    "every view at the same promise: take one of these."
)


@dataclass(frozen=True, eq=False)
class Split:
    """A split of a budget over levels: its ledger, the mechanism that spends it, and the steps that follow."""

    ledger: Ledger
    mechanism: str
    delta: float = 0.0
    postprocess: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Planned:
    """What every kind of release has: for each level its nodes, budget (inf published exactly) and law."""

    unit: ProtectedUnit
    law: str
    per_level: Sequence[float]
    laws: Sequence[Law | None]
    capacities: Sequence[Capacities]
    exact: Sequence[bool]
    total: float
    delta: float
    spread: Spread = Spread.STACKED
    tree: Tree | None = None
    steps: tuple[str, ...] = ()
    tuned: Origin | None = None
    released: str = COUNTS
    factors: tuple[int, ...] = ()
    """Of the tree over bins."""
    accounting: Accounting | None = None

    @property
    def composed(self) -> bool:
        """Whether the promise is that of the noise itself; what a split was tuned on may have had other noise."""
        return self.accounting is Accounting.NUMERICAL and (self.tuned is None or not self.tuned.spent)


Made = Experiment | Split | CdfPlan | DividedPlan | PartitionPlan | MatrixPlan | ThresholdPlan | TopDownPlan


def state(noise: Planned, data: Data, source: Dataset | None) -> Statement:
    """Return what the plan of a release states of its noise and of the data, which were counted from `source`.

    Raises
    ------
    InputError
        ``PLAN_LAW``, and what the ledger refuses: see `ReleasePlan.of`.
    """
    if noise.law not in {one.value for one in NoiseLaw}:
        raise InputError("PLAN_LAW", f"No plan can state the promise of {echo(noise.law)} noise: it is its author's.")
    law = NoiseLaw(noise.law)
    ledger = Ledger(noise.unit, law.currency, noise.total, noise.tuned, _finite(noise.per_level))
    recipe = recipe_of(source)
    total_records = int(data.counts.sum()) if isinstance(data, CountedBins) else data.total
    return Statement(
        title=data.name,
        credit="" if source is None else source.credit,
        whom="",
        released=noise.released,
        unit=noise.unit,
        spread=noise.spread if noise.unit.contributions > 1 else Spread.STACKED,
        bounded=bound_of(source, noise.unit),
        weighted=recipe.weight != "" or (source is not None and source.report.largest > 1),
        recipe=recipe,
        read_by="" if source is None else source.read_by,
        domain=domain_of(data, source, noise.factors),
        law=law,
        levels=_levels(noise, _names(data, len(noise.per_level))),
        postprocess=noise.steps,
        tuned=without_counts(noise.tuned),
        total=noise.total,
        charged=float_above(ledger.charged),
        epsilon=_epsilon(law, ledger.charged, noise),
        delta=noise.delta if law.currency is Currency.RHO else 0.0,
        delta_fits=_fits(noise, law, total_records),
        accounting=_accounting(law, noise),
    )


def state_of_sums(made: MatrixPlan, data: Data, source: Dataset | None) -> Statement:
    """Return what the plan of a release by a matrix states: its noise is on weighted sums of all bins.

    Raises
    ------
    InputError
        ``PLAN_DATA`` for other data than as many bins.
    """
    if not isinstance(data, CountedBins) or data.n_bins != made.matrix.n_bins:
        raise InputError("PLAN_DATA", "Expected the bins whose cumulative counts are released.")
    unit, law, recipe = made.settings.unit, NoiseLaw(made.settings.mechanism), recipe_of(source)
    matrix, promise = _matrix(made, law), made.guarantee
    return Statement(
        title=data.name,
        credit="" if source is None else source.credit,
        whom="",
        released=CUMULATIVE,
        unit=unit,
        spread=Spread.STACKED,
        bounded=bound_of(source, unit),
        weighted=recipe.weight != "" or (source is not None and source.report.largest > 1),
        recipe=recipe,
        read_by=source.read_by if source is not None else "",
        domain=domain_of(data, source, (data.n_bins,)),
        law=law,
        levels=_all_and_sums(made, law, matrix),
        postprocess=("least_squares",),
        tuned=None,
        total=made.total,
        charged=promise.epsilon if promise.rho is None else promise.rho,
        epsilon=promise.epsilon,
        delta=promise.delta,
        delta_fits=not delta_warning(promise.delta, data.total) if promise.delta and unit.total_is_public else None,
        accounting=Accounting.FORMULA if law is NoiseLaw.DISCRETE_GAUSSIAN else None,
        matrix=matrix,
    )


def _matrix(made: MatrixPlan, law: NoiseLaw) -> SumsOfBins:
    """The matrix, in multiples of a power of two that its longest column is once to twice as long as."""
    one, in_epsilon = made.matrix, law.currency is Currency.EPSILON
    replaced = made.settings.unit.by_pairs
    if in_epsilon:
        assert isinstance(one, WholeMatrix | LocalMatrix)
        column, pair = one.column_sum(), one.pair_sum() if replaced else 0
    else:
        column, pair = one.column_square(), one.pair_square() if replaced else 0
    bits = (column.bit_length() - 1) // (1 if in_epsilon else 2)
    digest = hashlib.sha256(one.numbers().astype("<i8").tobytes()).hexdigest()
    return SumsOfBins(made.settings.way, one.n_rows, bits, column, pair, digest)


def _all_and_sums(made: MatrixPlan, law: NoiseLaw, matrix: SumsOfBins) -> tuple[PlannedLevel, PlannedLevel]:
    """All records, which are public or not measured, and the sums; of these the error is that of cumulative counts."""
    unit, noise, step = made.settings.unit, made.law, 2.0**matrix.bits
    none = 0.0 if unit.total_is_public else None
    moved = 0.0 if unit.total_is_public else float(unit.contributions)
    leaves, far = made.matrix.n_bins, made.sensitivity / step
    reach = far
    if law.currency is Currency.RHO:  # the sum of n absolute values is at most the root of n times that of squares
        reach = (math.isqrt(matrix.rows * math.ceil(made.sensitivity) ** 2) + 1) / step
    spent = made.guarantee.epsilon if made.guarantee.rho is None else made.guarantee.rho
    return (
        PlannedLevel("all", 1, leaves, moved, moved, None if unit.total_is_public else 0.0, None, none, none, none),
        PlannedLevel(
            name="weighted sums of all bins",
            nodes=matrix.rows,
            leaves=leaves,
            sensitivity_l1=reach,
            sensitivity_l2=far,
            amount=spent,
            scale=_scale(noise) / step,
            deviation=math.sqrt(noise.variance) / step,
            margin=noise.margin(CONFIDENCE) / step,
            error=math.sqrt(float(made.variance.mean())),
        ),
    )


# ---- the noise of each kind of release


def planned(
    made: Experiment | Split | CdfPlan | DividedPlan | PartitionPlan | TopDownPlan,
    data: Data,
    tuned: Origin | None,
    steps: tuple[str, ...],
) -> Planned:
    """Return the levels of a release, and what each of them spends.

    Raises
    ------
    InputError
        ``PLAN_DATA`` where the data do not fit; ``PLAN_PARTITION``; what making the release ready refuses.
    """
    match made:
        case PartitionPlan() | DividedPlan():
            raise InputError("PLAN_PARTITION", NO_PARTITION)
        case CdfPlan():
            one, noise = made.settings, made.noise
            if one.is_by_views:
                raise InputError("PLAN_ESTIMATE", NO_VIEWS)
            ready = _of_tree(noise, one.unit, one.mechanism, made.budget, one.delta)
            chain = ("least_squares",) if one.least_squares else ()
            return replace(ready, total=made.total, tuned=tuned, steps=chain, released=CUMULATIVE,
                           factors=one.branching_factors, accounting=made.guarantee.accounting)  # fmt: skip
        case TopDownPlan():
            return _of_top_down(made, data, tuned, steps)
    if not isinstance(data, Dataset):
        raise InputError("PLAN_DATA", "Expected the data set whose tree is released.")
    if isinstance(made, Split):
        return _of_split(made, data.tree)
    pipeline = prepare(made, data.tree)
    ready = _of_tree(pipeline.noise, made.unit, made.mechanism, pipeline.budget, made.delta)
    return replace(ready, total=total_of(made, data.tree), tuned=tuned, steps=made.postprocess,
                   accounting=pipeline.guarantee.accounting)  # fmt: skip


def _of_tree(noise: LevelNoise, unit: ProtectedUnit, law: str, budget: Budget, delta: float) -> Planned:
    capacities = capacities_of_tree(noise.tree)
    return Planned(unit, law, budget.per_level, noise.laws, capacities, noise.exact, 0.0, delta, tree=noise.tree)


def _of_split(made: Split, tree: Tree) -> Planned:
    refuse_rounds(made.mechanism)
    mechanism, ledger = lookup(MECHANISMS, made.mechanism, "mechanism"), made.ledger
    public = ledger.unit.total_is_public
    budget = Budget(ledger.currency, ((math.inf,) if public else ()) + tuple(ledger.amounts)[int(public) :])
    ready = _of_tree(mechanism.plan(tree, budget, ledger.unit), ledger.unit, made.mechanism, budget, made.delta)
    return replace(ready, total=ledger.total, tuned=ledger.prior, steps=made.postprocess, accounting=USUAL)


def _of_top_down(made: TopDownPlan, data: Data, tuned: Origin | None, steps: tuple[str, ...]) -> Planned:
    exact = [law is None for law in made.laws]
    tree = data.tree if isinstance(data, Subject) else None
    spent = made.guarantee.rho or 0.0
    return Planned(made.unit, "discrete_gaussian", made.budget.per_level, made.laws, made.levels, exact, spent,
                  made.guarantee.delta, made.spread, tree, steps, tuned, TABLE,
                  accounting=made.guarantee.accounting)  # fmt: skip


def _finite(per_level: Iterable[float]) -> tuple[float, ...]:
    return tuple(amount if math.isfinite(amount) else 0.0 for amount in per_level)


# ---- what follows


def _epsilon(law: NoiseLaw, charged: Fraction, noise: Planned) -> float:
    """The promise; what the split was tuned on may have had other noise, so that only the general conversion holds."""
    if law.currency is Currency.EPSILON or not charged:
        return float_above(charged)
    if law is NoiseLaw.GAUSSIAN and (noise.tuned is None or not noise.tuned.spent):
        return rho_to_epsilon_gaussian(float_above(charged), noise.delta)
    found = rho_to_epsilon(float_above(charged), noise.delta)
    return min(found, epsilon_of_levels(noise.laws, noise.unit, noise.delta)) if noise.composed else found


def _accounting(law: NoiseLaw, noise: Planned) -> Accounting | None:
    if law is not NoiseLaw.DISCRETE_GAUSSIAN:
        return None
    return Accounting.NUMERICAL if noise.composed else Accounting.FORMULA


def _fits(noise: Planned, law: NoiseLaw, total: int) -> bool | None:
    """Whether delta is below 1 / records, where it may be said."""
    if law.currency is Currency.EPSILON or not noise.unit.total_is_public:
        return None
    return not delta_warning(noise.delta, total)


def _levels(noise: Planned, names: Sequence[str]) -> tuple[PlannedLevel, ...]:
    capacities = noise.capacities
    l1, l2 = level_sensitivities(noise.unit, capacities, noise.spread)
    errors = _errors(noise)
    told = noise.spread is Spread.DISTINCT and noise.unit.contributions > 1
    levels = []
    for i, (name, law, exact) in enumerate(zip(names, noise.laws, noise.exact, strict=True)):
        levels.append(
            PlannedLevel(
                name=name,
                nodes=capacities[i].n_nodes,
                leaves=capacities[i].n_leaves,
                sensitivity_l1=float(l1[i]),
                sensitivity_l2=float(l2[i]),
                amount=None if exact else float(noise.per_level[i]),
                scale=None if law is None else _scale(law),
                deviation=0.0 if exact else None if law is None else math.sqrt(law.variance),
                margin=0.0 if exact else None if law is None else law.margin(CONFIDENCE),
                error=errors[i],
                capacities=capacities[i].classes if told else (),
            )
        )
    return tuple(levels)


def _scale(law: Law) -> float:
    if isinstance(law, DiscreteLaplace):
        return quotient_above(1, law.inverse_scale)
    return law.scale if isinstance(law, Laplace) else float(getattr(law, "sigma", math.nan))


def _errors(noise: Planned) -> list[float | None]:
    """Expected root mean square error of each level after post-processing; None where none is known beforehand."""
    if noise.tree is None:
        return [None] * len(noise.laws)
    variance = LevelNoise(noise.tree, tuple(noise.laws), tuple(noise.exact)).variance
    known = postprocess.prepare(noise.tree, variance, noise.steps, Tolerance())[1]
    if known is None:
        return [None] * len(noise.laws)
    return [float(error) if math.isfinite(error) else None for error in np.sqrt(level_mean(noise.tree, known))]


def true_error(made: Made, data: Data) -> TrueError:
    """Return the errors of an experiment, in its own metric, on the true counts: NOT PRIVATE.

    Raises
    ------
    InputError
        ``PLAN_DATA`` for a release of any other kind.
    """
    if not isinstance(made, Experiment) or not isinstance(data, Dataset):
        raise InputError("PLAN_DATA", "Errors on the true counts are stated of an experiment only.")
    formula = run(made, data.tree, data.counts, simulated=False).formula
    known = [math.nan] * data.tree.n_levels if formula is None else formula.level.tolist()
    return TrueError(made.metric, tuple(error if math.isfinite(error) else None for error in known))


# ---- what is said of the data: names and categories, never counts


def _names(data: Data, n_levels: int) -> tuple[str, ...]:
    match data:
        case Dataset():
            return data.labels.level_names
        case Subject():
            return data.level_names
    what = data.unit if data.numeric else "leaves"
    return ("all", *(f"level {i} of {what}" for i in range(1, n_levels)))


def bound_of(source: Dataset | None, unit: ProtectedUnit) -> Bounded:
    """Return who enforces the bound: the count, where a column names units and no more of their rows were counted."""
    return Bounded.COUNTED if 0 < recipe_of(source).bound <= unit.contributions else Bounded.CLAIMED


def recipe_of(source: Dataset | None) -> Recipe:
    """Return how rows became records; as they are where nothing is known of them."""
    return Recipe() if source is None else source.report.recipe
