"""A mechanism of one's own, in 15 lines, as docs/extend.md shows it."""

import numpy as np

from treedp_core.mechanisms import of_levels
from treedp_core.mechanisms.calibration import LevelLaw
from treedp_core.noise import Laplace
from treedp_core.privacy import Currency


def noise(spent, l1, l2):
    return Laplace(2 * l1 / spent)  # twice as wide as it must be


def precision(x):  # one over the variance at a sensitivity of 1, and its slope
    return np.square(x) / 8, x / 4


LAW = LevelLaw("wide", Currency.EPSILON, noise, precision)
WIDE = of_levels(LAW, "Wide Laplace", "Twice the noise that is needed.", "violet")
