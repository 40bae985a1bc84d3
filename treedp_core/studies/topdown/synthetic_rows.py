"""Places of a release beside the truth: which are kept, lost, or never existed; a few of them, and pairs of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from treedp_core.errors.compare import Compared
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.studies.topdown.draw import Drawn
from treedp_core.tree import AnyArray, IntArray

KEPT: Final = "kept"
LOST: Final = "lost"
SPURIOUS: Final = "never existed"


@dataclass(frozen=True, eq=False)
class Rows:
    """Some places of a release, the largest true count first (private: it shows true counts).

    Parameters
    ----------
    names : tuple of str
        Their categories, joined; user text.
    truth, released : (n,)
        Records.
    n_places : int
        How many places have records, in the truth or in the release.
    """

    names: tuple[str, ...]
    truth: AnyArray
    released: AnyArray
    n_places: int

    @property
    def fates(self) -> tuple[str, ...]:
        """What became of each place."""
        return tuple(_fate(t, r) for t, r in zip(self.truth.tolist(), self.released.tolist(), strict=True))


def _fate(true: float, released: float) -> str:
    return LOST if not released else KEPT if true else SPURIOUS


def some_rows(mine: Drawn, most: int) -> Rows:
    """Return at most so many places with records, evenly spaced from the largest true count to the smallest.

    So their fates are about as frequent as among all places. Equal true counts stand by their released ones.
    """
    if mine.picture is None:
        truth, released, leaves = mine.leaves.truth, mine.leaves.released, None
    else:
        tree, labels, true_nodes, released_nodes = mine.picture
        leaves = np.flatnonzero(tree.is_leaf)
        truth, released = true_nodes[leaves], released_nodes[leaves]
    filled = np.flatnonzero((truth != 0) | (released != 0))
    order = filled[np.lexsort((-released[filled], -truth[filled]))]
    chosen = order[np.unique(np.linspace(0, order.size - 1, min(most, order.size)).round().astype(np.int64))]
    names = (
        tuple(f"place {i + 1}" for i in chosen.tolist())
        if leaves is None
        else tuple(" › ".join(labels.path(int(leaves[i]))) or "all" for i in chosen.tolist())
    )
    return Rows(names, truth[chosen], released[chosen], int(filled.size))


def rows_table(found: Rows) -> dict[str, list[Any]]:
    """Return some places as columns."""
    return {
        "place": list(found.names),
        of_truth("true records"): found.truth.tolist(),
        "released records": found.released.tolist(),
        "what became of it": list(found.fates),
    }


@dataclass(frozen=True, eq=False)
class Pairs:
    """How many nodes of a level have each true and released count, (n_pairs,) each (private)."""

    truth: AnyArray
    released: AnyArray
    n_nodes: IntArray


def pairs(level: Compared) -> Pairs:
    """Return the distinct pairs of true and released counts, but for nodes that are 0 in both.

    >>> found = pairs(Compared(9, np.array([2, 2, 0, 0]), np.array([1, 1, 3, 0])))
    >>> found.truth.tolist(), found.released.tolist(), found.n_nodes.tolist()
    ([0, 2], [3, 1], [1, 2])
    """
    both = np.stack([level.truth, np.round(level.released, 1)])
    distinct, n_nodes = np.unique(both[:, (both != 0).any(axis=0)], axis=1, return_counts=True)
    return Pairs(distinct[0], distinct[1], n_nodes)


def pairs_table(found: Pairs) -> dict[str, Any]:
    """Return pairs as columns; how many nodes share a pair tells of the true ones."""
    return {of_truth("true"): found.truth, "released": found.released, of_truth("nodes"): found.n_nodes}


def usual_error(level: Compared) -> float:
    """Return the error, in records, that half of the nodes with records do not exceed; 0 where there are none.

    >>> usual_error(Compared(9, np.array([2, 2, 5, 0]), np.array([1, 1, 9, 7])))
    1.0
    """
    real = level.truth != 0
    return float(np.median(np.abs(level.released - level.truth)[real])) if real.any() else 0.0
