"""The whole mechanism of Ghazi et al., Theorem 4.1: a private bound on the root, a plan for it, its rounds, a clamp.

Data without records, or with fewer than the smallest threshold, are not refused, as a refusal would tell: every node
then gets the plan's default value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.answers import Draw
from treedp_core.mechanisms.thresholds.plan_types import Plan
from treedp_core.mechanisms.thresholds.plans import split_with_root
from treedp_core.mechanisms.thresholds.reduction import Labels, label_nodes
from treedp_core.mechanisms.thresholds.schedule import check_delta
from treedp_core.mechanisms.thresholds.sparse_vector import NOISES, Noise
from treedp_core.noise.laws import TruncatedLaplace
from treedp_core.noise.truncated_laplace import DiscreteTruncatedLaplace, discrete_bound, truncated_bound
from treedp_core.privacy.rounding import quotient_above, quotient_below
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.tree.path_tree import PathTree
from treedp_core.watch import Watch
from treedp_core.words import float_below

Planner = Callable[[float, float, int, float], Plan]
"""(epsilon, delta, n_levels, max_total) -> Plan; for example ``partial(tuned_plan, alpha)``."""


@dataclass(frozen=True, eq=False)
class Estimation:
    """One run: what was labelled by which plan.

    Parameters
    ----------
    plan : Plan
    labels : Labels
    max_total : float
        Bound on the root's count that the plan was made for, in records.
    spent_epsilon, spent_delta : Fraction
        Of the root bound and the plan, for one record added or removed.
    """

    plan: Plan
    labels: Labels
    max_total: float
    spent_epsilon: Fraction
    spent_delta: Fraction

    def values(self, edge: IntArray, level: IntArray) -> FloatArray:
        """Released value, in records, of each node given by edge and level (edge -1: no records), shape of `edge`."""
        return self.labels.estimate(self.plan, edge, level)


def estimate(
    paths: PathTree,
    planner: Planner,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    noise: Noise = "discrete",
    max_total: float | None = None,
    watch: Watch | None = None,
) -> Estimation:
    """Run Ghazi et al., Algorithm 4 with any plan; (epsilon, delta)-private for one record added or removed.

    Parameters
    ----------
    paths : PathTree
        A single tree.
    planner : Planner
        Makes the plan once the bound on the root is known; it sees nothing private.
    epsilon, delta : float
        For everything; `split_with_root` divides it between the bound on the root and the plan.
    noise : {"discrete", "continuous"}
    max_total : float, optional
        Public bound on the root's count, in records: nothing is then spent on a private one. Counts beyond it keep
        their privacy and lose accuracy.
    watch : Watch, optional
        Asked before every round; the rounds count a hundred steps in all.

    Raises
    ------
    Cancelled
        When `watch.cancelled()` says so.
    InputError
        EPS_RANGE, DELTA_RANGE, DELTA_REQUIRED, PLAN_BUDGET; and what the planner refuses.
    """
    eps, d = checked_budget(epsilon, delta)
    spent_epsilon, spent_delta = Fraction(0), Fraction(0)
    for_plan = eps, d
    if max_total is None:
        for_plan, root = split_with_root(eps, d)
        spent_epsilon, spent_delta = Fraction(root[0]), Fraction(root[1])
        max_total = root_bound(paths.total, *root, rng, noise)
    plan = planner(for_plan[0], for_plan[1], paths.n_levels, max(1.0, max_total))
    spent_epsilon, spent_delta = spent_epsilon + Fraction(plan.epsilon), spent_delta + Fraction(plan.delta)
    if spent_epsilon > Fraction(eps) or spent_delta > Fraction(d):
        raise InputError("PLAN_BUDGET", "The plan costs more than it was given; use a planner that keeps its budget.")
    labels = label_nodes(paths, plan, Draw(rng, noise), watch=watch)
    return Estimation(plan, labels, max_total, spent_epsilon, spent_delta)


def root_bound(count: int, epsilon: float, delta: float, rng: np.random.Generator, noise: Noise = "discrete") -> float:
    """Private upper bound on the root's count, count + Z + R with |Z| <= R: never below it (Algorithm 4, line 2).

    >>> root_bound(100, 0.1, 1e-6, np.random.default_rng(1)) >= 100
    True
    """
    law = bounded_noise(epsilon, delta, noise)
    return float(count + law.sample(rng, 1)[0] + law.support)


def clamp(
    estimate: FloatArray,
    counts: AnyArray,
    n_levels: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    *,
    noise: Noise = "discrete",
) -> FloatArray:
    """Estimates moved into [y - R, y + R] around bounded-noise counts y (Ghazi et al., Lemma 3.3), (..., n_nodes).

    Every count lies in its interval, so no estimate moves away from it, and none stays further than 2R off.

    Parameters
    ----------
    estimate : (..., n_nodes)
    counts : (n_nodes,)
        Each node at most once: a second clamp of a node spends again.
    n_levels : int
        Levels of the whole tree: each costs epsilon / n_levels and delta / n_levels.
    epsilon, delta : float
        Budget of the clamp, for one record added or removed.

    Raises
    ------
    InputError
        EPS_RANGE, DELTA_RANGE or DELTA_REQUIRED.
    """
    law = clamp_noise(n_levels, epsilon, delta, noise)
    noisy = counts + law.sample(rng, np.shape(estimate))
    return np.clip(estimate, noisy - law.support, noisy + law.support)


def clamp_noise(
    n_levels: int, epsilon: float, delta: float, noise: Noise = "discrete"
) -> TruncatedLaplace | DiscreteTruncatedLaplace:
    """Noise of each count's measurement in a clamp that costs (epsilon, delta) over all levels; its support is R.

    >>> clamp_noise(5, 0.5, 5e-7).support  # (0.1, 1e-7) for each level
    132.0
    """
    eps, d = checked_budget(epsilon, delta)
    levels = checks.integer("the number of levels", n_levels, low=1, high=10**15)
    return bounded_noise(quotient_below(eps, levels), quotient_below(d, levels), noise)


def bounded_noise(epsilon: float, delta: float, noise: Noise) -> TruncatedLaplace | DiscreteTruncatedLaplace:
    """Narrowest bounded Laplace noise that makes a count (epsilon, delta)-private, rounded towards more noise."""
    checks.one_of("noise", noise, NOISES)
    if noise == "discrete":
        return DiscreteTruncatedLaplace(epsilon, discrete_bound(epsilon, delta))
    return TruncatedLaplace(quotient_above(1, epsilon), truncated_bound(epsilon, delta))


def shares(
    epsilon: float, delta: float, of_epsilon: Fraction | float, of_delta: Fraction | float
) -> tuple[float, float]:
    """Parts of a budget, rounded down."""
    return float_below(Fraction(epsilon) * Fraction(of_epsilon)), float_below(Fraction(delta) * Fraction(of_delta))


def checked_budget(epsilon: float, delta: float) -> tuple[float, float]:
    """Check an (epsilon, delta) with delta > 0."""
    return checks.epsilon(epsilon), check_delta(delta)
