"""What whole-number Gaussian noise of all levels loses, worked out again: from sigmas and changes alone.

Nothing here comes from the code that makes plans, noise or budgets. Equal levels are summed on their lattice; else the
losses are put on a grid half as wide as that of the accounting, each split so that its mass stays with and without the
unit. It is a check, not a proof: what is dropped has a probability below 1e-19, and wide noise is taken at 6000 points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Losses = tuple[float, float, FloatArray]
"""Smallest loss, step and masses with the unit, (n,)."""

POINTS: Final = 6000
WIDTHS: Final = 9.2
SHARE: Final = 0.012
FINEST: Final = 0.002
LATTICE: Final = 40_000
ATOMS: Final = 20_000


def composed_delta(moved: Sequence[tuple[float, int]], epsilon: float) -> float:
    """Return the delta at `epsilon` of noises of these sigmas on counts that move by so many records each.

    >>> round(composed_delta([(2.0, 1)] * 4, 6.187002) * 1e9, 3)
    1.0
    """
    if not moved:
        return 0.0
    sums = sorted(
        (_times(_one(sigma, by), n) for (sigma, by), n in _counted(moved).items()), key=lambda one: one[2].size
    )
    loss, mass = np.zeros(1), np.ones(1)
    while sums and loss.size * sums[0][2].size <= ATOMS:
        loss, mass = _joined(loss, mass, sums.pop(0))
    if sums:
        atoms = [(loss, mass), *((_losses(*one), one[2]) for one in sums)]
        spread = sum(float(p @ x**2 - (p @ x) ** 2) for x, p in atoms)
        step = min(SHARE, FINEST * len(atoms)) * math.sqrt(spread / len(atoms))
        found: Losses = (0.0, step, np.ones(1))
        for x, p in atoms:
            low, _, more = _on(step, x, p)
            found = _kept(found[0] + low, step, np.convolve(found[2], more))
        loss, mass = _losses(*found), found[2]
    over = loss > epsilon
    return float((mass[over] * -np.expm1(epsilon - loss[over])).sum())


def _losses(low: float, step: float, mass: FloatArray) -> FloatArray:
    return np.asarray(low + step * np.arange(mass.size), dtype=np.float64)


def _joined(loss: FloatArray, mass: FloatArray, more: Losses) -> tuple[FloatArray, FloatArray]:
    """The sum of two losses, atom by atom; those that are equal but for rounding are one."""
    sums = np.add.outer(loss, _losses(*more)).ravel()
    order = np.argsort(sums)
    first = np.append(True, np.diff(sums[order]) > 1e-12 * np.abs(sums).max())
    masses = np.multiply.outer(mass, more[2]).ravel()[order]
    return sums[order][first], np.add.reduceat(masses, np.flatnonzero(first))


def _counted(moved: Sequence[tuple[float, int]]) -> dict[tuple[float, int], int]:
    return {one: list(moved).count(one) for one in moved}


def _one(sigma: float, by: int) -> Losses:
    """Losses by (by - 2 z) / (2 sigma^2) at whole z, or at points a fixed part of sigma apart."""
    reach = math.ceil(WIDTHS * sigma)
    stride = max(1, 2 * reach // POINTS)
    z = np.arange(reach + by, -reach - by - 1, -stride, dtype=float)
    weight = np.exp(-0.5 * (z / sigma) ** 2)
    step = by * stride / sigma**2
    return by * (by - 2.0 * float(z[0])) / (2.0 * sigma**2), step, weight / weight.sum()


def _times(one: Losses, n: int) -> Losses:
    """The sum of n such losses, by their binary digits."""
    low, step, mass = one
    if n > 1 and n * mass.size > LATTICE:
        loss = _losses(*one)
        low, step, mass = _on(SHARE * math.sqrt(float(mass @ loss**2 - (mass @ loss) ** 2)), loss, mass)
    found: Losses = (0.0, step, np.ones(1))
    for digit in f"{n:b}":
        found = _kept(2 * found[0], step, np.convolve(found[2], found[2]))
        if digit == "1":
            found = _kept(found[0] + low, step, np.convolve(found[2], mass))
    return found


def _on(step: float, loss: FloatArray, mass: FloatArray) -> Losses:
    """Increasing losses on a grid."""
    first = math.floor(float(loss[0]) / step)
    below = np.floor(loss / step)
    up = mass * (1.0 - np.exp(below * step - loss)) / (1.0 - math.exp(-step))
    at = below.astype(int) - first
    size = int(at[-1]) + 2
    found = np.bincount(at, mass - up, size) + np.bincount(at + 1, up, size)
    return first * step, step, found.astype(np.float64)


def _kept(low: float, step: float, mass: FloatArray) -> Losses:
    inside = np.flatnonzero(mass > 1e-22)
    return low + step * int(inside[0]), step, mass[inside[0] : inside[-1] + 1]
