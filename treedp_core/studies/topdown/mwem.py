"""Multiplicative weights with the exponential mechanism (Hardt, Ligett and McSherry, 2012), for marginals of a table.

Each round picks the cell of a marginal that the table so far has most wrong, by the exponential mechanism, measures it
with noise, and moves weight into it or out of it until the table agrees with what was measured so far (the authors move
it by a factor, many times; scaling it at once ends at the same table sooner). One record replaced moves a cell by 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from treedp_core.mechanisms.calibration import level_law
from treedp_core.tree import AnyArray, FloatArray, IntArray

ROUNDS: Final = 120
"""At most: few leave the start as it was where nothing was measured, many have wide noise. For the sample of trips, 60
have 1.3 to 3 times the error for rho from 0.02 on, and 240 more where rho is small and half where it is 3."""
PASSES: Final = 3
LEAST: Final = 1e-3
"""Part of the records that a cell and the rest keep at least: what has no weight left would never be found again."""
_LOST: Final = 1e-9
"""Part of the records below which what contradicts other measurements is left as it is."""


def mwem(
    counts: IntArray, marginals: Sequence[tuple[int, ...]], rho: float, contributions: int, rng: np.random.Generator
) -> FloatArray:
    """Return a table of real counts (n_1, ..., n_d) with the true total; a simulation unless `rng` is safe.

    Parameters
    ----------
    counts : (n_1, ..., n_d)
        True counts by the categories of d columns; their total is public.
    marginals : sequence of tuple of int
        Columns of the marginals whose cells are asked for.
    rho : float
        In zero-concentrated privacy: half of each round's part for the choice, half for the measurement.
    contributions : int
        Records of one unit, which others replace.
    """
    total = float(counts.sum())
    table = np.full(counts.shape, total / counts.size)
    cells = sum(math.prod(counts.shape[i] for i in one) for one in marginals)
    n_rounds = min(ROUNDS, 2 * cells)
    part = rho / (2 * n_rounds)
    law = level_law("discrete_gaussian", part, float(contributions), float(contributions))
    measured: list[tuple[tuple[int | slice, ...], float]] = []
    for _ in range(n_rounds):
        errors = [_marginal(counts - table, one) for one in marginals]
        scores = np.concatenate([np.abs(one).ravel() for one in errors])
        place = int(rng.choice(scores.size, p=chances(scores, part, contributions)))
        cell = _cell(place, [one.shape for one in errors], marginals, counts.ndim)
        noise = 0.0 if law is None else float(law.sample(rng, ()))
        measured.append((cell, min(max(float(counts[cell].sum()) + noise, LEAST * total), (1.0 - LEAST) * total)))
        _agree(table, measured * PASSES, total)
    return table


def _agree(table: FloatArray, measured: Sequence[tuple[tuple[int | slice, ...], float]], total: float) -> None:
    """Make cells of marginals count so many records, and all others the rest, one after the other, in place."""
    factor = 1.0  # of what stands in the table: so that only the cell's own entries are written
    for cell, wanted in measured:
        here = factor * float(table[cell].sum())
        if _LOST * total < here < (1.0 - _LOST) * total:
            of_rest = (total - wanted) / (total - here)
            factor *= of_rest
            table[cell] *= wanted / (here * of_rest)
    table *= total / table.sum()


def chances(scores: FloatArray, rho: float, contributions: int) -> FloatArray:
    """Return the probabilities of the exponential mechanism with scores that a unit moves by its records, (n,).

    At epsilon it is epsilon^2 / 8 in rho (Cesar and Rogers, 2021).

    >>> chances(np.array([0.0, 1.0]), 0.5, 1).round(6).tolist()  # epsilon = 2, halved: e to 1
    [0.268941, 0.731059]
    """
    weight = math.sqrt(8.0 * rho) / (2.0 * contributions) * (scores - scores.max())
    return np.asarray(np.exp(weight) / np.exp(weight).sum())


def _marginal(table: AnyArray, columns: tuple[int, ...]) -> AnyArray:
    return np.asarray(table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in columns)))


def _cell(
    place: int, shapes: Sequence[tuple[int, ...]], marginals: Sequence[tuple[int, ...]], n_columns: int
) -> tuple[int | slice, ...]:
    """The cell at a place among those of all marginals, as an index into the table."""
    for shape, columns in zip(shapes, marginals, strict=True):
        if place < math.prod(shape):
            at = dict(zip(columns, np.unravel_index(place, shape), strict=True))
            return tuple(int(at[i]) if i in at else slice(None) for i in range(n_columns))
        place -= math.prod(shape)
    raise AssertionError("a place beyond the last cell")
