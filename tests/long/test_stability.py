"""The stability histogram: its delta by listing every output, its error by listing every draw."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.stability import exact_delta, neighbours, outputs, path, pmf, worst_delta
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.mechanisms.stability import LAWS, stability
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.studies.multiplicative.run import run
from treedp_core.studies.multiplicative.simple import deep_tree, small_tree
from treedp_core.studies.topdown import Wanted, made_up, on_leaves

ADD, REPLACE, UNKNOWN = NeighbouringRelation


PARENTS = (
    [-1, 0, 0], [-1, 0, 0, 0], [-1, 0, 0, 1, 1], [-1, 0, 0, 1, 1, 2], [-1, 0, 0, 1, 1, 2, 2], [-1, 0, 1, 1],
    [-1, 0, 0, 0, 1, 1], [-1, 0, 1, 1, 2, 2], [-1, 0, 0, 2, 3, 3], [-1, 0, 0, 1, 2, 3, 3],
)  # fmt: skip
"""Trees of two to four levels, half of them with leaves that end early."""
UNITS = [
    ProtectedUnit(relation, m, known)
    for relation, m, known in (
        (UNKNOWN, 1, 1), (UNKNOWN, 1, 2), (UNKNOWN, 2, 1), (UNKNOWN, 1, 3), (ADD, 1, 1), (ADD, 2, 1), (REPLACE, 1, 1),
    )
]  # fmt: skip
CASES = [(PARENTS[i % len(PARENTS)], UNITS[i % len(UNITS)], LAWS[0]) for i in range(15)] + [
    (parent, unit, LAWS[1]) for parent, unit in zip(PARENTS, (*UNITS[:2], *UNITS[3:5], UNITS[6]), strict=False)
]


@pytest.mark.parametrize(("parent", "unit", "law"), CASES)
def test_exact_delta_of_every_neighbour_on_twenty_trees(parent: list[int], unit: ProtectedUnit, law: str) -> None:
    """Kept by what is told; a threshold lower by one breaks it wherever a tree has the room.

    That is where all records of a unit can lie apart below the root; else the tree, not the threshold, leaves some.
    """
    epsilon, delta, pairs = 2.0, 1e-3, list(neighbours(parent, unit))
    of_level = [len(path(parent, node)) - 1 for node in range(len(parent))]
    n = 1 + max(of_level)
    made = stability(unit, range(n), epsilon, delta, law)
    told = {node for node, level in enumerate(of_level) if level or unit.relation is not REPLACE}
    assert worst_delta(made, told, pairs, epsilon) <= delta * (1 + 1e-9)
    leaves = set(range(len(parent))) - set(parent)
    alone = stability(unit, range(n - 1, n), epsilon, delta, law)
    assert worst_delta(alone, leaves, pairs, epsilon) <= delta * (1 + 1e-9)
    deepest = [set(path(parent, leaf)[1:]) for leaf in leaves if of_level[leaf] == n - 1]
    room = unit.contributions == 1 or any(a.isdisjoint(b) for a, b in combinations(deepest, 2))
    for one, nodes in ((made, told), (alone, leaves))[not room :]:
        assert worst_delta(replace(one, threshold=one.threshold - 1), nodes, pairs, epsilon) > delta


@pytest.mark.parametrize("m", [1, 2, 3])
def test_a_known_root_costs_nothing_twice(m: int) -> None:
    """Beside leaves: a record that moves leaves the root alone, so both levels have half of epsilon and not a quarter.

    From where on counts are told is sought from the definition of the noise: told is one node that m records left, or
    m of which one left each; on the root it is one.
    """
    made = stability(ProtectedUnit(UNKNOWN, m), range(2), 1.0, 1e-3, "discrete_laplace")
    assert vars(made.law) == {"inverse_scale": pytest.approx(0.5 / m, rel=1e-15)}
    noise = pmf(made.law)

    def told(threshold: int) -> float:
        alone, together = (math.fsum(p for k, p in noise.items() if k + c >= threshold) for c in (1, m))
        return 1.0 - (1.0 - together) * min(1.0 - together, (1.0 - alone) ** m)

    assert made.threshold == next(t for t in range(1, 300) if told(t) <= 1e-3)
    if m == 1:
        assert made.threshold == 16 and told(16) == pytest.approx(6.9e-4, abs=5e-6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    relation=st.sampled_from(NeighbouringRelation), m=st.integers(1, 8), known=st.integers(1, 5), n=st.integers(2, 6),
    epsilon=st.floats(0.01, 8.0), delta=st.floats(1e-9, 1e-2),
)  # fmt: skip
def test_what_is_charged_is_the_largest_loss_of_any_way_to_differ(
    relation: NeighbouringRelation, m: int, known: int, n: int, epsilon: float, delta: float
) -> None:
    """A unit comes, goes, or moves on what is unknown: noise is what the worst of these needs, and no wider."""
    made = stability(ProtectedUnit(relation, m, known), range(n), epsilon, delta, LAWS[0])
    spent = vars(made.law)["inverse_scale"] * m * most_moved(relation, known, n)
    assert spent == pytest.approx(epsilon, rel=1e-9) and spent <= epsilon


@pytest.mark.parametrize("known", [1, 2, 3])
@pytest.mark.parametrize("relation", NeighbouringRelation)
def test_gaussian_noise_is_that_of_as_many_levels_as_counts_move(relation: NeighbouringRelation, known: int) -> None:
    """Squares of moves on two counts of a level add up like those on two levels."""
    made = stability(ProtectedUnit(relation, 2, known), range(3), 1.0, 1e-6, LAWS[1])
    same = stability(ProtectedUnit(ADD, 2), range(most_moved(relation, known, 3)), 1.0, 1e-6, LAWS[1])
    assert vars(made.law)["sigma"] == pytest.approx(vars(same.law)["sigma"], rel=1e-3)


def most_moved(relation: NeighbouringRelation, known: int, n: int) -> int:
    """Counts that move when one record comes, goes, or moves on what is unknown: the worst of these."""
    apart = n - min(known, n)
    return {ADD: n, REPLACE: 2 * (n - 1), UNKNOWN: max(n, 2 * apart)}[relation]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("alpha", [0.0, 0.35])
def test_the_error_is_that_of_every_draw(law: str, alpha: float) -> None:
    made = stability(ProtectedUnit(ADD), range(2), 2.0, 1e-4, law)
    counts = [0, 1, 3, made.threshold - 1, made.threshold, made.threshold + 4, 60, 200]
    for count, error in zip(counts, made.error(np.array(counts), alpha).tolist(), strict=True):
        listed = math.fsum(
            p * max(abs(out - count) - alpha * count, 0.0) ** 2
            for out, p in outputs(pmf(made.law), made.threshold, count).items()
        )
        assert error == pytest.approx(math.sqrt(listed), rel=1e-9, abs=1e-12)
    assert made.worst(alpha) == pytest.approx(float(made.error(np.arange(400), alpha).max()), rel=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_drawn_releases_err_as_the_formula_says(law: str) -> None:
    made = stability(ProtectedUnit(ADD), range(3), 1.0, 1e-6, law)
    counts = np.repeat([0, made.threshold - 2, made.threshold, 3 * made.threshold], 4000)
    told = made.release(counts, np.random.default_rng(4)).reshape(4, -1)
    square = np.square(told - counts.reshape(4, -1))
    formula = made.error(counts.reshape(4, -1)[:, 0]) ** 2
    spread = 4 * square.std(axis=1) / 4000**0.5 + 1e-3
    assert (np.abs(square.mean(axis=1) - formula) <= spread).all() and not told[0].any()
    for times in (0.81, 1.21):
        assert (np.abs(square.mean(axis=1) - times * formula)[2:] > spread[2:]).all()


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    relation=st.sampled_from(NeighbouringRelation), known=st.integers(1, 3), n=st.integers(1, 3),
    epsilon=st.floats(0.7, 4.0), delta=st.floats(1e-5, 1e-2),
)  # fmt: skip
def test_gaussian_noise_and_threshold_keep_one_delta_together(
    relation: NeighbouringRelation, known: int, n: int, epsilon: float, delta: float
) -> None:
    """Whichever nodes of one record are left, new or common, by listing all that can be told; none lower would do."""
    lowest_threshold(ProtectedUnit(relation, 1, known), n, epsilon, delta)


@pytest.mark.parametrize(
    ("relation", "n", "epsilon", "delta", "worst"),
    [(REPLACE, 2, 0.3, 1e-2, (2, 0, 2)), (REPLACE, 3, 1.0, 1e-2, (3, 0, 3))],
)
def test_a_threshold_is_higher_where_noise_and_what_is_told_lose_more_together(
    relation: NeighbouringRelation, n: int, epsilon: float, delta: float, worst: tuple[int, int, int]
) -> None:
    """Than either loses alone: where all nodes that a record leaves are told of, and those it comes to are common."""
    assert lowest_threshold(ProtectedUnit(relation), n, epsilon, delta) == worst


def lowest_threshold(unit: ProtectedUnit, n: int, epsilon: float, delta: float) -> tuple[int, int, int]:
    """Check that a threshold of n levels is the lowest; return which nodes are left, new and common below it."""
    made = stability(unit, range(n + unit.total_is_public), epsilon, delta, LAWS[1])
    ways = [way for way in product(range(n + 1), range(n + 1), range(2 * n + 1)) if differs(unit, n, *way)]
    changes = {way: [(1, 0)] * way[0] + [(0, 1)] * way[1] + [(150, 151)] * way[2] for way in ways}
    assert max(exact_delta(made, one, epsilon) for one in changes.values()) <= delta * (1 + 1e-9)
    low = replace(made, threshold=made.threshold - 1)
    lost = {way: exact_delta(low, one, epsilon) for way, one in changes.items()}
    worst = max(lost, key=lost.__getitem__)
    assert lost[worst] > delta
    return worst


def differs(unit: ProtectedUnit, n: int, left: int, new: int, common: int) -> bool:
    """Whether one record can leave so many nodes, come to new ones and change others, all its levels apart."""
    apart = n if unit.total_is_public else n - min(unit.known_levels, n)
    moved = unit.by_pairs and max(left, new) <= apart and left + new + common == 2 * apart
    return moved or (not unit.total_is_public and min(left, new) == 0 and left + new + common == n)


def test_all_of_delta_is_for_the_noise_and_for_what_is_told_of_new_nodes() -> None:
    made = stability(ProtectedUnit(ADD), range(2), 1.0, 1e-4, "discrete_gaussian")
    assert exact_delta(made, [(400, 401)] * 2, 1.0) == pytest.approx(1e-4, rel=2e-3)
    told = [math.fsum(p for k, p in pmf(made.law).items() if count + k >= made.threshold) for count in (1, 2)]
    assert 1 - (1 - told[0]) ** 2 <= 1e-4 < 1 - (1 - told[1]) ** 2


def test_of_several_records_half_of_delta_is_for_the_noise_and_half_for_what_is_new() -> None:
    """As some of them may leave a node on which others stay."""
    made = stability(ProtectedUnit(ADD, 2), range(1), 1.0, 1e-4, "discrete_gaussian")
    assert exact_delta(made, [(400, 402)], 1.0) == pytest.approx(5e-5, rel=2e-3)
    told = [math.fsum(p for k, p in pmf(made.law).items() if count + k >= made.threshold) for count in (2, 3)]
    assert told[0] <= 5e-5 < told[1]


@pytest.mark.parametrize("levels", [64, 65, 200])
def test_of_many_levels_what_is_told_of_new_nodes_has_all_of_delta(levels: int) -> None:
    """From 65 on by the formula, where numbers of levels with nodes that are left are looked at in groups."""
    made = stability(ProtectedUnit(ADD), range(levels), 1.0, 1e-6, LAWS[1])
    above, below = (-math.expm1(levels * math.log1p(-float(made.law.tail(made.threshold - c)) / 2)) for c in (2, 3))
    assert above <= 1e-6 < below


def test_nothing_is_told_of_a_count_of_0() -> None:
    low = replace(stability(ProtectedUnit(ADD), range(1), 1.0, 1e-6, "discrete_laplace"), threshold=1)
    assert not low.release(np.zeros(1000), np.random.default_rng(1)).any()


def test_known_thresholds_and_refusals() -> None:
    assert stability(ProtectedUnit(ADD), range(1), 1.0, 1e-6, "discrete_laplace").threshold == 15
    assert "by numerical accounting" in stability(ProtectedUnit(ADD), range(2), 1.0, 1e-6, LAWS[1]).guarantee.sentence()
    with pytest.raises(InputError, match="stability histogram needs delta > 0"):
        stability(ProtectedUnit(ADD), range(1), 1.0, 0.0, "discrete_laplace")
    with pytest.raises(InputError, match="law"):
        stability(ProtectedUnit(ADD), range(1), 1.0, 1e-6, "laplace")


@pytest.mark.parametrize("law", LAWS)
def test_the_chance_to_be_told_is_that_of_every_draw(law: str) -> None:
    made = stability(ProtectedUnit(ADD), range(1), 1.0, 1e-4, law)
    counts = np.arange(0, 3 * made.threshold)
    for count, told in zip(counts.tolist(), made.told(counts).tolist(), strict=True):
        listed = math.fsum(p for out, p in outputs(pmf(made.law), made.threshold, count).items() if out)
        assert told == pytest.approx(listed, rel=1e-9, abs=1e-15)


def test_leaves_alone_add_up_and_lose_small_leaves_together() -> None:
    """Beside thresholds the leaves win where they are large, and lose where most records are on small ones."""
    asked = Experiment("gaussian", epsilon=1.0, delta=1e-6, alpha=0.5, relation="add_or_remove_one", seed=1)
    small = run(small_tree(), "tuned", asked)
    told, tree = small.nodes.simple["stability_leaves"].released, small.source.tree
    leaves = told[tree.is_leaf]
    np.testing.assert_array_equal(told, tree.counts_of_leaves(leaves.astype(int)))
    assert small.small_leaves == (15, 5 / 15_600) and set(leaves[small.nodes.truth[tree.is_leaf] == 0]) == {0}
    assert (leaves[leaves > 0] >= 15).all() and np.abs(leaves - small.nodes.truth[tree.is_leaf]).max() < 40
    wins = [made.largest_error("stability_leaves") < made.largest_error()
            for made in (run(deep_tree(300, 1000, 1, mean), "tuned", asked) for mean in (50, 2))]  # fmt: skip
    assert wins == [True, False]


def test_on_leaves_of_a_table_is_exact() -> None:
    people = made_up((4, 4), 500, 1)
    found = on_leaves(people, Wanted(0.02, 1e-6, ProtectedUnit(ADD), None, Spread.STACKED, "intopt"))
    counts, rng = people.table.counts, np.random.default_rng(3)
    drawn = np.array([found.made.release(counts, rng) for _ in range(4000)])
    for each, exact in (
        (np.square(drawn - counts).sum(axis=1) / 16, found.rmse**2),
        ((drawn > 0).sum(axis=1), found.told),
        (np.where(drawn > 0, counts, 0).sum(axis=1) / 500, found.kept),
    ):
        error = 4 * each.std() / 4000**0.5
        for times in (0.9, 1.0, 1.1):
            assert (abs(each.mean() - times * exact) <= error) == (times == 1.0)
