"""Budget splits: what they cost, and that the minimax shares do what they claim, by dense algebra."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles_tree import generalised_least_squares, leaf_matrix, level_starts, random_parents
from refusals import refuses
from treedp_core.allocation import ALLOCATIONS, minimax, split
from treedp_core.allocation.shares import PUBLISHED_SPLITS
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit, exact_shares
from treedp_core.tree import Tree

ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
REPLACE = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
SHAPES = [(2,), (2, 2), (2, 2, 2), (3, 2), (4, 2, 3), (5,), (1, 3), (3, 1, 2)]


def parents(tree: Tree) -> list[int]:
    return tree.parent.tolist()


@pytest.mark.parametrize("shape", SHAPES)
def test_minimax_gives_every_node_the_same_variance(shape: tuple[int, ...]) -> None:
    """Gaussian noise, variance 1/(2 rho_l) a level: after dense least squares every node has gamma_2^2 / (2 rho)."""
    tree = Tree.from_branching_factors(shape)
    shares = minimax.shares(tree, ADD, Currency.RHO, ())
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    with np.errstate(divide="ignore"):
        variance = np.repeat(np.where(shares > 1e-15, 1 / (2 * shares), np.inf), tree.level_sizes)
    _, after = generalised_least_squares(parents(tree), np.zeros(tree.n_nodes), variance)
    np.testing.assert_allclose(after, minimax.squared_norm(shape) / 2, rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_minimax_with_a_public_total(shape: tuple[int, ...]) -> None:
    """Replaced records, variance 1/rho_l a level, the root known: every node not known has V' / rho."""
    tree = Tree.from_branching_factors(shape)
    shares = minimax.shares(tree, REPLACE, Currency.RHO, ())
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    with np.errstate(divide="ignore"):
        variance = np.repeat(np.where(shares > 1e-15, 1 / shares, np.inf), tree.level_sizes)
    variance[0] = 0.0
    _, after = generalised_least_squares(parents(tree), np.zeros(tree.n_nodes), variance)
    unknown = after > 1e-12
    np.testing.assert_allclose(after[unknown], minimax.squared_norm(shape, public_root=True), rtol=1e-9)
    assert not unknown[0]


@pytest.mark.parametrize("shape", [(2,), (2, 2), (2, 2, 2), (3, 2), (4, 2, 3)])
def test_no_gaussian_mechanism_beats_minimax(shape: tuple[int, ...]) -> None:
    """The nuclear norm of the workload, rows weighted by level masses, bounds gamma_2 below (Ghazi et al., Thm A.3).

    The masses are p_j proportional to (T_j - T_(j+1)) / s_j^2 with T_0 = K^2, T_(i+1) = (s_i / (n_(i+1) + 1))^2.
    """
    tree = Tree.from_branching_factors(shape)
    workload = leaf_matrix(parents(tree))
    below = [int(np.prod(shape[i:])) for i in range(len(shape) + 1)]
    t = [below[0] ** 2, *((below[i] / (n + 1)) ** 2 for i, n in enumerate(shape)), 0.0]
    mass = np.array([(t[j] - t[j + 1]) / below[j] ** 2 for j in range(len(shape) + 1)])
    weights = np.repeat(mass / mass.sum() / tree.level_sizes, tree.level_sizes)
    weighted = np.sqrt(weights)[:, None] * workload / np.sqrt(workload.shape[1])
    lower = np.linalg.svd(weighted, compute_uv=False).sum() ** 2
    assert minimax.squared_norm(shape) == pytest.approx(lower, rel=1e-10)


def test_minimax_spends_square_roots_on_laplace_noise() -> None:
    """Precision is quadratic in epsilon: Laplace variance 2/epsilon_l^2 must follow the same profile."""
    tree = Tree.from_branching_factors((3, 4))
    epsilons, rhos = (minimax.shares(tree, ADD, currency, ()) for currency in (Currency.EPSILON, Currency.RHO))
    np.testing.assert_allclose(epsilons**2 / epsilons[0] ** 2, rhos / rhos[0], rtol=1e-12)


UNITS = [
    ProtectedUnit(relation, m, known) for relation, m, known in itertools.product(NeighbouringRelation, (1, 3), (1, 2))
]


@given(
    st.integers(1, 40),
    st.integers(0, 999),
    st.floats(1e-4, 100),
    st.sampled_from(UNITS),
    st.sampled_from(["uniform", "leaves_only", "minimax"]),
    st.sampled_from(list(Currency)),
)
def test_no_split_ever_charges_more_than_the_total(
    n_nodes: int, seed: int, total: float, unit: ProtectedUnit, allocation: str, currency: Currency
) -> None:
    parent = random_parents(np.random.default_rng(seed), n_nodes)
    tree = Tree(np.array(parent), np.array(level_starts(parent)))
    budget = split(tree, total, currency, unit, allocation)
    amounts = [Fraction(0) if np.isinf(a) else Fraction(a) for a in budget.per_level]
    cost = sum(amounts)
    if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        cost = max(cost, 2 * sum(amounts[unit.known_levels :]))
    assert cost <= Fraction(total)
    nothing_to_spend_on = unit.total_is_public and (tree.n_levels == 1 or cost == 0)
    assert nothing_to_spend_on or cost >= Fraction(total) * Fraction(1 - 1e-12)
    assert np.isinf(budget.per_level[0]) == unit.total_is_public


def test_leaves_only_measures_every_level_that_holds_leaves() -> None:
    ragged = Tree.from_child_counts([np.array([3]), np.array([0, 2, 1]), np.array([1, 1, 1])])
    assert split(ragged, 1.0, Currency.EPSILON, ADD, "leaves_only").per_level == (0.0, 0.5, 0.0, 0.5)


def test_custom_shares_are_kept_and_what_they_leave_is_not_spent() -> None:
    tree = Tree.from_branching_factors((2, 2))
    assert split(tree, 2.0, Currency.EPSILON, ADD, "custom", (0.25, 0.0, 0.5)).per_level == (0.5, 0.0, 1.0)
    assert split(tree, 1.0, Currency.EPSILON, ADD, "custom", (0.1, 0.2, 0.7)).per_level[2] <= 0.7


@pytest.mark.parametrize(
    "custom", [(0.1, 0.2, 0.7000001), (0.5, 0.5), (), (0.0, 0.0, 0.0), (-0.1, 0.5, 0.5), (2.0, 0, 0)]
)
def test_custom_shares_that_do_not_fit_are_refused(custom: tuple[float, ...]) -> None:
    with refuses("BUDGET_SPLIT"):
        split(Tree.from_branching_factors((2, 2)), 1.0, Currency.EPSILON, ADD, "custom", custom)


def test_cube_roots_are_for_laplace_noise_and_square_roots_for_gaussian() -> None:
    """Prefixes of 2 x 8 leaves use 1, 8 and 56 nodes; a public total needs none."""
    tree = Tree.from_branching_factors((2, 8))
    for currency, power in ((Currency.EPSILON, 1 / 3), (Currency.RHO, 1 / 2)):
        for unit, uses in ((ADD, [1, 8, 56]), (REPLACE, [0, 8, 56])):
            part = np.array(uses, dtype=float) ** power
            np.testing.assert_allclose(ALLOCATIONS["cube_root"].shares(tree, unit, currency, ()), part / part.sum())


def test_published_shares_never_sum_to_more_than_one() -> None:
    """As the allocation "custom" reads them; the Puerto Rico shares rounded to nearest would."""
    for one in PUBLISHED_SPLITS.values():
        assert sum(exact_shares(one.shares)) <= 1
        assert one.shares == pytest.approx([float(share) for share in one.exact], abs=1e-15)
