"""Shrink estimates towards zero for the alpha-RMSE: multiplicative slack makes a deliberate under-estimate free."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from treedp_core.errors import Tolerance
from treedp_core.tree import AnyArray, FloatArray, Tree


def prepare(
    tree: Tree, variance: FloatArray | None, tolerance: Tolerance
) -> tuple[Callable[[AnyArray], AnyArray], FloatArray | None]:
    """Return max(0, (1 - alpha) estimate) for every node, with alpha of the tolerance; no exact variance is known.

    (1 - alpha) w is the smallest estimate of a count w that costs nothing, so that errors shrink by 1 - alpha and those
    upwards are forgiven up to 2 alpha w more. Children no longer add up. Nodes that were not measured (nan) stay so.
    """
    kept = 1.0 - tolerance.alpha

    def shrink(estimate: AnyArray) -> AnyArray:
        return np.maximum(kept * estimate, 0.0)

    return shrink, None
