"""Thresholds worked out again from what a plan states of them: its noise, the relation and nothing else.

Nothing here comes from the code that makes thresholds, composes losses or divides budgets. Why a round loses no more
than is taken here: one record lies in one of the trees that a round tests, and there below one node of each level. One
more record moves queries up by 1 or not at all, so that the one-sided test says what it says with a probability that
falls by at most e^-(a+b) and grows by at most e^b (`sparse_vector` has the proof). Then the node's own count moves by 1
against noise on -R, ..., R: a loss of t either way, but for the mass of one end. Rounds are asked one after another, on
what the answers before left, so that these losses add up whatever the data are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.plans.statement import Statement
from treedp_core.plans.thresholds.statement import PlannedRound, Thresholds
from treedp_core.privacy.unit import NeighbouringRelation, Spread
from treedp_core.words import privacy_text, promise_text

FloatArray = NDArray[np.float64]

DIGITS: Final = 60
CELLS: Final = 1 << 13
"""Of a grid of losses, below the epsilon of one record."""
MOST_LOUDER: Final = 16
"""Times epsilon that rounds may cost in sum; more is not composed."""
MOST_GROUP: Final = 300
"""Epsilon of a unit from which on a group's delta is not worked out: nothing is promised there."""
BELOW: Final = 1 - 1e-12
"""More than what floats round when losses are added."""
UP: Final = 1 + 1e-9
"""More than what floats round when masses are added and multiplied."""


def problems_of_rounds(plan: Statement, thresholds: Thresholds) -> Iterator[str]:
    """Yield what does not hold of a plan's thresholds, a sentence each."""
    yield from _of_levels(plan)
    yield from _of_one_record(thresholds)
    yield from _of_unit(plan, thresholds)
    for i, one in enumerate(thresholds.rounds, 1):
        if one.passes_above < one.pass_bound:
            yield f"An empty node could pass in round {i}."
    if thresholds.error < thresholds.default_value:
        yield "The error stated is below that of an empty node."


def round_costs(thresholds: Thresholds) -> list[Fraction]:
    """Return what each round costs one unit, added up over the records of its own: in sum more than all together."""
    return [thresholds.steps * _loss(one) for one in thresholds.rounds]


def _loss(one: PlannedRound) -> Fraction:
    return Fraction(one.threshold_rate) + Fraction(one.query_rate) + Fraction(one.pass_rate)


def _of_levels(plan: Statement) -> Iterator[str]:
    if plan.spread is not Spread.STACKED:
        yield "Thresholds are for records that may lie on one leaf."
    if len(plan.levels) < 2:
        yield "Thresholds need a tree of at least two levels."
    if any(one.scale is not None for one in plan.levels):
        yield "A level has noise of its own beside the thresholds."
    if plan.postprocess:
        yield "Post-processing has no variance to weigh behind thresholds."


def _of_one_record(thresholds: Thresholds) -> Iterator[str]:
    """The noise of all rounds against what one record is promised."""
    rest = sum((_end(one) for one in thresholds.rounds), Decimal(0)) + Decimal(_beyond(thresholds))
    if rest > Decimal(thresholds.delta):
        yield (
            f"The rounds lose more than ε = {privacy_text(thresholds.epsilon)} of one record with δ = "
            f"{privacy_text(float(min(rest, Decimal(1))))}, more than the {privacy_text(thresholds.delta)} stated."
        )


def _end(one: PlannedRound) -> Decimal:
    """Mass of one end of a node's noise, which one record more or less leaves uncovered."""
    with localcontext() as context:
        context.prec = DIGITS
        q, bound = (-Decimal(one.pass_rate)).exp(), one.pass_bound
        end = (-Decimal(one.pass_rate) * bound).exp()
        return end * (1 - q) / (1 + q - 2 * end * q)


def _beyond(thresholds: Thresholds) -> float:
    """Delta above epsilon of all losses that are no end, rounded up; 1 where they are too many to be composed."""
    rounds, epsilon = thresholds.rounds, thresholds.epsilon
    total = sum((_loss(one) for one in rounds), Fraction(0))
    if total <= Fraction(epsilon):
        return 0.0
    if total > MOST_LOUDER * Fraction(epsilon):
        return 1.0
    more = [(one.threshold_rate + one.query_rate, one.query_rate) for one in rounds]
    less = [(low, high) for high, low in more]
    passes = [(one.pass_rate, one.pass_rate) for one in rounds]
    return max(_composed(way + passes, epsilon) for way in (more, less))


def _composed(bounds: list[tuple[float, float]], epsilon: float) -> float:
    """Return delta at epsilon of independent losses, each -low or high: the worst of all laws between these bounds.

    A loss between two points of the grid goes to both, so that its mass with and without the record stays: that never
    lowers a delta.
    """
    step = epsilon / CELLS
    first, mass = 0, np.ones(1)
    for high, low in bounds:
        chance = math.expm1(low) / (math.expm1(low) - math.expm1(-high))
        found: dict[int, float] = {}
        for loss, p in ((high, chance), (-low, 1 - chance)):
            below = math.floor(loss / step)
            up = math.expm1(step * below - loss) / math.expm1(-step)
            found[below] = found.get(below, 0.0) + p * (1 - up)
            found[below + 1] = found.get(below + 1, 0.0) + p * up
        start = min(found)
        part = np.zeros(max(found) - start + 1)
        part[[at - start for at in found]] = list(found.values())
        first, mass = first + start, _sum(mass, part)
    losses = step * np.arange(first, first + mass.size)
    over = losses > epsilon * BELOW
    return float((mass[over] * -np.expm1(epsilon * BELOW - losses[over])).sum()) * UP


def _sum(mass: FloatArray, part: FloatArray) -> FloatArray:
    """Return the masses of a sum of two losses; few of `part` are not 0."""
    more = np.zeros(mass.size + part.size - 1)
    for at in np.flatnonzero(part).tolist():
        more[at : at + mass.size] += part[at] * mass
    return more


def _of_unit(plan: Statement, thresholds: Thresholds) -> Iterator[str]:
    """From one record to the unit: k of them, one after the other (Ghazi et al., Fact 2.2)."""
    steps, one = thresholds.steps, Fraction(thresholds.epsilon)
    if steps < _steps(plan):
        yield f"One unit can differ by {_steps(plan)} records, each added or removed, not by {steps}."
    if plan.tuned is not None and plan.tuned.spent:
        yield "Thresholds have no split that anything paid for could be tuned on."
    if steps * one > Fraction(plan.charged):
        yield f"The rounds cost ε = {privacy_text(steps * one)}, more than the {privacy_text(plan.charged)} stated."
    if Fraction(plan.charged) > Fraction(plan.total):
        yield f"The cost of ε = {privacy_text(plan.charged)} is more than the total budget."
    if not _is_promised(plan, thresholds):
        yield (
            f"Rounds that promise {promise_text(thresholds.epsilon, thresholds.delta)} to one record do not keep the "
            f"promise of {promise_text(plan.epsilon, plan.delta)}."
        )


def _steps(plan: Statement) -> int:
    """A replaced record is one removed and one added; so is one whose unknown columns change."""
    unit = plan.unit
    moves = unit.relation is NeighbouringRelation.REPLACE_ONE or (
        unit.relation is NeighbouringRelation.REPLACE_UNKNOWN and unit.known_levels < len(plan.levels)
    )
    return unit.contributions * (2 if moves else 1)


def _is_promised(plan: Statement, thresholds: Thresholds) -> bool:
    """Whether k epsilon' <= epsilon and delta' (1 + e^epsilon' + ... + e^((k - 1) epsilon')) <= delta."""
    steps = max(thresholds.steps, _steps(plan))
    together = steps * Fraction(thresholds.epsilon)
    if together > Fraction(plan.epsilon) or together > MOST_GROUP:
        return False
    if steps == 1:
        return thresholds.delta <= plan.delta
    with localcontext() as context:
        context.prec = DIGITS
        one = Decimal(thresholds.epsilon)
        group = ((steps * one).exp() - 1) / (one.exp() - 1)
        return Decimal(thresholds.delta) * group <= Decimal(plan.delta)


def added_up(costs: list[Fraction]) -> list[float]:
    """Return costs added up one by one."""
    return [float(total) for total in itertools.accumulate(costs)]
