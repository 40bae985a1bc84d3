"""The p-identity matrices of McKenna et al. (HDMM, 2018): all bins and p weighted sums of them, for Laplace noise.

A = [I; T] diag(s)^-1 with T >= 0 of p rows and s_j = 1 + the sum of its column j, so every column of A sums to 1. With
M = I + T'T, S = diag(s) and G the wanted counts' products, least squares has the summed error

    2 / epsilon^2 F,  F = tr(M^-1 S G S),  M^-1 = I - T' (I + T T')^-1 T,
    dF/dT = -2 T M^-1 (S G S) M^-1 + 2 (1 v'),  v_j = (M^-1 S G S)_jj / s_j,

and as G times a row takes O(K), a step takes O(p^2 K). Where the total is public, the wanted counts are centred: the
total times their mean weight is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from treedp_core.checks import InputError
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS
from treedp_core.studies.cdf.matrices.integer_strategy import WholeMatrix, in_whole_numbers
from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.tree import FloatArray
from treedp_core.watch import Watch, generator
from treedp_core.words import whole

T = TypeVar("T")

SEED: Final = 1
STARTS: Final = ((16, 0), (16, 1))
"""Searches: how many bins there are to a weighted sum, and a number that the first weights are drawn by."""
MORE_STARTS: Final = ((12, 1), (12, 2))
"""For few bins, where they take no time."""
FEW: Final = 128
MANY: Final = 512
"""For more bins than that one search does, a longer one: see `searches`."""
STEPS: Final = 400
LONG: Final = 450
SEARCH_STEPS: Final = len(STARTS) * STEPS
LEAST_SUMS: Final = 4
MANY_WEIGHTS: Final = 1_000_000


def identity_matrix(wanted: Wanted, with_total: bool, watch: Watch | None = None) -> WholeMatrix:
    """Return a p-identity matrix with little mean variance of the wanted counts under Laplace noise.

    The problem is not convex: it is the best of a histogram and of a few searches from starts of a fixed seed.

    Parameters
    ----------
    wanted : Wanted
    with_total : bool
        Whether the total is public.
    watch : Watch, optional
        Told of every step of the search.

    Raises
    ------
    InputError
        ``BOUND_SIZE`` for more than 1025 bins.
    Cancelled
        When the watch says so.

    >>> identity_matrix(Wanted(8), False).n_rows
    9
    """
    told, n = watch or Watch(), wanted.n_bins
    if n > MAX_BOUND_BINS:
        raise InputError(
            "BOUND_SIZE",
            f"A p-identity matrix takes cubic work, so at most {whole(MAX_BOUND_BINS)} bins, not {whole(n)}: choose a "
            "tree.",
        )
    errors = Errors(wanted, with_total)
    found = [np.zeros((1, n))]
    for (bins_to_a_sum, start), steps in searches(STARTS + MORE_STARTS * (n <= FEW), n > MANY, told):
        sums = max(-(-n // bins_to_a_sum), min(n // 2, LEAST_SUMS))
        found.append(_search(errors, sums, start, steps, told))
    best = min(found, key=lambda one: errors.of(one)[0])
    matrix = np.vstack([np.eye(n), best]) / (1.0 + best.sum(axis=0))
    return in_whole_numbers(matrix, with_total, wanted)


def searches(starts: Sequence[T], are_many: bool, watch: Watch) -> Iterator[tuple[T, int]]:
    """Yield the starts of searches and their steps: of many bins the first alone, in more steps, in less time in all.

    Others take as long as the first and end within 0.3 % of it, those of products within 3 %.
    """
    if not are_many:
        yield from ((one, STEPS) for one in starts)
        return
    yield starts[0], LONG
    watch.step(SEARCH_STEPS - LONG)


def _search(errors: Errors, sums: int, start: int, steps: int, watch: Watch) -> FloatArray:
    n = errors.wanted.n_bins

    def flat(values: FloatArray) -> tuple[float, FloatArray]:
        error, slope = errors.of(values.reshape(sums, n))
        return error, slope.ravel()

    begin = generator("p-identity", SEED, start).random(sums * n)
    return descend(flat, begin, (0.0, None), steps, watch).reshape(sums, n)


def descend(
    error: Callable[[FloatArray], tuple[float, FloatArray]], begin: FloatArray,
    first: tuple[float | None, float | None], steps: int, watch: Watch,
    *, each: Callable[[FloatArray], None] | None = None, is_free: bool = False,
) -> FloatArray:  # fmt: skip
    """Return weights (n,) of less error than the first ones, all at least 0 but one within bounds, by L-BFGS-B.

    Parameters
    ----------
    error : function of (n,)
        What is minimised, and its slope (n,).
    begin : (n,)
    first : pair
        Least and most of the first weight.
    steps : int
        At most; the watch is told of all of them at the end.
    watch : Watch
        Told of every step.
    each : function of (n,), optional
        Given the weights of every step.
    is_free : bool
        Whether weights may be less than 0.
    """
    seen = 0

    def each_step(weights: FloatArray) -> None:
        nonlocal seen
        watch.one_more()
        seen += 1
        if each is not None:
            each(weights)

    options: Any = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-9}
    if begin.size > MANY_WEIGHTS:
        options["maxcor"] = 4  # of ten earlier steps the memory would be twice as much
    bounds: Any = [first] + [(None if is_free else 0.0, None)] * (begin.size - 1)
    done: Any = minimize(
        cast(Any, error),
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=cast(Any, each_step),
        options=options,
    )
    watch.step(steps - seen)
    return np.asarray(done.x)


@dataclass(frozen=True)
class Errors:
    """F of a matrix T of weights, and its slope.

    Parameters
    ----------
    wanted : Wanted
    with_total : bool
        Whether the wanted counts are centred.
    """

    wanted: Wanted
    with_total: bool

    def of(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return F, and its slope.

        Parameters
        ----------
        weights : (n_sums, K)

        Returns
        -------
        float
        slope : (n_sums, K)
        """
        scale = 1.0 + weights.sum(axis=0)
        inner = cho_factor(np.eye(weights.shape[0]) + weights @ weights.T)
        solved = cho_solve(inner, weights)
        moved = self._product(weights * scale) * scale
        own = self._diagonal * np.square(scale)
        back = self._product(solved * scale) * scale
        slope = 2.0 * (own - (solved * moved).sum(axis=0)) / scale - 2.0 * (back - (back @ weights.T) @ solved)
        return float(own.sum() - (solved * moved).sum()), slope

    def _product(self, rows: FloatArray) -> FloatArray:
        """Rows (p, K) times G."""
        if not self.with_total:
            return self.wanted.product(rows)
        found = self.wanted.product(rows - rows.mean(axis=1, keepdims=True))
        return np.asarray(found - found.mean(axis=1, keepdims=True))

    @cached_property
    def _diagonal(self) -> FloatArray:
        """Diagonal of G, (K,)."""
        plain = self.wanted.diagonal()
        if not self.with_total:
            return plain
        sums = self.wanted.product(np.ones((1, self.wanted.n_bins)))[0]
        return np.asarray(plain - 2.0 * sums / sums.size + sums.mean() / sums.size)
