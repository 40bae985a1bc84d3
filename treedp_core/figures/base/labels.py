"""Where direct labels stand: as near as possible to what they name, and never on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence


def apart(wanted: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Return places of labels (n,), each as near to the wanted one as the others allow: least squares, in their order.

    Two labels are at least `least` apart and all lie within `low` and `high`; where these have no room for so many,
    they are evenly spread. What has no finite place gets nan and takes no room.

    >>> apart([1.0, 1.0, 5.0], 2.0, 0.0, 10.0)
    [0.0, 2.0, 5.0]
    >>> apart([9.0, math.nan, 9.5], 2.0, 0.0, 10.0)
    [8.0, nan, 10.0]
    """
    order = sorted((i for i, at in enumerate(wanted) if math.isfinite(at)), key=lambda i: wanted[i])
    step = min(least, (high - low) / max(1, len(order) - 1))
    blocks: list[tuple[float, int]] = []  # mean of what is wanted of the first of them, and how many
    for nth, i in enumerate(order):
        mean, n = min(max(wanted[i], low), high) - nth * step, 1
        while blocks and blocks[-1][0] > mean:
            before, m = blocks.pop()
            mean, n = (before * m + mean * n) / (m + n), m + n
        blocks.append((mean, n))
    last = high - step * max(0, len(order) - 1)
    starts = [min(max(mean, low), max(low, last)) for mean, n in blocks for _ in range(n)]
    placed = {i: start + nth * step for nth, (i, start) in enumerate(zip(order, starts, strict=True))}
    return [placed.get(i, math.nan) for i in range(len(wanted))]
