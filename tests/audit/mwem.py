"""MWEM: what every round's choice and measurement can lose, by playing one transcript on neighbouring tables."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

from treedp_core.studies.topdown import marginals as weights

from . import losses
from .neighbours import IntArray
from .report import Report

ROUNDS = 8
"""Rounds of a run: as many as there are share the budget."""
ROUNDED = Fraction(1) - Fraction(1, 10**9)
"""Chances are floats."""


class Played:
    """The randomness of a run: drawn in the first one, in others what leads to the same choices and measurements."""

    def __init__(self, counts: IntArray, asked: Sequence[tuple[int, ...]], first: Played | None = None) -> None:
        axes = range(counts.ndim)
        self.cells = np.concatenate([counts.sum(axis=tuple(set(axes) - set(one))).ravel() for one in asked])
        self.first, self.rng = first, np.random.default_rng(1)
        self.places: list[int] = []
        self.told: list[int] = []
        self.chances: list[Any] = []
        self.laws: list[object] = []

    def choice(self, n: int, p: Any) -> int:
        """The next cell."""
        self.chances.append(p)
        self.places.append(self.first.places[len(self.places)] if self.first else int(self.rng.choice(n, p=p)))
        return self.places[-1]

    def sample(self, law: Any) -> int:
        """The noise of its measurement."""
        true = int(self.cells[self.places[-1]])
        noisy = self.first.told[len(self.told)] if self.first else true + int(law.sample(self.rng, ()))
        self.told.append(noisy)
        self.laws.append(law)
        return noisy - true

    def run(self, counts: IntArray, asked: Sequence[tuple[int, ...]], rho: float, m: int) -> Played:
        """Release the table with this randomness."""
        calibrated = weights.level_law

        class Heard:
            def __init__(self, law: object) -> None:
                self.law = law

            def sample(self, rng: Played, size: object) -> int:
                return rng.sample(self.law)

        heard = patch.object(weights, "level_law", lambda *given: Heard(calibrated(*given)))
        with heard, patch.object(weights, "ROUNDS", ROUNDS):
            weights.mwem(counts, asked, rho, m, self)  # type: ignore[arg-type]
        return self


def audit(report: Report, rng: np.random.Generator) -> None:
    """Compare one release with what its transcript loses on tables where records of one unit lie in another cell."""
    shape = ((2, 2), (3, 2), (2, 2, 2))[int(rng.integers(3))]
    asked = [(axis,) for axis in range(len(shape))] + [tuple(range(len(shape)))]
    rho, m = float(np.exp(rng.uniform(-2, 2))), int(rng.integers(1, 3))
    counts = rng.integers(0, 6, shape)
    first = Played(counts, asked).run(counts, asked, rho, m)
    worst, pairs = Fraction(0), 0
    for start in range(counts.size):
        for end in set(range(counts.size)) - {start}:
            other = counts.copy()
            moved = min(m, int(other.flat[start]))
            other.flat[start] -= moved
            other.flat[end] += moved
            second = Played(other, asked, first).run(other, asked, rho, m)
            worst, pairs = max(worst, lost(first, second)), pairs + 1
    report.pairs += pairs
    report.spent(f"MWEM on a table of {shape}, {m} records", worst * ROUNDED, rho, pairs)


def lost(first: Played, second: Played) -> Fraction:
    """What a transcript costs: a choice of range r in its log odds r^2 / 8, a measurement as its noise."""
    apart = [np.ptp(np.log(p) - np.log(q)) for p, q in zip(first.chances, second.chances, strict=True)]
    most = int(np.abs(first.cells - second.cells).max())
    return sum((Fraction(float(one)) ** 2 / 8 for one in apart), Fraction(0)) + sum(
        (losses.price(law)[1] * most**2 for law in first.laws), Fraction(0)
    )
