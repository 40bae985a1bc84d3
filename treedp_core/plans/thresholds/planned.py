"""What a plan states of a release by thresholds: the noise that is drawn, in whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from treedp_core.checks import InputError
from treedp_core.mechanisms import THRESHOLDS
from treedp_core.mechanisms.thresholds.plan_types import PlanLevel
from treedp_core.mechanisms.thresholds.public_bound import ThresholdPlan
from treedp_core.mechanisms.thresholds.release import budget_for_one_record
from treedp_core.mechanisms.thresholds.sparse_vector import pass_noise, round_noises
from treedp_core.noise.truncated_laplace import DiscreteTruncatedLaplace
from treedp_core.plans.planned_noise import bound_of, recipe_of
from treedp_core.plans.public_domain import Data, domain_of
from treedp_core.plans.statement import COUNTS, NoiseLaw, PlannedLevel, Statement
from treedp_core.plans.thresholds.statement import MOST_ROUNDS, PlannedRound, Thresholds
from treedp_core.privacy import Spread, delta_warning
from treedp_core.privacy.spread import capacities_of_tree, level_sensitivities
from treedp_core.records import Dataset
from treedp_core.words import float_above


def state_of_rounds(made: ThresholdPlan, data: Data) -> Statement:
    """Return what the plan of a release by thresholds states: its noise is on answers to questions, round by round.

    Raises
    ------
    InputError
        ``PLAN_DATA`` for another tree than that of the data set; ``PLAN_ROUNDS`` for more rounds than a plan states.
    """
    if not isinstance(data, Dataset) or not np.array_equal(data.tree.parent, made.tree.parent):
        raise InputError("PLAN_DATA", "Expected the data set whose tree is released.")
    promise, recipe = made.guarantee, recipe_of(data)
    unit, rounds = promise.unit, _rounds(made)
    return Statement(
        title=data.name,
        credit=data.credit,
        whom="",
        released=COUNTS,
        unit=unit,
        spread=Spread.STACKED,
        bounded=bound_of(data, unit),
        weighted=recipe.weight != "" or data.report.largest > 1,
        recipe=recipe,
        read_by=data.read_by,
        domain=domain_of(data, data, ()),
        law=NoiseLaw(THRESHOLDS.name),
        levels=_levels(made, data.labels.level_names),
        postprocess=(),
        tuned=None,
        total=made.epsilon,
        charged=float_above(rounds.steps * Fraction(rounds.epsilon)),
        epsilon=promise.epsilon,
        delta=promise.delta,
        delta_fits=not delta_warning(promise.delta, data.total) if unit.total_is_public else None,
        thresholds=rounds,
    )


def _rounds(made: ThresholdPlan) -> Thresholds:
    plan, promise = made.rounds, made.guarantee
    unit, levels = promise.unit, made.tree.n_levels
    epsilon, delta = budget_for_one_record(unit, promise.epsilon, promise.delta, levels)
    if len(plan.levels) > MOST_ROUNDS:
        raise InputError(
            "PLAN_ROUNDS",
            f"This α needs more than {MOST_ROUNDS} rounds, which is all that a plan states; take a larger one.",
        )
    assert plan.error is not None
    return Thresholds(
        rule=plan.name,
        alpha=plan.alpha,
        bound=made.bound,
        rounds=tuple(map(_round, plan.levels)),
        default_value=plan.default_value,
        error=float_above(Fraction(plan.error) + 1 - Fraction(plan.alpha)),  # see `pass_noise`: of whole numbers
        steps=unit.contributions * unit.moved(levels - 1),
        epsilon=epsilon,
        delta=delta,
    )


def _round(level: PlanLevel) -> PlannedRound:
    assert level.cut_off == 1 and level.test_law == "exponential"
    (threshold, query), passing = round_noises(level, "discrete"), pass_noise(level, "discrete")
    assert isinstance(passing.law, DiscreteTruncatedLaplace)
    return PlannedRound(
        threshold=level.classification_threshold,
        passes_above=passing.exceed,
        value=level.value,
        threshold_rate=threshold.rate,
        query_rate=query.rate,
        pass_rate=passing.law.inverse_scale,
        pass_bound=passing.law.bound,
    )


def _levels(made: ThresholdPlan, names: tuple[str, ...]) -> tuple[PlannedLevel, ...]:
    """The tree's levels: none has noise of its own, and the root is public where the total is."""
    unit, capacities = made.guarantee.unit, capacities_of_tree(made.tree)
    l1, l2 = level_sensitivities(unit, capacities, Spread.STACKED)
    found = []
    for i, (name, one) in enumerate(zip(names, capacities, strict=True)):
        public = i == 0 and unit.total_is_public
        none = 0.0 if public else None
        found.append(PlannedLevel(
            name=name, nodes=one.n_nodes, leaves=one.n_leaves, sensitivity_l1=float(l1[i]),
            sensitivity_l2=float(l2[i]), amount=None if public else 0.0, scale=None, deviation=none, margin=none,
            error=none,
        ))  # fmt: skip
    return tuple(found)
