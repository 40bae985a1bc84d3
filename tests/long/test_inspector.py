"""Sensitivities by enumeration beside the formulas, for every relation, and able to find a wrong one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread, inspector
from treedp_core.privacy.inspector import inspect
from treedp_core.privacy.spread import Capacities, capacities_of_domain, capacities_of_tree, level_sensitivities
from treedp_core.tree import Tree

UNIFORM = [Tree.from_branching_factors(sizes) for sizes in ((2,), (3,), (5,), (2, 2), (3, 2), (2, 3), (2, 1, 2))]
RAGGED = [
    Tree.from_child_counts([np.array([2]), np.array([0, 3])]),
    Tree.from_child_counts([np.array([3]), np.array([1, 2, 3])]),
    Tree.from_child_counts([np.array([2]), np.array([3, 0]), np.array([0, 2, 0])]),
]
RELATIONS = [*NeighbouringRelation]


UNKNOWN = NeighbouringRelation.REPLACE_UNKNOWN  # on distinct leaves it is refused, see below
COMBINATIONS = [(r, m, s) for r in RELATIONS for m in (1, 2, 3) for s in Spread if (r, s) != (UNKNOWN, Spread.DISTINCT)]


@pytest.mark.parametrize(("relation", "m", "spread"), COMBINATIONS)
def test_no_neighbour_moves_or_costs_more_than_the_code_says(
    relation: NeighbouringRelation, m: int, spread: Spread
) -> None:
    unknown = relation is UNKNOWN
    for tree in [*UNIFORM, *RAGGED]:
        for known in range(1, tree.n_levels + 1 if unknown else 2):
            if (tree.n_leaves + 1) ** (2 * m) <= inspector.MAX_PAIRS or not unknown:
                assert inspect(tree, ProtectedUnit(relation, m, known), spread).holds


@pytest.mark.parametrize("relation", [NeighbouringRelation.ADD_OR_REMOVE_ONE, NeighbouringRelation.REPLACE_ONE])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_distinct_leaves_of_a_product_domain_are_exact(relation: NeighbouringRelation, m: int) -> None:
    """On level-uniform trees the formula is attained, in L1 and L2; with more records than leaves too."""
    for tree in UNIFORM:
        if (tree.branching_factors is not None and 1 not in tree.branching_factors) or m > 1:
            found = inspect(tree, ProtectedUnit(relation, m), Spread.DISTINCT)
            np.testing.assert_allclose(found.l1_enumerated, found.l1_formula)
            np.testing.assert_allclose(found.l2_enumerated, found.l2_formula)


def ragged_tree(rng: np.random.Generator) -> Tree:
    """Up to four nodes, some of which are leaves, with up to four children, of which some have two."""
    children = rng.integers(0, 4, int(rng.integers(2, 5)))
    children[0] += 1
    below = 2 * (rng.random(int(children.sum())) < 0.3)
    return Tree.from_child_counts([np.array([children.size]), children, *([below] if below.any() else [])])


def test_on_ragged_trees_what_replaced_records_move_is_exact() -> None:
    """Nodes of 2, 1 and 1 leaves: two records replaced move them by 2, 1 and 1, not by 2 and 2; others by listing."""
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 2)
    found = inspect(Tree.from_child_counts([np.array([3]), np.array([2, 1, 1])]), unit, Spread.DISTINCT)
    assert (found.l2_formula**2).round(9).tolist() == (found.l2_enumerated**2).round(9).tolist() == [0.0, 6.0, 4.0]
    rng, ends_above = np.random.default_rng(5), 0
    for _ in range(60):
        tree = ragged_tree(rng)
        m = int(rng.integers(2, 5 if tree.n_leaves < 11 else 3))
        found = inspect(tree, replace(unit, contributions=m), Spread.DISTINCT)
        np.testing.assert_array_equal(found.l1_enumerated, found.l1_formula)
        np.testing.assert_allclose(found.l2_enumerated, found.l2_formula, rtol=1e-15)
        ends_above += sum(one.elsewhere > 0 for one in capacities_of_tree(tree))
    assert ends_above > 40


@pytest.mark.parametrize("relation", RELATIONS)
def test_stacked_records_are_exact_where_every_level_branches(relation: NeighbouringRelation) -> None:
    for tree in UNIFORM[:-1]:
        found = inspect(tree, ProtectedUnit(relation, 2))
        np.testing.assert_allclose(found.l1_enumerated, found.l1_formula)
        np.testing.assert_allclose(found.l2_enumerated, found.l2_formula)
        assert found.cost_epsilon == pytest.approx(found.charged) == pytest.approx(found.cost_rho)


def test_known_numbers_by_hand() -> None:
    """Three records on distinct leaves of 2 x 2 cells, replaced: two leave one side for the other, one cannot."""
    found = inspect(UNIFORM[3], ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 3), Spread.DISTINCT)
    assert found.l1_enumerated.tolist() == [0, 4, 4]
    assert (found.l2_enumerated**2).round(9).tolist() == [0, 8, 4]
    before, after = found.example[1]
    assert {len(before), len(after)} <= {2, 3}


def test_a_wrong_formula_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A level sensitivity of 1 for a replaced record, and of sqrt(m) for stacked ones, do not hold."""
    tree, unit = UNIFORM[3], ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 2)
    for l1, l2 in ((1.0, 2 * np.sqrt(2)), (4.0, 2.0)):
        wrong = (np.array([0.0, l1, l1]), np.array([0.0, l2, l2]))
        monkeypatch.setattr(inspector, "level_sensitivities", lambda *given, wrong=wrong: wrong)
        assert not inspect(tree, unit).holds


def test_stacked_sensitivities_are_those_of_the_protected_unit() -> None:
    for relation in RELATIONS:
        unit = ProtectedUnit(relation, 7)
        for spread in Spread:
            if spread is Spread.STACKED:
                l1, l2 = level_sensitivities(unit, capacities_of_domain((3, 4)), spread)
                assert l1.tolist() == unit.l1_sensitivity(3).tolist()
                assert l2.tolist() == unit.l2_sensitivity(3).tolist()


def test_distinct_sensitivities_never_exceed_stacked_ones() -> None:
    for relation in (NeighbouringRelation.ADD_OR_REMOVE_ONE, NeighbouringRelation.REPLACE_ONE):
        for m in (1, 2, 5, 50, 1000):
            unit = ProtectedUnit(relation, m)
            for sizes in ((2, 2), (10, 10, 10), (3, 7, 2)):
                pairs = zip(
                    level_sensitivities(unit, capacities_of_domain(sizes), Spread.DISTINCT),
                    level_sensitivities(unit, capacities_of_domain(sizes)),
                    strict=True,
                )
                assert all((distinct <= stacked).all() for distinct, stacked in pairs)


def test_capacities_of_trees_and_domains_agree() -> None:
    for sizes in ((2, 3), (4, 1, 2)):
        assert capacities_of_tree(Tree.from_branching_factors(sizes)) == capacities_of_domain(sizes)
    assert capacities_of_tree(RAGGED[0])[2] == Capacities(((1, 3),), elsewhere=1)
    assert Capacities(((4, 1), (3, 2))).largest_squares(9) == 16 + 9 + 4
    assert Capacities(((1, 3),)).largest_squares(9) == 3


@pytest.mark.parametrize("relation", RELATIONS)
def test_large_trees_and_unknown_columns_on_distinct_leaves_are_refused(relation: NeighbouringRelation) -> None:
    big = Tree.from_branching_factors((50, 50))
    with refuses("INSPECTOR_SIZE", "smaller tree"):
        inspect(big, ProtectedUnit(relation, 3))
    if relation is NeighbouringRelation.REPLACE_ONE:  # C(40, 20) pairs, although only one set has all 20 leaves
        with pytest.raises(InputError, match="137\u202f846\u202f528\u202f820 pairs"):
            inspect(Tree.from_branching_factors((20,)), ProtectedUnit(relation, 20), Spread.DISTINCT)
    if relation is NeighbouringRelation.REPLACE_UNKNOWN:
        with refuses("CONTRIBUTIONS_SPREAD"):
            inspect(UNIFORM[0], ProtectedUnit(relation, 2), Spread.DISTINCT)


def test_a_number_of_pairs_too_long_to_write_is_refused_in_one_sentence() -> None:
    """251^2000 has 4,800 digits, more than Python writes."""
    big = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 1000)
    with refuses("INSPECTOR_SIZE", r"about 10\^4799 pairs") as refusal:
        inspect(Tree.from_branching_factors((250,)), big)
    assert len(str(refusal.value)) < 250


def test_few_pairs_on_many_nodes_are_refused_before_they_fill_the_memory() -> None:
    """100,001 pairs of 100,001 counts each would be 80 gigabytes."""
    with refuses("INSPECTOR_SIZE", "at most 999 are tried"):
        inspect(Tree.from_branching_factors((100_000,)), ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE))


def test_blocks_of_pairs_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE, 2)
    whole = inspect(RAGGED[1], unit)
    monkeypatch.setattr(inspector, "_BLOCK_CELLS", 50)
    parts = inspect(RAGGED[1], unit)
    assert parts.example == whole.example and parts.cost_rho == whole.cost_rho
    assert (parts.l2_enumerated == whole.l2_enumerated).all()


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("tree", [*UNIFORM[:5], RAGGED[1]])
def test_every_pair_is_enumerated(tree: Tree, m: int) -> None:
    """By combinatorics: multisets (or sets, on distinct leaves) of up to m leaves; before and after under replace one.

    A record of which some columns are known is absent on both sides, comes, goes, or moves below its known node.
    """
    n = tree.n_leaves
    stacked, distinct = ([count(n, k) for k in range(m + 1)] for count in (lambda n, k: comb(n + k - 1, k), comb))
    add, replace = NeighbouringRelation.ADD_OR_REMOVE_ONE, NeighbouringRelation.REPLACE_ONE
    assert inspect(tree, ProtectedUnit(add, m)).n_pairs == sum(stacked)
    assert inspect(tree, ProtectedUnit(replace, m)).n_pairs == sum(k * k for k in stacked)
    assert inspect(tree, ProtectedUnit(add, m), Spread.DISTINCT).n_pairs == sum(distinct)
    assert inspect(tree, ProtectedUnit(replace, m), Spread.DISTINCT).n_pairs == sum(k * k for k in distinct)
    for known in (1, 2):
        groups: dict[tuple[int, ...], int] = {}
        for leaf in tree.leaves.tolist():
            up = [leaf]
            while up[-1] > 0:
                up.append(int(tree.parent[up[-1]]))
            above = tuple(up[::-1][:known])
            groups[above] = groups.get(above, 0) + 1
        moves = 1 + 2 * n + sum(size * size for size in groups.values())
        assert inspect(tree, ProtectedUnit(UNKNOWN, m, known)).n_pairs == comb(moves + m - 1, m)


def test_the_change_of_distinct_leaves_is_rounded_up() -> None:
    """Exactly, for every number of records: the square of what is returned is at least the sum of squares."""
    levels = capacities_of_domain((7, 6))
    for m in range(2, 30):
        unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE, m)
        _, l2 = level_sensitivities(unit, levels, Spread.DISTINCT)
        for one, level in zip(l2.tolist(), levels, strict=True):
            assert Fraction(one) ** 2 >= level.largest_squares(m)
