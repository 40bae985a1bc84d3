"""Figures of multiplicative error: few blocks and points, arrays only, axes that stand."""

from __future__ import annotations

import numpy as np
import pytest

from treedp_core.figures.multiplicative import (
    LOOKS,
    accuracy_bars,
    growth_figure,
    true_and_released,
)
from treedp_core.studies.multiplicative.blocks import Blocks


def test_no_two_curves_look_the_same() -> None:
    assert len({(look.colour, look.dash) for look in LOOKS.values()}) == len(LOOKS)


def test_growth_leaves_out_what_is_not_there() -> None:
    x = np.array([2.0, 1e3, 1e6])
    found = {"tuned": (x, np.full(3, np.nan)), "pure_bound": (x, np.array([0.0, 1.0, 10.0]))}
    fig = growth_figure(found, n_levels=100.0).figure()
    assert [trace.name for trace in fig.data] == ["Lower bound, δ = 0"]
    assert np.isnan(fig.data[0].y[0])
    assert fig.layout.shapes[0].x0 == 100.0
    assert growth_figure({}).figure().layout.xaxis.range[0] < np.log10(2.0)


def blocks(n: int, value: float = np.nan) -> Blocks:
    ones = np.ones(n)
    return Blocks(
        np.arange(n, dtype=float), ones, 0 * ones, ones, 5 * ones, 3 * ones, np.full(n, value), np.zeros(n, dtype=int)
    )  # fmt: skip


@pytest.mark.parametrize("size", [1, 400, 401, 10**6])
def test_at_most_400_nodes_are_drawn_with_both_ends(size: int) -> None:
    truth = np.arange(size, dtype=float)[::-1].copy()
    fig = true_and_released(truth, truth, 0.5 * truth, alpha=0.5, error=None, simple_name="half").figure()
    points = fig.data[-1]
    assert points.x.size == size if size <= 400 else 200 < points.x.size <= 400
    assert points.customdata[0, 0] == 0.0
    assert points.customdata[-1, 0] == size - 1


def test_the_band_is_what_alpha_forgives() -> None:
    """At w = 99 and alpha 1/2 it runs from 49.5 to 148.5; the axes are log10(1 + x)."""
    y = np.array([0.0, 99.0])
    fig = true_and_released(y, y, y, alpha=0.5, error=10.0, simple_name="s").figure()
    low, high = fig.data[2], fig.data[3]
    w = 10.0 ** np.asarray(low.x) - 1.0
    np.testing.assert_allclose(10.0 ** np.asarray(low.y) - 1.0, 0.5 * w, atol=1e-9)
    np.testing.assert_allclose(10.0 ** np.asarray(high.y) - 1.0, 1.5 * w, atol=1e-9)
    np.testing.assert_allclose(10.0 ** np.asarray(fig.data[1].y) - 1.0, 1.5 * w + 10.0, atol=1e-9)


def test_numbers_of_close_crossings_stand_on_both_sides() -> None:
    x = np.array([2.0, 1e6])
    ring = (
        growth_figure({"laplace": (x, x)}, [(1600.0, 80.0), (10.0, 10.0), (1300.0, 75.0), (9e4, 300.0), (1e5, 1.0)])
        .figure()
        .data[-1]
    )
    assert list(ring.x) == [10.0, 1300.0, 1600.0, 9e4, 1e5]
    assert list(ring.textposition) == [f"{side} center" for side in ("bottom", "bottom", "top", "bottom", "top")]


@pytest.mark.parametrize(
    ("least", "told"), [(5.0, ["1", "10"]), (2e6, ["1", "100", "10\u202f000", "1\u202f000\u202f000"])]
)
def test_an_axis_of_many_decades_has_few_numbers(least: float, told: list[str]) -> None:
    shown = accuracy_bars({"mechanism": ["a", "b"], "τ (records)": [1.1, least]}).figure().layout.xaxis
    assert list(shown.ticktext) == told and list(shown.tickvals) == [len(one.replace("\u202f", "")) - 1 for one in told]
