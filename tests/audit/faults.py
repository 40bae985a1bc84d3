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

from treedp_core import privacy, words
from treedp_core.checks import InputError
from treedp_core.errors import simulation as montecarlo
from treedp_core.experiment import Pipeline
from treedp_core.mechanisms import LevelNoise, calibration, level_noise, stability
from treedp_core.mechanisms.partition import Partition
from treedp_core.mechanisms.thresholds import estimation, sparse_vector
from treedp_core.mechanisms.thresholds import release as thresholds
from treedp_core.mechanisms.thresholds.plan_types import Plan, PlanLevel, rounds_together
from treedp_core.mechanisms.thresholds.public_bound import ThresholdPlan, plan_thresholds
from treedp_core.mechanisms.thresholds.release import release_with_thresholds as release_with
from treedp_core.mechanisms.thresholds.sparse_vector import NoiseLaw
from treedp_core.noise import exact_draws as integer_draws
from treedp_core.noise import laws as noise
from treedp_core.noise import truncated_laplace as bounds
from treedp_core.plans import planned_noise as made
from treedp_core.plans import together, verify
from treedp_core.plans.thresholds import planned as rounds
from treedp_core.privacy import (
    Budget,
    NeighbouringRelation,
    ProtectedUnit,
    Provenance,
    Spread,
    accounting,
    losses,
    prior_provenance,
    rounding,
)
from treedp_core.privacy import accounting as risk
from treedp_core.privacy import spread as contributions
from treedp_core.privacy import sums as of_values
from treedp_core.privacy.accounting import Risk
from treedp_core.privacy.losses import Losses
from treedp_core.privacy.prior_provenance import Origin
from treedp_core.privacy.promise import Release
from treedp_core.records.count import counting as elsewhere
from treedp_core.records.read import units
from treedp_core.studies.budget import attribution
from treedp_core.studies.budget.splits import node_budgets
from treedp_core.studies.budget.targets import finalize_split
from treedp_core.studies.cdf import baselines
from treedp_core.studies.cdf.matrices import plan as matrices
from treedp_core.studies.cdf.matrices.integer_strategy import WholeMatrix
from treedp_core.studies.cdf.matrices.local_sums import LocalMatrix
from treedp_core.studies.topdown import marginals, sparse
from treedp_core.studies.topdown.plan import known_levels
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


def sensitivities(change: Callable[..., Any]) -> Planter:
    """Both sensitivities of a protected unit are changed."""

    @contextlib.contextmanager
    def plant() -> Iterator[None]:
        with (
            method(ProtectedUnit, "l1_sensitivity", change)(),
            method(ProtectedUnit, "l2_sensitivity", change)(),
        ):
            yield

    return plant


def narrower(law: Any, factor: float) -> Any:
    """The same law, `factor` times as wide."""
    if law is None:
        return None
    (parameter,) = vars(law).values()
    return type(law)(parameter / factor if type(law).__name__ == "DiscreteLaplace" else parameter * factor)


def too_narrow(factor: float) -> Planter:
    """The noise of every level is that much narrower than its budget allows."""
    return changed(calibration.level_law, lambda law, *_: narrower(law, factor))


@contextlib.contextmanager
def nearest() -> Iterator[None]:
    """Every rounding with a direction rounds to the nearest float instead."""
    with (
        everywhere(words.float_above, float),
        everywhere(words.float_below, float),
        everywhere(rounding.quotient_above, lambda a, b: float(Fraction(a) / Fraction(b))),
        everywhere(rounding.quotient_below, lambda a, b: float(Fraction(a) / Fraction(b))),
        everywhere(rounding.sqrt_above, lambda square: math.sqrt(Fraction(square))),
    ):
        yield


def _without_last(cost: Fraction, unit: ProtectedUnit, amounts: Iterable[Any]) -> Fraction:
    return CHARGE(unit, list(amounts)[:-1]) or cost


def _dearest(_: Fraction, unit: ProtectedUnit, amounts: Iterable[Any]) -> Fraction:
    return max((Fraction(a) for a in amounts if a != math.inf), default=Fraction(0))


def _once(_: Fraction, unit: ProtectedUnit, amounts: Iterable[Any]) -> Fraction:
    return sum((Fraction(a) for a in amounts if a != math.inf), Fraction(0))


def _exact_where_refused(tree: Tree, budget: Budget, unit: ProtectedUnit, law: str) -> LevelNoise:
    try:
        return LEVEL_NOISE(tree, budget, unit, law)
    except InputError:
        exact = tuple(amount == math.inf for amount in budget.per_level)
        return LevelNoise(tree, tuple(None if free else noise.Laplace(1.0) for free in exact), exact)


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


def _with_records(found: sparse.LevelResult, *_: object) -> sparse.LevelResult:
    there = found.origin >= 0
    parts = (part[there] for part in (found.parent, found.code, found.count, found.origin, found.noisy))
    return sparse.LevelResult(*parts, found.dropped)


def _telling_where_records_are(found: sparse.LevelResult, *_: object) -> sparse.LevelResult:
    return replace(found, noisy=found.noisy + (found.origin >= 0))


@contextlib.contextmanager
def forgotten_prior() -> Iterator[None]:
    """A prior is charged neither where its rest is split nor in the ledger."""
    charged = property(lambda self: self.unit.exact_charge([a if a < math.inf else 0.0 for a in self.amounts]))
    with everywhere(LEFT, lambda total, *_: total), patch.object(prior_provenance.Ledger, "charged", charged):
        yield


def _continuous(budget: Budget, unit: ProtectedUnit, delta: float, _: bool, **named: Any) -> Any:
    return GUARANTEE(budget, unit, delta, True, **named)


def _all_spent(shares: Any, total: float, currency: Any, unit: ProtectedUnit, *_: object, **__: object) -> Budget:
    return FROM_SHARES(shares, total, currency, unit)


def _faster(laws: Any, factor: float) -> Any:
    """Noises of a round whose tails fall `factor` times as fast."""
    return tuple(replace(law, rate=law.rate * factor) for law in laws)


def _for_a_fraction(laws: Any, level: PlanLevel, *_: object) -> Any:
    return _faster(laws, level.cut_off / (level.cut_off - 0.5))


def _around_the_truth(estimate: Any, counts: Any, n_levels: int, *others: Any, **how: Any) -> Any:
    law = estimation.clamp_noise(n_levels, *others[:2], **how)
    return np.clip(estimate, counts - law.support, counts + law.support)


def _one_draw(estimate: Any, counts: Any, n_levels: int, *others: Any, **how: Any) -> Any:
    law = estimation.clamp_noise(n_levels, *others[:2], **how)
    noisy = counts + law.sample(others[2], 1)[0]
    return np.clip(estimate, noisy - law.support, noisy + law.support)


def _unnoised_root(count: int, epsilon: float, delta: float, rng: Any, noise: Any = "discrete") -> float:
    return float(count + estimation.bounded_noise(epsilon, delta, noise).support)


def _one_step(unit: ProtectedUnit, *others: Any) -> tuple[float, float]:
    return ONE_RECORD(ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE, unit.contributions), *others)


def one_level_too_few() -> AbstractContextManager[Any]:
    """The clamp's noise is that of one level fewer."""
    honest = estimation.clamp_noise
    return everywhere(honest, lambda n_levels, *others: honest(max(1, n_levels - 1), *others))


def fewer_levels_told() -> AbstractContextManager[Any]:
    """A release tells its clamp of one level fewer."""
    honest = estimation.clamp
    return patch.object(
        thresholds, "clamp", lambda e, counts, n, *others, **how: honest(e, counts, n - 1, *others, **how)
    )


def _first_proposal(rng: np.random.Generator, sigma: float, out: Any) -> None:
    out[:] = integer_draws.draw_discrete_laplace(rng, 1.0 / sigma, out.size)


def _kept_threshold(rng: np.random.Generator, queries: Any, threshold: float, epsilon: float, c: int, *_: Any) -> Any:
    of_threshold, of_query = (NoiseLaw("laplace", epsilon / 2 / (k * c), "discrete") for k in (1, 2))
    above = queries + of_query.sample(rng, len(queries)) >= threshold + of_threshold.sample(rng, 1)[0]
    return above & (np.cumsum(above) <= c)


def one_chunk_again() -> AbstractContextManager[Any]:
    """Every chunk of a simulation has the generator of the first."""
    honest = montecarlo.generator
    return patch.object(montecarlo, "generator", lambda *entropy: honest(*entropy[:2]))


def drawn_narrower(factor: float) -> Planter:
    """What is drawn is narrower than the law that is charged."""

    @contextlib.contextmanager
    def plant() -> Iterator[None]:
        laplace, gauss = integer_draws.draw_discrete_laplace, integer_draws.draw_discrete_gaussian
        with (
            everywhere(laplace, lambda rng, a, n: laplace(rng, a * factor, n)),
            everywhere(gauss, lambda rng, sigma, n: gauss(rng, sigma / factor, n)),
        ):
            yield

    return plant


@contextlib.contextmanager
def largest_delta_only() -> Iterator[None]:
    """Of the rounds of a plan only the largest delta counts."""
    with patch.object(Plan, "exact_delta", property(lambda self: Fraction(max(x.pass_delta for x in self.levels)))):
        yield


def quiet_rounds() -> AbstractContextManager[Any]:
    """Rounds lose less together than they do."""
    honest = rounds_together
    return everywhere(honest, lambda rounds: honest((0.98 * a, 0.98 * b, 0.98 * t, law) for a, b, t, law in rounds))


def one_way_only() -> AbstractContextManager[Any]:
    """Rounds are judged by what one record more gives away, which is less."""
    honest = rounds_together
    return everywhere(honest, lambda rounds: (honest(rounds)[1],) * 2)


def unsaid_spread() -> AbstractContextManager[Any]:
    """A promise is described as if records could lie anywhere."""
    return patch.object(
        ProtectedUnit, "describe", lambda self, _, honest=ProtectedUnit.describe: honest(self, Spread.STACKED)
    )


def one_row_more() -> AbstractContextManager[Any]:
    """A unit keeps a row more than is promised."""
    honest = units.UnitQuota
    return everywhere(honest, lambda name, contributions: honest(name, contributions + 1))


def unsaid_simulation() -> AbstractContextManager[Any]:
    """A simulation has the sentence of a release."""
    return patch.object(Provenance, "sentence", lambda self, guarantee: guarantee.sentence())


def _charging_less(found: Any, *_: Any, **__: Any) -> Any:
    return replace(found, charged=0.98 * found.charged)


OTHER = elsewhere.with_other_leaf
CHARGE, LEVEL_NOISE, SENSITIVITIES = ProtectedUnit.exact_charge, level_noise, contributions.level_sensitivities
SPARSE_RELEASE, GUARANTEE, FROM_SHARES = sparse.release, privacy.guarantee, privacy.budget_from_shares
ROUND_NOISES = sparse_vector.round_noises


SUMS_UNIT = of_values.unit_of_sums
LEFT, ONE_RECORD = prior_provenance.left_after, thresholds.budget_for_one_record
LEVELS, TOP_DOWN, BUDGETS, THRESHOLDS = "levels", "top-down", "budgets", "thresholds"
CONVERSIONS, COMPOSED, EVENTS, SAMPLERS, BLACK_BOX = "conversions", "composed", "events", "samplers", "black box"
NUMERICAL, STABILITY, PARTITION, SUMS = "numerical", "stability", "partition", "sums"


def _one_step_less(found: ProtectedUnit, _: ProtectedUnit, clip: int) -> ProtectedUnit:
    return replace(found, contributions=max(1, clip - 1))


def _with_public_sum(_: ProtectedUnit, unit: ProtectedUnit, clip: int) -> ProtectedUnit:
    return replace(unit, contributions=clip)


def _added_or_removed(found: ProtectedUnit, *_: object) -> ProtectedUnit:
    return replace(found, relation=NeighbouringRelation.ADD_OR_REMOVE_ONE)


def _to_the_nearest(found: tuple[int, Any], one: Losses, step: float) -> tuple[int, Any]:
    first, own = found
    at = np.round(one.loss / step).astype(int) - first
    return first, np.bincount(np.clip(at, 0, own.size - 1), one.mass, own.size)


def _without_tails(one: Losses, *_: object) -> Losses:
    kept = one.mass > 1e-6
    return Losses(one.loss[kept], one.mass[kept], 0.0, one.step)


def _narrow_lattice(one: Losses, *_: object) -> Losses:
    return replace(one, loss=one.loss * (1 - 1e-6), step=one.step * (1 - 1e-6))


def _quieter(found: Any, *_: object) -> Any:
    return replace(found, threshold_rate=found.threshold_rate / 1.02)


def _louder(found: Any, *_: object) -> Any:
    return replace(found, query_rate=found.query_rate * 1.02)


def _fewer_steps(found: Any, *_: object) -> Any:
    return replace(found, steps=max(1, found.steps // 2))


def _for_this_total(plan: ThresholdPlan, counts: Any, rng: np.random.Generator) -> Release:
    """As if the bound were the number of records itself."""
    most, promise = max(1000, int(counts[0])), plan.guarantee
    own = plan_thresholds(plan.tree, promise.unit, most, alpha=0.5, epsilon=promise.epsilon, delta=promise.delta)
    return release_with(
        plan.tree, counts, own._planned, promise.unit, promise.epsilon, promise.delta, rng=rng, max_total=float(most)
    ).release


def _lower(made: Any, *_: object) -> Any:
    return replace(made, threshold=made.threshold - 1)


def _half_the_noise(made: Any, *_: object) -> Any:
    return replace(made, law=narrower(made.law, 0.5))


def _one_more(made: Any, *_: object) -> Any:
    return replace(made, values=tuple(value + (value > 0) for value in made.values))


def _doubled(made: Any, *_: object) -> Any:
    return replace(made, values=tuple(2 * value for value in made.values))


def told_of_nothing() -> AbstractContextManager[Any]:
    honest = stability.Stability.release
    return patch.object(stability.Stability, "release", lambda self, counts, rng: honest(self, counts + 99, rng))


def _as_if_one_length(law: Any, stage: Partition, size: int) -> Any:
    """The noise of the first stage of DAWA as its benchmark's code has it: for each interval as if it were alone."""
    return type(law)(stage.epsilon / (size * (2 - 1 / size - 1 / stage.n_bins)))


def _one_side(found: Fraction, stage: Partition) -> Fraction:
    return found if stage.unit.relation is NeighbouringRelation.ADD_OR_REMOVE_ONE else found / 2


def calm_partition() -> AbstractContextManager[Any]:
    honest = Partition.cheapest

    def planted(stage: Partition, counts: Any, rng: Any) -> Any:
        stage.law(2).sample(rng, sum(stage.sizes(length).size for length in stage.lengths))
        return honest(stage, stage.deviations(counts))

    return patch.object(Partition, "release", planted)


def calm_ahp() -> AbstractContextManager[Any]:
    honest = baselines._law
    return patch.object(baselines, "_law", lambda epsilon, unit: honest(2 * epsilon, unit))


def exact_ahp() -> AbstractContextManager[Any]:
    honest = baselines.ahp

    def planted(counts: Any, *rest: Any) -> Any:
        groups = baselines.groups
        with patch.object(
            baselines, "groups", lambda noisy, variance: groups(np.asarray(counts, dtype=float), variance)
        ):
            return honest(counts, *rest)

    return patch.object(baselines, "ahp", planted)


def one_change_fewer() -> AbstractContextManager[Any]:
    honest = losses.of_changes
    return everywhere(honest, lambda changes: honest(list(changes)[1:]))


def _single_counts(ways: Any, *_: object) -> Any:
    return [(known[:1], own[:1]) for known, own in ways]


def _best_way(found: Risk, *_: object) -> Risk:
    return replace(found, ways=(min(found.ways, key=lambda one: one.epsilon(1e-6)),))


COMPOSED_PLANS = together._composed
FILES, PLANS, PROMISES = "files", "plans", "promises"
ALL_NOISE = (LEVELS, TOP_DOWN, BUDGETS)

FAULTS = (
    Fault("noise 1.02 times too small", too_narrow(1 / 1.02), ALL_NOISE),
    Fault("noise a thousandth too small", too_narrow(0.999), ALL_NOISE),
    Fault("one level uncharged", method(ProtectedUnit, "exact_charge", _without_last), ALL_NOISE),
    Fault(
        "halved sensitivity",
        sensitivities(lambda found, *_: found / 2),
        (*ALL_NOISE, COMPOSED, EVENTS, BLACK_BOX),
    ),
    Fault("the whole budget on every level", method(ProtectedUnit, "exact_charge", _dearest), (*ALL_NOISE, EVENTS)),
    Fault("rounding to nearest", nearest, (*ALL_NOISE, THRESHOLDS, CONVERSIONS)),
    Fault("contributions forgotten", sensitivities(lambda found, unit, *_: found / unit.contributions), ALL_NOISE),
    Fault("unknown levels charged once", method(ProtectedUnit, "exact_charge", _once), ALL_NOISE),
    Fault("a protected root published exactly", changed(level_noise, _exact_root), (LEVELS,)),
    Fault("exact levels not refused", lambda: everywhere(level_noise, _exact_where_refused), (LEVELS,)),
    Fault("empty nodes without noise", method(LevelNoise, "release", _peeking), (LEVELS,)),
    Fault("post-processing sees the total", method(Pipeline, "release", _clipped_at_the_total), (LEVELS,)),
    Fault("whole-number noise as continuous", lambda: everywhere(GUARANTEE, _continuous), ALL_NOISE),
    Fault("stacked records as distinct ones", lambda: everywhere(SENSITIVITIES, _as_if_distinct), (TOP_DOWN,)),
    Fault(
        "one node is public beside leaves above it",
        lambda: patch.object(contributions.Capacities, "holds_all_in_one", property(lambda self: self.n_nodes == 1)),
        (TOP_DOWN,),
    ),
    Fault(
        "tables paid for as one fewer", changed(marginals.table_law, lambda law, *_: narrower(law, 0.8)), (TOP_DOWN,)
    ),
    Fault("MWEM chooses twice as sharply", changed(marginals.chances, lambda p, *_: p**2 / (p**2).sum()), (TOP_DOWN,)),
    Fault(
        "MWEM measures with less noise",
        lambda: patch.object(marginals, "level_law", lambda *given: narrower(calibration.level_law(*given), 0.8)),
        (TOP_DOWN,),
    ),
    Fault("unspent shares spent", lambda: everywhere(FROM_SHARES, _all_spent), (TOP_DOWN,)),
    Fault(
        "known columns count wherever they stand",
        changed(known_levels, lambda _, order, known: 1 + sum(column in known for column in order)),
        (TOP_DOWN,),
    ),
    Fault("size refused by the true total", lambda: everywhere(SPARSE_RELEASE, _refusing_by_the_truth), (TOP_DOWN,)),
    Fault("only children with records are visited", changed(sparse._joined, _with_records), (TOP_DOWN,)),
    Fault("a certificate reads where records are", changed(sparse._joined, _telling_where_records_are), (TOP_DOWN,)),
    Fault("local sums move by one column", method(LocalMatrix, "pair_sum", lambda _, x: x.column_sum()), (BUDGETS,)),
    Fault("sums of a p-identity as half as long", method(WholeMatrix, "column_sum", lambda x, *_: x // 2), (BUDGETS,)),
    Fault("a matrix that moves by less", changed(matrices.sensitivity, lambda x, *_: 0.98 * x), (BUDGETS,)),
    Fault(
        "a plan of a matrix that states shorter columns",
        changed(made._matrix, lambda found, *_: replace(found, column=found.column // 2, pair=found.pair // 2)),
        (BUDGETS,),
    ),
    Fault("a prior forgotten", forgotten_prior, (BUDGETS,)),
    Fault("reported values rounded up", changed(attribution.reports, _one_more), (BUDGETS,)),
    Fault("reported values for half of the sensitivity", changed(attribution.reports, _doubled), (BUDGETS,)),
    Fault(
        "smallest budget a trillionth too small",
        changed(finalize_split.admitted, lambda found, *_: (found[0] * (1 - 1e-12), *found[1:])),
        (BUDGETS,),
    ),
    Fault(
        "unknown columns of nodes charged once",
        changed(node_budgets._first_levels, lambda found, tree, *_: (found[0], tree.n_levels)),
        (BUDGETS,),
    ),
    Fault("bound 1.02 times too small", changed(bounds.truncated_bound, lambda r, *_: r / 1.02), (THRESHOLDS,)),
    Fault("whole bound one too small", changed(bounds.discrete_bound, lambda r, *_: max(0, r - 1)), (THRESHOLDS,)),
    Fault("test noise 1.02 times too small", changed(ROUND_NOISES, lambda x, *_: _faster(x, 1.02)), (THRESHOLDS,)),
    Fault("test noise for half the sensitivity", changed(ROUND_NOISES, lambda x, *_: _faster(x, 2)), (THRESHOLDS,)),
    Fault("a fraction as cut-off", changed(ROUND_NOISES, _for_a_fraction), (THRESHOLDS,)),
    Fault("clamp paid for one level too few", one_level_too_few, (THRESHOLDS,)),
    Fault("release pays a clamp of one level fewer", fewer_levels_told, (THRESHOLDS,)),
    Fault("clamp around the true count", lambda: everywhere(estimation.clamp, _around_the_truth), (THRESHOLDS,)),
    Fault("one draw for all nodes of a clamp", lambda: everywhere(estimation.clamp, _one_draw), (THRESHOLDS,)),
    Fault("root bound without noise", lambda: everywhere(estimation.root_bound, _unnoised_root), (THRESHOLDS,)),
    Fault("only the largest delta of the rounds", largest_delta_only, (THRESHOLDS,)),
    Fault("rounds together a fiftieth too quiet", quiet_rounds, (THRESHOLDS,)),
    Fault("of rounds together only one way", one_way_only, (THRESHOLDS,)),
    Fault("a plan of thresholds states narrower noise than is drawn", changed(rounds._round, _louder), (THRESHOLDS,)),
    Fault("a plan of thresholds states wider noise than is drawn", changed(rounds._round, _quieter), (THRESHOLDS,)),
    Fault("a plan of thresholds for one step less", changed(rounds._rounds, _fewer_steps), (THRESHOLDS,)),
    Fault(
        "a plan of thresholds that reads the total",
        method(ThresholdPlan, "release", lambda _, plan, counts, rng: _for_this_total(plan, counts, rng)),
        (THRESHOLDS,),
    ),
    Fault("thresholds that nobody checks", lambda: patch.object(verify, "problems", lambda _: ()), (THRESHOLDS,)),
    Fault("a replaced record as one step", lambda: everywhere(ONE_RECORD, _one_step), (THRESHOLDS,)),
    *(
        Fault(f"{convert.__name__} a billionth too good", changed(convert, lambda x, *_, f=by: x * f), (CONVERSIONS,))
        for convert, by in (
            (privacy.rho_to_epsilon, 1 - 1e-9),
            (privacy.rho_to_epsilon_gaussian, 1 - 1e-9),
            (privacy.epsilon_to_rho, 1 + 1e-9),
            (privacy.gaussian_sigma, 1 - 1e-9),
            (privacy.gaussian_delta, 1 - 1e-9),
            (privacy.rho_to_delta, 1 - 1e-9),
        )
    ),
    Fault("a split loss goes to the nearest point", changed(losses._gridded, _to_the_nearest), (NUMERICAL,)),
    Fault("a cut tail is dropped", changed(losses._of_one, _without_tails), (NUMERICAL,)),
    Fault("one level is left out of the sum", one_change_fewer, (NUMERICAL,)),
    Fault("a moved record as one count", changed(risk._ways, _single_counts), (NUMERICAL,)),
    Fault("the best way instead of the worst", changed(risk.risk_of_levels, _best_way), (NUMERICAL,)),
    Fault("composed epsilon rounded down", method(Losses, "epsilon", lambda x, *_: x * (1 - 1e-9)), (NUMERICAL,)),
    Fault("losses a millionth too small", changed(losses._of_one, _narrow_lattice), (NUMERICAL,)),
    Fault(
        "of several plans the last is left out",
        lambda: everywhere(COMPOSED_PLANS, lambda plans, delta: COMPOSED_PLANS(plans[:-1], delta)),
        (NUMERICAL,),
    ),
    Fault("a total 0.1 % too large", changed(accounting.largest_total, lambda x, *_: x * 1.001), (NUMERICAL,)),
    Fault("a value moves a sum by one step", changed(SUMS_UNIT, lambda x, *_: replace(x, contributions=1)), (SUMS,)),
    Fault("a value adds one step more than its clip", changed(SUMS_UNIT, _one_step_less), (SUMS,)),
    Fault("the sum of a public number of values is public", changed(SUMS_UNIT, _with_public_sum), (SUMS,)),
    Fault("a replaced value stays on its leaf", changed(SUMS_UNIT, _added_or_removed), (SUMS,)),
    Fault("a threshold one too low", changed(stability.stability, _lower), (STABILITY,)),
    Fault("half of the noise on what is told", changed(stability.stability, _half_the_noise), (STABILITY,)),
    Fault("empty nodes are told", told_of_nothing, (STABILITY,)),
    Fault("noise of a partition as DAWA's code ships it", method(Partition, "law", _as_if_one_length), (PARTITION,)),
    Fault("a moved record moves one interval of a length", method(Partition, "sensitivity", _one_side), (PARTITION,)),
    Fault(
        "deviations a hundredth too calm", method(Partition, "sensitivity", lambda x, *_: x * 99 / 100), (PARTITION,)
    ),
    Fault("buckets from exact deviations", calm_partition, (PARTITION,)),
    Fault("AHP counts its groups with all of epsilon", calm_ahp, (PARTITION,)),
    Fault("AHP groups bins by exact counts", exact_ahp, (PARTITION,)),
    Fault("draws 1.02 times too narrow", drawn_narrower(1.02), (SAMPLERS,)),
    Fault("the first proposal is kept", lambda: everywhere(integer_draws._reject, _first_proposal), (SAMPLERS,)),
    Fault("Laplace noise never negative", lambda: everywhere(noise._sign, lambda *_: None), (SAMPLERS,)),
    Fault("draws of 32 bits", method(noise.Gaussian, "sample", lambda x, *_: x.astype(np.float32)), (SAMPLERS,)),
    Fault("one threshold for all answers", lambda: everywhere(sparse_vector.sparse, _kept_threshold), (SAMPLERS,)),
    Fault("all chunks draw the same", one_chunk_again, (SAMPLERS,)),
    Fault("records without a category left out", lambda: everywhere(OTHER, lambda *a: OTHER(*a[:-1], 0)), (FILES,)),
    Fault("one row too many of each unit", one_row_more, (FILES,)),
    Fault("a plan that nobody checks", lambda: patch.object(verify, "problems", lambda _: ()), (PLANS,)),
    Fault("a plan for half of its noise", changed(made._scale, lambda x, *_: 2 * x), (PLANS,)),
    Fault("a plan that charges 2 % too little", changed(made.state, _charging_less), (PLANS,)),
    Fault("the spread is not said", unsaid_spread, (PROMISES,)),
    Fault("known levels are not said", lambda: patch.object(ProtectedUnit, "_known", "known"), (PROMISES,)),
    Fault("numbers shown to the nearest", changed(words.privacy_text, lambda _, x: f"{float(x):.4g}"), (PROMISES,)),
    Fault("a prior of another unit is taken", lambda: patch.object(Origin, "admit", lambda *_: None), (PROMISES,)),
    Fault("a simulation does not say so", unsaid_simulation, (PROMISES,)),
)
