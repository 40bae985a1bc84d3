"""Allocations: how a total budget is shared among the levels of a tree. Each is a function tree -> shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core.allocation import minimax
from treedp_core.checks import InputError, echo
from treedp_core.privacy import Budget, Currency, ProtectedUnit, budget_from_shares, exact_shares
from treedp_core.registry import NO_CARD, MethodCard, Table, lookup, table
from treedp_core.tree import FloatArray, IntArray, Tree

# ---- level shares that give cumulative counts the smallest total error before least squares.
#
# The first k leaves are counted by the earlier siblings of the nodes on the path to leaf k + 1 (`Tree.prefix_cover`).
# If all prefixes together use nodes of level l S_l times, their total error is the sum of S_l times the level's noise
# variance. For Laplace noise that is least for epsilon_l proportional to the cube root of S_l (Rameshwar et al.,
# Theorem IV.2, where S_l = K (n_l - 1) / 2), for Gaussian noise for rho_l proportional to its square root.


def cube_root(tree: Tree, unit: ProtectedUnit, currency: Currency, custom: Sequence[float]) -> FloatArray:
    """Return the share of each level, (n_levels,), summing to 1; a tree without a branch gives its leaves all."""
    uses = uses_in_prefixes(tree).astype(float)
    if unit.total_is_public:
        uses[0] = 0.0
    if not uses.any():
        uses[-1] = 1.0
    part = uses ** (1.0 / 3.0) if currency is Currency.EPSILON else np.sqrt(uses)
    return np.asarray(part / part.sum())


def uses_in_prefixes(tree: Tree) -> IntArray:
    """Return how many nodes of each level the covers of all prefixes (1 leaf to all leaves) use, (n_levels,).

    A node counts towards the prefixes that end below a later sibling of its own; the root towards the last alone.

    >>> uses_in_prefixes(Tree.from_branching_factors((2, 8))).tolist()  # 1, 16 * 1 / 2, 16 * 7 / 2
    [1, 8, 56]
    """
    uses = np.ones(tree.n_levels, dtype=np.int64)
    end = tree.leaf_start + tree.leaf_count
    for level in range(1, tree.n_levels):
        later = tree.spread(level - 1, end[tree.level(level - 1)]) - end[tree.level(level)]
        uses[level] = later.sum()
    return uses


# ---- what is to be known of each allocation


UNIFORM: Final = MethodCard(
    assumptions="Nothing: it looks neither at the tree nor at the data.",
    formula=r"\varepsilon_\ell=\varepsilon/(h+1)\quad\text{or}\quad\rho_\ell=\rho/(h+1)",
    source="Ghazi et al., Corollary 2.7; Rameshwar et al., Fig. 1; Boninsegna, Algorithm 1.",
    strengths="When every level matters as much, before least squares.",
    limitations="After least squares: the middle levels are then worth less than the ends.",
)
LEAVES_ONLY: Final = MethodCard(
    assumptions="Upper counts are wanted only as sums of leaves.",
    formula=r"\varepsilon_h=\varepsilon,\qquad\hat x_v=\sum_{\text{leaves below }v}y",
    source="Dawson et al., Figure 4 (one of its strategies).",
    strengths="Single leaves, and errors that are relative to small counts.",
    limitations="Large sums: their variance is that of all leaves below.",
)
MINIMAX: Final = MethodCard(
    assumptions="Gaussian noise, then least squares, on a tree whose nodes of a level have equally many children.",
    formula=r"\rho_\ell\propto\frac{n_\ell}{n_\ell+1}-\frac1{n_{\ell+1}+1},\qquad"
    r"\sigma_v^2=\frac{\gamma_2^2}{2\rho},\quad\gamma_2^2=1+\sum_\ell\frac{n_\ell-1}{n_\ell+1}",
    source="Ghazi et al., Theorems 5.2 and A.3; the exact norm and these shares are our own.",
    strengths="The largest error of a node: no unbiased Gaussian mechanism has a smaller one.",
    limitations="Errors that weigh small counts more than large ones.",
)
CUBE_ROOT: Final = MethodCard(
    assumptions="Ranges and cumulative counts are asked for, and no least squares follows.",
    formula=r"\varepsilon_\ell\propto S_\ell^{1/3}\quad(\rho_\ell\propto S_\ell^{1/2}),\qquad "
    r"S_\ell=\tfrac K2\,(n_\ell-1)",
    source="Rameshwar et al., Theorem IV.2 (i), with the exact uses of a padded tree.",
    strengths="Cumulative counts on a tree whose levels have different numbers of children.",
    limitations="After least squares, where it gains at most a few per cent over equal shares.",
)
CUSTOM: Final = MethodCard(
    assumptions="You know which levels matter; shares tuned on true counts are themselves private.",
    formula=r"\rho_\ell=w_\ell\,\rho\quad\text{or}\quad\varepsilon_\ell=w_\ell\,\varepsilon,\qquad\sum_\ell w_\ell\le1",
    source="Dawson et al., Algorithm 3, finds such shares slice by slice.",
    strengths="Shares from the page Budget split, tuned on an earlier year.",
    limitations="When the year they were tuned on was unlike this one.",
)


Shares = Callable[[Tree, ProtectedUnit, Currency, Sequence[float]], FloatArray]


@dataclass(frozen=True)
class Allocation:
    """A table entry: `shares` gives each level's part (any positive scale, 0 = not measured), (n_levels,).

    `needs_tree` says that more than the number of levels counts; `card` is what else is to be known of it.
    """

    name: str
    label: str
    help: str
    shares: Shares
    needs_tree: bool = True
    card: MethodCard = NO_CARD


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
    Allocation("uniform", "Uniform", "Every level gets the same share.", _uniform, needs_tree=False, card=UNIFORM),
    Allocation(
        "leaves_only",
        "Leaves only",
        "All on the leaves; upper levels are sums of leaf counts.",
        _leaves_only,
        card=LEAVES_ONLY,
    ),
    Allocation(
        "minimax",
        "Minimax",
        "With least squares every node that is not public gets the same variance. On a level-uniform tree, with "
        "records added, removed or replaced, no unbiased Gaussian mechanism has a smaller largest error; on other "
        "trees the mean number of children is used, without that claim.",
        minimax.shares,
        card=MINIMAX,
    ),
    Allocation(
        "cube_root",
        "Cube root",
        "The best for cumulative counts before least squares: cube roots (Gaussian noise: square roots) of how often "
        "they use each level (Rameshwar et al., Theorem IV.2).",
        cube_root,
        card=CUBE_ROOT,
    ),
    Allocation(
        "custom",
        "Custom",
        "Your own shares, one for each level; they must not sum to more than 1. "
        "A public total needs none: its share goes to the other levels.",
        _custom,
        needs_tree=False,
        card=CUSTOM,
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
