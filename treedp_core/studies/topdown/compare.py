"""A sparse release beside the truth, level by level."""

from __future__ import annotations

import numpy as np

from treedp_core.errors.compare import Compared
from treedp_core.studies.topdown.sparse import SparseRun


def compare(run: SparseRun) -> tuple[Compared, ...]:
    """Return every level of a sparse release beside the truth.

    >>> from treedp_core.tree.leaf_table import count_leaves
    >>> from treedp_core.studies.topdown.plan import plan
    >>> from treedp_core.studies.topdown.sparse import release
    >>> table = count_leaves([np.array([0, 0, 1])], (1000,))
    >>> leaves = compare(release(table, plan((1000,), 1000.0), np.random.default_rng(1)))[1]
    >>> leaves.n_true, leaves.spurious, leaves.lost, leaves.max_error
    (2, 0, 0, 0.0)
    """
    levels = []
    for n_cells, level, truth in zip(run.plan.cells, run.levels, run.truth, strict=True):
        real = level.origin >= 0
        released = np.zeros(truth.count.size, dtype=level.count.dtype)
        released[level.origin[real]] = level.count[real]
        spurious = level.count[~real]
        levels.append(
            Compared(
                n_cells,
                np.concatenate([truth.count, np.zeros(spurious.size, dtype=np.int64)]),
                np.concatenate([released, spurious]),
            )
        )
    return tuple(levels)
