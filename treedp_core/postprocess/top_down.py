"""Top-down projection: whole, non-negative counts whose families add up, from the root to the leaves.

Boninsegna, Algorithm 1: a family's noisy counts are replaced by the closest whole numbers of at least 0 that add up to
what was already decided for its parent. The algorithm draws its noise on the way down and skips the children of nodes
that are 0; those children end as 0 whatever their noise, so noise first and projection second is the same law.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from treedp_core.checks import InputError
from treedp_core.postprocess.families import (
    Group,
    Projection,
    controlled_rounding,
    groups,
    int_opt,
    project_families,
    simplex,
)
from treedp_core.postprocess.families import water_filling as fill
from treedp_core.tree import AnyArray, FloatArray, Tree

Prepared = tuple[Callable[[AnyArray], AnyArray], None]


def prepare(tree: Tree, variance: FloatArray | None, rule: Projection) -> Prepared:
    """Return the top-down projection by one of the integer rules of `projection`.

    A root published exactly stays as it is; a noisy one is rounded and is at least 0. A node above the leaves that was
    not measured stands for the sum of its children.

    Parameters
    ----------
    tree : Tree
    variance : (n_nodes,) or None
        Only tells which nodes were measured (inf: not).
    rule : callable
        ``int_opt`` or ``water_filling``.

    Raises
    ------
    InputError
        ``LEAVES_NEEDED`` when leaves were not measured.

    Examples
    --------
    >>> function, _ = prepare(Tree.from_branching_factors((4,)), None, int_opt)
    >>> function(np.array([5, 3, 3, 3, -5])).tolist()
    [5, 0, 1, 4, 0]
    """
    refuse_without_leaves(tree, variance)
    return partial(descend, tree, _groups(tree), rule), None


def intopt(tree: Tree, variance: FloatArray | None) -> Prepared:
    """Return the top-down projection (..., n_nodes) by the printed rule (Boninsegna, IntOpt)."""
    return prepare(tree, variance, int_opt)


def water_filling(tree: Tree, variance: FloatArray | None) -> Prepared:
    """Return the top-down projection (..., n_nodes) by water filling, closest in every convex distance."""
    return prepare(tree, variance, fill)


def real_then_round(tree: Tree, variance: FloatArray | None) -> Prepared:
    """Return the two steps of the Census TopDown in their simplest form, for estimates (..., n_nodes).

    First every family, from the root down, is projected in real numbers (least squares, non-negative, adding up to its
    parent's real number); then the finished real tree is rounded from the root down so that families add up, every
    node to the floor or the ceiling of its real number. (Rounding each family before going on would be water filling
    but for ties: the real projection with its largest fractions rounded up is the whole-number optimum of a family.)

    Raises
    ------
    InputError
        ``LEAVES_NEEDED`` when leaves were not measured.
    """
    refuse_without_leaves(tree, variance)
    levels = _groups(tree)

    def function(estimate: AnyArray) -> AnyArray:
        real = descend(tree, levels, simplex, np.asarray(estimate, dtype=np.float64))
        return descend(tree, levels, controlled_rounding, real)

    return function, None


def descend(tree: Tree, levels: list[tuple[Group, ...]], rule: Projection, estimate: AnyArray) -> AnyArray:
    """Return estimates (..., n_nodes) projected family by family from the root down."""
    noisy = with_sums_where_not_measured(tree, np.asarray(estimate))
    total = np.maximum(np.rint(noisy[..., :1]), 0)
    out = np.empty(noisy.shape, dtype=np.float64 if rule is simplex else np.int64)
    out[..., :1] = total
    for level, families in enumerate(levels):
        children = tree.level(level + 1)
        out[..., children] = project_families(rule, noisy[..., children], out[..., tree.level(level)], families)
    return out


def with_sums_where_not_measured(tree: Tree, noisy: AnyArray) -> AnyArray:
    """Return noisy values (..., n_nodes) in which nodes that were not measured (nan) have their children's sum."""
    if noisy.dtype.kind != "f" or not np.isnan(noisy).any():
        return noisy
    filled = noisy.copy()
    for level in reversed(range(tree.height)):
        here = filled[..., tree.level(level)]
        sums = tree.sum_children(level, filled[..., tree.level(level + 1)])
        inner = ~tree.is_leaf[tree.level(level)]
        np.copyto(here, sums, where=np.isnan(here) & inner)
    if np.isnan(filled).any():
        raise _leaves_needed()
    return filled


def refuse_without_leaves(tree: Tree, variance: FloatArray | None) -> None:
    """Refuse variances (n_nodes,) of leaves not measured: how their parent's count divides would be a guess."""
    if variance is not None and np.isinf(variance[tree.is_leaf]).any():
        raise _leaves_needed()


def _leaves_needed() -> InputError:
    return InputError(
        "LEAVES_NEEDED", "This step needs a noisy count of every leaf: give each level of leaves a share."
    )


def _groups(tree: Tree) -> list[tuple[Group, ...]]:
    return [groups(tree.n_children[tree.level(level)]) for level in range(tree.height)]
