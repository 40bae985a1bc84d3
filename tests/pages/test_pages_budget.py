"""The Budget split page: splits, prices and errors against hand-made numbers, what it refuses, and what it keeps."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from browsing import ROOT
from oracles_pages import (
    Later,
    answer,
    dataset,
    figure,
    metric_values,
    open_page,
    pick,
    press,
    widget,
    words,
)
from pages.ui.jobs import jobs
from pages.views.budget import controls as prior
from treedp_core.allocation import shares as budget_numbers
from treedp_core.allocation.shares import values_of_text
from treedp_core.checks import InputError
from treedp_core.cli import PUBLIC_VARIABLE
from treedp_core.experiment import Experiment, run
from treedp_core.notebook.study import Asked, note_of
from treedp_core.studies.budget.answer import solve
from treedp_core.tree import Tree
from treedp_core.views import Tables, consistency, lab
from treedp_core.views.consistency import ConsistencyInputs
from treedp_core.views.lab import LabInputs
from treedp_core.watch import Watch
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


# --- every strategy at the same price --------------------------------------------------------------------------------


def test_a_search_can_be_cancelled_and_started_again(
    budget: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs
) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    slots = {"strategies": "budget_optimum", "targets": "budget_targets", "curves": "budget_curves"}
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


# --- priors and what they cost ---------------------------------------------------------------------------------------


def ledger(app: AppTest) -> str:
    return next(line.value for line in app.main.markdown if "charged" in line.value and "Protects" in line.value)


def test_the_smallest_epsilon_that_comes_at_once_stands_while_its_search_goes_on(
    budget: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs
) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = budget(bud_view="targets", bud_prior="true")
    job = own_jobs.slots["budget_targets"]
    assert "not known yet" in answer(app) and "Searching for the smallest ε" in app.get("progress")[0].proto.text
    shown: list[Any] = []
    found = solve(job.key[1], SMALL, SMALL, Watch(offer=shown.append))
    job.best = shown[0]
    app.run()
    first = answer(app)
    assert "ε = " in first and "Searching for a smaller ε" in app.get("progress")[0].proto.text
    job.result, job.state = found, "done"
    app.run()
    assert "ε = " in answer(app) and not app.get("progress")


def test_the_ledger_says_what_the_browser_s_api_would_report(budget: Callable[..., AppTest]) -> None:
    app = budget(nbr="replace_unknown", known_levels="2", bud_strategy="uniform")
    told = next(line.value for line in app.main.markdown if "add 65 536 together" in line.value.replace("\u202f", " "))
    assert re.search(r"92.682 of these units at ε.=.1", told) and "by last touch" in told
    assert not app.exception and not app.error
    other = budget(bud_strategy="uniform")
    assert "add 65 536 together" not in words(other)
    other = press(other, "bud_api_relation")
    assert other.session_state["nbr"] == "replace_unknown" and "add 65 536 together" in words(other)


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


def test_without_a_prior_to_look_at_there_is_no_answer(budget: Callable[..., AppTest]) -> None:
    app = pick(budget(bud_view="targets"), bud_prior="public")
    assert "The search needs a prior" in words(app) and not app.error
    assert widget(app, "bud_targets_split_pin").disabled


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


def test_shares_that_do_not_fit_are_refused_and_nothing_is_lost(budget: Callable[..., AppTest]) -> None:
    text = "0.5, 0.6, 0.2"
    app = budget(bud_view="custom", nbr=ADD, bud_shares="0.2,0.3,0.5")
    app = pick(app, bud_shares=text)
    assert codes(app) == {"BUDGET_SPLIT"} and "Shown meanwhile" in words(app)
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
    app = pick(app, **{f"{prefix}_shares": "0.2, 0.3, 0.5"})
    assert app.error, "shares typed over tuned ones may be made from them"
    app = press(app, f"{prefix}_own")
    assert not app.error
    assert not any("NOT PRIVATE" in notes(app, key) for key in keys)
    assert pick(app, **{f"{prefix}_shares": leaky.replace(", ", " ")}).error, "those of another page, pasted"
    assert not pick(app, **{f"{prefix}_allocation": "uniform"}).error


def test_the_label_stays_until_the_reader_says_that_shares_are_their_own(budget: Callable[..., AppTest]) -> None:
    app = press(pick(budget(bud_prior="true", nbr=ADD), bud_view="custom"), "bud_copy_greedy")
    app = pick(app, bud_prior="noisy")
    app = pick(app, bud_shares=app.session_state["bud_shares"] + " ")
    assert ledger(app).startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in [note["text"] for note in figure(app, "bud_custom")["layout"]["annotations"]]
    app = pick(app, bud_shares="0.2, 0.3, 0.5")
    assert ledger(app).startswith("NOT PRIVATE")
    assert not ledger(press(app, "bud_own")).startswith("NOT PRIVATE")
    assert not ledger(pick(app, bud_shares="")).startswith("NOT PRIVATE"), "equal shares look at nothing"
    app = press(pick(app, bud_prior="true"), "bud_copy_greedy")
    assert ledger(app).startswith("NOT PRIVATE")
    assert not ledger(press(pick(app, bud_prior="noisy"), "bud_copy_uniform")).startswith("NOT PRIVATE")


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
    kind, find = {"lab": (LabInputs, lab.error_by_level), "con": (ConsistencyInputs, consistency.balance)}[prefix]
    given: Any = kind.of_texts({key: (text,) for key, text in link.items()})
    more: list[tuple[dict[str, Any], str]] = [
        ({"epsilon": 0.4}, "BUDGET_EXCEEDED"), ({"relation": "replace_one"}, "PRIOR_OTHER"),
        ({"shares": "0.25, 0.25, 0.5"}, "BUDGET_EXCEEDED"),
    ]  # fmt: skip
    for moved, code in more:
        with pytest.raises(InputError) as refused:
            find(replace(given, **{"relation": ADD} | moved), Tables(SMALL))
        assert refused.value.code == code


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


# --- targets ---------------------------------------------------------------------------------------------------------


def test_the_smallest_budget_is_set_with_its_split(budget: Callable[..., AppTest]) -> None:
    """Raw Laplace noise, RMSE 2 on level 1: 2 / ε² = 4."""
    app = budget(
        bud_view="targets", bud_mechanism="laplace", bud_least_squares="0", nbr=ADD, bud_prior="true", bud_ask="rmse",
        bud_targets="0, 2",
    )  # fmt: skip
    assert metric_values(app)["Smallest ε in all"] == "0.7072", "rounded up"
    app = press(app, "bud_targets_use")
    assert app.session_state["eps"] == pytest.approx(math.sqrt(0.5), rel=1e-3)
    assert app.session_state["eps_tuned"] == 0, "which is the same whatever the counts are"
    assert not ledger(app).startswith("NOT PRIVATE")
    assert shares(app) == pytest.approx([0.0, 1.0, 0.0], abs=1e-3)


@pytest.mark.parametrize(("targets", "margins"), [("0, rmsre:20", "1"), ("0, rmsre:25", "0.8")])
def test_a_split_for_targets_is_taken_over_by_every_page_with_where_it_came_from(
    budget: Callable[..., AppTest], targets: str, margins: str
) -> None:
    """Whatever the pages had: the split, its noise and its prior; each says so, and a plan costs the ε that was set."""
    app = budget(
        bud_view="targets", bud_mechanism="laplace", nbr=ADD, bud_prior="noisy", bud_targets=targets,
        bud_margins=margins,
    )  # fmt: skip
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


def test_targets_with_other_margins_say_them(budget: Callable[..., AppTest]) -> None:
    app = budget(
        bud_view="targets", bud_mechanism="laplace", bud_least_squares="0", nbr=ADD, bud_prior="true",
        bud_targets="0, rmse:2.5", bud_margins="0.8",
    )  # fmt: skip
    assert metric_values(app)["Smallest ε in all"] == "0.7072"
    assert [one.content for one in app.pills[0].proto.options] == ["nlevel1: RMSE ≤ 2"]


def test_epsilon_is_no_setting_where_it_is_the_answer(budget: Callable[..., AppTest]) -> None:
    for look_at in ("true", "noisy"):
        app = budget(bud_view="targets", bud_prior=look_at)
        assert widget(app, "eps").disabled == (look_at == "true")
        assert ("ε = 1" in app.main.caption[0].value.replace("\u00a0", " ")) == (look_at == "noisy")
    assert not widget(pick(app, bud_view="strategies", bud_prior="true"), "eps").disabled


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


def test_while_the_smallest_budget_is_sought_its_place_is_there(
    budget: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, own_jobs: jobs.Jobs
) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = budget(bud_view="targets")
    assert figure(app, "bud_targets_split")["data"]
    assert "Searching for the smallest ε: 0 %" in words(app)
    assert "budget_targets_cancel" in [button.key for button in app.button]
    assert "budget_optimum" not in own_jobs.slots
    assert widget(app, "bud_targets_split_pin").disabled and widget(app, "bud_targets_split_export").disabled


# --- bad input -------------------------------------------------------------------------------------------------------


def test_deep_trees_take_text_instead_of_sliders() -> None:
    tall = dataset(Tree.from_branching_factors((1,) * 8 + (3,)), [20, 70, 5])
    app = open_page("budget", tall, bud_view="custom")
    assert not [slider for slider in app.slider if slider.key.startswith("bud_s")]
    assert "10 levels are too many for sliders" in app.text_input(key="bud_shares").help
    app = pick(app, bud_view="targets")
    assert app.text_input(key="bud_targets") is not None
    assert not app.exception


def test_no_page_is_drawn_while_pandas_is_half_imported() -> None:
    """Two first visitors of a cold server: plotly looks at pandas as soon as another thread has begun to import it."""
    code = "import sys, pages.ui.shell.router; sys.exit('pandas' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
