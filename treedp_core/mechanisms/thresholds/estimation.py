"""The whole mechanism of Ghazi et al., Theorem 4.1: a private bound on the root, a plan for it, its rounds, a clamp.

Data without records, or with fewer than the smallest threshold, are not refused, as a refusal would tell: every node
then gets the plan's default value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.plan_types import Plan, PlanLevel
from treedp_core.mechanisms.thresholds.plans import split_with_root
from treedp_core.mechanisms.thresholds.reduction import Labels, label_nodes
from treedp_core.mechanisms.thresholds.schedule import check_alpha, check_delta
from treedp_core.mechanisms.thresholds.sparse_vector import NOISES, Answers, BoolArray, Draw, Noise
from treedp_core.noise.laws import TruncatedLaplace
from treedp_core.noise.truncated_laplace import DiscreteTruncatedLaplace, discrete_bound, truncated_bound
from treedp_core.privacy.rounding import quotient_above, quotient_below
from treedp_core.tree import AnyArray, FloatArray, IntArray
from treedp_core.tree.path_tree import PathTree
from treedp_core.watch import Watch
from treedp_core.words import exact, float_below, short

# The classification of Ghazi et al. (Problem 4.2, Algorithm 1): which nodes are heavier than a threshold.


def cut_off(max_total: float, alpha: float, classification_threshold: float) -> int:
    """Most positive answers a tree needs, c = floor(M / ((1 - alpha) tau)), at least 1.

    Ghazi et al. print c = M / ((1 - alpha) tau), a fraction. Their test admits answers "while t < c", that is ceil(c),
    with noise for c, and so loses ceil(c)/c times its budget. Rounding down is enough: if c answers were used up and a
    node of at least (1 + alpha) tau were missed, the root would weigh more than (c + 1)(tau - Delta) > M.

    >>> cut_off(130.0, 0.0, 100.0)
    1
    """
    return max(1, math.floor(max_total / ((1.0 - alpha) * classification_threshold)))


def classification_level(
    max_total: float,
    eta: float,
    alpha: float,
    classification_threshold: float,
    epsilon: float,
    delta: float,
    *,
    n_levels: int,
    c: int | None = None,
) -> PlanLevel:
    """Round of a plan that is Ghazi et al., Algorithm 1 with a whole-number cut-off.

    Half of epsilon is for the sparse vector test (standard Laplace form, half of that for the threshold), half for the
    pass rounds: Delta = (16 c / epsilon) ln(2 d / eta), R the tight bound for (epsilon / 2c, delta / c), and a node
    passes where its noisy count exceeds tau - Delta - R.

    Parameters
    ----------
    max_total : float
        M, upper bound on the root's count, in records; it is also the round's value.
    eta : float
        Probability in (0, 1) that some node of a tree is misclassified.
    alpha : float
        In (0, 1): nodes of at least (1 + alpha) tau must be labelled, those below (1 - alpha) tau must not.
    c : int, optional
        Another cut-off than `cut_off` gives.

    Raises
    ------
    InputError
        ALPHA_RANGE, ETA_RANGE, THRESHOLD_RANGE, PLAN_LEVEL; the last also when tau is too small for its noise.

    >>> classification_level(3000.0, 1e-9, 0.4, 1700.0, 9.0, 1e-3, n_levels=4).cut_off
    2
    """
    check_alpha(alpha)
    checks.number("eta", eta, low=0, high=1, open_low=True, open_high=True, code="ETA_RANGE")
    tau = checks.number(
        "the classification threshold", classification_threshold, low=0, open_low=True, code="THRESHOLD_RANGE"
    )
    d = check_delta(delta)
    most = cut_off(max_total, alpha, tau) if c is None else c
    quarter, half = checks.epsilon(epsilon) / 4.0, epsilon / 2.0
    bound = truncated_bound(quotient_below(half, most), quotient_below(d, most))
    slack = 16.0 * most / epsilon * math.log(2.0 * n_levels / eta)
    passing = tau - slack - bound
    if passing < bound:
        least = short(slack + 2.0 * bound, 6)
        message = f"A threshold of {exact(tau)} is too small for its noise; it must be at least {least}."
        raise InputError("THRESHOLD_RANGE", message)
    return PlanLevel(max_total, tau, passing, quarter, quarter, half, d, bound, most, "laplace")


def classify(paths: PathTree, level: PlanLevel, answers: Answers, edge: IntArray, node_level: IntArray) -> BoolArray:
    """Whether each of these nodes is labelled in one round, shape of `edge`.

    Parameters
    ----------
    paths : PathTree
        One tree or several (Problem 4.4): each is tested by itself, and the budget is spent once.
    level : PlanLevel
        ``classification_level`` for Algorithm 1, or any round of a plan.
    answers : Answers
        ``Draw(rng)``.
    edge, node_level : (n_nodes,)
        Nodes asked about.

    >>> from treedp_core.mechanisms.thresholds.sparse_vector import Draw
    >>> paths = PathTree.from_leaves(np.array([[0], [1]]), np.array([9000, 10]))
    >>> level = classification_level(9010.0, 1e-9, 0.2, 8000.0, 1.0, 1e-6, n_levels=paths.n_levels)
    >>> classify(paths, level, Draw(np.random.default_rng(1)), np.array([0, 1, 2]), np.array([0, 1, 1])).tolist()
    [True, True, False]
    """
    plan = Plan("classification", float(level.exact_epsilon) * 2.0, level.pass_delta, (level,), 0.0, 0.5)
    return np.asarray(label_nodes(paths, plan, answers).round_of(edge, node_level) == 0)


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
