"""The Budget split page: splits, prices and errors against hand-made numbers, what it refuses, and what it keeps."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from browsing import ROOT
from oracles_pages import (
    RAGGED,
    Later,
    answer,
    dataset,
    figure,
    metric_values,
    open_page,
    pick,
    press,
    tree_rmsre,
    widget,
    words,
)
from pages.ui import jobs
from pages.views.budget import prior
from pages.views.budget import words as budget_words
from pages.views.budget.settings import SETTINGS, VIEWS
from treedp_core.allocation import ALLOCATIONS, Allocation
from treedp_core.allocation import shares as budget_numbers
from treedp_core.allocation.shares import values_of_text
from treedp_core.cli import PUBLIC_VARIABLE
from treedp_core.experiment import Experiment, run
from treedp_core.notebook.study import Asked, note_of
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.records.export.columns import labelled
from treedp_core.studies.budget import Problem, greedy
from treedp_core.studies.budget.figure4 import TOTALS
from treedp_core.tree import Tree
from treedp_core.words import short

pytestmark = pytest.mark.usefixtures("own_jobs")

COUNTS = [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100]
SMALL = dataset(Tree.from_branching_factors((3, 4)), COUNTS)
STARTS = [0, 1, 4, 16]
ADD = "add_or_remove_one"


@pytest.fixture
def budget() -> Callable[..., AppTest]:
    return lambda data=SMALL, **link: open_page("budget", data, **{"bud_view": "strategies"} | link)


def codes(app: AppTest) -> set[str]:
    return set(re.findall(r"`([A-Z_]{4,})`", "\n".join(error.value for error in app.error)))


def told(app: AppTest) -> list[str]:
    return [toast.value for toast in app.toast]


def tree_errors(app: AppTest, key: str = "bud_strategies") -> dict[str, str]:
    """Strategy -> its error as written on the right of the comparison."""
    bar = figure(app, key)["data"][-1]
    return dict(zip(bar["y"], bar["text"], strict=True))


def rmsre(by_level: list[float], tau: float = 10.0, counts: list[int] | None = None) -> float:
    """RMSRE of the small tree from the standard deviation of each level's nodes."""
    values = SMALL.counts.tolist() if counts is None else counts
    errors = [by_level[level] for level, (a, b) in enumerate(pairwise(STARTS)) for _ in range(a, b)]
    return tree_rmsre(STARTS, errors, values, tau)


# --- every strategy at the same price --------------------------------------------------------------------------------


def test_simple_strategies_by_hand(budget: Callable[..., AppTest]) -> None:
    """Laplace noise of scale 1 / share, one record added or removed, no post-processing."""
    app = budget(bud_mechanism="laplace", bud_least_squares="0", nbr=ADD, bud_prior="true")
    errors = tree_errors(app)
    assert errors["Uniform"] == short(rmsre([math.sqrt(2) * 3] * 3))
    assert errors["Leaves only"] == "∞"
    assert not app.exception


def test_a_split_that_nobody_has_reviewed_marks_the_pages_that_show_it() -> None:
    def badges(page: str, **link: str) -> str:
        return " ".join(str(one.value) for one in open_page(page, **link).main.markdown if "-badge[" in str(one.value))

    ALLOCATIONS.register(Allocation("tops", "Top heavy", "Halves.", lambda tree, *_: 0.5 ** np.arange(tree.n_levels)))
    try:
        assert "not reviewed" in badges("budget", bud_view="strategies")
        assert "not reviewed" not in badges("budget", bud_view="curves"), "its five splits are TreeDP's own"
        assert "not reviewed" in badges("budget", bud_view="curves", bud_strategy="tops")
        assert "not reviewed" not in badges("budget", bud_view="map")
        assert "not reviewed" in badges("cdf", cdf_allocation="tops")
    finally:
        ALLOCATIONS.withdraw("tops")
    assert "not reviewed" not in badges("budget", bud_view="strategies")


def test_splits_can_be_judged_by_records_instead(budget: Callable[..., AppTest]) -> None:
    """RMSE of uniform raw Laplace noise of scale 3: sqrt(2) times 3 on every count, whatever its size."""
    app = budget(bud_mechanism="laplace", bud_least_squares="0", nbr=ADD, bud_prior="true", bud_metric="rmse")
    assert tree_errors(app)["Uniform"] == short(3 * math.sqrt(2))
    assert figure(app, "bud_strategies")["layout"]["xaxis2"]["title"]["text"] == "RMSE of the tree (records)"
    assert errors_of(app, "Optimum") < errors_of(app, "Uniform")
    assert "'RMSE'" in app.code[0].value
    assert press(app, "bud_use").session_state["lab_metric"] == "rmse"
    rmsre_target = {"bud_view": "targets", "bud_ask": "rmsre", "bud_targets": "0,20,0", "bud_prior": "true", "nbr": ADD}
    tables = [budget(**rmsre_target, bud_metric=m).dataframe[0].value for m in ("rmse", "rmsre")]
    assert tables[0].equals(tables[1])


def test_leaves_only_after_least_squares_by_hand(budget: Callable[..., AppTest]) -> None:
    """Public total, leaves of variance 8: knowing their sum takes a twelfth away; four siblings keep two thirds."""
    app = budget(bud_mechanism="laplace", bud_prior="true")
    by_level = [0.0, math.sqrt(4 * 8 * (1 - 4 / 12)), math.sqrt(8 * (1 - 1 / 12))]
    assert tree_errors(app)["Leaves only"] == short(rmsre(by_level))


def test_greedy_steps_are_the_cores(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_mechanism="laplace", bud_prior="true", bud_phases="10")
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    expected = greedy(Problem(SMALL.tree, SMALL.counts, "laplace", unit), 1.0, 10)
    drawn = figure(app, "bud_steps")
    spent = np.array([bar["y"] for bar in drawn["data"]]).T
    np.testing.assert_allclose(spent, expected.after_each_step)
    assert len(drawn["layout"]["sliders"][0]["steps"]) == 10
    assert errors_of(app, "Greedy") <= errors_of(app, "Uniform")


def errors_of(app: AppTest, label: str) -> float:
    bar = figure(app, "bud_strategies")["data"][-1]
    return dict(zip(bar["y"], bar["x"], strict=True))[label]


def test_the_optimum_is_never_worse_than_what_it_is_compared_with(budget: Callable[..., AppTest]) -> None:
    for link in ({}, {"bud_mechanism": "gaussian", "delta": "1e-6"}, {"bud_least_squares": "0"}):
        app = budget(bud_prior="true", nbr=ADD, **link)
        finite = [float(x) for x, text in bars(app) if text != "∞"]
        tuned = next(label for label in tree_errors(app) if label in ("Optimum", "Tuned"))
        assert errors_of(app, tuned) <= min(finite) * (1 + 1e-9)
        assert not app.exception


def bars(app: AppTest) -> list[tuple[float, str]]:
    bar = figure(app, "bud_strategies")["data"][-1]
    return list(zip(bar["x"], bar["text"], strict=True))


def test_gaussian_optimum_says_it_is_certified(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_prior="true", bud_mechanism="gaussian", delta="1e-6")
    assert "Certified by convexity" in words(app)
    assert "Optimum" in tree_errors(app)
    app = budget(bud_prior="true", bud_mechanism="laplace")
    assert "not certified" in words(app)
    assert "Tuned" in tree_errors(app) and "ptimum" not in words(app)
    app = budget(bud_mechanism="gaussian", delta="1e-6")
    assert "Tuned, after paying for its prior" in tree_errors(app) and "ptimum" not in words(app)


def test_gaussian_without_delta_takes_one_that_fits(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_mechanism="gaussian")
    assert not app.error and "δ = 1e-6 is used on this page" in words(app)
    app = press(app, "bud_set_delta")
    assert not app.error
    assert "differential privacy" in words(app)


def test_published_shares_appear_where_the_levels_match(budget: Callable[..., AppTest]) -> None:
    assert not any("Census" in label for label in tree_errors(budget()))
    app = open_page("budget", bud_view="strategies")
    assert "Census 2020, persons in Puerto Rico" in tree_errors(app)
    assert "published shares of ρ, used here as shares of ε" in words(app)


def test_a_ragged_tree_says_what_per_node_budgets_gain(budget: Callable[..., AppTest]) -> None:
    assert "Per-node budgets" in words(budget(RAGGED, nbr=ADD, bud_strategy="uniform"))
    assert "Per-node budgets" not in words(budget())


def test_while_the_optimum_is_searched_the_rest_is_there(
    budget: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = budget(bud_prior="true")
    assert metric_values(app)["Tuned"] == "…"
    assert tree_errors(app)["Tuned"] == "–"
    assert tree_errors(app)["Greedy"] != "–"
    assert "Searching for the best split" in words(app)


def test_a_search_can_be_cancelled_and_started_again(
    budget: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs
) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    slots = {"strategies": "budget_optimum", "targets": "budget_targets", "curves": "budget_own_curves"}
    for view, slot in slots.items():
        app = budget(bud_prior="true", bud_view=view)
        assert ": 0 %" in words(app)
        app = press(app, f"{slot}_cancel")
        assert "cancelled" in words(app), "seen at once, although no worker has noticed yet"
        assert f"{slot}_cancel" not in [button.key for button in app.button]
        own_jobs.slots[slot].run(lambda watch: pytest.fail("worked although it was told to stop"))
        app = app.run()
        assert "cancelled" in words(app)
        assert own_jobs.slots[slot].state == "cancelled"
        app = press(app, f"{slot}_again")
        assert own_jobs.slots[slot].is_running
        assert not app.exception


# --- the honest line -------------------------------------------------------------------------------------------------


def row(name: str, error: float, prior: Any = None) -> Any:
    return SimpleNamespace(
        name=name, label=name, errors=SimpleNamespace(tree=error), ledger=SimpleNamespace(prior=prior)
    )


def test_the_verdict_names_the_winner() -> None:
    simple = [row("uniform", 3.0), row("leaves_only", 2.0)]
    loses = budget_words.verdict([*simple, row("greedy", 2.5)])
    assert loses.startswith("**Greedy loses here:**")
    assert "leaves_only" in loses
    assert "25 % more" in loses
    assert budget_words.verdict([*simple, row("greedy", 1.5)]).startswith("Greedy wins here")
    assert "25 % less" in budget_words.verdict([*simple, row("greedy", 1.5)])
    assert budget_words.verdict([*simple, row("greedy", 2.0001)]).startswith("Greedy is no better")
    assert "unbounded" in budget_words.verdict([*simple, row("greedy", math.inf)])
    assert budget_words.verdict(simple) == ""


def test_greedy_loses_on_the_page_when_its_prior_takes_half(budget: Callable[..., AppTest]) -> None:
    app = open_page("budget", bud_view="strategies", bud_prior="noisy")
    assert "**Greedy loses here:**" in words(app)
    assert "What its prior costs is missing on the levels" in words(app)


# --- priors and what they cost ---------------------------------------------------------------------------------------


def ledger(app: AppTest) -> str:
    return next(line.value for line in app.main.markdown if "charged" in line.value and "Protects" in line.value)


def test_a_noisy_prior_is_charged_to_the_total(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_prior_eps="0.25")
    assert "for the prior 0.25, charged 1 of 1." in ledger(app)
    assert sum(map(float, re.findall(r"\d[\d.e-]*", ledger(app).partition("public +")[2])[:2])) == pytest.approx(
        0.75, abs=1e-4
    )
    assert "ε = 0.25, charged to the total" in words(app)
    boxes = next(bar for bar in figure(app, "bud_strategies")["data"] if bar["name"] == "for the prior")
    assert dict(zip(boxes["y"], boxes["x"], strict=True))["Greedy"] == 0.25


def test_the_ledger_says_what_the_browser_s_api_would_report(budget: Callable[..., AppTest]) -> None:
    app = budget(nbr="replace_unknown", known_levels="2", bud_strategy="uniform")
    told = next(line.value for line in app.main.markdown if "add 65 536 together" in line.value.replace("\u202f", " "))
    assert "92 682 of these units at ε = 1" in told.replace("\u202f", " ") and "by last touch" in told
    assert not app.exception and not app.error
    other = budget(bud_strategy="uniform")
    assert "add 65 536 together" not in words(other)
    other = press(other, "bud_api_relation")
    assert other.session_state["nbr"] == "replace_unknown" and "add 65 536 together" in words(other)


def test_one_leaf_below_a_public_total_needs_no_budget(budget: Callable[..., AppTest]) -> None:
    app = budget(dataset(Tree.from_branching_factors((1,)), [50]))
    assert not app.exception and not app.error
    assert "no error, as the best simple" in words(app) or metric_values(app)["Greedy"] == "0"


def test_earlier_records_of_one_s_own_table_become_the_prior(budget: Callable[..., AppTest]) -> None:
    data = dataset(Tree.from_branching_factors((2, 3, 2)), list(range(12)))
    app = budget(data, bud_prior="public")
    year = data.labels.vocabularies[1][0]
    widget(app, "bud_period").set_value(1)
    widget(app, "bud_earlier_1").set_value([year])
    app = press(app.run(), "bud_split")
    assert not app.exception and not app.error
    assert "public or historic counts, which cost no budget" in words(app)
    assert "12 leaves, 3 levels" in words(app) and "test, later" in words(app)  # every node has a name of its own
    assert "for the prior" not in ledger(app)
    app = pick(pick(app, bud_prior="earlier"), bud_prior_eps=0.25)
    assert "for the prior 0.25, charged 1 of 1" in ledger(app)
    assert "one simulated release of all earlier counts" in words(app) and "no budget" not in words(app)
    assert "`test, earlier` — 15 records → " in words(app)


def test_periods_that_are_too_many_to_list_are_said_to_be(
    budget: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prior, "MOST_PERIODS", 2)
    app = budget(dataset(Tree.from_branching_factors((3, 2)), range(6)), bud_prior="public")
    assert "The first 2 of 3 categories." in words(app)


def test_the_automatic_prior_is_one_or_half(budget: Callable[..., AppTest]) -> None:
    assert "for the prior 0.5, charged 1 of 1" in ledger(budget())
    assert "for the prior 1, charged 4 of 4" in ledger(budget(eps="4"))


def test_a_prior_that_takes_everything_is_refused_and_the_rest_stays(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_prior_eps="1")
    assert codes(app) == {"BUDGET_EXCEEDED"}
    assert set(tree_errors(app)) == {"Uniform", "Leaves only", "Minimax", "Cube root"}
    assert metric_values(app)["Greedy"] == "–"
    assert not pick(app, bud_prior_eps=0.5).error


def test_true_counts_are_labelled_everywhere(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_prior="true")
    assert any(error.proto.title.startswith("NOT PRIVATE") for error in app.error)
    for key in ("bud_strategies", "bud_steps", "bud_levels"):
        assert "NOT PRIVATE" in [note["text"] for note in figure(app, key)["layout"]["annotations"]]
    assert ledger(app).startswith("NOT PRIVATE")
    assert any(code.value.startswith("# NOT PRIVATE") for code in app.code)
    assert next(iter(labelled({"a": [1]}, "NOT PRIVATE: tuned"))).startswith("NOT PRIVATE")


def test_the_label_stays_with_a_split_copied_from_true_counts(budget: Callable[..., AppTest]) -> None:
    app = press(pick(budget(bud_prior="true"), bud_view="custom"), "bud_copy_greedy")
    app = pick(app, bud_prior="noisy")
    assert ledger(app).startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in [note["text"] for note in figure(app, "bud_custom")["layout"]["annotations"]]
    assert not ledger(press(app, "bud_copy_uniform")).startswith("NOT PRIVATE")


def prior_file(app: AppTest, text: bytes, weight: bool = True) -> AppTest:
    if not app.main.get("file_uploader"):
        press(app, "bud_prior_replace")
    app.main.get("file_uploader")[0].upload("prior.csv", text, "text/csv")
    app.run()
    return press(app, "bud_prior_count")


def table(counts: list[int], names: Callable[[int], str] = lambda i: f"n2.{i}") -> bytes:
    rows = [f"n1.{i // 4},{names(i)},{count}" for i, count in enumerate(counts)]
    return "\n".join(["nlevel1,nlevel2,count", *rows]).encode()


def test_a_public_prior_costs_nothing_and_a_bad_one_changes_nothing(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_prior="public")
    assert "Until there is a prior" in words(app)
    assert metric_values(app)["Greedy"] == "–"
    app = prior_file(app, table([c + 1 for c in COUNTS]))
    assert not app.error
    assert "which cost no budget" in words(app)
    assert "for the prior" not in ledger(app)
    before = ledger(app)
    app = prior_file(app, table(COUNTS, lambda i: f"other {i}"))
    assert codes(app) == {"PRIOR_LEAVES"}
    assert ledger(app) == before
    app = prior_file(app, b"a,b\n1,2\n")
    assert "PRIOR_LEAVES" in codes(app)
    assert ledger(app) == before
    app = prior_file(app, table([0] * 12))
    assert "PRIOR_EMPTY" in codes(app)
    assert ledger(app) == before


def test_a_prior_that_lacks_leaves_is_taken_where_they_are_public(budget: Callable[..., AppTest]) -> None:
    few = b"\n".join(table([c + 1 for c in COUNTS]).splitlines()[:-2])
    app = prior_file(budget(bud_prior="public"), few)
    assert codes(app) == {"PRIOR_LEAVES"}
    press(pick(app, bud_absent=True), "bud_prior_count")
    assert not app.error and not app.exception
    assert any("2 leaves of the data are absent from the prior and count 0" in info.value for info in app.info)
    assert metric_values(app)["Greedy"] != "–" and "for the prior" not in ledger(app)
    again = prior_file(budget(bud_prior="public", bud_absent="1"), few)
    assert not again.error and metric_values(again)["Greedy"] != "–", "as after a notebook without data is opened"


def test_a_cell_that_was_tuned_on_a_file_is_of_the_data_all_the_same(budget: Callable[..., AppTest]) -> None:
    app = prior_file(budget(bud_prior="public"), table([c + 1 for c in COUNTS]))
    press(app, "bud_strategies_pin")
    press(pick(app, bud_view="targets"), "bud_targets_split_pin")
    for cell in app.session_state["_notebook"].notebook.cells:
        assert cell.data.fingerprint == SMALL.fingerprint and cell.holds_counts


def test_a_cell_says_that_what_it_was_tuned_on_was_exchanged(budget: Callable[..., AppTest]) -> None:
    app = press(prior_file(budget(bud_prior="public"), table([c + 1 for c in COUNTS])), "bud_strategies_pin")
    held = app.session_state["_notebook"]

    def told() -> str:
        return words(app.switch_page("pages/notebook.py").run())

    assert "Not up to date" not in told()
    before, later = app.session_state["_from_file"], datetime.now(UTC) + timedelta(hours=1)
    prior = before["bud_prior"]
    app.session_state["_from_file"] = before | {"bud_prior": replace(prior, when=later)}
    assert "was tuned on has been exchanged since" in told()
    held.asked = (Asked("bud_prior", note_of(prior.data, None)),)
    assert "Not up to date" not in told(), "the same one was given again"
    app.session_state["_from_file"] = {slot: one for slot, one in before.items() if slot != "bud_prior"}
    assert "was tuned on is not in this session" in told()


def test_a_cell_that_was_pinned_without_a_file_to_tune_on_misses_none(budget: Callable[..., AppTest]) -> None:
    app = press(budget(bud_prior="public", bud_view="strategies"), "bud_strategies_pin")
    app.switch_page("pages/notebook.py").run()
    assert len(app.session_state["_notebook"].notebook.cells) == 1
    assert "Not up to date" not in words(app)


def test_an_answer_of_before_says_so_while_there_is_no_prior(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_view="targets")
    assert app.session_state["_page_said"][1] == "formula, simulation, NOT PRIVATE"
    assert "Shown meanwhile" not in words(app)
    pick(app, bud_prior="public")
    assert "The search needs a prior" in words(app) and "Shown meanwhile" in words(app) and not app.error


def test_a_prior_belongs_to_its_data_and_is_not_the_data_once_more(budget: Callable[..., AppTest]) -> None:
    app = prior_file(budget(bud_prior="public"), table(COUNTS))
    assert codes(app) == {"PRIOR_IS_DATA"}
    app = prior_file(app, table([c + 1 for c in COUNTS]))
    assert metric_values(app)["Greedy"] != "–" and not app.error
    app.session_state["source"] = "sample"
    app.run()
    assert "Until there is a prior" in words(app)
    assert metric_values(app)["Greedy"] == "–" and not app.exception


def test_a_public_app_takes_no_prior_files(budget: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PUBLIC_VARIABLE, "1")
    app = open_page("budget", bud_view="strategies", bud_prior="public")
    assert "takes no files" in words(app)
    assert not app.main.get("file_uploader")
    offered = widget(open_page("budget", bud_view="strategies"), "bud_prior").options
    assert len(offered) > 1 and not [one for one in offered if "file" in one]


# --- a split of one's own --------------------------------------------------------------------------------------------


def shares(app: AppTest) -> list[float]:
    return [float(share) for share in budget_numbers.shares_of_text(app.session_state["bud_shares"])]


def test_a_split_of_ones_own_is_a_strategy_from_the_start(budget: Callable[..., AppTest]) -> None:
    """Before anything was moved it is the equal split: its card, bar and ledger are there, not those of greedy."""
    app = budget(bud_view="custom", nbr=ADD)
    errors = tree_errors(app, "bud_custom")
    assert errors["Your own"] == errors["Uniform"] == metric_values(app)["Your own split"]
    assert [heading.value for heading in app.header] == ["Ledger: Your own"]
    assert "charged 1 of 1" in ledger(app)
    assert "for the prior" not in ledger(app)
    assert [heading.value for heading in pick(app, bud_view="strategies").header] == ["Ledger: Greedy"]
    unfit = budget(bud_view="custom", nbr=ADD, bud_shares="0.5, 0.4")
    assert metric_values(unfit)["Your own split"] == "–"
    assert not unfit.header


def test_moving_a_slider_moves_the_others_but_not_the_locked(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_view="custom", nbr=ADD, bud_shares="0.2,0.3,0.5")
    app = pick(app, bud_lock1=True)
    app = pick(app, bud_s0=40.0)
    assert shares(app) == [0.4, 0.3, 0.3]
    assert [slider.value for slider in app.slider if slider.key.startswith("bud_s")] == [40.0, 30.0, 30.0]
    assert "ε by level 0.4 + 0.3 + 0.3, charged 1 of 1" in ledger(app)
    assert app.checkbox(key="bud_lock1").value


def test_the_root_is_not_offered_where_the_total_is_public(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_view="custom")
    assert app.slider(key="bud_s0").disabled
    app = pick(app, bud_s1=80.0)
    assert shares(app) == [0.0, 0.8, 0.2]


@pytest.mark.parametrize(
    "text", ["0.5, 0.6, 0.2", "0.5, 0.5", "0.1, 0.2, 0.3, 0.4", "a, b, c", "-0.1, 0.5, 0.5", "0, 0, 0"]
)
def test_shares_that_do_not_fit_are_refused_and_nothing_is_lost(budget: Callable[..., AppTest], text: str) -> None:
    app = budget(bud_view="custom", nbr=ADD, bud_shares="0.2,0.3,0.5")
    app = pick(app, bud_shares=text)
    assert codes(app) == {"BUDGET_SPLIT"}
    assert not app.exception
    assert "Greedy" in tree_errors(app, "bud_custom")
    assert app.text_input(key="bud_shares").value == text
    assert not pick(app, bud_shares="0.1, 0.4, 0.5").error


def test_copying_a_split_keeps_what_its_prior_cost_unspent(budget: Callable[..., AppTest]) -> None:
    app = press(budget(bud_view="custom"), "bud_copy_greedy")
    assert sum(shares(app)) == pytest.approx(0.5, abs=1e-5)
    assert "50 % of the total is not spent" in words(app)
    app = pick(app, bud_s1=10.0)
    assert sum(shares(app)) == pytest.approx(0.5, abs=1e-3)


# --- the way to other pages ------------------------------------------------------------------------------------------


def test_a_split_is_handed_over_to_the_other_pages(budget: Callable[..., AppTest]) -> None:
    app = press(pick(budget(bud_mechanism="laplace"), bud_strategy="cube_root"), "bud_use")
    handed = app.session_state["lab_shares"]
    assert app.session_state["con_shares"] == handed
    assert "Handed over" in words(app)
    one = Experiment("laplace", ("least_squares",), "custom", "rmsre", shares=tuple(map(float, handed.split(", "))))
    expected = run(one, SMALL.tree, SMALL.counts, simulated=False).formula
    assert expected is not None
    assert tree_errors(app)["Cube root"] == short(expected.tree)
    lab = app.switch_page("pages/lab.py").run()
    assert not lab.error
    assert metric_values(lab)["Laplace, least squares"] == short(expected.tree)
    consistency = lab.switch_page("pages/consistency.py").run()
    assert not consistency.error


def test_shares_typed_just_before_the_press_are_the_ones_that_are_used(budget: Callable[..., AppTest]) -> None:
    """Both reach the server before the page is drawn once more; what cannot be read is handed to nobody."""
    for typed, expected in (("0.1, 0.2, 0.7", [0.1, 0.2, 0.7]), ("0.1, 2", None)):
        for key in ("bud_use", "bud_plan"):
            app = budget(bud_view="custom", bud_mechanism="laplace", nbr=ADD, bud_shares="0.2,0.3,0.5")
            app.text_input(key="bud_shares").set_value(typed)
            kept = app.button(key=key).click().run().session_state
            plan = kept["_plan"].made.value if "_plan" in kept else None
            handed = [1 / level.scale for level in plan.levels] if plan else list(values_of_text(kept["lab_shares"]))
            assert handed == pytest.approx(expected or [])
            assert plan or "_plan" not in pick(app, bud_shares="0.1, 0.2, 0.7").session_state, "not later either"


def test_sliders_of_a_page_that_is_behind_move_nothing(budget: Callable[..., AppTest]) -> None:
    """With a press a browser sends all sliders as it has them; one that a hand moved is followed."""
    app = budget(bud_view="custom", nbr=ADD, bud_shares="0,0,1")
    for level in range(3):
        app.slider(key=f"bud_s{level}").set_value(33.3)
    assert press(app, "bud_use").session_state["lab_shares"] == "0, 0, 1"
    assert shares(pick(app, bud_s1=50.0)) == [0, 0.5, 0.5]


def notes(app: AppTest, key: str) -> list[str]:
    return [note["text"] for note in figure(app, key)["layout"].get("annotations", [])]


@pytest.mark.parametrize(
    ("page", "prefix", "keys"),
    [("lab", "lab", ["lab_figure"]), ("consistency", "con", ["con_figure", "con_boxes", "con_levels"])],
)
def test_a_split_tuned_on_true_counts_is_labelled_where_it_goes(
    budget: Callable[..., AppTest], page: str, prefix: str, keys: list[str]
) -> None:
    handed = press(pick(budget(bud_prior="true", nbr=ADD), bud_strategy="greedy"), "bud_use")
    leaky = handed.session_state["lab_shares"]
    app = handed.switch_page(f"pages/{page}.py").run()
    assert any("NOT PRIVATE" in error.proto.title for error in app.error)
    for key in keys:
        assert "NOT PRIVATE" in notes(app, key)
    captions = [*app.caption, *app.markdown]  # that of the first screen's figure is in its popover
    label = "NOT PRIVATE: the split was tuned on the true counts"
    assert sum(caption.value.startswith(label) for caption in captions) >= len(keys)
    assert any(code.value.startswith("# NOT PRIVATE: the split was tuned") for code in app.code)
    link = {f"{prefix}_{name}": app.session_state[f"{prefix}_{name}"] for name in ("allocation", "shares", "tuned")}
    assert open_page(page, SMALL, nbr=ADD, **link).error
    older = link | {f"{prefix}_leaks": leaky, f"{prefix}_tuned": ""}
    assert open_page(page, SMALL, nbr=ADD, **older).error
    app = pick(app, **{f"{prefix}_shares": "0.2, 0.3, 0.5"})
    assert app.error, "shares typed over tuned ones may be made from them"
    app = press(app, f"{prefix}_own")
    assert not app.error
    assert not any("NOT PRIVATE" in notes(app, key) for key in keys)
    assert pick(app, **{f"{prefix}_shares": leaky.replace(", ", " ")}).error, "those of another page, pasted"
    assert not pick(app, **{f"{prefix}_allocation": "uniform"}).error


def test_a_private_split_handed_over_has_no_label(budget: Callable[..., AppTest]) -> None:
    app = press(pick(budget(bud_prior="true"), bud_strategy="uniform"), "bud_use")
    assert not app.switch_page("pages/lab.py").run().error


def test_the_label_stays_until_the_reader_says_that_shares_are_their_own(budget: Callable[..., AppTest]) -> None:
    app = press(pick(budget(bud_prior="true", nbr=ADD), bud_view="custom"), "bud_copy_greedy")
    app = pick(app, bud_prior="noisy")
    app = pick(app, bud_shares=app.session_state["bud_shares"] + " ")
    assert ledger(app).startswith("NOT PRIVATE")
    app = pick(app, bud_shares="0.2, 0.3, 0.5")
    assert ledger(app).startswith("NOT PRIVATE")
    assert not ledger(press(app, "bud_own")).startswith("NOT PRIVATE")
    assert not ledger(pick(app, bud_shares="")).startswith("NOT PRIVATE"), "equal shares look at nothing"


def test_a_copy_of_a_split_tuned_on_a_noisy_prior_is_charged_for_it(budget: Callable[..., AppTest]) -> None:
    """By hand: ε = 1, half for the prior; stretched to 1 the levels and the prior cost 1.5, which is refused."""
    app = press(budget(bud_view="custom", nbr=ADD), "bud_copy_greedy")
    assert "for the prior 0.5, charged 1 of 1" in ledger(app)
    app = pick(app, bud_shares="0.25, 0.25, 0.5")
    assert codes(app) == {"BUDGET_EXCEEDED"}
    assert "Prior and levels cost 1.5 together" in app.error[0].value
    app = pick(app, bud_shares="0, 0.2, 0.2")
    assert "for the prior 0.5, charged 0.9 of 1" in ledger(app)
    app = pick(app, bud_prior="true")
    assert "for the prior 0.5" in ledger(app), "another prior for the other strategies changes nothing about this one"


@pytest.mark.parametrize(
    ("setting", "value"), [("nbr", "replace_one"), ("contributions", 3), ("bud_mechanism", "gaussian")]
)
def test_a_tuned_split_is_refused_where_its_prior_protects_others_or_costs_another_currency(
    budget: Callable[..., AppTest], setting: str, value: Any
) -> None:
    link = {"bud_view": "custom", "nbr": ADD, "delta": "1e-6", "bud_shares": "0, 0.25, 0.25",
            "bud_tuned": "noisy epsilon 0.5 add_or_remove_one 1 1"}  # fmt: skip
    assert "for the prior 0.5, charged 1 of 1" in ledger(budget(**link))
    app = budget(**link | {setting: str(value)})
    assert "PRIOR_OTHER" in codes(app)
    assert not app.header


@pytest.mark.parametrize(("page", "prefix"), [("lab", "lab"), ("consistency", "con")])
def test_the_price_of_a_noisy_prior_goes_where_its_split_goes(
    budget: Callable[..., AppTest], page: str, prefix: str
) -> None:
    """Handed over, opened from a link, at another ε: ε = 0.5 for the prior stays ε = 0.5."""
    handed = press(pick(budget(nbr=ADD), bud_strategy="greedy"), "bud_use")
    app = handed.switch_page(f"pages/{page}.py").run()
    assert not app.error
    assert "released for ε = 0.5. That is charged on top" in words(app)
    link = {f"{prefix}_{name}": app.session_state[f"{prefix}_{name}"] for name in ("allocation", "shares", "tuned")}
    assert link[f"{prefix}_tuned"] == "noisy epsilon 0.5 add_or_remove_one 1 1"
    opened = open_page(page, SMALL, nbr=ADD, **link)
    assert "released for ε = 0.5. That is charged on top" in words(opened)
    assert not opened.error
    assert codes(open_page(page, SMALL, nbr=ADD, eps="0.4", **link)) == {"BUDGET_EXCEEDED"}
    assert codes(open_page(page, SMALL, nbr="replace_one", **link)) == {"PRIOR_OTHER"}
    stretched = pick(app, **{f"{prefix}_shares": "0.25, 0.25, 0.5"})
    assert codes(stretched) == {"BUDGET_EXCEEDED"}


def test_a_link_without_the_price_does_not_take_it_from_a_session_that_has_it(budget: Callable[..., AppTest]) -> None:
    app = press(budget(bud_view="custom", nbr=ADD), "bud_copy_greedy")
    app.query_params["bud_shares"] = "0, 0.25, 0.25"
    assert "for the prior 0.5, charged 1 of 1" in ledger(app.run())


@pytest.mark.parametrize(("page", "prefix"), [("topdown", "td"), ("cdf", "cdf")])
def test_tuned_shares_pasted_into_another_page_keep_their_label(page: str, prefix: str) -> None:
    shared = {"nbr": ADD, "lab_shares": "0.1, 0.2, 0.2", "lab_tuned": "true_counts"}
    data = SMALL if page == "topdown" else dataset(Tree.from_branching_factors((12,)), COUNTS)
    fits = {"td_source": "current"} if page == "topdown" else {"cdf_tree": "own", "cdf_factors": "3,4"}
    link = {f"{prefix}_allocation": "custom", f"{prefix}_shares": "0.1 0.2 0.2", **fits}
    app = open_page(page, data, **shared, **link)
    assert not app.exception
    assert any("NOT PRIVATE" in error.proto.title for error in app.error), [e.value for e in app.error]
    untuned = open_page(page, data, **shared | {"lab_tuned": ""}, **link)
    assert not any("NOT PRIVATE" in error.proto.title for error in untuned.error)


def test_every_setting_survives_a_link_and_a_page_switch(budget: Callable[..., AppTest]) -> None:
    link = {
        "bud_view": "map", "bud_mechanism": "laplace", "bud_least_squares": "0", "bud_phases": "33",
        "bud_prior": "true", "bud_strategy": "minimax", "bud_within": "7.5", "bud_confidence": "0.9",
        "bud_shares": "0.2,0.8", "bud_node": "1",
    }  # fmt: skip
    app = budget(**link)
    for key, text in link.items():
        param = next(param for param in SETTINGS if param.key == key)
        assert app.session_state[key] == param.parse([text])
    app = app.switch_page("pages/lab.py").run().switch_page("pages/budget.py").run()
    assert app.session_state["bud_phases"] == 33
    assert not app.exception


# --- targets ---------------------------------------------------------------------------------------------------------


def test_the_smallest_budget_by_hand(budget: Callable[..., AppTest]) -> None:
    """Raw Laplace noise, RMSE 2 on level 1: 2 / ε² = 4."""
    app = budget(
        bud_view="targets", bud_mechanism="laplace", bud_least_squares="0", nbr=ADD, bud_prior="true", bud_ask="rmse",
        bud_targets="0, 2",
    )  # fmt: skip
    assert metric_values(app)["Smallest ε in all"] == "0.7072", "rounded up"
    assert metric_values(app)["Binding level"] == "1"
    assert "+ 0.7072 + 0, charged 0.7072, the whole of this budget." in words(app)
    app = press(app, "bud_targets_use")
    assert app.session_state["eps"] == pytest.approx(math.sqrt(0.5), rel=1e-3)
    assert app.session_state["eps_tuned"] == 0, "which is the same whatever the counts are"
    assert not ledger(app).startswith("NOT PRIVATE")
    assert shares(app) == pytest.approx([0.0, 1.0, 0.0], abs=1e-3)
    assert "**∞**: all and" in words(app) and "Least squares" in words(app), "what is not measured is explained"


def test_a_split_for_targets_is_taken_over_by_every_page_with_where_it_came_from(
    budget: Callable[..., AppTest],
) -> None:
    """Whatever the pages had: the split, its noise and its prior; each says so, and a plan costs the ε that was set."""
    app = budget(bud_view="targets", bud_mechanism="laplace", nbr=ADD, bud_prior="noisy", bud_targets="0, rmsre:20")
    app = press(app, "bud_targets_use")
    handed, tuned_on = app.session_state["bud_shares"], app.session_state["bud_tuned"]
    assert tuned_on.startswith("noisy epsilon")
    for name, prefix in (("lab", "lab"), ("consistency", "con"), ("plan", "plan")):
        app = app.switch_page(f"pages/{name}.py").run()
        assert not app.error and not app.exception
        assert [app.session_state[f"{prefix}_{key}"] for key in ("allocation", "shares", "tuned")] == [
            "custom", handed, tuned_on
        ]  # fmt: skip
        told = words(app)
        assert "Split from the Budget page: the smallest ε for its targets" in told
        assert "level 1: RMSRE at most 0.2" in told and "released for ε = 0.5" in told
    assert "plan_mechanism" in app.session_state and app.session_state["plan_mechanism"] == "laplace"
    app = pick(app, plan_shares="0.2, 0.3, 0.5")
    assert "Split from the Budget page" not in words(app)


def test_a_target_is_added_and_taken_away(budget: Callable[..., AppTest]) -> None:
    app = pick(budget(bud_view="targets"), bud_add_level=2, bud_add_value=20.0)
    app = press(app, "bud_add")
    assert app.session_state["bud_targets"] == "0, random:10, random:20"
    chips = app.pills[0]
    assert len(chips.options) == 2
    app = chips.set_value([1]).run()
    assert app.session_state["bud_targets"] == "0, 0, random:20"
    assert not app.error
    assert not app.exception


def test_a_target_that_was_added_stays_where_a_browser_sends_the_chips_as_they_were(
    budget: Callable[..., AppTest],
) -> None:
    app = pick(budget(bud_view="targets"), bud_add_level=2, bud_add_value=20.0)
    chips = app.pills[0]
    before = [one for one in app._tree.get_widget_states().widgets if one.id == chips.id]
    app = press(app, "bud_add")
    late = app._tree.get_widget_states()
    kept = [one for one in late.widgets if one.id != chips.id]
    del late.widgets[:]
    late.widgets.extend([*kept, *before])
    app = app._run(late)
    assert app.session_state["bud_targets"] == "0, random:10, random:20" and len(app.pills[0].options) == 2


def test_a_sentence_about_a_part_of_the_large_counts_is_answered(budget: Callable[..., AppTest]) -> None:
    """Two targets on one level, one of them about one release; both are in the answer, and what binds is simulated."""
    app = pick(budget(bud_view="targets", bud_prior="true", bud_targets="0, random:30"), bud_ask="share")
    app = pick(app, bud_add_level=1, bud_add_value=20.0, bud_add_part=60.0, bud_add_among=1.0)
    app = press(app, "bud_add")
    assert app.session_state["bud_targets"] == "0, random:30|share:20/60@1"
    assert len(app.pills[0].options) == 2
    told = words(app)
    assert "at once" in told and "≥ 1 within 20 %" in told
    card = next(card for card in app.main.metric if card.label == "Seen in simulation")
    error = re.search(r"± ([0-9.]+), (one release|mean count)", card.delta)
    assert error is not None
    assert float(card.value) > 0.95 - 3 * float(error[1])
    assert not app.exception
    app = pick(app, bud_targets="0, share:3r/100")
    assert codes(app) == set()
    assert "within 3 records at once" in words(app)
    app = pick(app, bud_targets="0, every:5@100000")
    assert codes(app) == {"TARGET_RANGE"}


def test_the_first_screen_answers_in_a_sentence() -> None:
    """On the small town two targets share the budget; the numbers of the sentence are those of the ledger below."""
    app = open_page("budget", sample="small_town")
    found = re.fullmatch(
        r"Every half within 1 % and a random district within 10 %, each with probability 0.95: "
        r"\*\*ε = ([0-9.]+)\*\*, of which ([0-9.]+) on half and ([0-9.]+) on district; an equal split "
        r"needs ([0-9.]+)\.",
        answer(app),
    )
    assert found is not None, answer(app)
    total, half, district, equal = map(float, found.groups())
    assert metric_values(app)["Smallest ε in all"] == found[1]
    assert half + district == pytest.approx(total, rel=2e-3)
    assert metric_values(app)["For the prior"] == "0"
    assert equal > 2 * total
    shares, tuned, same = (trace["x"] for trace in figure(app, "bud_targets_split")["data"])
    assert sum(shares) == pytest.approx(1.0)
    assert max(tuned) == pytest.approx(1.0, abs=0.02) and max(same) > 1.5
    assert "NOT PRIVATE: the split was tuned" not in words(app)


def test_another_draw_is_of_made_up_data_only(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_view="targets", bud_prior="draw")
    assert app.session_state["bud_prior"] == "noisy"
    assert "Another draw (public)" not in widget(app, "bud_prior").options
    assert float(metric_values(app)["For the prior"]) > 0


def test_while_the_smallest_budget_is_sought_its_place_is_there(
    budget: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs
) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = budget(bud_view="targets")
    assert figure(app, "bud_targets_split")["data"]
    assert "Searching for the smallest ε …" in words(app)
    assert "budget_targets_cancel" in [button.key for button in app.button]
    assert "budget_optimum" not in own_jobs.slots
    assert widget(app, "bud_targets_split_pin").disabled and widget(app, "bud_targets_split_export").disabled


def test_the_answer_is_confirmed_by_simulated_releases(budget: Callable[..., AppTest]) -> None:
    """Claimed 0.95 for each count of level 1; 20 000 releases, ± 95 %: within twice that (false alarm 10^-4)."""
    app = budget(bud_view="targets", bud_mechanism="laplace", bud_prior="true", bud_ask="every_node",
                 bud_targets="0, 10, 0")  # fmt: skip
    card = next(card for card in app.main.metric if card.label == "Seen in simulation")
    error = re.fullmatch(r"± ([0-9.]+), worst count, 20\W000 runs", card.delta)
    assert error is not None and 0 < float(error[1]) < 0.004
    assert abs(float(card.value) - 0.95) < 2 * float(error[1])


def test_a_shown_budget_is_never_below_the_exact_one(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_mechanism="laplace", nbr=ADD, bud_view="custom", eps="1.00049", bud_shares="0,0.5,0.5")
    assert "charged 1.001, the whole of this budget" in ledger(app)
    assert "0.5003 + 0.5003" in ledger(app)


def test_targets_charge_the_noisy_prior_on_top(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_view="targets", bud_prior_eps="0.25")
    values = metric_values(app)
    assert values["For the prior"] == "0.25"
    assert float(values["Smallest ε in all"]) > 0.25
    assert "for the prior 0.25" in words(app) and "promised as what came out, not as a bound" in words(app)
    told = next(part.value for part in app.main.markdown if "an equal split needs" in part.value)
    assert "the prior included, and" in told and "without one, for counts of any size" in told


def test_targets_in_records_charge_no_prior(budget: Callable[..., AppTest]) -> None:
    """Raw noise: sqrt(2) / 5 and sqrt(2) / 20, whatever prior is chosen; nothing of it is handed over."""
    app = budget(bud_view="targets", bud_prior="noisy", bud_mechanism="laplace", bud_least_squares="0", nbr=ADD,
                 bud_targets="0, rmse:5, rmse:20")  # fmt: skip
    values = metric_values(app)
    least = math.sqrt(2) / 5 + math.sqrt(2) / 20
    assert values["For the prior"] == "0" and float(values["Smallest ε in all"]) == pytest.approx(least, rel=1e-3)
    assert "nothing is tuned on them, nothing charged" in words(app) and "Judged by its noise alone" in words(app)
    assert app.session_state["bud_prior"] == "noisy"


def test_impossible_targets_name_the_level_that_binds(budget: Callable[..., AppTest]) -> None:
    app = budget(
        bud_view="targets", bud_mechanism="laplace", bud_prior="true", bud_ask="rmse", bud_targets="0, 0, 1e-9"
    )
    assert codes(app) == {"TARGET_INFEASIBLE"}
    assert any("binding level: 2" in error.value for error in app.error)
    assert codes(pick(app, bud_targets="0, 0, rmse:5")) == set()


@pytest.mark.parametrize("text", ["0", "x", "-1, 2"])
def test_targets_that_are_none_are_refused(budget: Callable[..., AppTest], text: str) -> None:
    app = budget(bud_view="targets", bud_targets="0, 5")
    app.session_state["bud_targets"] = text
    app.run()
    assert codes(app) == {"TARGET_RANGE"}
    assert not app.exception


def test_gaussian_targets_come_with_a_proof(budget: Callable[..., AppTest]) -> None:
    app = budget(
        bud_view="targets", bud_mechanism="gaussian", delta="1e-6", bud_prior="true", bud_ask="rmsre",
        bud_targets="0, 5, 30",
    )  # fmt: skip
    assert not app.exception
    assert metric_values(app)["Proved lower bound"] not in ("–", "0")
    assert "Proved optimal" in words(app)


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ({}, "with this noise the problem is not convex"),
        (
            {"bud_mechanism": "gaussian", "delta": "1e-6"},
            "for a probability averaged over counts the problem is not convex",
        ),
        ({"bud_mechanism": "gaussian", "delta": "1e-6", "bud_ask": "rmsre"}, ""),
    ],
)
def test_where_no_bound_is_proved_the_card_says_why(
    budget: Callable[..., AppTest], link: dict[str, str], why: str
) -> None:
    app = budget(bud_view="targets", bud_prior="true", bud_targets="0, 20, 0", **link)
    card = next(card for card in app.main.metric if card.label == "Proved lower bound")
    assert card.delta == ("none: not convex" if why else "ρ, levels")
    assert (card.value == "–") == bool(why)
    assert why in words(app)
    assert ("no lower bound is proved" in words(app)) == bool(why)


# --- the reliability map ---------------------------------------------------------------------------------------------


def test_reliability_by_hand(budget: Callable[..., AppTest]) -> None:
    """Raw Laplace noise of scale 1 on the leaves: within 10 % of 100 with probability 1 - e^-10, of τ = 10 1 - e^-1."""
    app = budget(
        bud_view="map", bud_mechanism="laplace", bud_least_squares="0", nbr=ADD, bud_prior="true",
        bud_strategy="leaves_only",
    )  # fmt: skip
    block = figure(app, "bud_map")["data"][0]
    probability = dict(zip(block["ids"], block["marker"]["colors"], strict=True))
    assert probability["15"] == pytest.approx(1 - math.exp(-10))
    assert probability["4"] == pytest.approx(1 - math.exp(-1))
    assert probability["0"] == 0.0
    useful = figure(app, "bud_useful")["data"][0]
    assert useful["text"] == ["0 of 1", "0 of 3", "2 of 12"]  # 40 and 100: 1 - e^-4 = 0.98
    assert pick(app, bud_confidence=0.99).main.metric is not None
    assert figure(app, "bud_useful")["data"][0]["text"] == ["0 of 1", "0 of 3", "1 of 12"]


# --- error against ε -------------------------------------------------------------------------------------------------


def test_the_curves_are_drawn_and_priced(budget: Callable[..., AppTest]) -> None:
    app = budget(bud_view="curves", bud_of="paper", bud_height="3")
    drawn = figure(app, "bud_curves")
    assert [trace["name"] for trace in drawn["data"]][-1] == "Greedy, least squares"
    assert len(drawn["data"]) == 5
    assert "a changed delay moves two counts" in words(app)
    assert "Height 3, τ = 10" in words(app)
    other = figure(pick(app, tau=5.0), "bud_curves")
    assert other["data"][0]["y"] != drawn["data"][0]["y"]


def test_curves_of_ones_own_data_follow_the_page(budget: Callable[..., AppTest]) -> None:
    """Errors at ε = 1 are those of the strategies side by side; a prior's cost is part of each total."""
    app = budget(SMALL, bud_view="curves", bud_prior="noisy")
    drawn = {trace["name"]: trace["y"] for trace in figure(app, "bud_curves")["data"]}
    at = TOTALS.index(1.0)
    strategies = tree_errors(budget(SMALL, bud_view="strategies", bud_prior="noisy"))
    assert short(drawn["Uniform, least squares"][at]) == strategies["Uniform"]
    assert short(drawn["Greedy, least squares"][at]) == strategies["Greedy"]
    dear = figure(pick(app, bud_prior_eps=3.0), "bud_curves")["data"]
    assert [math.isnan(y) for y in dear[3]["y"]] == [True] * 4 + [False] * 3


def test_while_curves_are_worked_out_the_axes_stay(
    budget: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = budget(bud_view="curves")
    assert figure(app, "bud_curves")["data"] == []
    assert "Working out the curves" in words(app)


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_one_level_is_refused_in_one_sentence(budget: Callable[..., AppTest], view: str) -> None:
    one = dataset(Tree(np.array([-1]), np.array([0, 1])), [5])
    app = budget(one, bud_view=view)
    assert codes(app) == {"ONE_LEVEL"}
    assert not app.exception


@pytest.mark.parametrize("view", VIEWS)
def test_zero_counts_everywhere(budget: Callable[..., AppTest], view: str) -> None:
    nothing = dataset(SMALL.tree, [0] * 12)
    app = budget(nothing, bud_prior="true", bud_view=view)
    assert "PRIOR_EMPTY" in codes(app)
    assert not app.exception
    if view == "strategies":
        assert "Uniform" in tree_errors(app)
    assert not budget(nothing, bud_view=view).exception


CASES: tuple[dict[str, str], ...] = (
    {}, {"bud_mechanism": "discrete_gaussian", "delta": "1e-6"}, {"bud_least_squares": "0"},
)  # fmt: skip
RELATIONS = [relation.value for relation in NeighbouringRelation]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_under_every_relation(budget: Callable[..., AppTest], view: str) -> None:
    """Each with another of the cases, every pair of two things once; `make contract` tries all three together."""
    shift = list(VIEWS).index(view)
    for i, relation in enumerate(RELATIONS):
        is_whole(budget(RAGGED, bud_view=view, nbr=relation, known_levels="2", **CASES[(i + shift) % 3]))


@pytest.mark.contract
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_every_view_in_every_case_under_every_relation(
    budget: Callable[..., AppTest], view: str, relation: str
) -> None:
    for case in CASES:
        is_whole(budget(RAGGED, bud_view=view, nbr=relation, known_levels="2", **case))


def is_whole(app: AppTest) -> None:
    """The page refuses at most what cannot be had on so small a tree."""
    assert not app.exception
    assert codes(app) <= {"TARGET_INFEASIBLE", "NOISE_RANGE"}


def test_deep_trees_take_text_instead_of_sliders() -> None:
    tall = dataset(Tree.from_branching_factors((2,) * 9), list(range(512)))
    app = open_page("budget", tall, bud_view="custom")
    assert not [slider for slider in app.slider if slider.key.startswith("bud_s")]
    assert "10 levels are too many for sliders" in app.text_input(key="bud_shares").help
    app = pick(app, bud_view="targets")
    assert app.text_input(key="bud_targets") is not None
    assert not app.exception


def test_no_page_is_drawn_while_pandas_is_half_imported() -> None:
    """Two first visitors of a cold server: plotly looks at pandas as soon as another thread has begun to import it."""
    code = "import sys, pages.ui.router; sys.exit('pandas' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
