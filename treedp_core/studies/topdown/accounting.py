"""What a budget in rho promises, by three conversions, and what the better one is worth in noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.privacy.conversions import (
    epsilon_to_rho,
    rho_to_epsilon,
    rho_to_epsilon_gaussian,
    rho_to_epsilon_simple,
)
from treedp_core.tree import FloatArray

RHO_GRID: Final = tuple(float(x) for x in np.geomspace(1e-3, 10.0, 41))


@dataclass(frozen=True)
class Accounting:
    """Epsilon of a budget at one delta, and the noise that a conversion saves.

    Parameters
    ----------
    rho, delta : float
    epsilon_simple : float
        rho + 2 sqrt(rho ln(1 / delta)) (Bun and Steinke, 2016), as in the paper.
    epsilon_tight : float
        The infimum of Canonne, Kamath and Steinke (2020); it holds for discrete Gaussian noise.
    epsilon_gaussian : float
        Exact for continuous Gaussian noise of the same rho; no conversion can say less for all noises of that rho.
    rho_tight : float
        The larger rho that the tight conversion allows at `epsilon_simple`.
    noise_ratio : float
        Sigma needed for `epsilon_simple` by the tight conversion over sigma by the simple one; below 1.
    """

    rho: float
    delta: float
    epsilon_simple: float
    epsilon_tight: float
    epsilon_gaussian: float
    rho_tight: float
    noise_ratio: float


def accounting(rho: float, delta: float) -> Accounting:
    """Return the guarantees of a total budget rho at delta, each rounded up.

    Raises
    ------
    InputError
        ``RHO_RANGE``, ``DELTA_REQUIRED``, ``DELTA_RANGE``.

    >>> result = accounting(0.1, 1e-6)
    >>> round(result.epsilon_simple, 4), round(result.epsilon_tight, 4), round(result.epsilon_gaussian, 4)
    (2.4508, 2.1419, 1.9945)
    >>> 0.8 < result.noise_ratio < 0.9  # as good a promise with at least a tenth less noise
    True
    """
    simple = rho_to_epsilon_simple(rho, checks.delta(delta, required=True))
    allowed = epsilon_to_rho(simple, delta, False)
    return Accounting(
        rho,
        delta,
        simple,
        rho_to_epsilon(rho, delta),
        rho_to_epsilon_gaussian(rho, delta),
        allowed,
        math.sqrt(rho / allowed),
    )


def grid_with(rho: float) -> tuple[float, ...]:
    """Return budgets to draw curves over, from 0.001 to 10, with rho among them."""
    return tuple(sorted({*RHO_GRID, min(max(rho, RHO_GRID[0]), RHO_GRID[-1])}))


def epsilons(rhos: Sequence[float], delta: float) -> dict[str, FloatArray]:
    """Return the epsilon of budgets rho by every conversion, each rounded up: a column (n_rhos,) each.

    >>> [round(float(column[0]), 4) for column in epsilons([0.1], 1e-6).values()]
    [0.1, 2.4508, 2.1419, 1.9945]
    """
    ways: dict[str, Callable[[float, float], float]] = {
        "Standard": rho_to_epsilon_simple,
        "Tight, discrete Gaussian": rho_to_epsilon,
        "Exact, continuous Gaussian": rho_to_epsilon_gaussian,
    }
    return {"rho": np.array(rhos)} | {name: np.array([way(rho, delta) for rho in rhos]) for name, way in ways.items()}


def extra_noise(rhos: Sequence[float], delta: float) -> dict[str, FloatArray]:
    """Return how much larger sigma is, in per cent, than it need be where the standard epsilon of a budget is promised.

    A column (n_rhos,) for each conversion that would do.

    >>> round(float(extra_noise([0.1], 1e-6)["Tight"][0]), 1)
    13.1
    """
    simple = [rho_to_epsilon_simple(rho, delta) for rho in rhos]
    allowed = {name: np.array([epsilon_to_rho(epsilon, delta, is_gaussian) for epsilon in simple])
               for name, is_gaussian in (("Tight", False), ("Exact, continuous", True))}  # fmt: skip
    extra = {name: 100.0 * (np.sqrt(larger / np.array(rhos)) - 1.0) for name, larger in allowed.items()}
    return {"rho": np.array(rhos)} | extra
