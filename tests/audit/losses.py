"""Exact privacy losses: fractions of the parameters of the laws that are really drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .neighbours import IntArray
from .report import Leak


def price(law: object) -> tuple[int, Fraction]:
    """Power of a count's change, and what one unit of that costs: epsilon of Laplace laws, rho of Gaussian ones."""
    kind, (parameter,) = type(law).__name__, (Fraction(value) for value in vars(law).values())
    match kind:
        case "Laplace":
            return 1, 1 / parameter
        case "DiscreteLaplace":
            return 1, parameter
        case "Gaussian" | "DiscreteGaussian":
            return 2, 1 / (2 * parameter**2)
    raise AssertionError(f"no exact loss is known for {kind}")


def largest(prices: Sequence[Fraction], amounts: IntArray) -> Fraction:
    """Largest of the sums of prices x amounts over the rows of `amounts` (n_rows, n_prices), exactly."""
    common = math.lcm(*(p.denominator for p in prices))
    whole = np.array([int(p * common) for p in prices], dtype=object)
    return Fraction(int((amounts.astype(object) @ whole).max()), common) if amounts.size else Fraction(0)


def worst(laws: Sequence[object | None], moved: tuple[IntArray, IntArray]) -> Fraction:
    """Largest loss of independent noises, one law for each column of the sums of changes and of their squares.

    Without a law a column is left out: it is not released, or `refuse_exact` has looked at it.
    """
    used = [(i, *price(law)) for i, law in enumerate(laws) if law is not None]
    if not used:
        return Fraction(0)
    (power,) = {power for _, power, _ in used}
    columns = [i for i, _, _ in used]
    return largest([cost for _, _, cost in used], moved[power - 1][:, columns])


def refuse_exact(exact: Sequence[bool], moved: IntArray) -> None:
    """Raise `Leak` when something that is published exactly can change."""
    for i, without_noise in enumerate(exact):
        if without_noise and moved[:, i].any():
            raise Leak(f"column {i} is published exactly and depends on the protected unit")
