"""The first page's views, called: seven made-up counts, how far off they are, and whether their sums agree."""

from __future__ import annotations

import pytest

from oracles_figures import decoded
from treedp_core.views import Tables, start
from treedp_core.views.start import TownInputs


@pytest.mark.parametrize(("epsilon", "reach"), [(0.1, 120), (0.25, 48), (0.5, 24), (1.0, 12), (4.0, 3)])
def test_the_answer_says_how_wrong_a_count_can_be(epsilon: float, reach: int) -> None:
    """Two noisy levels at half of epsilon each: b = 4 / epsilon, and the margin falls as one over epsilon."""
    told = start.town(TownInputs(epsilon=epsilon), Tables()).answer.replace("\u00a0", " ")
    assert f"At ε = {epsilon:g}, Town is exact (its total is public) and the other six counts" in told
    assert f"are right within ± {reach}, each by itself" in told


def test_the_sum_that_fails_agrees_once_made_consistent() -> None:
    noisy, whole = (start.town(TownInputs(shown=shown), Tables()) for shown in ("noisy", "consistent"))
    notes = [[one["text"] for one in decoded(found.figure)["layout"]["annotations"]] for found in (noisy, whole)]
    assert any("≠" in text for text in notes[0]) and not any("≠" in text for text in notes[1])
    assert "made consistent" in whole.answer
