"""What the levels of a data set look like: exact numbers, so none of them is private."""

from __future__ import annotations

from typing import Final

import numpy as np

from treedp_core.experiment import Experiment, prepare
from treedp_core.records.dataset import Dataset

Cell = int | float | str
CONFIDENCE: Final = 0.95


def level_table(data: Dataset) -> dict[str, list[Cell]]:
    """Return how the exact counts and the children of nodes are spread: columns with one entry for each level.

    "Empty" is the share of the level's nodes whose count is 0; "Median" and "Largest" are records of a node;
    "Children" are the fewest, the median and the most children of a node, in words.
    """
    rows = [_level(data, level) for level in range(data.tree.n_levels)]
    return {name: [row[name] for row in rows] for name in rows[0]}


def hidden_leaves(data: Dataset, settings: Experiment) -> tuple[float, float]:
    """Return the 95 % margin of a leaf's noise (records), and the share of leaves that are not larger.

    The noise is that of the settings with equal shares; a leaf that is published exactly has the margin 0.
    """
    law = prepare(settings, data.tree).noise.laws[-1]
    margin = 0.0 if law is None else law.margin(CONFIDENCE)
    return margin, float(np.mean(data.counts[data.tree.level(data.tree.height)] <= margin))


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
        "Children": f"{children.min()} · {np.median(children):g} · {children.max()}" if children.any() else "–",
    }
