"""Multiplicative error: growth, one run, printed budgets, accuracy; every refusal as one sentence."""

from __future__ import annotations

import html
import math
import time
from typing import Any

import numpy as np
import pytest

from oracles_pages import Inline, Later, codes, dataset, figure, metric_values, open_page, press, table, widget, words
from pages.ui import jobs
from pages.views.multiplicative import blocks as pictures
from pages.views.multiplicative import growth as growing
from pages.views.multiplicative.controls import PRESETS
from pages.views.multiplicative.growth import VIEWS
from pages.views.multiplicative.meaning import accuracy_table
from test_pages_help import after_figures, without_help, without_text
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.studies.multiplicative import CURVES, Setting, simple, trees
from treedp_core.studies.multiplicative import run as running
from treedp_core.tree import Tree
from treedp_core.watch import Cancelled, Watch

SET = {"delta": "1e-08", "alpha": "0.5"}
SIGMA = 4.2246788893268353
"""Of one count at epsilon 1, delta 1e-6, solved elsewhere from the exact Gaussian trade-off."""


@pytest.fixture(autouse=True)
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Background searches never start here unless a test wants them: they take seconds."""
    monkeypatch.setattr(jobs, "pool", Later)


# --- growth ----------------------------------------------------------------------------------------------------------


def test_growth_has_every_line() -> None:
    app = open_page("multiplicative", **SET)
    assert not app.exception
    assert not app.main.error
    traces = {trace["name"]: trace for trace in figure(app, "mul_growth")["data"]}
    assert {html.unescape(name) for name in traces} == {curve.label for curve in CURVES.values()} | {"crossing"}
    assert traces["Laplace"]["y"][-1] == pytest.approx(math.sqrt(2) * 1e6)  # sqrt(2) d / epsilon
    assert traces["Shrunk Laplace"]["y"][-1] == pytest.approx(0.5 * 1e6)  # (1 - alpha) sqrt(2 / 2) d / epsilon
    assert traces["Gaussian"]["y"][-1] == pytest.approx(1000 * traces["Gaussian"]["y"][0] / math.sqrt(2))


def test_the_ranking_is_sorted_and_says_what_is_known() -> None:
    app = open_page("multiplicative", mul_levels="100000", **SET)
    ranks = table(app, "÷ best")
    errors = ranks["worst-case α-RMSE (records)"]
    known = dict(zip(ranks["mechanism"], ranks["its error is"], strict=True))
    assert list(errors[:9]) == sorted(errors[:9])
    assert ranks["mechanism"][0] == "Thresholds, tuned plan"
    assert known["Thresholds, tuned plan"] == "simulated"
    assert known["Thresholds, provable plan"] == known["Gaussian"] == "proven"
    assert list(ranks["its error is"][9:]) == ["lower bound"] * 2
    assert "the best simple rule, Shrunk optimal factorisation, has" in words(app)


def test_on_the_levels_of_the_data_thresholds_do_not_pay() -> None:
    app = open_page("multiplicative", **SET)
    assert "At the **5 levels** of Census-like geography (synthetic)" in words(app).replace("`", "")
    assert "Thresholds do not pay here" in words(app)


def test_crossings_are_read_off_well() -> None:
    """Gaussian below Laplace: sigma sqrt(d) < sqrt(2) d, d > sigma^2 / 2 = 8.92; shrunk, both times a constant:
    minimax sigma sqrt((d + 2) / 3) / sqrt(2) / 2 < d / 2, 2 d^2 > sigma^2 (d + 2) / 3, d > 4.3."""
    setting = Setting(0.5, 1.0, 1e-6)
    places = growing.crossings(growing.curves(setting))
    assert places["gaussian", "laplace"][0] == pytest.approx(SIGMA**2 / 2, rel=2e-3)
    b = SIGMA**2 / 6
    assert places["shrunk_optimal", "shrunk_laplace"][0] == pytest.approx((b + math.sqrt(b * b + 8 * b)) / 2, rel=0.03)
    assert ("paper", "shrunk_optimal") not in places
    told = growing.crossing_table(places, None)
    assert told["from this many levels on"][growing.PAIRS.index(("gaussian", "laplace"))] == "≈ 9"


def test_exact_crossings_replace_those_read_off(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page("multiplicative", **SET, mul_levels="10")
    assert "≈" in "".join(table(app, "from this many levels on")["from this many levels on"])
    assert "the exact search is running" in words(app)
    monkeypatch.setattr(jobs, "pool", Inline)
    monkeypatch.setattr(growing, "PAIRS", (("gaussian", "laplace"), ("paper", "laplace")))
    app = open_page("multiplicative", **SET, mul_levels="10", eps="0.5")
    assert list(table(app, "than")["from this many levels on"])[1] == "not up to 10⁶"
    assert "Exact search." in words(app)


def test_where_no_plan_exists_its_line_is_left_out() -> None:
    app = open_page("multiplicative", eps="0.05", mul_total="100", **SET)
    assert not app.exception
    assert not app.main.error
    names = {trace["name"] for trace in figure(app, "mul_growth")["data"]}
    assert "Thresholds, tuned plan" not in names
    assert "Shrunk Gaussian" in names


@pytest.mark.parametrize(("text", "levels"), [("2", 2), ("1000000", 10**6), ("10^4", 10_000), (" 2 ^ 3 ", 8)])
def test_levels_are_read(text: str, levels: int) -> None:
    assert growing.levels_from_text(text) == levels


@pytest.mark.parametrize("text", ["1", "0", "-3", "1e3", "2.5", "1000001", "10^7", "9^99", "x", "^", "٣", "999999999"])
def test_other_levels_are_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        growing.levels_from_text(text)
    assert caught.value.code == "LEVELS_RANGE"
    app = open_page("multiplicative", **SET)
    widget(app, "mul_levels").set_value(text)
    app.run()
    assert codes(app) in (["LEVELS_RANGE"], [])  # a text that is no setting falls back to the levels of the data


# --- one run ---------------------------------------------------------------------------------------------------------


def made(source: Any, plan: str = "tuned", **settings: Any) -> running.Run:
    return running.run(source, plan, Experiment(**{"alpha": 0.5, "delta": 1e-8, **settings}))


def test_the_small_tree_is_stepped_from_nothing_to_the_release() -> None:
    one = made(trees.small_tree())
    assert one.source.paths.total == 15_600
    seen = np.zeros(31, dtype=bool)
    for step in range(one.n_steps):
        values = pictures.blocks(one, step).value
        assert (np.isfinite(values) | ~seen).all()  # what has a value keeps it
        seen = np.isfinite(values)
        assert pictures.step_text(one, step)
    np.testing.assert_array_equal(pictures.blocks(one, one.n_steps).value, one.nodes.released)
    assert not np.isfinite(pictures.blocks(one, 0).value).any()
    assert "Every other node gets the default" in pictures.step_text(one, one.n_steps)


def test_blocks_of_a_larger_tree_show_every_node_as_released() -> None:
    """48 leaves, all with records: each is a column, so the block at a node's place must have its value."""
    tree = Tree.from_branching_factors((4, 4, 3))
    counts = tree.counts_of_leaves(np.arange(1, 49) ** 2 * 4)
    one = made(trees.tree_in_use("larger", tree, counts))
    assert not one.story
    final = pictures.blocks(one, one.n_steps)
    for node in range(tree.n_nodes):
        x, y = tree.leaf_start[node] + 0.5, tree.level_of[node] + 0.5
        inside = (final.left < x) & (x < final.left + final.width) & (final.top < y) & (y < final.top + final.height)
        assert inside.sum() == 1
        assert final.value[inside][0] == one.nodes.released[node]
        assert final.least[inside][0] <= counts[node] <= final.count[inside][0]


def test_alike_leaves_do_not_hide_the_heavy_branches() -> None:
    """100 groups of 100 leaves with one record each, but group 70 with 50 each: it is drawn, and so are 59 others."""
    tree = Tree.from_branching_factors((100, 100))
    leaves = np.ones(10_000, dtype=np.int64)
    leaves[7000:7100] = 50
    source = trees.tree_in_use("alike", tree, tree.counts_of_leaves(leaves))
    left, width, shown = source.columns
    paths = source.paths
    groups = shown[(paths.top[shown] <= 1) & (paths.bottom[shown] >= 1) & (paths.parent[shown] >= 0)]
    assert paths.weight[groups].max() == 5000
    assert width[0] == 60  # the root spans them all
    assert (left[shown] + width[shown] <= 60).all()
    wide = trees.tree_in_use("wide", tree, tree.counts_of_leaves(np.ones(10_000, dtype=np.int64)))
    assert (wide.paths.top[wide.columns[2]] == 1).sum() >= 59  # as many groups as there are columns


@pytest.mark.parametrize("alpha", ["0.75", "0.95"])
def test_any_slack_below_one_can_be_asked_for(alpha: str) -> None:
    for view in VIEWS:
        app = open_page("multiplicative", mul_view=view, alpha=alpha, delta="1e-08")
        assert not app.exception
        assert not app.main.error
        assert app.session_state["alpha"] == float(alpha)


def test_rounds_colour_only_what_they_labelled() -> None:
    one = made(trees.deep_tree(200, 300, 1))
    values = [level.value for level in one.estimation.plan.levels]
    for step in range(one.n_steps):
        shown = pictures.blocks(one, step)
        assert set(shown.value[np.isfinite(shown.value)]) <= set(values[:step])
        assert set(shown.value[shown.mark == pictures.FRESH]) <= set(values[step - 1 : step])
    last = pictures.blocks(one, one.n_steps)
    assert np.isfinite(last.value).all()
    assert last.left.size <= 400


def test_a_deep_tree_is_as_asked() -> None:
    paths = trees.deep_tree(1000, 100, 3).paths
    assert paths.n_levels == 1000
    assert paths.n_leaves == 100
    assert 100 * 50 <= paths.total <= 100 * 51  # 50 each on average, every leaf rounded up
    tops = paths.top[1:]
    assert tops.min() < 250  # it branches all the way down
    assert tops.max() > 750


@pytest.mark.parametrize(("relation", "scale"), [("add_or_remove_one", 5.0), ("replace_one", 8.0)])
def test_simple_rules_keep_the_same_promise(relation: str, scale: float) -> None:
    """Five levels, epsilon 1: Laplace scale 5 a level; replacing a record moves two counts, but the root is public."""
    one = made(trees.small_tree(), relation=relation, delta=1e-6)
    rules = one.nodes.simple
    assert rules["laplace"].worst == pytest.approx(math.sqrt(2) * scale)
    assert rules["shrunk_laplace"].worst == pytest.approx(0.5 * scale)
    if relation == "add_or_remove_one":
        assert rules["gaussian"].worst == pytest.approx(SIGMA * math.sqrt(5), rel=1e-6)
        # the binary tree of 5 levels has gamma_2^2 = 1 + 4 / 3; least squares with minimax budgets attains it
        assert rules["shrunk_optimal"].worst == pytest.approx(0.5 * SIGMA * math.sqrt(7 / 3) / math.sqrt(2), rel=1e-3)
    else:
        assert rules["shrunk_gaussian"].released[0] == 15_600
        assert rules["shrunk_optimal"].released[0] == pytest.approx(15_600)
    assert simple.best(rules) == "shrunk_optimal" if relation == "add_or_remove_one" else "shrunk_laplace"


def test_the_summary_counts_by_hand() -> None:
    truth, released = np.array([0.0, 10.0, 100.0]), np.array([3.0, 14.0, 30.0])
    assert running.excess(truth, released, 0.5).tolist() == [3.0, 0.0, 20.0]
    one = made(trees.small_tree())
    table = running.summary(one)
    off = running.excess(one.nodes.truth, one.nodes.released, 0.5)
    assert table["rule"][0] == "Thresholds"
    assert table["largest error beyond α w"][0] == off.max()
    assert table["nodes within α w"][0] == pytest.approx(100 * sum(x == 0 for x in off) / 31)


def test_few_nodes_are_drawn_the_smallest_and_the_largest_among_them() -> None:
    one = made(trees.deep_tree(100, 2000, 2))
    assert one.drawn.size <= 400
    assert one.nodes.truth[one.drawn[0]] == 0
    assert one.nodes.truth[one.drawn[-1]] == one.source.paths.total
    assert len(set(one.drawn.tolist())) == one.drawn.size
    assert made(trees.small_tree()).drawn.size == 31


def test_the_round_table_adds_up() -> None:
    one = made(trees.deep_tree(100, 200, 2))
    rounds = one.rounds
    assert rounds["round"] == list(range(1, one.n_steps + 1))
    assert rounds["threshold"] == sorted(rounds["threshold"], reverse=True)
    for yes, trees_tested, passed, tested in zip(
        rounds["answered yes"], rounds["trees tested"], rounds["passed"], rounds["nodes tested"], strict=True
    ):
        assert yes <= trees_tested
        assert passed <= tested


def test_the_page_of_a_run() -> None:
    app = open_page("multiplicative", mul_view="run", **SET)
    assert not app.exception
    assert not app.main.error
    names = [trace.get("name") for trace in figure(app, "mul_against")["data"]]
    assert names[-2:] == ["Shrunk least squares", "Thresholds"]
    assert "NOT PRIVATE" in words(app)
    assert "protects one record, replaced by another" in words(app)


def test_next_and_back_walk_the_steps() -> None:
    app = open_page("multiplicative", mul_view="run", mul_step="0", **SET)
    assert "Start: no node has a value" in words(app)
    assert widget(app, "mul_back").disabled
    press(app, "mul_next")
    assert app.session_state["mul_step"] == 1
    assert "Round 1, threshold" in words(app)
    press(app, "mul_end")
    assert "Every other node gets the default" in words(app)
    assert widget(app, "mul_next").disabled
    press(app, "mul_back")
    press(app, "mul_start")
    assert app.session_state["mul_step"] == 0


def test_a_run_shown_to_its_end_stays_at_the_end() -> None:
    app = open_page("multiplicative", mul_view="run", **SET)
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


@pytest.mark.parametrize("plan", list(running.PLANS))
@pytest.mark.parametrize("source", list(trees.SOURCES))
def test_every_plan_runs_on_every_tree(plan: str, source: str) -> None:
    app = open_page("multiplicative", mul_view="run", mul_plan=plan, mul_source=source, nbr="add_or_remove_one", **SET)
    assert not app.exception
    assert not app.main.error


def test_names_of_a_user_are_shown_as_they_are() -> None:
    data = dataset(Tree.from_branching_factors((3, 3)), [900] * 9, name="<b>*x*</b> www.x.org")
    app = open_page("multiplicative", data, mul_view="run", mul_source="current", **SET)
    assert "`<b>*x*</b> www.x.org`" in words(app)


def test_a_large_tree_is_run_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.views.multiplicative.state.LARGE", 5)
    app = open_page("multiplicative", mul_view="run", **SET)
    assert "Running on a large tree" in words(app)
    assert figure(app, "mul_bare")["data"][0]["name"] == "no value yet"
    press(app, "multiplicative_run_cancel")
    assert "Cancelled" in words(app)
    monkeypatch.setattr(jobs, "pool", Inline)
    press(app, "mul_again")
    assert figure(app, "mul_tree")["data"][-1]["name"] == "labelled"


def test_a_public_total_is_released_as_it_is() -> None:
    """Where the total is public it is the root's estimate, as in a release by the core; elsewhere it is a label."""
    small, deep = made(trees.small_tree()), made(trees.deep_tree(200, 300, 1))
    for one in (small, deep):
        total = one.source.paths.total
        assert set(one.nodes.released[one.nodes.level == 0]) == {total}
        shown = pictures.blocks(one, one.n_steps)
        assert shown.value[(shown.top == 0) & (shown.height == 1)].tolist() == [total]
        assert "The root gets the public total" in pictures.step_text(one, one.n_steps)
    other = made(trees.small_tree(), relation="add_or_remove_one")
    assert other.nodes.released[0] in [level.value for level in other.estimation.plan.levels]


@pytest.mark.parametrize("source", [trees.small_tree(), trees.deep_tree(100, 50, 2)])
@pytest.mark.parametrize("plan", list(running.PLANS))
def test_the_clamp_is_the_last_step(source: Any, plan: str) -> None:
    """Bounded noise on every count: nothing stays further than 2 R from its count, nothing moves away from it."""
    settings = Experiment(alpha=0.5, delta=1e-8, relation="add_or_remove_one")
    one = running.run(source, plan, settings, clamped=True)
    assert one.reach is not None
    assert one.n_steps == one.n_searches + 1
    before = one.estimation.values(one.nodes.edge, one.nodes.level)
    off = np.abs(one.nodes.released - one.nodes.truth)
    assert (off <= 2 * one.reach).all()
    assert (off <= np.abs(before - one.nodes.truth)).all()
    assert one.moved == (before != one.nodes.released).sum()
    assert f"{one.moved} of" in pictures.step_text(one, one.n_steps)
    if source.is_small:
        assert (pictures.blocks(one, one.n_steps).mark == pictures.FRESH).sum() == one.moved
    assert one.error is not None
    if plan == "paper":  # Lemma 3.3 with alpha tau, eta = 1e-4: its only bound
        tau = one.estimation.plan.default_value / 0.5
        assert one.error == pytest.approx(math.sqrt((0.5 * tau + 0.5) ** 2 + 4e-4 * one.reach**2))
        assert one.moved > 0
        assert running.run(source, plan, settings).error is None


def test_the_clamp_is_shown_on_the_page() -> None:
    app = open_page("multiplicative", mul_view="run", mul_clamp="1", mul_plan="paper", **SET)
    assert not app.exception
    assert "Clamp: every count is measured once more" in words(app)
    assert "The clamp takes half of the budget" in words(app)
    press(app, "mul_back")
    assert "Every other node gets the default" in words(app)
    assert "is proven" in words(app)


def test_a_run_counts_its_rounds_and_stops_between_them() -> None:
    """Cancelled before the third of its rounds: two rounds' share of the hundred steps were reported."""
    steps: list[int] = []
    rounds = len(made(trees.small_tree()).estimation.plan.levels)
    with pytest.raises(Cancelled):
        running.run(
            trees.small_tree(), "tuned", Experiment(alpha=0.5, delta=1e-8),
            watch=Watch(steps.append, lambda: len(steps) == 2),
        )  # fmt: skip
    assert rounds > 2
    assert sum(steps) == 200 // rounds


# --- refusals --------------------------------------------------------------------------------------------------------


def test_without_delta_one_that_fits_is_taken_and_one_click_sets_it() -> None:
    app = open_page("multiplicative", mul_view="run")
    assert codes(app) == [] and "δ = 1e-6 is used on this page" in words(app)
    before = figure(app, "mul_tree")["data"]
    press(app, "mul_set_delta")
    assert codes(app) == [] and app.session_state["delta"] == 1e-6
    assert figure(app, "mul_tree")["data"] == before


def test_nothing_run_yet_shows_the_bare_tree() -> None:
    app = open_page("multiplicative", mul_view="run", alpha="0")
    assert codes(app) == ["ALPHA_RANGE"]
    assert figure(app, "mul_bare")["data"][0]["name"] == "no value yet"


@pytest.mark.parametrize("view", ["growth", "meaning"])
def test_without_delta_curves_say_which_one_they_take(view: str) -> None:
    app = open_page("multiplicative", mul_view=view)
    assert not app.main.error
    assert "δ = 1e-6 is used on this page" in words(app)


@pytest.mark.parametrize("view", list(VIEWS))
def test_alpha_zero_is_refused_and_what_was_there_stays(view: str) -> None:
    app = open_page("multiplicative", mul_view=view, **SET)
    app.session_state["alpha"] = 0.0
    app.run()
    assert codes(app) == ["ALPHA_RANGE"]
    assert not app.exception
    assert "α = 0.5" in words(app)


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
    before = figure(app, "mul_against")["data"][-1]["y"]
    app.session_state["alpha"] = 0.0
    app.run()
    assert codes(app) == ["ALPHA_RANGE"]
    assert "Computed for other settings: Tuned plan, α = 0.5" in words(app)
    assert figure(app, "mul_against")["data"][-1]["y"] == before


# --- the printed budgets, and accuracy -------------------------------------------------------------------------------


def test_the_printed_budgets_overspend() -> None:
    """alpha 1/2, r = 4/3, 20 rounds: 1 + r^20 (20 / 3 - 1) = 1787.9."""
    expected = 1 + (4 / 3) ** 20 * (20 / 3 - 1)
    app = open_page("multiplicative", mul_view="schedule", **SET)
    assert not app.exception
    cards = metric_values(app)
    assert cards["Promised"] == "ε = 1"
    assert cards["Printed budgets cost"] == "ε = 1788"  # rounded up to four digits
    traces = {trace["name"]: trace for trace in figure(app, "mul_schedule")["data"]}
    assert traces["as printed"]["y"][19] == pytest.approx(expected)
    assert max(traces["corrected"]["y"]) <= 1
    assert "break the promise from **ℓ = 4**" in words(app)  # 1 + r^3 (1 - 1) = 1, 1 + r^4 / 3 > 1


def test_accuracy_by_hand() -> None:
    """Laplace of scale 10: alpha tau = 10 ln 100; the lower bounds are below everything."""
    table = accuracy_table(Setting(0.5, 1.0, 1e-6), 10, 0.01)
    tau = dict(zip(table["mechanism"], table["τ (records)"], strict=True))
    assert tau["Laplace"] == pytest.approx(20 * math.log(100))
    assert table["τ (records)"][:-2] == sorted(table["τ (records)"][:-2])
    assert max(table["τ (records)"][-2:]) <= min(table["τ (records)"][:-2])


def test_more_levels_never_lower_a_lower_bound() -> None:
    tables = [accuracy_table(Setting(0.5, 1.0, 1e-8), n, 0.01) for n in (5, 50, 1000, 10**6)]
    for row in (-2, -1):
        bounds = [table["τ (records)"][row] for table in tables]
        assert bounds == sorted(bounds)
        assert bounds[0] > 0


# --- frame -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets(name: str) -> None:
    app = open_page("multiplicative")
    press(app, f"mul_preset_{list(PRESETS).index(name)}")
    assert not app.exception
    assert not app.main.error
    for key, value in PRESETS[name][1].items():
        assert key == "delta" or app.session_state[key] == value


@pytest.mark.parametrize("view", list(VIEWS))
@pytest.mark.parametrize("settings", [{}, SET, {**SET, "mul_source": "deep"}])
def test_everything_explains_itself(view: str, settings: dict[str, str]) -> None:
    app = open_page("multiplicative", mul_view=view, **settings)
    assert without_help(app) == []
    assert without_text(app) == []
    assert set(after_figures(app)) <= {"caption"}


@pytest.mark.parametrize("view", list(VIEWS))
@pytest.mark.parametrize("settings", [{"present": "1"}, {"explain": "0"}, {"level": "Advanced"}])
def test_frame_settings(view: str, settings: dict[str, str]) -> None:
    app = open_page("multiplicative", mul_view=view, **SET, **settings)
    assert not app.exception
    assert not app.main.error


@pytest.mark.parametrize(
    "link",
    [{"alpha": "1.5"}, {"alpha": "-1"}, {"mul_total": "0"}, {"mul_total": "nan"}, {"mul_levels": "1"},
     {"mul_plan": "printed"}, {"mul_eta": "0"}, {"mul_deep_levels": "1000000"}, {"mul_step": "-1"}],
)  # fmt: skip
def test_bad_links_are_named_and_ignored(link: dict[str, str]) -> None:
    app = open_page("multiplicative", **link)
    assert not app.exception
    assert not app.main.error


def test_a_share_link_restores_the_page() -> None:
    app = open_page("multiplicative", mul_view="meaning", mul_levels="1000", mul_eta="0.05", **SET)
    link = next(code.value for code in app.sidebar.code if "mul_view" in code.value)
    assert all(part in link for part in ("mul_view=meaning", "mul_levels=1000", "mul_eta=0.05"))


def test_curves_are_quick() -> None:
    """About 0.15 s on an idle core, all curves and the ranking."""
    start = time.process_time()
    setting = Setting(0.25, 1.0, 1e-6)
    growing.crossings(growing.curves(setting))
    growing.ranking(setting, 500)
    assert time.process_time() - start < 2.0
