"""Tree least squares: the best linear unbiased estimates of all node counts (Dawson et al., Algorithms 1 and 2).

Algorithm 2 in a form without sibling sums or differences of variances, so that exactly known nodes (variance 0) and
nodes not measured (variance inf) need no special route. With up = the best estimate from a node's own subtree and
below = the sum of its children's up:

    leaves to root   weight = var(below) / (var(below) + var(node)),  up = below + weight (noisy - below)
    root to leaves   gain = var(up) / var(parent's below),  best = up + gain (parent's best - parent's below)

Weights, gains and variances depend on the structure alone and are computed once; a release then costs two sweeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treedp_core.checks import InputError
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.words import whole


@dataclass(frozen=True, eq=False)
class Coefficients:
    """What every release on one tree with one set of variances shares.

    Parameters
    ----------
    weight : list of arrays
        For each level but the last, the trust in the node itself against its children; one value if all are equal.
    gain : list of arrays
        For each level but the root's, the share of the parent's correction that the node takes; where siblings all
        take the same share it stands with the parent (and `by_parent` says so); likewise.
    by_parent : list of bool
    measured : (n_nodes,) bool or None
        Which nodes have a noisy value; None when all have.
    undetermined : (n_nodes,) bool or None
        Which nodes the measurements do not determine; None when they determine all.
    variance : (n_nodes,)
        Variance of the results, inf where the measurements do not determine a node.
    """

    weight: list[FloatArray]
    gain: list[FloatArray]
    by_parent: list[bool]
    measured: AnyArray | None
    undetermined: AnyArray | None
    variance: FloatArray


def prepare(tree: Tree, variance: FloatArray | None) -> tuple[Callable[[AnyArray], AnyArray], FloatArray]:
    """Return the least squares estimator for noise of the given variances, and the variances of its results.

    Parameters
    ----------
    tree : Tree
    variance : (n_nodes,)
        Of the noisy values, whose noises are independent: 0 known exactly, inf not measured.

    Raises
    ------
    InputError
        ``VARIANCE_NEEDED`` when the variances are unknown (after a biased post-processor) or are not variances.

    Examples
    --------
    A root known to be 9, and two noisy children that say 3 and 5 with variances 1 and 3:

    >>> estimator, variance = prepare(Tree.from_branching_factors((2,)), np.array([0.0, 1.0, 3.0]))
    >>> estimator(np.array([9.0, 3.0, 5.0])).tolist(), variance.tolist()
    ([9.0, 3.25, 5.75], [0.0, 0.75, 0.75])
    """
    variance = variance_checked(tree, variance)
    coefficients = _coefficients(tree, variance)
    return lambda estimate: estimate_from(tree, coefficients, estimate), coefficients.variance


def variance_after(tree: Tree, variance: FloatArray) -> FloatArray:
    """Return the variances (n_nodes,) of the results alone: see `prepare`.

    >>> variance_after(Tree.from_branching_factors((2,)), np.array([0.0, 1.0, 3.0])).tolist()
    [0.0, 0.75, 0.75]
    """
    variance = variance_checked(tree, variance)
    return _variance(tree, variance, lambda trust: None, lambda level, share: None)


def combine_estimates(
    first: AnyArray, first_variance: AnyArray, second: AnyArray, second_variance: AnyArray
) -> tuple[FloatArray, FloatArray]:
    """Best unbiased estimate of counts from two independent ones, and its variance (Dawson et al., Algorithm 1).

    Parameters
    ----------
    first, second : (..., n)
        Unbiased estimates of the same counts, in records, whose errors are uncorrelated.
    first_variance, second_variance : (n,)
        At least 0: 0 known exactly, inf not known, whatever the estimate then says.

    Returns
    -------
    (..., n), (n,)
        Weighted by inverse variances; nan with variance inf where neither is known. Of two that are exact, the first.

    >>> estimate, variance = combine_estimates(
    ...     np.array([9.0, 4.0]), np.array([1.0, 0.0]), np.array([13.0, 7.0]), np.array([3.0, np.inf])
    ... )
    >>> estimate.tolist(), variance.tolist()
    ([10.0, 4.0], [0.75, 0.0])
    """
    weight, variance = combination(first_variance, second_variance)
    mixed = second + weight * (np.asarray(first) - second)
    estimate = np.where(weight == 1.0, first, np.where(weight == 0.0, second, mixed))
    return np.where(np.isinf(variance), np.nan, estimate), variance


def combination(first: AnyArray, second: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Weight of the first of two estimates of the same counts, and the variance of both together, from theirs, (n,).

    second / (first + second) and first second / (first + second), with their limits: weight 1 for a first one that is
    exact or the only one, 0 for one that is not known.
    """
    own, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(np.isinf(other), 1.0, other / (other + own))
        weight = np.where(np.isinf(own), 0.0, weight)
        exact = (own == 0) | (other == 0)
        return np.where(own == 0, 1.0, weight), np.where(exact, 0.0, 1.0 / (1.0 / own + 1.0 / other))


def variance_checked(tree: Tree, variance: FloatArray | None) -> FloatArray:
    """Return variances of all nodes, (n_nodes,), or refuse them; inf stands for a node that was not measured."""
    if variance is None:
        raise InputError(
            "VARIANCE_NEEDED", "Least squares needs the variance of each node; apply it before a biased step."
        )
    variance = np.asarray(variance, dtype=np.float64)
    if variance.shape != (tree.n_nodes,) or not (variance >= 0).all():
        raise InputError("VARIANCE_NEEDED", f"Expected a variance >= 0 for each of the {whole(tree.n_nodes)} nodes.")
    return variance


def estimate_from(tree: Tree, coefficients: Coefficients, noisy: AnyArray) -> FloatArray:
    """Return the least squares estimates (..., n_nodes) of noisy values (..., n_nodes) in two sweeps.

    nan where the measurements do not determine a node: its share of its parent's count would be a guess, whose error
    depends on the true counts.
    """
    best = np.array(noisy, dtype=np.float64)
    if coefficients.measured is not None:
        best[..., ~coefficients.measured] = 0.0
    below: list[AnyArray] = [best] * tree.height
    for level in reversed(range(tree.height)):
        here = best[..., tree.level(level)]
        sums = tree.sum_children(level, best[..., tree.level(level + 1)])
        below[level] = sums
        np.subtract(here, sums, out=here)
        np.multiply(here, coefficients.weight[level], out=here)
        np.add(here, sums, out=here)
    for level in range(tree.height):
        correction = np.subtract(best[..., tree.level(level)], below[level], out=below[level])
        if coefficients.by_parent[level]:
            share = tree.spread(level, np.multiply(correction, coefficients.gain[level], out=correction))
        else:
            share = tree.spread(level, correction)
            np.multiply(share, coefficients.gain[level], out=share)
        children = best[..., tree.level(level + 1)]
        np.add(children, share, out=children)
    if coefficients.undetermined is not None:
        best[..., coefficients.undetermined] = np.nan
    return best


def _coefficients(tree: Tree, variance: FloatArray) -> Coefficients:
    weight, gain, by_parent = list[FloatArray](), list[FloatArray](), list[bool]()

    def keep_gain(level: int, share: FloatArray) -> None:
        shared = _of_parents(tree, level, share)
        gain.append(_shorter(share if shared is None else shared))
        by_parent.append(shared is not None)

    result = _variance(tree, variance, lambda trust: weight.append(_shorter(trust)), keep_gain)
    measured, undetermined = np.isfinite(variance), np.isinf(result)
    return Coefficients(
        weight[::-1],
        gain,
        by_parent,
        None if measured.all() else measured,
        undetermined if undetermined.any() else None,
        result,
    )


def _variance(
    tree: Tree,
    variance: FloatArray,
    keep_weight: Callable[[FloatArray], None],
    keep_gain: Callable[[int, FloatArray], None],
) -> FloatArray:
    """Variance of `best` (n_nodes,); weights from the last level up, and gains from the root down, as they come."""
    up = variance.copy()
    below = [up] * tree.height
    with np.errstate(divide="ignore", invalid="ignore"):
        for level in reversed(range(tree.height)):
            here = tree.level(level)
            below[level] = np.where(tree.is_leaf[here], np.inf, tree.sum_children(level, up[tree.level(level + 1)]))
            trust, up[here] = combination(variance[here], below[level])
            keep_weight(trust)
        result = up.copy()
        for level in range(tree.height):
            children = tree.level(level + 1)
            share, own = _gain(tree, level, up[children], below[level])
            keep_gain(level, share)
            inherited = tree.spread(level, result[tree.level(level)])
            result[children] = own + np.where(share > 0, share**2 * inherited, 0.0)
    return result


def _gain(tree: Tree, level: int, up: FloatArray, below: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For the children of a level: gain = up / below, and up (1 - gain), the variance that is a child's own.

    Children with infinite variance take the whole correction between them; alone among its siblings such a child is
    parent minus siblings, so its own variance is its siblings' sum; several of them are not determined.
    """
    unknown = np.isinf(up)
    if not unknown.any():
        below = tree.spread(level, below)
        gain = np.where(below > 0, up / below, 0.0)
        return gain, _own(tree, level, up, gain)
    n_unknown = tree.sum_children(level, unknown.astype(np.float64))
    known = tree.sum_children(level, np.where(unknown, 0.0, up))
    n_siblings_unknown, siblings_known = tree.spread(level, n_unknown), tree.spread(level, known)
    gain = np.where(siblings_known > 0, up / siblings_known, 0.0)
    gain = np.where(n_siblings_unknown > 0, unknown / n_siblings_unknown, gain)
    own = np.where(unknown, np.where(n_siblings_unknown > 1, np.inf, siblings_known), up)
    return gain, np.where(n_siblings_unknown > 0, own, _own(tree, level, np.where(unknown, 0.0, up), gain))


def _own(tree: Tree, level: int, up: FloatArray, gain: FloatArray) -> FloatArray:
    """Up (1 - gain), without cancellation where one child holds nearly all its family's variance.

    There it is gain times its siblings' variances, summed without the child itself: at most one of a family has a
    gain above a half.
    """
    dominant = gain > 0.5
    if not dominant.any():
        return up * (1.0 - gain)
    others = tree.spread(level, tree.sum_children(level, np.where(dominant, 0.0, up)))
    return np.where(dominant, gain * others, up * (1.0 - gain))


def _of_parents(tree: Tree, level: int, gain: FloatArray) -> FloatArray | None:
    """Return the gain that each parent of a level gives all its children, or None where siblings differ."""
    nodes = tree.level(level)
    first = np.minimum(tree.first_child[nodes] - tree.level_start[level + 1], gain.size - 1)
    of_first = gain[first]
    return of_first if (tree.spread(level, of_first) == gain).all() else None


def _shorter(values: FloatArray) -> FloatArray:
    """One value instead of many equal ones: less memory to read in every release."""
    return values[:1].copy() if values.size and (values == values[0]).all() else values
