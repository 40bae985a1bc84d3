"""Release plans: what their stated scales really lose, listed neighbour by neighbour, against what they promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from treedp_core.experiment import Experiment, prepare
from treedp_core.mechanisms import MECHANISMS
from treedp_core.plans import ReleasePlan
from treedp_core.privacy import Currency, ProtectedUnit
from treedp_core.records import Dataset, DomainSource, ReadReport
from treedp_core.records.dataset import labels_of

from . import losses
from .decimals import concentrated_delta, gaussian_delta_of_rho
from .neighbours import Small, data_sets, everyone, list_pairs, random_tree
from .report import Report

DELTA = 1e-6
UNITS = 4
"""Of those who may be protected on a tree, how many are asked for."""
ROUNDING = Fraction(1, 2**51)


def audit(report: Report, rng: np.random.Generator, n: int) -> None:
    """Add up the plans of n trees for everyone, by the neighbours that there are."""
    for _ in range(n):
        small = random_tree(rng, int(rng.integers(2, 9)))
        if len(small.leaves) > 5:
            continue
        most = 3 if len(small.leaves) < 5 else 2
        data = list(data_sets(small, rng, most))
        units = list(everyone(small, range(1, most + 1)))
        for who in (units[i] for i in rng.choice(len(units), size=min(UNITS, len(units)), replace=False)):
            pairs = list_pairs(small, who, data)
            report.pairs += pairs.n
            for mechanism in MECHANISMS:
                epsilon = float(np.exp(rng.uniform(-4, 3)))
                one = Experiment(mechanism, epsilon=epsilon, delta=DELTA, accounting="formula", **who.settings)  # type: ignore[arg-type]
                plan = ReleasePlan.of(one, data_on(small))
                what = f"plan of {mechanism} for {who}"
                spent = lost(plan, pairs.by_level())
                report.spent(what, spent, plan.charged, pairs.n)
                report.holds(plan.verify() == (), f"{what}: {plan.verify()}")
                report.holds(Fraction(plan.charged) <= Fraction(plan.total), f"{what}: charges more than its total")
                promised(report, what, plan, spent)
                states_its_noise(report, what, plan, prepare(one, small.tree).noise.laws)
                for spoilt in narrower(plan), for_more(plan):
                    moves = pairs.by_level() if spoilt.unit == plan.unit else None
                    if spent if moves is None else lost(spoilt, moves) > Fraction(plan.charged):
                        report.holds(spoilt.verify() != (), f"{what}: finds nothing wrong with {spoilt!r}")


def data_on(small: Small) -> Dataset:
    """One record on every leaf of a small tree."""
    tree = small.tree
    sizes = tree.level_sizes[1:].tolist()
    codes = [np.arange(size, dtype=np.int32) for size in sizes]
    words = [[f"n{level}.{i}" for i in range(size)] for level, size in enumerate(sizes)]
    labels = labels_of(tree, codes, words, [f"level {i}" for i in range(len(sizes))])
    counts = tree.counts_of_leaves(np.ones(tree.n_leaves, dtype=np.int64))
    return Dataset("small", tree, labels, counts, DomainSource.PUBLIC, ReadReport(1, 1))


def prices(plan: ReleasePlan) -> list[Fraction | None]:
    """What one step of a count costs on each level, from its stated scale; None where there is none."""
    scales = [None if one.scale is None else Fraction(one.scale) for one in plan.levels]
    if plan.currency is Currency.EPSILON:
        return [None if scale is None else 1 / scale for scale in scales]
    return [None if scale is None else 1 / (2 * scale**2) for scale in scales]


def lost(plan: ReleasePlan, moved: tuple[np.ndarray, np.ndarray]) -> Fraction:
    """What the worst neighbour tells of itself through the stated scales; what has none is published as it is."""
    power = 1 if plan.currency is Currency.EPSILON else 2
    losses.refuse_exact([one.is_public for one in plan.levels], moved[0])
    paid = [(i, price) for i, price in enumerate(prices(plan)) if price is not None]
    return (
        losses.largest([price for _, price in paid], moved[power - 1][:, [i for i, _ in paid]]) if paid else Fraction(0)
    )


def promised(report: Report, what: str, plan: ReleasePlan, spent: Fraction) -> None:
    """Hold the (ε, δ) of the statement against the loss."""
    if plan.currency is Currency.EPSILON:
        report.holds(spent <= Fraction(plan.epsilon), f"{what}: loses more than its ε")
    elif spent:
        exact = gaussian_delta_of_rho if plan.law.value == "gaussian" else concentrated_delta
        report.holds(exact(spent, plan.epsilon) <= plan.delta, f"{what}: its δ is more than stated")


def states_its_noise(report: Report, what: str, plan: ReleasePlan, laws: Sequence[object | None]) -> None:
    """Hold the stated scales against the noise that is drawn: of whole numbers to a rounding upwards."""
    for i, (stated, law) in enumerate(zip(prices(plan), laws, strict=True)):
        drawn = None if law is None else losses.price(law)[1]
        if stated is None or drawn is None:
            report.holds(stated is drawn, f"{what}: level {i} is stated to be exact, or is exact")
        else:
            report.holds(0 <= drawn - stated <= drawn * ROUNDING, f"{what}: level {i} states other noise than is drawn")


def narrower(plan: ReleasePlan) -> ReleasePlan:
    """The same plan with 2 % less noise on its last level, unsaid."""
    *rest, last = plan.levels
    return replace(plan, levels=(*rest, last if last.scale is None else replace(last, scale=0.98 * last.scale)))


def for_more(plan: ReleasePlan) -> ReleasePlan:
    """The same plan for a unit of one record more."""
    unit = plan.unit
    return replace(plan, unit=ProtectedUnit(unit.relation, unit.contributions + 1, unit.known_levels))
