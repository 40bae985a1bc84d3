"""The page Multiplicative error: growth, one run, printed budgets, accuracy; every refusal as one sentence."""

from __future__ import annotations

import re

import numpy as np
import pytest

from oracles_pages import (
    Inline,
    Later,
    WorkersHere,
    codes,
    dataset,
    figure,
    open_page,
    press,
    table,
    widget,
    words,
)
from pages.ui.jobs import jobs
from treedp_core.checks import InputError
from treedp_core.studies.multiplicative import ranking
from treedp_core.tree import Tree

SET = {"delta": "1e-08", "alpha": "0.5"}


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Background searches never start here unless a test wants them: they take seconds."""
    monkeypatch.setattr(jobs, "pool", Later)


# --- growth ----------------------------------------------------------------------------------------------------------


def test_on_the_levels_of_the_data_thresholds_do_not_pay() -> None:
    app = open_page("multiplicative", mul_view="growth", **SET)
    assert "Ranked at the 5 levels of Census-like geography (synthetic)" in words(app).replace("`", "")
    assert "Thresholds do not pay here" in words(app)


def test_exact_crossings_replace_those_read_off(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page("multiplicative", mul_view="growth", **SET, mul_levels="10")
    assert "≈" in "".join(table(app, "from this many levels on")["from this many levels on"])
    assert "Read off the curves." in words(app)
    monkeypatch.setattr(jobs, "pool", Inline)
    monkeypatch.setattr(jobs, "WORKERS", WorkersHere())
    monkeypatch.setattr(ranking, "PAIRS", (("gaussian", "laplace"), ("paper", "laplace")))
    app = open_page("multiplicative", mul_view="growth", **SET, mul_levels="10", eps="0.5")
    assert list(table(app, "than")["from this many levels on"])[1] == "not up to 10⁶"
    assert "Exact search." in words(app)


@pytest.mark.parametrize("text", ["1", "0", "-3", "1e3", "2.5", "1000001", "10^7", "9^99", "x", "^", "٣", "999999999"])
def test_other_levels_are_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        ranking.levels_from_text(text)
    assert caught.value.code == "LEVELS_RANGE"


def test_the_page_refuses_other_levels() -> None:
    app = open_page("multiplicative", mul_view="growth", **SET)
    for text in ("1000001", "٣"):
        widget(app, "mul_levels").set_value(text)
        app.run()
        assert codes(app) == ["LEVELS_RANGE"] and not app.exception, text


# --- one run ---------------------------------------------------------------------------------------------------------


def test_next_and_back_walk_the_steps() -> None:
    app = open_page("multiplicative", mul_view="run", mul_step="0", **SET)
    assert "Start: no node has a value" in words(app)
    assert widget(app, "mul_back").disabled
    press(app, "mul_next")
    assert app.session_state["mul_step"] == 1
    assert "Round 1, threshold" in words(app)
    while not widget(app, "mul_next").disabled:
        press(app, "mul_next")
        assert re.search("^Round [0-9]+, threshold", words(app), re.MULTILINE)
    press(app, "mul_back")
    press(app, "mul_end")
    assert "Every other node gets the default" in words(app)
    assert "The root gets the public total" in words(app)
    assert widget(app, "mul_next").disabled
    press(app, "mul_back")
    press(app, "mul_start")
    assert app.session_state["mul_step"] == 0


def test_a_run_shown_to_its_end_stays_at_the_end() -> None:
    app = open_page("multiplicative", mul_view="run", mul_step="10000", **SET)
    for source in ("deep", "current", "small"):
        app.session_state["mul_source"] = source
        app.run()
        assert widget(app, "mul_end").disabled
        assert not app.exception


def test_draw_again_changes_the_run() -> None:
    app = open_page("multiplicative", mul_view="run", **SET)
    before = figure(app, "mul_against")["data"][-2]["y"]
    press(app, "mul_draw")
    assert figure(app, "mul_against")["data"][-2]["y"] != before


def test_names_of_a_user_are_shown_as_they_are() -> None:
    data = dataset(Tree.from_branching_factors((3, 3)), [900] * 9, name="<b>*x*</b> www.x.org")
    app = open_page("multiplicative", data, mul_view="run", mul_source="current", **SET)
    assert "`<b>*x*</b> www.x.org`" in words(app)


def test_a_large_tree_is_run_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treedp_core.views.multiplicative.run.LARGE", 5)
    app = open_page("multiplicative", mul_view="run", mul_source="current", **SET)
    assert any("Running on a large tree" in bar.proto.text for bar in app.get("progress"))
    assert figure(app, "mul_tree")["data"][0]["name"] == "no value yet"
    press(app, "multiplicative_run_cancel")
    assert "Running on a large tree, round by round: cancelled." in words(app)
    monkeypatch.setattr(jobs, "pool", Inline)
    press(app, "multiplicative_run_again")
    assert figure(app, "mul_tree")["data"][-1]["name"] == "labelled"


def test_the_clamp_is_shown_on_the_page() -> None:
    app = open_page("multiplicative", mul_view="run", mul_clamp="1", mul_plan="paper", mul_step="10000", **SET)
    assert not app.exception
    assert "Clamp: every count is measured once more" in words(app)
    assert "The clamp takes half of the budget" in words(app)
    moved = re.search("([0-9]+) of 31 nodes moved into their interval", words(app))
    assert moved is not None and sum(
        width == 3.0 for width in figure(app, "mul_tree")["data"][-1]["marker"]["line"]["width"]
    ) == int(moved[1])
    press(app, "mul_back")
    assert "Every other node gets the default" in words(app)
    assert "is proven" in words(app)


# --- refusals --------------------------------------------------------------------------------------------------------


def test_without_delta_one_that_fits_is_taken_and_one_click_sets_it() -> None:
    app = open_page("multiplicative", mul_view="run")
    assert codes(app) == [] and "δ = 1e-8 is used on this page" in words(app)
    before = figure(app, "mul_tree")["data"]
    press(app, "mul_set_delta")
    assert codes(app) == [] and app.session_state["delta"] == 1e-8  # 33 million records
    assert figure(app, "mul_tree")["data"] == before


def test_a_tree_of_one_level_is_refused() -> None:
    one = dataset(Tree(np.array([-1]), np.array([0, 1])), [500])
    for view, more in (("growth", {}), ("run", {"mul_source": "current"}), ("meaning", {})):
        app = open_page("multiplicative", one, mul_view=view, **SET, **more)
        assert codes(app) == ["LEVELS_RANGE"]
        assert not app.exception


@pytest.mark.parametrize("counts", [[0] * 9, [1] * 9])
def test_data_below_the_first_threshold_are_answered(counts: list[int]) -> None:
    few = dataset(Tree.from_branching_factors((3, 3)), counts)
    app = open_page("multiplicative", few, mul_view="run", mul_source="current", **SET)
    assert codes(app) == ["PLAN_TOTAL"]
    assert not app.exception
    app.session_state["nbr"] = "add_or_remove_one"
    app.run()
    assert codes(app) in ([], ["PLAN_TOTAL"])
    assert not app.exception


def test_a_refused_run_leaves_the_last_one() -> None:
    app = open_page("multiplicative", mul_view="run", **SET)
    before = figure(app, "mul_tree")["data"]
    app.session_state["alpha"] = 0.0
    app.run()
    assert codes(app) == ["ALPHA_RANGE"]
    assert "Shown meanwhile: small tree · 5 levels · 15\u202f600 records · α = 0.5" in words(app)
    assert figure(app, "mul_tree")["data"] == before


# --- frame -----------------------------------------------------------------------------------------------------------
