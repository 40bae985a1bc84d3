"""TopDown and synthetic data: columns, one release, projections, orders, accounting, records; refusals as sentences."""

from __future__ import annotations

import gc
import importlib
import io
import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import (
    Inline,
    Later,
    codes,
    dataset,
    figure,
    metric_values,
    open_page,
    read,
    shared_link,
    widget,
    words,
    written,
)
from oracles_top_down import HUGE, RECORDS, product_data
from pages.ui import jobs
from pages.ui.store import sample
from pages.views.topdown.settings import SOURCES, VIEWS
from test_pages_help import unexplained, without_help
from treedp_core.privacy import Provenance
from treedp_core.records import Dataset, DomainSource
from treedp_core.records.export.synthetic import Columns, contingency_csv, records_csv
from treedp_core.studies.topdown import Subject, draw, product_of_columns
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.tree import Tree

DRAW = importlib.import_module("treedp_core.studies.topdown.draw")
"""The module: its package's front has a function of that name."""


# --- columns and order -----------------------------------------------------------------------------------------------


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
    assert written(app, "level")["level"].tolist() == ["all", "c0", "c1", "c2"]
    widget(app, "td_columns").set_value(["3", "1"])
    app.run()
    assert written(app, "level")["level"].tolist() == ["all", "c2", "c0"]
    assert written(app, "level")["cells"].tolist() == [1, 2, 4]
    assert not app.exception


def test_a_link_names_columns_by_position_only() -> None:
    app = open_page("topdown", product_data(), td_source="current", td_columns="2")
    link = shared_link(app)
    assert "td_columns=2" in link
    assert "c1" not in link
    other = open_page("topdown", td_columns=["2", "9"])  # the trips have no ninth column
    assert not other.exception
    assert written(other, "level")["level"].tolist() == ["all", "destination"]


# --- the first screen -------------------------------------------------------------------------------------------------


def first_screen(**link: str) -> AppTest:
    """The page in Basic on the trips, at an epsilon and a delta of the specification."""
    app = open_page("topdown", level="Basic", delta="1e-6", **link)
    assert not app.exception
    assert not app.main.error
    return app


PAPER = {"td_rule": "intopt"}


@pytest.mark.parametrize(
    ("eps", "lost", "rule"),
    [("0.5", 52, PAPER), ("1", 41, PAPER), ("2", 31, PAPER), ("8", 16, PAPER), ("1", 34, {}), ("4", 16, {})],
)
def test_the_answer_says_how_many_places_are_lost(eps: str, lost: int, rule: dict[str, str]) -> None:
    """The parts lost are means over ten draws: one draw is within two per cent of them; fewer by the default."""
    text = words(first_screen(eps=eps, **rule))
    told = re.search(rf"at \({eps}, 1e-6\) (\S+) % of the places with records are lost, (\S+) % of the released", text)
    assert told is not None, text
    assert float(told[1]) == pytest.approx(lost, abs=2)
    assert 0 < float(told[2]) < 15


def test_rows_are_marked_as_they_are_lost_or_invented() -> None:
    """From a separate draw of the same release: what is 0 in it is lost, what is 0 in the truth never existed."""
    app = first_screen()
    what = product_of_columns(sample("mobility"), (0, 1, 2))
    traces = {trace["name"]: trace for trace in figure(app, "td_rows")["data"] if trace["type"] == "bar"}
    lost = next(trace for trace in figure(app, "td_rows")["data"] if trace["name"] == "lost")
    places = figure(app, "td_rows")["layout"]["yaxis"]["ticktext"]
    assert len(places) == 12
    true = dict(zip(places, traces["true"]["customdata"], strict=True))
    assert what.tree is not None
    assert what.counts is not None
    assert what.labels is not None
    names = {" › ".join(what.labels.path(node)): node for node in what.tree.leaves.tolist()}
    assert all(what.counts[names[place]] == count for place, count in true.items())
    assert list(true.values()) == sorted(true.values(), reverse=True)
    assert [places[i] for i in traces["never existed"]["y"]] == [place for place in places if not true[place]]
    assert {places[i] for i in lost["y"]}.isdisjoint(places[i] for i in traces["kept"]["y"])
    assert all(true[places[i]] for i in lost["y"])


def test_the_first_screen_has_at_most_four_controls_a_figure_and_an_answer() -> None:
    for view, key in (("release", "td_rows"), ("counts", "td_pairs"), ("rules", "td_rules_dots")):
        app = first_screen(td_view=view)
        controls = [*app.main.selectbox, *app.main.multiselect, *app.main.segmented_control, *app.main.text_input]
        assert len([one for one in controls if one.key != "td_view"]) <= 3  # and a button
        assert figure(app, key)
        assert len(app.get("plotly_chart")) == 1


@pytest.mark.parametrize("name", ["records", "orders", "accounting", "sensitivity"])
def test_a_link_to_a_view_of_old_opens_its_section(name: str) -> None:
    app = open_page("topdown", td_view=name)
    assert not app.exception
    assert app.session_state["td_more"] == name
    assert figure(app, "td_rows")


# --- the level table -------------------------------------------------------------------------------------------------


# --- one release -----------------------------------------------------------------------------------------------------


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
    assert "δ = 1e-8 is used on this page" in words(app)  # it fits the data set in use as well


def test_draw_again_changes_the_noise_only() -> None:
    app = open_page("topdown", delta="1e-6")
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
    assert read(written(app, "level")["σ (records)"][0]) > 0
    assert "the total is measured too" in words(app)


def test_a_large_release_waits_for_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DRAW, "LIGHT_CELLS", 100)
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page("topdown")
    assert "Press **Run** to draw it" in words(app)
    widget(app, "td_run").click()
    app.run()
    assert widget(app, "td_run").disabled
    widget(app, "td_release_cancel").click()
    app.run()
    assert widget(app, "td_run").disabled is False
    monkeypatch.setattr(jobs, "pool", Inline)
    widget(app, "td_run").click()
    app.run()
    assert figure(app, "td_bound")
    app.session_state["seed"] = 8
    app.run()
    assert "seed 7. Press **Run**" in words(app)
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
        ({"td_source": "sparse"}, {"td_sizes": ""}, "TREE_SHAPE"),
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
    assert "uniform shares" in words(app)


def test_a_refusal_loses_nothing() -> None:
    app = open_page("topdown")
    before = figure(app, "td_bound")["data"][2]["y"]
    widget(app, "td_rho").set_value("-3")
    app.run()
    assert codes(app) == ["RHO_RANGE"]
    assert figure(app, "td_bound")["data"][2]["y"] == before
    assert "Shown meanwhile" in words(app)
    assert "replace one · ε = 1, δ = 1e-8" in app.session_state["_page_said"][0]  # of what is shown, whatever is typed


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


def test_a_domain_from_the_data_is_warned_of() -> None:
    seen = product_data()
    data = Dataset(seen.name, seen.tree, seen.labels, seen.counts.copy(), DomainSource.FROM_DATA, seen.report)
    app = open_page("topdown", data, td_source="current")
    assert any("taken from the data" in warning.value for warning in app.main.warning)


# --- projections and orders ------------------------------------------------------------------------------------------


def test_the_comparison_runs_on_the_page_and_goes_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Inline)
    app = open_page("topdown", product_data(RECORDS * 9), td_source="current", td_view="rules", td_trials="20")
    assert ", 4 runs, seed 7" in words(app)  # a first picture at once
    widget(app, "td_rules_run").click()
    app.run()
    assert not app.exception
    assert not app.main.error
    assert len(figure(app, "td_rules_dots")["data"][0]["x"]) == len(RULES)
    assert "Shown meanwhile" not in words(app)
    assert ", 20 runs, seed 7" in words(app)
    app.session_state["eps"] = 2.0
    app.run()
    assert "Shown meanwhile" in words(app)
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
    rows = written(app, "two neighbouring data sets")
    assert len(rows) == 4
    stacked, distinct = rows.iloc[0], rows.iloc[1]
    assert read(stacked.iloc[-1]) == round(math.sqrt(3) * 2, 2)  # d = 3, sigma = sqrt(2) m / sqrt(2 rho / 3)
    assert read(distinct.iloc[-1]) == round(math.sqrt(6), 2)  # 4 leaves by 1 each: L2 = 2, not 2 sqrt(2)
    assert rows["measured levels"].tolist() == [3, 3, 4, 4]


def test_sensitivity_enumerated_beside_the_formula() -> None:
    app = open_page("topdown", td_view="sensitivity", contributions="2")
    rows = written(app, "L1 enumerated")
    assert rows["L1 enumerated"].map(read).tolist() == [0, 4, 4]
    assert rows["L2 formula"].map(read).tolist() == [0, 2.83, 2.83]  # the root of 8
    assert app.main.success
    large = open_page("topdown", td_view="sensitivity", td_small="60,60")
    assert codes(large) == ["INSPECTOR_SIZE"]
    assert not large.exception


# --- synthetic records -----------------------------------------------------------------------------------------------


def test_records_and_their_files() -> None:
    app = open_page("topdown", product_data(), td_source="current", td_view="records", td_rho="900")
    assert not app.exception
    preview = written(app, "count")
    assert preview["count"].sum() == len(RECORDS)
    assert any("simulation-grade noise" in warning.value for warning in app.main.warning)
    what = product_of_columns(product_data(), (0, 1, 2))
    one = draw(what, HUGE, 7)
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


@pytest.mark.parametrize(
    ("view", "section"),
    [("release", "release"), ("counts", "records"), ("rules", "orders"), ("release", "accounting"),
     ("rules", "sensitivity")],
)  # fmt: skip
@pytest.mark.parametrize(
    "source", ["current", *(pytest.param(one, marks=pytest.mark.contract) for one in SOURCES if one != "current")]
)
def test_everything_explains_itself(view: str, section: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Inline)
    app = open_page(
        "topdown", td_view=view, td_more=section, td_source=source, td_trials="2", contributions="2", td_records="500"
    )
    for run in ("td_rules_run", "td_orders_run"):
        if any(button.key == run for button in app.button):
            widget(app, run).click()
            app.run()
    assert not app.exception
    assert not app.main.error
    assert without_help(app) == []
    assert unexplained(app) == []


def test_nothing_of_removed_data_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the counts, not what was drawn from them: also of a release that ran in the background."""
    monkeypatch.setattr(DRAW, "LIGHT_CELLS", 10)
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
    alive = [one for one in gc.get_objects() if isinstance(one, Subject)]
    assert [one for one in alive if one.name == "to be removed"] == []
    assert "to be removed" not in words(app)


# --- figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", list(VIEWS))
def test_every_view_opens_where_only_the_unknown_columns_are_protected(view: str) -> None:
    app = open_page("topdown", td_view=view, nbr="replace_unknown", known_levels="2", td_source="trips")
    assert not app.exception
    assert not app.main.error, [error.value for error in app.main.error]
    assert "2 levels of this order are built from known columns, the root included" in words(app)


def test_in_a_presentation_epsilon_is_in_reach_and_rows_have_room() -> None:
    app = open_page("topdown", present="1")
    assert [one.key for one in app.main.select_slider] == ["eps"]
    assert len(figure(app, "td_rows")["data"][0]["y"]) == 5
