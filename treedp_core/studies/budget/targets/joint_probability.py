"""How many counts of a level are close in one release: the law of their number, by formula or by simulation.

Before least squares the errors of a level are independent, and the number of counts that miss is a sum of independent
yes-or-no draws, whose law follows from its discrete Fourier transform. After least squares errors go together, and
whole releases are simulated: always the same draws, so that budgets are compared on common random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
from scipy import special

from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.targets.reliability import draw_errors
from treedp_core.tree import FloatArray, IntArray
from treedp_core.watch import generator

DRAWS: Final = 8_000_000
MOST_TRIALS: Final = 20_000
FEWEST_TRIALS: Final = 400
BATCH: Final = 2_000_000
SEED: Final = 0x5EED_0F_0A11
GROUPS: Final = 256
"""Probabilities that more counts than `MANY` are told apart by; each is rounded up."""
MANY: Final = 4_000
HAIR: Final = 1e-9
"""How far a reach may be exceeded: by rounding only."""


def may_miss(n: int, part: float) -> int:
    """Return how many of n counts may miss where at least a part of them is to be close.

    >>> may_miss(20, 0.95), may_miss(8, 0.95), may_miss(10, 1.0)
    (1, 0, 0)
    """
    return n - math.ceil(part * n - HAIR)


def more_miss(missed: FloatArray, allowed: int) -> float:
    """Return the probability that more than `allowed` of independent counts miss, each with its own probability (n,).

    >>> round(more_miss(np.full(3, 0.5), 1), 12)  # two or three heads of three
    0.5
    """
    probabilities, how_many = _grouped(missed)
    n = int(missed.size) + 1
    turn = np.exp(-2j * np.pi * np.arange(n // 2 + 1) / n)
    with np.errstate(divide="ignore"):
        logs = [m * np.log(1.0 - p + p * turn) for p, m in zip(probabilities, how_many, strict=True)]
    law = np.fft.irfft(np.exp(np.sum(logs, axis=0)), n)
    return float(min(1.0, max(0.0, law[allowed + 1 :].sum())))


def _grouped(missed: FloatArray) -> tuple[FloatArray, IntArray]:
    """Different probabilities and how many counts have each; of many, no more than `GROUPS`, rounded up."""
    if missed.size > MANY:
        ordered = np.sort(missed)
        ends = np.linspace(0, missed.size, GROUPS + 1).astype(int)[1:] - 1
        return ordered[ends], np.diff(ends, prepend=-1)
    found, how_many = np.unique(missed, return_counts=True)
    return found, how_many


def usual_miss(n: int, allowed: int, confidence: float) -> float:
    """Return the probability p for which n independent counts that miss with p keep to `allowed` just so often.

    >>> round(usual_miss(1, 0, 0.95), 12)
    0.05
    """
    return 1.0 - float(special.betaincinv(n - allowed, allowed + 1, confidence))


def releases(problem: Problem, amounts: FloatArray, stream: str, seed: int, trials: int) -> Iterator[FloatArray]:
    """Yield simulated errors (trials of a batch, n_nodes) of so many releases that spend `amounts` (n_levels,)."""
    batch = max(1, BATCH // problem.tree.n_nodes)
    for number, begin in enumerate(range(0, trials, batch)):
        problem.watch.check()
        yield draw_errors(
            problem, amounts, generator("releases of a split", stream, seed, number), min(batch, trials - begin)
        )


def close_in_one(errors: FloatArray, nodes: IntArray, reach: FloatArray) -> IntArray:
    """Return how many of some nodes (n,) are within their reach (n,) in each release of errors (trials, n_nodes)."""
    return np.asarray((np.abs(errors[:, nodes]) <= reach * (1.0 + HAIR)).sum(axis=1), dtype=np.int64)


def more_miss_after_least_squares(
    problem: Problem, amounts: FloatArray, nodes: IntArray, reach: FloatArray, allowed: int
) -> tuple[float, float]:
    """Return the probability that more than `allowed` of some nodes (n,) miss their reach (n,), and its standard error.

    Parameters
    ----------
    amounts : (n_levels,)
    """
    trials = int(min(MOST_TRIALS, max(FEWEST_TRIALS, DRAWS // problem.tree.n_nodes)))
    lost = sum(
        int((nodes.size - close_in_one(errors, nodes, reach) > allowed).sum())
        for errors in releases(problem, amounts, "counts close in one release", SEED, trials)
    )
    seen = lost / trials
    return seen, math.sqrt(max(seen * (1.0 - seen), 1.0 / trials) / trials)
