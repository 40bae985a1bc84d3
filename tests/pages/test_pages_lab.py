"""The error lab: what its controls do, what its figures and cards say, and what it keeps when something is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import (
    DEGENERATE,
    RAGGED,
    Later,
    dataset,
    figure,
    metric_values,
    open_page,
    pick,
    press,
    tree_of,
    words,
)
from oracles_tree import random_parents
from pages.ui.jobs import jobs
from pages.ui.tables.session_tables import Kept
from treedp_core.errors import METRICS
from treedp_core.experiment import EPSILON_GRID, Experiment, run, smallest_epsilon
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.studies.sweep.lines import Line, Value
from treedp_core.studies.sweep.series import VIEWS, Series
from treedp_core.tree import Tree
from treedp_core.views.lab import words as lab_words
from treedp_core.words import short

pytestmark = pytest.mark.usefixtures("own_jobs")

SMALL = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100])
LAPLACE = Experiment(mechanism="laplace")


@pytest.fixture
def lab() -> Callable[..., AppTest]:
    return lambda data=SMALL, **link: open_page("lab", data, **link)


def markers(fig: dict[str, Any]) -> list[dict[str, Any]]:
    return [trace for trace in fig["data"] if trace.get("mode") == "markers"]


def formula_lines(fig: dict[str, Any]) -> list[dict[str, Any]]:
    return [trace for trace in fig["data"] if trace.get("mode") == "lines" and trace.get("showlegend", True)]


# --- formulas --------------------------------------------------------------------------------------------------------


def test_lines_and_cards_are_the_cores_formulas(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(), lab_mechanisms=["laplace"])
    assert not app.exception
    assert not app.error
    for pipeline, steps in (("none", ()), ("least_squares", ("least_squares",))):
        label = Series("laplace", pipeline).label
        here = replace(LAPLACE, postprocess=steps)
        at_one = run(here, SMALL.tree, SMALL.counts, simulated=False).formula
        assert at_one is not None
        assert metric_values(app)[label] == short(at_one.tree)
        line = next(t for t in formula_lines(figure(app, "lab_figure")) if t["name"] == label)
        expected = [
            run(replace(here, epsilon=e), SMALL.tree, SMALL.counts, simulated=False).formula.tree for e in line["x"]
        ]
        assert line["x"] == sorted(EPSILON_GRID)
        np.testing.assert_allclose(line["y"], expected)


def test_laplace_by_hand(lab: Callable[..., AppTest]) -> None:
    """Two noisy levels, epsilon 1/2 each, sensitivity 2: scale 4, standard deviation 4 sqrt 2; the root is public."""
    app = pick(lab(), lab_mechanisms=["laplace"], lab_post=["none"], lab_view="level")
    rmse = math.sqrt(2 * 4**2 * 15 / 16)
    assert metric_values(app) == {"Laplace": short(rmse)}
    bar = formula_lines(figure(app, "lab_figure"))[0]
    assert {round(y, 9) for y in bar["y"] if not math.isnan(y)} == {round(4 * math.sqrt(2), 9)}


def test_number_of_levels_cuts_the_tree(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(), lab_mechanisms=["laplace"], lab_post=["least_squares"], lab_view="n_levels")
    line = formula_lines(figure(app, "lab_figure"))[0]
    here = replace(LAPLACE, postprocess=("least_squares",))
    expected = [
        run(here, SMALL.tree.top(n), SMALL.counts[: SMALL.tree.level_start[n]], simulated=False).formula.tree
        for n in (2, 3)
    ]
    assert line["x"] == [2.0, 3.0]
    np.testing.assert_allclose(line["y"], expected)
    axis = figure(app, "lab_figure")["layout"]["xaxis"]
    assert (axis["tick0"], axis["dtick"]) == (2, 1)  # there are no half levels


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("view", VIEWS)
def test_every_metric_in_every_view(lab: Callable[..., AppTest], metric: str, view: str) -> None:
    everything = {"lab_mechanisms": list(MECHANISMS), "lab_post": list(CHAINS)}
    app = pick(lab(delta="1e-6"), lab_metric=metric, lab_view=view, **everything)
    assert not app.exception
    assert not app.error
    assert len(metric_values(app)) == len(MECHANISMS) * len(CHAINS)
    used = {"alpha": "α = 0.5", "threshold": "τ = 10"}
    if view != "draw":
        assert all((text in words(app)) == (name in METRICS[metric].uses) for name, text in used.items())


def test_what_depends_on_the_counts_says_not_private(lab: Callable[..., AppTest]) -> None:
    app = lab()
    assert "NOT PRIVATE" not in words(app)
    assert "NOT PRIVATE" in words(pick(app, lab_metric="rmsre"))
    assert "NOT PRIVATE" in words(pick(app, lab_metric="rmse", lab_view="draw"))


def test_what_has_no_formula_is_named(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(), lab_post=["none", "non_negative"])
    assert "simulation only: Discrete Laplace, non-negative. Press **Run**" in words(app)
    assert metric_values(app)["Discrete Laplace, non-negative"] == "press Run"


def test_nothing_but_simulation_waits_for_run(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(), lab_post=["non_negative"])
    assert not app.exception
    assert not app.error
    assert "No formula is known for what is compared: press **Run**." in words(app) and "refused" not in words(app)
    assert figure(app, "lab_figure")["data"] == []
    assert len(markers(figure(press(app, "lab_run"), "lab_figure"))) == 1


def test_infinity_is_written_not_drawn(lab: Callable[..., AppTest]) -> None:
    """Leaves only: without least squares the middle level has no estimate at all."""
    app = pick(lab(), lab_allocation="leaves_only", lab_view="level")
    assert metric_values(app)["Discrete Laplace"] == "∞"
    texts = [trace["text"] for trace in figure(app, "lab_figure")["data"] if trace["mode"] == "text"]
    assert any("∞" in text for text in texts)
    alone = words(pick(app, lab_post=["none"]))
    assert "a level has no budget, and nothing tells its counts" in alone and "No formula" not in alone


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


# --- budget split ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("0.2, 0.3", "one share for each of the 3 levels, got 2"),
        ("0.5, 0.5, 0.0000001", "sum to at most 1"),
        ("0.2, x, 0.5", "decimal number"),
        ("0.2, -0.3, 0.5", "decimal number"),
        ("", "got 0"),
        ("0, 0, 0", "share above 0"),
    ],
)
def test_custom_shares_are_checked(lab: Callable[..., AppTest], text: str, part: str) -> None:
    app = pick(pick(lab(), lab_allocation="custom"), lab_shares=text)
    assert not app.exception
    assert part in words(app)
    assert "BUDGET_SPLIT" in words(app)
    assert figure(app, "lab_figure")["data"] == figure(lab(), "lab_figure")["data"]
    assert "Shown meanwhile: " in words(app)
    assert app.session_state["lab_mechanisms"] == ["discrete_laplace"]


def test_custom_shares_are_used(lab: Callable[..., AppTest]) -> None:
    app = pick(pick(lab(), lab_allocation="custom"), lab_shares="0 0.25; 0.75", lab_mechanisms=["laplace"])
    formula = run(replace(LAPLACE, allocation="custom", shares=(0.0, 0.25, 0.75)), SMALL.tree, SMALL.counts).formula
    assert formula is not None
    assert metric_values(app)["Laplace"] == short(formula.tree)


def test_custom_shares_have_one_number_of_levels(lab: Callable[..., AppTest]) -> None:
    app = pick(pick(lab(), lab_allocation="custom"), lab_shares="0 0.5 0.5", lab_view="n_levels")
    assert "belong to one number of levels" in words(app)
    assert app.button(key="lab_run").disabled


def test_split_table_on_the_page(lab: Callable[..., AppTest]) -> None:
    app = lab()
    app.session_state["lab_split_table"] = True
    app.run()
    frame = app.dataframe[0].value
    assert frame["level"].tolist() == list(SMALL.labels.level_names)
    assert frame["share"].tolist() == [0, 0.5, 0.5]


def test_numerical_accounting_shows_the_least_noise_of_the_promise(lab: Callable[..., AppTest]) -> None:
    """Four levels at (1, 1e-6): sigma 8.4504 by the sum of four laws (see test_accounting), 9.06 by the formula."""
    data = dataset(Tree.from_branching_factors((2, 2, 2)), [5, 0, 1, 20, 3, 3, 0, 7])
    link = {"lab_mechanisms": "discrete_gaussian", "nbr": "add_or_remove_one", "delta": "1e-6"}
    cards = [metric_values(lab(data, **link, lab_accounting=way)) for way in ("formula", "numerical")]
    assert [one["Discrete Gaussian"] for one in cards] == ["9.06", "8.45"]
    shares = {"lab_allocation": "custom", "lab_shares": "0.25 0.25 0.25 0.25"}
    app = lab(data, **link, **shares, lab_accounting="numerical", lab_tuned="public")
    assert metric_values(app)["Discrete Gaussian"] == "8.45" and "δ = 1e-6 by numerical accounting" in words(app)
    paid = lab(data, **link, **shares, lab_accounting="numerical", lab_tuned="noisy rho 0.001 add_or_remove_one 1 1")
    assert "by numerical accounting" not in words(paid)
    assert "by numerical accounting" not in words(lab(data, lab_mechanisms="gaussian", lab_accounting="numerical"))


# --- simulation ------------------------------------------------------------------------------------------------------


@pytest.mark.statistical
def test_run_adds_markers_that_agree_with_the_lines(lab: Callable[..., AppTest]) -> None:
    """False alarm: 14 markers beyond 6 standard errors, below 1e-7; a formula 1.3 times as large is rejected."""
    app = press(pick(lab(), lab_mechanisms=["laplace"]), "lab_run")
    assert not app.exception
    fig = figure(app, "lab_figure")
    assert len(markers(fig)) == 2
    apart, mutant = [], []
    for dots in markers(fig):
        line = next(t for t in formula_lines(fig) if t["name"] == dots["legendgroup"])
        exact = np.interp(dots["x"], line["x"], line["y"])
        error = np.array(dots["error_y"]["array"]) / 1.96
        assert len(dots["x"]) == 7
        apart.append(np.abs(np.array(dots["y"]) - exact) / error)
        mutant.append(np.abs(np.array(dots["y"]) - 1.3 * exact) / error)
    assert np.max(apart) < 6
    assert np.min(mutant) > 6
    assert "400 simulated releases" in words(app)


def test_a_simulated_value_is_that_of_run(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(), lab_post=["non_negative"], lab_view="level", lab_trials=100)
    press(app, "lab_run")
    found = run(Experiment(postprocess=("non_negative",), trials=100), SMALL.tree, SMALL.counts).simulation
    assert found is not None
    shown = metric_values(app)["Discrete Laplace, non-negative"]
    assert shown == f"{short(found.tree)} ± {1.96 * found.tree_se:.2g}"
    assert "NOT PRIVATE" in words(app)


def test_a_changed_setting_greys_the_markers(lab: Callable[..., AppTest]) -> None:
    app = press(lab(), "lab_run")
    colour = markers(figure(app, "lab_figure"))[0]["marker"]["color"]
    app.number_input(key="seed").set_value(8).run()
    assert "Grey markers: computed for seed 7. Press **Run**" in words(app)
    old = markers(figure(app, "lab_figure"))[0]
    assert old["marker"]["color"] == "#7A7A7A" != colour
    press(app, "lab_run")
    assert "Grey markers" not in words(app)
    assert markers(figure(app, "lab_figure"))[0]["marker"]["color"] == colour


def test_a_card_never_shows_a_stale_simulation(lab: Callable[..., AppTest]) -> None:
    app = press(pick(lab(), lab_post=["non_negative"], lab_trials=100), "lab_run")
    label = "Discrete Laplace, non-negative"
    assert "±" in metric_values(app)[label]
    app.number_input(key="seed").set_value(8).run()
    assert metric_values(app)[label] == "press Run"


def test_moving_epsilon_keeps_markers_along_epsilon_and_greys_those_at_it(lab: Callable[..., AppTest]) -> None:
    app = press(lab(), "lab_run")
    app.select_slider(key="eps").set_value(2.5).run()
    assert "Grey markers" not in words(app)
    assert len(markers(figure(app, "lab_figure"))) == 2
    press(pick(app, lab_view="level"), "lab_run")
    app.select_slider(key="eps").set_value(4.0).run()
    assert "Grey markers: computed for ε = 2.5." in words(app)


def test_settings_that_do_not_matter_grey_nothing(lab: Callable[..., AppTest]) -> None:
    app = press(lab(level="Advanced"), "lab_run")
    for key, value in (("alpha", 0.3), ("tau", 20.0), ("delta", 1e-7)):  # their sliders are greyed
        app.session_state[key] = value
    app.run()
    assert "Grey markers" not in words(app)
    assert len(markers(figure(app, "lab_figure"))) == 2


def test_a_new_series_has_no_markers_and_the_others_keep_theirs(lab: Callable[..., AppTest]) -> None:
    app = pick(press(lab(), "lab_run"), lab_mechanisms=["discrete_laplace", "laplace"])
    assert len(markers(figure(app, "lab_figure"))) == 2
    assert "Grey markers" not in words(app)


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


def test_too_large_a_run_is_refused_with_the_limit(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(source="generate", gen_branching="100,100,10"), lab_trials=6400)
    press(app, "lab_run")
    assert "TRIALS_RANGE" in words(app)
    assert "got 6400 (the limit is 2\u202f000\u202f000\u202f000 draws; this run draws" in words(app)
    assert app.metric
    assert "TRIALS_RANGE" not in words(pick(app, lab_trials=100))


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


# --- optimum and target ----------------------------------------------------------------------------------------------


def test_the_page_tells_the_optimum(lab: Callable[..., AppTest]) -> None:
    link = {"lab_mechanisms": "gaussian", "delta": "1e-6"}
    assert "attains the optimum" in words(lab(lab_allocation="minimax", **link))
    assert "× the least that any unbiased Gaussian mechanism" in words(lab(**link))
    assert "unbiased Gaussian mechanism" not in words(lab(RAGGED, **link))


def test_target_error_gives_the_smallest_epsilon(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(), lab_mechanisms=["laplace"], lab_target=3.0, lab_post=["none", "non_negative"])
    answers = app.dataframe[0].value
    found = smallest_epsilon(LAPLACE, SMALL.tree, SMALL.counts, 3.0).epsilon
    assert found is not None
    # By hand: sqrt(2) * 2 / (epsilon / 2) * sqrt(15 / 16) = 3.
    assert found == pytest.approx(4 * math.sqrt(2) * math.sqrt(15 / 16) / 3, rel=2e-3)
    assert answers["smallest ε"].tolist() == ["1.827", "–"] and 1.826 < found <= 1.827  # rounded up, never down
    assert answers["note"].tolist() == ["", "no closed form to search on"]


def test_a_target_out_of_reach_is_said(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(), lab_target=1e-6, lab_mechanisms=["laplace"])
    assert app.dataframe[0].value["note"].tolist() == ["not within reach of any ε up to 100"] * 2


# --- one draw, degenerate trees, hostile labels ----------------------------------------------------------------------


def test_one_draw_shows_truth_and_release(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(), lab_view="draw")
    assert "lab_run" not in {button.key for button in app.button}
    fig = figure(app, "lab_draw")
    truth = next(trace for trace in fig["data"] if trace.get("name") == "true count")
    assert truth["y"] == sorted(SMALL.counts[4:].tolist(), reverse=True)
    pick(app, lab_level=1)
    truth = next(trace for trace in figure(app, "lab_draw")["data"] if trace.get("name") == "true count")
    assert sorted(truth["y"]) == sorted(SMALL.counts[1:4].tolist())


def test_one_draw_of_many_nodes_says_which_are_shown(lab: Callable[..., AppTest]) -> None:
    wide = dataset(Tree.from_branching_factors((401,)), [1] * 401)
    app = lab(wide, lab_view="draw")
    assert len(figure(app, "lab_draw")["data"][-1]["x"]) == 400
    assert "400 of 401 nodes, evenly spaced" in words(app)
    assert "evenly spaced" not in words(lab(lab_view="draw"))


def test_one_draw_of_a_level_that_is_not_measured(lab: Callable[..., AppTest]) -> None:
    app = pick(lab(lab_level="1"), lab_view="draw", lab_allocation="leaves_only", lab_post=["none"])
    assert "This level is not measured" in words(app)


RELATIONS = ("replace_one", "add_or_remove_one", "replace_unknown")


@pytest.mark.parametrize("name", DEGENERATE)
def test_small_and_odd_trees(lab: Callable[..., AppTest], name: str) -> None:
    """Every view on every tree, relations in turn: each view meets each relation; `make contract` tries them all."""
    shift = list(DEGENERATE).index(name)
    for i, relation in enumerate(RELATIONS):
        works(lab, name, relation, [view for j, view in enumerate(VIEWS) if (i + j + shift) % 3 == 0])


@pytest.mark.contract
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", DEGENERATE)
def test_every_view_on_small_and_odd_trees(lab: Callable[..., AppTest], name: str, relation: str) -> None:
    works(lab, name, relation, list(VIEWS))


def works(lab: Callable[..., AppTest], name: str, relation: str, views: list[str]) -> None:
    """The views show a tree, and run on it, without an error."""
    app = lab(DEGENERATE[name], nbr=relation, delta="1e-6", lab_mechanisms="gaussian", lab_target="2")
    for view in views:
        pick(app, lab_view=view)
        assert not app.exception
        assert not app.error, (view, words(app))
        if view != "draw":
            press(app, "lab_run")
            assert not app.error, (view, words(app))


# --- logic -----------------------------------------------------------------------------------------------------------


def test_the_values_are_a_table_on_the_page_too(lab: Callable[..., AppTest]) -> None:
    app = lab()
    app.session_state["lab_values"] = True
    app.run()
    values = app.dataframe[0].value
    assert values["epsilon"].tolist() == [*EPSILON_GRID] * 2
    assert values["simulation"].isna().all()


@pytest.mark.parametrize("metric", METRICS)
def test_plain_words_for_every_metric(metric: str) -> None:
    base = replace(LAPLACE, metric=metric)
    one = Series("laplace", "none")
    line = Line(one, *(np.array([1.0]) for _ in range(4)), cells=(), whole=Value(0.5, 0.0, "formula"))
    sentence = lab_words.plain_line([line], base, SMALL.tree)
    assert sentence.startswith("At ε = 1, with Laplace, ")
    assert ("50 %" in sentence) == (METRICS[metric].unit == "")


def test_a_random_ragged_tree_runs_everywhere(lab: Callable[..., AppTest]) -> None:
    tree = tree_of(random_parents(np.random.default_rng(5), 60))
    data = dataset(tree, list(range(tree.n_leaves)))
    app = lab(data)
    for view in VIEWS:
        pick(app, lab_view=view, lab_post=list(CHAINS))
        assert not app.exception
        assert not app.error


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


def test_the_answer_says_the_best_and_how_much_worse_the_other_is() -> None:
    """On the small town least squares halves the variance: 11.9 records, and without it the square root of two."""
    found = words(open_page("lab", level="Basic", sample="small_town")).replace("\u202f", " ")
    assert "with Discrete Laplace, least squares, a count is typically off by about 11.9 records" in found
    assert "Discrete Laplace: 1.41 times as much." in found
