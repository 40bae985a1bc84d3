"""Estimates with multiplicative error as a release: Ghazi et al., Theorem 4.1, on a `Tree` and for every relation.

This is no line in `MECHANISMS`: an entry there plans one noise law for each level, from which exact variances and the
expected error follow, while here the answers decide what is asked next, levels have no noise of their own and the
error has no variance to state. What it shares with them is its result, a `Release`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.estimation import (
    Estimation,
    Planner,
    checked_budget,
    clamp,
    clamp_noise,
    estimate,
    shares,
)
from treedp_core.mechanisms.thresholds.sparse_vector import NOISES, Noise
from treedp_core.privacy import Guarantee, Precision, ProtectedUnit, Provenance, Spread
from treedp_core.privacy.budget import refuse_small_part
from treedp_core.privacy.promise import Release
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree
from treedp_core.tree.path_tree import PathTree
from treedp_core.watch import Watch
from treedp_core.words import float_below

_SLACK: Final = 1e-12  # relative; far above the rounding of the few float operations of a share of delta


@dataclass(frozen=True, eq=False)
class ThresholdRelease:
    """A release with the run behind it.

    Parameters
    ----------
    release : Release
        Estimate (n_nodes,); its variance is None.
    estimation : Estimation
        The plan, the bound on the root and who was labelled when; its searches hold true counts and are private data.
    paths : PathTree
        Private data.
    epsilon, delta : float
        What the run spent at most, for one record added or removed.
    unclamped : (n_nodes,)
        What the clamp changed into the estimate, in records.
    reach : float or None
        R of the clamp, in records: no estimate is further than 2 R from its count. None without a clamp.
    """

    release: Release
    estimation: Estimation
    paths: PathTree
    epsilon: float
    delta: float
    unclamped: FloatArray
    reach: float | None = None


def release_with_thresholds(
    tree: Tree,
    counts: AnyArray,
    planner: Planner,
    unit: ProtectedUnit,
    epsilon: float,
    delta: float,
    *,
    rng: np.random.Generator,
    noise: Noise = "discrete",
    clamp_share: float = 0.0,
    max_total: float | None = None,
    watch: Watch | None = None,
    provenance: Provenance = Provenance.SIMULATION,
) -> ThresholdRelease:
    """Release of all counts with multiplicative error, (epsilon, delta)-private for the unit.

    Parameters
    ----------
    tree : Tree
        At least two levels.
    counts : (n_nodes,) integers
    planner : Planner
        For example ``partial(tuned_plan, alpha)``.
    unit : ProtectedUnit
        The mechanism is made for one record added or removed; for others it runs with `budget_for_one_record`. Where
        the total is public, it bounds the root at no cost and is the root's estimate.
    epsilon, delta : float
    noise : {"discrete", "continuous"}
    clamp_share : float
        Part of epsilon and delta for the clamp of Lemma 3.3, in [0, 1); 0 leaves it out. The paper takes 1/2.
    max_total : float, optional
        Bound on the root's count that everybody knows, in records: nothing is then spent on one. Never from the counts.
    watch : Watch, optional
        Asked before every round; the rounds count a hundred steps in all.
    provenance : Provenance
        What `rng` is; anything but a secure source of bits makes simulations.

    Raises
    ------
    Cancelled
        When `watch.cancelled()` says so.
    InputError
        LEVELS_RANGE, COUNT_RANGE, COUNTS_SHAPE, EPS_RANGE, DELTA_RANGE, DELTA_REQUIRED, VALUE_RANGE; and what the
        planner refuses.

    >>> from functools import partial
    >>> from treedp_core.mechanisms.thresholds import tuned_plan
    >>> from treedp_core.privacy import NeighbouringRelation
    >>> tree, unit = Tree.from_branching_factors((2,)), ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    >>> counts, rng = np.array([10_000, 9_990, 10]), np.random.default_rng(1)
    >>> run = release_with_thresholds(tree, counts, partial(tuned_plan, 0.5), unit, 1.0, 1e-6, rng=rng)
    >>> run.release.estimate.shape, run.release.guarantee.epsilon
    ((3,), 1.0)
    """
    if tree.n_levels < 2:
        raise InputError("LEVELS_RANGE", "A tree of one level is a single count: thresholds need at least two levels.")
    paths = PathTree.from_tree(tree, counts)
    assert paths.node_edge is not None
    promise = threshold_guarantee(unit, float(epsilon), float(delta), noise)
    return release_at_nodes(
        paths, paths.node_edge, tree.level_of, planner, promise, rng, clamp_share=clamp_share,
        max_total=max_total, watch=watch, provenance=provenance,
    )  # fmt: skip


def release_at_nodes(
    paths: PathTree,
    edge: IntArray,
    level: IntArray,
    planner: Planner,
    promise: Guarantee,
    rng: np.random.Generator,
    *,
    clamp_share: float = 0.0,
    max_total: float | None = None,
    watch: Watch | None = None,
    provenance: Provenance = Provenance.SIMULATION,
) -> ThresholdRelease:
    """Release of chosen nodes of a tree, of which only the paths with records need exist; see the function above.

    Parameters
    ----------
    paths : PathTree
        A single tree.
    edge, level : (n_nodes,)
        Each node at most once, as a second clamp of a node spends again; edge -1 for one without records.
    promise : Guarantee
        Of `threshold_guarantee`; its precision says which noise keeps it.
    max_total : float, optional
        As in `release_with_thresholds`.

    Raises
    ------
    Cancelled
    InputError
        As `release_with_thresholds`.
    """
    part = checks.number("clamp_share", clamp_share, low=0, high=1, open_high=True)
    unit = promise.unit
    noise: Noise = "discrete" if promise.precision is Precision.EXACT else "continuous"
    eps, d = budget_for_one_record(unit, promise.epsilon, promise.delta, paths.n_levels)
    rest = shares(eps, d, 1 - Fraction(part), 1 - Fraction(part))
    refuse_small_part("Labelling nodes for one record", rest[0], promise.epsilon)
    known = float(paths.total) if unit.total_is_public else None
    known = known if max_total is None else max_total
    run = estimate(paths, planner, *rest, rng, noise=noise, max_total=known, watch=watch)
    values, reach = run.values(edge, level), None
    if unit.total_is_public:
        values[level == 0] = paths.total
    unclamped = values
    if part:
        of_clamp, truth = shares(eps, d, part, part), np.where(edge < 0, 0, paths.weight[edge])
        values = clamp(values, truth, paths.n_levels, *of_clamp, rng, noise=noise)
        reach = clamp_noise(paths.n_levels, *of_clamp, noise).support
    return ThresholdRelease(Release(values, None, promise, provenance), run, paths, eps, d, unclamped, reach)


def threshold_guarantee(unit: ProtectedUnit, epsilon: float, delta: float, noise: Noise = "discrete") -> Guarantee:
    """Return the promise of thresholds, wherever the records of one unit lie."""
    precision = Precision.EXACT if checks.one_of("noise", noise, NOISES) == "discrete" else Precision.IDEAL
    return Guarantee(unit, epsilon, delta, precision=precision, spread=Spread.STACKED)


def budget_for_one_record(unit: ProtectedUnit, epsilon: float, delta: float, n_levels: int) -> tuple[float, float]:
    """(epsilon, delta) for one record added or removed that imply the given ones for the unit, rounded down.

    A unit of m records is m such steps away, or 2m where a record may leave one leaf for another: where records are
    replaced, or the last of `n_levels` levels is unknown (`ProtectedUnit.moved`). Where all levels are known, records
    appear or disappear only: m steps. Over k steps (epsilon', delta') grows to
    (k epsilon', delta' (e^(k epsilon') - 1) / (e^epsilon' - 1)) (Ghazi et al., Fact 2.2). For k = 2:
    epsilon' = epsilon / 2 and delta' = delta / (1 + e^(epsilon / 2)).

    >>> from treedp_core.privacy import NeighbouringRelation
    >>> unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    >>> [round(x, 9) for x in budget_for_one_record(unit, 2.0, 1e-3, 3)]
    [1.0, 0.000268941]
    """
    eps, d = checked_budget(epsilon, delta)
    steps = unit.contributions * unit.moved(n_levels - 1)
    if steps == 1:
        return eps, d
    one = float_below(Fraction(eps) / steps)
    # (e^one - 1) / (e^eps - 1) with e^eps taken out, so that nothing overflows
    share = math.exp(one - eps) * math.expm1(-one) / math.expm1(-eps)
    return one, d * share * (1.0 - _SLACK)
