"""Allocations: how a total budget is shared among the levels of a tree. Each is a function tree -> shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core.allocation import cube_root, minimax
from treedp_core.allocation import stated as of
from treedp_core.checks import InputError, echo
from treedp_core.privacy import Budget, Currency, ProtectedUnit, budget_from_shares, exact_shares
from treedp_core.registry import UNSTATED, Stated, Table, lookup, table
from treedp_core.tree import FloatArray, Tree

Shares = Callable[[Tree, ProtectedUnit, Currency, Sequence[float]], FloatArray]


@dataclass(frozen=True)
class Allocation:
    """A table entry: `shares` gives each level's part (any positive scale, 0 = not measured), (n_levels,).

    `needs_tree` says that more than the number of levels counts; `stated` is what else is to be known of it.
    """

    name: str
    label: str
    help: str
    shares: Shares
    needs_tree: bool = True
    stated: Stated = UNSTATED


def _uniform(tree: Tree, unit: ProtectedUnit, currency: Currency, custom: Sequence[float]) -> FloatArray:
    return np.ones(tree.n_levels)


def _leaves_only(tree: Tree, unit: ProtectedUnit, currency: Currency, custom: Sequence[float]) -> FloatArray:
    """Every level that holds leaves, equally; on a tree whose leaves share one level that is the last level alone."""
    return np.maximum.reduceat(tree.is_leaf, tree.level_start[:-1]).astype(float)


def _custom(tree: Tree, unit: ProtectedUnit, currency: Currency, custom: Sequence[float]) -> FloatArray:
    if len(custom) != tree.n_levels:
        raise InputError(
            "BUDGET_SPLIT", f"Expected one share for each of the {tree.n_levels} levels, got {len(custom)}."
        )
    return np.array([float(share) for share in exact_shares(custom)])


ALLOCATIONS: Final[Table[Allocation]] = table(
    Allocation("uniform", "Uniform", "Every level gets the same share.", _uniform, needs_tree=False, stated=of.UNIFORM),
    Allocation(
        "leaves_only",
        "Leaves only",
        "All on the leaves; upper levels are sums of leaf counts.",
        _leaves_only,
        stated=of.LEAVES_ONLY,
    ),
    Allocation(
        "minimax",
        "Minimax",
        "With least squares every node that is not public gets the same variance. On a level-uniform tree, with "
        "records added, removed or replaced, no unbiased Gaussian mechanism has a smaller largest error; on other "
        "trees the mean number of children is used, without that claim.",
        minimax.shares,
        stated=of.MINIMAX,
    ),
    Allocation(
        "cube_root",
        "Cube root",
        "The best for cumulative counts before least squares: cube roots (Gaussian noise: square roots) of how often "
        "they use each level (Rameshwar et al., Theorem IV.2).",
        cube_root.shares,
        stated=of.CUBE_ROOT,
    ),
    Allocation(
        "custom",
        "Custom",
        "Your own shares, one for each level; they must not sum to more than 1. "
        "A public total needs none: its share goes to the other levels.",
        _custom,
        needs_tree=False,
        stated=of.CUSTOM,
    ),
)


def split(
    tree: Tree, total: float, currency: Currency, unit: ProtectedUnit, allocation: str, custom: Sequence[float] = ()
) -> Budget:
    """Return the budget of every level under the named allocation; what it charges never exceeds `total`.

    Parameters
    ----------
    tree : Tree
    total : float
        In the currency given: epsilon or rho.
    unit : ProtectedUnit
        A public total is published exactly and costs nothing.
    allocation : str
        A name in `ALLOCATIONS`.
    custom : sequence of float
        Shares for the allocation "custom": one per level, summing to at most 1; what they leave is not spent.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` when custom shares do not fit the tree or sum to more than 1, or an allocation of one's own
        returns no shares.
    """
    found = lookup(ALLOCATIONS, allocation, "allocation").shares(tree, unit, currency, custom)
    shares = _as_shares(found, tree.n_levels, allocation)
    if unit.total_is_public:
        shares[0] = 0.0
    nothing_to_spend_on = unit.total_is_public and tree.n_levels == 1
    if not shares.any() and not nothing_to_spend_on:
        raise InputError("BUDGET_SPLIT", "Expected at least one level with a share above 0.")
    return budget_from_shares(shares, total, currency, unit, spent_part(allocation, custom))


def _as_shares(found: object, n_levels: int, allocation: str) -> FloatArray:
    """What an allocation returned, as shares that nobody else holds; each must be a number >= 0."""
    try:
        each = np.array(found)
    except ValueError:  # lists of other lengths
        each = np.empty(0)
    is_real = each.dtype.kind in "iuf" and each.shape == (n_levels,)
    if not is_real or not (np.isfinite(each) & (each >= 0)).all():
        raise InputError(
            "BUDGET_SPLIT",
            f"Expected of the allocation {echo(allocation)} one finite share >= 0 for each of the {n_levels} levels.",
        )
    return each.astype(np.float64)


def spent_part(allocation: str, custom: Sequence[float] | None) -> Fraction:
    """Return the part of a total that an allocation spends: what custom shares leave is not spent.

    >>> spent_part("uniform", ()), spent_part("custom", (0.25, 0.5))
    (Fraction(1, 1), Fraction(3, 4))
    """
    return sum(exact_shares(custom), Fraction(0)) if allocation == "custom" and custom else Fraction(1)
