"""Priors, what they cost and what the ledger says; splits by subtree and by node, priced by enumerating neighbours."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles_budgets import neighbour_changes
from oracles_tree import generalised_least_squares, level_starts, random_parents
from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.prior_provenance import PriorKind, left_after
from treedp_core.records import count_hierarchy, domain_of_paths, domain_of_values, domain_taken_from_the_data
from treedp_core.records.dataset import Dataset
from treedp_core.records.mock_data import generate
from treedp_core.studies.budget import (
    Ledger,
    Origin,
    Prior,
    Problem,
    Question,
    absent_leaves,
    greedy,
    origin_of_text,
    prior_of,
    public_of_file,
)
from treedp_core.studies.budget.figure4 import curves
from treedp_core.studies.budget.prior import by_period, noisy, public, true_counts
from treedp_core.studies.budget.splits.node_budgets import (
    branch,
    node_error,
    node_variance,
    path_charge,
    split_by_subtree,
    topped_up,
)
from treedp_core.tree import Tree

ADD = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
REPLACE = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
UNKNOWN = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, known_levels=2)
RELATIONS = [ADD, REPLACE, UNKNOWN]
TREE = Tree.from_child_counts([np.array([3]), np.array([2, 0, 4]), np.array([0, 3, 0, 0, 2, 1])])
COUNTS = TREE.counts_of_leaves(np.arange(TREE.n_leaves) * 3)


def random_tree(seed: int, n_nodes: int) -> tuple[list[int], Tree]:
    parent = random_parents(np.random.default_rng(seed), n_nodes)
    return parent, Tree(np.array(parent), np.array(level_starts(parent)))


# ---- priors


def test_true_counts_say_so_everywhere() -> None:
    prior = true_counts(TREE, COUNTS)
    assert not prior.is_private and prior.label.startswith("NOT PRIVATE")
    ledger = Ledger(ADD, Currency.EPSILON, 1.0, prior, (0.25,) * 4)
    assert ledger.sentence().startswith("NOT PRIVATE")
    assert public(TREE, COUNTS).is_private
    assert "NOT PRIVATE" not in Ledger(ADD, Currency.EPSILON, 1.0, public(TREE, COUNTS), (0.25,) * 4).sentence()


def test_a_noisy_prior_is_charged_and_what_is_left_is_split() -> None:
    prior = noisy(TREE, COUNTS, ADD, "discrete_laplace", 0.3, np.random.default_rng(0))
    assert prior.kind is PriorKind.NOISY and prior.is_private and (prior.counts >= 0).all()
    left = left_after(1.0, prior, Currency.EPSILON)
    assert Fraction(left) + Fraction(0.3) <= 1 and left == pytest.approx(0.7, rel=1e-12)
    a_tenth = left_after(1.0, noisy_prior(0.1), Currency.EPSILON)
    assert Fraction(a_tenth) + Fraction(0.1) <= 1  # the float nearest to the rest would be too much
    problem = Problem(TREE, prior.counts, "discrete_laplace", ADD)
    budget = problem.budget(greedy(problem, left).amounts, left)
    ledger = Ledger(ADD, Currency.EPSILON, 1.0, prior, budget.per_level)
    assert ledger.charged <= 1 and "for the prior 0.3" in ledger.sentence()
    with refuses("BUDGET_EXCEEDED"):
        Ledger(ADD, Currency.EPSILON, 0.99, prior, budget.per_level)


@pytest.mark.parametrize(
    ("unit", "currency"),
    [
        (REPLACE, Currency.EPSILON), (ProtectedUnit(ADD.relation, 10), Currency.EPSILON), (UNKNOWN, Currency.EPSILON),
        (ADD, Currency.RHO),
    ],
)  # fmt: skip
def test_a_ledger_refuses_a_prior_of_others_or_in_another_currency(unit: ProtectedUnit, currency: Currency) -> None:
    prior = noisy_prior(0.5)
    assert Ledger(ADD, Currency.EPSILON, 1.0, prior, (0.125, 0.125, 0.125, 0.125)).charged == 1
    for carried in (prior, prior.origin, origin_of_text(prior.text)):
        with refuses("PRIOR_OTHER"):
            Ledger(unit, currency, 8.0, carried, (0.0, 0.25, 0.25, 0.0))


def test_known_levels_are_compared_where_they_matter() -> None:
    one, other = (ProtectedUnit(UNKNOWN.relation, 1, known) for known in (1, 2))
    prior = noisy(TREE, COUNTS, one, "laplace", 0.5, np.random.default_rng(0))
    with pytest.raises(InputError, match="protect"):
        prior.admit(other, Currency.EPSILON)
    added = noisy_prior(0.5)
    added.admit(ProtectedUnit(ADD.relation, 1, known_levels=3), Currency.EPSILON)


@given(st.floats(1e-300, 100), st.sampled_from(RELATIONS), st.integers(1, 50))
def test_what_a_split_was_tuned_on_survives_a_link_to_the_last_digit(
    spent: float, unit: ProtectedUnit, contributions: int
) -> None:
    protects = ProtectedUnit(unit.relation, contributions, unit.known_levels)
    one = Origin(PriorKind.NOISY, spent, Currency.EPSILON, protects)
    assert origin_of_text(one.text) == one and len(one.text) <= 200
    for kind in (PriorKind.PUBLIC, PriorKind.TRUE_COUNTS):
        assert origin_of_text(Origin(kind).text) == Origin(kind)


@pytest.mark.parametrize(
    "text",
    ["", "free", "noisy", "noisy epsilon 0 replace_one 1 1", "noisy epsilon x replace_one 1 1",
     "noisy epsilon nan replace_one 1 1", "noisy euro 1 replace_one 1 1", "noisy rho 1 nobody 1 1",
     "public epsilon 0.5 replace_one 1 1", "noisy epsilon 0.5 replace_one 0 1"],
)  # fmt: skip
def test_a_link_cannot_say_nonsense_about_a_prior(text: str) -> None:
    with pytest.raises(InputError):
        origin_of_text(text)


@pytest.mark.statistical
def test_a_noisy_prior_is_least_squares_of_equal_noise() -> None:
    """Mean of 4000 root estimates within 6 standard errors (false alarm 2e-9); without the counts it is far off."""
    tree, rng = Tree.from_branching_factors((3,)), np.random.default_rng(1)
    counts = np.array([300, 100, 100, 100])
    draws = np.array([noisy(tree, counts, ADD, "laplace", 1.0, rng).counts for _ in range(4000)])
    # equal budgets of 1/2: variance 8 each; the root's after least squares 1 / (1/8 + 1/24) = 6
    assert abs(draws[:, 0].mean() - 300) < 6 * np.sqrt(6 / 4000)
    assert abs(draws[:, 0].var() / 6 - 1) < 6 * np.sqrt(5 / 4000)
    assert abs(draws[:, 0].var() / 8 - 1) > 6 * np.sqrt(5 / 4000)
    np.testing.assert_allclose(draws[:, 1:].sum(axis=1), draws[:, 0], rtol=1e-9)


def counted(records: str, leaves: str) -> Dataset:
    """Count records such as "a,x a,x" on the tree with such leaves."""
    domain = domain_of_paths(("one,two\n" + leaves.replace(" ", "\n") + "\n").encode())
    file = ("one,two\n" + records.replace(" ", "\n") + "\n").encode()
    return count_hierarchy(file, ("one", "two"), domain=domain, outside="refuse")


def test_a_public_prior_is_matched_leaf_by_leaf() -> None:
    ours, theirs = counted("a,x", "a,x a,y b,x"), counted("b,x b,x a,y", "b,x a,y a,x")
    prior = public_of_file(ours, theirs)
    by_path = {ours.labels.path(int(leaf)): prior.counts[leaf] for leaf in ours.tree.leaves}
    assert by_path == {("a", "x"): 0, ("a", "y"): 1, ("b", "x"): 2}
    other = counted("b,z", "a,x a,y b,z")
    with refuses("PRIOR_LEAVES") as refusal:
        public_of_file(ours, other)
    assert "1 are missing and 1 are not in the data" in str(refusal.value) and "count 0" not in str(refusal.value)


def test_leaves_that_a_prior_lacks_count_0_where_that_is_claimed() -> None:
    ours, theirs = counted("a,x", "a,x a,y b,x b,w"), counted("b,x b,x a,y", "b,x a,y")
    with refuses("PRIOR_LEAVES") as refusal:
        public_of_file(ours, theirs)
    assert absent_leaves(ours, theirs) == 2
    assert str(refusal.value).endswith("say that leaves the file lacks count 0.")
    prior = public_of_file(ours, theirs, absent_are_zero=True)
    by_path = {ours.labels.path(int(leaf)): prior.counts[leaf] for leaf in ours.tree.leaves}
    assert by_path == {("a", "x"): 0, ("a", "y"): 1, ("b", "x"): 2, ("b", "w"): 0}
    assert prior.origin == public_of_file(ours, counted("b,x", "a,x a,y b,x b,w")).origin
    with refuses("PRIOR_LEAVES") as refusal:
        public_of_file(ours, counted("b,z", "b,x b,z"), absent_are_zero=True)
    assert "'b / z'" in str(refusal.value)


def test_the_data_once_more_are_no_public_prior() -> None:
    """Whatever the order of the rows."""
    ours, again = counted("a,x b,x a,x", "a,x a,y b,x"), counted("a,x a,x b,x", "b,x a,y a,x")
    with refuses("PRIOR_IS_DATA"):
        public_of_file(ours, again)


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("PRIOR_EMPTY", lambda: public(TREE, np.zeros(TREE.n_nodes))),
        ("PRIOR_EMPTY", lambda: true_counts(TREE, np.zeros(TREE.n_nodes))),
        ("PRIOR_LEAVES", lambda: public(TREE, np.ones(3))),
        ("PRIOR_LEAVES", lambda: public(TREE, -COUNTS - 1)),
        ("EPS_RANGE", lambda: noisy(TREE, COUNTS, ADD, "laplace", 0.0, np.random.default_rng(0))),
        ("BUDGET_EXCEEDED", lambda: left_after(1.0, noisy_prior(1.0), Currency.EPSILON)),
        ("BUDGET_EXCEEDED", lambda: left_after(1.0, noisy_prior(0.5), Currency.RHO)),
    ],
)
def test_bad_input_has_one_sentence(code: str, call: object) -> None:
    with refuses(code):
        call()  # type: ignore[operator]


def noisy_prior(amount: float) -> Prior:
    return noisy(TREE, COUNTS, ADD, "laplace", amount, np.random.default_rng(0))


@pytest.mark.parametrize(("unit", "cost"), [(ADD, 1.0), (REPLACE, 0.5), (UNKNOWN, 1.0)])
def test_the_ledger_charges_every_level_that_can_change(unit: ProtectedUnit, cost: float) -> None:
    """By hand: the root counts unless its total is public; 2 x 0.25 for the unknown level is less than the sum."""
    assert Ledger(unit, Currency.EPSILON, 1.0, None, (0.5, 0.25, 0.25)).charged == cost
    if cost == 1.0:
        with refuses("BUDGET_EXCEEDED"):
            Ledger(unit, Currency.EPSILON, 1.0, None, (0.5 + 2.0**-53, 0.25, 0.25))  # a sum that floats round to 1


# ---- by node


def loss_of(change: dict[int, int], amounts: np.ndarray, sensitivity: float, gaussian: bool) -> float:
    """Exact price of one change: sum of |change| / scale, or of change^2 / (2 sigma^2), over its nodes."""
    if gaussian:  # sigma^2 = sensitivity^2 / (2 rho)
        return sum(c * c * amounts[v] / sensitivity**2 for v, c in change.items())
    return sum(abs(c) * amounts[v] / sensitivity for v, c in change.items())


@given(st.integers(0, 9999), st.integers(2, 14), st.sampled_from(RELATIONS), st.booleans())
def test_the_largest_path_sum_bounds_every_neighbour(
    seed: int, n_nodes: int, unit: ProtectedUnit, gaussian: bool
) -> None:
    parent, tree = random_tree(seed, n_nodes)
    amounts = np.random.default_rng(seed).uniform(0, 1, n_nodes)
    if unit is REPLACE:
        amounts[0] = 0.0  # the total is public
    sensitivity = {REPLACE: 2**0.5 if gaussian else 2.0}.get(unit, 1.0)
    worst = max(
        (
            loss_of(change, amounts, sensitivity, gaussian)
            for change in neighbour_changes(parent, unit.relation.value, 2)
        ),
        default=0.0,
    )
    price = path_charge(tree, unit, amounts)
    assert worst <= price * (1 + 1e-12)
    if unit is ADD:
        assert worst == pytest.approx(price, rel=1e-12)


def test_the_price_of_node_budgets_is_the_exact_largest_path_rounded_up() -> None:
    """Three sums that floats cannot tell from 1: the largest is 1 + 2^-53, half a step above, and the price a step."""
    tree = Tree.from_branching_factors((2,))
    amounts = np.array([1.0, 2.0**-54, 2.0**-53])
    assert path_charge(tree, ADD, amounts) == 1.0 + 2.0**-52
    assert path_charge(tree, REPLACE, amounts) == 2.0**-53
    assert path_charge(tree, ProtectedUnit(UNKNOWN.relation), np.array([0.25, 0.5, 0.75])) == 1.5


@given(st.integers(0, 9999), st.integers(2, 14), st.sampled_from(RELATIONS))
def test_level_amounts_are_priced_as_by_level_and_the_bound_is_met(
    seed: int, n_nodes: int, unit: ProtectedUnit
) -> None:
    """With two equal branches to the last level the price by path is the price by level, and some neighbour pays it."""
    _, tree = random_tree(seed, n_nodes)
    by_level = np.random.default_rng(seed).uniform(0, 1, tree.n_levels)
    if unit.total_is_public:
        by_level[0] = 0.0
    assert path_charge(tree, unit, np.repeat(by_level, tree.level_sizes)) == unit.charge(by_level.tolist())
    wide = Tree.from_branching_factors((2, 2, 2))
    levels = np.array([0.0 if unit.total_is_public else 0.3, 0.1, 0.7, 0.5])
    amounts = np.repeat(levels, wide.level_sizes)
    changes = neighbour_changes(wide.parent.tolist(), unit.relation.value, 2)
    worst = max(loss_of(change, amounts, 2.0 if unit is REPLACE else 1.0, False) for change in changes)
    assert worst == pytest.approx(path_charge(wide, unit, amounts), rel=1e-12)


@given(st.integers(0, 9999), st.integers(2, 30), st.sampled_from(RELATIONS), st.floats(0.01, 16))
def test_topping_up_leaves_never_costs_more_nor_hurts(
    seed: int, n_nodes: int, unit: ProtectedUnit, total: float
) -> None:
    _, tree = random_tree(seed, n_nodes)
    problem = Problem(tree, np.zeros(n_nodes), "laplace", unit, "rmse")
    if not problem.paid.any():
        return
    shares = np.random.default_rng(seed).dirichlet(np.ones(tree.n_levels)) + 0.01
    levels = np.where(problem.paid > 0, problem.budget(shares, total).per_level, 0.0)
    amounts = topped_up(tree, unit, levels, total)
    assert (amounts >= np.repeat(levels, tree.level_sizes)).all()
    assert path_charge(tree, unit, amounts) <= total
    assert (node_variance(problem, amounts) <= problem.node_variance(levels) * (1 + 1e-9)).all()


def test_leaves_only_on_a_ragged_tree_gains_the_number_of_leaf_levels_squared() -> None:
    """Leaves on levels 1, 2 and 3: by level each gets a third, by node all; Laplace variances fall by 9."""
    tree = Tree.from_child_counts([np.array([2]), np.array([0, 2]), np.array([0, 2])])
    by_level, by_node = np.array([0, 1, 1, 1]) / 3, topped_up(tree, ADD, np.zeros(4), 1.0)
    np.testing.assert_allclose(by_node, tree.is_leaf, rtol=1e-12)
    raw = Problem(tree, np.zeros(7), "laplace", ADD, "rmse", least_squares=False)
    fall = raw.node_variance(by_level)[tree.is_leaf] / node_variance(raw, by_node)[tree.is_leaf]
    np.testing.assert_allclose(fall, 9, rtol=1e-12)
    best = Problem(tree, np.zeros(7), "laplace", ADD, "rmse")
    assert best.error(by_level) > 1.5 * node_error(best, by_node).tree  # also where inner nodes help each other


def test_node_variances_are_those_of_dense_algebra() -> None:
    amounts = np.random.default_rng(3).uniform(0.2, 2, TREE.n_nodes)
    problem = Problem(TREE, COUNTS, "laplace", ADD)
    _, expected = generalised_least_squares(TREE.parent.tolist(), np.zeros(TREE.n_nodes), 2 / amounts**2)
    np.testing.assert_allclose(node_variance(problem, amounts), expected, rtol=1e-9)


def drawn(problem: Problem, amounts: np.ndarray, rng: np.random.Generator, trials: int) -> np.ndarray:
    """Noise (trials, n_nodes) of node amounts: node by node, from the law of a level that spends as much."""
    laws = [
        problem.laws(np.where(np.arange(problem.tree.n_levels) == level, amount, 0.0))[level]
        for level, amount in zip(problem.tree.level_of.tolist(), amounts.tolist(), strict=True)
    ]
    return np.array([np.zeros(trials) if law is None else law.sample(rng, trials) for law in laws]).T


@pytest.mark.statistical
def test_noise_by_node_has_its_variance() -> None:
    """20 000 draws; each variance within 6 standard errors (kurtosis of Laplace 6): false alarm below 1e-7."""
    amounts = topped_up(TREE, ADD, np.array([0.1, 0.2, 0.3, 0.4]), 1.0)
    problem = Problem(TREE, COUNTS, "laplace", ADD, least_squares=False)
    noise = drawn(problem, amounts, np.random.default_rng(2), 20_000)
    ratio = noise.var(axis=0) / node_variance(problem, amounts)
    assert (np.abs(ratio - 1) < 6 * np.sqrt(5 / 20_000)).all()
    assert (np.abs(1.3 * ratio - 1) > 6 * np.sqrt(5 / 20_000)).all()


# ---- by subtree


@given(st.integers(0, 9999), st.integers(4, 40), st.sampled_from(RELATIONS))
def test_every_subtree_may_spend_the_total(seed: int, n_nodes: int, unit: ProtectedUnit) -> None:
    _, tree = random_tree(seed, n_nodes)
    if tree.n_levels < 3:
        return
    counts = tree.counts_of_leaves(np.random.default_rng(seed).integers(0, 3, tree.n_leaves))
    problem = Problem(tree, counts, "laplace", unit)
    found = split_by_subtree(problem, 1.5, 1, lambda one, total: greedy(one, total, 6).amounts)
    assert path_charge(tree, unit, found.node_amounts) <= 1.5
    assert found.node_amounts[0] == 0 and found.pooled.tolist() == (counts[found.nodes] == 0).tolist()


def test_a_subtree_is_tuned_on_its_own_prior_and_an_empty_one_on_all_pooled() -> None:
    """Three copies of one shape, the third without a prior; by hand: each own split is that of the shape alone."""
    tree = Tree.from_branching_factors((3, 2, 2))
    leaf_counts = np.array([400, 300, 200, 100, 1, 0, 2, 0, 0, 0, 0, 0])
    counts = tree.counts_of_leaves(leaf_counts)
    problem = Problem(tree, counts, "laplace", ADD, "rmsre")

    def solve(one: Problem, total: float) -> np.ndarray:
        return greedy(one, total, 10).amounts

    found = split_by_subtree(problem, 1.0, 1, solve)
    assert found.pooled.tolist() == [False, False, True]
    shape = Tree.from_branching_factors((2, 2))
    for i in (0, 1):
        alone = Problem(shape, shape.counts_of_leaves(leaf_counts[4 * i : 4 * i + 4]), "laplace", ADD, "rmsre")
        np.testing.assert_allclose(found.amounts[i, 1:], greedy(alone, 1.0, 10).amounts, rtol=1e-9)
    forest = Problem(tree, counts, "laplace", ADD, "rmsre", first_level=1)
    np.testing.assert_allclose(found.amounts[2], greedy(forest, 1.0, 10).amounts, rtol=1e-9)


def test_a_forest_is_judged_tree_by_tree() -> None:
    """Levels above the first are not measured, so each subtree's variances are those it has alone."""
    tree, shape = Tree.from_branching_factors((3, 2, 2)), Tree.from_branching_factors((2, 2))
    forest = Problem(tree, np.zeros(22), "laplace", REPLACE, "rmse", first_level=1)
    alone = Problem(shape, np.zeros(7), "laplace", ProtectedUnit(ADD.relation, contributions=2), "rmse")
    amounts = np.array([0.2, 0.3, 0.5])
    assert forest.error(np.append(0.0, amounts)) == pytest.approx(alone.error(amounts), rel=1e-12)
    assert np.sqrt(forest.loss(np.append(0.0, amounts))) == pytest.approx(alone.error(amounts), rel=1e-12)
    below, nodes = branch(tree, 3)
    assert below.level_sizes.tolist() == [1, 1, 2, 4] and nodes[:2].tolist() == [0, 3]


def test_curves_by_subtree_beat_one_split_for_all() -> None:
    """Two subtrees that want opposite splits: tuned apart, the greedy curve is no worse than tuned together."""
    tree = Tree.from_branching_factors((2, 6))
    counts = tree.counts_of_leaves(np.array([9, 9, 9, 9, 9, 9, 900, 900, 900, 900, 900, 900]))
    problem = Problem(tree, counts, "laplace", ADD, "rmsre")
    apart = curves(problem, problem, [1.0, 4.0], subtrees_at=1)
    together = Problem(tree, counts, "laplace", ADD, "rmsre", first_level=1)
    for column, total in enumerate([1.0, 4.0]):
        assert apart.errors[4, column] <= together.error(greedy(together, total).amounts) * (1 + 1e-4)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_periods_are_split_as_a_loop_over_the_rows_does(level: int) -> None:
    rng = np.random.default_rng(level)
    columns, sizes = ["a", "b", "c"], (3, 2, 4)
    rows = [tuple(f"{name}{rng.integers(n)}" for name, n in zip(columns, sizes, strict=True)) for _ in range(300)]
    domain = domain_of_values({name: [f"{name}{i}" for i in range(n)] for name, n in zip(columns, sizes, strict=True)})
    lost = [("elsewhere", "b0", "c0")] * 7
    text = "\n".join([",".join(columns), *(",".join(row) for row in rows + lost)])
    data = count_hierarchy(text.encode(), columns, domain=domain)
    name = columns[level - 1]
    earlier = {f"{name}0"} if level < 3 else {"c0", "c2"}
    for keep in ("earlier", "later"):
        found = by_period(data, level, earlier, keep)
        expected = Counter(
            tuple(cell for i, cell in enumerate(row) if i != level - 1)
            for row in rows if (row[level - 1] in earlier) == (keep == "earlier")
        )  # fmt: skip
        leaves = found.tree.leaves
        counted = dict(zip(found.labels.paths_of(leaves), found.counts[leaves].tolist(), strict=True))
        assert counted.pop(("(other)",)) == (7 if keep == "later" else 0)
        assert len(counted) == 24 // sizes[level - 1]
        assert {path: n for path, n in counted.items() if n} == dict(expected)
        assert found.domain_source is data.domain_source and found.counts[0] == found.report.counted
        told = f"The records of the {keep} periods only; the whole table has 307 records."
        assert dict(found.report.notices)["PERIOD"] == told
    before, after = by_period(data, level, earlier, "earlier"), by_period(data, level, earlier)
    assert before.total + after.total == data.total
    prior = public_of_file(after, before)
    assert prior.counts.tolist() == before.counts.tolist() and prior.spent == 0


@pytest.mark.parametrize(
    ("level", "earlier", "code"),
    [(0, ["a0"], "ONE_LEVEL"), (3, ["a0"], "ONE_LEVEL"), (1, [], "PERIOD"), (1, ["a0", "a1"], "PERIOD"),
     (1, ["a7"], "PERIOD")],
)  # fmt: skip
def test_what_is_no_period_is_refused(level: int, earlier: list[str], code: str) -> None:
    data = count_hierarchy(b"a,b\na0,b0\na1,b1\n", ["a", "b"], outside="refuse",
                           domain=domain_of_values({"a": ["a0", "a1"], "b": ["b0", "b1"]}))  # fmt: skip
    with refuses(code):
        by_period(data, level, earlier)


def test_branches_that_end_early_have_no_period_or_are_ambiguous() -> None:
    ragged = count_hierarchy(
        b"a,b,c\na0,b0,\na1,b0,c0\na1,b0,c1\n", ["a", "b", "c"], domain=domain_taken_from_the_data()
    )
    for level, said in ((3, "end above"), (1, "goes on")):
        with pytest.raises(InputError, match=said):
            by_period(ragged, level, ["c0"] if level == 3 else ["a0"])


def test_a_private_historic_prior_costs_what_a_noisy_one_does_and_errs_as_its_noise() -> None:
    tree = Tree.from_branching_factors((2, 3))
    then, now = (tree.counts_of_leaves(np.arange(6) * k + 40) for k in (5, 8))
    data = generate("uniform", 100, "2,3", 1)
    earlier, unit = public(tree, then), ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    made = []
    for seed in range(3000):
        one = Experiment("laplace", epsilon=2.0, relation="add_or_remove_one", seed=seed)
        asked = Question(one, 20, "earlier", 0.6)
        made.append(prior_of(asked, replace(data, tree=tree, counts=now), earlier))
    assert asked.pays and asked.from_file
    assert {prior.spent for prior in made} == {0.6} and {prior.unit for prior in made} == {unit}
    assert "released for ε = 0.6" in made[0].label and made[0].kind is PriorKind.NOISY
    errors = np.array([prior.counts for prior in made]) - then
    noise = np.repeat(2 * (3 / 0.6) ** 2, 9)  # three levels share 0.6
    variance = generalised_least_squares([-1, 0, 0, 1, 1, 1, 2, 2, 2], np.zeros(9), noise)[1]
    square = np.square(errors).sum(axis=1)
    far = np.abs(square.mean() - variance.sum() * np.array([0.9, 1.0, 1.1])) / (square.std() / 3000**0.5)
    assert far[1] < 4 < far[[0, 2]].min()
    assert (np.abs(errors.mean(axis=0)) < 4 * errors.std(axis=0) / 3000**0.5).all()
