"""What no mechanism can beat on trees of any shape, and without any slack for large counts, with explicit constants."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from treedp_core import checks
from treedp_core.allocation.minimax import certificate, squared_norm
from treedp_core.privacy.conversions import mean_shift
from treedp_core.studies.multiplicative.lower_bounds import entropy, packing_bound
from treedp_core.tree import FloatArray, Tree
from treedp_core.watch import Watch
from treedp_core.words import plural, setting_text, short_below

_TRIED: Final = 80  # error rates, twice
_MOST_CELLS: Final = 300_000
"""Nodes times leaves up to which the norm of a tree that is not level-uniform is sought."""
_WITHIN: Final = 0.01


def additive_bound(norm: float, epsilon: float, delta: float = 0.0) -> float:
    """Least worst-case RMSE of any (epsilon, delta)-private mechanism for counts of factorisation norm gamma_2.

    In records, one record added or removed: norm sqrt(1 - kappa^2) / (2 kappa), where
    kappa = t + (1 - t) sqrt(delta) and t = tanh(epsilon / 2); a number for the constant of Ghazi et al., Theorem 5.2,
    as gamma_2 of a binary tree of d levels is sqrt((d + 2) / 3).

    Parameters
    ----------
    norm : float
        gamma_2 of the counts, or a lower bound on it (`treedp_core.allocation.minimax`).
    epsilon, delta : float

    Raises
    ------
    InputError
        ``EPS_RANGE``, ``DELTA_RANGE``, ``VALUE_RANGE``.

    Notes
    -----
    *Noise that ignores the data.* Add to the data x numbers y drawn evenly from 0, ..., N - 1 for every leaf, and take
    W y off again: the error's law is then a mean of the mechanism's own over x + y, and of x and x plus one record at
    most 1/N apart. So for N to infinity the mechanism is W x + Z, Z of one law for all x, no worse at any count than
    before in the worst case; its bias only adds to the error.

    *One direction.* The laws of a'Z and a'(Z + W_j), W_j the column of leaf j, have means mu = a'W_j apart and one
    variance s^2. So mu^2 / s^2 <= r = 4 kappa^2 / (1 - kappa^2), by `mean_shift`.

    *All of them.* With a = S^-1 W_j, S the covariance of Z, every diagonal entry of W' S^-1 W is at most r. So
    W = S^(1/2) (S^(-1/2) W) has columns of squared length at most r and rows of squared length S_vv: gamma_2^2 is at
    most r times the largest S_vv.

    >>> round(additive_bound(1.0, 1.0, 1e-6), 4)  # one count; discrete Laplace noise has 1.357
    0.9581
    """
    least = checks.number("the factorisation norm", norm, low=0)
    return least / math.sqrt(mean_shift(epsilon, delta)) * (1.0 - 1e-12)


def bounds_table(
    tree: Tree, alpha: float, epsilon: float, delta: float, watch: Watch | None = None
) -> dict[str, list[Any]]:
    """Return the worst-case error that no mechanism can beat on a tree, in records, one record added or removed.

    Three rows: with slack and delta = 0, with slack and delta, with delta and no slack at all.

    Raises
    ------
    InputError
        ``ALPHA_RANGE``, ``EPS_RANGE``, ``DELTA_RANGE``.
    Cancelled
        When the watch says so.

    >>> found = bounds_table(Tree.from_branching_factors((2,) * 6), 0.5, 0.1, 1e-6)
    >>> [round(error, 2) for error in found["error at least (records)"]]
    [1.76, 1.76, 16.99]
    """
    watch = watch or Watch()
    levels = embedded_levels(tree)
    pure, both = (float(packing_bound(alpha, epsilon, levels, one)) for one in (0.0, delta))
    watch.check()
    pure = max(pure, tree_packing_bound(tree, alpha, epsilon))
    watch.check()
    norm = norm_at_least(tree)
    eps, budget = f"ε = {setting_text(epsilon)}", f"ε = {setting_text(epsilon)}, δ = {setting_text(delta)}"
    embeds = f"it embeds a complete binary tree of {plural(levels, 'level')}"
    watch.step(1)
    return {
        "slack α": [setting_text(alpha), setting_text(alpha), "0"],
        "promise": [eps, budget, budget],
        "error at least (records)": [pure, both, additive_bound(norm, epsilon, delta)],
        "as": [
            "packing over every binary tree that it embeds (Ghazi et al., Remark 5.5)",
            f"{embeds} (Corollary 5.4)",
            f"γ₂ of its counts is at least {short_below(norm)} (Theorems 5.2 and A.3)",
        ],
    }


def norm_at_least(tree: Tree) -> float:
    """Return a lower bound on gamma_2 of a tree's counts: exact on a level-uniform tree, else within a hundredth.

    Of trees too large to seek it on, that of the largest complete binary tree that they embed: counts of some nodes, of
    records on some leaves, are a part of the matrix, and no part has a larger norm.

    >>> round(norm_at_least(Tree.from_branching_factors((2, 2))) ** 2, 6)
    1.666667
    """
    if tree.branching_factors is not None:
        return math.sqrt(squared_norm(tree.branching_factors)) * (1.0 - 1e-12)
    if tree.n_nodes * tree.n_leaves <= _MOST_CELLS:
        return certificate(tree, _WITHIN).lower
    return math.sqrt((embedded_levels(tree) + 2.0) / 3.0) * (1.0 - 1e-12)


def embedded_levels(tree: Tree) -> int:
    """Return the levels of the largest complete binary tree that a tree embeds (Ghazi et al., Remark 5.5).

    Nodes and edges may be left out, and a path then stands for an edge: one level more than its children's where the
    two best of them are equal, else that of the best. Bounds for so many levels hold for the tree.

    >>> embedded_levels(Tree.from_branching_factors((3, 1, 5)))
    3
    """
    levels = np.ones(tree.n_nodes, dtype=np.int64)
    for level in reversed(range(tree.height)):
        first, second = _two_best(tree, level, levels[tree.level(level + 1)].astype(float), 0.0)
        here = np.maximum(1, np.where(first == second, first + 1, first)).astype(np.int64)
        levels[tree.level(level)] = np.where(tree.is_leaf[tree.level(level)], 1, here)
    return int(levels[0])


def tree_packing_bound(tree: Tree, alpha: float, epsilon: float) -> float:
    """Worst-case alpha-RMSE that every epsilon-private mechanism has on a tree of any shape, in records.

    The walk of `lower_bounds` over any binary tree that embeds: it ends at a leaf below s choices with a probability of
    at least exp(-s H(eta)), and packing gives sum over leaves of exp(-s H(eta)) <= e^(k eps). The sum is largest over
    all embedded binary trees by Z(v) = max(best child, e^-H (best + second best)), which is 1 at a leaf. On a complete
    binary tree that is `packing_bound`; on a ragged one it uses leaves that no complete binary tree reaches.

    Raises
    ------
    InputError
        ALPHA_RANGE, EPS_RANGE.

    >>> from treedp_core.studies.multiplicative.lower_bounds import packing_bound
    >>> binary = Tree.from_branching_factors((2,) * 8)
    >>> round(tree_packing_bound(binary, 0.5, 0.1) / float(packing_bound(0.5, 0.1, 9)), 2)  # searched less finely
    1.0
    """
    a = checks.number("alpha", alpha, low=0, high=1, open_high=True, code="ALPHA_RANGE")
    eps = checks.epsilon(epsilon)
    etas = np.geomspace(1e-4, 0.5, _TRIED)
    for _ in range(2):  # then between the neighbours of the best one
        factors = [_factor(tree, eps, eta) for eta in etas.tolist()]
        best = int(np.argmax(factors))
        etas = np.linspace(etas[max(0, best - 1)], etas[min(best + 1, _TRIED - 1)], _TRIED)
    return (1.0 - a) * max(factors)


def _factor(tree: Tree, epsilon: float, eta: float) -> float:
    """K sqrt(eta) / 2 for the most records k that an error rate of eta is too small for; rounded down."""
    leaves = _log_leaves(tree, float(entropy(np.asarray(eta)))) * (1.0 - 1e-12)
    return 0.5 * max(0, math.ceil(leaves / epsilon) - 1) * math.sqrt(eta)


def _log_leaves(tree: Tree, nats: float) -> float:
    """Logarithm of the largest sum of e^(-nats choices) over the leaves of a binary tree that embeds."""
    found = np.zeros(tree.n_nodes)
    for level in reversed(range(tree.height)):
        first, second = _two_best(tree, level, found[tree.level(level + 1)], -np.inf)
        both = np.maximum(first, np.logaddexp(first, second) - nats)
        found[tree.level(level)] = np.where(tree.is_leaf[tree.level(level)], 0.0, both)
    return float(found[0])


def _two_best(tree: Tree, level: int, values: FloatArray, none: float) -> tuple[FloatArray, FloatArray]:
    """The two largest of the children's values for every node of a level, `none` where there are fewer."""
    n_children = tree.n_children[tree.level(level)]
    parent = np.repeat(np.arange(n_children.size), n_children)
    order = np.lexsort((-values, parent))
    place = np.arange(parent.size) - np.repeat(np.cumsum(n_children) - n_children, n_children)
    first, second = np.full(n_children.size, none), np.full(n_children.size, none)
    first[parent[place == 0]] = values[order][place == 0]
    second[parent[place == 1]] = values[order][place == 1]
    return first, second
