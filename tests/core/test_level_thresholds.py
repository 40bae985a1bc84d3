"""Thresholds of nodes, alike within a level (Ghazi et al., Problem 3.1): where they are kept, counted another way."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refusals import refuses
from treedp_core.mechanisms.thresholds.schedule import least_threshold
from treedp_core.studies.multiplicative.accuracy import (
    LOWER,
    LevelThresholds,
    accuracy_table,
    kept_table,
    levels_in_words,
    own_plan,
    thresholds_from_text,
)
from treedp_core.studies.multiplicative.curves import Setting

SETTING = Setting(0.5, 1.0, 1e-6)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 5), st.integers(1, 7))
def test_levels_are_kept_where_their_threshold_is_not_below(values: list[int], more: int, tau: int) -> None:
    """Level by level, instead of in runs; the last threshold is that of all deeper levels."""
    n_levels = len(values) + more
    found = LevelThresholds(tuple(map(float, values)), n_levels).kept(float(tau))
    levels = [level for first, last in found for level in range(first, last + 1)]
    assert levels == [level for level in range(n_levels) if values[min(level, len(values) - 1)] >= tau]
    assert all(b + 1 < c for (_, b), (c, _) in itertools.pairwise(found))


def test_noise_keeps_a_nodes_own_threshold_just_where_it_is_said_to() -> None:
    """Laplace noise of scale d / epsilon on counts up to twice tau: 1.01 times the least threshold, and 0.9 times.

    At 1.01 times eta is missed by 15, at 0.9 times by 100 standard errors of two million draws.
    """
    d, eta, rng = 4, 0.05, np.random.default_rng(5)
    table = accuracy_table(SETTING, d, eta)
    least = dict(zip(table["mechanism"], table["τ (records)"], strict=True))["Laplace"]
    noise = np.abs(rng.laplace(0.0, d / SETTING.epsilon, 2_000_000))
    own = LevelThresholds((1.05 * least, 0.9 * least, 3.0 * least), d)
    kept = {level for first, last in own.kept(least) for level in range(first, last + 1)}
    assert kept == {0, 2, 3}
    for level in range(d):
        tau = own.values[min(level, 2)]
        missed = max(float((noise > 0.5 * max(w, tau)).mean()) for w in (0.0, 0.5 * tau, tau, 2.0 * tau))
        assert (missed <= eta) == (level in kept), level
        assert abs(missed - eta) > 10 * math.sqrt(eta * (1 - eta) / noise.size), level


def test_every_mechanism_has_levels_of_its_own() -> None:
    table = accuracy_table(SETTING, 5, 0.01)
    least = dict(zip(table["mechanism"], table["τ (records)"], strict=True))
    between = (least["Laplace"] + least["Gaussian"]) / 2
    assert least["Laplace"] != least["Gaussian"]
    said = kept_table(table, LevelThresholds((1e9, between), 5))
    kept = dict(zip(said["mechanism"], said["your τ is kept on"], strict=True))
    assert {kept["Laplace"], kept["Gaussian"]} == {"every level", "level 0"}
    assert all(kept[name] == "not excluded" for name in kept if name.startswith(LOWER))
    none = kept_table(accuracy_table(SETTING, 10**4, 0.01), LevelThresholds((1.0, 2.0), 10**4))
    kept = dict(zip(none["mechanism"], none["your τ is kept on"], strict=True))
    assert kept["Laplace"] == "no level" and kept[f"{LOWER}, δ = 0"] == "impossible on all at once"


def test_a_bound_excludes_only_thresholds_that_are_all_below_it() -> None:
    """It is one on a single threshold: a mechanism for some below it and one above is not excluded by it."""
    table = accuracy_table(SETTING, 10**4, 0.01)
    bound = table["τ (records)"][-2]
    assert table["mechanism"][-2] == f"{LOWER}, δ = 0"
    for largest, word in ((0.9, "impossible on all at once"), (1.1, "not excluded")):
        said = kept_table(table, LevelThresholds((0.5 * bound, largest * bound), 10**4))
        assert said["your τ is kept on"][-2] == word


def test_a_plan_is_made_for_the_smallest() -> None:
    least = least_threshold(0.5, 1.0, 1e-6, 0.01, 6, private_root=True)
    plan = own_plan(SETTING, LevelThresholds((7 * least, 1.01 * least, 3 * least), 6), 0.01)
    assert plan is not None and plan.default_value == pytest.approx(0.5 * 1.01 * least)  # alpha tau of the smallest
    assert plan.epsilon == 0.5 and plan.delta == 5e-7  # the other half is for the bound on the root
    assert own_plan(SETTING, LevelThresholds((7 * least, 0.99 * least, 3 * least), 6), 0.01) is None


def test_what_is_typed() -> None:
    assert thresholds_from_text("") == () and thresholds_from_text(" 5;7.25,\t1 ") == (5.0, 7.25, 1.0)
    for text in ("x", "0", "-3", "1e3", "nan", "inf", "٣", "0.0", "5, , y", "9" * 16):
        with refuses("THRESHOLD_RANGE"):
            thresholds_from_text(text)
    for values, n_levels in (((), 3), ((1.0, 2.0, 3.0), 2)):
        with refuses("THRESHOLD_RANGE"):
            LevelThresholds(values, n_levels)
    assert levels_in_words(((1, 2),), 9) == "levels 1 and 2" and levels_in_words(((3, 3),), 9) == "level 3"
