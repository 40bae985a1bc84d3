"""The matrix of least error under Gaussian noise for some counts, from the search that bounds that error."""

from __future__ import annotations

from typing import Final

import numpy as np

from treedp_core.checks import InputError
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS, least_error
from treedp_core.studies.cdf.matrices.integer_strategy import WholeMatrix, in_whole_numbers
from treedp_core.studies.cdf.matrices.workload import OWN, Wanted
from treedp_core.tree import FloatArray
from treedp_core.watch import Watch
from treedp_core.words import whole

GAP: Final = 0.001
GAP_REPLACED: Final = 0.003
SPARE: Final = 0.001
"""Of the error: what cumulative counts may cost that nobody asked for, so that every release has them."""
KNOWN: Final = 1e-12
"""Of the weights: less than that is left of counts that follow from the total."""


def optimal_matrix(wanted: Wanted, with_total: bool, watch: Watch | None = None) -> WholeMatrix:
    """Return the matrix with the least mean variance of the wanted counts, within 0.3 %, in whole numbers.

    Parameters
    ----------
    wanted : Wanted
    with_total : bool
        Whether a record is replaced and the total public, rather than a record added or removed.
    watch : Watch, optional
        Told of every round of the search.

    Raises
    ------
    InputError
        ``BOUND_SIZE`` for more than 1025 bins; ``RANGE_BOUNDS`` where a total that is public answers all.
    Cancelled
        When the watch says so.

    >>> found = optimal_matrix(Wanted(2), False)
    >>> round(found.mean_variance * found.column_square() / 2, 4), round(found.lower, 4)
    (0.6548, 0.6545)
    """
    if wanted.n_bins > MAX_BOUND_BINS:
        raise InputError(
            "BOUND_SIZE",
            f"An optimal matrix takes cubic work, so at most {whole(MAX_BOUND_BINS)} bins, not {whole(wanted.n_bins)}: "
            "choose the square-root matrix.",
        )
    over = _over_cumulative if with_total else np.asarray
    plain = wanted.gram()
    gram, spare = over(plain), None
    if np.abs(gram).max() <= KNOWN * np.abs(plain).max():
        raise InputError(
            "RANGE_BOUNDS",
            "All that is asked for is how many records there are, which this matrix takes as known: add a range of "
            "fewer bins, or choose a tree.",
        )
    if wanted.workload == OWN:
        rest = over(Wanted(wanted.n_bins).gram())
        spare = rest * (SPARE * _size(gram) / _size(rest)) ** 2
    gap = GAP_REPLACED if with_total else GAP
    bound = least_error(gram, spare, wanted.queries, with_total, gap, (watch or Watch()).one_more)
    upper = np.asarray(np.linalg.cholesky(bound.precision / 2.0).T, dtype=np.float64)
    if with_total:  # weights of cumulative counts become weights of bins
        upper = np.pad(np.cumsum(upper[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))
    return in_whole_numbers(upper, with_total, wanted, bound.lower)


def _over_cumulative(gram: FloatArray) -> FloatArray:
    """Over the first K - 1 cumulative counts, (K - 1, K - 1): bin i is one less the one before; the last is public."""
    down = gram[:-1] - gram[1:]
    return np.asarray(down[:, :-1] - down[:, 1:])


def _size(gram: FloatArray) -> float:
    """Trace of the square root."""
    return float(np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0.0)).sum())
