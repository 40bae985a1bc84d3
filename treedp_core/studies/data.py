"""The tree of a data set in numbers: what its levels look like."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from treedp_core.experiment import Experiment, prepare
from treedp_core.records.dataset import Dataset
from treedp_core.words import exact

# ---- what the levels of a data set look like: exact numbers, so none of them is private


Cell = int | float | str
CONFIDENCE: Final = 0.95


def level_table(data: Dataset) -> dict[str, list[Cell]]:
    """Return how the exact counts and the children of nodes are spread: columns with one entry for each level.

    "Empty" is the share of the level's nodes whose count is 0; "Median" and "Largest" are records of a node;
    "Children" are the fewest, the median and the most children of a node, in words.
    """
    rows = [_level(data, level) for level in range(data.tree.n_levels)]
    return {name: [row[name] for row in rows] for name in rows[0]}


class Hidden(NamedTuple):
    """How many of the leaves are lost in the noise.

    Parameters
    ----------
    margin : float
        95 % margin of a leaf's noise, in records; 0 where the only leaf is the root, published exactly.
    number : int
        Leaves whose count is not larger than that.
    of : int
        All leaves, those that end above the last level among them.
    """

    margin: float
    number: int
    of: int


def hidden_leaves(data: Dataset, settings: Experiment) -> Hidden:
    """Return how many leaves are hidden in the noise of settings with equal shares, which are as noisy on each level.

    Raises
    ------
    InputError
        As `prepare`.
    """
    laws, leaves = prepare(settings, data.tree).noise.laws, data.tree.is_leaf
    margin = max((law.margin(CONFIDENCE) for law in laws if law is not None), default=0.0)
    return Hidden(margin, int(np.count_nonzero(data.counts[leaves] <= margin)), data.tree.n_leaves)


def _level(data: Dataset, level: int) -> dict[str, Cell]:
    nodes = data.tree.level(level)
    counts, children = data.counts[nodes], data.tree.n_children[nodes]
    return {
        "Level": level,
        "Name": data.labels.level_names[level],
        "Categories": len(data.labels.vocabularies[level]),
        "Nodes": counts.size,
        "Empty": float(np.mean(counts == 0)),
        "Median": float(np.median(counts)),
        "Largest": int(counts.max()),
        "Children": f"{children.min()} · {exact(np.median(children))} · {children.max()}" if children.any() else "–",
    }
