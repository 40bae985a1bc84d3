"""The classification of Ghazi et al. (Problem 4.2, Algorithm 1): which nodes are heavier than a threshold."""

from __future__ import annotations

import math

import numpy as np

from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.mechanisms.thresholds.answers import Answers, BoolArray
from treedp_core.mechanisms.thresholds.plan_types import Plan, PlanLevel
from treedp_core.mechanisms.thresholds.reduction import label_nodes
from treedp_core.mechanisms.thresholds.schedule import check_alpha, check_delta
from treedp_core.noise.truncated_laplace import truncated_bound
from treedp_core.privacy.rounding import quotient_below
from treedp_core.tree import IntArray
from treedp_core.tree.path_tree import PathTree


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
        message = f"A threshold of {tau:g} is too small for its noise; it must be at least {slack + 2.0 * bound:g}."
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

    >>> from treedp_core.mechanisms.thresholds.answers import Draw
    >>> paths = PathTree.from_leaves(np.array([[0], [1]]), np.array([9000, 10]))
    >>> level = classification_level(9010.0, 1e-9, 0.2, 8000.0, 1.0, 1e-6, n_levels=paths.n_levels)
    >>> classify(paths, level, Draw(np.random.default_rng(1)), np.array([0, 1, 2]), np.array([0, 1, 1])).tolist()
    [True, True, False]
    """
    plan = Plan("classification", float(level.exact_epsilon) * 2.0, level.pass_delta, (level,), 0.0, 0.5)
    return np.asarray(label_nodes(paths, plan, answers).round_of(edge, node_level) == 0)
