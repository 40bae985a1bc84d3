"""Counts of nodes as differences of cumulative counts, against dense matrices, draws and records one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

from treedp_core.checks import InputError
from treedp_core.privacy.conversions import gaussian_sigma
from treedp_core.studies.multiplicative import Setting
from treedp_core.studies.multiplicative.by_subtraction import MOST_LEVELS, by_subtraction, forgiven, table
from treedp_core.studies.multiplicative.curves import growth
from treedp_core.tree import FloatArray, Tree
from treedp_core.views import Tables
from treedp_core.views.multiplicative import WorstCaseInputs, lost, prefixes
from treedp_core.words import short


def of_nodes(n_levels: int) -> tuple[FloatArray, FloatArray]:
    """All nodes as rows of leaves, (n_nodes, m), and the lower triangle of ones, (m, m)."""
    tree, leaves = Tree.from_branching_factors((2,) * (n_levels - 1)), 1 << (n_levels - 1)
    rows = [tree.counts_of_leaves(one) for one in np.eye(leaves, dtype=np.int64)]
    return np.array(rows, dtype=float).T, np.tril(np.ones((leaves, leaves)))


@pytest.mark.parametrize("n_levels", [2, 3, 5, 7])
def test_errors_are_those_of_dense_matrices(n_levels: int) -> None:
    nodes, ones = of_nodes(n_levels)
    half = np.real(sqrtm(ones))
    column = np.square(half).sum(axis=0).max()
    found = by_subtraction([n_levels])
    decoded = nodes @ np.linalg.inv(ones) @ half
    assert found.node[0] == pytest.approx(np.sqrt(np.square(decoded).sum(axis=1).max() * column), rel=1e-6)
    assert found.cumulative[0] == pytest.approx(np.sqrt(np.square(half).sum(axis=1).max() * column), rel=1e-6)
    assert found.least[0] == pytest.approx(np.linalg.svd(ones, compute_uv=False).mean())
    assert found.least[0] <= found.cumulative[0] <= 1.2 * found.least[0]
    assert found.tree[0] <= found.node[0] <= found.twice[0] and found.each[0] == np.sqrt(n_levels)


def test_errors_are_those_of_draws_and_not_a_tenth_more_or_less() -> None:
    nodes, ones = of_nodes(5)
    half = np.real(sqrtm(ones))
    noise = np.random.default_rng(3).standard_normal((40_000, 16)) * np.sqrt(np.square(half).sum(axis=0).max())
    cumulative = noise @ half.T
    upper = np.array([row.nonzero()[0].max() for row in nodes])
    lower = np.array([row.nonzero()[0].min() for row in nodes])
    errors = cumulative[:, upper] - np.where(lower > 0, cumulative[:, lower - 1], 0.0)
    worst, one = np.sqrt(np.square(errors).mean(axis=0).max()), float(by_subtraction([5]).node[0])
    within = 4.0 / np.sqrt(2.0 * 40_000)
    assert abs(worst / one - 1.0) < within < 0.1


def test_it_grows_with_the_levels_and_loses_from_six_on() -> None:
    found = by_subtraction(range(2, MOST_LEVELS + 1))
    assert found.loses_from == 6
    assert np.diff(found.node)[-1] == pytest.approx(np.sqrt(2.0) * np.log(2.0) / np.pi, rel=0.01)
    assert by_subtraction([2, 3]).loses_from is None
    assert table(found, 2.0)["by subtraction"][0] == 2.0 * found.node[0]


def test_what_cumulative_counts_are_forgiven_is_not_forgiven_of_their_difference() -> None:
    """A release off by the whole of what is forgiven, in turn up and down, has no α-RMSE; its differences have."""
    alpha, leaves = 0.3, np.array([0, 0, 700, 0, 290, 10])
    cumulative = leaves.cumsum()
    released = cumulative * np.where(np.arange(6) % 2, 1.0 + alpha, 1.0 - alpha)
    assert (np.abs(released - cumulative) <= alpha * cumulative + 1e-9).all()
    nodes = np.diff(released, prepend=0.0)
    off = np.abs(nodes - leaves)
    assert off[-1] == pytest.approx(forgiven(alpha, 10.0, 1000.0)[1])
    beyond = off - alpha * leaves
    assert beyond.max() <= 2.0 * alpha * 1000.0 and beyond[3] == pytest.approx(2.0 * alpha * 700.0)


def test_the_view_says_the_three_errors_and_what_alpha_loses() -> None:
    inputs = WorstCaseInputs(levels="9", alpha=0.25, delta=1e-6, total=2000.0)
    found = prefixes(inputs, Tables())
    errors = by_subtraction([9])
    sigma = gaussian_sigma(1.0, 1e-6)
    assert f"**{short(sigma * errors.node[0])} records**" in found.answer and "a count of 1\u202f000" in found.answer
    assert f"{short(sigma * errors.each[0])} counted by itself, {short(sigma * errors.tree[0])} by" in found.answer
    beyond = growth(Setting(0.25, 1.0, 1e-6, max_total=2000.0), [9, MOST_LEVELS], ("provable",)).error["provable"]
    assert (
        found.table["thresholds, beyond α"][7]
        == beyond[0]
        < 0.6
        * prefixes(WorstCaseInputs(levels="9", alpha=0.05, delta=1e-6, total=2000.0), Tables()).table[
            "thresholds, beyond α"
        ][7]
    ), "what is forgiven is up to the slack"
    drawn = {trace["name"]: (trace["x"], trace["y"]) for trace in found.figure.data}
    assert [end[-1] for end in drawn["Thresholds, beyond α"]] == [MOST_LEVELS, beyond[1]]
    far = prefixes(WorstCaseInputs(levels="1000", delta=1e-6), Tables()).answer
    assert "On **17 levels** (of 1\u202f000, the most drawn)" in far
    columns = lost(inputs, Tables()).table
    assert columns["by subtraction"][0] == 0.25 * (4000 - 1) and columns["directly"][-1] == 500.0
    with pytest.raises(InputError):
        prefixes(WorstCaseInputs(levels="1", delta=1e-6), Tables())
