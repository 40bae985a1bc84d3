"""Pruned top-down: least squares on the nodes that are visited, because the noisy counts above them stood out.

The root is visited, and the children of every visited node whose noisy count passes a bound. All that decides and
enters is the noisy counts of visited nodes, so the estimate is a function of the release of all nodes, and as private.
Noise of nodes that are never visited enters nowhere; as noises are independent, not drawing it leaves the law of the
result as it is, and the work grows with the visited nodes only.

After least squares on the visited nodes (Dawson et al., Algorithm 2) a node is told if its estimate stands out of its
own error, too, and its parent is told; every other node is 0. What lies below a told node in no told child is the
difference of their estimates: families need not add up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treedp_core.noise import Gaussian, Law
from treedp_core.postprocess.least_squares import combination, variance_checked
from treedp_core.postprocess.top_down import refuse_without_leaves
from treedp_core.tree import AnyArray, FloatArray, IntArray, Tree

PASSING: Final = 0.8
"""Children of an empty family that pass the bound by their noise, in the mean: below 1, so that visits die out."""
TOLD: Final = 0.03
"""Children of an empty family whose estimate stands out by noise, in the mean."""
_NORMAL: Final = Gaussian(1.0)


@dataclass(frozen=True, eq=False)
class Visited:
    """The visited nodes of a level that passed, and what their siblings that did not pass add up to.

    Parameters
    ----------
    parent : (n,) int
        Position among those of the level above.
    noisy, variance : (n,)
        In records; the variance is inf where nothing was measured.
    reach : (n,)
        How many standard errors an estimate must exceed to stand out.
    rest, rest_variance : (n_above,)
        Of the children of each node above that did not pass: sums of noisy counts and of variances. The variance is
        inf for a node without children.
    """

    parent: IntArray
    noisy: FloatArray
    variance: FloatArray
    reach: FloatArray
    rest: FloatArray
    rest_variance: FloatArray


def reach(in_the_mean: float, n_siblings: AnyArray, law: Law | None = None) -> FloatArray:
    """Return what at most so many of n independent errors exceed in the mean, in standard deviations, at least 0.

    Shape of `n_siblings`. Errors of no known law are taken for normal ones; whole numbers exceed the middle
    between two.

    >>> from treedp_core.noise import Laplace
    >>> reach(PASSING, np.array([1, 2, 10, 1000])).round(3).tolist()
    [0.0, 0.253, 1.405, 3.156]
    >>> reach(PASSING, np.array([1, 2, 10, 1000]), Laplace(1.0)).round(3).tolist()
    [0.0, 0.158, 1.296, 4.552]
    """
    law = law or _NORMAL
    sizes, which = np.unique(n_siblings, return_inverse=True)
    far = [law.reach(2.0 * in_the_mean / n) + law.integer / 2 if n > 2.0 * in_the_mean else 0.0 for n in sizes.tolist()]
    return np.asarray(np.array(far)[which] / np.sqrt(law.variance)).reshape(np.shape(n_siblings))


def _beyond(reach: FloatArray, variance: FloatArray) -> FloatArray:
    """What estimates of these variances must exceed, in records; -inf where nothing was measured."""
    measured = np.isfinite(variance)
    return np.where(measured, reach * np.sqrt(np.where(measured, variance, 0.0)), -np.inf)


def fit(levels: Sequence[Visited]) -> list[tuple[FloatArray, NDArray[np.bool_]]]:
    """Return the least squares estimates (n,) of the nodes that passed, level by level, and which are told, (n,).

    Parameters
    ----------
    levels : sequence of Visited
        Root's first; every node that passed has all its children visited.
    """
    up, up_variance, below, below_variance = _upwards(levels)
    best, variance = up[0], up_variance[0]
    told: list[tuple[FloatArray, NDArray[np.bool_]]] = []
    for i, here in enumerate(levels):
        above = np.ones(best.size, dtype=bool)
        if i:
            of, sums = below_variance[i - 1][here.parent], below[i - 1][here.parent]
            gain = np.divide(up_variance[i], of, out=np.zeros_like(of), where=of > 0)
            best = up[i] + gain * (best[here.parent] - sums)
            variance = up_variance[i] * (1.0 - gain) + gain**2 * variance[here.parent]
            above = told[-1][1][here.parent]
        told.append((best, above & (best > _beyond(here.reach, variance))))
    return told


def _upwards(
    levels: Sequence[Visited],
) -> tuple[list[FloatArray], list[FloatArray], list[FloatArray], list[FloatArray]]:
    """Best estimates from each node's own subtree, and sums of its children's; each with its variance."""
    up, up_variance, below, below_variance = ([np.zeros(0)] * len(levels) for _ in range(4))
    for i in reversed(range(len(levels))):
        here = levels[i]
        if i + 1 < len(levels):
            after, n = levels[i + 1], here.noisy.size
            below[i] = after.rest + np.bincount(after.parent, up[i + 1], n)
            below_variance[i] = after.rest_variance + np.bincount(after.parent, up_variance[i + 1], n)
        else:
            below[i], below_variance[i] = np.zeros(here.noisy.size), np.full(here.noisy.size, np.inf)
        own, up_variance[i] = combination(here.variance, below_variance[i])
        up[i] = below[i] + own * (np.where(np.isfinite(here.variance), here.noisy, 0.0) - below[i])
    return up, up_variance, below, below_variance


def prepare(
    tree: Tree, variance: FloatArray | None, laws: Sequence[Law | None] = ()
) -> tuple[Callable[[AnyArray], FloatArray], None]:
    """Return the pruned estimator (..., n_nodes) for noise of the given variances; its own variance is not known.

    The laws are those of the levels' noise: without them it is taken for normal, and more empty nodes are told where
    its tail is heavier.

    Raises
    ------
    InputError
        ``VARIANCE_NEEDED`` when variances are unknown, ``LEAVES_NEEDED`` when leaves were not measured.

    Examples
    --------
    A root that says 90 has children that say 88 and 1, of which only the first passes; noise of variance 1:

    >>> function, _ = prepare(Tree.from_branching_factors((2,)), np.ones(3))
    >>> function(np.array([90.0, 88.0, -1.0])).tolist()
    [89.0, 89.0, 0.0]
    """
    variances = variance_checked(tree, variance)
    refuse_without_leaves(tree, variances)
    passing, telling = np.zeros((2, tree.n_nodes))
    for level, law in enumerate(laws or (None,) * tree.n_levels):
        n_siblings = tree.spread(level - 1, tree.n_children[tree.level(level - 1)]) if level else np.ones(1)
        for far, in_the_mean in ((passing, PASSING), (telling, TOLD)):
            far[tree.level(level)] = reach(in_the_mean, n_siblings, law)
    needed = _beyond(passing, variances)

    def function(noisy: AnyArray) -> FloatArray:
        rows = np.asarray(noisy, dtype=np.float64).reshape(-1, tree.n_nodes)
        places, levels = _visit(tree, rows, variances, telling, needed)
        out = np.zeros(rows.shape)
        for at, (best, told) in zip(places, fit(levels), strict=True):
            out.reshape(-1)[at[told]] = best[told]
        return out.reshape(np.shape(noisy))

    return function, None


def _visit(
    tree: Tree, rows: FloatArray, variance: FloatArray, telling: FloatArray, needed: FloatArray
) -> tuple[list[IntArray], list[Visited]]:
    """Visit the trees of all rows (n_rows, n_nodes): places in the flat rows and counts of what passed, by level."""
    flat, n = rows.reshape(-1), tree.n_nodes
    place = np.arange(0, flat.size, n)
    above = np.zeros(place.size, dtype=np.int64)
    rest: FloatArray = np.zeros(0)
    rest_variance: FloatArray = np.zeros(0)
    places, levels = [], []
    for level in range(tree.n_levels):
        node = place % n
        passed = ~(flat[place] <= needed[node])  # nan, where nothing was measured, passes
        if level:
            rest = np.bincount(above, np.where(passed, 0.0, flat[place]), rest.size).astype(np.float64)
            rest_variance += np.bincount(above, np.where(passed, 0.0, variance[node]), rest.size)
        place, node = place[passed], node[passed]
        levels.append(Visited(above[passed], flat[place], variance[node], telling[node], rest, rest_variance))
        places.append(place)
        n_children = tree.n_children[node]
        above = np.repeat(np.arange(node.size), n_children)
        begin = np.cumsum(n_children) - n_children
        place = (place - node + tree.first_child[node])[above] + np.arange(above.size) - begin[above]
        rest, rest_variance = np.zeros(node.size), np.where(n_children > 0, 0.0, np.inf)
    return places, levels
