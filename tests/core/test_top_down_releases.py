"""The numbers of the page TopDown: columns in any order, one release beside the truth, and releases compared."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from oracles_pages import dataset
from oracles_top_down import HUGE, RECORDS, product_data
from refusals import refuses
from treedp_core.allocation import ALLOCATIONS
from treedp_core.errors.compare import BiasBySize, Compared, Ways, bias_by_size, mean_and_error
from treedp_core.figures import topdown
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.studies.topdown import (
    Wanted,
    compare_rules,
    draw,
    draws,
    is_product,
    made_up,
    product_of_columns,
    rules_for,
    tree_as_it_is,
)
from treedp_core.studies.topdown.contingency_table import union_tree
from treedp_core.studies.topdown.release_spec import RULES, allocations_for
from treedp_core.studies.topdown.tables import level_table
from treedp_core.tree import Tree
from treedp_core.tree.leaf_table import count_leaves
from treedp_core.watch import Cancelled, Watch


@pytest.mark.parametrize("order", [*itertools.permutations(range(3)), (2,), (1, 0)])
def test_columns_in_any_order_hold_the_same_records(order: tuple[int, ...]) -> None:
    what = product_of_columns(product_data(), order)
    expected: dict[tuple[int, ...], int] = {}
    for record in RECORDS:
        key = tuple(record[i] for i in order)
        expected[key] = expected.get(key, 0) + 1
    found = dict(zip(map(tuple, what.table.codes.tolist()), what.table.counts.tolist(), strict=True))
    assert found == expected
    assert what.columns == tuple(f"c{i}" for i in order)
    assert what.tree is not None
    assert what.labels is not None
    assert what.counts is not None
    for leaf in what.tree.leaves.tolist():
        path = tuple(int(label.split("=")[1]) for label in what.labels.path(leaf))
        assert what.counts[leaf] == expected.get(path, 0)


def test_products_are_told_from_nested_trees() -> None:
    assert is_product(product_data())
    nested = dataset(Tree.from_branching_factors((2, 3)), [1] * 6)  # labels of each family are their own
    assert not is_product(nested)


def test_categories_per_column_that_cannot_be_are_refused_before_anybody_is_made_up() -> None:
    for sizes, code in (((10,) * 17, "TOO_MANY_LEVELS"), ((10, 1), "ONE_CATEGORY"), ((), "NO_LEVELS")):
        with refuses(code):
            made_up(sizes, 1_000_000, 7)


def test_the_level_table_by_hand() -> None:
    """Three columns, rho = 1, one record replaced: sigma^2 = d / rho = 3 on every level but the public root."""
    what = product_of_columns(product_data(), (0, 1, 2))
    wanted = Wanted(1.0, 1e-6, HUGE.unit, None, Spread.STACKED, "intopt")
    rows = level_table(what, wanted.plan(what), 0.9)
    assert rows["cells"] == [1, 2, 6, 12]
    np.testing.assert_allclose(rows["σ (records)"], [0, 3**0.5, 3**0.5, 3**0.5])
    np.testing.assert_allclose(rows["share of ρ"], [0, 1 / 3, 1 / 3, 1 / 3])
    by_hand = [sum(math.sqrt(8 * 3 * math.log(k * n / 0.1)) for n in (2, 6, 12)[:k]) for k in (1, 2, 3)]
    np.testing.assert_allclose(rows["bound"], [0, *by_hand])
    assert all(exact <= printed for exact, printed in zip(rows["by exact tails"], rows["bound"], strict=True))


@pytest.mark.parametrize(
    ("order", "known"), [((0, 1, 2), 3), ((1, 0, 2), 3), ((2, 0, 1), 1), ((0, 2, 1), 2), ((1,), 2), ((2,), 1)]
)
def test_known_levels_follow_their_columns(order: tuple[int, ...], known: int) -> None:
    """Columns 0 and 1 are known, 2 is not: below it nothing is, so a level there counts twice in the charge."""
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 1, known_levels=3)
    what = product_of_columns(product_data(), order)
    ready = Wanted(1.0, 1e-6, unit, None, Spread.STACKED, "intopt").plan(what)
    assert ready.unit.known_levels == known
    spent = np.array(ready.budget.per_level)
    assert max(spent.sum(), 2 * spent[known:].sum()) == pytest.approx(1.0)


def test_any_allocation_splits_rho_over_the_levels_that_are_measured() -> None:
    """By hand: uses of a level by all prefixes are K (n - 1) / 2, so square roots of 1, 2 and 1; the root is public."""
    what = product_of_columns(product_data(), (0, 1, 2))
    wanted = Wanted(1.0, 1e-6, HUGE.unit, None, Spread.STACKED, "intopt", "cube_root")
    assert (wanted.split, replace(wanted, allocation="custom").split) == ("Cube root", "Uniform")
    spent = np.array(wanted.plan(what).budget.per_level[1:])
    np.testing.assert_allclose(spent / spent[0], [1.0, 2**0.5, 1.0])
    assert wanted.plan(what).guarantee.rho == pytest.approx(1.0)
    assert wanted.for_orders().plan(what).budget == replace(wanted, allocation="uniform").plan(what).budget


def test_without_a_tree_only_allocations_that_need_none_are_allowed() -> None:
    assert allocations_for(made_up((10,) * 9, 10, 7)) == ["uniform", "custom"]
    assert allocations_for(product_of_columns(product_data(), (0, 1, 2))) == list(ALLOCATIONS)


def test_a_tree_that_is_no_product_has_the_same_plan_where_it_is_one() -> None:
    data = product_data()
    for relation in NeighbouringRelation:
        wanted = Wanted(0.7, 1e-6, ProtectedUnit(relation, 2), (0.25, 0.25, 0.3, 0.2), Spread.STACKED, "intopt")
        as_product = wanted.plan(product_of_columns(data, (0, 1, 2)))
        as_tree = wanted.plan(tree_as_it_is(data))
        np.testing.assert_array_equal(as_product.sigmas, as_tree.sigmas)
        assert as_product.budget == as_tree.budget
        assert as_product.cells == as_tree.cells
        assert as_product.guarantee == as_tree.guarantee


@pytest.mark.parametrize("rule", RULES)
def test_without_noise_every_rule_returns_the_truth(rule: str) -> None:
    what = product_of_columns(product_data(), (1, 0, 2))
    one = draw(what, Wanted(900.0, 1e-6, HUGE.unit, None, Spread.STACKED, rule), 7)
    assert what.counts is not None
    np.testing.assert_allclose(one.released, what.counts, atol=1e-9)
    assert (one.leaves.spurious, one.leaves.lost, one.leaves.max_error) == (0, 0, pytest.approx(0, abs=1e-9))


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if rule.is_whole])
def test_a_release_is_records_whose_counts_agree(rule: str) -> None:
    what = product_of_columns(product_data(), (0, 1, 2))
    one = draw(what, Wanted(0.05, 1e-6, HUGE.unit, None, Spread.STACKED, rule), 3)
    assert one.table is not None
    assert one.table.total == len(RECORDS)
    for level in range(1, 4):
        released: dict[tuple[int, ...], int] = {}
        for leaf, count in zip(one.table.codes.tolist(), one.table.counts.tolist(), strict=True):
            released[tuple(leaf[:level])] = released.get(tuple(leaf[:level]), 0) + count
        assert sorted(released.values()) == sorted(n for n in one.levels[level].released.tolist() if n)
        assert min(one.levels[level].released) >= 0


def test_a_sparse_release_without_noise_is_the_truth_and_has_a_picture() -> None:
    what = made_up((10,) * 9, 2000, 7)
    assert what.tree is None
    assert what.n_leaves == 10**9
    one = draw(what, HUGE, 1)
    assert one.table is not None
    np.testing.assert_array_equal(one.table.codes, what.table.codes)
    np.testing.assert_array_equal(one.table.counts, what.table.counts)
    assert one.picture is not None
    tree, labels, truth, released = one.picture
    assert truth[0] == released[0] == 2000
    np.testing.assert_array_equal(truth, released)
    assert tree.n_leaves == what.table.n_leaves
    assert labels.path(int(tree.leaves[0])) == tuple(str(code + 1) for code in what.table.codes[0])


def test_the_union_of_truth_and_release_keeps_both() -> None:
    what = made_up((10,) * 7, 0, 7)
    true, released = (count_leaves([np.array(column) for column in zip(*rows, strict=True)], (10,) * 7)
                      for rows in ([[0] * 7, [0] * 7], [[0] * 6 + [1], [3] * 7, [3] * 7]))  # fmt: skip
    what = replace(what, table=true, fingerprint="x")
    tree, labels, truth, out = union_tree(what, released)
    leaves = {labels.path(leaf): (int(truth[leaf]), int(out[leaf])) for leaf in tree.leaves.tolist()}
    assert leaves == {("1",) * 7: (2, 0), ("1",) * 6 + ("2",): (0, 1), ("4",) * 7: (0, 2)}
    assert (truth[0], out[0]) == (2, 3)


def test_rules_that_need_a_tree_say_so() -> None:
    what = made_up((10,) * 9, 100, 7)
    with refuses("NEEDS_TREE", r"choose .*IntOpt or .*water filling or Pruned"):
        draw(what, Wanted(1.0, 1e-6, HUGE.unit, None, Spread.STACKED, "nnls"), 1)
    assert rules_for(what) == ["intopt", "water_filling", "pruned"]


def test_bias_by_size_by_hand() -> None:
    """Ten leaves: two listed empty ones gain 3 and 0, six unlisted none; leaves of 1 lose 1 and 0; one of 5 gains 2."""
    one = Compared(10, np.array([0, 0, 1, 1, 5]), np.array([3, 0, 0, 1, 7]))
    found = bias_by_size([one])
    assert found.names == ["0", "1", "4 to 7"]
    assert found.n_nodes.tolist() == [7, 2, 1]
    np.testing.assert_allclose(found.bias, [3 / 7, -0.5, 2.0])
    spread = np.std([3, 0, 0, 0, 0, 0, 0], ddof=1) / math.sqrt(7), np.std([-1, 0], ddof=1) / math.sqrt(2), math.nan
    np.testing.assert_allclose(found.standard_error, spread)


def test_sizes_of_counts_grow_fourfold_beyond_64() -> None:
    truth = np.array([63, 64, 255, 256, 5000])
    found = bias_by_size([Compared(5, truth, truth)])
    assert found.low.tolist() == [32, 64, 256, 4096]
    assert found.high.tolist() == [63, 255, 1023, 16383]


def test_a_large_release_stops_within_a_block_and_tells_how_far_it_is() -> None:
    what = made_up((10,) * 9, 2000, 7)
    wanted = Wanted(1.0, 1e-6, HUGE.unit, None, Spread.STACKED, "intopt")
    told: list[int] = []
    draw(what, wanted, 7, Watch(step=told.append))
    assert len(told) >= 9
    assert 0 < sum(told) <= draws(what.domain, what.total)
    answers = iter([False, False, True])
    seen: list[int] = []
    with pytest.raises(Cancelled):
        draw(what, wanted, 7, Watch(step=seen.append, cancelled=lambda: next(answers)))
    assert len(seen) == 2
    dense = product_of_columns(product_data(), (0, 1, 2))
    with pytest.raises(Cancelled):
        draw(dense, wanted, 7, Watch(cancelled=lambda: True))


def test_rules_are_compared_on_the_same_noise() -> None:
    what = product_of_columns(product_data(RECORDS * 5), (0, 1, 2))
    found = {one.rule: one for one in compare_rules(what, HUGE, 4, 7)}
    assert set(found) == set(RULES)
    for one in found.values():
        assert one.mean["rmse"] == pytest.approx(0, abs=1e-9)
        assert one.se["rmse"] == pytest.approx(0, abs=1e-9)
    noisy = Wanted(0.05, 1e-6, HUGE.unit, None, Spread.STACKED, "intopt")
    again = [compare_rules(what, noisy, 6, 7) for _ in range(2)]
    assert again[0][0].mean == again[1][0].mean
    by_name = {one.rule: one for one in again[0]}
    assert by_name["water_filling"].mean["rmse"] <= by_name["intopt"].mean["rmse"]


def test_the_mean_over_runs_by_hand() -> None:
    mean, se = mean_and_error(np.array([[1.0], [3.0], [5.0]]))
    assert (mean[0], se[0]) == (3.0, pytest.approx(2 / math.sqrt(3)))
    assert math.isinf(mean_and_error(np.array([[1.0]]))[1][0])


def test_a_cancelled_comparison_stops() -> None:
    what = product_of_columns(product_data(), (0, 1))
    with pytest.raises(Cancelled):
        compare_rules(what, HUGE, 50, 7, Watch(cancelled=lambda: True))


def test_figures_show_names_literally_and_hold_their_values() -> None:
    evil = "<b>x</b>"
    three = np.array([0.0, 4.0, 9.0])
    under = topdown.error_under_bound([evil, "b", "c"], three / 2, 2 * three, three, three, confidence=0.9).figure()
    assert under.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    low, high = under.layout.yaxis.range
    assert low <= 0 <= 18 <= high
    bars = topdown.spurious_and_lost([evil, "b"], np.array([0, 30]), np.array([7, 0])).figure()
    assert bars.layout.yaxis.range[1] >= 30 * 1.08
    ways = Ways((evil, "b"), np.array([1.0, 5.0]), np.array([math.inf, 0.5]))
    chart = topdown.dots(ways, x_title="records", chosen=1).figure()
    assert chart.layout.yaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert chart.layout.xaxis.range[0] <= 1.0
    assert chart.layout.xaxis.range[1] >= 5.97
    np.testing.assert_allclose(chart.data[0].error_x.array, [0.0, 0.979982], rtol=1e-6)
    assert chart.data[0].marker.symbol == ("circle-open", "circle")
    none = np.zeros(0)
    assert topdown.dots(Ways((), none, none), x_title="records").figure().layout.xaxis.range == (0.0, 1.0)
    sizes = np.array([0, 1])
    bias = BiasBySize(sizes, sizes, np.array([3.0, 1.0]), np.array([1.0, np.nan]), np.array([0.1, np.nan]))
    assert topdown.bias_by_count({evil: bias}).figure().data[0].name == "&lt;b&gt;x&lt;/b&gt;"


def test_the_largest_release_of_the_page_draws_a_noise_for_each_node_at_most() -> None:
    """A table of 10^6 possible leaves and 10^6 people: fewer than 1.12 million noises, and still a picture."""
    what = made_up((10,) * 6, 1_000_000, 7)
    wanted = Wanted(0.05, 1e-6, HUGE.unit, None, Spread.STACKED, "intopt")
    model_of = wanted.plan(what)
    assert model_of.cells[-1] == 10**6
    noises: list[int] = []
    one = draw(what, wanted, 7, Watch(step=noises.append))
    assert one.picture is not None
    assert 0 < sum(noises) <= sum(model_of.cells)
