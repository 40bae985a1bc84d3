"""What the budgets printed in Ghazi et al., Algorithm 4 add up to, beside the corrected ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from treedp_core.mechanisms.thresholds.schedule import PrintedSchedule, printed_schedule
from treedp_core.tree import AnyArray


def schedule_table(alpha: float, epsilon: float, n: int) -> dict[str, AnyArray]:
    """Return what the printed and the corrected budgets of 1 to n rounds sum to: columns (n,), in epsilon.

    >>> table = schedule_table(0.5, 1.0, 20)
    >>> table["rounds"][-1], round(table["printed"][-1]), bool(table["corrected"][-1] <= 1.0)
    (np.int64(20), 1788, True)
    """
    every = [printed_schedule(alpha, epsilon, rounds) for rounds in range(1, n + 1)]
    return {
        "rounds": np.arange(1, n + 1),
        "printed": np.array([each.printed_total for each in every]),
        "corrected": np.array([each.corrected_total for each in every]),
    }


def breaks_at(table: dict[str, AnyArray], epsilon: float) -> int | None:
    """Return the first of the numbers of rounds (n,) whose printed budgets cost more than epsilon; None if none does.

    >>> breaks_at(schedule_table(0.5, 1.0, 20), 1.0)
    4
    """
    over = table["rounds"][table["printed"] / epsilon > 1.0]
    return int(over[0]) if over.size else None


def budget_table(schedule: PrintedSchedule) -> dict[str, list[Any]]:
    """Return the budget of every round, as printed and corrected; the first has the lowest threshold."""
    return {
        "round i": list(range(1, len(schedule.printed) + 1)),
        "εᵢ as printed": list(schedule.printed),
        "εᵢ corrected": list(schedule.corrected),
    }
