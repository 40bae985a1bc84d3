"""The first page's margins: exact, also after least squares, and what is said of them."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedp_core.experiment import Experiment
from treedp_core.noise import DiscreteLaplace
from treedp_core.studies.sweep import first_page
from treedp_core.studies.sweep.first_page import margin_of_sum, town_draw
from treedp_core.views import Tables, start

NOISE = {"replace_one": 1 / 4, "add_or_remove_one": 1 / 3, "replace_unknown": 1 / 4}
"""One over the scale of each count's noise at ε = 1."""
ABOVE = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1], *np.eye(4)])
"""Which leaves the seven counts hold."""


def beyond(inverse_scale: float, weights: list[Fraction], t: float) -> float:
    """P(|sum| > t), by convolving the noises one after the other on the fractions that the sum can be."""
    unit = math.lcm(*(one.denominator for one in weights))
    mass, far = np.ones(1), math.ceil(30 / inverse_scale)
    for one in weights:
        step = abs(int(one * unit))
        spaced = np.zeros(2 * far * step + 1)
        spaced[:: step or 1] = np.exp(-inverse_scale * np.abs(np.arange(-far, far + 1))) if step else 1.0
        mass = np.convolve(mass, spaced / spaced.sum())
    at = np.abs(np.arange(mass.size) - mass.size // 2) / unit
    return float(mass[at > t + 1e-9].sum())


def is_margin(inverse_scale: float, weights: list[Fraction], t: float) -> bool:
    """Whether t is the smallest half width that holds the sum 19 times in 20."""
    unit = math.lcm(*(one.denominator for one in weights))
    return beyond(inverse_scale, weights, t) <= 0.05 and (t == 0 or beyond(inverse_scale, weights, t - 1 / unit) > 0.05)


@settings(max_examples=30)
@given(st.lists(st.fractions(-1, 1, max_denominator=8), min_size=1, max_size=4), st.sampled_from((0.5, 1.0, 4.0)))
def test_the_margin_of_a_sum_is_the_smallest(weights: list[Fraction], inverse_scale: float) -> None:
    if any(weights):
        assert is_margin(inverse_scale, weights, margin_of_sum(inverse_scale, tuple(map(float, weights)), 0.95))


@pytest.mark.parametrize("inverse_scale", [0.1, 1.0, 20.0])
def test_the_margin_of_one_noise_is_that_of_its_law(inverse_scale: float) -> None:
    assert margin_of_sum(inverse_scale, (1.0,), 0.95) == DiscreteLaplace(inverse_scale).margin(0.95)
    assert margin_of_sum(inverse_scale, (0.0, 0.0), 0.95) == 0.0


def test_a_margin_that_takes_too_many_points_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = (1 / 6, -1 / 6, 7 / 12, -5 / 12)
    exact = [margin_of_sum(a, weights, 0.95) for a in (0.02, 0.05)]
    monkeypatch.setattr(first_page, "_POINTS", 1 << 13)
    for a, fine in zip((0.02, 0.05), exact, strict=True):
        coarse = margin_of_sum.__wrapped__(a, weights, 0.95)
        assert fine < coarse < 1.6 * fine, (a, fine, coarse)


@pytest.mark.parametrize("relation", NOISE)
@pytest.mark.parametrize("epsilon", [1.0, 3.0, 16.0])
def test_bars_after_the_repair_are_those_after_the_repair(relation: str, epsilon: float) -> None:
    """The best estimates by dense algebra; a public total is told by taking it for known in advance."""
    is_public = relation == "replace_one"
    inverse_scale = epsilon * NOISE[relation]
    found = town_draw(Experiment(epsilon=epsilon, relation=relation))
    weights = _dense_weights(is_public)
    for node in range(7):
        parts = [Fraction(float(one)).limit_denominator(5000) for one in weights[node]]
        if is_public and node == 0:
            assert found.noisy_margin[0] == found.consistent_margin[0] == 0.0 and not any(parts)
        else:
            assert is_margin(inverse_scale, [Fraction(1)], found.noisy_margin[node]), node
            assert is_margin(inverse_scale, parts, found.consistent_margin[node]), node


def _dense_weights(is_public: bool) -> np.ndarray:
    """Weights (7, 7) of the seven noises in the seven best estimates, equal variances; rows are estimates."""
    if not is_public:
        return np.asarray(ABOVE @ np.linalg.pinv(ABOVE))
    free = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]])  # the fourth leaf is the total less the others
    weights = np.zeros((7, 7))
    weights[:, 1:] = ABOVE @ free @ np.linalg.pinv(ABOVE[1:] @ free)
    return weights


def said(relation: str, *, noisy: bool, epsilon: float = 1.0, seed: int = 7) -> str:
    shown = "noisy" if noisy else "consistent"
    inputs = start.TownInputs(epsilon=epsilon, relation=relation, seed=seed, shown=shown)
    return start.town(inputs, Tables()).answer


def test_what_is_exact_is_said_to_be_and_margins_are_those_shown() -> None:
    noisy, repaired = (said("replace_one", noisy=one) for one in (True, False))
    assert "Town is exact (its total is public) and the other six counts are right within ± 12, each by itself" in noisy
    assert "exact (its total is public), West and East are right within ± 6.5 and the four below are right" in repaired
    assert "right within ± 8.75, each by itself" in repaired
    assert said("add_or_remove_one", noisy=True).startswith("At ε = 1, all seven counts are right within ± 9, each by")
    for relation, margins in (("add_or_remove_one", (6.43, 5.86, 6.77)), ("replace_unknown", (8.58, 7.81, 9.05))):
        told = said(relation, noisy=False)
        assert tuple(map(float, re.findall(r"± ([\d.]+)", told))) == margins, told  # rounded up
        assert "exact" not in told


@pytest.mark.parametrize("relation", NOISE)
def test_nineteen_times_in_twenty_is_of_one_count_and_not_of_all(relation: str) -> None:
    """20,000 releases: each count by itself is within its margin as often as is said; all at once are not (the bound
    is five standard errors, a false alarm in a million)."""
    is_public, n = relation == "replace_one", 20_000
    rng = np.random.default_rng(5)
    stays = 1 - math.exp(-NOISE[relation])
    noise = rng.geometric(stays, (n, 7)) - rng.geometric(stays, (n, 7))
    noise[:, 0] *= not is_public
    shown = town_draw(Experiment(relation=relation))
    for off, reach in ((noise, shown.noisy_margin), (noise @ _dense_weights(is_public).T, shown.consistent_margin)):
        held = np.abs(off) <= reach + 1e-9
        assert (held.mean(axis=0) >= 0.95 - 5 * math.sqrt(0.05 * 0.95 / n)).all()
        assert held.all(axis=1).mean() < 0.9
        assert (held.mean(axis=0)[1:] < 0.97).all(), "a margin that is too wide is no 95 % margin"


@pytest.mark.parametrize("epsilon", [0.0005, 0.3, 16.0])
def test_sums_are_said_to_agree_only_where_they_do(epsilon: float) -> None:
    """However large the counts are: three digits of them may be alike."""
    for seed in range(60):
        drawn = town_draw(Experiment(epsilon=epsilon, seed=seed))
        told = said("replace_one", noisy=True, epsilon=epsilon, seed=seed)
        assert ("as they should" in told) == (drawn.noisy[1] + drawn.noisy[2] == drawn.noisy[0]), told
