"""The a-posteriori certificate of a top-down release: bounds on all its errors from what was measured and released.

No count of any node is further from the truth than its bound, for all nodes of all levels at once with a stated
probability. The certificate reads no record: noisy counts are what the mechanism pays for, so that every function of
them costs nothing. It is own work; Boninsegna's Theorem 1 bounds the same errors before anything is drawn.

Claim. Let x_v be true counts, y_v = x_v + Z_v the noisy ones, r_v what was made of them, N_l the nodes of level l whose
noise is looked at, and L the number of noisy levels. Let t_l be the smallest t with
P(|Z| <= t)^|N_l| >= (1 - beta)^(1/L). Put low_v = max(y_v - t_l, 0) and high_v = min(y_v + t_l, high of the parent) for
v in N_l, and low_v = 0 and high_v = high of the parent for all others. Then |x_v - r_v| <= max(r_v - low_v, high_v -
r_v) holds for all nodes at once with probability at least 1 - beta.

Proof. (1) Which nodes are looked at must not depend on their own noise. N_l is either the whole level, or the children
of nodes that the levels above show to go on: a function of the records and of the noise above level l, called F. Given
F the set N_l and with it t_l are fixed, and the noises of N_l are still independent with their own law, so that all of
them are within t_l with probability at least (1 - beta)^(1/L). Expectations over F, level by level from the last one
up, give ((1 - beta)^(1/L))^L = 1 - beta for all levels. No union over the whole domain is needed: a table of 10^9
leaves is charged for the nodes that were drawn. Where least squares comes first, what goes on depends on the noise
below it; there N_l is the whole level.
(2) On that event x_v lies in [y_v - t_l, y_v + t_l] for v in N_l; counts are at least 0, and a child's is at most its
parent's, so by induction from the root x_v lies in [low_v, high_v], also where v was not looked at. A public level has
t_l = 0. So |x_v - r_v| is at most the distance from r_v to the further end. How r_v was made of noisy counts does not
matter: any post-processing will do. QED.

In particular |x_v - r_v| <= t_l + |y_v - r_v|: the reach of the noise, and how far the projection moved the count,
which is seen. Of the neighbouring relation nothing enters but the laws of the noise and whether the root has any.

Least squares. An estimate b_v = sum of a_u y_u, unbiased, has the error sum of a_u Z_u. Discrete Gaussian noise is
sub-Gaussian with its sigma^2 (Canonne, Kamath and Steinke 2020, Corollary 17), and so is that sum with s_v^2 = sum of
a_u^2 sigma_u^2: P(|b_v - x_v| > k s_v) <= 2 e^(-k^2/2). With k = sqrt(2 ln(4 n / beta)) all n nodes are within k s_v
but with probability beta / 2; with 1 - beta / 2 in (1), both hold with probability at least 1 - beta, and x_v lies in
both intervals, and is whole. As weights are chosen by variances, s_v^2 <= max(sigma_u^2 / Var Z_u) Var b_v.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks, postprocess
from treedp_core.noise import DiscreteGaussian, Law
from treedp_core.studies.topdown.plan import Plan, noise_on_tree
from treedp_core.studies.topdown.sparse import LevelResult
from treedp_core.tree import AnyArray, FloatArray, Tree

DUST: Final = 1e-6
"""Records by which floats may miss a whole number; of counts above a million a 10^-12th part."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """What a release says of its own errors, in records (public: a function of noisy and released counts).

    Parameters
    ----------
    confidence : float
        With which every bound of every level holds, all at once.
    looked_at : tuple of int
        Nodes of each level whose noise is looked at.
    reach : tuple of float
        What none of these noises exceeds, level by level; 0 for a public level.
    by_level : (n_levels,)
        Largest bound of each level; it covers nodes that are not listed, too.
    nodes : (n_nodes,) or None
        Bound of each node of the tree; None where zeros are never laid out.
    leaves : (n,)
        Bound of each leaf that the release fills, in the order of its nodes.
    """

    confidence: float
    looked_at: tuple[int, ...]
    reach: tuple[float, ...]
    by_level: FloatArray
    nodes: FloatArray | None
    leaves: FloatArray


def reach_of_all(law: Law | None, n: int, share: float) -> float:
    """Return the smallest whole t with P(|Z| <= t)^n >= share, in records; 0 without noise or nodes. Exact tails.

    >>> from treedp_core.noise import DiscreteGaussian
    >>> reach_of_all(DiscreteGaussian(2.0), 100, 0.95), reach_of_all(None, 100, 0.95)
    (7.0, 0.0)
    """
    if law is None or n == 0:
        return 0.0
    miss, low, high = -math.expm1(math.log(share) / n), -1, 1
    while float(law.tail(high)) > miss:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if float(law.tail(middle)) > miss else (low, middle)
    return float(high)


def on_tree(
    plan: Plan, tree: Tree, noisy: AnyArray, released: AnyArray, confidence: float, *, descends: bool,
    fit: tuple[FloatArray, FloatArray] | None = None,
) -> Certificate:  # fmt: skip
    """Return the certificate of a release whose nodes are all laid out.

    Parameters
    ----------
    plan : Plan
    tree : Tree
    noisy, released : (n_nodes,)
        Counts as measured, every level of them; and what was made of them, by whatever rule.
    confidence : float
        In (0, 1).
    descends : bool
        Whether what is released on a level depends on the noise of that level and those above it only, and is 0 below
        a 0: then nodes below a 0 are not looked at.
    fit : ((n_nodes,), (n_nodes,)), optional
        Least squares estimates, and what their errors are sub-Gaussian with (a standard deviation): see `fitted`.

    Raises
    ------
    InputError
        ``CONFIDENCE_RANGE``.

    >>> from treedp_core.studies.topdown.plan import plan
    >>> tree = Tree.from_branching_factors((2, 2))
    >>> noisy, released = np.array([9, 12, -2, 5, 6, 1, 2]), np.array([9, 9, 0, 4, 5, 0, 0])
    >>> found = on_tree(plan((2, 2), 1.0), tree, noisy, released, 0.9, descends=True)
    >>> found.looked_at, found.reach, found.nodes.tolist()
    ((1, 2, 2), (0.0, 3.0, 3.0), [0.0, 0.0, 1.0, 4.0, 4.0, 1.0, 1.0])
    """
    share = _share(plan.laws, confidence if fit is None else 0.5 * (1.0 + confidence))
    low, high = _ends_of_fit(fit, tree.n_nodes, confidence)
    looked, cap = np.ones(1, dtype=bool), np.array([math.inf])
    looked_at, reaches = [], []
    for level, law in enumerate(plan.laws):
        here = tree.level(level)
        if level:
            above = tree.level(level - 1)
            looked = tree.spread(level - 1, looked & (released[above] > 0) if descends else looked)
            cap = tree.spread(level - 1, high[above])
        n = int(np.count_nonzero(looked))
        reach = reach_of_all(law, n, share)
        low[here] = np.maximum(low[here], np.where(looked, noisy[here] - reach, 0.0))
        high[here] = _between(low[here], np.minimum(high[here], np.where(looked, noisy[here] + reach, math.inf)), cap)
        looked_at.append(n)
        reaches.append(reach)
    nodes = _further_end(low, high, released)
    by_level = np.maximum.reduceat(nodes, tree.level_start[:-1])
    filled = np.flatnonzero(tree.is_leaf & (released > 0))
    return Certificate(confidence, tuple(looked_at), tuple(reaches), by_level, nodes, nodes[filled])


def fitted(plan: Plan, tree: Tree, noisy: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return the least squares estimates (n_nodes,) and what their errors are sub-Gaussian with, (n_nodes,).

    >>> from treedp_core.studies.topdown.plan import plan
    >>> tree = Tree.from_branching_factors((4,))
    >>> estimate, deviation = fitted(plan((4,), 1.0), tree, np.array([8, 3, 1, 2, 6]))
    >>> estimate.tolist(), deviation.round(6).tolist()  # sigma sqrt(3 / 4)
    ([8.0, 2.0, 0.0, 1.0, 5.0], [0.0, 0.866025, 0.866025, 0.866025, 0.866025])
    """
    noise = noise_on_tree(plan, tree)
    estimate, variance = postprocess.prepare(tree, noise.variance, ("least_squares",), laws=noise.laws)
    assert variance is not None
    ratio = max((law.sigma**2 / law.variance for law in plan.laws if isinstance(law, DiscreteGaussian)), default=1.0)
    return np.asarray(estimate(noisy)), np.sqrt(ratio * variance)


def of_survivors(plan: Plan, visited: Sequence[LevelResult], confidence: float) -> Certificate:
    """Return the certificate of a release that was drawn without laying zeros out; `on_tree` says the same of it.

    Parameters
    ----------
    plan : Plan
    visited : sequence of LevelResult
        Of each level the nodes whose children were drawn: what was measured and released of them, and the largest
        noisy count among the children of each node above that went no further.
    confidence : float
        In (0, 1).

    Raises
    ------
    InputError
        ``CONFIDENCE_RANGE``.
    """
    share = _share(plan.laws, confidence)
    high, unseen = np.array([math.inf]), -math.inf
    looked_at, reaches, by_level, error = [], [], [], np.zeros(0)
    for level, (law, here) in enumerate(zip(plan.laws, visited, strict=True)):
        n = here.dropped.size * (plan.sizes[level - 1] if level else 1)
        reach = reach_of_all(law, n, share)
        gone = np.maximum(np.minimum(here.dropped + reach, high), 0.0)[np.isfinite(here.dropped)]
        unseen = max(unseen, float(gone.max(initial=-math.inf)))  # they are 0, and so is all below them
        cap = high[here.parent] if level else np.full(here.parent.size, math.inf)
        low = np.maximum(here.noisy - reach, 0.0)
        high = _between(low, here.noisy + reach, cap)
        error = _further_end(low, high, here.count)
        looked_at.append(n)
        reaches.append(reach)
        by_level.append(max(unseen, float(error.max(initial=-math.inf))))
    return Certificate(confidence, tuple(looked_at), tuple(reaches), np.array(by_level), None,
                       error[visited[-1].count > 0])  # fmt: skip


def _ends_of_fit(
    fit: tuple[FloatArray, FloatArray] | None, n_nodes: int, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """The least and the largest whole counts within reach of the estimates, (n_nodes,) each."""
    if fit is None:
        return np.zeros(n_nodes), np.full(n_nodes, math.inf)
    estimate, deviation = fit
    reach = math.sqrt(2.0 * math.log(4.0 * n_nodes / (1.0 - confidence))) * deviation
    reach += DUST * np.maximum(1.0, 1e-6 * np.abs(estimate).max())
    return np.maximum(np.ceil(estimate - reach), 0.0), np.floor(estimate + reach)


def _further_end(low: FloatArray, high: FloatArray, released: AnyArray) -> FloatArray:
    """Return how far released counts can be from counts between two ends, (n,) each."""
    return np.maximum(released - low, high - released)


def _between(low: FloatArray, high: FloatArray, cap: FloatArray) -> FloatArray:
    """The upper ends, never below the lower ones: where they would be, the noise was larger than its reach."""
    return np.maximum(np.minimum(high, cap), low)


def _share(laws: Sequence[Law | None], confidence: float) -> float:
    """What each noisy level holds with, so that all do with `confidence`."""
    sure = checks.number("confidence", confidence, low=0, high=1, open_low=True, open_high=True,
                         code="CONFIDENCE_RANGE")  # fmt: skip
    return float(sure ** (1.0 / max(1, sum(law is not None for law in laws))))
