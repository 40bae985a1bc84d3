"""Shrink estimates towards zero for the alpha-RMSE: multiplicative slack makes a deliberate under-estimate free."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from treedp_core.errors import Tolerance
from treedp_core.tree import AnyArray, FloatArray, Tree


def prepare(
    tree: Tree, variance: FloatArray | None, tolerance: Tolerance
) -> tuple[Callable[[AnyArray], AnyArray], FloatArray | None]:
    """Return max(0, (1 - alpha) estimate) for every node, with alpha of the tolerance; no exact variance is known.

    (1 - alpha) w is the smallest estimate of a count w that costs nothing, so that errors shrink by 1 - alpha and those
    upwards are forgiven up to 2 alpha w more. Children no longer add up. Nodes that were not measured (nan) stay so,
    and so do exact ones (variance 0, a public total): they have no error to lower. The function
    takes and returns (..., n_nodes), in records.
    """
    variances = np.ones(tree.n_nodes) if variance is None else variance
    return partial(shrunk, tolerance.alpha, variances), None


def shrunk(alpha: float, variance: FloatArray, estimate: AnyArray) -> FloatArray:
    """Return max(0, (1 - alpha) estimate), (..., n), for estimates whose variances are (n,); exact ones stay.

    >>> shrunk(0.5, np.array([1.0, 1.0, 0.0]), np.array([-2.0, 10.0, 10.0])).tolist()
    [0.0, 5.0, 10.0]
    """
    kept = np.where(variance == 0, 1.0, 1.0 - alpha)
    return np.asarray(np.maximum(kept * estimate, 0.0))
