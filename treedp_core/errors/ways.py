"""Ways of doing the same, side by side over repeated runs: means, standard errors, and what the runs can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core.tree import FloatArray

TELLS: Final = 2.0
"""Standard errors of a difference from which runs are said to tell two means apart."""


def mean_and_error(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean over the first axis, (n_runs, ...), and its standard error; infinite for a single run."""
    n = rows.shape[0]
    se = rows.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(rows.shape[1:], np.inf)
    return rows.mean(axis=0), se


@dataclass(frozen=True, eq=False)
class Ways:
    """One measure of several ways of doing the same, over repeated runs.

    Parameters
    ----------
    names : tuple of str
    mean, se : (n_ways,)
        Mean over the runs, and its standard error.
    """

    names: tuple[str, ...]
    mean: FloatArray
    se: FloatArray

    def ranked(self) -> list[int]:
        """Return the ways' positions by their means, the smallest first."""
        return [int(i) for i in np.argsort(self.mean, kind="stable")]

    def closest(self) -> int:
        """Return the position of the way whose mean is closest to 0."""
        return int(np.abs(self.mean).argmin())

    def change(self, i: int, j: int) -> float:
        """Return how much larger way j is than way i, in per cent."""
        return float(100 * (self.mean[j] / self.mean[i] - 1))

    def in_order(self, positions: Sequence[int]) -> Ways:
        """Return some of the ways in another order."""
        return Ways(tuple(self.names[i] for i in positions), self.mean[positions], self.se[positions])

    def tells(self, i: int, j: int) -> bool:
        """Whether the runs tell two ways apart.

        >>> ways = Ways(("a", "b"), np.array([1.0, 1.2]), np.array([0.06, 0.08]))
        >>> ways.tells(0, 1), ways.ranked()
        (False, [0, 1])
        """
        return bool(abs(self.mean[i] - self.mean[j]) > TELLS * np.hypot(self.se[i], self.se[j]))
