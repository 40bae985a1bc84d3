"""A plan's numbers worked out again from the beginning, in exact arithmetic: what does not hold is said.

Nothing here comes from the code that makes plans, noise or budgets. Sensitivities follow from the relation, the cost of
a level from its scale (all as fractions), and the promise from the total (in decimals of 60 digits).
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final

from treedp_core.plans.composition import composed_delta
from treedp_core.plans.statement import NoiseLaw, PlannedLevel, Statement, SumsOfBins
from treedp_core.plans.thresholds.verify import added_up, problems_of_rounds, round_costs
from treedp_core.privacy.accounting import Accounting
from treedp_core.privacy.unit import NeighbouringRelation, Spread
from treedp_core.words import privacy_text, promise_text

DIGITS: Final = 60
NEGLIGIBLE: Final = Decimal("1e-30")
CLOSE: Final = 1e-9
FAR: Final = 40
MISSED: Final = 0.05
MOST_MIXED: Final = 6
"""Records of a unit up to which each mixture of moved, new and lost ones is composed; above, one that is worse."""

Moved = tuple[int, int]
"""How far one unit can move a level: in sum of absolute changes, and in sum of their squares."""


def problems(plan: Statement) -> tuple[str, ...]:
    """Return what does not hold in a plan, a sentence each; nothing where all does."""
    if plan.thresholds is not None:
        found = problems_of_rounds(plan, plan.thresholds)
        return tuple(itertools.chain(_of_shape(plan), _of_levels(plan), found))
    return tuple(itertools.chain(_of_shape(plan), _of_levels(plan), _of_total(plan), _of_noise(plan)))


def does_not_hold(found: tuple[str, ...]) -> str:
    """Return that a plan does not hold, by the problems found; nothing where there are none."""
    return f"This plan does not hold: {' '.join(found)}" if found else ""


def cost(plan: Statement) -> Fraction:
    """Return what the levels cost, from their scales alone: the most that a unit's coming, going or change can lose."""
    if plan.thresholds is not None:
        return plan.thresholds.steps * Fraction(plan.thresholds.epsilon)
    return sum(_worst(plan), Fraction(0))


def running_costs(plan: Statement) -> list[float]:
    """Return that cost added up level by level, and last with what the split was tuned on, if that cost anything.

    Of thresholds round by round: the sum may be above what all rounds lose together.
    """
    if plan.thresholds is not None:
        return added_up(round_costs(plan.thresholds))
    spent = [Fraction(plan.tuned.spent)] if plan.tuned is not None and plan.tuned.spent else []
    return [float(total) for total in itertools.accumulate([*_worst(plan), *spent])]


def _worst(plan: Statement) -> list[Fraction]:
    """What each level costs in the case that costs most in all."""
    every = [[_loss(plan, *pair) for pair in zip(plan.levels, case, strict=True)] for case in cases(plan)]
    return max(every, key=sum)


def cases(plan: Statement) -> list[list[Moved]]:
    """Return how far every level moves in each way that a unit can change, exactly.

    Records that lie on one leaf move it by m when they come or go, and two counts by m when they are replaced.
    """
    m, levels = plan.unit.contributions, plan.levels
    if plan.matrix is not None:
        return _of_sums(plan, plan.matrix)
    here = [(m, m * m)] * len(levels)
    both = [(2 * m, 2 * m * m)] * len(levels)
    match plan.unit.relation:
        case NeighbouringRelation.REPLACE_UNKNOWN:
            known = plan.unit.known_levels
            return [here, [(0, 0)] * min(known, len(levels)) + both[known:]]
        case NeighbouringRelation.ADD_OR_REMOVE_ONE if plan.spread is Spread.DISTINCT:
            return [[(min(m, one.leaves), _fullest(one, m)) for one in levels]]
        case NeighbouringRelation.ADD_OR_REMOVE_ONE:
            return [here]
    if plan.spread is Spread.DISTINCT:
        return [[_replaced(one, m, levels[0].leaves - one.leaves) for one in levels]]
    return [[(0, 0) if _holds_all(plan, one) else moved for one, moved in zip(levels, both, strict=True)]]


def _of_sums(plan: Statement, matrix: SumsOfBins) -> list[list[Moved]]:
    """A record that comes or goes moves the sums by its column, one that is replaced by the difference of two.

    In multiples of `_step`. The sum of n absolute values is at most the root of n times that of their squares.
    """
    m, alone = plan.unit.contributions, (0, 0)
    size = {
        NeighbouringRelation.ADD_OR_REMOVE_ONE: matrix.column,
        NeighbouringRelation.REPLACE_ONE: matrix.pair,
        NeighbouringRelation.REPLACE_UNKNOWN: max(matrix.column, matrix.pair),
    }[plan.unit.relation]
    if plan.law in (NoiseLaw.LAPLACE, NoiseLaw.DISCRETE_LAPLACE):
        return [[alone, (m * size, (m * size) ** 2)]]
    square = m * m * size
    return [[alone, (math.isqrt(matrix.rows * square - 1) + 1 if square else 0, square)]]


def _step(plan: Statement) -> int:
    """How many of the steps that whole numbers are in make one record: weights of a matrix may be smaller than one."""
    return 1 if plan.matrix is None else 2**plan.matrix.bits


def _holds_all(plan: Statement, level: PlannedLevel) -> bool:
    return level.nodes == 1 and level.leaves == plan.levels[0].leaves


def _fullest(level: PlannedLevel, m: int) -> int:
    """The largest sum of squares when m records take a leaf each: they fill the nodes with most leaves."""
    total, left = 0, m
    for leaves, nodes in sorted(level.capacities, reverse=True):
        filled = min(nodes, left // leaves)
        total, left = total + filled * leaves * leaves, left - filled * leaves
        if filled < nodes:
            return total + left * left
    return total


def _replaced(level: PlannedLevel, m: int, elsewhere: int) -> Moved:
    """M records on leaves of their own go to m others, of which as many as there are leaves may lie above the level.

    No node loses some and gets others. Of the losses and of the gains, nodes with most leaves are filled first; those
    before the last node of one side are full, and the other side goes on behind it.
    """
    every = (min(size, m) for size, n in sorted(level.capacities, reverse=True) for _ in range(min(n, 2 * m)))
    nodes = list(itertools.islice(every, 2 * m))  # more than 2 m records do not move
    behind = list(itertools.accumulate(nodes, initial=0))
    squares = list(itertools.accumulate((size * size for size in nodes), initial=0))
    leaves = sum(min(size, m) * n for size, n in level.capacities)
    found, most = {(0, 0)}, 2 * _fullest(level, m)
    sides = {(0, 0)}
    for i, size in enumerate(nodes):
        for one, other in sides:
            room = leaves - one - size
            last = min(size, m - one, room + elsewhere - one)
            more = min(m, one + last + elsewhere, room) - other
            if last >= 0 and more >= 0:
                end = behind[i + 1] + more
                k = bisect.bisect_right(behind, end) - 1
                square = squares[i] + last**2 + squares[k] - squares[i + 1] + (end - behind[k]) ** 2
                found.add((one + last + other + more, square))
        if (2 * m, most) in found:
            break
        both = ((one + size * up, other + size * (1 - up)) for one, other in sides for up in (0, 1))
        sides = {(one, other) for one, other in both if max(one, other) <= m}
    return max(moved for moved, _ in found), max(square for _, square in found)


def _loss(plan: Statement, level: PlannedLevel, moved: Moved) -> Fraction:
    """What a level with noise of its scale tells of such a change: L1 / b in epsilon, or L2^2 / (2 sigma^2) in rho."""
    if level.scale is None:
        return Fraction(0)
    scale = _step(plan) * Fraction(level.scale)
    return moved[0] / scale if plan.law in (NoiseLaw.LAPLACE, NoiseLaw.DISCRETE_LAPLACE) else moved[1] / (2 * scale**2)


# ---- the parts of a plan


def _of_shape(plan: Statement) -> Iterator[str]:
    levels, domain = plan.levels, plan.domain
    if plan.matrix is not None:
        yield from _of_columns(plan, plan.matrix)
        levels = levels[:1]
    if levels[0].nodes != 1:
        yield "Level 0 must be one node, the root."
    if plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN and plan.unit.known_levels > len(levels):
        yield "More levels are known than there are."
    if plan.spread is Spread.DISTINCT:
        if plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
            yield "Records on distinct leaves are for units that are added, removed or replaced."
        for i, one in enumerate(levels):
            nodes, leaves = sum(n for _, n in one.capacities), sum(c * n for c, n in one.capacities)
            if (nodes, leaves) != (one.nodes, one.leaves) or any(min(pair) < 1 for pair in one.capacities):
                yield f"The leaves below the nodes of level {i} do not add up to its nodes and leaves."
    for i, one in enumerate(levels):
        if not 0 < one.nodes <= max(one.leaves, 1) or one.leaves > levels[0].leaves:
            yield f"Level {i} has more nodes than leaves below them, or more leaves than the root."
    sizes = [math.prod(map(len, domain.categories[:i])) for i in range(len(domain.categories) + 1)]
    if domain.categories and domain.bins is None and sizes != [one.nodes for one in levels]:
        yield "The categories of the domain do not make up the nodes of the levels."
    listed = len(domain.leaves), sizes[-1] if domain.categories else 0, domain.bins.n if domain.bins else 0
    if any(found and found != levels[0].leaves for found in listed):
        yield "The domain does not list as many leaves as the tree has."


def _of_columns(plan: Statement, matrix: SumsOfBins) -> Iterator[str]:
    if plan.levels[1].nodes != matrix.rows or plan.levels[1].leaves != plan.levels[0].leaves:
        yield "The matrix has other sums than its level."
    if plan.spread is not Spread.STACKED:
        yield "Records on distinct leaves are for trees."
    apart = 2 if plan.law in (NoiseLaw.LAPLACE, NoiseLaw.DISCRETE_LAPLACE) else 4
    replaced = plan.unit.relation is not NeighbouringRelation.ADD_OR_REMOVE_ONE
    if (replaced and not matrix.pair) or matrix.pair > apart * matrix.column:
        yield "No two columns of the matrix are so far apart as it says, or none are apart at all."


def _of_levels(plan: Statement) -> Iterator[str]:
    every, step = cases(plan), _step(plan)
    most = [(max(one[0] for one in moves), max(one[1] for one in moves)) for moves in zip(*every, strict=True)]
    for i, (one, first) in enumerate(zip(plan.levels, every[0], strict=True)):
        if one.is_public and most[i] != (0, 0):
            yield f"Level {i} is published exactly, but one unit can change it."
        if step * Fraction(one.sensitivity_l1) < first[0] or (step * Fraction(one.sensitivity_l2)) ** 2 < first[1]:
            yield f"One unit can move level {i} further than its sensitivity says."
        spent = _loss(plan, one, first)
        if one.amount is not None and spent > Fraction(one.amount):
            yield (
                f"The noise of level {i} costs {plan.symbol} = {privacy_text(spent)}, more than the "
                f"{privacy_text(one.amount)} stated."
            )


def _of_total(plan: Statement) -> Iterator[str]:
    tuned = plan.tuned
    spent = Fraction(tuned.spent) if tuned is not None else Fraction(0)
    if tuned is not None and tuned.spent:
        same = tuned.unit is not None and (tuned.unit.relation, tuned.unit.contributions) == (
            plan.unit.relation, plan.unit.contributions,
        )  # fmt: skip
        known = tuned.unit is not None and tuned.unit.known_levels == plan.unit.known_levels
        if not same or (plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN and not known):
            yield "What the split was tuned on protects another unit, so that the costs do not add up."
        if tuned.currency is not plan.currency:
            yield "What the split was tuned on was paid in another currency, so that the costs do not add up."
    total = cost(plan) + spent
    if total > Fraction(plan.charged):
        told = privacy_text(total)
        stated = privacy_text(plan.charged)
        yield f"Levels and tuning cost {plan.symbol} = {told} together, more than the {stated} stated."
    if Fraction(plan.charged) > Fraction(plan.total):
        yield f"The cost of {plan.symbol} = {privacy_text(plan.charged)} is more than the total budget."
    if not _is_promised(plan, total, spent):
        yield (
            f"A cost of {plan.symbol} = {privacy_text(total)} does not keep the promise of "
            f"{promise_text(plan.epsilon, plan.delta)}."
        )


def _of_noise(plan: Statement) -> Iterator[str]:
    step = _step(plan)
    for i, one in enumerate(plan.levels):
        if one.scale is None:
            continue
        if one.deviation is None or one.deviation * step < _deviation(plan.law, one.scale * step) * (1 - CLOSE):
            yield f"The noise of level {i} has a larger standard deviation than stated."
        if one.margin is None or _outside(plan.law, one.scale * step, one.margin * step) > MISSED * (1 + 1e-3):
            yield f"The noise of level {i} exceeds the margin stated more often than once in twenty."


# ---- from the cost to the promise


def _is_promised(plan: Statement, total: Fraction, tuned: Fraction) -> bool:
    epsilon = Fraction(plan.epsilon)
    if plan.law in (NoiseLaw.LAPLACE, NoiseLaw.DISCRETE_LAPLACE):
        return total <= epsilon
    if total == 0:
        return True
    if not plan.delta:
        return False
    with localcontext() as context:
        context.prec = DIGITS
        rho = Decimal(total.numerator) / Decimal(total.denominator)
        loss, delta = Decimal(plan.epsilon), Decimal(plan.delta)
        if _log_delta(rho, loss) + NEGLIGIBLE <= delta.ln():
            return True
        if plan.law is NoiseLaw.GAUSSIAN:
            return not tuned and _normal_delta(rho, loss) <= delta * (1 + NEGLIGIBLE)
    return plan.accounting is Accounting.NUMERICAL and not tuned and _is_composed(plan)


def _is_composed(plan: Statement) -> bool:
    """Whether the noise of all levels, composed again, keeps the promise in each way that a unit can change."""
    if plan.spread is not Spread.STACKED:
        return False
    scales = [(i, one.scale) for i, one in enumerate(plan.levels) if one.scale is not None]
    return all(
        composed_delta([(scale, by) for i, scale in scales for by in case[i]], plan.epsilon) <= plan.delta * (1 + CLOSE)
        for case in _changes(plan)
    )


def _changes(plan: Statement) -> list[list[tuple[int, ...]]]:
    """How far single counts of every level move: where columns are known some records move, others come or go."""
    if plan.unit.relation is not NeighbouringRelation.REPLACE_UNKNOWN:
        return [[(square // far,) * (far * far // square) if square else () for far, square in one]
                for one in cases(plan)]  # fmt: skip
    m, found = plan.unit.contributions, []
    for new in range(m + 1) if m <= MOST_MIXED else ():
        for lost in range(min(new, m - new) + 1):
            known = [by for by in (new, lost) if by]
            own = [by for by in (m - lost, m - new) if by]
            found.append((tuple(known), tuple(own)))
    return [[known if i < plan.unit.known_levels else own for i in range(len(plan.levels))]
            for known, own in found or [((m,), (m, m))]]  # fmt: skip


def _log_delta(rho: Decimal, epsilon: Decimal) -> Decimal:
    """Logarithm of the bound of Canonne, Kamath and Steinke (2020), Corollary 13, at the best order a = 1 + u found.

    It holds at every order, so that an order next to the best one still proves the promise.
    """

    def bound(log_u: Decimal) -> Decimal:
        u = log_u.exp()
        return u * ((1 + u) * rho - epsilon) - log_u - (1 + u) * (1 + 1 / u).ln()

    low, high = Decimal(-60), Decimal(60)
    for _ in range(170):
        third = (high - low) / 3
        low, high = (low, high - third) if bound(low + third) < bound(high - third) else (low + third, high)
    return bound((low + high) / 2)


def _normal_delta(rho: Decimal, epsilon: Decimal) -> Decimal:
    """Delta of Gaussian noise, exactly (Balle and Wang, 2018, Theorem 8), rounded up where it is tiny."""
    shift = (2 * rho).sqrt()
    first, second = shift / 2 - epsilon / shift, -shift / 2 - epsilon / shift
    if first < -FAR:
        return Decimal("1e-300")
    return _normal_below(first) - (epsilon.exp() * _normal_below(second) if second > -FAR else 0)


def _normal_below(x: Decimal) -> Decimal:
    """P(Z <= x) of a standard normal Z: 1/2 plus the density times x (1 + x^2/3 + x^4/15 + ...)."""
    with localcontext() as context:
        context.prec = DIGITS + int(x * x / 2)
        pi = 4 * (4 * _arctan(Decimal(1) / 5) - _arctan(Decimal(1) / 239))
        term = total = x
        n = 1
        while abs(term) > abs(total) * Decimal(10) ** -context.prec:
            n += 2
            term = term * x * x / n
            total += term
        return Decimal("0.5") + (-x * x / 2).exp() / (2 * pi).sqrt() * total


def _arctan(x: Decimal) -> Decimal:
    """Arc tangent of 0 < x < 1 by its series; pi is 16 arctan(1/5) - 4 arctan(1/239) (Machin)."""
    total, power, n = Decimal(0), x, 1
    while abs(power) > Decimal(10) ** -(DIGITS * 20):
        total += power / n if n % 4 == 1 else -power / n
        power, n = power * x * x, n + 2
    return total


# ---- the noise of a level


def _deviation(law: NoiseLaw, scale: float) -> float:
    match law:
        case NoiseLaw.LAPLACE:
            return math.sqrt(2) * scale
        case NoiseLaw.GAUSSIAN:
            return scale
        case NoiseLaw.DISCRETE_LAPLACE:
            return 1 / (math.sqrt(2) * math.sinh(min(0.5 / scale, 350.0)))
    if scale > 6:
        return scale
    weights = {k: math.exp(-k * k / (2 * scale * scale)) for k in range(-120, 121)}
    return math.sqrt(sum(w * k * k for k, w in weights.items()) / sum(weights.values()))


def _outside(law: NoiseLaw, scale: float, margin: float) -> float:
    """P(|Z| > margin)."""
    over = math.floor(margin) + 1
    match law:
        case NoiseLaw.LAPLACE:
            return math.exp(-margin / scale)
        case NoiseLaw.GAUSSIAN:
            return math.erfc(margin / scale / math.sqrt(2))
        case NoiseLaw.DISCRETE_LAPLACE:
            return 2 * math.exp(-over / scale) / (1 + math.exp(-1 / scale))
    if scale > 100:
        return math.erfc((over - 0.5) / scale / math.sqrt(2))
    weights = [math.exp(-k * k / (2 * scale * scale)) for k in range(4001)]
    return 2 * sum(weights[over:]) / (2 * sum(weights) - 1)
