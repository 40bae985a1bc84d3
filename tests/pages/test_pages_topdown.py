"""TopDown and synthetic data: columns, one release, projections, orders, accounting, records; refusals as sentences."""

from __future__ import annotations

import gc
import importlib
from dataclasses import replace

import pytest

from oracles_pages import (
    Inline,
    Later,
    codes,
    dataset,
    figure,
    metric_values,
    open_page,
    widget,
    words,
)
from oracles_top_down import RECORDS, product_data
from pages.ui.jobs import jobs
from treedp_core.records import Dataset, DomainSource
from treedp_core.studies.topdown import Subject
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.tree import Tree

DRAW = importlib.import_module("treedp_core.studies.topdown.draw")
"""The module: its package's front has a function of that name."""


def test_a_nested_tree_stays_as_it_is_and_says_so() -> None:
    app = open_page("topdown", dataset(Tree.from_branching_factors((2, 3)), [5] * 6), td_source="current")
    assert not app.exception
    assert "order of its columns cannot change" in words(app)
    assert not app.multiselect
    widget(app, "td_product").set_value(True)
    app.run()
    assert app.multiselect
    assert "order of its columns cannot change" not in words(app)


def test_the_first_screen_has_at_most_four_controls_a_figure_and_an_answer() -> None:
    for view, key in (("release", "td_rows"), ("counts", "td_pairs"), ("rules", "td_rules_dots")):
        app = open_page("topdown", level="Basic", delta="1e-6", td_view=view)
        assert not app.exception and not app.main.error
        controls = [*app.main.selectbox, *app.main.multiselect, *app.main.segmented_control, *app.main.text_input]
        assert len([one for one in controls if one.key != "td_view"]) <= 3  # and a button
        assert figure(app, key)
        assert len(app.get("plotly_chart")) == 1


def test_the_page_shows_a_release_of_the_trips() -> None:
    app = open_page("topdown")
    assert not app.exception
    assert not app.main.error
    assert set(metric_values(app)) == {
        "Leaves with records", "Spurious leaves", "Lost leaves", "Largest error of a leaf"
    }  # fmt: skip
    assert figure(app, "td_bound")
    assert "NOT PRIVATE" in words(app)
    assert "δ = 1e-8 is used on this page" in words(app)  # it fits the data set in use as well


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


def test_a_refusal_loses_nothing() -> None:
    app = open_page("topdown")
    before = figure(app, "td_bound")["data"][2]["y"]
    widget(app, "td_rho").set_value("-3")
    app.run()
    assert codes(app) == ["RHO_RANGE"]
    assert figure(app, "td_bound")["data"][2]["y"] == before
    assert "Shown meanwhile" in words(app)
    assert "replace one · ε = 1, δ = 1e-8" in app.session_state["_page_said"][0]  # of what is shown, whatever is typed


def test_a_domain_from_the_data_is_warned_of() -> None:
    seen = product_data()
    data = Dataset(seen.name, seen.tree, seen.labels, seen.counts.copy(), DomainSource.FROM_DATA, seen.report)
    app = open_page("topdown", data, td_source="current")
    assert any("taken from the data" in warning.value for warning in app.main.warning)


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


def test_counts_that_are_not_whole_are_no_records() -> None:
    assert "are no records" in words(open_page("topdown", td_more="records", td_rule="nnls"))


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


def test_the_page_says_how_many_levels_are_built_from_known_columns() -> None:
    app = open_page("topdown", nbr="replace_unknown", known_levels="2", td_source="trips")
    assert not app.exception
    assert not app.main.error, [error.value for error in app.main.error]
    assert "2 levels of this order are built from known columns, the root included" in words(app)


def test_in_a_presentation_epsilon_is_in_reach_and_rows_have_room() -> None:
    app = open_page("topdown", present="1")
    assert [one.key for one in app.main.select_slider] == ["eps"]
    assert len(figure(app, "td_rows")["data"][0]["y"]) == 5
