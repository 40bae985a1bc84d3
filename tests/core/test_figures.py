"""Figures: what is drawn, that axes stay put, that data strings stay text, and that big trees stay quick."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from colorsys import rgb_to_hsv
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracles_figures import children_lists, contrast, data_range, decoded, strips
from oracles_tree import level_starts, random_parents
from treedp_core.errors.compare import LevelBoxes, level_quantiles
from treedp_core.experiment import Experiment
from treedp_core.figures import multiplicative
from treedp_core.figures.base import colour, curves, style
from treedp_core.figures.base.curves import name_ends
from treedp_core.figures.base.draft import Draft, bar
from treedp_core.figures.base.screen import lifted, on_dark, stacked
from treedp_core.figures.base.text import apart, plot_text
from treedp_core.figures.budget import Met, targets_met
from treedp_core.figures.cdf import CdfLines, band_figure
from treedp_core.figures.consistency import balance_and_tree
from treedp_core.figures.trees import draw, levels
from treedp_core.figures.trees.icicle import clicked_node, icicle, visible_nodes
from treedp_core.figures.trees.strips import level_strips, strip_values
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.file.drawing import checked
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.studies.cdf.compare import Width
from treedp_core.studies.sweep.before_after import Draw
from treedp_core.tree import Tree

LS, NN = "least_squares", "non_negative"
CHAINS = [(), (LS,), (NN,), (LS, NN)]
X = np.array([0.1, 1.0, 10.0])
HOSTILE = [
    "<img src=x onerror=window.__pwn=1>", "<b>x</b>", "$x$", "%{y} &lt; \"'", "<a href='http://192.0.2.1/'>link</a>",
    "![x](http://192.0.2.1/b.png)", "two\nlines", "a" * 10_000,
]  # fmt: skip


class Names:
    """Names of nodes, the hostile ones first."""

    def label(self, node: int) -> str:
        return "all" if node == 0 else HOSTILE[node - 1] if node <= len(HOSTILE) else f"node {node}"

    def path(self, node: int) -> tuple[str, ...]:
        return () if node == 0 else (self.label(node),)


def curve(label: str = "A", mechanism: str = "laplace", **arrays: Any) -> curves.Curve:
    return curves.Curve(label=label, mechanism=mechanism, variant=(), x=X, **arrays)


def drawn(series: list[curves.Curve], **options: Any) -> dict[str, Any]:
    return decoded(curves.error_curves(series, x_title="ε", y_title="RMSE", **options).figure())


def random_tree(seed: int, n_nodes: int) -> tuple[Tree, list[int]]:
    parent = random_parents(np.random.default_rng(seed), n_nodes)
    return Tree(np.array(parent), np.array(level_starts(parent))), parent


# --- style -----------------------------------------------------------------------------------------------------------


def test_every_mechanism_and_pipeline_has_a_look_of_its_own() -> None:
    looks = [style.look(name, pipeline) for name in MECHANISMS for pipeline in CHAINS]
    assert len(set(looks)) == len(looks) == 16
    assert len({look.colour for look in looks}) == len(MECHANISMS)
    for name in MECHANISMS:
        own = [style.look(name, pipeline) for pipeline in CHAINS]
        assert len({look.dash for look in own}) == len({look.symbol for look in own}) == len(CHAINS)
    raw = [style.look(name) for name in MECHANISMS]
    assert len({look.dash for look in raw}) == len({look.symbol for look in raw}) == len(MECHANISMS)
    assert style.look("some bound", (LS,)) == style.REFERENCE


def test_pipelines_of_every_post_processor_can_be_told_apart() -> None:
    every = [(), *((name,) for name in POSTPROCESSORS), *((LS, name) for name in POSTPROCESSORS if name != LS)]
    for name in MECHANISMS:
        assert len({style.look(name, pipeline).symbol for pipeline in every}) == len(every)


def test_data_colours_can_be_seen_on_both_themes() -> None:
    for shade in {style.GREY, style.BEFORE, style.AFTER} | {style.look(name).colour for name in MECHANISMS}:
        for background in ("#ffffff", "#0e1216"):
            assert contrast(shade, background) >= 3


def test_on_a_dark_page_lines_are_plainer_and_no_tree_is_almost_white_or_black() -> None:
    page = "#0e1216"
    for shade in {style.GREY, style.BEFORE, style.AFTER} | {style.look(name).colour for name in MECHANISMS}:
        assert contrast(lifted(shade), page) >= max(4.5, contrast(shade, page) - 0.01)
    lifts = [contrast(lifted(shade), page) for shade in ("#000000", *colour.LEVEL_ENDS)]
    assert lifts == sorted(lifts) and lifts[0] >= 3, "colours that differ still do"
    low, neutral, high = colour.DIVERGING_DARK
    assert 3 <= contrast(neutral, page) <= 6
    assert min(contrast(low, page), contrast(high, page)) >= 1.5 * contrast(neutral, page)
    steps = [contrast(shade, page) for shade in colour.SEQUENTIAL_DARK]
    assert steps == sorted(steps) and steps[0] >= 3 and steps[-1] <= 8
    hues = [rgb_to_hsv(*(int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0] for shade in colour.SEQUENTIAL_DARK]
    apart = [one - other for one, other in pairwise(hues)]
    assert min(apart) >= 0.08 and sum(apart) >= 0.5, "from violet to gold, and not one narrow band"


@pytest.mark.parametrize(
    "shade", [style.GREY, style.BLUE, style.GREEN, style.PINK, style.ORANGE, style.YELLOW, style.SKY, style.VIOLET]
)
def test_text_in_a_colour_can_be_read_on_both_themes(shade: str) -> None:
    fig = Draft([bar(y=[1], textfont={"color": shade})]).add_annotation(text="A", font={"color": shade})
    for seen, page in ((fig.figure(), "#ffffff"), (on_dark(fig.figure()), "#0e1216")):
        assert contrast(seen.layout.annotations[0].font.color, page) >= 4.5
        assert contrast(seen.data[0].textfont.color, page) >= 4.5
    boxed = Draft([]).add_annotation(text="A", bgcolor=shade, font={"color": "#ffffff"}).figure()
    assert boxed.layout.annotations[0].font.color == "#ffffff"


def test_blocks_of_a_presented_tree_are_high_enough_for_their_names() -> None:
    tree = Tree.from_branching_factors((2,) * 7)
    fig = icicle(tree, Names(), counts := np.ones(tree.n_nodes), counts)
    assert fig.data[0].maxdepth is None
    for high, rows in ((1.0, 9), (0.53, 4), (0.1, 2)):
        shown = style.present(go.Figure(fig).update_traces(domain_y=(0.0, high)))
        assert shown.data[0].maxdepth == rows
    above = go.Figure(fig).add_bar(x=[1], y=[0], orientation="h").update_layout(yaxis_domain=(0.9, 1.0))
    shown = style.present(above)
    assert shown.data[0].domain.y[1] + 0.15 <= shown.layout.yaxis.domain[0] <= 0.7, "numbers stand between them"


def test_every_row_of_a_presented_figure_has_its_name() -> None:
    rows = Draft([bar(x=[1, 2, 3, 4, 5, 6, 7], y=list("abcdefg"), orientation="h")]).figure()
    numbers = Draft([bar(x=list("abcdefg"), y=[1, 2, 3, 4, 5, 6, 7])]).figure()
    for fig, dtick, nticks in ((rows, 1, None), (numbers, None, style.MAX_PRESENTED)):
        shown = style.present(fig.update_layout(yaxis={})).layout.yaxis
        assert (shown.dtick, shown.nticks) == (dtick, nticks)


def test_a_dark_figure_differs_in_its_colours_only() -> None:
    tree, counts = Tree.from_branching_factors((2,)), np.array([4, 3, 1])
    light = icicle(tree, Names(), counts, counts - 2.0, colour_range=(-4.0, 4.0), text=counts)
    light.add_annotation(text="#000000", font_color="#000000")
    light.add_annotation(text='<span style="color:#000000">#000000</span>')
    dark = on_dark(light)
    assert list(dark.data[0].marker.colorscale) == [tuple(one) for one in colour.colour_scale(colour.DIVERGING_DARK)]
    assert dark.layout.annotations[0].text == "#000000" and dark.layout.annotations[0].font.color != "#000000"
    assert dark.layout.annotations[1].text == f'<span style="color:{lifted("#000000")}">#000000</span>'
    assert dark.layout.template == light.layout.template
    areas = [decoded(one)["data"][0]["values"] for one in (light, dark)]
    assert list(areas[0]) == list(areas[1])
    for name in ("ids", "parents", "labels", "text", "hovertext"):
        assert dark.data[0][name] == light.data[0][name]
    assert light.data[0].marker.colorscale[0][1] == colour.DIVERGING[0], "what was given stays as it was"


@pytest.mark.parametrize("bounds", [None, (-4.0, 4.0)])
def test_what_stands_in_a_block_can_be_read_on_its_colour(bounds: tuple[float, float] | None) -> None:
    tree = Tree.from_branching_factors((60,))
    values = np.append(0.0, np.linspace(*(bounds or (0.0, 1000.0)), 60))
    fig = icicle(tree, Names(), np.arange(61), values, colour_range=bounds)
    marker = fig.data[0].marker
    at = (np.asarray(marker.colors) - marker.cmin) / (marker.cmax - marker.cmin)
    hexes = {"black": "#000000", "white": "#ffffff"}
    for (block,) in (fig.data, on_dark(fig).data, on_dark(stacked(fig)).data):
        ends = list(pairwise(block.marker.colorscale))
        for share, ink in zip(at.tolist(), block.insidetextfont.color, strict=True):
            (a, below), (b, above) = next(pair for pair in ends if pair[0][0] <= share <= pair[1][0])
            two = [[int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in (below, above)]
            mixed = [round(x + (share - a) / (b - a) * (y - x)) for x, y in zip(*two, strict=True)]
            assert contrast("#" + "".join(f"{one:02x}" for one in mixed), hexes[ink]) > 4.5


@pytest.mark.parametrize("fill", ["#43309A", "#56B4E9", "#808080", "#D6CEF5"])
def test_what_stands_in_a_bar_can_be_read_on_its_colour(fill: str) -> None:
    hexes = {"black": "#000000", "white": "#ffffff"}
    for fills in (fill, np.array([fill, "#E69F00"], dtype=object)):
        fig = Draft([bar(x=[3, 4], text=["37", "1 000"], marker={"color": fills})]).figure()
        for (block,) in (fig.data, on_dark(fig).data):
            inks = np.broadcast_to(np.asarray(block.insidetextfont.color), 2)
            shades = np.broadcast_to(np.asarray(block.marker.color), 2)
            assert all(contrast(shade, hexes[ink]) > 4.5 for shade, ink in zip(shades, inks, strict=True))


@pytest.mark.parametrize("marker", [{"colorscale": "Viridis"}, {"colors": {"dtype": "zz", "bdata": "?"}, "cmin": "a"}])
def test_blocks_that_somebody_else_coloured_stay_on_a_dark_page(marker: dict[str, Any]) -> None:
    ours = icicle(Tree.from_branching_factors((2,)), Names(), np.arange(3), np.arange(3)).to_dict()
    ours["data"][0]["marker"] |= marker
    block = on_dark(go.Figure(ours, _validate=False)).data[0]
    assert list(block.insidetextfont.color) == list(ours["data"][0]["insidetextfont"]["color"])


@pytest.mark.parametrize("raw", HOSTILE)
def test_plot_text_is_escaped_short_and_on_one_line(raw: str) -> None:
    shown = plot_text(raw, 30)
    assert not set("<>$\n") & set(shown)
    assert len(shown) <= 30 * len("&amp;")
    if len(raw) <= 30 and "\n" not in raw:
        assert shown.replace("&#36;", "$").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == raw


def test_plot_text_cuts_before_it_escapes_and_drops_what_cannot_be_seen() -> None:
    assert plot_text("<" * 9, 3) == "&lt;&lt;…"
    assert plot_text("abc", 3) == "abc"
    assert plot_text("a\u202eb\x00\x1bc\u2028d") == "a b c d"


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=5), st.booleans())
def test_limits_are_round_and_hold_the_values(values: list[float], log: bool) -> None:
    low, high = style.limits([np.array([*values, np.inf, np.nan, -0.0])], log=log, default=(1, 2))
    assert low <= min(values) <= max(values) <= high
    if log:
        assert {f"{end:e}"[0] for end in (low, high)} <= {"1", "2", "5"}
        assert min(values) / low <= 11
        assert high / max(values) <= 11
    else:
        assert low == 0
        assert high <= 1.26 * max(values)  # a step is at most 2.5 tenths of the span


def test_the_marker_at_your_value_follows_the_kind_of_axis() -> None:
    log = style.your_value_marker(Draft([]), 0.01, "your <b>", log=True).figure().layout
    assert (log.shapes[0].x0, log.shapes[0].x1, log.annotations[0].x) == (0.01, 0.01, -2.0)
    assert log.annotations[0].text == "your &lt;b&gt;"
    assert style.your_value_marker(Draft([]), 4.0, "here", log=False).layout["annotations"][0]["x"] == 4.0
    for impossible in (0.0, -1.0, float("nan"), float("inf")):
        assert not style.your_value_marker(Draft([]), impossible).layout


def test_the_presenter_variant_has_large_letters_and_strong_lines() -> None:
    fig = style.present(curves.error_curves([curve(formula=X)], x_title="x", y_title="y", marker_x=1.0).figure())
    assert (fig.layout.font.size, fig.layout.xaxis.title.font.size, fig.data[0].line.width) == (24, 24, 4)
    tree = Tree.from_branching_factors((2,))
    counts = np.array([2, 1, 1])
    assert style.present(icicle(tree, Names(), counts, counts)).data[0].textfont.size == 24
    assert style.present(level_strips(tree, counts, ["a", "b"]).figure()).data[0].colorbar.tickfont.size == 24


def panels(fig: go.Figure) -> list[tuple[str, str]]:
    """The axes that traces and notes of a figure hang on."""
    return sorted({(one.xaxis or "x", one.yaxis or "y") for one in fig.data})


def test_in_a_narrow_window_panels_come_one_above_another() -> None:
    two = [curve(name, formula=X * times) for name, times in (("A", 1.0), ("B", 2.0))]
    drawn = curves.error_curves(two, x_title="a title that has more letters than a line", y_title="y", marker_x=1.0)
    fig = stacked(curves.beside_best(drawn, two, title="÷ the best").figure())
    assert panels(fig) == [("x", "y"), ("x2", "y2")]
    assert fig.layout.xaxis.domain == fig.layout.xaxis2.domain == (0, 1)
    assert fig.layout.yaxis2.domain[1] < fig.layout.yaxis.domain[0]
    assert {(one.xref or "x", one.yref) for one in fig.layout.shapes} == {("x", "y domain"), ("x2", "y2 domain")}
    assert "<br>" in fig.layout.xaxis.title.text


def test_names_beside_the_best_stand_in_the_margin_and_many_in_a_legend() -> None:
    """In the panel a name lay over other lines and over the rule at one's own value."""
    x = np.array([1.0, 2.0])
    lines = [curves.Curve(label=f"Discrete Laplace, way {i}", mechanism="", variant=(), x=x, formula=x * (i + 1))
             for i in range(curves.MOST_NAMED + 1)]  # fmt: skip
    few, many = (
        curves.beside_best(curves.error_curves(some, x_title="x", y_title="y"), some, title="y ÷ the best").figure()
        for some in (lines[:-1], lines)
    )
    assert {(note.x, note.xref, note.xanchor) for note in few.layout.annotations} == {(1, "paper", "left")}
    assert few.layout.annotations[0].text == "Discrete Laplace,<br>way 0"
    assert few.layout.showlegend is False and few.layout.margin.r > 100
    assert not many.layout.annotations and many.layout.showlegend is not False
    assert few.layout.yaxis2.title.text == many.layout.yaxis2.title.text == "y ÷ the best"


def test_a_presented_upright_axis_has_numbers_that_keep_apart_and_all_its_names() -> None:
    """On a scale of 0, 1, 10, 100, 1000 whose first two lie 7 % of it apart, 1 has no room; names of rows stay."""
    at = [0.0, 0.48, 2.3, 4.6, 6.9]
    numbers = go.Figure().update_yaxes(tickvals=at, ticktext=["0", "1", "10", "100", "1\u202f000"])
    assert style.present(numbers).layout.yaxis.ticktext == ("0", "10", "100", "1\u202f000")
    assert style.present(numbers).layout.yaxis.tickvals == (0.0, 2.3, 4.6, 6.9)
    powers = go.Figure().update_yaxes(type="log", range=[-5.2, 5.4], dtick=1)
    assert style.present(powers).layout.yaxis.dtick == 3
    names = go.Figure().update_yaxes(tickvals=list(range(9)), ticktext=list("abcdefghi"))
    assert style.present(names).layout.yaxis.ticktext == tuple("abcdefghi")


def test_a_presented_low_panel_has_few_numbers_and_no_title() -> None:
    """On a small projector five numbers of 24 px stood on one another beside the panels of a CDF, and both titles."""
    low = go.Figure().update_layout(
        yaxis={"domain": [0, 0.5], "title_text": "below"}, yaxis2={"domain": [0.73, 1], "title_text": "above"},
        yaxis3={"title_text": "alone"},
    )  # fmt: skip
    shown = style.present(low).layout
    assert (shown.yaxis.nticks, shown.yaxis2.nticks, shown.yaxis3.nticks) == (3, 2, 4)
    assert (shown.yaxis.title.text, shown.yaxis2.title.text, shown.yaxis3.title.text) == (None, None, "alone")
    lines = CdfLines(np.array([0.0, 1.0, 2.0]), np.array([3, 5]), np.array([4.0, 5.0]))
    drawn = style.present(
        band_figure(lines, [Width("yours", "2", np.array([2.5, 0.0]))], x_title="age").figure()
    ).layout
    assert (drawn.yaxis.nticks, drawn.yaxis2.nticks, drawn.yaxis.title.text) == (3, 2, None)


@pytest.mark.parametrize("n", [2, 5])
def test_presented_names_at_the_ends_of_lines_keep_apart(n: int) -> None:
    """Letters of 24 px are a fifth of the lowest figure of a presentation."""
    fig = Draft([], {"yaxis": {"range": [0.0, 10.0]}})
    name_ends(fig, [(f"a long name {i}", "#000", 5.0 + 0.1 * i) for i in range(n)]).add_annotation(x=0, y=5.0, text="")
    notes = style.present(fig.figure()).layout.annotations
    assert [later.ay - one.ay for one, later in pairwise(notes[:n])] == pytest.approx([2.0] * (n - 1))
    assert min(one.ay for one in notes[:n]) >= 0.0 and max(one.ay for one in notes[:n]) <= 10.0 and notes[n].y == 5.0
    assert [one.y for one in notes[:n]] == pytest.approx([5.0 + 0.1 * i for i in range(n)]), "where the lines end"


@pytest.mark.parametrize(("names", "rows"), [(["a"] * 6, 6), (["a long name, of two rows"] * 3, 6)])
def test_more_names_than_a_presentation_has_room_for_are_a_legend(names: list[str], rows: int) -> None:
    """So they are on a phone, whose figures have no margin for them."""
    assert rows > style.MOST_ENDS
    fig = name_ends(Draft([], {"yaxis": {"range": [0.0, 10.0]}}), [(name, "#000", 5.0) for name in names], is_low=True)
    for shown in (style.present(fig.figure()), stacked(fig.figure())):
        assert shown.layout.annotations == () and shown.layout.showlegend and shown.layout.margin.r < 40


def test_a_count_below_zero_is_taken_back_from_the_end_and_cuts_no_name() -> None:
    """Of 30, -8 and 20 the 20 stays up to 42: its name stands between 30 and 42; nothing passes the axis."""
    tree = Tree.from_branching_factors((3,))
    noisy, after = np.array([45.0, 30.0, -8.0, 20.0]), np.array([42.0, 29.0, 0.0, 13.0])
    the = Draw(Experiment(), tree, np.array([42, 29, 1, 12]), noisy, after, np.array([0.0, 9.0]))
    fig = balance_and_tree(the, Names(), 0, after=False, root=0, equation="").figure()
    placed = [
        (text.split()[-1], start, start + length)
        for one in fig.data if one.type == "bar" and one.text is not None
        for text, start, length in zip(one.text, one.base, one.x, strict=True) if text
    ]  # fmt: skip
    assert placed == [("45", 0.0, 45.0), ("30", 0.0, 30.0), ("\u22128", 50.0, 42.0), ("20", 30.0, 42.0)]
    assert fig.layout.xaxis.range[1] >= 50.0


def test_in_a_narrow_window_panels_of_one_axis_get_one_each() -> None:
    met = Met(1, "≤ 5 %", 1.0, "5 %", 2.5, "12.5 %")
    wide = targets_met([0.0, 1.0], ["all", "state"], [met]).figure()
    fig = stacked(wide)
    assert panels(fig) == [("x", "y"), ("x2", "y2")] and panels(wide) == [("x", "y"), ("x2", "y")]
    assert fig.layout.yaxis2.ticktext == fig.layout.yaxis.ticktext == ("all", "state")
    assert fig.layout.annotations[0].yref == "y2" and fig.layout.shapes[0].yref == "y2 domain"
    alone = go.Figure(go.Scatter(y=[1, 2]))
    assert stacked(alone).layout.xaxis.domain is None


def test_what_stands_beside_a_target_has_the_colours_of_its_marks_and_can_be_kept() -> None:
    fig = targets_met([0.0, 1.0], ["all", "state"], [Met(1, "≤ 5 %", 1.0, "5 % <i>", 2.5, "12.5 %")]).figure()
    long = targets_met(
        [0.0, 1.0], ["all", "state"], [Met(1, "≤ 30 records", 1.0, "29.6 records", 2.5, "60 records")]
    ).figure()
    assert ["<br>" in one.layout.annotations[0].text for one in (fig, long)] == [False, True]
    narrow = stacked(fig).layout
    assert narrow.annotations[0].x - narrow.xaxis2.domain[1] == pytest.approx(0.02) and narrow.annotations[0].x < 0.6
    told = fig.layout.annotations[0].text
    grey, orange = colour.text_ink(style.GREY), colour.text_ink(style.ORANGE)
    places = [told.index(one) for one in (style.BLUE, "5 % &lt;i&gt;", grey, "12.5", orange)]
    assert places == sorted(places)
    checked(json.loads(fig.to_json()))


def test_colours_of_errors_are_symmetric_and_those_of_counts_logarithmic() -> None:
    errors = colour.colouring(np.array([-99.0, 0.0, 1.0]), (-4, 4), "<i>")
    assert errors.shades.tolist() == [-4, 0, 1]
    assert errors.bar["title"]["text"] == "&lt;i&gt;"
    counts = colour.colouring(np.array([0.0, 9.0, 99.0, 999.0]), None, "count")
    np.testing.assert_allclose(counts.shades, [0, 1, 2, 3])
    np.testing.assert_allclose(counts.bar["tickvals"], np.log10([1, 11, 101]))
    assert counts.bar["ticktext"] == ["0", "10", "100"]
    assert colour.colouring(np.zeros(3), None, "count").high == 1
    assert colour.colouring(np.array([np.nan, 9.0]), None, "count").high == 1


# --- curves ----------------------------------------------------------------------------------------------------------


def test_lines_are_formulas_and_markers_with_95_percent_bars_are_simulations() -> None:
    both = curve(formula=2 / X, simulated=3 / X, standard_error=0.1 / X)
    line, markers = drawn([both])["data"]
    assert (line["mode"], line["line"]["width"]) == ("lines", 2.5)
    np.testing.assert_allclose(line["y"], [20, 2, 0.2])
    assert (markers["mode"], markers["marker"]["size"]) == ("markers", 9)
    np.testing.assert_allclose(markers["y"], [30, 3, 0.3])
    np.testing.assert_allclose(markers["error_y"]["array"], [1.959964, 0.1959964, 0.01959964], rtol=1e-6)
    assert line["legendgroup"] == markers["legendgroup"]
    assert markers["showlegend"] is False


def test_bars_stop_short_of_zero_on_a_log_axis_only() -> None:
    wide = curve(simulated=np.ones(3), standard_error=np.full(3, 5.0))
    assert max(drawn([wide])["data"][0]["error_y"]["arrayminus"]) < 1
    assert drawn([wide], log_y=False)["data"][0]["error_y"]["arrayminus"] == pytest.approx([9.8] * 3, rel=1e-4)


def test_infinite_and_zero_values_leave_a_gap_and_are_named() -> None:
    part, whole, zero = (np.array(v, dtype=float) for v in ([np.inf, 2, 1], [np.inf] * 3, [0, 0, 1]))
    data = drawn([curve("P", formula=part), curve("W", formula=whole), curve("Z", formula=zero)])["data"]
    assert [line["name"] for line in data] == ["P (∞ in part)", "W (∞)", "Z (0 in part)"]
    assert np.isnan(data[0]["y"]).tolist() == [True, False, False]
    assert np.isnan(data[1]["y"]).all()
    assert drawn([curve("Z", formula=zero)], log_y=False)["data"][0]["name"] == "Z"


def test_stale_simulations_are_grey_and_formulas_are_not() -> None:
    old = curve(formula=X, simulated=X, standard_error=X, stale=True)
    fresh = curve("B", "gaussian", formula=X, simulated=X)
    data = drawn([old, fresh])["data"]
    assert [line["line"]["color"] for line in data[:2]] == ["#009E73", "#CC79A7"]
    assert [marks["marker"]["color"] for marks in data[2:]] == [style.GREY, "#CC79A7"]
    assert "earlier settings" in data[2]["hovertemplate"]


def test_axes_are_fixed_and_hold_everything() -> None:
    layout = drawn([curve(formula=2 / X, simulated=X, standard_error=X)], marker_x=1.0)["layout"]
    np.testing.assert_allclose(data_range(layout["yaxis"]), (0.01, 100))
    low, high = data_range(layout["xaxis"])
    assert low < 0.1 < 10 < high
    assert layout["xaxis"]["dtick"] == 1
    assert layout["shapes"][0]["x0"] == 1.0
    chosen = drawn([curve(formula=X)], x_range=(0.5, 2), y_range=(3, 4))["layout"]
    np.testing.assert_allclose([*data_range(chosen["xaxis"]), *data_range(chosen["yaxis"])], [0.5, 2, 3, 4])


@given(low=st.floats(1e-9, 1e9), ratio=st.floats(1.2, 1e18))
@example(low=2.0, ratio=50.0)
@example(low=10.0, ratio=2.0)
@example(low=1e-9, ratio=1e18)
def test_a_log_axis_has_three_to_ten_numbers(low: float, ratio: float) -> None:
    high, dtick = low * ratio, style.axis("x", log=True, bounds=(low, low * ratio))["dtick"]
    if isinstance(dtick, str) and dtick[0] == "L":
        shown = math.floor(high / float(dtick[1:]) + 1e-9) - math.ceil(low / float(dtick[1:]) - 1e-9) + 1
    else:
        steps, every = ((1, 2, 5), 1) if dtick == "D2" else ((1,), dtick)
        numbers = [step * 10.0**power for power in range(-10 * every, 30, every) for step in steps]
        shown = sum(low * (1 - 1e-9) <= one <= high * (1 + 1e-9) for one in numbers)
    assert 3 <= shown <= 10


def test_without_series_the_axes_stand_alone() -> None:
    empty = drawn([], marker_x=1.0)
    assert empty["data"] == []
    assert data_range(empty["layout"]["yaxis"]) == pytest.approx((1, 1000))
    point = replace(curve("one", formula=np.array([2.0])), x=np.array([3.0]))
    low, high = data_range(drawn([point], log_x=False)["layout"]["xaxis"])
    assert low < 3 < high


# --- levels ----------------------------------------------------------------------------------------------------------


def series(label: str, mechanism: str, **arrays: Any) -> curves.Simulated:
    return curves.Simulated(label=label, mechanism=mechanism, variant=(), **arrays)


def by_level(shown: list[curves.Simulated], n: int) -> dict[str, Any]:
    return decoded(levels.error_by_level(shown, [f"level {i}" for i in range(n)], y_title="RMSE").figure())


def test_levels_show_a_bar_for_the_formula_and_a_marker_for_the_simulation_side_by_side() -> None:
    a = series(
        "A",
        "laplace",
        formula=np.array([1.0, 4.0]),
        simulated=np.array([1.1, 4.2]),
        standard_error=np.array([0.1, 0.2]),
    )
    b = series("B", "gaussian", simulated=np.array([2.0, 2.0]))
    bar, dot, other = by_level([a, b], 2)["data"]
    np.testing.assert_allclose(np.array(bar["y"]).reshape(2, 4), [[1, 1, 1, np.nan], [4, 4, 4, np.nan]])
    np.testing.assert_allclose(np.array(bar["x"]).reshape(2, 4)[:, 1], dot["x"])
    np.testing.assert_allclose(dot["error_y"]["array"], [0.196, 0.392], rtol=1e-4)
    np.testing.assert_allclose(np.array(dot["x"]) + np.array(other["x"]), [0, 2])
    assert dot["x"][0] < other["x"][0]


def test_infinite_levels_are_written_inside_the_axis() -> None:
    shown = by_level([series("A", "laplace", formula=np.array([0.0, 2.0, np.inf]))], 3)
    text = shown["data"][-1]
    assert text["text"] == ["0<br>↓", "↑<br>∞"]
    low, high = data_range(shown["layout"]["yaxis"])
    assert text["y"] == pytest.approx([low, high]) and text["textposition"] == ["top center", "bottom center"]
    assert text["x"][-1] == 2.0
    assert np.isnan(np.array(shown["data"][0]["y"])[8:]).all()


def test_level_quantiles_of_a_tree() -> None:
    tree = Tree.from_branching_factors((41,))
    errors = np.concatenate([[7.0], np.random.default_rng(0).permutation(np.arange(-20.0, 21.0))])
    found = level_quantiles(tree, errors, "before")
    # 41 evenly spaced errors: the quantile q is the value at place 40 q.
    expected = {"low": -19, "lower_quartile": -10, "median": 0, "upper_quartile": 10, "high": 19, "mean": 0}
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(found, name), [7.0, value], atol=1e-12)


def test_boxes_are_given_by_their_quantiles_not_by_points() -> None:
    zero = np.zeros(2)
    group = LevelBoxes("before", zero - 3, zero - 1, zero, zero + 1, zero + 4, zero)
    shown = decoded(levels.error_boxes([group, group], ["all", "state"]))
    assert [box["line"]["color"] for box in shown["data"]] == [style.BEFORE, style.AFTER]
    assert shown["data"][0]["q1"] == [-1, -1]
    assert shown["data"][0]["upperfence"] == [4, 4]
    assert "y" not in shown["data"][0]
    low, high = shown["layout"]["yaxis"]["range"]
    assert low == -high <= -4


# --- icicle ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 120), st.integers(3, 40), st.data())
def test_an_icicle_shows_few_blocks_keeps_the_largest_and_loses_nothing(
    seed: int, n_nodes: int, max_nodes: int, data: st.DataObject
) -> None:
    tree, parent = random_tree(seed, n_nodes)
    value = tree.counts_of_leaves(np.random.default_rng(seed).integers(0, 50, tree.n_leaves))
    root = data.draw(st.integers(0, n_nodes - 1))
    seen = visible_nodes(tree, value, root, max_nodes)
    shown, below = set(seen.nodes.tolist()), children_lists(parent)
    assert seen.nodes[0] == root
    assert seen.nodes.size + seen.others_parent.size <= max_nodes
    blocks = np.split(seen.others_nodes, np.cumsum(seen.others_size)[:-1]) if seen.others_size.size else []
    for above, merged in zip(seen.others_parent.tolist(), blocks, strict=True):
        assert merged.size >= 2
        assert all(parent[node] == above for node in merged.tolist())
    merged_nodes = set(seen.others_nodes.tolist())
    for node in shown:
        children = set(below[node])
        assert children <= shown | merged_nodes or not children & (shown | merged_nodes)
    # Whole levels come first; the next one is cut to its largest nodes, or left out for want of room.
    inside = [[root]]
    while inside[-1]:
        inside.append([child for node in inside[-1] for child in below[node]])
    whole = next(
        i for i, nodes in enumerate(inside) if not nodes or not set(nodes) <= shown or merged_nodes & set(nodes)
    )
    room = max_nodes - sum(len(nodes) for nodes in inside[:whole])
    families = sum(1 for node in inside[whole - 1] if below[node])
    if merged_nodes:
        kept = sorted(int(value[node]) for node in inside[whole] if node in shown)
        slots = room - families
        assert len(inside[whole]) > room >= 2 * families
        assert kept[-slots:] == sorted(value[inside[whole]].tolist())[-slots:]
        assert merged_nodes | shown == {node for nodes in inside[: whole + 1] for node in nodes}
    else:
        assert not inside[whole] or len(inside[whole]) > room < 2 * families


@given(st.integers(0, 10_000), st.integers(1, 120), st.integers(3, 40))
def test_areas_add_up_to_the_parents(seed: int, n_nodes: int, max_nodes: int) -> None:
    tree, _ = random_tree(seed, n_nodes)
    value = tree.counts_of_leaves(np.random.default_rng(seed).integers(0, 3, tree.n_leaves))
    block = decoded(icicle(tree, Names(), value, value, max_nodes=max_nodes))["data"][0]
    area = dict(zip(block["ids"], block["values"], strict=True))
    sums: dict[str, float] = {}
    for identifier, above in zip(block["ids"], block["parents"], strict=True):
        sums[above] = sums.get(above, 0.0) + area[identifier]
    for above, total in sums.items():
        if above:
            assert total == pytest.approx(area[above], rel=1e-12)
    assert block["branchvalues"] == "total"
    assert min(area.values()) > 0
    assert area["0"] <= 1.2001 * value[0] or value[0] == 0


def test_areas_are_true_counts_and_empty_nodes_get_a_sliver() -> None:
    tree = Tree.from_branching_factors((2, 2))
    counts = np.array([1000, 1000, 0, 600, 400, 0, 0])
    block = decoded(icicle(tree, Names(), counts, counts))["data"][0]
    assert block["ids"] == [str(node) for node in range(7)]
    assert block["parents"] == ["", "0", "0", "1", "1", "2", "2"]
    np.testing.assert_allclose(block["values"], [1002, 1000, 2, 600, 400, 1, 1])
    assert block["text"][2] == "0"


@pytest.mark.parametrize(
    ("name", "written"), [("abc", [True, True, True, False]), ("abc" * 6, [True, True, False, False])]
)
def test_blocks_too_narrow_for_their_words_have_none_to_measure(name: str, written: list[bool]) -> None:
    class Alike(Names):
        def label(self, node: int) -> str:
            return name

    tree, counts = Tree.from_branching_factors((3,)), np.array([1000, 930, 60, 10])
    templates = decoded(icicle(tree, Alike(), counts, counts))["data"][0]["texttemplate"]
    assert [bool(template) for template in templates] == written


@pytest.mark.parametrize(("height", "root", "lines"), [(5, 0, 2), (6, 0, 1), (6, 1, 2)])
def test_the_words_of_low_blocks_stand_in_one_line(height: int, root: int, lines: int) -> None:
    tree = Tree.from_branching_factors((2,) * height)
    counts = tree.counts_of_leaves(np.ones(tree.n_leaves))
    template = decoded(icicle(tree, Names(), counts, counts, root=root))["data"][0]["texttemplate"][0]
    assert len(template.split("<br>")) == lines


def test_others_are_summed_and_a_click_on_them_means_their_parent() -> None:
    tree = Tree.from_branching_factors((6,))
    counts = np.array([21, 1, 2, 3, 4, 5, 6])
    error = np.array([0.0, 1, 1, 4, 0, 0, 0])
    made = icicle(tree, Names(), counts, error, max_nodes=5, colour_range=(-4, 4), released=counts + error)
    block = decoded(made)["data"][0]
    assert block["ids"] == ["0", "4", "5", "6", "others-0"]
    assert block["labels"][-1] == "others (3)"
    assert block["values"] == [21, 4, 5, 6, 6]
    assert block["marker"]["colors"] == [0, 0, 0, 0, 2]
    assert block["hovertext"][-1].split("<br>") == ["others (3)", "true count 6", "released 12", "error 6"]
    assert clicked_node(tree, block["ids"][-1]) == 0


@pytest.mark.parametrize("identifier", ["", "x", "-1", "7", "1e3", "²", "9" * 5000, None, 1.5, "others-", "others-99"])
def test_a_click_that_names_no_node_is_nothing(identifier: object) -> None:
    assert clicked_node(Tree.from_branching_factors((6,)), identifier) is None


@pytest.mark.parametrize("factors", [(), (1,), (1, 1, 1), (5,)])
def test_trees_without_records_or_branches_can_be_seen(factors: tuple[int, ...]) -> None:
    tree = Tree.from_branching_factors(factors)
    nothing = np.zeros(tree.n_nodes, dtype=np.int64)
    block = decoded(icicle(tree, Names(), nothing, nothing))["data"][0]
    assert block["values"][0] == tree.n_leaves
    names = [f"level {i}" for i in range(tree.n_levels)]
    assert np.array(decoded(level_strips(tree, nothing, names))["data"][0]["z"]).shape == (tree.n_levels, tree.n_leaves)


def test_an_unmeasured_node_does_not_break_the_colours() -> None:
    tree = Tree.from_branching_factors((2,))
    counts, error = np.array([2, 1, 1]), np.array([np.nan, np.inf, -np.inf])
    colours = decoded(icicle(tree, Names(), counts, error, colour_range=(-4, 4)))["data"][0]["marker"]["colors"]
    assert colours == [0, 4, -4]


# --- strips ----------------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 30), st.sampled_from(["mean", "extreme"]))
def test_strips_equal_the_oracle(seed: int, n_nodes: int, columns: int, reduce: Any) -> None:
    tree, parent = random_tree(seed, n_nodes)
    values = np.random.default_rng(seed).permutation(n_nodes) * 2.0 - n_nodes + 0.5  # no two of one size
    found = strip_values(tree, values, reduce=reduce, n_columns=columns)
    expected = strips(parent, tree.level_of.tolist(), values.tolist(), min(columns, tree.n_leaves), reduce)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_strips_are_one_small_heatmap_with_the_root_on_top() -> None:
    tree = Tree.from_branching_factors((10, 10, 20))
    fig = level_strips(tree, np.arange(tree.n_nodes), ["<b>", "b", "c", "c"], colour_range=(-5, 5)).figure()
    (heat,) = fig.data
    assert heat.type == "heatmap"
    assert heat.z.dtype == np.float32
    assert heat.z.shape == (4, 600)
    assert (heat.zmin, heat.zmax) == (-5, 5)
    assert fig.layout.yaxis.range == (3.5, -0.5)
    assert fig.layout.yaxis.ticktext == ("&lt;b&gt;", "b", "c", "c")
    assert heat.x0 + 599.5 * heat.dx == pytest.approx(tree.n_leaves)


# --- one draw --------------------------------------------------------------------------------------------------------


def test_one_draw_is_sorted_by_the_true_count_with_a_band_of_1_96_sigma() -> None:
    made = draw.one_draw(np.array([5, 9, 1]), np.array([6, 8, -2]), sigma=2.0, mechanism="gaussian", name=str)
    low, high, true, noisy = decoded(made)["data"]
    assert (true["x"], true["y"], noisy["y"]) == ([1, 2, 3], [9, 5, 1], [8, 6, -2])
    np.testing.assert_allclose(low["y"], [9 - 3.92, 5 - 3.92, 1 - 3.92], atol=1e-3)
    np.testing.assert_allclose(high["y"], [9 + 3.92, 5 + 3.92, 1 + 3.92], atol=1e-3)
    assert noisy["text"] == ["1", "0", "2"]
    assert noisy["marker"]["color"] == "#CC79A7"


@given(st.lists(st.integers(0, 10) | st.integers(65_530, 65_540) | st.integers(0, 2**53 - 1), max_size=400))
def test_nodes_are_ranked_by_falling_count_whatever_the_size_of_counts(counts: list[int]) -> None:
    expected = sorted(range(len(counts)), key=lambda node: -counts[node])
    for dtype in (np.int64, np.float64):
        _, node = draw.thinned(np.array(counts, dtype=dtype))
        assert node.tolist() == expected


def test_thinning_goes_evenly_through_the_ranking() -> None:
    truth = np.random.default_rng(5).integers(0, 1000, 20_000)
    rank, node = draw.thinned(truth)
    assert (rank[0], rank.size, rank[-1]) == (0, 400, 19_999)
    assert set(np.diff(rank).tolist()) <= {50, 51}  # 19 999 / 399 = 50.1
    assert truth[node].tolist() == np.sort(truth)[::-1][rank].tolist()


@pytest.mark.statistical
def test_a_thinned_draw_leaves_the_band_as_often_as_all_nodes_do() -> None:
    """1.96 standard deviations leave out 5 % of normal errors: of 400, 20; 50 or more have probability 4e-9.

    The mutant keeps the extremes of slices; of 200 normal errors each they lie outside nearly always.
    """
    truth, error = np.zeros(40_000), np.random.default_rng(6).normal(size=40_000)
    node = draw.thinned(truth)[1]
    assert np.count_nonzero(np.abs(error[node]) > 1.96) < 50
    extremes = np.concatenate([part[[part.argmin(), part.argmax()]] for part in error.reshape(200, 200)])
    assert np.count_nonzero(np.abs(extremes) > 1.96) >= 50


def test_a_bent_axis_keeps_zero_and_negative_counts_in_the_picture() -> None:
    truth, released = np.array([100_000, 500, 0, 0]), np.array([100_003.0, 490.0, -7.0, 0.0])
    shown = decoded(draw.one_draw(truth, released, sigma=4.0))
    noisy = shown["data"][-1]
    assert noisy["customdata"] == released.tolist()
    np.testing.assert_allclose(np.sinh(noisy["y"]) * 4.0, released, rtol=1e-9, atol=1e-9)
    axis = shown["layout"]["yaxis"]
    assert axis["ticktext"] == ["0", "10", "−10", "100", "1\u202f000", "10\u202f000", "100\u202f000"]
    np.testing.assert_allclose(np.sinh(axis["tickvals"]) * 4.0, [0, 10, -10, 100, 1000, 1e4, 1e5], atol=1e-9)
    low, high = axis["range"]
    assert all(low < y < high for y in noisy["y"])


@given(low=st.floats(-300.0, 1e12), wide=st.floats(0.0, 12.0).map(lambda power: 10.0**power), sigma=st.floats(0.1, 1e4))
@example(low=470.0, wide=690 / 470, sigma=1.0)
@example(low=690.0, wide=1.0, sigma=1.0)
@example(low=-300.0, wide=1e12, sigma=1.0)
def test_a_bent_axis_has_a_few_round_ticks_over_any_span(low: float, wide: float, sigma: float) -> None:
    high = min(max(abs(low) * wide, 101 * max(sigma, 1.0)), 1e15)
    axis = decoded(draw.one_draw(np.array([high]), np.array([low]), sigma=sigma))["layout"]["yaxis"]
    ticks, (first, last) = axis["tickvals"], axis["range"]
    assert 3 <= sum(first <= tick <= last for tick in ticks) == len(ticks) <= 10
    assert len(set(axis["ticktext"])) == len(ticks)
    assert np.diff(sorted(ticks)).min() > (last - first) / 40, "they do not run into each other"


def test_one_draw_without_noise_or_values_still_draws() -> None:
    for released in (np.zeros(3), np.full(3, np.nan), np.full(3, np.inf)):
        shown = decoded(draw.one_draw(np.zeros(3, dtype=np.int64), released, sigma=np.inf))
        assert len(shown["data"]) == 2
        assert np.isfinite(shown["layout"]["yaxis"]["range"]).all()


# --- text stays text, everywhere -------------------------------------------------------------------------------------


def hostile_figures() -> dict[str, go.Figure]:
    tree = Tree.from_branching_factors((2, 2, 2))
    counts = tree.counts_of_leaves(np.arange(1, 9))
    several = [curve(text, formula=X, simulated=X) for text in HOSTILE]
    on_levels = [series(text, "laplace", formula=np.array([1.0, np.inf])) for text in HOSTILE]
    boxes = [level_quantiles(tree, counts * 1.0, text) for text in HOSTILE]
    return {
        "curves": curves.error_curves(
            several, x_title=HOSTILE[0], y_title=HOSTILE[1], marker_x=1, marker_text=HOSTILE[0]
        ).figure(),
        "levels": levels.error_by_level(on_levels, HOSTILE[:2], y_title=HOSTILE[4]).figure(),
        "boxes": levels.error_boxes(boxes, HOSTILE[:4]).figure(),
        "icicle": icicle(tree, Names(), counts, counts, released=counts, colour_title=HOSTILE[0]),
        "strips": level_strips(tree, counts, HOSTILE[:4], colour_title=HOSTILE[1]).figure(),
        "draw": draw.one_draw(counts, counts, label=HOSTILE[0], name=Names().label),
    }


@pytest.mark.parametrize("kind", ["curves", "levels", "boxes", "icicle", "strips", "draw"])
def test_hostile_names_reach_plotly_escaped_and_cut(kind: str) -> None:
    text = json.dumps(decoded(hostile_figures()[kind]), ensure_ascii=False)
    for tag in ("<img", "<b>", "<a ", "$x", "a" * 130, "two\\nlines"):
        assert tag not in text
    assert "&lt;" in text


# --- speed -----------------------------------------------------------------------------------------------------------

BIG = Tree.from_branching_factors((10,) * 6)
BIG_COUNTS = BIG.counts_of_leaves(np.floor(np.random.default_rng(1).pareto(1.0, BIG.n_leaves)).astype(np.int64))
BIG_ERRORS = np.random.default_rng(2).laplace(0.0, 5.0, BIG.n_nodes)
LAST = BIG.level(BIG.height)


@pytest.mark.parametrize(
    "make",
    [
        lambda: icicle(BIG, Names(), BIG_COUNTS, BIG_ERRORS, colour_range=(-9, 9), released=BIG_COUNTS),
        lambda: level_strips(BIG, BIG_ERRORS, ["x"] * BIG.n_levels, reduce="extreme", colour_range=(-9, 9)).figure(),
        lambda: draw.one_draw(BIG_COUNTS[LAST], BIG_COUNTS[LAST] + BIG_ERRORS[LAST], sigma=7.0, name=str).figure(),
        lambda: levels.error_boxes([level_quantiles(BIG, BIG_ERRORS, "x")], ["x"] * BIG.n_levels).figure(),
    ],
    ids=["icicle", "strips", "draw", "boxes"],
)
def test_a_tree_of_a_million_leaves_is_drawn_at_once(make: Callable[[], go.Figure]) -> None:
    assert len(make().to_json()) < 200_000
    best = np.inf
    for _ in range(5):  # processor time of this thread, so that busy neighbours do not count
        start = time.thread_time()
        make()
        best = min(best, time.thread_time() - start)
    assert best < 0.05


PLACES = st.lists(st.floats(-5, 15) | st.just(float("nan")) | st.just(float("inf")), max_size=12)


@given(PLACES, st.floats(0.1, 3.0))
def test_labels_stand_apart_in_their_order_and_no_farther_off_than_they_must(wanted: list[float], least: float) -> None:
    placed = apart(wanted, least, 0.0, 10.0)
    pairs = sorted((at, there) for at, there in zip(wanted, placed, strict=True) if np.isfinite(at))
    found = [there for _, there in pairs]
    assert all(np.isnan(there) for at, there in zip(wanted, placed, strict=True) if not np.isfinite(at))
    step = min(least, 10.0 / max(1, len(found) - 1))
    assert all(-1e-9 <= there <= 10.0 + 1e-9 for there in found)
    assert all(after - before >= step - 1e-9 for before, after in pairwise(found))
    there_already = [min(max(at, 0.0), 10.0) for at, _ in pairs]
    if all(after - before >= step for before, after in pairwise(there_already)):
        assert found == pytest.approx(there_already)


@given(st.lists(st.floats(10.0, 20.0), min_size=3, max_size=3))
def test_names_of_worst_cases_never_cover_each_other(ends: list[float]) -> None:
    """Their plot is 170 px high in the lowest window: labels of 12 px need 7 % of that."""
    levels = np.array([2.0, 1e4])
    found = {name: (levels, np.array([1.0, end])) for name, end in zip(("best", "laplace", "tuned"), ends, strict=True)}
    fig = multiplicative.few_figure(found, marker_text="")
    low, high = fig.layout["yaxis"]["range"]
    heights = sorted(note["ay"] for note in fig.layout["annotations"])
    assert all(after - before >= 0.07 * (high - low) for before, after in pairwise(heights))


@given(st.lists(st.floats(1.0, 1.4), min_size=2, max_size=9), st.integers(0, 3))
def test_direct_labels_of_figures_never_cover_each_other(ends: list[float], more: int) -> None:
    """A plot is at least 150 px high with targets and 220 with lines: labels of 12 px need 10 % and 6 % of that."""
    fig = name_ends(Draft([], {"yaxis": {"type": "log", "range": [0, 2]}}), [("A", "#000", y) for y in ends])
    heights = sorted(note["ay"] for note in fig.layout["annotations"])
    assert all(after - before >= 0.12 - 1e-9 for before, after in pairwise(heights))
    x = np.array([1.0, 2.0])
    lines = [curves.Curve(label=str(i), mechanism="", variant=(), x=x, formula=x * y) for i, y in enumerate(ends)]
    fig = curves.beside_best(curves.error_curves(lines, x_title="x", y_title="y"), lines, title="")
    low, high = fig.layout["yaxis2"]["range"]
    notes = sorted(note["ay"] for note in fig.layout.get("annotations", ()) if note.get("yref") == "y2")
    assert all(after - before >= 0.13 * (high - low) for before, after in pairwise(notes))
    assert max(notes, default=low) <= high
    met = [Met(level, "≤ 5 %", 1.0, "5 %", y, "6 %") for level, y in enumerate(ends)] + [
        Met(1, "", 1.0, "", 1.0, "")
    ] * more
    column = targets_met([], [str(i) for i in range(len(ends))], met).figure().layout.annotations
    rows = sorted(note.y for note in column)
    tall = 0.1 * len(ends) * min(note.font.size for note in column) / 12.0
    assert all(after - before >= tall - 1e-9 for before, after in pairwise(rows))
