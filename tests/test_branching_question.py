"""The question of the best tree for K bins: how K is read, and how whole trees stand beside f(beta)."""

from __future__ import annotations

import math

import pytest

from treedp_core.checks import InputError
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.branching.curve import factor_scale
from treedp_core.studies.branching.limits import loss_factor
from treedp_core.studies.branching.question import (
    Question,
    bins_from_text,
    by_height,
    candidates,
    ranked,
    value_of,
)
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Shape, Workload, equal_tree
from treedp_core.watch import Cancelled, Watch


@pytest.mark.parametrize(
    ("text", "bins"), [("997", 997), ("2^20", 2**20), ("3**6", 729), ("1 000 000", 10**6), ("10^15", 10**15)]
)
def test_bins_are_read_from_digits_and_powers(text: str, bins: int) -> None:
    assert bins_from_text(text) == bins


@pytest.mark.parametrize("text", ["", "1", "0", "-5", "1.5", "2^60", "10^16", "9" * 17, "٣", "two", "2^", "99^99"])
def test_other_numbers_of_bins_are_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        bins_from_text(text)
    assert refused.value.code == "TREE_SHAPE"


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


def test_texts() -> None:
    assert product_text((2,) * 12) == "2¹²"
    assert equal_tree(2, 16).branching_factors == (2,)
    assert equal_tree(17, 16).branching_factors == (2, 16)


def test_a_slow_search_tells_its_watch_of_every_tree_and_stops_when_told() -> None:
    question = Question(64, Criterion("gaussian", least_squares=True), optimal_budgets=True)
    steps: list[int] = []
    found = ranked(question, Watch(step=steps.append))
    assert steps == [1] * len(candidates(question)) == [1] * len(found)
    assert [one.value for one in found] == sorted(one.value for one in found)
    with pytest.raises(Cancelled):
        ranked(question, Watch(cancelled=lambda: True))
