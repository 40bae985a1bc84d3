"""Exact, repeatable building blocks of the generators.

Only `Random.random` is drawn on: its stream is promised to stay the same in every Python version, which makes the
files byte-identical wherever they are generated.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from random import Random


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers proportional to `weights` that add up to `total` exactly (largest remainders, ties to the first).

    >>> apportion(10, [1, 1, 1])
    [4, 3, 3]
    """
    whole = sum(weights)
    exact = [total * weight / whole for weight in weights]
    parts = [math.floor(value) for value in exact]
    by_remainder = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for i in by_remainder[: total - sum(parts)]:
        parts[i] += 1
    return parts


def normal(rng: Random) -> float:
    """One standard normal draw (Box and Muller, 1958)."""
    return math.sqrt(-2 * math.log(1 - rng.random())) * math.cos(2 * math.pi * rng.random())


def lognormal(rng: Random, spread: float) -> float:
    """One log-normal draw with median 1; `spread` is the standard deviation of its logarithm."""
    return math.exp(spread * normal(rng))


def scatter(total: int, weights: Sequence[float], rng: Random) -> list[int]:
    """`total` records thrown one by one into cells with probability proportional to `weights`: a multinomial draw."""
    edges, running = [], 0.0
    for weight in weights:
        running += weight
        edges.append(running)
    cells = [0] * len(weights)
    for _ in range(total):
        cells[_first_above(edges, rng.random() * running)] += 1
    return cells


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The rows as CSV with a header and plain line feeds, the same bytes on every system."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def _first_above(edges: Sequence[float], value: float) -> int:
    low, high = 0, len(edges) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if value < edges[middle] else (middle + 1, high)
    return low
