"""One range, three ways: what the browser is sent gives the variances that the core computes for every range."""

from __future__ import annotations

import json

import numpy as np
import pytest

from oracles_pages import answer, open_page, pick
from treedp_core.studies.ranges import TREES, for_browser, of_lengths, plan_of, three_ways


@pytest.mark.parametrize(("n_bins", "every"), [(16, 1), (64, 7), (256, 211)])
def test_every_range_has_the_variance_of_its_plan(n_bins: int, every: int) -> None:
    found = three_ways(n_bins, 0.5, 3)
    histogram, prefixes, tree = found.ways
    pairs = [(i, j) for i in range(n_bins) for j in range(i + 1, n_bins + 1)]
    assert len(pairs) == found.n_ranges
    for start, stop in pairs[::every]:
        ends = (start > 0) + (stop < n_bins)
        assert prefixes.deviation(start, stop) ** 2 == pytest.approx(ends * 2 * ((n_bins - 1) / 0.5) ** 2)
    for way, factors in ((histogram, (n_bins,)), (tree, TREES[n_bins])):
        plan = plan_of(n_bins, factors, 0.5)
        for start, stop in pairs[::every]:
            assert way.deviation(start, stop) ** 2 == pytest.approx(plan.range_variance(start, stop), abs=1e-9)
    if every == 1:
        for way in found.ways:
            assert way.typical == pytest.approx(np.mean([way.deviation(*pair) ** 2 for pair in pairs]) ** 0.5)
            assert way.pieces_on_average == pytest.approx(np.mean([len(way.pieces(*pair)) for pair in pairs]))


def test_the_counts_that_light_up_hold_exactly_the_range() -> None:
    found = three_ways(64, 1.0, 1)
    for way in found.ways:
        for start, stop in ((0, 64), (0, 1), (5, 6), (7, 50), (8, 16), (1, 63), (63, 64)):
            held = np.zeros(64, dtype=int)
            end, begin = set(way.covers[stop]), set(way.covers[start])
            for sign, nodes in ((1, end - begin), (-1, begin - end)):
                for node in nodes:
                    held[slice(*way.spans[node])] += sign
            assert held.tolist() == [int(start <= i < stop) for i in range(64)], (way.name, start, stop)


def test_the_release_is_true_on_average() -> None:
    draws = [three_ways(16, 2.0, seed) for seed in range(300)]
    for k, way in enumerate(draws[0].ways):
        noise = np.array([one.ways[k].released for one in draws]) - _truth(way.spans, draws[0].truth)
        spread = np.sqrt(way.variance / len(draws))
        assert (np.abs(noise.mean(axis=0)) <= 5 * spread + 1e-12).all()
        np.testing.assert_allclose(noise.std(axis=0), np.sqrt(way.variance), rtol=0.45, atol=1e-12)


def _truth(spans: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return np.array([truth[first:end].sum() for first, end in spans])


def test_what_is_sent_is_small_and_the_table_is_of_all_lengths() -> None:
    sent = json.dumps(for_browser(three_ways(256, 1.0, 7)))
    assert len(sent) < 100_000
    columns = of_lengths(64, 1.0)
    assert columns["bins"][0] == 1 and columns["bins"][-1] == 64
    assert all(len(one) == len(columns["bins"]) for one in columns.values())
    assert columns["Tree: st. dev. (records)"][-1] == 0.0  # N is public


def test_the_page_says_who_wins() -> None:
    app = open_page("ranges")
    assert "the tree wins on long ranges" in answer(app)
    (sent,) = [json.loads(one.proto.json) for one in app.get("bidi_component") if "ranges" in one.proto.component_name]
    assert sent["truth"] == three_ways(256, 1.0, 7).truth.tolist()
    assert "take more bins" in answer(pick(app, ran_bins="16"))
    assert not app.exception
