"""The question of the best tree for K bins: how K is read, and how whole trees stand beside f(beta)."""

from __future__ import annotations

import math
from itertools import product

import pytest

import oracles_shapes as slow
from refusals import refuses
from test_branching_all import EVERY
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.branching.question import (
    Question,
    bins_from_text,
    by_height,
    factor_scale,
    loss_factor,
    ranked,
    value_of,
)
from treedp_core.studies.branching.tables import is_bounded, trees_and_matrices
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.workloads import Shape, Workload
from treedp_core.watch import Cancelled, Watch

FEW = ((97, True), (128, False), (1000, True), (2520, False))
MANY = (97, 128, 997, 1000, 1024, 2520, 4093, 4096)
"""Swept, padded and not, where the environment says EVERY_TREE: minutes."""


@pytest.mark.parametrize(
    ("text", "bins"), [("997", 997), ("2^20", 2**20), ("3**6", 729), ("1 000 000", 10**6), ("10^15", 10**15)]
)
def test_bins_are_read_from_digits_and_powers(text: str, bins: int) -> None:
    assert bins_from_text(text) == bins


@pytest.mark.parametrize("text", ["", "1", "0", "-5", "1.5", "2^60", "10^16", "9" * 17, "٣", "two", "2^", "99^99"])
def test_other_numbers_of_bins_are_refused(text: str) -> None:
    with refuses("TREE_SHAPE"):
        bins_from_text(text)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("n_bins", [1024, 9206, 30758])
def test_of_orders_that_err_alike_the_squares_have_the_one_of_the_ranking(law: str, n_bins: int) -> None:
    """For K = 30 758 and Laplace noise 13 · 14 · 13² and 14 · 13³ err alike, to the last digit."""
    question = Question(n_bins, Criterion(law))
    found = ranked(question)
    of_heights = {one.height: one.shape for one in by_height(question, found)}
    assert of_heights[found[0].shape.height] == found[0].shape


def test_squares_lie_on_the_curve_where_the_tree_is_exact() -> None:
    """For K = b^h the exact error is the curve's: h^3 (b - 1) = (ln K)^3 (b - 1) / (ln b)^3."""
    question = Question(2**20, Criterion())
    for one in by_height(question, []):
        b = round(one.mean_factor)
        if one.shape.branching_factors == (b,) * one.height:
            assert one.value / factor_scale(question) == pytest.approx((b - 1) / math.log(b) ** 3)


@pytest.mark.parametrize("workload", list(Workload))
@pytest.mark.parametrize("least_squares", [False, True])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_trees_approach_the_curve(law: str, least_squares: bool, workload: Workload) -> None:
    """16^12 is large enough for the limit: what is left out is of order 1 / ln K, or 1 / h for nodes."""
    question = Question(2**48, Criterion(law, workload, least_squares))
    value = value_of(question, Shape.full((16,) * 12))
    exact = value / factor_scale(question)
    assert exact == pytest.approx(loss_factor(16, question.criterion), rel=0.15)


def test_the_squares_of_every_relation_approach_the_curve() -> None:
    """The exact error over its scale tends to f as K grows; REPLACE_UNKNOWN charges two for each unknown level."""
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN)
    question = Question(16**12, Criterion(unit=unit))
    ratio = value_of(question, Shape.full((16,) * 12)) / factor_scale(question)
    assert ratio == pytest.approx(loss_factor(16, question.criterion), rel=1e-6)


@pytest.mark.parametrize("workload", ["cdf", "ranges", "nodes"])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_no_tree_of_at_most_four_levels_beats_the_first_of_the_list_on_screen(
    law: str, workload: str, every: bool
) -> None:
    """Best budgets after least squares, against every tree: a prime, a power of two, 1000, 2520; promised to 10^-6.

    Each with one of the four, so that each law meets three of them.
    """
    shift = 2 * (law == "gaussian") + ["cdf", "ranges", "nodes"].index(workload)
    lost, few = {}, FEW if every else FEW[shift % 4 :][:1]
    for n_bins, padded in product(MANY, (True, False)) if EVERY else few:
        found = ranked(Question(n_bins, Criterion(law, Workload(workload), True), padded, optimal_budgets=True))
        assert [one.value for one in found] == sorted(one.value for one in found)
        trees = [slow.trees_of_height(n_bins, height, padded=padded) for height in (1, 2, 3, 4)]
        least = min(slow.best_values(t, n_bins, law, workload, fitted=True).min() for t in trees if t.size)
        if found[0].value > least * (1 + 1e-6):
            lost[n_bins, padded] = (found[0].shape.branching_factors, found[0].value / least - 1)
    assert not lost


def test_levels_that_get_nothing_do_not_shorten_the_list_on_screen() -> None:
    """Most trees over 64 bins are best as 8 x 8 with a level more that is not measured: each stands there once."""
    found = ranked(Question(64, Criterion(least_squares=True), optimal_budgets=True))
    kinds = [tuple(sorted(one.shape.branching_factors)) for one in found]
    assert kinds[0] == (8, 8) and len(set(kinds)) == len(kinds) >= 6
    assert all((one.shares[1:] > 1e-6).all() for one in found)


def test_a_slow_search_tells_its_watch_how_far_it_is_and_stops_when_told() -> None:
    for law in ("laplace", "gaussian"):
        question = Question(64, Criterion(law, least_squares=True), optimal_budgets=True)
        steps: list[int] = []
        found = ranked(question, Watch(step=steps.append))
        assert sum(steps) <= 100 and len(steps) > 10 and min(steps) >= 0
        assert [one.value for one in found] == sorted(one.value for one in found)
        with pytest.raises(Cancelled):
            ranked(question, Watch(cancelled=lambda: True))


def test_best_budgets_are_refused_before_anything_is_searched() -> None:
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_UNKNOWN)
    with refuses("RELATION"):
        ranked(Question(64, Criterion(least_squares=True, unit=unit), optimal_budgets=True), Watch(step=pytest.fail))


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one", "replace_unknown"])
@pytest.mark.parametrize(("law", "workload"), [("laplace", "cdf"), ("laplace", "ranges"), ("gaussian", "cdf"),
                                               ("gaussian", "ranges")])  # fmt: skip
def test_no_tree_is_below_the_bound_or_the_matrix_beside_it(law: str, workload: str, relation: str) -> None:
    unit = ProtectedUnit(NeighbouringRelation(relation), 2)
    asked = Question(32, Criterion(law, Workload(workload), True, unit))
    ways, ratios = trees_and_matrices(asked, ranked(asked)).values()
    assert ratios == sorted(ratios, reverse=True) and ratios[-1] >= 1 - 1e-9
    assert any(way.startswith("binary (2⁵") for way in ways)
    matrix = dict(zip(ways, ratios, strict=True))[{"laplace": "p-identity matrix", "gaussian": "Optimal matrix"}[law]]
    assert matrix <= 1.005
    assert is_bounded(asked) == (law == "gaussian" and relation != "replace_unknown")
