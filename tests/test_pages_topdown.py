"""TopDown and synthetic data: columns, one release, projections, orders, accounting, records; refusals as sentences."""

from __future__ import annotations

import gc
import io
import itertools
import math
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from oracles_pages import Inline, Later, codes, dataset, figure, metric_values, open_page, table, widget, words
from pages.ui import jobs
from pages.views.topdown import draw as one_release
from pages.views.topdown import runs as simulations
from pages.views.topdown.state import sizes_of
from test_pages_help import after_figures, without_help, without_text
from treedp_core.checks import InputError
from treedp_core.figures import topdown
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Provenance
from treedp_core.privacy.spread import Spread
from treedp_core.records import Dataset, DomainSource, ReadReport
from treedp_core.records.dataset import labels_of
from treedp_core.records.export.synthetic import Columns, contingency_csv, records_csv
from treedp_core.studies.topdown import bias_by_size, model
from treedp_core.studies.topdown import subject as subjects
from treedp_core.studies.topdown.model import RULES, Wanted
from treedp_core.tree import Tree
from treedp_core.tree.leaf_table import count_leaves
from treedp_core.watch import Cancelled, Watch

RECORDS = [(0, 0, 1), (0, 0, 1), (1, 2, 0), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 2, 0)]
SIZES = (2, 3, 2)
HUGE = Wanted(900.0, 1e-6, ProtectedUnit(NeighbouringRelation.REPLACE_ONE), None, Spread.STACKED, "intopt")
"""So large a budget that noise is 0 but for a chance far below 1e-9."""


def product_data(records: list[tuple[int, ...]] = RECORDS, sizes: tuple[int, ...] = SIZES) -> Dataset:
    """Records as a data set on the full product of their columns."""
    tree = Tree.from_branching_factors(sizes)
    leaves = np.zeros(tree.n_leaves, dtype=np.int64)
    for record in records:
        at = 0
        for code, size in zip(record, sizes, strict=True):
            at = at * size + code
        leaves[at] += 1
    codes = [np.tile(np.arange(k), n) for n, k in zip(tree.level_sizes[:-1].tolist(), sizes, strict=True)]
    names = [f"c{i}" for i in range(len(sizes))]
    labels = labels_of(
        tree, codes, [[f"{name}={i}" for i in range(k)] for name, k in zip(names, sizes, strict=True)], names
    )
    n = len(records)
    return Dataset("people", tree, labels, tree.counts_of_leaves(leaves), DomainSource.PUBLIC, ReadReport(n, n))


# --- columns and order -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [*itertools.permutations(range(3)), (2,), (1, 0)])
def test_columns_in_any_order_hold_the_same_records(order: tuple[int, ...]) -> None:
    what = subjects.product_of_columns(product_data(), order)
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
    assert subjects.is_product(product_data())
    nested = dataset(Tree.from_branching_factors((2, 3)), [1] * 6)  # labels of each family are their own
    assert not subjects.is_product(nested)


def test_a_nested_tree_stays_as_it_is_and_says_so() -> None:
    app = open_page("topdown", dataset(Tree.from_branching_factors((2, 3)), [5] * 6), td_source="current")
    assert not app.exception
    assert "order of its columns cannot change" in words(app)
    assert not app.multiselect
    widget(app, "td_product").set_value(True)
    app.run()
    assert app.multiselect
    assert "order of its columns cannot change" not in words(app)


def test_choosing_columns_makes_the_tree_of_that_order() -> None:
    app = open_page("topdown", product_data(), td_source="current", td_rho="900")
    assert table(app, "level")["level"].tolist() == ["all", "c0", "c1", "c2"]
    widget(app, "td_columns").set_value(["3", "1"])
    app.run()
    assert table(app, "level")["level"].tolist() == ["all", "c2", "c0"]
    assert table(app, "level")["cells"].tolist() == ["1", "2", "4"]
    assert not app.exception


def test_a_link_names_columns_by_position_only() -> None:
    app = open_page("topdown", product_data(), td_source="current", td_columns="2")
    link = next(code.value for code in app.sidebar.code if "td_" in code.value)
    assert "td_columns=2" in link
    assert "c1" not in link
    other = open_page("topdown", td_columns=["2", "9"])  # the trips have no ninth column
    assert not other.exception
    assert table(other, "level")["level"].tolist() == ["all", "destination"]


def test_categories_per_column_from_text() -> None:
    assert sizes_of("10^3, 4") == (10, 10, 10, 4)
    for text, code in (("ten", "TREE_SHAPE"), ("10^17", "TOO_MANY_LEVELS"), ("1.5", "TREE_SHAPE")):
        with pytest.raises(InputError) as refused:
            sizes_of(text)
        assert refused.value.code == code


# --- the level table -------------------------------------------------------------------------------------------------


def test_the_level_table_by_hand() -> None:
    """Three columns, rho = 1, one record replaced: sigma^2 = d / rho = 3 on every level but the public root."""
    what = subjects.product_of_columns(product_data(), (0, 1, 2))
    wanted = Wanted(1.0, 1e-6, HUGE.unit, None, Spread.STACKED, "intopt")
    rows = model.level_table(what, wanted.plan(what), 0.9)
    assert rows["cells"] == [1, 2, 6, 12]
    np.testing.assert_allclose(rows["σ (records)"], [0, 3**0.5, 3**0.5, 3**0.5])
    np.testing.assert_allclose(rows["share of ρ"], [0, 100 / 3, 100 / 3, 100 / 3])
    by_hand = [sum(math.sqrt(8 * 3 * math.log(k * n / 0.1)) for n in (2, 6, 12)[:k]) for k in (1, 2, 3)]
    np.testing.assert_allclose(rows["bound"], [0, *by_hand])
    assert all(exact <= printed for exact, printed in zip(rows["by exact tails"], rows["bound"], strict=True))


@pytest.mark.parametrize(
    ("order", "known"), [((0, 1, 2), 3), ((1, 0, 2), 3), ((2, 0, 1), 1), ((0, 2, 1), 2), ((1,), 2), ((2,), 1)]
)
def test_known_levels_follow_their_columns(order: tuple[int, ...], known: int) -> None:
    """Columns 0 and 1 are known, 2 is not: below it nothing is, so a level there counts twice in the charge."""
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN, 1, known_levels=3)
    what = subjects.product_of_columns(product_data(), order)
    ready = Wanted(1.0, 1e-6, unit, None, Spread.STACKED, "intopt").plan(what)
    assert ready.unit.known_levels == known
    spent = np.array(ready.budget.per_level)
    assert max(spent.sum(), 2 * spent[known:].sum()) == pytest.approx(1.0)


def test_a_tree_that_is_no_product_has_the_same_plan_where_it_is_one() -> None:
    data = product_data()
    for relation in NeighbouringRelation:
        wanted = Wanted(0.7, 1e-6, ProtectedUnit(relation, 2), (0.25, 0.25, 0.3, 0.2), Spread.STACKED, "intopt")
        as_product = wanted.plan(subjects.product_of_columns(data, (0, 1, 2)))
        as_tree = wanted.plan(subjects.tree_as_it_is(data))
        np.testing.assert_array_equal(as_product.sigmas, as_tree.sigmas)
        assert as_product.budget == as_tree.budget
        assert as_product.cells == as_tree.cells
        assert as_product.guarantee == as_tree.guarantee


# --- one release -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_without_noise_every_rule_returns_the_truth(rule: str) -> None:
    what = subjects.product_of_columns(product_data(), (1, 0, 2))
    one = one_release.draw(what, Wanted(900.0, 1e-6, HUGE.unit, None, Spread.STACKED, rule), 7)
    assert what.counts is not None
    np.testing.assert_allclose(one.released, what.counts, atol=1e-9)
    assert (one.leaves.spurious, one.leaves.lost, one.leaves.max_error) == (0, 0, pytest.approx(0, abs=1e-9))


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if rule.is_whole])
def test_a_release_is_records_whose_counts_agree(rule: str) -> None:
    what = subjects.product_of_columns(product_data(), (0, 1, 2))
    one = one_release.draw(what, Wanted(0.05, 1e-6, HUGE.unit, None, Spread.STACKED, rule), 3)
    assert one.table is not None
    assert one.table.total == len(RECORDS)
    for level in range(1, 4):
        released: dict[tuple[int, ...], int] = {}
        for leaf, count in zip(one.table.codes.tolist(), one.table.counts.tolist(), strict=True):
            released[tuple(leaf[:level])] = released.get(tuple(leaf[:level]), 0) + count
        assert sorted(released.values()) == sorted(n for n in one.levels[level].released.tolist() if n)
        assert min(one.levels[level].released) >= 0


def test_a_sparse_release_without_noise_is_the_truth_and_has_a_picture() -> None:
    what = subjects.made_up((10,) * 9, 2000, 7)
    assert what.tree is None
    assert what.n_leaves == 10**9
    one = one_release.draw(what, HUGE, 1)
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
    what = subjects.made_up((10,) * 7, 0, 7)
    true, released = (count_leaves([np.array(column) for column in zip(*rows, strict=True)], (10,) * 7)
                      for rows in ([[0] * 7, [0] * 7], [[0] * 6 + [1], [3] * 7, [3] * 7]))  # fmt: skip
    what = replace(what, table=true, fingerprint="x")
    tree, labels, truth, out = subjects.union_tree(what, released)
    leaves = {labels.path(leaf): (int(truth[leaf]), int(out[leaf])) for leaf in tree.leaves.tolist()}
    assert leaves == {("1",) * 7: (2, 0), ("1",) * 6 + ("2",): (0, 1), ("4",) * 7: (0, 2)}
    assert (truth[0], out[0]) == (2, 3)


def test_rules_that_need_a_tree_say_so() -> None:
    what = subjects.made_up((10,) * 9, 100, 7)
    with pytest.raises(InputError, match="IntOpt or water filling") as refused:
        one_release.draw(what, Wanted(1.0, 1e-6, HUGE.unit, None, Spread.STACKED, "nnls"), 1)
    assert refused.value.code == "NEEDS_TREE"
    assert one_release.rules_for(what) == ["intopt", "water_filling"]


def test_bias_by_size_by_hand() -> None:
    """Ten leaves: two listed empty ones gain 3 and 0, six unlisted none; leaves of 1 lose 1 and 0; one of 5 gains 2."""
    one = one_release.Compared(10, np.array([0, 0, 1, 1, 5]), np.array([3, 0, 0, 1, 7]))
    found = bias_by_size([one])
    assert one_release.size_names(found) == ["0", "1", "4–7"]
    assert found.n_nodes.tolist() == [7, 2, 1]
    np.testing.assert_allclose(found.bias, [3 / 7, -0.5, 2.0])
    spread = np.std([3, 0, 0, 0, 0, 0, 0], ddof=1) / math.sqrt(7), np.std([-1, 0], ddof=1) / math.sqrt(2), math.nan
    np.testing.assert_allclose(found.standard_error, spread)


def test_sizes_of_counts_grow_fourfold_beyond_64() -> None:
    truth = np.array([63, 64, 255, 256, 5000])
    found = bias_by_size([one_release.Compared(5, truth, truth)])
    assert found.low.tolist() == [32, 64, 256, 4096]
    assert found.high.tolist() == [63, 255, 1023, 16383]


def test_a_large_release_stops_within_a_block_and_tells_how_far_it_is() -> None:
    what = subjects.made_up((10,) * 9, 2000, 7)
    wanted = Wanted(1.0, 1e-6, HUGE.unit, None, Spread.STACKED, "intopt")
    told: list[int] = []
    one_release.draw(what, wanted, 7, Watch(step=told.append))
    assert len(told) >= 9
    assert 0 < sum(told) <= one_release.draws(what, wanted.plan(what))
    answers = iter([False, False, True])
    seen: list[int] = []
    with pytest.raises(Cancelled):
        one_release.draw(what, wanted, 7, Watch(step=seen.append, cancelled=lambda: next(answers)))
    assert len(seen) == 2
    dense = subjects.product_of_columns(product_data(), (0, 1, 2))
    with pytest.raises(Cancelled):
        one_release.draw(dense, wanted, 7, Watch(cancelled=lambda: True))


def test_the_page_shows_a_release_of_the_trips() -> None:
    app = open_page("topdown")
    assert not app.exception
    assert not app.main.error
    cards = metric_values(app)
    assert set(cards) == {"Leaves with records", "Spurious leaves", "Lost leaves", "Largest error of a leaf"}
    lines = {trace["name"]: trace for trace in figure(app, "td_bound")["data"]}
    seen = lines["largest error (NOT PRIVATE)"]["y"]
    assert seen[0] == 0  # n is public and exact
    bounds = [max(lines["Theorem 1, 95 %"]["y"][4 * i : 4 * i + 3]) for i in range(4)]
    assert all(a <= b for a, b in zip(seen, bounds, strict=True))
    bars = figure(app, "td_wrong")["data"]
    assert bars[0]["y"][-1] == float(cards["Spurious leaves"].replace("\u202f", ""))
    assert "NOT PRIVATE" in words(app)
    assert "δ = 1e-6 is used on this page" in words(app)


def test_draw_again_changes_the_noise_only() -> None:
    app = open_page("topdown")
    before = figure(app, "td_one_level")["data"]
    widget(app, "td_draw").click()
    app.run()
    after = figure(app, "td_one_level")["data"]
    names = [trace.get("name") for trace in before]
    assert before[names.index("true count")]["y"] == after[names.index("true count")]["y"]
    assert before[names.index("released")]["y"] != after[names.index("released")]["y"]


def test_a_noisy_total_is_measured_too() -> None:
    app = open_page("topdown", nbr="add_or_remove_one", delta="1e-6")
    assert not app.main.error
    assert table(app, "level")["σ (records)"][0] > 0
    assert "the total is measured too" in words(app)


def test_a_large_release_waits_for_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.views.topdown.state.LIGHT_CELLS", 100)
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page("topdown")
    assert "Press **Run** to draw it" in words(app)
    widget(app, "td_run").click()
    app.run()
    assert widget(app, "td_cancel").disabled is False
    widget(app, "td_cancel").click()
    app.run()
    assert widget(app, "td_run").disabled is False
    monkeypatch.setattr(jobs, "pool", Inline)
    widget(app, "td_run").click()
    app.run()
    assert figure(app, "td_bound")
    app.session_state["seed"] = 8
    app.run()
    assert "seed 7; press **Run**" in words(app)
    assert figure(app, "td_bound")
    assert not app.exception


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "typed", "code"),
    [
        ({}, {"td_rho": "0"}, "RHO_RANGE"),
        ({}, {"td_rho": "-1"}, "RHO_RANGE"),
        ({}, {"td_rho": "a lot"}, "RHO_RANGE"),
        ({}, {"td_rho": "nan"}, "RHO_RANGE"),
        ({"td_allocation": "custom"}, {"td_shares": "0.5"}, "BUDGET_SPLIT"),
        ({"td_allocation": "custom"}, {"td_shares": "0,0.5,0.6,0.2"}, "BUDGET_SPLIT"),
        ({"td_allocation": "custom"}, {"td_shares": "0,0.5,0,0.5"}, "BUDGET_SPLIT"),
        ({"td_source": "sparse"}, {"td_sizes": "10,1,10"}, "ONE_CATEGORY"),
        ({"td_source": "sparse", "td_records": "1000000"}, {"td_sizes": "1000^10"}, "TOO_MANY_CELLS"),
        ({"td_source": "sparse"}, {"td_sizes": ""}, "NO_LEVELS"),
        ({"td_source": "sparse"}, {"td_sizes": "10^40"}, "TOO_MANY_LEVELS"),
        ({"td_source": "sparse"}, {"td_sizes": "many"}, "TREE_SHAPE"),
        ({"td_source": "sparse", "td_records": "0"}, {}, "NO_RECORDS"),
        ({"td_source": "sparse", "td_records": "0"}, {"td_sizes": "3,3"}, "NO_RECORDS"),
    ],
)
def test_bad_input_is_one_sentence(link: dict[str, str], typed: dict[str, str], code: str) -> None:
    app = open_page("topdown", **link)
    for key, text in typed.items():
        widget(app, key).set_value(text)
    app.run()
    assert not app.exception
    assert code in codes(app)
    sentence = app.main.error[0].value.splitlines()[0]
    assert sentence.strip().endswith(".")
    assert "\n" not in sentence


def test_custom_shares_not_typed_yet_are_equal_ones() -> None:
    app = open_page("topdown", td_allocation="custom")
    assert codes(app) == []
    assert "equal shares" in words(app)


def test_a_refusal_loses_nothing() -> None:
    app = open_page("topdown")
    before = figure(app, "td_bound")["data"][2]["y"]
    widget(app, "td_rho").set_value("-3")
    app.run()
    assert codes(app) == ["RHO_RANGE"]
    assert figure(app, "td_bound")["data"][2]["y"] == before
    assert "The release below has other settings" in words(app)


def test_a_column_of_one_category_is_refused_by_its_name() -> None:
    data = product_data([(0, 0), (1, 0)], (2, 1))
    app = open_page("topdown", data, td_source="current")
    assert codes(app) == ["ONE_CATEGORY"]
    assert "c1" in app.main.error[0].value
    assert not app.exception


def test_no_records_at_all() -> None:
    app = open_page("topdown", product_data([]), td_source="current")
    assert codes(app) == ["NO_RECORDS"]
    assert not app.exception
    noisy = open_page("topdown", product_data([]), td_source="current", nbr="add_or_remove_one")
    assert not noisy.exception
    assert codes(noisy) == []


def test_unseen_categories_are_counted_and_named() -> None:
    seen = product_data()
    data = Dataset(
        seen.name, seen.tree, seen.labels, seen.counts.copy(), DomainSource.PUBLIC, ReadReport(9, 7, unseen=2)
    )
    assert "2 records had a category that the public domain does not list" in words(
        open_page("topdown", data, td_source="current")
    )


def test_a_domain_from_the_data_is_warned_of() -> None:
    seen = product_data()
    data = Dataset(seen.name, seen.tree, seen.labels, seen.counts.copy(), DomainSource.FROM_DATA, seen.report)
    app = open_page("topdown", data, td_source="current")
    assert any("taken from the data" in warning.value for warning in app.main.warning)


@pytest.mark.parametrize("link", [{"td_rho": "0"}, {"td_view": "x"}, {"td_columns": "17"}, {"td_small": "1,1,a"}])
def test_bad_links_are_ignored(link: dict[str, str]) -> None:
    app = open_page("topdown", **link)
    assert not app.exception
    assert not app.main.error


# --- projections and orders ------------------------------------------------------------------------------------------


def test_rules_are_compared_on_the_same_noise() -> None:
    what = subjects.product_of_columns(product_data(RECORDS * 5), (0, 1, 2))
    found = {one.rule: one for one in simulations.compare_rules(what, HUGE, 4, 7)}
    assert set(found) == set(RULES)
    for one in found.values():
        assert one.mean["rmse"] == pytest.approx(0, abs=1e-9)
        assert one.se["rmse"] == pytest.approx(0, abs=1e-9)
    noisy = Wanted(0.05, 1e-6, HUGE.unit, None, Spread.STACKED, "intopt")
    again = [simulations.compare_rules(what, noisy, 6, 7) for _ in range(2)]
    assert again[0][0].mean == again[1][0].mean
    by_name = {one.rule: one for one in again[0]}
    assert by_name["water_filling"].mean["rmse"] <= by_name["intopt"].mean["rmse"]


def test_the_mean_over_runs_by_hand() -> None:
    mean, se = simulations.mean_and_error(np.array([[1.0], [3.0], [5.0]]))
    assert (mean[0], se[0]) == (3.0, pytest.approx(2 / math.sqrt(3)))
    assert math.isinf(simulations.mean_and_error(np.array([[1.0]]))[1][0])


def test_a_cancelled_comparison_stops() -> None:
    what = subjects.product_of_columns(product_data(), (0, 1))
    with pytest.raises(Cancelled):
        simulations.compare_rules(what, HUGE, 50, 7, Watch(cancelled=lambda: True))


def test_the_comparison_runs_on_the_page_and_goes_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Inline)
    app = open_page("topdown", product_data(RECORDS * 9), td_source="current", td_view="rules", td_trials="20")
    assert "Press **Run** to compare the projections" in words(app)
    widget(app, "td_rules_run").click()
    app.run()
    assert not app.exception
    assert not app.main.error
    assert len(figure(app, "td_rules_dots")["data"][0]["x"]) == len(RULES)
    assert "Computed for" not in words(app)
    app.session_state["eps"] = 2.0
    app.run()
    assert "Computed for" in words(app)
    assert figure(app, "td_rules_bias")
    widget(app, "td_rho").set_value("0")
    app.run()
    assert codes(app) == ["RHO_RANGE"]
    assert figure(app, "td_rules_dots")


def test_orders_are_compared_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Inline)
    app = open_page("topdown", product_data(RECORDS * 9), td_source="current", td_view="orders", td_trials="20")
    widget(app, "td_orders_run").click()
    app.run()
    assert not app.exception
    chart = figure(app, "td_orders_dots")
    assert len(chart["data"][0]["x"]) == 6
    assert chart["data"][0]["x"] == sorted(chart["data"][0]["x"])
    assert set(chart["layout"]["yaxis"]["ticktext"]) == {
        " › ".join(f"c{i}" for i in order) for order in itertools.permutations(range(3))
    }
    nested = open_page("topdown", dataset(Tree.from_branching_factors((2, 3)), [5] * 6), td_source="current",
                       td_view="orders")  # fmt: skip
    assert "The order can be chosen where" in words(nested)


# --- the promise -----------------------------------------------------------------------------------------------------


def tight_epsilon(rho: float, delta: float) -> float:
    """Canonne, Kamath and Steinke (2020): the least over a grid of orders."""
    orders = 1 + np.geomspace(1e-2, 1e4, 200_001)
    ends = np.log(1 / delta) / (orders - 1) + np.log1p(-1 / orders) - np.log(orders) / (orders - 1)
    return float((orders * rho + ends).min())


def test_accounting_of_the_paper_in_numbers() -> None:
    """rho = 0.1, delta = 1e-6: 2.4508 by rho + 2 sqrt(rho ln(1/delta)); the two tight values from the literature."""
    cards = metric_values(open_page("topdown", td_view="accounting", td_rho="0.1", delta="1e-6"))
    simple = 0.1 + 2 * math.sqrt(0.1 * math.log(1e6))
    assert float(cards["ε, standard"]) == pytest.approx(simple, abs=1e-3)
    assert float(cards["ε, tight"]) == pytest.approx(2.1419, abs=1e-3)
    assert float(cards["ε, continuous noise"]) == pytest.approx(1.9945, abs=1e-3)
    low, high = 0.1, 1.0
    for _ in range(50):  # the rho whose tight epsilon is the standard one of 0.1
        middle = (low + high) / 2
        low, high = (middle, high) if tight_epsilon(middle, 1e-6) < simple else (low, middle)
    saved = float(cards["Noise saved at the same ε"].removesuffix(" %"))
    assert saved == pytest.approx(100 * (1 - math.sqrt(0.1 / low)), abs=0.06)


def test_relations_and_contributions_beside_each_other() -> None:
    app = open_page("topdown", td_view="accounting", td_rho="1", contributions="2", delta="1e-6")
    rows = table(app, "two neighbouring data sets")
    assert len(rows) == 4
    stacked, distinct = rows.iloc[0], rows.iloc[1]
    assert stacked.iloc[-1] == pytest.approx(math.sqrt(3) * 2)  # d = 3, sigma = sqrt(2) m / sqrt(2 rho / 3)
    assert distinct.iloc[-1] == pytest.approx(math.sqrt(3) * math.sqrt(2))  # 4 leaves by 1 each: L2 = 2, not 2 sqrt(2)
    assert rows["measured levels"].tolist() == [3, 3, 4, 4]


def test_sensitivity_enumerated_beside_the_formula() -> None:
    app = open_page("topdown", td_view="sensitivity", contributions="2")
    rows = table(app, "L1 enumerated")
    assert rows["L1 enumerated"].tolist() == [0, 4, 4]
    np.testing.assert_allclose(rows["L2 formula"], [0, math.sqrt(8), math.sqrt(8)])
    assert app.main.success
    large = open_page("topdown", td_view="sensitivity", td_small="60,60")
    assert codes(large) == ["INSPECTOR_SIZE"]
    assert not large.exception


# --- synthetic records -----------------------------------------------------------------------------------------------


def test_records_and_their_files() -> None:
    app = open_page("topdown", product_data(), td_source="current", td_view="records", td_rho="900")
    assert not app.exception
    preview = table(app, "count")
    assert preview["count"].sum() == len(RECORDS)
    assert any("simulation-grade noise" in warning.value for warning in app.main.warning)
    what = subjects.product_of_columns(product_data(), (0, 1, 2))
    one = one_release.draw(what, HUGE, 7)
    assert one.table is not None
    columns = Columns(what.columns, tuple(w.tolist() for w in what.words))
    rows = pd.read_csv(io.BytesIO(records_csv(one.table, columns, Provenance.RELEASE)))
    assert sorted(rows.itertuples(index=False, name=None)) == sorted(
        tuple(f"c{i}={code}" for i, code in enumerate(record)) for record in RECORDS
    )
    counts = pd.read_csv(io.BytesIO(contingency_csv(one.table, columns, Provenance.RELEASE)))
    assert counts["count"].sum() == len(RECORDS)


def test_counts_that_are_not_whole_are_no_records() -> None:
    assert "are no records" in words(open_page("topdown", td_view="records", td_rule="nnls"))


@pytest.mark.parametrize("view", model.VIEWS)
@pytest.mark.parametrize("source", model.SOURCES)
def test_everything_explains_itself(view: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Inline)
    app = open_page("topdown", td_view=view, td_source=source, td_trials="2", contributions="2", td_records="500")
    for run in ("td_rules_run", "td_orders_run"):
        if any(button.key == run for button in app.button):
            widget(app, run).click()
            app.run()
    assert not app.exception
    assert not app.main.error
    assert without_help(app) == []
    assert without_text(app) == []
    assert set(after_figures(app)) <= {"caption"}


@pytest.mark.parametrize("preset", range(3))
def test_presets_run(preset: int) -> None:
    app = open_page("topdown", td_columns="2")
    widget(app, f"td_preset_{preset}").click()
    app.run()
    assert not app.exception
    assert not app.main.error


def test_names_of_users_are_shown_literally() -> None:
    tree = Tree.from_branching_factors((2, 2))
    codes_ = [np.tile(np.arange(2), n) for n in (1, 2)]
    evil = "<b>**x**</b> [a](http://e.x) $y$"
    labels = labels_of(tree, codes_, [[evil, "u"], ["v", "w"]], [evil, "count"])
    data = Dataset(
        evil, tree, labels, tree.counts_of_leaves(np.array([9, 4, 0, 7])), DomainSource.PUBLIC, ReadReport(20, 20)
    )
    for view in model.VIEWS:
        app = open_page("topdown", data, td_source="current", td_view=view)
        assert not app.exception
        for text in [*app.main.markdown, *app.main.caption]:
            assert "](http" not in text.value or "`" in text.value
    assert "count_" in table(open_page("topdown", data, td_source="current", td_view="records"), "count_").columns


def test_nothing_of_removed_data_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the counts, not what was drawn from them: also of a release that ran in the background."""
    monkeypatch.setattr("pages.views.topdown.state.LIGHT_CELLS", 10)
    monkeypatch.setattr(jobs, "pool", Inline)
    app = open_page("topdown", replace(product_data(), name="to be removed"), td_source="current")
    widget(app, "td_run").click()
    app.run()
    assert figure(app, "td_bound")
    app.session_state["_from_file"] = {}
    for key in (
        "_dataset",
        "_remembered",
    ):  # as `store.remove` does
        del app.session_state[key]
    app.run()
    app.run()  # what the buttons of the last run would call is forgotten in this one
    gc.collect()
    alive = [one for one in gc.get_objects() if isinstance(one, subjects.Subject)]
    assert [one for one in alive if one.name == "to be removed"] == []
    assert "to be removed" not in words(app)


# --- figures ---------------------------------------------------------------------------------------------------------


def test_figures_show_names_literally_and_hold_their_values() -> None:
    evil = "<b>x</b>"
    three = np.array([0.0, 4.0, 9.0])
    under = topdown.error_under_bound([evil, "b", "c"], three / 2, 2 * three, three, confidence=0.9)
    assert under.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    low, high = under.layout.yaxis.range
    assert low <= 0 <= 18 <= high
    bars = topdown.spurious_and_lost([evil, "b"], np.array([0, 30]), np.array([7, 0]))
    assert bars.layout.yaxis.range[1] >= 30 * 1.08
    rows = [topdown.Dot(evil, 1.0, math.inf), topdown.Dot("b", 5.0, 0.5, True)]
    chart = topdown.dots(rows, x_title="records")
    assert chart.layout.yaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert chart.layout.xaxis.range[0] <= 1.0
    assert chart.layout.xaxis.range[1] >= 5.98
    np.testing.assert_allclose(chart.data[0].error_x.array, [0.0, 0.98])
    assert topdown.dots([], x_title="records").layout.xaxis.range == (0.0, 1.0)
    line = topdown.BiasLine(evil, np.array([1.0, np.nan]), np.array([0.1, np.nan]))
    assert topdown.bias_by_count(["0", "1"], [line]).data[0].name == "&lt;b&gt;x&lt;/b&gt;"


def test_the_largest_release_of_the_page_is_quick() -> None:
    """A table of 10^6 possible leaves and 10^6 people: counted once, then released again and again."""
    what = subjects.made_up((10,) * 6, 1_000_000, 7)
    wanted = Wanted(0.05, 1e-6, HUGE.unit, None, Spread.STACKED, "intopt")
    model_of = wanted.plan(what)
    assert model_of.cells[-1] == 10**6
    begin = time.perf_counter()
    one = one_release.draw(what, wanted, 7)
    assert one.picture is not None
    assert time.perf_counter() - begin < 2.0


@pytest.mark.parametrize("view", list(model.VIEWS))
def test_every_view_opens_where_only_the_unknown_columns_are_protected(view: str) -> None:
    app = open_page("topdown", td_view=view, nbr="replace_unknown", known_levels="2", td_source="trips")
    assert not app.exception
    assert not app.main.error, [error.value for error in app.main.error]
    if view != "sensitivity":  # which has a tree of its own
        assert "2 levels of this order are built from known columns, the root included" in words(app)
