"""Mean absolute errors of cumulative counts against characteristic functions, digits one by one, and releases drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.absolute import (
    MOST_BUILT,
    absolute_curves,
    cover_sizes,
    fitted_error,
    mean_absolute,
    tree_error,
)
from treedp_core.studies.cdf.error.criterion import REPLACE_ONE
from treedp_core.tree.workloads import Shape, equal_tree
from treedp_core.views import Tables
from treedp_core.views.cdf import PipelineInputs, absolute_errors


@pytest.mark.parametrize("m", [1, 2, 3, 17, 99, 100, 101, 400])
def test_a_sum_of_laplace_errors_by_its_characteristic_function(m: int) -> None:
    """E |S| = (2 / pi) times the integral of (1 - phi(t)) / t^2, phi(t) = (1 + t^2)^-m."""

    def part(t: float) -> float:
        return -math.expm1(-m * math.log1p(t * t)) / (t * t)

    by_parts = sum(quad(part, a, b, limit=400)[0] for a, b in ((0.0, 0.1), (0.1, 1.0), (1.0, 10.0))) + quad(
        part, 10.0, math.inf
    )[0]  # fmt: skip
    assert float(mean_absolute(np.array(m))) == pytest.approx(2.0 / math.pi * by_parts, rel=1e-7)


def test_covers_have_as_many_nodes_as_digits_say() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        factors = tuple(rng.integers(2, 7, rng.integers(1, 5)).tolist())
        n_bins = int(rng.integers(2, math.prod(factors) + 1))
        found = cover_sizes(Shape(factors, n_bins))
        direct = np.zeros(found.size)
        for j in range(n_bins):
            digits, rest = 0, j
            for n in reversed(factors):
                digits, rest = digits + rest % n, rest // n
            direct[digits] += 1
        assert found.tolist() == direct.tolist()
    assert cover_sizes(equal_tree(10**15, 2)).sum() == 10**15


@pytest.mark.parametrize("n_bins", [2, 5, 100, 997])
def test_a_histogram_is_summed_in_one_step(n_bins: int) -> None:
    direct = mean_absolute(np.arange(n_bins)).sum() / n_bins
    assert tree_error(Shape((n_bins,), n_bins), 3.0) == pytest.approx(3.0 * direct, rel=1e-10)
    assert tree_error(Shape((10**15,), 10**15), 1.0) == pytest.approx(4 / (3 * math.sqrt(math.pi)) * 10**7.5, rel=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("factors", [(50,), (3, 4, 5)])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_the_error_is_that_of_releases_and_not_a_tenth_more_or_less(factors: tuple[int, ...], mechanism: str) -> None:
    fits = mechanism == "gaussian"
    plan = plan_cdf(CdfSettings(50, factors, mechanism, 1.0, 1e-6, least_squares=fits))
    drawn = np.abs(plan.errors(np.random.default_rng(3), 12_000)).mean(axis=1)
    shape = Shape(factors, 50)
    said = fitted_error(shape, REPLACE_ONE) / math.sqrt(plan.total) if fits else tree_error(shape, 2.0 * len(factors))
    within = 4.5 * drawn.std() / math.sqrt(drawn.size) / said
    assert within < 0.1
    assert abs(drawn.mean() / said - 1.0) < within


def test_curves_of_pipelines() -> None:
    """Noise on every cumulative count by hand: 255 counts of scale 255 / ε, over 256."""
    best = Shape((16, 16), 256)
    curves = {one.kind: one for one in absolute_curves(256, [0.5, 1.0], 1, best, best, 1e-6)}
    assert curves["range queries"].y.tolist() == pytest.approx([2 * 255**2 / 256, 255**2 / 256])
    assert curves["best"].y == pytest.approx(curves["tree"].y)
    assert "Gaussian tree" in curves
    many = 2 * MOST_BUILT
    assert "Gaussian tree" not in {
        one.kind for one in absolute_curves(many, [1.0], 1, best_of(many), best_of(many), 1e-6)
    }


def best_of(n_bins: int) -> Shape:
    return equal_tree(n_bins, 16)


def test_the_view_says_the_least_and_the_largest() -> None:
    found = absolute_errors(PipelineInputs(bins="256", delta=1e-6), Tables())
    assert (
        found.answer.startswith("ℓ₁: at ε = 1 a cumulative count is ") and "noise on every cumulative" in found.answer
    )
    assert found.table["Histogram"][found.table["epsilon"].index(1.0)] == pytest.approx(
        2.0 * mean_absolute(np.arange(256)).mean()
    )
