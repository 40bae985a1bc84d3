"""The error lab: what its controls do, what its figures and cards say, and what it keeps when something is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from oracles_figures import decoded
from oracles_pages import (
    RAGGED,
    Later,
    dataset,
    figure,
    metric_values,
    open_page,
    pick,
    press,
    words,
)
from pages.ui.jobs import jobs
from pages.ui.tables.session_tables import Kept
from treedp_core.experiment import Experiment
from treedp_core.postprocess.chains import CHAINS
from treedp_core.tree import Tree
from treedp_core.views import Tables
from treedp_core.views import lab as lab_views
from treedp_core.views.lab import LabInputs
from treedp_core.words import short

pytestmark = pytest.mark.usefixtures("own_jobs")

SMALL = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100])
LAPLACE = Experiment(mechanism="laplace")


@pytest.fixture
def lab() -> Callable[..., AppTest]:
    return lambda data=SMALL, **link: open_page("lab", data, **link)


def markers(fig: dict[str, Any]) -> list[dict[str, Any]]:
    return [trace for trace in fig["data"] if trace.get("mode") == "markers"]


# --- what is chosen --------------------------------------------------------------------------------------------------


def test_gaussian_takes_a_delta_that_fits_and_one_click_sets_it_everywhere(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(), lab_mechanisms=["discrete_laplace", "gaussian"])
    assert "which Gaussian noise cannot promise: δ = 1e-6 is used on this page" in words(app)
    before = metric_values(app)
    assert "Gaussian" in before
    press(app, "lab_set_delta")
    assert app.session_state["delta"] == 1e-6
    assert app.pills(key="lab_mechanisms").value == ["discrete_laplace", "gaussian"]
    assert metric_values(app) == before
    assert "cannot promise" not in words(app)


@pytest.mark.parametrize(
    ("picked", "sentence"),
    [
        ({"lab_mechanisms": []}, "Pick at least one mechanism."),
        ({"lab_post": []}, "Pick at least one post-processing"),
    ],
)
def test_nothing_to_draw_leaves_the_axes(lab: Callable[..., AppTest], picked: dict[str, Any], sentence: str) -> None:
    app = pick(lab(), **picked)
    assert sentence in words(app)
    assert figure(app, "lab_figure")["data"] == []
    assert app.button(key="lab_run").disabled
    assert not app.metric


def test_one_control_never_resets_another(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(), lab_mechanisms=["laplace"], lab_post=["least_squares"], lab_metric="rmsre", lab_view="level")
    pick(app, lab_allocation="minimax", lab_trials=1600)
    app.switch_page("pages/consistency.py").run()
    app.switch_page("pages/lab.py").run()
    kept = {key: app.session_state[key] for key in ("lab_mechanisms", "lab_post", "lab_metric", "lab_view")}
    assert kept == {
        "lab_mechanisms": ["laplace"],
        "lab_post": ["least_squares"],
        "lab_metric": "rmsre",
        "lab_view": "level",
    }
    assert app.session_state["lab_allocation"] == "minimax"
    assert app.session_state["lab_trials"] == 1600


def test_a_link_sets_the_lab(lab: Callable[..., AppTest]) -> None:
    app = lab(lab_mechanisms="laplace", lab_metric="rmsre", lab_view="level", lab_trials="250")
    assert app.segmented_control(key="lab_trials").value == 250
    assert list(metric_values(app)) == ["Laplace", "Laplace, least squares"]


# --- simulation ------------------------------------------------------------------------------------------------------


def test_another_metric_or_other_data_are_said_not_drawn(lab: Callable[..., AppTest]) -> None:
    app = press(lab(), "lab_run")
    assert "The last simulation was of another metric." in words(pick(app, lab_metric="rmsre"))
    assert markers(figure(app, "lab_figure")) == []
    pick(app, lab_metric="rmse")
    assert len(markers(figure(app, "lab_figure"))) == 2
    app.session_state["_from_file"] = {"upload": Kept(RAGGED)}
    app.run()
    assert "The last result was of other data." in words(app)
    assert markers(figure(app, "lab_figure")) == []


class TestWhileItRuns:
    @pytest.fixture
    def executor(self) -> Later:
        return Later()

    def test_run_is_off_and_cancel_is_on(self, lab: Callable[..., AppTest], own_jobs: jobs.Jobs) -> None:
        app = lab()
        assert "lab_epsilon_cancel" not in [button.key for button in app.button]
        press(app, "lab_run")
        assert app.button(key="lab_run").disabled
        press(app, "lab_epsilon_cancel")
        assert own_jobs.slots["lab_epsilon"].stop.is_set()
        assert not app.button(key="lab_run").disabled

    def test_a_page_switch_leaves_it_running(self, lab: Callable[..., AppTest], own_jobs: jobs.Jobs) -> None:
        app = press(lab(), "lab_run")
        app.switch_page("pages/consistency.py").run()
        app.switch_page("pages/lab.py").run()
        assert own_jobs.slots["lab_epsilon"].is_running
        assert app.button(key="lab_run").disabled


def test_a_cancelled_job_says_so(
    lab: Callable[..., AppTest], own_jobs: jobs.Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = press(lab(), "lab_run")
    monkeypatch.setattr(jobs, "pool", Later)
    press(pick(app, lab_trials=1600), "lab_run")
    press(app, "lab_epsilon_cancel")
    assert "Simulating: cancelled." in words(app)
    assert len(markers(figure(app, "lab_figure"))) == 2  # the earlier run's


# --- logic -----------------------------------------------------------------------------------------------------------


def test_basic_controls_show_the_first_pipelines_and_a_link_may_bring_another(lab: Callable[..., AppTest]) -> None:
    def offered(app: AppTest) -> list[str]:
        return list(next(one for one in app.get("button_group") if one.key == "lab_post").options)

    basic, linked, every = (
        offered(lab(level="Basic")), offered(lab(level="Basic", lab_post="real_then_round")), offered(lab()),
    )  # fmt: skip
    assert len(basic) == 2
    assert set(linked) - set(basic) == {CHAINS["real_then_round"].label}
    assert every == [one.label for one in CHAINS.values()]


def test_more_is_closed_in_basic_and_open_in_advanced(lab: Callable[..., AppTest]) -> None:
    basic, advanced = lab(level="Basic"), lab()
    keys = {one.key for one in advanced.selectbox} - {one.key for one in basic.selectbox}
    assert "lab_allocation" in keys and metric_values(advanced) and not metric_values(basic)


def test_the_page_shows_what_its_views_find(lab: Callable[..., AppTest]) -> None:
    """Its figure, cards and tables; what is refused leaves the last figure, a run its markers until a setting moves."""
    app = lab(lab_mechanisms="laplace", lab_target="3", level="Advanced", lab_trials="100")
    app.session_state["lab_split_table"] = app.session_state["lab_values"] = True
    inputs, tables = LabInputs(mechanisms=("laplace",), target=3.0, trials=100), Tables(SMALL)
    found, whole = lab_views.error_against_epsilon(inputs, tables), lab_views.whole_tree(inputs, tables).table
    before = figure(app.run(), "lab_figure")["data"]
    assert json.dumps(before, default=str) == json.dumps(decoded(found.figure)["data"], default=str)
    assert metric_values(app) == dict(zip(whole["series"], map(short, whole["value"]), strict=True))
    assert found.answer in words(app) and found.caption in words(app)
    values = partial(lab_views.values, view="epsilon")
    for table in (lab_views.split_by_level, lab_views.smallest_epsilons, values):
        assert list(table(inputs, tables).table) in [list(one.value.columns) for one in app.dataframe]
    app = pick(pick(app, lab_allocation="custom"), lab_shares="0.2, 0.3")
    assert "BUDGET_SPLIT" in words(app) and "Shown meanwhile: " in words(app)
    assert figure(app, "lab_figure")["data"] == before
    app = press(pick(app, lab_shares="0, 0.5, 0.5"), "lab_run")
    assert len(markers(figure(app, "lab_figure"))) == 2 and "Grey markers" not in words(app)
    app = pick(app, seed=8)
    assert "Grey markers: computed for seed 7. Press **Run**" in words(app)
    assert "Grey markers" not in words(press(app, "lab_run"))
    app = press(pick(app, lab_post=["non_negative"]), "lab_run")
    assert "±" in metric_values(app)["Laplace, non-negative"]
    assert metric_values(pick(app, seed=9))["Laplace, non-negative"] == "press Run"
    app = pick(app, lab_view="n_levels")
    assert "belong to one number of levels" in words(app) and app.button(key="lab_run").disabled


def test_too_large_a_run_is_refused_with_the_limit(lab: Callable[..., AppTest]) -> None:
    app = press(pick(lab(source="generate", gen_branching="100,100,10"), lab_trials=6400), "lab_run")
    assert "TRIALS_RANGE" in words(app) and app.metric
    assert "TRIALS_RANGE" not in words(pick(app, lab_trials=100))


def test_thresholds_alone_have_no_split_and_are_planned_with_a_public_bound(lab: Callable[..., AppTest]) -> None:
    app = lab(lab_mechanisms="thresholds", lab_trials="100", level="Advanced")
    assert "no budget split" in words(app) and not app.exception
    assert "lab_plan" not in {one.key for one in app.button}
    (link,) = [one for one in app.get("page_link") if one.proto.label.startswith("Plan thresholds")]
    assert "plan_mechanism=thresholds" in str(link.proto)
