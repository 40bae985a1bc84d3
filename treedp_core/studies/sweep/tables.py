"""The numbers behind the error lab's figures, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.privacy.promise import Release
from treedp_core.records import Labels
from treedp_core.studies.sweep.lines import Line
from treedp_core.studies.sweep.series import EPSILON, LEVEL, N_LEVELS
from treedp_core.tree import AnyArray, Tree

MAX_ROWS: Final = 100_000


def line_table(view: str, lines: Sequence[Line], level_names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values behind a figure of lines, one row for each series and point."""
    x_name = {EPSILON: "epsilon", LEVEL: "level", N_LEVELS: "number of levels"}[view]
    columns: dict[str, list[Any]] = {name: [] for name in ("series", x_name, "formula", "simulation", "standard error")}
    for line in lines:
        points = line.x.tolist()
        columns["series"] += [line.series.label] * len(points)
        columns[x_name] += [level_names[int(x)] for x in points] if view == LEVEL else points
        columns["formula"] += _known(line.formula)
        columns["simulation"] += _known(line.simulated)
        columns["standard error"] += _known(line.standard_error)
    if any(line.is_stale for line in lines):
        columns["simulated for"] = [", ".join(line.computed_for) or "-" for line in lines for _ in line.x]
    return columns


def _known(values: AnyArray) -> list[float | None]:
    """Values as a table holds them: nothing where there is none."""
    return [None if np.isnan(value) else float(value) for value in values.tolist()]


def draw_table(
    releases: tuple[Release, Release], counts: AnyArray, tree: Tree, level: int, labels: Labels
) -> dict[str, list[Any]]:
    """Return true and released counts of one level (at most 100 000 nodes), in the order of the tree.

    `counts` are the true ones, (n_nodes,); `releases` the noisy counts and those after post-processing.
    """
    final = releases[1]
    nodes = range(tree.n_nodes)[tree.level(level)][:MAX_ROWS]
    return {
        "node": list(nodes),
        "path": labels.paths(nodes),
        of_truth("count"): [int(counts[node]) for node in nodes],
        "released": [float(final.estimate[node]) for node in nodes],
    }
