"""One range, three ways: the fewest counts, least squares, and the errors that are said, against dense algebra."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_pages import RAGGED, answer, open_page, press
from treedp_core.checks import InputError
from treedp_core.studies.ranges import (
    TREES,
    Way,
    for_browser,
    of_lengths,
    plan_of,
    three_ways,
    variances,
)
from treedp_core.studies.ranges import (
    weights as weights_of,
)
from treedp_core.tree.fewest import fewest_counts, fewest_nodes, mean_fewest
from treedp_core.views import VIEWS, Tables, ranges

FACTORS = st.lists(st.integers(2, 5), min_size=1, max_size=3).map(tuple).filter(lambda one: math.prod(one) <= 60)


def holds(factors: tuple[int, ...]) -> np.ndarray:
    """Which bins each node holds, (n_nodes, K), the root first, by cutting the bins again and again."""
    bins, rows = math.prod(factors), []
    for level in range(len(factors) + 1):
        n = math.prod(factors[:level])
        rows += [np.isin(np.arange(bins), part) for part in np.split(np.arange(bins), n)]
    return np.array(rows, dtype=float)


def ranges_of(bins: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(bins) for j in range(i + 1, bins + 1)]


def inside(bins: int, start: int, stop: int) -> np.ndarray:
    return np.isin(np.arange(bins), np.arange(start, stop)).astype(float)


@pytest.mark.parametrize("factors", [(2,), (5,), (2, 2), (2, 3), (3, 2), (3, 3), (2, 2, 2)])
def test_no_fewer_counts_make_a_range_whatever_they_are_multiplied_by(factors: tuple[int, ...]) -> None:
    """All sets of fewer noisy counts are tried: together with the root they do not span the range."""
    nodes = holds(factors)
    for start, stop in ranges_of(nodes.shape[1]):
        wanted = inside(nodes.shape[1], start, stop)
        found = fewest_nodes(factors, start, stop)
        np.testing.assert_array_equal(sum(sign * nodes[node] for node, sign in found), wanted)
        noisy = [node for node, _ in found if node]
        for few in combinations(range(1, nodes.shape[0]), max(len(noisy) - 1, 0)):
            some = nodes[[0, *few]].T
            off = some @ np.linalg.lstsq(some, wanted, rcond=None)[0] - wanted
            assert not noisy or np.abs(off).max() > 1e-6, (start, stop, few)


@settings(max_examples=40)
@given(FACTORS, st.data())
def test_every_range_of_every_tree(factors: tuple[int, ...], drawn: st.DataObject) -> None:
    """What is added and taken away makes the range; numbers of counts, means and variances agree with dense algebra."""
    nodes = holds(factors)
    bins = nodes.shape[1]
    start = drawn.draw(st.integers(0, bins - 1))
    stop = drawn.draw(st.integers(start + 1, bins))
    wanted = inside(bins, start, stop)
    signed = fewest_nodes(factors, start, stop)
    np.testing.assert_array_equal(sum(sign * nodes[node] for node, sign in signed), wanted)
    assert fewest_counts(factors, np.array([start]), np.array([stop])).tolist() == [sum(v > 0 for v, _ in signed)]
    weights = weights_of(factors, start, stop)
    np.testing.assert_allclose(weights @ nodes, wanted, atol=1e-12)
    np.testing.assert_allclose(weights[1:] @ weights[1:], least_squares(factors, wanted), atol=1e-12)
    got = variances(factors, np.array([start]), np.array([stop]))
    np.testing.assert_allclose(got, least_squares(factors, wanted), atol=1e-12)
    assert got[0] <= sum(v > 0 for v, _ in signed) + 1e-12


def least_squares(factors: tuple[int, ...], wanted: np.ndarray) -> float:
    """The least variance of an unbiased estimate from noisy counts of variance 1 and the total, which is known."""
    noisy, bins = holds(factors)[1:], wanted.size
    free = np.vstack([np.eye(bins - 1), -np.ones(bins - 1)])  # the last bin is the total less the others
    return float(wanted @ free @ np.linalg.pinv(noisy @ free) @ np.linalg.pinv(noisy @ free).T @ free.T @ wanted)


@pytest.mark.parametrize("n_bins", [16, 64])
@pytest.mark.parametrize("weigh", [False, True])
def test_what_is_typical_is_the_mean_over_all_ranges(n_bins: int, weigh: bool) -> None:
    found = three_ways(n_bins, 0.5, 3, least_squares=weigh)
    pairs = ranges_of(n_bins)
    assert len(pairs) == found.n_ranges
    for way in found.ways:
        deviations = [way.deviation(*pair) for pair in pairs]
        assert way.typical == pytest.approx(np.sqrt(np.mean(np.square(deviations))), rel=1e-9)
        variances, counts = way.of_each(*np.array(pairs).T)
        np.testing.assert_allclose(variances, np.square(deviations), atol=1e-7)
        assert way.counts_on_average == pytest.approx(counts.mean(), rel=1e-9)
        if not weigh:
            assert counts.tolist() == [way.n_counts(*pair) for pair in pairs]
        else:
            assert all(way.n_counts(*pair) <= way.counts_on_average or not way.least_squares for pair in pairs)


def test_noise_is_that_of_one_replaced_record_and_equal_shares() -> None:
    """Two counts of a level change by one: scale 2 levels / ε on each, variance 2 scale²; the total has none."""
    for n_bins, factors in TREES.items():
        histogram, prefixes, tree = three_ways(n_bins, 0.5, 3).ways
        assert (tree.branching_factors, tree.variance[0], histogram.variance[0]) == (factors, 0.0, 0.0)
        np.testing.assert_allclose(tree.variance[1:], 2 * (2 * len(factors) / 0.5) ** 2)
        np.testing.assert_allclose(histogram.variance[1:], 2 * (2 / 0.5) ** 2)
        np.testing.assert_allclose(prefixes.variance[:-1], 2 * ((n_bins - 1) / 0.5) ** 2)
        assert prefixes.variance[-1] == 0.0
    with pytest.raises(InputError, match="one of 16"):
        three_ways(128, 1.0, 7)


def test_taking_away_beats_the_differences_of_prefixes() -> None:
    """Half of the ranges' variance, and never more than that of a plan that cuts at both ends."""
    tree = three_ways(256, 1.0, 3).ways[2]
    plan = plan_of(256, (16, 16), 1.0)
    pairs = ranges_of(256)[::211]
    plain = np.array([plan.range_variance(*pair) for pair in pairs])
    fewest = np.array([tree.deviation(*pair) ** 2 for pair in pairs])
    assert (fewest <= plain + 1e-9).all() and fewest.mean() < 0.65 * plain.mean()


def test_the_tree_wins_where_it_is_said_to() -> None:
    """Errors by the mean number of counts times their variance: 2 (2 levels)² at ε = 1."""
    for n_bins, factors in TREES.items():
        for weigh in (False, True):
            found = three_ways(n_bins, 1.0, 7, least_squares=weigh)
            histogram, _, tree = found.ways
            wins = tree.typical < histogram.typical
            assert wins == (n_bins >= 256)
            told = ranges.answer(found, 1.0)
            assert ("the tree wins**" in told) is wins and ("take more bins" in told) is not wins
            assert (" after least squares" in told) is weigh
        trees = [one for one in _factorisations(n_bins) if len(one) > 1]
        assert factors == min(trees, key=lambda one: mean_fewest(one) * len(one) ** 2)
    start = ranges.RangesInputs()
    assert int(start.bins) >= 1024 and not start.least_squares, "the first screen shows it, without another idea"


def _factorisations(n: int, least: int = 2) -> list[tuple[int, ...]]:
    found = [(n,)] if n >= least else []
    return found + [(d, *rest) for d in range(2, n) if n % d == 0 for rest in _factorisations(n // d)]


@pytest.mark.parametrize("weigh", [False, True])
def test_the_release_is_true_on_average(weigh: bool) -> None:
    """Answers to one range of 300 releases: mean and spread (five standard errors; a false alarm in a million)."""
    draws = [three_ways(16, 2.0, seed, least_squares=weigh) for seed in range(300)]
    truth = draws[0].truth[3:12].sum()
    for k, way in enumerate(draws[0].ways):
        off = np.array([one.ways[k].weights(3, 12) @ one.ways[k].released for one in draws]) - truth
        assert abs(off.mean()) <= 5 * way.deviation(3, 12) / math.sqrt(len(draws))
        np.testing.assert_allclose(off.std(), way.deviation(3, 12), rtol=0.45)


@pytest.mark.parametrize("weigh", [False, True])
def test_what_is_sent_is_small_and_the_table_is_of_all_lengths(weigh: bool) -> None:
    sent = for_browser(three_ways(4096, 1.0, 7, least_squares=weigh), (5, 90))
    assert len(json.dumps(sent)) < 130_000 and sent["range"] == [5, 90]
    for wrong in ((0, 0), (7, 7), (9, 5), (3, 17)):
        assert for_browser(three_ways(16, 1.0, 7), wrong)["range"] == [2, 9]
    columns = of_lengths(64, 1.0, least_squares=weigh)
    assert columns["bins"][0] == 1 and columns["bins"][-1] == 64
    assert all(len(one) == len(columns["bins"]) for one in columns.values())
    assert columns["Tree: st. dev. (records)"][-1] == 0.0  # N is public
    way: Way = three_ways(64, 1.0, 0, least_squares=weigh).ways[2]
    of_eight = [way.deviation(i, i + 8) for i in range(57)]
    at = columns["bins"].index(8)
    assert columns["Tree: st. dev. (records)"][at] == pytest.approx(np.sqrt(np.mean(np.square(of_eight))))


def test_the_page_says_who_wins_and_opens_the_range_of_a_link() -> None:
    app = open_page("ranges", ran_from="0", ran_to="100", ran_bins="256", ran_least_squares="1")
    assert "after least squares" in answer(app) and "the tree wins" in answer(app)
    (sent,) = [json.loads(one.proto.json) for one in app.get("bidi_component") if "ranges" in one.proto.component_name]
    assert sent["truth"] == three_ways(256, 1.0, 7).truth.tolist() and sent["range"] == [0, 100]
    assert not app.exception


def test_a_pinned_range_is_of_no_table_and_is_made_again_without_one() -> None:
    app = press(open_page("ranges", RAGGED, ran_bins="64"), "ran_ranges_figure_pin")
    (cell,) = app.session_state["_notebook"].notebook.cells
    assert cell.data is None and not cell.holds_counts and cell.badges == ("formula",)
    entry = VIEWS["ranges"]
    inputs = entry.inputs.of_texts(cell.settings)
    again = {name: tuple(values) for name, values in entry.found(inputs, Tables()).table.items()}
    assert not entry.is_of_table(inputs) and again == cell.columns
