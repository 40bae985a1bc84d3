"""Clamp negative estimates to zero: plausible to a reader, but biased."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from treedp_core.tree import AnyArray, FloatArray, Tree


def prepare(tree: Tree, variance: FloatArray | None) -> tuple[Callable[[AnyArray], AnyArray], FloatArray | None]:
    """Return max(0, estimate) for every node; no exact variance is known, because the bias depends on the true count.

    Nodes that were not measured (nan) stay so. The function takes and returns (..., n_nodes), in records.
    """
    return clamp, None


def clamp(estimate: AnyArray) -> AnyArray:
    """Return the estimates (..., n_nodes) with negative values set to 0.

    >>> clamp(np.array([-1.5, 2.0])).tolist()
    [0.0, 2.0]
    """
    return np.maximum(estimate, 0)
