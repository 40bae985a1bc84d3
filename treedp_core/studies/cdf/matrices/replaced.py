"""Matrices of any weights for few bins, made for a record that moves from one bin to another, under Laplace noise.

Such a record moves the product by the difference of two columns a_j of A, so the noise of pure epsilon has the scale

    D = max over j < k of |a_j - a_k|_1,

whatever the columns are long; of a p-identity matrix that is twice their length, unless all of them share a sum. With a
public total the last bin is what the others leave of it, its column may be taken to be 0, and the summed error is
2 / epsilon^2 D^2 tr(G (A'A)^-1) for G over the others. Two bins need one number, their difference.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Final

import numpy as np

from treedp_core.studies.cdf.matrices.integer_strategy import WHOLE_BITS, WholeMatrix
from treedp_core.studies.cdf.matrices.p_identity import descend
from treedp_core.studies.cdf.matrices.workload import OWN, Wanted
from treedp_core.tree import FloatArray
from treedp_core.watch import Watch, generator

MOST_BINS: Final = 10
"""Of more no search found less error than a p-identity matrix has."""
STARTS: Final = 6
STEPS: Final = 300
SHARPER: Final = (10.0, 100.0, 1e3, 1e4, 1e5)
"""How closely the largest distance, and absolute values, are followed by smooth functions, one after another."""


def matrix_for_replaced(wanted: Wanted, watch: Watch) -> WholeMatrix | None:
    """Return the matrix of least mean variance that was found for a record that is replaced, the total public.

    Returns
    -------
    WholeMatrix or None
        None for more than `MOST_BINS` bins, or own ranges.
    """
    if wanted.n_bins > MOST_BINS or wanted.workload == OWN:
        return None
    search = Search(wanted)
    found = [search.run(seed, watch) for seed in range(1, STARTS + 1)]
    return min(found, key=lambda one: one.mean_variance * one.pair_sum() ** 2)


class Search:
    """What is minimised, and its slope, for weights of all bins but the last one in n_bins sums.

    Parameters
    ----------
    wanted : Wanted
    """

    def __init__(self, wanted: Wanted) -> None:
        n, gram = wanted.n_bins, wanted.gram()
        self.wanted = wanted
        self.gram: FloatArray = gram[:-1, :-1] - gram[:-1, -1:] - gram[-1:, :-1] + gram[-1, -1]
        self.pairs: FloatArray = np.zeros((n, n * (n - 1) // 2))
        for place, (one, two) in enumerate(combinations(range(n), 2)):
            self.pairs[one, place], self.pairs[two, place] = 1.0, -1.0

    def run(self, seed: int, watch: Watch) -> WholeMatrix:
        """Return the matrix found from random weights."""
        n = self.wanted.n_bins
        weights: FloatArray = generator("matrix for replaced records", seed).normal(size=n * (n - 1))
        for sharp in SHARPER:
            weights /= self.largest(weights)

            def smooth(values: FloatArray, sharp: float = sharp) -> tuple[float, FloatArray]:
                return self.error(values, sharp)

            weights = descend(smooth, weights, (None, None), STEPS, watch.part(0, of=STEPS), is_free=True)
        return self.whole(weights / self.largest(weights))

    def columns(self, weights: FloatArray) -> FloatArray:
        """Return the columns of weights (n_weights,), the last of them 0, (n_bins, n_bins)."""
        return np.pad(weights.reshape(-1, self.wanted.n_bins - 1), ((0, 0), (0, 1)))

    def largest(self, weights: FloatArray) -> float:
        """Return the largest distance of two columns of weights (n_weights,)."""
        return float(np.abs(self.columns(weights) @ self.pairs).sum(axis=0).max())

    def error(self, weights: FloatArray, sharp: float) -> tuple[float, FloatArray]:
        """Return the logarithm of the summed error at weights (n_weights,), and its slope (n_weights,).

        Distances are smooth, and above the true ones.
        """
        columns = self.columns(weights)
        inside = columns[:, :-1]
        back = np.linalg.pinv(inside)
        solved = back @ back.T @ self.gram
        summed = float(np.trace(solved))
        slope = -2.0 * inside @ solved @ back @ back.T / summed
        apart = columns @ self.pairs
        rounded = np.sqrt(np.square(apart) + 1.0 / sharp**2)
        distances = rounded.sum(axis=0)
        share = np.exp(sharp * (distances - distances.max()))
        largest = float(distances.max() + math.log(share.sum()) / sharp)
        along = (apart / rounded * (share / share.sum())) @ self.pairs.T
        return math.log(summed) + 2.0 * math.log(largest), (slope + 2.0 * along[:, :-1] / largest).ravel()

    def whole(self, weights: FloatArray) -> WholeMatrix:
        """Return the matrix of weights (n_weights,) in whole numbers.

        Each sum is taken about its median; those that count all bins alike are left out.
        """
        columns = np.rint(self.columns(weights) * 2.0**WHOLE_BITS)
        columns -= np.rint(np.median(columns, axis=1, keepdims=True))
        kept = np.abs(columns).max(axis=1) > 2.0 ** (WHOLE_BITS - 12)
        return WholeMatrix(columns[kept].astype(np.int32), True, self.wanted)
