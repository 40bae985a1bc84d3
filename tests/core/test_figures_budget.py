"""Figures of the Budget split page: what is drawn, what is written instead, and that data strings stay text."""

from __future__ import annotations

import colorsys
import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from oracles_figures import contrast, decoded
from treedp_core.allocation.shares import published_for
from treedp_core.figures import budget
from treedp_core.figures.base.cell_figures import overlaid
from treedp_core.figures.base.export_layout import Dress, dressed
from treedp_core.figures.base.screen import stacked as narrow
from treedp_core.figures.budget import StrategyRow
from treedp_core.figures.trees import icicle as reliability
from treedp_core.tree import Tree

HOSTILE = "<img src=x onerror=1> $x$"
NAMES = ["all", HOSTILE, "leaf"]
ROWS = [
    StrategyRow("uniform", "Uniform", np.full(3, 1 / 3), np.array([0.0, 0.2, 0.4]), 0.3),
    StrategyRow("leaves_only", "Leaves only", np.array([0, 0, 1.0]), np.array([0.0, np.inf, 0.1]), np.inf),
    StrategyRow("greedy", HOSTILE, np.array([0, 0.25, 0.25]), np.array([0.0, 0.1, 0.2]), 0.15, prior=0.5),
]


class Names:
    """Names of nodes, all hostile."""

    def label(self, node: int) -> str:
        return HOSTILE

    def path(self, node: int) -> tuple[str, ...]:
        return () if node == 0 else (HOSTILE,)


def greedy_figure(phases: int = 4) -> Any:
    steps = np.arange(phases) % 2
    losses = np.tile(np.array([4.0, 9.0, np.inf]), (phases, 1))
    return budget.greedy_steps(np.array([0.1, 0.1, 0.0]), 0.2, steps, losses, NAMES, "ε").figure()


def test_bars_stack_to_what_was_spent() -> None:
    fig = decoded(greedy_figure())
    stacked = np.array([bar["y"] for bar in fig["data"]])
    np.testing.assert_allclose(stacked[:, 0], [0.3, 0.1, 0.0])
    np.testing.assert_allclose(stacked[:, -1], [0.5, 0.5, 0.0])
    assert fig["layout"]["barmode"] == "stack"


def test_the_slider_asks_no_server_and_tells_level_and_error() -> None:
    steps = decoded(greedy_figure())["layout"]["sliders"][0]["steps"]
    assert {step["method"] for step in steps} == {"relayout"}
    change = steps[1]["args"][0]
    assert change["shapes[0].x0"] == 2.5
    assert change["annotations[0].text"].startswith("slice 2 of 4 → &lt;img")
    assert change["annotations[0].text"].endswith("error 3")
    assert "<img" not in json.dumps(steps)


@pytest.mark.parametrize("phases", [1, 7, 100, 101, 2500])
def test_a_long_slider_has_few_steps_and_ends_at_the_last_slice(phases: int) -> None:
    steps = greedy_figure(phases).layout.sliders[0].steps
    assert len(steps) <= budget.MAX_SCRUB_STEPS + 1
    assert steps[-1].label == str(phases)


def test_the_comparison_draws_shares_prior_and_errors() -> None:
    fig = decoded(budget.strategies(ROWS, NAMES, error_title="RMSRE").figure())
    shares, prior, error = fig["data"][:3], fig["data"][3], fig["data"][4]
    np.testing.assert_allclose([bar["x"][2] for bar in shares], [0, 0.25, 0.25])
    assert prior["name"] == "for the prior"
    assert prior["x"] == [0, 0, 0.5]
    assert error["x"] == [0.3, 0.0, 0.15]
    assert error["text"] == ["0.300", "∞", "0.150"]
    assert fig["layout"]["xaxis2"]["range"][1] > 0.3


def test_levels_write_what_a_log_axis_cannot_show() -> None:
    fig = decoded(budget.strategy_levels(ROWS, NAMES, y_title="RMSRE").figure())
    written = [trace["text"] for trace in fig["data"] if trace.get("mode") == "text"]
    assert sorted(map(tuple, written)) == [("0<br>↓",), ("0<br>↓",), ("0<br>↓",), ("↑<br>∞",)]
    assert np.isnan(fig["data"][0]["y"][0])


def test_curves_are_told_apart_by_more_than_colour() -> None:
    totals = np.array([1.0, 2.0, 4.0])
    errors = np.outer(np.arange(1.0, 6.0), 1 / totals)
    fig = budget.strategy_curves(totals, list("abcde"), errors, y_title="RMSRE", marker_x=2.0).figure()
    looks = {(t.line.color, t.line.dash, t.marker.symbol) for t in fig.data}
    assert len(looks) == 5
    assert len({(t.line.dash, t.marker.symbol) for t in fig.data}) == 5
    assert fig.layout.shapes[0].x0 == 2.0
    stale = budget.strategy_curves(totals, list("abcde"), errors, y_title="RMSRE", marker_x=99.0, stale=True).figure()
    assert {t.line.color for t in stale.data} == {"#7A7A7A"}
    assert not stale.layout.shapes
    assert not budget.strategy_curves(totals, (), np.zeros((0, 3)), y_title="RMSRE", marker_x=1.0).figure().data


def test_colours_are_seen_on_light_and_dark() -> None:
    colours = {budget.EDGE, *(budget.strategy_colour(name)[0] for name in ("greedy", "optimum", "custom", "?"))}
    for colour in colours:
        assert min(contrast(colour, "#ffffff"), contrast(colour, "#171614")) >= 3.0


def hue(colour: str) -> float:
    """Hue in degrees."""
    return 360 * colorsys.rgb_to_hls(*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0]


@pytest.mark.parametrize("n_levels", [2, 5, 8])
def test_levels_are_a_ramp_that_no_strategy_is_on(n_levels: int) -> None:
    """One hue, 25 degrees or more from that of each strategy, lighter from level to level, outlined."""
    row = StrategyRow("uniform", "Uniform", np.full(n_levels, 1 / n_levels), np.ones(n_levels), 1.0)
    fig = budget.strategies([row], [str(i) for i in range(n_levels)], error_title="").figure()
    fills = [bar.marker.color for bar in fig.data[:n_levels]]
    strategies = ["#D55E00", "#0072B2", "#009E73", "#CC79A7"]
    assert not {budget.strategy_colour(name)[0] for name in ("greedy", "optimum", "custom")} - set(strategies)
    for fill in fills:
        assert all(abs((hue(fill) - hue(other) + 180) % 360 - 180) > 25 for other in strategies)
    steps = [contrast(lighter, darker) for darker, lighter in pairwise(fills)]
    light = [contrast(fill, "#000000") for fill in fills]
    assert light == sorted(light)
    assert min(steps) >= 1.15
    assert {bar.marker.line.color for bar in fig.data[:n_levels]} == {budget.EDGE}


def test_the_words_on_where_bars_end_stand_below_the_axis_away_from_the_legend() -> None:
    ends = [
        budget.strategies([*ROWS[:2], replace(ROWS[2], tree=worst)], NAMES, error_title="RMSRE").figure()
        for worst in (9, 0.2)
    ]
    assert [fig.layout.xaxis2.title.text for fig in ends] == ["RMSRE<br>→ ends at 3 × the best", "RMSRE"]
    assert not any(fig.layout.annotations for fig in ends)
    below = [dressed(json.loads(fig.to_json()), Dress("A", "b"), 900, 600)["layout"]["margin"]["b"] for fig in ends]
    assert below[0] == below[1] + 22
    together = overlaid([json.loads(fig.to_json()) for fig in ends], "AB")
    assert together is not None and len(together.data) == 10 and together.layout.yaxis.autorange == "reversed"
    said = narrow(ends[0]).layout.xaxis2.title.text.split("<br>")
    assert said == ["RMSRE", "→ ends at 3 × the best"]


def test_strategies_differ_in_colour_or_pattern() -> None:
    names = ("uniform", "leaves_only", "minimax", "cube_root", "greedy", "optimum", "custom")
    for n_levels in range(2, 8):
        beside = [*names, *(one.name for one in published_for(n_levels))]
        assert len({budget.strategy_colour(name) for name in beside}) == len(beside)


def test_probabilities_are_their_own_colours() -> None:
    tree = Tree.from_branching_factors((2, 3))
    counts = np.array([21, 6, 15, 1, 2, 3, 4, 5, 6])
    probability = np.linspace(0.0, 1.0, 9)
    block = decoded(reliability.reliability_icicle(tree, Names(), counts, probability).figure())["data"][0]
    shown = dict(zip(block["ids"], block["marker"]["colors"], strict=True))
    assert [shown[str(node)] for node in range(9)] == pytest.approx(probability.tolist())
    assert (block["marker"]["cmin"], block["marker"]["cmax"]) == (0.0, 1.0)
    assert "probability 0.125" in block["hovertext"][block["ids"].index("1")]


def test_merged_blocks_have_the_mean_probability() -> None:
    tree = Tree.from_branching_factors((6,))
    counts = np.array([21, 6, 5, 4, 3, 2, 1])
    probability = np.array([1.0, 0.9, 0.8, 0.7, 0.3, 0.2, 0.1])
    fig = reliability.reliability_icicle(tree, Names(), counts, probability, max_nodes=5).figure()
    block = decoded(fig)["data"][0]
    assert block["marker"]["colors"][block["ids"].index("others-0")] == pytest.approx(0.2)


def test_certain_is_not_written_for_what_can_fail() -> None:
    tree = Tree.from_branching_factors((3,))
    fig = reliability.reliability_icicle(
        tree, Names(), np.array([3, 1, 1, 1]), np.array([1.0, 0.9999, 0.0001, 0.0])
    ).figure()
    assert list(fig.data[0].text) == ["100 %", "> 99 %", "< 1 %", "0 %"]


def test_useful_nodes_are_counted() -> None:
    bars = decoded(reliability.useful_shares(NAMES, np.array([1.0, 0.5, 0.25]), np.array([1, 2, 12_000])).figure())[
        "data"
    ][0]
    assert bars["text"] == ["1 of 1", "1 of 2", "3\u202f000 of 12\u202f000"]


@pytest.mark.parametrize(
    "fig",
    [
        greedy_figure(),
        budget.strategies(ROWS, NAMES, error_title=HOSTILE).figure(),
        budget.strategy_levels(ROWS, NAMES, y_title=HOSTILE).figure(),
        budget.strategy_curves(np.ones(2), [HOSTILE], np.ones((1, 2)), y_title=HOSTILE, marker_x=1.0).figure(),
        reliability.reliability_icicle(
            Tree.from_branching_factors((2,)), Names(), np.array([2, 1, 1]), np.ones(3)
        ).figure(),
        reliability.useful_shares(NAMES, np.ones(3), np.ones(3, dtype=np.int64)).figure(),
        reliability.watermark(greedy_figure(), HOSTILE),
    ],
)
def test_data_strings_stay_text(fig: Any) -> None:
    text = fig.to_json()
    assert "<img" not in text
    assert "$x$" not in text
