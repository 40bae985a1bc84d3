"""Sensitivities by enumeration: every way in which one protected unit can change the counts of a small tree.

The records of everybody else are the same in two neighbouring data sets and cancel in the difference of their counts,
so it is enough to enumerate the records of one unit before and after.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, islice, product
from math import comb
from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.privacy.spread import capacities_of_tree, level_sensitivities
from treedp_core.privacy.unit import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.tree import FloatArray, IntArray, Tree
from treedp_core.words import whole

MAX_PAIRS: Final = 200_000
MAX_CELLS: Final = 100_000_000  # pairs times nodes
_BLOCK_CELLS: Final = 1_000_000  # looked at together
Records = tuple[int, ...]
Pair = tuple[Records, Records]


@dataclass(frozen=True, eq=False)
class Inspection:
    """What enumeration found beside what the code calibrates its noise to, level by level.

    Parameters
    ----------
    n_pairs : int
        Pairs of a unit's records before and after that were enumerated.
    l1_enumerated, l2_enumerated : (n_levels,)
        Largest change of a level over all neighbours, in records.
    l1_formula, l2_formula : (n_levels,)
        The change the code covers: what the noise is calibrated to; on the unknown levels of REPLACE_UNKNOWN times 2
        and sqrt(2), which `ProtectedUnit.charge` accounts for.
    cost_epsilon, cost_rho : float
        Largest total cost of a neighbour when every measured level spends 1: the sum over levels of L1 / calibrated
        L1, or of the squares of L2 / calibrated L2.
    charged : float
        What the code charges for it; at least both.
    example : tuple of (tuple of int, tuple of int)
        For each level, the leaves of a unit before and after that change it most in L2.
    """

    n_pairs: int
    l1_enumerated: FloatArray
    l2_enumerated: FloatArray
    l1_formula: FloatArray
    l2_formula: FloatArray
    cost_epsilon: float
    cost_rho: float
    charged: float
    example: tuple[Pair, ...]

    @property
    def holds(self) -> bool:
        """Whether no neighbour changes more, or costs more, than the code says."""
        enough = 1.0 + 1e-12
        return bool(
            (self.l1_enumerated <= self.l1_formula * enough).all()
            and (self.l2_enumerated <= self.l2_formula * enough).all()
            and max(self.cost_epsilon, self.cost_rho) <= self.charged * enough
        )


def inspect(tree: Tree, unit: ProtectedUnit, spread: Spread = Spread.STACKED) -> Inspection:
    """Return the enumerated sensitivities of every level of a small tree, beside the formula's.

    Parameters
    ----------
    tree : Tree
        Few leaves.
    unit : ProtectedUnit
        Few contributions.
    spread : Spread
        Whether the records of one unit may share a leaf.

    Raises
    ------
    InputError
        ``INSPECTOR_SIZE`` when more than 200,000 pairs would have to be enumerated, or 10^8 counts of nodes compared;
        ``CONTRIBUTIONS_SPREAD`` as in `level_sensitivities`.

    Examples
    --------
    >>> unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 2)
    >>> found = inspect(Tree.from_branching_factors((2, 2)), unit, Spread.DISTINCT)
    >>> found.l1_enumerated.tolist(), (found.l2_enumerated**2).round(9).tolist(), found.holds
    ([0.0, 4.0, 4.0], [0.0, 8.0, 4.0], True)
    """
    _refuse_large(tree, unit, spread)
    calibrated = level_sensitivities(unit, capacities_of_tree(tree), spread)
    pairs = list(_pairs(tree, unit, spread))
    l1, square = _changes(tree, pairs)
    amounts = np.where(calibrated[0] > 0, 1.0, 0.0)
    wide = _twice_on_unknown(tree, unit)
    return Inspection(
        len(pairs),
        l1.max(axis=0).astype(float),
        np.sqrt(square.max(axis=0)),
        calibrated[0] * wide,
        calibrated[1] * np.sqrt(wide),
        _largest_cost(l1, calibrated[0]),
        _largest_cost(square, calibrated[1] ** 2),
        unit.charge(amounts),
        tuple(pairs[i] for i in square.argmax(axis=0)),
    )


def _changes(tree: Tree, pairs: list[Pair]) -> tuple[IntArray, IntArray]:
    """L1 change and squared L2 change of each level for each pair, each (n_pairs, n_levels); a block at a time."""
    start, rest, found = tree.level_start[:-1], iter(pairs), []
    while block := list(islice(rest, max(1, _BLOCK_CELLS // tree.n_nodes))):
        change = np.stack([_level_counts(tree, after) - _level_counts(tree, before) for before, after in block])
        found.append((np.add.reduceat(np.abs(change), start, axis=1), np.add.reduceat(change**2, start, axis=1)))
    return np.concatenate([l1 for l1, _ in found]), np.concatenate([square for _, square in found])


def _largest_cost(change: IntArray, calibrated: FloatArray) -> float:
    noisy = calibrated > 0
    return float((change[:, noisy] / calibrated[noisy]).sum(axis=1).max())


def _twice_on_unknown(tree: Tree, unit: ProtectedUnit) -> FloatArray:
    factor = np.ones(tree.n_levels)
    if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        factor[unit.known_levels :] = 2.0
    return factor


def _refuse_large(tree: Tree, unit: ProtectedUnit, spread: Spread) -> None:
    m, leaves = unit.contributions, tree.n_leaves
    if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        n_pairs = (leaves + 1) ** (2 * m)
    else:
        sets = [comb(leaves, k) if spread is Spread.DISTINCT else comb(leaves + k - 1, k) for k in range(m + 1)]
        n_pairs = sum(n * n for n in sets) if unit.total_is_public else sum(sets)
    if n_pairs > MAX_PAIRS or n_pairs * tree.n_nodes > MAX_CELLS:
        # a number of thousands of digits cannot even be written
        about = f"{whole(n_pairs)}" if n_pairs < 10**15 else f"10^{int(math.log10(n_pairs))}"
        raise InputError(
            "INSPECTOR_SIZE",
            f"Enumerating {whole(leaves)} leaves and {whole(m)} records of one unit takes about {about} pairs; at most "
            f"{whole(min(MAX_PAIRS, MAX_CELLS // tree.n_nodes))} are tried: use a smaller tree or fewer contributions.",
        )


def _pairs(tree: Tree, unit: ProtectedUnit, spread: Spread) -> Iterator[Pair]:
    """Every pair of records of one unit in two neighbouring data sets."""
    leaves = tree.leaves.tolist()
    choose = combinations if spread is Spread.DISTINCT else combinations_with_replacement
    match unit.relation:
        case NeighbouringRelation.ADD_OR_REMOVE_ONE:
            for k in range(unit.contributions + 1):
                yield from (((), after) for after in choose(leaves, k))
        case NeighbouringRelation.REPLACE_ONE:
            for k in range(unit.contributions + 1):
                sets = list(choose(leaves, k))
                yield from product(sets, sets)
        case NeighbouringRelation.REPLACE_UNKNOWN:
            moves = list(_moves(tree, unit.known_levels))
            for records in combinations_with_replacement(moves, unit.contributions):
                yield tuple(a for a, _ in records if a >= 0), tuple(b for _, b in records if b >= 0)


def _moves(tree: Tree, known_levels: int) -> Iterator[tuple[int, int]]:
    """Every pair (leaf before, leaf after) of one record whose known columns stay; -1 where it is absent."""
    leaves = tree.leaves.tolist()
    known = {leaf: tree.ancestors(leaf)[:known_levels] for leaf in leaves}
    yield -1, -1
    for leaf in leaves:
        yield leaf, -1
        yield -1, leaf
        yield from ((leaf, other) for other in leaves if known[other] == known[leaf])


def _level_counts(tree: Tree, records: Records) -> IntArray:
    own = np.bincount(np.array(records, dtype=np.int64), minlength=tree.n_nodes)
    return np.asarray(tree.add_up(own))
