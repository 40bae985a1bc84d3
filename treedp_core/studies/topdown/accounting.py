"""What a budget in rho promises, by three conversions, and what the better one is worth in noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from treedp_core import checks
from treedp_core.privacy.conversions import (
    epsilon_to_rho,
    rho_to_epsilon,
    rho_to_epsilon_gaussian,
    rho_to_epsilon_simple,
)


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
