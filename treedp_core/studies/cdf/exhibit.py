"""Why the first stage of DAWA is not offered: as its benchmark's code has it, it loses more privacy than it spends."""

from __future__ import annotations

import math
from typing import Any, Final

NEIGHBOURS: Final = ((0, 0, 0), (0, 1, 0))
"""Counts of three bins before and after one record is added."""


def dawa_table(epsilon: float) -> dict[str, list[Any]]:
    """Return how often DAWA's first stage keeps three bins apart, on two neighbours, and the loss that follows.

    The stage as the code of the benchmark dpcomp has it: every interval of n > 1 of K bins gets Laplace noise of scale
    (2 - 1/n - 1/K) / epsilon on its deviation, as if no other were asked for, and single bins get none. With a bucket's
    cost 1 / epsilon the three single bins are the cheapest partition exactly if 1-2 and 2-3 deviate by more than
    1 / epsilon and 1-3 by more than 2 / epsilon, which are independent.

    >>> [round(one, 2) for one in dawa_table(1.0)["loss"]]
    [0.0, 2.71]
    """
    chances = [_apart(counts, epsilon) for counts in NEIGHBOURS]
    return {
        "counts of three bins": [", ".join(map(str, counts)) for counts in NEIGHBOURS],
        "P(three single bins)": chances,
        "loss": [math.log(chance / chances[0]) for chance in chances],
        "spent by its own account": [epsilon] * len(chances),
    }


def _apart(counts: tuple[int, ...], epsilon: float) -> float:
    """Probability that three single bins are the cheapest partition."""
    chance, n_bins = 1.0, len(counts)
    for low, high in ((0, 2), (1, 3), (0, 3)):
        some, n = counts[low:high], high - low
        deviation = sum(abs(one - sum(some) / n) for one in some)
        over = (n - 1) / epsilon - deviation
        scale = (2.0 - 1.0 / n - 1.0 / n_bins) / epsilon
        tail = math.exp(-abs(over) / scale) / 2.0
        chance *= tail if over >= 0 else 1.0 - tail
    return chance
