"""Factors for given budgets, and the paper's approximation: what is said of them, found by functions of inputs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from refusals import refuses
from treedp_core.figures.base.draft import Draft
from treedp_core.views import Tables, branching, factors
from treedp_core.views.branching import BranchingInputs

NONE = Tables()


def test_the_theorem_and_the_best_whole_tree_are_said_for_shares() -> None:
    """Theorem IV.2 (ii) by hand: n1 / n2 = (5 / 3)^2; RMSE of 26 · 10 · 4 by digits of each number below K."""
    found = factors.factors_for_budgets(BranchingInputs(given="0.5, 0.3, 0.2", epsilon=2.0), NONE)
    real = found.table["factor of the theorem"]
    assert real[0] / real[1] == pytest.approx(25 / 9) and math.prod(real) == pytest.approx(1024)
    assert found.table["best whole tree"] == [26, 10, 4]
    j, noise = np.arange(1024), 8 / np.square((1.0, 0.6, 0.4))
    squares = (j // 40) * noise[0] + (j // 4 % 10) * noise[1] + (j % 4) * noise[2]
    assert found.answer == (
        "For shares 50 %, 30 %, 20 % the theorem's factors over 1\u202f024 bins are 26.1 · 9.4 · 4.18; the best whole "
        f"tree is 26 · 10 · 4, RMSE {math.sqrt(squares.mean()):.1f} records, 5.76 % above 11 · 10² with equal shares."
    )
    assert isinstance(found.figure, Draft) and found.figure.data[0]["y"].tolist() == [26, 10, 4]


def test_levels_that_no_tree_has_get_two_children() -> None:
    found = factors.factors_for_budgets(BranchingInputs(given="0.9 0.1", bins="16"), NONE)
    assert found.table["factor of the theorem"][1] < 1 and found.table["at least 2"] == pytest.approx([8, 2])
    assert "those levels get 2" in found.caption
    usual = factors.factors_for_budgets(BranchingInputs(), NONE)
    assert "those levels get 2" not in usual.caption and usual.answer.startswith("For equal shares of 3 levels")
    assert "above" not in usual.answer


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"given": "0, 1"}, "BUDGET_SPLIT"), ({"given": "0.6 0.6"}, "BUDGET_SPLIT"), ({"given": "a"}, "BUDGET_SPLIT"),
        ({"given": "0.3 0.3 0.3", "bins": "4"}, "TREE_SHAPE"), ({"given": "0.5 0.5", "bins": "997", "padded": False},
        "TREE_SHAPE"), ({"bins": "many"}, "TREE_SHAPE"), ({"relation": "replace_unknown"}, "RELATION"),
    ],
)  # fmt: skip
def test_what_has_no_answer_is_refused(inputs: dict[str, object], code: str) -> None:
    with refuses(code):
        factors.factors_for_budgets(BranchingInputs(**inputs), NONE)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_whole_trees_stand_in_the_band_of_the_approximation(relation: str, noise: str) -> None:
    """1024 = 32 · 32: the squares stand on the line where the factors of a height are whole."""
    inputs = BranchingInputs(noise=noise, delta=1e-6, relation=relation)
    found = factors.approximation(inputs, NONE)
    low, exact, high = (np.array(found.table[name]) for name in ("half of it", "exact", "approximation"))
    assert (low <= exact * (1 + 1e-9)).all() and (exact <= high).all() and high / low == pytest.approx(math.sqrt(2.0))
    assert isinstance(found.figure, Draft)
    heights, errors = found.figure.data[3]["x"], found.figure.data[3]["y"]
    by_height = dict(zip(heights, errors, strict=True))
    assert [by_height[h] for h in (1, 2, 5, 10)] == pytest.approx([exact[h - 1] for h in (1, 2, 5, 10)], rel=1e-9)
    assert "½ Ē₂ ≤ E₂ ≤ Ē₂" in found.answer


def test_the_number_of_trees_is_said_beside_the_bound_of_the_paper() -> None:
    said = branching.statements(BranchingInputs(bins="1024"), NONE).answer
    assert said.startswith("1\u202f024 bins have 512 level-uniform trees") and "1e10" in said
    assert "have 1 level-uniform tree without" in branching.statements(BranchingInputs(bins="997"), NONE).answer
