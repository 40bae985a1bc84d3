"""The laws of the noise, and exact draws from them."""

from treedp_core.noise.law import IntegerLaw, Law, Moments, expected_maximum
from treedp_core.noise.laws import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "IntegerLaw",
    "Laplace",
    "Law",
    "Moments",
    "expected_maximum",
]
