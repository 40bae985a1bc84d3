"""Figures of CDFs and of trees of every height."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from treedp_core.figures.base import style
from treedp_core.figures.cdf import (
    CdfLines,
    PipelineCurve,
    band_figure,
    cdf_errors,
    pipeline_figure,
    ratio_bars,
    thinned,
)
from treedp_core.studies.cdf.bands import Reach
from treedp_core.studies.cdf.compare import Width


@pytest.mark.parametrize("size", [1, 2, 2100, 2101, 5003, 2**20])
def test_thinning_keeps_ends_and_extremes(size: int) -> None:
    values = np.random.default_rng(size).normal(size=size)
    at = thinned(values)
    assert at.size <= max(size if size <= 2100 else 0, 2100)
    assert at[-1] == size - 1
    assert (np.diff(at) > 0).all()
    assert values.argmin() in at
    assert values.argmax() in at


def lines(size: int) -> CdfLines:
    truth = np.cumsum(np.ones(size, dtype=np.int64))
    noisy = truth + np.random.default_rng(1).normal(size=size)
    return CdfLines(np.arange(size + 1.0), truth, noisy, truth, (truth - 3, truth + 3))


def widths(size: int) -> list[Width]:
    half = np.sqrt(np.arange(size, dtype=float))
    return [Width("yours", str(size), half), Width("binary tree", "2", 2 * half)]


def test_many_bins_make_small_figures_of_arrays() -> None:
    for fig in (
        band_figure(lines(10**5), widths(10**5), x_title="x").figure(),
        cdf_errors(lines(10**5), x_title="x").figure(),
    ):
        assert all(isinstance(trace.y, np.ndarray) and trace.y.size <= 2101 for trace in fig.data)


def test_the_axis_title_is_literal() -> None:
    fig = band_figure(lines(5), widths(5), x_title="<a href='x'>$y$</a>").figure()
    assert fig.layout.xaxis.title.text == "&lt;a href='x'&gt;&#36;y&#36;&lt;/a&gt;"


def test_identities_differ_in_more_than_colour() -> None:
    kinds = ["tree", "tree, least squares", "best", "binary", "histogram", "range queries", "other"]
    x = np.array([0.1, 1.0])
    fig = pipeline_figure([PipelineCurve(k, k, x, 1 / x) for k in kinds], 1.0).figure()
    looks = {(t.line.dash, t.marker.symbol) for t in fig.data[:-1]}
    assert len(looks) == len(kinds)


def test_half_widths_stand_on_a_linear_axis_from_zero_below_the_cdf() -> None:
    fig = band_figure(lines(50), widths(50), x_title="x").figure()
    below, above = fig.layout.yaxis, fig.layout.yaxis2
    assert (below.type, below.range[0]) == (None, 0.0) and below.range[1] >= 14
    assert 1.5 < (below.domain[1] - below.domain[0]) / (above.domain[1] - above.domain[0]) < 2.5
    assert [trace.name for trace in fig.data if trace.yaxis is None] == ["yours (50) ± 7", "binary tree ± 14"]
    (long, *_) = widths(50)
    fig = band_figure(lines(50), [replace(long, way="Optimal matrix for cumulative counts")], x_title="x").figure()
    assert fig.data[-1].name == "yours ± 7", "no second line in a narrow window"
    assert style.present(fig).layout.legend2.font.size == 24


def test_ranges_of_ones_own_stand_at_their_own_errors_in_place_of_a_band() -> None:
    """A band of all cumulative counts is far wider than what was asked for, and would hide it."""
    asked = ((2, 4), ((1, 1, 1.0), (5, 5, -2.0)))
    found = [replace(one, own=Reach(asked, 9.0, np.array([3.0, 8.0]))) for one in widths(5)]
    mine = lines(5)
    mine.edges[-1] = 7.0
    fig = band_figure(mine, found, x_title="x").figure()
    below = [trace for trace in fig.data if trace.yaxis is None]
    assert [trace.name for trace in below] == ["yours (5) ± 9", "binary tree ± 9"]
    for trace in below:
        assert trace.x == (1.0, 4.0, None, 0.0, 1.0, None, 4.0, 7.0, None)
        assert trace.y == (3.0, 3.0, None, 8.0, 8.0, None, 8.0, 8.0, None)
        assert trace.customdata[0] == "2-4" and trace.customdata[-1] == "1 + -2*5"
    assert 8.0 < fig.layout.yaxis.range[1] < 10.0


def test_what_is_far_worse_is_cut_and_keeps_its_number() -> None:
    x = np.array([1.0, 2.0])
    fig = pipeline_figure([PipelineCurve(str(k), "", x, k / x) for k in (1.0, 3.0, 50.0)], 1.0).figure()
    assert fig.data[-1].x.tolist() == pytest.approx([1.0, 3.0, 5.2])
    assert [one.text for one in fig.layout.annotations[1:]] == ["1.0: 1", "3.0: 3", "50.0: 50 →"]


def test_a_name_stands_behind_its_bar_however_long_that_is() -> None:
    """Names above long bars ran into the bar before, where rows are close."""
    fig = ratio_bars(["a", "b", "c"], [26.9, 9.01, 1.02], x_title="x").figure()
    ends = [shape.x1 for shape in fig.layout.shapes if shape.y0 == shape.y1]
    assert [(one.x, one.y) for one in fig.layout.annotations] == [(end, row) for row, end in enumerate(ends)]
    assert {one.yanchor for one in fig.layout.annotations} == {"middle"}
    assert 1.0 + 1.5 * (max(ends) - 1.0) < fig.layout.xaxis.range[1]
