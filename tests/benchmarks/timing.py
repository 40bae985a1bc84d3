"""Paired timing: two pieces of work in turns, so that a machine that slows down slows both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

Work = Callable[[], object]


def seconds(work: Work) -> float:
    """How long one call takes; a short one is repeated for 5 ms, or what the peer left in the caches would decide."""
    start, calls = time.perf_counter(), 0
    while not calls or time.perf_counter() - start < 0.005:
        work()
        calls += 1
    return (time.perf_counter() - start) / calls


def paired_ratio(ours: Work, theirs: Work, rounds: int) -> float:
    """Median over the rounds of ours / theirs, after one round that does not count; the order alternates."""
    ratios = []
    for turn in range(rounds + 1):
        first, second = (ours, theirs) if turn % 2 else (theirs, ours)
        a, b = seconds(first), seconds(second)
        ratios.append(a / b if turn % 2 else b / a)
    return statistics.median(ratios[1:])
